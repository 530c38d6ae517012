//! Hints for invalid command lines.

mod conflicts;
mod habits;
mod missing;
mod not_found;
mod options;
mod refusal;

pub use not_found::hint_session_first;

use crate::cli::output::Failure;
use conflicts::{tip_for_one_branch, tip_for_repairing_all, tip_for_sessions_with_all};
use habits::find_habit;
use missing::tip_for_missing_argument;
use options::{tip_for_former_name, tip_for_summarize, tip_for_unknown_argument};
use refusal::Refusal;
use std::ffi::OsString;

/// Returns the failure for an invalid command line, on one line: clap's message; and as the hint,
/// advice and the command for help.
pub fn usage_failure(error: &clap::Error, args: &[OsString], command: &clap::Command) -> Failure {
    let rendered = error.render().to_string();
    // For an invalid value, clap prints no usage.
    let (message, usage) = rendered.split_once("\nUsage: ").unwrap_or((&rendered, ""));
    let ClapMessage { cause, tips } = ClapMessage::parse(message);
    let name = command_name(usage, args, command);
    let refusal = Refusal {
        error,
        args,
        command: name.and_then(|name| command.find_subcommand(name)),
    };

    let mut advice = advise(&refusal, &tips);
    advice.push(match name {
        Some(name) => format!("see `pisess {name} --help`"),
        None => "see `pisess --help`".to_owned(),
    });
    Failure::usage_error(cause).with_hint(advice.join("; "))
}

/// Returns what the user may have meant: the hint for a habit from another tool, else the tip of
/// this module, else clap's tips.
fn advise(refusal: &Refusal, clap_tips: &[&str]) -> Vec<String> {
    if let Some(hint) = find_habit(refusal) {
        return vec![hint.to_owned()];
    }

    let mut advice = Vec::new();
    if let Some(tip) = own_tip(refusal) {
        advice.push(tip);
    } else {
        for tip in clap_tips {
            if is_useful_tip(tip, refusal) {
                advice.push((*tip).to_owned());
            }
        }
    }
    if refusal.unknown_argument().is_some() && refusal.command_name() == "grep" {
        advice.push("give a pattern that begins with - after -e or --".to_owned());
    }
    advice
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

/// Whether a tip of clap is worth printing.
fn is_useful_tip(tip: &str, refusal: &Refusal) -> bool {
    if let Some(suggestion) = refusal.unlikely_suggestion()
        && tip.contains(suggestion)
    {
        return false;
    }
    // clap proposes `--` before any unknown option. That is useful for a label, which may begin
    // with a hyphen. For other commands, the argument is rather an option of another command.
    let is_tip_for_value = tip.contains("as a value, use '-- ");
    !is_tip_for_value || refusal.command_name() == "label"
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

/// Returns the first tip of this module that applies. The tip for any missing argument is last,
/// because an option may have taken that argument as its value, which has a tip of its own.
fn own_tip(refusal: &Refusal) -> Option<String> {
    tip_for_unknown_argument(refusal)
        .or_else(|| tip_for_former_name(refusal))
        .or_else(|| tip_for_one_branch(refusal))
        .or_else(|| tip_for_summarize(refusal))
        .or_else(|| tip_for_repairing_all(refusal))
        .or_else(|| tip_for_sessions_with_all(refusal))
        .or_else(|| tip_for_missing_argument(refusal))
}

/// Whether `typed` may be a misspelling of `known`. Both begin with the same letter, and at most
/// one letter differs; two may differ in a word of six letters or more.
pub fn is_slip(typed: &str, known: &str) -> bool {
    let most_differing = if typed.chars().count() < 6 { 1 } else { 2 };
    typed.chars().next() == known.chars().next()
        && strsim::osa_distance(typed, known) <= most_differing
}
