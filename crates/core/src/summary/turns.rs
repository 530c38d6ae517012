//! Turns: a request and the replies to it.

use super::budget::*;
use super::condense::condense_request;
use super::cut::cut_middle;
use super::ended_turns::shorten_request;
use super::list_items::keep_number;
use super::long_paths::shorten_paths;
use super::message::{ReplyEnd, only_leads_over};
use super::nods::strip_nods;
use super::proposals::Proposal;
use super::quote::{count_utf16, first_chars, is_narrower, quote_line, strip_digits};
use super::sections::{LAST_WORDS_LEAD, REMARK_LEAD, REPLIED_LEAD, REQUEST_LEAD, Sections};
use super::tables::find_value_table;
use std::ops::Range;

#[derive(Debug, Default)]
pub(super) struct Turn {
    pub number: usize,
    /// The id of the request's entry.
    pub entry: String,
    /// The request, with later additions.
    pub request: String,
    /// The messages of the request in which no wishes and choices were searched yet.
    pub unsearched: Vec<String>,
    /// The words with which the user refused calls.
    pub refusals: Vec<String>,
    pub reply_end: ReplyEnd,
    /// The assistant's remarks, including its last words.
    pub remarks: Vec<String>,
    pub call_count: usize,
    /// The number of calls before the last words.
    pub calls_before_words: usize,
    /// The last message that was added to the request after it was replied to, as an answer.
    pub nod: String,
    /// The number of calls before the last message that was added.
    pub calls_before_addition: usize,
    /// The number of values that were measured, once the turn has ended.
    pub value_count: usize,
    /// The items of a numbered list in the last words, once the turn has ended: a later request may
    /// name them by their numbers.
    pub numbered_items: Vec<String>,
    /// How often the same request was made before.
    pub repeats: usize,
    /// How those requests ended, if in another way, oldest first.
    pub earlier_ends: Vec<String>,
}

impl Turn {
    /// Restores the turn that was current when a previous summary was written: the request that it
    /// quotes word for word, the assistant's remarks and last words, and whether the request was
    /// answered. `None` if it quotes no request, as a summary that a model wrote.
    pub fn from_previous(previous: &Sections) -> Option<Turn> {
        let request = previous.find_quotation(REQUEST_LEAD)?;
        let is_answered = previous.rests_with_lead(REPLIED_LEAD).next().is_some();
        let reply_end = if is_answered {
            ReplyEnd::Done
        } else {
            ReplyEnd::NoReply
        };

        let mut remarks = Vec::new();
        for remark in previous.rests_with_lead(REMARK_LEAD) {
            remarks.push(remark.trim_matches('"').to_owned());
        }
        if let Some(last_words) = previous.find_quotation(LAST_WORDS_LEAD) {
            remarks.push(last_words.text.to_owned());
        }
        Some(Turn {
            entry: entry_in_lead(request.lead_rest).to_owned(),
            request: request.text.to_owned(),
            unsearched: vec![request.text.to_owned()],
            reply_end,
            remarks,
            ..Turn::default()
        })
    }

    pub fn from_message(number: usize, entry: String, text: &str) -> Turn {
        Turn {
            number,
            entry,
            request: text.to_owned(),
            unsearched: vec![first_chars(text, WHOLE_REQUEST).to_owned()],
            ..Turn::default()
        }
    }

    /// Appends a later user message to the request, below a line with the occasion: it was sent
    /// during the work, or answers the assistant's question. The request then waits for a reply
    /// again.
    pub fn add_to_request(&mut self, text: &str) {
        let lead = if self.is_answered() {
            text.clone_into(&mut self.nod);
            ANSWER_LEAD
        } else {
            ADDITION_LEAD
        };
        // After `is_answered`, which reads it.
        self.reply_end = ReplyEnd::NoReply;
        self.calls_before_addition = self.call_count;
        if self.request.trim_end() == text.trim_end() {
            // The same request again, as after an interruption.
            return;
        }

        let request = format!("{}{}{text}", self.request, separator(lead));
        self.request = cut_middle(&request, 2 * WHOLE_REQUEST);
        if self.unsearched.len() < MAX_HELD {
            let start = first_chars(text, WHOLE_REQUEST);
            self.unsearched.push(start.to_owned());
        }
    }

