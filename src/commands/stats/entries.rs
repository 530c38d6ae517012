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
    let (session, usage) = (&stats.session, entry.usage.unwrap_or_default());
    let id = match session.id(entry.by.entry) {
        id if id.is_empty() => format!(":{}", entry.line.map_or(0, |line| line.0)),
        id => id.to_string(),
    };
    [
        format!("{before}{id}"),
        session
            .timestamp(entry.by.entry)
            .unwrap_or_default()
            .to_string(),
        stats
            .name(entry.by.tool)
            .unwrap_or_else(|| role(session, entry).into())
            .into_owned(),
        js::number(usage.input),
        js::number(usage.output),
        js::number(usage.cache_read),
        js::number(usage.cache_write),
        usage.cost.map_or("unpriced".to_owned(), |cost| {
            format!("{}${cost:.4}", if usage.is_estimated { "~" } else { "" })
        }),
        stats.model(entry).unwrap_or_default(),
    ]
}

/// Returns an entry as JSON.
pub fn json(path: &Path, stats: &SessionStats, entry: &Counted) -> Vec<u8> {
    let (session, ix) = (&stats.session, entry.by.entry);
    let [provider, model, tool] =
        [entry.by.provider, entry.by.model, entry.by.tool].map(|name| stats.name(name));
    let sums = entry
        .usage
        .map(|usage| UsageSums::from_iter([&usage]).tokens_json());
    let sessions = |agents: &[String]| {
        places(path, agents)
            .into_iter()
            .map(Text::from)
            .collect::<Vec<_>>()
    };
    let agents = entry.agents.as_deref().map(sessions);
    Object::new()
        .str("path", &path.to_string_lossy())
        .text("sessionId", &session.header.id)
        .text_or_null(
            "id",
            Some(session.id(ix)).filter(|id| !id.is_empty()).as_ref(),
        )
        .text_or_null("parentId", session.parent_id(ix).as_ref())
        .number_or_null("line", entry.line.map(|line| f64::from(line.0)))
        .str("role", &role(session, entry))
        .str_or_null("provider", provider.as_deref())
        .str_or_null("model", model.as_deref())
        .str_or_null("tool", tool.as_deref())
        .text_or_null("timestamp", session.timestamp(ix).as_ref())
        .json("tokens", sums.as_deref().unwrap_or(b"null"))
        .number_or_null("cost", entry.usage.and_then(|usage| usage.cost))
        .with(entry.usage.filter(|usage| usage.is_estimated), |row, _| {
            row.bool("estimated", true)
        })
        .bool("subAgents", agents.is_some())
        .with(agents, |object, agents| {
            object.json("agentSessions", &texts(&agents))
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
