//! Finds the strings of a session that contain secrets, to move them to the pruned file.
//!
//! Each string with a secret is replaced by the same string with a placeholder such as
//! `[REDACTED:github-pat#1]` in place of the secret. The rest of the session stays as it is, also
//! what cannot be searched: signatures, encrypted thinking, images.
//!
//! Any line may contain a secret, also one that is not an entry. What is replaced is one of these:
//!
//! - a string, such as `message.content[0].text`, or a larger value, if the secret is in a key or
//!   the string has no path
//! - the whole line, whose path is empty: the title line, whose width must not change, and a line
//!   with many secrets
//! - a malformed line, which has no paths at all

use super::payload::find_at_path;
use super::{PrunePlan, apply_replacements, side};
use crate::agents::oh_my_pi::title::repad_title_line;
use crate::load::{LoadOptions, load};
use crate::ops::redact::{FoundSecret, RedactionPlan, RemainingTexts, find_remaining};
use crate::redact::values::SecretValue;
use crate::redact::{Finds, PlannedSecret, Redactor, SecretNumber};
use crate::session::Session;
use crate::session::entry::{LineNo, Span};
use crate::session::read::entry_reader::Replacement;
use crate::session::read::header::{LoadError, is_title_slot};
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_json::{Raw, range_in};
use pisess_store::ReadAt;
use std::io;
use std::ops::Range;

/// The secrets to move out of a session.
#[derive(Clone, Debug, Default)]
pub struct PrunableSecrets {
    /// The strings, and other parts, that contain them. In file order.
    pub strings: Vec<SecretString>,
    /// The number of distinct secrets.
    pub count: usize,
    /// The secrets, to search other files for them. [`Redactor::found_values`] leaves out the
    /// shortest.
    pub values: Vec<SecretValue>,
    /// Places in which a secret would remain, because a placeholder cannot replace it there. With
    /// one of them, the plan must not be carried out.
    pub remaining: Vec<FoundSecret>,
    /// Whether the session after the prune has another tree: a secret is a part of the format, such
    /// as the type of an entry. Then, too, the plan must not be carried out.
    pub damages_tree: bool,
    /// Places of a text that is a secret elsewhere and may be ordinary here, where it remains.
    pub kept_ordinary: Vec<FoundSecret>,
}

/// A part of a line with secrets, which is replaced by the same part with placeholders.
#[derive(Clone, Debug)]
pub struct SecretString {
    /// The `id` on the line, as it is after the prune; empty if it has none.
    pub id: Text<'static>,
    /// The number of the line.
    pub line: LineNo,
    /// The path of the part in the line, such as `message.content`; empty for the whole line.
    pub field: String,
    /// The location of the part in the file.
    pub span: Span,
    /// The secrets in the part, each once.
    pub secrets: Vec<SecretNumber>,
    /// Whether the part is a line that is not JSON.
    is_malformed: bool,
    /// The part with placeholders.
    redacted: Vec<u8>,
}

impl SecretString {
    pub(super) fn replacement(&self) -> Replacement<'_> {
        Replacement {
            span: self.span,
            json: &self.redacted,
        }
    }

    /// Returns the members of the record in the pruned file, without the payload. None of them
    /// contains a secret.
    pub(super) fn to_record(&self) -> Object {
        let members = side::begin_record(&self.id, self.line);
        if self.is_malformed {
            // The line is recognized by its checksum: it cannot be a member, which must be JSON.
            return members
                .str("kind", side::MALFORMED_KIND)
                .number("bytes", self.span.len as f64)
                .number("noteBytes", self.redacted.len() as f64)
                .number("noteCrc", f64::from(crc32fast::hash(&self.redacted)));
        }
        members
            .str("field", &self.field)
            .str("kind", side::SECRET_KIND)
            .number("bytes", self.span.len as f64)
            .json("note", &side::without_payload_member(&self.redacted))
    }
}

