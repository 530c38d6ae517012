//! `pisess grep`: full-text search over sessions.

mod arguments;
mod hits;
mod notes;
mod query;
mod rows;
mod searcher;

use crate::cli::guide::{Example, Guide};
use crate::cli::locate::SessionStores;
use crate::cli::open::Input;
use crate::cli::options::{LastArgs, entries_around};
use crate::cli::output::{Clock, Exit, Failure, Ui};
use crate::cli::period::PeriodArgs;
use crate::cli::rollouts::Rollouts;
use crate::cli::rows::entry::row_options;
use crate::cli::sessions::{PathsArgs, SessionsArgs, SessionsToRead};
use crate::load::LoadOptions;
use crate::ops::grep::{EntriesAround, Query, searchable_roles};
use crate::session::fields::FieldScope;
use crate::session::period::Period;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use foldhash::HashMap;
use hits::MatchPainter;
use pisess_store::PageBuffer;
use pisess_store::workers::Pool;
use query::build_query;
use searcher::{Searcher, SessionState};
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Find a phrase in one session",
        "pisess grep -i 'departs' session.jsonl",
    ),
    Example::new(
        "Count the entries in which the model names a file",
        "pisess grep -c --role assistant clock.rs session.jsonl",
    ),
    Example::new(
        "List the sessions that mention a word, below a directory",
        "pisess grep -lw midnight .",
    ),
    Example::new(
        "Find the tool calls that name a file, with the entries around them",
        "pisess grep -C 1 --role toolCall clock.rs session.jsonl",
    ),
    Example::new(
        "Find the request that led to a command",
        "pisess grep --with-prompt --tool bash 'cargo test' session.jsonl",
    ),
    Example::new(
        "Search the entries after a label",
        "pisess grep departs session.jsonl green..",
    ),
    Example::new(
        "Return as soon as a session mentions a word, or at once if it does already",
        "pisess grep --follow --since 2026 -m 1 midnight session.jsonl",
    ),
    Example::new(
        "Print what you asked, in full, with the project of each session",
        "pisess grep --role user --full --json '' session.jsonl",
    ),
    Example::new(
        "Find an error, or a command, among the calls that failed",
        "pisess grep --failed 'board::' session.jsonl",
    ),
    Example::new(
        "Print the entries that labels mark, in full",
        "pisess grep --role label --full session.jsonl",
    ),
    Example::new(
        "Print what came after a reply that was interrupted, in full",
        "pisess grep --failed --role assistant --full -A 1 '' session.jsonl",
    ),
    Example::answers_no(
        "List the commands that failed, in the sessions of this directory",
        "pisess grep --failed --tool bash",
    ),
    Example::new(
        "List the commands that the agent ran in a shell, with their output",
        "pisess grep --tool bash '' session.jsonl",
    ),
    Example::answers_no(
        "Search all sessions of the last three weeks",
        "pisess grep --all --since 3w 'left 23 h ago'",
    ),
])
.with_found("no entry matches");

