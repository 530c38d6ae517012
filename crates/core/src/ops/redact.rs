//! Redacts a session. Lines are searched in parallel; secrets are numbered in file order.
//!
//! The search does not depend on the format or the agent of the lines, so that no part of a damaged
//! file is skipped.

mod across_sessions;

pub use across_sessions::{ValueFinder, recognize_secrets};

use crate::agents::oh_my_pi::title::repad_title_line;
use crate::redact::addresses::collect_emails;
use crate::redact::values::SecretValue;
use crate::redact::{Finds, LineToNumber, Redactor, Secret, SecretNumber};
use crate::session::entry::{Kind, LineNo, Span};
use crate::session::read::header::is_title_slot;
use crate::session::read::line_chunks::{LineChunk, chunk_ranges, count_newlines, read_chunks};
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::workers::{Pool, in_order};
use pisess_store::{PageBuffer, ReadAt, copy_range};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;

/// A secret and the entry that contains it.
#[derive(Clone, Debug)]
pub struct FoundSecret {
    /// The `id` on the line; `None` if the line has none. Shared by all secrets of the line.
    pub id: Option<Arc<Text<'static>>>,
    /// The physical line.
    pub line: LineNo,
    /// The field, the kind, the placeholder and the length of the secret.
    pub secret: Secret,
}

/// The result of searching a session.
#[derive(Clone, Debug, Default)]
pub struct RedactionReport {
    /// The secrets, in file order.
    pub found: Vec<FoundSecret>,
    /// The number of signatures, encrypted texts and images to remove.
    pub opaque_count: usize,
    /// The number of changed lines.
    pub changed_lines: usize,
    /// Secrets that cannot be replaced, because they are not in a JSON string.
    pub unreplaceable: Vec<FoundSecret>,
    /// Texts that are a secret in one place but may be ordinary in others, where they remain.
    pub kept_ordinary: Vec<FoundSecret>,
    /// The e-mail addresses, which are kept.
    pub addresses: BTreeSet<Vec<u8>>,
    /// The example keys from documentation, which are kept.
    pub examples: BTreeSet<Vec<u8>>,
}

impl RedactionReport {
    /// Groups the occurrences by secret, in the order of the first occurrence of each. The number
    /// of a secret is in its placeholder, and is the same in all its occurrences.
    pub fn group_by_secret(&self) -> Vec<Vec<&FoundSecret>> {
        let mut index_by_number: HashMap<SecretNumber, usize> = HashMap::default();
        let mut secrets: Vec<Vec<&FoundSecret>> = Vec::new();
        for found in &self.found {
            let number = found.secret.number;
            match index_by_number.get(&number) {
                Some(&index) => secrets[index].push(found),
                None => {
                    index_by_number.insert(number, secrets.len());
                    secrets.push(vec![found]);
                }
            }
        }
        secrets
    }

    /// Whether the session has secrets, also if none of them can be replaced.
    pub fn has_secrets(&self) -> bool {
        !self.found.is_empty() || !self.unreplaceable.is_empty()
    }

    /// Returns the number of distinct secrets that can be replaced.
    pub fn secret_count(&self) -> usize {
        self.count_by_kind().values().sum()
    }

    /// Returns the number of distinct secrets of each kind.
    pub fn count_by_kind(&self) -> BTreeMap<&'static str, usize> {
        let mut kinds = BTreeMap::new();
        let mut counted: HashSet<SecretNumber> = HashSet::default();
        for found in &self.found {
            let number = found.secret.number;
            if counted.insert(number) {
                *kinds.entry(number.kind).or_default() += 1;
            }
        }
        kinds
    }
}

impl RedactionReport {
    /// Numbers the secrets of the next line, and adds them to the report. The line no longer has
    /// them: those that can be replaced become planned replacements, the others are dropped.
    fn add_secrets_of(&mut self, line: &mut SearchedLine, redactor: &mut Redactor) {
        let place = line.place.clone();
        // In this order, because both give numbers to secrets.
        redactor.take_irreplaceable(&mut line.finds, &mut |secret| {
            self.unreplaceable.push(place.locate_secret(secret));
        });
        redactor.plan_replacements(&mut line.finds, &mut |secret| {
            self.found.push(place.locate_secret(secret));
        });
    }
}