    /// Records how the newest reply ended, and its text as a remark. A text that only announces the
    /// next call ("Now the tests:") is left out. Of more than [`MAX_HELD`] remarks, the first is
    /// kept, which is often a plan, and the newest.
    pub fn add_reply(&mut self, text: &str, stop: &ReplyEnd) {
        self.reply_end.clone_from(stop);
        if text.trim().is_empty() || is_note(text) || only_leads_over(text, stop) {
            return;
        }
        self.remarks.push(text.to_owned());
        self.calls_before_words = self.call_count;

        // The remark at index 0 is kept. The range is empty unless more than `MAX_HELD` follow it.
        let newest_start = self.remarks.len().saturating_sub(MAX_HELD).max(1);
        self.remarks.drain(1..newest_start);
    }

    /// Records that the user cut the newest reply short, if it has no words: it may only have begun
    /// to think, and seems complete. One with words says what was done.
    pub fn interrupt_wordless_reply(&mut self) {
        let has_words = !self.last_words().is_empty() && self.calls_before_words == self.call_count;
        if self.is_answered() && !has_words {
            self.reply_end = ReplyEnd::Interrupted;
        }
    }

    /// Finds a table of values in the last remark. Returns the remark and the byte range of the
    /// table's rows, to replace them.
    pub fn table_in_last_remark(&mut self) -> Option<(&mut String, Range<usize>)> {
        let remark = self.remarks.last_mut()?;
        let rows = find_value_table(remark)?;
        Some((remark, rows))
    }

    /// Returns the first message of the request, if another one was added while it was being worked
    /// on.
    pub fn message_before_addition(&self, addition: &str) -> Option<&str> {
        let (before, added) = self.request.split_once(&separator(ADDITION_LEAD))?;
        if !added.contains(addition) {
            return None;
        }
        // An answer may have been added before.
        before.split(&separator(ANSWER_LEAD)).next()
    }

    /// Quotes the request on one line of at most `max` UTF-16 units. What the user added to it
    /// follows `then:`, as in `"Draw the map; then: with the harbours"`.
    pub fn quote_request(&self, max: usize) -> String {
        let mut request = self.request_without_nod().to_owned();
        for lead in [ANSWER_LEAD, ADDITION_LEAD] {
            request = request.replace(&separator(lead), "; then: ");
        }
        // Praise at the start, and folders, matter less than what would be cut off for them.
        let without_folders;
        let shown = if count_utf16(&request) > max {
            without_folders = shorten_paths(strip_nods(&request));
            &*without_folders
        } else {
            &request
        };
        if max < SPECIFICATION {
            return quote_line(&keep_number(shown), max);
        }
        let condensed = condense_request(shown, max);
        quote_line(&keep_number(&condensed), max)
    }

    /// Returns the request without an answer at its end that called for no work: that is quoted
    /// where the end of the turn is described.
    fn request_without_nod(&self) -> &str {
        let Some(nod) = self.unworked_nod() else {
            return &self.request;
        };
        let addition = format!("{}{nod}", separator(ANSWER_LEAD));
        self.request.trim_end_matches(&addition)
    }

    /// Returns the assistant's last words.
    pub fn last_words(&self) -> &str {
        self.remarks.last().map_or("", String::as_str)
    }

    /// Whether the assistant completed its reply, also if the session does not have it.
    pub fn is_answered(&self) -> bool {
        matches!(self.reply_end, ReplyEnd::Done | ReplyEnd::Missing)
    }

