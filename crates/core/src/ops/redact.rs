//! Redacts a session: its lines are searched in parallel, and their secrets numbered in file order.
//!
//! It works on lines, whatever their format or dialect, so that no part of a damaged file is
//! skipped.

use crate::agents::oh_my_pi::title::repad_title_line;
use crate::redact::addresses::collect_emails;
use crate::redact::values::SecretValue;
use crate::redact::{Finds, LineToNumber, Redactor, Secret};
use crate::session::entry::{Kind, LineNo, Span};
use crate::session::read::header::is_title_slot;
use crate::session::read::line_chunks::{LineChunk, chunk_ranges, count_newlines, read_chunks};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::workers::{Pool, in_order};
use pisess_store::{PageBuffer, ReadAt, copy_range};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::{ControlFlow, Range};

/// A secret and the entry that contains it.
#[derive(Clone, Debug)]
pub struct FoundSecret {
    /// The entry's id; `None` for the header and for a line without one.
    pub id: Option<Text<'static>>,
    /// The physical line.
    pub line: LineNo,
    /// The field in which it is, its kind, its placeholder and its length.
    pub secret: Secret,
}

/// The result of searching a session.
#[derive(Clone, Debug, Default)]
pub struct RedactionReport {
    /// The secrets, in file order.
    pub found: Vec<FoundSecret>,
    /// The number of signatures, encrypted texts and images to remove.
    pub opaque_count: usize,
    /// The number of lines that change.
    pub changed_lines: usize,
    /// Secrets that cannot be replaced, because they are not in a string.
    pub unreplaceable: Vec<FoundSecret>,
    /// Secrets whose text may be ordinary elsewhere, where they remain.
    pub kept_ordinary: Vec<FoundSecret>,
    /// The number of different e-mail addresses, which are kept.
    pub address_count: usize,
    /// The number of different keys that documentation uses as examples, which are kept.
    pub example_count: usize,
}

impl RedactionReport {
    /// Returns the places of each secret, in the order of their first places. Two places have the
    /// same secret if they got the same placeholder.
    pub fn group_by_secret(&self) -> Vec<Vec<&FoundSecret>> {
        let mut index_by_placeholder: HashMap<&str, usize> = HashMap::default();
        let mut secrets: Vec<Vec<&FoundSecret>> = Vec::new();
        for found in &self.found {
            let placeholder = &*found.secret.placeholder;
            match index_by_placeholder.get(placeholder) {
                Some(&index) => secrets[index].push(found),
                None => {
                    index_by_placeholder.insert(placeholder, secrets.len());
                    secrets.push(vec![found]);
                }
            }
        }
        secrets
    }

    /// Returns the number of secrets of each kind.
    pub fn count_by_kind(&self) -> BTreeMap<&'static str, usize> {
        let mut kinds = BTreeMap::new();
        for places in self.group_by_secret() {
            *kinds.entry(places[0].secret.kind).or_default() += 1;
        }
        kinds
    }
}

/// Finds the secrets of a session. If `out` is given, writes the session without them; lines with
/// nothing to remove are copied byte for byte. A secret found in one place is removed in all
/// places, in every spelling.
pub fn redact_session(
    source: &dyn ReadAt,
    redactor: &mut Redactor,
    workers: usize,
    mut out: Option<&mut dyn Write>,
) -> io::Result<RedactionReport> {
    let searched = search_session(source, redactor, workers)?;
    let mut lines = searched.lines;
    let mut addresses = searched.addresses;

    // The placeholders in a built-in summary have the numbers that the rules alone give. If values
    // are searched for as well, these numbers are given first.
    if redactor.search.has_values() && lines.iter().any(|line| line.is_summary) {
        number_secrets(source, redactor, workers)?;
    }
    redactor.number_secrets(lines_to_number(&lines));

    let values = values_to_remove_everywhere(redactor, &lines);
    if !values.is_empty() {
        remove_addresses_in(&values, &mut addresses);
        redactor.search.narrow_with(values.into_iter().collect());
        let lines_with_values = search_session(source, redactor, workers)?.lines;
        lines = merge_lines(lines_with_values, lines);
    }

    let mut report = RedactionReport {
        address_count: addresses.len(),
        example_count: searched.examples.len(),
        ..RedactionReport::default()
    };
    // The offset up to which the source was copied.
    let mut copied_end = 0;
    for mut line in lines {
        // Asked first, because the secrets are taken from the line below.
        let is_clean = line.finds.is_clean();
        for secret in redactor.take_irreplaceable(&mut line.finds) {
            report.unreplaceable.push(line.locate_secret(secret));
        }
        for secret in redactor.plan_replacements(&mut line.finds) {
            report.found.push(line.locate_secret(secret));
        }
        if is_clean {
            continue;
        }
        report.opaque_count += line.finds.opaque_count;
        report.changed_lines += 1;
        if let Some(out) = &mut out {
            let span = line.span;
            copy_range(source, copied_end..span.start, *out)?;
            line.write_redacted(source, *out)?;
            copied_end = span.end();
        }
    }
    if let Some(out) = out {
        copy_range(source, copied_end..source.len(), out)?;
    }
    Ok(report)
}

