//! Draws the rows of the tree for people.

use crate::cli::ids::Ids;
use crate::cli::output::{
    Clock, Failure, Glyphs, RowBuffer, Styles, Ui, apply_style, display_width, to_visible,
    truncate_end,
};
use crate::cli::rows::batches::{BATCH_ROWS, draw_batches};
use crate::cli::rows::entry::{EntryPainter, ID_COLUMNS};
use crate::cli::rows::ids::IdPainter;
use crate::format::{
    format_age, format_count, format_dated_cost, format_tokens, group_digits, push_squeezed,
};
use crate::ops::rows::{
    GroupKind, RowGroup, SubtreeExtent, Tone, count_folded_tools, describing_entry,
    fold_left_branches, fold_tool_rows, last_label, measure_subtrees, ungrouped_rows,
};
use crate::ops::tree::{Layout, TreeView};
use crate::session::Session;
use crate::session::entry::{EntryIx, Flags, Kind};
use crate::session::paths::abbreviate_home;
use crate::session::reference::Position;
use crate::session::tree::TreeRow;
use crate::session::usage::UsageSums;
use owo_colors::Style;
use std::ops::Range;

/// The maximum number of levels that are indented. Deeper rows have the same indentation.
const MAX_LEVELS: usize = 24;

// A mask of bars has a bit for each level that is drawn.
const _: () = assert!(MAX_LEVELS <= u32::BITS as usize);

/// The width of a level, in columns: the width of a bar or a connector.
const LEVEL_COLUMNS: usize = 3;

/// The minimum number of columns for the text of a row, as in oh-my-pi.
const MIN_TEXT_COLUMNS: usize = 24;

/// The number of columns that are reserved for neither levels nor text.
const SPARE_COLUMNS: usize = 4;

/// The minimum length of a rule on each side of its text.
const MIN_RULE_LENGTH: usize = 2;

/// Prints the heading above a tree: the session's name, its project, its size and its usage. If the
/// line is too long, the name is truncated first, to not less than a third of the line; then the
/// rest is.
fn print_heading(
    session: &Session,
    usage: UsageSums,
    glyphs: Glyphs,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let width = ui.row_width().unwrap_or(usize::MAX);
    let details = heading_details(session, usage, ui).join(glyphs.dot);
    let details_width = display_width(&details) + display_width(glyphs.dot);
    let name_width = width.saturating_sub(details_width).max(width / 3);
    let name = match session.name() {
        Some(name) => truncate_end(&to_visible(&name.to_string()), name_width, glyphs.ellipsis),
        None => String::new(),
    };

    let rest = if name.is_empty() {
        details
    } else {
        format!("{}{details}", glyphs.dot)
    };
    let rest_width = width.saturating_sub(display_width(&name));
    let rest = truncate_end(&rest, rest_width, glyphs.ellipsis);
    let styled_name = apply_style(&name, ui.styles.bold);
    let styled_rest = apply_style(&rest, ui.styles.dim);
    ui.print(&format!("{styled_name}{styled_rest}\n"))
}

/// Returns what follows the name in the heading: the project, the number of entries, the tokens and
/// the cost, each if there is one.
fn heading_details(session: &Session, usage: UsageSums, ui: &Ui) -> Vec<String> {
    let mut details = Vec::new();
    if let Some(cwd) = &session.header.cwd {
        // If the home directory is `/`, every path would begin with `~`.
        let home = ui.home().filter(|home| home.len() > 1);
        let project = abbreviate_home(&cwd.to_string(), home.as_deref());
        details.push(to_visible(&project));
    }
    details.push(format_count(session.entries.len(), "entry", "entries"));
    if usage.total_tokens() > 0.0 {
        details.push(format!("{} tokens", format_tokens(usage.total_tokens())));
    }
    if usage.cost > 0.0 {
        details.push(format_dated_cost(usage.cost, usage.has_estimate()));
    }
    details
}

/// The bars of a row: the vertical lines beside it, which lead to later rows.
#[derive(Clone, Copy, Default)]
struct Bars {
    /// Bit N is set if level N has a bar. Levels beyond the mask have no bars, which is no loss: at
    /// most [`MAX_LEVELS`] levels are drawn.
    mask: u32,
}

