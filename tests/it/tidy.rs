//! The repository checks itself: names agree everywhere.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the files below a directory of the project, by their path from its root, except those
/// that are not committed.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .map(Result::unwrap)
        {
            let name = entry.file_name();
            let kind = entry.file_type().unwrap();
            match name.to_str() {
                Some("target" | "node_modules" | "tools" | ".git" | "failures") => {}
                _ if kind.is_dir() => folders.push(entry.path()),
                _ => files.push(entry.path().strip_prefix(root()).unwrap().to_owned()),
            }
        }
    }
    files.sort();
    files
}

/// Paths in backticks exist, and links lead to files and headings that exist.
#[test]
fn documents_name_what_is_there() {
    for document in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/jobs.md",
        "docs/troubles.md",
        "docs/format.md",
        "docs/requests.md",
        "docs/import.md",
        "docs/json.md",
        "docs/hooks.md",
        "docs/reliability.md",
        "docs/recipes.md",
        "docs/agents.md",
        "docs/fleet.md",
        "docs/design/scan.md",
        "docs/design/lossless.md",
        "docs/design/store.md",
        "docs/design/agents.md",
        "docs/design/page.md",
        "docs/design/processes.md",
    ] {
        let text = read(document);
        let named = text.split('`').skip(1).step_by(2).filter(|name| {
            [
                "src/",
                "crates/",
                "tests/",
                "man/",
                "completions/",
                "fixtures/",
                "docs/",
            ]
            .iter()
            .any(|top| name.starts_with(top))
                && !name.contains(|c: char| c.is_whitespace() || "<>*…{".contains(c))
        });
        for name in named {
            // A package of the crate does not contain the interop suite.
            let there = root().join(name).exists() || !root().join("tests/interop").exists();
            assert!(there, "{document} names {name}, which is not there");
        }
        let links = text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split_once(')'))
            .map(|(link, _)| link);
        for link in links.filter(|link| !link.contains("://")) {
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let place = if file.is_empty() {
                root().join(document)
            } else {
                root().join(document).parent().unwrap().join(file)
            };
            let there = place.exists() || !root().join("tests/interop").exists();
            assert!(there, "{document} links {link}, which is not there");

            if file.is_empty() || file.ends_with(".md") {
                let target = fs::read_to_string(&place).unwrap_or_default();
                let there = anchor.is_empty() || has_anchor(&target, anchor);
                assert!(there, "{document} links {link}, which has no such heading");
            }
        }
    }
}

/// Whether a document has a heading, or an `<a id>`, with this anchor. As on the usual hosts, an
/// anchor is the heading in lower case, with `-` for each space and without other punctuation.
fn has_anchor(document: &str, anchor: &str) -> bool {
    if document.contains(&format!("<a id=\"{anchor}\">")) {
        return true;
    }
    let headings = document.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| line.trim_start_matches('#').trim().to_lowercase())
        .any(|heading| {
            let kept = heading
                .chars()
                .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.collect::<String>().replace(' ', "-") == anchor
        })
}

/// Each promise names tests that exist.
#[test]
fn promises_name_their_tests() {
    let folders = [
        "tests/it",
        "tests/large",
        "crates/store/src/tests",
        "crates/core/src/ops/check",
    ];
    let is_there = |module: &str, test: &str| {
        let paths = folders
            .iter()
            .map(|folder| root().join(format!("{folder}/{module}.rs")));
        let source: String = paths
            .filter_map(|path| fs::read_to_string(path).ok())
            .collect();
        source
            .split("#[test]")
            .skip(1)
            .any(|rest| rest.contains(&format!("fn {test}(")))
    };
    let text = read("docs/reliability.md");
    let named: Vec<_> = text
        .split('`')
        .skip(1)
        .step_by(2)
        .filter_map(|name| name.split_once("::"))
        .collect();
    assert!(named.len() > 30, "{}", named.len());
    for (module, test) in named.into_iter().filter(|(_, test)| *test != "test") {
        assert!(
            is_there(module, test),
            "docs/reliability.md names the test {module}::{test}, which is not there"
        );
    }
}

#[test]
fn the_changelog_has_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let changelog = read("CHANGELOG.md");
    let heading = changelog
        .lines()
        .find(|line| line.starts_with(&format!("## [{version}] - ")));
    let date = heading.unwrap_or_else(|| panic!("CHANGELOG.md says nothing of {version}"));
    let date = date.rsplit(' ').next().unwrap_or_default();
    assert!(
        date.len() == 10 && date.starts_with("20"),
        "{version} has no date: {date}"
    );
}

