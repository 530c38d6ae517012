//! Forms of every command, for tests that apply to all of them. `F` is replaced by the session.
//!
//! Most are derived from the command line: what its usage requires, the same with `--json`, with
//! each option and each of its values, and, of a command that writes, with `-n` and with `-o
//! ./new`. The tables have what follows from no definition.

use clap::{Arg, Command};
use pisess::guide::writes_files;
use std::sync::LazyLock;

/// Forms that change nothing.
pub static READS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let is_searching =
        |verb: &Command| SEARCHES.iter().any(|form| verb_of(form) == verb.get_name());
    let (writing, reading): (Vec<_>, Vec<_>) = verbs()
        .into_iter()
        .filter(|verb| !is_searching(verb))
        .partition(writes_files);
    // The first form of each command reads as much as its others.
    let mut forms: Vec<_> = reading.iter().flat_map(derived).map(kept).collect();
    forms.extend(READING);
    forms.extend(writing.iter().flat_map(derived).map(kept));
    forms
});

/// Forms that change the session itself.
pub static CHANGES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let is_change = |verb: &&Command| !ELSEWHERE.iter().any(|(name, _)| *name == verb.get_name());
    let verbs = verbs();
    let changing = verbs
        .iter()
        .filter(|verb| writes_files(verb))
        .filter(is_change);
    changing
        .flat_map(writing)
        .map(kept)
        .filter(|form| !MAKES_ONLY.contains(&verb_of(form)))
        .collect()
});

/// Forms that write another session, `./new`.
pub static MAKES: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let verbs = verbs();
    let making = verbs
        .iter()
        .filter(|verb| writes_files(verb) && has(verb, "output"));
    // The original stays as it is, without a copy.
    let made = |form: String| match form.replace(" --backup", "") {
        form if form.contains(" -o ") => kept(form),
        form => kept(form + " -o ./new"),
    };
    making.flat_map(writing).map(made).collect()
});

/// Read-only forms of commands that also accept directories of sessions.
pub const SEARCHES: &[&str] = &[
    "list F",
    "list F --json",
    "list F -l -0",
    "list F --repo --json",
    "list F --forks --sort cost --limit 9 --since 2020-01-01 --until today",
    "relocate F . -n",
    "archive F -n",
];

/// Further forms that read.
const READING: &[&str] = &[
    "path F root --ids",
    "path F root..",
    "path F ':/e'",
    "show F ':/e^{user}'",
    "show F root..@",
    "show F root+1..",
    "tree F root+1..",
    "context F --as llm root+1..",
    "context F --tokens root+1..",
    "export F -o - --as markdown root+1..",
    "export F -o - root+1..",
    "grep -i e F root+1..",
    "redact F --check --last 1",
    "context F --as openai --max-tokens 9",
    "label F",
    "label F --json",
    "migrate F --check",
    "compact F --prepare",
    "compact F --prompt --first-kept none",
    "summarize F",
    "summarize F --json",
    "summarize F root --print",
    "summarize F root --prepare",
    "summarize F root --prompt",
    "pop F -n",
    "undo F --list --json",
    "fork F @^{user} -n --before",
    "show F root --children",
    "show F --code=rust -1",
    "show F --file a",
    "show F @ --files --json",
    "show F --patch",
    "show F --patch --json",
    "show F --patch --file a",
    "show F -C 1 -A 2 -B 3",
    "context F --as llm",
    "context F --tokens --window 200k",
    "context F --tokens --by role",
    "context F --tokens --by tool --json",
    "context F --tokens --by file",
    "context F --tokens --by entry",
    "context F --as text",
    "context F --as anthropic",
    "context F --as openai-responses",
    "context F --as google",
    "export F -o - --as markdown",
    "export F -o - --as markdown --max-lines 3 --max-size 2k",
    "export F --redact --paths -o -",
    "export F --as messages --branches -o -",
    "export F --as messages --context -o -",
    "grep -i --raw --json e F",
    "grep -c --active e F",
    "grep -C 1 -S --sort time e F",
    "grep --full --failed e F",
    "grep --full --json e F",
    "grep -o --with-images --json . F",
    "grep -L e F",
    "grep --tool bash --tool read e F",
    "grep -v -m 3 -A 1 -B 2 --role toolCall --sort path e F",
    "grep -l -0 -F -w --role user --since 2020-01-01 --until today -e e F",
    "stats F --by model --since 2020-01-01 --until today",
    "stats F --by entry --json",
    "stats F --by day,model",
    "stats F --by file",
    "stats F --source all",
    "stats F --by time",
    "stats F --by file,session --json",
    "check F",
    "check F --json",
    "check F --repair -n --cwd .",
    "redact F --check",
    "redact F --check --json",
    "redact F -n --paths --keep-images",
    "prune F -n --over 100 --images --results --details --json",
    "prune F -n --secrets",
    "prune F -n --secrets --json",
    "diff F root @",
    "diff F root @ --json",
    "diff F root @ --stat",
    "diff F root @ --context",
];

