//! `pisess show`: prints entries in full.

mod code;
mod files;
mod images;
mod painter;
mod patch;
mod plain;

use crate::agents::readable::Folders;
use crate::cli::guide::{Example, Guide};
use crate::cli::open::OpenSession;
use crate::cli::options::{LastArgs, entries_around};
use crate::cli::output::{Clock, Exit, Failure, Ui};
use crate::cli::pruned::open_with_pruned;
use crate::cli::renderer::RendererArgs;
use crate::cli::rows::entry::{print_entry_lines, print_rows, row_options};
use crate::cli::rows::ids::IdPainter;
use crate::cli::rows::path_links::PathLinks;
use crate::export::cuts::Cuts;
use crate::export::markdown::entry_markdown;
use crate::export::source::{Contents, ContentsReader, Display, ExportedPart};
use crate::load::LoadOptions;
use crate::ops::grep::entries_around_matches;
use crate::ops::show::{ShownEntry, ShownPart, Surroundings, compaction_facts, read_entry};
use crate::ops::tree::view_without_layout;
use crate::session::Session;
use crate::session::content::blocks_of_type;
use crate::session::entry::{EntryIx, Kind, LineNo, Role};
use crate::session::labels::Labels;
use crate::session::range::Selection;
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::{CURRENT_REFERENCE, Position, is_near_current};
use crate::session::tree::Tree;
use clap::ValueEnum;
use foldhash::HashMap;
use painter::ShownPainter;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::KeptContent;
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
        "Show the last five entries of the conversation",
        "pisess show --last 5 session.jsonl",
    ),
    Example::new(
        "Show the entries after a label, up to the end",
        "pisess show session.jsonl green..",
    ),
    Example::new(
        "Show an answer with all its fields",
        "pisess show --all-fields session.jsonl '@^{assistant}'",
    ),
    Example::new(
        "Print only the text of the last answer, in Markdown",
        "pisess show --as markdown session.jsonl '@^{answer}'",
    ),
    Example::new(
        "Print the output of a command unchanged",
        "pisess show --as plain session.jsonl ':/cargo test'",
    ),
    Example::answers_no(
        "Print the last block of code of the last answer",
        "pisess show --code -1 session.jsonl",
    ),
    Example::new(
        "Print a file as the conversation left it",
        "pisess show --file midnight.rs session.jsonl",
    ),
    Example::answers_no(
        "Print a file as it was before the conversation",
        "pisess show --file clock.rs session.jsonl root",
    ),
    Example::answers_no(
        "Print a file as it was before a text was first written",
        "pisess show --file clock.rs session.jsonl ':1/rem_euclid^'",
    ),
    Example::answers_no(
        "Print a file as it was on the branch that the last switch left",
        "pisess show --file clock.rs session.jsonl -",
    ),
    Example::answers_no(
        "Print the agent's changes as a patch for `git apply`",
        "pisess show --patch session.jsonl",
    ),
    Example::new(
        "Print what the conversation changed in one file",
        "pisess show --patch --file midnight.rs session.jsonl",
    ),
    Example::new(
        "Show an entry with the two before it",
        "pisess show -B 2 session.jsonl '@^{user}'",
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
.with_found("no text, code block or image, or not all of a file is known");

/// Show entries in full.
///
/// Prints a heading for each entry: its id, time and label, and its role (or its tool or type). A
/// line of facts follows: the model, tokens and cost of a reply, the line number and the parent.
/// Then comes the text: messages, thinking, tool calls, results and summaries. A tool result begins
/// with the call that it answers, and the changes of an edit are shown as a diff.
///
/// On a terminal, lines are wrapped between words, and prose is at most 100 columns wide.
///
/// --all-fields prints every field of messages and summaries, except signatures and image data;
/// --json prints these, too.
///
/// A pruned entry is shown from SESSION.pruned, with its old line number.
///
/// Given a range, shows the conversation's entries within that range. Settings and bookkeeping
/// (labels, names, the marks that `switch` appends, …) are skipped; `pisess path` lists them.
///
/// --as markdown prints only the text, with tool calls folded, to paste into an issue. --as plain
/// prints the text unchanged, without tool calls and thinking. Use it to save the output of a
/// command.
///
/// -C, -A and -B also show the entries before and after each REF in the conversation, as in `grep`.
///
/// --code prints the fenced code blocks of REF unchanged. Without REF, the last answer is used.
/// `--code=rust` prints only blocks in that language; `-1` prints only the last block.
///
/// --images writes the images of REF to files, and prints their paths. Without REF, it writes the
/// images of the whole conversation, in order. The name of a file has the id of the entry, the
/// number of the image in the entry, and the origin: `1a2b3c4d-1-user.png` is from the user,
/// `5e6f7a8b-1-read.png` from a result of the tool `read`. An existing file with different content
/// is not replaced.
///
/// --file prints a file as the tool calls up to REF left it: the newest write or complete read,
/// with all later edits. Failed calls are ignored. If all calls on the file come after REF, the
/// content is from the reads before the first change, and a note says so. REF `root` comes before
/// all calls, so `show --file FILE SESSION root` prints the file as it was before the conversation.
/// If only a part of the file is known, a note says which, and the exit code is 1. FILE is the end
/// of a path, or a path relative to the working directory of the session or to the current
/// directory. --files lists the files, and whether the content of each is known: `whole`, `part`,
/// `nothing` or `outdated`. `outdated` means that the whole content was known, but a later edit did
/// not fit it, or recorded its change in an unknown form. Changes made by commands are not known.
///
/// --patch prints what the calls of the conversation, or of a range, changed in files, as a unified
/// diff for `git apply`. The diff of a file is between its content before the first change and its
/// content at the end. Changes made by commands are included only if a later read shows them. A
/// file whose first call is a write counts as new. If the content of a file is only partly known,
/// the diffs that its edits recorded are printed, with a note. If an edit recorded no diff, the
/// file is left out, and the exit code is 1. Paths are relative to the working directory of the
/// session; a file outside of that directory has its absolute path. With --file, the patch contains
/// only that file.
///
/// --children prints one row for each child of REF.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entries to show, or ranges of them (default: `@`, the last entry of the conversation)
    #[arg(value_name = "REF", conflicts_with = "entry_count")]
    pub entries: Vec<String>,
    #[command(flatten)]
    pub last: LastArgs,
    /// List the children of each REF instead
    #[arg(long, conflicts_with = "entry_count")]
    pub children: bool,
    /// Print all fields, by name
    #[arg(long, conflicts_with_all = ["children", "format", "json"])]
    pub all_fields: bool,
    /// Output format
    #[arg(long = "as", value_name = "FORMAT", default_value = "text", conflicts_with_all = ["children", "json"])]
    pub format: ShowFormat,
    /// Also print the N preceding entries (of each REF)
    #[arg(short = 'B', long, value_name = "N", conflicts_with = "children")]
    pub before_context: Option<usize>,
    /// Also print the N following entries (of each REF)
    #[arg(short = 'A', long, value_name = "N", conflicts_with = "children")]
    pub after_context: Option<usize>,
    /// Show the N preceding and the N following entries (of each REF)
    #[arg(short = 'C', long, value_name = "N", conflicts_with = "children")]
    pub around: Option<usize>,
    /// Print only the fenced code blocks, or only those in LANG
    #[arg(
        long,
        value_name = "LANG",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "",
        conflicts_with_all = ["children", "all_fields", "format"]
    )]
    pub code: Option<String>,
    /// With --code, print only the last block
    #[arg(short = '1', long, requires = "code")]
    pub last_block: bool,
    /// Write the images to files in DIR, and print their paths
    #[arg(long, value_name = "DIR", conflicts_with_all = ["children", "all_fields", "format", "code"])]
    pub images: Option<PathBuf>,
    /// Print the content of a file as the conversation left it at REF (with --patch, only its
    /// changes)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["children", "all_fields", "format", "code", "images", "around", "before_context", "after_context"])]
    pub file: Option<String>,
    /// Print only paths (of the files read or written up to REF, and how much of their content is
    /// known)
    #[arg(short = 'l', long, conflicts_with_all = ["children", "all_fields", "format", "code", "images", "file", "around", "before_context", "after_context"])]
    pub files: bool,
    /// Print what the calls changed in files, as a unified diff (with --file, in one file)
    #[arg(long, conflicts_with_all = ["children", "all_fields", "format", "code", "images", "files", "around", "before_context", "after_context"])]
    pub patch: bool,
    #[command(flatten)]
    pub renderers: RendererArgs,
    /// Print the result as JSON (the entries, in the current version of the format, 3)
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
    /// The text alone, unchanged
    Plain,
}

