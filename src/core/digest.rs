//! What a list of sessions shows of one: counts, sums and the start of the first question.
//!
//! Nothing here grows with the entries, unless the keys of copied entries are asked for. The pass over
//! the file takes it in ([`crate::core::load`]).

use super::entry::EntryIx;
use super::json::Raw;
use super::text::Text;

/// UTF-16 units of the first question that are kept.
pub const PREVIEW: usize = 200;

/// What is asked of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digesting {
    /// Counts and sums.
    Sums,
    /// Also what identifies each entry, to know it again in a fork.
    Entries,
}

/// Tokens and cost, as providers counted them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Tokens that were read for the first time.
    pub input: f64,
    /// Tokens that were written, reasoning included.
    pub output: f64,
    /// Tokens that came from a cache.
    pub cache_read: f64,
    /// Tokens that went into a cache.
    pub cache_write: f64,
    /// The cost in dollars.
    pub cost: f64,
    /// Answers without a cost.
    pub unpriced: u32,
}

impl Usage {
    /// The tokens of all four sorts.
    pub fn total(&self) -> f64 {
        self.input + self.output + self.cache_read + self.cache_write
    }

    /// Adds another.
    pub fn add(&mut self, other: &Usage) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cost += other.cost;
        self.unpriced += other.unpriced;
    }

    /// Reads a `usage`; what is no number counts as nothing.
    pub fn of(usage: Raw) -> Usage {
        let mut sum = Usage::default();
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
    /// Its text, up to [`PREVIEW`] units.
    pub text: Text<'static>,
    /// Whether that is all of it.
    pub is_whole: bool,
}

/// What tells an entry from all others, and what it adds.
#[derive(Clone, Copy, Debug)]
pub struct EntryKey {
    /// A hash of its id and its time: copies in forks have the same.
    pub key: u128,
    /// Whether it is a message.
    pub is_message: bool,
    /// What it was billed.
    pub usage: Usage,
}

impl EntryKey {
    /// That of an entry without an id.
    pub const NONE: u128 = 0;
}

/// The sums of a session.
#[derive(Debug, Default)]
pub struct Digest {
    /// Entries that are messages.
    pub messages: u32,
    /// The newest time of a user or assistant message, in milliseconds since 1970.
    pub activity: Option<f64>,
    /// The first user message with text.
    pub question: Option<Question>,
    /// The name in the last `session_info`: `Some(None)` where that takes it away.
    pub name: Option<Option<Text<'static>>>,
    /// The models that answered, in the order of their first answers, as `provider/model`.
    pub models: Vec<Text<'static>>,
    /// What all entries were billed, those of abandoned branches too.
    pub usage: Usage,
    /// Each entry, where [`Digesting::Entries`] was asked for.
    pub entries: Vec<EntryKey>,
}
