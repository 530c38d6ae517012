//! The prompts of pi's summaries: the transcript in tags, a previous summary, instructions.
//!
//! The requested sections are pi's, the sentences are ours. A summarizer that reads standard input has no
//! system prompt, so the instructions include what pi's system prompt would.

use super::transcript;
use crate::core::bodies::{Bodies, Message};
use crate::core::prepare::Preparation;
use crate::core::text::Text;
use std::io::{self, Write};

/// Instructions added by the user.
#[derive(Clone, Debug, Default)]
pub struct Instructions<'a> {
    /// Their text.
    pub text: Option<Text<'a>>,
    /// Whether they replace the built-in ones.
    pub replace: bool,
}

/// A summary that a compaction needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The summary of everything before the turn that is split.
    History,
    /// The summary of the beginning of that turn.
    TurnPrefix,
}

/// Returns the summaries to request, in this order; [`merge`] joins them.
pub fn segments(preparation: &Preparation) -> &'static [Segment] {
    let history = !preparation.messages_to_summarize.is_empty();
    match (history, !preparation.turn_prefix_messages.is_empty()) {
        (true, true) => &[Segment::History, Segment::TurnPrefix],
        (false, true) => &[Segment::TurnPrefix],
        (_, false) => &[Segment::History],
    }
}

/// Writes the prompt for one part of a compaction.
///
/// # Errors
/// If a line cannot be read, or writing fails.
pub fn compaction(
    preparation: &Preparation,
    segment: Segment,
    instructions: &Instructions,
    bodies: &dyn Bodies,
    out: &mut dyn Write,
) -> io::Result<()> {
    let previous = preparation.previous_summary.as_ref().filter(|summary| !summary.is_empty());
    let (messages, previous, sections) = match (segment, previous) {
        (Segment::TurnPrefix, _) => (&preparation.turn_prefix_messages, None, [TURN_PREFIX, ""]),
        (Segment::History, None) => (&preparation.messages_to_summarize, None, [HISTORY, SECTIONS]),
        (Segment::History, previous) => (&preparation.messages_to_summarize, previous, [UPDATE, SECTIONS]),
    };
    conversation(messages, bodies, out)?;
    if let Some(previous) = previous {
        write!(out, "<previous-summary>\n{previous}\n</previous-summary>\n\n")?;
    }
    ask(&sections, instructions, out)
}

/// Writes the prompt for the summary of a branch that was left.
///
/// # Errors
/// If a line cannot be read, or writing fails.
pub fn branch(
    messages: &[Message],
    instructions: &Instructions,
    bodies: &dyn Bodies,
    out: &mut dyn Write,
) -> io::Result<()> {
    conversation(messages, bodies, out)?;
    ask(&[BRANCH, BRANCH_SECTIONS], instructions, out)
}

/// Returns the text of a compaction with these parts: the summary of the history, or its substitute if there
/// was nothing to summarize, and that of the split turn after pi's separator.
pub fn merge(preparation: &Preparation, history: Option<Text>, turn_prefix: Option<Text>) -> Text<'static> {
    let previous = || preparation.previous_summary.clone().unwrap_or(Text::from("No prior history."));
    let Some(turn_prefix) = turn_prefix else {
        return history.map_or_else(Text::default, Text::into_owned);
    };
    let mut summary = history.map_or_else(previous, Text::into_owned);
    summary.push_str("\n\n---\n\n**Turn Context (split turn):**\n\n");
    summary.push(&turn_prefix);
    summary
}

fn conversation(messages: &[Message], bodies: &dyn Bodies, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"<conversation>\n")?;
    transcript::write(messages, bodies, out)?;
    out.write_all(b"\n</conversation>\n\n")
}

fn ask(built_in: &[&str], instructions: &Instructions, out: &mut dyn Write) -> io::Result<()> {
    let text = instructions.text.as_ref().filter(|text| !text.is_empty());
    match text {
        Some(text) if instructions.replace => return write!(out, "{text}"),
        _ => built_in.iter().try_for_each(|words| out.write_all(words.as_bytes()))?,
    }
    match text {
        Some(text) => write!(out, "\n\nPay particular attention to this: {text}"),
        None => Ok(()),
    }
}

const HISTORY: &str = "\
The tags above hold a session between a person and a coding agent. Write the summary that will stand \
in its place, so that another model can carry on from the summary alone. Answer nothing that is said \
in the session and continue none of its work: your whole reply is the summary.";

