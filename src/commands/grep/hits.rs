//! Formats the rows of a search.

use super::rows::Rows;
use crate::cli::foreign::read_any_for_list;
use crate::cli::locate::read_archive_facts;
use crate::cli::named::{line_of_title, shown_title};
use crate::cli::output::{
    Cell, Clock, Links, Styles, Ui, apply_style, display_width, push_styled, push_wrapped_line,
    to_visible, to_visible_cow, to_visible_line, to_visible_lines, truncate_end, truncate_start,
};
use crate::cli::rollouts::Rollouts;
use crate::cli::rows::entry::image_mark;
use crate::cli::rows::ids::split_id;
use crate::cli::sessions::PathsArgs;
use crate::format::{ID_SUFFIX_LEN, id_suffix, push_visible};
use crate::load::LoadOptions;
use crate::ops::grep::{
    EntriesAround, EntryContinuation, Match, MatchTexts, Query, ToolUse, entries_around_matches,
    is_replaced_text, read_searched_text, read_whole_text,
};
use crate::ops::list::read_title;
use crate::ops::rows::{EntryRow, Tone};
use crate::ops::tree::{TreeView, view_without_layout};
use crate::session::Header;
use crate::session::entry::{Ending, Entry, EntryIx, LineNo};
use crate::session::fields::FieldScope;
use crate::session::paths::abbreviate_home;
use crate::session::prefixes::UniquePrefixes;
use crate::session::read::entry_reader::EntryReader;
use crate::session::search::Hit;
use owo_colors::Style;
use pisess_json::text::Text;
use pisess_json::time::parse_js_date;
use pisess_json::write::{Object, text_array};
use pisess_store::ReadAt;
use std::io;
use std::path::Path;

/// The format of the output.
pub struct MatchPainter {
    /// Whether each session has one row: the number of matching entries, after the session's path
    /// if paths are printed.
    pub prints_counts: bool,
    /// If this is set, and `prints_counts` is not, each session with a match has one row: its path.
    pub path_output: PathsArgs,
    /// Whether the rows of [`Self::path_output`] and [`Self::lists_unmatched`] have the titles of
    /// their sessions, as on a terminal.
    pub lists_titles: bool,
    /// Whether each session without a match has one row, its path, and the other sessions have
    /// none.
    pub lists_unmatched: bool,
    /// Whether the row of an entry has only its id and role, and the whole text follows below.
    pub prints_whole_text: bool,
    /// The clock for the times of entries; `None` if rows have no times.
    pub clock: Option<Clock>,
    /// Whether the matching texts of an entry are printed in place of its row.
    pub prints_only_matches: bool,
    pub json: bool,
    /// Whether only one session is searched.
    pub is_single_session: bool,
    /// Whether each session has a heading above its rows.
    pub prints_headings: bool,
    /// Whether headings name sessions by the suffixes of their ids. This is so if the user gave no
    /// paths.
    pub names_by_id: bool,
    /// Whether rows begin with the path of their session.
    pub prefixes_path: bool,
    /// Whether the rows of tool calls and tool results follow all other rows of a session.
    pub puts_tools_last: bool,
    /// Whether the search continues with entries that are written later (`--follow`).
    pub follows: bool,
    /// Whether rows show that their entry, or the call that they show, failed.
    pub marks_failures: bool,
    /// Whether rows show that their entry is not on the path to the leaf.
    pub marks_other_branches: bool,
    /// The number of entries to print above and below each match.
    pub context: EntriesAround,
    /// The options for loading a session whose entries are printed around matches.
    pub options: LoadOptions,
    /// The width at which whole texts are wrapped; `None` if they are not, as in a pipe.
    pub row_width: Option<usize>,
    /// The maximum width of a row; `usize::MAX` if it is unlimited.
    pub width: usize,
    pub styles: Styles,
    pub links: Links,
    /// The rollouts of Codex in the searched stores. Each store is searched once for all titles.
    pub rollouts: Rollouts,
}

/// The columns of a row that is being written.
struct Columns<'o> {
    out: &'o mut Vec<u8>,
    /// The width of the columns so far.
    width: usize,
}

impl Columns<'_> {
    fn push(&mut self, text: &str, style: Style) {
        self.width += display_width(text);
        push_styled(text, style, self.out);
    }
}

