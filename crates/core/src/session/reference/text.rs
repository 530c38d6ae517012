//! Finds the entry that contains a text: the newest one (`:/TEXT`), or on the path to the leaf the
//! first or a later one (`:1/TEXT`).

use super::{ReferenceError, TEXT_PREFIX};
use crate::session::Session;
use crate::session::entry::{EntryIx, Role};
use crate::session::fields::{Field, FieldScope, visit_fields};
use crate::session::range::EntryRange;
use crate::session::read::entry_reader::EntryReader;
use crate::session::search::SearchWords;
use std::ops::ControlFlow;

/// A reference by text: `:/TEXT` or `:1/TEXT`.
pub(super) struct TextReference<'a> {
    /// 1 for the first entry with the text on the path to the leaf, 2 for the second; `None` for
    /// the newest entry.
    pub number: Option<usize>,
    pub text: &'a str,
}

impl<'a> TextReference<'a> {
    /// Reads a reference; `None` if it has another form, as `:+1/TEXT`, `:01/TEXT` and `:0/TEXT`
    /// do.
    pub fn parse(reference: &'a str) -> Option<TextReference<'a>> {
        let (digits, text) = reference.strip_prefix(':')?.split_once('/')?;
        if digits.is_empty() {
            return Some(TextReference { number: None, text });
        }
        // `parse` accepts a sign and leading zeros.
        if !digits.starts_with(|first| matches!(first, '1'..='9')) {
            return None;
        }
        let number = digits.parse().ok()?;
        Some(TextReference {
            number: Some(number),
            text,
        })
    }
}

/// Whether a reference has the form `:/TEXT` or `:1/TEXT`.
pub fn is_text_reference(reference: &str) -> bool {
    TextReference::parse(reference).is_some()
}

/// Returns the entry of the conversation that a reference names by a text; `None` if there is none,
/// if the text is empty, or if the reference has another form. Case is ignored, and white space in
/// the text matches any white space.
///
/// For `:/TEXT`, entries on the path to the leaf come before those on other branches. In each of
/// these two groups, what was said comes before thinking, tool calls and results. Otherwise, an
/// agent that passes its user's words as the text would find its own call with these words.
pub(super) fn find_entry_with_text(
    reader: &EntryReader,
    reference: &str,
) -> Result<Option<EntryIx>, ReferenceError> {
    let Some(TextReference { number, text }) = TextReference::parse(reference) else {
        return Ok(None);
    };
    let phrase = SearchWords::phrase(text);
    if phrase.is_empty() {
        return Ok(None);
    }
    if let Some(number) = number {
        return find_numbered_on_path(reader, &phrase, number);
    }

    let session = reader.session();
    let on_path = session.ancestors(session.leaf);
    if let Some(ix) = find_first_with_text(reader, &phrase, on_path)? {
        return Ok(Some(ix));
    }
    find_first_with_text(reader, &phrase, entries_off_path(session))
}

/// Returns the entry on the path to the leaf that is the first to contain a phrase, the second, and
/// so on, wherever in the entry the phrase is. `number` counts from 1.
fn find_numbered_on_path(
    reader: &EntryReader,
    phrase: &SearchWords,
    number: usize,
) -> Result<Option<EntryIx>, ReferenceError> {
    let session = reader.session();
    let mut count = 0;
    for ix in session.path(session.leaf) {
        if !session.is_conversation(ix) {
            continue;
        }
        let occurrence = find_phrase(reader, phrase, ix)?;
        if occurrence != Occurrence::Nowhere {
            count += 1;
        }
        if count == number {
            return Ok(Some(ix));
        }
    }
    Ok(None)
}

/// Returns how many older entries on the path to the leaf `:/TEXT` would also fit. Returns 0 for
/// any other reference, and if TEXT is only on other branches.
///
/// If TEXT was said somewhere on the path, only entries in which it was said are counted.
pub fn count_other_matches(reader: &EntryReader, reference: &str) -> Result<usize, ReferenceError> {
    let Some(text) = reference.strip_prefix(TEXT_PREFIX) else {
        return Ok(0);
    };
    let session = reader.session();
    let phrase = SearchWords::phrase(text);
    if phrase.is_empty() {
        return Ok(0);
    }
    let mut said_count: usize = 0;
    let mut unsaid_count: usize = 0;
    for ix in session.ancestors(session.leaf) {
        if !session.is_conversation(ix) {
            continue;
        }
        match find_phrase(reader, &phrase, ix)? {
            Occurrence::Said => said_count += 1,
            Occurrence::Unsaid => unsaid_count += 1,
            Occurrence::Nowhere => {}
        }
    }
    let count = if said_count > 0 {
        said_count
    } else {
        unsaid_count
    };
    Ok(count.saturating_sub(1))
}

/// Returns the entries that are not on the path to the leaf, the newest first.
fn entries_off_path(session: &Session) -> impl Iterator<Item = EntryIx> {
    let is_on_path = EntryRange::path_to(session.leaf.into()).mask(session);
    let newest_first = session.entry_indexes().rev();
    newest_first.filter(move |ix| !is_on_path[ix.index()])
}

/// Returns the first of the entries in which the user or the model said the phrase. If there is
/// none, returns the first that contains it elsewhere, as in a tool call: see
/// [`Occurrence::Unsaid`].
fn find_first_with_text(
    reader: &EntryReader,
    phrase: &SearchWords,
    entries: impl Iterator<Item = EntryIx>,
) -> Result<Option<EntryIx>, ReferenceError> {
    let mut unsaid = None;
    for ix in entries {
        if !reader.session().is_conversation(ix) {
            continue;
        }
        match find_phrase(reader, phrase, ix)? {
            Occurrence::Said => return Ok(Some(ix)),
            Occurrence::Unsaid => unsaid = unsaid.or(Some(ix)),
            Occurrence::Nowhere => {}
        }
    }
    Ok(unsaid)
}

/// Where an entry contains a phrase, from the worst place to the best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Occurrence {
    Nowhere,
    /// Only in thinking, tool calls or results, or in what the user ran or attached.
    Unsaid,
    /// In what the user or the model said, or in a summary.
    Said,
}

