//! The content of each section of the summary, within the limits of [`super::budget`].

use super::Extract;
use super::budget::*;
use super::message::Stop;
use super::quote::{asks, fit, quotation, quoted, substance, units};
use super::sections::*;
use super::tool_calls::series;
use super::turns::Turn;
use crate::format::counted;

impl Extract {
    /// Returns the summary. Parts take space in the order in which they matter to go on; the list
    /// of earlier requests gets the rest.
    pub(super) fn text(&self) -> String {
        let turn = &self.turn;
        let parts = [
            (Section::NextSteps, self.next_steps()),
            (Section::Goal, self.beside()),
            (Section::Blocked, self.blocked()),
            (
                Section::Constraints,
                self.points_of(Section::Constraints, SECTION),
            ),
            (
                Section::Decisions,
                self.points_of(Section::Decisions, SECTION),
            ),
            (Section::Context, self.points_of(Section::Context, SECTION)),
            (Section::InProgress, self.in_progress()),
            (Section::Done, self.evidence()),
            (Section::InProgress, self.said()),
        ];
        let (mut page, mut room) = (Sections::default(), OTHER_SECTIONS);
        for (section, items) in parts {
            let items = newest(items, room);
            room -= size(&items);
            page.of(section).splice(..0, items);
        }
        page.of(Section::Done)
            .splice(..0, self.earlier_requests(room));
        let request = || {
            quotation(
                &format!("{REQUEST}{}):", turn.entry),
                &turn.request,
                WHOLE_REQUEST,
            )
        };
        page.of(Section::Goal)
            .splice(..0, (!turn.request.is_empty()).then(request));
        page.write()
    }

    /// Whether the current turn is unanswered, or a failure is open.
    fn is_unfinished(&self) -> bool {
        !self.turn.is_answered() || !self.failures.is_empty()
    }

    /// Returns the newest points of a section that fit.
    fn points_of(&self, section: Section, room: usize) -> Vec<String> {
        newest(self.points.0[section as usize].clone(), room)
    }

    /// Returns the goals of a previous summary, and the request before, to which the current one
    /// may refer.
    fn beside(&self) -> Vec<String> {
        let last = self.earlier.last();
        let before = last.map(|turn| format!("The request before it: {}", reported(turn, NEWEST)));
        self.points_of(Section::Goal, SECTION)
            .into_iter()
            .chain(before)
            .collect()
    }

    /// Returns the points of In Progress, without the assistant's remarks.
    fn in_progress(&self) -> Vec<String> {
        let work = &self.work;
        let mut points = self.points_of(Section::InProgress, LIST);
        let calls = if self.is_unfinished() {
            work.last_calls()
        } else {
            Vec::new()
        };
        let calls = (!calls.is_empty())
            .then(|| format!("{CALLS}, in order:\n  - {}", calls.join("\n  - ")));
        points.extend(calls);
        points.extend((!work.todo.is_empty()).then(|| quotation(TODO_LIST, &work.todo, SECTION)));
        points
    }

    /// Returns the failures, then those of a previous summary, as far as they fit, and the number
    /// of the others.
    fn blocked(&self) -> Vec<String> {
        let mut before = self.points_of(Section::Blocked, LIST);
        before.retain(|point| !self.work.is_over(point.trim_start_matches(EARLIER)));
        let mut points = [&*self.failures, &before].concat();
        let shown = fit(points.iter().map(|point| units(point) + 4), SECTION);
        let more = points.split_off(shown).len();
        points.extend((more > 0).then(|| format!("{more} more failed without a later success.")));
        points
    }

    /// Returns what the calls did: commits, changed files, commands.
    fn evidence(&self) -> Vec<String> {
        let work = &self.work;
        let commits = work.commits();
        let since = if commits.is_empty() {
            ""
        } else {
            " since the last `git commit`"
        };
        let lists = [
            list("Commits, newest first: ", &commits, SECTION),
            list(
                &format!("{CHANGED}{since}, newest first: "),
                &work.changed(),
                LIST,
            ),
            list(PASSED, &work.passed(), LIST),
        ];
        lists.into_iter().flatten().collect()
    }

    /// Returns the assistant's remarks before its last words: the first, which is often a plan, and
    /// the newest.
    fn said(&self) -> Vec<String> {
        let said = if self.is_unfinished() {
            &self.turn.said[..]
        } else {
            &[]
        };
        let mut said = series(
            said.iter()
                .rev()
                .skip(1)
                .map(|said| quoted(substance(said), POINT)),
        );
        let plan = said.pop();
        said.truncate(fit(said.iter().map(|said| units(said) + 20), SECTION));
        plan.into_iter()
            .chain(said.into_iter().rev())
            .map(|said| format!("{SAID}{said}"))
            .collect()
    }