/// Prints entries in the form that the options request, or prints files or a patch.
///
/// clap refuses options that request two forms, except `--json`, which is also a form of several
/// others: with `--code`, `--images`, `--file`, `--files` or `--patch`, these print JSON. With
/// `--children`, the children are printed as JSON, and not as rows.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    // With --file, only that file is in the patch.
    if args.patch {
        return patch::show_patch(args, ui);
    }
    if args.file.is_some() || args.files {
        return files::show_files(args, ui);
    }
    if args.images.is_some() {
        // Only the paths of the written files are printed.
        ui.disable_pager();
    }
    let ShownEntries { open, entries } = open_and_resolve(args, load_options(args, ui), ui)?;
    let entries = args.with_entries_around(&open.session, entries);
    print_entries(args, &open, &entries, ui)?;
    Ok(Exit::Done)
}

/// Returns what is loaded of the session: the text of rows only for the forms that need it, and no
/// more lines than are probably shown.
fn load_options(args: &Args, ui: &Ui) -> LoadOptions {
    let needs_rows = args.prints_children_as_rows() || args.format == ShowFormat::Markdown;
    let mut options = if needs_rows {
        row_options(ui)
    } else {
        LoadOptions::default()
    };
    options.kept = if args.shows_last_entries() {
        KeptContent::End
    } else {
        KeptContent::SomeLines
    };
    options
}