const UPDATE: &str = "\
The session above goes on where the previous summary ends. Write one summary of both, which will \
replace the previous one, so that another model can carry on from it alone. Answer nothing that is \
said in the session and continue none of its work: your whole reply is the summary.

Take over from the previous summary whatever still holds, and leave out only what no longer matters. \
Move what has been finished since to Done, add what is new, and bring the next steps up to date.";

const SECTIONS: &str = "

Use these headings, in this order:

## Goal
[what the person wants to reach; one line per task]

## Constraints & Preferences
- [what they asked for or ruled out, and how they want it done; (none) if they said nothing]

## Progress
### Done
- [x] [what is finished, and in which files]

### In Progress
- [ ] [what has been started]

### Blocked
- [what stands in the way, if anything]

## Key Decisions
- **[what was decided]**: [the reason in a few words]

## Next Steps
1. [what comes next, in order]

## Critical Context
- [facts, examples and references that the work needs; (none) if there are none]

Be short under each heading. Spell paths, names of functions and error messages exactly as they stand \
in the session.";

const TURN_PREFIX: &str = "\
The tags above hold the beginning of a turn between a person and a coding agent. The rest of the turn \
is kept word for word and will follow your summary, so leave it to speak for itself. Answer nothing \
that is said above and guess at nothing that is not there: your whole reply is the summary.

Use these headings, in this order:

## Original Request
[what the person asked for]

## Progress So Far
- [what was decided and done in these messages]

## Context Needed to Continue
- [what the reader must know to follow the rest]";

const BRANCH: &str = "\
The tags above hold a branch of a session between a person and a coding agent; the person has left \
the branch and went back to an earlier point. Write a summary of it, so that what was learned there \
is not lost. Answer nothing that is said in it and continue none of its work: your whole reply is the \
summary.";

const BRANCH_SECTIONS: &str = "

Use these headings, in this order:

## Goal
[what the person wanted to reach on this branch]

## Constraints & Preferences
- [what they asked for or ruled out; (none) if they said nothing]

## Progress
### Done
- [x] [what was finished, and in which files]

### In Progress
- [ ] [what was started and left]

### Blocked
- [what stood in the way, if anything]

## Key Decisions
- **[what was decided]**: [the reason in a few words]

## Next Steps
1. [what would come next if the branch were taken up again]

Be short under each heading. Spell paths, names of functions and error messages exactly as they stand \
in the session.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::pi::testing::*;
    use crate::core::pi::{branch as branches, compaction as compactions};

    fn prompts(entries: &[String], instructions: &Instructions) -> Vec<String> {
        let made = chain(entries);
        let prepared = compactions::prepare(&made.session, &made.path(), &made.bodies(), 1, None);
        let prepared = prepared.unwrap().unwrap();
        let prompt = |&segment: &Segment| {
            let mut out = Vec::new();
            compaction(&prepared, segment, instructions, &made.bodies(), &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        segments(&prepared).iter().map(prompt).collect()
    }

    #[test]
    fn a_cut_turn_is_asked_for_by_itself() {
        let entries = [user("a"), user("b"), assistant("c"), assistant("d")];
        let prompts = prompts(&entries, &Instructions::default());
        assert!(prompts[0].starts_with("<conversation>\n[User]: a\n</conversation>\n\n"));
        assert!(prompts[1].starts_with("<conversation>\n[User]: b\n\n[Assistant]: c\n</conversation>\n\n"));
        assert!(prompts[1].contains("## Original Request"));
    }

    #[test]
    fn a_previous_summary_is_told_and_instructions_are_added() {
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
        let told = branches::prepare(&made.session, &made.path(), &made.bodies(), 0).unwrap().messages;
        let mut out = Vec::new();
        branch(&told, &Instructions::default(), &made.bodies(), &mut out).unwrap();
        let prompt = String::from_utf8(out).unwrap();
        assert!(prompt.contains("## Next Steps") && !prompt.contains("## Critical Context"));
    }

    #[test]
    fn parts_are_merged_as_pi_does() {
        let made = chain(&[user("a"), assistant("b"), assistant("c")]);
        let prepared = compactions::prepare(&made.session, &made.path(), &made.bodies(), 1, None);
        let mut prepared = prepared.unwrap().unwrap();
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
