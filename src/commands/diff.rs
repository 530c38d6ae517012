//! `pisess diff`: compares two paths of a session, or two sessions.

mod hunks;

use crate::cli::copies::{CopyAccess, FilesOfSession, find_both_copies, resolve_copy_in_folder};
use crate::cli::guide::{Example, Guide};
use crate::cli::open::OpenSession;
use crate::cli::output::{Exit, Failure, Glyphs, RowBuffer, Styles, Ui, apply_style, to_visible};
use crate::cli::rows::entry::{EntryPainter, row_options};
use crate::cli::rows::ids::IdPainter;
use crate::cli::rows::path_links::PathLinks;
use crate::format::format_count;
use crate::load::LoadOptions;
use crate::ops::branches::find_branches;
use crate::ops::diff::context::{Hunk, compare_contexts};
use crate::ops::diff::{ComparedPath, Difference, compare_paths, compare_sessions};
use crate::ops::tree::view_without_layout;
use crate::session::Session;
use crate::session::entry::{EntryIx, Flags, Role};
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::{CURRENT_REFERENCE, is_near_current};
use crate::session::tree::{Tree, active_mask};
use hunks::{line_stat, print_hunks};
use owo_colors::Style;
use pisess_json::write::{Object, text_array};
use pisess_store::KeptContent;
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::answers_no(
        "Compare two branches of a session",
        "pisess diff session.jsonl 5c07d14b @",
    ),
    Example::answers_no(
        "Compare what the model sees before the last compaction and at the leaf",
        "pisess diff --context session.jsonl '@^{compaction}^' @",
    ),
    Example::answers_no(
        "Compare two sessions, on one line",
        "pisess diff --stat session.jsonl sessions/one.jsonl",
    ),
    Example::new(
        "Check that the model sees the same in a session and in its fork (no output)",
        "pisess fork session.jsonl -o fork.jsonl && pisess diff --context session.jsonl fork.jsonl",
    ),
])
.with_success("no difference")
.with_found("the paths differ");

/// Compare two paths of a session, or two sessions.
///
/// With two sessions, compares the paths to their leaves. If one of the two is a directory,
/// compares the other session with its copy in that directory. With two entries of one session,
/// compares the paths to them. With one session and nothing else, compares the newest abandoned
/// branch with the current conversation.
///
/// If you give one session, and the stores (the directories in which the agents keep sessions) have
/// two copies of it, these are compared instead. Two copies result if two computers share a store,
/// for example by Syncthing. `pisess join` combines the copies.
///
/// Prints a line for each side: its name, the number of its entries, and the number of entries that
/// the other side lacks. Then come the last user message and the last entry before the first
/// difference. The other rows are entries with different content (~), entries only on the first
/// path (-), and entries only on the second (+). A call and its result are one row, as in `tree`.
///
/// Entries of two sessions are matched by id, or else by content, because a copy may have new ids.
/// Entries with different parents can still match.
///
/// With --context, prints a unified diff of what the model would see at the two ends.
#[derive(Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess diff [OPTIONS] <SESSION> <REF> <REF>\n",
    "       pisess diff [OPTIONS] <SESSION> [SESSION]",
))]
pub struct Args {
    /// The session: a path, a name (see `pisess --help`), or - for standard input
    pub session: PathBuf,
    /// The other session, a directory with a copy of the session, or the entry at which the first
    /// path ends
    #[arg(value_name = "SESSION|REF")]
    pub other: Option<PathBuf>,
    /// Entry at which the second path ends
    #[arg(value_name = "REF")]
    pub to: Option<String>,
    /// Use what the model would see (compare this, not the entries; print a unified diff)
    #[arg(long)]
    pub context: bool,
    /// Print only how much differs, on one line
    #[arg(long)]
    pub stat: bool,
    /// Print the result as JSON (the ids of the entries that differ)
    #[arg(long, conflicts_with_all = ["context", "stat"])]
    pub json: bool,
}

