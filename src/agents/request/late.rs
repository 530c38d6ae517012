//! Results of tool calls that come too late: not directly after the calls or another result.

use crate::agents::oh_my_pi::message::call_ids;
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::text::Text;
use std::collections::VecDeque;

/// The ids of all calls, and the results that come too late. An id is `None` if it is missing or not a string.
#[derive(Debug, Default)]
pub struct Late {
    calls: HashSet<Option<Text<'static>>>,
    /// By id: the number of each message, and the message.
    results: HashMap<Option<Text<'static>>, VecDeque<(usize, Vec<u8>)>>,
    /// The calls of the last turn that have no result yet.
    open: Vec<Option<Text<'static>>>,
}

impl Late {
    /// Reads the message with this number.
    pub fn read(&mut self, number: usize, message: Raw) {
        let role = message.get_text("role").unwrap_or_default();
        match role.as_bytes() {
            b"assistant" => {
                self.open = call_ids(message.get("content").unwrap_or(Raw::NULL));
                self.calls.extend(self.open.iter().cloned());
            }
            b"toolResult" => {
                let id = message.get_text("toolCallId").map(Text::into_owned);
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
    pub fn take(&mut self, id: &Option<Text<'static>>, turn: usize) -> Option<Vec<u8>> {
        let results = self.results.get_mut(id)?;
        let at = results.iter().position(|(number, _)| *number > turn)?;
        results.remove(at).map(|(_, message)| message)
    }

    pub fn has_call(&self, id: &Option<Text<'static>>) -> bool {
        self.calls.contains(id)
    }
}
