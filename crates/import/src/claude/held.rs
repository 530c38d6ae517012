//! Lines that are held back until a result was read, so that every call is directly followed by its
//! result.
//!
//! Claude Code writes each block of a response as a line, and starts a call when its line is
//! written. If an import ends between two of these lines, the first one is a message already, and
//! the second one becomes another message. Calls of the first message may still have no result
//! then, and providers refuse a message between a call and its result. So a line is held while an
//! earlier call of its response has no result, and a result is held while its call is held:
//!
//! ```text
//! source     call a    (end of an import)    call b    result a    result b    reply
//! session    call a    result a    call b    result b    reply
//! ```
//!
//! A meta line, which Claude Code adds in the name of the user (the text of a skill, an image), is
//! also held while a call has no result, and so is an attachment. A line that the user wrote is not
//! held: after it, the calls may never get a result.
//!
//! Held lines are released when the conversation goes on after the response, even if calls have no
//! result. They are also released when their number or size reaches a limit. When an import ends, a
//! line behind an open call is kept as a custom entry, and becomes a message in a later import.

use super::blocks::answered_call_id;
use super::kept::draft_kept_line;
use super::line::ClaudeLine;
use super::response::{CallPlace, ResponseIx};
use super::{ClaudeReader, LineNodes};
use pisess_json::outline::OutlinedCopy;
use std::io;

/// The maximum number of lines that are held. A response has no more parallel calls than a few
/// dozen.
const MOST_LINES: usize = 100;

/// The maximum number of bytes of the lines that are held.
const MOST_BYTES: usize = 16 << 20;

/// A line that is held back.
pub struct HeldLine {
    offset: u64,
    copy: OutlinedCopy,
    /// The time of the line; if it has none, the time of the line before it in the source.
    time_ms: i64,
    /// The response that it is a part of, or has a result for.
    response: ResponseIx,
    reason: HoldReason,
    is_sidechain: bool,
    /// Whether it was kept as a custom entry when an import ended.
    is_kept: bool,
}

/// Why a line is held back.
enum HoldReason {
    /// It is the result of a call, and the line with the call is held back itself.
    CallIsHeld {
        /// The id of the call.
        call_id: Box<[u8]>,
    },
    /// It is a part of a response of which an earlier call has no result, or an earlier part is
    /// held back.
    LaterPart,
    /// It is a meta line or an attachment, and a call before it has no result.
    MetaBehindCall,
}

/// Why a line must be held back, and until when.
struct HoldDecision {
    reason: HoldReason,
    /// The response whose calls the line waits for.
    response: ResponseIx,
}

impl HeldLine {
    /// Parses the line again, as it was parsed when it was read.
    fn parse(&self, reader: &ClaudeReader) -> ClaudeLine<'_> {
        reader.parse_line(self.offset, self.copy.value(), self.time_ms)
    }

    /// Whether it has the result of a call.
    fn is_result(&self) -> bool {
        matches!(self.reason, HoldReason::CallIsHeld { .. })
    }

    /// Whether it is a part of a response.
    fn is_part(&self) -> bool {
        matches!(self.reason, HoldReason::LaterPart)
    }
}

