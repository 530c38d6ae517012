//! The consequences of a file's defects in pi. They were observed in the running agent; see
//! `docs/format.md`.

use crate::session::Format;
use crate::session::defect::{Assessment, FindingKind, error, note, warning};

/// The consequence of a cycle of parents on the path to the leaf.
const OPENING_NEVER_ENDS: &str = "pi loops until its memory is full, and does not open the session";

/// Returns how bad a defect is in pi, and its consequence for the user. Some kinds have a form or
/// position that does more harm; `is_worst_case` selects the consequence of that.
pub fn assess_defect(kind: FindingKind, format: Format, is_worst_case: bool) -> Assessment {
    let is_old_format = format != Format::V3;
    match kind {
        FindingKind::ByteOrderMark => error("pi does not open the session"),
        FindingKind::TitleWidth => {
            error("renaming the session overwrites its header, and oh-my-pi never opens it again")
        }
        FindingKind::MissingHeader => error("no agent opens the session"),
        FindingKind::HeaderId => note("the agents use the id in the header"),
        FindingKind::OddVersion => {
            if is_worst_case {
                note("both agents read and migrate the file as an older version")
            } else {
                note("both agents treat the file as current")
            }
        }
        FindingKind::OldVersion => {
            note("pi rewrites the whole file in place when it opens it; a crash then loses it")
        }
        FindingKind::SecondHeader => {
            if is_worst_case {
                warning("pi ignores it; oh-my-pi treats it as the leaf and opens the session empty")
            } else {
                warning("pi ignores it; oh-my-pi treats it as an entry")
            }
        }
        FindingKind::MalformedLine | FindingKind::NulBytes => {
            if is_old_format {
                error("its content is lost: pi deletes the line when it opens the session")
            } else {
                error(
                    "its content is lost to pi, and the session opens incomplete if it has children",
                )
            }
        }
        FindingKind::TornTail => error(
            "its content is lost; an older pi also loses the next message, which it appends to this line",
        ),
        FindingKind::FusedLine => error("everything on the line is lost to pi"),
        FindingKind::NoFinalNewline => warning(
            "pi adds the newline; pi before 0.87 appends the next entry to this line and loses both",
        ),
        FindingKind::NullLine => {
            warning("pi skips it; pi before 0.87 and oh-my-pi do not open the session")
        }
        FindingKind::NotAnEntry => {
            if is_worst_case {
                error("the agent treats it as the leaf and opens the session empty")
            } else {
                warning("the agent shows it as an empty entry outside of the conversation")
            }
        }
        FindingKind::InvalidUtf8 => {
            warning("pi shows U+FFFD, and writes that when it rewrites the file")
        }
        FindingKind::MixedLineEnds => note("the agents read both"),
        FindingKind::DeepNesting => {
            if is_old_format {
                error("pi fails to rewrite the file when it opens it and leaves it truncated")
            } else {
                note("pi cannot write the value again")
            }
        }
        _ => assess_parent_defect(kind, is_worst_case),
    }
}

/// Assesses a defect of ids or parents, or of content.
///
/// `is_worst_case` means that the defect has the form or position that does most harm, such as a
/// missing id of the last entry, or a cycle on the path to the leaf. `ops::check` decides this for
/// each kind.
fn assess_parent_defect(kind: FindingKind, is_worst_case: bool) -> Assessment {
    match kind {
        FindingKind::MissingId | FindingKind::OddId => {
            if is_worst_case {
                error("the agent has no leaf to continue from: the session opens incomplete")
            } else {
                warning("the agent cannot reach the entry")
            }
        }
        FindingKind::RepeatedLine => warning("the tree shows the entry twice"),
        FindingKind::DuplicateId => {
            if is_worst_case {
                error("drawing the tree never ends")
            } else {
                warning(
                    "the later one takes precedence; the tree shows it twice, and this one not at all",
                )
            }
        }
        FindingKind::MissingParent => {
            if is_worst_case {
                warning(
                    "the session opens incomplete: the path ends here, and earlier entries are not seen",
                )
            } else {
                warning("the tree shows the entry as another root")
            }
        }
        FindingKind::OddParent => warning("the agent finds no parent, and the path ends here"),
        FindingKind::ForwardParent => note("the agents read it"),
        FindingKind::SelfParent => {
            if is_worst_case {
                error(OPENING_NEVER_ENDS)
            } else {
                warning("the agent hangs when it moves there")
            }
        }
        FindingKind::ParentCycle => {
            if is_worst_case {
                error(OPENING_NEVER_ENDS)
            } else {
                warning("the tree does not show the entry, and the agent hangs when it moves there")
            }
        }
        FindingKind::SeveralRoots => {
            if is_worst_case {
                warning("the model sees only the ancestors of the last entry")
            } else {
                note("each starts a conversation of its own")
            }
        }
        _ => assess_content_defect(kind, is_worst_case),
    }
}

/// Assesses a defect of an entry's content. `is_worst_case` means that it has the form or position
/// that does most harm, which `ops::check` decides for each kind.
fn assess_content_defect(kind: FindingKind, is_worst_case: bool) -> Assessment {
    match kind {
        FindingKind::UnknownType => note("the agents keep it and show an empty row"),
        FindingKind::LeafRecord => {
            if is_worst_case {
                note("the agents treat the record itself as the leaf, and continue from it")
            } else {
                note("the agents treat it as an entry and show an empty row")
            }
        }
        FindingKind::UnknownRole => note("the message is not sent to the model"),
        FindingKind::NoMessage => {
            error("the agent opens the session and fails when it builds the context")
        }
        FindingKind::NoContent => {
            if is_worst_case {
                note(
                    "pi treats it as empty; oh-my-pi opens the session and fails when it builds the context",
                )
            } else {
                note("pi treats it as empty; older versions send it without content")
            }
        }
        FindingKind::MissingField => {
            warning("the agent reads it without checking, and may fail or show it as undefined")
        }
        FindingKind::BadTimestamp => warning("the tree may show it out of order"),
        FindingKind::TimeRunsBackwards => note("the agents follow the parents, not the time"),
        FindingKind::LabelOnNothing => note("the label is not shown"),
        FindingKind::KeptEntryUnknown => {
            warning("nothing before the compaction is kept: the context is incomplete")
        }
        FindingKind::EmptySummary => warning("the model does not see what was summarized"),
        FindingKind::ResultWithoutCall => warning("a model provider may refuse the conversation"),
        FindingKind::MessageBeforeResult => {
            if is_worst_case {
                error(
                    "the model's provider refuses every later request: a result must follow its call",
                )
            } else {
                warning("the model's provider refuses the conversation where it is sent again")
            }
        }
        FindingKind::CallWithoutResult => {
            note("the agent reports to the model that there was no result")
        }
        FindingKind::BlobReference => note(
            "the content is in oh-my-pi's blob store; without it, the model gets only the reference",
        ),
        _ => note(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_defect_has_a_consequence() {
        for &kind in FindingKind::ALL {
            assert!(
                !assess_defect(kind, Format::V3, false)
                    .consequence
                    .is_empty(),
                "{kind:?}"
            );
        }
    }
}
