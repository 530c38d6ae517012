//! The rows of the tree, for people.

use crate::cli::ids::Ids;
use crate::cli::output::{Clock, Failure, Glyphs, Rows, Ui, columns, fitted, styled, visible};
use crate::cli::rows::batches::{BATCH, draw_batches};
use crate::cli::rows::entry::{ID_COLUMNS, Look};
use crate::format::{age, counted, dollars, grouped, tokens};
use crate::ops::label::last_of_conversation;
use crate::ops::rows::{Ending, Extent, extents, folded_tools, folds};
use crate::session::Session;
use crate::session::entry::{EntryIx, Flags, Kind};
use crate::session::paths::below_home;
use crate::session::reference::Position;
use crate::session::tree::TreeRow;
use crate::session::usage::UsageSums;
use owo_colors::Style;
use std::ops::Range;

/// The maximum number of levels that a row is indented.
const MOST_LEVELS: usize = 24;

/// The minimum length of a rule, on either side of its text.
const RULE: usize = 2;

/// Prints the heading of the session, above its tree: its name, its project, its size, and its
/// usage.
fn print_heading(
    session: &Session,
    usage: UsageSums,
    glyphs: Glyphs,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let (home, cwd) = (
        ui.home().filter(|home| home.len() > 1),
        session.header.cwd.as_ref(),
    );
    let folder = cwd.map(|cwd| visible(&below_home(&cwd.to_string(), home.as_deref())));
    let facts = [
        folder,
        Some(counted(session.entries.len(), "entry", "entries")),
        (usage.tokens() > 0.0).then(|| format!("{} tokens", tokens(usage.tokens()))),
        (usage.cost > 0.0).then(|| dollars(usage.cost)),
    ];
    let facts = facts
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(glyphs.dot);
    let width = ui.width().unwrap_or(usize::MAX);
    let room = width
        .saturating_sub(columns(&facts) + columns(glyphs.dot))
        .max(width / 3);
    let whole = session
        .name()
        .map(|name| visible(&name.to_string()))
        .unwrap_or_default();
    let name = fitted(&whole, room, glyphs.ellipsis);
    let between = if name.is_empty() { "" } else { glyphs.dot };
    let rest = fitted(
        &format!("{between}{facts}"),
        width.saturating_sub(columns(&name)),
        glyphs.ellipsis,
    );
    ui.print(&format!(
        "{}{}\n",
        styled(&name, ui.styles.bold),
        styled(&rest, ui.styles.dim)
    ))
}

/// Returns the bars that continue past a row, given those before it: a bit for each level above the
/// row. Those that are deeper than the row end. Only the first [`MOST_LEVELS`] are ever drawn.
fn bars_past(bars: u32, place: &TreeRow) -> u32 {
    let levels = place.branch_points - u32::from(place.connector);
    bars & !u32::MAX.checked_shl(levels).unwrap_or(0)
}

/// Returns the bars after a row, given those that continue past it: one leads to its next sibling.
fn bars_after(bars: u32, place: &TreeRow) -> u32 {
    let has_next = place.connector && !place.last;
    bars | if has_next {
        1_u32.checked_shl(place.branch_points - 1).unwrap_or(0)
    } else {
        0
    }
}

/// Draws rows, one after the other.
pub struct Painter<'a> {
    look: Look<'a>,
    /// The positions that each row to draw represents, by the last of them.
    folds: Vec<Range<usize>>,
    extents: Vec<Extent>,
    now_ms: i64,
    most_levels: usize,
    /// The width of the ids, if rows have them.
    id_width: Option<usize>,
    marked: Position,
}

impl<'a> Painter<'a> {
    /// Prepares the rows of a drawing: with folded runs of tool rows, and with ids, if these are
    /// wanted.
    pub fn new(
        look: Look<'a>,
        wants_folds: bool,
        wants_ids: bool,
        ui: &Ui,
    ) -> Result<Self, Failure> {
        let (drawing, session) = (look.drawing, look.drawing.session);
        // Half of a narrow terminal is left for the text, as in oh-my-pi.
        let levels = |width: usize| (width.saturating_sub((width / 2).max(24) + 4) / 3).max(1);
        let ids = drawing
            .places
            .iter()
            .map(|place| session.entry(place.entry).id.len as usize);
        let branches = drawing.places.iter().any(|place| place.connector);
        Ok(Painter {
            folds: if wants_folds {
                folds(drawing, look.edits)
            } else {
                (0..drawing.places.len()).map(|at| at..at + 1).collect()
            },
            extents: if branches {
                extents(session)
            } else {
                Vec::new()
            },
            now_ms: Ids::new(ui)?.now_ms(ui),
            most_levels: ui.width().map_or(MOST_LEVELS, levels).min(MOST_LEVELS),
            id_width: wants_ids.then(|| ids.max().unwrap_or(0).min(ID_COLUMNS)),
            marked: drawing.marked(),
            look,
        })
    }

