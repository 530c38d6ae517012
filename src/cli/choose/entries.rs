//! Lets the user choose an entry of a session.

use super::chooser::{Chooser, Question, ROW_WIDTH, Stop};
use crate::cli::foreign::resolve_argument_to_read;
use crate::cli::ids::Ids;
use crate::cli::named::resolve_argument;
use crate::cli::open::{Input, OpenSession};
use crate::cli::output::{Failure, Glyphs, RowBuffer, Styles, Ui};
use crate::cli::rollouts::Rollouts;
use crate::cli::rows::entry::{EntryPainter, row_options};
use crate::format::format_age;
use crate::load::LoadOptions;
use crate::ops::tree::{TreeView, ViewOptions, build_view};
use crate::session::entry::EntryIx;
use crate::session::reference::Position;
use owo_colors::Style;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The width of the age of an entry, in columns.
const AGE_WIDTH: usize = 5;

/// Lets the user choose one of the entries that `tree` draws, and returns a reference to it. The
/// last entry of the file is offered first.
///
/// If `only_reads` is set, the command only reads the session. Then the session may also be given
/// by its title.
pub fn choose_entry(
    session: &Path,
    only_reads: bool,
    program: &OsStr,
    ui: &mut Ui,
) -> Result<String, Stop> {
    let path = find_session(session, only_reads, ui)?;
    let open = open_with_rows(&path, ui)?;
    let leaf = open.session.leaf;
    let view = build_view(&open.session, leaf, ViewOptions::default());
    let entries = last_entries_first(&view);
    if entries.is_empty() {
        return Err(open.input.failure("there is no entry to choose").into());
    }

    let edits = open.find_edits(leaf)?;
    let painter = EntryPainter {
        drawing: &view,
        edits: &edits,
        links: None,
        styles: Styles::default(),
        glyphs: Glyphs::UNICODE,
    };
    let now_ms = Ids::new(ui)?.now_ms(ui);
    let question = Question {
        noun: "entry",
        session: Some(&path),
        program,
    };
    let mut chooser = Chooser::start(&question, ui)?;
    for &ix in &entries {
        let row = entry_row(&painter, ix, now_ms);
        let is_accepted = chooser.offer(OsStr::new(&plain_reference(&open, ix)), &row);
        if !is_accepted {
            break;
        }
    }
    let index = chooser.finish(ui)?;
    Ok(exact_reference(&open, entries[index])?)
}

/// Returns the file of the session from which an entry is chosen. Refuses standard input, which the
/// command itself is to read.
fn find_session(session: &Path, only_reads: bool, ui: &mut Ui) -> Result<PathBuf, Failure> {
    if session == Path::new("-") {
        let failure =
            Failure::invalid("--choose cannot read standard input before the command does");
        return Err(failure.with_hint("give the path of the session"));
    }
    if only_reads {
        resolve_argument_to_read(session, ui)
    } else {
        resolve_argument(session, ui)
    }
}

/// Returns the entries that a tree draws. The last entry of the file is first.
fn last_entries_first(view: &TreeView) -> Vec<EntryIx> {
    let mut entries: Vec<EntryIx> = view.tree_rows.iter().map(|row| row.entry).collect();
    // Indexes are in file order; the rows of the tree are not.
    entries.sort_unstable();
    entries.reverse();
    entries
}

/// Opens a session of any agent, with the texts of its rows. Accepts a session that is standard
/// output, and reports no problems of the file: the command itself will do that.
fn open_with_rows(path: &Path, ui: &Ui) -> Result<OpenSession, Failure> {
    let is_stdout = |_: &File| false;
    let all_entries = None;
    let input = Input::open_path_to_read(path, &Rollouts::default(), all_entries, &is_stdout)?;
    let options = LoadOptions {
        workers: ui.processor_count(),
        ..row_options(ui)
    };
    OpenSession::load(input, options)
}

/// Returns the row of an entry: its age, a dot if the entry is on the path to the leaf, and its
/// text as in `tree`.
fn entry_row(painter: &EntryPainter, ix: EntryIx, now_ms: i64) -> String {
    let entry = painter.drawing.session.entry(ix);
    let age = format_age(now_ms, entry.time_ms);
    let mark = if painter.drawing.is_active(ix) {
        painter.glyphs.bullet
    } else {
        "  "
    };
    let mut rows = RowBuffer::new(Some(ROW_WIDTH), painter.glyphs.ellipsis, None);
    rows.begin_row();
    rows.push_str(&format!("{age:>AGE_WIDTH$}  {mark}"));
    rows.finish_part(Style::new());
    let is_dim = false;
    painter.draw_entry(&mut rows, ix, is_dim);
    rows.end_row();
    String::from_utf8_lossy(&rows.text).trim_end().to_owned()
}

/// Returns a reference to an entry, without characters that are special in a shell. This is the
/// entry's id. It is the entry's line if the id has such characters, or if a later entry has the
/// same id.
fn plain_reference(open: &OpenSession, ix: EntryIx) -> String {
    let id = open.session.id(ix);
    let is_own = open.session.find_entry(&id) == Some(ix);
    let is_plain = !id.is_empty() && id.as_bytes().iter().all(is_plain_in_shell);
    if is_own && is_plain {
        format!("id:{}", id.to_string_lossy())
    } else {
        line_reference(open, ix)
    }
}

fn is_plain_in_shell(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

fn line_reference(open: &OpenSession, ix: EntryIx) -> String {
    format!(":{}", open.session.shown_line(ix).0)
}

/// Returns a reference that resolves to this entry and to no other. A label, or the id of a later
/// entry, may have the same text as a reference.
fn exact_reference(open: &OpenSession, ix: EntryIx) -> Result<String, Failure> {
    for reference in [plain_reference(open, ix), line_reference(open, ix)] {
        if open.resolve_position(&reference).ok() == Some(Position::Entry(ix)) {
            return Ok(reference);
        }
    }
    let line = open.session.shown_line(ix).0;
    Err(open
        .input
        .failure(format_args!(
            "no reference names the entry on line {line} alone"
        ))
        .with_hint("another entry has its id, or a label that reads like its line"))
}
