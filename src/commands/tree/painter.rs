//! The rows of the tree, for people.

use crate::cli::ids::Ids;
use crate::cli::output::{
    Clock, Failure, Glyphs, RowBuffer, Ui, apply_style, display_width, to_visible, truncate_end,
};
use crate::cli::rows::batches::{BATCH_ROWS, draw_batches};
use crate::cli::rows::entry::{EntryPainter, ID_COLUMNS};
use crate::format::{format_age, format_count, format_dollars, format_tokens, group_digits};
use crate::ops::label::last_conversation_entry;
use crate::ops::rows::{
    Ending, SubtreeExtent, count_folded_tools, fold_tool_rows, measure_subtrees,
};
use crate::session::Session;
use crate::session::entry::{EntryIx, Flags, Kind};
use crate::session::paths::abbreviate_home;
use crate::session::reference::Position;
use crate::session::tree::TreeRow;
use crate::session::usage::UsageSums;
use owo_colors::Style;
use std::ops::Range;

/// The maximum number of levels that a row is indented.
const MAX_LEVELS: usize = 24;

/// The minimum length of a rule, on either side of its text.
const MIN_RULE_LENGTH: usize = 2;

/// Prints the heading of the session, above its tree: its name, its project, its size, and its
/// usage. The name is cut if the line is too long, but keeps a third of it.
fn print_heading(
    session: &Session,
    usage: UsageSums,
    glyphs: Glyphs,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let mut details = Vec::new();
    if let Some(cwd) = &session.header.cwd {
        // If the home directory is `/`, every path would begin with `~`.
        let home = ui.home().filter(|home| home.len() > 1);
        details.push(to_visible(&abbreviate_home(
            &cwd.to_string(),
            home.as_deref(),
        )));
    }
    details.push(format_count(session.entries.len(), "entry", "entries"));
    if usage.total_tokens() > 0.0 {
        details.push(format!("{} tokens", format_tokens(usage.total_tokens())));
    }
    if usage.cost > 0.0 {
        details.push(format_dollars(usage.cost));
    }
    let facts = details.join(glyphs.dot);

    let width = ui.row_width().unwrap_or(usize::MAX);
    let facts_width = display_width(&facts) + display_width(glyphs.dot);
    let name_width = width.saturating_sub(facts_width).max(width / 3);
    let name = match session.name() {
        Some(name) => truncate_end(&to_visible(&name.to_string()), name_width, glyphs.ellipsis),
        None => String::new(),
    };
    let separator = if name.is_empty() { "" } else { glyphs.dot };
    let rest_width = width.saturating_sub(display_width(&name));
    let rest = truncate_end(&format!("{separator}{facts}"), rest_width, glyphs.ellipsis);
    ui.print(&format!(
        "{}{}\n",
        apply_style(&name, ui.styles.bold),
        apply_style(&rest, ui.styles.dim)
    ))
}

/// Returns the bars that continue past a row, given those before it: a bit for each level above the
/// row. The bars of deeper levels end there. Only the first [`MAX_LEVELS`] are ever drawn.
fn bars_beside_row(bars: u32, place: &TreeRow) -> u32 {
    let levels = place.branch_points - u32::from(place.has_connector);
    let deeper = u32::MAX.checked_shl(levels).unwrap_or(0);
    bars & !deeper
}

/// Returns the bars after a row, given those that continue past it: one leads to its next sibling.
fn bars_after(bars: u32, place: &TreeRow) -> u32 {
    let has_next_sibling = place.has_connector && !place.is_last;
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
pub struct TreePainter<'a> {
    look: EntryPainter<'a>,
    /// The positions in the drawing that each row represents; the last of them is the entry that
    /// the row shows.
    folds: Vec<Range<usize>>,
    /// The size and age of the branch below each entry; empty if no branch is drawn.
    branch_extents: Vec<SubtreeExtent>,
    now_ms: i64,
    /// The number of levels that are drawn, at most [`MAX_LEVELS`].
    max_levels: usize,
    /// The width of the ids, if rows have them.
    id_width: Option<usize>,
    clock: Option<Clock>,
    /// The entry with the mark of the leaf.
    marked_entry: Position,
}

/// A remark at the end of a row.
struct RowMark {
    text: String,
    style: Style,
}

