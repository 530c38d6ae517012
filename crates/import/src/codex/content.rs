//! What the items of a Codex session say: their texts, thoughts and images.

use crate::parts::{add_stored_text, non_empty_string, non_empty_text};
use foldhash::fast::FixedState;
use pisess_json::outline::Outlined;
use pisess_json::string::{decode, encode_stored, encode_to_vec};
use pisess_json::text::Text;
use pisess_json::write::{Object, object_array, object_array_in};
use pisess_json::{Raw, js};
use std::borrow::Cow;
use std::hash::BuildHasher;

/// Returns a hash of what an item or an event says: if one repeats the other, both have the same.
///
/// `speaker` is `user` or `assistant`. `stored_text` is the text as it is stored: the bytes between
/// its quotes. A text may be stored in several ways, as `é` and as `\u00e9`, so it is hashed as
/// pisess writes it. Most texts are stored like that, so they need not be decoded.
pub fn text_fingerprint(speaker: &str, stored_text: &[u8]) -> u64 {
    let mut encoded = Vec::new();
    encode_stored(stored_text, &mut encoded);
    FixedState::default().hash_one((speaker, encoded))
}

/// Returns a hash of the id of a call, which the call, its result and events about it have.
pub fn call_fingerprint(call_id: &Text) -> u64 {
    FixedState::default().hash_one(("call", call_id.as_bytes()))
}

/// Returns the fingerprints of an item, by which an event that repeats it is recognized:
///
/// ```text
/// {"type":"message","role":"user","content":…}            one, of its text
/// {"type":"function_call","call_id":"c1", …}              one, of the id of the call
/// {"type":"reasoning","summary":[{"text":…}, …]}          one for each text
/// any other type, or no text or id                        none
/// ```
///
/// A reasoning item has several, because events repeat each of its texts on its own.
pub fn item_fingerprints(item: Outlined) -> Vec<u64> {
    let names = ["role", "content", "call_id", "id"];
    let [role, content, call_id, id] = item.get_all(names);
    let Some(item_type) = find_item_type(item) else {
        return Vec::new();
    };

    if item_type == *"message" {
        let text = stored_joined_text(content.unwrap_or(Raw::NULL.into()));
        if text.is_empty() {
            return Vec::new();
        }
        // Events repeat only texts of the user and the model, so other roles do not matter.
        let is_user = role.is_some_and(|role| role.is("user"));
        let speaker = if is_user { "user" } else { "assistant" };
        return vec![text_fingerprint(speaker, &text)];
    }

    if item_type == *"reasoning" {
        let mut fingerprints = Vec::new();
        for thought in stored_reasoning_texts(item) {
            fingerprints.push(text_fingerprint("assistant", thought));
        }
        return fingerprints;
    }

    // Such as `function_call`, `web_search_call` and `custom_tool_call_output`.
    let is_call_or_result = item_type.to_string_lossy().contains("call");
    if !is_call_or_result {
        return Vec::new();
    }
    let call_id = call_id.and_then(|call_id| call_id.text());
    let call_id = call_id.or_else(|| id.and_then(|id| id.text()));
    match call_id {
        Some(call_id) => vec![call_fingerprint(&call_id)],
        None => Vec::new(),
    }
}

/// Returns the type of an item, such as `message`. Items in files of other programs may have no
/// member `type`. Then their other members show the type: an item with a `role` and `content` is a
/// message. `None` if no type is known.
pub fn find_item_type(item: Outlined<'_>) -> Option<Text<'_>> {
    if let Some(item_type) = non_empty_text(item, "type") {
        return Some(item_type);
    }
    let names = ["role", "content", "call_id", "name", "arguments", "output"];
    let [role, content, call_id, name, arguments, output] = item.get_all(names);
    let implied_type = if role.is_some() && content.is_some() {
        "message"
    } else if call_id.is_some() && output.is_some() {
        "function_call_output"
    } else if call_id.is_some() && name.is_some() && arguments.is_some() {
        "function_call"
    } else {
        return None;
    };
    Some(Text::from(implied_type))
}

/// Joins the texts of content without a separator. Content that is a string is one text.
pub fn join_texts<'a>(content: impl Into<Outlined<'a>>) -> Text<'a> {
    let content = content.into();
    if let Some(text) = content.text() {
        return text;
    }
    let mut texts = content.items().filter_map(stored_block_text).map(decode);
    // Most content has one text, which is not copied if its bytes need not be decoded.
    let mut joined = texts.next().unwrap_or_default();
    for text in texts {
        joined.push(&text);
    }
    joined
}

