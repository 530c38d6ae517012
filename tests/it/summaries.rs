//! The built-in summary of sessions in the shape of real work, cut with `--keep-recent-tokens
//! 2000`: what a reader needs to go on is in the summary or the kept part, and nothing misleads.
//!
//! `tests/summary/README.md` describes how readers score the same summaries.

mod people;
mod stories;

use crate::sandbox::Sandbox;
use people::{CRITERIA, Key, Origin, Script, Wants, read_scripts, read_stories};
use serde_json::{Value, json};
use std::path::Path;
use stories::{Story, stories};

/// Returns the summary of a story, and the summary with the kept part, as a model sees them.
fn compacted(s: &Sandbox, story: &Story) -> (String, String) {
    let summary = summarize_story(s, story.name, story);
    let context = s.run(&format!("context ./{}.jsonl --as text", story.name));
    (summary, context)
}

/// Compacts a story in a file with this name. Returns the summary.
fn summarize_story(s: &Sandbox, name: &str, story: &Story) -> String {
    let name = format!("{name}.jsonl");
    s.put(&name, story.file());
    s.run(&format!("compact ./{name} --keep-recent-tokens 2000"));
    let entry = last_entry(s, &name);
    entry["summary"].as_str().unwrap().to_owned()
}

fn last_entry(s: &Sandbox, name: &str) -> Value {
    serde_json::from_str(s.text(name).lines().last().unwrap()).unwrap()
}

/// Whether a summary meets the key. A failure is looked for below *Blocked* only, and what
/// misleads only where it does: a removed file may be mentioned, but not be listed.
fn is_met_by(key: &Key, summary: &str) -> bool {
    let heading = match (&*key.criterion, key.wants) {
        ("failed", _) => "### Blocked",
        ("wishes", Wants::Absent) => "## Constraints",
        ("decided", Wants::Absent) => "## Key Decisions",
        ("files", Wants::Absent) => "-files>",
        _ => "",
    };
    let below = summary.split_once(heading).map_or("", |(_, below)| below);
    let summary = match heading {
        "" => below,
        _ => below.split("\n#").next().unwrap_or_default(),
    };
    let is_present = key.phrases.iter().any(|phrase| summary.contains(phrase));
    is_present == (key.wants == Wants::Present)
}

/// Returns the part below a heading.
fn section<'a>(summary: &'a str, heading: &str) -> &'a str {
    let rest = summary.split_once(heading).unwrap().1;
    rest.split("\n#").next().unwrap()
}

#[test]
fn stories_can_be_gone_on_from() {
    let s = Sandbox::new();
    let mut tokens = Vec::new();
    for story in stories() {
        let (summary, context) = compacted(&s, &story);
        for known in &story.known {
            assert!(
                context.contains(known),
                "{}: {known:?} is not in\n{summary}",
                story.name
            );
        }
        for absent in &story.absent {
            assert!(
                !summary.contains(absent),
                "{}: {absent:?} is in\n{summary}",
                story.name
            );
        }
        let blocked = section(&summary, "### Blocked");
        for open in &story.blocked {
            assert!(
                blocked.contains(open),
                "{}: {open:?} is not in\n{blocked}",
                story.name
            );
        }
        if story.blocked.is_empty() {
            assert_eq!(blocked.trim(), "- (none)", "{}", story.name);
        }
        let places = [
            ("## Constraints", &story.constraints),
            ("## Key Decisions", &story.decisions),
        ];
        for (heading, expected) in places {
            let own = section(&summary, heading);
            expected
                .iter()
                .for_each(|part| assert!(own.contains(part), "{}: {part:?}: {own}", story.name));
        }
        tokens.push(summary.encode_utf16().count() / 4);
    }
    tokens.sort_unstable();
    assert!(tokens[tokens.len() / 2] <= 1_500, "{tokens:?}");
}

