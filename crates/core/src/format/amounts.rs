//! Formats numbers of tokens and bytes, prices, counts and ids.

use crate::session::usage::built_in_prices_date;
use pisess_json::js;

/// Formats a number of tokens for people: `950`, `12.3k`, `123k`, `4.5M`. Units are decimal. A
/// value that rounds to less than 100 `k` or `M` has one decimal place.
pub fn format_tokens(count: f64) -> String {
    // From 999.5 on, rounding would give `1000`.
    if count < 999.5 {
        return format!("{count:.0}");
    }
    // From 999,500 on, rounding would give `1000k`.
    let (count_per_unit, unit) = if count < 999_500.0 {
        (1e3, "k")
    } else {
        (1e6, "M")
    };
    let value = count / count_per_unit;
    // From 99.95 on, one decimal place would give `100.0`.
    let decimals = if value < 99.95 { 1 } else { 0 };
    format!("{value:.decimals$}{unit}")
}

/// Formats an estimated number of tokens: `~12.3k`.
pub fn format_estimate(tokens: f64) -> String {
    format!("~{}", format_tokens(tokens))
}

/// Formats a price in dollars and cents: `$12.40`. A price between 0 and a cent is `<$0.01`.
pub fn format_dollars(cost: f64) -> String {
    if cost > 0.0 && cost < 0.01 {
        return "<$0.01".to_owned();
    }
    format!("${cost:.2}")
}

/// Formats a cost as [`format_dollars`] does, with the prefix `~` if it is estimated: `~$12.40`.
pub fn format_cost(cost: f64, is_estimated: bool) -> String {
    let dollars = format_dollars(cost);
    if is_estimated {
        format!("~{dollars}")
    } else {
        dollars
    }
}

/// Formats a cost as [`format_cost`] does. An estimate is followed by the date of the prices:
/// `~$12.40, prices of 2026-11-29`.
pub fn format_dated_cost(cost: f64, is_estimated: bool) -> String {
    let text = format_cost(cost, is_estimated);
    if is_estimated {
        format!("{text}, prices of {}", built_in_prices_date())
    } else {
        text
    }
}

/// Formats the cost of one request as [`format_dated_cost`] does, but with four decimal places if
/// it is less than ten cents, as most are: `$0.0083`.
pub fn format_request_cost(cost: f64, is_estimated: bool) -> String {
    let is_small = cost > 0.0 && cost < 0.1;
    if !is_small {
        return format_dated_cost(cost, is_estimated);
    }
    let dollars = format_small_dollars(cost);
    if is_estimated {
        format!("~{dollars}, prices of {}", built_in_prices_date())
    } else {
        dollars
    }
}

/// Formats a price with four decimal places, so that small prices can be compared: `$0.0594`.
pub fn format_small_dollars(cost: f64) -> String {
    if cost > 0.0 && cost < 0.0001 {
        return "<$0.0001".to_owned();
    }
    format!("${cost:.4}")
}

/// Formats a number with its noun, such as `1 entry` or `3 entries`.
pub fn format_count(count: usize, one: &str, many: &str) -> String {
    let noun = if count == 1 { one } else { many };
    format!("{count} {noun}")
}

/// Formats a number, rounded to a whole one, with its digits in groups of three.
pub fn group_digits(number: f64) -> String {
    js::group_digits(number.round())
}

/// Formats a number of bytes for people and models: `999 B`, `1.0 kB`, `12 MB`. Units are decimal.
/// A value below 10 `kB` or `MB` has one decimal place.
pub fn format_bytes(bytes: usize) -> String {
    if bytes < 1_000 {
        return format!("{bytes} B");
    }
    // From 999,500 on, rounding would give `1000 kB`.
    let (bytes_per_unit, unit) = if bytes < 999_500 {
        (1e3, "kB")
    } else {
        (1e6, "MB")
    };
    let value = bytes as f64 / bytes_per_unit;
    // From 9.95 on, one decimal place would give `10.0`.
    let decimals = if value < 9.95 { 1 } else { 0 };
    format!("{value:.decimals$} {unit}")
}

/// The number of characters in the shown suffix of a session id.
pub const ID_SUFFIX_LEN: usize = 8;

/// Returns the last `length` characters of a session id. Ids begin with a time, so only their ends
/// distinguish sessions of about the same time. An id that is not longer is returned as a whole.
pub fn id_suffix(id: &str, length: usize) -> &str {
    debug_assert!(length > 0, "an empty suffix distinguishes nothing");
    // Counted from the end, the first character of the suffix is preceded by the others.
    match id.char_indices().rev().nth(length - 1) {
        Some((start, _)) => &id[start..],
        None => id,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short() {
        let counts = [
            0.0,
            999.0,
            999.6,
            1_000.0,
            12_345.0,
            123_456.0,
            99_949.0,
            99_950.0,
            999_499.0,
            999_500.0,
            4_500_000.0,
            99_960_000.0,
        ];
        assert_eq!(
            counts.map(format_tokens),
            [
                "0", "999", "1.0k", "1.0k", "12.3k", "123k", "99.9k", "100k", "999k", "1.0M",
                "4.5M", "100M"
            ]
        );
        assert_eq!(
            [0.0, 0.00001, 0.0099, 0.01, 0.01234, 0.125, 0.997, 12.3456].map(format_dollars),
            [
                "$0.00", "<$0.01", "<$0.01", "$0.01", "$0.01", "$0.12", "$1.00", "$12.35"
            ]
        );
    }

    #[test]
    fn sizes_are_short() {
        let sizes = [0, 999, 1_000, 9_949, 9_950, 999_499, 999_500, 12_345_678];
        assert_eq!(
            sizes.map(format_bytes),
            [
                "0 B", "999 B", "1.0 kB", "9.9 kB", "10 kB", "999 kB", "1.0 MB", "12 MB"
            ]
        );
    }

    #[test]
    fn numbers_are_grouped() {
        assert_eq!(
            [0.0, 999.0, 1000.4, 1234567.0, -1000.0].map(group_digits),
            ["0", "999", "1,000", "1,234,567", "-1,000"]
        );
    }

    #[test]
    fn ids_end_where_they_should() {
        assert_eq!(id_suffix("0199-abcdefgh", 8), "abcdefgh");
        assert_eq!(
            (id_suffix("abc", 8), id_suffix("", 8), id_suffix("éé", 1)),
            ("abc", "", "é")
        );
    }
}
