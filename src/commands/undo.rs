//! `pisess undo`: undoes the last operations.

use crate::cli::guide::{Example, Guide};
use crate::cli::ids::Ids;
use crate::cli::navigation::is_change_reported;
use crate::cli::open::{OpenSession, failure_with_hint};
use crate::cli::options::WriteArgs;
use crate::cli::output::{Column, Exit, Failure, Table, Ui, to_visible};
use crate::cli::rows::entry::report_destination;
use crate::format::{format_age, format_count};
use crate::load::LoadOptions;
use crate::ops::plan::Change;
use crate::ops::prune::pruned_file;
use crate::ops::switch::read_move;
use crate::ops::undo::{find_undoable, last_operation, leaf_before_operation, undo};
use crate::ops::{IdSource, Refusal};
use crate::session::Session;
use crate::session::entry::{Entry, EntryIx, Kind, Role};
use crate::session::reference::Position;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_json::write::{Object, text_array};
use pisess_store::{SessionFile, modified_ms, with_suffix};
use std::io;
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new("Print what would be undone", "pisess undo -n session.jsonl"),
    Example::new(
        "List what can be undone, the last operation first",
        "pisess undo --list session.jsonl",
    ),
    Example::new(
        "Set a label, and undo that",
        "pisess label session.jsonl @ wrong && pisess undo session.jsonl",
    ),
    Example::new(
        "Switch and name the session, and undo both",
        "pisess switch session.jsonl root && pisess append session.jsonl --name Ferry && pisess undo session.jsonl 2",
    ),
    Example::new(
        "Undo a switch (after that, `pisess switch SESSION -` would switch again)",
        "pisess switch session.jsonl root && pisess undo session.jsonl",
    ),
])
.with_found("there is nothing to undo, or the last entry is a reply or a tool result");

/// Undo the last operation, without removing any entry.
///
/// `undo` reverses what the last entry of the file did, whichever program wrote the entry. For a
/// label, a name or a context edit, it restores the old state. For a compaction, a branch summary,
/// a switch, or entries that `pick` or `append` wrote, it moves back to the leaf before the
/// operation. Entries written together count as one operation.
///
/// Each further `undo` takes back one more operation, whichever program made it. `undo SESSION 3`
/// undoes three operations in one write. If fewer than three can be undone, nothing is undone.
/// --list lists what can be undone, and in which order. Nothing is removed: if the leaf moved,
/// `pisess switch SESSION -` moves it back. Prints the ids of the new entries; reports on stderr
/// what was undone.
///
/// `undo` never takes back a reply. To ask again, use `pisess pop`.
///
/// `undo` cannot reverse `prune`, `migrate`, `check --repair` or `relocate`. Instead, `prune
/// --restore` restores pruned parts, and `relocate` moves a session back. `migrate --backup` and
/// `check --repair --backup` keep the old file. If the last operation was `prune` or `check
/// --repair`, undo refuses. With --force, it undoes what was appended before that operation.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Number of operations to undo
    #[arg(value_name = "N", default_value = "1", hide_default_value = true, value_parser = parse_operation_count, conflicts_with = "list")]
    pub count: usize,
    /// Print a list, and change nothing (lists what can be undone, the last operation first)
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Parses a number of operations, which is at least 1.
fn parse_operation_count(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(count) if count > 0 => Ok(count),
        _ => Err(
            "expected a number of operations after SESSION, as in `pisess undo SESSION 3`"
                .to_owned(),
        ),
    }
}

/// Whether an argument in place of the session looks like a number of operations, as in `pisess
/// undo 3`.
fn is_count(session: &Path) -> bool {
    session
        .to_str()
        .is_some_and(|text| text.len() <= 3 && text.parse::<usize>().is_ok())
}

/// Opens a session whose argument looks like a number of operations. It may be a file or the name
/// of a session, but no word of a title: `undo 100` is more likely a mistake.
fn open_named_like_count(session: &Path, ui: &mut Ui) -> Result<OpenSession, Failure> {
    match OpenSession::open(session, LoadOptions::default(), ui) {
        Err(failure) if failure.is_missing_file => {
            let count = session.display();
            let hint = format!("the number comes last: `pisess undo SESSION {count}`");
            Err(failure.with_hint(hint))
        }
        result => result,
    }
}

/// Lists operations, or undoes the last ones by appending entries. The leaf goes back to its
/// position before them, unless they only annotated the session.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = if is_count(&args.session) {
        open_named_like_count(&args.session, ui)?
    } else {
        OpenSession::open_to_change(&args.session, LoadOptions::default(), ui)?
    };
    if !args.list {
        return undo_last_operations(args, open, ui);
    }
    if args.write.output.is_some() {
        let failure = Failure::usage_error("--list writes no file");
        return Err(failure.with_hint("omit -o"));
    }
    list_operations(&open, args, ui)
}

