//! What binds, what was decided, and what else must not be lost.

use super::budget::{CONSTRAINT, NOTE};
use super::previous::{Previous, Section};
use super::quote::{bare, folded, line, quoted, units, words};
use unicode_segmentation::UnicodeSegmentation;

/// Notes of each kind that are kept, the newest.
const KEPT: usize = 24;

#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Sentences of earlier requests that bind.
    pub constraints: Vec<String>,
    /// Questions to the user, and the answers.
    pub decisions: Vec<String>,
    pub context: Vec<String>,
}

impl Notes {
    /// Takes in what binds in a request that is over: sentences with an exclamation mark.
    pub fn heed(&mut self, request: &str) {
        let prose = request.lines().filter(|line| !line.starts_with(['$', '>', '|', ' ', '\t']));
        for sentence in prose.flat_map(str::unicode_sentences).map(|part| bare(part.trim())) {
            let binds = sentence.ends_with(['!', '！']) && words(sentence) >= 1.5;
            if binds && units(sentence) <= CONSTRAINT {
                push(&mut self.constraints, quoted(sentence, CONSTRAINT));
            }
        }
    }

    /// Takes in an answer to a question.
    pub fn decided(&mut self, question: &str, answer: &str) {
        let (question, answer) = (quoted(question, NOTE), quoted(answer, NOTE));
        push(&mut self.decisions, format!("Asked {question}, the user answered {answer}"));
    }

    /// Takes in a quotation, in place of an older one from the same source.
    pub fn note(&mut self, source: &str, text: &str) {
        let start = format!("{}: ", line(source, 80));
        self.context.retain(|known| !known.starts_with(&start));
        if !text.trim().is_empty() {
            push(&mut self.context, format!("{start}{}", quoted(text, NOTE)));
        }
    }

    /// Takes in the addresses that a message of the user's names.
    pub fn addresses(&mut self, text: &str) {
        let parts = text.split(|c: char| c.is_whitespace() || "<>\"'`()[]|，。；、".contains(c));
        let is_address = |part: &&str| part.contains("://") || part.starts_with("git@");
        for address in parts.filter(is_address).filter(|part| part.len() < 200).take(4) {
            let address = address.trim_end_matches(['.', ',', ';', ':', '!', '?']);
            push(&mut self.context, format!("The user named {}", line(address, 200)));
        }
    }

    /// Takes in the summary of another branch.
    pub fn explored(&mut self, branch: &Previous) {
        let sections =
            [Section::Goal, Section::Done, Section::InProgress, Section::Blocked, Section::Context];
        let points = sections.iter().flat_map(|section| branch.of(*section).take(2));
        let points: Vec<&str> = branch.request.as_deref().into_iter().chain(points).collect();
        let points: Vec<String> = points.into_iter().map(|point| line(point, NOTE / 2)).collect();
        if !points.is_empty() {
            push(&mut self.context, format!("On another branch: {}", line(&points.join("; "), 2 * NOTE)));
        }
    }
}

/// Adds a note, in place of one that says the same.
fn push(list: &mut Vec<String>, text: String) {
    list.retain(|known| folded(known) != folded(&text));
    if list.len() == KEPT {
        list.remove(0);
    }
    list.push(text);
}
