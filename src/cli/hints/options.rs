//! Tips for options that the command does not have, or not in that form.

use super::refusal::Refusal;
use clap::error::ErrorKind;

/// Returns a tip for an unknown option, or for an argument too many. The option may be a path, or
/// the value of another option.
pub(super) fn tip_for_unknown_argument(refusal: &Refusal) -> Option<String> {
    let argument = refusal.unknown_argument()?;
    let is_option = argument.starts_with('-') && argument != "-";
    if !is_option {
        return Some(tip_for_surplus_argument(refusal.command?));
    }
    if may_be_path(argument) {
        return Some(format!(
            "put ./ before a path that begins with -, as in ./{argument}"
        ));
    }
    tip_for_value_as_option(argument, refusal.command?)
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

/// Whether an unknown option may be a path that begins with `-`: a session, or one of pi's
/// directories, such as `--home-u-project--`.
fn may_be_path(option: &str) -> bool {
    option.contains('/') || option.ends_with(".jsonl") || option.ends_with("--")
}

/// Returns a tip for a value that was typed as an option: `--markdown` for `--as markdown`.
fn tip_for_value_as_option(option: &str, subcommand: &clap::Command) -> Option<String> {
    let typed_value = option.strip_prefix("--")?;
    for arg in subcommand.get_arguments() {
        let Some(long) = arg.get_long() else {
            continue;
        };
        let ignore_case = false;
        for value in arg.get_possible_values() {
            if value.matches(typed_value, ignore_case) {
                return Some(format!("did you mean --{long} {typed_value}?"));
            }
        }
    }
    None
}

/// Returns a tip for `--summarize` with a command that always writes a summary. Only `switch` has
/// the option `--summarize`. For other commands, clap takes it for an abbreviation of
/// `--summarizer`, and reports that its value is missing.
pub(super) fn tip_for_summarize(refusal: &Refusal) -> Option<String> {
    if refusal.error.kind() != ErrorKind::InvalidValue || !refusal.has_word("--summarize") {
        return None;
    }
    // clap's message quotes the option as the usage prints it, with its value.
    let message = refusal.error.to_string();
    if !message.contains("'--summarizer") {
        return None;
    }
    let name = refusal.command?.get_name();
    Some(format!(
        "omit --summarize: `pisess {name}` always writes a summary, by default the built-in one"
    ))
}

/// Returns a tip with the current name of an option, if clap suggests a former name. Former names
/// are aliases of the option.
pub(super) fn tip_for_former_name(refusal: &Refusal) -> Option<String> {
    let suggestion = refusal.suggestion()?;
    if refusal.unlikely_suggestion().is_some() {
        return None;
    }
    let former_name = suggestion.trim_start_matches('-');
    for arg in refusal.command?.get_arguments() {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        if aliases.contains(&former_name) {
            return Some(format!("did you mean --{}?", arg.get_long()?));
        }
    }
    None
}
