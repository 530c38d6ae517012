//! Changes members of an object in a line, and no other byte of it.

use super::raw::{Raw, range_in};
use super::scan::{Malformed, Scanner};
use super::string;
use crate::text::Text;
use std::mem;
use std::ops::Range;

/// Changes to one line, applied together by [`Edit::finish`].
#[derive(Debug)]
pub struct Edit<'a> {
    line: &'a [u8],
    members: Vec<Member<'a>>,
    /// The offset of the closing brace.
    close_offset: usize,
    splices: Vec<Splice>,
    /// Members to add after the last one, with commas between them.
    appended: Vec<u8>,
}

/// A range of the line, and the bytes that replace it. If the range is empty, the bytes are
/// inserted. If the replacement is empty, a member is removed.
#[derive(Debug)]
pub struct Splice {
    /// The range of the line.
    pub range: Range<usize>,
    /// The bytes that replace it.
    pub replacement: Vec<u8>,
}

#[derive(Debug)]
struct Member<'a> {
    key: Text<'a>,
    /// From the key's opening quote to the end of the value.
    whole: Range<usize>,
    value: Range<usize>,
    is_removed: bool,
    /// Members to add directly after it, with commas between them.
    inserted: Vec<u8>,
}

/// Returns an object in which the member `key` has this value, which is JSON. A member that exists
/// keeps its position, and a new one is the last. A value that is not an object is returned
/// unchanged.
pub fn with_member(object: Raw, key: &str, value: &[u8]) -> Vec<u8> {
    apply_edit(object, |edit| edit.set(key, value))
}

