//! The sources of a summary: the text of an option, a hook, a summarizer, or the built-in extract.

use super::given::read_text;
use super::hook::{HookAnswer, HookArgs};
use super::open::{Input, OpenSession};
use crate::agents::prepare::FileOps;
use crate::agents::prompt::Instructions;
use crate::cli::output::{Failure, Ui};
use crate::cli::process::run::{CommandNames, SUMMARIZER_VARIABLE, ShellCommand};
use crate::ops::redact::number_secrets;
use crate::ops::summary::{Summary, details};
use crate::redact::{self, Redactor};
use crate::session::Session;
use crate::summary::{self, BuiltinSummary, Removals, SummaryInput};
use clap::Args;
use pisess_json::text::Text;
use std::path::{Path, PathBuf};
use std::thread;

/// Options of a command that writes a summary.
#[derive(Args, Clone, Debug)]
pub struct SummaryArgs {
    /// Use TEXT as the summary, unchanged (- for standard input)
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["summary_file", "summarizer"], help_heading = "Summary")]
    pub summary: Option<String>,
    /// Read the summary from FILE (- for standard input)
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "summarizer",
        help_heading = "Summary"
    )]
    pub summary_file: Option<PathBuf>,
    /// Command that reads the prompt on stdin and prints the summary; overrides PISESS_SUMMARIZER
    /// ('' for none)
    #[arg(long, value_name = "CMD", help_heading = "Summary")]
    pub summarizer: Option<String>,
    /// What the summary should focus on
    #[arg(long, value_name = "TEXT", help_heading = "Summary")]
    pub instructions: Option<String>,
    /// Use --instructions in place of all that pisess itself writes into the prompt
    #[arg(long, requires = "instructions", help_heading = "Summary")]
    pub replace_instructions: bool,
    /// Print what would be summarized, as JSON, and write nothing
    #[arg(long, conflicts_with = "prompt", help_heading = "Summary")]
    pub prepare: bool,
    /// Print the prompt for the summarizer, and write nothing
    #[arg(long, help_heading = "Summary")]
    pub prompt: bool,
    /// Options for the hook.
    #[command(flatten)]
    pub hook: HookArgs,
}

/// Returns the summary to store: `given` by an option, else `from_hook`, else the new one that
/// `make` returns. A summary without details gets `details`, as the agent would write them.
///
/// The hook is called even if an option gives the text, because it may cancel the operation, or
/// choose the cut or the label.
pub fn resolve_summary(
    given: Option<Summary>,
    from_hook: Option<Summary>,
    details: Vec<u8>,
    make: impl FnOnce() -> Result<Summary, Failure>,
) -> Result<Summary, Failure> {
    let mut summary = match given.or(from_hook) {
        Some(summary) => summary,
        None => make()?,
    };
    if summary.details.is_empty() {
        summary.details = details;
    }
    Ok(summary)
}

/// Returns a summary with only a text. The caller adds the details.
pub fn summary_from_text(text: Text<'static>) -> Summary {
    Summary {
        text,
        details: Vec::new(),
        usage: None,
        from_hook: false,
    }
}

/// Returns a built-in summary as it is stored: its text ends with a list of files, and its details
/// have the lists of the agents. `text` is the text of the summary, and `removals` are the files
/// that its messages removed.
///
/// The list in the text is shorter than the agents' lists. Deleted files are left out of it,
/// because the model would look for them in vain. The details list them apart.
pub fn add_file_lists(
    text: Text<'static>,
    removals: &Removals,
    mut file_ops: FileOps,
    session: &Session,
) -> Summary {
    // A file that an earlier summary listed as deleted may exist again.
    file_ops.forget_removals(|path| removals.have_restored(path));
    let text = file_ops.append_short_file_list(text, session, |path| removals.contain(path));

    // Only the details list deleted files, so these are added after the list in the text.
    let cwd = session.header.cwd.as_ref().map(Text::to_string_lossy);
    let cwd = cwd.unwrap_or_default();
    file_ops.add_removals(session, |path| removals.certainly_contain(path, &cwd));
    Summary {
        details: details(&file_ops.file_lists(session)),
        ..summary_from_text(text)
    }
}

/// Starts to compile the rules for secrets in another thread, while the session is loaded. The
/// built-in summary needs these rules.
pub fn start_compiling_rules() {
    // If no thread can be started, the rules are compiled when they are needed.
    drop(thread::Builder::new().spawn(redact::compile_rules));
}