/// Finds the secrets of a session. If `out` is given, writes the session without them; lines
/// without secrets are copied byte for byte. A secret that is found in one place is removed in all
/// places, whatever its encoding there.
pub fn redact_session(
    source: &dyn ReadAt,
    redactor: &mut Redactor,
    workers: usize,
    out: Option<&mut dyn Write>,
) -> io::Result<RedactionReport> {
    let mut copy = out.map(|out| RedactedCopy::new(source, out));
    let report = report_lines(source, redactor, workers, &mut |line| match &mut copy {
        Some(copy) => copy.write_up_to_redacted(&line),
        None => Ok(()),
    })?;
    if let Some(copy) = copy {
        copy.finish()?;
    }
    Ok(report)
}

/// The secrets of a session, and what its copy without them needs.
pub struct RedactionPlan {
    /// The secrets, with their numbers.
    pub report: RedactionReport,
    /// The lines to change, in file order.
    lines: Vec<SearchedLine>,
}

impl RedactionPlan {
    /// Finds the secrets of a session, as [`redact_session`] does, and keeps the lines that have
    /// them: the copy needs no further search.
    pub fn new(
        source: &dyn ReadAt,
        redactor: &mut Redactor,
        workers: usize,
    ) -> io::Result<RedactionPlan> {
        let mut lines = Vec::new();
        let report = report_lines(source, redactor, workers, &mut |line| {
            lines.push(line);
            Ok(())
        })?;
        Ok(RedactionPlan { report, lines })
    }

    /// Returns the lines to change, in file order.
    pub(super) fn changed_lines(&self) -> impl Iterator<Item = ChangedLine<'_>> {
        self.lines.iter().map(|line| ChangedLine {
            number: line.number(),
            span: line.span,
            finds: &line.finds,
        })
    }

    /// Writes the session without its secrets. `source` is the session that was searched.
    pub fn write_copy(&self, source: &dyn ReadAt, out: &mut dyn Write) -> io::Result<()> {
        let mut copy = RedactedCopy::new(source, out);
        for line in &self.lines {
            copy.write_up_to_redacted(line)?;
        }
        copy.finish()
    }
}

/// A line to change, whose replacements are planned.
pub(super) struct ChangedLine<'p> {
    pub number: LineNo,
    pub span: Span,
    pub finds: &'p Finds,
}

/// Finds the secrets of a session, and calls `visit_changed` with each line from which something is
/// removed, in file order, after its replacements are planned.
fn report_lines(
    source: &dyn ReadAt,
    redactor: &mut Redactor,
    workers: usize,
    visit_changed: &mut dyn FnMut(SearchedLine) -> io::Result<()>,
) -> io::Result<RedactionReport> {
    let searched = search_in_two_passes(source, redactor, workers)?;
    let mut report = RedactionReport {
        addresses: searched.addresses,
        examples: searched.examples,
        ..RedactionReport::default()
    };
    for mut line in searched.lines {
        report.add_secrets_of(&mut line, redactor);
        // A line is clean, too, if all its secrets are irreplaceable: it is copied unchanged.
        if line.finds.is_clean() {
            continue;
        }
        report.opaque_count += line.finds.opaque_count;
        report.changed_lines += 1;
        visit_changed(line)?;
    }
    Ok(report)
}

/// A copy of a session in which some lines are redacted. It is written from the start to the end.
struct RedactedCopy<'c> {
    source: &'c dyn ReadAt,
    out: &'c mut dyn Write,
    /// The offset in the source up to which bytes were copied.
    copied_end: u64,
}

impl<'c> RedactedCopy<'c> {
    fn new(source: &'c dyn ReadAt, out: &'c mut dyn Write) -> RedactedCopy<'c> {
        RedactedCopy {
            source,
            out,
            copied_end: 0,
        }
    }

    /// Copies the bytes before the next line to redact, then writes this line without its secrets.
    /// Lines must be given in file order.
    fn write_up_to_redacted(&mut self, line: &SearchedLine) -> io::Result<()> {
        let span = line.span;
        copy_range(self.source, self.copied_end..span.start, self.out)?;
        line.write_redacted(self.source, self.out)?;
        self.copied_end = span.end();
        Ok(())
    }

    /// Copies the bytes after the last redacted line.
    fn finish(self) -> io::Result<()> {
        copy_range(self.source, self.copied_end..self.source.len(), self.out)
    }
}

