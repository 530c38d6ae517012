//! A line of Claude Code, and the drafts of the entries that it becomes.

use super::ClaudeReader;
use super::attachments::read_attachment;
use super::blocks::{is_of_type, line_content};
use super::injected::{InjectedKind, META_MESSAGE, classify_injected};
use super::parts::part_members;
use crate::Origin;
use crate::parts::{
    add_unconverted_members, custom_message_members, parse_time_ms, unconverted_members,
};
use crate::returned::{RETURNED_KEY, ReturnedLine};
use crate::writer::EntryDraft;
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};

/// A line with the members that decide what becomes of it.
pub(super) struct ClaudeLine<'a> {
    pub(super) offset: u64,
    pub(super) value: Outlined<'a>,
    pub(super) kind: Option<Raw<'a>>,
    pub(super) uuid: Option<Text<'a>>,
    pub(super) parent: Option<Text<'a>>,
    /// Whether it has no member `parentUuid`, not even `null`, as in files made by other programs.
    pub(super) lacks_parent: bool,
    pub(super) message: Option<Outlined<'a>>,
    /// The members of the message that decide what becomes of it.
    pub(super) content: Option<Outlined<'a>>,
    pub(super) model: Option<Outlined<'a>>,
    pub(super) usage: Option<Outlined<'a>>,
    pub(super) stop_reason: Option<Outlined<'a>>,
    /// What pisess wrote into the line, if it wrote the line for Claude Code.
    pub(super) returned: Option<ReturnedLine<'a>>,
    /// The id of the response that it is a part of; `None` if it is not of the type `assistant`.
    pub(super) response_id: Option<Text<'a>>,
    /// Whether Claude Code wrote its message in the name of the user.
    pub(super) is_meta: bool,
    /// Whether its message is the summary of a compaction.
    pub(super) is_compact_summary: bool,
    /// Whether it is on a side chain, the conversation of a sub-agent in the file of its session.
    pub(super) is_sidechain: bool,
    pub(super) time_ms: i64,
    /// Whether the line itself has a time.
    has_time: bool,
}

impl ClaudeLine<'_> {
    /// Sets the time of the line before it in the source, for a line without a time.
    pub(super) fn set_previous_time(&mut self, previous_time_ms: i64) {
        if !self.has_time {
            self.time_ms = previous_time_ms;
        }
    }

    pub(super) fn new_draft(&self, kind: &'static str, members: Object) -> EntryDraft {
        EntryDraft {
            offset: self.offset,
            time_ms: self.time_ms,
            kind,
            members,
        }
    }

    /// Drafts an entry with a message, which
    /// [`begin_message`](crate::writer::EntryWriter::begin_message) has begun. `message` lacks only
    /// its time.
    ///
    /// Whatever has no place in the message is kept in the member `claude` of the entry: the
    /// members of the line except those with `converted_keys`, and as `message` the unconverted
    /// members of the source's message, with `unconverted_blocks` as its content.
    pub(super) fn draft_message(
        &self,
        message: Object,
        converted_keys: &[&str],
        unconverted_blocks: &[Raw],
    ) -> EntryDraft {
        self.draft_response(message, converted_keys, unconverted_blocks, &[])
    }

    /// Drafts an entry as [`draft_message`](Self::draft_message) does, for a message that was
    /// written in several lines. `parts` are the other lines; their members are kept as `parts` in
    /// `claude`. The entry has the time of the last line, at which the message was complete.
    pub(super) fn draft_response(
        &self,
        message: Object,
        converted_keys: &[&str],
        unconverted_blocks: &[Raw],
        parts: &[ClaudeLine],
    ) -> EntryDraft {
        // Closes the member `message`, and opens the member `claude` after it.
        let members = message.number("timestamp", self.time_ms as f64).close();
        let in_claude = members.open("claude");

        let converted_keys = [&["type", "message"], converted_keys].concat();
        let mut in_claude = add_unconverted_members(in_claude, self.value, &converted_keys);
        if let Some(source_message) = self.message {
            let unconverted_message = unconverted_message(source_message, unconverted_blocks);
            if unconverted_message != b"{}" {
                in_claude = in_claude.json("message", &unconverted_message);
            }
        }
        if !parts.is_empty() {
            let part_objects = parts.iter().map(|part| part_members(self, part));
            in_claude = in_claude.json("parts", &array(part_objects));
        }

        let last_part = parts.last().unwrap_or(self);
        EntryDraft {
            time_ms: last_part.time_ms,
            ..self.new_draft("message", in_claude.close())
        }
    }

    /// Returns the kind of a message of the role `user` that Claude Code wrote. `None` if the user
    /// wrote it. `content` is its content as JSON.
    pub(super) fn find_injected_kind(
        &self,
        content: &[u8],
        unconverted_blocks: &[Raw],
    ) -> Option<InjectedKind> {
        // An injected text becomes a custom message, which has no place for these blocks. A message
        // of the user has one, so the message stays as it is.
        if !unconverted_blocks.is_empty() {
            return None;
        }
        if self.is_meta {
            return Some(META_MESSAGE);
        }
        classify_injected(Raw::from_checked(content))
    }

    /// Drafts the custom message for an injected message. The other members of the line are kept as
    /// `claude`.
    pub(super) fn draft_injected(&self, injected: InjectedKind, content: &[u8]) -> EntryDraft {
        let InjectedKind { kind, is_shown } = injected;
        let unconverted = unconverted_members(self.value, &["type", "message", "content"]);
        let members = custom_message_members(Origin::Claude.name(), kind, content, is_shown)
            .object("claude", &unconverted);
        self.new_draft("custom_message", members)
    }
}

