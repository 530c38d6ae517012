//! Hints for command lines that are not valid.

use crate::cli::output::Failure;
use crate::session::reference::is_form;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::path::Path;

/// Returns a usage error on one line: clap's message, with its tips and the command for help as the
/// hint.
pub fn usage(error: &clap::Error, args: &[OsString], command: &clap::Command) -> Failure {
    let text = error.render().to_string();
    let (said, usage) = text.split_once("\nUsage: ").unwrap_or((&text, ""));
    let lines = said
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("For more information"));
    let (tips, cause): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("tip:"));
    // `Usage: pisess tree [OPTIONS] <SESSION>` names the command. clap prints no usage for an
    // invalid value.
    let words = args.iter().skip(1).filter_map(|arg| arg.to_str());
    let given = words
        .filter_map(|arg| command.find_subcommand(arg))
        .map(clap::Command::get_name)
        .next();
    let second = usage
        .split_whitespace()
        .nth(1)
        .filter(|word| !word.starts_with(['[', '<', '-']));
    let name = if usage.is_empty() { given } else { second };
    let verb = name.and_then(|name| command.find_subcommand(name));
    let habit = habit(error, verb);
    let own = habit
        .map(str::to_owned)
        .or_else(|| unknown_option(error).and_then(|option| meant(option, verb)))
        .or_else(|| renamed(error, verb))
        .or_else(|| always_summarized(error, args, verb))
        .or_else(|| too_much(error, verb))
        .or_else(|| too_little(error, args, verb));
    // A label may begin with a hyphen. What begins with one elsewhere is more likely an option of
    // another command than a file.
    let is_likely = |tip: &String| name == Some("label") || !tip.contains("as a value, use '-- ");
    let of_clap = tips
        .iter()
        .map(|tip| tip.trim_start_matches("tip:").trim().to_owned())
        .filter(is_likely);
    let mut advice: Vec<_> = own.map_or_else(|| of_clap.collect(), |own| vec![own]);
    if habit.is_none() && unknown_option(error).is_some() && name == Some("grep") {
        advice.push("give a pattern that begins with - after -e or --".to_owned());
    }
    advice.push(format!(
        "see `pisess {}--help`",
        name.map(|name| format!("{name} ")).unwrap_or_default()
    ));
    Failure::usage(cause.join(" ").trim_start_matches("error:").trim()).hint(advice.join("; "))
}

/// What users of git, ripgrep, jj, gh and ls type by habit, the command for which they do (`*` is
/// any, and `` none), and the hint. A number of rows is written as `-n`.
const HABITS: [(&[&str], &str, &str); 30] = [
    (
        &["-C"],
        "",
        "change the directory first, or give it to `list`, `grep` or `stats` as SESSION",
    ),
    (&["-C"], "list", "give the directory as SESSION"),
    (
        &["-E"],
        "grep",
        "omit -E: every PATTERN is a regular expression",
    ),
    (&["-L", "-n"], "list", "did you mean --limit N?"),
    (
        &["-P"],
        "grep",
        "omit -P: every PATTERN is a regular expression",
    ),
    (
        &["-R"],
        "grep",
        "omit -R: directories are searched at any depth",
    ),
    (&["-a"], "tree", "did you mean --filter all?"),
    (
        &["-b", "-c"],
        "switch",
        "the next message begins a branch at REF; --label NAME labels it",
    ),
    (&["-d", "--delete"], "label", "did you mean --clear?"),
    (
        &["-g", "--glob"],
        "grep",
        "give the sessions or directories to search as SESSION",
    ),
    (&["-m"], "append", "did you mean --user TEXT?"),
    (
        &["-n"],
        "grep",
        "omit -n: rows have the ids of their entries; --max-count N prints the first N",
    ),
    (&["-n"], "tree", "did you mean --around N?"),
    (
        &["-o"],
        "grep",
        "omit -o: a row shows the match and the text around it",
    ),
    (&["-t", "--type"], "grep", "did you mean --role ROLE?"),
    (&["-v"], "", "did you mean --version?"),
    (&["--after"], "*", "did you mean --since TIME?"),
    (&["--before"], "*", "did you mean --until TIME?"),
    (&["--count-matches"], "grep", "did you mean --count?"),
    (&["--fix"], "check", "did you mean --repair?"),
    (&["--format"], "context", "did you mean --as FORMAT?"),
    (&["--format"], "export", "did you mean --as FORMAT?"),
    (&["--format"], "*", "did you mean --json?"),
    (
        &["--grep", "--search"],
        "list",
        "`pisess grep -l PATTERN` lists the sessions that contain a text",
    ),
    (&["--jq"], "*", "pipe the output of --json into jq"),
    (
        &["--limit"],
        "grep",
        "did you mean --max-count N, of each session?",
    ),
    (
        &["--oneline"],
        "tree",
        "omit --oneline: each entry is one row",
    ),
    (
        &["--project"],
        "list",
        "give the directory of the project as SESSION",
    ),
    (&["--reverse"], "*", "pipe the rows into `tac`"),
    (
        &["size"],
        "list",
        "did you mean context (what the model sees) or tokens (sent and received)? for bytes, `pisess list -0 | xargs -0 ls -lS`",
    ),
];

