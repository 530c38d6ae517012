//! Jobs on Windows, for commands that `cmd` runs.

#![expect(unsafe_code, reason = "jobs are not in the standard library")]

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::os::windows::process::CommandExt;
use std::process::{Child, Command};
use std::ptr::null;
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation,
    SetInformationJobObject, TerminateJobObject,
};

/// Returns the shell for a command. `/s` makes it remove only the outer quotes. `/d` disables the
/// AutoRun commands in the registry.
pub fn shell_command(text: &str) -> Command {
    let mut command = Command::new("cmd");
    command.raw_arg(format!("/d /s /c \"{text}\""));
    command
}

/// A command and its descendants, which end if pisess ends in whatever way. Once the command has
/// exited, descendants that still run are left alone, as on Unix.
pub struct ProcessGroup(Option<OwnedHandle>);

impl ProcessGroup {
    /// Returns the group of a child that has just started, before it starts processes itself. If no
    /// job can be created, only the command itself can be ended.
    pub fn from_child(child: &mut Child) -> ProcessGroup {
        ProcessGroup(job_of(child).ok())
    }

    /// Kills the command and its descendants.
    pub fn kill(&mut self, child: &mut Child, _: Option<i32>) {
        if let Some(job) = &self.0 {
            // SAFETY: the handle is open. If all processes have exited already, nothing happens.
            unsafe { TerminateJobObject(job.as_raw_handle(), 1) };
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(job) = &self.0 {
            // If this fails, descendants that still run are ended.
            let _ = limit(job, 0);
        }
    }
}

/// Returns a job that contains the child. The system ends the job when its last handle is closed.
fn job_of(child: &Child) -> io::Result<OwnedHandle> {
    // SAFETY: the handle is owned by nobody else.
    let job = unsafe {
        let handle = CreateJobObjectW(null(), null());
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        OwnedHandle::from_raw_handle(handle)
    };
    limit(&job, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE)?;
    // SAFETY: both handles are open.
    check_call(unsafe { AssignProcessToJobObject(job.as_raw_handle(), child.as_raw_handle()) })?;
    Ok(job)
}

/// Sets the limits of a job. 0 removes the limit that ends the job with its last handle.
fn limit(job: &OwnedHandle, flags: u32) -> io::Result<()> {
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = flags;
    let size = size_of_val(&limits) as u32;
    let class = JobObjectExtendedLimitInformation;
    // SAFETY: the handle is open, and the structure has the size that the call reads.
    check_call(unsafe {
        SetInformationJobObject(job.as_raw_handle(), class, (&raw const limits).cast(), size)
    })
}

/// Converts the return value of a system call, which is 0 for a failure. The reason of the failure
/// is then the last error of this thread, so no other call may come between.
fn check_call(success: i32) -> io::Result<()> {
    if success == 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
