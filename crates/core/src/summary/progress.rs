//! The state of the current request: what is in progress, and what is next.

use super::SummaryBuilder;
use super::announcements::only_announces;
use super::budget::*;
use super::endings::describe_reply_end;
use super::last_calls::Looks;
use super::message::ReplyEnd;
use super::prose::ends_in_question;
use super::quote::{count_fitting, count_utf16, format_quotation, quote_line, strip_transitions};
use super::sections::*;
use super::tool_calls::fold_series;
use super::turns::Turn;
use crate::format::format_count;

impl SummaryBuilder {
    /// Whether the current turn is unanswered, or a failure is open.
    fn is_unfinished(&self) -> bool {
        !self.turn.is_answered() || !self.failures.points.is_empty()
    }

    /// Whether the current turn read much and changed no file. What it found is in the assistant's
    /// remarks, and nowhere else.
    fn is_long_reading(&self) -> bool {
        let turn = &self.turn;
        turn.call_count >= LONG_READING && !self.tool_history.changes_files_in(turn.number)
    }

    /// Returns the number of UTF-16 units that decisions leave to the assistant's remarks.
    pub(super) fn room_for_findings(&self) -> usize {
        if !self.is_unfinished() || !self.is_long_reading() {
            return 0;
        }
        let mut room = 0;
        for remark in &self.turn.remarks {
            room += REMARK_LEAD_SIZE + count_utf16(remark).min(NEWEST);
        }
        room.min(FINDINGS)
    }

    /// Returns where the calls that only looked are listed: by what they found, as long as the
    /// current turn has no answer that reports it, and changed no file for it.
    fn place_of_looks(&self) -> Looks {
        let is_used =
            self.turn.is_answered() || self.tool_history.changes_files_in(self.turn.number);
        if is_used {
            Looks::AmongLast
        } else {
            Looks::ListedApart
        }
    }

    /// Returns what the calls of the current turn found, if it is listed apart, in at most `max`
    /// UTF-16 units.
    pub(super) fn list_findings(&self, max: usize) -> Option<String> {
        if self.place_of_looks() == Looks::AmongLast {
            return None;
        }
        list_below(FOUND_LEAD, &self.tool_history.describe_findings(max))
    }

    /// Returns the points of In Progress, without the assistant's remarks.
    pub(super) fn calls_and_todo_list(&self) -> Vec<String> {
        let mut points = self.newest_points(Section::InProgress, LIST);
        if self.is_unfinished() {
            let calls = self.tool_history.describe_last_calls(self.place_of_looks());
            points.extend(list_below(LAST_CALLS_LEAD, &calls));
        }
        points.extend(self.quote_todo_list());
        points
    }

    /// Quotes the todo list, if an item of it is open. One that was last set for an earlier request
    /// may be out of date: its lead says so, and after [`STALE_TURNS`] turns it is left out.
    fn quote_todo_list(&self) -> Option<String> {
        let list = &self.tool_history.todo_list;
        let age = self.turn.number.saturating_sub(list.turn_number);
        if !list.has_open_item() || age > STALE_TURNS {
            return None;
        }
        let occasion = if age > 0 {
            " for an earlier request"
        } else {
            ""
        };
        let lead = format!("{TODO_LIST_LEAD}{occasion}:");
        Some(format_quotation(&lead, &list.describe(), TASKS))
    }

    /// Quotes the assistant's remarks on unfinished work, in order: the first, which is often a
    /// plan, and the newest that fit. Once the request is done, its answer replaces them, so none
    /// is returned. A remark that is mostly one of `own_choices`, which are listed apart, is left
    /// out.
    pub(super) fn quote_remarks(&self, own_choices: &[String]) -> Vec<String> {
        if !self.is_unfinished() {
            return Vec::new();
        }
        let (remark_max, newest_max) = if self.is_long_reading() {
            (NEWEST, FINDINGS)
        } else {
            (POINT, SECTION)
        };

        let mut newest_first = fold_series(&self.quote_unlisted_remarks(own_choices, remark_max));
        let first_remark = newest_first.pop();
        let sizes = newest_first
            .iter()
            .map(|quotation| REMARK_LEAD_SIZE + count_utf16(quotation));
        newest_first.truncate(count_fitting(sizes, newest_max));

        // In order: the first remark, and then the newest, of which the oldest comes first.
        let mut remarks = Vec::new();
        for quotation in first_remark.iter().chain(newest_first.iter().rev()) {
            remarks.push(format!("{REMARK_LEAD}{quotation}"));
        }
        remarks
    }

