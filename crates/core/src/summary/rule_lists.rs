//! Rules: a list in which a user says what holds for all of the work. A list that is cut after its
//! first rule misleads, so it is kept as a whole.
//!
//! ```text
//! rules: read only, nothing is changed. region eu-central-1. reports in German
//!
//! ## Constraints
//! - Never push.
//! - One commit for each part.
//! ```

use super::budget::{POINT, RULE, RULES};
use super::documents::is_document;
use super::fitting::keep_first;
use super::one_line::cut_line;
use super::prose::{is_list_item, split_at_full_stops};
use super::quote::{is_narrower, strip_marks};
use super::sections::{EARLIER_MARK, RULES_LEAD};
use super::wishes::quote_binding_sentences;
use unicode_segmentation::UnicodeSegmentation;

/// The words that name a list of rules.
const NAMES: [&str; 16] = [
    "rules",
    "constraints",
    "restrictions",
    "conventions",
    "guidelines",
    "guardrails",
    "regeln",
    "vorgaben",
    "règles",
    "contraintes",
    "reglas",
    "restricciones",
    "regole",
    "vincoli",
    "правила",
    "规则",
];

/// A name of more words is a sentence.
const NAME_WORDS: usize = 6;
/// A list with fewer rules is a sentence like any other.
const LEAST_RULES: usize = 2;
/// A list without a name has this many items at least. At least half of them bind later work.
const LEAST_ITEMS: usize = 3;

/// A list of rules in a message.
pub(super) struct RuleList<'m> {
    /// The lines of the message that it consists of.
    pub lines: Vec<&'m str>,
    rules: Vec<&'m str>,
}

impl<'m> RuleList<'m> {
    /// Describes the list on one line of about [`RULES`] UTF-16 units: `Rules: "Never push.; One
    /// commit for each part."`. The number of rules that do not fit follows.
    pub fn describe(&self) -> String {
        let shown = self.shown_rules();
        let omitted_count = self.rules.len() - shown.len();
        let list = format!("{RULES_LEAD}\"{}\"", shown.join(SEPARATOR));
        if omitted_count == 0 {
            return list;
        }
        format!("{list} and {omitted_count} more")
    }

    /// Returns the rules that do not fit in the description.
    pub fn omitted_rules(&self) -> &[&'m str] {
        &self.rules[self.shown_rules().len()..]
    }

    /// Adds the lines below the name, if these are items: each item is a rule. The list ends at the
    /// first line that is neither an item, nor indented below one, nor empty.
    fn add_items(&mut self, lines_below: &[&'m str]) {
        for &line in lines_below {
            let is_item = is_list_item(line);
            let is_indented = line.starts_with([' ', '\t']);
            let is_empty = line.trim().is_empty();
            if !is_item && !is_indented && !is_empty {
                break;
            }
            self.lines.push(line);
            if is_item {
                self.rules.push(strip_marks(line.trim()));
            }
        }
    }

    /// Adds the lines below the name, if these are running text: each sentence is a rule. The list
    /// ends at the first empty line after a rule. Empty lines before the first rule only set the
    /// text off from the name.
    fn add_running_text(&mut self, lines_below: &[&'m str]) {
        for &line in lines_below {
            let is_empty = line.trim().is_empty();
            if is_empty && !self.rules.is_empty() {
                break;
            }
            self.lines.push(line);
            if is_list_item(line) {
                self.rules.push(strip_marks(line.trim()));
            } else {
                add_sentences(&mut self.rules, line);
            }
        }
    }

    /// Returns the first rules, as many as fit, as they are shown.
    fn shown_rules(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for rule in &self.rules {
            texts.push(cut_line(rule, RULE).replace('"', "'"));
        }
        keep_first(texts, RULES)
    }
}

/// What is between the rules of a described list.
const SEPARATOR: &str = "; ";

/// Returns the rules in an item of a summary that [`RuleList::describe`] wrote. `None` if it is
/// another item.
pub(super) fn listed_rules(item: &str) -> Option<impl Iterator<Item = &str>> {
    let list = item
        .trim_start_matches(EARLIER_MARK)
        .strip_prefix(RULES_LEAD)?;
    let quoted = list.trim_start_matches('"').split('"').next()?;
    Some(quoted.split(SEPARATOR))
}

/// Finds the lists of rules in a message: lists with a name such as "rules", and other lists whose
/// items mostly forbid or demand something in general. Of a document, only the named ones: it has
/// lists of all kinds.
pub(super) fn find_rule_lists(message: &str) -> Vec<RuleList<'_>> {
    let lines: Vec<&str> = message.lines().collect();
    // An unnamed list may begin at each item, so each item is judged once, before.
    let items = if is_document(message) {
        Vec::new()
    } else {
        read_items(&lines)
    };

    let mut lists = Vec::new();
    let mut index = 0;
    let mut is_fenced = false;
    while index < lines.len() {
        if is_fence(lines[index]) {
            is_fenced = !is_fenced;
        }
        if is_fenced {
            index += 1;
            continue;
        }
        let items_from_here = items.get(index..).unwrap_or_default();
        match read_list(&lines[index..], items_from_here) {
            Some(list) => {
                index += list.lines.len();
                lists.push(list);
            }
            None => index += 1,
        }
    }
    lists
}

/// Whether a line begins or ends a block of code.
fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// Reads the list of rules that begins in the first of some lines. `items` are the items in these
/// lines; empty if no list without a name is wanted.
fn read_list<'m>(lines: &[&'m str], items: &[Option<ListItem<'m>>]) -> Option<RuleList<'m>> {
    match read_named_list(lines) {
        Some(list) => Some(list),
        None => read_unnamed_list(lines, items),
    }
}

/// Whether a message may have a list of rules: it has a name of one, or items.
pub(super) fn may_list_rules(message: &str) -> bool {
    let mut lines = message.lines();
    lines.any(|line| is_list_item(line) || rest_after_name(line).is_some())
}

/// Reads the list whose name is in the first line of `lines`. The rules follow the name on its line
/// (`Rules: read only. no pushes.`), and are in the items or the running text below it.
///
/// `None` if the first line names no list, or if there are fewer than [`LEAST_RULES`] rules.
fn read_named_list<'m>(lines: &[&'m str]) -> Option<RuleList<'m>> {
    let (&name_line, below) = lines.split_first()?;
    let rest_of_line = rest_after_name(name_line)?;
    let mut list = RuleList {
        lines: vec![name_line],
        rules: Vec::new(),
    };
    add_sentences(&mut list.rules, rest_of_line);

    let other_part = below.iter().position(|line| begins_other_part(line));
    let own_lines = &below[..other_part.unwrap_or(below.len())];
    // What follows the name first, decides: items, or running text.
    let first_below = below.iter().find(|line| !line.trim().is_empty());
    if first_below.is_some_and(|line| is_list_item(line)) {
        list.add_items(own_lines);
    } else {
        list.add_running_text(own_lines);
    }

    if list.rules.len() < LEAST_RULES {
        return None;
    }
    Some(list)
}

