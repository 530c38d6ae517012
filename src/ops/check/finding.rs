//! What was found in a session file.

use crate::agents::Agent;
use crate::session::entry::{EntryIx, LineNo};
use crate::session::{Format, Session};
use pisess_json::text::Text;

pub use crate::session::defect::{FindingKind, Severity};

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The physical line.
    pub line: LineNo,
    /// The id of the entry, if it has one.
    pub entry: Option<Text<'static>>,
    /// Its kind.
    pub kind: FindingKind,
    /// Its severity.
    pub severity: Severity,
    /// The problem.
    pub message: String,
    /// The consequence for the agent that opens the session; empty if there is none.
    pub consequence: &'static str,
    /// How a repair fixes it, if it can.
    pub fix: Option<String>,
}

impl Finding {
    /// Whether a repair fixes it.
    pub fn is_repairable(&self) -> bool {
        self.fix.is_some()
    }
}

/// A finding without its severity, which depends on the file's agent.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub line: LineNo,
    pub entry: Option<Text<'static>>,
    pub kind: FindingKind,
    /// Whether it is where it does the most harm: on the active path, at the leaf or in a cycle.
    pub grave: bool,
    pub message: String,
    pub fix: Option<String>,
}

/// Returns a finding in an entry.
pub(super) fn found(session: &Session, ix: EntryIx, kind: FindingKind, message: impl Into<String>) -> Draft {
    Draft::new(session.entry(ix).line, kind, message).entry(session.id(ix))
}

impl Draft {
    pub fn new(line: LineNo, kind: FindingKind, message: impl Into<String>) -> Draft {
        Draft { line, entry: None, kind, grave: false, message: message.into(), fix: None }
    }

    pub fn entry(mut self, id: Text) -> Draft {
        self.entry = (!id.is_empty()).then(|| id.into_owned());
        self
    }

    pub fn grave(mut self, grave: bool) -> Draft {
        self.grave = grave;
        self
    }

    pub fn fix(mut self, fix: impl Into<String>) -> Draft {
        self.fix = Some(fix.into());
        self
    }

    pub fn weighed(self, agent: &Agent, format: Format) -> Finding {
        let (severity, consequence) = (agent.weight)(self.kind, format, self.grave);
        let Draft { line, entry, kind, message, fix, .. } = self;
        Finding { line, entry, kind, severity, message, consequence, fix }
    }
}
