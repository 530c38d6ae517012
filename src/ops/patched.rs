//! A file with some bytes replaced, read by position like any other. Only the new bytes are stored.

use crate::session::entry::Span;
use pisess_store::ReadAt;
use std::io;

/// Ranges of a source and new bytes, in order.
pub struct Patched<'a> {
    source: &'a dyn ReadAt,
    pieces: Vec<(u64, Piece)>,
    len: u64,
}

enum Piece {
    Kept(Span),
    Made(Vec<u8>),
}

impl<'a> Patched<'a> {
    /// Returns a file that is empty so far.
    pub fn new(source: &'a dyn ReadAt) -> Self {
        Patched { source, pieces: Vec::new(), len: 0 }
    }

    /// Whether it is the source, unchanged.
    pub fn is_whole(&self) -> bool {
        let is_kept = self.pieces.iter().all(|(_, piece)| matches!(piece, Piece::Kept(_)));
        is_kept && self.len == self.source.len()
    }

    /// Adds these bytes of the source.
    pub fn keep(&mut self, span: Span) {
        if span.len == 0 {
            return;
        }
        self.len += span.len;
        if let Some((_, Piece::Kept(last))) = self.pieces.last_mut()
            && last.end() == span.start
        {
            last.len += span.len;
            return;
        }
        self.pieces.push((self.len - span.len, Piece::Kept(span)));
    }

    /// Adds new bytes.
    pub fn make(&mut self, bytes: impl Into<Vec<u8>>) {
        let bytes = bytes.into();
        if bytes.is_empty() {
            return;
        }
        self.pieces.push((self.len, Piece::Made(bytes)));
        self.len += self.pieces.last().map_or(0, |(_, piece)| piece.len());
    }
}

impl Piece {
    fn len(&self) -> u64 {
        match self {
            Piece::Kept(span) => span.len,
            Piece::Made(bytes) => bytes.len() as u64,
        }
    }
}

impl ReadAt for Patched<'_> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let at = self.pieces.partition_point(|(start, _)| *start <= offset);
        let Some((start, piece)) = at.checked_sub(1).map(|at| &self.pieces[at]) else { return Ok(0) };
        let inside = offset - start;
        let left = usize::try_from(piece.len().saturating_sub(inside)).unwrap_or(usize::MAX);
        let take = buf.len().min(left);
        match piece {
            Piece::Kept(span) if take > 0 => self.source.read_at(&mut buf[..take], span.start + inside),
            Piece::Made(bytes) if take > 0 => {
                let inside = inside as usize;
                buf[..take].copy_from_slice(&bytes[inside..inside + take]);
                Ok(take)
            }
            _ => Ok(0),
        }
    }

    fn len(&self) -> u64 {
        self.len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_read_as_one() {
        let source = b"0123456789".to_vec();
        let mut mended = Patched::new(&source);
        mended.keep(Span { start: 0, len: 3 });
        mended.keep(Span { start: 3, len: 1 });
        mended.make(*b"ab");
        mended.keep(Span { start: 8, len: 2 });
        assert_eq!(mended.pieces.len(), 3);
        for (from, to) in [(0, 8), (2, 7), (5, 6), (8, 8)] {
            let mut bytes = vec![0; to - from];
            mended.read_exact_at(&mut bytes, from as u64).unwrap();
            assert_eq!(bytes, b"0123ab89"[from..to]);
        }
    }
}
