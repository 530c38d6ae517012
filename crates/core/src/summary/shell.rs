//! Command lines, as far as needed to recognize a command when it runs again. A call of another
//! tool is a command of one program.

use super::command_step::{CommandStep, skip_prefixes};
use super::literals::{Quoted, find_literals};
use super::path_changes::{PathChange, changes_of_step, runs_each_step};
use super::probes::{only_informs, replace_loading_scripts};

/// Programs, words of the shell's grammar and tools of both agents that change nothing.
const READ_ONLY_PROGRAMS: &str = "awk basename cat cd command date df diff dirname du echo env \
                       exit export fd file find grep head jq less ls nl popd printf ps pushd pwd \
                       readlink realpath rg sed set sleep sort source stat tail test tree true \
                       type uniq wc which whoami [ for case esac done fi } ) git-blame git-branch \
                       git-config git-diff git-fetch git-grep git-log git-ls-files git-remote \
                       git-show git-status pip-list pip-show pip3-list pip3-show npm-list npm-ls \
                       npm-view pkg-config dpkg-query read fetch web_search glob search webfetch websearch \
                       Get-ChildItem Get-Command Get-Content Get-Item Get-Location Select-Object \
                       Select-String Test-Path Where-Object Get-Process hostname lsof netstat \
                       pgrep pidof ss uname";

/// Programs that print a file.
const PRINTING_PROGRAMS: &str = "bat cat head less nl sed tail Get-Content";

/// The characters that end a step of a command line.
pub(super) const OPERATORS: [char; 4] = ['\n', ';', '|', '&'];

/// What is known of a command line.
#[derive(Debug, Default)]
pub(super) struct CommandLine {
    /// Its programs. Those that only look are omitted, unless all do.
    pub steps: Vec<CommandStep>,
    /// Whether it changes nothing.
    pub is_read_only: bool,
    /// Whether the exit code of a step is lost: in a pipe, before `||`, or because another step
    /// follows.
    pub hides_exit_code: bool,
    /// What it removes, writes and restores, in order.
    pub path_changes: Vec<PathChange>,
    /// The number of these that steps before the last one made. They are there also if the command
    /// line failed: `rm -f a; ls a` fails because it succeeded.
    pub changes_before_last: usize,
    /// Whether it changes to a directory, in which a shell that lives on may stay.
    pub changes_folder: bool,
    /// Whether that of the last of the `steps` is lost. The exit code of a pipe, and of steps in a
    /// row, is that of the last one.
    pub hides_last_exit_code: bool,
}

impl CommandLine {
    /// Reads a command line as far as its steps can be compared: `cd map && ls && make "a b" 2>&1 |
    /// tail` has the step `make` in `map`, whose exit code the pipe hides.
    ///
    /// - A `cd` is no step, but sets the directory of the steps after it.
    /// - Steps that only read or probe are left out, unless all do.
    pub fn parse(line: &str) -> Self {
        let text = CommandText::new(line);
        let is_certain = runs_each_step(&text.code);
        let mut command = CommandLine {
            // Until a step is found that changes something.
            is_read_only: true,
            ..CommandLine::default()
        };
        let mut folder = String::new();
        for part in text.parts() {
            let Some(mut step) = CommandStep::parse(part.trim_end_matches(OPERATORS)) else {
                continue;
            };
            if step.words[0] == "cd" {
                folder = enter_folder(&folder, &step.words[1..]);
                continue;
            }
            command.changes_before_last = command.path_changes.len();
            let changes = changes_of_step(&step, part, &folder, is_certain);
            command.path_changes.extend(changes);

            step.shorten();
            step.folder.clone_from(&folder);
            command.add_step(step, part);
        }

        // The code does not show quoted names.
        for path in text.quoted_targets {
            command.path_changes.push(PathChange::Written(path));
        }
        command.changes_folder = !folder.is_empty();
        command
    }

    /// Adds the next step, unless it only reads and another one does not. `part` is its part of the
    /// command line, with the operator that ends it.
    fn add_step(&mut self, step: CommandStep, part: &str) {
        let is_step_read_only = is_read_only(&step, part);
        if is_step_read_only && !self.is_read_only {
            return;
        }
        let is_first_change = !is_step_read_only && self.is_read_only;
        if is_first_change {
            // The steps before only read, so they are dropped, with what is known of them.
            self.is_read_only = false;
            self.steps.clear();
            self.hides_exit_code = false;
        }

        self.steps.push(step);
        self.hides_last_exit_code = part.ends_with(['\n', ';', '|']);
        if self.hides_last_exit_code {
            self.hides_exit_code = true;
        }
    }

    /// Returns the path of the file that the first step prints: `a.rs` for `sed -n 1,9p a.rs |
    /// head`. `None` if its program prints no files.
    pub fn read_path(&self) -> Option<&str> {
        let step = self.steps.first()?;
        if !step.is_one_of(PRINTING_PROGRAMS) {
            return None;
        }
        // Options and counts come first.
        let mut arguments = step.words[1..].iter().rev();
        let path = arguments.find(|word| word.contains(['.', '/', '\\']))?;
        Some(path)
    }

