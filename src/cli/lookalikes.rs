//! Titles that tell sessions apart whose rows look alike, because they are copies or forks of one
//! conversation: in lists, and in messages about a name that matches several sessions.

use crate::cli::open::Input;
use crate::cli::output::truncate_end;
use crate::format::title::title_words;
use crate::load::LoadOptions;
use crate::ops::list::{ListRow, ListedSession, display_title, shared_lengths};
use crate::session::Session;
use crate::session::content::entry_text;
use crate::session::entry::{EntryIx, Flags};
use crate::session::read::entry_reader::EntryReader;
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::{Glance, ReadAt};
use std::fs::File;
use std::hash::Hash;

/// The maximum width of the common title, before the words that differ.
const MAX_TITLE_WIDTH: usize = 32;
/// The maximum number of sessions with one title that are compared.
const MOST_SESSIONS: usize = 16;
/// The maximum size of a session that is compared, in bytes: it is read once more.
const MOST_BYTES: u64 = 16 << 20;
/// The maximum size of all sessions that are compared, in bytes. More groups keep their titles.
const MOST_BYTES_OF_ALL: u64 = 64 << 20;
/// The maximum length of the line by which copies are recognized, in bytes.
const LONGEST_LINE: u64 = 1 << 16;

/// Adds titles for sessions that are copies or forks of one conversation, and whose rows would have
/// the same title. A title is added to `titles` by the index of its session.
///
/// Such a session gets the common title, and the first words that are its own: those after the
/// entries that it shares with the session that is most similar to it. For example, two forks of
/// `Fix the tests` become `Fix the tests … now in Rust` and `Fix the tests … now in Go`.
pub fn add_distinguishing_titles(
    list: &[ListedSession],
    rows: &[ListRow],
    titles: &mut HashMap<usize, String>,
) {
    for indexes in group_lookalikes(list, rows, titles) {
        let mut conversations = Vec::new();
        for index in indexes {
            conversations.extend(Conversation::read(index, &list[index]));
        }
        // For each conversation, the number of its first entries that it shares.
        let ids: Vec<Vec<Text>> = conversations.iter().map(Conversation::ids).collect();
        let shared_lengths = shared_lengths(&ids);
        for (conversation, shared_length) in conversations.iter().zip(shared_lengths) {
            // Without a shared entry, the sessions have the same title by chance.
            if shared_length == 0 {
                continue;
            }
            let common_title = shown_title(conversation.index, list, titles);
            let words = conversation.words_after(shared_length);
            titles.insert(conversation.index, join_title(&common_title, &words));
        }
    }
}

/// Returns a common title, which may be truncated, and the words that differ: `Fix the tests … now
/// in Rust`.
fn join_title(common_title: &str, words: &str) -> String {
    let mut title = truncate_end(common_title, MAX_TITLE_WIDTH, "…");
    let is_whole = title == common_title;
    if is_whole {
        title += " …";
    }
    format!("{title} {words}")
}

fn shown_title(index: usize, list: &[ListedSession], titles: &HashMap<usize, String>) -> String {
    match titles.get(&index) {
        Some(title) => title.clone(),
        None => display_title(&list[index].title(), list[index].message_count),
    }
}

/// Returns groups of sessions, as indexes in `list`, whose rows cannot be told apart: they have the
/// same title, and the same first question, with the same id and time.
///
/// The sessions of a group are read once more to compare them, so large sessions, large groups and,
/// beyond [`MOST_BYTES_OF_ALL`], the last groups are left out.
fn group_lookalikes(
    list: &[ListedSession],
    rows: &[ListRow],
    titles: &HashMap<usize, String>,
) -> Vec<Vec<usize>> {
    let mut compared = Vec::new();
    for row in rows {
        let session = &list[row.index];
        if session.owner.is_none() && session.bytes <= MOST_BYTES {
            compared.push(row.index);
        }
    }

    // Titles first, because a question is read from the file.
    let mut groups = Vec::new();
    for same_title in group_equal(compared, |index| Some(shown_title(index, list, titles))) {
        groups.extend(group_equal(same_title, |index| question_key(&list[index])));
    }
    groups.retain(|group| group.len() <= MOST_SESSIONS);
    // The groups come from a table without order. Those of the first rows are compared first.
    groups.sort();
    take_within_limit(groups, |index| list[index].bytes)
}

