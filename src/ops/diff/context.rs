//! Compares what a model would see at the ends of two paths, line by line.
//!
//! Messages are compared first, by a digest of their text. Lines are compared only in messages that differ,
//! so that only these are kept in memory.

use super::Side;
use super::hunks::{AROUND, Hunk, Hunks};
use crate::ops::show::{Part, block, fields};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use sha2::{Digest, Sha256};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::io;
use std::ops::Range;

/// Returns the differences of the contexts; none if their texts are equal.
pub fn compare(left: &Side, right: &Side) -> io::Result<Vec<Hunk>> {
    let (left_messages, right_messages) = (measured(left)?, measured(right)?);
    let digests = |messages: &[Measured]| messages.iter().map(|message| message.digest).collect::<Vec<_>>();
    let ops = capture_diff_slices(Algorithm::Myers, &digests(&left_messages), &digests(&right_messages));
    let mut is_needed = [vec![false; left_messages.len()], vec![false; right_messages.len()]];
    for op in &ops {
        match op {
            DiffOp::Equal { new_index, .. } => {
                let follows_change = op.old_range().start + new_index > 0;
                near_changes(&left_messages, op.old_range(), follows_change, &mut is_needed[0]);
            }
            op => {
                is_needed[0][op.old_range()].fill(true);
                is_needed[1][op.new_range()].fill(true);
            }
        }
    }
    let texts = [texts(left, &is_needed[0])?, texts(right, &is_needed[1])?];
    let mut hunks = Hunks::default();
    for op in &ops {
        match op {
            DiffOp::Equal { .. } => {
                for at in op.old_range() {
                    match texts[0].get(&at) {
                        Some(text) => split(text).for_each(|line| hunks.both(line)),
                        None => hunks.skip(left_messages[at].lines),
                    }
                }
            }
            op => changed(&lines(&texts[0], op.old_range()), &lines(&texts[1], op.new_range()), &mut hunks),
        }
    }
    Ok(hunks.finish())
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

fn lines(texts: &HashMap<usize, String>, messages: Range<usize>) -> Vec<&str> {
    messages.filter_map(|at| texts.get(&at)).flat_map(|text| split(text)).collect()
}

/// Returns the lines of a text; a carriage return is part of its line.
fn split(text: &str) -> impl Iterator<Item = &str> {
    text.split_terminator('\n')
}

fn changed(left: &[&str], right: &[&str], hunks: &mut Hunks) {
    for op in capture_diff_slices(Algorithm::Myers, left, right) {
        match op {
            DiffOp::Equal { .. } => left[op.old_range()].iter().for_each(|line| hunks.both(line)),
            op => {
                left[op.old_range()].iter().for_each(|line| hunks.removed(line));
                right[op.new_range()].iter().for_each(|line| hunks.added(line));
            }
        }
    }
}

/// Calls `see` with each message, in the form of a model's API.
fn each(side: &Side, see: &mut dyn FnMut(usize, Raw)) -> io::Result<()> {
    let agent = side.session.agent();
    let context = (agent.context)(&side.path, side.bodies)?;
    let mut at = 0;
    (agent.for_model)(&context.messages, side.bodies, &mut |json| {
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
