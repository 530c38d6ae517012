//! Lets the N-th system call of a kind fail in a run of pisess, with nothing but the Rust
//! toolchain.
//!
//! ```text
//!   starter thread ── filter, spawn ──> pisess ── openat ──> kernel
//!                                                              │ asks
//!   supervisor thread <────────────────────────────────────────┘
//!          └── "go on", or "it failed with EIO"
//! ```
//!
//! A seccomp filter has no memory, so it cannot count. It passes the calls of a kind to a
//! supervisor, a thread of the test, which counts them and answers each. The filter is installed by
//! the thread that starts pisess, is inherited by pisess, and ends with both.
//!
//! *Rejected:* a preloaded library, which does not see the system calls that rustix makes without
//! libc; ptrace, which needs a stop and several calls for each system call of the process.

use std::ffi::c_long;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::process::{Command, Output};
use std::sync::mpsc::{Sender, channel};

/// A kind of system call, and the error with which one of its calls fails.
#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    pub calls: &'static [c_long],
    pub error: i32,
    /// Whether all calls fail, and not one of them: a system without random bytes never had any.
    pub is_dead: bool,
}

/// The kinds that are tried. Calls that only older processors have are left out elsewhere.
pub const KINDS: &[Kind] = &[
    kind("open", OPEN, libc::EIO),
    kind("open of a process without descriptors", OPEN, libc::EMFILE),
    kind("stat", STAT, libc::EACCES),
    kind("read", &[libc::SYS_read, libc::SYS_pread64], libc::EIO),
    kind("list", &[libc::SYS_getdents64], libc::EIO),
    kind("write", WRITE, libc::ENOSPC),
    kind("sync", &[libc::SYS_fsync, libc::SYS_fdatasync], libc::EIO),
    kind("rename", RENAME, libc::EIO),
    kind("unlink", UNLINK, libc::EIO),
    kind("mkdir", MKDIR, libc::ENOSPC),
    kind("truncate", &[libc::SYS_ftruncate], libc::EIO),
    kind("attributes", ATTRIBUTES, libc::EPERM),
    kind("lock", &[libc::SYS_flock], libc::EIO),
    Kind {
        is_dead: true,
        ..kind("getrandom", &[libc::SYS_getrandom], libc::EIO)
    },
];

const fn kind(name: &'static str, calls: &'static [c_long], error: i32) -> Kind {
    Kind {
        name,
        calls,
        error,
        is_dead: false,
    }
}

#[cfg(target_arch = "x86_64")]
const OPEN: &[c_long] = &[libc::SYS_openat, libc::SYS_openat2, libc::SYS_open];
#[cfg(not(target_arch = "x86_64"))]
const OPEN: &[c_long] = &[libc::SYS_openat, libc::SYS_openat2];

#[cfg(target_arch = "x86_64")]
const STAT: &[c_long] = &[
    libc::SYS_statx,
    libc::SYS_newfstatat,
    libc::SYS_fstat,
    libc::SYS_stat,
    libc::SYS_lstat,
];
#[cfg(not(target_arch = "x86_64"))]
const STAT: &[c_long] = &[libc::SYS_statx, libc::SYS_newfstatat, libc::SYS_fstat];

const WRITE: &[c_long] = &[
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_copy_file_range,
    libc::SYS_sendfile,
    libc::SYS_fallocate,
];

#[cfg(target_arch = "x86_64")]
const RENAME: &[c_long] = &[
    libc::SYS_renameat2,
    libc::SYS_renameat,
    libc::SYS_rename,
    libc::SYS_linkat,
    libc::SYS_link,
];
#[cfg(not(target_arch = "x86_64"))]
const RENAME: &[c_long] = &[libc::SYS_renameat2, libc::SYS_linkat];

#[cfg(target_arch = "x86_64")]
const UNLINK: &[c_long] = &[libc::SYS_unlinkat, libc::SYS_unlink, libc::SYS_rmdir];
#[cfg(not(target_arch = "x86_64"))]
const UNLINK: &[c_long] = &[libc::SYS_unlinkat];

#[cfg(target_arch = "x86_64")]
const MKDIR: &[c_long] = &[libc::SYS_mkdirat, libc::SYS_mkdir];
#[cfg(not(target_arch = "x86_64"))]
const MKDIR: &[c_long] = &[libc::SYS_mkdirat];

const ATTRIBUTES: &[c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_utimensat,
    libc::SYS_flistxattr,
    libc::SYS_fgetxattr,
    libc::SYS_fsetxattr,
];

/// The call with which pisess begins its work. What the loader and the runtime do before it is not
/// counted.
const FIRST: c_long = libc::SYS_getcwd;

/// A finished run.
pub struct Run {
    pub output: Output,
    /// The number of calls of each kind that was watched.
    pub counts: Vec<usize>,
}

