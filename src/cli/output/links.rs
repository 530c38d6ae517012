//! Links on a terminal (OSC 8): a path that a click opens.

use crate::cli::options::LinkChoice;
use std::path::{Path, PathBuf};

/// The environment variable that asks for links where `--hyperlink` is not given.
const LINK_VARIABLE: &str = "PISESS_HYPERLINK";

/// The values of `TERM_PROGRAM` and `TERM` of terminals with links.
const TERMINAL_PROGRAMS: [&str; 6] = [
    "iTerm.app",
    "WezTerm",
    "vscode",
    "ghostty",
    "Hyper",
    "Tabby",
];
const TERMINAL_NAMES: [&str; 6] = [
    "xterm-kitty",
    "alacritty",
    "foot",
    "contour",
    "xterm-ghostty",
    "wezterm",
];
/// Variables that are set only by terminals with links.
const TERMINAL_VARIABLES: [&str; 3] = ["WT_SESSION", "DOMTERM", "KONSOLE_VERSION"];
/// The first version of the library VTE, which GNOME's terminals use, whose links are reliable.
const FIRST_VTE_VERSION: u32 = 5000;

/// Makes links, if they are wanted.
#[derive(Clone, Debug, Default)]
pub struct Links {
    is_enabled: bool,
    /// The directory that relative paths start from.
    folder: PathBuf,
}

impl Links {
    /// Returns links as requested: `--hyperlink`, else the environment variable, else none. With
    /// `auto`, `is_terminal` and the environment decide.
    pub fn new(
        choice: Option<LinkChoice>,
        is_terminal: bool,
        env: &dyn Fn(&str) -> Option<String>,
        folder: &Path,
    ) -> Links {
        let wanted = choice.or_else(|| match &*env(LINK_VARIABLE)? {
            "" | "0" | "never" => None,
            "always" => Some(LinkChoice::Always),
            _ => Some(LinkChoice::Auto),
        });
        let is_enabled = match wanted {
            Some(LinkChoice::Always) => true,
            Some(LinkChoice::Auto) => is_terminal && terminal_has_links(env),
            Some(LinkChoice::Never) | None => false,
        };
        Links {
            is_enabled,
            folder: folder.to_owned(),
        }
    }

    /// Returns a text as a link to a file. `text` is visible already, and may have styles.
    pub fn link_path(&self, text: &str, path: &Path) -> String {
        if !self.is_enabled || text.is_empty() {
            return text.to_owned();
        }
        let address = file_address(&self.folder.join(path));
        format!("\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\")
    }
}

/// Whether the terminal is one of those known to have links.
fn terminal_has_links(env: &dyn Fn(&str) -> Option<String>) -> bool {
    let term = env("TERM").unwrap_or_default();
    if term == "dumb" {
        return false;
    }
    let program = env("TERM_PROGRAM").unwrap_or_default();
    let vte_version = env("VTE_VERSION").and_then(|version| version.parse::<u32>().ok());
    TERMINAL_PROGRAMS.contains(&&*program)
        || TERMINAL_NAMES.contains(&&*term)
        || TERMINAL_VARIABLES.iter().any(|name| env(name).is_some())
        || vte_version.is_some_and(|version| version >= FIRST_VTE_VERSION)
}

/// Returns the `file:` address of an absolute path. Every byte but letters, digits and a few marks
/// is escaped.
fn file_address(path: &Path) -> String {
    let mut address = String::from("file://");
    let bytes = path.as_os_str().as_encoded_bytes();
    if !bytes.starts_with(b"/") {
        address.push('/');
    }
    for &byte in bytes {
        match byte {
            b'\\' if cfg!(windows) => address.push('/'),
            b':' if cfg!(windows) => address.push(':'),
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                address.push(char::from(byte));
            }
            _ => address += &format!("%{byte:02X}"),
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_made_where_they_are_wanted() {
        let env = |name: &str| match name {
            "VTE_VERSION" => Some("7600".to_owned()),
            _ => None,
        };
        let none = |_: &str| None;
        let link = |choice, is_terminal, env: &dyn Fn(&str) -> Option<String>| {
            let links = Links::new(choice, is_terminal, env, Path::new("/w"));
            links.link_path("x", Path::new("a b"))
        };
        let linked = "\x1b]8;;file:///w/a%20b\x1b\\x\x1b]8;;\x1b\\";
        assert_eq!(link(Some(LinkChoice::Auto), true, &env), linked);
        assert_eq!(link(Some(LinkChoice::Auto), false, &env), "x");
        assert_eq!(link(Some(LinkChoice::Auto), true, &none), "x");
        assert_eq!(link(Some(LinkChoice::Always), false, &none), linked);
        assert_eq!(link(None, true, &env), "x");
        let asks = |name: &str| (name == LINK_VARIABLE).then(|| "always".to_owned());
        assert_eq!(link(None, false, &asks), linked);
        assert_eq!(link(Some(LinkChoice::Never), false, &asks), "x");
    }
}
