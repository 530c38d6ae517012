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
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The state that the signal handlers share.
struct Signals {
    /// Whether no guard exists: then a signal has its default action.
    is_idle: Arc<AtomicBool>,
    guard_count: Mutex<usize>,
    /// The number of the signal that arrived; 0 if none has.
    pending: Arc<AtomicUsize>,
    /// Becomes readable when a signal arrives, and stays readable.
    wake_reader: PipeReader,
}

static SIGNALS: OnceLock<Option<Signals>> = OnceLock::new();

/// Keeps signals from ending the process while it exists. If a signal arrived, dropping the guard
/// ends the process.
pub struct SignalGuard(Option<&'static Signals>);

impl SignalGuard {
    /// Keeps signals from ending the process until all guards are dropped. If handlers cannot be
    /// set, signals keep their default actions.
    pub fn install() -> SignalGuard {
        let signals = SIGNALS.get_or_init(|| Signals::register().ok()).as_ref();
        if let Some(signals) = signals {
            // The lock is held until `is_idle` matches the number of guards.
            let mut guard_count = signals
                .guard_count
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *guard_count += 1;
            signals.is_idle.store(false, Ordering::SeqCst);
        }
        SignalGuard(signals)
    }

    /// Returns the number of the signal that arrived; `None` if none has.
    pub fn pending_signal(&self) -> Option<i32> {
        let number = self.0?.pending.load(Ordering::SeqCst);
        i32::try_from(number).ok().filter(|&number| number > 0)
    }

    /// Returns a descriptor that becomes readable when a signal arrives. `None` if handlers could
    /// not be set.
    pub fn wake_fd(&self) -> Option<BorrowedFd<'_>> {
        self.0.map(|signals| signals.wake_reader.as_fd())
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
    fn drop(&mut self) {
        let Some(signals) = self.0 else { return };
        let mut guard_count = signals
            .guard_count
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *guard_count -= 1;
        signals.is_idle.store(*guard_count == 0, Ordering::SeqCst);
        if let Some(signal) = self.pending_signal() {
            // The process is ended by the signal itself, so that a shell sees the reason. The shell
            // then reports 128 plus the number, as the fallback does.
            let _ = low_level::emulate_default_handler(signal);
            std::process::exit(128 + signal);
        }
    }
}

impl Signals {
    /// Installs handlers for the signals that end the process. While `is_idle` is set, a signal has
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
            if !is_ignored {
                flag::register_conditional_default(signal, Arc::clone(&is_idle))?;
                flag::register_usize(signal, Arc::clone(&pending), signal as usize)?;
                low_level::pipe::register(signal, wake_writer.try_clone()?)?;
            }
        }
        Ok(Signals {
            is_idle,
            guard_count: Mutex::default(),
            pending,
            wake_reader,
        })
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
