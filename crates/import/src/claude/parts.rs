//! The lines of a response, gathered so that they become one message.
//!
//! Claude Code writes each block of a response as a line, and starts a call when its line is
//! written. Between the lines of a response there may be results of its calls, reports of hooks,
//! and lines of side chains. So the first line waits until another line ends the response, or an
//! import ends. The lines after it wait, too:
//!
//! ```text
//! source     thinking    call a    result a    call b    result b    reply
//! session    thinking, call a, call b    result a    result b    reply
//! ```
//!
//! The number and the size of waiting lines are limited. If a limit is reached, the response ends.
//! Each further line of it becomes a message of its own.

use super::ClaudeReader;
use super::blocks::ResponseBlock;
use super::line::ClaudeLine;
use foldhash::HashSet;
use pisess_json::Raw;
use pisess_json::outline::{Outlined, OutlinedCopy};
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::collections::VecDeque;
use std::io;

/// The maximum number of lines that wait. A response has a few dozen blocks at most, and few of its
/// calls end while it is written.
const MOST_LINES: usize = 100;

/// The maximum number of bytes of the lines that wait.
const MOST_BYTES: usize = 16 << 20;

/// A line that waits.
pub(super) struct SourceLine {
    offset: u64,
    content: LineContent,
}

enum LineContent {
    Object(OutlinedCopy),
    /// The members of the custom entry for a line that is not an object.
    Custom(Object),
}

/// The response whose parts are being read.
#[derive(Default)]
pub(super) struct OpenResponse {
    /// The id of the response, as in each of its lines.
    id: Vec<u8>,
    /// Whether it is on a side chain.
    is_sidechain: bool,
    /// Its first line, and the lines that were read since; none if no response is open.
    lines: Vec<WaitingLine>,
    /// The total size of `lines`.
    byte_count: usize,
    /// The `uuid`s of its lines, and of lines below them that do not end the response.
    uuids: HashSet<Box<[u8]>>,
    /// The lines to read next, in order: lines that waited while a response was open, then lines
    /// that came after it.
    unread: VecDeque<SourceLine>,
}

struct WaitingLine {
    line: SourceLine,
    is_part: bool,
}

/// How a line is related to the open response.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// The line is a part of the response.
    Part,
    /// The line ends the response: nothing of the response comes after it.
    End,
    /// The line is attached to the response, and does not end it.
    Below,
    /// The line is elsewhere, such as on a side chain, or repeats an earlier line.
    Elsewhere,
}

impl SourceLine {
    pub(super) fn object(line: &ClaudeLine) -> SourceLine {
        SourceLine {
            offset: line.offset,
            content: LineContent::Object(line.value.copy_line()),
        }
    }

    pub(super) fn custom(offset: u64, members: Object) -> SourceLine {
        SourceLine {
            offset,
            content: LineContent::Custom(members),
        }
    }

    fn byte_count(&self) -> usize {
        match &self.content {
            LineContent::Object(copy) => copy.byte_count(),
            LineContent::Custom(_) => 0,
        }
    }

    /// Parses the line; `None` if it is not an object.
    fn parse(&self, reader: &ClaudeReader) -> Option<ClaudeLine<'_>> {
        match &self.content {
            LineContent::Object(copy) => {
                Some(reader.parse_line(self.offset, copy.value(), reader.time_ms))
            }
            LineContent::Custom(_) => None,
        }
    }
}

impl OpenResponse {
    pub(super) fn is_open(&self) -> bool {
        !self.lines.is_empty()
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= MOST_LINES || self.byte_count >= MOST_BYTES
    }

    /// Whether the line with this `uuid` is a part of the response or below one.
    fn contains(&self, uuid: &Option<Text>) -> bool {
        match uuid {
            Some(uuid) => self.uuids.contains(uuid.as_bytes()),
            None => false,
        }
    }

    /// Adds a line, which does not end the response, to the lines that wait. `uuid` is the `uuid`
    /// of the line.
    fn push(&mut self, line: SourceLine, relation: Relation, uuid: Option<Box<[u8]>>) {
        let is_part = relation == Relation::Part;
        let is_below = relation == Relation::Below;
        if is_part || is_below {
            // Lines whose parent is this line are below the response, too.
            self.uuids.extend(uuid);
        }
        self.byte_count += line.byte_count();
        self.lines.push(WaitingLine { line, is_part });
    }
}

