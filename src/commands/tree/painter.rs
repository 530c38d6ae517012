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
/// usage. The name is cut if the line is too long, but keeps a third of it.
fn print_heading(
    session: &Session,
    usage: UsageSums,
    glyphs: Glyphs,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let mut facts = Vec::new();
    if let Some(cwd) = &session.header.cwd {
        // If the home directory is `/`, every path would begin with `~`.
        let home = ui.home().filter(|home| home.len() > 1);
        facts.push(visible(&below_home(&cwd.to_string(), home.as_deref())));
    }
    facts.push(counted(session.entries.len(), "entry", "entries"));
    if usage.tokens() > 0.0 {
        facts.push(format!("{} tokens", tokens(usage.tokens())));
    }
    if usage.cost > 0.0 {
        facts.push(dollars(usage.cost));
    }
    let facts = facts.join(glyphs.dot);

    let width = ui.width().unwrap_or(usize::MAX);
    let facts_width = columns(&facts) + columns(glyphs.dot);
    let name_width = width.saturating_sub(facts_width).max(width / 3);
    let name = match session.name() {
        Some(name) => fitted(&visible(&name.to_string()), name_width, glyphs.ellipsis),
        None => String::new(),
    };
    let separator = if name.is_empty() { "" } else { glyphs.dot };
    let rest_width = width.saturating_sub(columns(&name));
    let rest = fitted(&format!("{separator}{facts}"), rest_width, glyphs.ellipsis);
    ui.print(&format!(
        "{}{}\n",
        styled(&name, ui.styles.bold),
        styled(&rest, ui.styles.dim)
    ))
}

/// Returns the bars that continue past a row, given those before it: a bit for each level above the
/// row. The bars of deeper levels end there. Only the first [`MOST_LEVELS`] are ever drawn.
fn bars_past(bars: u32, place: &TreeRow) -> u32 {
    let levels = place.branch_points - u32::from(place.connector);
    let deeper = u32::MAX.checked_shl(levels).unwrap_or(0);
    bars & !deeper
}

/// Returns the bars after a row, given those that continue past it: one leads to its next sibling.
fn bars_after(bars: u32, place: &TreeRow) -> u32 {
    let has_next_sibling = place.connector && !place.last;
    if !has_next_sibling {
        return bars;
    }
    let to_sibling = 1_u32.checked_shl(place.branch_points - 1).unwrap_or(0);
    bars | to_sibling
}

/// How the rows are drawn.
pub struct RowArgs {
    /// Whether consecutive tool results become one row.
    pub folds_tools: bool,
    pub shows_ids: bool,
    /// The clock for the time of each row, if times are shown.
    pub clock: Option<Clock>,
}

/// Draws rows, one after the other.
pub struct Painter<'a> {
    look: Look<'a>,
    /// The positions in the drawing that each row represents; the last of them is the entry that
    /// the row shows.
    folds: Vec<Range<usize>>,
    /// The size and age of the branch below each entry; empty if no branch is drawn.
    extents: Vec<Extent>,
    now_ms: i64,
    /// The number of levels that are drawn, at most [`MOST_LEVELS`].
    most_levels: usize,
    /// The width of the ids, if rows have them.
    id_width: Option<usize>,
    clock: Option<Clock>,
    /// The entry with the mark of the leaf.
    marked: Position,
}

/// A remark at the end of a row.
struct Mark {
    text: String,
    style: Style,
}

impl Mark {
    fn new(text: String, style: Style) -> Mark {
        Mark { text, style }
    }
}

/// Returns the number of levels that a terminal has room for, at 3 columns each. Half of a narrow
/// terminal, but at least 24 columns, is left for the text, as in oh-my-pi.
fn levels_that_fit(width: usize) -> usize {
    let for_text = (width / 2).max(24) + 4;
    let levels = width.saturating_sub(for_text) / 3;
    levels.max(1)
}

impl<'a> Painter<'a> {
    pub fn new(look: Look<'a>, args: RowArgs, ui: &Ui) -> Result<Self, Failure> {
        let drawing = look.drawing;
        let session = drawing.session;
        let now_ms = Ids::new(ui)?.now_ms(ui);

        let folds = if args.folds_tools {
            folds(drawing, look.edits)
        } else {
            (0..drawing.places.len()).map(|at| at..at + 1).collect()
        };
        let has_branches = drawing.places.iter().any(|place| place.connector);
        let extents = if has_branches {
            extents(session)
        } else {
            Vec::new()
        };
        let most_levels = match ui.width() {
            Some(width) => levels_that_fit(width).min(MOST_LEVELS),
            None => MOST_LEVELS,
        };
        let mut id_width = None;
        if args.shows_ids {
            let lengths = drawing
                .places
                .iter()
                .map(|place| session.entry(place.entry).id.len as usize);
            id_width = Some(lengths.max().unwrap_or(0).min(ID_COLUMNS));
        }
        Ok(Painter {
            folds,
            extents,
            now_ms,
            most_levels,
            id_width,
            clock: args.clock,
            marked: drawing.marked(),
            look,
        })
    }

