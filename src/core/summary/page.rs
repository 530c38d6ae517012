//! What stands in each section of the summary, each part within its weight.

use super::budget::*;
use super::message::Stop;
use super::quote::{CUT, fit, folded, line, quotation, quoted, units};
use super::sections::*;
use super::turns::Turn;
use super::work::calls;
use super::{Extract, Kind};

const PASSED: &str = "Commands whose last run ended without error, newest first: ";
const CHANGED: &str = "Files changed, newest first: ";

/// Returns the summary.
pub(super) fn page(extract: &Extract) -> String {
    let last = extract.turns.last();
    let failures = extract.work.failures(last.is_some_and(Turn::is_answered));
    let page = Page { extract, last, failures };
    let mut sections = SECTIONS.map(|(section, ..)| page.section(section));
    let room = (REST - HEADINGS).saturating_sub(sections.iter().map(|items| size(items)).sum());
    // The lists come first: they are the evidence.
    let evidence = page.evidence(room);
    let room = room.saturating_sub(size(&evidence));
    let said = page.said(room / 2);
    let earlier = page.earlier(room.saturating_sub(size(&said)));
    let state = sections[Section::InProgress as usize].len().min(1);
    sections[Section::Goal as usize].splice(0..0, page.request());
    sections[Section::Done as usize].extend(earlier.into_iter().chain(evidence));
    sections[Section::InProgress as usize].splice(state..state, said);
    write(&sections)
}

/// Returns what items take of the room.
fn size(items: &[String]) -> usize {
    items.iter().map(|item| units(item) + 4).sum()
}

/// What the sections are made from.
struct Page<'a> {
    extract: &'a Extract,
    last: Option<&'a Turn>,
    failures: Vec<String>,
}

