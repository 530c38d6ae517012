//! Paths as sessions record them: paths of this system or of another one.
//!
//! A session may be read on another system than the one that wrote it, so paths are handled as
//! strings. Their form shows the system they are from: Windows paths begin with a drive (`C:\`) or
//! with `\\`.

/// Whether a path is an absolute Windows path.
pub fn is_windows_absolute(path: &[u8]) -> bool {
    match path {
        [drive, b':', slash, ..] => drive.is_ascii_alphabetic() && is_slash(*slash),
        [first, second, ..] => *first == b'\\' && *second == b'\\',
        _ => false,
    }
}

/// Whether a path is absolute on any system.
pub fn is_absolute(path: &[u8]) -> bool {
    path.starts_with(b"/") || is_windows_absolute(path)
}

fn is_slash(byte: u8) -> bool {
    matches!(byte, b'/' | b'\\')
}

/// Returns the absolute path of a file that a tool call names, which may be relative to `cwd`. A
/// leading `./` is removed, and a Windows path gets `/` between its parts.
///
/// A path from `~` on stays as it is, because the home directory is not known here. So does a
/// relative path without a `cwd`.
pub fn absolute_path(named: &[u8], cwd: Option<&[u8]>) -> Vec<u8> {
    let is_relative = !named.starts_with(b"~") && !is_absolute(named);
    let mut absolute = Vec::new();
    if is_relative && let Some(cwd) = cwd {
        absolute.extend_from_slice(cwd);
        absolute.push(b'/');
    }
    absolute.extend_from_slice(named.strip_prefix(b"./").unwrap_or(named));

    if is_windows_absolute(&absolute) {
        for byte in &mut absolute {
            if *byte == b'\\' {
                *byte = b'/';
            }
        }
    }
    absolute
}

/// Removes the parts `.` and `..` and repeated slashes from a path: `a//./b/../c` becomes `a/c`.
/// Symbolic links are not followed.
pub fn collapse_dots(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            // An empty first part is the root.
            "" if !parts.is_empty() => {}
            ".." if parts.last().is_some_and(|last| is_plain_part(last)) => {
                parts.pop();
            }
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// Whether a `..` removes the part before it. It does not remove the root, the home directory, or
/// another `..`.
fn is_plain_part(part: &str) -> bool {
    !matches!(part, "" | ".." | "~")
}

/// Returns the part of a path below a directory: `x/y` for `/p/x/y` below `/p`, and an empty one
/// for `/p` itself. `None` if the path is not in the directory, or if that is empty or the root.
///
/// If the directory is a Windows path, case and the kind of separator make no difference.
pub fn strip_folder<'a>(path: &'a [u8], folder: &[u8]) -> Option<&'a [u8]> {
    let on_windows = is_windows_absolute(folder);
    let is_separator = |byte: u8| byte == b'/' || on_windows && byte == b'\\';

    // The directory without separators at its end. Of the root, nothing is left.
    let last_of_name = folder.iter().rposition(|&byte| !is_separator(byte))?;
    let folder = &folder[..=last_of_name];
    let (start, rest) = path.split_at_checked(folder.len())?;
    let is_same = if on_windows {
        equals_on_windows(start, folder)
    } else {
        start == folder
    };
    if !is_same {
        return None;
    }
    // The directory `/p` has nothing to do with `/pq`.
    if rest.first().is_some_and(|&byte| !is_separator(byte)) {
        return None;
    }
    let separators = rest.iter().take_while(|&&byte| is_separator(byte)).count();
    Some(&rest[separators..])
}

/// Whether two paths of the same length are equal on Windows, where case and the kind of separator
/// make no difference.
fn equals_on_windows(path: &[u8], other_path: &[u8]) -> bool {
    for (&byte, &other) in path.iter().zip(other_path) {
        let are_separators = is_slash(byte) && is_slash(other);
        if !are_separators && !byte.eq_ignore_ascii_case(&other) {
            return false;
        }
    }
    true
}

/// Returns a path with slashes in place of backslashes.
pub fn with_slashes(path: &[u8]) -> Vec<u8> {
    path.iter()
        .map(|&byte| if byte == b'\\' { b'/' } else { byte })
        .collect()
}

/// Returns the last part of a path, ignoring separators at its end; the whole path if it consists
/// of separators.
pub fn file_name(path: &str) -> &str {
    let on_windows = is_windows_absolute(path.as_bytes());
    let is_separator = |c: char| c == '/' || (on_windows && c == '\\');
    let trimmed = path.trim_end_matches(is_separator);
    let name = match trimmed.rfind(is_separator) {
        Some(separator) => &trimmed[separator + 1..],
        None => trimmed,
    };
    if name.is_empty() { path } else { name }
}

