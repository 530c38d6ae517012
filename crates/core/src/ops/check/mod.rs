//! Checks a session file for defects, their consequences, and repairs.
//!
//! The file is loaded once, which also collects the odd lines: those that are not plain entries.
//! `lines` checks these one by one, and derives a file with repaired lines, of which only the
//! changes are stored (`PieceTable`). If there are changes, the repaired file is loaded like any
//! other. `graph`, `turns` and `conversation` then check the entries. A finding and its repair are
//! derived together, so a finding is reported as repairable exactly if the repair fixes it.
//!
//! ```text
//!   source ── load ──> session, odd lines ── lines ──> repaired file ── load ──> session ── graph, conversation
//!                                              │             │                                   │
//!                                              └─ removed ───┴───── new ids, new parents ──> LinkRepair, findings
//! ```

mod conversation;
mod ends;
mod excerpt;
mod finding;
mod graph;
mod groups;
mod header;
mod line_repair;
mod lines;
mod lost_parents;
mod missing;
mod repeated;
mod resync;
mod rewritten;
mod turns;

pub use excerpt::quote_damaged_line;
pub use finding::{Finding, FindingKind, Severity};
pub use groups::{describe_lines, group_findings};
pub use header::{FoundCwd, SessionLocation};

use self::conversation::{is_of_version_1, stops_oh_my_pi};
use self::graph::LinkRepair;
use self::header::{SessionFileName, may_lack_header};
use self::line_repair::LineRepair;
use self::lines::is_plain;
use crate::load::{LoadError, LoadOptions, load};
use crate::ops::patched::PieceTable;
use crate::ops::plan::copy_all;
use crate::ops::switch::new_mark;
use crate::session::entry::{EntryIx, Span};
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::Position;
use crate::session::tree::active_mask;
use crate::session::{Format, Session};
use pisess_json::edit::Edit;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_store::{ReadAt, copy_range};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The findings in a file, and the planned repair.
pub struct Checkup<'a> {
    source: &'a dyn ReadAt,
    repair: LineRepair,
    /// The session as loaded after the repair of its lines.
    pub session: Session,
    links: LinkRepair,
    /// The findings, by line.
    pub findings: Vec<Finding>,
}

/// Checks the session file that is stored at `location`.
///
/// # Errors
/// If the file cannot be read, or is not a session even after the repair of its lines.
pub fn check_session<'a>(
    source: &'a dyn ReadAt,
    options: &LoadOptions,
    location: &SessionLocation,
) -> Result<Checkup<'a>, LoadError> {
    let options = &LoadOptions {
        tool_calls: true,
        ..options.clone()
    };
    let (mut repair, session) = load_with_repaired_lines(source, options, location)?;
    let file = repair.file.with_source(source);

    let is_active = active_mask(&session, session.leaf);
    let reader = EntryReader::new(&session, &file);
    let mut entry_findings = Vec::new();
    entry_findings.extend(check_version(&session));
    entry_findings.extend(check_header_id(&session, location));
    let mut of_links = graph::check_links(&session, &repair, &is_active);
    entry_findings.append(&mut of_links.findings);
    let mut of_results = turns::check_result_order(&reader, of_links.links)?;
    entry_findings.append(&mut of_results.findings);
    let mut links = of_results.links;
    keep_leaf(&mut links, &session, repair.leaf_id.as_ref());
    entry_findings.append(&mut conversation::check_content(&reader, &is_active)?);
    // So far, the line numbers of these findings are those of the repaired file.
    for finding in &mut entry_findings {
        finding.line = repair.source_line(finding.line);
    }

    let mut findings = std::mem::take(&mut repair.findings);
    rewritten::report_rewritten_lines(&repair, source, &reader, &mut findings)?;
    for (dialect, finding) in std::mem::take(&mut repair.dialect_findings) {
        if dialect == session.dialect && session.format != Format::Draft {
            findings.push(finding);
        }
    }
    findings.append(&mut entry_findings);
    for finding in &mut findings {
        finding.set_severity(session.agent(), session.format);
    }
    for finding in &mut findings {
        finding.line = session.original_line(finding.line);
    }
    excerpt::hide_secrets_of_session(&mut findings, source, options.workers)?;
    // The sort is stable: findings of one line and kind stay in this order.
    findings.sort_by_key(|finding| (finding.line, finding.kind));
    Ok(Checkup {
        source,
        repair,
        session,
        links,
        findings,
    })
}

