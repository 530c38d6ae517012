//! Every form that writes, with a system call that fails: nothing is lost, and nothing is left
//! behind.
//!
//! A run whose N-th `open`, `stat`, `rename`, … fails ends in one of three ways: as if nothing had
//! happened, with exit 2 or 3 and no change, or with exit 4 and the whole change. `cargo test`
//! tries some, `tests/large` each.

#[path = "faults/calls.rs"]
mod calls;

use self::calls::{KINDS, Run};
use crate::every::{self, CHANGES, MAKES};
use crate::sandbox::{Sandbox, fixture, program, split};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

/// Whether these are the tests of `tests/large`.
const IS_LARGE: bool = matches!(env!("CARGO_CRATE_NAME").as_bytes(), b"large");

/// A command line, and the files that it needs.
struct Form {
    line: String,
    /// The name of the files, for messages.
    files: &'static str,
    prepare: Box<dyn Fn(&Sandbox) + Send + Sync>,
    /// Whether each of several files is changed or not.
    is_batch: bool,
    /// A note that reports which files stay as they were, and are changed by a later run.
    note: Option<&'static str>,
    /// Whether exit 4 may leave a file that was to be removed last: it is reported.
    may_keep_source: bool,
}

impl Form {
    fn new(
        line: impl Into<String>,
        files: &'static str,
        prepare: impl Fn(&Sandbox) + Send + Sync + 'static,
    ) -> Form {
        Form {
            line: line.into(),
            files,
            prepare: Box::new(prepare),
            is_batch: false,
            note: None,
            may_keep_source: false,
        }
    }

    fn noting(self, note: &'static str) -> Form {
        Form {
            note: Some(note),
            ..self
        }
    }

    fn keeping_source(self) -> Form {
        Form {
            may_keep_source: true,
            ..self
        }
    }

    fn batch(self) -> Form {
        Form {
            is_batch: true,
            ..self
        }
    }
}

/// Everything below a directory: the bytes of each file, and the directories.
type State = BTreeMap<String, Option<Vec<u8>>>;

fn state(s: &Sandbox) -> State {
    let root = s.path("");
    let mut found = State::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path
                .strip_prefix(&root)
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            if path.symlink_metadata().unwrap().is_dir() {
                folders.push(path);
                found.insert(name, None);
            } else {
                found.insert(name, Some(fs::read(&path).unwrap()));
            }
        }
    }
    found
}

/// Empties the sandbox, and puts the files of a form there, as old as sessions at rest are.
fn prepare(s: &Sandbox, form: &Form) {
    for entry in fs::read_dir(s.path("")).unwrap() {
        let path = entry.unwrap().path();
        if path.symlink_metadata().unwrap().is_dir() {
            fs::remove_dir_all(path).unwrap();
        } else {
            fs::remove_file(path).unwrap();
        }
    }
    (form.prepare)(s);
    make_old(s);
}

fn make_old(s: &Sandbox) {
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_312_000);
    for (name, content) in state(s) {
        if content.is_some() {
            let file = File::open(s.path(&name)).unwrap();
            file.set_modified(long_ago).unwrap();
        }
    }
}

fn command(s: &Sandbox, line: &str) -> Command {
    let home = s.path("");
    let mut command = Command::new(program());
    command
        .args(split(line))
        .current_dir(&home)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.to_str().unwrap().trim_end_matches('/'))
        .env("TZ", "UTC")
        .env("PISESS_NOW", "2026-05-04T12:00:00Z")
        .env("PISESS_ID_SEED", "test")
        .stdin(Stdio::null());
    command
}

/// What a run without a fault does.
struct Expected {
    before: State,
    after: State,
    code: i32,
}

