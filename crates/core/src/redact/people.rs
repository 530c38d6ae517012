//! Replaces home directories and user names with `~` and `user`.

use super::Splice;
use super::places::Places;
use super::unescape::levels;
use super::values::raw_needles;
use pisess_json::strings::Strings;
use regex::bytes::Regex;
use std::collections::BTreeSet;

/// The directories and names to replace.
#[derive(Debug)]
pub struct People {
    /// Matches a home directory, wherever it is written, with the separators of any system.
    home: Regex,
    /// Matches the names of users, as whole words; `None` if none is known.
    names: Option<Regex>,
    /// Literals, at least one of which is in every line with a home directory or a name.
    pub(super) needles: Vec<Vec<u8>>,
}

/// Users that exist on every machine: not names of people.
const COMMON: [&str; 12] = [
    "root", "user", "users", "home", "ubuntu", "debian", "admin", "runner", "node", "app", "work",
    "shared",
];

impl People {
    /// Returns the rules for the users of these home directories. Home directories of others
    /// (`/home/NAME`, `/Users/NAME`, `C:\Users\NAME`) are replaced as well, but the names of those
    /// others are not recognized elsewhere.
    pub fn new<'a>(homes: impl IntoIterator<Item = &'a str>) -> People {
        let homes: BTreeSet<&str> = homes
            .into_iter()
            .map(|home| home.trim_end_matches(['/', '\\']))
            .collect();
        let names: BTreeSet<&str> = homes.iter().filter_map(|home| user_of(home)).collect();

        // Home directories in other places, such as `/root`.
        let mut alternatives = String::new();
        for home in &homes {
            let is_path = home.len() > 1 && home.contains(['/', '\\']);
            if is_path && user_of(home).is_none() {
                alternatives.push('|');
                alternatives.push_str(&regex::escape(home));
            }
        }
        let home = build(&format!(
            r"(?-u)(?:(?:[A-Za-z]:)?[/\\](?:home|Users)[/\\][A-Za-z0-9._-]*[A-Za-z0-9_-]{alternatives})\b"
        ));

        let words: Vec<_> = names.iter().map(|name| regex::escape(name)).collect();
        let names_expression = if words.is_empty() {
            None
        } else {
            Some(build(&format!(r"(?-u)\b(?:{})\b", words.join("|"))))
        };

        let mut needles = ["/home", "/Users", "\\Users"]
            .map(|needle| needle.as_bytes().to_vec())
            .to_vec();
        for text in names.iter().chain(&homes) {
            needles.extend(raw_needles(text.as_bytes()));
        }
        People {
            home,
            names: names_expression,
            needles,
        }
    }

    /// Returns replacements for the home directories and names in a line of JSON.
    pub(super) fn splices(&self, line: &[u8]) -> Vec<Splice> {
        let mut splices: Vec<Splice> = Vec::new();
        let mut places = Places::default();
        let mut strings = Strings::new(line);
        while let Ok(Some(found)) = strings.advance() {
            // Directories first, on every level of escapes: the name in a directory is replaced
            // along with it.
            let home = [(&self.home, "~")];
            let names = self.names.as_ref().map(|names| (names, "user"));
            for (expression, by) in home.into_iter().chain(names) {
                for spoken in levels(found.raw.bytes) {
                    for hit in expression.find_iter(&spoken.text) {
                        let hit = spoken.source(hit.range());
                        let range = hit.start + found.range.start..hit.end + found.range.start;
                        if !places.overlap(&range) {
                            places.add(&range);
                            splices.push(Splice {
                                range,
                                by: by.as_bytes().to_vec(),
                            });
                        }
                    }
                }
            }
        }
        splices
    }
}

fn build(expression: &str) -> Regex {
    Regex::new(expression).expect("names are escaped, so it is an expression")
}

/// Returns the name of the user of a home directory; `None` for one that does not identify a
/// person.
fn user_of(home: &str) -> Option<&str> {
    let mut parts = home.rsplit(['/', '\\']);
    let name = parts.next()?;
    let above = parts.next()?;
    let is_name = name.len() >= 3
        && !COMMON
            .iter()
            .any(|common| name.eq_ignore_ascii_case(common));
    (is_name && matches!(above, "home" | "Users")).then_some(name)
}

/// Returns the home directory that contains a session's directory, as far as its path shows.
pub fn home_of(cwd: &str) -> Option<&str> {
    let separators = |c: char| matches!(c, '/' | '\\');
    let mut ends = cwd.match_indices(separators).map(|(at, _)| at);
    let (first, second) = (ends.next()?, ends.next()?);
    let third = ends.next().unwrap_or(cwd.len());
    matches!(&cwd[first + 1..second], "home" | "Users").then(|| &cwd[..third])
}
