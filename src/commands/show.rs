//! `pisess show`: prints entries in full.

use crate::cli::guide::{Example, Guide};
use crate::cli::open::OpenSession;
use crate::cli::output::{
    Clock, Exit, Failure, Glyphs, Styles, Ui, apply_style, to_visible, to_visible_lines,
};
use crate::cli::pruned::open_with_pruned;
use crate::cli::renderer::RendererArgs;
use crate::cli::rows::entry::{
    EntryPainter, edit_mark, print_entry_lines, print_rows, row_options, tone_style,
};
use crate::export::cuts::Cuts;
use crate::export::markdown::entry_markdown;
use crate::export::source::{Contents, ContentsReader};
use crate::load::LoadOptions;
use crate::ops::rows::row_tone;
use crate::ops::show::{EntryPart, entry_parts};
use crate::ops::tree::view_without_layout;
use crate::session::entry::{EntryIx, Kind};
use crate::session::reference::LEAF_REFERENCE;
use crate::session::tree::Tree;
use clap::ValueEnum;
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
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
/// For each entry, prints a heading with its id, type, time, label, line number and parent, then
/// its full text: messages, thinking, tool calls, results, summaries, and any other fields by name.
/// Signatures and image data are omitted; use --json to get them.
///
/// An entry that was pruned is shown as well, from SESSION.pruned, with the line that it had.
///
/// With --as markdown, prints only the text of the entries, with tool calls folded, to paste it
/// into an issue.
///
/// With --children, prints one row for each child of REF.
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
    /// A heading, and all fields
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
    match (args.json, args.children) {
        (true, _) => print_entry_lines(&open, &entries, ui)?,
        (false, true) => {
            let leaf = open.session.leaf;
            let drawing = view_without_layout(&open.session, leaf);
            let edits = open.find_edits(leaf)?;
            print_rows(&drawing, &edits, &entries, ui)?;
        }
        (false, false) if is_quotation => print_quotations(args, &open, &entries, ui)?,
        (false, false) => {
            let rendered = args.renderers.render(&open, entries.iter().copied(), ui)?;
            print_in_full(&open, &entries, &rendered, ui)?;
        }
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

/// Prints entries in full, with an empty line between two: a heading, and then all fields, or the
/// text that a renderer made of the entry.
fn print_in_full(
    open: &OpenSession,
    entries: &[EntryIx],
    rendered: &HashMap<EntryIx, String>,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let session = &open.session;
    let reader = open.entry_reader();
    let clock = Clock::new(ui);
    let drawing = view_without_layout(session, session.leaf);
    let edits = open.find_edits(session.leaf)?;
    let painter = EntryPainter {
        drawing: &drawing,
        edits: &edits,
        styles: ui.styles,
        glyphs: Glyphs::UNICODE,
    };
    for (index, &ix) in entries.iter().enumerate() {
        let mut out = String::from(if index == 0 { "" } else { "\n" });
        push_heading(&painter, &clock, ix, &mut out);
        let line = open.input.map_read_error(reader.read_line(ix))?;
        let parts = match rendered.get(&ix) {
            Some(markdown) => vec![EntryPart::Body(Text::from(markdown.clone()))],
            None => entry_parts(Raw::from_checked(line.trim_ascii()), session.entry(ix).kind),
        };
        let mut was_text = false;
        for part in &parts {
            let is_text = matches!(part, EntryPart::Body(_));
            // An empty line separates two texts.
            if is_text && was_text {
                out.push('\n');
            }
            push_part(part, &painter.styles, &mut out);
            was_text = is_text;
        }
        ui.print(&out)?;
    }
    Ok(())
}

/// Appends the heading of an entry: its id, its role and type, its time, its label, whether it was
/// edited, its line number and its parent.
fn push_heading(painter: &EntryPainter, clock: &Clock, ix: EntryIx, out: &mut String) {
    let styles = &painter.styles;
    let session = painter.drawing.session;
    let entry = session.entry(ix);
    let id = if entry.id.is_empty() {
        "(no id)".to_owned()
    } else {
        visible_text(&session.id(ix))
    };
    let kind = visible_text(&session.kind_name(ix));
    let role_and_kind = match session.role_name(ix) {
        Some(role) if entry.kind == Kind::Message => format!("{} {kind}", visible_text(&role)),
        _ => kind,
    };
    let tone = tone_style(row_tone(entry.kind, entry.role), styles);
    let time = clock.format_time(entry.time_ms);
    let parent = match session.parent_id(ix) {
        Some(id) => format!("parent {}", visible_text(&id)),
        None => "no parent".to_owned(),
    };

    *out += &apply_style(&id, styles.dim);
    *out += &format!("  {}", apply_style(&role_and_kind, tone));
    *out += &apply_style(&format!("  {time}"), styles.dim);
    if let Some(label) = painter.drawing.label(ix) {
        let label = format!("[{}]", visible_text(&label));
        *out += &format!("  {}", apply_style(&label, styles.label));
    }
    if let Some(&edited) = painter.edits.get(&ix) {
        *out += &format!("  {}", apply_style(edit_mark(edited), styles.summary));
    }
    *out += &apply_style(&format!("  line {}, {parent}", entry.line.0), styles.dim);
    out.push('\n');
}

fn visible_text(text: &Text) -> String {
    to_visible(&text.to_string_lossy())
}

/// Appends one part of an entry. Text is indented further than field names, and field names further
/// than headings, so that no text can be mistaken for either.
fn push_part(part: &EntryPart, styles: &Styles, out: &mut String) {
    match part {
        EntryPart::Title(title) => {
            *out += &format!("  {}\n", apply_style(&visible_text(title), styles.dim))
        }
        EntryPart::Field(name, value) => {
            let name = apply_style(&format!("{}:", visible_text(name)), styles.dim);
            *out += &format!("  {name} {}\n", visible_text(value));
        }
        EntryPart::Body(text) => {
            for line in to_visible_lines(&text.to_string_lossy()).lines() {
                *out += if line.is_empty() { "" } else { "    " };
                *out += line;
                out.push('\n');
            }
        }
    }
}
