//! Tips for arguments that are required, but missing.

use super::refusal::is_missing;
use crate::session::reference::is_reference_form;
use clap::error::ErrorKind;
use std::ffi::OsString;

/// Returns a tip for a missing argument: for SESSION, how to read all sessions or the last one; for
/// a missing reference, how to find one.
pub(super) fn tip_for_missing_argument(
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
