//! `pisess grep`: full-text search over sessions.

use crate::cli::guide::{Example, Guide};
use crate::cli::open::Input;
use crate::cli::output::{Clock, Exit, Failure, Styles, Ui, fitted, push_visible, styled, visible};
use crate::cli::period::PeriodArgs;
use crate::cli::sessions::{Sessions, SessionsArgs, Target};
use crate::format::{ID, id_end};
use crate::ops::grep::{Match, Pattern, PatternOptions, Query, Searched, TITLE, search};
use crate::session::Header;
use crate::session::entry::{Kind, Role};
use crate::session::fields::Scope;
use crate::session::paths::below_home;
use crate::session::read::line_chunks::ChunkReader;
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_store::workers::Pool;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::Path;

/// The examples and exit codes shown after the options in the help, and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "grep",
    examples: &[
        Example::new("Find a phrase in one session", "pisess grep -i 'departs' session.jsonl"),
        Example::new(
            "Count the entries in which the model names a file",
            "pisess grep -c --role assistant clock.rs session.jsonl",
        ),
        Example::new("List the sessions below a directory that mention a word", "pisess grep -lw midnight ."),
        Example::answers_no(
            "Search all sessions of the last three weeks",
            "pisess grep --all --since 3w 'left 23 h ago'",
        ),
    ],
    found: Some("no entry matches"),
    writes: false,
    refers: false,
};

/// Search the text of sessions.
///
/// Prints a row for each entry that matches, with its id and its first match. Text, thinking, tool names and
/// arguments, results, commands, summaries, labels and names are searched after decoding the JSON, so é, a
/// quote or a newline is found however the file escapes it. Signatures, images and the details of extensions
/// are searched only with `--raw`. A match in the title that oh-my-pi keeps before the entries is
/// printed as a row with the role `title`.
///
/// PATTERN is a regular expression of Rust's regex crate, as in ripgrep; `^` and `$` match at line breaks
/// within a text. On a terminal, a heading precedes the matches of each session: its path, start time and
/// project. If no SESSION is given, it has the end of the session's id, which can be given as SESSION,
/// in place of the path. In a pipe each row is `PATH:ID:ROLE: TEXT`, without the path if one session is named. If an entry
/// has no id, `:LINE` is printed instead. Both are references that `pisess show` and `pisess switch` accept.
///
/// Without SESSION, the sessions of the current directory are searched. Directories are searched recursively,
/// including hidden ones; sessions are searched in the order of their paths.
#[derive(Clone, Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess grep [OPTIONS] <PATTERN> [SESSION]...\n",
    "       pisess grep [OPTIONS] -e <PATTERN> [SESSION]...",
))]
pub struct Args {
    /// What to search for
    #[arg(required_unless_present = "regexp", allow_hyphen_values = true)]
    pub pattern: Option<String>,
    /// The sessions to search.
    #[command(flatten)]
    pub sessions: SessionsArgs,
    /// Search for PATTERN; may be given several times
    #[arg(short = 'e', long, value_name = "PATTERN", allow_hyphen_values = true)]
    pub regexp: Vec<String>,
    /// Ignore case
    #[arg(short, long)]
    pub ignore_case: bool,
    /// Treat patterns as literal text
    #[arg(short = 'F', long)]
    pub fixed_strings: bool,
    /// Match whole words only
    #[arg(short, long)]
    pub word_regexp: bool,
    /// Print only the paths of sessions that match
    #[arg(short = 'l', long, conflicts_with = "count")]
    pub files_with_matches: bool,
    /// Print only the number of matching entries in each session
    #[arg(short, long)]
    pub count: bool,
    /// Search only entries with this role or type, such as user or compaction; may be given several times
    #[arg(long, value_name = "ROLE")]
    pub role: Vec<String>,
    /// Search only entries on the path to the leaf
    #[arg(long)]
    pub active: bool,
    /// The period to read.
    #[command(flatten)]
    pub period: PeriodArgs,
    /// Search every string of an entry: signatures, image data, details, ids
    #[arg(long)]
    pub raw: bool,
    /// Print the result as JSON (an object per matching entry)
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let mut args = args.clone();
    let period = args.period.read(ui)?;
    let query = Query {
        pattern: pattern(&mut args)?,
        scope: if args.raw { Scope::Everything } else { Scope::Said },
        roles: args.role.iter().map(|role| known_role(role)).collect::<Result<_, _>>()?,
        period,
        active: args.active,
        places: !(args.count || args.files_with_matches),
    };
    let sessions = args.sessions.find(period, ui)?;
    let paint = Paint::new(&args, &sessions, ui);
    let readers = Pool::new(ChunkReader::default);
    let mut matched = false;
    let exit = sessions.read(
        ui,
        |target, input| readers.with(|reader| search_one(target, input, &query, &paint, reader)),
        |ui, target, header, found| {
            if let Some(note) = found.note {
                ui.warn(&note);
            }
            if found.count == 0 {
                return Ok(());
            }
            let heading = paint.heading(target, &header, !matched, ui);
            matched = true;
            ui.print(&heading)?;
            let written = if args.json {
                ui.verbatim().write_all(&found.rows)
            } else {
                ui.stdout().write_all(&found.rows)
            };
            written.map_err(Failure::output)
        },
    )?;
    Ok(exit.max(if matched { Exit::Done } else { Exit::Found }))
}

