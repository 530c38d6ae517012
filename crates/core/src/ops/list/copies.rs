//! Counts each entry only once in a list. A fork has copies of the entries of its source, and two
//! imports of the same source have the same responses.

use super::{ListedSession, ReadSession};
use crate::load::names::id_in_name;
use crate::load::read_header;
use crate::session::Header;
use crate::session::copied_turns::{ResponseTree, with_copied_turns};
use crate::session::entry::EntryIx;
use crate::session::list_stats::EntryKey;
use crate::session::paths::file_name;
use crate::session::usage::UsageSums;
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_store::{FoundFile, Glance};
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

/// The keys of the entries and responses of the sessions that were read so far.
#[derive(Debug, Default)]
pub struct CountedKeys {
    /// For each key, the first session that has it, as an index in `paths`.
    owners: HashMap<u128, usize>,
    paths: Vec<PathBuf>,
}

/// Counts the entries of the next session that are in no earlier session. Returns its data with the
/// numbers and the usage of only these entries, and adds their keys to `counted_keys`. Also sets
/// the session whose entries it begins with.
///
/// `counted_keys` has the keys of all earlier sessions. Sessions must be passed in the order in
/// which they were started, so that a fork comes after its source. An entry without a key is
/// counted, unless it was copied together with a response. A session that was loaded without keys
/// is returned unchanged: it is neither a fork nor the source of one.
pub fn count_new_entries(counted_keys: &mut CountedKeys, reading: ReadSession) -> ListedSession {
    if reading.keys.is_empty() {
        return reading.listed;
    }

    let copied_turns = find_copied_turns(counted_keys, &reading);
    let copied_from = find_copy_source(counted_keys, &reading);
    let mut listed = reading.listed;
    listed.copied_from = copied_from;
    let own_index = counted_keys.paths.len();
    counted_keys.paths.push(listed.path.clone());
    listed.entry_count = 0;
    listed.message_count = 0;
    listed.user_message_count = 0;
    listed.usage = UsageSums::default();
    let mut own_responses = Vec::new();
    let mut billed = reading.billed.iter().peekable();
    for (index, entry) in reading.keys.iter().enumerate() {
        // Requests are in the order of their entries. The request of a copied entry is taken, too:
        // otherwise, it would stay at the front and hide all later ones.
        let request = billed.next_if(|request| request.entry.index() == index);
        if copied_turns.contains(&EntryIx::new(index)) {
            continue;
        }
        if entry.key != EntryKey::NONE {
            match counted_keys.owners.entry(entry.key) {
                Entry::Occupied(_) => continue,
                Entry::Vacant(vacant) => vacant.insert(own_index),
            };
        }
        let has_tokens = request.is_some_and(|request| request.usage.has_tokens());
        if has_tokens && entry.response != EntryKey::NONE {
            // A response is added only after the loop: several entries of this session may have it,
            // and all of them are counted.
            own_responses.push(entry.response);
        }
        if !entry.is_pruned {
            listed.entry_count += 1;
            listed.message_count += u32::from(entry.is_message);
            listed.user_message_count += u32::from(entry.is_user_message);
        }
        // The request of a pruned entry was paid for, so its usage is counted.
        if let Some(request) = request {
            listed.usage.add(&request.usage);
        }
    }
    for response in own_responses {
        counted_keys.owners.entry(response).or_insert(own_index);
    }
    listed
}

/// Returns the earlier session of which a session is a copy: the one that has the entries with
/// which this session begins. `None` if its first entry is its own.
///
/// A fork of a fork begins with entries of its source, and before these, with entries that its
/// source has copied. So the owner of the last shared entry is returned: the direct source.
fn find_copy_source(counted_keys: &CountedKeys, reading: &ReadSession) -> Option<PathBuf> {
    let mut last_owner = None;
    for entry in &reading.keys {
        // An entry without a key cannot be compared.
        if entry.key == EntryKey::NONE {
            continue;
        }
        // The first entry that is not shared: from here on, the session has entries of its own.
        let Some(&owner) = counted_keys.owners.get(&entry.key) else {
            break;
        };
        last_owner = Some(owner);
    }
    last_owner.map(|owner| counted_keys.paths[owner].clone())
}

/// Returns the entries with a response that was counted in an earlier session, and the entries that
/// were copied together with them.
fn find_copied_turns(counted_keys: &CountedKeys, reading: &ReadSession) -> HashSet<EntryIx> {
    let mut copied_responses = HashSet::default();
    for request in &reading.billed {
        let key = reading.keys.get(request.entry.index());
        if key.is_some_and(|key| counted_keys.owners.contains_key(&key.response)) {
            copied_responses.insert(request.entry);
        }
    }
    with_copied_turns(copied_responses, reading)
}

impl ResponseTree for ReadSession {
    fn entry_count(&self) -> usize {
        self.keys.len()
    }

