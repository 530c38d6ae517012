//! The repository checks itself: names agree everywhere.

use crate::every::{CHANGES, MAKES, READS, SEARCHES};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Returns the files below a directory of the project, by their path from its root, except those that are not
/// committed.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().map(Result::unwrap) {
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

#[test]
fn each_verb_has_its_places() {
    let architecture = read("ARCHITECTURE.md");
    for verb in pisess::guides().map(|guide| guide.verb) {
        for place in
            [format!("src/commands/{verb}.rs"), format!("tests/it/{verb}.rs"), format!("man/pisess-{verb}.1")]
        {
            assert!(root().join(&place).is_file(), "{verb} has no {place}");
        }
        assert!(architecture.contains(&format!("| `{verb}` |")), "ARCHITECTURE.md says nothing of {verb}");
    }
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
    ] {
        let text = read(document);
        let named = text.split('`').skip(1).step_by(2).filter(|name| {
            ["src/", "crates/", "tests/", "man/", "completions/", "fixtures/", "docs/"]
                .iter()
                .any(|top| name.starts_with(top))
                && !name.contains(|c: char| c.is_whitespace() || "<>*…{".contains(c))
        });
        for name in named {
            // A package of the crate does not contain the interop suite.
            let there = root().join(name).exists() || !root().join("tests/interop").exists();
            assert!(there, "{document} names {name}, which is not there");
        }
        let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
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
    let folders = ["tests/it", "tests/large", "crates/store/src/tests", "src/ops/check"];
    let is_there = |module: &str, test: &str| {
        let paths = folders.iter().map(|folder| root().join(format!("{folder}/{module}.rs")));
        let source: String = paths.filter_map(|path| fs::read_to_string(path).ok()).collect();
        source.split("#[test]").skip(1).any(|rest| rest.contains(&format!("fn {test}(")))
    };
    let text = read("docs/reliability.md");
    let named: Vec<_> = text.split('`').skip(1).step_by(2).filter_map(|name| name.split_once("::")).collect();
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
    let heading = changelog.lines().find(|line| line.starts_with(&format!("## [{version}] - ")));
    let date = heading.unwrap_or_else(|| panic!("CHANGELOG.md says nothing of {version}"));
    let date = date.rsplit(' ').next().unwrap_or_default();
    assert!(date.len() == 10 && date.starts_with("20"), "{version} has no date: {date}");
    for manifest in ["crates/json/Cargo.toml", "crates/store/Cargo.toml"] {
        let same = format!("\nversion = \"{version}\"\n");
        assert!(
            !root().join(manifest).exists() || read(manifest).contains(&same),
            "{manifest} is not {version}"
        );
    }
}

/// No printing, clock, randomness or environment below the command line, and files in the store only. The seam of the
/// store has a clock, to determine the age of a lock.
#[test]
fn the_library_keeps_to_itself() {
    let everywhere = ["println!", "print!(", "env::var", "env::args", "new_v4", "process::exit"];
    let but_in_the_store = ["std::fs", "SystemTime", "Instant::now", "std::env"];
    for path in files("crates").into_iter().chain(files("src")) {
        let name = path.to_str().unwrap();
        if ["src/bin/", "src/world.rs", "src/cli/", "src/commands/"].iter().any(|room| name.starts_with(room))
        {
            continue;
        }
        if path.extension().is_none_or(|end| end != "rs") || name.contains("tests") {
            continue;
        }
        let store = name.starts_with("crates/store/");
        let banned = everywhere.iter().chain(but_in_the_store.iter().filter(|_| !store));
        let text = read(name);
        let (code, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
        for (number, line) in code.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
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
    let banned = [["/wo", "rk/"], ["/ro", "ot/"], ["/tmp/tar", "get"], ["/usr/local/car", "go"]]
        .map(|parts| parts.concat());
    for path in files("") {
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        for word in &banned {
            assert!(!text.contains(word), "{} holds {word}", path.display());
        }
    }
}

/// Returns the modules that a file declares, in order.
fn declared(file: &str) -> Vec<String> {
    let module = |line: &str| {
        let line = line.strip_prefix("pub ").unwrap_or(line);
        line.strip_prefix("mod ")?.strip_suffix(';').map(str::to_owned)
    };
    let modules = read(file).lines().filter_map(module).collect::<Vec<_>>();
    modules.into_iter().filter(|module| module != "tests").collect()
}

/// Returns the paths that a source file uses, from the root of the library; `module` is its own. Tests and
/// comments are ignored.
fn used(text: &str, module: &[&str]) -> Vec<Vec<String>> {
    let (code, _) = text.split_once("#[cfg(test)]").unwrap_or((text, ""));
    let code: String = code.lines().map(|line| line.split("//").next().unwrap_or_default()).collect();
    let mut paths = Vec::new();
    for (start, root) in ["crate::", "super::"].iter().flat_map(|root| code.match_indices(root)) {
        let boundary = |c: char| !c.is_alphanumeric() && c != '_' && c != ':';
        if !code[..start].chars().next_back().is_none_or(boundary) {
            continue;
        }
        let mut rest = &code[start + root.len()..];
        let mut above = if root == "crate::" { &module[..0] } else { &module[..module.len() - 1] };
        while let Some(further) = rest.strip_prefix("super::") {
            (rest, above) = (further, &above[..above.len().saturating_sub(1)]);
        }
        for path in first_names(rest) {
            paths.push(above.iter().map(|&part| part.to_owned()).chain(path).collect());
        }
    }
    paths
}

/// Returns the first two names of each path of a use tree: `a::{b, c::d}` gives `a::b` and `a::c`.
fn first_names(tree: &str) -> Vec<Vec<String>> {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let (inside, prefix) = match tree.strip_prefix('{') {
        Some(inside) => (inside, None),
        None => {
            let first = name(tree);
            match tree[first.len()..].strip_prefix("::") {
                Some(rest) if rest.starts_with('{') => (&rest[1..], Some(first)),
                Some(rest) => return vec![vec![first, name(rest)]],
                None => return vec![vec![first]],
            }
        }
    };
    let (mut depth, mut starts, mut at_start) = (0, Vec::new(), true);
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => at_start = true,
            c if at_start && !c.is_whitespace() => {
                starts.push(at);
                at_start = false;
            }
            _ => {}
        }
    }
    let with_prefix = |at: usize| prefix.clone().into_iter().chain(Some(name(&inside[at..]))).collect();
    starts.into_iter().map(with_prefix).collect()
}