impl Bars {
    /// Returns the bars beside a row, given those that reach it from above. Bars of deeper levels
    /// than the row end above it.
    fn beside_row(self, tree_row: &TreeRow) -> Bars {
        let levels = tree_row.level - u32::from(tree_row.has_connector);
        let deeper_levels = u32::MAX.checked_shl(levels).unwrap_or(0);
        Bars {
            mask: self.mask & !deeper_levels,
        }
    }

    /// Returns the bars that reach the next row, given the bars beside this row. If this row has a
    /// next sibling, a bar at the level of its connector leads there.
    fn below_row(self, tree_row: &TreeRow) -> Bars {
        let has_next_sibling = tree_row.has_connector && !tree_row.is_last;
        if !has_next_sibling {
            return self;
        }
        let connector_level = tree_row.level - 1;
        let bar_to_sibling = 1_u32.checked_shl(connector_level).unwrap_or(0);
        Bars {
            mask: self.mask | bar_to_sibling,
        }
    }

    fn has_bar(self, level: usize) -> bool {
        self.mask & (1 << level) != 0
    }
}

/// The options for drawing rows.
pub struct RowArgs {
    /// Whether consecutive tool results are folded into one row. In the layout of the trunk, a long
    /// branch that was left is folded, too.
    pub folds_rows: bool,
    pub shows_ids: bool,
    /// The clock that formats the time of each row; `None` if times are not shown.
    pub clock: Option<Clock>,
}

/// Draws rows, one after another.
pub struct TreePainter<'a> {
    /// Draws the text of an entry. It also has the drawing.
    entry_painter: EntryPainter<'a>,
    /// The printed rows, each with the rows of the drawing that it represents.
    groups: Vec<RowGroup>,
    /// The size and age of the subtree of each entry. Empty if no branch is drawn.
    subtree_extents: Vec<SubtreeExtent>,
    /// Whether each entry has a row in the drawing: a filter or a search hides others. Empty if no
    /// branch is drawn.
    is_drawn: Vec<bool>,
    now_ms: i64,
    /// The number of levels that are drawn: at least 1, at most [`MAX_LEVELS`].
    max_levels: usize,
    /// The column of ids; `None` if ids are not shown.
    id_column: Option<IdColumn<'a>>,
    clock: Option<Clock>,
    /// The entry that has the mark of the leaf.
    marked_entry: Option<EntryIx>,
}

/// The column of ids before the rows. It is as wide as the longest id.
struct IdColumn<'a> {
    ids: IdPainter<'a>,
    width: usize,
}

