//! Draws rows on several threads, and prints them in order.

use crate::cli::output::{Failure, RowBuffer, Ui};
use pisess_store::workers::{Pool, in_order};
use std::io;
use std::ops::Range;

/// The number of rows that a thread draws at a time. It is so large that their text usually exceeds
/// the buffer of standard output, and is written without being copied.
pub const BATCH_ROWS: usize = 1024;
/// The maximum number of threads. More would be useless, because only one prints at a time.
const MOST_THREADS: usize = 8;

/// Draws `count` rows in batches, on several threads, and prints them in order. `draw` appends the
/// rows of a range to a buffer, which is a copy of `empty`.
///
/// A buffer is reused for later batches, which need not be adjacent: its text is cleared, but it
/// still has the date of the row that was drawn last. So if the rows have times, `draw` must begin
/// with [`RowBuffer::set_previous_time`].
pub fn draw_batches(
    empty: &RowBuffer,
    count: usize,
    draw: impl Fn(&mut RowBuffer, Range<usize>) + Sync,
    ui: &mut Ui,
) -> Result<(), Failure> {
    // For few rows, one thread is as fast as several.
    let workers = ui
        .processor_count()
        .min(MOST_THREADS)
        .min(count / BATCH_ROWS)
        .max(1);
    let batches = (0..count)
        .step_by(BATCH_ROWS)
        .map(|start| start..count.min(start + BATCH_ROWS));
    let buffers = Pool::new(|| empty.clone());
    let draw_batch = |batch| {
        let mut rows = buffers.get();
        rows.text.clear();
        draw(&mut rows, batch);
        rows
    };
    let out = ui.stdout();
    let print_batch = |rows: RowBuffer| {
        out.write_all(&rows.text)?;
        buffers.put(rows);
        Ok::<(), io::Error>(())
    };
    in_order(batches, workers, draw_batch, print_batch).map_err(Failure::from_stdout_error)
}
