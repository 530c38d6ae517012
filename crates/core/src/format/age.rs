//! Formats how long ago something was.

use crate::session::entry::Entry;

/// The units of ages, in seconds, the largest first. A year has 365.25 days, a month is a twelfth
/// of it.
pub const AGE_UNITS: [(&str, i64); 6] = [
    ("y", 31_557_600),
    ("mo", 2_629_800),
    ("w", 604_800),
    ("d", 86_400),
    ("h", 3_600),
    ("min", 60),
];

/// Returns how long ago a time was, in the largest unit that yields at least 1: `now`, `5min`,
/// `12h`, `8mo`. Both are in milliseconds; without a time, returns `?`.
pub fn format_age(now: i64, time: i64) -> String {
    if time == Entry::NO_TIME {
        return "?".to_owned();
    }
    let seconds = now.saturating_sub(time).max(0) / 1000;
    for (unit, length) in AGE_UNITS {
        if seconds >= length {
            return format!("{}{unit}", seconds / length);
        }
    }
    "now".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_one_unit() {
        let shown = |seconds: i64| format_age(seconds * 1000, 0);
        let ages = [
            -5,
            0,
            59,
            60,
            3_599,
            3_600,
            86_400,
            604_799,
            604_800,
            2_629_800,
            400 * 86_400,
        ];
        assert_eq!(
            ages.map(shown),
            [
                "now", "now", "now", "1min", "59min", "1h", "1d", "6d", "1w", "1mo", "1y"
            ]
        );
        assert_eq!(format_age(0, Entry::NO_TIME), "?");
    }
}
