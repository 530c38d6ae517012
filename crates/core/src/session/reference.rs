//! Entry references: `@`, `root`, `:12`, `:$`, `:/TEXT`, `:1/TEXT`, `id:X`, `label:X`, an id, a
//! label, a prefix of an id, and each of these with suffixes: `^`, `~3`, `+3`, `^{user}`. (`-`, the
//! previous leaf, is resolved elsewhere, because marks record it.)
//!
//! The whole string is tried as a name first. Then suffixes are removed from the right, one by one.
//! So an id that ends like a suffix can still be given. Everything but TEXT is case-sensitive.

mod error;
mod text;

pub use error::ReferenceError;
pub use text::{count_other_matches, is_text_reference};

use super::conversation::Conversation;
use super::entry::{EntryIx, Flags, LineNo};
use super::labels::Labels;
use super::range::is_range_form;
use crate::session::Session;
use crate::session::read::entry_reader::EntryReader;
use error::unresolved_error;
use pisess_json::text::Text;
use text::find_entry_with_text;

/// The reference to the current entry of the conversation.
pub const CURRENT_REFERENCE: &str = "@";

/// Whether a reference probably names an entry near the end of the session: `@`, `@~2`, `@^{user}`
/// or the like, and neither a range nor a text.
pub fn is_near_current(reference: &str) -> bool {
    reference.starts_with(CURRENT_REFERENCE)
        && !reference.contains("..")
        && !reference.contains('/')
}

/// The reference to the leaf before its last move.
pub const PREVIOUS_REFERENCE: &str = "-";

/// The reference to the last entry of the file, of whatever type.
const LAST_LINE_REFERENCE: &str = ":$";

/// What precedes the text in a reference to the newest entry that contains it, as in git.
pub const TEXT_PREFIX: &str = ":/";

/// What `^{…}` contains to find the last answer: an assistant message that ended normally and has
/// text.
pub const ANSWER_KIND: &str = "answer";

/// A position in the tree, below which an entry can be appended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Position {
    /// Before the first entry: `root`.
    Root,
    /// At an entry.
    Entry(EntryIx),
}

impl Position {
    /// Returns the entry at the position; `None` at the root.
    pub const fn entry(self) -> Option<EntryIx> {
        match self {
            Position::Root => None,
            Position::Entry(ix) => Some(ix),
        }
    }
}

/// Converts a leaf or a parent: `None` is the root.
impl From<Option<EntryIx>> for Position {
    fn from(entry: Option<EntryIx>) -> Position {
        match entry {
            Some(ix) => Position::Entry(ix),
            None => Position::Root,
        }
    }
}

/// The minimum length of a prefix of an id that names an entry, in characters.
pub(super) const SHORTEST_PREFIX: usize = 4;

/// The maximum number of candidates named in an error.
const MAX_CANDIDATES: usize = 5;

/// The position that a reference names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedReference {
    /// The position.
    pub position: Position,
    /// Whether the reference is the current entry itself: `@` or `@~0`. A command that appends
    /// there appends below the leaf, so that the labels and settings after the entry stay on the
    /// path.
    pub is_current: bool,
}

/// A suffix of a reference, which leads from one position to another.
#[derive(Clone, Copy)]
enum Suffix<'a> {
    /// `^` or `~3`: this many steps up.
    Up(usize),
    /// `+3`: this many steps down.
    Down(usize),
    /// `^{user}`: the nearest entry, at or above, with this role or type.
    Nearest(&'a str),
}

/// Returns the position that `reference` names, such as `@~3` or `deadbeef^{user}`.
///
/// `@` is the current entry: the last of the conversation on the path to the leaf. From `@`, `^`
/// and `~3` count entries of the conversation; from any other entry, they count parents. `+3`
/// always counts entries of the conversation. `@^{label}` starts at the leaf, so that it also finds
/// labels, names and settings after the current entry.
///
/// Reads lines of the file only for `:/TEXT` and `:1/TEXT`.
pub fn resolve_reference(
    reader: &EntryReader,
    reference: &str,
) -> Result<ResolvedReference, ReferenceError> {
    let session = reader.session();
    let SplitReference {
        base,
        base_position,
        suffixes,
    } = split_reference(reader, reference)?;

    let begins_at_current = base == CURRENT_REFERENCE;
    let mut resolved = ResolvedReference {
        position: base_position,
        is_current: begins_at_current,
    };
    for applied in suffixes {
        resolved.position = apply_suffix(session, resolved, &applied, begins_at_current)?;
        let has_moved = !matches!(applied.suffix, Suffix::Up(0) | Suffix::Down(0));
        if has_moved {
            resolved.is_current = false;
        }
    }
    Ok(resolved)
}

