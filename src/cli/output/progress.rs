//! Progress on a terminal: a bar for files, a spinner with the elapsed time for a running command.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

/// The delay before a spinner is shown.
const PATIENCE: Duration = Duration::from_millis(500);

/// The interval between two frames of the spinner.
const TICK: Duration = Duration::from_millis(100);

/// A progress indicator, shown until it is dropped.
pub struct Progress {
    bar: ProgressBar,
    /// Ends the spinner's thread when dropped.
    _patience: Option<Sender<()>>,
}

impl Progress {
    pub(super) fn of_files(files: usize, is_shown: bool) -> Progress {
        if files < 2 || !is_shown {
            return Progress { bar: ProgressBar::hidden(), _patience: None };
        }
        let bar = ProgressBar::with_draw_target(Some(files as u64), ProgressDrawTarget::stderr());
        Progress { bar: styled(bar, "{bar:40} {pos}/{len} sessions  {eta}"), _patience: None }
    }

    pub(super) fn of_command(what: &str, is_shown: bool) -> Progress {
        let bar = ProgressBar::hidden();
        if !is_shown {
            return Progress { bar, _patience: None };
        }
        let bar = styled(bar, "{spinner} {msg}  {elapsed}").with_message(what.to_owned());
        let (patience, ended) = channel();
        let waiting = bar.clone();
        let spin = move || {
            let mut pause = PATIENCE;
            // The sender is dropped when the command ends.
            while ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                if pause == PATIENCE {
                    waiting.set_draw_target(ProgressDrawTarget::stderr());
                    pause = TICK;
                }
                waiting.tick();
            }
            waiting.finish_and_clear();
        };
        // If no thread can be started, nothing is shown.
        let _ = std::thread::Builder::new().spawn(spin);
        Progress { bar, _patience: Some(patience) }
    }

    /// Counts one more finished file.
    pub fn advance(&self) {
        self.bar.inc(1);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
