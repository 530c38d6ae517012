//! What binds, what was decided, and what else must not be lost.

use super::budget::{CONSTRAINT, NOTE, NOTES};
use super::quote::{bare, columns, folded, line, quoted, units};
use unicode_segmentation::UnicodeSegmentation;

#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Sentences of earlier requests that bind.
    pub constraints: Vec<String>,
    /// Questions and answers.
    pub decisions: Vec<String>,
    pub context: Vec<String>,
}

impl Notes {
    /// Takes in what binds in a request that is over: sentences with an exclamation mark.
    pub fn heed(&mut self, request: &str) {
        let prose = request.lines().filter(|line| !line.starts_with(['$', '>', '|', ' ', '\t']));
        for line in prose.filter(|line| line.contains(['!', '！'])) {
            for sentence in line.unicode_sentences().map(|part| bare(part.trim())) {
                let binds = sentence.ends_with(['!', '！']) && columns(sentence) >= 8;
                if binds && units(sentence) <= CONSTRAINT {
                    push(&mut self.constraints, quoted(sentence, CONSTRAINT));
                }
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
}

/// Adds a note, in place of one that says the same.
fn push(list: &mut Vec<String>, text: String) {
    list.retain(|known| folded(known) != folded(&text));
    list.drain(..(list.len() + 1).saturating_sub(NOTES));
    list.push(text);
}
