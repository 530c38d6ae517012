//! The sections of a summary: how they are written, and how those of a previous summary are read.
//!
//! Each section is a list of items: points, and quotations below the line that names them. A
//! previous summary may be a built-in one, whose quotations are restored word for word; a model's,
//! in the same sections; two in one, if a turn was split; or prose. Its points are quoted like any
//! other text.

use super::budget::{MAX_HELD, NEWEST, OLDEST, POINT, SHORT_SUMMARY};
use super::quote::{
    comparison_form, count_utf16, one_line, quote_line, sanitize, strip_marks, strip_quote_marks,
};
use std::iter::Peekable;
use std::str::Lines;

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

/// How a section is written and recognized.
struct SectionFormat {
    section: Section,
    heading: &'static str,
    /// Whether the heading is below "## Progress".
    is_progress: bool,
    /// Words by which a heading of either agent is recognized, as [`comparison_form`] returns them;
    /// the longest word of all sections that fits decides.
    names: &'static [&'static str],
}

/// The sections in their order.
const SECTIONS: [SectionFormat; 8] = [
    SectionFormat {
        section: Section::Goal,
        heading: "## Goal",
        is_progress: false,
        names: &["goal", "originalrequest"],
    },
    SectionFormat {
        section: Section::Constraints,
        heading: "## Constraints & Preferences",
        is_progress: false,
        names: &["constraint", "preference"],
    },
    SectionFormat {
        section: Section::Done,
        heading: "### Done",
        is_progress: true,
        names: &["done", "progress"],
    },
    SectionFormat {
        section: Section::InProgress,
        heading: "### In Progress",
        is_progress: true,
        names: &["inprogress", "progresssofar", "earlyprogress"],
    },
    SectionFormat {
        section: Section::Blocked,
        heading: "### Blocked",
        is_progress: true,
        names: &["blocked"],
    },
    SectionFormat {
        section: Section::Decisions,
        heading: "## Key Decisions",
        is_progress: false,
        names: &["decision"],
    },
    SectionFormat {
        section: Section::NextSteps,
        heading: "## Next Steps",
        is_progress: false,
        names: &["nextstep"],
    },
    SectionFormat {
        section: Section::Context,
        heading: "## Critical Context",
        is_progress: false,
        names: &["context", "additionalnotes"],
    },
];

/// How the lines before the quotations begin: the current request with its entry, the todo list,
/// and the assistant's last words.
pub(super) const REQUEST_LEAD: &str = "The last request, word for word (entry ";
pub(super) const TODO_LIST_LEAD: &str = "Todo list, as its tool last reported it:";
pub(super) const LAST_WORDS_LEAD: &str = "The assistant's last words";
const QUOTATION_LEADS: [&str; 3] = [REQUEST_LEAD, TODO_LIST_LEAD, LAST_WORDS_LEAD];

/// The beginnings of the points that say what the work is for. Each summary writes them anew.
pub(super) const PURPOSE_LEAD: &str = "What the session began with: ";
pub(super) const FIRST_LONG_LEAD: &str = "The first request that says more: ";
pub(super) const EARLIER_GOAL_LEAD: &str = "The goal of an earlier summary: ";
pub(super) const LONG_REQUEST_LEAD: &str = "The last request that says more: ";
const PURPOSE_LEADS: [&str; 4] = [
    PURPOSE_LEAD,
    FIRST_LONG_LEAD,
    EARLIER_GOAL_LEAD,
    LONG_REQUEST_LEAD,
];
pub(super) const BEFORE_LEAD: &str = "The request before it: ";

