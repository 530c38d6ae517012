//! Turns: what the user asked, what came of it. A bounded number of them is kept: the first, the
//! last, and those between with the most behind them.

use super::clean::end;
use super::message::{Assistant, Stop};
use super::prose::{closing_question, report, words};

/// Turns that are kept, and those of them that are never dropped for others.
const KEPT: usize = 96;
const FIRST: usize = 3;
const LAST: usize = 24;

/// How a turn stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// No final answer yet.
    #[default]
    Open,
    Answered,
    Interrupted,
    /// The model's answer failed.
    Failed(String),
}

/// A request of the user's and what followed up to the next one.
#[derive(Debug, Default)]
pub(super) struct Turn {
    /// Its place among all turns, from 0.
    pub number: u32,
    /// What the user said; empty for the rest of a turn that began before.
    pub request: String,
    /// The assistant's question that the request answers.
    pub answers: Option<String>,
    pub state: State,
    /// What the assistant reported at the end.
    pub report: String,
    /// What the assistant asked at the end.
    pub question: Option<String>,
    /// The end of what the assistant said last on the way.
    pub last_said: String,
    pub tools: u32,
    pub edits: Vec<(String, u32)>,
    /// Commits, test runs and the like.
    pub steps: u32,
    /// The request shares words with what the summary should look at.
    pub in_focus: bool,
}

impl Turn {
    /// Whether the request could be what the session is about.
    pub fn is_substantial(&self) -> bool {
        words(&self.request) >= 5.0
    }

    /// How much happened.
    pub fn work(&self) -> f32 {
        let edits: u32 = self.edits.iter().map(|(_, count)| count).sum();
        (edits as f32 + self.tools as f32 * 0.25 + self.steps as f32 * 0.5).min(12.0)
    }

    /// How much it matters to someone who reads of it later.
    pub fn weight(&self) -> f32 {
        let idle = matches!(self.state, State::Interrupted | State::Failed(_)) && self.tools == 0;
        self.work() + words(&self.request).min(30.0) / 6.0 + if self.in_focus { 6.0 } else { 0.0 }
            - if idle { 4.0 } else { 0.0 }
    }

    /// Takes in what the assistant said.
    pub fn hear(&mut self, said: &Assistant) {
        match said.stop {
            Stop::Done => {
                self.state = State::Answered;
                let report = report(&said.text);
                if !report.is_empty() {
                    self.report = report;
                }
                self.question = closing_question(&said.text);
            }
            Stop::ToolUse => self.state = State::Open,
            Stop::Aborted => self.state = State::Interrupted,
            Stop::Error => self.state = State::Failed(said.error.clone()),
        }
        if said.stop != Stop::Done && !said.text.trim().is_empty() {
            self.last_said = end(&said.text, 1_000).to_owned();
        }
    }

    /// Counts a change of a file.
    pub fn edited(&mut self, path: &str) {
        match self.edits.iter().position(|(edited, _)| edited == path) {
            Some(at) => self.edits[at].1 += 1,
            None if self.edits.len() < 12 => self.edits.push((path.to_owned(), 1)),
            None => {}
        }
    }
}

/// The turns that are kept, in order.
#[derive(Debug, Default)]
pub(super) struct Turns {
    kept: Vec<Turn>,
    count: u32,
}

impl Turns {
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Turn> {
        self.kept.iter()
    }

    pub fn last(&self) -> Option<&Turn> {
        self.kept.last()
    }

    pub fn last_mut(&mut self) -> Option<&mut Turn> {
        self.kept.last_mut()
    }

    /// All turns there were.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The number of the last turn.
    pub fn current(&self) -> u32 {
        self.count.saturating_sub(1)
    }

    /// Begins a turn.
    pub fn begin(&mut self, turn: Turn) {
        if self.kept.len() == KEPT {
            let between = FIRST..KEPT - LAST;
            let lightest = between.min_by(|&a, &b| self.kept[a].weight().total_cmp(&self.kept[b].weight()));
            if let Some(at) = lightest {
                self.kept.remove(at);
            }
        }
        self.kept.push(Turn { number: self.count, ..turn });
        self.count += 1;
    }
}