/// Returns the pattern; with -e, the first argument is a path instead.
fn pattern(args: &mut Args) -> Result<Pattern, Failure> {
    let mut patterns = std::mem::take(&mut args.regexp);
    if patterns.is_empty() {
        patterns.extend(args.pattern.take());
    } else if let Some(path) = args.pattern.take() {
        args.sessions.paths.insert(0, path.into());
    }
    let options =
        PatternOptions { fixed: args.fixed_strings, ignore_case: args.ignore_case, words: args.word_regexp };
    Pattern::new(&patterns, options).map_err(|error| {
        Failure::usage(format_args!("the pattern: {error}")).hint("-F takes it as literal text")
    })
}

fn known_role(name: &str) -> Result<String, Failure> {
    let is_role = !matches!(Role::named(name.as_bytes()), Role::Other | Role::Missing);
    let is_type = !matches!(Kind::named(name.as_bytes()), Kind::Other | Kind::Missing);
    if is_role || is_type || name == TITLE {
        Ok(name.to_owned())
    } else {
        Err(Failure::usage(format_args!("--role: {name:?} is not a role or type of entries")).hint(
            "roles are user, assistant, toolResult, bashExecution, custom; types compaction, branch_summary, label, session_info",
        ))
    }
}

/// The result for one session.
struct Answer {
    count: u64,
    /// The rows as printed.
    rows: Vec<u8>,
    note: Option<String>,
}

fn search_one(
    target: &Target,
    input: &Input,
    query: &Query,
    paint: &Paint,
    reader: &mut ChunkReader,
) -> Result<(Header, Answer), Failure> {
    let mut found = Answer { count: 0, rows: Vec::new(), note: None };
    let mut take = |header: &Header, hit: Match| {
        found.count += 1;
        match paint.detail {
            Detail::Rows => paint.row(target, header, &hit, &mut found.rows),
            Detail::Count => {}
            Detail::Path => return ControlFlow::Break(()),
        }
        ControlFlow::Continue(())
    };
    let searched = search(input.source(), query, reader, &mut take)
        .map_err(|error| Failure::load(&input.name, error))?;
    found.note = unread(&input.name, &searched);
    if found.count > 0 {
        paint.summary(target, &searched.header, found.count, &mut found.rows);
    }
    Ok((searched.header, found))
}

fn unread(name: &str, searched: &Searched) -> Option<String> {
    let (count, line) = searched.unread?;
    let lines =
        if count == 1 { "line that may match is not JSON" } else { "lines that may match are not JSON" };
    Some(format!("{name}: {count} {lines}, from line {} (hint: pisess check {name})", line.0))
}

/// What is printed for each session.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Rows,
    Count,
    Path,
}

/// The format of the output.
struct Paint {
    detail: Detail,
    json: bool,
    /// Whether each session has a heading above its rows.
    headings: bool,
    /// Whether headings name sessions by the end of their ids, because no paths were given.
    by_id: bool,
    /// Whether rows begin with the path of their session.
    paths: bool,
    width: usize,
    styles: Styles,
}

impl Paint {
    fn new(args: &Args, sessions: &Sessions, ui: &Ui) -> Paint {
        let detail = match (args.files_with_matches, args.count) {
            (true, _) => Detail::Path,
            (_, true) => Detail::Count,
            _ => Detail::Rows,
        };
        let is_text = detail == Detail::Rows && !args.json;
        Paint {
            detail,
            json: args.json,
            headings: is_text && ui.stdout_is_terminal() && !sessions.is_one,
            by_id: sessions.is_of_stores,
            paths: !(sessions.is_one || is_text && ui.stdout_is_terminal()),
            width: ui.width().unwrap_or(usize::MAX),
            styles: ui.styles,
        }
    }

