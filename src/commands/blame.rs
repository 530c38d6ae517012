//! `pisess blame`: which session and entry wrote the lines of a file.

use crate::agents::readable::Folders;
use crate::cli::given::{MOST_TEXT_BYTES, read_argument};
use crate::cli::guide::{Example, Guide};
use crate::cli::open::Input;
use crate::cli::output::{
    Cell, Clock, Column, Exit, Failure, Styles, Table, Ui, apply_style, plain_cell, to_visible,
    to_visible_line, truncate_end,
};
use crate::cli::sessions::SessionsArgs;
use crate::format::changes::{DiffSign, classify_diff_line};
use crate::format::{ID_SUFFIX_LEN, id_suffix};
use crate::load::LoadOptions;
use crate::ops::blame::{BlamedLines, WrittenText, blame_lines};
use crate::ops::files::{FileChange, FileOperation, RecordedPaths, list_operations, read_change};
use crate::ops::grep::{
    EntryFilter, Match, MatchDetails, Pattern, PatternOptions, Query, search_file,
};
use crate::ops::list::session_title;
use crate::session::content::entry_text;
use crate::session::entry::{EntryIx, Flags};
use crate::session::fields::FieldScope;
use crate::session::paths::{absolute_path, collapse_dots, file_name};
use crate::session::period::Period;
use crate::session::read::entry_reader::EntryReader;
use crate::session::{Header, Session};
use foldhash::{HashMap, HashSet};
use owo_colors::Style;
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_store::PageBuffer;
use pisess_store::workers::Pool;
use std::io;
use std::ops::{ControlFlow, RangeInclusive};
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::answers_no(
        "Print which session wrote line 41 of a file",
        "pisess blame src/clock.rs:41",
    ),
    Example::answers_no(
        "Also read the sessions of other agents",
        "pisess blame --source all src/clock.rs",
    ),
    Example::answers_no(
        "Also print the text that the edit replaced",
        "pisess blame --patch src/clock.rs:41",
    ),
    Example::answers_no(
        "Print who wrote lines 2 to 4, as JSON",
        "pisess blame --json src/clock.rs:2,4 session.jsonl",
    ),
])
.with_found("no agent wrote any of the lines");

/// Print which session and entry wrote the lines of a file.
///
/// Prints a row for each run of lines that one tool call wrote. The row shows the entry with the
/// call, the end of the session's id, the time, and the title of the session as in `list`. The user
/// message that led to the call follows. `pisess show SESSION ENTRY` prints the call.
///
/// Only exact text is matched: the file must still contain the text that a `write` or `edit` call
/// wrote. The newest such call counts. If several sessions have the call, as after a fork, the
/// session that began first is printed. Lines that no call wrote, or that the user changed since,
/// are reported as `not written by an agent`. The same is reported for text that occurs several
/// times in the file. A line with fewer than three letters and digits, such as `}`, is attributed
/// to a call only beside a longer line of that call. Failed calls are ignored.
///
/// FILE may end in a line number, or in the numbers of a first and a last line: `src/clock.rs:41`,
/// `src/clock.rs:41,60`. A call matches FILE if both have the same absolute path. Relative paths
/// are compared, too: the path of the call from the working directory of the session, and the path
/// of FILE from the current directory. If they are the same, the call matches. So calls are found
/// even after the project was moved or cloned.
///
/// Without SESSION, the sessions of the current directory are read. Directories are searched
/// recursively, including hidden ones.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file, with the lines to print: FILE, FILE:LINE or FILE:FIRST,LAST
    #[arg(value_name = "FILE")]
    pub file: String,
    #[command(flatten)]
    pub sessions: SessionsArgs,
    /// Print what the calls changed in files, as a unified diff (below all rows, one call after the
    /// other)
    #[arg(long)]
    pub patch: bool,
    /// Print the result as JSON (an object per run of lines)
    #[arg(long)]
    pub json: bool,
}

