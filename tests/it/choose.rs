//! `--choose`, and what a command that reads takes if no session is given.

use crate::every::{READS, verb_of};
use crate::pty::{answered, on_terminal};
use crate::sandbox::{Sandbox, fixture, program, session, user};
use insta::assert_snapshot;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::process::Command;
use std::time::{Duration, SystemTime};

/// Where sessions of the sandbox are kept if it is the home directory.
const STORE: &str = ".pi/agent/sessions";

/// The end of the question below a numbered list.
const ASKED: &str = "(Enter for none)?";

/// Returns a sandbox that is the home directory, with two sessions in the store: the newest is
/// `tour`.
fn with_store() -> Sandbox {
    let s = Sandbox::new();
    put(
        &s,
        "--home-u-garden--/kites.jsonl",
        &fixture("two-branches.jsonl"),
        20,
    );
    put(
        &s,
        "--home-u-code-ferry--/tour.jsonl",
        &fixture("tour.jsonl"),
        10,
    );
    s
}

/// Writes a session into the store, as if it changed this many minutes ago.
fn put(s: &Sandbox, name: &str, bytes: &[u8], minutes: u64) {
    s.put(&format!("{STORE}/{name}"), bytes);
    let file = File::options()
        .write(true)
        .open(s.path(&format!("{STORE}/{name}")));
    let time = SystemTime::now() - Duration::from_secs(60 * minutes);
    file.unwrap().set_modified(time).unwrap();
}

/// Returns a command in the sandbox, which is the home directory; its `bin` is the first directory
/// of the PATH.
fn command(line: &str, s: &Sandbox) -> Command {
    let mut command = Command::new(program());
    command
        .args(crate::sandbox::split(line))
        .current_dir(s.path(""))
        .env_clear()
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .env("PAGER", "cat")
        .env("TZ", "UTC")
        .env("PISESS_NOW", "2026-05-04T12:00:00Z")
        .env("PISESS_ID_SEED", "test")
        .env("HOME", s.path("").to_str().unwrap().trim_end_matches('/'))
        .env("PATH", format!("{}:/usr/bin:/bin", s.path("bin").display()));
    command
}

/// Runs a command line on a terminal, with this program as the chooser.
fn chosen_by(chooser: &str, line: &str, s: &Sandbox) -> (String, i32) {
    let mut command = command(line, s);
    command.env("PISESS_CHOOSER", chooser);
    on_terminal(command)
}

/// Makes an fzf that records its arguments, its environment and its rows, and ends with these
/// commands. The rows are in the variable `$rows`.
fn with_fzf(s: &Sandbox, ending: &str) {
    s.script(
        "bin/fzf",
        &format!("printf '%s\\0' \"$@\" > fzf.args\nenv -0 > fzf.env\nrows=$(cat)\nprintf '%s' \"$rows\" > fzf.rows\n{ending}"),
    );
}

/// The end of an fzf in which the row with a word is chosen.
fn choosing(word: &str) -> String {
    format!("printf '%s' \"$rows\" | grep -F '{word}'")
}

