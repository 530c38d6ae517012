//! A temporary directory with a fixed environment, and runs of pisess in it.
//!
//! A command line is written as in a shell, with `'quotes'` where needed. `./` at the start of an
//! argument is the sandbox; in the output of a run, the sandbox's path is `./` again.

use pisess::world::{Terminals, World};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, FileType};
use std::io::{Cursor, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// The environment of every run.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("PISESS_NOW", "2026-05-04T12:00:00Z"),
    ("PISESS_ID_SEED", "test"),
    ("TZ", "UTC"),
    ("HOME", "/home/u"),
];

/// A directory that is removed at the end of the test.
pub struct Sandbox {
    folder: TempDir,
}

/// Every file below a directory by its path, with its bytes, or with a description if it is not a
/// regular file.
pub type Files = BTreeMap<String, Vec<u8>>;

/// Returns the bytes of a fixture.
pub fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("fixtures")
        .join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the names of all hazards, without `.jsonl`.
pub fn hazards() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/hazards");
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".jsonl").map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// Returns a session of version 3 with these lines.
pub fn session<L: AsRef<str>>(lines: &[L]) -> Vec<u8> {
    let mut text = fixture("hazards/header-only.jsonl");
    for line in lines {
        text.extend_from_slice(line.as_ref().as_bytes());
        text.push(b'\n');
    }
    text
}

/// Returns a user message.
pub fn user(id: &str, parent: Option<&str>, text: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("{parent:?}"));
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"{text}"}}}}"#
    )
}

/// Returns the program that real runs start: `PISESS`, or what cargo built for the tests.
pub fn program() -> PathBuf {
    std::env::var_os("PISESS").map_or_else(|| env!("CARGO_BIN_EXE_pisess").into(), PathBuf::from)
}

/// Returns the path of a program among the tests (`[[example]]` in Cargo.toml). `cargo test` builds
/// them, `cargo test --test it` does not, so they are brought up to date first.
pub fn example(name: &str) -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let folder = BUILT.get_or_init(|| {
        let built = Path::new(env!("CARGO_BIN_EXE_pisess")).parent().unwrap();
        let profile = built.file_name().unwrap().to_str().unwrap();
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        build.args([
            "build",
            "--quiet",
            "--example",
            "jq",
            "--example",
            "store-worker",
        ]);
        build.args([
            "--profile",
            if profile == "debug" { "dev" } else { profile },
        ]);
        build
            .arg("--target-dir")
            .arg(built.parent().unwrap())
            .current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(build.status().unwrap().success(), "{build:?}");
        built.join("examples")
    });
    folder.join(name)
}

impl Sandbox {
    /// Returns an empty sandbox.
    pub fn new() -> Self {
        Sandbox {
            folder: tempfile::Builder::new().prefix("it").tempdir().unwrap(),
        }
    }

    /// Returns a sandbox with copies of these fixtures, each under its file name.
    pub fn with(fixtures: &[&str]) -> Self {
        let sandbox = Sandbox::new();
        for name in fixtures {
            let file = Path::new(name).file_name().unwrap().to_str().unwrap();
            sandbox.put(file, fixture(name));
        }
        sandbox
    }

    /// Returns the directory, or a path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file, and the directories above it.
    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Writes an executable shell script.
    #[cfg(unix)]
    pub fn script(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write_script(&path, text);
    }

    /// Returns the bytes of a file.
    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns the text of a file, with `./` for the sandbox.
    pub fn text(&self, name: &str) -> String {
        self.relative(&String::from_utf8(self.bytes(name)).unwrap())
    }

    /// Returns the lines of a file from line `from` (counted from 1) on.
    pub fn lines_from(&self, name: &str, from: usize) -> String {
        self.text(name)
            .lines()
            .skip(from - 1)
            .map(|line| format!("{line}\n"))
            .collect()
    }

    /// Returns every file of the sandbox, including hidden ones and those in subdirectories.
    pub fn files(&self) -> Files {
        let bytes = |(name, kind): (String, FileType)| {
            let path = self.path(&name);
            let bytes = if kind.is_symlink() {
                fs::read_link(path).unwrap().to_str().unwrap().into()
            } else if kind.is_file() {
                fs::read(path).unwrap()
            } else {
                b"no regular file".to_vec()
            };
            (name, bytes)
        };
        self.listed().into_iter().map(bytes).collect()
    }

    /// Returns the names of the files, which are not read.
    pub fn names(&self) -> Vec<String> {
        self.listed().into_keys().collect()
    }

