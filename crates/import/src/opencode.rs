//! Reads sessions of OpenCode: the document that `opencode export` prints, and the directory
//! `storage`, in which earlier versions kept each message and each part in a file of its own.
//!
//! Both are converted to lines ([`document`]): one for the session, and one for each message with
//! its parts. A message of the assistant has one response, with the results of its calls. In
//! earlier versions, a message has several responses, which are called steps.
//!
//! A session has no branches. A fork is another session with copies of the messages. A revert hides
//! the last messages until the user writes the next message, which removes them.

mod document;
pub mod format;
mod layout;
mod parts;
mod response;
mod tools;
mod usage;
mod user;

use super::parts::kept_line_members;
use super::writer::{EntryDraft, EntryWriter, NodeIx};
use super::{Origin, SourceReader};
use foldhash::HashMap;
use parts::OpenCodeMessage;
use pisess_core::session::content::member_is;
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

/// The reader of a source, with the state after the lines that were read so far.
#[derive(Default)]
pub struct OpenCodeReader<'o> {
    writer: EntryWriter<'o>,
    /// The leaf.
    leaf: Option<NodeIx>,
    /// Where each message is, by its id.
    places: HashMap<Text<'static>, MessagePlace>,
    /// The ids of the messages of the user that ask for a compaction, each with the id of the first
    /// message that the compaction keeps; `None` if it keeps none.
    compaction_requests: HashMap<Text<'static>, Option<Text<'static>>>,
    /// The model of the last turn, and its provider.
    model: Option<ModelName>,
    thinking_level: Option<Text<'static>>,
    /// The number of tokens in the context, as of the last response.
    context_tokens: f64,
    time_ms: i64,
}

/// Where the entries of a message are.
#[derive(Clone, Copy)]
struct MessagePlace {
    /// The leaf before the message.
    leaf_before: Option<NodeIx>,
    /// The leaf after the message; the same if it became no entry.
    leaf_after: Option<NodeIx>,
}

/// A model, as a message names it.
#[derive(Clone, PartialEq, Eq)]
struct ModelName {
    provider: Text<'static>,
    model: Text<'static>,
}

impl<'o> OpenCodeReader<'o> {
    /// Makes a reader of a session with this title; `None` if it has none.
    fn new(title: Option<Text<'static>>, mut writer: EntryWriter<'o>) -> Self {
        writer.name = title;
        OpenCodeReader {
            writer,
            ..OpenCodeReader::default()
        }
    }
}

impl<'o> SourceReader<'o> for OpenCodeReader<'o> {
    /// Reads a line that was made from a document: the session, a message, or at the end what the
    /// user has reverted.
    fn read_object(&mut self, offset: u64, value: Outlined) -> io::Result<()> {
        let raw = value.raw();
        if let Some(revert) = raw.get("revert") {
            return self.revert(offset, revert);
        }
        if let Some(message) = OpenCodeMessage::read(offset, raw) {
            return self.read_message(&message);
        }

        self.time_ms = format::line_time_ms(raw).unwrap_or(self.time_ms);
        match raw.get(Origin::OpenCode.name()) {
            // The first line.
            Some(session) => self.add_session(offset, session),
            None => self.add_kept(offset, "unknown", raw.bytes()),
        }
    }

    fn add_custom(&mut self, offset: u64, members: Object) -> io::Result<()> {
        self.add_entry(offset, "custom", members)
    }

    fn add_record(&mut self, draft: EntryDraft) -> io::Result<()> {
        self.leaf = Some(self.writer.append_record(self.leaf, draft)?);
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<EntryWriter<'o>> {
        Ok(self.writer)
    }
}

impl OpenCodeReader<'_> {
    /// Adds the entries of a message, which may be several, or none, and remembers their place: a
    /// later revert or compaction may name the message by its id.
    fn read_message(&mut self, message: &OpenCodeMessage) -> io::Result<()> {
        self.time_ms = message.created_ms.unwrap_or(self.time_ms);
        let leaf_before = self.leaf;
        if member_is(message.info, "role", "user") {
            self.add_user_message(message)?;
        } else if let Some(request) = self.find_summarized_request(message) {
            self.add_compaction(message, request)?;
        } else {
            self.add_responses(message)?;
        }
        let place = MessagePlace {
            leaf_before,
            leaf_after: self.leaf,
        };
        if let Some(id) = message.id() {
            self.places.insert(id.into_owned(), place);
        }
        Ok(())
    }

    /// Adds an entry below the leaf, with the time of the last line that had one.
    fn add_entry(&mut self, offset: u64, kind: &'static str, members: Object) -> io::Result<()> {
        let draft = EntryDraft {
            offset,
            time_ms: self.time_ms,
            kind,
            members,
        };
        self.leaf = Some(self.writer.add_child(self.leaf, draft)?);
        Ok(())
    }

    /// Adds the line of the session as a custom entry, and the title of the session if it has one.
    fn add_session(&mut self, offset: u64, session: Raw) -> io::Result<()> {
        self.add_kept(offset, "session", session.bytes())?;
        match self.writer.name.clone() {
            Some(name) => {
                let members = Object::new().text("name", &name);
                self.add_entry(offset, "session_info", members)
            }
            None => Ok(()),
        }
    }

    /// Keeps what has no counterpart as the custom entry `opencode.KIND`.
    fn add_kept(&mut self, offset: u64, kind: &str, data: &[u8]) -> io::Result<()> {
        let members = kept_line_members(Origin::OpenCode.name(), kind, data);
        self.add_entry(offset, "custom", members)
    }

    /// Goes back to before the message to which the user reverted the session. OpenCode hides that
    /// message and those after it, but the file still has them.
    fn revert(&mut self, offset: u64, revert: Raw) -> io::Result<()> {
        if let Some(id) = revert.get_text("messageID")
            && let Some(place) = self.places.get(&id)
        {
            self.leaf = place.leaf_before;
        }
        self.add_kept(offset, "revert", revert.bytes())
    }

    /// Returns the id of the first entry of a message; `None` if the message is unknown, or became
    /// no entry.
    fn first_entry_id(&self, message_id: &Text) -> Option<String> {
        let place = self.places.get(message_id)?;
        let last = place.leaf_after?;
        let first = self.writer.first_after(place.leaf_before, last)?;
        Some(self.writer.entry_id(first))
    }
}
