//! `pisess pick`: appends copies of entries under the leaf or another entry.

use crate::cli::guide::{Example, Guide};
use crate::cli::open::OpenSession;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui};
use crate::load::LoadOptions;
use crate::ops::pick::{Destination, complete_selection, copy_onto};
use crate::ops::plan::Change;
use crate::ops::{IdSource, list_ids};
use crate::session::entry::EntryIx;
use foldhash::HashSet;
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Copy a finding from another branch",
        "pisess pick session.jsonl a6d84170",
    ),
    Example::new(
        "Copy a user message and its replies under an earlier entry",
        "pisess pick session.jsonl b5d60e41 7a13f8c2 42b8f65a --at 'cause found'",
    ),
    Example::new(
        "Copy a range of entries so that it follows an earlier entry",
        "pisess pick session.jsonl a6d84170..5c07d14b --at 27d4c96f",
    ),
    Example::new(
        "Copy a question and all up to its answer from another session",
        "pisess pick session.jsonl --from-session copy.jsonl 'b5d60e41^..42b8f65a'",
    ),
]);

/// Append copies of entries to the current branch, or under another entry.
///
/// The entries are in the session itself or, with --from-session, in another one. Of a range, the
/// entries of the conversation are copied, without settings and bookkeeping (labels, names, the
/// marks that `switch` appends, …).
///
/// The copies are new entries with new ids, parents and times. Everything else stays, even the
/// times inside the messages. The copies form a chain, in the order of the originals in the tree.
/// The originals are kept. The ids of the copies are printed; the last copy becomes the leaf.
///
/// A tool call and its results are always copied together, even if you list only one of them; a
/// note names the others. Labels stay on the originals, because a label names one entry. A
/// reference from one copied entry to another becomes a reference between their copies. An entry is
/// refused if its copy would refer to an entry that is not on the new path. Entries are copied as
/// stored: to copy an edit of an entry, pick the edit, too.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entries or ranges to copy
    #[arg(value_name = "REF", required = true)]
    pub entries: Vec<String>,
    /// Copy the entries from this session
    #[arg(long, value_name = "SESSION")]
    pub from_session: Option<PathBuf>,
    /// Entry to append under (default: the leaf)
    #[arg(
        long,
        value_name = "REF",
        default_value = "@",
        hide_default_value = true
    )]
    pub at: String,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Appends copies of entries. A tool call and its results are always copied together. A warning
/// names the entries that were copied without being chosen.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let stdin = Path::new("-");
    if args.session == stdin && args.from_session.as_deref() == Some(stdin) {
        return Err(Failure::usage_error(
            "standard input cannot be both sessions",
        ));
    }

    let open = OpenSession::open_to_change(&args.session, LoadOptions::default(), ui)?;
    // The other session is only read, so it may also be one of another agent, or be named by its
    // title.
    let other = match &args.from_session {
        Some(path) => Some(OpenSession::open_to_read(path, LoadOptions::default(), ui)?),
        None => None,
    };
    // The ids of entries that were copied without being chosen. The function below is called again
    // if the session grows before the commit; these are of its last call.
    let mut also_copied = String::new();
    let exit = open.apply_change(&args.write, ui, |locked_open, id_source| {
        let copies = copy_chosen(args, other.as_ref(), locked_open, id_source)?;
        also_copied = copies.also_copied;
        Ok(copies.change.into())
    })?;
    if !also_copied.is_empty() {
        ui.warn(&format!(
            "also copied {also_copied}: a tool call and its results are always copied together"
        ));
    }
    Ok(exit)
}

/// A change that appends copies of entries.
struct Copies {
    change: Change,
    /// The ids of the copied entries that the user did not choose, as a list for people.
    also_copied: String,
}

/// Returns the change that appends copies of the chosen entries to the session `locked_open`. The
/// entries are in the session `other`; without it, in the same session.
fn copy_chosen(
    args: &Args,
    other: Option<&OpenSession>,
    locked_open: &OpenSession,
    id_source: &mut IdSource,
) -> Result<Copies, Failure> {
    let parent = locked_open.resolve_parent(&args.at)?;
    // Fails if new entries cannot name the parent.
    locked_open.new_parent_id(parent)?;
    let source = other.unwrap_or(locked_open);
    let destination = match other {
        Some(_) => Destination::OtherSession(&locked_open.session, parent),
        None => Destination::SameSession(parent),
    };
    let Selection { entries, unchosen } = Selection::find(source, &args.entries)?;
    let change = copy_onto(&source.entry_reader(), &entries, destination, id_source)
        .map_err(|refusal| source.refusal_failure(refusal))?;
    Ok(Copies {
        change,
        also_copied: list_ids(&source.session, &unchosen),
    })
}

/// The entries to copy.
struct Selection {
    /// All of them: a call is copied with its results, even if only one of these was chosen.
    entries: Vec<EntryIx>,
    /// Those of them that the user did not choose.
    unchosen: Vec<EntryIx>,
}

impl Selection {
    /// Returns the entries that arguments choose in a session, and the calls and results that
    /// belong to them.
    fn find(source: &OpenSession, arguments: &[String]) -> Result<Selection, Failure> {
        let chosen = source.find_chosen_entries(arguments)?;
        let entries = complete_selection(&source.entry_reader(), &chosen)
            .map_err(|refusal| source.refusal_failure(refusal))?;
        let chosen: HashSet<EntryIx> = chosen.into_iter().collect();
        let mut unchosen = Vec::new();
        for &ix in &entries {
            if !chosen.contains(&ix) {
                unchosen.push(ix);
            }
        }
        Ok(Selection { entries, unchosen })
    }
}
