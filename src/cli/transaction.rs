//! Changing a session: a single code path from a decision to the commit and its report.
//!
//! A command supplies the function that decides; everything else is here. The decision is based on
//! the contents of the file under its lock, and repeated if the file grew before the commit, until
//! `--wait` is over (rule 4 of the store). Anything slow, and anything that can be read only once
//! (a summarizer, a hook, standard input), is therefore done before the lock is taken.
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
use crate::cli::output::{Column, Exit, Failure, Ui, plain_cell, to_visible, to_visible_lines};
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

/// A command's decision.
#[derive(Debug, Default)]
pub struct Decision {
    pub change: Change,
    /// The number of new entries whose ids are reported, from the first; the others are labels on
    /// them.
    pub reported_count: usize,
    /// Text to be edited again.
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

/// A function that decides on a change of a session, given the source of ids for new entries.
type Decide<'d> = dyn FnMut(&OpenSession, &mut IdSource) -> Result<Decision, Failure> + 'd;

/// The content of a new session.
pub enum NewContent {
    /// Entries of the session that is open, and new ones.
    Entries(NewSession),
    /// All bytes, because they are the session of another agent.
    Whole(Spooled),
}

impl NewContent {
    fn write(&self, open: &OpenSession, out: &mut dyn io::Write) -> io::Result<()> {
        match self {
            NewContent::Entries(new) => new.write(&open.session, open.input.source(), out),
            NewContent::Whole(bytes) => copy_all(bytes, out),
        }
    }

    /// Returns all lines.
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

    /// Returns the lines for the report of a dry run.
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

/// A new session, and the data to report about it.
pub struct Creation {
    pub content: NewContent,
    /// Its file; `-` is standard output.
    pub path: PathBuf,
    /// The directory of the file, if it is to be made where it is missing.
    pub folder: Option<PathBuf>,
    /// Text to be edited again.
    pub editor_text: Option<Text<'static>>,
    pub notification: Option<HookEvent>,
}

/// Refuses a JSON report if standard output (`-`) carries the session.
fn refuse_json_report(path: &Path, write: &WriteArgs) -> Result<(), Failure> {
    let session_on_stdout = path == Path::new("-") && write.change.json && !write.change.dry_run;
    if session_on_stdout {
        Err(Failure::stdout_carries_session())
    } else {
        Ok(())
    }
}

impl OpenSession {
    /// Makes the change that `decide` returns, and reports it: in place, in another file (`-o`), on
    /// standard output, or nowhere (`-n`).
    ///
    /// In place, `decide` is called under the lock, with the contents of the file at the time of
    /// the commit, and again if the file has grown meanwhile. Otherwise it is called once.
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

    /// Commits the decision to the session's own file; with `-n`, only prints what would be
    /// committed. A change without entries leaves the file as it is.
    fn apply_in_place(
        &self,
        path: &Path,
        args: &WriteArgs,
        ui: &mut Ui,
        decide: &mut Decide,
    ) -> Result<Exit, Failure> {
        let mut ids = Ids::new(ui)?;
        let options = args.change.write_options(self.session.dialect);
        if args.change.dry_run {
            refuse_in_dry_run(&self.input, Action::Append, &options)?;
            let decision = ids.with_id_source(ui, |id_source| decide(self, id_source))?;
            let report = ChangeReport::in_place(&decision, path, &self.session);
            refuse_in_dry_run(&self.input, report.action, &options)?;
            return report.print_plan(args, ui);
        }

        let mut attempt = |current: &OpenSession, locked: Locked| {
            let decision = ids.with_id_source(ui, |id_source| decide(current, id_source))?;
            let report = ChangeReport::in_place(&decision, path, &current.session);
            Ok((commit_change(&decision.change, current, locked)?, report))
        };
        let (committed, report) = self.attempt_under_lock(&options, &mut attempt)?;

        if let Some(committed) = &committed {
            ui.report_commit_warnings(committed);
            self.input.report_path(ui);
        }
        self.report_no_change(&report, args, ui);
        report.report_and_notify(args, ui)
    }