impl RowMark {
    fn new(text: String, style: Style) -> RowMark {
        RowMark { text, style }
    }
}

/// Returns the number of levels that a terminal has room for, at 3 columns each. Half of a narrow
/// terminal, but at least 24 columns, is left for the text, as in oh-my-pi.
fn levels_that_fit(width: usize) -> usize {
    let for_text = (width / 2).max(24) + 4;
    let levels = width.saturating_sub(for_text) / 3;
    levels.max(1)
}

impl<'a> TreePainter<'a> {
    pub fn new(look: EntryPainter<'a>, args: RowArgs, ui: &Ui) -> Result<Self, Failure> {
        let drawing = look.drawing;
        let session = drawing.session;
        let now_ms = Ids::new(ui)?.now_ms(ui);

        let folds = if args.folds_tools {
            fold_tool_rows(drawing, look.edits)
        } else {
            (0..drawing.tree_rows.len()).map(|at| at..at + 1).collect()
        };
        let has_branches = drawing.tree_rows.iter().any(|place| place.has_connector);
        let extents = if has_branches {
            measure_subtrees(session)
        } else {
            Vec::new()
        };
        let most_levels = match ui.row_width() {
            Some(width) => levels_that_fit(width).min(MAX_LEVELS),
            None => MAX_LEVELS,
        };
        let mut id_width = None;
        if args.shows_ids {
            let lengths = drawing
                .tree_rows
                .iter()
                .map(|place| session.entry(place.entry).id.len as usize);
            id_width = Some(lengths.max().unwrap_or(0).min(ID_COLUMNS));
        }
        Ok(TreePainter {
            folds,
            branch_extents: extents,
            now_ms,
            max_levels: most_levels,
            id_width,
            clock: args.clock,
            marked_entry: drawing.marked_entry(),
            look,
        })
    }

    /// Prints the heading if the usage for it is given, how many entries were pruned, and the rows.
    /// If a distance is given (`around`), only the rows within it from the leaf are printed, and
    /// how many are left out above and below them. After a heading, a pager opens at the leaf.
    pub fn print_tree(
        &self,
        usage: Option<UsageSums>,
        around: Option<usize>,
        pruned: usize,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let glyphs = self.look.glyphs;
        let entries = self.folds.iter().map(|fold| self.shown_entry(fold));
        let shown = self.look.drawing.rows_around_leaf(entries, around);
        let above = shown.start;
        let below = self.folds.len() - shown.end;

        if let Some(usage) = usage {
            let leaf = self
                .folds
                .iter()
                .position(|fold| self.marked_entry == Some(self.shown_entry(fold)));
            let leaf = leaf.unwrap_or(0);
            let lines_before = usize::from(above > 0) + usize::from(pruned > 0);
            let lines_after = usize::from(below > 0);
            // The heading is line 1, so without lines between, the first row is line 2.
            ui.set_pager_line(
                2 + lines_before + leaf - shown.start,
                1 + lines_before + shown.len() + lines_after,
            );
            print_heading(self.look.drawing.session, usage, glyphs, ui)?;
        }

        if pruned > 0 {
            let entries = if pruned == 1 { "entry" } else { "entries" };
            let number = group_digits(pruned as f64);
            let line = format!("{} {number} {entries} pruned", glyphs.ellipsis);
            self.print_dim_line(&line, ui)?;
        }
        if above > 0 {
            let rows = format_count(above, "row", "rows");
            self.print_dim_line(&format!("{}{rows} above", glyphs.fold), ui)?;
        }
        self.print_rows(shown, ui)?;
        if below > 0 {
            let rows = format_count(below, "row", "rows");
            self.print_dim_line(&format!("{}{rows} below", glyphs.fold), ui)?;
        }
        Ok(())
    }

    /// Returns the entry that a row shows: the last of those that are folded into it.
    fn shown_entry(&self, fold: &Range<usize>) -> EntryIx {
        self.look.drawing.tree_rows[fold.end - 1].entry
    }

    /// Prints a line about rows that are not drawn.
    fn print_dim_line(&self, line: &str, ui: &mut Ui) -> Result<(), Failure> {
        ui.print(&(apply_style(line, self.look.styles.dim) + "\n"))
    }

