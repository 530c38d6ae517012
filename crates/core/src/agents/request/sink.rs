//! Writes a body piece by piece. Lone surrogates, which the APIs refuse, are replaced.

use pisess_json::string;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::borrow::Cow;
use std::io::{self, Write};

/// The user message that is inserted if the first message is the assistant's, which some APIs
/// refuse.
pub const NO_REQUEST: &str = "(no earlier message)";

/// Whose the last message of a body is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastMessage {
    /// The model's own. Some APIs refuse such a body; others continue the message.
    Answer,
    /// The user's, or a tool's.
    Request,
}

/// What is written of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SinkPart {
    Whole,
    /// Only the items of the list, with commas between them. The caller joins the items of several
    /// sinks, and writes the comma between these.
    Items,
}

/// The output of a body. Nothing is written before the first item of the list of messages.
pub struct BodySink<'a> {
    out: &'a mut dyn Write,
    part: SinkPart,
    /// The replacement for a lone surrogate.
    surrogate_replacement: &'static str,
    /// What has to be written before the first item; empty once it is written.
    pending_prefix: Vec<u8>,
    /// The number of items written.
    item_count: usize,
    /// Whose the last item is. Meaningless without an item.
    last_message: LastMessage,
}

impl<'a> BodySink<'a> {
    /// Returns a sink for a whole body. `surrogate_replacement` replaces each lone surrogate.
    pub fn new(out: &'a mut dyn Write, surrogate_replacement: &'static str) -> Self {
        BodySink {
            out,
            part: SinkPart::Whole,
            surrogate_replacement,
            pending_prefix: Vec::new(),
            item_count: 0,
            last_message: LastMessage::Request,
        }
    }

    /// Returns a sink for a part of the list. It writes only the items, with commas between them.
    pub fn for_items(out: &'a mut dyn Write, surrogate_replacement: &'static str) -> Self {
        BodySink {
            part: SinkPart::Items,
            ..BodySink::new(out, surrogate_replacement)
        }
    }

    /// Begins the body with these members, and a list with the key `list`.
    pub fn begin_list(&mut self, members: Object, list: &str) {
        let mut prefix = members.finish();
        // Removes the closing brace, because the list and other members follow.
        prefix.pop();
        let has_members = prefix.len() > 1;
        let gap = if has_members { "," } else { "" };
        prefix.extend_from_slice(format!("{gap}\"{list}\":[").as_bytes());
        self.pending_prefix = prefix;
    }

    /// Adds an item before the first one, which does not count: if no other item follows, nothing
    /// is written.
    pub fn push_uncounted_item(&mut self, item: &[u8]) {
        self.pending_prefix.extend_from_slice(item);
        self.pending_prefix.push(b',');
    }

    pub fn has_items(&self) -> bool {
        self.item_count > 0
    }

    /// Writes an answer of the model, or a part of one.
    pub fn write_answer(&mut self, json: &[u8]) -> io::Result<()> {
        self.write_item(json)?;
        self.last_message = LastMessage::Answer;
        Ok(())
    }

    /// Writes an item of the list: a request, or anything else that is not an answer of the model.
    /// The start of the body is written before the first item, so that a body without items is not
    /// written at all.
    pub fn write_item(&mut self, json: &[u8]) -> io::Result<()> {
        let is_first = self.item_count == 0;
        if !is_first {
            self.write(b",")?;
        } else if self.part == SinkPart::Whole {
            let prefix = std::mem::take(&mut self.pending_prefix);
            self.write(&prefix)?;
        }
        self.write(json)?;
        self.item_count += 1;
        self.last_message = LastMessage::Request;
        Ok(())
    }

    /// Writes JSON, with the replacement in place of each lone surrogate.
    fn write(&mut self, json: &[u8]) -> io::Result<()> {
        self.out.write_all(&replace_escaped_surrogates(
            json,
            self.surrogate_replacement,
        ))
    }

