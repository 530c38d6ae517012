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
pub const LEAF: &str = "@";

/// The reference to the leaf before its last move.
pub const PREVIOUS: &str = "-";

/// A position in the conversation: an entry, or `None` for `root`, before the first entry.
pub type Position = Option<EntryIx>;

/// The length of the shortest id prefix that names an entry, in characters.
const SHORTEST_PREFIX: usize = 4;

/// The number of candidates named in an error.
const CANDIDATES: usize = 5;

/// Why a reference does not name exactly one entry.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// No entry has this id or label.
    #[error("no entry or label {name:?}")]
    Unknown {
        /// The name.
        name: String,
        /// Similar ids and labels.
        near: Vec<String>,
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
    /// Returns what to try.
    pub fn hint(&self) -> String {
        match self {
            ReferenceError::Unknown { name, .. } if ["HEAD", "@-"].contains(&&**name) => {
                "the leaf is @, its parent @^; see `pisess --help` for all forms".to_owned()
            }
            ReferenceError::Unknown { name, .. } if is_file_name(name) => {
                "an entry is expected; the path of an output is given with -o".to_owned()
            }
            ReferenceError::Unknown { near, .. } if near.is_empty() => {
                "`pisess tree --filter all` lists the ids".to_owned()
            }
            ReferenceError::Unknown { near, .. } => format!("did you mean {}?", near.join(" or ")),
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

enum Suffix<'a> {
    Up(usize),
    Nearest(&'a str),
}

/// Returns the position that `reference` names. `@`, `@^` and `@~3` start at `leaf`, which may be
/// above the leaf of the session; `@^{label}` starts at that, so that it finds what is between the
/// two.
///
/// # Errors
/// If it names no entry, or more than one.
pub fn resolve(
    session: &Session,
    leaf: Position,
    reference: &str,
) -> Result<Position, ReferenceError> {
    let labels = Labels::new(session);
    let mut base = reference;
    let mut suffixes = Vec::new();
    let mut place = loop {
        if base == LEAF {
            break leaf;
        }
        if let Some(place) = whole(session, &labels, base)? {
            break place;
        }
        match split(base) {
            Some((rest, suffix)) => {
                suffixes.push((rest, suffix));
                base = rest;
            }
            None => return Err(unknown(session, &labels, base)),
        }
    };
    while let Some((name, suffix)) = suffixes.pop() {
        let is_search = name == LEAF && matches!(suffix, Suffix::Nearest(_));
        let from = if is_search { session.leaf } else { place };
        place = follow(session, from, name, &suffix)?;
    }
    Ok(place)
}

/// Whether a string has a form of reference other than an id or a label; labels of such a form are
/// refused.
pub fn is_form(name: &str) -> bool {
    let prefixed = [":", "id:", "label:"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    prefixed || matches!(name, LEAF | "root" | PREVIOUS) || split(name).is_some()
}

/// Resolves a reference without suffixes, other than `@`; returns `None` if it names nothing.
fn whole(
    session: &Session,
    labels: &Labels,
    name: &str,
) -> Result<Option<Position>, ReferenceError> {
    if name == "root" {
        return Ok(Some(None));
    }
    if let Some(line) = name.strip_prefix(':')
        && let Ok(line) = line.parse()
    {
        let line = LineNo(line);
        let found = session.entry_on(line);
        let found = found.ok_or(ReferenceError::NoEntryOnLine { line })?;
        return Ok(Some(Some(found)));
    }

    // An id or label may itself begin with `label:` or `id:`, so that the prefix only comes first.
    if let Some(label) = name.strip_prefix("label:")
        && let Some(ix) = with_label(session, labels, label)?
    {
        return Ok(Some(Some(ix)));
    }
    let with_id = |id: &str| session.find(&Text::from(id));
    if let Some(ix) = name.strip_prefix("id:").and_then(with_id) {
        return Ok(Some(Some(ix)));
    }
    if let Some(ix) = with_id(name) {
        return Ok(Some(Some(ix)));
    }
    if let Some(ix) = with_label(session, labels, name)? {
        return Ok(Some(Some(ix)));
    }

    let is_long_enough = name.chars().count() >= SHORTEST_PREFIX;
    if !is_long_enough {
        return Ok(None);
    }
    match with_id_prefix(session, name)? {
        Some(ix) => Ok(Some(Some(ix))),
        None => Ok(None),
    }
}

/// Returns the only entry with a label.
fn with_label(session: &Session, labels: &Labels, label: &str) -> Result<Position, ReferenceError> {
    let found = labels.named(&Text::from(label));
    one(session, found).map_err(|candidates| ReferenceError::Ambiguous {
        name: label.to_owned(),
        candidates,
        is_label: true,
    })
}

/// Returns the only entry whose id begins with `prefix`. Entries with the same id count as one, and
/// the id refers to the last.
fn with_id_prefix(session: &Session, prefix: &str) -> Result<Position, ReferenceError> {
    let mut found = Vec::new();
    for ix in session.all() {
        let id = session.id(ix);
        if id.as_bytes().starts_with(prefix.as_bytes()) && session.find(&id) == Some(ix) {
            found.push(ix);
        }
    }
    one(session, found).map_err(|candidates| ReferenceError::Ambiguous {
        name: prefix.to_owned(),
        candidates,
        is_label: false,
    })
}

/// Returns the only entry found, or an error with the ids of several.
fn one(session: &Session, found: Vec<EntryIx>) -> Result<Position, Vec<String>> {
    match found[..] {
        [] => Ok(None),
        [ix] => Ok(Some(ix)),
        _ => Err(ids(session, found)),
    }
}

/// Returns the ids of the first few entries.
fn ids(session: &Session, entries: impl IntoIterator<Item = EntryIx>) -> Vec<String> {
    entries
        .into_iter()
        .take(CANDIDATES)
        .map(|ix| session.id(ix).to_string())
        .collect()
}

fn split(name: &str) -> Option<(&str, Suffix<'_>)> {
    if let Some(rest) = name.strip_suffix('}') {
        let (rest, kind) = rest.rsplit_once("^{")?;
        return Some((rest, Suffix::Nearest(kind)));
    }
    if let Some(rest) = name.strip_suffix('^') {
        return Some((rest, Suffix::Up(1)));
    }
    let (rest, steps) = name.rsplit_once('~')?;
    let steps = if steps.is_empty() {
        1
    } else {
        steps.parse().ok()?
    };
    Some((rest, Suffix::Up(steps)))
}

fn follow(
    session: &Session,
    place: Position,
    name: &str,
    suffix: &Suffix,
) -> Result<Position, ReferenceError> {
    let mut upwards = session.upwards(place);
    match suffix {
        Suffix::Up(steps) => Ok(upwards.nth(*steps)),
        Suffix::Nearest(kind) => {
            let is_kind = |&ix: &EntryIx| {
                session.kind_name(ix) == *kind
                    || session.role_name(ix).is_some_and(|role| role == *kind)
            };
            upwards
                .find(is_kind)
                .map(Some)
                .ok_or_else(|| ReferenceError::NoneOfKind {
                    name: name.to_owned(),
                    kind: (*kind).to_owned(),
                    elsewhere: ids(session, session.all().rev().filter(is_kind)),
                })
        }
    }
}

fn unknown(session: &Session, labels: &Labels, name: &str) -> ReferenceError {
    let wanted = name
        .strip_prefix("id:")
        .or(name.strip_prefix("label:"))
        .unwrap_or(name);
    let begins = |ix: &EntryIx| session.id(*ix).as_bytes().starts_with(wanted.as_bytes());
    if !wanted.is_empty()
        && wanted.chars().count() < SHORTEST_PREFIX
        && session.all().any(|ix| begins(&ix))
    {
        let candidates = ids(session, session.all().filter(begins));
        return ReferenceError::Short {
            name: wanted.to_owned(),
            candidates,
        };
    }
    let ids = session.all().map(|ix| session.id(ix));
    let names = labels.iter().map(|(_, change)| session.text(change.name));
    let mut near: Vec<(usize, String)> = ids
        .chain(names)
        .filter(|candidate| candidate.as_bytes().len().abs_diff(wanted.len()) <= 2)
        .map(|candidate| {
            (
                strsim::osa_distance(wanted, &candidate.to_string_lossy()),
                candidate.to_string(),
            )
        })
        .filter(|&(distance, _)| distance <= 1 + wanted.chars().count() / 6)
        .collect();
    near.sort();
    near.dedup();
    near.truncate(3);
    ReferenceError::Unknown {
        name: wanted.to_owned(),
        near: near.into_iter().map(|(_, name)| name).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_no_names() {
        for form in [
            "@", "root", "-", ":12", ":x", "id:a", "label:", "a^", "a~", "a~3", "a^{user}", "^",
        ] {
            assert!(is_form(form), "{form}");
        }
        for name in ["a", "@done", "rooted", "a~b", "x^y", "{a}", "a:12", "~/x"] {
            assert!(!is_form(name), "{name}");
        }
    }
}
