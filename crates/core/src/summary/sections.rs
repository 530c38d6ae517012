//! The sections of a summary, and how they are written.
//!
//! Each section is a list of items: points, and quotations below the line that names them.

use super::budget::{MAX_HELD, SHORT_SUMMARY};
use super::quote::{comparison_form, count_utf16};

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
pub(super) struct SectionFormat {
    pub section: Section,
    heading: &'static str,
    /// Whether the heading is below "## Progress".
    is_progress: bool,
    /// Words by which a heading of either agent is recognized, as [`comparison_form`] returns them;
    /// the longest word of all sections that fits decides.
    pub names: &'static [&'static str],
}

/// The sections in their order.
pub(super) const SECTIONS: [SectionFormat; 8] = [
    SectionFormat {
        section: Section::Goal,
        heading: "## Goal",
        is_progress: false,
        names: &["goal", "originalrequest", "primaryrequest", "usermessages"],
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
        names: &["done", "progress", "filesandcodesections"],
    },
    SectionFormat {
        section: Section::InProgress,
        heading: "### In Progress",
        is_progress: true,
        names: &[
            "inprogress",
            "progresssofar",
            "earlyprogress",
            "currentwork",
            "contextforsuffix",
        ],
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
        names: &["decision", "technicalconcepts", "problemsolving"],
    },
    SectionFormat {
        section: Section::NextSteps,
        heading: "## Next Steps",
        is_progress: false,
        names: &["nextstep", "pendingtasks"],
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
pub(super) const TODO_LIST_LEAD: &str = "Todo list, as its tool last reported it";
pub(super) const LAST_WORDS_LEAD: &str = "The assistant's last words";

/// The beginnings of the points that say what the work is for. Each summary writes them anew.
pub(super) const PURPOSE_LEAD: &str = "What the session began with: ";
pub(super) const FIRST_LONG_LEAD: &str = "The first request that says more: ";
pub(super) const EARLIER_GOAL_LEAD: &str = "The goal of an earlier summary: ";
pub(super) const LONG_REQUEST_LEAD: &str = "The last request that says more: ";
pub(super) const BEFORE_LEAD: &str = "The request before it: ";
pub(super) const NUMBERED_LEAD: &str = "The list to which it refers: ";
pub(super) const REMARKED_LEAD: &str = "The request before that remark: ";

/// The beginnings of points that the built-in summary writes.
pub(super) const REMARK_LEAD: &str = "Said on the way: ";
pub(super) const REPLIED_LEAD: &str = "The request under Goal was replied to";
pub(super) const GO_ON_LEAD: &str = "Go on with the request under Goal";
pub(super) const OPEN_LEAD: &str = "The request under Goal is still open";
pub(super) const ANSWER_FOLLOWS_LEAD: &str =
    "What answers the request under Goal follows this summary";
pub(super) const LAST_CALLS_LEAD: &str = "Last tool calls";
pub(super) const FOUND_LEAD: &str = "Found for the request under Goal";
pub(super) const ALSO_READ_LEAD: &str = "Also read, newest first: ";
/// How a list of rules among the constraints begins.
pub(super) const RULES_LEAD: &str = "Rules: ";
/// How the rules of a skill begin, with the mark before its place.
pub(super) const SKILL_RULES_LEAD: &str = "Rules of the skill `";
pub(super) const PUT_OFF_LEAD: &str = "The user put off";
/// How a choice of the assistant begins.
pub(super) const OWN_CHOICE_LEAD: &str = "The assistant chose: ";
/// How a list of decisions in a reply begins.
pub(super) const DECISION_LIST_LEAD: &str = "The assistant listed as decided: ";
/// How a cause begins that the assistant found.
pub(super) const CAUSE_LEAD: &str = "Cause found: ";
/// How both of the next begin.
pub(super) const OLDER_LEAD: &str = "Older requests";
pub(super) const LEFT_OUT: &str = "Older requests are left out here.";
pub(super) const WITHOUT_ANSWERS: &str = "Older requests, replied to, without the replies: ";
pub(super) const PASSED_LEAD: &str = "Commands whose last run ended without error, newest first: ";
pub(super) const CHANGED_LEAD: &str = "Files changed";
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
pub(super) struct Sections(pub [Vec<String>; 8]);

/// A quotation in a summary.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Quotation<'s> {
    /// The rest of the line that names it, without the colon.
    pub lead_rest: &'s str,
    pub text: &'s str,
}

impl Sections {
    /// Writes the sections as Markdown, each below its heading. The sections on progress follow one
    /// another, and `## Progress` precedes the first of them.
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
            push_items(items, &mut markdown);
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

    pub fn sections_mut(&mut self) -> impl Iterator<Item = &mut Vec<String>> {
        self.0.iter_mut()
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

/// Appends the items of a section below its heading, or `- (none)`. An item becomes an item of a
/// list, unless it is a quotation, which empty lines separate from others, or begins with its
/// number: `1. Answer the question.`
fn push_items(items: &[String], markdown: &mut String) {
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

/// Returns the form of an item in which equal items are recognized.
pub(super) fn comparison_key(item: &str) -> String {
    comparison_form(item.trim_start_matches(EARLIER_MARK))
}
