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
        /// The id of its new parent, if the parent changes (`None` inside: it becomes a root).
        parent: Option<Option<Text<'static>>>,
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

impl Change {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns the effect of committing it on the session's own file.
    pub fn action(&self, session: &Session) -> Action {
        match session.format {
            _ if self.is_empty() => Action::Nothing,
            Format::V3 if self.title_line.is_none() => Action::Append,
            _ => Action::Rewrite,
        }
    }

    /// Returns the bytes to append to a version 3 file. The writer adds a newline if the last line
    /// lacks one (rule 1 of the store).
    pub fn appended_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for entry in &self.entries {
            bytes.extend_from_slice(&entry.line);
            bytes.push(b'\n');
        }
        bytes
    }

    /// Returns the file after the change, if it is only appended to.
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

    /// Writes the whole session as it is after the change.
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

    /// Returns the number of its lines, and the lines that are not copied as they are: the head,
    /// and new or changed entries. With `entries` being `None`, lines that are migrated are not
    /// among them.
    pub fn own_lines(
        &self,
        session: &Session,
        source: &dyn ReadAt,
    ) -> io::Result<(usize, Vec<Vec<u8>>)> {
        let mut own = self.head_lines.clone();
        let Some(pieces) = &self.entries else {
            return Ok((own.len() + session.entries.len(), own));
        };
        let reader = EntryReader::new(session, source);
        for piece in pieces.iter().filter(|piece| !piece.is_unchanged()) {
            let mut line = Vec::new();
            piece.write(&reader, &mut line)?;
            own.push(line);
        }
        Ok((self.head_lines.len() + pieces.len(), own))
    }

    /// Writes the new file.
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
                // Without any line after the header, the head ends with a newline.
                let ends_with_newline = session.ends_with_newline || start == source.len();
                if !ends_with_newline {
                    out.write_all(b"\n")?;
                }
            }
            Some(pieces) => {
                let reader = EntryReader::new(session, source);
                for piece in pieces {
                    piece.write(&reader, out)?;
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
            parent: None,
            first_kept: None,
            target_dialect: None,
            edit: None,
        }
    }

    /// Whether its line is that of the source.
    fn is_unchanged(&self) -> bool {
        matches!(
            self,
            NewSessionEntry::Copied {
                parent: None,
                first_kept: None,
                target_dialect: None,
                ..
            }
        )
    }

    /// Writes a line of the new file, without its newline. An unchanged line is not copied in
    /// memory first.
    pub fn write(&self, reader: &EntryReader, out: &mut dyn Write) -> io::Result<()> {
        let (entry, parent, first_kept, to, edit) = match self {
            NewSessionEntry::New(entry) => return out.write_all(&entry.line),
            NewSessionEntry::Copied {
                entry,
                parent,
                first_kept,
                target_dialect: to,
                edit,
            } => (*entry, parent, first_kept, to, edit),
        };
        let edit = edit.map(|edit| edit.load_content(reader)).transpose()?;
        reader.with_line(entry, |line| {
            let line = match (parent, first_kept) {
                (None, None) => Cow::Borrowed(line.strip_suffix(b"\r").unwrap_or(line)),
                _ => Cow::Owned(relink_line(line, parent.as_ref(), first_kept.as_ref())?),
            };
            match to {
                None => out.write_all(&line),
                Some(to) => out.write_all(&convert::convert_entry(&line, *to, edit.as_ref())),
            }
        })?
    }
}

/// Returns a line with another parent or another first kept entry.
fn relink_line(
    line: &[u8],
    parent: Option<&Option<Text<'static>>>,
    first_kept: Option<&Text<'static>>,
) -> io::Result<Vec<u8>> {
    let mut edit = LineEdit::new(line)?;
    if let Some(parent) = parent {
        let parent_id = match parent {
            Some(id) => encode_to_vec(id),
            None => b"null".to_vec(),
        };
        edit.set("parentId", &parent_id);
    }
    if let Some(first_kept) = first_kept {
        edit.set("firstKeptEntryId", &encode_to_vec(first_kept));
    }
    Ok(edit.finish())
}

/// Copies everything from an offset after the header on, replacing migrated lines and keeping all
/// other bytes.
fn write_migrated_from(
    session: &Session,
    source: &dyn ReadAt,
    mut offset: u64,
    out: &mut dyn Write,
) -> io::Result<()> {
    let reader = EntryReader::new(session, source);
    for ix in session
        .entry_indexes()
        .filter(|&ix| session.needs_migration(ix))
    {
        let span = session.entry(ix).span;
        if span.start - offset < 64 {
            // Usually a newline, which is already in the window.
            reader.with_stored(
                Span {
                    start: offset,
                    len: span.start - offset,
                },
                |gap| out.write_all(gap),
            )??;
        } else {
            copy_range(source, offset..span.start, out)?;
        }
        reader.with_line(ix, |line| out.write_all(line))??;
        offset = span.end();
    }
    copy_range(source, offset..session.file_len, out)
}

/// Returns where the line after an offset of a file begins.
pub(super) fn next_line_start(source: &dyn ReadAt, mut offset: u64) -> io::Result<u64> {
    while offset < source.len() {
        let bytes = source.read_range(offset..source.len().min(offset + 4096))?;
        if let Some(newline) = memchr::memchr(b'\n', &bytes) {
            return Ok(offset + newline as u64 + 1);
        }
        offset += bytes.len() as u64;
    }
    Ok(offset)
}

fn write_line(line: &[u8], out: &mut dyn Write) -> io::Result<()> {
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