    /// Prints the heading if the usage for it is given, how many entries were pruned, and the rows.
    /// If a distance is given (`around`), only the rows within it from the leaf are printed, and
    /// how many are left out above and below them. After a heading, a pager opens at the leaf.
    pub fn paint(
        &self,
        usage: Option<UsageSums>,
        around: Option<usize>,
        pruned: usize,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let glyphs = self.look.glyphs;
        let entries = self.folds.iter().map(|fold| self.entry(fold));
        let shown = self.look.drawing.around(entries, around);
        let above = shown.start;
        let below = self.folds.len() - shown.end;

        if let Some(usage) = usage {
            let leaf = self
                .folds
                .iter()
                .position(|fold| self.marked == Some(self.entry(fold)));
            let leaf = leaf.unwrap_or(0);
            let lines_before = usize::from(above > 0) + usize::from(pruned > 0);
            let lines_after = usize::from(below > 0);
            // The heading is line 1, so without lines between, the first row is line 2.
            ui.page_at(
                2 + lines_before + leaf - shown.start,
                1 + lines_before + shown.len() + lines_after,
            );
            print_heading(self.look.drawing.session, usage, glyphs, ui)?;
        }

        if pruned > 0 {
            let entries = if pruned == 1 { "entry" } else { "entries" };
            let number = grouped(pruned as f64);
            let line = format!("{} {number} {entries} pruned", glyphs.ellipsis);
            self.print_dim(&line, ui)?;
        }
        if above > 0 {
            let rows = counted(above, "row", "rows");
            self.print_dim(&format!("{}{rows} above", glyphs.fold), ui)?;
        }
        self.paint_rows(shown, ui)?;
        if below > 0 {
            let rows = counted(below, "row", "rows");
            self.print_dim(&format!("{}{rows} below", glyphs.fold), ui)?;
        }
        Ok(())
    }

    /// Returns the entry that a row shows: the last of those that are folded into it.
    fn entry(&self, fold: &Range<usize>) -> EntryIx {
        self.look.drawing.places[fold.end - 1].entry
    }

    /// Prints a line about rows that are not drawn.
    fn print_dim(&self, line: &str, ui: &mut Ui) -> Result<(), Failure> {
        ui.print(&(styled(line, self.look.styles.dim) + "\n"))
    }

    /// Prints rows in batches, which are drawn in parallel. The bars at the start of each batch
    /// follow from all rows before it, so they are computed first.
    fn paint_rows(&self, shown: Range<usize>, ui: &mut Ui) -> Result<(), Failure> {
        let places = &self.look.drawing.places;
        let mut bars = 0;
        let mut bars_at_starts = Vec::new();
        for (at, fold) in self.folds[..shown.end].iter().enumerate() {
            if at >= shown.start && (at - shown.start).is_multiple_of(BATCH) {
                bars_at_starts.push(bars);
            }
            let place = &places[fold.end - 1];
            bars = bars_after(bars_past(bars, place), place);
        }

        let folds = &self.folds[shown];
        let draw = |rows: &mut Rows, batch: Range<usize>| {
            let bars = bars_at_starts[batch.start / BATCH];
            self.draw_batch(folds, batch, bars, rows);
        };
        let pen = Rows::new(ui.width(), self.look.glyphs.ellipsis, self.clock.clone());
        draw_batches(&pen, folds.len(), draw, ui)
    }

    /// Draws one batch of rows, given the bars before its first row.
    fn draw_batch(
        &self,
        folds: &[Range<usize>],
        batch: Range<usize>,
        bars_at_start: u32,
        rows: &mut Rows,
    ) {
        let drawing = self.look.drawing;
        // The date is shown where it differs from that of the row before.
        let row_before = batch.start.checked_sub(1);
        let time_before =
            row_before.map(|at| drawing.session.entry(self.entry(&folds[at])).time_ms);
        rows.follow(time_before);

        let mut bars = bars_at_start;
        for fold in &folds[batch] {
            if drawing.is_live() {
                rows.follow(None);
            }
            let place = &drawing.places[fold.end - 1];
            bars = bars_past(bars, place);
            self.draw_row(fold, place, bars, rows);
            bars = bars_after(bars, place);
        }
    }