/// Prints entries as rows, as JSON, as quotations, as plain texts or in full; or prints their
/// blocks of code, or writes their images.
fn print_entries(
    args: &Args,
    open: &OpenSession,
    entries: &[EntryIx],
    ui: &mut Ui,
) -> Result<(), Failure> {
    // These two have a form in JSON of their own.
    if args.code.is_some() {
        return code::print_code_blocks(args, open, entries, ui);
    }
    if let Some(folder) = &args.images {
        return images::write_images(open, entries, folder, args.json, ui);
    }

    if args.json {
        return print_entry_lines(open, entries, ui);
    }
    if args.prints_children_as_rows() {
        let leaf = open.session.leaf;
        let drawing = view_without_layout(&open.session, leaf);
        let edits = open.find_edits(leaf)?;
        return print_rows(&drawing, &edits, entries, ui);
    }
    if args.format == ShowFormat::Markdown {
        return print_quotations(args, open, entries, ui);
    }
    if args.format == ShowFormat::Plain {
        return plain::print_plain_texts(open, entries, ui);
    }
    let rendered = args.renderers.render(open, entries.iter().copied(), ui)?;
    print_in_full(args, open, entries, &rendered, ui)
}

impl Args {
    /// Whether the children of an entry are shown, as rows.
    fn prints_children_as_rows(&self) -> bool {
        self.children && !self.json
    }

    /// Whether the entries to show are probably near the end of the session: all are given as
    /// `@`, `@~2`, `@^{user}` or the like, and neither as a range nor by a text.
    fn shows_last_entries(&self) -> bool {
        let shows_many =
            self.last.entry_count.is_some() || (self.images.is_some() && self.entries.is_empty());
        !shows_many && self.entries.iter().all(|entry| is_near_current(entry))
    }

    /// Adds the entries around each entry, if `-A`, `-B` or `-C` requests them. Then all entries
    /// are in the order of the file, without duplicates.
    fn with_entries_around(&self, session: &Session, entries: Vec<EntryIx>) -> Vec<EntryIx> {
        let context = entries_around(self.before_context, self.after_context, self.around);
        if context.is_empty() {
            return entries;
        }

        let mut lines: Vec<LineNo> = Vec::new();
        for ix in entries {
            lines.push(session.entry(ix).line);
        }
        // `entries_around_matches` takes lines in ascending order.
        lines.sort_unstable();
        lines.dedup();
        let nearby = entries_around_matches(session, &lines, context);
        nearby.into_iter().map(|nearby| nearby.entry).collect()
    }
}

/// The entries to show, and the session that contains them.
struct ShownEntries {
    open: OpenSession,
    entries: Vec<EntryIx>,
}

