//! The content of each section of the summary, within the limits of [`super::budget`].

use super::Extract;
use super::budget::*;
use super::message::Stop;
use super::quote::{fit, folded, quotation, quoted, substance, units};
use super::sections::*;
use super::tool_calls::{calls, series};
use super::turns::{CORRECTED, Turn};

const ALSO_FAILED: &str = "Failed before, without a later success, but not mentioned in the last words: ";

/// Returns the summary.
pub(super) fn page(extract: &Extract) -> String {
    let (failures, others) = extract.work.failures(&extract.turns);
    Page { extract, last: extract.turns.back(), failures, others }.text()
}

/// What the sections are made from.
struct Page<'a> {
    extract: &'a Extract,
    last: Option<&'a Turn>,
    failures: Vec<String>,
    /// The names of calls that failed and are not in `failures`.
    others: Vec<String>,
}

impl<'a> Page<'a> {
    /// Returns all sections. Done and the assistant's remarks get the space that the others leave.
    fn text(&self) -> String {
        let (work, notes) = (&self.extract.work, &self.extract.notes);
        let (request, beside) = self.goal();
        // What the request says itself is not repeated.
        let said = folded(request.as_deref().unwrap_or_default());
        let constraints = notes
            .constraints
            .iter()
            .filter(|part| !said.contains(&folded(part.trim_start_matches(CORRECTED))));
        let constraints = self.merged(Section::Constraints, constraints);
        let (in_progress, blocked, next) = (self.in_progress(), self.blocked(), self.next_steps());
        let decisions = self.merged(Section::Decisions, notes.decisions.iter());
        let context = self.merged(Section::Context, notes.context.iter());
        let others = [&beside, &constraints, &in_progress, &blocked, &decisions, &next, &context];
        let mut room = OTHER_SECTIONS.saturating_sub(others.into_iter().map(|items| size(items)).sum());
        let mut take = |items: Vec<String>| {
            room = room.saturating_sub(size(&items));
            (items, room)
        };
        // Commands get space first: they are the evidence of what was done. The caller lists the files.
        let (commits, room) = take(list(COMMITS, &work.commits(), usize::MAX, SECTION));
        let (passed, _) = take(list(PASSED, &work.passed(), COMMANDS, SECTION.min(room)));
        let (mut said, room) = take(self.said());
        let done = [self.earlier(room), commits, passed].concat();
        said.extend(in_progress);
        let goal = request.into_iter().chain(beside).collect();
        write(&[goal, constraints, done, said, blocked, decisions, next, context])
    }

    /// Returns the current request; the turn that it may refer to, if it is short or that turn is unanswered, and the
    /// goals of a previous summary.
    fn goal(&self) -> (Option<String>, Vec<String>) {
        let running = self.last.filter(|turn| !turn.request.is_empty());
        let request = running
            .map(|turn| quotation(&format!("{REQUEST}{}:", turn.origin), &turn.request, WHOLE_REQUEST));
        let parts = self
            .referred()
            .into_iter()
            .flat_map(|turn| [(BEFORE, &*turn.request), (WORDS_BEFORE, turn.words())]);
        let parts = parts.filter(|(_, text)| !text.is_empty());
        let before = parts.map(|(lead, text)| quotation(&format!("{lead}:"), text, NEWEST));
        let goals = if self.is_new() { Vec::new() } else { self.old(Section::Goal, SECTION) };
        (request, before.chain(goals).collect())
    }

