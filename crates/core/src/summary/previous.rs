//! Reads a previous summary: which of its points the next one takes over.
//!
//! It may be a built-in one, whose quotations are restored word for word; a model's, in the same
//! sections; two in one, if a turn was split; or prose. Its points are quoted like any other text.

use super::budget::{LONG_REQUEST, NEWEST, OLDEST, POINT, PURPOSE, RULES, WHOLE_DECISION};
use super::model_headings::mark_numbered_headings;
use super::one_line::one_line;
use super::quote::{
    comparison_form, is_narrower, quote_line, sanitize, strip_marks, strip_quote_marks,
};
use super::reply_lists::is_item;
use super::sections::*;
use std::iter::Peekable;
use std::str::Lines;

const QUOTATION_LEADS: [&str; 3] = [REQUEST_LEAD, TODO_LIST_LEAD, LAST_WORDS_LEAD];

/// The beginnings of the points that say what the work is for.
const PURPOSE_LEADS: [&str; 4] = [
    PURPOSE_LEAD,
    FIRST_LONG_LEAD,
    EARLIER_GOAL_LEAD,
    LONG_REQUEST_LEAD,
];

/// The beginnings of points that each summary reports anew: on how far the work is, and on what it
/// has done.
const PROGRESS_LEADS: [&str; 8] = [
    REMARK_LEAD,
    REPLIED_LEAD,
    GO_ON_LEAD,
    OPEN_LEAD,
    ANSWER_FOLLOWS_LEAD,
    LAST_CALLS_LEAD,
    FOUND_LEAD,
    OLDER_LEAD,
];
const DONE_LEADS: [&str; 2] = [PASSED_LEAD, CHANGED_LEAD];

/// The beginning of what is said of another branch.
const OTHER_BRANCH_MARK: &str = "On another branch: ";

