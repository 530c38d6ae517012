//! Compares what a model would see at the ends of two paths, line by line.
//!
//! Messages are compared first, by a digest of their text. Lines are compared only in messages that differ,
//! so that only these are kept in memory.

use super::Side;
use crate::ops::show::{Part, block, fields};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use sha2::{Digest, Sha256};
use similar::{Algorithm, ChangeTag, DiffOp, DiffTag, capture_diff_slices, group_diff_ops};
use std::io;
use std::ops::Range;

/// The number of unchanged lines around a change.
const AROUND: usize = 3;

/// A range of lines that contains changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Its lines on the left, counted from 0.
    pub left: Range<usize>,
    /// Its lines on the right, counted from 0.
    pub right: Range<usize>,
    /// The lines, without newlines.
    pub lines: Vec<(ChangeTag, String)>,
}

/// Returns the differences of the contexts; none if their texts are equal.
pub fn compare(left: &Side, right: &Side) -> io::Result<Vec<Hunk>> {
    let messages = [measured(left)?, measured(right)?];
    let [left_digests, right_digests] =
        messages.each_ref().map(|side| side.iter().map(|message| message.digest).collect::<Vec<_>>());
    let ops = capture_diff_slices(Algorithm::Myers, &left_digests, &right_digests);
    let mut is_needed = messages.each_ref().map(|side| vec![false; side.len()]);
    for op in &ops {
        if op.tag() == DiffTag::Equal {
            let follows_change = op.old_range().start + op.new_range().start > 0;
            near_changes(&messages[0], op.old_range(), follows_change, &mut is_needed[0]);
        } else {
            is_needed[0][op.old_range()].fill(true);
            is_needed[1][op.new_range()].fill(true);
        }
    }
    let texts = [texts(left, &is_needed[0])?, texts(right, &is_needed[1])?];
    let starts = messages.each_ref().map(|side| starts(side));
    let [left, right] = [0, 1].map(|side| lines(&texts[side], &starts[side]));
    let hunks = group_diff_ops(in_lines(&ops, &starts, &left, &right), AROUND);
    Ok(hunks.iter().map(|ops| hunk(ops, &left, &right)).collect())
}

/// Returns the differences of the messages as differences of their lines.
fn in_lines(
    ops: &[DiffOp],
    starts: &[Vec<usize>; 2],
    left: &HashMap<usize, &str>,
    right: &HashMap<usize, &str>,
) -> Vec<DiffOp> {
    let mut all = Vec::new();
    let equal = |all: &mut Vec<DiffOp>, old: usize, new: usize, count: usize| match all.last_mut() {
        Some(DiffOp::Equal { len, .. }) => *len += count,
        _ => all.push(DiffOp::Equal { old_index: old, new_index: new, len: count }),
    };
    for op in ops {
        let (tag, old, new) = op.as_tag_tuple();
        let old = starts[0][old.start]..starts[0][old.end];
        let new = starts[1][new.start]..starts[1][new.end];
        if tag == DiffTag::Equal {
            equal(&mut all, old.start, new.start, old.len());
            continue;
        }
        let changed = [(left, old.clone()), (right, new.clone())]
            .map(|(lines, range)| range.map(|at| lines[&at]).collect::<Vec<_>>());
        for op in capture_diff_slices(Algorithm::Myers, &changed[0], &changed[1]) {
            let (tag, inner_old, inner_new) = op.as_tag_tuple();
            let (old_index, new_index) = (old.start + inner_old.start, new.start + inner_new.start);
            if tag == DiffTag::Equal {
                equal(&mut all, old_index, new_index, inner_old.len());
            } else {
                let (old_len, new_len) = (inner_old.len(), inner_new.len());
                all.push(DiffOp::Replace { old_index, old_len, new_index, new_len });
            }
        }
    }
    all
}

fn hunk(ops: &[DiffOp], left: &HashMap<usize, &str>, right: &HashMap<usize, &str>) -> Hunk {
    let tagged = |tag, lines: &HashMap<usize, &str>, range: Range<usize>| {
        range.map(|at| (tag, lines[&at].to_owned())).collect::<Vec<_>>()
    };
    let lines = ops.iter().flat_map(|op| match op.as_tag_tuple() {
        (DiffTag::Equal, old, _) => tagged(ChangeTag::Equal, left, old),
        (_, old, new) => {
            [tagged(ChangeTag::Delete, left, old), tagged(ChangeTag::Insert, right, new)].concat()
        }
    });
    let (first, last) = (&ops[0], &ops[ops.len() - 1]);
    Hunk {
        left: first.old_range().start..last.old_range().end,
        right: first.new_range().start..last.new_range().end,
        lines: lines.collect(),
    }
}

