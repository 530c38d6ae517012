//! Reads which tool calls failed. A call does not record it: its result does, further down in the
//! file.

use super::tool::ChunkLine;
use crate::load::is_truthy;
use crate::session::read::line_chunks::{Line, LineChunk, for_each_line};
use crate::session::read::record::{Member, Record, scan_record_into};
use foldhash::HashMap;
use memchr::{memchr, memmem, memrchr};
use pisess_json::{KeyCache, Raw, Scanner};
use pisess_store::ReadAt;
use std::io;
use std::ops::Range;

/// The number of bytes after a chunk that are read first, because most results follow soon. Each
/// further step reads as much as all steps before it together.
const FIRST_STEP: u64 = 16 * 1024;

/// The number of bytes after a chunk in which the results of its calls are searched for. Between a
/// call and its result are only results of other calls of the same reply.
const MAX_DISTANCE: u64 = 4 * 1024 * 1024;

/// The calls and results that were read for the matching calls of a chunk: the results that follow
/// them, and other calls, because an id may be used again.
///
/// Nothing is read before a call needs it, and no line twice. In the chunk, lines are parsed only
/// from the first matching call on. Behind the chunk, whole steps are read.
pub(super) struct CallEvents {
    /// The offset in the file at which the chunk begins.
    chunk_start: u64,
    /// The offset in the file at which the chunk ends.
    chunk_end: u64,
    /// The offset at which reading continues. All lines between the call that is looked up and this
    /// offset were read.
    read_end: u64,
    /// The offset at which the search ends: lines that begin at it or after it are not read.
    search_end: u64,
    /// Finds the lines that may have a call or a result: the start of `"toolCall"`, the type of a
    /// call, and of `"toolCallId"` in a result.
    event_finder: memmem::Finder<'static>,
    /// The events of each call id, in file order. Some providers use the ids of calls again. An id
    /// is as written, with its quotes: the agents write it in the same way in call and result.
    events: HashMap<Vec<u8>, Vec<CallEvent>>,
}

struct CallEvent {
    /// The offset of its line.
    offset: u64,
    kind: EventKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EventKind {
    Call,
    Success,
    Failure,
}

impl CallEvents {
    /// Begins with the calls of a chunk. Nothing is read yet.
    pub fn new(source: &dyn ReadAt, chunk: LineChunk) -> CallEvents {
        let chunk_end = chunk.start + chunk.bytes.len() as u64;
        CallEvents {
            chunk_start: chunk.start,
            chunk_end,
            read_end: chunk.start,
            search_end: source.len().min(chunk_end + MAX_DISTANCE),
            event_finder: memmem::Finder::new(b"\"toolCall"),
            events: HashMap::default(),
        }
    }

    /// Whether these are the events for the calls of this chunk.
    pub fn are_of(&self, chunk: LineChunk) -> bool {
        self.chunk_start == chunk.start
    }

    /// Whether the call with this id on `line` failed. False if no result follows, or only after
    /// the next call with this id: then this call was interrupted. False also if no result begins
    /// within [`MAX_DISTANCE`] behind the chunk. Must be called for lines in file order.
    pub fn has_call_failed(
        &mut self,
        source: &dyn ReadAt,
        keys: &mut KeyCache<Member>,
        call_id: Raw,
        line: ChunkLine,
    ) -> io::Result<bool> {
        let call_offset = line.chunk.start + line.start as u64;
        self.skip_up_to(line);
        loop {
            if let Some(event) = self.event_after(call_id, call_offset) {
                return Ok(event == EventKind::Failure);
            }
            if self.read_end < self.chunk_end {
                self.read_line_of_chunk(line.chunk, keys);
            } else if self.read_end < self.search_end {
                self.read_step_after_chunk(source, keys)?;
            } else {
                return Ok(false);
            }
        }
    }

    /// Skips the lines up to the end of the line of a call, unless lines after it were read for an
    /// earlier call.
    fn skip_up_to(&mut self, line: ChunkLine) {
        let line_start = line.chunk.start + line.start as u64;
        if self.read_end <= line_start {
            self.read_end = line.chunk.start + next_line_start(line) as u64;
        }
    }

    /// Returns the first event of a call id after an offset.
    fn event_after(&self, call_id: Raw, offset: u64) -> Option<EventKind> {
        let events = self.events.get(call_id.bytes())?;
        let next = events.partition_point(|event| event.offset <= offset);
        events.get(next).map(|event| event.kind)
    }

    /// Reads the next unread line of the chunk that may have a call or a result. Lines before it
    /// are skipped. If there is no such line, skips the rest of the chunk.
    fn read_line_of_chunk(&mut self, chunk: LineChunk, keys: &mut KeyCache<Member>) {
        let unread_start = (self.read_end - chunk.start) as usize;
        let unread = &chunk.bytes[unread_start..];
        let Some(position) = self.event_finder.find(unread) else {
            self.read_end = self.chunk_end;
            return;
        };
        let found = unread_start + position;
        let line = chunk.line_at(line_range_around(chunk.bytes, found));
        self.add_line(line, keys);
        // The last line of a file may lack its newline.
        self.read_end = self.chunk_end.min(line.span.end() + 1);
    }

