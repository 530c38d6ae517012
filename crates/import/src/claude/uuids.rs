//! The entries of lines, found by the `uuid` of a line.

use super::LineNodes;
use foldhash::HashMap;
use uuid::Uuid;

/// The entries of the lines that have a `uuid`.
///
/// Claude Code writes random UUIDs, and other programs may write any text. A UUID is kept as the
/// number that it spells, which takes less memory than its text, and is found faster: a line is
/// looked up several times, and so is its parent.
#[derive(Default)]
pub(super) struct NodesByUuid {
    by_number: HashMap<u128, LineNodes>,
    /// The lines whose `uuid` has another form than [`parse_uuid`] reads.
    by_text: HashMap<Box<[u8]>, LineNodes>,
}

impl NodesByUuid {
    pub(super) fn is_empty(&self) -> bool {
        self.by_number.is_empty() && self.by_text.is_empty()
    }

    pub(super) fn get(&self, uuid: &[u8]) -> Option<LineNodes> {
        let found = match parse_uuid(uuid) {
            Some(number) => self.by_number.get(&number),
            None => self.by_text.get(uuid),
        };
        found.copied()
    }

    pub(super) fn contains(&self, uuid: &[u8]) -> bool {
        self.get(uuid).is_some()
    }

    /// Sets the entries of a line, in place of those that it had before.
    pub(super) fn insert(&mut self, uuid: &[u8], nodes: LineNodes) {
        match parse_uuid(uuid) {
            Some(number) => self.by_number.insert(number, nodes),
            None => self.by_text.insert(uuid.into(), nodes),
        };
    }
}

/// Parses a UUID in the form of `67e55044-10b1-426f-9247-bb680e5fe0c8`. `None` for any other text,
/// even if it is a UUID in another form: two forms of a UUID are two names.
fn parse_uuid(text: &[u8]) -> Option<u128> {
    let uuid = Uuid::try_parse_ascii(text).ok()?;
    let mut buffer = Uuid::encode_buffer();
    let usual_form = uuid.hyphenated().encode_lower(&mut buffer);
    if usual_form.as_bytes() != text {
        return None;
    }
    Some(uuid.as_u128())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::{EntryDraft, EntryWriter};
    use pisess_json::write::Object;

    #[test]
    fn each_spelling_is_another_line() {
        let spellings = [
            "67e55044-10b1-426f-9247-bb680e5fe0c8",
            "67E55044-10b1-426f-9247-bb680e5fe0c8",
            "67e5504410b1426f9247bb680e5fe0c8",
            "{67e55044-10b1-426f-9247-bb680e5fe0c8}",
            "urn:uuid:67e55044-10b1-426f-9247-bb680e5fe0c8",
            "1",
            "",
        ];
        let mut writer = EntryWriter::default();
        let mut lines = NodesByUuid::default();
        assert!(lines.is_empty());
        let mut nodes = Vec::new();
        for spelling in spellings {
            assert!(!lines.contains(spelling.as_bytes()), "{spelling}");
            let draft = EntryDraft {
                offset: 0,
                time_ms: 0,
                kind: "custom",
                members: Object::new(),
            };
            let node = writer.add_child(None, draft).unwrap();
            lines.insert(spelling.as_bytes(), node.into());
            nodes.push(node);
        }
        for (spelling, node) in spellings.into_iter().zip(nodes) {
            let found = lines.get(spelling.as_bytes()).unwrap();
            assert!(found.last == node, "{spelling}");
        }
        assert_eq!(lines.by_number.len(), 1);
    }
}
