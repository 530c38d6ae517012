//! `pisess path`: lists the entries from the root to an entry.

use crate::cli::guide::{Example, Guide};
use crate::cli::open::{NO_ENTRIES, OpenSession};
use crate::cli::options::LastArgs;
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::rows::entry::{print_entry_lines, print_rows, row_options};
use crate::load::LoadOptions;
use crate::ops::tree::view_without_layout;
use pisess_store::KeptContent;
use std::path::PathBuf;

pub const GUIDE: Guide = Guide::new(&[
    Example::new("List the path to the leaf", "pisess path session.jsonl"),
    Example::new(
        "Print the ids on the path to the last user message",
        "pisess path --ids session.jsonl '@^{user}'",
    ),
    Example::new(
        "List the last ten entries of the conversation",
        "pisess path --last 10 session.jsonl",
    ),
    Example::new(
        "List what follows an entry, up to another",
        "pisess path session.jsonl '@~5..@~2'",
    ),
    Example::new(
        "Print the path to the last user message as JSON",
        "pisess path --json session.jsonl '@^{user}'",
    ),
]);

/// List the entries from the root to an entry.
///
/// Lists every entry on the path or in the range, including settings and bookkeeping (labels,
/// names, the marks that `switch` appends, …). A row has the entry's line number, id, time, label
/// and text.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entry at which the path ends, or a range of entries (default: the leaf)
    #[arg(value_name = "REF", conflicts_with = "entry_count")]
    pub to: Option<String>,
    #[command(flatten)]
    pub last: LastArgs,
    /// Print only the ids
    #[arg(long, conflicts_with = "json")]
    pub ids: bool,
    /// Print the result as JSON (the entries, in the current version of the format, 3)
    #[arg(long)]
    pub json: bool,
}

/// Prints the entries from the root to an entry: as lines of JSON, as ids, or as rows.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = OpenSession::open_to_read(&args.session, load_options(args, ui), ui)?;
    let range = open.resolve_range(args.to.as_deref(), args.last.entry_count)?;
    let path = range.entries(&open.session);
    if args.json {
        print_entry_lines(&open, &path, ui)?;
    } else if args.ids {
        for &ix in &path {
            let id = to_visible(&open.session.id(ix).to_string_lossy());
            ui.print(&(id + "\n"))?;
        }
    } else {
        // Rows have the same text as in the tree, which shows a tool result as its call.
        let drawing = view_without_layout(&open.session, range.end.entry());
        let edits = open.find_edits(range.end.entry())?;
        print_rows(&drawing, &edits, &path, ui)?;
    }

    if open.session.entries.is_empty() {
        ui.warn(NO_ENTRIES);
    } else if path.is_empty() {
        ui.warn("no entry is above the root (hint: omit REF for the leaf)");
    }
    Ok(Exit::Done)
}

/// Returns what is loaded of the session: the text of rows and the lines only if they are needed.
fn load_options(args: &Args, ui: &Ui) -> LoadOptions {
    let prints_rows = !args.json && !args.ids;
    let mut options = if prints_rows {
        row_options(ui)
    } else {
        LoadOptions::default()
    };
    // For the text of `:/TEXT` or `:1/TEXT`, all lines are searched.
    let searches_text = args.to.as_deref().is_some_and(|to| to.contains('/'));
    if !args.json && !searches_text {
        options.kept = KeptContent::Nothing;
    }
    options
}