/// Returns the hint for an option or a value that other tools have.
fn habit(error: &clap::Error, verb: Option<&clap::Command>) -> Option<&'static str> {
    let given = match (error.kind(), error.get(ContextKind::InvalidValue)) {
        (ErrorKind::InvalidValue, Some(ContextValue::String(value))) => value,
        _ => unknown_option(error)?,
    };
    let is_count = given
        .strip_prefix('-')
        .is_some_and(|count| count.parse::<u32>().is_ok());
    let typed = if is_count { "-n" } else { given };
    let name = verb.map_or("", clap::Command::get_name);
    let applies = |of: &str| of == name || of == "*";
    HABITS
        .iter()
        .find(|(habits, of, _)| habits.contains(&typed) && applies(of))
        .map(|(_, _, hint)| *hint)
}

fn unknown_option(error: &clap::Error) -> Option<&str> {
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) => Some(option),
        _ => None,
    }
}

/// Returns a hint for an unknown option that is a path beginning with `-`, as pi's directories do,
/// or the value of an option of the command; or for one argument too many.
fn meant(option: &str, verb: Option<&clap::Command>) -> Option<String> {
    if !option.starts_with('-') || option == "-" {
        if verb?.get_name() == "append" {
            return Some("give the text of a message with --user or --assistant".to_owned());
        }
        let arguments: Vec<_> = verb?.get_positionals().map(ToString::to_string).collect();
        return Some(format!(
            "the arguments of {} are {}",
            verb?.get_name(),
            arguments.join(" ")
        ));
    }
    if option.contains('/') || option.ends_with(".jsonl") || option.ends_with("--") {
        return Some(format!(
            "put ./ before a path that begins with -, as in ./{option}"
        ));
    }
    let value = option.strip_prefix("--")?;
    let takes = |arg: &&clap::Arg| {
        arg.get_possible_values()
            .iter()
            .any(|known| known.matches(value, false))
    };
    let arg = verb?
        .get_arguments()
        .find(|arg| arg.get_long().is_some() && takes(arg))?;
    Some(format!("did you mean --{} {value}?", arg.get_long()?))
}

/// Returns a hint for `--all` or `--archived` together with sessions: in `grep`, those may be words
/// of a pattern.
fn too_much(error: &clap::Error, verb: Option<&clap::Command>) -> Option<String> {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_conflict =
        error.kind() == ErrorKind::ArgumentConflict && error.to_string().contains("[SESSION]");
    if !is_conflict || !matches!(&**option, "--all" | "--archived") {
        return None;
    }
    Some(match verb?.get_name() {
        "grep" => "put a pattern of several words in quotes, and give no SESSION".to_owned(),
        _ => format!("omit {option} or SESSION; a name is looked up in all projects"),
    })
}

