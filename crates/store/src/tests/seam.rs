//! Files that fail on demand, a clock that advances only by sleeping, and other processes that act
//! between two calls.

use super::super::files::{DISK, Files, OldFile, Stat, Writer};
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::{LazyLock, Mutex};
use std::time::{Duration, Instant, SystemTime};

/// What happens at call N.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The call fails, as on a bad disk; later ones succeed.
    Eio,
    /// From here on the disk is full: a write is short, the next ones fail.
    Full,
    /// The machine stops before the call, or in the middle of a write; nothing works from here on.
    Crash,
    /// The machine stops after the call.
    CrashAfter,
}

#[derive(Default)]
pub struct State {
    log: Vec<&'static str>,
    /// All calls of these names fail with this error.
    broken: Vec<(&'static str, i32)>,
    /// The inode that appears to belong to a group we are not in.
    foreign: Option<u64>,
    is_full: bool,
    is_dead: bool,
    /// The fixed time, to which only sleeping adds.
    frozen: Option<SystemTime>,
    slept: Duration,
    strangers: HashMap<&'static str, Vec<Box<dyn FnOnce() + Send>>>,
}

/// A seam.
#[derive(Default)]
pub struct Seam {
    pub fault: Option<(usize, Fault)>,
    /// Whether other processes cannot be inspected.
    pub is_blind: bool,
    pub has_no_locks: bool,
    /// Whether `statfs` reports overlayfs.
    pub is_overlay: bool,
    pub state: Mutex<State>,
}

impl fmt::Debug for Seam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seam")
    }
}

pub const EIO: i32 = 5;
pub const EEXIST: i32 = 17;
pub const EPERM: i32 = 1;
pub const ENOSPC: i32 = 28;
pub const EOPNOTSUPP: i32 = 95;

fn os(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

impl Seam {
    pub fn failing_at(call: usize, fault: Fault) -> Seam {
        Seam {
            fault: Some((call, fault)),
            ..Seam::default()
        }
    }

    /// Another process acts once, before the next call of that name.
    pub fn before(&self, call: &'static str, act: impl FnOnce() + Send + 'static) {
        self.state
            .lock()
            .unwrap()
            .strangers
            .entry(call)
            .or_default()
            .push(Box::new(act));
    }

    pub fn calls(&self) -> usize {
        self.state.lock().unwrap().log.len()
    }

    /// Returns how often a call of that name was made.
    pub fn count(&self, name: &str) -> usize {
        self.state
            .lock()
            .unwrap()
            .log
            .iter()
            .filter(|call| **call == name)
            .count()
    }

    pub fn log(&self) -> Vec<&'static str> {
        self.state.lock().unwrap().log.clone()
    }

    /// Makes all calls of this name fail from now on.
    pub fn break_calls(&self, name: &'static str, code: i32) {
        self.state.lock().unwrap().broken.push((name, code));
    }

    /// Makes a file appear to belong to a group that cannot be given to another file.
    pub fn estrange(&self, inode: u64) {
        self.state.lock().unwrap().foreign = Some(inode);
    }

    /// Fixes the clock at this time: it advances only by sleeping, however slow the machine is.
    pub fn freeze(&self, time: SystemTime) {
        self.state.lock().unwrap().frozen = Some(time);
    }

    /// Fills the disk from now on.
    pub fn fill_up(&self) {
        self.state.lock().unwrap().is_full = true;
    }

    pub fn slept(&self) -> Duration {
        self.state.lock().unwrap().slept
    }

    /// Runs what other processes do before this call.
    fn let_strangers_act(&self, name: &'static str) {
        let strangers = self.state.lock().unwrap().strangers.remove(name);
        strangers.into_iter().flatten().for_each(|act| act());
    }

    /// Returns the fault that is due in the middle of the call, or after it.
    fn step(&self, name: &'static str) -> io::Result<Option<Fault>> {
        self.let_strangers_act(name);
        let mut state = self.state.lock().unwrap();
        state.log.push(name);
        if let Some((_, code)) = state.broken.iter().find(|(broken, _)| *broken == name) {
            return Err(os(*code));
        }
        if state.is_dead || (state.is_full && matches!(name, "write" | "reserve")) {
            return Err(os(if state.is_dead { EIO } else { ENOSPC }));
        }
        match self.fault {
            Some((call, fault)) if call + 1 == state.log.len() => match fault {
                Fault::Eio => Err(os(EIO)),
                Fault::Full => {
                    state.is_full = true;
                    if name == "reserve" {
                        Err(os(ENOSPC))
                    } else {
                        Ok(Some(fault))
                    }
                }
                Fault::Crash => {
                    state.is_dead = true;
                    if name == "write" {
                        Ok(Some(fault))
                    } else {
                        Err(os(EIO))
                    }
                }
                Fault::CrashAfter => {
                    state.is_dead = true;
                    Ok(Some(fault))
                }
            },
            _ => Ok(None),
        }
    }

    fn run<T>(&self, name: &'static str, call: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        match self.step(name)? {
            Some(Fault::CrashAfter) => call().and(Err(os(EIO))),
            _ => call(),
        }
    }
}

