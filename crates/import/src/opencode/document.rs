//! Converts the document that `opencode export` prints to lines.
//!
//! ```text
//! {"opencode":{"id":"ses_…","directory":"…","time":{"created":…}}}      the session
//! {"info":{"id":"msg_…","role":"user", …},"parts":[ … ]}                a message
//! {"revert":{"messageID":"msg_…"}}                                      what is hidden, at the end
//! ```
//!
//! OpenCode changes a session while it is used. The lines have only what stays the same. So the
//! lines of a session that has grown begin with the lines that were imported before.

use super::layout::DocumentLayout;
use super::parts::created_ms;
use crate::Origin;
use crate::parts::non_empty_text;
use pisess_core::session::content::{find_members, member_is};
use pisess_json::Raw;
use pisess_json::edit::{Edit, without_member};
use pisess_json::scan::tokens;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use pisess_store::ReadAt;
use std::io::{self, Write};
use std::ops::Range;

/// The members of a session that never change. Its other members are sums over the messages,
/// settings of the next turn, and the title.
const CONSTANT_MEMBERS: [&str; 7] = [
    "id",
    "slug",
    "projectID",
    "parentID",
    "directory",
    "path",
    "version",
];

/// The prefixes of the titles that OpenCode gives to new sessions. A time follows.
const DEFAULT_TITLES: [&str; 2] = ["New session - ", "Child session - "];

/// A document whose lines were not written yet.
pub(super) struct ExportDocument {
    layout: DocumentLayout,
    /// The JSON of the session.
    session: Vec<u8>,
}

impl ExportDocument {
    /// Reads the session of a document: the member `info` of an export, or the whole file of a
    /// session in the storage, which has no messages. `None` if the document is neither.
    pub fn read(file: &dyn ReadAt) -> io::Result<Option<ExportDocument>> {
        let Some(layout) = DocumentLayout::read(file)? else {
            return Ok(None);
        };
        let session_span = match (&layout.session, layout.has_messages) {
            // An export.
            (Some(session), true) => session.clone(),
            // A file of the storage: the whole object may be a session.
            (None, false) => 0..file.len(),
            // A file of another program, which has a member of the same name by chance.
            (Some(_), false) | (None, true) => return Ok(None),
        };
        let session = file.read_range(session_span)?;
        if Raw::parse(&session).is_ok_and(is_session) {
            Ok(Some(ExportDocument { layout, session }))
        } else {
            Ok(None)
        }
    }

    fn session(&self) -> Raw<'_> {
        Raw::from_checked(&self.session)
    }

    /// Returns the title of the session; `None` if it has none, or one of [`DEFAULT_TITLES`].
    pub fn title(&self) -> Option<Text<'static>> {
        let title = non_empty_text(self.session(), "title")?;
        let title_text = title.to_string_lossy();
        for prefix in DEFAULT_TITLES {
            if title_text.starts_with(prefix) {
                return None;
            }
        }
        Some(title.into_owned())
    }

    /// Writes the document as lines: the session, each message, and what is reverted. Only one
    /// message is in memory at a time.
    ///
    /// If OpenCode still writes the last message, its line is torn, and the lines end there.
    ///
    /// # Errors
    /// `InvalidData` if a message is not JSON.
    pub fn write_lines(&self, file: &dyn ReadAt, out: &mut dyn Write) -> io::Result<()> {
        let first_message = match self.layout.messages.first() {
            Some(span) => read_json(file, span)?,
            None => b"null".to_vec(),
        };
        let session_line = session_line(self.session(), Raw::from_checked(&first_message));
        out.write_all(&session_line)?;

        // Each newline comes before the next line, because a torn line has none.
        for (index, span) in self.layout.messages.iter().enumerate() {
            let json = read_json(file, span)?;
            let message = Raw::from_checked(&json);
            let line = message_line(message);
            out.write_all(b"\n")?;
            let is_last = index + 1 == self.layout.messages.len();
            if is_last && !is_complete(message) {
                // A longer message will replace this one. Without its last byte, the line is not
                // JSON: this import skips it, and the next import reads it.
                let torn_line = &line[..line.len() - 1];
                return out.write_all(torn_line);
            }
            out.write_all(&line)?;
        }

        let revert = self.session().get("revert");
        if let Some(revert) = revert.filter(|revert| revert.is_object()) {
            let line = Object::new().json("revert", &without_spaces(revert));
            out.write_all(b"\n")?;
            out.write_all(&line.finish())?;
        }
        out.write_all(b"\n")
    }
}