impl<'a> IdColumn<'a> {
    /// Returns a column that is as wide as the longest id in the rows, within limits.
    fn for_rows(drawing: &TreeView<'a>, styles: Styles) -> IdColumn<'a> {
        let session = drawing.session;
        let mut longest_id = 0;
        for tree_row in &drawing.tree_rows {
            longest_id = longest_id.max(session.entry(tree_row.entry).id.len as usize);
        }
        IdColumn {
            ids: IdPainter::new(session, styles),
            width: longest_id.min(ID_COLUMNS),
        }
    }
}

/// A mark at the end of a row.
struct RowMark {
    text: String,
    style: Style,
}

impl RowMark {
    fn new(text: String, style: Style) -> RowMark {
        RowMark { text, style }
    }
}

/// What follows the text of a row.
struct RowEnd {
    /// The style of the rule around the text; `None` if there is no rule.
    rule: Option<Style>,
    marks: Vec<RowMark>,
}

impl RowEnd {
    /// Returns the width of the marks and of the shortest rule.
    fn min_width(&self) -> usize {
        let mut width = 0;
        for mark in &self.marks {
            width += display_width(&mark.text);
        }
        if self.rule.is_some() {
            width += " ".len() + MIN_RULE_LENGTH;
        }
        width
    }
}

/// Returns the number of levels that fit into a terminal, at least 1. As in oh-my-pi, half of the
/// width is left for the text, and at least [`MIN_TEXT_COLUMNS`].
fn levels_that_fit(width: usize) -> usize {
    let text_columns = (width / 2).max(MIN_TEXT_COLUMNS);
    let levels = width.saturating_sub(text_columns + SPARE_COLUMNS) / LEVEL_COLUMNS;
    levels.max(1)
}

/// Returns the size of a branch in the words that pages use, too.
fn describe_size(extent: &SubtreeExtent) -> String {
    format_count(extent.entry_count as usize, "message", "messages")
}

/// Returns the rows to print. With `folds_rows`, adjacent rows of tools become one row. So does
/// each branch that was left, except in the layout of pi.
fn group_rows(entry_painter: &EntryPainter, folds_rows: bool) -> Vec<RowGroup> {
    let drawing = entry_painter.drawing;
    if !folds_rows {
        return ungrouped_rows(drawing);
    }
    let groups = fold_tool_rows(drawing, entry_painter.edits);
    if drawing.layout == Layout::Trunk {
        fold_left_branches(drawing, groups)
    } else {
        groups
    }
}

impl<'a> TreePainter<'a> {
    /// Returns a painter for all rows of the drawing in `entry_painter`.
    pub fn new(entry_painter: EntryPainter<'a>, args: RowArgs, ui: &Ui) -> Result<Self, Failure> {
        let drawing = entry_painter.drawing;
        let session = drawing.session;
        let groups = group_rows(&entry_painter, args.folds_rows);

        // Only rows with a connector show the sizes of their branches.
        let mut tree_rows = drawing.tree_rows.iter();
        let has_branches = tree_rows.any(|tree_row| tree_row.has_connector);
        let mut subtree_extents = Vec::new();
        let mut is_drawn = Vec::new();
        if has_branches {
            subtree_extents = measure_subtrees(session);
            is_drawn = drawn_mask(drawing);
        }
        let id_column = if args.shows_ids {
            Some(IdColumn::for_rows(drawing, ui.styles))
        } else {
            None
        };
        Ok(TreePainter {
            groups,
            subtree_extents,
            is_drawn,
            now_ms: Ids::new(ui)?.now_ms(ui),
            max_levels: match ui.row_width() {
                Some(width) => levels_that_fit(width).min(MAX_LEVELS),
                None => MAX_LEVELS,
            },
            id_column,
            clock: args.clock,
            marked_entry: drawing.marked_entry(),
            entry_painter,
        })
    }

    /// Prints the rows. Above them are a heading, if `usage` is given, and the number of pruned
    /// entries.
    ///
    /// If `around` is given, only rows within that distance from the leaf are printed, together
    /// with the numbers of rows left out above and below. With a heading, a pager opens at the
    /// leaf.
    pub fn print_tree(
        &self,
        usage: Option<UsageSums>,
        around: Option<usize>,
        pruned_count: usize,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let glyphs = self.entry_painter.glyphs;
        let shown = self.rows_around_leaf(around);
        let rows_above = shown.start;
        let rows_below = self.groups.len() - shown.end;
        let has_pruned = pruned_count > 0;
        if let Some(usage) = usage {
            self.open_pager_at_leaf(&shown, has_pruned, ui);
            print_heading(self.entry_painter.drawing.session, usage, glyphs, ui)?;
        }
        if has_pruned {
            self.print_pruned_count(pruned_count, ui)?;
        }
        if rows_above > 0 {
            let rows = format_count(rows_above, "row", "rows");
            self.print_dim_line(&format!("{}{rows} above", glyphs.fold), ui)?;
        }
        self.print_rows(shown, ui)?;
        if rows_below > 0 {
            let rows = format_count(rows_below, "row", "rows");
            self.print_dim_line(&format!("{}{rows} below", glyphs.fold), ui)?;
        }
        Ok(())
    }

    /// Prints how many entries were pruned from the session.
    fn print_pruned_count(&self, count: usize, ui: &mut Ui) -> Result<(), Failure> {
        let ellipsis = self.entry_painter.glyphs.ellipsis;
        let number = group_digits(count as f64);
        let entries = if count == 1 { "entry" } else { "entries" };
        self.print_dim_line(&format!("{ellipsis} {number} {entries} pruned"), ui)
    }