    fn referred(&self) -> Option<&'a Turn> {
        let before = self.extract.turns.iter().rev().nth(1).filter(|before| !before.request.is_empty())?;
        (units(&self.last?.request) <= SHORT || !before.is_answered()).then_some(before)
    }

    /// Whether the user has requested something since the previous summary.
    fn is_new(&self) -> bool {
        self.last.is_some_and(|turn| turn.number > 0)
    }

    /// Returns the last turn, if it is unanswered or a failure is open.
    fn unfinished(&self) -> Option<&Turn> {
        self.last.filter(|turn| !turn.is_answered() || !self.failures.is_empty())
    }

    /// Returns the points of In Progress, without the assistant's remarks.
    fn in_progress(&self) -> Vec<String> {
        let work = &self.extract.work;
        let mut points = self.old(Section::InProgress, OLD);
        let calls = self.unfinished().map_or_else(Vec::new, |_| newest(work.last_calls(), LAST));
        points
            .extend((!calls.is_empty()).then(|| format!("{CALLS}, in order:\n  - {}", calls.join("\n  - "))));
        points.extend(list(UNCOMMITTED, &work.uncommitted(), usize::MAX, OLD));
        points.extend((!work.todo.is_empty()).then(|| quotation(TODO_LIST, &work.todo, LAST)));
        points
    }

    /// Returns the failures, then the names of those that may be over.
    fn blocked(&self) -> Vec<String> {
        let mut points = [&*self.failures, &self.old(Section::Blocked, OLD)].concat();
        let shown = fit(points.iter().map(|point| units(point) + 4), SECTION);
        let more = points.split_off(shown).len();
        points.extend((more > 0).then(|| format!("{more} more failed without a later success.")));
        points.extend(list(ALSO_FAILED, &self.others, usize::MAX, OLD));
        points
    }

    /// Returns the assistant's remarks before its last words: the first, which is often a plan, and the newest.
    fn said(&self) -> Vec<String> {
        let said = self.unfinished().map_or(&[][..], |turn| &turn.said[..turn.said.len().saturating_sub(1)]);
        let mut said = series(said.iter().rev().map(|said| quoted(substance(said), POINT)));
        let plan = said.pop();
        said.truncate(fit(said.iter().map(|said| units(said) + 20), ON_THE_WAY));
        plan.into_iter().chain(said.into_iter().rev()).map(|said| format!("{SAID}{said}")).collect()
    }

    fn next_steps(&self) -> Vec<String> {
        let old = self.old(Section::NextSteps, OLD);
        let Some(turn) = self.last else { return old };
        let failed = if self.failures.is_empty() { "" } else { ", with a failure left open (see Blocked)" };
        let so_far = format!("{}, {} summarized here", ending(turn), calls(turn.calls));
        let next = match turn.stop {
            Some(Stop::Asks) => format!("{REPLIED}replied to{failed}. The reply ends in a question."),
            Some(Stop::Done) => format!("{REPLIED}replied to{failed}. What is next is below, if anything."),
            _ if self.extract.is_split => format!("{GO_ON}: it continues in the messages below ({so_far})."),
            _ => format!("{GO_ON}: {so_far}."),
        };
        let when = match turn.calls - turn.calls_before_words {
            0 => String::new(),
            after => format!(", {} before the end", calls(after)),
        };
        let words = || quotation(&format!("{LAST_WORDS}{when}:"), turn.words(), WORDS);
        let words = (!turn.words().is_empty()).then(words);
        std::iter::once(format!("1. {next}")).chain(old).chain(words).collect()
    }

    /// Returns the earlier requests and how they ended; older ones are shorter.
    fn earlier(&self, room: usize) -> Vec<String> {
        let turns = self.extract.turns.iter().rev().skip(1 + usize::from(self.referred().is_some()));
        let turns = turns.enumerate().map(|(age, turn)| reported(turn, (NEWEST / (age + 1)).max(OLDEST)));
        let turns: Vec<String> = turns.collect::<Vec<_>>().into_iter().rev().collect();
        let goals = if self.is_new() { self.old(Section::Goal, OLD) } else { Vec::new() };
        let mut out = [goals, self.old(Section::Done, room * 2 / 5)].concat();
        let shown = newest(turns.clone(), room.saturating_sub(size(&out) + 40));
        out.extend((shown.len() < turns.len()).then(|| LEFT_OUT.to_owned()));
        [out, shown].concat()
    }

    /// Returns the newest points of the previous summary that fit, marked as earlier. What was under way or next does
    /// not outlive a new request; what was blocked is carried over once.
    fn old(&self, section: Section, room: usize) -> Vec<String> {
        let is_over = |point: &str| match section {
            Section::InProgress | Section::NextSteps => self.is_new() || point.starts_with(EARLIER),
            Section::Blocked => point.starts_with(EARLIER) || self.extract.work.is_over(point),
            _ => false,
        };
        let points = self.extract.previous.iter().flat_map(|previous| previous.of(section));
        let points = points.filter(|point| !is_over(point)).map(|point| point.trim_start_matches(EARLIER));
        newest(points.map(|point| format!("{EARLIER}{point}")).collect(), room)
    }

    /// Returns the points of the previous summary that differ from the new ones, then the new ones.
    fn merged<'p>(&self, section: Section, new: impl Iterator<Item = &'p String>) -> Vec<String> {
        let new: Vec<String> = new.cloned().collect();
        let mut all = self.old(section, OLD);
        all.retain(|old| !new.iter().any(|new| folded(old) == folded(&format!("{EARLIER}{new}"))));
        newest([all, new].concat(), SECTION)
    }
}

/// Returns the number of units that items take, marks included.
fn size(items: &[String]) -> usize {
    items.iter().map(|item| units(item) + 4).sum()
}

/// Returns how the reply to a request ended.
fn ending(turn: &Turn) -> &str {
    match &turn.stop {
        Some(Stop::Done | Stop::Asks) => "answered",
        Some(Stop::Interrupted) => "interrupted by the user",
        Some(Stop::Early(how)) => how,
        Some(Stop::ToolUse) | None => "no final answer yet",
    }
}

/// Returns an earlier turn on one line, with at most `each` units of its request, and of its answer.
fn reported(turn: &Turn, each: usize) -> String {
    let request =
        if turn.request.is_empty() { "Before that".to_owned() } else { quoted(&turn.request, each) };
    let sent = if turn.is_sent() { format!(" ({})", turn.origin) } else { String::new() };
    let times = if turn.repeats > 0 { format!(" (×{})", turn.repeats + 1) } else { String::new() };
    let words = Some(substance(turn.words())).filter(|words| !words.is_empty()).unwrap_or(turn.words());
    format!("{request}{sent}{times}: {}: {}", ending(turn), quoted(words, each))
}

/// Returns a line of `lead`, as many items as fit, at most `most`, and how many more there are; nothing if none fits.
fn list(lead: &str, items: &[String], most: usize, room: usize) -> Vec<String> {
    let sizes = items.iter().take(most).map(|item| units(item) + 2);
    let shown = fit(sizes, room.saturating_sub(units(lead) + 10));
    let more = items.len() - shown;
    let more = if more > 0 { format!(", {more} more") } else { String::new() };
    (shown > 0).then(|| format!("{lead}{}{more}", items[..shown].join(", "))).into_iter().collect()
}

/// Returns the newest points that fit, in their order.
fn newest(mut points: Vec<String>, room: usize) -> Vec<String> {
    let kept = fit(points.iter().rev().map(|point| units(point) + 4), room);
    points.split_off(points.len() - kept)
}
