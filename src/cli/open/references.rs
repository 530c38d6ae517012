//! What the references, ranges and selections on the command line name in a session.

use super::OpenSession;
use crate::cli::output::{Exit, Failure, FailureKind, to_visible, truncate_end};
use crate::ops::check::quote_damaged_line;
use crate::ops::switch::previous_leaf;
use crate::session::entry::{EntryIx, LineNo};
use crate::session::range::{EntryRange, Selection, resolve_range, resolve_selection};
use crate::session::read::line_chunks::for_each_line;
use crate::session::reference::{
    PREVIOUS_REFERENCE, Position, ReferenceError, ResolvedReference, count_other_matches,
    resolve_reference,
};
use pisess_json::text::Text;
use std::io;

impl OpenSession {
    /// Returns the position that a reference names, and whether the reference means `@`. `-` is the
    /// leaf before its last move.
    pub fn resolve_reference(&self, reference: &str) -> Result<ResolvedReference, Failure> {
        if reference == PREVIOUS_REFERENCE {
            let position = self.previous_leaf()?;
            return Ok(ResolvedReference {
                position,
                is_current: false,
            });
        }
        resolve_reference(&self.entry_reader(), reference)
            .map_err(|error| self.reference_failure(error))
    }

    /// Returns the position that a reference names.
    pub fn resolve_position(&self, reference: &str) -> Result<Position, Failure> {
        Ok(self.resolve_reference(reference)?.position)
    }

    /// Returns the position below which to append, for a reference to the entry to continue from.
    /// For `@`, that is the leaf, so that labels and settings after the entry stay on the path.
    pub fn resolve_parent(&self, reference: &str) -> Result<Position, Failure> {
        let resolved = self.resolve_reference(reference)?;
        Ok(if resolved.is_current {
            self.session.leaf.into()
        } else {
            resolved.position
        })
    }

    /// Returns what an argument selects: one entry, or the entries of a range.
    pub fn resolve_selection(&self, argument: &str) -> Result<Selection, Failure> {
        if argument == PREVIOUS_REFERENCE {
            return Ok(Selection::Entry(self.previous_leaf()?));
        }
        resolve_selection(&self.entry_reader(), argument)
            .map_err(|error| self.reference_failure(error))
    }

    /// Returns what an argument of `show` selects, as [`OpenSession::resolve_selection`] does. If
    /// it names a line without an entry, the failure has the line itself: `show` is the way to look
    /// at it.
    pub fn resolve_selection_to_show(&self, argument: &str) -> Result<Selection, Failure> {
        if argument == PREVIOUS_REFERENCE {
            return Ok(Selection::Entry(self.previous_leaf()?));
        }
        let error = match resolve_selection(&self.entry_reader(), argument) {
            Ok(selection) => return Ok(selection),
            Err(error) => error,
        };
        let line = line_without_entry(&error);
        let failure = reference_failure(&self.input.name, error);
        match line.and_then(|line| self.read_line(line)) {
            Some(bytes) => {
                let text = to_visible(&String::from_utf8_lossy(bytes.trim_ascii()));
                let text = truncate_end(&text, MOST_LINE_COLUMNS, "…");
                Err(failure.with_hint(format!("the line has: {text}")))
            }
            None => Err(failure),
        }
    }

    /// Returns the range that a command reads: the range in `argument`, the last `last_count`
    /// entries of the conversation, or the path to the entry in `argument`. Without both, that is
    /// the path to the leaf.
    pub fn resolve_range(
        &self,
        argument: Option<&str>,
        last_count: Option<usize>,
    ) -> Result<EntryRange, Failure> {
        if argument == Some(PREVIOUS_REFERENCE) {
            return Ok(EntryRange::path_to(self.previous_leaf()?));
        }
        resolve_range(&self.entry_reader(), argument, last_count)
            .map_err(|error| self.reference_failure(error))
    }

    /// Returns the leaf before its last move. Fails if the leaf has never moved.
    fn previous_leaf(&self) -> Result<Position, Failure> {
        let previous = previous_leaf(&self.entry_reader());
        self.input.map_read_error(previous)?.ok_or_else(|| {
            let message = format!(
                "{}: there is no previous leaf: the leaf has never moved",
                self.input.name
            );
            Failure::new(Exit::Failed, FailureKind::Reference, message)
                .with_path(&self.input.name)
                .with_hint("`pisess branches` lists the branches; an entry with the id - is `id:-`")
        })
    }

    /// Returns the entry at a position. `reference` is the argument that named it.
    ///
    /// # Errors
    /// If the position is the root.
    pub fn require_entry(&self, position: Position, reference: &str) -> Result<EntryIx, Failure> {
        position.entry().ok_or_else(|| {
            let failure = self
                .input
                .failure(format_args!("{reference} is not an entry"));
            failure.with_hint("root is the position before the first entry; give an entry")
        })
    }

    /// Returns the entry that a reference names. Fails for the root.
    pub fn find_entry(&self, reference: &str) -> Result<EntryIx, Failure> {
        self.require_entry(self.resolve_position(reference)?, reference)
    }

    /// Returns how many older entries on the path a reference `:/TEXT` would also fit.
    pub fn count_other_matches(&self, reference: &str) -> Result<usize, Failure> {
        count_other_matches(&self.entry_reader(), reference)
            .map_err(|error| self.reference_failure(error))
    }