/// Reads a value of a document, and checks that it is JSON.
fn read_json(file: &dyn ReadAt, span: &Range<u64>) -> io::Result<Vec<u8>> {
    let json = file.read_range(span.clone())?;
    match Raw::parse(&json) {
        Ok(_) => Ok(json),
        Err(_) => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Whether a value describes a session: an object with a time, and an id that begins with `ses`.
fn is_session(value: Raw) -> bool {
    let id = value.get_text("id").unwrap_or_default();
    let has_time = value.get("time").is_some_and(Raw::is_object);
    has_time && id.to_string_lossy().starts_with("ses")
}

/// Returns the line of a session, with only the members that never change. Its time is the time of
/// the session or of the first message, whichever is earlier: a fork is newer than the messages
/// that were copied to it.
fn session_line(session: Raw, first_message: Raw) -> Vec<u8> {
    let mut constant = Object::new();
    for key in CONSTANT_MEMBERS {
        if let Some(value) = session.get(key) {
            constant = constant.json(key, &without_spaces(value));
        }
    }
    let session_ms = created_ms(session);
    let message_ms = first_message.get("info").and_then(created_ms);
    let earlier_ms = match (session_ms, message_ms) {
        (Some(session_ms), Some(message_ms)) => Some(session_ms.min(message_ms)),
        (session_ms, message_ms) => session_ms.or(message_ms),
    };
    if let Some(time_ms) = earlier_ms {
        let time = Object::new().number("created", time_ms as f64);
        constant = constant.object("time", &time);
    }
    Object::new()
        .object(Origin::OpenCode.name(), &constant)
        .finish()
}

/// Returns the line of a message: the same bytes whenever the message is exported. Its members are
/// sorted, because the storage and an export have them in different orders.
///
/// Ids that each part repeats are left out. Members that OpenCode adds later are left out, too: the
/// file changes since a message of the user (`summary`), and the time at which an old result was
/// left out of the context (`compacted`).
fn message_line(message: Raw) -> Vec<u8> {
    let [info, parts] = find_members(message, ["info", "parts"]);
    let Some(info) = info.filter(|info| info.is_object()) else {
        let line = Object::new().json("unknown", &without_spaces(message));
        return line.finish();
    };
    // In a response, `summary` is a boolean that never changes: whether it is the summary of a
    // compaction.
    let has_file_changes = info.get("summary").is_some_and(Raw::is_object);
    let left_out: &[&str] = if has_file_changes {
        &["sessionID", "summary"]
    } else {
        &["sessionID"]
    };
    let info = sorted_without(info, left_out);

    let mut lasting_parts = Vec::new();
    for part in parts.unwrap_or(Raw::NULL).items() {
        let part = sorted_without(part, &["sessionID", "messageID"]);
        lasting_parts.push(without_compaction_time(&part));
    }
    Object::new()
        .json("info", &info)
        .json("parts", &array(lasting_parts))
        .finish()
}

/// Returns an object on one line, with its members sorted by name, and without the members that are
/// named in `left_out`. Any other value is only put on one line.
fn sorted_without(object: Raw, left_out: &[&str]) -> Vec<u8> {
    if !object.is_object() {
        return without_spaces(object);
    }
    let mut members: Vec<(Text, Raw)> = Vec::new();
    for (key, value) in object.members() {
        let is_left_out = left_out.iter().any(|name| key.is(name));
        if !is_left_out {
            members.push((key.text(), value));
        }
    }
    members.sort_by(|(left, _), (right, _)| left.as_bytes().cmp(right.as_bytes()));

    let mut sorted = Object::new();
    for (key, value) in members {
        sorted = sorted.member(&key, &without_spaces(value));
    }
    sorted.finish()
}

/// Returns a part without the time at which OpenCode left its result out of the context, because it
/// adds this time later. It is `compacted` in
/// `{"type":"tool","state":{"time":{"start":1,"end":2,"compacted":3}}}`.
fn without_compaction_time(part: &[u8]) -> Vec<u8> {
    let state = Raw::from_checked(part).get("state");
    let time = state.and_then(|state| state.get("time"));
    if let Some(time) = time
        && time.get("compacted").is_some()
        && let Ok(mut edit) = Edit::new(part)
    {
        edit.replace(time, &without_member(time, "compacted"));
        return edit.finish();
    }
    part.to_vec()
}

/// Whether a message no longer changes: it is not a response, or the response is completed or has
/// failed.
fn is_complete(message: Raw) -> bool {
    let info = message.get("info").unwrap_or(Raw::NULL);
    if !member_is(info, "role", "assistant") {
        return true;
    }
    let completed = info.get("time").and_then(|time| time.get("completed"));
    completed.is_some() || info.get("error").is_some()
}

/// Returns a value without white space between its tokens, so that it is on one line.
fn without_spaces(value: Raw) -> Vec<u8> {
    let mut short = Vec::with_capacity(value.bytes().len());
    for (_, token) in tokens(value.bytes()) {
        short.extend_from_slice(token);
    }
    short
}
