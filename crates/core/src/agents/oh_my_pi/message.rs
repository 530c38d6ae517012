//! Messages as oh-my-pi makes them from entries, and predicates on them.

use crate::session::content;
use crate::session::entry::{Entry, EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Body, EntryReader};
use pisess_json::Raw;
use pisess_json::edit::{with_member, without_member};
use pisess_json::js;
use pisess_json::text::{Text, concat_texts};
use pisess_json::write::{Object, array};
use std::io;

/// The custom type of the note that quotes the thinking of a turn that the user interrupted.
pub const INTERRUPTED_THINKING: &str = "interrupted-thinking";
/// The custom type of a skill prompt.
pub const SKILL_PROMPT: &str = "skill-prompt";
/// The custom type of a prompt by someone who shares the session.
pub const COLLAB_PROMPT: &str = "collab-prompt";
/// The custom types of messages for one request only. They are left out when the context is built
/// again.
const TRANSIENT_TYPES: [&str; 2] = ["prewalk-plan", "vibe-mode-context"];

/// The custom type of a message that does not name its type.
const DEFAULT_CUSTOM_TYPE: &str = "custom-message";
/// The bit of `errorId` for a turn that the user interrupted.
const USER_INTERRUPT_BIT: u32 = 0x0400_0000;

/// Returns the ids of the tool calls in a content. `None` stands for an id that is not a string.
pub fn call_ids(content: Raw) -> Vec<Option<Text<'static>>> {
    content::blocks_of_type(content, "toolCall")
        .map(|call| call.get_text("id").map(Text::into_owned))
        .collect()
}

/// Returns the message of a `message` entry as the agent loads it
/// (`sanitizeRehydratedOpenAIResponsesAssistantMessage`).
///
/// An assistant message of GitHub Copilot with a replayed history loses what was valid for one
/// connection only: that history and the signatures of thinking. Any other message is as stored.
pub fn load_body(message: Raw, role: Role) -> Body {
    if role != Role::Assistant {
        return Body::Stored;
    }
    let [provider, payload] = content::find_members(message, ["provider", "providerPayload"]);
    let payload = payload.unwrap_or(Raw::NULL);
    let is_replayed = content::member_is(payload, "type", "openaiResponsesHistory");
    let is_of_copilot = provider.is_some_and(|provider| provider.is("github-copilot"));
    if !is_replayed || !is_of_copilot {
        return Body::Stored;
    }

    let without_payload = without_member(message, "providerPayload");
    let content = message.get("content").unwrap_or(Raw::NULL);
    // Only blocks have signatures.
    if !content.is_array() {
        return Body::from_json(without_payload);
    }
    let unbound_message = with_member(
        Raw::from_checked(&without_payload),
        "content",
        &without_thinking_signatures(content),
    );
    Body::from_json(unbound_message)
}

/// Returns the JSON of a list of blocks in which no thinking has a signature.
fn without_thinking_signatures(blocks: Raw) -> Vec<u8> {
    let mut unsigned_blocks = Vec::new();
    for block in blocks.items() {
        let unsigned_block = if content::is_block(block, "thinking") {
            without_member(block, "thinkingSignature")
        } else {
            block.bytes().to_vec()
        };
        unsigned_blocks.push(unsigned_block);
    }
    array(unsigned_blocks)
}

/// Converts a `custom_message` entry to a message, as the agent does for a context: missing members
/// get defaults. `None` if its content cannot be sent.
pub fn build_custom_message(line: Raw, entry: &Entry) -> Option<Vec<u8>> {
    let content = sendable_content(line)?;
    let display = line.get("display").and_then(Raw::bool).unwrap_or(false);
    // As in the agent, anything but `user` counts as the agent.
    let attribution = match line.get("attribution") {
        None => None,
        Some(stored) if stored.is("user") => Some("user"),
        Some(_) => Some("agent"),
    };
    let object = Object::new()
        .str("role", "custom")
        .text("customType", &custom_type(line))
        .raw("content", content)
        .bool("display", display)
        .copy_members(line, &["details"])
        .with(attribution, |object, attribution| {
            object.str("attribution", attribution)
        })
        .number("timestamp", entry.js_time());
    Some(object.finish())
}