    fn listed(&self) -> BTreeMap<String, FileType> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path
                    .strip_prefix(self.folder.path())
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                let kind = fs::symlink_metadata(&path).unwrap().file_type();
                if kind.is_dir() {
                    folders.push(path);
                } else {
                    files.insert(name, kind);
                }
            }
        }
        files
    }

    /// Returns a run of this command line (without `pisess`), not started yet.
    pub fn pisess(&self, line: &str) -> Call<'_> {
        Call {
            sandbox: self,
            line: line.to_owned(),
            stdin: Vec::new(),
            terminals: Terminals::default(),
            env: ENVIRONMENT
                .iter()
                .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                .collect(),
        }
    }

    /// Runs a command line that succeeds without diagnostics; returns its stdout.
    pub fn run(&self, line: &str) -> String {
        self.pisess(line).done().quiet()
    }

    /// Runs a command line that changes no file; returns the result.
    pub fn unchanged(&self, line: &str) -> Done {
        let before = self.files();
        let done = self.pisess(line).done();
        assert!(
            self.files() == before,
            "{line} changed {:?} to {:?}",
            before.keys(),
            self.names()
        );
        done
    }

    fn arguments(&self, line: &str) -> Vec<String> {
        split(line)
            .into_iter()
            .map(|word| self.absolute(&word))
            .collect()
    }

    fn absolute(&self, word: &str) -> String {
        let folder = self.folder.path().to_str().unwrap();
        match word {
            "." => folder.to_owned(),
            word => match word.split_once("./") {
                Some((option, name)) if option.is_empty() || option.ends_with('=') => {
                    format!("{option}{folder}/{name}")
                }
                _ => word.to_owned(),
            },
        }
    }

    fn relative(&self, text: &str) -> String {
        let folder = self.folder.path().to_str().unwrap();
        text.replace(&format!("{folder}/"), "./")
            .replace(folder, ".")
    }
}

/// Splits a command line into words; a word may have parts in single quotes.
pub fn split(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            c if c.is_whitespace() && !quoted => words.extend(word.take()),
            c => word.get_or_insert_default().push(c),
        }
    }
    assert!(!quoted, "{line}");
    words.into_iter().chain(word).collect()
}

/// A run in preparation.
#[must_use]
pub struct Call<'a> {
    sandbox: &'a Sandbox,
    line: String,
    stdin: Vec<u8>,
    terminals: Terminals,
    env: BTreeMap<String, String>,
}

impl Call<'_> {
    /// Sets standard input.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Makes standard output and standard error a terminal of this width.
    pub fn terminal(mut self, width: usize) -> Self {
        self.terminals = Terminals {
            stdin: false,
            stdout: true,
            stderr: true,
            width: Some(width),
            height: None,
        };
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Makes the sandbox the home directory.
    pub fn at_home(self) -> Self {
        let home = self.sandbox.path("");
        self.env("HOME", home.to_str().unwrap().trim_end_matches('/'))
    }

    /// Removes an environment variable.
    pub fn without(mut self, name: &str) -> Self {
        self.env.remove(name);
        self
    }

    /// Makes standard input a terminal.
    pub fn typed(mut self) -> Self {
        self.terminals.stdin = true;
        self
    }

    /// Runs the command in this process, or with the program that `PISESS` names.
    pub fn done(self) -> Done {
        if std::env::var_os("PISESS").is_some() {
            return self.real();
        }
        let mut stdout = Vec::new();
        let code = self.into_writer(&mut stdout);
        Done { stdout, ..code }
    }

    /// Runs the command in this process, with this as standard output.
    pub fn into_writer(self, stdout: &mut (dyn Write + Send)) -> Done {
        let mut stderr = Vec::new();
        let args = std::iter::once("pisess".to_owned()).chain(self.sandbox.arguments(&self.line));
        let world = World {
            stdin: &mut Cursor::new(&self.stdin),
            stdout,
            stderr: &mut stderr,
            terminals: self.terminals,
            is_terminal_free: || false,
            env: &|name| self.env.get(name).cloned(),
            now_ms: &|| panic!("the clock is fixed"),
            random: &|| Err(std::io::Error::other("the sandbox has none")),
            run_program: &|program| panic!("{program:?} runs for real only"),
            spawn: &|_| Err(std::io::Error::other("pagers run for real only")),
            stdout_file: None,
            stdout_is: &|_| false,
            folder: self.sandbox.folder.path().to_owned(),
            processors: &|| 2,
        };
        let code = pisess::run(args.map(Into::into), world);
        let stderr = self
            .sandbox
            .relative(&String::from_utf8(stderr).expect("stderr is UTF-8"));
        Done {
            stdout: Vec::new(),
            stderr,
            code,
            folder: self.sandbox.path(""),
            line: self.line,
        }
    }

    /// Runs the real binary in the sandbox.
    pub fn real(self) -> Done {
        let command = assert_cmd::Command::new(program());
        self.run_by(command)
    }

    /// Runs the real binary with this limit of `ulimit` on the size of files, which represents a
    /// full disk.
    #[cfg(unix)]
    pub fn limited(self, blocks: &str) -> Done {
        let mut shell = assert_cmd::Command::new("/bin/sh");
        shell
            .args([
                "-c",
                "trap '' XFSZ; ulimit -f \"$0\" && exec \"$@\"",
                blocks,
            ])
            .arg(program());
        self.run_by(shell)
    }

    fn run_by(self, mut command: assert_cmd::Command) -> Done {
        command
            .current_dir(self.sandbox.path(""))
            .env_clear()
            .envs(&self.env);
        if let Some(path) = std::env::var_os("PATH").filter(|_| !self.env.contains_key("PATH")) {
            command.env("PATH", path);
        }
        command.args(split(&self.line)).write_stdin(self.stdin);
        let output = command.output().unwrap();
        Done {
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
            code: u8::try_from(output.status.code().expect("no signal")).unwrap(),
            folder: self.sandbox.path(""),
            line: self.line,
        }
    }
}