/// Undoes the last operations of a session, and reports each, and where the conversation continues.
fn undo_last_operations(args: &Args, mut open: OpenSession, ui: &mut Ui) -> Result<Exit, Failure> {
    // The function below is called again if the session grows before the commit. These are the
    // results of the last call, whose change is committed.
    let mut descriptions = Vec::new();
    let mut new_leaf = None;
    let exit = open.apply_change(&args.write, ui, |locked_open, id_source| {
        if !args.write.change.force
            && let Some(failure) = find_later_rewrite(locked_open)
        {
            return Err(failure);
        }
        let undone = undo_operations(locked_open, args.count, id_source)?;
        descriptions = undone.descriptions;
        new_leaf = undone.new_leaf;
        Ok(undone.change.into())
    })?;

    let verb = if args.write.change.dry_run {
        "would undo"
    } else {
        "undid"
    };
    for description in &descriptions {
        ui.print_status(&format!("{verb} {description}"));
    }
    if let Some(new_leaf) = new_leaf
        && is_change_reported(&args.write, &open)
    {
        report_destination(&mut open, new_leaf, &args.write.change, ui);
    }
    Ok(exit)
}

/// The change that undoes several operations, and their descriptions.
#[derive(Default)]
struct UndoneOperations {
    change: Change,
    /// The description of each operation, in the order in which they are undone.
    descriptions: Vec<String>,
    /// The leaf to which the conversation goes back; `None` if the operations only annotated the
    /// session.
    new_leaf: Option<Position>,
}

impl UndoneOperations {
    fn add(&mut self, operation: UndoneOperation) {
        self.descriptions.push(operation.description);
        self.new_leaf = operation.leaf_before.or(self.new_leaf);
        let change = operation.change;
        self.change.entries.extend(change.entries);
        if change.title_line.is_some() {
            self.change.title_line = change.title_line;
        }
    }
}

/// The change that undoes one operation.
struct UndoneOperation {
    change: Change,
    description: String,
    /// The leaf before the operation; `None` if the operation did not move it.
    leaf_before: Option<Position>,
}

/// Returns one change that undoes the last `count` operations; `count` is at least 1. The change
/// appends the same entries as `count` runs of `pisess undo`. Each operation is undone in the
/// session as it would be after the previous one is undone.
fn undo_operations(
    open: &OpenSession,
    count: usize,
    id_source: &mut IdSource,
) -> Result<UndoneOperations, Failure> {
    let mut undone = UndoneOperations::default();
    // If this one cannot be undone, nothing can: then its failure is the failure of the command.
    let first = undo_operation(open, id_source)?;
    if count == 1 {
        undone.add(first);
        return Ok(undone);
    }

    // The session with the entries that undo the operations so far. It takes time to make, and is
    // not needed for a single operation.
    let mut session_so_far = open.after_change(&first.change)?;
    undone.add(first);
    for undone_count in 1..count {
        let operation = undo_operation(&session_so_far, id_source)
            .map_err(|failure| too_few_failure(open, undone_count, failure))?;
        session_so_far.add_change(&operation.change)?;
        undone.add(operation);
    }
    Ok(undone)
}

/// Returns the failure if only `undone_count` operations can be undone. Replaces a negative answer
/// only: any other failure is returned unchanged.
fn too_few_failure(open: &OpenSession, undone_count: usize, failure: Failure) -> Failure {
    if failure.exit() != Exit::Found {
        return failure;
    }
    let operations = format_count(undone_count, "operation", "operations");
    let what = format!("only {operations} can be undone");
    let hint = format!(
        "`pisess undo --list {}` lists them",
        open.input.as_argument()
    );
    open.input.negative_answer(what).with_hint(hint)
}

/// Returns the change that undoes the last operation of a session.
fn undo_operation(
    open: &OpenSession,
    id_source: &mut IdSource,
) -> Result<UndoneOperation, Failure> {
    let input = &open.input;
    let reader = open.entry_reader();
    let entries = last_operation(&reader).map_err(|refusal| match refusal {
        Refusal::Unreadable(error) => input.read_failure(error),
        refusal => failure_with_hint(&refusal, |what| input.negative_answer(what)),
    })?;

    // `None` if the operation only annotated the session. Then the leaf does not move.
    let leaf_before = input.map_read_error(leaf_before_operation(&reader, &entries))?;
    // The id itself is not needed: this fails if the entries that undo the operation cannot name
    // their parent, because it has no id.
    let new_parent = leaf_before.unwrap_or(open.session.leaf.into());
    open.new_parent_id(new_parent)?;

    let description = input.map_read_error(describe_operation(open, &entries, leaf_before))?;
    let change = input.map_read_error(undo(&reader, &entries, leaf_before, id_source))?;
    Ok(UndoneOperation {
        change,
        description,
        leaf_before,
    })
}

