//! Adds the lines that were appended to a file to its loaded session, without reading the rest
//! again.

use super::fragment::{Fragment, Reading};
use super::link;
use super::{LoadError, Options};
use crate::session::read::line_chunks::{LineChunk, read_chunks};
use crate::session::read::record;
use crate::session::read::whole_lines::WholeLines;
use crate::session::usage::remove_copies;
use crate::session::{Format, Session};
use pisess_store::{PageBuffer, ReadAt};
use std::mem::take;
use std::ops::ControlFlow;

/// Adds the whole lines after the end of a session that was loaded with the same options. Returns
/// `false` if they may change what was loaded before: then it must be loaded again. This is so for
/// older formats, an id or a parent that is not unique, known or above its entry, and the first
/// evidence of the agent.
///
/// # Errors
/// If the file cannot be read, or the strings of all entries no longer fit.
pub fn append(
    session: &mut Session,
    source: &dyn ReadAt,
    options: &Options,
) -> Result<bool, LoadError> {
    let source = WholeLines::of(source)?;
    if matches!(session.format, Format::V1 | Format::Draft) {
        return Ok(false);
    }
    if source.len() <= session.len {
        return Ok(source.len() == session.len);
    }
    if !session.ends_with_newline && source.read_range(session.len..session.len + 1)? != b"\n" {
        return Ok(false);
    }
    let start = session.len + u64::from(!session.ends_with_newline);
    let mut next = Fragment::default();
    let reading = Reading {
        options,
        format: session.format,
        agent: session.agent(),
        cwd: session.header.cwd.as_ref(),
    };
    let mut keys = record::keys();
    let _: ControlFlow<()> = read_chunks(
        &mut PageBuffer::default(),
        &source,
        start..source.len(),
        |LineChunk { start, bytes }| {
            next.read_lines(bytes, start, &reading, &mut keys);
            ControlFlow::Continue(())
        },
    )?;
    if session.title_slot.is_none()
        && next
            .dialect
            .is_some_and(|dialect| dialect != session.dialect)
    {
        return Ok(false);
    }
    let mut whole = Fragment {
        entries: take(&mut session.entries),
        arena: take(&mut session.arena),
        collected: take(&mut session.collected),
        lines: session.lines + 1,
        records: session.records,
        ..Fragment::default()
    };
    let from = whole.entries.len();
    let joined = whole.append(&mut next);
    session.entries = whole.entries;
    session.arena = whole.arena;
    session.collected = whole.collected;
    (session.lines, session.records) = (whole.lines - 1, whole.records);
    joined?;
    session.problems.extend(whole.problems);
    (session.len, session.ends_with_newline) = (source.len(), link::ends_with_newline(&source)?);
    if !link::link_appended(session, from, &whole.parent_ids) {
        return Ok(false);
    }
    remove_copies(&mut session.collected.billed);
    session.leaf = link::leaf(session, whole.leaf_record);
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::row::RowOptions;
    use crate::load::load;
    use crate::session::entry::{Entry, Slice};
    use std::fmt::Write;

    /// Returns everything that is known of a session.
    fn described(session: &Session) -> String {
        let mut text = format!("{:?} {} {}\n", session.leaf, session.lines, session.records);
        for ix in session.all() {
            // Where its id is stored does not matter.
            let entry = Entry {
                id: Slice::default(),
                ..*session.entry(ix)
            };
            let (id, row) = (session.id(ix), session.row(ix));
            let (parent, time) = (session.parent_id(ix), session.timestamp(ix));
            let _ = writeln!(
                text,
                "{entry:?} {id} {parent:?} {time:?} {row} {:?}",
                session.usage_of(ix)
            );
        }
        let calls = session
            .collected
            .tool_calls
            .iter()
            .map(|call| (call.entry, session.text(call.id)));
        let labels = session
            .collected
            .labels
            .iter()
            .map(|label| (label.entry, session.text(label.name)));
        let (calls, labels) = (calls.collect::<Vec<_>>(), labels.collect::<Vec<_>>());
        let _ = write!(
            text,
            "{calls:?} {labels:?} {:?} {:?}",
            session.name(),
            session.problems
        );
        text
    }

    /// Wherever a file is cut, what is appended makes the session that loading the whole file
    /// makes.
    #[test]
    fn appended_lines_make_the_session_that_loading_makes() {
        let options = Options {
            whole_lines: true,
            rows: Some(RowOptions::default()),
            timestamps: true,
            usage: true,
            ..Options::default()
        };
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
        let (mut appended, mut again) = (0, 0);
        for folder in ["", "hazards", "kinds"] {
            let files = std::fs::read_dir(root.join(folder))
                .unwrap()
                .map(|file| file.unwrap().path());
            for path in files.filter(|path| path.extension().is_some_and(|end| end == "jsonl")) {
                let bytes = std::fs::read(&path).unwrap();
                let Ok(whole) = load(&bytes, &options) else {
                    continue;
                };
                for cut in (0..bytes.len()).step_by(1 + bytes.len() / 100) {
                    let Ok(mut session) = load(&bytes[..cut].to_vec(), &options) else {
                        continue;
                    };
                    if append(&mut session, &bytes, &options).unwrap() {
                        assert_eq!(
                            described(&session),
                            described(&whole),
                            "{} cut at {cut}",
                            path.display()
                        );
                        appended += 1;
                    } else {
                        again += 1;
                    }
                }
            }
        }
        assert!(appended > 500 && appended > again, "{appended} {again}");
    }
}
