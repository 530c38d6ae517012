//! Prints what many entries store: read and formatted on all processors, written in order.

use super::input::OpenSession;
use super::transaction::output_or_input;
use crate::core::bodies::FileBodies;
use crate::core::entry::{EntryIx, Span};
use crate::core::workers::in_order;
use crate::ui::Failure;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

/// The number of bytes of the file that are formatted together.
const PIECE: u64 = 128 * 1024;
/// The maximum length of a line that is formatted into memory; a longer one is formatted into the output.
const MOST: u64 = 8 * PIECE;

/// Items to print, each of which is an entry, or belongs to one.
pub struct Pieces<'a, T> {
    /// The session.
    pub open: &'a OpenSession,
    /// The items.
    pub items: &'a [T],
    /// Returns the entry of an item.
    pub entry: fn(&T) -> EntryIx,
    /// The number of threads that format.
    pub workers: usize,
}

impl<T: Sync> Pieces<'_, T> {
    /// Prints all items; `format` writes one of them.
    ///
    /// # Errors
    /// If reading or writing fails.
    pub fn print(
        &self,
        format: impl Fn(&FileBodies, &T, &mut dyn Write) -> io::Result<()> + Sync,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let open = self.open;
        // Both are kept for the next piece.
        let (readers, buffers) = (Spare::default(), Spare::default());
        let into_memory = |items: &[T], span: Span| {
            let mut text = buffers.take().unwrap_or_default();
            let bodies = readers.take().unwrap_or_else(|| open.bodies());
            bodies.hold(span)?;
            items.iter().try_for_each(|item| format(&bodies, item, &mut text))?;
            readers.put(bodies);
            io::Result::Ok(text)
        };
        let work = |Piece { items, span }| Formatted {
            items,
            text: (span.len <= MOST).then(|| into_memory(items, span)),
        };
        in_order(self.split(), self.workers, work, |Formatted { items, text }| {
            let Some(text) = text else {
                let bodies = open.bodies();
                let printed = items.iter().try_for_each(|item| format(&bodies, item, out));
                return printed.map_err(|error| output_or_input(&open.input, error));
            };
            let mut text = text.map_err(|error| open.input.unreadable(error))?;
            out.write_all(&text).map_err(Failure::output)?;
            text.clear();
            buffers.put(text);
            Ok(())
        })
    }

    /// Returns runs of items whose lines are near each other in the file, with the span of these lines.
    fn split(&self) -> Vec<Piece<'_, T>> {
        let span = |item: &T| self.open.session.entry((self.entry)(item)).span;
        let mut pieces = Vec::new();
        let mut rest = self.items;
        while let Some(first) = rest.first() {
            let mut whole = span(first);
            let mut count = 1;
            for next in rest[1..].iter().map(span) {
                let joined = join(whole, next);
                if joined.len > PIECE {
                    break;
                }
                whole = joined;
                count += 1;
            }
            let (items, others) = rest.split_at(count);
            pieces.push(Piece { items, span: whole });
            rest = others;
        }
        pieces
    }
}

/// Items whose lines are in the span.
struct Piece<'a, T> {
    items: &'a [T],
    span: Span,
}

/// Items and their text; none if that is too long.
struct Formatted<'a, T> {
    items: &'a [T],
    text: Option<io::Result<Vec<u8>>>,
}

/// Returns the span of both, and of what is between them.
fn join(one: Span, other: Span) -> Span {
    let start = one.start.min(other.start);
    Span { start, len: one.end().max(other.end()) - start }
}

/// Values to be used again, by any thread.
struct Spare<V>(Mutex<Vec<V>>);

impl<V> Default for Spare<V> {
    fn default() -> Self {
        Spare(Mutex::default())
    }
}

impl<V> Spare<V> {
    fn take(&self) -> Option<V> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn put(&self, value: V) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    }
}