/// Prints the operations that can be undone, the last one first. Warns if `undo` would be refused.
/// Fails if there are none.
fn list_operations(open: &OpenSession, args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let undoable = find_undoable(&open.entry_reader());
    let undoable = open.input.map_read_error(undoable)?;
    let mut rows = Vec::new();
    for entries in &undoable.operations {
        rows.push(UndoableRow::read(open, entries)?);
    }
    if args.write.change.json {
        for (index, row) in rows.iter().enumerate() {
            ui.print_json(&row.to_json(open, index + 1))?;
        }
    } else if !rows.is_empty() {
        print_operations(open, &rows, ui)?;
    }

    let later_rewrite = find_later_rewrite(open);
    if !rows.is_empty() {
        if let Some(failure) = later_rewrite {
            ui.warn(&failure.to_note());
        }
        return Ok(Exit::Done);
    }
    match later_rewrite {
        Some(failure) => Err(failure),
        None => Err(failure_with_hint(&undoable.stop, |what| {
            open.input.negative_answer(what)
        })),
    }
}

/// Prints a table of operations: the number to give to undo them, their age, id and description.
fn print_operations(open: &OpenSession, rows: &[UndoableRow], ui: &mut Ui) -> Result<(), Failure> {
    let now_ms = Ids::new(ui)?.now_ms(ui);
    let mut table = Table::new([
        Column::number("#"),
        Column::number("age"),
        Column::text("id"),
        Column::text("operation").allow_shrink(),
    ]);
    for (index, row) in rows.iter().enumerate() {
        let age = match row.written_ms {
            Some(written_ms) => format_age(now_ms, written_ms),
            None => "-".to_owned(),
        };
        let last_id = open.session.id(row.entries[row.entries.len() - 1]);
        table.add_text_row([
            (index + 1).to_string(),
            age,
            to_visible(&last_id.to_string_lossy()),
            to_visible(&row.description),
        ]);
    }
    table.print(ui)
}

/// An operation that can be undone.
struct UndoableRow<'a> {
    /// The entries of the operation, at least one.
    entries: &'a [EntryIx],
    /// The time of the last entry, in milliseconds since 1970; `None` if it is unknown.
    written_ms: Option<i64>,
    description: String,
}

impl UndoableRow<'_> {
    fn read<'a>(open: &OpenSession, entries: &'a [EntryIx]) -> Result<UndoableRow<'a>, Failure> {
        let input = &open.input;
        let leaf_before = leaf_before_operation(&open.entry_reader(), entries);
        let leaf_before = input.map_read_error(leaf_before)?;
        let description = describe_operation(open, entries, leaf_before);
        let last = entries[entries.len() - 1];
        let written_ms = match open.session.entry(last).time_ms {
            Entry::NO_TIME => None,
            time_ms => Some(time_ms),
        };
        Ok(UndoableRow {
            entries,
            written_ms,
            description: input.map_read_error(description)?,
        })
    }

    /// Returns the row as JSON. `number` is the number to give to undo this operation and the later
    /// ones.
    fn to_json(&self, open: &OpenSession, number: usize) -> Vec<u8> {
        let mut ids = Vec::new();
        for &ix in self.entries {
            ids.push(open.session.id(ix));
        }
        Object::new()
            .number("number", number as f64)
            .str_or_null("timestamp", self.written_ms.map(iso_string).as_deref())
            .json("ids", &text_array(ids.iter()))
            .str("operation", &self.description)
            .finish()
    }
}

/// Returns the failure of `undo` after `prune` or `check --repair` rewrote the session: then the
/// newest entry does not belong to the last operation. `None` if an entry was appended later, and
/// for input without a file.
///
/// Both commands leave a file beside the session. Its modification time shows when they ran. If
/// both files are newer than the last entry, the failure is about `prune`, whichever ran last.
fn find_later_rewrite(open: &OpenSession) -> Option<Failure> {
    let path = open.input.file().map(SessionFile::path)?;
    let newest_entry_ms = newest_entry_ms(&open.session);
    // An equal time counts, too: `prune` may have appended a mark in the same millisecond.
    let is_newer = |file: &Path| modified_ms(file).is_some_and(|time| time >= newest_entry_ms);

    if is_newer(&pruned_file(path)) {
        let way_back = format!("`pisess prune --restore {}`", open.input.as_argument());
        return Some(rewritten_failure(open, "prune", &way_back));
    }
    if is_newer(&with_suffix(path, ".rejected")) {
        let name = &open.input.name;
        let way_back = format!(
            "move the backup back, if there is one; what was removed is in {name}.rejected"
        );
        return Some(rewritten_failure(open, "check --repair", &way_back));
    }
    None
}

