//! Times for people: date and minute in the zone of their machine.

use super::Ui;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::cell::OnceCell;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The machine's time zone, looked up with the first time that is shown.
#[derive(Clone, Debug)]
pub struct Clock {
    zone: OnceCell<TimeZone>,
}

impl Clock {
    /// UTC where the environment says so, else the system's zone.
    pub fn new(ui: &Ui) -> Clock {
        let utc = ui.env("TZ").is_some_and(|zone| zone == "UTC" || has_no_end(&zone, ui));
        Clock { zone: if utc { OnceCell::from(TimeZone::UTC) } else { OnceCell::new() } }
    }

    /// Appends a time as `2026-01-31 12:00`; what is no time is a `?` of the same width.
    pub fn push(&self, out: &mut String, time_ms: i64) {
        let zone = || self.zone.get_or_init(TimeZone::system).clone();
        let written = match Timestamp::from_millisecond(time_ms) {
            Ok(time) => write!(out, "{}", time.to_zoned(zone()).strftime("%Y-%m-%d %H:%M")),
            Err(_) => write!(out, "{:16}", "?"),
        };
        written.expect("the format is a valid one, and a string takes all that is written");
    }

    /// Returns the same as a text of its own.
    pub fn text(&self, time_ms: i64) -> String {
        let mut out = String::with_capacity(16);
        self.push(&mut out, time_ms);
        out
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

    #[test]
    fn times_are_those_of_the_zone() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let clock = Clock { zone: zone.into() };
        assert_eq!(clock.text(1_774_745_999_999), "2026-03-29 01:59");
        assert_eq!(clock.text(1_774_746_000_000), "2026-03-29 03:00");
        assert_eq!(clock.text(i64::MIN), format!("{:16}", "?"));
    }
}
