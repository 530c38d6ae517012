//! Converts blocks of Claude Code's messages to blocks of pi.

use crate::parts::{add_stored_text, non_empty_string, non_empty_text};
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::{Object, object_array_in};

/// Converts the blocks that are sent to the model, by the user or as part of a result: texts and
/// images. Returns an array of them. Other blocks are left out.
pub fn convert_user_blocks(content: Outlined) -> Vec<u8> {
    convert_user_blocks_in(Vec::new(), content)
}

/// Converts blocks as [`convert_user_blocks`] does, in the memory of a buffer.
fn convert_user_blocks_in(buffer: Vec<u8>, content: Outlined) -> Vec<u8> {
    let blocks = content.items().filter_map(UserBlock::read);
    object_array_in(buffer, blocks, |object, block| block.add_to(object))
}

/// A block that is sent to the model, and has a counterpart in pi. The values are the bytes of JSON
/// strings between their quotes.
pub enum UserBlock<'a> {
    Text(&'a [u8]),
    Image { data: &'a [u8], mime: &'a [u8] },
}

impl<'a> UserBlock<'a> {
    /// Reads a block by its type. `None` if the type has no counterpart, or a required member is
    /// missing.
    pub fn read(block: Outlined<'a>) -> Option<UserBlock<'a>> {
        let [block_type, text, source] = block.get_all(["type", "text", "source"]);
        let block_type = block_type?;
        if block_type.is("text") {
            return Some(UserBlock::Text(text?.raw_string()?));
        }
        if block_type.is("image") {
            let [data, mime] = source?.get_all(["data", "media_type"]);
            let data = data?.raw_string().filter(|data| !data.is_empty())?;
            let mime = mime?.raw_string().filter(|mime| !mime.is_empty())?;
            return Some(UserBlock::Image { data, mime });
        }
        None
    }

    /// Adds the members of the block as pi has it.
    pub fn add_to(&self, object: Object) -> Object {
        match self {
            UserBlock::Text(text) => add_stored_text(object, text),
            UserBlock::Image { data, mime } => object
                .str("type", "image")
                .stored_text("data", data)
                .stored_text("mimeType", mime),
        }
    }
}

/// Whether the value is a block of the type `kind`, such as `tool_result`.
pub fn is_of_type(block: Outlined, kind: &str) -> bool {
    block
        .get("type")
        .is_some_and(|block_type| block_type.is(kind))
}

/// Returns the id of the call whose result a block is. `None` if the block is not a result.
pub fn answered_call_id<'a>(block: Outlined<'a>) -> Option<Text<'a>> {
    if is_of_type(block, "tool_result") {
        non_empty_text(block, "tool_use_id")
    } else {
        None
    }
}

/// Adds the members of the message for a tool result. `block` is the result as the model sees it.
/// `details` is what Claude Code stores beside the block, and contains more than the model sees.
/// `tool_name` is `None` if the call was not read.
pub fn add_result_message(
    message: Object,
    block: Outlined,
    call_id: &Text,
    tool_name: Option<Text>,
    details: Option<Raw>,
) -> Object {
    let [stored_content, is_error] = block.get_all(["content", "is_error"]);
    let stored_content = stored_content.unwrap_or(Raw::NULL.into());
    let content = ResultContent::read(stored_content);
    let details = if details.is_none() && !content.is_whole {
        // Blocks without a counterpart, such as references to tools, would be lost. So the whole
        // content is kept as the details, which pi shows to the user, but does not send.
        Some(stored_content.raw())
    } else {
        details
    };
    let tool_name = tool_name.unwrap_or_else(|| Text::from("unknown"));
    let is_error = is_error.is_some_and(|flag| flag.bool() == Some(true));

    message
        .str("role", "toolResult")
        .text("toolCallId", call_id)
        .text("toolName", &tool_name)
        .objects("content", &content.blocks, |object, block| {
            block.add_to(object)
        })
        .with(details, |message, details| message.raw("details", details))
        .bool("isError", is_error)
}

/// The content of a tool result.
struct ResultContent<'a> {
    /// The blocks that have a counterpart.
    blocks: Vec<UserBlock<'a>>,
    /// Whether every block has one.
    is_whole: bool,
}

