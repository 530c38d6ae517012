//! Builds new values, member by member, in the order the agents write them.

use super::outline::StoredMember;
use super::raw::Raw;
use super::{js, string};
use crate::text::Text;
use std::io::{self, Write};

/// An object in progress.
#[derive(Clone, Debug)]
pub struct Object(Vec<u8>);

/// The number of bytes for which an object has space from the start: enough for most, so that their
/// bytes are rarely moved while they are built.
const FIRST_CAPACITY: usize = 256;

impl Default for Object {
    fn default() -> Self {
        Object::with_capacity(FIRST_CAPACITY)
    }
}

/// The number of bytes for which there is space after each value, so that the comma or the bracket
/// that follows moves no bytes.
const SPACE_AFTER: usize = 2;

impl Object {
    /// Returns an object without members.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns an object without members, with space for this number of bytes. Until it has more
    /// bytes, none is moved.
    pub fn with_capacity(len: usize) -> Self {
        let mut bytes = Vec::with_capacity(len.max(FIRST_CAPACITY));
        bytes.push(b'{');
        Object(bytes)
    }

    /// Returns the number of bytes so far.
    pub fn byte_count(&self) -> usize {
        self.0.len()
    }

    /// Adds a member whose value is JSON already.
    pub fn json(self, key: &str, value: &[u8]) -> Self {
        self.member(&Text::from(key), value)
    }

    /// Adds a member of any name, whose value is JSON already.
    pub fn member(mut self, key: &Text, value: &[u8]) -> Self {
        self.begin_member(key);
        self.0.reserve(value.len() + SPACE_AFTER);
        push_valid(&mut self.0, value);
        self
    }

    /// Adds a comma after the member before. No value ends with an opening bracket, so after one,
    /// there is no member before.
    fn begin(&mut self) {
        if !self.0.ends_with(b"{") {
            self.0.push(b',');
        }
    }

    fn begin_member(&mut self, key: &Text) {
        self.begin();
        string::encode(key, &mut self.0);
        self.0.push(b':');
    }

    /// Adds another object as a member.
    pub fn object(mut self, key: &str, value: &Object) -> Self {
        self.begin_member(&Text::from(key));
        self.0.reserve(value.0.len() + SPACE_AFTER);
        self.0.extend_from_slice(&value.0);
        self.0.push(b'}');
        self
    }

    /// Begins an object as a member: what is added next is a member of it, until
    /// [`close`](Self::close). So its bytes need not be copied from elsewhere.
    pub fn open(mut self, key: &str) -> Self {
        self.begin_member(&Text::from(key));
        self.0.push(b'{');
        self
    }

    /// Ends the object that was opened last.
    pub fn close(mut self) -> Self {
        self.0.push(b'}');
        self
    }

    /// Adds an array of objects. `add` adds the members of the object of an item.
    pub fn objects<T>(
        mut self,
        key: &str,
        items: impl IntoIterator<Item = T>,
        add: impl FnMut(Object, T) -> Object,
    ) -> Self {
        self.begin_member(&Text::from(key));
        Object(push_objects(self.0, items, add))
    }

    /// Adds the members of another object, as they are there.
    pub fn append(mut self, other: &Object) -> Self {
        let members = other.member_bytes();
        if !members.is_empty() {
            self.begin();
            self.0.extend_from_slice(members);
        }
        self
    }

    /// Returns the bytes of the members, with the commas between them.
    pub fn member_bytes(&self) -> &[u8] {
        &self.0[1..]
    }

    /// Adds a member whose value is a value of a session, unchanged.
    pub fn raw(self, key: &str, value: Raw) -> Self {
        self.json(key, value.bytes())
    }

    /// Adds a string.
    pub fn text(mut self, key: &str, value: &Text) -> Self {
        self.begin_member(&Text::from(key));
        string::encode(value, &mut self.0);
        self
    }

    /// Adds a string of a session with its text. `raw` has the bytes between its quotes, which need
    /// not be decoded if they are stored as this function writes them.
    pub fn stored_text(mut self, key: &str, raw: &[u8]) -> Self {
        self.begin_member(&Text::from(key));
        self.0.reserve(raw.len() + "\"\"".len() + SPACE_AFTER);
        string::encode_stored(raw, &mut self.0);
        self
    }

