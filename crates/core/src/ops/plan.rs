//! Plans: the results of operations, as values that can be printed, compared and committed.

use crate::agents::convert;
use crate::agents::pi::edits::ContextEdit;
use crate::ops::patched::PieceTable;
use crate::session::blobs::BlobStore;
use crate::session::content::{ConvertedBlock, convert_blocks, is_block};
use crate::session::dialect::Dialect;
use crate::session::entry::{EntryIx, Span};
use crate::session::read::entry_reader::EntryReader;
use crate::session::{Format, Session};
use pisess_json::Raw;
use pisess_json::edit::{Edit as LineEdit, with_member};
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_store::{ReadAt, copy_range};
use std::borrow::Cow;
use std::io::{self, Write};

/// A change to a session: entries to append. If the session has an older format, the commit also
/// migrates it. Without entries, there is nothing to do.
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
    /// The id of the entry.
    pub id: Text<'static>,
    /// The JSON of the entry, without a newline.
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
    /// Returns the name of the effect in a printed plan.
    pub fn name(self) -> &'static str {
        match self {
            Action::Nothing => "nothing",
            Action::Append => "append",
            Action::Rewrite => "rewrite",
            Action::Create => "create",
        }
    }
}

/// A new session file that is created from a source session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// The id of the new session.
    pub id: String,
    /// The creation time, as written in the header.
    pub timestamp: String,
    /// The lines before the entries: oh-my-pi's title line, if there is one, and the header.
    pub head_lines: Vec<Vec<u8>>,
    /// The id of the leaf.
    pub leaf: Option<Text<'static>>,
    /// The entries, in this order. `None` means every line after the header of the source,
    /// migrated.
    pub entries: Option<Vec<NewSessionEntry>>,
    /// New entries after all others.
    pub appended: Vec<NewEntry>,
    /// Where the images of oh-my-pi are, if entries are converted to those of pi.
    pub blobs: BlobStore,
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
        /// The new `firstKeptEntryId`; `None` if it stays the same.
        first_kept: Option<Text<'static>>,
        /// Whether the copy lacks the thinking of the model.
        omits_thinking: bool,
        /// The agent for which the copy is converted; `None` if it is not converted.
        target_dialect: Option<Dialect>,
        /// The context edit in effect for the entry, which is applied when the copy is converted.
        edit: Option<ContextEdit>,
    },
    /// A new entry.
    New(NewEntry),
}

/// The parent of a copied entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyParent {
    /// The same as in the original: `parentId` is not changed.
    Unchanged,
    /// No parent: the copy becomes a root.
    Root,
    /// The entry with this id.
    Id(Text<'static>),
}

/// The lines of a new session, as a dry run reports them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedLines {
    /// The number of all lines.
    pub line_count: usize,
    /// The lines that are not copied unchanged: the head, and new or changed entries.
    pub changed_lines: Vec<Vec<u8>>,
}

impl Change {
    /// Whether there is nothing to append, and so nothing to do.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns how the session's file is written if the change is committed. Most changes only
    /// append lines.
    pub fn action(&self, session: &Session) -> Action {
        if self.is_empty() {
            return Action::Nothing;
        }
        // A migration changes lines of the file, and a new title line is at its start.
        let needs_migration = session.format != Format::V3;
        let changes_title_line = self.title_line.is_some();
        if needs_migration || changes_title_line {
            Action::Rewrite
        } else {
            Action::Append
        }
    }