    /// Lets a pager open at the row of the leaf. `shown` are the rows to print; a heading precedes
    /// them, and lines with the numbers of pruned entries and of rows that are not shown.
    fn open_pager_at_leaf(&self, shown: &Range<usize>, has_pruned: bool, ui: &mut Ui) {
        let leaf_row = self
            .groups
            .iter()
            .position(|group| self.marked_entry == Some(self.shown_entry(group)))
            .unwrap_or(0);
        let has_rows_above = shown.start > 0;
        let has_rows_below = shown.end < self.groups.len();
        let lines_before = usize::from(has_rows_above) + usize::from(has_pruned);
        let lines_after = usize::from(has_rows_below);
        // The heading is line 1. Without lines in between, the first row is line 2.
        let leaf_line = 2 + lines_before + leaf_row - shown.start;
        let line_count = 1 + lines_before + shown.len() + lines_after;
        ui.set_pager_line(leaf_line, line_count);
    }

    /// If a printed row is folded, notes how to unfold it.
    pub fn note_folds(&self, around: Option<usize>, ui: &mut Ui) {
        let mut folded_branch = None;
        let mut has_tools = false;
        for group in &self.groups[self.rows_around_leaf(around)] {
            match group.kind {
                GroupKind::Entry => {}
                GroupKind::Tools => has_tools = true,
                GroupKind::Branch => folded_branch = Some(self.shown_entry(group)),
            }
        }
        if let Some(tip) = folded_branch {
            let id = self.entry_painter.drawing.session.id(tip);
            let id = to_visible(&id.to_string_lossy());
            ui.warn(&format!(
                "folded rows (hint: add --unfold, or {id} for one branch)"
            ));
        } else if has_tools {
            ui.warn("folded tool calls (hint: --unfold shows each)");
        }
    }

    /// Returns the range of groups to print: those within `around` rows from the leaf, or all
    /// groups.
    fn rows_around_leaf(&self, around: Option<usize>) -> Range<usize> {
        let entries = self.groups.iter().map(|group| self.shown_entry(group));
        self.entry_painter.drawing.rows_around_leaf(entries, around)
    }

    /// Returns the first row of the drawing that a printed row represents. It determines the level
    /// and the connector.
    fn first_tree_row(&self, group: &RowGroup) -> &TreeRow {
        &self.entry_painter.drawing.tree_rows[group.rows.start]
    }

    /// Returns the entry whose id and time a printed row has: the last one that the row represents.
    fn shown_entry(&self, group: &RowGroup) -> EntryIx {
        self.entry_painter.drawing.tree_rows[group.rows.end - 1].entry
    }

    /// Prints a dimmed line, for rows that are not drawn.
    fn print_dim_line(&self, line: &str, ui: &mut Ui) -> Result<(), Failure> {
        ui.print(&(apply_style(line, self.entry_painter.styles.dim) + "\n"))
    }

    /// Prints rows in batches, which are drawn in parallel.
    fn print_rows(&self, shown: Range<usize>, ui: &mut Ui) -> Result<(), Failure> {
        let bars_at_starts = self.find_bars_at_starts(shown.clone());
        let groups = &self.groups[shown];
        let draw = |rows: &mut RowBuffer, batch: Range<usize>| {
            // `draw_batches` begins a batch at each multiple of `BATCH_ROWS`.
            let bars_at_start = bars_at_starts[batch.start / BATCH_ROWS];
            self.draw_batch(groups, batch, bars_at_start, rows);
        };
        let empty_rows = RowBuffer::new(
            ui.row_width(),
            self.entry_painter.glyphs.ellipsis,
            self.clock.clone(),
        );
        draw_batches(&empty_rows, groups.len(), draw, ui)
    }

    /// Returns, for each batch of the `shown` rows, the bars that reach its first row from above.
    /// They depend on all rows above, even on rows that are not shown, so they are found before the
    /// batches are drawn.
    fn find_bars_at_starts(&self, shown: Range<usize>) -> Vec<Bars> {
        let mut bars = Bars::default();
        let mut bars_at_starts = Vec::new();
        for (index, group) in self.groups[..shown.end].iter().enumerate() {
            let is_shown = index >= shown.start;
            let starts_batch = is_shown && (index - shown.start).is_multiple_of(BATCH_ROWS);
            if starts_batch {
                bars_at_starts.push(bars);
            }
            let tree_row = self.first_tree_row(group);
            bars = bars.beside_row(tree_row).below_row(tree_row);
        }
        bars_at_starts
    }

