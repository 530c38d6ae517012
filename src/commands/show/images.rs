//! `show --images`: writes the images of entries to files.

use crate::cli::locate::SessionStores;
use crate::cli::open::OpenSession;
use crate::cli::output::{Failure, Ui, to_visible};
use crate::export::images::{EntryImage, ImageData, image_suffix, read_images};
use crate::session::blobs::BlobStore;
use crate::session::entry::{EntryIx, Flags};
use pisess_json::write::Object;
use pisess_store::{self as store, NewFolder};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes the images of entries to a directory, and prints the path of each. The directory is made
/// if it is missing. An image whose bytes are not available is skipped with a warning. Fails with a
/// negative answer if no image was written.
pub fn write_images(
    open: &OpenSession,
    entries: &[EntryIx],
    folder: &Path,
    json: bool,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let mut entries_with_images = entries.to_vec();
    entries_with_images.retain(|&ix| open.session.entry(ix).flags.contains(Flags::IMAGES));
    if entries_with_images.is_empty() {
        let failure = open.input.negative_answer("no image");
        return Err(failure.with_hint("`pisess tree --filter images SESSION` finds them"));
    }

    let mut writer = ImageWriter {
        open,
        folder,
        json,
        blobs: SessionStores::locate(ui).blobs,
        new_folder: None,
        written_count: 0,
    };
    let reader = open.entry_reader();
    for ix in entries_with_images {
        let images = open
            .input
            .map_read_error(reader.with_entry(ix, read_images))?;
        let author = ImageAuthor::of_entry(open, ix)?;
        for (index, image) in images.into_iter().enumerate() {
            let number = index + 1;
            let name = ImageName {
                entry: ix,
                author: &author,
                file_stem: format!("{}-{number}-{}", file_stem(open, ix), author.name),
            };
            writer.write_image(name, image, ui)?;
        }
    }

    let written_count = writer.written_count;
    writer.keep_folder();
    if written_count == 0 {
        return Err(open.input.negative_answer("all images were skipped"));
    }
    Ok(())
}

/// Where an image comes from, and what its file is called.
struct ImageName<'a> {
    entry: EntryIx,
    author: &'a ImageAuthor,
    /// The name of the file without its extension.
    file_stem: String,
}

/// Writes images to a directory.
struct ImageWriter<'a> {
    open: &'a OpenSession,
    folder: &'a Path,
    json: bool,
    /// Where oh-my-pi keeps images.
    blobs: BlobStore,
    /// The directory, once an image is to be written. Dropping it removes a new directory.
    new_folder: Option<NewFolder>,
    written_count: usize,
}

impl ImageWriter<'_> {
    /// Writes an image, and prints its path. If its bytes are not available, warns of that.
    fn write_image(
        &mut self,
        name: ImageName,
        image: EntryImage,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let EntryImage { media_type, data } = image;
        let file_stem = &name.file_stem;
        let bytes = match load_bytes(data, &self.blobs) {
            Ok(bytes) => bytes,
            Err(reason) => {
                ui.warn(&format!("image {file_stem} is skipped: {reason}"));
                return Ok(());
            }
        };
        if self.new_folder.is_none() {
            self.new_folder = Some(NewFolder::make(&ui.resolve_path(self.folder))?);
        }
        let suffix = image_suffix(&bytes, &media_type);
        let path = self.folder.join(format!("{file_stem}.{suffix}"));
        create_file(self.open, &path, &bytes, ui)?;
        let written = WrittenImage {
            entry: name.entry,
            author: name.author,
            path: &path,
            media_type: &media_type,
            len: bytes.len(),
        };
        written.print(self.open, self.json, ui)?;
        self.written_count += 1;
        Ok(())
    }

    /// Keeps the directory, which is not empty.
    fn keep_folder(self) {
        if let Some(new_folder) = self.new_folder {
            new_folder.keep();
        }
    }
}

/// Returns the start of the names of an entry's files, for example `1a2b3c4d`. This is the entry's
/// id. It is the entry's line if the id is unsafe in a file name, or if a later entry has the same
/// id.
fn file_stem(open: &OpenSession, ix: EntryIx) -> String {
    let entry = open.session.entry(ix);
    let id = open.session.id(ix).to_string_lossy().into_owned();
    if is_safe_in_file_name(&id) && !entry.flags.contains(Flags::SUPERSEDED) {
        id
    } else {
        format!("line-{}", entry.line.0)
    }
}