    /// Returns the bytes to append to a version 3 file that ends with a newline. If the last line
    /// of a file lacks its newline, the store adds it when it appends (rule 1 of the store).
    pub fn appended_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for entry in &self.entries {
            bytes.extend_from_slice(&entry.line);
            bytes.push(b'\n');
        }
        bytes
    }

    /// Returns the file as it would be after the change, without writing it: all bytes of `source`,
    /// then the new lines. `None` if the change is not an append.
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

    /// Writes the whole session after the change, in version 3: oh-my-pi's title line, the header,
    /// the old entries (migrated if needed), then the new ones. Bytes between these are copied.
    ///
    /// # Errors
    /// If reading or writing fails, or if the source has changed since it was loaded.
    pub fn write(
        &self,
        session: &Session,
        source: &dyn ReadAt,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if let Some(title_line) = &self.title_line {
            write_line(title_line, out)?;
        }
        // The new title line replaces the old one: the first line of the source.
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

/// Returns the file name that the agents give to a session, such as
/// `2026-01-31T12-00-00-000Z_ID.jsonl`.
pub fn file_name(timestamp: &str, id: &str) -> String {
    format!("{}_{id}.jsonl", timestamp.replace([':', '.'], "-"))
}

impl NewSession {
    /// Returns the file name that the agents would give the session.
    pub fn file_name(&self) -> String {
        file_name(&self.timestamp, &self.id)
    }

    /// Counts the lines of the new file, and returns the new and the changed ones, which a dry run
    /// prints.
    ///
    /// If the whole source is copied (`entries` is `None`), only the head lines and the appended
    /// ones are returned, even if entries are migrated. Malformed lines of the source are also
    /// copied then, but not counted.
    pub fn plan_lines(&self, session: &Session, source: &dyn ReadAt) -> io::Result<PlannedLines> {
        let mut changed_lines = self.head_lines.clone();
        let appended_lines = self.appended.iter().map(|new| new.line.clone());
        let added_count = self.head_lines.len() + self.appended.len();
        let Some(entries) = &self.entries else {
            changed_lines.extend(appended_lines);
            return Ok(PlannedLines {
                line_count: added_count + session.entries.len(),
                changed_lines,
            });
        };
        let reader = EntryReader::new(session, source);
        for entry in entries {
            // Unchanged lines are only counted, so they need not be read.
            if entry.is_unchanged() {
                continue;
            }
            let mut line = Vec::new();
            entry.write(&reader, &self.blobs, &mut line)?;
            changed_lines.push(line);
        }
        changed_lines.extend(appended_lines);
        Ok(PlannedLines {
            line_count: added_count + entries.len(),
            changed_lines,
        })
    }

    /// Writes the new file: the head lines, then the entries, then the appended ones. If `entries`
    /// is `None`, everything after the header of the source follows the head lines. The file always
    /// ends with a newline.
    ///
    /// # Errors
    /// If reading or writing fails, or if the source has changed since it was loaded.
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
                // If no line follows the header, the last written line is a head line, which has a
                // newline.
                let ends_with_newline = session.ends_with_newline || start == source.len();
                if !ends_with_newline {
                    out.write_all(b"\n")?;
                }
            }
            Some(entries) => {
                let reader = EntryReader::new(session, source);
                for entry in entries {
                    entry.write(&reader, &self.blobs, out)?;
                    out.write_all(b"\n")?;
                }
            }
        }
        for new in &self.appended {
            write_line(&new.line, out)?;
        }
        Ok(())
    }
}

impl NewSessionEntry {
    /// Returns an unchanged copy of an entry.
    pub fn copy_of(entry: EntryIx) -> NewSessionEntry {
        NewSessionEntry::Copied {
            entry,
            parent: CopyParent::Unchanged,
            first_kept: None,
            omits_thinking: false,
            target_dialect: None,
            edit: None,
        }
    }

    /// Whether the line is copied unchanged: with its old links, and in the dialect that it has.
    /// `edit` need not be checked, because it is applied only to a line that is converted to
    /// another dialect.
    fn is_unchanged(&self) -> bool {
        matches!(
            self,
            NewSessionEntry::Copied {
                parent: CopyParent::Unchanged,
                first_kept: None,
                omits_thinking: false,
                target_dialect: None,
                ..
            }
        )
    }

