//! Sums for each key of `--by`.

use crate::cli::output::{Clock, Links, Ui, truncate_end};
use crate::format::{ID_SUFFIX_LEN, id_suffix};
use crate::ops::list::session_title;
use crate::ops::stats::{CountedEntry, SessionStats, Totals};
use crate::session::collected::CountedCall;
use crate::session::entry::Role;
use crate::session::usage::UsageSums;
use crate::session::{Header, Session};
use clap::ValueEnum;
use foldhash::HashMap;
use pisess_json::text::Text;
use pisess_json::time::civil_from_days;
use pisess_json::write::{Object, text_array};
use std::borrow::Cow;
use std::cmp::Ordering;
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
    /// A session, with how long its agent worked and waited.
    Time,
}

/// The maximum width of the title of a session, in columns: figures follow it.
const MAX_TITLE_WIDTH: usize = 40;

/// The entries with the same keys, and their sums.
pub(super) struct StatsGroup {
    /// The keys, in the order of `--by`; `None` for one that is missing, as for a summary without a
    /// model.
    pub keys: Vec<Option<String>>,
    /// The path of the session, if it is a key, and its name for people.
    pub path: Option<String>,
    pub name: Option<String>,
    /// With `--by file`, the sessions that read or wrote the file.
    pub sessions: Vec<GroupSession>,
    pub totals: Totals,
}

/// A session of a group.
pub(super) struct GroupSession {
    pub path: String,
    /// The end of the session's id.
    pub id_suffix: String,
}

impl StatsGroup {
    /// Returns what two groups have in common if they have the same value of a key. Sessions with
    /// the same id in two files are two values, so the path belongs to the value.
    fn key_value(&self, by: GroupKey, key_index: usize) -> (Option<String>, Option<String>) {
        let path = if by == GroupKey::Session {
            self.path.clone()
        } else {
            None
        };
        (self.keys[key_index].clone(), path)
    }

    /// Adds a session, unless it was the last that was added: the entries of a session follow each
    /// other.
    fn add_session(&mut self, path: &Path, header: &Header) {
        let path = path.to_string_lossy();
        if self.sessions.last().is_some_and(|last| last.path == path) {
            return;
        }
        let id = header.id.to_string_lossy();
        self.sessions.push(GroupSession {
            path: path.into_owned(),
            id_suffix: id_suffix(&id, ID_SUFFIX_LEN).to_owned(),
        });
    }
}

/// The sums of all groups that have the same value of a key. Groups are sorted by these, the
/// largest first.
struct GroupSum {
    /// Calls, or dollars.
    primary: f64,
    /// Tokens, which decide between equal sums of dollars.
    secondary: f64,
    /// The position of the first of these groups before sorting, which decides if all is equal.
    first_position: usize,
}

impl GroupSum {
    /// Orders the larger sum first. Of equal sums, the one whose group was found first comes first.
    fn compare_descending(&self, other: &GroupSum) -> Ordering {
        let own_sums = (self.primary, self.secondary);
        let other_sums = (other.primary, other.secondary);
        // Sums of finite numbers can always be compared.
        let by_sums = other_sums.partial_cmp(&own_sums).unwrap_or(Ordering::Equal);
        by_sums.then(self.first_position.cmp(&other.first_position))
    }
}

pub struct StatsGroups {
    pub(super) by: Vec<GroupKey>,
    clock: Clock,
    pub(super) home: Option<String>,
    pub(super) links: Links,
    /// The groups, in the order of their first entries until they are sorted.
    pub(super) groups: Vec<StatsGroup>,
    /// The position of each group, by its keys. If sessions are a key, the number of the file is
    /// added, because two files may contain the same session.
    positions: HashMap<(Vec<Option<String>>, Option<usize>), usize>,
    /// The sum of all groups.
    pub total: Totals,
    session_count: usize,
    /// The number of sessions with requests that record neither tokens nor a cost.
    pub(super) unrecorded_count: usize,
    /// The date of the prices for estimates; `None` for those of `--prices`.
    pub(super) prices_date: Option<&'static str>,
}

impl StatsGroups {
    /// Returns no groups yet; entries will be grouped by these keys.
    pub fn new(by: Vec<GroupKey>, prices_date: Option<&'static str>, ui: &Ui) -> StatsGroups {
        StatsGroups {
            by,
            clock: Clock::new(ui),
            home: ui.home(),
            links: ui.links.clone(),
            groups: Vec::new(),
            positions: HashMap::default(),
            total: Totals::default(),
            session_count: 0,
            unrecorded_count: 0,
            prices_date,
        }
    }

