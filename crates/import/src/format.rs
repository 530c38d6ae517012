//! What has to be known of an agent whose sessions are read: where they are, how they are
//! recognized, and how their lines become entries.
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

/// What is constant of an agent.
#[derive(Debug)]
pub struct AgentFacts {
    /// The name that options, ids and types of entries have.
    pub name: &'static str,
    /// The name for people.
    pub display_name: &'static str,
    /// Where it keeps its sessions.
    pub store: StoreLayout,
    /// The program, and the word before the id of the session that it is to continue.
    pub resume_command: [&'static str; 2],
}

/// Where an agent keeps its sessions.
#[derive(Debug)]
pub struct StoreLayout {
    /// The environment variable that moves the agent's directory.
    pub variable: &'static str,
    /// The agent's directory below the one in the variable; empty if they are the same.
    pub below_variable: &'static str,
    /// The agent's directory below the home directory, if the variable is not set.
    pub below_home: &'static str,
    /// The directories in the agent's directory that contain sessions, at any depth.
    pub subfolders: &'static [&'static str],
}

impl StoreLayout {
    /// Returns the first directory with sessions as people write it, if the variable is not set.
    pub fn usual_folder(&self) -> String {
        let subfolder = self.subfolders.first().copied().unwrap_or_default();
        format!("~/{}/{subfolder}", self.below_home)
    }
}

/// Who wrote a source, so far as its lines show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum SourceAuthor {
    /// They do not show it yet.
    #[default]
    Unknown,
    /// The agent itself.
    MainAgent,
    /// A sub-agent, with its id.
    SubAgent(String),
}

/// How an agent writes sessions. The functions that get a line are called with each value of a
/// source in turn, until one answers.
pub trait SourceFormat: Sync {
    /// Returns what is constant.
    fn facts(&self) -> &'static AgentFacts;

    /// Whether the agent writes such lines. Agents are asked in the order of
    /// [`Origin`](crate::Origin), and the first line that one of them writes decides.
    fn writes_line(&self, line: Raw) -> bool;

    /// Whether a file that begins so is one JSON object on a single line. Objects over several lines
    /// are recognized without this.
    fn begins_document(&self, _start: &[u8]) -> bool {
        false
    }

    /// Whether a file below the agent's directory is a session, by its name: one that does not end
    /// in `.jsonl`.
    fn is_document_name(&self, _name: &str) -> bool {
        false
    }

    /// Converts a file that is one JSON object over several lines to lines, of which the first
    /// ones stay the same if the session grows. `None` if the agent does not write such a file.
    fn document_lines(&self, _document: Raw) -> Option<Vec<u8>> {
        None
    }

    /// Whether a file is one JSON object that [`open_document`](Self::open_document) reads.
    fn is_document(&self, _file: &dyn ReadAt) -> io::Result<bool> {
        Ok(false)
    }

    /// Does the same as [`document_lines`](Self::document_lines) for a file that is too long to be
    /// read as a whole.
    fn open_document(&self, _file: &dyn ReadAt) -> io::Result<Option<JoinedSource>> {
        Ok(None)
    }

    /// Returns where else the agent may have sessions, for the hint that none were found.
    fn other_place(&self) -> Option<&'static str> {
        None
    }

    /// Returns the id of the session, if the line names it. For a sub-agent, that is the session
    /// that started it.
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
    /// name it.
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

    /// Returns the directory with the sub-agents of a session, if they have files of their own. `id`
    /// is that of the session.
    fn sub_agent_folder(&self, _session: &Path, _id: &str) -> Option<PathBuf> {
        None
    }

    /// Returns the id of the session from the name of its file, or the start of it, if it is not the
    /// whole name without the extension.
    fn id_in_file_name(&self, _path: &Path) -> Option<String> {
        None
    }

    /// Whether the name of a file has the whole id of the session. Otherwise, the file has to be
    /// read for it.
    fn has_id_in_file_name(&self, _path: &Path) -> bool {
        true
    }

    /// Whether a file, by its name without the extension, is the log of an agent that only repeats
    /// a conversation. Such a log is neither listed nor imported.
    fn is_internal_log(&self, _file_stem: &str) -> bool {
        false
    }

    /// Makes the reader for the lines of a source. `earlier` are the imports of the source so far.
    fn new_reader<'o>(
        &self,
        source: &dyn ReadAt,
        layout: &SourceLayout,
        earlier: &EarlierImports,
        writer: EntryWriter<'o>,
    ) -> io::Result<Box<dyn SourceReader<'o> + 'o>>;

    /// Returns how sessions of pi are written for the agent; `None` if they cannot be.
    fn native(&self) -> Option<&'static dyn NativeFormat> {
        None
    }
}
