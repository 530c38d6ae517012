//! Hints for invalid command lines.

use crate::cli::guide::takes_reference;
use crate::cli::output::{Failure, to_visible};
use crate::cli::redaction::PRUNE_SECRETS_HINT;
use crate::session::reference::is_reference_form;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use pisess_store as store;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Returns the failure for an invalid command line, on one line. It has clap's message; the hint
/// has a tip and the command for help. A tip of this module replaces clap's tip.
pub fn usage_failure(error: &clap::Error, args: &[OsString], command: &clap::Command) -> Failure {
    let rendered = error.render().to_string();
    // For an invalid value, clap prints no usage.
    let (message, usage) = rendered.split_once("\nUsage: ").unwrap_or((&rendered, ""));
    let ClapMessage { cause, tips } = ClapMessage::parse(message);
    let name = command_name(usage, args, command);
    let subcommand = name.and_then(|name| command.find_subcommand(name));

    let mut advice: Vec<String> = Vec::new();
    let habit = find_habit(error, subcommand);
    if let Some(habit) = habit {
        advice.push(habit.to_owned());
    } else if let Some(tip) = own_tip(error, args, subcommand) {
        advice.push(tip);
    } else {
        for tip in tips {
            if is_useful_tip(tip, error, name) {
                advice.push(tip.to_owned());
            }
        }
    }
    if habit.is_none() && unknown_option(error).is_some() && name == Some("grep") {
        advice.push("give a pattern that begins with - after -e or --".to_owned());
    }
    advice.push(match name {
        Some(name) => format!("see `pisess {name} --help`"),
        None => "see `pisess --help`".to_owned(),
    });
    Failure::usage_error(cause).with_hint(advice.join("; "))
}

/// The parts of clap's message about an invalid command line.
struct ClapMessage<'a> {
    /// The error on one line, without `error:`.
    cause: String,
    /// What clap suggests, without `tip:`.
    tips: Vec<&'a str>,
}

impl ClapMessage<'_> {
    /// Splits a message such as this one:
    ///
    /// ```text
    /// error: unexpected argument '--filte' found
    ///
    ///   tip: a similar argument exists: '--filter'
    ///
    /// For more information, try '--help'.
    /// ```
    fn parse(message: &str) -> ClapMessage<'_> {
        let mut cause_lines = Vec::new();
        let mut tips = Vec::new();
        for line in message.lines().map(str::trim) {
            if line.is_empty() || line.starts_with("For more information") {
                continue;
            }
            match line.strip_prefix("tip:") {
                Some(tip) => tips.push(tip.trim()),
                None => cause_lines.push(line),
            }
        }
        let cause = cause_lines.join(" ");
        let cause = cause.trim_start_matches("error:").trim().to_owned();
        ClapMessage { cause, tips }
    }
}

/// Whether a tip of clap is worth printing. `name` is the name of the given command.
fn is_useful_tip(tip: &str, error: &clap::Error, name: Option<&str>) -> bool {
    if let Some(suggestion) = unlikely_suggestion(error)
        && tip.contains(&suggestion)
    {
        return false;
    }
    // A label may begin with a hyphen, so this tip is useful there. For other commands, such an
    // argument is rather an option of another command than a file.
    let is_tip_for_value = tip.contains("as a value, use '-- ");
    !is_tip_for_value || name == Some("label")
}

/// Returns the name of the given command. It is the second word of clap's usage, as in `pisess tree
/// [OPTIONS] <SESSION>`. For an invalid value, clap prints no usage: then it is the first argument
/// that is a command.
fn command_name<'a>(
    usage: &'a str,
    args: &'a [OsString],
    command: &'a clap::Command,
) -> Option<&'a str> {
    if usage.is_empty() {
        // The first argument is the program.
        for arg in args.iter().skip(1) {
            if let Some(subcommand) = command.find_subcommand(arg) {
                return Some(subcommand.get_name());
            }
        }
        return None;
    }
    let second = usage.split_whitespace().nth(1)?;
    let is_argument = second.starts_with(['[', '<', '-']);
    if is_argument { None } else { Some(second) }
}

