//! Progress on a terminal: a bar for files, a spinner with the elapsed time for a running command.
//!
//! Nothing is shown in the first half second, once something was printed, or while another program
//! uses the terminal.

use super::Ui;
use std::io::{Write, stderr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle, park_timeout};
use std::time::{Duration, Instant};

const SHOW_DELAY: Duration = Duration::from_millis(500);
const REDRAW_INTERVAL: Duration = Duration::from_millis(100);
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// The width of the bar. With the numbers after it, it fits on a narrow terminal, so that one line
/// can be cleared.
const BAR_WIDTH: usize = 16;

/// A job, and the line of the terminal that shows its progress until this is dropped.
#[derive(Default)]
pub struct Progress {
    done_count: Arc<AtomicUsize>,
    /// The thread that draws the line, which all jobs share; it ends when it is taken from here.
    draw_thread: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Ui<'_> {
    /// Returns a progress bar for `files` files, shown on a terminal if there are several.
    pub fn start_progress(&self, files: usize) -> Progress {
        let bar = move |done: usize, _| {
            let filled = BAR_WIDTH * done.min(files) / files;
            format!(
                "{}{} {done}/{files} sessions",
                "█".repeat(filled),
                "░".repeat(BAR_WIDTH - filled)
            )
        };
        let drawing = if files > 1 {
            self.draw_predicate()
        } else {
            None
        };
        self.progress.start_job(bar, drawing)
    }

    /// Returns a spinner with the elapsed time of a running command, shown on a terminal.
    pub fn start_spinner(&self, what: &'static str) -> Progress {
        let spinner = move |_, elapsed: Duration| {
            let frame =
                FRAMES[(elapsed.as_millis() / REDRAW_INTERVAL.as_millis()) as usize % FRAMES.len()];
            format!("{frame} {what}  {}s", elapsed.as_secs())
        };
        self.progress.start_job(spinner, self.draw_predicate())
    }

    /// Returns what decides whether progress may be drawn now; `None` if it never may.
    fn draw_predicate(&self) -> Option<fn() -> bool> {
        let is_shown = self.world.terminals.stderr && !self.is_quiet && !self.is_dumb_terminal();
        is_shown.then_some(self.world.is_terminal_free)
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

    /// Returns a job on the same line that shows a text, given what is done and the elapsed time,
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

        let done = Arc::clone(&job.done_count);
        let drawing = Arc::clone(&job.draw_thread);
        let start = Instant::now();
        let draw_until_cleared = move || {
            let mut is_shown = false;
            park_timeout(SHOW_DELAY);
            while lock_thread(&drawing).is_some() {
                is_shown = may_draw();
                if is_shown {
                    replace_line(&format_line(done.load(Ordering::Relaxed), start.elapsed()));
                }
                park_timeout(REDRAW_INTERVAL);
            }
            if is_shown && may_draw() {
                replace_line("");
            }
        };
        // Locked until the thread is here, without which it would end. If none can be started,
        // nothing is shown.
        let mut thread_slot = lock_thread(&job.draw_thread);
        *thread_slot = Builder::new().spawn(draw_until_cleared).ok();
        drop(thread_slot);
        job
    }

    /// Clears the line, if it shows something, for good.
    pub fn stop_drawing(&self) {
        let thread = lock_thread(&self.draw_thread).take();
        if let Some(thread) = thread {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Locks the place of the drawing thread, also if another thread has panicked.
fn lock_thread(drawing: &Mutex<Option<JoinHandle<()>>>) -> MutexGuard<'_, Option<JoinHandle<()>>> {
    drawing.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Replaces the line that the cursor is on.
fn replace_line(text: &str) {
    // One write, so that lines of other processes are not mixed with it.
    let _ = stderr().write_all(format!("\r\u{1b}[2K{text}").as_bytes());
}