/// Returns the position to which a suffix leads, given what the reference before it names.
/// `counts_conversation` is whether steps up count only entries of the conversation: they do if the
/// whole reference begins with `@`.
fn apply_suffix(
    session: &Session,
    resolved: ResolvedReference,
    applied: &AppliedSuffix,
    counts_conversation: bool,
) -> Result<Position, ReferenceError> {
    let from = resolved.position;
    match applied.suffix {
        Suffix::Up(steps) if counts_conversation => Ok(conversation_ancestor(session, from, steps)),
        Suffix::Up(steps) => Ok(session.ancestors(from.entry()).nth(steps).into()),
        Suffix::Down(steps) => follow_down(session, from, applied.before, steps),
        Suffix::Nearest(kind) => {
            // From `@` itself, labels and settings after the current entry are found, too.
            let start = if resolved.is_current {
                session.leaf
            } else {
                from.entry()
            };
            find_nearest(session, start, applied.before, kind).map(Position::Entry)
        }
    }
}

/// A reference that was divided into a base, which names a position, and suffixes.
struct SplitReference<'r> {
    base: &'r str,
    base_position: Position,
    /// The suffixes in the order in which they are applied, from left to right.
    suffixes: Vec<AppliedSuffix<'r>>,
}

/// A suffix of a reference, with what it is applied to.
struct AppliedSuffix<'r> {
    /// The part of the reference before the suffix, for errors.
    before: &'r str,
    suffix: Suffix<'r>,
}

/// Splits a reference into a base, which names a position, and the suffixes after it: `@~3^{user}`
/// into `@`, `~3` and `^{user}`. An id may end like a suffix, so the longest base counts: suffixes
/// are removed from the right until what remains names a position.
///
/// # Errors
/// If no suffix is left, and what remains names no position.
fn split_reference<'r>(
    reader: &EntryReader,
    reference: &'r str,
) -> Result<SplitReference<'r>, ReferenceError> {
    let session = reader.session();
    let labels = Labels::new(session);
    let mut base = reference;
    let mut suffixes_from_right = Vec::new();
    loop {
        if let Some(base_position) = find_base(reader, &labels, base)? {
            let suffixes = suffixes_from_right.into_iter().rev().collect();
            return Ok(SplitReference {
                base,
                base_position,
                suffixes,
            });
        }
        let Some((before, suffix)) = split_suffix(base) else {
            return Err(unresolved_error(session, &labels, base));
        };
        suffixes_from_right.push(AppliedSuffix { before, suffix });
        base = before;
    }
}

/// Returns the position that a reference without suffixes names, such as `@` for the current entry,
/// an id or a label; `None` if it names none.
fn find_base(
    reader: &EntryReader,
    labels: &Labels,
    base: &str,
) -> Result<Option<Position>, ReferenceError> {
    if base == CURRENT_REFERENCE {
        return Ok(Some(reader.session().current_entry().into()));
    }
    match resolve_name(reader, labels, base)? {
        NamedPosition::Found(position) => Ok(Some(position)),
        NamedPosition::NotFound => Ok(None),
    }
}

/// Returns the position that `@~steps` names.
pub(super) fn current_ancestor(session: &Session, steps: usize) -> Position {
    conversation_ancestor(session, session.current_entry().into(), steps)
}