    /// Returns the path or id of a session, its start time and its directory, preceded by an empty line
    /// unless it is the first.
    fn heading(&self, target: &Target, header: &Header, is_first: bool, ui: &Ui) -> String {
        if !self.headings {
            return String::new();
        }
        let (id, home) = (header.id.to_string_lossy(), ui.home());
        let name = if self.by_id { visible(id_end(&id, ID)) } else { shown(&target.path) };
        let name = styled(&name, self.styles.summary);
        let time =
            header.timestamp.as_ref().and_then(|time| pisess_json::time::parse_js_date(time.as_bytes()));
        let time = time.map(|time| Clock::new(ui).text(time));
        let cwd =
            header.cwd.as_ref().map(|cwd| visible(&below_home(&cwd.to_string_lossy(), home.as_deref())));
        let about: String = time.into_iter().chain(cwd).map(|part| format!("  {part}")).collect();
        format!("{}{name}{}\n", if is_first { "" } else { "\n" }, styled(&about, self.styles.dim))
    }

    fn row(&self, target: &Target, header: &Header, hit: &Match, out: &mut Vec<u8>) {
        if self.json {
            out.extend_from_slice(&hit_json(target, header, hit));
            out.push(b'\n');
            return;
        }
        let mut before = String::new();
        if self.paths {
            before = format!("{}:", shown(&target.path));
        }
        let id =
            if hit.id.is_empty() { format!(":{}", hit.line.0) } else { visible(&hit.id.to_string_lossy()) };
        let role = visible(&hit.role.to_string_lossy());
        let styles = &self.styles;
        let mut line = styled(&before, styles.summary);
        line += &styled(&id, styles.label);
        line += &styled(&format!(":{role}: "), styles.dim);
        let used = crate::cli::output::columns(&before)
            + crate::cli::output::columns(&id)
            + crate::cli::output::columns(&role)
            + 3;
        self.push_snippet(hit, self.width.saturating_sub(used), &mut line);
        out.extend_from_slice(line.as_bytes());
        out.push(b'\n');
    }

    /// Appends the snippet, truncated to `columns`, with its match highlighted.
    fn push_snippet(&self, hit: &Match, columns: usize, line: &mut String) {
        let (text, range) = (&hit.snippet.text, hit.snippet.hit.clone());
        let mut left = columns;
        let parts =
            [(&text[..range.start], false), (&text[range.clone()], true), (&text[range.end..], false)];
        for (part, is_match) in parts {
            let mut shown = String::with_capacity(part.len());
            push_visible(&mut shown, part);
            let cut = fitted(&shown, left, "…");
            left = left.saturating_sub(crate::cli::output::columns(&shown));
            line.push_str(&if is_match { styled(&cut, self.styles.hit) } else { cut });
        }
    }

    /// Appends the single row of a session, for -l and -c.
    fn summary(&self, target: &Target, header: &Header, count: u64, out: &mut Vec<u8>) {
        if self.detail == Detail::Rows {
            return;
        }
        let is_count = self.detail == Detail::Count;
        if self.json {
            let row = path_json(target, header)
                .with(is_count.then_some(count), |row, count| row.number("count", count as f64));
            out.extend_from_slice(&row.finish());
        } else {
            let path = styled(&shown(&target.path), self.styles.summary);
            let row = match (is_count, self.paths) {
                (true, true) => format!("{path}:{count}"),
                (true, false) => count.to_string(),
                (false, _) => path,
            };
            out.extend_from_slice(row.as_bytes());
        }
        out.push(b'\n');
    }
}

fn path_json(target: &Target, header: &Header) -> Object {
    Object::new().str("path", &target.path.to_string_lossy()).text("sessionId", &header.id)
}

fn hit_json(target: &Target, header: &Header, hit: &Match) -> Vec<u8> {
    let id = Some(&hit.id).filter(|id| !id.is_empty());
    path_json(target, header)
        .text_or_null("id", id)
        .number("line", f64::from(hit.line.0))
        .text("role", &hit.role)
        .str("field", &hit.field)
        .number("start", hit.range.start as f64)
        .number("end", hit.range.end as f64)
        .text("snippet", &Text::from(&*hit.snippet.text))
        .text_or_null("timestamp", hit.timestamp.as_ref())
        .finish()
}

fn shown(path: &Path) -> String {
    visible(&path.to_string_lossy())
}
