//! The sessions of sub-agents, and the tool results that name them.
//!
//! A sub-agent's usage may be in two places: in its own session, and as a sum in the tool result of
//! the session that started it. oh-my-pi and the extension pi-subagents keep the sessions of
//! sub-agents in the directory named like the session without `.jsonl`, and record their paths in
//! the `details` of the result: oh-my-pi the path of the output (`<session>/<agent>.md`, beside
//! `<agent>.jsonl`), pi-subagents that of the session (`<session>/<run>/run-0/session.jsonl`).
//! Claude Code records the sub-agent's id (`agentId`), and `import` names its session
//! `<session>/<agent>.jsonl`. Stores are moved and copied, so only the end of a path identifies a
//! session.

use foldhash::HashSet;
use pisess_json::Raw;
use pisess_store::{self as store, FoundFile};
use std::path::{Path, PathBuf};

/// The sub-agents whose sessions are read in one run.
#[derive(Clone, Debug, Default)]
pub struct SubAgents {
    /// The ends of the paths of their sessions, as [`session_end`] returns them.
    session_ends: HashSet<String>,
    /// The sessions that started them, directly or through another sub-agent: a nested sub-agent
    /// belongs to every session above it.
    owners: HashSet<PathBuf>,
}

impl SubAgents {
    /// Returns which of these session files are of sub-agents: agents that another session started
    /// for a part of its work. Each is known by the end of its path ([`session_end`]), by which
    /// tool results name it. Advisors of oh-my-pi are left out, because no tool result reports
    /// their usage.
    pub fn from_files(files: &[FoundFile]) -> SubAgents {
        let mut agents = SubAgents::default();
        agents.add_files(files);
        agents
    }

    /// Adds the sub-agents among further session files.
    pub fn add_files(&mut self, files: &[FoundFile]) {
        for file in files {
            if is_advisor(&file.path) {
                continue;
            }
            let end = session_end(&file.path.to_string_lossy());
            self.session_ends.insert(end);
            if let Some(owner) = &file.owner {
                self.owners.extend(sessions_above(&file.path, owner));
            }
        }
    }

    /// Whether sessions of sub-agents of `session` are read.
    pub fn has_agents_of(&self, session: &Path) -> bool {
        self.owners.contains(session)
    }

    /// Whether the session of any sub-agent that a tool result reports is read. `reported` are the
    /// ends of the paths in that result. If it names none, any sub-agent of `session` counts.
    pub fn has_any_reported(&self, session: &Path, reported: &[String]) -> bool {
        if reported.is_empty() {
            return self.has_agents_of(session);
        }
        possible_session_ends(session, reported)
            .iter()
            .any(|end| self.session_ends.contains(end))
    }
}

/// Whether a session is that of an advisor of oh-my-pi.
pub fn is_advisor(session: &Path) -> bool {
    let name = session.file_name().unwrap_or_default();
    name.as_encoded_bytes().starts_with(b"__advisor")
}

/// Returns the sessions to which a sub-agent belongs, from the one that started it up to `owner`,
/// which no other session started.
///
/// A session `NAME.jsonl` has its sub-agents in the directory `NAME`, so each directory above names
/// one.
fn sessions_above(sub_agent: &Path, owner: &Path) -> Vec<PathBuf> {
    let mut sessions = Vec::new();
    for folder in sub_agent.ancestors().skip(1) {
        let session = store::with_suffix(folder, ".jsonl");
        if session == owner {
            break;
        }
        sessions.push(session);
    }
    sessions.push(owner.to_owned());
    sessions
}

/// Whether a tool result of `session` reports the usage of a sub-agent of this session. `reported`
/// are the ends of the paths in that result. If it names none, it may report any sub-agent.
pub fn is_reported(session: &Path, reported: &[String], sub_agent: &Path) -> bool {
    if is_advisor(sub_agent) {
        return false;
    }
    if reported.is_empty() {
        return true;
    }
    let ends = possible_session_ends(session, reported);
    if ends.contains(&session_end(&sub_agent.to_string_lossy())) {
        return true;
    }
    // Claude Code's own file `agent-ID.jsonl`, for which the result has the ID.
    let name = sub_agent.file_name().unwrap_or_default().to_string_lossy();
    match name.strip_prefix("agent-") {
        Some(name) => ends.contains(&format!("/{name}")),
        None => false,
    }
}

/// Returns the sessions of sub-agents that a tool result names in its `details`, each by the end of
/// its path ([`session_end`]). A result names them by a path for each, or by the id of one
/// sub-agent of Claude Code.
pub fn reported_session_ends(details: Raw) -> Vec<String> {
    let mut ends = Vec::new();
    for result in agent_results(details) {
        if let Some(path) = session_of_result(result) {
            ends.push(session_end(&path));
        }
    }
    if let Some(id) = details.get_text("agentId") {
        // The name that `import` gives to the session of this sub-agent. Its directory is not
        // known, so the end of the path is the name after a slash.
        let path = format!("/{}.jsonl", id.to_string_lossy());
        ends.push(session_end(&path));
    }
    ends
}

/// Returns the path of the session of one sub-agent: the path that the result names, or the file
/// `NAME.jsonl` beside its output `NAME.md`.
fn session_of_result(result: Raw) -> Option<String> {
    if let Some(session) = result.get_text("sessionFile") {
        return Some(session.to_string_lossy().into_owned());
    }
    let output = result.get_text("outputPath")?;
    let output = output.to_string_lossy();
    Some(format!("{}.jsonl", output.strip_suffix(".md")?))
}

/// Returns the ends that the paths of reported sessions of sub-agents may have by now. A fork of a
/// session may have copied them to its own directory, although its tool results report the old one.
/// So `FORK/NAME` is added for each end `OLD/NAME`, where `FORK` is the name of `session`.
pub fn possible_session_ends(session: &Path, reported: &[String]) -> Vec<String> {
    let stem = session.file_stem().unwrap_or_default().to_string_lossy();
    let mut ends = reported.to_vec();
    for end in reported {
        if let [folder, name] = end.split('/').collect::<Vec<_>>()[..]
            && folder != stem
        {
            ends.push(format!("{stem}/{name}"));
        }
    }
    ends
}

/// Returns the results of sub-agents in a tool result's details: those of its own run, and those of
/// runs for which it waited.
fn agent_results<'a>(details: Raw<'a>) -> impl Iterator<Item = Raw<'a>> {
    let own = member_items(details, "results");
    let completions = member_items(details, "completions");
    let awaited = completions.flat_map(|completion| member_items(completion, "results"));
    own.chain(awaited)
}

/// Returns the items of an array member; none if the member is missing.
fn member_items<'a>(object: Raw<'a>, key: &str) -> impl Iterator<Item = Raw<'a>> + use<'a> {
    object.get(key).into_iter().flat_map(Raw::items)
}

/// Returns the end of a session's path that identifies the session: its directory and its name. All
/// sessions of pi-subagents are named `run-0/session.jsonl` or the like, so the directory of the
/// run is included, too.
pub fn session_end(path: &str) -> String {
    // From the right: the name, its directory, and the one above.
    let mut parts: Vec<&str> = path.rsplit(['/', '\\']).take(3).collect();
    if parts[0] != "session.jsonl" {
        parts.truncate(2);
    }
    parts.reverse();
    parts.join("/")
}