impl MatchPainter {
    /// Whether each matching entry has a row, and not each session.
    pub fn has_rows(&self) -> bool {
        !self.prints_counts && !self.path_output.is_set() && !self.lists_unmatched
    }

    /// Whether the unique prefixes of ids are highlighted. They are not with `--follow`: a prefix
    /// may become ambiguous while the session grows.
    pub fn marks_prefixes(&self) -> bool {
        self.styles.has_colour() && !self.json && !self.follows
    }

    pub fn has_context(&self) -> bool {
        !self.context.is_empty()
    }

    /// Returns what precedes the rows of a session: its heading, with the path or id of the
    /// session, its start time, its working directory and its title, or without headings
    /// [`Self::session_separator`]. `is_first` is whether no rows of another session were printed.
    pub fn session_heading(
        &self,
        path: &Path,
        header: &Header,
        title: &str,
        is_first: bool,
        ui: &Ui,
    ) -> String {
        if !self.prints_headings {
            return self.session_separator(is_first);
        }

        let id = header.id.to_string_lossy();
        let home = ui.home();
        let name = if self.names_by_id {
            to_visible(id_suffix(&id, ID_SUFFIX_LEN))
        } else {
            visible_path(path)
        };
        let styled_name = apply_style(&name, self.styles.summary);
        let linked_name = self.links.link_path(&styled_name, path);
        let title = to_visible_line(title);

        let mut details = String::new();
        if let Some(time) = header.started_ms() {
            details += "  ";
            details += &Clock::new(ui).format_time(time);
        }
        if let Some(cwd) = &header.cwd {
            let cwd = abbreviate_home(&cwd.to_string_lossy(), home.as_deref());
            let cwd = to_visible(&cwd);
            let columns_before = display_width(&name) + display_width(&details) + 2;
            details += "  ";
            details += &self.fit_directory(&cwd, columns_before, &title);
        }
        let columns_before = display_width(&name) + display_width(&details) + 2;
        let title = self.fit_title(&title, columns_before);

        let details = apply_style(&details, self.styles.dim);
        let empty_line = if is_first { "" } else { "\n" };
        let heading = format!("{empty_line}{linked_name}{details}  {title}");
        format!("{}\n", heading.trim_end())
    }

    /// Returns the working directory for a heading. If it would leave the title less than
    /// [`HEADING_TITLE_COLUMNS`], and less than the title needs, its start is cut off.
    fn fit_directory(&self, cwd: &str, columns_before: usize, title: &str) -> String {
        let title_columns = display_width(title).min(HEADING_TITLE_COLUMNS);
        // Two spaces are between the columns.
        let used_columns = columns_before + 2 + title_columns;
        let room = self.width.saturating_sub(used_columns);
        truncate_start(cwd, room.max(LEAST_DIRECTORY_COLUMNS), "…")
    }

    /// Whether the output has the title of a session with matches, other than in a row of `-l`.
    fn shows_title(&self) -> bool {
        let titles_count = self.prints_counts && self.lists_titles;
        self.json || self.prints_headings || titles_count
    }

    /// Reads the title of a session in which matches were found, if the output has it. It is empty
    /// if the session cannot be read.
    pub fn read_shown_title(&self, path: &Path, source: &dyn ReadAt) -> String {
        if !self.shows_title() {
            return String::new();
        }
        read_title(path, source).unwrap_or_default()
    }

    /// Returns a title truncated to the columns of a row that `columns_before` leave.
    fn fit_title(&self, title: &str, columns_before: usize) -> String {
        let room = self.width.saturating_sub(columns_before);
        truncate_end(title, room.max(LEAST_SNIPPET_COLUMNS), "…")
    }

    /// Returns what separates the rows of two sessions without headings: an empty line between
    /// whole texts, and the row `--` if entries around matches are printed. Other rows name their
    /// session, so that nothing need separate them.
    fn session_separator(&self, is_first: bool) -> String {
        if is_first || self.json || !self.has_rows() {
            return String::new();
        }
        if self.prints_whole_text {
            "\n".to_owned()
        } else if self.has_context() {
            self.gap_row()
        } else {
            String::new()
        }
    }

    /// Returns the row `--`, which separates entries that are not adjacent.
    fn gap_row(&self) -> String {
        apply_style("--", self.styles.dim) + "\n"
    }

