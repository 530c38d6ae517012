//! Turns (a request and the replies to it), and notes of what else must not be lost.

use super::budget::{HELD, NOTES, OLD_TURN, POINT, WHOLE_REQUEST};
use super::message::Stop;
use super::quote::{bare, columns, ends, folded, line, quoted};
use unicode_segmentation::UnicodeSegmentation;

#[derive(Debug, Default)]
pub(super) struct Turn {
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
    /// Whether a later turn has begun, and the texts are not cut yet.
    pub is_uncut: bool,
}

impl Turn {
    /// Adds a user message sent during the work on the request, or to continue it.
    pub fn more(&mut self, text: &str) {
        self.stop = None;
        let request = format!("{}\n\n(Added while it was being worked on:) {text}", self.request);
        self.request = ends(&request, 2 * WHOLE_REQUEST);
    }

    /// Adds a reply. Of many remarks, the first and the newest are kept.
    pub fn hear(&mut self, text: String, stop: Stop) {
        self.stop = Some(stop);
        if !text.trim().is_empty() {
            self.said.push(text);
            self.calls_before_words = self.calls;
            if self.said.len() > NOTES {
                self.said.remove(1);
            }
        }
    }

    /// Ends the turn when the next one begins. Most turns are forgotten later, so only long texts are cut now.
    pub fn end(&mut self) {
        self.said.drain(..self.said.len().saturating_sub(1));
        self.is_uncut = true;
        if self.request.len() + self.words().len() > HELD {
            self.cut();
        }
    }

    /// Cuts the texts of an ended turn to the length that can be shown.
    pub fn cut(&mut self) {
        if std::mem::take(&mut self.is_uncut) {
            self.request = ends(&self.request, OLD_TURN);
            self.said = vec![ends(self.words(), OLD_TURN)];
        }
    }

    /// Returns the assistant's last words.
    pub fn words(&self) -> &str {
        self.said.last().map_or("", String::as_str)
    }

    /// Whether the assistant completed its reply.
    pub fn is_answered(&self) -> bool {
        matches!(self.stop, Some(Stop::Done | Stop::Asks))
    }
}

#[derive(Debug, Default)]
pub(super) struct Notes {
    /// Sentences of earlier requests that remain binding.
    pub constraints: Vec<String>,
    /// Questions and answers.
    pub decisions: Vec<String>,
    pub context: Vec<String>,
}

impl Notes {
    /// Adds the sentences of a finished request that remain binding: those with an exclamation mark.
    pub fn heed(&mut self, request: &str) {
        if !request.contains('!') && !request.contains('！') {
            return;
        }
        // Omits code, quotations and tables.
        let prose = request.lines().filter(|line| !line.starts_with(['$', '>', '|', ' ', '\t']));
        let sentences = prose.flat_map(|line| line.unicode_sentences()).map(|part| bare(part.trim()));
        let binds = |part: &&str| part.ends_with(['!', '！']) && (8..POINT).contains(&columns(part));
        sentences.filter(binds).for_each(|part| push(&mut self.constraints, quoted(part, POINT)));
    }

    /// Adds a question and its answer.
    pub fn decided(&mut self, question: &str, answer: &str) {
        let (question, answer) = (quoted(question, POINT), quoted(answer, POINT));
        push(&mut self.decisions, format!("Asked {question}, the user answered {answer}"));
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

/// Adds a note, replacing one with the same letters and digits.
fn push(list: &mut Vec<String>, text: String) {
    list.retain(|known| folded(known) != folded(&text));
    list.drain(..(list.len() + 1).saturating_sub(NOTES));
    list.push(text);
}
