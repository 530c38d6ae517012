//! External commands: `pisess foo` runs `pisess-foo` from the PATH.
//!
//! Only absolute directories on the PATH are searched. An empty or relative one would depend on the
//! current directory, to which others may have write access.

use crate::cli::hints::is_slip;
use crate::cli::output::{Column, Exit, Failure, Table, Ui, to_visible};
use std::collections::BTreeMap;
use std::env::{consts::EXE_SUFFIX, split_paths};
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The hint that points to the list of commands.
pub const HELP_HINT: &str = "see `pisess --help`";

/// The verbs of other tools, by the command of pisess that corresponds to them.
const FOREIGN_VERBS: [(&str, &[&str]); 34] = [
    ("append", &["commit"]),
    ("append --name NAME", &["name", "rename"]),
    ("archive", &["delete", "remove", "rm"]),
    ("branches", &["branch"]),
    ("check", &["doctor", "fsck"]),
    ("check --repair", &["fix", "repair"]),
    ("compact", &["squash"]),
    ("export", &["browse"]),
    ("export --redact", &["share"]),
    ("fork", &["new"]),
    ("fork --branches", &["clone", "copy", "cp"]),
    ("fork --for AGENT", &["convert"]),
    ("grep", &["find", "rg", "search"]),
    ("label", &["bookmark", "describe", "tag"]),
    ("list", &["ls", "ps", "sessions", "status"]),
    ("path", &["history", "log"]),
    ("pick", &["cherry-pick", "duplicate", "rebase"]),
    ("pop", &["revert"]),
    ("prune --branch REF", &["abandon"]),
    ("prune --compacted", &["gc"]),
    ("relocate", &["move", "mv"]),
    ("resume", &["continue", "open"]),
    ("show", &["cat", "print", "view"]),
    ("show --files", &["files"]),
    ("stats", &["info", "usage"]),
    ("stats --by day", &["cost"]),
    ("show --images", &["extract"]),
    ("switch", &["checkout", "reset"]),
    ("tree --filter all", &["reflog"]),
    ("tree --filter user-only", &["prompts"]),
    ("tree --follow", &["tail", "watch"]),
    ("tree last", &["last"]),
    ("undo", &["op"]),
    ("--version", &["version"]),
];

const PREFIX: &str = "pisess-";

/// Runs the program `pisess-NAME` on the PATH as a command, and returns its exit code. A name with
/// characters that no program's name has is not searched for.
pub fn run_external(
    name: &str,
    arguments: &[OsString],
    command: clap::Command,
    ui: &mut Ui,
) -> Result<u8, Failure> {
    let program = if is_command_name(name) {
        find_program(name, ui)
    } else {
        None
    };
    let Some(program) = program else {
        return Err(unknown_command(name, &with_help_command(command), ui));
    };
    run_in_place(Command::new(program).args(arguments), ui)
}

/// Runs a program instead of pisess, on the same streams, and returns its exit code.
pub fn run_in_place(command: &mut Command, ui: &mut Ui) -> Result<u8, Failure> {
    ui.flush()?;
    ui.print_notes();
    (ui.world.run_program)(command).map_err(|error| {
        let program = to_visible(&command.get_program().to_string_lossy());
        let failure = Failure::invalid(format_args!("cannot run {program}: {error}"));
        match error.kind() {
            ErrorKind::NotFound => failure.with_hint("its first line may name a missing program"),
            _ => failure,
        }
    })
}

/// Lists the built-in commands with their summaries, and then the external ones with their paths.
pub fn list_commands(command: clap::Command, ui: &mut Ui) -> Result<Exit, Failure> {
    let command = with_help_command(command);
    let mut table = Table::new([Column::text(""); 2]);
    for verb in command.get_subcommands() {
        let summary = verb
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default();
        table.add_text_row([verb.get_name().to_owned(), summary]);
    }
    for (name, path) in find_programs(&command, ui) {
        table.add_text_row([name, to_visible(&path.to_string_lossy())]);
    }
    table.print(ui)?;
    Ok(Exit::Done)
}

/// Returns the definition of the command line, with the `help` command that clap adds.
fn with_help_command(mut command: clap::Command) -> clap::Command {
    // This adds the `help` command.
    command.build();
    command
}