#[test]
fn read_files_are_the_newest_of_the_project() {
    let s = Sandbox::new();
    let mut story = Story::new("reads");
    story.user("Read all of these files, and say what they have in common.");
    for number in 1..=25 {
        story.read(&format!("src/{number:02}.rs"));
    }
    story.read("node_modules/left/index.js");
    story.read("/var/tmp/scratch.txt");
    story.read("src/gone.rs");
    story.bash("", "rm src/gone.rs", "");
    story.says("They have the same license header.");
    story.user("Then make a test of it, and run all of the others, too.");
    story.says(&"All of them pass. ".repeat(600));

    let summary = summarize_story(&s, "reads", &story);
    let (_, list) = summary.split_once("<read-files>\n").unwrap();
    let (list, _) = list.split_once("\n</read-files>").unwrap();
    let newest: Vec<String> = (16..=25)
        .rev()
        .map(|number| format!("src/{number:02}.rs"))
        .collect();
    let listed: Vec<&str> = list
        .lines()
        .filter(|path| path.starts_with("src/"))
        .collect();
    assert_eq!(listed, newest, "{list}");
    assert_eq!(listed.len(), list.lines().count(), "{list}");
}

#[test]
fn removed_files_stay_away_from_later_summaries_until_they_are_used() {
    let s = Sandbox::new();
    let mut story = Story::new("removed");
    story.user("Read the three maps, then tidy up the directory of the maps.");
    for name in ["old", "sea", "new"] {
        story.read(&format!("maps/{name}.svg"));
    }
    story.bash(
        "",
        "rm maps/old.svg && git mv maps/sea.svg maps/tides.svg",
        "",
    );
    story.says("maps/new.svg is left.");
    story.user("Describe the islands at length.");
    story.says(&"All of it. ".repeat(900));
    s.put("removed.jsonl", story.file());

    let read_count = |entry: &Value| entry["details"]["readFiles"].as_array().unwrap().len();
    s.run("compact -q ./removed.jsonl --keep-recent-tokens 2000");
    let first = last_entry(&s, "removed.jsonl");
    assert_eq!(
        first["details"]["removedFiles"],
        json!(["maps/old.svg", "maps/sea.svg"])
    );
    assert_eq!(read_count(&first), 3);

    // `maps/old.svg` is there again. The later lines go on from the compaction.
    let line_count = story.file().lines().count();
    story.user("Read the old map again, and say how large it is.");
    story.read("maps/old.svg");
    story.says(&"It is small. ".repeat(900));
    story.user("Thanks.");
    append_later_lines(&s, &story, line_count);
    s.run("compact -q ./removed.jsonl --keep-recent-tokens 20");
    let second = last_entry(&s, "removed.jsonl");
    let summary = second["summary"].as_str().unwrap();
    let (_, list) = summary.split_once("<read-files>\n").unwrap();
    let (list, _) = list.split_once("\n</read-files>").unwrap();
    let mut listed: Vec<&str> = list.lines().collect();
    listed.sort_unstable();
    assert_eq!(listed, ["maps/new.svg", "maps/old.svg"]);
    assert_eq!(second["details"]["removedFiles"], json!(["maps/sea.svg"]));
    assert_eq!(read_count(&second), 3);
}

/// The command writes a file of the same name in another directory.
#[test]
fn a_file_that_was_moved_to_another_directory_is_not_listed() {
    let s = Sandbox::new();
    for command in ["mv notes.md /tmp/", "rm notes.md && make > /tmp/notes.md"] {
        let mut story = Story::new("moved");
        story.user("Write the notes, and another file.");
        for path in ["notes.md", "other.md"] {
            story.edit("", path);
        }
        story.bash("", command, "");
        story.says("The notes are in /tmp.");
        story.user("Describe the islands at length.");
        story.says(&"All of it. ".repeat(900));

        let summary = summarize_story(&s, "moved", &story);
        let (_, list) = summary.split_once("<modified-files>\n").unwrap();
        assert_eq!(list, "other.md\n</modified-files>", "{command}");
    }
}