/// A room uses only what is declared above it in `src/lib.rs`, and so do the modules of a room whose own list is in
/// order.
#[test]
fn no_arrow_runs_back_up() {
    let levels = ["", "session", "agents", "cli"].map(|room| match room {
        "" => (room, "src/lib.rs".to_owned()),
        _ => (room, format!("src/{room}/mod.rs")),
    });
    let (mut arrows, mut upward) = (0, Vec::new());
    for (level, order) in levels.map(|(level, file)| (level, declared(&file))) {
        let place = |module: &str| order.iter().position(|known| known == module);
        for path in files("src") {
            let name = path.to_str().unwrap().to_owned();
            let inner = name.strip_prefix("src/").and_then(|name| name.strip_suffix(".rs")).unwrap_or("");
            let module: Vec<_> = inner.split('/').filter(|part| *part != "mod").collect();
            let here = if level.is_empty() { module.first() } else { module.get(1) };
            let is_below = level.is_empty() || module.first() == Some(&level);
            let Some(from) =
                here.filter(|_| is_below && !name.contains("/test")).and_then(|here| place(here))
            else {
                continue;
            };
            for used in used(&read(&name), &module) {
                let to = if level.is_empty() { used.first() } else { used.get(1) };
                let is_here = level.is_empty() || used.first().is_some_and(|first| first == level);
                let Some(to) = to.filter(|_| is_here).and_then(|to| place(to)) else { continue };
                arrows += usize::from(to < from);
                if to > from {
                    upward.push(format!("{name} uses {}", used.join("::")));
                }
            }
        }
    }
    assert!(upward.is_empty(), "declared below where it is used: {upward:#?}");
    assert!(arrows > 300, "only {arrows} were found");
}

/// Commands that do not read a session.
const OTHERS: &[&str] = &["completions"];

/// Commands that change sessions but do not belong in [`CHANGES`]: the name, the reason, and the file with the tests.
/// A form in [`CHANGES`] changes the session in place, and no other file.
const ELSEWHERE: &[(&str, &str)] = &[
    ("prune", "changes sessions with large payloads only, and writes a second file: tests/it/prune.rs"),
    ("relocate", "moves the session from its name, into a store: tests/it/relocate.rs"),
];

#[test]
fn no_command_is_left_out() {
    let has = |lines: &[&str], verb: &str| lines.iter().any(|line| line.split(' ').next() == Some(verb));
    for guide in pisess::guides() {
        let reads = has(READS, guide.verb) || has(SEARCHES, guide.verb) || OTHERS.contains(&guide.verb);
        assert!(reads, "{} is in no form that reads", guide.verb);
        assert_eq!(
            has(MAKES, guide.verb),
            guide.writes && guide.verb != "relocate",
            "{} among the forms that make a session",
            guide.verb
        );
        let makes_only = ["fork", "redact"].contains(&guide.verb);
        let is_elsewhere = ELSEWHERE.iter().any(|(verb, _)| *verb == guide.verb);
        assert!(!guide.writes || makes_only || is_elsewhere || has(CHANGES, guide.verb), "{}", guide.verb);
    }
    for (verb, place) in ELSEWHERE {
        let (_, file) = place.split_once(": ").unwrap();
        let source = std::fs::read_to_string(format!("{}/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        for what in ["killed", "full_disk"] {
            let is_tested =
                source.contains(&format!("_{what}")) || what == "killed" && source.contains("fn a_kill_");
            assert!(is_tested, "{verb}: no test of {what} in {file}");
        }
    }
}