/// Writes an executable shell script. Another process writes it: a child that another test starts
/// at the same time would inherit the open file of this process, and a file that is open for
/// writing cannot be executed ("Text file busy").
#[cfg(unix)]
pub fn write_script(path: &Path, text: &str) {
    use std::process::Stdio;

    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$1\" && chmod 755 \"$1\"", "sh"])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let script = format!("#!/bin/sh\n{text}\n");
    let mut stdin = writer.stdin.take().unwrap();
    stdin.write_all(script.as_bytes()).unwrap();
    drop(stdin);
    assert!(writer.wait().unwrap().success(), "{}", path.display());
}

/// A finished run. Displayed as in a shell: stdout, stderr after `2>`, an exit code other than 0.
pub struct Done {
    /// The bytes of standard output.
    pub stdout: Vec<u8>,
    /// The text of standard error.
    pub stderr: String,
    /// The exit code.
    pub code: u8,
    folder: PathBuf,
    line: String,
}

impl Done {
    /// Returns standard output as text, with `./` for the sandbox.
    pub fn text(&self) -> String {
        let text = String::from_utf8(self.stdout.clone()).expect("stdout is UTF-8");
        let folder = self.folder.to_str().unwrap().trim_end_matches('/');
        text.replace(&format!("{folder}/"), "./")
            .replace(folder, ".")
    }

    /// Returns stderr without the lines on which `switch`, `compact`, `label` and others report the
    /// outcome.
    fn diagnostics(&self) -> String {
        let is_outcome = |line: &&str| {
            let starts = [
                "pisess: now at ",
                "pisess: would be at ",
                "pisess: the context had ",
                "pisess: the context has ",
                "pisess: replaced the label ",
                "pisess: the entry is ",
            ];
            starts.iter().any(|start| line.starts_with(start))
        };
        self.stderr
            .split_inclusive('\n')
            .filter(|line| !is_outcome(line))
            .collect()
    }

    /// Asserts exit 0 and no diagnostics on stderr; returns stdout.
    #[track_caller]
    pub fn quiet(self) -> String {
        assert_eq!(
            (self.code, self.diagnostics().as_str()),
            (0, ""),
            "{}",
            self.line
        );
        self.text()
    }

    /// Asserts exit 0 and no diagnostics on stderr; returns the bytes of stdout.
    #[track_caller]
    pub fn quiet_bytes(self) -> Vec<u8> {
        assert_eq!(
            (self.code, self.diagnostics().as_str()),
            (0, ""),
            "{}",
            self.line
        );
        self.stdout
    }

    /// Asserts this exit code, nothing on stdout, and one line on stderr; returns that line without
    /// `pisess: `.
    #[track_caller]
    pub fn fails(self, code: u8) -> String {
        assert_eq!(self.text(), "", "{}", self.line);
        assert_eq!(self.code, code, "{}: {}", self.line, self.stderr);
        let line = self.stderr.strip_suffix('\n').expect("a whole line");
        assert!(
            !line.contains('\n'),
            "{}: more than one line: {line}",
            self.line
        );
        if line.starts_with('{') {
            let code = u64::from(code);
            return self.json_error(line, code);
        }
        line.strip_prefix("pisess: ")
            .expect("pisess speaks")
            .to_owned()
    }

    /// Returns the message and the hint of an error that `--json` printed, after checking its
    /// fields.
    #[track_caller]
    fn json_error(&self, line: &str, code: u64) -> String {
        let value: serde_json::Value = serde_json::from_str(line).expect("an error is JSON");
        let keys: Vec<_> = value["error"]
            .as_object()
            .expect("an object")
            .keys()
            .cloned()
            .collect();
        assert_eq!(
            keys,
            ["exit", "hint", "kind", "line", "message", "path"],
            "{}",
            self.line
        );
        assert_eq!(value["error"]["exit"], code, "{}", self.line);
        let text = |key: &str| value["error"][key].as_str().map(str::to_owned);
        let hint = text("hint")
            .map(|hint| format!(" (hint: {hint})"))
            .unwrap_or_default();
        format!("{}{hint}", text("message").expect("a message"))
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())?;
        for line in self.stderr.lines() {
            writeln!(f, "2> {line}")?;
        }
        if self.code != 0 {
            writeln!(f, "exit {}", self.code)?;
        }
        Ok(())
    }
}