/// Returns an object without the member `key`. A value that is not an object is returned unchanged.
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
    /// Parses a line that contains an object and nothing else. There are no changes yet.
    pub fn new(line: &'a [u8]) -> Result<Self, Malformed> {
        let mut scanner = Scanner::new(line);
        let mut members = Vec::new();
        scanner.walk_object(|scanner, key| {
            // `key.bytes` begins after the quote.
            let key_start = range_in(key.bytes, line).start - "\"".len();
            // Skips white space before the value.
            scanner.peek();
            let value_start = scanner.pos();
            scanner.skip_value()?;
            let end = scanner.pos();
            members.push(Member {
                key: string::decode(key.bytes),
                whole: key_start..end,
                value: value_start..end,
                is_removed: false,
                inserted: Vec::new(),
            });
            Ok(())
        })?;
        // The scanner is behind the closing brace.
        let close_offset = scanner.pos() - 1;
        if !scanner.at_end() {
            return Err(Malformed { at: scanner.pos() });
        }
        Ok(Edit {
            line,
            members,
            close_offset,
            splices: Vec::new(),
            appended: Vec::new(),
        })
    }

    /// Returns the value of `key` before any change. If the key repeats, its last value counts, as
    /// in `JSON.parse`.
    pub fn get(&self, key: &str) -> Option<Raw<'a>> {
        let member = self.members.iter().rfind(|member| member.key == key)?;
        Some(Raw::from_checked(&self.line[member.value.clone()]))
    }

    /// Sets the value of `key` to `value`, which is JSON. A member that exists keeps its position.
    /// A new one follows the last member, and so does one that was removed before. If a member that
    /// exists is set several times, it has the last value.
    pub fn set(&mut self, key: &str, value: &[u8]) {
        match self.kept_member(key).map(|member| member.value.clone()) {
            Some(range) => {
                self.splices.retain(|splice| splice.range != range);
                self.add_splice(range, value.to_vec());
            }
            None => self.append(key, value),
        }
    }

    /// Replaces the member `key` with whole members (`"a":1,"b":2`); if it is missing or removed,
    /// appends them.
    pub fn replace_member(&mut self, key: &str, members: &[u8]) {
        match self.kept_member(key).map(|member| member.whole.clone()) {
            Some(range) => self.add_splice(range, members.to_vec()),
            None => self.append_members(members),
        }
    }

    /// Adds the member `key`, which must be missing, directly after the member `previous_key`. If
    /// that one is missing or removed, the new member is the last. Members that are added at one
    /// position keep their order.
    pub fn insert_after(&mut self, previous_key: &str, key: &str, value: &[u8]) {
        let member = encode_member(key, value);
        match self.kept_member_mut(previous_key) {
            Some(previous) => push_members(&mut previous.inserted, &member),
            None => self.append_members(&member),
        }
    }

    /// Removes each member with this key. Changes that were made to its value before have no
    /// effect. Members that were inserted after it are appended after the last member instead.
    pub fn remove(&mut self, key: &str) {
        for index in 0..self.members.len() {
            let member = &mut self.members[index];
            if !member.is_kept(key) {
                continue;
            }
            member.is_removed = true;
            let inserted = mem::take(&mut member.inserted);
            if !inserted.is_empty() {
                self.append_members(&inserted);
            }
        }
    }

    fn add_splice(&mut self, range: Range<usize>, replacement: Vec<u8>) {
        self.splices.push(Splice { range, replacement });
    }

    /// Replaces a value. `value` must be a part of this line, because its address gives its
    /// position.
    pub fn replace(&mut self, value: Raw<'a>, replacement: &[u8]) {
        let range = range_in(value.bytes(), self.line);
        self.add_splice(range, replacement.to_vec());
    }

    /// Inserts JSON before and after a value, which must be a part of this line.
    pub fn surround(&mut self, value: Raw<'a>, before: &[u8], after: &[u8]) {
        let Range { start, end } = range_in(value.bytes(), self.line);
        self.add_splice(start..start, before.to_vec());
        self.add_splice(end..end, after.to_vec());
    }

    /// Adds the changes of an inner object, whose bytes must be a part of this line.
    pub fn merge(&mut self, inner: Edit<'a>) {
        let start = range_in(inner.line, self.line).start;
        for Splice { range, replacement } in inner.into_splices() {
            self.add_splice(start + range.start..start + range.end, replacement);
        }
    }

    /// Returns the line with its changes.
    ///
    /// If two changed ranges overlap, the bytes of both are left out, and both replacements are
    /// written, in the order of the starts of the ranges.
    pub fn finish(self) -> Vec<u8> {
        let line = self.line;
        let mut splices = self.into_splices();
        // The sort is stable: insertions at one offset keep their order.
        splices.sort_by_key(|splice| (splice.range.start, splice.range.end));

        let mut out = Vec::with_capacity(line.len() + 64);
        // Where the unchanged bytes continue. Ranges may overlap, so this can be after the start of
        // the next range.
        let mut copied_end = 0;
        for Splice { range, replacement } in &splices {
            let copy_start = copied_end.min(range.start);
            out.extend_from_slice(&line[copy_start..range.start]);
            out.extend_from_slice(replacement);
            copied_end = copied_end.max(range.end);
        }
        out.extend_from_slice(&line[copied_end..]);
        out
    }

    /// Returns the changes, including removed, inserted and appended members. Splices at one offset
    /// are in the order in which their bytes follow each other: what was inserted after the last
    /// member comes before the appended members.
    pub fn into_splices(mut self) -> Vec<Splice> {
        self.add_removals();
        self.add_insertions();
        self.add_appended();
        self.splices
    }

    /// Adds a splice for each member after which others were inserted.
    fn add_insertions(&mut self) {
        for member in &mut self.members {
            if member.inserted.is_empty() {
                continue;
            }
            let mut replacement = vec![b','];
            replacement.append(&mut member.inserted);
            let end = member.whole.end;
            self.splices.push(Splice {
                range: end..end,
                replacement,
            });
        }
    }

    /// Adds a splice for the appended members, after the last member of the line. A comma precedes
    /// them, unless all members of the line are removed.
    fn add_appended(&mut self) {
        if self.appended.is_empty() {
            return;
        }
        let mut tail = Vec::new();
        if self.members.iter().any(|member| !member.is_removed) {
            tail.push(b',');
        }
        tail.append(&mut self.appended);

        let end = match self.members.last() {
            Some(last) => last.whole.end,
            None => self.close_offset,
        };
        self.add_splice(end..end, tail);
    }

    /// Adds a splice for each removed member, in place of the changes of its value.
    ///
    /// One comma is removed with each member: the one after it, or if no kept member follows, the
    /// one before it. If `a`, `c` and `d` are removed:
    ///
    /// ```text
    /// {"a":1,"b":2,"c":3,"d":4}
    ///  aaaaaa     ccccccdddddd
    /// ```
    ///
    /// If all members are removed, each but the last takes the comma after it.
    fn add_removals(&mut self) {
        let last_kept = self.members.iter().rposition(|member| !member.is_removed);
        let mut removals = Vec::new();
        for (index, member) in self.members.iter().enumerate() {
            if !member.is_removed {
                continue;
            }
            self.splices
                .retain(|splice| !splice.is_within(&member.whole));

            let Range { mut start, mut end } = member.whole;
            let is_after_last_kept = last_kept.is_some_and(|last_kept| last_kept < index);
            if is_after_last_kept {
                // From the end of the member before, at least the last kept one.
                start = self.members[index - 1].whole.end;
            } else if let Some(next) = self.members.get(index + 1) {
                end = next.whole.start;
            }
            removals.push(Splice {
                range: start..end,
                replacement: Vec::new(),
            });
        }
        // Only now, because the removals of neighbours are not to be dropped above.
        self.splices.append(&mut removals);
    }

    /// Returns the last member with this key that is not removed.
    fn kept_member(&self, key: &str) -> Option<&Member<'a>> {
        self.members.iter().rfind(|member| member.is_kept(key))
    }

    /// Returns the member of [`Self::kept_member`].
    fn kept_member_mut(&mut self, key: &str) -> Option<&mut Member<'a>> {
        let mut members = self.members.iter_mut();
        members.rfind(|member| member.is_kept(key))
    }

    fn append(&mut self, key: &str, value: &[u8]) {
        self.append_members(&encode_member(key, value));
    }

    fn append_members(&mut self, members: &[u8]) {
        push_members(&mut self.appended, members);
    }
}

