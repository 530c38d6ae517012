//! Formats ages: how long ago something was.

use crate::session::entry::Entry;

/// The units of ages with their lengths in seconds, the largest first. A year has 365.25 days, and
/// a month is a twelfth of a year.
pub const AGE_UNITS: [(&str, i64); 6] = [
    ("y", 31_557_600),
    ("mo", 2_629_800),
    ("w", 604_800),
    ("d", 86_400),
    ("h", 3_600),
    ("min", 60),
];

/// Formats the age of a time in the largest unit that it reaches, rounded down: `5min`, `12h`,
/// `8mo`. An age of less than a minute, and a time in the future, are `now`. [`Entry::NO_TIME`] is
/// `?`.
///
/// Both times are in milliseconds since 1970.
pub fn format_age(now_ms: i64, time_ms: i64) -> String {
    if time_ms == Entry::NO_TIME {
        return "?".to_owned();
    }
    let seconds = now_ms.saturating_sub(time_ms).max(0) / 1000;
    for (unit, seconds_per_unit) in AGE_UNITS {
        if seconds >= seconds_per_unit {
            return format!("{}{unit}", seconds / seconds_per_unit);
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
