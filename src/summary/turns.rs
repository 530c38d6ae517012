//! Turns (a request and the replies to it), and notes of what else must not be lost.

use super::budget::*;
use super::message::Stop;
use super::quote::{asks, bare, columns, ends, last_prose, line, prose, quoted, substance};
use super::sections::SENT;
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

#[derive(Debug, Default)]
pub(super) struct Turn {
    pub number: usize,
    /// The source of the request, and the request with later additions.
    pub origin: String,
    pub request: String,
    /// How the last reply ended; `None` if there is no reply, or its end is not known.
    pub stop: Option<Stop>,
    /// The assistant's remarks, including its last words.
    pub said: Vec<String>,
    pub calls: usize,
    /// The number of calls before the last words.
    pub calls_before_words: usize,
    /// How often the same request had the same answer before.
    pub repeats: usize,
}

impl Turn {
    /// Adds a user message sent during the work on the request, or to continue it.
    pub fn more(&mut self, text: &str) {
        self.stop = None;
        let request = format!("{}\n\n(Added while it was being worked on:) {text}", self.request);
        self.request = ends(&request, 2 * WHOLE_REQUEST);
    }

    /// Adds a reply. Of many remarks, the first and the newest are kept; those that only lead over to the next call
    /// are left out.
    pub fn hear(&mut self, text: &str, stop: Stop) {
        let leads_over = stop == Stop::ToolUse && columns(substance(text)) < REMARK;
        self.stop = Some(stop);
        if !text.trim().is_empty() && !leads_over {
            self.said.push(text.to_owned());
            self.calls_before_words = self.calls;
            if self.said.len() > NOTES {
                self.said.remove(1);
            }
        }
    }

    /// Shortens the turn to what is shown of an earlier one.
    pub fn end(&mut self) {
        self.request = ends(&self.request, OLD_TURN);
        self.said = vec![ends(self.words(), OLD_TURN)];
    }

    /// Returns the assistant's last words.
    pub fn words(&self) -> &str {
        self.said.last().map_or("", String::as_str)
    }

    /// Whether the assistant completed its reply.
    pub fn is_answered(&self) -> bool {
        matches!(self.stop, Some(Stop::Done | Stop::Asks))
    }

    /// Whether the assistant is at work.
    pub fn is_running(&self) -> bool {
        self.stop == Some(Stop::ToolUse) || self.stop.is_none() && self.calls > 0
    }

    /// Whether an extension sent the request.
    pub fn is_sent(&self) -> bool {
        self.origin.starts_with(SENT)
    }

    /// Whether the other turn had the same request, in its first line and without numbers, and the same answer: so it
    /// is with a timer's request if nothing happened.
    pub fn is_alike(&self, other: &Turn) -> bool {
        let first = |turn: &Turn| {
            let line = turn.request.lines().next().unwrap_or_default();
            line.replace(|c: char| c.is_ascii_digit(), "")
        };
        let is_same = self.words() == other.words() && self.is_answered() && other.is_answered();
        is_same && columns(&self.request) >= SHORT_REPLY && first(self) == first(other)
    }
}

/// How a constraint begins that the user added to running work, or after interrupting it.
pub(super) const CORRECTED: &str = "Said to correct the work: ";

#[derive(Debug, Default)]
pub(super) struct Notes {
    /// What earlier messages of the user ask for beyond their own request.
    pub constraints: Vec<String>,
    /// Questions and answers.
    pub decisions: Vec<String>,
    pub context: Vec<String>,
}

impl Notes {
    /// Adds what may remain binding of a message of the user: all of it, if it is short and corrects work that was
    /// under way, else the sentences with an exclamation mark or a word in capitals. A short sentence at the start is
    /// about the last reply.
    pub fn add_binding(&mut self, text: &str, corrects: bool) {
        static CAPITALS: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r"(?:^|\s)\p{Lu}{5,}\s.*\p{Ll}").expect("a constant"));
        if !corrects && !text.contains(['!', '！']) && !CAPITALS.is_match(text) {
            return;
        }
        let prose = prose(&text.chars().take(WHOLE_REQUEST).collect::<String>());
        if corrects && (REMARK..POINT).contains(&columns(&prose)) && !asks(&prose) {
            return push(&mut self.constraints, format!("{CORRECTED}{}", quoted(&prose, POINT)));
        }
        for (at, part) in prose.lines().flat_map(|line| line.unicode_sentences()).enumerate() {
            let part = bare(part.trim());
            let is_emphasized = part.ends_with(['!', '！']) || CAPITALS.is_match(part) && !asks(part);
            if is_emphasized && (if at == 0 { REMARK } else { SHORT_REPLY }..POINT).contains(&columns(part)) {
                push(&mut self.constraints, quoted(part, POINT));
            }
        }
    }

    /// Adds a question and its answer. If the answer names items of a list in the question (`2`, `b`), they are added.
    pub fn decided(&mut self, question: &str, answer: &str) {
        let is_item = |line: &str, name: &str| {
            let rest = line.trim_start_matches([' ', '*', '(', '-', '#']).strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with(['.', ')', ':']))
        };
        let names = answer.split(|c: char| !c.is_alphanumeric()).filter(|name| (1..=2).contains(&name.len()));
        let item = |name: &str| question.lines().find(|line| is_item(line, name));
        let items = names.filter_map(item).map(|item| format!("; {}", quoted(item, POINT / 2)));
        let items: String = items.take(if columns(answer) < REMARK { 3 } else { 0 }).collect();
        let (asked, answer) = (quoted(last_prose(question), POINT), quoted(answer, POINT));
        push(&mut self.decisions, format!("Asked {asked}, the user answered {answer}{items}"));
    }

    /// Adds a quotation, replacing an older one from the same source.
    pub fn note(&mut self, source: &str, text: &str) {
        let start = format!("{}: ", line(source, 80));
        self.context.retain(|known| !known.starts_with(&start));
        if !text.trim().is_empty() {
            push(&mut self.context, format!("{start}{}", quoted(text, POINT)));
        }
    }
}

/// Adds a note, replacing an equal one.
fn push(list: &mut Vec<String>, text: String) {
    list.retain(|known| *known != text);
    list.drain(..(list.len() + 1).saturating_sub(NOTES));
    list.push(text);
}
