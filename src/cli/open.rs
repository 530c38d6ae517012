//! Opens and loads the session that is named on the command line.

use crate::agents::pi::edits::ContextEdit;
use crate::cli::counted::Content;
use crate::cli::output::{Failure, Ui};
use crate::load::{LoadOptions, add_rows, is_small, load_appended};
use crate::ops::plan::{Action, Change};
use crate::ops::rows::find_edits;
use crate::ops::{Refusal, label};
use crate::session::defect::FindingKind;
use crate::session::entry::{EntryIx, LineNo};
use crate::session::read::entry_reader::EntryReader;
use crate::session::{Problem, Session};
use foldhash::HashMap;
pub use input::{Input, refuse_stdout_as_input};
use pisess_json::text::Text;
use pisess_store::{self as store, Opened};
pub use references::reference_failure;
use std::path::Path;

mod input;
mod references;

/// A loaded session, with the input from which it was loaded.
pub struct OpenSession {
    pub input: Input,
    pub session: Session,
    /// The options of loading, to load the session again if the file has grown.
    options: LoadOptions,
}

impl OpenSession {
    /// Opens and loads the session that an argument names, for a change that cannot be taken back:
    /// words of a title do not name it. Warns of its problems.
    pub fn open(path: &Path, options: LoadOptions, ui: &mut Ui) -> Result<OpenSession, Failure> {
        let input = Input::open(path, ui)?;
        OpenSession::from_input(input, options, ui)
    }

    /// Opens and loads a session for a change that can be taken back, or a copy. Words of a title
    /// name the session, too.
    pub fn open_to_change(
        path: &Path,
        options: LoadOptions,
        ui: &mut Ui,
    ) -> Result<OpenSession, Failure> {
        let input = Input::open_unconverted(path, ui)?;
        OpenSession::from_input(input, options, ui)
    }

    /// Opens and loads a session for a command that only reads it. See [`Input::open_to_read`].
    pub fn open_to_read(
        path: &Path,
        options: LoadOptions,
        ui: &mut Ui,
    ) -> Result<OpenSession, Failure> {
        let input = Input::open_to_read(path, ui)?;
        OpenSession::from_input(input, options, ui)
    }

    /// Loads a session from an open input. Warns of its problems.
    pub fn from_input(
        input: Input,
        options: LoadOptions,
        ui: &mut Ui,
    ) -> Result<OpenSession, Failure> {
        let workers = if is_small(input.expected_len()) {
            1
        } else {
            ui.processor_count()
        };
        let options = LoadOptions { workers, ..options };
        let open = OpenSession::load(input, options)?;
        if let Some(problems) = open.summarize_problems() {
            ui.warn(&problems);
        }
        Ok(open)
    }

    /// Loads a session from an open input, without warnings.
    pub fn load(input: Input, options: LoadOptions) -> Result<OpenSession, Failure> {
        let session = input.load(&options)?;
        Ok(OpenSession {
            input,
            session,
            options,
        })
    }

    /// Adds rows to a session that was loaded without them, for a few entries in file order. If
    /// `options` have no rows, does nothing.
    pub fn add_rows(&mut self, entries: &[EntryIx], options: LoadOptions) -> Result<(), Failure> {
        let options = LoadOptions {
            workers: self.options.workers,
            ..options
        };
        let Some(row_options) = &options.rows else {
            return Ok(());
        };
        let added = add_rows(&mut self.session, self.input.source(), entries, row_options);
        let is_added = self.input.map_read_error(added)?;
        // The row of a tool result may depend on a call in another entry: then everything is read
        // again.
        if !is_added {
            self.session = self.input.load(&options)?;
        }
        Ok(())
    }

    /// Returns the session as it would be after a change. The change is not written to the
    /// session's file.
    pub fn after_change(&self, change: &Change) -> Result<OpenSession, Failure> {
        let source = self.input.source();
        let content = store::spool_written(&mut |out| change.write(&self.session, source, out))?;
        self.reload_from(self.input.with_content(content))
    }

    /// Adds a further change to a session from [`OpenSession::after_change`]. If possible, only the
    /// appended lines are read.
    pub fn add_change(&mut self, change: &Change) -> Result<(), Failure> {
        let is_append = change.action(&self.session) == Action::Append;
        // Only a copy in memory can be extended, by complete lines after a complete line.
        if is_append
            && self.session.ends_with_newline
            && let Content::Opened(Opened::Stream(copy)) = &mut self.input.opened.content
        {
            copy.append(&change.appended_bytes())?;
            return self.load_appended_lines();
        }
        *self = self.after_change(change)?;
        Ok(())
    }

