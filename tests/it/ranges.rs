//! Ranges of entries, in each command that takes them.

use crate::sandbox::{Sandbox, session, user};
use insta::assert_snapshot;

/// Returns the last characters of the ids in a range, by `path --ids`.
fn ids(s: &Sandbox, range: &str) -> String {
    let printed = s.run(&format!("path --ids ./two-branches.jsonl {range}"));
    let ends = printed.lines().map(|id| &id[id.len() - 1..]);
    ends.collect::<Vec<_>>().join(" ")
}

#[test]
fn the_forms_of_a_range() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for (range, entries) in [
        ("1a2b3c02..1a2b3c07", "3 6 7"),
        ("start..@", "2 3 6 7"),
        ("root..@^", "1 2 3 6"),
        ("root..", "1 2 3 6 7"),
        ("start..", "2 3 6 7"),
        ("@~2..", "3 6 7"),
        ("@^..@", "7"),
        (":2..:4", "2 3"),
        ("1a2b3c04..", "5"),
        ("1a2b3c02..1a2b3c05", "3 4 5"),
        ("start+1..@^{user}", "3 6"),
        ("--last 1", "7"),
        ("--last 2", "3 6 7"),
        ("--last 3", "2 3 6 7"),
        ("--last 99", "1 2 3 6 7"),
    ] {
        assert_eq!(ids(&s, range), entries, "{range}");
    }
    s.run("label -q ./two-branches.jsonl @ end");
    assert_eq!(
        s.run("path --ids ./two-branches.jsonl @^..")
            .lines()
            .count(),
        2,
        "a range to the leaf contains the bookkeeping at the end"
    );
    assert_eq!(ids(&s, "@^..@"), "7");
}

#[test]
fn ranges_that_are_refused() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl 1a2b3c05..@").fails(2), @r#"./two-branches.jsonl: "1a2b3c05" and "@" are on different branches (hint: a range is on one path, such as 1a2b3c03..@, which begins where they part)"#);
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl @..start").fails(2), @r#"./two-branches.jsonl: "start" is above "@" (hint: a range goes down the path: start..@)"#);
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl ..start").fails(2), @"./two-branches.jsonl: the range has no start (hint: for everything up to the end, give root..start)");
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl nothing..").fails(2), @r#"./two-branches.jsonl: no entry or label "nothing" (hint: `pisess tree --filter all` lists the ids)"#);
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl start..nothing").fails(2), @r#"./two-branches.jsonl: no entry or label "nothing" (hint: `pisess tree --filter all` lists the ids)"#);
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl @..").fails(1), @"./two-branches.jsonl: @.. contains no entry (hint: a range begins after its first REF; `pisess path` lists the entries)");
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl --last 0").fails(2), @"invalid value '0' for '--last <N>': expected a number of entries, 1 or more (hint: see `pisess path --help`)");
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl --last 2 @").fails(2), @"the argument '--last <N>' cannot be used with '[REF]' (hint: see `pisess path --help`)");
    assert_snapshot!(s.unchanged("show --children ./two-branches.jsonl start..").fails(2), @"--children takes entries, not a range (hint: `pisess path` lists the entries of a range)");
    assert_snapshot!(s.unchanged("label ./two-branches.jsonl @ a..b").fails(2), @r#""a..b" reads as a reference and cannot be a label (hint: choose another label: not -, @, root, :…, id:… or label:…, without a suffix such as ^, ~3 or +3, and without `..`)"#);
    for line in [
        "tree ./two-branches.jsonl @..start",
        "show ./two-branches.jsonl @..start",
        "context ./two-branches.jsonl @..start",
        "export -o - ./two-branches.jsonl @..start",
        "grep kite ./two-branches.jsonl @..start",
        "redact -o - ./two-branches.jsonl @..start",
    ] {
        let said = s.unchanged(line).fails(2);
        assert!(
            said.starts_with("./two-branches.jsonl: \"start\" is above \"@\" (hint: "),
            "{line}: {said}"
        );
    }
}

/// The whole argument is tried first.
#[test]
fn a_label_with_dots_is_an_entry() {
    let s = Sandbox::new();
    let label = r#"{"type":"label","id":"llll0001","parentId":"aaaa0002","timestamp":"2026-01-01T00:00:09.000Z","targetId":"aaaa0001","label":"wait.."}"#;
    s.put(
        "two-branches.jsonl",
        session(&[
            user("aaaa0001", None, "one"),
            user("aaaa0002", Some("aaaa0001"), "two"),
            label.to_owned(),
        ]),
    );
    assert_eq!(ids(&s, "wait.."), "1");
    assert_eq!(ids(&s, "aaaa0001.."), "2 1");
}

