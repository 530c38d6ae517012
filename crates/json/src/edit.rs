//! Changes members of an object in a line, and no other byte of it.

use super::raw::Raw;
use super::scan::{Malformed, Scanner};
use super::string;
use crate::text::Text;
use std::ops::Range;

/// Changes to one line, applied together by [`Edit::finish`].
#[derive(Debug)]
pub struct Edit<'a> {
    line: &'a [u8],
    members: Vec<Member<'a>>,
    /// The offset of the closing brace.
    close_offset: usize,
    splices: Vec<(Range<usize>, Vec<u8>)>,
    appended: Vec<u8>,
}

#[derive(Debug)]
struct Member<'a> {
    key: Text<'a>,
    /// From the key's opening quote to the end of the value.
    whole: Range<usize>,
    value: Range<usize>,
}

/// Returns an object on one line with a member set, at its position if it has one; any other value
/// unchanged.
pub fn with_member(object: Raw, key: &str, value: &[u8]) -> Vec<u8> {
    apply_edit(object, |edit| edit.set(key, value))
}

/// Returns an object on one line without one of its members; any other value unchanged.
pub fn without_member(object: Raw, key: &str) -> Vec<u8> {
    apply_edit(object, |edit| edit.remove(key))
}

fn apply_edit(object: Raw, change: impl FnOnce(&mut Edit)) -> Vec<u8> {
    let Ok(mut edit) = Edit::new(object.bytes()) else {
        return object.bytes().to_vec();
    };
    change(&mut edit);
    edit.finish()
}

impl<'a> Edit<'a> {
    /// Prepares a line that contains an object and nothing else.
    pub fn new(line: &'a [u8]) -> Result<Self, Malformed> {
        let mut scanner = Scanner::new(line);
        let mut members = Vec::new();
        scanner.walk_object(|scanner, key| {
            let start = key.bytes.as_ptr() as usize - line.as_ptr() as usize - 1;
            scanner.peek();
            let value = scanner.pos();
            scanner.skip_value()?;
            let end = scanner.pos();
            members.push(Member {
                key: string::decode(key.bytes),
                whole: start..end,
                value: value..end,
            });
            Ok(())
        })?;
        let close = scanner.pos() - 1;
        if !scanner.at_end() {
            return Err(Malformed { at: scanner.pos() });
        }
        Ok(Edit {
            line,
            members,
            close_offset: close,
            splices: Vec::new(),
            appended: Vec::new(),
        })
    }

