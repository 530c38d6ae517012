//! A message and its parts.

use crate::parts::{non_empty_text, parse_time_ms, unconverted_members};
use pisess_core::session::content::find_members;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;

/// A message, from its line.
pub(super) struct OpenCodeMessage<'a> {
    /// The offset of its line.
    pub offset: u64,
    /// The line.
    pub line: Raw<'a>,
    /// The object with its id, role, times and other members, without its parts.
    pub info: Raw<'a>,
    /// Its parts, an array.
    pub parts: Raw<'a>,
    /// When it was created, in milliseconds since 1970.
    pub created_ms: Option<i64>,
}

impl<'a> OpenCodeMessage<'a> {
    /// Reads the message of a line; `None` if the line has none.
    pub fn read(offset: u64, line: Raw<'a>) -> Option<OpenCodeMessage<'a>> {
        let [info, parts] = find_members(line, ["info", "parts"]);
        let info = info.filter(|info| info.is_object())?;
        Some(OpenCodeMessage {
            offset,
            line,
            info,
            parts: parts.unwrap_or(Raw::NULL),
            created_ms: created_ms(info),
        })
    }

    pub fn id(&self) -> Option<Text<'a>> {
        non_empty_text(self.info, "id")
    }
}

/// Returns the time at which a session or a message was created, in milliseconds since 1970.
pub(super) fn created_ms(info: Raw) -> Option<i64> {
    parse_time_ms(info.get("time")?.get("created"))
}

/// Whether a part has this type.
pub(super) fn is_part(part: Raw, part_type: &str) -> bool {
    part.get("type").is_some_and(|found| found.is(part_type))
}

/// Returns the members of a part, without those with `converted_keys`, which are in its entry.
/// `None` if only its id and type are left.
pub(super) fn unconverted_part(part: Raw, converted_keys: &[&str]) -> Option<Vec<u8>> {
    let mut has_content = false;
    let mut unconverted = Object::new();
    for (key, value) in part.members() {
        if converted_keys.iter().any(|name| key.is(name)) {
            continue;
        }
        if !key.is("id") && !key.is("type") {
            has_content = true;
        }
        unconverted = unconverted.raw(&key.text().to_string_lossy(), value);
    }
    if !has_content {
        return None;
    }
    Some(unconverted.finish())
}

/// Returns the member `opencode` of the entry of a message: the members of `info` except those with
/// `converted_keys`, which are in the entry, and `parts`, which are not.
pub(super) fn unconverted_message(
    info: Raw,
    converted_keys: &[&str],
    parts: &[Vec<u8>],
) -> Vec<u8> {
    unconverted_members(info, converted_keys)
        .json_array("parts", parts)
        .finish()
}

/// Returns the block of an image. `None` if the file is not an image, or if its data is not in a
/// `data:` URL.
pub(super) fn convert_image(file: Raw) -> Option<Vec<u8>> {
    let url = file.get_text("url")?.into_string_lossy();
    let (media_type, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    if !media_type.starts_with("image/") {
        return None;
    }
    // Parameters may follow the MIME type, such as a character set.
    let mime = media_type.split(';').next().unwrap_or(media_type);
    crate::parts::image_block(Some(Text::from(data)), Some(Text::from(mime)))
}
