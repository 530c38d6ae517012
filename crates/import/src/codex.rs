//! Reads sessions of Codex: `~/.codex/sessions/**/rollout-*.jsonl`.
//!
//! A file is a log: each line follows the one before it. It contains items, which are sent to the
//! model, and events, which the user saw. Most events repeat an item. An event becomes a message
//! only if no item has its text.
//!
//! A rollback goes back to before a turn, so that what follows is on another branch. The tokens of
//! a response come after it, so its message is held until then.
//!
//! Files written before September 2025 have only items, without a time and a type of the line.

mod compaction;
mod content;
mod events;

pub mod format;
mod history;
mod items;
mod junctions;
mod line;
mod outputs;
mod reply;
mod tools;
mod usage;
pub mod write;

use super::ahead::for_each_object_ahead;
use super::joined::{Junction, SourceLayout};
use super::lines::ReadExtent;
use super::parts::{kept_line_members, non_empty_text, parse_time_ms};
use super::writer::{EntryDraft, EntryWriter, NodeIx};
use super::{EarlierImports, Origin, SourceReader};
use crate::returned::{ReturnedLine, lacks_content, restore_content};
use content::{item_content, item_fingerprints};
use foldhash::{HashMap, HashSet};
use history::History;
use junctions::{Bookmark, places_of_junctions};
use line::{CodexLine, LineKind};
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_store::ReadAt;
use reply::HeldReply;
use std::io;

const PROVIDER: &str = "openai-codex";
/// The thinking levels of pi that Codex has, too.
const THINKING_LEVELS: [&str; 5] = ["minimal", "low", "medium", "high", "xhigh"];

/// The items of a source. An event becomes a message only if no item repeats it, and the item may
/// come later: then the rest of the source is searched for it.
#[derive(Default)]
struct Items<'o> {
    /// The source; `None` once all of it was searched.
    unsearched: Option<&'o dyn ReadAt>,
    /// For each fingerprint (see [`content::item_fingerprints`]), the offset of its first item.
    first_offsets: HashMap<u64, u64>,
}

impl Items<'_> {
    /// Adds the item of a line that was read. Does nothing once the whole source was searched,
    /// which has found the item already.
    fn add_line(&mut self, line: &CodexLine) {
        if self.unsearched.is_some() {
            self.add_fingerprints(line);
        }
    }

    /// Adds the fingerprints of the item in a line. Only the first item of each fingerprint counts.
    fn add_fingerprints(&mut self, line: &CodexLine) {
        if line.kind != LineKind::Item {
            return;
        }
        for fingerprint in item_fingerprints(line.payload) {
            self.first_offsets.entry(fingerprint).or_insert(line.offset);
        }
    }

    /// Returns the offset of the first item in the whole source that has this fingerprint; `None`
    /// if no item has it.
    fn find(&mut self, fingerprint: u64) -> io::Result<Option<u64>> {
        if let Some(offset) = self.first_offsets.get(&fingerprint) {
            return Ok(Some(*offset));
        }
        // An item may come after the event that repeats it. So for the first event without an item
        // before it, the rest of the source is searched.
        self.search_source()?;
        Ok(self.first_offsets.get(&fingerprint).copied())
    }

    /// Adds the items of the whole source. Does nothing the second time.
    fn search_source(&mut self) -> io::Result<()> {
        let Some(source) = self.unsearched.take() else {
            return Ok(());
        };
        let mut extent = ReadExtent::default();
        for_each_object_ahead(source, source.len(), &mut extent, |line, value| {
            if let Some(value) = value {
                self.add_fingerprints(&CodexLine::new(line.span.start, value));
            }
            Ok(())
        })
    }
}

