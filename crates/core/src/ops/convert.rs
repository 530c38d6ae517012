//! Converts a fork of a session to a session of the other agent.
//!
//! ```text
//! fork ──> NewSession ──> each copy is converted, the header is that of the other agent
//! ```
//!
//! Each entry is converted as it is written ([`crate::agents::convert`]). This module handles what
//! depends on several entries: the session's name, which pi keeps in an entry and oh-my-pi in the
//! first line; and pi's edits of the context, which are applied to the entries that they edit.

use crate::agents::oh_my_pi::native;
use crate::agents::pi::edits::ContextEdit;
use crate::ops::IdSource;
use crate::ops::chain::Chain;
use crate::ops::fork::{ForkOptions, ListedFork, StoredTitle, build_head_for, list_entries};
use crate::ops::plan::{NewSession, NewSessionEntry};
use crate::ops::rows::find_edits;
use crate::session::Session;
use crate::session::blobs::BlobStore;
use crate::session::dialect::Dialect;
use crate::session::entry::{EntryIx, Kind};
use crate::session::read::entry_reader::EntryReader;
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use std::io;

/// Returns `new`, a fork as a session of the same agent, converted to a session of the other agent.
/// `blobs` has the images of oh-my-pi.
pub fn convert_session(
    reader: &EntryReader,
    new: NewSession,
    blobs: BlobStore,
    options: &ForkOptions,
    id_source: &mut IdSource,
) -> io::Result<NewSession> {
    let session = reader.session();
    let target = match session.dialect {
        Dialect::Pi => Dialect::OhMyPi,
        Dialect::OhMyPi => Dialect::Pi,
    };

    // oh-my-pi keeps the name in the first line, as a title.
    let name = options.name.clone().or_else(|| session.name());
    let name_json = name.as_ref().map(encode_to_vec);
    let title = StoredTitle::set_by_user(name_json.as_deref().map(Raw::from_checked));
    let old_header = Raw::from_checked(&session.header.bytes);
    let head_lines = build_head_for(target.agent(), title, old_header, options, &new.timestamp);

    let mut converted = list_entries(reader, new.entries, new.leaf, options, id_source)?;
    let edits = find_edits(reader, session.leaf)?;
    let mut entries = Vec::with_capacity(converted.entries.len());
    for entry in converted.entries {
        entries.push(converted_on_write(entry, reader, target, &edits)?);
    }
    converted.entries = entries;

    // pi keeps the name in an entry. The conversion makes such an entry of each `title_change`, and
    // pi reads the last one. If that is not the current name, an entry with the name is added.
    if target == Dialect::Pi && name != last_title(reader, &converted.entries)? {
        let name = name.unwrap_or_default();
        converted.append_name(&name, target, session, id_source);
    }
    Ok(NewSession {
        id: new.id,
        timestamp: new.timestamp,
        head_lines,
        leaf: converted.leaf,
        entries: Some(converted.entries),
        appended: Vec::new(),
        blobs,
    })
}

impl ListedFork {
    /// Appends an entry with the name of the session below the leaf. It becomes the leaf.
    fn append_name(
        &mut self,
        name: &Text,
        target: Dialect,
        session: &Session,
        id_source: &mut IdSource,
    ) {
        let mut chain = Chain::with_parent_id(session, self.leaf.clone(), id_source);
        // The new file has no entry with a name yet.
        let old_name = None;
        chain.add_entry(target.agent().new_name_entry(name, old_name));
        // The next entry of the chain would be a child of the entry just added.
        self.leaf = chain.parent;
        for added in chain.change.entries {
            self.entries.push(NewSessionEntry::New(added));
        }
    }
}

/// Returns a copied entry of a new session, marked to be converted for the agent of `target` when
/// it is written. The conversion also applies pi's edit of the entry, if `edits` has one. An entry
/// that is not a copy stays the same: it is written for `target` already.
fn converted_on_write(
    new_entry: NewSessionEntry,
    reader: &EntryReader,
    target: Dialect,
    edits: &HashMap<EntryIx, ContextEdit>,
) -> io::Result<NewSessionEntry> {
    match new_entry {
        NewSessionEntry::New(_) => Ok(new_entry),
        NewSessionEntry::Copied {
            entry,
            parent,
            mut first_kept,
            omits_thinking,
            ..
        } => {
            // `None` means that the copy keeps the stored id, which may be in a form that pi does
            // not know.
            if first_kept.is_none() && target == Dialect::Pi {
                first_kept = first_kept_id_for_pi(reader, entry)?;
            }
            Ok(NewSessionEntry::Copied {
                entry,
                parent,
                first_kept,
                omits_thinking,
                target_dialect: Some(target),
                edit: edits.get(&entry).copied(),
            })
        }
    }
}

/// Returns the id of the first entry that a compaction of oh-my-pi keeps. `None` for any other
/// entry, and if the compaction has no snapshot.
///
/// A native snapshot, which is the provider's own form of a summary, names the last entry that it
/// covers, not the first one that the compaction keeps. pi does not know such snapshots.
fn first_kept_id_for_pi(reader: &EntryReader, ix: EntryIx) -> io::Result<Option<Text<'static>>> {
    let session = reader.session();
    if session.entry(ix).kind != Kind::Compaction {
        return Ok(None);
    }
    let kept = reader.with_entry(ix, |line| native::first_kept_entry(session, ix, line))?;
    Ok(kept.map(|kept| session.id(kept).into_owned()))
}

/// Returns the title in the last `title_change` among the copies, which becomes the session's name
/// in pi. `None` if there is no such entry, or if its title is blank, which removes the name.
fn last_title(
    reader: &EntryReader,
    entries: &[NewSessionEntry],
) -> io::Result<Option<Text<'static>>> {
    for new_entry in entries.iter().rev() {
        if let NewSessionEntry::Copied { entry, .. } = new_entry
            && reader.session().entry(*entry).kind == Kind::TitleChange
        {
            let title =
                reader.with_entry(*entry, |line| line.get_text("title").map(Text::into_owned))?;
            return Ok(title.filter(|title| !title.is_blank()));
        }
    }
    Ok(None)
}