/// Returns where an entry contains a phrase: in what was said, elsewhere, or nowhere. If it is said
/// in one of its fields, that is the result.
fn find_phrase(
    reader: &EntryReader,
    phrase: &SearchWords,
    ix: EntryIx,
) -> Result<Occurrence, ReferenceError> {
    let entry = reader.session().entry(ix);
    let occurrence = reader.with_entry(ix, |line| {
        if !phrase.may_match_any(line.bytes()) {
            return Occurrence::Nowhere;
        }
        let mut best = Occurrence::Nowhere;
        let mut visit = |field: &Field| {
            best = best.max(find_phrase_in_field(field, phrase, entry.role));
            if best == Occurrence::Said {
                // No other field can change the result.
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        };
        // Ends early only for that reason, because the line is valid JSON. So the result of the
        // visit need not be examined.
        let scope = FieldScope::Meaningful;
        let _ = visit_fields(line, entry.kind, entry.role, scope, &mut visit);
        best
    })?;
    Ok(occurrence)
}

/// Returns whether a field of an entry contains a phrase, and if so, whether the field is what was
/// said. `role` is the role of the entry.
fn find_phrase_in_field(field: &Field, phrase: &SearchWords, role: Role) -> Occurrence {
    if !contains_phrase(field, phrase) {
        Occurrence::Nowhere
    } else if is_said(field, role) {
        Occurrence::Said
    } else {
        Occurrence::Unsaid
    }
}

fn contains_phrase(field: &Field, phrase: &SearchWords) -> bool {
    phrase.may_match_any(field.raw()) && phrase.any_occurs_in(&field.text().to_string_lossy())
}

/// Whether a field of an entry is what the user or the model said, or a summary.
fn is_said(field: &Field, role: Role) -> bool {
    let is_output = matches!(
        role,
        Role::ToolResult | Role::BashExecution | Role::PythonExecution | Role::FileMention
    );
    !is_output && !field.is_thinking() && !field.is_of_call()
}