    /// Adds a member of an object of a session.
    pub fn stored_member(mut self, member: &StoredMember) -> Self {
        self.begin();
        if let Some(compact) = member.compact {
            push_valid(&mut self.0, compact);
            return self;
        }
        string::encode_stored(member.key.bytes, &mut self.0);
        self.0.push(b':');
        push_valid(&mut self.0, member.value.bytes());
        self
    }

    /// Adds a string.
    pub fn str(self, key: &str, value: &str) -> Self {
        self.text(key, &Text::from(value))
    }

    /// Adds a number as JavaScript writes it; one that is not finite becomes `null`.
    pub fn number(mut self, key: &str, value: f64) -> Self {
        // Counts and times in milliseconds, for which formatting a float takes five times as long.
        let is_plain_integer = (0.0..MAX_PLAIN_INTEGER).contains(&value) && value.fract() == 0.0;
        if is_plain_integer {
            self.begin_member(&Text::from(key));
            push_integer(&mut self.0, value as u64);
            return self;
        }
        let spelled = if value.is_finite() {
            js::number_to_string(value)
        } else {
            "null".to_owned()
        };
        self.json(key, spelled.as_bytes())
    }

    /// Adds `true` or `false`.
    pub fn bool(self, key: &str, value: bool) -> Self {
        self.json(key, if value { b"true" } else { b"false" })
    }

    /// Adds a string or `null`.
    pub fn text_or_null(self, key: &str, value: Option<&Text>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self.json(key, b"null"),
        }
    }

    /// Adds a string or `null`.
    pub fn str_or_null(self, key: &str, value: Option<&str>) -> Self {
        self.text_or_null(key, value.map(Text::from).as_ref())
    }

    /// Adds a number, as [`Object::number`] does, or `null`.
    pub fn number_or_null(self, key: &str, value: Option<f64>) -> Self {
        self.number(key, value.unwrap_or(f64::NAN))
    }

    /// If there is a value, calls `add` with it, to add members. Otherwise returns the object as it
    /// is.
    pub fn with<T>(self, value: Option<T>, add: impl FnOnce(Self, T) -> Self) -> Self {
        match value {
            Some(value) => add(self, value),
            None => self,
        }
    }

    /// Copies the members of `object` with these keys, as far as `object` has them.
    pub fn copy_members(self, object: Raw, keys: &[&str]) -> Self {
        keys.iter().fold(self, |copy, key| {
            copy.with(object.get(key), |copy, value| copy.raw(key, value))
        })
    }

    /// Adds an array of values that are JSON already.
    pub fn array<T: AsRef<[u8]>>(mut self, key: &str, items: &[T]) -> Self {
        self.begin_member(&Text::from(key));
        push_array(&mut self.0, items);
        self
    }

    /// Adds an array of values that are JSON already, unless it is empty.
    pub fn json_array<T: AsRef<[u8]>>(self, key: &str, items: &[T]) -> Self {
        if items.is_empty() {
            self
        } else {
            self.array(key, items)
        }
    }

    /// Returns an object without members, whose bytes take the memory of a buffer.
    pub fn in_buffer(mut buffer: Vec<u8>) -> Self {
        buffer.clear();
        buffer.push(b'{');
        Object(buffer)
    }

    /// Returns the bytes of the whole object.
    pub fn finish(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

/// The number below which JavaScript writes every integer with all its digits, and a float has it
/// exactly.
const MAX_PLAIN_INTEGER: f64 = 9e15;

/// Appends a number in decimal digits.
fn push_integer(out: &mut Vec<u8>, number: u64) {
    // Filled from its end: the last digit is found first. The largest `u64` has 20 digits.
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut rest = number;
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[start..]);
}

/// Returns an array of values that are JSON already.
pub fn array<T: AsRef<[u8]>>(items: impl IntoIterator<Item = T>) -> Vec<u8> {
    let mut out = Vec::new();
    push_array(&mut out, items);
    out
}

/// Appends an array of values that are JSON already.
fn push_array<T: AsRef<[u8]>>(out: &mut Vec<u8>, items: impl IntoIterator<Item = T>) {
    out.push(b'[');
    for (index, item) in items.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        let bytes = item.as_ref();
        out.reserve(bytes.len() + SPACE_AFTER);
        push_valid(out, bytes);
    }
    out.push(b']');
}

/// Returns an array of objects. `add` adds the members of the object of an item.
pub fn object_array<T>(
    items: impl IntoIterator<Item = T>,
    add: impl FnMut(Object, T) -> Object,
) -> Vec<u8> {
    push_objects(Vec::new(), items, add)
}

