//! What the documents show is run, and what help and man pages give as examples works.
//!
//! In `README.md` and `docs/*.md`, a block marked `console` is a session at a shell: lines after `$ `
//! are typed, and those after `> ` where a command goes on; the lines below are what is seen on a
//! terminal of 80 columns without colours. Each document gets a folder of its own with the fixtures in
//! it, and what one block does is there in the next.
//! `PISESS_BLESS=1 cargo test --test it documents` writes the outputs anew.
//!
//! A block marked `console with fzf` (or another tool) is run by a test of its own, which
//! `tests/recipes/run` starts once it has seen to the tools. Where jq is called in the other blocks,
//! `documents/jq.rs` stands in for it.

mod model;

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
    env: Vec<(&'static str, String)>,
}

impl Desk {
    fn new() -> Desk {
        let folder = tempfile::Builder::new().prefix("it").tempdir().unwrap();
        let desk = Desk { folder, env: Vec::new() };
        let fixtures = root().join("fixtures");
        fs::create_dir_all(desk.path("sessions/deeper")).unwrap();
        fs::create_dir_all(desk.path("home/bin")).unwrap();
        fs::create_dir_all(desk.path("tools")).unwrap();
        for folder in ["fixtures", "fixtures/hazards", "docs/examples"] {
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
        fs::write(desk.path(".env"), "API_KEY='correct horse 42'\n").unwrap();
        desk.script("llm", "cat > /dev/null; echo 'The waiting times are right across midnight now.'");
        desk
    }

    /// With as much of jq as the documents use.
    fn with_our_jq(self) -> Desk {
        std::os::unix::fs::symlink(our_jq(), self.path("tools/jq")).unwrap();
        self
    }

    /// With somebody who chooses in fzf and needs no pager, and a model that is asked by HTTP.
    fn with_company(mut self) -> Desk {
        self.env.push(("FZF_DEFAULT_OPTS", "--exact --filter undo".to_owned()));
        self.env.push(("GIT_PAGER", "cat".to_owned()));
        self.env.push(("LLM_URL", model::listen()));
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command that examples call, and that is not everywhere.
    fn script(&self, name: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        let bin = self.path("tools");
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
            .env(
                "PATH",
                format!(
                    "{}:{}:{}:{path}",
                    self.path("home/bin").display(),
                    self.path("tools").display(),
                    pisess.display()
                ),
            )
            .envs(self.env.iter().map(|(name, value)| (name, value)))
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

/// jq as `documents/jq.rs` has it; `cargo test` builds it, `cargo test --test it` does not.
fn our_jq() -> PathBuf {
    let built = Path::new(env!("CARGO_BIN_EXE_pisess")).parent().unwrap();
    let jq = built.join("examples/jq");
    if !jq.exists() {
        let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--quiet", "--example", "jq"]).current_dir(root());
        build.args(built.ends_with("release").then_some("--release"));
        assert!(build.status().unwrap().success() && jq.exists(), "cargo build --example jq did not make it");
    }
    jq
}

#[test]
fn what_documents_show_is_what_is_printed() {
    for path in documents() {
        holds(&path, &|tools| tools.is_empty(), &Desk::new().with_our_jq());
    }
}

/// Every block of the recipes, with the tools themselves.
#[test]
#[ignore = "needs jq, fzf, curl, git and duckdb: tests/recipes/run sees to them"]
fn recipes_work_with_the_tools_they_name() {
    let needed = |tools: &str| {
        for tool in tools.split_whitespace() {
            let there = Command::new(tool).arg("--version").output().is_ok();
            assert!(there, "{tool} is not there: tests/recipes/run sees to it");
        }
        true
    };
    assert!(needed("jq fzf curl git duckdb"));
    for name in ["docs/recipes.md", "docs/hooks.md"] {
        holds(&root().join(name), &needed, &Desk::new().with_company());
    }
}

/// Runs the blocks of a document whose tools are to be used, and compares.
fn holds(path: &Path, runs: &dyn Fn(&str) -> bool, desk: &Desk) {
    let bless = std::env::var_os("PISESS_BLESS").is_some_and(|bless| !bless.is_empty());
    let text = fs::read_to_string(path).unwrap();
    let shown = rerun(&text, runs, desk);
    if bless && shown != text {
        fs::write(path, &shown).unwrap();
    }
    let name = path.strip_prefix(root()).unwrap().display();
    for (line, (wanted, found)) in text.lines().zip(shown.lines()).enumerate() {
        assert!(bless || wanted == found, "{name}:{}: says\n{wanted}\nbut now it is\n{found}", line + 1);
    }
    assert!(bless || text == shown, "{name}: an output is longer or shorter now");
}

/// The document with each output as it is now, of the blocks that run.
fn rerun(text: &str, runs: &dyn Fn(&str) -> bool, desk: &Desk) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        out += &format!("{line}\n");
        let tools = line.strip_prefix("```console").map(|rest| rest.strip_prefix(" with ").unwrap_or(rest));
        if !tools.is_some_and(runs) {
            continue;
        }
        while let Some(line) = lines.next_if(|line| *line != "```") {
            let Some(command) = line.strip_prefix("$ ") else { continue };
            out += &format!("{line}\n");
            let mut command = command.to_owned();
            // A shell asks for the rest of a command with `> `.
            while let Some(more) = lines.next_if(|line| line.starts_with("> ")) {
                out += &format!("{more}\n");
                command += &format!("\n{}", &more[2..]);
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
    let all = pisess::GUIDES.into_iter().flat_map(|guide| guide.examples).chain(&guide::EXAMPLES);
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
    for guide in pisess::GUIDES {
        let link = format!("man/pisess-{}.1", guide.verb);
        assert!(readme.contains(&link), "README.md does not link {link}");
    }
}
