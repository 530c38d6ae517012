//! `pisess tree`: draws the tree.

use super::failure::{Exit, Failure};
use super::input::Input;
use super::output::{Glyphs, Styles, fitted};
use super::visible::visible;
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
use crate::world::World;
use clap::ValueEnum;
use owo_colors::{OwoColorize, Style};
use std::path::PathBuf;
use unicode_width::UnicodeWidthStr;

/// Draw the tree of a session.
///
/// A chain of single children stays flat; it is indented only where it branches. The branch with
/// the leaf comes first. What is shown and how it reads follows the agent whose file it is.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// Which entries to show
    #[arg(long, value_name = "MODE", default_value = "default")]
    pub filter: Mode,
    /// Show only entries whose text holds all these words
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
    /// Print a JSON object for each row
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
    times: Option<jiff::tz::TimeZone>,
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
            times: args.times.then(|| world.time_zone()),
        }
    }

    fn paint(&self, world: &mut World) -> Result<(), Failure> {
        // Whether a bar passes at each level above the row being drawn.
        let mut bars: Vec<bool> = Vec::new();
        let mut row = String::new();
        for place in &self.drawing.places {
            let depth = place.depth as usize;
            bars.resize(if place.connector { depth - 1 } else { depth }, false);
            row.clear();
            self.row(place, &bars, &mut row);
            row.push('\n');
            world.stdout.write_all(row.as_bytes()).map_err(Failure::output)?;
            if place.connector {
                bars.push(!place.last);
            }
        }
        Ok(())
    }

    fn row(&self, place: &Place, bars: &[bool], row: &mut String) {
        let ix = place.entry;
        let mut left = self.width.unwrap_or(usize::MAX);
        let mut put = |text: &str, style: Style, row: &mut String| {
            let fitting =
                if left == usize::MAX { text.to_owned() } else { fitted(text, left, self.glyphs.ellipsis) };
            left = left.saturating_sub(text.width());
            push_styled(row, &fitting, style);
        };
        let dim = self.styles.dim;
        if self.show_ids {
            let id = visible(&self.session.id(ix).to_string_lossy());
            let pad = self.id_width.saturating_sub(id.width());
            put(&format!("{id}{}  ", " ".repeat(pad)), dim, row);
        }
        if let Some(zone) = &self.times {
            put(&format!("{}  ", local_time(self.session.entry(ix).time_ms, zone)), dim, row);
        }
        put(&self.prefix(place, bars), dim, row);
        if self.drawing.is_active(ix) {
            put(self.glyphs.bullet, self.styles.active, row);
        }
        if let Some(label) = self.drawing.label(ix) {
            put(&format!("[{}] ", visible(&label.to_string_lossy())), self.styles.label, row);
        }
        let mark = if self.marked == Some(ix) { format!("  {}", self.glyphs.leaf) } else { String::new() };
        let cycle =
            if self.session.entry(ix).flags.has(Flags::IN_CYCLE) { "  (cycle of parents)" } else { "" };
        let marks = mark.width() + cycle.width();
        let text = visible(&self.drawing.text(ix).to_string_lossy());
        // The leaf's mark stays in sight when the text does not fit.
        let text = match self.width {
            Some(_) if left > marks => fitted(&text, left - marks, self.glyphs.ellipsis),
            Some(_) => fitted(&text, left, self.glyphs.ellipsis),
            None => text,
        };
        push_styled(row, &text, row_style(self.session, ix, &self.styles));
        if self.width.is_none() || left > marks {
            push_styled(row, &mark, self.styles.active);
            push_styled(row, cycle, self.styles.error);
        }
        row.truncate(row.trim_end_matches(' ').len());
    }

    /// Bars and connector. Levels beyond the most that are shown become one mark.
    fn prefix(&self, place: &Place, bars: &[bool]) -> String {
        let depth = place.depth as usize;
        let connector = match (place.connector, place.last) {
            (true, true) => self.glyphs.corner,
            (true, false) => self.glyphs.tee,
            (false, _) => "",
        };
        let above = depth - usize::from(place.connector);
        let shown = above.min(self.most_levels - usize::from(place.connector));
        let mut prefix = String::with_capacity(3 * depth.min(self.most_levels) + 8);
        for &bar in bars.iter().take(shown) {
            prefix += if bar { self.glyphs.bar } else { "   " };
        }
        if shown < above {
            prefix += self.glyphs.ellipsis;
            prefix.push(' ');
        }
        prefix + connector
    }
}

/// Appends text in a style; plain text stays plain.
pub fn push_styled(out: &mut String, text: &str, style: Style) {
    if text.is_empty() {
        return;
    }
    if style == Style::default() {
        out.push_str(text);
    } else {
        *out += &text.style(style).to_string();
    }
}

/// A time for people: date and minute where they are.
pub fn local_time(time_ms: i64, zone: &jiff::tz::TimeZone) -> String {
    match jiff::Timestamp::from_millisecond(time_ms) {
        Ok(time) => time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => format!("{:16}", "?"),
    }
}