/// Appends members to a list of members, after a comma if the list is not empty.
fn push_members(list: &mut Vec<u8>, members: &[u8]) {
    if !list.is_empty() {
        list.push(b',');
    }
    list.extend_from_slice(members);
}

impl Splice {
    /// Whether all it changes is in this range.
    fn is_within(&self, range: &Range<usize>) -> bool {
        range.start <= self.range.start && self.range.end <= range.end
    }
}

impl Member<'_> {
    /// Whether it has this key, and is not removed.
    fn is_kept(&self, key: &str) -> bool {
        self.key == key && !self.is_removed
    }
}

/// Returns a member as JSON, given its value as JSON.
fn encode_member(key: &str, value: &[u8]) -> Vec<u8> {
    let mut member = string::encode_to_vec(&Text::from(key));
    member.push(b':');
    member.extend_from_slice(value);
    member
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
    fn the_last_value_counts() {
        let changed = edited(r#"{"a":1,"b":2}"#, |e| {
            e.set("a", b"3");
            e.set("b", b"4");
            e.set("a", b"5");
        });
        assert_eq!(changed, r#"{"a":5,"b":4}"#);
    }

    /// Members that are removed from an inner object are not members of the outer one.
    #[test]
    fn a_member_is_appended_after_a_removal_from_an_inner_object() {
        let line = br#"{"a":{"x":1}}"#;
        let mut outer = Edit::new(line).unwrap();
        let mut inner = Edit::new(&line[5..12]).unwrap();
        inner.remove("x");
        outer.merge(inner);
        outer.set("b", b"2");
        assert_eq!(outer.finish(), br#"{"a":{},"b":2}"#);
        assert_eq!(
            edited(r#"{"a":1,"b":2}"#, |e| {
                e.remove("a");
                e.remove("a");
                e.set("c", b"3");
            }),
            r#"{"b":2,"c":3}"#
        );
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

    /// Whichever members are removed, in any order, with and without a new one.
    #[test]
    fn removals_leave_the_other_members() {
        let members = ["\"a\" : 1e5", "\"b\":[ ]", "\"c\":{\"a\":2}", "\"d\":\"\""];
        let line = format!(" {{ {} }}\r", members.join(" , "));
        let keys = ["a", "b", "c", "d", "missing"];
        for number in 0..5_usize.pow(4) {
            let removed = [1, 5, 25, 125].map(|place| keys[number / place % 5]);
            for appended in [None, Some("\"e\":3")] {
                let changed = edited(&line, |e| {
                    for key in removed {
                        e.remove(key);
                    }
                    if appended.is_some() {
                        e.set("e", b"3");
                    }
                });
                let kept = members.iter().zip(keys);
                let kept = kept.filter(|(_, key)| !removed.contains(key));
                let expected: Vec<_> = kept.map(|(member, _)| *member).chain(appended).collect();
                let parsed = Edit::new(changed.as_bytes()).expect(&changed);
                let found = parsed.members.iter();
                let found: Vec<_> = found.map(|found| &changed[found.whole.clone()]).collect();
                assert_eq!(found, expected, "{changed}");
            }
        }
    }

    #[test]
    fn a_removed_member_is_missing_to_later_changes() {
        let line = r#"{"a":1,"b":2,"c":{"x":3}}"#;
        for key in ["a", "b", "c"] {
            let rest = edited(line, |e| e.remove(key));
            let rest = rest.strip_suffix('}').unwrap();
            let set = edited(line, |e| {
                e.remove(key);
                e.set(key, b"4");
            });
            assert_eq!(set, format!("{rest},\"{key}\":4}}"));
            let replaced = edited(line, |e| {
                e.remove(key);
                e.replace_member(key, b"\"y\":4,\"z\":5");
            });
            assert_eq!(replaced, format!("{rest},\"y\":4,\"z\":5}}"));
            let inserted = edited(line, |e| {
                e.remove(key);
                e.insert_after(key, "y", b"4");
            });
            assert_eq!(inserted, format!("{rest},\"y\":4}}"));
        }
    }

    #[test]
    fn removing_undoes_earlier_changes() {
        let line = r#"{"a":1,"b":{"x":2},"c":3}"#;
        for (key, removed) in [
            ("a", r#"{"b":{"x":2},"c":3}"#),
            ("b", r#"{"a":1,"c":3}"#),
            ("c", r#"{"a":1,"b":{"x":2}}"#),
        ] {
            let changed = edited(line, |e| {
                e.set(key, b"4");
                e.surround(e.get(key).unwrap(), b"[", b"]");
                e.remove(key);
            });
            assert_eq!(changed, removed);
            let changed = edited(line, |e| {
                e.insert_after(key, "y", b"4");
                e.insert_after(key, "z", b"5");
                e.remove(key);
            });
            let rest = removed.strip_suffix('}').unwrap();
            assert_eq!(changed, format!("{rest},\"y\":4,\"z\":5}}"));
        }
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
