//! Writing the summary: pi's sections in their order, each within its budget.

use super::budget::{self, *};
use super::previous::{self as lead, ADDED, ANSWERED, PASSED, SAID, SENT, Section};
use super::quote::{asks, block, folded, line, quoted, units};
use super::turns::{State, Turn};
use super::work::{Counted, calls};
use super::{Extract, Kind};

/// Marks an open point of a previous summary. One that has the mark already is not carried on.
const BEFORE_MARK: &str = " (open since an earlier summary)";

/// Returns the summary.
pub(super) fn render(extract: &Extract) -> String {
    let page = Page { extract, last: extract.turns.last() };
    let (request, mut goal) = (page.request(), page.before());
    let notes = &extract.notes;
    let constraints = page.merged(Section::Constraints, &notes.constraints, CONSTRAINTS);
    let decisions = page.merged(Section::Decisions, &notes.decisions, DECISIONS);
    let context = page.merged(Section::Context, &notes.context, CONTEXT);
    let (blocked, next) = (page.blocked(), page.next_steps());
    let others = [&goal, &constraints, &decisions, &context, &blocked, &next, &page.in_progress(0)];
    let room = (REST - HEADINGS).saturating_sub(others.iter().map(|items| size(items)).sum());
    // The lists come first: they are the evidence.
    let evidence = page.evidence(room);
    let room = room.saturating_sub(size(&evidence));
    let in_progress = page.in_progress(room / 2);
    let said = size(&in_progress).saturating_sub(size(&page.in_progress(0)));
    let mut done = page.earlier(room.saturating_sub(said));
    done.extend(evidence);
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
        out.push_str(if at == 0 {
            ""
        } else if apart {
            "\n\n"
        } else {
            "\n"
        });
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
}