/// The beginnings of points that the built-in summary writes.
pub(super) const REMARK_LEAD: &str = "Said on the way: ";
pub(super) const REPLIED_LEAD: &str = "The request under Goal was replied to";
pub(super) const GO_ON_LEAD: &str = "Go on with the request under Goal";
pub(super) const OPEN_LEAD: &str = "The request under Goal is still open";
pub(super) const LAST_CALLS_LEAD: &str = "Last tool calls";
/// How both of the next begin.
const OLDER_LEAD: &str = "Older requests";
pub(super) const LEFT_OUT: &str = "Older requests are left out here.";
pub(super) const WITHOUT_ANSWERS: &str = "Older requests, replied to, without the replies: ";
pub(super) const PASSED_LEAD: &str = "Commands whose last run ended without error, newest first: ";
pub(super) const CHANGED_LEAD: &str = "Files changed";
/// The beginnings of points that each summary reports anew: on how far the work is, and on what it
/// has done.
const PROGRESS_LEADS: [&str; 6] = [
    REMARK_LEAD,
    REPLIED_LEAD,
    GO_ON_LEAD,
    OPEN_LEAD,
    LAST_CALLS_LEAD,
    OLDER_LEAD,
];
const DONE_LEADS: [&str; 2] = [PASSED_LEAD, CHANGED_LEAD];
/// The beginning of what is said of another branch.
const OTHER_BRANCH_MARK: &str = "On another branch: ";
/// Marks a point of a previous summary: points below it without this mark are newer.
pub(super) const EARLIER_MARK: &str = "Earlier: ";

/// What is written of sections without items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EmptySections {
    /// Their heading, and `(none)`.
    Marked,
    LeftOut,
}

/// The items of each section, oldest first: points, and quotations below the line that names them.
#[derive(Debug, Default)]
pub(super) struct Sections([Vec<String>; 8]);

/// A quotation in a summary.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Quotation<'s> {
    /// The rest of the line that names it, without the colon.
    pub lead_rest: &'s str,
    pub text: &'s str,
}

impl Sections {
    /// Parses a summary. What precedes the first heading, and a section with an unknown heading,
    /// are added to the context, the latter with its name.
    pub fn parse(summary: &str) -> Self {
        let mut sections = Sections::default();
        let mut section = Section::Context;
        let mut lines = summary.lines().peekable();
        while let Some(line) = lines.next() {
            let text = line.trim();
            if let Some(name) = heading_name(text) {
                match find_section(name) {
                    Some(known) => section = known,
                    None => {
                        section = Section::Context;
                        sections.items_mut(section).push(format!("{name}:"));
                    }
                }
            } else if let Some(tag) = text.strip_prefix('<') {
                skip_element(tag, &mut lines);
            } else if leads_quotation(text) {
                let quotation = read_quotation(&mut lines);
                sections.add(section, format!("{text}\n{quotation}"));
            } else {
                sections.add_line(section, line);
            }
        }
        sections
    }

    /// Adds a line of a summary as an item, unless it is empty or says that there is none. An item
    /// of an inner list, which is indented, is added to the item above it.
    fn add_line(&mut self, section: Section, line: &str) {
        let text = line.trim();
        if matches!(comparison_form(text).as_str(), "" | "none" | "na") {
            return;
        }
        let is_inner = line.starts_with("  ") || line.starts_with('\t');
        match self.items_mut(section).last_mut() {
            Some(outer) if is_inner => {
                *outer = one_line(&format!("{outer}; {}", strip_marks(text)), POINT);
            }
            _ => self.add(section, one_line(text, POINT)),
        }
    }

    /// Writes the sections, with empty lines between a quotation and other items. An item is a list
    /// item, unless it is a quotation or the next step, which has a number.
    pub fn to_markdown(&self, empty_sections: EmptySections) -> String {
        let mut markdown = String::new();
        let mut is_in_progress = false;
        for format in &SECTIONS {
            let items = self.items(format.section);
            if items.is_empty() && empty_sections == EmptySections::LeftOut {
                continue;
            }
            if !markdown.is_empty() {
                markdown.push_str("\n\n");
            }
            if format.is_progress && !is_in_progress {
                markdown.push_str("## Progress\n");
                is_in_progress = true;
            }
            markdown.push_str(format.heading);
            if items.is_empty() {
                markdown.push_str("\n- (none)");
            }
            let mut follows_quotation = false;
            for (index, item) in items.iter().enumerate() {
                let is_quotation = item.contains("\n>");
                let needs_empty_line = index > 0 && (is_quotation || follows_quotation);
                markdown.push_str(if needs_empty_line { "\n\n" } else { "\n" });
                if !is_quotation && !item.starts_with("1. ") {
                    markdown.push_str("- ");
                }
                markdown.push_str(item);
                follows_quotation = is_quotation;
            }
        }
        markdown
    }

