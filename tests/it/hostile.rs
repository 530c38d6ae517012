//! Hostile text: no escape sequence, control character or bidi override of a session is printed for
//! people, whatever the command.

use crate::every::{self, CHANGES, MAKES, READS};
use crate::sandbox::{Sandbox, fixture, session};

const FILE: &str = "hostile-text.jsonl";

/// Whether a character acts on a terminal, or changes how text reads.
fn acts(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[track_caller]
fn assert_clean(what: &str, text: &str) {
    if let Some(c) = text.chars().find(|&c| acts(c)) {
        let line = text
            .lines()
            .find(|line| line.contains(c))
            .unwrap_or_default();
        panic!("{what}: {c:?} in {line:?}");
    }
}

/// Forms that print rows of certain entries.
const ROWS: &[&str] = &[
    "pick -n F aaaa0002",
    "pop -n F aaaa0002",
    "merge -n F aaaa0002 --summary s",
    "edit -n F cccc0008 --omit",
    "summarize -n F aaaa0002",
    "switch -n F uuuu0018",
    "show F @ aaaa0002 uuuu0018",
    "show F --children root @ aaaa0002",
    "fork -n --subtree F aaaa0002",
    "tree F --filter all --times",
    "tree F --filter all --ascii",
];

/// Returns the forms whose output is for people.
fn rows() -> impl Iterator<Item = String> {
    let forms = READS.iter().chain(ROWS).filter(|line| !is_verbatim(line));
    forms.map(|line| every::of(line, &format!("./{FILE}")))
}

/// Whether the standard output of a form is data, which is raw in a pipe.
fn is_verbatim(line: &str) -> bool {
    let options = [
        "--json",
        "--prepare",
        "--prompt",
        "--code",
        "--file ",
        "--as messages",
        "--as plain",
    ];
    options.iter().any(|option| line.contains(option))
        || (line.starts_with("context") && !line.contains("--tokens"))
}

/// Every command on a session with hostile text in each field, and in its name.
#[test]
fn no_command_lets_anything_through() {
    let name = "s\u{1b}[31m\u{202e}\r\u{9b}.jsonl";
    for line in READS.iter().chain(&*CHANGES).chain(&*MAKES) {
        for terminal in [false, true] {
            let s = Sandbox::new();
            s.put(name, fixture("hazards/hostile-text.jsonl"));
            let line = every::of(line, &format!("'./{name}'"));
            let call = s.pisess(&format!("{line} --color never"));
            // pisess itself colours output. Without colours, no character may act.
            let call = call.env("NO_COLOR", "1");
            let done = if terminal {
                call.terminal(80).done()
            } else {
                call.done()
            };
            assert_clean(&line, &done.stderr);
            if terminal || !is_verbatim(&line) {
                assert_clean(&line, &done.text().replace('\t', " "));
            }
        }
    }
}

/// Errors about files that are not sessions, and about references and paths that do not exist.
#[test]
fn no_error_lets_anything_through() {
    let name = "s\u{1b}[31m\u{202e}\r\u{9b}.jsonl";
    for content in [
        None,
        Some("no session"),
        Some("{\"type\":\"session\",\"id\":\"\u{1b}[2J\",\"version\":\"\u{1b}[2J9\"}\n"),
    ] {
        for line in READS.iter().chain(&*CHANGES).chain(&*MAKES) {
            let s = Sandbox::new();
            content.iter().for_each(|content| s.put(name, content));
            let done = s
                .pisess(
                    &every::of(line, &format!("'./{name}'")).replace("./new", "'./n\u{1b}[2J/new'"),
                )
                .done();
            assert_clean(line, &done.stderr);
        }
    }
}

fn lines(commands: &[&str]) -> Vec<String> {
    commands
        .iter()
        .map(|line| line.replace("./F", &format!("./{FILE}")))
        .collect()
}

#[test]
fn rows_are_clean_in_a_pipe_and_on_a_terminal() {
    let s = Sandbox::with(&["hazards/hostile-text.jsonl"]);
    for line in rows() {
        let done = s.unchanged(&line);
        assert!(done.code <= 1, "{line}: {}", done.stderr);
        assert_clean(&line, &done.text());
        assert_clean(&line, &done.stderr);
        for width in [20, 80, 300] {
            let done = s
                .pisess(&format!("{line} --color never"))
                .terminal(width)
                .done();
            assert_clean(&line, &done.text());
            assert_clean(&line, &done.stderr);
        }
    }
}

#[test]
fn colours_are_pisess_own() {
    // With colours, the output must be clean once the sequences of owo-colors are removed.
    let s = Sandbox::with(&["hazards/hostile-text.jsonl"]);
    for line in rows() {
        let text = s
            .pisess(&format!("{line} --color always"))
            .terminal(120)
            .done()
            .text();
        assert_clean(&line, &without_colours(&text));
    }
}

/// Returns the text without `ESC [ digits and ; m`.
pub fn without_colours(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        out.push_str(before);
        match after
            .find(|c: char| !c.is_ascii_digit() && c != ';')
            .filter(|&at| after[at..].starts_with('m'))
        {
            Some(at) => rest = &after[at + 1..],
            None => {
                out.push_str("\u{1b}[");
                rest = after;
            }
        }
    }
    out + rest
}