    /// Writes the whole changed session to another file, or to standard output (`-`); with `-n`,
    /// only prints what would be written.
    fn apply_elsewhere(
        &self,
        path: &Path,
        args: &WriteArgs,
        ui: &mut Ui,
        decide: &mut Decide,
    ) -> Result<Exit, Failure> {
        refuse_json_report(path, args)?;
        let mut ids = Ids::new(ui)?;
        let decision = ids.with_id_source(ui, |id_source| decide(self, id_source))?;
        let report = ChangeReport::elsewhere(&decision, path, &self.session);
        if args.change.dry_run {
            refuse_output_in_dry_run(path, &self.input, args.change.force)?;
            return report.print_plan(args, ui);
        }

        // If there is nothing to do, the session is copied unchanged, so that pipelines still work.
        let mut fill = |out: &mut dyn io::Write| {
            if decision.change.is_empty() {
                copy_all(self.input.source(), out)
            } else {
                decision
                    .change
                    .write(&self.session, self.input.source(), out)
            }
        };
        self.write_output(path, args.change.force, &mut fill, ui)?;
        self.report_no_change(&report, args, ui);
        report.report_and_notify(args, ui)
    }

    /// Does the same as [`attempt_under_lock`], but `attempt` is called with the loaded session:
    /// with this one, or with the one loaded again after the file has grown.
    pub fn attempt_under_lock<T>(
        &self,
        options: &store::WriteOptions,
        attempt: &mut dyn FnMut(&OpenSession, Locked) -> AttemptResult<T>,
    ) -> Result<(Option<Committed>, T), Failure> {
        attempt_under_lock(&self.input, options, &mut |grown, locked| {
            let reloaded = grown.map(|input| self.reload_from(input)).transpose()?;
            attempt(reloaded.as_ref().unwrap_or(self), locked)
        })
    }

    /// Reports on standard error that there was nothing to do, unless the output shows it.
    fn report_no_change(&self, report: &ChangeReport, args: &WriteArgs, ui: &mut Ui) {
        let is_shown_by_output = args.change.json || report.editor_text.is_some();
        if report.action == Action::Nothing && !is_shown_by_output {
            ui.print_status(&format!("nothing to do in {}", self.input.name));
        }
    }

    /// Creates a new session file from this session, in a directory that is made if it is missing.
    /// With `-n`, only reports what would be created.
    pub fn create_session(
        &self,
        creation: Creation,
        args: &WriteArgs,
        ui: &mut Ui,
    ) -> Result<Exit, Failure> {
        refuse_json_report(&creation.path, args)?;
        let mut fill = |out: &mut dyn io::Write| creation.content.write(self, out);
        // What the report shows: with --json all lines of the session, with -n those that are not
        // copied as they are.
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let mut line_count = 0;
        if args.change.json {
            lines = self.input.map_read_error(creation.content.lines(self))?;
        } else if args.change.dry_run {
            let planned = self
                .input
                .map_read_error(creation.content.plan_lines(self))?;
            line_count = planned.line_count;
            lines = planned.changed_lines;
        }
        // Standard output carries the session, not its name.
        let reported_names = if creation.path == Path::new("-") {
            Vec::new()
        } else {
            vec![creation.path.to_string_lossy().into_owned()]
        };
        let report = ChangeReport {
            copied_count: line_count.saturating_sub(lines.len()),
            action: Action::Create,
            has_title_line: false,
            reported_names,
            path: creation.path,
            lines,
            editor_text: creation.editor_text,
            notification: creation.notification,
        };
        if args.change.dry_run {
            let folder_is_missing = creation.folder.is_some_and(|folder| !folder.exists());
            if !folder_is_missing {
                refuse_output_in_dry_run(&report.path, &self.input, args.change.force)?;
            }
            return report.print_plan(args, ui);
        }

        // A new directory is removed again if the file cannot be written.
        let folder = match creation.folder.as_deref() {
            Some(folder) => Some(NewFolder::make(folder)?),
            None => None,
        };
        self.write_output(&report.path, args.change.force, &mut fill, ui)?;
        if let Some(folder) = folder {
            folder.keep();
        }
        report.report_and_notify(args, ui)
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
        ui.report_commit_warnings(&store::create(path, self.input.file(), force, fill)?);
        Ok(())
    }
}

/// Commits a change to a session that is locked; there is no commit if there is nothing to do.
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
            locked.rewrite(None, &mut |out| change.write(session, input.source(), out))
        }
    };
    Ok(Some(attempt?))
}