impl PrunePlan {
    /// Returns the plan to prune the secrets that `redactor` finds. It must keep everything else:
    /// see [`Redactor::for_secrets_only`]. The session after the prune is searched again for each
    /// of them. Lines are read on up to `workers` threads.
    pub fn from_secrets(
        session: &Session,
        source: &dyn ReadAt,
        mut redactor: Redactor,
        workers: usize,
    ) -> io::Result<PrunePlan> {
        let redaction = RedactionPlan::new(source, &mut redactor, workers)?;
        let strings = find_strings(session, source, &redaction)?;
        let values = redactor.found_values();
        let checked = if redaction.report.has_secrets() {
            let replacements = strings.iter().map(SecretString::replacement);
            let pruned = apply_replacements(source, replacements);
            // The redactor is not used again: this narrows its search.
            check_pruned(&pruned.with_source(source), session, redactor, workers)?
        } else {
            CheckedPrune::default()
        };

        Ok(PrunePlan {
            name: side::SECRETS_OPERATION,
            entries: Vec::new(),
            branch_count: 0,
            values: Vec::new(),
            secrets: PrunableSecrets {
                strings,
                count: redaction.report.secret_count(),
                values,
                remaining: checked.remaining.secrets,
                damages_tree: checked.damages_tree,
                kept_ordinary: checked.remaining.ordinary,
            },
            pruned_message_tokens: Vec::new(),
            // No entry is removed, so the leaf stays where it is.
            mark: None,
        })
    }
}

/// What is found in the session as it would be after the prune.
#[derive(Default)]
struct CheckedPrune {
    /// See [`PrunableSecrets::damages_tree`].
    damages_tree: bool,
    /// The texts of secrets that would remain.
    remaining: RemainingTexts,
}

/// Checks `pruned`, the session as it would be after the prune: whether it has the tree of
/// `session`, and which of the secrets remain that `redactor` has found.
fn check_pruned(
    pruned: &dyn ReadAt,
    session: &Session,
    mut redactor: Redactor,
    workers: usize,
) -> io::Result<CheckedPrune> {
    Ok(CheckedPrune {
        damages_tree: !has_tree_of(pruned, session, workers)?,
        remaining: find_remaining(pruned, &mut redactor, workers)?,
    })
}

/// Returns the parts of the session that contain the secrets of `redaction`, in file order.
fn find_strings(
    session: &Session,
    source: &dyn ReadAt,
    redaction: &RedactionPlan,
) -> io::Result<Vec<SecretString>> {
    let mut strings = Vec::new();
    for line in redaction.changed_lines() {
        let bytes = source.read_range(line.span.range())?;
        let searched = SearchedLine {
            number: line.number,
            span: line.span,
            bytes: &bytes,
            finds: line.finds,
        };
        strings.append(&mut searched.find_strings(session));
    }
    Ok(strings)
}

/// Whether a file is a session with the same tree as `session`: the same entries, below the same
/// parents, and the same leaf. The ids may differ.
fn has_tree_of(file: &dyn ReadAt, session: &Session, workers: usize) -> io::Result<bool> {
    let options = LoadOptions {
        workers,
        ..LoadOptions::default()
    };
    let other = match load(file, &options) {
        Ok(other) => other,
        Err(LoadError::Io(error)) => return Err(error),
        Err(LoadError::NotASession { .. } | LoadError::TooLarge) => return Ok(false),
    };
    if other.entries.len() != session.entries.len() || other.leaf != session.leaf {
        return Ok(false);
    }
    let has_same_entries = session.entry_indexes().all(|ix| {
        let entry = session.entry(ix);
        let other_entry = other.entry(ix);
        entry.kind == other_entry.kind
            && entry.role == other_entry.role
            && entry.parent == other_entry.parent
    });
    Ok(has_same_entries)
}

/// A line with secrets.
struct SearchedLine<'a> {
    number: LineNo,
    span: Span,
    bytes: &'a [u8],
    finds: &'a Finds,
}