/// Returns a hint for a command without SESSION: how to read all sessions, or the last one.
fn too_little(
    error: &clap::Error,
    args: &[OsString],
    verb: Option<&clap::Command>,
) -> Option<String> {
    let verb = verb.filter(|_| error.kind() == ErrorKind::MissingRequiredArgument)?;
    let (name, message) = (verb.get_name(), error.to_string());
    let has = |name: &str| verb.get_arguments().any(|arg| arg.get_id() == name);
    let lacks = |argument: &str| {
        message
            .lines()
            .any(|line| line.trim_end_matches("...").trim() == argument)
    };
    if !lacks("<SESSION>") {
        let reference = args
            .iter()
            .filter_map(|arg| arg.to_str())
            .find(|arg| is_form(arg));
        return match reference {
            _ if lacks("<SESSION|REF>") => Some(
                "give another session, or two entries, as in `pisess diff last @~3 @`".to_owned(),
            ),
            _ if !lacks("<REF>") => None,
            Some(reference) => Some(format!(
                "the session comes first: pisess {name} last {reference}"
            )),
            None => {
                Some("`pisess branches` lists the branches, `pisess tree` all entries".to_owned())
            }
        };
    }
    if has("all") {
        // What writes does not take all sessions at once.
        let check = if has("check") { "--check " } else { "" };
        return Some(format!(
            "`pisess {name} {check}--all` reads the sessions of all projects"
        ));
    }
    let others = verb
        .get_positionals()
        .filter(|arg| arg.is_required_set())
        .skip(1);
    let others: String = others.map(|arg| format!(" {arg}")).collect();
    Some(format!(
        "the session of this directory that changed last is `last`: pisess {name} last{others}"
    ))
}

/// Returns a hint for `--summarize` of `switch` with a command that always writes a summary, where
/// clap reads it as short for `--summarizer`.
fn always_summarized(
    error: &clap::Error,
    args: &[OsString],
    verb: Option<&clap::Command>,
) -> Option<String> {
    let is_valueless =
        error.kind() == ErrorKind::InvalidValue && error.to_string().contains("'--summarizer");
    let is_meant = is_valueless && args.iter().any(|arg| arg == "--summarize");
    let name = verb.filter(|_| is_meant)?.get_name();
    Some(format!(
        "omit --summarize: `pisess {name}` always writes a summary, by default the built-in one"
    ))
}

/// Returns a hint with the name of an option, if clap suggests a former one.
fn renamed(error: &clap::Error, verb: Option<&clap::Command>) -> Option<String> {
    let Some(ContextValue::String(suggested)) = error.get(ContextKind::SuggestedArg) else {
        return None;
    };
    let former = suggested.trim_start_matches('-');
    let is_former = |arg: &&clap::Arg| {
        arg.get_all_aliases()
            .is_some_and(|names| names.contains(&former))
    };
    Some(format!(
        "did you mean --{}?",
        verb?.get_arguments().find(is_former)?.get_long()?
    ))
}

/// Adds a hint if the session was given after another argument: the first argument is not a file,
/// but a later one is.
pub fn with_session_first(failure: Failure, args: &[OsString]) -> Failure {
    if !failure.is_missing {
        return failure;
    }
    let mut words = args
        .iter()
        .skip(1)
        .filter(|arg| !arg.to_string_lossy().starts_with('-'));
    let (verb, first) = (words.next(), words.next());
    let session =
        words.find(|arg| arg.to_string_lossy().ends_with(".jsonl") && Path::new(arg).is_file());
    match (verb, first, session) {
        (Some(verb), Some(first), Some(session)) => {
            let [verb, first, session] = [verb, first, session].map(|word| word.to_string_lossy());
            failure.hint(format!(
                "the session comes first: pisess {verb} {session} {first}"
            ))
        }
        _ => failure,
    }
}
