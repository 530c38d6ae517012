//! `pisess count`: counts the entries of each type.

use crate::cli::guide::{Example, Guide};
use crate::cli::open::OpenSession;
use crate::cli::output::{Column, Exit, Failure, Table, Ui, visible};
use crate::load::Options;
use crate::ops::count::count;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::path::PathBuf;

pub const GUIDE: Guide = Guide::new(&[
    Example::new("Count the entries of each type", "pisess count session.jsonl"),
    Example::new("Print the counts as JSON", "pisess count --json session.jsonl"),
]);

/// Count the entries of each type.
///
/// One row is printed per type, the most frequent first: the number of entries on all branches, and the type.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Print the result as JSON (an object per row)
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = OpenSession::open(&args.session, Options::default(), ui)?;
    let counts = count(&open.session);
    if args.json {
        counts.iter().try_for_each(|(kind, entries)| ui.print_json(&json(kind, *entries)))?;
    } else {
        let mut table = Table::new([Column::number(""), Column::text("").cut()]);
        for (kind, entries) in &counts {
            table.texts([entries.to_string(), shown(kind)]);
        }
        table.print(ui)?;
    }
    Ok(Exit::Done)
}

fn json(kind: &Text, entries: u32) -> Vec<u8> {
    Object::new()
        .text_or_null("type", Some(kind).filter(|kind| !kind.is_empty()))
        .number("entries", f64::from(entries))
        .finish()
}

fn shown(kind: &Text) -> String {
    if kind.is_empty() { "(no type)".to_owned() } else { visible(&kind.to_string_lossy()) }
}
