//! Writes a part of a session as a separate session.

use crate::ops::plan::write_line;
use crate::session::entry::EntryIx;
use crate::session::read::entry_reader::EntryReader;
use foldhash::HashSet;
use pisess_json::edit::Edit;
use std::io::{self, Write};

/// Writes the title line, the header and these entries of a session, which are in file order. An
/// entry whose parent is not among them becomes a root. Lines in an older format are migrated,
/// which the reader does. Any other line is written unchanged.
pub fn write_part(
    reader: &EntryReader,
    entries: &[EntryIx],
    out: &mut dyn Write,
) -> io::Result<()> {
    let session = reader.session();
    if let Some(title_line) = &session.title_slot {
        write_line(title_line, out)?;
    }
    write_line(&session.migrate_header(), out)?;

    let written: HashSet<EntryIx> = entries.iter().copied().collect();
    for &ix in entries {
        let line = reader.read_line(ix)?;
        let is_cut_off = session
            .entry(ix)
            .parent
            .is_some_and(|parent| !written.contains(&parent));
        if is_cut_off {
            // The stored parent would be missing in the new file. White space around the object
            // cannot be edited.
            let mut edit = Edit::new(line.trim_ascii()).map_err(io::Error::from)?;
            edit.set("parentId", b"null");
            write_line(&edit.finish(), out)?;
        } else {
            // Without the carriage return that the line may end with.
            write_line(line.trim_ascii_end(), out)?;
        }
    }
    Ok(())
}
