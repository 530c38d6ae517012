//! Turns (a request and the replies to it), and what users ask for and decide beyond them.

use super::budget::*;
use super::message::Stop;
use super::quote::{asks, bare, columns, digitless, ends, last_prose, prose, quoted, substance};
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

#[derive(Debug, Default)]
pub(super) struct Turn {
    pub number: usize,
    /// The entry of the request, and the request with later additions.
    pub entry: String,
    pub request: String,
    pub stop: Stop,
    /// The assistant's remarks, including its last words.
    pub said: Vec<String>,
    pub calls: usize,
    /// The number of calls before the last words.
    pub calls_before_words: usize,
    /// How often the same request had the same answer before.
    pub repeats: usize,
}

impl Turn {
    /// Adds a user message sent during the work on the request, or to continue it.
    pub fn more(&mut self, text: &str) {
        self.stop = Stop::NoReply;
        let request = format!(
            "{}\n\n(Added while it was being worked on:)\n{text}",
            self.request
        );
        self.request = ends(&request, 2 * WHOLE_REQUEST);
    }

    /// Adds a reply. Of many remarks, the first and the newest are kept; those that only lead over
    /// to the next call are left out.
    pub fn hear(&mut self, text: &str, stop: Stop) {
        let leads_over = stop == Stop::ToolUse && columns(substance(text)) < REMARK;
        self.stop = stop;
        if !text.trim().is_empty() && !leads_over {
            self.said.push(text.to_owned());
            self.calls_before_words = self.calls;
            self.said
                .drain(1..self.said.len().saturating_sub(HELD).max(1));
        }
    }

    /// Returns the assistant's last words.
    pub fn words(&self) -> &str {
        self.said.last().map_or("", String::as_str)
    }

    /// Whether the assistant completed its reply.
    pub fn is_answered(&self) -> bool {
        self.stop == Stop::Done
    }

    /// Whether the other turn had the same request, in its first line and without numbers, and the
    /// same answer: so it is with a timer's request if nothing happened.
    pub fn is_alike(&self, other: &Turn) -> bool {
        let first = |turn: &Turn| digitless(turn.request.lines().next().unwrap_or_default());
        let is_same = self.words() == other.words() && self.is_answered() && other.is_answered();
        is_same && columns(&self.request) >= SHORT_REPLY && first(self) == first(other)
    }
}

/// The words at the start of a sentence that forbid or demand something in general, and before them
/// in that sentence. Other sentences are taken as part of a request that has been dealt with,
/// however emphatic they are.
const FIRST_WORDS: &str =
    r"(do\ not|don['’]?t|no|only|without|avoid|kein\w*|pas\ de|sin|sem|senza|без)\s";
const BEFORE: &str = r"(and\ |but\ |please\ )*";

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
static BINDING: LazyLock<Regex> =
    LazyLock::new(|| rule(&format!(r"(?ix) ^{BEFORE}{FIRST_WORDS} | {ANY_WORDS}")));

/// Matches every line with such a sentence, and few others: to divide a line into sentences takes
/// much longer.
static MAY_BIND: LazyLock<Regex> =
    LazyLock::new(|| rule(&format!(r"(?ix) (^|\W){FIRST_WORDS} | {ANY_WORDS}")));

/// Matches lines of code and of logs.
static CODE: LazyLock<Regex> = LazyLock::new(|| rule(r"[{};=\\|<>$]|\w\(|:\d|^\w*[a-z][A-Z]\w*:"));

fn rule(expression: &str) -> Regex {
    Regex::new(expression).expect("a constant")
}

/// Returns the sentences of a message that remain binding, in quotation marks.
pub(super) fn binding(text: &str) -> Vec<String> {
    let text: String = text.chars().take(WHOLE_REQUEST).collect();
    let mut found = Vec::new();
    for line in prose(&text) {
        if !MAY_BIND.is_match(line) || CODE.is_match(line) {
            continue;
        }
        for sentence in line.unicode_sentences() {
            let sentence = bare(sentence.trim());
            let is_short = (SHORT_REPLY..POINT).contains(&columns(sentence));
            if BINDING.is_match(sentence) && !asks(sentence) && is_short {
                found.push(quoted(sentence, POINT));
            }
        }
    }
    found
}

/// Returns a question and its answer. If the answer names items of a list in the question (`2`,
/// `b`), they are added.
pub(super) fn decided(question: &str, answer: &str) -> String {
    let is_item = |line: &str, name: &str| {
        let rest = line
            .trim_start_matches([' ', '*', '(', '-', '#'])
            .strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(['.', ')', ':']))
    };
    let names = answer
        .split(|c: char| !c.is_alphanumeric())
        .filter(|name| (1..=2).contains(&name.len()));
    let items = names.filter_map(|name| question.lines().find(|line| is_item(line, name)));
    let most = if columns(answer) < REMARK { 3 } else { 0 };
    let items: String = items
        .take(most)
        .map(|item| format!("; {}", quoted(item, POINT / 2)))
        .collect();
    let (asked, answer) = (quoted(last_prose(question), POINT), quoted(answer, POINT));
    format!("Asked {asked}, the user answered {answer}{items}")
}
