//! The sessions of sub-agents, which a trajectory embeds.

use super::Args;
use super::session::{load_options, remove_secrets};
use crate::cli::open::{Input, OpenSession};
use crate::cli::output::{Failure, Ui};
use crate::cli::redaction::{RemovedSecrets, SecretsOutcome, report_redaction};
use crate::cli::rollouts::Rollouts;
use crate::cli::shared_secrets::SharedSecrets;
use pisess_store::{self as store, Reach};
use std::path::{Path, PathBuf};

/// What `--redact` removes from the sessions of sub-agents, besides the secrets that are recognized
/// in each of them.
pub struct AgentRedaction<'a> {
    /// The secrets to remove.
    pub secrets: &'a SharedSecrets,
    /// The secrets that were removed from all sessions of the export so far.
    pub removed: &'a mut RemovedSecrets,
}

impl AgentRedaction<'_> {
    /// Returns the session of a sub-agent without its secrets, and reports them.
    fn redact(&mut self, agent: Input, args: &Args, ui: &mut Ui) -> Result<Input, Failure> {
        let (redacted, removed) = remove_secrets(agent, args, self.secrets, ui)?;
        report_redaction(&removed.report, &redacted, SecretsOutcome::LeftOut, ui);
        self.removed.merge(removed);
        Ok(redacted)
    }
}

/// Opens the sessions of sub-agents, which are in a directory with the name of the session. A
/// session that cannot be read is skipped with a warning. `redaction` is given with `--redact`.
pub fn open_sub_agents(
    input: &Input,
    args: &Args,
    mut redaction: Option<AgentRedaction>,
    ui: &mut Ui,
) -> Result<Vec<OpenSession>, Failure> {
    let mut agents = Vec::new();
    let rollouts = Rollouts::default();
    for path in list_sub_agents(input) {
        let mut agent = match open_session(&path, &rollouts, ui) {
            Ok(agent) => agent,
            // The directory also has other files.
            Err(failure) if failure.is_transcript() => continue,
            Err(failure) => {
                ui.warn(&failure.to_line());
                continue;
            }
        };
        if let Some(redaction) = &mut redaction {
            agent = redaction.redact(agent, args, ui)?;
        }
        agents.push(OpenSession::from_input(agent, load_options(ui), ui)?);
    }
    Ok(agents)
}

/// Returns the files in the directory with the name of a session. A session that was read from a
/// stream has no directory.
pub fn list_sub_agents(session: &Input) -> Vec<PathBuf> {
    let Some(file) = session.file() else {
        return Vec::new();
    };
    let folder = file.path().with_extension("");
    if !folder.is_dir() {
        return Vec::new();
    }
    let found = store::find(&[folder], Reach::Whole);
    found.files.into_iter().map(|file| file.path).collect()
}

/// Opens the file of a sub-agent. Fails if its first line is not the header of a session.
///
/// All files share `rollouts`: otherwise, the whole store would be searched for each rollout of
/// Codex.
pub fn open_session(path: &Path, rollouts: &Rollouts, ui: &Ui) -> Result<Input, Failure> {
    let all_entries = None;
    let is_stdout = ui.stdout_predicate();
    let input = Input::open_path_to_read(path, rollouts, all_entries, is_stdout)?;
    input.read_header()?;
    Ok(input)
}