/// Compares two paths of one session if two references are given. Otherwise compares two sessions,
/// by the paths to their leaves: the given ones, or the two copies of the only one. If that has no
/// copy, compares its newest abandoned branch with the current conversation.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let stdin = Path::new("-");
    let are_both_stdin = args.session == stdin && args.other.as_deref() == Some(stdin);
    if are_both_stdin && args.to.is_none() {
        let failure = Failure::usage_error("both sessions are standard input");
        return Err(failure.with_hint("give one of them as a path"));
    }

    match (&args.other, &args.to) {
        // With a third argument, the second one is a reference, and not a session.
        (Some(from), Some(to)) => diff_entries(args, &from.to_string_lossy(), to, ui),
        (Some(other), None) => diff_sessions(args, other, ui),
        // clap takes no third argument without a second one.
        (None, _) => diff_copies(args, ui),
    }
}

/// Compares the paths to two entries of the session.
fn diff_entries(args: &Args, from: &str, to: &str, ui: &mut Ui) -> Result<Exit, Failure> {
    let mut options = load_options(args, ui);
    let are_near_end = [from, to].into_iter().all(is_near_current);
    if are_near_end && !args.context {
        // Only the entries that are not on both paths are read.
        options.kept = KeptContent::End;
    }
    let open = OpenSession::open_to_read(&args.session, options, ui)?;
    let ends = [
        PathEnd::at_reference(&open, from)?,
        PathEnd::at_reference(&open, to)?,
    ];
    print_diff(args, &ends, ui)
}

/// Compares the session with another one. If `other` is a directory, that is the session's copy in
/// it.
fn diff_sessions(args: &Args, other: &Path, ui: &mut Ui) -> Result<Exit, Failure> {
    let options = load_options(args, ui);
    let [left, right] = resolve_copy_in_folder([&args.session, other], CopyAccess::Read, ui)?;
    let left = OpenSession::open_to_read(&left, options.clone(), ui)?;
    let right = open_other(&right, options, ui)?;
    let ends = [PathEnd::at_leaf(&left), PathEnd::at_leaf(&right)];
    print_diff(args, &ends, ui)
}

/// Compares the two copies of the session, which have the same id; or two branches, if it has no
/// copy.
fn diff_copies(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let options = load_options(args, ui);
    let [left, right] = match find_both_copies(&args.session, CopyAccess::Read, ui)? {
        FilesOfSession::Both(paths) => paths,
        FilesOfSession::Only { path, .. } => {
            let open = OpenSession::open_to_read(&path, options, ui)?;
            return diff_branches(args, &open, ui);
        }
    };
    let left = OpenSession::open_to_read(&left, options.clone(), ui)?;
    let right = OpenSession::open_to_read(&right, options, ui)?;
    let ends = [PathEnd::at_leaf(&left), PathEnd::at_leaf(&right)];
    print_diff(args, &ends, ui)
}

/// Compares the newest abandoned branch of a session, which has no copy, with the current
/// conversation.
///
/// # Errors
/// If the session has no such branch. This is not the answer that two paths differ.
fn diff_branches(args: &Args, open: &OpenSession, ui: &mut Ui) -> Result<Exit, Failure> {
    let mut abandoned = find_branches(&open.session, &Tree::new(&open.session));
    abandoned.retain(|branch| {
        let tip = branch.last_shown_entry(&open.session);
        // The id of a repeated entry is that of its last line, which is on another branch.
        let has_other_id = open.session.entry(tip).flags.contains(Flags::SUPERSEDED);
        !branch.active && !has_other_id
    });
    // The newest branch is the first.
    let Some(newest) = abandoned.first() else {
        let name = &open.input.name;
        return Err(Failure::invalid(format_args!(
            "{name}: the session has no abandoned branch, and no copy in the stores"
        ))
        .with_path(name)
        .with_hint("give another session, or two entries, as in `pisess diff last @~3 @`"));
    };
    let tip = newest.last_shown_entry(&open.session);
    let tip_id = to_visible(&open.session.id(tip).to_string_lossy());
    if abandoned.len() > 1 {
        let count = format_count(abandoned.len(), "abandoned branch", "abandoned branches");
        ui.warn(&format!(
            "the newest of {count} is compared (hint: `pisess branches` lists all; give two entries)"
        ));
    }
    let ends = [
        PathEnd::at_reference(open, &tip_id)?,
        PathEnd::at_reference(open, CURRENT_REFERENCE)?,
    ];
    print_diff(args, &ends, ui)
}

