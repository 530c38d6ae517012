//! The queue of what the user types while Claude Code works, from the lines that record it.
//!
//! ```text
//! enqueue    the text waits
//! dequeue    the first text becomes a message, in a later line
//! popAll     the user takes all texts back to edit them
//! remove     the turn takes the text up
//! ```
//!
//! When the turn takes a text up, older versions write only the line `remove`. Newer ones also
//! write an attachment with the text, before or after that line. Only the first of the two becomes
//! a message.

use crate::parts::non_empty_text;
use pisess_json::Raw;
use pisess_json::text::Text;

/// What waits, and what became a message.
#[derive(Default)]
pub struct PromptQueue {
    /// The texts that wait, in order; `None` if the line `enqueue` lacks the text.
    waiting: Vec<Option<Text<'static>>>,
    /// The texts that became messages by a line `remove`. Their attachments may follow, and must
    /// not become second messages.
    delivered: Vec<Text<'static>>,
}

impl PromptQueue {
    /// Applies a line of the type `queue-operation` to the queue:
    ///
    /// ```text
    /// enqueue    the text waits
    /// dequeue    the first text becomes a message, in a later line
    /// popAll     the user takes all texts back to edit them
    /// remove     the turn takes the text up
    /// ```
    ///
    /// Returns the text that becomes a message now, because the turn takes it up and no attachment
    /// had it before. While a call waits for its result, `may_deliver` is `false`, and no text is
    /// returned: providers refuse a message between a call and its result.
    pub fn apply_operation(&mut self, line: Raw, may_deliver: bool) -> Option<Text<'static>> {
        let operation = line.get("operation")?;
        if operation.is("remove") {
            return self.apply_removal(line, may_deliver);
        }

        if operation.is("enqueue") {
            let text = non_empty_text(line, "content").map(Text::into_owned);
            self.waiting.push(text);
        } else if operation.is("dequeue") {
            // Its own line of the type `user` follows, and becomes the message.
            if !self.waiting.is_empty() {
                self.waiting.remove(0);
            }
        } else if operation.is("popAll") {
            self.waiting.clear();
        }
        None
    }

    /// Takes the text of a line `remove` from the queue: the text in the line, or else the first
    /// one that waits. Returns the text if it becomes a message.
    fn apply_removal(&mut self, line: Raw, may_deliver: bool) -> Option<Text<'static>> {
        let text = match non_empty_text(line, "content") {
            Some(named) => named.into_owned(),
            None => self.waiting.first()?.clone()?,
        };
        let was_waiting = self.take_waiting(&text);
        if !was_waiting {
            // An attachment with the text came first, and has become the message.
            return None;
        }
        // Only newer versions write a reason.
        if let Some(reason) = non_empty_text(line, "reason")
            && reason != *"absorbed_mid_turn"
        {
            // The user took the text back.
            return None;
        }
        if !may_deliver || text.is_blank() {
            return None;
        }
        self.delivered.push(text.clone());
        Some(text)
    }

    /// Takes the text of an attachment from the queue. Returns whether the text has become a
    /// message by a line `remove` already: then the attachment must not become a second one.
    pub fn take_attached(&mut self, text: &Text) -> bool {
        self.take_waiting(text);
        let position = self.delivered.iter().position(|other| other == text);
        let Some(position) = position else {
            return false;
        };
        self.delivered.remove(position);
        true
    }

    /// Forgets the texts that became messages: the conversation has gone on, and an attachment with
    /// the same text is another message.
    pub fn forget_delivered(&mut self) {
        self.delivered.clear();
    }

    /// Removes the first waiting text that equals `text`. Returns whether there was one.
    fn take_waiting(&mut self, text: &Text) -> bool {
        for (index, waiting) in self.waiting.iter().enumerate() {
            if waiting.as_ref() == Some(text) {
                self.waiting.remove(index);
                return true;
            }
        }
        false
    }
}
