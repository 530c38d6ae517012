//! Invalid input: one line with file, line and hint, the documented exit code, and no file changed.

use crate::every::{self, CHANGES, MAKES, READS};
use crate::sandbox::{Sandbox, fixture, program, session, user};
use insta::assert_snapshot;
use std::fs;

/// Commands that accept directories or several sessions, and continue with the others.
const SEVERAL: &[&str] = &[
    "archive", "blame", "check", "grep", "import", "list", "migrate", "prune", "redact",
    "relocate", "stats",
];

/// Returns a form of every other command that reads `./x`, and one that changes it.
fn commands() -> Vec<String> {
    let mut forms = Vec::new();
    for table in [&READS, &CHANGES] {
        let mut seen = SEVERAL.to_vec();
        for form in table.iter() {
            let verb = form.split(' ').next().unwrap_or_default();
            if !seen.contains(&verb) {
                seen.push(verb);
                forms.push(every::of(form, "./x"));
            }
        }
    }
    forms
}

/// Returns the error about `./x`, which must be the same for every command.
fn said_by_all(s: &Sandbox) -> String {
    let first = s.unchanged("migrate ./x").fails(2);
    for command in commands() {
        assert_eq!(s.unchanged(&command).fails(2), first, "{command}");
    }
    first
}

fn said_of(bytes: &[u8]) -> String {
    let s = Sandbox::new();
    s.put("x", bytes);
    said_by_all(&s)
}

fn said_of_fixture(name: &str) -> String {
    said_of(&fixture(name))
}

#[test]
fn a_missing_session_may_be_all() {
    let s = Sandbox::new();
    for (verb, line) in [
        ("check", "check --all"),
        ("migrate", "migrate --check --all"),
        ("redact", "redact --check --all"),
        ("prune", "prune -n --all"),
    ] {
        let error = s.unchanged(verb).fails(2);
        assert!(
            error.contains(&format!(
                "(hint: `pisess {line}` reads the sessions of all projects; "
            )),
            "{error}"
        );
    }
    // What a hint names changes nothing.
    let command = pisess::build_cli();
    for verb in command.get_subcommands().map(clap::Command::get_name) {
        for line in [
            verb.to_owned(),
            format!("{verb} --restore"),
            format!("{verb} --delete"),
        ] {
            let error = s.unchanged(&line).stderr;
            let named = error
                .split('`')
                .skip(1)
                .step_by(2)
                .filter(|named| named.contains("--all"));
            for named in named {
                let reads = ["--check", "--list", " -n ", "pisess check", "pisess list"];
                assert!(
                    reads.iter().any(|word| named.contains(word)),
                    "{line}: {error}"
                );
            }
        }
    }
    for verb in ["open", "continue"] {
        let error = s.unchanged(&format!("{verb} x")).fails(2);
        assert!(error.contains("did you mean `pisess resume`?"), "{error}");
    }
}

#[test]
fn no_such_file() {
    assert_snapshot!(said_by_all(&Sandbox::new()), @"cannot read ./x: no such file or directory (hint: check the path; sessions are below ~/.pi/agent/sessions and ~/.omp/agent/sessions)");
}

#[test]
fn a_folder() {
    let s = Sandbox::new();
    fs::create_dir(s.path("x")).unwrap();
    for line in commands() {
        let said = s.unchanged(&line).fails(2);
        assert_eq!(
            said,
            "cannot read ./x: it is a directory (hint: give the path of a session in it; archive, blame, check, export, grep, list, migrate, prune, redact --check and stats take directories)",
            "{line}"
        );
    }
    // For migrate, a directory means its sessions; this one has none.
    assert_snapshot!(s.unchanged("migrate ./x"), @"2> pisess: note: no *.jsonl files found (hint: `pisess list --all` lists the sessions of all projects)");
}

/// Every command reports missing files and directories in the same words, whatever its options.
#[test]
fn every_command_says_the_same_of_what_is_no_file() {
    let s = Sandbox::new();
    fs::create_dir(s.path("directory")).unwrap();
    for line in READS.iter().chain(&*CHANGES).chain(&*MAKES) {
        // These commands accept directories, and continue with what can be read.
        let takers = [
            "migrate",
            "blame",
            "export F --as messages",
            "check",
            "grep",
            "stats",
            "list",
            "prune",
            "redact F --check",
            "redact F -n",
        ];
        let takes_folders = takers.iter().any(|form| line.starts_with(form));
        let missing = s.unchanged(&every::of(line, "./x"));
        let said = "cannot read ./x: no such file or directory";
        assert!(
            missing.code == 2 && missing.stderr.contains(said),
            "{line}: {missing}"
        );
        if !takes_folders {
            let said = missing.fails(2);
            assert!(said.contains(" (hint: "), "{line}: {said}");
            let said = s.unchanged(&every::of(line, "./directory")).fails(2);
            assert!(
                said.starts_with("cannot read ./directory: it is a directory (hint: "),
                "{line}: {said}"
            );
        }
    }
}

