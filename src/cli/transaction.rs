//! Changes a session. Every change takes the same path from a decision to the commit and its
//! report.
//!
//! A command supplies the function that decides what to change. The decision is based on the
//! contents of the file under its lock. If the file grew before the commit, the decision is
//! repeated, until `--wait` is over (rule 4 of the store). Therefore anything slow, or readable
//! only once, is done before the lock is taken: a summarizer, a hook, standard input.
//!
//! ```text
//!   OpenSession::change ── lock ──> decide ──> commit ──> report ──> hook
//!                           ^                    │ grown
//!                           └────── reopen ──────┘
//! ```
//!
//! A plan that is only printed (`-n`) or written elsewhere (`-o`, a pipe) takes the same code path
//! without the lock.

use super::hook::HookEvent;
use super::ids::Ids;
use super::open::{Input, OpenSession};
use crate::cli::options::WriteArgs;
use crate::cli::output::{
    Column, Exit, Failure, Ui, plain_cell, to_visible, to_visible_line, to_visible_lines,
};
use crate::cli::plan::{PlanTable, RowNoun};
use crate::format::format_count;
use crate::ops::IdSource;
use crate::ops::plan::{Action, Change, NewSession, PlannedLines, copy_all};
use crate::session::Session;
use pisess_json::Raw;
use pisess_json::text::{Text, join_with};
use pisess_json::write::{Object, array};
use pisess_store::{self as store, Attempt, Committed, Fill, Locked, NewFolder, Spooled};
use std::io;
use std::path::{Path, PathBuf};

/// What a command decided to change, and the data for the report.
#[derive(Debug, Default)]
pub struct Decision {
    pub change: Change,
    /// The number of new entries whose ids are reported, counted from the first. The other new
    /// entries are labels on these.
    pub reported_count: usize,
    /// The text that the user is to edit again, as in `fork --before`.
    pub editor_text: Option<Text<'static>>,
    pub notification: Option<HookEvent>,
}

impl From<Change> for Decision {
    fn from(change: Change) -> Self {
        Decision {
            reported_count: change.entries.len(),
            change,
            ..Decision::default()
        }
    }
}

/// A function that decides how to change a session. The source of ids is for new entries.
type Decide<'d> = dyn FnMut(&OpenSession, &mut IdSource) -> Result<Decision, Failure> + 'd;

/// The content of a new session file.
pub enum NewContent {
    /// Entries of the open session, and new ones.
    Entries(NewSession),
    /// All bytes of the file: a session in another agent's format.
    Whole(Spooled),
}

impl NewContent {
    fn write(&self, open: &OpenSession, out: &mut dyn io::Write) -> io::Result<()> {
        match self {
            NewContent::Entries(new) => new.write(&open.session, open.input.source(), out),
            NewContent::Whole(bytes) => copy_all(bytes, out),
        }
    }

    /// Returns all lines that are not blank.
    fn lines(&self, open: &OpenSession) -> io::Result<Vec<Vec<u8>>> {
        let mut bytes = Vec::new();
        self.write(open, &mut bytes)?;
        let mut lines = Vec::new();
        for line in bytes.split(|&byte| byte == b'\n') {
            if !line.trim_ascii().is_empty() {
                lines.push(line.to_vec());
            }
        }
        Ok(lines)
    }

    /// Returns the lines of the new file that a dry run (`-n`) reports. Of a copy that is rewritten
    /// as a whole, all lines count as changed, because they are not compared with the original.
    fn plan_lines(&self, open: &OpenSession) -> io::Result<PlannedLines> {
        match self {
            NewContent::Entries(new) => new.plan_lines(&open.session, open.input.source()),
            NewContent::Whole(_) => {
                let changed_lines = self.lines(open)?;
                Ok(PlannedLines {
                    line_count: changed_lines.len(),
                    changed_lines,
                })
            }
        }
    }
}

/// A new session file, and the data for the report.
pub struct Creation {
    pub content: NewContent,
    /// The path of the file; `-` is standard output.
    pub path: PathBuf,
    /// The directory of the file, if it is to be made when missing.
    pub folder: Option<PathBuf>,
    /// The text that the user is to edit again, as in `fork --before`.
    pub editor_text: Option<Text<'static>>,
    pub notification: Option<HookEvent>,
}

