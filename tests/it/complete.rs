//! What belongs to a verb, an option, a field of `--json` and a type of entry. Everything that is
//! missing is reported at once, with the file and the line to add.

use crate::every::{
    CHANGES, ELSEWHERE, MAKES, READS, SEARCHES, UNTRIED, has_option, of, options, verb_of,
};
use crate::kinds;
use crate::sandbox::{Sandbox, fixture, session, user};
use clap::Command;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Fields that contain what a session stores.
const STORED: &[&str] = &[
    "written",
    "messages",
    "entriesToSummarize",
    "messagesToSummarize",
    "turnPrefixMessages",
];

/// Forms with `--json` that no other test has: the last of each, after the others. `F` is a session
/// in a store of the sandbox's home directory.
const LAST: &[&[&str]] = &[
    &["archive F --json"],
    &["archive F", "archive --list --all --json"],
    &["archive F", "archive --restore F --json"],
    &["archive F", "archive --delete --force F --json"],
    &["relocate F . --json"],
    &["redact F -o ./new --json"],
    &["export F --redact -o ./new --json"],
    &["prune F --over 9 --json"],
    &["prune F --over 9", "prune --restore F -n --json"],
    &["prune F --over 9", "prune --restore F --json"],
    &["list --all --json"],
    &["grep -c e F --json"],
    &["grep -l e F --json"],
    &["migrate F --json"],
    &["check --repair ./torn-tail.jsonl -o ./new --json"],
    &["import ./tree.jsonl --json"],
    &["list --source claude --all --json"],
];

/// The verbs, options and types of entries of the last release, a line for each verb. Those that
/// are newer belong in the changelog. `PISESS_BLESS=1 cargo test --test it complete` writes it anew
/// for another version.
const RELEASED: &str = "tests/it/complete/released.txt";
/// The start of its line of types.
const TYPES: &str = "types of entries: ";

#[derive(Default)]
pub struct Missing(Vec<String>);

impl Missing {
    /// Notes what to do at a line of `file`.
    pub fn push(&mut self, file: &str, line: usize, what: &str) {
        self.0.push(format!("{file}:{line}: {what}"));
    }

    /// Notes a line to add below the line of `file` that contains `below`.
    pub fn add(&mut self, file: &str, below: &str, what: &str) {
        let line = read(file)
            .lines()
            .position(|line| line.contains(below))
            .map_or(1, |at| at + 1);
        self.push(file, line, what);
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_default()
}

fn verbs() -> Vec<Command> {
    let mut command = pisess::build_cli();
    command.build();
    command
        .get_subcommands()
        .filter(|verb| verb.get_name() != "help")
        .cloned()
        .collect()
}

fn forms_of<'a>(forms: &[&'a str], verb: &str) -> Vec<&'a str> {
    forms
        .iter()
        .copied()
        .filter(|form| verb_of(form) == verb)
        .collect()
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
    kinds::report(&mut missing);
    assert!(
        missing.0.is_empty(),
        "{} lines are missing:\n{}",
        missing.0.len(),
        missing.0.join("\n")
    );
}

/// Each file is compiled. `PISESS_BLESS=1` writes the lines that are missing, and `cargo fmt` sorts
/// them.
#[test]
fn each_file_has_its_mod_line() {
    let mut missing = Vec::new();
    for (list, declared) in [
        ("src/commands/mod.rs", "pub mod"),
        ("crates/core/src/ops/mod.rs", "pub mod"),
        ("tests/it/main.rs", "mod"),
    ] {
        let mut text = read(list);
        for file in fs::read_dir(root().join(list).parent().unwrap()).unwrap() {
            let file = file.unwrap().file_name().into_string().unwrap();
            let name = file.strip_suffix(".rs").filter(|_| !list.ends_with(&file));
            let Some(name) = name.filter(|name| !text.contains(&format!("mod {name};\n"))) else {
                continue;
            };
            missing.push(format!("{list}:1: add `{declared} {name};`"));
            let last = text.rfind(&format!("\n{declared} ")).unwrap();
            text.insert_str(last, &format!("\n{declared} {name};"));
        }
        if is_blessing() && text != read(list) {
            fs::write(root().join(list), text).unwrap();
        }
    }
    assert!(
        is_blessing() || missing.is_empty(),
        "{}",
        missing.join("\n")
    );
}

fn is_blessing() -> bool {
    std::env::var_os("PISESS_BLESS").is_some_and(|bless| !bless.is_empty())
}