    /// Whether more than half of the sections have no items, and the others take little space.
    pub fn are_mostly_empty(&self) -> bool {
        let empty_count = self.0.iter().filter(|items| items.is_empty()).count();
        let items = self.0.iter().flatten();
        let size: usize = items.map(|item| count_utf16(item)).sum();
        empty_count * 2 > self.0.len() && size < SHORT_SUMMARY
    }

    pub fn items(&self, section: Section) -> &[String] {
        &self.0[section as usize]
    }

    pub fn items_mut(&mut self, section: Section) -> &mut Vec<String> {
        &mut self.0[section as usize]
    }

    /// Returns the sections without the items that each summary states anew: the progress, what was
    /// done, and quotations.
    pub fn without_restated(mut self) -> Self {
        for items in &mut self.0 {
            items.retain(|item| {
                !starts_with_one_of(item, &PROGRESS_LEADS)
                    && !starts_with_one_of(item, &DONE_LEADS)
                    && !starts_with_one_of(item, &PURPOSE_LEADS)
                    && !starts_with_one_of(item, &QUOTATION_LEADS)
            });
        }
        self
    }

    /// Returns the items of a previous summary that the next one takes over, marked as earlier.
    /// Items on what was blocked, in progress or planned are taken over once: if they are marked as
    /// earlier already, they are dropped, and so are plans in other sections. Headings without a
    /// text are not taken over.
    pub fn into_earlier(self) -> Self {
        let mut earlier = self.without_restated();
        for section in [Section::InProgress, Section::Blocked, Section::NextSteps] {
            let items = earlier.items_mut(section);
            items.retain(|item| !item.starts_with(EARLIER_MARK));
        }
        for items in &mut earlier.0 {
            items.retain(|item| !is_heading_only(item) && !is_old_plan(item));
        }
        for item in earlier.0.iter_mut().flatten() {
            // No item is marked twice.
            *item = format!("{EARLIER_MARK}{}", item.trim_start_matches(EARLIER_MARK));
        }
        earlier
    }

    /// Returns the points that a summary of this branch contributes to the summary of another
    /// branch: the points on branches that were left before, then one point for this branch. It has
    /// what was done, but not what was in progress, because that does not go on.
    pub fn into_branch_points(self) -> Vec<String> {
        let mut own_points = Vec::new();
        if let Some(request) = self.find_quotation(REQUEST_LEAD) {
            own_points.push(quote_line(request.text, OLDEST));
        }
        let mut branches = Vec::new();
        for item in self.0.into_iter().flatten() {
            if starts_with_one_of(&item, &PROGRESS_LEADS)
                || starts_with_one_of(&item, &QUOTATION_LEADS)
            {
                continue;
            }
            let is_other_branch = item
                .trim_start_matches(EARLIER_MARK)
                .starts_with(OTHER_BRANCH_MARK);
            if is_other_branch {
                branches.push(item);
            } else {
                own_points.push(item);
            }
        }

        let own = own_points.join("; ");
        if !own.is_empty() {
            branches.push(format!("{OTHER_BRANCH_MARK}{}", quote_line(&own, NEWEST)));
        }
        branches
    }

