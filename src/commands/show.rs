//! `pisess show`: prints entries in full.

use crate::agents::pi::edits::ContextEdit;
use crate::agents::readable::{CallDescription, Folders};
use crate::cli::guide::{Example, Guide};
use crate::cli::open::OpenSession;
use crate::cli::output::{
    Cell, Clock, Exit, Failure, Glyphs, Styles, Ui, apply_style, cell_text, cell_width,
    display_width, format_cell, link_text, push_wrapped_line, to_visible, to_visible_lines,
    truncate_end, truncate_path,
};
use crate::cli::pruned::open_with_pruned;
use crate::cli::renderer::RendererArgs;
use crate::cli::rows::entry::{edit_mark, print_entry_lines, print_rows, row_options, tone_style};
use crate::cli::rows::ids::IdPainter;
use crate::cli::rows::path_links::PathLinks;
use crate::export::cuts::Cuts;
use crate::export::markdown::entry_markdown;
use crate::export::source::{Contents, ContentsReader, Display};
use crate::format::changes::{DiffSign, classify_diff_line};
use crate::load::LoadOptions;
use crate::ops::rows::{Ending, row_tone};
use crate::ops::show::{ShownEntry, ShownPart, Surroundings, read_entry};
use crate::ops::tree::view_without_layout;
use crate::session::Session;
use crate::session::content::blocks_of_type;
use crate::session::entry::{EntryIx, Role};
use crate::session::labels::Labels;
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::LEAF_REFERENCE;
use crate::session::tree::Tree;
use clap::ValueEnum;
use foldhash::HashMap;
use owo_colors::Style;
use pisess_json::Raw;
use pisess_json::text::Text;
use std::io;
use std::path::PathBuf;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Show the last entry of the conversation",
        "pisess show session.jsonl",
    ),
    Example::new(
        "Show the last user message and the last entry",
        "pisess show session.jsonl '@^{user}' @",
    ),
    Example::new(
        "Show an answer with all its fields",
        "pisess show --all-fields session.jsonl '@^{assistant}'",
    ),
    Example::new(
        "Quote an answer in Markdown",
        "pisess show --as markdown session.jsonl '@^{assistant}'",
    ),
    Example::new(
        "Print an entry as JSON",
        "pisess show --json session.jsonl '@^{assistant}'",
    ),
    Example::new(
        "List the children of an entry",
        "pisess show --children session.jsonl '@~4'",
    ),
    Example::new(
        "List the first entries of the session",
        "pisess show --children session.jsonl root",
    ),
])
.with_conversation_refs();

/// Show entries in full.
///
/// Prints a heading for each entry: its id, its role, tool or type, its time and its label. A line
/// of facts follows: the model, tokens and cost of a reply, the line number and the parent. Then
/// comes the text: messages, thinking, tool calls, results and summaries. A tool result begins with
/// the call that it answers, and the changes of an edit are shown as a diff.
///
/// On a terminal, lines are broken between words, prose after at most 100 columns.
///
/// --all-fields prints the other fields of messages and summaries. Signatures and image data are
/// always omitted; --json prints them.
///
/// A pruned entry is shown from SESSION.pruned, with its old line number.
///
/// --as markdown prints only the text, with tool calls folded, to paste into an issue.
///
/// --children prints one row for each child of REF.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entries to show (default: `@`, the last entry of the conversation)
    #[arg(value_name = "REF")]
    pub entries: Vec<String>,
    /// List the children of each REF instead
    #[arg(long)]
    pub children: bool,
    /// Print all fields, by name
    #[arg(long, conflicts_with_all = ["children", "format", "json"])]
    pub all_fields: bool,
    /// Output format
    #[arg(long = "as", value_name = "FORMAT", default_value = "text", conflicts_with_all = ["children", "json"])]
    pub format: ShowFormat,
    #[command(flatten)]
    pub renderers: RendererArgs,
    /// Print the result as JSON (the entries, in version 3 form)
    #[arg(long)]
    pub json: bool,
}

/// The form in which entries are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ShowFormat {
    /// A heading, facts and the text
    Text,
    /// The text alone, to quote
    #[value(alias = "md")]
    Markdown,
}

