//! `pisess completions`: prints the completion script of a shell, and answers its queries.
//!
//! The script of each shell is small. It passes the words to pisess, and displays the candidates
//! that pisess prints. So options, sessions, ids and labels are completed alike in every shell, and
//! match the installed version.

mod candidates;
mod entries;
mod matching;
mod words;

use crate::cli::guide::{Example, Guide};
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use candidates::find_candidates;
use clap::ValueEnum;
use clap_complete::engine::CompletionCandidate;
use std::ffi::OsString;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Install for bash, in a file sourced by ~/.bashrc",
        "pisess completions bash > ~/.pisess.bash",
    ),
    Example::new(
        "Install for zsh, in a directory of $fpath",
        "pisess completions zsh > _pisess",
    ),
    Example::new(
        "Install for fish, in ~/.config/fish/completions",
        "pisess completions fish > pisess.fish",
    ),
]);

/// Print the completion script for a shell.
///
/// The script completes commands, options, labels, sessions and entry ids. It offers sessions of
/// the current directory, newest first, by name and id, and shows the text of each entry. It reads
/// only the start and the last MiB of a session.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell: bash, zsh, fish, powershell or elvish
    #[arg(hide_possible_values = true)]
    pub shell: CompletionShell,
    /// Print the candidates for the word at this index instead of the script.
    #[arg(long, hide = true)]
    pub at: Option<usize>,
    /// Print the candidates for the end of this line, which bash has not split into words.
    #[arg(long, hide = true, conflicts_with = "at", allow_hyphen_values = true)]
    pub line: Option<String>,
    /// The last word of the line as bash splits it.
    #[arg(
        long,
        hide = true,
        requires = "line",
        default_value = "",
        allow_hyphen_values = true
    )]
    pub word: String,
    /// The words of the line, the command first.
    #[arg(hide = true, last = true, requires = "at")]
    pub words: Vec<OsString>,
}

/// A supported shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CompletionShell {
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

impl CompletionShell {
    pub fn script(self) -> &'static str {
        match self {
            CompletionShell::Bash => include_str!("../../completions/pisess.bash"),
            CompletionShell::Zsh => include_str!("../../completions/_pisess"),
            CompletionShell::Fish => include_str!("../../completions/pisess.fish"),
            CompletionShell::Pwsh => include_str!("../../completions/_pisess.ps1"),
            CompletionShell::Elvish => include_str!("../../completions/pisess.elv"),
        }
    }

    /// Returns a candidate as a line, in the form that the shell's script reads. For bash, that is
    /// the word alone; for zsh, `WORD:HELP` with escaped colons; for other shells, `WORD<TAB>HELP`.
    /// Only the first line of the help is used.
    fn format_candidate(self, candidate: &CompletionCandidate) -> String {
        let value = candidate.get_value().to_string_lossy();
        let whole_help = candidate.get_help().map(ToString::to_string);
        let first_line = whole_help.as_deref().and_then(|help| help.lines().next());
        let help = to_visible(first_line.unwrap_or_default());
        match self {
            CompletionShell::Zsh => {
                let word = value.replace('\\', "\\\\").replace(':', "\\:");
                if help.is_empty() {
                    return word;
                }
                format!("{word}:{}", help.replace('\\', "\\\\"))
            }
            CompletionShell::Bash => value.into_owned(),
            _ if help.is_empty() => value.into_owned(),
            _ => format!("{value}\t{help}"),
        }
    }
}

/// Prints the completion script of a shell, or the candidates that the script requests.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let output = if let Some(line) = &args.line {
        complete_bash_line(line, &args.word, ui)
    } else if let Some(word_index) = args.at {
        complete_words(args, word_index, ui)
    } else {
        args.shell.script().to_owned()
    };
    ui.print(&output)?;
    Ok(Exit::Done)
}

/// Returns the texts that bash may insert at the end of `line`, each on a line. `word` is the end
/// of the last word: the part that bash replaces.
fn complete_bash_line(line: &str, word: &str, ui: &mut Ui) -> String {
    let line = words::split_line(line);
    let words: Vec<_> = line.words.iter().map(OsString::from).collect();
    let mut output = String::new();
    for candidate in find_candidates(super::build_cli(), &words, ui) {
        let value = candidate.get_value().to_string_lossy();
        if let Some(inserted) = line.text_to_insert(&value, word) {
            output += &inserted;
            output.push('\n');
        }
    }
    output
}

/// Returns the candidates for the word at `word_index`, each on a line in the form of the shell.
fn complete_words(args: &Args, word_index: usize, ui: &mut Ui) -> String {
    let mut words = args.words.clone();
    // Some shells do not pass an empty last word.
    words.resize(word_index + 1, OsString::new());
    let mut output = String::new();
    for candidate in find_candidates(super::build_cli(), &words, ui) {
        output += &args.shell.format_candidate(&candidate);
        output.push('\n');
    }
    output
}
