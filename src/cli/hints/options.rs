//! Tips for options that the command does not have, or not in that form.

use super::refusal::{unknown_option, unlikely_suggestion};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// Returns a tip for an unknown option. It may be a path that begins with `-`, such as one of pi's
/// directories, `--home-u-project--`; or the value of one of the command's options, such as
/// `--markdown` for `--as markdown`.
///
/// clap reports an argument too many in the same way. Such an argument has its own tip.
pub(super) fn tip_for_unknown_option(
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

/// Returns a tip for `--summarize` with a command that always writes a summary. Only `switch` has
/// the option `--summarize`. For other commands, clap takes it for an abbreviation of
/// `--summarizer`, and reports that its value is missing.
pub(super) fn tip_for_summarize(
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
pub(super) fn tip_for_former_name(
    error: &clap::Error,
    subcommand: Option<&clap::Command>,
) -> Option<String> {
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
