//! The texts that `--help`, the man pages and the documents share. Each is written once, as a
//! value.
//!
//! `help.rs` arranges them for `--help` and `pisess help TOPIC`. `tests/it/generated.rs` generates
//! the man pages from them; `tests/it/documents.rs` compares `docs/jobs.md` with them, and runs the
//! examples.

use clap::{Arg, Command};

/// A row of a table: a form, such as `REF^`, and its meaning.
pub type GuideRow = (&'static str, &'static str);

/// The exit codes.
pub const EXIT_CODES: [GuideRow; 5] = [
    (
        "0",
        "success; also if the requested change was already made",
    ),
    (
        "1",
        "negative answer, such as no match, nothing to compact, or a hook that cancels; or a check found something",
    ),
    (
        "2",
        "failure: wrong usage, unreadable or invalid input, unknown reference, I/O error; a file \
         that failed is unchanged",
    ),
    (
        "3",
        "busy: the session is locked, an agent may have it open, or another program changed it; nothing was written",
    ),
    (
        "4",
        "the change is saved; something after it failed. Do not run the command again unless the hint of the message says so",
    ),
];

/// The forms of references to entries and ranges.
pub const REFERENCES: [GuideRow; 17] = [
    (
        "@",
        "the entry where the conversation is now. Entries after it are skipped if they are labels, names, settings or marks (a mark is what `switch` appends to move the leaf)",
    ),
    ("-", "the leaf before the last move, as in `switch -`"),
    (
        "root",
        "the position before the first entry (an empty conversation)",
    ),
    (":12", "the entry on line 12 of the file, counting from 1"),
    (":$", "the last entry of the file, of any type"),
    (
        ":/TEXT",
        "on the path to the leaf, the newest entry that contains TEXT (case is ignored); if none does, the newest such entry on another branch",
    ),
    (
        ":1/TEXT",
        "on the path to the leaf, the first entry that contains TEXT; `:2/TEXT` is the second",
    ),
    ("id:X", "the entry with id X"),
    ("label:X", "the entry labelled X"),
    (
        "X",
        "the entry with id X; else the entry labelled X; else the entry whose id begins with X (at least 4 characters)",
    ),
    (
        "@^, @~3",
        "the entry before `@` in the conversation; the third entry before `@`",
    ),
    (
        "REF^, REF~3",
        "for any other REF: its parent; its third ancestor. The parent of a root entry is root",
    ),
    ("REF+3", "the third entry of the conversation after REF"),
    (
        "REF^{user}",
        "the nearest entry of this role or type (here: user), at REF or above it",
    ),
    (
        "REF^{answer}",
        "the nearest assistant message that ended normally and has text, at REF or above it",
    ),
    ("REF..REF2", "a range: the entries after REF, up to REF2"),
    (
        "REF..",
        "a range: the entries after REF, up to the leaf if REF is in the current conversation, otherwise to the end of the newest branch below REF",
    ),
];