/// Returns the first tip of this module that applies to the error. The caller has looked for the
/// error in [`HABITS`] before. Tips for one option or command come before the one for any missing
/// argument.
fn own_tip(
    error: &clap::Error,
    args: &[OsString],
    subcommand: Option<&clap::Command>,
) -> Option<String> {
    tip_for_unknown_option(error, subcommand)
        .or_else(|| tip_for_former_name(error, subcommand))
        .or_else(|| tip_for_one_branch(error, subcommand))
        .or_else(|| tip_for_summarize(error, args, subcommand))
        .or_else(|| tip_for_repairing_all(error))
        .or_else(|| tip_for_sessions_with_all(error, subcommand))
        .or_else(|| tip_for_last_with_file(error))
        .or_else(|| tip_for_missing_argument(error, args, subcommand))
}

/// Options of other tools that users type by habit, and the hint for them.
struct Habit {
    /// The typed options. A number of rows, such as `-5`, is listed as `-n`.
    typed: &'static [&'static str],
    /// The command for which they are typed. `*` is any command. An empty name is pisess itself,
    /// without a command.
    command: &'static str,
    hint: &'static str,
}

/// What users of git, ripgrep, jj, gh and ls type by habit. The first match counts.
const HABITS: [Habit; 36] = [
    Habit {
        typed: &["-C"],
        command: "",
        hint: "change the directory first, or give it to `list`, `grep` or `stats` as SESSION",
    },
    Habit {
        typed: &["-C"],
        command: "list",
        hint: "give the directory as SESSION",
    },
    Habit {
        typed: &["-E"],
        command: "grep",
        hint: "omit -E: every PATTERN is a regular expression",
    },
    Habit {
        typed: &["-L"],
        command: "blame",
        hint: "add the lines to FILE: FILE:LINE or FILE:FIRST,LAST",
    },
    Habit {
        typed: &["-L", "-n"],
        command: "list",
        hint: "did you mean --limit N?",
    },
    Habit {
        typed: &["-P"],
        command: "grep",
        hint: "omit -P: every PATTERN is a regular expression",
    },
    Habit {
        typed: &["-R"],
        command: "grep",
        hint: "omit -R: directories are searched at any depth",
    },
    Habit {
        typed: &["-a"],
        command: "tree",
        hint: "did you mean --filter all?",
    },
    Habit {
        typed: &["-b", "-c"],
        command: "switch",
        hint: "the next message begins a branch at REF; --label NAME labels it",
    },
    Habit {
        typed: &["-d", "--delete"],
        command: "label",
        hint: "did you mean --clear?",
    },
    Habit {
        typed: &["-g", "--glob"],
        command: "grep",
        hint: "give the sessions or directories to search as SESSION",
    },
    Habit {
        typed: &["-i", "--in-place"],
        command: "redact",
        hint: PRUNE_SECRETS_HINT,
    },
    Habit {
        typed: &["-m"],
        command: "append",
        hint: "did you mean --user TEXT?",
    },
    Habit {
        typed: &["-n"],
        command: "grep",
        hint: "omit -n: rows have the ids of their entries; --max-count N prints the first N",
    },
    Habit {
        typed: &["-n"],
        command: "tree",
        hint: "did you mean --around N?",
    },
    Habit {
        typed: &["-t", "--type"],
        command: "grep",
        hint: "did you mean --role ROLE?",
    },
    Habit {
        typed: &["--tools"],
        command: "grep",
        hint: "did you mean --tool TOOL?",
    },
    // Names of tools, typed as the value of --role.
    Habit {
        typed: &["bash", "edit", "read", "write"],
        command: "grep",
        hint: "did you mean --tool TOOL?",
    },
    Habit {
        typed: &["-v"],
        command: "",
        hint: "did you mean --version?",
    },
    Habit {
        typed: &["--after"],
        command: "*",
        hint: "did you mean --since TIME?",
    },
    Habit {
        typed: &["--before"],
        command: "*",
        hint: "did you mean --until TIME?",
    },
    Habit {
        typed: &["--count-matches"],
        command: "grep",
        hint: "did you mean --count?",
    },
    Habit {
        typed: &["--fix"],
        command: "check",
        hint: "did you mean --repair?",
    },
    Habit {
        typed: &["--format"],
        command: "context",
        hint: "did you mean --as FORMAT?",
    },
    Habit {
        typed: &["--format"],
        command: "export",
        hint: "did you mean --as FORMAT?",
    },
    Habit {
        typed: &["--format"],
        command: "*",
        hint: "did you mean --json?",
    },
    Habit {
        typed: &["--from", "--source"],
        command: "import",
        hint: "give the agent's sessions as SOURCE, such as ~/.claude/projects or ~/.codex/sessions",
    },
    Habit {
        typed: &["--grep", "--search"],
        command: "list",
        hint: "`pisess grep -l PATTERN` lists the sessions that contain a text",
    },
    Habit {
        typed: &["--jq"],
        command: "*",
        hint: "pipe the output of --json into jq",
    },
    Habit {
        typed: &["--limit"],
        command: "grep",
        hint: "did you mean --max-count N, of each session?",
    },
    Habit {
        typed: &["--list"],
        command: "import",
        hint: "`pisess list --all --source claude` lists what could be imported",
    },
    Habit {
        typed: &["--oneline"],
        command: "tree",
        hint: "omit --oneline: each entry is one row",
    },
    Habit {
        typed: &["--patch"],
        command: "*",
        hint: "`pisess show --patch SESSION` prints what the agent changed in files",
    },
    Habit {
        typed: &["--project"],
        command: "list",
        hint: "give the directory of the project as SESSION",
    },
    Habit {
        typed: &["--reverse"],
        command: "*",
        hint: "pipe the rows into `tac`",
    },
    Habit {
        typed: &["--sort"],
        command: "stats",
        hint: "rows have the highest cost first, dates ascend; `pisess list --sort` has other orders",
    },
];

