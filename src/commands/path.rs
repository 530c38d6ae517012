//! `pisess path`: the entries from the root to an entry.

use super::entry_rows::{print_rows, print_stored, row_options};
use super::input::OpenSession;
use crate::core::load::Options;
use crate::core::ops::tree::rows;
use crate::core::row::Form;
use crate::guide::{Example, Guide};
use crate::ui::{Exit, Failure, Ui, visible};
use std::path::PathBuf;

/// How it is used, behind the options of the help and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "path",
    examples: &[
        Example::new("What leads to the leaf", "pisess path session.jsonl"),
        Example::new(
            "The ids of what leads to the last question",
            "pisess path --ids session.jsonl '@^{user}'",
        ),
        Example::new("The same entries as they are stored", "pisess path --json session.jsonl '@^{user}'"),
    ],
    found: None,
    writes: false,
    refers: true,
};

/// List the entries from the root to an entry.
///
/// Every entry of the path is listed, settings and bookkeeping too: its line in the file, its id,
/// its time, its label, and what it says.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// The entry the path leads to
    #[arg(value_name = "REF", default_value = "@")]
    pub to: String,
    /// Print the ids only
    #[arg(long, conflicts_with = "json")]
    pub ids: bool,
    /// Print the entries themselves, as version 3 stores them
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let options = match args.json || args.ids {
        true => Options::default(),
        false => row_options(ui, Form::Readable),
    };
    let open = OpenSession::open(&args.session, options, ui)?;
    let end = open.resolve(&args.to)?;
    let path = open.session.path(end);
    if args.json {
        print_stored(&open, &path, ui)?;
    } else if args.ids {
        let ids = path.iter().map(|&ix| visible(&open.session.id(ix).to_string_lossy()) + "\n");
        ids.into_iter().try_for_each(|id| ui.print(&id))?;
    } else {
        // Rows read as in the tree, where a tool result is shown as its call.
        print_rows(&rows(&open.session, end), &open.edits(end)?, &path, ui)?;
    }
    Ok(Exit::Done)
}
