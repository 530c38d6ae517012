//! Draws entries in full.

use crate::agents::pi::edits::ContextEdit;
use crate::agents::readable::CallDescription;
use crate::cli::output::{
    Cell, Clock, Glyphs, Styles, apply_style, cell_width, display_width, format_cell, link_text,
    push_wrapped_line, to_visible, to_visible_lines, truncate_end, truncate_path,
};
use crate::cli::rows::entry::{edit_mark, tone_style};
use crate::cli::rows::ids::IdPainter;
use crate::cli::rows::path_links::PathLinks;
use crate::format::changes::{DiffSign, classify_diff_line};
use crate::ops::rows::row_tone;
use crate::ops::show::{ShownEntry, ShownPart};
use crate::session::Session;
use crate::session::entry::{Ending, EntryIx, Role};
use crate::session::labels::Labels;
use foldhash::HashMap;
use owo_colors::Style;
use pisess_json::text::Text;

/// The maximum width of prose, in columns.
const MAX_PROSE_COLUMNS: usize = 100;
/// The minimum width of a command or path in a heading, however narrow the terminal is.
const MIN_SUBJECT_COLUMNS: usize = 16;
/// Facts and names are indented further than headings, and text further than both. So no text can
/// be mistaken for a heading or a fact.
const FACT_INDENT: usize = 2;
const TEXT_INDENT: usize = 4;

/// Formats entries in full.
pub struct ShownPainter<'a> {
    pub session: &'a Session,
    pub labels: Labels<'a>,
    /// The entries to mark as edited.
    pub edits: &'a HashMap<EntryIx, ContextEdit>,
    pub ids: IdPainter<'a>,
    pub links: Option<PathLinks>,
    pub clock: Clock,
    pub styles: Styles,
    /// The width of the terminal; `None` if lines are not wrapped.
    pub width: Option<usize>,
    /// Whether fields are shown that are neither facts nor text.
    pub shows_all_fields: bool,
}