/// Returns the hint for an option or a value that users type because other tools have it. `None` if
/// the refused option or value is not in [`HABITS`].
fn find_habit(error: &clap::Error, subcommand: Option<&clap::Command>) -> Option<&'static str> {
    let refused = if error.kind() == ErrorKind::InvalidValue {
        context_text(error, ContextKind::InvalidValue)?
    } else {
        unknown_option(error)?
    };
    // `-20` means the same as `-n 20`, as for `head`.
    let number = refused.strip_prefix('-');
    let is_count = number.is_some_and(|number| number.parse::<u32>().is_ok());
    let typed = if is_count { "-n" } else { refused };

    let name = subcommand.map_or("", clap::Command::get_name);
    for habit in &HABITS {
        let is_for_command = habit.command == name || habit.command == "*";
        if is_for_command && habit.typed.contains(&typed) {
            return Some(habit.hint);
        }
    }
    None
}

/// Whether `typed` may be a misspelling of `known`. Both begin with the same letter, and at most
/// one letter differs; two may differ in a word of six letters or more.
pub fn is_slip(typed: &str, known: &str) -> bool {
    let most_differing = if typed.chars().count() < 6 { 1 } else { 2 };
    typed.chars().next() == known.chars().next()
        && strsim::osa_distance(typed, known) <= most_differing
}

/// Returns clap's suggestion for an option or a value, if it is so different from what was typed
/// that the user hardly meant it. The caller then leaves it out of the message.
fn unlikely_suggestion(error: &clap::Error) -> Option<String> {
    let typed = context_text(error, ContextKind::InvalidArg)?;
    let suggested = context_text(error, ContextKind::SuggestedArg)?;
    let is_similar = is_slip(
        typed.trim_start_matches('-'),
        suggested.trim_start_matches('-'),
    );
    if is_similar {
        None
    } else {
        Some(suggested.to_owned())
    }
}

