//! The texts of an entry, field by field, for searching.
//!
//! A field is a meaningful string in the entry's line (or a number among the arguments of a tool
//! call): text, thinking, arguments, results, commands, summaries, labels, names, settings. Ids,
//! times, usage and signatures are not fields, unless all strings are requested. A field is named
//! by its path, written as in jq without the leading dot: `message.content[1].arguments.path`.
//!
//! The line is walked once, without recursion, and nothing is decoded before it is requested.
//! Duplicate keys are all visited: a search covers what the file contains.

use super::entry::{Kind, Role};
use pisess_json::strings::Step;
use pisess_json::text::Text;
use pisess_json::{Raw, Scanner, string};
use std::fmt::Write;
use std::ops::ControlFlow;

/// Which fields are visited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldScope {
    /// Only the meaningful ones.
    #[default]
    Meaningful,
    /// Every string of the line.
    Everything,
}

/// One field of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a, 'p> {
    value: Raw<'a>,
    path: &'p [Step<'a>],
}

impl<'a> Field<'a, '_> {
    /// Returns the decoded text of a string, or the spelling of a number.
    pub fn text(&self) -> Text<'a> {
        self.value
            .text()
            .unwrap_or_else(|| Text::from_wtf8(self.value.bytes()))
    }

    /// Returns the bytes of the value as they are in the line, without quotes, to inspect before
    /// decoding.
    pub fn raw(&self) -> &'a [u8] {
        self.value.raw_string().unwrap_or(self.value.bytes())
    }

    /// Whether the field belongs to a tool call: it is in the member `name`, `arguments` or
    /// `intent` of a block of a message.
    pub fn is_of_call(&self) -> bool {
        self.call_index().is_some()
    }

    /// Whether the field is thinking of the model: `message.content[N].thinking`.
    pub fn is_thinking(&self) -> bool {
        use Step::{Index, Key};
        matches!(
            self.path,
            [
                Key(b"message"),
                Key(b"content"),
                Index(_),
                Key(b"thinking"),
                ..
            ]
        )
    }

    /// Returns the index in `message.content` of the tool call to which the field belongs. `None`
    /// if the field is not the name, the intent or an argument of a call.
    pub fn call_index(&self) -> Option<u32> {
        use Step::{Index, Key};
        match self.path {
            [
                Key(b"message"),
                Key(b"content"),
                Index(index),
                Key(b"name" | b"arguments" | b"intent"),
                ..,
            ] => u32::try_from(*index).ok(),
            _ => None,
        }
    }

    /// Returns the path of the field, as in `message.content[1].arguments["a key"]`.
    pub fn path(&self) -> String {
        // Most paths are not longer than `message.content[1].arguments.oldText`.
        let mut path = String::with_capacity(48);
        for step in self.path {
            match step {
                Step::Key(key) => push_key(key, &mut path),
                Step::Index(at) => {
                    // Writing to memory cannot fail.
                    let _ = write!(path, "[{at}]");
                }
            }
        }
        path
    }
}

/// Appends a key to a path: as `.key` or, if it is not an identifier, as `["a key"]`. `raw_key` is
/// the key as it is written between its quotes.
fn push_key(raw_key: &[u8], path: &mut String) {
    // Most keys are identifiers without an escape, and need no decoding.
    if is_identifier(raw_key) {
        return push_identifier(&String::from_utf8_lossy(raw_key), path);
    }
    let key = string::decode(raw_key);
    if is_identifier(key.as_bytes()) {
        push_identifier(&key.to_string_lossy(), path);
    } else {
        path.push('[');
        path.push_str(&String::from_utf8_lossy(&string::encode_to_vec(&key)));
        path.push(']');
    }
}

/// Appends a key to a path, after a dot unless it is the first.
fn push_identifier(key: &str, path: &mut String) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(key);
}