#[test]
fn verbatim_data_is_raw_in_a_pipe_and_visible_on_a_terminal() {
    let s = Sandbox::with(&["hazards/hostile-text.jsonl"]);
    let commands = [
        "tree ./F --json --filter all",
        "path ./F --json",
        "label ./F --json",
        "context ./F",
        "context ./F --as llm",
        "context ./F --as text",
        "compact ./F --prepare --first-kept none",
        "compact ./F --prompt --first-kept none",
        "summarize ./F aaaa0002 --prepare",
        "summarize ./F aaaa0002 --prompt",
        "switch ./F aaaa0002 -o -",
        "branches ./F --json",
        "show ./F --json @ aaaa0002",
        "label ./F @ n -n --json",
        "label ./F @ n -o -",
        "fork ./F -o -",
        "migrate ./F -o -",
    ];
    for line in lines(&commands) {
        let shown = s.pisess(&line).terminal(80).done();
        assert_eq!(shown.code, 0, "{line}: {}", shown.stderr);
        assert_clean(&line, &shown.text().replace('\t', " "));
        assert_clean(&line, &shown.stderr);
    }
    // In a pipe, the bytes are unchanged.
    assert_eq!(
        s.pisess(&format!("migrate ./{FILE} -o -")).done().stdout,
        fixture("hazards/hostile-text.jsonl")
    );
    let text = s.run(&format!("context ./{FILE} --as text"));
    assert!(text.contains("\u{1b}[31mRED"), "{text:?}");
}

#[test]
fn text_to_be_edited_again() {
    let s = Sandbox::with(&["hazards/hostile-text.jsonl"]);
    let line = format!("fork --before ./{FILE} uuuu0018 -o ./new");
    let shown = s.pisess(&line).terminal(80).done();
    assert_eq!(shown.code, 0);
    assert_clean(&line, &shown.text());
    let piped = s.pisess(&format!("{line} --force")).done().text();
    assert!(piped.contains("\u{1b}[31mRED"), "{piped:?}");
    let on_stderr = s
        .pisess(&format!("fork --before ./{FILE} uuuu0018 -o -"))
        .done();
    assert_clean("stderr", &on_stderr.stderr);
}

