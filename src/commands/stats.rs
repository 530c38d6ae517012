//! `pisess stats`: counts tokens, cost, messages, tools and time.

mod entries;
mod groups;
mod table;
mod times;

use crate::cli::given::{GivenFile, MOST_TEXT_BYTES, read_argument};
use crate::cli::guide::{Example, Guide};
use crate::cli::open::{CHECK_HINT, Input};
use crate::cli::options::LastArgs;
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::period::PeriodArgs;
use crate::cli::process::command_line::quote_word;
use crate::cli::pruned::{load_pruned, split_result, warn_uncounted};
use crate::cli::rollouts::Rollouts;
use crate::cli::session_part::{SessionPart, take_range_or_reference};
use crate::cli::sessions::{SessionsArgs, SessionsToRead};
use crate::cli::unread_agents::{AgentsNote, UnreadAgents};
use crate::format::format_dollars;
use crate::load::LoadOptions;
use crate::ops::stats::{CountedAgents, EarlierEntries, SessionStats, collect_stats};
use crate::session::defect::FindingKind;
use crate::session::period::Period;
use crate::session::reference::is_reference_form;
use crate::session::usage::{PriceTable, SubAgents, UsageSums, built_in_prices_date, is_reported};
use clap::ValueEnum;
use groups::{GroupKey, StatsGroups};
use pisess_store::{FoundFile, KeptContent};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Count one session, as pi's /session does",
        "pisess stats session.jsonl",
    ),
    Example::new(
        "Print the tokens and cost of each day, for the sessions below a directory",
        "pisess stats --by day .",
    ),
    Example::new(
        "Count the messages of the user on each day, in all projects and agents",
        "pisess stats --all --source all --by day",
    ),
    Example::new(
        "Print the cost in October, for each day and model",
        "pisess stats --all --since 2026-10 --until 2026-10 --by day,model",
    ),
    Example::new(
        "Print how many calls and sessions read and wrote each file",
        "pisess stats --by file .",
    ),
    Example::new(
        "Print the calls and failures of each tool",
        "pisess stats --by tool session.jsonl",
    ),
    Example::new(
        "Print how long the agent worked, and how long it waited",
        "pisess stats --by time session.jsonl",
    ),
    Example::new(
        "Print the cost of what followed a label",
        "pisess stats session.jsonl green..",
    ),
    Example::new(
        "Count the sessions of each project, including sessions of other agents",
        "pisess stats --all --by project --source all",
    ),
    Example::new(
        "Print the cost of all sessions since May, by model",
        "pisess stats --all --since 2026-05 --by model",
    ),
    Example::new(
        "Print each request to a model as JSON, for a database",
        "pisess stats --by entry --json session.jsonl",
    ),
]);

