//! Notes after a search without a match: what was not searched, and which tools sessions call.

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
        let searched_own = self.sessions.sources(ui)?.is_none();
        if !self.sessions.all || self.sessions.archived || self.follow || !searched_own {
            return Ok(());
        }
        note_unsearched("--source all searches them, too", ui);
        Ok(())
    }

    /// Notes which tools the searched sessions call, if they call none of those that `--tool` names.
    pub(super) fn note_missing_tool(&self, files: Vec<FoundFile>, ui: &mut Ui) {
        if files.is_empty() || ui.is_quiet() {
            return;
        }
        let Some(called) = find_other_tools(files, &self.tool, ui) else {
            return;
        };
        let wanted: Vec<String> = self.tool.iter().map(|name| format!("`{name}`")).collect();
        let wanted = to_visible(&wanted.join(" or "));
        let called: Vec<String> = called.into_iter().collect();
        if called.is_empty() {
            ui.warn(&format!(
                "no call of {wanted}: these sessions call no tools"
            ));
        } else {
            let called = to_visible(&called.join(", "));
            ui.warn(&format!(
                "no call of {wanted}: these sessions call {called}"
            ));
        }
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

/// Returns the names of all tools that sessions call. `None` if one of them is wanted; then the other
/// sessions are not read. A session that cannot be read is left out.
fn find_other_tools(files: Vec<FoundFile>, wanted: &[String], ui: &Ui) -> Option<BTreeSet<String>> {
    let rollouts = Rollouts::default();
    let all_entries = None;
    let is_stdout = ui.stdout_predicate();
    let read_names = |file: FoundFile| {
        let opened = Input::open_path_to_read(&file.path, &rollouts, all_entries, is_stdout);
        let names = opened.ok().map(|input| read_tool_names(input.source()));
        names.and_then(Result::ok).unwrap_or_default()
    };

    let mut called = BTreeSet::new();
    let found_wanted = in_order(files, ui.processor_count(), read_names, |names| {
        for name in names {
            let text = Text::from(name.as_str());
            if wanted.iter().any(|wanted| includes_tool(wanted, &text)) {
                return Err(());
            }
            called.insert(name);
        }
        Ok(())
    });
    found_wanted.is_ok().then_some(called)
}