impl Page<'_> {
    /// The running request and what was added to it; without one, the goals of the previous summary.
    fn request(&self) -> Vec<String> {
        let Some(turn) = self.last.filter(|turn| !turn.request.is_empty()) else {
            return self.old(Section::Goal, REQUEST);
        };
        let added: usize = turn.added.iter().map(|text| units(text)).sum();
        let room = REQUEST - added.min(REQUEST / 2);
        let sent = turn.sender.as_ref().map(|kind| format!("{SENT}{}:", line(kind, 60)));
        let request = quotation(sent.as_deref().unwrap_or(lead::REQUEST), &turn.request, room);
        let share = (REQUEST - units(&turn.request).min(room)) / turn.added.len().max(1);
        let added = turn.added.iter().map(|text| quotation(ADDED, text, share));
        std::iter::once(request).chain(added).collect()
    }

    /// What a short request, or one after an unfinished one, refers to; and the goals of a previous
    /// summary.
    fn before(&self) -> Vec<String> {
        let short = |turn: &&Turn| units(&turn.request) <= SHORT;
        let mut out = Vec::new();
        if let [earlier @ .., last] = &*self.extract.turns
            && let Some(before) =
                earlier.last().filter(|before| short(&last) || before.state != State::Answered)
        {
            // Of several short ones, back to the one they are about.
            let about = earlier.iter().rev().take(3).find(|turn| !short(turn)).unwrap_or(before);
            for (lead, text) in [
                ("The request before it:", &about.request),
                ("The assistant's words before it:", &before.report),
            ] {
                out.extend((!text.is_empty()).then(|| quotation(lead, text, BEFORE / 2)));
            }
        }
        if self.last.is_some_and(|turn| !turn.request.is_empty()) {
            out.extend(self.old(Section::Goal, OLD_GOAL));
        }
        out
    }

    fn blocked(&self) -> Vec<String> {
        let mut new = self.extract.work.open_failures();
        if let Some(State::Failed(error)) = self.last.map(|turn| &turn.state) {
            new.push(format!("The model's reply failed: {}", quoted(error, OUTPUT)));
        }
        joined(self.carried(Section::Blocked), new, BLOCKED)
    }

    /// How far the running request is, with at most `room` units of words on the way.
    fn in_progress(&self, room: usize) -> Vec<String> {
        let mut out = newest(self.carried(Section::InProgress), OLD_STEPS);
        let Some(turn) = self.last.filter(|turn| turn.state != State::Answered) else { return out };
        let mut state = format!("[ ] The request under Goal: {}", self.state(turn));
        if turn.calls > 0 {
            let goes_on = !self.extract.moved && self.extract.previous.is_some();
            let since = if goes_on { "since the previous summary" } else { "so far" };
            state.push_str(&format!("; {} {since}", calls(turn.calls)));
        }
        if turn.calls > 0 && !turn.report.is_empty() {
            state.push_str(&format!(", {} of them after the assistant's last words", turn.silent_calls));
        }
        if !turn.files.is_empty() && self.extract.turns.len() > 1 {
            state.push_str(&format!("; changed {}", listed(&turn.files, POINT)));
        }
        out.push(state);
        // The first words often are a plan.
        let mut said: Vec<String> = turn.said.iter().map(|said| format!("{SAID}{said}")).collect();
        let plan = said.drain(..said.len().min(1)).next().filter(|plan| units(plan) < room);
        let rest = room.min(ON_THE_WAY).saturating_sub(plan.as_ref().map_or(room, |plan| units(plan) + 4));
        out.extend(plan.into_iter().chain(newest(said, rest)));
        let work = &self.extract.work;
        let (done, open) = (newest(work.last_calls.iter().cloned().collect(), LAST), work.unanswered());
        for (lead, calls) in [("in order", done), ("without a result", open)] {
            out.extend((!calls.is_empty()).then(|| format!("Last tool calls, {lead}: {}", calls.join("; "))));
        }
        out.extend(
            (!work.todo.is_empty())
                .then(|| format!("Todo list, as its tool reported it last:\n{}", work.todo)),
        );
        out
    }

    fn state(&self, turn: &Turn) -> &'static str {
        match (&turn.state, self.extract.split, self.extract.kind) {
            (State::Interrupted, ..) => "interrupted by the user",
            (State::Failed(_), ..) => "the model's reply failed",
            (_, _, Kind::Branch) => "left without a final answer",
            (_, true, _) => "its work goes on in the messages after this summary",
            _ if !turn.is_begun() => "no reply yet",
            _ => "no final answer yet",
        }
    }

    fn next_steps(&self) -> Vec<String> {
        let mut out = newest(self.carried(Section::NextSteps), OLD_STEPS);
        let Some(turn) = self.last else { return out };
        let step = match (&turn.state, self.extract.kind) {
            (State::Answered, _) if asks(&turn.report) => ", and the answer ends in a question to the user.",
            (State::Answered, Kind::Branch) => ".",
            (State::Answered, _) => {
                ". What the user wants next is in the messages after this summary, if any."
            }
            (State::Interrupted, _) => "The user interrupted the work on the request under Goal.",
            _ if self.extract.split => {
                "Go on with the request under Goal: the messages after this summary are its continuation."
            }
            _ => "Go on with the request under Goal, from where In Progress leaves it.",
        };
        let answered = if turn.state == State::Answered { ANSWERED } else { "" };
        out.insert(0, format!("1. {answered}{step}"));
        out.extend((!turn.report.is_empty()).then(|| quotation(lead::LAST_WORDS, &turn.report, LAST_WORDS)));
        out
    }

    /// The requests before the last one, and what was answered: the older, the shorter.
    fn earlier(&self, mut room: usize) -> Vec<String> {
        let lists = [lead::FILES, PASSED, lead::FAILED];
        let mut old = self.old(Section::Done, usize::MAX);
        old.retain(|point| !lists.iter().any(|start| point.starts_with(start)));
        let share = if old.is_empty() { 60 } else { room * 2 / 5 };
        let (mut new, mut left_out) = (Vec::new(), self.extract.dropped);
        for (age, turn) in self.extract.turns.iter().rev().skip(1).enumerate() {
            let point = told(turn, (EARLIER.0 / (age + 1)).max(EARLIER.1));
            if left_out == self.extract.dropped && units(&point) + 4 + share <= room {
                room -= units(&point) + 4;
                new.push(point);
            } else {
                left_out += 1;
            }
        }
        new.extend((left_out > 0).then(|| format!("Earlier requests left out here: {left_out}")));
        new.reverse();
        let mut out = newest(old, room.saturating_sub(60));
        out.extend(new);
        out
    }

    /// What was seen to happen: files, and commands by how their last run ended.
    fn evidence(&self, room: usize) -> Vec<String> {
        let work = &self.extract.work;
        let mut files: Vec<&Counted> = work.files.iter().rev().collect();
        files.sort_by_key(|file| std::cmp::Reverse(file.times));
        let commands =
            |failed| work.commands.iter().rev().filter(move |command| command.failed == failed).collect();
        let most = COMMANDS.max(room / 4);
        let mut out = Vec::new();
        for (lead, items, share) in [
            (lead::FILES, files, budget::FILES.max(room / 6)),
            (PASSED, commands(false), most),
            (lead::FAILED, commands(true), most / 3),
        ] {
            let times =
                |item: &&Counted| if item.times > 1 { format!(" ×{}", item.times) } else { String::new() };
            let items = items.iter().map(|item| format!("`{}`{}", item.text, times(item))).collect();
            let list = some(items, share.min(room.saturating_sub(size(&out) + units(lead))));
            out.extend((!list.is_empty()).then(|| format!("{lead}{list}")));
        }
        out
    }

    /// Points of the previous summary, the newest that fit.
    fn old(&self, section: Section, room: usize) -> Vec<String> {
        let points = self.extract.previous.iter().flat_map(|previous| previous.of(section));
        newest(points.map(str::to_owned).collect(), room)
    }

    fn merged(&self, section: Section, new: &[String], room: usize) -> Vec<String> {
        joined(self.old(section, room), new.to_vec(), room)
    }

    /// Open points of the previous summary: as they are where nothing was asked or answered since,
    /// else once more, with a mark.
    fn carried(&self, section: Section) -> Vec<String> {
        let mut points = self.old(section, usize::MAX);
        points.retain(|point| !point.starts_with(SAID));
        if self.extract.moved {
            points.retain(|point| !point.ends_with(BEFORE_MARK));
            points.iter_mut().for_each(|point| *point = format!("{}{BEFORE_MARK}", line(point, POINT - 40)));
        }
        points
    }
}

