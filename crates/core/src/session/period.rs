//! A period of time.

use super::entry::Entry;

/// A period, whose ends are in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    /// Its first moment.
    pub from: Option<i64>,
    /// The first moment after it.
    pub to: Option<i64>,
}

impl Period {
    /// Whether it contains a time. A time that is not known is only in the period without ends.
    pub fn contains(self, time: i64) -> bool {
        let is_known = time != Entry::NO_TIME || self == Period::default();
        is_known && self.overlaps(time, time)
    }

    /// Whether it contains a time between two others, or one of these.
    pub fn overlaps(self, first: i64, last: i64) -> bool {
        self.from.is_none_or(|from| last >= from) && self.to.is_none_or(|to| first < to)
    }
}
