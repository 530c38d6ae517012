//! Writing the summary: sections in pi's order, each within its budget, nothing said twice.

use super::clean::{clip, folded, line, quoted, units};
use super::previous::{Previous, Section};
use super::prose::{report, sentences, words};
use super::shell::Step;
use super::turns::{State, Turn};
use super::words::GAVE;
use super::work::{Command, Work};
use super::{Extract, Kind, file_name};

/// The most UTF-16 units of a summary: about 1,500 tokens.
pub(super) const WHOLE: usize = 6_000;
/// Of each section. They add up to less than the whole with its headings.
const GOAL: usize = 1_050;
const CONSTRAINTS: usize = 750;
const DONE: usize = 1_600;
const IN_PROGRESS: usize = 420;
const BLOCKED: usize = 420;
const DECISIONS: usize = 480;
const NEXT_STEPS: usize = 420;
const CONTEXT: usize = 600;
/// Of a request under Goal.
const REQUEST_UNDER_GOAL: usize = 250;
/// Of a sentence that binds.
pub(super) const CONSTRAINT: usize = 220;
/// Of a report, of one that was told by the summary before, and of a request beside its report.
const REPORT: usize = 180;
const FADED: usize = 140;
const REQUEST: usize = 80;
/// Of the headings, and of "(none)" below some of them.
const HEADINGS: usize = 260;

/// What the collected lines of [`Section::Done`] begin with, so that the next summary can add to them.
const FILES: &str = "Files edited: ";
const COMMANDS: &str = "Commands run: ";
/// What is left open is told once more by the next summary, with this mark, and then no longer.
const EARLIER: &str = " (open since before)";
/// Begins a next step of ours that any message of the user's settles.
const WAITING: &str = "The user has yet to answer: ";

pub(super) fn render(extract: &Extract) -> String {
    let nothing = Previous::default();
    let old = extract.previous.as_ref().unwrap_or(&nothing);
    let mut page = Page { extract, old, told: Vec::new() };
    let goals = page.goal_turns();
    // In the order of what must not be missing; what one section tells, the next leaves out.
    let goal = page.goal(&goals);
    let in_progress = page.in_progress(&goal);
    let blocked = page.blocked();
    let next = page.next_steps();
    let constraints = page.constraints();
    let decisions = page.decisions();
    let context = page.context();
    let used: usize = [&goal, &in_progress, &blocked, &next, &constraints, &decisions, &context]
        .iter()
        .map(|part| size(part))
        .sum();
    let done = page.done(DONE.max((WHOLE - HEADINGS).saturating_sub(used)).min(2 * DONE));
    let parts = [
        ("## Goal", "- ", goal),
        ("\n## Constraints & Preferences", "- ", constraints),
        ("\n## Progress\n### Done", "- [x] ", done),
        ("\n### In Progress", "- [ ] ", in_progress),
        ("\n### Blocked", "- ", blocked),
        ("\n## Key Decisions", "- ", decisions),
        ("\n## Next Steps", "1. ", next),
        ("\n## Critical Context", "- ", context),
    ];
    parts.iter().map(|(heading, mark, points)| section(heading, mark, points)).collect::<Vec<_>>().join("\n")
}

fn section(heading: &str, mark: &str, points: &[String]) -> String {
    let mut out = heading.to_owned();
    if points.is_empty() {
        out.push_str("\n- (none)");
    }
    for (number, point) in points.iter().enumerate() {
        out.push('\n');
        match mark {
            "1. " => out.push_str(&format!("{}. ", number + 1)),
            mark => out.push_str(mark),
        }
        out.push_str(point);
    }
    out
}

fn size(points: &[String]) -> usize {
    points.iter().map(|point| units(point) + 8).sum()
}

struct Page<'a> {
    extract: &'a Extract,
    old: &'a Previous,
    /// What has been told, folded.
    told: Vec<String>,
}

