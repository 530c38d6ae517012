//! Iterates over every string of a value, including keys, with its path.
//!
//! This is for redaction and other readers that must not miss a string, whatever the shape of the
//! value. The walk is not recursive.

use super::scan::{Malformed, RawString, Scanner};
use super::string;
use std::ops::Range;

/// An iterator over the strings of one value, in file order.
#[derive(Debug)]
pub struct Strings<'a> {
    scanner: Scanner<'a>,
    /// The containers around the current position.
    path: Vec<Step<'a>>,
    next: Next,
}

/// A step from a container to a value in it.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// To a member of an object: its key, as it is stored between its quotes.
    Key(&'a [u8]),
    /// To an item of an array: its index.
    Index(usize),
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The key of a member.
    Key,
    /// A value: the value of a member, an item, or the whole value.
    Value,
    /// The byte after a value: a comma or a closing bracket. Or the end.
    AfterValue,
}

/// A string of a line.
#[derive(Clone, Debug)]
pub struct LineString<'a> {
    /// The bytes between its quotes, as they are written.
    pub raw: RawString<'a>,
    /// The range of those bytes, from the start of the line.
    pub range: Range<usize>,
    /// Whether it is a key.
    pub is_key: bool,
}

impl<'a> Strings<'a> {
    /// Returns an iterator over a line with one value. White space around it is skipped, including
    /// newlines.
    pub fn new(line: &'a [u8]) -> Self {
        Strings {
            scanner: Scanner::document(line),
            path: Vec::new(),
            next: Next::Value,
        }
    }

    /// Returns the path of the value at an offset of the line: of the first value, from the current
    /// position on, that ends after the offset. Empty if there is none, or if the line is not JSON
    /// up to there.
    ///
    /// The iterator continues after that value.
    pub fn path_at(&mut self, offset: usize) -> String {
        loop {
            let is_after_value = self.next == Next::AfterValue;
            if is_after_value && self.scanner.pos() > offset {
                return self.path();
            }
            // At the end of the line as well, this is an error: no token follows.
            if self.walk_token().is_err() {
                return String::new();
            }
        }
    }

