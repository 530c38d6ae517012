//! Finds out which agent wrote a file.

use crate::Origin;
use pisess_core::session::content::find_members;
use pisess_core::session::read::line_chunks::read_chunks;
use pisess_json::Raw;
use pisess_store::{PageBuffer, ReadAt};
use std::io;
use std::ops::ControlFlow;

/// The number of lines in which to look for the agent's name.
const LINES_TO_DETECT: usize = 100;

impl Origin {
    /// Finds out which agent wrote a file, from the first of its lines that shows it. `None` if a
    /// line shows that neither did, or if none of the first 100 lines shows it.
    pub fn detect(source: &dyn ReadAt) -> io::Result<Option<Origin>> {
        let mut lines_left = LINES_TO_DETECT;
        let mut buffer = PageBuffer::default();
        let flow = read_chunks(&mut buffer, source, 0..source.len(), |chunk| {
            for line in chunk.lines() {
                // A line that is not JSON shows nothing: the last one of a file may be torn.
                if let Ok(line) = Raw::parse(line.bytes) {
                    match detect_line_origin(line) {
                        LineOrigin::Known(origin) => return ControlFlow::Break(Some(origin)),
                        LineOrigin::Other => return ControlFlow::Break(None),
                        LineOrigin::Unclear => {}
                    }
                }
                lines_left -= 1;
                if lines_left == 0 {
                    return ControlFlow::Break(None);
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(flow.break_value().flatten())
    }
}

/// What a line shows about the agent that wrote its file.
enum LineOrigin {
    Known(Origin),
    /// Neither agent writes such lines: pi and oh-my-pi do.
    Other,
    Unclear,
}

/// Finds out which agent writes lines with the members that this line has. The order of the
/// questions matters: the header of pi is ruled out first, and the lines of Codex's old files are
/// recognized last, partly by what they lack.
fn detect_line_origin(line: Raw) -> LineOrigin {
    let names = [
        "type",
        "sessionId",
        "uuid",
        "payload",
        "leafUuid",
        "timestamp",
        "record_type",
    ];
    let [
        line_type,
        session_id,
        uuid,
        payload,
        leaf_uuid,
        timestamp,
        record_type,
    ] = find_members(line, names);
    let is_type = |name: &str| line_type.is_some_and(|line_type| line_type.is(name));
    let is_string = |member: Option<Raw>| member.is_some_and(Raw::is_string);

    // The header of pi and oh-my-pi, and oh-my-pi's title line.
    if is_type("session") || is_type("title") {
        return LineOrigin::Other;
    }

    // Every line of Codex since September 2025.
    if is_string(line_type) && payload.is_some_and(Raw::is_object) {
        return LineOrigin::Known(Origin::Codex);
    }

    // Most lines of Claude Code, and those without an id of a session.
    if is_string(line_type) && is_string(session_id) {
        return LineOrigin::Known(Origin::Claude);
    }
    if is_type("summary") && is_string(leaf_uuid) || is_type("file-history-snapshot") {
        return LineOrigin::Known(Origin::Claude);
    }

    // The first lines of Codex's files before September 2025.
    let is_old_header =
        line_type.is_none() && uuid.is_none() && is_string(timestamp) && is_string(line.get("id"));
    if is_string(record_type) || is_old_header {
        return LineOrigin::Known(Origin::Codex);
    }
    LineOrigin::Unclear
}