impl Expected {
    /// Returns what is wrong with a run, if anything is.
    fn compare(&self, run: &Run, after: &State, form: &Form) -> Option<String> {
        let stderr = String::from_utf8_lossy(&run.output.stderr);
        let Some(code) = run.output.status.code() else {
            return Some(format!("ended by a signal: {stderr}"));
        };
        if stderr.contains("panicked") {
            return Some(format!("panicked: {stderr}"));
        }
        let is_noted = form.note.is_some_and(|note| stderr.contains(note));
        if is_noted && code == self.code && self.is_changed_in_part(after) {
            return None;
        }
        if form.is_batch {
            let is_strange = after.iter().any(|(name, content)| {
                self.before.get(name) != Some(content) && self.after.get(name) != Some(content)
            });
            let is_expected = code == self.code && *after == self.after;
            if is_strange || !is_expected && !matches!(code, 2..=4) {
                return Some(self.describe(code, after, &stderr));
            }
            return None;
        }
        let is_whole = *after == self.after;
        let is_right = match code {
            2 | 3 => *after == self.before,
            4 => is_whole || form.may_keep_source && self.has_all_and_old(after),
            _ => code == self.code && is_whole,
        };
        (!is_right).then(|| self.describe(code, after, &stderr))
    }

    /// Whether the files are those after the change, each of them changed or as it was before.
    fn is_changed_in_part(&self, after: &State) -> bool {
        let is_known = |(name, content)| {
            self.after.get(name) == Some(content) || self.before.get(name) == Some(content)
        };
        after.len() == self.after.len()
            && after.keys().all(|name| self.after.contains_key(name))
            && after.iter().all(is_known)
    }

    /// Whether everything is as after the change, and what is there besides is as it was before.
    fn has_all_and_old(&self, after: &State) -> bool {
        let is_all = self
            .after
            .iter()
            .all(|(name, content)| after.get(name) == Some(content));
        let is_old = |(name, content)| {
            self.after.contains_key(name) || self.before.get(name) == Some(content)
        };
        is_all && after.iter().all(is_old)
    }

    fn describe(&self, code: i32, after: &State, stderr: &str) -> String {
        let mut text = format!("exit {code}");
        for (name, content) in after {
            let is_same = |other: &State| other.get(name) == Some(content);
            match (is_same(&self.before), is_same(&self.after)) {
                (true, true) => {}
                (true, false) => text += &format!("; as before: {name}"),
                (false, true) => text += &format!("; changed: {name}"),
                (false, false) => text += &format!("; STRANGE: {name}"),
            }
        }
        for name in self.before.keys().chain(self.after.keys()) {
            if !after.contains_key(name) {
                text += &format!("; gone: {name}");
            }
        }
        format!("{text}; {}", stderr.trim_end())
    }
}

/// Which calls are tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// One call of every third kind, other kinds for each form.
    Few,
    /// One call of each kind.
    OneOfEach,
    All,
}

impl Choice {
    /// Whether the `nth` of `count` calls is tried.
    fn contains(self, form: usize, kind: usize, nth: usize, count: usize) -> bool {
        let chosen = 1 + (form * 7 + kind * 13) % count;
        match self {
            Choice::Few => nth == chosen && (form + kind).is_multiple_of(3),
            Choice::OneOfEach => nth == chosen,
            Choice::All => true,
        }
    }
}

/// What was found with failing calls.
#[derive(Default)]
struct Trial {
    /// How many calls failed, each in a run of its own.
    calls: usize,
    wrong: Vec<String>,
}

/// Tries a form with failing calls.
fn try_form(at: usize, form: &Form, choice: Choice) -> Trial {
    let s = Sandbox::new();
    let line = form.line.as_str();
    prepare(&s, form);
    let before = state(&s);
    let clean = calls::count(&mut command(&s, line));
    let expected = Expected {
        before,
        after: state(&s),
        code: clean.output.status.code().expect("no signal"),
    };
    let stderr = String::from_utf8_lossy(&clean.output.stderr);
    assert!(expected.code <= 1, "{line} ({}): {stderr}", form.files);
    assert!(
        expected.before != expected.after,
        "{line} ({}) changes nothing: {stderr}",
        form.files
    );

    let mut trial = Trial::default();
    for (kind_at, (kind, &count)) in KINDS.iter().zip(&clean.counts).enumerate() {
        let last = if kind.is_dead { count.min(1) } else { count };
        for nth in 1..=last {
            if !choice.contains(at, kind_at, nth, last) {
                continue;
            }
            prepare(&s, form);
            let faulty = calls::fail(&mut command(&s, line), kind, nth);
            let after = state(&s);
            trial.calls += 1;
            if let Some(what) = expected.compare(&faulty, &after, form) {
                trial.wrong.push(format!(
                    "{line} ({}), {} {nth} of {count}: {what}",
                    form.files, kind.name
                ));
            }
        }
    }
    trial
}

