//! `--source`: the agents whose sessions a command reads where it searches for sessions.

use crate::cli::foreign::refuse_stdin;
use crate::cli::locate::{is_archive, read_archive_facts};
use crate::cli::output::{Failure, Ui};
use crate::cli::rollouts::{detect_file, is_pipe};
use crate::import::Origin;
use crate::load::read_dialect;
use crate::session::dialect::Dialect;
use clap::builder::PossibleValue;
use clap::{ArgMatches, FromArgMatches, ValueEnum};
use pisess_store::{FoundFile, Glance};
use std::path::Path;
use std::sync::LazyLock;

/// The environment variable with the names that apply without `--source`.
const VARIABLE: &str = "PISESS_SOURCES";

/// The option for the agents whose sessions are read.
#[derive(Clone, Debug, clap::Args)]
pub struct SourceArgs {
    /// Read only the sessions of these agents (pi, omp for oh-my-pi, claude for Claude Code, codex,
    /// opencode, gemini or all, with commas between them) [default without a path: $PISESS_SOURCES
    /// (not for `redact`), or else pi,omp]
    #[arg(
        id = "source",
        long = "source",
        value_name = "AGENT",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub names: Vec<SourceName>,
}

impl SourceArgs {
    /// Returns the option of a command line; `None` if it is not given, or if the command does not
    /// have it.
    pub fn given_in(matches: &ArgMatches) -> Option<SourceArgs> {
        let is_given = matches.try_contains_id("source").unwrap_or(false);
        if !is_given {
            return None;
        }
        SourceArgs::from_arg_matches(matches).ok()
    }

    /// Whether `--source` is given.
    pub fn is_given(&self) -> bool {
        !self.names.is_empty()
    }

    /// Returns the options, each after a space, for a command in a hint.
    pub fn to_words(&self) -> String {
        let mut words = String::new();
        for name in &self.names {
            if let Some(value) = name.to_possible_value() {
                words += &format!(" --source {}", value.get_name());
            }
        }
        words
    }

    /// Returns the agents that `--source` names; `None` if it is not given.
    pub fn given(&self) -> Option<Sources> {
        self.is_given().then(|| Sources::from_names(&self.names))
    }

    /// Returns the agents whose sessions are read. `None` if none are named: then the sessions of
    /// pi and oh-my-pi are read. Without `--source`, the environment variable `PISESS_SOURCES`
    /// decides.
    pub fn sources(&self, ui: &Ui) -> Result<Option<Sources>, Failure> {
        if let Some(given) = self.given() {
            return Ok(Some(given));
        }
        let value = ui.env_var(VARIABLE).unwrap_or_default();
        let mut names = Vec::new();
        for word in value.split(',') {
            let word = word.trim();
            if word.is_empty() {
                continue;
            }
            let name = SourceName::from_str(word, false).map_err(|_| {
                Failure::usage_error(format_args!("{VARIABLE}: {word} is not a source")).with_hint(
                    "use pi, omp, claude, codex, opencode, gemini or all, with commas between",
                )
            })?;
            names.push(name);
        }
        if names.is_empty() {
            return Ok(None);
        }
        Ok(Some(Sources::from_names(&names)))
    }
}

/// The agents whose sessions are read, if the user names any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sources {
    /// The agents other than pi and oh-my-pi.
    pub origins: Vec<Origin>,
    /// Which of pi and oh-my-pi are among the agents.
    pub own: Vec<Dialect>,
}

impl Sources {
    fn from_names(names: &[SourceName]) -> Sources {
        let includes_all = names.contains(&SourceName::All);
        let mut origins = Vec::new();
        for &origin in Origin::all() {
            if includes_all || names.contains(&SourceName::Other(origin)) {
                origins.push(origin);
            }
        }
        let mut own = Vec::new();
        for dialect in Dialect::ALL {
            if includes_all || names.contains(&SourceName::Own(dialect)) {
                own.push(dialect);
            }
        }
        Sources { origins, own }
    }

    /// Whether the sessions of pi or of oh-my-pi are read.
    pub fn includes_own(&self) -> bool {
        !self.own.is_empty()
    }

    /// Refuses `--archived` if neither pi nor oh-my-pi is among the agents: `archive` takes only
    /// their sessions.
    pub fn refuse_without_archives(&self) -> Result<(), Failure> {
        if self.includes_own() {
            return Ok(());
        }
        let failure =
            Failure::usage_error("--archived: only sessions of pi and oh-my-pi are in archives");
        Err(failure.with_hint("omit --archived, or add pi,omp to --source"))
    }

