//! The items of a list in a reply, as an answer names them: "2", "b", "the second".

use super::budget::REMARK;
use super::one_line::cut_line;
use super::options::find_inner_item;
use super::quote::{count_utf16, is_narrower, quote_line};
use super::reply_lists::{LastList, item_lines};
use foldhash::HashMap;

/// Returns the items of a list in the reply that an answer names, each once, and at most
/// [`MOST_NAMED_ITEMS`]. A short answer names them by a number, a letter or a place: "2", "b", "the
/// second". A longer one only by capital letters, "A, but with the harbours of last year", or where
/// its sentences begin: "2, the captain says so. 3 is too much".
pub(super) fn find_named_items<'r>(reply: &'r str, answer: &str) -> Vec<&'r str> {
    // Most words of a longer answer are not names of items: `a` is in most sentences.
    let is_short = is_narrower(answer, REMARK);
    let may_name = |word: &str| is_short || word.chars().all(char::is_uppercase);
    let mut items = NamedItems::of(reply);
    // "c'est" does not name c.
    for part in answer.split(|c: char| !c.is_alphanumeric() && !APOSTROPHES.contains(&c)) {
        if items.is_full() {
            break;
        }
        let word = part.trim_matches(APOSTROPHES);
        if !may_name(word) {
            continue;
        }
        match place_in_list(word) {
            Some(place) => items.add_at(place),
            None => {
                let item = items.look_up(word);
                items.add_if_known(item);
            }
        }
    }
    if items.found.is_empty() && !is_short {
        return find_items_named_at_starts(reply, answer);
    }
    items.found
}

/// The marks of elisions, which are also quotation marks.
const APOSTROPHES: [char; 2] = ['\'', '’'];

/// Returns the items that the sentences and lines of an answer name by their first words. If there
/// is a single one, it must be set off: "2, …" names an item, and "2 days" counts.
fn find_items_named_at_starts<'r>(reply: &'r str, answer: &str) -> Vec<&'r str> {
    let mut items = NamedItems::of(reply);
    let mut has_set_off = false;
    for sentence in answer.lines().flat_map(|line| line.split(". ")) {
        if items.is_full() {
            break;
        }
        let name = first_word(sentence);
        let is_set_off = is_set_off(sentence, name);
        // `a` and `i` are words, too.
        if !is_set_off && !name.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        let item = items.look_up(name);
        has_set_off |= is_set_off && item.is_some();
        items.add_if_known(item);
    }
    if items.found.len() == 1 && !has_set_off {
        return Vec::new();
    }
    items.found
}

/// The items of a reply that an answer names.
struct NamedItems<'r, 'a> {
    reply: &'r str,
    /// The items in the order in which they are named, each once.
    found: Vec<&'r str>,
    /// The items of the names that were looked up. Each search reads the whole reply, and the lines
    /// of an answer may be those of a long log, which begin with the same numbers.
    known: HashMap<&'a str, Option<&'r str>>,
    /// The lines of all items in the reply, once a place in the list was named.
    lines: Option<Vec<&'r str>>,
}

impl<'r, 'a> NamedItems<'r, 'a> {
    fn of(reply: &'r str) -> NamedItems<'r, 'a> {
        NamedItems {
            reply,
            found: Vec::new(),
            known: HashMap::default(),
            lines: None,
        }
    }

    fn is_full(&self) -> bool {
        self.found.len() == MOST_NAMED_ITEMS
    }