/// The environment variables that pisess reads.
pub const ENVIRONMENT: [GuideRow; 20] = [
    (
        "NO_COLOR",
        "if not empty, `--color auto` does not use colour",
    ),
    (
        "CLICOLOR_FORCE",
        "if neither empty nor `0`, `--color auto` uses colour even in a pipe, unless NO_COLOR is set",
    ),
    (
        "PISESS_HYPERLINK",
        "default for `--hyperlink`: `auto`, `always` or `never`",
    ),
    (
        "TERM",
        "if `dumb`, `--color auto` does not use colour, and there is no pager and no progress bar",
    ),
    (
        "PISESS_PAGER, PAGER",
        "command that shows long output on a terminal; if empty or `cat`, no pager is used",
    ),
    (
        "PISESS_CHOOSER",
        "command that shows the list of `--choose`, in place of fzf; if empty, pisess prints a numbered list. See SESSIONS",
    ),
    (
        "LESS, LV",
        "options of the pager; if unset, pisess sets them to `FRX` and `-c`",
    ),
    (
        "TZ",
        "time zone in which times are displayed; files always contain UTC",
    ),
    (
        "HOME",
        "home directory, displayed as `~`; the stores are below it, and oh-my-pi names the directories of projects by their paths relative to it (or to TMPDIR)",
    ),
    (
        "PI_CODING_AGENT_SESSION_DIR",
        "directory of the sessions of both agents, for all projects; replaces the stores below the home directory",
    ),
    (
        "PI_CODING_AGENT_DIR",
        "directory of both agents' own files, which contains `sessions`; see SESSIONS for the agents' other variables",
    ),
    (
        "CLAUDE_CONFIG_DIR, CODEX_HOME",
        "directories of Claude Code and of Codex, in place of `~/.claude` and `~/.codex`",
    ),
    (
        "GEMINI_CLI_HOME",
        "directory that contains `.gemini`, in place of `~`",
    ),
    (
        "PATH",
        "directories searched for the programs of further commands; only absolute ones are used",
    ),
    (
        "PISESS_BROWSER",
        "program that `export --open` starts with the path of the page, instead of the browser",
    ),
    (
        "PISESS_HOOK",
        "default for `--hook` in every command that has the option; ignored if empty",
    ),
    (
        "PISESS_SUMMARIZER",
        "default for `--summarizer` in every command that writes a summary; ignored if empty",
    ),
    (
        "PISESS_SOURCES",
        "default for `--source` where a command searches for sessions, such as `all` or `pi,claude`; ignored by `redact`, if paths are given, and if an option applies only to sessions of pi and oh-my-pi",
    ),
    (
        "PISESS_NOW",
        "time to write in place of the current time, such as 2026-01-31T12:00:00Z; for scripts and tests that need reproducible output",
    ),
    (
        "PISESS_ID_SEED",
        "text from which new ids are derived, in place of random ones; ids already in use are skipped",
    ),
];

/// A section of the main man page, which is also a topic of `pisess help`: a heading, paragraphs
/// and a table. Text in backticks is literal.
pub struct Section {
    /// The name of the topic.
    pub name: &'static str,
    /// The heading.
    pub title: &'static str,
    /// The paragraphs.
    pub paragraphs: &'static [&'static str],
    /// The rows of the table below the paragraphs.
    pub rows: &'static [GuideRow],
    /// The heading under which the help of commands lists the options that this section explains.
    pub option_heading: Option<&'static str>,
    /// What the section explains, for the reference to it below these options. Empty if it explains
    /// no options.
    pub about: &'static str,
}

impl Section {
    /// Returns a section that has only text. [`Section::with_rows`] adds a table;
    /// [`Section::with_options`] adds the heading of the options that the section explains.
    const fn new(
        name: &'static str,
        title: &'static str,
        paragraphs: &'static [&'static str],
    ) -> Section {
        Section {
            name,
            title,
            paragraphs,
            rows: &[],
            option_heading: None,
            about: "",
        }
    }

    const fn with_rows(self, rows: &'static [GuideRow]) -> Section {
        Section { rows, ..self }
    }

    const fn with_options(self, heading: &'static str, about: &'static str) -> Section {
        Section {
            option_heading: Some(heading),
            about,
            ..self
        }
    }
}

