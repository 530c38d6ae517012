//! `--by entry`: prints a row for each billed entry.

use crate::commands::sessions::Target;
use crate::core::json::js;
use crate::core::json::write::{Object, texts};
use crate::core::ops::stats::{Counted, Harvest, Usage};
use crate::core::text::Text;
use crate::ui::{Failure, Ui, fitted, visible};
use std::fmt::Write as _;

/// The format of the rows.
pub struct EntryRows {
    json: bool,
    paths: bool,
}

impl EntryRows {
    /// Rows include the path of their session, unless it is the only one.
    pub fn new(json: bool, is_one: bool) -> EntryRows {
        EntryRows { json, paths: !is_one }
    }

    /// Prints the billed entries of a session.
    pub fn print<'h>(
        &mut self,
        target: &Target,
        harvest: &'h Harvest,
        entries: impl Iterator<Item = &'h Counted>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let path = target.path.to_string_lossy();
        for entry in entries.filter(|entry| entry.is_billed()) {
            match self.json {
                true => ui.print_json(&json(&path, harvest, entry))?,
                false => {
                    let row = self.row(&path, harvest, entry);
                    ui.print(&format!("{}\n", fitted(&row, ui.width().unwrap_or(usize::MAX), "…")))?;
                }
            }
        }
        Ok(())
    }

    fn row(&self, path: &str, harvest: &Harvest, entry: &Counted) -> String {
        let mut row = if self.paths { format!("{}:", visible(path)) } else { String::new() };
        let usage = entry.usage.unwrap_or_default();
        let id = match harvest.id(entry) {
            id if id.is_empty() => format!(":{}", entry.line.0),
            id => visible(&id.to_string_lossy()),
        };
        let parts = [harvest.provider(entry), harvest.model(entry)];
        let model = parts.into_iter().flatten().collect::<Vec<_>>().join("/");
        let what = harvest.tool(entry).unwrap_or(harvest.role_name(entry));
        let cost = usage.cost.map_or("unpriced".to_owned(), |cost| format!("${cost:.4}"));
        // Writing to a string cannot fail.
        let _ = write!(
            row,
            "{id:8}  {:24}  {:10}  {:>8} {:>8} {:>9} {:>8}  {cost:>9}  {}",
            visible(&harvest.timestamp(entry).to_string_lossy()),
            visible(what),
            js::number(usage.input),
            js::number(usage.output),
            js::number(usage.cache_read),
            js::number(usage.cache_write),
            visible(&model)
        );
        row.truncate(row.trim_end().len());
        row
    }
}

fn json(path: &str, harvest: &Harvest, entry: &Counted) -> Vec<u8> {
    let some = |text: Text<'_>| Some(text.into_owned()).filter(|text| !text.is_empty());
    let name = |name: Option<&str>| name.map(|name| Text::from(name).into_owned());
    let tokens = match entry.usage {
        Some(Usage { input, output, cache_read, cache_write, .. }) => {
            super::tokens(input, output, cache_read, cache_write)
        }
        None => b"null".to_vec(),
    };
    let agents: Vec<Text> = harvest.agents(entry).iter().map(|end| Text::from(&**end)).collect();
    let cost = entry.usage.and_then(|usage| usage.cost).map_or("null".to_owned(), js::number);
    Object::new()
        .str("path", path)
        .text("sessionId", &harvest.header.id)
        .text_or_null("id", some(harvest.id(entry)).as_ref())
        .text_or_null("parentId", some(harvest.parent_id(entry)).as_ref())
        .number("line", f64::from(entry.line.0))
        .str("role", harvest.role_name(entry))
        .text_or_null("provider", name(harvest.provider(entry)).as_ref())
        .text_or_null("model", name(harvest.model(entry)).as_ref())
        .text_or_null("tool", name(harvest.tool(entry)).as_ref())
        .text_or_null("timestamp", some(harvest.timestamp(entry)).as_ref())
        .json("tokens", &tokens)
        .json("cost", cost.as_bytes())
        .bool("subAgents", entry.of_agents)
        .with(entry.of_agents.then_some(agents), |object, agents| {
            object.json("agentSessions", &texts(&agents))
        })
        .finish()
}