/// Search the text of sessions.
///
/// Prints a row for each matching entry, with its id and its first match. Text, thinking, tool
/// names and arguments, results, commands, summaries, labels, names and settings are searched. JSON
/// is decoded first, so é, a quote or a newline is found however the file escapes it. Only --raw
/// searches signatures, images and details of extensions. oh-my-pi stores the name of a session in
/// a title line; a match there has the role `title`.
///
/// With --role, --tool, --failed or --with-images, PATTERN may be left out: every selected entry
/// matches. A single argument is then SESSION if it is the file or id of a session, `last`, or the
/// whole name of a session of the current directory. Otherwise it is PATTERN. If no entry matches,
/// the argument is tried as the name of a session of another project. If no session has the name,
/// the argument is tried as words of a title, and exactly one title must contain them. With -c, -l,
/// -o, --json or -q, titles are not tried. Case does not matter in names. Stderr reports which
/// session was found. To search for a text that is also the name of a session, use `-e`.
///
/// PATTERN is a regular expression of Rust's regex crate, as in ripgrep; `^` and `$` match at line
/// breaks within a text. If a pattern begins with `-`, put `-e` or `--` before it.
///
/// On a terminal, if several sessions are searched, the matches of each session follow a heading
/// with its path, start time, project and title. Without SESSION, the heading shows the end of the
/// session's id instead of the path. Other commands accept this id as SESSION. Prompts and answers
/// are printed first, then tool calls and results. With `-C`, `-A`, `-B` or `--follow`, and in a
/// pipe, matches are in the order of the file.
///
/// In a pipe, each row is `PATH:ID:ROLE: TEXT`, without the path if one session is named. TEXT
/// contains up to 32 characters before the match, and up to 128 from where the match begins. On a
/// terminal, TEXT fills the row. If an entry has no id, the row has `:LINE` instead. Other commands
/// accept the id and `:LINE` as REF. With `--times`, the local time of the entry precedes ROLE. For
/// a tool call, the tool and its command, path or pattern follow ROLE, as in `assistant bash cargo
/// test`; for a tool result, they replace ROLE.
///
/// `(aborted)` ends the row of a reply or command that the user interrupted. `(failed)` ends the
/// row of a tool call that failed, of its result, of a reply that failed, and of a command of the
/// user that failed. With `--failed`, rows have no `(failed)`, a call and its result have one row,
/// and PATTERN is searched for in both. With `--with-images`, the number of images (`[2 images]`)
/// precedes TEXT.
///
/// On a terminal, `(other branch)` ends the row of an entry that is not on the path to the leaf.
/// `--active` leaves such entries out.
///
/// `--full` prints the text of each matching entry, indented below its id and role. With `-C`, `-A`
/// or `-B`, it also prints the text of the entries around the match; with `--failed`, the arguments
/// of the call come first, unless the row shows them. `-o` prints only the matches. The row of a
/// label ends with the id of the entry that it labels; with `--full`, that entry follows.
///
/// `-l` prints the paths of sessions with a match, `-L` those without one, and `-c` the number of
/// matching entries in each session. On a terminal, the title of the session ends each of these
/// rows; without SESSION, the end of the session's id replaces the path.
///
/// With `-C`, `-A` or `-B`, context follows the conversation, not the file: earlier messages above,
/// later ones of the same branch below. Settings and bookkeeping (labels, names, the marks that
/// `switch` appends, …) are skipped. A row of context has `-` where the row of a match has `:`. A
/// row `--` separates groups of entries that are not adjacent. `--with-prompt` prints the last user
/// message above each match, however far above.
///
/// `--follow` prints new matches as sessions grow or start, until Ctrl-C. With --since or --last,
/// it first prints matches that are already there. If the conversation moved to another branch
/// before a match, the row ends with `(after ID)`; ID is the parent of the matching entry. With `-m
/// N` and one SESSION, following ends after N matching entries.
///
/// `--pruned` also searches what `prune` moved to SESSION.pruned. Such an entry keeps its old line
/// number, and `pisess show` prints it.
///
/// With a range after SESSION, only the entries of the range are searched; with `--last`, only the
/// last N entries of each conversation.
///
/// Without SESSION, the sessions of the current directory are searched. Directories, including
/// hidden ones, are searched recursively.
#[derive(Clone, Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess grep [OPTIONS] <PATTERN> [SESSION]...\n",
    "       pisess grep [OPTIONS] <PATTERN> <SESSION> <RANGE>\n",
    "       pisess grep [OPTIONS] -e <PATTERN> [SESSION]...\n",
    "       pisess grep [OPTIONS] --role <ROLE> [SESSION]",
))]
pub struct Args {
    /// What to search for
    #[arg(required_unless_present_any = ["regexp", "role", "tool", "failed", "with_images"])]
    pub pattern: Option<String>,
    #[command(flatten)]
    pub sessions: SessionsArgs,
    /// Search for PATTERN; may be given several times
    #[arg(short = 'e', long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub regexp: Vec<String>,
    /// Ignore case
    #[arg(short, long)]
    pub ignore_case: bool,
    /// Ignore case unless a pattern contains an upper-case letter
    #[arg(short = 'S', long)]
    pub smart_case: bool,
    /// Treat patterns as literal text
    #[arg(short = 'F', long)]
    pub fixed_strings: bool,
    /// Match whole words only
    #[arg(short, long)]
    pub word_regexp: bool,
    /// Print the entries that do not match
    #[arg(short = 'v', long)]
    pub invert_match: bool,
    /// Print the first N matching entries of each session
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_count: Option<u64>,
    /// Also print the N preceding entries (of each match)
    #[arg(short = 'B', long, value_name = "N")]
    pub before_context: Option<usize>,
    /// Also print the N following entries (of each match)
    #[arg(short = 'A', long, value_name = "N")]
    pub after_context: Option<usize>,
    /// Show the N preceding and the N following entries (of each match)
    #[arg(short = 'C', long, alias = "context", value_name = "N")]
    pub around: Option<usize>,
    /// Also print the user message above each match
    #[arg(long)]
    pub with_prompt: bool,
    #[command(flatten)]
    pub only: PathsArgs,
    /// Print only the number of matching entries in each session
    #[arg(short, long, conflicts_with = "files")]
    pub count: bool,
    /// Search only entries with this role or type, such as user or compaction; may be given several
    /// times (toolCall: only the names and arguments of tool calls)
    #[arg(long, value_name = "ROLE", value_parser = PossibleValuesParser::new(searchable_roles()), hide_possible_values = true)]
    pub role: Vec<String>,
    /// Search only the calls and results of the tool with this name, such as bash; may be given
    /// several times (bash, read, write and edit include the similar tools of other agents)
    #[arg(long, value_name = "TOOL")]
    pub tool: Vec<String>,
    /// Print only the paths of sessions without a match
    #[arg(short = 'L', long, conflicts_with_all = ["files", "count", "max_count"])]
    pub files_without_match: bool,
    /// Print the whole text of each matching entry
    #[arg(long, conflicts_with_all = ["files", "null", "count", "files_without_match"])]
    pub full: bool,
    /// Show the time of each entry, in local time
    #[arg(long, conflicts_with_all = ["files", "null", "count", "files_without_match", "only_matching"])]
    pub times: bool,
    /// Print only the matches, each on its own line
    #[arg(short, long, conflicts_with_all = ["files", "null", "count", "files_without_match", "invert_match", "full", "before_context", "after_context", "around", "with_prompt"])]
    pub only_matching: bool,
    /// Search only the current conversation: the path to the leaf
    #[arg(long)]
    pub active: bool,
    /// Search only what failed or was interrupted: tool calls, commands that the user ran, and
    /// replies
    #[arg(long)]
    pub failed: bool,
    /// Search only entries with an image
    #[arg(long = "with-images")]
    pub with_images: bool,
    /// The range that follows the session, moved here from `sessions`.
    #[arg(skip)]
    pub range: Option<String>,
    #[command(flatten)]
    pub last: LastArgs,
    #[command(flatten)]
    pub period: PeriodArgs,
    /// Search every string of an entry, including signatures, image data, details and ids
    #[arg(long)]
    pub raw: bool,
    /// Also search what `prune` moved to SESSION.pruned
    #[arg(long, conflicts_with = "follow")]
    pub pruned: bool,
    /// Sort sessions by KEY (path, or time: latest change first; default: time on a terminal,
    /// otherwise path)
    #[arg(long, value_name = "KEY", hide_possible_values = true)]
    pub sort: Option<SortKey>,
    /// Wait for new entries, until Ctrl-C (and print those that match)
    #[arg(short, long, conflicts_with_all = ["entry_count", "files", "files_without_match", "null", "count", "archived", "source", "before_context", "after_context", "around", "with_prompt"])]
    pub follow: bool,
    /// Print the result as JSON (an object per matching entry)
    #[arg(long)]
    pub json: bool,
}

