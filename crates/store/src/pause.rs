//! Waiting for another process.

use super::files::Files;
use std::time::Duration;

/// Polls at growing intervals: an append holds the lock for a millisecond or two, a rewrite for longer.
pub(super) struct Pause {
    left: Duration,
    step: Duration,
}

impl Pause {
    pub fn new(wait: Duration) -> Pause {
        Pause { left: wait, step: Duration::from_millis(1) }
    }

    pub fn is_over(&self) -> bool {
        self.left.is_zero()
    }

    pub fn sleep(&mut self, files: &dyn Files) {
        let step = self.step.min(self.left);
        files.sleep(step);
        self.left -= step;
        self.step = (self.step * 2).min(Duration::from_millis(8));
    }
}
