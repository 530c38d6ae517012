//! Compares what a model would see at the ends of two paths, line by line.
//!
//! Messages are compared first, by a digest of their text. Lines are compared only in messages that
//! differ, so that only these, and those with the lines around them, are kept in memory.

use super::ComparedPath;
use crate::format::changes::{DiffSign, diff_ranges, sign_lines};
use crate::ops::show::{EntryPart, named_parts, push_block};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use sha2::{Digest, Sha256};
use std::io;
use std::ops::Range;

/// The number of unchanged lines around a change.
const CONTEXT_LINES: usize = 3;

/// A range of lines that contains changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Its lines on the left, counted from 0.
    pub left: Range<usize>,
    /// Its lines on the right, counted from 0.
    pub right: Range<usize>,
    /// The lines, without newlines.
    pub lines: Vec<(DiffSign, String)>,
}

/// Returns the differences of the contexts; none if their texts are equal.
pub fn compare_contexts(left: &ComparedPath, right: &ComparedPath) -> io::Result<Vec<Hunk>> {
    let left_messages = measure_messages(left)?;
    let right_messages = measure_messages(right)?;
    let changes = diff_ranges(&digests(&left_messages), &digests(&right_messages));
    let left_starts = line_starts(&left_messages);
    let right_starts = line_starts(&right_messages);

    let mut left_needed = vec![false; left_messages.len()];
    let mut right_needed = vec![false; right_messages.len()];
    for [old, new] in &changes {
        let shown = messages_around(&left_starts, old);
        left_needed[shown].fill(true);
        right_needed[new.clone()].fill(true);
    }
    let left_texts = read_texts(left, &left_needed)?;
    let right_texts = read_texts(right, &right_needed)?;

    let contexts = Contexts {
        left_lines: number_lines(&left_texts, &left_starts),
        right_lines: number_lines(&right_texts, &right_starts),
        left_starts,
        right_starts,
    };
    let changes = contexts.compare_lines(&changes);
    let is_near =
        |one: &ChangedRanges, next: &ChangedRanges| next[0].start - one[0].end <= 2 * CONTEXT_LINES;
    let mut hunks = Vec::new();
    for near in changes.chunk_by(is_near) {
        hunks.push(contexts.build_hunk(near));
    }
    Ok(hunks)
}

/// A change: the range removed on the left, and the range added on the right.
type ChangedRanges = [Range<usize>; 2];

/// Returns the messages on the left of which a hunk may show lines: those that changed, and those
/// near them. All lines between two changes of a hunk are shown, so it reaches `2 * AROUND` lines
/// down.
fn messages_around(starts: &[usize], changed: &Range<usize>) -> Range<usize> {
    let first_line = starts[changed.start].saturating_sub(CONTEXT_LINES);
    let end_line = starts[changed.end] + 2 * CONTEXT_LINES;
    let first = starts.partition_point(|&start| start <= first_line) - 1;
    let count = starts.len() - 1;
    let end = starts.partition_point(|&start| start < end_line).min(count);
    first..end
}

/// The two contexts, as far as they are in memory.
struct Contexts<'t> {
    /// The lines by their numbers in the context, counted from 0; only those of needed messages.
    left_lines: HashMap<usize, &'t str>,
    right_lines: HashMap<usize, &'t str>,
    /// The number of lines before each message, and in all.
    left_starts: Vec<usize>,
    right_starts: Vec<usize>,
}

