//! Finds what `pisess --version` names beside the version: the target and the commit.
//!
//! The commit is that of `PISESS_COMMIT` (for packagers who build from an archive), else the one
//! that `cargo package` noted in the crate, else that of a git checkout, read from its files: git
//! need not be installed. Without any of these, only the target is named. Debug builds have no
//! commit, because each commit would then compile the library anew.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// How many digits of a commit are shown.
const DIGITS: usize = 12;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PISESS_COMMIT");
    let target = env::var("TARGET").expect("cargo sets TARGET");
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = is_release
        .then(commit)
        .flatten()
        .map(|commit| format!(", commit {commit}"));
    println!(
        "cargo::rustc-env=PISESS_BUILD={target}{}",
        commit.unwrap_or_default()
    );
}

fn commit() -> Option<String> {
    let root =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let given = env::var("PISESS_COMMIT").ok();
    given
        .and_then(|given| short(&given))
        .or_else(|| packaged(&root))
        .or_else(|| checked_out(&root))
}

/// Returns the commit that `cargo package` noted, and whether files differed from it.
fn packaged(root: &Path) -> Option<String> {
    let notes = watched(&root.join(".cargo_vcs_info.json"))?;
    let commit = short(notes.split_once("\"sha1\"")?.1.split('"').nth(1)?)?;
    let dirty = notes
        .split_once("\"dirty\"")
        .is_some_and(|(_, rest)| rest.trim_start_matches([':', ' ']).starts_with("true"));
    Some(if dirty {
        format!("{commit}, modified")
    } else {
        commit
    })
}

/// Returns the commit of `HEAD`, in a checkout or in a worktree of one.
fn checked_out(root: &Path) -> Option<String> {
    let own = root.join(".git");
    let own = match own.is_dir() {
        true => own,
        false => root.join(
            fs::read_to_string(&own)
                .ok()?
                .strip_prefix("gitdir:")?
                .trim(),
        ),
    };
    let common =
        fs::read_to_string(own.join("commondir")).map_or(own.clone(), |path| own.join(path.trim()));
    let head = watched(&own.join("HEAD"))?;
    // A commit may give its branch a file that did not exist before, but is always noted here.
    watched(&own.join("logs/HEAD"));
    let Some(name) = head.strip_prefix("ref:").map(str::trim) else {
        return short(&head);
    };
    let packed = || {
        let refs = watched(&common.join("packed-refs"))?;
        let mut lines = refs.lines().filter_map(|line| line.split_once(' '));
        lines
            .find(|(_, packed)| *packed == name)
            .and_then(|(commit, _)| short(commit))
    };
    watched(&common.join(name))
        .and_then(|commit| short(&commit))
        .or_else(packed)
}

/// Returns the content of a file, and runs this script again when it changes; one that is missing
/// is not watched, because cargo would then run the script each time.
fn watched(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    println!("cargo::rerun-if-changed={}", path.display());
    Some(text)
}

/// Returns the first digits of a commit, unless it is something else.
fn short(commit: &str) -> Option<String> {
    let commit = commit.trim();
    let is_commit = commit.len() >= DIGITS && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_commit.then(|| commit[..DIGITS].to_owned())
}