/// Tries forms on all processors: each run has one for itself. In `tests/large`, and with the
/// variable `ALL_FAULTS`, all calls are tried.
fn try_forms(forms: &[Form], choice: Choice) {
    let is_whole = IS_LARGE || std::env::var_os("ALL_FAULTS").is_some();
    let choice = if is_whole { Choice::All } else { choice };
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Trial::default());
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(form) = forms.get(at) else { return };
                    let trial = try_form(at, form, choice);
                    let mut all = all.lock().unwrap();
                    all.calls += trial.calls;
                    all.wrong.extend(trial.wrong);
                }
            });
        }
    });

    let Trial { calls, wrong } = all.into_inner().unwrap();
    assert!(calls >= forms.len(), "only {calls} calls failed");
    writeln!(std::io::stderr().lock(), "\nfaults: {calls} calls failed").unwrap();
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The sessions that forms of every command change: one that grows, one that is rewritten, and one
/// with a lock file.
const SESSIONS: [&str; 3] = ["two-branches.jsonl", "v1.jsonl", "omp.jsonl"];

fn put_session(s: &Sandbox, name: &str) {
    s.put("s", fixture(name));
}

#[test]
fn changes_with_a_failing_call() {
    let mut forms = Vec::new();
    for line in CHANGES.iter() {
        for name in SESSIONS {
            forms.push(Form::new(every::of(line, "./s"), name, move |s| {
                put_session(s, name)
            }));
        }
    }
    forms.retain(changes_something);
    try_forms(&forms, Choice::Few);
}

#[test]
fn new_sessions_with_a_failing_call() {
    let mut forms = Vec::new();
    for line in MAKES.iter() {
        let name = SESSIONS[forms.len() % SESSIONS.len()];
        forms.push(Form::new(every::of(line, "./s"), name, move |s| {
            put_session(s, name)
        }));
    }
    forms.retain(changes_something);
    try_forms(&forms, Choice::Few);
}

/// Whether a form changes the files at all: `migrate` has nothing to do for most.
fn changes_something(form: &Form) -> bool {
    let s = Sandbox::new();
    prepare(&s, form);
    let before = state(&s);
    let done = command(&s, &form.line).output().unwrap();
    done.status.code() <= Some(1) && state(&s) != before
}

#[test]
fn moves_with_a_failing_call() {
    let forms = vec![
        Form::new("relocate -q ./s new", "a session in no store", |s| {
            fs::create_dir(s.path("new")).unwrap();
            put_session(s, "two-branches.jsonl");
        }),
        Form::new("relocate p1 new", "a store", put_store).noting(NOT_UPDATED),
        Form::new("relocate o1 new", "a store", put_store).noting(NOT_UPDATED),
        Form::new("relocate --moved-from old new", "a store", put_store)
            .noting(NOT_UPDATED)
            .batch(),
    ];
    try_forms(&forms, Choice::OneOfEach);
}

/// The note about forks that cannot be read, and still name the former path.
const NOT_UPDATED: &str = "forks in it are not updated; a later run updates them";

/// Returns the name of the directory of a project in pi's store.
fn folder_name(s: &Sandbox, project: &str) -> String {
    let path = s.path(project);
    let path = path
        .to_str()
        .unwrap()
        .trim_start_matches('/')
        .replace('/', "-");
    format!(".pi/agent/sessions/--{path}--")
}