    /// Ends the list of items and the body, with `trailing_members` between. A sink for a batch of
    /// items writes neither.
    ///
    /// Returns whose the last item is: the model's, or another's. `None` if there is no item; then
    /// nothing was written, not even the start of the body.
    pub fn end_list(mut self, trailing_members: Object) -> io::Result<Option<LastMessage>> {
        if self.item_count == 0 {
            return Ok(None);
        }
        if self.part == SinkPart::Items {
            return Ok(Some(self.last_message));
        }

        let trailing_json = trailing_members.finish();
        let has_members = trailing_json != b"{}";
        let list_end: &[u8] = if has_members { b"]," } else { b"]" };
        self.write(list_end)?;
        // The object begins with a brace, which the body has at its start already.
        self.write(&trailing_json[1..])?;
        Ok(Some(self.last_message))
    }
}

/// Returns the JSON of a body with `replacement` for each escaped surrogate, such as `\ud83d`. In a
/// body, pairs of surrogates are never escaped, so each of these is a lone one, which the APIs
/// refuse.
fn replace_escaped_surrogates<'a>(json: &'a [u8], replacement: &str) -> Cow<'a, [u8]> {
    // Most bodies have none.
    if memchr::memmem::find(json, SURROGATE_START).is_none() {
        return Cow::Borrowed(json);
    }
    let mut out = Vec::with_capacity(json.len());
    let mut remaining = json;
    while let Some(backslash) = memchr::memchr(b'\\', remaining) {
        let (before, from_backslash) = remaining.split_at(backslash);
        out.extend_from_slice(before);

        if begins_with_surrogate(from_backslash) {
            out.extend_from_slice(replacement.as_bytes());
            remaining = from_backslash.get(br"\ud800".len()..).unwrap_or_default();
        } else {
            // With the character after the backslash: in `\\ud800`, that is another backslash, so
            // the rest is text.
            let escape_len = from_backslash.len().min(br"\n".len());
            let (escape, after) = from_backslash.split_at(escape_len);
            out.extend_from_slice(escape);
            remaining = after;
        }
    }
    out.extend_from_slice(remaining);
    Cow::Owned(out)
}

/// The start of each escaped surrogate, in lower case, as `JSON.stringify` writes it.
const SURROGATE_START: &[u8] = br"\ud";

/// Whether JSON begins with an escaped surrogate: an escape from `\ud800` to `\udfff`.
fn begins_with_surrogate(json: &[u8]) -> bool {
    match json.strip_prefix(SURROGATE_START) {
        Some(last_digits) => matches!(last_digits.first(), Some(b'8' | b'9' | b'a'..=b'f')),
        None => false,
    }
}

/// Returns a text with `replacement` in place of each lone surrogate.
pub fn replace_lone_surrogates<'a>(text: Text<'a>, replacement: &str) -> Text<'a> {
    // A text is WTF-8, which is UTF-8 unless it contains lone surrogates.
    if string::is_utf8(text.as_bytes()) {
        return text;
    }
    let mut out = String::with_capacity(text.as_bytes().len());
    for code_point in text.code_points() {
        match char::from_u32(code_point) {
            Some(character) => out.push(character),
            None => out.push_str(replacement),
        }
    }
    Text::from(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_replaced_and_nothing_else() {
        let json = r#"["a\ud83dz","\\ud83d","\n\u0001\\\\\udc00","😀"]"#;
        let cleaned = |replacement| {
            let json = replace_escaped_surrogates(json.as_bytes(), replacement);
            String::from_utf8(json.into_owned()).unwrap()
        };
        assert_eq!(cleaned(""), r#"["az","\\ud83d","\n\u0001\\\\","😀"]"#);
        assert_eq!(
            cleaned("\u{fffd}"),
            "[\"a\u{fffd}z\",\"\\\\ud83d\",\"\\n\\u0001\\\\\\\\\u{fffd}\",\"😀\"]"
        );
    }
}