    /// Whether the sessions of all agents are read.
    pub fn includes_all(&self) -> bool {
        self.own.len() == Dialect::ALL.len() && self.origins.len() == Origin::all().len()
    }

    /// Keeps the files of these agents. A sub-agent belongs to the agent of its session. A file
    /// that cannot be read, and a pipe, which can be read only once, are kept. If no file is left,
    /// and only pi or oh-my-pi is searched for, warns of that.
    ///
    /// # Errors
    /// If one of the files is standard input, unless all agents are read.
    pub fn retain_files(
        &self,
        files: Vec<FoundFile>,
        ui: &mut Ui,
    ) -> Result<Vec<FoundFile>, Failure> {
        if self.includes_all() {
            return Ok(files);
        }
        for file in &files {
            refuse_stdin(std::slice::from_ref(&file.path))?;
        }

        let had_files = !files.is_empty();
        let choose = |file: FoundFile| {
            let session = file.owner.as_deref().unwrap_or(&file.path);
            let is_chosen = self.may_include(session);
            (file, is_chosen)
        };
        let mut kept = Vec::new();
        ui.map_in_parallel(files, choose, |_, (file, is_chosen)| {
            if is_chosen {
                kept.push(file);
            }
        });
        let searches_own_only = self.origins.is_empty();
        if had_files && kept.is_empty() && searches_own_only {
            let agents = self.own_agents();
            ui.warn(&format!(
                "none of the sessions found is of {agents} (hint: --source all reads those of all agents)"
            ));
        }
        Ok(kept)
    }

    /// Returns the names of the agents among pi and oh-my-pi.
    fn own_agents(&self) -> &'static str {
        match self.own[..] {
            [Dialect::Pi] => "pi",
            [Dialect::OhMyPi] => "oh-my-pi",
            _ => "pi or oh-my-pi",
        }
    }

    /// Whether a file is of one of these agents, or its agent cannot be determined.
    pub fn may_include(&self, path: &Path) -> bool {
        if is_pipe(path) {
            return true;
        }
        if is_archive(path) {
            return self.may_include_archive(path);
        }
        match detect_file(path) {
            Ok(Some(origin)) => return self.origins.contains(&origin),
            Ok(None) => {}
            Err(_) => return true,
        }
        let Ok(file) = Glance::open(path) else {
            return true;
        };
        match read_dialect(&file) {
            Ok(dialect) => self.own.contains(&dialect),
            Err(_) => true,
        }
    }

    /// Whether the session in an archive is of one of these agents, or its agent is not known.
    fn may_include_archive(&self, archive: &Path) -> bool {
        let Some(facts) = read_archive_facts(archive) else {
            return true;
        };
        let mut own_names = self
            .own
            .iter()
            .map(|dialect| dialect.agent().constants().name);
        own_names.any(|name| name == facts.agent)
    }
}

/// Whether a session may be of the agents to which `--source` limits the command, if it is given.
pub fn may_be_read(path: &Path, sources: Option<&Sources>) -> bool {
    match sources {
        Some(sources) => sources.may_include(path),
        None => true,
    }
}

/// A value of `--source`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceName {
    /// pi or oh-my-pi.
    Own(Dialect),
    /// One of the other agents.
    Other(Origin),
    /// All agents.
    All,
}

impl ValueEnum for SourceName {
    fn value_variants<'a>() -> &'a [SourceName] {
        static NAMES: LazyLock<Vec<SourceName>> = LazyLock::new(|| {
            let mut names = Vec::new();
            for dialect in Dialect::ALL {
                names.push(SourceName::Own(dialect));
            }
            for &origin in Origin::all() {
                names.push(SourceName::Other(origin));
            }
            names.push(SourceName::All);
            names
        });
        &NAMES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            SourceName::Own(Dialect::Pi) => PossibleValue::new("pi").help("Those of pi"),
            SourceName::Own(Dialect::OhMyPi) => PossibleValue::new("omp")
                .alias("oh-my-pi")
                .help("Those of oh-my-pi"),
            SourceName::Other(origin) => {
                let help = format!("Those of {}", origin.display_name());
                PossibleValue::new(origin.name()).help(help)
            }
            SourceName::All => PossibleValue::new("all").help("Those of all agents"),
        })
    }
}