fn context_text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

fn unknown_option(error: &clap::Error) -> Option<&str> {
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) => Some(option),
        _ => None,
    }
}

/// Returns a tip for an unknown option. It may be a path that begins with `-`, such as one of pi's
/// directories, `--home-u-project--`; or the value of one of the command's options, such as
/// `--markdown` for `--as markdown`.
///
/// clap reports an argument too many in the same way. Such an argument has its own tip.
fn tip_for_unknown_option(
    error: &clap::Error,
    subcommand: Option<&clap::Command>,
) -> Option<String> {
    let option = unknown_option(error)?;
    let is_option = option.starts_with('-') && option != "-";
    if !is_option {
        return Some(tip_for_surplus_argument(subcommand?));
    }
    let may_be_path = option.contains('/') || option.ends_with(".jsonl") || option.ends_with("--");
    if may_be_path {
        return Some(format!(
            "put ./ before a path that begins with -, as in ./{option}"
        ));
    }

    let typed_value = option.strip_prefix("--")?;
    for arg in subcommand?.get_arguments() {
        let Some(long) = arg.get_long() else { continue };
        let ignore_case = false;
        let values = arg.get_possible_values();
        if values
            .iter()
            .any(|value| value.matches(typed_value, ignore_case))
        {
            return Some(format!("did you mean --{long} {typed_value}?"));
        }
    }
    None
}

/// Returns the tip for an argument too many. For `append`, this is usually the text of a message.
fn tip_for_surplus_argument(subcommand: &clap::Command) -> String {
    let name = subcommand.get_name();
    if name == "append" {
        return "give the text of a message with --user or --assistant".to_owned();
    }
    let arguments: Vec<_> = subcommand
        .get_positionals()
        .map(ToString::to_string)
        .collect();
    format!("the arguments of {name} are {}", arguments.join(" "))
}

/// Whether clap refuses the option `refused` because another argument is also given.
///
/// clap's error has the refused option as a value of its own. The other argument is only in its
/// message, in the form of the usage, as in `the argument '--all' cannot be used with
/// '[SESSION]...'`. `other` is a part of that message.
fn is_conflict(error: &clap::Error, refused: &str, other: &str) -> bool {
    error.kind() == ErrorKind::ArgumentConflict
        && context_text(error, ContextKind::InvalidArg) == Some(refused)
        && error.to_string().contains(other)
}

/// Returns a tip for `check --all --repair`, which conflict: what is repaired must be named.
fn tip_for_repairing_all(error: &clap::Error) -> Option<String> {
    if !is_conflict(error, "--all", "'--repair'") {
        return None;
    }
    Some("`pisess check --all` reports what there is to repair; `pisess check -r --repair --backup DIR` repairs a directory".to_owned())
}

/// Returns a tip for `--all` or `--archived` together with SESSION. In `grep foo bar --all`, `bar`
/// is read as SESSION, but is probably a further word of the pattern.
fn tip_for_sessions_with_all(
    error: &clap::Error,
    subcommand: Option<&clap::Command>,
) -> Option<String> {
    // Checked first: this message quotes the usage, which contains `[SESSION]`, too.
    if is_conflict(error, "--archived", "'--source <") {
        return Some("omit one of the two".to_owned());
    }
    for option in ["--all", "--archived"] {
        if !is_conflict(error, option, "[SESSION]") {
            continue;
        }
        return Some(match subcommand?.get_name() {
            "grep" => "put a pattern of several words in quotes, and give no SESSION".to_owned(),
            _ => format!("omit {option} or SESSION; a name is looked up in all projects"),
        });
    }
    None
}

/// Returns a tip for `show --file FILE --last N`, which conflict: `--file` prints the file as of
/// one entry.
fn tip_for_last_with_file(error: &clap::Error) -> Option<String> {
    if error.kind() != ErrorKind::ArgumentConflict {
        return None;
    }
    // Either option may be the refused one, as in `the argument '--last <N>' cannot be used with
    // '--file <PATH>'`.
    let message = error.to_string();
    if !message.contains("'--last") || !message.contains("'--file") {
        return None;
    }
    Some("give the entry up to which calls count as REF, such as '@~3'".to_owned())
}

