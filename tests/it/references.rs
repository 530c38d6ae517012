//! Entry references, which every command accepts.

use crate::sandbox::{Sandbox, fixture, session, user};
use insta::assert_snapshot;

/// Returns the id that a reference names, by `path --ids`; `root` for the empty conversation.
fn named(s: &Sandbox, file: &str, reference: &str) -> String {
    let ids = s.run(&format!("path -q ./{file} --ids -- '{reference}'"));
    ids.lines().last().unwrap_or("root").to_owned()
}

#[test]
fn every_form() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for (reference, id) in [
        ("@", "1a2b3c07"),
        ("root", "root"),
        (":2", "1a2b3c01"),
        (":8", "1a2b3c07"),
        ("id:1a2b3c05", "1a2b3c05"),
        ("label:start", "1a2b3c01"),
        ("1a2b3c05", "1a2b3c05"),
        ("start", "1a2b3c01"),
        (":$", "1a2b3c07"),
        ("@^", "1a2b3c06"),
        ("@^^", "1a2b3c02"),
        ("@~1", "1a2b3c06"),
        ("@~3", "1a2b3c01"),
        ("@~4", "root"),
        ("@~50", "root"),
        ("@~0", "1a2b3c07"),
        ("id:1a2b3c07^^", "1a2b3c03"),
        ("1a2b3c07~3", "1a2b3c02"),
        ("1a2b3c07~4", "1a2b3c01"),
        ("start+1", "1a2b3c02"),
        ("start+2", "1a2b3c06"),
        ("start+3", "1a2b3c07"),
        ("root+1", "1a2b3c01"),
        ("1a2b3c03+1", "1a2b3c06"),
        ("1a2b3c04+1", "1a2b3c05"),
        ("@~3+2", "1a2b3c06"),
        ("@+0", "1a2b3c07"),
        ("start^", "root"),
        ("root^", "root"),
        ("root~3", "root"),
        ("@^{user}", "1a2b3c06"),
        ("@^{assistant}", "1a2b3c07"),
        ("@^{label}", "1a2b3c03"),
        ("@^{message}", "1a2b3c07"),
        ("@^{answer}", "1a2b3c07"),
        ("@^^{answer}", "1a2b3c02"),
        ("@^{user}^{assistant}", "1a2b3c02"),
        ("@^^{user}", "1a2b3c06"),
        ("1a2b3c05~1^{user}", "1a2b3c04"),
        ("@^{label}~1^{user}", "1a2b3c01"),
    ] {
        assert_eq!(
            named(&s, "two-branches.jsonl", reference),
            id,
            "{reference}"
        );
    }
}

/// Returns a sandbox whose session ends with a label, a name and a setting.
fn with_bookkeeping_at_the_end() -> Sandbox {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("label -q ./two-branches.jsonl 1a2b3c04 tissue");
    s.run("append -q ./two-branches.jsonl --name Kites");
    s.run("append -q ./two-branches.jsonl --thinking high");
    s
}

