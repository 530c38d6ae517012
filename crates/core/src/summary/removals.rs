//! Paths that were removed, renamed or moved during a session: what names them is out of date.

/// The paths that are no longer there, as the commands wrote them.
#[derive(Clone, Debug, Default)]
pub struct Removals(Vec<String>);

impl Removals {
    pub(super) fn add(&mut self, path: &str) {
        self.0.push(bare_path(path).to_owned());
    }

    /// Forgets the removal of a path that is there again, and those of the directories above it:
    /// they are there again, too.
    pub(super) fn restore(&mut self, path: &str) {
        self.0.retain(|removed| !is_below(path, removed));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a path was removed, or is below a directory that was.
    pub fn contain(&self, path: &str) -> bool {
        self.0.iter().any(|removed| is_below(path, removed))
    }

    /// Whether a text names such a path.
    pub(super) fn are_named_in(&self, text: &str) -> bool {
        if self.0.is_empty() {
            return false;
        }
        let is_in_path = |c: char| c.is_alphanumeric() || "/._-@+~".contains(c);
        text.split(|c| !is_in_path(c)).any(|word| {
            let word = word.trim_end_matches('.');
            // A word without these may have another meaning than that of a path.
            word.contains(['/', '.']) && self.contain(word)
        })
    }
}

/// Whether a path is a removed one or below it. `removed` is without `./` and a slash at its end.
///
/// The directory to which a relative path belongs is not known here. So `src/old` also matches at
/// any depth of an absolute path: `/home/ada/src/old/a.ts` is below it.
fn is_below(path: &str, removed: &str) -> bool {
    let path = bare_path(path);
    if removed.is_empty() || path.is_empty() {
        return false;
    }

    // With a slash at the end of both, `src/older` is not below `src/old`.
    let path_slash = format!("{path}/");
    let removed_slash = format!("{removed}/");
    match (path.starts_with('/'), removed.starts_with('/')) {
        (true, true) | (false, false) => path_slash.starts_with(&removed_slash),
        (true, false) => path_slash.contains(&format!("/{removed_slash}")),
        // Only the removed path itself can be recognized, not what is below it.
        (false, true) => removed_slash.ends_with(&format!("/{path_slash}")),
    }
}

/// Returns a path without `./` at its start and `/` at its end.
fn bare_path(path: &str) -> &str {
    path.trim_start_matches("./").trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_gone_with_its_directory_until_it_is_written_again() {
        let mut removals = Removals::default();
        removals.add("./src/old/");
        removals.add("/home/ada/ledger/notes.md");
        for path in [
            "src/old",
            "src/old/a.ts",
            "/home/ada/ledger/src/old/a.ts",
            "notes.md",
            "/home/ada/ledger/notes.md",
        ] {
            assert!(removals.contain(path), "{path}");
        }
        for path in ["src/older.ts", "src", "lib/src/old", "my-notes.md"] {
            assert!(!removals.contain(path), "{path}");
        }
        assert!(removals.are_named_in("keep `src/old/a.ts`, it is used."));
        assert!(!removals.are_named_in("the old one is in src."));

        removals.restore("src/old/a.ts");
        assert!(!removals.contain("src/old/a.ts"));
        assert!(removals.contain("notes.md"));
    }
}
