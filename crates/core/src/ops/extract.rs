//! Writes a part of a session as a separate session.

use crate::ops::plan::write_line;
use crate::session::entry::EntryIx;
use crate::session::read::entry_reader::EntryReader;
use foldhash::HashSet;
use pisess_json::edit::Edit;
use std::io::{self, Write};

/// Writes a part of a session as a session of its own: the title line, the header and `entries`,
/// which must be in file order. An entry whose parent is not among them becomes a root. Lines in an
/// older format are written in the current one; all others are copied unchanged.
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
        // The reader migrates lines of an older format.
        let line = reader.read_line(ix)?;
        let is_cut_off = session
            .entry(ix)
            .parent
            .is_some_and(|parent| !written.contains(&parent));
        if is_cut_off {
            // The stored parent would be missing in the new file. `Edit` accepts no white space
            // around the object.
            let mut edit = Edit::new(line.trim_ascii()).map_err(io::Error::from)?;
            edit.set("parentId", b"null");
            write_line(&edit.finish(), out)?;
        } else {
            // The line may end with a carriage return.
            write_line(line.trim_ascii_end(), out)?;
        }
    }
    Ok(())
}
