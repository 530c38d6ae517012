//! `pisess tree`: draws the tree.

use super::clock::Clock;
use super::failure::{Exit, Failure};
use super::input::Input;
use super::output::{Glyphs, Row, Styles, columns};
use super::visible::push_visible;
use super::write::print_json;
use crate::cli::Talk;
use crate::core::entry::{EntryIx, Flags, Kind, Role};
use crate::core::json::write::Object;
use crate::core::load::Options;
use crate::core::ops::tree::{Drawing, Filter, draw};
use crate::core::reference::Position;
use crate::core::row::RowOptions;
use crate::core::session::Session;
use crate::core::text::Text;
use crate::core::tree::Place;
use crate::guide::{Example, Guide};
use crate::world::World;
use clap::ValueEnum;
use owo_colors::Style;
use std::path::PathBuf;

/// How it is used, behind the options of the help and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "tree",
    examples: &[
        Example::new("The conversation, the branch with the leaf first", "pisess tree session.jsonl"),
        Example::new(
            "What the person said, and when",
            "pisess tree --filter user-only --times session.jsonl",
        ),
        Example::new(
            "Where something was talked about, in entries of every type",
            "pisess tree --filter all --search midnight session.jsonl",
        ),
        Example::new(
            "As it would be drawn with the conversation at an earlier place",
            "pisess tree --at '@~3' session.jsonl",
        ),
        Example::new("Rows for a script", "pisess tree --json session.jsonl"),
    ],
    found: Some("a search found nothing"),
    writes: false,
    refers: true,
};

/// Draw the conversation as a tree.
///
/// A row is an entry: its id, a dot where it lies on the path to the leaf, its label in brackets,
/// and what it says. Rows are indented only where the conversation branches. The branch with the
/// leaf comes first, the others by age.
///
/// Which entries are shown and how they read follows the agent whose file it is.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// Which entries to show: their kind
    #[arg(long, value_name = "MODE", default_value = "default")]
    pub filter: Mode,
    /// Which entries to show: those that hold all these words
    #[arg(long, value_name = "WORDS", default_value = "")]
    pub search: String,
    /// Draw as if this entry were the leaf
    #[arg(long, value_name = "REF", default_value = "@")]
    pub at: String,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
    /// Leave the ids out
    #[arg(long)]
    pub no_ids: bool,
    /// Show when each entry was written, in local time
    #[arg(long)]
    pub times: bool,
    /// Print a JSON object a row
    #[arg(long)]
    pub json: bool,
}

/// The agents' filter modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mode {
    /// Without settings and bookkeeping
    Default,
    /// Without tool results, too
    NoTools,
    /// Only what the person said
    UserOnly,
    /// Only what has a label
    LabeledOnly,
    /// Every entry
    All,
}

impl From<Mode> for Filter {
    fn from(mode: Mode) -> Filter {
        match mode {
            Mode::Default => Filter::Default,
            Mode::NoTools => Filter::NoTools,
            Mode::UserOnly => Filter::UserOnly,
            Mode::LabeledOnly => Filter::LabeledOnly,
            Mode::All => Filter::All,
        }
    }
}

/// Levels of indent that a row shows at most.
const MOST_LEVELS: usize = 24;

/// Runs the command.
pub fn run(args: &Args, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    let input = Input::open(&args.session, world)?;
    let options = row_options(world, !args.search.trim().is_empty(), args.json || args.times);
    let session = input.load_noted(&options, talk, world)?;
    let leaf = input.resolve(&session, &args.at)?;
    let drawing = draw(&session, leaf, args.filter.into(), &args.search);
    if args.json {
        for place in &drawing.places {
            print_json(world, &json_row(&session, &drawing, place))?;
        }
    } else {
        Painter::new(args, talk, world, &session, &drawing).paint(world)?;
    }
    let found_none = drawing.places.is_empty() && !args.search.trim().is_empty();
    Ok(if found_none { Exit::Found } else { Exit::Done })
}

/// How sessions are loaded whose rows are shown.
pub fn row_options(world: &World, searchable: bool, timestamps: bool) -> Options {
    let home = world.home().map(Text::from);
    let rows = Some(RowOptions { home, searchable });
    Options { workers: world.processors, rows, timestamps, ..Options::default() }
}

fn json_row(session: &Session, drawing: &Drawing, place: &Place) -> Vec<u8> {
    let ix = place.entry;
    let entry = session.entry(ix);
    Object::new()
        .text_or_null("id", (!entry.id.is_empty()).then(|| session.id(ix)).as_ref())
        .text_or_null("parentId", session.parent_id(ix).as_ref())
        .text("type", &session.kind_name(ix))
        .text_or_null("role", session.role_name(ix).as_ref())
        .number("line", f64::from(entry.line.0))
        .text_or_null("timestamp", session.timestamp(ix).as_ref())
        .number("depth", f64::from(place.depth))
        .text_or_null("label", drawing.label(ix).as_ref())
        .bool("active", drawing.is_active(ix))
        .bool("leaf", drawing.is_leaf(ix))
        .text("text", &drawing.text(ix))
        .finish()
}

