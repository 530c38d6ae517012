//! The sections of a summary: how they are written, and how those of a previous summary are read.
//!
//! Each section is a list of items: points, and quotations below the line that names them. A
//! previous summary may be a built-in one, whose quotations are restored word for word; a model's,
//! in the same sections; two in one, if a turn was split; or prose. Its points are quoted like any
//! other text.

use super::budget::{HELD, NEWEST, OLDEST, POINT};
use super::quote::{bare, clean, folded, line, quoted, unquoted};

/// The sections of the format, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Goal,
    Constraints,
    Done,
    InProgress,
    Blocked,
    Decisions,
    NextSteps,
    Context,
}

/// The sections in their order. Each has its heading, and words by which a heading of either agent
/// is recognized; the longest word that fits decides.
const SECTIONS: [(Section, &str, &[&str]); 8] = [
    (Section::Goal, "## Goal", &["goal", "originalrequest"]),
    (
        Section::Constraints,
        "## Constraints & Preferences",
        &["constraint", "preference"],
    ),
    (
        Section::Done,
        "## Progress\n### Done",
        &["done", "progress"],
    ),
    (
        Section::InProgress,
        "### In Progress",
        &["inprogress", "progresssofar", "earlyprogress"],
    ),
    (Section::Blocked, "### Blocked", &["blocked"]),
    (Section::Decisions, "## Key Decisions", &["decision"]),
    (Section::NextSteps, "## Next Steps", &["nextstep"]),
    (
        Section::Context,
        "## Critical Context",
        &["context", "additionalnotes"],
    ),
];

/// How the lines before the quotations begin: the current request with its entry, the todo list,
/// and the assistant's last words.
pub(super) const REQUEST: &str = "The last request, word for word (entry ";
pub(super) const TODO_LIST: &str = "Todo list, as its tool last reported it:";
pub(super) const LAST_WORDS: &str = "The assistant's last words";
const QUOTATIONS: [&str; 3] = [REQUEST, TODO_LIST, LAST_WORDS];

/// The beginnings of points that the built-in summary writes.
pub(super) const SAID: &str = "Said on the way: ";
pub(super) const REPLIED: &str = "The request under Goal was replied to";
pub(super) const GO_ON: &str = "Go on with the request under Goal";
pub(super) const CALLS: &str = "Last tool calls";
pub(super) const LEFT_OUT: &str = "Older requests are left out here.";
pub(super) const PASSED: &str = "Commands whose last run ended without error, newest first: ";
pub(super) const CHANGED: &str = "Files changed";
/// The beginnings of points that each summary reports anew: on how far the work is, and on what it
/// has done.
const UNDER_WAY: [&str; 5] = [SAID, REPLIED, GO_ON, CALLS, LEFT_OUT];
const DONE: [&str; 2] = [PASSED, CHANGED];
/// The beginning of what is said of another branch.
const ELSEWHERE: &str = "On another branch: ";
/// Marks a point of a previous summary: points below it without this mark are newer.
pub(super) const EARLIER: &str = "Earlier: ";

/// The items of each section, oldest first: points, and quotations below the line that names them.
#[derive(Debug, Default)]
pub(super) struct Sections(pub [Vec<String>; 8]);

impl Sections {
    /// Parses a summary.
    pub fn read(summary: &str) -> Self {
        let (mut sections, mut section) = (Sections::default(), Section::Context);
        let mut lines = summary.lines().peekable();
        while let Some(raw) = lines.next() {
            let text = raw.trim();
            let is_quoted = |lead: &&str| text.starts_with(*lead) && text.ends_with(':');
            if let Some(name) = heading(text) {
                section = named(name).unwrap_or(Section::Context);
                sections.0[section as usize]
                    .extend(named(name).is_none().then(|| format!("{name}:")));
            } else if let Some(tag) = text.strip_prefix('<') {
                // The agents' file lists, and additions of other tools, are left out; not what is
                // in a tag around all.
                let is_end = |c: char| !(c.is_alphanumeric() || "-_".contains(c));
                let name = tag.split(is_end).next().unwrap_or_default();
                let close = format!("</{name}>");
                let length = lines
                    .clone()
                    .position(|line| name != "summary" && line.contains(&close));
                lines
                    .by_ref()
                    .take(length.map_or(0, |length| length + 1))
                    .for_each(|_| ());
            } else if QUOTATIONS.iter().any(is_quoted) {
                let quotation = std::iter::from_fn(|| lines.next_if(|line| line.starts_with('>')));
                sections.add(section, format!("{text}\n{}", clean(&unquoted(quotation))));
            } else if !matches!(folded(text).as_str(), "" | "none" | "na") {
                let is_inner = raw.starts_with("  ") || raw.starts_with('\t');
                match sections.of(section).last_mut().filter(|_| is_inner) {
                    Some(last) => *last = line(&format!("{last}; {}", bare(text)), POINT),
                    None => sections.add(section, line(text, POINT)),
                }
            }
        }
        sections
    }

