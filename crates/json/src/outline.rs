//! Finds the members of a value once, so that they can be looked up many times.
//!
//! A lookup in a [`Raw`] walks over the whole value. That is slow if a line has several kilobytes,
//! and many of its members are needed, one after the other. An [`Outline`] has the positions of all
//! values of a line down to a depth of four. It is made by the walk that checks the line. An object
//! in an array has the depth of the array:
//!
//! ```text
//! depth    {"type":"user","message":{"content":[{"type":"text","text":"…"}]}}
//!     1           "user"            {                                       }
//!     2                                       [{                          }]
//!     3                                                "text"        "…"
//! ```
//!
//! Deeper values are found by walking, as in a `Raw`.

use super::raw::{Raw, range_in};
use super::scan::{KeyCache, Malformed, RawString, Scanner};
use std::ops::{Deref, Range};

/// The depth of the deepest values in an outline: the members of the blocks of a tool's result in a
/// message. Details of tools may have thousands of deeper values, which are rarely looked up.
const DEPTH: usize = 4;

/// The positions of the values in any number of lines.
#[derive(Debug)]
pub struct Outline {
    nodes: Vec<Node>,
    /// The keys of objects that are too deep for the outline.
    deep_keys: KeyCache<()>,
}

impl Default for Outline {
    fn default() -> Self {
        Outline {
            nodes: Vec::new(),
            deep_keys: KeyCache::new(|_| ()),
        }
    }
}

/// A line in an [`Outline`]: where its value is in the line, and the nodes of what is in the value.
#[derive(Clone, Debug)]
pub struct OutlinedLine {
    value: Range<usize>,
    nodes: Range<usize>,
}

/// A member of an object, or an item of an array. Positions count from the start of the line's
/// value. The nodes of what is in the value of this node follow it.
///
/// A line has dozens of nodes, so they are kept small: half as large as with `usize`.
#[derive(Clone, Copy, Debug)]
struct Node {
    /// The position of the key, between its quotes; empty for an item.
    key_start: u32,
    key_end: u32,
    key_has_escape: bool,
    /// The position of the value.
    start: u32,
    end: u32,
    /// The number of nodes of what is in the value.
    inner_count: u32,
}

impl Node {
    /// Returns the key. `line` has the bytes in which the positions are.
    #[inline]
    fn key<'a>(&self, line: &'a [u8]) -> RawString<'a> {
        RawString {
            bytes: &line[self.key_start as usize..self.key_end as usize],
            has_escape: self.key_has_escape,
        }
    }

    /// Returns the member of which this is the node: see [`StoredMember::compact`].
    #[inline]
    fn compact_member<'a>(&self, line: &'a [u8]) -> Option<&'a [u8]> {
        let has_space = self.start - self.key_end != "\":".len() as u32;
        if has_space || self.key_has_escape {
            return None;
        }
        // From the quote before the key.
        Some(&line[self.key_start as usize - 1..self.end as usize])
    }
}

/// The length of the longest line for which nodes are made. Longer lines are found by walking.
const MAX_LINE_LEN: usize = u32::MAX as usize;

/// The size in bytes up to which the outline of a line is copied even if the line is smaller. The
/// outlines of usual lines, which have dozens of short members, take about as much as the lines.
const SMALL_OUTLINE: usize = 16 << 10;

impl Outline {
    /// Removes all lines, and keeps the memory for others.
    pub fn clear(&mut self) {
        self.nodes.clear();
    }

    /// Returns the memory in bytes that the outline has allocated, used or not.
    pub fn memory(&self) -> usize {
        self.nodes.capacity() * size_of::<Node>()
    }

    /// Checks that a line is one JSON value, as [`Raw::parse`] does, and adds its outline.
    pub fn add_line(&mut self, line: &[u8]) -> Result<OutlinedLine, Malformed> {
        let mut white_space = Scanner::document(line);
        // Walks over white space, so that the value starts here.
        white_space.peek();
        let start = white_space.pos();
        let mut scanner = Scanner::document(&line[start..]);
        let first_node = self.nodes.len();

        let levels = if line.len() <= MAX_LINE_LEN { DEPTH } else { 0 };
        let result = self.add_inner(&mut scanner, levels);
        let end = scanner.pos();
        // After an error, `at_end` is not called: it could move the position, which is where the
        // bytes are not JSON.
        let is_one_value = result.is_ok() && scanner.at_end();
        if !is_one_value {
            self.nodes.truncate(first_node);
            self.deep_keys.restart();
            return Err(Malformed {
                at: start + scanner.pos(),
            });
        }
        Ok(OutlinedLine {
            value: start..start + end,
            nodes: first_node..self.nodes.len(),
        })
    }