/// Returns groups of at least two sessions with the same key, in no particular order. Sessions
/// without a key are left out.
fn group_equal<K: Hash + Eq>(
    indexes: Vec<usize>,
    key_of: impl Fn(usize) -> Option<K>,
) -> Vec<Vec<usize>> {
    let mut groups: HashMap<K, Vec<usize>> = HashMap::default();
    for index in indexes {
        if let Some(key) = key_of(index) {
            groups.entry(key).or_default().push(index);
        }
    }
    let mut groups: Vec<Vec<usize>> = groups.into_values().collect();
    groups.retain(|group| group.len() >= 2);
    groups
}

/// Returns the groups whose sessions have at most [`MOST_BYTES_OF_ALL`] together. A group that is
/// too large for the rest of these bytes is left out, and smaller ones after it may be taken.
fn take_within_limit(groups: Vec<Vec<usize>>, bytes_of: impl Fn(usize) -> u64) -> Vec<Vec<usize>> {
    let mut taken = Vec::new();
    let mut bytes_left = MOST_BYTES_OF_ALL;
    for group in groups {
        let bytes: u64 = group.iter().map(|&index| bytes_of(index)).sum();
        if bytes > bytes_left {
            continue;
        }
        bytes_left -= bytes;
        taken.push(group);
    }
    taken
}

/// Returns the id and the time of the first question, on two lines, by which copies are recognized.
/// `None` if the question lacks one of these, is too long, or cannot be read, or if there is no
/// question.
fn question_key(session: &ListedSession) -> Option<Vec<u8>> {
    let span = session.question_span?;
    if span.len > LONGEST_LINE {
        return None;
    }
    let line = Glance::open(&session.path)
        .ok()?
        .read_range(span.range())
        .ok()?;
    let entry = Raw::parse(&line).ok()?;
    let mut key = entry.get_text("id")?.into_owned().into_bytes();
    key.push(b'\n');
    key.extend(entry.get_text("timestamp")?.as_bytes());
    Some(key)
}

/// The conversation of a session, from the first entry to the leaf.
struct Conversation {
    /// The index of the session in the list.
    index: usize,
    input: Input,
    session: Session,
    entries: Vec<EntryIx>,
}

impl Conversation {
    /// Reads the conversation of a listed session. The list keeps only what its rows show, so the
    /// file is read again. `None` if it cannot be read.
    fn read(index: usize, listed: &ListedSession) -> Option<Conversation> {
        // A session that is standard output was left out of the list.
        let is_stdout = |_: &File| false;
        let input = Input::open_path(&listed.path, &is_stdout).ok()?;
        let session = input.load(&LoadOptions::default()).ok()?;
        let mut entries = session.path(session.leaf);
        entries.retain(|&ix| session.is_conversation(ix));
        Some(Conversation {
            index,
            input,
            session,
            entries,
        })
    }

    fn ids(&self) -> Vec<Text<'_>> {
        self.entries.iter().map(|&ix| self.session.id(ix)).collect()
    }

    /// Returns the first words after the shared entries: the first words of the user or, if the
    /// user said nothing, of the first entry with text. If no entry has text, returns a note in
    /// brackets.
    fn words_after(&self, shared_length: usize) -> String {
        let reader = EntryReader::new(&self.session, self.input.source());
        let own_entries = &self.entries[shared_length..];
        // What the user said comes first, and then all entries.
        let mut by_preference = own_entries.to_vec();
        by_preference.retain(|&ix| {
            let flags = self.session.entry(ix).flags;
            flags.contains(Flags::USER_REQUEST)
        });
        by_preference.extend(own_entries);
        for ix in by_preference {
            let Ok(text) = reader.with_entry(ix, entry_text) else {
                continue;
            };
            let words = title_words(&text.to_string_lossy());
            if !words.is_empty() {
                return words;
            }
        }
        let reason = if own_entries.is_empty() {
            "(ends there)"
        } else {
            "(no text)"
        };
        reason.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_group_does_not_keep_smaller_ones_from_being_compared() {
        // Sizes in megabytes, by index.
        let sizes = [60, 30, 30, 4, 1, 1];
        let groups = vec![vec![0], vec![1, 2], vec![3], vec![4, 5]];
        let taken = take_within_limit(groups, |index| sizes[index] << 20);
        assert_eq!(taken, [vec![0], vec![3]]);
    }
}
