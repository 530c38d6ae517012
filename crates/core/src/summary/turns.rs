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
    /// Adds a user message sent during the work on the request, to continue it, or to answer a
    /// question about it.
    pub fn add_to_request(&mut self, text: &str) {
        let lead = if self.is_answered() {
            "(Answered to the assistant's question:)"
        } else {
            "(Added while it was being worked on:)"
        };
        self.reply_end = ReplyEnd::NoReply;
        let request = format!("{}\n\n{lead}\n{text}", self.request);
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

    /// Whether the other turn has the same request, by its first line without numbers, and the same
    /// answer. Turns that a timer starts are alike as long as nothing happens.
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

/// The words at the start of a clause that forbid or demand something in general. Other clauses are
/// taken as part of a request that has been dealt with, however emphatic they are.
const FIRST_WORDS: &str = r"(do\ not|don['’]?t|only|without|avoid|stop|quit|keep|leave
    | kein\w*|pas\ de|sin|sem|senza|без)\s";

/// What may stand before these words: up to three words that only lead over to them. A word with a
/// slip of the pen is most often a `please`.
const BEFORE_FIRST_WORDS: &str = r"((and|but|so|then|now|just|also|again|ok|okay|oh|hey|well|yes|yeah|btw|
    pl\w{2,5}|can\ you|could\ you|for\ now),?\ ){0,3}";

/// Clauses that begin like a wish and are none.
const NO_WISH: &str = r"^(keep\ (going|on|it\ up|working)|stop\ (here|it|now)\b|only\ (then|now|that)\b
    | no\ (need|problem|idea|worries|wonder|longer|luck|thanks|way|one|it|that|this|these|those|the|i|you|we|they|he|she|but|not|more\ than)\b)";

/// `no` and a thing: "no console logs". A bare `no` answers, and says nothing of later work.
const NO_THING: &str = r"no\ [\w-]{3,}";

/// What the user wants in general, and what is to stay as it is.
const WANTS: &str = r"(would|i['’]d)\ (really\ )?only\ (want|need|like)|(i|we)\ (really\ )?only\ (want|need)
    | want\ (only|no|nothing)\s|(nothing|anything|everything)\ else";

/// The words that do so anywhere in a clause. What is beside a word is matched in place of `\b`,
/// for which the fast automata of `regex` work only in ASCII.
const ANY_WORDS: &str = r"
    (^|\W)(never|always|must|mustn['’]t|from\ now\ on
    | nie|niemals|immer|nur|muss|müssen|darf|dürfen
    | jamais|toujours|doit|doivent|nunca|siempre|sempre|debe|deben|deve|devem|mai|devono|nooit|altijd|moet
    | никогда|всегда|только|нельзя|должн\w+)(\W|$)
    | 不要|不得|不能|不许|不准|禁止|必须|务必|只能|总是|永远|一律|絶対|必ず|常に|しないで|절대|항상|반드시|하지\ ?마
    | أبدا|أبدًا|دائما|دائمًا|يجب|فقط|ممنوع|هرگز|همیشه|हमेशा|कभी\ नहीं";

/// Matches a clause that binds later work, too.
static BINDING: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(&format!(
        r"(?ix) ^{BEFORE_FIRST_WORDS}({FIRST_WORDS}|{NO_THING}) | {WANTS} | {ANY_WORDS}"
    ))
});

static EXCEPTION: LazyLock<Regex> = LazyLock::new(|| compile_regex(&format!("(?ix) {NO_WISH}")));

/// Matches every line with such a clause, and few others: to divide a line into sentences takes
/// much longer.
static MAY_BIND: LazyLock<Regex> = LazyLock::new(|| {
    compile_regex(&format!(
        r"(?ix) (^|\W)({FIRST_WORDS}|{NO_THING}) | {WANTS} | {ANY_WORDS}"
    ))
});

/// Matches lines of code and of logs.
static CODE: LazyLock<Regex> =
    LazyLock::new(|| compile_regex(r"[{};=\\|<>$]|\w\(|:\d|^\w*[a-z][A-Z]\w*:"));

fn compile_regex(expression: &str) -> Regex {
    Regex::new(expression).expect("a constant")
}

/// The number of lines around code in which nothing is taken for a wish: the text of an error, or
/// of a report that was pasted.
const LINES_AROUND_CODE: usize = 2;

