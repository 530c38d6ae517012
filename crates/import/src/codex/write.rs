//! Writes sessions of Codex.
//!
//! ```text
//! entry          lines
//! user, …        response_item (message), and the event with which Codex lists and shows it
//! response       response_item for each text and call, and an event for each text
//! result         response_item (…_output)
//! compaction     compacted, with the summary and the items that it keeps
//! name           event_msg (thread_name_updated)
//! other          pisess
//! ```
//!
//! Codex has no branches, so entries of other branches become lines that it skips. Its reasoning is
//! encrypted for an account and a model, so thinking is left out.

use super::content::item_content;
use crate::calls::CommonCall;
use crate::native::{
    LineIx, MISSING_RESULT, ModelMessage, NativeFormat, NativeTarget, NativeWriter, OpenCall,
    SourceEntry, TitleList, Visibility, is_text,
};
use crate::returned::{NO_ENTRY, RETURNED_KEY, returned_member, returned_text_member};
use foldhash::HashSet;
use pisess_core::session::Session;
use pisess_core::session::content::{is_block, join_text};
use pisess_core::session::entry::Kind;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_json::write::{Object, array};
use pisess_json::{Raw, js};
use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;

/// The version of Codex whose lines these are.
const VERSION: &str = "0.171.0";

/// A session in progress.
pub struct CodexWriter<'a> {
    session_id: &'a str,
    /// For each line that the model sees, its items as JSON, separated by commas: a compaction
    /// writes the items that it keeps again. Empty if the session has no compaction.
    items: Vec<Vec<u8>>,
    line_count: u32,
    has_compaction: bool,
    /// The ids of the calls whose input is a text. The items of their results have another type.
    custom_call_ids: HashSet<Text<'static>>,
    out: &'a mut dyn Write,
}

/// How sessions of pi are written for Codex.
pub struct CodexNative;

impl NativeFormat for CodexNative {
    fn new_writer<'a>(
        &self,
        target: &NativeTarget<'a>,
        session: &Session,
        out: &'a mut dyn Write,
    ) -> io::Result<Box<dyn NativeWriter + 'a>> {
        Ok(Box::new(CodexWriter::new(target, session, out)?))
    }

    /// Returns a path such as `sessions/2026/03/02/rollout-2026-03-02T11-57-30-ID.jsonl`. Codex
    /// finds a session by this name.
    fn file_path(&self, target: &NativeTarget) -> PathBuf {
        // Such as `2026-03-02T11:57:30.250Z`.
        let time = iso_string(target.created_ms);
        let (date, _) = time.split_once('T').unwrap_or((&time, ""));
        let mut path = PathBuf::from("sessions");
        for year_month_or_day in date.split('-') {
            path.push(year_month_or_day);
        }

        let (whole_seconds, _) = time.split_once('.').unwrap_or((&time, ""));
        let time_in_name = whole_seconds.replace(':', "-");
        path.push(format!(
            "rollout-{time_in_name}-{}.jsonl",
            target.session_id
        ));
        path
    }

    /// Returns the line for `session_index.jsonl`, where Codex looks for the names of sessions.
    fn title_list(&self, target: &NativeTarget, title: &Text) -> Option<TitleList> {
        let mut line = Object::new()
            .str("id", target.session_id)
            .text("thread_name", title)
            .str("updated_at", &iso_string(target.created_ms))
            .finish();
        line.push(b'\n');
        Some(TitleList {
            file_name: "session_index.jsonl",
            line,
        })
    }
}

