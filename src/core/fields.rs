//! The texts of an entry, field by field, for searching.
//!
//! A field is a meaningful string in the entry's line (or a number among the arguments of a tool call): text,
//! thinking, arguments, results, commands, summaries, labels, names, settings. Ids, times, usage and
//! signatures are not fields, unless all strings are requested. A field is named by its path, written as in
//! jq without the leading dot: `message.content[1].arguments.path`.
//!
//! The line is walked once, without recursion, and nothing is decoded before it is requested. Duplicate keys
//! are all visited: a search covers what the file contains.

use super::entry::{Kind, Role};
use super::json::{Raw, Scanner, string};
use super::text::Text;
use std::fmt::Write as _;
use std::ops::ControlFlow;

/// What kind of text a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Text by the user, the model or an extension.
    Text,
    /// Thinking of the model.
    Thinking,
    /// The name of a tool.
    Tool,
    /// An argument of a tool call.
    Argument,
    /// The output of a tool or a command.
    Result,
    /// A command or code run by the user.
    Command,
    /// The error message of a turn.
    Error,
    /// The summary of a compaction or a branch.
    Summary,
    /// A label.
    Label,
    /// The name of the session.
    Name,
    /// The type of a custom entry.
    CustomType,
    /// A model, a thinking level, a mode or another setting.
    Setting,
    /// Anything else: ids, signatures, details, data.
    Data,
}

/// Which fields to visit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Only the meaningful ones.
    #[default]
    Said,
    /// Every string of the line; those that are not meaningful are [`Class::Data`].
    Everything,
}

/// One field of an entry.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a, 'p> {
    /// What kind of text it is.
    pub class: Class,
    value: Raw<'a>,
    path: &'p [Step<'a>],
}

/// A step of a path.
#[derive(Clone, Debug)]
enum Step<'a> {
    Key(Text<'a>),
    Index(usize),
}

impl<'a> Field<'a, '_> {
    /// Returns its decoded text; for a number, its spelling.
    pub fn text(&self) -> Text<'a> {
        self.value.text().unwrap_or_else(|| Text::from_wtf8(self.value.bytes()))
    }

    /// Returns its bytes as they are in the line, between the quotes, to inspect before decoding.
    pub fn raw(&self) -> &'a [u8] {
        self.value.raw_string().unwrap_or(self.value.bytes())
    }

    /// Returns its path, as in `message.content[1].arguments["a key"]`.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in self.path {
            match step {
                Step::Key(key) if is_identifier(key.as_bytes()) => {
                    path.push_str(if path.is_empty() { "" } else { "." });
                    path.push_str(&key.to_string_lossy());
                }
                Step::Key(key) => {
                    path.push('[');
                    path.push_str(&String::from_utf8_lossy(&string::encoded(key)));
                    path.push(']');
                }
                // Writing to a string cannot fail.
                Step::Index(at) => drop(write!(path, "[{at}]")),
            }
        }
        path
    }
}

fn is_identifier(key: &[u8]) -> bool {
    key.first().is_some_and(|first| !first.is_ascii_digit())
        && key.iter().all(|&byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Calls `see` with each field of an entry's line, in order, until it breaks.
pub fn visit<'a>(
    line: Raw<'a>,
    scope: Scope,
    see: &mut dyn FnMut(&Field<'a, '_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let name = |value: Option<Raw<'a>>| value.and_then(Raw::text);
    let kind = name(line.get("type")).map_or(Kind::Missing, |name| Kind::named(name.as_bytes()));
    let role = match kind {
        Kind::Message => name(line.get("message").and_then(|message| message.get("role"))),
        _ => None,
    };
    let role = role.map_or(Role::Missing, |name| Role::named(name.as_bytes()));
    visit_known(line, kind, role, scope, see)
}

/// The same for an entry whose type and role are known.
pub fn visit_known<'a>(
    line: Raw<'a>,
    kind: Kind,
    role: Role,
    scope: Scope,
    see: &mut dyn FnMut(&Field<'a, '_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let scanner = Scanner::document(line.bytes());
    let mut walk = Walk { scanner, kind, role, scope, path: Vec::new(), open: Vec::new() };
    walk.run(see)
}

/// The position of a value in an entry, which decides what its members and its own text are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    Entry,
    Message,
    /// `content`: a string, or an array of blocks.
    Content(Class),
    Block(Class),
    /// `replacement` of a context edit.
    Replacement,
    /// The files of a mention, and each of them.
    Files,
    File,
    /// All strings at and below it are text of this class.
    All(Class),
    /// Nothing at or below it is meaningful.
    Silent,
}

struct Walk<'a> {
    scanner: Scanner<'a>,
    kind: Kind,
    role: Role,
    scope: Scope,
    path: Vec<Step<'a>>,
    /// The containers of the current value, `true` for objects.
    open: Vec<(Region, bool)>,
}

