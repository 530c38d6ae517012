//! The options that commands share. The command line itself is defined in `commands/mod.rs`.

use crate::ops::grep::EntriesAround;
use crate::session::dialect::Dialect;
use clap::{Arg, Args, ValueEnum};
use pisess_store::WriteOptions;
use std::path::PathBuf;
use std::time::Duration;

/// When to colour the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ColorChoice {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// When paths are links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LinkChoice {
    /// On a terminal that is known to have links.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Options of a command that changes a session, or writes the result elsewhere.
#[derive(Args, Clone, Debug)]
pub struct WriteArgs {
    /// Write the result to PATH (- for standard output) instead of changing the session
    #[arg(short, long, value_name = "PATH", help_heading = "Writing")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// The option that is short for the range of the last entries.
#[derive(Args, Clone, Copy, Debug)]
pub struct LastArgs {
    /// Take only the last N entries of the conversation, as the range `@~N..` does
    #[arg(long = "last", value_name = "N", value_parser = parse_count)]
    pub entry_count: Option<usize>,
}

/// Returns the entries that `-B`, `-A` and `-C` request. `-C` is for both sides; `-B` and `-A`
/// override it.
pub fn entries_around(
    before: Option<usize>,
    after: Option<usize>,
    around: Option<usize>,
) -> EntriesAround {
    let default_count = around.unwrap_or(0);
    EntriesAround {
        above: before.unwrap_or(default_count),
        below: after.unwrap_or(default_count),
        with_prompt: false,
    }
}

/// Options of every command that changes files.
#[derive(Args, Clone, Debug)]
pub struct ChangeArgs {
    /// Print what would be written, and write nothing
    #[arg(short = 'n', long, help_heading = "Writing")]
    pub dry_run: bool,
    /// Override refusals (such as overwriting an existing output)
    #[arg(long, help_heading = "Writing")]
    pub force: bool,
    /// Seconds to wait for the session's lock
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds, help_heading = "Writing")]
    pub wait: Duration,
    /// Print the result as JSON (with -n, the plan)
    #[arg(long)]
    pub json: bool,
}

impl ChangeArgs {
    /// Returns the options for changing a file of this agent.
    pub fn write_options(&self, agent: Dialect) -> WriteOptions {
        WriteOptions {
            force: self.force,
            wait: self.wait,
            is_omp: agent == Dialect::OhMyPi,
            is_moved: false,
        }
    }
}

/// Parses a number of seconds, which is 0 or more.
pub fn parse_seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e9).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("expected a number of seconds, zero or more".to_owned()),
    }
}

/// Parses a number of entries, which is 1 or more.
fn parse_count(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err("expected a number of entries, 1 or more".to_owned()),
    }
}

/// The maximum number of tokens or bytes: JSON can represent every integer up to it.
const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Parses a number of tokens or bytes, such as `64000`, `8k`, `64 KB` or `1.5M`. Units are powers
/// of 1000, because the agents display tokens in these. A fraction is rounded to the nearest
/// integer. A number above [`MAX_SAFE_INTEGER`] or with a minus sign is refused.
pub fn parse_amount(text: &str) -> Result<u64, String> {
    let without_byte_unit = text.strip_suffix(['b', 'B']).unwrap_or(text);
    let mut digits = without_byte_unit;
    let mut factor = 1.0;
    for (letters, value) in [(['k', 'K'], 1e3), (['m', 'M'], 1e6), (['g', 'G'], 1e9)] {
        if let Some(without_unit) = without_byte_unit.strip_suffix(letters) {
            digits = without_unit;
            factor = value;
        }
    }

    let refusal = || "expected a number such as 64000, 8k or 1.5M".to_owned();
    let number: f64 = digits.trim_end().parse().map_err(|_| refusal())?;
    let amount = (number * factor).round();
    // The range also contains -0, to which `-0.1` is rounded.
    let is_accepted = (0.0..=MAX_SAFE_INTEGER).contains(&amount) && amount.is_sign_positive();
    if is_accepted {
        Ok(amount as u64)
    } else {
        Err(refusal())
    }
}

/// Parses a number of tokens or bytes that is greater than 0.
pub fn parse_positive_amount(text: &str) -> Result<u64, String> {
    match parse_amount(text)? {
        0 => Err("expected a number greater than 0, such as 64000, 8k or 1.5M".to_owned()),
        amount => Ok(amount),
    }
}

/// Returns the name of an argument's value in the help, for example `SESSION`. Returns an empty
/// text for an option without a value.
pub fn value_name(arg: &Arg) -> String {
    if let Some([name, ..]) = arg.get_value_names() {
        return name.to_string();
    }
    if arg.is_positional() {
        return arg.get_id().as_str().to_uppercase();
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_units() {
        let amounts = [
            ("0", 0),
            ("100000", 100_000),
            ("8k", 8_000),
            ("100K", 100_000),
            ("64 KB", 64_000),
            ("0.001k", 1),
            ("1.1M", 1_100_000),
            ("1.5MB", 1_500_000),
            ("2m", 2_000_000),
            ("2G", 2_000_000_000),
        ];
        for (text, expected) in amounts {
            assert_eq!(parse_amount(text), Ok(expected), "{text}");
        }
        for text in [
            "", "k", "B", "many", "-1", "-1k", "-0", "1t", "6 4k", "inf", "nan", "1e300",
        ] {
            assert!(parse_amount(text).is_err(), "{text}");
        }
        assert_eq!(parse_positive_amount("1"), Ok(1));
        assert!(parse_positive_amount("0").is_err() && parse_positive_amount("0.1").is_err());
    }
}
