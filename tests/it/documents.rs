//! Runs the examples in the documents, the help and the man pages.
//!
//! In `README.md` and `docs/*.md`, a block marked `console` is a shell session: lines that begin
//! with `$ ` are commands, lines that begin with `> ` continue a command, and the other lines are
//! the output on a terminal of 80 columns without colours. Each document is run in a directory of
//! its own, and each block sees the files that earlier blocks left. The README and `docs/jobs.md`
//! start with what a checkout has, so that a reader can follow them from the first block; the other
//! documents start with sessions under the names they use. `PISESS_BLESS=1 cargo test --test it
//! documents` updates the outputs, and the tables of `docs/jobs.md`. The commands in
//! `skills/pisess/SKILL.md` are run as an agent runs them: in a pipe, within a session.
//!
//! A block marked `console with fzf` (or another tool) is run by a test of its own, which
//! `tests/recipes/run` starts after installing the tools. In the other blocks, `documents/jq.rs`
//! replaces jq.

mod jobs;
mod model;

use crate::pty::on_terminal;
use crate::sandbox::{example, write_script};
use pisess::guide;
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// A directory in which examples are run.
struct Desk {
    folder: TempDir,
    /// The number of commands run: the clock goes on by a second with each.
    seconds: Cell<u32>,
    env: Vec<(&'static str, String)>,
    output: Sink,
}

/// Where the output of commands goes.
#[derive(Clone, Copy)]
enum Sink {
    /// To a terminal of 80 columns.
    Terminal,
    /// Both streams to one pipe.
    Pipe,
}

impl Desk {
    /// Returns a directory with the sessions of the stores that the examples use.
    fn stores() -> Desk {
        let folder = tempfile::Builder::new().prefix("it").tempdir().unwrap();
        let desk = Desk {
            folder,
            seconds: Cell::new(0),
            env: Vec::new(),
            output: Sink::Terminal,
        };
        fs::create_dir_all(desk.path("home/bin")).unwrap();
        let store = desk.path("home/.pi/agent/sessions/--home-u-code-ferry--");
        fs::create_dir_all(&store).unwrap();
        let name = "2026-03-14T09-26-45-589Z_019ceb84-1405-7a3e-9c1d-5b2f6e8a4d70.jsonl";
        fs::copy(root().join("fixtures/tour.jsonl"), store.join(name)).unwrap();
        for (from, to) in [
            (
                "claude/tree",
                "home/.claude/projects/-home-u-kites/c1a00000-0000-4000-8000-0000000000a2.jsonl",
            ),
            (
                "codex/plain",
                "home/.codex/sessions/2026/03/02/rollout-2026-03-02T10-00-00-019cad00-0000-7000-8000-0000000000b1.jsonl",
            ),
            (
                "gemini/rewind",
                "home/.gemini/tmp/kites/chats/session-2026-04-29T18-32-62dbc1c3.jsonl",
            ),
        ] {
            fs::create_dir_all(desk.path(to).parent().unwrap()).unwrap();
            fs::copy(
                root().join("fixtures").join(from).with_extension("jsonl"),
                desk.path(to),
            )
            .unwrap();
        }
        let export = root().join("fixtures/opencode/plain.json");
        fs::copy(export, desk.path("session.json")).unwrap();
        fs::create_dir_all(desk.path("tools")).unwrap();
        fs::create_dir_all(desk.path(".git")).unwrap();
        desk
    }

    /// Returns a directory with the files of a checkout that the documents use, besides.
    fn checkout() -> Desk {
        let desk = Desk::stores();
        for folder in ["fixtures", "fixtures/hazards", "docs/examples"] {
            fs::create_dir_all(desk.path(folder)).unwrap();
            for file in fs::read_dir(root().join(folder))
                .unwrap()
                .map(Result::unwrap)
            {
                if file.file_type().unwrap().is_file() {
                    fs::copy(file.path(), desk.path(folder).join(file.file_name())).unwrap();
                }
            }
        }
        desk
    }

