//! Reads the arguments of a command besides the session: entries, a text, secrets.

use super::open::Input;
use crate::cli::output::{Failure, Ui, to_visible};
use std::io::Read;
use std::path::Path;

/// The maximum number of bytes of entries, which are held in memory: a device such as `/dev/zero`
/// has no end.
pub const MOST_ENTRY_BYTES: u64 = 128 << 20;
/// The maximum number of bytes of a text or of a list of secrets.
pub const MOST_TEXT_BYTES: u64 = 10 << 20;

/// Returns the bytes of a file, or of standard input for `-`, with the name of their source for
/// messages. `kind` completes the hint "give the path of …".
///
/// # Errors
/// If the source cannot be read, has more than `max_bytes` bytes, or is standard input, from which
/// the session is read already.
pub fn read_argument(
    path: &Path,
    kind: &str,
    max_bytes: u64,
    session: Option<&Input>,
    ui: &mut Ui,
) -> Result<(String, Vec<u8>), Failure> {
    if path == Path::new("-") && session.is_some_and(Input::is_stream) {
        return Err(Failure::invalid("standard input is already the session")
            .with_hint("give the path of the session instead of -"));
    }
    // One byte more than the limit shows that there are more bytes.
    let mut bytes = Vec::new();
    let name;
    let result;
    if path == Path::new("-") {
        name = "standard input".to_owned();
        result = ui.world.stdin.take(max_bytes + 1).read_to_end(&mut bytes);
    } else {
        name = to_visible(&path.to_string_lossy());
        result = match std::fs::File::open(path) {
            Ok(file) => file.take(max_bytes + 1).read_to_end(&mut bytes),
            Err(error) => Err(error),
        };
    }
    match result {
        Ok(_) if bytes.len() as u64 > max_bytes => {
            let what = format!(
                "{name}: more than {} MiB, which is the limit for {kind}",
                max_bytes >> 20
            );
            Err(Failure::invalid(what).with_hint("give a smaller file"))
        }
        Ok(_) => Ok((name, bytes)),
        Err(error) => Err(Failure::from_read_error(&name, error)
            .with_hint(format!("give the path of {kind}, or - for standard input"))),
    }
}

/// Returns a text, without trailing newlines.
pub fn read_text(path: &Path, session: &Input, ui: &mut Ui) -> Result<String, Failure> {
    let (_, bytes) = read_argument(path, "a text file", MOST_TEXT_BYTES, Some(session), ui)?;
    Ok(String::from_utf8_lossy(&bytes)
        .trim_end_matches(['\n', '\r'])
        .to_owned())
}

/// Returns the provider and the id of a model on the command line.
pub fn parse_model(text: &str) -> Result<(String, String), &'static str> {
    let parts = text
        .split_once('/')
        .filter(|(provider, id)| !provider.is_empty() && !id.is_empty());
    let (provider, id) = parts.ok_or("write it as PROVIDER/ID")?;
    Ok((provider.to_owned(), id.to_owned()))
}