/// Two projects, with a session of pi that has a fork and a side file, and one of oh-my-pi that has
/// a sub-agent.
fn put_store(s: &Sandbox) {
    for folder in ["old", "new", "other"] {
        fs::create_dir(s.path(folder)).unwrap();
    }
    let pi = format!("{}/2026_p1.jsonl", folder_name(s, "old"));
    s.put(&pi, in_project(s, "p1", "old", ""));
    s.put(&format!("{pi}.pruned"), "");
    let source = format!(r#","parentSession":"{}""#, s.path(&pi).display());
    for id in ["f1", "f2"] {
        let fork = format!("{}/2026_{id}.jsonl", folder_name(s, "other"));
        s.put(&fork, in_project(s, id, "other", &source));
    }
    let omp = ".omp/agent/sessions/-old/2026_o1";
    let slot = r#"{"type":"title","v":1,"title":"","updatedAt":"2026-01-01T00:00:00.000Z","pad":""#;
    let slot = format!("{slot}{}\"}}\n", " ".repeat(256 - slot.len() - 3));
    s.put(
        &format!("{omp}.jsonl"),
        slot + &in_project(s, "o1", "old", ""),
    );
    s.put(
        &format!("{omp}/scout.jsonl"),
        in_project(s, "scout", "old", ""),
    );
    s.put(&format!("{omp}/0.bash.log"), "output");
}

fn in_project(s: &Sandbox, id: &str, project: &str, more: &str) -> String {
    let cwd = s.path(project);
    let header = format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{}"{more}}}"#,
        cwd.display()
    );
    let message = crate::sandbox::user("aaaa0001", None, "hi");
    format!("{header}\n{message}\n")
}

#[test]
fn imports_with_a_failing_call() {
    let forms = vec![
        Form::new("import ./tree.jsonl", "Claude Code", |s| {
            s.put("tree.jsonl", fixture("claude/tree.jsonl"));
        }),
        Form::new("import ./plain.jsonl --for omp", "Codex", |s| {
            s.put("plain.jsonl", fixture("codex/plain.jsonl"));
        }),
        Form::new("import ./plain.jsonl -o ./new", "Codex", |s| {
            s.put("plain.jsonl", fixture("codex/plain.jsonl"));
        }),
        Form::new("import ./sources", "several sources", |s| {
            for name in [
                "claude/plain.jsonl",
                "claude/tree.jsonl",
                "codex/plain.jsonl",
            ] {
                s.put(&format!("sources/{name}"), fixture(name));
            }
        })
        .batch(),
    ];
    try_forms(&forms, Choice::OneOfEach);
}

#[test]
fn exports_with_a_failing_call() {
    let put = |s: &Sandbox| put_session(s, "tour.jsonl");
    let forms = vec![
        Form::new("export ./s", "tour", put),
        Form::new("export ./s --as markdown -o ./new.md", "tour", put),
        Form::new("export ./s --as atif -o ./new.json", "tour", put),
        Form::new("export ./s --redact", "tour", put),
        Form::new("export ./sessions", "several sessions", |s| {
            for name in SESSIONS {
                s.put(&format!("sessions/{name}"), fixture(name));
            }
        })
        .batch(),
    ];
    try_forms(&forms, Choice::OneOfEach);
}

/// The commands that have no form of their own in `every`, and several files at once.
#[test]
fn other_forms_with_a_failing_call() {
    let put_old = |s: &Sandbox| {
        for name in ["v1.jsonl", "v2.jsonl"] {
            s.put(&format!("old/{name}"), fixture(name));
        }
    };
    let put_damaged = |s: &Sandbox| s.put("s", fixture("hazards/malformed-v3.jsonl"));
    let forms = vec![
        Form::new("migrate ./old", "older sessions", put_old).batch(),
        Form::new("migrate --backup ./old", "older sessions", put_old).batch(),
        Form::new(
            "check --repair --backup ./s",
            "a damaged session",
            put_damaged,
        ),
        Form::new(
            "check --repair ./s -o ./new",
            "a damaged session",
            put_damaged,
        ),
        Form::new("fork p1", "a store", put_store),
        Form::new("join ./s ./other -o ./new", "two copies", put_copies),
        Form::new("join ./s ./other -o ./s", "two copies", put_copies),
    ];
    try_forms(&forms, Choice::OneOfEach);
}

