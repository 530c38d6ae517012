//! The content of each section of the summary, within the limits of [`super::budget`].

use super::budget::*;
use super::fitting::{item_size, items_size, join_fitting, keep_newest};
use super::message::ReplyEnd;
use super::quote::{
    count_fitting, count_utf16, ends_in_question, format_quotation, quote_line, strip_transitions,
};
use super::sections::*;
use super::tool_calls::fold_series;
use super::turns::{Turn, describe_end, describe_turn};
use super::{SummaryBuilder, SummarySubject};
use crate::format::format_count;

impl SummaryBuilder {
    /// Returns the summary. Sections that matter more for going on take their space first, and the
    /// list of earlier requests gets the rest. The request of the current turn has a limit of its
    /// own.
    ///
    /// Within a section, items that matter less are inserted before the items that are there
    /// already.
    pub(super) fn write_page(&self) -> String {
        let items_by_importance = [
            (Section::NextSteps, self.next_steps()),
            (Section::Goal, self.other_goals()),
            (Section::Blocked, self.blocked_points()),
            (
                Section::Constraints,
                self.newest_points(Section::Constraints, SECTION),
            ),
            (
                Section::Decisions,
                keep_newest(self.decisions.describe(self.turn.number), DECISIONS),
            ),
            (
                Section::Context,
                self.newest_points(Section::Context, SECTION),
            ),
            (Section::InProgress, self.calls_and_todo_list()),
            (Section::Done, self.describe_effects()),
            (Section::InProgress, self.quote_remarks()),
        ];
        let mut page = Sections::default();
        let mut room = OTHER_SECTIONS;
        for (section, items) in items_by_importance {
            let items = keep_newest(items, room);
            room -= items_size(&items);
            page.items_mut(section).splice(..0, items);
        }
        let outcomes = self.add_outcomes(page.items_mut(Section::Decisions), room / 2);
        room -= outcomes.size;
        let requests = self.earlier_requests(room, &page, &outcomes);
        page.items_mut(Section::Done).splice(..0, requests);

        let turn = &self.turn;
        if !turn.request.is_empty() {
            let request = format_quotation(&self.request_lead(), &turn.request, WHOLE_REQUEST);
            page.items_mut(Section::Goal).insert(0, request);
        }
        let is_branch = self.subject == SummarySubject::Branch;
        page.to_markdown(if is_branch && page.are_mostly_empty() {
            EmptySections::LeftOut
        } else {
            EmptySections::Marked
        })
    }

    /// Returns the facts for a prompt, without those of a previous summary, which the prompt
    /// quotes.
    pub(super) fn write_facts(&self) -> String {
        let mut facts = Sections::default();
        *facts.items_mut(Section::Goal) = self.purpose.describe().into_iter().collect();
        *facts.items_mut(Section::Constraints) = self.newest_points(Section::Constraints, SECTION);
        let decisions = self.decisions.describe(self.turn.number);
        *facts.items_mut(Section::Decisions) = keep_newest(decisions, DECISIONS);
        *facts.items_mut(Section::Blocked) = self.blocked_points();
        for items in facts.sections_mut() {
            items.retain(|item| !item.starts_with(EARLIER_MARK));
        }
        facts.to_markdown(EmptySections::LeftOut)
    }

