//! `pisess pick`: copies entries to another place.

use super::failure::{Exit, Failure, note};
use super::input::{Input, ids};
use super::mint::Mint;
use super::moving::new_parent;
use super::write::{Job, Made, change};
use crate::cli::{Talk, Write};
use crate::core::bodies::FileBodies;
use crate::core::entry::EntryIx;
use crate::core::load::Options;
use crate::core::ops::Stamp;
use crate::core::ops::pick::{Refused, pick};
use crate::core::session::Session;
use crate::guide::{Example, Guide};
use crate::world::World;
use std::path::PathBuf;

/// How it is used, behind the options of the help and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "pick",
    examples: &[
        Example::new("A finding of another branch", "pisess pick session.jsonl a6d84170"),
        Example::new(
            "A question and what came of it, onto an earlier place",
            "pisess pick session.jsonl b5d60e41 7a13f8c2 42b8f65a --onto 'cause found'",
        ),
    ],
    found: None,
    writes: true,
    refers: true,
};

/// Copy entries to the leaf, or onto another entry.
///
/// The copies are new entries with ids and times of their own, chained in the order in which the
/// originals stand in the tree. The originals stay. The ids of the copies are printed; the last entry
/// is the leaf.
///
/// A tool call and its results come together: what was not named is taken along, with a note. Labels
/// stay on the originals, because a name is that of one entry. What names other entries (a compaction,
/// an edit, a summary) names their copies; where it would have no meaning it is refused. A copy is of
/// the entry as it is stored: what `edit` made the model see of it does not come along by itself.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// The entries
    #[arg(value_name = "REF", required = true)]
    pub entries: Vec<String>,
    /// The entry under which the copies go
    #[arg(long, value_name = "REF", default_value = "@")]
    pub onto: String,
    /// How to write.
    #[command(flatten)]
    pub write: Write,
}

/// Runs the command.
pub fn run(args: &Args, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    let input = Input::open(&args.session, world)?;
    let options = Options { workers: world.processors, ..Options::default() };
    let session = input.load_noted(&options, talk, world)?;
    let mut mint = Mint::new(world)?;
    let job = Job { input: &input, options: &options, write: &args.write, talk, backup: None };
    let mut along = String::new();
    let mut decide = |input: &Input, session: &Session, stamp: &mut Stamp| {
        let onto = input.resolve(session, &args.onto)?;
        new_parent(input, session, onto)?;
        let chosen = input.entries(session, &args.entries)?;
        let bodies = FileBodies::new(session, input.source());
        let picked =
            pick(session, &bodies, &chosen, onto, stamp).map_err(|refused| told(refused, input, session))?;
        along = ids(session, &picked.along);
        let names = picked.change.ids();
        Ok(Some((picked.change, Made { names, ..Made::default() })))
    };
    let exit = change(&job, &session, &mut mint, world, &mut decide)?;
    if !along.is_empty() {
        note(&format!("{along} came along: a tool call and its results belong together"), talk, world);
    }
    Ok(exit)
}

fn told(refused: Refused, input: &Input, session: &Session) -> Failure {
    let id = |ix: EntryIx| session.id(ix).to_string();
    let cannot = |what: String| Failure::cannot(format_args!("{}: {what}", input.name));
    match refused {
        Refused::LeafRecord(ix) => cannot(format!("{} is a record of the leaf, and no entry", id(ix))),
        Refused::NoCall(ix) => cannot(format!("{}: the tool call that it answers is not above it", id(ix))),
        Refused::TwoResults(one, other) => {
            cannot(format!("{} and {} answer the same tool call", id(one), id(other)))
                .hint("pick one of them")
        }
        Refused::LabelAlone(ix) => cannot(format!("{} is the label of an entry that is not picked", id(ix)))
            .hint("labels are not copied; name the copy with `pisess label`"),
        Refused::KeptMissing(ix, kept) => {
            cannot(format!("the compaction {} keeps from {} on, which is not picked", id(ix), id(kept)))
                .hint("pick what it keeps, too; or bring the branch back as a summary with pisess merge")
        }
        Refused::EditAlone(ix) => cannot(format!("{} edits an entry that is not above the place", id(ix)))
            .hint("pick the entry that it edits, too"),
        Refused::Unreadable(error) => input.unreadable(error),
    }
}
