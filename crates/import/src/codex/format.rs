//! What is known of Codex before its lines are read.

use super::compaction::{ENCRYPTED_SUMMARY, may_rebuild_history};
use super::write::CodexNative;
use super::{CodexReader, PROVIDER, SourceReader};
use crate::EarlierImports;
use crate::format::{AgentFacts, SourceAuthor, SourceFormat, StoreLayout};
use crate::joined::{HistoryBase, RolloutName, SourceLayout};
use crate::native::NativeFormat;
use crate::parts::non_empty_text;
use crate::writer::EntryWriter;
use pisess_core::session::content::find_members;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::io;
use std::path::Path;

/// Codex.
pub struct CodexFormat;

/// The texts that the reader adds to the texts of a session: the parts of names of custom entries,
/// the names of the provider, the model and tools that are not named, the key of arguments that are
/// a text, and a placeholder.
const ADDED_TEXTS: [&str; 14] = [
    "codex",
    "line",
    "malformed",
    "foreign_session_import",
    "context",
    "compacted",
    PROVIDER,
    "responses",
    "web_search",
    "local_shell",
    "tool_search",
    "unknown",
    "input",
    ENCRYPTED_SUMMARY,
];

const FACTS: AgentFacts = AgentFacts {
    name: "codex",
    display_name: "Codex",
    store: StoreLayout {
        variable: "CODEX_HOME",
        below_variable: "",
        below_home: ".codex",
        subfolders: &["sessions", "archived_sessions"],
    },
    resume_command: ["codex", "resume"],
};

impl SourceFormat for CodexFormat {
    fn facts(&self) -> &'static AgentFacts {
        &FACTS
    }

    /// Whether Codex writes such lines:
    ///
    /// ```text
    /// {"timestamp":"…","type":"response_item","payload":{…}}     since September 2025
    /// {"id":"…","timestamp":"…","instructions":null}             first line of an older file
    /// {"record_type":"state"}                                    another line of an older file
    /// ```
    ///
    /// The first line of an older file has neither a type nor a `uuid`: Claude Code writes these.
    fn writes_line(&self, line: Raw) -> bool {
        let names = ["type", "uuid", "payload", "timestamp", "record_type", "id"];
        let [line_type, uuid, payload, timestamp, record_type, id] = find_members(line, names);
        let is_string = |member: Option<Raw>| member.is_some_and(Raw::is_string);
        if is_string(line_type) && payload.is_some_and(Raw::is_object) {
            return true;
        }
        if is_string(record_type) {
            return true;
        }
        let has_no_type = line_type.is_none() && uuid.is_none();
        has_no_type && is_string(timestamp) && is_string(id)
    }

    /// Returns the id in the line of the type `session_meta`. The first line of an old file is only
    /// the payload of such a line. The file of a sub-agent has the id of the session to which the
    /// sub-agent belongs.
    fn session_id(&self, line: Raw) -> Option<String> {
        let line_type = line.get("type");
        if line_type.is_some_and(|line_type| !line_type.is("session_meta")) {
            return None;
        }
        let own_id = non_empty_text(line.get("payload").unwrap_or(line), "id")?;
        let session_id = find_sub_agent_owner(line).unwrap_or(own_id);
        Some(session_id.into_string_lossy())
    }

    /// Only the line with the id of the session shows the author.
    fn author(&self, line: Raw) -> SourceAuthor {
        if self.session_id(line).is_none() {
            return SourceAuthor::Unknown;
        }
        let is_of_sub_agent = find_sub_agent_owner(line).is_some();
        let payload = line.get("payload").unwrap_or(line);
        match non_empty_text(payload, "id") {
            Some(agent_id) if is_of_sub_agent => {
                SourceAuthor::SubAgent(agent_id.into_string_lossy())
            }
            _ => SourceAuthor::MainAgent,
        }
    }

    /// The working directory is a member of the payload. Old files have it only in the text of a
    /// message.
    fn cwd(&self, line: Raw) -> Option<Text<'static>> {
        let payload = line.get("payload").unwrap_or(line);
        if let Some(cwd) = non_empty_text(payload, "cwd") {
            return Some(cwd.into_owned());
        }
        let first_block = payload.get("content")?.items().next()?;
        find_cwd_in_context(first_block.get_text("text")?)
    }

    /// The first file of a source is the one whose base is not in it.
    fn base_file_id(&self, source: &dyn ReadAt) -> io::Result<Option<String>> {
        Ok(HistoryBase::read(source)?.map(|base| base.rollout_id))
    }

    fn id_in_file_name(&self, path: &Path) -> Option<String> {
        RolloutName::parse(path).map(|name| name.thread_id)
    }

    fn added_texts(&self) -> Option<&'static [&'static str]> {
        Some(&ADDED_TEXTS)
    }

    fn may_join_texts(&self, lines: &[u8]) -> bool {
        may_rebuild_history(lines)
    }

    fn new_reader<'o>(
        &self,
        source: &'o dyn ReadAt,
        layout: &SourceLayout,
        earlier: &EarlierImports,
        writer: EntryWriter<'o>,
    ) -> io::Result<Box<dyn SourceReader<'o> + 'o>> {
        Ok(Box::new(CodexReader::new(source, layout, earlier, writer)))
    }

    fn native(&self) -> Option<&'static dyn NativeFormat> {
        Some(&CodexNative)
    }
}

/// Returns the id of the session to which a sub-agent belongs, from the first line of its file:
///
/// ```text
/// {"type":"session_meta","payload":{"id":"AGENT","session_id":"SESSION",
///     "source":{"subagent":{"thread_spawn":{"parent_thread_id":"STARTER"}}}}}
/// ```
///
/// This is `SESSION`, the session at the top. Versions that do not know it name only `STARTER`,
/// which may be a sub-agent itself: they leave `session_id` out, or repeat `AGENT` there.
///
/// `None` if the line is not a `session_meta`, or a sub-agent did not write it.
fn find_sub_agent_owner(line: Raw<'_>) -> Option<Text<'_>> {
    if !line.get("type")?.is("session_meta") {
        return None;
    }
    let payload = line.get("payload")?;
    // Only the file of a sub-agent has these members.
    let spawn = payload
        .get("source")?
        .get("subagent")?
        .get("thread_spawn")?;
    let agent = non_empty_text(payload, "id")?;

    let session = non_empty_text(payload, "session_id").filter(|session| *session != agent);
    session.or_else(|| non_empty_text(spawn, "parent_thread_id"))
}

/// Returns the working directory from the message in which Codex describes its environment to the
/// model. Old files have it nowhere else:
///
/// ```text
/// <environment_context><cwd>/home/me</cwd> …
/// <environment_context>Current working directory: /home/me …
/// ```
///
/// `None` for any other message.
fn find_cwd_in_context(message: Text) -> Option<Text<'static>> {
    let message = message.to_string_lossy();
    let context = message.trim_start().strip_prefix("<environment_context>")?;
    let (_, cwd_and_rest) = context
        .split_once("Current working directory: ")
        .or_else(|| context.split_once("<cwd>"))?;
    // It ends with its line, or with `</cwd>`.
    let cwd = cwd_and_rest.split(['\n', '<']).next()?.trim();
    if cwd.is_empty() {
        None
    } else {
        Some(Text::from(cwd.to_owned()))
    }
}