/// Returns what [`join_texts`] returns, as it is stored: the bytes between its quotes. Most content
/// has one text, which is neither decoded nor copied.
fn stored_joined_text<'a>(content: Outlined<'a>) -> Cow<'a, [u8]> {
    if let Some(text) = content.raw_string() {
        return Cow::Borrowed(text);
    }
    let mut texts = content.items().filter_map(stored_block_text);
    let first = texts.next().unwrap_or_default();
    if texts.next().is_none() {
        return Cow::Borrowed(first);
    }
    // Joined as they are stored, the texts could differ from the joined text: one may end with the
    // first half of a character, and the next begin with the other, as in `\ud83d` and `\ude00`.
    let quoted = encode_to_vec(&join_texts(content));
    Cow::Owned(quoted[1..quoted.len() - 1].to_vec())
}

/// Returns the text of a block of content as it is stored: the bytes between its quotes. `None` if
/// the block is not a text.
pub fn stored_block_text<'a>(block: Outlined<'a>) -> Option<&'a [u8]> {
    let [block_type, text] = block.get_all(["type", "text"]);
    let block_type = block_type?;
    if block_type.is("input_text") || block_type.is("output_text") || block_type.is("text") {
        text?.raw_string()
    } else {
        None
    }
}

/// Returns the texts of a reasoning item: first the texts of its summary, then of its content.
pub fn list_reasoning_texts(item: Outlined<'_>) -> Vec<Text<'_>> {
    let mut texts = Vec::new();
    for stored_text in stored_reasoning_texts(item) {
        texts.push(decode(stored_text));
    }
    texts
}

/// Returns the texts of a reasoning item in the same order, as they are stored: the bytes between
/// their quotes. Empty texts are left out.
fn stored_reasoning_texts(item: Outlined<'_>) -> Vec<&[u8]> {
    let mut texts = Vec::new();
    for key in ["summary", "content"] {
        for part in item.get(key).unwrap_or(Raw::NULL.into()).items() {
            if let Some(text) = non_empty_string(part, "text") {
                texts.push(text);
            }
        }
    }
    texts
}

/// A block of content that has a counterpart in pi.
pub enum ContentBlock<'a> {
    /// A text, as the bytes between its quotes, which need not be decoded.
    StoredText(&'a [u8]),
    /// A text that is not stored as such.
    Text(Text<'a>),
    /// An image in base64. Neither member is empty.
    Image {
        data: Text<'static>,
        mime: Text<'static>,
    },
}

impl ContentBlock<'_> {
    /// Adds the members of the block as pi has it.
    pub fn add_to(&self, object: Object) -> Object {
        match self {
            ContentBlock::StoredText(text) => add_stored_text(object, text),
            ContentBlock::Text(text) => object.str("type", "text").text("text", text),
            ContentBlock::Image { data, mime } => object
                .str("type", "image")
                .text("data", data)
                .text("mimeType", mime),
        }
    }

    /// Returns the bytes of the text; `None` if it is an image. In a stored text, escapes are not
    /// decoded.
    pub fn undecoded_text(&self) -> Option<&[u8]> {
        match self {
            ContentBlock::StoredText(text) => Some(text),
            ContentBlock::Text(text) => Some(text.as_bytes()),
            ContentBlock::Image { .. } => None,
        }
    }

    /// Returns the text; `None` if it is an image.
    pub fn text(&self) -> Option<Text<'_>> {
        match self {
            ContentBlock::StoredText(text) => Some(decode(text)),
            ContentBlock::Text(text) => Some(text.as_borrowed()),
            ContentBlock::Image { .. } => None,
        }
    }
}

/// Converts a result to content: its texts and images if it has any, or else its JSON as a text. A
/// missing result becomes empty content.
pub(super) fn convert_result<'a>(value: Option<impl Into<Outlined<'a>>>) -> Vec<ContentBlock<'a>> {
    let Some(value) = value else {
        return Vec::new();
    };
    let value = value.into();
    let blocks = read_content_blocks(value);
    if !blocks.is_empty() {
        return blocks;
    }
    match value.raw_string() {
        // An empty string, for which there was no block above.
        Some(text) => vec![ContentBlock::StoredText(text)],
        None => vec![ContentBlock::Text(js::stringify(value.raw()))],
    }
}