impl<'a> CodexWriter<'a> {
    /// Makes a writer, and writes the first line, which names the session.
    pub fn new(
        target: &NativeTarget<'a>,
        session: &Session,
        out: &'a mut dyn Write,
    ) -> io::Result<CodexWriter<'a>> {
        let mut writer = CodexWriter {
            session_id: target.session_id,
            items: Vec::new(),
            line_count: 0,
            has_compaction: session.has_kind(Kind::Compaction),
            custom_call_ids: HashSet::default(),
            out,
        };
        let payload = Object::new()
            .str("id", target.session_id)
            .str("timestamp", &iso_string(target.created_ms))
            .text("cwd", target.cwd)
            .str("originator", "pisess")
            .str("cli_version", VERSION)
            .str("source", "cli");
        writer.write_line(
            target.created_ms,
            "session_meta",
            &payload.finish(),
            NO_ENTRY,
        )?;
        Ok(writer)
    }

    /// Writes a line of the type `kind`. `payload` and `pisess_member` are JSON. A later import
    /// restores the entry of pi from `pisess_member`. Of several lines of an entry, only the first
    /// one has the entry; the others have [`NO_ENTRY`].
    ///
    /// ```text
    /// {"timestamp":"…","type":"response_item","payload":{…},"pisess":{"entry":{…}}}
    /// ```
    fn write_line(
        &mut self,
        time_ms: i64,
        kind: &str,
        payload: &[u8],
        pisess_member: &[u8],
    ) -> io::Result<()> {
        let line = Object::new()
            .str("timestamp", &iso_string(time_ms))
            .str("type", kind)
            .json("payload", &replace_lone_surrogates(payload))
            .json(RETURNED_KEY, pisess_member);
        self.out.write_all(&line.finish())?;
        self.out.write_all(b"\n")
    }

    /// Writes the items of an entry, each as a line. The first line also has the entry itself, for
    /// a later import. If there is only one item, and it has the same content as the entry, the
    /// entry is stored without its content.
    fn write_items(&mut self, source: &SourceEntry, items: &[Vec<u8>]) -> io::Result<LineIx> {
        let imported_content = match items {
            [only] => item_content(Raw::from_checked(only), Vec::new()),
            // Each of several items has only a part of the content.
            _ => None,
        };
        let entry_member = readable_member(source.entry, imported_content.as_deref());
        for (index, item) in items.iter().enumerate() {
            let is_first = index == 0;
            let pisess_member: &[u8] = if is_first { &entry_member } else { NO_ENTRY };
            self.write_line(source.time_ms, "response_item", item, pisess_member)?;
        }
        Ok(self.remember_items(items))
    }

    /// Counts a line that the model sees, and remembers its items for a compaction. Returns the
    /// line.
    fn remember_items(&mut self, items: &[Vec<u8>]) -> LineIx {
        if self.has_compaction {
            self.items.push(items.join(&b','));
        }
        self.line_count += 1;
        LineIx(self.line_count - 1)
    }

    /// Writes the event with which Codex shows a text.
    fn write_event(&mut self, source: &SourceEntry, kind: &str, text: &Text) -> io::Result<()> {
        let payload = Object::new()
            .str("type", kind)
            .text("message", text)
            .finish();
        self.write_line(source.time_ms, "event_msg", &payload, NO_ENTRY)
    }

    /// Writes a response: its texts and calls as items, and then an event for each text, with which
    /// Codex shows the text. `calls` are the calls among its blocks, in the same order.
    fn write_response(
        &mut self,
        source: &SourceEntry,
        message: Raw,
        calls: &[OpenCall],
    ) -> io::Result<LineIx> {
        let content = message.get("content").unwrap_or(Raw::NULL);
        let mut items = Vec::new();
        let mut texts = Vec::new();
        // The content is a string or a list of blocks. A string has no items.
        if let Some(text) = content.text() {
            items.push(message_item("assistant", &output_text(&text)));
            texts.push(text);
        }
        let mut calls = calls.iter();
        for block in content.items() {
            if is_text(block) {
                let text = block.get_text("text").unwrap_or_default();
                items.push(message_item("assistant", &output_text(&text)));
                texts.push(text);
            } else if is_block(block, "toolCall")
                && let Some(call) = calls.next()
            {
                items.push(self.convert_call(block, call));
            }
        }
        let line = self.write_items(source, &items)?;
        for text in &texts {
            self.write_event(source, "agent_message", text)?;
        }
        Ok(line)
    }

    /// Converts a call to an item. Codex has the tools `apply_patch` and `exec_command`: a call
    /// that changes a file becomes a call of the former, and a call that a shell command can
    /// replace becomes a call of the latter. Any other call stays as it is: Codex sends it
    /// unchanged.
    ///
    /// Records the calls of `apply_patch`, whose results have another type of item.
    fn convert_call(&mut self, block: Raw, call: &OpenCall) -> Vec<u8> {
        let name = block.get_text("name").unwrap_or_default();
        let arguments = block
            .get("arguments")
            .filter(|arguments| arguments.is_object())
            .unwrap_or(Raw::from_checked(b"{}"));
        if let Some(patch) = find_patch(&name, arguments) {
            self.custom_call_ids.insert(call.id.clone());
            return patch_item(&patch, &call.id);
        }
        if let Some(command) = find_command(&name, arguments) {
            let arguments = Object::new().text("cmd", &command).finish();
            let name = Text::from("exec_command");
            return function_call_item(&name, Raw::from_checked(&arguments), &call.id);
        }
        function_call_item(&name, arguments, &call.id)
    }

    /// Returns the result of a call as an item. Its type has to fit the type of the call's item.
    fn result_item(&self, call: &OpenCall, output: &[u8]) -> Vec<u8> {
        let kind = if self.custom_call_ids.contains(&call.id) {
            "custom_tool_call_output"
        } else {
            "function_call_output"
        };
        Object::new()
            .str("type", kind)
            .text("call_id", &call.id)
            .json("output", output)
            .finish()
    }

    /// Writes a compaction. The line has all items that the model sees from then on: the summary,
    /// then the items of the `kept` lines, as in pi.
    fn write_compaction(
        &mut self,
        source: &SourceEntry,
        content: Raw,
        kept: &[LineIx],
    ) -> io::Result<LineIx> {
        let summary = message_item("user", &array(content.items().filter_map(input_part)));
        let mut history = vec![summary.clone()];
        for line in kept {
            // The session has a compaction, so the items of each line were remembered.
            let items_of_line = &self.items[line.0 as usize];
            history.push(items_of_line.clone());
        }
        let payload = Object::new()
            .text("message", &join_text(Some(content), "\n"))
            .json("replacement_history", &array(history))
            .finish();
        let entry_member = readable_member(source.entry, None);
        self.write_line(source.time_ms, "compacted", &payload, &entry_member)?;
        Ok(self.remember_items(&[summary]))
    }
}