/// Searches a session in two passes, and numbers the secrets in `redactor`.
///
/// The first pass finds what the rules recognize, and the values: texts that `redactor` searches
/// for, wherever they are. The second pass has the secrets of the first as values, and so finds
/// them in places where no rule recognizes them: `TOKEN=abc…` shows that `abc…` is a secret.
///
/// Afterwards, the search of `redactor` is narrow: it has these secrets as values, and skips lines
/// without a value, a home directory or a name (see `SecretSearch::narrow_with`).
fn search_in_two_passes(
    source: &dyn ReadAt,
    redactor: &mut Redactor,
    workers: usize,
) -> io::Result<SearchedPart> {
    let mut searched = search_all_lines(source, redactor, workers)?;
    number_found_secrets(source, redactor, &searched.lines, workers)?;

    let found_values = values_to_remove_everywhere(redactor, &searched.lines);
    if found_values.is_empty() {
        return Ok(searched);
    }
    remove_addresses_in(&found_values, &mut searched.addresses);

    // All other secrets are known from the first pass, so the second searches only lines with one
    // of these values.
    redactor.search.narrow_with(found_values);
    let mut merge = LineMerge::new(searched.lines);
    search_session(source, redactor, workers, &mut |part| {
        for line in part.lines {
            merge.add_line(line);
        }
    })?;
    searched.lines = merge.finish();
    Ok(searched)
}

/// Searches a session once, and returns the results for all of its lines.
fn search_all_lines(
    source: &dyn ReadAt,
    redactor: &Redactor,
    workers: usize,
) -> io::Result<SearchedPart> {
    let mut searched = SearchedPart::default();
    search_session(source, redactor, workers, &mut |part| {
        searched.append_part(part);
    })?;
    Ok(searched)
}

/// Numbers the secrets that were found in `lines`, the lines of a session in file order. The number
/// of a secret is in its placeholder, as in `[REDACTED:github-pat#1]`.
///
/// A summary that pisess has built already has placeholders, whose numbers are those that the rules
/// alone give. The numbers of the same secrets must not differ from these. But `redactor` may also
/// search for values, which get numbers as well, and raise those of the secrets after them. Then
/// the secrets of the rules are numbered first, and the values get the numbers after theirs.
fn number_found_secrets(
    source: &dyn ReadAt,
    redactor: &mut Redactor,
    lines: &[SearchedLine],
    workers: usize,
) -> io::Result<()> {
    let has_rules_and_values = redactor.search.applies_rules() && redactor.search.has_values();
    let has_summary = lines.iter().any(|line| line.is_summary);
    if has_rules_and_values && has_summary {
        number_secrets(source, redactor, workers)?;
    }
    // A secret that has a number keeps it.
    redactor.number_secrets(lines_to_number(lines));
    Ok(())
}

/// Returns the secrets in these lines that are to be removed from all lines, each of them once. A
/// secret whose text may be ordinary elsewhere is removed only where it was found, so it is left
/// out.
fn values_to_remove_everywhere(redactor: &Redactor, lines: &[SearchedLine]) -> Vec<SecretValue> {
    let mut values = Vec::new();
    for line in lines {
        values.extend(redactor.values_in(&line.finds));
    }
    values.retain(|value| !value.is_ordinary());
    values.sort_unstable();
    values.dedup();
    values.shrink_to_fit();
    values
}

/// Removes the addresses that are part of one of these secrets. `addresses` counts those that are
/// kept, and these are redacted together with the secret.
fn remove_addresses_in(values: &[SecretValue], addresses: &mut BTreeSet<Vec<u8>>) {
    let mut in_secrets = BTreeSet::new();
    for value in values {
        collect_emails(&value.bytes, &mut in_secrets);
    }
    addresses.retain(|address| !in_secrets.contains(address));
}

/// Merges the lines of two searches of the same session. If both have a line, the result of the
/// second search is kept, because it knew more values.
///
/// The result of the first search is dropped at once, because every line of a session may have a
/// secret.
struct LineMerge {
    /// The lines of the first search, in file order, some of which were replaced.
    lines: Vec<SearchedLine>,
    /// The index of the first line that the second search may still replace.
    next_index: usize,
    /// The lines that only the second search has.
    other_lines: Vec<SearchedLine>,
}

impl LineMerge {
    fn new(first_lines: Vec<SearchedLine>) -> LineMerge {
        LineMerge {
            lines: first_lines,
            next_index: 0,
            other_lines: Vec::new(),
        }
    }