/// Count tokens, cost, messages, tools and time.
///
/// Tokens and cost are recorded in assistant messages, tool results, summaries and entries of the
/// type `usage`. Failed requests are included. The cost of requests without a recorded cost is
/// estimated, and `~` marks sums that include estimates. If the price of a model is not known, its
/// requests are counted as unpriced. Reasoning counts as output.
///
/// `--by file` lists each file that is named in a call of the tools `read`, `write` and `edit`,
/// with the number of calls, of sessions, and of sessions that wrote the file (`wrote`). Similar
/// tools of imported sessions count, too. `--by file,session` has a row for each file and session.
///
/// Entries with the same id and timestamp in several files, as after a fork, count once. Responses
/// with the same response id, as in two imports of a session, also count once. If a response id
/// shows that a response is a copy, the entries between the previous response and this one count as
/// copies, too. `--by entry` also prints copies in other files, and each tool result that reports
/// the usage of sub-agents. Messages copied by `pisess pick` cost nothing if the originals are in
/// the same session.
///
/// The messages counted are the messages of the user, the replies of the model, and tool results.
/// The column `by user` (`userMessages` in JSON) counts only the messages of the user, as
/// `userMessages` of `list --json` does.
///
/// Time is the sum of all turns. A turn lasts from the user's message to the first reply without
/// tool calls. Gaps of over an hour are not counted. Days are local, and weeks begin on Monday. The
/// usage of sub-agents comes from their sessions or, if these are not read, from the tool results
/// that report it. If no tool result reports it either, it is not counted; a note gives the cost,
/// and the command that also counts these sessions.
///
/// The number of changed files counts files that the tools `write` and `edit` changed, but not
/// files that only commands changed. With `--by file`, calls that failed are counted apart, and not
/// as reads, writes or edits.
///
/// For each session, `--by time` divides WALL: the time from the first to the last entry that is a
/// message or records a cost. AGENT is the time from a user message or a result to the next reply.
/// TOOLS is the time from the entry before a result to the result. WORKED is the sum of AGENT and
/// TOOLS. WAITING is the rest: the time from a reply to the user's next message, and gaps of over
/// an hour. All times are differences between the timestamps of entries.
///
/// With REF after SESSION, only the path to this entry is counted; with a range, only the entries
/// of the range. For a branch, the range begins at its branch point and ends at its last entry, as
/// `pisess branches` lists them. With `--last`, the last N entries of each conversation are
/// counted. In all three cases, sub-agents are counted only if a tool result of these entries
/// reports their usage.
///
/// Without SESSION, the sessions of the current directory are read. Directories are searched
/// recursively, including hidden ones.
#[derive(Clone, Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess stats [OPTIONS] [SESSION]...\n",
    "       pisess stats [OPTIONS] <SESSION> <REF>",
))]
pub struct Args {
    #[command(flatten)]
    pub sessions: SessionsArgs,
    /// The reference or range that follows the session, moved here from `sessions`.
    #[arg(skip)]
    pub part: Option<String>,
    /// Print a row for each KEY (session, model, day, week, month, project, tool or file, or two of
    /// these, such as `day,model`; `entry`: each recorded request; `time`: the times of each
    /// session)
    #[arg(
        long,
        value_name = "KEY",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub by: Vec<GroupKey>,
    /// For costs that are not recorded, use the prices in FILE instead of the built-in ones:
    /// LiteLLM's model_prices_and_context_window.json, or JSON in its format
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    #[command(flatten)]
    pub last: LastArgs,
    #[command(flatten)]
    pub period: PeriodArgs,
    /// Print the result as JSON (an object per row)
    #[arg(long)]
    pub json: bool,
}

/// Prints the sums over all sessions or over groups. With `--by entry`, prints each billed entry
/// instead.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    require_valid_keys(&args.by)?;
    // clap takes a reference for a session.
    let mut args = args.clone();
    args.part = take_range_or_reference(&mut args.sessions.paths, ui)?;
    let args = &args;
    if args.part.is_some() && args.last.entry_count.is_some() {
        let failure = Failure::usage_error("REF and ranges cannot be combined with --last");
        return Err(failure.with_hint("omit one of them"));
    }

    let period = args.period.parse_period(ui)?;
    let prices = match &args.prices {
        Some(path) => Some(Arc::new(read_prices(path, ui)?)),
        None => None,
    };
    let sessions = args.sessions.find_sessions(period, ui)?;
    if args.lists_entries() {
        print_entries(args, sessions, prices, period, ui)
    } else {
        print_sums(args, sessions, prices, period, ui)
    }
}

/// Prints each billed entry of the period, for `--by entry`. Unlike sums, this includes every copy
/// of an entry, and the usage of sub-agents that a tool result records even if their own sessions
/// are read.
fn print_entries(
    args: &Args,
    sessions: SessionsToRead,
    prices: Option<Arc<PriceTable>>,
    period: Period,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let is_single = sessions.is_single;
    let options = load_options(args, is_single, prices, ui);
    let mut table = entries::new_table();
    // The recorded usage of sub-agents is counted, even if their own sessions are read.
    let agents = None;
    let exit = sessions.read_all(
        ui,
        |path, input| StatsOfFile::read_part(args, path, input, &options, agents),
        |ui, path, read| {
            read.warn_of_damage(ui);
            let stats = &read.stats;
            let billed = stats
                .entries
                .iter()
                .filter(|entry| entry.is_billed && period.contains(entry.time_ms));
            if args.json {
                for entry in billed {
                    let row = entries::entry_json(path, stats, entry, args.prices_date());
                    ui.print_json(&row)?;
                }
                return Ok(());
            }
            // The path of a single session would be the same in all rows.
            let shown_path = if is_single { None } else { Some(path) };
            entries::add_rows(&mut table, shown_path, stats, billed, ui)
        },
    )?;
    table.print(ui)?;
    Ok(exit)
}

