//! Redacts a session: its lines are searched in parallel, and their secrets numbered in file order.
//!
//! It works on lines, whatever their format or dialect, so that no part of a damaged file is
//! skipped.

use crate::agents::oh_my_pi::title::repadded;
use crate::redact::addresses::addresses as collect_addresses;
use crate::redact::{Finds, Redactor, Secret};
use crate::session::entry::{Kind, LineNo, Span};
use crate::session::read::header::is_title_slot;
use crate::session::read::line_chunks::{LineChunk, newlines, ranges, read_chunks};
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
pub struct Found {
    /// The entry's id; `None` for the header and for a line without one.
    pub id: Option<Text<'static>>,
    /// The physical line.
    pub line: LineNo,
    /// The field in which it is, its kind, its placeholder and its length.
    pub secret: Secret,
}

/// The result of searching a session.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The secrets, in file order.
    pub found: Vec<Found>,
    /// The number of signatures, encrypted texts and images to remove.
    pub opaque: usize,
    /// The number of lines that change.
    pub lines: usize,
    /// Secrets that cannot be replaced, because they are not in a string.
    pub stuck: Vec<Found>,
    /// Secrets whose text may be ordinary elsewhere, where they remain.
    pub kept: Vec<Found>,
    /// The number of different e-mail addresses, which are kept.
    pub addresses: usize,
    /// The number of different keys that documentation uses as examples, which are kept.
    pub examples: usize,
}

impl Report {
    /// Returns the secrets, each with all its places, in the order of their first places.
    pub fn secrets(&self) -> Vec<Vec<&Found>> {
        let mut numbers: HashMap<&str, usize> = HashMap::default();
        let mut secrets: Vec<Vec<&Found>> = Vec::new();
        for found in &self.found {
            let number = *numbers
                .entry(&found.secret.placeholder)
                .or_insert(secrets.len());
            match secrets.get_mut(number) {
                Some(places) => places.push(found),
                None => secrets.push(vec![found]),
            }
        }
        secrets
    }

    /// Returns the number of secrets of each kind.
    pub fn kinds(&self) -> BTreeMap<&'static str, usize> {
        let mut kinds = BTreeMap::new();
        for places in self.secrets() {
            *kinds.entry(places[0].secret.kind).or_default() += 1;
        }
        kinds
    }
}

/// Finds the secrets of a session. If `out` is given, writes the session without them; lines with
/// nothing to remove are copied byte for byte. A secret found in one place is removed in all
/// places, in every spelling.
pub fn redact(
    source: &dyn ReadAt,
    redactor: &mut Redactor,
    workers: usize,
    out: Option<&mut dyn Write>,
) -> io::Result<Report> {
    let Searched {
        mut lines,
        mut addresses,
        examples,
        ..
    } = search(source, redactor, workers)?;
    if redactor.search.has_values() && lines.iter().any(|line| line.is_summary) {
        number(source, redactor, workers)?;
    }
    redactor.number(numberable(&lines));
    let found: BTreeSet<_> = lines
        .iter()
        .flat_map(|line| redactor.values(&line.finds))
        .collect();
    let found: Vec<_> = found
        .into_iter()
        .filter(|value| !value.is_ordinary())
        .collect();
    if !found.is_empty() {
        // What looks like an address in a secret is removed along with it.
        let mut removed = BTreeSet::new();
        for value in &found {
            collect_addresses(&value.bytes, &mut removed);
        }
        addresses.retain(|address| !removed.contains(address));
        redactor.search.extend(found);
        let mut again = search(source, redactor, workers)?.lines;
        again.append(&mut lines);
        // Of two results for a line, the first knows more values.
        again.sort_by_key(|line| line.number);
        again.dedup_by_key(|line| line.number);
        lines = again;
    }
    let mut report = Report {
        addresses: addresses.len(),
        examples: examples.len(),
        ..Report::default()
    };
    let (mut out, mut written) = (out, 0);
    for mut line in lines {
        let (number, is_clean) = (line.number, line.finds.is_clean());
        let found = |secret: Secret| Found {
            id: line.id.clone(),
            line: number,
            secret,
        };
        report
            .stuck
            .extend(redactor.stuck(&mut line.finds).into_iter().map(found));
        report
            .found
            .extend(redactor.redact(&mut line.finds).into_iter().map(found));
        if is_clean {
            continue;
        }
        report.opaque += line.finds.opaque;
        report.lines += 1;
        if let Some(out) = &mut out {
            copy_range(source, written..line.span.start, *out)?;
            let bytes = source.read_range(line.span.range())?;
            let redacted = line.finds.without(&bytes);
            let is_title = number.0 == 1 && Raw::parse(&bytes).is_ok_and(is_title_slot);
            out.write_all(&if is_title {
                repadded(&redacted)
            } else {
                redacted
            })?;
            written = line.span.end();
        }
    }
    if let Some(out) = out {
        copy_range(source, written..source.len(), out)?;
    }
    Ok(report)
}