/// The order of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SortKey {
    /// Those that changed last first.
    #[value(alias = "modified")]
    Time,
    /// By path.
    Path,
}

/// Searches sessions, and prints the matches. With `--follow`, continues with entries that are
/// written later. Without a match, the exit code is [`Exit::Found`].
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let args = args.separate_pattern_from_paths(ui)?;
    args.refuse_conflicts()?;
    let exit = search(&args, ui)?;
    if exit != Exit::Found || !args.takes_pattern_for_session(ui)? {
        return Ok(exit);
    }

    // If the pattern is a session, the notes on the first search are not wanted.
    let notes = ui.take_notes();
    match args.with_session_of_pattern(ui)? {
        Some(session_args) => search(&session_args, ui),
        None => {
            for note in notes {
                ui.warn(&note);
            }
            Ok(exit)
        }
    }
}

/// Searches the sessions of `args`, in which pattern and sessions are in their places.
fn search(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let period = args.period.parse_period(ui)?;
    let query = build_query(args, period, ui)?;
    let mut sessions = args.find_sessions(period, ui)?;
    // The sessions of other agents are converted before they are searched. If all matches contain
    // one of these words, a file without them need not be. But to resolve the ends of a range, all
    // entries are needed.
    if !args.searches_range() {
        sessions.words = query.prefilter_before_conversion().cloned();
    }
    let searcher = new_searcher(args, query, &sessions, ui);
    if args.follow {
        return search_and_follow(searcher, sessions, ui);
    }

    // These are for the notes below. The search consumes `sessions`.
    let only_session = sessions.only_given_file();
    let searched_files = if args.tool.is_empty() {
        Vec::new()
    } else {
        sessions.files_to_read_again()
    };
    let searched = search_once(&searcher, sessions, ui)?;
    let is_any_printed = searched.last_printed.is_some();
    if is_any_printed {
        return Ok(searched.exit);
    }

    // Nothing was found: what was not searched may have it.
    args.note_missing_tool(searched_files, ui);
    args.note_unsearched(ui)?;
    if let Some(session) = only_session {
        args.note_unsearched_agents(session, period, ui);
    }
    Ok(searched.exit.max(Exit::Found))
}