/// The file of its tests; the compiler and the test of generated files report the others.
fn places(verb: &str, missing: &mut Missing) {
    let file = format!("tests/it/{verb}.rs");
    if !root().join(&file).is_file() {
        missing.push(&file, 1, "add tests");
    }
}

/// What the tests of all commands do not run: the tests of the command are named, or `-o` is
/// missing.
fn forms(verb: &str, missing: &mut Missing) {
    let writes = pisess::build_cli()
        .find_subcommand(verb)
        .is_some_and(pisess::guide::writes_files);
    if writes
        && forms_of(&MAKES, verb).is_empty()
        && !["archive", "import", "join", "relocate"].contains(&verb)
    {
        missing.push(&format!("src/commands/{verb}.rs"), 1, "add the option `-o`");
    }
    let Some((_, place)) = ELSEWHERE.iter().find(|(known, _)| *known == verb) else {
        return;
    };
    let (_, file) = place.split_once(": ").unwrap();
    let source = read(file);
    for what in ["killed", "full_disk"] {
        let is_tested = source.contains(&format!("_{what}"))
            || what == "killed" && source.contains("fn a_kill_");
        if !is_tested {
            missing.push(file, 1, &format!("add a test of {verb} named …_{what}"));
        }
    }
}

/// The options of [`UNTRIED`] exist, and are in no form.
fn tried(verb: &Command, missing: &mut Missing) {
    let name = verb.get_name();
    let forms = [&READS[..], SEARCHES, &CHANGES, &MAKES]
        .map(|forms| forms_of(forms, name))
        .concat();
    let untried = UNTRIED
        .iter()
        .filter(|(known, _)| *known == name)
        .flat_map(|(_, longs)| longs.split(' '));
    for long in untried {
        let arg = options(verb).find(|(_, known)| *known == long);
        if arg.is_none_or(|(arg, _)| has_option(&forms, arg)) {
            missing.add(
                "tests/it/every.rs",
                "const UNTRIED:",
                &format!("`{name} --{long}` is tried, or no option"),
            );
        }
    }
}

