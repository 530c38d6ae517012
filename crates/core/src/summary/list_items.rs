//! The items of a list in a reply, as an answer names them: "2", "b", "the second".

use super::budget::REMARK;
use super::quote::is_narrower;
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

/// Returns the items of a list in the reply that an answer names. A short answer names them by a
/// number, a letter or a place: "2", "b", "the second". A longer one only by capital letters: "A,
/// but with the harbours of last year".
pub(super) fn find_named_items<'r>(reply: &'r str, answer: &str) -> Vec<&'r str> {
    let mut items = Vec::new();
    // Most words of a longer answer are not names of items: `a` is in most sentences.
    let is_short = is_narrower(answer, REMARK);
    for name in answer.split(|c: char| !c.is_alphanumeric()) {
        if items.len() == MOST_NAMED_ITEMS {
            break;
        }
        if !is_short && !name.chars().all(char::is_uppercase) {
            continue;
        }
        let found = match place_in_list(name) {
            Some(place) => find_items_of_list(reply).into_iter().nth(place),
            None => find_item(reply, name),
        };
        items.extend(found);
    }
    items
}

/// The maximum number of items of a list that an answer can name.
const MOST_NAMED_ITEMS: usize = 3;

/// The maximum length of the number or letter of an item, in bytes.
const LONGEST_ITEM_NAME: usize = 2;

/// Words for the places of the items of a list, in three languages.
const PLACES: [&[&str]; 4] = [
    &[
        "first",
        "erste",
        "ersten",
        "erstes",
        "premier",
        "première",
        "primero",
        "primera",
    ],
    &[
        "second",
        "zweite",
        "zweiten",
        "zweites",
        "deuxième",
        "second",
        "segundo",
        "segunda",
    ],
    &[
        "third",
        "dritte",
        "dritten",
        "drittes",
        "troisième",
        "tercero",
        "tercera",
    ],
    &[
        "fourth",
        "vierte",
        "vierten",
        "viertes",
        "quatrième",
        "cuarto",
        "cuarta",
    ],
];

/// Returns the place of an item, counted from 0, that a word names.
fn place_in_list(word: &str) -> Option<usize> {
    let lower = word.to_lowercase();
    PLACES.iter().position(|words| words.contains(&&*lower))
}

/// Returns the lines of a reply that are items of a list.
fn find_items_of_list(reply: &str) -> Vec<&str> {
    static ITEM: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(r"^\s*([-*+•]|\**\(?\w{1,2}[.):])\s"));
    reply.lines().filter(|line| ITEM.is_match(line)).collect()
}

/// Finds the item of a list with this number or letter: the first line that begins with it, as in
/// `- **b)** drop it`, or else a part of a line: `B) drop it?` in `A) keep it? B) drop it?`. `None`
/// if `name` is empty, or longer than those of items.
pub(super) fn find_item<'r>(reply: &'r str, name: &str) -> Option<&'r str> {
    if name.is_empty() || name.len() > LONGEST_ITEM_NAME {
        return None;
    }
    let item_line = reply.lines().find(|line| {
        let unmarked = line.trim_start_matches([' ', '*', '(', '-', '#']);
        unmarked
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(['.', ')', ':']))
    });
    item_line.or_else(|| find_inner_item(reply, name))
}

/// Returns the item of a list within a line: `A) keep it? B) drop it?`
fn find_inner_item<'r>(reply: &'r str, name: &str) -> Option<&'r str> {
    let lead = format!("{name}) ");
    for (start, _) in reply.match_indices(&lead) {
        let is_name = reply[..start].ends_with([' ', '(']);
        if !is_name {
            continue;
        }
        let item = reply[start..].lines().next().unwrap_or_default();
        let end = match item.find(['?', ';']) {
            // Includes the mark, which is one byte.
            Some(mark) => mark + 1,
            None => item.len(),
        };
        return Some(&item[..end]);
    }
    None
}
