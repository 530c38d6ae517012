//! What a source contains, found without writing anything.

use crate::Origin;
use crate::ahead::for_each_object_hashed;
use crate::convert::EarlierImports;
use crate::identity::{SourceHead, SourceIdentity};
use crate::joined::JoinedSource;
use crate::lines::{ReadExtent, convert_line};
use crate::writer::EntryWriter;
use pisess_json::text::Text;
use pisess_store::{ReadAt, copy_range};
use sha2::{Digest, Sha256};
use std::io;
use std::ops::Range;
use std::path::Path;

/// What a source contains.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Which session it is.
    pub head: SourceHead,
    /// The time of its last line that has one, in milliseconds since 1970.
    pub modified_ms: i64,
    /// The name of the session.
    pub name: Option<Text<'static>>,
    /// The number of its messages.
    pub message_count: usize,
    /// The number of bytes that were read. A torn last line does not count.
    pub bytes_read: u64,
    /// The SHA-256 of these bytes.
    pub sha256: String,
    /// Whether the last line is torn.
    pub is_torn: bool,
    /// The id of the file with the turns before the first line, if it was not found.
    pub missing_base: Option<String>,
}

/// Reads the whole source at `path` without writing anything, and summarizes it.
pub fn survey_source(source: &JoinedSource, origin: Origin, path: &Path) -> io::Result<Survey> {
    let layout = &source.layout;
    let mut identity = SourceIdentity::of_path(path, origin);
    // The default writer emits no lines. It finds the name, and counts the messages. As nothing is
    // written, earlier imports make no difference.
    let mut reader = origin.format().new_reader(
        source,
        layout,
        &EarlierImports::default(),
        EntryWriter::default(),
    )?;
    let mut extent = ReadExtent::default();
    let sha256 = for_each_object_hashed(source, &mut extent, |line, object| {
        if let Some(object) = object {
            identity.add_line(&line, object.raw(), origin, layout);
        }
        convert_line(reader.as_mut(), origin, &line, object)
    })?;
    let writer = reader.finish()?;

    Ok(Survey {
        modified_ms: identity.last_ms.unwrap_or_default(),
        head: identity.into_head(path, origin, layout),
        name: writer.name,
        message_count: writer.message_count,
        bytes_read: extent.bytes_read,
        sha256,
        is_torn: extent.is_torn,
        missing_base: origin.format().base_file_id(source)?,
    })
}

/// Returns the SHA-256 of a range of a source, in hexadecimal digits.
pub fn sha256_hex(source: &dyn ReadAt, range: Range<u64>) -> io::Result<String> {
    let mut hash = Sha256Digits::default();
    hash.add_range(source, range)?;
    Ok(hash.finish())
}

/// A SHA-256 in progress.
#[derive(Default)]
pub struct Sha256Digits(Sha256);

impl Sha256Digits {
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn add_range(&mut self, source: &dyn ReadAt, range: Range<u64>) -> io::Result<()> {
        copy_range(source, range, &mut self.0)
    }

    /// Returns the hexadecimal digits.
    pub fn finish(self) -> String {
        let bytes = self.0.finalize();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
