//! Lists in replies: their items, and whether they offer a choice.

use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

/// The words with which the line above a list offers its items: "Two ways:".
const CHOICE_WORDS: &str = r"(?ix)(^|\W)(ways?|options?|choices?|alternatives?|variants?|could|would
      |either|which|whether
    | möglichkeiten|optionen|varianten|wege|könnt\w*|entweder|welche\w*|façons|manières|pourr\w*
      |quel\w*
    | opciones|formas|maneras|podr\w*|cuál\w*|modi|opzioni|potre\w*|qual\w*)(\W|$)";

/// The last list of a reply. Empty and indented lines belong to it.
#[derive(Default)]
pub(super) struct LastList<'r> {
    /// The line above it; empty if there is none.
    pub lead: &'r str,
    /// The first lines of its items.
    pub items: Vec<&'r str>,
}

impl<'r> LastList<'r> {
    /// Finds the last list. It is empty if the reply has no list.
    pub fn find(reply: &'r str) -> LastList<'r> {
        let mut list = LastList::default();
        let mut line_before = "";
        let mut is_in_list = false;
        for line in reply.lines() {
            if is_item(line) {
                if !is_in_list {
                    // A new list replaces the one before.
                    list = LastList {
                        lead: line_before,
                        items: Vec::new(),
                    };
                }
                is_in_list = true;
                list.items.push(line);
                continue;
            }
            let belongs_to_item = line.is_empty() || line.starts_with(' ');
            if !belongs_to_item {
                is_in_list = false;
                line_before = line;
            }
        }
        list
    }

    /// Whether the line above the list offers its items: it asks, or announces them with a word
    /// such as "ways" or "could". Other lists report what was done.
    pub fn offers_choice(&self) -> bool {
        static CHOICE: LazyLock<Regex> = LazyLock::new(|| compile_expression(CHOICE_WORDS));
        let lead = self.lead.trim_end_matches(['*', '_', ' ']);
        lead.ends_with(['?', '？']) || lead.ends_with([':', '：']) && CHOICE.is_match(lead)
    }

    /// Returns the items that ask something.
    pub fn questions(&self) -> Vec<&'r str> {
        let mut items = self.items.clone();
        items.retain(|item| item.contains(['?', '？']));
        items
    }
}

/// Iterates over the lines of a text that are items of a list.
pub(super) fn item_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| is_item(line))
}

/// Whether a line is an item of a list. Its mark is `-`, `*`, `+`, `•`, or a number or letter as in
/// `1.`, `b)`, `(12)` and `**2)**`.
pub(super) fn is_item(line: &str) -> bool {
    static ITEM: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(r"^\s*([-*+•]|\**\(?\w{1,2}[.):])\s"));
    ITEM.is_match(line)
}