/// The reader of a source, with the state after the lines that were read so far.
#[derive(Default)]
pub struct CodexReader<'o> {
    writer: EntryWriter<'o>,
    items: Items<'o>,
    /// The junctions of files of the source (see [`Junction`]) that were not reached yet, the next
    /// one last.
    unreached_junctions: Vec<Junction>,
    /// The offsets to which junctions go back, as far as they were not reached yet, the next one
    /// last.
    unread_places: Vec<u64>,
    /// The state at each of these offsets that was reached, in their order.
    bookmarks: Vec<Bookmark>,
    /// Lines before this offset were written for another session, whose name this one does not get.
    own_start: u64,
    /// The earlier imports. An event that one of them added was compared with items before its end
    /// only.
    earlier: EarlierImports,
    /// The leaf.
    leaf: Option<NodeIx>,
    /// The turns on the path.
    turns_on_path: Vec<TurnStart>,
    history: History,
    held_reply: Option<HeldReply>,
    /// The ids of the calls without a result in the reply that was added last. If an import ended
    /// in the middle of a response, the rest of the response is held until these calls have
    /// results: providers refuse a message between a call and its result.
    open_calls: HashSet<Box<[u8]>>,
    model: Text<'static>,
    thinking_level: Option<Text<'static>>,
    /// The name of the tool of each call, by the id of the call.
    tool_names: HashMap<Box<[u8]>, Text<'static>>,
    /// The fingerprints of events that became messages. An item with the same text may come in a
    /// later import, and must not become a second message.
    event_fingerprints: HashSet<u64>,
    /// The ids of the calls whose result was read.
    answered_calls: HashSet<Box<[u8]>>,
    /// The tokens of all requests, as reported last.
    total_usage: Option<Vec<u8>>,
    /// The number of tokens in the context, as reported last.
    context_tokens: f64,
    time_ms: i64,
}

/// The state before a turn, to which a rollback goes back.
#[derive(Clone, Copy)]
struct TurnStart {
    /// The leaf before the turn.
    leaf_before: Option<NodeIx>,
    /// [`History::last_user_text`] before the turn.
    last_user_text: Option<usize>,
}

/// What became of a line.
enum Conversion {
    /// It became one or more entries.
    Converted,
    /// It has no counterpart, or repeats another line. The caller keeps the line itself as a custom
    /// entry.
    Unconverted,
}

impl<'o> CodexReader<'o> {
    /// Returns a reader of the source, before its first line. `earlier` are the earlier imports of
    /// the source.
    pub fn new(
        source: &'o dyn ReadAt,
        layout: &SourceLayout,
        earlier: &EarlierImports,
        writer: EntryWriter<'o>,
    ) -> Self {
        // The reader takes junctions from the end of the list, so the first one is last.
        let mut unreached_junctions = layout.junctions.clone();
        unreached_junctions.reverse();
        CodexReader {
            writer,
            items: Items {
                unsearched: Some(source),
                first_offsets: HashMap::default(),
            },
            unreached_junctions,
            unread_places: places_of_junctions(&layout.junctions),
            own_start: layout.own_start,
            earlier: earlier.clone(),
            model: Text::from("codex"),
            ..CodexReader::default()
        }
    }
}

impl<'o> SourceReader<'o> for CodexReader<'o> {
    /// Adds the entries of a line by its kind. A line that has no counterpart, or only repeats
    /// another one, is kept as a custom entry. A line that pisess wrote becomes the entry that is
    /// stored in it.
    fn read_object(&mut self, offset: u64, value: Outlined) -> io::Result<()> {
        // Before anything else: the line may continue at an earlier place than the line before it.
        self.pass_junctions(offset)?;
        // A line without a time keeps the time of the line before it.
        if let Some(time_ms) = parse_time_ms(value.get_raw("timestamp")) {
            self.time_ms = time_ms;
        }
        let line = CodexLine::new(offset, value);
        self.items.add_line(&line);
        if let Some(returned) = ReturnedLine::read(value) {
            return self.read_returned_line(&line, &returned);
        }
        match self.convert_line(&line)? {
            Conversion::Converted => Ok(()),
            Conversion::Unconverted => self.keep_line(&line),
        }
    }

    fn add_custom(&mut self, offset: u64, members: Object) -> io::Result<()> {
        self.add_entry(offset, "custom", members)
    }

    fn add_record(&mut self, draft: EntryDraft) -> io::Result<()> {
        self.add_held_at_end()?;
        self.leaf = Some(self.writer.append_record(self.leaf, draft)?);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<EntryWriter<'o>> {
        self.release_reply()?;
        Ok(self.writer)
    }
}

