//! The content of each section of the summary, within the limits of [`super::budget`].

use super::Extract;
use super::budget::*;
use super::message::Stop;
use super::quote::{ends_in_question, fit, quotation, quote_line, substance, units};
use super::sections::*;
use super::tool_calls::fold_series;
use super::turns::Turn;
use crate::format::counted;

impl Extract {
    /// Returns the summary. Parts take space in the order in which they matter to go on; the list
    /// of earlier requests gets the rest.
    pub(super) fn write_page(&self) -> String {
        let by_importance = [
            (Section::NextSteps, self.next_steps()),
            (Section::Goal, self.other_goals()),
            (Section::Blocked, self.blocked()),
            (
                Section::Constraints,
                self.newest_points(Section::Constraints, SECTION),
            ),
            (
                Section::Decisions,
                self.newest_points(Section::Decisions, SECTION),
            ),
            (
                Section::Context,
                self.newest_points(Section::Context, SECTION),
            ),
            (Section::InProgress, self.calls_and_todo_list()),
            (Section::Done, self.effects()),
            (Section::InProgress, self.remarks()),
        ];
        let mut page = Sections::default();
        let mut room = OTHER_SECTIONS;
        for (section, items) in by_importance {
            let items = newest(items, room);
            room -= size(&items);
            page.items_mut(section).splice(..0, items);
        }
        page.items_mut(Section::Done)
            .splice(..0, self.earlier_requests(room));

        let turn = &self.turn;
        if !turn.request.is_empty() {
            let lead = format!("{REQUEST}{}):", turn.entry);
            let request = quotation(&lead, &turn.request, WHOLE_REQUEST);
            page.items_mut(Section::Goal).insert(0, request);
        }
        page.write()
    }

    /// Whether the current turn is unanswered, or a failure is open.
    fn is_unfinished(&self) -> bool {
        !self.turn.is_answered() || !self.failures.is_empty()
    }

    /// Returns the newest points of a section that fit.
    fn newest_points(&self, section: Section, room: usize) -> Vec<String> {
        newest(self.points.items(section).to_vec(), room)
    }

    /// Returns the goals of a previous summary, and the request before, to which the current one
    /// may refer.
    fn other_goals(&self) -> Vec<String> {
        let mut goals = self.newest_points(Section::Goal, SECTION);
        if let Some(turn) = self.earlier.last() {
            let request = describe_turn(turn, NEWEST);
            goals.push(format!("The request before it: {request}"));
        }
        goals
    }

    /// Returns the points of In Progress, without the assistant's remarks.
    fn calls_and_todo_list(&self) -> Vec<String> {
        let mut points = self.newest_points(Section::InProgress, LIST);
        if self.is_unfinished() {
            let calls = self.work.last_calls();
            if !calls.is_empty() {
                let calls = calls.join("\n  - ");
                points.push(format!("{CALLS}, in order:\n  - {calls}"));
            }
        }
        if !self.work.todo.is_empty() {
            points.push(quotation(TODO_LIST, &self.work.todo, SECTION));
        }
        points
    }

    /// Returns the failures, then those of a previous summary, as far as they fit, and the number
    /// of the others.
    fn blocked(&self) -> Vec<String> {
        let mut points = self.failures.clone();
        for point in self.newest_points(Section::Blocked, LIST) {
            let is_over = self.work.is_over(point.trim_start_matches(EARLIER));
            if !is_over {
                points.push(point);
            }
        }
        let shown = fit(points.iter().map(|point| item_size(point)), SECTION);
        let more = points.len() - shown;
        points.truncate(shown);
        if more > 0 {
            points.push(format!("{more} more failed without a later success."));
        }
        points
    }

    /// Returns what the calls did: commits, changed files, commands.
    fn effects(&self) -> Vec<String> {
        let commits = self.work.commits();
        let since = if commits.is_empty() {
            ""
        } else {
            " since the last `git commit`"
        };
        let changed_lead = format!("{CHANGED}{since}, newest first: ");
        let mut lists = Vec::new();
        lists.extend(list("Commits, newest first: ", &commits, SECTION));
        lists.extend(list(&changed_lead, &self.work.changed_files(), LIST));
        lists.extend(list(PASSED, &self.work.passed(), LIST));
        lists
    }

    /// Returns the assistant's remarks before its last words: the first, which is often a plan, and
    /// the newest. Once the request is done, there are none.
    fn remarks(&self) -> Vec<String> {
        if !self.is_unfinished() {
            return Vec::new();
        }
        let before_last_words = self.turn.said.iter().rev().skip(1);
        let quotations: Vec<_> = before_last_words
            .map(|said| quote_line(substance(said), POINT))
            .collect();
        let mut newest_first = fold_series(&quotations);
        let plan = newest_first.pop();
        let shown = fit(newest_first.iter().map(|said| units(said) + 20), SECTION);
        newest_first.truncate(shown);

        let mut remarks = Vec::new();
        for said in plan.iter().chain(newest_first.iter().rev()) {
            remarks.push(format!("{SAID}{said}"));
        }
        remarks
    }

