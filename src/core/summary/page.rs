//! The content of each section of the summary, within the limits of [`super::budget`].

use super::Extract;
use super::budget::*;
use super::message::Stop;
use super::quote::{fit, folded, quotation, quoted, units};
use super::sections::*;
use super::turns::Turn;
use super::work::{calls, series};

const PASSED: &str = "Commands whose last run ended without error, newest first: ";

/// Returns the summary.
pub(super) fn page(extract: &Extract) -> String {
    let last = extract.turns.back();
    let failures = extract.work.failures(last.is_some_and(Turn::is_answered));
    let page = Page { extract, last, failures };
    let mut sections = SECTIONS.map(|(section, ..)| page.section(section));
    let room = REST.saturating_sub(sections.iter().map(|items| size(items)).sum());
    // Commands get space first: they are the evidence of what was done. The caller lists the files.
    let passed = list(PASSED, &extract.work.passed(), room.min(SECTION.max(room / 2)));
    let room = room.saturating_sub(size(passed.as_slice()));
    let said = page.said(room / 2);
    let earlier = page.earlier(room.saturating_sub(size(&said)));
    sections[Section::Goal as usize].splice(0..0, page.request());
    sections[Section::Done as usize].extend(earlier.into_iter().chain(passed));
    sections[Section::InProgress as usize].splice(0..0, said);
    write(&sections)
}

/// Returns the number of units that items take, marks included.
fn size(items: &[String]) -> usize {
    items.iter().map(|item| units(item) + 4).sum()
}

/// What the sections are made from.
struct Page<'a> {
    extract: &'a Extract,
    last: Option<&'a Turn>,
    failures: Vec<String>,
}

impl<'a> Page<'a> {
    /// Returns the part of a section that has a limit of its own.
    fn section(&self, section: Section) -> Vec<String> {
        match section {
            Section::Goal => self.beside_request(),
            Section::Constraints => self.merged(section, &self.extract.notes.constraints),
            Section::Done => Vec::new(),
            Section::InProgress => self.in_progress(),
            Section::Blocked => self.merged(section, &self.failures),
            Section::Decisions => self.merged(section, &self.extract.notes.decisions),
            Section::NextSteps => self.next_steps(),
            Section::Context => self.merged(section, &self.extract.notes.context),
        }
    }

    /// Returns the current request, quoted.
    fn request(&self) -> Vec<String> {
        let lead = |turn: &Turn| format!("{REQUEST}{}:", turn.origin);
        self.running().map(|turn| quotation(&lead(turn), &turn.request, WHOLE_REQUEST)).into_iter().collect()
    }