/// Returns a patch as an item. Its id is the id of the call from which the patch was made.
fn patch_item(patch: &Text, call_id: &Text) -> Vec<u8> {
    Object::new()
        .str("type", "custom_tool_call")
        .str("status", "completed")
        .text("call_id", call_id)
        .str("name", "apply_patch")
        .text("input", patch)
        .finish()
}

/// Returns a call of any tool but `apply_patch` as an item. The API expects the arguments as a
/// string with their JSON.
fn function_call_item(name: &Text, arguments: Raw, call_id: &Text) -> Vec<u8> {
    Object::new()
        .str("type", "function_call")
        .text("name", name)
        .text("arguments", &js::stringify(arguments))
        .text("call_id", call_id)
        .finish()
}

/// Builds the member `pisess` of a line with an entry. `imported_content` is the content that an
/// import would make of the line: if the entry has the same, it is stored without it.
///
/// If the parser of Codex would refuse the entry, the entry is stored as a string with its JSON, so
/// that Codex can read the line.
fn readable_member(entry: Raw, imported_content: Option<&[u8]>) -> Vec<u8> {
    // Only if there is a lone surrogate is a copy made.
    let has_lone_surrogate = matches!(replace_lone_surrogates(entry.bytes()), Cow::Owned(_));
    if has_lone_surrogate || exceeds_serde_json(entry.bytes()) {
        returned_text_member(entry)
    } else {
        returned_member(entry, imported_content)
    }
}

/// The maximum nesting of an entry. serde_json accepts 127 levels in a line, and some levels are
/// around the entry.
const MAX_DEPTH: usize = 120;

/// Returns the patch with which Codex would do what a call does; `None` if the call changes no
/// file.
fn find_patch(name: &Text, arguments: Raw) -> Option<Text<'static>> {
    // If the call came from Codex by an import, its patch is written unchanged.
    if *name == *"apply_patch"
        && let Some(patch) = arguments.get_text("input")
    {
        return Some(patch.into_owned());
    }
    CommonCall::read(name, arguments)?.patch_for_codex()
}

/// Returns the shell command with which Codex would do what a call does; `None` if there is none.
/// Also `None` for a call of `exec_command`, which is one of Codex already: it is written as it is,
/// because it may have more arguments than the command.
fn find_command(name: &Text, arguments: Raw) -> Option<Text<'static>> {
    if *name == *"exec_command" {
        return None;
    }
    CommonCall::read(name, arguments)?.command_for_codex()
}

/// Whether serde_json, the JSON parser of Codex, would refuse `json`: it is nested too deeply, or
/// has a number that a double cannot hold, such as `1e999`. `json` must be valid.
fn exceeds_serde_json(json: &[u8]) -> bool {
    let mut depth = 0;
    let mut offset = 0;
    while offset < json.len() {
        let token_len = match json[offset] {
            b'"' => string_len(&json[offset..]),
            b'-' | b'0'..=b'9' => {
                let len = number_len(&json[offset..]);
                if is_out_of_range(&json[offset..offset + len]) {
                    return true;
                }
                len
            }
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return true;
                }
                1
            }
            b']' | b'}' => {
                depth -= 1;
                1
            }
            _ => 1,
        };
        offset += token_len;
    }
    false
}