    /// Returns the value of a line that was added. `bytes` is the whole line.
    pub fn value<'a>(&'a self, line: &OutlinedLine, bytes: &'a [u8]) -> Outlined<'a> {
        let value = &bytes[line.value.clone()];
        Outlined {
            line: value,
            value: Raw::from_checked(value),
            inner: &self.nodes[line.nodes.clone()],
        }
    }

    /// Walks over a value, and adds the nodes of what is in it, down to this number of levels. The
    /// recursion ends there, however deep the value is: of two calls in a row, at least one has
    /// fewer levels than its caller.
    fn add_inner(&mut self, scanner: &mut Scanner, levels: usize) -> Result<(), Malformed> {
        let next = scanner.peek();
        if levels > 0 && next == b'{' {
            scanner.walk_object(|scanner, key| self.add_node(scanner, Some(key), levels))
        } else if levels > 0 && next == b'[' {
            scanner.walk_array(|scanner| self.add_node(scanner, None, levels))
        } else {
            scanner.skip_value_with(&mut self.deep_keys)
        }
    }

    /// Walks over the value of a member or an item. Adds its node, and then the nodes of what is in
    /// it. `levels` counts the node's own level, so it is at least 1.
    fn add_node(
        &mut self,
        scanner: &mut Scanner,
        key: Option<RawString>,
        levels: usize,
    ) -> Result<(), Malformed> {
        // An item has no key. The key of a member is a part of the scanned bytes.
        let key_range = match key {
            Some(key) => range_in(key.bytes, scanner.bytes()),
            None => 0..0,
        };
        // Walks over white space, so that the value starts at the position after this.
        let first = scanner.peek();
        let index = self.nodes.len();
        // The node comes before the nodes of what is in its value. Its end is set when they are
        // known.
        self.nodes.push(Node {
            key_start: key_range.start as u32,
            key_end: key_range.end as u32,
            key_has_escape: key.is_some_and(|key| key.has_escape),
            start: scanner.pos() as u32,
            end: 0,
            inner_count: 0,
        });

        // An object in an array has the level of the array.
        let is_object_in_array = key.is_none() && first == b'{';
        let inner_levels = if is_object_in_array {
            levels
        } else {
            levels - 1
        };
        self.add_inner(scanner, inner_levels)?;

        let inner_count = self.nodes.len() - (index + 1);
        let node = &mut self.nodes[index];
        node.end = scanner.pos() as u32;
        node.inner_count = inner_count as u32;
        Ok(())
    }
}

/// A checked value whose members are found without walking over it, as far as an [`Outline`] has
/// them.
#[derive(Clone, Copy, Debug)]
pub struct Outlined<'a> {
    /// The bytes in which the positions of `inner` are.
    line: &'a [u8],
    value: Raw<'a>,
    /// The nodes of what is in the value; none if it has nothing, or if the outline ends here.
    inner: &'a [Node],
}

/// A member of an object, with the way in which it is stored.
pub struct StoredMember<'a> {
    /// The key.
    pub key: RawString<'a>,
    /// The value.
    pub value: Outlined<'a>,
    /// The bytes from the quote before the key to the end of the value. `None` if the key has an
    /// escape, if white space is around the colon, or if the object is not outlined.
    pub compact: Option<&'a [u8]>,
}

/// The value of a line, copied from where it was read.
#[derive(Debug)]
pub struct OutlinedCopy {
    bytes: Vec<u8>,
    /// The outline; empty if it would take much more memory than `bytes`.
    nodes: Vec<Node>,
}

impl OutlinedCopy {
    /// Returns the value.
    pub fn value(&self) -> Outlined<'_> {
        Outlined {
            line: &self.bytes,
            value: Raw::from_checked(&self.bytes),
            inner: &self.nodes,
        }
    }

    /// Returns the number of bytes of the value.
    pub fn byte_count(&self) -> usize {
        self.bytes.len()
    }
}

impl<'a> From<Raw<'a>> for Outlined<'a> {
    /// Makes a value without an outline: its members are found by walking.
    fn from(value: Raw<'a>) -> Outlined<'a> {
        Outlined {
            line: value.bytes(),
            value,
            inner: &[],
        }
    }
}

/// What does not need the members or items works as for any value.
impl<'a> Deref for Outlined<'a> {
    type Target = Raw<'a>;

    fn deref(&self) -> &Raw<'a> {
        &self.value
    }
}