#[test]
fn at_skips_labels_names_and_settings_in_every_command() {
    let s = with_bookkeeping_at_the_end();
    let file = "two-branches.jsonl";
    for (reference, id) in [
        ("@", "1a2b3c07"),
        ("@~0", "1a2b3c07"),
        ("@^", "1a2b3c06"),
        ("@~2", "1a2b3c02"),
        ("@^{assistant}", "1a2b3c07"),
        ("1a2b3c02+2", "1a2b3c07"),
    ] {
        assert_eq!(named(&s, file, reference), id, "{reference}");
    }
    let leaf = named(&s, file, ":$");
    assert!(
        s.run(&format!("show ./{file} {leaf}"))
            .contains("thinking_level_change")
    );
    assert_eq!(
        named(&s, file, "@^{label}"),
        named(&s, file, "@~0^{label}"),
        "what follows @ can be found from it"
    );
    assert!(
        s.run(&format!("show ./{file} '@^{{session_info}}'"))
            .contains("Kites")
    );

    for (line, expected) in [
        ("show --json ./two-branches.jsonl @", "\"id\":\"1a2b3c07\""),
        ("show ./two-branches.jsonl", "1a2b3c07"),
        ("path --ids ./two-branches.jsonl @", "1a2b3c07\n"),
        ("tree ./two-branches.jsonl @", "spar.  ← active"),
        (
            "label -n --json ./two-branches.jsonl @ end",
            "\"targetId\":\"1a2b3c07\"",
        ),
        (
            "label -n --json ./two-branches.jsonl @^ end",
            "\"targetId\":\"1a2b3c06\"",
        ),
        (
            "edit -n --json --omit ./two-branches.jsonl @",
            "\"targetId\":\"1a2b3c07\"",
        ),
        ("pick -n --json ./two-branches.jsonl @", "A metre and more"),
        (
            "pop -n --json ./two-branches.jsonl @^",
            "Washi then. How big?",
        ),
        (
            "switch -n --json ./two-branches.jsonl @~2",
            "\"to\":\"1a2b3c02\"",
        ),
        (
            "summarize --prepare ./two-branches.jsonl @~2",
            "\"targetId\":\"1a2b3c02\"",
        ),
        (
            "compact --prepare --first-kept @ ./two-branches.jsonl",
            "\"firstKeptEntryId\":\"1a2b3c07\"",
        ),
        (
            "prune -n --force --branch @ ./two-branches.jsonl",
            "1a2b3c07",
        ),
        (
            "fork -o - ./two-branches.jsonl @",
            "spar.\"}],\"stopReason\":\"stop\"}}\n",
        ),
        (
            "export -q --as markdown -o - ./two-branches.jsonl @",
            "bamboo spar",
        ),
    ] {
        let printed = s.run(line);
        assert!(printed.contains(expected), "{line}: {printed}");
    }
    assert!(!s.run("path --ids ./two-branches.jsonl @").contains(&leaf));
    let thinking = |line: &str| s.run(line).contains("\"thinkingLevel\":\"high\"");
    assert!(
        thinking("context ./two-branches.jsonl"),
        "settings at the end apply"
    );
    assert!(!thinking("context ./two-branches.jsonl @"));
}

/// Returns a reply that consists of these blocks.
fn reply(id: &str, parent: &str, blocks: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"assistant","content":[{blocks}],"stopReason":"stop"}}}}"#
    )
}

