//! What belongs to a verb, an option and a field of `--json`. Everything that is missing is reported at once, with the
//! file and the line to add.

use crate::every::{CHANGES, MAKES, READS, SEARCHES, of};
use crate::sandbox::{Sandbox, session, user};
use clap::{Arg, Command};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Commands that do not read a session.
const OTHERS: &[&str] = &["completions", "import"];

/// Commands that change sessions but do not belong in [`CHANGES`]: the name, the reason, and the file with the tests.
/// A form in [`CHANGES`] changes the session in place, and no other file.
const ELSEWHERE: &[(&str, &str)] = &[
    ("archive", "moves the session from a store into an archive: tests/it/archive.rs"),
    ("import", "reads sessions of other agents: tests/it/import.rs"),
    ("prune", "changes sessions with large payloads only, and writes a second file: tests/it/prune.rs"),
    ("relocate", "moves the session from its name, into a store: tests/it/relocate.rs"),
];

/// Commands that change a session only with `-o`, or write another one.
const MAKES_ONLY: &[&str] = &["fork", "redact"];

/// Options that mean the same for every command that has them, and are tested once.
const COMMON: &[&str] =
    &["color", "dry-run", "force", "help", "hook", "no-pager", "output", "quiet", "timeout", "wait"];

/// Options of each command in no form of `every.rs`, because they need a file, a program, other options, or more than one
/// session, or because they only change what is written. The tests of the command use them.
const UNTRIED: &[(&str, &str)] = &[
    ("tree", "renderer follow"),
    ("show", "renderer"),
    ("context", "model"),
    ("list", "all archived source"),
    ("grep", "all archived follow pruned"),
    ("stats", "all archived prices"),
    ("archive", "older-than empty project all list restore delete json"),
    (
        "switch",
        "summarize label summary summary-file summarizer instructions replace-instructions prepare prompt",
    ),
    ("pop", "label summary-file summarizer instructions replace-instructions prepare prompt json"),
    ("summarize", "from label summary-file summarizer instructions replace-instructions json"),
    ("merge", "label summary-file summarizer instructions replace-instructions prepare prompt json"),
    ("fork", "cwd dir"),
    ("pick", "at json"),
    ("label", "clear move"),
    ("append", "at input name model thinking custom data custom-message text hidden assistant"),
    ("edit", "replace restore json"),
    ("compact", "keep-recent-tokens if-over summary-file summarizer instructions replace-instructions json"),
    ("prune", "restore branch compacted"),
    ("export", "renderer env-file secret-file keep-images json"),
    ("redact", "all env-file secret-file"),
    ("relocate", "moved-from json"),
    ("migrate", "all backup recursive json"),
    ("check", "all recursive"),
];

/// Fields that contain what a session stores.
const STORED: &[&str] =
    &["written", "messages", "entriesToSummarize", "messagesToSummarize", "turnPrefixMessages"];

/// The verbs and options of the last release, a line for each verb. Those that are newer belong in the changelog.
/// `PISESS_BLESS=1 cargo test --test it complete` writes it anew for another version.
const RELEASED: &str = "tests/it/complete/released.txt";

#[derive(Default)]
struct Missing(Vec<String>);

impl Missing {
    /// Notes a line to add below the line of `file` that contains `below`.
    fn add(&mut self, file: &str, below: &str, what: &str) {
        let line = read(file).lines().position(|line| line.contains(below)).map_or(1, |at| at + 1);
        self.0.push(format!("{file}:{line}: {what}"));
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_default()
}

fn verbs() -> Vec<Command> {
    let mut command = pisess::command();
    command.build();
    command.get_subcommands().filter(|verb| verb.get_name() != "help").cloned().collect()
}

fn options(verb: &Command) -> impl Iterator<Item = (&Arg, &str)> {
    verb.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(|arg| Some((arg, arg.get_long()?)))
}

fn forms_of<'a>(forms: &[&'a str], verb: &str) -> Vec<&'a str> {
    forms.iter().copied().filter(|form| form.split(' ').next() == Some(verb)).collect()
}

#[test]
fn whatever_is_missing_is_reported_at_once() {
    let mut missing = Missing::default();
    for verb in verbs() {
        places(verb.get_name(), &mut missing);
        forms(verb.get_name(), &mut missing);
        tried(&verb, &mut missing);
    }
    changelog(&mut missing);
    fields(&mut missing);
    assert!(missing.0.is_empty(), "{} lines are missing:\n{}", missing.0.len(), missing.0.join("\n"));
}

