//! `pisess label`: sets, clears and lists labels.

use super::input::OpenSession;
use super::label_list::{Listing, list};
use super::label_name::label_name;
use crate::core::load::Options;
use crate::core::ops::label::label;
use crate::guide::{Example, Guide};
use crate::options::WriteArgs;
use crate::ui::{Exit, Failure, Ui};
use std::path::PathBuf;

/// How it is used, behind the options of the help and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "label",
    examples: &[
        Example::new("Name the leaf", "pisess label session.jsonl @ done"),
        Example::new("Name the last question", "pisess label session.jsonl '@^{user}' asked"),
        Example::new("List the names", "pisess label session.jsonl"),
        Example::new("Take a name off", "pisess label --clear session.jsonl label:done"),
    ],
    found: None,
    writes: true,
    refers: true,
};

/// Name an entry, take its name off, or list the names.
///
/// With NAME, names the entry; it can be called by that name from then on. Without NAME the labels
/// in effect are listed: all, or that of REF. The same name again changes nothing.
///
/// A label is an entry of its own under the leaf, as in both agents, so it becomes the leaf. An
/// entry has one label, the last in the file, whichever branch that stands on.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// The entry
    #[arg(value_name = "REF")]
    pub target: Option<String>,
    /// The name to give it
    #[arg(requires = "target", conflicts_with = "clear")]
    pub name: Option<String>,
    /// Take its name off
    #[arg(long, requires = "target")]
    pub clear: bool,
    /// How to write.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.name.is_none() && !args.clear {
        let target = args.target.as_deref();
        return list(&Listing { session: &args.session, target, json: args.write.json }, ui);
    }
    let name = args.name.as_deref().map(label_name).transpose()?;
    let open = OpenSession::open(&args.session, Options::default(), ui)?;
    open.change(&args.write, ui, |now, fresh| {
        let target = now.entry(args.target.as_deref().unwrap_or("@"))?;
        Ok(label(&now.session, target, name.as_ref(), fresh).into())
    })
}
