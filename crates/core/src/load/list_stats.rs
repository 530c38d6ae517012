//! Collects, while a file is loaded, what a list of sessions shows of it.

use crate::agents::row::{ROW_UNITS, forwarded_row, normalize_spaces, spaced_message_head};
use crate::format::title::{may_have_envelope, title_words};
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::envelope::ENVELOPE_UNITS;
use crate::session::list_stats::{
    EntryKey, ListStats, Opening, PREVIEW_UNITS, Question, is_command,
};
use crate::session::period::Period;
use crate::session::read::record::{Block, Content, Member, MessageFacts, ParsedEntry};
use crate::session::usage::model_name;
use foldhash::quality::FixedState;
use memchr::memmem;
use pisess_json::Raw;
use pisess_json::string::{decode, decode_head};
use pisess_json::text::{Text, join_with};
use std::hash::BuildHasher;

impl ListStats {
    /// Adds what an entry contributes to the row of its session in a list. For any entry, this is
    /// whether its time is in `period`; for messages, see `add_message`. `time_ms` is the
    /// entry's own time, in milliseconds since 1970.
    pub fn add_entry(
        &mut self,
        entry: EntryIx,
        parsed: &ParsedEntry,
        time_ms: Option<i64>,
        period: Period,
    ) {
        if let Some(time_ms) = time_ms {
            self.is_in_period |= period.contains(time_ms);
        }
        if parsed.kind != Kind::Message {
            return;
        }
        self.message_count += 1;
        if parsed.role == Role::User {
            self.user_message_count += 1;
        }
        // A damaged entry of this type may lack its message.
        if let Some(message) = &parsed.record.message {
            self.add_message(entry, parsed, message);
            self.add_activity_of_turn(parsed.role, message, time_ms, period);
        }
    }

    /// Adds what a message shows: a better title, the model of a reply, and the question, which is
    /// the first message of the user that has text.
    fn add_message(&mut self, entry: EntryIx, parsed: &ParsedEntry, message: &MessageFacts) {
        let role = parsed.role;
        self.improve_opening(role, message, parsed.blocks);
        if role == Role::Assistant {
            self.add_model(message);
        }
        let may_be_question = role == Role::User && message.members.contains(Member::Content);
        if may_be_question && self.question.is_none() {
            self.question = message_question(entry, message, parsed.blocks);
        }
    }

    /// Adds the time of the last activity, which only messages of the user and replies show. One
    /// without `content` does not count.
    fn add_activity_of_turn(
        &mut self,
        role: Role,
        message: &MessageFacts,
        entry_ms: Option<i64>,
        period: Period,
    ) {
        let is_turn = matches!(role, Role::User | Role::Assistant);
        if is_turn && message.members.contains(Member::Content) {
            self.add_activity(message, entry_ms, period);
        }
    }

    /// Adds the time of a message, in milliseconds since 1970: the time in the message, else
    /// `entry_ms`, the time of its entry. It need not be later than the time of the message before.
    fn add_activity(&mut self, message: &MessageFacts, entry_ms: Option<i64>, period: Period) {
        let message_ms = message.get(Member::Timestamp).and_then(Raw::number);
        let Some(active_ms) = message_ms.or(entry_ms.map(|time| time as f64)) else {
            return;
        };
        let latest_ms = match self.last_activity_ms {
            Some(before_ms) => before_ms.max(active_ms),
            None => active_ms,
        };
        self.last_activity_ms = Some(latest_ms);
        self.is_in_period |= period.contains(active_ms as i64);
    }

    /// Replaces the opening by a part of a message that is a better title, if the message has one.
    fn improve_opening(&mut self, role: Role, message: &MessageFacts, blocks: &[Block]) {
        // Most messages are ruled out before their text is read: only a message of the user can be
        // better than an opening, and none is better than words of the user.
        let may_be_better = match self.opening {
            None => true,
            Some(Opening::Other(_) | Opening::Command(_)) => role == Role::User,
            Some(Opening::Words(_)) => false,
        };
        if !may_be_better {
            return;
        }
        if let Some(opening) = message_opening(role, message, blocks)
            && opening.is_better_than(self.opening.as_ref())
        {
            self.opening = Some(opening);
        }
    }

