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
    pub entry_id: Option<Text<'static>>,
    /// Its kind.
    pub kind: FindingKind,
    /// The severity: [`Severity::Note`] until the agent of the file is known.
    pub severity: Severity,
    /// The problem.
    pub message: String,
    /// The consequence for the agent that opens the session; empty if there is none.
    pub consequence: &'static str,
    /// How a repair fixes it, if it can.
    pub fix: Option<String>,
    /// Of a damaged line, the beginning of the text that can still be read. Empty for a finding in
    /// an entry, which `show` prints.
    pub excerpt: String,
    /// Whether the defect is where it does the most harm: on the active path, at the leaf or in a
    /// cycle.
    pub(super) is_worst_case: bool,
    /// Whether the line has nothing that another line does not have.
    pub(super) is_lossless: bool,
}

/// Returns a finding in an entry.
pub(super) fn finding_in_entry(
    session: &Session,
    ix: EntryIx,
    kind: FindingKind,
    message: impl Into<String>,
) -> Finding {
    Finding::new(session.entry(ix).line, kind, message).with_entry_id(session.id(ix))
}

impl Finding {
    /// Returns a finding on a line, without an entry, a fix or a consequence. The methods below set
    /// these. The severity stays [`Severity::Note`] until `set_severity` is called.
    pub(super) fn new(line: LineNo, kind: FindingKind, message: impl Into<String>) -> Finding {
        Finding {
            line,
            entry_id: None,
            kind,
            severity: Severity::Note,
            message: message.into(),
            consequence: "",
            fix: None,
            excerpt: String::new(),
            is_worst_case: false,
            is_lossless: false,
        }
    }

    /// Whether a repair fixes the defect.
    pub fn is_repairable(&self) -> bool {
        self.fix.is_some()
    }

    /// Sets the id of the entry that the finding is in. An empty id is stored as none.
    pub(super) fn with_entry_id(mut self, id: Text) -> Finding {
        self.entry_id = if id.is_empty() {
            None
        } else {
            Some(id.into_owned())
        };
        self
    }

    /// Marks the defect as the worst case of its kind if it is where it does the most harm. Some
    /// kinds then have a higher severity.
    pub(super) fn worst_case_if(mut self, is_worst_case: bool) -> Finding {
        self.is_worst_case = is_worst_case;
        self
    }

    /// Makes the finding repairable. `fix` describes what a repair does.
    pub(super) fn with_fix(mut self, fix: impl Into<String>) -> Finding {
        self.fix = Some(fix.into());
        self
    }

    /// Sets what can be read of the line.
    pub(super) fn with_excerpt(mut self, excerpt: String) -> Finding {
        self.excerpt = excerpt;
        self
    }

    /// Sets the severity and the consequence, which depend on the agent and the format of the file.
    pub(super) fn set_severity(&mut self, agent: &dyn Agent, format: Format) {
        let assessment = agent.assess_defect(self.kind, format, self.is_worst_case);
        self.severity = assessment.severity;
        self.consequence = assessment.consequence;
        if self.is_lossless {
            self.severity = Severity::Warning;
            self.consequence = "nothing is lost: a repair removes only the incomplete line";
        }
    }
}