/// Which calls fail.
#[derive(Clone, Copy)]
enum Failing {
    None,
    /// The call with this number, counted from 1.
    Nth(usize),
    /// All calls for a path that ends with this name.
    Named(&'static str),
}

impl Failing {
    /// Whether a call fails that is the `count`th of its kind.
    fn contains(self, count: usize, call: &libc::seccomp_notif) -> bool {
        match self {
            Failing::None => false,
            Failing::Nth(nth) => nth == count,
            Failing::Named(name) => paths(call).any(|path| path.ends_with(name.as_bytes())),
        }
    }
}

/// Runs a command, and counts its calls of each of the [`KINDS`].
pub fn count(command: &mut Command) -> Run {
    watch(command, KINDS, Failing::None)
}

/// Runs a command whose `nth` call of a kind fails, counted from 1.
pub fn fail(command: &mut Command, kind: &'static Kind, nth: usize) -> Run {
    watch(command, std::slice::from_ref(kind), Failing::Nth(nth))
}

/// Runs a command whose calls of a kind all fail if their path ends with `name`.
pub fn fail_named(command: &mut Command, kind: &'static Kind, name: &'static str) -> Run {
    watch(command, std::slice::from_ref(kind), Failing::Named(name))
}

/// Returns the kind with this name.
pub fn kind_named(name: &str) -> &'static Kind {
    let found = KINDS.iter().find(|kind| kind.name == name);
    found.expect("one of the names in the table")
}

fn watch(command: &mut Command, kinds: &'static [Kind], failing: Failing) -> Run {
    let (to_supervisor, from_starter) = channel();
    std::thread::scope(|scope| {
        let starter = scope.spawn(move || start(command, kinds, to_supervisor));
        let started = from_starter.recv().expect("the starter reports its filter");
        let listener = started.listener.unwrap_or_else(|error| {
            panic!("the kernel refuses a seccomp filter with a supervisor: {error}")
        });
        let counts = supervise(&listener, started.thread, kinds, failing);
        let output = starter.join().expect("the starter does not panic");
        Run { output, counts }
    })
}

/// What the starter reports.
struct Started {
    listener: io::Result<OwnedFd>,
    /// Its own thread.
    thread: u32,
}

fn start(command: &mut Command, kinds: &[Kind], supervisor: Sender<Started>) -> Output {
    use_one_processor();
    let thread = rustix::thread::gettid()
        .as_raw_nonzero()
        .get()
        .cast_unsigned();
    let listener = install_filter(kinds);
    let started = Started { listener, thread };
    supervisor.send(started).expect("the supervisor waits");
    command.output().expect("the program can be started")
}

/// With one processor, pisess has one worker, so that its calls have an order.
fn use_one_processor() {
    let allowed = rustix::thread::sched_getaffinity(None).expect("the set of processors");
    let first = (0..rustix::thread::CpuSet::MAX_CPU).find(|&cpu| allowed.is_set(cpu));
    let mut one = rustix::thread::CpuSet::new();
    one.set(first.expect("this thread runs on a processor"));
    rustix::thread::sched_setaffinity(None, &one).expect("one of the processors");
}

/// Installs the filter for this thread and for what it starts. Returns the end at which the kernel
/// asks.
#[expect(unsafe_code, reason = "seccomp is in no safe library")]
fn install_filter(kinds: &[Kind]) -> io::Result<OwnedFd> {
    rustix::thread::set_no_new_privs(true)?;
    let mut filter = filter(kinds);
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).expect("a short filter"),
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the kernel copies the program, which outlives the call.
    let listener = unsafe {
        libc::syscall(
            libc::SYS_seccomp,
            libc::SECCOMP_SET_MODE_FILTER,
            libc::SECCOMP_FILTER_FLAG_NEW_LISTENER,
            &raw const program,
        )
    };
    let listener = RawFd::try_from(listener).expect("a descriptor or -1");
    if listener < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(listener) })
}

/// The number of the system call, compared with each of a list.
fn filter(kinds: &[Kind]) -> Vec<libc::sock_filter> {
    const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    const COMPARE: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    const RETURN: u32 = libc::BPF_RET | libc::BPF_K;
    let instruction = |code: u32, k: u32, jump_if_true: usize| libc::sock_filter {
        code: u16::try_from(code).expect("a code of BPF"),
        jt: u8::try_from(jump_if_true).expect("a short filter"),
        jf: 0,
        k,
    };

    let mut watched = vec![FIRST];
    for kind in kinds {
        watched.extend(kind.calls);
    }
    let mut filter = vec![instruction(LOAD, 0, 0)];
    for (at, call) in watched.iter().enumerate() {
        let number = u32::try_from(*call).expect("the number of a call");
        // Over the other comparisons, and over the instruction that allows the call.
        filter.push(instruction(COMPARE, number, watched.len() - at));
    }
    filter.push(instruction(RETURN, libc::SECCOMP_RET_ALLOW, 0));
    filter.push(instruction(RETURN, libc::SECCOMP_RET_USER_NOTIF, 0));
    filter
}

