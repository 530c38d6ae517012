//! The queue of what the user types while Claude Code works, from the lines that record it.
//!
//! ```text
//! enqueue    the text waits
//! dequeue    the first text becomes a line of the user's
//! popAll     the user takes all texts back to edit them
//! remove     the turn takes the text up
//! ```
//!
//! Older versions record no more than the last of these. Newer ones also write an attachment with
//! the text, before or after it, and then only the first of both becomes a message.

use crate::parts::non_empty_text;
use pisess_json::Raw;
use pisess_json::text::Text;

/// What waits, and what became a message.
#[derive(Default)]
pub struct PromptQueue {
    /// The texts in their order; `None` for one that its line does not have.
    waiting: Vec<Option<Text<'static>>>,
    /// The texts that a line `remove` made messages, and whose attachments may follow.
    delivered: Vec<Text<'static>>,
}

impl PromptQueue {
    /// Reads a line of the queue. Returns the text that the turn takes up, if it does and no
    /// attachment had it before. While a call waits for its result (`may_deliver` is `false`), no
    /// text is returned, because no message may stand between the two.
    pub fn read_operation(&mut self, line: Raw, may_deliver: bool) -> Option<Text<'static>> {
        let operation = line.get("operation")?;
        let text = non_empty_text(line, "content").map(Text::into_owned);
        if operation.is("enqueue") {
            self.waiting.push(text);
        } else if operation.is("dequeue") {
            if !self.waiting.is_empty() {
                self.waiting.remove(0);
            }
        } else if operation.is("popAll") {
            self.waiting.clear();
        } else if operation.is("remove") {
            let text = text.or_else(|| self.waiting.first().cloned().flatten())?;
            let is_taken_back =
                non_empty_text(line, "reason").is_some_and(|reason| reason != *"absorbed_mid_turn");
            let was_waiting = self.take_waiting(&text);
            if was_waiting && may_deliver && !is_taken_back && !text.is_blank() {
                self.delivered.push(text.clone());
                return Some(text);
            }
        }
        None
    }

    /// Takes a text of an attachment from the queue. Returns whether it became a message before.
    pub fn take_attached(&mut self, text: &Text) -> bool {
        self.take_waiting(text);
        let Some(at) = self.delivered.iter().position(|other| other == text) else {
            return false;
        };
        self.delivered.remove(at);
        true
    }

    /// Forgets the texts that became messages: the conversation has gone on, and an attachment with
    /// the same text is another message.
    pub fn forget_delivered(&mut self) {
        self.delivered.clear();
    }

    fn take_waiting(&mut self, text: &Text) -> bool {
        let is_text = |waiting: &Option<Text>| waiting.as_ref() == Some(text);
        let Some(at) = self.waiting.iter().position(is_text) else {
            return false;
        };
        self.waiting.remove(at);
        true
    }
}
