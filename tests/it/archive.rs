//! `pisess archive`: moves sessions into compressed archives, and back.

use crate::every::READS;
use crate::sandbox::{Call, Done, Files, Sandbox, fixture, hazards, program};
use insta::assert_snapshot;
use serde_json::Value;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, SystemTime};

/// 2026-01-02, four months before the present of the sandbox, with a fraction.
fn long_ago() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::new(1_767_312_000, 123_456_789)
}

fn header(s: &Sandbox, id: &str, project: &str) -> String {
    let cwd = s.path(project);
    format!(
        r#"{{ "type":"session","version":3,"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{}"}}"#,
        cwd.display()
    )
}

fn body(time: &str, text: &str) -> String {
    format!(
        "\n{{\"type\":\"message\",\"id\":\"{}\",\"parentId\":null,\"timestamp\":\"{time}\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\",\"timestamp\":{}}}}}\nnot JSON",
        text.replace(' ', "-"),
        pisess::json::time::parse_js_date(time.as_bytes()).unwrap()
    )
}

/// A home directory with sessions of two projects in the stores of both agents.
struct Home {
    s: Sandbox,
    pi: String,
    omp: String,
}

/// The SHA-256 of [`BLOB`].
const HASH: &str = "3d1f57c984978ef98a18378c8166c1cb8ede02c03eeb6aee7e2f121dfeee3e56";
const BLOB: [u8; 4] = [0, 1, 2, 255];

impl Home {
    fn new() -> Home {
        let s = Sandbox::new();
        let folder = |name: &str| {
            format!(
                "--{}--",
                s.path(name)
                    .to_str()
                    .unwrap()
                    .trim_start_matches('/')
                    .replace('/', "-")
            )
        };
        let pi = format!(".pi/agent/sessions/{}", folder("kites"));
        let other = format!(".pi/agent/sessions/{}", folder("boats"));
        let omp = ".omp/agent/sessions/-kites".to_owned();
        for project in ["kites", "boats"] {
            std::fs::create_dir_all(s.path(project)).unwrap();
        }
        let (old, new) = ("2026-01-01T00:00:01.000Z", "2026-05-01T00:00:00.000Z");
        s.put(
            &format!("{pi}/2026_pold.jsonl"),
            header(&s, "pold", "kites") + &body(old, "an old kite"),
        );
        s.put(
            &format!("{pi}/2026_pnew.jsonl"),
            header(&s, "pnew", "kites") + &body(new, "a new kite"),
        );
        s.put(
            &format!("{pi}/2026_pempty.jsonl"),
            header(&s, "pempty", "kites") + "\n",
        );
        s.put(
            &format!("{other}/2026_boat.jsonl"),
            header(&s, "boat", "boats") + &body(old, "an old boat"),
        );
        let slot = "{\"type\":\"title\",\"v\":1,\"title\":\"Tail\",\"updatedAt\":\"2026-01-01T00:00:00.000Z\",\"pad\":\"";
        let slot = format!("{slot}{}\"}}\n", " ".repeat(256 - slot.len() - 3));
        let image = format!(
            "\n{{\"type\":\"x\",\"id\":\"b\",\"parentId\":null,\"image\":\"blob:sha256:{HASH}\"}}"
        );
        s.put(
            &format!("{omp}/2026_omp1.jsonl"),
            slot + &header(&s, "omp1", "kites") + &image + &body(old, "a tail"),
        );
        s.put(
            &format!("{omp}/2026_omp1.jsonl.pruned"),
            "{\"session\":\"omp1\",\"operations\":[]}\n",
        );
        s.put(
            &format!("{omp}/2026_omp1/scout.jsonl"),
            header(&s, "scout", "kites") + &body(old, "a scout"),
        );
        s.put(&format!("{omp}/2026_omp1/scout/0.bash.log"), "output");
        s.put(&format!("{omp}/2026_omp1/draft.txt"), "");
        s.put(&format!(".omp/agent/blobs/{HASH}"), BLOB);
        let home = Home { s, pi, omp };
        home.age();
        home
    }

    /// Sets the modification time of all files.
    fn age(&self) {
        for name in self.s.names() {
            let file = std::fs::OpenOptions::new()
                .append(true)
                .open(self.s.path(&name))
                .unwrap();
            file.set_modified(long_ago()).unwrap();
        }
    }

    fn call(&self, line: &str) -> Call<'_> {
        self.s.pisess(line).at_home()
    }

    fn run(&self, line: &str) -> Done {
        self.call(line).done()
    }

    /// Starts the real program in the project `kites`.
    fn start(&self, line: &str) -> Child {
        let home = self.s.path("");
        let mut command = Command::new(program());
        command
            .args(crate::sandbox::split(line))
            .current_dir(self.s.path("kites"))
            .env("HOME", home);
        command
            .env("PISESS_NOW", "2026-05-04T12:00:00Z")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// Returns the path of the archive for a session.
    fn archive(&self, session: &str) -> String {
        format!(
            "{}.zst",
            session.replace("/sessions/", "/sessions.archive/")
        )
    }

    fn pi(&self, id: &str) -> String {
        format!("{}/2026_{id}.jsonl", self.pi)
    }

    fn omp(&self) -> String {
        format!("{}/2026_omp1.jsonl", self.omp)
    }

    /// Returns the archives.
    fn archives(&self) -> Vec<String> {
        self.s
            .names()
            .into_iter()
            .filter(|name| name.ends_with(".zst"))
            .collect()
    }

    /// Returns the files that are not archives, and not hidden files that a killed run left.
    fn others(&self) -> Files {
        let is_left = |name: &String| {
            name.rsplit('/')
                .next()
                .is_some_and(|name| name.starts_with('.'))
        };
        self.s
            .files()
            .into_iter()
            .filter(|(name, _)| !name.ends_with(".zst") && !is_left(name))
            .collect()
    }
}

fn modified(s: &Sandbox, name: &str) -> SystemTime {
    s.path(name).metadata().unwrap().modified().unwrap()
}

/// A session is as large as all files that move with it.
#[test]
fn archive_of_named_sessions_has_no_note() {
    let h = Home::new();
    h.run("archive -n pold").quiet();
    let done = h.run("archive pold");
    assert_eq!(done.stderr.lines().count(), 1, "{}", done.stderr);
    assert!(
        done.stderr.starts_with("pisess: 1 session archived"),
        "{}",
        done.stderr
    );
}

#[test]
fn a_plan_counts_the_files_of_sub_agents() {
    let h = Home::new();
    h.s.put(
        &format!("{}/2026_omp1/scout/1.bash.log", h.omp),
        vec![b'x'; 500_000],
    );
    let planned = h.run("archive -q -n omp1").text();
    let row = planned.lines().nth(1).unwrap();
    assert!(row.starts_with("50") && row.contains(" kB "), "{planned}");
}

/// The plan says what the run would leave out.
#[test]
fn a_plan_without_r_marks_sessions_in_subdirectories() {
    let h = Home::new();
    let store = format!("./{}", h.pi.split("/--").next().unwrap());
    let planned = h.run(&format!("archive -n {store}"));
    assert!(planned.text().contains("  needs -r  ~/kites"), "{planned}");
    assert!(!planned.text().contains("  archive  "), "{planned}");
    assert!(
        planned.stderr.contains("add -r to change them"),
        "{planned}"
    );
    let planned = h.run(&format!("archive -n -r {store}"));
    assert!(planned.text().contains("  archive  ~/kites"), "{planned}");
}