/// The sections that are topics of `pisess help`.
pub const TOPICS: [Section; 10] = [
    Section::new(
        "references",
        "REFERENCES",
        &[
            "A REF argument names an entry in one of the forms below. The whole argument is first \
             tried as an id or label. Only then are suffixes such as `^` and `~3` split off, the \
             last one first. References are case-sensitive, except for TEXT. An unknown or \
             ambiguous reference is an error (exit 2), and the message lists the candidates.",
            "`:/TEXT` searches the path to the leaf, then the other branches. In both, messages \
             and summaries are searched first, then thinking, tool calls and results. `:1/TEXT` \
             searches only the path to the leaf, and entries of all kinds count equally. White \
             space in TEXT matches any white space. Quote the reference for the shell: `pisess \
             switch last ':/tide gaps'`. Suffixes can follow: `':/tide gaps^{user}'` is the user \
             message at or above that entry, and `':1/tide gaps^'` is the entry before the gaps \
             were first mentioned.",
            "`@` is the same entry in every command. It is usually the leaf, the last entry of the \
             file. If the leaf is a label, a name, a setting or a mark (the entry that `switch` \
             appends to move the leaf), `@` is the nearest entry of the conversation above the \
             leaf. `@~0` is `@`; `@^` and `@~3` count only entries of the conversation. New \
             entries are always appended after the leaf. `@^{label}` and `@^{model_change}` start \
             at the leaf, so they also find the labels, names and settings after `@`.",
            "`show`, `path`, `tree`, `context`, `export`, `grep`, `redact` and `pick` also take a \
             range. Both ends of a range must be on one path. `REF..` and `REF+3` follow the path \
             to the leaf if REF is on it, otherwise the newest branch below REF. Except for \
             `pick`, the range `@~20..` can also be written `--last 20`.",
            "In a shell, quote a reference that contains a brace or begins with a tilde.",
        ],
    )
    .with_rows(&REFERENCES),
    Section::new(
        "sessions",
        "SESSIONS",
        &[
            "A session is a file of JSON lines: a header followed by entries. Each entry names \
             its parent, so the entries form a tree. The last entry of the file is the `leaf`, \
             where the conversation continues. The entries from the root to the leaf are the \
             `path` of the conversation; what a model sees is built from the path. All other \
             branches remain in the file.",
            "pi keeps its sessions below `~/.pi/agent/sessions`, oh-my-pi below \
             `~/.omp/agent/sessions`. These directories are their stores. Both agents call their \
             format version 3. pisess recognizes the agent by content that only one of them \
             writes. Older files (version 1, version 2 and a draft that preceded version 2) are \
             read as if `migrate` had converted them, with the same ids. Files of version 4, a \
             format of pi's newer harness, are refused.",
            "A SESSION argument is a path, `-` for standard input, or a name. `last` is a session \
             of the current directory, in the stores of both agents: the session whose file \
             changed last. The agents' `--continue` follows the same rule. Even a label changes \
             the file. `pisess list` sorts by the last message, so its first row may be another \
             session. `last~1` is the session before `last`. With `--source`, `last` is the newest \
             session of the agents that `--source` names. Sessions of oh-my-pi without a name and \
             without messages are skipped.",
            "A name can be the start or end of a session's id, with at least 4 characters, or the \
             start of the short id that `list` shows. It can also be the name set with `append \
             --name`, or the start of that name, ignoring case. An existing path always wins; an \
             exact name comes before the start of a name. pisess searches the sessions of the \
             current directory first, then all others. If several match, the command fails and \
             lists them. A command that changes a session found by name reports its path on \
             standard error.",
            "SESSION may also be words of the title in `list`, or of the first message, in any \
             case and order: `pisess tree 'tide gaps'`, `pisess prune 'tide gaps'`. The start of a \
             word is enough; at least one of the words must have 3 characters or more. Standard \
             error names the session that has the title. If several sessions have it, the command \
             fails and lists them. Changes that cannot be undone (`prune --purge`, `archive \
             --delete`, `migrate` without `--backup`) do not accept words of a title; the error \
             message prints the same command with the id of the session. Other changes refuse \
             words in three cases: with several SESSIONs, if the word is the name of a project, \
             and with `-q`, which would hide the name of the session found.",
            "On a terminal, a command that reads one session takes `last` if SESSION is missing, \
             and reports which session that is. A command that changes one session asks for it, \
             and for REF if it needs one.",
            "With `--choose`, pisess asks for the session. If SESSION is given, pisess asks for \
             the entry. If a command needs both, and neither is given, pisess asks for both. Words \
             of titles in place of SESSION limit the list to sessions that have them. The command \
             in `PISESS_CHOOSER` shows the list; if the variable is not set, `fzf` does. If `fzf` \
             cannot be used, or the variable is empty, pisess prints a numbered list of the 20 \
             newest and reads a number. If nothing is chosen, the exit code is 1.",
            "A command in `PISESS_CHOOSER` reads one row per line: a name, a tab and a text. It \
             prints the chosen row. In a list of sessions, the name is a path. In a list of \
             entries, it is a reference, and the variable `PISESS_SESSION` has the path of the \
             session. If the command is cancelled, pisess exits with the command's exit code, such \
             as 130.",
            "Most commands that take several sessions also take directories; `resume` does not, \
             and `relocate` takes only the directory of a project. Reading commands (`list`, \
             `grep`, `stats`, `blame`, `export`, `check`, and `migrate` or `redact` with `--check` \
             or `-n`) search directories recursively. Writing commands (`archive`, `migrate`, \
             `prune`, `check --repair`) do so only with `-r`; with `-n`, they list all sessions, \
             and a note says which of them need `-r`. `diff` and `join` take two sessions. If one \
             of the two arguments is a directory, they use the copy of the other argument's \
             session in that directory. If a directory contains no sessions, a reading command \
             treats it as a project: it reads the sessions of the project from the stores, and \
             prints a note. The name of a project, as `list` shows it, selects the same sessions.",
            "Reading commands also take a session of Claude Code, Codex, OpenCode or Gemini CLI, \
             by its path, its id or words of its title. They show it as `import` would convert it, \
             with the same ids. Commands that change a session refuse it.",
            "The environment can move the stores. An agent's store is the first of these that is \
             set: `PI_CODING_AGENT_SESSION_DIR`, then (only for pi) `sessionDir` in \
             `.pi/settings.json` or in `~/.pi/agent/settings.json`. If none is set, it is \
             `~/.pi/agent/sessions` or `~/.omp/agent/sessions`, with a directory for each project. \
             `PI_CODING_AGENT_DIR` replaces `~/.pi/agent`. For oh-my-pi, `PI_CODING_AGENT_DIR`, \
             `OMP_PROFILE`, `PI_PROFILE`, `PI_CONFIG_DIR` and `XDG_DATA_HOME` have the same effect \
             as in oh-my-pi.",
        ],
    ),
    Section::new(
        "times",
        "TIMES",
        &[
            "`--since`, `--until` and `--older-than` take an age (`30min`, `12h`, `7d`, `2w`, \
             `6mo`, `1y`), `today`, `yesterday` or a weekday. They also take a date, month or \
             year (`2026-10-31`, `2026-10`, `2026`), or a date with a time of day \
             (`2026-10-31T12:00`, `2026-10-31T12:00:00Z`). A weekday means the most recent one, \
             possibly today. A year is 365.25 days, a month a twelfth of that. Times without a \
             zone are local, and days begin at midnight.",
            "A period begins with the first moment of the TIME of `--since`, and ends with the \
             last moment of the TIME of `--until`. So `--since 2026-10 --until 2026-10` is \
             October. An age is counted from now: `--since 7d` begins seven days ago at this time \
             of day; a date begins at midnight. `list` includes a session if it was created in \
             the period, or if anything was written to it then: a message, a label, a compaction. \
             `import` takes a whole session if it was started before the end of the period and \
             last written to after the start. `grep` and `stats` read only entries of the period.",
        ],
    ),
    Section::new(
        "streams",
        "STREAMS",
        &[
            "Standard output carries data, standard error carries diagnostics; `-q` suppresses \
             notes, but not errors. If the reader closes the pipe early, the command still \
             succeeds.",
            "Messages and tables show the home directory as `~`, and other paths as they were \
             given. A path alone on a line, and any path in JSON, is never shortened: scripts can \
             use it.",
            "By default, output on a terminal is coloured, and truncated to the terminal's width; \
             output to a pipe or a file is neither. The meaning of output never depends on colour. \
             Text from a session is escaped, even in a pipe: control characters, escape sequences \
             and characters that change the direction of writing. Data requested verbatim \
             (`--json`, `context --as text`, lines of a session) is escaped only on a terminal.",
            "On a terminal, a pager shows help and the output of commands that print or find \
             sessions, such as `tree` and `list`. The pager is the command in `PISESS_PAGER`, \
             otherwise in `PAGER`, otherwise `less`. Unless `LESS` is set, `less` exits at once \
             if everything fits on the screen. `--no-pager` prints without a pager, as does an \
             empty `PISESS_PAGER`. Quitting the pager early is success.",
            "A command that takes longer than half a second shows its progress on standard error, \
             if that is a terminal. The progress is cleared before anything is printed. While \
             another program such as fzf uses the terminal, no progress is shown.",
            "A command that changes a session changes the file at the given path. Given `-`, it \
             writes the whole changed session to standard output. With `-o`, the result is \
             written elsewhere, and the session is not changed. The outcome is printed to \
             standard output, or to standard error if standard output carries the session. The \
             outcome is the id of the new entry, the path of the new file, or the text to be \
             edited and sent again.",
            "A partly damaged file is read as far as possible. Malformed lines, a truncated end, \
             invalid UTF-8 and cycles are reported once on standard error, and the damaged bytes \
             are kept unchanged.",
        ],
    ),
    Section::new(
        "summaries",
        "SUMMARIES",
        &[
            "`compact`, `summarize`, `merge`, `pop` and `switch --summarize` write a summary. \
             They use the first of these that is available: a text (`--summary`, \
             `--summary-file`), the reply of a hook (`--hook`), or the output of a summarizer \
             (`--summarizer`, or `PISESS_SUMMARIZER`). If there is none, they \
             extract a summary from the conversation itself. To extract it, they use neither a \
             model nor the network, and the result is always the same.",
            "A summarizer is any command that reads a prompt on standard input and prints the \
             summary on standard output. The prompt consists of the transcript, in the form in \
             which the session's agent would send it; a request in pisess's own words; and facts \
             from the summary that pisess extracts. `--prompt` prints the prompt. An example is \
             `llm -m MODEL`, where `llm` is a separate program for sending prompts to models \
             (https://llm.datasette.io).",
            "Summarizers and hooks are run with `sh -c` (on Windows, `cmd /c`). Session content \
             is passed to them on standard input only, never in an argument or the environment. \
             It is an error (exit 2) if a summarizer prints nothing, or if a summarizer or hook \
             fails or exceeds `--timeout`. Nothing is written then.",
            "Like the agents, pisess stores two lists with each summary: the files that were \
             read, and the files that were changed. The agents' later summaries build on these \
             lists.",
        ],
    )
    .with_options("Summary", "where a summary comes from"),
    Section::new(
        "hooks",
        "HOOKS",
        &[
            "Hooks run before `compact`, `summarize`, `switch`, `pop`, `merge`, `fork` and \
             `context`. They can cancel the operation and, except for `fork`, change its result. \
             They also run after a change. A hook is a shell command, given \
             with `--hook`, or in `PISESS_HOOK` for every command. It receives one JSON object on \
             standard input: `type` is the event, and `ctx` describes the session. It may reply \
             with one JSON object on standard output. If it prints nothing, `null` or `{}`, the \
             operation continues. The fields are named as in the agents' own events.",
            "Before an operation the hook receives `session_before_compact`, \
             `session_before_tree`, `session_before_fork` or `context`. A reply with \
             `\"cancel\":true` cancels the operation (exit 1). Otherwise, members of the reply \
             replace what the operation would use. Depending on the event, these members are \
             `summary` (with `details`), `firstKeptEntryId`, `customInstructions`, `label` or \
             `messages`. It is an error (exit 2) if a hook fails, exceeds `--timeout` or prints no \
             valid reply. Nothing is written then. A dry run runs these hooks, too.",
            "After a change the hook is notified; its output is ignored. The events are \
             `session_compact`, `session_tree` and `session_branch`. If the hook fails at this \
             point, the exit code is 4: the change is saved.",
            "Hooks and summarizers can run pisess without starting themselves again: \
             `PISESS_HOOK` and `PISESS_SUMMARIZER` are unset in their environment.",
        ],
    )
    .with_options("Hook", "what a hook receives, and what it may reply"),
    Section::new(
        "writing",
        "WRITING",
        &[
            "An operation keeps what it does not change, byte for byte. Most commands only add \
             entries. `migrate` and `relocate` change fields of existing lines. `prune` moves \
             entries, branches, secrets and payloads (images, results of tools, details of \
             extensions) to `SESSION.pruned`. `archive` removes a session only after reading its \
             archive again. `check --repair` removes damaged lines, and keeps them in \
             `FILE.rejected`.",
            "Added entries are appended to the file with a single write, followed by fsync. A \
             rewrite, such as a migration, writes a new file with the same mode, owner and \
             attributes, and renames it over the old one. A crash during a rewrite leaves either \
             the old file or the new one. A crash during an append leaves at most one incomplete \
             last line.",
            "The session is locked from its last read until the write is complete. If another \
             process holds the lock, `--wait` sets how long to wait. If the file grew in the \
             meantime, the operation is planned again on the new content. If it changed in any \
             other way, nothing is written (exit 3).",
            "An operation that fails (exit code 2 or 3) changes nothing. Given several files, a \
             failure for one of them does not stop the others.",
            "Without `--force`, pisess refuses to overwrite an existing output, except an earlier \
             page that `export` wrote for the same session. pisess also refuses to write to a file \
             system without locks, and to rewrite a file whose attributes cannot be kept. A \
             session that a running oh-my-pi has open is refused, too. Even with `--force`, a file with \
             several hard links is never rewritten, and the session that is read is never \
             overwritten by an output.",
        ],
    )
    .with_options("Writing", "how files are changed, and what is refused"),
    Section::new(
        "agents",
        "RUNNING AGENTS",
        &[
            "A running pi reads its session once and keeps its own leaf in memory. An entry added \
             by another program stays in the file. But until pi opens the session again, pi \
             continues from its own leaf, on a branch beside the new entry. Close pi, or reopen \
             the session in it, before you continue.",
            "A running oh-my-pi rewrites its file from time to time, and fails if the file changed \
             underneath it. Changes are refused (exit 3) while oh-my-pi may still use the file. \
             pisess assumes that oh-my-pi uses the file if its lock file is held, if oh-my-pi has \
             the file open, or if oh-my-pi wrote a moment ago and has not recorded its exit. Use \
             `--force` to write anyway.",
        ],
    ),
    Section::new(
        "exit-codes",
        "EXIT STATUS",
        &["Given several files, the exit code is the most serious of their exit codes: 4, else 2, \
           else 3, else 1."],
    )
    .with_rows(&EXIT_CODES),
    Section::new(
        "programs",
        "FURTHER COMMANDS",
        &[
            "If pisess has no command `foo`, `pisess foo` runs the program `pisess-foo` with the \
             remaining arguments and the same streams and environment, and exits with its exit \
             code. Options before the name are not passed on. `pisess help foo` runs `pisess-foo \
             --help`. A name consists of letters, digits, `-` and `_`.",
            "Only absolute directories of the PATH are searched. The current directory is not: it \
             may contain untrusted programs. `pisess --list` lists all commands, with the paths \
             of programs.",
        ],
    ),
];

