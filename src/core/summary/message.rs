//! What the summary takes from one message: a bounded piece of it, whatever its size.

use crate::core::json::{Raw, string};
use crate::core::text::Text;
use memchr::memchr;

/// Units of a text that are looked at, from its start and from its end.
const HEAD: usize = 4_000;
const TAIL: usize = 1_000;
/// Units of an argument of a tool call.
const ARGUMENT: usize = 1_000;
/// Tool calls of one message that are looked at.
const CALLS: usize = 64;

#[derive(Debug)]
pub(super) enum Message {
    /// The user's words.
    User(String),
    Assistant(Assistant),
    Result(ToolResult),
    /// A command or code that the user ran.
    Ran {
        command: String,
        failed: bool,
        output: String,
    },
    CompactionSummary(String),
    BranchSummary(String),
    Other,
}

#[derive(Debug, Default)]
pub(super) struct Assistant {
    pub text: String,
    pub calls: Vec<Call>,
    pub stop: Stop,
    pub error: String,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stop {
    #[default]
    Done,
    ToolUse,
    Error,
    Aborted,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Call {
    /// A hash of the call's id.
    pub id: u64,
    pub tool: String,
    pub path: Option<String>,
    pub command: Option<String>,
}

#[derive(Debug)]
pub(super) struct ToolResult {
    pub id: u64,
    pub tool: String,
    pub is_error: bool,
    /// Of an error only.
    pub text: String,
}

/// Reads a message; one walk over its members, and no body is decoded beyond what is kept.
pub(super) fn read(message: Raw) -> Message {
    let fields = Fields::of(message);
    let role = fields.role.and_then(Raw::text).unwrap_or_default();
    match &*role.to_string_lossy() {
        "user" if !truthy(fields.synthetic) => Message::User(excerpt(fields.content)),
        "developer" if truthy(fields.user_initiated) => Message::User(excerpt(fields.content)),
        "custom" | "hookMessage" if fields.is_prompt_of_user() => Message::User(excerpt(fields.content)),
        "assistant" => Message::Assistant(fields.assistant()),
        "toolResult" => Message::Result(fields.tool_result()),
        "bashExecution" if !truthy(fields.excluded) => fields.ran(fields.command),
        "pythonExecution" if !truthy(fields.excluded) => fields.ran(fields.code),
        "compactionSummary" => Message::CompactionSummary(fields.summary()),
        "branchSummary" => Message::BranchSummary(fields.summary()),
        _ => Message::Other,
    }
}

macro_rules! fields {
    ($($field:ident = $key:literal),* $(,)?) => {
        #[derive(Default)]
        struct Fields<'a> { $($field: Option<Raw<'a>>,)* }

        impl<'a> Fields<'a> {
            fn of(value: Raw<'a>) -> Self {
                let mut fields = Fields::default();
                for (name, value) in value.members() {
                    $(if name.is($key) { fields.$field = Some(value).filter(|value| !value.is_null()); continue; })*
                }
                fields
            }
        }
    };
}

fields! {
    role = "role", content = "content", synthetic = "synthetic", user_initiated = "userInitiated",
    attribution = "attribution", custom_type = "customType", stop_reason = "stopReason",
    error_message = "errorMessage", call_id = "toolCallId", tool_name = "toolName", is_error = "isError",
    command = "command", code = "code", output = "output", exit_code = "exitCode", cancelled = "cancelled",
    excluded = "excludeFromContext", summary = "summary",
}

impl Fields<'_> {
    fn is_prompt_of_user(&self) -> bool {
        let kind = |name| self.custom_type.is_some_and(|kind| kind.is(name));
        self.attribution.is_some_and(|by| by.is("user")) && (kind("skill-prompt") || kind("collab-prompt"))
    }

    fn assistant(&self) -> Assistant {
        let calls: Vec<Call> = blocks(self.content, "toolCall").take(CALLS).map(call).collect();
        let stop = match self.stop_reason.and_then(Raw::text).unwrap_or_default().to_string_lossy().as_ref() {
            "error" => Stop::Error,
            "aborted" => Stop::Aborted,
            "toolUse" => Stop::ToolUse,
            _ if !calls.is_empty() => Stop::ToolUse,
            _ => Stop::Done,
        };
        Assistant { text: excerpt(self.content), calls, stop, error: head(self.error_message, 400) }
    }

    fn tool_result(&self) -> ToolResult {
        let is_error = truthy(self.is_error);
        ToolResult {
            id: self.call_id.map_or(0, |id| hash(id.bytes())),
            tool: head(self.tool_name, 60),
            is_error,
            text: if is_error { excerpt(self.content) } else { String::new() },
        }
    }

    fn ran(&self, command: Option<Raw>) -> Message {
        let failed = self.exit_code.and_then(Raw::number).is_some_and(|code| code != 0.0);
        let output = if failed { excerpt(self.output) } else { String::new() };
        Message::Ran { command: head(command, ARGUMENT), failed: failed && !truthy(self.cancelled), output }
    }

    fn summary(&self) -> String {
        excerpt(self.summary)
    }
}