/// Returns the length of the string with which `json` begins, including its quotes.
fn string_len(json: &[u8]) -> usize {
    let mut offset = 1;
    while offset < json.len() {
        match json[offset] {
            b'"' => return offset + 1,
            b'\\' => offset += 2,
            _ => offset += 1,
        }
    }
    json.len()
}

/// Returns the length of the number with which `json` begins.
fn number_len(json: &[u8]) -> usize {
    let is_of_number =
        |byte: &u8| matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E') || byte.is_ascii_digit();
    json.iter()
        .position(|byte| !is_of_number(byte))
        .unwrap_or(json.len())
}

/// Whether a number in JSON is too large for a double.
fn is_out_of_range(number: &[u8]) -> bool {
    let number = Raw::from_checked(number).number();
    number.is_some_and(f64::is_infinite)
}

/// Replaces each lone surrogate in JSON by U+FFFD. The parser of Codex, serde_json, accepts only
/// strings that are valid Unicode, so Codex would skip a line with a lone surrogate.
///
/// ```text
/// "\ud83d\ude00"    a pair, which is one character, stays
/// "\ud83d x"        becomes "\ufffd x"
/// ```
fn replace_lone_surrogates(json: &[u8]) -> Cow<'_, [u8]> {
    let mut replaced = Vec::new();
    // `replaced` has the JSON up to this offset. While it is 0, nothing was replaced.
    let mut copied_to = 0;
    let mut offset = 0;
    while let Some(distance) = json[offset..].iter().position(|byte| *byte == b'\\') {
        let backslash = offset + distance;
        match classify_escape(&json[backslash..]) {
            // Such as `\n`. The second byte may be a backslash itself.
            Escape::Short => offset = (backslash + 2).min(json.len()),
            Escape::Character => offset = backslash + ESCAPE_LEN,
            Escape::SurrogatePair => offset = backslash + 2 * ESCAPE_LEN,
            Escape::LoneSurrogate => {
                offset = backslash + ESCAPE_LEN;
                replaced.extend_from_slice(&json[copied_to..backslash]);
                replaced.extend_from_slice(b"\\ufffd");
                copied_to = offset;
            }
        }
    }
    if copied_to == 0 {
        return Cow::Borrowed(json);
    }
    replaced.extend_from_slice(&json[copied_to..]);
    Cow::Owned(replaced)
}

/// What the escape at a backslash is.
enum Escape {
    /// Two bytes, such as `\n`.
    Short,
    /// `\uXXXX` for a whole character.
    Character,
    /// Two times `\uXXXX` for one character.
    SurrogatePair,
    /// `\uXXXX` for half a character, without the other half.
    LoneSurrogate,
}

/// Classifies the escape with which `json` begins.
fn classify_escape(json: &[u8]) -> Escape {
    let Some(unit) = escaped_unit(json) else {
        return Escape::Short;
    };
    if HIGH_SURROGATES.contains(&unit) {
        let next_unit = escaped_unit(&json[ESCAPE_LEN..]);
        let is_pair = next_unit.is_some_and(|next| LOW_SURROGATES.contains(&next));
        return if is_pair {
            Escape::SurrogatePair
        } else {
            Escape::LoneSurrogate
        };
    }
    if LOW_SURROGATES.contains(&unit) {
        return Escape::LoneSurrogate;
    }
    Escape::Character
}

/// The UTF-16 units that begin a character of two units.
const HIGH_SURROGATES: Range<u16> = 0xd800..0xdc00;
/// The UTF-16 units that end one.
const LOW_SURROGATES: Range<u16> = 0xdc00..0xe000;

/// The length of `\u` and four digits.
const ESCAPE_LEN: usize = 6;