/// Returns blocks as an array of JSON.
pub fn content_array(blocks: &[ContentBlock]) -> Vec<u8> {
    object_array(blocks, |object, block| block.add_to(object))
}

/// Reads the texts and images of content. A string is one text; an empty string has no block. Of a
/// list, other blocks than texts and images are left out. Any other content has no blocks.
pub fn read_content_blocks<'a>(content: Outlined<'a>) -> Vec<ContentBlock<'a>> {
    if let Some(text) = content.raw_string() {
        if text.is_empty() {
            return Vec::new();
        }
        return vec![ContentBlock::StoredText(text)];
    }

    let mut blocks = Vec::new();
    for block in content.items() {
        if let Some(text) = stored_block_text(block) {
            blocks.push(ContentBlock::StoredText(text));
        } else if is_image(block)
            && let Some(image) = image_from_url(block.raw())
        {
            blocks.push(image);
        }
    }
    blocks
}

/// Whether a block of content is an image: `{"type": "input_image", "image_url": "data:…"}`.
fn is_image(block: Outlined) -> bool {
    match block.get("type") {
        Some(block_type) => block_type.is("input_image"),
        None => false,
    }
}

/// Converts the content of an item, the parts of a message or the output of a call, to an array of
/// pi's blocks as JSON, in the memory of `buffer`. `None` for any other item.
pub fn item_content<'a>(item: impl Into<Outlined<'a>>, buffer: Vec<u8>) -> Option<Vec<u8>> {
    let [item_type, content, output] = item.into().get_all(["type", "content", "output"]);
    let blocks = if item_type?.is("message") {
        read_content_blocks(content?)
    } else {
        let output = output?;
        match output.raw_string() {
            // Unlike the text of a message, an empty output is a block, too.
            Some(text) => vec![ContentBlock::StoredText(text)],
            None => read_content_blocks(output),
        }
    };
    let array = object_array_in(buffer, &blocks, |object, block| block.add_to(object));
    Some(array)
}

/// Converts an image whose data is in its URL, as in `data:image/png;base64,iVBORw0KGgo…`. `None`
/// for any other URL.
fn image_from_url(block: Raw) -> Option<ContentBlock<'static>> {
    let url = block.get_text("image_url")?.into_string_lossy();
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    // Parameters may follow the MIME type, such as a character set.
    let mime = media_type.split(';').next().unwrap_or(media_type);
    if data.is_empty() || mime.is_empty() {
        return None;
    }
    Some(ContentBlock::Image {
        data: Text::from(data).into_owned(),
        mime: Text::from(mime).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_fingerprints(content: &str) -> Vec<u64> {
        let item = format!(r#"{{"type":"message","role":"user","content":{content}}}"#);
        item_fingerprints(Raw::parse(item.as_bytes()).unwrap().into())
    }

    #[test]
    fn a_text_has_one_fingerprint_however_it_is_stored() {
        let event = text_fingerprint("user", "é/\u{1f600}".as_bytes());
        for content in [
            r#""é/😀""#,
            r#""\u00e9\/\ud83d\ude00""#,
            r#"[{"type":"input_text","text":"\u00e9/😀"}]"#,
            r#"[{"type":"input_text","text":"é\/"},{"type":"input_text","text":"😀"}]"#,
            r#"[{"type":"input_text","text":"é/\ud83d"},{"type":"input_text","text":"\ude00"}]"#,
        ] {
            assert_eq!(message_fingerprints(content), [event], "{content}");
        }
        assert_ne!(message_fingerprints(r#""é\\/😀""#), [event]);
        assert!(message_fingerprints(r#""""#).is_empty());
        assert!(message_fingerprints("[]").is_empty());
    }

    #[test]
    fn each_text_of_reasoning_has_a_fingerprint() {
        let item = br#"{"type":"reasoning","summary":[{"text":"a\/b"},{"text":""}],"content":[{"text":"c"}]}"#;
        let item: Outlined = Raw::parse(item).unwrap().into();
        let expected = [
            text_fingerprint("assistant", b"a/b"),
            text_fingerprint("assistant", b"c"),
        ];
        assert_eq!(item_fingerprints(item), expected);
        assert_eq!(list_reasoning_texts(item), ["a/b", "c"]);
    }
}
