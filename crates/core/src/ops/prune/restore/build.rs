//! Builds the restored session from its lines, and from the values that were put back in them.

use super::lines::{RestoredLine, RestoredLines, ValueEdit};
use crate::ops::patched::{Origin, PieceTable};
use crate::ops::prune::locate_part;
use crate::ops::prune::payload::find_at_path;
use crate::session::entry::{LineNo, Span};
use foldhash::HashMap;
use pisess_json::Raw;
use std::io;

/// The session after all operations were undone.
pub(super) struct RestoredSession {
    pub file: PieceTable,
    /// See [`Restoration::session_lines`](super::Restoration::session_lines).
    pub session_lines: Vec<Option<LineNo>>,
}

impl RestoredLines<'_> {
    /// Returns the restored session as pieces of the pruned session and of the pruned file, which
    /// are not copied.
    pub fn build_restored(self) -> io::Result<RestoredSession> {
        let mut restored = PieceTable::default();
        let mut session_lines = Vec::with_capacity(self.lines.len());
        for (index, &line) in self.lines.iter().enumerate() {
            session_lines.push(match line.record {
                Some(_) => None,
                None => Some(LineNo(line.session_number)),
            });
            self.push_line(line, &mut restored)?;

            // A line that lacked its newline at the end of the file needs one if another line now
            // follows.
            let is_last = index + 1 == self.lines.len();
            if line.has_newline || !is_last {
                self.push_newline(line, &mut restored);
            }
        }
        Ok(RestoredSession {
            file: restored,
            session_lines,
        })
    }

    /// Adds the newline of a line: the next byte of the session, so that it extends the piece of
    /// the line. A new byte is added for a removed line, whose record does not contain the newline,
    /// and at the end of the session, which may lack one.
    fn push_newline(&self, line: RestoredLine, restored: &mut PieceTable) {
        let line_end = line.span.end();
        let is_in_session = line.record.is_none() && line_end < self.source.len();
        if is_in_session {
            restored.push_source(Span {
                start: line_end,
                len: 1,
            });
        } else {
            restored.push_new_bytes(b"\n");
        }
    }

    /// Adds a line to the restored session, without its newline: the values that were pruned are
    /// taken from the pruned file, the bytes between them from the file of the line.
    fn push_line(&self, line: RestoredLine, restored: &mut PieceTable) -> io::Result<()> {
        if self.has_nested_edits(line) {
            restored.push_new_bytes(&self.read_current_line(line)?);
            return Ok(());
        }
        let origin = line.origin();
        let mut copied_end = line.span.start;
        for splice in self.find_splices(line)? {
            let unchanged = Span {
                start: copied_end,
                len: splice.replaced.start - copied_end,
            };
            restored.push_span(origin, unchanged);
            restored.push_span(Origin::Beside, splice.payload);
            copied_end = splice.replaced.end();
        }
        let unchanged = Span {
            start: copied_end,
            len: line.span.end() - copied_end,
        };
        restored.push_span(origin, unchanged);
        Ok(())
    }

    /// Returns the splices that put back the values of a line: which bytes of the line each of them
    /// replaces. In the order of the line.
    fn find_splices(&self, line: RestoredLine) -> io::Result<Vec<Splice>> {
        let Some(edits) = self.edits.get(&line.key()) else {
            return Ok(Vec::new());
        };
        let bytes = self.read_line(line)?;
        let root = Raw::parse(bytes.trim_ascii())?;
        let mut splices = Vec::new();
        for (field, payload) in original_payloads(edits) {
            if let Some(value) = find_at_path(root, field) {
                splices.push(Splice {
                    replaced: locate_part(value.bytes(), &bytes, line.span),
                    payload,
                });
            }
        }
        splices.sort_by_key(|splice| splice.replaced.start);
        Ok(splices)
    }
}

/// Returns the location of the original value in the pruned file, by the path of the value.
///
/// If several operations have pruned the same path, it has several edits. The last of them belongs
/// to the oldest operation, which has moved out the original value.
fn original_payloads<'e>(edits: &[ValueEdit<'e>]) -> HashMap<&'e str, Span> {
    let mut payload_by_field = HashMap::default();
    for edit in edits {
        payload_by_field.insert(edit.field, edit.payload);
    }
    payload_by_field
}

/// The replacement of a value in a line by bytes of the pruned file.
struct Splice {
    /// The location of the value in the file of its line.
    replaced: Span,
    /// The location of the new bytes in the pruned file.
    payload: Span,
}
