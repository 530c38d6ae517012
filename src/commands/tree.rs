//! `pisess tree`: draws the tree.

mod painter;

use crate::agents::pi::edits::ContextEdit;
use crate::cli::follow::{ChangedFiles, FileWatcher, FollowedSession};
use crate::cli::guide::{Example, Guide};
use crate::cli::open::{NO_ENTRIES, OpenSession};
use crate::cli::options::LastArgs;
use crate::cli::output::{Clock, Exit, Failure, Glyphs, Ui};
use crate::cli::pruned::{self, requests_with_pruned};
use crate::cli::renderer::RendererArgs;
use crate::cli::rows::entry::{EntryPainter, row_options_for};
use crate::cli::rows::path_links::PathLinks;
use crate::format::format_count;
use crate::load::LoadOptions;
use crate::ops::row_notes::{find_first_kept, read_failure_reasons};
use crate::ops::tree::{
    Filter, Layout, TreeView, ViewOptions, build_live_view, build_range_view, build_view,
};
use crate::ops::undo::find_undone;
use crate::session::RequestScope;
use crate::session::Session;
use crate::session::entry::{EntryIx, Flags, Role};
use crate::session::range::EntryRange;
use crate::session::search::SearchWords;
use crate::session::tree::TreeRow;
use crate::session::usage::UsageSums;
use foldhash::HashMap;
use painter::{RowArgs, TreePainter};
use pisess_json::write::Object;
use pisess_store::KeptContent;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Draw the conversation, with the path to the leaf at the left",
        "pisess tree session.jsonl",
    ),
    Example::new(
        "Show every entry in its own row, on abandoned branches too",
        "pisess tree --unfold session.jsonl",
    ),
    Example::new(
        "Show only the user messages, with their times",
        "pisess tree --filter user-only --times session.jsonl",
    ),
    Example::new(
        "Show only what failed or was interrupted",
        "pisess tree --filter failed session.jsonl",
    ),
    Example::new(
        "Search entries of every type for a word",
        "pisess tree --filter all --search midnight session.jsonl",
    ),
    Example::new(
        "Draw only the rows near the leaf",
        "pisess tree --around 10 session.jsonl",
    ),
    Example::new(
        "Draw the last five entries of the conversation",
        "pisess tree --last 5 session.jsonl",
    ),
    Example::new(
        "Draw the tree as if an earlier entry were the leaf",
        "pisess tree session.jsonl '@~3'",
    ),
    Example::new(
        "Draw the branches as the agent pi does",
        "pisess tree --layout pi session.jsonl",
    ),
    Example::new("Print the rows as JSON", "pisess tree --json session.jsonl"),
])
.with_found("--search or a filter for failures or images matched nothing");