fn is_command_name(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// Returns the absolute directories on the PATH, in order.
fn path_folders(ui: &Ui) -> Vec<PathBuf> {
    let path = ui.env_var("PATH").unwrap_or_default();
    split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .collect()
}

fn find_program(name: &str, ui: &Ui) -> Option<PathBuf> {
    find_on_path(&[format!("{PREFIX}{name}{EXE_SUFFIX}")], ui)
}

/// Returns the first program on the PATH whose file name is one of these.
fn find_on_path(file_names: &[String], ui: &Ui) -> Option<PathBuf> {
    for folder in path_folders(ui) {
        for file_name in file_names {
            let path = folder.join(file_name);
            if is_executable(&path) {
                return Some(path);
            }
        }
    }
    None
}

/// Returns the program on the PATH that starts an agent. On Windows, it may end in `.cmd`, because
/// npm installs agents as scripts.
pub fn find_agent(name: &str, ui: &Ui) -> Option<PathBuf> {
    let mut file_names = vec![format!("{name}{EXE_SUFFIX}")];
    if cfg!(windows) {
        file_names.push(format!("{name}.cmd"));
    }
    find_on_path(&file_names, ui)
}

/// Returns the external commands that can be run, by name. Each has the first path on the PATH. A
/// program with the name of a built-in command is left out.
fn find_programs(command: &clap::Command, ui: &Ui) -> BTreeMap<String, PathBuf> {
    let mut programs = BTreeMap::new();
    for folder in path_folders(ui) {
        // A directory that is missing or cannot be read has no programs.
        for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let file_name = file.file_name();
            let Some(name) = external_name(&file_name) else {
                continue;
            };
            let is_built_in = command.find_subcommand(name).is_some();
            if !is_built_in && !programs.contains_key(name) && is_executable(&file.path()) {
                programs.insert(name.to_owned(), file.path());
            }
        }
    }
    programs
}

/// Returns the name of the command that a file provides: `foo` for `pisess-foo`. `None` for other
/// files.
fn external_name(file_name: &OsStr) -> Option<&str> {
    let name = file_name.to_str()?.strip_prefix(PREFIX)?;
    let name = name.strip_suffix(EXE_SUFFIX)?;
    if is_command_name(name) {
        Some(name)
    } else {
        None
    }
}

fn is_executable(path: &Path) -> bool {
    #[cfg(unix)]
    if rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_err() {
        return false;
    }
    path.is_file()
}

/// The maximum number of similar commands to suggest.
const MOST_SUGGESTIONS: usize = 3;

/// Returns the commands with the names most similar to `name`, the most similar first. Equally
/// similar ones are sorted by name.
fn similar_names(name: &str, command: &clap::Command, ui: &Ui) -> Vec<String> {
    let built_in = command
        .get_subcommands()
        .map(|verb| verb.get_name().to_owned());
    let known_names = built_in.chain(find_programs(command, ui).into_keys());
    let mut similar = Vec::new();
    for known in known_names {
        if is_slip(name, &known) {
            similar.push((strsim::osa_distance(name, &known), known));
        }
    }
    similar.sort();
    similar.truncate(MOST_SUGGESTIONS);
    similar.into_iter().map(|(_, known)| known).collect()
}

/// Returns the failure for an unknown command. It suggests similar commands, or the command that
/// corresponds to a verb of another tool.
fn unknown_command(name: &str, command: &clap::Command, ui: &Ui) -> Failure {
    let mut suggestions = Vec::new();
    for suggestion in suggest_commands(name, command, ui) {
        suggestions.push(format!("`pisess {suggestion}`"));
    }
    let hint = if !suggestions.is_empty() {
        format!("did you mean {}?", suggestions.join(" or "))
    } else if name.ends_with(".jsonl") {
        "name a command before the session, as in `pisess tree`".to_owned()
    } else {
        "`pisess --list` lists all commands".to_owned()
    };
    let not_on_path = if is_command_name(name) {
        format!(", and no {PREFIX}{name} is on the PATH")
    } else {
        String::new()
    };
    Failure::usage_error(format_args!("there is no command {name:?}{not_on_path}")).with_hint(hint)
}

/// Returns the command that corresponds to a verb of another tool, else the commands with similar
/// names.
fn suggest_commands(name: &str, command: &clap::Command, ui: &Ui) -> Vec<String> {
    for (own_command, verbs) in FOREIGN_VERBS {
        if verbs.contains(&name) {
            return vec![own_command.to_owned()];
        }
    }
    similar_names(name, command, ui)
}