/// Returns the sentences of a message that remain binding, in quotation marks: those in prose with
/// a clause that [`BINDING`] matches, that are not questions, and that are neither a nod nor too
/// long to quote. A message that begins with a code span is about the code.
pub(super) fn binding_sentences(text: &str) -> Vec<String> {
    if text.trim_start().starts_with('`') {
        return Vec::new();
    }
    let start: String = text.chars().take(WHOLE_REQUEST).collect();
    let mut quotations = Vec::new();
    for line in prose_apart_from_code(&start) {
        if !MAY_BIND.is_match(line) {
            continue;
        }
        for sentence in line.unicode_sentences() {
            let sentence = strip_marks(sentence.trim());
            let is_quotable = (SHORT_REPLY..POINT).contains(&display_width(sentence));
            if is_quotable && !ends_in_question(sentence) && has_binding_clause(sentence) {
                quotations.push(quote_line(sentence, POINT));
            }
        }
    }
    quotations
}

/// Returns the lines of prose that no code is near: text beside code is most often pasted with it.
/// Items of a list are returned unless they are code themselves, because people write lists of what
/// they want, and errors and logs have none.
fn prose_apart_from_code(text: &str) -> Vec<&str> {
    let prose: Vec<&str> = prose_lines(text).collect();
    let mut is_code = Vec::new();
    for line in &prose {
        is_code.push(CODE.is_match(line));
    }

    let mut apart = Vec::new();
    for (index, &line) in prose.iter().enumerate() {
        let around = if starts_with_list_mark(line) {
            0
        } else {
            LINES_AROUND_CODE
        };
        let first = index.saturating_sub(around);
        let last = (index + around).min(prose.len() - 1);
        if !is_code[first..=last].contains(&true) {
            apart.push(line);
        }
    }
    apart
}

/// Whether a line is an item of a list: `- `, `* `, `+ `, or a number with a full stop or a
/// parenthesis.
fn starts_with_list_mark(line: &str) -> bool {
    static LIST_MARK: LazyLock<Regex> =
        LazyLock::new(|| compile_regex(r"^\s*([-*+]|\d{1,3}[.)])\s"));
    LIST_MARK.is_match(line)
}

fn has_binding_clause(sentence: &str) -> bool {
    for clause in sentence.split([',', ';', ':', '，', '；', '：', '、']) {
        let clause = clause.trim_start();
        if BINDING.is_match(clause) && !EXCEPTION.is_match(clause) {
            return true;
        }
    }
    false
}

/// The words with which a message answers a question.
const ANSWERS: &str = r"(?i)^\W*(yes|yep|yeah|no|nope|ok|okay|sure|go|do|please|both|neither|none|all|ja|nein|oui|non|s[ií]|não|да|нет|是|不|好|对|可以|はい|いいえ|네|아니|نعم|لا)([^\p{L}]|$)";

/// An answer of fewer columns needs no word in common with the question.
const SHORT_ANSWER: usize = 60;

/// A word of at least this many characters is one of content.
const CONTENT_WORD: usize = 5;

/// Whether a message answers the question before it, and is not simply what came next: it is short,
/// begins as an answer does, names an item of a list, or has a word of the question.
pub(super) fn is_answer(question: &str, message: &str) -> bool {
    static ANSWER: LazyLock<Regex> = LazyLock::new(|| compile_regex(ANSWERS));
    if ends_in_question(message) {
        return false;
    }
    if display_width(message) < SHORT_ANSWER || ANSWER.is_match(message) {
        return true;
    }
    let first_name = message
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    let can_name_item = (1..=LONGEST_ITEM_NAME).contains(&first_name.len());
    if can_name_item && find_item(question, first_name).is_some() {
        return true;
    }

    let asked = last_prose_line(question).to_lowercase();
    let words_asked: Vec<&str> = asked.unicode_words().collect();
    let said = message.to_lowercase();
    said.unicode_words()
        .any(|word| word.chars().count() >= CONTENT_WORD && words_asked.contains(&word))
}

/// Whether a message corrects what the assistant did or said.
pub(super) fn is_correction(message: &str) -> bool {
    static CORRECTION: LazyLock<Regex> = LazyLock::new(|| {
        compile_regex(
            r"(?i)^\W*(no,|nope,|nah,|actually,? |rather,? |instead,? |i meant |not that)",
        )
    });
    CORRECTION.is_match(message)
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