/// Returns the UTF-16 unit of the escape `\uXXXX` with which the bytes begin; `None` if they begin
/// with something else.
fn escaped_unit(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.get(..ESCAPE_LEN)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

impl NativeWriter for CodexWriter<'_> {
    fn has_branches(&self) -> bool {
        false
    }

    /// pi stores an id of the Responses API as `CALL|ITEM`. Only `CALL` is the id of the call.
    fn call_id<'i>(&self, own_id: &'i str) -> &'i str {
        own_id.split('|').next().unwrap_or(own_id)
    }

    /// Writes what the model sees as items, and what the user sees of it as events, too: Codex
    /// shows only events.
    fn write_seen(&mut self, source: &SourceEntry, seen: &ModelMessage) -> io::Result<LineIx> {
        match *seen {
            ModelMessage::User {
                content,
                visibility,
            } => {
                let item = message_item("user", &input_parts(content));
                let line = self.write_items(source, &[item])?;
                if visibility == Visibility::Shown {
                    self.write_event(source, "user_message", &join_text(Some(content), "\n"))?;
                }
                Ok(line)
            }
            ModelMessage::Response { message, calls } => {
                self.write_response(source, message, calls)
            }
            ModelMessage::Result { message, call } => {
                let content = message.get("content").unwrap_or(Raw::NULL);
                let item = self.result_item(call, &output_content(content));
                self.write_items(source, &[item])
            }
            ModelMessage::Compaction { content, kept } => {
                self.write_compaction(source, content, kept)
            }
        }
    }

    /// Writes an entry that the model does not see, as a line of a type of pisess, which Codex
    /// skips.
    fn write_unseen(&mut self, source: &SourceEntry) -> io::Result<()> {
        let line = Object::new()
            .str("timestamp", &iso_string(source.time_ms))
            .str("type", RETURNED_KEY)
            .json(RETURNED_KEY, &readable_member(source.entry, None));
        self.out.write_all(&line.finish())?;
        self.out.write_all(b"\n")
    }

    /// Writes a name of the session as the event with which Codex renames a thread.
    fn write_title(&mut self, source: &SourceEntry, name: &Text) -> io::Result<()> {
        let payload = Object::new()
            .str("type", "thread_name_updated")
            .str("thread_id", self.session_id)
            .text("thread_name", name)
            .finish();
        let entry_member = readable_member(source.entry, None);
        self.write_line(source.time_ms, "event_msg", &payload, &entry_member)
    }

    /// Writes the result of a call that has none. The line has no entry of pi, so an import adds
    /// nothing for it.
    fn write_missing_result(
        &mut self,
        _parent: Option<LineIx>,
        time_ms: i64,
        call: &OpenCall,
    ) -> io::Result<LineIx> {
        let output = encode_to_vec(&Text::from(MISSING_RESULT));
        let item = self.result_item(call, &output);
        self.write_line(time_ms, "response_item", &item, NO_ENTRY)?;
        Ok(self.remember_items(&[item]))
    }

    fn finish(self: Box<Self>, _: Option<LineIx>) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a message as an item. `content` is JSON.
fn message_item(role: &str, content: &[u8]) -> Vec<u8> {
    Object::new()
        .str("type", "message")
        .str("role", role)
        .json("content", content)
        .finish()
}

/// Returns a text of the model as the content of an item.
fn output_text(text: &Text) -> Vec<u8> {
    let part = Object::new().str("type", "output_text").text("text", text);
    array([part.finish()])
}

/// Returns the parts of a message of the user: texts that are not blank, and images.
fn input_parts(content: Raw) -> Vec<u8> {
    match content.text() {
        Some(text) => array([input_text(&text)]),
        None => array(content.items().filter_map(input_part)),
    }
}

/// Returns a text of the user as a part of the content of an item.
fn input_text(text: &Text) -> Vec<u8> {
    Object::new()
        .str("type", "input_text")
        .text("text", text)
        .finish()
}

/// Returns the part for a text that is not blank, or for an image. `None` for any other block.
fn input_part(block: Raw) -> Option<Vec<u8>> {
    if is_text(block) {
        return block.get_text("text").map(|text| input_text(&text));
    }
    if !is_block(block, "image") {
        return None;
    }
    let mime = block.get_text("mimeType")?;
    let data = block.get_text("data")?;
    let url = format!(
        "data:{};base64,{}",
        mime.to_string_lossy(),
        data.to_string_lossy()
    );
    let part = Object::new()
        .str("type", "input_image")
        .str("image_url", &url);
    Some(part.finish())
}

/// Returns the output of a result as JSON: parts if it has an image, and else a string.
fn output_content(content: Raw) -> Vec<u8> {
    let has_image = content.items().any(|block| is_block(block, "image"));
    if has_image {
        return input_parts(content);
    }
    encode_to_vec(&join_text(Some(content), "\n"))
}