/// Searches sessions, and then waits for entries that are written later. Returns only with `-m` and
/// a single session: then matches were found.
fn search_and_follow(
    mut searcher: Searcher,
    mut sessions: SessionsToRead,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let Some(scope) = sessions.scope.take() else {
        return Err(Failure::usage_error("standard input cannot be followed")
            .with_hint("give the path of a session"));
    };
    ui.disable_pager();
    let searched = search_once(&searcher, sessions, ui)?;
    ui.print_notes_at_once();
    let stores = SessionStores::locate(ui);
    searcher.follow_sessions(&stores, &scope, searched.states, searched.last_printed, ui)?;
    Ok(searched.exit)
}

/// What is known after the sessions were searched once.
struct SearchedSessions {
    /// The worst exit code of sessions that could not be read.
    exit: Exit,
    /// The session whose rows were printed last; `None` if no rows were printed.
    last_printed: Option<PathBuf>,
    /// With `--follow`, where the search continues in each session.
    states: HashMap<PathBuf, SessionState>,
}

/// Searches each session once, and prints the matches. Several threads search; the matches are
/// printed by one, in the order of the sessions.
fn search_once(
    searcher: &Searcher,
    sessions: SessionsToRead,
    ui: &mut Ui,
) -> Result<SearchedSessions, Failure> {
    let mut searched = SearchedSessions {
        exit: Exit::Done,
        last_printed: None,
        states: HashMap::default(),
    };
    // A buffer for each thread, which is used again for its next session.
    let buffers = Pool::new(PageBuffer::default);
    let search = |path: &Path, input: &Input| {
        buffers.with(|buffer| searcher.search_session(path, input, buffer))
    };
    searched.exit = sessions.read_all(ui, search, |ui, path, (matches, state)| {
        searcher.print_matches(&matches, &mut searched.last_printed, ui)?;
        if searcher.follows {
            searched.states.insert(path.to_owned(), state);
        }
        Ok(())
    })?;
    Ok(searched)
}

/// Returns the search of `sessions` with the options of the command.
fn new_searcher(args: &Args, query: Query, sessions: &SessionsToRead, ui: &Ui) -> Searcher {
    Searcher {
        query,
        painter: new_painter(args, sessions, ui),
        max_matches: args.max_count.unwrap_or(u64::MAX),
        searches_pruned: args.pruned,
        range: args.range.clone(),
        last_count: args.last.entry_count,
        follows: args.follow,
        starts_now: args.starts_now(),
        // Several sessions are searched at the same time.
        workers: if sessions.is_single {
            ui.processor_count()
        } else {
            1
        },
    }
}

