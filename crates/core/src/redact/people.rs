//! Replaces home directories and user names with `~` and `user`.

use super::places::RangeSet;
use super::unescape::escape_levels;
use super::values::raw_needles;
use super::{Replacement, Splice};
use pisess_json::strings::{LineString, Strings};
use regex::bytes::Regex;
use std::collections::BTreeSet;

/// The expressions for the home directories and names to replace.
#[derive(Debug)]
pub struct People {
    /// Matches a home directory, with the separators of any system.
    home: Regex,
    /// Matches the names of users, as whole words; `None` if no name is known.
    names: Option<Regex>,
    /// Literals for the prefilter. Every line with a home directory or a name contains at least one
    /// of them.
    pub(super) needles: Vec<Vec<u8>>,
}

/// User names that exist on many machines, so they do not identify a person.
const COMMON_NAMES: [&str; 12] = [
    "root", "user", "users", "home", "ubuntu", "debian", "admin", "runner", "node", "app", "work",
    "shared",
];

impl People {
    /// Returns the expressions for the users of these home directories. Home directories of other
    /// users (`/home/NAME`, `/Users/NAME`, `C:\Users\NAME`) match as well, but the names of other
    /// users match only there.
    pub fn new<'a>(homes: impl IntoIterator<Item = &'a str>) -> People {
        let homes: BTreeSet<&str> = homes
            .into_iter()
            .map(|home| home.trim_end_matches(['/', '\\']))
            .collect();
        let names: BTreeSet<&str> = homes.iter().filter_map(|home| user_name_in(home)).collect();

        // These needles also find the home directories of unknown users.
        let mut needles = Vec::new();
        for parent in ["/home", "/Users", "\\Users"] {
            needles.push(parent.as_bytes().to_vec());
        }
        for text in names.iter().chain(&homes) {
            needles.extend(raw_needles(text.as_bytes()));
        }
        People {
            home: compile_homes(&homes),
            names: compile_names(&names),
            needles,
        }
    }

    /// Returns replacements for the home directories and names in the strings of a line of JSON, on
    /// every level of escapes. The replacements do not overlap. In a malformed line, only the
    /// strings before the error are searched.
    pub(super) fn find_splices(&self, line: &[u8]) -> Vec<Splice> {
        let mut replacements = Replacements::default();
        let mut strings = Strings::new(line);
        while let Ok(Some(string)) = strings.advance() {
            // Directories come first, so that the name in a directory is replaced along with it.
            replacements.add_matches(&string, &self.home, "~");
            if let Some(names) = &self.names {
                replacements.add_matches(&string, names, "user");
            }
        }
        replacements.splices
    }
}

/// The replacements for a line.
#[derive(Default)]
struct Replacements {
    splices: Vec<Splice>,
    /// The ranges of `splices`, which do not overlap.
    ranges: RangeSet,
}

impl Replacements {
    /// Replaces the matches of an expression in a string, on every level of its escapes. A match
    /// that overlaps an earlier replacement is left out.
    fn add_matches(&mut self, string: &LineString, expression: &Regex, replacement: &str) {
        let string_start = string.range.start;
        for level in escape_levels(string.raw.bytes) {
            for found in expression.find_iter(&level.text) {
                let in_string = level.source_range(found.range());
                let in_line = string_start + in_string.start..string_start + in_string.end;
                if self.ranges.overlaps(&in_line) {
                    continue;
                }
                self.ranges.insert(&in_line);
                self.splices.push(Splice {
                    range: in_line,
                    replacement: Replacement::Bytes(replacement.as_bytes().to_vec()),
                });
            }
        }
    }
}

/// Returns the expression for these home directories, and for any directory below `home` or
/// `Users`.
fn compile_homes(homes: &BTreeSet<&str>) -> Regex {
    // The home directories in other places, such as `/root`.
    let mut alternatives = String::new();
    for home in homes {
        let is_path = home.len() > 1 && home.contains(['/', '\\']);
        if is_path && user_name_in(home).is_none() {
            alternatives.push('|');
            alternatives.push_str(&regex::escape(home));
        }
    }
    // A home directory is a parent and a name. The name does not end with a dot, which may end a
    // sentence.
    compile_expression(&format!(
        r"(?-u)(?:(?:[A-Za-z]:)?[/\\](?:home|Users)[/\\][A-Za-z0-9._-]*[A-Za-z0-9_-]{alternatives})\b"
    ))
}

/// Returns the expression for these names as whole words; `None` if there are none.
fn compile_names(names: &BTreeSet<&str>) -> Option<Regex> {
    if names.is_empty() {
        return None;
    }
    let words: Vec<_> = names.iter().map(|name| regex::escape(name)).collect();
    let expression = format!(r"(?-u)\b(?:{})\b", words.join("|"));
    Some(compile_expression(&expression))
}

/// Compiles an expression in which names and directories are escaped.
fn compile_expression(expression: &str) -> Regex {
    Regex::new(expression).expect("names are escaped, so it is an expression")
}

/// Returns the name of the user of a home directory. `None` if the directory is not directly below
/// `home` or `Users`. Also `None` for a name that does not identify a person, because it is in
/// [`COMMON_NAMES`] or has fewer than three bytes.
fn user_name_in(home: &str) -> Option<&str> {
    let mut parts_from_end = home.rsplit(['/', '\\']);
    let name = parts_from_end.next()?;
    let parent = parts_from_end.next()?;
    if !matches!(parent, "home" | "Users") || name.len() < 3 {
        return None;
    }
    let is_common = COMMON_NAMES
        .iter()
        .any(|common| name.eq_ignore_ascii_case(common));
    if is_common { None } else { Some(name) }
}

/// Returns the home directory in the path of a session's directory: the path up to the name below
/// `/home`, `/Users` or `C:\Users`. `None` if there is none. The directory need not exist.
pub fn find_home(cwd: &str) -> Option<&str> {
    let is_separator = |byte: &u8| matches!(byte, b'/' | b'\\');
    let mut parts = cwd.as_bytes().split(is_separator);
    // Empty, or a drive such as `C:`.
    let root = parts.next()?;
    let parent = parts.next()?;
    let name = parts.next()?;
    if !matches!(parent, b"home" | b"Users") {
        return None;
    }
    let separators_len = "//".len();
    Some(&cwd[..root.len() + parent.len() + name.len() + separators_len])
}