/// Prints the sums of all entries in the period, or the sums of each group.
///
/// Two kinds of usage are not counted twice: an entry that is a copy of one in a session read
/// before; and the usage of sub-agents that a tool result records, if their own sessions are read.
fn print_sums(
    args: &Args,
    mut sessions: SessionsToRead,
    prices: Option<Arc<PriceTable>>,
    period: Period,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let found_none = sessions.found_none;
    // Of several copies, the first one read is counted.
    sessions.sort_agents_first();
    let agents = std::mem::take(&mut sessions.sub_agents);
    let mut sums = Sums::new(args, &sessions, &agents, period, ui);
    let mut options = load_options(args, sessions.is_single, prices, ui);
    // The sessions of sub-agents may have copies of entries, too.
    options.entry_keys |= !sums.uncounted_agents.is_empty();
    let exit = sessions.read_all(
        ui,
        |path, input| StatsOfFile::read_part(args, path, input, &options, Some(&agents)),
        |ui, path, read| {
            read.warn_of_damage(ui);
            sums.add_session(path, &read.stats);
            Ok(())
        },
    )?;

    // People could mistake sums of 0 for a result. A program expects them even if nothing was
    // counted, but not after a failure.
    let has_counted = sums.groups.total.sessions > 0;
    let is_complete = exit == Exit::Done;
    if has_counted || (args.json && is_complete) {
        sums.print(&options, ui)?;
    } else if is_complete && !found_none {
        // If no session was found, the search has warned of that.
        warn_of_nothing(args, ui);
    }
    Ok(exit)
}

/// The sums of all entries that were read so far.
struct Sums<'a> {
    args: &'a Args,
    period: Period,
    groups: StatsGroups,
    /// The entries of all sessions so far, to recognize copies.
    earlier_entries: EarlierEntries,
    /// The sub-agents and advisors that are not counted, for the note. Empty if there is no note.
    uncounted_agents: Vec<FoundFile>,
    /// These, and the sub-agents whose sessions are counted.
    all_agents: SubAgents,
}

impl Sums<'_> {
    /// Returns the sums before a session is read. `agents` are the sub-agents whose sessions will
    /// be read.
    fn new<'a>(
        args: &'a Args,
        sessions: &SessionsToRead,
        agents: &SubAgents,
        period: Period,
        ui: &Ui,
    ) -> Sums<'a> {
        let by = if args.lists_times() {
            vec![GroupKey::Session]
        } else {
            args.by.clone()
        };
        let is_whole = args.part.is_none() && args.last.entry_count.is_none();
        let prints_note = is_whole && !args.json && !args.lists_times() && !ui.is_quiet();
        let uncounted_agents = if prints_note {
            sessions.find_unread_agents(period)
        } else {
            Vec::new()
        };
        // An agent that is not counted may report the usage of another one.
        let mut all_agents = agents.clone();
        all_agents.add_files(&uncounted_agents);
        Sums {
            args,
            period,
            groups: StatsGroups::new(by, args.prices_date(), ui),
            earlier_entries: EarlierEntries::default(),
            uncounted_agents,
            all_agents,
        }
    }

    /// Adds the entries of a session that are in the period, and not copies of earlier ones.
    fn add_session(&mut self, path: &Path, stats: &SessionStats) {
        if self.args.counts_usage() {
            remove_reported_agents(&mut self.uncounted_agents, path, stats);
        }
        let is_copy = self.earlier_entries.find_copies(stats);
        self.earlier_entries.add_session(stats);
        let mut counted_entries = Vec::new();
        for (entry, is_copy) in stats.entries.iter().zip(is_copy) {
            if !is_copy && self.period.contains(entry.time_ms) {
                counted_entries.push(entry);
            }
        }
        self.groups
            .add_session(path, stats, counted_entries.into_iter());
    }

    /// Prints the sums, and notes what they do not include. `options` are those with which the
    /// sessions were read.
    fn print(self, options: &LoadOptions, ui: &mut Ui) -> Result<(), Failure> {
        let args = self.args;
        if args.lists_times() {
            return times::print_times(&self.groups, args.json, ui);
        }
        let failed_calls = self.groups.total.tool_failures;
        let counted_usage = self.groups.total.usage;
        self.groups.print(args.json, ui)?;
        note_scope(args, ui);
        if !self.uncounted_agents.is_empty() {
            let mut costs = String::new();
            if args.counts_usage() {
                let uncounted = UncountedAgents {
                    files: &self.uncounted_agents,
                    all_agents: &self.all_agents,
                    options,
                };
                let earlier_entries = self.earlier_entries;
                let usage = uncounted.sum_usage(earlier_entries, self.period, ui);
                costs = describe_costs(&counted_usage, &usage);
            }
            note_uncounted_agents(args, &self.uncounted_agents, &costs, ui);
        }
        if failed_calls > 0 {
            args.note_failed_calls(ui);
        }
        Ok(())
    }
}

