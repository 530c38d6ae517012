//! The repository checks itself: names agree everywhere.

use std::collections::{BTreeMap, BTreeSet};
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

/// Paths in backticks exist.
#[test]
fn documents_name_what_is_there() {
    for document in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "docs/format.md",
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
        for link in links.filter(|link| !link.contains("://") && !link.starts_with('#')) {
            let file = link.split('#').next().unwrap_or_default();
            let place = root().join(document).parent().unwrap().join(file);
            let there = place.exists() || !root().join("tests/interop").exists();
            assert!(there, "{document} links {link}, which is not there");
        }
    }
}

/// Each promise names tests that exist.
#[test]
fn promises_name_their_tests() {
    let folders = [
        "tests/it",
        "tests/large",
        "crates/store/src/tests",
        "src/ops/check",
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
fn changelog_and_crates_have_this_version() {
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
    for manifest in ["crates/json/Cargo.toml", "crates/store/Cargo.toml"] {
        let same = format!("\nversion = \"{version}\"\n");
        assert!(
            !root().join(manifest).exists() || read(manifest).contains(&same),
            "{manifest} is not {version}"
        );
    }
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

/// The path of a module or an item.
type ModulePath = Vec<String>;

/// Returns the source files of a crate, without tests and binaries, by the paths of their modules.
fn modules(folder: &str) -> BTreeMap<ModulePath, String> {
    let paths = files(folder)
        .into_iter()
        .filter_map(|path| path.to_str().map(str::to_owned));
    let module = |path: String| {
        let inner = path
            .strip_prefix(folder)?
            .strip_prefix('/')?
            .strip_suffix(".rs")?;
        let is_tested = !inner.contains("test") && !inner.starts_with("bin");
        let parts = inner
            .split('/')
            .filter(|part| !matches!(*part, "mod" | "lib"))
            .map(str::to_owned);
        is_tested.then(|| (parts.collect(), path.clone()))
    };
    paths.filter_map(module).collect()
}

/// Returns the code of a file without comments and tests, on one line.
fn code(file: &str) -> String {
    let text = read(file);
    let (code, _) = text
        .split_once("#[cfg(test)]\nmod tests {")
        .unwrap_or((&text, ""));
    code.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect()
}

/// Returns the paths of a use tree, or the one path of an expression: `a::{b, c::d}` gives `a::b`
/// and `a::c::d`.
fn paths(tree: &str) -> Vec<ModulePath> {
    let (mut found, mut open, mut path, mut rest) =
        (Vec::new(), Vec::new(), ModulePath::new(), tree);
    loop {
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        if end > 0 && &rest[..end] != "self" {
            path.push(rest[..end].to_owned());
        }
        rest = &rest[end..];
        if let Some(inside) = rest.strip_prefix("::{") {
            open.push(path.clone());
            rest = inside.trim_start();
            continue;
        }
        if let Some(further) = rest.strip_prefix("::") {
            rest = further;
            continue;
        }
        found.push(path);
        // An alias, then the end of this path and of the lists that end with it.
        let Some(end) = rest.find([',', '}']).filter(|_| !open.is_empty()) else {
            return found;
        };
        rest = &rest[end..];
        while let Some(mark) = rest.chars().next().filter(|mark| matches!(mark, ',' | '}')) {
            if mark == '}' {
                open.pop();
            }
            if open.is_empty() {
                return found;
            }
            rest = rest[1..].trim_start();
        }
        path = open.last().cloned().unwrap_or_default();
    }
}

/// The uses of files by others of the same crate. A module and those inside it are one: what they
/// use of each other does not count.
fn uses(folder: &str) -> Vec<(String, String)> {
    let modules = modules(folder);
    let code: BTreeMap<_, _> = modules
        .iter()
        .map(|(module, file)| (module, code(file)))
        .collect();
    let absolute = |module: &ModulePath, path: &[String]| -> ModulePath {
        let steps = path.iter().take_while(|name| *name == "super").count();
        let above = match path.first().map(String::as_str) {
            Some("crate") => return path[1..].to_vec(),
            _ => &module[..module.len().saturating_sub(steps)],
        };
        [above, &path[steps..]].concat()
    };
    let mut exports = BTreeMap::new();
    for (module, code) in &code {
        for start in ["pub use ", "pub(crate) use "].iter().flat_map(|export| {
            code.match_indices(export)
                .map(|(at, text)| at + text.len())
                .collect::<Vec<_>>()
        }) {
            for path in paths(&code[start..]) {
                let name = path.last().cloned().unwrap_or_default();
                exports.insert(((*module).clone(), name), absolute(module, &path));
            }
        }
    }
    let target = |mut path: ModulePath| {
        for _ in 0..8 {
            let known = (0..=path.len())
                .rev()
                .find(|&n| modules.contains_key(&path[..n]))?;
            let next = path
                .get(known)
                .and_then(|name| exports.get(&(path[..known].to_vec(), name.clone())));
            match next {
                Some(exported) => path = [exported.as_slice(), &path[known + 1..]].concat(),
                None => return Some(path[..known].to_vec()),
            }
        }
        None
    };
    let mut found = BTreeSet::new();
    for (module, code) in &code {
        let starts = ["crate::", "super::"]
            .iter()
            .flat_map(|root| code.match_indices(root).map(|(at, _)| at));
        let boundary = |c: char| !c.is_alphanumeric() && c != '_' && c != ':';
        for start in starts.filter(|&start| code[..start].chars().next_back().is_none_or(boundary))
        {
            let exported = ["pub use ", "pub(crate) use "]
                .iter()
                .any(|export| code[..start].ends_with(export));
            for path in paths(&code[start..]).into_iter().filter(|_| !exported) {
                let Some(used) = target(absolute(module, &path)) else {
                    continue;
                };
                if !used.starts_with(module) && !module.starts_with(&used) {
                    found.insert((modules[*module].clone(), modules[&used].clone()));
                }
            }
        }
    }
    found.into_iter().collect()
}

/// A room uses only what is declared above it in `src/lib.rs`.
#[test]
fn no_room_uses_one_below() {
    let text = read("src/lib.rs");
    let declared = text
        .lines()
        .filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "));
    let rooms: Vec<_> = declared.filter_map(|line| line.strip_suffix(';')).collect();
    let room = |file: &str| {
        let name = file
            .split('/')
            .nth(1)
            .unwrap_or_default()
            .trim_end_matches(".rs")
            .to_owned();
        rooms.iter().position(|room| *room == name)
    };
    let uses = uses("src");
    let upward: Vec<_> = uses
        .iter()
        .filter(|(user, used)| room(user) < room(used))
        .collect();
    assert!(
        upward.is_empty(),
        "declared below where it is used: {upward:#?}"
    );
    assert!(uses.len() > 800, "only {} uses were found", uses.len());
}

/// No file uses another that uses it back, directly or through others.
#[test]
fn no_uses_run_in_circles() {
    for (folder, least) in [
        ("src", 800),
        ("crates/json/src", 15),
        ("crates/store/src", 40),
    ] {
        let mut uses = uses(folder);
        assert!(
            uses.len() > least,
            "only {} uses were found in {folder}",
            uses.len()
        );
        // Removes files that use none of the others, until none is left, or circles and what leads
        // to them.
        loop {
            let users: BTreeSet<_> = uses.iter().map(|(user, _)| user.clone()).collect();
            let before = uses.len();
            uses.retain(|(_, used)| users.contains(used));
            if uses.len() == before {
                break;
            }
        }
        // Then those that none of the others uses, which only lead to circles.
        loop {
            let used: BTreeSet<_> = uses.iter().map(|(_, used)| used.clone()).collect();
            let before = uses.len();
            uses.retain(|(user, _)| used.contains(user));
            if uses.len() == before {
                break;
            }
        }
        assert!(uses.is_empty(), "these uses run in circles: {uses:#?}");
    }
}
