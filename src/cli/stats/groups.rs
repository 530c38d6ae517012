//! Sums for each key of `--by`.

use crate::cli::output::{Clock, Failure, Ui};
use crate::cli::stats::rows::{By, Group, key_name};
use crate::cli::stats::table::{GroupTable, print_summary};
use crate::format::{ID, id_end};
use crate::ops::stats::{Counted, EntryStats, Role, Totals};
use crate::session::Header;
use crate::session::paths::{below_home, name};
use crate::session::usage::model_name;
use foldhash::HashMap;
use pisess_json::js;
use pisess_json::time::{civil, parse_js_date};
use pisess_json::write::Object;
use std::fmt::Write as _;
use std::path::Path;

/// The groups of one run.
pub struct Groups {
    by: Option<By>,
    clock: Clock,
    home: Option<String>,
    list: Vec<Group>,
    table: HashMap<String, usize>,
    /// The sum of all groups.
    pub total: Totals,
    sessions: usize,
}

impl Groups {
    /// Returns an empty set of groups.
    pub fn new(by: Option<By>, ui: &Ui) -> Groups {
        let (list, table) = (Vec::new(), HashMap::default());
        let (clock, home) = (Clock::new(ui), ui.home());
        Groups { by, clock, home, list, table, total: Totals::default(), sessions: 0 }
    }

    /// Whether no session was added.
    pub fn is_empty(&self) -> bool {
        self.sessions == 0
    }

    /// Adds entries of one session.
    pub fn add<'h>(
        &mut self,
        path: &Path,
        harvest: &'h EntryStats,
        entries: impl Iterator<Item = &'h Counted>,
    ) {
        self.sessions += 1;
        let session = self.sessions;
        let Some(by) = self.by else {
            entries.for_each(|entry| self.total.add(harvest, entry, session));
            return;
        };
        let mut key = String::new();
        for entry in entries {
            if by == By::Tool {
                self.add_tools(harvest, entry);
                continue;
            }
            key.clear();
            self.push_key(by, harvest, entry, &mut key);
            // Only billed entries are grouped as having no model.
            if by == By::Model && key.is_empty() && !entry.is_billed() {
                continue;
            }
            let at = self.group(&key);
            if by == By::Session && self.list[at].path.is_none() {
                self.list[at].path = Some(path.to_string_lossy().into_owned());
                self.list[at].shown = Some(self.shown(&harvest.header));
            }
            if by == By::Project && self.list[at].shown.is_none() {
                self.list[at].shown =
                    Some(below_home(&key, self.home.as_deref())).filter(|key| !key.is_empty());
            }
            self.list[at].totals.add(harvest, entry, session);
            self.total.add(harvest, entry, session);
        }
    }

    /// Counts calls for the tool they name, and results for their tool.
    fn add_tools(&mut self, harvest: &EntryStats, entry: &Counted) {
        let session = self.sessions;
        for call in harvest.calls(entry) {
            let at = self.group(harvest.call_tool(call).unwrap_or_default());
            self.list[at].totals.add_call(call, session);
            self.total.add_call(call, session);
        }
        if matches!(entry.role, Role::ToolResult { .. }) {
            let at = self.group(harvest.tool(entry).unwrap_or_default());
            self.list[at].totals.add_entry(entry, session);
            self.total.add_entry(entry, session);
        }
    }

    /// Returns the name of a session: the end of its id, its date and the name of its directory.
    fn shown(&self, header: &Header) -> String {
        let id = header.id.to_string_lossy();
        let tail = id_end(&id, ID);
        let time = header.timestamp.as_ref().and_then(|time| parse_js_date(time.as_bytes()));
        let mut day = String::new();
        self.push_date(By::Day, time.unwrap_or(i64::MIN), &mut day);
        let cwd = header.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned()).unwrap_or_default();
        let folder = name(&cwd);
        [tail, &day, folder].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ")
    }

    fn group(&mut self, key: &str) -> usize {
        if let Some(&at) = self.table.get(key) {
            return at;
        }
        let name = Some(key.split_once('\0').map_or(key, |(name, _)| name).to_owned());
        let key_or_none = name.filter(|name| !name.is_empty());
        self.list.push(Group { key: key_or_none, path: None, shown: None, totals: Totals::default() });
        self.table.insert(key.to_owned(), self.list.len() - 1);
        self.list.len() - 1
    }

    /// Appends the key of an entry; nothing if it has none.
    fn push_key(&self, by: By, harvest: &EntryStats, entry: &Counted, key: &mut String) {
        match by {
            // Two files may contain the same session.
            By::Session => drop(write!(key, "{}\0{}", harvest.header.id, self.sessions)),
            By::Project => drop(write!(key, "{}", harvest.header.cwd.clone().unwrap_or_default())),
            By::Model => {
                let (provider, model) = (harvest.provider(entry), harvest.model(entry));
                key.push_str(&model_name(provider, model).unwrap_or_default());
            }
            By::Day | By::Week | By::Month => self.push_date(by, entry.time_ms, key),
            By::Tool | By::Entry => {}
        }
    }

    fn push_date(&self, by: By, time_ms: i64, key: &mut String) {
        let Some(day) = self.clock.day(time_ms) else { return };
        // 1970 began on a Thursday.
        let day = if by == By::Week { day - (day + 3).rem_euclid(7) } else { day };
        let (year, month, date) = civil(day);
        let _ = write!(key, "{year:04}-{month:02}");
        if by != By::Month {
            let _ = write!(key, "-{date:02}");
        }
    }

    /// Prints the groups: dates in order, tools by number of calls, others by cost.
    pub fn print(mut self, json: bool, ui: &mut Ui) -> Result<(), Failure> {
        let Some(by) = self.by else {
            return if json {
                ui.print_json(&row(Object::new(), &self.total))
            } else {
                print_summary(&self.total, ui)
            };
        };
        match by {
            By::Day | By::Week | By::Month => self.list.sort_by(|a, b| a.key.cmp(&b.key)),
            By::Tool => self.list.sort_by_key(|group| std::cmp::Reverse(group.totals.tool_calls)),
            _ => self.list.sort_by(|a, b| {
                let worth = |group: &Group| (group.totals.usage.cost, group.totals.usage.tokens());
                worth(b).partial_cmp(&worth(a)).unwrap_or(std::cmp::Ordering::Equal)
            }),
        }
        if json {
            return self.list.iter().try_for_each(|group| ui.print_json(&group_json(by, group)));
        }
        GroupTable { by, groups: &self.list, total: &self.total }.print(ui)
    }
}

fn group_json(by: By, group: &Group) -> Vec<u8> {
    let object = Object::new();
    let object = match &group.key {
        Some(key) => object.str(key_name(by), key),
        None => object.json(key_name(by), b"null"),
    };
    row(object.with(group.path.as_deref(), |object, path| object.str("path", path)), &group.totals)
}

fn row(object: Object, totals: &Totals) -> Vec<u8> {
    object
        .number("sessions", totals.sessions as f64)
        .number("messages", totals.messages as f64)
        .number("userMessages", totals.user_messages as f64)
        .number("assistantMessages", totals.assistant_messages as f64)
        .number("toolResults", totals.tool_results as f64)
        .number("toolCalls", totals.tool_calls as f64)
        .number("toolFailures", totals.tool_failures as f64)
        .json("tokens", &totals.usage.tokens_json())
        .json("cost", js::number(totals.usage.cost).as_bytes())
        .number("unpriced", totals.usage.unpriced as f64)
        .number("files", totals.files() as f64)
        .json("seconds", js::number(totals.took_ms as f64 / 1000.0).as_bytes())
        .finish()
}