/// Returns a tip for a missing argument: for SESSION, how to read all sessions or the last one; for
/// a missing reference, how to find one.
fn tip_for_missing_argument(
    error: &clap::Error,
    args: &[OsString],
    subcommand: Option<&clap::Command>,
) -> Option<String> {
    let subcommand = subcommand?;
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }

    let name = subcommand.get_name();
    if let Some(tip) = tip_for_lost_session(name, args) {
        return Some(tip);
    }
    if is_missing(error, "<SESSION>") {
        return Some(tip_for_missing_session(subcommand));
    }
    // Only `diff` has this argument.
    if is_missing(error, "<SESSION|REF>") {
        let tip = "give another session, or two entries, as in `pisess diff last @~3 @`";
        return Some(tip.to_owned());
    }
    if is_missing(error, "<REF>") {
        return Some(tip_for_missing_reference(name, args));
    }
    None
}

/// Returns the tip for a command without REF. If a word has the form of a reference, clap has taken
/// it for SESSION.
fn tip_for_missing_reference(name: &str, args: &[OsString]) -> String {
    let mut words = args.iter().filter_map(|arg| arg.to_str());
    match words.find(|word| is_reference_form(word)) {
        Some(reference) => format!("the session comes first: pisess {name} last {reference}"),
        None => "`pisess branches` lists the branches, `pisess tree` all entries; ':/TEXT' names the newest entry that contains TEXT".to_owned(),
    }
}

/// Whether clap reports that a required argument is missing. `argument` has the form of the usage,
/// such as `<SESSION>`.
///
/// clap's message has each missing argument on a line of its own. `...` follows an argument that
/// may be repeated:
///
/// ```text
/// error: the following required arguments were not provided:
///   <SESSION>...
///   <REF>
/// ```
fn is_missing(error: &clap::Error, argument: &str) -> bool {
    let message = error.to_string();
    let mut lines = message.lines();
    lines.any(|line| line.trim_end_matches("...").trim() == argument)
}

/// Returns a tip for an option of `show` that has taken the session as its value.
fn tip_for_lost_session(name: &str, args: &[OsString]) -> Option<String> {
    if name != "show" {
        return None;
    }
    for (option, value) in [("--images", "DIR"), ("--file", "PATH")] {
        if args.iter().any(|arg| arg == option) {
            return Some(format!(
                "{option} takes a value: pisess show {option} {value} SESSION"
            ));
        }
    }
    None
}

/// Returns a tip for `fork --branch 2`. clap reads that as `--branches`, which takes no REF.
fn tip_for_one_branch(error: &clap::Error, subcommand: Option<&clap::Command>) -> Option<String> {
    let subcommand = subcommand?;
    if subcommand.get_name() != "fork" || error.kind() != ErrorKind::ArgumentConflict {
        return None;
    }
    let message = error.to_string();
    if !message.contains("'--branches'") || !message.contains("'[REF]'") {
        return None;
    }
    Some(
        "to copy one branch, give its tip without the option: `pisess fork SESSION REF`; \
         `pisess branches` lists the tips"
            .to_owned(),
    )
}

/// Returns the tip for a command without SESSION. If the command can read all sessions, the tip is
/// how; otherwise it is an example with `last`.
fn tip_for_missing_session(subcommand: &clap::Command) -> String {
    let name = subcommand.get_name();
    let has = |option: &str| subcommand.get_arguments().any(|arg| arg.get_id() == option);
    if has("all") {
        // A command in a hint must change nothing.
        let only_read = if has("check") {
            "--check "
        } else if name == "prune" {
            "-n "
        } else {
            ""
        };
        return format!(
            "`pisess {name} {only_read}--all` reads the sessions of all projects; --choose asks for one"
        );
    }

    let mut example = format!("pisess {name} last");
    let required = subcommand
        .get_positionals()
        .filter(|arg| arg.is_required_set());
    // The first one is SESSION, for which the example has `last`.
    for argument in required.skip(1) {
        example += &format!(" {argument}");
    }
    format!(
        "the session of this directory that changed last is `last`: {example}; --choose lists all"
    )
}