/// Refuses `--json` if standard output (`-`) has to carry the session.
fn refuse_json_report(path: &Path, write: &WriteArgs) -> Result<(), Failure> {
    let session_on_stdout = path == Path::new("-") && write.change.json && !write.change.dry_run;
    if session_on_stdout {
        Err(Failure::stdout_carries_session())
    } else {
        Ok(())
    }
}

impl OpenSession {
    /// Makes the change that `decide` returns, and reports it. The result is written in place, to
    /// another file (`-o`), to standard output, or nowhere (`-n`).
    ///
    /// In place, `decide` is called under the lock, with the contents of the file at the time of
    /// the commit. It is called again if the file has grown meanwhile. In the other cases, it is
    /// called once.
    pub fn apply_change(
        &self,
        args: &WriteArgs,
        ui: &mut Ui,
        mut decide: impl FnMut(&OpenSession, &mut IdSource) -> Result<Decision, Failure>,
    ) -> Result<Exit, Failure> {
        match (&args.output, self.input.file()) {
            (Some(path), _) => self.apply_elsewhere(path, args, ui, &mut decide),
            (None, Some(file)) => self.apply_in_place(file.path(), args, ui, &mut decide),
            (None, None) => self.apply_elsewhere(Path::new("-"), args, ui, &mut decide),
        }
    }

    /// Changes the session's own file. With `-n`, only prints what would be changed. An empty
    /// change leaves the file as it is.
    fn apply_in_place(
        &self,
        path: &Path,
        args: &WriteArgs,
        ui: &mut Ui,
        decide: &mut Decide,
    ) -> Result<Exit, Failure> {
        if args.change.dry_run {
            return self.plan_in_place(path, args, ui, decide);
        }
        let mut ids = Ids::new(ui)?;
        let options = args.change.write_options(self.session.dialect);

        // Called again if the file grew before the commit: then the earlier decision and its report
        // are dropped.
        let mut attempt = |current: &OpenSession, locked: Locked| {
            let decision = ids.with_id_source(ui, |id_source| decide(current, id_source))?;
            let report = ChangeReport::in_place(&decision, path, &current.session);
            let commit = commit_change(&decision.change, current, locked)?;
            Ok(ChangeAttempt {
                commit,
                value: report,
            })
        };
        let (committed, report) = self.attempt_under_lock(&options, &mut attempt)?;

        if let Some(committed) = &committed {
            ui.report_commit_warnings(committed);
            self.input.report_path(ui);
        }
        self.report_no_change(&report, args, ui);
        report.report_and_notify(args, ui)
    }

    /// Prints what a change of the session's own file would write. Fails where the change would be
    /// refused.
    fn plan_in_place(
        &self,
        path: &Path,
        args: &WriteArgs,
        ui: &mut Ui,
        decide: &mut Decide,
    ) -> Result<Exit, Failure> {
        let mut ids = Ids::new(ui)?;
        let options = args.change.write_options(self.session.dialect);
        // As in the real run, a locked session is refused before the decision. Whether the file
        // would be rewritten, which may be refused for another reason, is known only after it.
        refuse_in_dry_run(&self.input, Action::Append, &options)?;
        let decision = ids.with_id_source(ui, |id_source| decide(self, id_source))?;
        let report = ChangeReport::in_place(&decision, path, &self.session);
        refuse_in_dry_run(&self.input, report.action, &options)?;
        report.print_plan(args, ui)
    }

    /// Writes the whole changed session to another file, or to standard output (`-`). With `-n`,
    /// only prints what would be written.
    fn apply_elsewhere(
        &self,
        path: &Path,
        args: &WriteArgs,
        ui: &mut Ui,
        decide: &mut Decide,
    ) -> Result<Exit, Failure> {
        refuse_json_report(path, args)?;
        // The session is only read, so it is not locked, and `decide` is called once.
        let mut ids = Ids::new(ui)?;
        let decision = ids.with_id_source(ui, |id_source| decide(self, id_source))?;
        let report = ChangeReport::elsewhere(&decision, path, &self.session);
        if args.change.dry_run {
            refuse_output_in_dry_run(path, &self.input, args.change.force)?;
            return report.print_plan(args, ui);
        }

        let mut fill = |out: &mut dyn io::Write| self.write_changed(&decision.change, out);
        self.write_output(path, args.change.force, &mut fill, ui)?;
        self.report_no_change(&report, args, ui);
        report.report_and_notify(args, ui)
    }

