//! `pisess completions`: what a shell needs to complete command lines.
//!
//! The script of a shell is small: it hands the words to pisess and shows what comes back. So options,
//! sessions, ids and labels are the same in every shell, and follow the version that is installed.

mod candidates;
mod words;

use crate::guide::{Example, Guide};
use crate::ui::{Exit, Failure, Ui, visible};
use candidates::{Candidate, candidates};
use clap::ValueEnum;
use std::ffi::OsString;

/// How it is used, behind the options of the help and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "completions",
    examples: &[
        Example::new(
            "For bash, in a file that ~/.bashrc sources",
            "pisess completions bash > ~/.pisess.bash",
        ),
        Example::new("For zsh, in a folder of $fpath", "pisess completions zsh > _pisess"),
        Example::new("For fish, in ~/.config/fish/completions", "pisess completions fish > pisess.fish"),
    ],
    found: None,
    writes: false,
    refers: false,
};

/// Print the completion script of a shell.
///
/// With it, the shell completes commands and options, sessions by their names and ids (those of the
/// current folder, newest first), and the labels and ids of a session, each with its row. Of a session
/// only the header and the last mebibyte are read.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The shell: bash, zsh, fish, powershell or elvish
    #[arg(hide_possible_values = true)]
    pub shell: Shell,
    /// Instead of the script, print what can stand at this place of the words.
    #[arg(long, hide = true)]
    pub at: Option<usize>,
    /// The same for the end of a line that bash has not cut into words.
    #[arg(long, hide = true, conflicts_with = "at", allow_hyphen_values = true)]
    pub line: Option<String>,
    /// What bash takes for the last word of the line.
    #[arg(long, hide = true, requires = "line", default_value = "", allow_hyphen_values = true)]
    pub word: String,
    /// The words, that of the command first.
    #[arg(hide = true, last = true, requires = "at")]
    pub words: Vec<OsString>,
}

/// A shell that can be helped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// GNU bash.
    Bash,
    /// zsh.
    Zsh,
    /// fish.
    Fish,
    /// PowerShell, on Windows and elsewhere.
    #[value(name = "powershell", alias = "pwsh")]
    Pwsh,
    /// Elvish.
    Elvish,
}

impl Shell {
    /// All of them.
    pub const ALL: [Shell; 5] = [Shell::Bash, Shell::Zsh, Shell::Fish, Shell::Pwsh, Shell::Elvish];

    /// Returns the script.
    pub fn script(self) -> &'static str {
        match self {
            Shell::Bash => include_str!("completions/pisess.bash"),
            Shell::Zsh => include_str!("completions/pisess.zsh"),
            Shell::Fish => include_str!("completions/pisess.fish"),
            Shell::Pwsh => include_str!("completions/pisess.ps1"),
            Shell::Elvish => include_str!("completions/pisess.elv"),
        }
    }

    /// Returns the name under which a package installs the script.
    pub fn file_name(self) -> &'static str {
        match self {
            Shell::Bash => "pisess.bash",
            Shell::Zsh => "_pisess",
            Shell::Fish => "pisess.fish",
            Shell::Pwsh => "_pisess.ps1",
            Shell::Elvish => "pisess.elv",
        }
    }

    /// A candidate as the script of the shell reads it, on one line.
    fn line(self, candidate: &Candidate) -> String {
        let help = candidate.help.as_deref().map(visible);
        match (self, help) {
            (Shell::Bash, _) | (_, None) if self != Shell::Zsh => candidate.value.clone(),
            (Shell::Zsh, help) => {
                let value = candidate.value.replace('\\', "\\\\").replace(':', "\\:");
                help.map_or(value.clone(), |help| format!("{value}:{}", help.replace('\\', "\\\\")))
            }
            (_, help) => format!("{}\t{}", candidate.value, help.unwrap_or_default()),
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let lines: String = match (&args.line, args.at) {
        (Some(line), _) => {
            let words = words::split(line).into_iter().map(OsString::from).collect::<Vec<_>>();
            let last = words.last().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
            // What bash leaves standing before the word that it replaces.
            let kept = last.strip_suffix(&*args.word).unwrap_or_default();
            let found = candidates(&words, ui);
            let found = found.iter().filter_map(|found| found.value.strip_prefix(kept));
            found.map(|value| format!("{}\n", words::quoted(value))).collect()
        }
        (None, Some(at)) => {
            let mut words = args.words.clone();
            // Some shells leave an empty word out.
            words.resize(at + 1, OsString::new());
            candidates(&words, ui).iter().map(|found| format!("{}\n", args.shell.line(found))).collect()
        }
        (None, None) => args.shell.script().to_owned(),
    };
    ui.print(&lines)?;
    Ok(Exit::Done)
}