#[test]
fn below_a_file() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("tree ./two-branches.jsonl/x").fails(2), @"cannot read ./two-branches.jsonl/x: not a directory");
}

#[test]
fn an_empty_file() {
    assert_snapshot!(said_of_fixture("hazards/empty.jsonl"), @"./x: the file is empty (hint: an agent writes the header with the first message)");
}

#[test]
fn a_blank_file() {
    assert_snapshot!(said_of_fixture("hazards/blank.jsonl"), @r#"./x: no session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})"#);
}

#[test]
fn another_value_before_the_header() {
    assert_snapshot!(said_of_fixture("hazards/header-second.jsonl"), @"./x:1: not a session: its entries have no session header (hint: if the session was moved while an agent had it open, the agent continued here; see `pisess check`)");
    assert_snapshot!(said_of_fixture("hazards/no-header.jsonl"), @"./x:1: not a session: its entries have no session header (hint: if the session was moved while an agent had it open, the agent continued here; see `pisess check`)");
    assert_snapshot!(said_of(b"5\n"), @r#"./x:1: not a session: this value is not a session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})"#);
    assert_snapshot!(said_of(b"[1]\n"), @r#"./x:1: not a session: this value is not a session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})"#);
    assert_snapshot!(said_of(b"not json\nat all\n"), @r#"./x: no session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})"#);
    assert_snapshot!(said_of(b"\x00\x01\x02\xff"), @r#"./x: no session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})"#);
    assert_snapshot!(said_of_fixture("hazards/title-slot-alone.jsonl"), @r#"./x: a title line without a session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})"#);
}

#[test]
fn a_header_without_id() {
    assert_snapshot!(said_of_fixture("hazards/numeric-header-id.jsonl"), @r#"./x:1: the session header has no id (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})"#);
}

#[test]
fn a_file_of_carriage_returns() {
    assert_snapshot!(said_of_fixture("hazards/cr-only.jsonl"), @r"./x: its lines end with carriage returns only (hint: convert the line endings, for example with: tr '\r' '\n')");
}

#[test]
fn pretty_printed() {
    assert_snapshot!(said_of_fixture("hazards/pretty-printed.jsonl"), @r#"./x:8: not a session: this value is not a session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})"#);
}

#[test]
fn a_newer_format() {
    assert_snapshot!(said_of_fixture("v4.jsonl"), @"./x:1: format v4 is newer than pisess supports (hint: pisess supports version 3 and older, which the coding agents write)");
    assert_snapshot!(said_of_fixture("hazards/version-99.jsonl"), @"./x:1: format version 99 is newer than pisess supports (hint: pisess supports version 3 and older, which the coding agents write)");
}

#[test]
fn a_file_of_another_tool() {
    assert_snapshot!(said_of(b"{\"role\":\"user\",\"content\":\"hello\"}\n"), @r#"./x:1: not a session: this value is not a session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})"#);
}

#[test]
fn a_path_with_strange_characters_is_told_visibly() {
    let s = Sandbox::new();
    let said = s.unchanged("tree './\x1b[31mred\n\u{202e}.jsonl'").fails(2);
    assert_snapshot!(said, @"cannot read ./␛[31mred <U+202E>.jsonl: no such file or directory (hint: check the path; sessions are below ~/.pi/agent/sessions and ~/.omp/agent/sessions)");
}

#[test]
fn nothing_comes_in() {
    let s = Sandbox::new();
    assert_snapshot!(s.pisess("tree -").done().fails(2), @"standard input: it is empty (hint: the command before the pipe printed nothing)");
    assert_snapshot!(s.pisess("tree -").typed().done().fails(2), @"cannot read standard input: it is a terminal (hint: give the path of a session, or pipe one in)");
    assert_snapshot!(s.pisess("label - @ x").stdin("no session").done().fails(2), @r#"standard input: no session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})"#);
    assert_snapshot!(s.pisess("tree -").stdin(fixture("v4.jsonl")).done().fails(2), @"standard input:1: format v4 is newer than pisess supports (hint: pisess supports version 3 and older, which the coding agents write)");
}

#[test]
fn an_output_that_exists() {
    let s = Sandbox::with(&["two-branches.jsonl", "v1.jsonl"]);
    s.put("there", "mine");
    assert_snapshot!(s.unchanged("label ./two-branches.jsonl @ n -o ./there").fails(2), @"cannot create ./there: it already exists (hint: choose another name, or overwrite it with --force)");
    for line in [
        "migrate ./v1.jsonl -o ./there",
        "fork ./two-branches.jsonl -o ./there",
        "compact ./v1.jsonl --first-kept none -o ./there",
        "summarize ./two-branches.jsonl root -o ./there",
    ] {
        let said = s.unchanged(line).fails(2);
        assert!(
            said.contains("./there") && said.contains("--force"),
            "{line}: {said}"
        );
    }
    s.run("label ./two-branches.jsonl @ n -o ./there --force");
    assert!(s.bytes("there").starts_with(&fixture("two-branches.jsonl")));
}

#[test]
fn an_output_that_is_the_input() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(s.path("two-branches.jsonl"), s.path("link")).unwrap();
    fs::hard_link(s.path("two-branches.jsonl"), s.path("hard")).unwrap();
    assert_snapshot!(s.unchanged("label ./two-branches.jsonl @ n -o ./two-branches.jsonl").fails(2), @"cannot write ./two-branches.jsonl: it is the input itself (hint: give another path with -o)");
    for force in ["", "--force"] {
        for output in ["two-branches.jsonl", "link", "hard"] {
            s.unchanged(&format!(
                "label ./two-branches.jsonl @ n {force} -o ./{output}"
            ))
            .fails(2);
            s.unchanged(&format!("fork ./two-branches.jsonl {force} -o ./{output}"))
                .fails(2);
            s.unchanged(&format!(
                "migrate ./two-branches.jsonl {force} -o ./{output}"
            ))
            .fails(2);
        }
    }
}

#[test]
fn an_output_that_cannot_be_there() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("label ./two-branches.jsonl @ n -o ./no/such/directory").fails(2), @"cannot create ./no/such/directory: no such file or directory (hint: create the directory first)");
    assert_snapshot!(s.unchanged("fork ./two-branches.jsonl --dir ./nowhere").fails(2).replace(|c: char| c.is_ascii_digit(), "0"), @"cannot create ./nowhere/0000-00-00T00-00-00-000Z_000df0dc-0a00-000b-0b0c-000f0be00000.jsonl: no such file or directory (hint: create the directory first)");
    fs::create_dir(s.path("directory")).unwrap();
    assert_snapshot!(s.unchanged("label ./two-branches.jsonl @ n -o ./directory").fails(2), @"cannot create ./directory: it is a directory (hint: give the path of a file)");
}

#[test]
fn json_and_the_session_cannot_both_be_on_stdout() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("label --json ./two-branches.jsonl @ n -o -").fails(2), @"--json: standard output carries the session (hint: give a path with -o, or omit --json)");
    let call = s
        .pisess("label --json - @ n")
        .stdin(fixture("two-branches.jsonl"));
    assert_snapshot!(call.done().fails(2), @"--json: standard output carries the session (hint: give a path with -o, or omit --json)");
}

#[cfg(unix)]
#[test]
fn a_read_only_folder() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let s = Sandbox::new();
    s.put("ro/v1.jsonl", fixture("v1.jsonl"));
    s.put("ro/two.jsonl", fixture("two-branches.jsonl"));
    let allow = |name: &str, mode: u32| {
        fs::set_permissions(s.path(name), PermissionsExt::from_mode(mode)).unwrap();
    };
    for (name, mode) in [
        ("", 0o755),
        ("ro/v1.jsonl", 0o444),
        ("ro/two.jsonl", 0o444),
        ("ro", 0o555),
    ] {
        allow(name, mode);
    }
    let before = s.files();
    for line in [
        &["migrate", "ro/v1.jsonl"][..],
        &["label", "ro/v1.jsonl", "@", "n"],
        &["label", "ro/two.jsonl", "@", "n"],
        &["fork", "ro/two.jsonl"],
        &["label", "ro/two.jsonl", "@", "n", "-o", "ro/new"],
    ] {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pisess"));
        // root may write everywhere; the user nobody may not.
        if rustix::process::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        // If the user nobody may not run the binary, this is not tested.
        let Ok(output) = command.args(line).current_dir(s.path("")).output() else {
            break;
        };
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{line:?}: {said}"
        );
        assert!(
            said.starts_with("pisess: cannot ") && said.contains(" ro/"),
            "{line:?}: {said}"
        );
        assert!(
            said.contains("(hint: ") && said.lines().count() == 1,
            "{line:?}: {said}"
        );
        assert!(s.files() == before, "{line:?}");
    }
    allow("ro", 0o755);
}

#[cfg(unix)]
#[test]
fn a_file_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for (name, mode) in [("", 0o755), ("two-branches.jsonl", 0o000)] {
        fs::set_permissions(s.path(name), PermissionsExt::from_mode(mode)).unwrap();
    }
    for line in READS.iter() {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_pisess"));
        if rustix::process::geteuid().is_root() {
            command.uid(65_534).gid(65_534);
        }
        let line = every::of(line, "two-branches.jsonl");
        // If the user nobody may not run the binary, this is not tested.
        let Ok(output) = command
            .args(line.split(' '))
            .current_dir(s.path(""))
            .output()
        else {
            break;
        };
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), output.stdout.len()),
            (Some(2), 0),
            "{line}: {said}"
        );
        let told = "pisess: cannot read two-branches.jsonl: permission denied (hint: ";
        let json = r#"{"error":{"kind":"io","message":"cannot read two-branches.jsonl: permission denied","path":"two-branches.jsonl","line":null,"hint":""#;
        let told = if line.contains("--json") { json } else { told };
        assert!(
            said.starts_with(told) && said.lines().count() == 1,
            "{line}: {said}"
        );
    }
    fs::set_permissions(
        s.path("two-branches.jsonl"),
        PermissionsExt::from_mode(0o600),
    )
    .unwrap();
    assert_eq!(s.bytes("two-branches.jsonl"), fixture("two-branches.jsonl"));
}

