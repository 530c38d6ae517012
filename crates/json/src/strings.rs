//! Every string of a value, including keys, with its path.
//!
//! For redaction and other readers that must not miss a string, whatever the shape of the value. Does not
//! recurse.

use super::scan::{Malformed, RawString, Scanner};
use super::string;
use std::fmt::Write;
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
    /// Of an object: its key, as it is between its quotes.
    Key(&'a [u8]),
    /// Of an array.
    Index(usize),
}

#[derive(Debug)]
enum Next {
    Key,
    Value,
    Behind,
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
    /// Returns an iterator over a line with one value. White space around it is skipped, including newlines.
    pub fn new(line: &'a [u8]) -> Self {
        Strings { scanner: Scanner::document(line), path: Vec::new(), next: Next::Value }
    }

    /// Returns the path of the value at an offset of a line; empty if there is none.
    pub fn path_at(line: &'a [u8], offset: usize) -> String {
        let mut strings = Strings::new(line);
        loop {
            let stepped = match strings.next {
                Next::Key => strings.key().map(|_| true),
                Next::Value => strings.value().map(|_| true),
                Next::Behind if strings.scanner.pos() > offset => return strings.path(),
                Next::Behind => strings.go_on(),
            };
            if !stepped.unwrap_or(false) {
                return String::new();
            }
        }
    }

    /// Returns the next string; `None` at the end of the value.
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are not one JSON value to their end.
    pub fn advance(&mut self) -> Result<Option<LineString<'a>>, Malformed> {
        loop {
            match self.next {
                Next::Key => return self.key().map(Some),
                Next::Value => {
                    if let Some(found) = self.value()? {
                        return Ok(Some(found));
                    }
                }
                Next::Behind => {
                    if !self.go_on()? {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Returns the key of the innermost member that contains the string last returned, as written; empty if
    /// there is none.
    pub fn nearest_key(&self) -> &'a [u8] {
        let key = |step: &Step<'a>| match step {
            Step::Key(key) => Some(*key),
            Step::Index(_) => None,
        };
        self.path.iter().rev().find_map(key).unwrap_or_default()
    }

    /// Returns the path of the string last returned, as JavaScript would write it: `message.content[0].text`.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in &self.path {
            match step {
                Step::Key(key) if path.is_empty() => path += &string::decode(key).to_string_lossy(),
                Step::Key(key) => {
                    path.push('.');
                    path += &string::decode(key).to_string_lossy();
                }
                Step::Index(index) => {
                    write!(path, "[{index}]").expect("writing to a string does not fail");
                }
            }
        }
        path
    }

    fn key(&mut self) -> Result<LineString<'a>, Malformed> {
        let found = self.string(true)?;
        if let Some(step) = self.path.last_mut() {
            *step = Step::Key(found.raw.bytes);
        }
        self.take(b':')?;
        self.next = Next::Value;
        Ok(found)
    }

    /// Walks over a scalar, or into a container. Returns the scalar if it is a string.
    fn value(&mut self) -> Result<Option<LineString<'a>>, Malformed> {
        let (first, close, next) = match self.scanner.peek() {
            b'{' => (Step::Key(b""), b'}', Next::Key),
            b'[' => (Step::Index(0), b']', Next::Value),
            b'"' => {
                self.next = Next::Behind;
                return self.string(false).map(Some);
            }
            _ => {
                self.next = Next::Behind;
                return self.scanner.value().map(|_| None);
            }
        };
        self.step();
        if self.scanner.peek() == close {
            self.step();
            self.next = Next::Behind;
        } else {
            self.path.push(first);
            self.next = next;
        }
        Ok(None)
    }

    /// Moves on after a value: closes the container that ends here, or goes to the next value. Returns
    /// whether there is more.
    fn go_on(&mut self) -> Result<bool, Malformed> {
        match (self.scanner.peek(), self.path.last_mut()) {
            (_, None) if self.scanner.at_end() => return Ok(false),
            (b',', Some(Step::Key(_))) => self.next = Next::Key,
            (b',', Some(Step::Index(index))) => {
                *index += 1;
                self.next = Next::Value;
            }
            (b'}', Some(Step::Key(_))) | (b']', Some(Step::Index(_))) => {
                self.path.pop();
            }
            _ => return Err(Malformed { at: self.scanner.pos() }),
        }
        self.step();
        Ok(true)
    }

    fn string(&mut self, is_key: bool) -> Result<LineString<'a>, Malformed> {
        let raw = self.scanner.string()?;
        let end = self.scanner.pos() - 1;
        Ok(LineString { raw, range: end - raw.bytes.len()..end, is_key })
    }

    fn take(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.scanner.peek() != byte {
            return Err(Malformed { at: self.scanner.pos() });
        }
        self.step();
        Ok(())
    }

    fn step(&mut self) {
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
            seen.push(format!("{}{}={spelled}", if found.is_key { "key " } else { "" }, strings.path()));
        }
        Ok(seen)
    }

    #[test]
    fn keys_and_values_have_their_paths() {
        let seen = walked(r#" {"a":"1","b":[["x"],{"c":"\n"},[],{}],"d":null,"":{"e":"2"}} "#).unwrap();
        let wanted = [
            "key a=a",
            "a=1",
            "key b=b",
            "b[0][0]=x",
            "key b[1].c=c",
            r"b[1].c=\n",
            "key d=d",
            "key =",
            "key e=e",
            "e=2",
        ];
        assert_eq!(seen, wanted.map(str::to_owned));
        assert_eq!(walked(r#""alone""#).unwrap(), ["=alone"]);
        assert_eq!(walked("7").unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_single_value_is_an_error() {
        for line in ["", "{", r#"{"a"}"#, r#"{"a":1}{"b":2}"#, "[1,]", r#"["a" "b"]"#, "]", r#"{"a":"b"]"#] {
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
