//! A file put together from parts of others and new bytes, read by position like any other. Only
//! the new bytes are stored.

use crate::session::entry::Span;
use pisess_store::ReadAt;
use std::io;

/// The parts of a file, in order.
#[derive(Clone, Debug, Default)]
pub struct PieceTable {
    /// The parts, none of them empty.
    pieces: Vec<Piece>,
    /// All new bytes.
    new_bytes: Vec<u8>,
    len: u64,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    /// The offset of the part in the file.
    start: u64,
    origin: Origin,
    /// The bytes of the origin that the part consists of.
    span: Span,
}

/// What a part is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The source.
    Source,
    /// The file beside the source.
    Beside,
    /// The new bytes.
    New,
}

impl PieceTable {
    /// Whether the file is the source, unchanged.
    pub fn is_unchanged(&self, source: &dyn ReadAt) -> bool {
        self.len == source.len()
            && self
                .pieces
                .iter()
                .all(|piece| piece.origin == Origin::Source)
    }

    /// Adds these bytes of the source.
    pub fn push_source(&mut self, span: Span) {
        self.push_span(Origin::Source, span);
    }

    /// Adds new bytes.
    pub fn push_new_bytes(&mut self, bytes: &[u8]) {
        let span = Span {
            start: self.new_bytes.len() as u64,
            len: bytes.len() as u64,
        };
        self.new_bytes.extend_from_slice(bytes);
        self.push_span(Origin::New, span);
    }

    /// Adds these bytes of an origin. If they follow the last part in the same origin, that part
    /// grows, so that many small additions are one part.
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

    /// Returns the file, if nothing is read from beside its source.
    pub fn with_source<'a>(&'a self, source: &'a dyn ReadAt) -> PatchedFile<'a> {
        PatchedFile {
            pieces: self,
            source,
            beside: source,
        }
    }
}

/// The file, with what it is read from.
#[derive(Clone, Copy)]
pub struct PatchedFile<'a> {
    /// Its parts.
    pub pieces: &'a PieceTable,
    /// The source.
    pub source: &'a dyn ReadAt,
    /// The file beside it.
    pub beside: &'a dyn ReadAt,
}

impl ReadAt for PatchedFile<'_> {
    /// Reads from one part only: fewer bytes than fit into `buf` if the part ends before. At or
    /// after the end of the file, reads 0 bytes.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let pieces = &self.pieces.pieces;
        let started_count = pieces.partition_point(|piece| piece.start <= offset);
        let Some(index) = started_count.checked_sub(1) else {
            return Ok(0); // The file is empty.
        };
        let piece = pieces[index];
        let offset_in_piece = offset - piece.start;
        // 0 after the last piece.
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
