//! Compares, line by line, the contexts that a model would see at the ends of two paths.
//!
//! Messages are compared first, by digests of their texts. Lines are compared only in messages that
//! differ. So only the texts of these messages and of their neighbours are kept in memory.

use super::ComparedPath;
use crate::format::changes::{
    CONTEXT_LINES, ChangedRanges, DiffSign, diff_ranges, hunk_ranges, share_hunk, sign_lines,
};
use crate::ops::show::{EntryPart, named_parts, push_block};
use foldhash::HashMap;
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
    // The changes are ranges of messages.
    let left_messages = measure_messages(left)?;
    let right_messages = measure_messages(right)?;
    let message_changes = diff_ranges(&digests(&left_messages), &digests(&right_messages));

    // By message: whether its text is needed. The common lines around a change are taken from the
    // left, so only the left side needs the neighbours of the changed messages.
    let left_starts = line_starts(&left_messages);
    let right_starts = line_starts(&right_messages);
    let mut is_left_needed = vec![false; left_messages.len()];
    let mut is_right_needed = vec![false; right_messages.len()];
    for change in &message_changes {
        is_left_needed[messages_around(&left_starts, &change.removed)].fill(true);
        is_right_needed[change.added.clone()].fill(true);
    }
    let left_texts = read_texts(left, &is_left_needed)?;
    let right_texts = read_texts(right, &is_right_needed)?;

    // From here on, ranges are counted in lines of the whole context.
    let contexts = Contexts {
        left_lines: number_lines(&left_texts, &left_starts),
        right_lines: number_lines(&right_texts, &right_starts),
        left_starts,
        right_starts,
    };
    let line_changes = contexts.compare_lines(&message_changes);
    let mut hunks = Vec::new();
    for changes_of_hunk in line_changes.chunk_by(share_hunk) {
        hunks.push(contexts.build_hunk(changes_of_hunk));
    }
    Ok(hunks)
}

/// Returns the range of messages whose lines a hunk may show: the `changed` messages and their
/// neighbours. `starts` has the first line of each message, and then the number of all lines.
fn messages_around(starts: &[usize], changed: &Range<usize>) -> Range<usize> {
    // A hunk shows `CONTEXT_LINES` lines above a change. Below, another change may be in the same
    // hunk, at most `2 * CONTEXT_LINES` lines away, and all lines between the two are shown.
    let first_line = starts[changed.start].saturating_sub(CONTEXT_LINES);
    let end_line = starts[changed.end] + 2 * CONTEXT_LINES;
    // The message that contains the first line is the last that begins at or before it. There is
    // one, because the first message begins at line 0.
    let first_message = starts.partition_point(|&start| start <= first_line) - 1;
    let message_count = starts.len() - 1;
    let end_message = starts
        .partition_point(|&start| start < end_line)
        .min(message_count);
    first_message..end_message
}

/// The lines of both contexts that are kept in memory.
struct Contexts<'t> {
    /// The lines of needed messages, by their numbers in the context, counted from 0.
    left_lines: HashMap<usize, &'t str>,
    right_lines: HashMap<usize, &'t str>,
    /// See [`line_starts`].
    left_starts: Vec<usize>,
    right_starts: Vec<usize>,
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
        let ChangedRanges { removed, added } = messages;
        let left = self.left_starts[removed.start]..self.left_starts[removed.end];
        let right = self.right_starts[added.start]..self.right_starts[added.end];
        let left_lines: Vec<&str> = left.clone().map(|line| self.left_lines[&line]).collect();
        let right_lines: Vec<&str> = right.clone().map(|line| self.right_lines[&line]).collect();

        let mut changes = diff_ranges(&left_lines, &right_lines);
        for change in &mut changes {
            change.removed = shift_range(&change.removed, left.start);
            change.added = shift_range(&change.added, right.start);
        }
        changes
    }

    /// Returns the hunk for changes that are near each other. It has the changed lines, the lines
    /// between them, and up to [`CONTEXT_LINES`] common lines before and after.
    fn build_hunk(&self, changes: &[ChangedRanges]) -> Hunk {
        // See `line_starts`: after the starts of all messages, the number of all lines.
        let line_count = *self.left_starts.last().unwrap_or(&0);
        let ChangedRanges {
            removed: left,
            added: right,
        } = hunk_ranges(changes, line_count);

        let signed = sign_lines(
            changes,
            left.clone(),
            |line| self.left_lines[&line],
            |line| self.right_lines[&line],
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

/// The digest and the length of a message, which are kept instead of its text.
struct MeasuredMessage {
    digest: [u8; 32],
    /// The number of lines of the message.
    line_count: usize,
}

/// Reads the messages of a context, and returns the digest and the number of lines of each. Their
/// texts are not kept: most are the same on both sides.
fn measure_messages(side: &ComparedPath) -> io::Result<Vec<MeasuredMessage>> {
    let mut messages = Vec::new();
    for_each_message(side, &mut |_, message| {
        let text = message_text(message);
        messages.push(MeasuredMessage {
            digest: Sha256::digest(&text).into(),
            line_count: split_lines(&text).count(),
        });
    })?;
    Ok(messages)
}

fn digests(messages: &[MeasuredMessage]) -> Vec<[u8; 32]> {
    messages.iter().map(|message| message.digest).collect()
}

/// Returns the texts of the needed messages, by their index.
fn read_texts(side: &ComparedPath, is_needed: &[bool]) -> io::Result<HashMap<usize, String>> {
    let mut texts = HashMap::default();
    for_each_message(side, &mut |index, message| {
        if is_needed.get(index) == Some(&true) {
            texts.insert(index, message_text(message));
        }
    })?;
    Ok(texts)
}

/// Returns the number of lines before each message. One more element at the end is the number of
/// all lines.
fn line_starts(messages: &[MeasuredMessage]) -> Vec<usize> {
    let mut starts = vec![0];
    let mut end = 0;
    for message in messages {
        end += message.line_count;
        starts.push(end);
    }
    starts
}

/// Returns the lines of some messages by their numbers in the context. `texts` has the messages by
/// their index, and `starts` the number of the first line of each message.
fn number_lines<'t>(
    texts: &'t HashMap<usize, String>,
    starts: &[usize],
) -> HashMap<usize, &'t str> {
    let mut lines = HashMap::default();
    for (&index, text) in texts {
        let numbers = starts[index]..;
        lines.extend(numbers.zip(split_lines(text)));
    }
    lines
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
                push_content(item, &mut parts);
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

/// Appends an item of a message's content. An image is followed by the start of its digest, because
/// two images of the same size may differ.
fn push_content(item: Raw, parts: &mut Vec<EntryPart>) {
    push_block(item, parts);

    let is_image = item.get("type").is_some_and(|kind| kind.is("image"));
    if is_image && let Some(data) = item.get("data").and_then(Raw::raw_string) {
        let mut hex = String::new();
        for byte in &Sha256::digest(data)[..SHOWN_DIGEST_LEN] {
            hex += &format!("{byte:02x}");
        }
        parts.push(EntryPart::Field(Text::from("sha256"), Text::from(hex)));
    }
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
