//! The entries of a session to read, if an argument limits a command to some of them.

use super::named::{name_argument, resolve_name, take_range};
use super::open::reference_failure;
use super::output::{Failure, Ui};
use crate::load::{LoadOptions, load};
use crate::session::Session;
use crate::session::entry::LineNo;
use crate::session::range::resolve_range;
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::{ReferenceError, is_reference_form};
use pisess_store::ReadAt;
use std::path::PathBuf;

/// A session of which only some entries are read.
pub struct SessionPart {
    session: Session,
    /// For each entry, whether it is read.
    is_included: Vec<bool>,
}

impl SessionPart {
    /// Selects the entries as [`resolve_range`] does. `name` is the session's name in messages.
    ///
    /// # Errors
    /// If the session cannot be loaded, if `argument` names no entry, or if its range is empty.
    /// Several sessions can be read with `last_count`, so that one without entries is no failure.
    pub fn select(
        source: &dyn ReadAt,
        name: &str,
        argument: Option<&str>,
        last_count: Option<usize>,
    ) -> Result<SessionPart, Failure> {
        let session = load(source, &LoadOptions::default())
            .map_err(|error| Failure::from_load_error(name, error))?;
        let reader = EntryReader::new(&session, source);
        let is_included = match resolve_range(&reader, argument, last_count) {
            Ok(range) => range.mask(&session),
            Err(ReferenceError::EmptyRange { .. }) if argument.is_none() => {
                vec![false; session.entries.len()]
            }
            Err(error) => return Err(reference_failure(name, error)),
        };
        Ok(SessionPart {
            session,
            is_included,
        })
    }

    /// Whether the entry on a line is read.
    pub fn contains(&self, line: LineNo) -> bool {
        let entry = self.session.entry_on_line(line);
        entry.is_some_and(|ix| self.is_included[ix.index()])
    }
}

/// Removes the range or the reference from arguments such as `SESSION REF`, and returns it. A word
/// such as an id or a label is a reference only if it is not the name of a session: `None` if all
/// arguments are sessions.
///
/// # Errors
/// If not exactly one session precedes a range.
pub fn take_range_or_reference(
    arguments: &mut Vec<PathBuf>,
    ui: &Ui,
) -> Result<Option<String>, Failure> {
    if let Some(range) = take_range(arguments)? {
        return Ok(Some(range));
    }
    let [session, last] = &arguments[..] else {
        return Ok(None);
    };
    let Some(reference) = name_argument(last) else {
        return Ok(None);
    };
    let is_reference = is_reference_form(reference) || resolve_name(last, ui).is_err();
    if session.is_dir() || !is_reference {
        return Ok(None);
    }
    let reference = reference.to_owned();
    arguments.pop();
    Ok(Some(reference))
}