/// Returns an earlier turn in one line, its request and its answer of at most `each` units.
fn told(turn: &Turn, each: usize) -> String {
    let request = match (&turn.sender, turn.request.is_empty()) {
        (_, true) => "Before that".to_owned(),
        (Some(kind), _) => format!("{} of {}", quoted(&turn.request, each), line(kind, 60)),
        (None, _) => quoted(&turn.request, each),
    };
    let how = match &turn.state {
        State::Answered => "answered",
        State::Interrupted => "interrupted by the user",
        State::Failed(_) => "the model's reply failed",
        State::Open => "no final answer",
    };
    let words = match &turn.state {
        _ if turn.report.is_empty() => String::new(),
        State::Answered => format!(" {}", quoted(&turn.report, each)),
        _ => format!(", last words {}", quoted(&turn.report, each)),
    };
    let files = Some(listed(&turn.files, each)).filter(|files| !files.is_empty());
    format!("{request}: {how}{words}{}", files.map_or(String::new(), |files| format!("; changed {files}")))
}

fn listed(names: &[String], room: usize) -> String {
    some(names.iter().map(|name| format!("`{name}`")).collect(), room)
}

/// Returns as many items as fit on a line, and how many more there are.
fn some(items: Vec<String>, mut room: usize) -> String {
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

/// Returns old points and new ones within a budget: the new first, but not all of it, then the newest
/// of the old that say something else.
fn joined(mut old: Vec<String>, new: Vec<String>, room: usize) -> Vec<String> {
    old.retain(|point| !new.iter().any(|new| folded(new) == folded(point)));
    let new = newest(new, if old.is_empty() { room } else { room * 3 / 5 });
    let old = newest(old, room.saturating_sub(size(&new)));
    old.into_iter().chain(new).collect()
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
