//! A virtual file that consists of parts of other files and of new bytes. Only the new bytes are
//! stored. It is read by offset, like any other file.

use crate::session::entry::Span;
use pisess_store::ReadAt;
use std::io;

/// The parts of a file, in order.
#[derive(Clone, Debug, Default)]
pub struct PieceTable {
    /// The parts; none is empty.
    pieces: Vec<Piece>,
    /// The new bytes of all parts, joined.
    new_bytes: Vec<u8>,
    len: u64,
}

/// A part of the virtual file.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The offset of the part in the virtual file.
    start: u64,
    origin: Origin,
    /// The location of the part's bytes in the origin.
    span: Span,
}

/// The file or buffer that a part is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The source file.
    Source,
    /// A second file, such as the one that `prune` keeps beside a session.
    Beside,
    /// The stored new bytes.
    New,
}

impl PieceTable {
    /// Whether the virtual file is the same as the source. Parts of the source must have been added
    /// in order, each once.
    pub fn is_unchanged(&self, source: &dyn ReadAt) -> bool {
        self.len == source.len()
            && self
                .pieces
                .iter()
                .all(|piece| piece.origin == Origin::Source)
    }

    /// Appends these bytes of the source.
    pub fn push_source(&mut self, span: Span) {
        self.push_span(Origin::Source, span);
    }

    /// Appends new bytes.
    pub fn push_new_bytes(&mut self, bytes: &[u8]) {
        let span = Span {
            start: self.new_bytes.len() as u64,
            len: bytes.len() as u64,
        };
        self.new_bytes.extend_from_slice(bytes);
        self.push_span(Origin::New, span);
    }

    /// Appends bytes that stay where they are: in the file or buffer `origin`, at `span`. If they
    /// directly follow the last part in the same origin, that part is extended, so that many small
    /// additions make one part.
    pub fn push_span(&mut self, origin: Origin, span: Span) {
        if span.len == 0 {
            return;
        }
        if let Some(last) = self.pieces.last_mut()
            && last.origin == origin
            && last.span.end() == span.start
        {
            last.span.len += span.len;
        } else {
            self.pieces.push(Piece {
                start: self.len,
                origin,
                span,
            });
        }
        self.len += span.len;
    }

    /// Returns a reader of the virtual file. No part may have [`Origin::Beside`].
    pub fn with_source<'a>(&'a self, source: &'a dyn ReadAt) -> PatchedFile<'a> {
        PatchedFile {
            pieces: self,
            source,
            beside: source,
        }
    }
}

/// A virtual file together with the files that its parts are read from.
#[derive(Clone, Copy)]
pub struct PatchedFile<'a> {
    /// The parts of the virtual file.
    pub pieces: &'a PieceTable,
    /// The file for parts with [`Origin::Source`].
    pub source: &'a dyn ReadAt,
    /// The file for parts with [`Origin::Beside`].
    pub beside: &'a dyn ReadAt,
}

impl ReadAt for PatchedFile<'_> {
    /// Reads the bytes at an offset of the virtual file, from the part that contains the offset.
    /// The read ends with this part, so it may have fewer bytes than fit into `buf`. At or after
    /// the end of the file, it has none.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let pieces = &self.pieces.pieces;
        // The last part that starts at or before the offset contains it.
        let started_count = pieces.partition_point(|piece| piece.start <= offset);
        let Some(index) = started_count.checked_sub(1) else {
            return Ok(0); // The file is empty.
        };
        let piece = pieces[index];
        let offset_in_piece = offset - piece.start;
        // This is 0 at or after the end of the file.
        let remaining = piece.span.len.saturating_sub(offset_in_piece);
        let remaining = usize::try_from(remaining).unwrap_or(usize::MAX);
        let length = buf.len().min(remaining);
        let origin: &dyn ReadAt = match piece.origin {
            Origin::Source => self.source,
            Origin::Beside => self.beside,
            Origin::New => &self.pieces.new_bytes,
        };
        origin.read_at(&mut buf[..length], piece.span.start + offset_in_piece)
    }

    fn len(&self) -> u64 {
        self.pieces.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_read_as_one() {
        let source = b"0123456789".to_vec();
        let mut pieces = PieceTable::default();
        pieces.push_source(Span { start: 0, len: 3 });
        pieces.push_source(Span { start: 3, len: 1 });
        pieces.push_new_bytes(b"a");
        pieces.push_new_bytes(b"b");
        pieces.push_source(Span { start: 8, len: 2 });
        assert_eq!(pieces.pieces.len(), 3);
        let mut bytes = [0; 5];
        pieces
            .with_source(&source)
            .read_exact_at(&mut bytes, 2)
            .unwrap();
        assert_eq!(&bytes, b"23ab8");
    }
}