    /// Appends the row of a match. An empty line separates whole texts.
    pub fn push_match(&self, found: &FoundIn, entry_match: &Match, rows: &mut Rows) {
        self.separate_whole_texts(rows);
        self.push_match_row(found, entry_match, rows);
        rows.limit_memory();
    }

    fn separate_whole_texts(&self, rows: &mut Rows) {
        if self.prints_whole_text && !self.json && !rows.is_empty() {
            rows.bytes.push(b'\n');
        }
    }

    /// Appends the row of a match. If whole texts are printed, and the match is in a label entry,
    /// the row of the entry that it labels follows, unless that is directly above.
    fn push_match_row(&self, found: &FoundIn, entry_match: &Match, rows: &mut Rows) {
        let is_labelled_above = rows.last_id == entry_match.label_target;
        self.push_row(found, entry_match, RowKind::Match, &mut rows.bytes);
        rows.last_id = Some(entry_match.id.clone());

        // The search sets `labelled` only for whole texts.
        if let Some(labelled) = &entry_match.labelled
            && !is_labelled_above
        {
            self.separate_whole_texts(rows);
            self.push_row(found, labelled, RowKind::Context, &mut rows.bytes);
            rows.last_id = entry_match.label_target.clone();
        }
    }

    /// Appends the row of a match, or of an entry near a match: as JSON; the texts of the match
    /// alone; or in columns, followed by the whole text of the entry if that is requested.
    fn push_row(&self, found: &FoundIn, entry_match: &Match, kind: RowKind, out: &mut Vec<u8>) {
        if self.json {
            out.extend_from_slice(&match_json(found, entry_match, kind));
            out.push(b'\n');
            return;
        }
        if self.prints_only_matches {
            return self.push_matches(found.path, &entry_match.texts.every_match, out);
        }
        if !self.prints_whole_text {
            return self.push_columns(found, entry_match, kind, out);
        }

        self.push_columns(found, entry_match, kind, out);
        self.push_arguments(entry_match, out);
        let text = entry_match.texts.whole.as_deref();
        self.push_indented(text.unwrap_or_default(), out);
    }

    /// Appends a row with the columns path, id, time (if there is a clock), role and snippet,
    /// separated by `:` in the row of a match and by `-` in the other rows, as in grep. Notes
    /// follow the snippet, such as the one that the entry failed.
    fn push_columns(&self, found: &FoundIn, entry_match: &Match, kind: RowKind, out: &mut Vec<u8>) {
        let row_start = out.len();
        let separator = kind.separator();
        let mut columns = Columns { out, width: 0 };
        self.push_path_and_id(found, entry_match, separator, &mut columns);
        if let Some(clock) = &self.clock {
            let time = format_entry_time(clock, entry_match);
            columns.push(&format!("{separator}{time}"), self.styles.dim);
        }
        columns.push(&self.role_column(entry_match, separator), self.styles.dim);

        let notes = self.fitting_notes(entry_match, columns.width);
        if !self.prints_whole_text {
            self.push_snippet_column(&entry_match.hit, kind, &notes, &mut columns);
        }
        columns.push(&notes, self.styles.active);

        let row_len = out[row_start..].trim_ascii_end().len();
        out.truncate(row_start + row_len);
        out.push(b'\n');
    }

    /// Appends the snippet of a row. It gets the width that the other columns and the `notes` after
    /// it leave. A sign precedes the snippet of a text that an edit replaced.
    fn push_snippet_column(&self, hit: &Hit, kind: RowKind, notes: &str, columns: &mut Columns) {
        if is_replaced_text(&hit.field) {
            columns.push(REPLACED_SIGN, self.styles.removed);
        }
        let style = match kind {
            RowKind::Match => Style::new(),
            RowKind::Context => self.styles.dim,
        };
        let used_width = columns.width + display_width(notes);
        let snippet_width = self.width.saturating_sub(used_width);
        self.push_snippet(hit, snippet_width, style, columns.out);
    }

    /// Appends the path, if rows have paths, and the id of a row. If the entry has no id, `:LINE`
    /// replaces it.
    fn push_path_and_id(
        &self,
        found: &FoundIn,
        entry_match: &Match,
        separator: &str,
        columns: &mut Columns,
    ) {
        if self.prefixes_path {
            let style = self.styles.summary;
            let shown_path = visible_path(found.path);
            let styled_path = apply_style(&shown_path, style);
            let link = self.links.link_path(&styled_path, found.path);
            columns.out.extend_from_slice(link.as_bytes());
            // The address of the link has no width.
            columns.width += display_width(&shown_path);
            columns.push(separator, style);
        }
        for (text, style) in self.id_or_line_cell(entry_match, found) {
            columns.push(&text, style);
        }
    }