impl<'a> Walk<'a> {
    fn run(&mut self, see: &mut dyn FnMut(&Field<'a, '_>) -> ControlFlow<()>) -> ControlFlow<()> {
        let mut region = Region::Entry;
        loop {
            let opens = matches!(self.scanner.peek(), b'{' | b'[');
            if opens && region != Region::Silent {
                if self.open(region) {
                    region = self.member();
                    continue;
                }
            } else {
                self.scalar(region, see)?;
            }
            match self.next() {
                Some(next) => region = next,
                None => return ControlFlow::Continue(()),
            }
        }
    }

    /// Enters a container. Returns whether it has any content.
    fn open(&mut self, region: Region) -> bool {
        let is_object = self.scanner.peek() == b'{';
        self.scanner.seek(self.scanner.pos() + 1);
        if matches!(self.scanner.peek(), b'}' | b']' | 0) {
            self.scanner.seek(self.scanner.pos() + 1);
            return false;
        }
        self.open.push((region, is_object));
        self.path.push(Step::Index(0));
        true
    }

    /// The region of the member or item that the scanner has come to; walks over its key.
    fn member(&mut self) -> Region {
        let Some(&(region, is_object)) = self.open.last() else { return Region::Silent };
        let inner = if is_object {
            let key = self.scanner.string().map(|key| string::decode(key.bytes)).unwrap_or_default();
            self.scanner.peek();
            self.scanner.seek(self.scanner.pos() + 1);
            let inner = self.member_of(region, key.as_bytes());
            self.path.pop();
            self.path.push(Step::Key(key));
            inner
        } else {
            item_of(region)
        };
        match (inner, self.scope) {
            (Region::Silent, Scope::Everything) => Region::All(Class::Data),
            (inner, _) => inner,
        }
    }

    /// After a value: moves to the next member or item, leaving containers that end here. Returns `None` at
    /// the end.
    fn next(&mut self) -> Option<Region> {
        while let Some(&(_, is_object)) = self.open.last() {
            let byte = self.scanner.peek();
            self.scanner.seek(self.scanner.pos() + 1);
            match byte {
                b',' => {
                    if let (false, Some(Step::Index(at))) = (is_object, self.path.last_mut()) {
                        *at += 1;
                    }
                    return Some(self.member());
                }
                0 => return None,
                _ => {
                    self.open.pop();
                    self.path.pop();
                }
            }
        }
        None
    }

