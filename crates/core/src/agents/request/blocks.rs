//! The contents of messages: texts and images of a user or a tool, and the blocks of an assistant
//! message.

use super::sink::replace_lone_surrogates;
use crate::session::content;
use pisess_json::text::{self, Text, concat_texts};
use pisess_json::write::Object;
use pisess_json::{Raw, js};

/// A part of a user message or a tool result.
#[derive(Clone, Debug)]
pub enum ContentPart<'a> {
    Text(Text<'a>),
    Image(ImageData<'a>),
}

/// An image in base64.
#[derive(Clone, Debug)]
pub struct ImageData<'a> {
    pub media_type: Text<'a>,
    pub data: Text<'a>,
}

impl ImageData<'_> {
    /// Returns the image as a URL: `data:image/png;base64,…`.
    pub fn data_url(&self) -> Text<'static> {
        concat_texts(&[&"data:", &self.media_type, &";base64,", &self.data])
    }
}

/// The content of a user message.
#[derive(Clone, Debug)]
pub enum UserContent<'a> {
    /// A plain string.
    Plain(Text<'a>),
    Parts(Vec<ContentPart<'a>>),
}

impl<'a> UserContent<'a> {
    /// Reads content. Blocks other than texts and images are left out; missing content has no
    /// parts. `surrogate_replacement` replaces each lone surrogate in a text.
    pub fn read(content: Option<Raw<'a>>, surrogate_replacement: &str) -> Self {
        if let Some(text) = content.and_then(Raw::text) {
            return UserContent::Plain(replace_lone_surrogates(text, surrogate_replacement));
        }
        let blocks = content.unwrap_or(Raw::NULL).items();
        let parts = blocks.filter_map(|block| read_part(block, surrogate_replacement));
        UserContent::Parts(parts.collect())
    }

    /// Returns the content as parts; a string becomes one part.
    pub fn into_parts(self) -> Vec<ContentPart<'a>> {
        match self {
            UserContent::Plain(text) => vec![ContentPart::Text(text)],
            UserContent::Parts(parts) => parts,
        }
    }
}

/// The text in place of an image whose data is not in the session.
const IMAGE_PLACEHOLDER: &str = "(image omitted: its data is not in the session)";

/// Reads a block of content as a part of a message for an API; `None` if it is neither a text nor
/// an image.
fn read_part<'a>(block: Raw<'a>, surrogate_replacement: &str) -> Option<ContentPart<'a>> {
    if content::is_block(block, "text") {
        let text = block.get_text("text")?;
        Some(ContentPart::Text(replace_lone_surrogates(
            text,
            surrogate_replacement,
        )))
    } else if content::is_block(block, "image") {
        Some(read_image(block))
    } else {
        None
    }
}

/// Returns an image; if the block has no data in base64, a text in its place.
fn read_image(block: Raw<'_>) -> ContentPart<'_> {
    let [data, media_type] = content::find_members(block, ["data", "mimeType"]);
    if let Some(data) = data.and_then(Raw::text)
        && let Some(media_type) = media_type.and_then(Raw::text)
        && may_be_base64(&data)
    {
        return ContentPart::Image(ImageData { media_type, data });
    }
    ContentPart::Text(Text::from(IMAGE_PLACEHOLDER))
}

/// Whether a text has only characters of base64. `blob:…`, which oh-my-pi stores in place of data
/// that is outside of the session, has others.
fn may_be_base64(data: &Text) -> bool {
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=".contains(byte);
    !data.is_empty() && data.as_bytes().iter().all(is_allowed)
}

/// Converts parts of a message to the JSON of an API, with its functions for a text and for an
/// image. A text for which `render_text` returns `None` is left out, because some APIs refuse blank
/// texts.
pub fn render_parts(
    parts: &[ContentPart],
    render_text: impl Fn(&Text) -> Option<Vec<u8>>,
    render_image: impl Fn(&ImageData) -> Vec<u8>,
) -> Vec<Vec<u8>> {
    let mut rendered = Vec::new();
    for part in parts {
        match part {
            ContentPart::Text(text) => rendered.extend(render_text(text)),
            ContentPart::Image(image) => rendered.push(render_image(image)),
        }
    }
    rendered
}

/// Returns the texts among parts, joined by newlines.
pub fn join_texts(parts: &[ContentPart]) -> Text<'static> {
    let texts = parts.iter().filter_map(|part| match part {
        ContentPart::Text(text) => Some(text.as_borrowed()),
        ContentPart::Image(_) => None,
    });
    text::join_with(texts, "\n")
}