#[test]
fn usage_is_told_on_stderr() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for line in [
        "",
        "frobnicate",
        "tree",
        "tree ./two-branches.jsonl --no-such-option",
        "tree ./two-branches.jsonl --filter odd",
        "label ./two-branches.jsonl @ a b",
        "label ./two-branches.jsonl @ a --clear",
        "label ./two-branches.jsonl --clear",
        "compact ./two-branches.jsonl --keep-recent-tokens many",
        "compact ./two-branches.jsonl --keep-recent-tokens 5 --first-kept @",
        "context ./two-branches.jsonl --as poem",
        "context ./two-branches.jsonl --as llm --tokens",
        "path ./two-branches.jsonl --ids --json",
        "migrate",
        "migrate --check --backup ./two-branches.jsonl",
        "migrate ./two-branches.jsonl ./two-branches.jsonl -o ./out",
        "migrate - ./two-branches.jsonl",
        "migrate - --backup",
        "migrate ./two-branches.jsonl --backup -o ./out",
        "switch ./two-branches.jsonl",
    ] {
        let done = s.unchanged(line);
        assert_eq!((done.code, done.stdout.len()), (2, 0), "{line}");
        assert!(
            !done.stderr.is_empty() && !done.stderr.contains("panicked"),
            "{line}: {}",
            done.stderr
        );
    }
}