impl<'a> Outlined<'a> {
    /// Returns the value without its outline.
    pub fn raw(self) -> Raw<'a> {
        self.value
    }

    /// Copies the value of a whole line, with its outline. A large outline is left out if it takes
    /// more memory than the line, as with an array of many numbers: the members of the copy are
    /// then found by walking.
    pub fn copy_line(self) -> OutlinedCopy {
        debug_assert_eq!(
            self.line.len(),
            self.value.bytes().len(),
            "a part of a line"
        );
        let outline_size = size_of_val(self.inner);
        let nodes = if outline_size <= self.line.len().max(SMALL_OUTLINE) {
            self.inner.to_vec()
        } else {
            Vec::new()
        };
        OutlinedCopy {
            bytes: self.line.to_vec(),
            nodes,
        }
    }

    /// Returns the value of the member `key`, as [`Raw::get`] does.
    pub fn get(self, key: &str) -> Option<Outlined<'a>> {
        let [found] = self.get_all([key]);
        found
    }

    /// Returns the value of the member `key` without its outline.
    pub fn get_raw(self, key: &str) -> Option<Raw<'a>> {
        self.get(key).map(Outlined::raw)
    }

    /// Returns the values of the members with these names. Of a repeated key, the last counts.
    pub fn get_all<const N: usize>(self, names: [&str; N]) -> [Option<Outlined<'a>>; N] {
        let index_of = |key: RawString| names.iter().position(|name| key.is(name));
        let mut found = [None; N];
        if self.inner.is_empty() {
            // There is no outline: the members are found by walking over the value.
            for (key, value) in self.value.members() {
                if let Some(index) = index_of(key) {
                    found[index] = Some(Outlined::from(value));
                }
            }
            return found;
        }

        for (node, inner) in self.inner_nodes(self.value.is_object()) {
            if let Some(index) = index_of(node.key(self.line)) {
                found[index] = Some(self.outlined_value(node, inner));
            }
        }
        found
    }

    /// Iterates over the members in file order, as [`Raw::members`] does.
    pub fn members(self) -> impl Iterator<Item = (RawString<'a>, Outlined<'a>)> {
        // One of the two is empty: the outline has all members, or none.
        let outlined = self.inner_values(self.value.is_object());
        let walked = self.not_outlined().members();
        outlined.chain(walked.map(|(key, value)| (key, Outlined::from(value))))
    }

    /// Iterates over the members in file order, each also as it is stored.
    pub fn stored_members(self) -> impl Iterator<Item = StoredMember<'a>> {
        // One of the two is empty: the outline has all members, or none.
        let outlined = self
            .inner_nodes(self.value.is_object())
            .map(move |(node, inner)| StoredMember {
                key: node.key(self.line),
                value: self.outlined_value(node, inner),
                compact: node.compact_member(self.line),
            });
        let walked = self.not_outlined().members();
        outlined.chain(walked.map(|(key, value)| StoredMember {
            key,
            value: Outlined::from(value),
            compact: None,
        }))
    }

    /// Iterates over the items of an array, as [`Raw::items`] does.
    pub fn items(self) -> impl Iterator<Item = Outlined<'a>> {
        // One of the two is empty: the outline has all items, or none.
        let outlined = self.inner_values(self.value.is_array());
        let walked = self.not_outlined().items();
        outlined
            .map(|(_, value)| value)
            .chain(walked.map(Outlined::from))
    }

    /// Returns the value to be walked over: this value if the outline has nothing that is in it,
    /// otherwise `null`.
    fn not_outlined(self) -> Raw<'a> {
        if self.inner.is_empty() {
            self.value
        } else {
            Raw::NULL
        }
    }

    /// Iterates over the keys and values that the outline has of the value itself, without what is
    /// in these values. Yields nothing if `is_of_kind` is false.
    fn inner_values(self, is_of_kind: bool) -> impl Iterator<Item = (RawString<'a>, Outlined<'a>)> {
        self.inner_nodes(is_of_kind)
            .map(move |(node, inner)| (node.key(self.line), self.outlined_value(node, inner)))
    }

    /// Iterates over the nodes that the outline has of the value itself, each with the nodes of
    /// what is in it. Yields nothing if `is_of_kind` is false.
    fn inner_nodes(self, is_of_kind: bool) -> impl Iterator<Item = (&'a Node, &'a [Node])> {
        let mut rest = if is_of_kind { self.inner } else { &[] };
        std::iter::from_fn(move || {
            let (node, after) = rest.split_first()?;
            let (inner, next) = after.split_at(node.inner_count as usize);
            rest = next;
            Some((node, inner))
        })
    }

    /// Returns the value of a node of this value. `inner` are the nodes of what is in it.
    #[inline]
    fn outlined_value(self, node: &Node, inner: &'a [Node]) -> Outlined<'a> {
        Outlined {
            line: self.line,
            value: Raw::from_checked(&self.line[node.start as usize..node.end as usize]),
            inner,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::write::Object;

    const LINE: &[u8] =
        br#"  {"a":1,"m" : {"c":[{"t":"x","i":{"deep":[1,2]}},[],"s"]},"\u0061":"two","o":{}} "#;

    /// Returns all values of two lookups in a row, down to the deepest.
    fn describe(value: Outlined) -> String {
        let mut out = String::new();
        for (key, member) in value.members() {
            let json = String::from_utf8_lossy(member.raw().bytes()).into_owned();
            out += &format!("{}={json}({})\n", key.text(), describe(member));
        }
        for item in value.items() {
            let json = String::from_utf8_lossy(item.raw().bytes()).into_owned();
            out += &format!("{json}({})\n", describe(item));
        }
        out
    }

    #[test]
    fn an_outline_has_what_a_walk_finds() {
        let mut outline = Outline::default();
        outline.add_line(b"[1]").unwrap();
        let line = outline.add_line(LINE).unwrap();
        let outlined = outline.value(&line, LINE);
        let walked = Raw::parse(LINE).unwrap();
        assert_eq!(outlined.raw(), walked);
        assert_eq!(describe(outlined), describe(Outlined::from(walked)));
        assert_eq!(outlined.get("a").unwrap().raw().text().unwrap(), "two");
        let copy = outlined.copy_line();
        assert_eq!(copy.byte_count(), walked.bytes().len());
        assert_eq!(describe(copy.value()), describe(outlined));

        let [content, missing] = outlined.get("m").unwrap().get_all(["c", "d"]);
        assert!(missing.is_none());
        let block = content.unwrap().items().next().unwrap();
        let deep = block.get("i").unwrap().get("deep").unwrap();
        assert_eq!(deep.items().count(), 2);
    }

    #[test]
    fn a_member_is_copied_as_it_is_stored_unless_an_agent_would_write_it_otherwise() {
        let line = br#"{"a":1,"b": {"c":"d"} , "\u0065" :[ ],"f\u0067":5,"h":"\u0069","":6}"#;
        let copied = br#"{"a":1,"b":{"c":"d"},"e":[ ],"fg":5,"h":"\u0069","":6}"#;
        let mut outline = Outline::default();
        let outlined_line = outline.add_line(line).unwrap();
        let outlined = outline.value(&outlined_line, line);
        let walked = Outlined::from(Raw::parse(line).unwrap());
        for value in [outlined, walked] {
            let mut copy = Object::new();
            for member in value.stored_members() {
                copy = copy.stored_member(&member);
            }
            assert_eq!(copy.finish(), copied);
        }
        let compact = outlined.stored_members().map(|member| member.compact);
        assert_eq!(compact.flatten().count(), 3);
    }

    #[test]
    fn a_copy_has_no_large_outline_of_a_small_line() {
        let texts = format!(
            r#"{{"texts":[{}""]}}"#,
            r#""twenty-four characters,","#.repeat(1000)
        );
        let numbers = |count| format!(r#"{{"numbers":[{}1]}}"#, "1,".repeat(count));
        for (line, has_outline) in [(texts, true), (numbers(100), true), (numbers(1000), false)] {
            let mut outline = Outline::default();
            let outlined_line = outline.add_line(line.as_bytes()).unwrap();
            let outlined = outline.value(&outlined_line, line.as_bytes());
            let copy = outlined.copy_line();
            assert_eq!(!copy.nodes.is_empty(), has_outline, "{line}");
            assert_eq!(describe(copy.value()), describe(outlined));
        }
    }

    #[test]
    fn what_is_not_json_is_refused_as_by_a_walk() {
        let mut outline = Outline::default();
        for line in [
            "",
            " ",
            "{",
            "{\"a\":1}}",
            "[1,]",
            "{\"a\" 1}",
            " 1 2",
            "{\"a\":[{\"b\":{\"c\":[x]}}]}",
        ] {
            let walked = Raw::parse(line.as_bytes()).unwrap_err();
            let refused = outline.add_line(line.as_bytes()).unwrap_err();
            assert_eq!(refused, walked, "{line}");
            assert!(outline.nodes.is_empty(), "{line}");
        }
    }
}