/// Prints which tool call wrote each line of a file. Only sessions that mention the file are
/// loaded. The exit code is [`Exit::Found`] if no agent wrote any of the lines.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let target = BlameTarget::parse(&args.file, ui)?;
    let file = read_argument(&target.path, "a file to blame", MOST_TEXT_BYTES, None, ui)
        .map_err(|failure| hint_lost_file(failure, &target.path))?;
    let text = String::from_utf8_lossy(&file.bytes).into_owned();
    let wanted_lines = target.lines_to_print(&text)?;
    let (mut history, exit) = read_history(args, &target, ui)?;

    // All lines are blamed, even if only some are printed: a line may have moved into that range.
    let mut runs = Vec::new();
    for run in blame_lines(&text, &history.written) {
        runs.extend(limit_to_lines(run, &wanted_lines));
    }
    if args.patch {
        history.add_patches(&runs);
    }
    if args.json {
        print_runs_as_json(&runs, &history.writers, args.patch, ui)?;
    } else {
        print_runs(&runs, &history.writers, ui)?;
        if args.patch {
            print_patches(&runs, &history.writers, ui)?;
        }
    }

    let is_any_by_agent = runs.iter().any(|run| run.source.is_some());
    if is_any_by_agent {
        return Ok(exit);
    }
    // Without this, a user may think that no agent ever changed the file.
    if !history.written.is_empty() {
        ui.warn(CHANGED_OTHERWISE);
    }
    Ok(exit.max(Exit::Found))
}

/// Returns the calls of all sessions that wrote to the file, and the worst exit code of sessions
/// that cannot be read. Few sessions mention the name of the file, and only those are loaded,
/// because a search of the lines takes much less time.
fn read_history(
    args: &Args,
    target: &BlameTarget,
    ui: &mut Ui,
) -> Result<(History, Exit), Failure> {
    let sessions = args.sessions.find_sessions(Period::default(), ui)?;
    let home = ui.home().map(Text::from);
    let pattern = target.mention_pattern()?;
    // A buffer for each thread, which is used again for its next session.
    let buffers = Pool::new(PageBuffer::default);
    let read_calls_of_session = |path: &Path, input: &Input| {
        let is_mentioned = buffers.with(|buffer| mentions_file(input, &pattern, buffer))?;
        if is_mentioned {
            read_calls(path, input, target, home.as_ref())
        } else {
            Ok(Vec::new())
        }
    };
    let mut history = History::default();
    let exit = sessions.read_all(ui, read_calls_of_session, |_ui, _path, calls| {
        history.add_session(calls);
        Ok(())
    })?;
    Ok((history, exit))
}

/// The note if agents changed the file, but none of the lines is as an agent wrote it.
const CHANGED_OTHERWISE: &str = "agents changed this file, but wrote none of these lines as they are (hint: `pisess stats --all --by file,session` lists the sessions that changed it)";

/// Adds to the failure for a file that does not exist how to find it in sessions.
fn hint_lost_file(failure: Failure, path: &Path) -> Failure {
    if path == Path::new("-") || path.exists() {
        return failure;
    }
    failure.with_hint(
        "`pisess stats --all --by file,session` names the sessions that changed a file; `pisess show --file PATH SESSION` prints it",
    )
}

/// The file whose lines are blamed, and the range of lines to print.
struct BlameTarget {
    /// The path as it was given.
    path: PathBuf,
    /// The absolute path, as given.
    absolute: String,
    /// The absolute path, with symbolic links resolved.
    resolved: String,
    /// The path relative to the current directory; `None` if the file is not below that directory.
    relative: Option<String>,
    /// The lines to print, counted from 1; `None` for all.
    lines: Option<RangeInclusive<usize>>,
}

impl BlameTarget {
    /// Parses FILE, `FILE:LINE` or `FILE:FIRST,LAST`. If a file with the whole argument as its name
    /// exists, such as `notes:12`, the argument is that file.
    fn parse(argument: &str, ui: &Ui) -> Result<BlameTarget, Failure> {
        let mut path = argument;
        let mut lines = None;
        if let Some((before_colon, numbers)) = argument.rsplit_once(':')
            && let Some(range) = parse_lines(numbers)
            && !ui.current_folder().join(argument).exists()
        {
            path = before_colon;
            lines = Some(range);
        }

        // Sessions may name the file by any of these paths.
        let absolute = normalize_path(&ui.current_folder().join(path).to_string_lossy());
        let resolved = normalize_path(&ui.resolve_path(Path::new(path)).to_string_lossy());
        let current = normalize_path(&ui.current_folder().to_string_lossy());
        let relative = below_folder(&absolute, &current).map(str::to_owned);
        Ok(BlameTarget {
            path: PathBuf::from(path),
            absolute,
            resolved,
            relative,
            lines,
        })
    }

