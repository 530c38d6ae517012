//! Compares, line by line, the contexts that a model would see at the ends of two paths.
//!
//! Messages are compared first, by digests of their texts. Lines are compared only in messages that
//! differ. So only the texts of these messages and of their neighbours are kept in memory.

use super::ComparedPath;
use crate::format::changes::{
    CONTEXT_LINES, ChangedRanges, DiffSign, diff_ranges, hunk_ranges, share_hunk, sign_lines,
};
use crate::ops::show::{EntryPart, block_parts, named_parts};
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::text::Text;
use sha2::{Digest, Sha256};
use std::io;
use std::ops::Range;

/// A group of changed lines, with the common lines around them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The range of lines in the left context, counted from 0.
    pub left: Range<usize>,
    /// The range of lines in the right context, counted from 0.
    pub right: Range<usize>,
    /// The lines, without newlines.
    pub lines: Vec<(DiffSign, String)>,
}

/// Returns the differences of the contexts at the ends of two paths, in order. Empty if the
/// contexts have the same text.
///
/// The messages are read twice: first to find the different messages by digests, then to compare
/// the lines of these.
pub fn compare_contexts(left: &ComparedPath, right: &ComparedPath) -> io::Result<Vec<Hunk>> {
    let left_messages = MeasuredMessages::read(left)?;
    let right_messages = MeasuredMessages::read(right)?;
    // Ranges of messages.
    let message_changes = diff_ranges(&left_messages.digests, &right_messages.digests);

    let needed = find_needed_messages(&message_changes, &left_messages);
    let left_texts = read_texts(left, &needed.left)?;
    let right_texts = read_texts(right, &needed.right)?;

    // From here on, ranges are counted in lines of the whole context.
    let contexts = Contexts {
        left: ContextLines::new(left_messages, &left_texts),
        right: ContextLines::new(right_messages, &right_texts),
    };
    let line_changes = contexts.compare_lines(&message_changes);
    let mut hunks = Vec::new();
    for changes_of_hunk in line_changes.chunk_by(share_hunk) {
        hunks.push(contexts.build_hunk(changes_of_hunk));
    }
    Ok(hunks)
}

/// The messages whose lines hunks may show, by their index in each context.
#[derive(Default)]
struct NeededMessages {
    left: HashSet<usize>,
    right: HashSet<usize>,
}

/// Returns the messages that changed on each side. The common lines around a change are taken from
/// the left, so only the left side also needs the neighbours of the changed messages.
fn find_needed_messages(
    message_changes: &[ChangedRanges],
    left_messages: &MeasuredMessages,
) -> NeededMessages {
    let mut needed = NeededMessages::default();
    for change in message_changes {
        needed.left.extend(left_messages.around(&change.removed));
        needed.right.extend(change.added.clone());
    }
    needed
}

/// The messages of a context, of which the digests and the lengths are kept instead of the texts:
/// most are the same on both sides.
struct MeasuredMessages {
    digests: Vec<[u8; 32]>,
    /// The number of lines before each message. One more element at the end is the number of all
    /// lines.
    line_starts: Vec<usize>,
}

impl MeasuredMessages {
    /// Reads the messages of a context.
    fn read(side: &ComparedPath) -> io::Result<MeasuredMessages> {
        let mut messages = MeasuredMessages {
            digests: Vec::new(),
            line_starts: vec![0],
        };
        let mut line_count = 0;
        for_each_message(side, &mut |_, message| {
            let text = message_text(message);
            line_count += split_lines(&text).count();
            messages.digests.push(Sha256::digest(&text).into());
            messages.line_starts.push(line_count);
        })?;
        Ok(messages)
    }

    /// Returns the number of lines of all messages.
    fn line_count(&self) -> usize {
        self.line_starts[self.digests.len()]
    }

    /// Converts a range of messages to the range of their lines.
    fn lines_of(&self, messages: &Range<usize>) -> Range<usize> {
        self.line_starts[messages.start]..self.line_starts[messages.end]
    }