/// Returns a path with `~` in place of the home directory, if the path is in it.
pub fn abbreviate_home(path: &str, home: Option<&str>) -> String {
    let Some(rest) = home.and_then(|home| strip_folder(path.as_bytes(), home.as_bytes())) else {
        return path.to_owned();
    };
    // The rest begins after a separator, so this is a boundary between characters.
    let rest = &path[path.len() - rest.len()..];
    match rest {
        "" => "~".to_owned(),
        below_home if is_windows_absolute(path.as_bytes()) => format!("~\\{below_home}"),
        below_home => format!("~/{below_home}"),
    }
}

/// Converts a path that a Unix-like shell on Windows writes, `/c/x`, `/mnt/c/x` or `/cygdrive/c/x`,
/// to `C:\x`. `None` for a path of another form.
pub fn from_windows_shell(path: &str) -> Option<String> {
    let path = path.strip_prefix('/')?;
    if path.contains('\\') {
        return None;
    }
    let from_drive = path
        .strip_prefix("mnt/")
        .or_else(|| path.strip_prefix("cygdrive/"))
        .unwrap_or(path);
    // `/c` alone is the root of the drive.
    let (drive, below) = from_drive.split_once('/').unwrap_or((from_drive, ""));
    let is_drive = matches!(drive.as_bytes(), [letter] if letter.is_ascii_alphabetic());
    if !is_drive {
        return None;
    }
    let drive = drive.to_ascii_uppercase();
    let below = below.replace('/', "\\");
    Some(format!("{drive}:\\{below}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_of_a_path_shows_its_system() {
        for (path, windows, absolute) in [
            (r"C:\Users\me", true, true),
            ("c:/Users/me", true, true),
            (r"\\server\share\x", true, true),
            ("/home/me", false, true),
            ("C:", false, false),
            ("C:x", false, false),
            ("1:/x", false, false),
            (r"\x", false, false),
            ("src", false, false),
            ("", false, false),
        ] {
            let path = path.as_bytes();
            assert_eq!(
                (is_windows_absolute(path), is_absolute(path)),
                (windows, absolute),
                "{path:?}"
            );
        }
    }

    #[test]
    fn shells_on_windows_have_their_own_form() {
        for (path, wanted) in [
            ("/c/Users/me", Some(r"C:\Users\me")),
            ("/mnt/d", Some(r"D:\")),
            ("/cygdrive/c/x", Some(r"C:\x")),
            ("/home/me", None),
            ("//c/x", None),
            ("/mnt", None),
            (r"/c\x", None),
            ("c/x", None),
        ] {
            assert_eq!(from_windows_shell(path).as_deref(), wanted, "{path}");
        }
    }

    #[test]
    fn strip_folder_returns_the_rest_below_a_folder() {
        let rest = |path: &str, folder: &str| {
            strip_folder(path.as_bytes(), folder.as_bytes())
                .map(|rest| String::from_utf8(rest.to_vec()).unwrap())
        };
        for (path, folder, wanted) in [
            ("/p/x/y", "/p", Some("x/y")),
            ("/p//x", "/p/", Some("x")),
            ("/p", "/p", Some("")),
            ("/p/", "/p", Some("")),
            ("/pq", "/p", None),
            ("/P/x", "/p", None),
            (r"/p\x", "/p", None),
            ("/p/x", "/", None),
            (r"C:\p\x\y", r"C:\p", Some(r"x\y")),
            (r"c:\P/x", r"C:/p\", Some("x")),
            (r"C:\p", r"c:\p", Some("")),
            (r"C:\pq", r"C:\p", None),
            (r"D:\p\x", r"C:\p", None),
            (r"\\s\share\x", r"\\S\share", Some("x")),
            ("", "/p", None),
            ("/p", "", None),
        ] {
            assert_eq!(
                rest(path, folder).as_deref(),
                wanted,
                "{path} below {folder}"
            );
        }
    }

    #[test]
    fn names_and_homes_of_both_systems() {
        for (path, wanted) in [
            ("/home/me/proj/", "proj"),
            (r"C:\Users\me\proj", "proj"),
            (r"C:\Users\me\proj\", "proj"),
            (r"C:\", "C:"),
            (r"/home/me/a\b", r"a\b"),
            ("/", "/"),
            ("", ""),
        ] {
            assert_eq!(file_name(path), wanted, "{path}");
        }
        for (path, home, wanted) in [
            ("/home/me/proj", "/home/me", "~/proj"),
            ("/home/me", "/home/me", "~"),
            ("/home/me2", "/home/me", "/home/me2"),
            (r"C:\Users\me\proj\a", r"C:\Users\me", r"~\proj\a"),
            (r"C:\Users\me\proj", "/home/me", r"C:\Users\me\proj"),
            ("/home/me/proj", r"C:\Users\me", "/home/me/proj"),
        ] {
            assert_eq!(
                abbreviate_home(path, Some(home)),
                wanted,
                "{path} in {home}"
            );
        }
        assert_eq!(abbreviate_home("/x", None), "/x");
    }
}