    /// Prints rows in batches, which are drawn in parallel. The bars at the start of each batch
    /// follow from all rows before it, so they are computed first.
    fn print_rows(&self, shown: Range<usize>, ui: &mut Ui) -> Result<(), Failure> {
        let places = &self.look.drawing.tree_rows;
        let mut bars = 0;
        let mut bars_at_starts = Vec::new();
        for (at, fold) in self.folds[..shown.end].iter().enumerate() {
            if at >= shown.start && (at - shown.start).is_multiple_of(BATCH_ROWS) {
                bars_at_starts.push(bars);
            }
            let place = &places[fold.end - 1];
            bars = bars_after(bars_beside_row(bars, place), place);
        }

        let folds = &self.folds[shown];
        let draw = |rows: &mut RowBuffer, batch: Range<usize>| {
            let bars = bars_at_starts[batch.start / BATCH_ROWS];
            self.draw_batch(folds, batch, bars, rows);
        };
        let empty_rows = RowBuffer::new(
            ui.row_width(),
            self.look.glyphs.ellipsis,
            self.clock.clone(),
        );
        draw_batches(&empty_rows, folds.len(), draw, ui)
    }

    /// Draws one batch of rows, given the bars before its first row.
    fn draw_batch(
        &self,
        folds: &[Range<usize>],
        batch: Range<usize>,
        bars_at_start: u32,
        rows: &mut RowBuffer,
    ) {
        let drawing = self.look.drawing;
        // The date is shown where it differs from that of the row before.
        let row_before = batch.start.checked_sub(1);
        let time_before =
            row_before.map(|at| drawing.session.entry(self.shown_entry(&folds[at])).time_ms);
        rows.set_previous_time(time_before);

        let mut bars = bars_at_start;
        for fold in &folds[batch] {
            if drawing.is_live() {
                rows.set_previous_time(None);
            }
            let place = &drawing.tree_rows[fold.end - 1];
            bars = bars_beside_row(bars, place);
            self.draw_row(fold, place, bars, rows);
            bars = bars_after(bars, place);
        }
    }

