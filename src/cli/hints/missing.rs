//! Tips for arguments that are required, but missing.

use super::refusal::Refusal;
use crate::session::reference::is_reference_form;
use clap::error::ErrorKind;

/// Returns a tip for a missing argument: for SESSION, how to read all sessions or the last one; for
/// a missing reference, how to find one.
pub(super) fn tip_for_missing_argument(refusal: &Refusal) -> Option<String> {
    let subcommand = refusal.command?;
    if refusal.error.kind() != ErrorKind::MissingRequiredArgument {
        return None;
    }

    if let Some(tip) = tip_for_lost_session(refusal) {
        return Some(tip);
    }
    if refusal.is_missing("<SESSION>") {
        return Some(tip_for_missing_session(subcommand));
    }
    // Only `diff` has this argument.
    if refusal.is_missing("<SESSION|REF>") {
        let tip = "give another session, or two entries, as in `pisess diff last @~3 @`";
        return Some(tip.to_owned());
    }
    if refusal.is_missing("<REF>") {
        return Some(tip_for_missing_reference(refusal));
    }
    None
}

/// Returns a tip for an option of `show` that has taken the session as its value, as in `pisess
/// show --images SESSION`.
fn tip_for_lost_session(refusal: &Refusal) -> Option<String> {
    if refusal.command_name() != "show" {
        return None;
    }
    for (option, value) in [("--images", "DIR"), ("--file", "PATH")] {
        if refusal.has_word(option) {
            return Some(format!(
                "{option} takes a value: pisess show {option} {value} SESSION"
            ));
        }
    }
    None
}

/// Returns the tip for a command without REF. If a word has the form of a reference, clap has taken
/// it for SESSION.
fn tip_for_missing_reference(refusal: &Refusal) -> String {
    let mut words = refusal.args.iter().filter_map(|arg| arg.to_str());
    if let Some(reference) = words.find(|word| is_reference_form(word)) {
        let name = refusal.command_name();
        return format!("the session comes first: pisess {name} last {reference}");
    }
    "`pisess branches` lists the branches, `pisess tree` all entries; \
     ':/TEXT' names the newest entry that contains TEXT"
        .to_owned()
}

/// Returns the tip for a command without SESSION: how to read all sessions, if the command can, or
/// an example with `last`.
fn tip_for_missing_session(subcommand: &clap::Command) -> String {
    if !has_option(subcommand, "all") {
        let example = example_with_last(subcommand);
        return format!(
            "`last` is the session that changed last in this directory: {example}; \
             --choose lists all"
        );
    }

    let name = subcommand.get_name();
    // A command in a hint must change nothing.
    let option_to_only_read = if has_option(subcommand, "check") {
        "--check "
    } else if name == "prune" {
        "-n "
    } else {
        ""
    };
    format!(
        "`pisess {name} {option_to_only_read}--all` reads the sessions of all projects; \
         --choose asks for one"
    )
}

fn has_option(subcommand: &clap::Command, id: &str) -> bool {
    subcommand.get_arguments().any(|arg| arg.get_id() == id)
}

/// Returns the command with `last` for SESSION, and with its other required arguments: `pisess
/// label last <REF>`.
fn example_with_last(subcommand: &clap::Command) -> String {
    let mut example = format!("pisess {} last", subcommand.get_name());
    let required = subcommand
        .get_positionals()
        .filter(|argument| argument.is_required_set());
    // The first one is SESSION, for which the example has `last`.
    for argument in required.skip(1) {
        example += &format!(" {argument}");
    }
    example
}
