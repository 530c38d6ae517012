//! Sums for each key of `--by`.

use crate::cli::output::{Clock, Ui};
use crate::format::{ID, id_end};
use crate::ops::stats::{Counted, SessionStats, Totals};
use crate::session::Header;
use crate::session::collected::CountedCall;
use crate::session::entry::Role;
use crate::session::paths::name;
use clap::ValueEnum;
use foldhash::HashMap;
use pisess_json::text::Text;
use pisess_json::time::civil;
use pisess_json::write::{Object, texts};
use std::borrow::Cow;
use std::path::Path;

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
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

pub(super) struct Group {
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
    first: f64,
    /// Decides between equal ones.
    second: f64,
    /// The position of the first of these groups before sorting.
    rank: usize,
}

pub struct Groups {
    pub(super) by: Vec<By>,
    clock: Clock,
    pub(super) home: Option<String>,
    /// The groups, in the order of their first entries until they are sorted.
    pub(super) list: Vec<Group>,
    /// Their positions, by their keys and, as two files may contain the same session, the number of
    /// its file.
    positions: HashMap<(Vec<Option<String>>, Option<usize>), usize>,
    /// The sum of all groups.
    pub total: Totals,
    sessions: usize,
}

impl Groups {
    pub fn new(by: Vec<By>, ui: &Ui) -> Groups {
        Groups {
            by,
            clock: Clock::new(ui),
            home: ui.home(),
            list: Vec::new(),
            positions: HashMap::default(),
            total: Totals::default(),
            sessions: 0,
        }
    }

