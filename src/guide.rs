//! What `--help`, the man pages and the documents say alike, as values, so that it is said once.
//!
//! The commands show parts of it behind their options; `tests/it/generated.rs` makes the man pages
//! from all of it, and `tests/it/readme.rs` holds the README against it and runs the examples.

/// A row of a table: what stands there, and what it means.
pub type Row = (&'static str, &'static str);

/// The exit codes.
pub const EXIT_CODES: [Row; 5] = [
    ("0", "success, or nothing to do"),
    ("1", "negative answer, or something was found"),
    ("2", "failure: usage, unreadable or invalid input, unknown reference, I/O; nothing was changed"),
    ("3", "busy: the session is locked, or was changed meanwhile; nothing was changed"),
    ("4", "the change is written, but a later step failed, such as printing its report: do not retry"),
];

/// The forms of a reference to an entry.
pub const REFERENCES: [Row; 9] = [
    ("@", "the leaf, where the conversation stands"),
    ("root", "before the first entry: the empty conversation"),
    (":12", "the entry on line 12 of the file, counted from 1"),
    ("id:X", "the entry with id X"),
    ("label:X", "the entry labelled X"),
    ("X", "an id, else a label, else the start of an id (4 characters or more)"),
    ("REF^", "the parent of REF; above a first entry is root"),
    ("REF~3", "the third ancestor of REF"),
    ("REF^{user}", "the nearest entry of that kind at or above REF: a role or a type"),
];

/// How references are read.
pub const REFERENCE_RULES: &str = "\
Wherever REF stands, an entry is named. The whole text is tried as a name first, then suffixes come off \
from the right; upper and lower case differ. An unknown or ambiguous reference is an error (exit 2) that \
names the candidates. In a shell, quote what holds a brace or begins with a tilde.";

/// The environment variables that are read.
pub const ENVIRONMENT: [Row; 8] = [
    ("NO_COLOR", "when it is not empty, `--color auto` does not colour"),
    ("TERM", "when it is `dumb`, `--color auto` does not colour"),
    ("TZ", "the time zone in which times are shown; files always hold UTC"),
    (
        "HOME",
        "shown as `~` in paths of tool calls; in `fork --cwd`, part of how oh-my-pi names its folders (so is TMPDIR)",
    ),
    ("PATH", "where the programs of further commands are; only its absolute folders count"),
    ("PISESS_HOOK", "the hook of every command that has `--hook` and is called without it; empty is none"),
    (
        "PISESS_NOW",
        "the time to write instead of now, as in 2026-01-31T12:00:00Z: for scripts and tests whose output must not change",
    ),
    (
        "PISESS_ID_SEED",
        "a text from which new ids are made instead of at random; ids that are taken are skipped",
    ),
];

/// A part of the main man page: a heading and paragraphs. What stands in backticks is literal.
pub struct Section {
    /// Its heading.
    pub title: &'static str,
    /// Its paragraphs.
    pub paragraphs: &'static [&'static str],
}

/// What a session is, for those who only read the main page.
pub const SESSIONS: Section = Section {
    title: "SESSIONS",
    paragraphs: &[
        "A session is a file of JSON lines: a header, then entries. Each entry names its parent, so that the \
         entries form a tree. The last entry of the file is the `leaf`, where the conversation stands; what a \
         model sees is made from the `path` from the root to the leaf. The other branches stay in the file.",
        "pi keeps its sessions below `~/.pi/agent/sessions`, oh-my-pi below `~/.omp/agent/sessions`. Both call \
         their format version 3; whose file it is, is told by what only one of them writes. Older files \
         (version 1, version 2, the draft of the tree format) are read as if they were migrated, and keep the \
         ids that are shown once they are. Files of pi's other tools (version 4) are refused.",
        "Where SESSION is asked for, `-` is standard input.",
    ],
};

/// Standard output and the others.
pub const STREAMS: Section = Section {
    title: "STREAMS",
    paragraphs: &[
        "Standard output is data, standard error is talk; `-q` silences notes, not errors. A pipe that is \
         closed by its reader is success.",
        "Text for people is coloured only on a terminal, is cut to its width there, and reads in full without \
         colour. It never holds a control character, an escape sequence or a mark that changes the direction \
         of writing, also in a pipe. Data that is asked for as it is (`--json`, `context --as text`, lines of \
         a session) is raw in a pipe and made visible on a terminal.",
        "A command that changes a session given by path changes that file; given `-` it writes the whole \
         resulting session to standard output. `-o` writes it elsewhere and leaves the session alone. What \
         was made (the id of the new entry, the path of the new file, the text to be edited again) goes to \
         standard output, or to standard error where that carries the session.",
        "A file that is partly damaged is read past the damage: malformed lines, a torn end, invalid UTF-8, \
         cycles. They are noted once on standard error and carried along byte for byte.",
    ],
};

