//! The result of an operation, as a value that can be printed, compared and committed.

use crate::agents::convert;
use crate::agents::pi::edits::ContextEdit;
use crate::ops::patched::PieceTable;
use crate::session::dialect::Dialect;
use crate::session::entry::{EntryIx, Span};
use crate::session::read::entry_reader::EntryReader;
use crate::session::{Format, Session};
use pisess_json::edit::Edit as LineEdit;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_store::{ReadAt, copy_range};
use std::borrow::Cow;
use std::io::{self, Write};

/// A change to a session: entries to append and, if the session has an older format, its migration.
/// Both happen in one commit. Without entries there is nothing to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// The entries, in order.
    pub entries: Vec<NewEntry>,
    /// oh-my-pi's new title line without its newline, if one of the entries changes the title.
    pub title_line: Option<Vec<u8>>,
}

/// An entry to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    /// Its id.
    pub id: Text<'static>,
    /// Its JSON, without the newline.
    pub line: Vec<u8>,
}

/// The effect of a commit on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing is written.
    Nothing,
    /// Lines are appended to the session.
    Append,
    /// The session is rewritten in the current format, with new lines at its end.
    Rewrite,
    /// Another file is created.
    Create,
}

impl Action {
    /// Returns its name in plans.
    pub fn name(self) -> &'static str {
        match self {
            Action::Nothing => "nothing",
            Action::Append => "append",
            Action::Rewrite => "rewrite",
            Action::Create => "create",
        }
    }
}

/// A session file to create from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// Its id.
    pub id: String,
    /// Its creation time, as in its header.
    pub timestamp: String,
    /// The lines before the entries: the header, after oh-my-pi's title line if there is one.
    pub head_lines: Vec<Vec<u8>>,
    /// The id of its leaf.
    pub leaf: Option<Text<'static>>,
    /// Its entries, in this order; `None` for every line after the source's header, as migrated.
    pub entries: Option<Vec<NewSessionEntry>>,
}

/// An entry of a [`NewSession`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewSessionEntry {
    /// An entry copied from the source.
    Copied {
        /// The entry to copy.
        entry: EntryIx,
        /// The parent of the copy.
        parent: CopyParent,
        /// The new `firstKeptEntryId`, if that changes.
        first_kept: Option<Text<'static>>,
        /// The agent that the copy is converted for, if any.
        target_dialect: Option<Dialect>,
        /// The context edit in effect for the entry, if it is converted and has one.
        edit: Option<ContextEdit>,
    },
    /// A new entry.
    New(NewEntry),
}

/// The parent of a copied entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyParent {
    /// That of the original: its `parentId` is copied as it is.
    Unchanged,
    /// None: the copy is a root.
    Root,
    /// The entry with this id.
    Id(Text<'static>),
}

/// The lines of a new session, as a dry run reports them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedLines {
    /// The number of all lines.
    pub line_count: usize,
    /// The lines that are not copied as they are: the head, and new or changed entries.
    pub changed_lines: Vec<Vec<u8>>,
}

impl Change {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the effect of committing it on the session's own file.
    pub fn action(&self, session: &Session) -> Action {
        if self.is_empty() {
            return Action::Nothing;
        }
        // A title line is replaced at the start of the file, and an older format is migrated.
        if session.format == Format::V3 && self.title_line.is_none() {
            Action::Append
        } else {
            Action::Rewrite
        }
    }

    /// Returns the bytes to append to a version 3 file that ends with a newline. If its last line
    /// lacks one, the writer of the file adds it (rule 1 of the store).
    pub fn appended_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for entry in &self.entries {
            bytes.extend_from_slice(&entry.line);
            bytes.push(b'\n');
        }
        bytes
    }

    /// Returns the file as it is after the change, which is not written for this; `None` if the
    /// change is not an append.
    pub fn file_after(&self, session: &Session, source: &dyn ReadAt) -> Option<PieceTable> {
        if self.action(session) != Action::Append {
            return None;
        }
        let mut after = PieceTable::default();
        after.push_source(Span {
            start: 0,
            len: source.len(),
        });
        if !session.ends_with_newline {
            after.push_new_bytes(b"\n");
        }
        after.push_new_bytes(&self.appended_bytes());
        Some(after)
    }

    /// Writes the whole session as it is after the change, in version 3: oh-my-pi's title line, the
    /// header, the migrated entries, then the new ones. All other bytes are copied.
    ///
    /// # Errors
    /// If reading or writing fails, or the source is no longer the one that was loaded.
    pub fn write(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if let Some(title_line) = &self.title_line {
            write_line(title_line, out)?;
        }
        // The new title line replaces the old one, which is the first line.
        let replaces_title = self.title_line.is_some() && session.title_slot.is_some();
        let start = if replaces_title {
            next_line_start(source, 0)?
        } else {
            0
        };
        copy_range(source, start..session.header.span.start, out)?;
        out.write_all(&session.migrate_header())?;
        write_migrated_from(session, source, session.header.span.end(), out)?;

        // A rewrite that neither migrates nor adds entries keeps a last line without a newline.
        let needs_newline = session.format != Format::V3 || !self.is_empty();
        if needs_newline && !session.ends_with_newline {
            out.write_all(b"\n")?;
        }
        for entry in &self.entries {
            write_line(&entry.line, out)?;
        }
        Ok(())
    }
}