/// Prints entries as JSON, in full, or as quotations; or a row for each of their children. JSON
/// takes precedence, then `--children`.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let is_quotation = args.format == ShowFormat::Markdown;
    let options = if args.children && !args.json || is_quotation {
        row_options(ui)
    } else {
        LoadOptions::default()
    };
    let ShownEntries { open, entries } = open_and_resolve(args, options, ui)?;
    if args.json {
        print_entry_lines(&open, &entries, ui)?;
    } else if args.children {
        let leaf = open.session.leaf;
        let drawing = view_without_layout(&open.session, leaf);
        let edits = open.find_edits(leaf)?;
        print_rows(&drawing, &edits, &entries, ui)?;
    } else if is_quotation {
        print_quotations(args, &open, &entries, ui)?;
    } else {
        let rendered = args.renderers.render(&open, entries.iter().copied(), ui)?;
        print_in_full(args, &open, &entries, &rendered, ui)?;
    }
    Ok(Exit::Done)
}

/// The entries to show, and the session that has them.
struct ShownEntries {
    open: OpenSession,
    entries: Vec<EntryIx>,
}

/// Opens the session, and finds the entries to show. If one is not found, it may have been pruned:
/// then the session is opened as it was before, with a note. If it is not found there either,
/// returns the failure for the session as it is.
fn open_and_resolve(
    args: &Args,
    options: LoadOptions,
    ui: &mut Ui,
) -> Result<ShownEntries, Failure> {
    let open = OpenSession::open(&args.session, options.clone(), ui)?;
    let failure = match resolve_entries(args, &open) {
        Ok(entries) => return Ok(ShownEntries { open, entries }),
        Err(failure) => failure,
    };

    let Some(unpruned) = open_with_pruned(&args.session, options, ui)? else {
        return Err(failure);
    };
    let Ok(entries) = resolve_entries(args, &unpruned) else {
        return Err(failure);
    };
    ui.print_status(&format!(
        "{}: shown as before it was pruned",
        open.input.name
    ));
    Ok(ShownEntries {
        open: unpruned,
        entries,
    })
}

/// Prints entries as quotations in Markdown, without thinking, and with an empty line between two.
fn print_quotations(
    args: &Args,
    open: &OpenSession,
    entries: &[EntryIx],
    ui: &mut Ui,
) -> Result<(), Failure> {
    let mut contents = Contents::new(&open.session, open.input.source(), false, open.session.leaf);
    contents.rendered = args.renderers.render(open, entries.iter().copied(), ui)?;
    contents.apply_cuts(Cuts {
        omits_thinking: true,
        ..Cuts::default()
    });
    if ui.stdout_is_terminal() {
        contents.display = Display::Terminal;
    }
    let source = ContentsReader::new(&contents);
    for (position, &ix) in entries.iter().enumerate() {
        let text = open.input.map_read_error(entry_markdown(&source, ix))?;
        if position > 0 {
            ui.print("\n")?;
        }
        ui.print(&text)?;
    }
    Ok(())
}

/// Returns the entries to show: those that the references name, or with `--children` their
/// children. Without a reference, it is the leaf. The root has children, but is not an entry
/// itself.
fn resolve_entries(args: &Args, open: &OpenSession) -> Result<Vec<EntryIx>, Failure> {
    let mut references: Vec<&str> = args.entries.iter().map(String::as_str).collect();
    if references.is_empty() {
        references.push(LEAF_REFERENCE);
    }
    let mut positions = Vec::new();
    for reference in &references {
        positions.push(open.resolve_in_conversation(reference)?);
    }

    let mut entries = Vec::new();
    if args.children {
        let tree = Tree::new(&open.session);
        for position in positions {
            match position {
                Some(ix) => entries.extend_from_slice(tree.children(ix)),
                None => entries.extend_from_slice(tree.roots()),
            }
        }
        return Ok(entries);
    }
    for (position, reference) in positions.into_iter().zip(references) {
        let entry = open.require_entry(position, reference).map_err(|failure| {
            let hint =
                "root is the position before the first entry; --children lists the first entries";
            failure.with_hint(hint)
        })?;
        entries.push(entry);
    }
    Ok(entries)
}