#[test]
fn one_argument_too_many() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let said = |line: &str| s.unchanged(line).fails(2);
    assert_snapshot!(said("context ./two-branches.jsonl @ t/s.jsonl"), @"unexpected argument 't/s.jsonl' found (hint: the arguments of context are <SESSION> [REF]; see `pisess context --help`)");
    assert_snapshot!(said("tree -t/s.jsonl"), @"unexpected argument '-t' found (hint: see `pisess tree --help`)");
}

/// What is found comes before the totals, also where both streams are one.
#[test]
fn findings_precede_totals() {
    let s = Sandbox::with(&["hazards/torn-tail.jsonl"]);
    s.put(
        "s.jsonl",
        session(&[user(
            "aaaa0001",
            None,
            "ghp_0a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R",
        )]),
    );
    for line in ["check torn-tail.jsonl", "redact --check s.jsonl"] {
        let output = std::process::Command::new("sh")
            .args(["-c", &format!("{} {line} 2>&1", program().display())])
            .current_dir(s.path(""))
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let totals = text.lines().position(|line| line.starts_with("pisess: "));
        assert!(totals.is_some_and(|at| at > 0), "{text}");
    }
}

#[test]
fn a_clock_that_is_none() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let done = s
        .pisess("label ./two-branches.jsonl @ n")
        .env("PISESS_NOW", "tomorrow")
        .done();
    assert_snapshot!(done.fails(2), @r#"PISESS_NOW: "tomorrow" is not a time (hint: write it as 2026-01-31T12:00:00Z)"#);
    assert_eq!(s.bytes("two-branches.jsonl"), fixture("two-branches.jsonl"));
}

