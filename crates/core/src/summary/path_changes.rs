//! The paths that a command line removes, and those that are there after it.

use super::command_step::CommandStep;
use super::removals::RemovedPath;
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

/// A change of the paths in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathChange {
    /// The path was removed, renamed or moved.
    Removed(RemovedPath),
    /// The path is there: it was made or written, or something was moved or copied to it.
    Written(String),
    /// The path is there, with what is below it. `.` is everything.
    Restored(String),
}

/// Returns what a step changes, in order. `part` is its part of the command line, and `folder` the
/// directory that the command line changed to before it. `is_certain` is whether the step runs in
/// any case.
pub(super) fn changes_of_step(
    step: &CommandStep,
    part: &str,
    folder: &str,
    is_certain: bool,
) -> Vec<PathChange> {
    let mut changes = Vec::new();
    // What `mv notes.md /tmp/` writes comes before what it removes: the directory of the removed
    // path is not known, so a later `/tmp/notes.md` may be the same.
    for path in written_paths(step) {
        changes.push(PathChange::Written(path));
    }
    if !keeps_files(step, part) {
        for path in step.removed_paths() {
            changes.push(PathChange::Removed(RemovedPath {
                path: path.to_owned(),
                folder: folder.to_owned(),
                is_certain,
            }));
        }
    }
    for path in restored_paths(step, part) {
        changes.push(PathChange::Restored(path));
    }
    changes.extend(changes_of_redirections(part));
    changes
}

/// Whether a `git rm` leaves the files there: it only changes the index, or shows what it would do.
fn keeps_files(step: &CommandStep, part: &str) -> bool {
    const OPTIONS: [&str; 3] = ["--cached", "--dry-run", "-n"];
    step.is_one_of("git-rm") && has_one_of(part, &OPTIONS)
}

/// Whether one of these options is in a part of a command line.
fn has_one_of(part: &str, options: &[&str]) -> bool {
    let mut words = part.split_whitespace();
    words.any(|word| options.contains(&word))
}

/// Returns the files that are written by redirections in a part of a command line: `a.txt` in `ls >
/// a.txt`, `ls >> "a.txt"` and `ls >'a.txt'`.
pub(super) fn changes_of_redirections(part: &str) -> Vec<PathChange> {
    static REDIRECTION: LazyLock<Regex> = LazyLock::new(|| {
        compile_expression(
            r#">>?\s*(?:"(?<double>[^"]+)"|'(?<single>[^']+)'|(?<bare>[^\s"'<>&|;()]+))"#,
        )
    });
    let mut changes = Vec::new();
    for found in REDIRECTION.captures_iter(part) {
        let quoted = found.name("double").or(found.name("single"));
        if let Some(file) = quoted.or(found.name("bare")) {
            changes.push(PathChange::Written(file.as_str().to_owned()));
        }
    }
    changes
}

/// Returns the paths that a step makes, writes, copies or moves to.
fn written_paths(step: &CommandStep) -> Vec<String> {
    let words: Vec<&str> = step.words.iter().map(String::as_str).collect();
    match words[..] {
        ["touch" | "tee" | "mkdir", ref paths @ ..] => {
            paths.iter().map(|path| (*path).to_owned()).collect()
        }
        ["mv" | "cp" | "ln" | "install", ref sources @ .., target]
        | ["git", "mv", ref sources @ .., target] => copied_paths(sources, target),
        _ => Vec::new(),
    }
}

/// Returns the paths at which the sources may be after they were copied or moved to a target: the
/// target itself or, if that is a directory, a path in it: `docs/a.md` for `cp src/a.md docs`.
fn copied_paths(sources: &[&str], target: &str) -> Vec<String> {
    let mut paths = vec![target.to_owned()];
    let folder = target.trim_end_matches('/');
    for source in sources {
        let source = source.trim_end_matches('/');
        let name = source.rsplit('/').next().unwrap_or(source);
        paths.push(format!("{folder}/{name}"));
    }
    paths
}

/// Returns the paths that a step takes from git, such as `a.md` for `git checkout HEAD a.md`. The
/// name of a branch or commit is returned as well, which does no harm, because no file has it.
fn restored_paths(step: &CommandStep, part: &str) -> Vec<String> {
    let words: Vec<&str> = step.words.iter().map(String::as_str).collect();
    match words[..] {
        ["git", "restore", ..] if changes_only_index(part) => Vec::new(),
        ["git", "clone", .., source_or_target] => vec![cloned_name(source_or_target).to_owned()],
        ["git", "checkout" | "restore", ref paths @ ..] => {
            paths.iter().map(|path| (*path).to_owned()).collect()
        }
        ["git", "stash", "pop" | "apply", ..] => vec![".".to_owned()],
        ["git", "reset", ..] if part.contains("--hard") => vec![".".to_owned()],
        _ => Vec::new(),
    }
}

/// Whether the options of a `git restore` restore the index, but no files.
fn changes_only_index(part: &str) -> bool {
    has_one_of(part, &["--staged", "-S"]) && !has_one_of(part, &["--worktree", "-W"])
}

/// Returns the directory of a clone, given the last argument of `git clone`. If that is the address
/// of the repository, the directory has its name: `map` for `https://host/ada/map.git`.
fn cloned_name(source_or_target: &str) -> &str {
    let is_address = source_or_target.contains(':') || source_or_target.ends_with(".git");
    if !is_address {
        return source_or_target;
    }
    let address = source_or_target.trim_end_matches('/');
    let address = address.strip_suffix(".git").unwrap_or(address);
    address.rsplit(['/', ':']).next().unwrap_or(address)
}

/// Whether each step of a command line runs, or else the command line fails: not if one is
/// conditional, or repeated for some files, or in a subshell, which may change to a directory.
/// Quoted text must have been removed from `code`.
pub(super) fn runs_each_step(code: &str) -> bool {
    let has_branch = code.contains("||") || code.contains('(');
    let mut words = code.split_whitespace();
    !has_branch && !words.any(|word| ["then", "do", "else", "{"].contains(&word))
}