    /// Returns the entries that references and ranges select. A range selects only its
    /// conversation, without settings and labels.
    pub fn find_chosen_entries(&self, arguments: &[String]) -> Result<Vec<EntryIx>, Failure> {
        let mut chosen = Vec::new();
        for argument in arguments {
            match self.resolve_selection(argument)? {
                Selection::Entry(position) => {
                    chosen.push(self.require_entry(position, argument)?);
                }
                Selection::Range(range) => {
                    chosen.extend(self.conversation_entries(range, argument)?)
                }
            }
        }
        Ok(chosen)
    }

    /// Returns the entries that the references name. Fails for the root.
    pub fn find_entries(&self, references: &[String]) -> Result<Vec<EntryIx>, Failure> {
        references
            .iter()
            .map(|reference| self.find_entry(reference))
            .collect()
    }

    /// Returns the entries of a range that belong to the conversation. `argument` is the argument
    /// that gave the range.
    ///
    /// # Errors
    /// If there are none.
    pub fn conversation_entries(
        &self,
        range: EntryRange,
        argument: &str,
    ) -> Result<Vec<EntryIx>, Failure> {
        let entries = range.conversation_entries(&self.session);
        if entries.is_empty() {
            let what = format_args!("{argument} contains only settings and bookkeeping");
            let failure = self.input.negative_answer(what);
            return Err(failure.with_hint("`pisess path` lists them"));
        }
        Ok(entries)
    }

    /// Returns the id by which new entries name a position as their parent; `None` for the root.
    /// Fails if no id names the entry.
    pub fn new_parent_id(&self, position: Position) -> Result<Option<Text<'static>>, Failure> {
        let Position::Entry(parent) = position else {
            return Ok(None);
        };
        self.check_referable(parent, "be a parent")?;
        Ok(Some(self.session.id(parent).into_owned()))
    }

    /// Fails if a new entry cannot refer to `entry` by its id: `entry` has no id, or a later entry
    /// has the same id. `what` completes the error, "so it cannot be a parent".
    pub fn check_referable(&self, entry: EntryIx, what: &str) -> Result<(), Failure> {
        let id = self.session.id(entry);
        let line = self.session.shown_line(entry).0;
        if self.session.find_entry(&id) == Some(entry) && !id.is_empty() {
            return Ok(());
        }
        let reason = if id.is_empty() {
            "has no id"
        } else {
            "has the same id as a later one"
        };
        let name = &self.input.name;
        Err(Failure::invalid(format_args!(
            "{name}:{line}: the entry {reason}, so it cannot {what}"
        ))
        .with_path(name)
        .with_line(line)
        .with_hint(format!("see `pisess check {}`", self.input.as_argument())))
    }

    /// Returns the failure for a reference that cannot be resolved. If it names a damaged line, the
    /// hint is what can be read of the line, without secrets, as `check` quotes it.
    fn reference_failure(&self, error: ReferenceError) -> Failure {
        let line = line_without_entry(&error);
        let failure = reference_failure(&self.input.name, error);
        let Some(bytes) = line.and_then(|line| self.read_line(line)) else {
            return failure;
        };
        let quoted = quote_damaged_line(&bytes, self.input.source(), self.options.workers);
        match quoted {
            Ok(text) if !text.is_empty() => {
                failure.with_hint(format!("the line has: {}", to_visible(&text)))
            }
            _ => failure,
        }
    }

    /// Returns the bytes of a line of the file. `None` if the line is blank, missing or unreadable,
    /// or if lines are numbered as in the file of another agent, which was converted.
    fn read_line(&self, wanted: LineNo) -> Option<Vec<u8>> {
        if self.input.foreign.is_some() {
            return None;
        }
        let source = self.input.source();
        // The number of the current line, from 1.
        let mut number = 0;
        let mut found = None;
        let read = for_each_line::<io::Error>(source, 0..source.len(), |line| {
            number += 1;
            if number == wanted.0 {
                found = Some(line.bytes.to_vec());
            }
            Ok(())
        });
        read.ok()?;

        let bytes = found?;
        let is_blank = bytes.trim_ascii().is_empty();
        if is_blank { None } else { Some(bytes) }
    }
}

/// Returns the line that a reference names, if no entry is on it.
fn line_without_entry(error: &ReferenceError) -> Option<LineNo> {
    match error {
        ReferenceError::NoEntryOnLine { line } => Some(*line),
        _ => None,
    }
}

/// The maximum width of a line in a hint, in columns. That is enough for most whole lines: `show
/// SESSION :LINE` is the way to look at a line that `check` calls damaged.
const MOST_LINE_COLUMNS: usize = 2_000;

/// Returns the failure for a reference or a range that cannot be resolved in the session `name`
/// (exit 2). A range without entries is a negative answer (exit 1).
pub fn reference_failure(name: &str, error: ReferenceError) -> Failure {
    let exit = match error {
        ReferenceError::Unreadable(error) => return Failure::from_read_error(name, error),
        ReferenceError::EmptyRange { .. } => Exit::Found,
        _ => Exit::Failed,
    };
    Failure::new(
        exit,
        FailureKind::Reference,
        format_args!("{name}: {error}"),
    )
    .with_path(name)
    .with_hint(error.hint())
}