#[test]
fn quiet_still_tells_errors() {
    let s = Sandbox::new();
    assert!(
        s.pisess("tree -q ./gone")
            .done()
            .fails(2)
            .contains("./gone")
    );
}

#[test]
fn the_exit_codes_are_in_the_help() {
    let s = Sandbox::new();
    let help = s.run("help exit-codes");
    for row in [
        "  0  success",
        "  1  negative answer",
        "  2  failure",
        "  3  busy",
        "  4  the change is saved",
    ] {
        assert!(help.contains(row), "{row}");
    }
    assert!(s.run("--version").starts_with("pisess "));
}

/// Common mistakes on the command line, and the hint for each.
#[test]
fn common_mistakes_have_a_hint() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for (line, hint) in [
        (
            "tree ./two-branches.jsonl --user-only",
            "did you mean --filter user-only?",
        ),
        (
            "tree ./two-branches.jsonl --labeled-only",
            "did you mean --filter labeled-only?",
        ),
        (
            "tree ./two-branches.jsonl --filtr all",
            "a similar argument exists: '--filter'",
        ),
        (
            "fork ./two-branches.jsonl --alle",
            "did you mean --branches?",
        ),
        (
            "tree ./two-branches.jsonl --depth 3",
            "(hint: see `pisess tree --help`)",
        ),
        ("tree ./two-branches.jsonl -n 5", "did you mean --around N?"),
        (
            "tree ./two-branches.jsonl --format json",
            "did you mean --json?",
        ),
        (
            "export ./two-branches.jsonl --format md",
            "did you mean --as FORMAT?",
        ),
        ("check --all --repair", "`pisess check --all` reports"),
        (
            "fork ./two-branches.jsonl --branch 2",
            "give its tip without the option: `pisess fork SESSION REF`",
        ),
        (
            "undo -n 3 ./two-branches.jsonl",
            "as in `pisess undo SESSION 3`",
        ),
        ("list -n 5", "did you mean --limit N?"),
        ("stats --sort cost", "rows have the highest cost first"),
        (
            "grep --limit 3 x",
            "did you mean --max-count N, of each session?",
        ),
        ("grep --type user x", "did you mean --role ROLE?"),
        (
            "tree --oneline last",
            "omit --oneline: each entry is one row",
        ),
        ("list -10", "did you mean --limit N?"),
        (
            "grep -E 'a|b'",
            "omit -E: every PATTERN is a regular expression",
        ),
        ("-C x list", "change the directory first"),
        (
            "append ./two-branches.jsonl hello",
            "give the text of a message with --user or --assistant",
        ),
        (
            "tree",
            "`last` is the session that changed last in this directory: pisess tree last; ",
        ),
        ("switch", "in this directory: pisess switch last <REF>; "),
        (
            "merge ./two-branches.jsonl",
            "`pisess branches` lists the branches, `pisess tree` all entries",
        ),
        (
            "switch -",
            "the session comes first: pisess switch last -; ",
        ),
        (
            "label ./two-branches.jsonl green",
            "to set a label, give REF, too: `@ green` labels the last entry",
        ),
        (
            "export ./two-branches.jsonl x.md",
            "the path of an output is given with -o",
        ),
        ("grep export invoices", "several words need quotes"),
        ("show tide chart root..", "several words need quotes"),
        (
            "show 'tide chart' root..",
            "`pisess grep --all TEXT` searches their text",
        ),
        ("list --jq .id", "pipe the output of --json into jq"),
        ("list --after 2026-10", "did you mean --since TIME?"),
        ("list -L 5", "did you mean --limit N?"),
        (
            "grep -g '*.jsonl' x",
            "give the sessions or directories to search as SESSION; see",
        ),
        ("grep --count-matches x", "did you mean --count?; see"),
        ("list --reverse", "pipe the rows into `tac`"),
        (
            "show HEAD",
            "an entry is given after its session, as in `last @`",
        ),
        (
            "show @~2",
            "an entry is given after its session, as in `last @~2`",
        ),
        ("tree last@{1}", "`last~1` is the session before `last`"),
        (
            "show ./two-branches.jsonl @-",
            "the current entry is @, the one before it @^",
        ),
        (
            "show ./two-branches.jsonl HEAD~1",
            "the current entry is @, the one before it @^",
        ),
        (
            "fork ./two-branches.jsonl new.jsonl",
            "the path of an output is given with -o",
        ),
        (
            "tree --home-u-code--/s.jsonl",
            "put ./ before a path that begins with -",
        ),
        (
            "list --home-u-code--",
            "put ./ before a path that begins with -, as in ./--home-u-code--",
        ),
        (
            "migrate -r --home-u-code--",
            "put ./ before a path that begins with -",
        ),
        ("tre ./two-branches.jsonl", "did you mean `pisess tree`?"),
        (
            "path ./two-branches.jsonl 1a",
            "give at least 4 characters of the id",
        ),
        ("path ./two-branches.jsonl 1a2b3c99", "did you mean"),
        (
            "label green ./two-branches.jsonl",
            "the session comes first: pisess label ",
        ),
        (
            "label ./green ./two-branches.jsonl",
            "the session comes first: pisess label ",
        ),
        (
            "compact ./two-branches.jsonl --if-over lots",
            "see `pisess compact --help`",
        ),
        ("show ./two-branches.jsonl root", "--children"),
    ] {
        let message = s.unchanged(line).fails(2);
        assert!(
            message.contains(" (hint: ") && message.contains(hint),
            "{line}: {message}"
        );
    }
    let message = s
        .pisess("append ./two-branches.jsonl")
        .stdin("hello\n")
        .done()
        .fails(2);
    assert!(message.contains("(hint: --user - "), "{message}");
}