/// The forms that write of commands for which what their usage requires is not enough, or not all.
/// Without `-o`.
const WRITING: &[&str] = &[
    "append F --user hi",
    "compact F --first-kept none --summary s",
    "compact F --first-kept none",
    "summarize F root --summary s",
    "switch F root",
    "pop F root --summary s",
    "merge F root --summary s",
    "check F --repair --backup",
    "fork F",
    "fork F --name n",
    "fork F @ --subtree",
    "fork F @ --subtree --alone",
    "fork F --branches",
    "fork F --branches --for omp",
    "fork F --for pi",
    "fork F --for claude",
    "fork F --for codex",
];

/// Commands that change a session only with `-o`, or write another one.
const MAKES_ONLY: &[&str] = &["fork", "redact"];

/// Commands that change sessions but have no form in [`CHANGES`]: the name, the reason, and the
/// file with the tests. A form in [`CHANGES`] changes the session in place, and no other file.
pub const ELSEWHERE: &[(&str, &str)] = &[
    (
        "archive",
        "moves the session from a store into an archive: tests/it/archive.rs",
    ),
    (
        "import",
        "reads sessions of other agents: tests/it/import.rs",
    ),
    (
        "prune",
        "changes sessions with large payloads only, and writes a second file: tests/it/prune.rs",
    ),
    (
        "relocate",
        "moves the session from its name, into a store: tests/it/relocate.rs",
    ),
];

/// Commands that do not read a session, and `join`, which reads two: tests/it/join.rs runs it on
/// every hazard.
const OTHERS: &[&str] = &["completions", "import", "join"];

/// Options that mean the same for every command that has them, and are tested once.
const COMMON: &[&str] = &[
    "choose", "color", "dry-run", "force", "help", "hook", "no-pager", "output", "quiet",
    "timeout", "wait",
];

/// Options of each command in no form, because they need a file, a program, other options, or more
/// than one session, or because they only change what is written. The tests of the command use
/// them.
pub const UNTRIED: &[(&str, &str)] = &[
    ("tree", "renderer follow source"),
    ("show", "renderer images source"),
    ("path", "source"),
    ("branches", "source"),
    ("diff", "source"),
    ("context", "model source"),
    ("list", "all archived source"),
    ("grep", "all archived follow pruned source"),
    ("blame", "all archived source"),
    ("stats", "all archived prices"),
    (
        "archive",
        "older-than larger-than empty project all recursive list restore delete",
    ),
    (
        "switch",
        "summarize label summary summary-file summarizer instructions replace-instructions prepare prompt",
    ),
    (
        "pop",
        "back label summary-file summarizer instructions replace-instructions prepare prompt",
    ),
    (
        "summarize",
        "from label summary-file summarizer instructions replace-instructions",
    ),
    (
        "merge",
        "label summary-file summarizer instructions replace-instructions prepare prompt",
    ),
    ("fork", "cwd dir"),
    ("pick", "at from-session"),
    ("label", "clear move"),
    (
        "append",
        "at input name model thinking custom data custom-message text hidden assistant",
    ),
    ("edit", "replace restore"),
    (
        "compact",
        "keep-recent-tokens if-over summary-file summarizer instructions replace-instructions",
    ),
    (
        "prune",
        "purge restore branch entries compacted all project older-than larger-than recursive env-file secret-file",
    ),
    (
        "export",
        "renderer env-file secret-file keep-images json open source",
    ),
    ("redact", "all archived env-file secret-file source"),
    ("relocate", "moved-from"),
    ("resume", "exec"),
    ("migrate", "all backup recursive json"),
    ("check", "all recursive source"),
];

/// Returns the commands that read a session.
fn verbs() -> Vec<Command> {
    let mut command = pisess::build_cli();
    command.build();
    let verbs = command
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help");
    verbs
        .filter(|verb| !OTHERS.contains(&verb.get_name()))
        .cloned()
        .collect()
}