/// Returns the file name that the agents would give a session.
pub fn file_name(timestamp: &str, id: &str) -> String {
    format!("{}_{id}.jsonl", timestamp.replace([':', '.'], "-"))
}

impl NewSession {
    /// Returns the file name that the agents would give the session.
    pub fn file_name(&self) -> String {
        file_name(&self.timestamp, &self.id)
    }

    /// Returns the lines of the new file for the report of a dry run.
    ///
    /// If all of the source is copied (`entries` is `None`), only the head counts as changed: an
    /// entry counts as copied even if it is migrated, and other lines do not count.
    pub fn plan_lines(&self, session: &Session, source: &dyn ReadAt) -> io::Result<PlannedLines> {
        let mut changed_lines = self.head_lines.clone();
        let Some(entries) = &self.entries else {
            return Ok(PlannedLines {
                line_count: self.head_lines.len() + session.entries.len(),
                changed_lines,
            });
        };
        let reader = EntryReader::new(session, source);
        for entry in entries {
            // An unchanged line is in the source, and need not be in memory.
            if entry.is_unchanged() {
                continue;
            }
            let mut line = Vec::new();
            entry.write(&reader, &mut line)?;
            changed_lines.push(line);
        }
        Ok(PlannedLines {
            line_count: self.head_lines.len() + entries.len(),
            changed_lines,
        })
    }

    /// Writes the new file: the lines of its head, then its entries or, without a list of them,
    /// everything after the source's header. The file ends with a newline in any case.
    ///
    /// # Errors
    /// If reading or writing fails, or the source is no longer the one that was loaded.
    pub fn write(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for line in &self.head_lines {
            write_line(line, out)?;
        }
        match &self.entries {
            None => {
                let start = next_line_start(source, session.header.span.end())?;
                write_migrated_from(session, source, start, out)?;
                // If no line follows the header, the last line written is the head, which has its
                // newline.
                let ends_with_newline = session.ends_with_newline || start == source.len();
                if !ends_with_newline {
                    out.write_all(b"\n")?;
                }
            }
            Some(entries) => {
                let reader = EntryReader::new(session, source);
                for entry in entries {
                    entry.write(&reader, out)?;
                    out.write_all(b"\n")?;
                }
            }
        }
        Ok(())
    }
}

impl NewSessionEntry {
    /// Returns a copy of an entry as it is.
    pub fn copy_of(entry: EntryIx) -> NewSessionEntry {
        NewSessionEntry::Copied {
            entry,
            parent: CopyParent::Unchanged,
            first_kept: None,
            target_dialect: None,
            edit: None,
        }
    }

    /// Whether its line is copied as it is. An edit changes only a line that is converted.
    fn is_unchanged(&self) -> bool {
        matches!(
            self,
            NewSessionEntry::Copied {
                parent: CopyParent::Unchanged,
                first_kept: None,
                target_dialect: None,
                ..
            }
        )
    }

    /// Writes the entry's line of the new file, without its newline. A copy gets its new links
    /// first, and is then converted. An unchanged line is not copied in memory.
    pub fn write(&self, reader: &EntryReader, out: &mut dyn Write) -> io::Result<()> {
        match self {
            NewSessionEntry::New(new) => out.write_all(&new.line),
            NewSessionEntry::Copied {
                entry,
                parent,
                first_kept,
                target_dialect,
                edit,
            } => {
                let edit_content = match edit {
                    Some(edit) => Some(edit.load_content(reader)?),
                    None => None,
                };
                reader.with_line(*entry, |line| {
                    // Borrows the line if it keeps its links.
                    let line = relink_line(line, parent, first_kept.as_ref())?;
                    let Some(dialect) = target_dialect else {
                        return out.write_all(&line);
                    };
                    let converted = convert::convert_entry(&line, *dialect, edit_content.as_ref());
                    out.write_all(&converted)
                })?
            }
        }
    }
}