#[test]
fn text_names_the_newest_entry_that_contains_it() {
    let s = Sandbox::new();
    let text = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let think = r#"{"type":"thinking","thinking":"Only the model sees Secret Tides."}"#;
    let call = r#"{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"grep 'tide gaps' a"}}"#;
    let label = r#"{"type":"label","id":"llll0001","parentId":"cccc0002","timestamp":"2026-01-01T00:00:09.000Z","targetId":"aaaa0001","label":"Tide GAPS"}"#;
    s.put(
        "a.jsonl",
        session(&[
            user("aaaa0001", None, "Fill the tide gaps, please... quickly"),
            reply("aaaa0002", "aaaa0001", &text("Which\\n  gaps^?")),
            user(
                "bbbb0001",
                Some("aaaa0002"),
                "Tide gaps of Dover. Straße 12",
            ),
            reply("bbbb0002", "bbbb0001", &text("Only on this branch")),
            user("cccc0001", Some("aaaa0002"), "All of them"),
            reply("cccc0002", "cccc0001", &format!("{think},{call}")),
            label.to_owned(),
        ]),
    );
    for (reference, id) in [
        // Neither the call, which was not said, nor the label, which is not of the conversation.
        (":/tide gaps", "aaaa0001"),
        (":/GREP", "cccc0002"),
        (":/secret tides", "cccc0002"),
        (":/which gaps", "aaaa0002"),
        // Only on the other branch.
        (":/gaps of dover", "bbbb0001"),
        (":/STRAẞE 12", "bbbb0001"),
        (":/Only on", "bbbb0002"),
        // A suffix counts if the whole text is nowhere.
        (":/gaps^", "aaaa0002"),
        (":/gaps^^", "aaaa0001"),
        (":/only on^{user}", "bbbb0001"),
        (":/them+1", "cccc0002"),
        (":/please... quick", "aaaa0001"),
        // The first on the path, wherever it is said, and the second.
        (":1/gaps", "aaaa0001"),
        (":2/gaps", "aaaa0002"),
        (":2/gaps^", "aaaa0001"),
        (":1/secret tides", "cccc0002"),
        (":2/tide gaps", "cccc0002"),
    ] {
        assert_eq!(named(&s, "a.jsonl", reference), id, "{reference}");
    }
    for (range, ids) in [
        (":/tide gaps..:/all of", "aaaa0002\ncccc0001\n"),
        (":/which gaps..", "cccc0001\ncccc0002\nllll0001\n"),
        ("root..:/please... quick", "aaaa0001\n"),
    ] {
        assert_eq!(
            s.run(&format!("path --ids ./a.jsonl '{range}'")),
            ids,
            "{range}"
        );
    }

    assert_snapshot!(s.unchanged("show ./a.jsonl ':/no such words'").fails(2), @r#"./a.jsonl: no entry of the conversation contains "no such words" (hint: `pisess grep` also searches for expressions; `pisess tree` lists the entries)"#);
    for (missing, message) in [
        (
            ":1/gaps of dover",
            r#"no entry on the path to the leaf contains "gaps of dover""#,
        ),
        (
            ":9/gaps^",
            r#"fewer than 9 entries on the path to the leaf contain "gaps" (hint: `pisess grep`"#,
        ),
        (
            ":1/",
            r#"no entry or label ":1/" (hint: give words of the entry,"#,
        ),
    ] {
        let failure = s.unchanged(&format!("show ./a.jsonl '{missing}'")).fails(2);
        assert!(failure.contains(message), "{failure}");
    }
    // A number has no sign, and begins with no zero.
    for missing in [":0/gaps", ":+1/gaps", ":01/gaps"] {
        let failure = s.unchanged(&format!("show ./a.jsonl '{missing}'")).fails(2);
        assert!(failure.contains("no entry or label"), "{failure}");
    }
    assert_snapshot!(s.unchanged("show ./a.jsonl ':/ '").fails(2), @r#"./a.jsonl: no entry or label ":/ " (hint: give words of the entry, such as ':/the failing test')"#);
    assert_snapshot!(s.unchanged("show ./a.jsonl 'tide gaps'").fails(2), @r#"./a.jsonl: no entry or label "tide gaps" (hint: `':/WORDS'` is the newest entry that contains these words)"#);
}

/// `label` refuses such a label, but an older file may have one.
#[test]
fn a_label_with_the_form_of_a_text_is_found_if_no_entry_has_the_text() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let label = r#"{"type":"label","id":"aaaa0001","parentId":"1a2b3c07","timestamp":"2026-01-01T00:00:09.000Z","targetId":"1a2b3c02","label":":/x..y"}"#;
    let text = s.text("two-branches.jsonl") + label + "\n";
    s.put("labelled.jsonl", text);
    assert!(
        s.run("show ./labelled.jsonl ':/x..y'")
            .contains("Tissue paper is light")
    );
}

/// Every command takes the form, also where the reference is the value of an option.
#[test]
fn text_names_an_entry_in_every_command() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for (line, expected) in [
        (
            "show --json ./two-branches.jsonl ':/washi then'",
            "\"id\":\"1a2b3c06\"",
        ),
        ("tree ./two-branches.jsonl ':/washi then..'", "1a2b3c07"),
        (
            "edit -n --json --omit ./two-branches.jsonl ':/washi then'",
            "\"targetId\":\"1a2b3c06\"",
        ),
        (
            "switch -n --json ./two-branches.jsonl ':/washi then^'",
            "\"to\":\"1a2b3c03\"",
        ),
        (
            "pop -n --json ./two-branches.jsonl ':/washi then'",
            "Washi then. How big?",
        ),
        (
            "append -n --json ./two-branches.jsonl --at ':/washi then' --user Hm",
            "\"parentId\":\"1a2b3c06\"",
        ),
        (
            "compact --prepare --first-kept ':/washi then' ./two-branches.jsonl",
            "\"firstKeptEntryId\":\"1a2b3c06\"",
        ),
        ("grep -c metre ./two-branches.jsonl ':/washi then..'", "1"),
        ("fork -o - ./two-branches.jsonl ':/washi then'", "1a2b3c06"),
    ] {
        let printed = s.run(line);
        assert!(printed.contains(expected), "{line}: {printed}");
    }
    let done = s
        .pisess("label ./two-branches.jsonl ':/washi then' asked")
        .done();
    assert_snapshot!(done.stderr, @"pisess: the entry is 1a2b3c06  user: Washi then. How big?");
    assert_eq!(named(&s, "two-branches.jsonl", "asked"), "1a2b3c06");
    // The label contains the words, too, but is not of the conversation.
    s.run("label -q --move ./two-branches.jsonl ':/washi then' 'washi then'");
    assert_eq!(named(&s, "two-branches.jsonl", ":/washi then"), "1a2b3c06");
}

/// New entries continue after the labels and settings at the end, and not beside them.
#[test]
fn what_is_appended_at_at_follows_the_leaf() {
    let s = with_bookkeeping_at_the_end();
    let leaf = named(&s, "two-branches.jsonl", ":$");
    let parent = format!("\"parentId\":\"{leaf}\"");
    for line in [
        "append -n --json ./two-branches.jsonl --user Hm",
        "append -n --json ./two-branches.jsonl --at @ --user Hm",
        "append -n --json ./two-branches.jsonl --at @~0 --user Hm",
        "pick -n --json ./two-branches.jsonl @",
        "pick -n --json ./two-branches.jsonl 1a2b3c05 --at @",
        "edit -n --json --omit ./two-branches.jsonl @",
        "label -n --json ./two-branches.jsonl @ end",
        "summarize -n --json ./two-branches.jsonl @ --summary Kites.",
        "pop -n --json ./two-branches.jsonl @ --summary Kites.",
        "merge -n --json ./two-branches.jsonl tissue",
    ] {
        let printed = s.run(line);
        assert!(printed.contains(&parent), "{line}: {printed}");
    }
    let appended = s.run("append -n --json ./two-branches.jsonl --at 1a2b3c07 --user Hm");
    assert!(appended.contains("\"parentId\":\"1a2b3c07\""), "{appended}");
    for line in [
        "switch -n ./two-branches.jsonl @",
        "switch -n ./two-branches.jsonl @~0",
    ] {
        assert!(s.run(line).starts_with("nothing to do"), "{line}");
    }
}

#[test]
fn at_is_root_in_an_empty_conversation() {
    let s = Sandbox::new();
    let setting = r#"{"type":"thinking_level_change","id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","thinkingLevel":"low"}"#;
    s.put("a.jsonl", session(&[setting]));
    assert_eq!(named(&s, "a.jsonl", "@"), "root");
    assert_eq!(named(&s, "a.jsonl", ":$"), "aaaa0001");
    assert_snapshot!(s.unchanged("label ./a.jsonl @ x").fails(2), @"./a.jsonl: @ is not an entry (hint: root is the position before the first entry; give an entry)");
    s.put("b.jsonl", session(&[""; 0]));
    assert_snapshot!(s.unchanged("path ./b.jsonl :$").fails(2), @"./b.jsonl: the session has no entries (hint: the conversation is empty)");
}

/// An answer ended normally, and has text.
#[test]
fn the_last_answer() {
    let s = Sandbox::new();
    let reply = |id: &str, parent: &str, content: &str, reason: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:02.000Z","message":{{"role":"assistant","content":[{content}],"stopReason":"{reason}"}}}}"#
        )
    };
    let text = r#"{"type":"text","text":"Yes."}"#;
    let call = r#"{"type":"toolCall","id":"c","name":"ls","arguments":{}}"#;
    let both = format!("{text},{call}");
    s.put(
        "a.jsonl",
        session(&[
            user("aaaa0001", None, "one"),
            reply("aaaa0002", "aaaa0001", text, "stop"),
            reply("aaaa0003", "aaaa0002", &both, "toolUse"),
            reply("aaaa0004", "aaaa0003", text, "aborted"),
            reply("aaaa0005", "aaaa0004", text, "error"),
            reply("aaaa0006", "aaaa0005", text, "length"),
            reply(
                "aaaa0007",
                "aaaa0006",
                r#"{"type":"text","text":" "}"#,
                "stop",
            ),
        ]),
    );
    assert_eq!(named(&s, "a.jsonl", "@^{answer}"), "aaaa0002");
    assert_snapshot!(s.unchanged("path ./a.jsonl aaaa0001^{answer}").fails(2), @r#"./a.jsonl: no assistant message at or above "aaaa0001" ended normally with a text (hint: elsewhere in the tree: aaaa0002)"#);
}

