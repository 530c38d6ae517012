//! Entry references: `@`, `root`, `:12`, `id:X`, `label:X`, an id, a label, a prefix of an id, and
//! the suffixes `^`, `~3`, `^{user}`. `-`, the previous leaf, is resolved elsewhere, because marks
//! record it.
//!
//! The whole string is tried first; then suffixes are removed from the right, so that an id that
//! ends like a suffix can still be given. Everything is case-sensitive.

use super::entry::{EntryIx, LineNo};
use super::labels::Labels;
use crate::session::Session;
use pisess_json::text::Text;

/// The reference to the leaf.
pub const LEAF_REFERENCE: &str = "@";

/// The reference to the leaf before its last move.
pub const PREVIOUS_REFERENCE: &str = "-";

/// A position in the conversation: an entry, or `None` for `root`, before the first entry.
pub type Position = Option<EntryIx>;

/// The length of the shortest id prefix that names an entry, in characters.
pub(super) const SHORTEST_PREFIX: usize = 4;

/// The number of candidates named in an error.
const MAX_CANDIDATES: usize = 5;

/// Why a reference does not name exactly one entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// No entry has this id or label.
    #[error("no entry or label {name:?}")]
    Unknown {
        /// The name.
        name: String,
        /// Similar ids and labels.
        similar: Vec<String>,
    },
    /// More than one entry matches.
    #[error("{name:?} matches several entries: {}", candidates.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// The ids of the first few that match.
        candidates: Vec<String>,
        /// Whether they match by their label.
        is_label: bool,
    },
    /// It is a prefix of ids, but too short.
    #[error("{name:?} is too short for an id prefix")]
    Short {
        /// The prefix.
        name: String,
        /// The first few ids with this prefix.
        candidates: Vec<String>,
    },
    /// There is no entry of the requested kind at or above the position.
    #[error("no entry at or above {name:?} has the role or type {kind:?}")]
    NoneOfKind {
        /// The reference without the suffix.
        name: String,
        /// The kind.
        kind: String,
        /// The ids of the last few such entries, which are below it or on other branches.
        elsewhere: Vec<String>,
    },
    /// There is no entry on the line.
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
            ReferenceError::Unknown { name, .. } if matches!(&**name, "HEAD" | "@-") => {
                "the leaf is @, its parent @^; see `pisess --help` for all forms".to_owned()
            }
            ReferenceError::Unknown { name, .. } if is_file_name(name) => {
                "an entry is expected; the path of an output is given with -o".to_owned()
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
            ReferenceError::NoEntryOnLine { .. } => {
                "`pisess tree --filter all --json` lists the lines".to_owned()
            }
        }
    }
}