/// Returns the text of a result. Most APIs refuse a blank text. It is replaced by a note that there
/// are images or, if there are none, by `if_empty`.
pub fn result_text(parts: &[ContentPart], if_empty: &'static str) -> Text<'static> {
    let text = join_texts(parts);
    if !text.is_blank() {
        text
    } else if images_in(parts).next().is_some() {
        Text::from("(see attached image)")
    } else {
        Text::from(if_empty)
    }
}

/// Iterates over the images among parts.
pub fn images_in<'p, 'a>(parts: &'p [ContentPart<'a>]) -> impl Iterator<Item = &'p ImageData<'a>> {
    parts.iter().filter_map(|part| match part {
        ContentPart::Image(image) => Some(image),
        ContentPart::Text(_) => None,
    })
}

/// Returns a message in the form that all APIs but Google's have. `content` is JSON.
pub fn build_message(role: &str, content: &[u8]) -> Vec<u8> {
    Object::new()
        .str("role", role)
        .json("content", content)
        .finish()
}

/// A block of an assistant message.
#[derive(Debug)]
pub enum TurnBlock<'a> {
    Text {
        text: Text<'a>,
        /// The signature with which the provider accepts it again.
        signature: Option<Text<'a>>,
    },
    Thinking {
        text: Text<'a>,
        /// The signature with which the provider accepts it again.
        signature: Option<Text<'a>>,
        /// Whether the signature contains the thinking, encrypted, and the text is only a
        /// placeholder.
        is_redacted: bool,
    },
    Call(TurnCall<'a>),
}

/// A tool call in an assistant message.
#[derive(Debug)]
pub struct TurnCall<'a> {
    /// The id in the body.
    pub id: Text<'static>,
    /// In the Responses API: the id of the item that contains the call.
    pub item_id: Option<Text<'static>>,
    pub name: Text<'static>,
    pub arguments: Option<Raw<'a>>,
    /// The signature with which the provider accepts it again.
    pub signature: Option<Text<'a>>,
    /// In the Responses API: the namespace of the tool.
    pub namespace: Option<Raw<'a>>,
}

impl TurnCall<'_> {
    /// Returns the arguments as an object, as JavaScript writes it. It is empty if the arguments
    /// are missing or no object.
    pub fn input_json(&self) -> Vec<u8> {
        match self.arguments {
            Some(arguments) if arguments.is_object() => js::stringify(arguments).into_bytes(),
            _ => b"{}".to_vec(),
        }
    }
}

/// What the model that wrote an assistant message has in common with the model of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authorship {
    pub is_same_provider: bool,
    pub is_same_api: bool,
    /// Whether the models have the same id, perhaps with different providers.
    pub is_same_id: bool,
}

impl Authorship {
    /// Whether the message was written by the model of the request, through the same API.
    pub fn is_same_model(self) -> bool {
        self.is_same_provider && self.is_same_api && self.is_same_id
    }
}

/// The result of a tool call.
#[derive(Debug)]
pub struct ToolResult<'a> {
    /// The id of the call in the body.
    pub id: &'a Text<'static>,
    pub name: Text<'static>,
    pub parts: Vec<ContentPart<'a>>,
    /// Whether the result is an error; `None` if the message does not record it.
    pub is_error: Option<bool>,
}