/// Returns a line with the given parent and first kept entry. Without a change, it is the line
/// itself, without the carriage return of a line that ends with `\r\n`.
fn relink_line<'l>(
    line: &'l [u8],
    parent: &CopyParent,
    first_kept: Option<&Text<'static>>,
) -> io::Result<Cow<'l, [u8]>> {
    if *parent == CopyParent::Unchanged && first_kept.is_none() {
        return Ok(Cow::Borrowed(line.strip_suffix(b"\r").unwrap_or(line)));
    }
    let mut edit = LineEdit::new(line)?;
    match parent {
        CopyParent::Unchanged => {}
        CopyParent::Root => edit.set("parentId", b"null"),
        CopyParent::Id(id) => edit.set("parentId", &encode_to_vec(id)),
    }
    if let Some(first_kept) = first_kept {
        edit.set("firstKeptEntryId", &encode_to_vec(first_kept));
    }
    Ok(Cow::Owned(edit.finish()))
}

/// A gap between two migrated lines that is shorter, in bytes, is read by the reader of entries. It
/// is usually a newline, which that reader has in its buffer already.
const SHORT_GAP_LEN: u64 = 64;

/// Copies all bytes from an offset after the header on, with each line that migration changes
/// replaced by the migrated one.
fn write_migrated_from(
    session: &Session,
    source: &dyn ReadAt,
    offset: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let reader = EntryReader::new(session, source);
    let mut copied_to = offset;
    for ix in session.entry_indexes() {
        if !session.needs_migration(ix) {
            continue;
        }
        let line = session.entry(ix).span;
        let gap = Span {
            start: copied_to,
            len: line.start - copied_to,
        };
        // The gap is usually a newline, which the reader has in its buffer.
        if gap.len < SHORT_GAP_LEN {
            reader.with_stored(gap, |bytes| out.write_all(bytes))??;
        } else {
            copy_range(source, gap.range(), out)?;
        }
        reader.with_line(ix, |migrated| out.write_all(migrated))??;
        copied_to = line.end();
    }
    copy_range(source, copied_to..session.file_len, out)
}

/// The number of bytes to read at a time in search of the end of a line.
const LINE_END_STEP: u64 = 4096;

/// Returns the offset at which the line after the one at `offset` begins: the length of the file if
/// there is none.
pub(super) fn next_line_start(source: &dyn ReadAt, offset: u64) -> io::Result<u64> {
    let mut searched_to = offset;
    while searched_to < source.len() {
        let end = source.len().min(searched_to + LINE_END_STEP);
        let bytes = source.read_range(searched_to..end)?;
        if let Some(newline) = memchr::memchr(b'\n', &bytes) {
            return Ok(searched_to + newline as u64 + 1);
        }
        searched_to += bytes.len() as u64;
    }
    Ok(searched_to)
}

/// Writes a line that has no newline, and a newline.
pub(super) fn write_line(line: &[u8], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(line)?;
    out.write_all(b"\n")
}

/// Copies every byte of a session.
pub fn copy_all(source: &dyn ReadAt, out: &mut dyn Write) -> io::Result<()> {
    copy_range(source, 0..source.len(), out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{LoadOptions, load};

    #[test]
    fn all_entries_go_behind_another_header() {
        let text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\r\n{\"id\":\"a\"}\r\nbroken";
        let source = text.as_bytes().to_vec();
        let session = load(&source, &LoadOptions::default()).unwrap();
        let new = NewSession {
            id: "n".to_owned(),
            timestamp: "2026-01-01T00:00:00.000Z".to_owned(),
            head_lines: vec![b"{}".to_vec()],
            leaf: None,
            entries: None,
        };
        let mut out = Vec::new();
        new.write(&session, &source, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "{}\n{\"id\":\"a\"}\r\nbroken\n"
        );
        assert_eq!(new.file_name(), "2026-01-01T00-00-00-000Z_n.jsonl");
    }
}
