//! Recovers entries from a line that is not exactly one JSON value.

use crate::session::entry::Kind;
use crate::session::read::header::is_title_slot;
use crate::session::read::record::{Member, Record, scan_record};
use memchr::memmem;
use pisess_json::scan::{RawString, tokens};
use pisess_json::string::decode;
use pisess_json::text::Text;
use pisess_json::{Raw, Scanner};
use std::ops::Range;

/// The first bytes of entries and headers, as both agents write them.
const START: &[u8] = b"{\"type\":\"";

/// What may be expected on a broken line.
#[derive(Clone, Copy)]
pub(super) struct Expected {
    /// Whether the line may begin with a title line.
    pub may_be_title: bool,
    /// Whether the entries of the file have no ids, as in version 1 and in the draft tree
    /// (`Format::Draft`).
    pub without_ids: bool,
}

/// Where a value begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beginning {
    /// At the start of the line, or directly behind another value.
    OfRecord,
    /// Behind bytes that are not a value. Such a value may have been inside of another value.
    BehindGap,
}

/// Returns the ranges of the values of a broken line that are entries or headers beyond doubt, in
/// order.
///
/// An entry has a type, an id and a parent, unlike a block of a message, which has no parent. A
/// header has a type and an id. An entry without an id, as in version 1, is recognized by its type
/// and its place: see [`is_entry_without_id`]. A value is ignored if the byte after it, such as `,`
/// or `}`, shows that it is part of another value.
///
/// When the budget of [`BudgetedScan`] is used up, no more values are recovered.
pub(super) fn recover_values(line: &[u8], expected: Expected) -> Vec<Range<usize>> {
    let mut scan = BudgetedScan::new(line);
    let start_finder = memmem::Finder::new(START);
    let mut values: Vec<Range<usize>> = Vec::new();
    let mut position = skip_white_space(line, 0);
    while position < line.len() {
        let expected_here = Expected {
            // Only the first value of a line can be a title.
            may_be_title: expected.may_be_title && values.is_empty(),
            ..expected
        };
        // Values that were written onto one line follow each other directly. If there is something
        // else at `position`, the next recoverable value after it is searched for.
        let mut value = scan.recover_value_at(position, Beginning::OfRecord, expected_here);
        if value.is_none() {
            value = scan.recover_value_after(position, &start_finder, expected.without_ids);
        }
        let Some(value) = value else {
            // The rest of the line has no more values, or the budget is used up.
            break;
        };
        position = skip_white_space(line, value.end);
        values.push(value);
    }
    values
}

/// Returns the offset of the first byte at or after `start` that is not white space; the length of
/// the line if there is none.
fn skip_white_space(line: &[u8], start: usize) -> usize {
    let skipped = line[start..]
        .iter()
        .position(|byte| !byte.is_ascii_whitespace());
    match skipped {
        Some(skipped) => start + skipped,
        None => line.len(),
    }
}

/// Scans values of one line until a budget of bytes is used up.
///
/// The budget keeps the time linear in the length of the line. Without it, a line of many nested
/// beginnings of entries, none of which ends, would be scanned to its end from each of them.
struct BudgetedScan<'l> {
    line: &'l [u8],
    /// The number of bytes that may still be scanned.
    budget: usize,
}

impl<'l> BudgetedScan<'l> {
    /// How many times each byte of a line may be scanned, on average.
    const SCANS_PER_BYTE: usize = 8;
    /// The number of bytes that may be scanned in addition, so that short lines are hardly limited.
    const MIN_BUDGET: usize = 1 << 16;

    fn new(line: &'l [u8]) -> Self {
        let budget = line.len().saturating_mul(Self::SCANS_PER_BYTE);
        BudgetedScan {
            line,
            budget: budget.saturating_add(Self::MIN_BUDGET),
        }
    }

    /// Returns the range of the first entry or header beyond doubt that begins after `position`, as
    /// far as the budget suffices. `start_finder` finds [`START`], with which these begin.
    /// `without_ids` is as in [`Expected`].
    fn recover_value_after(
        &mut self,
        position: usize,
        start_finder: &memmem::Finder,
        without_ids: bool,
    ) -> Option<Range<usize>> {
        let expected = Expected {
            may_be_title: false,
            without_ids,
        };
        // A copy of the reference, so that the loop does not borrow `self`, whose budget changes.
        let line = self.line;
        let search_start = position + 1;
        for offset in start_finder.find_iter(&line[search_start..]) {
            let start = search_start + offset;
            let value = self.recover_value_at(start, Beginning::BehindGap, expected);
            if value.is_some() {
                return value;
            }
        }
        None
    }

