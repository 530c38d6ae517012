//! Sums for each key of `--by`.

use crate::cli::output::{Clock, Ui};
use crate::format::{ID_SUFFIX_LEN, id_suffix};
use crate::ops::stats::{CountedEntry, SessionStats, Totals};
use crate::session::Header;
use crate::session::collected::CountedCall;
use crate::session::entry::Role;
use crate::session::paths::file_name;
use clap::ValueEnum;
use foldhash::HashMap;
use pisess_json::text::Text;
use pisess_json::time::civil_from_days;
use pisess_json::write::{Object, text_array};
use std::borrow::Cow;
use std::path::Path;

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GroupKey {
    /// A session.
    Session,
    /// A model of a provider.
    Model,
    /// A local day.
    Day,
    /// A week, by its Monday.
    Week,
    /// A month.
    Month,
    /// A working directory.
    Project,
    /// A tool.
    Tool,
    /// A file that was read or changed.
    File,
    /// A billed entry.
    Entry,
}

pub(super) struct StatsGroup {
    /// The keys, in the order of `--by`; `None` for one that is missing, as for a summary without a
    /// model.
    pub keys: Vec<Option<String>>,
    /// The path of the session, if it is a key, and its name for people.
    pub path: Option<String>,
    pub name: Option<String>,
    /// The paths of the sessions and the ends of their ids, if groups are files.
    pub sessions: Vec<(String, String)>,
    pub totals: Totals,
}

/// The figures by which the groups with the same key are sorted: their sums, the largest first.
struct GroupSum {
    primary: f64,
    /// Decides between equal ones.
    secondary: f64,
    /// The position of the first of these groups before sorting.
    first_position: usize,
}

pub struct StatsGroups {
    pub(super) by: Vec<GroupKey>,
    clock: Clock,
    pub(super) home: Option<String>,
    /// The groups, in the order of their first entries until they are sorted.
    pub(super) groups: Vec<StatsGroup>,
    /// Their positions, by their keys and, as two files may contain the same session, the number of
    /// its file.
    positions: HashMap<(Vec<Option<String>>, Option<usize>), usize>,
    /// The sum of all groups.
    pub total: Totals,
    session_count: usize,
}

impl StatsGroups {
    pub fn new(by: Vec<GroupKey>, ui: &Ui) -> StatsGroups {
        StatsGroups {
            by,
            clock: Clock::new(ui),
            home: ui.home(),
            groups: Vec::new(),
            positions: HashMap::default(),
            total: Totals::default(),
            session_count: 0,
        }
    }

