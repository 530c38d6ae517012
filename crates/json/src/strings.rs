//! Every string of a value, including keys, with its path.
//!
//! For redaction and other readers that must not miss a string, whatever the shape of the value. Does not
//! recurse.

use super::scan::{Malformed, RawString, Scanner};
use super::{Raw, string};
use std::ops::Range;

/// An iterator over the strings of one value, in file order.
#[derive(Debug)]
pub struct Strings<'a> {
    scanner: Scanner<'a>,
    /// The containers around the current position.
    path: Vec<Step<'a>>,
    /// Whether the next string is a key.
    is_at_key: bool,
}

/// A step from a container to a value in it.
#[derive(Clone, Copy, Debug)]
pub enum Step<'a> {
    /// Of an object: its key, as it is between its quotes.
    Key(&'a [u8]),
    /// Of an array.
    Index(usize),
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
    ///
    /// # Errors
    /// [`Malformed`] if the bytes are not one JSON value to their end.
    pub fn new(line: &'a [u8]) -> Result<Self, Malformed> {
        Raw::parse(line)?;
        Ok(Strings { scanner: Scanner::document(line), path: Vec::new(), is_at_key: false })
    }

    /// Returns the path of the value at an offset of a line; empty if there is none.
    pub fn path_at(line: &'a [u8], offset: usize) -> String {
        let Ok(mut strings) = Strings::new(line) else { return String::new() };
        while strings.scanner.pos() <= offset {
            if strings.token().is_none() {
                return String::new();
            }
        }
        strings.path()
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
                Step::Key(key) => {
                    path += if path.is_empty() { "" } else { "." };
                    path += &string::decode(key).to_string_lossy();
                }
                Step::Index(index) => path += &format!("[{index}]"),
            }
        }
        path
    }

    /// Walks over the next token; returns `None` at the end of the value, and within it the string if the token is one.
    fn token(&mut self) -> Option<Option<LineString<'a>>> {
        match self.scanner.peek() {
            0 => return None,
            b'"' => return Some(Some(self.string()?)),
            b'{' => {
                self.path.push(Step::Key(b""));
                self.is_at_key = true;
            }
            b'[' => self.path.push(Step::Index(0)),
            b'}' | b']' => {
                self.path.pop();
                self.is_at_key = false;
            }
            b',' => match self.path.last_mut()? {
                Step::Key(_) => self.is_at_key = true,
                Step::Index(index) => *index += 1,
            },
            b':' => {}
            _ => return self.scanner.skip_value().ok().map(|()| None),
        }
        self.scanner.seek(self.scanner.pos() + 1);
        Some(None)
    }

    fn string(&mut self) -> Option<LineString<'a>> {
        let raw = self.scanner.string().ok()?;
        let is_key = std::mem::take(&mut self.is_at_key);
        if let Some(step) = self.path.last_mut().filter(|_| is_key) {
            *step = Step::Key(raw.bytes);
        }
        let end = self.scanner.pos() - 1;
        Some(LineString { raw, range: end - raw.bytes.len()..end, is_key })
    }
}

impl<'a> Iterator for Strings<'a> {
    type Item = LineString<'a>;

    fn next(&mut self) -> Option<LineString<'a>> {
        loop {
            if let Some(found) = self.token()? {
                return Some(found);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked(line: &str) -> Result<Vec<String>, Malformed> {
        let mut strings = Strings::new(line.as_bytes())?;
        let mut seen = Vec::new();
        while let Some(found) = strings.next() {
            let spelled = &line[found.range.clone()];
            assert_eq!(spelled.as_bytes(), found.raw.bytes);
            seen.push(format!("{}{}={spelled}", if found.is_key { "key " } else { "" }, strings.path()));
        }
        Ok(seen)
    }

    #[test]
    fn keys_and_values_have_their_paths() {
        let seen = walked(r#" {"a":"1","b":[["x"],{"c":"\n"},[],{}],"d":null,"":{"e":"2"}} "#).unwrap();
        let wanted =
            r"key a=a; a=1; key b=b; b[0][0]=x; key b[1].c=c; b[1].c=\n; key d=d; key =; key e=e; e=2";
        assert_eq!(seen.join("; "), wanted);
        assert_eq!(walked(r#""alone""#).unwrap(), ["=alone"]);
        assert_eq!(walked("7").unwrap(), Vec::<String>::new());
        for line in ["", "{", r#"{"a":1}{"b":2}"#] {
            assert!(walked(line).is_err(), "{line}");
        }
    }
}
