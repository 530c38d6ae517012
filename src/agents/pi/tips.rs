//! The size of the context at many entries at once: the result of [`super::tokens::context`] for each.
//!
//! If a provider has counted since the last change, its count is used: usually the tip is the response that it counted,
//! and only the tips are read. For a tip without such a count, the size is computed for its path; a message that is on
//! several paths is read once.

use super::context::{Projection, speak};
use super::tokens;
use crate::session::entry::{EntryIx, Kind};
use crate::session::read::entry_reader::{Body, EntryReader, Message};
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use std::collections::hash_map::Entry;
use std::io;

/// Limits the total length of the paths for which sizes are computed separately: a multiple of the entries of the
/// session, plus a constant, so that small sessions get all sizes.
const SINGLE: (usize, usize) = (32, 100_000);

/// Returns the size at each of `tips`, in tokens, except those that would take too long.
pub fn sizes(tips: &[EntryIx], reader: &EntryReader) -> io::Result<HashMap<EntryIx, f64>> {
    let session = reader.session();
    let mut sizes = HashMap::with_capacity_and_hasher(tips.len(), Default::default());
    let (edited, mut counts, mut measures) = (edited(reader)?, HashMap::default(), HashMap::default());
    let mut measure = |message: &Message| {
        // Only a stored message is the same on all paths.
        match (&message.body, measures.entry(message.entry)) {
            (Body::Stored, Entry::Occupied(known)) => Ok(*known.get()),
            (Body::Stored, Entry::Vacant(new)) => Ok(*new.insert(message.with(reader, tokens::measure)?)),
            (Body::Built(_), _) => message.with(reader, tokens::measure),
        }
    };
    let mut budget = SINGLE.0 * session.entries.len() + SINGLE.1;
    for &tip in tips {
        let size = match count_at(tip, reader, &edited, &mut counts)? {
            Some((usage, since)) => usage + since as f64,
            None if budget == 0 => continue,
            None => {
                let path = session.path(Some(tip));
                budget = budget.saturating_sub(path.len());
                tokens::measured(&Projection::of(&path, reader)?, &mut measure)?
            }
        };
        sizes.insert(tip, size);
    }
    Ok(sizes)
}

/// Returns the ids of the entries that edits change.
fn edited(reader: &EntryReader) -> io::Result<HashSet<Text<'static>>> {
    let session = reader.session();
    let edits = session.all().filter(|&ix| session.entry(ix).kind == Kind::ContextEdit);
    let target =
        |ix| reader.with_entry(ix, |line| line.get_text("targetId").map(Text::into_owned)).transpose();
    edits.filter_map(target).collect()
}

/// A provider's count, and the estimate of what follows the counted response.
type Count = (f64, u64);

/// Returns the nearest count above `tip`, unless a compaction, an edit or an edited entry is nearer: an edit can change what
/// precedes or follows it. `known` are the counts at the entries read so far, which are not read again.
fn count_at(
    tip: EntryIx,
    reader: &EntryReader,
    edited: &HashSet<Text<'static>>,
    known: &mut HashMap<EntryIx, Option<Count>>,
) -> io::Result<Option<Count>> {
    let session = reader.session();
    let (mut counted, mut below) = (None, Vec::new());
    for ix in session.upwards(Some(tip)) {
        if let Some(&count) = known.get(&ix) {
            counted = count;
            break;
        }
        let is_change = matches!(session.entry(ix).kind, Kind::Compaction | Kind::ContextEdit)
            || !edited.is_empty() && edited.contains(&session.id(ix));
        let mut messages = Vec::new();
        if !is_change {
            speak(ix, None, reader, &mut messages)?;
        }
        let measured = messages.first().map(|message| message.with(reader, tokens::measure)).transpose()?;
        let (usage, estimate) = measured.unwrap_or_default();
        below.push((ix, usage, estimate));
        if is_change || usage.is_some() {
            break;
        }
    }
    for (ix, usage, estimate) in below.into_iter().rev() {
        counted = match usage {
            Some(usage) => Some((usage, 0)),
            None => counted.map(|(usage, since)| (usage, since + estimate)),
        };
        known.insert(ix, counted);
    }
    Ok(counted)
}
