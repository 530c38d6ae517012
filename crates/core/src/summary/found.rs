//! What calls found that only look. An agent that has read four files and goes on without their
//! contents reads them again.

use super::budget::{COMMAND, LIST};
use super::fitting::{item_size, join_fitting};
use super::quote::code_span;
use super::sections::ALSO_READ_LEAD;
use super::tool_calls::{ToolHistory, describe_call};
use super::tool_run::ToolRun;
use crate::session::outcome::Outcome;
use foldhash::HashSet;

impl ToolRun {
    /// Whether the call looked, and what it found is known.
    pub fn has_finding(&self) -> bool {
        self.outcome == Outcome::Passed && !self.finding.text.is_empty()
    }
}

/// Whether the output of a call is what it found: that of a call that only looks, and the report of
/// a sub-agent, whose work is in no other call of the session.
pub(super) fn has_findings(run: &ToolRun, output: &str) -> bool {
    may_find(run) && !is_launch_notice(run, output)
}

/// Whether a sub-agent works on, and only its start is reported.
fn is_launch_notice(run: &ToolRun, output: &str) -> bool {
    /// As Claude Code and oh-my-pi write it.
    const STARTS: [&str; 2] = ["Async agent launched", "Started "];
    runs_sub_agent(run) && STARTS.iter().any(|start| output.starts_with(start))
}

/// Whether a call runs a sub-agent of Claude Code or oh-my-pi.
fn runs_sub_agent(run: &ToolRun) -> bool {
    matches!(&*run.call.tool, "Agent" | "Task" | "task")
}

/// Whether a call may find something: a command that only looks, a tool that reads or searches by
/// its name, as `fetch_url` and `mcp__map__list_piers`, or a sub-agent.
fn may_find(run: &ToolRun) -> bool {
    const VERBS: [&str; 12] = [
        "read",
        "fetch",
        "search",
        "webfetch",
        "websearch",
        "find",
        "glob",
        "grep",
        "list",
        "view",
        "get",
        "ls",
    ];
    if !run.call.command.is_empty() {
        return run.command.is_read_only;
    }
    if runs_sub_agent(run) {
        return true;
    }
    let name = run.call.tool.to_lowercase();
    let mut parts = name.split(|c: char| !c.is_alphanumeric());
    parts.any(|part| VERBS.contains(&part)) && !run.changes_file()
}

/// A call of the current turn that only looked.
struct Look<'r> {
    run: &'r ToolRun,
    /// The call as it is listed.
    call: String,
    /// The line with what it found, if it is quoted.
    line: Option<String>,
}

impl ToolHistory {
    /// Describes what the calls of the current turn found, in their order and in about `max` UTF-16
    /// units, and in one more line the other files that commands read.
    pub fn describe_findings(&self, max: usize) -> Vec<String> {
        let mut looks = self.looks_of_turn();
        quote_findings(&mut looks, max);
        let other_files = list_other_files(&looks);

        let mut lines = Vec::new();
        for look in looks.into_iter().rev() {
            lines.extend(look.line);
        }
        lines.extend(join_fitting(ALSO_READ_LEAD, &other_files, LIST.min(max)));
        lines
    }

    /// Returns the calls of the current turn that looked, newest first. Of equal ones, the newest.
    fn looks_of_turn(&self) -> Vec<Look<'_>> {
        let mut known_calls = HashSet::default();
        let mut looks = Vec::new();
        for run in self.runs.iter().rev() {
            if run.turn_number != self.turn_number {
                break;
            }
            if run.outcome != Outcome::Passed || !may_find(run) {
                continue;
            }
            let call = describe_call(&run.call);
            if known_calls.insert(call.clone()) {
                looks.push(Look {
                    run,
                    call,
                    line: None,
                });
            }
        }
        looks
    }
}

/// Sets the lines of looks, as many as fit in `max` UTF-16 units: first those with an outline of a
/// document or a folder, then the newest of the others.
fn quote_findings(looks: &mut [Look], max: usize) {
    /// The units before the mark of an item of an inner list.
    const INDENTATION: usize = 2;

    // A stable sort: of equals, the newest stays first.
    let mut outlines_first: Vec<usize> = (0..looks.len()).collect();
    outlines_first.sort_by_key(|&index| !looks[index].run.finding.is_outline);

    let mut room = max;
    for index in outlines_first {
        let look = &mut looks[index];
        if !look.run.has_finding() {
            continue;
        }
        let line = format!("{}: {}", look.call, look.run.finding.text);
        let size = item_size(&line) + INDENTATION;
        // What comes after it matters less, even if it is short enough.
        if size > room {
            break;
        }
        room -= size;
        look.line = Some(line);
    }
}

/// Lists the files that commands printed, and of which nothing is quoted. Those that other tools
/// read are below the summary.
fn list_other_files(looks: &[Look]) -> Vec<String> {
    let mut files = Vec::new();
    for look in looks.iter().filter(|look| look.line.is_none()) {
        let Some(path) = look.run.command.read_path() else {
            continue;
        };
        let file = code_span(path, COMMAND);
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}
