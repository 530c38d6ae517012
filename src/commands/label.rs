//! `pisess label`: names an entry, takes its name off, lists the names.

use super::clock::Clock;
use super::failure::{Exit, Failure};
use super::input::Input;
use super::mint::Mint;
use super::tree::row_options;
use super::visible::visible;
use super::write::{Job, Made, change, print_json};
use crate::cli::{Talk, Write};
use crate::core::json::write::Object;
use crate::core::labels::Labels;
use crate::core::load::Options;
use crate::core::ops::Stamp;
use crate::core::ops::label::label;
use crate::core::ops::tree::rows;
use crate::core::session::{LabelChange, Session};
use crate::core::text::Text;
use crate::guide::{Example, Guide};
use crate::world::World;
use comfy_table::{ContentArrangement, Table, TableStyle};
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
    pub write: Write,
}

/// Runs the command.
pub fn run(args: &Args, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    let input = Input::open(&args.session, world)?;
    if args.name.is_none() && !args.clear {
        return list(args, &input, talk, world);
    }
    let name = args.name.as_deref().map(checked).transpose()?;
    let options = Options { workers: world.processors, ..Options::default() };
    let session = input.load_noted(&options, talk, world)?;
    let reference = args.target.as_deref().unwrap_or("@");
    let mut mint = Mint::new(world)?;
    let job = Job { input: &input, options: &options, write: &args.write, talk, backup: None };
    let mut decide = |input: &Input, session: &Session, stamp: &mut Stamp| {
        let target = input.entry(session, reference)?;
        let planned = label(session, target, name.as_ref(), stamp);
        Ok(planned.map(|change| {
            let names = change.ids();
            (change, Made { names, ..Made::default() })
        }))
    };
    change(&job, &session, &mut mint, world, &mut decide)
}

/// The dialogs of both agents trim a name; one of several lines could not be listed.
pub fn checked(name: &str) -> Result<Text<'_>, Failure> {
    let trimmed = name.trim();
    if trimmed.is_empty() {
        return Err(Failure::cannot("the name is empty").hint("take a label off with --clear"));
    }
    if trimmed.chars().any(char::is_control) {
        return Err(Failure::cannot("the name holds a control character").hint("give it on one line"));
    }
    Ok(Text::from(trimmed))
}

fn list(args: &Args, input: &Input, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    let session = input.load_noted(&row_options(world, false, false), talk, world)?;
    let only = match &args.target {
        Some(reference) => Some(input.resolve(&session, reference)?),
        None => None,
    };
    let labels = Labels::new(&session);
    let drawing = rows(&session, session.leaf);
    let of = |change: &LabelChange| session.find(&session.text(change.target));
    let listed: Vec<_> = labels
        .changes()
        .filter(|change| only.is_none_or(|only| only.is_some() && only == of(change)))
        .collect();
    // A label may name an entry that is not in the file.
    let text = |change: &LabelChange| of(change).map_or_else(Text::default, |target| drawing.text(target));
    if args.write.json {
        for change in &listed {
            let row = Object::new()
                .text("targetId", &session.text(change.target))
                .text("label", &session.text(change.name))
                .text("timestamp", &session.text(change.timestamp))
                .text("text", &text(change))
                .finish();
            print_json(world, &row)?;
        }
        return Ok(Exit::Done);
    }
    if listed.is_empty() {
        return Ok(Exit::Done);
    }
    let clock = Clock::new(world);
    let mut table = Table::new();
    table.load_style(TableStyle::new()).set_content_arrangement(ContentArrangement::Disabled);
    if let Some(width) = world.terminals.width.filter(|_| world.terminals.stdout) {
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    let cut = world.terminals.width.filter(|_| world.terminals.stdout);
    for change in &listed {
        let time = crate::core::time::parse_js_date(session.text(change.timestamp).as_bytes());
        let text = visible(&text(change).to_string_lossy());
        let room = cut.map_or(usize::MAX, |width| width.saturating_sub(48).max(16));
        table.add_row([
            visible(&session.text(change.name).to_string_lossy()),
            visible(&session.text(change.target).to_string_lossy()),
            clock.text(time.unwrap_or(i64::MIN)),
            super::output::fitted(&text, room, "…"),
        ]);
    }
    for line in table.lines() {
        let line = super::output::fitted(line.trim(), cut.unwrap_or(usize::MAX), "…");
        writeln!(world.stdout, "{line}").map_err(Failure::output)?;
    }
    Ok(Exit::Done)
}
