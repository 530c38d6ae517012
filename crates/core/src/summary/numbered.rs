//! Requests that name the items of an earlier list by their numbers ("drop 5 and 6, dive deep into
//! 1-4"), or all of them ("fix all of these"). Without the list, they say nothing.

use super::SummaryBuilder;
use super::budget::{LISTED_DECISION, LONG_REQUEST, NUMBERED_LIST};
use super::fitting::keep_first;
use super::one_line::cut_line;
use super::quote::is_narrower;
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

/// Numbers behind a word that names the items of a list, or a verb: "number 5 and 6", "do 2, 3".
const NAMED_NUMBERS: &str = r"(?ix)(^|\W)(numbers?|nos?\.|nr\.|options?|points?|items?|steps?|gaps?
      |ideas?|suggestions?|findings?|issues?|tasks?|do|fix|implement|skip|drop
    | nummern?|punkte?|opci[oó]n(es)?|puntos?)
    \ ?\#?\d{1,2}((\ ?(,|and|or|&|to|-|–|und|y|et|bis)\ ?)+\#?\d{1,2})*(\W|$)";

/// The words behind which a single number names an item. Behind others, it counts: "do 2 maps".
const SINGLE_NUMBER: &str = r"(?ix)(^|\W)(number|no\.|nr\.|option|point|item|gap|idea|suggestion
      |finding|nummer|punkt|opci[oó]n|punto)\ ?\#?\d";

/// Words that mean all items of a list, in a short request: "fix all of these", "do both", "those
/// points". "All" before another noun does not: "run all tests".
const WHOLE_LIST: &str = r"(?ix)(^|\W)(
      (all|both)(\ of)?\ (these|those|them)
    | (all|both|these|those)\ (the\ )?(points?|items?|issues?|problems?|findings?|errors?|bugs?
      |fixes|corrections|suggestions|steps|gaps|ideas)
    | (do|fix|implement|apply|take)\ (all|both|everything)[.!\ ]*$
    | (sie|diese|davon)\ alle | alle\ (diese|davon|punkte|fehler|vorschläge)
    | tod[ao]s\ (ess[ae]s|est[ae]s|os|as|los|las)\ (corre|punt|pont|ite|problem|erro|suger)\w*
    | (tous|toutes)\ (ces|les)\ (points|problèmes|erreurs|corrections)
    )(\W|$) | 全部(修|改|做|实)|すべて(直|修)|모두\ (고|수정)";

/// The number of earlier turns in whose replies the list is looked for.
const MOST_TURNS: usize = 8;
/// A list has at least this many items.
const LEAST_ITEMS: usize = 2;

impl SummaryBuilder {
    /// Quotes the items of the list to which the current request, or what was added to it, refers:
    /// by numbers, or as a whole.
    pub(super) fn quote_numbered_list(&self) -> Option<String> {
        let request = &self.turn.request;
        let has_own_list = !numbered_items(request).is_empty();
        if has_own_list {
            return None;
        }
        let numbers = numbers_named_in(request);
        let items = match numbers.iter().max() {
            Some(&greatest) => self.newest_list_with(greatest)?,
            None if names_whole_list(request) => self.list_in_reply_before()?,
            None => return None,
        };
        Some(keep_first(items.to_vec(), NUMBERED_LIST).join("; "))
    }

    /// Returns the newest numbered list in an earlier reply that has an item with this number.
    fn newest_list_with(&self, number: usize) -> Option<&[String]> {
        let newest_first = self.earlier_turns.iter().rev().take(MOST_TURNS);
        let mut lists = newest_first.map(|turn| &*turn.numbered_items);
        lists.find(|items| items.len() >= number.max(LEAST_ITEMS))
    }

    /// Returns the numbered list in the reply before the current request, if it has one.
    fn list_in_reply_before(&self) -> Option<&[String]> {
        let items = &*self.earlier_turns.last()?.numbered_items;
        (items.len() >= LEAST_ITEMS).then_some(items)
    }
}

/// Whether a short request means all items of a list: "fix all of these".
fn names_whole_list(request: &str) -> bool {
    static WHOLE: LazyLock<Regex> = LazyLock::new(|| compile_expression(WHOLE_LIST));
    is_narrower(request, LONG_REQUEST) && WHOLE.is_match(request)
}

/// Returns the numbers by which a request names items: 5 and 6 for "drop number 5 and 6".
fn numbers_named_in(request: &str) -> Vec<usize> {
    static NAMED: LazyLock<Regex> = LazyLock::new(|| compile_expression(NAMED_NUMBERS));
    static SINGLE: LazyLock<Regex> = LazyLock::new(|| compile_expression(SINGLE_NUMBER));
    // Most requests have no digit, and the expressions are compiled for others only.
    if !request.contains(|c: char| c.is_ascii_digit()) {
        return Vec::new();
    }

    let mut numbers = Vec::new();
    for named in NAMED.find_iter(request) {
        let words = named.as_str();
        let digits = words.split(|c: char| !c.is_ascii_digit());
        let named_numbers: Vec<usize> = digits.filter_map(|digits| digits.parse().ok()).collect();
        // "do 2 maps" counts maps, and names no item.
        let names_items = named_numbers.len() > 1 || SINGLE.is_match(words);
        if names_items {
            numbers.extend(named_numbers);
        }
    }
    numbers
}

