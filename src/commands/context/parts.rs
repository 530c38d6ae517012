//! `context --tokens --by`: the size of each part of the context.

use super::{Args, ReportedCount};
use crate::agents::readable::{Folders, shorten_path};
use crate::cli::open::OpenSession;
use crate::cli::output::{Cell, Column, Failure, Table, Ui, plain_cell, to_visible};
use crate::cli::rows::entry::{row_cell, row_options};
use crate::cli::rows::ids::IdPainter;
use crate::load::LoadOptions;
use crate::ops::context_parts::{ContextPart, PartKey, measure_parts};
use crate::ops::files::RecordedPaths;
use crate::ops::tree::view_without_layout;
use crate::session::Session;
use crate::session::entry::EntryIx;
use pisess_json::js;
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_store::KeptContent;
use std::io;

/// Returns the options for loading a session whose context is split into parts. Parts by entry need
/// the sizes of messages and, for a table, rows.
pub fn load_options(args: &Args, ui: &Ui) -> LoadOptions {
    let by_entry = args.by == Some(PartKey::Entry);
    let base = if by_entry && !args.json {
        row_options(ui)
    } else {
        LoadOptions::default()
    };
    LoadOptions {
        message_spans: true,
        message_tokens: by_entry,
        kept: KeptContent::SomeLines,
        ..base
    }
}

/// Prints the parts of the context at the end of `path`, and the difference between their sum and
/// the size that the session reports.
///
/// If the reported size is from before a prune, it does not describe the current context: then the
/// table has no difference.
pub fn print_parts(
    args: &Args,
    by: PartKey,
    open: &OpenSession,
    path: &[EntryIx],
    count: ReportedCount,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let home = ui.home().map(Text::from);
    let folders = Folders {
        cwd: open.session.header.cwd.as_ref(),
        home: home.as_ref(),
    };
    let parts = open
        .input
        .map_read_error(read_parts(by, open, path, folders))?;
    let estimated_tokens: u64 = parts.iter().map(|part| part.tokens).sum();
    let estimated = estimated_tokens as f64;
    if args.json {
        let difference = count.tokens - estimated;
        return print_json_parts(args, by, &parts, difference, &open.session, ui);
    }

    let total = if count.is_before_prune {
        estimated
    } else {
        count.tokens + count.unrecorded.unwrap_or(0.0)
    };
    // The part that the provider counted beyond the estimates has a row. If the provider counted
    // less, the shares refer to the sum of the estimates.
    let remainder = (total - estimated).max(0.0);
    let mut painter = PartPainter {
        by,
        open,
        folders,
        total: match args.window {
            Some(window) => window as f64,
            None => total.max(estimated),
        },
        table: new_table(by),
    };
    painter.add_rows(&parts, remainder, ui)?;
    painter.table.print(ui)?;
    warn_of_difference(count, total, estimated, ui);
    Ok(())
}

/// Returns the parts of the context at the end of a path.
fn read_parts(
    by: PartKey,
    open: &OpenSession,
    path: &[EntryIx],
    folders: Folders,
) -> io::Result<Vec<ContextPart>> {
    let agent = open.session.agent();
    let context = agent.build_context(path, &open.entry_reader())?;
    let paths = RecordedPaths { folders };
    // Each thread needs a reader of its own.
    let new_reader = || open.entry_reader();
    measure_parts(
        &context.messages,
        by,
        new_reader,
        paths,
        open.worker_count(),
    )
}

/// Prints the parts as JSON, and the difference between the reported size and their sum, if there
/// is one.
fn print_json_parts(
    args: &Args,
    by: PartKey,
    parts: &[ContextPart],
    difference: f64,
    session: &Session,
    ui: &mut Ui,
) -> Result<(), Failure> {
    for part in parts {
        ui.print_json(&part_json(args, part, by, session))?;
    }
    if difference != 0.0 {
        ui.print_json(&difference_json(args, by, difference))?;
    }
    Ok(())
}

/// Warns if the size that the session reports is not of the current context, or less than the
/// estimates. `total` is the size to which the parts were compared, in tokens.
fn warn_of_difference(count: ReportedCount, total: f64, estimated: f64, ui: &mut Ui) {
    if count.is_before_prune {
        ui.warn(&format!(
            "estimates only: the provider counted {} tokens before payloads were pruned",
            js::number_to_string(count.tokens)
        ));
    } else if count.unrecorded.is_some() {
        ui.warn(
            "the last row is from the provider's last count, before an edit or a compaction changed the context",
        );
    }
    if total < estimated {
        ui.warn(&format!(
            "the provider counted {} tokens, fewer than the estimates of the messages (together {})",
            js::number_to_string(total),
            js::number_to_string(estimated)
        ));
    }
}

/// Returns the empty table for a grouping. A part by entry is one message, so it has a column with
/// the text of this message in place of the number of messages.
fn new_table(by: PartKey) -> Table {
    let [count_or_entry, name_or_text] = match by {
        PartKey::Role => [Column::number("MESSAGES"), Column::text("ROLE")],
        PartKey::Tool => [Column::number("MESSAGES"), Column::text("TOOL")],
        PartKey::File => [Column::number("MESSAGES"), Column::text("FILE")],
        PartKey::Entry => [Column::text("ENTRY"), Column::text("TEXT")],
    };
    Table::new(vec![
        Column::number("TOKENS"),
        Column::number("SHARE"),
        count_or_entry,
        name_or_text.allow_shrink(),
    ])
}

