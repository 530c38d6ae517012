//! Sources that consist of several files.
//!
//! Since 0.146, Codex continues a thread in a new file, a *rollout*, when the user goes back to an
//! earlier turn. A fork does not repeat the turns of its thread. The first line of such a rollout
//! names its base: another rollout, up to an offset.
//!
//! ```text
//! rollout-TIME-THREAD.jsonl            turn 1   turn 2   turn 3
//! rollout-TIME-THREAD_ROLLOUT.jsonl             └─ turn 4              the same thread
//! rollout-TIME-FORK.jsonl              └─ turn 5                       another thread
//!
//! source of THREAD    turn 1   turn 2   turn 3   (back to turn 2)   turn 4
//! source of FORK      turn 1   turn 5
//! ```
//!
//! A source contains the rollouts of its thread as a whole, one after the other, so that it only
//! grows when the user goes back. Of other threads, it contains only what the bases name.

use super::lines::find_in_first_line;
use super::parts::non_empty_text;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::io;
use std::path::Path;
use uuid::Uuid;

/// The number of characters of a time in a name, such as `2026-03-02T11-57-30`.
const TIME_LEN: usize = 19;

/// The parts of the name of a rollout: `rollout-TIME-THREAD.jsonl`, or
/// `rollout-TIME-THREAD_ROLLOUT.jsonl`. The first rollout of a thread has the id of the thread.
///
/// `Ord` sorts the rollouts of a thread in the order in which they were written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RolloutName {
    time: String,
    /// Whether it continues the thread. If two times are equal, the rollout that continues the
    /// thread is the later one.
    continues: bool,
    /// The id of the rollout. For the first rollout of a thread, it is the id of the thread.
    pub rollout_id: String,
    /// The id of the thread to which the rollout belongs.
    pub thread_id: String,
}

impl RolloutName {
    /// Parses the name of the file at a path, such as
    /// `rollout-2026-03-02T11-57-30-THREAD_ROLLOUT.jsonl` with two UUIDs. `None` if it is not the
    /// name of a rollout.
    pub fn parse(path: &Path) -> Option<RolloutName> {
        let name = path.file_name()?.to_str()?;
        let rest = name.strip_prefix("rollout-")?;
        let (stem, _extension) = rest.split_once('.')?;
        let time = stem.get(..TIME_LEN)?;
        let ids = stem.get(TIME_LEN..)?.strip_prefix('-')?;
        // The first rollout of a thread has only one id, which is also the id of the thread.
        let (thread, rollout) = ids.split_once('_').unwrap_or((ids, ids));
        if Uuid::try_parse(thread).is_err() || Uuid::try_parse(rollout).is_err() {
            return None;
        }
        Some(RolloutName {
            time: time.to_owned(),
            continues: rollout != thread,
            rollout_id: rollout.to_owned(),
            thread_id: thread.to_owned(),
        })
    }
}

/// Where a rollout begins: in another rollout, after its first `end` bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryBase {
    /// The id of the other rollout.
    pub rollout_id: String,
    /// The number of its bytes that belong to the history.
    pub end: u64,
}

impl HistoryBase {
    /// Reads the base of a rollout from its first line; `None` if the rollout has no base.
    pub fn read(rollout: &dyn ReadAt) -> io::Result<Option<HistoryBase>> {
        find_in_first_line(rollout, HistoryBase::of_line)
    }

    /// Returns the base that a line names. Codex calls the id of the rollout `thread_id`.
    pub(super) fn of_line(line: Raw) -> Option<HistoryBase> {
        let base = line.get("payload")?.get("history_base")?;
        let end = base.get("end_byte_offset").and_then(Raw::as_index);
        Some(HistoryBase {
            rollout_id: non_empty_text(base, "thread_id")?.into_string_lossy(),
            end: end.unwrap_or(0) as u64,
        })
    }
}