/// Returns the built-in summary of messages. Its placeholders for secrets have the same numbers as
/// in a copy that `redact` writes.
pub fn extract_summary(
    open: &OpenSession,
    material: &SummaryInput,
) -> Result<BuiltinSummary, Failure> {
    let workers = open.worker_count();
    // The redactor replaces secrets in the summary by placeholders, which it numbers.
    let summarize = |redactor| {
        let new_reader = || open.entry_reader();
        let summary =
            summary::extract_summary(material, &open.session, redactor, workers, new_reader);
        open.input.map_read_error(summary)
    };
    let summary = summarize(Redactor::default())?;
    if !summary.text.contains(redact::PLACEHOLDER_START) {
        return Ok(summary);
    }

    // The first redactor has numbered only the secrets that it met. In a copy by `redact`, the
    // numbers depend on all secrets of the session. So these are numbered first, and the summary is
    // made again. Few summaries need that, and it takes time.
    let mut redactor = Redactor::default();
    let numbering = number_secrets(open.input.source(), &mut redactor, workers);
    open.input.map_read_error(numbering)?;
    summarize(redactor)
}

impl SummaryArgs {
    /// Returns the summary whose text an option gives; `None` if no option does. This is called
    /// before the session is locked, because it may read standard input.
    pub fn read_given_summary(
        &self,
        session: &Input,
        ui: &mut Ui,
    ) -> Result<Option<Summary>, Failure> {
        let text = match (&self.summary, &self.summary_file) {
            (Some(text), _) if text == "-" => read_text(Path::new("-"), session, ui)?,
            (Some(text), _) => text.clone(),
            (None, Some(path)) => read_text(path, session, ui)?,
            (None, None) => return Ok(None),
        };
        if text.trim().is_empty() {
            return Err(Failure::invalid("the summary is empty")
                .with_hint("omit the option to use the built-in summary"));
        }
        Ok(Some(summary_from_text(Text::from(text))))
    }

    /// Whether an option gives the text of the summary.
    pub fn has_given_text(&self) -> bool {
        self.summary.is_some() || self.summary_file.is_some()
    }

    /// Whether an option implies that the user wants a summary.
    pub fn wants_summary(&self) -> bool {
        self.has_given_text()
            || self.summarizer.is_some()
            || self.instructions.is_some()
            || self.prompt
    }

    /// Replaces the instructions by those in a hook's reply, if it has any.
    pub fn apply_answer(&mut self, answer: &HookAnswer) {
        if answer.instructions.is_some() {
            self.instructions.clone_from(&answer.instructions);
        }
        self.replace_instructions = answer
            .replace_instructions
            .unwrap_or(self.replace_instructions);
    }

    /// Returns the custom instructions for a prompt.
    pub fn prompt_instructions<'a>(&'a self) -> Instructions<'a> {
        Instructions {
            text: self.instructions.as_deref().map(Text::from),
            replaces_default: self.replace_instructions,
        }
    }

    /// Returns the summarizer given by the option, else by the environment. `None` if there is
    /// neither: then the summary is the built-in one.
    pub fn summarizer_command(&self, input: &Input, ui: &Ui) -> Option<ShellCommand> {
        ShellCommand::from_option_or_env(
            &input.name,
            self.summarizer.as_ref(),
            CommandNames {
                option: "--summarizer",
                variable: SUMMARIZER_VARIABLE,
            },
            self.hook.timeout,
            "--prompt prints its input, to run it by hand",
            ui,
        )
    }
}

/// Runs the summarizer on a prompt, and returns its output without surrounding white space. Invalid
/// UTF-8 becomes replacement characters, because a session is text.
///
/// # Errors
/// If the summarizer cannot be run, fails, or prints only white space.
pub fn run_summarizer(
    shell: &ShellCommand,
    prompt: Vec<u8>,
    ui: &Ui,
) -> Result<Text<'static>, Failure> {
    let _waiting = ui.start_spinner("waiting for the summarizer");
    let answer = shell.run(prompt)?;
    let answer = String::from_utf8_lossy(&answer);
    if answer.trim().is_empty() {
        return Err(shell.failure("it printed nothing"));
    }
    Ok(Text::from(answer.trim().to_owned()))
}
