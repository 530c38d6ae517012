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

impl Alternative {
    /// Whether the option is `--over SIZE`.
    fn is_size(&self) -> bool {
        self.option.starts_with("--over")
    }
}

impl Alternatives {
    /// Adds the alternatives for another session, summing up the bytes of each option.
    pub fn add(&mut self, other: &Alternatives) {
        for added in &other.options {
            let same_option = self
                .options
                .iter_mut()
                .find(|own| own.option == added.option);
            match same_option {
                Some(own) => own.bytes += added.bytes,
                None => self.options.push(*added),
            }
        }
    }

    /// If a plan removes little of `size_before`, prints the options that would remove much more
    /// than the plan: see [`Self::choose_suggested`]. `removed` is what the plan removes, in bytes.
    pub fn report(&self, size_before: usize, removed: usize, ui: &mut Ui) {
        if !is_little(removed, size_before) {
            return;
        }
        let mut hints = Vec::new();
        for Alternative { option, bytes } in self.choose_suggested(removed) {
            hints.push(format!("`{option}` would remove {}", format_bytes(bytes)));
        }
        if !hints.is_empty() {
            ui.print_status(&format!("more with other options: {}", hints.join(", ")));
        }
    }

    /// Chooses the options that remove at least twice as much as a plan that removes `removed`
    /// bytes. Of the options `--over SIZE`, one must also remove at least twice as much as the one
    /// that was chosen before it.
    ///
    /// For example, if the plan removes 1 MB, `--over 64k` 5 MB, and `--over 1k` 6 MB, only
    /// `--over 64k` is chosen.
    fn choose_suggested(&self, removed: usize) -> Vec<Alternative> {
        let mut suggested = Vec::new();
        // The sizes of `--over` descend in `options`, so each removes at least as much as the one
        // before it.
        let mut removed_by_last_size = removed;
        for alternative in &self.options {
            if !alternative.is_size() {
                if removes_much_more(alternative.bytes, removed) {
                    suggested.push(*alternative);
                }
                continue;
            }
            if removes_much_more(alternative.bytes, removed_by_last_size) {
                removed_by_last_size = alternative.bytes;
                suggested.push(*alternative);
            }
        }
        suggested
    }

    /// Adds `--compacted`, unless no entries can be removed from the session of the job.
    fn add_compacted(&mut self, job: &PruneJob, ui: &Ui) -> Result<(), Failure> {
        if PruneBlocker::require_removable_entries(&job.open.session).is_err() {
            return Ok(());
        }
        self.options.push(Alternative {
            option: "--compacted",
            bytes: planned_bytes(job, Task::Compacted, ui)?,
        });
        Ok(())
    }

    /// Adds `--over` with the sizes of [`OVERS`] that are smaller than `over`. They prune payloads
    /// of `kinds`.
    fn add_smaller_sizes(
        &mut self,
        job: &PruneJob,
        over: u64,
        kinds: &[ValueKind],
        ui: &Ui,
    ) -> Result<(), Failure> {
        for (size, option) in OVERS {
            if size >= over {
                continue;
            }
            let task = Task::Payloads {
                over: size,
                kinds: kinds.to_vec(),
            };
            let bytes = planned_bytes(job, task, ui)?;
            self.options.push(Alternative { option, bytes });
        }
        Ok(())
    }
}

fn is_little(removed: usize, size: usize) -> bool {
    removed < size / LITTLE
}

/// Whether an option removes at least twice as much as another one, and not nothing.
fn removes_much_more(bytes: usize, other_bytes: usize) -> bool {
    bytes > 0 && bytes >= 2 * other_bytes
}

/// Finds how much other options would remove from a session, if its plan removes little: only
/// `removed` bytes. Otherwise returns no options, because each of them has to be planned.
///
/// The options are `--compacted`, unless the plan has it, and `--over` with smaller sizes than that
/// of the plan. The user chose the branch, the entries, the secrets or the restoration, so these
/// tasks have no alternatives.
pub fn find_alternatives(job: &PruneJob, removed: usize, ui: &Ui) -> Result<Alternatives, Failure> {
    let mut found = Alternatives::default();
    let session_size = job.open.input.source().len() as usize;
    if !is_little(removed, session_size) {
        return Ok(found);
    }

    match &job.task {
        Task::Payloads { over, kinds } => {
            found.add_compacted(job, ui)?;
            found.add_smaller_sizes(job, *over, kinds, ui)?;
        }
        Task::Compacted => {
            // The plan prunes no payloads, so all sizes are tried.
            let every_size = u64::MAX;
            found.add_smaller_sizes(job, every_size, &ValueKind::PAYLOADS, ui)?;
        }
        Task::Branch(_) | Task::Entries(_) | Task::Secrets { .. } | Task::Restore => {}
    }
    Ok(found)
}

/// Returns the number of bytes that another task would remove from the session of a job. Nothing is
/// written: the task is only planned.
fn planned_bytes(job: &PruneJob, task: Task, ui: &Ui) -> Result<usize, Failure> {
    // The same job with another task.
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