/// Two copies of one session that grew apart.
fn put_copies(s: &Sandbox) {
    let start = crate::sandbox::user("aaaa0001", None, "hi");
    for (name, id) in [("s", "bbbb0001"), ("other", "cccc0001")] {
        let last = crate::sandbox::user(id, Some("aaaa0001"), name);
        s.put(name, crate::sandbox::session(&[start.clone(), last]));
    }
}

#[test]
fn pruning_with_a_failing_call() {
    let put = |s: &Sandbox| s.put("s", large());
    let put_pruned = move |s: &Sandbox| {
        put(s);
        let done = command(s, "prune --over 1k ./s").output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{done:?}");
    };
    let forms = vec![
        Form::new("prune --over 1k ./s", "a large session", put),
        Form::new("prune --over 1k ./s -o ./new", "a large session", put),
        Form::new("prune --branch ee2b93f5 ./s", "tour", |s| {
            put_session(s, "tour.jsonl")
        }),
        Form::new("prune --restore ./s", "a pruned session", put_pruned).keeping_source(),
        Form::new("prune --purge ./s", "a pruned session", put_pruned),
        Form::new("prune --secrets ./s", "a session with a secret", put_secret),
        Form::new(
            "prune --secrets --purge ./s",
            "a session with a secret",
            put_secret,
        ),
        Form::new("prune --over 1k ./large", "several sessions", |s| {
            s.put("large/a.jsonl", large());
            s.put("large/b.jsonl", large());
        })
        .batch(),
    ];
    try_forms(&forms, Choice::OneOfEach);
}

/// In two parts, so that no scanner takes it for a token that was leaked.
const TOKEN: &str = concat!("ghp", "_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");

/// A session with a token.
fn put_secret(s: &Sandbox) {
    let said = format!("the token is {TOKEN}");
    s.put(
        "s",
        crate::sandbox::session(&[crate::sandbox::user("aaaa0001", None, &said)]),
    );
}

/// A session with a large output.
fn large() -> String {
    let text = "a line of output\\n".repeat(200);
    let result = format!(
        r#"{{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{{"type":"text","text":"{text}"}}],"isError":false}}}}"#
    );
    let lines = [crate::sandbox::user("aaaa0001", None, "hi"), result];
    String::from_utf8(crate::sandbox::session(&lines)).unwrap()
}

#[test]
fn archiving_with_a_failing_call() {
    let put_archive = |line: &'static str| {
        move |s: &Sandbox| {
            put_store(s);
            // An archive records times.
            make_old(s);
            let done = command(s, line).output().unwrap();
            assert_eq!(done.status.code(), Some(0), "{line}: {done:?}");
        }
    };
    let forms = vec![
        // The directory of the sub-agents may stay, empty.
        Form::new("archive p1", "a store", put_store).keeping_source(),
        Form::new("archive o1", "a store", put_store).keeping_source(),
        Form::new(
            "archive --restore p1",
            "an archive",
            put_archive("archive p1"),
        )
        .keeping_source(),
        Form::new(
            "archive --restore o1",
            "an archive",
            put_archive("archive o1"),
        )
        .keeping_source(),
        Form::new(
            "archive --delete --force o1",
            "an archive",
            put_archive("archive o1"),
        ),
    ];
    try_forms(&forms, Choice::OneOfEach);
}

