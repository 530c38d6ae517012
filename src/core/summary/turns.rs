//! A turn: what the user asked, and what came of it.

use super::budget::{ADDITIONS, REMARKS};
use super::message::{Assistant, Stop};

#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The entry with the request, where the request comes from, and the request.
    pub entry: String,
    pub origin: String,
    pub request: String,
    /// What the user added while it was being worked on.
    pub added: Vec<String>,
    /// How the last reply ended; `None` if there is none, or it is not known.
    pub stop: Option<Stop>,
    /// What the assistant said last, and what it said before that.
    pub report: String,
    pub said: Vec<String>,
    pub calls: usize,
}

impl Turn {
    /// Takes in what the user said while it was being worked on, or to have it go on.
    pub fn more(&mut self, text: &str) {
        self.stop = None;
        self.added.drain(..(self.added.len() + 1).saturating_sub(ADDITIONS));
        self.added.push(text.to_owned());
    }

    /// Takes in what the assistant said. Of many remarks, the first and the newest are kept.
    pub fn hear(&mut self, said: Assistant) {
        self.stop = Some(said.stop);
        if !said.text.trim().is_empty() {
            let before = std::mem::replace(&mut self.report, said.text);
            self.said.extend(Some(before).filter(|before| !before.is_empty()));
            if self.said.len() > REMARKS {
                self.said.remove(1);
            }
        }
    }

    /// Whether anything happened after the request.
    pub fn is_begun(&self) -> bool {
        self.calls > 0 || !self.report.is_empty() || self.stop.is_some()
    }

    /// Whether the assistant completed its reply.
    pub fn is_answered(&self) -> bool {
        matches!(self.stop, Some(Stop::Done | Stop::Asks))
    }
}
