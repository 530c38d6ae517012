//! What can be wrong with a session file. The consequence for an agent is in
//! [`crate::agents::pi::defects`] and [`crate::agents::oh_my_pi::defects`].

use super::entry::LineNo;

/// How bad a defect is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Informational.
    Note,
    /// An agent opens only part of the session, or displays something wrong.
    Warning,
    /// An agent loses data, hangs, or does not open the session.
    Error,
}

impl Severity {
    /// Returns the name of the severity.
    pub fn name(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}

/// What a defect means for the user of an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assessment {
    /// How bad it is.
    pub severity: Severity,
    /// What the agent does because of it, as a sentence without a period.
    pub consequence: &'static str,
}

/// Assesses a defect as an error.
pub const fn error(consequence: &'static str) -> Assessment {
    Assessment {
        severity: Severity::Error,
        consequence,
    }
}

/// Assesses a defect as a warning.
pub const fn warning(consequence: &'static str) -> Assessment {
    Assessment {
        severity: Severity::Warning,
        consequence,
    }
}

/// Assesses a defect as a note.
pub const fn note(consequence: &'static str) -> Assessment {
    Assessment {
        severity: Severity::Note,
        consequence,
    }
}

/// Lines of a file that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DamagedLines {
    /// Their number, at least 1.
    pub count: u32,
    /// The first of them.
    pub first: LineNo,
}

impl DamagedLines {
    /// Returns the lines of two parts of a file, of which `later` is the later one. `None` is a
    /// part without such lines.
    pub fn join(
        earlier: Option<DamagedLines>,
        later: Option<DamagedLines>,
    ) -> Option<DamagedLines> {
        match (earlier, later) {
            (Some(earlier), Some(later)) => Some(DamagedLines {
                count: earlier.count + later.count,
                first: earlier.first,
            }),
            (only, None) | (None, only) => only,
        }
    }
}

/// Defines the enum [`FindingKind`], and its names, from lines of the form `Kind = "name"`. So a
/// new kind is one line, and cannot be missing from `ALL` or lack a name.
macro_rules! define_finding_kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal),* $(,)?) => {
        /// The kinds of defects. Findings on the same line are reported in this order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum FindingKind {
            $($(#[$doc])* $kind,)*
        }

        impl FindingKind {
            /// All kinds.
            pub const ALL: &'static [FindingKind] = &[$(FindingKind::$kind),*];

            /// Returns the name of the kind in `--json`.
            pub fn name(self) -> &'static str {
                match self {
                    $(FindingKind::$kind => $name,)*
                }
            }
        }
    };
}

define_finding_kinds! {
    /// A byte order mark before the first line.
    ByteOrderMark = "byte-order-mark",
    /// oh-my-pi's title line is not 256 bytes wide.
    TitleWidth = "title-width",
    /// The file does not begin with a header.
    MissingHeader = "missing-header",
    /// The id in the header is not the one in the file's name.
    HeaderId = "header-id",
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
    /// The line is the same as an earlier one.
    RepeatedLine = "repeated-line",
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
    /// A record of the leaf, written by another tool based on pi's library.
    LeafRecord = "leaf-record",
    /// The message has an unknown role, or none.
    UnknownRole = "unknown-role",
    /// The message entry contains no message.
    NoMessage = "no-message",
    /// The message has no content.
    NoContent = "no-content",
    /// The entry lacks a field that its agent reads without checking.
    MissingField = "missing-field",
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
    /// A message between a tool call and its result.
    MessageBeforeResult = "message-before-result",
    /// The entry refers to a blob outside the file.
    BlobReference = "blob-reference",
}

impl FindingKind {
    /// Returns the predicate of a sentence about a damaged line, such as `is not JSON` in "line 5
    /// is not JSON".
    pub fn predicate(self) -> &'static str {
        match self {
            FindingKind::ByteOrderMark => "begins with a byte order mark",
            FindingKind::OddVersion => "has a version that is not a number",
            FindingKind::SecondHeader => "is a second session header",
            FindingKind::MalformedLine | FindingKind::NulBytes => "is not JSON",
            FindingKind::FusedLine => "has several values",
            FindingKind::TornTail => "is incomplete",
            FindingKind::NullLine | FindingKind::NotAnEntry => "is not an entry",
            FindingKind::InvalidUtf8 => "contains bytes that are not UTF-8",
            FindingKind::MissingId => "has no id",
            FindingKind::RepeatedLine => "is the same as an earlier line",
            FindingKind::DuplicateId => "has the id of another line",
            FindingKind::MissingParent => "names a parent that does not exist",
            FindingKind::SelfParent | FindingKind::ParentCycle => "is its own ancestor",
            _ => "is damaged",
        }
    }

    /// Returns the sentence of [`FindingKind::describe_lines`] about damaged lines.
    pub fn describe_damaged(self, lines: DamagedLines) -> String {
        self.describe_lines(lines.first, lines.count)
    }

    /// Returns the sentence with which every command reports damaged lines:
    /// `line 5 is not JSON (and 3 more)`. `count` is their number, and `first` the first of them.
    pub fn describe_lines(self, first: LineNo, count: u32) -> String {
        // Only the last line can be torn, so its number is not needed.
        let subject = if self == FindingKind::TornTail {
            "the last line".to_owned()
        } else {
            format!("line {}", first.0)
        };
        let predicate = self.predicate();
        match count {
            0 | 1 => format!("{subject} {predicate}"),
            _ => format!("{subject} {predicate} (and {} more)", count - 1),
        }
    }
}
