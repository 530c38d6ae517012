//! Parses `--since`: a time, or how long ago.

use super::ids::Ids;
use crate::core::time::parse_js_date;
use crate::ui::{Clock, Failure, Ui};

const HOUR_MS: i64 = 3_600_000;

/// Returns the time given by `--since`, in milliseconds since 1970: `12h`, `7d` and `2w` ago, the start of a
/// local day or month, or an RFC 3339 time.
pub fn since_ms(text: &str, ui: &Ui) -> Result<i64, Failure> {
    let units = [('h', HOUR_MS), ('d', 24 * HOUR_MS), ('w', 7 * 24 * HOUR_MS)];
    for (unit, length) in units {
        if let Some(count) = text.strip_suffix(unit).and_then(|count| count.parse::<u32>().ok()) {
            let now = Ids::new(ui)?.now_ms(ui);
            return Ok(now.saturating_sub(i64::from(count).saturating_mul(length)));
        }
    }
    let is_date = matches!(text.len(), 7 | 10) && text.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    let time = parse_js_date(text.as_bytes()).filter(|_| is_date || text.len() > 10);
    match time {
        Some(utc) if is_date => Ok(Clock::new(ui).day_start(utc.div_euclid(24 * HOUR_MS))),
        Some(time) => Ok(time),
        None => Err(Failure::usage(format_args!("--since: {text:?} is not a time"))
            .hint("give 12h, 7d or 2w, a date as 2026-11-01, or a time as 2026-11-01T12:00:00Z")),
    }
}