    /// Writes the whole session with a change. If the change is empty, the session is copied, so
    /// that pipelines still work.
    fn write_changed(&self, change: &Change, out: &mut dyn io::Write) -> io::Result<()> {
        let source = self.input.source();
        if change.is_empty() {
            copy_all(source, out)
        } else {
            change.write(&self.session, source, out)
        }
    }

    /// Locks the session, and calls `attempt` with its current entries, possibly several times: see
    /// the free function [`attempt_under_lock`].
    ///
    /// `attempt` gets this session. If the file has grown since it was read, `attempt` gets the
    /// session that was loaded again from the grown file.
    ///
    /// Returns the commit, `None` if there was nothing to do; and the value of the last attempt.
    pub fn attempt_under_lock<T>(
        &self,
        options: &store::WriteOptions,
        attempt: &mut dyn FnMut(&OpenSession, Locked) -> AttemptResult<T>,
    ) -> Result<(Option<Committed>, T), Failure> {
        let mut attempt_with_input = |grown_input: Option<Input>, locked: Locked| {
            let Some(grown_input) = grown_input else {
                return attempt(self, locked);
            };
            let grown_session = self.reload_from(grown_input)?;
            attempt(&grown_session, locked)
        };
        attempt_under_lock(&self.input, options, &mut attempt_with_input)
    }

    /// Reports on standard error that nothing was to be done, unless the output shows that.
    fn report_no_change(&self, report: &ChangeReport, args: &WriteArgs, ui: &mut Ui) {
        let is_shown_by_output = args.change.json || report.editor_text.is_some();
        if report.action == Action::Nothing && !is_shown_by_output {
            ui.print_status(&format!("nothing to do in {}", self.input.name));
        }
    }

    /// Creates a new session file from this session. The file's directory is made if it is missing.
    /// With `-n`, only reports what would be created.
    pub fn create_session(
        &self,
        creation: Creation,
        args: &WriteArgs,
        ui: &mut Ui,
    ) -> Result<Exit, Failure> {
        refuse_json_report(&creation.path, args)?;
        let planned = self.plan_lines(&creation.content, args)?;
        let report = ChangeReport {
            editor_text: creation.editor_text,
            notification: creation.notification,
            ..ChangeReport::of_new_file(creation.path, planned)
        };
        let folder = creation.folder.as_deref();
        if args.change.dry_run {
            // In a directory that is missing, no file can be in the way.
            let is_folder_missing = folder.is_some_and(|folder| !folder.exists());
            if !is_folder_missing {
                refuse_output_in_dry_run(&report.path, &self.input, args.change.force)?;
            }
            return report.print_plan(args, ui);
        }

        // Dropping the new directory removes it if the file cannot be written.
        let new_folder = match folder {
            Some(folder) => Some(NewFolder::make(folder)?),
            None => None,
        };
        let mut fill = |out: &mut dyn io::Write| creation.content.write(self, out);
        self.write_output(&report.path, args.change.force, &mut fill, ui)?;
        if let Some(new_folder) = new_folder {
            new_folder.keep();
        }
        report.report_and_notify(args, ui)
    }

    /// Returns the lines of a new session for the report: with `--json` all lines, with `-n` the
    /// lines that are not copied unchanged. Without either, the lines are not reported.
    fn plan_lines(&self, content: &NewContent, args: &WriteArgs) -> Result<PlannedLines, Failure> {
        if args.change.json {
            let lines = self.input.map_read_error(content.lines(self))?;
            return Ok(PlannedLines {
                line_count: lines.len(),
                changed_lines: lines,
            });
        }
        if args.change.dry_run {
            return self.input.map_read_error(content.plan_lines(self));
        }
        Ok(PlannedLines {
            line_count: 0,
            changed_lines: Vec::new(),
        })
    }