    /// Draws a row: its id, its time, its bars, the dot of the active path, its text, and its
    /// marks.
    fn draw_row(&self, fold: &Range<usize>, place: &TreeRow, bars: u32, rows: &mut RowBuffer) {
        let ix = place.entry;
        let EntryPainter {
            drawing,
            styles,
            glyphs,
            ..
        } = &self.look;
        let is_active = drawing.is_active(ix);
        rows.begin_row();
        if let Some(width) = self.id_width {
            rows.push_text(&drawing.session.id(ix));
            rows.pad_part(width);
            rows.push_str("  ");
            rows.finish_part(styles.dim);
        }
        if rows.clock.is_some() {
            rows.push_time(drawing.session.entry(ix).time_ms);
            rows.push_str("  ");
            rows.finish_part(styles.dim);
        }
        self.push_prefix(place, bars, rows);
        rows.finish_part(styles.dim);
        if is_active {
            rows.push_part(glyphs.bullet, styles.active);
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
        let marks = self.row_marks(place);
        let mut reserved: usize = marks.iter().map(|mark| display_width(&mark.text)).sum();
        if is_rule {
            reserved += 1 + MIN_RULE_LENGTH;
        }
        let fits = rows.columns_left.is_none_or(|left| left > reserved);
        if fits {
            rows.columns_left = rows.columns_left.map(|left| left - reserved);
        }

        if is_rule {
            rows.push_part(
                &format!("{} ", glyphs.rule.repeat(MIN_RULE_LENGTH)),
                rule_style,
            );
        }
        if fold.len() == 1 {
            self.look.draw_entry(rows, ix, !is_active);
        } else {
            self.draw_fold(fold, rows, !is_active);
        }
        if fits {
            let unused = rows.columns_left.take().unwrap_or(0);
            if is_rule {
                let rule = glyphs.rule.repeat(MIN_RULE_LENGTH + unused);
                rows.push_part(&format!(" {rule}"), rule_style);
            }
            for mark in &marks {
                rows.push_part(&mark.text, mark.style);
            }
        }
        rows.end_row();
    }

    /// Returns what is remarked at the end of a row.
    fn row_marks(&self, place: &TreeRow) -> Vec<RowMark> {
        let ix = place.entry;
        let EntryPainter {
            drawing,
            styles,
            glyphs,
            ..
        } = &self.look;
        let flags = drawing.session.entry(ix).flags;
        let mut marks = Vec::new();

        if self.marked_entry == Some(ix) {
            // What follows the conversation, such as a label or the mark of a switch, is no part of
            // it.
            let is_last = drawing.is_leaf(ix)
                || last_conversation_entry(drawing.session, drawing.leaf) == Some(ix);
            let hidden = if is_last { "" } else { " below, not shown" };
            marks.push(RowMark::new(
                format!("  {}{hidden}", glyphs.leaf),
                styles.active,
            ));
        }
        if drawing.is_undone(ix) {
            marks.push(RowMark::new("  (undone)".to_owned(), styles.dim));
        }
        if flags.contains(Flags::HIDDEN) {
            marks.push(RowMark::new("  (hidden)".to_owned(), styles.dim));
        }
        if flags.contains(Flags::IN_CYCLE) {
            marks.push(RowMark::new(
                "  (cycle of parents)".to_owned(),
                styles.error,
            ));
        }
        if let Some(labelled) = drawing.label_target(ix) {
            let id = to_visible(&labelled.to_string_lossy());
            marks.push(RowMark::new(format!("  (on {id})"), styles.dim));
        }
        if let Some(parent) = drawing.leaf_moved_to(ix) {
            let parent = match parent {
                Some(parent) => to_visible(&drawing.session.id(parent).to_string_lossy()),
                None => "root".to_owned(),
            };
            marks.push(RowMark::new(format!("  (after {parent})"), styles.active));
        }
        if place.has_connector
            && let Some(extent) = self.branch_extent(ix)
        {
            marks.push(RowMark::new(format!("  {extent}"), styles.dim));
        }
        marks
    }

    /// Returns the size of the branch below an entry and the age of its newest entry; `None` if it
    /// has only labels and other bookkeeping.
    fn branch_extent(&self, ix: EntryIx) -> Option<String> {
        let extent = self.branch_extents[ix.index()];
        let entries = format_count(extent.entry_count as usize, "entry", "entries");
        match extent.newest_ms {
            Some(newest) => Some(format!("({entries}, {})", format_age(self.now_ms, newest))),
            None if extent.entry_count > 0 => Some(format!("({entries})")),
            None => None,
        }
    }

    /// `⋯ 9 tools: 4 read, 3 edit, 2 bash, 1 failed`
    fn draw_fold(&self, fold: &Range<usize>, rows: &mut RowBuffer, is_dim: bool) {
        let EntryPainter {
            drawing,
            styles,
            glyphs,
            ..
        } = &self.look;
        rows.push_str(glyphs.fold);
        rows.push_number(fold.len(), 0);
        rows.push_str(" tools: ");
        rows.finish_part(styles.dim);

        for (at, (name, count)) in count_folded_tools(drawing, fold).iter().enumerate() {
            if at > 0 {
                rows.push_str(", ");
            }
            rows.push_number(*count, 0);
            rows.push_str(" ");
            rows.push_text(name);
        }
        rows.finish_part(if is_dim { styles.dim } else { Style::new() });

        let mut failed = 0;
        for place in &drawing.tree_rows[fold.clone()] {
            let entry = drawing.session.entry(place.entry);
            if Ending::from_entry(entry).is_some() {
                failed += 1;
            }
        }
        if failed > 0 {
            let style = if is_dim { styles.dim } else { styles.error };
            rows.push_part(&format!(", {failed} failed"), style);
        }
    }

    /// Appends the bars and the connector of a row. Levels beyond the maximum become one mark.
    fn push_prefix(&self, place: &TreeRow, bars: u32, rows: &mut RowBuffer) {
        let glyphs = &self.look.glyphs;
        let connector = match (place.has_connector, place.is_last) {
            (true, true) => glyphs.corner,
            (true, false) => glyphs.tee,
            (false, _) => "",
        };
        // The connector takes a level.
        let connector_levels = usize::from(place.has_connector);
        let levels = place.branch_points as usize - connector_levels;
        let shown = levels.min(self.max_levels - connector_levels);
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