/// Draw the conversation as a tree.
///
/// Each row is an entry: its id, its label in brackets, its role and its text. A dot after the id
/// marks the current conversation. In colour, rows of abandoned branches are dimmed. A horizontal
/// rule is a compaction: below it, the model sees a summary in place of the older entries above. It
/// still sees the newest entries above in full; `(kept from ID)` names the first of them.
///
/// The path to the leaf is not indented. At a branch point, the abandoned branches come first:
/// indented, with the oldest at the top. Then the path continues. The first row of a branch ends
/// with the number of messages in the branch and the age of the newest message. Messages that a
/// filter or --search hides are counted; labels, names and the marks that `switch` appends are not.
///
/// An abandoned branch of more than three rows is folded into one row. The row shows the id of the
/// last entry, the number of messages, the last label, the first user message and the age. `pisess
/// tree SESSION ID`, with this id, draws the tree as if the branch were the current one. --unfold
/// shows every row. On a terminal, a note names both ways to see a folded branch.
///
/// Given a range, draws only the entries of the range.
///
/// With --layout pi, the branch with the leaf comes first, all branches are indented, and none is
/// folded.
///
/// Paths are relative to the working directory of the session. Three or more consecutive tool
/// results are folded into one row, with the id of the last one. Flags mark entries that failed,
/// were aborted, edited or omitted, or have images. `(undone)` marks entries that `undo` took back.
/// `(hidden)` marks messages that the agent does not show. If entries were pruned, the first row
/// says how many. On a terminal, the line above the tree has the project, the number of entries,
/// and the tokens and cost of all requests; if the pager is `less`, it opens at the row of the
/// leaf.
///
/// --follow prints a row for each new entry that another program writes, until Ctrl-C. Labels and
/// moves to another branch are printed, too. The first row after a move ends with `(after ID)`; ID
/// is the parent of the new entry. If the file is replaced or truncated, only entries with new ids
/// are printed.
///
/// The modes of --filter are those of the agent's own tree, except for `failed` and `images`, which
/// only pisess has. `failed` also shows replies and commands that the user interrupted. It prints
/// why each call failed: the line of its output that reports a failed test or an error, or else the
/// last line. `all` shows every entry. With --json, no rows are folded; rows have the order and
/// `depth` that pi gives them.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Draw as if this entry were the leaf; or draw only the entries of this range
    #[arg(value_name = "REF", conflicts_with = "entry_count")]
    pub leaf: Option<String>,
    /// The same, as earlier versions spelled it.
    #[arg(long = "at", value_name = "REF", hide = true, conflicts_with_all = ["leaf", "entry_count"])]
    pub at: Option<String>,
    #[command(flatten)]
    pub last: LastArgs,
    /// Choose which entries to show
    #[arg(long, value_name = "MODE", default_value = "default")]
    pub filter: Filter,
    /// Show only entries that contain all these words in their role, label, text, tool calls or
    /// output (in sessions of oh-my-pi, similar words count, too)
    #[arg(long, value_name = "WORDS", default_value = "")]
    pub search: String,
    /// Show the N preceding and the N following entries (rows before and after the leaf or REF; all
    /// other rows are left out)
    #[arg(short = 'C', long, value_name = "N")]
    pub around: Option<usize>,
    /// Show every row, instead of folding abandoned branches and consecutive tool results
    #[arg(long)]
    pub unfold: bool,
    /// Choose how branches are drawn
    #[arg(long, value_name = "LAYOUT", default_value = "trunk")]
    pub layout: Layout,
    /// Draw with ASCII characters only
    #[arg(long)]
    pub ascii: bool,
    /// Wait for new entries, until Ctrl-C (and print each)
    #[arg(short, long, conflicts_with_all = ["leaf", "at", "entry_count"])]
    pub follow: bool,
    /// Omit the ids
    #[arg(long)]
    pub no_ids: bool,
    /// Show the time of each entry, in local time
    #[arg(long)]
    pub times: bool,
    #[command(flatten)]
    pub renderers: RendererArgs,
    /// Print the result as JSON (an object per row)
    #[arg(long)]
    pub json: bool,
}

impl Args {
    /// Whether several rows may be folded into one. A search, and a filter that looks for single
    /// entries, show every row.
    fn folds_rows(&self) -> bool {
        let shows_every_row = matches!(self.filter, Filter::All | Filter::Failed | Filter::Images);
        !self.unfold && !shows_every_row && self.search.trim().is_empty()
    }

    /// Whether particular entries are searched for. Then a tree without rows is a negative answer.
    fn is_search(&self) -> bool {
        let looks_for_entries = matches!(self.filter, Filter::Failed | Filter::Images);
        looks_for_entries || !self.search.trim().is_empty()
    }

    /// Returns the layout of the rows. JSON always has the order and the depths of the agents'
    /// tree.
    fn effective_layout(&self) -> Layout {
        if self.json { Layout::Pi } else { self.layout }
    }
}