    fn running(&self) -> Option<&'a Turn> {
        self.last.filter(|turn| !turn.request.is_empty())
    }

    /// Returns the previous turn, if the current request is short or that turn is unanswered: the request may
    /// refer to it.
    fn referred(&self) -> Option<&'a Turn> {
        let before = self.extract.turns.iter().rev().nth(1).filter(|before| !before.request.is_empty())?;
        (units(&self.running()?.request) <= SHORT || !before.is_answered()).then_some(before)
    }

    /// Returns the turn that the request may refer to, quoted, and the goals of a previous summary.
    fn beside_request(&self) -> Vec<String> {
        let parts = |turn: &'a Turn| [(BEFORE, &*turn.request), (WORDS_BEFORE, turn.words())];
        let parts = self.referred().into_iter().flat_map(parts).filter(|(_, text)| !text.is_empty());
        let quotations = parts.map(|(lead, text)| quotation(&format!("{lead}:"), text, NEWEST));
        let goals = self.old(Section::Goal, if self.running().is_some() { OLD } else { REST / 2 });
        quotations.chain(goals).collect()
    }

    /// Returns the last turn, if it is unanswered or a failure is open.
    fn unfinished(&self) -> Option<&Turn> {
        self.last.filter(|turn| !turn.is_answered() || !self.failures.is_empty())
    }

    /// Returns the points of In Progress, without the assistant's remarks.
    fn in_progress(&self) -> Vec<String> {
        let todo = &self.extract.work.todo;
        let todo = (!todo.is_empty()).then(|| quotation(TODO_LIST, todo, LAST));
        let calls = self.unfinished().and_then(|_| self.last_calls());
        self.old(Section::InProgress, OLD).into_iter().chain(calls).chain(todo).collect()
    }

    fn last_calls(&self) -> Option<String> {
        let calls = newest(self.extract.work.last_calls(), LAST);
        (!calls.is_empty()).then(|| format!("{CALLS}, in order:\n  - {}", calls.join("\n  - ")))
    }

    /// Returns the assistant's remarks before its last words: the first, which is often a plan, and the
    /// newest.
    fn said(&self, room: usize) -> Vec<String> {
        let said =
            self.unfinished().and_then(|turn| turn.said.split_last()).map_or(&[][..], |(_, said)| said);
        let mut said = series(said.iter().rev().map(|said| quoted(said, POINT)), 1);
        let plan = said.pop();
        said.truncate(fit(said.iter().map(|said| units(said) + 20), room.min(ON_THE_WAY)));
        plan.into_iter().chain(said.into_iter().rev()).map(|said| format!("{SAID}{said}")).collect()
    }

    fn next_steps(&self) -> Vec<String> {
        let old = self.old(Section::NextSteps, OLD);
        let Some(turn) = self.last else { return old };
        let mut out = vec![format!("1. {}", self.next_step(turn))];
        out.extend(old);
        let when = match turn.calls - turn.calls_before_words {
            0 => String::new(),
            after => format!(", {} before the end", calls(after)),
        };
        let words = || quotation(&format!("{LAST_WORDS}{when}:"), turn.words(), WORDS);
        out.extend((!turn.words().is_empty()).then(words));
        out
    }

    fn next_step(&self, turn: &Turn) -> String {
        let failed = if self.failures.is_empty() { "" } else { ", with a failure left open (see Blocked)" };
        let so_far = format!("{}, {} summarized here", ending(turn), calls(turn.calls));
        match turn.stop {
            Some(Stop::Asks) => format!("{REPLIED}replied to{failed}. The reply ends in a question."),
            Some(Stop::Done) => format!("{REPLIED}replied to{failed}. What is next is below, if anything."),
            _ if self.extract.is_split => format!("{GO_ON}: it continues in the messages below ({so_far})."),
            _ => format!("{GO_ON}: {so_far}."),
        }
    }

    /// Returns the earlier requests and how they ended; older ones are shorter.
    fn earlier(&self, room: usize) -> Vec<String> {
        let turns = self.extract.turns.iter().rev().skip(1 + usize::from(self.referred().is_some()));
        let turns = turns.enumerate().map(|(age, turn)| reported(turn, (NEWEST / (age + 1)).max(OLDEST)));
        let turns: Vec<String> = turns.collect::<Vec<_>>().into_iter().rev().collect();
        let mut out = self.old(Section::Done, room * 2 / 5);
        let shown = newest(turns.clone(), room.saturating_sub(size(&out) + 40));
        out.extend((shown.len() < turns.len()).then(|| LEFT_OUT.to_owned()));
        out.into_iter().chain(shown).collect()
    }

    /// Returns the newest points of the previous summary that fit, marked as earlier. Points about open work
    /// are carried over only once.
    fn old(&self, section: Section, room: usize) -> Vec<String> {
        let is_open = matches!(section, Section::InProgress | Section::Blocked | Section::NextSteps);
        let is_over =
            |point: &str| is_open && (point.starts_with(EARLIER) || self.extract.work.is_over(point));
        let points = self.extract.previous.iter().flat_map(|previous| previous.of(section));
        let points = points.filter(|point| !is_over(point)).map(|point| point.trim_start_matches(EARLIER));
        newest(points.map(|point| format!("{EARLIER}{point}")).collect(), room)
    }

    /// Returns the points of the previous summary that differ from the new ones, then the new ones.
    fn merged(&self, section: Section, new: &[String]) -> Vec<String> {
        let mut all = self.old(section, SECTION);
        all.retain(|old| !new.iter().any(|new| folded(old) == folded(&format!("{EARLIER}{new}"))));
        all.extend_from_slice(new);
        newest(all, SECTION)
    }
}

/// Returns how the reply to a request ended.
fn ending(turn: &Turn) -> &str {
    match &turn.stop {
        Some(Stop::Done | Stop::Asks) => "answered",
        Some(Stop::Early(how)) => how,
        Some(Stop::ToolUse) | None => "no final answer yet",
    }
}

/// Returns an earlier turn on one line, with at most `each` units of its request, and of its answer.
fn reported(turn: &Turn, each: usize) -> String {
    let request =
        if turn.request.is_empty() { "Before that".to_owned() } else { quoted(&turn.request, each) };
    let sent = if turn.origin.starts_with(SENT) { format!(" ({})", turn.origin) } else { String::new() };
    format!("{request}{sent}: {}: {}", ending(turn), quoted(turn.words(), each))
}

/// Returns a line of `lead`, as many items as fit, and how many more there are; `None` if none fits.
fn list(lead: &str, items: &[String], room: usize) -> Option<String> {
    let shown = fit(items.iter().map(|item| units(item) + 2), room.saturating_sub(units(lead) + 10));
    let more = if shown == items.len() { String::new() } else { format!(", {} more", items.len() - shown) };
    (shown > 0).then(|| format!("{lead}{}{more}", items[..shown].join(", ")))
}

/// Returns the newest points that fit, in their order.
fn newest(mut points: Vec<String>, room: usize) -> Vec<String> {
    let kept = fit(points.iter().rev().map(|point| units(point) + 4), room);
    points.split_off(points.len() - kept)
}
