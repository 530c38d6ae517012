//! Formats times for people: date, hour and minute in the local time zone.

use super::Ui;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

const DAY_MS: i64 = 86_400_000;

/// A local time, as it is printed.
#[derive(Clone, Debug, Default)]
pub struct DateAndTime {
    /// The date, as in `2026-01-31`.
    pub date: String,
    /// The time of day, as in `12:00`.
    pub time: String,
}

/// The local time zone. It is looked up when the first time is formatted, once for all clones.
#[derive(Clone, Debug)]
pub struct Clock {
    zone: Arc<OnceLock<TimeZone>>,
}

impl Clock {
    /// Returns a clock in the local time zone. Its zone is UTC if `TZ` is `UTC`, or if `TZ` names a
    /// file that cannot be read to its end.
    pub fn new(ui: &Ui) -> Clock {
        let utc = ui
            .env_var("TZ")
            .is_some_and(|zone| zone == "UTC" || is_endless_zone(&zone, ui));
        let zone = if utc {
            OnceLock::from(TimeZone::UTC)
        } else {
            OnceLock::new()
        };
        Clock {
            zone: Arc::new(zone),
        }
    }

    /// Returns a clock in the zone that a POSIX string describes, such as `CET-1CEST`.
    #[cfg(test)]
    pub(in crate::cli) fn in_zone(zone: &str) -> Clock {
        Clock {
            zone: Arc::new(TimeZone::posix(zone).unwrap().into()),
        }
    }

    /// Returns the local date and time of day of a time. For an invalid time, returns `?` and
    /// spaces of the same widths.
    pub fn format_date_and_time(&self, time_ms: i64) -> DateAndTime {
        let Ok(time) = Timestamp::from_millisecond(time_ms) else {
            const DATE_WIDTH: usize = "2026-01-31".len();
            return DateAndTime {
                date: format!("{:DATE_WIDTH$}", "?"),
                time: " ".repeat("12:00".len()),
            };
        };
        let local = time.to_zoned_datetime(self.time_zone().clone());
        DateAndTime {
            date: local.strftime("%Y-%m-%d").to_string(),
            time: local.strftime("%H:%M").to_string(),
        }
    }

    /// Returns the local day of a time, in days since 1970. `None` for an invalid time.
    pub fn local_day(&self, time_ms: i64) -> Option<i64> {
        let time = Timestamp::from_millisecond(time_ms).ok()?;
        let ahead = i64::from(self.time_zone().to_offset(time).seconds()) * 1000;
        Some((time_ms + ahead).div_euclid(DAY_MS))
    }

    /// Returns the moment at which local clocks show `local_ms`, which is in milliseconds as if
    /// local time were UTC. If clocks skip that time, as in spring, returns the first moment after
    /// it.
    pub fn local_to_utc_ms(&self, local_ms: i64) -> i64 {
        let local =
            Timestamp::from_millisecond(local_ms).map(|time| TimeZone::UTC.to_datetime(time));
        let moment = local.and_then(|local| self.time_zone().to_timestamp(local));
        moment.map_or(local_ms, |moment| moment.as_millisecond())
    }

    fn time_zone(&self) -> &TimeZone {
        self.zone.get_or_init(TimeZone::system)
    }

    /// Returns the date and the time of day, as in `2026-01-31 12:00`.
    pub fn format_time(&self, time_ms: i64) -> String {
        let DateAndTime { date, time } = self.format_date_and_time(time_ms);
        format!("{date} {time}")
    }
}

/// Whether `TZ` names a device or a FIFO. The time zone library would read such a file to its end,
/// which may never come. Regular files are left to the library; if one describes no zone, the
/// library uses UTC.
fn is_endless_zone(zone: &str, ui: &Ui) -> bool {
    let zone = Path::new(zone.strip_prefix(':').unwrap_or(zone));
    let folders = [
        Some(ui.current_folder().to_owned()),
        ui.env_var("TZDIR").map(PathBuf::from),
    ];
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
        let clock = Clock::in_zone("CET-1CEST,M3.5.0,M10.5.0/3");
        assert_eq!(clock.format_time(1_774_745_999_999), "2026-03-29 01:59");
        assert_eq!(clock.format_time(1_774_746_000_000), "2026-03-29 03:00");
        assert_eq!(clock.format_time(i64::MIN), format!("{:16}", "?"));
    }

    #[test]
    fn a_day_begins_at_its_first_moment() {
        // The last zone skips midnight in spring and repeats the hour before it in autumn.
        for zone in [
            "UTC0",
            "CET-1CEST,M3.5.0,M10.5.0/3",
            "<+0545>-5:45",
            "EET-2EEST,M4.5.5/0,M10.5.4/24",
        ] {
            let clock = Clock::in_zone(zone);
            for day in 20_000..21_000 {
                let start = clock.local_to_utc_ms(day * DAY_MS);
                let days = [start - 1, start].map(|time| clock.local_day(time));
                assert_eq!(days, [Some(day - 1), Some(day)], "{zone} {day}");
            }
        }
    }
}