    /// Returns the range of the value that begins at `start`, if it is an entry, a header or, where
    /// one is expected, oh-my-pi's title line. `None` if it is another value, is not complete, or
    /// is inside of another value; and if the budget is used up. `beginning` is what comes before
    /// `start`.
    fn recover_value_at(
        &mut self,
        start: usize,
        beginning: Beginning,
        expected: Expected,
    ) -> Option<Range<usize>> {
        let record = self.scan_object_at(start)?;
        let end = start + record.bytes.len();
        if self.is_inner_value_before(end) {
            return None;
        }
        let is_wanted = has_id_and_parent(&record)
            || is_entry_without_id(&record, beginning, expected)
            || (expected.may_be_title && is_title_slot(Raw::from_checked(record.bytes)));
        if is_wanted { Some(start..end) } else { None }
    }

    /// Scans the object that begins at `start`. `None` if there is no `{`, if the object is
    /// incomplete or malformed, and if the budget is used up.
    fn scan_object_at(&mut self, start: usize) -> Option<Record<'l>> {
        if self.budget == 0 || self.line.get(start) != Some(&b'{') {
            return None;
        }
        let mut scanner = Scanner::new(self.line);
        scanner.seek(start);
        let scanned = scan_record(&mut scanner, &mut Vec::new());
        // The bytes of an incomplete object were scanned, too, so they count.
        let scanned_len = scanner.pos() - start;
        self.budget = self.budget.saturating_sub(scanned_len);
        scanned.ok()
    }

    /// Whether a value that ends at `end` is inside of another one, as the byte after it shows.
    fn is_inner_value_before(&self, end: usize) -> bool {
        match self.line.get(end) {
            Some(&next_byte) => follows_inner_value(next_byte),
            None => false,
        }
    }
}

/// Whether the byte after a value shows that the value is inside of another: of an object or array
/// if it is `,`, `]` or `}`, as in `{"a":{…},`. After `"` and `:`, the value was in a string or in
/// a key of a damaged value, as in `{"text":"see {…}"`.
fn follows_inner_value(next_byte: u8) -> bool {
    matches!(next_byte, b',' | b']' | b'}' | b':' | b'"')
}

/// Whether a record at the beginning of a line is an entry beyond doubt, in a session whose version
/// is not known.
pub(super) fn is_entry(record: &Record) -> bool {
    let expected = Expected {
        may_be_title: false,
        without_ids: false,
    };
    let is_header = record.kind.is_some_and(|kind| kind.is("session"));
    let is_record_of_session =
        has_id_and_parent(record) || is_entry_without_id(record, Beginning::OfRecord, expected);
    is_record_of_session && !is_header
}

/// Whether a record has a type, an id and, unless it is a header, a parent.
fn has_id_and_parent(record: &Record) -> bool {
    let has_parent = record
        .get(Member::ParentId)
        .is_some_and(|parent| parent.is_string() || parent.is_null());
    let is_header = record.kind.is_some_and(|kind| kind.is("session"));
    record.kind.is_some() && record.id.is_some() && (has_parent || is_header)
}

/// Whether a record is an entry of version 1 or of the draft tree (`Format::Draft`), where entries
/// have no ids and refer to each other by number. Its type must be known, and a `message` entry
/// must have a message.
///
/// A value inside of an entry may look the same. Two signs show that the record is an entry: the
/// file is of one of these formats, and the record is at the beginning of a line or directly behind
/// another value.
///
/// - With both signs, it is certainly an entry.
/// - With one, it must also have a time or the number of a parent. A file of a later format has
///   such an entry if a migration copied the line unchanged.
/// - With none, it is not taken for an entry.
fn is_entry_without_id(record: &Record, beginning: Beginning, expected: Expected) -> bool {
    let kind = Kind::from_string(record.kind);
    if matches!(kind, Kind::Other | Kind::Missing) {
        return false;
    }
    if kind == Kind::Message && record.message.is_none() {
        return false;
    }
    let has_parent_number = record.get(Member::Parent).is_some_and(Raw::is_number);
    let has_time_or_parent = record.timestamp.is_some() || has_parent_number;

    let has_place_of_entry = beginning == Beginning::OfRecord;
    let has_format_without_ids = expected.without_ids;
    match (has_place_of_entry, has_format_without_ids) {
        (true, true) => true,
        (true, false) | (false, true) => has_time_or_parent,
        (false, false) => false,
    }
}

