//! Completion in the shells themselves, on a terminal. `tests/shells/run` installs the shells and
//! runs these.

use crate::names::{Desk, time};
use serde_json::json;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// What appears before anything is typed.
const PROMPT: &str = "READY>";
/// How long a slow machine may take to respond.
const PATIENCE: Duration = Duration::from_secs(60);

/// A shell, how it is started, and how it loads its completions.
struct Shell {
    name: &'static str,
    start: &'static str,
    load: &'static str,
}

const BASH: Shell = Shell {
    name: "bash",
    start: "bash --norc --noprofile -i",
    load: "PS1=RE''ADY'> '; bind 'set bell-style none'; source <(pisess completions bash)",
};
const ZSH: Shell = Shell {
    name: "zsh",
    start: "zsh -f -i",
    load: "PS1=RE''ADY'> '; unsetopt beep; autoload -U compinit; compinit -u -D; source <(pisess completions zsh)",
};
const FISH: Shell = Shell {
    name: "fish",
    start: "fish --no-config --interactive",
    load: "set -g fish_autosuggestion_enabled 0; function fish_prompt; echo -n RE''ADY'> '; end; pisess completions fish | source",
};

/// Names with what shells expand, or use to divide words.
const HARD_NAMES: [&str; 7] = [
    "it's \"50%\" of $HOME",
    "`x` and $(y)",
    "a: b: c",
    "zürich ferry",
    "back\\slash!",
    "qua \"z\"",
    "k{a,b}*?[c]~#&;|<>()",
];

/// A directory with sessions that have names, user messages and labels.
fn desk() -> Desk {
    let d = Desk::new();
    let entry = |kind: &str, id: &str, parent: &str, more: serde_json::Value| {
        let mut entry = json!({"type": kind, "id": id, "parentId": parent, "timestamp": time(1)});
        entry
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        entry
    };
    let more = [
        entry(
            "session_info",
            "bbbb0001",
            "aaaa0001",
            json!({"name": "ferry times"}),
        ),
        entry(
            "label",
            "cccc0001",
            "bbbb0001",
            json!({"targetId": "aaaa0001", "label": "cause: it's found"}),
        ),
        entry(
            "label",
            "cccc0002",
            "cccc0001",
            json!({"targetId": "bbbb0001", "label": "green"}),
        ),
    ];
    d.pi("0199aaaa-1111-7777-8888-00000000abcd", 5, &more);
    d.omp("0199bbbb-1111-7777-8888-00000000bcde", 3, &[]);
    for (at, name) in HARD_NAMES.iter().enumerate() {
        let more = [
            entry(
                "session_info",
                "bbbb0001",
                "aaaa0001",
                json!({"name": name}),
            ),
            entry(
                "label",
                "cccc0001",
                "bbbb0001",
                json!({"targetId": "aaaa0001", "label": name}),
            ),
        ];
        d.pi(&format!("0199cccc-1111-7777-8888-{at:08}cccc"), 2, &more);
    }
    for id in [
        "0199dddd-1111-7777-8888-11111111aaaa",
        "0199dddd-1111-7777-8888-11112222bbbb",
    ] {
        d.pi(
            id,
            1,
            &[entry(
                "session_info",
                "bbbb0001",
                "aaaa0001",
                json!({"name": "twin"}),
            )],
        );
    }
    let reply =
        json!({"role": "assistant", "provider": "openai", "model": "gpt-5.1", "content": []});
    let reply = entry("message", "dddd0001", "aaaa0001", json!({"message": reply}));
    d.pi("0199eeee-1111-7777-8888-00000000eeee", 1, &[reply]);
    d.put("my dir/don't.jsonl", "there", 1, &[]);
    d.put("stored.jsonl", "here", 1, &[]);
    d.put("home/kept.jsonl", "kept", 1, &[]);
    d.put("home/my dir/x.jsonl", "x", 1, &[]);
    d
}

