//! Notes after a search without a match: they name sessions that were not searched, and the tools
//! that sessions call.

use super::Args;
use crate::cli::foreign::note_unsearched;
use crate::cli::open::Input;
use crate::cli::output::{Failure, Ui, to_visible};
use crate::cli::rollouts::Rollouts;
use crate::cli::sessions::find_unread_agents;
use crate::cli::titled::command_with;
use crate::cli::unread_agents::{AgentsNote, UnreadAgents};
use crate::ops::grep::{includes_tool, read_tool_names};
use crate::session::period::Period;
use pisess_json::text::Text;
use pisess_store::FoundFile;
use pisess_store::workers::in_order;
use std::collections::BTreeSet;

impl Args {
    /// Notes how many sessions of other agents were not searched, if all projects were.
    pub(super) fn note_unsearched(&self, ui: &mut Ui) -> Result<(), Failure> {
        if !self.sessions.all || self.sessions.archived {
            return Ok(());
        }
        // With sources, the user has chosen the agents.
        let has_sources = self.sessions.sources(ui)?.is_some();
        if !has_sources {
            note_unsearched("--source all searches them, too", ui);
        }
        Ok(())
    }

    /// Notes which tools the searched sessions call, if no session calls a tool that `--tool`
    /// names.
    pub(super) fn note_missing_tool(&self, files: Vec<FoundFile>, ui: &mut Ui) {
        if files.is_empty() || ui.is_quiet() {
            return;
        }
        let Some(other_tools) = find_other_tools(files, &self.tool, ui) else {
            return;
        };
        let called = if other_tools.is_empty() {
            "no tools".to_owned()
        } else {
            let names: Vec<String> = other_tools.into_iter().collect();
            to_visible(&names.join(", "))
        };
        let wanted: Vec<String> = self.tool.iter().map(|name| format!("`{name}`")).collect();
        let wanted = to_visible(&wanted.join(" or "));
        ui.warn(&format!(
            "no call of {wanted}: these sessions call {called}"
        ));
    }

    /// Notes how many sub-agents of the only session were not searched.
    pub(super) fn note_unsearched_agents(&self, session: FoundFile, period: Period, ui: &mut Ui) {
        // A range is a part of one session. With -L, a session without a row has a match.
        if self.range.is_some() || self.files_without_match {
            return;
        }
        let [given] = &self.sessions.paths[..] else {
            return;
        };
        let agents = find_unread_agents(&[session], period);
        if agents.is_empty() {
            return;
        }

        let unread = UnreadAgents {
            agents: &agents,
            sessions: &self.sessions.paths,
        };
        let arguments = self.with_explicit_pattern(unread.arguments().trim_start(), ui);
        let note = AgentsNote {
            omission: "not searched",
            command: command_with(given.as_os_str(), &arguments, ui),
            effect: "searches them, too",
            effect_of_list: "lists them",
        };
        unread.print_note(note, ui);
    }

    /// Returns the sessions to search as arguments, after an empty pattern if the user left out the
    /// pattern. PATTERN can be left out only before a single SESSION, and here there are several.
    fn with_explicit_pattern(&self, sessions: &str, ui: &Ui) -> String {
        let is_pattern_empty = self.pattern.as_deref() == Some("");
        let is_pattern_given = ui.arguments.iter().any(|argument| argument.is_empty());
        if is_pattern_empty && !is_pattern_given {
            format!("'' {sessions}")
        } else {
            sessions.to_owned()
        }
    }
}

/// A session calls one of the wanted tools.
struct WantedToolCalled;

/// Returns the names of all tools that sessions call. `None` if one of them is wanted: the other
/// sessions are then not read. A session that cannot be read is left out.
fn find_other_tools(files: Vec<FoundFile>, wanted: &[String], ui: &Ui) -> Option<BTreeSet<String>> {
    let rollouts = Rollouts::default();
    let all_entries = None;
    let is_stdout = ui.stdout_predicate();
    let read_names = |file: FoundFile| {
        let opened = Input::open_path_to_read(&file.path, &rollouts, all_entries, is_stdout);
        let names = opened.ok().map(|input| read_tool_names(input.source()));
        names.and_then(Result::ok).unwrap_or_default()
    };

    let mut other_tools = BTreeSet::new();
    let add_names = |names: BTreeSet<String>| {
        for name in names {
            if is_any_of(&name, wanted) {
                return Err(WantedToolCalled);
            }
            other_tools.insert(name);
        }
        Ok(())
    };
    match in_order(files, ui.processor_count(), read_names, add_names) {
        Ok(()) => Some(other_tools),
        Err(WantedToolCalled) => None,
    }
}

/// Whether a tool is one of the wanted ones, or similar: `--tool bash` includes the shells of other
/// agents.
fn is_any_of(name: &str, wanted: &[String]) -> bool {
    let name = Text::from(name);
    wanted.iter().any(|wanted| includes_tool(wanted, &name))
}