impl ClaudeReader<'_> {
    /// Whether a line is the first line of a response whose lines become one message.
    pub(super) fn begins_response(&self, line: &ClaudeLine) -> bool {
        // An earlier version of pisess has imported the lines before this offset one by one.
        if line.offset < self.merged_from {
            return false;
        }
        let is_of_response = line.response_id.is_some() && line.has_converted_block();
        if !is_of_response || self.is_repeated(line) {
            return false;
        }
        // A part that comes too late to be merged with the rest begins nothing.
        let is_late_part = self.find_continued_response(line).is_some();
        !is_late_part
    }

    /// Adds a line to the lines that wait for the end of the open response. Returns whether it was
    /// added. If not, the line itself is what ends the response, and the caller reads it next.
    ///
    /// If the response ends, by the line or by a limit, the lines that waited are read. One of them
    /// may open another response. Must not be called while lines are unread.
    pub(super) fn add_to_open_response(&mut self, line: &ClaudeLine) -> io::Result<bool> {
        let relation = self.find_relation(line);
        let ends_response = relation == Relation::End;
        if !ends_response {
            let copy = SourceLine::object(line);
            self.open_response.push(copy, relation, line.uuid_key());
        }
        if ends_response || self.open_response.is_full() {
            self.end_response()?;
            self.read_waiting_lines()?;
        }
        Ok(!ends_response)
    }

    /// Reads a line after the lines that wait: now, or if a response is open, when it has ended.
    pub(super) fn read_later(&mut self, line: SourceLine) -> io::Result<()> {
        self.open_response.unread.push_back(line);
        self.read_waiting_lines()
    }

    /// Ends the open response, and any response that begins in the waiting lines, because no more
    /// lines are known.
    pub(super) fn end_open_responses(&mut self) -> io::Result<()> {
        while self.open_response.is_open() {
            self.end_response()?;
            self.read_waiting_lines()?;
        }
        Ok(())
    }

    /// Reads the lines in `unread`, until each is read or waits for the end of a response.
    fn read_waiting_lines(&mut self) -> io::Result<()> {
        while let Some(next) = self.open_response.unread.pop_front() {
            if self.open_response.is_open() {
                self.add_or_end_response(next)?;
            } else {
                self.read_or_open(next)?;
            }
        }
        Ok(())
    }

    /// Reads a line that has waited, while no response is open. If the line begins a response, it
    /// opens the response instead, and waits again, for the other lines of that response.
    fn read_or_open(&mut self, line: SourceLine) -> io::Result<()> {
        let copy = match line.content {
            LineContent::Custom(members) => return self.add_custom_entry(line.offset, members),
            LineContent::Object(copy) => copy,
        };
        // Parsed again: the time of the line before it is known only now.
        let parsed = self.parse_line(line.offset, copy.value(), self.time_ms);
        if !self.begins_response(&parsed) {
            return self.read_line(&parsed, &[]);
        }
        self.open_response(&parsed);
        Ok(())
    }

    /// Opens the response that a line begins (see [`begins_response`](Self::begins_response)). The
    /// line waits for the others.
    pub(super) fn open_response(&mut self, first_line: &ClaudeLine) {
        let id = first_line.response_id.clone().unwrap_or_default();
        self.open_response.id = id.as_bytes().to_vec();
        self.open_response.is_sidechain = first_line.is_sidechain;
        let line = SourceLine::object(first_line);
        self.open_response
            .push(line, Relation::Part, first_line.uuid_key());
    }

    /// Adds a line that has waited to the open response, unless the line ends the response. If the
    /// response ends, by the line or by a limit, the lines between its parts become unread.
    fn add_or_end_response(&mut self, line: SourceLine) -> io::Result<()> {
        let (relation, uuid) = match line.parse(self) {
            Some(parsed) => (self.find_relation(&parsed), parsed.uuid_key()),
            // A line that is not an object is related to no response.
            None => (Relation::Elsewhere, None),
        };
        if relation == Relation::End {
            // Put back before the response ends: this moves the lines between its parts to the
            // front of the unread lines, so that they are read before this line.
            self.open_response.unread.push_front(line);
            return self.end_response();
        }

        self.open_response.push(line, relation, uuid);
        if self.open_response.is_full() {
            self.end_response()?;
        }
        Ok(())
    }

    /// Returns how a line is related to the open response.
    fn find_relation(&self, line: &ClaudeLine) -> Relation {
        let response = &self.open_response;
        let is_repeated = self.is_repeated(line) || response.contains(&line.uuid);
        if is_repeated || line.is_sidechain != response.is_sidechain {
            return Relation::Elsewhere;
        }

        // In files without parents, a line follows the one before it.
        let is_below = line.lacks_parent || response.contains(&line.parent);
        let has_same_id = match &line.response_id {
            Some(id) => id.as_bytes() == response.id,
            None => false,
        };
        if is_below && has_same_id {
            // A line of the response without a block to merge, such as an empty one, only waits.
            return if line.has_converted_block() {
                Relation::Part
            } else {
                Relation::Below
            };
        }

        // Several side chains may be written at the same time. So a line of a side chain that is
        // not below the response may be of another chain, and does not end the response.
        let may_end_response = is_below || !line.is_sidechain;
        if may_end_response && line.ends_response() {
            return Relation::End;
        }
        if is_below {
            Relation::Below
        } else {
            Relation::Elsewhere
        }
    }

    /// Ends the open response: reads its parts, which become one message. The lines that waited
    /// between the parts become the first of the unread lines; the caller reads them next. One of
    /// them may begin another response.
    fn end_response(&mut self) -> io::Result<()> {
        let ended = std::mem::take(&mut self.open_response);
        let mut parts = Vec::new();
        let mut unread = VecDeque::new();
        for WaitingLine { line, is_part } in ended.lines {
            if is_part {
                parts.push(line);
            } else {
                unread.push_back(line);
            }
        }
        unread.extend(ended.unread);
        self.open_response.unread = unread;

        let mut parsed_parts = Vec::new();
        for part in &parts {
            parsed_parts.extend(part.parse(self));
        }
        match parsed_parts.split_first() {
            Some((first, rest)) => self.read_line(first, rest),
            None => Ok(()),
        }
    }
}