#[test]
fn errors_and_names() {
    let s = Sandbox::new();
    let name = "\u{1b}[31mred\u{202e}\r.jsonl";
    s.put(name, fixture("two-branches.jsonl"));
    s.put("sub/\u{1b}]0;x\u{7}.jsonl", fixture("v1.jsonl"));
    s.put("bad/\u{1b}]0;x\u{7}.jsonl", "no session");
    for line in [
        format!("tree './{name}' '\u{1b}[2J\u{9b}0m'"),
        format!("path './{name}' '\u{1b}[2J'"),
        format!("path './{name}' '\u{1b}[2J^{{us\u{1b}er}}'"),
        format!("label './{name}' @ 'x\u{1b}[2J'"),
        format!("label './{name}' @ n -n"),
        format!("label './{name}' @ n -o './{name}'"),
        format!("fork './{name}'"),
        format!("fork './{name}' -n"),
        format!("fork './{name}' --dir './\u{1b}[2J'"),
        format!("summarize './{name}' 1a2b3c05 --summarizer 'false \u{1b}[2J'"),
        format!("summarize './{name}' 1a2b3c05 --summary-file './\u{1b}[2J'"),
        format!("migrate './{name}'"),
        "migrate -n ./sub".to_owned(),
        "migrate ./bad".to_owned(),
        "migrate -r ./sub ./bad".to_owned(),
        "tree '\u{1b}[2J'".to_owned(),
        "tree './x\u{1b}[2J' --filter '\u{1b}[2J'".to_owned(),
        "tree --\u{1b}[2J".to_owned(),
    ] {
        for terminal in [false, true] {
            let call = s.pisess(&line);
            // pisess itself colours output. Without colours, no character may act.
            let call = call.env("NO_COLOR", "1");
            let done = if terminal {
                call.terminal(80).done()
            } else {
                call.done()
            };
            assert_clean(&line, &done.stderr);
            if terminal || !line.starts_with("fork './") {
                assert_clean(&line, &done.text());
            }
        }
    }
}

#[test]
fn a_summary_quotes_nothing_that_acts() {
    let s = Sandbox::with(&["hazards/hostile-text.jsonl"]);
    s.run(&format!("compact ./{FILE} --first-kept none"));
    let last = s.text(FILE).lines().last().unwrap().to_owned();
    let entry: serde_json::Value = serde_json::from_str(&last).unwrap();
    let summary = entry["summary"].as_str().unwrap();
    assert_clean("summary", summary.split("\n<").next().unwrap());
}

#[test]
fn paths_in_headers_are_never_written_to() {
    let s = Sandbox::new();
    let outside = s.path("outside");
    let header = format!(
        r#"{{"type":"session","version":3,"id":"../../{0}/x","timestamp":"../../x","cwd":"{0}","parentSession":"{0}/p"}}"#,
        outside.display()
    );
    s.put(
        "in/a.jsonl",
        format!(
            "{header}\n{}\n",
            crate::sandbox::user("aaaa0001", None, "x")
        ),
    );
    s.run("fork ./in/a.jsonl");
    s.run("fork --branches ./in/a.jsonl -o ./in/b.jsonl");
    s.run("label ./in/a.jsonl @ n");
    assert!(
        s.names().iter().all(|name| name.starts_with("in/")),
        "{:?}",
        s.names()
    );
}

/// A summarizer and a hook receive session text on standard input, where it is only text: not as an
/// argument, where it could be an option, and not in the environment.
#[cfg(target_os = "linux")]
#[test]
fn a_command_gets_text_on_standard_input_only() {
    let look = "cd \"${0%/*}\" || exit\ncat /proc/$$/cmdline >> seen\nenv >> seen\ncat >> heard\n";
    for line in [
        "compact ./F --first-kept none --summarizer 'sh LOOK summary'",
        "summarize ./F aaaa0002 --summarizer 'sh LOOK summary'",
        "compact ./F --first-kept none --hook 'sh LOOK {}'",
        "summarize ./F aaaa0002 --hook 'sh LOOK {}'",
        "switch ./F aaaa0002 --summarize --hook 'sh LOOK {}'",
        "context ./F --hook 'sh LOOK {}'",
    ] {
        let s = Sandbox::with(&["hazards/hostile-text.jsonl"]);
        s.put("look", format!("{look}echo \"$1\"\n"));
        let line = line
            .replace("./F", &format!("./{FILE}"))
            .replace("LOOK", s.path("look").to_str().unwrap());
        let done = s.pisess(&line).done();
        assert_eq!(done.code, 0, "{line}: {done}");
        assert!(s.text("heard").contains("gnp.exe"), "{line}");
        assert!(
            !String::from_utf8_lossy(&s.bytes("seen")).contains("gnp.exe"),
            "{line}"
        );
    }
}