    /// Adds the model of a reply, if no earlier reply was of this model.
    fn add_model(&mut self, message: &MessageFacts) {
        let respondent = message.respondent();
        let provider = respondent.provider.as_ref().map(Text::to_string_lossy);
        let model = respondent.model.as_ref().map(Text::to_string_lossy);
        let Some(name) = model_name(provider.as_deref(), model.as_deref()) else {
            return;
        };
        let name = Text::from(name);
        if !self.models.contains(&name) {
            self.models.push(name);
        }
    }
}

/// Returns the identity of an entry, by which copies of it are recognized. Its `key` is a hash of
/// the id and of the text of the timestamp. For an entry without an id, it is [`EntryKey::NONE`],
/// because such an entry cannot be recognized as a copy.
///
/// Whether the entry was pruned depends on other entries, and is set later.
pub fn entry_key(parsed: &ParsedEntry, timestamp: &Text) -> EntryKey {
    let id = match parsed.record.id {
        Some(id) => decode(id.bytes),
        None => Text::default(),
    };
    let key = if id.is_empty() {
        EntryKey::NONE
    } else {
        hash_twice((id.as_bytes(), timestamp.as_bytes()))
    };
    EntryKey {
        key,
        response: response_hash(parsed),
        is_message: parsed.kind == Kind::Message,
        is_user_message: parsed.kind == Kind::Message && parsed.role == Role::User,
        is_reply: parsed.kind == Kind::Message && parsed.role == Role::Assistant,
        is_pruned: false,
    }
}

/// The minimum length of an id that counts as unique. Ids of providers are longer. A shorter one
/// may come from a server on the user's own machine, which may begin with `chatcmpl-1` each time.
const UNIQUE_ID_LEN: usize = 16;

/// Returns a hash by which another entry with the same response of the model is recognized;
/// [`EntryKey::NONE`] if the entry contains no response, or no id that can identify it.
///
/// It is the hash of the id that the provider gave the response. If the entry has no such id, or a
/// short one that other responses may have, too, it is the hash of the id of the first tool call.
fn response_hash(parsed: &ParsedEntry) -> u128 {
    if parsed.kind != Kind::Message || parsed.role != Role::Assistant {
        return EntryKey::NONE;
    }
    let response_id = stored_response_id(parsed.record.bytes).filter(is_unique_id);
    let id = response_id.or_else(|| first_call_id(parsed).filter(is_unique_id));
    let Some(id) = id else {
        return EntryKey::NONE;
    };
    // The hash of an entry is of its id and its timestamp: see `entry_key`. No timestamp is
    // `response`, so a response never has the hash of an entry with the same id.
    hash_twice((id.as_bytes(), b"response"))
}

/// Returns the `responseId` on a line: the id that the provider gave the response.
fn stored_response_id(line: &[u8]) -> Option<Text<'_>> {
    // Few agents store this id, and a search takes less time than parsing the line.
    memmem::find(line, b"\"responseId\"")?;
    let message = Raw::from_checked(line).get("message")?;
    message.get_text("responseId")
}

fn first_call_id<'a>(parsed: &ParsedEntry<'a>) -> Option<Text<'a>> {
    let call = parsed.blocks.iter().find(|block| block.is_call())?;
    call.id?.text()
}

/// Whether an id is long and random enough to be unique. Ids that some models count up, such as
/// `functions.bash:0`, contain a colon.
fn is_unique_id(id: &Text) -> bool {
    let bytes = id.as_bytes();
    bytes.len() >= UNIQUE_ID_LEN && !bytes.contains(&b':')
}

/// Returns a hash of 128 bits, made of two hashes of 64 bits with different seeds.
fn hash_twice(value: (&[u8], &[u8])) -> u128 {
    let high = FixedState::with_seed(1).hash_one(value);
    let low = FixedState::with_seed(2).hash_one(value);
    u128::from(high) << 64 | u128::from(low)
}