    /// Adds entries of one session to their groups.
    ///
    /// If tools or files are a key, the calls of an entry are counted in place of the entry: by
    /// file only calls that name one, by tool also the results, which belong to the same tool.
    pub fn add_session<'e>(
        &mut self,
        path: &Path,
        stats: &SessionStats,
        entries: impl Iterator<Item = &'e CountedEntry>,
    ) {
        self.session_count += 1;
        let session_number = self.session_count;
        let groups_files = self.by.contains(&GroupKey::File);
        let counts_calls = groups_files || self.by.contains(&GroupKey::Tool);
        let mut session_usage = UsageSums::default();
        for entry in entries {
            if entry.is_billed {
                session_usage.add(&entry.usage.unwrap_or_default());
            }
            if !counts_calls {
                self.add_to_group(path, stats, entry, None, |totals| {
                    totals.add_with_calls(&stats.session, entry, session_number)
                });
                continue;
            }
            for call in stats.calls(entry) {
                if groups_files && call.file.is_none() {
                    continue;
                }
                self.add_to_group(path, stats, entry, Some(call), |totals| {
                    if groups_files {
                        totals.add_file_call(stats, call, session_number);
                    } else {
                        totals.add_call(stats, call, session_number);
                    }
                });
            }
            if !groups_files && entry.role == Some(Role::ToolResult) {
                self.add_to_group(path, stats, entry, None, |totals| {
                    totals.add_entry(entry, session_number)
                });
            }
        }
        if session_usage.request_count > 0 && !session_usage.is_recorded() {
            self.unrecorded_count += 1;
        }
    }

    /// Adds an entry, or one of its calls, to the sums of its group and to those of all groups:
    /// `add` is called with each of the two.
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

        let header = &stats.session.header;
        let lists_sessions = self.by == [GroupKey::File];
        let keys = self
            .by
            .iter()
            .map(|&by| self.key_of_entry(by, stats, entry, call))
            .collect();
        let group = self.find_or_add_group(keys, path, &stats.session);
        add(&mut group.totals);
        if lists_sessions {
            group.add_session(path, header);
        }
    }

    /// Returns the group with these keys, which is added if there is none. If sessions are a key,
    /// the session that is being counted, with its path, names the group.
    fn find_or_add_group(
        &mut self,
        keys: Vec<Option<String>>,
        path: &Path,
        session: &Session,
    ) -> &mut StatsGroup {
        let groups_sessions = self.by.contains(&GroupKey::Session);
        let session_number = groups_sessions.then_some(self.session_count);
        let group_key = (keys, session_number);
        if let Some(&position) = self.positions.get(&group_key) {
            return &mut self.groups[position];
        }

        let position = self.groups.len();
        self.groups.push(StatsGroup {
            keys: group_key.0.clone(),
            path: groups_sessions.then(|| path.to_string_lossy().into_owned()),
            name: groups_sessions.then(|| self.session_name(session)),
            sessions: Vec::new(),
            totals: Totals::default(),
        });
        self.positions.insert(group_key, position);
        &mut self.groups[position]
    }

    /// Returns what people know a session by: the end of its id, the local day of its start, and
    /// its title as in `list`. What the session does not record is left out.
    fn session_name(&self, session: &Session) -> String {
        let header = &session.header;
        let id = header.id.to_string_lossy();
        let tail = id_suffix(&id, ID_SUFFIX_LEN);
        let day = header
            .started_ms()
            .and_then(|time| self.date_key(GroupKey::Day, time))
            .unwrap_or_default();
        let title = session_title(session);
        let words: Vec<&str> = title.split_whitespace().collect();
        let title = truncate_end(&words.join(" "), MAX_TITLE_WIDTH, "…");
        [tail, &day, &title]
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join("  ")
    }

    /// Returns the value of a key for an entry, or for one of its calls. `None` if it has none, or
    /// if the value is empty.
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
            GroupKey::Entry | GroupKey::Time => None,
        };
        key.filter(|key| !key.is_empty())
    }

    /// Returns the local day of a time as `YYYY-MM-DD`, or the Monday of its week; for months,
    /// `YYYY-MM`. Days are counted from 1970-01-01.
    fn date_key(&self, by: GroupKey, time_ms: i64) -> Option<String> {
        let mut day = self.clock.local_day(time_ms)?;
        if by == GroupKey::Week {
            // Day 0 was a Thursday, three days after a Monday.
            let days_since_monday = (day + 3).rem_euclid(7);
            day -= days_since_monday;
        }
        let (year, month, date) = civil_from_days(day);
        if by == GroupKey::Month {
            Some(format!("{year:04}-{month:02}"))
        } else {
            Some(format!("{year:04}-{month:02}-{date:02}"))
        }
    }

    /// Sorts the groups: by the first key of `--by`, then by the second. Dates ascend; tools and
    /// files are sorted by their calls, all other keys by their cost, the largest first.
    pub(super) fn sort(&mut self) {
        // The first key is sorted by last: each sort keeps the order of groups that it finds equal.
        for key_index in (0..self.by.len()).rev() {
            self.sort_by_key(key_index);
        }
    }

    /// Sorts by one of the keys: dates in their order, other keys by the sums of all groups that
    /// have the same value of the key, so that these stay together.
    fn sort_by_key(&mut self, key_index: usize) {
        let by = self.by[key_index];
        if matches!(by, GroupKey::Day | GroupKey::Week | GroupKey::Month) {
            self.groups
                .sort_by(|a, b| a.keys[key_index].cmp(&b.keys[key_index]));
            return;
        }

        let mut sums: HashMap<_, GroupSum> = HashMap::default();
        for (position, group) in self.groups.iter().enumerate() {
            let value = group.key_value(by, key_index);
            let sum = sums.entry(value).or_insert(GroupSum {
                primary: 0.0,
                secondary: 0.0,
                first_position: position,
            });
            if matches!(by, GroupKey::Tool | GroupKey::File) {
                sum.primary += group.totals.tool_calls as f64;
            } else {
                sum.primary += group.totals.usage.cost;
                sum.secondary += group.totals.usage.total_tokens();
            }
        }
        self.groups.sort_by(|left, right| {
            let left_sum = &sums[&left.key_value(by, key_index)];
            let right_sum = &sums[&right.key_value(by, key_index)];
            left_sum.compare_descending(right_sum)
        });
    }
}