impl ClaudeLine<'_> {
    /// Whether a block of its message has a counterpart.
    fn has_converted_block(&self) -> bool {
        self.blocks()
            .any(|block| ResponseBlock::read(block).is_some())
    }

    fn uuid_key(&self) -> Option<Box<[u8]>> {
        self.uuid.as_ref().map(|uuid| uuid.as_bytes().into())
    }
}

/// Returns, as a JSON object, the members of `part` that the `first` line of its response does not
/// have with the same value. Its member `message` has those of the message, and as `content` the
/// blocks without a counterpart in pi:
///
/// ```text
/// first     {"sessionId":"s","uuid":"1","message":{"id":"m","content":[…]}}
/// part      {"sessionId":"s","uuid":"2","message":{"id":"m","content":[…]}}
/// result    {"uuid":"2","message":{}}
/// ```
pub(super) fn part_members(first: &ClaudeLine, part: &ClaudeLine) -> Vec<u8> {
    let members = differing_members(part.value, first.value, "message");
    let Some(message) = part.message else {
        return members.finish();
    };
    let unconverted_blocks: Vec<_> = part
        .blocks()
        .filter(|block| ResponseBlock::read(*block).is_none())
        .map(|block| block.raw().bytes())
        .collect();
    let first_message = first.message.unwrap_or(Raw::NULL.into());
    let message_members = differing_members(message, first_message, "content")
        .json_array("content", &unconverted_blocks)
        .finish();
    members.json("message", &message_members).finish()
}

/// Copies the members of `object` that `other` does not have with the same value, except the member
/// with the key `left_out`.
fn differing_members(object: Outlined, other: Outlined, left_out: &str) -> Object {
    let mut differing = Object::new();
    for member in object.stored_members() {
        if member.key.is(left_out) {
            continue;
        }
        let is_in_other = other
            .members()
            .any(|(key, value)| key == member.key && value.raw() == member.value.raw());
        if !is_in_other {
            differing = differing.stored_member(&member);
        }
    }
    differing
}