    /// Returns the next string; `None` at the end of the value.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are not one JSON value to their end.
    pub fn advance(&mut self) -> Result<Option<LineString<'a>>, Malformed> {
        while !self.is_at_end() {
            if let Some(string) = self.walk_token()? {
                return Ok(Some(string));
            }
        }
        Ok(None)
    }

    /// Whether the whole value was walked over, and nothing follows it.
    fn is_at_end(&mut self) -> bool {
        self.next == Next::AfterValue && self.path.is_empty() && self.scanner.at_end()
    }

    /// Returns the key of the innermost member that contains the string last returned, as written;
    /// empty if there is none.
    pub fn nearest_key(&self) -> &'a [u8] {
        for step in self.path.iter().rev() {
            if let Step::Key(key) = *step {
                return key;
            }
        }
        b""
    }

    /// Returns the path of the string last returned, as JavaScript would write it:
    /// `message.content[0].text`.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Key(key) => {
                    path += if path.is_empty() { "" } else { "." };
                    path += &string::decode(key).to_string_lossy();
                }
                Step::Index(index) => path += &format!("[{index}]"),
            }
        }
        path
    }

    /// Walks over the next token, and returns it if it is a string. A scalar is one token, and so
    /// is a key with its colon. Each bracket and each comma of a container is one token, but an
    /// empty container is a single token.
    ///
    /// `next` says which tokens may come. Each step sets it to what may follow.
    fn walk_token(&mut self) -> Result<Option<LineString<'a>>, Malformed> {
        let byte = self.scanner.peek();
        match self.next {
            Next::Key => return self.walk_string().map(Some),
            Next::Value => match byte {
                b'"' => return self.walk_string().map(Some),
                // Until the first key is read, an empty one is in its place in the path.
                b'{' => self.open_container(Step::Key(b""), Next::Key, b'}'),
                b'[' => self.open_container(Step::Index(0), Next::Value, b']'),
                // A number, `true`, `false` or `null`.
                _ => {
                    self.next = Next::AfterValue;
                    self.scanner.skip_value()?;
                }
            },
            Next::AfterValue => self.walk_after_value(byte)?,
        }
        Ok(None)
    }

    /// Walks over the byte after a value. In an object, it is a comma or the closing brace, and in
    /// an array, a comma or the closing bracket. Any other byte is malformed.
    fn walk_after_value(&mut self, byte: u8) -> Result<(), Malformed> {
        match (byte, self.path.last_mut()) {
            (b',', Some(Step::Key(_))) => self.next = Next::Key,
            (b',', Some(Step::Index(index))) => {
                *index += 1;
                self.next = Next::Value;
            }
            (b'}', Some(Step::Key(_))) | (b']', Some(Step::Index(_))) => {
                // The container is a value that has ended, so `next` stays as it is.
                self.path.pop();
            }
            _ => {
                return Err(Malformed {
                    at: self.scanner.pos(),
                });
            }
        }
        self.skip_byte();
        Ok(())
    }

    /// Walks over the bracket that begins a container. If the container is empty, walks over its
    /// closing bracket as well. Otherwise adds `first_step`, the step to its first value, to the
    /// path, and expects `next`.
    fn open_container(&mut self, first_step: Step<'a>, next: Next, closing_bracket: u8) {
        self.skip_byte();
        if self.scanner.peek() == closing_bracket {
            self.skip_byte();
            self.next = Next::AfterValue;
        } else {
            self.path.push(first_step);
            self.next = next;
        }
    }

    /// Walks over a string that is a key or a value; for a key, also over its colon. A key replaces
    /// the last step of the path: this is the key before it in the object, or an empty key before
    /// the first one.
    fn walk_string(&mut self) -> Result<LineString<'a>, Malformed> {
        let is_key = self.next == Next::Key;
        let raw = self.scanner.read_string()?;
        let content_end = self.scanner.pos() - "\"".len();
        self.next = Next::AfterValue;
        if is_key {
            self.path.pop();
            self.path.push(Step::Key(raw.bytes));
            self.scanner.expect(b':')?;
            self.next = Next::Value;
        }
        Ok(LineString {
            raw,
            range: content_end - raw.bytes.len()..content_end,
            is_key,
        })
    }

    fn skip_byte(&mut self) {
        self.scanner.seek(self.scanner.pos() + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(line: &str) -> Result<Vec<String>, Malformed> {
        let mut strings = Strings::new(line.as_bytes());
        let mut seen = Vec::new();
        while let Some(found) = strings.advance()? {
            let spelled = &line[found.range.clone()];
            assert_eq!(spelled.as_bytes(), found.raw.bytes);
            seen.push(format!(
                "{}{}={spelled}",
                if found.is_key { "key " } else { "" },
                strings.path()
            ));
        }
        Ok(seen)
    }

    #[test]
    fn keys_and_values_have_their_paths() {
        let seen =
            walked(r#" {"a":"1","b":[["x"],{"c":"\n"},[],{}],"d":null,"":{"e":"2"}} "#).unwrap();
        assert_eq!(
            seen,
            [
                "key a=a",
                "a=1",
                "key b=b",
                "b[0][0]=x",
                "key b[1].c=c",
                r"b[1].c=\n",
                "key d=d",
                "key =",
                "key e=e",
                "e=2"
            ]
        );
        assert_eq!(walked(r#""alone""#).unwrap(), ["=alone"]);
        assert_eq!(walked("7").unwrap(), Vec::<String>::new());
        for line in [
            "",
            "{",
            r#"{"a"}"#,
            r#"{"a":1}{"b":2}"#,
            "[1,]",
            r#"["a" "b"]"#,
            "]",
            r#"{"a":"b"]"#,
            r#"{"a":1,}"#,
        ] {
            assert!(walked(line).is_err(), "{line}");
        }
    }

    #[test]
    fn depth_does_not_overflow_the_stack() {
        let deep = "[".repeat(200_000) + "\"x\"" + &"]".repeat(200_000);
        let mut strings = Strings::new(deep.as_bytes());
        assert!(strings.advance().unwrap().is_some());
        assert!(strings.advance().unwrap().is_none());
    }
}