impl SearchedLine<'_> {
    /// Returns the parts of the line that contain its secrets, with their replacements. Empty if
    /// none of the secrets can be replaced: they are found when the session after the prune is
    /// searched.
    fn find_strings(&self, session: &Session) -> Vec<SecretString> {
        let Ok(root) = Raw::parse(self.bytes.trim_ascii()) else {
            return self.malformed_line().into_iter().collect();
        };
        let secrets = self.replaceable_secrets(root, session);
        if secrets.is_empty() {
            return Vec::new();
        }

        let whole_line = LinePart {
            field: side::WHOLE_LINE.to_owned(),
            range: range_of(root, self.bytes),
        };
        if self.number == LineNo(1) && is_title_slot(root) {
            return vec![self.title_line(whole_line)];
        }
        let parts = find_parts(root, self.bytes, &secrets).unwrap_or_else(|| vec![whole_line]);
        let id = self.redacted_id();
        let mut strings = Vec::with_capacity(parts.len());
        for part in parts {
            strings.push(self.redact_part(id.clone(), part));
        }
        strings
    }

    /// Returns the secrets of the line without those in the id of the header. The pruned file
    /// refers to the session by this id, so it must stay.
    fn replaceable_secrets(&self, root: Raw, session: &Session) -> Vec<PlannedSecret> {
        let mut secrets = self.finds.planned_secrets();
        let is_header = self.number == session.header.line;
        if is_header {
            let id = root.get("id").unwrap_or(Raw::NULL);
            let id_range = range_of(id, self.bytes);
            secrets.retain(|secret| !contains(&id_range, &secret.range));
        }
        secrets
    }

    /// Returns the id of the entry as the session after the prune has it, by which the pruned file
    /// refers to the entry. Empty if there is none.
    fn redacted_id(&self) -> Text<'static> {
        let redacted_line = self.finds.apply_to(self.bytes);
        let Ok(redacted) = Raw::parse(redacted_line.trim_ascii()) else {
            return Text::default();
        };
        redacted.get_text("id").unwrap_or_default().into_owned()
    }

    /// Returns the replacement of a part of the line. `id` is the redacted id of the entry.
    fn redact_part(&self, id: Text<'static>, part: LinePart) -> SecretString {
        SecretString {
            id,
            line: self.number,
            field: part.field,
            span: Span {
                start: self.span.start + part.range.start as u64,
                len: part.range.len() as u64,
            },
            secrets: numbers_in(&self.finds.planned_secrets(), &part.range),
            is_malformed: false,
            redacted: self.finds.apply_to_part(self.bytes, part.range),
        }
    }

    /// Returns the replacement of oh-my-pi's title line, which keeps its length: the agent
    /// overwrites the line in place.
    fn title_line(&self, whole_line: LinePart) -> SecretString {
        SecretString {
            redacted: repad_title_line(&self.finds.apply_to(self.bytes)),
            ..self.redact_part(self.redacted_id(), whole_line)
        }
    }

    /// Returns the replacement of the whole line, which is not JSON; `None` if it would be JSON
    /// without its secrets. A restore looks for a malformed line, so it would not find that one.
    fn malformed_line(&self) -> Option<SecretString> {
        let redacted = self.finds.apply_to(self.bytes);
        let is_still_malformed = Raw::parse(redacted.trim_ascii()).is_err();
        if !is_still_malformed {
            return None;
        }
        let whole_range = 0..self.bytes.len();
        Some(SecretString {
            // No id can be read from the line: it is found by its number.
            id: Text::default(),
            line: self.number,
            field: side::WHOLE_LINE.to_owned(),
            span: self.span,
            secrets: numbers_in(&self.finds.planned_secrets(), &whole_range),
            is_malformed: true,
            redacted,
        })
    }
}

/// A value in a line.
struct LinePart {
    /// The path of the value.
    field: String,
    /// The range of the value in the line.
    range: Range<usize>,
}

/// The maximum number of parts of a line that are replaced one by one. Each is searched for from
/// the start of the line, here and by a restore.
const MOST_PARTS: usize = 64;