/// People know sessions by their titles. A pipe gets paths.
#[test]
fn what_was_moved_is_named_on_a_terminal() {
    let h = Home::new();
    assert_snapshot!(h.run("archive -n --all --older-than 2026-02-01").quiet(), @r"
      size  action   project     age  id      name or first user message
     288 B  archive  ~/boats     4mo  boat    an old boat
     113 B  archive  ~/kites     4mo  pempty  (no messages)
     288 B  archive  ~/kites     4mo  pold    an old kite
     981 B  archive  ~/kites     4mo  omp1    Tail
    1.7 kB  total    4 sessions
    ");
    let done = h.call("archive pold boat").terminal(80).done();
    assert_snapshot!(done.text(), @r"
     [4msize[0m  [4maction[0m    [4mproject[0m  [4mage[0m  [4mid[0m    [4mname or first user message[0m
    288 B  archived  ~/kites  4mo  pold  an old kite
    288 B  archived  ~/boats  4mo  boat  an old boat
    ");
    assert_snapshot!(done.stderr, @"pisess: 2 sessions archived, 576 B in 1.1 kB (hint: `pisess archive --restore ID` moves one back, `--delete ID` deletes one for good)");
    let done = h.call("archive --restore pold").terminal(80).done();
    assert_snapshot!(done.text(), @r"
     [4msize[0m  [4maction[0m    [4mproject[0m  [4mage[0m  [4mid[0m    [4mname or first user message[0m
    288 B  restored  ~/kites  4mo  pold  an old kite
    ");
    assert_eq!(done.stderr, "");
    let done = h.call("archive --delete --force boat").terminal(80).done();
    assert_snapshot!(done.text(), @r"
     [4msize[0m  [4maction[0m   [4mproject[0m  [4mage[0m  [4mid[0m    [4mname or first user message[0m
    288 B  deleted  ~/boats  4mo  boat  an old boat
    ");
    // The hint names the session, and holds.
    let done = h.run("archive pold");
    assert!(
        done.stderr
            .ends_with("(hint: `pisess archive --restore pold` moves it back, `--delete pold` deletes it for good)\n"),
        "{done}"
    );
    assert_eq!(h.run("archive --restore pold").code, 0);
}

#[test]
fn a_session_goes_to_an_archive_and_comes_back() {
    for id in ["pold", "omp1"] {
        let h = Home::new();
        let session = if id == "pold" { h.pi(id) } else { h.omp() };
        let archive = h.archive(&session);
        let before = h.s.files();
        let planned = h.run(&format!("archive -q -n {id}"));
        assert_eq!((planned.code, planned.text().lines().count()), (0, 2));
        let row = planned.text().lines().nth(1).unwrap().to_owned();
        let title = if id == "pold" { "an old kite" } else { "Tail" };
        let shown = format!("archive  ~/kites  4mo  {id}  {title}");
        assert!(row.ends_with(&shown), "{planned}");
        assert!(h.s.files() == before);
        let done = h.run(&format!("archive {id}"));
        assert_eq!(
            (done.code, done.text()),
            (0, format!("./{archive}\n")),
            "{done}"
        );
        // What belongs to it is gone, except for the blob, which other sessions may use.
        let stem = session.strip_suffix(".jsonl").unwrap();
        let left: Vec<_> = before
            .keys()
            .filter(|name| !name.starts_with(stem))
            .cloned()
            .collect();
        let now: Vec<_> =
            h.s.names()
                .into_iter()
                .filter(|name| !name.ends_with(".zst"))
                .collect();
        assert_eq!(now, left);
        assert!(!h.s.path(stem).exists());
        // Any tool for zstd prints the session.
        let mut session_in_it = Vec::new();
        let bytes = h.s.bytes(&archive);
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            match ruzstd::decoding::StreamingDecoder::new(&mut rest) {
                Ok(mut frame) => drop(frame.read_to_end(&mut session_in_it).unwrap()),
                Err(ruzstd::decoding::errors::FrameDecoderError::ReadFrameHeaderError(
                    ruzstd::decoding::errors::ReadFrameHeaderError::SkipFrame { length, .. },
                )) => rest = &rest[length as usize..],
                Err(error) => panic!("{error}"),
            }
        }
        assert!(session_in_it == before[&session]);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(
                h.s.path(&archive).metadata().unwrap().permissions().mode() & 0o777,
                0o600
            );
        }
        // A blob that oh-my-pi took comes back, too.
        std::fs::remove_file(h.s.path(&format!(".omp/agent/blobs/{HASH}"))).unwrap();
        if id == "pold" {
            h.s.put(&format!(".omp/agent/blobs/{HASH}"), BLOB);
        }
        let planned = h.run(&format!("archive -n --restore {id}"));
        assert_eq!((planned.code, planned.text().lines().count()), (0, 2));
        let row = planned.text().lines().nth(1).unwrap().to_owned();
        let shown = format!("restore  ~/kites  4mo  {id}  {title}");
        assert!(row.ends_with(&shown), "{planned}");
        let done = h.run(&format!("archive --restore {id}"));
        assert_eq!(
            (done.code, done.text()),
            (0, format!("./{session}\n")),
            "{done}"
        );
        assert!(h.s.files() == before, "{:?}", h.s.names());
        assert_eq!(modified(&h.s, &session), long_ago());
    }
}

#[test]
fn every_kind_of_session_comes_back_byte_for_byte() {
    let fixtures = ["v1", "v2", "draft-tree", "tour", "omp"].map(str::to_owned);
    for name in hazards()
        .into_iter()
        .map(|name| format!("hazards/{name}"))
        .chain(fixtures)
    {
        let h = Home::new();
        let session = h.pi("hazard");
        let bytes = fixture(&format!("{name}.jsonl"));
        h.s.put(&session, &bytes);
        h.age();
        let is_session = h.run(&format!("tree -q ./{session}")).code == 0;
        let done = h.run(&format!("archive -q ./{session}"));
        assert_eq!(done.code, if is_session { 0 } else { 2 }, "{name}: {done}");
        assert_eq!(h.s.path(&session).exists(), !is_session, "{name}");
        if !is_session {
            continue;
        }
        let archive = h.archive(&session);
        let listed = h.run("archive --list --all --json");
        assert!(
            listed.code == 0 && listed.text().contains(&archive),
            "{name}: {listed}"
        );
        // The path that the session had names its archive, too.
        let done = h.run(&format!("archive -q --restore ./{session}"));
        assert_eq!(done.code, 0, "{name}: {done}");
        assert!(
            h.s.bytes(&session) == bytes && h.archives().is_empty(),
            "{name}"
        );
    }
}

#[test]
fn filters_are_combined() {
    for (options, chosen) in [
        ("--older-than 90d", "omp1 pold pempty"),
        ("--older-than 1d", "omp1 pnew pold pempty"),
        ("--older-than 90d --all", "boat omp1 pold pempty"),
        ("--older-than 2026-02-01 --project ./boats", "boat"),
        ("--empty", "pempty"),
        ("--empty --older-than 300d", ""),
        ("--all --larger-than 1", "boat omp1 pnew pold pempty"),
        ("--all --larger-than 1M", ""),
        ("--all", "boat omp1 pnew pold pempty"),
        ("--project ./boats", "boat"),
    ] {
        let h = Home::new();
        let planned = h.run(&format!("archive -q -n {options}"));
        let here = planned.text();
        // The sandbox is not the project: its sessions are chosen by --project.
        let is_elsewhere = !options.contains("--all") && !options.contains("--project");
        let rows = if is_elsewhere {
            h.run(&format!("archive -q -n {options} --project ./kites"))
                .text()
        } else {
            here
        };
        let mut ids: Vec<_> = rows
            .lines()
            .filter(|row| row.contains("archive  ~/"))
            .filter_map(|row| row.split_whitespace().nth(5))
            .collect();
        let mut wanted: Vec<_> = chosen.split_whitespace().collect();
        ids.sort_unstable();
        wanted.sort_unstable();
        assert_eq!(ids, wanted, "{options}: {rows}");
    }
}

/// Without `--all`, sessions of other projects stay: a note says how many there are.
#[test]
fn sessions_of_other_projects_are_counted() {
    let h = Home::new();
    // The sandbox is not a project.
    assert_snapshot!(h.run("archive -n --older-than 2026-02-01").stderr, @"pisess: no sessions to archive (hint: --all chooses 4 sessions of other projects)");
    h.s.put(
        &format!(
            ".pi/agent/sessions/--{}--/2026_here.jsonl",
            h.s.path("")
                .to_str()
                .unwrap()
                .trim_matches('/')
                .replace('/', "-")
        ),
        header(&h.s, "here", "") + &body("2026-01-01T00:00:01.000Z", "an old one"),
    );
    h.age();
    assert_snapshot!(h.run("archive -n --older-than 2026-02-01").stderr, @"pisess: note: only sessions of this project are chosen (hint: --all also chooses 4 sessions of other projects)");
    // All that --all would choose is chosen: nothing is noted.
    for line in [
        "archive -n --older-than 300d --all",
        "archive -n --older-than 2026-02-01 --project ./kites",
        "archive -n here",
    ] {
        assert!(!h.run(line).stderr.contains("other projects"), "{line}");
    }
    // A day does not include itself.
    assert_eq!(h.run("archive -q -n --older-than 2026-01-01").text(), "");
    assert_ne!(h.run("archive -q -n --older-than 2026-01-02").text(), "");
}

#[test]
fn older_than_skips_a_session_changed_within_ten_minutes() {
    let h = Home::new();
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_777_896_000 - 540);
    // An agent wrote an entry that is no message.
    let entry = r#"{"type":"model_change","id":"m","parentId":null,"timestamp":"2026-05-04T11:51:00.000Z","provider":"p","modelId":"m"}"#;
    let pold = h.pi("pold");
    h.s.put(&pold, h.s.text(&pold) + "\n" + entry + "\n");
    // A sub-agent of the one session, and the other session itself.
    for name in [format!("{}/2026_omp1/scout.jsonl", h.omp), h.pi("pold")] {
        let file = std::fs::OpenOptions::new()
            .append(true)
            .open(h.s.path(&name))
            .unwrap();
        file.set_modified(now).unwrap();
    }
    let before = h.s.files();
    let done = h.run("archive --older-than 90d --project ./kites -n");
    assert_eq!(done.text().lines().count(), 2, "{done}");
    assert!(
        done.stderr.contains(
            "it changed 9min ago; a session that is not named is left alone for 10min (hint: give it as SESSION to archive it now), and 1 other\n"
        ),
        "{done}"
    );
    assert!(h.s.files() == before);
    // A session that is named is archived.
    assert_eq!(h.run("archive -q pold").code, 0);
}

/// A label is no sign of an agent, although the file changed just now.
#[test]
fn older_than_takes_a_session_that_only_pisess_changed() {
    let h = Home::new();
    assert_eq!(h.run("label -q pold @ mark").code, 0);
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_777_896_000);
    let file = std::fs::OpenOptions::new()
        .append(true)
        .open(h.s.path(&h.pi("pold")))
        .unwrap();
    file.set_modified(now).unwrap();
    let done = h.run("archive --older-than 90d --project ./kites -n");
    assert!(!done.stderr.contains("skipped"), "{done}");
    assert!(done.text().contains("pold"), "{done}");
}

/// pi may write a name in the middle of a turn, so it counts whoever wrote it.
#[test]
fn older_than_skips_a_session_that_was_named_just_now() {
    let h = Home::new();
    assert_eq!(h.run("append -q pold --name Kites").code, 0);
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_777_896_000);
    let file = std::fs::OpenOptions::new()
        .append(true)
        .open(h.s.path(&h.pi("pold")))
        .unwrap();
    file.set_modified(now).unwrap();
    let done = h.run("archive --older-than 90d --project ./kites -n");
    assert!(done.stderr.contains("it changed just now"), "{done}");
    assert!(!done.text().contains("pold"), "{done}");
}

/// pi may be writing the last line, so its type and its time are unknown.
#[test]
fn older_than_skips_a_session_with_a_torn_last_line() {
    let h = Home::new();
    let pold = h.pi("pold");
    h.s.put(&pold, h.s.text(&pold) + r#"{"type":"message","id":"m","#);
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_777_896_000);
    let file = std::fs::OpenOptions::new()
        .append(true)
        .open(h.s.path(&pold))
        .unwrap();
    file.set_modified(now).unwrap();
    let done = h.run("archive --older-than 90d --project ./kites -n");
    assert!(done.stderr.contains("it changed"), "{done}");
    assert!(!done.text().contains("pold"), "{done}");
}

#[test]
fn an_archive_is_as_old_as_its_newest_message() {
    let h = Home::new();
    let aged = |id: &str, time: &str| {
        h.s.put(
            &format!("{}/2026_{id}.jsonl", h.pi),
            header(&h.s, id, "kites") + &body(time, id),
        );
    };
    // 91 days before, which is less than three months, and 92. Both files were made at the
    // beginning of the year.
    aged("younger", "2026-02-02T12:00:00.000Z");
    aged("older", "2026-02-01T12:00:00.000Z");
    h.age();
    let ages = |line: &str| {
        let rows = h.run(line).text();
        let age = |id: &str| {
            let row = rows
                .lines()
                .find(|row| row.split_whitespace().any(|word| word == id));
            row.unwrap_or_else(|| panic!("{id}: {rows}"))
                .split_whitespace()
                .next()
                .unwrap()
                .to_owned()
        };
        ["younger", "older"].map(age)
    };
    assert_eq!(ages("list --all --limit 9"), ["2mo", "3mo"]);
    h.run("archive -q younger older").quiet();
    assert_eq!(ages("archive --list --all"), ["2mo", "3mo"]);
    assert_eq!(ages("list --all --archived --limit 9"), ["2mo", "3mo"]);
}

#[test]
fn archived_sessions_are_listed_and_read() {
    let h = Home::new();
    // Several sessions are archived in parallel. On a terminal, grep sorts by the times of the
    // archives, so the archive that is to come first is written last.
    h.run("archive -q pold omp1").quiet();
    h.run("archive -q boat").quiet();
    // Sizes depend on the name of the sandbox.
    let listed = h.run("archive --list --all").text();
    let title = listed.find("name or").unwrap();
    let shown: Vec<_> = listed
        .lines()
        .map(|line| format!("{}… {}\n", &line[..24], &line[title..]))
        .collect();
    assert_snapshot!(shown.concat(), @r"
    age  id    project  msgs… name or first user message
    4mo  omp1  ~/kites     1… Tail
    4mo  boat  ~/boats     1… an old boat
    4mo  pold  ~/kites     1… an old kite
    ");
    let json = h.run("archive --list --all --json").text();
    let (first, sizes) = json.split_once(",\"bytes\":").unwrap();
    assert_snapshot!(first, @r#"{"path":"./.omp/agent/sessions.archive/-kites/2026_omp1.jsonl.zst","session":"./.omp/agent/sessions/-kites/2026_omp1.jsonl","id":"omp1","agent":"oh-my-pi","name":"Tail","title":"Tail","cwd":"./kites","created":"2026-01-01T00:00:00.000Z","modified":"2026-01-01T00:00:01.000Z","messageCount":1,"files":6"#);
    assert!(sizes.contains(",\"archivedBytes\":"));
    assert_snapshot!(h.run("archive --list --all --empty"), @"2> pisess: note: no archived session matches these options (hint: omit them)");
    assert_snapshot!(h.run("list --all --archived --limit 9"), @"
       age  id      agent  project  msgs  br   size  context  name or first user message
        3d  pnew    pi     ~/kites     1   1  286 B        3  a new kite
       4mo  omp1    omp    ~/kites     1   2  659 B        -  (archived) Tail
       4mo  boat    pi     ~/boats     1   1  288 B        3  (archived) an old boat
       4mo  pold    pi     ~/kites     1   1  288 B        3  (archived) an old kite
       4mo  pempty  pi     ~/kites     0   0  113 B        -  (no messages)
    2> pisess: note: the last lines of 4 sessions are incomplete (hint: `pisess check --all` names them)
    ");
    // Standard input is read alone, also in a project with archived sessions that match.
    let in_project = |session: &str| {
        let mut command = assert_cmd::Command::new(program());
        command
            .args(["grep", "-c", "-e", "old", "--archived", session])
            .current_dir(h.s.path("kites"));
        command
            .env("HOME", h.s.path(""))
            .write_stdin(fixture("two-branches.jsonl"))
            .output()
            .unwrap()
    };
    assert_eq!(
        (in_project("-").status.code(), in_project(".").status.code()),
        (Some(1), Some(0))
    );
    let found = h.run("grep --all --archived -c old").text();
    let found: Vec<_> = found
        .lines()
        .map(|row| row.rsplit('/').next().unwrap())
        .collect();
    assert_eq!(found, ["2026_boat.jsonl.zst:1", "2026_pold.jsonl.zst:1"]);
    let titled = h
        .call("grep --all --archived -l old --color never")
        .terminal(80);
    assert_snapshot!(titled.done().text(), @"
    boat  an old boat
    pold  an old kite
    ");
    // `--source` chooses among archives, too.
    for (source, wanted) in [
        ("pi", &["boat", "pold"][..]),
        ("omp", &["omp1"]),
        ("claude,omp", &["omp1"]),
        ("all", &["boat", "omp1", "pold"]),
    ] {
        let listed = h.run(&format!("list --all --archived --source {source} --json"));
        let mut archived: Vec<String> = Vec::new();
        for row in listed.text().lines() {
            let row: Value = serde_json::from_str(row).unwrap();
            if row["path"].as_str().unwrap().ends_with(".zst") {
                archived.push(row["id"].as_str().unwrap().to_owned());
            }
        }
        archived.sort();
        assert_eq!(archived, wanted, "{source}");
        let searched = h.run(&format!("grep --all --archived --source {source} -l a"));
        let found = searched
            .text()
            .lines()
            .filter(|path| path.ends_with(".zst"))
            .count();
        assert_eq!(found, wanted.len(), "{source}: {searched}");
    }
    for (line, messages) in [("stats --all", 1), ("stats --all --archived", 4)] {
        let sums = h.run(&format!("{line} --json")).text();
        assert!(
            sums.contains(&format!(r#""messages":{messages},"#)),
            "{line}: {sums}"
        );
    }
    // A command that reads a session reads an archive that is named by its path, and none writes to
    // it.
    let archive = h.archive(&h.pi("pold"));
    let before = h.s.files();
    for line in READS.iter() {
        // No agent opens an archive.
        if line.starts_with("migrate") || line.starts_with("resume") {
            continue;
        }
        let done = h.run(&crate::every::of(line, &format!("./{archive}")));
        assert!(done.code <= 1, "{line}: {done}");
    }
    let done = h.run(&format!("label -q ./{archive} @ n"));
    assert!(
        done.code == 0 && done.text().contains("\"label\":\"n\""),
        "{done}"
    );
    assert!(h.s.files() == before);
}

/// What was pruned of an archived session is in the archive, and counts as before.
#[test]
fn archived_reads_what_was_pruned_before() {
    let h = Home::new();
    let session = format!("{}/2026_long.jsonl", h.pi);
    h.s.put(&session, crate::prune_compacted::compacted());
    h.run(&format!("prune -q --compacted ./{session}")).quiet();
    let read = |archive: &str| {
        let lines = [
            "list --all --json",
            "stats --all --json",
            "grep --all --pruned forgotten",
        ];
        let values = lines.map(|line| h.run(&format!("{line} {archive}")).text());
        let sums = |text: &str| {
            let rows = text
                .lines()
                .map(|row| serde_json::from_str::<serde_json::Value>(row).unwrap());
            rows.map(|row| row["cost"].as_f64().unwrap()).sum::<f64>()
        };
        (
            sums(&values[0]),
            sums(&values[1]),
            values[2].lines().count(),
        )
    };
    assert_eq!(read(""), (0.875, 0.875, 2));
    h.run(&format!("archive -q ./{session}")).quiet();
    assert_eq!(read(""), (0.0, 0.0, 0));
    assert_eq!(read("--archived"), (0.875, 0.875, 2));
    let archive = h.archive(&session);
    assert!(
        h.run(&format!("show ./{archive} aaaa0004"))
            .text()
            .contains("a forgotten answer")
    );
    assert!(
        h.run(&format!("export --as atif -o - ./{archive}"))
            .text()
            .contains("\"total_cost_usd\":0.875")
    );
}

#[test]
fn archived_sessions_that_could_count_are_noted() {
    let h = Home::new();
    let note = |line: &str| {
        let notes = h.run(line).stderr;
        notes
            .lines()
            .find(|note| note.contains("archived"))
            .unwrap_or_default()
            .to_owned()
    };
    assert_eq!(note("stats --all"), "", "nothing is archived");
    h.run("archive -q pold omp1 boat").quiet();
    let all = "pisess: note: 3 archived sessions are not included (hint: --archived)";
    for line in [
        "stats --all",
        "grep --all kite",
        "list --all --until 2026-01",
        "stats --all --until 2026-01 --json",
    ] {
        assert_eq!(note(line), all, "{line}");
    }
    // None of them has anything in this period.
    let others = [
        "stats --all --since 2026-04",
        "grep --all --since 2026-04 kite",
        "list --all --until 2025",
    ];
    for line in others {
        assert_eq!(note(line), "", "{line}");
    }
    for line in [
        "list --all",
        "stats -q --all",
        "stats --all --archived",
        "grep kite ./.pi",
        "list ./.pi --until 2026-01",
    ] {
        assert_eq!(note(line), "", "{line}");
    }
    assert_eq!(note("stats"), "", "this project has none");
    h.run("archive -q --restore pold omp1");
    assert_eq!(
        note("stats --all"),
        "pisess: note: 1 archived session is not included (hint: --archived)"
    );
}

#[test]
fn archived_sessions_are_completed() {
    let h = Home::new();
    h.run("archive -q omp1 boat").quiet();
    for option in ["--restore", "--delete"] {
        let offered = h
            .run(&format!(
                "completions fish --at 3 -- pisess archive {option} 'o'"
            ))
            .quiet();
        assert_eq!(offered, "omp1\tTail\n");
        assert_eq!(
            h.run(&format!(
                "completions fish --at 3 -- pisess archive {option} 'Ta'"
            ))
            .quiet(),
            "Tail\tTail\n"
        );
    }
}

#[test]
fn an_occupied_path_is_refused() {
    let h = Home::new();
    h.run("archive -q pold omp1").quiet();
    for name in [h.pi("pold"), format!("{}/2026_omp1/scout.jsonl", h.omp)] {
        h.s.put(&name, "somebody else's");
        let before = h.s.files();
        let id = if name.contains("pold") {
            "pold"
        } else {
            "omp1"
        };
        let done = h.run(&format!("archive -q --restore {id}"));
        assert_eq!(
            (done.code, done.stderr.contains("exists already")),
            (2, true),
            "{done}"
        );
        assert!(h.s.files() == before, "{id}");
        // With -n, it is refused as well.
        assert_eq!(h.run(&format!("archive -q -n --restore {id}")).code, 2);
        std::fs::remove_file(h.s.path(&name)).unwrap();
        h.run(&format!("archive -q --restore {id}"));
        assert!(h.s.path(&name).exists());
    }
}

/// An archive that a killed run left is used if the session is in it as it is, and otherwise
/// neither is touched.
#[test]
fn an_archive_that_is_there_is_never_replaced() {
    let h = Home::new();
    let (session, archive) = (h.omp(), h.archive(&h.omp()));
    let before = h.s.files();
    h.run("archive -q omp1").quiet();
    let archived = h.s.bytes(&archive);
    h.run("archive -q --restore omp1").quiet();
    h.s.put(&archive, &archived);
    // A run that was killed had removed some of the files already.
    std::fs::remove_file(h.s.path(&format!("{session}.pruned"))).unwrap();
    assert_eq!(h.run("archive -q omp1").code, 0);
    assert!(h.s.bytes(&archive) == archived && !h.s.path(&session).exists());
    h.run("archive -q --restore omp1").quiet();
    assert!(h.s.files() == before);
    h.s.put(&archive, &archived);
    h.s.put(
        &session,
        [before[&session].clone(), b"\n".to_vec()].concat(),
    );
    // An archive that cannot be read may have the same content.
    h.s.put(&archive, &archived[..archived.len() - 8]);
    let damaged = h.run("archive -q omp1");
    assert_eq!(damaged.code, 2);
    let hint = "(hint: move that file away, then archive it again)";
    assert!(damaged.stderr.contains(hint), "{damaged}");

    h.s.put(&archive, &archived);
    let there = h.s.files();
    let done = h.run("archive -q omp1");
    assert_eq!(
        (
            done.code,
            done.stderr.contains("exists already, with other content"),
            done.stderr.contains("`pisess archive --restore "),
        ),
        (2, true, true),
        "{done}"
    );
    assert!(h.s.files() == there);
}

/// An archive that is cut off anywhere, or of which any byte is changed, is an error: nothing is
/// restored from it.
#[test]
fn a_damaged_archive_is_refused() {
    let h = Home::new();
    h.run("archive -q omp1").quiet();
    let archive = h.archive(&h.omp());
    let whole = h.s.bytes(&archive);
    let cut = (1..whole.len()).step_by(7).map(|end| whole[..end].to_vec());
    let changed = (0..whole.len()).step_by(5).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << (at % 8);
        bytes
    });
    let longer = [whole.clone(), whole.clone()].concat();
    for bytes in cut.chain(changed).chain([longer]) {
        h.s.put(&archive, &bytes);
        let before = h.s.files();
        let done = h.run(&format!("archive -q --restore ./{archive}"));
        assert_eq!(
            (done.code, done.stderr.lines().count()),
            (2, 1),
            "{} bytes: {done}",
            bytes.len()
        );
        assert!(h.s.files() == before, "{done}");
    }
    h.s.put(&archive, &whole[..whole.len() - 9]);
    for line in [
        "list --all --archived",
        "grep --all --archived kite",
        "stats --all --archived",
    ] {
        let done = h.run(line);
        assert!(
            done.code == 2 && done.stderr.contains("the archive is damaged"),
            "{line}: {done}"
        );
    }
}

/// Returns an archive with another table and the right checksum, as anyone may make it.
fn with_table(archive: &[u8], change: impl Fn(&str) -> String) -> Vec<u8> {
    let length = u32::from_le_bytes(archive[4..8].try_into().unwrap()) as usize;
    let table = change(std::str::from_utf8(&archive[8..8 + length]).unwrap());
    let mut made = archive[..4].to_vec();
    made.extend((table.len() as u32).to_le_bytes());
    made.extend(table.as_bytes());
    made.extend(&archive[8 + length..archive.len() - 4]);
    let sum = crc32fast::hash(&made);
    made.extend(sum.to_le_bytes());
    made
}

/// The table of an archive names files; none of them leads out of the store.
#[test]
fn names_in_an_archive_are_not_paths() {
    let h = Home::new();
    h.run("archive -q omp1").quiet();
    let archive = h.archive(&h.omp());
    let whole = h.s.bytes(&archive);
    for (name, shown) in [
        ("folder/../../../x", ""),
        ("/tmp/x", ""),
        ("folder//etc/x", ""),
        ("blob/../x", ""),
        ("session", "exists already"),
        ("", ""),
        ("folder/a\\nb", r#""folder/a\nb""#),
        ("folder/a\\u001b[2Jb", r#""folder/a\u{1b}[2Jb""#),
    ] {
        let hostile = with_table(&whole, |table| table.replace("folder/draft.txt", name));
        h.s.put(&archive, hostile);
        let before = h.s.files();
        let done = h.run(&format!("archive -q --restore ./{archive}"));
        assert!(done.code == 2 && h.s.files() == before, "{name}: {done}");
        if name != "session" {
            assert!(
                done.stderr.contains("a file without a place") && done.stderr.contains(shown),
                "{name}: {done}"
            );
        }
    }
    h.s.put(&archive, with_table(&whole, str::to_owned));
    assert_eq!(h.run(&format!("archive -q --restore ./{archive}")).code, 0);
}

/// A blob of an archive becomes part of other sessions, which name it by its hash.
#[test]
fn a_blob_is_restored_only_with_the_content_of_its_hash() {
    let h = Home::new();
    h.run("archive -q omp1").quiet();
    let archive = h.archive(&h.omp());
    let whole = h.s.bytes(&archive);
    let other = "0".repeat(64);
    h.s.put(
        &archive,
        with_table(&whole, |table| table.replace(HASH, &other)),
    );
    let before = h.s.files();
    let done = h.run(&format!("archive -q --restore ./{archive}"));
    assert_eq!(done.code, 2, "{done}");
    assert!(
        done.stderr
            .contains(&format!("the content of blob/{other} has another hash")),
        "{done}"
    );
    assert!(h.s.files() == before);
    // A damaged blob of the store is not archived, so that the session can be restored.
    h.s.put(&archive, whole);
    h.run("archive -q --restore omp1").quiet();
    h.s.put(&format!(".omp/agent/blobs/{HASH}"), "damaged");
    h.age();
    h.run("archive -q omp1").quiet();
    let listed = h.run("archive --list --all --json").text();
    assert!(listed.contains("\"files\":5"), "{listed}");
    std::fs::remove_file(h.s.path(&format!(".omp/agent/blobs/{HASH}"))).unwrap();
    h.run("archive -q --restore omp1").quiet();
}

#[test]
fn deleting_asks_or_needs_force() {
    let h = Home::new();
    h.run("archive -q omp1").quiet();
    let before = h.s.files();
    assert_snapshot!(h.run("archive --delete omp1"), @r"
    2> pisess: cannot ask whether to delete ~/.omp/agent/sessions.archive/-kites/2026_omp1.jsonl.zst (Tail): standard input is not a terminal (hint: --force does it without asking)
    exit 2
    ");
    assert_snapshot!(h.run("archive --delete -n omp1"), @r"
      size  action  project  age  id    name or first user message
    1.7 kB  delete  ~/kites  4mo  omp1  Tail
    ");
    let answer = |answer: &str| h.call("archive --delete omp1").typed().stdin(answer).done();
    assert_snapshot!(answer("n\n"), @r"
    2> pisess: delete ~/.omp/agent/sessions.archive/-kites/2026_omp1.jsonl.zst (Tail)? [y/N] pisess: ~/.omp/agent/sessions.archive/-kites/2026_omp1.jsonl.zst is not deleted
    exit 1
    ");
    assert_eq!(answer("").code, 1);
    assert!(h.s.files() == before);
    assert_snapshot!(answer("y\n"), @"
    ./.omp/agent/sessions.archive/-kites/2026_omp1.jsonl.zst
    2> pisess: delete ~/.omp/agent/sessions.archive/-kites/2026_omp1.jsonl.zst (Tail)? [y/N] pisess: 1 session deleted, 985 B in 1.7 kB
    ");
    assert!(h.archives().is_empty());
    h.run("archive -q pnew").quiet();
    h.run("archive -q --delete --force pnew").quiet();
    assert!(h.archives().is_empty());
}

#[test]
fn refuses_conflicting_options_and_unsuitable_sessions() {
    let h = Home::new();
    h.s.put("elsewhere.jsonl", header(&h.s, "else", "kites") + "\n");
    let before = h.s.files();
    for (line, code) in [
        ("archive", 2),
        ("archive ./elsewhere.jsonl", 2),
        ("archive ./none.jsonl", 2),
        ("archive -", 2),
        ("archive --list pold", 2),
        ("archive --all pold", 2),
        ("archive --restore", 2),
        ("archive --restore --all", 2),
        ("archive --restore --older-than 90d -n", 2),
        ("archive --restore --empty --json", 2),
        ("archive --delete --project ./kites --force", 2),
        ("archive --restore pold", 2),
        ("archive --restore ./elsewhere.jsonl", 2),
        ("archive --older-than soon", 2),
    ] {
        let done = h.run(line);
        assert_eq!(done.code, code, "{line}: {done}");
        assert!(
            done.stderr.contains("hint") || line.contains("none") || line == "archive -",
            "{line}: {done}"
        );
    }
    assert_snapshot!(h.run("archive --delete --all --force"), @r"
    2> pisess: --delete: no archived session is given (hint: give each as SESSION; `pisess archive --list --all` lists them)
    exit 2
    ");
    let done = h.run("archive --restore ./elsewhere.jsonl");
    assert!(
        done.stderr
            .contains("; `pisess prune --restore` puts back what was pruned"),
        "{done}"
    );
    let done = h.run("archive --restore pold");
    assert!(
        done.stderr.starts_with("pisess: pold is not archived: ")
            && done.stderr.contains("2026_pold.jsonl (hint: "),
        "{done}"
    );
    let done = h.run(&format!("archive ./{}/2026_omp1/scout.jsonl", h.omp));
    assert!(
        done.code == 2 && done.stderr.contains("it belongs to "),
        "{done}"
    );
    assert!(h.s.files() == before);
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/dev/zero", h.s.path(&format!("{}/2026_omp1/link", h.omp)))
            .unwrap();
        let done = h.run("archive omp1");
        assert!(
            done.code == 2 && done.stderr.contains("is not a regular file"),
            "{done}"
        );
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_of_a_running_agent_is_refused_or_skipped() {
    let h = Home::new();
    std::os::unix::fs::symlink("/bin/sleep", h.s.path("omp")).unwrap();
    let mut agent = Command::new(h.s.path("omp"))
        .arg("600")
        .current_dir(h.s.path("kites"))
        .spawn()
        .unwrap();
    let before = h.s.files();
    let done = h.run("archive pold --force");
    assert!(
        done.code == 3 && done.stderr.contains("an agent runs in its directory"),
        "{done}"
    );
    let done = h.run("archive --all --older-than 90d -n");
    // The titles, and a row.
    assert!(done.code == 0 && done.text().lines().count() == 2, "{done}");
    assert!(
        done.stderr.contains("an agent runs in its directory")
            && done.stderr.contains("and 2 others"),
        "{done}"
    );
    assert!(h.s.files() == before);
    agent.kill().unwrap();
    agent.wait().unwrap();
    // What a process has open for writing may be written to.
    let scout = format!("{}/2026_omp1/scout.jsonl", h.omp);
    let open = std::fs::OpenOptions::new()
        .append(true)
        .open(h.s.path(&scout))
        .unwrap();
    let mut holder = Command::new("sleep")
        .arg("600")
        .stdout(open)
        .spawn()
        .unwrap();
    let before = h.s.files();
    let done = h.run("archive omp1 --wait 0");
    assert_eq!(done.code, 3, "{done}");
    assert!(h.s.files() == before, "{:?}", h.s.names());
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(h.run("archive -q omp1").code, 0);
}

/// Wherever a run is killed, each session is in its place or in an archive, whole, and the same
/// command completes it.
#[cfg(unix)]
#[test]
fn a_run_that_was_killed_is_completed_by_the_next() {
    let both = [
        ("archive -q --all --older-than 90d", 3),
        ("archive -q --restore pold omp1 boat", 0),
    ];
    for (line, archives) in both {
        let ready = || {
            let h = Home::new();
            let before = h.s.files();
            if archives == 0 {
                assert!(h.start(both[0].0).wait().unwrap().success());
            }
            (h, before)
        };
        let (h, _) = ready();
        let start = std::time::Instant::now();
        assert!(h.start(line).wait().unwrap().success(), "{line}");
        let span = start.elapsed();
        let mut partly = 0;
        for at in 1..500_u32 {
            if at > 24 && partly > 0 {
                break;
            }
            let (h, before) = ready();
            let all = h.s.files();
            let mut child = h.start(line);
            std::thread::sleep(span * (at % 24) / 24);
            child.kill().unwrap();
            child.wait().unwrap();
            let left = h.s.files();
            // Each session is in its place or in an archive.
            let archived = h.archives();
            for (name, bytes) in before.iter().filter(|(name, _)| !name.contains("pempty")) {
                let is_in_place = left.get(name) == Some(bytes);
                let is_archived = archived.iter().any(|archive| {
                    let stem = archive
                        .replace("/sessions.archive/", "/sessions/")
                        .replace(".jsonl.zst", "");
                    name.starts_with(&stem)
                });
                assert!(is_in_place || is_archived, "{at}: {name} is lost");
            }
            partly += usize::from(left != all);
            let mut again = h.start(line);
            let code = again.wait().unwrap().code();
            // What was restored completely has no archive any more.
            assert!(code == Some(0) || archives == 0, "{at}: {code:?}");
            if archives == 0 {
                let restored = before
                    .into_iter()
                    .filter(|(name, _)| !name.contains("pempty"));
                assert!(h.others() == restored.collect(), "{at}: {:?}", h.s.names());
                continue;
            }
            assert_eq!(h.archives().len(), archives + 1, "{at}: {:?}", h.archives());
            assert!(
                h.start("archive -q --restore pold omp1 boat pempty")
                    .wait()
                    .unwrap()
                    .success(),
                "{at}"
            );
            assert!(h.others() == before, "{at}: {:?}", h.s.names());
        }
        assert!(partly > 0, "no run was killed between");
    }
}

/// A limit on the size of files represents a full disk: neither is a session removed nor an archive
/// left.
#[cfg(unix)]
#[test]
fn a_full_disk_changes_nothing() {
    let h = Home::new();
    let mut noise = String::new();
    let mut state = 1_u64;
    while noise.len() < 2_000_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        noise.push_str(&format!("{state:x}"));
    }
    let name = h.pi("pold");
    h.s.put(
        &name,
        format!(
            "{}\n{{\"type\":\"custom\",\"id\":\"x\",\"data\":\"{noise}\"}}\n",
            header(&h.s, "pold", "kites")
        ),
    );
    h.age();
    let before = h.s.files();
    for limit in ["1", "500", "1500"] {
        let done = h.call("archive -q pold").limited(limit);
        assert_eq!(done.code, 2, "{limit}: {done}");
        assert!(h.s.files() == before, "{limit}");
        assert!(!h.s.path(".pi/agent/sessions.archive").exists(), "{limit}");
    }
    h.run("archive -q pold").quiet();
    let archived = h.s.files();
    for limit in ["1", "1500"] {
        let done = h.call("archive -q --restore pold").limited(limit);
        assert_eq!(done.code, 2, "{limit}: {done}");
        assert!(h.s.files() == archived, "{limit}");
    }
    h.run("archive -q --restore pold").quiet();
    assert!(h.s.files() == before);
}

/// Several at once, archiving and restoring the same sessions: each session is in one place in the
/// end.
#[cfg(unix)]
#[test]
fn several_archivers_at_once_lose_nothing() {
    for round in 0..6 {
        let h = Home::new();
        let before = h.s.files();
        let lines = match round % 3 {
            0 => ["archive -q --all --older-than 90d"; 3],
            1 => ["archive -q omp1 pold boat"; 3],
            _ => [
                "archive -q omp1 pold boat",
                "archive -q --restore omp1 pold boat",
                "archive -q boat pold omp1",
            ],
        };
        let started = lines.map(|line| h.start(line));
        for mut child in started {
            let code = child.wait().unwrap().code();
            let fits = if round % 3 == 0 {
                [Some(0)].contains(&code)
            } else {
                [Some(0), Some(2), Some(3)].contains(&code)
            };
            assert!(fits, "{round}: {code:?}");
        }
        for id in ["omp1", "pold", "boat", "pempty"] {
            if h.archives().iter().any(|name| name.contains(id)) {
                assert_eq!(
                    h.run(&format!("archive -q --restore {id}")).code,
                    0,
                    "{round} {id}"
                );
            }
        }
        assert!(h.s.files() == before, "{round}: {:?}", h.s.names());
    }
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_only_the_report() {
    let h = Home::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = Command::new(program());
    command
        .args(["archive", "-q", "pold", "boat"])
        .current_dir(h.s.path("kites"))
        .env("HOME", h.s.path(""));
    assert_eq!(command.stdout(writer).status().unwrap().code(), Some(0));
    assert_eq!(h.archives().len(), 2);
}

/// The states of the files of a session that a run of `archive` leaves wherever it is killed: after
/// the archive is in place, the files are hidden, first the session; then the hidden files are
/// removed, last the session.
#[derive(Clone, Copy, Debug)]
enum Killed {
    Hiding(usize),
    Removing(usize),
}

/// Returns the session and its companions, in the order in which they are hidden.
fn own_files(h: &Home) -> Vec<String> {
    let stem = h.omp().strip_suffix(".jsonl").unwrap().to_owned();
    let mut names: Vec<_> =
        h.s.names()
            .into_iter()
            .filter(|name| name.starts_with(&stem) && *name != h.omp())
            .collect();
    names.insert(0, h.omp());
    names
}

fn hide(h: &Home, name: &str) {
    let place = h.s.path(name);
    std::fs::rename(&place, pisess_store::hidden_path_of(&place)).unwrap();
}

/// Returns a home as a killed run left it, and the files that it had before.
fn killed(state: Killed) -> (Home, Files) {
    let h = Home::new();
    let before = h.s.files();
    h.run("archive -q omp1").quiet();
    let archive = h.s.bytes(&h.archive(&h.omp()));
    h.run("archive -q --restore omp1").quiet();
    h.s.put(&h.archive(&h.omp()), archive);
    let names = own_files(&h);
    let (hidden, removed) = match state {
        Killed::Hiding(count) => (count, 0),
        Killed::Removing(count) => (names.len(), count),
    };
    for name in &names[..hidden] {
        hide(&h, name);
    }
    for name in names[..hidden].iter().rev().take(removed) {
        std::fs::remove_file(pisess_store::hidden_path_of(&h.s.path(name))).unwrap();
    }
    (h, before)
}

fn all_killed() -> Vec<Killed> {
    let count = own_files(&Home::new()).len();
    let hiding = (0..=count).map(Killed::Hiding);
    hiding.chain((1..=count).map(Killed::Removing)).collect()
}

const LINE: &str = r#"
{"type":"message","id":"next","parentId":null,"timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"one more"}}
"#;

/// Appends a line as pi does, which makes the file if it is not there. Returns whether it did.
fn append_as_pi(h: &Home) -> bool {
    let path = h.s.path(&h.omp());
    let is_new = !path.exists();
    let mut options = std::fs::OpenOptions::new();
    let mut file = options.append(true).create(true).open(path).unwrap();
    std::io::Write::write_all(&mut file, LINE.as_bytes()).unwrap();
    is_new
}

/// After a killed run, a line is appended, and the user tries what the hints name: all is there in
/// the end, and no hint deletes an archive.
fn assert_nothing_is_lost(h: &Home, before: &Files, at: &str) {
    let session = h.omp();
    let lock = format!("{}/.2026_omp1.jsonl.lock", h.omp);
    let has_stale_lock = h.s.path(&lock).exists();
    let is_new = append_as_pi(h);
    let tried = [
        "archive -q omp1".to_owned(),
        format!("archive -q ./{session}"),
        format!("prune ./{session} --restore"),
        format!("prune ./{session} --over 1"),
        format!("tree ./{session}"),
        "archive -q --restore omp1".to_owned(),
        format!("archive -q --restore ./{session}"),
    ];
    for line in &tried {
        let done = h.run(line);
        assert!(!done.stderr.contains("--delete"), "{at}: {line}: {done}");
    }
    let mut wanted = before.clone();
    if is_new {
        // The line is in a file of its own, which is in the way, and which the failure names: the
        // hidden file is the whole session.
        let refused = h.run("archive -q --restore omp1");
        assert_eq!(h.s.bytes(&session), LINE.as_bytes(), "{at}");
        let name = session.rsplit_once('/').unwrap().1;
        let expected = format!("/{name} exists already (hint: move that file away first)");
        assert!(refused.stderr.contains(&expected), "{at}: {refused}");
        std::fs::remove_file(h.s.path(&session)).unwrap();
        let done = h.run("archive -q --restore omp1");
        assert_eq!(done.code, 0, "{at}: {done}");
    } else {
        wanted.get_mut(&session).unwrap().extend(LINE.as_bytes());
    }
    // The last command restored it, whatever the first ones did.
    assert!(h.archives().is_empty(), "{at}: {:?}", h.s.names());
    let mut found = h.s.files();
    if has_stale_lock {
        // That of a killed process stays until the session is written.
        found.remove(&lock);
    }
    assert!(found == wanted, "{at}: {:?}", h.s.names());
}

#[test]
fn nothing_is_lost_if_a_line_follows_a_killed_run() {
    for state in all_killed() {
        let (h, before) = killed(state);
        assert_nothing_is_lost(&h, &before, &format!("{state:?}"));
    }
}

/// An older version removed the companions first: the session is in its place without them.
#[test]
fn restore_completes_an_interrupted_run_of_an_older_version() {
    let count = own_files(&Home::new()).len();
    for removed in 1..count {
        let (h, before) = killed(Killed::Hiding(0));
        let names = own_files(&h);
        for name in &names[1..=removed] {
            std::fs::remove_file(h.s.path(name)).unwrap();
        }
        let session = h.omp();
        let done = h.run(&format!("tree ./{session}"));
        assert!(
            done.stderr
                .contains("an interrupted run of `pisess archive` left")
                && done.stderr.contains("`pisess archive --restore "),
            "{done}"
        );
        let pruned = names[..=removed].contains(&format!("{session}.pruned"));
        let done = h.run(&format!("prune --restore ./{session}"));
        assert_eq!(done.code, if pruned { 2 } else { 0 }, "{done}");
        assert_eq!(
            done.stderr.contains("what was pruned from it is in "),
            pruned,
            "{done}"
        );
        assert_nothing_is_lost(&h, &before, &format!("{removed} removed"));
    }
}

/// Without anything in between, the same command completes what a killed run left.
#[test]
fn the_same_command_completes_a_killed_run_at_any_step() {
    for line in ["archive -q omp1", "archive -q --all --older-than 90d"] {
        for state in all_killed() {
            let (h, before) = killed(state);
            let is_done =
                matches!(state, Killed::Removing(count) if count == own_files(&Home::new()).len());
            if is_done && line.ends_with("omp1") {
                continue;
            }
            let planned = h.s.files();
            h.run(&format!("{line} -n"));
            assert!(h.s.files() == planned, "{state:?}");
            let done = h.run(line);
            assert_eq!(done.code, 0, "{line}: {state:?}: {done}");
            let left: Vec<_> =
                h.s.names()
                    .into_iter()
                    .filter(|name| name.contains(".pisess-") || name.contains("2026_omp1"))
                    .collect();
            assert_eq!(left, [h.archive(&h.omp())], "{line}: {state:?}");
            for id in ["omp1", "pold", "pempty", "boat"] {
                h.run(&format!("archive -q --restore {id}"));
            }
            assert!(
                h.s.files() == before,
                "{line}: {state:?}: {:?}",
                h.s.names()
            );
        }
    }
}

/// Returns how many files are hidden in the directories of the session, while another process
/// changes them.
#[cfg(target_os = "linux")]
fn hidden_files(h: &Home) -> usize {
    let mut count = 0;
    for folder in [h.omp.clone(), format!("{}/2026_omp1", h.omp)] {
        let Ok(entries) = std::fs::read_dir(h.s.path(&folder)) else {
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            count += usize::from(name.to_string_lossy().ends_with(".aside"));
        }
    }
    count
}

/// A real run is killed, or gets Ctrl-C, as soon as it has hidden or removed some files.
#[cfg(target_os = "linux")]
#[test]
fn nothing_is_lost_if_a_line_follows_a_run_that_gets_a_signal() {
    use rustix::process::{Pid, Signal, kill_process};
    const FILES: usize = 60;
    let mut interrupted = 0;
    for signal in [Signal::KILL, Signal::INT] {
        for wanted in [0, 1, 2, FILES / 2, FILES] {
            let h = Home::new();
            for number in 0..FILES {
                h.s.put(
                    &format!("{}/2026_omp1/{number}.log", h.omp),
                    number.to_string(),
                );
            }
            h.age();
            let before = h.s.files();
            let mut child = h.start("archive -q omp1");
            while child.try_wait().unwrap().is_none() {
                let is_archived = h.s.path(&h.archive(&h.omp())).exists();
                if is_archived && hidden_files(&h) >= wanted {
                    break;
                }
            }
            if kill_process(Pid::from_child(&child), signal).is_ok() {
                interrupted += 1;
            }
            child.wait().unwrap();
            assert_nothing_is_lost(&h, &before, &format!("{signal:?} at {wanted}"));
        }
    }
    assert!(interrupted > 0);
}

/// Without file descriptors, an open fails at any point, also after the archive is in place.
#[cfg(unix)]
#[test]
fn a_run_without_file_descriptors_changes_nothing() {
    let mut failed = 0;
    for limit in 4..40 {
        let h = Home::new();
        let before = h.s.files();
        let mut shell = Command::new("/bin/sh");
        let output = shell
            .args(["-c", "ulimit -n \"$0\" && exec \"$@\"", &limit.to_string()])
            .arg(program())
            .args(["archive", "-q", "omp1"])
            .current_dir(h.s.path("kites"))
            .env("HOME", h.s.path(""))
            .output()
            .unwrap();
        if output.status.code() == Some(0) {
            assert_eq!(h.archives().len(), 1, "{limit}");
            h.run("archive -q --restore omp1").quiet();
        } else {
            failed += 1;
        }
        assert!(h.s.files() == before, "{limit}: {:?}", h.s.names());
        if output.status.code() != Some(0) {
            assert!(!h.s.path(".omp/agent/sessions.archive").exists(), "{limit}");
        }
    }
    assert!(failed > 0);
}

/// What is behind a link in place of a file that belongs to the session is somebody else's.
#[cfg(unix)]
#[test]
fn a_symbolic_link_in_place_of_what_belongs_to_a_session_is_refused() {
    let stem = |h: &Home| h.omp().strip_suffix(".jsonl").unwrap().to_owned();
    for is_folder in [true, false] {
        let h = Home::new();
        h.s.put("elsewhere/notes.txt", "notes");
        h.s.put("elsewhere/deep/more.txt", "more");
        h.age();
        let place = if is_folder {
            std::fs::remove_dir_all(h.s.path(&stem(&h))).unwrap();
            h.s.path(&stem(&h))
        } else {
            let pruned = h.s.path(&format!("{}.pruned", h.omp()));
            std::fs::remove_file(&pruned).unwrap();
            pruned
        };
        let target = if is_folder {
            "elsewhere"
        } else {
            "elsewhere/notes.txt"
        };
        std::os::unix::fs::symlink(h.s.path(target), place).unwrap();
        let before = h.s.files();
        for line in ["archive -q omp1", "archive -q --all --older-than 90d"] {
            let done = h.run(line);
            assert!(
                done.code == 2 && done.stderr.contains("it is a symbolic link"),
                "{line}: {done}"
            );
            for id in ["pold", "pempty", "boat"] {
                h.run(&format!("archive -q --restore {id}"));
            }
            assert!(h.s.files() == before, "{line}: {:?}", h.s.names());
        }
    }
}

/// Makes directories in a directory, so deep that the paths of the last ones are too long to be
/// read.
#[cfg(target_os = "linux")]
fn make_unreadable(folder: &std::path::Path) {
    use rustix::fs::{Mode, OFlags, mkdirat, open, openat};
    std::fs::create_dir_all(folder).unwrap();
    let flags = OFlags::DIRECTORY | OFlags::RDONLY;
    let mut deepest = open(folder, flags, Mode::empty()).unwrap();
    let name = "d".repeat(250);
    for _ in 0..20 {
        mkdirat(&deepest, &*name, Mode::RWXU).unwrap();
        deepest = openat(&deepest, &*name, flags, Mode::empty()).unwrap();
    }
}

/// Sessions in a directory that cannot be read may be among those that a filter chooses.
#[cfg(target_os = "linux")]
#[test]
fn a_directory_that_cannot_be_read_is_an_error() {
    for options in ["-n", ""] {
        let h = Home::new();
        make_unreadable(&h.s.path(".pi/agent/sessions/--shut--"));
        let done = h.run(&format!("archive -q --all --older-than 90d {options}"));
        assert!(
            done.code == 2 && done.stderr.contains("cannot read the directory "),
            "{done}"
        );
        // The others are archived.
        let is_archived = h.s.path(&h.archive(&h.omp())).exists();
        assert_eq!(is_archived, options.is_empty(), "{done}");
    }
}

/// A file whose name an archive cannot record could not be restored.
#[cfg(unix)]
#[test]
fn a_name_that_would_not_be_restored_is_not_archived() {
    for name in ["a\nb", "a\u{1b}[2Jb", "a\\b"] {
        let h = Home::new();
        h.s.put(&format!("{}/2026_omp1/{name}", h.omp), "x");
        h.age();
        let before = h.s.files();
        let done = h.run("archive -q omp1");
        assert!(
            done.code == 2 && done.stderr.contains("cannot be recorded"),
            "{name:?}: {done}"
        );
        assert!(h.s.files() == before);
    }
}

/// The sessions in a directory are archived, also if one of them cannot be.
#[test]
fn a_directory_of_sessions_is_archived() {
    let h = Home::new();
    let folder = format!("./{}", h.pi);
    let planned = h.run(&format!("archive -q -n {folder} --older-than 90d"));
    assert_eq!(planned.code, 0, "{planned}");
    let text = planned.text();
    assert!(
        text.contains("pold") && text.contains("pempty") && !text.contains("pnew"),
        "{text}"
    );
    assert!(text.contains("2 sessions"), "{text}");

    h.s.put(&format!("{}/2026_bad.jsonl", h.pi), "not a session\n");
    h.s.put(
        "loose/a.jsonl",
        "{\"type\":\"session\",\"version\":3,\"id\":\"loose\"}\n",
    );
    h.age();
    let done = h.run(&format!("archive {folder} ./loose ./none.jsonl"));
    assert_eq!(done.code, 2, "{done}");
    for part in [
        "it is not in the store of an agent",
        "none.jsonl",
        "3 sessions archived",
    ] {
        assert!(done.stderr.contains(part), "{part}: {done}");
    }
    assert_eq!(h.archives().len(), 3);

    // Sub-agents are archived with their session, and -r finds sessions further down.
    let h = Home::new();
    let store = format!("./{}", h.omp.split("/--").next().unwrap());
    let done = h.run(&format!("archive -r {store}"));
    assert_eq!(done.code, 0, "{done}");
    assert!(done.stderr.contains("1 session archived"), "{done}");
    let failed = h
        .run(&format!("archive --restore --empty {folder}"))
        .fails(2);
    assert!(failed.contains("choose sessions to archive"), "{failed}");
}
