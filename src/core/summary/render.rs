//! Writing the summary: pi's sections in their order, each within its weight.

use super::budget::{self, *};
use super::message::Stop;
use super::previous::{self as lead, ADDED, REPLIED, SAID, SENT, Section};
use super::quote::{asks, block, breaks_off, folded, line, quoted, units};
use super::turns::Turn;
use super::work::{Failures, calls};
use super::{Extract, Kind};

/// Marks an open point of a previous summary. One that has the mark already is not carried on.
const BEFORE_MARK: &str = " (open since an earlier summary)";
/// Marks evidence of a previous summary.
const EARLIER_MARK: &str = "Earlier: ";
const PASSED: &str = "Commands whose last run ended without error, newest first: ";
const CHANGED: &str = "Files changed, newest first: ";
/// How these lists begin, in summaries of older versions, too.
const EVIDENCE: [&str; 3] = ["Files changed", "Commands whose last run", "Failed, and passed over"];
const NOTED: &str = "Failed, and passed over: ";

/// Returns the summary.
pub(super) fn render(extract: &Extract) -> String {
    let last = extract.turns.last();
    let request = last.map(|turn| format!("{}\n{}", turn.request, turn.added.join("\n"))).unwrap_or_default();
    let failures = extract.work.failures(&request, last.is_some_and(Turn::is_answered));
    let page = Page { extract, last, failures };
    let (request, mut goal) = (page.request(), page.before());
    let constraints = page.merged(Section::Constraints, page.constraints(), CONSTRAINTS);
    let decisions = page.merged(Section::Decisions, page.decisions(), DECISIONS);
    let context = page.merged(Section::Context, page.extract.notes.context.clone(), CONTEXT);
    let (blocked, next, mut in_progress) = (page.blocked(), page.next_steps(), page.in_progress());
    let others = [&goal, &constraints, &decisions, &context, &blocked, &next, &in_progress];
    let room = (REST - HEADINGS).saturating_sub(others.iter().map(|items| size(items)).sum());
    // The lists come first: they are the evidence.
    let evidence = page.evidence(room);
    let room = room.saturating_sub(size(&evidence));
    let said = page.said(room / 2);
    let mut done = page.earlier(room.saturating_sub(size(&said)));
    done.extend(evidence);
    let state = in_progress.len().min(1);
    in_progress.splice(state..state, said);
    goal.splice(0..0, request);
    let sections = [
        ("## Goal", goal),
        ("## Constraints & Preferences", constraints),
        ("## Progress\n### Done", done),
        ("### In Progress", in_progress),
        ("### Blocked", blocked),
        ("## Key Decisions", decisions),
        ("## Next Steps", next),
        ("## Critical Context", context),
    ];
    sections.map(|(heading, items)| format!("{heading}\n{}", body(&items))).join("\n\n")
}

/// Returns the items as lines of a list; a quotation has an empty line around it.
fn body(items: &[String]) -> String {
    let is_quotation = |item: &str| item.contains("\n>");
    let mut out = String::new();
    for (at, item) in items.iter().enumerate() {
        let apart = is_quotation(item) || at > 0 && is_quotation(&items[at - 1]);
        out.push_str(["", "\n", "\n\n"][usize::from(at > 0) * (1 + usize::from(apart))]);
        out.push_str(if is_quotation(item) || item.starts_with("1. ") { "" } else { "- " });
        out.push_str(item);
    }
    if out.is_empty() { "- (none)".to_owned() } else { out }
}

fn size(items: &[String]) -> usize {
    items.iter().map(|item| units(item) + 4).sum()
}

fn quotation(lead: &str, text: &str, max: usize) -> String {
    format!("{lead}\n{}", block(text, max))
}

/// What the sections are made from.
struct Page<'a> {
    extract: &'a Extract,
    last: Option<&'a Turn>,
    failures: Failures,
}

