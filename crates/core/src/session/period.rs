//! A period of time.

use super::entry::Entry;

/// A period, whose ends are in milliseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Period {
    /// The start, which is part of the period; `None` for a period without a start.
    pub from: Option<i64>,
    /// The end, which is not part of the period; `None` for a period without an end.
    pub to: Option<i64>,
}

impl Period {
    /// Whether `time` is in the period. An entry without a time ([`Entry::NO_TIME`]) is only in the
    /// unbounded period, because nobody knows on which side of a bound it is.
    pub fn contains(self, time: i64) -> bool {
        let is_known = time != Entry::NO_TIME || self == Period::default();
        is_known && self.overlaps(time, time)
    }

    /// Whether any moment from `first` to `last`, both included, is in the period.
    pub fn overlaps(self, first: i64, last: i64) -> bool {
        self.from.is_none_or(|from| last >= from) && self.to.is_none_or(|to| first < to)
    }
}