/// Returns a tip for `--summarize` with a command that always writes a summary. Only `switch` has
/// the option `--summarize`. For other commands, clap takes it for an abbreviation of
/// `--summarizer`, and reports that its value is missing.
fn tip_for_summarize(
    error: &clap::Error,
    args: &[OsString],
    subcommand: Option<&clap::Command>,
) -> Option<String> {
    // clap's message quotes the option as its usage prints it, with its value.
    let lacks_value =
        error.kind() == ErrorKind::InvalidValue && error.to_string().contains("'--summarizer");
    let is_typed = args.iter().any(|arg| arg == "--summarize");
    if !lacks_value || !is_typed {
        return None;
    }
    let name = subcommand?.get_name();
    Some(format!(
        "omit --summarize: `pisess {name}` always writes a summary, by default the built-in one"
    ))
}

/// If clap suggests a former name of an option, returns a tip with the current name.
fn tip_for_former_name(error: &clap::Error, subcommand: Option<&clap::Command>) -> Option<String> {
    let Some(ContextValue::String(suggested)) = error.get(ContextKind::SuggestedArg) else {
        return None;
    };
    if unlikely_suggestion(error).is_some() {
        return None;
    }
    let former = suggested.trim_start_matches('-');
    let arg = subcommand?.get_arguments().find(|arg| {
        let aliases = arg.get_all_aliases();
        aliases.is_some_and(|names| names.contains(&former))
    })?;
    Some(format!("did you mean --{}?", arg.get_long()?))
}

/// The end of the usual hint for a session that does not exist. A better hint replaces it.
const SEVERAL_WORDS: &str = "several words need quotes";

/// The maximum number of edits (insert, delete, replace, swap two neighbours) between the name of a
/// missing file and a name that is suggested.
const MOST_FILE_EDITS: usize = 2;

/// Returns the path of the file that the user may have meant by a missing path: the session whose
/// `.jsonl` was left out, else the file beside it with the most similar name. `None` if no name is
/// similar, or if the missing path has no extension: it may be the name of a session.
fn find_similar_file(missing: &Path) -> Option<String> {
    let session = store::with_suffix(missing, ".jsonl");
    if session.is_file() {
        return Some(to_visible(&session.to_string_lossy()));
    }
    // Without an extension, it may be the name of a session.
    missing.extension()?;

    let parent = missing.parent()?;
    let folder = if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    };
    let wanted = missing.file_name()?.to_str()?;
    let similar_name = find_similar_name(folder, wanted)?;
    Some(to_visible(&parent.join(similar_name).to_string_lossy()))
}

/// Returns the name of the file in a directory that needs the fewest edits to become `wanted`, of
/// equals the first by name. `None` if every file needs more than [`MOST_FILE_EDITS`].
fn find_similar_name(folder: &Path, wanted: &str) -> Option<String> {
    let mut fewest_edits = MOST_FILE_EDITS + 1;
    let mut similar = None;
    // The paths are sorted, so the first of equally similar names remains.
    for path in store::paths_in(folder).ok()? {
        let Some(name) = path.file_name().and_then(OsStr::to_str) else {
            continue;
        };
        let edits = strsim::osa_distance(wanted, name);
        if edits < fewest_edits && path.is_file() {
            fewest_edits = edits;
            similar = Some(name.to_owned());
        }
    }
    similar
}

/// Whether the second argument of a command may be a session, as for `join` and `diff`.
fn takes_second_session(subcommand: &clap::Command) -> bool {
    let second = subcommand.get_positionals().nth(1);
    let names = second.and_then(clap::Arg::get_value_names);
    names
        .unwrap_or_default()
        .iter()
        .any(|name| name.split('|').any(|name| name == "SESSION"))
}