fn call(block: Raw) -> Call {
    let mut call = Call::default();
    for (name, value) in block.members() {
        if name.is("id") {
            call.id = hash(value.bytes());
        } else if name.is("name") {
            call.tool = head(Some(value), 60);
        } else if name.is("arguments") {
            arguments(value, &mut call);
        }
    }
    call
}

fn arguments(arguments: Raw, call: &mut Call) {
    for (name, value) in arguments.members().filter(|(_, value)| value.is_string()) {
        if ["path", "file_path", "filePath", "file", "notebook_path"].iter().any(|key| name.is(key)) {
            call.path = Some(head(Some(value), ARGUMENT));
        } else if ["command", "cmd"].iter().any(|key| name.is(key)) {
            call.command = Some(head(Some(value), ARGUMENT));
        } else if ["input", "patch"].iter().any(|key| name.is(key)) && call.path.is_none() {
            call.path = patched_file(&head(Some(value), ARGUMENT));
        }
    }
}

/// The first file that a patch names.
fn patched_file(patch: &str) -> Option<String> {
    patch.lines().find_map(|line| {
        let rest = line.strip_prefix("*** ")?;
        let (verb, path) = rest.split_once(" File: ")?;
        matches!(verb, "Update" | "Add" | "Delete").then(|| path.trim().to_owned())
    })
}

fn truthy(value: Option<Raw>) -> bool {
    value.is_some_and(Raw::is_truthy)
}

/// The blocks of one type, of a content that is a list.
fn blocks<'a>(content: Option<Raw<'a>>, kind: &'static str) -> impl Iterator<Item = Raw<'a>> {
    let items = content.unwrap_or(Raw::NULL).items();
    items.filter(move |block| block.get("type").is_some_and(|name| name.is(kind)))
}

/// The text of a content, a string or blocks: its start, and its end when there is more.
fn excerpt(content: Option<Raw>) -> String {
    let Some(content) = content else { return String::new() };
    if content.is_string() {
        return ends(&mut std::iter::once(content));
    }
    ends(&mut content.items().filter_map(block_text))
}

/// The text of a text block, found in one walk over it.
fn block_text(block: Raw) -> Option<Raw> {
    let (mut is_text, mut text) = (false, None);
    for (name, value) in block.members() {
        if name.is("type") {
            is_text = value.is("text");
        } else if name.is("text") {
            text = Some(value);
        }
    }
    text.filter(|text| is_text && text.is_string())
}

fn ends(texts: &mut dyn Iterator<Item = Raw>) -> String {
    let (mut out, mut left, mut last) = (Vec::new(), HEAD, None);
    for text in texts {
        let raw = text.raw_string().unwrap_or_default();
        if left > 0 && !out.is_empty() {
            out.push(b'\n');
        }
        last = Some((raw, left));
        left = string::decode_head(raw, left, &mut out);
    }
    let mut text = lossy(out);
    if let (0, Some((raw, shown))) = (left, last) {
        text.push('\n');
        text.push_str(&tail(raw, shown));
    }
    text
}

/// The end of a string of which `shown` units are taken already. It starts at a space, which never
/// stands inside an escape.
fn tail(raw: &[u8], shown: usize) -> String {
    let from = raw.len().saturating_sub(TAIL).max(shown.min(raw.len()));
    let Some(space) = memchr(b' ', &raw[from..]) else { return String::new() };
    let mut out = Vec::new();
    string::decode_head(&raw[from + space..], TAIL, &mut out);
    lossy(out)
}

fn head(value: Option<Raw>, units: usize) -> String {
    let mut out = Vec::new();
    if let Some(raw) = value.and_then(Raw::raw_string) {
        string::decode_head(raw, units, &mut out);
    }
    lossy(out)
}

fn lossy(wtf8: Vec<u8>) -> String {
    Text::from_wtf8(wtf8).to_string_lossy().into_owned()
}

/// FNV-1a: ids are only compared, and only within a turn or two.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &b| (hash ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}
