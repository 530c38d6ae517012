//! What was found in a session file.

use crate::core::agent::Agent;
use crate::core::entry::LineNo;
use crate::core::session::Format;
use crate::core::text::Text;

pub use crate::core::defect::{FindingKind, Severity};

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

/// A finding before the dialect of the file is known.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    pub line: LineNo,
    pub entry: Option<Text<'static>>,
    pub kind: FindingKind,
    /// Whether it is where it does most harm: on the active path, at the leaf, in a cycle.
    pub grave: bool,
    pub message: String,
    pub fix: Option<String>,
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

    pub fn weighed(self, agent: &dyn Agent, format: Format) -> Finding {
        let (severity, consequence) = agent.weight(self.kind, format, self.grave);
        let Draft { line, entry, kind, message, fix, .. } = self;
        Finding { line, entry, kind, severity, message, consequence, fix }
    }
}
<<<<<<< HEAD

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal),* $(,)?) => {
        /// The kinds of [`Finding`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FindingKind {
            $($(#[$doc])* $kind,)*
        }

        impl FindingKind {
            /// All kinds.
            pub const ALL: &'static [FindingKind] = &[$(FindingKind::$kind),*];

            /// Returns its name in `--json`.
            pub fn name(self) -> &'static str {
                match self {
                    $(FindingKind::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// A byte order mark before the first line.
    ByteOrderMark = "byte-order-mark",
    /// oh-my-pi's title line is not 256 bytes wide.
    TitleWidth = "title-width",
    /// The header's version is not a number.
    OddVersion = "odd-version",
    /// The file is of version 1, version 2 or the draft tree.
    OldVersion = "old-version",
    /// Another header after the first.
    SecondHeader = "second-header",
    /// A line that is not JSON.
    MalformedLine = "malformed-line",
    /// A line of NUL bytes, or containing some, that is not JSON.
    NulBytes = "nul-bytes",
    /// Several values, or a value and something else, on one line.
    FusedLine = "fused-line",
    /// The last line is incomplete.
    TornTail = "torn-tail",
    /// The last line is complete, but has no newline.
    NoFinalNewline = "no-final-newline",
    /// The line is `null`.
    NullLine = "null-line",
    /// The line is a value, but not an entry.
    NotAnEntry = "not-an-entry",
    /// Bytes that are not UTF-8.
    InvalidUtf8 = "invalid-utf8",
    /// Some lines end with a carriage return, others do not.
    MixedLineEnds = "mixed-line-ends",
    /// A value is nested so deeply that an agent cannot write it.
    DeepNesting = "deep-nesting",
    /// The entry has no id.
    MissingId = "missing-id",
    /// The entry's id is not a string.
    OddId = "odd-id",
    /// Another entry has the same id.
    DuplicateId = "duplicate-id",
    /// The parent is not in the file.
    MissingParent = "missing-parent",
    /// `parentId` is neither a string nor `null`.
    OddParent = "odd-parent",
    /// The parent is after its child in the file.
    ForwardParent = "forward-parent",
    /// The entry is its own parent.
    SelfParent = "self-parent",
    /// The entry is its own ancestor.
    ParentCycle = "parent-cycle",
    /// The conversation has more than one root.
    SeveralRoots = "several-roots",
    /// The entry has an unknown type, or none.
    UnknownType = "unknown-type",
    /// A record of the leaf, as another tool on pi's library wrote.
    LeafRecord = "leaf-record",
    /// The message has an unknown role, or none.
    UnknownRole = "unknown-role",
    /// The message entry contains no message.
    NoMessage = "no-message",
    /// The message has no content.
    NoContent = "no-content",
    /// The timestamp is missing or invalid.
    BadTimestamp = "bad-timestamp",
    /// The entry is older than its parent.
    TimeRunsBackwards = "time-runs-backwards",
    /// A label on an entry that is not in the file.
    LabelOnNothing = "label-on-nothing",
    /// `firstKeptEntryId` refers to no entry on the path to the compaction.
    KeptEntryUnknown = "kept-entry-unknown",
    /// A summary without text.
    EmptySummary = "empty-summary",
    /// A tool result on the active path without its call.
    ResultWithoutCall = "result-without-call",
    /// A tool call on the active path without a result.
    CallWithoutResult = "call-without-result",
    /// The entry refers to a blob outside the file.
    BlobReference = "blob-reference",
}

use FindingKind as K;
use Severity::{Error, Note, Warning};

impl FindingKind {
    /// Returns its severity in a file of this agent, and the consequence. `grave`: it is where it does most
    /// harm. The behaviour of the agents was observed; see `docs/format.md`.
    pub fn weight(self, dialect: Dialect, format: Format, grave: bool) -> (Severity, &'static str) {
        match dialect {
            Dialect::Pi => self.to_pi(format, grave),
            Dialect::OhMyPi => self.to_omp(grave).unwrap_or_else(|| self.to_pi(Format::V3, grave)),
        }
    }

    fn to_pi(self, format: Format, grave: bool) -> (Severity, &'static str) {
        let old = format != Format::V3;
        match self {
            K::ByteOrderMark => (Error, "pi does not open the session"),
            K::TitleWidth => {
                (Error, "renaming the session overwrites its header, and oh-my-pi never opens it again")
            }
            K::OddVersion if grave => (Note, "both agents read and migrate the file as an older version"),
            K::OddVersion => (Note, "both agents treat the file as current"),
            K::OldVersion => {
                (Note, "pi rewrites the whole file in place when it opens it; a crash then loses it")
            }
            K::SecondHeader if grave => {
                (Warning, "pi ignores it; oh-my-pi treats it as the leaf and opens the session empty")
            }
            K::SecondHeader => (Warning, "pi ignores it; oh-my-pi treats it as an entry"),
            K::MalformedLine | K::NulBytes if old => {
                (Error, "its content is lost: pi deletes the line when it opens the session")
            }
            K::MalformedLine | K::NulBytes => {
                (Error, "its content is lost to pi, and the session opens incomplete if it has children")
            }
            K::TornTail => (
                Error,
                "its content is lost; an older pi also loses the next message, which it appends to this line",
            ),
            K::FusedLine => (Error, "everything on the line is lost to pi"),
            K::NoFinalNewline => (
                Warning,
                "pi adds the newline; pi before 0.87 appends the next entry to this line and loses both",
            ),
            K::NullLine => (Warning, "pi skips it; pi before 0.87 and oh-my-pi do not open the session"),
            K::NotAnEntry if grave => (Error, "the agent treats it as the leaf and opens the session empty"),
            K::NotAnEntry => (Warning, "the agent shows it as an empty entry outside of the conversation"),
            K::InvalidUtf8 => (Warning, "pi shows U+FFFD, and writes that when it rewrites the file"),
            K::MixedLineEnds => (Note, "the agents read both"),
            K::DeepNesting if old => {
                (Error, "pi fails to rewrite the file when it opens it and leaves it truncated")
            }
            K::DeepNesting => (Note, "pi cannot write the value again"),
            K::MissingId | K::OddId if grave => {
                (Error, "the agent has no leaf to continue from: the session opens incomplete")
            }
            K::MissingId | K::OddId => (Warning, "the agent cannot reach the entry"),
            K::DuplicateId if grave => (Error, "drawing the tree never ends"),
            K::DuplicateId => {
                (Warning, "the later one takes precedence; the tree shows it twice, and this one not at all")
            }
            K::MissingParent if grave => (
                Warning,
                "the session opens incomplete: the path ends here, and earlier entries are not seen",
            ),
            K::MissingParent => (Warning, "the tree shows the entry as another root"),
            K::OddParent => (Warning, "the agent finds no parent, and the path ends here"),
            K::ForwardParent => (Note, "the agents read it"),
            K::SelfParent | K::ParentCycle if grave => {
                (Error, "pi loops until its memory is full, and does not open the session")
            }
            K::SelfParent => (Warning, "the agent hangs when it moves there"),
            K::ParentCycle => {
                (Warning, "the tree does not show the entry, and the agent hangs when it moves there")
            }
            K::SeveralRoots if grave => (Warning, "the model sees only the ancestors of the last entry"),
            K::SeveralRoots => (Note, "each starts a conversation of its own"),
            K::UnknownType => (Note, "the agents keep it and show an empty row"),
            K::LeafRecord if grave => {
                (Note, "the agents treat the record itself as the leaf, and continue from it")
            }
            K::LeafRecord => (Note, "the agents treat it as an entry and show an empty row"),
            K::UnknownRole => (Note, "the message is not sent to the model"),
            K::NoMessage => (Error, "the agent opens the session and fails when it builds the context"),
            K::NoContent if grave => (
                Note,
                "pi treats it as empty; oh-my-pi opens the session and fails when it builds the context",
            ),
            K::NoContent => (Note, "pi treats it as empty; older versions send it without content"),
            K::BadTimestamp => (Warning, "the tree may show it out of order"),
            K::TimeRunsBackwards => (Note, "the agents follow the parents, not the time"),
            K::LabelOnNothing => (Note, "the label is not shown"),
            K::KeptEntryUnknown => {
                (Warning, "nothing before the compaction is kept: the context is incomplete")
            }
            K::EmptySummary => (Warning, "the model does not see what was summarized"),
            K::ResultWithoutCall => (Warning, "a model provider may refuse the conversation"),
            K::CallWithoutResult => (Note, "the agent reports to the model that there was no result"),
            K::BlobReference => (
                Note,
                "the content is in oh-my-pi's blob store; without it, the model gets only the reference",
            ),
        }
    }

    /// Where oh-my-pi differs.
    fn to_omp(self, grave: bool) -> Option<(Severity, &'static str)> {
        Some(match self {
            K::ByteOrderMark => (Error, "oh-my-pi opens it, but every later rewrite fails"),
            K::OldVersion => (Note, "oh-my-pi rewrites the whole file at the first change"),
            K::SecondHeader if grave => (Error, "oh-my-pi treats it as the leaf and opens the session empty"),
            K::SecondHeader => (Warning, "oh-my-pi treats it as an entry"),
            K::MalformedLine | K::NulBytes | K::TornTail => {
                (Error, "its content is lost: oh-my-pi deletes the line at its next write")
            }
            K::FusedLine => (Error, "oh-my-pi reads the first value and deletes the rest at its next write"),
            K::NoFinalNewline => (Error, "oh-my-pi appends the next entry to this line and loses it"),
            K::NullLine => (Error, "oh-my-pi does not open the session"),
            K::InvalidUtf8 => {
                (Error, "oh-my-pi shows U+FFFD, and every rewrite fails: later entries stay in memory only")
            }
            K::SelfParent if grave => (Error, "the tree selector of oh-my-pi hangs"),
            K::ParentCycle if grave => {
                (Error, "oh-my-pi stops where the cycle closes; earlier entries are not seen")
            }
            K::NoContent if grave => {
                (Error, "oh-my-pi opens the session and fails when it builds the context")
            }
            K::NoContent => (Warning, "oh-my-pi sends it without content"),
            _ => return None,
        })
    }
}
=======
>>>>>>> main
