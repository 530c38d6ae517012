//! Redacts a session: its lines are searched in parallel, and their secrets numbered in file order.
//!
//! It works on lines, whatever their format or dialect, so that no part of a damaged file is
//! skipped.

use crate::agents::oh_my_pi::title::repad_title_line;
use crate::redact::addresses::collect_emails as collect_addresses;
use crate::redact::{Finds, Redactor, Secret};
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
    /// Returns the secrets, each with all its places, in the order of their first places.
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
    if redactor.search.has_values() && lines.iter().any(|line| line.is_summary) {
        number_secrets(source, redactor, workers)?;
    }
    redactor.number_secrets(finds_to_number(&lines));

    let mut values = BTreeSet::new();
    for line in &lines {
        values.extend(redactor.values_in(&line.finds));
    }
    values.retain(|value| !value.is_ordinary());
    if !values.is_empty() {
        // What looks like an address in a secret is removed along with it.
        let mut removed = BTreeSet::new();
        for value in &values {
            collect_addresses(&value.bytes, &mut removed);
        }
        addresses.retain(|address| !removed.contains(address));

        redactor.search.narrow_with(values.into_iter().collect());
        let mut second_pass = search_session(source, redactor, workers)?.lines;
        second_pass.append(&mut lines);
        // Of two results for a line, the first knows more values.
        second_pass.sort_by_key(|line| line.number);
        second_pass.dedup_by_key(|line| line.number);
        lines = second_pass;
    }

    let mut report = RedactionReport {
        address_count: addresses.len(),
        example_count: searched.examples.len(),
        ..RedactionReport::default()
    };
    // The offset up to which the source was copied.
    let mut copied = 0;
    for mut line in lines {
        let is_clean = line.finds.is_clean();
        for secret in redactor.take_stuck(&mut line.finds) {
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
            copy_range(source, copied..span.start, *out)?;
            line.write_redacted(source, *out)?;
            copied = span.end();
        }
    }
    if let Some(out) = out {
        copy_range(source, copied..source.len(), out)?;
    }
    Ok(report)
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
    redactor.number_secrets(finds_to_number(&searched.lines));
    Ok(())
}

/// Returns what the secrets of lines are numbered by: what was found in each, and whether it is a
/// summary.
fn finds_to_number(lines: &[SearchedLine]) -> impl Iterator<Item = (&Finds, bool)> + Clone {
    lines.iter().map(|line| (&line.finds, line.is_summary))
}

/// Searches a copy again. Adds to the report where text remains that is a secret in one place and
/// ordinary in another, and returns what else is left: nothing, if the copy is correct.
pub fn find_remaining(
    copy: &dyn ReadAt,
    redactor: &mut Redactor,
    report: &mut RedactionReport,
    workers: usize,
) -> io::Result<Vec<FoundSecret>> {
    redactor.search.narrow_with(redactor.found_values());
    let again = redact_session(copy, redactor, workers, None)?;
    let all = again.found.into_iter().chain(again.unreplaceable);
    let (kept, left) = all.partition(|found| found.secret.is_ordinary);
    report.kept_ordinary = kept;
    Ok(left)
}

/// The lines of a session, or of a part of it, that have something to remove, or placeholders.
#[derive(Debug, Default)]
struct SearchedPart {
    lines: Vec<SearchedLine>,
    /// The number of physical lines.
    count: u32,
    /// The e-mail addresses.
    addresses: BTreeSet<Vec<u8>>,
    /// The keys that documentation uses as examples.
    examples: BTreeSet<Vec<u8>>,
}

/// A line, numbered from the start of its part.
#[derive(Debug)]
struct SearchedLine {
    number: LineNo,
    span: Span,
    id: Option<Text<'static>>,
    /// Whether it is a compaction or a branch summary.
    is_summary: bool,
    finds: Finds,
}

impl SearchedLine {
    fn locate_secret(&self, secret: Secret) -> FoundSecret {
        FoundSecret {
            id: self.id.clone(),
            line: self.number,
            secret,
        }
    }

    /// Writes the line without its secrets. A title line keeps its length.
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

/// Searches a session.
fn search_session(
    source: &dyn ReadAt,
    redactor: &Redactor,
    workers: usize,
) -> io::Result<SearchedPart> {
    let mut all = SearchedPart::default();
    let buffers = Pool::new(PageBuffer::default);
    let search_part = |range| buffers.with(|buffer| search_range(source, redactor, range, buffer));
    in_order(chunk_ranges(source, 0), workers, search_part, |part| {
        let mut part = part?;
        for line in &mut part.lines {
            line.number.0 += all.count;
        }
        all.lines.append(&mut part.lines);
        all.addresses.append(&mut part.addresses);
        all.examples.append(&mut part.examples);
        all.count += part.count;
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
        let mut counted = 0;
        redactor.search.each_line(bytes, &mut |line, mut finds| {
            searched.examples.append(&mut finds.examples);
            if finds.is_clean() && !finds.has_secrets() {
                return;
            }
            searched.count += count_newlines(&bytes[counted..line.start]);
            counted = line.start;

            // Only a line with secrets is parsed: the report names its entry.
            let entry = if finds.has_secrets() {
                Raw::parse(&bytes[line.clone()]).unwrap_or(Raw::NULL)
            } else {
                Raw::NULL
            };
            let kind = Kind::of(entry.get("type"));
            searched.lines.push(SearchedLine {
                number: LineNo(searched.count + 1),
                span: Span {
                    start: start + line.start as u64,
                    len: line.len() as u64,
                },
                id: entry.get_text("id").map(Text::into_owned),
                is_summary: matches!(kind, Kind::Compaction | Kind::BranchSummary),
                finds,
            });
        });
        searched.count += count_newlines(&bytes[counted..]);
        collect_addresses(bytes, &mut searched.addresses);
        ControlFlow::Continue(())
    })?;
    Ok(searched)
}