/// A place in a source at which the conversation continues from an earlier place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Junction {
    /// The offset of the first line that continues the earlier place.
    pub at: u64,
    /// The offset behind the earlier place, from which the conversation continues. It equals `at`
    /// if the lines directly follow.
    pub back_to: u64,
}

/// How the files of a source follow one another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceLayout {
    /// The offset of the first line that belongs to the session itself. Lines before it were
    /// written for the session from which this one was forked.
    pub own_start: u64,
    /// Where files join, in order.
    pub junctions: Vec<Junction>,
    /// The title of the session, if no line has it.
    pub title: Option<Text<'static>>,
}

/// The content of a source: one file after the other.
#[derive(Default)]
pub struct JoinedSource {
    pieces: Vec<Piece>,
    /// How its files follow one another.
    pub layout: SourceLayout,
}

struct Piece {
    content: Box<dyn ReadAt + Send>,
    /// The offset of its first byte in the source.
    start: u64,
    /// The number of its bytes that belong to the source.
    len: u64,
    /// The id of the rollout; empty if the file is not a rollout.
    rollout: String,
}

impl JoinedSource {
    /// Returns a source that is one file.
    pub fn single(content: Box<dyn ReadAt + Send>) -> JoinedSource {
        let mut source = JoinedSource::default();
        let len = content.len();
        source.push(content, len, String::new());
        source
    }

    fn push(&mut self, content: Box<dyn ReadAt + Send>, len: u64, rollout: String) {
        let start = self.len();
        self.pieces.push(Piece {
            content,
            start,
            len,
            rollout,
        });
    }

    /// Appends the first `end` bytes of a rollout of another thread.
    pub fn push_inherited(&mut self, content: Box<dyn ReadAt + Send>, end: u64, rollout: &str) {
        self.push_junction(self.len());
        self.push(content, end, rollout.to_owned());
        self.layout.own_start = self.len();
    }

    /// Appends a rollout of the thread. If its base is in the source, the rollout continues there.
    /// Otherwise it continues at the end of the source.
    pub fn push_own(
        &mut self,
        content: Box<dyn ReadAt + Send>,
        base: Option<&HistoryBase>,
        rollout: &str,
    ) {
        let at = self.len();
        let back_to = base.and_then(|base| self.find_base(base)).unwrap_or(at);
        self.push_junction(back_to);
        let len = content.len();
        self.push(content, len, rollout.to_owned());
    }

    /// Returns, for each of these offsets in the source, the number of its line within its own
    /// file, from 1. `line_starts` are the offsets of all lines of the source, in order.
    pub fn line_numbers(&self, offsets: &[u64], line_starts: &[u64]) -> Vec<u32> {
        let count_starts_up_to =
            |offset: u64| line_starts.partition_point(|&start| start <= offset);
        let mut numbers = Vec::with_capacity(offsets.len());
        for &offset in offsets {
            let file_start = self.file_start_before(offset);
            // The starts after the start of the file are counted, and 1 is added for its first
            // line: that line has no start of its own if the file before ends without a newline.
            let later_lines = count_starts_up_to(offset) - count_starts_up_to(file_start);
            numbers.push(later_lines as u32 + 1);
        }
        numbers
    }

    /// Returns the offset at which the file that contains `offset` begins.
    fn file_start_before(&self, offset: u64) -> u64 {
        // The file is the last one that begins at the offset or before it.
        let begun_files = self.pieces.partition_point(|piece| piece.start <= offset);
        match self.pieces[..begun_files].last() {
            Some(file) => file.start,
            None => 0,
        }
    }

    /// Records that the file which is appended next continues at `back_to`. The first file has
    /// nothing to continue.
    fn push_junction(&mut self, back_to: u64) {
        let at = self.len();
        if at > 0 {
            self.layout.junctions.push(Junction { at, back_to });
        }
    }

    /// Returns the offset in the source at which a base ends; `None` if it is not in the source.
    fn find_base(&self, base: &HistoryBase) -> Option<u64> {
        let piece = self
            .pieces
            .iter()
            .find(|piece| piece.rollout == base.rollout_id && base.end <= piece.len)?;
        Some(piece.start + base.end)
    }
}