    /// Draws one batch of rows. `bars_at_start` are the bars that reach its first row from above.
    fn draw_batch(
        &self,
        groups: &[RowGroup],
        batch: Range<usize>,
        bars_at_start: Bars,
        rows: &mut RowBuffer,
    ) {
        // A row shows its date only if the row above has another date. The row above the first one
        // belongs to the previous batch; the first batch has none.
        let time_above = match batch.start {
            0 => None,
            start => Some(self.time_of(&groups[start - 1])),
        };
        rows.set_previous_time(time_above);

        let is_live = self.entry_painter.drawing.is_live();
        let mut bars = bars_at_start;
        for group in &groups[batch] {
            // While a session is followed, each row shows its date.
            if is_live {
                rows.set_previous_time(None);
            }
            // A branch may begin or end at this row, so the bars beside and below it may differ.
            let tree_row = self.first_tree_row(group);
            bars = bars.beside_row(tree_row);
            self.draw_row(group, bars, rows);
            bars = bars.below_row(tree_row);
        }
    }

    /// Returns the time of a row, in milliseconds since 1970.
    fn time_of(&self, group: &RowGroup) -> i64 {
        let shown_entry = self.shown_entry(group);
        self.entry_painter
            .drawing
            .session
            .entry(shown_entry)
            .time_ms
    }

    /// Draws a row: its id, its time, its bars, the dot of the active path, its text, and its
    /// marks. A compaction or a reset is drawn as a rule, with the text inside.
    ///
    /// If the text has to be truncated, the marks and the end of the rule stay visible, as long as
    /// there is space for any text.
    fn draw_row(&self, group: &RowGroup, bars: Bars, rows: &mut RowBuffer) {
        self.draw_row_start(group, bars, rows);
        let row_end = self.row_end(group);
        let end_width = row_end.min_width();
        let has_room_for_end = rows.columns_left.is_none_or(|left| left > end_width);
        if has_room_for_end {
            rows.reserve_columns(end_width);
        }

        if let Some(style) = row_end.rule {
            let rule_start = self.entry_painter.glyphs.rule.repeat(MIN_RULE_LENGTH);
            rows.push_part(&format!("{rule_start} "), style);
        }
        self.draw_text(group, rows);
        if has_room_for_end {
            self.draw_row_end(&row_end, rows);
        }
        rows.end_row();
    }

    /// Draws the text of a row. It is dimmed if the entry is not on the active path.
    fn draw_text(&self, group: &RowGroup, rows: &mut RowBuffer) {
        let ix = self.shown_entry(group);
        let is_dim = !self.entry_painter.drawing.is_active(ix);
        match group.kind {
            GroupKind::Entry => self.entry_painter.draw_entry(rows, ix, is_dim),
            GroupKind::Tools => self.draw_tools(&group.rows, rows, is_dim),
            GroupKind::Branch => self.draw_branch(&group.rows, rows),
        }
    }

    /// Returns what follows the text of a row.
    fn row_end(&self, group: &RowGroup) -> RowEnd {
        let marks = match group.kind {
            GroupKind::Branch => self.branch_marks(group),
            GroupKind::Entry | GroupKind::Tools => self.row_marks(group),
        };
        RowEnd {
            rule: self.row_rule(group),
            marks,
        }
    }

    /// Draws what follows the text of a row, for which [`RowEnd::min_width`] columns were reserved.
    fn draw_row_end(&self, row_end: &RowEnd, rows: &mut RowBuffer) {
        // From here on, nothing is truncated. A rule also takes the columns that the text left.
        let unused_columns = rows.columns_left.take().unwrap_or(0);
        if let Some(style) = row_end.rule {
            let glyph = self.entry_painter.glyphs.rule;
            let rule_end = glyph.repeat(MIN_RULE_LENGTH + unused_columns);
            rows.push_part(&format!(" {rule_end}"), style);
        }
        for mark in &row_end.marks {
            rows.push_part(&mark.text, mark.style);
        }
    }