    /// Reads the lines that begin in the next bytes after the chunk, up to `search_end`.
    ///
    /// Each call reads as many bytes as all calls before it, so that few calls are needed for a
    /// distant result: at first [`FIRST_STEP`], 16 KiB, then 16, 32, 64 and so on.
    fn read_step_after_chunk(
        &mut self,
        source: &dyn ReadAt,
        keys: &mut KeyCache<Member>,
    ) -> io::Result<()> {
        let read_after_chunk = self.read_end - self.chunk_end;
        let step_len = FIRST_STEP.max(read_after_chunk);
        let step_end = self.search_end.min(self.read_end + step_len);
        for_each_line(source, self.read_end..step_end, |line| {
            // Most lines have neither a call nor a result. Searching them is faster than parsing.
            if self.event_finder.find(line.bytes).is_some() {
                self.add_line(line, keys);
            }
            Ok::<_, io::Error>(())
        })?;
        self.read_end = step_end;
        Ok(())
    }

    /// Adds the calls and the result on a line. A line that is not JSON has none.
    fn add_line(&mut self, line: Line, keys: &mut KeyCache<Member>) {
        let mut blocks = Vec::new();
        let mut record = Record::default();
        let mut scanner = Scanner::new(line.bytes);
        if scan_record_into(&mut scanner, keys, &mut record, &mut blocks).is_err() {
            return;
        }
        let offset = line.span.start;
        for block in &blocks {
            if block.is_call()
                && let Some(id) = block.id
            {
                self.add_event(id, offset, EventKind::Call);
            }
        }
        if let Some(message) = &record.message
            && let Some(id) = message.get(Member::ToolCallId)
        {
            let kind = if is_truthy(message, Member::IsError) {
                EventKind::Failure
            } else {
                EventKind::Success
            };
            self.add_event(id, offset, kind);
        }
    }

    fn add_event(&mut self, call_id: Raw, offset: u64, kind: EventKind) {
        let events = self.events.entry(call_id.bytes().to_vec()).or_default();
        events.push(CallEvent { offset, kind });
    }
}

/// Returns the range of the line that contains `offset`, without its newline.
fn line_range_around(bytes: &[u8], offset: usize) -> Range<usize> {
    let start = match memrchr(b'\n', &bytes[..offset]) {
        Some(newline_before) => newline_before + 1,
        None => 0,
    };
    let end = match memchr(b'\n', &bytes[offset..]) {
        Some(distance) => offset + distance,
        None => bytes.len(),
    };
    start..end
}

/// Returns the offset in the chunk of the line after this one; the length of the chunk if it is the
/// last.
fn next_line_start(line: ChunkLine) -> usize {
    let bytes = line.chunk.bytes;
    match memchr(b'\n', &bytes[line.start..]) {
        Some(newline) => line.start + newline + 1,
        None => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::read::record::new_key_cache;

    /// Returns for each call with the id `c` in the first `chunk_len` bytes whether it failed.
    fn failures(lines: &str, chunk_len: usize) -> Vec<bool> {
        let source = lines.as_bytes().to_vec();
        let chunk = LineChunk {
            start: 0,
            bytes: &source[..chunk_len],
        };
        let keys = &mut new_key_cache();
        let id = Raw::parse(b"\"c\"").unwrap();
        let mut events = CallEvents::new(&source, chunk);
        let mut failures = Vec::new();
        for (start, _) in lines[..chunk_len].match_indices("{\"call\"") {
            let line = ChunkLine { chunk, start };
            failures.push(events.has_call_failed(&source, keys, id, line).unwrap());
        }
        failures
    }

    #[test]
    fn a_call_ends_with_its_result_or_with_the_next_call_of_its_id() {
        let call = r#"{"call":1,"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":{}}]}}"#;
        let result = |members: &str| {
            format!(r#"{{"type":"message","message":{{"role":"toolResult",{members}}}}}"#)
        };
        let failure = result(r#""isError" : true, "toolCallId" : "c""#);
        let success = result(r#""toolCallId":"c","details":{"isError":true},"isError":false"#);
        let other = result(r#""toolCallId":"d","isError":true"#);
        for (lines, expected) in [
            (vec![call, &*failure], vec![true]),
            (
                vec![call, "broken \"toolCallId\"", &other, &success, &failure],
                vec![false],
            ),
            (vec![call, &success, call, &failure], vec![false, true]),
            (vec![call, call, &failure], vec![false, true]),
            (vec![call, &other], vec![false]),
            (vec![call, &other, "{}", &failure, call], vec![true, false]),
        ] {
            let lines = lines.join("\n");
            assert_eq!(failures(&lines, lines.len()), expected, "{lines}");
            // The results of calls at the end of a chunk are behind it.
            for (newline, _) in lines.match_indices('\n') {
                let in_chunk = failures(&lines, newline + 1);
                assert_eq!(in_chunk, expected[..in_chunk.len()], "{lines}");
            }
        }
    }
}
