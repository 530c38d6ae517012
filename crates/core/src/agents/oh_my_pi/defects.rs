//! The consequences of a file's defects in oh-my-pi, if they differ from those in pi. They were
//! observed in the running agent; see `docs/format.md`.

use crate::session::defect::{Assessment, FindingKind, error, note, warning};

/// Returns how bad a defect is in oh-my-pi, and its consequence for the user; `None` if both are
/// the same as in pi. Some kinds have a form or position that does more harm; `is_worst_case`
/// selects the consequence of that.
pub fn assess_defect(kind: FindingKind, is_worst_case: bool) -> Option<Assessment> {
    Some(match kind {
        FindingKind::ByteOrderMark => error("oh-my-pi opens it, but every later rewrite fails"),
        FindingKind::OldVersion => note("oh-my-pi rewrites the whole file at the first change"),
        FindingKind::SecondHeader => {
            if is_worst_case {
                error("oh-my-pi treats it as the leaf and opens the session empty")
            } else {
                warning("oh-my-pi treats it as an entry")
            }
        }
        FindingKind::MalformedLine | FindingKind::NulBytes | FindingKind::TornTail => {
            error("its content is lost: oh-my-pi deletes the line at its next write")
        }
        FindingKind::FusedLine => {
            error("oh-my-pi reads the first value and deletes the rest at its next write")
        }
        FindingKind::NoFinalNewline => {
            error("oh-my-pi appends the next entry to this line and loses it")
        }
        FindingKind::NullLine => error("oh-my-pi does not open the session"),
        FindingKind::InvalidUtf8 => error(
            "oh-my-pi shows U+FFFD, and every rewrite fails: later entries stay in memory only",
        ),
        FindingKind::SelfParent if is_worst_case => error("the tree selector of oh-my-pi hangs"),
        FindingKind::ParentCycle if is_worst_case => {
            error("oh-my-pi stops where the cycle closes; earlier entries are not seen")
        }
        FindingKind::NoContent => {
            if is_worst_case {
                error("oh-my-pi opens the session and fails when it builds the context")
            } else {
                warning("oh-my-pi sends it without content")
            }
        }
        FindingKind::MessageBeforeResult => {
            note("oh-my-pi sends the result before it; pi does not")
        }
        _ => return None,
    })
}