/// Returns what fzf prints in its preview of a row, as it runs the command: the first field is put
/// between single quotes.
fn preview(s: &Sandbox, row: &str) -> String {
    let arguments = s.text("fzf.args");
    let arguments: Vec<_> = arguments.split('\0').collect();
    let at = arguments
        .iter()
        .position(|word| *word == "--preview")
        .unwrap();
    let name = row.split('\t').next().unwrap().replace('\'', r"'\''");
    let line = arguments[at + 1].replace("{1}", &format!("'{name}'"));
    let environment = String::from_utf8(s.bytes("fzf.env")).unwrap();
    let variables = environment
        .split('\0')
        .filter_map(|line| line.split_once('='));
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &line])
        .current_dir(s.path(""))
        .env_clear()
        .envs(variables);
    let output = shell.output().unwrap();
    assert!(output.status.success(), "{line}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns a text with `./` for the sandbox.
fn relative(text: &str, s: &Sandbox) -> String {
    text.replace(s.path("").to_str().unwrap(), "./")
}

/// Returns the texts of the rows that fzf got.
fn texts(s: &Sandbox) -> String {
    let rows = s.text("fzf.rows");
    rows.lines()
        .map(|row| row.split_once('\t').unwrap().1.to_owned() + "\n")
        .collect()
}

#[test]
fn fzf_chooses_a_session() {
    let s = with_store();
    with_fzf(&s, &choosing("kite"));
    let (seen, code) = on_terminal(command("tree --choose", &s));
    assert_eq!(code, 0, "{seen}");
    assert_snapshot!(seen, @"
    pisess: chose 0000babe (4mo): Which paper for a kite?
    /home/u/kites · 7 entries
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.  ← active
    ");
    assert_snapshot!(texts(&s), @r#"
    1mo  /…/ferry            $0.04  The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    4mo  /home/u/kites           -  Which paper for a kite?
    "#);
    let rows = s.text("fzf.rows");
    let row = rows.lines().next().unwrap();
    assert!(
        row.starts_with(&format!("./{STORE}/--home-u-code-ferry--/tour.jsonl\t")),
        "{row}"
    );
    let rows = String::from_utf8(s.bytes("fzf.rows")).unwrap();
    let shown = s.run(&format!("show ./{STORE}/--home-u-code-ferry--/tour.jsonl"));
    assert_eq!(preview(&s, rows.lines().next().unwrap()), shown);
}

/// A choice is run like the command line with the path: also in the middle of options.
#[test]
fn the_session_is_inserted_where_it_belongs() {
    let s = Sandbox::new();
    put(&s, "--kites--/s.jsonl", &fixture("tour.jsonl"), 10);
    let path = format!("./{STORE}/--kites--/s.jsonl");
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut tried = BTreeSet::new();
    for form in READS.iter() {
        let verb = verb_of(form);
        let count = counts.entry(verb).or_default();
        *count += 1;
        let is_list = ["--all", "--archived"]
            .iter()
            .any(|word| form.contains(word));
        if *count > 3 || is_list {
            continue;
        }
        let [choosing, given] = [
            form.replacen(" F", "", 1) + " --choose",
            form.replace(" F", &format!(" {path}")),
        ];
        if choosing.contains(" F") {
            continue;
        }
        // The session is not given, unless an entry follows it, which would be taken for it.
        let words_after = form.split(" F").nth(1).unwrap_or_default();
        if words_after.trim_start().starts_with(['@', 'r', '.']) {
            continue;
        }
        tried.insert(verb);
        let wanted = s.pisess(&given).at_home().real();
        let done = s
            .pisess(&choosing)
            .at_home()
            .env("PISESS_CHOOSER", "head -n 1")
            .real();
        let absolute = |text: String| text.replace("./.pi", ".pi");
        assert_eq!(
            (done.code, absolute(done.text())),
            (wanted.code, absolute(wanted.text())),
            "{choosing}: {}",
            done.stderr
        );
        assert!(
            done.stderr.starts_with("pisess: chose "),
            "{choosing}: {}",
            done.stderr
        );
    }
    assert!(tried.len() > 15, "{tried:?}");
}

/// No text or name of a session does harm, in a row, in a preview or when it is chosen.
#[test]
fn hostile_sessions_are_chosen_as_they_are() {
    let s = Sandbox::new();
    let titles = [
        r"tab\there",
        r"two\nlines",
        r"an escape \u001b[31mred\u001b[0m \u0007",
        r#"quotes ' \" ` $(touch harmed) ; touch harmed"#,
        r"turned \u202e around",
        "{} {1} {2} {q} {+}",
    ];
    for (index, title) in titles.iter().enumerate() {
        let id = format!("a000000{index}");
        put(
            &s,
            &format!("--x--/{index}.jsonl"),
            &session(&[user(&id, None, title)]),
            index as u64,
        );
    }
    let names = [
        "it's $(touch harmed)",
        "tab\tname",
        "line\nname",
        "double\"quote",
    ];
    for (index, name) in names.iter().enumerate() {
        let line = user(&format!("b000000{index}"), None, &format!("named{index}"));
        put(
            &s,
            &format!("--x--/{name}.jsonl"),
            &session(&[line]),
            20 + index as u64,
        );
    }
    for index in 0..titles.len() + names.len() {
        with_fzf(
            &s,
            &format!("printf '%s' \"$rows\" | sed -n {}p", index + 1),
        );
        let (seen, code) = on_terminal(command("path --ids --choose", &s));
        let wanted = match index.checked_sub(titles.len()) {
            None => format!("a000000{index}"),
            Some(index) => format!("b000000{index}"),
        };
        assert!(
            code == 0 && seen.lines().any(|line| line == wanted),
            "{index}: {seen}"
        );
        assert!(
            !seen.contains('\u{7}') && !seen.contains("\u{1b}[31m"),
            "{seen}"
        );

        let rows = String::from_utf8(s.bytes("fzf.rows")).unwrap();
        assert_eq!(rows.lines().count(), titles.len() + names.len(), "{rows}");
        for row in rows.lines() {
            assert_eq!(row.matches('\t').count(), 1, "{row:?}");
            assert!(!row.replace('\t', "").contains(char::is_control), "{row:?}");
        }
        let row = rows.lines().nth(index).unwrap();
        if row.starts_with('/') {
            let shown = preview(&s, row);
            assert!(shown.contains(&wanted), "{row}: {shown}");
        }
    }
    assert!(!s.path("harmed").exists());
}

#[test]
fn rows_are_at_most_120_columns_wide() {
    use unicode_width::UnicodeWidthStr;
    let s = Sandbox::new();
    let long = "日本 words ".repeat(60);
    put(
        &s,
        "--x--/s.jsonl",
        &session(&[user("aaaa0001", None, &long)]),
        1,
    );
    for line in ["path --choose", "path --choose s.jsonl"] {
        s.put("s.jsonl", session(&[user("aaaa0001", None, &long)]));
        with_fzf(&s, &choosing("words"));
        let (seen, code) = on_terminal(command(line, &s));
        assert_eq!(code, 0, "{seen}");
        let width = texts(&s).trim_end().width();
        assert!((100..=120).contains(&width), "{width}: {}", texts(&s));
    }
}

#[test]
fn fzf_chooses_an_entry() {
    let s = Sandbox::with(&["tour.jsonl"]);
    with_fzf(&s, &choosing("Hm. What would"));
    let (seen, code) = on_terminal(command("switch tour.jsonl --choose", &s));
    assert_eq!(code, 0, "{seen}");
    assert_snapshot!(seen, @r#"
    pisess: chose id:ee2b93f5
    226b1b5c
    Hm. What would you do instead?
    pisess: now at a6d84170  assistant: Two tests fail: a ferry that left five minutes a…
    "#);
    assert_snapshot!(texts(&s), @r#"
    1mo  • assistant: "Ferries after midnight no longer show as gone: asked at 23:50, the 00:10 departs in 20 minutes."
    1mo  • user: Now a line for the changelog, for people who don't read code.
    1mo  • compaction: 12.5k tokens · Make waiting times right across midnight in `ferry`.
    1mo  • assistant: `tests/midnight.rs` pins it down: asked at 23:50, the 00:10 ferry departs in 20 minutes.
    1mo  • write: tests/midnight.rs
    1mo  • user: Good. Please add a test for exactly that evening.
    1mo  • [green] assistant: All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.
    1mo  • bash: cargo test --quiet
    1mo  • edit: src/clock.rs
    1mo  • assistant: So the result lies within half a day either way.
    1mo  • user: Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.
    1mo  • branch summary: Make `departs_in` right across midnight.
    1mo    assistant: [failed] 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}
    1mo    user: Hm. What would you do instead?
    1mo    assistant: Two tests fail: a ferry that left five minutes ago now "departs in 23 h 55 min". Adding a day hides…
    1mo    bash: [failed] cargo test --quiet
    1mo    edit: src/clock.rs
    1mo    assistant: That is one line. I'll change it and run the tests.
    1mo    user: Just add a day when it comes out negative.
    1mo  • [cause found] assistant: `departs_in` subtracts minutes of the day, so across midnight the result is negative:…
    1mo  • read: src/clock.rs:35-64
    1mo  • grep: /fn departs_in/ in src
    1mo  • assistant: I'll look for where the waiting time is computed.
    1mo  • user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?
    "#);
    let rows = s.text("fzf.rows");
    assert!(rows.starts_with("id:2f5dc03e\t"), "{rows}");
    let shown = s.run("show ./tour.jsonl 5c07d14b");
    let row = rows.lines().find(|row| row.starts_with("id:5c07d14b\t"));
    assert_eq!(preview(&s, row.unwrap()), shown);
}

/// An id may be any text, and may be that of a later entry, too.
#[test]
fn hostile_entries_are_chosen_as_they_are() {
    let s = Sandbox::new();
    let lines = [
        user("$(touch harmed)", None, "first"),
        user("twice000", Some("$(touch harmed)"), "second"),
        user("it's", Some("twice000"), "third"),
        user("twice000", Some("it's"), "fourth"),
        user("bbbb0001", Some("twice000"), "fifth"),
        r#"{"type":"label","id":"cccc0001","parentId":"bbbb0001","targetId":"it's","label":"id:bbbb0001"}"#.to_owned(),
    ];
    s.put("s.jsonl", session(&lines));
    for (word, number) in [
        ("first", 2),
        ("second", 3),
        ("third", 4),
        ("fourth", 5),
        ("fifth", 6),
    ] {
        with_fzf(&s, &choosing(word));
        let (seen, code) = on_terminal(command("show s.jsonl --choose --json", &s));
        assert_eq!(code, 0, "{seen}");
        assert!(
            seen.contains(&format!("\"content\":\"{word}\"")),
            "line {number}: {seen}"
        );
        let rows = s.text("fzf.rows");
        let row = rows.lines().find(|row| row.contains(word)).unwrap();
        preview(&s, row);
    }
    assert!(!s.path("harmed").exists());
}

/// The session is chosen first, then the entry if the command needs one.
#[test]
fn a_command_that_needs_both_asks_twice() {
    let s = with_store();
    with_fzf(
        &s,
        "case \"$*\" in *session*) printf '%s' \"$rows\" | grep -F kite;; *) printf '%s' \"$rows\" | tail -n 1;; esac",
    );
    let (seen, code) = on_terminal(command("switch --choose -n", &s));
    assert_eq!(code, 0, "{seen}");
    assert_snapshot!(relative(&seen, &s), @"
    pisess: chose 0000babe (4mo): Which paper for a kite?
    pisess: chose id:1a2b3c01
    would append 1 line to ./.pi/agent/sessions/--home-u-garden--/kites.jsonl
     size  id        type    content
    155 B  226b1b5c  custom  pisess.switch
    pisess: would be at root
    ");
    // The list of labels needs no entry.
    let (seen, code) = on_terminal(command("label --choose", &s));
    assert_eq!(code, 0, "{seen}");
    assert_snapshot!(seen, @r#"
    pisess: chose 0000babe (4mo): Which paper for a kite?
    start  1a2b3c01  2026-01-01 00:00  user: Which paper for a kite?
    "#);
}

#[test]
fn an_entry_goes_before_a_name_and_into_a_comparison() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let chooser = "grep -F paper";
    let (seen, code) = chosen_by(chooser, "label two-branches.jsonl --choose 'the paper'", &s);
    assert_eq!(code, 0, "{seen}");
    assert_snapshot!(s.run("label ./two-branches.jsonl"), @r#"
    start      1a2b3c01  2026-01-01 00:00  user: Which paper for a kite?
    the paper  1a2b3c04  2026-05-04 12:00  user: Tissue paper then. How big?
    "#);
    for (choosing, given) in [
        (
            "diff two-branches.jsonl --choose",
            "diff two-branches.jsonl 1a2b3c04 @",
        ),
        (
            "diff two-branches.jsonl 1a2b3c02 --choose",
            "diff two-branches.jsonl 1a2b3c02 1a2b3c04",
        ),
        (
            "show --as markdown two-branches.jsonl --choose",
            "show --as markdown two-branches.jsonl 1a2b3c04",
        ),
    ] {
        let (seen, code) = chosen_by(chooser, &format!("-q {choosing}"), &s);
        // A reference that was chosen is shown as it is: `id:1a2b3c04`.
        let seen = seen.replace("id:", "");
        assert_eq!((seen, code), on_terminal(command(given, &s)), "{choosing}");
    }
}

#[test]
fn the_environment_names_the_chooser() {
    let s = with_store();
    with_fzf(&s, "echo 'fzf was run'; exit 2");
    for (chooser, id) in [
        ("head -n 1", "0d9a6c31"),
        ("tail -n 1", "1a2b3c01"),
        // The name alone is enough, and what else is printed does not matter.
        ("cut -f 1 | tail -n 1", "1a2b3c01"),
        ("echo query; cat", "0d9a6c31"),
    ] {
        let (seen, code) = chosen_by(chooser, "path --ids --choose", &s);
        assert!(code == 0 && seen.contains(id), "{chooser}: {seen}");
    }
    for (chooser, code, message) in [
        (
            "missing -x",
            2,
            "pisess: cannot run the chooser missing -x: No such file or directory (os error 2) (hint: it is set by PISESS_CHOOSER)\n",
        ),
        (
            "exit 3;",
            2,
            "pisess: the chooser exit 3;: exit status: 3\n",
        ),
        (
            "echo other;",
            2,
            "pisess: the chooser echo other;: it printed none of the rows that it read\n",
        ),
        ("true", 1, "pisess: no session was chosen\n"),
    ] {
        assert_eq!(
            chosen_by(chooser, "path --choose", &s),
            (message.to_owned(), code)
        );
    }
    // A chooser needs no terminal.
    let done = s
        .pisess("list --choose -l")
        .at_home()
        .env("PISESS_CHOOSER", "head -n 1")
        .real();
    assert_eq!(
        done.text(),
        format!("./{STORE}/--home-u-code-ferry--/tour.jsonl\n"),
        "{done}"
    );
}

/// What is cancelled has the exit code of the chooser, and changes nothing.
#[test]
fn a_choice_can_be_cancelled() {
    let s = with_store();
    let before = s.files();
    for (chooser, code, message) in [
        ("exit 130;", 130, ""),
        ("exit 1;", 1, "pisess: no session was chosen\n"),
        ("kill -TERM $$;", 143, ""),
        ("cat > /dev/null", 1, "pisess: no session was chosen\n"),
    ] {
        for line in ["tree --choose", "append --user hi --choose"] {
            assert_eq!(
                chosen_by(chooser, line, &s),
                (message.to_owned(), code),
                "{chooser}"
            );
        }
    }
    assert!(s.files() == before);
}

/// Without fzf, the newest sessions are listed with numbers.
#[test]
fn sessions_are_chosen_from_a_numbered_list() {
    let s = Sandbox::new();
    for index in 0..25 {
        let line = user(
            &format!("a00000{index:02}"),
            None,
            &format!("number {index}"),
        );
        put(
            &s,
            &format!("--x--/{index}.jsonl"),
            &session(&[line]),
            index,
        );
    }
    let numbered = |line: &str, answers: &[(&str, &str)]| {
        let mut command = command(line, &s);
        command.env("PISESS_CHOOSER", "");
        answered(command, answers)
    };
    let (seen, code) = numbered("path --ids --choose", &[(ASKED, "3")]);
    assert_eq!(code, 0, "{seen}");
    assert_snapshot!(seen, @r#"
     1    4mo  /home/u                 -  number 0
     2    4mo  /home/u                 -  number 1
     3    4mo  /home/u                 -  number 2
     4    4mo  /home/u                 -  number 3
     5    4mo  /home/u                 -  number 4
     6    4mo  /home/u                 -  number 5
     7    4mo  /home/u                 -  number 6
     8    4mo  /home/u                 -  number 7
     9    4mo  /home/u                 -  number 8
    10    4mo  /home/u                 -  number 9
    11    4mo  /home/u                 -  number 10
    12    4mo  /home/u                 -  number 11
    13    4mo  /home/u                 -  number 12
    14    4mo  /home/u                 -  number 13
    15    4mo  /home/u                 -  number 14
    16    4mo  /home/u                 -  number 15
    17    4mo  /home/u                 -  number 16
    18    4mo  /home/u                 -  number 17
    19    4mo  /home/u                 -  number 18
    20    4mo  /home/u                 -  number 19
    pisess: which session, 1 to 20 (Enter for none)? 3
    pisess: chose hazard (4mo): number 2
    a0000002
    "#);
    let (seen, code) = numbered(
        "path --ids -q --choose",
        &[(ASKED, "21"), (ASKED, "x"), (ASKED, "20")],
    );
    assert_eq!(code, 0, "{seen}");
    assert_snapshot!(seen.lines().skip(20).collect::<Vec<_>>().join("\n"), @r#"
    pisess: which session, 1 to 20 (Enter for none)? 21
    pisess: "21" is not a number of the list
    pisess: which session, 1 to 20 (Enter for none)? x
    pisess: "x" is not a number of the list
    pisess: which session, 1 to 20 (Enter for none)? 20
    a0000019
    "#);

    let before = s.files();
    let (seen, code) = numbered("append --user hi --choose", &[(ASKED, "")]);
    assert_eq!(
        (code, seen.lines().last()),
        (1, Some("pisess: no session was chosen")),
        "{seen}"
    );
    assert!(s.files() == before);

    // fzf is not on the PATH.
    let mut without = command("path --ids --choose", &s);
    without.env("PATH", s.path("bin"));
    let (seen, code) = answered(without, &[(ASKED, "1")]);
    assert!(code == 0 && seen.ends_with("a0000000\n"), "{seen}");
}

#[test]
fn entries_are_chosen_from_a_numbered_list() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let mut numbered = command("switch two-branches.jsonl --choose", &s);
    numbered.env("PISESS_CHOOSER", "");
    let (seen, code) = answered(numbered, &[(ASKED, "2")]);
    assert_eq!(code, 0, "{seen}");
    assert_snapshot!(seen, @r#"
    1    4mo  • assistant: A metre and more, with a bamboo spar.
    2    4mo  • user: Washi then. How big?
    3    4mo    assistant: Half a metre; larger ones tear.
    4    4mo    user: Tissue paper then. How big?
    5    4mo  • assistant: Tissue paper is light, washi is strong.
    6    4mo  • [start] user: Which paper for a kite?
    pisess: which entry, 1 to 6 (Enter for none)? 2
    pisess: chose id:1a2b3c06
    226b1b5c
    Washi then. How big?
    pisess: now at 1a2b3c02  assistant: Tissue paper is light, washi is strong.
    "#);
}

#[test]
fn nobody_is_asked_without_a_terminal() {
    let s = with_store();
    assert_snapshot!(s.pisess("tree --choose").at_home().done().fails(2), @"cannot ask for the session: standard input is not a terminal (hint: give it as an argument, or set PISESS_CHOOSER)");
    assert_snapshot!(s.pisess("tree --choose").at_home().typed().done().fails(2), @"cannot ask for the session: standard error is not a terminal (hint: give it as an argument, or set PISESS_CHOOSER)");
    assert_snapshot!(s.pisess("tree --choose --json").at_home().done().fails(2), @"cannot ask for the session: standard input is not a terminal (hint: give it as an argument, or set PISESS_CHOOSER)");
}

#[test]
fn there_may_be_nothing_to_choose_from() {
    let s = Sandbox::with(&["hazards/header-only.jsonl"]);
    s.put(&format!("{STORE}/--x--/other.jsonl"), "no session\n");
    assert_snapshot!(s.pisess("tree --choose").at_home().done().fails(2), @"there are no sessions to choose from (hint: the stores of pi and oh-my-pi are empty; `pisess help sessions` says where they are)");
    assert_snapshot!(s.pisess("show --choose ./header-only.jsonl").at_home().done().fails(2), @"~/header-only.jsonl: there is no entry to choose");
    assert_snapshot!(s.pisess("show --choose -").stdin(fixture("tour.jsonl")).done().fails(2), @"--choose cannot read standard input before the command does (hint: give the path of the session)");
}

/// A mistake is reported before anything is asked.
#[test]
fn a_wrong_command_line_asks_nothing() {
    let s = with_store();
    s.put("s.jsonl", fixture("tour.jsonl"));
    let fails = |line: &str| {
        let done = s
            .pisess(line)
            .at_home()
            .env("PISESS_CHOOSER", "touch asked")
            .real();
        assert!(!s.path("asked").exists(), "{line}");
        done.fails(2)
    };
    assert_snapshot!(fails("stats --all --choose"), @"the argument '[SESSION]...' cannot be used with '--all' (hint: see `pisess stats --help`)");
    assert_snapshot!(fails("branches ./s.jsonl --choose"), @"--choose: SESSION is given, and branches takes no REF (hint: omit SESSION to choose it)");
    assert_snapshot!(fails("switch ./s.jsonl @ --choose"), @"--choose: SESSION and REF are given (hint: omit REF, or both, to choose)");
    assert_snapshot!(fails("fork ./s.jsonl --branches --choose"), @"the argument '[REF]' cannot be used with '--branches' (hint: to copy one branch, give its tip without the option: `pisess fork SESSION REF`; `pisess branches` lists the tips; see `pisess fork --help`)");
    assert_snapshot!(fails("append --choose --data 1"), @"the following required arguments were not provided: --custom <TYPE> (hint: see `pisess append --help`)");
    assert_snapshot!(fails("archive --restore --choose"), @"--choose: archived sessions are not in the list (hint: `pisess archive --list --all` lists them)");
    assert_snapshot!(fails("completions bash --choose"), @"--choose: this command takes no session (hint: see `pisess --help`)");
    assert_snapshot!(fails("--choose"), @"--choose: this command takes no session (hint: see `pisess --help`)");
    assert_snapshot!(fails("other --choose"), @r#"there is no command "other", and no pisess-other is on the PATH (hint: `pisess --list` lists all commands)"#);
    assert_snapshot!(fails("context --choose --as nonsense"), @"invalid value 'nonsense' for '--as <FORMAT>' [possible values: messages, llm, text, anthropic, openai, openai-responses, google] (hint: see `pisess context --help`)");
}

/// On a terminal, a command that reads takes the newest session of the directory.
#[test]
fn commands_that_read_take_the_last_session() {
    let s = with_store();
    let home = s
        .path("")
        .to_str()
        .unwrap()
        .trim_end_matches('/')
        .replace(['/', '.'], "-");
    put(
        &s,
        &format!("-{home}--/here.jsonl"),
        &fixture("two-branches.jsonl"),
        30,
    );
    for verb in ["tree", "path --ids", "show", "branches", "context"] {
        let (seen, code) = answered(command(verb, &s), &[]);
        let (given, _) = answered(command(&format!("{verb} last"), &s), &[]);
        let (report, rest) = seen.split_once('\n').unwrap();
        assert_eq!((rest, code), (&*given, 0), "{verb}");
        assert_eq!(
            report,
            "pisess: last is 0000babe (4mo): Which paper for a kite?"
        );
        let (quiet, _) = answered(command(&format!("{verb} -q"), &s), &[]);
        assert_eq!(quiet, given, "{verb}");
    }
    // A session that is piped in is not passed over, and a pipe shows the same as ever.
    for line in ["tree", "context"] {
        let (seen, code) = on_terminal(command(line, &s));
        assert!(code == 2 && seen.contains("required"), "{seen}");
        s.pisess(line).at_home().typed().real().fails(2);
    }
    // So does a command in the form that only reads.
    for line in ["check", "migrate --check"] {
        let (seen, code) = answered(command(line, &s), &[]);
        assert!(
            code < 2 && seen.starts_with("pisess: last is 0000babe"),
            "{line}: {seen}"
        );
    }
    // What lacks more than the session does not guess.
    let before = s.files();
    for line in [
        "grep",
        "grep --choose",
        "blame",
        "blame --choose",
        "edit",
        "redact",
        "check --repair",
    ] {
        let (seen, code) = answered(command(line, &s), &[]);
        assert!(code == 2 && seen.contains("required"), "{line}: {seen}");
    }
    assert!(s.files() == before);
}

/// With an option such as `--role`, `grep` requires no pattern, so that a session can be chosen.
#[test]
fn a_search_without_a_pattern_may_choose_its_session() {
    let s = with_store();
    with_fzf(&s, &choosing("paper"));
    let (seen, code) = on_terminal(command("grep --role user --choose", &s));
    assert_eq!(code, 0, "{seen}");
    assert!(
        seen.contains("chose 0000babe") && seen.contains("Which paper"),
        "{seen}"
    );
}

#[test]
fn commands_that_write_ask_for_the_session() {
    let s = with_store();
    let before = s.files();
    for line in [
        "undo",
        "compact",
        "fork",
        "prune",
        "append --user hi",
        "pop",
        "redact -o copy.jsonl",
        // These are asked for the entry, too.
        "switch",
        "merge",
        "pick",
        "edit --omit",
        "label --clear",
    ] {
        let mut asking = command(line, &s);
        asking.env("PISESS_CHOOSER", "");
        let (seen, code) = answered(asking, &[(ASKED, "")]);
        let last_line = seen.lines().last();
        let expected = (1, Some("pisess: no session was chosen"));
        assert_eq!((code, last_line), expected, "{line}: {seen}");
    }
    assert!(s.files() == before);

    let mut asking = command("append --user hi", &s);
    asking.env("PISESS_CHOOSER", "");
    let (seen, code) = answered(asking, &[(ASKED, "1")]);
    assert_eq!(code, 0, "{seen}");
    assert!(s.files() != before);
    // In a pipe, nothing is asked.
    s.pisess("undo").at_home().typed().real().fails(2);
}

#[test]
fn there_may_be_no_last_session() {
    let s = with_store();
    let (seen, code) = answered(command("tree", &s), &[]);
    assert_eq!(code, 2);
    assert_snapshot!(seen, @"pisess: there is no session for this directory (hint: `pisess list --all` lists the sessions of all directories)");
}

/// Words of titles in place of the session limit the list to the sessions that have them.
#[test]
fn words_of_titles_limit_the_list() {
    let s = with_store();
    put(
        &s,
        "--home-u-garden--/bows.jsonl",
        &session(&[&user("uuuu0001", None, "Which wood for a kite bow?")]),
        5,
    );
    with_fzf(&s, &choosing("paper"));
    let (seen, code) = on_terminal(command("tree --choose kite", &s));
    assert_eq!(code, 0, "{seen}");
    assert!(
        seen.starts_with("pisess: chose 0000babe (4mo): Which paper"),
        "{seen}"
    );
    assert_eq!(texts(&s).lines().count(), 2, "{}", texts(&s));

    // A command that writes takes no title as a name, so that its session is chosen.
    let (seen, code) = on_terminal(command("append --user hi --choose 'which paper'", &s));
    assert_eq!(code, 0, "{seen}");
    assert_eq!(texts(&s).lines().count(), 1, "{}", texts(&s));

    // Where the words name one session, the entry is chosen.
    with_fzf(&s, &choosing("Washi"));
    let (seen, code) = on_terminal(command("show --choose 'which paper'", &s));
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("chose id:1a2b3c06"), "{seen}");

    let (seen, code) = on_terminal(command("tree --choose nothing", &s));
    assert_eq!(code, 2, "{seen}");
}