/// Returns the custom type of a `custom_message` entry; the default if it names none.
pub fn custom_type(line: Raw) -> Text<'static> {
    match non_empty_text(line, "customType") {
        Some(name) => name.into_owned(),
        None => Text::from(DEFAULT_CUSTOM_TYPE),
    }
}

/// Returns a member that is a string; `None` if it is empty, missing, or not a string.
pub fn non_empty_text<'a>(object: Raw<'a>, key: &str) -> Option<Text<'a>> {
    object.get_text(key).filter(|text| !text.is_empty())
}

/// Returns the message of an entry for the input of a summary; `None` if the entry has no message.
/// As in the agent, members that the entry lacks get no defaults, unlike in a context.
pub fn body_for_summary(line: Raw, entry: &Entry) -> Option<Body> {
    if entry.kind == Kind::Message {
        let message = line.get("message")?;
        return Some(load_body(message, entry.role));
    }

    // An entry of another kind becomes a message in the role for its kind, with these members.
    let copy_as = |role: &str, members: &[&str]| {
        let message = Object::new()
            .str("role", role)
            .copy_members(line, members)
            .number("timestamp", entry.js_time());
        Some(Body::from_json(message.finish()))
    };
    match entry.kind {
        Kind::CustomMessage => copy_as(
            "custom",
            &["customType", "content", "display", "details", "attribution"],
        ),
        Kind::BranchSummary => copy_as("branchSummary", &["summary", "fromId"]),
        Kind::Compaction => copy_as(
            "compactionSummary",
            &["summary", "shortSummary", "tokensBefore"],
        ),
        _ => None,
    }
}

/// What the message of a compaction contains besides the members of its entry.
pub struct CompactionParts<'a> {
    /// The history that a provider replays, as JSON.
    pub provider_payload: Option<&'a [u8]>,
    /// The texts and pictures of the archived history as JSON, oldest first.
    pub blocks: &'a [Vec<u8>],
    /// The time in milliseconds before which signatures are not valid any more, if that is not the
    /// time of the entry.
    pub rewrite_ms: Option<f64>,
}

/// Converts a `compaction` entry to a message. Commands print it byte for byte, so its members have
/// the order in which the agent writes them.
pub fn build_compaction_message(line: Raw, entry: &Entry, parts: &CompactionParts) -> Vec<u8> {
    let is_image = |block: &&Vec<u8>| content::is_block(Raw::from_checked(block), "image");
    let images: Vec<_> = parts.blocks.iter().filter(is_image).collect();
    let names = [
        "summary",
        "shortSummary",
        "tokensBefore",
        "tokensAfter",
        "method",
    ];

    let mut message = Object::new()
        .str("role", "compactionSummary")
        .copy_members(line, &names);
    if let Some(payload) = parts.provider_payload {
        message = message.json("providerPayload", payload);
    }
    message = message
        .json_array("blocks", parts.blocks)
        .json_array("images", &images)
        .copy_members(line, &["warning"]);
    if let Some(time) = parts.rewrite_ms {
        message = message.number("historyRewriteAt", time);
    }
    message.number("timestamp", entry.js_time()).finish()
}

/// Whether an entry is a user request: a user message, or a skill or collaboration prompt
/// attributed to the user.
pub fn is_user_request(line: Raw, kind: Kind, role: Role) -> bool {
    match (kind, role) {
        (Kind::Message, Role::User) => true,
        (Kind::Message, Role::Custom) => starts_user_turn(line.get("message").unwrap_or(Raw::NULL)),
        (Kind::CustomMessage, _) => sendable_content(line).is_some() && starts_user_turn(line),
        _ => false,
    }
}

