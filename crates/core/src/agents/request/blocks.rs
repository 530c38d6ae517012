//! The contents of messages: text and images of a user or a tool, and the blocks of an assistant.

use super::sink::whole_text;
use crate::session::content;
use pisess_json::text::{self, Text, concat};
use pisess_json::{Raw, js};

/// A part of a user message or a tool result.
#[derive(Clone, Debug)]
pub enum Part<'a> {
    Text(Text<'a>),
    Image(Image<'a>),
}

/// An image in base64.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    pub media_type: Text<'a>,
    pub data: Text<'a>,
}

impl Image<'_> {
    pub fn url(&self) -> Text<'static> {
        concat(&[&"data:", &self.media_type, &";base64,", &self.data])
    }
}

/// The content of a user message.
#[derive(Clone, Debug)]
pub enum Content<'a> {
    /// A plain string.
    Plain(Text<'a>),
    Parts(Vec<Part<'a>>),
}

impl<'a> Content<'a> {
    /// Reads content; if it is missing, there are no parts. Blocks other than text and images are
    /// left out.
    pub fn of(content: Option<Raw<'a>>, half_pair: &str) -> Self {
        match content.and_then(Raw::text) {
            Some(text) => Content::Plain(whole_text(text, half_pair)),
            None => Content::Parts(parts(content, half_pair)),
        }
    }

    pub fn into_parts(self) -> Vec<Part<'a>> {
        match self {
            Content::Plain(text) => vec![Part::Text(text)],
            Content::Parts(parts) => parts,
        }
    }
}

/// Replaces an image whose data is not in the session.
const NO_IMAGE: &str = "(image omitted: its data is not in the session)";

fn parts<'a>(content: Option<Raw<'a>>, half_pair: &str) -> Vec<Part<'a>> {
    let part = |block: Raw<'a>| {
        if content::is_block(block, "text") {
            return block
                .get_text("text")
                .map(|text| Part::Text(whole_text(text, half_pair)));
        }
        content::is_block(block, "image").then(|| image(block))
    };
    content
        .unwrap_or(Raw::NULL)
        .items()
        .filter_map(part)
        .collect()
}

fn image(block: Raw<'_>) -> Part<'_> {
    let [data, media_type] = content::members(block, ["data", "mimeType"]);
    let is_base64 = |data: &Text| {
        !data.is_empty()
            && data
                .as_bytes()
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(byte))
    };
    match (
        data.and_then(Raw::text).filter(is_base64),
        media_type.and_then(Raw::text),
    ) {
        (Some(data), Some(media_type)) => Part::Image(Image { media_type, data }),
        _ => Part::Text(Text::from(NO_IMAGE)),
    }
}

/// Returns parts in the form of an API; texts for which there is none are left out.
pub fn rendered(
    parts: &[Part],
    text: impl Fn(&Text) -> Option<Vec<u8>>,
    image: impl Fn(&Image) -> Vec<u8>,
) -> Vec<Vec<u8>> {
    let part = |part: &Part| match part {
        Part::Text(given) => text(given),
        Part::Image(given) => Some(image(given)),
    };
    parts.iter().filter_map(part).collect()
}

/// Returns the texts of parts, joined by newlines.
pub fn joined(parts: &[Part]) -> Text<'static> {
    let texts = parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.borrowed()),
        Part::Image(_) => None,
    });
    text::joined(texts, "\n")
}

/// Returns the text of a result, which most APIs refuse if it is empty.
pub fn result_text(parts: &[Part], nothing: &'static str) -> Text<'static> {
    let text = joined(parts);
    match () {
        () if !text.is_blank() => text,
        () if images(parts).next().is_some() => Text::from("(see attached image)"),
        () => Text::from(nothing),
    }
}

pub fn images<'p, 'a>(parts: &'p [Part<'a>]) -> impl Iterator<Item = &'p Image<'a>> {
    parts.iter().filter_map(|part| match part {
        Part::Image(image) => Some(image),
        Part::Text(_) => None,
    })
}

/// A block of an assistant message.
#[derive(Debug)]
pub enum Block<'a> {
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
        redacted: bool,
    },
    Call(Call<'a>),
}

#[derive(Debug)]
pub struct Call<'a> {
    /// Its id in the body.
    pub id: Text<'static>,
    /// The id of its item, in the Responses API.
    pub item: Option<Text<'static>>,
    pub name: Text<'static>,
    pub arguments: Option<Raw<'a>>,
    /// The signature with which the provider accepts it again.
    pub signature: Option<Text<'a>>,
    /// The namespace of the tool, in the Responses API.
    pub namespace: Option<Raw<'a>>,
}

impl Call<'_> {
    /// Returns the arguments as JavaScript writes them: an object, empty if they are none.
    pub fn input(&self) -> Vec<u8> {
        let object = self.arguments.filter(|arguments| arguments.is_object());
        object.map_or(b"{}".to_vec(), |object| js::stringify(object).into_bytes())
    }
}

/// How the author of an assistant message compares with the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    pub provider: bool,
    pub api: bool,
    pub id: bool,
}

impl Source {
    pub fn is_same_model(self) -> bool {
        self.provider && self.api && self.id
    }
}

/// The result of a tool call.
#[derive(Debug)]
pub struct ToolResult<'a> {
    /// The call's id in the body.
    pub id: &'a Text<'static>,
    pub name: Text<'static>,
    pub parts: Vec<Part<'a>>,
    /// Whether it is an error, if the message records that.
    pub is_error: Option<bool>,
}