#[test]
fn fewer_entries_follow() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("show ./two-branches.jsonl @+1").fails(2), @r#"./two-branches.jsonl: no entry follows "@" (hint: `pisess show --children` lists what follows on every branch)"#);
    assert_snapshot!(s.unchanged("show ./two-branches.jsonl start+9").fails(2), @r#"./two-branches.jsonl: only 3 entries follow "start" (hint: `pisess show --children` lists what follows on every branch)"#);
}

#[test]
fn a_prefix_of_four_characters() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_eq!(named(&s, "tour.jsonl", "0d9a"), "0d9a6c31");
    assert_eq!(named(&s, "tour.jsonl", "0d9a6c3^"), "b7e3d510");
    assert_eq!(s.unchanged("path ./tour.jsonl 0d9").code, 2);
    assert_eq!(
        s.unchanged("path ./tour.jsonl 0D9A").code,
        2,
        "all is case-sensitive"
    );
}

#[test]
fn ids_of_any_kind_and_the_whole_string_first() {
    let s = Sandbox::with(&["hazards/ids-of-any-kind.jsonl"]);
    let file = "ids-of-any-kind.jsonl";
    for (reference, id) in [
        ("-rf", "-rf"),
        ("V1StGXR8_Z", "V1StGXR8_Z"),
        ("V1St", "V1StGXR8_Z"),
        ("018f3c6a-7b1e", "018f3c6a-7b1e-7000-8000-000000000001"),
        ("b^", "b^"),
        ("b^^", "018f3c6a-7b1e-7000-8000-000000000001"),
        ("id:root", "root"),
        ("id:root^", "b^"),
        ("é à", "é à"),
    ] {
        assert_eq!(named(&s, file, reference), id, "{reference}");
    }
    assert_eq!(
        s.run("path -q ./ids-of-any-kind.jsonl root --ids"),
        "",
        "root is the empty conversation"
    );
}

