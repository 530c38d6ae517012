//! `pisess tree`: draws the tree.

use super::entry_rows::{ID_COLUMNS, row_options, row_style};
use super::input::OpenSession;
use crate::core::entry::{EntryIx, Flags};
use crate::core::json::write::Object;
use crate::core::ops::tree::{Drawing, Filter, draw};
use crate::core::reference::Position;
use crate::core::search::Words;
use crate::core::session::Session;
use crate::core::tree::Place;
use crate::guide::{Example, Guide};
use crate::ui::{
    Clock, Exit, Failure, Glyphs, Rows, STRETCH, Styles, Ui, columns, draw_stretches, pens, push_visible,
};
use clap::ValueEnum;
use std::ops::Range;
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
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let mut options = row_options(ui, !args.search.trim().is_empty(), args.json || args.times);
    options.search = Words::new(&args.search);
    let open = OpenSession::open(&args.session, options, ui)?;
    let session = &open.session;
    let drawing = draw(session, open.resolve(&args.at)?, args.filter.into(), &args.search);
    if args.json {
        for place in &drawing.places {
            ui.print_json(&json_row(session, &drawing, place))?;
        }
    } else {
        let clock = args.times.then(|| Clock::new(ui));
        Painter::new(args, ui, &drawing).paint(clock, ui)?;
    }
    let found_none = drawing.places.is_empty() && !args.search.trim().is_empty();
    Ok(if found_none { Exit::Found } else { Exit::Done })
}

fn json_row(session: &Session, drawing: &Drawing, place: &Place) -> Vec<u8> {
    let ix = place.entry;
    let entry = session.entry(ix);
    let searched = !drawing.words().is_empty();
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
        .with(searched.then(|| hit_json(drawing, ix)), |row, hit| row.json("match", &hit))
        .finish()
}

/// Where the words were found; `null` where only the agent's own search finds the row.
fn hit_json(drawing: &Drawing, ix: EntryIx) -> Vec<u8> {
    let Some(hit) = drawing.hit(ix) else { return b"null".to_vec() };
    Object::new()
        .str("field", &hit.field)
        .number("start", hit.range.start as f64)
        .number("end", hit.range.end as f64)
        .str("snippet", &hit.snippet.text)
        .finish()
}

/// Whether a bar passes at each of the levels above the row being drawn, of which only the first
/// [`MOST_LEVELS`] are ever shown.
#[derive(Clone, Copy, Default)]
struct Bars(u32);

impl Bars {
    fn pass(self, level: usize) -> bool {
        self.0 >> level & 1 == 1
    }

    /// What stood deeper than the row has ended.
    fn enter(&mut self, place: &Place) {
        let levels = place.depth as usize - usize::from(place.connector);
        self.0 &= !u32::MAX.checked_shl(levels as u32).unwrap_or(0);
    }

    /// Siblings that follow are led to past the rows between.
    fn leave(&mut self, place: &Place) {
        if place.connector && !place.last {
            self.0 |= 1_u32.checked_shl(place.depth - 1).unwrap_or(0);
        }
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
}

impl<'a> Painter<'a> {
    fn new(args: &Args, ui: &Ui, drawing: &'a Drawing<'a>) -> Self {
        let (session, width) = (drawing.session, ui.width());
        // Half of a narrow terminal stays for the text, as in oh-my-pi.
        let levels = |width: usize| (width.saturating_sub((width / 2).max(24) + 4) / 3).max(1);
        let ids = drawing.places.iter().map(|place| session.entry(place.entry).id.len as usize);
        Painter {
            session,
            drawing,
            styles: ui.styles,
            glyphs: if args.ascii { Glyphs::ASCII } else { Glyphs::UNICODE },
            width,
            most_levels: width.map_or(MOST_LEVELS, levels).min(MOST_LEVELS),
            id_width: ids.max().unwrap_or(0).min(ID_COLUMNS),
            show_ids: !args.no_ids,
            marked: drawing.marked(),
        }
    }

    fn paint(&self, times: Option<Clock>, ui: &mut Ui) -> Result<(), Failure> {
        let places = &self.drawing.places;
        // Each stretch of rows is drawn by itself, so the bars at its start must be known.
        let mut bars = Bars::default();
        let mut starts = Vec::new();
        for (at, place) in places.iter().enumerate() {
            if at % STRETCH == 0 {
                starts.push(bars);
            }
            bars.enter(place);
            bars.leave(place);
        }
        let draw = |rows: &mut Rows, stretch: Range<usize>| {
            let mut bars = starts[stretch.start / STRETCH];
            for place in &places[stretch] {
                bars.enter(place);
                self.row(place, bars, rows);
                bars.leave(place);
            }
        };
        let pen = Rows::new(self.width, self.glyphs.ellipsis, times);
        let mut pens = pens(pen, places.len(), ui.processors());
        draw_stretches(&mut pens, places.len(), &draw, ui.stdout()).map_err(Failure::output)
    }

    fn row(&self, place: &Place, bars: Bars, rows: &mut Rows) {
        let ix = place.entry;
        let dim = self.styles.dim;
        rows.begin();
        if self.show_ids {
            push_visible(&mut rows.part, &self.session.id(ix).to_string_lossy());
            let pad = self.id_width.saturating_sub(columns(&rows.part)) + 2;
            rows.part.extend(std::iter::repeat_n(' ', pad));
            rows.put_part(dim);
        }
        if let Some(clock) = &rows.clock {
            clock.push(&mut rows.part, self.session.entry(ix).time_ms);
            rows.part.push_str("  ");
            rows.put_part(dim);
        }
        self.prefix(place, bars, &mut rows.part);
        rows.put_part(dim);
        if self.drawing.is_active(ix) {
            rows.put(self.glyphs.bullet, self.styles.active);
        }
        if let Some(label) = self.drawing.label(ix) {
            rows.part.push('[');
            push_visible(&mut rows.part, &label.to_string_lossy());
            rows.part.push_str("] ");
            rows.put_part(self.styles.label);
        }
        let mark = if self.marked == Some(ix) { format!("  {}", self.glyphs.leaf) } else { String::new() };
        let cycle =
            if self.session.entry(ix).flags.has(Flags::IN_CYCLE) { "  (cycle of parents)" } else { "" };
        let marks = columns(&mark) + columns(cycle);
        // The leaf's mark stays in sight when the text does not fit.
        let marked = rows.left.is_none_or(|left| left > marks);
        rows.left = rows.left.map(|left| if marked { left - marks } else { left });
        push_visible(&mut rows.part, &self.drawing.text(ix).to_string_lossy());
        rows.put_part(row_style(self.session, ix, &self.styles));
        if marked {
            rows.left = None;
            rows.put(&mark, self.styles.active);
            rows.put(cycle, self.styles.error);
        }
        rows.end();
    }

    /// Bars and connector. Levels beyond the most that are shown become one mark.
    fn prefix(&self, place: &Place, bars: Bars, out: &mut String) {
        let depth = place.depth as usize;
        let connector = match (place.connector, place.last) {
            (true, true) => self.glyphs.corner,
            (true, false) => self.glyphs.tee,
            (false, _) => "",
        };
        let above = depth - usize::from(place.connector);
        let shown = above.min(self.most_levels - usize::from(place.connector));
        for level in 0..shown {
            *out += if bars.pass(level) { self.glyphs.bar } else { "   " };
        }
        if shown < above {
            *out += self.glyphs.ellipsis;
            out.push(' ');
        }
        *out += connector;
    }
}