/// A label that several entries have, as agents may write it, is ambiguous; the error lists their
/// ids.
#[test]
fn an_ambiguous_label_lists_its_entries() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("label ./two-branches.jsonl :2 twice");
    let target = s
        .run("path ./two-branches.jsonl :3 --ids")
        .lines()
        .last()
        .unwrap()
        .to_owned();
    let label = format!(
        r#"{{"type":"label","id":"aaaa9999","parentId":null,"timestamp":"2026-05-04T12:00:00.000Z","targetId":"{target}","label":"twice"}}"#
    );
    s.put(
        "two-branches.jsonl",
        [
            s.bytes("two-branches.jsonl"),
            format!("{label}\n").into_bytes(),
        ]
        .concat(),
    );
    let message = s.unchanged("path ./two-branches.jsonl twice").fails(2);
    assert!(
        message.contains(r#""twice" matches several entries: "#) && message.contains(&target),
        "{message}"
    );
    assert!(
        message.contains("(hint: several entries have this label; name one of them by its id)"),
        "{message}"
    );
}

/// Usage errors of every command are one JSON line if `--json` is given anywhere.
#[test]
fn usage_errors_are_json_with_json() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for (verb, _) in pisess::command_guides() {
        let line = format!("{verb} ./two-branches.jsonl --no-such-option --json");
        let done = s.unchanged(&line);
        assert_eq!((done.code, done.stdout.len()), (2, 0), "{line}");
        assert_eq!(done.stderr.lines().count(), 1, "{line}: {}", done.stderr);
        let error: serde_json::Value = serde_json::from_str(&done.stderr).expect(&done.stderr);
        let error = error["error"].as_object().expect("an object");
        let keys: Vec<_> = error.keys().map(String::as_str).collect();
        assert_eq!(keys.len(), 6, "{keys:?}");
        for key in ["kind", "message", "path", "line", "hint", "exit"] {
            assert!(keys.contains(&key), "{line}: {key}");
        }
        assert_eq!(
            (error["kind"].as_str(), error["exit"].as_u64()),
            (Some("usage"), Some(2)),
            "{line}"
        );
        let help = format!("see `pisess {verb} --help`");
        assert!(
            error["hint"]
                .as_str()
                .is_some_and(|hint| hint.contains(&help)),
            "{line}: {}",
            done.stderr
        );
    }
}

