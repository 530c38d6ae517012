//! Groups counted entries by the keys of `--by`, and sums them up.

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
use pisess_json::time::{Date, date_from_days};
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

/// The maximum width of a session's title, in columns. It is limited because numbers follow it.
const MAX_TITLE_WIDTH: usize = 40;

/// The entries with the same values of the keys, and their sums.
pub(super) struct StatsGroup {
    /// The values of the keys, in the order of `--by`. `None` for a missing value, such as the
    /// model of a summary that no model wrote.
    pub keys: Vec<Option<String>>,
    /// If sessions are a key, the path of the session, and (`name`) its name for people.
    pub path: Option<String>,
    pub name: Option<String>,
    /// With `--by file` alone, the sessions that read or wrote the file.
    pub sessions: Vec<GroupSession>,
    pub totals: Totals,
}

/// A session in which a file was read or written.
pub(super) struct GroupSession {
    pub path: String,
    /// The last characters of the session's id.
    pub id_suffix: String,
    /// Whether one of its calls wrote or edited the file.
    pub has_writes: bool,
}

impl StatsGroup {
    /// Returns the value of a key for this group.
    fn key_value(&self, by: GroupKey, key_index: usize) -> KeyValue {
        let path = if by == GroupKey::Session {
            self.path.clone()
        } else {
            None
        };
        KeyValue {
            text: self.keys[key_index].clone(),
            path,
        }
    }

    /// Returns the number of sessions that wrote or edited the file.
    pub fn writing_session_count(&self) -> usize {
        let writing = self.sessions.iter().filter(|session| session.has_writes);
        writing.count()
    }

    /// Returns the session in which an entry was counted. It is added, unless it was the last one
    /// added. That suffices to add each session once, because the entries of a session are counted
    /// one after another.
    fn find_or_add_session(&mut self, path: &Path, header: &Header) -> &mut GroupSession {
        let path = path.to_string_lossy();
        let is_known = self.sessions.last().is_some_and(|last| last.path == path);
        if !is_known {
            let id = header.id.to_string_lossy();
            self.sessions.push(GroupSession {
                path: path.into_owned(),
                id_suffix: id_suffix(&id, ID_SUFFIX_LEN).to_owned(),
                has_writes: false,
            });
        }
        let last = self.sessions.len() - 1;
        &mut self.sessions[last]
    }
}

/// The value of a key, by which groups are compared.
#[derive(PartialEq, Eq, Hash)]
struct KeyValue {
    text: Option<String>,
    /// The path of the session, if the key is the session: two files may contain a session with the
    /// same id.
    path: Option<String>,
}

/// What distinguishes a group from the others.
#[derive(Clone, PartialEq, Eq, Hash)]
struct GroupId {
    /// The values of the keys.
    keys: Vec<Option<String>>,
    /// The number of the session, if sessions are a key: two files may contain the same session.
    session_number: Option<usize>,
}

/// The sum over all groups with the same value of a key. The groups are sorted by these sums, the
/// largest first.
struct GroupSum {
    /// The number of calls; or the cost in dollars.
    primary: f64,
    /// The number of tokens, which decides between equal costs.
    secondary: f64,
    /// The position of the first of these groups before sorting. It decides if the sums are equal.
    first_position: usize,
}

impl GroupSum {
    /// Orders the larger sum first. Of equal sums, the one whose group was found first precedes.
    fn compare_descending(&self, other: &GroupSum) -> Ordering {
        let own_sums = (self.primary, self.secondary);
        let other_sums = (other.primary, other.secondary);
        // Sums of finite numbers can always be compared.
        let by_sums = other_sums.partial_cmp(&own_sums).unwrap_or(Ordering::Equal);
        by_sums.then(self.first_position.cmp(&other.first_position))
    }
}

/// The sums of all entries, and of the entries of each group.
pub struct StatsGroups {
    pub(super) by: Vec<GroupKey>,
    clock: Clock,
    pub(super) home: Option<String>,
    pub(super) links: Links,
    /// The groups. Before they are sorted, they are in the order of their first entries.
    pub(super) groups: Vec<StatsGroup>,
    /// The position of each group in `groups`.
    positions: HashMap<GroupId, usize>,
    /// The sum over all groups.
    pub total: Totals,
    session_count: usize,
    /// The number of sessions with requests that record neither tokens nor a cost.
    pub(super) unrecorded_count: usize,
    /// The date of the built-in prices; `None` with `--prices`, whose date is unknown.
    pub(super) prices_date: Option<&'static str>,
}

impl StatsGroups {
    /// Returns an empty collection. Entries will be grouped by the keys `by`.
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

