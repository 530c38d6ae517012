//! Reads further arguments of a command from files or standard input: entries, texts, secrets.

use super::open::Input;
use crate::cli::output::{Failure, Ui, to_visible};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The maximum number of bytes of entries. They are held in memory, and a device such as
/// `/dev/zero` has no end.
pub const MOST_ENTRY_BYTES: u64 = 128 << 20;
/// The maximum number of bytes of a text or of a list of secrets.
pub const MOST_TEXT_BYTES: u64 = 10 << 20;

/// A file that an argument gives, or standard input.
pub struct GivenFile {
    /// The name of the source, for messages.
    pub name: String,
    pub bytes: Vec<u8>,
}

/// Reads a file, or standard input for `-`. `kind` describes the file in hints, as in "give the
/// path of a text file".
///
/// # Errors
/// If the source cannot be read, or has more than `max_bytes` bytes. Also if it is standard input,
/// and the session is read from there already.
pub fn read_argument(
    path: &Path,
    kind: &str,
    max_bytes: u64,
    session: Option<&Input>,
    ui: &mut Ui,
) -> Result<GivenFile, Failure> {
    if path == Path::new("-") && session.is_some_and(Input::is_stream) {
        return Err(Failure::invalid("standard input is already the session")
            .with_hint("give the path of the session instead of -"));
    }
    let name = if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        to_visible(&path.to_string_lossy())
    };
    // One byte beyond the limit is read, which shows whether there are more.
    let bytes = match read_start(path, max_bytes + 1, ui) {
        Ok(bytes) => bytes,
        Err(error) => {
            let failure = Failure::from_read_error(&name, error);
            let hint = format!("give the path of {kind}, or - for standard input");
            return Err(failure.with_hint(hint));
        }
    };
    if bytes.len() as u64 > max_bytes {
        let what = format!(
            "{name}: more than {} MiB, which is the limit for {kind}",
            max_bytes >> 20
        );
        return Err(Failure::invalid(what).with_hint("give a smaller file"));
    }
    Ok(GivenFile { name, bytes })
}

/// Reads at most `max_bytes` bytes from the start of a file, or of standard input for `-`.
fn read_start(path: &Path, max_bytes: u64, ui: &mut Ui) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        ui.world.stdin.take(max_bytes).read_to_end(&mut bytes)?;
    } else {
        let file = File::open(path)?;
        file.take(max_bytes).read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Reads a text, without its trailing newlines.
pub fn read_text(path: &Path, session: &Input, ui: &mut Ui) -> Result<String, Failure> {
    let file = read_argument(path, "a text file", MOST_TEXT_BYTES, Some(session), ui)?;
    Ok(String::from_utf8_lossy(&file.bytes)
        .trim_end_matches(['\n', '\r'])
        .to_owned())
}

/// Parses a model on the command line, `PROVIDER/ID`, into its provider and its id.
pub fn parse_model(text: &str) -> Result<(String, String), &'static str> {
    let parts = text
        .split_once('/')
        .filter(|(provider, id)| !provider.is_empty() && !id.is_empty());
    let (provider, id) = parts.ok_or("write it as PROVIDER/ID")?;
    Ok((provider.to_owned(), id.to_owned()))
}
