//! Members, content and content blocks of messages, as both agents read and write them.
//!
//! Content is a string or an array of blocks; a block is an object with a `type`. For how
//! JavaScript treats single values, see [`pisess_json::js`].

use pisess_json::text::{self, Text};
use pisess_json::write::{Object, array};
use pisess_json::{Malformed, Raw, Scanner, js, string};
use std::borrow::Cow;

/// Finds several members of an object in one walk; of a repeated key, the last. The result is in
/// the order of `names`.
pub fn find_members<'a, const N: usize>(object: Raw<'a>, names: [&str; N]) -> [Option<Raw<'a>>; N] {
    let mut found = [None; N];
    for (key, value) in object.members() {
        if let Some(index) = names.iter().position(|name| key.is(name)) {
            found[index] = Some(value);
        }
    }
    found
}

/// A block of a message's content after its conversion.
pub enum ConvertedBlock {
    /// The block stays the same.
    Same,
    /// What replaces the block, as JSON.
    Changed(Vec<u8>),
    /// The block is left out.
    Dropped,
}

/// Returns content with its blocks converted by `convert`; `None` if all blocks stay the same.
pub fn convert_blocks<'a>(
    content: Raw<'a>,
    convert: impl Fn(Raw<'a>) -> ConvertedBlock,
) -> Option<Vec<u8>> {
    let mut has_changed = false;
    let mut blocks = Vec::new();
    for block in content.items() {
        match convert(block) {
            ConvertedBlock::Same => blocks.push(Cow::Borrowed(block.bytes())),
            ConvertedBlock::Changed(changed) => {
                blocks.push(Cow::Owned(changed));
                has_changed = true;
            }
            ConvertedBlock::Dropped => has_changed = true,
        }
    }
    if has_changed {
        Some(array(blocks))
    } else {
        None
    }
}

/// Calls `visit` for each item of an array, with the members of the item that have these names, in
/// one walk over the array.
///
/// Of a repeated key, the last counts. An item that is not an object has no members. A value that
/// is not an array has no items.
pub fn for_each_item<'a, const N: usize>(
    array: Raw<'a>,
    names: [&str; N],
    mut visit: impl FnMut([Option<Raw<'a>>; N]),
) {
    if !array.is_array() {
        return;
    }
    // The value is known to be valid JSON, so the walk cannot fail.
    let _ = Scanner::document(array.bytes()).walk_array(|scanner| {
        visit(scan_members(scanner, &names)?);
        Ok(())
    });
}

/// Moves the scanner past a value, and returns the members of the value that have these names, as
/// [`find_members`] does. A value that is not an object has none.
#[inline]
fn scan_members<'a, const N: usize>(
    scanner: &mut Scanner<'a>,
    names: &[&str; N],
) -> Result<[Option<Raw<'a>>; N], Malformed> {
    let mut found = [None; N];
    if scanner.peek() != b'{' {
        scanner.skip_value()?;
        return Ok(found);
    }
    scanner.walk_object(|scanner, key| {
        let value = Raw::from_checked(scanner.read_value()?);
        if let Some(index) = names.iter().position(|name| key.is(name)) {
            found[index] = Some(value);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Whether the member exists and is truthy in JavaScript.
pub fn has_truthy(object: Raw, key: &str) -> bool {
    object.get(key).is_some_and(Raw::is_truthy)
}

/// Whether the member is the string `text`.
pub fn member_is(object: Raw, key: &str, text: &str) -> bool {
    object.get(key).is_some_and(|value| value.is(text))
}

/// Returns a member that is a string, without surrounding white space; `None` if nothing remains,
/// or the member is not a string.
pub fn trimmed_text(object: Raw, key: &str) -> Option<Text<'static>> {
    let whole = object.get_text(key)?;
    let text = whole.trim();
    if text.is_empty() {
        None
    } else {
        Some(text.into_owned())
    }
}

/// Whether the member is missing, not a string, or only white space.
pub fn is_blank_member(object: Raw, key: &str) -> bool {
    object
        .get(key)
        .and_then(Raw::raw_string)
        .is_none_or(string::is_blank)
}

/// Whether the value is a block of the type `kind`, such as `text`.
pub fn is_block(value: Raw, kind: &str) -> bool {
    member_is(value, "type", kind)
}

/// Returns the blocks of the type `kind`, such as `toolCall`.
pub fn blocks_of_type<'a>(content: Raw<'a>, kind: &'a str) -> impl Iterator<Item = Raw<'a>> {
    content.items().filter(move |block| is_block(*block, kind))
}

/// Returns a block of type `text` as JSON.
pub fn text_block(text: &Text) -> Vec<u8> {
    Object::new()
        .str("type", "text")
        .text("text", text)
        .finish()
}

/// Returns content that is one block of type `text`, as JSON.
pub fn text_content(text: &Text) -> Vec<u8> {
    array([text_block(text)])
}

/// Returns the text of content: a string unchanged, or the texts of the text blocks, joined. A text
/// that is not a string is converted as in JavaScript. This is pi-ai's `contentText`.
pub fn content_text<'a>(content: Option<Raw<'a>>, separator: &str) -> Text<'a> {
    join_text_blocks(content, separator, |text| match text {
        Some(text) if !text.is_null() => Some(js::to_js_string(text)),
        // `text ?? ""` in JavaScript.
        _ => Some(Text::default()),
    })
}

/// Returns the text of content: a string unchanged, or the texts of the text blocks, joined. A text
/// that is not a string is left out, as oh-my-pi does.
pub fn join_text(content: Option<Raw>, separator: &str) -> Text<'static> {
    join_text_borrowed(content, separator).into_owned()
}