impl ShownPainter<'_> {
    /// Appends an entry: its heading, a line of facts, and its text.
    pub fn push_entry(&self, ix: EntryIx, shown: ShownEntry, out: &mut String) {
        self.push_heading(ix, &shown, out);
        self.push_facts(ix, &shown, out);

        let mut follows_text = false;
        for part in &shown.body {
            let is_text = !matches!(part, ShownPart::Title(_) | ShownPart::Field(..));
            // An empty line separates two texts.
            if is_text && follows_text {
                out.push('\n');
            }
            self.push_part(part, self.styles.bold, out);
            follows_text = is_text;
        }

        if self.shows_all_fields {
            for part in shown.rest {
                self.push_part(&ShownPart::from(part), self.styles.dim, out);
            }
        }
    }

    /// Appends the heading of an entry: its id, its name, the subject of its tool call, and its
    /// remarks. The subject is a command or a path. It is truncated if the line is too long.
    fn push_heading(&self, ix: EntryIx, shown: &ShownEntry, out: &mut String) {
        const AFTER_ID: &str = "  ";
        const BEFORE_SUBJECT: &str = " ";

        let id = self.heading_id(ix);
        let name = visible_text(&shown.name);
        let remarks = self.heading_remarks(ix);
        // The columns of everything but the subject, in the order in which it is appended below.
        let mut width_of_others =
            cell_width(&id) + AFTER_ID.len() + display_width(&name) + BEFORE_SUBJECT.len();
        for (text, _) in &remarks {
            width_of_others += display_width(DOT) + display_width(text);
        }

        *out += &format_cell(&id);
        *out += AFTER_ID;
        *out += &apply_style(&name, self.name_style(ix));
        let subject = self.format_subject(&shown.subject, width_of_others);
        if !subject.is_empty() {
            let subject = match self.subject_address(&shown.subject) {
                Some(address) => link_text(&subject, &address),
                None => subject,
            };
            *out += BEFORE_SUBJECT;
            *out += &subject;
        }
        for (text, style) in &remarks {
            *out += &apply_style(DOT, self.styles.dim);
            *out += &apply_style(text, *style);
        }
        out.push('\n');
    }

    fn heading_id(&self, ix: EntryIx) -> Cell {
        let id = self.session.id(ix);
        if id.is_empty() {
            return vec![("(no id)".to_owned(), self.styles.dim)];
        }
        self.ids.text_cell(&id)
    }

    /// Returns the style of an entry's name. It is the same as in the tree, except for the name of
    /// a tool: that is dimmed in the tree, and bold here.
    fn name_style(&self, ix: EntryIx) -> Style {
        let entry = self.session.entry(ix);
        if entry.role == Role::ToolResult {
            self.styles.bold
        } else {
            tone_style(row_tone(entry.kind, entry.role), &self.styles)
        }
    }

    /// Returns the end of a heading: the time of the entry, whether it failed or was aborted, its
    /// label, and whether it was edited.
    fn heading_remarks(&self, ix: EntryIx) -> Cell {
        let styles = &self.styles;
        let entry = self.session.entry(ix);
        let mut remarks = vec![(self.clock.format_time(entry.time_ms), styles.dim)];
        match entry.ending() {
            Some(Ending::Failed) => remarks.push(("failed".to_owned(), styles.error)),
            Some(Ending::Aborted) => remarks.push(("aborted".to_owned(), styles.error)),
            None => {}
        }
        if let Some(label) = self.labels.get(ix) {
            remarks.push((format!("[{}]", visible_text(&label)), styles.label));
        }
        if let Some(&edited) = self.edits.get(&ix) {
            remarks.push((edit_mark(edited).to_owned(), styles.summary));
        }
        remarks
    }

    /// Returns the subject of a tool call, truncated to the columns that the rest of the line
    /// leaves. A path is truncated in its middle.
    fn format_subject(&self, subject: &CallDescription, width_of_others: usize) -> String {
        let whole = subject.text.to_string_lossy();
        let shown = to_visible(&whole);
        let Some(width) = self.width else {
            return shown;
        };
        let room = width
            .saturating_sub(width_of_others)
            .max(MIN_SUBJECT_COLUMNS);
        // `to_visible` may have changed the text: then the range of the path no longer applies.
        if shown == whole && !subject.path.is_empty() {
            truncate_path(&shown, subject.path.clone(), room, "…")
        } else {
            truncate_end(&shown, room, "…")
        }
    }

    /// Returns the address of the file that is the subject of a tool call. `None` if the subject
    /// has no path, or if links are disabled.
    fn subject_address(&self, subject: &CallDescription) -> Option<String> {
        let text = subject.text.to_string_lossy();
        self.links
            .as_ref()?
            .address_of(text.get(subject.path.clone())?)
    }

    /// Appends a line of facts: the facts of the entry, its line, and its parent. If all of them
    /// are too long for one line, the parent has a line of its own.
    fn push_facts(&self, ix: EntryIx, shown: &ShownEntry, out: &mut String) {
        let mut facts: Vec<String> = shown.facts.iter().map(|fact| to_visible(fact)).collect();
        facts.push(format!("line {}", self.session.shown_line(ix).0));
        let own_facts = facts.join(DOT);
        let (parent_fact, parent_id) = match &self.session.parent_id(ix) {
            Some(id) => ("parent ", self.ids.text_cell(id)),
            None => ("no parent", Cell::new()),
        };
        let parent_width = display_width(DOT) + display_width(parent_fact) + cell_width(&parent_id);
        let whole_width = FACT_INDENT + display_width(&own_facts) + parent_width;
        let fits_on_line = self.width.is_none_or(|width| whole_width <= width);

        let dim = self.styles.dim;
        let indent = " ".repeat(FACT_INDENT);
        if fits_on_line {
            *out += &indent;
            *out += &apply_style(&format!("{own_facts}{DOT}{parent_fact}"), dim);
        } else {
            push_wrapped_line(out, &own_facts, FACT_INDENT, self.width, dim);
            *out += &indent;
            *out += &apply_style(&format!("{}{parent_fact}", DOT.trim_start()), dim);
        }
        // The id of the parent is not dimmed.
        *out += &format_cell(&parent_id);
        out.push('\n');
    }

    /// Appends one part of an entry. `title_style` is the style of a part that is a title.
    fn push_part(&self, part: &ShownPart, title_style: Style, out: &mut String) {
        let styles = &self.styles;
        match part {
            ShownPart::Title(title) => {
                let title = apply_style(&visible_text(title), title_style);
                *out += &format!("  {title}\n");
            }
            ShownPart::Field(name, value) => {
                let name = apply_style(&format!("{}:", visible_text(name)), styles.dim);
                *out += &format!("  {name} {}\n", visible_text(value));
            }
            ShownPart::Prose(text) => {
                let width = self.width.map(|width| width.min(MAX_PROSE_COLUMNS));
                self.push_text(text, width, out);
            }
            ShownPart::Literal(text) => self.push_text(text, self.width, out),
            ShownPart::Error(text) => {
                for line in to_visible_lines(&text.to_string_lossy()).lines() {
                    push_wrapped_line(out, line, TEXT_INDENT, self.width, styles.error);
                }
            }
            ShownPart::Diff(lines) => {
                for (sign, line) in lines {
                    self.push_text_line(*sign, &to_visible_lines(line), self.width, out);
                }
            }
        }
    }

    /// Appends a text. Lines of diffs in it are coloured.
    fn push_text(&self, text: &Text, width: Option<usize>, out: &mut String) {
        let mut diff = DiffFinder::default();
        for line in to_visible_lines(&text.to_string_lossy()).lines() {
            let sign = diff.next_sign(line);
            self.push_text_line(sign, line, width, out);
        }
    }

    /// Appends a line of text, indented and wrapped, in the colour of its side of a diff.
    fn push_text_line(&self, sign: DiffSign, line: &str, width: Option<usize>, out: &mut String) {
        let style = match sign {
            DiffSign::Common => Style::new(),
            DiffSign::Removed => self.styles.removed,
            DiffSign::Added => self.styles.added,
        };
        push_wrapped_line(out, line, TEXT_INDENT, width, style);
    }
}

