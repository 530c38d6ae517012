//! Sessions of people, written as scripts in `tests/summary/sessions`, with the keys by which
//! their summaries are scored, and the keys of the generated stories. The README there describes
//! the form.

use super::stories::{Story, stories};
use std::path::Path;
use std::{fs, io};

/// What is asked of a summary, in the order of the score sheet.
pub const CRITERIA: [&str; 6] = ["asked", "decided", "wishes", "files", "failed", "next"];

/// A phrase that answers a question about a session, or that misleads.
pub struct Key {
    /// One of [`CRITERIA`].
    pub criterion: String,
    /// The phrase, or several of which one is enough.
    pub phrases: Vec<String>,
    pub wants: Wants,
}

/// Whether a phrase must be in the summary.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Wants {
    Present,
    Absent,
}

/// How a session came about, and whether rules were tuned on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A script that rules were tuned on.
    Tuned,
    /// A script that no rule was written or changed with a look at.
    HeldOut,
    Generated,
}

/// A session and its keys.
pub struct Script {
    pub name: String,
    pub story: Story,
    pub keys: Vec<Key>,
    pub origin: Origin,
    /// The number of small requests so far.
    small_requests: usize,
}

/// Reads the scripts of a directory, in the order of their names.
pub fn read_scripts(directory: &Path) -> io::Result<Vec<Script>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(directory)? {
        paths.push(entry?.path());
    }
    paths.sort();
    let mut scripts = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        scripts.push(parse_script(&name, &fs::read_to_string(&path)?));
    }
    Ok(scripts)
}

/// Returns the generated stories with their keys, from a file with a line `story: NAME` above the
/// keys of each.
pub fn read_stories(keys: &Path) -> io::Result<Vec<Script>> {
    let text = fs::read_to_string(keys)?;
    let mut scripts = Vec::new();
    for story in stories() {
        let mut script = Script {
            name: story.name.to_owned(),
            story,
            keys: Vec::new(),
            origin: Origin::Generated,
            small_requests: 0,
        };
        let lead = format!("story: {}\n", script.name);
        let (_, below) = text.split_once(&lead).expect("keys of the story");
        for line in below.lines().take_while(|line| !line.is_empty()) {
            let (keyword, value) = line.split_once(": ").expect("a keyword");
            script.add_key(keyword, value);
        }
        scripts.push(script);
    }
    Ok(scripts)
}

/// Parses a script: lines `KEYWORD: TEXT`, each with the indented lines below it.
fn parse_script(name: &str, text: &str) -> Script {
    let mut script = Script {
        name: name.to_owned(),
        story: Story::new("person"),
        keys: Vec::new(),
        origin: Origin::Tuned,
        small_requests: 0,
    };
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            continue;
        }
        let (keyword, value) = line.split_once(": ").expect("a keyword");
        let mut below = Vec::new();
        while let Some(indented) = lines.next_if(|line| line.starts_with("  ")) {
            below.push(&indented[2..]);
        }
        script.add(keyword, value, &below.join("\n"));
    }
    script
}

impl Script {
    /// Adds what a keyword stands for. `below` are the lines below it: the rest of a message, or
    /// the output of a command.
    fn add(&mut self, keyword: &str, value: &str, below: &str) {
        let message = format!("{value}\n{below}");
        let story = &mut self.story;
        match keyword {
            "held-out" => self.origin = Origin::HeldOut,
            "user" => {
                story.user(message.trim_end());
            }
            "says" => {
                story.says(message.trim_end());
            }
            "aborted" => {
                story.aborted(message.trim_end());
            }
            "read" => {
                story.read(value);
            }
            "edit" => {
                story.edit("", value);
            }
            "bash" => {
                story.bash("", value, below);
            }
            "fails" => {
                story.fails("", value, below, 1);
            }
            "small" => {
                for _ in 0..value.parse().expect("a number") {
                    self.small_requests += 1;
                    story.small_request(self.small_requests);
                }
            }
            "work" => {
                story.work(4 * value.parse::<usize>().expect("a number"));
            }
            _ => self.add_key(keyword, value),
        }
    }

    /// Adds a key from `key CRITERION: PHRASE | PHRASE` or `key CRITERION not: PHRASE`.
    fn add_key(&mut self, keyword: &str, value: &str) {
        let words: Vec<&str> = keyword.split(' ').collect();
        let (criterion, wants) = match words[..] {
            ["key", criterion] => (criterion, Wants::Present),
            ["key", criterion, "not"] => (criterion, Wants::Absent),
            _ => panic!("{}: unknown keyword {keyword:?}", self.name),
        };
        assert!(CRITERIA.contains(&criterion), "{}: {criterion}", self.name);
        let phrases = value.split(" | ").map(str::to_owned).collect();
        self.keys.push(Key {
            criterion: criterion.to_owned(),
            phrases,
            wants,
        });
    }
}
