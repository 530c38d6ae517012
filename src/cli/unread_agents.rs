//! Notes that the sub-agents of the sessions that the user named were not read.

use super::output::Ui;
use super::process::command_line::quote_word;
use crate::format::format_count;
use crate::session::usage::is_advisor;
use pisess_store::FoundFile;
use std::path::{Path, PathBuf};

/// Sub-agents and advisors that a command did not read.
pub struct UnreadAgents<'a> {
    pub agents: &'a [FoundFile],
    /// The sessions, as the user named them.
    pub sessions: &'a [PathBuf],
}

/// The parts of a note on unread sub-agents: `2 sub-agents OMISSION (hint: COMMAND EFFECT)`.
pub struct AgentsNote<'a> {
    /// How they were left out, for example `not searched`.
    pub omission: &'a str,
    /// A command that reads them, too; `None` if there is none.
    pub command: Option<String>,
    /// What this command does, for example `searches them, too`.
    pub effect: &'a str,
    /// What `pisess list` does with them, for example `lists them`. The note names this command on
    /// a terminal, or if there is no other.
    pub effect_of_list: &'a str,
}

impl UnreadAgents<'_> {
    /// Prints a note with the number of sub-agents and advisors, and the command that reads them.
    pub fn print_note(&self, note: AgentsNote, ui: &mut Ui) {
        let mut command = format!("pisess list{}", session_words(self.sessions));
        let mut effect = note.effect_of_list;
        // On a terminal, the reading command has a path that hardly fits into a line.
        if let Some(reading_command) = note.command
            && !ui.stderr_is_terminal()
        {
            command = reading_command;
            effect = note.effect;
        }
        let agents = self.count_agents();
        let omission = note.omission;
        ui.warn(&format!("{agents} {omission} (hint: `{command}` {effect})"));
    }

    /// Returns the numbers of sub-agents and advisors: `2 sub-agents and 1 advisor`.
    fn count_agents(&self) -> String {
        let advisors = self.agents.iter().filter(|agent| is_advisor(&agent.path));
        let advisor_count = advisors.count();
        let sub_agent_count = self.agents.len() - advisor_count;
        let mut counts = Vec::new();
        if sub_agent_count > 0 {
            counts.push(format_count(sub_agent_count, "sub-agent", "sub-agents"));
        }
        if advisor_count > 0 {
            counts.push(format_count(advisor_count, "advisor", "advisors"));
        }
        counts.join(" and ")
    }

    /// Returns the arguments of a command that reads the sessions and their sub-agents: the
    /// sessions and the directories of the sub-agents, each after a space.
    pub fn arguments(&self) -> String {
        let mut owners: Vec<&Path> = Vec::new();
        for agent in self.agents {
            if let Some(owner) = agent.owner.as_deref()
                && !owners.contains(&owner)
            {
                owners.push(owner);
            }
        }
        let mut words = session_words(self.sessions);
        for owner in owners {
            words.push(' ');
            words += &quote_word(owner.with_extension("").as_os_str());
        }
        words
    }
}

/// Returns sessions as arguments of a command, each after a space.
fn session_words(sessions: &[PathBuf]) -> String {
    let mut words = String::new();
    for session in sessions {
        words.push(' ');
        words += &quote_word(session.as_os_str());
    }
    words
}