/// The number of items that are read of a list.
const MOST_ITEMS: usize = 20;

/// Returns the items of the longest list in a reply that is numbered from 1 on without a gap, each
/// in short: `(1) no standard for tokens`. Headings may have the numbers, too: `## 2. Data`.
pub(super) fn numbered_items(reply: &str) -> Vec<String> {
    let mut longest = Vec::new();
    // The items so far of the list that is read.
    let mut items: Vec<String> = Vec::new();
    for item in reply.lines().filter_map(NumberedItem::read) {
        let begins_list = item.number == 1;
        if begins_list {
            items.clear();
        }
        // Other numbers belong to another list, or to a text that only looks like an item.
        let is_next = item.number == items.len() + 1;
        if !is_next || item.number > MOST_ITEMS {
            continue;
        }
        items.push(item.describe());
        if items.len() > longest.len() {
            longest.clone_from(&items);
        }
    }
    longest
}

/// An item of a numbered list.
struct NumberedItem<'l> {
    number: usize,
    text: &'l str,
}

impl<'l> NumberedItem<'l> {
    /// Reads an item in one of these forms: `2. Data`, `2) Data`, `**2. Data** — none yet`,
    /// `## Gap 2: Data`, `## Gap 2 — Data`.
    fn read(line: &'l str) -> Option<NumberedItem<'l>> {
        /// What follows the number of an item.
        const MARKS: [&str; 4] = [". ", ") ", ": ", " — "];

        let numbered = strip_lead_of_item(line);
        let digits_end = numbered.find(|c: char| !c.is_ascii_digit())?;
        let (digits, rest) = numbered.split_at(digits_end);
        let number = digits.parse().ok()?;
        let text = MARKS.iter().find_map(|mark| rest.strip_prefix(mark))?;
        Some(NumberedItem { number, text })
    }

    /// Describes the item on one line, without bold marks: `(2) Data — none yet`.
    fn describe(&self) -> String {
        let plain = self.text.replace("**", "");
        format!("({}) {}", self.number, cut_line(&plain, LISTED_DECISION))
    }
}

/// Returns a line without what may precede the number of an item: marks of a heading or of bold
/// text and, after them, one word. `2: Data` for `## Gap 2: Data`.
fn strip_lead_of_item(line: &str) -> &str {
    let line = line.trim_start();
    let unmarked = line.trim_start_matches(['#', '*', ' ']);
    let is_marked = unmarked.len() < line.len();
    if !is_marked {
        return line;
    }
    match unmarked.split_once(' ') {
        // The number of `2. 3 boats` is the first: no word precedes it.
        Some((word, rest)) if !begins_with_digit(word) && begins_with_digit(rest) => rest,
        _ => unmarked,
    }
}

fn begins_with_digit(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_items_by_their_numbers() {
        for (request, expected) in [
            (
                "ditch number 5 and 6, number 3 and 4 sound good",
                vec![5, 6, 3, 4],
            ),
            ("do 2 and 3", vec![2, 3]),
            ("dive deep into number 1-4", vec![1, 4]),
            ("is option 2 there already?", vec![2]),
            ("skip points 1, 3 und 4", vec![1, 3, 4]),
            // A single number after a verb counts things.
            ("do 2 maps", vec![]),
            ("fix it by 5", vec![]),
            ("# 1.\nx = 1", vec![]),
        ] {
            assert_eq!(numbers_named_in(request), expected, "{request}");
        }
    }

    #[test]
    fn a_short_request_may_mean_the_whole_list() {
        for request in [
            "fix all of these",
            "Faça todas essas correções",
            "Mach sie alle.",
            "全部修复",
        ] {
            assert!(names_whole_list(request), "{request}");
        }
        for request in [
            "now the legend",
            "run all tests",
            "commit all changes and push them",
            "does it work on every platform?",
            "undo all of that",
            "what are these files in the root folder?",
            "draw all harbours of the northern coast, and write below each of them who built it",
        ] {
            assert!(!names_whole_list(request), "{request}");
        }
    }

    #[test]
    fn the_items_of_the_longest_list_are_read() {
        let reply = "Three gaps:\n\n**1. Tides** — none has them\n- 4 tried\n\n**2. Piers**\n\n### Gap 3: Boats\n\n1. ask\n2. wait";
        assert_eq!(
            numbered_items(reply),
            ["(1) Tides — none has them", "(2) Piers", "(3) Boats"]
        );
        assert!(numbered_items("2. Piers\n12 boats").is_empty());
        assert_eq!(
            numbered_items("## 1. Tides\n## 2. 3 boats\n**3. 4 piers**"),
            ["(1) Tides", "(2) 3 boats", "(3) 4 piers"]
        );
    }
}
