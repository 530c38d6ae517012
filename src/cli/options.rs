//! Options that commands share. The command line itself is defined in `commands/mod.rs`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Options of every command.
#[derive(Args, Clone, Debug)]
pub struct GlobalArgs {
    /// When to colour the output: always, never, or auto (on a terminal, unless NO_COLOR is set)
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true,
        help_heading = "Common options"
    )]
    pub color: ColorChoice,
    /// Suppress notes, but not errors
    #[arg(short, long, global = true, help_heading = "Common options")]
    pub quiet: bool,
}

impl Default for GlobalArgs {
    fn default() -> Self {
        GlobalArgs { color: ColorChoice::Auto, quiet: false }
    }
}

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

/// Options of every command that changes a session.
#[derive(Args, Clone, Debug)]
pub struct WriteArgs {
    /// Write the result to PATH instead of the session (- for standard output)
    #[arg(short, long, value_name = "PATH", help_heading = "Writing")]
    pub output: Option<PathBuf>,
    /// Print what would be written, and write nothing
    #[arg(short = 'n', long, help_heading = "Writing")]
    pub dry_run: bool,
    /// Override refusals, such as overwriting an existing output
    #[arg(long, help_heading = "Writing")]
    pub force: bool,
    /// Seconds to wait for the session's lock
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, value_parser = seconds, help_heading = "Writing")]
    pub wait: f64,
    /// Print the result as JSON (with -n, the plan)
    #[arg(long)]
    pub json: bool,
}

/// Parses a number of seconds, zero or more.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.0..=1e9).contains(&seconds) => Ok(seconds),
        _ => Err("expected a number of seconds, zero or more".to_owned()),
    }
}

/// Parses a number of tokens, such as `100000`, `100k` or `1.5M`.
pub fn count(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1e3),
        None => text.strip_suffix(['m', 'M']).map_or((text, 1.0), |number| (number, 1e6)),
    };
    match number.parse::<f64>() {
        Ok(number) if number.is_finite() && number >= 0.0 && !number.is_sign_negative() => Ok(number * unit),
        _ => Err("expected a number of tokens, such as 100000, 100k or 1.5M".to_owned()),
    }
}

/// Parses a number of bytes, such as `500000`, `64k`, `64 KB` or `1.5M`.
pub fn bytes(text: &str) -> Result<usize, String> {
    let number: String = text.trim_end_matches(['b', 'B']).split_whitespace().collect();
    count(&number)
        .map(|bytes| bytes as usize)
        .map_err(|_| "expected a number of bytes, such as 500000, 64k or 1.5M".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_units() {
        for (text, expected) in
            [("0", 0.0), ("100000", 1e5), ("100k", 1e5), ("100K", 1e5), ("1.5M", 1.5e6), ("2m", 2e6)]
        {
            assert_eq!(count(text), Ok(expected), "{text}");
        }
        for (text, expected) in [("0", 0), ("64k", 64_000), ("64 KB", 64_000), ("1.5MB", 1_500_000)] {
            assert_eq!(bytes(text), Ok(expected), "{text}");
        }
        assert!(bytes("large").is_err());
        for text in ["", "k", "many", "-1", "-1k", "1g", "inf", "nan", "1 k"] {
            assert!(count(text).is_err(), "{text}");
        }
    }
}