impl<'a> Page<'a> {
    /// The requests that say what the session is about: the first, those with the most behind
    /// them, and the last of weight.
    fn goal_turns(&self) -> Vec<&'a Turn> {
        let mut turns: Vec<&Turn> = self.extract.turns.iter().filter(|turn| turn.is_substantial()).collect();
        if turns.is_empty() {
            turns.extend(self.extract.turns.iter().find(|turn| !turn.request.is_empty()));
        }
        let is_open = |turn: &Turn| self.open_turn().is_some_and(|open| open.number == turn.number);
        let first = turns.first().map(|turn| turn.number);
        let sure = |turn: &Turn| Some(turn.number) == first || is_open(turn);
        let all = self.extract.turns.count().max(1) as f32;
        let value = |turn: &Turn| turn.weight() + 3.0 * turn.number as f32 / all;
        let heaviest = turns.iter().map(|turn| value(turn)).fold(0.0, f32::max);
        turns.retain(|turn| sure(turn) || value(turn) * 2.0 >= heaviest);
        turns.sort_by(|a, b| {
            let key = |turn: &Turn| if sure(turn) { f32::MAX } else { value(turn) };
            key(b).total_cmp(&key(a))
        });
        turns.truncate(6);
        turns.sort_by_key(|turn| turn.number);
        turns
    }

    fn goal(&mut self, turns: &[&Turn]) -> Vec<String> {
        let mut new: Vec<String> = turns
            .iter()
            .map(|turn| quoted(&self.without_constraints(&turn.request), REQUEST_UNDER_GOAL))
            .collect();
        let mut old: Vec<String> =
            self.old.of(Section::Goal).map(|point| shortened(point, REQUEST_UNDER_GOAL)).collect();
        // Where it all began stays, whatever is added.
        let begun = if old.is_empty() { &mut new } else { &mut old };
        let origin = if begun.is_empty() { None } else { Some(begun.remove(0)) };
        let origin = origin.filter(|point| self.tell(point));
        let budget = GOAL - origin.as_ref().map_or(0, |point| units(point) + 8);
        let rest = self.merge(old, new, budget);
        origin.into_iter().chain(rest).collect()
    }

    /// A request without the sentences that stand under the constraints, where enough is left.
    fn without_constraints(&self, request: &str) -> String {
        let chosen: Vec<String> = self.chosen_constraints().iter().map(|text| folded(text)).collect();
        let is_chosen = |sentence: &&str| chosen.contains(&folded(&quoted(sentence, CONSTRAINT)));
        let rest = sentences(request)
            .into_iter()
            .filter(|sentence| !is_chosen(sentence))
            .collect::<Vec<_>>()
            .join("\n");
        if words(&rest) < 4.0 { request.to_owned() } else { rest }
    }

    fn in_progress(&mut self, goal: &[String]) -> Vec<String> {
        let mut new = Vec::new();
        if let Some(turn) = self.open_turn() {
            let request = quoted(&self.without_constraints(&turn.request), REQUEST_UNDER_GOAL);
            let named = match &turn.answers {
                _ if turn.request.is_empty() => "The turn that the summary before left open".to_owned(),
                _ if goal == [request.as_str()] => "The request under Goal".to_owned(),
                _ if goal.last() == Some(&request) => "The last request under Goal".to_owned(),
                Some(question) => {
                    format!("{} (answering {})", quoted(&turn.request, 160), quoted(question, 120))
                }
                None => quoted(&turn.request, 240),
            };
            new.push(format!("{named}: {}{}", self.standing(turn), self.so_far(turn)));
        }
        let old = self.carried(Section::InProgress);
        self.merge(old, new, IN_PROGRESS)
    }

    /// The last turn, if it has no final answer in what is summarised, or one that leaves errors.
    fn open_turn(&self) -> Option<&'a Turn> {
        let troubled = |turn: &Turn| self.extract.work.left_trouble(turn.number);
        let open = |turn: &&Turn| self.extract.split || turn.state != State::Answered || troubled(turn);
        self.extract.turns.last().filter(open)
    }

    fn standing(&self, turn: &Turn) -> &'static str {
        match (&turn.state, self.extract.split, self.extract.kind) {
            (State::Failed(_), ..) => "stopped by an error",
            (State::Interrupted, ..) => "interrupted",
            (_, true, _) => "goes on after this summary",
            (State::Answered, ..) => "ended with what stands under Blocked",
            (_, _, Kind::Branch) => "left without a final answer",
            (..) => "not answered yet",
        }
    }

    fn so_far(&self, turn: &Turn) -> String {
        let files = self.file_names(turn, 4);
        match turn.tools {
            0 => String::new(),
            _ if files.is_empty() => format!("; tool calls so far: {}", turn.tools),
            _ => format!("; tool calls so far: {}, edited {files}", turn.tools),
        }
    }

    fn blocked(&mut self) -> Vec<String> {
        let turns = self.extract.turns.count();
        let troubles = self.extract.work.troubles(turns);
        let mut new: Vec<String> =
            troubles.map(|trouble| format!("{}: {}", trouble.what, quoted(&trouble.error, 200))).collect();
        if let Some(State::Failed(error)) = self.open_turn().map(|turn| &turn.state) {
            let error = if error.is_empty() { "no message" } else { error };
            new.push(format!("The model's answer failed: {}", quoted(error, 200)));
        }
        let work = &self.extract.work;
        let old = self.carried(Section::Blocked).into_iter().filter(|point| !work.resolves(point)).collect();
        self.merge(old, new, BLOCKED)
    }

    fn next_steps(&mut self) -> Vec<String> {
        let mut new = Vec::new();
        match (self.open_turn(), self.extract.turns.last()) {
            (_, Some(Turn { question: Some(question), state: State::Answered, .. })) => {
                new.push(format!("{WAITING}{}", quoted(question, 240)));
            }
            (Some(turn), _) => {
                let reported = turn.state == State::Answered;
                let said = if reported { turn.report.clone() } else { report(&turn.last_said) };
                if !said.is_empty() {
                    new.push(format!("Go on from the assistant's last words: {}", quoted(&said, 240)));
                }
            }
            _ => {}
        }
        let asked = self.extract.turns.count() > 0;
        let old = self.carried(Section::NextSteps);
        let old = old.into_iter().filter(|point| !asked || !point.starts_with(WAITING)).collect();
        self.merge(old, new, NEXT_STEPS)
    }

    /// Open points of the summary before: as they are when nothing was finished since, else marked,
    /// and left out when they were marked before.
    fn carried(&self, section: Section) -> Vec<String> {
        let moved = self.extract.turns.iter().any(|turn| turn.state == State::Answered);
        let points = self.old.of(section).filter(|point| !moved || !point.ends_with(EARLIER));
        points
            .filter(|point| !moved || !is_ours(point))
            .map(|point| match moved {
                true => format!("{}{EARLIER}", clip(point, 200)),
                false => line(point, 300),
            })
            .collect()
    }

    fn constraints(&mut self) -> Vec<String> {
        let old = self.old.of(Section::Constraints).map(|point| shortened(point, CONSTRAINT)).collect();
        self.merge(old, self.chosen_constraints(), CONSTRAINTS)
    }

    /// The sentences that bind most, in order.
    fn chosen_constraints(&self) -> Vec<String> {
        let mut chosen: Vec<_> = self.extract.words.constraints.iter().enumerate().collect();
        chosen.sort_by_key(|(_, constraint)| std::cmp::Reverse(constraint.weight));
        chosen.truncate(10);
        chosen.sort_by_key(|(at, _)| *at);
        chosen.into_iter().map(|(_, constraint)| constraint.text.clone()).collect()
    }

    fn decisions(&mut self) -> Vec<String> {
        let new = self.extract.words.decisions.iter().cloned().collect();
        let old = self.old.of(Section::Decisions).map(|point| line(point, 240)).collect();
        self.merge(old, new, DECISIONS)
    }

    fn context(&mut self) -> Vec<String> {
        let facts = self.extract.words.facts.iter();
        let told = |fact: &&String| fact.strip_prefix(GAVE).is_some_and(|values| self.is_told(values));
        let mut new: Vec<String> = facts.filter(|fact| !told(fact)).cloned().collect();
        new.extend(
            self.extract
                .instructions
                .iter()
                .map(|text| format!("Asked of this summary: {}", quoted(text, 200))),
        );
        let old = self.old.of(Section::Context).map(|point| line(point, 300)).collect();
        self.merge(old, new, CONTEXT)
    }

    fn done(&mut self, budget: usize) -> Vec<String> {
        let (collected, old) = self.collected();
        let budget = budget.saturating_sub(size(&collected));
        let last = self.extract.turns.count().max(1) as f32;
        let mut turns: Vec<&Turn> = self.extract.turns.iter().filter(|turn| is_done(turn)).collect();
        turns.retain(|turn| self.open_turn().is_none_or(|open| open.number != turn.number));
        let malus = |turn: &Turn| match turn.state {
            State::Answered if turn.edits.is_empty() && turn.steps == 0 => 3.0,
            State::Answered => 0.0,
            _ => 6.0,
        };
        let value = |turn: &Turn| turn.weight() + 5.0 * turn.number as f32 / last - malus(turn);
        turns.sort_by(|a, b| value(b).total_cmp(&value(a)));
        let mut room = if old.is_empty() { budget } else { budget * 3 / 5 };
        let mut chosen = Vec::new();
        for turn in turns {
            let point = self.done_point(turn);
            if units(&point) + 8 <= room && self.tell(&point) {
                room -= units(&point) + 8;
                chosen.push((turn.number, point));
            }
        }
        chosen.sort();
        let new: Vec<String> = chosen.into_iter().map(|(_, point)| point).collect();
        let old = self.weightiest(old, budget.saturating_sub(size(&new)));
        old.into_iter().chain(new).chain(collected).collect()
    }

    /// What came of a turn; what was asked is said again only where no other section has it.
    fn done_point(&self, turn: &Turn) -> String {
        let files = self.file_names(turn, 3);
        // A decision in it may have been told.
        let untold = sentences(&turn.report).into_iter().filter(|sentence| !self.is_told(sentence));
        let report = line(&untold.collect::<Vec<_>>().join("\n"), REPORT);
        let outcome = match (&turn.state, report.is_empty(), files.is_empty()) {
            (State::Answered, true, true) => return String::new(),
            (State::Answered, true, false) => format!("edited {files}"),
            (State::Answered, false, false) => format!("{report} ({files})"),
            (State::Answered, false, true) if turn.steps > 0 => report,
            // Nothing was changed: what was said may be a plan.
            (State::Answered, false, true) => format!("answered: {report}"),
            (..) => format!("edited {files}, then {}", self.standing(turn)),
        };
        let request = quoted(&turn.request, REQUEST);
        let reported = turn.state == State::Answered;
        if turn.request.is_empty() || reported && self.is_told(&turn.request) {
            outcome
        } else {
            format!("{request}: {outcome}")
        }
    }

    /// The lines that collect files and commands, those of the summary before counted in, and the
    /// other points of that summary.
    fn collected(&self) -> (Vec<String>, Vec<String>) {
        let mut work = Work::default();
        let mut rest = Vec::new();
        for point in self.old.of(Section::Done) {
            if let Some(files) = point.strip_prefix(FILES) {
                items(files).for_each(|(path, count, _)| work.changed(path, count));
            } else if let Some(commands) = point.strip_prefix(COMMANDS) {
                items(commands).for_each(|(text, runs, failed)| work.command(past(text, runs, failed)));
            } else {
                rest.push(faded(point));
            }
        }
        self.extract.work.files.iter().for_each(|(path, count)| work.changed(path, *count));
        self.extract.work.commands.iter().for_each(|command| work.command(command.clone()));
        work.files.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let files = listed(work.files.iter().map(|(path, count)| item(path, *count, "")), 360);
        // Newest first until the room is used, then in order again.
        let mut commands: Vec<&Command> = work.commands.iter().rev().collect();
        commands.sort_by_key(|command| !command.step.lasting);
        let commands = listed(
            commands.iter().map(|command| item(&command.step.text, command.runs, outcome(command))),
            360,
        );
        let lines = [(FILES, files), (COMMANDS, commands.into_iter().rev().collect())];
        (
            lines
                .into_iter()
                .filter(|(_, list)| !list.is_empty())
                .map(|(name, list)| format!("{name}{}", list.join(", ")))
                .collect(),
            rest,
        )
    }

    fn file_names(&self, turn: &Turn, most: usize) -> String {
        let mut edits: Vec<&(String, u32)> = turn.edits.iter().collect();
        edits.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let more = edits.len().saturating_sub(most);
        let names = edits.iter().take(most).map(|(path, _)| {
            let name = file_name(path);
            let ambiguous = self.extract.ambiguous.iter().any(|known| known == name);
            if ambiguous { path.as_str() } else { name }
        });
        let mut out = names.collect::<Vec<_>>().join(", ");
        if more > 0 {
            out.push_str(&format!(" and {more} more"));
        }
        out
    }

    /// Old points and new ones within a budget: new ones first, but not all of it, and the newest
    /// of the old. What was told is not told again.
    fn merge(&mut self, old: Vec<String>, new: Vec<String>, budget: usize) -> Vec<String> {
        let share = if old.is_empty() { budget } else { budget * 3 / 5 };
        let new = self.newest(new, share);
        let old = self.newest(old, budget.saturating_sub(size(&new)));
        old.into_iter().chain(new).collect()
    }

    /// What was done before, as much as fits: late points rather than early ones, and those that
    /// changed several files rather than those that changed one.
    fn weightiest(&mut self, points: Vec<String>, mut room: usize) -> Vec<String> {
        let mut order: Vec<usize> = (0..points.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(files_named(&points[at]) * points.len() / 2 + at));
        let mut kept = Vec::new();
        for at in order {
            let cost = units(&points[at]) + 8;
            if cost <= room && self.tell(&points[at]) {
                room -= cost;
                kept.push(at);
            }
        }
        kept.sort_unstable();
        kept.into_iter().map(|at| points[at].clone()).collect()
    }

    /// The newest points that fit, in their order.
    fn newest(&mut self, points: Vec<String>, mut room: usize) -> Vec<String> {
        let mut kept = Vec::new();
        for point in points.into_iter().rev() {
            let cost = units(&point) + 8;
            if cost <= room && self.tell(&point) {
                room -= cost;
                kept.push(point);
            }
        }
        kept.reverse();
        kept
    }

    /// Notes a point as told; whether it was new.
    fn tell(&mut self, point: &str) -> bool {
        let new = !self.is_told(point);
        if new {
            self.told.push(folded(point));
        }
        new
    }

    fn is_told(&self, point: &str) -> bool {
        let folded = folded(point);
        folded.is_empty()
            || self.told.iter().any(|told| {
                let (short, long) = if told.len() < folded.len() { (told, &folded) } else { (&folded, told) };
                short == long || short.len() >= 16 && long.contains(short.as_str())
            })
    }
}