#[test]
fn an_id_comes_before_a_label_and_a_label_before_a_prefix() {
    let s = Sandbox::new();
    let label = |id: &str, target: &str, name: &str| {
        format!(
            r#"{{"type":"label","id":"{id}","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:09.000Z","targetId":"{target}","label":"{name}"}}"#
        )
    };
    s.put(
        "a.jsonl",
        session(&[
            user("aaaa0001", None, "one"),
            user("bbbb0002", Some("aaaa0001"), "two"),
            label("llll0001", "aaaa0001", "bbbb0002"),
            label("llll0002", "bbbb0002", "llll"),
            label("llll0003", "llll0001", "odd^"),
        ]),
    );
    assert_eq!(named(&s, "a.jsonl", "bbbb0002"), "bbbb0002");
    assert_eq!(named(&s, "a.jsonl", "label:bbbb0002"), "aaaa0001");
    assert_eq!(named(&s, "a.jsonl", "llll"), "bbbb0002");
    assert_eq!(named(&s, "a.jsonl", "odd^"), "llll0001");
    assert_eq!(named(&s, "a.jsonl", "odd^^"), "aaaa0001");
}

#[test]
fn of_several_entries_with_one_id_the_last() {
    let s = Sandbox::with(&["hazards/duplicate-id.jsonl"]);
    let done = s
        .pisess("path -q --json ./duplicate-id.jsonl dddd0002")
        .done()
        .quiet();
    assert!(
        done.lines()
            .last()
            .unwrap()
            .contains("the second of the name")
    );
    let done = s
        .pisess("path -q --json ./duplicate-id.jsonl :3")
        .done()
        .quiet();
    assert!(
        done.lines()
            .last()
            .unwrap()
            .contains("the first of the name")
    );
}

