//! Tips for options that exclude each other.

use super::refusal::is_conflict;
use clap::error::ErrorKind;

/// Returns a tip for `check --all --repair`, which conflict: what is repaired must be named.
pub(super) fn tip_for_repairing_all(error: &clap::Error) -> Option<String> {
    if !is_conflict(error, "--all", "'--repair'") {
        return None;
    }
    Some("`pisess check --all` reports what there is to repair; `pisess check -r --repair --backup DIR` repairs a directory".to_owned())
}

/// Returns a tip for `--all` or `--archived` together with SESSION. In `grep foo bar --all`, `bar`
/// is read as SESSION, but is probably a further word of the pattern.
pub(super) fn tip_for_sessions_with_all(
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
pub(super) fn tip_for_last_with_file(error: &clap::Error) -> Option<String> {
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

/// Returns a tip for `fork --branch 2`. clap reads that as `--branches`, which takes no REF.
pub(super) fn tip_for_one_branch(
    error: &clap::Error,
    subcommand: Option<&clap::Command>,
) -> Option<String> {
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
