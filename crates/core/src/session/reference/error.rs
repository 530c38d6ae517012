//! Why a reference names no entry, and what to try instead.

use super::text::TextReference;
use super::{ANSWER_KIND, SHORTEST_PREFIX, candidate_ids, is_text_reference};
use crate::session::Session;
use crate::session::entry::{EntryIx, LineNo};
use crate::session::labels::Labels;
use std::io;

/// Why a reference does not name exactly one entry.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceError {
    /// A line cannot be read.
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    /// No entry has this id or label.
    #[error("no entry or label {name:?}")]
    Unknown {
        /// The name.
        name: String,
        /// Similar ids and labels.
        similar: Vec<String>,
    },
    /// No entry of the conversation contains the text of `:/TEXT`. Or fewer entries on the path to
    /// the leaf contain it than `:2/TEXT` counts.
    #[error("{}", describe_not_found(text, *number))]
    NotFound {
        /// The text.
        text: String,
        /// The number before the text, as 2 in `:2/TEXT`.
        number: Option<usize>,
    },
    /// The name matches more than one entry.
    #[error("{name:?} matches several entries: {}", candidates.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// The ids of the first few that match.
        candidates: Vec<String>,
        /// Whether the name is the label of these entries, rather than a prefix of their ids.
        is_label: bool,
    },
    /// The name is a prefix of ids, but too short.
    #[error("{name:?} is too short for an id prefix")]
    Short {
        /// The prefix.
        name: String,
        /// The first few ids with this prefix.
        candidates: Vec<String>,
    },
    /// Neither the position nor an ancestor is an entry of the requested kind.
    #[error("{}", describe_none_of_kind(name, kind))]
    NoneOfKind {
        /// The reference without the suffix.
        name: String,
        /// The kind.
        kind: String,
        /// The ids of the last few entries of this kind in the file, which are below the position
        /// or on other branches.
        elsewhere: Vec<String>,
    },
    /// Fewer entries than requested follow the position.
    #[error("{}", describe_too_few(name, *count))]
    TooFewAfter {
        /// The reference without the suffix.
        name: String,
        /// The number of entries that follow the position.
        count: usize,
    },
    /// The session has no entries.
    #[error("the session has no entries")]
    NoEntries,
    /// A range has no start.
    #[error("the range has no start")]
    RangeWithoutStart {
        /// The end.
        end: String,
    },
    /// A range contains no entry.
    #[error("{given} contains no entry")]
    EmptyRange {
        /// The argument that selected the range.
        given: String,
    },
    /// The end of a range is above its start.
    #[error("{end:?} is above {start:?}")]
    RangeReversed {
        /// The start.
        start: String,
        /// The end.
        end: String,
    },
    /// The ends of a range are on different branches.
    #[error("{start:?} and {end:?} are on different branches")]
    RangeAcrossBranches {
        /// The start.
        start: String,
        /// The end.
        end: String,
        /// The id of the last entry on both paths, or `root`.
        branch_point: String,
    },
    /// The line has no entry.
    #[error("no entry on line {}", line.0)]
    NoEntryOnLine {
        /// The line.
        line: LineNo,
    },
}

impl ReferenceError {
    /// Returns the hint that is printed below the error: what to try instead.
    pub fn hint(&self) -> String {
        match self {
            ReferenceError::Unreadable(_) => {
                "check the disk, and run the command again".to_owned()
            }
            ReferenceError::NotFound { .. } => {
                "`pisess grep` also searches for expressions; `pisess tree` lists the entries".to_owned()
            }
            ReferenceError::Unknown { name, .. } if matches!(&**name, "HEAD" | "@-") => {
                "the current entry is @, the one before it @^; see `pisess --help` for all forms".to_owned()
            }
            ReferenceError::Unknown { name, .. } if is_text_reference(name) => {
                "give words of the entry, such as ':/the failing test'".to_owned()
            }
            ReferenceError::Unknown { name, .. } if is_file_at_entry(name) => {
                "`pisess show --file PATH SESSION REF` prints a file as it was at REF".to_owned()
            }
            ReferenceError::Unknown { name, .. } if is_file_name(name) => {
                "an entry is expected; the path of an output is given with -o".to_owned()
            }
            ReferenceError::Unknown { name, similar } if similar.is_empty() && name.contains(' ') => {
                "`':/WORDS'` is the newest entry that contains these words".to_owned()
            }
            ReferenceError::Unknown { similar, .. } if similar.is_empty() => {
                "`pisess tree --filter all` lists the ids".to_owned()
            }
            ReferenceError::Unknown { similar, .. } => format!("did you mean {}?", similar.join(" or ")),
            ReferenceError::Ambiguous { is_label: true, .. } => {
                "several entries have this label; name one of them by its id".to_owned()
            }
            ReferenceError::Ambiguous { .. } => "give more of the id, or its line as `:12`".to_owned(),
            ReferenceError::Short { candidates, .. } => {
                format!("give at least {SHORTEST_PREFIX} characters of the id: {}", candidates.join(", "))
            }
            ReferenceError::NoneOfKind { elsewhere, .. } if !elsewhere.is_empty() => {
                format!("elsewhere in the tree: {}", elsewhere.join(", "))
            }
            ReferenceError::NoneOfKind { .. } => {
                "`pisess path` lists the entries above, `pisess tree` also other branches; a role is, for example, user, and a type compaction"
                    .to_owned()
            }
            ReferenceError::TooFewAfter { .. } => {
                "`pisess show --children` lists what follows on every branch".to_owned()
            }
            ReferenceError::NoEntries => "the conversation is empty".to_owned(),
            ReferenceError::RangeWithoutStart { end } => {
                format!("for everything up to the end, give root..{end}")
            }
            ReferenceError::EmptyRange { .. } => {
                "a range begins after its first REF; `pisess path` lists the entries".to_owned()
            }
            ReferenceError::RangeReversed { start, end } => {
                format!("a range goes down the path: {end}..{start}")
            }
            ReferenceError::RangeAcrossBranches { end, branch_point, .. } => {
                format!("a range is on one path, such as {branch_point}..{end}, which begins where they part")
            }
            ReferenceError::NoEntryOnLine { .. } => {
                "`pisess tree --filter all --json` lists the lines".to_owned()
            }
        }
    }
}