/// Separates facts, and the remarks of a heading.
const DOT: &str = Glyphs::UNICODE.dot;

/// Finds the lines of diffs in a text: in hunks that begin with `@@ -`, and in fenced blocks with
/// the language `diff`.
#[derive(Default)]
struct DiffFinder {
    /// Whether the line above belongs to a hunk.
    is_in_hunk: bool,
    /// Whether the line above belongs to a fenced block of a diff.
    is_in_diff_block: bool,
}

impl DiffFinder {
    /// Returns the sign of the next line of the text. Lines have to be given in order, because the
    /// sign depends on the lines above.
    fn next_sign(&mut self, line: &str) -> DiffSign {
        // A fence begins or ends a block. Both end a hunk that is not in a block of its own.
        let unindented = line.trim_start();
        if unindented.starts_with("```") {
            self.is_in_diff_block = unindented.starts_with("```diff");
            self.is_in_hunk = false;
            return DiffSign::Common;
        }
        if line.starts_with("@@ -") {
            self.is_in_hunk = true;
            return DiffSign::Common;
        }

        // A line of a hunk begins with its sign, or a backslash (`\\ No newline at end of file`).
        // An unchanged empty line may have lost the space that is its sign.
        let may_be_in_hunk = line.is_empty() || line.starts_with([' ', '+', '-', '\\']);
        if !may_be_in_hunk {
            self.is_in_hunk = false;
        }
        if self.is_in_hunk || self.is_in_diff_block {
            classify_diff_line(line)
        } else {
            DiffSign::Common
        }
    }
}

fn visible_text(text: &Text) -> String {
    to_visible(&text.to_string_lossy())
}
