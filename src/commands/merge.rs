//! `pisess merge`: brings another branch back as a summary at the leaf.

use super::input::OpenSession;
use super::label_name::label_is_free;
use super::navigation::{Move, Moved};
use super::summary::SummaryArgs;
use super::transaction::Decision;
use crate::core::load::Options;
use crate::core::ops::navigate::{Navigation, navigate};
use crate::core::ops::summary::{brought_back, merged};
use crate::core::reference::Position;
use crate::core::session::Session;
use crate::core::text::Text;
use crate::guide::{Example, Guide};
use crate::options::WriteArgs;
use crate::ui::{Exit, Failure, Ui};
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
    pub write: WriteArgs,
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = OpenSession::open(&args.session, Options::default(), ui)?;
    let from = open.resolve(&args.from)?;
    let step = Move {
        open: &open,
        navigation: back_from(&open.session, from),
        summary: args.summary.clone(),
        label: args.label.clone(),
        wants_summary: true,
    };
    let is_asked = args.summary.prepare || args.summary.is_given();
    if !is_asked && !step.leaves_something() {
        let failure = open.input.no(format_args!("{} has nothing to bring back", args.from));
        return Err(failure.hint("name an entry of another branch, or give a summary with --summary"));
    }
    if let Some(exit) = step.shown(ui)? {
        return Ok(exit);
    }
    if !args.summary.is_given()
        && let Some(summary) = already(&step).map_err(|error| open.input.unreadable(error))?
    {
        let exit = step.stay(summary, &args.write, ui)?;
        let (name, from, summary) = (&open.input.name, &args.from, open.session.id(summary));
        ui.warn(&format!("{name}: {from} was brought back already, in {summary}"));
        return Ok(exit);
    }
    bring_back(from, step, &args.write, ui)
}

/// Appends the summary under the leaf. What was appended meanwhile goes before it, if the conversation went
/// on from the same leaf.
fn bring_back(from: Position, mut step: Move, write: &WriteArgs, ui: &mut Ui) -> Result<Exit, Failure> {
    let leaf = step.landing()?;
    let hook = step.hook(ui);
    let summary = step.ready(hook.as_ref(), ui)?;
    let name = step.name()?;
    let from = from.map(|ix| step.open.session.id(ix).into_owned());
    step.open.change(write, ui, |now, fresh| {
        let session = &now.session;
        let found = |id: &Option<Text>| id.as_ref().and_then(|id| session.find(id));
        if !goes_on(session, found(&leaf)) {
            return Err(now.went_elsewhere());
        }
        label_is_free(now, None, name.as_ref())?;
        let change = merged(session, found(&from), &summary, name.as_ref(), fresh);
        let old_leaf = session.leaf.map(|leaf| session.id(leaf).into_owned());
        let moved = Moved { old_leaf, summary: Some(&summary) };
        let notification = hook.clone().map(|hook| moved.notification(hook, now, &change));
        Ok(Decision { change, reported: 1, editor_text: None, notification })
    })
}

/// The summary that has brought the branch back before.
fn already(step: &Move) -> io::Result<Position> {
    let session = &step.open.session;
    let Some(from) = step.navigation.old_leaf.map(|ix| session.id(ix)) else { return Ok(None) };
    brought_back(session, &step.open.bodies(), &from, step.navigation.common_ancestor)
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
