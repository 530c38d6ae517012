//! Times as JavaScript reads and writes them.
//!
//! A time is a number of milliseconds since 1970 in UTC, from -[`LIMIT_MS`] to [`LIMIT_MS`]. Only
//! the ISO forms of `Date.parse` are read, also with a space in place of the `T`. Other forms that
//! engines accept (`Nov 21 2026`, `2026-1-1`) are not times here.
//!
//! A date and time without a zone is local time in JavaScript. Here it is UTC, so that every
//! machine gives the same result.

use super::Raw;

/// The largest distance from 1970 that a JavaScript date can have, in milliseconds.
pub const LIMIT_MS: i64 = 8_640_000_000_000_000;

const SECOND_MS: i64 = 1000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Returns `Date.parse(text)` in milliseconds since 1970; `None` if it is `NaN`. Every month may
/// have 31 days, as in V8: 31 February is 3 March.
pub fn parse_js_date(text: &[u8]) -> Option<i64> {
    let mut reader = TimeReader { unread: text };
    let year = reader.read_year()?;
    let mut month = 1;
    let mut day = 1;
    if reader.skip_one_of(b"-") {
        month = reader.read_digits(2)?;
        if reader.skip_one_of(b"-") {
            day = reader.read_digits(2)?;
        }
    }
    let date_ms = days_since_epoch(year, month, day)? * DAY_MS;

    let has_clock = reader.skip_one_of(b"Tt ");
    let clock_ms = if has_clock { reader.read_clock()? } else { 0 };
    let offset_ms = reader.read_zone_offset(has_clock)?;
    if !reader.unread.is_empty() {
        return None;
    }

    // A clock that is ahead of UTC shows a later time.
    let ms = date_ms + clock_ms - offset_ms;
    if ms.abs() > LIMIT_MS {
        return None;
    }
    Some(ms)
}

/// Returns `new Date(value).getTime()` for a value of a session; `None` if it is `NaN`.
pub fn date_from_value(value: Option<Raw>) -> Option<i64> {
    let value = value?;
    if let Some(number) = value.number() {
        if number.abs() <= LIMIT_MS as f64 {
            return Some(number as i64);
        }
        return None;
    }
    if let Some(text) = value.text() {
        return parse_js_date(text.as_bytes());
    }
    // JavaScript converts `true` to 1, `false` and `null` to 0.
    if let Some(truth) = value.bool() {
        return Some(i64::from(truth));
    }
    if value.is_null() { Some(0) } else { None }
}

/// Returns `new Date(ms).toISOString()`: `2026-11-21T20:13:49.271Z`. A year outside 0 to 9999 has a
/// sign and six digits. Times beyond [`LIMIT_MS`], for which JavaScript throws, are formatted as
/// well.
pub fn iso_string(ms: i64) -> String {
    let Date { year, month, day } = date_from_days(ms.div_euclid(DAY_MS));
    let ms_of_day = ms.rem_euclid(DAY_MS);
    let mut out = String::with_capacity("-000000-00-00T00:00:00.000Z".len());
    if (0..=9999).contains(&year) {
        push_digits(&mut out, year, 4);
    } else {
        out.push(if year < 0 { '-' } else { '+' });
        push_digits(&mut out, year.abs(), 6);
    }
    out.push('-');
    push_digits(&mut out, month, 2);
    out.push('-');
    push_digits(&mut out, day, 2);
    out.push('T');
    push_digits(&mut out, ms_of_day / HOUR_MS, 2);
    out.push(':');
    push_digits(&mut out, ms_of_day % HOUR_MS / MINUTE_MS, 2);
    out.push(':');
    push_digits(&mut out, ms_of_day % MINUTE_MS / SECOND_MS, 2);
    out.push('.');
    push_digits(&mut out, ms_of_day % SECOND_MS, 3);
    out.push('Z');
    out
}

/// Appends the last `count` digits of a number, with leading zeros. `format!` takes several times
/// as long, and an import writes a time for each entry.
fn push_digits(out: &mut String, number: i64, count: u32) {
    for power in (0..count).rev() {
        let digit = number / 10_i64.pow(power) % 10;
        out.push(char::from(b'0' + digit as u8));
    }
}

/// Reads the parts of a time, one after the other. Each function returns `None` if the text has
/// another form there, or a number that is out of range.
struct TimeReader<'t> {
    unread: &'t [u8],
}