    /// Returns the item with this number or letter.
    fn look_up(&mut self, name: &'a str) -> Option<&'r str> {
        if !may_name_item(name) {
            return None;
        }
        let find = || find_item(self.reply, name);
        *self.known.entry(name).or_insert_with(find)
    }

    /// Adds the item at a place of the list, counted from 0, if there is one.
    fn add_at(&mut self, place: usize) {
        let reply = self.reply;
        let lines = self
            .lines
            .get_or_insert_with(|| item_lines(reply).collect());
        let item = lines.get(place).copied();
        self.add_if_known(item);
    }

    fn add_if_known(&mut self, item: Option<&'r str>) {
        if let Some(item) = item
            && !self.found.contains(&item)
        {
            self.found.push(item);
        }
    }
}

/// Whether a message begins with the name of an item of the last list in the reply, and does not go
/// on with it as a word of a sentence: "b, and the lamps", "the first. It is simpler". A letter
/// that is no word needs no mark: "b for now". "First, …" and a message that is a list itself name
/// none.
pub(super) fn begins_with_item(reply: &str, message: &str) -> bool {
    let words = message.trim_start_matches("the ");
    let name = first_word(words);
    // Few messages begin so, and to find the list takes longer.
    if !begins_with_name(words, name) {
        return false;
    }
    let items = LastList::find(reply).items;
    let is_message_a_list = item_lines(message).count() > 1;
    if items.len() < 2 || is_message_a_list {
        return false;
    }
    let Some(place) = place_in_list(name) else {
        return find_item(reply, name).is_some();
    };
    // "First, …" orders what follows; "the first, …" names an item.
    let has_article = words.len() < message.len();
    let is_adverb = !has_article && words[name.len()..].starts_with(',');
    !is_adverb && place < items.len()
}

/// Returns an answer with the number that it begins with in parentheses. As `1.`, it would be cut
/// off as the mark of a list.
pub(super) fn keep_number(answer: &str) -> String {
    let number = first_word(answer);
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    match answer[number.len()..].strip_prefix(['.', ')']) {
        Some(rest) if is_number && rest.starts_with(' ') => format!("({number}){rest}"),
        _ => answer.to_owned(),
    }
}

pub(super) fn first_word(text: &str) -> &str {
    let mut words = text.split(|c: char| !c.is_alphanumeric());
    words.next().unwrap_or_default()
}

/// Whether the first word of a text is no word of its sentence: it is set off, as in "a, but
/// small", or a letter that is no word, as in "b for now". Then it may name an item of a list.
pub(super) fn begins_with_name(text: &str, first_word: &str) -> bool {
    let is_letter = is_bare_letter(first_word) && text[first_word.len()..].starts_with(' ');
    is_letter || is_set_off(text, first_word)
}

/// Whether a word is a letter that is no word of a sentence, unlike `a` and `i`; in Spanish, `e`,
/// `o` and `y` are words, too.
fn is_bare_letter(word: &str) -> bool {
    let mut letters = word.chars();
    let is_single =
        letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.next().is_none();
    is_single && !"aeiouy".contains(&word.to_lowercase())
}

/// Whether a text is its first word, or a punctuation mark follows that.
fn is_set_off(text: &str, first_word: &str) -> bool {
    let rest = &text[first_word.len()..];
    rest.is_empty() || rest.starts_with([',', '.', ';', ':', ')', '!'])
}

/// Quotes items of a list on one line, with their numbers: `"(1) the map / (2) the legend"`. If
/// they take more than `max` UTF-16 units, each is cut to its share.
pub(super) fn quote_items(items: &[&str], max: usize) -> String {
    let size: usize = items.iter().map(|item| count_utf16(item)).sum();
    let item_max = if size > max { max / items.len() } else { max };
    let mut texts = Vec::new();
    for item in items {
        // `cut_line` drops the number, as the mark of a list.
        let text = cut_line(item, item_max);
        let name = first_word(item.trim_start());
        let is_numbered = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        if is_numbered {
            texts.push(format!("({name}) {text}"));
        } else {
            texts.push(text);
        }
    }
    // The items have been cut to their shares. The double leaves room for the numbers and slashes.
    quote_line(&texts.join(" / "), 2 * max)
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

pub(super) fn may_name_item(name: &str) -> bool {
    !name.is_empty() && name.len() <= LONGEST_ITEM_NAME
}

/// Finds the item of a list with this number or letter: the first line that begins with it, as in
/// `- **b)** drop it`, or else a part of a line: `B) drop it?` in `A) keep it? B) drop it?`. `None`
/// if `name` is empty, or longer than those of items.
pub(super) fn find_item<'r>(reply: &'r str, name: &str) -> Option<&'r str> {
    if !may_name_item(name) {
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