/// Calls that do what those of the disk do, unless a fault is due.
macro_rules! calls {
    ($(fn $call:ident($($arg:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $call(&self, $($arg: $type),*) -> io::Result<$result> {
            self.run(stringify!($call), || DISK.$call($($arg),*))
        })*
    };
}

impl Files for Seam {
    calls! {
        fn open_read(path: &Path) -> File;
        fn open_append(path: &Path) -> File;
        fn create_new(path: &Path) -> File;
        fn open_write(path: &Path) -> File;
        fn read_at(file: &File, buf: &mut [u8], offset: u64) -> usize;
        fn reserve(file: &File, end: u64, count: u64) -> ();
        fn truncate(file: &File, size: u64) -> ();
        fn sync(file: &File) -> ();
        fn sync_folder(folder: &Path) -> ();
        fn rename(from: &Path, to: &Path) -> ();
        fn rename_new(from: &Path, to: &Path) -> ();
        fn link(from: &Path, to: &Path) -> ();
        fn unlink(path: &Path) -> ();
        fn stat_at(path: &Path) -> Stat;
        fn set_owner(file: &File, owner: Option<u32>, group: Option<u32>) -> ();
        fn set_mode(file: &File, mode: u32) -> ();
        fn set_modified(file: &File, time: SystemTime) -> ();
        fn xattrs(file: &File) -> Vec<(OsString, Vec<u8>)>;
        fn set_xattr(file: &File, name: &OsStr, value: &[u8]) -> ();
        fn remove_xattr(file: &File, name: &OsStr) -> ();
    }

    fn write(&self, file: &File, bytes: &[u8]) -> io::Result<usize> {
        let fault = self.step("write")?;
        let is_half = matches!(fault, Some(Fault::Full | Fault::Crash));
        let written = DISK.write(
            file,
            if is_half {
                &bytes[..bytes.len() / 2]
            } else {
                bytes
            },
        )?;
        if matches!(fault, Some(Fault::Crash | Fault::CrashAfter)) {
            Err(os(EIO))
        } else {
            Ok(written)
        }
    }
    fn exchange(&self, new: &Path, old: &Path) -> io::Result<OldFile> {
        self.run("rename", || DISK.exchange(new, old))
    }
    fn stat(&self, file: &File) -> io::Result<Stat> {
        let mut stat = self.run("stat", || DISK.stat(file))?;
        if self.state.lock().unwrap().foreign == Some(stat.inode) {
            stat.group = u32::MAX - 1;
        }
        Ok(stat)
    }
    fn copies_up(&self, file: &File) -> bool {
        self.is_overlay || DISK.copies_up(file)
    }
    fn try_lock(&self, file: &File) -> Result<(), TryLockError> {
        self.step("try_lock").map_err(TryLockError::Error)?;
        if self.has_no_locks {
            Err(TryLockError::Error(os(EOPNOTSUPP)))
        } else {
            DISK.try_lock(file)
        }
    }
    fn writer_of(&self, path: &Path, stat: &Stat) -> Option<Writer> {
        if self.is_blind {
            return None;
        }
        DISK.writer_of(path, stat)
    }
    fn sees_writers(&self) -> bool {
        !self.is_blind && DISK.sees_writers()
    }
    fn is_being_written(&self, file: &File) -> Option<bool> {
        self.let_strangers_act("look");
        if self.is_blind {
            return None;
        }
        DISK.is_being_written(file)
    }
    fn now(&self) -> SystemTime {
        let frozen = self.state.lock().unwrap().frozen;
        frozen.unwrap_or_else(|| DISK.now()) + self.slept()
    }
    fn instant(&self) -> Instant {
        // It advances only by sleeping, however slow the machine is.
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        *START + self.slept()
    }
    fn sleep(&self, time: Duration) {
        // Not counted as a call: sleeping cannot fail, and the number of sleeps depends on what
        // other tests start.
        self.let_strangers_act("sleep");
        self.state.lock().unwrap().slept += time;
    }
}
