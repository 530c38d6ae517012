//! The tool results that come too late after their calls, for agents that move them there.

use super::replay::SessionCallId;
use crate::agents::oh_my_pi::message::call_ids;
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::text::Text;
use std::collections::VecDeque;

/// The results that come too late, and the ids of all calls. A result is late unless only other
/// results are between it and its call.
#[derive(Debug, Default)]
pub struct LateResults {
    call_ids: HashSet<SessionCallId>,
    results: HashMap<SessionCallId, VecDeque<LateResult>>,
    /// The ids of the calls of the last turn that have no result so far.
    open_call_ids: Vec<SessionCallId>,
}

#[derive(Debug)]
struct LateResult {
    /// The number of the message, from 1.
    message_number: usize,
    json: Vec<u8>,
}

impl LateResults {
    /// Reads the next message of the context, and collects the calls of a turn, or a late result:
    /// one that another message than a result separates from its call. `message_number` is the
    /// number of the message, from 1.
    ///
    /// A result closes one call. If several calls of a turn have the same id, further results with
    /// this id close the others.
    pub fn read_message(&mut self, message_number: usize, message: Raw) {
        let role = message.get_text("role").unwrap_or_default();
        match role.as_bytes() {
            b"assistant" => {
                self.open_call_ids = call_ids(message.get("content").unwrap_or(Raw::NULL));
                self.call_ids.extend(self.open_call_ids.iter().cloned());
            }
            b"toolResult" => self.read_result(message_number, message),
            // Any other message separates the calls from results that come later.
            _ => self.open_call_ids.clear(),
        }
    }

    /// Reads a result. It closes a call of the last turn, or it is late, and is collected.
    fn read_result(&mut self, message_number: usize, message: Raw) {
        let id = message.get_text("toolCallId").map(Text::into_owned);
        let open_call = self.open_call_ids.iter().position(|open| *open == id);
        if let Some(index) = open_call {
            // The result is in time, so it is not kept.
            self.open_call_ids.remove(index);
            return;
        }
        let late = LateResult {
            message_number,
            json: message.bytes().to_vec(),
        };
        self.results.entry(id).or_default().push_back(late);
    }

    /// Removes and returns the first late result with this id that comes after the turn
    /// `turn_number`.
    pub fn remove_result(&mut self, id: &SessionCallId, turn_number: usize) -> Option<Vec<u8>> {
        let results = self.results.get_mut(id)?;
        let index = results
            .iter()
            .position(|result| result.message_number > turn_number)?;
        let result = results.remove(index)?;
        Some(result.json)
    }

    /// Whether a call in the context has this id.
    pub fn has_call(&self, id: &SessionCallId) -> bool {
        self.call_ids.contains(id)
    }
}
