//! `pisess path`: the entries from the root to an entry.

use super::clock::Clock;
use super::failure::{Exit, Failure};
use super::input::Input;
use super::output::{Glyphs, Rows, Styles, columns, draw_stretches, pens};
use super::tree::{ID_COLUMNS, row_options, row_style};
use super::visible::{push_visible, visible, visible_lines};
use crate::cli::Talk;
use crate::core::bodies::{Bodies, FileBodies};
use crate::core::entry::EntryIx;
use crate::core::json::write::write_valid;
use crate::core::load::Options;
use crate::core::ops::tree::{Drawing, rows};
use crate::core::session::Session;
use crate::guide::{Example, Guide};
use crate::world::World;
use std::fmt::Write as _;
use std::ops::Range;
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
pub fn run(args: &Args, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    let input = Input::open(&args.session, world)?;
    let options = match args.json || args.ids {
        true => Options { workers: world.processors, ..Options::default() },
        false => row_options(world, false, false),
    };
    let session = input.load_noted(&options, talk, world)?;
    let end = input.resolve(&session, &args.to)?;
    let path = session.path(end);
    if args.json {
        print_stored(&input, &session, &path, world)?;
    } else if args.ids {
        for ix in path {
            writeln!(world.stdout, "{}", visible(&session.id(ix).to_string_lossy()))
                .map_err(Failure::output)?;
        }
    } else {
        // Rows read as in the tree, where a tool result is told by its call.
        print_rows(&rows(&session, end), &session, &path, talk, world)?;
    }
    Ok(Exit::Done)
}

/// Prints entries as version 3 stores them, one a line.
pub fn print_stored(
    input: &Input,
    session: &Session,
    entries: &[EntryIx],
    world: &mut World,
) -> Result<(), Failure> {
    let bodies = FileBodies::new(session, input.source());
    let is_utf8 = session.is_utf8();
    for &ix in entries {
        let mut written = Ok(());
        let mut write = |line: &[u8]| {
            let line = line.trim_ascii();
            written = match world.terminals.stdout {
                true => world.stdout.write_all(visible_lines(&String::from_utf8_lossy(line)).as_bytes()),
                false => write_valid(world.stdout, line, is_utf8),
            }
            .and_then(|()| world.stdout.write_all(b"\n"));
        };
        bodies.with_line(ix, &mut write).map_err(|error| input.unreadable(error))?;
        written.map_err(Failure::output)?;
    }
    Ok(())
}

/// Prints a row for each entry: its line, its id, its time, its label, and what it says.
pub fn print_rows(
    drawing: &Drawing,
    session: &Session,
    entries: &[EntryIx],
    talk: &Talk,
    world: &mut World,
) -> Result<(), Failure> {
    let styles = Styles::of(talk, world);
    let width = world.terminals.width.filter(|_| world.terminals.stdout);
    let line_width =
        entries.last().map_or(1, |_| session.entries.last().map_or(1, |last| last.line.0.to_string().len()));
    let id_width =
        entries.iter().map(|&ix| session.entry(ix).id.len as usize).max().unwrap_or(0).min(ID_COLUMNS);
    let draw = |rows: &mut Rows, stretch: Range<usize>| {
        for &ix in &entries[stretch] {
            let entry = session.entry(ix);
            rows.begin();
            // Writing to a string cannot fail.
            let _ = write!(rows.part, "{:>line_width$}  ", entry.line.0);
            push_visible(&mut rows.part, &session.id(ix).to_string_lossy());
            let pad = (line_width + 2 + id_width).saturating_sub(columns(&rows.part)) + 2;
            rows.part.extend(std::iter::repeat_n(' ', pad));
            if let Some(clock) = &rows.clock {
                clock.push(&mut rows.part, entry.time_ms);
            }
            rows.part.push_str("  ");
            rows.put_part(styles.dim);
            if let Some(label) = drawing.label(ix) {
                rows.part.push('[');
                push_visible(&mut rows.part, &label.to_string_lossy());
                rows.part.push_str("] ");
                rows.put_part(styles.label);
            }
            push_visible(&mut rows.part, &drawing.text(ix).to_string_lossy());
            rows.put_part(row_style(session, ix, &styles));
            rows.end();
        }
    };
    let pen = Rows::new(width, Glyphs::UNICODE.ellipsis, Some(Clock::new(world)));
    let mut pens = pens(pen, entries.len(), world);
    draw_stretches(&mut pens, entries.len(), &draw, world.stdout).map_err(Failure::output)
}