impl ReadAt for JoinedSource {
    /// Reads from the file that contains the offset, and never beyond the end of that file.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let files_before = self
            .pieces
            .partition_point(|piece| piece.start + piece.len <= offset);
        // No more bytes if all files end before the offset.
        let Some(piece) = self.pieces.get(files_before) else {
            return Ok(0);
        };
        let offset_in_file = offset - piece.start;
        let bytes_left = usize::try_from(piece.len - offset_in_file).unwrap_or(usize::MAX);
        let read_len = buf.len().min(bytes_left);
        piece.content.read_at(&mut buf[..read_len], offset_in_file)
    }

    fn len(&self) -> u64 {
        self.pieces
            .last()
            .map_or(0, |piece| piece.start + piece.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_the_thread_and_the_rollout() {
        let thread = "019cad00-0000-7000-8000-0000000000c1";
        let rollout = "019cad00-0000-7000-8000-0000000000c2";
        let parse = |name: &str| RolloutName::parse(Path::new(name));
        let first = parse(&format!("rollout-2026-03-02T11-57-30-{thread}.jsonl")).unwrap();
        assert_eq!((&*first.thread_id, &*first.rollout_id), (thread, thread));
        let next = parse(&format!(
            "d/rollout-2026-03-02T11-57-30-{thread}_{rollout}.jsonl"
        ))
        .unwrap();
        assert_eq!((&*next.thread_id, &*next.rollout_id), (thread, rollout));
        assert!(first < next);
        assert_eq!(parse("rollout-2026-03-02T11-57-30-x.jsonl"), None);
        assert_eq!(parse("rollout-é.jsonl"), None);
        assert_eq!(parse("plain.jsonl"), None);
    }

    #[test]
    fn the_base_is_found_even_if_the_first_line_has_lost_its_newline() {
        let first = r#"{"payload":{"history_base":{"thread_id":"a","end_byte_offset":7}}}"#;
        let glued = format!("{first}{{\"type\":\"event_msg\"}}\n").into_bytes();
        let base = HistoryBase::read(&glued).unwrap().unwrap();
        assert_eq!((&*base.rollout_id, base.end), ("a", 7));
        assert_eq!(HistoryBase::read(&b"{}\n".to_vec()).unwrap(), None);
        assert_eq!(HistoryBase::read(&Vec::new()).unwrap(), None);
    }

    #[test]
    fn lines_are_counted_within_each_file() {
        let mut source = JoinedSource::default();
        source.push_own(Box::new(b"a\n\nb\n".to_vec()), None, "a");
        source.push_own(Box::new(b"c\nd".to_vec()), None, "b");
        let numbers = source.line_numbers(&[7, 0, 3, 5, 6, 3], &[0, 2, 3, 5, 7]);
        assert_eq!(numbers, [2, 1, 3, 1, 1, 3]);
    }

    #[test]
    fn files_are_read_one_after_the_other() {
        let mut source = JoinedSource::default();
        source.push_inherited(Box::new(b"abcdef".to_vec()), 3, "a");
        source.push_own(Box::new(b"ghi".to_vec()), None, "b");
        let base = HistoryBase {
            rollout_id: "b".to_owned(),
            end: 1,
        };
        source.push_own(Box::new(b"jk".to_vec()), Some(&base), "c");
        assert_eq!(source.read_range(0..8).unwrap(), b"abcghijk");
        assert_eq!(source.read_range(2..7).unwrap(), b"cghij");
        assert!(source.read_range(2..9).is_err());
        assert_eq!(source.line_numbers(&[4, 0, 7], &[0]), [1, 1, 1]);
        assert_eq!(source.layout.own_start, 3);
        let junctions = [
            Junction { at: 3, back_to: 3 },
            Junction { at: 6, back_to: 4 },
        ];
        assert_eq!(source.layout.junctions, junctions);
    }
}