/// Returns the options for loading the sessions: contexts are made of messages, and entries are
/// printed as rows.
fn load_options(args: &Args, ui: &Ui) -> LoadOptions {
    let prints_rows = !args.context && !args.stat && !args.json;
    let base = if prints_rows {
        row_options(ui)
    } else {
        LoadOptions::default()
    };
    LoadOptions {
        message_spans: args.context,
        kept: KeptContent::SomeLines,
        ..base
    }
}

/// Opens the second session. If the argument seems to be a reference to an entry, the failure
/// explains how to compare two entries.
fn open_other(other: &Path, options: LoadOptions, ui: &mut Ui) -> Result<OpenSession, Failure> {
    let failure = match OpenSession::open_to_read(other, options, ui) {
        Ok(open) => return Ok(open),
        Err(failure) => failure,
    };
    // Almost every path of a session has a dot or a slash, and no id of an entry has one.
    let may_be_path = other.to_string_lossy().contains(['.', '/']);
    if may_be_path && !failure.is_missing_file {
        return Err(failure);
    }
    Err(failure
        .with_hint("two arguments name two sessions; to compare two entries, give SESSION REF REF"))
}

/// One of the two compared paths, named by its end.
struct PathEnd<'a> {
    open: &'a OpenSession,
    /// The name of the session. If both paths are in one session, the reference follows it.
    name: String,
    /// The last entry of the path; `None` if the path is empty.
    end: Option<EntryIx>,
}

impl<'a> PathEnd<'a> {
    /// Returns the end of the path to the leaf of a session.
    fn at_leaf(open: &'a OpenSession) -> PathEnd<'a> {
        PathEnd {
            open,
            name: open.input.name.clone(),
            end: open.session.leaf,
        }
    }

    /// Returns the end of the path to the entry that `reference` names.
    fn at_reference(open: &'a OpenSession, reference: &str) -> Result<PathEnd<'a>, Failure> {
        Ok(PathEnd {
            open,
            name: format!("{} {}", open.input.name, to_visible(reference)),
            end: open.resolve_position(reference)?.entry(),
        })
    }

    /// Returns the path from the root to this end.
    fn compared_path<'r>(&'r self, reader: &'r EntryReader<'r>) -> ComparedPath<'r> {
        let session = &self.open.session;
        ComparedPath {
            session,
            path: session.path(self.end),
            reader,
        }
    }
}

/// Whether both paths are in the same session, which was opened once.
fn are_of_one_session([left, right]: &[PathEnd; 2]) -> bool {
    std::ptr::eq(left.open, right.open)
}

/// Prints the difference between two paths: with `--context` between what the model would see, else
/// between their entries. The exit code is [`Exit::Found`] if they differ.
fn print_diff(args: &Args, ends: &[PathEnd; 2], ui: &mut Ui) -> Result<Exit, Failure> {
    let [left_end, right_end] = ends;
    let left_reader = left_end.open.entry_reader();
    let right_reader = right_end.open.entry_reader();
    let left = left_end.compared_path(&left_reader);
    let right = right_end.compared_path(&right_reader);
    let input = &left_end.open.input;

    let is_equal = if args.context {
        let hunks = input.map_read_error(compare_contexts(&left, &right))?;
        print_context_difference(args, ends, &hunks, ui)?;
        hunks.is_empty()
    } else {
        let difference = if are_of_one_session(ends) {
            compare_paths(&left.path, &right.path)
        } else {
            input.map_read_error(compare_sessions(&left, &right))?
        };
        print_difference(args, ends, &difference, ui)?;
        difference.is_empty()
    };
    if is_equal {
        Ok(Exit::Done)
    } else {
        Ok(Exit::Found)
    }
}

/// Prints the lines in which two contexts differ: as their numbers with `--stat`, or as hunks.
fn print_context_difference(
    args: &Args,
    [left, right]: &[PathEnd; 2],
    hunks: &[Hunk],
    ui: &mut Ui,
) -> Result<(), Failure> {
    if args.stat {
        return ui.print(&line_stat(hunks));
    }
    print_hunks(hunks, [&left.name, &right.name], ui)
}