    /// Returns the value of `key`; if the key repeats, the last, as `JSON.parse` does.
    pub fn get(&self, key: &str) -> Option<Raw<'a>> {
        self.member(key)
            .map(|member| Raw::from_checked(&self.line[member.value.clone()]))
    }

    /// Sets the value of `key`: at its position if it exists, else after the last member.
    pub fn set(&mut self, key: &str, value: &[u8]) {
        match self.member(key).map(|member| member.value.clone()) {
            Some(place) => self.splices.push((place, value.to_vec())),
            None => self.append(key, value),
        }
    }

    /// Replaces the member `key` with whole members (`"a":1,"b":2`); if it is missing, appends
    /// them.
    pub fn replace_member(&mut self, key: &str, members: &[u8]) {
        match self.member(key).map(|member| member.whole.clone()) {
            Some(place) => self.splices.push((place, members.to_vec())),
            None => self.append_members(members),
        }
    }

    /// Adds `key`, which must be missing, directly after the member `before`, or at the end if that
    /// is missing, too. Keys added at one position keep their order.
    pub fn insert_after(&mut self, before: &str, key: &str, value: &[u8]) {
        match self.member(before).map(|member| member.whole.end) {
            Some(place) => {
                let member =
                    [b",", &*string::encode_to_vec(&Text::from(key)), b":", value].concat();
                self.splices.push((place..place, member));
            }
            None => self.append(key, value),
        }
    }

    /// Removes `key`, at each occurrence.
    pub fn remove(&mut self, key: &str) {
        for at in (0..self.members.len()).filter(|&at| self.members[at].key == key) {
            // Also removes one comma: the one after the member or, for the last member, the one
            // before it.
            let place = match (self.members.get(at + 1), at.checked_sub(1)) {
                (Some(next), _) => self.members[at].whole.start..next.whole.start,
                (None, Some(before)) => self.members[before].whole.end..self.members[at].whole.end,
                (None, None) => self.members[at].whole.clone(),
            };
            self.splices.push((place, Vec::new()));
        }
    }

    /// Replaces a value found in this line.
    pub fn replace(&mut self, value: Raw<'a>, replacement: &[u8]) {
        let start = self.offset_of(value.bytes());
        self.splices
            .push((start..start + value.bytes().len(), replacement.to_vec()));
    }

    /// Puts JSON before and after a value found in this line.
    pub fn surround(&mut self, value: Raw<'a>, before: &[u8], after: &[u8]) {
        let start = self.offset_of(value.bytes());
        let end = start + value.bytes().len();
        self.splices
            .extend([(start..start, before.to_vec()), (end..end, after.to_vec())]);
    }

    /// Adds the changes of an object found in this line.
    pub fn merge(&mut self, inner: Edit<'a>) {
        let start = self.offset_of(inner.line);
        let changes = inner.into_splices().into_iter();
        self.splices
            .extend(changes.map(|(place, by)| (start + place.start..start + place.end, by)));
    }

    /// Returns the line with its changes.
    pub fn finish(self) -> Vec<u8> {
        let line = self.line;
        let mut splices = self.into_splices();
        splices.sort_by_key(|(place, _)| (place.start, place.end));
        let mut out = Vec::with_capacity(line.len() + 64);
        let mut at = 0;
        for (place, by) in &splices {
            out.extend_from_slice(&line[at.min(place.start)..place.start]);
            out.extend_from_slice(by);
            at = at.max(place.end);
        }
        out.extend_from_slice(&line[at..]);
        out
    }

    fn into_splices(mut self) -> Vec<(Range<usize>, Vec<u8>)> {
        let removed_count: usize = self.splices.iter().filter(|(_, by)| by.is_empty()).count();
        if !self.appended.is_empty() {
            let empty = self.members.len() == removed_count;
            let mut tail = if empty { Vec::new() } else { vec![b','] };
            tail.append(&mut self.appended);
            let end = self
                .members
                .last()
                .map_or(self.close_offset, |last| last.whole.end);
            self.splices.push((end..end, tail));
        }
        self.splices
    }

    fn offset_of(&self, part: &[u8]) -> usize {
        part.as_ptr() as usize - self.line.as_ptr() as usize
    }

    fn member(&self, key: &str) -> Option<&Member<'a>> {
        self.members.iter().rev().find(|member| member.key == key)
    }

    fn append(&mut self, key: &str, value: &[u8]) {
        let mut member = string::encode_to_vec(&Text::from(key));
        member.push(b':');
        member.extend_from_slice(value);
        self.append_members(&member);
    }

    fn append_members(&mut self, members: &[u8]) {
        if !self.appended.is_empty() {
            self.appended.push(b',');
        }
        self.appended.extend_from_slice(members);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(line: &str, change: impl FnOnce(&mut Edit)) -> String {
        let mut edit = Edit::new(line.as_bytes()).unwrap();
        change(&mut edit);
        String::from_utf8(edit.finish()).unwrap()
    }

    #[test]
    fn all_other_bytes_stay() {
        let line = "{ \"a\" : 1e5 , \"b\":[ ],\"a\":2 }\r";
        assert_eq!(
            edited(line, |e| e.set("a", b"3")),
            "{ \"a\" : 1e5 , \"b\":[ ],\"a\":3 }\r"
        );
        assert_eq!(
            edited(line, |e| e.set("c", b"3")),
            "{ \"a\" : 1e5 , \"b\":[ ],\"a\":2,\"c\":3 }\r"
        );
        assert_eq!(
            edited(line, |e| e.remove("b")),
            "{ \"a\" : 1e5 , \"a\":2 }\r"
        );
        assert_eq!(edited("{}", |e| e.set("c", b"3")), "{\"c\":3}");
    }

    #[test]
    fn removing_takes_one_comma_along() {
        assert_eq!(edited("{\"a\":1}", |e| e.remove("a")), "{}");
        assert_eq!(edited("{\"a\":1,\"b\":2}", |e| e.remove("a")), "{\"b\":2}");
        assert_eq!(edited("{\"a\":1,\"b\":2}", |e| e.remove("b")), "{\"a\":1}");
        assert_eq!(edited("{\"a\":1,\"a\":2}", |e| e.remove("a")), "{}");
        assert_eq!(
            edited("{\"a\":1}", |e| {
                e.remove("a");
                e.set("b", b"2")
            }),
            "{\"b\":2}"
        );
    }

    #[test]
    fn members_are_put_behind_others() {
        let both = |e: &mut Edit| {
            e.insert_after("a", "b", b"2");
            e.insert_after("a", "c", b"3");
        };
        assert_eq!(
            edited("{\"a\": 1 , \"z\":0}", both),
            "{\"a\": 1,\"b\":2,\"c\":3 , \"z\":0}"
        );
        assert_eq!(edited("{\"z\":0}", both), "{\"z\":0,\"b\":2,\"c\":3}");
    }

    #[test]
    fn a_value_inside_can_be_replaced() {
        let line = "{\"message\":{\"role\":\"hookMessage\"}}";
        let changed = edited(line, |e| {
            let role = e
                .get("message")
                .and_then(|message| message.get("role"))
                .unwrap();
            e.replace(role, b"\"custom\"");
        });
        assert_eq!(changed, "{\"message\":{\"role\":\"custom\"}}");
    }

    #[test]
    fn objects_inside_are_changed_with_the_line() {
        let line = "{\"a\":{\"x\":1},\"b\":[2]}";
        let changed = edited(line, |e| {
            let mut inner = Edit::new(e.get("a").unwrap().bytes()).unwrap();
            inner.remove("x");
            inner.set("y", b"3");
            e.merge(inner);
            e.surround(e.get("b").unwrap(), b"[", b"]");
        });
        assert_eq!(changed, "{\"a\":{\"y\":3},\"b\":[[2]]}");
    }

    #[test]
    fn edit_new_refuses_anything_but_one_object() {
        assert!(Edit::new(b"[1]").is_err());
        assert!(Edit::new(b"{} {}").is_err());
    }
}