impl CodexReader<'_> {
    /// Adds an entry below the leaf. While a reply is held back, the entry is held back with it,
    /// and added after it.
    fn add_entry(&mut self, offset: u64, kind: &'static str, members: Object) -> io::Result<()> {
        self.add_draft(EntryDraft {
            offset,
            time_ms: self.time_ms,
            kind,
            members,
        })
    }

    /// Adds the entries of a line that Codex wrote, by its kind.
    fn convert_line(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        match line.kind {
            LineKind::Item => self.add_item(line),
            LineKind::Event => self.add_event(line),
            LineKind::Settings => {
                self.add_settings(line)?;
                // Most settings have no counterpart, so the line is kept in any case.
                Ok(Conversion::Unconverted)
            }
            LineKind::Usage => self.add_usage_record(line),
            LineKind::Compaction => self.add_compaction(line),
            LineKind::Other => Ok(Conversion::Unconverted),
        }
    }

    /// Adds a drafted entry as [`add_entry`](Self::add_entry) does.
    fn add_draft(&mut self, draft: EntryDraft) -> io::Result<()> {
        match &mut self.held_reply {
            Some(held) => held.followers.push(draft),
            None => self.leaf = Some(self.writer.add_child(self.leaf, draft)?),
        }
        Ok(())
    }

    /// Reads a line that pisess wrote when it made a session for Codex. Adds the entry of pi that
    /// is stored in the line. A line without an entry is skipped: it is, for example, an event that
    /// repeats an item.
    fn read_returned_line(&mut self, line: &CodexLine, returned: &ReturnedLine) -> io::Result<()> {
        self.release_reply()?;
        match returned.entry() {
            Some(entry) => self.add_returned_entry(line, entry),
            None => Ok(()),
        }
    }

    /// Adds the entry of pi that pisess stored in a line. If it is a message of the user, it begins
    /// a turn.
    fn add_returned_entry(&mut self, line: &CodexLine, entry: Outlined) -> io::Result<()> {
        // The entry was stored without its content if the item in the line has the same one.
        let content_of_item = if lacks_content(entry) {
            let buffer = self.writer.take_buffer(line.value.bytes().len());
            item_content(line.payload, buffer)
        } else {
            None
        };
        let restored = restore_content(entry, content_of_item.as_deref());

        let message = entry.get("message").unwrap_or(Raw::NULL.into());
        let [role, content_of_entry] = message.get_all(["role", "content"]);
        let is_user_message = role.is_some_and(|role| role.is("user"));
        if line.kind == LineKind::Item && is_user_message {
            let content = if restored.is_some() {
                content_of_item.as_deref().map(Raw::from_checked)
            } else {
                content_of_entry.map(Outlined::raw)
            };
            self.begin_turn(content.unwrap_or(Raw::NULL));
        }
        self.remember_settings(entry, message);
        self.leaf = Some(self.writer.add_returned(line.offset, entry, restored)?);
        if let Some(content) = content_of_item {
            self.writer.keep_buffer(content);
        }
        Ok(())
    }

    /// Records that a turn begins with a message of the user. Must be called before the entry of
    /// the message is added: a rollback goes back to the state before it.
    fn begin_turn(&mut self, content: Raw) {
        self.turns_on_path.push(TurnStart {
            leaf_before: self.leaf,
            last_user_text: self.history.last_user_text,
        });
        self.history.add_user_text(content);
    }

    /// Remembers the name, the model and the thinking level that an entry of pi sets. Later lines
    /// are compared with them, because only a change becomes an entry. `message` is the message of
    /// the entry, if it has one: a reply names its model.
    ///
    /// ```text
    /// {"type":"session_info","name":"Parser"}
    /// {"type":"model_change","modelId":"gpt-5"}
    /// {"type":"thinking_level_change","thinkingLevel":"high"}
    /// {"type":"message","message":{"model":"gpt-5"}}
    /// ```
    fn remember_settings(&mut self, entry: Outlined, message: Outlined) {
        let names = ["type", "name", "modelId", "thinkingLevel"];
        let [kind, name, model, level] = entry.get_all(names);
        if kind.is_some_and(|kind| kind.is("session_info")) {
            // Without a name, the entry removes the name that the session had.
            let new_name = name
                .and_then(|name| name.text())
                .filter(|name| !name.is_blank());
            self.writer.name = new_name.map(Text::into_owned);
        }
        if let Some(level) = level.and_then(|level| level.text()) {
            self.thinking_level = Some(level.into_owned());
        }

        let model = model.or_else(|| message.get("model"));
        let Some(model) = model.and_then(|model| model.text()) else {
            return;
        };
        // Most entries have the model of the entry before, which need not be copied again.
        if self.model != model {
            self.model = model.into_owned();
        }
    }

    /// Keeps a line without a counterpart as a custom entry.
    fn keep_line(&mut self, line: &CodexLine) -> io::Result<()> {
        let draft = self.draft_kept_line(line);
        self.add_draft(draft)
    }

    /// Drafts the custom entry that keeps a line. Its name has the type of the line, and the type
    /// of the payload if that differs, as in `event_msg.task_started`.
    fn draft_kept_line(&self, line: &CodexLine) -> EntryDraft {
        let line_type = non_empty_text(line.value, "type").unwrap_or_else(|| Text::from("line"));
        let mut name = line_type.to_string();
        if let Some(payload_type) = non_empty_text(line.payload, "type")
            && payload_type != line_type
        {
            name = format!("{line_type}.{payload_type}");
        }
        EntryDraft {
            offset: line.offset,
            time_ms: self.time_ms,
            kind: "custom",
            members: kept_line_members(Origin::Codex.name(), &name, line.value.bytes()),
        }
    }

    /// Completes the members of an entry with a message other than a reply, which
    /// [`EntryWriter::begin_message`] has begun. `message` lacks only its time. `converted_keys`
    /// are the keys of the payload whose members are in the message; other members are kept as
    /// `codex`:
    ///
    /// ```text
    /// "message":{"role":"user","content":"Hi", … ,"timestamp":1757664000000},"codex":{…}
    /// ```
    fn complete_message(
        &self,
        line: &CodexLine,
        message: Object,
        converted_keys: &[&str],
    ) -> Object {
        let members = message.number("timestamp", self.time_ms as f64).close();
        let in_codex = members.open("codex");
        line.add_unconverted_members(in_codex, converted_keys)
            .close()
    }

    /// Adds the settings of a turn, as far as they differ from those before.
    fn add_settings(&mut self, line: &CodexLine) -> io::Result<()> {
        // The held reply was made with the settings before.
        self.release_reply()?;
        self.add_model_change(line)?;
        self.add_thinking_level_change(line)
    }

    /// Adds an entry for the model of a turn, if it is another one than before.
    fn add_model_change(&mut self, line: &CodexLine) -> io::Result<()> {
        let Some(model) = non_empty_text(line.payload, "model") else {
            return Ok(());
        };
        if model == self.model {
            return Ok(());
        }
        self.model = model.into_owned();
        let members = Object::new()
            .str("provider", PROVIDER)
            .text("modelId", &self.model);
        self.add_entry(line.offset, "model_change", members)
    }

    /// Adds an entry for the thinking level of a turn, if it is another one than before. A level
    /// that pi does not have is left out.
    fn add_thinking_level_change(&mut self, line: &CodexLine) -> io::Result<()> {
        let Some(level) = non_empty_text(line.payload, "effort") else {
            return Ok(());
        };
        let is_level_of_pi = THINKING_LEVELS.iter().any(|known| level == **known);
        if !is_level_of_pi || self.thinking_level.as_ref() == Some(&level) {
            return Ok(());
        }
        let members = Object::new().text("thinkingLevel", &level);
        self.thinking_level = Some(level.into_owned());
        self.add_entry(line.offset, "thinking_level_change", members)
    }
}