/// Opening this FIFO would block forever: nobody writes to it.
#[cfg(unix)]
#[test]
fn paths_in_a_session_are_never_opened() {
    for (name, slot) in [
        ("pi", ""),
        (
            "omp",
            "\"additionalDirectories\":[\"FIFO\"],\"previousSessionFiles\":[\"FIFO\"],",
        ),
    ] {
        let s = Sandbox::new();
        let fifo = s.path("fifo");
        assert!(
            std::process::Command::new("mkfifo")
                .arg(&fifo)
                .status()
                .unwrap()
                .success()
        );
        let header = r#"{"type":"session","version":3,"id":"s",SLOT"timestamp":"2026-01-01T00:00:00.000Z","cwd":"FIFO","parentSession":"FIFO"}"#;
        let call = r#"{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{"path":"FIFO"}}]}}"#;
        let lines = [
            header.replace("SLOT", slot),
            crate::sandbox::user("aaaa0001", None, "x"),
            call.to_owned(),
        ];
        let text = lines.join("\n").replace("FIFO", fifo.to_str().unwrap()) + "\n";
        for line in READS.iter().chain(&*CHANGES).chain(&*MAKES) {
            s.put("s", &text);
            let done = s.pisess(&every::of(line, "./s")).done();
            assert!(done.code <= 2, "{name} {line}: {done}");
            let _ = std::fs::remove_file(s.path("new"));
        }
    }
}

/// A device without an end is read up to the limit for what it should contain, in a memory of 600
/// MB.
#[cfg(target_os = "linux")]
#[test]
fn a_device_without_an_end_is_refused() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let mut heard = String::new();
    for line in [
        "append ./two-branches.jsonl --input /dev/zero",
        "redact --check ./two-branches.jsonl --env-file /dev/zero",
        "redact ./two-branches.jsonl -o ./copy --secret-file /dev/zero",
        "export ./two-branches.jsonl --redact --secret-file /dev/zero",
        "compact ./two-branches.jsonl --summary-file /dev/zero",
        "stats ./two-branches.jsonl --prices /dev/zero",
        "tree /dev/zero",
        "tree - </dev/zero",
    ] {
        let mut shell = std::process::Command::new("sh");
        shell
            .args(["-c", &format!("ulimit -v 600000; exec \"$PISESS\" {line}")])
            .current_dir(s.path(""));
        let done = shell
            .env("PISESS", env!("CARGO_BIN_EXE_pisess"))
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(2), "{line}: {done:?}");
        heard += &String::from_utf8_lossy(&done.stderr);
    }
    insta::assert_snapshot!(heard, @r#"
    pisess: /dev/zero: more than 128 MiB, which is the limit for a file of JSON lines (hint: give a smaller file)
    pisess: /dev/zero: more than 10 MiB, which is the limit for a file of secrets (hint: give a smaller file)
    pisess: /dev/zero: more than 10 MiB, which is the limit for a file of secrets (hint: give a smaller file)
    pisess: /dev/zero: more than 10 MiB, which is the limit for a file of secrets (hint: give a smaller file)
    pisess: /dev/zero: more than 10 MiB, which is the limit for a text file (hint: give a smaller file)
    pisess: /dev/zero: more than 10 MiB, which is the limit for a file of prices (hint: give a smaller file)
    pisess: /dev/zero: no session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})
    pisess: standard input: no session header (hint: a session of pi or oh-my-pi starts with {"type":"session","id":…})
    "#);
    assert_eq!(s.names(), ["two-branches.jsonl"]);
}

