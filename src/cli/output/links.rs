//! Links on a terminal (OSC 8): a click on a path opens its file.

use crate::cli::options::LinkChoice;
use std::path::{Path, PathBuf};

/// The environment variable with the default of `--hyperlink`.
const LINK_VARIABLE: &str = "PISESS_HYPERLINK";

/// The values of `TERM_PROGRAM` and, below, of `TERM` that identify terminals with links.
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
/// Variables that only terminals with links set.
const TERMINAL_VARIABLES: [&str; 3] = ["WT_SESSION", "DOMTERM", "KONSOLE_VERSION"];
/// The first version of the library VTE with reliable links. GNOME's terminals use it.
const FIRST_VTE_VERSION: u32 = 5000;

/// Makes links to files, if links are enabled.
#[derive(Clone, Debug, Default)]
pub struct Links {
    is_enabled: bool,
    /// The directory from which relative paths start.
    folder: PathBuf,
}

impl Links {
    /// Enables links as `--hyperlink` requests, else as the environment variable does; without
    /// both, disables them. With `auto`, links are enabled on a terminal that is known to have
    /// links.
    pub fn new(
        choice: Option<LinkChoice>,
        is_terminal: bool,
        env: &dyn Fn(&str) -> Option<String>,
        folder: &Path,
    ) -> Links {
        let is_enabled = match choice.unwrap_or_else(|| default_choice(env)) {
            LinkChoice::Always => true,
            LinkChoice::Auto => is_terminal && terminal_has_links(env),
            LinkChoice::Never => false,
        };
        Links {
            is_enabled,
            folder: folder.to_owned(),
        }
    }

    /// Returns `text` as a link to a file; unchanged if links are disabled. `text` has been
    /// escaped, and may have styles.
    pub fn link_path(&self, text: &str, path: &Path) -> String {
        match self.address_of(path) {
            Some(address) if !text.is_empty() => link_text(text, &address),
            _ => text.to_owned(),
        }
    }

    pub fn are_enabled(&self) -> bool {
        self.is_enabled
    }

    /// Returns the address of a file; `None` if links are disabled.
    pub fn address_of(&self, path: &Path) -> Option<String> {
        if self.is_enabled {
            Some(file_address(&self.folder.join(path)))
        } else {
            None
        }
    }
}

/// Returns `text` as a link to an address. `text` has been escaped, and may have styles.
pub fn link_text(text: &str, address: &str) -> String {
    format!("\x1b]8;;{address}\x1b\\{text}\x1b]8;;\x1b\\")
}

/// Returns the choice in the environment variable, which applies without `--hyperlink`.
fn default_choice(env: &dyn Fn(&str) -> Option<String>) -> LinkChoice {
    match env(LINK_VARIABLE).as_deref() {
        None | Some("" | "0" | "never") => LinkChoice::Never,
        Some("always") => LinkChoice::Always,
        Some(_) => LinkChoice::Auto,
    }
}

/// Whether the terminal is known to have links.
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

/// Returns the `file:` address of an absolute path. Every byte is percent-encoded, except letters,
/// digits and a few punctuation marks.
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
        let auto = Some(LinkChoice::Auto);
        assert_eq!(link(auto, true, "VTE_VERSION=7600"), LINKED);
        assert_eq!(link(auto, false, "VTE_VERSION=7600"), "x");
        assert_eq!(link(auto, true, ""), "x");
        assert_eq!(link(Some(LinkChoice::Always), false, ""), LINKED);
        assert_eq!(link(None, true, "VTE_VERSION=7600"), "x");
        let always = "PISESS_HYPERLINK=always";
        assert_eq!(link(None, false, always), LINKED);
        assert_eq!(link(Some(LinkChoice::Never), false, always), "x");
    }

    const LINKED: &str = "\x1b]8;;file:///w/a%20b\x1b\\x\x1b]8;;\x1b\\";

    /// Returns a text linked to a file, given the one variable of the environment.
    fn link(choice: Option<LinkChoice>, is_terminal: bool, variable: &str) -> String {
        let env = |name: &str| {
            let value = variable.strip_prefix(name)?.strip_prefix('=')?;
            Some(value.to_owned())
        };
        let links = Links::new(choice, is_terminal, &env, Path::new("/w"));
        links.link_path("x", Path::new("a b"))
    }
}