/// The files that have the name of the verb.
fn places(verb: &str, missing: &mut Missing) {
    for (file, add) in [
        (format!("src/commands/{verb}.rs"), "its arguments, its `run` and its printing".to_owned()),
        (format!("tests/it/{verb}.rs"), format!("tests, and `mod {verb};` to tests/it/main.rs")),
        (format!("man/pisess-{verb}.1"), "PISESS_BLESS=1 cargo test --test it generated".to_owned()),
    ] {
        if !root().join(&file).is_file() {
            missing.0.push(format!("{file}:1: add {add}"));
        }
    }
}

/// The forms that the tests of all commands run.
fn forms(verb: &str, missing: &mut Missing) {
    let writes = pisess::command().find_subcommand(verb).is_some_and(pisess::guide::writes);
    let elsewhere = ELSEWHERE.iter().find(|(known, _)| *known == verb);
    let has = |forms: &[&str]| !forms_of(forms, verb).is_empty();
    let mut add = |table: &str, form: &str| {
        missing.add(
            "tests/it/every.rs",
            &format!("pub const {table}:"),
            &format!("add `\"{verb} {form}\",`"),
        );
    };
    if !has(READS) && !has(SEARCHES) && !OTHERS.contains(&verb) {
        add("READS", if writes { "F -n" } else { "F" });
    }
    if writes && !has(CHANGES) && elsewhere.is_none() && !MAKES_ONLY.contains(&verb) {
        add("CHANGES", "F");
    }
    if writes && !has(MAKES) && !["archive", "import", "relocate"].contains(&verb) {
        add("MAKES", "F -o ./new");
    }
    let Some((_, place)) = elsewhere else { return };
    let (_, file) = place.split_once(": ").unwrap();
    let source = read(file);
    for what in ["killed", "full_disk"] {
        let is_tested =
            source.contains(&format!("_{what}")) || what == "killed" && source.contains("fn a_kill_");
        if !is_tested {
            missing.0.push(format!("{file}:1: add a test of {verb} named …_{what}"));
        }
    }
}

/// A form of `every.rs` with each option.
fn tried(verb: &Command, missing: &mut Missing) {
    let name = verb.get_name();
    let forms = [READS, SEARCHES, CHANGES, MAKES].map(|forms| forms_of(forms, name)).concat();
    let untried = UNTRIED.iter().find(|(known, _)| *known == name).map_or("", |(_, options)| options);
    for (arg, long) in options(verb).filter(|(_, long)| !COMMON.contains(long)) {
        let short = arg.get_short().map(|short| format!("-{short}"));
        let is_it = |word: &str| {
            word.split('=').next() == Some(&format!("--{long}")) || Some(word) == short.as_deref()
        };
        let tried = forms.iter().any(|form| form.split(' ').any(is_it));
        let exempt = untried.split(' ').any(|option| option == long);
        if tried && exempt {
            missing.add("tests/it/complete.rs", "const UNTRIED:", &format!("`{name} --{long}` is tried"));
        }
        if !tried && !exempt && !OTHERS.contains(&name) {
            let value = if arg.get_action().takes_values() { " VALUE" } else { "" };
            let add = format!(
                "add `\"{name} F --{long}{value}\",`, or add {long} to UNTRIED in tests/it/complete.rs"
            );
            missing.add("tests/it/every.rs", "pub const READS:", &add);
        }
    }
}

