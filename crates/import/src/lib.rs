//! Sessions of other agents, converted: Claude Code, Codex, OpenCode and Gemini CLI.
//!
//! ```text
//! lines of the source ── claude, codex, opencode, gemini ──> drafts ── writer ──> entries of pi or oh-my-pi
//! ```
//!
//! A reader decides what a line becomes. The writer assigns ids, parents and times. Both see one
//! line at a time.
//!
//! What an import writes depends only on the lines that it reads and on where earlier imports
//! ended. So an import can be continued when the source has grown: it repeats the earlier imports
//! without writing, and then writes what is new. The last entry of an import records what was read
//! ([`record`]).
//!
//! A line without a counterpart becomes a custom entry. Members that have no place in a message are
//! kept in a member of its entry that is named after the source, such as `claude`.

mod ahead;
mod calls;
mod claude;
mod codex;
mod convert;
mod detect;
mod format;
mod gemini;
mod identity;
pub mod joined;
mod lines;
mod native;
mod opencode;
mod parts;
mod prefilter;
pub mod record;
mod returned;
mod survey;
#[cfg(all(test, unix))]
#[path = "../../core/src/session/thread_time.rs"]
mod thread_time;
mod writer;

pub use convert::{
    EarlierImports, HashUse, ImportTarget, InPlaceRecord, InPlaceSession, WrittenLines,
    emit_new_entries, write_converted_session, write_head_in_place, write_in_place,
};
pub use detect::{
    has_id_in_file_name, id_in_file_name, is_document_name, is_internal_log, read_document,
    sub_agent_folder,
};
pub use format::{AgentFacts, StoreLayout};
pub use identity::{SourceHead, SubAgent};
pub use joined::{HistoryBase, JoinedSource, RolloutName};
pub use native::{NativeFormat, NativeTarget, TitleList, write_native_session};
pub use prefilter::may_contain;
pub use record::ImportRecord;
pub use survey::{Survey, sha256_hex, survey_source};

use clap::ValueEnum as _;
use format::SourceFormat;
use pisess_json::outline::Outlined;
use pisess_json::write::Object;
use std::io;
use std::path::{Path, PathBuf};
use writer::{EntryDraft, EntryWriter};

/// An agent whose sessions can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Origin {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// OpenCode
    #[value(name = "opencode")]
    OpenCode,
    /// Gemini CLI
    Gemini,
}

/// Makes entries of the lines of a source.
trait SourceReader<'o> {
    /// Reads a line that is an object.
    fn read_object(&mut self, offset: u64, value: Outlined) -> io::Result<()>;

    /// Adds a custom entry of the line at `offset`, with these members.
    fn add_custom(&mut self, offset: u64, members: Object) -> io::Result<()>;

    /// Adds the record of an import below the leaf. The record is the new leaf.
    fn add_record(&mut self, draft: EntryDraft) -> io::Result<()>;

    /// Adds the entries that are still held back, and returns the writer.
    fn finish(self: Box<Self>) -> io::Result<EntryWriter<'o>>;
}

impl Origin {
    /// Returns all agents, in the order in which they are named.
    pub fn all() -> &'static [Origin] {
        Origin::value_variants()
    }

    /// Returns how the agent writes sessions. A new agent is added here, and as a variant.
    fn format(self) -> &'static dyn SourceFormat {
        match self {
            Origin::Claude => &claude::format::ClaudeFormat,
            Origin::Codex => &codex::format::CodexFormat,
            Origin::OpenCode => &opencode::format::OpenCodeFormat,
            Origin::Gemini => &gemini::format::GeminiFormat,
        }
    }

    /// Returns the names, places and commands of the agent.
    pub fn facts(self) -> &'static AgentFacts {
        self.format().facts()
    }

    /// Returns where else the agent may have sessions, for the hint that none were found.
    pub fn other_place(self) -> Option<&'static str> {
        self.format().other_place()
    }

    /// Returns how sessions of pi are written for the agent; `None` if they cannot be.
    pub fn native(self) -> Option<&'static dyn NativeFormat> {
        self.format().native()
    }

    /// Returns the path of a file whose text is the working directory of a session of the agent, if
    /// the session itself does not name it.
    pub fn project_file(self, session: &Path) -> Option<PathBuf> {
        self.format().project_file(session)
    }

    /// Returns the name of the agent in options, ids and types of entries, such as `claude`.
    pub fn name(self) -> &'static str {
        self.facts().name
    }

    /// Returns the name of the agent for people, such as `Claude Code`.
    pub fn display_name(self) -> &'static str {
        self.facts().display_name
    }

    /// Returns the names of all agents for people, with `conjunction` before the last one.
    pub fn names_of_all(conjunction: &str) -> String {
        let mut names: Vec<&str> = Vec::new();
        for origin in Origin::all() {
            names.push(origin.display_name());
        }
        let last = names.pop().unwrap_or_default();
        format!("{} {conjunction} {last}", names.join(", "))
    }
}