/// Returns the format of the output. For people, that is on a terminal, the matches of several
/// sessions are under headings. Elsewhere, each row begins with the path of its session.
fn new_painter(args: &Args, sessions: &SessionsToRead, ui: &Ui) -> MatchPainter {
    let is_for_people = args.prints_rows_for_people(ui);
    let context = args.entries_around();
    MatchPainter {
        prints_counts: args.count,
        path_output: args.only,
        lists_unmatched: args.files_without_match,
        prints_whole_text: args.full,
        clock: args.times.then(|| Clock::new(ui)),
        prints_only_matches: args.only_matching,
        json: args.json,
        is_single_session: sessions.is_single,
        prints_headings: is_for_people && !sessions.is_single,
        lists_titles: ui.stdout_is_terminal() && !args.only.null,
        // A user who gave paths knows the sessions by them.
        names_by_id: args.sessions.paths.is_empty(),
        prefixes_path: !sessions.is_single && !is_for_people,
        // With --follow, there is no last row.
        puts_tools_last: is_for_people && !args.follow,
        follows: args.follow,
        // With --failed, every row would have this mark.
        marks_failures: !args.failed,
        marks_other_branches: args.marks_other_branches(ui),
        context,
        options: LoadOptions {
            timestamps: args.json || args.times,
            ..row_options(ui)
        },
        row_width: ui.row_width(),
        width: ui.row_width().unwrap_or(usize::MAX),
        styles: ui.styles,
        links: ui.links.clone(),
        rollouts: Rollouts::default(),
    }
}

impl Args {
    /// Finds the sessions to search, in the order of `--sort`.
    fn find_sessions(&self, period: Period, ui: &mut Ui) -> Result<SessionsToRead, Failure> {
        // New entries are only waited for in sessions of pi and oh-my-pi.
        let mut sessions = if self.follow {
            self.sessions.find_own_sessions(period, ui)?
        } else {
            self.sessions.find_sessions(period, ui)?
        };
        if self.range.is_some() {
            // A range is a part of one session, so its sub-agents are not searched.
            sessions.retain_given();
        }

        let default_order = if ui.stdout_is_terminal() {
            SortKey::Time
        } else {
            SortKey::Path
        };
        if self.sort.unwrap_or(default_order) == SortKey::Time {
            sessions.sort_newest_first();
        }
        Ok(sessions)
    }

    /// Whether a range or `--last` limits the search.
    fn searches_range(&self) -> bool {
        self.range.is_some() || self.last.entry_count.is_some()
    }

    fn field_scope(&self) -> FieldScope {
        if self.raw {
            FieldScope::Everything
        } else {
            FieldScope::Meaningful
        }
    }

    /// Whether each matching entry has a row. With `-c`, `-l` and `-L`, sessions have rows instead.
    fn prints_rows_of_entries(&self) -> bool {
        !self.count && !self.only.is_set() && !self.files_without_match
    }

    /// Whether the rows of entries are printed for people: as text, on a terminal.
    fn prints_rows_for_people(&self, ui: &Ui) -> bool {
        self.prints_rows_of_entries() && !self.json && ui.stdout_is_terminal()
    }

    /// Returns the entries to print besides each match.
    fn entries_around(&self) -> EntriesAround {
        EntriesAround {
            with_prompt: self.with_prompt,
            ..entries_around(self.before_context, self.after_context, self.around)
        }
    }

    /// Whether a session with a match is read again: for the entries around matches, for the unique
    /// prefixes of ids, which colours mark, or for the range to search.
    fn reads_sessions_again(&self, ui: &Ui) -> bool {
        let prints_context = !self.entries_around().is_empty();
        let marks_prefixes = ui.styles.has_colour() && !self.json;
        prints_context || marks_prefixes || self.searches_range()
    }

    /// Whether rows show that their entry is not on the path to the leaf.
    ///
    /// With `--active`, there are no such entries; with `--follow`, the path changes with each new
    /// entry. Each session with a match has to be loaded for the mark, which takes longer than its
    /// search. So only rows for people have it.
    fn marks_other_branches(&self, ui: &Ui) -> bool {
        let has_any = !self.active && !self.follow;
        has_any && !self.only_matching && self.prints_rows_for_people(ui)
    }

    /// Whether only matches in entries that are written from now on are printed.
    fn starts_now(&self) -> bool {
        self.follow && self.period.since.is_none() && self.last.entry_count.is_none()
    }
}
