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
    /// The steps into the containers around the current position. An object has no step before its
    /// first key is read.
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
    /// The key of the first member of an object.
    FirstKey,
    /// The key of another member, after a comma.
    LaterKey,
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
    /// The range of `raw` in the line.
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
    /// `next` says which tokens may come. It is set only here, once for each token. The functions
    /// of this file that it calls are always inlined, because calls make the walk slower.
    fn walk_token(&mut self) -> Result<Option<LineString<'a>>, Malformed> {
        match self.next {
            Next::FirstKey => {
                let key = self.read_key()?;
                self.path.push(Step::Key(key.raw.bytes));
                self.next = Next::Value;
                Ok(Some(key))
            }
            Next::LaterKey => {
                let key = self.read_key()?;
                // The last step is the key of the member before.
                self.path.pop();
                self.path.push(Step::Key(key.raw.bytes));
                self.next = Next::Value;
                Ok(Some(key))
            }
            Next::Value => match self.scanner.peek() {
                b'"' => {
                    let value = self.read_string()?;
                    self.next = Next::AfterValue;
                    Ok(Some(value))
                }
                b'{' => {
                    self.skip_byte();
                    self.next = if self.try_skip(b'}') {
                        Next::AfterValue
                    } else {
                        Next::FirstKey
                    };
                    Ok(None)
                }
                b'[' => {
                    self.skip_byte();
                    if self.try_skip(b']') {
                        self.next = Next::AfterValue;
                    } else {
                        self.path.push(Step::Index(0));
                        self.next = Next::Value;
                    }
                    Ok(None)
                }
                // A number, `true`, `false` or `null`.
                _ => {
                    self.scanner.skip_value()?;
                    self.next = Next::AfterValue;
                    Ok(None)
                }
            },
            Next::AfterValue => {
                self.next = self.walk_after_value()?;
                Ok(None)
            }
        }
    }

    /// Walks over the byte after a value, and returns what comes next. In an object, the byte is a
    /// comma or the closing brace, and in an array, a comma or the closing bracket. Any other byte
    /// is malformed.
    #[inline(always)]
    fn walk_after_value(&mut self) -> Result<Next, Malformed> {
        let next = match (self.scanner.peek(), self.path.last_mut()) {
            (b',', Some(Step::Key(_))) => Next::LaterKey,
            (b',', Some(Step::Index(index))) => {
                *index += 1;
                Next::Value
            }
            (b'}', Some(Step::Key(_))) | (b']', Some(Step::Index(_))) => {
                self.path.pop();
                // The container is itself a value, which has ended here.
                Next::AfterValue
            }
            _ => {
                return Err(Malformed {
                    at: self.scanner.pos(),
                });
            }
        };
        self.skip_byte();
        Ok(next)
    }

    /// Walks over a key and its colon.
    #[inline(always)]
    fn read_key(&mut self) -> Result<LineString<'a>, Malformed> {
        let mut key = self.read_string()?;
        key.is_key = true;
        self.scanner.expect(b':')?;
        Ok(key)
    }

    /// Walks over a string, and returns it as a value.
    #[inline(always)]
    fn read_string(&mut self) -> Result<LineString<'a>, Malformed> {
        let raw = self.scanner.read_string()?;
        let content_end = self.scanner.pos() - "\"".len();
        Ok(LineString {
            raw,
            range: content_end - raw.bytes.len()..content_end,
            is_key: false,
        })
    }

    /// Walks over the next byte if it is `byte`, and returns whether it is. White space before it
    /// is skipped in any case.
    #[inline(always)]
    fn try_skip(&mut self, byte: u8) -> bool {
        let is_next = self.scanner.peek() == byte;
        if is_next {
            self.skip_byte();
        }
        is_next
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