impl ClaudeReader<'_> {
    /// Holds a line back if it has to come after results that were not read yet. Returns whether
    /// the line is held; if not, the caller adds it now.
    ///
    /// If a limit would be exceeded, all held lines are released, and this line is not held.
    pub(super) fn hold_line(&mut self, line: &ClaudeLine) -> io::Result<bool> {
        let Some(HoldDecision { reason, response }) = self.decide_to_hold(line) else {
            return Ok(false);
        };
        if self.would_exceed_limits(line) {
            self.release_all_lines()?;
            return Ok(false);
        }

        if let HoldReason::LaterPart = reason {
            // The results of calls in this line come next, and have to be held as long as the line.
            self.remember_held_calls(response, line);
        }
        self.set_provisional_node(line, response);
        self.held_lines.push(HeldLine {
            offset: line.offset,
            copy: line.value.copy_line(),
            time_ms: line.time_ms,
            response,
            reason,
            is_sidechain: line.is_sidechain,
            is_kept: false,
        });
        // This line may be the result for which a part of its response was waiting.
        self.release_ready_lines()?;
        Ok(true)
    }

    /// Decides whether a line must be held back: its entries are not added now, but after the
    /// results of earlier calls. Without this, a message could come between a call and its result,
    /// which providers refuse. `None` if the entries of the line can be added now.
    ///
    /// Three kinds of lines may have to wait. No line is of two of these kinds.
    fn decide_to_hold(&self, line: &ClaudeLine) -> Option<HoldDecision> {
        self.decide_to_hold_result(line)
            .or_else(|| self.decide_to_hold_part(line))
            .or_else(|| self.decide_to_hold_meta(line))
    }

    /// Whether a limit would be exceeded if this line were held, too.
    fn would_exceed_limits(&self, line: &ClaudeLine) -> bool {
        if self.held_lines.len() == MOST_LINES {
            return true;
        }
        let mut byte_count = line.value.bytes().len();
        for held in &self.held_lines {
            byte_count += held.copy.byte_count();
        }
        byte_count > MOST_BYTES
    }

    /// Records, for a held line, where later lines that name it as their parent are attached. The
    /// held line has no entries yet, so the entry of its own parent takes their place, or the last
    /// entry of the response if the parent is unknown.
    ///
    /// When the line is released, its own entries replace this record.
    fn set_provisional_node(&mut self, line: &ClaudeLine, response: ResponseIx) {
        let Some(uuid) = &line.uuid else {
            return;
        };
        let entry_above = match self.find_attach_point(line).parent {
            Some(parent) => parent,
            None => self.responses[response.0].last_node,
        };
        let provisional = LineNodes {
            first: entry_above,
            last: entry_above,
            response: Some(response),
        };
        self.nodes_by_uuid.insert(uuid.as_bytes(), provisional);
    }

    /// Decides to hold back a line with the result of a call, if the line with the call is held
    /// itself. Of several results, the first one decides. When the line is added, the calls of the
    /// others are released.
    fn decide_to_hold_result(&self, line: &ClaudeLine) -> Option<HoldDecision> {
        if self.held_lines.is_empty() || !line.is_of_kind("user") {
            return None;
        }
        let call_id = line.blocks().find_map(answered_call_id)?;
        if !self.is_call_held(call_id.as_bytes()) {
            return None;
        }
        let call = self.calls.get(call_id.as_bytes())?;
        Some(HoldDecision {
            reason: HoldReason::CallIsHeld {
                call_id: call_id.as_bytes().into(),
            },
            response: call.response,
        })
    }

    /// Decides to hold back a later part of a response: Claude Code writes each block of a response
    /// as a line. The part has to wait if a call in an earlier part has no result yet, or if an
    /// earlier part is held itself.
    fn decide_to_hold_part(&self, line: &ClaudeLine) -> Option<HoldDecision> {
        if !line.is_of_kind("assistant") {
            return None;
        }
        let response = self.find_continued_response(line)?;
        let has_open_call = self.has_open_call(response);
        let is_behind_held_line = self.held_lines.iter().any(|held| held.response == response);
        if !has_open_call && !is_behind_held_line {
            return None;
        }
        Some(HoldDecision {
            reason: HoldReason::LaterPart,
            response,
        })
    }

    /// Decides to hold back an attachment or a meta line, if a call of the response before it has
    /// no result yet. Claude Code adds meta lines in the name of the user, such as the text of a
    /// skill.
    fn decide_to_hold_meta(&self, line: &ClaudeLine) -> Option<HoldDecision> {
        let is_meta_line = line.is_of_kind("user") && line.is_meta && !line.has_results();
        if !is_meta_line && !line.is_attachment() {
            return None;
        }
        let response = self.find_attach_point(line).response?;
        if !self.has_open_call(response) {
            return None;
        }
        Some(HoldDecision {
            reason: HoldReason::MetaBehindCall,
            response,
        })
    }

    /// Whether a call of a response has no result yet.
    fn has_open_call(&self, response: ResponseIx) -> bool {
        self.responses[response.0].open_call_count > 0
    }

    /// Whether the line with a call is held back.
    fn is_call_held(&self, call_id: &[u8]) -> bool {
        match self.calls.get(call_id) {
            Some(call) => call.place == CallPlace::HeldLine,
            None => false,
        }
    }

    /// Releases the lines that need not wait any longer:
    ///
    /// - a result whose call is not held;
    /// - a meta line, if its response has no open call;
    /// - the next part of a response, if the response has no open call and a result of it is held.
    ///
    /// Without a held result, a part waits until something ends the response: meta lines for an
    /// earlier result may still come.
    pub(super) fn release_ready_lines(&mut self) -> io::Result<()> {
        while let Some(ready) = self.find_ready_line() {
            self.release_line(ready)?;
        }
        Ok(())
    }

    /// Returns the index of a held line that can be released; `None` if all have to wait. Results
    /// and meta lines come before parts, so that no part is between a call and its result.
    fn find_ready_line(&self) -> Option<usize> {
        let ready = self
            .held_lines
            .iter()
            .position(|line| self.is_ready_before_parts(line));
        if ready.is_some() {
            return ready;
        }

        // A part is released only for a held result: the part, or one after it, has the call.
        self.held_lines
            .iter()
            .position(|line| self.is_unblocked(line) && self.has_held_result(line.response))
    }

    /// Whether a held result or meta line can be released. Parts of a response are decided after
    /// all of these.
    fn is_ready_before_parts(&self, line: &HeldLine) -> bool {
        match &line.reason {
            HoldReason::CallIsHeld { call_id } => !self.is_call_held(call_id),
            HoldReason::MetaBehindCall => self.is_unblocked(line),
            HoldReason::LaterPart => false,
        }
    }

    /// Whether the result of a call of this response is held back.
    fn has_held_result(&self, response: ResponseIx) -> bool {
        self.held_lines
            .iter()
            .any(|line| line.response == response && line.is_result())
    }

    /// Returns the index of the first held line that no open call precedes.
    fn find_unblocked_line(&self) -> Option<usize> {
        let mut lines = self.held_lines.iter();
        lines.position(|line| self.is_unblocked(line))
    }

    /// Whether no open call precedes a held line: it is not a result, and each call of its response
    /// has a result or is held itself.
    fn is_unblocked(&self, line: &HeldLine) -> bool {
        !line.is_result() && self.responses[line.response.0].open_call_count == 0
    }

    /// Releases the held lines of the response that this line ends, because they must come before
    /// it.
    ///
    /// In the main conversation, a line ends every response. On a side chain, it ends only the
    /// response to which it is attached: several side chains may be written at the same time.
    pub(super) fn release_lines_before(&mut self, line: &ClaudeLine) -> io::Result<()> {
        if self.held_lines.is_empty() || !line.ends_response() {
            return Ok(());
        }
        let response = self.find_attach_point(line).response;
        while let Some(ended) = self.find_ended_line(line.is_sidechain, response) {
            self.release_line(ended)?;
        }
        Ok(())
    }

    /// Returns the index of the first held line whose response ends. In the main conversation, this
    /// is any line of it. On a side chain (`is_sidechain`), it is a line of `response`.
    fn find_ended_line(&self, is_sidechain: bool, response: Option<ResponseIx>) -> Option<usize> {
        self.held_lines.iter().position(|held| {
            if is_sidechain {
                held.is_sidechain && Some(held.response) == response
            } else {
                !held.is_sidechain
            }
        })
    }

    /// Releases the held line with a call, so that the result of the call can be added after it.
    /// Parts of the response before that line are released first, in their order. Releases nothing
    /// if the call is not held.
    pub(super) fn release_call(&mut self, call_id: &[u8]) -> io::Result<()> {
        while self.is_call_held(call_id) {
            // Each held call is in `calls`, so this does not panic.
            let response = self.calls[call_id].response;
            let next_part = self
                .held_lines
                .iter()
                .position(|line| line.response == response && line.is_part());
            match next_part {
                Some(index) => self.release_line(index)?,
                // No held line has the call, so nothing can be released for it.
                None => return Ok(()),
            }
        }
        Ok(())
    }

    /// Releases all held lines in their order, even those that still have to wait.
    fn release_all_lines(&mut self) -> io::Result<()> {
        while !self.held_lines.is_empty() {
            self.release_line(0)?;
        }
        Ok(())
    }

    /// Adds the entries of a held line, at the time that it has in the source.
    fn release_line(&mut self, index: usize) -> io::Result<()> {
        // Removed first: adding a result may release further lines.
        let held_line = self.held_lines.remove(index);
        self.add_line(&held_line.parse(self), &[])
    }

    /// Adds the held lines when an import ends, so that the session has all that was read. A line
    /// that no open call precedes is released. Any other line is kept as a custom entry at the end
    /// of its response, and stays held: the next import repeats this one, and may find the results.
    pub(super) fn keep_held_lines(&mut self) -> io::Result<()> {
        while let Some(unblocked) = self.find_unblocked_line() {
            self.release_line(unblocked)?;
        }

        // Taken out of `self` for a moment, because parsing a line borrows the whole reader.
        let mut held_lines = std::mem::take(&mut self.held_lines);
        for line in &mut held_lines {
            // A line that an earlier import kept has its custom entry already.
            if line.is_kept {
                continue;
            }
            let draft = draft_kept_line(&line.parse(self));
            let response_end = self.responses[line.response.0].last_node;
            self.writer.append(Some(response_end), draft)?;
            line.is_kept = true;
        }
        self.held_lines = held_lines;
        Ok(())
    }
}