/// Whether a line cannot belong to a list above it: a heading, the start of a block of code, or the
/// name of another list.
fn begins_other_part(line: &str) -> bool {
    line.starts_with('#') || is_fence(line) || rest_after_name(line).is_some()
}

/// An item of a list.
struct ListItem<'m> {
    text: &'m str,
    /// Whether it forbids or demands something of later work, too.
    is_rule: bool,
}

/// Reads the item in each line. `None` for a line that is no item.
fn read_items<'m>(lines: &[&'m str]) -> Vec<Option<ListItem<'m>>> {
    let mut items = Vec::with_capacity(lines.len());
    for line in lines {
        if !is_list_item(line) {
            items.push(None);
            continue;
        }
        let text = strip_marks(line.trim());
        let is_rule = !quote_binding_sentences(text, &[text]).is_empty();
        items.push(Some(ListItem { text, is_rule }));
    }
    items
}

/// Reads the list that the first of some lines begins, if it has no name, but most of its items
/// bind later work. `items` are the items in these lines.
fn read_unnamed_list<'m>(
    lines: &[&'m str],
    items: &[Option<ListItem<'m>>],
) -> Option<RuleList<'m>> {
    // The list ends before the first line that is no item.
    let list_items: Vec<&ListItem> = items.iter().map_while(Option::as_ref).collect();
    let item_count = list_items.len();
    let rule_count = list_items.iter().filter(|item| item.is_rule).count();
    let are_mostly_rules = 2 * rule_count >= item_count;
    if item_count < LEAST_ITEMS || rule_count < LEAST_RULES || !are_mostly_rules {
        return None;
    }

    Some(RuleList {
        lines: lines[..item_count].to_vec(),
        rules: list_items.iter().map(|item| item.text).collect(),
    })
}

/// Returns what follows the name of a list in its line: the text after the colon of `please mind
/// the rules: read only`, and an empty text after a heading `## Rules`. `None` if the line has no
/// such name.
fn rest_after_name(line: &str) -> Option<&str> {
    let text = line.trim();
    let Some(colon) = text.find([':', '：']) else {
        let is_heading = text.starts_with('#') || text.starts_with("**") && text.ends_with("**");
        return (is_heading && names_rules(text)).then_some("");
    };
    let (before, from_colon) = text.split_at(colon);
    let rest = from_colon.trim_start_matches([':', '：']);
    let is_set_off = rest.is_empty() || rest.starts_with([' ', '*']);
    // A setting of a program, such as `rules: {…}`, is not a list of the user.
    let is_setting = rest.contains(['{', '}', '<', '=', '|', '\\']);
    if !is_set_off || is_setting {
        return None;
    }
    let last_clause = before
        .rsplit(['.', '!', '?', ';', ','])
        .next()
        .unwrap_or_default();
    names_rules(last_clause).then(|| rest.trim_matches(['*', ' ']))
}

/// Whether a few words name a list of rules: "house rules".
fn names_rules(words: &str) -> bool {
    if !is_narrower(words, POINT / 2) || words.split_whitespace().count() > NAME_WORDS {
        return false;
    }
    let lower = words.to_lowercase();
    let mut parts = lower.split(|c: char| !c.is_alphanumeric());
    parts.any(|word| NAMES.contains(&word))
}

/// Adds the sentences of a line, which semicolons may separate.
fn add_sentences<'m>(rules: &mut Vec<&'m str>, line: &'m str) {
    for sentence in line.split_sentence_bounds() {
        for part in split_at_full_stops(sentence) {
            let clauses = part.split(';').map(str::trim);
            rules.extend(clauses.filter(|clause| !clause.is_empty()));
        }
    }
}
