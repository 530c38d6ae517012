//! The content of each section of the summary, within the limits of [`super::budget`].

use super::budget::*;
use super::message::ReplyEnd;
use super::proposals::is_question;
use super::quote::{
    count_fitting, count_utf16, ends_in_question, format_quotation, is_narrower, quote_line,
    strip_transitions,
};
use super::sections::*;
use super::tool_calls::fold_series;
use super::turns::{Turn, describe_end, describe_turn};
use super::{SummaryBuilder, SummarySubject};
use crate::format::format_count;
use std::cmp::Reverse;

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
        let requests = self.earlier_requests(room, &page);
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
    fn newest_points(&self, section: Section, room: usize) -> Vec<String> {
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
        if let Some(turn) = self.earlier_turns.last() {
            let request = describe_turn(turn, NEWEST, NEWEST);
            goals.push(format!("{BEFORE_LEAD}{request}"));
        }
        goals
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
    /// are those since the last commit, if there was one.
    fn describe_effects(&self) -> Vec<String> {
        let commits = self.tool_history.commit_messages();
        let since = if commits.is_empty() {
            ""
        } else {
            " since the last `git commit`"
        };
        let changed_lead = format!("{CHANGED_LEAD}{since}, newest first: ");
        let mut lists = Vec::new();
        lists.extend(join_fitting("Commits, newest first: ", &commits, SECTION));
        lists.extend(join_fitting(
            &changed_lead,
            &self.tool_history.changed_files(&self.removals),
            FILES,
        ));
        lists.extend(join_fitting(
            PASSED_LEAD,
            &self.tool_history.passed_commands(),
            LIST,
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

    /// Returns the requests before the last two, and how they ended, as far as they fit in `room`:
    /// those that weigh most, in their order. The points of Done of a previous summary come first.
    fn earlier_requests(&self, room: usize, page: &Sections) -> Vec<String> {
        let mut points = self.newest_points(Section::Done, room * 2 / 5);
        let turns = match self.earlier_turns.split_last() {
            // The last one is under Goal.
            Some((_last, turns)) => turns,
            None => &[],
        };

        // A request takes a share, and its answer another: together, two thirds of the room.
        let share = (room / (3 * turns.len().max(1))).clamp(OLDEST, NEWEST);
        let mut series = describe_series(turns, &self.weigh_turns(turns), share, |request| {
            is_quoted_in(request, page) || self.purpose.is_start_of(request)
        });
        let room_left = room.saturating_sub(items_size(&points) + LEFT_OUT_SIZE);
        let all_size: usize = series.iter().map(|series| item_size(&series.text)).sum();
        if all_size > room_left {
            let omitted = keep_heaviest(&mut series, room_left * 5 / 6);
            points.push(list_without_answers(&omitted, page, room_left / 6));
        }
        points.extend(series.into_iter().map(|series| series.text));
        points
    }
}

/// A turn, or a series of turns that follow one another and are alike.
struct TurnSeries<'t> {
    /// The first.
    turn: &'t Turn,
    /// The weight of the first: 0 in a series, whose answers are alike.
    weight: usize,
    /// Their description on one line.
    text: String,
}

/// A series of at least this many turns is described by its first and its last.
const SHORTEST_SERIES: usize = 4;

/// Describes turns, those that are alike but for numbers by the first and the last of a series. The
/// answers of the heaviest ones get [`NEWEST`], half of it, a third of it, and so on: at least
/// `share`, and [`FINDING`] if they have a weight. Their requests get `share`, or [`REMINDER`] if
/// they are quoted elsewhere. The two turns of a long series get [`OLDEST`].
fn describe_series<'t>(
    turns: &'t [Turn],
    weights: &[usize],
    share: usize,
    is_quoted_elsewhere: impl Fn(&str) -> bool,
) -> Vec<TurnSeries<'t>> {
    let mut by_weight: Vec<usize> = (0..turns.len()).collect();
    by_weight.sort_by_key(|&index| Reverse((weights[index], index)));
    let mut answer_sizes = vec![share; turns.len()];
    for (rank, &index) in by_weight.iter().enumerate() {
        let least = if weights[index] > 0 { FINDING } else { OLDEST };
        answer_sizes[index] = share.max(NEWEST / (rank + 1)).max(least);
    }

    let mut all_series = Vec::new();
    let mut start = 0;
    for alike in turns.chunk_by(|one, other| one.series_key() == other.series_key()) {
        if let [first, .., last] = alike
            && alike.len() >= SHORTEST_SERIES
        {
            let first_text = describe_turn(first, OLDEST, OLDEST);
            let last_text = describe_turn(last, OLDEST, OLDEST);
            all_series.push(TurnSeries {
                turn: first,
                weight: weights[start],
                text: format!("{first_text} … {last_text} ({} alike)", alike.len()),
            });
        } else {
            for (turn, index) in alike.iter().zip(start..) {
                let request_size = if is_quoted_elsewhere(&turn.request) {
                    REMINDER
                } else {
                    share
                };
                all_series.push(TurnSeries {
                    turn,
                    weight: weights[index],
                    text: describe_turn(turn, request_size, answer_sizes[index]),
                });
            }
        }
        start += alike.len();
    }
    all_series
}

