//! The types of entries: each has a sample, a row in the documentation, and rules that `append` and
//! `check` enforce.

use crate::complete::Missing;
use crate::every::{self, READS};
use crate::sandbox::{Sandbox, fixture};
use pisess::session::dialect::Dialect;
use pisess::session::entry::{Kind, KindClass, Role};
use pisess::session::schema::{Fields, Requirement};
use serde_json::Value;
use std::fs;

/// The session with a sample of each type and role, by agent.
const SAMPLES: [(Dialect, &str, &str); 2] = [
    (Dialect::Pi, "pi", "kinds/pi.jsonl"),
    (Dialect::OhMyPi, "omp", "kinds/omp.jsonl"),
];

/// The sessions with samples of what neither agent writes.
const OTHERS: [&str; 3] = [
    "kinds/pi.jsonl",
    "hazards/trailing-leaf-record.jsonl",
    "draft-tree.jsonl",
];

fn entries(file: &str) -> Vec<Value> {
    let text = String::from_utf8(fixture(file)).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn type_of(entry: &Value) -> &str {
    entry["type"].as_str().unwrap()
}

/// Returns the name of each type.
pub fn types() -> impl Iterator<Item = &'static str> {
    Kind::NAMED.iter().filter_map(|kind| kind.name())
}

const FORMAT: &str = "docs/format.md";
const CONVERSIONS: &str = "docs/import.md";

