//! What is known of Claude Code before its lines are read.

use super::attachments::FILE;
use super::blocks::REDACTED_PLACEHOLDER;
use super::injected::{COMMAND, INTERRUPTION, META_MESSAGE, NOTIFICATION, OUTPUT, REMINDER};
use super::kept::CLEARED_PLACEHOLDER;
use super::write::ClaudeNative;
use super::{ClaudeReader, SourceReader};
use crate::EarlierImports;
use crate::format::{AgentFacts, SourceAuthor, SourceFormat, StoreLayout};
use crate::joined::SourceLayout;
use crate::native::NativeFormat;
use crate::parts::non_empty_text;
use crate::writer::EntryWriter;
use pisess_core::session::content::find_members;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::io;
use std::path::{Path, PathBuf};

/// Claude Code.
pub struct ClaudeFormat;

/// The texts that the reader adds to the texts of a session: the parts of names of custom entries,
/// the names of the provider and of what is unknown, and placeholders.
const ADDED_TEXTS: [&str; 15] = [
    "claude",
    "line",
    "malformed",
    "foreign_session_import",
    "anthropic",
    "unknown",
    REDACTED_PLACEHOLDER,
    CLEARED_PLACEHOLDER,
    META_MESSAGE.kind,
    FILE.kind,
    COMMAND.kind,
    OUTPUT.kind,
    INTERRUPTION.kind,
    NOTIFICATION.kind,
    REMINDER.kind,
];

const FACTS: AgentFacts = AgentFacts {
    name: "claude",
    display_name: "Claude Code",
    store: StoreLayout {
        variable: "CLAUDE_CONFIG_DIR",
        below_variable: "",
        below_home: ".claude",
        subfolders: &["projects"],
    },
    resume_command: ["claude", "--resume"],
};

/// The prefixes of the ids of agents that Claude Code starts for its own purposes: to compact a
/// conversation, to suggest the next prompt, and to answer a question beside the conversation.
const INTERNAL_AGENTS: [&str; 3] = ["acompact-", "aprompt_suggestion-", "aside_question-"];

impl SourceFormat for ClaudeFormat {
    fn facts(&self) -> &'static AgentFacts {
        &FACTS
    }

    /// Most lines have a type and the id of a session. A few types have no id: the titles of old
    /// versions, and snapshots of files. A line with a payload is one of Codex.
    fn writes_line(&self, line: Raw) -> bool {
        let names = ["type", "sessionId", "payload", "leafUuid"];
        let [line_type, session_id, payload, leaf_uuid] = find_members(line, names);
        let Some(line_type) = line_type.filter(|line_type| line_type.is_string()) else {
            return false;
        };
        if payload.is_some_and(Raw::is_object) {
            return false;
        }
        let is_old_title = line_type.is("summary") && leaf_uuid.is_some_and(Raw::is_string);
        session_id.is_some_and(Raw::is_string)
            || is_old_title
            || line_type.is("file-history-snapshot")
    }

    fn session_id(&self, line: Raw) -> Option<String> {
        non_empty_text(line, "sessionId").map(Text::into_string_lossy)
    }

    /// Only lines with a `uuid`, the lines of the tree, show the author.
    fn author(&self, line: Raw) -> SourceAuthor {
        if line.get("uuid").is_none() {
            return SourceAuthor::Unknown;
        }
        let is_sidechain = line.get("isSidechain").and_then(Raw::bool) == Some(true);
        match non_empty_text(line, "agentId") {
            Some(id) if is_sidechain => SourceAuthor::SubAgent(id.into_string_lossy()),
            _ => SourceAuthor::MainAgent,
        }
    }

    fn cwd(&self, line: Raw) -> Option<Text<'static>> {
        non_empty_text(line, "cwd").map(Text::into_owned)
    }

    fn sub_agent_folder(&self, session: &Path, _id: &str) -> Option<PathBuf> {
        Some(session.with_extension("").join("subagents"))
    }

    fn is_internal_log(&self, file_stem: &str) -> bool {
        let Some(agent_id) = file_stem.strip_prefix("agent-") else {
            return false;
        };
        INTERNAL_AGENTS
            .iter()
            .any(|prefix| agent_id.starts_with(prefix))
    }

    fn added_texts(&self) -> Option<&'static [&'static str]> {
        Some(&ADDED_TEXTS)
    }

    fn new_reader<'o>(
        &self,
        _source: &'o dyn ReadAt,
        _layout: &SourceLayout,
        earlier: &EarlierImports,
        writer: EntryWriter<'o>,
    ) -> io::Result<Box<dyn SourceReader<'o> + 'o>> {
        Ok(Box::new(ClaudeReader::new(writer, earlier.merged_from)))
    }

    fn native(&self) -> Option<&'static dyn NativeFormat> {
        Some(&ClaudeNative)
    }
}