/// Replaces the hint of a failure, if a session was not found and the command line shows what the
/// user may have meant: a later argument is the session; a file has a similar name; or only an
/// entry was given.
pub fn hint_session_first(failure: Failure, args: &[OsString], command: &clap::Command) -> Failure {
    if !failure.is_missing_file {
        return failure;
    }
    let Some(line) = TypedLine::parse(args, command) else {
        return failure;
    };
    let hint = line
        .hint_for_later_session(&failure)
        .or_else(|| hint_for_similar_file(&failure))
        .or_else(|| line.hint_for_lone_entry(&failure));
    match hint {
        Some(hint) => failure.with_hint(hint),
        None => failure,
    }
}

/// The words of a command line that are not options. The value of an option may be among them.
struct TypedLine<'a> {
    /// The name of the command.
    name: Cow<'a, str>,
    subcommand: Option<&'a clap::Command>,
    first_argument: Cow<'a, str>,
    later_arguments: Vec<&'a OsString>,
}

impl<'a> TypedLine<'a> {
    /// Returns `None` for a line without arguments.
    fn parse(args: &'a [OsString], command: &'a clap::Command) -> Option<TypedLine<'a>> {
        // The first argument is the program.
        let mut words = args
            .iter()
            .skip(1)
            .filter(|arg| !arg.to_string_lossy().starts_with('-'));
        let name = words.next()?.to_string_lossy();
        let first_argument = words.next()?.to_string_lossy();
        Some(TypedLine {
            subcommand: command.find_subcommand(&*name),
            name,
            first_argument,
            later_arguments: words.collect(),
        })
    }

    /// Returns a hint if the first argument was taken for the session, and a later one is the path
    /// of a session, as in `pisess show @ a.jsonl`.
    fn hint_for_later_session(&self, failure: &Failure) -> Option<String> {
        let first = &*self.first_argument;
        // If the first word is the value of an option, the missing session is another word.
        let is_first_missing = failure.path.as_deref() == Some(first);
        if !is_first_missing || first.ends_with(".jsonl") {
            return None;
        }
        // `diff` and `join` take a second session, so that the order may be right, unless the first
        // argument can only be an entry.
        let is_reference = is_reference_form(first) && !first.contains('/');
        if self.subcommand.is_some_and(takes_second_session) && !is_reference {
            return None;
        }

        let session = self.later_arguments.iter().find(|arg| {
            let is_session_path = arg.to_string_lossy().ends_with(".jsonl");
            is_session_path && Path::new(arg).is_file()
        })?;
        Some(format!(
            "the session comes first: pisess {} {} {first}",
            self.name,
            session.to_string_lossy()
        ))
    }

    /// Returns a hint if the only argument may be an entry of a command that takes a session and an
    /// entry, as in `pisess show 3f9a`.
    fn hint_for_lone_entry(&self, failure: &Failure) -> Option<String> {
        let subcommand = self.subcommand?;
        let takes_entry = takes_reference(subcommand) && subcommand.get_positionals().count() > 1;
        if !takes_entry || !self.later_arguments.is_empty() {
            return None;
        }
        // A path or a title is not an entry.
        let first = &*self.first_argument;
        if first.contains(['/', '.', ' ']) {
            return None;
        }
        // Any other hint fits the failure better than this one.
        let hint = failure.hint.as_ref()?;
        if !hint.ends_with(SEVERAL_WORDS) {
            return None;
        }
        Some(format!(
            "`pisess list --all` lists all sessions; an entry or a label comes after the session: pisess {} last {first}",
            self.name
        ))
    }
}

/// Returns a hint if a file has nearly the name of the one that was not found, which may be any
/// argument of the command.
fn hint_for_similar_file(failure: &Failure) -> Option<String> {
    let missing = Path::new(failure.path.as_deref()?);
    if missing.exists() {
        return None;
    }
    let similar = find_similar_file(missing)?;
    Some(format!("did you mean {similar}?"))
}