/// A message of a context.
struct Measured {
    digest: [u8; 32],
    lines: usize,
}

fn measured(side: &Side) -> io::Result<Vec<Measured>> {
    let mut messages = Vec::new();
    each(side, &mut |_, message| {
        let text = text(message);
        let lines = split(&text).count();
        messages.push(Measured { digest: Sha256::digest(&text).into(), lines });
    })?;
    Ok(messages)
}

/// Marks the messages at the ends of an equal run whose lines may be shown around a change.
fn near_changes(messages: &[Measured], run: Range<usize>, follows_change: bool, is_needed: &mut [bool]) {
    // After a change, enough lines are needed to close its hunk.
    let mut lines = 0;
    for at in run.clone().take_while(|_| follows_change) {
        is_needed[at] = true;
        lines += messages[at].lines;
        if lines > 2 * AROUND {
            break;
        }
    }
    let mut lines = 0;
    for at in run.rev() {
        is_needed[at] = true;
        lines += messages[at].lines;
        if lines >= AROUND {
            break;
        }
    }
}

fn texts(side: &Side, is_needed: &[bool]) -> io::Result<HashMap<usize, String>> {
    let mut texts = HashMap::default();
    each(side, &mut |at, message| {
        if is_needed.get(at) == Some(&true) {
            texts.insert(at, text(message));
        }
    })?;
    Ok(texts)
}

/// Returns the number of lines before each message, and in all.
fn starts(messages: &[Measured]) -> Vec<usize> {
    let ends = messages.iter().scan(0, |end, message| {
        *end += message.lines;
        Some(*end)
    });
    std::iter::once(0).chain(ends).collect()
}

/// Returns the lines of these messages by their numbers in the context.
fn lines<'t>(texts: &'t HashMap<usize, String>, starts: &[usize]) -> HashMap<usize, &'t str> {
    texts.iter().flat_map(|(&at, text)| (starts[at]..).zip(split(text))).collect()
}

/// Returns the lines of a text; a carriage return is part of its line.
fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split_terminator('\n')
}

/// Calls `see` with each message, in the form of a model's API.
fn each(side: &Side, see: &mut dyn FnMut(usize, Raw)) -> io::Result<()> {
    let agent = side.session.agent();
    let context = (agent.context)(&side.path, side.reader)?;
    let mut at = 0;
    (agent.for_model)(&context.messages, side.reader, &mut |json| {
        see(at, Raw::checked(json));
        at += 1;
        Ok(())
    })
}

/// Returns the text of a message: a line with its role, then its content, indented.
fn text(message: Raw) -> String {
    let mut out = message.get_text("role").unwrap_or_default().to_string_lossy().into_owned();
    for key in ["toolName", "toolCallId"] {
        if let Some(text) = message.get_text(key) {
            out += &format!(" {}", text.to_string_lossy());
        }
    }
    let is_error = message.get("isError").is_some_and(Raw::is_truthy);
    out += if is_error { " (error)\n" } else { "\n" };
    let mut parts = Vec::new();
    match message.get("content") {
        Some(content) if content.is_array() => {
            content.items().for_each(|item| content_part(item, &mut parts))
        }
        Some(content) => parts.extend(content.text().map(|text| Part::Body(text.into_owned()))),
        None => {}
    }
    // The sections and tools of a system prompt.
    if message.get("role").is_some_and(|role| role.is("system")) {
        parts.extend(fields(message, &["role", "content", "timestamp"]));
    }
    parts.iter().for_each(|part| push(part, &mut out));
    out
}

fn content_part(item: Raw, parts: &mut Vec<Part>) {
    let image = item.get("type").filter(|kind| kind.is("image")).and_then(|_| item.get("data"));
    block(item, parts);
    // Two pictures of the same size may differ.
    if let Some(data) = image.and_then(Raw::raw_string) {
        let digest = Sha256::digest(data);
        let digest: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        parts.push(Part::Field(Text::from("sha256"), Text::from(digest)));
    }
}

/// Appends a part in the format of `show`.
fn push(part: &Part, out: &mut String) {
    match part {
        Part::Title(title) => *out += &format!("  {}\n", title.to_string_lossy()),
        Part::Field(name, value) => {
            *out += &format!("  {}: {}\n", name.to_string_lossy(), value.to_string_lossy());
        }
        Part::Body(text) => {
            for line in text.to_string_lossy().split('\n') {
                *out += if line.is_empty() { "" } else { "    " };
                *out += line;
                out.push('\n');
            }
        }
    }
}
