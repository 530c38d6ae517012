//! Linux: which processes have a file open for writing (rule 5), which file systems copy files up,
//! copying within the kernel, and reserving space. Its counterpart is `other.rs`.

use super::{DISK, Files, Stat, Writer};
use rustix::fs::FallocateFlags;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Copies bytes of a range from one file to another within the kernel. Returns the number of bytes
/// copied, which may be less than the range has, and is 0 at the end of the file.
pub fn copy_in_kernel(from: &File, range: &Range<u64>, to: &File) -> io::Result<u64> {
    let mut start = range.start;
    // On a system with 32 bits, the range may be longer than one call can copy.
    let max_len = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let copied = rustix::fs::sendfile(to, from, Some(&mut start), max_len)?;
    Ok(copied as u64)
}

/// Reserves space for `count` bytes after `end`, the end of the file, so that a write of them is
/// not short. Fails if there is no space.
///
/// Also fails if the file would exceed the limit on the size of files (`ulimit -f`), because a
/// write is short at that limit, too.
pub(super) fn reserve(file: &File, end: u64, count: u64) -> io::Result<()> {
    if let Some(max_size) = getrlimit(Resource::Fsize).current
        && end.saturating_add(count) > max_size
    {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    match rustix::fs::fallocate(file, FallocateFlags::KEEP_SIZE, end, count) {
        Ok(()) => Ok(()),
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(error.into()),
        // Any other error shows only that the file system cannot reserve space.
        Err(_) => Ok(()),
    }
}

/// Whether the file system of a file copies it up: whether the first open for writing replaces it
/// by a copy, which changes what `stat` reports. overlayfs does. FUSE file systems count as well,
/// because fuse-overlayfs copies up and cannot be distinguished from others.
pub(super) fn copies_up(file: &File) -> bool {
    const OVERLAYFS: u32 = 0x794c_7630;
    const FUSE: u32 = 0x6573_5546;
    let Ok(file_system) = rustix::fs::fstatfs(file) else {
        return false;
    };
    // The type of this number differs between processors.
    let magic_number = u32::try_from(file_system.f_type);
    matches!(magic_number, Ok(OVERLAYFS | FUSE))
}

/// Whether [`writer_of`] can see all processes of the user.
pub(super) fn sees_writers() -> bool {
    Path::new("/proc/self/fd").exists()
}

/// Whether any process, including this one, has the file open for writing. `None` if this cannot be
/// found out: the file system has no leases, or the file belongs to another user.
///
/// The system grants a lease for reading only if nobody has the file open for writing, so this
/// takes a lease and returns it at once. While the lease lasts, a process that opens the file for
/// writing has to wait, and we get a signal. The signal is set to one that is ignored by default.
#[expect(unsafe_code, reason = "leases are in no safe library")]
pub(super) fn is_being_written(file: &File) -> Option<bool> {
    use std::os::fd::AsRawFd;
    /// The command that selects the signal; the same number on every architecture.
    const F_SETSIG: i32 = 10;
    let control = |command: i32, argument: i32| {
        // SAFETY: the descriptor is open, and no memory is passed.
        let result = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
        if result == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    };

    control(F_SETSIG, libc::SIGURG).ok()?;
    if let Err(error) = control(libc::F_SETLEASE, libc::F_RDLCK) {
        return if error.kind() == io::ErrorKind::WouldBlock {
            Some(true)
        } else {
            // The file system has no leases, or the file belongs to another user.
            None
        };
    }
    control(libc::F_SETLEASE, libc::F_UNLCK).ok()?;
    Some(false)
}

/// Returns when a process started, to the second: the boot time plus the ticks from boot to start.
/// `None` if there is no such process.
pub fn process_start_time(pid: u32) -> Option<SystemTime> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the process, in parentheses, may contain spaces and parentheses.
    let (_pid_and_name, fields) = stat.rsplit_once(')')?;
    // The start is the 20th field after the name.
    let start = fields.split_ascii_whitespace().nth(19)?;
    let ticks_since_boot: u64 = start.parse().ok()?;
    let seconds_since_boot = ticks_since_boot / rustix::param::clock_ticks_per_second();

    let system = std::fs::read_to_string("/proc/stat").ok()?;
    let boot_line = system
        .lines()
        .find_map(|line| line.strip_prefix("btime "))?;
    let boot: u64 = boot_line.trim().parse().ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(boot + seconds_since_boot))
}

/// Searches `/proc`. Processes of other users cannot be inspected and are skipped.
pub(super) fn writer_of(path: &Path, stat: &Stat) -> Option<Writer> {
    other_processes()
        .find(|pid| has_open_for_writing(*pid, path, stat) && !runs_this_program(*pid))
        .map(|pid| Writer { pid: Some(pid) })
}

/// The session files (`*.jsonl`) that other processes had open for writing at one moment. They are
/// found in one pass over `/proc`, so that many sessions can be asked about.
#[derive(Debug, Default)]
pub struct SessionsBeingWritten {
    /// Device and inode of each file.
    inodes: BTreeSet<(u64, u64)>,
}