/// Examples that combine commands.
pub const EXAMPLES: [Example; 5] = [
    Example::new("Show the tree of a session", "pisess tree session.jsonl"),
    Example::new(
        "Migrate an old session, label an entry and show the tree, without changing the file",
        "cat old.jsonl | pisess migrate - | pisess label - '@^{user}' start | pisess tree -",
    ),
    Example::new(
        "Rephrase the last user message, in a new session",
        "pisess fork --before session.jsonl '@^{user}'",
    ),
    Example::new(
        "Compact the context with a model of your choice if it exceeds 100,000 tokens",
        "pisess compact --if-over 100k --summarizer 'llm -m MODEL' session.jsonl",
    ),
    Example::new(
        "Print the prompt that the model would receive",
        "pisess compact --keep-recent-tokens 100 --prompt session.jsonl",
    ),
];

/// A command line with a title. A test runs each of them.
#[derive(Clone, Copy, Debug)]
pub struct Example {
    /// The title: what the command line does.
    pub what: &'static str,
    /// The command line, as typed.
    pub line: &'static str,
    /// The expected exit code.
    pub exit: u8,
}

impl Example {
    /// Returns an example with exit code 0.
    pub const fn new(what: &'static str, line: &'static str) -> Example {
        Example {
            what,
            line,
            exit: 0,
        }
    }

