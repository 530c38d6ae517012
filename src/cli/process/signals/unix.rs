//! Handlers for the signals that end pisess. A handler only records the signal, and wakes up the
//! waiting thread.
//!
//! A command runs in its own process group, so Ctrl-C in the terminal does not reach it. If a
//! signal arrives meanwhile, the whole group is ended before pisess ends. While no command runs,
//! signals have their default actions.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::{flag, low_level};
use std::io::{self, PipeReader};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// The state that the signal handlers share.
struct Signals {
    /// Whether no guard exists: then a signal has its default action. The handlers read it.
    is_idle: Arc<AtomicBool>,
    /// The number of existing guards. Its lock is held until `is_idle` is set accordingly:
    /// otherwise, another thread could set `is_idle` by an older number.
    guard_count: Mutex<usize>,
    /// The number of the signal that arrived; 0 if none has.
    pending: Arc<AtomicUsize>,
    /// Becomes readable when a signal arrives, and stays readable.
    wake_reader: PipeReader,
}

static SIGNALS: OnceLock<Option<Signals>> = OnceLock::new();

/// Keeps signals from ending the process while it exists. If a signal arrived, dropping the guard
/// ends the process.
pub struct SignalGuard {
    /// The state shared by all guards; `None` if handlers could not be set.
    signals: Option<&'static Signals>,
}

impl SignalGuard {
    /// Returns a new guard. While any guard exists, signals do not end the process.
    ///
    /// The first call sets the signal handlers; they are never removed. If they cannot be set,
    /// guards have no effect: signals keep their default actions.
    pub fn install() -> SignalGuard {
        let signals = SIGNALS.get_or_init(|| Signals::register().ok()).as_ref();
        if let Some(signals) = signals {
            signals.count_new_guard();
        }
        SignalGuard { signals }
    }

    /// Returns the number of the signal that arrived; `None` if none has.
    pub fn pending_signal(&self) -> Option<i32> {
        self.signals?.pending_signal()
    }

    /// Returns a descriptor that becomes readable when a signal arrives. `None` if handlers could
    /// not be set.
    pub fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        self.signals.map(|signals| signals.wake_reader.as_fd())
    }

    /// Calls `action` before a signal ends the process, in a thread that owns this guard. If no
    /// thread can be started, a signal ends the process at once.
    pub fn run_before_exit(self, action: impl FnOnce() + Send + 'static) {
        let wait = move || {
            let Some(woken) = self.wake_fd() else { return };
            let mut fds = [PollFd::from_borrowed_fd(woken, PollFlags::IN)];
            while poll(&mut fds, None) == Err(Errno::INTR) {}
            action();
        };
        let _ = std::thread::Builder::new().spawn(wait);
    }
}

/// Returns the exit code of a program as a shell reports it. For a program that a signal ended,
/// that is 128 plus the number of the signal.
pub fn shell_exit_code(status: ExitStatus) -> i32 {
    match (status.code(), status.signal()) {
        (Some(code), _) => code,
        (None, Some(signal)) => 128 + signal,
        (None, None) => 128,
    }
}

impl Drop for SignalGuard {
    /// Removes the guard. If a signal arrived while any guard existed, ends the process as that
    /// signal would have done.
    fn drop(&mut self) {
        let Some(signals) = self.signals else { return };
        // First the default actions are enabled again, and then the pending signal is read. So a
        // signal that arrives in between ends the process by itself. In the other order, it would
        // be recorded after the check, and have no effect.
        signals.count_dropped_guard();
        let Some(signal) = signals.pending_signal() else {
            return;
        };

        // The process is ended by the signal itself, so that a shell sees the reason, and reports
        // 128 plus the number. If that fails, the process exits with the same number.
        let _ = low_level::emulate_default_handler(signal);
        std::process::exit(128 + signal);
    }
}

impl Signals {
    /// Sets handlers for the signals that end the process. While `is_idle` is set, a signal has
    /// its default action. Otherwise its number is stored, and a byte is written to a pipe, which
    /// wakes up the waiting thread.
    fn register() -> io::Result<Signals> {
        let (wake_reader, wake_writer) = io::pipe()?;
        let is_idle = Arc::new(AtomicBool::new(true));
        let pending = Arc::new(AtomicUsize::new(0));
        let ignored = ignored_mask();
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
            // Ignored signals stay ignored: nohup, and a shell that starts a background job, set
            // this on purpose.
            let is_ignored = ignored & (1 << (signal - 1)) != 0;
            if is_ignored {
                continue;
            }
            // The handlers of a signal run in the order of their registration. The number is
            // stored before the waiting thread is woken up, because that thread reads it.
            flag::register_conditional_default(signal, Arc::clone(&is_idle))?;
            flag::register_usize(signal, Arc::clone(&pending), signal as usize)?;
            low_level::pipe::register(signal, wake_writer.try_clone()?)?;
        }
        Ok(Signals {
            is_idle,
            guard_count: Mutex::default(),
            pending,
            wake_reader,
        })
    }

    /// Counts a new guard, and disables the default actions of signals.
    fn count_new_guard(&self) {
        let mut guard_count = self.lock_guard_count();
        *guard_count += 1;
        self.is_idle.store(false, Ordering::SeqCst);
    }

    /// Counts a guard less. Enables the default actions of signals if it was the last guard.
    fn count_dropped_guard(&self) {
        let mut guard_count = self.lock_guard_count();
        *guard_count -= 1;
        self.is_idle.store(*guard_count == 0, Ordering::SeqCst);
    }

    fn lock_guard_count(&self) -> MutexGuard<'_, usize> {
        self.guard_count
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of the signal that arrived; `None` if none has.
    fn pending_signal(&self) -> Option<i32> {
        let number = self.pending.load(Ordering::SeqCst);
        if number == 0 {
            return None;
        }
        i32::try_from(number).ok()
    }
}

/// Returns a mask of the ignored signals, in which bit 0 is signal 1. Without `/proc`, the mask is
/// empty.
fn ignored_mask() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
        .unwrap_or_default()
}