/// Returns the ranges before, between and after the values, except those that are only white space.
pub(super) fn find_gaps(line: &[u8], values: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut gaps = Vec::new();
    let mut gap_start = 0;
    for value in values {
        gaps.push(gap_start..value.start);
        gap_start = value.end;
    }
    gaps.push(gap_start..line.len());

    gaps.retain(|gap| !line[gap.clone()].trim_ascii().is_empty());
    gaps
}

/// An entry that the repair removes, or that cannot be read as a whole.
#[derive(Clone, Debug, Default)]
pub(super) struct LostEntry {
    /// The number of lines of the repaired file before the entry.
    pub lines_before: u32,
    /// The id of the entry, if it could still be read.
    pub id: Option<Text<'static>>,
    pub parent: LostParent,
}

/// The parent of a lost entry, as far as it could still be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum LostParent {
    /// Nothing.
    #[default]
    Unknown,
    /// The entry was a root.
    Root,
    /// The parent's id.
    Id(Text<'static>),
}

/// Reads the id and the parent of a lost entry (one that the repair removes) from its readable
/// members: those before the place where it breaks. If they have no id, both are read from the
/// first `"id":"…","parentId":…` in the bytes. `lines_before` is the number of lines of the
/// repaired file before the entry.
pub(super) fn salvage_ids(bytes: &[u8], lines_before: u32) -> LostEntry {
    let members = read_whole_members(bytes);
    let mut lost = LostEntry {
        lines_before,
        id: members.id,
        parent: members.parent,
    };
    // A header has no parent, so the two ids would belong to another entry.
    if lost.id.is_none()
        && !members.is_header
        && let Some(ids) = find_adjacent_ids(bytes)
    {
        lost.id = Some(ids.id);
        lost.parent = ids.parent;
    }
    // To the agents, an empty id is none.
    lost.id = lost.id.filter(|id| !id.is_empty());
    lost
}

/// The readable members of an entry that breaks somewhere.
#[derive(Default)]
struct WholeMembers {
    is_header: bool,
    id: Option<Text<'static>>,
    parent: LostParent,
}

/// Reads the members of an entry up to the place where it breaks.
fn read_whole_members(bytes: &[u8]) -> WholeMembers {
    let mut members = WholeMembers::default();
    let mut scanner = Scanner::new(bytes);
    // The error is ignored: it is where the entry breaks, and the members before it are valid.
    let _ = scanner.walk_object(|scanner, key: RawString| {
        let value = Raw::from_checked(scanner.read_value()?);
        if key.is("type") {
            members.is_header = value.is("session");
        } else if key.is("id") {
            members.id = value.text().map(Text::into_owned);
        } else if key.is("parentId") {
            members.parent = read_parent(value);
        }
        Ok(())
    });
    members
}

/// Reads the value of `parentId`. To the agents, an empty id is none, so it means a root.
fn read_parent(value: Raw) -> LostParent {
    match value.text() {
        Some(parent) if parent.is_empty() => LostParent::Root,
        Some(parent) => LostParent::Id(parent.into_owned()),
        None if value.is_null() => LostParent::Root,
        None => LostParent::Unknown,
    }
}

/// The id and the parent of an entry, as the agents write them side by side.
struct AdjacentIds {
    id: Text<'static>,
    parent: LostParent,
}

/// Reads the id and the parent of an entry of which only a part is left. Looks for the first
/// `"id":"…","parentId":…`, which is how the agents write them:
///
/// ```text
/// bytes     …"}],"id":"b2","parentId":"a1","timestamp":"2026-…
/// result    id b2, parent a1
/// ```
///
/// `None` if there is none, or if the id contains a quote, an escape or a control character, as no
/// id of the agents does.
fn find_adjacent_ids(bytes: &[u8]) -> Option<AdjacentIds> {
    const BEFORE_ID: &[u8] = b"\"id\":\"";
    const BETWEEN_IDS: &[u8] = b"\",\"parentId\":";
    /// The longest distance, in bytes, from the start of `"id":` to the end of the id. Ids of the
    /// agents are far shorter.
    const MAX_KEY_DISTANCE: usize = 256;

    let id_end = memmem::find(bytes, BETWEEN_IDS)?;
    let (up_to_id, from_id_end) = bytes.split_at(id_end);
    let near = &up_to_id[id_end.saturating_sub(MAX_KEY_DISTANCE)..];
    let key_start = memmem::rfind(near, BEFORE_ID)?;
    let id = &near[key_start + BEFORE_ID.len()..];
    let is_plain = !id
        .iter()
        .any(|byte| matches!(byte, b'"' | b'\\' | 0..=0x1f));
    if !is_plain {
        return None;
    }

    let mut scanner = Scanner::new(&from_id_end[BETWEEN_IDS.len()..]);
    let parent = match scanner.read_value() {
        Ok(value) => read_parent(Raw::from_checked(value)),
        Err(_) => LostParent::Unknown,
    };
    Some(AdjacentIds {
        id: decode(id).into_owned(),
        parent,
    })
}