    /// Returns the column of the role between its separators, with a mark for images. A space
    /// separates it from the snippet.
    fn role_column(&self, entry_match: &Match, separator: &str) -> String {
        let mut role = format!("{separator}{}{separator}", self.format_role(entry_match));
        if entry_match.image_count > 0 {
            role.push(' ');
            role += &image_mark(entry_match.image_count);
        }
        let has_snippet = !self.prints_whole_text;
        if has_snippet {
            role.push(' ');
        }
        role
    }

    /// Returns the notes at the end of a row: on the branch that the match starts, and the notes
    /// for people, as far as there is room for them beside a snippet. `columns_before` is the width
    /// of the columns before the snippet.
    fn fitting_notes(&self, entry_match: &Match, columns_before: usize) -> String {
        let mut notes = branch_note(entry_match);
        notes += &label_note(entry_match);
        for note in self.notes_for_people(entry_match) {
            let least_columns = columns_before + LEAST_SNIPPET_COLUMNS;
            if least_columns + display_width(&notes) + display_width(note) <= self.width {
                notes += note;
            }
        }
        notes
    }

    /// Returns the notes at the end of a row: that the entry failed or was aborted, and that it is
    /// on another branch.
    fn notes_for_people(&self, entry_match: &Match) -> Vec<&'static str> {
        let mut notes = Vec::new();
        match entry_match.ending {
            Some(Ending::Failed) if self.marks_failures => notes.push(FAILED_NOTE),
            Some(Ending::Aborted) => notes.push(ABORTED_NOTE),
            Some(Ending::Failed) | None => {}
        }
        if self.marks_other_branches && entry_match.is_active == Some(false) {
            notes.push(OTHER_BRANCH_NOTE);
        }
        notes
    }

    /// Appends the arguments of the tool call that a result answers, each on a line, unless the row
    /// above shows them already.
    fn push_arguments(&self, entry_match: &Match, out: &mut Vec<u8>) {
        if let Some(tool) = &entry_match.tool
            && !self.is_call_in_row(entry_match, tool)
        {
            self.push_indented(&tool.arguments.to_string_lossy(), out);
        }
    }

    /// Whether the row of a result shows the whole call. The row has the tool and the subject of
    /// the call, as in `bash make test`. That is all if the only argument is `command: make test`,
    /// and the row is not truncated.
    fn is_call_in_row(&self, entry_match: &Match, tool: &ToolUse) -> bool {
        let subject = tool.subject.to_string_lossy();
        let arguments = tool.arguments.to_string_lossy();
        let arguments = arguments.trim_end();
        let is_only_argument = arguments.lines().count() == 1 && arguments.ends_with(&*subject);
        let role = self.format_role(entry_match);
        let is_whole_in_row = role.ends_with(&*to_visible(&subject));
        !subject.is_empty() && is_only_argument && is_whole_in_row
    }

    /// Appends a text of an entry. It is indented, so that no line of it looks like a row.
    fn push_indented(&self, text: &str, out: &mut Vec<u8>) {
        let mut lines = String::new();
        for line in to_visible_lines(text).lines() {
            push_wrapped_line(&mut lines, line, TEXT_INDENT, self.row_width, Style::new());
        }
        out.extend_from_slice(lines.as_bytes());
    }

    /// Appends a row for each matching text of an entry, after the path if paths are printed.
    fn push_matches(&self, path: &Path, matches: &[String], out: &mut Vec<u8>) {
        for text in matches {
            if self.prefixes_path {
                let path = apply_style(&format!("{}:", visible_path(path)), self.styles.summary);
                out.extend_from_slice(path.as_bytes());
            }
            out.extend_from_slice(to_visible(text).as_bytes());
            out.push(b'\n');
        }
    }

    /// Returns the cell that names the entry of a match, in parts with their styles: the id of the
    /// entry or, if it has none, its line in the file, as in `:12`. The unique prefix of the id is
    /// highlighted if the prefixes of the session are known.
    fn id_or_line_cell(&self, entry_match: &Match, found: &FoundIn) -> Cell {
        let id = &entry_match.id;
        if id.is_empty() {
            // A session of another agent is converted before the search, but its user only knows
            // the lines of the original file.
            let LineNo(line) = entry_match.line.in_original(found.original_lines);
            return vec![(format!(":{line}"), self.styles.label)];
        }
        match found.prefixes {
            Some(prefixes) if prefixes.contains(id) => split_id(id, prefixes, &self.styles),
            _ => vec![(to_visible(&id.to_string_lossy()), self.styles.label)],
        }
    }

    /// Returns the role of an entry. In the row of a tool call, the tool and its subject follow the
    /// role; in the row of a tool result, they replace it. They are truncated, to leave space for
    /// the text.
    fn format_role(&self, entry_match: &Match) -> String {
        let Some(tool) = &entry_match.tool else {
            return to_visible(&entry_match.role.to_string_lossy());
        };
        let mut whole = to_visible(&tool.name.to_string_lossy());
        whole.push(' ');
        push_visible(&mut whole, &tool.subject.to_string_lossy());
        let room = MAX_TOOL_COLUMNS.min(self.width / 3);
        let tool_text = truncate_end(whole.trim_end(), room, "…");
        if tool.is_call {
            let role = to_visible(&entry_match.role.to_string_lossy());
            format!("{role} {tool_text}")
        } else {
            tool_text
        }
    }

    /// Appends a snippet: the highlighted match, with as much of the text on both sides as fits
    /// into `width` columns. The text before the match gets at least a third of the columns that
    /// the match leaves. It gets more if the text after the match is short.
    fn push_snippet(&self, hit: &Hit, width: usize, style: Style, out: &mut Vec<u8>) {
        let text = &hit.snippet;
        let mut before = to_visible_cow(&text[..hit.snippet_range.start]);
        let mut matched = to_visible_cow(&text[hit.snippet_range.clone()]);
        let mut after = to_visible_cow(&text[hit.snippet_range.end..]);

        // A column takes at least one byte, so a text with at most `width` bytes fits without
        // measuring.
        let certainly_fits = before.len() + matched.len() + after.len() <= width;
        if !certainly_fits {
            matched = truncate_end(&matched, width, "…").into();
            // The columns that the match leaves for the text on both sides.
            let room = width.saturating_sub(display_width(&matched));
            let spare_room = room.saturating_sub(display_width(&after));
            let room_before = spare_room.max(room / 3);
            before = truncate_start(&before, room_before, "…").into();
            let room_after = room.saturating_sub(display_width(&before));
            after = truncate_end(&after, room_after, "…").into();
        }
        push_styled(&before, style, out);
        push_styled(&matched, self.styles.hit, out);
        push_styled(&after, style, out);
    }

    /// Appends the rows of matches and of the entries around them, in file order. In text, a row
    /// `--` precedes an entry that does not directly follow the entry above in the conversation.
    ///
    /// Matches on lines that are not entries, for example in the title, come first: nothing is
    /// around them.
    ///
    /// With whole texts, those of entries are read here, one at a time. Together, they may be as
    /// long as the session.
    pub fn push_context_rows(
        &self,
        path: &Path,
        title: &str,
        matches: &[Match],
        query: &Query,
        reader: &EntryReader,
        rows: &mut Rows,
    ) -> io::Result<()> {
        let session = reader.session();
        let prefixes = self.marks_prefixes().then(|| UniquePrefixes::new(session));
        let found = FoundIn {
            path,
            title,
            original_lines: session.original_lines.as_deref(),
            header: &session.header,
            prefixes: prefixes.as_ref(),
        };
        for entry_match in matches {
            let is_in_entry = session.entry_on_line(entry_match.line).is_some();
            if !is_in_entry {
                self.push_match(&found, entry_match, rows);
            }
        }

        // All other matches are in entries, which `entries_around_matches` returns with the entries
        // around them. It leaves out the lines of the matches above.
        let lines: Vec<_> = matches.iter().map(|entry_match| entry_match.line).collect();
        let view = view_without_layout(session, session.leaf);
        for nearby in entries_around_matches(session, &lines, self.context) {
            rows.limit_memory();
            let has_gap_above = !nearby.continues && !rows.is_empty();
            if has_gap_above && !self.json {
                rows.bytes.extend_from_slice(self.gap_row().as_bytes());
            } else {
                self.separate_whole_texts(rows);
            }
            if let Some(index) = nearby.match_index {
                let entry_match = self.read_match(&matches[index], nearby.entry, query, reader)?;
                self.push_match_row(&found, &entry_match, rows);
            } else {
                let context = self.read_context(&view, nearby.entry, query.scope, reader)?;
                self.push_row(&found, &context, RowKind::Context, &mut rows.bytes);
                rows.last_id = Some(context.id);
            }
        }
        Ok(())
    }

    /// Returns a match in an entry. With `--full`, its whole text is read, and that of the entry
    /// that it labels.
    fn read_match(
        &self,
        found: &Match,
        ix: EntryIx,
        query: &Query,
        reader: &EntryReader,
    ) -> io::Result<Match> {
        let mut entry_match = found.clone();
        if self.prints_whole_text {
            entry_match.texts.whole = read_searched_text(reader, ix, query)?;
            read_labelled_text(&mut entry_match, reader, query.scope)?;
        }
        Ok(entry_match)
    }

    /// Returns an entry near a match, as [`Self::entry_as_match`] does. With `--full`, its whole
    /// text is read.
    fn read_context(
        &self,
        view: &TreeView,
        ix: EntryIx,
        scope: FieldScope,
        reader: &EntryReader,
    ) -> io::Result<Match> {
        let mut context = self.entry_as_match(view, ix);
        if self.prints_whole_text {
            context.texts.whole = Some(read_whole_text(reader, ix, scope)?);
        }
        Ok(context)
    }

    /// Returns an entry near a match in the form of a match, so that [`Self::push_row`] can append
    /// it. Its snippet is the text of its row in `tree`. Its role is the one in the file if rows
    /// are JSON, otherwise the one in `tree`, which is for people.
    fn entry_as_match(&self, view: &TreeView, ix: EntryIx) -> Match {
        let session = view.session;
        let row = view.row(ix);
        let tool = self.context_tool(&row);
        let role = if self.json {
            session
                .role_name(ix)
                .unwrap_or_else(|| session.kind_name(ix))
        } else {
            row.role
        };
        Match {
            line: session.entry(ix).line,
            id: session.id(ix).into_owned(),
            role: role.into_owned(),
            timestamp: session.timestamp(ix).map(Text::into_owned),
            hit: Hit {
                snippet: row.body.to_string_lossy().into_owned(),
                ..Hit::default()
            },
            tool,
            continuation: None,
            ending: session.entry(ix).ending(),
            image_count: 0,
            is_active: Some(view.is_active(ix)),
            texts: MatchTexts::default(),
            label_target: None,
            labelled: None,
        }
    }

    /// Returns the tool of a result whose whole text is printed, for its row, which has no snippet.
    fn context_tool(&self, row: &EntryRow) -> Option<ToolUse> {
        if !self.prints_whole_text || row.tone != Tone::Tool {
            return None;
        }
        Some(ToolUse {
            name: row.role.clone().into_owned(),
            subject: row.body.clone().into_owned(),
            ..ToolUse::default()
        })
    }

    /// Appends a row for a session: its short id, or its path if headings name sessions by path,
    /// and its title. A session without a title, such as a sub-agent's, has only its path.
    fn push_title(&self, path: &Path, out: &mut Vec<u8>) {
        let mut name = visible_path(path);
        let mut title = String::new();
        if let Some(titled) = self.read_title(path) {
            title = titled.title;
            if self.names_by_id {
                name = to_visible(id_suffix(&titled.id, ID_SUFFIX_LEN));
            }
        }

        // Two spaces are between the columns.
        let title = self.fit_title(&title, display_width(&name) + 2);

        let styled_name = apply_style(&name, self.styles.summary);
        let linked_name = self.links.link_path(&styled_name, path);
        out.extend_from_slice(format!("{linked_name}  {title}").trim_end().as_bytes());
        out.push(b'\n');
    }

    /// Reads the id and the title of a session, which may be archived. `None` if it cannot be read.
    fn read_title(&self, path: &Path) -> Option<TitledSession> {
        if let Some(facts) = read_archive_facts(path) {
            return Some(TitledSession {
                id: facts.header.id.to_string_lossy().into_owned(),
                title: line_of_title(&facts.title, facts.message_count),
            });
        }
        let session = read_any_for_list(path, &self.rollouts)?;
        Some(TitledSession {
            id: session.id.to_string_lossy().into_owned(),
            title: shown_title(&session),
        })
    }

    /// Appends the only row that a session has with `-c`, `-l` or `-L`. Without these options, the
    /// matches have rows, and nothing is appended.
    ///
    /// With `-l` and `-L`, the row is the path of the session, or on a terminal its id and title.
    /// With `-c`, it is the number of matching entries; if several sessions are searched, the path
    /// precedes it, as in `a.jsonl:3`. With `--json`, it is an object with the path, and with `-c`
    /// the number. On a terminal, the title of the session follows the number.
    pub fn push_summary(&self, found: &FoundIn, count: u64, out: &mut Vec<u8>) {
        let path = found.path;
        if self.has_rows() {
            return;
        }
        if self.json {
            let mut row = path_json(found);
            if self.prints_counts {
                row = row.number("count", count as f64);
            }
            out.extend_from_slice(&row.finish());
            out.push(b'\n');
        } else if self.prints_counts {
            self.push_count(found, count, out);
        } else if self.lists_titles {
            self.push_title(path, out);
        } else {
            let style = self.styles.summary;
            self.path_output.push_path(path, style, &self.links, out);
        }
    }

    /// Appends the number of matching entries of a session, after its path if that is printed. For
    /// people, the short id replaces the path if headings name sessions by id, and the title
    /// follows.
    fn push_count(&self, found: &FoundIn, count: u64, out: &mut Vec<u8>) {
        let style = self.styles.summary;
        if !self.prefixes_path {
            out.extend_from_slice(format!("{count}\n").as_bytes());
            return;
        }
        if self.path_output.null {
            // With -0, the path ends in a NUL byte in place of the colon.
            self.path_output
                .push_path(found.path, style, &self.links, out);
            out.extend_from_slice(format!("{count}\n").as_bytes());
            return;
        }

        let mut name = visible_path(found.path);
        if self.lists_titles && self.names_by_id {
            let id = found.header.id.to_string_lossy();
            name = to_visible(id_suffix(&id, ID_SUFFIX_LEN));
        }
        let number = format!(":{count}");
        let mut title = String::new();
        if self.lists_titles {
            let columns = display_width(&name) + display_width(&number) + 2;
            title = self.fit_title(&to_visible_line(found.title), columns);
        }
        let styled_name = apply_style(&name, style);
        let linked_name = self.links.link_path(&styled_name, found.path);
        let row = format!("{linked_name}{number}  {title}");
        out.extend_from_slice(row.trim_end().as_bytes());
        out.push(b'\n');
    }
}

