//! A line of Codex, which wraps an item, an event or a report.

use crate::parts::add_unconverted_members;
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::write::Object;

pub(super) struct CodexLine<'a> {
    pub(super) offset: u64,
    pub(super) value: Outlined<'a>,
    pub(super) kind: LineKind,
    /// The item, event or report in the line. In an old file, this is the line itself.
    pub(super) payload: Outlined<'a>,
}

impl<'a> CodexLine<'a> {
    /// Reads what a line is:
    ///
    /// ```text
    /// {"type":"event_msg","payload":{…}}       the type decides
    /// {"type":"message","role":"user", …}      an item of an old file: the line is the payload
    /// ```
    ///
    /// A line without a type is of the kind [`LineKind::Other`].
    pub(super) fn new(offset: u64, value: Outlined<'a>) -> Self {
        let [line_type, payload] = value.get_all(["type", "payload"]);
        let payload = payload.filter(|payload| payload.is_object());
        let line_itself = value;
        let (kind, payload) = match (line_type, payload) {
            (Some(line_type), Some(payload)) => (LineKind::from_type(line_type.raw()), payload),
            (Some(_), None) => (LineKind::Item, line_itself),
            (None, _) => (LineKind::Other, line_itself),
        };
        CodexLine {
            offset,
            value,
            kind,
            payload,
        }
    }

    /// Returns the members of the line without those of its payload that have one of
    /// `converted_keys`, because these are in the entry. With the key `message`:
    ///
    /// ```text
    /// {"timestamp":"…","type":"event_msg","payload":{"type":"agent_message","message":"Hi"}}
    /// {"timestamp":"…","type":"event_msg","payload":{"type":"agent_message"}}
    /// ```
    pub(super) fn unconverted_members(&self, converted_keys: &[&str]) -> Object {
        self.add_unconverted_members(Object::new(), converted_keys)
    }

    /// Adds to `unconverted` what [`unconverted_members`](Self::unconverted_members) returns.
    pub(super) fn add_unconverted_members(
        &self,
        unconverted: Object,
        converted_keys: &[&str],
    ) -> Object {
        let is_own_payload = self.value.raw() == self.payload.raw();
        if is_own_payload {
            return add_unconverted_members(unconverted, self.payload, converted_keys);
        }
        let unconverted = add_unconverted_members(unconverted, self.value, &["payload"]);
        let in_payload = unconverted.open("payload");
        add_unconverted_members(in_payload, self.payload, converted_keys).close()
    }
}

/// What a line is to this reader.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// What was sent to the model, or came from it.
    Item,
    /// What the user saw.
    Event,
    /// The settings of a turn.
    Settings,
    /// The tokens of a response.
    Usage,
    Compaction,
    Other,
}

impl LineKind {
    /// Returns the kind of a line by its member `type`. Other types, of which Codex has more with
    /// every version, are not converted.
    fn from_type(line_type: Raw) -> LineKind {
        if line_type.is("response_item") {
            LineKind::Item
        } else if line_type.is("event_msg") {
            LineKind::Event
        } else if line_type.is("turn_context") {
            LineKind::Settings
        } else if line_type.is("token_usage_record") {
            LineKind::Usage
        } else if line_type.is("compacted") {
            LineKind::Compaction
        } else {
            LineKind::Other
        }
    }
}
