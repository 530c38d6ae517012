//! Progress on a terminal: a bar for files, a spinner with the elapsed time for a running command.
//!
//! Nothing is shown in the first half second, once something was printed, or while another program uses the terminal.

use std::io::{Write, stderr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(100);
const FRAMES: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// The width of the bar. With the numbers after it, it fits on a narrow terminal, so that one line can be cleared.
const BAR: usize = 16;

/// A job whose progress is shown until this is dropped.
pub struct Progress {
    done: Arc<AtomicUsize>,
    line: ProgressLine,
}

impl Progress {
    /// Counts one more finished file.
    pub fn advance(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.line.clear();
    }
}

/// The line of the terminal that shows progress.
#[derive(Clone, Default)]
pub(super) struct ProgressLine(Arc<Mutex<Option<Drawing>>>);

/// A thread that draws until the sender is dropped.
type Drawing = (Sender<()>, JoinHandle<()>);

impl ProgressLine {
    /// Shows a bar for files while `may_draw` returns true.
    pub fn files(&self, files: usize, may_draw: Option<fn() -> bool>) -> Progress {
        let bar = move |done: usize, _| {
            let filled = BAR * done.min(files) / files;
            format!("{}{} {done}/{files} sessions", "█".repeat(filled), "░".repeat(BAR - filled))
        };
        self.start(bar, may_draw.filter(|_| files > 1))
    }

    /// Shows a spinner while `may_draw` returns true.
    pub fn command(&self, what: &'static str, may_draw: Option<fn() -> bool>) -> Progress {
        let spinner = move |_, elapsed: Duration| {
            let frame = FRAMES[(elapsed.as_millis() / TICK.as_millis()) as usize % FRAMES.len()];
            format!("{frame} {what}  {}s", elapsed.as_secs())
        };
        self.start(spinner, may_draw)
    }

    fn start(
        &self,
        text: impl Fn(usize, Duration) -> String + Send + 'static,
        may_draw: Option<fn() -> bool>,
    ) -> Progress {
        self.clear();
        let done = Arc::new(AtomicUsize::new(0));
        if let Some(may_draw) = may_draw {
            let (sender, ended) = channel();
            let (counted, start) = (Arc::clone(&done), Instant::now());
            let draw = move || {
                let (mut pause, mut is_shown) = (PATIENCE, false);
                while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                    pause = TICK;
                    is_shown = may_draw();
                    if is_shown {
                        draw(&text(counted.load(Ordering::Relaxed), start.elapsed()));
                    }
                }
                if is_shown && may_draw() {
                    draw("");
                }
            };
            // If no thread can be started, nothing is shown.
            let thread = Builder::new().spawn(draw).ok();
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = thread.map(|thread| (sender, thread));
        }
        Progress { done, line: self.clone() }
    }

    /// Clears the line, if it shows something, for good.
    pub fn clear(&self) {
        let drawing = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((sender, thread)) = drawing {
            drop(sender);
            let _ = thread.join();
        }
    }
}

/// Replaces the line that the cursor is on.
fn draw(text: &str) {
    // One write, so that lines of other processes are not mixed with it.
    let _ = stderr().write_all(format!("\r\u{1b}[2K{text}").as_bytes());
}