/// The text of `:/TEXT` may contain two dots, or end with a dot before the dots of the range.
#[test]
fn a_text_with_dots_begins_or_ends_a_range() {
    let s = Sandbox::new();
    s.put(
        "two-branches.jsonl",
        session(&[
            user("aaaa0001", None, "That is all."),
            user("aaaa0002", Some("aaaa0001"), "Wait.. then go on"),
            user("aaaa0003", Some("aaaa0002"), "Now it is done."),
        ]),
    );
    for (range, entries) in [
        ("':/That is all...'", "2 3"),
        ("':/that is all...:/wait.. then'", "2"),
        ("':/wait.. then..'", "3"),
        ("':/wait...:/done.'", "3"),
        ("'@~1..:/it is done.'", "3"),
        ("':/wait.. then'", "1 2"),
    ] {
        assert_eq!(ids(&s, range), entries, "{range}");
    }
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl ':/That is most...'").fails(2), @r#"./two-branches.jsonl: no entry of the conversation contains "That is most" (hint: `pisess grep` also searches for expressions; `pisess tree` lists the entries)"#);
}

#[test]
fn show_prints_the_conversation_of_a_range() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("show ./two-branches.jsonl start..@^"), @r"
    1a2b3c02  assistant · 2026-01-01 00:00
      line 3 · parent 1a2b3c01
        Tissue paper is light, washi is strong.

    1a2b3c06  user · 2026-01-01 00:00
      line 7 · parent 1a2b3c03
        Washi then. How big?
    ");
    assert_eq!(
        s.run("show ./two-branches.jsonl --last 2"),
        s.run("show ./two-branches.jsonl @^ @")
    );
    assert_eq!(
        s.run("show --json ./two-branches.jsonl start @^.."),
        s.run("show --json ./two-branches.jsonl start @")
    );
    assert_snapshot!(s.run("show --as markdown ./two-branches.jsonl @~2.."), @r"
    Washi then. How big?

    A metre and more, with a bamboo spar.
    ");
    assert_snapshot!(s.unchanged("show ./two-branches.jsonl 1a2b3c02..1a2b3c03").fails(1), @"./two-branches.jsonl: 1a2b3c02..1a2b3c03 contains only settings and bookkeeping (hint: `pisess path` lists them)");
}

#[test]
fn tree_draws_only_the_range() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("tree ./two-branches.jsonl --last 3"), @r"
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.  ← active
    ");
    assert_snapshot!(s.run("tree ./two-branches.jsonl start..@^"), @r"
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c06  • user: Washi then. How big?  (the leaf is below, not shown)
    ");
    assert_snapshot!(s.run("tree ./two-branches.jsonl 1a2b3c02..1a2b3c05"), @r"
    1a2b3c04  user: Tissue paper then. How big?
    1a2b3c05  assistant: Half a metre; larger ones tear.
    ");
    let rows = s.run("tree --json ./two-branches.jsonl @~2..@^");
    assert_eq!(rows.lines().count(), 1);
    assert!(
        rows.contains("\"id\":\"1a2b3c06\"") && rows.contains("\"leaf\":false"),
        "{rows}"
    );
}

#[test]
fn context_has_the_messages_of_the_range() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let whole = s.run("context --as llm ./tour.jsonl");
    let last = s.run("context --as llm --last 1 ./tour.jsonl");
    assert!(whole.ends_with(&last[1..]), "{last}");
    assert_eq!(last.matches("\"role\":").count(), 1, "{last}");

    let tokens = |arguments: &str| -> u64 {
        let printed = s.run(&format!("context --tokens ./tour.jsonl {arguments}"));
        printed.trim().parse().unwrap()
    };
    assert_eq!(
        tokens("@~3..@~1") + tokens("@^.."),
        tokens("@~3.."),
        "estimates of parts add up"
    );
    let settings = s.run("context --last 1 ./tour.jsonl");
    assert!(settings.contains("\"thinkingLevel\":\"low\""), "{settings}");
}