impl Page<'_> {
    /// Returns the running request and what was added to it; without one, the goals of the previous
    /// summary.
    fn request(&self) -> Vec<String> {
        let Some(turn) = self.last.filter(|turn| !turn.request.is_empty()) else {
            return self.old(Section::Goal, REQUEST);
        };
        let added: usize = turn.added.iter().map(|text| units(text)).sum();
        let room = REQUEST - added.min(REQUEST / 2);
        let sent = turn.sender.as_ref().map(|kind| format!("{SENT}{}:", line(kind, 60)));
        let mut out = vec![quotation(sent.as_deref().unwrap_or(lead::REQUEST), &turn.request, room)];
        if units(&turn.request) > room && !turn.entry.is_empty() {
            out.push(format!("The whole request is in the session's entry {}.", line(&turn.entry, 60)));
        }
        let share = (REQUEST - units(&turn.request).min(room)) / turn.added.len().max(1);
        out.extend(turn.added.iter().map(|text| quotation(ADDED, text, share)));
        out
    }

    /// Returns what a short request, or one after an unfinished one, refers to; and the goals of a
    /// previous summary.
    fn before(&self) -> Vec<String> {
        let short = |turn: &&Turn| units(&turn.request) <= SHORT;
        let mut out = Vec::new();
        if let [earlier @ .., last] = &*self.extract.turns
            && let Some(before) = earlier.last().filter(|before| short(&last) || !before.is_answered())
            && last.sender.is_none()
        {
            // Of several short ones, back to the one they are about.
            let about = earlier.iter().rev().take(3).find(|turn| !short(turn)).unwrap_or(before);
            for (lead, text) in [
                ("The request before it:", &about.request),
                ("The assistant's words before it:", &before.report),
            ] {
                out.extend((!text.is_empty()).then(|| quotation(lead, text, BEFORE)));
            }
        }
        if self.last.is_some_and(|turn| !turn.request.is_empty()) {
            out.extend(self.old(Section::Goal, OLD_GOAL));
        }
        out
    }

    /// Returns what binds. While extensions send the requests, so does the last one of the user's own.
    fn constraints(&self) -> Vec<String> {
        let sent = self.last.is_some_and(|turn| turn.sender.is_some());
        let own = self.extract.turns.iter().rfind(|turn| turn.sender.is_none() && !turn.request.is_empty());
        let own = own
            .filter(|_| sent)
            .map(|turn| format!("The user's own last request: {}", quoted(&turn.request, BEFORE)));
        self.extract.notes.constraints.iter().cloned().chain(own).collect()
    }

    /// Returns questions and answers.
    fn decisions(&self) -> Vec<String> {
        let turns = self.extract.turns.iter().rev().skip(1).rev().filter(|turn| self.is_decision(turn));
        let turns = turns.map(|turn| self.reported(turn, NOTE));
        turns.chain(self.extract.notes.decisions.iter().cloned()).collect()
    }

    /// Whether an answer is a decision: it is no question, and no tool was ever called.
    fn is_decision(&self, turn: &Turn) -> bool {
        let is_talk =
            self.extract.previous.is_none() && self.extract.turns.iter().all(|turn| turn.calls == 0);
        is_talk && turn.is_answered() && !asks(&turn.report)
    }

    fn blocked(&self) -> Vec<String> {
        let mut all = self.carried(Section::Blocked, BLOCKED / 2);
        all.extend(self.failures.open.iter().cloned());
        if let Some(Some(Stop::Error(error))) = self.last.map(|turn| &turn.stop) {
            all.push(format!("The model's reply failed: {}", quoted(error, OUTPUT)));
        }
        newest(all, BLOCKED)
    }

    /// Whether nothing is seen to be missing from the running request.
    fn is_finished(&self, turn: &Turn) -> bool {
        turn.is_answered() && self.failures.open.is_empty() && !breaks_off(&turn.report)
    }

    /// Returns how far the running request is, without the words on the way.
    fn in_progress(&self) -> Vec<String> {
        let mut out = self.carried(Section::InProgress, OLD_STEPS);
        let work = &self.extract.work;
        if let Some(turn) = self.last.filter(|turn| !self.is_finished(turn)) {
            let mut state = format!("[ ] The request under Goal: {}", self.state(turn));
            if turn.calls > 0 {
                let goes_on = !self.extract.has_moved && self.extract.previous.is_some();
                let since = if goes_on { "since the previous summary" } else { "so far" };
                state.push_str(&format!("; {} {since}", calls(turn.calls)));
                if turn.silent_calls > 0 && !turn.report.is_empty() {
                    state.push_str(&format!(
                        ", {} of them after the assistant's last words",
                        turn.silent_calls
                    ));
                }
            }
            out.insert(0, state);
            out.extend(self.last_calls());
        }
        let open = work.unanswered();
        out.extend(
            (!open.is_empty()).then(|| format!("Last tool calls, without a result: {}", open.join("; "))),
        );
        let ago = calls(work.since_todo());
        let todo = format!("Todo list, as its tool reported it {ago} before the end:\n{}", work.todo);
        out.extend((!work.todo.is_empty()).then_some(todo));
        out
    }

    fn last_calls(&self) -> Option<String> {
        let calls = newest(self.extract.work.last_calls(), LAST);
        let calls: Vec<String> = calls.iter().map(|call| format!("\n  - {call}")).collect();
        (!calls.is_empty()).then(|| format!("Last tool calls, in order:{}", calls.concat()))
    }

    /// Returns what was said on the way: the first words, which often are a plan, and the newest.
    fn said(&self, room: usize) -> Vec<String> {
        let Some(turn) = self.last.filter(|turn| !self.is_finished(turn)) else { return Vec::new() };
        let mut said: Vec<String> =
            turn.said.iter().map(|said| format!("{SAID}{}", quoted(said, REMARK))).collect();
        let plan: Vec<String> = said.drain(..said.len().min(1)).filter(|plan| units(plan) < room).collect();
        let rest = newest(said, room.min(ON_THE_WAY).saturating_sub(size(&plan)));
        plan.into_iter().chain(rest).collect()
    }

    fn state(&self, turn: &Turn) -> &'static str {
        match (&turn.stop, self.extract.is_split, self.extract.kind) {
            (Some(Stop::Done), ..) => "replied to, but not seen to be finished",
            (Some(Stop::Length), ..) => "the model's reply reached its token limit",
            (Some(Stop::Aborted), ..) => "interrupted by the user",
            (Some(Stop::Error(_)), ..) => "the model's reply failed",
            (_, _, Kind::Branch) => "left without a final answer",
            (_, true, _) => "its work goes on in the messages after this summary",
            _ if !turn.is_begun() => "no reply yet",
            _ => "no final answer yet",
        }
    }

    fn next_steps(&self) -> Vec<String> {
        let mut out = self.carried(Section::NextSteps, OLD_STEPS);
        let Some(turn) = self.last else { return out };
        out.insert(0, format!("1. {}", self.next_step(turn)));
        if !turn.report.is_empty() {
            let how = match () {
                () if breaks_off(&turn.report) && turn.is_answered() => " (the reply itself breaks off here)",
                () if units(&turn.report) > LAST_WORDS => " (shortened here)",
                () if self.extract.is_split => " before this summary",
                () => "",
            };
            out.push(quotation(&format!("{}{how}:", lead::LAST_WORDS), &turn.report, LAST_WORDS));
        }
        out
    }

    fn next_step(&self, turn: &Turn) -> String {
        let rest = match self.extract.kind {
            Kind::Branch => "",
            Kind::Compaction => " What the user wants next is in the messages after this summary, if any.",
        };
        let failed =
            if self.failures.open.is_empty() { "" } else { ", with a failure left open (see Blocked)" };
        match &turn.stop {
            Some(Stop::Done) if breaks_off(&turn.report) => {
                format!("{REPLIED}not finished: the reply breaks off in the middle of a sentence{failed}.")
            }
            Some(Stop::Done) if asks(&turn.report) => {
                let question = turn.report.trim().lines().last().unwrap_or_default();
                format!(
                    "{REPLIED}replied to{failed}, and the reply ends in a question to the user: {}",
                    quoted(question, CONSTRAINT)
                )
            }
            Some(Stop::Done) if failed.is_empty() => format!("{REPLIED}answered.{rest}"),
            Some(Stop::Done) => format!("{REPLIED}replied to{failed}.{rest}"),
            Some(Stop::Aborted) => "The user interrupted the work on the request under Goal.".to_owned(),
            _ if self.extract.is_split => {
                "Go on with the request under Goal: the messages after this summary are its continuation."
                    .to_owned()
            }
            _ => "Go on with the request under Goal, from where In Progress leaves it.".to_owned(),
        }
    }

    /// Returns the requests before the last one, and what came of them: the older, the shorter.
    fn earlier(&self, room: usize) -> Vec<String> {
        let is_evidence = |point: &str| EVIDENCE.iter().any(|lead| point.starts_with(lead));
        let mut old = self.old(Section::Done, usize::MAX);
        old.iter_mut().filter(|point| is_evidence(point)).for_each(|point| point.insert_str(0, EARLIER_MARK));
        let turns =
            self.extract.turns.iter().rev().skip(1).filter(|turn| !self.is_decision(turn)).enumerate();
        let turns = turns.map(|(age, turn)| self.reported(turn, (EARLIER / (age + 1)).max(EARLIEST)));
        let mut turns: Vec<String> = turns.collect();
        turns.reverse();
        let share = if old.is_empty() { 60 } else { room * 2 / 5 };
        let shown = newest(turns.clone(), room.saturating_sub(share));
        let left_out = self.extract.dropped + turns.len() - shown.len();
        let mut out = newest(old, room.saturating_sub(size(&shown) + 60));
        out.extend((left_out > 0).then(|| format!("Earlier requests left out here: {left_out}")));
        out.extend(shown);
        out
    }

    /// Returns an earlier turn in one line, its request and its answer of at most `each` units.
    fn reported(&self, turn: &Turn, each: usize) -> String {
        let request = match (&turn.sender, turn.request.is_empty()) {
            (_, true) => "Before that".to_owned(),
            (Some(kind), _) => format!("{} of {}", quoted(&turn.request, each), line(kind, 60)),
            (None, _) => quoted(&turn.request, each),
        };
        let how = match &turn.stop {
            Some(Stop::Done) if breaks_off(&turn.report) => "the reply breaks off after",
            Some(Stop::Done) => "answered",
            Some(Stop::Aborted) => "interrupted by the user; last words",
            Some(Stop::Error(_)) => "the model's reply failed; last words",
            _ => "no final answer; last words",
        };
        let report = if turn.report.is_empty() { "(none)".to_owned() } else { quoted(&turn.report, each) };
        let files = some(&self.extract.work.files(Some(turn.number)), each);
        let files = if files.is_empty() { files } else { format!("; changed {files}") };
        format!("{request}: {how} {report}{files}")
    }

    /// Returns what was seen to happen: files, commands that passed, failures passed over, and the last
    /// calls of a request that is finished.
    fn evidence(&self, room: usize) -> Vec<String> {
        let work = &self.extract.work;
        let mut out = Vec::new();
        for (lead, items, share) in [
            (CHANGED, work.files(None), FILES.max(room / 6)),
            (PASSED, work.passed(), budget::COMMANDS.max(room / 4)),
            (NOTED, self.failures.noted.clone(), budget::BLOCKED),
        ] {
            let list = some(&items, share.min(room.saturating_sub(size(&out) + units(lead))));
            out.extend((!list.is_empty()).then(|| format!("{lead}{list}")));
        }
        let finished = self.last.filter(|turn| self.is_finished(turn) && turn.calls > 0);
        out.extend(finished.and_then(|_| self.last_calls()));
        out
    }

    /// Returns points of the previous summary, the newest that fit.
    fn old(&self, section: Section, room: usize) -> Vec<String> {
        let points = self.extract.previous.iter().flat_map(|previous| previous.of(section));
        newest(points.map(str::to_owned).collect(), room)
    }

    /// Returns points of the previous summary that say something else than the new ones, and these.
    fn merged(&self, section: Section, new: Vec<String>, room: usize) -> Vec<String> {
        let mut all = self.old(section, usize::MAX);
        all.retain(|old| !new.iter().any(|new| folded(new) == folded(old)));
        all.extend(new);
        newest(all, room)
    }

    /// Returns open points of the previous summary: as they are if nothing was asked or answered since,
    /// else once more, with a mark.
    fn carried(&self, section: Section, room: usize) -> Vec<String> {
        let mut points = self.old(section, usize::MAX);
        points.retain(|point| !point.starts_with(SAID));
        if self.extract.has_moved {
            points.retain(|point| !point.ends_with(BEFORE_MARK));
            points.iter_mut().for_each(|point| *point = format!("{}{BEFORE_MARK}", line(point, POINT - 40)));
        }
        newest(points, room)
    }
}

/// Returns as many items as fit on a line, and how many more there are.
fn some(items: &[String], mut room: usize) -> String {
    let fits = |item: &&String| {
        let fits = units(item) + 14 <= room;
        room = room.saturating_sub(units(item) + 2);
        fits
    };
    let shown: Vec<&str> = items.iter().take_while(fits).map(String::as_str).collect();
    match items.len() - shown.len() {
        0 => shown.join(", "),
        _ if shown.is_empty() => String::new(),
        more => format!("{}, {more} more", shown.join(", ")),
    }
}

/// Returns the newest points that fit, in their order.
fn newest(mut points: Vec<String>, mut room: usize) -> Vec<String> {
    let mut fits: Vec<bool> = Vec::new();
    for point in points.iter().rev() {
        let cost = units(point) + 4;
        fits.push(cost <= room);
        room = if cost <= room { room - cost } else { room };
    }
    points.retain(|_| fits.pop().unwrap_or_default());
    points
}