    /// Returns how far the current request is, what a previous summary planned, and the assistant's
    /// last words.
    fn next_steps(&self) -> Vec<String> {
        let (turn, mut steps) = (&self.turn, self.points_of(Section::NextSteps, LIST));
        if turn.request.is_empty() && turn.stop == Stop::NoReply && turn.calls == 0 {
            return steps;
        }
        let failed = if self.failures.is_empty() {
            ""
        } else {
            ", with a failure left open (see Blocked)"
        };
        let calls = |number| counted(number, "tool call", "tool calls");
        let done = format!("{} summarized here", calls(turn.calls));
        let next = match turn.stop {
            Stop::Done if asks(turn.words()) => {
                format!("{REPLIED}{failed}. The reply ends in a question.")
            }
            Stop::Done => format!("{REPLIED}{failed}. What is next is below, if anything."),
            _ if self.is_split => format!("{GO_ON}: it goes on below, with any answer ({done})."),
            _ => format!("{GO_ON}: {}, {done}.", ending(turn)),
        };
        steps.insert(0, format!("1. {next}"));
        if !turn.words().is_empty() {
            let after = turn.calls - turn.calls_before_words;
            let when = if after > 0 {
                format!(", {} before the end", calls(after))
            } else {
                String::new()
            };
            steps.push(quotation(
                &format!("{LAST_WORDS}{when}:"),
                turn.words(),
                WORDS,
            ));
        }
        steps
    }

    /// Returns the requests before the last two, and how they ended. The older ones are shorter if
    /// space is short.
    fn earlier_requests(&self, room: usize) -> Vec<String> {
        let mut out = self.points_of(Section::Done, room * 2 / 5);
        let turns = self
            .earlier
            .split_last()
            .map_or(&[][..], |(_, turns)| turns);
        let share = (room / (3 * turns.len().max(1))).clamp(OLDEST, NEWEST);
        let each = |at: usize| share.max(NEWEST / (turns.len() - at));
        let turns: Vec<_> = turns
            .iter()
            .enumerate()
            .map(|(at, turn)| reported(turn, each(at)))
            .collect();
        let mut shown = newest(turns.clone(), room.saturating_sub(size(&out) + 80));
        out.extend((shown.len() < turns.len()).then(|| LEFT_OUT.to_owned()));
        out.append(&mut shown);
        out
    }
}

/// Returns the number of units that items take, marks included.
fn size(items: &[String]) -> usize {
    items.iter().map(|item| units(item) + 4).sum()
}

/// Returns how the reply to a request ended.
fn ending(turn: &Turn) -> &str {
    match &turn.stop {
        Stop::Done => "answered",
        Stop::Early(how) => how,
        Stop::ToolUse | Stop::NoReply => "no final answer yet",
    }
}

/// Returns an earlier turn on one line, with at most `each` units of its request, and of its
/// answer.
fn reported(turn: &Turn, each: usize) -> String {
    let request = if turn.request.is_empty() {
        "Before that".to_owned()
    } else {
        quoted(&turn.request, each)
    };
    let times = if turn.repeats > 0 {
        format!(" (×{})", turn.repeats + 1)
    } else {
        String::new()
    };
    let words = Some(substance(turn.words()))
        .filter(|words| !words.is_empty())
        .unwrap_or(turn.words());
    let answer = if words.is_empty() {
        String::new()
    } else {
        format!(": {}", quoted(words, each))
    };
    format!("{request}{times}: {}{answer}", ending(turn))
}

/// Returns a line of `lead`, as many items as fit, and how many more there are; nothing if none
/// fits.
fn list(lead: &str, items: &[String], room: usize) -> Option<String> {
    let shown = fit(
        items.iter().map(|item| units(item) + 2),
        room.saturating_sub(units(lead) + 10),
    );
    let more = items.len() - shown;
    let more = if more > 0 {
        format!(", {more} more")
    } else {
        String::new()
    };
    (shown > 0).then(|| format!("{lead}{}{more}", items[..shown].join(", ")))
}

/// Returns the newest points that fit, in their order.
fn newest(mut points: Vec<String>, room: usize) -> Vec<String> {
    let kept = fit(points.iter().rev().map(|point| units(point) + 4), room);
    points.split_off(points.len() - kept)
}