    /// Prints the heading if the usage for it is given, how many entries were pruned, and the rows,
    /// with their times if there is a clock. If a distance is given (`around`), only the rows
    /// within it from the leaf are printed, and how many are left out before and after them. After
    /// a heading, a pager opens at the leaf.
    pub fn paint(
        &self,
        usage: Option<UsageSums>,
        clock: Option<Clock>,
        around: Option<usize>,
        pruned: usize,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let entries = || {
            self.folds
                .iter()
                .map(|fold| self.look.drawing.places[fold.end - 1].entry)
        };
        let shown = self.look.drawing.around(entries(), around);
        let (above, below) = (shown.start, self.folds.len() - shown.end);
        if let Some(usage) = usage {
            let leaf = entries()
                .position(|ix| self.marked == Some(ix))
                .unwrap_or(0);
            let has = |count: usize| usize::from(count > 0);
            let before = has(above) + has(pruned);
            ui.page_at(
                2 + before + leaf - shown.start,
                1 + before + shown.len() + has(below),
            );
            print_heading(self.look.drawing.session, usage, self.look.glyphs, ui)?;
        }
        let glyphs = &self.look.glyphs;
        let entries = if pruned == 1 { "entry" } else { "entries" };
        let line = format!(
            "{} {} {entries} pruned",
            glyphs.ellipsis,
            grouped(pruned as f64)
        );
        self.left_out(pruned, &line, ui)?;
        let line = |count| format!("{}{}", glyphs.fold, counted(count, "row", "rows"));
        self.left_out(above, &(line(above) + " above"), ui)?;
        self.paint_rows(shown, clock, ui)?;
        self.left_out(below, &(line(below) + " below"), ui)
    }

    /// Prints a line about rows that are not drawn, if there are any.
    fn left_out(&self, count: usize, line: &str, ui: &mut Ui) -> Result<(), Failure> {
        if count == 0 {
            Ok(())
        } else {
            ui.print(&(styled(line, self.look.styles.dim) + "\n"))
        }
    }

    fn paint_rows(
        &self,
        shown: Range<usize>,
        clock: Option<Clock>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let places = &self.look.drawing.places;
        let time = |fold: &Range<usize>| {
            self.look
                .drawing
                .session
                .entry(places[fold.end - 1].entry)
                .time_ms
        };
        // Ranges of rows are drawn independently, so the bars at the start of each are computed
        // first.
        let mut bars = 0;
        let mut starts = Vec::new();
        for (at, fold) in self.folds[..shown.end].iter().enumerate() {
            if at >= shown.start && (at - shown.start).is_multiple_of(BATCH) {
                starts.push(bars);
            }
            let place = &places[fold.end - 1];
            bars = bars_after(bars_past(bars, place), place);
        }
        let folds = &self.folds[shown];
        let draw = |rows: &mut Rows, batch: Range<usize>| {
            let mut bars = starts[batch.start / BATCH];
            rows.follow(
                batch
                    .start
                    .checked_sub(1)
                    .map(|before| time(&folds[before])),
            );
            for fold in &folds[batch] {
                if self.look.drawing.is_live() {
                    rows.follow(None);
                }
                let place = &places[fold.end - 1];
                bars = bars_past(bars, place);
                self.row(fold, place, bars, rows);
                bars = bars_after(bars, place);
            }
        };
        let pen = Rows::new(ui.width(), self.look.glyphs.ellipsis, clock);
        draw_batches(&pen, folds.len(), draw, ui)
    }

    fn row(&self, fold: &Range<usize>, place: &TreeRow, bars: u32, rows: &mut Rows) {
        let (
            ix,
            Look {
                drawing,
                styles,
                glyphs,
                ..
            },
        ) = (place.entry, &self.look);
        let is_active = drawing.is_active(ix);
        rows.begin();
        if let Some(width) = self.id_width {
            rows.push_text(&drawing.session.id(ix));
            rows.pad(width);
            rows.push_str("  ");
            rows.put_part(styles.dim);
        }
        if rows.clock.is_some() {
            rows.push_time(drawing.session.entry(ix).time_ms);
            rows.push_str("  ");
            rows.put_part(styles.dim);
        }
        self.prefix(place, bars, rows);
        rows.put_part(styles.dim);
        if is_active {
            rows.put(glyphs.bullet, styles.active);
        }
        let is_rule = matches!(
            drawing.session.entry(ix).kind,
            Kind::Compaction | Kind::ResetBoundary
        );
        let rule_style = if is_active {
            styles.summary
        } else {
            styles.dim
        };
        let marks = self.marks(place);
        let marked: usize = marks.iter().map(|(mark, _)| columns(mark)).sum();
        let reserved = marked + if is_rule { 1 + RULE } else { 0 };
        // The leaf's mark and the end of a rule stay visible if the text does not fit.
        let fits = rows.left.is_none_or(|left| left > reserved);
        rows.left = rows
            .left
            .map(|left| if fits { left - reserved } else { left });
        if is_rule {
            rows.put(&format!("{} ", glyphs.rule.repeat(RULE)), rule_style);
        }
        match fold.len() {
            1 => self.look.put(rows, ix, !is_active),
            _ => self.fold(fold, rows, !is_active),
        }
        if fits {
            let rest = rows.left.take().unwrap_or(0);
            if is_rule {
                rows.put(&format!(" {}", glyphs.rule.repeat(RULE + rest)), rule_style);
            }
            marks
                .iter()
                .for_each(|(mark, style)| rows.put(mark, *style));
        }
        rows.end();
    }

