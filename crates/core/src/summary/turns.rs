//! Turns (a request and the replies to it), and what users ask for and decide beyond them.

use super::budget::*;
use super::message::ReplyEnd;
use super::quote::{
    cut_middle, display_width, ends_in_question, last_prose_line, prose_lines, quote_line,
    strip_digits, strip_marks, strip_transitions,
};
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

#[derive(Debug, Default)]
pub(super) struct Turn {
    pub number: usize,
    /// The id of the request's entry.
    pub entry: String,
    /// The request, with later additions.
    pub request: String,
    pub reply_end: ReplyEnd,
    /// The assistant's remarks, including its last words.
    pub remarks: Vec<String>,
    pub call_count: usize,
    /// The number of calls before the last words.
    pub calls_before_words: usize,
    /// How often the same request had the same answer before.
    pub repeats: usize,
}

impl Turn {
    /// Adds a user message sent during the work on the request, or to continue it.
    pub fn add_to_request(&mut self, text: &str) {
        self.reply_end = ReplyEnd::NoReply;
        let request = format!(
            "{}\n\n(Added while it was being worked on:)\n{text}",
            self.request
        );
        self.request = cut_middle(&request, 2 * WHOLE_REQUEST);
    }

    /// Adds a reply. Of many remarks, the first and the newest are kept; those that only lead over
    /// to the next call are left out.
    pub fn add_reply(&mut self, text: &str, stop: ReplyEnd) {
        let only_leads_over =
            stop == ReplyEnd::ToolUse && display_width(strip_transitions(text)) < REMARK;
        self.reply_end = stop;
        if text.trim().is_empty() || only_leads_over {
            return;
        }
        self.remarks.push(text.to_owned());
        self.calls_before_words = self.call_count;
        let newest_start = self.remarks.len().saturating_sub(MAX_HELD).max(1);
        self.remarks.drain(1..newest_start);
    }

    /// Returns the assistant's last words.
    pub fn last_words(&self) -> &str {
        self.remarks.last().map_or("", String::as_str)
    }

    /// Whether the assistant completed its reply.
    pub fn is_answered(&self) -> bool {
        self.reply_end == ReplyEnd::Done
    }

    /// Whether the other turn had the same request, in its first line and without numbers, and the
    /// same answer: so it is with a timer's request if nothing happened.
    pub fn is_alike(&self, other: &Turn) -> bool {
        self.last_words() == other.last_words()
            && self.is_answered()
            && other.is_answered()
            && display_width(&self.request) >= SHORT_REPLY
            && self.request_key() == other.request_key()
    }

    /// Returns the first line of the request without its digits.
    fn request_key(&self) -> String {
        strip_digits(self.request.lines().next().unwrap_or_default())
    }
}

/// The words at the start of a sentence that forbid or demand something in general, and before them
/// in that sentence. Other sentences are taken as part of a request that has been dealt with,
/// however emphatic they are.
const FIRST_WORDS: &str =
    r"(do\ not|don['’]?t|no|only|without|avoid|kein\w*|pas\ de|sin|sem|senza|без)\s";
const BEFORE_FIRST_WORDS: &str = r"(and\ |but\ |please\ )*";

/// The words that do so anywhere in a sentence. What is beside a word is matched in place of `\b`,
/// for which the fast automata of `regex` work only in ASCII.
const ANY_WORDS: &str = r"
    (^|\W)(never|always|must|mustn['’]t|from\ now\ on
    | nie|niemals|immer|nur|muss|müssen|darf|dürfen
    | jamais|toujours|doit|doivent|nunca|siempre|sempre|debe|deben|deve|devem|mai|devono|nooit|altijd|moet
    | никогда|всегда|только|нельзя|должн\w+)(\W|$)
    | 不要|不得|不能|不许|不准|禁止|必须|务必|只能|总是|永远|一律|絶対|必ず|常に|しないで|절대|항상|반드시|하지\ ?마
    | أبدا|أبدًا|دائما|دائمًا|يجب|فقط|ممنوع|هرگز|همیشه|हमेशा|कभी\ नहीं";

/// Matches a sentence that binds later work, too.
static BINDING: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(&format!(
        r"(?ix) ^{BEFORE_FIRST_WORDS}{FIRST_WORDS} | {ANY_WORDS}"
    ))
});

/// Matches every line with such a sentence, and few others: to divide a line into sentences takes
/// much longer.
static MAY_BIND: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(&format!(r"(?ix) (^|\W){FIRST_WORDS} | {ANY_WORDS}")));

/// Matches lines of code and of logs.
static CODE: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"[{};=\\|<>$]|\w\(|:\d|^\w*[a-z][A-Z]\w*:"));

fn compile_regex(expression: &str) -> Regex {
    Regex::new(expression).expect("a constant")
}

/// Returns the sentences of a message that remain binding, in quotation marks: those in prose that
/// [`BINDING`] matches, that are not questions, and that are neither a nod nor too long to quote.
pub(super) fn binding_sentences(text: &str) -> Vec<String> {
    let start: String = text.chars().take(WHOLE_REQUEST).collect();
    let mut quotations = Vec::new();
    for line in prose_lines(&start) {
        if !MAY_BIND.is_match(line) || CODE.is_match(line) {
            continue;
        }
        for sentence in line.unicode_sentences() {
            let sentence = strip_marks(sentence.trim());
            let is_quotable = (SHORT_REPLY..POINT).contains(&display_width(sentence));
            if BINDING.is_match(sentence) && !ends_in_question(sentence) && is_quotable {
                quotations.push(quote_line(sentence, POINT));
            }
        }
    }
    quotations
}

/// Describes a decision by the last line of a question and its answer. If a short answer names
/// items of a list in the question (`2`, `b`), they are added.
pub(super) fn describe_decision(question: &str, answer: &str) -> String {
    let mut named_items = Vec::new();
    if display_width(answer) < REMARK {
        for name in answer.split(|c: char| !c.is_alphanumeric()) {
            if named_items.len() == MOST_NAMED_ITEMS {
                break;
            }
            let can_name_item = (1..=LONGEST_ITEM_NAME).contains(&name.len());
            if can_name_item && let Some(item) = find_item(question, name) {
                named_items.push(item);
            }
        }
    }

    let asked = quote_line(last_prose_line(question), POINT);
    let answered = quote_line(answer, POINT);
    let mut decision = format!("Asked {asked}, the user answered {answered}");
    for item in named_items {
        decision.push_str("; ");
        decision.push_str(&quote_line(item, POINT / 2));
    }
    decision
}

/// The maximum number of items of a list that an answer can name.
const MOST_NAMED_ITEMS: usize = 3;

/// The maximum length of the number or letter of an item, in bytes.
const LONGEST_ITEM_NAME: usize = 2;

/// Returns the line of a question that is the item of a list with this number or letter.
fn find_item<'q>(question: &'q str, name: &str) -> Option<&'q str> {
    question.lines().find(|line| {
        let unmarked = line.trim_start_matches([' ', '*', '(', '-', '#']);
        unmarked
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(['.', ')', ':']))
    })
}
