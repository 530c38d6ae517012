//! Rows of entries, which several commands print.

use crate::agents::pi::edits::ContextEdit;
use crate::agents::row::RowOptions;
use crate::cli::navigation::conversation_entry;
use crate::cli::open::OpenSession;
use crate::cli::options::ChangeArgs;
use crate::cli::output::{
    Cell, Clock, Failure, Glyphs, RowBuffer, Styles, Ui, display_width, fitting_bytes, to_visible,
    to_visible_lines, truncate_end, truncate_path,
};
use crate::cli::rows::batches::draw_batches;
use crate::cli::rows::ids::IdPainter;
use crate::cli::rows::path_links::PathLinks;
use crate::cli::transaction::copy_failure;
use crate::format::push_squeezed;
use crate::load::LoadOptions;
use crate::ops::rows::{EntryRow, Tone};
use crate::ops::tree::{TreeView, view_without_layout};
use crate::session::Session;
use crate::session::entry::{Ending, EntryIx, Flags, Kind, Role};
use crate::session::reference::Position;
use crate::session::search::Hit;
use foldhash::HashMap;
use owo_colors::Style;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::write_valid;
use std::borrow::Cow;
use std::io;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// The maximum width of the id column, which fits a UUID. A longer id shifts the rest of its row.
pub const ID_COLUMNS: usize = 36;

/// Returns the options for loading a session whose rows are printed for people.
pub fn row_options(ui: &Ui) -> LoadOptions {
    row_options_for(false, ui)
}

/// Returns the options for loading a session whose rows are printed. With `json`, a row has exactly
/// the text that the agent's own tree view shows. For people, its paths are shortened, and what was
/// cut off is marked.
pub fn row_options_for(json: bool, ui: &Ui) -> LoadOptions {
    let home = ui.home().map(Text::from);
    let rows = RowOptions {
        home,
        readable: !json,
    };
    LoadOptions {
        rows: Some(rows),
        ..LoadOptions::default()
    }
}

/// Returns the style of the role, the first word of a row.
pub fn tone_style(tone: Tone, styles: &Styles) -> Style {
    match tone {
        Tone::User => styles.user,
        Tone::Assistant => styles.assistant,
        Tone::Summary => styles.summary,
        Tone::Tool | Tone::Note => styles.dim,
    }
}

/// Returns a row as a cell: its role, how the entry ended, and its text.
pub fn row_cell(row: &EntryRow, styles: &Styles) -> Cell {
    let ending = row.ending.map(ending_mark);
    let body = row.body.to_string_lossy();
    let colon = if body.is_empty() && ending.is_none() {
        ""
    } else {
        ": "
    };
    let mut cell = vec![(
        to_visible(&format!("{}{colon}", row.role)),
        tone_style(row.tone, styles),
    )];
    if let Some(mark) = ending {
        cell.push((format!("{mark} "), styles.error));
    }
    cell.push((to_visible(&body), Style::new()));
    cell
}

fn ending_mark(ending: Ending) -> &'static str {
    match ending {
        Ending::Failed => "[failed]",
        Ending::Aborted => "[aborted]",
    }
}

/// The maximum width, in columns, of an entry's row in a message to the user.
const MAX_DESCRIPTION_WIDTH: usize = 60;

/// Describes an entry in a message to the user: its id, and the beginning of its row, as in
/// `1f2e3d4c  user: Fix the tests`.
///
/// Rows are not read when a session is loaded, so the row is read first, and added to the session.
pub fn describe_entry(open: &mut OpenSession, ix: EntryIx, ui: &Ui) -> Result<String, Failure> {
    open.add_rows(&[ix], row_options(ui))?;
    let view = view_without_layout(&open.session, Some(ix));
    let mut row_text = String::new();
    for (part, _style) in row_cell(&view.row(ix), &ui.styles) {
        row_text.push_str(&part);
    }
    let id = to_visible(&open.session.id(ix).to_string_lossy());
    let beginning = truncate_end(&row_text, MAX_DESCRIPTION_WIDTH, "…");
    Ok(format!("{id}  {beginning}"))
}

