//! `--by entry`: prints a row for each billed entry.

use crate::cli::output::{Cell, Column, Failure, Table, Ui, plain_cell, to_visible};
use crate::cli::rows::ids::IdPainter;
use crate::format::format_small_dollars;
use crate::ops::stats::{CountedEntry, SessionStats};
use crate::session::Session;
use crate::session::usage::{UsageSums, possible_session_ends};
use pisess_json::js;
use pisess_json::text::Text;
use pisess_json::write::{Object, text_array};
use std::path::Path;

/// Returns an empty table for billed entries. Its columns are in the order of the cells that
/// [`id_cell`] and [`entry_cells`] return.
pub fn new_table() -> Table {
    Table::new([
        Column::text("entry"),
        Column::text("time"),
        Column::text("role"),
        Column::number("input"),
        Column::number("output"),
        // Tokens that were read from the provider's cache, or written to it.
        Column::number("cache r"),
        Column::number("cache w"),
        Column::number("cost"),
        Column::text("model").allow_shrink(),
    ])
}

/// Adds a row for each entry. The row begins with the path of the session, if `path` is given. Rows
/// are printed as soon as there are enough of them to determine the column widths.
pub fn add_rows<'h>(
    table: &mut Table,
    path: Option<&Path>,
    stats: &'h SessionStats,
    entries: impl Iterator<Item = &'h CountedEntry>,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let path_prefix = path.map_or_else(String::new, |path| format!("{}:", path.to_string_lossy()));
    let ids = IdPainter::new(&stats.session, ui.styles);
    for entry in entries {
        let mut cells = vec![id_cell(&path_prefix, stats, entry, &ids)];
        for text in entry_cells(stats, entry) {
            cells.push(plain_cell(to_visible(&text)));
        }
        table.add_row(cells);
        table.flush_when_full(ui)?;
    }
    Ok(())
}

/// Returns the first cell of a row: `path_prefix`, and the id of the entry. If the entry has no id,
/// its line replaces it, as in `:12`.
fn id_cell(path_prefix: &str, stats: &SessionStats, entry: &CountedEntry, ids: &IdPainter) -> Cell {
    let ix = entry.attribution.entry;
    let mut cell = plain_cell(to_visible(path_prefix));
    if stats.session.id(ix).is_empty() {
        let line = entry
            .line
            .map_or(0, |line| stats.session.original_line(line).0);
        cell.extend(plain_cell(format!(":{line}")));
    } else {
        cell.extend(ids.id_cell(ix));
    }
    cell
}

/// Returns the other cells of a row, in the order of [`new_table`]. An estimated cost is marked
/// with `~`.
fn entry_cells(stats: &SessionStats, entry: &CountedEntry) -> [String; 8] {
    let session = &stats.session;
    let usage = entry.usage.unwrap_or_default();
    let time = session
        .timestamp(entry.attribution.entry)
        .unwrap_or_default();
    let tool_or_role = match stats.attribution_name(entry.attribution.tool) {
        Some(tool) => tool.into_owned(),
        None => role_or_kind(session, entry).to_string(),
    };
    let cost = match usage.cost {
        Some(cost) if usage.is_estimated => format!("~{}", format_small_dollars(cost)),
        Some(cost) => format_small_dollars(cost),
        None => "unpriced".to_owned(),
    };
    [
        time.to_string(),
        tool_or_role,
        js::number_to_string(usage.input),
        js::number_to_string(usage.output),
        js::number_to_string(usage.cache_read),
        js::number_to_string(usage.cache_write),
        cost,
        stats.model(entry).unwrap_or_default(),
    ]
}

/// Returns an entry as JSON. `subAgents` is true if the entry has the usage of sub-agents. Then
/// `agentSessions` has suffixes of paths: those that the sub-agents' sessions may have.
pub fn entry_json(
    path: &Path,
    stats: &SessionStats,
    entry: &CountedEntry,
    prices_date: Option<&str>,
) -> Vec<u8> {
    let session = &stats.session;
    let ix = entry.attribution.entry;
    let id = Some(session.id(ix)).filter(|id| !id.is_empty());
    let usage = entry.usage;
    let tokens = usage.map(|usage| UsageSums::from_iter([&usage]).tokens_json());
    let agent_sessions = entry.agents.as_deref().map(|agents| {
        let paths = possible_session_ends(path, agents).into_iter();
        text_array(&paths.map(Text::from).collect::<Vec<_>>())
    });
    let line = entry.line.map(|line| session.original_line(line));
    let row = Object::new()
        .str("path", &path.to_string_lossy())
        .text("sessionId", &session.header.id)
        .text_or_null("id", id.as_ref())
        .text_or_null("parentId", session.parent_id(ix).as_ref())
        .number_or_null("line", line.map(|line| f64::from(line.0)))
        .str("role", &role_or_kind(session, entry))
        .str_or_null(
            "provider",
            stats
                .attribution_name(entry.attribution.provider)
                .as_deref(),
        )
        .str_or_null(
            "model",
            stats.attribution_name(entry.attribution.model).as_deref(),
        )
        .str_or_null(
            "tool",
            stats.attribution_name(entry.attribution.tool).as_deref(),
        )
        .text_or_null("timestamp", session.timestamp(ix).as_ref())
        .json("tokens", tokens.as_deref().unwrap_or(b"null"))
        .number_or_null("cost", usage.and_then(|usage| usage.cost));

    let mut row = match usage {
        Some(usage) if usage.is_estimated => row
            .bool("estimated", true)
            .with(prices_date, |row, date| row.str("pricesOf", date)),
        _ => row,
    };
    row = row.bool("subAgents", agent_sessions.is_some());
    if let Some(sessions) = agent_sessions {
        row = row.json("agentSessions", &sessions);
    }
    row.finish()
}

/// Returns the role of an entry's message; for an entry without one, the type of the entry.
fn role_or_kind(session: &Session, entry: &CountedEntry) -> String {
    let ix = entry.attribution.entry;
    session
        .role_name(ix)
        .unwrap_or_else(|| session.kind_name(ix))
        .to_string_lossy()
        .into_owned()
}