/// Notes that only the sessions of the current directory are counted. The sums themselves do not
/// show that.
fn note_scope(args: &Args, ui: &mut Ui) {
    let is_of_directory = args.sessions.paths.is_empty() && !args.sessions.all;
    if is_of_directory && !args.json {
        ui.warn("only the sessions of this directory (hint: --all counts those of all projects)");
    }
}

/// Removes the sub-agents whose usage the tool results of a session report: that usage is counted.
fn remove_reported_agents(agents: &mut Vec<FoundFile>, session: &Path, stats: &SessionStats) {
    for entry in &stats.entries {
        let Some(reported) = &entry.agents else {
            continue;
        };
        agents.retain(|agent| {
            agent.owner.as_deref() != Some(session) || !is_reported(session, reported, &agent.path)
        });
    }
}

/// The sub-agents and advisors of the named sessions whose own sessions are not counted.
struct UncountedAgents<'a> {
    files: &'a [FoundFile],
    /// These sub-agents, and those whose sessions are counted.
    all_agents: &'a SubAgents,
    /// The options with which the counted sessions were read.
    options: &'a LoadOptions,
}

impl UncountedAgents<'_> {
    /// Returns the usage that would be counted, too, if the sessions of these agents were read. An
    /// entry that is a copy of one in an earlier session is not: `earlier_entries` are those of the
    /// sessions that were read. A session that cannot be read is left out.
    fn sum_usage(&self, mut earlier_entries: EarlierEntries, period: Period, ui: &Ui) -> UsageSums {
        let rollouts = Rollouts::default();
        let mut sums = UsageSums::default();
        for file in self.files {
            let Ok(stats) = self.read(&file.path, &rollouts, ui) else {
                continue;
            };
            let is_copy = earlier_entries.find_copies(&stats);
            earlier_entries.add_session(&stats);
            for (entry, is_copy) in stats.entries.iter().zip(is_copy) {
                if entry.is_billed && !is_copy && period.contains(entry.time_ms) {
                    sums.add(&entry.usage.unwrap_or_default());
                }
            }
        }
        sums
    }

    /// Reads the session of one of these agents.
    fn read(&self, path: &Path, rollouts: &Rollouts, ui: &Ui) -> Result<SessionStats, Failure> {
        let all_entries = None;
        let is_stdout = ui.stdout_predicate();
        let input = Input::open_path_to_read(path, rollouts, all_entries, is_stdout)?;
        let read = StatsOfFile::read(path, &input, self.options, Some(self.all_agents))?;
        Ok(read.stats)
    }
}

/// Returns the cost of sub-agents that are not counted, and the sum with the counted cost: `,
/// $0.06; in all $0.30`. Empty if no cost of theirs is known.
fn describe_costs(counted: &UsageSums, agents: &UsageSums) -> String {
    if agents.cost == 0.0 {
        return String::new();
    }
    let agents_mark = if agents.has_estimate() { "~" } else { "" };
    let is_estimated = agents.has_estimate() || counted.has_estimate();
    let sum_mark = if is_estimated { "~" } else { "" };
    format!(
        ", {agents_mark}{}; in all {sum_mark}{}",
        format_dollars(agents.cost),
        format_dollars(counted.cost + agents.cost)
    )
}

