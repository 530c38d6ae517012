//! Compares what a model would see at the ends of two paths, line by line.
//!
//! Messages are compared first, by a digest of their text. Lines are compared only in messages that
//! differ, so that only these, and those with the lines around them, are kept in memory.

use super::Side;
use crate::format::changes::{Sign, differing, signed};
use crate::ops::show::{Part, fields, push_block};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use sha2::{Digest, Sha256};
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
    pub lines: Vec<(Sign, String)>,
}

/// Returns the differences of the contexts; none if their texts are equal.
pub fn compare(left: &Side, right: &Side) -> io::Result<Vec<Hunk>> {
    let messages = [measured(left)?, measured(right)?];
    let [left_digests, right_digests] = messages.each_ref().map(|side| {
        side.iter()
            .map(|message| message.digest)
            .collect::<Vec<_>>()
    });
    let changes = differing(&left_digests, &right_digests);
    let mut is_needed = messages.each_ref().map(|side| vec![false; side.len()]);
    let starts = messages.each_ref().map(|side| starts(side));
    for [old, new] in &changes {
        // The lines between two changes of a hunk are shown.
        let (from, to) = (
            starts[0][old.start].saturating_sub(AROUND),
            starts[0][old.end] + 2 * AROUND,
        );
        let end = starts[0]
            .partition_point(|&start| start < to)
            .min(messages[0].len());
        is_needed[0][starts[0].partition_point(|&start| start <= from) - 1..end].fill(true);
        is_needed[1][new.clone()].fill(true);
    }
    let texts = [texts(left, &is_needed[0])?, texts(right, &is_needed[1])?];
    let lines = [0, 1].map(|side| lines(&texts[side], &starts[side]));
    let changes = in_lines(&changes, &starts, &lines);
    let hunks = changes.chunk_by(|one, next| next[0].start - one[0].end <= 2 * AROUND);
    Ok(hunks
        .map(|changes| hunk(changes, *starts[0].last().unwrap_or(&0), &lines))
        .collect())
}

/// Returns the ranges of the lines that differ, given those of the messages that do.
fn in_lines(
    changes: &[[Range<usize>; 2]],
    starts: &[Vec<usize>; 2],
    lines: &[HashMap<usize, &str>; 2],
) -> Vec<[Range<usize>; 2]> {
    let mut all: Vec<[Range<usize>; 2]> = Vec::new();
    for change in changes {
        let [old, new] =
            [0, 1].map(|side| starts[side][change[side].start]..starts[side][change[side].end]);
        let changed = [(0, &old), (1, &new)]
            .map(|(side, range)| range.clone().map(|at| lines[side][&at]).collect::<Vec<_>>());
        for [removed, added] in differing(&changed[0], &changed[1]) {
            let removed = old.start + removed.start..old.start + removed.end;
            let added = new.start + added.start..new.start + added.end;
            match all
                .last_mut()
                .filter(|last| last[0].end == removed.start && last[1].end == added.start)
            {
                Some(last) => (last[0].end, last[1].end) = (removed.end, added.end),
                None => all.push([removed, added]),
            }
        }
    }
    all
}

/// Returns changes that are near each other, with the lines around them; `end` is the number of
/// lines on the left.
fn hunk(changes: &[[Range<usize>; 2]], end: usize, lines: &[HashMap<usize, &str>; 2]) -> Hunk {
    let (first, last) = (&changes[0], &changes[changes.len() - 1]);
    let (before, after) = (AROUND.min(first[0].start), AROUND.min(end - last[0].end));
    let [left, right] = [0, 1].map(|side| first[side].start - before..last[side].end + after);
    let signed = signed(
        changes,
        left.clone(),
        |at| lines[0][&at],
        |at| lines[1][&at],
    );
    Hunk {
        left,
        right,
        lines: signed
            .into_iter()
            .map(|(sign, line)| (sign, line.to_owned()))
            .collect(),
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
        messages.push(Measured {
            digest: Sha256::digest(&text).into(),
            lines,
        });
    })?;
    Ok(messages)
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
    texts
        .iter()
        .flat_map(|(&at, text)| (starts[at]..).zip(split(text)))
        .collect()
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
    let mut out = message
        .get_text("role")
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    for key in ["toolName", "toolCallId"] {
        if let Some(text) = message.get_text(key) {
            out += &format!(" {}", text.to_string_lossy());
        }
    }
    let is_error = message.get("isError").is_some_and(Raw::is_truthy);
    out += if is_error { " (error)\n" } else { "\n" };
    let mut parts = Vec::new();
    match message.get("content") {
        Some(content) if content.is_array() => content
            .items()
            .for_each(|item| content_part(item, &mut parts)),
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
    let image = item
        .get("type")
        .filter(|kind| kind.is("image"))
        .and_then(|_| item.get("data"));
    push_block(item, parts);
    // Two pictures of the same size may differ.
    if let Some(data) = image.and_then(Raw::raw_string) {
        let digest = Sha256::digest(data);
        let digest: String = digest
            .iter()
            .take(6)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        parts.push(Part::Field(Text::from("sha256"), Text::from(digest)));
    }
}

/// Appends a part in the format of `show`.
fn push(part: &Part, out: &mut String) {
    match part {
        Part::Title(title) => *out += &format!("  {}\n", title.to_string_lossy()),
        Part::Field(name, value) => {
            *out += &format!(
                "  {}: {}\n",
                name.to_string_lossy(),
                value.to_string_lossy()
            );
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