/// Keeps the heaviest series that fit in `room`, in the order of the session: of equals, the
/// newest. Those without weight are dropped even if there is room. Returns the first turns of the
/// others, the heaviest first.
fn keep_heaviest<'t>(series: &mut Vec<TurnSeries<'t>>, room: usize) -> Vec<&'t Turn> {
    let mut by_weight: Vec<usize> = (0..series.len()).collect();
    by_weight.sort_by_key(|&index| Reverse((series[index].weight, index)));
    let mut is_kept = vec![false; series.len()];
    let mut omitted = Vec::new();
    let mut room_left = room;
    for index in by_weight {
        let size = item_size(&series[index].text);
        if series[index].weight == 0 {
            break;
        }
        // Once one does not fit, lighter ones are not taken in its place.
        if size <= room_left && omitted.is_empty() {
            is_kept[index] = true;
            room_left -= size;
        } else {
            omitted.push(series[index].turn);
        }
    }
    let mut kept = is_kept.into_iter();
    series.retain(|_| kept.next().unwrap_or_default());
    omitted
}

/// Lists the requests of turns in one line, in the order given, as far as they fit in `room`. Left
/// out are questions, which were answered and ask for nothing more, and what is quoted as a wish or
/// a decision.
fn list_without_answers(turns: &[&Turn], page: &Sections, room: usize) -> String {
    let mut requests = Vec::new();
    for turn in turns {
        let request = &turn.request;
        let is_worth = !is_narrower(request, SHORT_REPLY) && !is_question(request);
        if is_worth && !is_quoted_in(request, page) {
            requests.push(quote_line(request, OLDEST));
        }
    }
    join_fitting(WITHOUT_ANSWERS, &requests, room).unwrap_or(LEFT_OUT.to_owned())
}

/// Whether the start of a request is quoted as a wish or a decision.
fn is_quoted_in(request: &str, page: &Sections) -> bool {
    let quotation = quote_line(request, REMINDER);
    let start = quotation.trim_matches(['"', '…']);
    let sections = [Section::Constraints, Section::Decisions];
    let mut items = sections.iter().flat_map(|&section| page.items(section));
    items.any(|item| item.contains(start))
}

/// The number of units that [`REMARK_LEAD`] and the mark of its item take, about.
const REMARK_LEAD_SIZE: usize = 20;

/// The number of units to leave for [`LEFT_OUT`]: some more than it takes.
const LEFT_OUT_SIZE: usize = 80;

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

/// Returns the number of units that items take, marks included.
fn items_size(items: &[String]) -> usize {
    items.iter().map(|item| item_size(item)).sum()
}

/// Returns the number of units that an item takes, with the line break and the mark before it.
fn item_size(item: &str) -> usize {
    count_utf16(item) + 4
}

fn count_calls(number: usize) -> String {
    format_count(number, "tool call", "tool calls")
}

/// Returns a line of `lead`, as many items as fit, and the number of the others; `None` if no item
/// fits. The line takes about `room` units.
fn join_fitting(lead: &str, items: &[String], room: usize) -> Option<String> {
    // A comma and a space are between two items. The number of the other items takes 10 units.
    let sizes = items.iter().map(|item| count_utf16(item) + 2);
    let items_room = room.saturating_sub(count_utf16(lead) + 10);
    let shown_count = count_fitting(sizes, items_room);
    if shown_count == 0 {
        return None;
    }
    let mut line = format!("{lead}{}", items[..shown_count].join(", "));
    let omitted_count = items.len() - shown_count;
    if omitted_count > 0 {
        line.push_str(&format!(", {omitted_count} more"));
    }
    Some(line)
}

/// Returns the newest points that fit, in their order.
fn keep_newest(mut points: Vec<String>, room: usize) -> Vec<String> {
    let kept = count_fitting(points.iter().rev().map(|point| item_size(point)), room);
    points.split_off(points.len() - kept)
}