/// Notes that the sub-agents and advisors of the named sessions are not counted, what they cost,
/// and which command counts them. The sums themselves do not show that.
fn note_uncounted_agents(args: &Args, uncounted: &[FoundFile], costs: &str, ui: &mut Ui) {
    let unread = UnreadAgents {
        agents: uncounted,
        sessions: &args.sessions.paths,
    };
    let options = args.options_for_command();
    let note = AgentsNote {
        omission: &format!("not counted{costs}"),
        command: Some(format!("pisess stats{options}{}", unread.arguments())),
        effect: "counts them, too",
        effect_of_list: "counts all",
    };
    unread.print_note(note, ui);
}

/// The statistics of one session.
struct StatsOfFile {
    stats: SessionStats,
    /// The session's name in messages.
    name: String,
    /// The failure to read what was pruned from the session.
    pruned_failure: Option<Failure>,
}

impl StatsOfFile {
    /// Collects the entries of a session, including pruned ones. The usage of `agents` is not
    /// counted in this session, because these sub-agents have sessions of their own that are read.
    fn read(
        path: &Path,
        input: &Input,
        options: &LoadOptions,
        agents: Option<&SubAgents>,
    ) -> Result<StatsOfFile, Failure> {
        let counted_agents = agents.map(|agents| CountedAgents {
            session_path: path,
            agents,
        });
        let (pruned, pruned_failure) = split_result(load_pruned(input));
        let stats = collect_stats(input.source(), options, counted_agents, pruned.as_ref())
            .map_err(|error| Failure::from_load_error(&input.name, error))?;
        Ok(StatsOfFile {
            stats,
            name: input.name.clone(),
            pruned_failure,
        })
    }

    /// Collects the entries of a session as [`StatsOfFile::read`] does, but only of the part that
    /// the arguments select.
    fn read_part(
        args: &Args,
        path: &Path,
        input: &Input,
        options: &LoadOptions,
        agents: Option<&SubAgents>,
    ) -> Result<StatsOfFile, Failure> {
        let mut read = StatsOfFile::read(path, input, options, agents)?;
        let argument = args.part.as_deref();
        let last_count = args.last.entry_count;
        if argument.is_none() && last_count.is_none() {
            return Ok(read);
        }
        let part = SessionPart::select(input.source(), &input.name, argument, last_count)
            .map_err(|failure| suggest_session(argument, failure))?;
        read.stats
            .entries
            .retain(|entry| entry.line.is_some_and(|line| part.contains(line)));
        Ok(read)
    }

    /// Warns of parts that are not counted: unreadable pruned ones, and lines that are not JSON.
    fn warn_of_damage(&self, ui: &mut Ui) {
        if let Some(failure) = &self.pruned_failure {
            warn_uncounted(failure, ui);
        }
        if let Some(malformed) = self.stats.malformed {
            let lines = FindingKind::MalformedLine.describe_damaged(malformed);
            ui.warn(&format!("{}: {lines} {CHECK_HINT}", self.name));
        }
    }
}

impl Args {
    /// Returns the date of the built-in prices; `None` with `--prices`, whose date is unknown.
    fn prices_date(&self) -> Option<&'static str> {
        if self.prices.is_some() {
            None
        } else {
            Some(built_in_prices_date())
        }
    }

    /// Whether each billed entry is printed, instead of sums.
    fn lists_entries(&self) -> bool {
        self.by == [GroupKey::Entry]
    }

    /// Notes which command prints the failed calls that `--by file` counts: the rows only have
    /// their numbers. The command prints all failed calls, because a search for the file would miss
    /// those whose results do not name it.
    fn note_failed_calls(&self, ui: &mut Ui) {
        let counts_files = self.by.contains(&GroupKey::File);
        if !counts_files || self.json {
            return;
        }
        let mut command = "pisess grep".to_owned();
        if self.sessions.all {
            command += " --all";
        }
        if self.sessions.archived {
            command += " --archived";
        }
        command += &self.sessions.source.to_words();
        command += &self.period.to_words();
        command += " --failed --full";
        if !self.sessions.paths.is_empty() {
            // The pattern that each entry matches: before several paths, there must be one.
            command += " ''";
        }
        for path in &self.sessions.paths {
            command.push(' ');
            command += &quote_word(path.as_os_str());
        }
        ui.warn(&format!(
            "some of these calls failed (hint: `{command}` prints failed calls, with their arguments)"
        ));
    }

    /// Returns the options that choose and group what is counted, each after a space, for a command
    /// in a hint.
    fn options_for_command(&self) -> String {
        let mut options = String::new();
        let mut keys = Vec::new();
        for key in &self.by {
            if let Some(value) = key.to_possible_value() {
                keys.push(value.get_name().to_owned());
            }
        }
        if !keys.is_empty() {
            options += &format!(" --by {}", keys.join(","));
        }
        options += &self.period.to_words();
        if let Some(prices) = &self.prices {
            options += &format!(" --prices {}", quote_word(prices.as_os_str()));
        }
        options += &self.sessions.source.to_words();
        options
    }

    /// Whether the usage of requests is counted, and not only tool calls.
    fn counts_usage(&self) -> bool {
        !self.by.contains(&GroupKey::File) && !self.by.contains(&GroupKey::Tool)
    }

    /// Whether the rows of the output are for sessions.
    fn shows_sessions(&self) -> bool {
        self.by.contains(&GroupKey::Session) || self.lists_times()
    }

    /// Whether the times of each session are printed, instead of other sums.
    fn lists_times(&self) -> bool {
        self.by == [GroupKey::Time]
    }
}