/// Prints entries in full, with an empty line between two. If a renderer made a text of an entry, it
/// replaces the entry's own.
fn print_in_full(
    args: &Args,
    open: &OpenSession,
    entries: &[EntryIx],
    rendered: &HashMap<EntryIx, String>,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let session = &open.session;
    let reader = open.entry_reader();
    let home = ui.home().map(Text::from);
    let folders = Folders {
        cwd: session.header.cwd.as_ref(),
        home: home.as_ref(),
    };
    let edits = open.find_edits(session.leaf)?;
    let painter = ShownPainter {
        session,
        labels: Labels::new(session),
        edits: &edits,
        ids: IdPainter::new(session, ui.styles),
        links: PathLinks::new(session, ui),
        clock: Clock::new(ui),
        styles: ui.styles,
        width: ui.row_width(),
        shows_all_fields: args.all_fields,
    };
    for (index, &ix) in entries.iter().enumerate() {
        let entry = session.entry(ix);
        let line = open.input.map_read_error(reader.read_line(ix))?;
        let line = Raw::from_checked(line.trim_ascii());
        let call = open
            .input
            .map_read_error(find_answered_call(&reader, ix, line))?;
        let around = Surroundings {
            call: call.as_deref().map(Raw::from_checked),
            folders,
        };
        let mut shown = read_entry(line, entry.kind, entry.role, around);
        if let Some(markdown) = rendered.get(&ix) {
            shown.body = vec![ShownPart::Prose(Text::from(markdown.clone()))];
        }

        let mut out = String::new();
        if index > 0 {
            out.push('\n');
        }
        painter.push_entry(ix, shown, &mut out);
        ui.print(&out)?;
    }
    Ok(())
}

/// Returns the block of the call that a tool result answers. Replies above the result are searched
/// for it. `None` if none has the call, and for any other entry.
fn find_answered_call(reader: &EntryReader, ix: EntryIx, line: Raw) -> io::Result<Option<Vec<u8>>> {
    let session = reader.session();
    let message = line.get("message").unwrap_or(Raw::NULL);
    let Some(call_id) = message.get_text("toolCallId") else {
        return Ok(None);
    };
    for above in session.ancestors(Some(ix)).skip(1) {
        if !session.is_message(above, Role::Assistant) {
            continue;
        }
        let call = reader.with_message(above, |reply| {
            let content = reply.get("content").unwrap_or(Raw::NULL);
            blocks_of_type(content, "toolCall")
                .find(|block| block.get_text("id").as_ref() == Some(&call_id))
                .map(|block| block.bytes().to_vec())
        })?;
        if call.is_some() {
            return Ok(call);
        }
    }
    Ok(None)
}

/// The maximum width of prose, in columns.
const MAX_PROSE_COLUMNS: usize = 100;
/// The columns that a command or path keeps in a heading, however narrow the terminal is.
const MIN_SUBJECT_COLUMNS: usize = 16;
/// Text is indented further than facts and names, and these further than headings, so that no text
/// can be mistaken for either.
const FACT_INDENT: usize = 2;
const TEXT_INDENT: usize = 4;

/// Formats entries in full.
struct ShownPainter<'a> {
    session: &'a Session,
    labels: Labels<'a>,
    /// The entries that are marked as edited.
    edits: &'a HashMap<EntryIx, ContextEdit>,
    ids: IdPainter<'a>,
    links: Option<PathLinks>,
    clock: Clock,
    styles: Styles,
    /// The width of the terminal; `None` if lines are not broken.
    width: Option<usize>,
    /// Whether fields that are neither facts nor text are shown.
    shows_all_fields: bool,
}