/// Opens the session, and finds the entries to show. An entry that is not found may have been
/// pruned: then the session is opened as it was before, with a note. If the entry is not found
/// there either, returns the first failure.
fn open_and_resolve(
    args: &Args,
    options: LoadOptions,
    ui: &mut Ui,
) -> Result<ShownEntries, Failure> {
    let open = OpenSession::open_to_read(&args.session, options.clone(), ui)?;
    let failure = match resolve_entries(args, &open) {
        Ok(entries) => return Ok(ShownEntries { open, entries }),
        Err(failure) => failure,
    };

    let Some(unpruned) = open_with_pruned(&open.input, options, ui)? else {
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

/// Prints entries as quotations in Markdown, without thinking. An empty line separates them.
fn print_quotations(
    args: &Args,
    open: &OpenSession,
    entries: &[EntryIx],
    ui: &mut Ui,
) -> Result<(), Failure> {
    // The entries to show may be on any branch.
    let mut contents = Contents::new(
        &open.session,
        open.input.source(),
        ExportedPart::AllBranches(open.session.leaf.into()),
    );
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

/// Returns the entries to show: those that `--last` or the arguments select, or with `--children`
/// the children of these. Without an argument, this is the last entry of the conversation; with
/// `--code`, the last answer; with `--images`, the whole conversation.
///
/// clap refuses `--last` together with arguments or `--children`.
fn resolve_entries(args: &Args, open: &OpenSession) -> Result<Vec<EntryIx>, Failure> {
    if args.last.entry_count.is_some() {
        let range = open.resolve_range(None, args.last.entry_count)?;
        return Ok(range.conversation_entries(&open.session));
    }
    if args.entries.is_empty() && args.code.is_some() {
        return Ok(vec![code::find_last_answer(open)?]);
    }
    if args.entries.is_empty() && args.images.is_some() {
        return Ok(open.session.path(open.session.leaf));
    }

    let mut arguments: Vec<&str> = args.entries.iter().map(String::as_str).collect();
    if arguments.is_empty() {
        arguments.push(CURRENT_REFERENCE);
    }
    if args.children {
        return resolve_children(open, &arguments);
    }

    let mut entries = Vec::new();
    for argument in arguments {
        match open.resolve_selection_to_show(argument)? {
            Selection::Entry(position) => entries.push(require_shown(open, position, argument)?),
            Selection::Range(range) => entries.extend(open.conversation_entries(range, argument)?),
        }
    }
    Ok(entries)
}

/// Returns the children of the referenced entries. The root has children, although it is not an
/// entry itself.
fn resolve_children(open: &OpenSession, references: &[&str]) -> Result<Vec<EntryIx>, Failure> {
    let tree = Tree::new(&open.session);
    let mut children = Vec::new();
    for reference in references {
        match open.resolve_selection(reference)? {
            Selection::Entry(Position::Entry(ix)) => children.extend_from_slice(tree.children(ix)),
            Selection::Entry(Position::Root) => children.extend_from_slice(tree.roots()),
            Selection::Range(_) => {
                return Err(
                    Failure::usage_error("--children takes entries, not a range")
                        .with_hint("`pisess path` lists the entries of a range"),
                );
            }
        }
    }
    Ok(children)
}

/// Returns the entry at a position. Fails at the root, where there is no entry to show.
fn require_shown(
    open: &OpenSession,
    position: Position,
    reference: &str,
) -> Result<EntryIx, Failure> {
    open.require_entry(position, reference).map_err(|failure| {
        let hint =
            "root is the position before the first entry; --children lists the first entries";
        failure.with_hint(hint)
    })
}

/// Reads what is shown of an entry. The result does not borrow from the line of the entry: that may
/// be long, and is freed when this returns, before the entry is painted.
fn read_shown(reader: &EntryReader, ix: EntryIx, folders: Folders) -> io::Result<ShownEntry> {
    let entry = reader.session().entry(ix);
    let line = reader.read_line(ix)?;
    let line = Raw::from_checked(line.trim_ascii());
    let call = find_answered_call(reader, ix, line)?;
    let around = Surroundings {
        call: call.as_deref().map(Raw::from_checked),
        folders,
    };
    let mut shown = read_entry(line, entry.kind, entry.role, around);
    if entry.kind == Kind::Compaction {
        shown.facts.extend(compaction_facts(reader, ix)?);
    }
    Ok(shown)
}

/// Prints entries in full, with an empty line between two. A text that a renderer made of an entry
/// replaces the entry's own text.
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
        let mut shown = open
            .input
            .map_read_error(read_shown(&reader, ix, folders))?;
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

/// Returns the block of the tool call that a tool result answers. The call is searched for in the
/// replies above the result. `None` if no reply has it, and for any other entry.
fn find_answered_call(reader: &EntryReader, ix: EntryIx, line: Raw) -> io::Result<Option<Vec<u8>>> {
    let session = reader.session();
    let message = line.get("message").unwrap_or(Raw::NULL);
    let Some(call_id) = message.get_text("toolCallId") else {
        return Ok(None);
    };
    // The first entry of the iterator is the result itself.
    for above in session.ancestors(Some(ix)).skip(1) {
        if !session.is_message(above, Role::Assistant) {
            continue;
        }
        let call = reader.with_message(above, |reply| find_call(reply, &call_id))?;
        if call.is_some() {
            return Ok(call);
        }
    }
    Ok(None)
}

/// Returns the block of the tool call with this id in a reply.
fn find_call(reply: Raw, call_id: &Text) -> Option<Vec<u8>> {
    let content = reply.get("content").unwrap_or(Raw::NULL);
    for block in blocks_of_type(content, "toolCall") {
        if block.get_text("id").as_ref() == Some(call_id) {
            return Some(block.bytes().to_vec());
        }
    }
    None
}
