//! Sessions by name: `last`, ids, names; in the stores of both agents.

use crate::sandbox::{Call, Done, Sandbox, fixture};
use insta::assert_snapshot;
use serde_json::json;
use std::time::{Duration, SystemTime};

/// A sandbox with its own home directory, which contains the stores of both agents.
pub struct Desk {
    pub s: Sandbox,
}

/// Sets the modification time of a session to this many minutes after a fixed time.
fn touch(s: &Sandbox, name: &str, minute: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_770_000_000 + 60 * minute);
    std::fs::File::options()
        .append(true)
        .open(s.path(name))
        .unwrap()
        .set_modified(time)
        .unwrap();
}

impl Desk {
    pub fn new() -> Desk {
        Desk { s: Sandbox::new() }
    }

    /// The directory of this project in pi's store, and in oh-my-pi's.
    pub fn folders(&self) -> [String; 2] {
        let path = self.s.path("");
        let name = path.file_name().unwrap().to_str().unwrap();
        let path = path.to_str().unwrap().trim_matches('/').replace('/', "-");
        [
            format!("home/.pi/agent/sessions/--{path}--"),
            format!("home/.omp/agent/sessions/-tmp-{name}"),
        ]
    }

    /// Creates a session of this project in pi's store, modified at a minute; returns its path.
    pub fn pi(&self, id: &str, minute: u64, more: &[serde_json::Value]) -> String {
        let path = format!("{}/2026-02-02T02-40-00-000Z_{id}.jsonl", self.folders()[0]);
        self.put(&path, id, minute, more);
        path
    }

    /// Does the same in oh-my-pi's store.
    pub fn omp(&self, id: &str, minute: u64, more: &[serde_json::Value]) -> String {
        let path = format!("{}/2026-02-02T02-40-00-000Z_{id}.jsonl", self.folders()[1]);
        self.put(&path, id, minute, more);
        path
    }

    /// Creates a session anywhere.
    pub fn put(&self, path: &str, id: &str, minute: u64, more: &[serde_json::Value]) {
        let cwd = self
            .s
            .path("")
            .to_str()
            .unwrap()
            .trim_end_matches('/')
            .to_owned();
        // The size of a session does not depend on where the sandbox is.
        let padding = ".".repeat(120_usize.saturating_sub(cwd.len()));
        let header = json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-02-02T02:40:00.000Z",
            "cwd": cwd, "padding": padding});
        let question = json!({"type": "message", "id": "aaaa0001", "parentId": null, "timestamp": time(minute),
            "message": {"role": "user", "content": format!("question of {id}")}});
        let lines = [header, question].into_iter().chain(more.iter().cloned());
        self.s.put(
            path,
            lines.map(|line| format!("{line}\n")).collect::<String>(),
        );
        touch(&self.s, path, minute);
    }

    /// A run with the sandbox's own home directory.
    pub fn pisess(&self, line: &str) -> Call<'_> {
        let folder = self.s.path("");
        let temporary = folder.parent().unwrap().to_str().unwrap();
        self.s
            .pisess(line)
            .env("HOME", self.s.path("home").to_str().unwrap())
            .env("TMPDIR", temporary)
    }

    /// Returns the id of the session that a name refers to.
    pub fn id(&self, name: &str) -> String {
        let listed = self.pisess(&format!("path --json {name}")).done().quiet();
        let question = listed
            .split("question of ")
            .nth(1)
            .unwrap_or_else(|| panic!("{name}: {listed}"));
        question.split('"').next().unwrap().to_owned()
    }
}

/// Returns a time in the form that entries use.
pub fn time(minute: u64) -> String {
    format!(
        "2026-02-02T{:02}:{:02}:00.000Z",
        2 + (40 + minute) / 60,
        (40 + minute) % 60
    )
}

fn name(name: &str) -> serde_json::Value {
    json!({"type": "session_info", "id": format!("bbbb{:04x}", name.len()), "parentId": "aaaa0001", "timestamp": time(1), "name": name})
}