impl Contexts<'_> {
    /// Returns the ranges of differing lines, given the ranges of differing messages. Adjacent
    /// ranges are joined.
    fn compare_lines(&self, changes: &[ChangedRanges]) -> Vec<ChangedRanges> {
        let mut all: Vec<ChangedRanges> = Vec::new();
        for [old, new] in changes {
            let old = self.left_starts[old.start]..self.left_starts[old.end];
            let new = self.right_starts[new.start]..self.right_starts[new.end];
            let old_lines: Vec<&str> = old.clone().map(|at| self.left_lines[&at]).collect();
            let new_lines: Vec<&str> = new.clone().map(|at| self.right_lines[&at]).collect();
            for [removed, added] in diff_ranges(&old_lines, &new_lines) {
                let removed = old.start + removed.start..old.start + removed.end;
                let added = new.start + added.start..new.start + added.end;
                if let Some([last_removed, last_added]) = all.last_mut()
                    && last_removed.end == removed.start
                    && last_added.end == added.start
                {
                    last_removed.end = removed.end;
                    last_added.end = added.end;
                } else {
                    all.push([removed, added]);
                }
            }
        }
        all
    }

    /// Returns changes that are near each other, with the lines around them.
    fn build_hunk(&self, changes: &[ChangedRanges]) -> Hunk {
        let [first_removed, first_added] = &changes[0];
        let [last_removed, last_added] = &changes[changes.len() - 1];
        let line_count = *self.left_starts.last().unwrap_or(&0);
        let before = CONTEXT_LINES.min(first_removed.start);
        let after = CONTEXT_LINES.min(line_count - last_removed.end);
        let left = first_removed.start - before..last_removed.end + after;
        let right = first_added.start - before..last_added.end + after;

        let signed = sign_lines(
            changes,
            left.clone(),
            |at| self.left_lines[&at],
            |at| self.right_lines[&at],
        );
        let mut lines = Vec::with_capacity(signed.len());
        for (sign, line) in signed {
            lines.push((sign, line.to_owned()));
        }
        Hunk { left, right, lines }
    }
}

/// What is kept of a message to find out whether it changed, and where its lines are.
struct MeasuredMessage {
    digest: [u8; 32],
    /// The number of its lines.
    line_count: usize,
}

fn measure_messages(side: &ComparedPath) -> io::Result<Vec<MeasuredMessage>> {
    let mut messages = Vec::new();
    each_message(side, &mut |_, message| {
        let text = message_text(message);
        let lines = split_lines(&text).count();
        messages.push(MeasuredMessage {
            digest: Sha256::digest(&text).into(),
            line_count: lines,
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
    each_message(side, &mut |at, message| {
        if is_needed.get(at) == Some(&true) {
            texts.insert(at, message_text(message));
        }
    })?;
    Ok(texts)
}

/// Returns the number of lines before each message, and in all.
fn line_starts(messages: &[MeasuredMessage]) -> Vec<usize> {
    let mut starts = vec![0];
    let mut end = 0;
    for message in messages {
        end += message.line_count;
        starts.push(end);
    }
    starts
}

/// Returns the lines of these messages by their numbers in the context.
fn number_lines<'t>(
    texts: &'t HashMap<usize, String>,
    starts: &[usize],
) -> HashMap<usize, &'t str> {
    let mut lines = HashMap::default();
    for (&message, text) in texts {
        lines.extend((starts[message]..).zip(split_lines(text)));
    }
    lines
}

/// Returns the lines of a text; a carriage return is part of its line.
fn split_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_terminator('\n')
}

/// Calls `visit` with each message and its index, in the form of a model's API.
fn each_message(side: &ComparedPath, visit: &mut dyn FnMut(usize, Raw)) -> io::Result<()> {
    let agent = side.session.agent();
    let context = agent.build_context(&side.path, side.reader)?;
    let mut index = 0;
    agent.convert_for_model(&context.messages, side.reader, &mut |json| {
        visit(index, Raw::from_checked(json));
        index += 1;
        Ok(())
    })
}

/// Returns the text of a message: a line with its role, then its content, indented.
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

/// The number of bytes of the digest of a picture that are shown.
const SHOWN_DIGEST: usize = 6;

fn push_content(item: Raw, parts: &mut Vec<EntryPart>) {
    push_block(item, parts);

    let is_image = item.get("type").is_some_and(|kind| kind.is("image"));
    if is_image && let Some(data) = item.get("data").and_then(Raw::raw_string) {
        // Two pictures of the same size may differ.
        let mut hex = String::new();
        for byte in &Sha256::digest(data)[..SHOWN_DIGEST] {
            hex += &format!("{byte:02x}");
        }
        parts.push(EntryPart::Field(Text::from("sha256"), Text::from(hex)));
    }
}

/// Appends a part in the format of `show`.
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
