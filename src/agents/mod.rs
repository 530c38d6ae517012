//! The agents: a table of what differs between them, filled in by each.
//!
//! What an agent computes from a session is reached through [`Dialect::agent`]; other code matches on the
//! dialect only to detect, locate, lock, move or convert files. What both agents compute alike is in the callers
//! of the table's functions; the rest is in [`crate::agents::pi`] and [`crate::agents::oh_my_pi`].

pub mod stores;

pub mod prepare;
pub mod prompt;

pub mod row;

mod agent;

pub mod pi;

pub mod oh_my_pi;

pub mod readable;

pub mod convert;
pub mod request;

pub use agent::Agent;

use crate::agents::prepare::{FileOps, Preparation};
use crate::agents::prompt::{Instructions, Segment, merge, segments};
use crate::session::Session;
use crate::session::dialect::Dialect;
use crate::session::read::entry_reader::{EntryReader, Message};
use pisess_json::text::Text;
use pisess_json::write::{Object, texts};
use std::io::{self, Write};

impl Dialect {
    /// Returns the agent of these files.
    pub fn agent(self) -> &'static Agent {
        match self {
            Dialect::Pi => &pi::agent::PI,
            Dialect::OhMyPi => &oh_my_pi::agent::OH_MY_PI,
        }
    }
}

impl Session {
    /// Returns the agent of the session.
    pub fn agent(&self) -> &'static Agent {
        self.dialect.agent()
    }
}

/// Returns the prompts of a compaction, in the order in which they are sent: one, or two for a split turn.
pub fn compaction_prompts(
    preparation: &Preparation,
    instructions: &Instructions,
    bodies: &dyn EntryReader,
) -> io::Result<Vec<Vec<u8>>> {
    let agent = bodies.session().agent();
    let previous = (agent.previous_summary)(preparation, bodies)?;
    let prompt = |&segment: &Segment| {
        let messages = match segment {
            Segment::History => &preparation.messages_to_summarize,
            Segment::TurnPrefix => &preparation.turn_prefix_messages,
        };
        prompt(messages, bodies, &agent.requests.compaction(segment, previous.as_ref(), instructions))
    };
    segments(preparation).iter().map(prompt).collect()
}

/// Returns the prompt of a branch summary.
pub fn branch_prompt(
    messages: &[Message],
    instructions: &Instructions,
    bodies: &dyn EntryReader,
) -> io::Result<Vec<u8>> {
    prompt(messages, bodies, &bodies.session().agent().requests.branch(instructions))
}

/// Returns a prompt: the transcript of messages, and what is requested.
fn prompt(messages: &[Message], bodies: &dyn EntryReader, request: &Text) -> io::Result<Vec<u8>> {
    let mut prompt = b"<conversation>\n".to_vec();
    (bodies.session().agent().transcript)(messages, bodies, &mut prompt)?;
    write!(prompt, "\n</conversation>\n\n{request}")?;
    Ok(prompt)
}

/// Merges the responses to [`compaction_prompts`] into one summary.
pub fn merged_summary(preparation: &Preparation, answers: Vec<Text<'static>>) -> Text<'static> {
    let (mut history, mut turn_prefix) = (None, None);
    for (part, answer) in segments(preparation).iter().zip(answers) {
        match part {
            Segment::History => history = Some(answer),
            Segment::TurnPrefix => turn_prefix = Some(answer),
        }
    }
    merge(preparation, history, turn_prefix)
}

/// Returns file operations as JSON, as printed for a preparation.
pub fn file_ops_json(ops: &FileOps) -> Vec<u8> {
    Object::new()
        .json("read", &texts(ops.read.iter()))
        .json("written", &texts(ops.written.iter()))
        .json("edited", &texts(ops.edited.iter()))
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::*;

    fn prepared(sample: &Sample) -> Preparation {
        (sample.session.agent().prepare_compaction)(&sample.path(), &sample.bodies(), 1, None)
            .unwrap()
            .unwrap()
    }

    fn prompts(entries: &[String], instructions: &Instructions) -> Vec<String> {
        let made = chain(entries);
        let prompts = compaction_prompts(&prepared(&made), instructions, &made.bodies());
        prompts.unwrap().into_iter().map(|prompt| String::from_utf8(prompt).unwrap()).collect()
    }

    #[test]
    fn a_split_turn_has_its_own_prompt() {
        let entries = [user("a"), user("b"), assistant("c"), assistant("d")];
        let prompts = prompts(&entries, &Instructions::default());
        assert!(prompts[0].starts_with("<conversation>\n[User]: a\n</conversation>\n\n"));
        assert!(prompts[1].starts_with("<conversation>\n[User]: b\n\n[Assistant]: c\n</conversation>\n\n"));
        assert!(prompts[1].contains("## Original Request"));
    }

    #[test]
    fn a_previous_summary_is_quoted_and_instructions_are_added() {
        let entries = [user("a"), compacted("e0", ""), user("b")];
        let instructions = Instructions { text: Some("look".into()), replace: false };
        let prompt = &prompts(&entries, &instructions)[0];
        assert!(prompt.contains("</conversation>\n\n<previous-summary>\nS\n</previous-summary>\n\n"));
        assert!(prompt.contains("## Critical Context"));
        assert!(prompt.ends_with("\n\nPay particular attention to this: look"));
        let instructions = Instructions { replace: true, ..instructions };
        assert!(prompts(&entries, &instructions)[0].ends_with("</previous-summary>\n\nlook"));
    }

    #[test]
    fn a_branch_has_its_own_sections() {
        let made = chain(&[user("a")]);
        let bodies = made.bodies();
        let (messages, _) = (made.session.agent().prepare_branch)(&made.path(), &bodies).unwrap();
        let prompt = branch_prompt(&messages, &Instructions::default(), &bodies).unwrap();
        let prompt = String::from_utf8(prompt).unwrap();
        assert!(prompt.contains("## Next Steps") && !prompt.contains("## Critical Context"));
    }

    #[test]
    fn parts_are_merged_as_pi_does() {
        let made = chain(&[user("a"), assistant("b"), assistant("c")]);
        let mut prepared = prepared(&made);
        assert_eq!(segments(&prepared), [Segment::TurnPrefix]);
        let separator = "\n\n---\n\n**Turn Context (split turn):**\n\n";
        assert_eq!(
            merge(&prepared, None, Some("T".into())),
            format!("No prior history.{separator}T").as_str()
        );
        prepared.previous_summary = Some("P".into());
        assert_eq!(merge(&prepared, None, Some("T".into())), format!("P{separator}T").as_str());
        assert_eq!(merge(&prepared, Some("H".into()), None), "H");
    }
}