/// Numbers the secrets that the rules find in a session, as the placeholders of its copy are
/// numbered.
///
/// # Errors
/// If reading fails.
pub fn number(source: &dyn ReadAt, redactor: &mut Redactor, workers: usize) -> io::Result<()> {
    redactor.number(numberable(
        &search(source, &Redactor::default(), workers)?.lines,
    ));
    Ok(())
}

fn numberable(lines: &[Line]) -> impl Iterator<Item = (&Finds, bool)> + Clone {
    lines.iter().map(|line| (&line.finds, line.is_summary))
}

/// Searches a copy again. Adds to the report where text remains that is a secret in one place and
/// ordinary in another, and returns what else is left: nothing, if the copy is correct.
pub fn left_over(
    copy: &dyn ReadAt,
    redactor: &mut Redactor,
    report: &mut Report,
    workers: usize,
) -> io::Result<Vec<Found>> {
    redactor.search.extend(redactor.found());
    let again = redact(copy, redactor, workers, None)?;
    let all = again.found.into_iter().chain(again.stuck);
    let (kept, left) = all.partition(|found| found.secret.is_ordinary);
    report.kept = kept;
    Ok(left)
}

/// The lines of a session, or of a part of it, that have something to remove, or placeholders.
#[derive(Debug, Default)]
struct Searched {
    lines: Vec<Line>,
    /// The number of physical lines.
    count: u32,
    /// The e-mail addresses.
    addresses: BTreeSet<Vec<u8>>,
    /// The keys that documentation uses as examples.
    examples: BTreeSet<Vec<u8>>,
}

/// A line, numbered from the start of its part.
#[derive(Debug)]
struct Line {
    number: LineNo,
    span: Span,
    id: Option<Text<'static>>,
    /// Whether it is a compaction or a branch summary.
    is_summary: bool,
    finds: Finds,
}

/// Searches a session.
fn search(source: &dyn ReadAt, redactor: &Redactor, workers: usize) -> io::Result<Searched> {
    let mut all = Searched::default();
    let buffers = Pool::new(PageBuffer::default);
    let look = |range| buffers.with(|buffer| search_range(source, redactor, range, buffer));
    in_order(ranges(source, 0), workers, look, |part| {
        let mut part = part?;
        part.lines
            .iter_mut()
            .for_each(|line| line.number.0 += all.count);
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
) -> io::Result<Searched> {
    let mut searched = Searched::default();
    let _: ControlFlow<()> = read_chunks(buffer, source, range, |LineChunk { start, bytes }| {
        let mut counted = 0;
        redactor.search.each_line(bytes, &mut |line, mut finds| {
            searched.examples.append(&mut finds.examples);
            if finds.is_clean() && !finds.has_secrets() {
                return;
            }
            searched.count += newlines(&bytes[counted..line.start]);
            counted = line.start;
            let text = if finds.has_secrets() {
                &bytes[line.clone()]
            } else {
                b"null"
            };
            let entry = Raw::parse(text).unwrap_or(Raw::NULL);
            let kind = Kind::of(entry.get("type"));
            searched.lines.push(Line {
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
        searched.count += newlines(&bytes[counted..]);
        collect_addresses(bytes, &mut searched.addresses);
        ControlFlow::Continue(())
    })?;
    Ok(searched)
}