    /// Returns the range of lines to print, all lines of the text if none was given. Fails if a
    /// given range is not within the text, or ends before it begins.
    fn lines_to_print(&self, text: &str) -> Result<RangeInclusive<usize>, Failure> {
        let count = text.lines().count();
        let Some(lines) = &self.lines else {
            return Ok(1..=count);
        };
        if *lines.start() >= 1 && lines.start() <= lines.end() && *lines.end() <= count {
            return Ok(lines.clone());
        }
        let path = to_visible(&self.path.to_string_lossy());
        let what = format_args!(
            "{path} has {count} lines; the range is {} to {}",
            lines.start(),
            lines.end()
        );
        Err(Failure::invalid(what).with_path(&path))
    }

    /// Whether a call names the file. `path` is the absolute path in the call, and `cwd` is the
    /// session's working directory: the same relative path in both directories also counts, as in a
    /// copy of the project.
    fn is_named_by(&self, path: &str, cwd: Option<&Text>) -> bool {
        if path == self.absolute || path == self.resolved {
            return true;
        }
        let (Some(relative), Some(cwd)) = (&self.relative, cwd) else {
            return false;
        };
        let cwd = normalize_path(&cwd.to_string_lossy());
        below_folder(path, &cwd) == Some(relative)
    }

    /// Returns a search that finds the sessions that mention the file: by its name, or if it is a
    /// link, by the name of the linked file.
    fn mention_pattern(&self) -> Result<Query, Failure> {
        let names = [&self.absolute, &self.resolved].map(|path| file_name(path).to_owned());
        let options = PatternOptions {
            fixed: true,
            ..PatternOptions::default()
        };
        let pattern = Pattern::new(&names, options).map_err(Failure::usage_error)?;
        Ok(Query {
            pattern,
            inverted: false,
            entries: EntryFilter::default(),
            // A tool may call other tools. Their calls are in a field of its result that a search
            // usually leaves out.
            scope: FieldScope::Everything,
            details: MatchDetails::default(),
            is_only_reader: false,
        })
    }
}

/// Returns an absolute path in the form in which paths are compared: without `.` and `..`, and with
/// `/` between the parts of a Windows path.
fn normalize_path(path: &str) -> String {
    let path = absolute_path(path.as_bytes(), None);
    collapse_dots(&String::from_utf8_lossy(&path))
}

/// Returns the part of a path below a directory; `None` if the path is not below that directory.
fn below_folder<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    let folder = folder.strip_suffix('/').unwrap_or(folder);
    path.strip_prefix(folder)?.strip_prefix('/')
}

/// Parses a range of lines: `12` or `12,20`.
fn parse_lines(numbers: &str) -> Option<RangeInclusive<usize>> {
    match numbers.split_once(',') {
        Some((first, last)) => Some(first.parse().ok()?..=last.parse().ok()?),
        None => {
            let line = numbers.parse().ok()?;
            Some(line..=line)
        }
    }
}

/// Returns the part of a run of lines that is within `lines`; `None` if there is none.
fn limit_to_lines(run: BlamedLines, lines: &RangeInclusive<usize>) -> Option<BlamedLines> {
    let limited = BlamedLines {
        first: run.first.max(*lines.start()),
        last: run.last.min(*lines.end()),
        source: run.source,
    };
    let is_empty = limited.first > limited.last;
    if is_empty { None } else { Some(limited) }
}

/// Whether a session mentions the file. Sessions that do not, as most, need not be loaded.
fn mentions_file(input: &Input, query: &Query, buffer: &mut PageBuffer) -> Result<bool, Failure> {
    let resume = None;
    let workers = 1;
    let mut is_found = false;
    let mut stop_at_match = |_header: &Header, _found: Match| {
        is_found = true;
        ControlFlow::Break(())
    };
    search_file(
        input.source(),
        query,
        resume,
        workers,
        buffer,
        &mut stop_at_match,
    )
    .map_err(|error| Failure::from_load_error(&input.name, error))?;
    Ok(is_found)
}

/// A call that wrote into the file.
struct WritingCall {
    writer: Writer,
    change: FileChange,
}

