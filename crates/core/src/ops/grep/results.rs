//! Reads which tool calls failed. A call does not record it: its result does, further down in the
//! file.

use super::tool::ChunkLine;
use crate::load::is_truthy;
use crate::session::read::line_chunks::{LineChunk, read_chunks};
use crate::session::read::record::{Member, Record, scan_record_into};
use foldhash::HashMap;
use memchr::memmem;
use pisess_json::{KeyCache, Raw, Scanner};
use pisess_store::{PageBuffer, ReadAt};
use std::convert::Infallible;
use std::io;
use std::ops::{ControlFlow, Range};

/// The number of bytes after a chunk that are read at once.
const STEP: u64 = 256 * 1024;

/// The number of bytes after a chunk in which the results of its calls are searched for. Between a
/// call and its result are only results of other calls of the same reply.
const MAX_DISTANCE: u64 = 4 * 1024 * 1024;

/// The calls and results in a chunk, and in the lines after it as far as they are needed.
pub(super) struct KnownResults {
    /// The offset of the chunk.
    chunk_start: u64,
    /// The offset up to which lines were read.
    read_end: u64,
    /// Lines that begin at this offset or after it are not read.
    max_end: u64,
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

impl KnownResults {
    /// Reads the calls and results from `line` to the end of its chunk.
    pub fn in_chunk(
        source: &dyn ReadAt,
        keys: &mut KeyCache<Member>,
        line: ChunkLine,
    ) -> KnownResults {
        let ChunkLine { chunk, start } = line;
        let chunk_end = chunk.start + chunk.bytes.len() as u64;
        let mut results = KnownResults {
            chunk_start: chunk.start,
            read_end: chunk_end,
            max_end: source.len().min(chunk_end + MAX_DISTANCE),
            events: HashMap::default(),
        };
        let rest_of_chunk = LineChunk {
            start: chunk.start + start as u64,
            bytes: &chunk.bytes[start..],
        };
        results.add_lines(rest_of_chunk, keys);
        results
    }

    /// Whether these are the results for calls on the lines of this chunk, from the line on that was
    /// passed to [`in_chunk`](Self::in_chunk).
    pub fn are_of(&self, chunk: LineChunk) -> bool {
        self.chunk_start == chunk.start
    }

    /// Whether the call with this id on `line` failed. False if no result follows, or only after the
    /// next call with this id: then this call was interrupted.
    pub fn has_call_failed(
        &mut self,
        source: &dyn ReadAt,
        keys: &mut KeyCache<Member>,
        call_id: Raw,
        line: ChunkLine,
    ) -> io::Result<bool> {
        let call_offset = line.chunk.start + line.start as u64;
        loop {
            if let Some(event) = self.event_after(call_id, call_offset) {
                return Ok(event == EventKind::Failure);
            }
            if self.read_end >= self.max_end {
                return Ok(false);
            }
            let step = self.read_end..self.max_end.min(self.read_end + STEP);
            self.read_lines(source, keys, step)?;
        }
    }

    /// Returns the first event of a call id after an offset.
    fn event_after(&self, call_id: Raw, offset: u64) -> Option<EventKind> {
        let events = self.events.get(call_id.bytes())?;
        let next = events.partition_point(|event| event.offset <= offset);
        events.get(next).map(|event| event.kind)
    }

    /// Adds the lines that begin in a range of the source.
    fn read_lines(
        &mut self,
        source: &dyn ReadAt,
        keys: &mut KeyCache<Member>,
        range: Range<u64>,
    ) -> io::Result<()> {
        let range_end = range.end;
        let _ = read_chunks(&mut PageBuffer::default(), source, range, |chunk| {
            self.add_lines(chunk, keys);
            ControlFlow::<Infallible>::Continue(())
        })?;
        self.read_end = range_end;
        Ok(())
    }

    fn add_lines(&mut self, lines: LineChunk, keys: &mut KeyCache<Member>) {
        // The start of `"toolCall"`, the type of a call, and of `"toolCallId"` in a result.
        let finder = memmem::Finder::new(b"\"toolCall");
        let mut blocks = Vec::new();
        for line in lines.lines() {
            if finder.find(line.bytes).is_none() {
                continue;
            }
            let mut record = Record::default();
            let mut scanner = Scanner::new(line.bytes);
            if scan_record_into(&mut scanner, keys, &mut record, &mut blocks).is_err() {
                continue;
            }
            for block in &blocks {
                if block.is_call()
                    && let Some(id) = block.id
                {
                    self.add_event(id, line.span.start, EventKind::Call);
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
                self.add_event(id, line.span.start, kind);
            }
        }
    }

    fn add_event(&mut self, call_id: Raw, offset: u64, kind: EventKind) {
        let events = self.events.entry(call_id.bytes().to_vec()).or_default();
        events.push(CallEvent { offset, kind });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::read::record::new_key_cache;

    /// Returns for each call with the id `c` in these lines whether it failed.
    fn failures(lines: &str) -> Vec<bool> {
        let source = lines.as_bytes().to_vec();
        let chunk = LineChunk {
            start: 0,
            bytes: lines.as_bytes(),
        };
        let keys = &mut new_key_cache();
        let id = Raw::parse(b"\"c\"").unwrap();
        let mut failures = Vec::new();
        for (start, _) in lines.match_indices("{\"call\"") {
            let line = ChunkLine { chunk, start };
            let mut results = KnownResults::in_chunk(&source, keys, line);
            failures.push(results.has_call_failed(&source, keys, id, line).unwrap());
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
        ] {
            assert_eq!(failures(&lines.join("\n")), expected, "{lines:?}");
        }
    }
}