    fn marks(&self, place: &TreeRow) -> Vec<(String, Style)> {
        let (
            ix,
            Look {
                drawing,
                styles,
                glyphs,
                ..
            },
        ) = (place.entry, &self.look);
        let mut marks = Vec::new();
        if self.marked == Some(ix) {
            // What follows the conversation, such as a label or the mark of a switch, is no part of
            // it.
            let is_last = drawing.is_leaf(ix)
                || last_of_conversation(drawing.session, drawing.leaf) == Some(ix);
            let hidden = if is_last { "" } else { " below, not shown" };
            marks.push((format!("  {}{hidden}", glyphs.leaf), styles.active));
        }
        if drawing.is_undone(ix) {
            marks.push(("  (undone)".to_owned(), styles.dim));
        }
        if drawing.session.entry(ix).flags.has(Flags::HIDDEN) {
            marks.push(("  (hidden)".to_owned(), styles.dim));
        }
        if drawing.session.entry(ix).flags.has(Flags::IN_CYCLE) {
            marks.push(("  (cycle of parents)".to_owned(), styles.error));
        }
        let id = |ix: EntryIx| visible(&drawing.session.id(ix).to_string_lossy());
        if let Some(labelled) = drawing.labelled(ix) {
            marks.push((
                format!("  (on {})", visible(&labelled.to_string_lossy())),
                styles.dim,
            ));
        }
        if let Some(parent) = drawing.turn(ix) {
            let above = parent.map_or_else(|| "root".to_owned(), id);
            marks.push((format!("  (after {above})"), styles.active));
        }
        if let Some(extent) = place.connector.then(|| self.extent(ix)).flatten() {
            marks.push((format!("  {extent}"), styles.dim));
        }
        marks
    }

    /// Returns the size of a branch and the age of its newest entry; nothing if it has only notes.
    fn extent(&self, ix: EntryIx) -> Option<String> {
        let extent = self.extents[ix.at()];
        let entries = counted(extent.entries as usize, "entry", "entries");
        let age = extent
            .newest_ms
            .map(|newest| format!(", {}", age(self.now_ms, newest)));
        (extent.entries > 0 || age.is_some())
            .then(|| format!("({entries}{})", age.unwrap_or_default()))
    }

    /// `⋯ 9 tools: 4 read, 3 edit, 2 bash, 1 failed`
    fn fold(&self, fold: &Range<usize>, rows: &mut Rows, is_dim: bool) {
        let Look {
            drawing,
            styles,
            glyphs,
            ..
        } = &self.look;
        rows.push_str(glyphs.fold);
        rows.push_number(fold.len(), 0);
        rows.push_str(" tools: ");
        rows.put_part(styles.dim);
        for (at, (name, count)) in folded_tools(drawing, fold).iter().enumerate() {
            rows.push_str(if at == 0 { "" } else { ", " });
            rows.push_number(*count, 0);
            rows.push_str(" ");
            rows.push_text(name);
        }
        rows.put_part(if is_dim { styles.dim } else { Style::new() });
        let has_failed =
            |place: &&TreeRow| Ending::of(drawing.session.entry(place.entry)).is_some();
        let failed = drawing.places[fold.clone()]
            .iter()
            .filter(has_failed)
            .count();
        if failed > 0 {
            rows.put(
                &format!(", {failed} failed"),
                if is_dim { styles.dim } else { styles.error },
            );
        }
    }

    /// Draws bars and connector. Levels beyond the maximum become one mark.
    fn prefix(&self, place: &TreeRow, bars: u32, rows: &mut Rows) {
        let glyphs = &self.look.glyphs;
        let level = place.branch_points as usize;
        let connector = match (place.connector, place.last) {
            (true, true) => glyphs.corner,
            (true, false) => glyphs.tee,
            (false, _) => "",
        };
        let above = level - usize::from(place.connector);
        let shown = above.min(self.most_levels - usize::from(place.connector));
        for level in 0..shown {
            rows.push_str(if bars >> level & 1 == 1 {
                glyphs.bar
            } else {
                "   "
            });
        }
        if shown < above {
            rows.push_str(glyphs.ellipsis);
            rows.push_str(" ");
        }
        rows.push_str(connector);
    }
}