/// Returns the secrets in these lines that are removed from all lines. Secrets whose text may be
/// ordinary elsewhere are removed only where they were found.
fn values_to_remove_everywhere(
    redactor: &Redactor,
    lines: &[SearchedLine],
) -> BTreeSet<SecretValue> {
    let mut values = BTreeSet::new();
    for line in lines {
        values.extend(redactor.values_in(&line.finds));
    }
    values.retain(|value| !value.is_ordinary());
    values
}

/// Removes from `addresses` what looks like an e-mail address but is part of one of these secrets.
/// The report lists the addresses that are kept, and such an address is not kept.
fn remove_addresses_in(values: &BTreeSet<SecretValue>, addresses: &mut BTreeSet<Vec<u8>>) {
    let mut in_secrets = BTreeSet::new();
    for value in values {
        collect_emails(&value.bytes, &mut in_secrets);
    }
    addresses.retain(|address| !in_secrets.contains(address));
}

/// Merges the lines found by a second search into those of the first, in file order. Of two results
/// for one line, the second search's is kept: it knows more values.
fn merge_lines(second: Vec<SearchedLine>, mut first: Vec<SearchedLine>) -> Vec<SearchedLine> {
    let mut merged = second;
    merged.append(&mut first);
    // The sort is stable, so a line of the second search precedes that of the first.
    merged.sort_by_key(|line| line.number);
    merged.dedup_by_key(|line| line.number);
    merged
}

/// Numbers the secrets that the rules find in a session, as the placeholders of its copy are
/// numbered.
///
/// # Errors
/// If reading fails.
pub fn number_secrets(
    source: &dyn ReadAt,
    redactor: &mut Redactor,
    workers: usize,
) -> io::Result<()> {
    let searched = search_session(source, &Redactor::default(), workers)?;
    redactor.number_secrets(lines_to_number(&searched.lines));
    Ok(())
}

/// Returns the input of [`Redactor::number_secrets`].
fn lines_to_number(lines: &[SearchedLine]) -> impl Iterator<Item = LineToNumber<'_>> + Clone {
    lines.iter().map(|line| LineToNumber {
        finds: &line.finds,
        is_summary: line.is_summary,
    })
}

/// Searches a redacted copy again for the secrets that were removed from it.
///
/// Text that is a secret in one place and ordinary in another remains on purpose: it is reported as
/// `kept_ordinary`. Returns what else remains: nothing, if the copy is correct.
pub fn find_remaining(
    copy: &dyn ReadAt,
    redactor: &mut Redactor,
    report: &mut RedactionReport,
    workers: usize,
) -> io::Result<Vec<FoundSecret>> {
    // What the rules would find anew in the copy is of no interest here: only the secrets that were
    // removed are searched for, as values.
    redactor.search.narrow_with(redactor.found_values());
    let second_report = redact_session(copy, redactor, workers, None)?;
    let mut remaining = Vec::new();
    report.kept_ordinary = Vec::new();
    let still_there = second_report.found.into_iter();
    for found in still_there.chain(second_report.unreplaceable) {
        if found.secret.is_ordinary {
            report.kept_ordinary.push(found);
        } else {
            remaining.push(found);
        }
    }
    Ok(remaining)
}