/// Returns the content of a custom message; `None` if it is neither a string nor an array, and so
/// cannot be sent.
pub fn sendable_content(message: Raw<'_>) -> Option<Raw<'_>> {
    message
        .get("content")
        .filter(|content| content.is_string() || content.is_array())
}

/// Whether a custom message is left out when the context is built again.
pub fn is_transient(message: Raw) -> bool {
    TRANSIENT_TYPES
        .iter()
        .any(|name| content::member_is(message, "customType", name))
}

/// Whether a custom message begins a turn of the user.
pub fn starts_user_turn(message: Raw) -> bool {
    is_user_skill(message) || is_user_collab(message)
}

/// Whether a custom message is a skill that the user called.
pub fn is_user_skill(message: Raw) -> bool {
    content::member_is(message, "customType", SKILL_PROMPT)
        && content::member_is(message, "attribution", "user")
}

/// Whether a custom message is a prompt by someone who shares the session.
pub fn is_user_collab(message: Raw) -> bool {
    content::member_is(message, "customType", COLLAB_PROMPT)
        && content::member_is(message, "attribution", "user")
}

/// Whether a turn with this `errorId` and `errorMessage` ended because the user interrupted it.
pub fn is_user_interrupt(id: Option<Raw>, message: Option<Raw>) -> bool {
    js::has_bit(id, USER_INTERRUPT_BIT)
        || message.is_some_and(|message| message.is("Interrupted by user"))
}

/// Whether a turn that ended in an error had no output before it. `content` is the content of the
/// turn. Such a turn was never part of a context.
pub fn is_empty_turn(content: Raw) -> bool {
    !content.items().any(is_output)
}

/// Whether a block of a turn contains something that the model wrote: text, thinking or encrypted
/// data that is not blank, or a block of another type, such as a call. A block `fallback` only
/// records a change of the model.
fn is_output(block: Raw) -> bool {
    let kind = block.get_text("type").unwrap_or_default();
    match kind.as_bytes() {
        b"text" => !content::is_blank_member(block, "text"),
        b"thinking" => {
            !content::is_blank_member(block, "thinking")
                || !content::is_blank_member(block, "thinkingSignature")
        }
        b"redactedThinking" => !content::is_blank_member(block, "data"),
        b"fallback" => false,
        _ => true,
    }
}

/// Returns the text that the agent puts into its editor when the user moves the leaf to before an
/// entry.
pub fn draft_text(reader: &EntryReader, ix: EntryIx) -> io::Result<Text<'static>> {
    let entry = reader.session().entry(ix);
    reader.with_entry(ix, |line| {
        editor_text(line, entry.kind, entry.role).unwrap_or_else(|| content::entry_text(line))
    })
}

/// Returns the text that the agent puts into its editor when the user navigates to an entry: the
/// text of a user request, or of a custom message other than a skill prompt. `None` for any other
/// entry.
///
/// For a skill that the user called, it is what the user typed, if that is known, rather than the
/// text of the skill.
fn editor_text(line: Raw, kind: Kind, role: Role) -> Option<Text<'static>> {
    let message = if kind == Kind::Message {
        line.get("message")?
    } else {
        line
    };
    if is_user_request(line, kind, role) {
        if is_user_skill(message)
            && let Some(typed) = skill_draft(message)
        {
            return Some(typed);
        }
        return Some(content::join_text(message.get("content"), ""));
    }

    let is_skill_prompt = content::member_is(line, "customType", SKILL_PROMPT);
    if kind == Kind::CustomMessage && !is_skill_prompt {
        return Some(content::join_text(line.get("content"), ""));
    }
    None
}

/// Returns what the user typed to call a skill, whose own text is the content of the message: the
/// stored text or, without one, `/skill:name arguments`. If the name is missing, too, only the
/// arguments.
pub fn skill_draft(message: Raw) -> Option<Text<'static>> {
    let details = message.get("details").unwrap_or(Raw::NULL);
    for key in ["__queueChipText", "prompt"] {
        let typed = content::trimmed_text(details, key);
        if typed.is_some() {
            return typed;
        }
    }

    let arguments = content::trimmed_text(details, "args");
    let Some(name) = content::trimmed_text(details, "name") else {
        return arguments;
    };
    let command = concat_texts(&[&"/skill:", &name]);
    match arguments {
        Some(arguments) => Some(concat_texts(&[&command, &" ", &arguments])),
        None => Some(command),
    }
}
