//! Suggests other options of `prune` if a plan removes little.

use super::job::{PruneJob, Task};
use crate::cli::output::{Failure, Ui};
use crate::format::format_bytes;
use crate::ops::prune::{PruneBlocker, ValueKind};

/// A plan removes little if it removes less than one part in `LITTLE` of the session.
const LITTLE: usize = 10;

/// The values of `--over` that are tried, the largest first. 64 kB is the default.
const OVERS: [(u64, &str); 2] = [(64_000, "--over 64k"), (1_000, "--over 1k")];

/// Other options of `prune`, in the order in which they are suggested.
#[derive(Clone, Debug, Default)]
pub struct Alternatives {
    options: Vec<Alternative>,
}

/// An option, and the number of bytes that it would remove.
#[derive(Clone, Copy, Debug)]
struct Alternative {
    /// The option as it is typed, for example `--over 1k`.
    option: &'static str,
    bytes: usize,
}

impl Alternatives {
    /// Adds the alternatives for another session, summing up the bytes of each option.
    pub fn add(&mut self, other: &Alternatives) {
        for added in &other.options {
            let own = self
                .options
                .iter_mut()
                .find(|own| own.option == added.option);
            match own {
                Some(own) => own.bytes += added.bytes,
                None => self.options.push(*added),
            }
        }
    }

    /// If a plan removes little of `size_before`, prints the options that would remove more.
    ///
    /// An option is printed if it removes at least twice as much as the plan. Of the options
    /// `--over SIZE`, one must also remove at least twice as much as the one that was printed
    /// before it. For example, if the plan removes 1 MB, `--over 64k` 5 MB, and `--over 1k` 6 MB,
    /// only `--over 64k` is printed.
    pub fn report(&self, size_before: usize, removed: usize, ui: &mut Ui) {
        if !is_little(removed, size_before) {
            return;
        }
        let mut hints = Vec::new();
        // The sizes of `--over` descend in `options`, so each removes at least as much as the one
        // before it.
        let mut removed_by_printed_size = removed;
        for &Alternative { option, bytes } in &self.options {
            let is_size = option.starts_with("--over");
            let compared = if is_size {
                removed_by_printed_size
            } else {
                removed
            };
            let removes_much_more = bytes > 0 && bytes >= 2 * compared;
            if !removes_much_more {
                continue;
            }
            if is_size {
                removed_by_printed_size = bytes;
            }
            hints.push(format!("`{option}` would remove {}", format_bytes(bytes)));
        }
        if !hints.is_empty() {
            ui.print_status(&format!("more with other options: {}", hints.join(", ")));
        }
    }
}

fn is_little(removed: usize, size: usize) -> bool {
    removed < size / LITTLE
}

/// Finds how much other options would remove from a session, if its plan removes little: only
/// `removed` bytes. Otherwise returns no options, because each of them has to be planned.
///
/// The options are `--compacted`, and `--over` with the sizes of [`OVERS`] that are smaller than
/// that of the plan. `--compacted` is left out if the plan has it, or if no entries can be removed
/// from the session.
pub fn find_alternatives(job: &PruneJob, removed: usize, ui: &Ui) -> Result<Alternatives, Failure> {
    let mut found = Alternatives::default();
    if !is_little(removed, job.open.input.source().len() as usize) {
        return Ok(found);
    }

    // Only sizes smaller than `over` are tried, and with the same kinds of payloads.
    let (kinds, over) = match &job.task {
        Task::Payloads { over, kinds } => (kinds.clone(), *over),
        // This prunes no payloads, so all sizes are tried.
        Task::Compacted => (ValueKind::PAYLOADS.to_vec(), u64::MAX),
        Task::Branch(_) | Task::Entries(_) | Task::Secrets { .. } | Task::Restore => {
            return Ok(found);
        }
    };
    let is_compacted_already = matches!(job.task, Task::Compacted);
    if !is_compacted_already && PruneBlocker::require_removable_entries(&job.open.session).is_ok() {
        let bytes = planned_bytes(job, Task::Compacted, ui)?;
        found.options.push(Alternative {
            option: "--compacted",
            bytes,
        });
    }
    for (smaller_over, option) in OVERS {
        if smaller_over < over {
            let task = Task::Payloads {
                over: smaller_over,
                kinds: kinds.clone(),
            };
            let bytes = planned_bytes(job, task, ui)?;
            found.options.push(Alternative { option, bytes });
        }
    }
    Ok(found)
}

/// Plans another task for the session of a job, and returns the number of bytes that it would
/// remove. Nothing is written.
fn planned_bytes(job: &PruneJob, task: Task, ui: &Ui) -> Result<usize, Failure> {
    let other = PruneJob {
        task,
        write: job.write,
        open: job.open,
        target: job.target.clone(),
        side_file: job.side_file.clone(),
        is_named: job.is_named,
        is_purged: false,
    };
    let plan = other.plan_prune(job.open, ui)?;
    Ok(plan.saved_bytes(&job.open.session))
}