/// Returns the forms that change nothing and follow from the definition of a command.
fn derived(verb: &Command) -> Vec<String> {
    let bases: Vec<_> = if writes_files(verb) {
        writing(verb)
            .iter()
            .map(|form| form.replace(" -o ./new", "") + " -n")
            .collect()
    } else if has(verb, "output") {
        // Without this option, the result would be a file.
        vec![required(verb) + " -o -"]
    } else {
        vec![required(verb)]
    };
    let mut forms = bases.clone();
    if options(verb).any(|(arg, long)| long == "json" && is_tried(verb, arg)) {
        forms.extend(bases.iter().map(|form| format!("{form} --json")));
    }
    let tables = [SEARCHES, READING, WRITING];
    let mut known: Vec<_> = tables
        .concat()
        .into_iter()
        .filter(|form| verb_of(form) == verb.get_name())
        .collect();
    known.extend([bases[0].as_str(), "--json"]);
    for (arg, long) in
        options(verb).filter(|(arg, _)| is_tried(verb, arg) && !has_option(&known, arg))
    {
        forms.extend(
            values(arg)
                .iter()
                .map(|value| format!("{} --{long}{value}", bases[0])),
        );
    }
    forms
}

/// Returns the forms that write, without `-o` and `-n`.
fn writing(verb: &Command) -> Vec<String> {
    let forms = WRITING
        .iter()
        .filter(|form| verb_of(form) == verb.get_name());
    let forms: Vec<_> = forms.map(|form| (*form).to_owned()).collect();
    if forms.is_empty() {
        vec![required(verb)]
    } else {
        forms
    }
}

/// Returns a command with what the first form of its usage requires.
fn required(verb: &Command) -> String {
    let usage = verb.clone().render_usage().to_string();
    let words = usage
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(2);
    // Without a session, `grep` and `stats` read those of the directory.
    let words = words.filter(|word| !word.starts_with('[') || word.starts_with("[SESSION]"));
    words
        .map(|word| value(word.trim_matches(|c| "[]<>.".contains(c))))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns what is given for a value of this name in a usage, or the word itself.
pub fn value(name: &str) -> &str {
    match name {
        "SESSION" => "F",
        "REF" => "@",
        "RANGE" => "root..",
        "NAME" => "n",
        "PATTERN" | "WORDS" | "TEXT" => "e",
        "DIR" => ".",
        "FILE" => "-",
        "PATH" => "./new",
        "N" | "TOKENS" | "SIZE" | "SECONDS" => "9",
        "TIME" => "90d",
        "ROLE" => "user",
        "SHELL" => "bash",
        word => word,
    }
}

/// Returns each value of an option that has a list of them, else one; nothing for a flag.
fn values(arg: &Arg) -> Vec<String> {
    if !arg.get_action().takes_values() {
        return vec![String::new()];
    }
    let separator = if arg.is_require_equals_set() {
        "="
    } else {
        " "
    };
    let listed: Vec<_> = arg
        .get_possible_values()
        .iter()
        .map(|value| format!("{separator}{}", value.get_name()))
        .collect();
    let names = arg.get_value_names().unwrap_or_default();
    if listed.is_empty() {
        names
            .iter()
            .map(|name| format!(" {}", value(name)))
            .collect()
    } else {
        listed
    }
}

/// Returns the options of a command, with their names.
pub fn options(verb: &Command) -> impl Iterator<Item = (&Arg, &str)> {
    verb.get_arguments()
        .filter(|arg| !arg.is_hide_set())
        .filter_map(|arg| Some((arg, arg.get_long()?)))
}

/// Whether a form contains an option.
pub fn has_option(forms: &[&str], arg: &Arg) -> bool {
    let long = arg.get_long().map(|long| format!("--{long}"));
    let short = arg.get_short().map(|short| format!("-{short}"));
    forms
        .iter()
        .flat_map(|form| form.split([' ', '=']))
        .any(|word| Some(word) == long.as_deref() || Some(word) == short.as_deref())
}

/// Whether an option should be in a form of its own.
fn is_tried(verb: &Command, arg: &Arg) -> bool {
    let long = arg.get_long().unwrap_or_default();
    let is_untried = |(name, options): &(&str, &str)| {
        *name == verb.get_name() && options.split(' ').any(|option| option == long)
    };
    !COMMON.contains(&long) && !UNTRIED.iter().any(is_untried)
}

fn has(verb: &Command, long: &str) -> bool {
    options(verb).any(|(_, name)| name == long)
}

/// Returns the command of a form.
pub fn verb_of(form: &str) -> &str {
    form.split(' ').next().unwrap_or_default()
}

/// Returns a form that lives as long as the tests.
fn kept(form: String) -> &'static str {
    form.leak()
}

/// Returns one of these forms for the session at this path.
pub fn of(line: &str, path: &str) -> String {
    line.replace(" F", &format!(" {path}"))
}