/// oh-my-pi does not continue a session that ended before its first question; pi does.
#[test]
fn last_skips_what_oh_my_pi_does_not_continue() {
    let d = Desk::new();
    let stub = |folder: &str, id: &str, minute, more: &str| {
        let cwd =
            d.s.path("")
                .to_str()
                .unwrap()
                .trim_end_matches('/')
                .to_owned();
        let header =
            json!({"type": "session", "version": 3, "id": id, "timestamp": time(0), "cwd": cwd});
        let path = format!("{folder}/2026-02-02T02-40-00-000Z_{id}.jsonl");
        d.s.put(&path, format!("{header}\n{more}"));
        touch(&d.s, &path, minute);
    };
    let said = |role: &str, content: &str| {
        let message = json!({"role": role, "content": content});
        json!({"type": "message", "id": "aaaa0001", "parentId": null, "timestamp": time(0), "message": message})
    };
    let last = || {
        let listed = d.pisess("list -q --json").done().quiet();
        let last = listed
            .lines()
            .find(|line| line.contains(r#""last":true"#))
            .unwrap()
            .to_owned();
        serde_json::from_str::<serde_json::Value>(&last).unwrap()["id"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let [pi, omp] = d.folders();
    d.omp("spoken", 1, &[]);
    stub(&omp, "header", 2, "");
    stub(
        &omp,
        "silent",
        3,
        &format!("{}\n{}\n", said("user", " "), said("bashExecution", "")),
    );
    assert_eq!((d.id("last"), last()), ("spoken".into(), "spoken".into()));
    d.pisess("tree last~1").done().fails(2);
    // They are still found by their ids.
    d.pisess("list -q header").done().quiet();
    stub(&omp, "answered", 4, &said("assistant", "").to_string());
    assert_eq!(last(), "answered");
    stub(&omp, "named", 5, &json!({"type": "session_info", "id": "aaaa0001", "parentId": null, "timestamp": time(0), "name": "n"}).to_string());
    assert_eq!(last(), "named");
    stub(&pi, "opened", 6, "");
    assert_eq!(last(), "opened");
}

#[test]
fn last_is_the_newest_of_both_stores() {
    let d = Desk::new();
    d.pi("0199aaaa-1111", 5, &[]);
    d.omp("0199bbbb-2222", 7, &[]);
    d.pi("0199cccc-3333", 3, &[]);
    // One is in another directory, the other is not a session.
    d.put(
        "home/.pi/agent/sessions/--elsewhere--/x.jsonl",
        "0199dddd-4444",
        9,
        &[],
    );
    d.s.put(
        &format!("{}/notes.jsonl", d.folders()[0]),
        "{\"type\":\"note\"}\n",
    );
    assert_eq!(
        ["last", "last~0", "last~", "last~1", "last~2"].map(|name| d.id(name)),
        [
            "0199bbbb-2222",
            "0199bbbb-2222",
            "0199aaaa-1111",
            "0199aaaa-1111",
            "0199cccc-3333"
        ]
    );
    assert_eq!(
        d.pisess("tree last~3").done().fails(2),
        "last~3: there are only 3 sessions for this directory (hint: `pisess list` lists the sessions for this directory)"
    );
    let d = Desk::new();
    assert_eq!(
        d.pisess("tree last").done().fails(2),
        "there is no session for this directory (hint: `pisess list --all` lists the sessions of all directories)"
    );
}

/// Flat directories contain sessions of all projects; `pi -c` uses those of this one.
#[test]
fn a_flat_folder_is_told_apart_by_cwd() {
    let d = Desk::new();
    d.put("flat/a.jsonl", "0199aaaa-1111", 1, &[]);
    d.s.put(
        "flat/b.jsonl",
        "{\"type\":\"session\",\"version\":3,\"id\":\"0199bbbb\",\"cwd\":\"/elsewhere\"}\n",
    );
    touch(&d.s, "flat/b.jsonl", 2);
    let flat = d.s.path("flat");
    let id = |call: Call| {
        let listed = call
            .env("PISESS_NOW", "2026-02-02T12:00:00Z")
            .done()
            .quiet();
        listed.contains("question of 0199aaaa-1111")
    };
    assert!(id(d
        .pisess("path --json last")
        .env("PI_CODING_AGENT_SESSION_DIR", flat.to_str().unwrap())));
    d.s.put(".pi/settings.json", "{\"sessionDir\":\"flat\"}");
    assert!(id(d.pisess("path --json last")));
}

#[test]
fn ids_are_named_by_their_start_or_end() {
    let d = Desk::new();
    d.pi("0199aaaa-1111-7777-8888-00000000abcd", 1, &[]);
    d.omp("0199aaaa-2222-7777-8888-00000000dcba", 2, &[]);
    d.put(
        "home/.pi/agent/sessions/--elsewhere--/renamed.jsonl",
        "0199eeee-0000-7777-8888-0000000000ff",
        9,
        &[],
    );
    for (name, id) in [
        ("0199aaaa-1", "0199aaaa-1111-7777-8888-00000000abcd"),
        ("abcd", "0199aaaa-1111-7777-8888-00000000abcd"),
        // The start of the short id that `list` shows.
        ("0000abc", "0199aaaa-1111-7777-8888-00000000abcd"),
        (
            "0199aaaa-2222-7777-8888-00000000dcba",
            "0199aaaa-2222-7777-8888-00000000dcba",
        ),
        ("0199eeee", "0199eeee-0000-7777-8888-0000000000ff"),
    ] {
        assert_eq!(d.id(name), id, "{name}");
    }
    let several = d.pisess("tree 0199aaaa").done();
    let (lines, now): (Vec<_>, _) = (several.stderr.lines().collect(), "2026-02-02T02:41:00Z");
    assert_eq!(
        lines[0],
        "pisess: `0199aaaa` matches 2 sessions (hint: give the id or the path)"
    );
    assert_eq!(lines.len(), 3, "{several}");
    let id = "0199aaaa-2222-7777-8888-00000000dcba";
    assert!(lines[1].contains(&format!("mo  {id}  .")), "{several}");
    assert!(
        lines[1].ends_with(&format!("  question of {id}")),
        "{several}"
    );
    let recent = d
        .pisess("tree 0199aaaa")
        .env("PISESS_NOW", now)
        .done()
        .stderr;
    assert!(
        recent.contains("     now  0199aaaa-1111-7777-8888-00000000abcd  ."),
        "{recent}"
    );
    let json = d.pisess("tree --json 0199aaaa").done().fails(2);
    assert!(
        json.starts_with("`0199aaaa` matches 2 sessions: ") && json.contains("mo  0199aaaa-1111-"),
        "{json}"
    );
    assert_eq!(
        d.pisess("tree abc").done().fails(2),
        "abc: no such file, and no session with that id or name (hint: `pisess list --all` lists all sessions; an entry or a label comes after the session: pisess tree last abc)"
    );
    assert_eq!(
        d.pisess("tree 0199aaab-1").done().fails(2),
        "0199aaab-1: no such file, and no session with that id or name (hint: did you mean \
         0199aaaa-1111-7777-8888-00000000abcd or 0199aaaa-2222-7777-8888-00000000dcba?)"
    );
}

/// Returns a session whose first request is this, as the entries below the first message.
fn titled(d: &Desk, folder: &str, id: &str, request: &str) -> String {
    let path = format!("home/.pi/agent/sessions/{folder}/{id}.jsonl");
    d.put(&path, id, 3, &[name(request)]);
    path
}

/// Returns the name of the directory with the sessions of the current project.
fn project_folder(d: &Desk) -> String {
    d.folders()[0].replacen("home/.pi/agent/sessions/", "", 1)
}

/// A command succeeds, and reports the session 11111111, whose title has the words that it was
/// given.
fn reports_the_menu(d: &Desk, command: &str) -> Done {
    let done = d.pisess(command).done();
    assert_eq!(done.code, 0, "{command}: {done}");
    let report = "menu` is in the title of 11111111 (";
    assert!(done.stderr.contains(report), "{command}: {done}");
    done
}

#[test]
fn a_command_that_reads_takes_words_of_a_title() {
    let d = Desk::new();
    let here = project_folder(&d);
    titled(&d, &here, "0199aaaa-11111111", "Plan a menu for the week");
    titled(&d, &here, "0199aaaa-22222222", "The tide chart has gaps");
    titled(&d, "--x--", "0199aaaa-33333333", "A menu bar for the chart");

    // Words in any case and order, or their starts; the sessions of this project come first.
    for (words, id) in [
        ("MENU", "0199aaaa-11111111"),
        ("'week plan'", "0199aaaa-11111111"),
        ("gap", "0199aaaa-22222222"),
        ("'menu bar'", "0199aaaa-33333333"),
    ] {
        // Without the report of which session it is.
        assert_eq!(d.id(&format!("{words} -q")), id, "{words}");
    }
    // The first message of a session that has a name.
    assert_eq!(d.id("'question 22222222' -q"), "0199aaaa-22222222");

    let done = d.pisess("path --ids gaps").done();
    let report = "pisess: `gaps` is in the title of 22222222 (";
    assert!(done.stderr.starts_with(report), "{done}");
    assert!(
        done.stderr.ends_with("): The tide chart has gaps\n"),
        "{done}"
    );
    assert_eq!(d.pisess("list -l gaps").done().code, 0);
    assert_eq!(d.pisess("redact --check gaps").done().code, 0);

    let several = d.pisess("tree chart-or-week").done().fails(2);
    assert!(several.contains("no such file"), "{several}");
    titled(&d, &here, "0199aaaa-44444444", "A week without gaps");
    let several = d.pisess("tree gaps").done();
    let rows: Vec<&str> = several.stderr.lines().collect();
    assert_eq!(
        rows[0],
        "pisess: `gaps` is in the titles of 2 sessions (hint: give more words, or the id)"
    );
    assert_eq!(rows.len(), 3, "{several}");
}

#[test]
fn a_title_of_this_project_is_as_likely_as_the_start_of_a_name_of_another() {
    let d = Desk::new();
    let here = project_folder(&d);
    let id = "0199aaaa-33333333";
    let elsewhere = format!("home/.pi/agent/sessions/--x--/{id}.jsonl");
    d.put(&elsewhere, id, 3, &[name("Chart editor")]);
    assert_eq!(d.id("chart -q"), id);

    titled(&d, &here, "0199aaaa-11111111", "How hard is a chart");
    let done = d.pisess("tree chart").done();
    assert_eq!(done.code, 2, "{done}");
    let rows: Vec<&str> = done.stderr.lines().collect();
    assert_eq!(
        rows[0],
        "pisess: `chart` is in 1 title of this project, and begins the name of a session of \
         another one (hint: give more words, or the id)"
    );
    assert_eq!(rows.len(), 3, "{done}");

    // A whole name is no coincidence.
    assert_eq!(d.id("'chart editor' -q"), id);
}

/// What is shorter, or in the middle of a word, is rather a mistake.
#[test]
fn a_title_is_not_found_by_part_of_a_word() {
    let d = Desk::new();
    let here = project_folder(&d);
    titled(&d, &here, "0199aaaa-11111111", "Plan a menu for the week");
    for part in ["enu", "fo", "a", "menu.jsonl", "./menu"] {
        let failure = d.pisess(&format!("tree {part}")).done().fails(2);
        assert!(failure.contains("no such file"), "{part}: {failure}");
    }
}

/// What `undo` takes back needs no id.
#[test]
fn a_command_that_appends_takes_words_of_a_title() {
    let d = Desk::new();
    let here = project_folder(&d);
    let path = titled(&d, &here, "0199aaaa-11111111", "Plan a menu for the week");
    let before = d.s.text(&path);
    for change in [
        "label 'week menu' @ first",
        "append menu --name 'weekly menu'",
        "append menu --user hello",
        "edit menu @ --omit",
        "pick menu @",
        "pop menu",
        "switch menu root",
        "append menu --user again",
        "compact menu --summary short --first-kept none",
        "undo menu",
    ] {
        let done = reports_the_menu(&d, change);
        assert!(done.stderr.contains("changed "), "{change}: {done}");
        assert!(d.s.text(&path).starts_with(&before), "{change}");
    }

    // Nothing would say which session was changed.
    let quiet = d.pisess("label -q menu @ second").done();
    assert_eq!(quiet.code, 2, "{quiet}");
    assert!(quiet.stderr.contains("11111111"), "{quiet}");

    titled(&d, &here, "0199aaaa-22222222", "Another menu");
    let before = d.s.text(&path);
    let refused = d.pisess("label menu @ first").done();
    assert_eq!(refused.code, 2, "{refused}");
    assert!(
        refused
            .stderr
            .contains("`menu` is in the titles of 2 sessions"),
        "{refused}"
    );
    assert_eq!(d.s.text(&path), before);
}

/// Words of a title name the session for a change that can be taken back, and the session is
/// reported. Otherwise, the failure suggests it.
#[test]
fn words_of_a_title_name_a_session_for_a_change_that_can_be_taken_back() {
    let d = Desk::new();
    let here = project_folder(&d);
    let path = titled(&d, &here, "0199aaaa-11111111", "Plan a menu for the week");
    let before = d.s.text(&path);
    let project = d.s.path("cellar");
    std::fs::create_dir(&project).unwrap();
    let project = project.to_string_lossy().into_owned();
    for change in [
        "prune -n 'week menu'",
        "prune --over 1 'week menu'",
        "prune -n --secrets --larger-than 1 'week menu'",
        "prune --restore 'week menu'",
        "check --repair --backup menu",
        "check --repair -n menu",
        "migrate --backup menu",
        "migrate --check menu",
        "archive -n menu",
        &format!("relocate -n menu '{project}'"),
    ] {
        reports_the_menu(&d, change);
    }
    assert_eq!(d.s.text(&path), before);
    assert_eq!(d.pisess("archive menu").done().code, 0);
    assert_eq!(d.pisess("archive --restore menu").done().code, 0);

    for (change, command) in [
        ("prune --purge 'week menu'", "prune --purge 11111111"),
        (
            "prune -n --secrets --purge menu",
            "prune -n --secrets --purge 11111111",
        ),
        ("migrate menu", "migrate 11111111"),
        ("migrate -n menu", "migrate -n 11111111"),
        // The words of one title may lack their quotes.
        ("prune menu nothing", "prune 11111111 nothing"),
        ("archive menu nothing", "archive 11111111 nothing"),
        ("relocate menu nothing .", "relocate 11111111 nothing ."),
        // The session would not be reported.
        ("prune -q menu", "prune -q 11111111"),
        ("archive -q menu", "archive -q 11111111"),
    ] {
        let refused = d.pisess(change).done();
        assert_eq!(refused.code, 2, "{change}: {refused}");
        let hint = format!(
            "no session with that id or name (hint: `pisess {command}`, if you mean: Plan a menu for the week)"
        );
        assert!(refused.stderr.contains(&hint), "{change}: {refused}");
    }
    assert_eq!(d.s.text(&path), before);

    // `show` finds a pruned entry of a session that words name.
    d.pisess("prune -q --entries aaaa0001 11111111").done();
    let shown = d.pisess("show 'week menu' aaaa0001").done();
    assert_eq!(shown.code, 0, "{shown}");
    let as_before = "shown as before it was pruned";
    assert!(shown.stderr.contains(as_before), "{shown}");
    d.pisess("prune -q --restore 11111111").done();

    let other = titled(&d, &here, "0199aaaa-33333333", "Another menu");
    for change in [
        "prune menu",
        "archive menu",
        "migrate --backup menu",
        "relocate menu .",
    ] {
        let several = d.pisess(change).done();
        assert_eq!(several.code, 2, "{change}: {several}");
        let first_line = "pisess: `menu` is in the titles of 2 sessions";
        assert!(several.stderr.contains(first_line), "{change}: {several}");
    }
    std::fs::remove_file(d.s.path(&other)).unwrap();

    // The id is text of a file: it is quoted, or left out where a command would misread it.
    for (id, hint) in [
        (
            "0199-a(id>x);z",
            "`pisess prune --purge '(id>x);z'`, if you mean: The tide",
        ),
        ("0199a-bcdefgh", "did you mean -bcdefgh: The tide?"),
        ("--all-ok", "did you mean --all-ok: The tide?"),
        ("abc", "did you mean abc: The tide?"),
    ] {
        let file = format!("home/.pi/agent/sessions/{here}/hostile.jsonl");
        d.put(&file, id, 3, &[name("The tide")]);
        let failure = d.pisess("prune --purge tide").done().fails(2);
        assert!(failure.contains(hint), "{id}: {failure}");
        std::fs::remove_file(d.s.path(&file)).unwrap();
    }

    assert_eq!(d.pisess("archive 11111111").done().code, 0);
    // What cannot be undone needs the id.
    let failure = d
        .pisess("archive --delete 'week menu' --force")
        .done()
        .fails(2);
    assert_eq!(
        failure,
        "week menu: no archived session has that id or name (hint: did you mean 11111111: Plan a menu for the week?)"
    );
    let restored = d.pisess("archive --restore 'week menu'").done();
    assert_eq!(
        restored.stderr,
        "pisess: `week menu` is in the title of 11111111: Plan a menu for the week\n"
    );
    assert_eq!(d.s.text(&path), before);

    titled(&d, &here, "0199aaaa-22222222", "Another menu");
    assert_eq!(d.pisess("archive 11111111 22222222").done().code, 0);
    let several = d.pisess("archive --restore menu").done();
    let rows: Vec<&str> = several.stderr.lines().collect();
    assert_eq!(
        rows[0],
        "pisess: menu: no archived session has that id or name (hint: titles with these words are below; give the id)"
    );
    assert_eq!(rows.len(), 3, "{several}");
}

/// A project is named by the end of its path, as `list` shows it.
#[test]
fn a_project_by_its_name() {
    let d = Desk::new();
    let session_of = |cwd: &str, id: &str| {
        let text = String::from_utf8(fixture("two-branches.jsonl")).unwrap();
        let text = text
            .replace("/home/u/kites", cwd)
            .replace("019c0000-0000-7000-8000-00000000babe", id);
        let folder = cwd.trim_matches('/').replace('/', "-");
        d.s.put(
            &format!("home/.pi/agent/sessions/--{folder}--/{id}.jsonl"),
            text,
        );
    };
    session_of("/srv/kites", "0199aaaa-11111111");
    session_of("/srv/kites", "0199aaaa-22222222");
    session_of("/srv/ferry/app", "0199aaaa-33333333");
    session_of("/srv/tram/app", "0199aaaa-44444444");
    let counts = |line: &str| {
        let done = d.pisess(line).done();
        (
            done.stdout.iter().filter(|&&byte| byte == b'\n').count(),
            done.stderr,
            done.code,
        )
    };
    let note =
        "pisess: note: kites: the sessions of the project /srv/kites, from the agents' stores\n";
    assert_eq!(counts("list -l kites"), (2, note.to_owned(), 0));
    assert_eq!(counts("grep -l washi kites"), (2, note.to_owned(), 0));
    assert_eq!(counts("list -l ferry/app").0, 1);
    for no_project in ["list ites", "tree kites"] {
        let (rows, said, code) = counts(no_project);
        assert_eq!((rows, code), (0, 2), "{said}");
        assert!(said.contains("no such file, and no session"), "{said}");
    }
    // A command that would change sessions reports on those of a project.
    let (_, said, code) = counts("migrate --check ferry/app");
    assert_eq!(code, 0, "{said}");
    assert!(
        said.contains("the sessions of the project /srv/ferry/app"),
        "{said}"
    );
    for change in ["migrate ferry/app", "migrate -n ferry/app"] {
        let (_, said, code) = counts(change);
        assert_eq!(code, 2, "{change}: {said}");
    }
    // An export has a page for each session.
    let exported = d.pisess("export kites -o pages/").done();
    assert_eq!((exported.code, exported.stderr.as_str()), (0, note));
    assert_eq!(std::fs::read_dir(d.s.path("pages")).unwrap().count(), 2);
    let ambiguous = d.pisess("export app -o pages/").done();
    assert!(
        ambiguous.stderr.contains("2 projects have the name app"),
        "{ambiguous}"
    );
    let several = d.pisess("list app").done();
    assert_eq!(several.code, 2);
    assert_snapshot!(several.stderr, @"
    pisess: 2 projects have the name app (hint: give the path of one)
      /srv/ferry/app
      /srv/tram/app
    ");

    // Without a directory, a session with the word in its title comes first.
    let exported = |line: &str| d.pisess(line).done().text().lines().count();
    assert_eq!(exported("export kites"), 2);
    titled(&d, "--x--", "0199aaaa-55555555", "Tune the kites");
    for line in ["export kites", "export kites @", "export -o x.html kites"] {
        assert_eq!(exported(line), 1, "{line}");
    }
    assert_eq!(exported("export -o others/ kites"), 2);

    // A change does not take a word of a title in place of a project.
    for change in ["prune kites", "archive kites", "label kites @ x"] {
        let refused = d.pisess(change).done();
        assert_eq!(refused.code, 2, "{change}: {refused}");
        let suggestion = "if you mean: Tune the kites";
        assert!(refused.stderr.contains(suggestion), "{change}: {refused}");
    }
}

#[test]
fn names_are_the_ones_in_force() {
    let d = Desk::new();
    let filler = json!({"type": "custom", "id": "cccc0001", "parentId": "aaaa0001", "customType": "x", "data": "session_info ".repeat(20_000)});
    d.pi(
        "0199aaaa-1111",
        1,
        &[name("first try"), name(" ferry times "), filler],
    );
    d.pi("0199bbbb-2222", 2, &[name("cleared"), name("")]);
    let titled = json!({"type": "title", "v": 1, "title": "photos", "updatedAt": "2026-02-02T02:40:00.000Z", "pad": ""});
    let path = d.omp("0199cccc-3333", 3, &[]);
    d.s.put(&path, format!("{titled}\n{}", d.s.text(&path)));
    assert_eq!(d.id("'ferry times'"), "0199aaaa-1111");
    assert_eq!(d.id("photos"), "0199cccc-3333");
    // In any case, and by the start of one name.
    for (name, id) in [
        ("PHOTOS", "0199cccc-3333"),
        ("Ph", "0199cccc-3333"),
        ("'Ferry Times'", "0199aaaa-1111"),
        ("ferry", "0199aaaa-1111"),
    ] {
        assert_eq!(d.id(name), id, "{name}");
    }
    for (wrong, hint) in [
        (
            "'first try'",
            "`pisess list --all` lists all sessions; `pisess grep --all TEXT` searches their text",
        ),
        (
            "cleared",
            "`pisess list --all` lists all sessions; an entry or a label comes after the session: pisess tree last cleared",
        ),
        ("'fery times'", "did you mean ferry times?"),
    ] {
        let error = d.pisess(&format!("tree {wrong}")).done().fails(2);
        assert!(error.ends_with(&format!("(hint: {hint})")), "{error}");
    }
    // An exact name precedes one in another case, and that precedes the start of one.
    d.pi("0199dddd-0001", 4, &[name("Photos")]);
    d.pi("0199dddd-0002", 4, &[name("photos of ferries")]);
    assert_eq!(d.id("photos"), "0199cccc-3333");
    assert_eq!(d.id("'photos O'"), "0199dddd-0002");
    assert!(
        d.pisess("tree PHOTOS")
            .done()
            .stderr
            .starts_with("pisess: `PHOTOS` matches 2 sessions (hint: ")
    );
    d.pi("0199dddd-4444", 4, &[name("photos")]);
    assert!(
        d.pisess("tree photos")
            .done()
            .stderr
            .starts_with("pisess: `photos` matches 2 sessions (hint: ")
    );
    // The newest is first, whatever the order of the paths.
    d.pi("0199eeee-5555", 5, &[name("two words")]);
    d.pi("0199ffff-6666", 2, &[name("two words")]);
    d.omp("0199abab-7777", 9, &[name("two words")]);
    let error = d.pisess("tree 'two words'").done().stderr;
    let ids: Vec<_> = error
        .lines()
        .skip(1)
        .map(|row| row.split_whitespace().nth(1).unwrap())
        .collect();
    assert!(
        error.starts_with("pisess: `two words` matches 3 sessions (hint: "),
        "{error}"
    );
    assert_eq!(ids, ["0199abab-7777", "0199eeee-5555", "0199ffff-6666"]);
}

#[test]
fn an_existing_path_wins() {
    let d = Desk::new();
    d.pi("0199aaaa-1111", 1, &[]);
    // Run as the real binary: only then is the current directory the sandbox.
    d.put("last", "here", 1, &[]);
    let listed = d.pisess("path --json last").real().quiet();
    assert!(listed.contains("question of here"), "{listed}");
    let gone = d.pisess("tree ./gone.jsonl").done().fails(2);
    assert!(
        gone.starts_with("cannot read ./gone.jsonl: no such file or directory (hint: "),
        "{gone}"
    );
}

#[test]
fn a_change_of_a_session_by_name_reports_its_path() {
    let d = Desk::new();
    let path = d.pi("0199aaaa-1111", 1, &[]);
    let done = d.pisess("label last aaaa0001 here --force").done();
    assert_eq!(
        (done.code, done.stderr.as_str()),
        (
            0,
            &*format!(
                "pisess: changed {}\npisess: the entry is aaaa0001  user: question of 0199aaaa-1111\n",
                path.replacen("home/", "~/", 1)
            )
        )
    );
    assert!(d.s.text(&path).contains("\"label\":\"here\""));
    let done = d.pisess("label last aaaa0001 here --force").done();
    assert_eq!(
        (done.code, done.stderr),
        (
            0,
            format!(
                "pisess: nothing to do in {}\npisess: the entry is aaaa0001  user: question of 0199aaaa-1111\n",
                path.replacen("home/", "~/", 1)
            )
        )
    );
    assert_eq!(d.pisess("label last").done().stderr, "");
    let quiet = d.pisess("label last aaaa0001 there -q --force").done();
    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""));
}

/// The sessions of all projects, of both agents.
#[test]
fn all_sessions_can_be_checked() {
    let d = Desk::new();
    d.pi("0199aaaa-1111", 1, &[]);
    d.omp("0199bbbb-2222", 2, &[]);
    d.put(
        "home/.pi/agent/sessions/--elsewhere--/x.jsonl",
        "0199dddd-4444",
        9,
        &[],
    );
    let torn = "home/.pi/agent/sessions/--elsewhere--/torn.jsonl";
    d.s.put(
        torn,
        "{\"type\":\"session\",\"version\":3,\"id\":\"torn\",\"cwd\":\"/\"}\n{\"type\":\"mess",
    );
    d.put("outside.jsonl", "0199eeee-5555", 9, &[]);
    let done = d.pisess("check --all").done();
    assert_eq!(done.code, 1);
    assert!(
        done.stderr.contains("4 sessions checked: 1 error"),
        "{}",
        done.stderr
    );
    assert!(
        done.stderr
            .contains(&torn.replacen("home/", "check --repair --backup ~/", 1)),
        "{}",
        done.stderr
    );
    let done = d.pisess("redact --check --all").done();
    assert!(
        done.code == 0 && done.stderr.contains("4 sessions searched: 0 secrets"),
        "{}",
        done.stderr
    );
    let done = d.pisess("migrate --check --all").done();
    assert!(
        done.code == 0
            && done
                .text()
                .contains("v3        4        3           0        4"),
        "{}",
        done.text()
    );
}

#[test]
fn an_archived_session_is_hinted_at() {
    let d = Desk::new();
    d.pi("0199aaaa-1111", 1, &[]);
    d.pisess("archive --force 0199aaaa-1111").done();
    let said = d.pisess("tree 0199aaaa-1111").done().fails(2);
    assert!(
        said.ends_with(
            "(hint: it is archived: `pisess archive --restore 0199aaaa-1111` moves it back to its store)"
        ),
        "{said}"
    );
}

/// Copies have one id, so the rows have paths; forks have the same name, so the rows have what
/// differs.
#[test]
fn several_sessions_with_one_name_are_told_apart() {
    let d = Desk::new();
    let said = |id: &str, parent: &str, text: &str| {
        let message = json!({"role": "user", "content": text});
        json!({"type": "message", "id": id, "parentId": parent, "timestamp": time(5), "message": message})
    };
    let elsewhere = |project: &str, id: &str, more: &[serde_json::Value]| {
        let path = format!("home/.pi/agent/sessions/--{project}--/{id}.jsonl");
        d.put(&path, id, 3, more);
    };
    elsewhere(
        "x",
        "0199aaaa-11111111",
        &[name("moon phase"), said("cccc0001", "bbbb000a", "at home")],
    );
    elsewhere(
        "y",
        "0199aaaa-11111111",
        &[
            name("moon phase"),
            said("dddd0001", "bbbb000a", "on the train"),
        ],
    );
    let copies = d.pisess("tree 'moon phase'").done().stderr;
    let rows: Vec<&str> = copies.lines().collect();
    assert_eq!(
        rows[0],
        "pisess: `moon phase` matches 2 copies of one session (hint: give the path; `pisess join 'moon phase'` joins the two)"
    );
    assert!(
        copies.contains("  2026-02-02  moon phase … at home  ~/.pi/agent/sessions/--x--/"),
        "{copies}"
    );
    assert!(
        copies.contains("moon phase … on the train  ~/.pi"),
        "{copies}"
    );

    // `join` by name would refuse three copies, even if the third has another name.
    elsewhere("w", "0199aaaa-11111111", &[name("eclipse")]);
    let copies = d.pisess("tree 'moon phase'").done().stderr;
    assert!(!copies.contains("pisess join"), "{copies}");

    elsewhere(
        "z",
        "0199bbbb-22222222",
        &[name("tides"), said("cccc0001", "bbbb0005", "by amount")],
    );
    elsewhere("z", "0199cccc-33333333", &[name("tides")]);
    let forks = d.pisess("tree tides").done().stderr;
    assert!(
        forks.starts_with("pisess: `tides` matches 2 sessions (hint: give the id or the path)"),
        "{forks}"
    );
    assert_eq!(forks.lines().count(), 3, "{forks}");
}

/// The rows are only of the first few, but whether all are copies is known.
#[test]
fn many_copies_are_one_session() {
    let d = Desk::new();
    for number in 0..9 {
        let path = format!("home/.pi/agent/sessions/--x{number}--/a.jsonl");
        d.put(&path, "0199aaaa-11111111", 1, &[]);
    }
    let named = d.pisess("tree 0199aaaa-11111111").done().stderr;
    let rows: Vec<&str> = named.lines().collect();
    assert_eq!(
        rows[0],
        "pisess: `0199aaaa-11111111` matches 9 copies of one session (hint: give the path)"
    );
    assert_eq!(rows.last(), Some(&"  and 1 more"), "{named}");
    let joined = d.pisess("join 0199aaaa-11111111").done();
    assert_eq!(joined.code, 2, "{joined}");
    assert!(
        joined
            .stderr
            .contains("has 9 copies (hint: give the paths of two of them)"),
        "{joined}"
    );
}

/// An id that copies have identifies none of them.
#[test]
fn copies_with_the_words_of_a_title_are_given_by_path() {
    let d = Desk::new();
    titled(&d, "--x--", "0199aaaa-11111111", "The login bug");
    titled(&d, "--y--", "0199aaaa-11111111", "The login bug");
    for (line, first_row) in [
        (
            "show 'login bug'",
            "pisess: `login bug` is in the titles of 2 sessions (hint: give the path)",
        ),
        (
            "prune --purge 'login bug'",
            "pisess: login bug: no such file, and no session with that id or name (hint: titles with these words are below; give the path)",
        ),
    ] {
        let refused = d.pisess(line).done().stderr;
        let rows: Vec<&str> = refused.lines().collect();
        assert_eq!(rows[0], first_row);
        assert!(rows[1].contains("  ~/.pi/agent/sessions/--"), "{refused}");
    }
}