#[test]
fn every_export_has_only_the_range() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("export --as markdown -o - ./two-branches.jsonl start..@^"), @r"
    # Washi then. How big?

    Tissue paper is light, washi is strong.

    ## Washi then. How big?

    **You** · *2026-01-01 00:00 UTC*
    ");
    for format in ["html", "markdown", "atif"] {
        let line = format!("export --as {format} -o - ./two-branches.jsonl");
        for arguments in ["1a2b3c02..@^", "1a2b3c03..1a2b3c06"] {
            let export = s.run(&format!("{line} {arguments}"));
            assert!(export.contains("Washi then"), "{format}");
            for other in ["Which paper", "strong", "Half a metre", "bamboo"] {
                assert!(!export.contains(other), "{format}: {other}");
            }
        }
        let export = s.run(&format!("{line} -q --last 1"));
        assert!(
            export.contains("bamboo") && !export.contains("Washi then"),
            "{format}"
        );
    }
    let page = s.run("export --static -q -o - ./two-branches.jsonl --last 1");
    assert!(page.contains("bamboo") && !page.contains("Washi then"));
    assert_snapshot!(s.unchanged("export --attach -o a.html ./two-branches.jsonl @^..").fails(2), @"--attach needs a session that begins at the root (hint: omit --attach, or give one REF to export the path to it)");
    assert_snapshot!(s.unchanged("export -o - ./two-branches.jsonl @..").fails(1), @"./two-branches.jsonl: @.. contains no entry (hint: a range begins after its first REF; `pisess path` lists the entries)");
}

#[test]
fn grep_searches_only_the_range() {
    let s = Sandbox::with(&["two-branches.jsonl", "tour.jsonl"]);
    assert_snapshot!(s.run("grep -i how ./two-branches.jsonl start.."), @"1a2b3c06:user: Washi then. How big?");
    assert_snapshot!(s.run("grep -i how ./two-branches.jsonl 1a2b3c02..1a2b3c05"), @"1a2b3c04:user: Tissue paper then. How big?");
    assert_eq!(s.run("grep -c a ./two-branches.jsonl @^.."), "1\n");
    assert_eq!(s.run("grep -c a ./two-branches.jsonl --last 2"), "3\n");
    assert_eq!(
        s.run("grep -c --last 1 a ./two-branches.jsonl ./tour.jsonl")
            .lines()
            .count(),
        2
    );
    assert_snapshot!(s.unchanged("grep paper ./two-branches.jsonl @..").fails(1), @"./two-branches.jsonl: @.. contains no entry (hint: a range begins after its first REF; `pisess path` lists the entries)");
    assert_snapshot!(s.unchanged("grep x ./two-branches.jsonl ./tour.jsonl start..").fails(2), @"start..: a range is a part of one session (hint: give one SESSION before the range; --last N applies to any number)");
    assert_snapshot!(s.unchanged("grep x --last 2 ./two-branches.jsonl start..").fails(2), @"a range cannot be combined with --last (hint: omit one of them)");
    assert_snapshot!(s.unchanged("grep x --follow ./two-branches.jsonl start..").fails(2), @"a range cannot be followed (hint: omit the range, or --follow)");
}

/// A secret that only an entry outside the range shows to be one is removed from the range, too.
#[test]
fn redact_copies_only_the_range() {
    let s = Sandbox::new();
    let key = "API_KEY=q7Zp2Lm9Xw4Rt8Vb3Nc6";
    s.put(
        "two-branches.jsonl",
        session(&[
            user("aaaa0001", None, &format!("export {key}")),
            user(
                "aaaa0002",
                Some("aaaa0001"),
                "I used q7Zp2Lm9Xw4Rt8Vb3Nc6 here",
            ),
            user("aaaa0003", Some("aaaa0002"), "and nothing here"),
        ]),
    );
    s.run("redact -q ./two-branches.jsonl aaaa0001.. -o ./copy.jsonl");
    assert_snapshot!(s.run("path --json ./copy.jsonl"), @r#"
    {"type":"message","id":"aaaa0002","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"I used [REDACTED:assigned-secret#1] here"}}
    {"type":"message","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"and nothing here"}}
    "#);
    assert_eq!(s.run("check -q ./copy.jsonl"), "");
    // Of an older session, a range is written as `migrate` would.
    let old = Sandbox::with(&["v1.jsonl"]);
    old.run("redact -q ./v1.jsonl :3.. -o ./copy.jsonl");
    assert_eq!(
        old.run("path --json ./copy.jsonl")
            .lines()
            .skip(1)
            .collect::<Vec<_>>(),
        old.run("path --json ./v1.jsonl :4..")
            .lines()
            .collect::<Vec<_>>()
    );
    s.run("redact -q --last 2 ./two-branches.jsonl -o ./same.jsonl");
    assert_eq!(
        s.run("path --json ./copy.jsonl"),
        s.run("path --json ./same.jsonl")
    );
    assert_eq!(
        s.run("redact -q -o - ./two-branches.jsonl aaaa0001..")
            .lines()
            .count(),
        3
    );
    assert_snapshot!(s.unchanged("redact --check ./two-branches.jsonl aaaa0001..").text(), @"./two-branches.jsonl:3: aaaa0002 message.content, 20 bytes: would become [REDACTED:assigned-secret#1]");
    assert_eq!(
        s.unchanged("redact -q --check --last 1 ./two-branches.jsonl")
            .code,
        0
    );
}