    /// Returns the rest of each item that begins with `lead`.
    pub fn rests_with_lead(&self, lead: &str) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .flatten()
            .filter_map(move |item| item.strip_prefix(lead))
    }

    /// Returns the first quotation below a line that begins with `lead`.
    pub fn find_quotation(&self, lead: &str) -> Option<Quotation<'_>> {
        for rest in self.rests_with_lead(lead) {
            if let Some((lead_rest, text)) = rest.split_once(":\n") {
                return Some(Quotation { lead_rest, text });
            }
        }
        None
    }

    /// Adds an item, replacing an equal one. Of more than [`MAX_HELD`], the oldest are dropped.
    pub fn add(&mut self, section: Section, text: String) {
        let key = comparison_key(&text);
        let items = self.items_mut(section);
        items.retain(|known| comparison_key(known) != key);
        let excess = (items.len() + 1).saturating_sub(MAX_HELD);
        items.drain(..excess);
        items.push(text);
    }
}

/// Whether a point is nothing but the heading of a list.
fn is_heading_only(item: &str) -> bool {
    let text = item.trim_start_matches(EARLIER_MARK).trim();
    text.is_empty() || text.ends_with(':') && !text.contains('\n')
}

/// The words with which a model's summary begins what is still to be done.
const PLAN_WORDS: [&str; 5] = ["need to ", "needs to ", "next", "pending", "todo"];

/// Whether a point was a plan when the summary before the last was made.
fn is_old_plan(item: &str) -> bool {
    let Some(text) = item.strip_prefix(EARLIER_MARK) else {
        return false;
    };
    let text = strip_marks(text).trim_start_matches('*').to_lowercase();
    PLAN_WORDS.iter().any(|word| text.starts_with(word))
}

/// Returns the form of an item in which equal items are recognized.
pub(super) fn comparison_key(item: &str) -> String {
    comparison_form(item.trim_start_matches(EARLIER_MARK))
}

fn starts_with_one_of(item: &str, leads: &[&str]) -> bool {
    leads.iter().any(|lead| item.starts_with(lead))
}

/// Whether a quotation of the built-in summary is below this line.
fn leads_quotation(line: &str) -> bool {
    starts_with_one_of(line, &QUOTATION_LEADS) && line.ends_with(':')
}

/// Reads the lines of a quotation that follow, and returns its text.
fn read_quotation(lines: &mut Peekable<Lines>) -> String {
    let mut quoted_lines = Vec::new();
    while let Some(line) = lines.next_if(|line| line.starts_with('>')) {
        quoted_lines.push(line);
    }
    sanitize(&strip_quote_marks(quoted_lines.into_iter()))
}

/// Skips the lines of an element up to its closing tag, if it has one: the agents' file lists, and
/// additions of other tools. `tag` is the line of the opening tag after `<`.
///
/// The element `summary` may be around all, so its content is not skipped.
fn skip_element(tag: &str, lines: &mut Peekable<Lines>) {
    let is_name_end = |c: char| !(c.is_alphanumeric() || "-_".contains(c));
    let name = tag.split(is_name_end).next().unwrap_or_default();
    if name == "summary" {
        return;
    }
    let closing_tag = format!("</{name}>");
    let closing_line = lines.clone().position(|line| line.contains(&closing_tag));
    if let Some(closing_line) = closing_line {
        for _ in 0..=closing_line {
            lines.next();
        }
    }
}

/// Returns the name in a heading: `## Name`, or a line `**Name**` with the name of a section.
fn heading_name(line: &str) -> Option<&str> {
    if line.starts_with('#') {
        let name = line.trim_start_matches('#').strip_prefix(' ')?;
        return Some(name.trim());
    }
    let name = line
        .strip_prefix("**")?
        .trim_end_matches(':')
        .strip_suffix("**")?;
    // Any other bold line is text.
    find_section(name)?;
    Some(name)
}

/// Returns the section of a heading that contains one of its words. If there are several, the
/// longest word decides; of equally long ones, the last in the table.
fn find_section(heading: &str) -> Option<Section> {
    let heading = comparison_form(heading);
    let mut section = None;
    let mut longest_word = 0;
    for format in &SECTIONS {
        for word in format.names {
            if word.len() >= longest_word && heading.contains(word) {
                longest_word = word.len();
                section = Some(format.section);
            }
        }
    }
    section
}
