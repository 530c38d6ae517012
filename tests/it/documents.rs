//! What the documents show is run, and what help and man pages give as examples works.
//!
//! In `README.md` and `docs/*.md`, a block marked `console` is a session at a shell: lines after `$ `
//! are typed, the lines below are what is seen on a terminal of 80 columns without colours. Each document gets a folder of
//! its own with the fixtures in it, and what one block does is there in the next.
//! `PISESS_BLESS=1 cargo test --test it documents` writes the outputs anew.

use crate::pty::on_terminal;
use pisess::guide;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A folder with the fixtures, sessions of every kind under the names that examples use, and a
/// model that always answers the same.
struct Desk {
    folder: TempDir,
}

impl Desk {
    fn new() -> Desk {
        let desk = Desk { folder: tempfile::Builder::new().prefix("it").tempdir().unwrap() };
        let fixtures = root().join("fixtures");
        fs::create_dir_all(desk.path("sessions/deeper")).unwrap();
        fs::create_dir_all(desk.path("home")).unwrap();
        for folder in ["fixtures", "fixtures/hazards"] {
            fs::create_dir_all(desk.path(folder)).unwrap();
            for file in fs::read_dir(root().join(folder)).unwrap().map(Result::unwrap) {
                if file.file_type().unwrap().is_file() {
                    fs::copy(file.path(), desk.path(folder).join(file.file_name())).unwrap();
                }
            }
        }
        for (from, to) in [
            ("tour", "session.jsonl"),
            ("v1", "old.jsonl"),
            ("hazards/torn-tail", "broken.jsonl"),
            ("v1", "sessions/one.jsonl"),
            ("v2", "sessions/two.jsonl"),
            ("draft-tree", "sessions/deeper/three.jsonl"),
        ] {
            fs::copy(fixtures.join(from).with_extension("jsonl"), desk.path(to)).unwrap();
        }
        desk.script("llm", "cat > /dev/null; echo 'The waiting times are right across midnight now.'");
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command that examples call, and that is not everywhere.
    fn script(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let bin = self.path("home/bin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join(name), format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs a line in a shell on a terminal of 80 columns: what is seen there, and the exit code.
    fn run(&self, line: &str) -> (String, i32) {
        let pisess = Path::new(env!("CARGO_BIN_EXE_pisess")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", format!("{}:{}:{path}", self.path("home/bin").display(), pisess.display()))
            .env("HOME", self.path("home"))
            .env("NO_COLOR", "1")
            .env("TZ", "UTC")
            .env("PISESS_NOW", "2026-11-21T12:00:00Z")
            .env("PISESS_ID_SEED", "documents");
        on_terminal(command)
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The README, and what lies in `docs/`.
fn documents() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs")).unwrap().map(|file| file.unwrap().path());
    let mut all: Vec<_> = docs.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    all.sort();
    all.insert(0, root().join("README.md"));
    all
}

#[test]
fn what_documents_show_is_what_is_printed() {
    let bless = std::env::var_os("PISESS_BLESS").is_some_and(|bless| !bless.is_empty());
    for path in documents() {
        let text = fs::read_to_string(&path).unwrap();
        let shown = rerun(&text, &Desk::new());
        if bless && shown != text {
            fs::write(&path, &shown).unwrap();
        }
        let name = path.strip_prefix(root()).unwrap().display();
        for (line, (wanted, found)) in text.lines().zip(shown.lines()).enumerate() {
            assert!(bless || wanted == found, "{name}:{}: says\n{wanted}\nbut now it is\n{found}", line + 1);
        }
        assert!(bless || text == shown, "{name}: an output is longer or shorter now");
    }
}

/// The document with each output as it is now.
fn rerun(text: &str, desk: &Desk) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        out += &format!("{line}\n");
        if line != "```console" {
            continue;
        }
        while let Some(line) = lines.next_if(|line| *line != "```") {
            let Some(command) = line.strip_prefix("$ ") else { continue };
            out += &format!("{line}\n");
            let mut command = command.to_owned();
            while command.ends_with('\\') {
                let more = lines.next().expect("a line goes on");
                out += &format!("{more}\n");
                command += &format!("\n{more}");
            }
            let said = output(&command, desk);
            // Commands are set apart by an empty line.
            let last = lines.clone().find(|line| *line == "```" || line.starts_with("$ ")) == Some("```");
            out += &said;
            if !last {
                out.push('\n');
            }
        }
    }
    out
}

fn output(command: &str, desk: &Desk) -> String {
    let command = command.replace("cargo run --release -q --", "pisess");
    if command.starts_with("cargo ") {
        return String::new();
    }
    let (text, code) = desk.run(&command);
    let folder = desk.folder.path().to_str().unwrap();
    let text = text.replace(folder, "/home/you").replace("/home/you/home", "/home/you");
    let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    assert!(code < 2, "{command}\n{text}");
    text + line_end
}

#[test]
fn examples_of_the_help_work() {
    let all = guide::guides().into_iter().flat_map(|guide| guide.examples).chain(&guide::EXAMPLES);
    let mut wrong = String::new();
    for example in all {
        let desk = Desk::new();
        let (said, code) = desk.run("pisess label session.jsonl @ done");
        assert_eq!(code, 0, "{said}");
        let (said, code) = desk.run(example.line);
        if code != i32::from(example.exit) {
            wrong += &format!("$ {}\n{said}exit {code}\n\n", example.line);
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Tables of a document must say what the guide says.
#[test]
fn the_readme_has_the_tables_of_the_help() {
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    for (form, meaning) in guide::EXIT_CODES.iter().chain(&guide::REFERENCES) {
        let row = format!("| `{form}` | {meaning} |");
        assert!(readme.contains(&row), "README.md has no row {row}");
    }
    for guide in guide::guides() {
        let link = format!("man/pisess-{}.1", guide.verb);
        assert!(readme.contains(&link), "README.md does not link {link}");
    }
}