/// The result of an attempt to change a session: the commit, unless there was nothing to do, and a
/// value for the command.
pub type AttemptResult<T> = Result<(Option<Attempt>, T), Failure>;

/// Calls `attempt` with the locked session, and with the current contents of the file if it has
/// grown since it was read. Repeats this if the file grew before the commit, until the wait is
/// over. Every in-place change of a session is made through this function, except those of
/// `migrate`, which are one batch.
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
        match attempt(grown_input, locked)? {
            (None, value) => return Ok((None, value)),
            (Some(Attempt::Done(committed)), value) => return Ok((Some(committed), value)),
            (Some(Attempt::Stale(again)), _) => locked = *again,
        }
    }
}

/// Fails if a change of the session in place would be refused now, for `-n`: because it is locked,
/// because an agent may have it open, or because it has several names and would be rewritten. The
/// lock is taken as for the change, and released at once.
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

/// Fails if a new file would be refused, for `-n`; `-` is standard output.
pub fn refuse_output_in_dry_run(path: &Path, input: &Input, force: bool) -> Result<(), Failure> {
    if path != Path::new("-") {
        store::check_create(path, input.file(), force)?;
    }
    Ok(())
}

/// Returns the failure for an error while copying: of the input or of the output.
pub fn copy_failure(input: &Input, error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => input.read_failure(error),
        _ => Failure::from_stdout_error(error),
    }
}

/// The result of the command, or with `-n` its plan.
struct ChangeReport {
    action: Action,
    /// The file, `-` for standard output.
    path: PathBuf,
    lines: Vec<Vec<u8>>,
    /// Whether the first of them is the title line.
    has_title_line: bool,
    /// The number of lines of a new file that are copied as they are, and not among these.
    copied_count: usize,
    /// Ids of new entries, or the path of a new file.
    reported_names: Vec<String>,
    editor_text: Option<Text<'static>>,
    notification: Option<HookEvent>,
}

impl ChangeReport {
    /// Returns the report of a decision that is committed to the session's own file, `path`.
    fn in_place(decision: &Decision, path: &Path, session: &Session) -> ChangeReport {
        ChangeReport::new(decision, path, decision.change.action(session))
    }

    /// Returns the report of a decision that is written, with the whole session, to another file.
    fn elsewhere(decision: &Decision, path: &Path, session: &Session) -> ChangeReport {
        let action = match decision.change.action(session) {
            Action::Nothing => Action::Nothing,
            Action::Append | Action::Rewrite | Action::Create => Action::Create,
        };
        ChangeReport::new(decision, path, action)
    }

    /// Returns the report of a decision that is written to `path` by this action.
    fn new(decision: &Decision, path: &Path, action: Action) -> ChangeReport {
        let change = &decision.change;
        let title_line = change.title_line.clone().into_iter();
        let lines = change.entries.iter().map(|entry| entry.line.clone());
        let names = change
            .entries
            .iter()
            .take(decision.reported_count)
            .map(|entry| entry.id.to_string());
        ChangeReport {
            action,
            path: path.to_owned(),
            lines: title_line.chain(lines).collect(),
            has_title_line: change.title_line.is_some(),
            copied_count: 0,
            reported_names: names.collect(),
            editor_text: decision.editor_text.clone(),
            notification: decision.notification.clone(),
        }
    }

    fn print_plan(&self, write: &WriteArgs, ui: &mut Ui) -> Result<Exit, Failure> {
        if write.change.json {
            ui.print_json(&self.to_json(write))?;
            return Ok(Exit::Done);
        }
        ui.print(&self.plan_heading())?;
        self.print_planned_lines(ui)?;
        Ok(Exit::Done)
    }