/// Prints the tree of a session; with `--follow`, also the entries that are added later. There is
/// no pager with `--follow`, because it would wait for an end that never comes.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.follow {
        ui.disable_pager();
    }
    let open = OpenSession::open_to_read(&args.session, load_options(args, ui), ui)?;
    if args.follow {
        return follow_session(args, FollowedSession::from_open(open)?, ui);
    }
    let argument = args.at.as_deref().or(args.leaf.as_deref());
    let range = open.resolve_range(argument, args.last.entry_count)?;
    print_tree(args, &open, range, ui)
}

/// Prints the tree as it is now. If `range` is a whole path, the whole tree is printed as if its
/// end were the leaf; otherwise, only the entries of the range. On a terminal, a heading with the
/// usage precedes the tree.
///
/// A search without a result is a negative answer ([`Exit::Found`]). With `--follow`, results may
/// come later, so that nothing is printed about their absence.
fn print_tree(
    args: &Args,
    open: &OpenSession,
    range: EntryRange,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let options = ViewOptions {
        filter: args.filter,
        query: &args.search,
        layout: args.effective_layout(),
    };
    let drawing = if range.is_whole_path() {
        build_view(&open.session, range.end.entry(), options)
    } else {
        build_range_view(&open.session, range, options)
    };
    let is_empty = drawing.tree_rows.is_empty();
    let usage = if ui.stdout_is_terminal() {
        Some(usage_with_pruned(open))
    } else {
        None
    };
    print_drawing(args, open, drawing, usage, ui)?;

    if is_empty && !args.follow {
        ui.warn(&no_rows_note(args, open));
    }
    let lists_failures = args.filter == Filter::Failed && !args.json && !args.follow;
    if lists_failures && range.is_whole_path() {
        report_failed_calls(&open.session, ui)?;
    }
    if is_empty && args.is_search() {
        Ok(Exit::Found)
    } else {
        Ok(Exit::Done)
    }
}

/// Reports how many of the tool calls of a session failed, on all branches.
fn report_failed_calls(session: &Session, ui: &mut Ui) -> Result<(), Failure> {
    let mut result_count = 0;
    let mut failed_count = 0;
    for entry in &session.entries {
        if entry.role != Role::ToolResult {
            continue;
        }
        result_count += 1;
        if entry.flags.contains(Flags::FAILED) {
            failed_count += 1;
        }
    }
    if result_count == 0 {
        return Ok(());
    }
    // Flushed first, so that the rows precede the count where both streams are one.
    ui.flush()?;
    let calls = format_count(result_count, "tool call", "tool calls");
    ui.print_status(&format!("{failed_count} of {calls} failed"));
    Ok(())
}

/// Returns the reason why there are no rows, and what to try next.
fn no_rows_note(args: &Args, open: &OpenSession) -> String {
    if open.session.entries.is_empty() {
        return NO_ENTRIES.to_owned();
    }
    let what = if args.search.trim().is_empty() {
        "no entry passes the filter"
    } else {
        "no entry matches"
    };
    let hint = if args.filter == Filter::All {
        "`pisess grep` searches other sessions, too"
    } else {
        "`--filter all` includes every entry"
    };
    format!("{what} (hint: {hint})")
}

/// Prints the tree, and then the entries that other programs append. Never returns `Ok`: it ends
/// with a failure, for example if standard output is closed.
fn follow_session(
    args: &Args,
    mut followed: FollowedSession,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let whole = EntryRange::path_to(followed.open.session.leaf.into());
    print_tree(args, &followed.open, whole, ui)?;
    ui.print_notes_at_once();
    let mut watcher = FileWatcher::start(std::slice::from_ref(&followed.path));
    let is_named_by_watcher = is_named_by_watcher(&followed.path);

    // Entries may have been appended before the watcher was started, so the session is read before
    // the first wait.
    let mut changed = ChangedFiles::Any;
    loop {
        if !is_named_by_watcher || changed.may_include(&followed.path) {
            print_new_entries(args, &mut followed, ui)?;
        }
        changed = watcher.wait_for_changes(ui)?;
    }
}

