//! Finds where the session and the messages are in a document, so that they can be read one by one:
//! a document may be too long for the memory.
//!
//! Only brackets and strings are recognized. Whether a value is valid JSON is checked when it is
//! read.

use pisess_store::ReadAt;
use std::io;
use std::ops::Range;

/// The number of bytes to read at a time.
const CHUNK_LEN: usize = 256 * 1024;

/// Where the values of an export are.
#[derive(Default)]
pub(super) struct DocumentLayout {
    /// The object `info`.
    pub session: Option<Range<u64>>,
    /// Whether there is an array `messages`.
    pub has_messages: bool,
    /// The objects and arrays in that array.
    pub messages: Vec<Range<u64>>,
}

impl DocumentLayout {
    /// Scans a file; `None` if it is not one whole object.
    pub fn read(file: &dyn ReadAt) -> io::Result<Option<DocumentLayout>> {
        let mut finder = LayoutFinder::default();
        let mut buffer = vec![0; CHUNK_LEN];
        let mut offset = 0;
        loop {
            let read_len = match file.read_at(&mut buffer, offset) {
                Ok(0) => break,
                Ok(read_len) => read_len,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            for &byte in &buffer[..read_len] {
                if !finder.allows(byte) {
                    return Ok(None);
                }
                finder.scan_byte(offset, byte);
                offset += 1;
            }
        }
        // Otherwise the file ends within the object.
        Ok(finder.has_ended.then_some(finder.layout))
    }
}

/// A member of the document.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Member {
    Session,
    Messages,
    #[default]
    Other,
}

/// A scan of a document, byte by byte.
#[derive(Default)]
struct LayoutFinder {
    /// What was found so far.
    layout: DocumentLayout,
    /// The number of open objects and arrays.
    depth: usize,
    is_in_string: bool,
    /// Whether the last byte was a backslash that escapes the next one.
    is_escaped: bool,
    /// Whether the next string at depth 1 is the name of a member, and not a value.
    expects_name: bool,
    /// The name of the member that was read last.
    member_name: Vec<u8>,
    /// The member whose value is being read.
    member: Member,
    /// The offset at which the session or message that is being read began.
    start: u64,
    /// Whether the object has ended.
    has_ended: bool,
}

impl LayoutFinder {
    /// Whether the next byte may be part of a file that is one object. It may not if it precedes
    /// the opening brace or follows the closing one, unless it is white space.
    fn allows(&self, byte: u8) -> bool {
        if byte.is_ascii_whitespace() {
            return true;
        }
        if self.has_ended {
            return false;
        }
        let is_in_object = self.depth > 0;
        is_in_object || byte == b'{'
    }

    /// Scans the next byte, which is at `offset`.
    fn scan_byte(&mut self, offset: u64, byte: u8) {
        if self.is_in_string {
            return self.scan_string_byte(byte);
        }
        let is_in_document = self.depth == 1;
        match byte {
            b'"' => {
                self.is_in_string = true;
                if self.is_at_name() {
                    self.member_name.clear();
                }
            }
            // Between the name and the value of a member of the document.
            b':' if is_in_document => {
                self.expects_name = false;
                self.member = match &*self.member_name {
                    b"info" => Member::Session,
                    b"messages" => Member::Messages,
                    _ => Member::Other,
                };
            }
            // Between two members of the document.
            b',' if is_in_document => self.expects_name = true,
            b'{' | b'[' => self.open_bracket(offset, byte),
            b'}' | b']' => self.close_bracket(offset + 1),
            // White space, numbers, `true`, `false`, `null`, and the punctuation within values.
            _ => {}
        }
    }

    /// Scans a byte of a string, up to its closing quote, and collects the byte if the string is
    /// the name of a member of the document. Escapes in a name are collected as they are written:
    /// the names to be found have none.
    fn scan_string_byte(&mut self, byte: u8) {
        if self.is_escaped {
            self.is_escaped = false;
        } else if byte == b'\\' {
            self.is_escaped = true;
        } else if byte == b'"' {
            self.is_in_string = false;
            return;
        }
        if self.is_at_name() {
            self.member_name.push(byte);
        }
    }

    /// Whether a string at the present place is the name of a member of the document.
    fn is_at_name(&self) -> bool {
        self.depth == 1 && self.expects_name
    }

    /// Enters an object or array, whose bracket is at `offset`. If it is the session or a message,
    /// records that it begins here.
    fn open_bracket(&mut self, offset: u64, byte: u8) {
        self.depth += 1;
        // The document itself: the name of its first member comes next.
        if self.depth == 1 {
            self.expects_name = true;
        }
        // The value of a member of the document.
        if self.depth == 2 && self.member == Member::Messages && byte == b'[' {
            self.layout.has_messages = true;
        }
        if self.depth == self.value_depth() {
            self.start = offset;
        }
    }

    /// Leaves an object or array, which ends before `end`. If it is the session or a message,
    /// records where it is.
    fn close_bracket(&mut self, end: u64) {
        if self.depth == self.value_depth() {
            match self.member {
                Member::Session => self.layout.session = Some(self.start..end),
                Member::Messages => self.layout.messages.push(self.start..end),
                Member::Other => {}
            }
        }
        self.depth -= 1;
        self.has_ended = self.depth == 0;
    }

    /// Returns the depth at which the values are that are recorded for the current member: the
    /// messages are in an array, and the session is the value itself.
    fn value_depth(&self) -> usize {
        if self.member == Member::Messages {
            3
        } else {
            2
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(json: &str) -> Option<DocumentLayout> {
        DocumentLayout::read(&json.as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn the_session_and_each_message_are_found() {
        let json = r#" {"x":{"info":[1]},"info": {"a\"b":"}{"}, "messages":[{"c":[]} , 7,[8],{}],"y":"messages"} "#;
        let layout = layout(json).unwrap();
        let text = |span: &Range<u64>| &json[span.start as usize..span.end as usize];
        assert_eq!(layout.session.as_ref().map(text), Some(r#"{"a\"b":"}{"}"#));
        let messages: Vec<_> = layout.messages.iter().map(text).collect();
        assert_eq!(messages, [r#"{"c":[]}"#, "[8]", "{}"]);
        assert!(layout.has_messages);
    }

    #[test]
    fn what_is_not_one_object_has_none() {
        for json in ["", "[]", "{", "{}{}", "{} x", "x{}", r#"{"info":"}"#, "}"] {
            assert!(layout(json).is_none(), "{json}");
        }
        assert!(layout("{}").is_some_and(|layout| !layout.has_messages));
    }
}
