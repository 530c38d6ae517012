//! Signals that end pisess while it waits for a command: the command is ended first.
//!
//! A command runs in a process group of its own, so that all of it can be ended at once; a Ctrl-C in the
//! terminal does not reach it there. Nothing is done in a signal handler but to note the signal and to wake
//! up who waits. At all other times these signals do what they do by default.

#[cfg(unix)]
pub use unix::Waiting;

#[cfg(unix)]
mod unix {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::{flag, low_level};
    use std::io::{self, PipeReader};
    use std::os::fd::{AsFd, BorrowedFd};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Arc, Mutex, OnceLock, PoisonError};

    struct Signals {
        /// Nobody waits for a command: the default action is taken.
        idle: Arc<AtomicBool>,
        waiting: Mutex<usize>,
        /// The signal that came, 0 before.
        number: Arc<AtomicUsize>,
        /// Becomes readable with the signal, and stays so.
        woken: PipeReader,
    }

    static SIGNALS: OnceLock<Option<Signals>> = OnceLock::new();

    /// As long as this lives, a signal does not end the process at once; when it is dropped, it does.
    pub struct Waiting(Option<&'static Signals>);

    impl Waiting {
        /// Where handlers cannot be set, signals go on to do what they do by default.
        pub fn begin() -> Waiting {
            let signals = SIGNALS.get_or_init(|| Signals::register().ok()).as_ref();
            if let Some(signals) = signals {
                let mut waiting = signals.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                *waiting += 1;
                signals.idle.store(false, Ordering::SeqCst);
            }
            Waiting(signals)
        }

        /// The signal that came.
        pub fn signal(&self) -> Option<i32> {
            let number = self.0?.number.load(Ordering::SeqCst);
            i32::try_from(number).ok().filter(|&number| number > 0)
        }

        /// Readable once a signal came.
        pub fn woken(&self) -> Option<BorrowedFd<'_>> {
            self.0.map(|signals| signals.woken.as_fd())
        }
    }

    impl Drop for Waiting {
        fn drop(&mut self) {
            let Some(signals) = self.0 else { return };
            let mut waiting = signals.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            *waiting -= 1;
            signals.idle.store(*waiting == 0, Ordering::SeqCst);
            if let Some(signal) = self.signal() {
                // By the signal itself, so that a shell knows why; it reports 128 and the number.
                let _ = low_level::emulate_default_handler(signal);
                std::process::exit(128 + signal);
            }
        }
    }

    impl Signals {
        fn register() -> io::Result<Signals> {
            let (woken, wake) = io::pipe()?;
            let (idle, number) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicUsize::new(0)));
            let ignored = ignored();
            for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] {
                // nohup, and a shell that starts something in the background, ignore some on purpose.
                if ignored >> (signal - 1) & 1 == 0 {
                    flag::register_conditional_default(signal, Arc::clone(&idle))?;
                    flag::register_usize(signal, Arc::clone(&number), signal as usize)?;
                    low_level::pipe::register(signal, wake.try_clone()?)?;
                }
            }
            Ok(Signals { idle, waiting: Mutex::default(), number, woken })
        }
    }

    /// A bit for each signal that is ignored, signal 1 lowest; none where there is no `/proc`.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
    }
}

/// Signals go on to do what they do by default.
#[cfg(not(unix))]
pub struct Waiting;

#[cfg(not(unix))]
impl Waiting {
    /// Changes nothing.
    pub fn begin() -> Waiting {
        Waiting
    }

    /// None that would be known here.
    pub fn signal(&self) -> Option<i32> {
        None
    }
}