/// Reads the whole text of the entry that a matching label labels.
fn read_labelled_text(
    label: &mut Match,
    reader: &EntryReader,
    scope: FieldScope,
) -> io::Result<()> {
    let Some(labelled) = &mut label.labelled else {
        return Ok(());
    };
    if let Some(ix) = reader.session().entry_on_line(labelled.line) {
        labelled.texts.whole = Some(read_whole_text(reader, ix, scope)?);
    }
    Ok(())
}

/// A session in a row with its title.
struct TitledSession {
    id: String,
    title: String,
}

/// The session in which a match was found.
pub struct FoundIn<'a> {
    pub path: &'a Path,
    /// For each line, the number of the same line in the file from which the session was converted.
    /// `None` if the session was not converted.
    pub original_lines: Option<&'a [u32]>,
    pub header: &'a Header,
    /// The title of the session as `list` shows it; empty if the output does not have it.
    pub title: &'a str,
    /// The unique prefixes of the session's ids; `None` if they are not highlighted.
    pub prefixes: Option<&'a UniquePrefixes<'a>>,
}

/// What precedes the snippet of a text that an edit replaced, as in a diff.
const REPLACED_SIGN: &str = "- ";

/// The end of the row of a tool call, command or reply that failed.
const FAILED_NOTE: &str = "  (failed)";