/// The entry with the call, and the user message that led to it, as they are printed.
struct Writer {
    path: PathBuf,
    session_id: String,
    title: String,
    /// The time in the session's header; the latest time if it is unknown.
    session_started_ms: i64,
    entry_id: String,
    line: u32,
    time_ms: i64,
    timestamp: Option<String>,
    /// The user message above, and its id.
    prompt: String,
    prompt_id: Option<String>,
    /// With `--patch`, the text that the call replaced, as a diff; `None` if it wrote the whole
    /// file. Found once it is known which calls are shown.
    patch: Option<String>,
}

/// The calls of all sessions, without copies.
#[derive(Default)]
struct History {
    writers: Vec<Writer>,
    /// The text of each call. It refers to its writer by an index into `writers`.
    written: Vec<WrittenText>,
    /// The index of the writer of each call that has an id.
    writer_indexes: HashMap<CallKey, usize>,
}

/// The identity of a call. The copy of a call, in a session that was forked or copied, has the same
/// key.
#[derive(PartialEq, Eq, Hash)]
struct CallKey {
    entry_id: String,
    time_ms: i64,
    /// The number of earlier calls of the same entry: one message may have several calls.
    calls_before: usize,
}

/// Makes the keys of the calls of one session, which it gets in the order of the file.
#[derive(Default)]
struct CallKeys {
    /// By the id of an entry: the number of its calls so far.
    call_counts: HashMap<String, usize>,
}

impl CallKeys {
    /// Returns the key of the next call, which `writer` describes. `None` if its entry has no id:
    /// then copies of the call cannot be recognized.
    fn next_key(&mut self, writer: &Writer) -> Option<CallKey> {
        if writer.entry_id.is_empty() {
            return None;
        }
        let call_count = self.call_counts.entry(writer.entry_id.clone()).or_default();
        let calls_before = *call_count;
        *call_count += 1;
        Some(CallKey {
            entry_id: writer.entry_id.clone(),
            time_ms: writer.time_ms,
            calls_before,
        })
    }
}

impl History {
    /// Finds the text that each call replaced, for the calls that wrote one of these runs of lines.
    fn add_patches(&mut self, runs: &[BlamedLines]) {
        let sources: HashSet<usize> = runs.iter().filter_map(|run| run.source).collect();
        for call in &self.written {
            if sources.contains(&call.source) {
                self.writers[call.source].patch = call.diff();
            }
        }
    }

    /// Adds the calls of a session, in the order of the file. A call of which another session has a
    /// copy is added once.
    fn add_session(&mut self, calls: Vec<WritingCall>) {
        let mut keys = CallKeys::default();
        for call in calls {
            match keys.next_key(&call.writer) {
                Some(key) => self.add_once(key, call),
                None => {
                    self.add_call(call);
                }
            }
        }
    }

    /// Adds a call, unless it is a copy of a call that was added before. Of the copies, the one in
    /// the session that began first counts as the writer. The text is the same in all of them.
    fn add_once(&mut self, key: CallKey, call: WritingCall) {
        let Some(&known) = self.writer_indexes.get(&key) else {
            let index = self.add_call(call);
            self.writer_indexes.insert(key, index);
            return;
        };
        let known_writer = &mut self.writers[known];
        if call.writer.session_started_ms < known_writer.session_started_ms {
            *known_writer = call.writer;
        }
    }

    /// Adds the writer and the text of a call. Returns the index of the writer.
    fn add_call(&mut self, WritingCall { writer, change }: WritingCall) -> usize {
        let index = self.writers.len();
        let written = WrittenText::new(index, writer.time_ms, change);
        self.written.extend(written);
        self.writers.push(writer);
        index
    }
}