/// Returns the maximum number of nested arrays and objects in a valid value, such as 2 for `[{}]`.
pub(super) fn nesting_depth(bytes: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut max_depth = 0;
    for (token, _) in tokens(bytes) {
        match token {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        max_depth = max_depth.max(depth);
    }
    max_depth
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: &str = r#"{"type":"message","id":"a","parentId":null,"message":{"content":[{"type":"text","text":"x"}]}}"#;
    const B: &str = r#"{"type":"custom","customType":"c","data":[],"id":"b","parentId":"a"}"#;

    fn found(line: &str) -> Vec<&str> {
        found_in(line, false)
    }

    fn found_in(line: &str, without_ids: bool) -> Vec<&str> {
        let expected = Expected {
            may_be_title: false,
            without_ids,
        };
        recover_values(line.as_bytes(), expected)
            .into_iter()
            .map(|range| &line[range])
            .collect()
    }

    #[test]
    fn fused_values_are_found_wherever_one_was_cut() {
        assert_eq!(found(&format!("null{A}")), [A]);
        assert_eq!(found(&format!("{A} {B}\r")), [A, B]);
        assert_eq!(found(&format!("{A}\0\0")), [A]);
        for cut in 1..A.len() {
            assert_eq!(found(&format!("{}{B}", &A[..cut])), [B], "cut at {cut}");
            assert_eq!(found(&format!("{B}{}", &A[..cut])), [B], "cut at {cut}");
        }
    }

    #[test]
    fn check_resync_finds_no_entry_inside_another_value() {
        assert!(found(&A[1..]).is_empty());
        assert!(found(&format!("\"data\":[{B},{B}]}}")).is_empty());
        assert!(found(r#"{"type":"text","text":"x"}]}}"#).is_empty());
    }

    #[test]
    fn entries_without_ids_are_known_by_their_type_and_place() {
        let message = r#"{"type":"message","timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":"x"}}"#;
        let undated = r#"{"type":"message","message":{"role":"user","content":"x"}}"#;
        let draft = r#"{"type":"head","parent":3}"#;
        let text = r#"{"type":"text","text":"x"}"#;
        let torn = &message[..70];
        let all = [message, undated, draft];
        assert_eq!(found_in(&all.concat(), true), all);
        assert_eq!(
            found_in(&format!("{torn}{message}{undated}"), true),
            [message, undated]
        );
        assert!(found_in(&format!("{torn}{undated}"), true).is_empty());
        assert!(found_in(&format!("{text}{text}"), true).is_empty());
        // In a file whose entries have ids, only whole records that follow each other.
        assert_eq!(found(&format!("{message}{B}{draft}")), [message, B, draft]);
        assert!(found(&format!("{torn}{message}")).is_empty());
        assert!(found(&format!("{undated}{undated}")).is_empty());
    }

    #[test]
    fn a_hostile_line_takes_no_more_than_its_share() {
        let deep = "{\"type\":\"x\",\"a\":".repeat(200_000);
        assert!(found(&deep).is_empty());
    }

    #[test]
    fn salvage_reads_the_ids_of_a_broken_entry() {
        let id = |text: &str| salvage_ids(text.as_bytes(), 0).id.map(|id| id.to_string());
        assert_eq!(id(&A[..30]).as_deref(), Some("a"));
        assert_eq!(id(&A[5..]).as_deref(), Some("a"));
        assert_eq!(
            id(r#"{"type":"message","message":{"content":[{"id":"call"}]"#),
            None
        );
        assert_eq!(id("garbage"), None);
    }

    #[test]
    fn nesting_ignores_strings() {
        assert_eq!(nesting_depth(br#"{"a":["[[\"[["]}"#), 2);
    }
}