/// Prints the entries that differ: as JSON, as their numbers with `--stat`, or as rows.
fn print_difference(
    args: &Args,
    ends: &[PathEnd; 2],
    difference: &Difference,
    ui: &mut Ui,
) -> Result<(), Failure> {
    if args.json {
        return ui.print_json(&difference_json(ends, difference));
    }
    if args.stat {
        return ui.print(&entry_stat(difference));
    }
    print_entries(ends, difference, ui)?;
    if !are_of_one_session(ends) {
        let [left, right] = ends;
        warn_of_entries_on_other_branches(&difference.only_right, right, left, ui);
        warn_of_entries_on_other_branches(&difference.only_left, left, right, ui);
    }
    Ok(())
}

/// Returns a difference as JSON: the ids of entries that only one path has, and of entries that
/// differ. The latter are named by their ids on the left.
fn difference_json([left, right]: &[PathEnd; 2], difference: &Difference) -> Vec<u8> {
    let mut changed_on_left = Vec::new();
    for changed in &difference.changed {
        changed_on_left.push(changed.left);
    }
    let ancestor = difference.ancestor.map(|ix| left.open.session.id(ix));
    Object::new()
        .text_or_null("commonAncestorId", ancestor.as_ref())
        .json("onlyLeft", &left.ids_json(&difference.only_left))
        .json("onlyRight", &right.ids_json(&difference.only_right))
        .json("changed", &left.ids_json(&changed_on_left))
        .finish()
}

/// Prints a heading for each side and, dimmed, the last common user message and the last common
/// entry. Then prints a row for each different entry: first the changed ones, as they are on the
/// right; then those that only the left path has; then those that only the right path has.
fn print_entries(
    [left, right]: &[PathEnd; 2],
    difference: &Difference,
    ui: &mut Ui,
) -> Result<(), Failure> {
    if difference.is_empty() {
        return Ok(());
    }
    let styles = ui.styles;
    let left_line = left.side_line("---", difference.only_left.len());
    let right_line = right.side_line("+++", difference.only_right.len());
    ui.print(&format!("{}\n", apply_style(&left_line, styles.removed)))?;
    ui.print(&format!("{}\n", apply_style(&right_line, styles.added)))?;
    match difference.ancestor {
        Some(ancestor) => {
            let last_common = with_last_user_message(&left.open.session, ancestor);
            left.print_rows(RowSign::Common, &last_common, ui)?;
        }
        None => ui.print("  root\n")?,
    }

    let mut changed_on_right = Vec::new();
    for changed in &difference.changed {
        changed_on_right.push(changed.right);
    }
    right.print_rows(RowSign::Changed, &changed_on_right, ui)?;
    left.print_rows(RowSign::Removed, &difference.only_left, ui)?;
    right.print_rows(RowSign::Added, &difference.only_right, ui)
}

/// Returns an entry, preceded by the last user message above it. If the entry is a user message, or
/// has none above it, returns the entry alone.
fn with_last_user_message(session: &Session, ix: EntryIx) -> Vec<EntryIx> {
    let is_user_message = |&above: &EntryIx| session.is_message(above, Role::User);
    let path = session.path(Some(ix));
    match path.iter().rev().find(|above| is_user_message(above)) {
        Some(&user_message) if user_message != ix => vec![user_message, ix],
        _ => vec![ix],
    }
}

/// Warns that entries which only the path to `end` has, `only_here`, are also in the other session,
/// but beside the path to `other_end`: one session was forked from another branch of the other.
fn warn_of_entries_on_other_branches(
    only_here: &[EntryIx],
    end: &PathEnd,
    other_end: &PathEnd,
    ui: &mut Ui,
) {
    let session = &end.open.session;
    let other_session = &other_end.open.session;
    let is_on_other_path = active_mask(other_session, other_end.end);
    let mut ids_on_other_branches = Vec::new();
    for &ix in only_here {
        let id = session.id(ix);
        // Without an id, a copy of the entry cannot be recognized.
        if id.is_empty() {
            continue;
        }
        if let Some(copy) = other_session.find_entry(&id)
            && !is_on_other_path[copy.index()]
        {
            ids_on_other_branches.push(id);
        }
    }

    if let Some(last_id) = ids_on_other_branches.last() {
        let entries = format_count(ids_on_other_branches.len(), "entry", "entries");
        ui.warn(&format!(
            "{}: {entries} of these also on another branch of the other session, up to {}",
            end.name,
            to_visible(&last_id.to_string_lossy())
        ));
    }
}