/// Where the text of a summary comes from.
pub const SUMMARIES: Section = Section {
    title: "SUMMARIES",
    paragraphs: &[
        "`compact`, `summarize`, `merge`, `pop` and `switch --summarize` take the first of these that is given: a text (`--summary`, \
         `--summary-file`), the answer of a hook (`--hook`), the output of a command (`--summarizer`). With \
         none of them they extract a summary from the conversation itself, without a model and without a \
         network, the same every time.",
        "A summarizer gets the prompt that the file's agent would send (`--prompt` prints it) on its \
         standard input and prints the summary.",
        "Such commands run as `sh -c`. What a session holds reaches them on standard input only, never in an \
         argument or the environment. A summarizer that prints nothing, and a command that fails or takes \
         longer than `--timeout`, is an error (exit 2), and nothing is written.",
        "Lists of files that were read and changed are stored beside each summary, as the agents do, so that \
         their later summaries go on from them.",
    ],
};

/// What hooks are told, and what they may say.
pub const HOOKS: Section = Section {
    title: "HOOKS",
    paragraphs: &[
        "A hook is a shell command, given with `--hook` or for every command in `PISESS_HOOK`. It gets one \
         JSON object on its standard input, whose `type` says what happens and whose `ctx` says in which \
         session, and may answer with one on its standard output. No answer, `null` and `{}` mean to go on. \
         The fields are those of the events in the agents.",
        "Before something happens it is asked: `session_before_compact`, `session_before_tree`, \
         `session_before_fork`, `context`. It may answer with `\"cancel\":true` (exit 1), a `summary` with \
         `details`, another `firstKeptEntryId`, `customInstructions`, a `label`, or other `messages`. A hook \
         that fails, takes longer than `--timeout` or answers anything else is an error (exit 2), and \
         nothing is written. A dry run asks, too.",
        "Once a change is made it is told, and its answer means nothing: `session_compact`, `session_tree`, \
         `session_branch`. If it fails then, the exit code is 4: the change is written.",
        "In what a hook starts, `PISESS_HOOK` is not set, so that it may call pisess.",
    ],
};

/// Commands that are programs.
pub const PROGRAMS: Section = Section {
    title: "FURTHER COMMANDS",
    paragraphs: &[
        "`pisess foo` runs the program `pisess-foo` with the rest of the arguments if pisess has no such \
         command of its own, with the same streams and environment; its exit code is that of pisess. Options \
         before the name are not passed on. `pisess help foo` is `pisess-foo --help`. A name has letters, \
         digits, `-` and `_`.",
        "Programs are looked for in the absolute folders of the PATH, never in the folder one stands in, \
         which may be anyone's. `pisess --list` names all commands, and of programs the path.",
    ],
};

/// The rules of writing in short.
pub const WRITING: Section = Section {
    title: "WRITING",
    paragraphs: &[
        "What an operation does not change goes back byte for byte. Entries are only ever added; nothing is \
         deleted.",
        "An added entry is one write at the end of the file, followed by fsync. A file that has to be \
         rewritten (a migration) is written beside the old one with its mode, owner and attributes and takes \
         its place by a rename, so that a crash leaves the old file or the new one.",
        "From the last look to the end of the write the session is locked. If another process holds it, \
         `--wait` says for how long to wait; if it grew meanwhile, the operation is decided again on what is \
         there; if it was changed in another way, nothing is written (exit 3).",
        "An operation that fails has changed nothing. An existing output, a file system without locks, \
         attributes that a rewrite cannot keep and a live oh-my-pi are refused unless `--force` is given; a \
         rewrite of a file with several hard links is refused in any case.",
    ],
};

/// What to know when an agent has the session open.
pub const AGENTS: Section = Section {
    title: "RUNNING AGENTS",
    paragraphs: &[
        "A running pi has read its session once and keeps its own leaf in memory. An entry that is added from \
         outside stays in the file, but pi goes on from the leaf it knows, as a branch beside the new entry, \
         until it opens the session again. So close pi, or reopen the session in it, before you go on.",
        "A running oh-my-pi rewrites its file now and then and takes it ill when it has changed. While it is \
         live (its lock file is held, it has the file open, or it wrote a moment ago and has not said that it \
         ended) a change is refused (exit 3). `--force` writes all the same.",
    ],
};

