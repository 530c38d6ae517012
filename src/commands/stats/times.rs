//! `stats --by time`: prints how long the agent worked, its tools ran, and it waited for the user.

use super::groups::{StatsGroup, StatsGroups};
use super::table::format_duration;
use crate::cli::output::{Cell, Column, Failure, Table, Ui, plain_cell, to_visible};
use crate::ops::stats::Totals;
use pisess_json::write::Object;

/// The times of one or several sessions, in milliseconds. `wall_ms` is the sum of the other three.
#[derive(Clone, Copy, Default)]
struct Times {
    /// The time in which the model worked.
    agent_ms: i64,
    /// The time in which the agent's tools ran.
    tools_ms: i64,
    /// The time in which the agent waited for the user.
    waiting_ms: i64,
    /// The time from the first to the last entry.
    wall_ms: i64,
}

impl Times {
    /// Divides the time of a session into the agent's work, its tools, and waiting for the user.
    /// `totals` must be the sums of one session: between two sessions, nobody waits.
    fn from_session_totals(totals: &Totals) -> Times {
        // The time of all turns, including the time of the tools.
        let worked_ms = totals.took_ms;
        let tools_ms = totals.tools_took_ms;

        let span_ms = match (totals.first_ms, totals.last_ms) {
            (Some(first), Some(last)) => last - first,
            _ => 0,
        };
        // The first counted reply may have begun before the first counted entry: then the work took
        // longer than the time between the entries.
        let wall_ms = span_ms.max(worked_ms);
        Times {
            agent_ms: worked_ms - tools_ms,
            tools_ms,
            waiting_ms: wall_ms - worked_ms,
            wall_ms,
        }
    }

    fn add(&mut self, other: Times) {
        self.agent_ms += other.agent_ms;
        self.tools_ms += other.tools_ms;
        self.waiting_ms += other.waiting_ms;
        self.wall_ms += other.wall_ms;
    }

    /// Returns the cells of the times, in the order of the columns of [`print_table`].
    fn cells(self) -> Vec<Cell> {
        let worked_ms = self.agent_ms + self.tools_ms;
        let times = [
            self.agent_ms,
            self.tools_ms,
            worked_ms,
            self.waiting_ms,
            self.wall_ms,
        ];
        times.map(|ms| plain_cell(format_duration(ms))).to_vec()
    }
}

/// The times of one session, which is a group of its own.
struct SessionTimes<'a> {
    session: &'a StatsGroup,
    times: Times,
}

/// Prints the times of each session, the longest first. Each group in `groups` has to be one
/// session.
pub fn print_times(groups: &StatsGroups, json: bool, ui: &mut Ui) -> Result<(), Failure> {
    let mut sessions = Vec::new();
    for session in &groups.groups {
        let times = Times::from_session_totals(&session.totals);
        sessions.push(SessionTimes { session, times });
    }
    sessions.sort_by_key(|session| std::cmp::Reverse(session.times.wall_ms));
    if !json {
        return print_table(&sessions, ui);
    }
    for SessionTimes { session, times } in sessions {
        ui.print_json(&times_json(session, times))?;
    }
    Ok(())
}

/// Prints a row for each session, and for several sessions a row for their sum.
fn print_table(sessions: &[SessionTimes], ui: &mut Ui) -> Result<(), Failure> {
    let mut table = Table::new([
        Column::text("SESSION").allow_shrink(),
        Column::number("AGENT"),
        Column::number("TOOLS"),
        Column::number("WORKED"),
        Column::number("WAITING"),
        Column::number("WALL"),
    ]);
    let mut sum = Times::default();
    for &SessionTimes { session, times } in sessions {
        sum.add(times);
        let name = session.name.as_deref().unwrap_or_default();
        let mut row = vec![plain_cell(to_visible(name))];
        row.extend(times.cells());
        table.add_row(row);
        table.flush_when_full(ui)?;
    }
    let is_single = sessions.len() == 1;
    if !is_single {
        let mut row = vec![vec![("total".to_owned(), ui.styles.heading)]];
        row.extend(sum.cells());
        table.add_row(row);
    }
    table.print(ui)
}

/// Returns the times of a session as JSON, in seconds: how long the agent worked, tools ran, and
/// the user was waited for. `group` is the group of the session.
fn times_json(group: &StatsGroup, times: Times) -> Vec<u8> {
    // Groups by session have one key: the id, or nothing if the session has none.
    let session_id = group.keys.first().and_then(Option::as_deref);
    Object::new()
        .str_or_null("session", session_id)
        .str_or_null("path", group.path.as_deref())
        .number("agentSeconds", times.agent_ms as f64 / 1000.0)
        .number("toolSeconds", times.tools_ms as f64 / 1000.0)
        .number("waitingSeconds", times.waiting_ms as f64 / 1000.0)
        .number("wallSeconds", times.wall_ms as f64 / 1000.0)
        .finish()
}