/// What the row of an entry shows by the sign at its start, and by the colour of the sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowSign {
    /// Both paths have the entry. The whole row is dimmed.
    Common,
    Changed,
    Removed,
    Added,
}

impl RowSign {
    fn as_str(self) -> &'static str {
        match self {
            RowSign::Common => "  ",
            RowSign::Changed => "~ ",
            RowSign::Removed => "- ",
            RowSign::Added => "+ ",
        }
    }

    fn style(self, styles: &Styles) -> Style {
        match self {
            RowSign::Common => styles.dim,
            RowSign::Changed => styles.label,
            RowSign::Removed => styles.removed,
            RowSign::Added => styles.added,
        }
    }
}

impl PathEnd<'_> {
    /// Returns the ids of entries of this session as a JSON array.
    fn ids_json(&self, entries: &[EntryIx]) -> Vec<u8> {
        let mut ids = Vec::new();
        for &ix in entries {
            ids.push(self.open.session.id(ix));
        }
        text_array(&ids)
    }

    /// Returns the heading of a side: its name, the length of its path, and the number of entries
    /// that the other side lacks (`own_count`).
    fn side_line(&self, sign: &str, own_count: usize) -> String {
        let path_len = self.open.session.path(self.end).len();
        let entries = format_count(path_len, "entry", "entries");
        let own = match own_count {
            0 => "all also on the other side".to_owned(),
            count => format!("{count} only here"),
        };
        format!("{sign} {} · {entries}, {own}", self.name)
    }

    /// Prints a row for each entry, after `sign`. A reply that only calls tools has no row if a
    /// result follows: as in the tree, the row of the result shows the call.
    fn print_rows(&self, sign: RowSign, entries: &[EntryIx], ui: &mut Ui) -> Result<(), Failure> {
        if entries.is_empty() {
            return Ok(());
        }
        let session = &self.open.session;
        let drawing = view_without_layout(session, self.end);
        let edits = self.open.find_edits(self.end)?;
        let links = PathLinks::new(session, ui);
        let painter = EntryPainter {
            drawing: &drawing,
            edits: &edits,
            links: links.as_ref(),
            styles: ui.styles,
            glyphs: Glyphs::UNICODE,
        };
        let ids = IdPainter::new(session, ui.styles);
        let clock = None;
        let mut rows = RowBuffer::new(ui.row_width(), Glyphs::UNICODE.ellipsis, clock);
        let is_dim = sign == RowSign::Common;
        for (index, &ix) in entries.iter().enumerate() {
            let following = entries.get(index + 1).copied();
            if is_shown_by_result(ix, following, session) {
                continue;
            }
            rows.begin_row();
            rows.push_part(sign.as_str(), sign.style(&ui.styles));
            let min_id_width = 0;
            ids.draw_id(&mut rows, ix, min_id_width);
            painter.draw_entry(&mut rows, ix, is_dim);
            rows.end_row();
            ui.stdout()
                .write_all(&rows.text)
                .map_err(Failure::from_stdout_error)?;
            rows.text.clear();
        }
        Ok(())
    }
}

/// Whether an entry is a reply that only calls tools, and the entry after it is a result.
fn is_shown_by_result(ix: EntryIx, following: Option<EntryIx>, session: &Session) -> bool {
    let only_calls_tools = session.entry(ix).flags.contains(Flags::SILENT);
    let precedes_result = following.is_some_and(|next| session.is_message(next, Role::ToolResult));
    only_calls_tools && precedes_result
}

/// Returns the numbers of common, removed, added and changed entries, as one line.
fn entry_stat(difference: &Difference) -> String {
    let entries = |count: usize| format_count(count, "entry", "entries");
    let changed = match difference.changed.len() {
        0 => String::new(),
        count => format!(", {} (~)", entries(count)),
    };
    format!(
        "{} in common, {} (-), {} (+){changed}\n",
        entries(difference.common_count),
        entries(difference.only_left.len()),
        entries(difference.only_right.len()),
    )
}