    fn parent(&self, ix: EntryIx) -> Option<EntryIx> {
        self.parents[ix.index()]
    }

    fn is_response(&self, ix: EntryIx) -> bool {
        self.keys[ix.index()].is_reply
    }
}

/// A session file, and whether its header relates it to other files.
#[derive(Debug)]
pub struct FamilyFile {
    /// The session file.
    pub file: FoundFile,
    /// Whether the session may share entries with others: if it is a fork, the source of one, or
    /// has the same start time as another. Two imports of the same source have the same start time.
    pub is_related: bool,
}

/// Sorts files by the time at which their sessions were started, the oldest first, and marks those
/// that may share entries with others: see [`FamilyFile::is_related`]. Files without a known time,
/// such as those that are not sessions, come last. Only headers are read.
pub fn sort_and_mark_related(files: Vec<FoundFile>) -> Vec<FamilyFile> {
    struct StartedFile {
        started_ms: i64,
        file: FamilyFile,
    }

    let mut headers: Vec<Option<Header>> = Vec::with_capacity(files.len());
    for file in &files {
        headers.push(try_read_header(&file.path));
    }
    let relations = Relations::from_headers(headers.iter().flatten());

    let mut started_files = Vec::with_capacity(files.len());
    for (file, header) in files.into_iter().zip(headers) {
        let started_ms = header.as_ref().and_then(Header::started_ms);
        let is_related = header.is_some_and(|header| relations.is_related(&header, &file.path));
        started_files.push(StartedFile {
            started_ms: started_ms.unwrap_or(i64::MAX),
            file: FamilyFile { file, is_related },
        });
    }
    started_files.sort_by_key(|started| started.started_ms);
    started_files
        .into_iter()
        .map(|started| started.file)
        .collect()
}

/// What the headers of some sessions say of each other.
struct Relations {
    /// The sessions that others were forked from, each by its id as stored in the fork, or by the
    /// file name of the stored path and the id in that name. With the name, a source is
    /// recognized even if it is listed by a relative path; with the id, even if its file was
    /// renamed.
    fork_sources: HashSet<Vec<u8>>,
    /// By start time, in milliseconds since 1970: the number of sessions that were started then.
    counts_by_start: HashMap<i64, usize>,
}

impl Relations {
    /// Collects what the headers of all sessions say of others: the sources of forks, and how many
    /// sessions have the same start time.
    fn from_headers<'h>(headers: impl Iterator<Item = &'h Header>) -> Relations {
        let mut relations = Relations {
            fork_sources: HashSet::default(),
            counts_by_start: HashMap::default(),
        };
        for header in headers {
            if let Some(source) = fork_source(header) {
                if let Some(id) = id_in_stored_path(&source) {
                    relations.fork_sources.insert(id);
                }
                let source_path = String::from_utf8_lossy(&source);
                let source_name = file_name(&source_path).as_bytes().to_vec();
                relations.fork_sources.insert(source_name);
            }
            if let Some(started_ms) = header.started_ms() {
                *relations.counts_by_start.entry(started_ms).or_default() += 1;
            }
        }
        relations
    }

    /// Whether one of the headers relates another session to the session in this file, see
    /// [`FamilyFile::is_related`]. A copy of a file has the same header, and so the same start.
    fn is_related(&self, header: &Header, path: &Path) -> bool {
        let is_fork = fork_source(header).is_some();
        let name = path.file_name().unwrap_or_default();
        let is_source = self.fork_sources.contains(name.as_encoded_bytes())
            || self.fork_sources.contains(header.id.as_bytes());
        let has_same_start = header
            .started_ms()
            .is_some_and(|start| self.counts_by_start[&start] > 1);
        is_fork || is_source || has_same_start
    }
}

/// Returns the header of a session file; `None` if it cannot be read, or is not a session.
fn try_read_header(path: &Path) -> Option<Header> {
    let file = Glance::open(path).ok()?;
    read_header(&file).ok()
}

/// Returns the source of a fork as stored in the header: a path or an id. `None` if the session is
/// not a fork.
fn fork_source(header: &Header) -> Option<Vec<u8>> {
    let source = Raw::from_checked(&header.bytes).get_text("parentSession")?;
    Some(source.into_bytes())
}

/// Returns the id in the file name of a session's path, as a fork has stored it. The path may be of
/// another operating system. In a name that no agent gave, the text after the last `_` counts as
/// the id, as in `work_ID.jsonl`. `None` if the name has no id.
fn id_in_stored_path(path: &[u8]) -> Option<Vec<u8>> {
    let path = String::from_utf8_lossy(path);
    let name = file_name(&path);
    if let Some(id) = id_in_name(Path::new(name)) {
        return Some(id.as_bytes().to_vec());
    }
    let stem = name.strip_suffix(".jsonl")?;
    let (_, id) = stem.rsplit_once('_')?;
    Some(id.as_bytes().to_vec())
}
