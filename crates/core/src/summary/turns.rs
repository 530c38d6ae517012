//! Turns: a request and the replies to it.

use super::budget::*;
use super::message::ReplyEnd;
use super::quote::{cut_middle, display_width, strip_digits, strip_transitions};

#[derive(Debug, Default)]
pub(super) struct Turn {
    pub number: usize,
    /// The id of the request's entry.
    pub entry: String,
    /// The request, with later additions.
    pub request: String,
    pub reply_end: ReplyEnd,
    /// The assistant's remarks, including its last words.
    pub remarks: Vec<String>,
    pub call_count: usize,
    /// The number of calls before the last words.
    pub calls_before_words: usize,
    /// How often the same request had the same answer before.
    pub repeats: usize,
}

impl Turn {
    /// Adds a user message sent during the work on the request, to continue it, or to answer a
    /// question about it.
    pub fn add_to_request(&mut self, text: &str) {
        let lead = if self.is_answered() {
            "(Answered to the assistant's question:)"
        } else {
            "(Added while it was being worked on:)"
        };
        self.reply_end = ReplyEnd::NoReply;
        let request = format!("{}\n\n{lead}\n{text}", self.request);
        self.request = cut_middle(&request, 2 * WHOLE_REQUEST);
    }

    /// Adds a reply. Of many remarks, the first and the newest are kept; those that only lead over
    /// to the next call are left out.
    pub fn add_reply(&mut self, text: &str, stop: ReplyEnd) {
        let only_leads_over =
            stop == ReplyEnd::ToolUse && display_width(strip_transitions(text)) < REMARK;
        self.reply_end = stop;
        if text.trim().is_empty() || only_leads_over {
            return;
        }
        self.remarks.push(text.to_owned());
        self.calls_before_words = self.call_count;
        let newest_start = self.remarks.len().saturating_sub(MAX_HELD).max(1);
        self.remarks.drain(1..newest_start);
    }

    /// Returns the assistant's last words.
    pub fn last_words(&self) -> &str {
        self.remarks.last().map_or("", String::as_str)
    }

    /// Whether the assistant completed its reply.
    pub fn is_answered(&self) -> bool {
        self.reply_end == ReplyEnd::Done
    }

    /// Whether the other turn has the same request, by its first line without numbers, and the same
    /// answer. Turns that a timer starts are alike as long as nothing happens.
    pub fn is_alike(&self, other: &Turn) -> bool {
        self.last_words() == other.last_words()
            && self.is_answered()
            && other.is_answered()
            && display_width(&self.request) >= SHORT_REPLY
            && self.request_key() == other.request_key()
    }

    /// Returns the first line of the request without its digits.
    fn request_key(&self) -> String {
        strip_digits(self.request.lines().next().unwrap_or_default())
    }
}
