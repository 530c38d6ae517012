//! Offers the entries of a session as candidates, in the forms of a reference.

use super::matching::{begins_with, copy_candidate, new_candidate};
use crate::agents::row::RowOptions;
use crate::load::peek;
use crate::load::{LoadError, LoadOptions, load};
use crate::ops::tree::view_without_layout;
use crate::session::Session;
use crate::session::entry::{Flags, Kind, Role};
use crate::session::labels::Labels;
use crate::session::period::Period;
use crate::session::reference::{ANSWER_KIND, CURRENT_REFERENCE, TEXT_PREFIX};
use clap_complete::engine::CompletionCandidate;
use pisess_json::text::Text;
use pisess_store::ReadAt;

/// The number of bytes at the end of a session in which entries are searched for.
const TAIL_BYTES: u64 = 1 << 20;
/// The maximum number of ids that are offered.
const MAX_IDS: usize = 200;

/// The entries near the end of a session.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct EntryCandidates {
    /// `@`, described by the text of the current entry.
    current: Option<CompletionCandidate>,
    /// The labels, described by the texts of the labelled entries.
    labels: Vec<CompletionCandidate>,
    /// The ids, described by the texts of the entries; the newest first.
    ids: Vec<CompletionCandidate>,
    /// The names of the roles and types of these entries, for `REF^{kind}`.
    kinds: Vec<&'static str>,
}

impl EntryCandidates {
    /// Reads what can be completed from a session: of a large one, only the header and the last MiB
    /// (`TAIL_BYTES`), so that completing is fast. At most `MAX_IDS` ids are offered, the newest.
    pub fn read(source: &dyn ReadAt, home: Option<&str>) -> Result<EntryCandidates, LoadError> {
        // Each candidate is described by the row of its entry, as in the tree.
        let home = home.map(|home| Text::from(home.to_owned()));
        let options = LoadOptions {
            rows: Some(RowOptions {
                home,
                ..RowOptions::default()
            }),
            ..LoadOptions::default()
        };
        let session = load(&peek::read_ends(source, TAIL_BYTES)?, &options)?;
        Ok(EntryCandidates::of_session(&session))
    }

    /// Returns what can be completed from a session that was loaded with rows.
    fn of_session(session: &Session) -> EntryCandidates {
        let view = view_without_layout(session, session.leaf);
        let describe = |value: &str, ix| {
            new_candidate(value, view.row_text(ix).to_string_lossy().into_owned())
        };

        let mut labels = Vec::new();
        for (ix, change) in Labels::new(session).iter() {
            labels.push(describe(&session.text(change.name).to_string_lossy(), ix));
        }
        let mut ids = Vec::new();
        for ix in session.entry_indexes().rev() {
            if ids.len() == MAX_IDS {
                break;
            }
            let id = session.id(ix);
            if !id.is_empty() {
                ids.push(describe(&id.to_string_lossy(), ix));
            }
        }
        let current_entry = session.current_entry();
        EntryCandidates {
            current: current_entry.map(|ix| describe(CURRENT_REFERENCE, ix)),
            labels,
            ids,
            kinds: kind_names_in(session),
        }
    }

    /// Returns the references that begin with `word`: `@`, labels and ids. Other forms are offered
    /// only after their sign is typed: `label:X`, `id:X` and `:/` after the colon, and `REF^{kind}`
    /// after the `^`, with or without the brace.
    pub fn complete_reference(&self, word: &str) -> Vec<CompletionCandidate> {
        let plain_candidates = self.current.iter().chain(&self.labels).chain(&self.ids);
        let mut candidates: Vec<_> = plain_candidates.map(copy_candidate).collect();
        for (prefix, targets) in [("label:", &self.labels), ("id:", &self.ids)] {
            if word.starts_with(prefix) {
                candidates.extend(
                    targets
                        .iter()
                        .map(|target| copy_candidate(target).add_prefix(prefix)),
                );
            }
        }
        if word.starts_with(':') {
            let meaning = "the newest entry that contains the text behind it".to_owned();
            candidates.push(new_candidate(TEXT_PREFIX, meaning));
        }
        candidates.retain(|candidate| begins_with(candidate, word));
        candidates.extend(self.complete_kind(word));
        candidates
    }