    /// Loads the lines that were appended to the input, or everything if these may change what was
    /// loaded before.
    fn load_appended_lines(&mut self) -> Result<(), Failure> {
        let is_loaded = load_appended(&mut self.session, self.input.source(), &self.options)
            .map_err(|error| self.input.content_failure(error))?;
        if !is_loaded {
            self.session = self.input.load(&self.options)?;
        }
        Ok(())
    }

    /// Loads the session again, with the same options, from the current content in `input`.
    pub fn reload_from(&self, input: Input) -> Result<OpenSession, Failure> {
        OpenSession::load(input, self.options.clone())
    }

    /// Adds the entries that were appended to the file. Returns false if the session must be loaded
    /// again.
    pub fn append_new_entries(&mut self, input: &Input) -> Result<bool, Failure> {
        load_appended(&mut self.session, input.source(), &self.options)
            .map_err(|error| input.content_failure(error))
    }

    pub fn entry_reader(&self) -> EntryReader<'_> {
        EntryReader::new(&self.session, self.input.source())
    }

    /// Returns the number of threads that read the session.
    pub fn worker_count(&self) -> usize {
        self.options.workers
    }

    /// Returns the entries that are edited or omitted on the path to `leaf`, as a model would see
    /// them.
    pub fn find_edits(
        &self,
        leaf: Option<EntryIx>,
    ) -> Result<HashMap<EntryIx, ContextEdit>, Failure> {
        self.input
            .map_read_error(find_edits(&self.entry_reader(), leaf))
    }

    /// Fails if another entry than `target` has the label `name`. `target` is `None` for an entry
    /// that is not written yet.
    pub fn check_label_is_free(
        &self,
        target: Option<EntryIx>,
        name: Option<&Text>,
    ) -> Result<(), Failure> {
        let Some(name) = name else {
            return Ok(());
        };
        label::check_label(&self.session, target, name)
            .map_err(|refusal| self.refusal_failure(refusal))
    }

    pub fn refusal_failure(&self, refusal: Refusal) -> Failure {
        match refusal {
            Refusal::Unreadable(error) => self.input.read_failure(error),
            impossible => failure_with_hint(&impossible, |what| self.input.failure(what)),
        }
    }

    /// Returns a line about the problems of the file: for each kind, their number and the line of
    /// the first. `None` if there are no problems.
    fn summarize_problems(&self) -> Option<String> {
        if self.session.problems.is_empty() {
            return None;
        }
        let mut descriptions = Vec::new();
        for counted in count_problems(&self.session.problems) {
            let ProblemCount {
                kind,
                count,
                first_line,
            } = counted;
            descriptions.push(kind.describe_lines(first_line, count));
        }
        Some(format!(
            "{}: {}; skipped or read as far as possible {CHECK_HINT}",
            self.input.name,
            descriptions.join(", ")
        ))
    }
}

/// The problems of one kind in a session.
struct ProblemCount {
    kind: FindingKind,
    count: u32,
    /// The line of the first of them.
    first_line: LineNo,
}

/// Counts problems by kind, in the order of the first problem of each.
fn count_problems(problems: &[Problem]) -> Vec<ProblemCount> {
    let mut counts: Vec<ProblemCount> = Vec::new();
    for problem in problems {
        let known = counts
            .iter_mut()
            .find(|counted| counted.kind == problem.kind);
        match known {
            Some(counted) => counted.count += 1,
            None => counts.push(ProblemCount {
                kind: problem.kind,
                count: 1,
                first_line: problem.line,
            }),
        }
    }
    counts
}

/// The hint for a session with damaged lines. It follows the path of the session.
pub const CHECK_HINT: &str = "(hint: `pisess check` explains it)";

/// The warning for a session without entries.
pub const NO_ENTRIES: &str = "the session has no entries (hint: `pisess list --all` lists others)";

/// Parses the label in an argument. Fails if it is not a valid label.
pub fn parse_label(given: &str) -> Result<Text<'_>, Failure> {
    label::parse_label(given)
        .map_err(|refusal| failure_with_hint(&refusal, |what| Failure::invalid(what)))
}

/// Returns the failure that `make_failure` makes from a refusal, with the hint of the refusal if it
/// has one.
pub fn failure_with_hint(
    refusal: &Refusal,
    make_failure: impl FnOnce(&Refusal) -> Failure,
) -> Failure {
    let failure = make_failure(refusal);
    match refusal {
        Refusal::Impossible {
            hint: Some(hint), ..
        } => failure.with_hint(hint),
        _ => failure,
    }
}
