//! The sections of a summary: how they are written, and how those of a previous summary are read.
//!
//! Each section is a list of items: points, and quotations below the line that names them. A previous summary
//! may be a built-in one, whose quotations are restored word for word; a model's, in the same sections; two
//! in one, if a turn was split; or prose. Its points are quoted like any other text.

use super::budget::{POINT, POINTS};
use super::quote::{bare, clean, folded, line, unquoted};

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

/// The sections in their order. Each has its heading, and words by which a heading of either agent is
/// recognized; the longest word that fits decides.
pub(super) const SECTIONS: [(Section, &str, &[&str]); 8] = [
    (Section::Goal, "## Goal", &["goal", "originalrequest"]),
    (Section::Constraints, "## Constraints & Preferences", &["constraint", "preference"]),
    (Section::Done, "## Progress\n### Done", &["done", "progress"]),
    (Section::InProgress, "### In Progress", &["inprogress", "progresssofar", "earlyprogress"]),
    (Section::Blocked, "### Blocked", &["blocked"]),
    (Section::Decisions, "## Key Decisions", &["decision"]),
    (Section::NextSteps, "## Next Steps", &["nextstep"]),
    (Section::Context, "## Critical Context", &["context", "additionalnotes"]),
];

/// How the lines before the quotations begin: the current request and where it comes from, the request
/// before it with its answer, the todo list, and the assistant's last words.
pub(super) const REQUEST: &str = "The last request, ";
pub(super) const FROM_USER: &str = "word for word";
pub(super) const SENT: &str = "sent by the extension ";
pub(super) const BEFORE: &str = "The request before it";
pub(super) const WORDS_BEFORE: &str = "The assistant's words before it";
pub(super) const TODO_LIST: &str = "Todo list, as its tool last reported it:";
pub(super) const LAST_WORDS: &str = "The assistant's last words";
const QUOTATIONS: [&str; 5] = [REQUEST, BEFORE, WORDS_BEFORE, TODO_LIST, LAST_WORDS];

/// The beginnings of points that the built-in summary writes.
pub(super) const SAID: &str = "Said on the way: ";
pub(super) const REPLIED: &str = "The request under Goal was ";
pub(super) const GO_ON: &str = "Go on with the request under Goal";
pub(super) const CALLS: &str = "Last tool calls";
pub(super) const FOUND: &str = "Found by ";
pub(super) const LEFT_OUT: &str = "Older requests are left out here.";
pub(super) const PASSED: &str = "Commands whose last run ended without error, newest first: ";
pub(super) const COMMITS: &str = "Commits, newest first: ";
pub(super) const CHANGED: &str = "Files changed";
/// The beginnings of points that the next summary does not take over: those it reports anew, and the agents'
/// preambles of branch summaries.
const RESTATED: [&str; 10] = [
    SAID,
    REPLIED,
    GO_ON,
    CALLS,
    FOUND,
    LEFT_OUT,
    PASSED,
    CHANGED,
    "The user explored a different",
    "User explored another",
];
/// Marks a point of a previous summary: points below it without this mark are newer.
pub(super) const EARLIER: &str = "Earlier: ";

/// Writes the sections, each with its items. Empty lines separate a quotation from other items.
pub(super) fn write(sections: &[Vec<String>; 8]) -> String {
    let is_quotation = |item: &String| item.contains("\n>");
    let text = |((_, heading, _), items): (&(Section, &str, &[&str]), &Vec<String>)| {
        let mut text = (*heading).to_owned();
        for (at, item) in items.iter().enumerate() {
            let apart = at > 0 && (is_quotation(item) || is_quotation(&items[at - 1]));
            let mark = if is_quotation(item) || item.starts_with("1. ") { "" } else { "- " };
            text.extend([if apart { "\n\n" } else { "\n" }, mark, item]);
        }
        if items.is_empty() { text + "\n- (none)" } else { text }
    };
    SECTIONS.iter().zip(sections).map(text).collect::<Vec<_>>().join("\n\n")
}

/// Points and quotations, oldest first, each with its section. A quotation follows the line above it.
#[derive(Debug, Default)]
pub(super) struct Points(pub Vec<(Section, String)>);

impl Points {
    /// Parses a summary.
    pub fn read(summary: &str) -> Self {
        let mut points = Points::default();
        let (mut section, mut open) = (Section::Context, false);
        let mut lines = summary.lines().peekable();
        while let Some(raw) = lines.next() {
            let text = raw.trim();
            let is_quoted = |lead: &&str| text.starts_with(*lead) && text.ends_with(':');
            if let Some(name) = heading(text) {
                section = section_named(name).unwrap_or(Section::Context);
                open = section_named(name).is_none() && points.extend(section, &format!("{name}:"), false);
            } else if text.trim_matches(['-', '=', '*', '_']).is_empty() {
                open = false;
            } else if text.starts_with('<') {
                let length = tagged(text, lines.clone());
                lines.by_ref().take(length).for_each(|_| ());
            } else if QUOTATIONS.iter().any(is_quoted) {
                let quotation = std::iter::from_fn(|| lines.next_if(|line| line.starts_with('>')));
                points.0.push((section, format!("{text}\n{}", clean(&unquoted(quotation)))));
            } else {
                let indented = raw.starts_with("  ") || raw.starts_with('\t');
                let continues = open && (indented || bare(text).len() == text.len());
                open = points.extend(section, text, continues);
            }
        }
        points
    }