/// The end of the row of a reply or command that the user aborted.
const ABORTED_NOTE: &str = "  (aborted)";

/// The end of the row of an entry that is not on the path to the leaf.
const OTHER_BRANCH_NOTE: &str = "  (other branch)";

/// The minimum width of a snippet. A note that would leave less is left out.
const LEAST_SNIPPET_COLUMNS: usize = 12;

/// The width of the title in a heading, before more of the working directory is shown.
const HEADING_TITLE_COLUMNS: usize = 32;

/// The minimum width of the working directory in a heading: enough for the name of a project.
const LEAST_DIRECTORY_COLUMNS: usize = 16;

/// The indentation of the text of an entry.
const TEXT_INDENT: usize = 4;

/// The maximum width of a tool and its subject: most commands are shorter. On a terminal, it is at
/// most a third of the width.
const MAX_TOOL_COLUMNS: usize = 120;

/// The reason why an entry has a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowKind {
    Match,
    /// The entry is near a match.
    Context,
}

impl RowKind {
    /// Returns what separates the columns of a row.
    fn separator(self) -> &'static str {
        match self {
            RowKind::Match => ":",
            RowKind::Context => "-",
        }
    }
}

/// Returns the local time of an entry, or `?` and spaces if it has no valid time.
fn format_entry_time(clock: &Clock, entry_match: &Match) -> String {
    let timestamp = entry_match.timestamp.as_ref();
    let time_ms = timestamp.and_then(|timestamp| parse_js_date(timestamp.as_bytes()));
    clock.format_time(time_ms.unwrap_or(Entry::NO_TIME))
}