#[test]
fn unknown_with_near_misses() {
    let s = Sandbox::with(&["two-branches.jsonl", "tour.jsonl"]);
    assert_snapshot!(s.unchanged("path ./tour.jsonl 0d9a6c13").fails(2), @r#"./tour.jsonl: no entry or label "0d9a6c13" (hint: did you mean 0d9a6c31?)"#);
    assert_snapshot!(s.unchanged("path ./tour.jsonl gren").fails(2), @r#"./tour.jsonl: no entry or label "gren" (hint: did you mean green?)"#);
    assert_snapshot!(s.unchanged("path ./tour.jsonl no-idea").fails(2), @r#"./tour.jsonl: no entry or label "no-idea" (hint: `pisess tree --filter all` lists the ids)"#);
    assert_snapshot!(s.unchanged("show ./tour.jsonl 0d9a6c31:src/clock.rs").fails(2), @r#"./tour.jsonl: no entry or label "0d9a6c31:src/clock.rs" (hint: `pisess show --file PATH SESSION REF` prints a file as it was at REF)"#);
    assert_snapshot!(s.unchanged("path ./tour.jsonl id:green").fails(2), @r#"./tour.jsonl: no entry or label "green" (hint: did you mean green?)"#);
    assert_snapshot!(s.unchanged("path ./tour.jsonl label:0d9a6c31").fails(2), @r#"./tour.jsonl: no entry or label "0d9a6c31" (hint: did you mean 0d9a6c31?)"#);
    assert_snapshot!(s.unchanged("path ./tour.jsonl ''").fails(2), @r#"./tour.jsonl: no entry or label "" (hint: `pisess tree --filter all` lists the ids)"#);
    assert_snapshot!(s.unchanged("path ./tour.jsonl @~x").fails(2), @r#"./tour.jsonl: no entry or label "@~x" (hint: `pisess tree --filter all` lists the ids)"#);
}

#[test]
fn ambiguous_with_its_candidates() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl 1a2b").fails(2), @r#"./two-branches.jsonl: "1a2b" matches several entries: 1a2b3c01, 1a2b3c02, 1a2b3c03, 1a2b3c04, 1a2b3c05 (hint: give more of the id, or its line as `:12`)"#);
    // Other tools may set one label on several entries.
    let label = |id: &str, target: &str| {
        format!(
            r#"{{"type":"label","id":"{id}","parentId":null,"targetId":"{target}","label":"twice"}}"#
        )
    };
    let labels = format!(
        "{}\n{}\n",
        label("llll0001", "1a2b3c05"),
        label("llll0002", "1a2b3c07")
    );
    s.put(
        "two-branches.jsonl",
        [fixture("two-branches.jsonl"), labels.into_bytes()].concat(),
    );
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl twice").fails(2), @r#"./two-branches.jsonl: "twice" matches several entries: 1a2b3c05, 1a2b3c07 (hint: several entries have this label; name one of them by its id)"#);
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl label:twice").fails(2), @r#"./two-branches.jsonl: "twice" matches several entries: 1a2b3c05, 1a2b3c07 (hint: several entries have this label; name one of them by its id)"#);
}

/// As `check`, other commands than `show` quote a damaged line without secrets.
#[test]
fn a_reference_to_a_damaged_line_quotes_no_secret() {
    let s = Sandbox::new();
    let names = r#"{"type":"message","id":"u1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"DB_PASSWORD=kX8vQ2mWz7LrT4"}}"#;
    let with_secret = r#"xx the key API_PASSWORD=\"aB3dE5fG7hJ9kL\" is ok"}]}}"#;
    let of_other_line = "xx then kX8vQ2mWz7LrT4 is ok\"}]}}";
    s.put(
        "s.jsonl",
        crate::sandbox::session(&[names, with_secret, of_other_line, "xx the tide"]),
    );
    for line in [":3", ":4"] {
        for command in [
            "label -q -n ./s.jsonl REF x",
            "switch -q -n ./s.jsonl REF",
            "path -q ./s.jsonl REF",
        ] {
            let failure = s.unchanged(&command.replace("REF", line)).fails(2);
            let hint = "(hint: the line has: (not quoted, because it has a secret))";
            assert!(failure.ends_with(hint), "{failure}");
        }
    }
    let failure = s.unchanged("path -q ./s.jsonl :5").fails(2);
    assert!(failure.ends_with("(hint: the line has: the)"), "{failure}");
    let shown = s.unchanged("show -q ./s.jsonl :3").fails(2);
    assert!(shown.contains("aB3dE5fG7hJ9kL"), "{shown}");
}

#[test]
fn none_of_that_kind_and_no_entry_on_that_line() {
    let s = Sandbox::with(&["two-branches.jsonl", "hazards/blank-lines.jsonl"]);
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl @^{compaction}").fails(2), @r#"./two-branches.jsonl: no entry at or above "@" has the role or type "compaction" (hint: `pisess path` lists the entries above, `pisess tree` also other branches; a role is, for example, user, and a type compaction)"#);
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl root^{user}").fails(2), @r#"./two-branches.jsonl: no entry at or above "root" has the role or type "user" (hint: elsewhere in the tree: 1a2b3c06, 1a2b3c04, 1a2b3c01)"#);
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl :1").fails(2), @r#"./two-branches.jsonl: no entry on line 1 (hint: `pisess tree --filter all --json` lists the lines)"#);
    assert_snapshot!(s.unchanged("path ./two-branches.jsonl :99").fails(2), @"./two-branches.jsonl: no entry on line 99 (hint: `pisess tree --filter all --json` lists the lines)");
    // Lines are those of the file, including blank ones.
    assert_eq!(named(&s, "blank-lines.jsonl", ":3"), "u0000001");
    assert_eq!(s.unchanged("path ./blank-lines.jsonl :2").code, 2);
}

#[test]
fn everywhere_an_entry_is_named() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for line in [
        "tree ./two-branches.jsonl nothing",
        "path ./two-branches.jsonl nothing",
        "label ./two-branches.jsonl nothing",
        "label ./two-branches.jsonl nothing name",
        "label ./two-branches.jsonl nothing --clear",
        "fork ./two-branches.jsonl nothing",
        "fork ./two-branches.jsonl nothing --before",
        "compact ./two-branches.jsonl --first-kept nothing",
        "summarize ./two-branches.jsonl nothing",
        "summarize ./two-branches.jsonl @ --from nothing",
        "switch ./two-branches.jsonl nothing",
        "pop ./two-branches.jsonl nothing",
        "show ./two-branches.jsonl @ nothing",
        "show ./two-branches.jsonl nothing --children",
        "fork ./two-branches.jsonl nothing --subtree",
        "context ./two-branches.jsonl nothing",
    ] {
        let said = s.unchanged(line).fails(2);
        assert!(
            said.starts_with("./two-branches.jsonl: no entry or label \"nothing\" (hint: "),
            "{line}: {said}"
        );
    }
}
