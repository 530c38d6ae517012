//! Parses `--since` and `--until`, the period that a command reads, and other times.

use crate::cli::ids::Ids;
use crate::cli::output::{Clock, Failure, Ui};
use crate::cli::process::command_line::quote_word;
use crate::format::AGE_UNITS;
use crate::session::period::Period;
use pisess_json::time::{iso_string, parse_js_date};
use std::ops::Range;

/// The accepted forms of a time, for error messages.
const TIME_FORMS: &str = "give an age (30min, 12h, 7d, 2w, 6mo, 1y, 3 days ago), today, yesterday, \
    a weekday, a date (2026-10-31, 2026-10, 2026) or a time (2026-10-31T12:00, \
    2026-10-31T12:00:00Z)";

/// Examples of times, for completions.
pub const TIME_EXAMPLES: [&str; 6] = ["today", "yesterday", "monday", "24h", "7d", "4w"];

const DAY_MS: i64 = 86_400_000;
/// The weekdays. Day 4 after 1 January 1970 was a Monday.
const WEEKDAYS: [&str; 7] = [
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
];

/// The units of ages as words, in the order of [`AGE_UNITS`], which has their abbreviations and
/// lengths.
const UNIT_WORDS: [&str; 6] = ["year", "month", "week", "day", "hour", "minute"];

/// The period to read.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PeriodArgs {
    /// Skip what is older than TIME: 7d (7 days ago), yesterday,
    /// monday (the last one), 2026-10, 2026-10-31 or a time such as 2026-10-31T12:00
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Skip what is newer than TIME; if TIME is a day, month or year, it is
    /// included as a whole
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
}

impl PeriodArgs {
    /// Whether the period has a start or an end.
    pub fn is_given(&self) -> bool {
        self.since.is_some() || self.until.is_some()
    }

    /// Returns the options, each after a space, for a command in a hint.
    pub fn to_words(&self) -> String {
        let mut words = String::new();
        if let Some(since) = &self.since {
            words += &format!(" --since {}", quote_word(since.as_ref()));
        }
        if let Some(until) = &self.until {
            words += &format!(" --until {}", quote_word(until.as_ref()));
        }
        words
    }

    /// Returns the period from `--since` to `--until`. A missing option sets no limit.
    ///
    /// # Errors
    /// If one of the values is not a time, or if the period would end before it starts.
    pub fn parse_period(&self, ui: &Ui) -> Result<Period, Failure> {
        let since = match &self.since {
            Some(text) => Some(parse_time_option("--since", text, ui)?),
            None => None,
        };
        let until = match &self.until {
            Some(text) => Some(parse_time_option("--until", text, ui)?),
            None => None,
        };
        let period = Period {
            from: since.map(|since| since.start),
            to: until.map(|until| until.end),
        };
        if let Some(from) = period.from
            && let Some(to) = period.to
            && from >= to
        {
            let failure = Failure::usage_error("--since is later than --until");
            return Err(failure.with_hint("exchange the two times"));
        }
        Ok(period)
    }
}

/// Parses the value of an option as a time. Returns the period that it denotes, in milliseconds
/// since 1970.
pub fn parse_time_option(option: &str, text: &str, ui: &Ui) -> Result<Range<i64>, Failure> {
    let now_ms = Ids::new(ui)?.now_ms(ui);
    let clock = Clock::new(ui);
    match parse_period(text.trim(), now_ms, &clock) {
        Some(period) => Ok(period),
        None => {
            let what = format_args!("{option}: {text:?} is not a time");
            Err(Failure::usage_error(what).with_hint(TIME_FORMS))
        }
    }
}

/// Parses a time into the period that it denotes, in milliseconds since 1970. A day, a month or a
/// year is a whole period in local time. A time of day or an age is one millisecond. `None` if the
/// text is not a time.
fn parse_period(text: &str, now_ms: i64, clock: &Clock) -> Option<Range<i64>> {
    if let Some(age_ms) = parse_age_ms(text) {
        let time_ms = now_ms.saturating_sub(age_ms);
        return Some(time_ms..time_ms + 1);
    }

    if let Some(days) = parse_days(text, now_ms, clock) {
        let start_ms = clock.local_to_utc_ms(days.start * DAY_MS);
        let end_ms = clock.local_to_utc_ms(days.end * DAY_MS);
        return Some(start_ms..end_ms);
    }

    let time_ms = parse_time_ms(text, clock)?;
    Some(time_ms..time_ms + 1)
}

/// Returns the days that a text denotes, in days since 1970: a word such as `today`, or a date, a
/// month or a year.
fn parse_days(text: &str, now_ms: i64, clock: &Clock) -> Option<Range<i64>> {
    if let Some(today) = clock.local_day(now_ms)
        && let Some(day) = parse_day(text, today)
    {
        return Some(day..day + 1);
    }
    parse_dates(text)
}

/// Parses an age such as `7d`, or `7 days ago` and `7.days.ago` as in git. Returns its length in
/// milliseconds.
fn parse_age_ms(text: &str) -> Option<i64> {
    let digits_end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, after_digits) = text.split_at(digits_end);
    let count: u32 = digits.parse().ok()?;

    let unit = after_digits
        .strip_suffix("ago")
        .unwrap_or(after_digits)
        .trim_matches([' ', '.']);
    let unit_seconds = parse_unit_seconds(unit)?;
    Some(i64::from(count) * unit_seconds * 1000)
}