/// No printing, clock, randomness or environment below the command line, and files in the store
/// only. The seam of the store has a clock, to determine the age of a lock.
#[test]
fn the_library_keeps_to_itself() {
    let everywhere = [
        "println!",
        "print!(",
        "env::var",
        "env::args",
        "new_v4",
        "process::exit",
    ];
    let but_in_the_store = ["std::fs", "SystemTime", "Instant::now", "std::env"];
    for path in files("crates").into_iter().chain(files("src")) {
        let name = path.to_str().unwrap();
        if ["src/bin/", "src/world.rs", "src/cli/", "src/commands/"]
            .iter()
            .any(|room| name.starts_with(room))
        {
            continue;
        }
        if path.extension().is_none_or(|end| end != "rs") || name.contains("tests") {
            continue;
        }
        let store = name.starts_with("crates/store/");
        let banned = everywhere
            .iter()
            .chain(but_in_the_store.iter().filter(|_| !store));
        let text = read(name);
        let (code, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
        for (number, line) in code.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            // Its tables take random keys from the system, which may have none.
            let is_keyed = code.contains("std::collections") && code.contains("Hash");
            assert!(
                !is_keyed,
                "{name}:{}: a table of std in the core, not of foldhash",
                number + 1
            );
            for word in banned.clone() {
                assert!(!code.contains(word), "{name}:{}: {word}", number + 1);
            }
        }
    }
}

/// No committed file contains details of the machine it was written on.
#[test]
fn no_path_of_a_machine() {
    // Assembled, so that this file does not contain them.
    let banned = [
        ["/wo", "rk/"],
        ["/ro", "ot/"],
        ["/tmp/tar", "get"],
        ["/usr/local/car", "go"],
    ]
    .map(|parts| parts.concat());
    for path in files("") {
        let Ok(text) = fs::read_to_string(root().join(&path)) else {
            continue;
        };
        for word in &banned {
            assert!(!text.contains(word), "{} holds {word}", path.display());
        }
    }
}

/// Inside a crate, a room uses only those that its `lib.rs` declares above it. Between crates, the
/// compiler keeps this order.
#[test]
fn no_room_uses_one_below() {
    for (root, fewest_uses) in [("crates/core/src", 150), ("src", 150)] {
        let library = read(&format!("{root}/lib.rs"));
        let rooms: Vec<&str> = library
            .lines()
            .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "))
            .filter_map(|line| line.strip_suffix(';'))
            .collect();
        let position = |room: &str| rooms.iter().position(|known| *known == room);
        let mut uses = 0;
        for path in files(root) {
            let name = path.to_str().unwrap();
            let inner = name.strip_prefix(root).unwrap().trim_start_matches('/');
            let room = inner.split(['/', '.']).next().unwrap();
            // The others are the library itself and the binary.
            let Some(own) = position(room) else {
                continue;
            };
            if inner.contains("test") || !inner.ends_with(".rs") {
                continue;
            }
            let text = read(name);
            let (code, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
            for (index, line) in code.lines().enumerate() {
                let number = index + 1;
                let code = line.split("//").next().unwrap_or_default();
                assert!(
                    !code.contains("crate::{"),
                    "{name}:{number}: a line for each room that is used"
                );
                for path in code.split("crate::").skip(1) {
                    let end = path.find(|c: char| !c.is_alphanumeric() && c != '_');
                    let used = &path[..end.unwrap_or(path.len())];
                    let Some(other) = position(used) else {
                        continue;
                    };
                    assert!(
                        other <= own,
                        "{name}:{number}: uses {used}, which {root}/lib.rs declares below {room}"
                    );
                    uses += usize::from(other != own);
                }
            }
        }
        assert!(uses > fewest_uses, "only {uses} uses were found in {root}");
    }
}

/// rustfmt leaves comments as they are. Tables and diagrams may be wider, in fences.
#[test]
fn comments_fit_into_100_columns() {
    let mut wide = Vec::new();
    for folder in ["src", "crates", "tests", "benches"] {
        let sources = files(folder)
            .into_iter()
            .filter(|file| file.extension().is_some_and(|suffix| suffix == "rs"));
        for file in sources {
            let text = read(file.to_str().unwrap());
            let mut is_fenced = false;
            for (index, line) in text.lines().enumerate() {
                let comment = line.trim_start();
                if !comment.starts_with("//") {
                    continue;
                }
                if comment.contains("```") {
                    is_fenced = !is_fenced;
                }
                if !is_fenced && line.chars().count() > 100 {
                    wide.push(format!("{}:{}", file.display(), index + 1));
                }
            }
        }
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}