/// The fields that `--json` promises, in `docs/json.md`.
#[test]
fn json_has_the_fields_that_are_promised() {
    let s = Sandbox::with(&["tour.jsonl", "v1.jsonl"]);
    s.put("torn", fixture("hazards/torn-tail.jsonl"));
    let change = "path action dryRun written editorText";
    let tokens = "input output cacheRead cacheWrite total";
    for (line, fields) in [
        (
            "tree ./tour.jsonl",
            "id parentId type role line timestamp depth label active leaf text",
        ),
        (
            "tree ./tour.jsonl --search midnight",
            "id match.field match.start match.end match.snippet",
        ),
        (
            "branches ./tour.jsonl",
            "id line timestamp label entries branchPoint tokens active question.id question.label question.text",
        ),
        ("label ./tour.jsonl", "id label timestamp text"),
        (
            "list ./tour.jsonl",
            "path id agent version name cwd parentSessionPath created modified messageCount entryCount branchCount firstMessage models tokens cost labels",
        ),
        (
            "grep midnight ./tour.jsonl",
            "path sessionId id line role field start end snippet timestamp context",
        ),
        (
            "stats ./tour.jsonl",
            "sessions messages toolCalls toolFailures tokens cost unpriced files seconds",
        ),
        (
            "stats ./tour.jsonl --by entry",
            "path sessionId id parentId role provider model tool timestamp tokens",
        ),
        (
            "check ./torn",
            "path line id severity kind message repairable",
        ),
        ("context ./tour.jsonl", "messages thinkingLevel model"),
        (
            "compact ./tour.jsonl --keep-recent-tokens 10 --prepare",
            "firstKeptEntryId isSplitTurn tokensBefore previousSummary messagesToSummarize turnPrefixMessages fileOps.read fileOps.written fileOps.edited previousCompactions customInstructions",
        ),
        (
            "summarize ./tour.jsonl @~4 --prepare",
            "targetId oldLeafId commonAncestorId newLeafId entriesToSummarize readFiles modifiedFiles editorText userWantsSummary customInstructions replaceInstructions label",
        ),
        ("label ./tour.jsonl @ a -n", change),
        ("label ./tour.jsonl @ a", change),
        ("switch ./tour.jsonl @~4 -n", change),
        ("compact ./tour.jsonl --keep-recent-tokens 10 -n", change),
        ("fork ./tour.jsonl -n", change),
        ("migrate ./v1.jsonl --check", "path from to entries status"),
    ] {
        let json = if line.contains("--prepare") || line.starts_with("context") {
            ""
        } else {
            " --json"
        };
        let done = s.pisess(&format!("{line}{json}")).done();
        let row = done.text().lines().next().unwrap_or_default().to_owned();
        let row: serde_json::Value =
            serde_json::from_str(&row).unwrap_or_else(|error| panic!("{line}: {error}: {row}"));
        let nested = if fields.contains(" tokens ") && !line.starts_with("branches") {
            tokens
        } else {
            ""
        };
        let nested = nested
            .split_whitespace()
            .map(|field| format!("/tokens/{field}"));
        for field in fields
            .split(' ')
            .map(|field| format!("/{}", field.replace('.', "/")))
            .chain(nested)
        {
            assert!(
                row.pointer(&field).is_some(),
                "{line}: {field} is missing: {row}"
            );
        }
    }
}

#[test]
fn grep_list_migrate_redact_all_hint_at_what_was_meant() {
    let s = Sandbox::new();
    s.put("x", "a line\n");
    let said = |line: &str| s.unchanged(line).fails(2);
    assert_snapshot!(said("grep --all refund webhook"), @"the argument '--all' cannot be used with '[SESSION]...' (hint: omit --all or SESSION; a name is looked up in all projects; put a pattern of several words in quotes; see `pisess grep --help`)");
    assert_snapshot!(said("list --all name"), @"the argument '--all' cannot be used with '[SESSION]...' (hint: omit --all or SESSION; a name is looked up in all projects; see `pisess list --help`)");
    for command in ["list", "stats", "grep x", "blame ./x", "redact --check"] {
        let failure = said(&format!("{command} --archived --source claude"));
        assert!(failure.contains("add pi,omp to --source"), "{failure}");
    }
    assert_snapshot!(said("migrate --all"), @"--all requires --check or -n (hint: to migrate the sessions in a directory, give it with -r)");
    assert_snapshot!(said("redact --all"), @"--all requires --check or -n (hint: redact one session at a time, with -o)");
}

/// Who gives a directory with `--all` means all sessions in it.
#[test]
fn all_with_a_directory_reads_all_sessions_in_it() {
    let s = Sandbox::new();
    s.put("d/deep/a.jsonl", fixture("tour.jsonl"));
    s.put(
        ".pi/agent/sessions/--home-u-code-ferry--/a.jsonl",
        fixture("tour.jsonl"),
    );
    for line in [
        "grep --all midnight 6e8a4d70",
        "stats --all 6e8a4d70",
        "list -l --all ./d",
        "list -l ./d -a",
        "grep -l --all midnight ./d",
        "stats --all ./d --json",
    ] {
        let done = s.pisess(line).at_home().done();
        assert_eq!(done.code, 0, "{done}");
        assert!(
            done.stderr.contains("only the sessions in it are read"),
            "{done}"
        );
        let without = line.replace(" --all", "").replace(" -a", "");
        let same = s.pisess(&without).at_home().done();
        assert_eq!(done.text(), same.text(), "{line}");
    }
    for line in [
        "list --all ./d/deep/a.jsonl",
        "stats --all ./d ./gone",
        "check --all ./d",
    ] {
        let error = s.unchanged(line).fails(2);
        assert!(error.contains("cannot be used with"), "{error}");
    }
}

