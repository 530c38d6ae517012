//! The repository checks itself: what has a name has it everywhere.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Files below a folder of the project, by their path from its root; what is not committed is left
/// out.
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
    let verbs = pisess::command();
    let verbs: Vec<_> = verbs.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    let guided: Vec<_> = pisess::GUIDES.iter().map(|guide| guide.verb).collect();
    assert_eq!(verbs, guided, "the guides and the commands");
    let architecture = read("ARCHITECTURE.md");
    for verb in verbs {
        for place in
            [format!("src/commands/{verb}.rs"), format!("tests/it/{verb}.rs"), format!("man/pisess-{verb}.1")]
        {
            assert!(root().join(&place).is_file(), "{verb} has no {place}");
        }
        assert!(architecture.contains(&format!("| `{verb}` |")), "ARCHITECTURE.md says nothing of {verb}");
    }
}

/// Paths in backticks name something that is there.
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
    ] {
        let text = read(document);
        let named = text.split('`').skip(1).step_by(2).filter(|name| {
            ["src/", "tests/", "man/", "completions/", "fixtures/", "docs/"]
                .iter()
                .any(|top| name.starts_with(top))
                && !name.contains(|c: char| c.is_whitespace() || "<>*…{".contains(c))
        });
        for name in named {
            // The interop suite is not in the package.
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

/// Each promise is held by the tests that are named behind it.
#[test]
fn promises_name_their_tests() {
    let folders = ["tests/it", "src/core/store/tests", "src/core/ops/check"];
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
fn the_changelog_has_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let changelog = read("CHANGELOG.md");
    let heading = changelog.lines().find(|line| line.starts_with(&format!("## [{version}] - ")));
    let date = heading.unwrap_or_else(|| panic!("CHANGELOG.md says nothing of {version}"));
    let date = date.rsplit(' ').next().unwrap_or_default();
    assert!(date.len() == 10 && date.starts_with("20"), "{version} has no date: {date}");
}

/// No printing, clock, randomness or environment in the core, and files in one module only. The seam
/// of that module has a clock, to know how old a lock is.
#[test]
fn the_core_keeps_to_itself() {
    let everywhere = ["println!", "print!(", "env::var", "env::args", "new_v4", "process::exit"];
    let but_in_the_store = ["std::fs", "SystemTime", "Instant::now", "std::env"];
    for path in files("src/core") {
        let name = path.to_str().unwrap();
        if path.extension().is_none_or(|end| end != "rs") || name.contains("tests") {
            continue;
        }
        let store = name.starts_with("src/core/store/");
        let banned = everywhere.iter().chain(but_in_the_store.iter().filter(|_| !store));
        let text = read(name);
        let (code, _) = text.split_once("#[cfg(test)]").unwrap_or((&text, ""));
        for (number, line) in code.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            for word in banned.clone() {
                assert!(!code.contains(word), "{name}:{}: {word} in the core", number + 1);
            }
        }
    }
}

/// Nothing that is committed knows the machine it was written on.
#[test]
fn no_path_of_a_machine() {
    // Put together, so that this file does not hold them.
    let banned = [["/wo", "rk/"], ["/ro", "ot/"], ["/tmp/tar", "get"], ["/usr/local/car", "go"]]
        .map(|parts| parts.concat());
    for path in files("") {
        let Ok(text) = fs::read_to_string(root().join(&path)) else { continue };
        for word in &banned {
            assert!(!text.contains(word), "{} holds {word}", path.display());
        }
    }
}