/// Whether jq accepts a key after a dot: it has only ASCII letters, digits and `_`, and begins with
/// no digit.
fn is_identifier(key: &[u8]) -> bool {
    key.first().is_some_and(|first| !first.is_ascii_digit())
        && key
            .iter()
            .all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Calls `visit` with each field of an entry's line, in order, until `visit` breaks. A field is a
/// value in which a search looks, such as a text or an argument. Also breaks at a key or value that
/// does not parse.
///
/// The loop takes one token at a time, because a line may be nested too deeply for a recursion.
pub fn visit_fields<'a>(
    line: Raw<'a>,
    kind: Kind,
    role: Role,
    scope: FieldScope,
    visit: &mut dyn FnMut(&Field<'a, '_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let mut walk = FieldWalk {
        scanner: Scanner::document(line.bytes()),
        kind,
        role,
        scope,
        path: Vec::new(),
        container_regions: Vec::new(),
        value_region: Region::Entry,
        is_at_key: false,
    };
    loop {
        // The next byte shows what comes next, except a quote: a key begins with it, and a string
        // value. `is_at_key` distinguishes them.
        match walk.scanner.peek() {
            // `peek` returns 0 at the end of the line.
            0 => return ControlFlow::Continue(()),
            // The members or items of the container come next. A container without fields is read
            // as one value instead, in the last arm.
            b'{' if walk.may_contain_fields() => walk.open_object(),
            b'[' if walk.may_contain_fields() => walk.open_array(),
            b'}' | b']' => walk.close_container(),
            b',' => walk.pass_comma(),
            b':' => walk.skip_byte(),
            _ if walk.is_at_key => walk.read_key()?,
            _ => {
                let value = walk.read_value()?;
                if walk.is_field(value) {
                    visit(&Field {
                        value,
                        path: &walk.path,
                    })?;
                }
            }
        }
    }
}

/// A position in the line of an entry.
struct FieldWalk<'a> {
    scanner: Scanner<'a>,
    /// The type of the entry.
    kind: Kind,
    /// The role of its message.
    role: Role,
    scope: FieldScope,
    /// The path of the next value: a step for each open object and array.
    path: Vec<Step<'a>>,
    /// The region of each open object and array.
    container_regions: Vec<Region>,
    /// The region of the next value.
    value_region: Region,
    /// Whether a key comes next. At the start of an object, its end may come instead.
    is_at_key: bool,
}

impl<'a> FieldWalk<'a> {
    /// Whether the object or array that comes next may contain fields.
    fn may_contain_fields(&self) -> bool {
        self.value_region != Region::NoFields || self.scope == FieldScope::Everything
    }

    /// Walks over the brace at the start of an object. A key or the end of the object follows.
    fn open_object(&mut self) {
        self.container_regions.push(self.value_region);
        // The first key takes the place of this step.
        self.path.push(Step::Key(b""));
        self.is_at_key = true;
        self.skip_byte();
    }

    /// Walks over the bracket at the start of an array. An item or the end of the array follows.
    fn open_array(&mut self) {
        self.container_regions.push(self.value_region);
        self.path.push(Step::Index(0));
        self.value_region = item_region(self.value_region);
        self.skip_byte();
    }

    /// Walks over the end of an object or array.
    fn close_container(&mut self) {
        self.container_regions.pop();
        self.path.pop();
        // The object may be empty.
        self.is_at_key = false;
        self.skip_byte();
    }

    /// Walks over a comma. In an array, an item follows; in an object, a key.
    fn pass_comma(&mut self) {
        if let Some(Step::Index(index)) = self.path.last_mut() {
            *index += 1;
            self.value_region = item_region(self.innermost_region());
        } else {
            self.is_at_key = true;
        }
        self.skip_byte();
    }

    /// Walks over a key, makes it the last step of the path, and decides from it where its value
    /// is: whether there are fields in it.
    fn read_key(&mut self) -> ControlFlow<()> {
        let Ok(key) = self.scanner.read_string() else {
            return ControlFlow::Break(());
        };
        // Replaces the previous key of the object, or the empty one that `open_object` has pushed.
        self.path.pop();
        self.path.push(Step::Key(key.bytes));
        let object_region = self.innermost_region();
        self.value_region = member_region(object_region, self.kind, self.role, &key.text());
        self.is_at_key = false;
        ControlFlow::Continue(())
    }