    fn scalar(
        &mut self,
        region: Region,
        see: &mut dyn FnMut(&Field<'a, '_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Ok(value) = self.scanner.value() else { return ControlFlow::Break(()) };
        let (Region::All(class) | Region::Content(class)) = region else { return ControlFlow::Continue(()) };
        let value = Raw::checked(value);
        let counts = value.is_string() || class == Class::Argument && value.is_number();
        if counts { see(&Field { class, value, path: &self.path }) } else { ControlFlow::Continue(()) }
    }

    fn member_of(&self, region: Region, key: &[u8]) -> Region {
        match region {
            Region::Entry => member_of_entry(self.kind, key),
            Region::Message => member_of_message(self.role, key),
            Region::Block(class) => match key {
                b"text" => Region::All(class),
                b"thinking" => Region::All(Class::Thinking),
                b"name" => Region::All(Class::Tool),
                b"arguments" | b"intent" => Region::All(Class::Argument),
                _ => Region::Silent,
            },
            Region::Replacement if key == b"content" => Region::Content(Class::Text),
            Region::File if key == b"path" => Region::All(Class::Argument),
            Region::File if key == b"content" => Region::All(Class::Result),
            Region::All(class) => Region::All(class),
            _ => Region::Silent,
        }
    }
}

fn item_of(region: Region) -> Region {
    match region {
        Region::Content(class) => Region::Block(class),
        Region::Files => Region::File,
        Region::All(class) => Region::All(class),
        _ => Region::Silent,
    }
}

fn member_of_entry(kind: Kind, key: &[u8]) -> Region {
    let class = match (kind, key) {
        (Kind::Message, b"message") => return Region::Message,
        (Kind::CustomMessage, b"content") => return Region::Content(Class::Text),
        (Kind::ContextEdit, b"replacement") => return Region::Replacement,
        (Kind::Custom | Kind::CustomMessage, b"customType") => Class::CustomType,
        (Kind::Compaction, b"summary" | b"shortSummary")
        | (Kind::BranchSummary | Kind::StackSummary, b"summary")
        | (Kind::StackPop, b"summary" | b"prePopSummary") => Class::Summary,
        (Kind::Compaction, b"warning") | (Kind::ModelUsage, b"errorMessage") => Class::Error,
        (Kind::Label, b"label") | (Kind::Head, b"name") => Class::Label,
        (Kind::SessionInfo, b"name") | (Kind::TitleChange, b"title") => Class::Name,
        (Kind::SessionInit, b"systemPrompt" | b"task") | (Kind::Usage, b"note") => Class::Text,
        (Kind::ModelChange, b"provider" | b"modelId" | b"model")
        | (Kind::ThinkingLevelChange, b"thinkingLevel")
        | (Kind::ServiceTierChange, b"serviceTier")
        | (Kind::ModeChange, b"mode")
        | (Kind::CredentialPin, b"provider")
        | (Kind::SessionInit, b"agent")
        | (Kind::TtsrInjection, b"injectedRules")
        | (Kind::ModelUsage, b"purpose" | b"role" | b"provider" | b"model") => Class::Setting,
        (Kind::Other | Kind::Missing, b"type" | b"id" | b"parentId" | b"timestamp") => return Region::Silent,
        // In a type that is not known, everything but the envelope may be meaningful.
        (Kind::Other | Kind::Missing, _) => Class::Text,
        _ => return Region::Silent,
    };
    Region::All(class)
}

fn member_of_message(role: Role, key: &[u8]) -> Region {
    let class = match key {
        b"content" if role == Role::ToolResult => return Region::Content(Class::Result),
        b"content" => return Region::Content(Class::Text),
        b"files" if role == Role::FileMention => return Region::Files,
        b"toolName" => Class::Tool,
        b"errorMessage" => Class::Error,
        b"command" | b"code" => Class::Command,
        b"output" => Class::Result,
        b"customType" => Class::CustomType,
        b"summary" => Class::Summary,
        _ => return Region::Silent,
    };
    Region::All(class)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(line: &str, scope: Scope) -> Vec<String> {
        let mut found = Vec::new();
        let flow = visit(Raw::parse(line.as_bytes()).unwrap(), scope, &mut |field| {
            found.push(format!("{} {:?} {}", field.path(), field.class, field.text()));
            ControlFlow::Continue(())
        });
        assert_eq!(flow, ControlFlow::Continue(()));
        found
    }

    fn said(line: &str) -> Vec<String> {
        fields(line, Scope::Said)
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
                "message.content[0].thinking Thinking hm",
                "message.content[1].text Text So\né",
                "message.content[2].name Tool edit",
                "message.content[2].arguments.path Argument /x",
                "message.content[2].arguments.edits[0].old Argument a",
                "message.content[2].arguments.edits[1][\"new key\"] Argument b",
                "message.content[2].arguments.edits[1].n Argument 8080",
                "message.errorMessage Error failed",
            ]
        );
        let all = fields(line, Scope::Everything);
        for found in [
            "id Data a",
            "message.content[0].thinkingSignature Data xyz",
            "message.content[3].data Data AAAA",
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
                &["message.content Result out", "message.toolName Tool bash"],
            ),
            (
                r#"{"type":"message","message":{"role":"bashExecution","command":"ls","output":"a"}}"#,
                &["message.command Command ls", "message.output Result a"],
            ),
            (
                r#"{"type":"message","message":{"role":"fileMention","files":[{"path":"p","content":"c","lineCount":1}]}}"#,
                &["message.files[0].path Argument p", "message.files[0].content Result c"],
            ),
            (
                r#"{"type":"compaction","summary":"S","shortSummary":"s","details":{"readFiles":["f"]}}"#,
                &["summary Summary S", "shortSummary Summary s"],
            ),
            (r#"{"type":"label","targetId":"x","label":"mark"}"#, &["label Label mark"]),
            (r#"{"type":"custom","customType":"t","data":{"a":"b"}}"#, &["customType CustomType t"]),
            (
                r#"{"type":"custom_message","customType":"t","content":[{"type":"text","text":"x"}]}"#,
                &["customType CustomType t", "content[0].text Text x"],
            ),
            (
                r#"{"type":"context_edit","targetId":"x","replacement":{"content":"short"}}"#,
                &["replacement.content Text short"],
            ),
            (r#"{"type":"brand_new","id":"x","notes":["n",{"m":[[]]},{}]}"#, &["notes[0] Text n"]),
        ];
        for (line, expected) in cases {
            assert_eq!(said(line), expected, "{line}");
        }
    }

    #[test]
    fn it_stops_when_asked_and_never_overflows() {
        let mut seen = 0;
        let line = Raw::checked(br#"{"type":"session_info","name":"a","name":"b"}"#);
        let flow = visit(line, Scope::Said, &mut |_| {
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