/// Fills the table of parts.
struct PartPainter<'a> {
    by: PartKey,
    open: &'a OpenSession,
    folders: Folders<'a>,
    /// The tokens that are 100 %: the window if it is given; otherwise the size of the context, or
    /// the sum of the estimates if that is larger.
    total: f64,
    table: Table,
}

impl PartPainter<'_> {
    /// Adds a row for each part of the context. A part is one entry, or all messages with the same
    /// role, tool or file. `remainder` are the tokens that the provider counted, but that are in no
    /// part, such as the system prompt. They have the last row, unless there are none.
    fn add_rows(
        &mut self,
        parts: &[ContextPart],
        remainder: f64,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let session = &self.open.session;
        let view = view_without_layout(session, session.leaf);
        let ids = IdPainter::new(&self.open.session, ui.styles);
        for part in parts {
            let tokens = part.tokens as f64;
            let mut row = self.numbers(tokens);
            // The columns are those of `new_table`.
            if let Some(ix) = part.entry {
                row.push(ids.id_cell(ix));
                row.push(row_cell(&view.row(ix), &ui.styles));
            } else {
                row.push(plain_cell(part.messages.to_string()));
                row.push(self.name_cell(part, ui));
            }
            self.table.add_row(row);
            self.table.flush_when_full(ui)?;
        }
        if remainder != 0.0 {
            let mut row = self.numbers(remainder);
            row.push(Cell::new());
            row.push(vec![(REMAINDER.to_owned(), ui.styles.dim)]);
            self.table.add_row(row);
        }
        Ok(())
    }

    /// Returns two cells: the number of tokens, and their share of [`Self::total`].
    fn numbers(&self, tokens: f64) -> Vec<Cell> {
        let share = if self.total > 0.0 {
            format!("{:.1} %", tokens / self.total * 100.0)
        } else {
            "-".to_owned()
        };
        vec![plain_cell(js::number_to_string(tokens)), plain_cell(share)]
    }

    /// Returns the cell with the role, tool or file of a part.
    fn name_cell(&self, part: &ContextPart, ui: &Ui) -> Cell {
        let Some(name) = &part.name else {
            let note = match self.by {
                PartKey::Tool => "(no tool)",
                PartKey::File => "(no file)",
                // A part by entry has no such cell.
                PartKey::Role | PartKey::Entry => "(no role)",
            };
            return vec![(note.to_owned(), ui.styles.dim)];
        };
        if self.by == PartKey::File {
            let path = shorten_path(&Text::from(&**name), self.folders);
            return plain_cell(to_visible(&path.to_string_lossy()));
        }
        plain_cell(to_visible(name))
    }
}

/// The name of the last row, which has the tokens that are in no part.
const REMAINDER: &str = "(system prompt, tools, and error of the estimates)";

/// Returns the name of the JSON member that names a part.
fn key_name(by: PartKey) -> &'static str {
    match by {
        PartKey::Role => "role",
        PartKey::Tool => "tool",
        PartKey::File => "file",
        PartKey::Entry => "id",
    }
}

/// Returns a part as JSON:
///
/// ```text
/// {"id":"1a2b","line":3,"tokens":120,"messages":1,"difference":false}     by entry
/// {"role":"user","tokens":120,"messages":4,"difference":false}            by role, tool or file
/// ```
///
/// The name is null for messages without a tool or file. With `--window`, `share` precedes
/// `difference`, which is true only in [`difference_json`].
fn part_json(args: &Args, part: &ContextPart, by: PartKey, session: &Session) -> Vec<u8> {
    let row = match part.entry {
        // Only the parts by entry have one.
        Some(ix) => {
            let id = Some(session.id(ix)).filter(|id| !id.is_empty());
            Object::new()
                .text_or_null("id", id.as_ref())
                .number("line", f64::from(session.shown_line(ix).0))
        }
        None => Object::new().str_or_null(key_name(by), part.name.as_deref()),
    };
    let row = row
        .number("tokens", part.tokens as f64)
        .number("messages", part.messages as f64);
    add_share(args, row, part.tokens as f64)
        .bool("difference", false)
        .finish()
}

/// Returns as JSON the tokens that the session reports beyond the sum of the parts. The row names
/// no part.
fn difference_json(args: &Args, by: PartKey, tokens: f64) -> Vec<u8> {
    let row = Object::new()
        .str_or_null(key_name(by), None)
        .number("tokens", tokens)
        .number("messages", 0.0);
    add_share(args, row, tokens)
        .bool("difference", true)
        .finish()
}

/// Adds the share of the window to a row, if `--window` is given.
fn add_share(args: &Args, row: Object, tokens: f64) -> Object {
    row.with(args.window, |row, window| {
        row.number("share", tokens / window as f64)
    })
}
