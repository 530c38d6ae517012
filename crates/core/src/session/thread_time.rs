//! Processor times, for tests that a rule takes linear time. Unlike the time of a clock, they do
//! not pass while another process has the processor.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Returns the processor time that this thread takes for some work.
pub(crate) fn measure(work: impl FnOnce()) -> Duration {
    let start = now();
    work();
    now() - start
}

fn now() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