/// Describes an entry as [`describe_entry`] does, but reads only its own line. A usual row of a
/// tool result shows the call, which is on another line. So only the name of the tool is given, as
/// in `9e04b3d8  result of bash`.
pub fn describe_entry_alone(
    open: &mut OpenSession,
    ix: EntryIx,
    ui: &Ui,
) -> Result<String, Failure> {
    if !open.session.is_message(ix, Role::ToolResult) {
        return describe_entry(open, ix, ui);
    }
    let reader = open.entry_reader();
    let line = open.input.map_read_error(reader.read_line(ix))?;
    let message = Raw::from_checked(line.trim_ascii()).get("message");
    let tool = message.and_then(|message| message.get_text("toolName"));
    let tool = tool.unwrap_or_default().to_string_lossy().into_owned();
    let id = open.session.id(ix).to_string_lossy().into_owned();
    Ok(to_visible(&format!("{id}  result of {tool}")))
}

/// Reports where the conversation continues, after a change that moved the leaf to `leaf`, or with
/// `-n` would move it. The change is written, so a failure to describe the entry is not one of the
/// command.
///
/// `leaf` may be an entry that another program appended after `open` was read, while the command
/// waited for the lock. Then nothing is reported.
pub fn report_destination(
    open: &mut OpenSession,
    leaf: Position,
    change: &ChangeArgs,
    ui: &mut Ui,
) {
    let entry_count = open.session.entry_indexes().len();
    if leaf.entry().is_some_and(|ix| ix.index() >= entry_count) {
        return;
    }
    let described = match conversation_entry(open, leaf) {
        Ok(Some(ix)) => describe_entry_alone(open, ix, ui),
        Ok(None) => Ok("root".to_owned()),
        Err(failure) => Err(failure),
    };
    if let Ok(destination) = described {
        print_destination(&destination, change, ui);
    }
}

/// Prints where the conversation continues, or with `-n` would continue.
pub fn print_destination(destination: &str, change: &ChangeArgs, ui: &mut Ui) {
    let verb = if change.dry_run { "would be" } else { "now" };
    ui.print_status(&format!("{verb} at {destination}"));
}

/// Returns the mark of an entry that was edited or omitted.
pub fn edit_mark(edited: ContextEdit) -> &'static str {
    match edited {
        ContextEdit::Replace(_) => "[edited]",
        ContextEdit::Omit => "[omitted]",
    }
}

/// Returns the mark of an entry with this many images.
pub fn image_mark(count: usize) -> Cow<'static, str> {
    match count {
        1 => "[image]".into(),
        _ => format!("[{count} images]").into(),
    }
}

/// Prints entries as lines of version 3.
///
/// Most lines can be copied from the file unchanged. A long run of such lines that are adjacent in
/// the file is copied by the kernel, if possible. Other lines are written one by one.
pub fn print_entry_lines(
    open: &OpenSession,
    entries: &[EntryIx],
    ui: &mut Ui,
) -> Result<(), Failure> {
    let session = &open.session;
    let reader = open.entry_reader();
    let is_utf8 = session.is_utf8();
    // On a terminal, and in a file with invalid bytes, each line has to be escaped or repaired.
    let may_copy = is_utf8 && !ui.stdout_is_terminal();
    for run in entries.chunk_by(|&above, &below| may_be_copied_together(session, above, below)) {
        if may_copy && let Some(bytes) = find_long_run(session, run) {
            copy_run(open, bytes, ui)?;
            continue;
        }
        for &ix in run {
            let write = |line: &[u8]| write_line(line.trim_ascii(), is_utf8, ui);
            let written = open.input.map_read_error(reader.with_line(ix, write))?;
            written.map_err(Failure::from_stdout_error)?;
        }
    }
    Ok(())
}

/// Whether two lines are adjacent in the file, and both are printed as they are stored.
fn may_be_copied_together(session: &Session, above: EntryIx, below: EntryIx) -> bool {
    // One byte separates adjacent lines, the newline.
    let newline_len = 1;
    let end_above = session.entry(above).span.end();
    let are_adjacent = session.entry(below).span.start == end_above + newline_len;
    are_adjacent && is_stored_as_printed(session, above) && is_stored_as_printed(session, below)
}

