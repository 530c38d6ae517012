//! The consequences of a file's defects in pi. They were observed in the running agent; see
//! `docs/format.md`.

use crate::session::Format;
use crate::session::defect::FindingKind;
use crate::session::defect::Severity::{self, Error, Note, Warning};

/// Returns the severity of a defect in pi and its consequence for the user. Some kinds have a form
/// or position that does more harm; `is_worst_case` selects the consequence of that.
pub fn assess_defect(
    kind: FindingKind,
    format: Format,
    is_worst_case: bool,
) -> (Severity, &'static str) {
    let is_old_format = format != Format::V3;
    match kind {
        FindingKind::ByteOrderMark => (Error, "pi does not open the session"),
        FindingKind::TitleWidth => (
            Error,
            "renaming the session overwrites its header, and oh-my-pi never opens it again",
        ),
        FindingKind::MissingHeader => (Error, "no agent opens the session"),
        FindingKind::HeaderId => (Note, "the agents use the id in the header"),
        FindingKind::OddVersion if is_worst_case => (
            Note,
            "both agents read and migrate the file as an older version",
        ),
        FindingKind::OddVersion => (Note, "both agents treat the file as current"),
        FindingKind::OldVersion => (
            Note,
            "pi rewrites the whole file in place when it opens it; a crash then loses it",
        ),
        FindingKind::SecondHeader if is_worst_case => (
            Warning,
            "pi ignores it; oh-my-pi treats it as the leaf and opens the session empty",
        ),
        FindingKind::SecondHeader => (Warning, "pi ignores it; oh-my-pi treats it as an entry"),
        FindingKind::MalformedLine | FindingKind::NulBytes if is_old_format => (
            Error,
            "its content is lost: pi deletes the line when it opens the session",
        ),
        FindingKind::MalformedLine | FindingKind::NulBytes => (
            Error,
            "its content is lost to pi, and the session opens incomplete if it has children",
        ),
        FindingKind::TornTail => (
            Error,
            "its content is lost; an older pi also loses the next message, which it appends to this line",
        ),
        FindingKind::FusedLine => (Error, "everything on the line is lost to pi"),
        FindingKind::NoFinalNewline => (
            Warning,
            "pi adds the newline; pi before 0.87 appends the next entry to this line and loses both",
        ),
        FindingKind::NullLine => (
            Warning,
            "pi skips it; pi before 0.87 and oh-my-pi do not open the session",
        ),
        FindingKind::NotAnEntry if is_worst_case => (
            Error,
            "the agent treats it as the leaf and opens the session empty",
        ),
        FindingKind::NotAnEntry => (
            Warning,
            "the agent shows it as an empty entry outside of the conversation",
        ),
        FindingKind::InvalidUtf8 => (
            Warning,
            "pi shows U+FFFD, and writes that when it rewrites the file",
        ),
        FindingKind::MixedLineEnds => (Note, "the agents read both"),
        FindingKind::DeepNesting if is_old_format => (
            Error,
            "pi fails to rewrite the file when it opens it and leaves it truncated",
        ),
        FindingKind::DeepNesting => (Note, "pi cannot write the value again"),
        _ => assess_parent_defect(kind, is_worst_case),
    }
}

/// Returns the severity and the consequence of a defect of ids or parents, or of content.
///
/// `is_worst_case` means that the defect has the form or position that does most harm, such as a
/// missing id of the last entry, or a cycle on the path to the leaf. `ops::check` decides this for
/// each kind.
fn assess_parent_defect(kind: FindingKind, is_worst_case: bool) -> (Severity, &'static str) {
    match kind {
        FindingKind::MissingId | FindingKind::OddId if is_worst_case => (
            Error,
            "the agent has no leaf to continue from: the session opens incomplete",
        ),
        FindingKind::MissingId | FindingKind::OddId => {
            (Warning, "the agent cannot reach the entry")
        }
        FindingKind::DuplicateId if is_worst_case => (Error, "drawing the tree never ends"),
        FindingKind::DuplicateId => (
            Warning,
            "the later one takes precedence; the tree shows it twice, and this one not at all",
        ),
        FindingKind::MissingParent if is_worst_case => (
            Warning,
            "the session opens incomplete: the path ends here, and earlier entries are not seen",
        ),
        FindingKind::MissingParent => (Warning, "the tree shows the entry as another root"),
        FindingKind::OddParent => (Warning, "the agent finds no parent, and the path ends here"),
        FindingKind::ForwardParent => (Note, "the agents read it"),
        FindingKind::SelfParent | FindingKind::ParentCycle if is_worst_case => (
            Error,
            "pi loops until its memory is full, and does not open the session",
        ),
        FindingKind::SelfParent => (Warning, "the agent hangs when it moves there"),
        FindingKind::ParentCycle => (
            Warning,
            "the tree does not show the entry, and the agent hangs when it moves there",
        ),
        FindingKind::SeveralRoots if is_worst_case => (
            Warning,
            "the model sees only the ancestors of the last entry",
        ),
        FindingKind::SeveralRoots => (Note, "each starts a conversation of its own"),
        _ => assess_content_defect(kind, is_worst_case),
    }
}

/// Returns the severity and the consequence of a defect of an entry's content.
fn assess_content_defect(kind: FindingKind, is_worst_case: bool) -> (Severity, &'static str) {
    match kind {
        FindingKind::UnknownType => (Note, "the agents keep it and show an empty row"),
        FindingKind::LeafRecord if is_worst_case => (
            Note,
            "the agents treat the record itself as the leaf, and continue from it",
        ),
        FindingKind::LeafRecord => (
            Note,
            "the agents treat it as an entry and show an empty row",
        ),
        FindingKind::UnknownRole => (Note, "the message is not sent to the model"),
        FindingKind::NoMessage => (
            Error,
            "the agent opens the session and fails when it builds the context",
        ),
        FindingKind::NoContent if is_worst_case => (
            Note,
            "pi treats it as empty; oh-my-pi opens the session and fails when it builds the context",
        ),
        FindingKind::NoContent => (
            Note,
            "pi treats it as empty; older versions send it without content",
        ),
        FindingKind::MissingField => (
            Warning,
            "the agent reads it without checking, and may fail or show it as undefined",
        ),
        FindingKind::BadTimestamp => (Warning, "the tree may show it out of order"),
        FindingKind::TimeRunsBackwards => (Note, "the agents follow the parents, not the time"),
        FindingKind::LabelOnNothing => (Note, "the label is not shown"),
        FindingKind::KeptEntryUnknown => (
            Warning,
            "nothing before the compaction is kept: the context is incomplete",
        ),
        FindingKind::EmptySummary => (Warning, "the model does not see what was summarized"),
        FindingKind::ResultWithoutCall => (Warning, "a model provider may refuse the conversation"),
        FindingKind::MessageBeforeResult if is_worst_case => (
            Error,
            "the model's provider refuses every later request: a result must follow its call",
        ),
        FindingKind::MessageBeforeResult => (
            Warning,
            "the model's provider refuses the conversation where it is sent again",
        ),
        FindingKind::CallWithoutResult => (
            Note,
            "the agent reports to the model that there was no result",
        ),
        FindingKind::BlobReference => (
            Note,
            "the content is in oh-my-pi's blob store; without it, the model gets only the reference",
        ),
        _ => (Note, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_defect_has_a_consequence() {
        for &kind in FindingKind::ALL {
            assert!(
                !assess_defect(kind, Format::V3, false).1.is_empty(),
                "{kind:?}"
            );
        }
    }
}
