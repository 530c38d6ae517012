//! A session with what was pruned from it: parts of two files, read as if they were one.

use crate::session::entry::{LineNo, Span};
use pisess_store::ReadAt;
use std::io;

/// A part of the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// What it is read from.
    pub from: From,
    /// Where it is there.
    pub span: Span,
}

/// The source of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum From {
    /// The session.
    Session,
    /// The pruned file.
    Pruned,
    /// A newline, which is in neither.
    Newline,
}

/// The content: parts of a session and of the file beside it.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The offset of each part in the content, and the part.
    parts: Vec<(u64, Part)>,
    len: u64,
    /// The number of each line in the session; 0 if it was pruned.
    lines: Vec<u32>,
}

impl Parts {
    /// Adds a part.
    pub(super) fn push(&mut self, part: Part) {
        if part.span.len == 0 {
            return;
        }
        let length = part.span.len;
        match self.parts.last_mut() {
            // The next bytes of the same file.
            Some((_, last)) if last.from == part.from && last.span.end() == part.span.start => {
                last.span.len += length;
            }
            _ => self.parts.push((self.len, part)),
        }
        self.len += length;
    }

    /// Begins a line: that with this number in the session, or one that was pruned.
    pub(super) fn begin_line(&mut self, in_session: Option<LineNo>) {
        self.lines.push(in_session.map_or(0, |line| line.0));
    }
}

/// A session with what was pruned from it.
#[derive(Clone, Copy)]
pub struct Whole<'a> {
    /// Its content.
    pub parts: &'a Parts,
    /// The session.
    pub session: &'a dyn ReadAt,
    /// The file beside it.
    pub pruned: &'a dyn ReadAt,
}

impl Whole<'_> {
    /// Returns the number in the session of a line of the content; `None` if it was pruned.
    pub fn in_session(&self, line: LineNo) -> Option<LineNo> {
        let number = *self.parts.lines.get(line.0.checked_sub(1)? as usize)?;
        (number > 0).then_some(LineNo(number))
    }
}

impl ReadAt for Whole<'_> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let parts = &self.parts.parts;
        let at = parts.partition_point(|(start, _)| *start <= offset);
        let Some((start, part)) = at.checked_sub(1).map(|at| parts[at]) else { return Ok(0) };
        let inside = offset - start;
        let length = usize::try_from(part.span.len.saturating_sub(inside)).unwrap_or(usize::MAX);
        let length = length.min(buf.len());
        let buf = &mut buf[..length];
        match part.from {
            From::Session => self.session.read_at(buf, part.span.start + inside),
            From::Pruned => self.pruned.read_at(buf, part.span.start + inside),
            From::Newline => {
                buf.fill(b'\n');
                Ok(length)
            }
        }
    }

    fn len(&self) -> u64 {
        self.parts.len
    }
}