/// The style of an entry's row.
pub fn row_style(session: &Session, ix: EntryIx, styles: &Styles) -> Style {
    let entry = session.entry(ix);
    match (entry.kind, entry.role) {
        (_, Role::User) => styles.user,
        (_, Role::Assistant) => styles.assistant,
        (Kind::Compaction | Kind::BranchSummary, _) => styles.summary,
        (Kind::CustomMessage, _) => Style::new(),
        _ => styles.dim,
    }
}

/// Draws rows, one after the other.
struct Painter<'a> {
    session: &'a Session,
    drawing: &'a Drawing<'a>,
    styles: Styles,
    glyphs: Glyphs,
    /// Columns of the terminal; rows are whole without one.
    width: Option<usize>,
    most_levels: usize,
    id_width: usize,
    show_ids: bool,
    marked: Position,
    times: Option<Clock>,
}

impl<'a> Painter<'a> {
    fn new(args: &Args, talk: &Talk, world: &World, session: &'a Session, drawing: &'a Drawing<'a>) -> Self {
        let width = world.terminals.width.filter(|_| world.terminals.stdout);
        // Half of a narrow terminal stays for the text, as in oh-my-pi.
        let levels = |width: usize| (width.saturating_sub((width / 2).max(24) + 4) / 3).max(1);
        let ids = drawing.places.iter().map(|place| session.entry(place.entry).id.len as usize);
        Painter {
            session,
            drawing,
            styles: Styles::of(talk, world),
            glyphs: if args.ascii { Glyphs::ASCII } else { Glyphs::UNICODE },
            width,
            most_levels: width.map_or(MOST_LEVELS, levels).min(MOST_LEVELS),
            id_width: ids.max().unwrap_or(0).min(12),
            show_ids: !args.no_ids,
            marked: drawing.marked(),
            times: args.times.then(|| Clock::new(world)),
        }
    }

    fn paint(&self, world: &mut World) -> Result<(), Failure> {
        // Whether a bar passes at each level above the row being drawn.
        let mut bars: Vec<bool> = Vec::new();
        let mut row = Row { text: String::new(), left: self.width, ellipsis: self.glyphs.ellipsis };
        let mut scratch = String::new();
        for place in &self.drawing.places {
            let depth = place.depth as usize;
            bars.resize(if place.connector { depth - 1 } else { depth }, false);
            row.text.clear();
            row.left = self.width;
            self.row(place, &bars, &mut row, &mut scratch);
            row.text.push('\n');
            world.stdout.write_all(row.text.as_bytes()).map_err(Failure::output)?;
            if place.connector {
                bars.push(!place.last);
            }
        }
        Ok(())
    }

    /// Draws one row; `scratch` is used again for each of its parts.
    fn row(&self, place: &Place, bars: &[bool], row: &mut Row, scratch: &mut String) {
        let ix = place.entry;
        let dim = self.styles.dim;
        if self.show_ids {
            scratch.clear();
            push_visible(scratch, &self.session.id(ix).to_string_lossy());
            let pad = self.id_width.saturating_sub(columns(scratch)) + 2;
            scratch.extend(std::iter::repeat_n(' ', pad));
            row.put(scratch, dim);
        }
        if let Some(clock) = &self.times {
            scratch.clear();
            clock.push(scratch, self.session.entry(ix).time_ms);
            scratch.push_str("  ");
            row.put(scratch, dim);
        }
        scratch.clear();
        self.prefix(place, bars, scratch);
        row.put(scratch, dim);
        if self.drawing.is_active(ix) {
            row.put(self.glyphs.bullet, self.styles.active);
        }
        if let Some(label) = self.drawing.label(ix) {
            scratch.clear();
            scratch.push('[');
            push_visible(scratch, &label.to_string_lossy());
            scratch.push_str("] ");
            row.put(scratch, self.styles.label);
        }
        let mark = if self.marked == Some(ix) { format!("  {}", self.glyphs.leaf) } else { String::new() };
        let cycle =
            if self.session.entry(ix).flags.has(Flags::IN_CYCLE) { "  (cycle of parents)" } else { "" };
        let marks = columns(&mark) + columns(cycle);
        scratch.clear();
        push_visible(scratch, &self.drawing.text(ix).to_string_lossy());
        // The leaf's mark stays in sight when the text does not fit.
        let marked = row.left.is_none_or(|left| left > marks);
        row.left = row.left.map(|left| if marked { left - marks } else { left });
        row.put(scratch, row_style(self.session, ix, &self.styles));
        if marked {
            row.left = None;
            row.put(&mark, self.styles.active);
            row.put(cycle, self.styles.error);
        }
        row.text.truncate(row.text.trim_end_matches(' ').len());
    }

    /// Bars and connector. Levels beyond the most that are shown become one mark.
    fn prefix(&self, place: &Place, bars: &[bool], out: &mut String) {
        let depth = place.depth as usize;
        let connector = match (place.connector, place.last) {
            (true, true) => self.glyphs.corner,
            (true, false) => self.glyphs.tee,
            (false, _) => "",
        };
        let above = depth - usize::from(place.connector);
        let shown = above.min(self.most_levels - usize::from(place.connector));
        for &bar in bars.iter().take(shown) {
            *out += if bar { self.glyphs.bar } else { "   " };
        }
        if shown < above {
            *out += self.glyphs.ellipsis;
            out.push(' ');
        }
        *out += connector;
    }
}
