//! Sessions of other agents, converted: Claude Code and Codex.
//!
//! ```text
//! lines of the source ── claude, codex ──> drafts ── writer ──> entries of pi or oh-my-pi
//! ```
//!
//! A reader decides what a line becomes; the writer gives ids, parents and times. Both see one line
//! at a time. What an import writes depends only on the lines that it reads and on where earlier
//! imports ended, so that it can be continued when the source has grown. Lines without a
//! counterpart become custom entries, and what a message has no place for is a member of its entry,
//! named after the source. The last entry of an import records what was read ([`record`]).

mod calls;
mod claude;
mod codex;
mod convert;
mod detect;
mod identity;
pub mod joined;
mod lines;
mod native;
mod parts;
pub mod record;
mod returned;
mod survey;
mod writer;

pub use convert::{EarlierImports, ImportTarget, emit_new_entries, write_converted_session};
pub use joined::{HistoryBase, JoinedSource, RolloutName};
pub use native::{NativeTarget, TitleList, native_file_path, title_list, write_native_session};
pub use record::ImportRecord;
pub use survey::{SubAgent, Survey, sha256_hex, survey_source};

use joined::SourceLayout;
use pisess_json::Raw;
use pisess_json::write::Object;
use pisess_store::ReadAt;
use std::io;
use writer::{EntryDraft, EntryWriter};

/// An agent whose sessions can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Origin {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
}

/// Makes entries of the lines of a source.
trait SourceReader<'o> {
    /// Reads a line that is an object.
    fn read_object(&mut self, offset: u64, raw: Raw) -> io::Result<()>;

    /// Adds a custom entry of the line at `offset`, with these members.
    fn add_custom(&mut self, offset: u64, members: Object) -> io::Result<()>;

    /// Adds the record of an import below the leaf, so that it is where the session continues.
    fn add_record(&mut self, draft: EntryDraft) -> io::Result<()>;

    /// Adds the entries that are held back, and gives the writer back.
    fn finish(self: Box<Self>) -> io::Result<EntryWriter<'o>>;
}

impl Origin {
    /// The name that options, ids and types of entries have.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Claude => "claude",
            Origin::Codex => "codex",
        }
    }

    /// The name for people.
    pub fn display_name(self) -> &'static str {
        match self {
            Origin::Claude => "Claude Code",
            Origin::Codex => "Codex",
        }
    }

    /// Makes the reader for the lines of a source. `earlier` are the imports of the source so far.
    fn new_reader<'o>(
        self,
        source: &dyn ReadAt,
        layout: &SourceLayout,
        earlier: &EarlierImports,
        writer: EntryWriter<'o>,
    ) -> io::Result<Box<dyn SourceReader<'o> + 'o>> {
        match self {
            Origin::Claude => Ok(Box::new(claude::ClaudeReader::new(
                writer,
                earlier.merged_from,
            ))),
            Origin::Codex => Ok(Box::new(codex::CodexReader::new(
                source, layout, earlier, writer,
            )?)),
        }
    }
}