impl ShownPainter<'_> {
    /// Appends an entry: a heading, a line of facts, and its text.
    fn push_entry(&self, ix: EntryIx, shown: ShownEntry, out: &mut String) {
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

    /// Appends the heading of an entry: its id, its name, what its tool worked on, and its remarks.
    /// If the line is too long, the command or path that the tool worked on is cut.
    fn push_heading(&self, ix: EntryIx, shown: &ShownEntry, out: &mut String) {
        let id = self.heading_id(ix);
        let name = visible_text(&shown.name);
        let remarks = self.heading_remarks(ix);
        let mut width_of_others = cell_width(&id) + 2 + display_width(&name) + 1;
        for (text, _) in &remarks {
            width_of_others += display_width(DOT) + display_width(text);
        }

        *out += &format_cell(&id);
        *out += "  ";
        *out += &apply_style(&name, self.name_style(ix));
        let subject = self.format_subject(&shown.subject, width_of_others);
        if !subject.is_empty() {
            let subject = match self.subject_address(&shown.subject) {
                Some(address) => link_text(&subject, &address),
                None => subject,
            };
            *out += &format!(" {subject}");
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

    /// Returns the style of an entry's name, which is that of its row in the tree. A tool, which is
    /// dimmed there, is bold.
    fn name_style(&self, ix: EntryIx) -> Style {
        let entry = self.session.entry(ix);
        if entry.role == Role::ToolResult {
            self.styles.bold
        } else {
            tone_style(row_tone(entry.kind, entry.role), &self.styles)
        }
    }

    /// Returns the end of a heading: the time of the entry, how it ended, its label, and whether it
    /// was edited.
    fn heading_remarks(&self, ix: EntryIx) -> Cell {
        let styles = &self.styles;
        let entry = self.session.entry(ix);
        let mut remarks = vec![(self.clock.format_time(entry.time_ms), styles.dim)];
        match Ending::from_entry(entry) {
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

    /// Returns what a tool worked on, cut to the columns that the rest of the line leaves. A path
    /// is cut in its middle.
    fn format_subject(&self, subject: &CallDescription, width_of_others: usize) -> String {
        let whole = subject.text.to_string_lossy();
        let shown = to_visible(&whole);
        let Some(width) = self.width else {
            return shown;
        };
        let room = width
            .saturating_sub(width_of_others)
            .max(MIN_SUBJECT_COLUMNS);
        // The range of the path is valid only if the text was not changed.
        if shown == whole && !subject.path.is_empty() {
            truncate_path(&shown, subject.path.clone(), room, "…")
        } else {
            truncate_end(&shown, room, "…")
        }
    }

    /// Returns the address of the file that a tool worked on, if it names one and links are
    /// enabled.
    fn subject_address(&self, subject: &CallDescription) -> Option<String> {
        let text = subject.text.to_string_lossy();
        self.links
            .as_ref()?
            .address_of(text.get(subject.path.clone())?)
    }

    /// Appends a line of facts: those of the entry, its line and its parent. In a line that is
    /// broken, the prefix of the parent's id does not stand out.
    fn push_facts(&self, ix: EntryIx, shown: &ShownEntry, out: &mut String) {
        let mut facts: Vec<String> = shown.facts.iter().map(|fact| to_visible(fact)).collect();
        facts.push(format!("line {}", self.session.entry(ix).line.0));
        let parent = self.session.parent_id(ix);
        facts.push(match &parent {
            Some(_) => "parent ".to_owned(),
            None => "no parent".to_owned(),
        });
        let line = facts.join(DOT);
        let parent = match &parent {
            Some(id) => self.ids.text_cell(id),
            None => Cell::new(),
        };

        let whole_width = FACT_INDENT + display_width(&line) + cell_width(&parent);
        if self.width.is_some_and(|width| whole_width > width) {
            let plain_line = line + &cell_text(&parent);
            push_wrapped_line(out, &plain_line, FACT_INDENT, self.width, self.styles.dim);
            return;
        }
        *out += &" ".repeat(FACT_INDENT);
        *out += &apply_style(&line, self.styles.dim);
        *out += &format_cell(&parent);
        out.push('\n');
    }

    /// Appends one part of an entry; a title is in this style.
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

    /// Appends a text. Lines of a diff in it are coloured.
    fn push_text(&self, text: &Text, width: Option<usize>, out: &mut String) {
        let mut diff = DiffFinder::default();
        for line in to_visible_lines(&text.to_string_lossy()).lines() {
            let sign = diff.find_sign(line);
            self.push_text_line(sign, line, width, out);
        }
    }

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

/// Finds the lines of diffs in a text: those of a hunk, and those of a block of code in the
/// language `diff`.
#[derive(Default)]
struct DiffFinder {
    is_in_hunk: bool,
    is_in_block: bool,
}

impl DiffFinder {
    /// Returns the side of the next line.
    fn find_sign(&mut self, line: &str) -> DiffSign {
        if line.trim_start().starts_with("```") {
            self.is_in_block = line.trim_start().starts_with("```diff");
            self.is_in_hunk = false;
            return DiffSign::Common;
        }
        if line.starts_with("@@ -") {
            self.is_in_hunk = true;
            return DiffSign::Common;
        }
        let continues_hunk = line.is_empty() || line.starts_with([' ', '+', '-', '\\']);
        self.is_in_hunk &= continues_hunk;
        if self.is_in_hunk || self.is_in_block {
            classify_diff_line(line)
        } else {
            DiffSign::Common
        }
    }
}

fn visible_text(text: &Text) -> String {
    to_visible(&text.to_string_lossy())
}