/// Makes the entry with this id the leaf after the repair. Without its last line, which repeats an
/// earlier one, a file may have another leaf than before. A leaf that a repair of links has chosen
/// stays.
fn keep_leaf(links: &mut LinkRepair, session: &Session, leaf_id: Option<&Text>) {
    if links.new_leaf.is_some() {
        return;
    }
    let leaf = leaf_id.and_then(|id| session.find_entry(id));
    if leaf.is_some() && leaf != session.leaf {
        links.new_leaf = leaf;
    }
}

/// Loads a file and repairs its lines. Returns the repair, and the session as loaded from the file
/// with repaired lines.
fn load_with_repaired_lines(
    source: &dyn ReadAt,
    options: &LoadOptions,
    location: &SessionLocation,
) -> Result<(LineRepair, Session), LoadError> {
    // The first load also finds the lines that are not plain.
    let first_options = LoadOptions {
        is_plain_line: Some(is_plain),
        ..options.clone()
    };
    match load(source, &first_options) {
        Ok(session) => repair_loaded(source, session, options),
        Err(error) => repair_not_loaded(source, error, options, location),
    }
}

/// Repairs the lines of a file that was loaded as `session`. See [`load_with_repaired_lines`] for
/// the result.
fn repair_loaded(
    source: &dyn ReadAt,
    session: Session,
    options: &LoadOptions,
) -> Result<(LineRepair, Session), LoadError> {
    let no_new_header = None;
    let mut repair = lines::repair_lines(source, Some(&session), no_new_header)?;
    if !repair.repeated_lines.is_empty() {
        repair.leaf_id = session.leaf.map(|leaf| session.id(leaf).into_owned());
    }
    if repair.file.is_unchanged(source) {
        return Ok((repair, session));
    }
    // Dropped before the repaired file is loaded, which needs the memory.
    drop(session);
    let repaired_session = load(&repair.file.with_source(source), options)?;
    Ok((repair, repaired_session))
}

/// Repairs the lines of a file that could not be loaded because of `error`: adds a header if that
/// may be all that the file lacks. See [`load_with_repaired_lines`] for the result.
///
/// # Errors
/// If the repaired file cannot be loaded either. The error is that of the original file, because it
/// describes the file better.
fn repair_not_loaded(
    source: &dyn ReadAt,
    error: LoadError,
    options: &LoadOptions,
    location: &SessionLocation,
) -> Result<(LineRepair, Session), LoadError> {
    let mut new_header = None;
    if may_lack_header(&error) {
        new_header = header::find_header(source, location)?;
    }
    let repair = lines::repair_lines(source, None, new_header)?;
    match load(&repair.file.with_source(source), options) {
        Ok(repaired_session) => Ok((repair, repaired_session)),
        Err(_) => Err(error),
    }
}

/// Returns a finding if a session is not of version 3; `pisess migrate` converts it.
fn check_version(session: &Session) -> Option<Finding> {
    let what = match session.format {
        Format::V1 => "the file is of version 1",
        Format::Draft => "the file is a draft tree, which no agent reads",
        Format::V2 => "the file is of version 2",
        Format::V3 => return None,
    };
    let message = format!("{what}; see `pisess migrate`");
    Some(Finding::new(
        session.header.line,
        FindingKind::OldVersion,
        message,
    ))
}

/// Returns a finding if the header's id differs from the id in the file's name. A name that does
/// not have the agents' form is not compared.
fn check_header_id(session: &Session, location: &SessionLocation) -> Option<Finding> {
    let name = location.name.as_deref()?;
    let file_name = SessionFileName::parse(name)?;
    let id = session.header.id.to_string();
    if id == file_name.id {
        return None;
    }
    let message = format!("the session's id {id:?} is not the one in the file's name");
    Some(Finding::new(
        session.header.line,
        FindingKind::HeaderId,
        message,
    ))
}