    /// Reports the result to the user, then to the hook. The hook is notified even if printing
    /// fails. A failure here does not undo the write (rule 7 of the store).
    fn report_and_notify(mut self, write: &WriteArgs, ui: &mut Ui) -> Result<Exit, Failure> {
        let is_file = self.path != Path::new("-");
        let is_written = self.action != Action::Nothing && is_file;
        let after_writing = |failure: Failure| {
            if is_written {
                failure.after_writing(&self.reported_names.join(" "))
            } else {
                failure
            }
        };

        let printed = self
            .print_result(write, ui)
            .and_then(|()| ui.flush())
            .map_err(after_writing);
        let mut notified = Ok(());
        if self.action != Action::Nothing
            && let Some(notification) = self.notification.take()
        {
            let file = is_file.then(|| ui.resolve_path(&self.path));
            notified = notification
                .notify(file.as_deref(), ui)
                .map_err(after_writing);
        }
        notified?;
        printed?;
        Ok(Exit::Done)
    }

    /// Prints names and text on standard output, or on standard error if standard output carries
    /// the session.
    fn print_result(&self, write: &WriteArgs, ui: &mut Ui) -> Result<(), Failure> {
        let on_stderr = self.path == Path::new("-");
        if write.change.json && !on_stderr {
            return ui.print_json(&self.to_json(write));
        }
        let mut lines: String = self
            .reported_names
            .iter()
            .map(|name| format!("{}\n", to_visible_lines(name)))
            .collect();
        if let Some(text) = self.editor_text.as_ref().map(ToString::to_string) {
            let is_unescaped = !on_stderr && !ui.stdout_is_terminal();
            lines += &if is_unescaped {
                text
            } else {
                to_visible_lines(&text).into_owned()
            };
            lines.push('\n');
        }
        if on_stderr {
            ui.print_to_stderr(&lines);
            return Ok(());
        }
        ui.print(&lines)
    }

    /// Returns what is written as JSON. Lines that are not JSON are left out: they would break it.
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

    /// Returns the first line of a plan: what would be done to which file.
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

    /// Prints a row for each line that would be written, unless it is copied as it is.
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

/// A line that would be written, as the row of a plan shows it.
struct PlannedLine {
    id: String,
    /// The type of the entry; of a message, the role.
    entry_type: String,
    /// The start of its text.
    content: String,
}

/// The maximum length of a cell with text of a line, in UTF-16 units.
const MAX_CONTENT_UNITS: usize = 200;

/// The members that describe an entry without content; the last four are of lines of Codex. The
/// first one that it has is shown.
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
    /// Reads a line of a plan. A line that is not JSON, as a repair may copy it, is its own
    /// content.
    fn from_json(line: &[u8]) -> PlannedLine {
        let Ok(entry) = Raw::parse(line) else {
            return PlannedLine {
                id: String::new(),
                entry_type: String::new(),
                content: visible_start(&Text::from_wtf8(line)),
            };
        };
        // Claude Code calls the id of a line `uuid`. A line of Codex has at most that of a call.
        let holder = content_holder(entry);
        let id = entry
            .get_text("id")
            .or_else(|| entry.get_text("uuid"))
            .or_else(|| holder.get_text("call_id"));
        let role_or_type = holder
            .get_text("role")
            .or_else(|| entry.get("payload")?.get_text("type"))
            .or_else(|| entry.get_text("type"));
        PlannedLine {
            id: visible_start(&id.unwrap_or_default()),
            entry_type: visible_start(&role_or_type.unwrap_or_default()),
            content: visible_start(&line_content(holder)),
        }
    }
}

/// Returns the object with the content of a line: the message of pi or Claude Code, the payload of
/// Codex, or the line itself.
fn content_holder(entry: Raw<'_>) -> Raw<'_> {
    for member in ["message", "payload"] {
        if let Some(holder) = entry.get(member).filter(|holder| holder.is_object()) {
            return holder;
        }
    }
    entry
}

/// Returns the text of a message or an entry: that of its content, or the first of
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

/// Returns the texts in a content, of blocks of any type.
fn all_text(content: Raw<'_>) -> Text<'_> {
    if content.is_string() {
        return content.text().unwrap_or_default();
    }
    let texts = content.items().filter_map(|block| block.get_text("text"));
    join_with(texts, " ")
}

/// Returns the start of a text, on one line.
fn visible_start(text: &Text) -> String {
    let start = text.head_whole(MAX_CONTENT_UNITS).into_string_lossy();
    let words: Vec<&str> = start.split_whitespace().collect();
    to_visible(&words.join(" "))
}