/// A file with the old content that cannot be removed is reported; the change itself is whole.
#[test]
fn a_hidden_file_that_cannot_be_removed_is_reported() {
    let mut forms = Vec::new();
    for line in CHANGES.iter() {
        // An older session, so that each change rewrites it.
        forms.push(Form::new(every::of(line, "./s"), "v1", |s| {
            put_session(s, "v1.jsonl")
        }));
    }
    forms.push(Form::new("migrate ./s", "v1", |s| {
        put_session(s, "v1.jsonl");
    }));
    forms.push(Form::new("check --repair ./s", "a damaged session", |s| {
        put_session(s, "hazards/malformed-v3.jsonl");
    }));
    forms.push(Form::new(
        "prune --over 1k ./s",
        "a session pruned before",
        |s| {
            s.put("s", large());
            let done = command(s, "prune --over 2k ./s").output().unwrap();
            assert_eq!(done.status.code(), Some(0), "{done:?}");
        },
    ));
    forms.push(Form::new("relocate p1 new", "a store", put_store));
    forms.retain(changes_something);

    let mut left = 0;
    for form in &forms {
        let s = Sandbox::new();
        prepare(&s, form);
        let clean = command(&s, &form.line).output().unwrap();
        let wanted = state(&s);
        prepare(&s, form);
        let unlink = calls::kind_named("unlink");
        let faulty = calls::fail_named(&mut command(&s, &form.line), unlink, ".part");

        let stderr = String::from_utf8_lossy(&faulty.output.stderr);
        let line = &form.line;
        assert_eq!(faulty.output.status, clean.status, "{line}: {stderr}");
        let mut found = state(&s);
        let hidden: Vec<_> = found
            .extract_if(.., |name, _| name.ends_with(".part"))
            .collect();
        for (name, _) in &hidden {
            let note = format!("cannot remove ~/{name}: input/output error");
            assert!(stderr.contains(&note), "{line}, {name}: {stderr}");
        }
        assert!(found == wanted, "{line}: {stderr}");
        left += hidden.len();
    }
    assert!(left >= forms.len(), "{left} of {} forms", forms.len());
}

/// An archive that cannot be removed has its name again: it is not hidden where nobody finds it.
#[test]
fn an_archive_that_cannot_be_removed_keeps_its_name() {
    let forms = [
        ("archive --restore p1", 4),
        ("archive --delete --force p1", 2),
    ];
    for (line, code) in forms {
        let s = Sandbox::new();
        put_store(&s);
        make_old(&s);
        let before = state(&s);
        let done = command(&s, "archive p1").output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        let archived = state(&s);
        let unlink = calls::kind_named("unlink");
        let faulty = calls::fail_named(&mut command(&s, line), unlink, ".part");

        let stderr = String::from_utf8_lossy(&faulty.output.stderr);
        assert_eq!(faulty.output.status.code(), Some(code), "{line}: {stderr}");
        assert!(stderr.contains("input/output error"), "{line}: {stderr}");
        let mut wanted = archived.clone();
        if code == 4 {
            wanted.extend(before);
        }
        assert!(state(&s) == wanted, "{line}: {stderr}");

        // The same command succeeds once the archive can be removed.
        let again = command(&s, line).output().unwrap();
        assert_eq!(again.status.code(), Some(0), "{line}: {again:?}");
        assert!(
            !state(&s).keys().any(|name| name.ends_with(".zst")),
            "{line}"
        );
    }
}

/// With `--purge`, no file with a secret may be left without a failure.
#[test]
fn a_file_with_secrets_that_cannot_be_removed_is_a_failure() {
    type Put = fn(&Sandbox);
    let put_pruned: Put = |s| {
        put_secret(s);
        let done = command(s, "prune --secrets ./s").output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{done:?}");
        let line = format!("append ./s --user {TOKEN}");
        let done = command(s, &line).output().unwrap();
        assert_eq!(done.status.code(), Some(0), "{done:?}");
    };
    let put_without_side_file: Put = put_secret;
    for put in [put_without_side_file, put_pruned] {
        for name in [".part", ".pruned"] {
            let s = Sandbox::new();
            put(&s);
            let unlink = calls::kind_named("unlink");
            let line = "prune --secrets --purge ./s";
            let faulty = calls::fail_named(&mut command(&s, line), unlink, name);

            let stderr = String::from_utf8_lossy(&faulty.output.stderr);
            assert_eq!(faulty.output.status.code(), Some(4), "{name}: {stderr}");
            assert!(stderr.contains("cannot remove "), "{name}: {stderr}");
            assert!(stderr.contains("the session has no secrets; "), "{stderr}");
            let is_left = state(&s).keys().any(|file| file.ends_with(name));
            assert!(is_left, "{name}: {stderr}");
            assert!(!s.text("s").contains(TOKEN), "{name}: {stderr}");
        }
    }
}

