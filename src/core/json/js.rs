//! A value as JavaScript writes it again: `JSON.stringify(JSON.parse(value))`.
//!
//! The agents measure and print tool arguments in this form, so its length matters: numbers in
//! their shortest spelling, integer-like keys first, of duplicate keys the last value at the first
//! place. One walk, no recursion.

use super::raw::Raw;
use super::scan::Scanner;
use super::string;
use crate::core::text::Text;

/// The text of `JSON.stringify(value)`.
pub fn stringify(value: Raw) -> Text<'static> {
    let mut writer = Writer { scanner: Scanner::document(value.bytes()), out: Vec::new(), open: Vec::new() };
    writer.run();
    Text::from_wtf8(writer.out)
}

/// A number as `String(number)` has it.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned(); // ryu-js spells -0 so too, but that is not its promise.
    }
    ryu_js::Buffer::new().format(value).to_owned()
}

/// `Object.entries(value)`: of duplicate keys the last value at the first place, integer-like keys
/// first and in order.
pub fn entries(value: Raw<'_>) -> Vec<(Text<'_>, Raw<'_>)> {
    let members: Vec<_> = value.members().map(|(key, value)| (string::decode(key.bytes), value)).collect();
    let order = order(&members.iter().map(|(key, _)| key.as_bytes()).collect::<Vec<_>>());
    order.into_iter().map(|(key, value)| (members[key].0.clone(), members[value].1)).collect()
}

struct Writer<'a> {
    scanner: Scanner<'a>,
    out: Vec<u8>,
    open: Vec<Open>,
}

/// A container being written.
struct Open {
    object: bool,
    /// Where each member of an object starts in the output, and how long its key is there.
    members: Vec<(usize, usize)>,
    start: usize,
}

impl Writer<'_> {
    fn run(&mut self) {
        loop {
            // At a value.
            match self.scanner.peek() {
                open @ (b'{' | b'[') => {
                    self.scanner.seek(self.scanner.pos() + 1);
                    self.out.push(open);
                    self.open.push(Open { object: open == b'{', members: Vec::new(), start: self.out.len() });
                    if !matches!(self.scanner.peek(), b'}' | b']') {
                        self.key();
                        continue;
                    }
                }
                _ => self.scalar(),
            }
            // Behind a value, or in an empty container.
            loop {
                let Some(open) = self.open.last() else { return };
                match self.scanner.peek() {
                    b',' => {
                        self.scanner.seek(self.scanner.pos() + 1);
                        self.out.push(b',');
                        self.key();
                        break;
                    }
                    0 => return,
                    _ => {
                        self.scanner.seek(self.scanner.pos() + 1);
                        let close = if open.object { b'}' } else { b']' };
                        self.close();
                        self.out.push(close);
                    }
                }
            }
        }
    }

    fn key(&mut self) {
        let Some(Open { object: true, members, .. }) = self.open.last_mut() else { return };
        if let Ok(key) = self.scanner.string() {
            let start = self.out.len();
            string::encode(&string::decode(key.bytes), &mut self.out);
            members.push((start, self.out.len() - start));
            self.out.push(b':');
            self.scanner.peek();
            self.scanner.seek(self.scanner.pos() + 1);
        }
    }

    fn scalar(&mut self) {
        let Ok(bytes) = self.scanner.value() else { return };
        let value = Raw::checked(bytes);
        match (value.text(), value.number()) {
            (Some(text), _) => string::encode(&text, &mut self.out),
            (_, Some(n)) if n.is_finite() => self.out.extend_from_slice(number(n).as_bytes()),
            (_, Some(_)) => self.out.extend_from_slice(b"null"),
            _ => self.out.extend_from_slice(bytes),
        }
    }

    /// Puts the members of the innermost container into JavaScript's order, where they are not.
    fn close(&mut self) {
        let Some(open) = self.open.pop() else { return };
        let keys: Vec<_> =
            open.members.iter().map(|&(start, len)| &self.out[start + 1..start + len - 1]).collect();
        let order = order(&keys);
        if order.iter().enumerate().all(|(at, &(key, value))| at == key && key == value)
            && order.len() == keys.len()
        {
            return;
        }
        let member = |at: usize| {
            let end = open.members.get(at + 1).map_or(self.out.len(), |&(start, _)| start - 1);
            &self.out[open.members[at].0..end]
        };
        let members: Vec<_> = order.iter().map(|&(_, value)| member(value)).collect();
        let body = members.join(&b',');
        self.out.truncate(open.start);
        self.out.extend_from_slice(&body);
    }
}

/// For each property JavaScript would have, in its order: which member names it first and which
/// gives its value.
fn order(keys: &[&[u8]]) -> Vec<(usize, usize)> {
    let mut by_key = std::collections::HashMap::with_capacity(keys.len());
    let mut order: Vec<(usize, usize)> = Vec::with_capacity(keys.len());
    for (at, key) in keys.iter().enumerate() {
        let place = *by_key.entry(key).or_insert_with(|| {
            order.push((at, at));
            order.len() - 1
        });
        order[place].1 = at;
    }
    order.sort_by_key(|&(key, _)| array_index(keys[key]).unwrap_or(u32::MAX));
    order
}

/// The number a key stands for if JavaScript sorts it before the others.
fn array_index(key: &[u8]) -> Option<u32> {
    let canonical = key == b"0" || (key.first()? != &b'0' && key.iter().all(u8::is_ascii_digit));
    if !canonical {
        return None;
    }
    std::str::from_utf8(key).ok()?.parse().ok().filter(|&index| index < u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn js(text: &str) -> String {
        stringify(Raw::parse(text.as_bytes()).unwrap()).to_string()
    }

    #[test]
    fn it_writes_what_javascript_writes() {
        assert_eq!(
            js(r#" { "a" : [ 1.0 , -0, 1e400, 1e21, 0.1e-6, 12345678901234567890 ] } "#),
            r#"{"a":[1,0,null,1e+21,1e-7,12345678901234567000]}"#
        );
        assert_eq!(
            js(r#"{"b":1,"2":{},"1":[],"b":{"c":[]},"01":3}"#),
            r#"{"1":[],"2":{},"b":{"c":[]},"01":3}"#
        );
        assert_eq!(js(r#""\u0041\/\ud83d\n""#), r#""A/\ud83d\n""#);
        assert_eq!(js("[[],[{}],{}]"), "[[],[{}],{}]");
        assert_eq!(js(r#"{"a":1,"a":2}"#), r#"{"a":2}"#);
    }

    #[test]
    fn depth_costs_no_stack_and_no_time() {
        let deep = format!("{}1{}", r#"{"a":["#.repeat(100_000), "]}".repeat(100_000));
        assert_eq!(js(&deep), deep);
    }

    #[test]
    fn entries_are_object_entries() {
        let value = Raw::parse(br#"{"b":1,"0":2,"b":3}"#).unwrap();
        let entries: Vec<_> =
            entries(value).into_iter().map(|(k, v)| format!("{k}={}", v.bytes()[0] as char)).collect();
        assert_eq!(entries, ["0=2", "b=3"]);
    }
}
