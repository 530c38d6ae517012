//! The man pages and the table of options are generated from the one definition of the command
//! line, the pictures from what pisess prints; all are committed. `PISESS_BLESS=1 cargo
//! test --test it generated` updates them.

mod man;
mod options;
#[cfg(target_os = "linux")]
mod picture;

use std::path::{Path, PathBuf};

/// Every generated file, by its path from the root of the project.
fn files() -> Vec<(PathBuf, String)> {
    let mut files = Vec::new();
    for (name, page) in man::pages() {
        files.push((Path::new("man").join(name), page));
    }
    files.push(("docs/options.md".into(), options::page()));
    #[cfg(target_os = "linux")]
    {
        files.push(("docs/tree.svg".into(), picture::tree()));
        files.push(("docs/demo.svg".into(), picture::demo()));
    }
    files
}

#[test]
fn generated_files_are_what_the_definition_makes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bless = std::env::var_os("PISESS_BLESS").is_some_and(|bless| !bless.is_empty());
    let files = files();
    let mut drifted = Vec::new();
    for (path, wanted) in &files {
        if std::fs::read_to_string(root.join(path)).ok().as_ref() == Some(wanted) {
            continue;
        }
        if bless {
            std::fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            std::fs::write(root.join(path), wanted).unwrap();
        } else {
            drifted.push(path.display().to_string());
        }
    }
    for file in std::fs::read_dir(root.join("man")).into_iter().flatten() {
        let path = Path::new("man").join(file.unwrap().file_name());
        match files.iter().any(|(made, _)| *made == path) {
            true => {}
            false if bless => std::fs::remove_file(root.join(path)).unwrap(),
            false => drifted.push(format!("{} (nothing makes it)", path.display())),
        }
    }
    assert!(
        drifted.is_empty(),
        "these drifted from src/: {drifted:#?}\nwrite them anew with PISESS_BLESS=1 cargo test --test it generated"
    );
}
