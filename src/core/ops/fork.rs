//! A new session file from a path of another (pi's `createBranchedSession`), or from all of it
//! (`forkFrom`).
//!
//! Labels are entries of the tree, so others may hang under them. They are taken out and made anew
//! at the end; their children are re-chained and a `firstKeptEntryId` that names one moves to the
//! entry behind it. oh-my-pi does not re-chain and loses what hangs under a label; pisess follows pi
//! in both dialects.

use super::{Stamp, label};
use crate::core::bodies::Bodies;
use crate::core::entry::{EntryIx, Kind};
use crate::core::json::Raw;
use crate::core::json::write::Object;
use crate::core::labels::Labels;
use crate::core::plan::{Entries, NewSession, Piece};
use crate::core::reference::Position;
use crate::core::session::{Dialect, Session};
use crate::core::text::Text;
use std::collections::{HashMap, HashSet};
use std::io;

/// What a fork is made with.
#[derive(Clone, Debug)]
pub struct ForkOptions<'a> {
    /// The new session's id.
    pub session_id: String,
    /// The source as its `parentSession` will name it: an absolute path, unless it came by a pipe.
    pub source: Option<Text<'a>>,
    /// The folder of the new session; the source's where this is `None`.
    pub cwd: Option<Text<'a>>,
}

/// The path to `end`.
///
/// # Errors
/// Where the source cannot be read.
pub fn fork(
    session: &Session,
    bodies: &dyn Bodies,
    end: Position,
    options: &ForkOptions,
    stamp: &mut Stamp,
) -> io::Result<NewSession> {
    let timestamp = stamp.timestamp();
    let path: Vec<_> = session.path(end);
    let mut pieces = without_labels(session, bodies, &path)?;
    let kept: HashSet<_> = path.iter().copied().filter(|&ix| !is_left_out(session.entry(ix).kind)).collect();
    let mut parent = path.iter().rev().find(|ix| kept.contains(ix)).map(|&ix| session.id(ix).into_owned());
    let mut ids = Vec::new();
    let labels = Labels::new(session);
    for (target, change) in labels.iter().filter(|(target, _)| kept.contains(target)) {
        let id = stamp.entry_id(session, &ids);
        // pi keeps the time of the label; oh-my-pi writes its own.
        let time = match session.dialect {
            Dialect::Pi => session.text(change.timestamp).to_string(),
            Dialect::OhMyPi => timestamp.clone(),
        };
        let name = session.text(change.name);
        pieces.push(Piece::Made(label::entry(&id, parent.as_ref(), &time, &session.id(target), Some(&name))));
        parent = Some(Text::from(id.clone()));
        ids.push(id);
    }
    Ok(NewSession {
        head: head(session, options, &timestamp),
        id: options.session_id.clone(),
        timestamp,
        entries: Entries::Some(pieces),
    })
}

/// Every entry and branch.
pub fn fork_all(session: &Session, options: &ForkOptions, stamp: &Stamp) -> NewSession {
    let timestamp = stamp.timestamp();
    NewSession {
        head: head(session, options, &timestamp),
        id: options.session_id.clone(),
        timestamp,
        entries: Entries::All,
    }
}

fn without_labels(session: &Session, bodies: &dyn Bodies, path: &[EntryIx]) -> io::Result<Vec<Piece>> {
    let mut pieces = Vec::with_capacity(path.len());
    let mut behind_label: HashMap<Text<'static>, Text<'static>> = HashMap::new();
    let mut pending: Vec<EntryIx> = Vec::new();
    let mut parent: Option<EntryIx> = None;
    for &ix in path {
        let entry = session.entry(ix);
        if is_left_out(entry.kind) {
            pending.push(ix);
            continue;
        }
        let id = session.id(ix).into_owned();
        for label in pending.drain(..) {
            behind_label.insert(session.id(label).into_owned(), id.clone());
        }
        // A root may be written as `""`, or name a parent that is not in the file.
        let moved = entry.parent != parent || parent.is_none();
        let first_kept = match entry.kind {
            Kind::Compaction if !behind_label.is_empty() => first_kept(bodies, ix, &id, &behind_label)?,
            _ => None,
        };
        let parent_id = parent.map(|parent| session.id(parent).into_owned());
        pieces.push(Piece::Copied { entry: ix, parent: moved.then_some(parent_id), first_kept });
        parent = Some(ix);
    }
    Ok(pieces)
}

