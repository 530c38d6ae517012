//! Shows progress on a terminal. Files have a bar, with the number of files, their size and the
//! remaining time; so has one large file. A running command has a spinner, with the elapsed time.
//!
//! Nothing is shown in the first half second, after something was printed, or while another program
//! uses the terminal.

use super::Ui;
use crate::cli::files::FileItem;
use crate::format::format_bytes;
use std::io::{Write, stderr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle, park_timeout};
use std::time::{Duration, Instant};

const SHOW_DELAY: Duration = Duration::from_millis(500);
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// The width of the bar. Bar and numbers together fit on a narrow terminal, because only one line
/// can be cleared.
const BAR_WIDTH: usize = 16;
/// The minimum size of a single file that has a bar.
const LARGE_FILE_BYTES: u64 = 16 << 20;

/// The progress of one job. The line on the terminal is cleared when this is dropped.
#[derive(Default)]
pub struct Progress {
    done_count: Arc<AtomicUsize>,
    /// The thread that draws the line. All jobs share this place; the thread ends when it is taken
    /// from here.
    draw_thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Ui<'_> {
    /// Starts a progress bar for files. It is shown on a terminal if there are at least two.
    pub fn start_progress<I: FileItem>(&self, items: &[I]) -> Progress {
        let may_draw = self.draw_predicate();
        if may_draw.is_none() || items.len() < 2 {
            return Progress::default();
        }
        let paths: Vec<PathBuf> = items.iter().map(|item| item.path().to_owned()).collect();

        // The sizes are looked up by the drawing thread, and only if the job takes long.
        let sizes = OnceLock::new();
        let bar = move |done_count: usize, elapsed: Duration| {
            let sizes = sizes.get_or_init(|| FileSizes::read(&paths));
            sizes.format_bar(done_count, elapsed)
        };
        self.progress.start_job(bar, may_draw)
    }

    /// Starts a progress bar for reading a file. Bytes that `read_bytes` has already counted are
    /// left out. Returns `None` if the file is small, or if no progress is shown at all.
    pub fn start_reading(
        &self,
        read_bytes: &Arc<AtomicUsize>,
        file_bytes: u64,
    ) -> Option<Progress> {
        let may_draw = self.draw_predicate()?;
        if file_bytes < LARGE_FILE_BYTES {
            return None;
        }
        let read_bytes = Arc::clone(read_bytes);
        let read_before = read_bytes.load(Ordering::Relaxed);
        let bar = move |_, elapsed: Duration| {
            let read_now = read_bytes.load(Ordering::Relaxed) - read_before;
            format_reading(read_now as u64, file_bytes, elapsed)
        };
        Some(self.progress.start_job(bar, Some(may_draw)))
    }

    /// Starts a spinner with the elapsed time of a running command. It is shown on a terminal.
    pub fn start_spinner(&self, what: &'static str) -> Progress {
        let spinner = move |_, elapsed: Duration| {
            let frame =
                FRAMES[(elapsed.as_millis() / REDRAW_INTERVAL.as_millis()) as usize % FRAMES.len()];
            format!("{frame} {what}  {}s", elapsed.as_secs())
        };
        self.progress.start_job(spinner, self.draw_predicate())
    }

    /// Returns a function that decides whether progress may be drawn at a moment. `None` if it is
    /// never drawn.
    fn draw_predicate(&self) -> Option<fn() -> bool> {
        let is_shown = self.world.terminals.stderr && !self.is_quiet && !self.is_dumb_terminal();
        is_shown.then_some(self.world.is_terminal_free)
    }
}

/// The sizes of the files of a job.
struct FileSizes {
    /// At index `n`, the sum of the sizes of the first `n` files, in bytes. So the first sum is 0,
    /// and there is one more sum than there are files.
    sums: Vec<u64>,
}

/// The minimum elapsed time from which the remaining time is estimated.
const LEAST_ELAPSED: Duration = Duration::from_secs(2);

impl FileSizes {
    /// Looks up the sizes. A file that cannot be read counts as empty.
    fn read(paths: &[PathBuf]) -> FileSizes {
        let mut sum = 0;
        let mut sums = vec![sum];
        for path in paths {
            sum += std::fs::metadata(path).map_or(0, |file| file.len());
            sums.push(sum);
        }
        FileSizes { sums }
    }

    /// Returns the line for `done_count` finished files: a bar, their number and size, and an
    /// estimate of the remaining time. The size is the sum of the first `done_count` files, because
    /// files are finished roughly in order.
    fn format_bar(&self, done_count: usize, elapsed: Duration) -> String {
        let file_count = self.sums.len() - 1;
        let done_count = done_count.min(file_count);
        let done_bytes = self.sums[done_count];
        let all_bytes = self.sums[file_count];
        // If no size is known, each file counts the same. Without files, this is not a number, and
        // the bar is empty.
        let fraction = if all_bytes > 0 {
            done_bytes as f64 / all_bytes as f64
        } else {
            done_count as f64 / file_count as f64
        };

        let mut amount = format!("{done_count}/{file_count} sessions");
        if all_bytes > 0 {
            amount += ", ";
            amount += &format_part(done_bytes, all_bytes);
        }
        format_line(fraction, &amount, elapsed)
    }
}

/// Returns the line for a file of `file_bytes`, of which `read_bytes` were read. A command may read
/// a file several times: after the first time, the bar is full.
fn format_reading(read_bytes: u64, file_bytes: u64, elapsed: Duration) -> String {
    let read_bytes = read_bytes.min(file_bytes);
    let fraction = read_bytes as f64 / file_bytes as f64;
    format_line(fraction, &format_part(read_bytes, file_bytes), elapsed)
}