/// Whether the watcher names this file when it changes. The watcher names only files with the
/// extension of sessions, and in place of a link its target. Any other file has to be read after
/// each wait.
fn is_named_by_watcher(path: &Path) -> bool {
    let has_session_extension = path.extension() == Some(OsStr::new("jsonl"));
    has_session_extension && !path.is_symlink()
}

/// Prints the entries that were appended to a session since the last call.
fn print_new_entries(
    args: &Args,
    followed: &mut FollowedSession,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let entries = followed.new_entries(ui);
    let session = &followed.open.session;
    let drawing = build_live_view(session, &entries, args.filter, &args.search);
    // The heading with the usage was printed with the tree.
    let usage = None;
    print_drawing(args, &followed.open, drawing, usage, ui)
}

/// Prints the rows of a drawing, as JSON or as text. Text is below a heading if `usage` is given. A
/// live drawing has only new entries: all its rows are printed, without folds.
fn print_drawing(
    args: &Args,
    open: &OpenSession,
    mut drawing: TreeView,
    usage: Option<UsageSums>,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let is_live = drawing.is_live();
    // New entries are printed however far they are from the leaf.
    let around = if is_live { None } else { args.around };
    if args.json {
        return print_json_rows(open, &drawing, around, ui);
    }

    add_facts(args, open, &mut drawing, ui)?;
    let changes = if is_live {
        ShownChanges::default()
    } else {
        ShownChanges::read(open, &drawing)?
    };
    let links = PathLinks::new(&open.session, ui);
    let entry_painter = EntryPainter {
        drawing: &drawing,
        edits: &changes.edits,
        links: links.as_ref(),
        styles: ui.styles,
        glyphs: if args.ascii {
            Glyphs::ASCII
        } else {
            Glyphs::UNICODE
        },
    };
    let row_args = RowArgs {
        folds_rows: args.folds_rows() && !is_live,
        shows_ids: !args.no_ids,
        clock: args.times.then(|| Clock::new(ui)),
    };
    let painter = TreePainter::new(entry_painter, row_args, ui)?;
    painter.print_tree(usage, around, changes.pruned_entries, ui)?;
    // In the output for a program, nobody needs a hint about folded rows.
    let is_for_people = ui.stdout_is_terminal() && ui.stderr_is_terminal();
    if is_for_people && !args.follow {
        painter.note_folds(around, ui);
    }
    Ok(())
}

/// What a drawing shows of entries that have been changed or removed.
#[derive(Default)]
struct ShownChanges {
    /// The context edits in effect, by the entry that they edit.
    edits: HashMap<EntryIx, ContextEdit>,
    /// The number of entries that `prune` has removed from the session.
    pruned_entries: usize,
}

impl ShownChanges {
    fn read(open: &OpenSession, drawing: &TreeView) -> Result<ShownChanges, Failure> {
        let operations = pruned::list_pruned(open);
        Ok(ShownChanges {
            edits: open.find_edits(drawing.leaf)?,
            pruned_entries: operations.iter().map(|operation| operation.entries).sum(),
        })
    }
}

/// Prints the rows of a drawing as JSON. `around` limits them to the rows around the leaf.
fn print_json_rows(
    open: &OpenSession,
    drawing: &TreeView,
    around: Option<usize>,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let entries = drawing.tree_rows.iter().map(|row| row.entry);
    let shown_rows = drawing.rows_around_leaf(entries, around);
    for row in &drawing.tree_rows[shown_rows] {
        ui.print_json(&json_row(&open.session, drawing, row))?;
    }
    Ok(())
}