/// Labels are made anew; a record of the leaf would decide the leaf of the new file.
fn is_left_out(kind: Kind) -> bool {
    matches!(kind, Kind::Label | Kind::Leaf)
}

/// The entry behind the label that a compaction keeps from, where it keeps from one.
fn first_kept(
    bodies: &dyn Bodies,
    ix: EntryIx,
    id: &Text,
    behind_label: &HashMap<Text<'static>, Text<'static>>,
) -> io::Result<Option<Text<'static>>> {
    let line = bodies.line(ix)?;
    let kept = Raw::checked(line.trim_ascii()).get_text("firstKeptEntryId");
    Ok(kept.filter(|kept| kept != id).and_then(|kept| behind_label.get(&kept.into_owned()).cloned()))
}

/// The header, in the agent's key order; in oh-my-pi's files behind the title line, which that agent
/// gives to every file it makes and by which its files are known.
fn head(session: &Session, options: &ForkOptions, timestamp: &str) -> Vec<Vec<u8>> {
    let old = Raw::checked(&session.header.bytes);
    let slot = session.title_slot.as_deref().map(|slot| Raw::checked(slot.trim_ascii()));
    // The title line wins over the header, an empty title too.
    let title = slot.map_or(old.get("title"), |slot| slot.get("title")).filter(|title| title.is_truthy());
    let source = slot.map_or(old.get("titleSource"), |slot| slot.get("source")).filter(|_| title.is_some());
    let cwd = options.cwd.as_ref().or(session.header.cwd.as_ref());
    let only_omp = session.dialect == Dialect::OhMyPi;
    let header = Object::new()
        .str("type", "session")
        .number("version", 3.0)
        .str("id", &options.session_id)
        .str("timestamp", timestamp)
        .with(cwd, |header, cwd| header.text("cwd", cwd))
        .with(title.filter(|_| only_omp), |header, title| header.raw("title", title))
        .with(source.filter(|_| only_omp), |header, source| header.raw("titleSource", source))
        .with(options.source.as_ref(), |header, source| header.text("parentSession", source))
        .with(old.get_some("additionalDirectories").filter(|_| only_omp), |header, folders| {
            header.raw("additionalDirectories", folders)
        })
        .finish();
    let line = only_omp.then(|| title_line(title, source, timestamp));
    line.into_iter().chain([header]).collect()
}

/// Bytes of oh-my-pi's title line, its newline among them. Another width makes the agent overwrite
/// the header at the next renaming.
const TITLE_LINE: usize = 256;

/// A title line, padded to its width; a title that does not fit is cut.
fn title_line(title: Option<Raw>, source: Option<Raw>, timestamp: &str) -> Vec<u8> {
    let title = title.and_then(Raw::text).unwrap_or_default();
    let line = |title: &Text, pad: usize| {
        Object::new()
            .str("type", "title")
            .number("v", 1.0)
            .text("title", title)
            .with(source, |line, source| line.raw("source", source))
            .str("updatedAt", timestamp)
            .str("pad", &" ".repeat(pad))
            .finish()
    };
    let fits = |title: &Text| line(title, 0).len() < TITLE_LINE;
    let mut units = title.utf16_len();
    while units > 0 && !fits(&title.head_whole(units)) {
        units -= 1;
    }
    let title = title.head_whole(units);
    line(&title, (TITLE_LINE - 1).saturating_sub(line(&title, 0).len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_line_keeps_its_width() {
        for title in ["", "short", &"é".repeat(300), &"\\u0001".repeat(80)] {
            let json = format!("\"{title}\"");
            let line = title_line(Some(Raw::checked(json.as_bytes())), None, "2026-01-01T00:00:00.000Z");
            assert_eq!(line.len(), 255, "{title}");
            assert!(Raw::parse(&line).is_ok());
        }
    }
}
