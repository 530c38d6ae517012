//! The entries that pisess wrote into a source, by the ids that they have there.

use super::{NodeIx, parse_hex_id};
use foldhash::HashMap;
use pisess_json::text::Text;

/// The entries by their ids. An id of the agents, eight hexadecimal digits, is kept as a number,
/// which takes less memory than its text, and is found faster.
#[derive(Default)]
pub(super) struct ReturnedIds {
    by_number: HashMap<u32, NodeIx>,
    /// The entries with another id, such as `msg_1`.
    by_text: HashMap<Text<'static>, NodeIx>,
}

impl ReturnedIds {
    pub(super) fn get(&self, id: &Text) -> Option<NodeIx> {
        let found = match parse_hex_id(id) {
            Some(number) => self.by_number.get(&number),
            None => self.by_text.get(id),
        };
        found.copied()
    }

    pub(super) fn insert(&mut self, id: Text, node: NodeIx) {
        match parse_hex_id(&id) {
            Some(number) => self.by_number.insert(number, node),
            None => self.by_text.insert(id.into_owned(), node),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_id_is_another_entry() {
        let ids = ["1a2b3c4d", "1A2B3C4D", "1a2b3c4", "msg_1"];
        let mut returned = ReturnedIds::default();
        for (index, id) in ids.into_iter().enumerate() {
            assert_eq!(returned.get(&Text::from(id)), None, "{id}");
            returned.insert(Text::from(id), NodeIx(index as u32));
        }
        for (index, id) in ids.into_iter().enumerate() {
            assert_eq!(returned.get(&Text::from(id)), Some(NodeIx(index as u32)));
        }
        assert_eq!(returned.by_number.len(), 1);
    }
}