    /// Quotes each remark but the last words, which have a place of their own, in at most `max`
    /// UTF-16 units, newest first. A remark that is mostly one of `own_choices`, or only announces
    /// what is next, is left out.
    fn quote_unlisted_remarks(&self, own_choices: &[String], max: usize) -> Vec<String> {
        let mut quotations = Vec::new();
        for remark in self.turn.remarks.iter().rev().skip(1) {
            if only_announces(remark) {
                continue;
            }
            let quotation = quote_line(strip_transitions(remark), max);
            let mut listed_choices = own_choices.iter();
            if !listed_choices.any(|choice| is_mostly(&quotation, choice)) {
                quotations.push(quotation);
            }
        }
        quotations
    }

    /// Returns how far the current request is, what a previous summary planned, and the assistant's
    /// last words. If nothing was requested and done since that summary, only what it planned.
    pub(super) fn next_steps(&self) -> Vec<String> {
        let turn = &self.turn;
        let mut steps = self.newest_points(Section::NextSteps, LIST);
        // After so many calls, nobody waits any more.
        if turn.call_count >= MANY_CALLS {
            steps.retain(|step| !step.trim_start_matches(EARLIER_MARK).starts_with("Wait"));
        }
        let has_work = turn.reply_end != ReplyEnd::NoReply || turn.call_count > 0;
        if turn.request.is_empty() && !has_work {
            return steps;
        }
        steps.insert(0, format!("1. {}", self.describe_progress()));
        if !turn.last_words().is_empty() {
            steps.push(quote_last_words(turn));
        }
        steps
    }

    /// Describes in words how far the current request is, and where to read what is next.
    fn describe_progress(&self) -> String {
        if !self.turn.is_answered() || self.turn.reply_end == ReplyEnd::Missing {
            return self.describe_open_request();
        }
        let failure_note = if self.failures.is_of_current_turn {
            ", with a failure left open (see Blocked)"
        } else {
            ""
        };
        let next = if ends_in_question(self.turn.last_words()) {
            "The reply ends in a question.".to_owned()
        } else if let Some(later_requests) = self.later_requests() {
            format!("{later_requests}: what is next is there.")
        } else {
            "What is next is below, if anything.".to_owned()
        };
        format!("{REPLIED_LEAD}{failure_note}. {next}")
    }

    /// Describes in words how far a request is that has no complete answer. If the summary ends
    /// within its turn, the kept messages, which follow the summary, may have the answer.
    fn describe_open_request(&self) -> String {
        let calls = count_calls(self.turn.call_count);
        if !self.is_split {
            let reply_end = describe_reply_end(&self.turn);
            return format!("{GO_ON_LEAD}: {reply_end}, {calls} summarized here.");
        }
        if self.later_requests().is_some() {
            return format!(
                "{ANSWER_FOLLOWS_LEAD}, then later requests: go on with the last of them. ({calls} summarized here.)"
            );
        }
        format!("{OPEN_LEAD}; its answer, if any, follows this summary. ({calls} summarized here.)")
    }
}

/// Returns a point that lists items below it. `None` if there is none.
fn list_below(lead: &str, items: &[String]) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    Some(format!("{lead}, in order:\n  - {}", items.join("\n  - ")))
}

/// A turn with this many calls, none of which changed a file, is a long reading.
const LONG_READING: usize = 15;

/// After this many calls, what an earlier summary waited for is over.
const MANY_CALLS: usize = 10;

/// The number of units that [`REMARK_LEAD`] and the mark of its item take, about.
const REMARK_LEAD_SIZE: usize = 20;

/// Whether a choice, as it is listed, quotes most of a remark.
fn is_mostly(remark: &str, choice: &str) -> bool {
    let remark = remark.trim_matches(['"', '…']);
    let choice = choice.trim_start_matches(OWN_CHOICE_LEAD).trim_matches('"');
    let is_most_of_it = 2 * choice.len() > remark.len();
    choice.contains(remark) || is_most_of_it && remark.contains(choice)
}

/// Quotes the assistant's last words, and says how many calls came after them, if any.
fn quote_last_words(turn: &Turn) -> String {
    let calls_after = turn.call_count - turn.calls_before_words;
    let lead = if calls_after > 0 {
        let calls = count_calls(calls_after);
        format!("{LAST_WORDS_LEAD}, {calls} before the end:")
    } else {
        format!("{LAST_WORDS_LEAD}:")
    };
    let max = if turn.is_answered() {
        WORDS
    } else {
        UNANSWERED_WORDS
    };
    format_quotation(&lead, turn.last_words(), max)
}

fn count_calls(number: usize) -> String {
    format_count(number, "tool call", "tool calls")
}
