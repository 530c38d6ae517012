//! The built-in summary of sessions in the shape of real work, cut with `--keep-recent-tokens
//! 2000`: what a reader needs to go on is in the summary or the kept part, and nothing misleads.
//!
//! `tests/summary/README.md` describes how readers score the same summaries.

mod stories;

use crate::sandbox::Sandbox;
use stories::{Story, stories};

/// Returns the summary of a story, and the summary with the kept part, as a model sees them.
fn compacted(s: &Sandbox, story: &Story) -> (String, String) {
    let name = format!("{}.jsonl", story.name);
    s.put(&name, story.file());
    s.run(&format!("compact ./{name} --keep-recent-tokens 2000"));
    let entry: serde_json::Value =
        serde_json::from_str(s.text(&name).lines().last().unwrap()).unwrap();
    let summary = entry["summary"].as_str().unwrap().to_owned();
    (summary, s.run(&format!("context ./{name} --as text")))
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
