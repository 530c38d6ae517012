//! Redacts a session: all bytes are searched quickly, and lines that may hold a secret thoroughly.
//!
//! It works on lines, whatever their format or dialect, so that no part of a damaged file is skipped.

use crate::core::entry::{LineNo, Span};
use crate::core::json::Raw;
use crate::core::load::header::is_title_slot;
use crate::core::omp::title::repadded;
use crate::core::plan::copy;
use crate::core::redact::values::Value;
use crate::core::redact::{Finding, Options, Redactor};
use crate::core::store::{ReadAt, resize};
use crate::core::stretches::StretchReader;
use crate::core::text::Text;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::ops::{ControlFlow, Range};
use std::thread;

/// A line that may contain a secret.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    line: LineNo,
    span: Span,
}

/// A secret and the entry that contains it.
#[derive(Clone, Debug)]
pub struct Found {
    /// The entry's id; `None` for the header and for a line without one.
    pub id: Option<Text<'static>>,
    /// The physical line.
    pub line: LineNo,
    /// Its position in the line, its kind and its length.
    pub finding: Finding,
}

/// The result of searching a session.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The secrets, in file order.
    pub found: Vec<Found>,
    /// Signatures, encrypted texts and images.
    pub opaque: usize,
    /// The number of lines that change.
    pub lines: usize,
}

impl Report {
    /// Returns the number of secrets of each kind.
    pub fn kinds(&self) -> BTreeMap<&'static str, usize> {
        let mut kinds = BTreeMap::new();
        for found in &self.found {
            *kinds.entry(found.finding.kind).or_default() += 1;
        }
        kinds
    }
}

/// Finds the secrets of a session, and writes it without them if `out` is given: lines without secrets byte
/// for byte.
///
/// # Errors
/// If reading or writing fails.
pub fn redact(
    source: &dyn ReadAt,
    redactor: &mut Redactor,
    workers: usize,
    mut out: Option<&mut dyn Write>,
) -> io::Result<Report> {
    let candidates = candidates(source, redactor, workers)?;
    let mut bytes = Vec::new();
    for candidate in &candidates {
        read_line(source, candidate.span, &mut bytes)?;
        redactor.notice_placeholders(&bytes);
    }
    let mut report = Report::default();
    let mut written = 0;
    for candidate in &candidates {
        read_line(source, candidate.span, &mut bytes)?;
        let redacted = redactor.line(&bytes);
        report.opaque += redacted.opaque;
        report.lines += usize::from(redacted.line.is_some());
        let id = || Raw::parse(&bytes).ok()?.get_text("id").map(Text::into_owned);
        let id = if redacted.findings.is_empty() { None } else { id() };
        let found = redacted.findings.into_iter();
        report.found.extend(found.map(|finding| Found { id: id.clone(), line: candidate.line, finding }));
        if let (Some(out), Some(line)) = (&mut out, redacted.line) {
            copy(source, between(written, candidate.span.start), *out)?;
            let is_title = candidate.line.0 == 1 && Raw::parse(&bytes).is_ok_and(is_title_slot);
            out.write_all(&if is_title { repadded(&line) } else { line })?;
            written = candidate.span.end();
        }
    }
    if let Some(out) = out {
        copy(source, between(written, source.len()), out)?;
    }
    Ok(report)
}

/// Returns how many of these values are still in a copy: 0, if it is correct.
///
/// # Errors
/// If reading fails.
pub fn left_over(copy: &dyn ReadAt, values: Vec<Value>, workers: usize) -> io::Result<usize> {
    let kinds: Vec<_> = values.iter().map(|value| value.kind).collect();
    let mut redactor = Redactor::new(values, Options { keep_images: true, ..Options::default() });
    let report = redact(copy, &mut redactor, workers, None)?;
    Ok(report.found.iter().filter(|found| kinds.contains(&found.finding.kind)).count())
}