    /// Walks over a value as a whole.
    fn read_value(&mut self) -> ControlFlow<(), Raw<'a>> {
        match self.scanner.read_value() {
            Ok(value) => ControlFlow::Continue(Raw::from_checked(value)),
            Err(_) => ControlFlow::Break(()),
        }
    }

    /// Whether a value in the current region is a field.
    fn is_field(&self, value: Raw) -> bool {
        if value.is_string() && self.scope == FieldScope::Everything {
            return true;
        }
        match self.value_region {
            Region::Content | Region::Strings => value.is_string(),
            Region::Arguments => value.is_string() || value.is_number(),
            _ => false,
        }
    }

    /// Returns the region of the innermost open object or array.
    fn innermost_region(&self) -> Region {
        match self.container_regions.last() {
            Some(&region) => region,
            None => Region::NoFields,
        }
    }

    fn skip_byte(&mut self) {
        self.scanner.seek(self.scanner.pos() + 1);
    }
}

/// The kind of place in an entry where a value is. It decides whether a string there is a field,
/// and of which kind the places of the value's members are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    Entry,
    Message,
    /// `content`: a string, or an array of blocks.
    Content,
    Block,
    /// `replacement` of a context edit.
    Replacement,
    /// The files of a mention, and each of them.
    Files,
    File,
    /// All strings here and at deeper levels are fields.
    Strings,
    /// All strings and numbers here and at deeper levels are fields.
    Arguments,
    /// Nothing here or at deeper levels is a field.
    NoFields,
}

/// Returns the region of a member, which is the kind of place where its value is, and decides which
/// strings in it are searched. It follows from the region of its object and the key.
fn member_region(object: Region, kind: Kind, role: Role, key: &Text) -> Region {
    match (object, key.as_bytes()) {
        (Region::Entry, key) => entry_member_region(kind, key),
        (Region::Message, key) => message_member_region(role, key),
        (Region::Block, b"text" | b"thinking" | b"name") | (Region::File, b"content") => {
            Region::Strings
        }
        (Region::Block, b"arguments" | b"intent") | (Region::File, b"path") => Region::Arguments,
        (Region::Replacement, b"content") => Region::Content,
        // All values at deeper levels are searched alike.
        (Region::Strings | Region::Arguments, _) => object,
        _ => Region::NoFields,
    }
}

/// Returns the region of the items of an array, given the region of the array.
fn item_region(array: Region) -> Region {
    match array {
        Region::Content => Region::Block,
        Region::Files => Region::File,
        Region::Strings | Region::Arguments => array,
        _ => Region::NoFields,
    }
}

/// Returns the region of a member of an entry: which strings in its value are searched. The schema
/// of the entry's type lists the members that are searched at all.
fn entry_member_region(kind: Kind, key: &[u8]) -> Region {
    if matches!(kind, Kind::Other | Kind::Missing) {
        // In a type that is not known, any member may have text, except `type`, `id`, `parentId`
        // and `timestamp`.
        let is_envelope = matches!(key, b"type" | b"id" | b"parentId" | b"timestamp");
        return if is_envelope {
            Region::NoFields
        } else {
            Region::Strings
        };
    }
    let searched = kind.schema().searched;
    match searched.iter().find(|name| name.as_bytes() == key) {
        Some(&"message") => Region::Message,
        Some(&"content") => Region::Content,
        Some(&"replacement") => Region::Replacement,
        Some(_) => Region::Strings,
        None => Region::NoFields,
    }
}