/// Whether a name has the form with which git names a file of a commit: `REF:PATH`.
fn is_file_at_entry(name: &str) -> bool {
    match name.split_once(':') {
        Some((entry, path)) => !entry.is_empty() && path.contains(['/', '.']),
        None => false,
    }
}

/// Whether a name looks like that of a file to write, rather than that of an entry.
fn is_file_name(name: &str) -> bool {
    [".jsonl", ".json", ".md", ".html"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn describe_not_found(text: &str, number: Option<usize>) -> String {
    match number {
        None => format!("no entry of the conversation contains {text:?}"),
        Some(1) => format!("no entry on the path to the leaf contains {text:?}"),
        Some(number) => {
            format!("fewer than {number} entries on the path to the leaf contain {text:?}")
        }
    }
}

fn describe_none_of_kind(name: &str, kind: &str) -> String {
    if kind == ANSWER_KIND {
        return format!("no assistant message at or above {name:?} ended normally with a text");
    }
    format!("no entry at or above {name:?} has the role or type {kind:?}")
}

fn describe_too_few(name: &str, count: usize) -> String {
    match count {
        0 => format!("no entry follows {name:?}"),
        1 => format!("only 1 entry follows {name:?}"),
        count => format!("only {count} entries follow {name:?}"),
    }
}

/// The maximum difference in length, in bytes, between a name and a candidate that is compared with
/// it. To compare all candidates would take long.
const LENGTH_DIFFERENCE: usize = 2;
/// The maximum number of similar names to suggest.
const MAX_SUGGESTIONS: usize = 3;

/// Returns the error for a reference that no entry matches:
///
/// - [`ReferenceError::NotFound`] if it asks for a text
/// - [`ReferenceError::Short`] if it is the start of ids, but shorter than [`SHORTEST_PREFIX`]: the
///   error lists these ids
/// - [`ReferenceError::Unknown`] for any other id or label: the error suggests similar names
pub(super) fn unresolved_error(
    session: &Session,
    labels: &Labels,
    reference: &str,
) -> ReferenceError {
    if let Some(TextReference { number, text }) = TextReference::parse(reference)
        && !text.trim().is_empty()
    {
        return ReferenceError::NotFound {
            text: text.to_owned(),
            number,
        };
    }

    let name = reference
        .strip_prefix("id:")
        .or(reference.strip_prefix("label:"))
        .unwrap_or(reference);
    if name.chars().count() < SHORTEST_PREFIX {
        let candidates = ids_with_prefix(session, name);
        if !candidates.is_empty() {
            return ReferenceError::Short {
                name: name.to_owned(),
                candidates,
            };
        }
    }
    ReferenceError::Unknown {
        name: name.to_owned(),
        similar: similar_names(session, labels, name),
    }
}

/// Returns the ids that begin with `prefix`, as [`candidate_ids`] lists them. None begins with an
/// empty prefix.
fn ids_with_prefix(session: &Session, prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return Vec::new();
    }
    let has_prefix = |ix: &EntryIx| session.id(*ix).as_bytes().starts_with(prefix.as_bytes());
    candidate_ids(session, session.entry_indexes().filter(has_prefix))
}

/// Returns the ids and labels that are spelled almost like a name, at most [`MAX_SUGGESTIONS`], the
/// most similar first. They may differ by one edit, and one more for every six characters of the
/// name.
fn similar_names(session: &Session, labels: &Labels, wanted: &str) -> Vec<String> {
    let most_edits = 1 + wanted.chars().count() / 6;
    let all_ids = session.entry_indexes().map(|ix| session.id(ix));
    let all_labels = labels.iter().map(|(_, change)| session.text(change.name));

    // The distance comes first in each pair, so that sorting puts the most similar name first.
    let mut similar = Vec::new();
    for candidate in all_ids.chain(all_labels) {
        // Comparing takes long, so candidates of quite another length are passed over.
        if candidate.as_bytes().len().abs_diff(wanted.len()) > LENGTH_DIFFERENCE {
            continue;
        }
        let distance = strsim::osa_distance(wanted, &candidate.to_string_lossy());
        if distance <= most_edits {
            similar.push((distance, candidate.to_string()));
        }
    }
    similar.sort();
    similar.dedup();
    similar.truncate(MAX_SUGGESTIONS);
    similar.into_iter().map(|(_, name)| name).collect()
}
