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
        if lines[index].trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        }
        let list = if is_fenced {
            None
        } else {
            let items_from_here = items.get(index..).unwrap_or_default();
            read_named_list(&lines[index..])
                .or_else(|| read_unnamed_list(&lines[index..], items_from_here))
        };
        match list {
            Some(list) => {
                index += list.lines.len();
                lists.push(list);
            }
            None => index += 1,
        }
    }
    lists
}

/// Whether a message may have a list of rules: it has a name of one, or items.
pub(super) fn may_list_rules(message: &str) -> bool {
    let mut lines = message.lines();
    lines.any(|line| is_list_item(line) || rest_after_name(line).is_some())
}

/// Reads the list whose name is in the first of some lines. The rules are in the same line, in the
/// items below it, or in the lines below it up to an empty one.
fn read_named_list<'m>(lines: &[&'m str]) -> Option<RuleList<'m>> {
    let (&name_line, below) = lines.split_first()?;
    let rest = rest_after_name(name_line)?;
    let mut list = RuleList {
        lines: vec![name_line],
        rules: Vec::new(),
    };
    add_sentences(&mut list.rules, rest);

    let first_below = below.iter().find(|line| !line.trim().is_empty());
    let has_items = first_below.is_some_and(|line| is_list_item(line));
    for &line in below {
        let is_empty = line.trim().is_empty();
        let ends_items = has_items && !is_empty && !continues_items(line);
        let ends_lines = !has_items && is_empty && !list.rules.is_empty();
        let is_next_part = line.starts_with('#') || line.trim_start().starts_with("```");
        if ends_items || ends_lines || is_next_part || rest_after_name(line).is_some() {
            break;
        }
        list.lines.push(line);
        if is_list_item(line) {
            list.rules.push(strip_marks(line.trim()));
        } else if !has_items {
            add_sentences(&mut list.rules, line);
        }
    }
    (list.rules.len() >= LEAST_RULES).then_some(list)
}

/// An item of a list.
struct ListItem<'m> {
    text: &'m str,
    /// Whether it binds later work.
    is_rule: bool,
}

/// Reads the item in each line. `None` for a line that is no item.
fn read_items<'m>(lines: &[&'m str]) -> Vec<Option<ListItem<'m>>> {
    let mut items = Vec::with_capacity(lines.len());
    for line in lines {
        items.push(if is_list_item(line) {
            let text = strip_marks(line.trim());
            let is_rule = !quote_binding_sentences(text, &[text]).is_empty();
            Some(ListItem { text, is_rule })
        } else {
            None
        });
    }
    items
}

/// Reads the list that the first of some lines begins, if it has no name, but most of its items
/// bind later work. `items` are the items in these lines.
fn read_unnamed_list<'m>(
    lines: &[&'m str],
    items: &[Option<ListItem<'m>>],
) -> Option<RuleList<'m>> {
    let mut item_count = 0;
    let mut rule_count = 0;
    for item in items.iter().map_while(Option::as_ref) {
        item_count += 1;
        rule_count += usize::from(item.is_rule);
    }
    let are_rules = rule_count >= LEAST_RULES && 2 * rule_count >= item_count;
    if item_count < LEAST_ITEMS || !are_rules {
        return None;
    }
    let list_items = items[..item_count].iter().flatten();
    Some(RuleList {
        lines: lines[..item_count].to_vec(),
        rules: list_items.map(|item| item.text).collect(),
    })
}

/// Whether a line may be in a list of items: an item, or indented below one.
fn continues_items(line: &str) -> bool {
    is_list_item(line) || line.starts_with([' ', '\t'])
}

/// Returns what follows the name of a list in its line: the text after the colon of `please mind
/// the rules: read only`, and an empty text after a heading `## Rules`. `None` if the line has no
/// such name.
fn rest_after_name(line: &str) -> Option<&str> {
    let text = line.trim();
    let is_heading = text.starts_with('#') || text.starts_with("**") && text.ends_with("**");
    let Some(colon) = text.find([':', '：']) else {
        return (is_heading && names_rules(text)).then_some("");
    };
    let (before, from_colon) = text.split_at(colon);
    let rest = from_colon.trim_start_matches([':', '：']);
    let is_set_off = rest.is_empty() || rest.starts_with([' ', '*']);
    let clause = before
        .rsplit(['.', '!', '?', ';', ','])
        .next()
        .unwrap_or_default();
    // A setting of a program, such as `rules: {…}`, is not a list of the user.
    let is_setting = rest.contains(['{', '}', '<', '=', '|', '\\']);
    (is_set_off && !is_setting && names_rules(clause)).then(|| rest.trim_matches(['*', ' ']))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn describe_all(message: &str) -> Vec<String> {
        let lists = find_rule_lists(message);
        lists.iter().map(RuleList::describe).collect()
    }

    #[test]
    fn a_list_is_kept_as_a_whole() {
        for (message, expected) in [
            (
                "draw the map. rules: nothing is changed, only read. region north; reports in German",
                r#"Rules: "nothing is changed, only read.; region north; reports in German""#,
            ),
            (
                "House rules:\n- one commit for each map\n\n- names stay\n\nNow draw.",
                r#"Rules: "one commit for each map; names stay""#,
            ),
            (
                "# Map\nDraw it.\n## Constraints\n1. Never push.\n   Not even once.\n2. Keep the names.\n## Colors\n- blue",
                r#"Rules: "Never push.; Keep the names.""#,
            ),
            (
                "Regeln:\nnur lesen\nnichts löschen\n\nzeichne",
                r#"Rules: "nur lesen; nichts löschen""#,
            ),
            (
                "one more thing\n- never touch the charts\n- no frames\n- the legend is in English",
                r#"Rules: "never touch the charts; no frames; the legend is in English""#,
            ),
        ] {
            assert_eq!(describe_all(message), [expected], "{message}");
        }
    }

    #[test]
    fn rules_that_do_not_fit_are_omitted() {
        let rule = "- never draw a frame that is wider than the pier, nor one that hides the names";
        let message = format!("Rules:\n{}- never print\n", format!("{rule}\n").repeat(10));
        let lists = find_rule_lists(&message);
        assert_eq!(lists[0].omitted_rules(), ["never print"]);
        assert!(lists[0].describe().ends_with("\" and 1 more"));
    }

    #[test]
    fn other_lists_and_settings_are_none() {
        for message in [
            "rules: {\"a\": 1}\nb: 2",
            "draw:\n- the map\n- the legend\n- the frame",
            "rule: one letter per owner",
            "the rules of the harbour are what we draw next: first the pier. then the boats",
            "```\nrules:\n- never\n- no more\n```",
            "",
            ":",
        ] {
            assert!(describe_all(message).is_empty(), "{message}");
        }
    }
}
