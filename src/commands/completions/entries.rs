//! The entries of a session as candidates, in the forms of a reference.

use super::matching::{begun, copied, described};
use crate::agents::row::RowOptions;
use crate::load::peek;
use crate::load::{LoadError, Options, load};
use crate::ops::tree::rows;
use crate::session::entry::{Kind, Role};
use crate::session::labels::Labels;
use crate::session::period::Period;
use clap_complete::engine::CompletionCandidate;
use pisess_json::text::Text;
use pisess_store::ReadAt;

/// The number of bytes at the end of a session whose entries are offered.
const TAIL: u64 = 1 << 20;
const ENTRIES: usize = 200;

/// The entries near the end of a session.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Entries {
    /// The leaf, each with its text.
    leaf: Option<CompletionCandidate>,
    labels: Vec<CompletionCandidate>,
    ids: Vec<CompletionCandidate>,
    kinds: Vec<&'static str>,
}

impl Entries {
    /// Returns the leaf, labels and ids of the entries in the last MiB, each with its text.
    pub fn read(source: &dyn ReadAt, home: Option<&str>) -> Result<Entries, LoadError> {
        let home = home.map(|home| Text::from(home.to_owned()));
        let options = Options {
            rows: Some(RowOptions {
                home,
                ..RowOptions::default()
            }),
            ..Options::default()
        };
        let session = load(&peek::ends(source, TAIL)?, &options)?;
        let drawing = rows(&session, session.leaf);
        let labels = Labels::new(&session);
        let candidate =
            |value: &str, ix| described(value, drawing.text(ix).to_string_lossy().into_owned());
        let newest = session
            .all()
            .rev()
            .filter(|&ix| !session.entry(ix).id.is_empty())
            .take(ENTRIES);
        let all = &session.entries;
        let roles = Role::NAMED
            .iter()
            .filter(|role| all.iter().any(|entry| entry.role == **role));
        let types = Kind::NAMED
            .iter()
            .filter(|kind| all.iter().any(|entry| entry.kind == **kind));
        Ok(Entries {
            leaf: session.leaf.map(|leaf| candidate("@", leaf)),
            labels: labels
                .iter()
                .map(|(ix, change)| candidate(&session.text(change.name).to_string_lossy(), ix))
                .collect(),
            ids: newest
                .map(|ix| candidate(&session.id(ix).to_string_lossy(), ix))
                .collect(),
            kinds: roles
                .filter_map(|role| role.name())
                .chain(types.filter_map(|kind| kind.name()))
                .collect(),
        })
    }

    /// Returns the references that begin with the word; of `label:X`, `id:X` and `REF^{kind}`,
    /// those whose form has begun, the last one also without its brace.
    pub fn words(&self, word: &str) -> Vec<CompletionCandidate> {
        let plain = self
            .leaf
            .iter()
            .chain(&self.labels)
            .chain(&self.ids)
            .map(copied);
        let forms = [("label:", &self.labels), ("id:", &self.ids)].into_iter();
        let prefixed = forms
            .filter(|(prefix, _)| word.starts_with(prefix))
            .flat_map(|(prefix, found)| {
                found
                    .iter()
                    .map(move |found| copied(found).add_prefix(prefix))
            });
        let above = word.rsplit_once('^').into_iter().flat_map(|(below, kind)| {
            let start = kind.strip_prefix('{').unwrap_or(kind);
            let kinds = self
                .kinds
                .iter()
                .filter(move |known| known.starts_with(start));
            kinds.map(move |kind| CompletionCandidate::new(format!("{below}^{{{kind}}}")))
        });
        begun(word, plain.chain(prefixed)).chain(above).collect()
    }
}

/// Returns the models of the replies in the last MiB.
pub fn models_near_end(source: &dyn ReadAt) -> Result<Vec<String>, LoadError> {
    let list_stats = Some(Period::default());
    let session = load(
        &peek::ends(source, TAIL)?,
        &Options {
            list_stats,
            ..Options::default()
        },
    )?;
    Ok(session
        .collected
        .list_stats
        .models
        .iter()
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
    fn of_a_large_session_only_its_ends_are_read() {
        let large = session("\"version\":3,", 300_000);
        assert!(large.len() > 20 << 20);
        let entries = Entries::read(&large, None).unwrap();
        let [leaf, last] = ["@", &format!("{:08x}", 299_999)]
            .map(|value| described(value, "user: question 299999".to_owned()));
        assert_eq!((entries.leaf, &entries.ids[0]), (Some(leaf), &last));
        assert_eq!(
            (entries.ids.len(), entries.kinds),
            (ENTRIES, vec!["user", "message"])
        );
        let read = large.read.load(Ordering::Relaxed);
        assert!(read <= TAIL + 16 * 1024, "{read}");
    }

    /// Entries of version 1 are identified by their number, which the end of the file does not
    /// determine.
    #[test]
    fn of_version_1_all_or_nothing_is_offered() {
        assert_eq!(Entries::read(&session("", 3), None).unwrap().ids.len(), 3);
        assert_eq!(
            Entries::read(&session("", 20_000), None).unwrap(),
            Entries::default()
        );
    }
}
