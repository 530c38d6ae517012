//! `pisess export DIRECTORY`: exports every session below a directory.

use super::session::export_session;
use super::{Args, find_sessions};
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::rollouts::Rollouts;
use crate::cli::shared_secrets::SharedSecrets;
use crate::export::source::OtherBranches;
use crate::export::verify::Rendition;
use crate::format::format_count;
use foldhash::HashSet;
use std::path::{Path, PathBuf};

/// Exports the sessions below a directory. Sessions of sub-agents are skipped: they belong to the
/// session that started them. A failure is reported, and the other sessions are exported.
pub fn export_all(args: &Args, format: Rendition, ui: &mut Ui) -> Result<Exit, Failure> {
    refuse_options_for_one(args, ui)?;
    let found_sessions = find_sessions(std::slice::from_ref(&args.session), ui)?;
    let mut worst_exit = Exit::Done;
    for failure in &found_sessions.failures {
        worst_exit = worst_exit.max(ui.report_failure(failure));
    }

    let mut batch = Batch::default();
    if args.redact {
        let given = args.redaction.values.read_values(None, ui)?;
        let files = &found_sessions.files;
        let secrets = SharedSecrets::recognize_in_files(files, given, &batch.rollouts, ui);
        batch.secrets = Some(secrets);
    }
    for file in found_sessions.files {
        let is_sub_agent = file.owner.is_some();
        if is_sub_agent {
            continue;
        }
        let exported = export_session(args, &file.path, format, Some(&mut batch), ui);
        if let Err(failure) = exported {
            worst_exit = worst_exit.max(report_unexported(&failure, ui));
        }
    }
    batch.warn_of_other_branches(ui);
    Ok(worst_exit)
}

/// Reports why one of several files is not exported. Returns the exit code of that, which is 0 if
/// the file has nothing to export.
fn report_unexported(failure: &Failure, ui: &mut Ui) -> Exit {
    // The directory may also have files that are no sessions.
    if failure.is_transcript() {
        return Exit::Done;
    }
    // A store ordinarily has sessions without messages.
    if failure.exit() == Exit::Found {
        ui.warn(&failure.to_line());
        return Exit::Done;
    }
    ui.report_failure(failure)
}

/// Refuses options that apply only to the export of one session, and an output that is a file.
fn refuse_options_for_one(args: &Args, ui: &Ui) -> Result<(), Failure> {
    if args.at.is_some() {
        return Err(Failure::usage_error("REF is an entry of one session")
            .with_hint("omit REF, or give a session"));
    }
    if args.open {
        return Err(Failure::usage_error("--open shows the page of one session")
            .with_hint("omit --open, or give a session"));
    }
    if let Some(output) = &args.output
        && !ui.resolve_path(output).is_dir()
    {
        return Err(Failure::usage_error(
            "the sessions of a directory are exported to a directory",
        )
        .with_hint("give an existing directory with -o, or a path that ends in /"));
    }
    Ok(())
}

/// The state of an export of a directory, over all of its sessions.
#[derive(Default)]
pub struct Batch {
    /// The files that were written so far, or that an earlier run had completed.
    pub outputs: HashSet<PathBuf>,
    /// The branches and entries that all documents together leave out.
    left_out: OtherBranches,
    /// The number of sessions whose documents leave out branches.
    sessions_with_others: usize,
    /// The rollouts of Codex among the sessions and in their stores.
    pub rollouts: Rollouts,
    /// With `--redact`, the secrets to remove from the sessions.
    pub secrets: Option<SharedSecrets>,
}

impl Batch {
    pub fn add_other_branches(&mut self, others: OtherBranches) {
        self.left_out.branches += others.branches;
        self.left_out.entries += others.entries;
        self.sessions_with_others += 1;
    }

    /// Reports the branches that the documents leave out, in one warning for all sessions.
    fn warn_of_other_branches(&self, ui: &mut Ui) {
        if self.sessions_with_others == 0 {
            return;
        }
        let sessions = format_count(self.sessions_with_others, "session", "sessions");
        ui.warn(&format!(
            "{} of {sessions} not exported (hint: export a session with the REF of another branch; `pisess branches` lists them)",
            self.left_out
        ));
    }
}

/// Returns the failure for a session whose export would overwrite the export of another session.
pub fn same_file_name_failure(session: &Path) -> Failure {
    let name = to_visible(&session.to_string_lossy());
    Failure::invalid(format_args!(
        "{name}: another session has the same file name"
    ))
    .with_path(&name)
    .with_hint("export it with another -o")
}