/// Returns the lines that may contain a secret, in file order.
fn candidates(source: &dyn ReadAt, redactor: &Redactor, workers: usize) -> io::Result<Vec<Candidate>> {
    let starts = starts(source, workers)?;
    let ranges: Vec<_> = starts.windows(2).map(|pair| pair[0]..pair[1]).collect();
    let look = |range: Range<u64>| candidates_in(source, redactor, range);
    let parts = std::thread::scope(|scope| {
        // If no thread can be started, this one does the work.
        let start = |range: &Range<u64>| {
            let range = range.clone();
            thread::Builder::new().spawn_scoped(scope, move || look(range)).ok()
        };
        let others: Vec<_> = ranges.iter().skip(1).map(|range| (range, start(range))).collect();
        let first = ranges.first().cloned().map(look);
        let others = others.into_iter().map(|(range, other)| match other {
            Some(other) => other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            None => look(range.clone()),
        });
        first.into_iter().chain(others).collect::<io::Result<Vec<_>>>()
    })?;
    let mut before = 0;
    let mut candidates = Vec::new();
    for (mut part, lines) in parts {
        part.iter_mut().for_each(|candidate| candidate.line.0 += before);
        candidates.append(&mut part);
        before += lines;
    }
    Ok(candidates)
}

/// Returns the offsets of the workers' parts, which start with a line, and the end of the file.
fn starts(source: &dyn ReadAt, workers: usize) -> io::Result<Vec<u64>> {
    const SMALL: u64 = 1 << 20;
    let parts = (source.len() / SMALL).clamp(1, workers.max(1) as u64);
    let mut starts = vec![0];
    for part in 1..parts {
        starts.push(next_line(source, source.len() / parts * part)?);
    }
    starts.push(source.len());
    Ok(starts)
}

/// Returns the offset of the first line that begins at or after `from`.
fn next_line(source: &dyn ReadAt, mut from: u64) -> io::Result<u64> {
    let mut bytes = vec![0; 64 * 1024];
    loop {
        let read = source.read_at(&mut bytes, from)?;
        match memchr::memchr(b'\n', &bytes[..read]) {
            Some(newline) => return Ok(from + newline as u64 + 1),
            None if read == 0 => return Ok(source.len()),
            None => from += read as u64,
        }
    }
}

/// Returns the candidates among the lines that begin in a range, numbered from its start, and the number of
/// lines in it.
fn candidates_in(
    source: &dyn ReadAt,
    redactor: &Redactor,
    range: Range<u64>,
) -> io::Result<(Vec<Candidate>, u32)> {
    let (mut candidates, mut lines) = (Vec::new(), 0);
    let _: ControlFlow<()> = StretchReader::default().read(source, range.start, |stretch| {
        let end = (range.end.saturating_sub(stretch.start)).min(stretch.bytes.len() as u64) as usize;
        let bytes = &stretch.bytes[..end];
        let mut hits = Vec::new();
        redactor.each_candidate(bytes, &mut |line| hits.push((line.start, line.end)));
        hits.sort_unstable();
        hits.dedup();
        let mut counted = 0;
        for (start, end) in hits {
            lines += newlines(&bytes[counted..start]);
            counted = start;
            let span = Span { start: stretch.start + start as u64, len: (end - start) as u64 };
            candidates.push(Candidate { line: LineNo(lines + 1), span });
        }
        lines += newlines(&bytes[counted..]);
        if stretch.start + (stretch.bytes.len() as u64) < range.end {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    })?;
    Ok((candidates, lines))
}

fn newlines(bytes: &[u8]) -> u32 {
    memchr::memchr_iter(b'\n', bytes).count() as u32
}

fn between(start: u64, end: u64) -> Span {
    Span { start, len: end - start }
}

fn read_line(source: &dyn ReadAt, span: Span, bytes: &mut Vec<u8>) -> io::Result<()> {
    resize(bytes, span.len as usize)?;
    source.read_exact_at(bytes, span.start)
}