/// Returns the calls of a session that wrote to the file `target`, on all branches. `session_path`
/// is the path of the session, which `input` has open.
fn read_calls(
    session_path: &Path,
    input: &Input,
    target: &BlameTarget,
    home: Option<&Text<'static>>,
) -> Result<Vec<WritingCall>, Failure> {
    let session = input.load(&LoadOptions {
        // The calls that name a file, and the results of all calls.
        file_calls: true,
        tool_calls: true,
        // They are printed as they are in the file.
        timestamps: true,
        // The title of the session is made of these.
        list_stats: Some(Period::default()),
        ..LoadOptions::default()
    })?;
    let reader = EntryReader::new(&session, input.source());
    let cwd = session.header.cwd.as_ref();
    let paths = RecordedPaths {
        folders: Folders { cwd, home },
    };
    let entries: Vec<EntryIx> = session.entry_indexes().collect();
    let is_wanted = |recorded_path: &str| target.is_named_by(recorded_path, cwd);
    let listed = list_operations(&reader, &entries, paths, &is_wanted);
    let mut calls = Vec::new();
    for operation in input.map_read_error(listed)? {
        // A call that only reads the file, or failed, wrote nothing.
        if !WrittenText::may_come_from(&operation) {
            continue;
        }
        let call = read_writing_call(session_path, &session, &reader, &operation);
        calls.push(input.map_read_error(call)?);
    }
    Ok(calls)
}

/// Returns the nearest user request at or above an entry.
fn find_request_above(session: &Session, ix: EntryIx) -> Option<EntryIx> {
    session
        .ancestors(Some(ix))
        .find(|above| session.entry(*above).flags.contains(Flags::USER_REQUEST))
}

/// Reads one write to the file: the change, the entry with the call, and the user request that led
/// to that entry.
fn read_writing_call(
    path: &Path,
    session: &Session,
    reader: &EntryReader,
    operation: &FileOperation,
) -> io::Result<WritingCall> {
    let ix = operation.entry;
    let entry = session.entry(ix);
    let request = find_request_above(session, ix);
    let prompt = match request {
        Some(request) => reader.with_entry(request, entry_text)?.into_string_lossy(),
        None => String::new(),
    };
    let writer = Writer {
        path: path.to_owned(),
        session_id: session.header.id.to_string(),
        title: session_title(session),
        session_started_ms: session.header.started_ms().unwrap_or(i64::MAX),
        entry_id: session.id(ix).to_string(),
        line: session.shown_line(ix).0,
        time_ms: entry.time_ms,
        timestamp: session.timestamp(ix).map(|time| time.to_string()),
        prompt,
        prompt_id: request.map(|request| session.id(request).to_string()),
        patch: None,
    };
    Ok(WritingCall {
        writer,
        change: read_change(reader, operation)?,
    })
}

/// Prints an object for each run, the adjacent lines that one call wrote.
fn print_runs_as_json(
    runs: &[BlamedLines],
    writers: &[Writer],
    with_patch: bool,
    ui: &mut Ui,
) -> Result<(), Failure> {
    for run in runs {
        let writer = find_writer(run, writers);
        ui.print_json(&run_json(run, writer, with_patch))?;
    }
    Ok(())
}

/// Returns the entry with the call that wrote these lines; `None` if no agent wrote them.
fn find_writer<'w>(run: &BlamedLines, writers: &'w [Writer]) -> Option<&'w Writer> {
    writers.get(run.source?)
}

/// Prints a row for each run, the adjacent lines that one call wrote.
fn print_runs(runs: &[BlamedLines], writers: &[Writer], ui: &mut Ui) -> Result<(), Failure> {
    let clock = Clock::new(ui);
    let styles = ui.styles;
    let mut table = Table::new([
        Column::number("LINES"),
        Column::text("ENTRY"),
        Column::text("SESSION"),
        Column::text("TIME"),
        Column::text("TITLE").allow_shrink(),
        Column::text("PROMPT").allow_shrink(),
    ]);
    for run in runs {
        let lines = if run.first == run.last {
            run.first.to_string()
        } else {
            format!("{}-{}", run.first, run.last)
        };
        let writer_cells = match find_writer(run, writers) {
            Some(writer) => writer.cells(&clock, &styles),
            None => {
                // The note is in the last column, which has the most space.
                let note = vec![("not written by an agent".to_owned(), styles.dim)];
                [Cell::new(), Cell::new(), Cell::new(), Cell::new(), note]
            }
        };
        let mut row: Vec<Cell> = vec![plain_cell(lines)];
        row.extend(writer_cells);
        table.add_row(row);
        table.flush_when_full(ui)?;
    }
    table.print(ui)
}

/// Prints the patch of each call that wrote a line, in the order of the lines.
fn print_patches(runs: &[BlamedLines], writers: &[Writer], ui: &mut Ui) -> Result<(), Failure> {
    let mut printed = HashSet::default();
    for source in runs.iter().filter_map(|run| run.source) {
        // A call may have written several runs.
        let is_new = printed.insert(source);
        if is_new && let Some(writer) = writers.get(source) {
            print_patch(writer, ui)?;
        }
    }
    Ok(())
}