/// Whether the line of an entry is printed as it is stored: it is of version 3, and has no white
/// space around it.
fn is_stored_as_printed(session: &Session, ix: EntryIx) -> bool {
    !session.needs_migration(ix) && !session.entry(ix).flags.contains(Flags::PADDED)
}

/// Returns the bytes of a run of lines, if it is long and may be copied. The lines of `run` may be
/// copied together; a line that may not be copied is a run of its own.
fn find_long_run(session: &Session, run: &[EntryIx]) -> Option<Range<u64>> {
    let first = *run.first()?;
    let last = *run.last()?;
    let bytes = session.entry(first).span.start..session.entry(last).span.end();
    let is_long = bytes.end - bytes.start >= LONG_RUN_BYTES;
    if is_long && is_stored_as_printed(session, first) {
        Some(bytes)
    } else {
        None
    }
}

/// Prints the bytes of adjacent lines as they are in the file, and a newline after the last.
fn copy_run(open: &OpenSession, bytes: Range<u64>, ui: &mut Ui) -> Result<(), Failure> {
    let sent = ui
        .print_range(open.input.source(), bytes)
        .and_then(|()| ui.stdout().write_all(b"\n"));
    sent.map_err(|error| copy_failure(&open.input, error))
}

/// Writes a line of a session. It is escaped on a terminal.
fn write_line(line: &[u8], is_utf8: bool, ui: &mut Ui) -> io::Result<()> {
    if ui.stdout_is_terminal() {
        let shown = String::from_utf8_lossy(line);
        ui.stdout().write_all(to_visible_lines(&shown).as_bytes())?;
    } else {
        write_valid(ui.stdout(), line, is_utf8)?;
    }
    ui.stdout().write_all(b"\n")
}

/// The minimum size of a run of lines that is sent at once, and not line by line.
const LONG_RUN_BYTES: u64 = 128 * 1024;

/// Prints a row for each entry: its line, its id, its time, its label, and its text. The columns of
/// lines and ids are as wide as their longest values, so that rows are aligned.
pub fn print_rows(
    drawing: &TreeView,
    edits: &HashMap<EntryIx, ContextEdit>,
    entries: &[EntryIx],
    ui: &mut Ui,
) -> Result<(), Failure> {
    let session = drawing.session;
    let links = PathLinks::new(session, ui);
    let id_lens = entries.iter().map(|&ix| session.entry(ix).id.len as usize);
    let painter = AlignedRowPainter {
        painter: EntryPainter {
            drawing,
            edits,
            links: links.as_ref(),
            styles: ui.styles,
            glyphs: Glyphs::UNICODE,
        },
        entries,
        ids: IdPainter::new(session, ui.styles),
        line_width: match session.entry_indexes().next_back() {
            Some(last) => session.shown_line(last).0.to_string().len(),
            None => 1,
        },
        id_width: id_lens.max().unwrap_or(0).min(ID_COLUMNS),
    };
    let clock = Some(Clock::new(ui));
    let empty = RowBuffer::new(ui.row_width(), Glyphs::UNICODE.ellipsis, clock);
    let draw = |rows: &mut RowBuffer, batch: Range<usize>| painter.draw_batch(rows, batch);
    draw_batches(&empty, entries.len(), draw, ui)
}

/// Draws rows that begin with the line, the id and the time of an entry.
struct AlignedRowPainter<'a> {
    painter: EntryPainter<'a>,
    entries: &'a [EntryIx],
    ids: IdPainter<'a>,
    /// The width of the column of lines.
    line_width: usize,
    id_width: usize,
}

