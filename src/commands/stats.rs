//! `pisess stats`: counts tokens, cost, messages, tools and time.

mod entries;
mod groups;
mod table;

use crate::cli::given::{MOST_TEXT_BYTES, read_argument};
use crate::cli::guide::{Example, Guide};
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::period::PeriodArgs;
use crate::cli::pruned::{load_pruned, split_result, warn_uncounted};
use crate::cli::sessions::{SessionsArgs, skipped_lines_note};
use crate::load::LoadOptions;
use crate::ops::stats::{CountedEntry, PriceTable, collect_stats, find_copies_and_add_keys};
use foldhash::HashSet;
use groups::{GroupKey, StatsGroups};
use std::path::{Path, PathBuf};

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
        "Print the cost in October, for each day and model",
        "pisess stats --all --since 2026-10 --until 2026-10 --by day,model",
    ),
    Example::new(
        "Print which sessions read and wrote each file",
        "pisess stats --by file .",
    ),
    Example::new(
        "Print the calls and failures of each tool",
        "pisess stats --by tool session.jsonl",
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
/// Tokens and cost are those recorded in assistant messages, tool results, summaries and usage
/// entries, including failed requests. No price is assumed: requests without a cost are counted as
/// unpriced, unless a table of prices is given with --prices. Sums that include its estimates are
/// marked with `~`. Reasoning counts as output.
///
/// With `--by file`, each file that `read`, `write` or `edit` names is listed with the number of
/// these calls and the sessions that made them; with `--by file,session`, in a row for each of
/// these.
///
/// Entries copied by a fork, which have the same id and timestamp in several files, count once.
/// With `--by entry`, every copy is printed, and so is the usage of sub-agents that a tool result
/// reports. Messages that `pisess pick` copied cost nothing.
///
/// Time is the sum of all turns, each from the request to the reply that ends it, without idle
/// time: more than an hour between two entries of a turn counts as nothing. Files are those named
/// in calls to `write` and `edit`. Days are local, and weeks begin on Monday. The usage of
/// sub-agents is read from their sessions if these are included, else from the tool results that
/// report it.
///
/// Without SESSION, the sessions of the current directory are read. Directories are searched at any
/// depth, including hidden ones.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub sessions: SessionsArgs,
    /// Print a row for each session, model, day, week, month, project, tool, file or entry (that
    /// records a request to a model), or for each pair of two of these, such as `day,model`
    #[arg(
        long,
        value_name = "KEY",
        value_delimiter = ',',
        hide_possible_values = true
    )]
    pub by: Vec<GroupKey>,
    /// Estimate costs that are not recorded, with the prices in FILE: JSON of LiteLLM
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    #[command(flatten)]
    pub period: PeriodArgs,
    /// Print the result as JSON (an object per row)
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    require_valid_keys(&args.by)?;
    let lists_entries = args.by == [GroupKey::Entry];
    let period = args.period.parse_period(ui)?;
    let prices = args
        .prices
        .as_deref()
        .map(|path| read_prices(path, ui))
        .transpose()?;
    let mut sessions = args.sessions.find_sessions(period, ui)?;
    let found_none = sessions.found_none;
    let mut seen = HashSet::default();
    let mut groups = StatsGroups::new(args.by.clone(), ui);
    let mut table = entries::new_table();
    if !lists_entries {
        sessions.sort_agents_first();
    }
    let is_one = sessions.is_single;
    let options = LoadOptions {
        read_paths: args.by.contains(&GroupKey::File),
        ..load_options(lists_entries, is_one, ui)
    };
    // In the table of entries, nothing is taken out.
    let agents = if lists_entries {
        None
    } else {
        Some(std::mem::take(&mut sessions.sub_agents))
    };
    let is_in_period = |entry: &CountedEntry| period.contains(entry.time_ms);
    let exit = sessions.read_all(
        ui,
        |path, input| {
            let path_and_agents = agents.as_ref().map(|agents| (path, agents));
            let (pruned, damaged) = split_result(load_pruned(input));
            let mut stats =
                collect_stats(input.source(), &options, path_and_agents, pruned.as_ref())
                    .map_err(|error| Failure::from_load_error(&input.name, error))?;
            if let Some(prices) = &prices {
                stats.estimate_costs(prices);
            }
            Ok((stats, input.name.clone(), damaged))
        },
        |ui, path, (stats, name, damaged)| {
            if let Some(damaged) = damaged {
                warn_uncounted(&damaged, ui);
            }
            if let Some(damaged) = stats.malformed {
                ui.warn(&skipped_lines_note(
                    &name,
                    damaged,
                    ["line is not JSON", "lines are not JSON"],
                ));
            }
            if lists_entries {
                let mut billed = stats
                    .entries
                    .iter()
                    .filter(|entry| entry.is_billed && is_in_period(entry));
                if args.json {
                    return billed.try_for_each(|entry| {
                        ui.print_json(&entries::entry_json(path, &stats, entry))
                    });
                }
                return entries::add_rows(
                    &mut table,
                    (!is_one).then_some(path),
                    &stats,
                    billed,
                    ui,
                );
            }
            let own_entries = stats
                .entries
                .iter()
                .zip(find_copies_and_add_keys(&mut seen, &stats))
                .filter(|(_, copied)| !copied);
            groups.add_session(
                path,
                &stats,
                own_entries
                    .map(|(entry, _)| entry)
                    .filter(|entry| is_in_period(entry)),
            );
            Ok(())
        },
    )?;
    table.print(ui)?;
    // Zeros could be mistaken for a result.
    let is_answer = groups.total.sessions > 0 || args.json && exit == Exit::Done;
    if !lists_entries && is_answer {
        groups.print(args.json, ui)?;
    } else if !lists_entries && !args.json && !found_none && exit == Exit::Done {
        warn_of_nothing(args, ui);
    }
    Ok(exit)
}