impl SessionsBeingWritten {
    /// Finds the session files that processes of the user have open for writing. Processes of other
    /// users cannot be inspected. A process that runs pisess does not count: it writes only under
    /// the lock, and is no agent.
    pub fn search_processes() -> SessionsBeingWritten {
        let mut found = SessionsBeingWritten::default();
        for pid in other_processes() {
            let files = session_files_written_by(pid);
            // Most processes have no such file. Only for the others, it is looked up which program
            // they run.
            if files.is_empty() || runs_this_program(pid) {
                continue;
            }
            for file in files {
                found.inodes.insert((file.device, file.inode));
            }
        }
        found
    }

    /// Whether the file at this path is one of them.
    pub fn contains(&self, path: &Path) -> bool {
        if self.inodes.is_empty() {
            return false;
        }
        match DISK.stat_at(path) {
            Ok(stat) => self.inodes.contains(&(stat.device, stat.inode)),
            Err(_) => false,
        }
    }
}

/// Returns the session files that a process has open for writing. As in [`has_open_for_writing`],
/// names are compared first.
fn session_files_written_by(pid: u32) -> Vec<Stat> {
    let mut files = Vec::new();
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
        return files;
    };
    for entry in descriptors.flatten() {
        let link = entry.path();
        let Ok(target) = std::fs::read_link(&link) else {
            continue;
        };
        if target.extension() != Some(OsStr::new("jsonl")) {
            continue;
        }
        if let Some(fd) = entry.file_name().to_str()
            && is_open_for_writing(pid, fd)
            && let Ok(metadata) = std::fs::metadata(&link)
        {
            files.push(super::os::stat_of(&metadata));
        }
    }
    files
}

/// Returns a process of an agent that runs in one of these directories. Agents are recognized by
/// the name of their process, or by the script that an interpreter runs.
pub(super) fn find_agent_in(folders: &[PathBuf]) -> Option<u32> {
    for pid in other_processes() {
        let Ok(cwd) = std::fs::read_link(format!("/proc/{pid}/cwd")) else {
            continue;
        };
        if folders.contains(&cwd) && is_agent(pid) {
            return Some(pid);
        }
    }
    None
}

/// Whether a process is an agent. A process that has ended meanwhile has no name, and is not one.
fn is_agent(pid: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    if is_agent_name(name.trim_end()) {
        return true;
    }
    // The script comes after the interpreter, and perhaps an option: it is the second or third
    // word.
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command);
    let mut words = command.split('\0').take(3);
    words.any(|word| is_agent_name(word) || word.contains("/pi-coding-agent/"))
}

/// Whether the last part of a path is the name of an agent's program.
fn is_agent_name(path: &str) -> bool {
    matches!(path.rsplit('/').next(), Some("pi" | "omp"))
}

/// Returns the ids of all processes but this one. Without `/proc`, there are none.
fn other_processes() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    // Only the directories of processes have a number as their name.
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| *pid != std::process::id())
}

/// Whether a process runs pisess, so that it is not oh-my-pi. This includes a child of pisess
/// between its fork and its exec, which still has the files of its parent open.
fn runs_this_program(pid: u32) -> bool {
    let Ok(own_program) = std::fs::metadata("/proc/self/exe") else {
        return false;
    };
    let Ok(program) = std::fs::metadata(format!("/proc/{pid}/exe")) else {
        return false;
    };
    super::os::stat_of(&program).is_same_inode(&super::os::stat_of(&own_program))
}

/// Whether a process has the file open for writing.
fn has_open_for_writing(pid: u32, path: &Path, stat: &Stat) -> bool {
    // Only the user's own processes can be inspected.
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
        return false;
    };
    for descriptor in descriptors.flatten() {
        let link = descriptor.path();
        // The name is compared first: `stat` on another process's descriptor may access a network.
        let Ok(target) = std::fs::read_link(&link) else {
            continue;
        };
        if target.file_name() != path.file_name() {
            continue;
        }
        let Ok(metadata) = std::fs::metadata(&link) else {
            continue;
        };
        let is_the_file = super::os::stat_of(&metadata).is_same_inode(stat);
        if is_the_file
            && let Some(fd) = descriptor.file_name().to_str()
            && is_open_for_writing(pid, fd)
        {
            return true;
        }
    }
    false
}

/// Whether a process has opened its descriptor `fd` for writing. A descriptor that was closed
/// meanwhile is not.
fn is_open_for_writing(pid: u32, fd: &str) -> bool {
    let Some(flags) = read_open_flags(pid, fd) else {
        return false;
    };
    // The low two bits are the access mode: 0 read, 1 write, 2 both.
    flags & 3 != 0
}

/// Returns the flags with which a process has opened a descriptor.
fn read_open_flags(pid: u32, fd: &str) -> Option<u32> {
    let info = std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{fd}")).ok()?;
    let octal = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
    u32::from_str_radix(octal.trim(), 8).ok()
}
