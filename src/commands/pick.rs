//! `pisess pick`: appends copies of entries under the leaf or another entry.

use crate::cli::guide::{Example, Guide};
use crate::cli::open::OpenSession;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui};
use crate::load::Options;
use crate::ops::ids;
use crate::ops::pick::{copy_onto, needed};
use foldhash::HashSet;
use std::path::PathBuf;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Copy a finding from another branch",
        "pisess pick session.jsonl a6d84170",
    ),
    Example::new(
        "Copy a user message and its replies under an earlier entry",
        "pisess pick session.jsonl b5d60e41 7a13f8c2 42b8f65a --at 'cause found'",
    ),
])
.of_conversation();

/// Append copies of entries under the leaf, or under another entry.
///
/// The copies are new entries with their own ids and times; they form a chain, in the order of the
/// originals in the tree. The originals are kept. The ids of the copies are printed; the last new
/// entry becomes the leaf.
///
/// A tool call and its results are always copied together: those you did not name are included,
/// with a note. Labels stay on the originals, because a label names one entry. In a compaction, an
/// edit or a summary, a reference to a copied entry becomes a reference to the copy; an entry that
/// would refer to nothing on the new path is refused. Entries are copied as stored: an edit of an
/// entry is copied only if the edit itself is picked as well.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entries to copy
    #[arg(value_name = "REF", required = true)]
    pub entries: Vec<String>,
    /// Entry to append under
    #[arg(long, value_name = "REF", default_value = "@")]
    pub at: String,
    #[command(flatten)]
    pub write: WriteArgs,
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = OpenSession::open(&args.session, Options::default(), ui)?;
    let mut along = String::new();
    let exit = open.change(&args.write, ui, |now, fresh| {
        let at = now.resolve(&args.at)?;
        now.new_parent(at)?;
        let chosen = now.entries(&args.entries)?;
        let picked = needed(&now.reader(), &chosen).map_err(|refusal| now.refused(refusal))?;
        let chosen: HashSet<_> = chosen.into_iter().collect();
        let unchosen: Vec<_> = picked
            .iter()
            .copied()
            .filter(|ix| !chosen.contains(ix))
            .collect();
        along = ids(&now.session, &unchosen);
        let change =
            copy_onto(&now.reader(), &picked, at, fresh).map_err(|refusal| now.refused(refusal))?;
        Ok(change.into())
    })?;
    if !along.is_empty() {
        ui.warn(&format!(
            "also copied {along}: a tool call and its results are always copied together"
        ));
    }
    Ok(exit)
}