impl TimeReader<'_> {
    /// Skips the next byte if it is one of `bytes`. Returns whether it was skipped.
    fn skip_one_of(&mut self, bytes: &[u8]) -> bool {
        match self.unread.split_first() {
            Some((next, after)) if bytes.contains(next) => {
                self.unread = after;
                true
            }
            _ => false,
        }
    }

    /// Reads exactly `count` digits.
    fn read_digits(&mut self, count: usize) -> Option<i64> {
        parse_digits(self.unread.split_off(..count)?)
    }

    /// Reads four digits, or a sign and six. The year -000000 is invalid in JavaScript.
    fn read_year(&mut self) -> Option<i64> {
        if self.skip_one_of(b"-") {
            let year = self.read_digits(6)?;
            return if year == 0 { None } else { Some(-year) };
        }
        let count = if self.skip_one_of(b"+") { 6 } else { 4 };
        self.read_digits(count)
    }

    /// Reads `HH:MM`, `HH:MM:SS` or `HH:MM:SS.m…`, and returns it in milliseconds. The latest time
    /// is `24:00`.
    fn read_clock(&mut self) -> Option<i64> {
        let hour = self.read_digits(2)?;
        if !self.skip_one_of(b":") {
            return None;
        }
        let minute = self.read_digits(2)?;
        let mut second = 0;
        let mut fraction_ms = 0;
        if self.skip_one_of(b":") {
            second = self.read_digits(2)?;
            if self.skip_one_of(b".") {
                fraction_ms = self.read_fraction()?;
            }
        }
        let ms = hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS + fraction_ms;
        if minute >= 60 || second >= 60 || ms > DAY_MS {
            return None;
        }
        Some(ms)
    }

    /// Reads one or more digits of a fraction of a second, and returns whole milliseconds.
    fn read_fraction(&mut self) -> Option<i64> {
        let other = self.unread.iter().position(|byte| !byte.is_ascii_digit());
        let digit_count = other.unwrap_or(self.unread.len());
        let digits = self.unread.split_off(..digit_count)?;
        match digits {
            [] => None,
            [_] => Some(parse_digits(digits)? * 100),
            [_, _] => Some(parse_digits(digits)? * 10),
            // Digits after the third are ignored.
            [a, b, c, ..] => parse_digits(&[*a, *b, *c]),
        }
    }

    /// Reads a zone, such as `Z` or `+01:00`, and returns its offset from UTC in milliseconds.
    /// Without a zone, this is 0. A date without a clock may have no other zone than `Z`.
    fn read_zone_offset(&mut self, has_clock: bool) -> Option<i64> {
        if self.skip_one_of(b"Zz") || !has_clock || self.unread.is_empty() {
            return Some(0);
        }
        let sign = if self.skip_one_of(b"-") {
            -1
        } else if self.skip_one_of(b"+") {
            1
        } else {
            return None;
        };
        let hour = self.read_digits(2)?;
        // The colon may be missing, as in `+0100`.
        self.skip_one_of(b":");
        let minute = self.read_digits(2)?;
        if hour >= 24 || minute >= 60 {
            return None;
        }
        Some(sign * (hour * HOUR_MS + minute * MINUTE_MS))
    }
}

/// Returns the number with these digits; `None` if one of the bytes is not a digit.
fn parse_digits(digits: &[u8]) -> Option<i64> {
    let mut number = 0;
    for &byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        number = number * 10 + i64::from(byte - b'0');
    }
    Some(number)
}

/// The days of 400 years.
const DAYS_PER_ERA: i64 = 146_097;

/// The days of 100 years at whose end there is no leap day.
const DAYS_PER_100_YEARS: i64 = 36_524;

/// The last day of 4 years, counted from 0.
const LEAP_DAY_OF_4_YEARS: i64 = 1460;

/// The days from March 1 of the year 0 to 1970-01-01.
const EPOCH_FROM_MARCH_0: i64 = 719_468;

/// Returns the days from 1970-01-01 to a date of the proleptic Gregorian calendar. `None` if the
/// month or the day is out of range.
///
/// The algorithm is Howard Hinnant's `days_from_civil`. A year starts in March, so that the leap
/// day is its last day. An era has 400 years, after which the calendar repeats.
fn days_since_epoch(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // January and February belong to the year before.
    let march_year = if month < 3 { year - 1 } else { year };
    let era = march_year.div_euclid(400);
    let year_of_era = march_year.rem_euclid(400);
    // March is 0. Each five months from March on have 153 days. The rounding gives each month its
    // 30 or 31 days.
    let march_month = (month + 9) % 12;
    let day_of_year = (153 * march_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * DAYS_PER_ERA + day_of_era - EPOCH_FROM_MARCH_0)
}

/// A date of the proleptic Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Date {
    /// The year. The year 0 is the one before the year 1.
    pub year: i64,
    /// The month, from 1 to 12.
    pub month: i64,
    /// The day of the month, from 1 to 31.
    pub day: i64,
}