#[test]
fn a_pruned_file_that_cannot_be_removed_is_reported() {
    let s = Sandbox::new();
    s.put("s", large());
    let whole = state(&s);
    let done = command(&s, "prune --over 1k ./s").output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    let pruned = state(&s);
    let unlink = calls::kind_named("unlink");
    let faulty = calls::fail_named(&mut command(&s, "prune --restore ./s"), unlink, ".pruned");

    let stderr = String::from_utf8_lossy(&faulty.output.stderr);
    assert_eq!(faulty.output.status.code(), Some(4), "{stderr}");
    assert!(
        stderr.contains("cannot remove ./s.pruned: input/output error"),
        "{stderr}"
    );
    let mut wanted = whole.clone();
    wanted.insert("s.pruned".to_owned(), pruned["s.pruned"].clone());
    assert!(state(&s) == wanted, "{stderr}");

    // Nothing is left to put back, but the file stays as long as it cannot be removed.
    let faulty = calls::fail_named(&mut command(&s, "prune --restore ./s"), unlink, ".pruned");
    assert_eq!(faulty.output.status.code(), Some(2), "{:?}", faulty.output);
    assert!(state(&s) == wanted);
    let again = command(&s, "prune --restore ./s").output().unwrap();
    assert_eq!(again.status.code(), Some(0), "{again:?}");
    assert!(state(&s) == whole);
}

/// What is beside a session may hold the only copy of what was pruned.
#[test]
fn a_pruned_file_that_cannot_be_examined_does_not_count_as_absent() {
    let lines = [
        "archive p1",
        "archive --all --older-than 1d",
        "relocate p1 new",
    ];
    for line in lines {
        let s = Sandbox::new();
        put_store(&s);
        make_old(&s);
        let before = state(&s);
        let stat = calls::kind_named("stat");
        let faulty = calls::fail_named(&mut command(&s, line), stat, "2026_p1.jsonl.pruned");

        let stderr = String::from_utf8_lossy(&faulty.output.stderr);
        assert_eq!(faulty.output.status.code(), Some(2), "{line}: {stderr}");
        let message = "2026_p1.jsonl.pruned: permission denied";
        assert!(stderr.contains(message), "{line}: {stderr}");
        let mut after = state(&s);
        if line.contains("--all") {
            // The other sessions are archived.
            assert!(after.keys().any(|name| name.ends_with(".zst")), "{stderr}");
            after.retain(|name, _| before.contains_key(name) && name.contains("_p1.jsonl"));
            assert_eq!(after.len(), 2, "{stderr}");
            assert!(after.iter().all(|(name, content)| before[name] == *content));
        } else {
            assert!(after == before, "{line}: {stderr}");
        }
    }
}

/// Without random bytes, nothing begins: a hash map of the standard library would panic.
#[test]
fn without_random_bytes_nothing_is_done() {
    let getrandom = calls::kind_named("getrandom");
    let s = Sandbox::new();
    put_session(&s, "tour.jsonl");
    let before = state(&s);
    for line in [
        "export ./s",
        "grep e ./s",
        "label ./s @ n",
        "pick ./s @",
        "redact ./s -o ./new",
    ] {
        let done = calls::fail(&mut command(&s, line), getrandom, 1);
        let stderr = String::from_utf8(done.output.stderr).unwrap();
        assert_eq!(done.output.status.code(), Some(2), "{line}: {stderr}");
        assert_eq!(
            stderr, "pisess: cannot get random bytes: input/output error\n",
            "{line}"
        );
        assert!(state(&s) == before, "{line}");
    }
}

/// The mechanism itself: the chosen call fails, and no other.
#[test]
fn the_chosen_call_fails() {
    let s = Sandbox::new();
    put_session(&s, "two-branches.jsonl");
    let at = KINDS.iter().position(|kind| kind.name == "sync").unwrap();
    let line = "label ./s @^{user} n";
    let clean = calls::count(&mut command(&s, line));
    assert_eq!(clean.output.status.code(), Some(0));
    assert_eq!(clean.counts[at], 1);
    let other = "label ./s @^{user} other";
    let faulty = calls::fail(&mut command(&s, other), &KINDS[at], 1);
    assert_eq!(faulty.output.status.code(), Some(4));
    let stderr = String::from_utf8(faulty.output.stderr).unwrap();
    assert!(stderr.contains("input/output error"), "{stderr}");
}
