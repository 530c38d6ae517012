//! Draws rows on several threads, and prints them in order.

use crate::cli::output::{Failure, Rows, Ui};
use pisess_store::workers::{Pool, in_order};
use std::io;
use std::ops::Range;

/// The number of rows that a thread draws at a time: enough that their text usually exceeds the
/// buffer of standard output, and so is written without a copy.
pub const BATCH: usize = 1024;
/// The maximum number of threads: only one prints at a time.
const THREADS: usize = 8;

/// Draws `count` rows in batches, on several threads, and prints them in order. Copies of `pen` are
/// used for several batches each: `draw` must begin with [`Rows::follow`] if the rows have times.
pub fn draw_batches(
    pen: &Rows,
    count: usize,
    draw: impl Fn(&mut Rows, Range<usize>) + Sync,
    ui: &mut Ui,
) -> Result<(), Failure> {
    // For few rows, one thread is as fast as several.
    let workers = ui.processors().min(THREADS).min(count / BATCH).max(1);
    let batches = (0..count)
        .step_by(BATCH)
        .map(|start| start..count.min(start + BATCH));
    let pens = Pool::new(|| pen.clone());
    let drawn = |batch| {
        let mut pen = pens.get();
        pen.text.clear();
        draw(&mut pen, batch);
        pen
    };
    let out = ui.stdout();
    in_order(batches, workers, drawn, |pen| {
        out.write_all(&pen.text)?;
        pens.put(pen);
        Ok::<(), io::Error>(())
    })
    .map_err(Failure::output)
}
