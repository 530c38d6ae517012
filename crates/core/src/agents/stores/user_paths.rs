//! Paths as pi resolves them, without looking at the disk.

use super::BaseDirs;
use crate::session::paths::{from_windows_shell, is_windows_absolute};
use std::path::{Component, Path, PathBuf};

/// Whether the `cwd` of a header is the current directory. As in pi, both are made absolute, and
/// links are not resolved.
pub fn is_cwd(cwd: &str, base_dirs: BaseDirs) -> bool {
    !cwd.is_empty() && resolve_user_path(cwd, base_dirs) == normalize_path(base_dirs.cwd)
}

/// The start of a URL that names a file, before the path.
const FILE_URL_PREFIX: &str = if cfg!(windows) { "file:///" } else { "file://" };
/// The characters that separate the parts of a path.
const SEPARATORS: &[char] = if cfg!(windows) { &['/', '\\'] } else { &['/'] };

/// Resolves a path as pi does with paths from the user: `~` is the home directory, `file://` is
/// removed, and relative paths start from the current directory. On Windows, a path as a Unix-like
/// shell writes it is converted first.
pub fn resolve_user_path(path: &str, base_dirs: BaseDirs) -> PathBuf {
    let windows_path = if cfg!(windows) {
        from_windows_shell(path)
    } else {
        None
    };
    let path = match &windows_path {
        Some(windows_path) => windows_path,
        None => path.strip_prefix(FILE_URL_PREFIX).unwrap_or(path),
    };
    if !cfg!(windows) && is_windows_absolute(path.as_bytes()) {
        // The path is from a session of another system, and stays as it is.
        return PathBuf::from(path);
    }

    if let Some(home) = base_dirs.home
        && let Some(rest) = path.strip_prefix('~')
        && (rest.is_empty() || rest.starts_with(SEPARATORS))
    {
        return normalize_path(&home.join(rest.trim_start_matches(SEPARATORS)));
    }
    normalize_path(&base_dirs.cwd.join(path))
}

/// Returns a path without the components `.` and `..`, and without separators at its end. Each `..`
/// also removes the component before it, even if that is a link: the disk is not looked at.
pub fn normalize_path(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