    /// Adds entries of one session to their groups. If tools or files are a key, not the entries
    /// are counted but their tool calls. Must be called once for each session: this counts the
    /// sessions.
    pub fn add_session<'e>(
        &mut self,
        path: &Path,
        stats: &SessionStats,
        entries: impl Iterator<Item = &'e CountedEntry>,
    ) {
        self.session_count += 1;
        let session_number = self.session_count;
        let groups_files = self.by.contains(&GroupKey::File);
        let groups_tools = self.by.contains(&GroupKey::Tool);
        let mut session_usage = UsageSums::default();
        for entry in entries {
            if entry.is_billed {
                session_usage.add(&entry.usage.unwrap_or_default());
            }
            if groups_files {
                self.add_file_calls(path, stats, entry);
            } else if groups_tools {
                self.add_tool_calls(path, stats, entry);
            } else {
                let call = None;
                self.add_to_group(path, stats, entry, call, |totals| {
                    totals.add_with_calls(&stats.session, entry, session_number)
                });
            }
        }
        if session_usage.request_count > 0 && !session_usage.is_recorded() {
            self.unrecorded_count += 1;
        }
    }

    /// Adds the calls of an entry that name a file to the groups of their files.
    fn add_file_calls(&mut self, path: &Path, stats: &SessionStats, entry: &CountedEntry) {
        let session_number = self.session_count;
        for call in stats.calls(entry) {
            if call.file.is_none() {
                continue;
            }
            self.add_to_group(path, stats, entry, Some(call), |totals| {
                totals.add_file_call(stats, call, session_number);
            });
        }
    }

    /// Adds the calls of an entry to the groups of their tools. A tool result is added itself, to
    /// the group of the tool that was called.
    fn add_tool_calls(&mut self, path: &Path, stats: &SessionStats, entry: &CountedEntry) {
        let session_number = self.session_count;
        for call in stats.calls(entry) {
            self.add_to_group(path, stats, entry, Some(call), |totals| {
                totals.add_call(stats, call, session_number);
            });
        }
        if entry.role == Some(Role::ToolResult) {
            let call = None;
            self.add_to_group(path, stats, entry, call, |totals| {
                totals.add_entry(entry, session_number)
            });
        }
    }

    /// Adds an entry, or one of its calls, to the sums of its group and to the sums of all groups:
    /// `add` is called once for each of the two. `path` is the path of the session.
    ///
    /// For `--by file`, also adds the session to those in which a call names the file.
    fn add_to_group(
        &mut self,
        path: &Path,
        stats: &SessionStats,
        entry: &CountedEntry,
        call: Option<&CountedCall>,
        add: impl Fn(&mut Totals),
    ) {
        add(&mut self.total);
        // Without a key, there are no groups.
        if self.by.is_empty() {
            return;
        }

        let lists_sessions = self.by == [GroupKey::File];
        let mut keys = Vec::with_capacity(self.by.len());
        for &by in &self.by {
            keys.push(self.key_of_entry(by, stats, entry, call));
        }
        let group = self.find_or_add_group(keys, path, &stats.session);
        let writes_before = group.totals.writes;
        add(&mut group.totals);
        if lists_sessions {
            let is_write = group.totals.writes > writes_before;
            let session = group.find_or_add_session(path, &stats.session.header);
            session.has_writes |= is_write;
        }
    }

    /// Returns the group with these values of the keys, adding it if it is missing. `session` is
    /// the session that is being counted, and `path` its file.
    ///
    /// If sessions are a key, two files with the same session id have two groups, so the number of
    /// the session, `session_count`, also identifies the group.
    fn find_or_add_group(
        &mut self,
        keys: Vec<Option<String>>,
        path: &Path,
        session: &Session,
    ) -> &mut StatsGroup {
        let groups_sessions = self.by.contains(&GroupKey::Session);
        let session_number = if groups_sessions {
            Some(self.session_count)
        } else {
            None
        };
        let group_id = GroupId {
            keys,
            session_number,
        };
        if let Some(&position) = self.positions.get(&group_id) {
            return &mut self.groups[position];
        }

        let mut group = StatsGroup {
            keys: group_id.keys.clone(),
            path: None,
            name: None,
            sessions: Vec::new(),
            totals: Totals::default(),
        };
        if groups_sessions {
            group.path = Some(path.to_string_lossy().into_owned());
            group.name = Some(self.session_name(session));
        }
        let position = self.groups.len();
        self.groups.push(group);
        self.positions.insert(group_id, position);
        &mut self.groups[position]
    }

    /// Returns a name by which people recognize a session: the suffix of its id, the local day of
    /// its start, and its title as in `list`. Unrecorded parts are left out.
    fn session_name(&self, session: &Session) -> String {
        let header = &session.header;
        let id = header.id.to_string_lossy();
        let short_id = id_suffix(&id, ID_SUFFIX_LEN);
        let day = header
            .started_ms()
            .and_then(|time| self.date_key(GroupKey::Day, time))
            .unwrap_or_default();
        let title = session_title(session);
        // On one line, without several spaces in a row.
        let words: Vec<&str> = title.split_whitespace().collect();
        let short_title = truncate_end(&words.join(" "), MAX_TITLE_WIDTH, "…");
        let mut parts = vec![short_id, &day, &short_title];
        parts.retain(|part| !part.is_empty());
        parts.join("  ")
    }

    /// Returns the value of a key for an entry, or for one of its calls. `None` if there is no
    /// value, or if it is empty.
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
            GroupKey::Tool => {
                let tool = match call {
                    Some(call) => call.tool,
                    None => entry.attribution.tool,
                };
                stats.attribution_name(tool).map(Cow::into_owned)
            }
            GroupKey::File => {
                let file = call.and_then(|call| call.file.as_ref());
                let path = file.and_then(|file| stats.attribution_name(file.path));
                path.map(Cow::into_owned)
            }
            GroupKey::Entry | GroupKey::Time => None,
        };
        key.filter(|key| !key.is_empty())
    }

    /// Returns the local day of a time, as in `2026-03-14`. For weeks, that is their Monday; for
    /// months, only the month, as in `2026-03`. `None` if the time is unknown.
    fn date_key(&self, by: GroupKey, time_ms: i64) -> Option<String> {
        let mut days = self.clock.local_day(time_ms)?;
        if by == GroupKey::Week {
            // Days are counted from 1970-01-01, a Thursday, which is three days after a Monday.
            let days_since_monday = (days + 3).rem_euclid(7);
            days -= days_since_monday;
        }
        let Date { year, month, day } = date_from_days(days);
        if by == GroupKey::Month {
            Some(format!("{year:04}-{month:02}"))
        } else {
            Some(format!("{year:04}-{month:02}-{day:02}"))
        }
    }

    /// Sorts the groups by the first key of `--by`, and groups with the same first key by the
    /// second. Dates ascend. Tools and files are sorted by their number of calls, other keys by
    /// their cost, the largest first.
    pub(super) fn sort(&mut self) {
        // The last sort decides first, so the first key comes last. Each sort is stable.
        for key_index in (0..self.by.len()).rev() {
            self.sort_by_key(key_index);
        }
    }

    /// Sorts the groups by one of the keys. Dates ascend. Other keys are ordered by the sums of all
    /// groups with the same value, so that these groups stay together, the largest sum first. Of
    /// equal sums, the value that came first remains first.
    ///
    /// Groups with the same value keep their order, which an earlier sort by another key has given
    /// them: `sort_by` is stable.
    fn sort_by_key(&mut self, key_index: usize) {
        let by = self.by[key_index];
        if matches!(by, GroupKey::Day | GroupKey::Week | GroupKey::Month) {
            self.groups
                .sort_by(|left, right| left.keys[key_index].cmp(&right.keys[key_index]));
            return;
        }
        let sum_by_value = self.sum_by_value(key_index);
        self.groups.sort_by(|left, right| {
            let left_sum = &sum_by_value[&left.key_value(by, key_index)];
            let right_sum = &sum_by_value[&right.key_value(by, key_index)];
            left_sum.compare_descending(right_sum)
        });
    }

    /// Returns, for each value of a key, the sum by which its groups are sorted: the number of
    /// calls for tools and files, the cost for other keys.
    fn sum_by_value(&self, key_index: usize) -> HashMap<KeyValue, GroupSum> {
        let by = self.by[key_index];
        let counts_calls = matches!(by, GroupKey::Tool | GroupKey::File);
        let mut sum_by_value = HashMap::default();
        for (position, group) in self.groups.iter().enumerate() {
            let value = group.key_value(by, key_index);
            let sum = sum_by_value.entry(value).or_insert(GroupSum {
                primary: 0.0,
                secondary: 0.0,
                first_position: position,
            });
            if counts_calls {
                sum.primary += group.totals.tool_calls as f64;
            } else {
                // Of groups with the same cost, the one with more tokens comes first.
                sum.primary += group.totals.usage.cost;
                sum.secondary += group.totals.usage.total_tokens();
            }
        }
        sum_by_value
    }
}

/// Returns a group as JSON: its keys, the path of its session if sessions are a key, and its sums.
/// If files are a key, it also has the numbers of reads and writes; if they are the only key, also
/// the paths of the sessions, and the number of those that write.
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
        object = object
            .json("paths", &text_array(&paths))
            .number("writingSessions", group.writing_session_count() as f64);
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

/// Returns the name of a key, in JSON and as a column title.
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