    /// Returns a checkout with what [`Desk::with_sessions`] adds.
    fn new() -> Desk {
        Desk::checkout().with_sessions()
    }

    /// Adds sessions of every kind, under the names that examples use, and a model that always
    /// gives the same answer.
    fn with_sessions(self) -> Desk {
        let fixtures = root().join("fixtures");
        fs::create_dir_all(self.path("sessions/deeper")).unwrap();
        for (from, to) in [
            ("tour", "session.jsonl"),
            ("v1", "old.jsonl"),
            ("hazards/torn-tail", "broken.jsonl"),
            ("v1", "sessions/one.jsonl"),
            ("v2", "sessions/two.jsonl"),
            ("draft-tree", "sessions/deeper/three.jsonl"),
        ] {
            fs::copy(fixtures.join(from).with_extension("jsonl"), self.path(to)).unwrap();
        }
        fs::write(self.path(".env"), "API_KEY='correct horse 42'\n").unwrap();
        self.script(
            "llm",
            "cat > /dev/null; echo 'The waiting times are right across midnight now.'",
        );
        self
    }

    /// Adds the subset of jq that the documents use.
    fn with_our_jq(self) -> Desk {
        std::os::unix::fs::symlink(example("jq"), self.path("tools/jq")).unwrap();
        self
    }

    /// Adds replacements: a fzf with fixed answers, a pager for git, and a model behind HTTP.
    fn with_tools(mut self) -> Desk {
        self.env
            .push(("FZF_DEFAULT_OPTS", "--exact --filter undo".to_owned()));
        self.env.push(("GIT_PAGER", "cat".to_owned()));
        self.env.push(("LLM_URL", model::listen()));
        self
    }