    /// Returns the call of another tool as a command. All tools that change files become `edit`
    /// with the file, so that a call of one is recognized as a repetition of a call of another.
    pub fn from_tool(tool: &str, target: &str) -> Self {
        // Claude Code's names of the tools begin with capitals.
        let name = tool.to_lowercase();
        let words = if changes_files(&name) {
            vec!["edit".to_owned(), target.to_owned()]
        } else {
            vec![name]
        };
        let step = CommandStep {
            words,
            ..CommandStep::default()
        };
        CommandLine {
            is_read_only: step.is_one_of(READ_ONLY_PROGRAMS),
            steps: vec![step],
            ..CommandLine::default()
        }
    }
}

/// A command line, divided into what is read as code and what is not.
struct CommandText {
    /// The command line, with each literal and each `>&1` replaced by one character, so that
    /// nothing in them is taken for an operator or for a file that is written.
    code: String,
    /// The files with quoted names that redirections write.
    quoted_targets: Vec<String>,
}

impl CommandText {
    fn new(line: &str) -> Self {
        let line = replace_loading_scripts(line);
        let mut code = String::new();
        let mut quoted_targets = Vec::new();
        let mut copied_len = 0;
        for literal in find_literals(&line) {
            let before = &line[copied_len..literal.range.start];
            code += before;
            code += literal.kind.filler();
            copied_len = literal.range.end;

            if before.trim_end().ends_with('>')
                && let Some(quoted) = Quoted::read(&line[literal.range], false)
            {
                quoted_targets.push(quoted.text.to_owned());
            }
        }
        code += &line[copied_len..];
        for stream in [">&1", ">&2"] {
            code = code.replace(stream, "_");
        }
        CommandText {
            // `&>` redirects both streams. Its `&` would be taken for an operator.
            code: code.replace("&>", ">"),
            quoted_targets,
        }
    }

    /// Iterates over the parts of the code, each with the operator that ends it.
    fn parts(&self) -> impl Iterator<Item = &str> {
        self.code
            .trim_end_matches([';', '\n', ' '])
            .split_inclusive(OPERATORS)
    }
}

/// Whether a step changes nothing, as its program and its part of the command line show.
fn is_read_only(step: &CommandStep, part: &str) -> bool {
    if writes_file(part) {
        return false;
    }
    step.is_one_of(READ_ONLY_PROGRAMS) || only_informs(part.trim_end_matches(OPERATORS))
}

/// Whether a command line does not name what it runs: it only opens a shell, in which other
/// commands follow, or its program reads a here-document. `nix develop`, `ssh pier`, `python3 -
/// <<EOF`
pub(super) fn hides_work(line: &str) -> bool {
    const SHELLS: [&str; 11] = [
        "bash",
        "sh",
        "zsh",
        "fish",
        "pwsh",
        "powershell",
        "cmd",
        "nix-shell",
        "tmux",
        "python",
        "python3",
    ];
    let (before_document, has_document) = match line.split_once("<<") {
        Some((before, _)) => (before, true),
        None => (line, false),
    };
    let words: Vec<&str> = before_document.split_whitespace().collect();
    match skip_prefixes(&words) {
        [_program] | [_program, "-"] if has_document => true,
        [program] => SHELLS.contains(program),
        ["nix", "develop" | "shell"] => true,
        ["ssh", host] => !host.starts_with('-'),
        _ => false,
    }
}

/// Returns the directory after a `cd` with these arguments in `folder`, as far as it is known.
fn enter_folder(folder: &str, arguments: &[String]) -> String {
    let target = arguments.concat();
    if target.is_empty() {
        return "~".to_owned();
    }
    let is_from_folder = !target.starts_with(['/', '~', '$']);
    if is_from_folder && !folder.is_empty() {
        return format!("{folder}/{target}");
    }
    target
}

/// Whether a tool changes files, by its name. A tool that keeps a list of what is to be done does
/// not, nor one that writes to a running command, as `write_stdin` of Codex.
pub(super) fn changes_files(tool: &str) -> bool {
    let name = tool.to_lowercase();
    if name.contains("todo") || name.starts_with("task") || name.ends_with("stdin") {
        return false;
    }
    ["edit", "write", "patch", "create"]
        .iter()
        .any(|part| name.contains(part))
}

/// Whether a part of a command line writes a file, by a redirection or in place.
fn writes_file(part: &str) -> bool {
    for (redirection, _) in part.match_indices('>') {
        let target = part[redirection..].trim_start_matches(['>', ' ']);
        if !target.starts_with("/dev/null") {
            return true;
        }
    }
    part.contains("sed ") && part.contains(" -i")
}