    /// Returns an example with exit code 1.
    pub const fn answers_no(what: &'static str, line: &'static str) -> Example {
        Example {
            what,
            line,
            exit: 1,
        }
    }
}

/// The parts of a command's help other than its description and its options.
#[derive(Clone, Copy, Debug)]
pub struct Guide {
    /// Examples of its use.
    pub examples: &'static [Example],
    /// The meaning of exit code 0, for a command that changes no file.
    success: &'static str,
    /// The meaning of exit code 1; `None` if the command never returns it.
    found: Option<&'static str>,
}

impl Guide {
    pub(crate) const fn new(examples: &'static [Example]) -> Guide {
        Guide {
            examples,
            success: "success",
            found: None,
        }
    }

    /// Sets the meaning of exit code 0, for a command that changes no file.
    pub(crate) const fn with_success(self, success: &'static str) -> Guide {
        Guide { success, ..self }
    }

    pub(crate) const fn with_found(self, found: &'static str) -> Guide {
        Guide {
            found: Some(found),
            ..self
        }
    }

    /// Returns the exit codes of the command. Code 1 is included if the command has a meaning for
    /// it; codes 3 and 4 if the command writes. Only for such a command, code 0 has its general
    /// meaning: a change that was already made.
    pub fn exit_codes(&self, command: &Command) -> Vec<GuideRow> {
        let writes = writes_files(command);
        let mut codes = Vec::new();
        for (code, general_meaning) in EXIT_CODES {
            let meaning = match code {
                "0" if !writes => Some(self.success),
                "1" => self.found,
                "3" | "4" if !writes => None,
                _ => Some(general_meaning),
            };
            if let Some(meaning) = meaning {
                codes.push((code, meaning));
            }
        }
        codes
    }

