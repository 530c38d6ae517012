//! The sessions of sub-agents, and the tool results that name them.
//!
//! A sub-agent's usage may be in two places: in its own session, and as a sum in the tool result of the session that
//! started it. oh-my-pi and the extension pi-subagents keep the sessions of sub-agents in the directory named like
//! the session without `.jsonl`, and record their paths in the `details` of the result: oh-my-pi the path of the
//! output (`<session>/<agent>.md`, beside `<agent>.jsonl`), pi-subagents that of the session
//! (`<session>/<run>/run-0/session.jsonl`). Stores are moved and copied, so only the end of a path identifies a
//! session.

use super::scan::Message;
use pisess_json::Raw;
use std::collections::HashSet;
use std::path::Path;

/// The sessions that are read in one run, by the ends of their paths.
#[derive(Clone, Debug, Default)]
pub struct AgentSessions(HashSet<String>);

impl<'p> FromIterator<&'p Path> for AgentSessions {
    fn from_iter<T: IntoIterator<Item = &'p Path>>(paths: T) -> Self {
        AgentSessions(paths.into_iter().map(|path| end(&path.to_string_lossy()).join("/")).collect())
    }
}

impl AgentSessions {
    /// Whether one of the sessions has one of these ends.
    pub fn holds_any(&self, ends: &[String]) -> bool {
        ends.iter().any(|end| self.0.contains(end))
    }
}

/// The usage of sub-agents.
pub(super) struct Reported<'a> {
    /// The usage, a sum.
    pub usage: Raw<'a>,
    /// The ends of the paths that their sessions may have; none if the result does not name them.
    pub sessions: Vec<String>,
}

/// Returns the usage that a tool result reports for sub-agents, if any. `stem` is the name of the file without `.jsonl`.
pub(super) fn reported<'a>(result: &Message<'a>, stem: &str) -> Option<Reported<'a>> {
    let is_tool = |name: &str| result.tool_name.is_some_and(|tool| tool.is(name));
    let own = result.usage.filter(|usage| usage.is_object());
    let sum = result.details.filter(|_| is_tool("task")).and_then(|details| details.get("usage"));
    let usage = own.or(sum)?;
    let sessions = result.details.map(|details| sessions(details, stem)).unwrap_or_default();
    (own.is_none() || is_tool("subagent") || !sessions.is_empty()).then_some(Reported { usage, sessions })
}

/// Returns the ends of the paths that the sessions of a tool result's sub-agents may have.
fn sessions(details: Raw, stem: &str) -> Vec<String> {
    let mut ends = Vec::new();
    for result in results(details) {
        let session = result.get_text("sessionFile").map(|path| path.to_string_lossy().into_owned());
        let output = || {
            let path = result.get_text("outputPath")?;
            Some(path.to_string_lossy().strip_suffix(".md")?.to_owned() + ".jsonl")
        };
        let Some(path) = session.or_else(output) else { continue };
        let end = end(&path);
        // A fork may have copied the directory under its own name.
        if let [folder, name] = end[..]
            && folder != stem
        {
            ends.push(format!("{stem}/{name}"));
        }
        ends.push(end.join("/"));
    }
    ends
}

/// Returns the results of the sub-agents in a tool result's details: its own, and those of runs it waited for.
fn results<'a>(details: Raw<'a>) -> impl Iterator<Item = Raw<'a>> {
    let items = |value: Raw<'a>, key: &str| value.get(key).into_iter().flat_map(Raw::items);
    let awaited = items(details, "completions").flat_map(move |completion| items(completion, "results"));
    items(details, "results").chain(awaited)
}

/// Returns the last parts of a session's path, which identify it: its directory and its name. The sessions of
/// pi-subagents all have the same name, in directories with the same names, so theirs begin with the run.
fn end(path: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = path.rsplit(['/', '\\']).take(3).collect();
    if parts[0] != "session.jsonl" {
        parts.truncate(2);
    }
    parts.reverse();
    parts
}
