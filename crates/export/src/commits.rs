//! The commits that `git` reports in the output of a command.

use super::source::cut;
use pisess_core::agents::readable::command_head;
use pisess_json::Raw;

/// The maximum number of characters of the subject of a commit.
const LONGEST_COMMIT_SUBJECT: usize = 120;

/// The lengths of a commit's hash: abbreviated, and whole with SHA-256.
const SHORTEST_HASH: usize = 7;
const LONGEST_HASH: usize = 64;

/// A commit that a command made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its abbreviated hash.
    pub hash: String,
    /// The first line of its message.
    pub subject: String,
}

/// Returns the commits that the output of a tool call reports, in lines of `git commit`. If the
/// command in the `arguments` of the call does not run `git`, the output is not read.
///
/// `output` has the output in parts. A part ends with a line, except within a line that is longer
/// than a part.
pub fn find_commits<T: AsRef<str>>(
    arguments: Raw,
    output: impl IntoIterator<Item = T>,
) -> Vec<Commit> {
    let command = arguments.get("command").or_else(|| arguments.get("cmd"));
    // All of the command is searched: it may write a long file before it commits.
    let command = command.and_then(|command| command_head(command, usize::MAX));
    let may_run_git = command.is_some_and(|command| command.to_string_lossy().contains("git "));
    if !may_run_git {
        return Vec::new();
    }
    let mut commits = Vec::new();
    for part in output {
        commits.extend(part.as_ref().lines().filter_map(parse_commit));
    }
    commits
}

/// Parses the line that `git commit` prints: `[BRANCH HASH] SUBJECT`. The branch can be several
/// words, as in `detached HEAD`, and a first commit has `(root-commit)` before its hash. `None` if
/// it is another line.
fn parse_commit(line: &str) -> Option<Commit> {
    let (place, subject) = line.strip_prefix('[')?.split_once("] ")?;
    let (_branch, hash) = place.rsplit_once(' ')?;
    let subject = subject.trim();

    // Other programs print brackets at the start of a line, too, as in `[info] done`.
    let has_hash_length = (SHORTEST_HASH..=LONGEST_HASH).contains(&hash.len());
    let is_hash = has_hash_length && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_hash || subject.is_empty() {
        return None;
    }
    Some(Commit {
        hash: hash.to_owned(),
        subject: cut(subject, LONGEST_COMMIT_SUBJECT),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(arguments: &str, output: &str) -> Vec<(String, String)> {
        let arguments = Raw::parse(arguments.as_bytes()).unwrap();
        let mut commits = Vec::new();
        for commit in find_commits(arguments, [output]) {
            commits.push((commit.hash, commit.subject));
        }
        commits
    }

    #[test]
    fn commits_are_lines_of_git() {
        let output = "[main 1a2b3c4] clock: read once\n 2 files changed\n\
            [detached HEAD 0123456789ab] Fix it\n[main (root-commit) abcdef0] Start\n\
            [INFO] build\n[main notahash] no\n[main 1a2b3c4]\n";
        let command = r#"{"command":"cargo test && git commit -am x"}"#;
        assert_eq!(
            found(command, output),
            [
                ("1a2b3c4", "clock: read once"),
                ("0123456789ab", "Fix it"),
                ("abcdef0", "Start"),
            ]
            .map(|(hash, subject)| (hash.to_owned(), subject.to_owned()))
        );
        let words = r#"{"command":["bash","-lc","git commit -m x"]}"#;
        assert_eq!(found(words, output).len(), 3);

        let document = "x\\n".repeat(5000);
        let late = format!(r#"{{"command":"cat > a <<E\n{document}E\ngit commit -am x"}}"#);
        assert_eq!(found(&late, output).len(), 3);

        for other in [r#"{"command":"cat log"}"#, r#"{"path":"git "}"#, "null"] {
            assert_eq!(found(other, output), []);
        }
    }
}
