//! What is known of Gemini CLI before its lines are read.

use super::GeminiReader;
use super::message::{Part, is_session_context, read_parts};
use crate::format::{AgentFacts, SourceAuthor, SourceFormat, StoreLayout};
use crate::joined::SourceLayout;
use crate::parts::{non_empty_text, parse_time_ms, unconverted_members};
use crate::writer::EntryWriter;
use crate::{EarlierImports, SourceReader, SubAgent};
use pisess_core::session::content::{find_members, member_is};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_store::ReadAt;
use std::io;
use std::path::{Path, PathBuf};

/// Gemini CLI.
pub struct GeminiFormat;

const FACTS: AgentFacts = AgentFacts {
    name: "gemini",
    display_name: "Gemini CLI",
    store: StoreLayout {
        variable: "GEMINI_CLI_HOME",
        below_variable: ".gemini",
        below_home: ".gemini",
        subfolders: &["tmp"],
    },
    resume_command: ["gemini", "--resume"],
};

/// The directory with the sessions of a project. It also has a directory for each session with
/// sub-agents.
const CHATS_FOLDER: &str = "chats";

/// The texts that precede the working directory in the message that describes the project.
const FOLDER_HEADINGS: [&str; 2] = [
    "- **Workspace Directories:**\n  - ",
    "I'm currently working in the directory: ",
];

/// The members of an old file that are converted to a line after its messages: they change while
/// the session grows, and the first lines must stay the same.
const LATE_MEMBERS: [&str; 2] = ["summary", "memoryScratchpad"];

