//! The path of an export: the argument of `-o`, or a name derived from the session.

use super::{Args, examples};
use crate::cli::open::Input;
use crate::cli::output::Ui;
use crate::cli::rollouts::is_pipe;
use crate::export::source::Contents;
use crate::export::verify::Rendition;
use crate::format::{ID_SUFFIX_LEN, id_suffix};
use pisess_store as store;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Returns the path of the export. That is the file of `-o`; or a file named after the session, in
/// the directory of `-o` or, without `-o`, in the current directory. The export of a stream, which
/// has no name, is `-`: standard output.
///
/// If the session is one of a directory, its page or document is named after its title, so that
/// people find it. A trajectory always has the name of its session.
pub fn output_path(
    args: &Args,
    format: Rendition,
    contents: &Contents,
    input: &Input,
    is_from_directory: bool,
    ui: &Ui,
) -> PathBuf {
    // A session that was converted or decompressed in memory has no file, but a path.
    let path = input.path.as_deref().filter(|path| !is_pipe(path));
    let Some((path, stem)) = path.and_then(|path| Some((path, session_stem(path)?))) else {
        return place_output(args, PathBuf::from("-"), ui);
    };
    let extension = format_extension(format);
    let is_named_after_title = is_from_directory && format != Rendition::Trajectory;
    let name = if is_named_after_title {
        let title = contents.file_name_of_title(&short_id(contents, stem));
        PathBuf::from(title + extension)
    } else {
        store::with_suffix(Path::new(stem), extension)
    };
    place_output(args, distinguish_from(path, name, extension), ui)
}

/// Returns the name of an export that is not the name of the session itself. A session of OpenCode,
/// for example, is a `.json` file, too: then `a.json` is exported to `a.export.json`.
fn distinguish_from(session: &Path, name: PathBuf, extension: &str) -> PathBuf {
    let is_name_of_session = session.file_name() == Some(name.as_os_str());
    if !is_name_of_session {
        return name;
    }
    store::with_suffix(&name.with_extension(""), &format!(".export{extension}"))
}

fn format_extension(format: Rendition) -> &'static str {
    match format {
        Rendition::Page | Rendition::StaticPage => ".html",
        Rendition::Markdown => ".md",
        Rendition::Trajectory => ".json",
        Rendition::Messages => examples::SUFFIX,
    }
}

/// Returns the name of a session's file without its extension; of a compressed file, as Codex has
/// them, also without `.zst`.
pub fn session_stem(path: &Path) -> Option<&OsStr> {
    let is_compressed = path.extension().is_some_and(|end| end == "zst");
    let stem = path.file_stem()?;
    if is_compressed {
        Path::new(stem).file_stem()
    } else {
        Some(stem)
    }
}

/// Returns where an export goes that is called `name` if `-o` gives no file: the file of `-o`, or
/// `name` in the directory of `-o` or, without `-o`, in the current directory.
pub fn place_output(args: &Args, name: PathBuf, ui: &Ui) -> PathBuf {
    let Some(output) = &args.output else {
        return name;
    };
    if ui.resolve_path(output).is_dir() {
        output.join(name)
    } else {
        output.clone()
    }
}

/// Returns the short id of a session, as `list` shows it. A session without an id gets one from the
/// name of its file.
fn short_id(contents: &Contents, stem: &OsStr) -> String {
    let mut id = contents.session.header.id.to_string_lossy().into_owned();
    if id.is_empty() {
        id = stem.to_string_lossy().into_owned();
    }
    // The id of another agent's sub-agent is `SESSION/AGENT`.
    id_suffix(&id, ID_SUFFIX_LEN).replace('/', "-")
}