    /// Adds the next line of the second search. The lines must be added in file order.
    fn add_line(&mut self, line: SearchedLine) {
        let lines_before = &self.lines[self.next_index..];
        self.next_index += lines_before.partition_point(|first| first.number() < line.number());
        match self.lines.get_mut(self.next_index) {
            Some(first) if first.number() == line.number() => *first = line,
            _ => self.other_lines.push(line),
        }
    }

    /// Returns the lines of both searches, in file order.
    fn finish(self) -> Vec<SearchedLine> {
        let mut lines = self.lines;
        if !self.other_lines.is_empty() {
            lines.extend(self.other_lines);
            lines.sort_by_key(SearchedLine::number);
        }
        lines
    }
}

/// Gives the secrets that the rules find in a session their numbers, which `redactor` keeps. These
/// are the numbers that the placeholders of its redacted copy have.
///
/// The values, which are texts that `redactor` searches for besides, get no number here.
///
/// # Errors
/// If reading fails.
pub fn number_secrets(
    source: &dyn ReadAt,
    redactor: &mut Redactor,
    workers: usize,
) -> io::Result<()> {
    // A default redactor searches for no values: it applies the rules alone.
    let rules_only = Redactor::default();
    let searched = search_all_lines(source, &rules_only, workers)?;
    redactor.number_secrets(lines_to_number(&searched.lines));
    Ok(())
}

/// Converts lines to the input of [`Redactor::number_secrets`].
fn lines_to_number(lines: &[SearchedLine]) -> impl Iterator<Item = LineToNumber<'_>> + Clone {
    lines.iter().map(|line| LineToNumber {
        finds: &line.finds,
        is_summary: line.is_summary,
    })
}

/// What remains in a redacted copy of the texts that were removed from it.
#[derive(Default)]
pub struct RemainingTexts {
    /// The secrets that remain: none, if the copy is correct.
    pub secrets: Vec<FoundSecret>,
    /// Texts that are a secret in one place and may be ordinary in another. They remain there on
    /// purpose: see [`RedactionReport::kept_ordinary`].
    pub ordinary: Vec<FoundSecret>,
}

/// Searches a redacted copy for the secrets that were removed.
///
/// Afterwards, the search of `redactor` is narrow: it skips lines without one of the secrets, a
/// home directory or a name (see `SecretSearch::narrow_with`).
pub fn find_remaining(
    copy: &dyn ReadAt,
    redactor: &mut Redactor,
    workers: usize,
) -> io::Result<RemainingTexts> {
    // Only lines that may have one of these are searched: other secrets are found in the source.
    redactor.search.narrow_with(redactor.found_values());
    let no_copy = None;
    let report = redact_session(copy, redactor, workers, no_copy)?;
    let found = report.found.into_iter().chain(report.unreplaceable);
    let (ordinary, secrets) = found.partition(|found| found.secret.is_ordinary);
    Ok(RemainingTexts { secrets, ordinary })
}

/// The result of searching a session, or a part of one.
#[derive(Debug, Default)]
struct SearchedPart {
    /// The lines with secrets, with other content to remove, or with placeholders. In file order.
    lines: Vec<SearchedLine>,
    /// The number of all physical lines.
    line_count: u32,
    /// The e-mail addresses.
    addresses: BTreeSet<Vec<u8>>,
    /// The keys that documentation uses as examples.
    examples: BTreeSet<Vec<u8>>,
    /// The indexes of the known values that occur, as in [`Finds::value_indexes`].
    value_indexes: BTreeSet<usize>,
}

impl SearchedPart {
    /// Searches the next lines for secrets, and for other content to remove. Also collects the
    /// example keys and the e-mail addresses, which are kept but reported.
    fn add_chunk(&mut self, chunk: LineChunk, redactor: &Redactor) {
        let bytes = chunk.bytes;
        // The offset in the chunk up to which lines were counted. They are counted from one line of
        // the result to the next, because most lines are not in the result.
        let mut counted_end = 0;
        redactor.search.each_line(bytes, &mut |line, mut finds| {
            self.examples.append(&mut finds.examples);
            self.value_indexes.append(&mut finds.value_indexes);

            // A line that stays as it is may still have secrets that are reported or numbered:
            // those that cannot be replaced, and the placeholders of earlier redactions.
            let is_needed = !finds.is_clean() || finds.has_secrets();
            if !is_needed {
                return;
            }
            self.line_count += count_newlines(&bytes[counted_end..line.start]);
            counted_end = line.start;
            let number = LineNo(self.line_count + 1);
            let offset = chunk.start + line.start as u64;
            self.add_line(number, offset, &bytes[line], finds);
        });
        self.line_count += count_newlines(&bytes[counted_end..]);
        collect_emails(bytes, &mut self.addresses);
    }