/// Returns the position that is `steps` entries of the conversation above a position; the root if
/// there are not so many.
fn conversation_ancestor(session: &Session, position: Position, steps: usize) -> Position {
    if steps == 0 {
        return position;
    }
    let mut conversation_above = session
        .ancestors(position.entry())
        .skip(1)
        .filter(|&ix| session.is_conversation(ix));
    // The first of the iterator is one step above.
    conversation_above.nth(steps - 1).into()
}

/// Returns the position that is `steps` entries of the conversation below a position: on the path
/// to the leaf if the position is on it, or else along the newest branch. `reference` is the part
/// of the reference that names the position, for the error.
fn follow_down(
    session: &Session,
    position: Position,
    reference: &str,
    steps: usize,
) -> Result<Position, ReferenceError> {
    if steps == 0 {
        return Ok(position);
    }
    let mut following = Conversation::new(session).entries_after(position);
    following.retain(|&ix| session.is_conversation(ix));
    match following.get(steps - 1) {
        Some(&ix) => Ok(Position::Entry(ix)),
        None => Err(ReferenceError::TooFewAfter {
            name: reference.to_owned(),
            count: following.len(),
        }),
    }
}

/// Whether a string is the whole id of an entry, a whole label, or names an entry by its text, as
/// `:/TEXT` and `:1/TEXT` do.
pub(super) fn is_exact_name(reader: &EntryReader, name: &str) -> Result<bool, ReferenceError> {
    if find_entry_with_text(reader, name)?.is_some() {
        return Ok(true);
    }
    let session = reader.session();
    let name = Text::from(name);
    let is_id = session.find_entry(&name).is_some();
    Ok(is_id || !Labels::new(session).entries_with_label(&name).is_empty())
}