    /// Returns the meaning of exit code 1; `None` if the command never returns it.
    pub(crate) fn found_meaning(&self) -> Option<&'static str> {
        self.found
    }
}

/// Whether a command changes files. Such a command has the option `-n`, and may exit with 3 or 4.
pub fn writes_files(command: &Command) -> bool {
    command.get_arguments().any(|arg| arg.get_id() == "dry_run")
}

/// Whether a command reads sessions. `completions` does not.
pub fn reads_sessions(command: &Command) -> bool {
    let mut names = command
        .get_positionals()
        .flat_map(Arg::get_value_names)
        .flatten();
    names.any(|name| name.contains("SESSION"))
}

/// Whether a command takes a range of entries after its sessions.
pub fn takes_range(command: &Command) -> bool {
    command.get_arguments().any(|arg| arg.get_id() == "range")
}

/// Whether a command takes times.
pub fn takes_time(command: &Command) -> bool {
    let mut ids = command.get_arguments().map(|arg| arg.get_id().as_str());
    ids.any(|id| ["since", "older_than"].contains(&id))
}

/// Whether a command takes references.
pub fn takes_reference(command: &Command) -> bool {
    let names = command
        .get_arguments()
        .filter_map(|arg| arg.get_value_names());
    names
        .flatten()
        .any(|name| name.split('|').any(|name| name == "REF"))
}