    /// Returns the references `REF^{kind}` that complete `word`: for `@^u` and `@^{u`, this is
    /// `@^{user}`. Empty if `word` has no `^`.
    fn complete_kind(&self, word: &str) -> Vec<CompletionCandidate> {
        let Some((reference, after_sign)) = word.rsplit_once('^') else {
            return Vec::new();
        };
        let kind_start = after_sign.strip_prefix('{').unwrap_or(after_sign);
        let mut candidates = Vec::new();
        for kind in &self.kinds {
            if kind.starts_with(kind_start) {
                let value = format!("{reference}^{{{kind}}}");
                candidates.push(CompletionCandidate::new(value));
            }
        }
        candidates
    }
}

/// Returns the names of the roles and types of a session's entries, as they are used in
/// `REF^{kind}`. If an entry is an answer, that name is included.
fn kind_names_in(session: &Session) -> Vec<&'static str> {
    let entries = &session.entries;
    let mut names = Vec::new();
    for &role in Role::NAMED {
        if entries.iter().any(|entry| entry.role == role) {
            names.extend(role.name());
        }
    }
    for &kind in Kind::NAMED {
        if entries.iter().any(|entry| entry.kind == kind) {
            names.extend(kind.name());
        }
    }
    if entries
        .iter()
        .any(|entry| entry.flags.contains(Flags::ANSWER))
    {
        names.push(ANSWER_KIND);
    }
    names
}

/// Returns the models of the replies in the last MiB of a session (`TAIL_BYTES`), as `PROVIDER/ID`.
pub fn models_near_end(source: &dyn ReadAt) -> Result<Vec<String>, LoadError> {
    let options = LoadOptions {
        list_stats: Some(Period::default()),
        ..LoadOptions::default()
    };
    let session = load(&peek::read_ends(source, TAIL_BYTES)?, &options)?;
    let models = session.collected.list_stats.models.iter();
    Ok(models
        .map(|model| model.to_string_lossy().into_owned())
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A reader that counts the bytes read.
    struct Counting {
        bytes: Vec<u8>,
        read: AtomicU64,
    }

    impl ReadAt for Counting {
        fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
            let read = self.bytes.read_at(buf, offset)?;
            self.read.fetch_add(read as u64, Ordering::Relaxed);
            Ok(read)
        }

        fn len(&self) -> u64 {
            self.bytes.len() as u64
        }
    }

    fn session(version: &str, entries: u32) -> Counting {
        let mut text = format!("{{\"type\":\"session\",{version}\"id\":\"s\",\"cwd\":\"/\"}}\n");
        for at in 0..entries {
            text += &format!(
                "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":null,\"message\":{{\"role\":\"user\",\"content\":\"question {at}\"}}}}\n"
            );
        }
        Counting {
            bytes: text.into_bytes(),
            read: AtomicU64::new(0),
        }
    }

    #[test]
    fn completions_read_only_the_ends_of_a_large_session() {
        let large = session("\"version\":3,", 300_000);
        assert!(large.len() > 20 << 20);
        let entries = EntryCandidates::read(&large, None).unwrap();
        let [leaf, last] = ["@", &format!("{:08x}", 299_999)]
            .map(|value| new_candidate(value, "user: question 299999".to_owned()));
        assert_eq!((entries.current, &entries.ids[0]), (Some(leaf), &last));
        assert_eq!(
            (entries.ids.len(), entries.kinds),
            (MAX_IDS, vec!["user", "message"])
        );
        let read = large.read.load(Ordering::Relaxed);
        assert!(read <= TAIL_BYTES + 16 * 1024, "{read}");
    }

    /// Entries of version 1 are identified by their number, which the end of the file does not
    /// determine.
    #[test]
    fn completions_offer_all_entries_of_version_1_or_none() {
        assert_eq!(
            EntryCandidates::read(&session("", 3), None)
                .unwrap()
                .ids
                .len(),
            3
        );
        assert_eq!(
            EntryCandidates::read(&session("", 20_000), None).unwrap(),
            EntryCandidates::default()
        );
    }
}