    /// Whether the turn has this request: as it was sent, shortened when the turn ended, or as the
    /// first or the last of the messages that were joined.
    pub fn has_request(&self, text: &str) -> bool {
        let text = text.trim();
        let is_first = self.request.starts_with(&format!("{text}\n"));
        let is_last = self.request.ends_with(&format!("\n{text}"));
        is_first || is_last || self.request == text || self.request == shorten_request(text)
    }

    /// Whether there were calls since the request, or since the last message that was added to it.
    pub fn has_new_calls(&self) -> bool {
        self.call_count > self.calls_before_addition
    }

    /// Whether the assistant completed a reply, also if the user then added an answer to it.
    pub fn is_replied_to(&self) -> bool {
        self.is_answered() || !self.nod.is_empty()
    }

    /// Returns the user's answer to the reply, if it called for no work and has no reply.
    pub fn unworked_nod(&self) -> Option<&str> {
        let is_unworked = self.reply_end == ReplyEnd::NoReply && !self.has_new_calls();
        (is_unworked && !self.nod.is_empty()).then_some(&*self.nod)
    }

    /// Returns what the reply proposes, if it is complete.
    pub fn proposal(&self) -> Option<Proposal<'_>> {
        if !self.is_answered() {
            return None;
        }
        Proposal::find(&self.request, self.last_words())
    }

    /// Returns what the reply proposed, also if the user then added an answer to it.
    pub fn proposal_before_answer(&self) -> Option<Proposal<'_>> {
        if !self.is_replied_to() {
            return None;
        }
        Proposal::find(&self.request, self.last_words())
    }

    /// Quotes what the reply offers, if a short message goes back to it, but does not decide on it:
    /// "later".
    pub fn quote_offer_before(&self, message: &str) -> Option<String> {
        let proposal = Proposal::find(&self.request, self.last_words())?;
        let is_remark = is_narrower(message, SHORT_REQUEST) && !proposal.is_answered_by(message);
        if proposal.asks() && is_remark {
            Some(quote_line(proposal.sentence(), OLDEST))
        } else {
            None
        }
    }

    /// Whether the next message came before any reply. It must be an earlier turn: the current one
    /// may still get a reply. What precedes the first request is a turn, too, but requests nothing.
    pub fn is_passed_over(&self) -> bool {
        let is_unanswered = self.reply_end == ReplyEnd::NoReply && self.call_count == 0;
        is_unanswered && !self.request.is_empty()
    }

    /// Whether the user cut the reply short.
    pub fn is_interrupted(&self) -> bool {
        self.reply_end == ReplyEnd::Interrupted
    }

    /// Returns the form in which turns of a series are equal: request and last words without their
    /// digits.
    pub fn series_key(&self) -> (String, String) {
        (strip_digits(&self.request), strip_digits(self.last_words()))
    }
}

/// Whether a text is only a note in brackets, as programs leave it in place of words that they
/// removed: `[Old reply removed to save space]`.
fn is_note(text: &str) -> bool {
    let Some(after_bracket) = text.trim().strip_prefix('[') else {
        return false;
    };
    let Some(words) = after_bracket.strip_suffix(']') else {
        return false;
    };
    // A single word may be an answer: `[yes]`. With more brackets or lines, it is a list.
    words.contains(' ') && !words.contains(['[', '\n'])
}

/// The lines above what was added to a request.
const ANSWER_LEAD: &str = "(Answered to the assistant's question:)";
const ADDITION_LEAD: &str = "(Added while it was being worked on:)";

/// Returns what separates an addition from the request before it: an empty line, and the line with
/// the occasion.
fn separator(lead: &str) -> String {
    format!("\n\n{lead}\n")
}

/// Returns the entry from the rest of the line above a request: `e1)`, or `e1; asked 3 times)`.
fn entry_in_lead(lead_rest: &str) -> &str {
    let facts = lead_rest.trim_end_matches(')');
    facts.split(';').next().unwrap_or_default()
}