    /// Writes a whole session to a new file, or to standard output for `-`. With `force`, an
    /// existing file is overwritten.
    pub fn write_output(
        &self,
        path: &Path,
        force: bool,
        fill: &mut Fill,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        if path == Path::new("-") {
            fill(&mut *ui.verbatim_stdout()).map_err(|error| copy_failure(&self.input, error))?;
            return ui.flush();
        }
        ui.report_commit_warnings(&store::create(
            path,
            self.input.protected_file(),
            force,
            fill,
        )?);
        Ok(())
    }
}

/// Commits a change to a locked session. Returns `None` if there is nothing to do.
pub fn commit_change(
    change: &Change,
    current: &OpenSession,
    locked: Locked,
) -> Result<Option<Attempt>, Failure> {
    let OpenSession { session, input, .. } = current;
    let attempt = match change.action(session) {
        Action::Nothing => return Ok(None),
        Action::Append => locked.append(&change.appended_bytes()),
        Action::Rewrite | Action::Create => {
            let backup = None;
            locked.rewrite(backup, &mut |out| {
                change.write(session, input.source(), out)
            })
        }
    };
    Ok(Some(attempt?))
}

/// What one attempt to change a session did.
pub struct ChangeAttempt<T> {
    /// The outcome of the commit. `None` if the attempt found nothing to do, and has released the
    /// lock.
    pub commit: Option<Attempt>,
    /// A value of the command, such as its report.
    pub value: T,
}

impl<T> ChangeAttempt<T> {
    /// An attempt that found nothing to do.
    pub fn nothing_to_do(value: T) -> ChangeAttempt<T> {
        ChangeAttempt {
            commit: None,
            value,
        }
    }

    /// An attempt that committed a change, unless the session had grown.
    pub fn with_commit(commit: Attempt, value: T) -> ChangeAttempt<T> {
        ChangeAttempt {
            commit: Some(commit),
            value,
        }
    }
}

pub type AttemptResult<T> = Result<ChangeAttempt<T>, Failure>;

/// Locks the session, and calls `attempt`, which commits a change while the session is locked.
///
/// If the file has grown since it was read, `attempt` also gets its current contents. If another
/// process appends to the file before the commit, nothing is written, and `attempt` is called
/// again. This ends when `--wait` is over: then the commit itself fails.
///
/// Returns the commit, `None` if there was nothing to do; and the value of the last attempt.
///
/// Every change of a session in place uses this function, except the changes by `migrate`, which
/// are one batch.
pub fn attempt_under_lock<T>(
    input: &Input,
    options: &store::WriteOptions,
    attempt: &mut dyn FnMut(Option<Input>, Locked) -> AttemptResult<T>,
) -> Result<(Option<Committed>, T), Failure> {
    let mut locked = store::lock(input.file_to_change()?, options)?;
    loop {
        let grown_input = if locked.is_stale() {
            Some(input.with_file(locked.reopen()?))
        } else {
            None
        };
        let ChangeAttempt { commit, value } = attempt(grown_input, locked)?;
        match commit {
            // There is nothing to do.
            None => return Ok((None, value)),
            Some(Attempt::Done(committed)) => return Ok((Some(committed), value)),
            // The file grew before the commit. `value` is dropped, because it belongs to the old
            // contents. The lock is still held.
            Some(Attempt::Stale(still_locked)) => locked = *still_locked,
        }
    }
}

/// Fails, for `-n`, if a change of the session in place would be refused now. The session may be
/// locked, or open in an agent; or it has several names and would be rewritten. The lock is taken
/// as for the change, and released at once.
pub fn refuse_in_dry_run(
    input: &Input,
    action: Action,
    options: &store::WriteOptions,
) -> Result<(), Failure> {
    let locked = store::lock(input.file_to_change()?, options)?;
    if action == Action::Rewrite {
        locked.refuse_hard_links()?;
    }
    Ok(())
}

/// Fails, for `-n`, if a new file would be refused. `-` is standard output, which is never refused.
pub fn refuse_output_in_dry_run(path: &Path, input: &Input, force: bool) -> Result<(), Failure> {
    if path != Path::new("-") {
        store::check_create(path, input.protected_file(), force)?;
    }
    Ok(())
}