impl SourceFormat for GeminiFormat {
    fn facts(&self) -> &'static AgentFacts {
        &FACTS
    }

    /// Whether Gemini CLI writes such lines:
    ///
    /// ```text
    /// {"sessionId":"…","projectHash":"…", …}      the first line
    /// {"id":"…","type":"gemini", …}                a response
    /// {"$set":{…}}, {"$rewindTo":"…"}              a change of the session
    /// ```
    ///
    /// Messages of other types do not count, because other agents have such types, too.
    fn writes_line(&self, line: Raw) -> bool {
        let names = [
            "sessionId",
            "projectHash",
            "$set",
            "$rewindTo",
            "type",
            "id",
        ];
        let [session_id, project, set, rewind, line_type, id] = find_members(line, names);
        let is_string = |member: Option<Raw>| member.is_some_and(Raw::is_string);
        let is_first_line = is_string(session_id) && is_string(project);
        let is_response = is_string(id) && line_type.is_some_and(|name| name.is("gemini"));
        let is_change = set.is_some_and(Raw::is_object) || is_string(rewind);
        is_first_line || is_response || is_change
    }

    /// Older versions wrote a session as one object, with its messages in a list:
    ///
    /// ```text
    /// {"sessionId":"…","projectHash":"…","messages":[{…}, …],"summary":"Parser", …}
    /// ```
    ///
    /// It becomes the lines that newer versions write: the session, each message, and a `$set` with
    /// the members that may change later.
    fn document_lines(&self, document: Raw) -> Option<Vec<u8>> {
        let messages = document.get("messages").filter(|list| list.is_array())?;
        // Without these two, it is no session.
        non_empty_text(document, "sessionId")?;
        non_empty_text(document, "projectHash")?;

        // The first line must stay the same when the session grows. `lastUpdated` is the same as
        // the time of the last message.
        let mut left_out = LATE_MEMBERS.to_vec();
        left_out.extend(["messages", "lastUpdated"]);
        let first_line = unconverted_members(document, &left_out);
        let mut lines = Vec::new();
        push_line(&mut lines, &first_line.finish());
        for message in messages.items() {
            push_line(&mut lines, message.bytes());
        }

        let late_members = Object::new().copy_members(document, &LATE_MEMBERS).finish();
        if late_members != b"{}" {
            let last_line = Object::new().json("$set", &late_members);
            push_line(&mut lines, &last_line.finish());
        }
        Some(lines)
    }

    fn session_id(&self, line: Raw) -> Option<String> {
        non_empty_text(line, "sessionId").map(Text::into_string_lossy)
    }

    /// Only the path shows sub-agents.
    fn author(&self, _line: Raw) -> SourceAuthor {
        SourceAuthor::Unknown
    }

    /// The file of a sub-agent is `chats/SESSION/SUB-AGENT.jsonl`.
    fn sub_agent_of_path(&self, path: &Path) -> Option<SubAgent> {
        let session_folder = path.parent()?;
        if session_folder.parent()?.file_name()? != CHATS_FOLDER {
            return None;
        }
        Some(SubAgent {
            session: session_folder.file_name()?.to_str()?.to_owned(),
            id: path.file_stem()?.to_str()?.to_owned(),
        })
    }

    /// The first line of a sub-agent lists directories, the working directory first. Other sessions
    /// have them in the message that describes the project: a line of its own, or the first message
    /// of a list.
    ///
    /// ```text
    /// {"sessionId":"…","directories":["/home/ann/work"], …}
    /// {"id":"…","type":"user","content":[{"text":"<session_context>…"}]}
    /// {"$set":{"messages":[{"id":"…","type":"user","content":[…]}]}}
    /// ```
    fn cwd(&self, line: Raw) -> Option<Text<'static>> {
        let [set, directories] = find_members(line, ["$set", "directories"]);
        let first_directory = directories.and_then(|list| list.items().next());
        if let Some(cwd) = first_directory.and_then(Raw::text) {
            return Some(cwd.into_owned());
        }
        let message = match set {
            Some(set) => set.get("messages")?.items().next()?,
            None => line,
        };
        find_cwd_in_context(message)
    }

    fn sub_agent_folder(&self, session: &Path, id: &str) -> Option<PathBuf> {
        Some(session.parent()?.join(id))
    }

    /// The directory of a project contains a file with the path of the project.
    fn project_file(&self, path: &Path) -> Option<PathBuf> {
        let mut folders = path.ancestors();
        let chats =
            folders.find(|folder| folder.file_name().is_some_and(|name| name == CHATS_FOLDER))?;
        Some(chats.parent()?.join(".project_root"))
    }

    fn time_ms(&self, line: Raw) -> Option<i64> {
        let [timestamp, start, set] = find_members(line, ["timestamp", "startTime", "$set"]);
        let updated = set.and_then(|set| set.get("lastUpdated"));
        parse_time_ms(timestamp.or(start).or(updated))
    }

    /// The name of a file is `session-TIME-ID`, with only the first eight digits of the id.
    fn id_in_file_name(&self, path: &Path) -> Option<String> {
        let stem = path.file_stem()?.to_str()?;
        let (_, id) = stem.strip_prefix("session-")?.rsplit_once('-')?;
        Some(id.to_owned())
    }

    fn has_id_in_file_name(&self, path: &Path) -> bool {
        self.id_in_file_name(path).is_none()
    }

    fn new_reader<'o>(
        &self,
        _source: &'o dyn ReadAt,
        _layout: &SourceLayout,
        _earlier: &EarlierImports,
        writer: EntryWriter<'o>,
    ) -> io::Result<Box<dyn SourceReader<'o> + 'o>> {
        Ok(Box::new(GeminiReader::new(writer)))
    }
}

/// Appends a JSON value as a line. Line breaks in the value become spaces: they are only between
/// its tokens, because a string has them as escapes.
fn push_line(lines: &mut Vec<u8>, value: &[u8]) {
    for &byte in value {
        let is_line_break = matches!(byte, b'\n' | b'\r');
        lines.push(if is_line_break { b' ' } else { byte });
    }
    lines.push(b'\n');
}

/// Returns the working directory from the message in which Gemini CLI describes the project to the
/// model. `None` for any other message. The text of the message is, for example:
///
/// ```text
/// <session_context>
/// …
/// - **Workspace Directories:**
///   - /home/ann/work
/// ```
fn find_cwd_in_context(message: Raw) -> Option<Text<'static>> {
    if !member_is(message, "type", "user") {
        return None;
    }
    let parts = read_parts(message.get("content")?);
    let Some(Part::Text { text, .. }) = parts.first() else {
        return None;
    };
    if !is_session_context(text) {
        return None;
    }
    let text = text.to_string_lossy();
    // The heading depends on the version. The first directory follows it directly.
    let (_, folder_and_rest) = FOLDER_HEADINGS
        .iter()
        .find_map(|heading| text.split_once(heading))?;
    let folder = folder_and_rest.lines().next()?.trim();
    if folder.is_empty() {
        return None;
    }
    Some(Text::from(folder.to_owned()))
}