/// Returns an array as [`object_array`] does, in the memory of a buffer.
pub fn object_array_in<T>(
    mut buffer: Vec<u8>,
    items: impl IntoIterator<Item = T>,
    add: impl FnMut(Object, T) -> Object,
) -> Vec<u8> {
    buffer.clear();
    push_objects(buffer, items, add)
}

/// Appends an array of objects, which are built where they are.
fn push_objects<T>(
    mut out: Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut add: impl FnMut(Object, T) -> Object,
) -> Vec<u8> {
    out.push(b'[');
    for item in items {
        if !out.ends_with(b"[") {
            out.push(b',');
        }
        out.push(b'{');
        out = add(Object(out), item).finish();
    }
    out.push(b']');
    out
}

/// Returns an array of strings.
pub fn text_array<'a>(items: impl IntoIterator<Item = &'a Text<'a>>) -> Vec<u8> {
    array(items.into_iter().map(string::encode_to_vec))
}

/// Appends bytes as valid UTF-8, which new JSON must be. Invalid bytes of a session become U+FFFD,
/// as when its agent reads them.
pub fn push_valid(out: &mut Vec<u8>, value: &[u8]) {
    out.extend_from_slice(&string::repair_utf8(value));
}

/// Writes what [`push_valid`] would append. If `known` is true, the value was found to be valid
/// UTF-8 while loading, and is not checked again.
pub fn write_valid(out: &mut (impl Write + ?Sized), value: &[u8], known: bool) -> io::Result<()> {
    if known {
        out.write_all(value)
    } else {
        out.write_all(&string::repair_utf8(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_javascript_does() {
        for number in [
            0.0,
            -0.0,
            7.0,
            10.0,
            1.5,
            -3.0,
            1e15,
            9e15,
            123_456_789.0,
            f64::NAN,
        ] {
            let written = Object::new().number("n", number).finish();
            let expected = if number.is_finite() {
                js::number_to_string(number)
            } else {
                "null".to_owned()
            };
            assert_eq!(written, format!("{{\"n\":{expected}}}").into_bytes());
        }
    }

    #[test]
    fn an_object_in_the_order_given() {
        let object = Object::new()
            .str("type", "label")
            .text_or_null("parentId", None)
            .number("n", 1e21)
            .raw("r", Raw::from_checked(b"1e5"))
            .with(None::<&str>, |object, value| object.str("absent", value))
            .array("a", &[b"1", b"2"]);
        let both = Object::new()
            .append(&object)
            .append(&Object::new().str("b", "c"));
        assert_eq!(
            both.finish(),
            br#"{"type":"label","parentId":null,"n":1e+21,"r":1e5,"a":[1,2],"b":"c"}"#
        );
        let empty = Object::new().append(&Object::new()).append(&Object::new());
        assert_eq!(empty.finish(), b"{}");
        let whole = object.clone().finish();
        assert_eq!(object.member_bytes(), &whole[1..whole.len() - 1]);
        assert_eq!(Object::new().member_bytes(), b"");
        let nested = Object::new()
            .open("o")
            .open("p")
            .close()
            .str("s", "{")
            .close();
        assert_eq!(
            nested.bool("t", true).finish(),
            br#"{"o":{"p":{},"s":"{"},"t":true}"#
        );
        let add = |object: Object, number: &f64| object.number("n", *number);
        let objects = Object::new()
            .objects("e", &[], add)
            .objects("f", &[1.0, 2.0], add);
        assert_eq!(objects.finish(), br#"{"e":[],"f":[{"n":1},{"n":2}]}"#);
        assert_eq!(object_array([()], |object, ()| object), b"[{}]");
        let inner = Object::new().stored_text("s", br"\/\n");
        let outer = Object::new()
            .object("o", &inner)
            .object("e", &Object::new());
        assert_eq!(outer.finish(), br#"{"o":{"s":"/\n"},"e":{}}"#);
        let arrays = Object::in_buffer(b"old".to_vec()).array::<&[u8]>("e", &[]);
        let arrays = arrays
            .json("f", &array([b"7"]))
            .json_array::<&[u8]>("g", &[]);
        assert_eq!(arrays.finish(), br#"{"e":[],"f":[7]}"#);
        assert_eq!(
            object.finish(),
            br#"{"type":"label","parentId":null,"n":1e+21,"r":1e5,"a":[1,2]}"#
        );
        assert_eq!(Object::new().finish(), b"{}");
    }
}