    /// Returns the range of messages whose lines a hunk may show: the `changed` messages and their
    /// neighbours.
    fn around(&self, changed: &Range<usize>) -> Range<usize> {
        // A hunk shows `CONTEXT_LINES` lines above a change. Below, another change may be in the
        // same hunk, at most `2 * CONTEXT_LINES` lines away, and all lines between are shown.
        let changed_lines = self.lines_of(changed);
        let first_line = changed_lines.start.saturating_sub(CONTEXT_LINES);
        let end_line = changed_lines.end + 2 * CONTEXT_LINES;
        // The message that contains the first line is the last that begins at or before it. There
        // is one, because the first message begins at line 0.
        let started = self
            .line_starts
            .partition_point(|&start| start <= first_line);
        let first_message = started - 1;
        let end_message = self.line_starts.partition_point(|&start| start < end_line);
        first_message..end_message.min(self.digests.len())
    }
}

/// Some lines of a context, and the messages of which they are.
struct ContextLines<'t> {
    messages: MeasuredMessages,
    /// The lines by their numbers in the context.
    by_number: HashMap<usize, &'t str>,
}

impl<'t> ContextLines<'t> {
    /// Numbers the lines of some messages. `texts` has the messages by their index.
    fn new(messages: MeasuredMessages, texts: &'t HashMap<usize, String>) -> ContextLines<'t> {
        let mut by_number = HashMap::default();
        for (&index, text) in texts {
            let numbers = messages.line_starts[index]..;
            by_number.extend(numbers.zip(split_lines(text)));
        }
        ContextLines {
            messages,
            by_number,
        }
    }

    /// Returns the lines in a range.
    fn list(&self, range: Range<usize>) -> Vec<&'t str> {
        range.map(|number| self.by_number[&number]).collect()
    }
}

/// The two contexts, of which only the lines that may differ or be shown are in memory.
struct Contexts<'t> {
    left: ContextLines<'t>,
    right: ContextLines<'t>,
}

impl Contexts<'_> {
    /// Returns the ranges of lines that differ, given the ranges of messages that differ. Two
    /// changes without a common line between them, as at the border of two messages, are merged.
    fn compare_lines(&self, message_changes: &[ChangedRanges]) -> Vec<ChangedRanges> {
        let mut line_changes: Vec<ChangedRanges> = Vec::new();
        for messages in message_changes {
            for change in self.compare_lines_of(messages) {
                if let Some(last) = line_changes.last_mut()
                    && last.removed.end == change.removed.start
                    && last.added.end == change.added.start
                {
                    last.removed.end = change.removed.end;
                    last.added.end = change.added.end;
                } else {
                    line_changes.push(change);
                }
            }
        }
        line_changes
    }

    /// Returns the ranges of lines in which the removed messages differ from the added ones,
    /// counted in lines of the contexts.
    fn compare_lines_of(&self, messages: &ChangedRanges) -> Vec<ChangedRanges> {
        let left = self.left.messages.lines_of(&messages.removed);
        let right = self.right.messages.lines_of(&messages.added);
        let left_start = left.start;
        let right_start = right.start;

        let mut changes = diff_ranges(&self.left.list(left), &self.right.list(right));
        for change in &mut changes {
            change.removed = shift_range(&change.removed, left_start);
            change.added = shift_range(&change.added, right_start);
        }
        changes
    }

    /// Returns the hunk for changes that are near each other. It has the changed lines, the lines
    /// between them, and up to [`CONTEXT_LINES`] common lines before and after.
    fn build_hunk(&self, changes: &[ChangedRanges]) -> Hunk {
        let ChangedRanges {
            removed: left,
            added: right,
        } = hunk_ranges(changes, self.left.messages.line_count());
        let signed = sign_lines(
            changes,
            left.clone(),
            |number| self.left.by_number[&number],
            |number| self.right.by_number[&number],
        );
        let mut lines = Vec::with_capacity(signed.len());
        for (sign, line) in signed {
            lines.push((sign, line.to_owned()));
        }
        Hunk { left, right, lines }
    }
}