/// Appends the lines of a story after the first `line_count` to its file, below the last entry.
fn append_later_lines(s: &Sandbox, story: &Story, line_count: usize) {
    let name = format!("{}.jsonl", story.name);
    let last = last_entry(s, &name);
    let whole = story.file();
    let later: Vec<&str> = whole.lines().skip(line_count).collect();
    let first_later: Value = serde_json::from_str(later[0]).unwrap();
    let parent = first_later["parentId"].to_string();
    let later = later
        .join("\n")
        .replacen(&parent, &last["id"].to_string(), 1);
    s.put(&name, format!("{}{later}\n", s.text(&name)));
}

/// Only what was certainly removed stays away from later summaries, and only until a command
/// restores it or writes it again.
#[test]
fn removed_files_that_a_command_brings_back_are_listed_again() {
    let s = Sandbox::new();
    let mut story = Story::new("restored");
    story.user("Read the maps, then tidy up.");
    for name in ["old", "sea", "gone", "new", "docs/read"] {
        story.read(&format!("maps/{name}.svg"));
    }
    story.bash("", "rm maps/old.svg maps/sea.svg maps/gone.svg", "");
    story.bash("", "cd /tmp/t && rm read.svg", "");
    story.says("maps/new.svg is left.");
    story.user("Describe the islands at length.");
    story.says(&"All of it. ".repeat(900));
    s.put("restored.jsonl", story.file());

    s.run("compact -q ./restored.jsonl --keep-recent-tokens 2000");
    let first = last_entry(&s, "restored.jsonl");
    assert_eq!(
        first["details"]["removedFiles"],
        json!(["maps/gone.svg", "maps/old.svg", "maps/sea.svg"])
    );

    let line_count = story.file().lines().count();
    story.user("Take the old map back, and draw the sea again.");
    story.bash("", "git checkout maps/old.svg", "");
    story.bash("", "cat > maps/sea.svg <<'EOF'\n<svg/>\nEOF", "");
    story.says(&"Both are there. ".repeat(900));
    story.user("Thanks.");
    append_later_lines(&s, &story, line_count);
    s.run("compact -q ./restored.jsonl --keep-recent-tokens 20");
    let second = last_entry(&s, "restored.jsonl");
    assert_eq!(second["details"]["removedFiles"], json!(["maps/gone.svg"]));
    let summary = second["summary"].as_str().unwrap();
    let (_, list) = summary.split_once("<read-files>\n").unwrap();
    let (list, _) = list.split_once("\n</read-files>").unwrap();
    let mut listed: Vec<&str> = list.lines().collect();
    listed.sort_unstable();
    assert_eq!(
        listed,
        [
            "maps/docs/read.svg",
            "maps/new.svg",
            "maps/old.svg",
            "maps/sea.svg"
        ]
    );
}

#[test]
fn the_prompt_for_a_summarizer_quotes_the_facts_of_the_history() {
    let s = Sandbox::new();
    let mut story = Story::new("facts");
    story.user("Draw the ferry lines on the map of all the islands, and never use red.");
    story.says("Dashes or colours?").user("dashes");
    story.fails("", "make map", "map.svg:3: error: no such font", 2);
    story.says("The font is missing: `make map` fails.");
    story.user("Describe the harbours at length.");
    story.says(&"All of it. ".repeat(900));
    s.put("facts.jsonl", story.file());

    let command = "compact ./facts.jsonl --keep-recent-tokens 2000 --prompt";
    let prompt = s.run(command);
    let (_, facts) = prompt.split_once("\n\n<facts>\n").unwrap();
    let (facts, _) = facts.split_once("\n</facts>\n\n").unwrap();
    for fact in [
        "- What the session began with: \"Draw the ferry lines",
        "never use red.\"\n\n## Progress\n### Blocked\n- `make map`: exited with code 2",
        "- Asked \"Dashes or colours?\", the user answered \"dashes\"",
    ] {
        assert!(facts.contains(fact), "{fact}: {facts}");
    }
    let replaced = s.run(&format!(
        "{command} --instructions Short. --replace-instructions"
    ));
    assert!(!replaced.contains("<facts>"), "{replaced}");
}