/// Returns the region of a member of a message.
fn message_member_region(role: Role, key: &[u8]) -> Region {
    match key {
        b"content" => Region::Content,
        b"files" if role == Role::FileMention => Region::Files,
        b"toolName" | b"errorMessage" | b"command" | b"code" | b"output" | b"customType"
        | b"summary" => Region::Strings,
        _ => Region::NoFields,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visit_line(
        line: &str,
        scope: FieldScope,
        visit: &mut dyn FnMut(&Field) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let line = Raw::parse(line.as_bytes()).unwrap();
        let kind = Kind::named(line.get_text("type").unwrap().as_bytes());
        let role = line
            .get("message")
            .and_then(|message| message.get_text("role"));
        let role = role.map_or(Role::Missing, |role| Role::named(role.as_bytes()));
        visit_fields(line, kind, role, scope, visit)
    }

    fn fields(line: &str, scope: FieldScope) -> Vec<String> {
        let mut found = Vec::new();
        let flow = visit_line(line, scope, &mut |field| {
            found.push(format!("{} {}", field.path(), field.text()));
            ControlFlow::Continue(())
        });
        assert_eq!(flow, ControlFlow::Continue(()));
        found
    }

    fn said(line: &str) -> Vec<String> {
        fields(line, FieldScope::Meaningful)
    }

    #[test]
    fn a_turn_says_text_thinking_and_arguments() {
        let line = r#"{"type":"message","id":"a","parentId":"b","message":{"role":"assistant","content":[
            {"type":"thinking","thinking":"hm","thinkingSignature":"xyz"},{"type":"text","text":"So\n\u00e9","textSignature":"s"},
            {"type":"toolCall","id":"c","name":"edit","arguments":{"path":"/x","edits":[{"old":"a"},{"new key":"b","n":8080}]}},
            {"type":"image","data":"AAAA","mimeType":"image/png"}],
            "usage":{"input":3,"cost":{"total":0}},"model":"m","errorMessage":"failed"}}"#;
        assert_eq!(
            said(line),
            [
                "message.content[0].thinking hm",
                "message.content[1].text So\né",
                "message.content[2].name edit",
                "message.content[2].arguments.path /x",
                "message.content[2].arguments.edits[0].old a",
                "message.content[2].arguments.edits[1][\"new key\"] b",
                "message.content[2].arguments.edits[1].n 8080",
                "message.errorMessage failed",
            ]
        );
        let all = fields(line, FieldScope::Everything);
        for found in [
            "id a",
            "message.content[0].thinkingSignature xyz",
            "message.content[3].data AAAA",
        ] {
            assert!(all.iter().any(|field| field == found), "{found}: {all:?}");
        }
        assert!(said(line).iter().all(|field| all.contains(field)));
    }

    #[test]
    fn other_entries_say_what_they_hold() {
        let cases: [(&str, &[&str]); 9] = [
            (
                r#"{"message":{"content":"out","toolName":"bash","role":"toolResult","details":{"diff":"d"}},"type":"message"}"#,
                &["message.content out", "message.toolName bash"],
            ),
            (
                r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"a"}}"#,
                &["message.command ls", "message.output a"],
            ),
            (
                r#"{"type":"message","message":{"role":"fileMention","files":[{"path":"p","content":"c","lineCount":1}]}}"#,
                &["message.files[0].path p", "message.files[0].content c"],
            ),
            (
                r#"{"type":"compaction","summary":"S","shortSummary":"s","details":{"readFiles":["f"]}}"#,
                &["summary S", "shortSummary s"],
            ),
            (
                r#"{"type":"label","targetId":"x","label":"mark"}"#,
                &["label mark"],
            ),
            (
                r#"{"type":"custom","customType":"t","data":{"a":"b"}}"#,
                &["customType t"],
            ),
            (
                r#"{"type":"custom_message","customType":"t","content":[{"type":"text","text":"x"}]}"#,
                &["customType t", "content[0].text x"],
            ),
            (
                r#"{"type":"context_edit","targetId":"x","replacement":{"content":"short"}}"#,
                &["replacement.content short"],
            ),
            (
                r#"{"type":"brand_new","id":"x","notes":["n",{"m":[[]]},{}]}"#,
                &["notes[0] n"],
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(said(line), expected, "{line}");
        }
    }

    #[test]
    fn it_stops_when_asked_and_never_overflows() {
        let mut seen = 0;
        let line = r#"{"type":"session_info","name":"a","name":"b"}"#;
        let flow = visit_line(line, FieldScope::Meaningful, &mut |_| {
            seen += 1;
            ControlFlow::Break(())
        });
        assert_eq!((flow, seen), (ControlFlow::Break(()), 1));
        let deep = format!(
            r#"{{"type":"message","message":{{"role":"assistant","content":[{{"arguments":{}"x"{}}}]}}}}"#,
            "[".repeat(100_000),
            "]".repeat(100_000)
        );
        assert_eq!(said(&deep).len(), 1);
    }
}