/// Returns the options for loading a session. `is_single` is whether only one session is read.
fn load_options(
    args: &Args,
    is_single: bool,
    prices: Option<Arc<PriceTable>>,
    ui: &Ui,
) -> LoadOptions {
    LoadOptions {
        // Several sessions are read in parallel, each by one thread.
        workers: if is_single { ui.processor_count() } else { 1 },
        // As they are in the file, for the rows of entries.
        timestamps: args.lists_entries(),
        // The keys identify copies of entries in other sessions. They are needed only for the sums
        // of several sessions, in which an entry counts once.
        entry_keys: !args.lists_entries() && !is_single,
        usage: true,
        prices,
        stats: true,
        read_paths: args.by.contains(&GroupKey::File),
        // Tables show the title of each session.
        list_stats: if args.shows_sessions() && !args.json {
            Some(Period::default())
        } else {
            None
        },
        // The parents of entries are not needed.
        skip_links: true,
        kept: KeptContent::Nothing,
        ..LoadOptions::default()
    }
}

/// Refuses invalid keys of `--by`: more than two, two equal ones, and `entry` or `time` together
/// with another key.
fn require_valid_keys(by: &[GroupKey]) -> Result<(), Failure> {
    let stands_alone = |key: &GroupKey| matches!(key, GroupKey::Entry | GroupKey::Time);
    let is_valid = match by {
        [] | [_] => true,
        [first, second] => first != second && !stands_alone(first) && !stands_alone(second),
        _ => false,
    };
    if is_valid {
        return Ok(());
    }
    Err(
        Failure::usage_error("--by: give one key, or two different ones other than entry and time")
            .with_hint("for example `--by day,model`"),
    )
}

/// Warns that the sessions contain nothing to count. Without the warning, empty output could be
/// taken for a failure.
fn warn_of_nothing(args: &Args, ui: &mut Ui) {
    let counted = if args.by.contains(&GroupKey::File) {
        "tool calls that name a file"
    } else if args.by.contains(&GroupKey::Tool) {
        "tool calls"
    } else {
        "entries"
    };
    let searched = if args.period.is_given() {
        "these sessions and this period"
    } else {
        "these sessions"
    };
    ui.warn(&format!("no {counted} in {searched}"));
}

/// Adds a hint to the failure for an argument that is no reference: a word may be meant as a
/// session.
fn suggest_session(argument: Option<&str>, failure: Failure) -> Failure {
    let Some(word) = argument.filter(|argument| !is_reference_form(argument)) else {
        return failure;
    };
    let word = to_visible(word);
    failure.with_hint(format!(
        "`{word}` is not a session, either: `pisess list --all` lists all sessions"
    ))
}

/// Reads the file of `--prices`.
fn read_prices(path: &Path, ui: &mut Ui) -> Result<PriceTable, Failure> {
    let GivenFile { name, bytes } =
        read_argument(path, "a file of prices", MOST_TEXT_BYTES, None, ui)?;
    PriceTable::parse(&bytes).ok_or_else(|| {
        let failure =
            Failure::invalid(format_args!("{name}: not a table of prices")).with_path(&name);
        failure
            .with_hint("give LiteLLM's model_prices_and_context_window.json, or JSON in its format")
    })
}