impl AlignedRowPainter<'_> {
    /// Draws the rows of some of the entries.
    fn draw_batch(&self, rows: &mut RowBuffer, batch: Range<usize>) {
        let session = self.painter.drawing.session;
        // A row shows no date if the row above has the same date. For the first row of a batch, the
        // row above belongs to the previous batch.
        let time_above = match batch.start {
            0 => None,
            start => Some(session.entry(self.entries[start - 1]).time_ms),
        };
        rows.set_previous_time(time_above);
        for &ix in &self.entries[batch] {
            self.draw_row(rows, ix);
        }
    }

    fn draw_row(&self, rows: &mut RowBuffer, ix: EntryIx) {
        let session = self.painter.drawing.session;
        let dim = self.painter.styles.dim;
        rows.begin_row();
        rows.push_number(session.shown_line(ix).0 as usize, self.line_width);
        rows.push_str("  ");
        rows.finish_part(dim);
        self.ids.draw_id(rows, ix, self.id_width);
        rows.push_time(session.entry(ix).time_ms);
        rows.push_str("  ");
        rows.finish_part(dim);
        let is_dim = false;
        self.painter.draw_entry(rows, ix, is_dim);
        rows.end_row();
    }
}

/// Draws the text of entries into rows.
pub struct EntryPainter<'a> {
    pub drawing: &'a TreeView<'a>,
    /// The entries to mark as edited.
    pub edits: &'a HashMap<EntryIx, ContextEdit>,
    /// The links on paths; `None` if links are disabled.
    pub links: Option<&'a PathLinks>,
    pub styles: Styles,
    pub glyphs: Glyphs,
}