/// Adds to a drawing what the rows show besides the entries: the texts of renderers, what
/// compactions kept, why calls failed (with `--filter failed`), and what was undone. A live drawing
/// has nothing that was undone.
fn add_facts(
    args: &Args,
    open: &OpenSession,
    drawing: &mut TreeView,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let input = &open.input;
    let reader = open.entry_reader();
    let drawn_entries: Vec<EntryIx> = drawing.tree_rows.iter().map(|row| row.entry).collect();
    let rendered_entries = drawn_entries.iter().copied();
    drawing.rendered = args.renderers.render_rows(open, rendered_entries, ui)?;
    let first_kept = find_first_kept(&reader, &drawn_entries);
    drawing.first_kept = input.map_read_error(first_kept)?;
    if args.filter == Filter::Failed {
        let reasons = read_failure_reasons(&reader, &drawn_entries);
        drawing.failure_reasons = input.map_read_error(reasons)?;
    }
    if !drawing.is_live() {
        let undone = find_undone(&open.session, &reader);
        drawing.undone = input.map_read_error(undone)?;
    }
    Ok(())
}

/// Returns the usage of a session, including its pruned requests.
fn usage_with_pruned(open: &OpenSession) -> UsageSums {
    match requests_with_pruned(open, RequestScope::AllBranches) {
        Some(requests) => requests.iter().map(|(_, usage)| usage).collect(),
        None => open.session.total_usage(),
    }
}

/// Returns the options for loading the session: texts of rows, and what the search and the heading
/// need.
fn load_options(args: &Args, ui: &Ui) -> LoadOptions {
    let mut options = row_options_for(args.json, ui);
    options.search = SearchWords::new(&args.search);
    // A search needs the whole text, and a renderer or the reason of a failure reads lines. Marks
    // of moves and context edits are read, too, but sessions of other agents have hardly any.
    let reads_only_facts = options.search.is_empty()
        && args.filter != Filter::Failed
        && args.renderers.renderers.is_empty();
    if reads_only_facts {
        options.kept = KeptContent::Nothing;
    }
    options.whole_lines = args.follow;
    options.timestamps = args.json;
    options.usage = !args.json && ui.stdout_is_terminal();
    options
}

/// Returns a row as JSON. `targetId` is present only for labels, `branched` only with `--follow`,
/// and `match` only with `--search`.
fn json_row(session: &Session, drawing: &TreeView, tree_row: &TreeRow) -> Vec<u8> {
    let ix = tree_row.entry;
    let entry = session.entry(ix);
    let id = if entry.id.is_empty() {
        None
    } else {
        Some(session.id(ix))
    };
    let mut row = Object::new()
        .text_or_null("id", id.as_ref())
        .text_or_null("parentId", session.parent_id(ix).as_ref())
        .text("type", &session.kind_name(ix))
        .text_or_null("role", session.role_name(ix).as_ref())
        .number("line", f64::from(session.shown_line(ix).0))
        .text_or_null("timestamp", session.timestamp(ix).as_ref())
        .number("depth", f64::from(tree_row.depth))
        .text_or_null("label", drawing.label(ix).as_ref())
        .bool("active", drawing.is_active(ix))
        .bool("leaf", drawing.is_leaf(ix))
        .bool("failed", entry.flags.contains(Flags::FAILED))
        .bool("aborted", entry.flags.contains(Flags::ABORTED))
        .bool("images", entry.flags.contains(Flags::IMAGES))
        .text("text", &drawing.row_text(ix));
    if let Some(labelled) = drawing.label_target(ix) {
        row = row.text("targetId", &labelled);
    }
    if drawing.is_live() {
        row = row.bool("branched", drawing.leaf_moved_to(ix).is_some());
    }
    if !drawing.words.is_empty() {
        row = row.json("match", &match_json(drawing, ix));
    }
    row.finish()
}

/// Returns the position of the search words in a row. `null` if the agent's own search matches the
/// row, but no field contains one of the words.
fn match_json(drawing: &TreeView, ix: EntryIx) -> Vec<u8> {
    let Some(hit) = drawing.find_hit(ix) else {
        return b"null".to_vec();
    };
    Object::new()
        .str("field", &hit.field)
        .number("start", hit.range.start as f64)
        .number("end", hit.range.end as f64)
        .str("snippet", &hit.snippet)
        .finish()
}