/// Who added an image to the conversation.
struct ImageAuthor {
    /// The role of the message, as stored; the type of an entry without a message.
    role: String,
    /// The tool whose result has the image.
    tool: Option<String>,
    /// The tool, or else the role, in the name of a file.
    name: String,
}

impl ImageAuthor {
    /// Returns who added the images of an entry: the tool, if the entry is a tool result, and the
    /// role of the message. In the name of a file, `other` replaces a name that is unsafe there.
    fn of_entry(open: &OpenSession, ix: EntryIx) -> Result<ImageAuthor, Failure> {
        let session = &open.session;
        let role_or_type = session
            .role_name(ix)
            .unwrap_or_else(|| session.kind_name(ix));
        let role = role_or_type.to_string_lossy().into_owned();
        let tool = open.entry_reader().with_message(ix, |message| {
            let name = message.get_text("toolName")?;
            Some(name.to_string_lossy().into_owned())
        });
        let tool = open.input.map_read_error(tool)?;

        let author = tool.as_deref().unwrap_or(&role);
        let is_safe = is_safe_in_file_name(author);
        let name = if is_safe { author } else { "other" };
        Ok(ImageAuthor {
            name: name.to_owned(),
            role,
            tool,
        })
    }
}

/// Whether a text from a session may be a part of a file name: 1 to 64 letters, digits, hyphens and
/// underscores. The session is not trusted: a longer name, a dot or a separator could make a path
/// that cannot be created, or one elsewhere.
fn is_safe_in_file_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=64).contains(&text.len()) && text.bytes().all(is_plain)
}

/// Returns the bytes of an image, or the reason why they are not available.
fn load_bytes(data: ImageData, blobs: &BlobStore) -> Result<Vec<u8>, String> {
    match data {
        ImageData::Stored(bytes) => Ok(bytes),
        ImageData::Missing => Err("it has no data".to_owned()),
        ImageData::Invalid => Err("its data is not base64".to_owned()),
        ImageData::Blob(hash) => blobs
            .read(&hash)
            .map_err(|error| format!("its blob cannot be read: {error}")),
    }
}

/// Creates the file of an image. An existing file with the same content is left as it is.
fn create_file(open: &OpenSession, path: &Path, bytes: &[u8], ui: &mut Ui) -> Result<(), Failure> {
    let path: PathBuf = ui.resolve_path(path);
    let mut write = |out: &mut dyn Write| out.write_all(bytes);
    let force = false;
    let error = match store::create(&path, open.input.protected_file(), force, &mut write) {
        Ok(committed) => {
            ui.report_commit_warnings(&committed);
            return Ok(());
        }
        Err(error) => error,
    };
    if error.kind() != Some(io::ErrorKind::AlreadyExists) {
        return Err(error.into());
    }
    if store::has_content(&path, &mut write)? {
        return Ok(());
    }
    let path = to_visible(&path.to_string_lossy());
    let failure = Failure::invalid(format_args!("{path} exists with another content"));
    Err(failure.with_path(&path).with_hint("give another directory"))
}

/// An image that was written to a file.
struct WrittenImage<'a> {
    entry: EntryIx,
    author: &'a ImageAuthor,
    path: &'a Path,
    media_type: &'a str,
    len: usize,
}

impl WrittenImage<'_> {
    /// Prints the path of the image, so that other commands can read it; or its facts as JSON.
    fn print(&self, open: &OpenSession, json: bool, ui: &mut Ui) -> Result<(), Failure> {
        let path = self.path.to_string_lossy();
        if !json {
            return ui.print_path(&path);
        }
        let row = Object::new()
            .text("id", &open.session.id(self.entry))
            .str("role", &self.author.role)
            .str_or_null("tool", self.author.tool.as_deref())
            .str("path", &path)
            .str("mimeType", self.media_type)
            .number("bytes", self.len as f64);
        ui.print_json(&row.finish())
    }
}
