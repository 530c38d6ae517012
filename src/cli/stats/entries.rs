//! `--by entry`: prints a row for each billed entry.

use crate::cli::output::{Cell, Column, Failure, Table, Ui, visible};
use crate::ops::stats::{Counted, EntryStats};
use crate::session::usage::{UsageSums, model_name, places};
use owo_colors::Style;
use pisess_json::js;
use pisess_json::text::Text;
use pisess_json::write::{Object, texts};
use std::path::Path;

pub struct EntryRows {
    json: bool,
    paths: bool,
    table: Table,
}

impl EntryRows {
    /// Rows include the path of their session, unless it is the only one.
    pub fn new(json: bool, is_one: bool) -> EntryRows {
        let [input, output, read, write] = ["input", "output", "cache r", "cache w"].map(Column::number);
        let [entry, time, role] = ["entry", "time", "role"].map(Column::text);
        let model = Column::text("model").cut();
        let columns = [entry, time, role, input, output, read, write, Column::number("cost"), model];
        EntryRows { json, paths: !is_one, table: Table::new(columns) }
    }

    pub fn add<'h>(
        &mut self,
        path: &Path,
        harvest: &'h EntryStats,
        entries: impl Iterator<Item = &'h Counted>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let path = path.to_string_lossy();
        for entry in entries.filter(|entry| entry.is_billed()) {
            if self.json {
                ui.print_json(&json(&path, harvest, entry))?;
            } else {
                self.table.row(self.row(&path, harvest, entry));
                self.table.stream(ui)?;
            }
        }
        Ok(())
    }

    /// Prints the rest.
    pub fn finish(self, ui: &mut Ui) -> Result<(), Failure> {
        self.table.print(ui)
    }

    fn row(&self, path: &str, harvest: &EntryStats, entry: &Counted) -> Vec<Cell> {
        let usage = entry.usage.unwrap_or_default();
        let path = if self.paths { format!("{path}:") } else { String::new() };
        let id = match harvest.text(entry.id) {
            id if id.is_empty() => format!(":{}", entry.line.map_or(0, |line| line.0)),
            id => id.to_string(),
        };
        let cells = [
            path + &id,
            harvest.text(entry.timestamp).to_string(),
            harvest.name(entry.tool).unwrap_or(harvest.name(entry.role_name).unwrap_or_default()).to_owned(),
            js::number(usage.input),
            js::number(usage.output),
            js::number(usage.cache_read),
            js::number(usage.cache_write),
            usage.cost.map_or("unpriced".to_owned(), |cost| {
                format!("{}${cost:.4}", if usage.is_estimated { "~" } else { "" })
            }),
            model_name(harvest.name(entry.provider), harvest.name(entry.model)).unwrap_or_default(),
        ];
        cells.map(|text| vec![(visible(&text), Style::new())]).into()
    }
}

fn json(path: &str, harvest: &EntryStats, entry: &Counted) -> Vec<u8> {
    let some = |text: Text<'_>| Some(text.into_owned()).filter(|text| !text.is_empty());
    let sums = entry.usage.map(|usage| UsageSums::from_iter([&usage]).tokens_json());
    let tokens = sums.unwrap_or_else(|| b"null".to_vec());
    let agents = places(Path::new(path), harvest.agents(entry));
    let agents: Vec<Text> = agents.iter().map(|end| Text::from(&**end)).collect();
    Object::new()
        .str("path", path)
        .text("sessionId", &harvest.header.id)
        .text_or_null("id", some(harvest.text(entry.id)).as_ref())
        .text_or_null("parentId", some(harvest.text(entry.parent_id)).as_ref())
        .number_or_null("line", entry.line.map(|line| f64::from(line.0)))
        .str("role", harvest.name(entry.role_name).unwrap_or_default())
        .str_or_null("provider", harvest.name(entry.provider))
        .str_or_null("model", harvest.name(entry.model))
        .str_or_null("tool", harvest.name(entry.tool))
        .text_or_null("timestamp", some(harvest.text(entry.timestamp)).as_ref())
        .json("tokens", &tokens)
        .number_or_null("cost", entry.usage.and_then(|usage| usage.cost))
        .with(entry.usage.filter(|usage| usage.is_estimated), |row, _| row.bool("estimated", true))
        .bool("subAgents", entry.of_agents)
        .with(entry.of_agents.then_some(agents), |object, agents| {
            object.json("agentSessions", &texts(&agents))
        })
        .finish()
}
