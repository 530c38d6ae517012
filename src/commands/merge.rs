//! `pisess merge`: brings another branch back as a summary at the leaf.

use super::failure::{Exit, Failure, note};
use super::input::Input;
use super::mint::Mint;
use super::moving::{Move, first_id, told};
use super::summary::SummaryArgs;
use super::write::{Job, Made, change};
use crate::cli::{Talk, Write};
use crate::core::bodies::FileBodies;
use crate::core::load::Options;
use crate::core::ops::Stamp;
use crate::core::ops::navigate::{Navigation, navigate};
use crate::core::ops::summary::{brought_back, merged};
use crate::core::reference::Position;
use crate::core::session::Session;
use crate::core::text::Text;
use crate::guide::{Example, Guide};
use crate::world::World;
use std::io;
use std::path::PathBuf;

/// How it is used, behind the options of the help and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "merge",
    examples: &[
        Example::new("What another branch came to", "pisess merge session.jsonl 5c07d14b"),
        Example::new(
            "The same in words of one's own, with a name",
            "pisess merge session.jsonl 5c07d14b --summary 'Adding a day breaks two tests.' --label tried",
        ),
        Example::new("What would be summarised, as JSON", "pisess merge --prepare session.jsonl 5c07d14b"),
    ],
    found: Some("nothing is to be brought back from there, and no summary is given, or a hook said cancel"),
    writes: true,
    refers: true,
};

/// Bring another branch back as a summary at the leaf.
///
/// The conversation stays where it is. What is appended under the leaf is a summary of the entries
/// from where the way to REF branches off down to REF, so that the model knows what was found there.
/// The branch itself stays, and may be merged again when it has grown; where REF was brought back
/// already, nothing is written, unless a summary is given.
///
/// Without a summary option the summary is extracted from the conversation itself, without a model.
/// The id of the new entry is printed.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// The last entry to bring back, most often the end of a branch
    #[arg(value_name = "REF")]
    pub from: String,
    /// Label the summary
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
    /// Where the summary comes from.
    #[command(flatten)]
    pub summary: SummaryArgs,
    /// How to write.
    #[command(flatten)]
    pub write: Write,
}

/// Runs the command.
pub fn run(args: &Args, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    let input = Input::open(&args.session, world)?;
    let options = Options { workers: world.processors, ..Options::default() };
    let session = input.load_noted(&options, talk, world)?;
    let from = input.resolve(&session, &args.from)?;
    let mut step = Move {
        input: &input,
        session: &session,
        bodies: &FileBodies::new(&session, input.source()),
        navigation: back_from(&session, from),
        summary: args.summary.clone(),
        label: args.label.clone(),
        wants_summary: true,
    };
    let is_asked = args.summary.prepare || args.summary.is_given();
    if !is_asked && !step.leaves_something() {
        return Err(Failure::no(format_args!("{}: {} has nothing to bring back", input.name, args.from))
            .hint("name an entry of another branch, or give a summary with --summary"));
    }
    if let Some(exit) = step.shown(world)? {
        return Ok(exit);
    }
    let job = Job { input: &input, options: &options, write: &args.write, talk, backup: None };
    if !args.summary.is_given()
        && let Some(summary) = already(&step).map_err(|error| input.unreadable(error))?
    {
        let exit = step.stay(summary, &job, world)?;
        let (from, summary) = (&args.from, session.id(summary));
        note(&format!("{}: {from} was brought back already, in {summary}", input.name), talk, world);
        return Ok(exit);
    }
    let mut mint = Mint::new(world)?;
    let leaf = step.landing()?;
    let hook = step.hook(world);
    let summary = step.ready(hook.as_ref(), world)?;
    let name = step.name()?;
    let from = from.map(|ix| session.id(ix).into_owned());
    let mut decide = |input: &Input, session: &Session, stamp: &mut Stamp| {
        let found = |id: &Option<Text>| id.as_ref().and_then(|id| session.find(id));
        // What was appended meanwhile goes before the summary, if it goes on from where it was to go.
        if !goes_on(session, found(&leaf)) {
            return Err(input.went_elsewhere());
        }
        let change = merged(session, found(&from), &summary, name.as_ref(), stamp);
        let names = first_id(&change);
        let old = session.leaf.map(|leaf| session.id(leaf));
        let of = (input, session);
        let after = hook.clone().map(|hook| told(hook, of, old.as_ref(), Some(&summary), &change));
        Ok(Some((change, Made { names, draft: None, after })))
    };
    change(&job, &session, &mut mint, world, &mut decide)
}

/// The summary that has brought the branch back before.
fn already(step: &Move) -> io::Result<Position> {
    let Some(from) = step.navigation.old_leaf.map(|ix| step.session.id(ix)) else { return Ok(None) };
    brought_back(step.session, step.bodies, &from, step.navigation.common_ancestor)
}

/// From the entry to the leaf, whatever that is: a summary goes behind a question, too.
fn back_from(session: &Session, from: Position) -> Navigation {
    let navigation = navigate(session, from, session.leaf);
    Navigation { new_leaf: session.leaf, edits_target: false, ..navigation }
}

/// Whether the leaf is at or below a place.
fn goes_on(session: &Session, place: Position) -> bool {
    place.is_none_or(|place| session.path(session.leaf).contains(&place))
}