/// Returns the time of the newest entry. If no entry has a time, that is [`Entry::NO_TIME`], which
/// is before all times.
fn newest_entry_ms(session: &Session) -> i64 {
    let mut newest_ms = Entry::NO_TIME;
    for entry in &session.entries {
        newest_ms = newest_ms.max(entry.time_ms);
    }
    newest_ms
}

/// Returns the failure for a session that the last operation rewrote. `way_back` is what to do
/// instead.
fn rewritten_failure(open: &OpenSession, operation: &str, way_back: &str) -> Failure {
    let what = format!("the last operation was `{operation}`, which rewrote the file");
    let hint = format!("{way_back}; --force undoes what was appended before");
    open.input.negative_answer(what).with_hint(hint)
}

/// The maximum number of undone entries that are described one by one. If there are more, only the
/// first and the last are named.
const MAX_DESCRIBED: usize = 3;

/// Describes the entries of an undone operation, and the position to which the leaf goes back.
/// `leaf_before` is `None` if the leaf does not move.
fn describe_operation(
    open: &OpenSession,
    entries: &[EntryIx],
    leaf_before: Option<Position>,
) -> io::Result<String> {
    let session = &open.session;
    let mut description = match *entries {
        [first, .., last] if entries.len() > MAX_DESCRIBED => {
            let count = entries.len();
            let first_id = session.id(first);
            let last_id = session.id(last);
            format!("{count} entries, {first_id} to {last_id}")
        }
        _ => {
            let mut descriptions = Vec::new();
            for &ix in entries {
                descriptions.push(describe_entry(open, ix)?);
            }
            descriptions.join(", ")
        }
    };
    match leaf_before {
        Some(Position::Entry(leaf)) => description += &format!("; back to {}", session.id(leaf)),
        Some(Position::Root) => description += "; back to root",
        None => {}
    }
    Ok(description)
}

/// Describes an undone entry. An annotation or a move of the leaf is described by its effect, any
/// other entry by its role, its kind and its id.
fn describe_entry(open: &OpenSession, ix: EntryIx) -> io::Result<String> {
    let session = &open.session;
    let reader = open.entry_reader();
    let line = reader.read_line(ix)?;
    let entry = Raw::from_checked(line.trim_ascii());
    let text = |key: &str| entry.get_text(key).unwrap_or_default();
    let description = match session.entry(ix).kind {
        Kind::Label => {
            let label = describe_name("label", &text("label"));
            format!("{label} on {}", text("targetId"))
        }
        // pi stores a name as `name`, oh-my-pi as `title`.
        Kind::SessionInfo | Kind::TitleChange => {
            let name = entry.get_text("name").or_else(|| entry.get_text("title"));
            describe_name("name", &name.unwrap_or_default())
        }
        Kind::ContextEdit => format!("the edit of {}", text("targetId")),
        Kind::Custom if read_move(&reader, ix)?.is_some() => {
            let to = entry.get("data").and_then(|data| data.get_text("to"));
            format!("the switch to {}", to.unwrap_or_else(|| Text::from("root")))
        }
        _ => describe_content(session, ix),
    };
    Ok(description)
}

/// Describes an entry of the conversation: `the user message 3f9a`, `the bash command 77c1`.
fn describe_content(session: &Session, ix: EntryIx) -> String {
    let id = session.id(ix);
    match session.entry(ix).role {
        Role::ToolResult => return format!("the tool result {id}"),
        Role::BashExecution => return format!("the bash command {id}"),
        Role::PythonExecution => return format!("the Python command {id}"),
        _ => {}
    }
    let kind = session.kind_name(ix).to_string().replace('_', " ");
    match session.role_name(ix) {
        Some(role) => format!("the {role} {kind} {id}"),
        None => format!("the {kind} {id}"),
    }
}

/// Describes a change of a label or a name. An empty `name` means that it was cleared.
fn describe_name(what: &str, name: &Text) -> String {
    if name.is_empty() {
        format!("the clearing of the {what}")
    } else {
        format!("the {what} {:?}", name.to_string())
    }
}