/// A shell on its own terminal.
struct Session {
    child: std::process::Child,
    seen: Receiver<Vec<u8>>,
    screen: String,
    name: &'static str,
}

impl Session {
    fn start(shell: &Shell, d: &Desk) -> Session {
        let pisess = Path::new(env!("CARGO_BIN_EXE_pisess")).parent().unwrap();
        let path = format!(
            "{}:{}",
            pisess.display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let folder = d.s.path("");
        // `script` gives the shell a terminal, and copies input and output.
        let mut child = Command::new("script")
            .args(["--quiet", "--flush", "--command", shell.start, "/dev/null"])
            .current_dir(&folder)
            .env_clear()
            .envs([
                ("PATH", path.as_str()),
                ("TERM", "xterm"),
                ("LANG", "C.UTF-8"),
                ("TZ", "UTC"),
            ])
            .env("HOME", d.s.path("home"))
            .env("TMPDIR", folder.parent().unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("`script` of bsdutils is installed");
        let mut out = child.stdout.take().unwrap();
        let (sender, seen) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = out.read(&mut buffer) {
                if sender.send(buffer[..read].to_vec()).is_err() {
                    break;
                }
            }
        });
        let mut session = Session {
            child,
            seen,
            screen: String::new(),
            name: shell.name,
        };
        session.keys(&format!("{}\n", shell.load));
        session.until(PROMPT);
        session
    }

    fn keys(&mut self, keys: &str) {
        self.child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(keys.as_bytes())
            .unwrap();
    }

    /// Returns what is shown from now on until this appears.
    fn until(&mut self, text: &str) -> String {
        let start = Instant::now();
        loop {
            if let Some(at) = self.screen.find(text) {
                let rest = self.screen.split_off(at + text.len());
                return std::mem::replace(&mut self.screen, rest);
            }
            let left = PATIENCE.saturating_sub(start.elapsed());
            match self.seen.recv_timeout(left) {
                Ok(bytes) => self.screen += &String::from_utf8_lossy(&bytes),
                Err(error) => panic!(
                    "{}: {text:?} is not shown ({error}): {:?}",
                    self.name, self.screen
                ),
            }
        }
    }

