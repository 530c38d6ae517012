//! Results of tool calls that come too late: not directly after the calls or another result.

use crate::session::content;
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::text::Text;
use std::collections::VecDeque;

/// An id as the session has it; `None` for one that is missing or not a string.
type Id = Option<Text<'static>>;

/// The ids of all calls, and the results that come too late.
#[derive(Debug, Default)]
pub struct Late {
    calls: HashSet<Id>,
    /// By id: the number of each message, and the message.
    results: HashMap<Id, VecDeque<(usize, Vec<u8>)>>,
    /// The calls of the last turn that have no result yet.
    open: Vec<Id>,
}

impl Late {
    /// Reads the message with this number.
    pub fn read(&mut self, number: usize, message: Raw) {
        let role = message.get_text("role").unwrap_or_default();
        match role.as_bytes() {
            b"assistant" => {
                let blocks = message.get("content").unwrap_or(Raw::NULL).items();
                let calls = blocks.filter(|block| content::is_block(*block, "toolCall"));
                self.open = calls.map(|call| id_of(call, "id")).collect();
                self.calls.extend(self.open.iter().cloned());
            }
            b"toolResult" => {
                let id = id_of(message, "toolCallId");
                match self.open.iter().position(|open| *open == id) {
                    Some(at) => drop(self.open.remove(at)),
                    None => {
                        let results = self.results.entry(id).or_default();
                        results.push_back((number, message.bytes().to_vec()));
                    }
                }
            }
            _ => self.open.clear(),
        }
    }

    /// Removes and returns the first late result with this id after the turn with this number.
    pub fn take(&mut self, id: &Id, turn: usize) -> Option<Vec<u8>> {
        let results = self.results.get_mut(id)?;
        let at = results.iter().position(|(number, _)| *number > turn)?;
        results.remove(at).map(|(_, message)| message)
    }

    /// Whether a call has this id.
    pub fn has_call(&self, id: &Id) -> bool {
        self.calls.contains(id)
    }
}

fn id_of(object: Raw, key: &str) -> Id {
    object.get_text(key).map(Text::into_owned)
}