/// A point of before; a quotation that is cut stays one.
fn shortened(point: &str, max: usize) -> String {
    match point.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) if !inner.contains('"') => quoted(inner, max),
        _ => line(point, max),
    }
}

/// A point of before, shortened; the files it names at its end stay.
fn faded(point: &str) -> String {
    match point.rsplit_once(" (") {
        Some((text, files)) if files.ends_with(')') && units(files) <= 60 => {
            format!("{} ({files}", line(text, FADED - 20))
        }
        _ => line(point, FADED),
    }
}

/// How many files a point names at its end: `(a.rs, b.rs and 2 more)`.
fn files_named(point: &str) -> usize {
    let files = point.strip_suffix(')').and_then(|point| point.rsplit_once(" ("));
    files
        .map_or(0, |(_, files)| files.split(", ").count() + if files.contains(" more") { 2 } else { 0 })
        .min(6)
}

/// Whether there is something to tell of a turn that is over.
fn is_done(turn: &Turn) -> bool {
    turn.state == State::Answered && !turn.report.is_empty()
        || !turn.edits.is_empty() && turn.state != State::Open
}

/// Whether an open point of before is about a turn of ours, which the messages after it have
/// settled.
fn is_ours(point: &str) -> bool {
    [
        "The request under Goal",
        "The last request under Goal",
        "Go on from the assistant's last words",
        "The model's answer failed",
        "The turn that the summary before",
    ]
    .iter()
    .any(|start| point.starts_with(start))
        || point.contains(": goes on after this summary")
}