/// Answers every call until no process is left that has the filter. Returns how many of each kind
/// there were.
fn supervise(listener: &OwnedFd, starter: u32, kinds: &[Kind], failing: Failing) -> Vec<usize> {
    let mut has_begun = false;
    let mut counts = vec![0; kinds.len()];
    while let Some(call) = next_call(listener) {
        let number = c_long::from(call.data.nr);
        let mut error = None;
        // The starter makes calls, too, before and after it starts the program.
        let is_of_program = call.pid != starter;
        if is_of_program && number == FIRST {
            has_begun = true;
        } else if is_of_program && has_begun && !is_about_processes(&call) {
            for (kind, count) in kinds.iter().zip(&mut counts) {
                if !kind.calls.contains(&number) {
                    continue;
                }
                *count += 1;
                let is_dead = kind.is_dead && !matches!(failing, Failing::None);
                if is_dead || failing.contains(*count, &call) {
                    error = Some(kind.error);
                }
            }
        }
        answer(listener, call.id, error);
    }
    assert!(has_begun, "the program never asked for its directory");
    counts
}

/// Whether a call looks at other processes, in `/proc`: to see which of them are agents. Their
/// number changes at any moment, so these calls cannot be counted.
fn is_about_processes(call: &libc::seccomp_notif) -> bool {
    const PROCESSES: &[u8] = b"/proc/";
    let open_file = std::fs::read_link(format!("/proc/{}/fd/{}", call.pid, call.data.args[0]));
    paths(call).any(|path| path.starts_with(PROCESSES))
        || open_file.is_ok_and(|file| file.as_os_str().as_bytes().starts_with(PROCESSES))
}

/// Returns the strings at the first two arguments of a call, as far as they are addresses. Which of
/// them is a path differs between the calls; the other is a number, or a path elsewhere.
fn paths(call: &libc::seccomp_notif) -> impl Iterator<Item = Vec<u8>> {
    let [first, second, ..] = call.data.args;
    let pid = call.pid;
    [first, second]
        .into_iter()
        .filter_map(move |address| string_at(pid, address))
}

/// Returns the string in the memory of a process at an address, up to its zero byte; `None` if the
/// process has nothing there.
fn string_at(pid: u32, address: u64) -> Option<Vec<u8>> {
    let memory = File::open(format!("/proc/{pid}/mem")).ok()?;
    let mut string = vec![0; libc::PATH_MAX as usize];
    // It may be shorter, at the end of what the process has.
    let read = memory.read_at(&mut string, address).ok()?;
    string.truncate(read);
    let end = string.iter().position(|&byte| byte == 0)?;
    string.truncate(end);
    Some(string)
}

/// Returns the next call, or `None` if the last process that had the filter has ended.
#[expect(unsafe_code, reason = "seccomp is in no safe library")]
fn next_call(listener: &OwnedFd) -> Option<libc::seccomp_notif> {
    use rustix::event::{PollFd, PollFlags, poll};
    loop {
        let mut wanted = [PollFd::new(listener, PollFlags::IN)];
        let polled = poll(&mut wanted, None);
        if polled.is_err() {
            continue;
        }
        if !wanted[0].revents().contains(PollFlags::IN) {
            return None;
        }
        // SAFETY: the structure consists of numbers; the kernel requires zeros, and fills it.
        let mut call: libc::seccomp_notif = unsafe { std::mem::zeroed() };
        // SAFETY: the structure is the one that this request fills.
        let received = unsafe {
            libc::ioctl(
                listener.as_raw_fd(),
                libc::SECCOMP_IOCTL_NOTIF_RECV,
                &raw mut call,
            )
        };
        // The process may have been killed since.
        if received == 0 {
            return Some(call);
        }
    }
}

/// Lets a call go on, or fail with an error.
#[expect(unsafe_code, reason = "seccomp is in no safe library")]
fn answer(listener: &OwnedFd, id: u64, error: Option<i32>) {
    let goes_on = u32::try_from(libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE).expect("a small flag");
    let mut answer = libc::seccomp_notif_resp {
        id,
        val: 0,
        error: error.map_or(0, |error| -error),
        flags: if error.is_some() { 0 } else { goes_on },
    };
    // SAFETY: the structure is the one that this request reads. An error means that the process was
    // killed meanwhile.
    unsafe {
        libc::ioctl(
            listener.as_raw_fd(),
            libc::SECCOMP_IOCTL_NOTIF_SEND,
            &raw mut answer,
        );
    }
}