/// Returns the part of a message that can be the title of its session, as a kind of opening:
///
/// - of a command that the user ran in the shell: the command;
/// - of any other message: the start of its words, without what a program put around them and
///   without marks of Markdown, or `(image)` if it has only an image.
///
/// `None` if the message has none of these.
fn message_opening(role: Role, message: &MessageFacts, blocks: &[Block]) -> Option<Opening> {
    if role == Role::BashExecution {
        let command = normalize_spaces(message.get(Member::Command)?.text()?);
        let shown = command.head(PREVIEW_UNITS);
        let title = format!("[bash]: {}", shown.to_string_lossy());
        return Some(Opening::Other(Text::from(title)));
    }

    let title = message_title(message, blocks);
    if !title.is_empty() {
        // The words of the user make the best title. A command such as `/mode` says little, and a
        // reply is not a request.
        return Some(match role {
            Role::User if is_command(&title) => Opening::Command(title),
            Role::User => Opening::Words(title),
            _ => Opening::Other(title),
        });
    }
    if has_block(blocks, "image") {
        return Some(Opening::Other(Text::from("(image)")));
    }
    None
}

/// The number of UTF-16 units to read of a message for a title. It is more than a row, because the
/// words may be below a heading.
const TITLE_UNITS: usize = 2 * ROW_UNITS;

/// Returns the words of a message that can be a title, at most [`PREVIEW_UNITS`] UTF-16 units of
/// them.
fn message_title(message: &MessageFacts, blocks: &[Block]) -> Text<'static> {
    let short_head = spaced_message_head(message, blocks, TITLE_UNITS);
    let mut head = short_head.head_whole(TITLE_UNITS).into_string_lossy();
    // The elements that an agent put before the words of the user (their envelope) may be long, so
    // more of the message is read.
    if may_have_envelope(&head) {
        head = spaced_message_head(message, blocks, ENVELOPE_UNITS).into_string_lossy();
    }
    let title = Text::from(title_words(&head));
    title.head_whole(PREVIEW_UNITS).into_owned()
}

/// Whether a message has a block of this type.
fn has_block(blocks: &[Block], block_type: &str) -> bool {
    blocks.iter().any(|block| is_of_type(block, block_type))
}

fn is_of_type(block: &Block, block_type: &str) -> bool {
    block.kind.is_some_and(|stored| stored.is(block_type))
}

/// Returns the start of a user message, at most [`PREVIEW_UNITS`] UTF-16 units of it; `None` if it
/// has no text.
///
/// For a message that a chat program forwarded, the text is the row of the user's words, which is
/// never the whole text.
fn message_question(entry: EntryIx, message: &MessageFacts, blocks: &[Block]) -> Option<Question> {
    if let Some(words_of_user) = forwarded_row(message, blocks) {
        return Some(Question {
            entry,
            text: words_of_user,
            is_whole: false,
        });
    }

    let preview = decode_content_preview(message, blocks);
    if preview.is_empty() {
        return None;
    }
    // A preview may have one unit more than is kept, so a longer text is noticed.
    let is_whole = preview.utf16_len() <= PREVIEW_UNITS;
    let text = if is_whole {
        preview
    } else {
        preview.head_whole(PREVIEW_UNITS).into_owned()
    };
    Some(Question {
        entry,
        text,
        is_whole,
    })
}

/// Returns the start of the text that pi's own list shows of a message: the string that is its
/// content, or its text blocks, joined with spaces. Empty for any other content. A longer text is
/// cut, but not to fewer than `PREVIEW_UNITS + 1` UTF-16 units.
fn decode_content_preview(message: &MessageFacts, blocks: &[Block]) -> Text<'static> {
    match message.content {
        Content::Text(string) => decode_preview(string.bytes),
        Content::Blocks => {
            let mut previews = Vec::new();
            for block in blocks {
                if is_of_type(block, "text") {
                    let string = block.text.and_then(Raw::raw_string);
                    previews.push(decode_preview(string.unwrap_or_default()));
                }
            }
            join_with(previews, " ")
        }
        Content::None | Content::Other => Text::default(),
    }
}

/// Decodes the start of a JSON string, at most one UTF-16 unit more than the text of a question may
/// have. So the length shows whether the string is longer.
fn decode_preview(string: &[u8]) -> Text<'static> {
    let mut preview = Vec::new();
    decode_head(string, PREVIEW_UNITS + 1, &mut preview);
    Text::from_wtf8(preview)
}
