//! Formats tokens, prices and counts for people.

/// Returns a number of tokens: `950`, `12.3k`, `4.5M`.
pub fn tokens(count: f64) -> String {
    let scaled = |value: f64, unit: &str| match value < 100.0 {
        true => format!("{value:.1}{unit}"),
        false => format!("{value:.0}{unit}"),
    };
    match count {
        // The limits are where rounding would reach the next unit: `1.0k`, not `1000`.
        count if count < 999.5 => format!("{count:.0}"),
        count if count < 999_500.0 => scaled(count / 1e3, "k"),
        count => scaled(count / 1e6, "M"),
    }
}

/// Returns a price in dollars; small prices have more digits.
pub fn dollars(cost: f64) -> String {
    if cost > 0.0 && cost < 0.1 { format!("${cost:.4}") } else { format!("${cost:.2}") }
}

/// Returns a number and the noun for what it counts.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_short() {
        let counts = [0.0, 999.0, 999.6, 1_000.0, 12_345.0, 123_456.0, 999_499.0, 999_500.0, 4_500_000.0];
        assert_eq!(counts.map(tokens), ["0", "999", "1.0k", "1.0k", "12.3k", "123k", "999k", "1.0M", "4.5M"]);
        assert_eq!([0.0, 0.0123, 0.1, 12.345].map(dollars), ["$0.00", "$0.0123", "$0.10", "$12.35"]);
    }
}