#[test]
fn only_requests_in_the_kept_part_are_announced() {
    let s = Sandbox::new();
    let lead_after = |name: &'static str, kept: &str| {
        let mut story = Story::new(name);
        story.user("Draw the ferry lines on the map of all the islands, please.");
        story.edit("", "map.svg");
        story.says(&"They are drawn. ".repeat(600));
        story.user(kept).says(&"All of it. ".repeat(500));
        let summary = summarize_story(&s, name, &story);
        summary.lines().nth(1).unwrap().to_owned()
    };
    let of_a_request = lead_after("request", "Describe the harbours at length.");
    assert!(
        of_a_request.contains("1 later request follows this summary"),
        "{of_a_request}"
    );
    let of_a_command = lead_after("command", "/model");
    assert!(!of_a_command.contains("later request"), "{of_a_command}");
}

/// Returns the sessions of people, then the generated ones.
fn scripts_with_keys() -> Vec<Script> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/summary");
    let mut scripts = read_scripts(&directory.join("sessions")).unwrap();
    scripts.extend(read_stories(&directory.join("stories.txt")).unwrap());
    scripts
}

/// A phrase that the session does not have could never be found in its summary.
#[test]
fn sessions_have_keys_in_their_own_words() {
    for script in scripts_with_keys() {
        for criterion in CRITERIA {
            let is_asked = script.keys.iter().any(|key| key.criterion == criterion);
            let may_lack = script.origin == Origin::Generated;
            assert!(
                is_asked || may_lack,
                "{}: no key for {criterion}",
                script.name
            );
        }
        let session = script.story.file();
        for phrase in script.keys.iter().flat_map(|key| &key.phrases) {
            let escaped = phrase.replace('"', "\\\"");
            assert!(session.contains(&escaped), "{}: {phrase:?}", script.name);
        }
    }
}

/// The least share of the keys of each criterion that must be met, over the sessions that are not
/// held out.
const FLOORS: [(&str, f64); 6] = [
    ("asked", 0.9),
    ("decided", 0.75),
    ("wishes", 0.8),
    ("files", 0.8),
    ("failed", 0.8),
    ("next", 0.9),
];

#[test]
fn summaries_keep_what_was_asked_decided_and_wished() {
    let s = Sandbox::new();
    let mut met = [0; CRITERIA.len()];
    let mut all = [0; CRITERIA.len()];
    let mut missed = Vec::new();
    let mut tokens = Vec::new();
    for script in scripts_with_keys() {
        if script.origin == Origin::HeldOut {
            continue;
        }
        let summary = summarize_story(&s, &script.name, &script.story);
        if script.origin == Origin::Tuned {
            tokens.push(summary.encode_utf16().count() / 4);
        }
        for key in &script.keys {
            let criterion = CRITERIA
                .iter()
                .position(|name| *name == key.criterion)
                .unwrap();
            all[criterion] += 1;
            if is_met_by(key, &summary) {
                met[criterion] += 1;
            } else {
                missed.push(format!(
                    "{}: {}: {:?}",
                    script.name, key.criterion, key.phrases
                ));
            }
        }
    }

    for (criterion, (name, floor)) in FLOORS.into_iter().enumerate() {
        assert_eq!(name, CRITERIA[criterion]);
        let share = f64::from(met[criterion]) / f64::from(all[criterion]);
        assert!(share >= floor, "{name}: {share:.2}\n{}", missed.join("\n"));
    }
    tokens.sort_unstable();
    assert!(tokens[tokens.len() / 2] <= 1_200, "{tokens:?}");
}