/// Examples that use several commands.
pub const EXAMPLES: [Example; 5] = [
    Example::new("What is in a session", "pisess tree session.jsonl"),
    Example::new(
        "Migrate an old session, name a place and look at it, without touching the file",
        "cat old.jsonl | pisess migrate - | pisess label - '@^{user}' start | pisess tree -",
    ),
    Example::new(
        "Ask the last question in another way, in a session of its own",
        "pisess fork --before session.jsonl '@^{user}'",
    ),
    Example::new(
        "Shorten the context when it is above 100,000 tokens, with a model of your choice",
        "pisess compact --if-over 100k --summarizer 'llm -m small' session.jsonl",
    ),
    Example::new(
        "What would that model be told",
        "pisess compact --keep-recent-tokens 100 --prompt session.jsonl",
    ),
];

/// A command line, and what it is good for. A test runs each of them.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// What it does.
    pub what: &'static str,
    /// The line as it is typed.
    pub line: &'static str,
    /// Its exit code.
    pub exit: u8,
}

impl Example {
    /// One that ends well.
    pub const fn new(what: &'static str, line: &'static str) -> Example {
        Example { what, line, exit: 0 }
    }

    /// One whose answer is no.
    pub const fn answers_no(what: &'static str, line: &'static str) -> Example {
        Example { what, line, exit: 1 }
    }
}

/// What stands behind the options of one command.
#[derive(Clone, Copy, Debug)]
pub struct Guide {
    /// The command.
    pub verb: &'static str,
    /// How it is used.
    pub examples: &'static [Example],
    /// When it exits with 1, where it does.
    pub found: Option<&'static str>,
    /// Whether it changes files, and may find them busy.
    pub writes: bool,
    /// Whether it takes references.
    pub refers: bool,
}

impl Guide {
    /// The exit codes of this command.
    pub fn exit_codes(&self) -> impl Iterator<Item = Row> {
        let (found, writes) = (self.found, self.writes);
        EXIT_CODES.into_iter().filter_map(move |(code, meaning)| match code {
            "1" => found.map(|found| (code, found)),
            "3" | "4" => writes.then_some((code, meaning)),
            _ => Some((code, meaning)),
        })
    }

    /// The end of the command's long help.
    pub fn help(&self) -> String {
        let mut text = String::from("Examples:\n");
        for example in self.examples {
            text += &format!("  # {}\n  {}\n\n", example.what, folded(example.line, HELP_COLUMNS - 2));
        }
        if self.refers {
            text += "REF is @ (the leaf), root, :12 (a line), an id or its start, a label, REF^, REF~3 or\n\
                     REF^{user}: `pisess --help` tells all forms.\n\n";
        }
        text + "Exit codes:\n" + table(self.exit_codes()).trim_end()
    }
}

/// The columns of a help text, so that an example is not wrapped where a shell would take it for two.
const HELP_COLUMNS: usize = 80;

/// Continues a command line on further lines, broken at spaces outside quotes.
fn folded(line: &str, columns: usize) -> String {
    let mut folded = String::new();
    let (mut used, mut rest) = (0, line);
    while used + rest.len() > columns {
        // Room for the mark, and for what a line that continues is set in by.
        let room = columns - used - " \\".len();
        let Some(at) = last_space(rest, room) else { break };
        folded += &format!("{} \\\n      ", &rest[..at]);
        (used, rest) = (4, &rest[at + 1..]);
    }
    folded + rest
}

/// The last space among the first bytes that is outside quotes.
fn last_space(line: &str, within: usize) -> Option<usize> {
    let mut quote = None;
    let mut last = None;
    for (at, c) in line.char_indices().take_while(|&(at, _)| at <= within) {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (' ', None) => last = Some(at),
            _ => {}
        }
    }
    last
}

/// The end of the long help of `pisess` itself.
pub fn help() -> String {
    format!(
        "Entries are named by references, wherever REF stands:\n{}\n\
         A session is a path, or - for standard input.\n\n\
         Exit codes:\n{}",
        table(REFERENCES),
        table(EXIT_CODES).trim_end()
    )
}

/// The end of the short help.
pub fn short_help() -> String {
    format!("Exit codes:\n{}", table(EXIT_CODES).trim_end())
}

fn table(rows: impl IntoIterator<Item = Row>) -> String {
    let rows: Vec<Row> = rows.into_iter().collect();
    let width = rows.iter().map(|(form, _)| form.len()).max().unwrap_or(0);
    rows.iter().map(|(form, meaning)| format!("  {form:width$}  {meaning}\n")).collect()
}
