//! The content of each section of the summary, within the limits of [`super::budget`].

use super::Extract;
use super::budget::*;
use super::message::Stop;
use super::quote::{fit, folded, quotation, quoted, substance, units};
use super::sections::*;
use super::tool_calls::{calls, series};
use super::turns::Turn;

const ALSO_FAILED: &str = "Failed before, without a later success, but not mentioned in the last words: ";

/// What the sections are made from.
pub(super) struct Page<'a> {
    extract: &'a Extract,
    last: &'a Turn,
    /// The turn before, if the current request may refer to it: it is short, or that turn is unanswered.
    referred: Option<&'a Turn>,
    failures: Vec<String>,
    /// The names of calls that failed and are not in `failures`.
    others: Vec<String>,
}

impl<'a> Page<'a> {
    /// Expects a turn.
    pub fn new(extract: &'a Extract, last: &'a Turn) -> Self {
        let before = extract.turns.iter().rev().nth(1).filter(|before| !before.request.is_empty());
        let referred = before.filter(|before| units(&last.request) <= SHORT || !before.is_answered());
        let (failures, others) = extract.work.failures(&extract.turns);
        Page { extract, last, referred, failures, others }
    }

    /// Returns the summary. The sections take space in the order in which it matters to go on; the list of earlier
    /// requests gets the rest.
    pub fn text(&self) -> String {
        let (last, mut room) = (self.last, OTHER_SECTIONS);
        let mut take = |items: Vec<String>| {
            let items = newest(items, room);
            room -= size(&items);
            items
        };
        let request = (!last.request.is_empty())
            .then(|| quotation(&format!("{REQUEST}{}:", last.origin), &last.request, WHOLE_REQUEST));
        let next = take(self.next_steps());
        let goal = request.into_iter().chain(take(self.beside())).collect();
        let blocked = take(self.blocked());
        // What the request says itself is not repeated.
        let asked = folded(&last.request);
        let constraints = self.points(Section::Constraints, SECTION).into_iter();
        let constraints = take(constraints.filter(|part| !asked.contains(&folded(part))).collect());
        let decisions = take(self.points(Section::Decisions, SECTION));
        let context = take(self.points(Section::Context, SECTION));
        let in_progress = take(self.in_progress());
        let evidence = take(self.evidence());
        let in_progress = [take(self.said()), in_progress].concat();
        let done = [self.earlier(room), evidence].concat();
        write(&[goal, constraints, done, in_progress, blocked, decisions, next, context])
    }

    /// Returns the newest points of a section that fit.
    fn points(&self, section: Section, room: usize) -> Vec<String> {
        newest(self.extract.points.of(section).map(str::to_owned).collect(), room)
    }

    /// Returns what the current request may refer to, and the goals of a previous summary.
    fn beside(&self) -> Vec<String> {
        let parts = self.referred.into_iter();
        let parts = parts.flat_map(|turn| [(BEFORE, &*turn.request), (WORDS_BEFORE, turn.words())]);
        let parts = parts.filter(|(_, text)| !text.is_empty());
        let parts = parts.map(|(lead, text)| quotation(&format!("{lead}:"), text, NEWEST));
        parts.chain(self.points(Section::Goal, SECTION)).collect()
    }

    /// Whether the last turn is unanswered, or a failure is open.
    fn is_unfinished(&self) -> bool {
        !self.last.is_answered() || !self.failures.is_empty()
    }

    /// Returns the points of In Progress, without the assistant's remarks.
    fn in_progress(&self) -> Vec<String> {
        let work = &self.extract.work;
        let mut points = self.points(Section::InProgress, LIST);
        if self.is_unfinished() {
            points.extend(work.found(self.last).map(|found| format!("{FOUND}{found}")));
            let calls = newest(work.last_calls(), LAST).join("\n  - ");
            points.extend((!calls.is_empty()).then(|| format!("{CALLS}, in order:\n  - {calls}")));
        }
        points.extend((!work.todo.is_empty()).then(|| quotation(TODO_LIST, &work.todo, LAST)));
        points
    }

    /// Returns the failures, then the names of those that may be over.
    fn blocked(&self) -> Vec<String> {
        let mut points = self.points(Section::Blocked, LIST);
        points.retain(|point| !self.extract.work.is_over(point.trim_start_matches(EARLIER)));
        points.splice(..0, self.failures.iter().cloned());
        let shown = fit(points.iter().map(|point| units(point) + 4), SECTION);
        let more = points.split_off(shown).len();
        points.extend((more > 0).then(|| format!("{more} more failed without a later success.")));
        points.extend(list(ALSO_FAILED, &self.others, LIST));
        points
    }

    /// Returns what the calls did: commits, changed files, commands.
    fn evidence(&self) -> Vec<String> {
        let work = &self.extract.work;
        let (changed, is_since) = work.changed();
        let since = if is_since { " since the last `git commit`" } else { "" };
        let lists = [
            list(COMMITS, &work.commits(), SECTION),
            list(&format!("{CHANGED}{since}, newest first: "), &changed, LIST),
            list(PASSED, &work.passed(), LIST),
        ];
        lists.into_iter().flatten().collect()
    }

    /// Returns the assistant's remarks before its last words: the first, which is often a plan, and the newest.
    fn said(&self) -> Vec<String> {
        let said = if self.is_unfinished() { &self.last.said[..] } else { &[] };
        let mut said = series(said.iter().rev().skip(1).map(|said| quoted(substance(said), POINT)));
        let plan = said.pop();
        said.truncate(fit(said.iter().map(|said| units(said) + 20), ON_THE_WAY));
        plan.into_iter().chain(said.into_iter().rev()).map(|said| format!("{SAID}{said}")).collect()
    }

    fn next_steps(&self) -> Vec<String> {
        let (turn, old) = (self.last, self.points(Section::NextSteps, LIST));
        if turn.request.is_empty() && turn.stop.is_none() && turn.calls == 0 {
            return old;
        }
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

    /// Returns the earlier requests and how they ended. The older ones are shorter if space is short.
    fn earlier(&self, room: usize) -> Vec<String> {
        let turns = self.extract.turns.iter().rev().skip(1 + usize::from(self.referred.is_some()));
        let share = (room / (3 * turns.len().max(1))).clamp(OLDEST, NEWEST);
        let turns = turns.enumerate().map(|(age, turn)| reported(turn, share.max(NEWEST / (age + 1))));
        let turns: Vec<String> = turns.collect::<Vec<_>>().into_iter().rev().collect();
        let number = turns.len();
        let mut out = self.points(Section::Done, room * 2 / 5);
        let shown = newest(turns, room.saturating_sub(size(&out) + 80));
        out.extend((shown.len() < number).then(|| LEFT_OUT.to_owned()));
        let referred = self.referred.map(|turn| format!("{BEFORE}, quoted under Goal: {}", ending(turn)));
        out.into_iter().chain(shown).chain(referred).collect()
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

/// Returns a line of `lead`, as many items as fit, and how many more there are; nothing if none fits.
fn list(lead: &str, items: &[String], room: usize) -> Option<String> {
    let shown = fit(items.iter().map(|item| units(item) + 2), room.saturating_sub(units(lead) + 10));
    let more = items.len() - shown;
    let more = if more > 0 { format!(", {more} more") } else { String::new() };
    (shown > 0).then(|| format!("{lead}{}{more}", items[..shown].join(", ")))
}

/// Returns the newest points that fit, in their order.
fn newest(mut points: Vec<String>, room: usize) -> Vec<String> {
    let kept = fit(points.iter().rev().map(|point| units(point) + 4), room);
    points.split_off(points.len() - kept)
}