    /// Adds the line with this number at an offset in the file, with what was found in it.
    fn add_line(&mut self, number: LineNo, offset: u64, line: &[u8], mut finds: Finds) {
        // Many lines may be held, each with its finds.
        finds.shrink_to_fit();
        // The report needs the entry of a secret, so only a line with secrets is parsed.
        let entry = if finds.has_secrets() {
            Raw::parse(line).unwrap_or(Raw::NULL)
        } else {
            Raw::NULL
        };
        let kind = Kind::from_member(entry.get("type"));
        let id = entry.get_text("id").map(Text::into_owned);
        self.lines.push(SearchedLine {
            place: LinePlace {
                number,
                id: id.map(Arc::new),
            },
            span: Span {
                start: offset,
                len: line.len() as u64,
            },
            is_summary: matches!(kind, Kind::Compaction | Kind::BranchSummary),
            finds,
        });
    }

    /// Appends the result for the next part of the file, whose lines have their numbers in the
    /// file.
    fn append_part(&mut self, mut next: SearchedPart) {
        self.lines.append(&mut next.lines);
        self.addresses.append(&mut next.addresses);
        self.examples.append(&mut next.examples);
        self.value_indexes.append(&mut next.value_indexes);
        self.line_count += next.line_count;
    }
}

/// The place of the secrets in a line.
#[derive(Clone, Debug)]
struct LinePlace {
    /// The number of the line.
    number: LineNo,
    /// The `id` on the line; `None` if there is none, or if the line has no secret.
    id: Option<Arc<Text<'static>>>,
}

impl LinePlace {
    /// Returns a secret of this line, with its place for the report.
    fn locate_secret(&self, secret: Secret) -> FoundSecret {
        FoundSecret {
            id: self.id.clone(),
            line: self.number,
            secret,
        }
    }
}

/// A line of a [`SearchedPart`].
#[derive(Debug)]
struct SearchedLine {
    place: LinePlace,
    span: Span,
    /// Whether the line is a compaction or a branch summary.
    is_summary: bool,
    finds: Finds,
}

impl SearchedLine {
    fn number(&self) -> LineNo {
        self.place.number
    }

    /// Writes the line without its secrets. A title line is padded to its old length, because
    /// oh-my-pi overwrites it in place.
    fn write_redacted(&self, source: &dyn ReadAt, out: &mut dyn Write) -> io::Result<()> {
        let bytes = source.read_range(self.span.range())?;
        let is_title = self.number().0 == 1 && Raw::parse(&bytes).is_ok_and(is_title_slot);
        let redacted = self.finds.apply_to(&bytes);
        if is_title {
            out.write_all(&repad_title_line(&redacted))
        } else {
            out.write_all(&redacted)
        }
    }
}

/// Searches a session, in parts on up to `workers` threads. Calls `add_part` with the result for
/// each part, in file order.
fn search_session(
    source: &dyn ReadAt,
    redactor: &Redactor,
    workers: usize,
    add_part: &mut dyn FnMut(SearchedPart),
) -> io::Result<()> {
    let buffers = Pool::new(PageBuffer::default);
    // The number of lines in the parts before.
    let mut lines_before = 0;
    in_order(
        chunk_ranges(source, 0),
        workers,
        // Called on the threads, in any order.
        |range| buffers.with(|buffer| search_range(source, redactor, range, buffer)),
        // Called on this thread, in file order.
        |searched| {
            let mut part = searched?;
            for line in &mut part.lines {
                line.place.number.0 += lines_before;
            }
            lines_before += part.line_count;
            add_part(part);
            Ok::<(), io::Error>(())
        },
    )
}

/// Searches the lines that begin in a range of the file. Lines are numbered from the start of the
/// range: only the caller knows how many are before it.
fn search_range(
    source: &dyn ReadAt,
    redactor: &Redactor,
    range: Range<u64>,
    buffer: &mut PageBuffer,
) -> io::Result<SearchedPart> {
    let mut searched = SearchedPart::default();
    // Never breaks: all lines are searched.
    let _: ControlFlow<()> = read_chunks(buffer, source, range, |chunk| {
        searched.add_chunk(chunk, redactor);
        ControlFlow::Continue(())
    })?;
    Ok(searched)
}