/// Returns a group as JSON: its keys, the path of its session if sessions are a key, and its sums.
/// By file, there are also the numbers of reads and writes; if files are the only key, the paths of
/// their sessions.
pub(super) fn group_json(
    by: &[GroupKey],
    group: &StatsGroup,
    prices_date: Option<&str>,
) -> Vec<u8> {
    let mut object = Object::new();
    for (&by, key) in by.iter().zip(&group.keys) {
        object = object.str_or_null(key_name(by), key.as_deref());
    }
    if let Some(path) = &group.path {
        object = object.str("path", path);
    }
    if by.contains(&GroupKey::File) {
        object = object
            .number("reads", group.totals.reads as f64)
            .number("writes", group.totals.writes as f64);
    }
    if by == [GroupKey::File] {
        let paths: Vec<_> = group
            .sessions
            .iter()
            .map(|session| Text::from(session.path.as_str()))
            .collect();
        object = object.json("paths", &text_array(&paths));
    }
    totals_json(object, &group.totals, prices_date)
}

/// Adds sums to the JSON object of a group, and finishes it.
pub(super) fn totals_json(object: Object, totals: &Totals, prices_date: Option<&str>) -> Vec<u8> {
    let object = object
        .number("sessions", totals.sessions as f64)
        .number("messages", totals.messages as f64)
        .number("userMessages", totals.user_messages as f64)
        .number("assistantMessages", totals.assistant_messages as f64)
        .number("toolResults", totals.tool_results as f64)
        .number("toolCalls", totals.tool_calls as f64)
        .number("toolFailures", totals.tool_failures as f64)
        .json("tokens", &totals.usage.tokens_json())
        .number("cost", totals.usage.cost);
    totals
        .usage
        .with_estimate(object, prices_date)
        .number("unpriced", totals.usage.unpriced_count as f64)
        .number("files", totals.changed_file_count() as f64)
        .number("seconds", totals.took_ms as f64 / 1000.0)
        .finish()
}

/// Returns the name of a key, for JSON and for the column title.
pub(super) fn key_name(by: GroupKey) -> &'static str {
    match by {
        GroupKey::Session => "session",
        GroupKey::Model => "model",
        GroupKey::Day => "day",
        GroupKey::Week => "week",
        GroupKey::Month => "month",
        GroupKey::Project => "project",
        GroupKey::Tool => "tool",
        GroupKey::File => "file",
        GroupKey::Entry => "entry",
        GroupKey::Time => "time",
    }
}