/// What was found in a session, or in a part of it.
#[derive(Debug, Default)]
struct SearchedPart {
    /// The lines with something to remove, or with placeholders, in file order.
    lines: Vec<SearchedLine>,
    /// The number of physical lines, also of those that have neither.
    line_count: u32,
    /// The e-mail addresses.
    addresses: BTreeSet<Vec<u8>>,
    /// The keys that documentation uses as examples.
    examples: BTreeSet<Vec<u8>>,
}

impl SearchedPart {
    /// Adds a line at an offset in the file. All lines of the part before it were counted.
    fn add_line(&mut self, line: &[u8], offset: u64, finds: Finds) {
        // Only a line with secrets is parsed: the report names its entry.
        let entry = if finds.has_secrets() {
            Raw::parse(line).unwrap_or(Raw::NULL)
        } else {
            Raw::NULL
        };
        let kind = Kind::from_member(entry.get("type"));
        self.lines.push(SearchedLine {
            number: LineNo(self.line_count + 1),
            span: Span {
                start: offset,
                len: line.len() as u64,
            },
            id: entry.get_text("id").map(Text::into_owned),
            is_summary: matches!(kind, Kind::Compaction | Kind::BranchSummary),
            finds,
        });
    }

    /// Adds what was found in the part of the file that follows.
    fn append_part(&mut self, mut next: SearchedPart) {
        for line in &mut next.lines {
            line.number.0 += self.line_count;
        }
        self.lines.append(&mut next.lines);
        self.addresses.append(&mut next.addresses);
        self.examples.append(&mut next.examples);
        self.line_count += next.line_count;
    }
}

/// A line of a [`SearchedPart`].
#[derive(Debug)]
struct SearchedLine {
    /// Its number, counted from the start of the part.
    number: LineNo,
    span: Span,
    /// The id of its entry; `None` if it has none, or if no secret is in the line.
    id: Option<Text<'static>>,
    /// Whether it is a compaction or a branch summary.
    is_summary: bool,
    finds: Finds,
}

impl SearchedLine {
    /// Returns a secret of this line, as it is reported.
    fn locate_secret(&self, secret: Secret) -> FoundSecret {
        FoundSecret {
            id: self.id.clone(),
            line: self.number,
            secret,
        }
    }

    /// Writes the line without its secrets. A title line keeps its length, because oh-my-pi
    /// overwrites it in place.
    fn write_redacted(self, source: &dyn ReadAt, out: &mut dyn Write) -> io::Result<()> {
        let bytes = source.read_range(self.span.range())?;
        let redacted = self.finds.apply_to(&bytes);
        let is_title = self.number.0 == 1 && Raw::parse(&bytes).is_ok_and(is_title_slot);
        if is_title {
            out.write_all(&repad_title_line(&redacted))
        } else {
            out.write_all(&redacted)
        }
    }
}

/// Searches a session, in parts on up to `workers` threads.
fn search_session(
    source: &dyn ReadAt,
    redactor: &Redactor,
    workers: usize,
) -> io::Result<SearchedPart> {
    let mut all = SearchedPart::default();
    let buffers = Pool::new(PageBuffer::default);
    let search_part = |range| buffers.with(|buffer| search_range(source, redactor, range, buffer));
    // The parts arrive in file order, whichever thread searched them.
    in_order(chunk_ranges(source, 0), workers, search_part, |part| {
        all.append_part(part?);
        Ok::<(), io::Error>(())
    })?;
    Ok(all)
}

/// Searches the lines that begin in a range.
fn search_range(
    source: &dyn ReadAt,
    redactor: &Redactor,
    range: Range<u64>,
    buffer: &mut PageBuffer,
) -> io::Result<SearchedPart> {
    let mut searched = SearchedPart::default();
    let _: ControlFlow<()> = read_chunks(buffer, source, range, |LineChunk { start, bytes }| {
        // The offset in the chunk up to which lines were counted.
        let mut counted_end = 0;
        redactor.search.each_line(bytes, &mut |line, mut finds| {
            searched.examples.append(&mut finds.examples);
            if finds.is_clean() && !finds.has_secrets() {
                return;
            }
            searched.line_count += count_newlines(&bytes[counted_end..line.start]);
            counted_end = line.start;
            searched.add_line(&bytes[line.clone()], start + line.start as u64, finds);
        });
        searched.line_count += count_newlines(&bytes[counted_end..]);
        collect_emails(bytes, &mut searched.addresses);
        ControlFlow::Continue(())
    })?;
    Ok(searched)
}
