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
    waiting: Vec<Text<'static>>,
    /// The texts that a line `remove` made messages, and whose attachments may follow.
    delivered: Vec<Text<'static>>,
}

impl PromptQueue {
    /// Reads a line of the queue. Returns the text that the turn takes up, if it does and no
    /// attachment had it before.
    pub fn read_operation(&mut self, line: Raw) -> Option<Text<'static>> {
        let operation = line.get("operation")?;
        let text = non_empty_text(line, "content").map(Text::into_owned);
        if operation.is("enqueue") {
            self.waiting.extend(text);
        } else if operation.is("dequeue") {
            let first = self.waiting.first().cloned();
            self.take_waiting(&first?);
        } else if operation.is("popAll") {
            self.waiting.clear();
        } else if operation.is("remove") {
            let text = text.or_else(|| self.waiting.first().cloned())?;
            let is_taken_back =
                non_empty_text(line, "reason").is_some_and(|reason| reason != *"absorbed_mid_turn");
            if self.take_waiting(&text) && !is_taken_back && !text.is_blank() {
                self.delivered.push(text.clone());
                return Some(text);
            }
        }
        None
    }

    /// Takes a text of an attachment from the queue. Returns whether it became a message before.
    pub fn take_attached(&mut self, text: &Text) -> bool {
        self.take_waiting(text);
        take_first(&mut self.delivered, text)
    }

    fn take_waiting(&mut self, text: &Text) -> bool {
        take_first(&mut self.waiting, text)
    }
}

/// Removes the first of these texts that is equal to `text`. Returns whether there was one.
fn take_first(texts: &mut Vec<Text<'static>>, text: &Text) -> bool {
    let Some(at) = texts.iter().position(|other| other == text) else {
        return false;
    };
    texts.remove(at);
    true
}
