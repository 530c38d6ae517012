//! Repeats: which turns make the same request again, as those of a timer do.

use super::budget::{EARLIER_ENDS, REMINDER, SHORT_REPLY};
use super::endings::describe_ending;
use super::quote::is_narrower;
use super::turns::Turn;

impl Turn {
    /// Whether the other turn has the same request, by its first line without times and ids, and
    /// the same answer. Turns that a timer starts are alike as long as nothing happens.
    pub fn is_alike(&self, other: &Turn) -> bool {
        self.last_words() == other.last_words()
            && self.is_answered()
            && other.is_answered()
            && !is_narrower(&self.request, SHORT_REPLY)
            && self.request_key() == other.request_key()
    }

    /// Whether the other turn has the same request, and it is not only a nod.
    pub fn has_same_request(&self, other: &Turn) -> bool {
        self.request == other.request && !is_narrower(&self.request, SHORT_REPLY)
    }

    /// Whether the other turn begins with this one's request, which was not replied to: the user
    /// sent it again with more.
    pub fn is_start_of(&self, other: &Turn) -> bool {
        let is_open = self.is_passed_over() || !self.is_answered() && self.last_words().is_empty();
        is_open
            && !is_narrower(&self.request, SHORT_REPLY)
            && self.request.len() < other.request.len()
            && other.request.starts_with(self.request.trim_end())
    }

    /// Counts this turn as one more repetition of an earlier turn with the same request. Of the
    /// earlier one, only its end is kept, if it ended in another way: `(×3): answered: "Sent";
    /// before that interrupted by the user`.
    pub fn count_as_repeat_of(&mut self, earlier: Turn) {
        self.repeats += earlier.repeats + 1;

        let own_end = describe_ending(self, REMINDER);
        let end_of_earlier = describe_ending(&earlier, REMINDER);
        self.earlier_ends = earlier.earlier_ends;
        self.earlier_ends.push(end_of_earlier);
        self.earlier_ends.retain(|end| *end != own_end);
        // After `retain`, because an end that it removes may have separated two equal ones.
        self.earlier_ends.dedup();

        let excess = self.earlier_ends.len().saturating_sub(EARLIER_ENDS);
        self.earlier_ends.drain(..excess);
    }

    /// Returns the first line of the request without times, dates and ids in brackets, in which the
    /// requests of a timer differ: `[cron:5f0c] Check at 10:30` and `[cron:81ab] Check at 11:00`.
    /// Other words with digits are kept, because "row 3" and "row 4", or `utf8.md` and `base64.md`,
    /// are two requests.
    fn request_key(&self) -> String {
        let first_line = self.request.lines().next().unwrap_or_default();
        let words = first_line.split_whitespace();
        let kept_words: Vec<&str> = words.filter(|word| !is_time_or_id(word)).collect();
        kept_words.join(" ")
    }
}

/// Whether a word of a request is a time, a date, or the id that a timer puts in brackets, after
/// its kind: `[cron:5f0c]`.
fn is_time_or_id(word: &str) -> bool {
    if is_id_in_brackets(word) {
        return true;
    }
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    is_date(word) || is_time(word) || is_unix_time(word)
}

/// Whether a word is a date, or a timestamp, which has a time after the date:
/// `2026-03-02T10:30:00Z`.
fn is_date(word: &str) -> bool {
    let date = word.split('T').next().unwrap_or_default();
    DATE_FORMS.iter().any(|form| has_form(date, form))
}

/// Whether a word is a time of day. Letters may follow it, or a fraction of a second: `10:30am`,
/// `10:30:00.250Z`.
fn is_time(word: &str) -> bool {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let time = match digits.split_once('.') {
        Some((seconds, _fraction)) if seconds.contains(':') => seconds,
        _ => digits,
    };
    TIME_FORMS.iter().any(|form| has_form(time, form))
}

/// Whether a word is a time in seconds since 1970, or in milliseconds: it has at least as many
/// digits as one of our days.
fn is_unix_time(word: &str) -> bool {
    const DIGITS_OF_SECONDS: usize = 10;
    word.len() >= DIGITS_OF_SECONDS && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a word is `[cron:5f0c]`, or the start of `[cron:5f0c of the harbour]`: a kind, and an id
/// with a digit.
fn is_id_in_brackets(word: &str) -> bool {
    let Some((kind, id)) = word.strip_prefix('[').and_then(|rest| rest.split_once(':')) else {
        return false;
    };
    let id = id.trim_end_matches(']');
    let is_id = id.contains(|c: char| c.is_ascii_digit())
        && id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    is_id && !kind.is_empty() && kind.chars().all(char::is_alphanumeric)
}

/// The forms of a date. Each `0` is a digit.
const DATE_FORMS: [&str; 4] = ["0000-00-00", "00.00.0000", "00/00/0000", "0000/00/00"];

/// The forms of a time. Each `0` is a digit.
const TIME_FORMS: [&str; 4] = ["0:00", "00:00", "0:00:00", "00:00:00"];

/// Whether a text has the same length as a form, a digit for each of its zeros, and otherwise its
/// characters.
fn has_form(text: &str, form: &str) -> bool {
    let mut pairs = text.bytes().zip(form.bytes());
    let fits = pairs.all(|(byte, wanted)| match wanted {
        b'0' => byte.is_ascii_digit(),
        _ => byte == wanted,
    });
    text.len() == form.len() && fits
}