/// Returns what to collect from each session. A single one cannot have copies of entries of
/// another.
fn load_options(lists_entries: bool, is_one: bool, ui: &Ui) -> LoadOptions {
    LoadOptions {
        workers: if is_one { ui.processor_count() } else { 1 },
        timestamps: lists_entries,
        entry_keys: !lists_entries && !is_one,
        usage: true,
        stats: true,
        skip_links: true,
        ..LoadOptions::default()
    }
}

/// # Errors
/// If there are more than two keys, two equal ones, or two of which one is `entry`.
fn require_valid_keys(by: &[GroupKey]) -> Result<(), Failure> {
    let is_valid = match by {
        [] | [_] => true,
        [first, second] => first != second && !by.contains(&GroupKey::Entry),
        _ => false,
    };
    if is_valid {
        return Ok(());
    }
    Err(
        Failure::usage_error("--by: give one key, or two different ones other than entry")
            .with_hint("for example `--by day,model`"),
    )
}

fn warn_of_nothing(args: &Args, ui: &mut Ui) {
    let what = if args.by.contains(&GroupKey::File) {
        "tool calls that name a file"
    } else if args.by.contains(&GroupKey::Tool) {
        "tool calls"
    } else {
        "entries"
    };
    let period = if args.period.is_given() {
        " and this period"
    } else {
        ""
    };
    ui.warn(&format!("no {what} in these sessions{period}"));
}

fn read_prices(path: &Path, ui: &mut Ui) -> Result<PriceTable, Failure> {
    let (name, bytes) = read_argument(path, "a file of prices", MOST_TEXT_BYTES, None, ui)?;
    PriceTable::parse(&bytes).ok_or_else(|| {
        let failure =
            Failure::invalid(format_args!("{name}: not a table of prices")).with_path(&name);
        failure
            .with_hint("give LiteLLM's model_prices_and_context_window.json, or JSON in its format")
    })
}