/// Whether a string has a form of reference other than an id or a label; labels of such a form are
/// refused.
pub fn is_reference_form(name: &str) -> bool {
    let prefixed = [":", "id:", "label:"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    prefixed
        || matches!(name, CURRENT_REFERENCE | "root" | PREVIOUS_REFERENCE)
        || split_suffix(name).is_some()
        || is_range_form(name)
}

/// Whether a name without suffixes refers to a position. (The position may be the root, so an
/// `Option` of an entry would not do.)
enum NamedPosition {
    Found(Position),
    NotFound,
}

/// Resolves a reference without suffixes, other than `@`. The first of these that applies counts:
/// `root`, `:$` (the last line), `:5` (a line number), `:/TEXT`, `:1/TEXT`, and then what
/// [`find_named_entry`] finds.
fn resolve_name(
    reader: &EntryReader,
    labels: &Labels,
    name: &str,
) -> Result<NamedPosition, ReferenceError> {
    let session = reader.session();
    if name == "root" {
        return Ok(NamedPosition::Found(Position::Root));
    }
    if name == LAST_LINE_REFERENCE {
        return match session.entry_indexes().next_back() {
            Some(ix) => Ok(NamedPosition::Found(Position::Entry(ix))),
            None => Err(ReferenceError::NoEntries),
        };
    }
    // `:x` is not a line number, but may be an id or a label.
    if let Some(line) = name.strip_prefix(':')
        && let Ok(line) = line.parse()
    {
        let line = LineNo(line);
        return match session.entry_on_shown_line(line) {
            Some(ix) => Ok(NamedPosition::Found(Position::Entry(ix))),
            None => Err(ReferenceError::NoEntryOnLine { line }),
        };
    }
    if let Some(ix) = find_entry_with_text(reader, name)? {
        return Ok(NamedPosition::Found(Position::Entry(ix)));
    }
    match find_named_entry(session, labels, name)? {
        Some(ix) => Ok(NamedPosition::Found(Position::Entry(ix))),
        None => Ok(NamedPosition::NotFound),
    }
}

/// Returns the entry that a label or an id names, if there is one. If the name has several
/// meanings, the first of these counts: `label:LABEL`, `id:ID`, a whole id, a whole label, the
/// start of an id.
fn find_named_entry(
    session: &Session,
    labels: &Labels,
    name: &str,
) -> Result<Option<EntryIx>, ReferenceError> {
    // An id or label may itself begin with `label:` or `id:`, so the whole name is looked up as
    // well.
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

/// Returns the entry with a label, if there is one. An error, which lists them, if there are
/// several.
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

/// Returns the entry whose id begins with `prefix`, if there is one. An error, which lists them, if
/// there are several.
fn find_by_id_prefix(session: &Session, prefix: &str) -> Result<Option<EntryIx>, ReferenceError> {
    let mut entries = Vec::new();
    for ix in session.entry_indexes() {
        let id = session.id(ix);
        let has_prefix = id.as_bytes().starts_with(prefix.as_bytes());
        // If entries have the same id, the id refers to the last, and the others do not count.
        if has_prefix && session.find_entry(&id) == Some(ix) {
            entries.push(ix);
        }
    }
    require_single(session, entries).map_err(|candidates| ReferenceError::Ambiguous {
        name: prefix.to_owned(),
        candidates,
        is_label: false,
    })
}

/// Returns the entry if there is only one, and `None` if there is none. If there are several, fails
/// with their ids.
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

/// Splits the last suffix from a reference: `@~3` into `@` and 3 steps up. `None` if the reference
/// has no suffix. The suffixes are:
///
/// - `^{KIND}`: the nearest entry of a kind, at or above
/// - `^`, `~` and `~N`: the position one entry, or `N` entries, above
/// - `+N`: the position `N` entries below
fn split_suffix(reference: &str) -> Option<(&str, Suffix<'_>)> {
    if let Some(unclosed) = reference.strip_suffix('}') {
        let (before, kind) = unclosed.rsplit_once("^{")?;
        return Some((before, Suffix::Nearest(kind)));
    }
    if let Some(before) = reference.strip_suffix('^') {
        return Some((before, Suffix::Up(1)));
    }
    if let Some(before) = reference.strip_suffix('~') {
        return Some((before, Suffix::Up(1)));
    }

    // Digits are only a number of steps after `~` or `+`. After anything else, they are part of the
    // name.
    let digits_start = reference
        .trim_end_matches(|c: char| c.is_ascii_digit())
        .len();
    let (before_digits, digits) = reference.split_at(digits_start);
    let steps = digits.parse().ok()?;
    if let Some(before) = before_digits.strip_suffix('~') {
        return Some((before, Suffix::Up(steps)));
    }
    let before = before_digits.strip_suffix('+')?;
    Some((before, Suffix::Down(steps)))
}

/// Returns the nearest entry of a kind at or above `from`, as for `REF^{user}`. `reference` is the
/// part before the suffix, which names `from`, for the error.
fn find_nearest(
    session: &Session,
    from: Option<EntryIx>,
    reference: &str,
    kind: &str,
) -> Result<EntryIx, ReferenceError> {
    let mut upwards = session.ancestors(from);
    if let Some(nearest) = upwards.find(|&ix| is_of_kind(session, ix, kind)) {
        return Ok(nearest);
    }

    // The error suggests entries of this kind elsewhere in the tree, the newest first.
    let from_last = session.entry_indexes().rev();
    let elsewhere = from_last.filter(|&ix| is_of_kind(session, ix, kind));
    Err(ReferenceError::NoneOfKind {
        name: reference.to_owned(),
        kind: kind.to_owned(),
        elsewhere: candidate_ids(session, elsewhere),
    })
}

/// Whether `kind` is the type of an entry, the role of its message, or `answer` and the entry is
/// one.
fn is_of_kind(session: &Session, ix: EntryIx, kind: &str) -> bool {
    if kind == ANSWER_KIND && session.entry(ix).flags.contains(Flags::ANSWER) {
        return true;
    }
    session.kind_name(ix) == *kind || session.role_name(ix).is_some_and(|role| role == *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_no_names() {
        for form in [
            "@", "root", "-", ":12", ":$", ":/x", ":x", "id:a", "label:", "a^", "a~", "a~3", "a+3",
            "a^{user}", "^", "a..b", "a..",
        ] {
            assert!(is_reference_form(form), "{form}");
        }
        for name in [
            "a", "@done", "rooted", "a~b", "x^y", "{a}", "a:12", "~/x", "c++", "a+b", "v1.2",
        ] {
            assert!(!is_reference_form(name), "{name}");
        }
    }
}