    /// Returns how far the current request is, what a previous summary planned, and the assistant's
    /// last words.
    fn next_steps(&self) -> Vec<String> {
        let turn = &self.turn;
        let mut steps = self.newest_points(Section::NextSteps, LIST);
        if turn.request.is_empty() && turn.stop == Stop::NoReply && turn.calls == 0 {
            return steps;
        }

        let failure_note = if self.failures.is_empty() {
            ""
        } else {
            ", with a failure left open (see Blocked)"
        };
        let done = format!("{} summarized here", count_calls(turn.calls));
        let next = match turn.stop {
            Stop::Done if ends_in_question(turn.last_words()) => {
                format!("{REPLIED}{failure_note}. The reply ends in a question.")
            }
            Stop::Done => format!("{REPLIED}{failure_note}. What is next is below, if anything."),
            _ if self.is_split => format!("{GO_ON}: it goes on below, with any answer ({done})."),
            _ => format!("{GO_ON}: {}, {done}.", describe_end(turn)),
        };
        steps.insert(0, format!("1. {next}"));

        if !turn.last_words().is_empty() {
            let calls_after = turn.calls - turn.calls_before_words;
            let lead = if calls_after > 0 {
                format!("{LAST_WORDS}, {} before the end:", count_calls(calls_after))
            } else {
                format!("{LAST_WORDS}:")
            };
            steps.push(quotation(&lead, turn.last_words(), WORDS));
        }
        steps
    }

    /// Returns the requests before the last two, and how they ended. The older ones are shorter if
    /// space is short.
    fn earlier_requests(&self, room: usize) -> Vec<String> {
        let mut points = self.newest_points(Section::Done, room * 2 / 5);
        let turns = match self.earlier.split_last() {
            // The last one is under Goal.
            Some((_last, turns)) => turns,
            None => &[],
        };

        // A request takes a share, and its answer another: together, two thirds of the room.
        let share = (room / (3 * turns.len().max(1))).clamp(OLDEST, NEWEST);
        let mut requests = Vec::new();
        for (at, turn) in turns.iter().enumerate() {
            let age = turns.len() - at;
            requests.push(describe_turn(turn, share.max(NEWEST / age)));
        }
        let request_count = requests.len();
        let shown = newest(requests, room.saturating_sub(size(&points) + 80));
        if shown.len() < request_count {
            points.push(LEFT_OUT.to_owned());
        }
        points.extend(shown);
        points
    }
}

/// Returns the number of units that items take, marks included.
fn size(items: &[String]) -> usize {
    items.iter().map(|item| item_size(item)).sum()
}

/// Returns the number of units that an item takes, with the line break and the mark before it.
fn item_size(item: &str) -> usize {
    units(item) + 4
}

fn count_calls(number: usize) -> String {
    counted(number, "tool call", "tool calls")
}

/// Returns how the reply to a request ended.
fn describe_end(turn: &Turn) -> &str {
    match &turn.stop {
        Stop::Done => "answered",
        Stop::Early(how) => how,
        Stop::ToolUse | Stop::NoReply => "no final answer yet",
    }
}

/// Returns an earlier turn on one line, with at most `max` units of its request, and of its answer.
fn describe_turn(turn: &Turn, max: usize) -> String {
    let mut description = if turn.request.is_empty() {
        "Before that".to_owned()
    } else {
        quote_line(&turn.request, max)
    };
    if turn.repeats > 0 {
        description.push_str(&format!(" (×{})", turn.repeats + 1));
    }
    description.push_str(": ");
    description.push_str(describe_end(turn));

    let mut words = substance(turn.last_words());
    if words.is_empty() {
        words = turn.last_words();
    }
    if !words.is_empty() {
        description.push_str(": ");
        description.push_str(&quote_line(words, max));
    }
    description
}

/// Returns a line of `lead`, as many items as fit, and how many more there are; nothing if none
/// fits.
fn list(lead: &str, items: &[String], room: usize) -> Option<String> {
    // Between two items there is a comma and a space; 10 units are for the number of the others.
    let sizes = items.iter().map(|item| units(item) + 2);
    let shown = fit(sizes, room.saturating_sub(units(lead) + 10));
    if shown == 0 {
        return None;
    }
    let mut line = format!("{lead}{}", items[..shown].join(", "));
    let more = items.len() - shown;
    if more > 0 {
        line.push_str(&format!(", {more} more"));
    }
    Some(line)
}

/// Returns the newest points that fit, in their order.
fn newest(mut points: Vec<String>, room: usize) -> Vec<String> {
    let kept = fit(points.iter().rev().map(|point| item_size(point)), room);
    points.split_off(points.len() - kept)
}