    /// Adds entries of one session.
    pub fn add<'e>(
        &mut self,
        path: &Path,
        stats: &SessionStats,
        entries: impl Iterator<Item = &'e Counted>,
    ) {
        self.sessions += 1;
        let session = self.sessions;
        let has_files = self.by.contains(&By::File);
        let is_of_calls = has_files || self.by.contains(&By::Tool);
        for entry in entries {
            if !is_of_calls {
                self.count(path, stats, entry, None, |totals| {
                    totals.add(stats, entry, session)
                });
                continue;
            }
            for call in stats
                .calls(entry)
                .iter()
                .filter(|call| !has_files || call.file.is_some())
            {
                self.count(path, stats, entry, Some(call), |totals| {
                    totals.add_call(stats, call, session)
                });
            }
            // Results count for their tool.
            if !has_files && entry.role == Some(Role::ToolResult) {
                self.count(path, stats, entry, None, |totals| {
                    totals.add_entry(entry, session)
                });
            }
        }
    }

    /// Adds an entry, or one of its calls, to the sums of its group and to those of all.
    fn count(
        &mut self,
        path: &Path,
        stats: &SessionStats,
        entry: &Counted,
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
            .map(|&by| self.key_of(by, stats, entry, call))
            .collect();
        let by_session = self.by.contains(&By::Session);
        let place = (keys, by_session.then_some(self.sessions));
        let at = match self.positions.get(&place) {
            Some(&at) => at,
            None => {
                let keys = place.0.clone();
                let path = by_session.then(|| path.to_string_lossy().into_owned());
                let name = by_session.then(|| self.shown(&stats.session.header));
                self.list.push(Group {
                    keys,
                    path,
                    name,
                    sessions: Vec::new(),
                    totals: Totals::default(),
                });
                self.positions.insert(place, self.list.len() - 1);
                self.list.len() - 1
            }
        };
        let Group {
            sessions, totals, ..
        } = &mut self.list[at];
        add(totals);
        let is_new = || {
            sessions
                .last()
                .is_none_or(|(last, _)| *last != path.to_string_lossy())
        };
        if self.by == [By::File] && is_new() {
            let id = id_end(&stats.session.header.id.to_string_lossy(), ID).to_owned();
            sessions.push((path.to_string_lossy().into_owned(), id));
        }
    }

    /// Returns the name of a session: the end of its id, its date and the name of its directory.
    fn shown(&self, header: &Header) -> String {
        let id = header.id.to_string_lossy();
        let tail = id_end(&id, ID);
        let day = header
            .started_ms()
            .and_then(|time| self.date(By::Day, time))
            .unwrap_or_default();
        let cwd = header
            .cwd
            .as_ref()
            .map(|cwd| cwd.to_string_lossy().into_owned())
            .unwrap_or_default();
        let folder = name(&cwd);
        [tail, &day, folder]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("  ")
    }

    /// Returns a key of an entry, or of one of its calls, if it has one.
    fn key_of(
        &self,
        by: By,
        stats: &SessionStats,
        entry: &Counted,
        call: Option<&CountedCall>,
    ) -> Option<String> {
        let header = &stats.session.header;
        let key = match by {
            By::Session => Some(header.id.to_string()),
            By::Project => header.cwd.as_ref().map(Text::to_string),
            By::Model => stats.model(entry),
            By::Day | By::Week | By::Month => self.date(by, entry.time_ms),
            By::Tool => stats
                .name(call.map_or(entry.by.tool, |call| call.tool))
                .map(Cow::into_owned),
            By::File => stats.name(call?.file.as_ref()?.path).map(Cow::into_owned),
            By::Entry => None,
        };
        key.filter(|key| !key.is_empty())
    }

    fn date(&self, by: By, time_ms: i64) -> Option<String> {
        let day = self.clock.day(time_ms)?;
        // 1970 began on a Thursday.
        let day = if by == By::Week {
            day - (day + 3).rem_euclid(7)
        } else {
            day
        };
        let (year, month, date) = civil(day);
        let date = if by == By::Month {
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
            self.sort_by(at);
        }
    }

    /// Sorts by one of the keys; equal ones stay in their order.
    fn sort_by(&mut self, at: usize) {
        let by = self.by[at];
        if matches!(by, By::Day | By::Week | By::Month) {
            self.list.sort_by(|a, b| a.keys[at].cmp(&b.keys[at]));
            return;
        }

        // Groups with the same key stay together.
        let identity = |group: &Group| {
            let path = (by == By::Session).then(|| group.path.clone());
            (group.keys[at].clone(), path.flatten())
        };
        let mut sums: HashMap<_, GroupSum> = HashMap::default();
        for (rank, group) in self.list.iter().enumerate() {
            let sum = sums.entry(identity(group)).or_insert(GroupSum {
                first: 0.0,
                second: 0.0,
                rank,
            });
            match by {
                By::Tool | By::File => sum.first += group.totals.tool_calls as f64,
                _ => {
                    sum.first += group.totals.usage.cost;
                    sum.second += group.totals.usage.tokens();
                }
            }
        }
        self.list.sort_by(|a, b| {
            let a = &sums[&identity(a)];
            let b = &sums[&identity(b)];
            let descending = (b.first, b.second).partial_cmp(&(a.first, a.second));
            let descending = descending.unwrap_or(std::cmp::Ordering::Equal);
            descending.then(a.rank.cmp(&b.rank))
        });
    }
}

pub(super) fn group_json(by: &[By], group: &Group) -> Vec<u8> {
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
            by.contains(&By::File).then_some(&group.totals),
            |object, totals| {
                object
                    .number("reads", totals.reads as f64)
                    .number("writes", totals.writes as f64)
            },
        )
        .with((by == [By::File]).then_some(paths), |object, paths| {
            object.json("paths", &texts(&paths))
        });
    row(object, &group.totals)
}

/// Returns sums as JSON, after the keys of their group.
pub(super) fn row(object: Object, totals: &Totals) -> Vec<u8> {
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
            Some(totals.usage.estimated).filter(|part| *part > 0.0),
            |row, part| row.number("estimated", part),
        )
        .number("unpriced", totals.usage.unpriced as f64)
        .number("files", totals.files() as f64)
        .number("seconds", totals.took_ms as f64 / 1000.0)
        .finish()
}

/// Returns the name of a key, for JSON and for the column title.
pub(super) fn key_name(by: By) -> &'static str {
    [
        "session", "model", "day", "week", "month", "project", "tool", "file", "entry",
    ][by as usize]
}