/// Whether a name is more likely that of a file to write than of an entry.
fn is_file_name(name: &str) -> bool {
    [".jsonl", ".json", ".md", ".html"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// What is after a position in a reference.
enum Suffix<'a> {
    /// `^` or `~3`: this many parents up.
    Up(usize),
    /// `^{user}`: the nearest entry, at or above, with this role or type.
    Nearest(&'a str),
}

/// Returns the position that `reference` names.
///
/// `@`, `@^` and `@~3` start at `leaf`, which may be above the leaf of the session. `@^{label}`
/// starts at the leaf of the session, so that it also finds entries between the two.
///
/// # Errors
/// If it names no entry, or more than one.
pub fn resolve_reference(
    session: &Session,
    leaf: Position,
    reference: &str,
) -> Result<Position, ReferenceError> {
    let labels = Labels::new(session);

    // Remove suffixes from the right, until what remains names a position.
    let mut base = reference;
    let mut suffixes = Vec::new();
    let mut position = loop {
        if base == LEAF_REFERENCE {
            break leaf;
        }
        if let NamedPosition::Found(position) = resolve_name(session, &labels, base)? {
            break position;
        }
        let Some((before_suffix, suffix)) = split_suffix(base) else {
            return Err(unresolved_error(session, &labels, base));
        };
        suffixes.push((before_suffix, suffix));
        base = before_suffix;
    };

    // Follow them from the left: the last one removed is the first after the base.
    while let Some((before_suffix, suffix)) = suffixes.pop() {
        let is_search_from_leaf =
            before_suffix == LEAF_REFERENCE && matches!(suffix, Suffix::Nearest(_));
        let from = if is_search_from_leaf {
            session.leaf
        } else {
            position
        };
        position = follow_suffix(session, from, before_suffix, &suffix)?;
    }
    Ok(position)
}

/// Whether a string has a form of reference other than an id or a label; labels of such a form are
/// refused.
pub fn is_reference_form(name: &str) -> bool {
    let prefixed = [":", "id:", "label:"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    prefixed
        || matches!(name, LEAF_REFERENCE | "root" | PREVIOUS_REFERENCE)
        || split_suffix(name).is_some()
}

/// What a name without suffixes refers to.
enum NamedPosition {
    Found(Position),
    NotFound,
}

/// Resolves a reference without suffixes, other than `@`. Of several meanings the first counts:
/// `root`, `:` and a line, and then those of [`find_named_entry`].
fn resolve_name(
    session: &Session,
    labels: &Labels,
    name: &str,
) -> Result<NamedPosition, ReferenceError> {
    if name == "root" {
        return Ok(NamedPosition::Found(None));
    }
    if let Some(line) = name.strip_prefix(':')
        && let Ok(line) = line.parse()
    {
        let line = LineNo(line);
        return match session.entry_on_line(line) {
            Some(ix) => Ok(NamedPosition::Found(Some(ix))),
            None => Err(ReferenceError::NoEntryOnLine { line }),
        };
    }
    match find_named_entry(session, labels, name)? {
        Some(ix) => Ok(NamedPosition::Found(Some(ix))),
        None => Ok(NamedPosition::NotFound),
    }
}

/// Returns the entry that a label or an id names, if there is one. Of several meanings the first
/// counts: a label or an id with its prefix (`label:`, `id:`), a whole id, a whole label, the start
/// of an id.
fn find_named_entry(
    session: &Session,
    labels: &Labels,
    name: &str,
) -> Result<Option<EntryIx>, ReferenceError> {
    // An id or label may itself begin with `label:` or `id:`. If nothing is found without the
    // prefix, the name is looked up with it.
    if let Some(label) = name.strip_prefix("label:")
        && let Some(ix) = find_by_label(session, labels, label)?
    {
        return Ok(Some(ix));
    }
    if let Some(id) = name.strip_prefix("id:")
        && let Some(ix) = session.find_entry(&Text::from(id))
    {
        return Ok(Some(ix));
    }

    if let Some(ix) = session.find_entry(&Text::from(name)) {
        return Ok(Some(ix));
    }
    if let Some(ix) = find_by_label(session, labels, name)? {
        return Ok(Some(ix));
    }
    if name.chars().count() < SHORTEST_PREFIX {
        return Ok(None);
    }
    find_by_id_prefix(session, name)
}

/// Returns the only entry with a label; an error if there are several.
fn find_by_label(
    session: &Session,
    labels: &Labels,
    label: &str,
) -> Result<Option<EntryIx>, ReferenceError> {
    let labelled = labels.entries_with_label(&Text::from(label));
    require_single(session, labelled).map_err(|candidates| ReferenceError::Ambiguous {
        name: label.to_owned(),
        candidates,
        is_label: true,
    })
}

/// Returns the only entry whose id begins with `prefix`; an error if there are several. Entries
/// with the same id count as one, and the id refers to the last.
fn find_by_id_prefix(session: &Session, prefix: &str) -> Result<Option<EntryIx>, ReferenceError> {
    let mut entries = Vec::new();
    for ix in session.entry_indexes() {
        let id = session.id(ix);
        if id.as_bytes().starts_with(prefix.as_bytes()) && session.find_entry(&id) == Some(ix) {
            entries.push(ix);
        }
    }
    require_single(session, entries).map_err(|candidates| ReferenceError::Ambiguous {
        name: prefix.to_owned(),
        candidates,
        is_label: false,
    })
}

/// Returns the only one of these entries, or an error with the ids of several.
fn require_single(
    session: &Session,
    entries: Vec<EntryIx>,
) -> Result<Option<EntryIx>, Vec<String>> {
    match entries[..] {
        [] => Ok(None),
        [ix] => Ok(Some(ix)),
        _ => Err(candidate_ids(session, entries)),
    }
}

/// Returns the ids of the first few entries.
fn candidate_ids(session: &Session, entries: impl IntoIterator<Item = EntryIx>) -> Vec<String> {
    entries
        .into_iter()
        .take(MAX_CANDIDATES)
        .map(|ix| session.id(ix).to_string())
        .collect()
}

/// Splits the last suffix from a reference; `None` if there is none. `~` alone is `~1`.
fn split_suffix(reference: &str) -> Option<(&str, Suffix<'_>)> {
    if let Some(unclosed) = reference.strip_suffix('}') {
        let (before, kind) = unclosed.rsplit_once("^{")?;
        return Some((before, Suffix::Nearest(kind)));
    }
    if let Some(before) = reference.strip_suffix('^') {
        return Some((before, Suffix::Up(1)));
    }
    let (before, steps) = reference.rsplit_once('~')?;
    let steps = if steps.is_empty() {
        1
    } else {
        steps.parse().ok()?
    };
    Some((before, Suffix::Up(steps)))
}

/// Returns the position to which a suffix leads from another. More steps up than there are parents
/// lead to `root`; a kind that no entry at or above has is an error, which names `reference`, the
/// part before the suffix.
fn follow_suffix(
    session: &Session,
    from: Position,
    reference: &str,
    suffix: &Suffix,
) -> Result<Position, ReferenceError> {
    let mut upwards = session.ancestors(from);
    match *suffix {
        Suffix::Up(steps) => Ok(upwards.nth(steps)),
        Suffix::Nearest(kind) => {
            if let Some(nearest) = upwards.find(|&ix| is_of_kind(session, ix, kind)) {
                return Ok(Some(nearest));
            }
            let from_last = session.entry_indexes().rev();
            let elsewhere = from_last.filter(|&ix| is_of_kind(session, ix, kind));
            Err(ReferenceError::NoneOfKind {
                name: reference.to_owned(),
                kind: kind.to_owned(),
                elsewhere: candidate_ids(session, elsewhere),
            })
        }
    }
}

/// Whether an entry has this type, or its message this role.
fn is_of_kind(session: &Session, ix: EntryIx, kind: &str) -> bool {
    session.kind_name(ix) == *kind || session.role_name(ix).is_some_and(|role| role == *kind)
}

/// The maximum difference in bytes between a name and a similar one. The distance is computed only
/// for names of about the same length.
const LENGTH_DIFFERENCE: usize = 2;
/// The maximum number of similar names to suggest.
const MAX_SUGGESTIONS: usize = 3;

/// Returns the error for a name that is neither an id nor a label: `Short`, with the ids that begin
/// with it, if it is only too short for a prefix; otherwise `Unknown`, with similar names.
fn unresolved_error(session: &Session, labels: &Labels, name: &str) -> ReferenceError {
    let wanted = name
        .strip_prefix("id:")
        .or(name.strip_prefix("label:"))
        .unwrap_or(name);

    if !wanted.is_empty() && wanted.chars().count() < SHORTEST_PREFIX {
        let entries_with_prefix = session
            .entry_indexes()
            .filter(|&ix| session.id(ix).as_bytes().starts_with(wanted.as_bytes()));
        let candidates = candidate_ids(session, entries_with_prefix);
        if !candidates.is_empty() {
            return ReferenceError::Short {
                name: wanted.to_owned(),
                candidates,
            };
        }
    }
    ReferenceError::Unknown {
        name: wanted.to_owned(),
        similar: similar_names(session, labels, wanted),
    }
}

/// Returns at most [`MAX_SUGGESTIONS`] ids and labels whose spelling is similar to a name, the most
/// similar first: they differ by one edit, or by one more for each six characters of the name.
fn similar_names(session: &Session, labels: &Labels, wanted: &str) -> Vec<String> {
    let most_edits = 1 + wanted.chars().count() / 6;
    let all_ids = session.entry_indexes().map(|ix| session.id(ix));
    let all_labels = labels.iter().map(|(_, change)| session.text(change.name));

    let mut similar = Vec::new();
    for candidate in all_ids.chain(all_labels) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_no_names() {
        for form in [
            "@", "root", "-", ":12", ":x", "id:a", "label:", "a^", "a~", "a~3", "a^{user}", "^",
        ] {
            assert!(is_reference_form(form), "{form}");
        }
        for name in ["a", "@done", "rooted", "a~b", "x^y", "{a}", "a:12", "~/x"] {
            assert!(!is_reference_form(name), "{name}");
        }
    }
}