fn read_document(name: &str) -> String {
    fs::read_to_string(format!("{}/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// Reports each type and role without a sample, a step or a row.
pub fn report(missing: &mut Missing) {
    samples(missing);
    steps(missing);
    documentation(missing);
    bookkeeping(missing);
}

fn samples(missing: &mut Missing) {
    let end = |file| fixture(file).split(|byte| *byte == b'\n').count();
    for (dialect, _, file) in SAMPLES {
        let entries = entries(file);
        let kinds = Kind::NAMED
            .iter()
            .filter(|kind| kind.schema().fields.for_agent(dialect).is_some());
        for name in kinds.filter_map(|kind| kind.name()) {
            if !entries.iter().any(|entry| type_of(entry) == name) {
                missing.push(
                    &format!("fixtures/{file}"),
                    end(file),
                    &format!("add an entry of the type {name} before the last"),
                );
            }
        }
        let roles = Role::NAMED.iter().filter(|role| role.schema().is_stored);
        let roles = roles.filter(|role| role.schema().fields.for_agent(dialect).is_some());
        for name in roles.filter_map(|role| role.name()) {
            if !entries.iter().any(|entry| entry["message"]["role"] == name) {
                missing.push(
                    &format!("fixtures/{file}"),
                    end(file),
                    &format!("add a message of the role {name} before the last"),
                );
            }
        }
    }
    let others: Vec<_> = OTHERS.into_iter().flat_map(entries).collect();
    for name in types() {
        if !others.iter().any(|entry| type_of(entry) == name) && !is_written(name) {
            let file = OTHERS[0];
            missing.push(
                &format!("fixtures/{file}"),
                end(file),
                &format!("add an entry of the type {name} before the last"),
            );
        }
    }
}

/// Whether any agent writes entries of this type.
fn is_written(name: &str) -> bool {
    let fields = &Kind::named(name.as_bytes()).schema().fields;
    Dialect::ALL
        .into_iter()
        .any(|dialect| fields.for_agent(dialect).is_some())
}

/// Every command that reads is run on a sample of each type, `tree` has a row for each, and `check`
/// no findings.
#[test]
fn each_is_read() {
    let files = SAMPLES.into_iter().map(|(.., file)| file).chain(OTHERS);
    for file in files {
        let s = Sandbox::with(&[file]);
        let path = format!("./{}", file.rsplit('/').next().unwrap());
        for line in READS.iter().filter(|line| !line.contains(" -n")) {
            let done = s.unchanged(&every::of(line, &path));
            assert!(done.code <= 1, "{line} on {file}: {done}");
        }
        let rows = s
            .pisess(&format!("tree {path} --filter all --json"))
            .done()
            .text();
        let rows: Vec<Value> = rows
            .lines()
            .map(|row| serde_json::from_str(row).unwrap())
            .collect();
        let is_entry = |entry: &&Value| !["session", "title"].contains(&type_of(entry));
        assert_eq!(
            rows.len(),
            entries(file).iter().filter(is_entry).count(),
            "{file}"
        );
        for row in rows {
            let text = row["text"].as_str().unwrap();
            assert!(
                !text.is_empty() && !text.contains("undefined"),
                "{file}: {row}"
            );
        }
    }
    for (.., file) in SAMPLES {
        let s = Sandbox::with(&[file]);
        let done = s.unchanged(&format!("check ./{}", file.rsplit('/').next().unwrap()));
        assert_eq!(done.text(), "", "{file} has findings");
    }
}

/// A trajectory has a step for each type that a model sees.
fn steps(missing: &mut Missing) {
    for file in SAMPLES.into_iter().map(|(.., file)| file).chain(OTHERS) {
        let s = Sandbox::with(&[file]);
        let path = format!("./{}", file.rsplit('/').next().unwrap());
        let on_path = s.pisess(&format!("path {path} --json")).done().text();
        let steps = s
            .pisess(&format!("export {path} --as atif -o -"))
            .done()
            .text();
        for entry in on_path
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
        {
            let kind = Kind::named(type_of(&entry).as_bytes());
            // A result is in the step of its call; what a draft tree and `/clear` leave behind is
            // on no other path.
            let is_within = [Kind::Message, Kind::ResetBoundary, Kind::StackPop].contains(&kind);
            let is_step =
                kind.schema().class == KindClass::Conversation && kind != Kind::Other && !is_within;
            if is_step && !steps.contains(entry["id"].as_str().unwrap()) {
                missing.add(
                    "crates/export/src/atif/step.rs",
                    "match entry.kind",
                    &format!("add a step for {}", type_of(&entry)),
                );
            }
        }
    }
}

/// `check` reports each required field that a sample lacks, and `append` refuses the entry.
#[test]
fn each_needs_its_fields() {
    // Their absence is a defect of its own.
    let others = ["message", "role", "content", "summary", "firstKeptEntryId"];
    let mut wrong = Vec::new();
    for (dialect, _, file) in SAMPLES {
        let lines: Vec<_> = entries(file);
        for (at, entry) in lines.iter().enumerate() {
            let message = type_of(entry) == "message";
            let fields = if message {
                &Role::named(entry["message"]["role"].as_str().unwrap().as_bytes())
                    .schema()
                    .fields
            } else {
                &Kind::named(type_of(entry).as_bytes()).schema().fields
            };
            for (name, needed) in required(fields, dialect) {
                let mut lines = lines.clone();
                let inner = if message {
                    &mut lines[at]["message"]
                } else {
                    &mut lines[at]
                };
                inner
                    .as_object_mut()
                    .unwrap()
                    .remove(name)
                    .unwrap_or_else(|| panic!("{name}: {entry}"));
                let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
                let s = Sandbox::new();
                s.put("s.jsonl", &text);
                s.put("entry.jsonl", format!("{}\n", lines[at]));
                s.put("whole.jsonl", fixture(file));
                let found = s.unchanged("check ./s.jsonl --json").text();
                let is_found = found.contains("missing-field")
                    && found.contains(&format!("`{name}` is missing"));
                if !others.contains(&name) && is_found != (needed == Requirement::Always) {
                    wrong.push(format!("check: {} without {name}: {found}", type_of(entry)));
                }
                let refused = s.unchanged("append ./whole.jsonl --input ./entry.jsonl");
                if refused.code != 2 || !refused.stderr.contains(name) {
                    wrong.push(format!(
                        "append: {} without {name}: {refused}",
                        type_of(entry)
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

fn required(
    fields: &Fields,
    dialect: Dialect,
) -> impl Iterator<Item = (&'static str, Requirement)> {
    let fields = fields.for_agent(dialect).unwrap_or_default().iter();
    fields
        .filter(|field| field.requirement != Requirement::Never)
        .map(|field| (field.name, field.requirement))
}

/// Each type and role that an agent writes has a row with the agent's name and the required fields.
fn documentation(missing: &mut Missing) {
    let document = read_document(FORMAT);
    let conversions = read_document(CONVERSIONS);
    let mut look = |section: &str, name: &'static str, fields: &Fields| {
        let rows = rows(&document, section, name);
        for (dialect, agent, _) in SAMPLES
            .into_iter()
            .filter(|(dialect, ..)| fields.for_agent(*dialect).is_some())
        {
            let row = rows
                .iter()
                .find(|(agents, _)| agents == "both" || agents == agent);
            let Some((_, text)) = row else {
                missing.add(
                    FORMAT,
                    section,
                    &format!("add a row | `{name}` | {agent} |"),
                );
                continue;
            };
            for (field, _) in required(fields, dialect) {
                let is_there = text.contains(&format!("`{field}`")) || text.contains("see below");
                if !is_there {
                    missing.add(
                        FORMAT,
                        &format!("| `{name}` |"),
                        &format!("add the field `{field}` of {name}"),
                    );
                }
            }
        }
    };
    for kind in Kind::NAMED {
        look("## Entries", kind.name().unwrap(), &kind.schema().fields);
    }
    let is_mentioned = |name: &str| document.contains(&format!("`{name}`"));
    for role in Role::NAMED.iter().filter(|role| role.schema().is_stored) {
        look("## Messages", role.name().unwrap(), &role.schema().fields);
    }
    // What only one agent writes tells it from the other one, and becomes something else there.
    for name in Kind::NAMED
        .iter()
        .filter(|kind| kind.schema().fields.only_writer().is_some())
    {
        let name = name.name().unwrap();
        let agents = section(&document, "## Which agent a file belongs to");
        let listed = agents
            .lines()
            .skip_while(|line| !line.starts_with("| only pi "));
        if !listed
            .take_while(|line| line.starts_with('|'))
            .any(|line| line.contains(&format!("`{name}`")))
        {
            missing.add(
                FORMAT,
                "| only pi | only oh-my-pi |",
                &format!("add `{name}`"),
            );
        }
        if !section(&conversions, "## Between the agents").contains(&format!("`{name}`")) {
            missing.add(
                CONVERSIONS,
                "## Between the agents",
                &format!("say what becomes of `{name}`"),
            );
        }
    }
    for name in types().filter(|name| !is_mentioned(name)) {
        missing.add(FORMAT, "## Entries", &format!("mention `{name}`"));
    }
}

/// Returns what is below a heading, up to the next one.
fn section<'d>(document: &'d str, heading: &str) -> &'d str {
    let rest = document.split_once(&format!("\n{heading}\n")).unwrap().1;
    rest.split("\n## ").next().unwrap()
}

/// Returns the agents and the text of each row of `name` in a section; the name of a further row is
/// empty.
fn rows(document: &str, section: &str, name: &str) -> Vec<(String, String)> {
    let mut rows = Vec::new();
    let mut current = String::new();
    for line in self::section(document, section)
        .lines()
        .filter(|line| line.starts_with('|'))
    {
        let cells: Vec<_> = line
            .split(" | ")
            .map(|cell| cell.trim_matches(['|', ' ', '`']))
            .collect();
        if !cells[0].is_empty() {
            current = cells[0].to_owned();
        }
        if current == name && cells.len() > 1 {
            rows.push((cells[1].to_owned(), line.to_owned()));
        }
    }
    rows
}

/// The interop suite reads the list of bookkeeping from the documentation.
fn bookkeeping(missing: &mut Missing) {
    const LIST: &str = "**bookkeeping**: entries of the types";
    let document = read_document(FORMAT);
    let (_, list) = document.split_once(LIST).unwrap();
    let (list, _) = list.split_once(". None of these").unwrap();
    let listed: Vec<_> = list.split('`').skip(1).step_by(2).collect();
    let is_bookkeeping = |name: &&str| Kind::named(name.as_bytes()).is_bookkeeping();
    for name in listed.iter().copied().filter(|name| !is_bookkeeping(name)) {
        missing.add(FORMAT, LIST, &format!("remove `{name}`"));
    }
    let names = Kind::NAMED
        .iter()
        .filter_map(|kind| kind.name())
        .filter(is_bookkeeping);
    for name in names.filter(|name| !listed.contains(name)) {
        missing.add(FORMAT, LIST, &format!("add `{name}`"));
    }
}
