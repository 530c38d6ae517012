//! How an agent's sessions are found, recognized, and read.
//!
//! An agent is a module with a [`SourceFormat`], and a variant of [`Origin`](crate::Origin).
//! Nothing else in this crate or in the command line asks which agent it is.

use crate::convert::EarlierImports;
use crate::joined::{JoinedSource, SourceLayout};
use crate::native::NativeFormat;
use crate::parts::parse_time_ms;
use crate::writer::EntryWriter;
use crate::{SourceReader, SubAgent};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::io;
use std::path::{Path, PathBuf};

/// The names, places and commands of an agent.
#[derive(Debug)]
pub struct AgentFacts {
    /// The name in options, ids and types of entries, such as `claude`.
    pub name: &'static str,
    /// The name for people, such as `Claude Code`.
    pub display_name: &'static str,
    /// Where it keeps its sessions.
    pub store: StoreLayout,
    /// The command that continues a session, without the id of the session: `claude --resume`.
    pub resume_command: [&'static str; 2],
}

/// Where an agent keeps its sessions.
#[derive(Debug)]
pub struct StoreLayout {
    /// The environment variable that moves the agent's directory. It has the path of that
    /// directory, or of one above it.
    pub variable: &'static str,
    /// The agent's directory below the one in the variable; empty if they are the same.
    pub below_variable: &'static str,
    /// The agent's directory below the home directory, if the variable is not set.
    pub below_home: &'static str,
    /// The directories in the agent's directory that contain sessions, at any depth.
    pub subfolders: &'static [&'static str],
}

impl StoreLayout {
    /// Returns the first directory with sessions for messages, such as `~/.claude/projects`. The
    /// environment variable is not considered.
    pub fn usual_folder(&self) -> String {
        let subfolder = self.subfolders.first().copied().unwrap_or_default();
        format!("~/{}/{subfolder}", self.below_home)
    }
}

/// Who wrote a source, as far as its lines show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SourceAuthor {
    /// The lines so far do not show it.
    #[default]
    Unknown,
    /// The agent itself.
    MainAgent,
    /// A sub-agent, with its id.
    SubAgent(String),
}

/// How an agent writes sessions.
///
/// The functions that get a line are called with the lines of a source, in order, until one of them
/// returns an answer.
pub trait SourceFormat: Sync {
    /// Returns the names, places and commands of the agent.
    fn facts(&self) -> &'static AgentFacts;

    /// Whether the agent writes such lines. For each line, the agents are asked in the order of
    /// [`Origin`](crate::Origin). The first agent that returns `true` wrote the source.
    fn writes_line(&self, line: Raw) -> bool;

    /// Whether a file that begins with `start` is one JSON object on a single line. Objects over
    /// several lines are recognized without this function.
    fn begins_document(&self, _start: &[u8]) -> bool {
        false
    }

    /// Whether a file in the agent's directory is a session, by its name. The function is only for
    /// names that do not end in `.jsonl`.
    fn is_document_name(&self, _name: &str) -> bool {
        false
    }

    /// Converts a file that is a single JSON object to lines. If the session grows, the lines of
    /// the longer session must begin with the lines of the shorter one. `None` if the agent does
    /// not write such a file.
    fn document_lines(&self, _document: Raw) -> Option<Vec<u8>> {
        None
    }

    /// Whether a file is one JSON object that [`open_document`](Self::open_document) reads.
    fn is_document(&self, _file: &dyn ReadAt) -> io::Result<bool> {
        Ok(false)
    }

    /// Converts a file as [`document_lines`](Self::document_lines) does, without reading it into
    /// memory as a whole.
    fn open_document(&self, _file: &dyn ReadAt) -> io::Result<Option<JoinedSource>> {
        Ok(None)
    }

    /// Returns where else the agent may have sessions, for the message that none were found.
    fn other_place(&self) -> Option<&'static str> {
        None
    }

    /// Returns the id of the session, if the line names it. In the source of a sub-agent, this is
    /// the session that started the sub-agent.
    fn session_id(&self, line: Raw) -> Option<String>;

    /// Returns who wrote the source, if the line shows it.
    fn author(&self, line: Raw) -> SourceAuthor;

    /// Returns the sub-agent that wrote a file, if its path shows one.
    fn sub_agent_of_path(&self, _path: &Path) -> Option<SubAgent> {
        None
    }

    /// Returns the working directory, if the line names it.
    fn cwd(&self, line: Raw) -> Option<Text<'static>>;

    /// Returns the path of a file whose text is the working directory, for a session that does not
    /// name the working directory itself.
    fn project_file(&self, _path: &Path) -> Option<PathBuf> {
        None
    }

    /// Returns the time of a line in milliseconds since 1970.
    fn time_ms(&self, line: Raw) -> Option<i64> {
        parse_time_ms(line.get("timestamp"))
    }

    /// Returns the id of the file with the turns before the first line, if there is one.
    fn base_file_id(&self, _source: &dyn ReadAt) -> io::Result<Option<String>> {
        Ok(None)
    }

    /// Returns the directory with the files of a session's sub-agents. `None` if they have no files
    /// of their own. `id` is the id of the session.
    fn sub_agent_folder(&self, _session: &Path, _id: &str) -> Option<PathBuf> {
        None
    }

    /// Returns the id of the session from the name of its file, or the start of the id. `None` if
    /// the whole name without the extension is the id.
    fn id_in_file_name(&self, _path: &Path) -> Option<String> {
        None
    }

    /// Whether the name of a file has the whole id of the session. If not, the file must be read to
    /// find the id.
    fn has_id_in_file_name(&self, _path: &Path) -> bool {
        true
    }

    /// Whether a file, by its name without the extension, is the log of an agent that only repeats
    /// a conversation. Such a log is neither listed nor imported.
    fn is_internal_log(&self, _file_stem: &str) -> bool {
        false
    }

    /// Returns the texts that the reader adds to those of the source, as far as a search finds
    /// them. `None` if a search may find other words that are not in the source, for example
    /// because the reader joins texts without a space.
    fn added_texts(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// Whether the reader may join texts without a space because of one of these lines. Asked only
    /// of formats with [`added_texts`](Self::added_texts).
    fn may_join_texts(&self, _lines: &[u8]) -> bool {
        false
    }

    /// Makes the reader for the lines of a source. `earlier` are the imports of the source so far.
    fn new_reader<'o>(
        &self,
        source: &'o dyn ReadAt,
        layout: &SourceLayout,
        earlier: &EarlierImports,
        writer: EntryWriter<'o>,
    ) -> io::Result<Box<dyn SourceReader<'o> + 'o>>;

    /// Returns how sessions of pi are written for the agent; `None` if they cannot be.
    fn native(&self) -> Option<&'static dyn NativeFormat> {
        None
    }
}