/// What is newer than the last release, in the changelog.
fn changelog(missing: &mut Missing) {
    let version = format!("version {}\n", env!("CARGO_PKG_VERSION"));
    let mut released = read(RELEASED);
    let bless = std::env::var_os("PISESS_BLESS").is_some_and(|bless| !bless.is_empty());
    if bless && !released.starts_with(&version) {
        released = version.clone();
        for verb in verbs() {
            let options: Vec<_> = options(&verb).map(|(_, long)| long).collect();
            released += &format!("{}: {}\n", verb.get_name(), options.join(" "));
        }
        fs::write(root().join(RELEASED), &released).unwrap();
    }
    if !released.starts_with(&version) {
        missing.0.push(format!("{RELEASED}:1: PISESS_BLESS=1 cargo test --test it complete"));
    }
    let text = read("CHANGELOG.md");
    let (_, unreleased) = text.split_once("## [Unreleased]").unwrap_or_default();
    let unreleased = unreleased.split("\n## [").next().unwrap_or_default();
    for verb in verbs() {
        let name = verb.get_name();
        let known = released.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let mut add = |what: &str| {
            if !unreleased.contains(&format!("`{what}`")) && !unreleased.contains(&format!("`{what} ")) {
                missing.add(
                    "CHANGELOG.md",
                    "## [Unreleased]",
                    &format!("add a line about `{what}` of {name}"),
                );
            }
        };
        let Some(known) = known else {
            add(name);
            continue;
        };
        let known: Vec<_> = known.split(' ').collect();
        options(&verb)
            .filter(|(_, long)| !known.contains(long))
            .for_each(|(_, long)| add(&format!("--{long}")));
    }
}

/// The keys of `--json`, in the last section of `docs/format.md`.
fn fields(missing: &mut Missing) {
    const FORMAT: &str = "docs/format.md";
    let text = read(FORMAT);
    let (_, section) = text.split_once("\n## JSON\n").unwrap();
    let of_verb = |verb: &str| {
        let blocks = section.split("\n**").skip(1);
        let names = |block: &&str| {
            let heading = block.split(": ").next().unwrap_or_default();
            [format!("`{verb}`"), format!("`{verb} ")].iter().any(|name| heading.contains(name))
        };
        blocks.filter(names).collect::<String>()
    };
    for verb in verbs() {
        let name = verb.get_name();
        let has_json = options(&verb).any(|(_, long)| long == "json");
        let mut lines = [READS, SEARCHES].map(|forms| forms_of(forms, name)).concat();
        lines.retain(|line| ["--json", "--prepare"].iter().any(|option| line.contains(option)));
        let mut lines: Vec<_> = lines.into_iter().map(str::to_owned).collect();
        if has_json {
            let planned = [CHANGES, MAKES].map(|forms| forms_of(forms, name)).concat();
            lines.extend(planned.iter().map(|form| format!("{form} -n --json")));
        }
        if name == "context" {
            lines.push("context F".to_owned());
        }
        // A new command is not in the tables yet.
        if has_json && lines.is_empty() {
            lines.push(format!("{name} F --json"));
        }
        let described = of_verb(name);
        if described.is_empty() && !lines.is_empty() {
            missing.add(FORMAT, "## JSON", &format!("add a paragraph **`{name} --json`**"));
        }
        let mut keys = BTreeSet::new();
        lines.iter().for_each(|line| keys.extend(keys_of(line)));
        if ["path", "show"].contains(&name) {
            continue;
        }
        for key in keys {
            let words = |text: &str| text.split(|c: char| !c.is_alphanumeric()).any(|word| word == key.1);
            if !words(if key.0 { section } else { &described }) {
                let place = format!("**`{name} --json`**");
                missing.add(FORMAT, &place, &format!("describe the field `{}` of `{name}`", key.1));
            }
        }
    }
}

/// Returns the keys that a form prints, each with whether it is in an object within the row.
fn keys_of(form: &str) -> Vec<(bool, String)> {
    let s = Sandbox::with(&["tour.jsonl", "v1.jsonl", "hazards/torn-tail.jsonl"]);
    // A session with a secret.
    let secret = ["AKIA", "IOSFODNN7ABCDEFG"].concat();
    s.put("secret.jsonl", session(&[user("aaaa0001", None, &secret)]));
    let names = ["tour", "v1", "torn-tail", "secret"];
    let run = |name| s.pisess(&of(form, &format!("./{name}.jsonl"))).done().text();
    let mut keys = Vec::new();
    for row in names.map(run).concat().lines() {
        let row: serde_json::Value =
            serde_json::from_str(row).unwrap_or_else(|error| panic!("{form}: {error}: {row}"));
        for (key, value) in row.as_object().into_iter().flatten() {
            keys.push((false, key.clone()));
            let within = value.as_object().filter(|_| !STORED.contains(&key.as_str()));
            keys.extend(within.into_iter().flatten().map(|(key, _)| (true, key.clone())));
        }
    }
    keys
}
