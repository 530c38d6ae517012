//! Counts: numbers in a text, and what each of them counts.

use super::words::naming_words;

/// Words for units of measure. Two messages that count the same unit need not be about the same:
/// a session has a cache of 5 minutes and a lock of 10 minutes.
pub(super) const UNITS: [&str; 37] = [
    "seconds",
    "minutes",
    "hours",
    "weeks",
    "month",
    "months",
    "years",
    "times",
    "percent",
    "bytes",
    "pixels",
    "points",
    "sekunden",
    "minuten",
    "stunden",
    "tagen",
    "wochen",
    "monate",
    "monaten",
    "jahre",
    "prozent",
    "secondes",
    "heures",
    "jours",
    "semaines",
    "segundos",
    "minutos",
    "horas",
    "semanas",
    "pixel",
    "characters",
    "chars",
    "digits",
    "letters",
    "zeichen",
    "caractères",
    "caracteres",
];

/// Units that are too short for words of content.
const SHORT_UNITS: [&str; 27] = [
    "ms", "min", "days", "tage", "días", "kwh", "kb", "mb", "gb", "tb", "kib", "mib", "gib", "px",
    "mm", "cm", "km", "kg", "ml", "hz", "khz", "mhz", "eur", "euro", "usd", "rows", "mal",
];

/// Iterates over the words and numbers of a text, with the fraction of a number.
pub(super) fn words_and_numbers(text: &str) -> impl Iterator<Item = &str> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '.');
    parts
        .map(|part| part.trim_matches('.'))
        .filter(|part| !part.is_empty())
}

/// Whether two texts count the same thing or unit, and all numbers of it in the later text differ
/// from one in the earlier: "3 slots" and "4 slots". A number after a word may be a name instead:
/// "gauge 7".
pub(super) fn counts_otherwise(later: &str, earlier: &str) -> bool {
    let later_counts = find_counts(later);
    for (number, counted) in find_counts(earlier) {
        let mut same_counted = later_counts.clone();
        same_counted.retain(|(_, other_counted)| *other_counted == counted);
        let has_number = same_counted.contains(&(number, counted));
        if !same_counted.is_empty() && !has_number {
            return true;
        }
    }
    false
}

/// Returns each whole number in a text with what it counts, the noun or the unit after it: "3 pots,
/// every 20 min" has `("3", "pots")` and `("20", "min")`. The text is in lower case.
pub(super) fn find_counts(lower: &str) -> Vec<(&str, &str)> {
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut counts = Vec::new();
    for pair in words.windows(2) {
        let is_number = pair[0].bytes().all(|byte| byte.is_ascii_digit());
        let is_counted = naming_words(pair[1]).next().is_some() || SHORT_UNITS.contains(&pair[1]);
        if is_number && is_counted {
            counts.push((pair[0], pair[1]));
        }
    }
    counts
}

/// Whether two requests count the same things, and a number of these differs. A unit is no thing.
pub(super) fn counts_things_otherwise(later: &str, earlier: &str) -> bool {
    let later_things = find_counts_of_things(later);
    let mut earlier_things = find_counts_of_things(earlier).into_iter();
    earlier_things.any(|(number, thing)| {
        let mut same_things = later_things.iter().filter(|(_, other)| *other == thing);
        same_things.any(|(other_number, _)| *other_number != number)
    })
}

/// Returns the counts of [`find_counts`] that are not of a unit.
fn find_counts_of_things(lower: &str) -> Vec<(&str, &str)> {
    let mut counts = find_counts(lower);
    counts.retain(|(_, counted)| !UNITS.contains(counted) && !SHORT_UNITS.contains(counted));
    counts
}