    /// Returns the points of a previous summary that the next one takes over, marked as earlier. What was blocked, under
    /// way or next is taken over once.
    pub fn taken_over(&self) -> Self {
        let is_fleeting =
            |section| matches!(section, Section::InProgress | Section::Blocked | Section::NextSteps);
        let points =
            SECTIONS.iter().flat_map(|(section, ..)| self.of(*section).map(|point| (*section, point)));
        let points = points.filter(|(section, point)| !(is_fleeting(*section) && point.starts_with(EARLIER)));
        let marked = |point: &str| format!("{EARLIER}{}", point.trim_start_matches(EARLIER));
        Points(points.map(|(section, point)| (section, marked(point))).collect())
    }

    /// Returns the points of one section, oldest first, except those that each summary reports anew.
    pub fn of(&self, section: Section) -> impl Iterator<Item = &str> {
        let is_restated =
            |point: &str| RESTATED.iter().chain(&QUOTATIONS).any(|lead| point.starts_with(lead));
        let own = self.0.iter().filter(move |(of, point)| *of == section && !is_restated(point));
        own.map(|(_, text)| text.as_str())
    }

    /// Returns the rest of each point that begins with `lead`.
    pub fn after(&self, lead: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(move |(_, point)| point.strip_prefix(lead))
    }

    /// Returns the first quotation below a line that begins with `lead`, with the rest of that line.
    pub fn quoted(&self, lead: &str) -> Option<(String, String)> {
        let (rest, text) = self.after(lead).find_map(|rest| rest.split_once(":\n"))?;
        Some((rest.to_owned(), text.to_owned()))
    }

    /// Adds a point, replacing an equal one.
    pub fn add(&mut self, section: Section, text: String) {
        let key = |text: &str| folded(text.trim_start_matches(EARLIER));
        self.0.retain(|(of, known)| *of != section || key(known) != key(&text));
        self.0.drain(..(self.0.len() + 1).saturating_sub(POINTS));
        self.0.push((section, text));
    }

    /// Adds a line, as a point or to the last one. Returns whether the next line may extend it.
    fn extend(&mut self, section: Section, raw: &str, continues: bool) -> bool {
        // An older summary may have quoted a list mark.
        let text = line(raw, POINT).replacen("\"- ", "\"", 1);
        if matches!(folded(&text).as_str(), "" | "none" | "na") {
            return continues;
        }
        let is_full = self.0.len() >= POINTS;
        match self.0.last_mut().filter(|_| continues || is_full) {
            Some((_, last)) => *last = line(&format!("{last} {text}"), POINT),
            None => self.0.push((section, text)),
        }
        true
    }
}

/// Returns how many of the lines after a tag belong to it and not to the summary, as in the agents' file
/// lists and in additions of other tools. Returns 0 for a tag around sections.
fn tagged<'a>(open: &str, ahead: impl Iterator<Item = &'a str> + Clone) -> usize {
    let name =
        open[1..].split(|c: char| !(c.is_alphanumeric() || "-_".contains(c))).next().unwrap_or_default();
    let close = format!("</{name}>");
    let Some(length) = ahead.clone().position(|line| line.contains(&close)) else { return 0 };
    let is_section = |line: &str| heading(line.trim()).is_some_and(|name| section_named(name).is_some());
    let is_part = open.contains(&close) || ahead.take(length).any(is_section);
    if is_part { 0 } else { length + 1 }
}

/// Returns the name in a heading: `## Name`, or a line `**Name**` with the name of a section.
fn heading(line: &str) -> Option<&str> {
    if line.starts_with('#') {
        return line.trim_start_matches('#').strip_prefix(' ').map(str::trim);
    }
    let name = line.strip_prefix("**")?.trim_end_matches(':').strip_suffix("**")?;
    section_named(name).map(|_| name)
}

fn section_named(name: &str) -> Option<Section> {
    let name = folded(name);
    let fit = |parts: &[&str]| parts.iter().filter(|part| name.contains(**part)).map(|part| part.len()).max();
    let named = SECTIONS.iter().filter_map(|(section, _, parts)| Some((fit(parts)?, *section)));
    named.max_by_key(|(length, _)| *length).map(|(_, section)| section)
}