impl EntryPainter<'_> {
    /// Draws the label, the role, the marks and the body of an entry into the rest of its row, as
    /// in `[label] user: [edited] [image] Fix the tests`. With `is_dim`, everything but the label
    /// is dimmed.
    pub fn draw_entry(&self, rows: &mut RowBuffer, ix: EntryIx, is_dim: bool) {
        if let Some(label) = self.drawing.label(ix) {
            rows.push_str("[");
            rows.push_text(&label);
            rows.push_str("] ");
            rows.finish_part(self.styles.label);
        }

        let dim_or = |style: Style| if is_dim { self.styles.dim } else { style };
        let row = self.drawing.row(ix);
        let edit = self.edits.get(&ix).copied();
        let marks = self.marks(ix, &row, edit);
        rows.push_text(&row.role);
        let has_mark = marks.iter().any(Option::is_some);
        if has_mark || !row.body.is_empty() {
            rows.push_str(": ");
        }
        rows.finish_part(dim_or(tone_style(row.tone, &self.styles)));
        for (mark, style) in marks.into_iter().flatten() {
            rows.push_part(&mark, dim_or(style));
            rows.push_part(" ", Style::new());
        }

        let body_style = dim_or(self.body_style(&row, edit));
        match self.drawing.failure_reasons.get(&ix) {
            Some(reason) => self.draw_with_reason(rows, ix, &row, reason, body_style),
            None => self.draw_body(rows, ix, &row, body_style),
        }
    }

    /// Returns the style of the body of an entry. It is dimmed if a model does not see the entry:
    /// settings and labels are notes, and an entry may be omitted.
    fn body_style(&self, row: &EntryRow, edit: Option<ContextEdit>) -> Style {
        if row.tone == Tone::Note || edit == Some(ContextEdit::Omit) {
            self.styles.dim
        } else {
            Style::new()
        }
    }

    /// Draws the body of an entry, and why it failed. If there is no space for both, each has at
    /// least half of it.
    fn draw_with_reason(
        &self,
        rows: &mut RowBuffer,
        ix: EntryIx,
        row: &EntryRow,
        reason: &str,
        style: Style,
    ) {
        let reason = format!("{}{}", self.glyphs.dot, to_visible(reason));
        let half = rows.columns_left.unwrap_or(0) / 2;
        let reserved_columns = display_width(&reason).min(half);
        rows.reserve_columns(reserved_columns);
        self.draw_body(rows, ix, row, style);
        rows.release_columns(reserved_columns);
        rows.push_part(&reason, style);
    }

    /// Returns the marks between the role and the body of an entry, with their styles: whether it
    /// failed or was aborted, whether it was edited or omitted, and how many images it has.
    fn marks(
        &self,
        ix: EntryIx,
        row: &EntryRow,
        edit: Option<ContextEdit>,
    ) -> [Option<(Cow<'static, str>, Style)>; 3] {
        let ending = row
            .ending
            .map(|ending| (ending_mark(ending).into(), self.styles.error));
        let edit = edit.map(|edit| (edit_mark(edit).into(), self.styles.summary));
        let image = self.image_mark(ix).map(|mark| (mark, self.styles.dim));
        [ending, edit, image]
    }

    /// Returns the mark of an entry with images; `None` if it has none.
    fn image_mark(&self, ix: EntryIx) -> Option<Cow<'static, str>> {
        let session = self.drawing.session;
        if !session.entry(ix).flags.contains(Flags::IMAGES) {
            return None;
        }
        Some(image_mark(session.collected.image_count(ix)))
    }

    /// Draws the body of an entry as far as it fits. In a search, the match is kept visible.
    /// Otherwise, a path in the body is truncated in its middle, and is a link if links are
    /// enabled.
    fn draw_body(&self, rows: &mut RowBuffer, ix: EntryIx, row: &EntryRow, style: Style) {
        let is_search = !self.drawing.words.is_empty();
        let link_address = self.path_address(row);
        let may_cut_path = !row.path.is_empty() && rows.columns_left.is_some();
        // Most rows have neither a search nor a path to care for. Their bodies are written to the
        // row without another copy.
        if !is_search && !may_cut_path && link_address.is_none() {
            push_squeezed(&mut rows.text, &row.body);
            return rows.finish_part(style);
        }

        let mut body_bytes = Vec::new();
        push_squeezed(&mut body_bytes, &row.body);
        let body = String::from_utf8_lossy(&body_bytes);
        if is_search {
            return self.draw_match(rows, ix, row, &body, style);
        }
        // `push_squeezed` may have changed the body, for example several spaces to one. Then the
        // range of the path no longer applies, so the body is drawn as if it had none.
        let has_range_of_path = body == row.body.to_string_lossy();
        if has_range_of_path {
            self.draw_body_with_path(rows, &body, &row.path, link_address.as_deref(), style);
        } else {
            rows.push_part(&body, style);
        }
    }

    /// Draws a body that contains a path, at the range `path`. If the body does not fit, the path
    /// is truncated in its middle. With an address, the path is a link.
    fn draw_body_with_path(
        &self,
        rows: &mut RowBuffer,
        body: &str,
        path: &Range<usize>,
        address: Option<&str>,
        style: Style,
    ) {
        let room = rows.columns_left.unwrap_or(usize::MAX);
        let shown = truncate_path(body, path.clone(), room, self.glyphs.ellipsis);
        // The path, or what is left of it, may be a link, so it is a part of its own.
        let shown_path = find_shown_path(&shown, body, path);
        let before = &shown[..shown_path.start];
        let after = &shown[shown_path.end..];
        rows.push_part(before, style);
        rows.push_linked_part(&shown[shown_path], style, address);
        rows.push_part(after, style);
    }

    /// Returns the address of the link on the path in a row; `None` if the row has no path, or if
    /// links are disabled.
    fn path_address(&self, row: &EntryRow) -> Option<String> {
        let links = self.links?;
        let body = row.body.to_string_lossy();
        links.address_of(body.get(row.path.clone())?)
    }

    /// Draws the body of a row, in which the searched words are highlighted. If the visible part of
    /// the body has none of them, draws the text around the match instead, see
    /// [`Self::draw_snippet`].
    fn draw_match(
        &self,
        rows: &mut RowBuffer,
        ix: EntryIx,
        row: &EntryRow,
        body: &str,
        style: Style,
    ) {
        let truncated = rows
            .columns_left
            .map(|left| truncate_end(body, left, self.glyphs.ellipsis));
        let shown = truncated.as_deref().unwrap_or(body);
        let Some(hit) = self.drawing.find_hit(ix) else {
            return self.draw_highlighted(rows, shown, style);
        };
        // A match in the role or the type needs no text around it.
        let is_in_role_or_type = matches!(&*hit.field, "message.role" | "type");
        if is_in_role_or_type || self.drawing.words.any_occurs_in(shown) {
            return self.draw_highlighted(rows, shown, style);
        }

        // The label of an entry was drawn before its body, so the match is visible already. A label
        // entry, which sets the label of another entry, has that label in its body.
        let is_label_entry = self.drawing.session.entry(ix).kind == Kind::Label;
        let is_in_drawn_label = hit.field == "label" && !is_label_entry;
        if is_in_drawn_label {
            rows.push_part(shown, style);
        } else {
            self.draw_snippet(rows, row, body, &hit, style);
        }
    }

    /// Draws the text around a match that the visible part of the body lacks. `body` is the whole
    /// body.
    ///
    /// The match may be in a text that is not in the body: in a field with a name, such as
    /// `thinking`, or in the arguments or the result of a tool, of which the body has only a part.
    /// Then the beginning of the body precedes the text, to show which entry this is.
    fn draw_snippet(
        &self,
        rows: &mut RowBuffer,
        row: &EntryRow,
        body: &str,
        hit: &Hit,
        style: Style,
    ) {
        let field = field_name(&hit.field);
        if field.is_some() || row.tone == Tone::Tool {
            self.draw_head(rows, body, field, style);
        }
        let text = to_visible(&hit.snippet);
        let matches = self.drawing.words.find_all(&text);
        let first_match = matches.first().cloned().unwrap_or(0..0);
        // The columns that the beginning of the body, if it was drawn, has left.
        let room = rows.columns_left.unwrap_or(usize::MAX);
        let is_match_visible = display_width(&text[..first_match.end]) < room;
        if is_match_visible {
            return self.draw_highlighted(rows, &text, style);
        }

        // The text before the match is shortened at its start to a third of the room, so that the
        // match is visible.
        let before_match = &text[..first_match.start];
        let kept_bytes = fitting_bytes(before_match.graphemes(true).rev(), room / 3);
        let kept_start = first_match.start - kept_bytes;
        rows.push_part(self.glyphs.ellipsis, style);
        self.draw_highlighted(rows, text[kept_start..].trim_start(), style);
    }

    /// Draws the beginning of the body, in at most a third of the columns that are left, and the
    /// name of the field whose text follows.
    fn draw_head(&self, rows: &mut RowBuffer, body: &str, field: Option<&str>, style: Style) {
        let room = match rows.columns_left {
            Some(left) => MOST_HEAD_COLUMNS.min(left / 3),
            None => MOST_HEAD_COLUMNS,
        };
        rows.push_part(&truncate_end(body, room, self.glyphs.ellipsis), style);

        let separator = match field {
            Some(name) => format!(" {}{name}: ", self.glyphs.fold),
            None => format!(" {}", self.glyphs.fold),
        };
        rows.push_part(&separator, self.styles.dim);
    }

    /// Draws a text in which each occurrence of the searched words is highlighted.
    fn draw_highlighted(&self, rows: &mut RowBuffer, text: &str, style: Style) {
        let mut drawn_end = 0;
        for span in self.drawing.words.find_all(text) {
            rows.push_part(&text[drawn_end..span.start], style);
            rows.push_part(&text[span.clone()], self.styles.hit);
            drawn_end = span.end;
        }
        rows.push_part(&text[drawn_end..], style);
    }
}

/// Returns the range of a path in `shown`, a truncation of `body`. `path` is the path's range in
/// `body`. The range is empty if the path was removed.
fn find_shown_path(shown: &str, body: &str, path: &Range<usize>) -> Range<usize> {
    let path_end = match shown.strip_suffix(&body[path.end..]) {
        Some(to_path) => to_path.len(),
        None => shown.len(),
    };
    let keeps_start = shown.starts_with(&body[..path.start]) && path_end >= path.start;
    let path_start = if keeps_start { path.start } else { path_end };
    path_start..path_end
}

/// The maximum width of the body if the text around a match follows it.
const MOST_HEAD_COLUMNS: usize = 40;

/// Returns the name of a field for people; `None` for a field with ordinary text.
fn field_name(path: &str) -> Option<&str> {
    let last = path.rsplit('.').next()?;
    let name = last.split('[').next().filter(|name| !name.is_empty())?;
    (!matches!(name, "text" | "content" | "summary" | "label" | "name")).then_some(name)
}
