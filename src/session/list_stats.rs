//! The data of a session that a list of sessions shows: counts, sums and the start of the first question.
//!
//! The size of a digest does not depend on the number of entries, unless their keys are requested. It is
//! collected while the file is loaded ([`crate::load`]).

use super::entry::EntryIx;
use pisess_json::Raw;
use pisess_json::text::Text;

/// The maximum length of the first question's kept text, in UTF-16 units.
pub const PREVIEW: usize = 200;

/// What a digest contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digesting {
    /// Counts and sums.
    Sums,
    /// Also the key of each entry, to recognize its copies in forks.
    Entries,
}

/// Tokens and cost, as providers counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UsageSums {
    /// Input tokens neither read from a cache nor written to one.
    pub input: f64,
    /// Tokens written, including reasoning.
    pub output: f64,
    /// Tokens read from a cache.
    pub cache_read: f64,
    /// Tokens written to a cache.
    pub cache_write: f64,
    /// The cost in dollars.
    pub cost: f64,
    /// Responses without a cost.
    pub unpriced: u32,
}

impl UsageSums {
    /// Returns the sum of all four kinds of tokens.
    pub fn total(&self) -> f64 {
        self.input + self.output + self.cache_read + self.cache_write
    }

    /// Adds the sums of `other`.
    pub fn add(&mut self, other: &UsageSums) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cost += other.cost;
        self.unpriced += other.unpriced;
    }

    /// Reads a `usage`; values that are not numbers count as zero.
    pub fn of(usage: Raw) -> UsageSums {
        let mut sum = UsageSums::default();
        let mut is_priced = false;
        let number = |value: Raw| value.number().filter(|number| number.is_finite()).unwrap_or(0.0);
        for (key, value) in usage.members() {
            match key.bytes {
                b"input" => sum.input = number(value),
                b"output" => sum.output = number(value),
                b"cacheRead" => sum.cache_read = number(value),
                b"cacheWrite" => sum.cache_write = number(value),
                b"cost" => {
                    let total = value.get("total").filter(|total| total.is_number());
                    is_priced = total.is_some();
                    sum.cost = total.map_or(0.0, number);
                }
                _ => {}
            }
        }
        sum.unpriced = u32::from(!is_priced && sum.total() > 0.0);
        sum
    }
}

/// The first question of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its entry.
    pub entry: EntryIx,
    /// Its text, truncated to [`PREVIEW`] units.
    pub text: Text<'static>,
    /// Whether the text is complete.
    pub is_whole: bool,
}

/// The words that stand for a session without a name, the better ones last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The first message of any kind.
    Other(Text<'static>),
    /// A user message that is only the name of a command, as `/mode`.
    Command(Text<'static>),
    /// The first user message that says something.
    Words(Text<'static>),
}

impl Opening {
    /// Returns the words, at most [`PREVIEW`] units.
    pub fn text(&self) -> &Text<'static> {
        let (Opening::Other(text) | Opening::Command(text) | Opening::Words(text)) = self;
        text
    }

    /// Whether it says more about a session than another, which comes before it.
    pub fn is_better_than(&self, other: Option<&Opening>) -> bool {
        let rank = |opening: &Opening| match opening {
            Opening::Other(_) => 1,
            Opening::Command(_) => 2,
            Opening::Words(_) => 3,
        };
        rank(self) > other.map_or(0, rank)
    }
}

/// The identity of an entry, and its contribution to the sums.
#[derive(Clone, Copy, Debug)]
pub struct EntryKey {
    /// A hash of its id and its timestamp, which are the same in copies made by forks.
    pub key: u128,
    /// Whether it is a message.
    pub is_message: bool,
    /// Its usage.
    pub usage: UsageSums,
}

impl EntryKey {
    /// The key of an entry without an id.
    pub const NONE: u128 = 0;
}

/// The sums of a session.
#[derive(Debug, Default)]
pub struct Digest {
    /// Entries that are messages.
    pub messages: u32,
    /// The newest time of a user or assistant message, in milliseconds since 1970.
    pub activity: Option<f64>,
    /// The first user message that has text.
    pub question: Option<Question>,
    /// The words that stand for the session if it has no name.
    pub opening: Option<Opening>,
    /// The name in the last `session_info`; `Some(None)` if that clears it.
    pub name: Option<Option<Text<'static>>>,
    /// The models that responded, in order of first use, as `provider/model`.
    pub models: Vec<Text<'static>>,
    /// The usage of all entries, including those of abandoned branches.
    pub usage: UsageSums,
    /// Each entry, if [`Digesting::Entries`] was requested.
    pub entries: Vec<EntryKey>,
}
