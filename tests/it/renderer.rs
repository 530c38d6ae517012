//! `--renderer TYPE=CMD` of `export`, `show` and `tree`.

use crate::sandbox::Sandbox;
use insta::assert_snapshot;

/// Three entries of one extension, one of them a message, and an entry of another extension.
const SESSION: &str = r#"{"type":"session","version":3,"id":"5e551000-0000-4000-8000-000000000001","timestamp":"2026-03-14T09:26:45.589Z","cwd":"/home/u/code"}
{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-03-14T09:26:46.000Z","message":{"role":"user","content":"go","timestamp":1}}
{"type":"custom","customType":"todo","data":{"open":["a"]},"id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-03-14T09:26:47.000Z"}
{"type":"custom_message","customType":"todo","content":"plain","display":true,"id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-03-14T09:26:48.000Z"}
{"type":"message","id":"aaaa0004","parentId":"aaaa0003","timestamp":"2026-03-14T09:26:49.000Z","message":{"role":"custom","customType":"todo","content":"old","display":true,"timestamp":1}}
{"type":"custom_message","customType":"note","content":"of another","display":true,"id":"aaaa0005","parentId":"aaaa0004","timestamp":"2026-03-14T09:26:50.000Z"}
"#;

/// A renderer that records that it was started, and replies to every line with a list.
const LISTS: &str = r#"echo started >> "${0%/*}/starts"
tee "${0%/*}/input" | sed 's/.*"id":"\([^"]*\)".*/{"id":"\1","markdown":"**To do** in `\1`:\\n\\n- [x] one\\n- [ ] two\\n"}/'
"#;

fn sandbox() -> Sandbox {
    let s = Sandbox::new();
    s.put("s.jsonl", SESSION);
    s.script("lists", LISTS);
    s
}

/// Returns the command line with `{}` replaced by a renderer for `todo`.
fn line(s: &Sandbox, line: &str) -> String {
    line.replace(
        "{}",
        &format!("--renderer 'todo=sh {}'", s.path("lists").display()),
    )
}

#[test]
fn rows_say_what_it_made() {
    let s = sandbox();
    assert_snapshot!(s.run("tree --filter all ./s.jsonl"), @"
    aaaa0001  • user: go
    aaaa0002  • custom: todo
    aaaa0003  • todo: plain
    aaaa0004  • custom
    aaaa0005  • note: of another  ← active
    ");
    assert_snapshot!(s.run(&line(&s, "tree --filter all ./s.jsonl {}")), @"
    aaaa0001  • user: go
    aaaa0002  • todo: To do in aaaa0002: [x] one [ ] two
    aaaa0003  • todo: To do in aaaa0003: [x] one [ ] two
    aaaa0004  • custom: To do in aaaa0004: [x] one [ ] two
    aaaa0005  • note: of another  ← active
    ");
    assert_eq!(s.text("starts"), "started\n", "it is started once");
    let input = s.text("input");
    assert_eq!(input.lines().count(), 3);
    assert!(
        input.lines().all(|line| SESSION.contains(line)),
        "entries as they are stored: {input}"
    );
}

/// The renderer receives only entries that are drawn; if there are none, it is not started.
#[test]
fn it_gets_what_is_drawn() {
    let s = sandbox();
    s.run(&line(&s, "tree --filter user-only ./s.jsonl {}"));
    s.run(&line(&s, "tree --json ./s.jsonl {}"));
    s.run(&line(&s, "show ./s.jsonl aaaa0001 {}"));
    assert!(!s.path("starts").exists());
    s.run(&line(&s, "show ./s.jsonl aaaa0003 aaaa0005 {}"));
    assert_eq!(s.text("input").lines().count(), 1);
}

#[test]
fn entries_are_shown_as_it_made_them() {
    let s = sandbox();
    assert_snapshot!(s.run(&line(&s, "show ./s.jsonl aaaa0002 aaaa0005 {}")), @"
    aaaa0002  custom · 2026-03-14 09:26
      line 3 · parent aaaa0001
        **To do** in `aaaa0002`:

        - [x] one
        - [ ] two

    aaaa0005  custom_message · 2026-03-14 09:26
      line 6 · parent aaaa0004
      customType: note
        of another
    ");
    let document = s.run(&line(&s, "export ./s.jsonl --as markdown -o - {}"));
    assert_eq!(
        document.matches("**To do** in `aaaa000").count(),
        3,
        "{document}"
    );
    assert!(
        document.contains("- [x] one\n- [ ] two\n") && document.contains("of another"),
        "{document}"
    );
    let page = s.run(&line(&s, "export ./s.jsonl --static -o - {}"));
    assert!(
        page.contains("<strong>To do</strong> in <code>aaaa0003</code>"),
        "{page}"
    );
    assert_eq!(s.text("starts").lines().count(), 3, "once for each command");
}

#[test]
fn one_that_fails_is_left_out_with_a_note() {
    let s = sandbox();
    let plain = s.run("tree --filter all ./s.jsonl");
    let cases = [
        ("exit 3", "exit status: 3"),
        ("echo no json", "is not JSON lines"),
        (r#"echo '{"id":"aaaa0002"}'"#, "has no id or no markdown"),
        (
            r#"echo '{"id":"aaaa0001","markdown":"x"}'"#,
            "which it did not receive",
        ),
        (
            r#"printf '%s\n' '{"id":"\u001b[31m","markdown":"x"}'"#,
            "which it did not receive",
        ),
        ("kill -9 $$", "exit status: 137"),
        ("yes", "more than 10 MB"),
    ];
    for (script, said) in cases {
        s.script("lists", script);
        let done = s.pisess(&line(&s, "tree --filter all ./s.jsonl {}")).done();
        assert_eq!(done.code, 0, "{script}");
        assert_eq!(String::from_utf8_lossy(&done.stdout), plain, "{script}");
        let note = done.stderr;
        assert!(
            note.contains(said) && note.lines().count() == 1 && !note.contains('\x1b'),
            "{script}: {note}"
        );
    }
}

/// Entries without a reply are shown as usual, and so are those of other types.
#[test]
fn it_may_answer_some() {
    let s = sandbox();
    s.script(
        "lists",
        r#"head -n 1 > /dev/null; echo '{"id":"aaaa0003","markdown":"only this"}'"#,
    );
    assert_snapshot!(s.run(&line(&s, "tree --filter all --no-ids ./s.jsonl {}")), @"
    • user: go
    • custom: todo
    • todo: only this
    • custom
    • note: of another  ← active
    ");
}

/// The output of a renderer is text: nothing in it acts on a terminal or in a browser.
#[test]
fn hostile_output_is_text() {
    let s = sandbox();
    let bad = r#"{"id":"aaaa0003","markdown":"</script><script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1)) \u001b[31m \u202e\n```\n</details>\n"}"#;
    s.put("answer", bad);
    s.script("lists", "cat \"${0%/*}/answer\"");
    for form in [
        "tree ./s.jsonl {}",
        "show ./s.jsonl aaaa0003 {}",
        "export ./s.jsonl --as markdown -o - {}",
    ] {
        let text = s.run(&line(&s, form));
        assert!(text.contains("alert(1)"), "{form}: {text}");
        assert!(!text.contains(['\x1b', '\u{202e}']), "{form}: {text}");
    }
    for form in ["", "--static"] {
        let page = s.run(&line(&s, &format!("export ./s.jsonl -o - {form} {{}}")));
        assert!(
            !page.contains("alert(1)</script>")
                && !page.contains("<img")
                && !page.contains("javascript:")
        );
    }
}

#[test]
fn a_type_and_a_command_are_wanted() {
    let s = sandbox();
    assert_snapshot!(s.pisess("tree ./s.jsonl --renderer todo").done().fails(2), @"
    invalid value 'todo' for '--renderer <TYPE=CMD>': give a custom type and a command, as in todo='jq …' (hint: see `pisess tree --help`)
    ");
    assert_snapshot!(s.pisess("tree ./s.jsonl --renderer '=cat'").done().fails(2), @"
    invalid value '=cat' for '--renderer <TYPE=CMD>': give a custom type and a command, as in todo='jq …' (hint: see `pisess tree --help`)
    ");
}