impl<'a> ResultContent<'a> {
    /// Reads the blocks of content. A string is a text block.
    fn read(content: Outlined<'a>) -> ResultContent<'a> {
        if let Some(text) = content.raw_string() {
            return ResultContent {
                blocks: vec![UserBlock::Text(text)],
                is_whole: true,
            };
        }
        let mut blocks = Vec::new();
        let mut is_whole = true;
        for block in content.items() {
            match UserBlock::read(block) {
                Some(block) => blocks.push(block),
                None => is_whole = false,
            }
        }
        ResultContent { blocks, is_whole }
    }
}

/// The text of thinking of which only an encrypted form exists.
pub const REDACTED_PLACEHOLDER: &str = "[Reasoning redacted]";

/// A block of a response that has a counterpart in pi. Strings are the bytes between their quotes.
pub enum ResponseBlock<'a> {
    Text(&'a [u8]),
    Thinking {
        thinking: &'a [u8],
        /// By it, the provider accepts the thinking again.
        signature: Option<&'a [u8]>,
    },
    /// Thinking of which only an encrypted form exists.
    RedactedThinking {
        encrypted: &'a [u8],
    },
    Call {
        id: &'a [u8],
        name: &'a [u8],
        /// An object, if the source has one.
        input: Option<Raw<'a>>,
    },
}

impl<'a> ResponseBlock<'a> {
    /// Reads a block by its type. `None` if the type has no counterpart, or a required member is
    /// missing.
    pub fn read(block: Outlined<'a>) -> Option<ResponseBlock<'a>> {
        let block_type = block.get("type")?;
        if block_type.is("text") {
            return string_member(block, "text").map(ResponseBlock::Text);
        }
        if block_type.is("thinking") {
            return Some(ResponseBlock::Thinking {
                thinking: string_member(block, "thinking")?,
                signature: string_member(block, "signature"),
            });
        }
        if block_type.is("redacted_thinking") {
            let encrypted = non_empty_string(block, "data")?;
            return Some(ResponseBlock::RedactedThinking { encrypted });
        }
        if block_type.is("tool_use") {
            return Some(ResponseBlock::Call {
                id: non_empty_string(block, "id")?,
                name: non_empty_string(block, "name")?,
                input: block
                    .get("input")
                    .map(Outlined::raw)
                    .filter(|input| input.is_object()),
            });
        }
        None
    }

    /// Adds the members of the block as pi has it. Encrypted thinking becomes the signature, where
    /// pi expects it. Arguments that are not an object become an empty object.
    pub fn add_to(&self, object: Object) -> Object {
        match self {
            ResponseBlock::Text(text) => add_stored_text(object, text),
            ResponseBlock::Thinking {
                thinking,
                signature,
            } => object
                .str("type", "thinking")
                .stored_text("thinking", thinking)
                .with(signature.as_ref(), |block, signature| {
                    block.stored_text("thinkingSignature", signature)
                }),
            ResponseBlock::RedactedThinking { encrypted } => object
                .str("type", "thinking")
                .str("thinking", REDACTED_PLACEHOLDER)
                .stored_text("thinkingSignature", encrypted)
                .bool("redacted", true),
            ResponseBlock::Call { id, name, input } => object
                .str("type", "toolCall")
                .stored_text("id", id)
                .stored_text("name", name)
                .raw("arguments", input.unwrap_or(Raw::from_checked(b"{}"))),
        }
    }
}

/// Returns the member `key` if it is a string.
fn string_member<'a>(object: Outlined<'a>, key: &str) -> Option<&'a [u8]> {
    object.get(key)?.raw_string()
}

/// Returns the content that an import makes of a line, as JSON. `line_type` is `assistant` or
/// `user`. If the message has a tool result, this is the content of the first result. `None` if
/// there is no content. If possible, the content takes the memory of `buffer`.
pub fn line_content<'a>(
    line_type: &str,
    message: impl Into<Outlined<'a>>,
    buffer: Vec<u8>,
) -> Option<Vec<u8>> {
    let content = message.into().get("content")?;
    if line_type == "assistant" {
        let blocks = content.items().filter_map(ResponseBlock::read);
        let array = object_array_in(buffer, blocks, |object, block| block.add_to(object));
        return Some(array);
    }
    let result = content
        .items()
        .find(|block| is_of_type(*block, "tool_result"));
    if let Some(result) = result {
        let blocks = ResultContent::read(result.get("content")?).blocks;
        let array = object_array_in(buffer, &blocks, |object, block| block.add_to(object));
        return Some(array);
    }
    match content.text() {
        Some(text) => Some(encode_to_vec(&text)),
        None => Some(convert_user_blocks_in(buffer, content)),
    }
}

/// Anthropic's reasons to end a response, each with pi's reason.
const STOP_REASONS: [(&str, &str); 5] = [
    ("tool_use", "toolUse"),
    ("max_tokens", "length"),
    ("end_turn", "stop"),
    ("stop_sequence", "stop"),
    ("pause_turn", "stop"),
];

/// Converts Anthropic's reason why a response ended to pi's. A reason without a counterpart, such
/// as `refusal`, becomes `error`. A line that was written before the response ended has no reason,
/// and gets `stop`.
///
/// If `is_error` is true, the response is an error of the API: the result is `error` in any case.
pub fn convert_stop_reason(reason: Option<Raw>, is_error: bool) -> &'static str {
    if is_error {
        return "error";
    }
    let Some(reason) = reason.filter(|reason| !reason.is_null()) else {
        return "stop";
    };
    for (anthropic, pi) in STOP_REASONS {
        if reason.is(anthropic) {
            return pi;
        }
    }
    "error"
}
