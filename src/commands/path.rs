//! `pisess path`: the entries from the root to an entry.

use super::failure::{Exit, Failure};
use super::input::Input;
use super::output::{Glyphs, Styles, fitted};
use super::tree::{local_time, push_styled, row_options, row_style};
use super::visible::{visible, visible_lines};
use crate::cli::Talk;
use crate::core::bodies::{Bodies, FileBodies};
use crate::core::load::Options;
use crate::core::ops::tree::{Filter, draw};
use crate::world::World;
use std::path::PathBuf;

/// List the entries from the root to an entry.
///
/// Every entry of the path is listed, settings and bookkeeping too: line, id, time, text.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// Where the path ends
    #[arg(value_name = "REF", default_value = "@")]
    pub to: String,
    /// Print only the ids
    #[arg(long, conflicts_with = "json")]
    pub ids: bool,
    /// Print the entries themselves, as `migrate` would store them
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
        let bodies = FileBodies::new(&session, input.source());
        for ix in path {
            let line = bodies.line(ix).map_err(|error| input.unreadable(error))?;
            let mut shown = Vec::with_capacity(line.len() + 1);
            let line = line.trim_ascii();
            match world.terminals.stdout {
                true => shown.extend_from_slice(visible_lines(&String::from_utf8_lossy(line)).as_bytes()),
                false => crate::core::json::write::push_valid(&mut shown, line),
            }
            shown.push(b'\n');
            world.stdout.write_all(&shown).map_err(Failure::output)?;
        }
        return Ok(Exit::Done);
    }
    if args.ids {
        for ix in path {
            writeln!(world.stdout, "{}", visible(&session.id(ix).to_string_lossy()))
                .map_err(Failure::output)?;
        }
        return Ok(Exit::Done);
    }
    // Rows read as in the tree, where a tool result is told by its call.
    let drawing = draw(&session, end, Filter::All, "");
    let styles = Styles::of(talk, world);
    let zone = world.time_zone();
    let width = world.terminals.width.filter(|_| world.terminals.stdout);
    let line_width =
        path.last().map_or(1, |_| session.entries.last().map_or(1, |last| last.line.0.to_string().len()));
    let id_width = path.iter().map(|&ix| session.entry(ix).id.len as usize).max().unwrap_or(0).min(12);
    for ix in path {
        let entry = session.entry(ix);
        let id = visible(&session.id(ix).to_string_lossy());
        let columns =
            format!("{:>line_width$}  {id:<id_width$}  {}  ", entry.line.0, local_time(entry.time_ms, &zone));
        let label = drawing
            .label(ix)
            .map(|label| format!("[{}] ", visible(&label.to_string_lossy())))
            .unwrap_or_default();
        let text = visible(&drawing.text(ix).to_string_lossy());
        let (columns, label, text) = match width {
            None => (columns, label, text),
            Some(width) => {
                use unicode_width::UnicodeWidthStr;
                let mark = Glyphs::UNICODE.ellipsis;
                let columns = fitted(&columns, width, mark);
                let label = fitted(&label, width.saturating_sub(columns.width()), mark);
                let text = fitted(&text, width.saturating_sub(columns.width() + label.width()), mark);
                (columns, label, text)
            }
        };
        let mut row = String::new();
        push_styled(&mut row, &columns, styles.dim);
        push_styled(&mut row, &label, styles.label);
        push_styled(&mut row, &text, row_style(&session, ix, &styles));
        writeln!(world.stdout, "{}", row.trim_end()).map_err(Failure::output)?;
    }
    Ok(Exit::Done)
}