/// Prints the text that a call replaced, as a diff.
fn print_patch(writer: &Writer, ui: &mut Ui) -> Result<(), Failure> {
    let styles = ui.styles;
    let entry = apply_style(&writer.shown_entry(), styles.label);
    let Some(patch) = &writer.patch else {
        return ui.print(&format!("\n{entry} wrote the whole file\n"));
    };
    ui.print(&format!("\n{entry} replaced\n"))?;
    for line in patch.lines() {
        let style = match classify_diff_line(line) {
            DiffSign::Common => Style::new(),
            DiffSign::Removed => styles.removed,
            DiffSign::Added => styles.added,
        };
        ui.print(&format!("{}\n", apply_style(&to_visible(line), style)))?;
    }
    Ok(())
}

impl Writer {
    /// Returns a reference to the entry: its id, or its line if it has none.
    fn shown_entry(&self) -> String {
        if self.entry_id.is_empty() {
            format!(":{}", self.line)
        } else {
            to_visible(&self.entry_id)
        }
    }

    /// Returns the cells of a row after the lines: entry, session, time, title and user message.
    fn cells(&self, clock: &Clock, styles: &Styles) -> [Cell; 5] {
        let short_id = to_visible(id_suffix(&self.session_id, ID_SUFFIX_LEN));
        let title = truncate_end(&to_visible_line(&self.title), MAX_TITLE_WIDTH, "…");
        [
            vec![(self.shown_entry(), styles.label)],
            vec![(short_id, styles.summary)],
            vec![(clock.format_time(self.time_ms), styles.dim)],
            plain_cell(title),
            plain_cell(to_visible_line(&self.prompt)),
        ]
    }

    /// Adds the members of [`WRITER_MEMBERS`] to a JSON object.
    fn add_members(&self, row: Object) -> Object {
        // Without a user message above the call, the text of the message is empty, too.
        let prompt = if self.prompt_id.is_some() {
            Some(&*self.prompt)
        } else {
            None
        };
        row.str("path", &self.path.to_string_lossy())
            .str("sessionId", &self.session_id)
            .str("title", &self.title)
            .str("id", &self.entry_id)
            .number("line", f64::from(self.line))
            .str_or_null("timestamp", self.timestamp.as_deref())
            .str_or_null("promptId", self.prompt_id.as_deref())
            .str_or_null("prompt", prompt)
    }
}

/// The maximum width of a session's title, in columns. The user message follows it.
const MAX_TITLE_WIDTH: usize = 30;

/// Returns a run of lines as JSON: first the lines, then what is known about the call that wrote
/// them. If no agent wrote the lines, the members about the call are `null`.
fn run_json(run: &BlamedLines, writer: Option<&Writer>, with_patch: bool) -> Vec<u8> {
    let mut row = Object::new()
        .number("first", run.first as f64)
        .number("last", run.last as f64);
    match writer {
        Some(writer) => row = writer.add_members(row),
        None => {
            for name in WRITER_MEMBERS {
                row = row.json(name, b"null");
            }
        }
    }
    if with_patch {
        let patch = writer.and_then(|writer| writer.patch.as_deref());
        row = row.str_or_null("patch", patch);
    }
    row.finish()
}

/// The members that [`Writer::add_members`] adds.
const WRITER_MEMBERS: [&str; 8] = [
    "path",
    "sessionId",
    "title",
    "id",
    "line",
    "timestamp",
    "promptId",
    "prompt",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_windows_have_slashes() {
        let file = r"C:\code\ferry\.\src\clock.rs";
        let target = BlameTarget {
            path: PathBuf::from(file),
            absolute: normalize_path(file),
            resolved: normalize_path(file),
            relative: Some("src/clock.rs".to_owned()),
            lines: None,
        };
        assert!(target.is_named_by("C:/code/ferry/src/clock.rs", None));
        let cwd = Text::from(r"D:\copy");
        assert!(target.is_named_by("D:/copy/src/clock.rs", Some(&cwd)));
        assert!(!target.is_named_by("D:/other/src/clock.rs", Some(&cwd)));
    }
}