/// A form that is derived may lack what its option needs.
#[test]
fn each_form_is_understood() {
    let mut wrong = String::new();
    for line in [&READS[..], &CHANGES, &MAKES].concat() {
        let s = Sandbox::with(&["tour.jsonl"]);
        let done = s.pisess(&of(line, "./tour.jsonl")).done();
        if done.code > 1 {
            wrong += &format!(
                "tests/it/every.rs: add a form of `{line}`, or its option to UNTRIED: {done}\n"
            );
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// What is newer than the last release, in the changelog.
fn changelog(missing: &mut Missing) {
    let version = format!("version {}\n", env!("CARGO_PKG_VERSION"));
    let mut released = read(RELEASED);
    if is_blessing() && !released.starts_with(&version) {
        released = version.clone();
        for verb in verbs() {
            let options: Vec<_> = options(&verb).map(|(_, long)| long).collect();
            released += &format!("{}: {}\n", verb.get_name(), options.join(" "));
        }
        released += &format!("{TYPES}{}\n", kinds::types().collect::<Vec<_>>().join(" "));
        fs::write(root().join(RELEASED), &released).unwrap();
    }
    if !released.starts_with(&version) {
        missing.push(RELEASED, 1, "PISESS_BLESS=1 cargo test --test it complete");
    }
    let text = read("CHANGELOG.md");
    let (_, unreleased) = text.split_once("## [Unreleased]").unwrap_or_default();
    let unreleased = unreleased.split("\n## [").next().unwrap_or_default();
    let types = released
        .lines()
        .find_map(|line| line.strip_prefix(TYPES))
        .unwrap_or_default();
    for name in kinds::types().filter(|name| !types.split(' ').any(|known| known == *name)) {
        if !unreleased.contains(&format!("`{name}`")) {
            missing.add(
                "CHANGELOG.md",
                "## [Unreleased]",
                &format!("add a line about `{name}`"),
            );
        }
    }
    for verb in verbs() {
        let name = verb.get_name();
        let known = released
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        let mut add = |what: &str| {
            if !unreleased.contains(&format!("`{what}`"))
                && !unreleased.contains(&format!("`{what} "))
            {
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

/// The keys of `--json`, in `docs/json.md`.
fn fields(missing: &mut Missing) {
    const JSON: &str = "docs/json.md";
    let text = read(JSON);
    let of_verb = |verb: &str| {
        let blocks = text.split("\n**").skip(1);
        let names = |block: &&str| {
            let heading = block.split(": ").next().unwrap_or_default();
            [format!("`{verb}`"), format!("`{verb} ")]
                .iter()
                .any(|name| heading.contains(name))
        };
        blocks.filter(names).collect::<String>()
    };
    for verb in verbs() {
        let name = verb.get_name();
        let has_json = options(&verb).any(|(_, long)| long == "json");
        let mut lines = [&READS[..], SEARCHES]
            .map(|forms| forms_of(forms, name))
            .concat();
        lines.retain(|line| {
            ["--json", "--prepare"]
                .iter()
                .any(|option| line.contains(option))
        });
        let mut lines: Vec<_> = lines.into_iter().map(str::to_owned).collect();
        if has_json {
            let planned = [&CHANGES[..], &MAKES]
                .map(|forms| forms_of(forms, name))
                .concat();
            lines.extend(planned.iter().map(|form| format!("{form} -n --json")));
        }
        if name == "context" {
            lines.push("context F".to_owned());
        }
        let described = of_verb(name);
        if described.is_empty() && !lines.is_empty() {
            missing.add(
                JSON,
                "# The JSON",
                &format!("add a paragraph **`{name} --json`**"),
            );
        }
        let mut keys = BTreeSet::new();
        lines
            .iter()
            .for_each(|line| keys.extend(keys_of(line, &rows_of(line))));
        for forms in LAST.iter().filter(|forms| verb_of(forms[0]) == name) {
            keys.extend(keys_of(forms[forms.len() - 1], &rows_of_last(forms)));
        }
        if ["path", "show"].contains(&name) {
            continue;
        }
        for key in keys {
            let is_word = |code: &str| {
                code.split(|c: char| !c.is_alphanumeric())
                    .any(|word| word == key.1)
            };
            let words = |text: &str| text.split('`').skip(1).step_by(2).any(is_word);
            if !words(if key.0 { &text } else { &described }) {
                let place = format!("**`{name} --json`**");
                missing.add(
                    JSON,
                    &place,
                    &format!("describe the field `{}` of `{name}`", key.1),
                );
            }
        }
    }
}

/// Returns the rows that a form prints for several sessions.
fn rows_of(form: &str) -> String {
    let s = Sandbox::with(&["tour.jsonl", "v1.jsonl", "hazards/torn-tail.jsonl"]);
    // A session with a secret.
    let secret = ["AKIA", "IOSFODNN7ABCDEFG"].concat();
    s.put("secret.jsonl", session(&[user("aaaa0001", None, &secret)]));
    let names = ["tour", "v1", "torn-tail", "secret"];
    names
        .map(|name| {
            s.pisess(&of(form, &format!("./{name}.jsonl")))
                .done()
                .text()
        })
        .concat()
}

/// Returns the rows that the last of these forms prints.
fn rows_of_last(forms: &[&str]) -> String {
    let s = Sandbox::with(&["hazards/torn-tail.jsonl", "claude/tree.jsonl"]);
    s.put(
        ".pi/agent/sessions/--kites--/s.jsonl",
        fixture("tour.jsonl"),
    );
    s.put(
        ".claude/projects/-kites/tree.jsonl",
        fixture("claude/tree.jsonl"),
    );
    let run = |form: &&str| {
        s.pisess(&of(form, "./.pi/agent/sessions/--kites--/s.jsonl"))
            .at_home()
            .done()
    };
    let (last, before) = forms.split_last().unwrap();
    before.iter().for_each(|form| drop(run(form)));
    let done = run(last);
    assert!(
        done.code <= 1 && !done.text().is_empty(),
        "{forms:?}: {done}"
    );
    done.text()
}

/// Returns the keys in the rows of a form, each with whether it is in an object within the row.
fn keys_of(form: &str, rows: &str) -> Vec<(bool, String)> {
    let mut keys = Vec::new();
    for row in rows.lines() {
        let row: serde_json::Value =
            serde_json::from_str(row).unwrap_or_else(|error| panic!("{form}: {error}: {row}"));
        for (key, value) in row.as_object().into_iter().flatten() {
            keys.push((false, key.clone()));
            let within = value
                .as_object()
                .filter(|_| !STORED.contains(&key.as_str()));
            keys.extend(
                within
                    .into_iter()
                    .flatten()
                    .map(|(key, _)| (true, key.clone())),
            );
        }
    }
    keys
}
