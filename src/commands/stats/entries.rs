//! `--by entry`: prints a row for each billed entry.

use crate::cli::output::{Column, Failure, Table, Ui, visible};
use crate::ops::stats::{Counted, SessionStats};
use crate::session::Session;
use crate::session::usage::{UsageSums, places};
use pisess_json::js;
use pisess_json::text::Text;
use pisess_json::write::{Object, texts};
use std::path::Path;

/// Returns the table of billed entries, without rows.
pub fn table() -> Table {
    let [input, output, read, write] =
        ["input", "output", "cache r", "cache w"].map(Column::number);
    let [entry, time, role] = ["entry", "time", "role"].map(Column::text);
    let model = Column::text("model").cut();
    Table::new([
        entry,
        time,
        role,
        input,
        output,
        read,
        write,
        Column::number("cost"),
        model,
    ])
}

/// Adds a row for each entry, which begins with the path of its session if that is given. Those
/// that are enough are printed.
pub fn add_rows<'h>(
    table: &mut Table,
    path: Option<&Path>,
    stats: &'h SessionStats,
    entries: impl Iterator<Item = &'h Counted>,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let before = path.map_or_else(String::new, |path| format!("{}:", path.to_string_lossy()));
    for entry in entries {
        table.texts(row(&before, stats, entry).map(|text| visible(&text)));
        table.stream(ui)?;
    }
    Ok(())
}

fn row(before: &str, stats: &SessionStats, entry: &Counted) -> [String; 9] {
    let session = &stats.session;
    let usage = entry.usage.unwrap_or_default();
    let id = session.id(entry.by.entry);
    let id = if id.is_empty() {
        format!(":{}", entry.line.map_or(0, |line| line.0))
    } else {
        id.to_string()
    };
    let time = session.timestamp(entry.by.entry).unwrap_or_default();
    let tool_or_role = match stats.name(entry.by.tool) {
        Some(tool) => tool.into_owned(),
        None => role(session, entry).to_string(),
    };
    let cost = match usage.cost {
        Some(cost) if usage.is_estimated => format!("~${cost:.4}"),
        Some(cost) => format!("${cost:.4}"),
        None => "unpriced".to_owned(),
    };
    [
        format!("{before}{id}"),
        time.to_string(),
        tool_or_role,
        js::number(usage.input),
        js::number(usage.output),
        js::number(usage.cache_read),
        js::number(usage.cache_write),
        cost,
        stats.model(entry).unwrap_or_default(),
    ]
}

/// Returns an entry as JSON.
pub fn json(path: &Path, stats: &SessionStats, entry: &Counted) -> Vec<u8> {
    let session = &stats.session;
    let ix = entry.by.entry;
    let id = Some(session.id(ix)).filter(|id| !id.is_empty());
    let usage = entry.usage;
    let tokens = usage.map(|usage| UsageSums::from_iter([&usage]).tokens_json());
    let agent_sessions = entry.agents.as_deref().map(|agents| {
        let paths = places(path, agents).into_iter();
        texts(&paths.map(Text::from).collect::<Vec<_>>())
    });
    Object::new()
        .str("path", &path.to_string_lossy())
        .text("sessionId", &session.header.id)
        .text_or_null("id", id.as_ref())
        .text_or_null("parentId", session.parent_id(ix).as_ref())
        .number_or_null("line", entry.line.map(|line| f64::from(line.0)))
        .str("role", &role(session, entry))
        .str_or_null("provider", stats.name(entry.by.provider).as_deref())
        .str_or_null("model", stats.name(entry.by.model).as_deref())
        .str_or_null("tool", stats.name(entry.by.tool).as_deref())
        .text_or_null("timestamp", session.timestamp(ix).as_ref())
        .json("tokens", tokens.as_deref().unwrap_or(b"null"))
        .number_or_null("cost", usage.and_then(|usage| usage.cost))
        .with(usage.filter(|usage| usage.is_estimated), |row, _| {
            row.bool("estimated", true)
        })
        .bool("subAgents", agent_sessions.is_some())
        .with(agent_sessions, |object, sessions| {
            object.json("agentSessions", &sessions)
        })
        .finish()
}

/// Returns the role of the message of an entry, or its type.
fn role(session: &Session, entry: &Counted) -> String {
    let ix = entry.by.entry;
    session
        .role_name(ix)
        .unwrap_or_else(|| session.kind_name(ix))
        .to_string_lossy()
        .into_owned()
}