    /// Returns the style of the rule around the text of a compaction or a reset; `None` for other
    /// rows, which have no rule.
    fn row_rule(&self, group: &RowGroup) -> Option<Style> {
        let ix = self.shown_entry(group);
        let drawing = self.entry_painter.drawing;
        let kind = drawing.session.entry(ix).kind;
        let has_rule = group.kind == GroupKind::Entry
            && matches!(kind, Kind::Compaction | Kind::ResetBoundary);
        if !has_rule {
            return None;
        }
        if drawing.is_active(ix) {
            Some(self.entry_painter.styles.summary)
        } else {
            Some(self.entry_painter.styles.dim)
        }
    }

    /// Draws the part of a row before its text: its id and its time if they are shown, its bars,
    /// and the dot of the active path.
    fn draw_row_start(&self, group: &RowGroup, bars: Bars, rows: &mut RowBuffer) {
        let ix = self.shown_entry(group);
        let EntryPainter {
            drawing,
            styles,
            glyphs,
            ..
        } = &self.entry_painter;
        rows.begin_row();
        if let Some(column) = &self.id_column {
            column.ids.draw_id(rows, ix, column.width);
        }
        let shows_time = rows.clock.is_some();
        if shows_time {
            rows.push_time(drawing.session.entry(ix).time_ms);
            rows.push_str("  ");
            rows.finish_part(styles.dim);
        }

        self.push_bars(group, bars, rows);
        rows.finish_part(styles.dim);
        if drawing.is_active(ix) {
            rows.push_part(glyphs.bullet, styles.active);
        }
    }

    /// Returns the mark of the entry `ix`, which is the drawn leaf, or the nearest entry above it
    /// that is shown. There are three marks:
    ///
    /// - a note that the drawn leaf is not shown;
    /// - the mark of the active leaf, from which the agent continues;
    /// - the mark of the drawn leaf, if a REF names another entry than the active leaf.
    fn leaf_mark(&self, ix: EntryIx) -> RowMark {
        let EntryPainter {
            drawing,
            styles,
            glyphs,
            ..
        } = &self.entry_painter;
        let session = drawing.session;
        // The leaf may be bookkeeping, such as a label. Then the last entry of the conversation
        // above it is marked, because people see that as the end.
        let drawn_end = session.conversation_end(drawing.leaf);
        if !drawing.is_leaf(ix) && drawn_end != Some(ix) {
            return RowMark::new("  (the leaf is below, not shown)".to_owned(), styles.dim);
        }

        // A live drawing has only new entries, and its leaf is always the active one.
        let is_active = drawing.is_live() || drawn_end == session.conversation_end(session.leaf);
        let glyph = if is_active {
            glyphs.leaf
        } else {
            glyphs.drawn_leaf
        };
        RowMark::new(format!("  {glyph}"), styles.active)
    }