impl Sections {
    /// Parses a summary in Markdown, which pisess, an agent or a model wrote. What precedes the
    /// first heading, and a section with an unknown heading, are added to the context, the latter
    /// with its name.
    pub fn parse(summary: &str) -> Self {
        let mut sections = Sections::default();
        let mut section = Section::Context;
        let summary = mark_numbered_headings(summary);
        let mut lines = summary.lines().peekable();
        while let Some(line) = lines.next() {
            let text = line.trim();
            if let Some(name) = heading_name(text) {
                let known = find_section(name);
                section = known.unwrap_or(Section::Context);
                if known.is_none() {
                    sections.items_mut(section).push(format!("{name}:"));
                }
            } else if let Some(name) = subheading_name(text, &lines) {
                sections.items_mut(section).push(format!("{name}:"));
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

    /// Adds a line of a summary as an item, unless it is empty or only reports that there is no
    /// item (`- (none)`). An indented line belongs to the item above, and is appended to it after a
    /// semicolon.
    fn add_line(&mut self, section: Section, line: &str) {
        let text = line.trim();
        if matches!(comparison_form(text).as_str(), "" | "none" | "na") || asks_for_summary(text) {
            return;
        }
        let is_inner = line.starts_with("  ") || line.starts_with('\t');
        if is_inner && let Some(outer) = self.items_mut(section).last_mut() {
            *outer = one_line(&format!("{outer}; {}", strip_marks(text)), POINT);
            return;
        }
        self.add(section, one_line(text, max_item_size(section, text)));
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

    /// Returns the items of a previous summary that the next one repeats, marked as earlier. Plans,
    /// and items on what was in progress or blocked, are repeated only once: if the previous
    /// summary itself took them over, they are most likely out of date. Headings without a text are
    /// dropped.
    pub fn into_earlier(self) -> Self {
        let mut earlier = self.without_restated();
        for section in [Section::InProgress, Section::Blocked, Section::NextSteps] {
            let items = earlier.items_mut(section);
            items.retain(|item| !item.starts_with(EARLIER_MARK));
        }
        for items in &mut earlier.0 {
            items.retain(|item| {
                !is_heading_only(item) && !is_old_plan(item) && !reports_nothing(item)
            });
        }
        for item in earlier.0.iter_mut().flatten() {
            // No item is marked twice.
            *item = format!("{EARLIER_MARK}{}", item.trim_start_matches(EARLIER_MARK));
        }
        earlier
    }

    /// Converts the summary of a branch that was left into points for the summary of the branch
    /// that goes on. Its own points on other branches come first, then one point for the branch
    /// itself: what was requested and done there, but not what was in progress, because that does
    /// not go on.
    pub fn into_branch_points(self) -> Vec<String> {
        let mut own_points = Vec::new();
        if let Some(request) = self.find_quotation(REQUEST_LEAD) {
            own_points.push(quote_line(request.text, OLDEST));
        }
        let mut points = Vec::new();
        for item in self.0.into_iter().flatten() {
            let is_progress = starts_with_one_of(&item, &PROGRESS_LEADS);
            if is_progress || starts_with_one_of(&item, &QUOTATION_LEADS) {
                continue;
            }
            let text = item.trim_start_matches(EARLIER_MARK);
            let is_other_branch = text.starts_with(OTHER_BRANCH_MARK);
            if is_other_branch {
                points.push(item);
            } else {
                own_points.push(item);
            }
        }

        let own = own_points.join("; ");
        if !own.is_empty() {
            points.push(format!("{OTHER_BRANCH_MARK}{}", quote_line(&own, NEWEST)));
        }
        points
    }
}

/// Returns the number of UTF-16 units to which an item of a previous summary is cut. An item that
/// pisess wrote with a lead may be longer than the limit of the text after the lead, so its limit
/// here is higher.
fn max_item_size(section: Section, item: &str) -> usize {
    let unmarked = strip_marks(item).trim_start_matches(EARLIER_MARK);
    if section == Section::Goal || starts_with_one_of(unmarked, &PURPOSE_LEADS) {
        2 * PURPOSE
    } else if starts_with_one_of(unmarked, &[RULES_LEAD, SKILL_RULES_LEAD]) {
        2 * RULES
    } else if section == Section::Decisions {
        WHOLE_DECISION
    } else {
        POINT
    }
}

/// Whether a point is nothing but the heading of a list: `Names:`, `**Names:**`, `**Names**:`. So
/// is a short paragraph that ends with a colon. A longer one has content of its own.
fn is_heading_only(item: &str) -> bool {
    let text = item.trim_start_matches(EARLIER_MARK);
    let text = text.trim_matches(['*', '_', ' ']);
    text.is_empty() || text.ends_with([':', '：']) && is_narrower(text, 2 * LONG_REQUEST)
}

/// Whether a model's point says that there is nothing to report: "**No major errors**: all went
/// well".
fn reports_nothing(item: &str) -> bool {
    const UNWANTED: [&str; 5] = ["error", "issue", "problem", "unresolved", "pending"];
    /// The number of words after "no" in which one of the unwanted is looked for.
    const WORDS_AFTER_NO: usize = 3;

    let lower = strip_marks(item).trim_start_matches('*').to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    if words.next() != Some("no") {
        return false;
    }
    let mut next_words = words.take(WORDS_AFTER_NO);
    next_words.any(|word| {
        let singular = word.trim_end_matches('s');
        UNWANTED.contains(&singular)
    })
}

/// Whether an item is the request for the summary itself, which a model lists with the user's.
fn asks_for_summary(item: &str) -> bool {
    item.contains("summary of the conversation") || item.contains("summary of our conversation")
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

/// Skips the rest of an element such as `<read-files>`, the agents' file lists and additions of
/// other tools, whose opening tag was just read. `tag` is the line of that tag after its `<`.
/// Without a closing tag, nothing is skipped, and neither is the content of `<summary>`, which may
/// be around the whole summary.
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
    let name = bold_line(line)?;
    // "Decision: the map stays" is a point. Any other bold line is one, or the heading of a part of
    // a section.
    if name.contains(": ") {
        return None;
    }
    find_section(name)?;
    Some(name)
}

/// Returns the name in a bold line that heads a part of a section: it ends in a colon, or the next
/// of the `lines` below it is an item of a list. Any other bold line is a point.
fn subheading_name<'l>(line: &'l str, lines: &Peekable<Lines>) -> Option<&'l str> {
    let name = bold_line(line)?;
    let is_subheading = ends_in_colon(line) || begins_with_item(lines.clone());
    is_subheading.then_some(name)
}

/// Returns the text of a line that is bold as a whole, and no item of a list: `**Names**`,
/// `**Names:**`.
fn bold_line(line: &str) -> Option<&str> {
    let line = line.trim_end_matches([':', '：']);
    let text = line.strip_prefix("**")?.strip_suffix("**")?;
    let is_single = !text.is_empty() && !text.contains("**");
    is_single.then_some(text.trim_end_matches([':', '：']))
}

/// Whether a bold line ends in a colon: `**Names:**`, `**Names**:`.
fn ends_in_colon(line: &str) -> bool {
    line.trim_end_matches('*').ends_with([':', '：'])
}

/// Whether the next line that is not empty is an item of a list.
fn begins_with_item(mut lines: Peekable<Lines>) -> bool {
    let next_line = lines.find(|line| !line.trim().is_empty());
    next_line.is_some_and(is_item)
}

/// Returns the section that a heading names, by the words of [`SECTIONS`]: a model may write
/// `## Decisions made` in place of `## Key Decisions`. If words of several sections are in the
/// heading, the longest word decides; of equally long ones, the last in the table.
fn find_section(heading: &str) -> Option<Section> {
    let heading = comparison_form(heading);
    let mut section = None;
    let mut longest_word = 0;
    for format in &SECTIONS {
        for word in format.names {
            if heading.contains(word) && word.len() >= longest_word {
                longest_word = word.len();
                section = Some(format.section);
            }
        }
    }
    section
}
