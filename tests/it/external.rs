//! Commands that are programs on the PATH.

use crate::sandbox::{Call, Sandbox};
use insta::assert_snapshot;
use std::fs;
use std::process::Command;

/// Runs the real binary with these directories of the sandbox, then the system's, on the PATH.
fn call<'a>(s: &'a Sandbox, folders: &str, line: &str) -> Call<'a> {
    let folders = folders
        .split(' ')
        .map(|folder| s.path(folder).display().to_string());
    let path = folders
        .chain(["/bin".to_owned(), "/usr/bin".to_owned()])
        .collect::<Vec<_>>()
        .join(":");
    s.pisess(line).env("PATH", &path)
}

#[test]
fn gets_the_arguments_and_the_streams() {
    let s = Sandbox::new();
    s.script(
        "bin/pisess-echo",
        "printf '<%s>' \"$0\" \"$@\"; cat; echo talk >&2; exit 7",
    );
    let line = "echo a 'b c' --json -q -- --help -";
    assert_snapshot!(call(&s, "bin", line).stdin("in\n").real(), @r"
    <./bin/pisess-echo><a><b c><--json><-q><--><--help><->in
    2> talk
    exit 7
    ");
    assert_snapshot!(call(&s, "bin", "-q --color never echo --help").real(), @r"
    <./bin/pisess-echo><--help>2> talk
    exit 7
    ");
    assert_snapshot!(call(&s, "bin", "help echo").real(), @r"
    <./bin/pisess-echo><--help>2> talk
    exit 7
    ");
}

#[test]
fn topics_are_sections_of_the_manual() {
    let s = Sandbox::new();
    let help = call(&s, "bin", "--help").done().quiet();
    let (_, topics) = help.split_once("The topics are\n").unwrap();
    let (topics, _) = topics.split_once('.').unwrap();
    for topic in topics.split(',').map(str::trim) {
        let text = call(&s, "bin", &format!("help {topic}")).done().quiet();
        assert!(
            text.starts_with(|c: char| c.is_uppercase()),
            "{topic}: {text}"
        );
        assert!(
            text.lines().count() > 3 && text.lines().all(|line| line.len() <= 80),
            "{topic}: {text}"
        );
    }
}

#[test]
fn dies_as_the_program_does() {
    let s = Sandbox::new();
    s.script("pisess-die", "kill -TERM $$");
    let pisess = env!("CARGO_BIN_EXE_pisess");
    let path = format!("{}:/bin:/usr/bin", s.path("").display());
    let mut shell = Command::new("sh");
    let output = shell
        .args(["-c", &format!("'{pisess}' die; echo $?")])
        .env("PATH", path)
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "143\n");
}

#[test]
fn builtin_commands_win_over_external_ones() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for name in ["label", "help", "summarise"] {
        s.script(&format!("bin/pisess-{name}"), "echo boo");
        assert!(
            !call(&s, "bin", name).real().text().contains("boo"),
            "{name}"
        );
    }
    assert!(!call(&s, "bin", "--list").done().text().contains("pisess-"));
}

#[test]
fn the_first_on_the_path_that_can_be_run() {
    let s = Sandbox::new();
    s.script("third/pisess-where", "echo third");
    s.script("fourth/pisess-where", "echo fourth");
    s.put("second/pisess-where", "no program");
    fs::create_dir_all(s.path("first/pisess-where")).unwrap();
    assert_eq!(
        call(&s, "gone first second third fourth", "where")
            .real()
            .quiet(),
        "third\n"
    );
}

/// The current directory may belong to someone else.
#[test]
fn never_from_the_folder_one_stands_in() {
    let s = Sandbox::new();
    s.script("pisess-here", "echo here");
    s.script("bin/pisess-here", "echo here");
    for path in ["", ":", ".", "bin", "./bin", ":/bin", "/bin:"] {
        for line in ["here", "help here", "./pisess-here", "bin/pisess-here"] {
            let done = s.pisess(line).env("PATH", path).real();
            assert_eq!(
                (done.code, done.text().as_str()),
                (2, ""),
                "{path:?} {line}"
            );
        }
        assert!(
            !s.pisess("--list")
                .env("PATH", path)
                .real()
                .quiet()
                .contains("pisess-here"),
            "{path:?}"
        );
    }
    let absent = s.pisess("here").without("PATH").done();
    assert_eq!(absent.code, 2);
}

#[test]
fn are_listed_with_the_others() {
    let s = Sandbox::new();
    s.script("one\x1b/pisess-weed", "");
    s.script("one\x1b/pisess-forget", "");
    s.script("two/pisess-forget", "");
    s.script("two/pisess-tree", "");
    s.script("two/pisess-\x1b[31mred", "");
    s.script("two/pisess-", "");
    s.put("two/pisess-no-program", "");
    let listed = call(&s, "one\x1b two", "--list").done();
    let lines: Vec<_> = listed.text().lines().map(str::to_owned).collect();
    assert_eq!(lines[0], "list         List sessions, newest first");
    let programs = lines
        .iter()
        .position(|line| line.starts_with("help "))
        .unwrap()
        + 1;
    assert_snapshot!(lines[programs..].join("\n"), @r"
    forget       ./one␛/pisess-forget
    weed         ./one␛/pisess-weed
    ");
}

#[test]
fn a_name_that_nothing_has() {
    let s = Sandbox::new();
    s.script("bin/pisess-forget", "");
    let said = |line: &str| call(&s, "bin", line).done().fails(2);
    assert_snapshot!(said("lable x.jsonl"), @r#"there is no command "lable", and no pisess-lable is on the PATH (hint: did you mean `pisess label`?)"#);
    assert_snapshot!(said("forge"), @r#"there is no command "forge", and no pisess-forge is on the PATH (hint: did you mean `pisess forget`?)"#);
    assert_snapshot!(said("help forgets"), @r#"there is no command "forgets", and no pisess-forgets is on the PATH (hint: did you mean `pisess forget`?)"#);
    assert_snapshot!(said("frobnicate --help"), @r#"there is no command "frobnicate", and no pisess-frobnicate is on the PATH (hint: `pisess --list` lists all commands)"#);
    assert_snapshot!(said("checkout x.jsonl"), @r#"there is no command "checkout", and no pisess-checkout is on the PATH (hint: did you mean `pisess switch`?)"#);
    for (word, command) in [
        ("log", "path"),
        ("ls", "list"),
        ("cat", "show"),
        ("search", "grep"),
        ("find", "grep"),
        ("rename", "append --name NAME"),
        ("name", "append --name NAME"),
        ("rm", "archive"),
        ("delete", "archive"),
        ("clone", "fork --branches"),
        ("doctor", "check"),
        ("cherry-pick", "pick"),
        ("branch", "branches"),
        ("commit", "append"),
        ("reset", "switch"),
        ("fsck", "check"),
        ("last", "tree last"),
        ("rebase", "pick"),
        ("revert", "pop"),
        ("tag", "label"),
        ("version", "--version"),
        ("view", "show"),
        ("print", "show"),
        ("copy", "fork --branches"),
        ("cp", "fork --branches"),
        ("convert", "fork --for AGENT"),
        ("info", "stats"),
        ("sessions", "list"),
        ("status", "list"),
        ("ps", "list"),
        ("rg", "grep"),
        ("tail", "tree --follow"),
        ("brnaches", "branches"),
        ("tre", "tree"),
    ] {
        let said = said(word);
        assert!(
            said.ends_with(&format!("(hint: did you mean `pisess {command}`?)")),
            "{said}"
        );
    }
    for word in ["less", "head", "save"] {
        assert!(
            said(word).ends_with("(hint: `pisess --list` lists all commands)"),
            "{word}"
        );
    }
    assert_snapshot!(said("../bin/pisess-forget"), @r#"there is no command "../bin/pisess-forget" (hint: `pisess --list` lists all commands)"#);
    assert_snapshot!(said("session.jsonl"), @r#"there is no command "session.jsonl" (hint: name a command before the session, as in `pisess tree`)"#);
    assert_snapshot!(said("'\x1b[31m\u{202e}'"), @r#"there is no command "\u{1b}[31m\u{202e}" (hint: `pisess --list` lists all commands)"#);
    assert_snapshot!(said("-q"), @"no command given (hint: see `pisess --help`)");
    assert_snapshot!(said("--list tree x.jsonl"), @"--list takes no command (hint: see `pisess --help`)");
}

#[test]
fn help_is_a_command_like_any_other() {
    let s = Sandbox::new();
    assert_eq!(s.run("help"), s.run("--help"));
    assert_eq!(s.run("help tree"), s.run("tree --help"));
    assert_eq!(s.run("help help"), s.run("help --help"));
    let help = s.run("help --help");
    assert!(
        help.starts_with("Print the help of a command or a topic\n\nUsage: pisess help ["),
        "{help}"
    );
    assert!(
        help.contains("topics references, sessions, times,"),
        "{help}"
    );
    assert!(!s.run("--help").contains("subcommand"), "clap's own words");
}

#[test]
fn a_program_that_cannot_be_run() {
    let s = Sandbox::new();
    s.script("bin/pisess-broken", "");
    s.put("bin/pisess-broken", "#!/no/such/shell\n");
    let said = call(&s, "bin", "broken").real().fails(2);
    assert!(said.ends_with("/bin/pisess-broken: No such file or directory (os error 2) (hint: its first line may name a missing program)"), "{said}");
}
