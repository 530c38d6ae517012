//! `pisess undo`: takes back the last operation.

use crate::cli::guide::{Example, Guide};
use crate::cli::open::{OpenSession, failure_with_hint};
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui};
use crate::load::LoadOptions;
use crate::ops::Refusal;
use crate::ops::prune::pruned_file;
use crate::ops::switch::read_move;
use crate::ops::undo::{last_operation, leaf_before_operation, undo};
use crate::session::entry::{Entry, EntryIx, Kind};
use crate::session::reference::Position;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::{SessionFile, modified_ms, with_suffix};
use std::io;
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new("Print what would be undone", "pisess undo -n session.jsonl"),
    Example::new(
        "Label the leaf, and undo that",
        "pisess label session.jsonl @ wrong && pisess undo session.jsonl",
    ),
    Example::new(
        "Undo a switch; `switch -` would go there again",
        "pisess switch session.jsonl root && pisess undo session.jsonl",
    ),
])
.with_found("there is nothing to undo, or the last entry is a reply or a tool result");

/// Undo the last operation, by appending.
///
/// `undo` looks at the last entry, whoever wrote it. It restores the old label, name or edit. It
/// moves back from a compaction, a branch summary, a switch, and picked or appended entries.
/// Entries written together count as one operation.
///
/// Run `undo` again to go further back, past changes of other programs too. Nothing is removed: if
/// the leaf moved, `pisess switch SESSION -` moves it back. Prints the ids of the new entries;
/// reports on stderr what was undone.
///
/// `undo` never takes back a reply. To ask again, use `pisess pop`.
///
/// `undo` cannot reverse commands that rewrite the file; these have their own way back.
/// `prune --restore` restores pruned parts. `migrate --backup` and `check --repair --backup` keep
/// the old file. `relocate` can move the session back. If the last operation was `prune` or
/// `check --repair`, undo refuses unless --force is given.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Undoes the last operation by entries that are appended. The leaf goes back to where it was
/// before, unless the operation only annotated the session.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = OpenSession::open(&args.session, LoadOptions::default(), ui)?;
    let mut undone_operation = String::new();
    let exit = open.apply_change(&args.write, ui, |locked_open, id_source| {
        if !args.write.change.force {
            refuse_rewritten(locked_open)?;
        }
        let input = &locked_open.input;
        let reader = locked_open.entry_reader();
        let entries = last_operation(&reader).map_err(|refusal| match refusal {
            Refusal::Unreadable(error) => input.read_failure(error),
            refusal => failure_with_hint(&refusal, |what| input.negative_answer(what)),
        })?;

        // `None` if the operation only annotated the session: then the leaf stays.
        let leaf_before = input.map_read_error(leaf_before_operation(&reader, &entries))?;
        // Fails if the entries that undo the operation cannot name their parent.
        let new_leaf = leaf_before.unwrap_or(locked_open.session.leaf.into());
        locked_open.new_parent_id(new_leaf)?;
        let description = describe_operation(locked_open, &entries, leaf_before);
        undone_operation = input.map_read_error(description)?;
        let change = input.map_read_error(undo(&reader, &entries, leaf_before, id_source))?;
        Ok(change.into())
    })?;
    let verb = if args.write.change.dry_run {
        "would undo"
    } else {
        "undid"
    };
    ui.print_status(&format!("{verb} {undone_operation}"));
    Ok(exit)
}

/// Fails if the session was rewritten after its last entry was appended: then that entry is not the
/// last operation. `prune` and `check --repair` leave a file beside the session, whose time tells
/// when they ran.
fn refuse_rewritten(open: &OpenSession) -> Result<(), Failure> {
    let Some(path) = open.input.file().map(SessionFile::path) else {
        return Ok(());
    };
    let last_entry_ms = open
        .session
        .entries
        .iter()
        .map(|entry| entry.time_ms)
        .max()
        .unwrap_or(Entry::NO_TIME);
    // An equal time counts: a mark that `prune` added may be of the same millisecond.
    let is_newer = |path: &Path| modified_ms(path).is_some_and(|time| time >= last_entry_ms);
    let name = &open.input.name;
    let (operation, hint) = if is_newer(&pruned_file(path)) {
        ("prune", format!("`pisess prune --restore {name}`"))
    } else if is_newer(&with_suffix(path, ".rejected")) {
        let hint = format!(
            "move the backup back, if there is one; what was removed is in {name}.rejected"
        );
        ("check --repair", hint)
    } else {
        return Ok(());
    };
    let what = format!("the last operation was `{operation}`, which rewrote the file");
    Err(open
        .input
        .negative_answer(what)
        .with_hint(format!("{hint}; --force undoes what was appended before")))
}

/// The maximum number of undone entries that are each described. Of more, only the first and the
/// last are named.
const MAX_DESCRIBED: usize = 3;

/// Describes the entries of an operation that is undone, and the position to which the leaf goes
/// back. `leaf_before` is `None` if the leaf stays.
fn describe_operation(
    open: &OpenSession,
    entries: &[EntryIx],
    leaf_before: Option<Position>,
) -> io::Result<String> {
    let session = &open.session;
    let mut description = match *entries {
        [first, .., last] if entries.len() > MAX_DESCRIBED => {
            format!(
                "{} entries, {} to {}",
                entries.len(),
                session.id(first),
                session.id(last)
            )
        }
        _ => entries
            .iter()
            .map(|&ix| describe_entry(open, ix))
            .collect::<io::Result<Vec<_>>>()?
            .join(", "),
    };
    match leaf_before {
        Some(Position::Entry(leaf)) => description += &format!("; back to {}", session.id(leaf)),
        Some(Position::Root) => description += "; back to root",
        None => {}
    }
    Ok(description)
}

/// Describes an entry that is taken back: by what it changed if it is an annotation or a move of
/// the leaf, otherwise by its role, its kind and its id.
fn describe_entry(open: &OpenSession, ix: EntryIx) -> io::Result<String> {
    let session = &open.session;
    let reader = open.entry_reader();
    let line = reader.read_line(ix)?;
    let entry = Raw::from_checked(line.trim_ascii());
    let text = |key: &str| entry.get_text(key).unwrap_or_default();
    Ok(match session.entry(ix).kind {
        Kind::Label => {
            let label = describe_name("label", &text("label"));
            format!("{label} on {}", text("targetId"))
        }
        Kind::SessionInfo | Kind::TitleChange => {
            let name = entry.get_text("name").or_else(|| entry.get_text("title"));
            describe_name("name", &name.unwrap_or_default())
        }
        Kind::ContextEdit => format!("the edit of {}", text("targetId")),
        Kind::Custom if read_move(&reader, ix)?.is_some() => {
            let to = entry.get("data").and_then(|data| data.get_text("to"));
            format!("the switch to {}", to.unwrap_or_else(|| Text::from("root")))
        }
        _ => {
            let kind = session.kind_name(ix).to_string().replace('_', " ");
            let id = session.id(ix);
            match session.role_name(ix) {
                Some(role) => format!("the {role} {kind} {id}"),
                None => format!("the {kind} {id}"),
            }
        }
    })
}

/// Describes a change of a label or name, which an empty one clears.
fn describe_name(what: &str, name: &Text) -> String {
    if name.is_empty() {
        format!("the clearing of the {what}")
    } else {
        format!("the {what} {:?}", name.to_string())
    }
}