    /// Writes the sections, with empty lines between a quotation and other items.
    pub fn write(&self) -> String {
        let is_quotation = |item: &String| item.contains("\n>");
        let mut text = String::new();
        for ((_, heading, _), items) in SECTIONS.iter().zip(&self.0) {
            text.extend([if text.is_empty() { "" } else { "\n\n" }, heading]);
            for (at, item) in items.iter().enumerate() {
                let apart = at > 0 && (is_quotation(item) || is_quotation(&items[at - 1]));
                let mark = if is_quotation(item) || item.starts_with("1. ") {
                    ""
                } else {
                    "- "
                };
                text.extend([if apart { "\n\n" } else { "\n" }, mark, item]);
            }
            text += if items.is_empty() { "\n- (none)" } else { "" };
        }
        text
    }

    /// Returns the items of a section.
    pub fn of(&mut self, section: Section) -> &mut Vec<String> {
        &mut self.0[section as usize]
    }

    /// Returns them without the items that each summary reports anew.
    pub fn own(mut self) -> Self {
        let restated = [&UNDER_WAY[..], &DONE, &QUOTATIONS].concat();
        let is_restated = |item: &String| restated.iter().any(|lead| item.starts_with(lead));
        self.0
            .iter_mut()
            .for_each(|items| items.retain(|item| !is_restated(item)));
        self
    }

    /// Returns the items of a previous summary that the next one takes over, marked as earlier.
    /// What was blocked, under way or next is taken over once.
    pub fn taken_over(self) -> Self {
        let mut own = self.own();
        for fleeting in [Section::InProgress, Section::Blocked, Section::NextSteps] {
            own.of(fleeting).retain(|point| !point.starts_with(EARLIER));
        }
        for point in own.0.iter_mut().flatten() {
            *point = format!("{EARLIER}{}", point.trim_start_matches(EARLIER));
        }
        own
    }

    /// Returns the points for another branch: one for each branch that was left before, then one
    /// for this branch. What was under way is left out, because it does not go on; what was done is
    /// kept.
    pub fn of_branches(mut self) -> Vec<String> {
        let request = self
            .quoted(REQUEST)
            .map(|(_, request)| quoted(request, OLDEST));
        let is_point = |item: &String| {
            !UNDER_WAY
                .iter()
                .chain(&QUOTATIONS)
                .any(|lead| item.starts_with(lead))
        };
        let points = std::mem::take(&mut self.0)
            .into_iter()
            .flatten()
            .filter(is_point);
        let (mut branches, points): (Vec<_>, Vec<_>) =
            points.partition(|item| item.trim_start_matches(EARLIER).starts_with(ELSEWHERE));
        let own = request
            .into_iter()
            .chain(points)
            .collect::<Vec<_>>()
            .join("; ");
        branches.extend((!own.is_empty()).then(|| format!("{ELSEWHERE}{}", quoted(&own, NEWEST))));
        branches
    }

    /// Returns the rest of each item that begins with `lead`.
    pub fn after(&self, lead: &str) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .flatten()
            .filter_map(move |item| item.strip_prefix(lead))
    }

    /// Returns the first quotation below a line that begins with `lead`, with the rest of that
    /// line.
    pub fn quoted(&self, lead: &str) -> Option<(&str, &str)> {
        self.after(lead).find_map(|rest| rest.split_once(":\n"))
    }

    /// Adds an item, replacing an equal one.
    pub fn add(&mut self, section: Section, text: String) {
        let key = |text: &str| folded(text.trim_start_matches(EARLIER));
        let items = self.of(section);
        items.retain(|known| key(known) != key(&text));
        items.drain(..(items.len() + 1).saturating_sub(HELD));
        items.push(text);
    }
}

/// Returns the name in a heading: `## Name`, or a line `**Name**` with the name of a section.
fn heading(line: &str) -> Option<&str> {
    if line.starts_with('#') {
        return line
            .trim_start_matches('#')
            .strip_prefix(' ')
            .map(str::trim);
    }
    let name = line
        .strip_prefix("**")?
        .trim_end_matches(':')
        .strip_suffix("**")?;
    named(name).map(|_| name)
}

/// Returns the section with a name like this.
fn named(name: &str) -> Option<Section> {
    let name = folded(name);
    let fit = |parts: &[&str]| {
        parts
            .iter()
            .filter(|part| name.contains(**part))
            .map(|part| part.len())
            .max()
    };
    let fitting = SECTIONS
        .iter()
        .filter_map(|(section, _, parts)| Some((fit(parts)?, *section)));
    fitting
        .max_by_key(|(length, _)| *length)
        .map(|(_, section)| section)
}