    /// Sets the environment that an agent gives to the commands that it runs in a session.
    fn for_agent(mut self) -> Desk {
        self.env.push((
            "PI_SESSION_FILE",
            self.path("session.jsonl").display().to_string(),
        ));
        self.output = Sink::Pipe;
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a command that examples call but that not every machine has.
    fn script(&self, name: &str, text: &str) {
        write_script(&self.path("tools").join(name), text);
    }

    /// Runs a line in a shell. Returns what appears on the terminal or in the pipe, and the exit
    /// code.
    fn run(&self, line: &str) -> (String, i32) {
        match self.output {
            Sink::Terminal => on_terminal(self.shell(line)),
            Sink::Pipe => {
                let done = self.shell(&format!("exec 2>&1\n{line}")).output().unwrap();
                (
                    String::from_utf8(done.stdout).unwrap(),
                    done.status.code().unwrap(),
                )
            }
        }
    }

    fn shell(&self, line: &str) -> Command {
        let pisess = Path::new(env!("CARGO_BIN_EXE_pisess")).parent().unwrap();
        let path = std::env::var("PATH").unwrap_or_default();
        let seconds = self.seconds.replace(self.seconds.get() + 1);
        let now = format!("2026-11-21T12:{:02}:{:02}Z", seconds / 60, seconds % 60);
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
            .env("PAGER", "cat")
            .env("TZ", "UTC")
            .env("PISESS_NOW", now)
            .env("PISESS_ID_SEED", "documents");
        command
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the paths of the README and of the documents in `docs/`.
fn documents() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs"))
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut all: Vec<_> = docs
        .filter(|path| path.extension().is_some_and(|end| end == "md"))
        .collect();
    all.sort();
    all.insert(0, root().join("README.md"));
    all
}

#[test]
fn documents_show_the_actual_output() {
    for path in documents() {
        let desk = match path.file_name().and_then(|name| name.to_str()) {
            Some("README.md" | "jobs.md") => Desk::checkout(),
            Some("agents.md") => Desk::new().for_agent(),
            _ => Desk::new().with_our_jq(),
        };
        holds(&path, &|tools| tools.is_empty(), &desk);
    }
}

#[test]
fn the_skill_shows_the_actual_output() {
    holds(
        &root().join("skills/pisess/SKILL.md"),
        &|tools| tools.is_empty(),
        &Desk::new().for_agent(),
    );
}

/// Runs all recipes with the real tools.
#[test]
#[ignore = "needs jq, fzf, curl, git and duckdb: tests/recipes/run installs them"]
fn recipes_work_with_the_tools_they_name() {
    let needed = |tools: &str| {
        for tool in tools.split_whitespace() {
            let there = Command::new(tool).arg("--version").output().is_ok();
            assert!(there, "{tool} is missing: tests/recipes/run installs it");
        }
        true
    };
    assert!(needed("jq fzf curl git duckdb"));
    for name in ["docs/recipes.md", "docs/hooks.md"] {
        holds(&root().join(name), &needed, &Desk::new().with_tools());
    }
}

/// Runs the blocks of a document that `runs` accepts, and compares their output.
fn holds(path: &Path, runs: &dyn Fn(&str) -> bool, desk: &Desk) {
    let bless = std::env::var_os("PISESS_BLESS").is_some_and(|bless| !bless.is_empty());
    let text = fs::read_to_string(path).unwrap();
    let shown = rerun(&text, runs, desk);
    let shown = if path.ends_with("docs/jobs.md") {
        with_tables(shown)
    } else {
        shown
    };
    if bless && shown != text {
        fs::write(path, &shown).unwrap();
    }
    let name = path.strip_prefix(root()).unwrap().display();
    for (line, (wanted, found)) in text.lines().zip(shown.lines()).enumerate() {
        assert!(
            bless || wanted == found,
            "{name}:{}: expected\n{wanted}\nfound\n{found}",
            line + 1
        );
    }
    assert!(
        bless || text == shown,
        "{name}: the length of an output differs"
    );
}

/// The tables of `docs/jobs.md` that are made from the command line: their headings, and their
/// rows.
fn tables() -> [(&'static str, String); 3] {
    let links = |group: &'static str| {
        let verbs = pisess::command_groups().filter(move |(of, _)| *of == group);
        verbs
            .map(|(_, verb)| format!("[{verb}](../man/pisess-{verb}.1)"))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut groups: Vec<_> = pisess::command_groups().map(|(group, _)| group).collect();
    groups.dedup();
    let commands = groups
        .iter()
        .map(|group| format!("| {group} | {} |\n", links(group)))
        .collect();
    let row = |(form, meaning): &(&str, &str)| format!("| `{form}` | {meaning} |\n");
    [
        ("| to | use |\n| --- | --- |\n", commands),
        (
            "| form | means |\n| --- | --- |\n",
            guide::REFERENCES.iter().map(row).collect(),
        ),
        (
            "| code | means |\n| --- | --- |\n",
            guide::EXIT_CODES.iter().map(row).collect(),
        ),
    ]
}

/// Returns `docs/jobs.md` with the current rows in its [`tables`].
fn with_tables(mut text: String) -> String {
    for (heading, rows) in tables() {
        let start = text
            .find(heading)
            .unwrap_or_else(|| panic!("docs/jobs.md has no {heading}"))
            + heading.len();
        // The last table ends with the document.
        let end = match text[start..].find("\n\n") {
            Some(rows_len) => start + rows_len + 1,
            None => text.len(),
        };
        text.replace_range(start..end, &rows);
    }
    text
}

/// Returns the document with the current output in each block that runs.
fn rerun(text: &str, runs: &dyn Fn(&str) -> bool, desk: &Desk) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        out += &format!("{line}\n");
        let tools = line
            .strip_prefix("```console")
            .map(|rest| rest.strip_prefix(" with ").unwrap_or(rest));
        if !tools.is_some_and(runs) {
            continue;
        }
        while let Some(line) = lines.next_if(|line| *line != "```") {
            let Some(command) = line.strip_prefix("$ ") else {
                continue;
            };
            out += &format!("{line}\n");
            let mut command = command.to_owned();
            // The prompt for the rest of a command is `> `.
            while let Some(more) = lines.next_if(|line| line.starts_with("> ")) {
                out += &format!("{more}\n");
                command += &format!("\n{}", &more[2..]);
            }
            let said = output(&command, desk);
            // A blank line separates commands.
            let last = lines
                .clone()
                .find(|line| *line == "```" || line.starts_with("$ "))
                == Some("```");
            out += &said;
            if !last {
                out.push('\n');
            }
        }
    }
    out
}

fn output(command: &str, desk: &Desk) -> String {
    let command = command.replace("cargo run --", "pisess");
    if command == "cargo test" {
        return String::new();
    }
    let (text, code) = desk.run(&command);
    let folder = desk.folder.path().to_str().unwrap();
    let text = text
        .replace(folder, "/home/you")
        .replace("/home/you/home", "/home/you");
    let line_end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    assert!(code < 2, "{command}\n{text}");
    text + line_end
}

/// Runs each example as it would be pasted from `--help` on a terminal of 80 columns.
#[test]
fn examples_of_the_help_work() {
    let mut wrong = String::new();
    let desk = Desk::stores();
    for (verb, guide) in pisess::command_guides() {
        let pasted = examples_in_help(verb, &desk);
        assert_eq!(pasted.len(), guide.examples.len(), "{verb}: {pasted:#?}");
        for (pasted, example) in pasted.iter().zip(guide.examples) {
            assert_eq!(unfolded(pasted), example.line, "pisess {verb} --help");
            wrong += &failure_of(pasted, example.exit);
        }
    }
    for example in &guide::EXAMPLES {
        wrong += &failure_of(example.line, example.exit);
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Returns the commands below `Examples:` in the help of a command, without their indent.
fn examples_in_help(verb: &str, desk: &Desk) -> Vec<String> {
    let (help, code) = desk.run(&format!("COLUMNS=80 pisess {verb} --help"));
    assert_eq!(code, 0, "{help}");
    let (_, examples) = help
        .split_once("\nExamples:\n")
        .unwrap_or_else(|| panic!("{verb} has no examples"));
    let lines = examples
        .lines()
        .take_while(|line| line.is_empty() || line.starts_with("  "));
    let mut commands = vec![String::new()];
    for line in lines {
        assert!(line.chars().count() <= 80, "pisess {verb} --help: {line}");
        match line.strip_prefix("  ") {
            None => commands.push(String::new()),
            Some(title) if title.starts_with("# ") => {}
            Some(line) => *commands.last_mut().expect("there is one") += &format!("{line}\n"),
        }
    }
    commands.retain(|command| !command.is_empty());
    commands
}

/// Returns a command on one line, without a backslash and the newline after it.
fn unfolded(command: &str) -> String {
    let mut lines = command.trim_end().split(" \\\n").map(str::trim_start);
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |line, more| format!("{line} {more}"))
}

/// Runs an example if its sessions exist. Returns a report if it exits with another code than
/// expected.
fn failure_of(line: &str, exit: u8) -> String {
    let desk = Desk::stores().with_sessions();
    static LABELED: OnceLock<Vec<u8>> = OnceLock::new();
    let labeled = LABELED.get_or_init(|| {
        let (output, code) = desk.run("pisess label session.jsonl @ done");
        assert_eq!(code, 0, "{output}");
        fs::read(desk.path("session.jsonl")).unwrap()
    });
    fs::write(desk.path("session.jsonl"), labeled).unwrap();
    fs::write(desk.path("copy.jsonl"), labeled).unwrap();
    fs::create_dir_all(desk.path("src")).unwrap();
    fs::write(desk.path("src/clock.rs"), "// a line\n".repeat(60)).unwrap();
    let (output, code) = desk.run(line);
    if code == i32::from(exit) {
        String::new()
    } else {
        format!("$ {line}\n{output}exit {code}\n\n")
    }
}