impl<'a> ClaudeLine<'a> {
    /// Whether the line has a message and is of this type.
    pub(super) fn is_of_kind(&self, kind: &str) -> bool {
        self.message.is_some() && self.kind.is_some_and(|own| own.is(kind))
    }

    /// Returns the blocks of its message; none if that has only a text.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Outlined<'a>> {
        self.content.unwrap_or(Raw::NULL.into()).items()
    }

    /// Returns the content that an import makes of the message, as JSON in the memory of `buffer`
    /// (see [`line_content`]).
    pub(super) fn converted_content(&self, buffer: Vec<u8>) -> Option<Vec<u8>> {
        let line_type = self.kind.and_then(Raw::text).unwrap_or_default();
        line_content(&line_type.to_string_lossy(), self.message?, buffer)
    }

    pub(super) fn has_results(&self) -> bool {
        self.blocks().any(|block| is_of_type(block, "tool_result"))
    }

    /// Whether the line has an attachment that the model sees.
    pub(super) fn is_attachment(&self) -> bool {
        let Some(kind) = self.kind else {
            return false;
        };
        let may_have_attachment = kind.is("attachment") || kind.is("system");
        may_have_attachment && self.message.is_none() && read_attachment(self.value).is_some()
    }

    /// Whether this line ends the response before it, so that no more lines of the response follow.
    ///
    /// Any line of a response counts as another response. The caller must have handled a line that
    /// continues the same one.
    pub(super) fn ends_response(&self) -> bool {
        if self.is_of_kind("assistant") {
            return true;
        }
        if self.is_of_kind("user") {
            // Claude Code writes results and meta lines between the lines of a response.
            return !self.is_meta && !self.has_results();
        }
        self.is_attachment() || self.announces_compaction()
    }

    pub(super) fn announces_compaction(&self) -> bool {
        let subtype = self.value.get("subtype");
        subtype.is_some_and(|subtype| subtype.is("compact_boundary"))
    }
}

impl ClaudeReader<'_> {
    /// Parses a line. A line without a time gets `previous_time_ms`, the time of the line before it
    /// in the source.
    pub(super) fn parse_line<'a>(
        &self,
        offset: u64,
        value: Outlined<'a>,
        previous_time_ms: i64,
    ) -> ClaudeLine<'a> {
        let names = [
            "type",
            "uuid",
            "parentUuid",
            "message",
            "isMeta",
            "isSidechain",
            "timestamp",
            "isCompactSummary",
            RETURNED_KEY,
        ];
        let [
            kind,
            uuid,
            parent,
            message,
            is_meta,
            is_sidechain,
            timestamp,
            is_compact_summary,
            returned,
        ] = value.get_all(names);
        let message = message.filter(|message| message.is_object());
        let names = ["id", "content", "model", "usage", "stop_reason"];
        let [message_id, content, model, usage, stop_reason] =
            message.unwrap_or(Raw::NULL.into()).get_all(names);
        let is_response = kind.is_some_and(|kind| kind.is("assistant"));
        let response_id = if is_response {
            message_id.and_then(|id| id.text())
        } else {
            None
        };
        let own_time_ms = parse_time_ms(timestamp.map(Outlined::raw));
        let is_true = |flag: Option<Outlined>| flag.is_some_and(|flag| flag.bool() == Some(true));
        let uuid = uuid.and_then(|uuid| uuid.text());
        let lacks_parent = parent.is_none();
        let parent = parent.and_then(|parent| parent.text());
        ClaudeLine {
            offset,
            value,
            kind: kind.map(Outlined::raw),
            uuid: uuid.filter(|id| !id.is_empty()),
            parent: parent.filter(|id| !id.is_empty()),
            lacks_parent,
            message,
            content,
            model,
            usage,
            stop_reason,
            returned: returned.and_then(ReturnedLine::of_member),
            response_id: response_id.filter(|id| !id.is_empty()),
            is_meta: is_true(is_meta),
            is_compact_summary: is_true(is_compact_summary),
            // In the file of a sub-agent, every line is marked, and they are the main conversation.
            is_sidechain: is_true(is_sidechain) && !self.is_sub_agent_file,
            time_ms: own_time_ms.unwrap_or(previous_time_ms),
            has_time: own_time_ms.is_some(),
        }
    }
}

/// Returns, as a JSON object, the members of a message of Claude Code that have no place in a
/// message of pi. If there are `unconverted_blocks`, they are its `content`.
fn unconverted_message(source_message: Outlined, unconverted_blocks: &[Raw]) -> Vec<u8> {
    let blocks: Vec<_> = unconverted_blocks
        .iter()
        .map(|block| block.bytes())
        .collect();
    let converted_keys = ["type", "role", "content", "model", "id"];
    unconverted_members(source_message, &converted_keys)
        .json_array("content", &blocks)
        .finish()
}
