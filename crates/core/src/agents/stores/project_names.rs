//! The names of the directories in which the agents keep the sessions of a project. The path of the
//! project is encoded in the name, with `-` in place of each separator.
//!
//! ```text
//! agent       name              project
//! pi          --home-u-x--      /home/u/x
//! oh-my-pi    -x                /home/u/x, if /home/u is the home directory
//!             -tmp-x            /tmp/x
//!             --opt-x--         /opt/x
//! ```
//!
//! For some versions, oh-my-pi ended the name with a hash of the path (see
//! [`hashed_project_name`]).

use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

/// Returns the name of the store's directory for a project below `folder`: `prefix`, then the path
/// of the project relative to `folder`. `None` if the project is not below `folder`.
pub(super) fn relative_project_name(project: &Path, folder: &Path, prefix: &str) -> Option<String> {
    let below = project.strip_prefix(folder).ok()?.to_string_lossy();
    if below.starts_with("..") {
        // oh-my-pi mistakes a name that begins with `..` for a path outside of the directory.
        return None;
    }
    let needs_separator = !below.is_empty() && !prefix.ends_with('-');
    let separator = if needs_separator { "-" } else { "" };
    Some(format!("{prefix}{separator}{}", replace_separators(&below)))
}

/// Returns the name that oh-my-pi 17.2.5 to 17.2.8 gave to a project's directory: `home-my-app-`
/// and a hash of the path for `~/My/my app`. `scope` is `home`, `tmp` or `abs`. The part between
/// scope and hash is the end of the directory's name in plain characters.
pub(super) fn hashed_project_name(scope: &str, real_cwd: &Path) -> String {
    const MAX_READABLE_LEN: usize = 80;

    let name = real_cwd.file_name().unwrap_or_default().to_string_lossy();
    let is_kept = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let parts: Vec<_> = name
        .split(|c| !is_kept(c))
        .filter(|part| !part.is_empty())
        .collect();
    let joined = parts.join("-");
    let plain_name = joined.trim_matches('-');
    // All characters are ASCII, so a byte offset is one of characters.
    let suffix_start = plain_name.len().saturating_sub(MAX_READABLE_LEN);
    let suffix = &plain_name[suffix_start..];
    let readable = if suffix.is_empty() { "project" } else { suffix };

    let path = real_cwd.to_string_lossy().replace('\\', "/");
    let digest = Sha256::digest(path.as_bytes());
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{scope}-{readable}-{digest}")
}

/// Returns a path in the form of a directory name: `--home-u-x--` for `/home/u/x`.
pub(super) fn encode_path(path: &Path) -> String {
    let whole = path.to_string_lossy();
    let below_root = whole.strip_prefix(['/', '\\']).unwrap_or(&whole);
    format!("--{}--", replace_separators(below_root))
}

/// Returns a path with `-` for each separator.
fn replace_separators(path: &str) -> String {
    path.replace(['/', '\\', ':'], "-")
}

/// Whether the directory `name`, in the store of either agent, is the directory of the project in
/// `cwd`.
pub fn is_name_of_project(name: &str, cwd: &str, home: Option<&Path>) -> bool {
    let cwd = Path::new(cwd);
    if name == encode_path(cwd) {
        return true;
    }
    let Some(project) = parse_project_name(name, home) else {
        return false;
    };
    // Several paths have the same encoding, so the name cannot be decoded. `cwd` is encoded in its
    // place.
    let Ok(below_root) = cwd.strip_prefix(&project.root) else {
        return false;
    };
    replace_separators(&below_root.to_string_lossy()) == project.path
}

/// The name of a project's directory in a store, divided into its parts.
#[derive(Debug)]
pub struct ProjectName<'n> {
    /// The directory to which the path is relative.
    pub root: PathBuf,
    /// The rest of the path, with `-` in place of each separator.
    pub path: &'n str,
}

/// Splits the name of a project's directory in a store into a root and a path below it. `--PATH--`
/// is relative to the root directory, `-tmp-PATH` to `/tmp`, and `-PATH` to the home directory.
///
/// `None` if the name has another form, encodes a path on Windows, or needs a home directory that
/// is not known.
pub fn parse_project_name<'n>(name: &'n str, home: Option<&Path>) -> Option<ProjectName<'n>> {
    if let Some(rest) = name.strip_prefix("--") {
        let path = rest.strip_suffix("--")?;
        // In `--C--Users--`, a path on Windows, the root is a drive.
        if decode_windows_path(path).is_some() {
            return None;
        }
        return Some(ProjectName {
            root: PathBuf::from("/"),
            path,
        });
    }

    let path = name.strip_prefix('-')?;
    let in_tmp = match path {
        "tmp" => Some(""),
        _ => path.strip_prefix("tmp-"),
    };
    if let Some(path) = in_tmp {
        return Some(ProjectName {
            root: PathBuf::from("/tmp"),
            path,
        });
    }
    Some(ProjectName {
        root: home?.to_owned(),
        path,
    })
}

/// Returns the directory of a project from its name in a store. Each `-` of the name is assumed to
/// be a separator, although the path may contain `-`, too.
pub fn decode_project_name(name: &str, home: Option<&Path>) -> Option<String> {
    let absolute_path = name
        .strip_prefix("--")
        .and_then(|rest| rest.strip_suffix("--"));
    if let Some(path) = absolute_path.and_then(decode_windows_path) {
        return Some(path);
    }
    let project = parse_project_name(name, home)?;
    let path = project.root.join(project.path.replace('-', "/"));
    Some(path.to_string_lossy().into_owned())
}

/// Returns the path on Windows that pi encoded as `C--Users-x`; `None` for a name of another form.
fn decode_windows_path(encoded: &str) -> Option<String> {
    let (drive, rest) = encoded.split_once("--")?;
    let is_drive = drive.len() == 1 && drive.starts_with(|c: char| c.is_ascii_alphabetic());
    if !is_drive {
        return None;
    }
    Some(format!("{drive}:\\{}", rest.replace('-', "\\")))
}