/// Returns the smallest values with a path that contain these secrets, which are in the order of
/// the line. No value is in another. `None` if the whole line is to be replaced.
fn find_parts(root: Raw, line: &[u8], secrets: &[PlannedSecret]) -> Option<Vec<LinePart>> {
    let mut parts: Vec<LinePart> = Vec::new();
    for secret in secrets {
        let is_in_last = parts
            .last()
            .is_some_and(|last| contains(&last.range, &secret.range));
        if is_in_last {
            continue;
        }
        let part = find_part(root, line, &secret.range);
        // If the secret is in a key, the part is an object. It may contain strings that were added.
        parts.retain(|added| !contains(&part.range, &added.range));
        let is_root = part.field == side::WHOLE_LINE;
        parts.push(part);
        if is_root || parts.len() > MOST_PARTS {
            return None;
        }
    }
    Some(parts)
}

/// Returns the smallest value with a path that contains a range of the line: descends from the root
/// as long as [`find_at_path`] finds the next value by its path. It does not find, for example, a
/// value whose key contains a dot.
fn find_part(root: Raw, line: &[u8], range: &Range<usize>) -> LinePart {
    let mut part = LinePart {
        field: side::WHOLE_LINE.to_owned(),
        range: range_of(root, line),
    };
    let mut value = root;
    while let Some(child) = find_child(value, line, range) {
        let field = if part.field == side::WHOLE_LINE {
            child.step
        } else {
            format!("{}.{}", part.field, child.step)
        };
        let found = find_at_path(root, &field);
        let is_same_value =
            found.is_some_and(|found| range_of(found, line) == range_of(child.value, line));
        if !is_same_value {
            break;
        }
        part = LinePart {
            field,
            range: range_of(child.value, line),
        };
        value = child.value;
    }
    part
}

/// A value in an object.
struct Child<'l> {
    /// The step of a path from the object to the value: `key` or `key[index]`.
    step: String,
    value: Raw<'l>,
}

/// Returns the member of an object that contains a range of the line, or if that is an array, its
/// item. `None` if the value is not an object, or if the range is in a key.
fn find_child<'l>(value: Raw<'l>, line: &[u8], range: &Range<usize>) -> Option<Child<'l>> {
    let (key, member) = value
        .members()
        .find(|(_, member)| contains(&range_of(*member, line), range))?;
    let key = key.text().to_string_lossy().into_owned();
    for (index, item) in member.items().enumerate() {
        if contains(&range_of(item, line), range) {
            return Some(Child {
                step: format!("{key}[{index}]"),
                value: item,
            });
        }
    }
    Some(Child {
        step: key,
        value: member,
    })
}

/// Returns the numbers of the secrets in a part of a line, each once.
fn numbers_in(secrets: &[PlannedSecret], part: &Range<usize>) -> Vec<SecretNumber> {
    let mut numbers = Vec::new();
    for secret in secrets {
        if contains(part, &secret.range) {
            numbers.push(secret.number);
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Returns the range of a value of a line; an empty one for a value that is not part of it.
fn range_of(value: Raw, line: &[u8]) -> Range<usize> {
    let is_part = line.as_ptr_range().contains(&value.bytes().as_ptr());
    if is_part {
        range_in(value.bytes(), line)
    } else {
        0..0
    }
}

fn contains(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file on a broken disk.
    struct Unreadable;

    impl ReadAt for Unreadable {
        fn read_at(&self, _buf: &mut [u8], _offset: u64) -> io::Result<usize> {
            Err(io::Error::other("broken"))
        }

        fn len(&self) -> u64 {
            100
        }
    }

    #[test]
    fn a_read_error_is_not_taken_for_another_tree() {
        let source = br#"{"type":"session","version":3,"id":"s","cwd":"/p"}"#.to_vec();
        let session = load(&source, &LoadOptions::default()).unwrap();
        assert!(has_tree_of(&source, &session, 1).unwrap());
        assert!(!has_tree_of(&b"{}".to_vec(), &session, 1).unwrap());
        let error = has_tree_of(&Unreadable, &session, 1).unwrap_err();
        assert_eq!(error.to_string(), "broken");
    }
}