/// Returns the note of a match that starts a new branch: the entry that it follows, as in `  (after
/// 1a2b3c4d)`. Returns an empty text for other matches.
fn branch_note(entry_match: &Match) -> String {
    match &entry_match.continuation {
        Some(EntryContinuation::Branches {
            after: Some(parent),
        }) => {
            format!("  (after {})", to_visible(&parent.to_string_lossy()))
        }
        Some(EntryContinuation::Branches { after: None }) => "  (after root)".to_owned(),
        _ => String::new(),
    }
}

/// Returns the note of a match in a label: the entry that it labels, as in `  (of 1a2b3c4d)`.
/// Returns an empty text for other matches.
fn label_note(entry_match: &Match) -> String {
    match &entry_match.label_target {
        Some(target) => format!("  (of {})", to_visible(&target.to_string_lossy())),
        None => String::new(),
    }
}

fn path_json(session: &FoundIn) -> Object {
    let header = session.header;
    Object::new()
        .str("path", &session.path.to_string_lossy())
        .text("sessionId", &header.id)
        .str("title", session.title)
        .text_or_null("cwd", header.cwd.as_ref())
}

/// Returns the JSON object of a row. `branched` and `after` are present only if the entry was
/// written during a search with `--follow`. `text` and `matches` are present only if they were
/// requested.
fn match_json(session: &FoundIn, found: &Match, kind: RowKind) -> Vec<u8> {
    let field = Text::from(&*found.hit.field);
    let non_empty_id = Some(&found.id).filter(|id| !id.is_empty());
    let non_empty_field = Some(&field).filter(|field| !field.is_empty());
    let line = found.line.in_original(session.original_lines);
    let mut row = path_json(session)
        .text_or_null("id", non_empty_id)
        .number("line", f64::from(line.0))
        .text("role", &found.role)
        .text_or_null("field", non_empty_field)
        .number("start", found.hit.range.start as f64)
        .number("end", found.hit.range.end as f64)
        .text("snippet", &Text::from(&*found.hit.snippet))
        .text_or_null("timestamp", found.timestamp.as_ref())
        .bool("context", kind == RowKind::Context)
        .bool("failed", found.ending == Some(Ending::Failed))
        .bool("aborted", found.ending == Some(Ending::Aborted));

    if let Some(target) = &found.label_target {
        row = row.text("target", target);
    }
    if let Some(text) = &found.texts.whole {
        row = row.text("text", &Text::from(&**text));
    }
    if !found.texts.every_match.is_empty() {
        let matches: Vec<Text> = found
            .texts
            .every_match
            .iter()
            .map(|text| Text::from(&**text))
            .collect();
        row = row.json("matches", &text_array(&matches));
    }
    if let Some(continuation) = &found.continuation {
        row = add_continuation(row, continuation);
    }
    row.finish()
}

/// Adds to a row whether the entry starts a new branch and, if so, the entry that it follows.
fn add_continuation(row: Object, continuation: &EntryContinuation) -> Object {
    match continuation {
        EntryContinuation::Continues => row.bool("branched", false),
        EntryContinuation::Branches { after } => row
            .bool("branched", true)
            // `null` if the entry has no parent.
            .text_or_null("after", after.as_ref()),
    }
}

fn visible_path(path: &Path) -> String {
    to_visible(&path.to_string_lossy())
}