impl Page<'_> {
    /// Returns the part of a section that has a weight of its own.
    fn section(&self, section: Section) -> Vec<String> {
        let notes = &self.extract.notes;
        match section {
            Section::Goal => self.beside_request(),
            Section::Constraints => self.merged(section, &notes.constraints, CONSTRAINTS),
            Section::Done => Vec::new(),
            Section::InProgress => self.in_progress(),
            Section::Blocked => self.merged(section, &self.failures, BLOCKED),
            Section::Decisions => self.merged(section, &notes.decisions, DECISIONS),
            Section::NextSteps => self.next_steps(),
            Section::Context => self.merged(section, &notes.context, CONTEXT),
        }
    }

    /// Returns the running request, and how to read the rest of one that is cut.
    fn request(&self) -> Vec<String> {
        let Some(turn) = self.running() else { return Vec::new() };
        let request = quotation(&format!("{REQUEST}{}:", turn.origin), &turn.request, WHOLE_REQUEST);
        let is_cut = !turn.entry.is_empty() && request.contains(&format!("\n> {CUT}"));
        let whole = is_cut.then(|| format!("{WHOLE}{}`", line(&turn.entry, 60)));
        std::iter::once(request).chain(whole).collect()
    }

    fn running(&self) -> Option<&Turn> {
        self.last.filter(|turn| !turn.request.is_empty())
    }

    /// Returns the turn that a short request, or one after an unfinished one, refers to.
    fn referred(&self) -> Option<&Turn> {
        let before = self.extract.turns.iter().rev().nth(1).filter(|before| !before.request.is_empty())?;
        (units(&self.running()?.request) <= SHORT || !before.is_answered()).then_some(before)
    }

    /// Returns what was added to the request, what it refers to, and the goals of a previous summary.
    fn beside_request(&self) -> Vec<String> {
        let added = self.running().into_iter().flat_map(|turn| &turn.added);
        let mut parts: Vec<_> = added.map(|text| (ADDED, text, ADDITION)).collect();
        if let Some(turn) = self.referred() {
            parts.extend([(BEFORE, &turn.request, REFERRED), (WORDS_BEFORE, &turn.report, REFERRED)]);
        }
        parts.retain(|(_, text, _)| !text.is_empty());
        let quotations = parts.iter().map(|(lead, text, max)| quotation(&format!("{lead}:"), text, *max));
        let mut out: Vec<String> = quotations.collect();
        out.extend(self.old(Section::Goal, if self.running().is_some() { OLD_GOAL } else { REST / 2 }));
        out
    }

    /// Returns the last turn, if something is seen to be missing from it.
    fn unfinished(&self) -> Option<&Turn> {
        self.last.filter(|turn| !turn.is_answered() || !self.failures.is_empty())
    }

    /// Returns how far the running request is, without the words on the way.
    fn in_progress(&self) -> Vec<String> {
        let mut out: Vec<String> = self.unfinished().map(|turn| self.state(turn)).into_iter().collect();
        out.extend(self.old(Section::InProgress, OLD_STEPS));
        out.extend(self.unfinished().and_then(|_| self.last_calls()));
        let work = &self.extract.work;
        let lead = format!("{TODO_LIST}{} before the end:", calls(work.since_todo()));
        out.extend((!work.todo.is_empty()).then(|| quotation(&lead, &work.todo, TODO)));
        out
    }

    fn state(&self, turn: &Turn) -> String {
        let is_split = self.extract.is_split && matches!(turn.stop, None | Some(Stop::ToolUse));
        let state = match turn.is_answered() {
            _ if is_split => "goes on in the messages after this summary",
            true => "answered, but with a failure left open",
            false => ending(turn),
        };
        let goes_on = !self.extract.has_moved && self.extract.previous.is_some();
        let since = if goes_on { "since an earlier summary" } else { "so far" };
        format!("{STATE}{state}; {} {since}", calls(turn.calls))
    }

    fn last_calls(&self) -> Option<String> {
        let calls = newest(self.extract.work.last_calls(), LAST);
        (!calls.is_empty()).then(|| format!("{CALLS}, in order:\n  - {}", calls.join("\n  - ")))
    }

    /// Returns what was said on the way: the first words, which often are a plan, and the newest.
    fn said(&self, room: usize) -> Vec<String> {
        let said = self.unfinished().into_iter().flat_map(|turn| &turn.said);
        let mut said: Vec<String> = said.map(|said| format!("{SAID}{}", quoted(said, REMARK))).collect();
        let plan: Vec<String> = said.drain(..said.len().min(1)).collect();
        let rest = newest(said, room.min(ON_THE_WAY));
        plan.into_iter().chain(rest).collect()
    }

    fn next_steps(&self) -> Vec<String> {
        let old = self.old(Section::NextSteps, OLD_STEPS);
        let Some(turn) = self.last else { return old };
        let mut out = vec![format!("1. {}", self.next_step(turn))];
        out.extend(old);
        let is_long = units(&turn.report) > WORDS;
        let how = if is_long { " (shortened here)" } else { "" };
        let words = || quotation(&format!("{LAST_WORDS}{how}:"), &turn.report, WORDS);
        out.extend((!turn.report.is_empty()).then(words));
        out
    }

    fn next_step(&self, turn: &Turn) -> String {
        let failed = if self.failures.is_empty() { "" } else { ", with a failure left open (see Blocked)" };
        let next = match (&turn.stop, self.extract.kind) {
            (Some(Stop::Asks), _) => " Its last line, below, asks the user a question.",
            (_, Kind::Branch) => "",
            _ => " What the user wants next is in the messages after this summary, if any.",
        };
        match () {
            () if turn.is_answered() && failed.is_empty() => format!("{REPLIED}answered.{next}"),
            () if turn.is_answered() => format!("{REPLIED}replied to{failed}.{next}"),
            () if self.extract.is_split => {
                format!("{GO_ON}: the messages after this summary are its continuation.")
            }
            () => format!("{GO_ON}, from where In Progress leaves it."),
        }
    }

    /// Returns the requests before the last one, and what came of them: the older, the shorter.
    fn earlier(&self, room: usize) -> Vec<String> {
        let turns = self.extract.turns.iter().rev().skip(1 + usize::from(self.referred().is_some()));
        let turns = turns.enumerate().map(|(age, turn)| reported(turn, (NEWEST / (age + 1)).max(OLDEST)));
        let turns: Vec<String> = turns.collect::<Vec<_>>().into_iter().rev().collect();
        let mut out = self.old(Section::Done, room * 2 / 5);
        let all = self.extract.dropped + turns.len();
        let shown = newest(turns, room.saturating_sub(size(&out) + 60));
        let left_out = all - shown.len();
        out.extend((left_out > 0).then(|| format!("{LEFT_OUT}{left_out}")));
        out.extend(shown);
        out
    }

    /// Returns what was seen to happen: files, commands that passed, and the last calls of a request that
    /// is finished.
    fn evidence(&self, room: usize) -> Vec<String> {
        let work = &self.extract.work;
        let is_finished = self.unfinished().is_none();
        let files = list(CHANGED, &work.files(), room.min(FILES.max(room / 6)));
        let commands = list(PASSED, &work.passed(), room.min(COMMANDS.max(room / 4)));
        files.into_iter().chain(commands).chain(self.last_calls().filter(|_| is_finished)).collect()
    }

    /// Returns points of the previous summary, marked as such, the newest that fit. Open points are
    /// carried once: not if something was asked or answered since they were carried.
    fn old(&self, section: Section, room: usize) -> Vec<String> {
        let extract = self.extract;
        let is_open = matches!(section, Section::InProgress | Section::Blocked | Section::NextSteps);
        let is_over = |point: &str| {
            is_open && extract.has_moved && point.starts_with(EARLIER)
                || section == Section::Blocked && extract.work.is_over(point)
        };
        let points = extract.previous.iter().flat_map(|previous| previous.of(section));
        let points = points.filter(|point| !is_over(point)).map(|point| point.trim_start_matches(EARLIER));
        newest(points.map(|point| format!("{EARLIER}{point}")).collect(), room)
    }

    /// Returns points of the previous summary that say something else than the new ones, and these.
    fn merged(&self, section: Section, new: &[String], room: usize) -> Vec<String> {
        let mut all = self.old(section, room);
        all.retain(|old| !new.iter().any(|new| folded(old) == folded(&format!("{EARLIER}{new}"))));
        all.extend_from_slice(new);
        newest(all, room)
    }
}

/// Returns how the reply to a request ended.
fn ending(turn: &Turn) -> &str {
    match &turn.stop {
        Some(Stop::Done | Stop::Asks) => "answered",
        Some(Stop::BreaksOff) => "not finished: the reply breaks off in the middle of a sentence",
        Some(Stop::Early(how)) => how,
        Some(Stop::ToolUse) | None => "no final answer yet",
    }
}

/// Returns an earlier turn in one line, its request and its answer of at most `each` units.
fn reported(turn: &Turn, each: usize) -> String {
    let request =
        if turn.request.is_empty() { "Before that".to_owned() } else { quoted(&turn.request, each) };
    let sent = if turn.origin.starts_with(SENT) { format!(" ({})", turn.origin) } else { String::new() };
    let report = if turn.report.is_empty() { "nothing".to_owned() } else { quoted(&turn.report, each) };
    format!("{request}{sent}: {}: {report}", ending(turn))
}

/// Returns as many items as fit on a line after its lead, and how many more there are.
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