fn shift_range(range: &Range<usize>, distance: usize) -> Range<usize> {
    range.start + distance..range.end + distance
}

/// Returns the texts of the needed messages, by their index.
fn read_texts(side: &ComparedPath, needed: &HashSet<usize>) -> io::Result<HashMap<usize, String>> {
    let mut texts = HashMap::default();
    for_each_message(side, &mut |index, message| {
        if needed.contains(&index) {
            texts.insert(index, message_text(message));
        }
    })?;
    Ok(texts)
}

/// Returns the lines of a text; a carriage return is part of its line.
fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_terminator('\n')
}

/// Calls `visit` for each message of a context, with its index and its JSON as it is sent to a
/// model.
fn for_each_message(side: &ComparedPath, visit: &mut dyn FnMut(usize, Raw)) -> io::Result<()> {
    let agent = side.session.agent();
    let context = agent.build_context(&side.path, side.reader)?;
    let mut index = 0;
    agent.convert_for_model(&context.messages, side.reader, &mut |json| {
        // The agent has written this JSON, or checked it when the session was loaded.
        visit(index, Raw::from_checked(json));
        index += 1;
        Ok(())
    })
}

/// Returns the text by which a message is compared: a line with its role, then its content,
/// indented. For a tool result, the first line also has the tool and the id of the call.
///
/// ```text
/// toolResult bash call_7 (error)
///     no such file
/// ```
fn message_text(message: Raw) -> String {
    let role = message.get_text("role").unwrap_or_default();
    let mut out = role.to_string_lossy().into_owned();
    for key in ["toolName", "toolCallId"] {
        if let Some(text) = message.get_text(key) {
            out += &format!(" {}", text.to_string_lossy());
        }
    }
    if message.get("isError").is_some_and(Raw::is_truthy) {
        out += " (error)";
    }
    out += "\n";

    let mut parts = Vec::new();
    if let Some(content) = message.get("content") {
        if content.is_array() {
            for item in content.items() {
                parts.append(&mut content_parts(item));
            }
        } else if let Some(text) = content.text() {
            parts.push(EntryPart::Body(text.into_owned()));
        }
    }
    if role == "system" {
        // The sections and tools of a system prompt.
        parts.extend(named_parts(message, &["role", "content", "timestamp"]));
    }
    for part in &parts {
        push_part(part, &mut out);
    }
    out
}

/// The number of bytes of an image's digest that are shown.
const SHOWN_DIGEST_LEN: usize = 6;

/// Formats an item of a message's content. An image is followed by the start of its digest, because
/// two images of the same size may differ.
fn content_parts(item: Raw) -> Vec<EntryPart> {
    let mut parts = block_parts(item);
    let is_image = item.get("type").is_some_and(|kind| kind.is("image"));
    if is_image && let Some(data) = item.get("data").and_then(Raw::raw_string) {
        let mut hex = String::new();
        for byte in &Sha256::digest(data)[..SHOWN_DIGEST_LEN] {
            hex += &format!("{byte:02x}");
        }
        parts.push(EntryPart::Field(Text::from("sha256"), Text::from(hex)));
    }
    parts
}

/// Appends a part as `show` prints it: titles and fields indented by two spaces, bodies by four.
fn push_part(part: &EntryPart, out: &mut String) {
    match part {
        EntryPart::Title(title) => *out += &format!("  {}\n", title.to_string_lossy()),
        EntryPart::Field(name, value) => {
            *out += &format!(
                "  {}: {}\n",
                name.to_string_lossy(),
                value.to_string_lossy()
            );
        }
        EntryPart::Body(text) => {
            for line in text.to_string_lossy().split('\n') {
                if !line.is_empty() {
                    *out += "    ";
                }
                *out += line;
                out.push('\n');
            }
        }
    }
}