/// Returns the failure for an error while copying. The kind of the error shows whether reading the
/// input or writing the output failed.
pub fn copy_failure(input: &Input, error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => input.read_failure(error),
        _ => Failure::from_stdout_error(error),
    }
}

/// The report of a change; with `-n`, of a planned one.
struct ChangeReport {
    /// What happens to the file: lines are appended, or it is rewritten or created.
    action: Action,
    /// The file; `-` is standard output.
    path: PathBuf,
    /// The new and changed lines, in the order of the file.
    lines: Vec<Vec<u8>>,
    /// Whether the first line is the title line.
    has_title_line: bool,
    /// The number of lines of a new file that are copied unchanged. They are not in `lines`.
    copied_count: usize,
    /// The ids of new entries, or the path of a new file.
    reported_names: Vec<String>,
    editor_text: Option<Text<'static>>,
    notification: Option<HookEvent>,
}

impl ChangeReport {
    /// Returns the report of a decision that changes the session's own file, `path`.
    fn in_place(decision: &Decision, path: &Path, session: &Session) -> ChangeReport {
        ChangeReport::new(decision, path, decision.change.action(session))
    }

    /// Returns the report of a decision that writes the whole session to another file, `path`.
    fn elsewhere(decision: &Decision, path: &Path, session: &Session) -> ChangeReport {
        let action = match decision.change.action(session) {
            Action::Nothing => Action::Nothing,
            Action::Append | Action::Rewrite | Action::Create => Action::Create,
        };
        ChangeReport::new(decision, path, action)
    }

    /// Returns the report of a decision. `path` is the file that is written, and `action` is what
    /// happens to it.
    ///
    /// The reported lines are the title line, if it changes, and the new entries. The reported
    /// names are the ids of new entries. These leave out labels on other new entries, which come
    /// last.
    fn new(decision: &Decision, path: &Path, action: Action) -> ChangeReport {
        let change = &decision.change;
        let mut lines = Vec::new();
        lines.extend(change.title_line.clone());
        let mut reported_names = Vec::new();
        for (index, entry) in change.entries.iter().enumerate() {
            lines.push(entry.line.clone());
            if index < decision.reported_count {
                reported_names.push(entry.id.to_string());
            }
        }
        ChangeReport {
            action,
            path: path.to_owned(),
            lines,
            has_title_line: change.title_line.is_some(),
            copied_count: 0,
            reported_names,
            editor_text: decision.editor_text.clone(),
            notification: decision.notification.clone(),
        }
    }

    /// Returns the report of a new file with these lines; `-` is standard output.
    fn of_new_file(path: PathBuf, planned: PlannedLines) -> ChangeReport {
        // Standard output carries the session, so its name is not reported there.
        let reported_names = if path == Path::new("-") {
            Vec::new()
        } else {
            vec![path.to_string_lossy().into_owned()]
        };
        let changed_count = planned.changed_lines.len();
        ChangeReport {
            action: Action::Create,
            path,
            lines: planned.changed_lines,
            has_title_line: false,
            copied_count: planned.line_count.saturating_sub(changed_count),
            reported_names,
            editor_text: None,
            notification: None,
        }
    }

    /// Prints the plan of `-n`: as JSON, or as a heading and a row for each line to write.
    fn print_plan(&self, write: &WriteArgs, ui: &mut Ui) -> Result<Exit, Failure> {
        if write.change.json {
            ui.print_json(&self.to_json(write))?;
            return Ok(Exit::Done);
        }
        ui.print(&self.plan_heading())?;
        self.print_planned_lines(ui)?;
        Ok(Exit::Done)
    }

    /// Reports the result to the user, and then to the hook. The hook is notified even if printing
    /// fails. If both fail, the failure of the hook is returned: that of printing may only be a
    /// closed pipe, which counts as success.
    fn report_and_notify(mut self, write: &WriteArgs, ui: &mut Ui) -> Result<Exit, Failure> {
        let print_result = self.print_and_flush(write, ui);
        let hook_result = self.notify_hook(ui);
        let failure = match (hook_result, print_result) {
            (Ok(()), Ok(())) => return Ok(Exit::Done),
            (Err(hook_failure), _) => hook_failure,
            (Ok(()), Err(print_failure)) => print_failure,
        };
        Err(self.add_written_names(failure))
    }