#[test]
fn options_and_commands_that_are_unlike_are_not_suggested() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let mut suggesting = Vec::new();
    for line in [
        "tree ./two-branches.jsonl --limits",
        "list --follow",
        "show ./two-branches.jsonl --fold",
        "branch-off ./two-branches.jsonl",
        "shed ./two-branches.jsonl",
    ] {
        let said = s.unchanged(line).fails(2);
        if said.contains("similar") || said.contains("did you mean") {
            suggesting.push(format!("{line}: {said}"));
        }
    }
    assert!(suggesting.is_empty(), "{}", suggesting.join("\n"));
}

/// A newcomer gives an entry or a label alone, and options without their value.
#[test]
fn the_order_of_arguments_is_in_the_hint() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let said = |line: &str| s.unchanged(line).fails(2);
    assert_snapshot!(said("show 1a2b3c05"), @"1a2b3c05: no such file, and no session with that id or name (hint: `pisess list --all` lists all sessions; an entry or a label comes after the session: pisess show last 1a2b3c05)");
    assert_snapshot!(said("show ./two-branchse.jsonl"), @"cannot read ./two-branchse.jsonl: no such file or directory (hint: did you mean ./two-branches.jsonl?)");
    assert_snapshot!(said("show ./two-branches"), @"cannot read ./two-branches: no such file or directory (hint: did you mean ./two-branches.jsonl?)");
    assert_snapshot!(s.pisess("show two-branches").real().fails(2), @"two-branches: no such file, and no session with that id or name (hint: did you mean two-branches.jsonl?)");
    let second = said("diff ./two-branches.jsonl ./two-branchse.jsonl");
    assert!(
        second.contains("did you mean ./two-branches.jsonl?"),
        "{second}"
    );
    let other = said("show --file two-branchse.jsonl ./nothing-like-it.jsonl");
    assert!(!other.contains("did you mean"), "{other}");
    assert_snapshot!(said("show start ./two-branches.jsonl"), @"start: no such file, and no session with that id or name (hint: the session comes first: pisess show ./two-branches.jsonl start)");
    // The value of an option, and the name of another file, are no entries.
    for line in [
        "tree --filter all nosuch ./two-branches.jsonl",
        "show two-branchse.jsonl ./two-branches.jsonl",
    ] {
        let refused = said(line);
        assert!(!refused.contains("comes first"), "{line}: {refused}");
    }
    let joined = s.pisess("join two-branches").real().fails(2);
    assert!(
        joined.contains("did you mean two-branches.jsonl?"),
        "{joined}"
    );
    let after_option = s.pisess("tree --filter all two-branches").real().fails(2);
    assert!(
        after_option.contains("did you mean two-branches.jsonl?"),
        "{after_option}"
    );
    // Both arguments are sessions, unless one has the form of a reference.
    for line in [
        "join nosuch ./two-branches.jsonl",
        "diff nosuch ./two-branches.jsonl",
    ] {
        let refused = said(line);
        assert!(!refused.contains("comes first"), "{refused}");
    }
    assert!(
        said("diff @^ ./two-branches.jsonl")
            .ends_with("(hint: the session comes first: pisess diff ./two-branches.jsonl @^)")
    );
    assert_snapshot!(said("show --images ./two-branches.jsonl"), @"the following required arguments were not provided: <SESSION> (hint: --images takes a value: pisess show --images DIR SESSION; see `pisess show --help`)");
    assert_snapshot!(said("grep --tools bash x ./two-branches.jsonl"), @"unexpected argument '--tools' found (hint: did you mean --tool TOOL?; see `pisess grep --help`)");
    let refused = |line: &str, hint: &str| {
        let said = said(line);
        assert!(said.contains(hint), "{line}: {said}");
    };
    refused(
        "grep --role bash x ./two-branches.jsonl",
        "(hint: did you mean --tool TOOL?",
    );
    refused(
        "blame -L 3,5 notes.md",
        "(hint: add the lines to FILE: FILE:LINE or FILE:FIRST,LAST;",
    );
    refused(
        "redact -i ./two-branches.jsonl",
        "(hint: redact only writes copies: `pisess prune --secrets SESSION` takes",
    );
    refused(
        "import --from codex x",
        "(hint: give the agent's sessions as SOURCE,",
    );
    refused(
        "import --list",
        "(hint: `pisess list --all --source claude` lists",
    );
}
