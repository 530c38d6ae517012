//! A turn: what the user asked, and what came of it.

use super::budget::{LAST_WORDS, REMARK, REQUEST};
use super::message::{Assistant, Stop};
use super::quote::{bounded, quoted};

/// What is kept of a turn's additions, words on the way, and changed files.
const ADDITIONS: usize = 6;
const REMARKS: usize = 24;
const FILES: usize = 12;

/// How a turn ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// Without a final answer, so far.
    #[default]
    Open,
    Answered,
    Interrupted,
    /// The model's reply failed.
    Failed(String),
}

#[derive(Debug, Default)]
pub(super) struct Turn {
    /// The request with its lines.
    pub request: String,
    /// What the user added while it was being worked on.
    pub added: Vec<String>,
    /// The extension that sent the request.
    pub sender: Option<String>,
    pub state: State,
    /// What the assistant said last, and what it said before that.
    pub report: String,
    pub said: Vec<String>,
    pub calls: u32,
    /// Tool calls since it said something.
    pub silent_calls: u32,
    pub files: Vec<String>,
}

impl Turn {
    /// Returns a turn that begins with a request.
    pub fn new(request: &str) -> Self {
        Turn { request: bounded(request, REQUEST), ..Turn::default() }
    }

    /// Takes in what the user said while it was being worked on, or to have it go on.
    pub fn more(&mut self, text: &str) {
        self.state = State::Open;
        if self.added.len() == ADDITIONS {
            self.added.remove(0);
        }
        self.added.push(bounded(text, REQUEST / 2));
    }

    /// Takes in what the assistant said.
    pub fn hear(&mut self, said: &Assistant) {
        let calls = said.calls.len() as u32;
        self.calls += calls;
        self.silent_calls += calls;
        self.state = match said.stop {
            Stop::Done => State::Answered,
            Stop::ToolUse => State::Open,
            Stop::Aborted => State::Interrupted,
            Stop::Error => State::Failed(said.error.clone()),
        };
        if !said.text.trim().is_empty() {
            let before = std::mem::replace(&mut self.report, bounded(&said.text, 2 * LAST_WORDS));
            self.remark(&before);
            self.silent_calls = calls;
        }
    }

    /// Notes words on the way. Of many, the first and the newest are kept.
    pub fn remark(&mut self, text: &str) {
        if self.said.len() == REMARKS {
            self.said.remove(1);
        }
        self.said.extend(Some(quoted(text, REMARK)).filter(|_| !text.is_empty()));
    }

    /// Notes a changed file.
    pub fn changed(&mut self, path: &str) {
        if self.files.len() < FILES && !self.files.iter().any(|known| known == path) {
            self.files.push(path.to_owned());
        }
    }

    /// Returns whether anything happened after the request.
    pub fn is_begun(&self) -> bool {
        self.calls > 0 || !self.report.is_empty() || self.state != State::Open
    }
}