    /// Adds to a failure of reporting what was written before, so that the user does not repeat the
    /// command. Nothing is added if no file was written.
    fn add_written_names(&self, failure: Failure) -> Failure {
        let has_written_file = self.changes_anything() && !self.is_on_stdout();
        if has_written_file {
            failure.after_writing(&self.reported_names.join(" "))
        } else {
            failure
        }
    }

    /// Prints the result, and flushes standard output.
    fn print_and_flush(&self, write: &WriteArgs, ui: &mut Ui) -> Result<(), Failure> {
        self.print_result(write, ui)?;
        ui.flush()
    }

    /// Notifies the hook of the change, if there are a change and a hook.
    fn notify_hook(&mut self, ui: &mut Ui) -> Result<(), Failure> {
        let Some(notification) = self.notification.take() else {
            return Ok(());
        };
        if !self.changes_anything() {
            return Ok(());
        }
        let file = if self.is_on_stdout() {
            None
        } else {
            Some(ui.resolve_path(&self.path))
        };
        notification.notify(file.as_deref(), ui)
    }

    fn changes_anything(&self) -> bool {
        self.action != Action::Nothing
    }

    /// Whether the session is written to standard output.
    fn is_on_stdout(&self) -> bool {
        self.path == Path::new("-")
    }

    /// Prints names and text on standard output. If standard output carries the session, prints
    /// them on standard error.
    fn print_result(&self, write: &WriteArgs, ui: &mut Ui) -> Result<(), Failure> {
        if write.change.json && !self.is_on_stdout() {
            return ui.print_json(&self.to_json(write));
        }
        let lines = self.result_lines(ui);
        if self.is_on_stdout() {
            ui.print_to_stderr(&lines);
            return Ok(());
        }
        ui.print(&lines)
    }

    /// Returns the names and the text to edit again, each followed by a line break.
    fn result_lines(&self, ui: &Ui) -> String {
        let mut lines = String::new();
        for name in &self.reported_names {
            lines += &to_visible_lines(name);
            lines.push('\n');
        }
        if let Some(text) = &self.editor_text {
            let text = text.to_string();
            // An editor gets the text as it is. Only for a person, it is escaped.
            let goes_to_editor = !self.is_on_stdout() && !ui.stdout_is_terminal();
            if goes_to_editor {
                lines += &text;
            } else {
                lines += &to_visible_lines(&text);
            }
            lines.push('\n');
        }
        lines
    }

    /// Returns the report as JSON. Lines that are not JSON themselves are left out, because they
    /// would make it invalid.
    fn to_json(&self, write: &WriteArgs) -> Vec<u8> {
        let lines = self.lines.iter().filter(|line| Raw::parse(line).is_ok());
        Object::new()
            .str("path", &self.path.to_string_lossy())
            .str("action", self.action.name())
            .bool("dryRun", write.change.dry_run)
            .json("written", &array(lines))
            .text_or_null("editorText", self.editor_text.as_ref())
            .finish()
    }

    /// Returns the first line of a plan: the action and the file.
    fn plan_heading(&self) -> String {
        let path = to_visible(&self.path.to_string_lossy());
        let count = format_count(self.lines.len() + self.copied_count, "line", "lines");
        match self.action {
            Action::Nothing => format!("nothing to do in {path}\n"),
            Action::Append => format!("would append {count} to {path}\n"),
            Action::Rewrite if self.has_title_line => {
                format!("would rewrite {path}: its title line, and {count} in all\n")
            }
            Action::Rewrite if self.lines.is_empty() => {
                format!("would rewrite {path} as version 3\n")
            }
            Action::Rewrite => format!("would rewrite {path} as version 3 and append {count}\n"),
            Action::Create if self.copied_count > 0 => {
                format!(
                    "would create {path} with {count}: {} copied unchanged; the others are new or changed:\n",
                    self.copied_count
                )
            }
            Action::Create => format!("would create {path} with {count}\n"),
        }
    }