fn format_part(done_bytes: u64, all_bytes: u64) -> String {
    let done = format_bytes(done_bytes as usize);
    format!("{done} of {}", format_bytes(all_bytes as usize))
}

/// Returns a line with a bar, the finished amount, and an estimate of the remaining time.
/// `fraction` is the finished part, from 0 to 1.
fn format_line(fraction: f64, amount: &str, elapsed: Duration) -> String {
    let filled = ((BAR_WIDTH as f64 * fraction) as usize).min(BAR_WIDTH);
    let mut line = format!(
        "{}{} {amount}",
        "█".repeat(filled),
        "░".repeat(BAR_WIDTH - filled)
    );
    if fraction > 0.0 && fraction < 1.0 && elapsed >= LEAST_ELAPSED {
        let left = elapsed.mul_f64((1.0 - fraction) / fraction);
        line += &format!(", {} left", format_time_left(left));
    }
    line
}

/// Formats an estimated time in one unit, rounded up.
fn format_time_left(left: Duration) -> String {
    let seconds = left.as_secs() + 1;
    match seconds {
        0..100 => format!("{seconds} s"),
        100..5_400 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3_600)),
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.stop_drawing();
    }
}

impl Progress {
    /// Counts one more finished file.
    pub fn advance(&self) {
        self.done_count.fetch_add(1, Ordering::Relaxed);
    }

    /// Starts a job on the same line, and stops the previous one. `format_line` returns the text of
    /// the line, from the number of finished files and the elapsed time. The line is drawn only
    /// while `may_draw` returns true.
    fn start_job(
        &self,
        format_line: impl Fn(usize, Duration) -> String + Send + 'static,
        may_draw: Option<fn() -> bool>,
    ) -> Progress {
        self.stop_drawing();
        let job = Progress {
            done_count: Arc::default(),
            draw_thread: Arc::clone(&self.draw_thread),
        };
        let Some(may_draw) = may_draw else { return job };

        let done_count = Arc::clone(&job.done_count);
        let thread_slot = Arc::clone(&job.draw_thread);
        let start = Instant::now();
        let draw = move || {
            let current_line = || format_line(done_count.load(Ordering::Relaxed), start.elapsed());
            draw_until_stopped(&thread_slot, may_draw, &current_line);
        };
        // The slot stays locked until the thread is in it. Otherwise, the thread might find it
        // empty, and end at once. If no thread can be started, nothing is shown.
        let mut slot = lock_slot(&job.draw_thread);
        *slot = Builder::new().spawn(draw).ok();
        drop(slot);
        job
    }

    /// Ends drawing, and clears the line if it shows something.
    pub fn stop_drawing(&self) {
        let thread = lock_slot(&self.draw_thread).take();
        if let Some(thread) = thread {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Draws the line of a job again and again, on a thread of its own. The thread draws as long as it
/// is in its slot. [`Progress::stop_drawing`] takes it out, and wakes it up: then this clears the
/// line, and returns. A job that ends within [`SHOW_DELAY`] shows nothing.
fn draw_until_stopped(
    thread_slot: &Mutex<Option<JoinHandle<()>>>,
    may_draw: fn() -> bool,
    current_line: &dyn Fn() -> String,
) {
    let mut is_shown = false;
    park_timeout(SHOW_DELAY);
    while lock_slot(thread_slot).is_some() {
        is_shown = may_draw();
        if is_shown {
            replace_line(&current_line());
        }
        park_timeout(REDRAW_INTERVAL);
    }
    if is_shown && may_draw() {
        replace_line("");
    }
}

/// Locks the slot of the drawing thread, even after a panic of another thread.
fn lock_slot(slot: &Mutex<Option<JoinHandle<()>>>) -> MutexGuard<'_, Option<JoinHandle<()>>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Replaces the line of the terminal on which the cursor is.
fn replace_line(text: &str) {
    // This is a single write, so that lines of other processes are not mixed into it.
    let _ = stderr().write_all(format!("\r\u{1b}[2K{text}").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_shows_amounts_and_an_estimate() {
        let sizes = FileSizes {
            sums: vec![0, 3_000_000, 4_000_000],
        };
        let second = Duration::from_secs(1);
        assert_eq!(
            sizes.format_bar(0, second),
            "░░░░░░░░░░░░░░░░ 0/2 sessions, 0 B of 4.0 MB"
        );
        assert_eq!(
            sizes.format_bar(1, second),
            "████████████░░░░ 1/2 sessions, 3.0 MB of 4.0 MB"
        );
        assert_eq!(
            sizes.format_bar(1, second * 30),
            "████████████░░░░ 1/2 sessions, 3.0 MB of 4.0 MB, 11 s left"
        );
        let unknown = FileSizes { sums: vec![0; 3] };
        assert_eq!(
            unknown.format_bar(1, second),
            "████████░░░░░░░░ 1/2 sessions"
        );
    }

    #[test]
    fn a_file_that_is_read_has_a_bar() {
        let at = |read_bytes, seconds| {
            format_reading(read_bytes, 400_000_000, Duration::from_secs(seconds))
        };
        assert_eq!(at(0, 1), "░░░░░░░░░░░░░░░░ 0 B of 400 MB");
        assert_eq!(
            at(100_000_000, 3),
            "████░░░░░░░░░░░░ 100 MB of 400 MB, 10 s left"
        );
        // It is read again.
        assert_eq!(at(500_000_000, 9), "████████████████ 400 MB of 400 MB");
    }

    #[test]
    fn a_time_left_has_one_unit() {
        let shown = [0, 98, 99, 5_000, 9_000].map(|s| format_time_left(Duration::from_secs(s)));
        assert_eq!(shown, ["1 s", "99 s", "2 min", "84 min", "3 h"]);
    }
}
