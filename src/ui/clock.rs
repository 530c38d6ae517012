//! Times for people: date and minute in the zone of their machine.

use super::Ui;
use crate::core::time::civil;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::cell::{Cell, OnceCell};
use std::path::{Path, PathBuf};

/// The machine's time zone, looked up with the first time that is shown.
#[derive(Clone, Debug)]
pub struct Clock {
    zone: OnceCell<TimeZone>,
    /// The stretch between two changes of the clocks that was asked for last.
    stretch: Cell<Option<Stretch>>,
}

/// Milliseconds since 1970 in which the zone has one offset.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: i64,
    to: i64,
    offset: i64,
}

impl Clock {
    /// UTC where the environment says so, else the system's zone.
    pub fn new(ui: &Ui) -> Clock {
        let utc = ui.env("TZ").is_some_and(|zone| zone == "UTC" || has_no_end(&zone, ui));
        let zone = if utc { OnceCell::from(TimeZone::UTC) } else { OnceCell::new() };
        Clock { zone, stretch: Cell::default() }
    }

    /// Appends a time as `2026-01-31 12:00`.
    pub fn push(&self, out: &mut String, time_ms: i64) {
        let Ok(time) = Timestamp::from_millisecond(time_ms) else {
            out.push_str("?               ");
            return;
        };
        let local = time_ms + self.offset(time, time_ms);
        let (day, minutes) = (local.div_euclid(86_400_000), local.rem_euclid(86_400_000) / 60_000);
        match civil(day) {
            (year @ 0..=9999, month, day) => {
                let parts = [(year / 100, ""), (year % 100, "-"), (month, "-"), (day, " ")];
                for (number, mark) in parts.into_iter().chain([(minutes / 60, ":"), (minutes % 60, "")]) {
                    out.extend([b'0' + (number / 10) as u8, b'0' + (number % 10) as u8].map(char::from));
                    out.push_str(mark);
                }
            }
            _ => *out += &time.to_zoned(self.zone().clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        }
    }

    /// The same as a text of its own.
    pub fn text(&self, time_ms: i64) -> String {
        let mut out = String::with_capacity(16);
        self.push(&mut out, time_ms);
        out
    }

    fn zone(&self) -> &TimeZone {
        self.zone.get_or_init(TimeZone::system)
    }

    /// Milliseconds that the zone is ahead of UTC.
    fn offset(&self, time: Timestamp, time_ms: i64) -> i64 {
        if let Some(stretch) = self.stretch.get().filter(|known| (known.from..known.to).contains(&time_ms)) {
            return stretch.offset;
        }
        let zone = self.zone();
        let offset = i64::from(zone.to_offset(time).seconds()) * 1000;
        // A change at this very millisecond has happened already.
        let just_behind = Timestamp::from_millisecond(time_ms.saturating_add(1)).unwrap_or(time);
        let from = zone.preceding(just_behind).next().map(|change| change.timestamp().as_millisecond());
        let to = zone.following(time).next().map(|change| change.timestamp().as_millisecond());
        let stretch = Stretch { from: from.unwrap_or(i64::MIN), to: to.unwrap_or(i64::MAX), offset };
        self.stretch.set(Some(stretch));
        offset
    }
}

/// Whether `TZ` names a device or FIFO, which would be read for ever. Any other zone that is none means UTC,
/// too.
fn has_no_end(zone: &str, ui: &Ui) -> bool {
    let zone = Path::new(zone.strip_prefix(':').unwrap_or(zone));
    let folders = [Some(ui.folder().to_owned()), ui.env("TZDIR").map(PathBuf::from)];
    folders.into_iter().flatten().any(|folder| {
        let found = std::fs::metadata(folder.join(zone));
        found.is_ok_and(|found| !found.is_file() && !found.is_dir())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(zone: &str) -> Clock {
        Clock { zone: TimeZone::posix(zone).unwrap().into(), stretch: Cell::default() }
    }

    #[test]
    fn times_read_as_jiff_formats_them() {
        for zone in ["UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "<+0545>-5:45", "EST5EDT,M3.2.0,M11.1.0"] {
            let clock = clock(zone);
            // Around changes of the clocks, in order and back, and far from now.
            let times = (0..4000).map(|n| 1_774_746_000_000 + (n * 7919 % 4000 - 2000) * 3_600_000 / 2);
            for time in times.chain([0, -1, -62_167_219_200_000, 253_370_764_800_000, -62_200_000_000_000]) {
                let zoned = Timestamp::from_millisecond(time).unwrap().to_zoned(clock.zone().clone());
                assert_eq!(clock.text(time), zoned.strftime("%Y-%m-%d %H:%M").to_string(), "{zone} {time}");
            }
        }
    }

    #[test]
    fn what_is_no_time_keeps_its_columns() {
        assert_eq!(clock("UTC0").text(i64::MIN), format!("{:16}", "?"));
    }
}