    /// Draws a row: its id, its time, its bars, the dot of the active path, its text, and its marks.
    fn draw_row(&self, fold: &Range<usize>, place: &TreeRow, bars: u32, rows: &mut Rows) {
        let ix = place.entry;
        let Look {
            drawing,
            styles,
            glyphs,
            ..
        } = &self.look;
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
        self.push_prefix(place, bars, rows);
        rows.put_part(styles.dim);
        if is_active {
            rows.put(glyphs.bullet, styles.active);
        }

        // A compaction or reset is drawn as a rule, which the text interrupts.
        let kind = drawing.session.entry(ix).kind;
        let is_rule = matches!(kind, Kind::Compaction | Kind::ResetBoundary);
        let rule_style = if is_active {
            styles.summary
        } else {
            styles.dim
        };
        // The marks and the end of a rule stay visible if the text is cut, unless there is room for
        // nothing else.
        let marks = self.marks(place);
        let mut reserved: usize = marks.iter().map(|mark| columns(&mark.text)).sum();
        if is_rule {
            reserved += 1 + RULE;
        }
        let fits = rows.left.is_none_or(|left| left > reserved);
        if fits {
            rows.left = rows.left.map(|left| left - reserved);
        }

        if is_rule {
            rows.put(&format!("{} ", glyphs.rule.repeat(RULE)), rule_style);
        }
        if fold.len() == 1 {
            self.look.put(rows, ix, !is_active);
        } else {
            self.draw_fold(fold, rows, !is_active);
        }
        if fits {
            let unused = rows.left.take().unwrap_or(0);
            if is_rule {
                let rule = glyphs.rule.repeat(RULE + unused);
                rows.put(&format!(" {rule}"), rule_style);
            }
            for mark in &marks {
                rows.put(&mark.text, mark.style);
            }
        }
        rows.end();
    }

    /// Returns what is remarked at the end of a row.
    fn marks(&self, place: &TreeRow) -> Vec<Mark> {
        let ix = place.entry;
        let Look {
            drawing,
            styles,
            glyphs,
            ..
        } = &self.look;
        let flags = drawing.session.entry(ix).flags;
        let mut marks = Vec::new();

        if self.marked == Some(ix) {
            // What follows the conversation, such as a label or the mark of a switch, is no part of
            // it.
            let is_last = drawing.is_leaf(ix)
                || last_of_conversation(drawing.session, drawing.leaf) == Some(ix);
            let hidden = if is_last { "" } else { " below, not shown" };
            marks.push(Mark::new(
                format!("  {}{hidden}", glyphs.leaf),
                styles.active,
            ));
        }
        if drawing.is_undone(ix) {
            marks.push(Mark::new("  (undone)".to_owned(), styles.dim));
        }
        if flags.has(Flags::HIDDEN) {
            marks.push(Mark::new("  (hidden)".to_owned(), styles.dim));
        }
        if flags.has(Flags::IN_CYCLE) {
            marks.push(Mark::new("  (cycle of parents)".to_owned(), styles.error));
        }
        if let Some(labelled) = drawing.labelled(ix) {
            let id = visible(&labelled.to_string_lossy());
            marks.push(Mark::new(format!("  (on {id})"), styles.dim));
        }
        if let Some(parent) = drawing.turn(ix) {
            let parent = match parent {
                Some(parent) => visible(&drawing.session.id(parent).to_string_lossy()),
                None => "root".to_owned(),
            };
            marks.push(Mark::new(format!("  (after {parent})"), styles.active));
        }
        if place.connector
            && let Some(extent) = self.branch_extent(ix)
        {
            marks.push(Mark::new(format!("  {extent}"), styles.dim));
        }
        marks
    }

    /// Returns the size of the branch below an entry and the age of its newest entry; `None` if it
    /// has only labels and other bookkeeping.
    fn branch_extent(&self, ix: EntryIx) -> Option<String> {
        let extent = self.extents[ix.at()];
        let entries = counted(extent.entries as usize, "entry", "entries");
        match extent.newest_ms {
            Some(newest) => Some(format!("({entries}, {})", age(self.now_ms, newest))),
            None if extent.entries > 0 => Some(format!("({entries})")),
            None => None,
        }
    }

    /// `⋯ 9 tools: 4 read, 3 edit, 2 bash, 1 failed`
    fn draw_fold(&self, fold: &Range<usize>, rows: &mut Rows, is_dim: bool) {
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
            if at > 0 {
                rows.push_str(", ");
            }
            rows.push_number(*count, 0);
            rows.push_str(" ");
            rows.push_text(name);
        }
        rows.put_part(if is_dim { styles.dim } else { Style::new() });

        let mut failed = 0;
        for place in &drawing.places[fold.clone()] {
            let entry = drawing.session.entry(place.entry);
            if Ending::of(entry).is_some() {
                failed += 1;
            }
        }
        if failed > 0 {
            let style = if is_dim { styles.dim } else { styles.error };
            rows.put(&format!(", {failed} failed"), style);
        }
    }

    /// Appends the bars and the connector of a row. Levels beyond the maximum become one mark.
    fn push_prefix(&self, place: &TreeRow, bars: u32, rows: &mut Rows) {
        let glyphs = &self.look.glyphs;
        let connector = match (place.connector, place.last) {
            (true, true) => glyphs.corner,
            (true, false) => glyphs.tee,
            (false, _) => "",
        };
        // The connector takes a level.
        let connector_levels = usize::from(place.connector);
        let levels = place.branch_points as usize - connector_levels;
        let shown = levels.min(self.most_levels - connector_levels);
        for level in 0..shown {
            let has_bar = bars >> level & 1 == 1;
            rows.push_str(if has_bar { glyphs.bar } else { "   " });
        }
        if shown < levels {
            rows.push_str(glyphs.ellipsis);
            rows.push_str(" ");
        }
        rows.push_str(connector);
    }
}
