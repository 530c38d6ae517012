//! Reads the arguments of a command besides the session: entries, a text, secrets.

use super::open::Input;
use crate::cli::output::{Failure, Ui, visible};
use std::io::Read;
use std::path::Path;

/// The maximum number of bytes of entries, which are held in memory: a device such as `/dev/zero`
/// has no end.
pub const MOST_ENTRIES: u64 = 128 << 20;
/// The maximum number of bytes of a text or of a list of secrets.
pub const MOST_TEXT: u64 = 10 << 20;

/// Returns the bytes of a file, or of standard input for `-`, with the name of their source for
/// messages. `kind` completes the hint "give the path of …".
///
/// # Errors
/// If the source cannot be read, has more than `most` bytes, or is standard input, from which the
/// session is read already.
pub fn read(
    path: &Path,
    kind: &str,
    most: u64,
    session: Option<&Input>,
    ui: &mut Ui,
) -> Result<(String, Vec<u8>), Failure> {
    if path == Path::new("-") && session.is_some_and(Input::is_stream) {
        return Err(Failure::cannot("standard input is already the session")
            .hint("give the path of the session instead of -"));
    }
    let mut bytes = Vec::new();
    let (name, read) = if path == Path::new("-") {
        (
            "standard input".to_owned(),
            ui.world.stdin.take(most + 1).read_to_end(&mut bytes),
        )
    } else {
        let file = std::fs::File::open(path);
        (
            visible(&path.to_string_lossy()),
            file.and_then(|file| file.take(most + 1).read_to_end(&mut bytes)),
        )
    };
    match read {
        Ok(_) if bytes.len() as u64 > most => {
            let what = format!(
                "{name}: more than {} MiB, which is the limit for {kind}",
                most >> 20
            );
            Err(Failure::cannot(what).hint("give a smaller file"))
        }
        Ok(_) => Ok((name, bytes)),
        Err(error) => Err(Failure::reading(&name, error)
            .hint(format!("give the path of {kind}, or - for standard input"))),
    }
}

/// Returns a text, without trailing newlines.
pub fn read_text(path: &Path, session: &Input, ui: &mut Ui) -> Result<String, Failure> {
    let (_, bytes) = read(path, "a text file", MOST_TEXT, Some(session), ui)?;
    Ok(String::from_utf8_lossy(&bytes)
        .trim_end_matches(['\n', '\r'])
        .to_owned())
}

/// Returns the provider and the id of a model on the command line.
pub fn model(text: &str) -> Result<(String, String), &'static str> {
    let parts = text
        .split_once('/')
        .filter(|(provider, id)| !provider.is_empty() && !id.is_empty());
    let (provider, id) = parts.ok_or("write it as PROVIDER/ID")?;
    Ok((provider.to_owned(), id.to_owned()))
}
