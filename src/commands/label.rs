//! `pisess label`: sets, clears and lists labels.

use super::input::OpenSession;
use super::label_list::{LabelQuery, list};
use super::label_name::{label_name, refused};
use crate::core::entry::EntryIx;
use crate::core::load::Options;
use crate::core::ops::label::{label, labelled_at_leaf, move_label};
use crate::guide::{Example, Guide};
use crate::options::WriteArgs;
use crate::ui::{Exit, Failure, Ui};
use std::path::PathBuf;

/// The examples and exit codes shown after the options in the help, and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "label",
    examples: &[
        Example::new("Label the leaf", "pisess label session.jsonl @ done"),
        Example::new("Label the last user message", "pisess label session.jsonl '@^{user}' asked"),
        Example::new("Move a label to another entry", "pisess label --move session.jsonl '@^{user}' green"),
        Example::new("List the labels in effect", "pisess label session.jsonl"),
        Example::new("Clear a label", "pisess label --clear session.jsonl label:done"),
    ],
    found: None,
    writes: true,
    refers: true,
};

/// Set, clear or list labels.
///
/// With NAME, labels REF; other commands then accept the label as a reference. Without NAME, lists
/// the labels in effect: all of them, or that of REF. If REF has the label already, nothing changes.
///
/// Here `@` means the nearest entry at or above the leaf that is not a label, a setting or a mark (see `pisess switch
/// --help`), so that labelling twice labels the same entry. A label that is already on another entry is
/// refused unless --move is given. A label in the form of a reference (such as `@`, `root`,
/// `:12`, or `done^`) is refused.
///
/// As in both agents, a label is stored as a new entry under the leaf and becomes the leaf. An entry has at
/// most one label: the last one set for it in the file, on whichever branch.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entry to label
    #[arg(value_name = "REF")]
    pub target: Option<String>,
    /// Label to set
    #[arg(requires = "target", conflicts_with = "clear")]
    pub name: Option<String>,
    /// Clear the label of REF
    #[arg(long, requires = "target")]
    pub clear: bool,
    /// Move the label from the entry that has it
    #[arg(long = "move", requires = "name")]
    pub moves: bool,
    /// Output and locking options.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.name.is_none() && !args.clear {
        let target = args.target.as_deref();
        return list(&LabelQuery { session: &args.session, target, json: args.write.json }, ui);
    }
    let name = args.name.as_deref().map(label_name).transpose()?;
    let open = OpenSession::open(&args.session, Options::default(), ui)?;
    open.change(&args.write, ui, |now, fresh| {
        let target = target(now, args.target.as_deref().unwrap_or("@"))?;
        now.refer(target, "have a label")?;
        let change = match &name {
            Some(name) if args.moves => move_label(&now.session, target, name, fresh),
            name => label(&now.session, target, name.as_ref(), fresh),
        };
        Ok(change.map_err(|error| refused(now, &error))?.into())
    })
}

/// Returns the entry to label: for the leaf, the nearest suitable one at or above it.
fn target(now: &OpenSession, reference: &str) -> Result<EntryIx, Failure> {
    match labelled_at_leaf(&now.session).filter(|_| reference == "@") {
        Some(ix) => Ok(ix),
        None => now.entry(reference),
    }
}