fn outcome(command: &Command) -> &'static str {
    match (command.failed, command.step.masked) {
        (true, _) => " failed",
        (false, true) => "",
        (false, false) => " ok",
    }
}

fn item(name: &str, count: u32, note: &str) -> String {
    let times = if count > 1 { format!(" ×{count}") } else { String::new() };
    format!("`{name}`{times}{note}")
}

fn listed(items: impl Iterator<Item = String>, mut room: usize) -> Vec<String> {
    let fitting = items.take_while(|item| {
        let fits = units(item) + 2 <= room;
        room = room.saturating_sub(units(item) + 2);
        fits
    });
    fitting.collect()
}

/// The items of such a list: name, count, and whether the last run failed.
fn items(list: &str) -> impl Iterator<Item = (&str, u32, bool)> {
    let mut parts = list.split('`').skip(1);
    std::iter::from_fn(move || {
        let (name, note) = (parts.next()?, parts.next().unwrap_or_default());
        let digits = note.trim_start().strip_prefix('×').unwrap_or_default();
        let digits = digits.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        Some((name, digits.parse().unwrap_or(1), note.contains("failed")))
    })
}

/// A command of the summary before.
fn past(text: &str, runs: u32, failed: bool) -> Command {
    let lasting = super::shell::steps(text).first().is_some_and(|step| step.lasting);
    Command { step: Step { text: text.to_owned(), key: String::new(), lasting, masked: true }, runs, failed }
}
