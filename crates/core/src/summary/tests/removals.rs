use super::super::path_changes::PathChange;
use super::super::removals::*;

fn removed(path: &str, folder: &str) -> PathChange {
    PathChange::Removed(RemovedPath {
        path: path.to_owned(),
        folder: folder.to_owned(),
        is_certain: true,
    })
}

#[test]
fn a_removal_is_certain_only_where_its_directory_is_known() {
    let is_certain = |change: &PathChange, path: &str| {
        let mut removals = Removals::default();
        removals.apply(change, true, 0);
        removals.certainly_contain(path, "/src")
    };
    for (path, folder, file) in [
        ("a.rs", "", "/src/a.rs"),
        ("a.rs", "", "a.rs"),
        ("../a.rs", "docs/old", "docs/a.rs"),
        ("docs", "", "/src/docs/a.rs"),
        ("a.rs", "/src/docs", "docs/a.rs"),
    ] {
        assert!(is_certain(&removed(path, folder), file), "{path}");
    }
    for (path, folder, file) in [
        ("README.md", "", "/src/docs/README.md"),
        ("README.md", "/tmp/t", "/src/docs/README.md"),
        ("README.md", "/tmp/t", "README.md"),
        ("README.md", "~", "README.md"),
        ("README.md", "$TMP", "README.md"),
        ("doc", "", "docs/a.rs"),
    ] {
        assert!(!is_certain(&removed(path, folder), file), "{path}");
    }

    // An earlier command may have changed to another directory.
    let mut removals = Removals::default();
    removals.apply(&removed("a.rs", ""), false, 0);
    removals.apply(&removed("b.rs", "/src"), false, 0);
    assert!(!removals.certainly_contain("a.rs", "/src"));
    assert!(removals.certainly_contain("b.rs", "/src"));
    // Another file of this name was removed.
    removals.apply(&removed("README.md", "/tmp/t"), true, 0);
    assert!(!removals.contain("/src/docs/README.md"));
}

/// `mv notes.md /tmp/` writes another file of this name.
#[test]
fn an_absolute_path_is_compared_from_the_directory_of_the_session() {
    for (folder, path, is_same) in [
        ("", "/tmp/notes.md", false),
        ("", "/src/notes.md", true),
        ("", "/src/docs/../notes.md", true),
        ("docs", "/src/docs/notes.md", true),
        ("docs", "/src/notes.md", false),
        ("~", "/home/ada/notes.md", true),
    ] {
        let mut removals = Removals::in_folder("/src");
        removals.apply(&removed("notes.md", folder), true, 0);
        assert_eq!(removals.contain(path), is_same, "{path}");
        removals.restore(path);
        assert_eq!(removals.is_empty(), is_same, "{path}");
    }
    // The command may have run in any directory.
    let mut removals = Removals::in_folder("/src");
    removals.apply(&removed("notes.md", ""), false, 0);
    assert!(removals.contain("/tmp/notes.md"));
}

/// What is removed again later is one removal, of the last call.
#[test]
fn removals_are_found_from_a_call_on() {
    let mut removals = Removals::default();
    removals.apply(&removed("docs/a.md", ""), true, 2);
    removals.apply(&removed("b.md", ""), true, 3);
    removals.apply(&removed("docs/a.md", ""), true, 5);
    assert!(removals.are_named_since("python docs/a.md", 5));
    assert!(!removals.are_named_since("python docs/a.md", 6));
    assert!(removals.are_named_since("python b.md", 3));
    assert!(!removals.are_named_since("python b.md", 4));
}

#[test]
fn any_path_may_be_below_one_without_a_name() {
    let mut removals = Removals::in_folder("/src/docs");
    removals.apply(&removed("../docs/..", ""), true, 0);
    assert!(removals.contain("/src/a.md"));
    assert!(removals.certainly_contain("a.md", "/src/docs"));
    assert!(!removals.contain("/lib/a.md"));
}

#[test]
fn what_a_command_writes_or_restores_is_there() {
    let written = |path: &str| PathChange::Written(path.to_owned());
    let restored = |path: &str| PathChange::Restored(path.to_owned());
    for (change, path, is_there) in [
        (written("a.rs"), "/src/a.rs", true),
        (written("/src/a.rs"), "a.rs", true),
        (written("docs/a.rs"), "docs", true),
        (written("docs"), "docs/a.rs", false),
        (restored("docs/"), "/src/docs/a.rs", true),
        (restored("."), "/src/docs/a.rs", true),
        (restored("main"), "/src/docs/a.rs", false),
    ] {
        let mut removals = Removals::default();
        removals.apply(&removed(path, ""), true, 0);
        removals.apply(&change, true, 0);
        assert_eq!(removals.have_restored(path), is_there, "{change:?} {path}");
        assert_eq!(removals.contain(path), !is_there, "{change:?} {path}");
    }
}

#[test]
fn a_path_is_gone_with_its_directory_until_it_is_written_again() {
    let mut removals = Removals::default();
    for path in ["./src/old/", "/home/ada/ledger/notes.md"] {
        removals.apply(&removed(path, ""), true, 0);
    }
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
    removals.apply(&removed("a/a", ""), true, 0);
    assert!(removals.contain("/aa/a/a"));
    assert!(!removals.contain("/aa/a"));
    assert!(removals.are_named_in("keep `src/old/a.ts`, it is used."));
    assert!(!removals.are_named_in("the old one is in src."));

    removals.restore("src/old/a.ts");
    assert!(!removals.contain("src/old/a.ts"));
    assert!(removals.contain("notes.md"));
}