    /// Prints a row for each line that would be written, except lines that are copied unchanged.
    fn print_planned_lines(&self, ui: &mut Ui) -> Result<(), Failure> {
        let columns = [
            Column::text("id"),
            Column::text("type"),
            Column::text("content").allow_shrink(),
        ];
        let noun = RowNoun {
            one: "line",
            many: "lines",
        };
        let mut table = PlanTable::new(&columns, noun);
        for line in &self.lines {
            let planned = PlannedLine::from_json(line);
            let cells = vec![
                plain_cell(planned.id),
                plain_cell(planned.entry_type),
                plain_cell(planned.content),
            ];
            // Each line ends with a line feed.
            table.add_row(line.len() + 1, cells, ui)?;
        }
        table.print(ui)
    }
}

/// A line that would be written, as a row of the plan shows it.
struct PlannedLine {
    id: String,
    /// The type of the entry; for a message, its role.
    entry_type: String,
    /// The start of the entry's text.
    content: String,
}

/// The maximum length of a cell's text, in UTF-16 units.
const MAX_CONTENT_UNITS: usize = 200;

/// The members that describe an entry without content. The first one that the entry has is shown.
/// The last four are for lines of Codex.
const CONTENT_MEMBERS: [&str; 13] = [
    "label",
    "name",
    "summary",
    "title",
    "modelId",
    "thinkingLevel",
    "targetId",
    "customType",
    "cwd",
    "message",
    "arguments",
    "input",
    "output",
];

impl PlannedLine {
    /// Parses a line of a plan. A line that is not JSON, as a repair may copy it, is shown as its
    /// own content.
    fn from_json(line: &[u8]) -> PlannedLine {
        let Ok(entry) = Raw::parse(line) else {
            return PlannedLine {
                id: String::new(),
                entry_type: String::new(),
                content: visible_start(&Text::from_wtf8(line)),
            };
        };
        let holder = content_holder(entry);
        // In Claude Code, the id of a line is `uuid`. A line of Codex has no id, but may have that
        // of a call.
        let id = entry
            .get_text("id")
            .or_else(|| entry.get_text("uuid"))
            .or_else(|| holder.get_text("call_id"));
        // A line of Codex has its own type in `payload`, and a general one in `type`.
        let payload = entry.get("payload").unwrap_or(Raw::NULL);
        let role_or_type = holder
            .get_text("role")
            .or_else(|| payload.get_text("type"))
            .or_else(|| entry.get_text("type"));
        PlannedLine {
            id: visible_start(&id.unwrap_or_default()),
            entry_type: visible_start(&role_or_type.unwrap_or_default()),
            content: visible_start(&line_content(holder)),
        }
    }
}

/// Returns the object that has the content of a line: the message in pi and Claude Code, the
/// payload in Codex, otherwise the line itself.
fn content_holder(entry: Raw<'_>) -> Raw<'_> {
    for member in ["message", "payload"] {
        if let Some(holder) = entry.get(member).filter(|holder| holder.is_object()) {
            return holder;
        }
    }
    entry
}

/// Returns the text of a message or an entry: the text of its content, else the first of its
/// [`CONTENT_MEMBERS`].
fn line_content(holder: Raw<'_>) -> Text<'_> {
    if let Some(content) = holder.get("content") {
        return all_text(content);
    }
    for member in CONTENT_MEMBERS {
        if let Some(text) = holder.get(member).and_then(Raw::text) {
            return text;
        }
    }
    Text::default()
}

/// Returns the texts of a content, which is a string or blocks of any type, joined by spaces.
fn all_text(content: Raw<'_>) -> Text<'_> {
    if content.is_string() {
        return content.text().unwrap_or_default();
    }
    let texts = content.items().filter_map(|block| block.get_text("text"));
    join_with(texts, " ")
}

/// Returns the start of a text, escaped and on one line.
fn visible_start(text: &Text) -> String {
    let start = text.head_whole(MAX_CONTENT_UNITS).into_string_lossy();
    to_visible_line(&start)
}