impl Checkup<'_> {
    /// Whether a repair would change anything.
    pub fn is_repairable(&self) -> bool {
        self.findings.iter().any(Finding::is_repairable)
    }

    /// Returns the parts of the source that a repair removes or converts to UTF-8, in file order.
    pub fn rejected_spans(&self) -> &[Span] {
        &self.repair.rejected_spans
    }

    /// Writes the repaired file: its lines repaired, and the lines of some entries edited. If the
    /// agents would then continue at the wrong entry, the last, a mark that sets the right leaf is
    /// appended.
    pub fn write_repaired(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.is_repairable() {
            return copy_all(self.source, out);
        }
        // The session was loaded from this file, so the spans of the entries are offsets in it.
        let file = self.repair.file.with_source(self.source);
        let mut repaired = self.replace_changed_entries(&file)?;
        if let Some(leaf) = self.links.new_leaf {
            repaired.push_new_bytes(&self.mark_line(leaf));
        }
        copy_all(&repaired.with_source(&file), out)
    }

    /// Returns the file with the repaired lines of all entries that change. `file` is the source
    /// with its lines repaired.
    fn replace_changed_entries(&self, file: &dyn ReadAt) -> io::Result<PieceTable> {
        let mut repaired = PieceTable::default();
        let mut copied_end = 0;
        for ix in self.changed_entries() {
            let span = self.session.entry(ix).span;
            repaired.push_source(Span {
                start: copied_end,
                len: span.start - copied_end,
            });
            repaired.push_new_bytes(&self.build_repaired_line(ix, file)?);
            copied_end = span.end();
        }
        repaired.push_source(Span {
            start: copied_end,
            len: file.len() - copied_end,
        });
        Ok(repaired)
    }

    /// Returns the entries whose lines change: their links, or the content that oh-my-pi needs.
    /// Each is listed once, in file order.
    fn changed_entries(&self) -> BTreeSet<EntryIx> {
        let mut changed: BTreeSet<EntryIx> = self.links.changed_entries().collect();
        for ix in self.session.entry_indexes() {
            if stops_oh_my_pi(self.session.entry(ix)) {
                changed.insert(ix);
            }
        }
        changed
    }

    /// Returns the line, with its newline, of a mark: an entry that makes `leaf`, its parent, the
    /// leaf, although `leaf` is not the last entry of the file.
    fn mark_line(&self, leaf: EntryIx) -> Vec<u8> {
        let session = &self.session;
        let from = session
            .leaf
            .map(|from| self.links.repaired_id(session, from));
        // The mark is read after the repair, which may have given entries new ids.
        let to = self.links.repaired_id(session, leaf);
        // The id is derived from the number of the record, so that each repair gives the same. The
        // mark will be the next record.
        let next_record = session.record_count;
        // `free_id` excludes the ids of all entries.
        let is_otherwise_taken = |_: &str| false;
        let id = self.links.free_id(session, next_record, is_otherwise_taken);
        // Only a mark of `undo` has these.
        let undone_ids = [];
        let mut line = new_mark(from.as_ref(), Some(&to), &undone_ids)
            .str("id", &id)
            .text("parentId", &to)
            .text("timestamp", &session.draft_timestamp(leaf))
            .finish();
        line.push(b'\n');
        line
    }

    /// Returns the line of an entry after the repair, with the changes that apply to it:
    ///
    /// - An entry with neither an id nor a parent is rewritten in the current version.
    /// - A new id or a new parent replaces the one in the line.
    /// - An assistant message without content gets an empty array: oh-my-pi needs one.
    ///
    /// `file` is the source with its lines repaired.
    fn build_repaired_line(&self, ix: EntryIx, file: &dyn ReadAt) -> io::Result<Vec<u8>> {
        let session = &self.session;
        let entry = session.entry(ix);
        let id_of = |named: EntryIx| encode_to_vec(&self.links.repaired_id(session, named));

        let mut line = file.read_range(entry.span.range())?;
        // This comes first, because it rewrites the line: the edits below apply to the result.
        if is_of_version_1(entry) {
            line = session.modernize_line(ix, &line, &id_of)?;
        }

        let mut edit = Edit::new(&line)?;
        if self.links.new_ids.contains_key(&ix) {
            edit.set("id", &id_of(ix));
        }
        if let Some(new_parent) = self.links.new_parents.get(&ix) {
            let parent_id = match new_parent {
                Position::Entry(parent) => id_of(*parent),
                Position::Root => b"null".to_vec(),
            };
            edit.set("parentId", &parent_id);
        }
        if stops_oh_my_pi(entry)
            && let Some(message) = edit.get("message")
        {
            let mut message = Edit::new(message.bytes())?;
            message.set("content", b"[]");
            edit.set("message", &message.finish());
        }
        Ok(edit.finish())
    }

    /// Writes the original bytes of each part that a repair removes or converts to UTF-8, each
    /// followed by a newline.
    pub fn write_rejected(&self, out: &mut dyn Write) -> io::Result<()> {
        for &span in self.rejected_spans() {
            copy_range(self.source, span.range(), out)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
