//! The Goal section: the current request word for word, and what it goes back to.

use super::budget::*;
use super::condense::{condense_request, gains_by_condensing};
use super::endings::describe_turn;
use super::one_line::cut_line;
use super::quote::{count_utf16, format_quotation};
use super::request_lengths::longest_request;
use super::sections::{BEFORE_LEAD, NUMBERED_LEAD, REMARKED_LEAD, REQUEST_LEAD, Section};
use super::turns::Turn;
use super::{SummaryBuilder, SummarySubject};

impl SummaryBuilder {
    /// Quotes the current request, if there is one.
    pub(super) fn quote_current_request(&self) -> Option<String> {
        let request = &self.turn.request;
        if request.is_empty() {
            return None;
        }
        let lead = self.request_lead();
        let is_too_long = count_utf16(request) > WHOLE_REQUEST;
        if is_too_long && gains_by_condensing(request) {
            let condensed = condense_request(request, WHOLE_REQUEST);
            return Some(format_quotation(&lead, &condensed, WHOLE_REQUEST));
        }
        Some(format_quotation(&lead, request, WHOLE_REQUEST))
    }

    /// Returns the line above the current request, with what is known of it in parentheses: the id
    /// of its entry, how often it was made, and how many requests follow the summary.
    fn request_lead(&self) -> String {
        let mut facts = vec![self.turn.entry.clone()];
        if self.turn.repeats > 0 {
            facts.push(format!("asked {} times", self.turn.repeats + 1));
        }
        if let Some(later_requests) = self.later_requests() {
            facts.push(later_requests);
        }
        format!("{REQUEST_LEAD}{}):", facts.join("; "))
    }

    /// Returns in words how many requests follow the summary, if any.
    pub(super) fn later_requests(&self) -> Option<String> {
        match self.subject {
            SummarySubject::Conversation { later_requests: 0 } | SummarySubject::Branch => None,
            SummarySubject::Conversation { later_requests: 1 } => {
                Some("1 later request follows this summary".to_owned())
            }
            SummarySubject::Conversation { later_requests } => Some(format!(
                "{later_requests} later requests follow this summary"
            )),
        }
    }

    /// Returns what a reader may need to understand the current request: the goals of a previous
    /// summary, what the session is for, and the request before, to which the current one may
    /// refer.
    pub(super) fn background_of_request(&self) -> Vec<String> {
        let mut goals = self.goals_of_previous_summary();
        goals.extend(self.quote_purposes());
        if let Some(list) = self.quote_numbered_list() {
            goals.push(format!("{NUMBERED_LEAD}{list}"));
        }

        let turns = self.turns_under_goal();
        if let Some(turn_before) = turns.last() {
            let request_max = longest_request(&self.earlier_turns, USER_WORDS);
            // Beside a long purpose, what was answered lately matters less than the last calls.
            let has_long_purpose = goals.iter().any(|goal| count_utf16(goal) > 2 * PURPOSE);
            let answer_max = if has_long_purpose { NEWEST / 2 } else { NEWEST };
            let request = describe_turn(turn_before, request_max, answer_max);
            goals.push(format!("{BEFORE_LEAD}{request}"));
        }
        // If the turn before is only a remark, there is a second turn, to which it refers.
        if let [remarked_turn, _remark] = turns {
            let request = describe_turn(remarked_turn, NEWEST / 2, NEWEST / 2);
            goals.push(format!("{REMARKED_LEAD}{request}"));
        }
        goals
    }

    /// Returns the newest goals of a previous summary that fit in a section, and the first one in
    /// any case: a summary that a model wrote begins with the purpose of the session.
    fn goals_of_previous_summary(&self) -> Vec<String> {
        // Without a request, these goals are all that is known of it.
        let max = if self.turn.request.is_empty() {
            SECTION + GOALS_WITHOUT_REQUEST
        } else {
            SECTION
        };
        let mut goals = self.newest_points(Section::Goal, max);
        if let Some(first) = self.points.items(Section::Goal).first()
            && !goals.contains(first)
        {
            goals.insert(0, cut_line(first, PURPOSE));
        }
        goals
    }

    /// Returns the earlier turns that are described under Goal: the last, and if it is a remark
    /// without a reply, the one before, to which it most likely refers.
    pub(super) fn turns_under_goal(&self) -> &[Turn] {
        let turns = &self.earlier_turns;
        let is_remark = turns.last().is_some_and(Turn::is_passed_over);
        let count = if is_remark { 2 } else { 1 };
        &turns[turns.len().saturating_sub(count)..]
    }

    /// Returns the earlier turns that are listed below Done: all but those under Goal.
    pub(super) fn listed_turns(&self) -> &[Turn] {
        let listed_count = self.earlier_turns.len() - self.turns_under_goal().len();
        &self.earlier_turns[..listed_count]
    }
}