/// Returns the date for a number of days since 1970-01-01. This is the inverse of
/// `days_since_epoch`.
///
/// The algorithm is Howard Hinnant's `civil_from_days`. Its years start in March, so that the leap
/// day is the last day of a year.
pub fn date_from_days(days: i64) -> Date {
    let from_march_0 = days + EPOCH_FROM_MARCH_0;
    let era = from_march_0.div_euclid(DAYS_PER_ERA);
    let day_of_era = from_march_0.rem_euclid(DAYS_PER_ERA);

    // Without the leap days, every year has 365 days. There is one at the end of each 4 years,
    // except at the end of each 100 years, but again one at the end of the era. It may be counted
    // some days too early, at the end of the same year, which does not change the quotient.
    let each_4_years = day_of_era / LEAP_DAY_OF_4_YEARS;
    let each_100_years = day_of_era / DAYS_PER_100_YEARS;
    let end_of_era = day_of_era / (DAYS_PER_ERA - 1);
    let leap_days = each_4_years - each_100_years + end_of_era;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);

    // As in `days_since_epoch`, each five months from March on have 153 days. March is 0.
    let march_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = (march_month + 2) % 12 + 1;
    // January and February end the year that starts in March.
    let march_year = era * 400 + year_of_era;
    let year = if month < 3 {
        march_year + 1
    } else {
        march_year
    };
    Date { year, month, day }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<String> {
        parse_js_date(text.as_bytes()).map(iso_string)
    }

    #[test]
    fn the_forms_of_date_parse() {
        for (text, time) in [
            ("2026-11-21T20:13:49.271Z", "2026-11-21T20:13:49.271Z"),
            ("2026-11-21T10:00:00Z", "2026-11-21T10:00:00.000Z"),
            ("2026-11-21t10:00z", "2026-11-21T10:00:00.000Z"),
            (
                "2026-11-21T10:00:00.123456+01:00",
                "2026-11-21T09:00:00.123Z",
            ),
            ("2026-11-21 10:00:00.1-0130", "2026-11-21T11:30:00.100Z"),
            ("2026-11-21T10:00:00", "2026-11-21T10:00:00.000Z"),
            ("2026", "2026-01-01T00:00:00.000Z"),
            ("2026-11", "2026-11-01T00:00:00.000Z"),
            ("2026-02-31", "2026-03-03T00:00:00.000Z"),
            ("2026-11-21T24:00:00.000Z", "2026-11-22T00:00:00.000Z"),
            ("0000-01-01", "0000-01-01T00:00:00.000Z"),
            ("-000001-11-21T10:00:00Z", "-000001-11-21T10:00:00.000Z"),
            ("+275760-09-13", "+275760-09-13T00:00:00.000Z"),
        ] {
            assert_eq!(read(text).as_deref(), Some(time), "{text}");
        }
    }

    #[test]
    fn time_read_refuses_invalid_dates() {
        for text in [
            "",
            "x",
            "2026-",
            "2026-13-01",
            "2026-00-01",
            "2026-11-32",
            "2026-11-21T",
            "2026-11-21T10Z",
            "2026-11-21T24:00:01Z",
            "2026-11-21T24:00:00.001Z",
            "2026-11-21T10:60:00.000Z",
            "2026-11-21T10:00:60Z",
            "2026-11-21T10:00:00.Z",
            "2026-11-21T10:00:00+24:00",
            "2026-11-21T10:00:00ZZ",
            "-000000-01-01",
            "+275760-09-13T00:00:00.001Z",
            "2026-11-21+01:00",
            "2026-11-21T1x:00:00.000Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn any_value_as_new_date_takes_it() {
        let date = |json: &'static str| date_from_value(Some(Raw::from_checked(json.as_bytes())));
        assert_eq!(date("1.9"), Some(1));
        assert_eq!(date("9e15"), None);
        assert_eq!(date("null"), Some(0));
        assert_eq!(date("true"), Some(1));
        assert_eq!(date("\"1970-01-02\""), Some(DAY_MS));
        assert_eq!(date("{}"), None);
        assert_eq!(date_from_value(None), None);
    }

    #[test]
    fn every_day_comes_back() {
        for day in (-LIMIT_MS / DAY_MS..=LIMIT_MS / DAY_MS)
            .step_by(9973)
            .chain(-800_000..-600_000)
        {
            let date = date_from_days(day);
            assert_eq!(days_since_epoch(date.year, date.month, date.day), Some(day));
            assert_eq!(
                read(&iso_string(day * DAY_MS)),
                Some(iso_string(day * DAY_MS))
            );
        }
    }
}