/// Returns the length of a unit in seconds. A unit is given by its abbreviation, its word, or the
/// plural of its word: `d`, `day` or `days`. `None` if there is no such unit.
fn parse_unit_seconds(unit: &str) -> Option<i64> {
    let singular = unit.strip_suffix('s').unwrap_or(unit);
    // Both tables have the same units in the same order.
    for ((abbreviation, seconds), word) in AGE_UNITS.into_iter().zip(UNIT_WORDS) {
        if unit == abbreviation || singular == word {
            return Some(seconds);
        }
    }
    None
}

/// Returns the day that a word denotes, in days since 1970. It is `today`, `yesterday` or a
/// weekday, which means the last one, possibly today.
fn parse_day(text: &str, today: i64) -> Option<i64> {
    let word = text.to_ascii_lowercase();
    match &*word {
        "today" => return Some(today),
        "yesterday" => return Some(today - 1),
        _ => {}
    }

    // Three letters distinguish all weekdays.
    const LEAST_LETTERS: usize = 3;
    // 1970-01-05, in days since 1970.
    const FIRST_MONDAY: i64 = 4;

    if word.len() < LEAST_LETTERS {
        return None;
    }
    let weekday = WEEKDAYS.iter().position(|day| day.starts_with(&*word))?;
    let first_such_day = FIRST_MONDAY + weekday as i64;
    // From 0 to 6, also if `today` is before the first such day.
    let days_ago = (today - first_such_day).rem_euclid(7);
    Some(today - days_ago)
}

/// Returns the days of a date, a month or a year (`2026-01-31`, `2026-01`, `2026`), in days since
/// 1970.
fn parse_dates(text: &str) -> Option<Range<i64>> {
    const YEAR_LEN: usize = "2026".len();
    const MONTH_LEN: usize = "2026-01".len();
    const DATE_LEN: usize = "2026-01-31".len();

    // The number of days in the longest year or month, or in a day. So many days after its start,
    // the next one has begun, and has not ended yet.
    let most_days = match text.len() {
        YEAR_LEN => 366,
        MONTH_LEN => 31,
        DATE_LEN => 1,
        _ => return None,
    };
    let is_date = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'-');
    if !is_date {
        return None;
    }
    let start = parse_date_day(text)?;
    let time_in_next = iso_string((start + most_days) * DAY_MS);
    // Truncated to the form of the text, such as `2026-02`.
    let next = time_in_next.get(..text.len())?;
    Some(start..parse_date_day(next)?)
}

/// Returns the first day of a date, a month or a year, in days since 1970.
fn parse_date_day(text: &str) -> Option<i64> {
    let time_ms = parse_js_date(text.as_bytes())?;
    Some(time_ms.div_euclid(DAY_MS))
}

/// Parses a date with a time of day, which is local unless it has a zone. Returns milliseconds
/// since 1970.
fn parse_time_ms(text: &str, clock: &Clock) -> Option<i64> {
    let time = parse_js_date(text.as_bytes())?;
    let has_zone = text.get(10..)?.contains(['Z', 'z', '+', '-']);
    Some(if has_zone {
        time
    } else {
        clock.local_to_utc_ms(time)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Wednesday, 2026-11-25 00:30 in the zone one hour ahead of UTC.
    const NOW: &str = "2026-11-24T23:30:00Z";

    fn shown(text: &str) -> Option<String> {
        let now = parse_js_date(NOW.as_bytes()).unwrap();
        let clock = Clock::in_zone("CET-1CEST,M3.5.0,M10.5.0/3");
        let found = parse_period(text, now, &clock)?;
        Some(format!(
            "{} {}",
            &iso_string(found.start)[..16],
            &iso_string(found.end)[..16]
        ))
    }

    #[test]
    fn each_form_is_a_period_of_local_time() {
        for (text, expected) in [
            ("30min", "2026-11-24T23:00 2026-11-24T23:00"),
            ("12h", "2026-11-24T11:30 2026-11-24T11:30"),
            ("2 w", "2026-11-10T23:30 2026-11-10T23:30"),
            ("3 days ago", "2026-11-21T23:30 2026-11-21T23:30"),
            ("2.weeks", "2026-11-10T23:30 2026-11-10T23:30"),
            ("today", "2026-11-24T23:00 2026-11-25T23:00"),
            ("Yesterday", "2026-11-23T23:00 2026-11-24T23:00"),
            ("wednesday", "2026-11-24T23:00 2026-11-25T23:00"),
            ("mon", "2026-11-22T23:00 2026-11-23T23:00"),
            ("thursday", "2026-11-18T23:00 2026-11-19T23:00"),
            ("2026-10-25", "2026-10-24T22:00 2026-10-25T23:00"),
            ("2026-02", "2026-01-31T23:00 2026-02-28T23:00"),
            ("2026-12", "2026-11-30T23:00 2026-12-31T23:00"),
            ("2024", "2023-12-31T23:00 2024-12-31T23:00"),
            ("2023", "2022-12-31T23:00 2023-12-31T23:00"),
            ("2026-07-01T12:00", "2026-07-01T10:00 2026-07-01T10:00"),
            ("2026-07-01 12:00:30", "2026-07-01T10:00 2026-07-01T10:00"),
            ("2026-07-01T12:00Z", "2026-07-01T12:00 2026-07-01T12:00"),
            (
                "2026-07-01T12:00:00-05:00",
                "2026-07-01T17:00 2026-07-01T17:00",
            ),
        ] {
            assert_eq!(shown(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in [
            "",
            "7",
            "d",
            "-1d",
            "7x",
            "99999999999d",
            "mo",
            "3 moons",
            "ago",
            "someday",
            "2026-13",
            "2026-1",
            "10-31",
            "12:00",
            "é",
        ] {
            assert_eq!(shown(text), None, "{text}");
        }
    }
}