    /// Writes the line of the entry in the new file, without a newline. A copy first gets its new
    /// links: its parent and, for a compaction, its first kept entry. Then it is converted to the
    /// format of the other agent, if this is requested. `blobs` has the images of oh-my-pi.
    pub fn write(
        &self,
        reader: &EntryReader,
        blobs: &BlobStore,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self {
            NewSessionEntry::New(new) => out.write_all(&new.line),
            NewSessionEntry::Copied {
                entry,
                parent,
                first_kept,
                omits_thinking,
                target_dialect,
                edit,
            } => {
                let edit_content = match edit {
                    Some(edit) => Some(edit.load_content(reader)?),
                    None => None,
                };
                reader.with_line(*entry, |line| {
                    // If the links stay the same, the line is borrowed, not copied.
                    let mut line = relink_line(line, parent, first_kept.as_ref())?;
                    if *omits_thinking && let Some(changed) = without_thinking(&line) {
                        line = Cow::Owned(changed);
                    }
                    let Some(dialect) = target_dialect else {
                        return out.write_all(&line);
                    };
                    let converted =
                        convert::convert_entry(&line, *dialect, edit_content.as_ref(), blobs);
                    out.write_all(&converted)
                })?
            }
        }
    }
}

/// Returns the line of a copied entry with its new parent and, for a compaction, its new first kept
/// entry. If neither changes, this is the line itself. The `\r` of a line that ended with `\r\n` is
/// removed.
fn relink_line<'l>(
    line: &'l [u8],
    parent: &CopyParent,
    first_kept: Option<&Text<'static>>,
) -> io::Result<Cow<'l, [u8]>> {
    let is_unchanged = *parent == CopyParent::Unchanged && first_kept.is_none();
    if is_unchanged {
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

/// Returns the line of a message without its blocks of thinking; `None` if it has none.
fn without_thinking(line: &[u8]) -> Option<Vec<u8>> {
    let entry = Raw::from_checked(line.trim_ascii());
    let message = entry.get("message")?;
    let content = convert_blocks(message.get("content")?, |block| {
        if is_block(block, "thinking") || is_block(block, "redactedThinking") {
            ConvertedBlock::Dropped
        } else {
            ConvertedBlock::Same
        }
    })?;
    let message = with_member(message, "content", &content);
    Some(with_member(entry, "message", &message))
}

/// A gap between two migrated lines with fewer bytes is read with the `EntryReader`. Such a gap is
/// usually a newline, which the reader already has in its buffer.
const SHORT_GAP_LEN: u64 = 64;

/// Copies all bytes from an offset after the header to the end. Lines that a migration to version 3
/// changes are replaced; between them, blank and malformed lines stay as they are.
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
        // A short gap is in the reader's buffer: see [`SHORT_GAP_LEN`].
        if gap.len < SHORT_GAP_LEN {
            let written = reader.with_stored(gap, |bytes| out.write_all(bytes))?;
            written?;
        } else {
            copy_range(source, gap.range(), out)?;
        }
        let written = reader.with_line(ix, |migrated| out.write_all(migrated))?;
        written?;
        copied_to = line.end();
    }
    copy_range(source, copied_to..session.file_len, out)
}

/// The number of bytes to read at a time when the end of a line is searched.
const LINE_END_STEP: u64 = 4096;

/// Returns the offset at which the line after the one at `offset` begins. If there is none, returns
/// the length of the file.
pub(super) fn next_line_start(source: &dyn ReadAt, offset: u64) -> io::Result<u64> {
    let mut searched_to = offset;
    while searched_to < source.len() {
        let end = source.len().min(searched_to + LINE_END_STEP);
        let bytes = source.read_range(searched_to..end)?;
        if let Some(newline) = memchr::memchr(b'\n', &bytes) {
            return Ok(searched_to + newline as u64 + 1);
        }
        searched_to = end;
    }
    Ok(searched_to)
}

/// Writes a line, given without its newline, and a newline.
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
            appended: Vec::new(),
            blobs: BlobStore::default(),
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