/// Wherever text is cut to the width of a row, an emoji stays whole: in every field, at even and
/// odd places, for both agents.
#[test]
fn no_row_splits_an_emoji() {
    for at in 0..2 {
        let text = format!("{}{}", "a".repeat(at), "😀".repeat(600));
        let mut lines: Vec<String> = Vec::new();
        let mut add = |members: &str| {
            let parent = if lines.is_empty() {
                "null".into()
            } else {
                format!("\"{:08x}\"", lines.len())
            };
            let id = lines.len() + 1;
            lines.push(format!(
                r#"{{"id":"{id:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z",{}}}"#,
                members.replace("<T>", &text)
            ));
        };
        for message in [
            r#""role":"user","content":"<T>""#,
            r#""role":"assistant","content":[{"type":"text","text":"<T>"},{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"<T>"}},{"type":"toolCall","id":"d","name":"<T>","arguments":{"q":"<T>"}}],"stopReason":"stop""#,
            r#""role":"toolResult","toolCallId":"c","toolName":"bash","content":"<T>","isError":false"#,
            r#""role":"toolResult","toolCallId":"d","toolName":"<T>","content":"<T>","isError":true"#,
            r#""role":"toolResult","toolCallId":"e","toolName":"<T>","content":"<T>","isError":true"#,
            r#""role":"bashExecution","command":"<T>","output":"<T>","exitCode":1"#,
            r#""role":"<T>","content":"<T>""#,
            r#""role":"assistant","content":[],"stopReason":"error","errorMessage":"<T>""#,
        ] {
            add(&format!(r#""type":"message","message":{{{message}}}"#));
        }
        for members in [
            r#""type":"custom_message","customType":"<T>","content":"<T>","display":true"#,
            r#""type":"custom","customType":"<T>""#,
            r#""type":"label","targetId":"00000001","label":"<T>""#,
            r#""type":"session_info","name":"<T>""#,
            r#""type":"branch_summary","fromId":"root","summary":"<T>""#,
            r#""type":"model_change","provider":"<T>","modelId":"<T>","model":"<T>""#,
            r#""type":"compaction","summary":"<T>","firstKeptEntryId":"00000001","tokensBefore":1"#,
            r#""type":"<T>""#,
            r#""type":"message","message":{"role":"user","content":"<T>"}"#,
        ] {
            add(members);
        }
        let s = Sandbox::new();
        s.put("pi.jsonl", session(&lines));
        let title = r#"{"type":"title","v":1,"title":"","updatedAt":"","pad":""}"#;
        s.put(
            "omp.jsonl",
            [format!("{title}\n").as_bytes(), &session(&lines)].concat(),
        );
        for line in [
            "tree",
            "tree --filter all",
            "tree --unfold --filter all",
            "tree --filter all --search aaa",
            "path",
            "branches",
            "branches --json",
            "list",
            "label",
            "show :3",
            "grep a",
            "stats --by tool",
            "stats --by model",
            "diff 00000003 @",
            "export -q -o - --as markdown",
            "export -q -o -",
        ] {
            for file in ["./pi.jsonl", "./omp.jsonl"] {
                let (verb, rest) = line.split_once(' ').unwrap_or((line, ""));
                let line = if verb == "grep" {
                    format!("{line} {file}")
                } else {
                    format!("{verb} {file} {rest}")
                };
                for columns in [None, Some("41")] {
                    let call = s.pisess(&line);
                    let done = columns
                        .into_iter()
                        .fold(call, |call, columns| call.env("COLUMNS", columns))
                        .done();
                    assert!(done.code < 2, "{line}: {}", done.stderr);
                    assert!(
                        !done.text().contains('\u{fffd}') && !done.text().contains("\\ud83d"),
                        "{line}, {columns:?}, {at}: {}",
                        done.text()
                    );
                }
            }
        }
    }
}

/// `join` reads two sessions, so it is not among the forms.
#[test]
fn join_lets_nothing_through() {
    let name = "s\u{1b}[31m\u{202e}\r\u{9b}\nx.jsonl";
    let other = "t\u{1b}[2J\u{2066}\ny.jsonl";
    let hostile = fixture("hazards/hostile-text.jsonl");
    let changed = String::from_utf8_lossy(&hostile).replacen("assistant", "user", 1);
    for (what, content, code) in [
        ("the same", Some(hostile.clone()), 0),
        ("another content", Some(changed.into_bytes()), 2),
        ("no session", Some(b"no session".to_vec()), 2),
        ("no file", None, 2),
    ] {
        for form in ["", "--json", "--force"] {
            let s = Sandbox::new();
            s.put(name, &hostile);
            if let Some(content) = &content {
                s.put(other, content);
            }
            let line = format!("join './{name}' './{other}' -o './n\u{1b}[2J\nz' {form}");
            let done = s.pisess(&line).done();
            assert_eq!(done.code, code, "{what}: {done}");
            assert_clean(&line, &done.stderr);
            let lines = done.stderr.lines();
            let is_message = |line: &str| line.starts_with("pisess: ") || line.starts_with('{');
            assert!(lines.clone().all(is_message), "{what}: {done}");
            if form != "--json" {
                assert_clean(&line, &done.text());
                assert!(done.text().lines().count() <= 1, "{what}: {done}");
            }
        }
    }
}