    /// Returns the marks at the end of a row: that the entry is the leaf, undone, hidden, or in a
    /// cycle of parents; which other entry it refers to; and the size of a branch that begins here.
    fn row_marks(&self, group: &RowGroup) -> Vec<RowMark> {
        let ix = self.shown_entry(group);
        let EntryPainter {
            drawing, styles, ..
        } = &self.entry_painter;
        let flags = drawing.session.entry(ix).flags;
        let mut marks = Vec::new();

        if self.marked_entry == Some(ix) {
            marks.push(self.leaf_mark(ix));
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
        // A compaction names the first entry that it keeps.
        if let Some(&kept) = drawing.first_kept.get(&ix) {
            let id = to_visible(&drawing.session.id(kept).to_string_lossy());
            marks.push(RowMark::new(format!("  (kept from {id})"), styles.dim));
        }
        if let Some(labelled) = drawing.label_target(ix) {
            let id = to_visible(&labelled.to_string_lossy());
            marks.push(RowMark::new(format!("  (on {id})"), styles.dim));
        }
        // With `--follow`, a new entry on another branch names the entry that it continues.
        if let Some(parent) = drawing.leaf_moved_to(ix) {
            let parent = match parent {
                Position::Entry(ix) => to_visible(&drawing.session.id(ix).to_string_lossy()),
                Position::Root => "root".to_owned(),
            };
            marks.push(RowMark::new(format!("  (after {parent})"), styles.active));
        }
        let first_row = self.first_tree_row(group);
        if first_row.has_connector
            && let Some(extent) = self.describe_extent(first_row.entry)
        {
            marks.push(RowMark::new(format!("  {extent}"), styles.dim));
        }
        marks
    }

    /// Returns the number of messages of the branch whose first row has the entry `first_drawn`,
    /// and the time of its newest entry.
    ///
    /// A filter or a search may hide the first entries of the branch, which are above
    /// `first_drawn`. They count, too, so that a branch has the same size in each view.
    fn branch_extent(&self, first_drawn: EntryIx) -> SubtreeExtent {
        let session = self.entry_painter.drawing.session;
        let mut extent = self.subtree_extents[first_drawn.index()];
        // Labels, marks and other notes are no part of the branch above them.
        if extent.entry_count == 0 {
            return extent;
        }
        for above in session.ancestors(session.entry(first_drawn).parent) {
            if self.is_branch_point(above, &extent) {
                break;
            }
            extent = self.subtree_extents[above.index()];
        }
        extent
    }

    /// Whether a branch begins below an entry, and so does not include it: the entry is on the path
    /// to the leaf, is drawn itself, or has messages on other branches. `extent_of_child` is the
    /// extent of the subtree from which the search comes.
    fn is_branch_point(&self, ix: EntryIx, extent_of_child: &SubtreeExtent) -> bool {
        self.entry_painter.drawing.is_active(ix)
            || self.is_drawn[ix.index()]
            || self.has_other_branches(ix, extent_of_child)
    }

    /// Whether the subtree of an entry has messages that are not below one of its children.
    /// `extent_of_child` is the extent of the subtree of that child.
    fn has_other_branches(&self, ix: EntryIx, extent_of_child: &SubtreeExtent) -> bool {
        // The entry itself counts in its subtree, unless it is a note.
        let entry = self.entry_painter.drawing.session.entry(ix);
        let is_message = !entry.kind.is_bookkeeping();
        let count_without_others = extent_of_child.entry_count + u32::from(is_message);
        self.subtree_extents[ix.index()].entry_count > count_without_others
    }

    /// Returns the size of a branch, and the age of its newest entry, as in `(8 messages, 2h)`.
    /// `None` if the branch has only bookkeeping. `first_drawn` is the entry of its first row.
    fn describe_extent(&self, first_drawn: EntryIx) -> Option<String> {
        let extent = self.branch_extent(first_drawn);
        let size = describe_size(&extent);
        match extent.newest_ms {
            Some(newest) => Some(format!("({size}, {})", format_age(self.now_ms, newest))),
            None if extent.entry_count > 0 => Some(format!("({size})")),
            None => None,
        }
    }

    /// Returns the marks at the end of the row of a folded branch: whether the branch was undone,
    /// and the age of its newest entry.
    fn branch_marks(&self, group: &RowGroup) -> Vec<RowMark> {
        let styles = &self.entry_painter.styles;
        let mut marks = Vec::new();
        // The row represents the branch by its last entry, whose id and time it shows.
        let last_entry = self.shown_entry(group);
        if self.entry_painter.drawing.is_undone(last_entry) {
            marks.push(RowMark::new("  (undone)".to_owned(), styles.dim));
        }
        let first_entry = self.first_tree_row(group).entry;
        if let Some(newest_ms) = self.branch_extent(first_entry).newest_ms {
            let age = format_age(self.now_ms, newest_ms);
            marks.push(RowMark::new(format!("  {age}"), styles.dim));
        }
        marks
    }

    /// Draws the text of a folded branch, such as `8 messages · [label] Just add`: its size, its
    /// last label, and its first user message.
    fn draw_branch(&self, branch_rows: &Range<usize>, rows: &mut RowBuffer) {
        let EntryPainter {
            drawing,
            styles,
            glyphs,
            ..
        } = &self.entry_painter;
        let first_entry = drawing.tree_rows[branch_rows.start].entry;
        rows.push_str(&describe_size(&self.branch_extent(first_entry)));
        rows.push_str(glyphs.dot);
        rows.finish_part(styles.dim);

        if let Some(label) = last_label(drawing, branch_rows) {
            rows.push_str("[");
            rows.push_text(&label);
            rows.push_str("] ");
            rows.finish_part(styles.label);
        }

        let row = drawing.row(describing_entry(drawing, branch_rows));
        if row.tone != Tone::User {
            rows.push_text(&row.role);
            rows.push_str(": ");
        }
        push_squeezed(&mut rows.text, &row.body);
        rows.finish_part(styles.dim);
    }

    /// Draws the text of folded tool results, such as `⋯ 9 tools: 4 read, 3 edit, 2 bash, 1
    /// failed`.
    fn draw_tools(&self, tool_rows: &Range<usize>, rows: &mut RowBuffer, is_dim: bool) {
        let EntryPainter {
            drawing,
            styles,
            glyphs,
            ..
        } = &self.entry_painter;
        rows.push_str(glyphs.fold);
        rows.push_number(tool_rows.len(), 0);
        rows.push_str(" tools: ");
        rows.finish_part(styles.dim);

        for (index, tool) in count_folded_tools(drawing, tool_rows).iter().enumerate() {
            if index > 0 {
                rows.push_str(", ");
            }
            rows.push_number(tool.row_count, 0);
            rows.push_str(" ");
            rows.push_text(&tool.name);
        }
        rows.finish_part(if is_dim { styles.dim } else { Style::new() });

        let failed_count = count_failed(drawing, tool_rows);
        if failed_count > 0 {
            let style = if is_dim { styles.dim } else { styles.error };
            rows.push_part(&format!(", {failed_count} failed"), style);
        }
    }

    /// Appends the bars of a row, then its connector if it has one. Each takes a level. A level
    /// without a bar is blank. If there are more levels than `max_levels`, an ellipsis replaces the
    /// deeper bars.
    fn push_bars(&self, group: &RowGroup, bars: Bars, rows: &mut RowBuffer) {
        let glyphs = &self.entry_painter.glyphs;
        let tree_row = self.first_tree_row(group);
        // The connector takes the last level of its row, so the bars have the others. A row with a
        // connector is at least on level 1, and `max_levels` is at least 1.
        let connector_levels = usize::from(tree_row.has_connector);
        let bar_levels = tree_row.level as usize - connector_levels;
        let max_bar_levels = self.max_levels - connector_levels;
        for level in 0..bar_levels.min(max_bar_levels) {
            if bars.has_bar(level) {
                rows.push_str(glyphs.bar);
            } else {
                // As wide as a bar.
                rows.push_str("   ");
            }
        }
        if bar_levels > max_bar_levels {
            rows.push_str(glyphs.ellipsis);
            rows.push_str(" ");
        }

        if tree_row.has_connector {
            rows.push_str(self.connector(group));
        }
    }

    /// Returns the connector of a row: a corner for the last of several siblings, else a tee.
    fn connector(&self, group: &RowGroup) -> &'static str {
        let glyphs = &self.entry_painter.glyphs;
        let is_folded = group.kind == GroupKind::Branch;
        match (self.first_tree_row(group).is_last, is_folded) {
            (true, true) => glyphs.folded_corner,
            (true, false) => glyphs.corner,
            (false, true) => glyphs.folded_tee,
            (false, false) => glyphs.tee,
        }
    }
}

/// Returns, for each entry of the session, whether it has a row in the drawing.
fn drawn_mask(drawing: &TreeView) -> Vec<bool> {
    let mut is_drawn = vec![false; drawing.session.entries.len()];
    for tree_row in &drawing.tree_rows {
        is_drawn[tree_row.entry.index()] = true;
    }
    is_drawn
}

/// Returns how many of these tool results failed or were aborted.
fn count_failed(drawing: &TreeView, tool_rows: &Range<usize>) -> usize {
    let mut failed_count = 0;
    for tree_row in &drawing.tree_rows[tool_rows.clone()] {
        let entry = drawing.session.entry(tree_row.entry);
        if entry.ending().is_some() {
            failed_count += 1;
        }
    }
    failed_count
}
