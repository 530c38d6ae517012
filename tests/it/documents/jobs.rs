//! The table of jobs in `docs/jobs.md`, and the block of the README that takes eight from it.

use super::{Desk, root};
use std::fs;

/// What the test puts in place of the names in commands. Of two REFs, the second is the other.
const PLACEHOLDERS: [(&str, &str); 16] = [
    ("FILE:LINE", "session.jsonl:2"),
    ("PATTERN", "midnight"),
    ("SESSION COPY", "session.jsonl copy.jsonl"),
    ("OTHER", "copy.jsonl"),
    ("archive --restore SESSION", "archive --restore 6e8a4d70"),
    ("SESSION", "session.jsonl"),
    ("edit session.jsonl REF", "edit session.jsonl 86e2a1fb"),
    ("REF REF", "5c07d14b 2f5dc03e"),
    (
        "--before session.jsonl REF",
        "--before session.jsonl 86e2a1fb",
    ),
    (
        "--file FILE session.jsonl REF",
        "--file src/clock.rs session.jsonl 648dc1b3",
    ),
    ("REF", "5c07d14b"),
    ("NAME", "evening"),
    ("OLD", "/home/u/code/ferry"),
    ("NEW", "."),
    ("-o DIR/ DIR", "-o pages/ sessions"),
    ("DIR", "sessions"),
];

/// What a command needs to have been done, by a part of the command.
const PREPARATIONS: [(&str, &str); 2] = [
    (
        "archive --restore",
        "find home -name '*.jsonl' -exec touch -d 2026-03-20 {} + && pisess archive --all --older-than 90d",
    ),
    ("list -l evening", "pisess append --name evening 6e8a4d70"),
];

/// A row of the table of jobs.
struct Job {
    heading: String,
    /// The commands in its second cell: those that begin with `pisess`.
    commands: Vec<String>,
}

fn jobs() -> Vec<Job> {
    let text = fs::read_to_string(root().join("docs/jobs.md")).unwrap();
    let (_, text) = text.split_once("\n## Jobs\n").unwrap();
    let (text, _) = text.split_once("\n## ").unwrap();
    let mut jobs = Vec::new();
    let mut heading = "";
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("### ") {
            heading = title;
        }
        let row = line.strip_prefix("| ");
        let Some((_, cell)) = row.and_then(|row| row.split_once(" | ")) else {
            continue;
        };
        if cell.starts_with("command") || cell.starts_with("---") {
            continue;
        }
        let mut commands = Vec::new();
        for (index, part) in cell.replace("\\|", "|").split('`').enumerate() {
            if index % 2 == 1 && part.contains("pisess ") {
                commands.push(part.to_owned());
            }
        }
        assert!(!commands.is_empty(), "{line}");
        jobs.push(Job {
            heading: heading.to_owned(),
            commands,
        });
    }
    jobs
}

#[test]
fn the_jobs_have_the_headings_of_the_help() {
    let mut headings: Vec<String> = Vec::new();
    for (group, _) in pisess::command_groups() {
        let heading = format!("{}{}", group[..1].to_uppercase(), &group[1..]);
        if headings.last() != Some(&heading) {
            headings.push(heading);
        }
    }
    let jobs = jobs();
    let mut found: Vec<&str> = jobs.iter().map(|job| &*job.heading).collect();
    found.dedup();
    assert_eq!(found, headings);
    for heading in &headings {
        let rows = jobs.iter().filter(|job| job.heading == *heading).count();
        assert!((5..=7).contains(&rows), "{heading}: {rows} rows");
    }

    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, features) = readme.split_once("\n## What it does\n").unwrap();
    let named: Vec<&str> = features
        .lines()
        .filter_map(|line| line.strip_prefix("- **")?.split_once("**"))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(named, headings);
}

#[test]
fn eight_jobs_stand_in_the_readme() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let (_, block) = readme
        .split_once("\n## Eight commands to start with\n\n```sh\n")
        .unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let jobs = jobs();
    let mut count = 0;
    for line in block.lines() {
        let (command, _) = line.split_once(" # ").unwrap();
        let command = command.trim_end().replace("last", "SESSION");
        let is_job = jobs.iter().any(|job| {
            let mut commands = job.commands.iter();
            commands.any(|job| *job == command)
        });
        assert!(is_job, "{command} is not in docs/jobs.md");
        count += 1;
    }
    assert_eq!(count, 8);
}

/// Runs the commands of the jobs, with names in place of the placeholders.
#[test]
fn the_jobs_work() {
    let mut wrong = String::new();
    for job in jobs() {
        for command in &job.commands {
            let mut line = command.clone();
            for (placeholder, value) in PLACEHOLDERS {
                line = line.replace(placeholder, value);
            }
            // A browser and an agent are replaced, and what waits forever is stopped.
            let line = line
                .replace("PATH", "out.jsonl")
                .replace("pi --session", "echo");
            let desk = Desk::stores().with_sessions();
            fs::copy(desk.path("session.jsonl"), desk.path("copy.jsonl")).unwrap();
            for (part, preparation) in PREPARATIONS {
                if line.contains(part) {
                    let (output, code) = desk.run(preparation);
                    assert_eq!(code, 0, "{preparation}\n{output}");
                }
            }
            let is_endless = line.contains("--follow");
            let line = match is_endless {
                true => format!("timeout 2 {line}"),
                false => format!("PISESS_BROWSER=true; export PISESS_BROWSER; {line}"),
            };
            let (output, code) = desk.run(&line);
            if code > 1 && !(is_endless && code == 124) {
                wrong += &format!("$ {line}\n{output}exit {code}\n\n");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