    /// Returns the line above the current request.
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
    fn later_requests(&self) -> Option<String> {
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

    /// Whether the current turn is unanswered, or a failure is open.
    fn is_unfinished(&self) -> bool {
        !self.turn.is_answered() || !self.failures.points.is_empty()
    }

    /// Returns the newest points of a section that fit. Points of a previous summary are dropped if
    /// they name a path that was removed since, except wishes, which outlive the path.
    pub(super) fn newest_points(&self, section: Section, room: usize) -> Vec<String> {
        let mut points = self.points.items(section).to_vec();
        if section != Section::Constraints {
            points.retain(|point| {
                let is_earlier = point.starts_with(EARLIER_MARK);
                !(is_earlier && self.removals.are_named_in(point))
            });
        }
        keep_newest(points, room)
    }

    /// Returns the goals of a previous summary, and the request before, to which the current one
    /// may refer.
    fn other_goals(&self) -> Vec<String> {
        let mut goals = self.newest_points(Section::Goal, SECTION);
        goals.extend(self.purposes());
        if let [.., turn] = self.turns_under_goal() {
            let request = describe_turn(turn, NEWEST, NEWEST);
            goals.push(format!("{BEFORE_LEAD}{request}"));
        }
        if let [origin, _] = self.turns_under_goal() {
            let request = describe_turn(origin, NEWEST / 2, NEWEST / 2);
            goals.push(format!("{REMARKED_LEAD}{request}"));
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

    /// Returns the points of In Progress, without the assistant's remarks.
    fn calls_and_todo_list(&self) -> Vec<String> {
        let mut points = self.newest_points(Section::InProgress, LIST);
        if self.is_unfinished() {
            let calls = self.tool_history.last_calls();
            if !calls.is_empty() {
                let calls = calls.join("\n  - ");
                points.push(format!("{LAST_CALLS_LEAD}, in order:\n  - {calls}"));
            }
        }
        if !self.tool_history.todo_list.is_empty() {
            points.push(format_quotation(
                TODO_LIST_LEAD,
                &self.tool_history.todo_list,
                SECTION,
            ));
        }
        points
    }

    /// Returns the failures, then those of a previous summary that are not settled, as far as they
    /// fit, and the number of the others.
    fn blocked_points(&self) -> Vec<String> {
        let mut points = self.failures.points.clone();
        for point in self.newest_points(Section::Blocked, LIST) {
            let failure = point.trim_start_matches(EARLIER_MARK);
            if !self.tool_history.is_settled(failure) {
                points.push(point);
            }
        }
        let shown_count = count_fitting(points.iter().map(|point| item_size(point)), SECTION);
        let omitted_count = points.len() - shown_count;
        points.truncate(shown_count);
        if omitted_count > 0 {
            points.push(format!(
                "{omitted_count} more failed without a later success."
            ));
        }
        points
    }

    /// Returns what the calls did, in at most three lists: commits, changed files, commands. Files
    /// are those of the newest work: all that were changed are listed below the summary.
    fn describe_effects(&self) -> Vec<String> {
        let commits = self.tool_history.commit_messages();
        let changed = self.tool_history.changed_files(&self.removals);
        let changed_lead = format!("{CHANGED_LEAD} {}, newest first: ", changed.occasion);
        let mut lists = Vec::new();
        lists.extend(join_fitting("Commits, newest first: ", &commits, SECTION));
        lists.extend(join_fitting(&changed_lead, &changed.newest_first, FILES));
        lists.extend(join_fitting(
            PASSED_LEAD,
            &self.tool_history.passed_commands(),
            COMMANDS,
        ));
        lists
    }

    /// Returns the assistant's remarks before its last words: the first, which is often a plan, and
    /// then the newest that fit. Once the request is done, there are none.
    fn quote_remarks(&self) -> Vec<String> {
        if !self.is_unfinished() {
            return Vec::new();
        }
        // The last remark is the last words, which have a place of their own.
        let mut quotations = Vec::new();
        for remark in self.turn.remarks.iter().rev().skip(1) {
            quotations.push(quote_line(strip_transitions(remark), POINT));
        }
        let mut newest_first = fold_series(&quotations);
        let first_remark = newest_first.pop();
        let sizes = newest_first
            .iter()
            .map(|quotation| count_utf16(quotation) + REMARK_LEAD_SIZE);
        let shown_count = count_fitting(sizes, SECTION);
        newest_first.truncate(shown_count);

        let mut remarks = Vec::new();
        for quotation in first_remark.iter().chain(newest_first.iter().rev()) {
            remarks.push(format!("{REMARK_LEAD}{quotation}"));
        }
        remarks
    }

    /// Returns how far the current request is, what a previous summary planned, and the assistant's
    /// last words. If there was no work yet, only what was planned.
    fn next_steps(&self) -> Vec<String> {
        let turn = &self.turn;
        let mut steps = self.newest_points(Section::NextSteps, LIST);
        if turn.request.is_empty() && turn.reply_end == ReplyEnd::NoReply && turn.call_count == 0 {
            return steps;
        }
        steps.insert(0, format!("1. {}", self.describe_progress()));
        if !turn.last_words().is_empty() {
            steps.push(quote_last_words(turn));
        }
        steps
    }

    /// Returns a sentence on how far the current request is.
    fn describe_progress(&self) -> String {
        let turn = &self.turn;
        let failure_note = if self.failures.is_of_current_turn {
            ", with a failure left open (see Blocked)"
        } else {
            ""
        };
        let calls_done = format!("{} summarized here", count_calls(turn.call_count));
        match turn.reply_end {
            ReplyEnd::Done if ends_in_question(turn.last_words()) => {
                format!("{REPLIED_LEAD}{failure_note}. The reply ends in a question.")
            }
            ReplyEnd::Done if let Some(later_requests) = self.later_requests() => {
                format!("{REPLIED_LEAD}{failure_note}. {later_requests}: what is next is there.")
            }
            ReplyEnd::Done => {
                format!("{REPLIED_LEAD}{failure_note}. What is next is below, if anything.")
            }
            _ if self.is_split => {
                format!("{OPEN_LEAD}; its answer, if any, follows this summary. ({calls_done}.)")
            }
            _ => format!("{GO_ON_LEAD}: {}, {calls_done}.", describe_end(turn)),
        }
    }
}

/// The number of units that [`REMARK_LEAD`] and the mark of its item take, about.
const REMARK_LEAD_SIZE: usize = 20;

/// Quotes the assistant's last words, and says how many calls came after them, if any.
fn quote_last_words(turn: &Turn) -> String {
    let calls_after = turn.call_count - turn.calls_before_words;
    let lead = if calls_after > 0 {
        let calls = count_calls(calls_after);
        format!("{LAST_WORDS_LEAD}, {calls} before the end:")
    } else {
        format!("{LAST_WORDS_LEAD}:")
    };
    format_quotation(&lead, turn.last_words(), WORDS)
}

fn count_calls(number: usize) -> String {
    format_count(number, "tool call", "tool calls")
}