    /// Returns the command line after these keys, as the shell reads it.
    fn completed(&mut self, keys: &str) -> String {
        // Makes the completed line the arguments of `echo`. The marks around it are quoted, so that
        // their output differs from the typed text.
        self.keys(&format!("{keys}\t\u{1}echo @'@' \u{5} +'+'\n"));
        self.until("@@ ");
        let line = self.until("++");
        self.until(PROMPT);
        line.trim_end_matches("++")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn completes(shell: &Shell) {
    let d = desk();
    let mut session = Session::start(shell, &d);
    for (keys, line) in [
        ("pisess tre", "pisess tree"),
        ("pisess tree --fil", "pisess tree --filter"),
        (
            "pisess tree --filter user",
            "pisess tree --filter user-only",
        ),
        ("pisess fork last --for o", "pisess fork last --for omp"),
        ("pisess tree fer", "pisess tree ferry times"),
        ("pisess tree las", "pisess tree last"),
        (
            "pisess tree 0199a",
            "pisess tree 0199aaaa-1111-7777-8888-00000000abcd",
        ),
        ("pisess tree stor", "pisess tree stored.jsonl"),
        ("pisess show last gre", "pisess show last green"),
        ("pisess show last cau", "pisess show last cause: it's found"),
        (
            "pisess show 'ferry times' gre",
            "pisess show ferry times green",
        ),
        (
            "pisess show ferry\\ times cccc0001",
            "pisess show ferry times cccc0001",
        ),
        ("pisess show last label:gre", "pisess show last label:green"),
        ("pisess show last '@^{us", "pisess show last @^{user}"),
        ("pisess show last \"@^{us", "pisess show last @^{user}"),
        ("pisess show last @^us", "pisess show last @^{user}"),
        ("pisess show last @^{us", "pisess show last @^{user}"),
        (
            "pisess show last @^{user}^{us",
            "pisess show last @^{user}^{user}",
        ),
        ("pisess diff last gre", "pisess diff last green"),
        ("pisess diff last fer", "pisess diff last ferry times"),
        ("pisess grep --role toolC", "pisess grep --role toolCall"),
        ("pisess help sess", "pisess help sessions"),
        ("pisess stats --by proj", "pisess stats --by project"),
        ("pisess list --sort 'mess", "pisess list --sort messages"),
        (
            "pisess append last --model op",
            "pisess append last --model openai/gpt-5.1",
        ),
        ("pisess tree 2222b", "pisess tree 2222bbbb"),
        ("pisess tree 'my dir/", "pisess tree my dir/don't.jsonl"),
        ("pisess tree my\\ dir/", "pisess tree my dir/don't.jsonl"),
    ] {
        assert_eq!(session.completed(keys), line, "{}: {keys}", shell.name);
    }
    let home = d.s.path("home").display().to_string();
    for (keys, line) in [
        ("pisess tree ~/ke", format!("pisess tree {home}/kept.jsonl")),
        // zsh removes the slash if nothing follows it.
        (
            "pisess tree ~/my\\ d",
            format!(
                "pisess tree {home}/my dir{}",
                if shell.name == "zsh" { "" } else { "/" }
            ),
        ),
        (
            "pisess show ~/kept.jsonl aaa",
            format!("pisess show {home}/kept.jsonl aaaa0001"),
        ),
    ] {
        assert_eq!(session.completed(keys), line, "{}: {keys}", shell.name);
    }
    for name in HARD_NAMES {
        let start = name.chars().next().unwrap();
        for open in ["", "'", "\""] {
            // A backquote starts a command, except in single quotes.
            let escape = if start == '`' && open != "'" {
                "\\"
            } else {
                ""
            };
            // In fish, it does not, and a backslash between double quotes remains.
            if start == '`' && open == "\"" && shell.name == "fish" {
                continue;
            }
            let keys = format!("pisess tree {open}{escape}{start}");
            assert_eq!(
                session.completed(&keys),
                format!("pisess tree {name}"),
                "{}: {keys}",
                shell.name
            );
        }
    }
}

/// Sessions are shown with their first user messages, labels with their rows.
fn describes(shell: &Shell) {
    let d = desk();
    for (keys, description) in [
        ("pisess tree 0\t\t", "question of"),
        ("pisess show last c\t\t", "user: question"),
        ("pisess tree tw\t\t", "twin: question of"),
    ] {
        // A new session for each, because shells clear the list of choices in different ways.
        let mut session = Session::start(shell, &d);
        session.keys(keys);
        session.until(description);
    }
}

#[test]
#[ignore = "tests/shells/run starts it"]
fn bash() {
    completes(&BASH);
    let d = desk();
    let mut session = Session::start(&BASH, &d);
    // Bash splits words at colons.
    assert_eq!(
        session.completed("pisess show last cause:"),
        "pisess show last cause: it's found"
    );
}

#[test]
#[ignore = "tests/shells/run starts it"]
fn zsh() {
    completes(&ZSH);
    describes(&ZSH);
}

#[test]
#[ignore = "tests/shells/run starts it"]
fn fish() {
    completes(&FISH);
    describes(&FISH);
    let d = desk();
    let mut session = Session::start(&FISH, &d);
    // fish expands a list in braces, so nothing is completed in it, and it stays as it was typed.
    assert_eq!(
        session.completed("pisess show last x{a,@^{us\t}}"),
        "pisess show last xa x@^{us}"
    );
    // The abbreviation that escapes a brace is gone after use.
    assert_eq!(
        session.completed("pisess show last @^{us"),
        "pisess show last @^{user}"
    );
    session.keys("abbr --list | count\n");
    session.until("\r0\r\n");
}