/// Does the same as [`join_text`], but borrows the text if it is one string that needs no decoding.
pub fn join_text_borrowed<'a>(content: Option<Raw<'a>>, separator: &str) -> Text<'a> {
    join_text_blocks(content, separator, |text| text?.text())
}

/// Returns the text of a message's content: a string unchanged, or the texts of its text blocks,
/// joined by `separator`. `to_text` converts the text of a block; a block for which it returns
/// `None` is left out.
fn join_text_blocks<'a>(
    content: Option<Raw<'a>>,
    separator: &str,
    to_text: impl Fn(Option<Raw<'a>>) -> Option<Text<'a>>,
) -> Text<'a> {
    let content = content.unwrap_or(Raw::NULL);
    if let Some(text) = content.text() {
        return text;
    }
    let mut texts = Vec::new();
    for_each_item(content, ["type", "text"], |[kind, text]| {
        let is_text_block = kind.is_some_and(|kind| kind.is("text"));
        if is_text_block && let Some(text) = to_text(text) {
            texts.push(text);
        }
    });
    if texts.len() == 1 {
        // One text need not be copied.
        return texts.swap_remove(0);
    }
    text::join_with(texts, separator)
}

/// Returns the text of a message or a custom message, given the line of its entry.
pub fn entry_text(line: Raw) -> Text<'static> {
    join_text(
        line.get("message")
            .and_then(|message| message.get("content"))
            .or(line.get("content")),
        "",
    )
}

/// Returns the number, or 0 if the value is missing, not a number, or not finite.
pub fn finite_or_zero(value: Option<Raw>) -> f64 {
    value
        .and_then(Raw::number)
        .filter(|number| number.is_finite())
        .unwrap_or(0.0)
}

/// Returns the length of a string in UTF-16 units; 0 for any other value.
pub fn string_len(value: Option<Raw>) -> u64 {
    value
        .and_then(Raw::raw_string)
        .map_or(0, |raw| string::utf16_len(raw) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Option<Raw<'_>> {
        Some(Raw::parse(json.as_bytes()).unwrap())
    }

    #[test]
    fn a_content_is_a_string_or_its_text_blocks() {
        let blocks = r#"[{"type":"text","text":"a"},{"type":"image"},null,{"type":"text"},{"type":"text","text":"b"}]"#;
        assert_eq!(content_text(raw(blocks), "\n"), "a\n\nb");
        assert_eq!(join_text(raw(blocks), "\n"), "a\nb");
        assert_eq!(content_text(raw(r#""plain""#), "\n"), "plain");
        assert_eq!(content_text(raw("5"), "\n"), "");
    }
}
