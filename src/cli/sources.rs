//! `--source`: the agents whose sessions a command reads where it searches for sessions.

use crate::cli::output::{Failure, Ui};
use crate::import::Origin;
use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::sync::LazyLock;

/// The environment variable with the names that apply without `--source`.
const VARIABLE: &str = "PISESS_SOURCES";

/// The option for the agents whose sessions are read.
#[derive(Clone, Debug, clap::Args)]
pub struct SourceArgs {
    /// Read the sessions of other agents (claude: Claude Code; codex: Codex; opencode: OpenCode;
    /// gemini: Gemini CLI; all: all of these, and pi and oh-my-pi; several with commas between;
    /// default: $PISESS_SOURCES)
    #[arg(
        id = "source",
        long = "source",
        value_name = "SOURCE",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub names: Vec<SourceName>,
}

impl SourceArgs {
    /// Whether `--source` is given.
    pub fn is_given(&self) -> bool {
        !self.names.is_empty()
    }

    /// Returns the agents whose sessions are read. `None` if only those of pi and oh-my-pi are.
    /// Without `--source`, the environment variable `PISESS_SOURCES` decides.
    pub fn sources(&self, ui: &Ui) -> Result<Option<Sources>, Failure> {
        if self.is_given() {
            return Ok(Some(Sources::from_names(&self.names)));
        }
        let value = ui.env_var(VARIABLE).unwrap_or_default();
        let mut names = Vec::new();
        for word in value.split(',') {
            let word = word.trim();
            if word.is_empty() {
                continue;
            }
            let name = SourceName::from_str(word, false).map_err(|_| {
                Failure::usage_error(format_args!("{VARIABLE}: {word} is not a source"))
                    .with_hint("use claude, codex, opencode, gemini or all, with commas between")
            })?;
            names.push(name);
        }
        if names.is_empty() {
            return Ok(None);
        }
        Ok(Some(Sources::from_names(&names)))
    }
}

/// The agents whose sessions are read, if not only those of pi and oh-my-pi.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The other agents.
    pub origins: Vec<Origin>,
    /// Whether the sessions of pi and oh-my-pi are read, too.
    pub includes_own: bool,
}

impl Sources {
    fn from_names(names: &[SourceName]) -> Sources {
        let mut origins = Vec::new();
        let includes_own = names.contains(&SourceName::All);
        for &origin in Origin::all() {
            if includes_own || names.contains(&SourceName::One(origin)) {
                origins.push(origin);
            }
        }
        Sources {
            origins,
            includes_own,
        }
    }
}

/// A value of `--source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceName {
    /// One of the other agents.
    One(Origin),
    /// All other agents, and pi and oh-my-pi.
    All,
}

impl ValueEnum for SourceName {
    fn value_variants<'a>() -> &'a [SourceName] {
        static NAMES: LazyLock<Vec<SourceName>> = LazyLock::new(|| {
            let mut names = Vec::new();
            for &origin in Origin::all() {
                names.push(SourceName::One(origin));
            }
            names.push(SourceName::All);
            names
        });
        &NAMES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            SourceName::One(origin) => {
                let help = format!("Those of {}", origin.display_name());
                PossibleValue::new(origin.name()).help(help)
            }
            SourceName::All => PossibleValue::new("all").help("Those of all agents"),
        })
    }
}