    /// Adds entries of one session.
    pub fn add_session<'e>(
        &mut self,
        path: &Path,
        stats: &SessionStats,
        entries: impl Iterator<Item = &'e CountedEntry>,
    ) {
        self.session_count += 1;
        let session = self.session_count;
        let has_files = self.by.contains(&GroupKey::File);
        let is_of_calls = has_files || self.by.contains(&GroupKey::Tool);
        for entry in entries {
            if !is_of_calls {
                self.add_to_group(path, stats, entry, None, |totals| {
                    totals.add_with_calls(stats, entry, session)
                });
                continue;
            }
            for call in stats
                .calls(entry)
                .iter()
                .filter(|call| !has_files || call.file.is_some())
            {
                self.add_to_group(path, stats, entry, Some(call), |totals| {
                    totals.add_call(stats, call, session)
                });
            }
            // Results count for their tool.
            if !has_files && entry.role == Some(Role::ToolResult) {
                self.add_to_group(path, stats, entry, None, |totals| {
                    totals.add_entry(entry, session)
                });
            }
        }
    }

    /// Adds an entry, or one of its calls, to the sums of its group and to those of all.
    fn add_to_group(
        &mut self,
        path: &Path,
        stats: &SessionStats,
        entry: &CountedEntry,
        call: Option<&CountedCall>,
        add: impl Fn(&mut Totals),
    ) {
        add(&mut self.total);
        if self.by.is_empty() {
            return;
        }
        let keys = self
            .by
            .iter()
            .map(|&by| self.key_of_entry(by, stats, entry, call))
            .collect();
        let by_session = self.by.contains(&GroupKey::Session);
        let group_key = (keys, by_session.then_some(self.session_count));
        let group_index = match self.positions.get(&group_key) {
            Some(&at) => at,
            None => {
                let keys = group_key.0.clone();
                let path = by_session.then(|| path.to_string_lossy().into_owned());
                let name = by_session.then(|| self.session_title(&stats.session.header));
                self.groups.push(StatsGroup {
                    keys,
                    path,
                    name,
                    sessions: Vec::new(),
                    totals: Totals::default(),
                });
                self.positions.insert(group_key, self.groups.len() - 1);
                self.groups.len() - 1
            }
        };
        let StatsGroup {
            sessions, totals, ..
        } = &mut self.groups[group_index];
        add(totals);
        let is_new = || {
            sessions
                .last()
                .is_none_or(|(last, _)| *last != path.to_string_lossy())
        };
        if self.by == [GroupKey::File] && is_new() {
            let id =
                id_suffix(&stats.session.header.id.to_string_lossy(), ID_SUFFIX_LEN).to_owned();
            sessions.push((path.to_string_lossy().into_owned(), id));
        }
    }

    /// Returns the name of a session: the end of its id, its date and the name of its directory.
    fn session_title(&self, header: &Header) -> String {
        let id = header.id.to_string_lossy();
        let tail = id_suffix(&id, ID_SUFFIX_LEN);
        let day = header
            .started_ms()
            .and_then(|time| self.date_key(GroupKey::Day, time))
            .unwrap_or_default();
        let cwd = header
            .cwd
            .as_ref()
            .map(|cwd| cwd.to_string_lossy().into_owned())
            .unwrap_or_default();
        let folder = file_name(&cwd);
        [tail, &day, folder]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("  ")
    }

    /// Returns a key of an entry, or of one of its calls, if it has one.
    fn key_of_entry(
        &self,
        by: GroupKey,
        stats: &SessionStats,
        entry: &CountedEntry,
        call: Option<&CountedCall>,
    ) -> Option<String> {
        let header = &stats.session.header;
        let key = match by {
            GroupKey::Session => Some(header.id.to_string()),
            GroupKey::Project => header.cwd.as_ref().map(Text::to_string),
            GroupKey::Model => stats.model(entry),
            GroupKey::Day | GroupKey::Week | GroupKey::Month => self.date_key(by, entry.time_ms),
            GroupKey::Tool => stats
                .attribution_name(call.map_or(entry.attribution.tool, |call| call.tool))
                .map(Cow::into_owned),
            GroupKey::File => stats
                .attribution_name(call?.file.as_ref()?.path)
                .map(Cow::into_owned),
            GroupKey::Entry => None,
        };
        key.filter(|key| !key.is_empty())
    }

    fn date_key(&self, by: GroupKey, time_ms: i64) -> Option<String> {
        let day = self.clock.local_day(time_ms)?;
        // 1970 began on a Thursday.
        let day = if by == GroupKey::Week {
            day - (day + 3).rem_euclid(7)
        } else {
            day
        };
        let (year, month, date) = civil_from_days(day);
        let date = if by == GroupKey::Month {
            String::new()
        } else {
            format!("-{date:02}")
        };
        Some(format!("{year:04}-{month:02}{date}"))
    }

    /// Sorts the groups: dates in order, tools and files by number of calls, others by cost; pairs
    /// by their first key, then by the second.
    pub(super) fn sort(&mut self) {
        for at in (0..self.by.len()).rev() {
            self.sort_by_key_at(at);
        }
    }

    /// Sorts by one of the keys; equal ones stay in their order.
    fn sort_by_key_at(&mut self, key_index: usize) {
        let by = self.by[key_index];
        if matches!(by, GroupKey::Day | GroupKey::Week | GroupKey::Month) {
            self.groups
                .sort_by(|a, b| a.keys[key_index].cmp(&b.keys[key_index]));
            return;
        }

        // Groups with the same key stay together.
        let identity = |group: &StatsGroup| {
            let path = (by == GroupKey::Session).then(|| group.path.clone());
            (group.keys[key_index].clone(), path.flatten())
        };
        let mut sums: HashMap<_, GroupSum> = HashMap::default();
        for (rank, group) in self.groups.iter().enumerate() {
            let sum = sums.entry(identity(group)).or_insert(GroupSum {
                primary: 0.0,
                secondary: 0.0,
                first_position: rank,
            });
            match by {
                GroupKey::Tool | GroupKey::File => sum.primary += group.totals.tool_calls as f64,
                _ => {
                    sum.primary += group.totals.usage.cost;
                    sum.secondary += group.totals.usage.total_tokens();
                }
            }
        }
        self.groups.sort_by(|a, b| {
            let a = &sums[&identity(a)];
            let b = &sums[&identity(b)];
            let descending = (b.primary, b.secondary).partial_cmp(&(a.primary, a.secondary));
            let descending = descending.unwrap_or(std::cmp::Ordering::Equal);
            descending.then(a.first_position.cmp(&b.first_position))
        });
    }
}

pub(super) fn group_json(by: &[GroupKey], group: &StatsGroup) -> Vec<u8> {
    let mut object = Object::new();
    for (&by, key) in by.iter().zip(&group.keys) {
        object = object.str_or_null(key_name(by), key.as_deref());
    }
    let paths: Vec<_> = group
        .sessions
        .iter()
        .map(|(path, _)| Text::from(path.as_str()))
        .collect();
    object = object
        .with(group.path.as_deref(), |object, path| {
            object.str("path", path)
        })
        .with(
            by.contains(&GroupKey::File).then_some(&group.totals),
            |object, totals| {
                object
                    .number("reads", totals.reads as f64)
                    .number("writes", totals.writes as f64)
            },
        )
        .with(
            (by == [GroupKey::File]).then_some(paths),
            |object, paths| object.json("paths", &text_array(&paths)),
        );
    totals_json(object, &group.totals)
}

/// Returns sums as JSON, after the keys of their group.
pub(super) fn totals_json(object: Object, totals: &Totals) -> Vec<u8> {
    object
        .number("sessions", totals.sessions as f64)
        .number("messages", totals.messages as f64)
        .number("userMessages", totals.user_messages as f64)
        .number("assistantMessages", totals.assistant_messages as f64)
        .number("toolResults", totals.tool_results as f64)
        .number("toolCalls", totals.tool_calls as f64)
        .number("toolFailures", totals.tool_failures as f64)
        .json("tokens", &totals.usage.tokens_json())
        .number("cost", totals.usage.cost)
        .with(
            Some(totals.usage.estimated_cost).filter(|part| *part > 0.0),
            |row, part| row.number("estimated", part),
        )
        .number("unpriced", totals.usage.unpriced_count as f64)
        .number("files", totals.changed_file_count() as f64)
        .number("seconds", totals.took_ms as f64 / 1000.0)
        .finish()
}

/// Returns the name of a key, for JSON and for the column title.
pub(super) fn key_name(by: GroupKey) -> &'static str {
    [
        "session", "model", "day", "week", "month", "project", "tool", "file", "entry",
    ][by as usize]
}
