//! `pisess edit`: what the model sees of an entry.

use crate::sandbox::{Sandbox, fixture, session, user};
use insta::assert_snapshot;

const CALL: &str = r#"{"type":"message","id":"cccc0001","parentId":"uuuu0001","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Both."},{"type":"toolCall","id":"c1","name":"read","arguments":{}},{"type":"toolCall","id":"c2","name":"ls","arguments":{}}],"stopReason":"toolUse"}}"#;

fn result(id: &str, parent: &str, call: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-01-01T00:00:03.000Z","message":{{"role":"toolResult","toolCallId":"{call}","toolName":"t","content":[{{"type":"text","text":"result of {call}"}}],"isError":false}}}}"#
    )
}

/// A question, two calls with their results, and another branch.
fn with_tools() -> Sandbox {
    let s = Sandbox::new();
    s.put(
        "a.jsonl",
        session(&[
            &user("uuuu0001", None, "look"),
            &user("uuuu0002", Some("uuuu0001"), "elsewhere"),
            CALL,
            &result("rrrr0001", "cccc0001", "c1"),
            &result("rrrr0002", "rrrr0001", "c2"),
        ]),
    );
    s
}

fn seen(s: &Sandbox, file: &str) -> String {
    s.run(&format!("context ./{file} --as text"))
}

/// The result shows in no row of the session, so it is reported.
#[test]
fn reports_what_the_model_sees() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let report = |options: &str| {
        let line = format!("edit ./two-branches.jsonl {options}");
        s.pisess(&line).done().stderr
    };
    assert_snapshot!(report("@ @^ --omit"), @"pisess: the next request omits 2 entries; `pisess context` prints what the model sees");
    assert_snapshot!(report("@ @^ --restore"), @"pisess: the next request has 2 entries as stored; `pisess context` prints what the model sees");
    assert_snapshot!(report("@ --replace x"), @"pisess: the next request has the new text; `pisess context` prints what the model sees");
    // Nothing was written.
    assert_snapshot!(report("@ --replace x"), @"pisess: nothing to do in ./two-branches.jsonl");
    assert_snapshot!(report("@ --omit -n"), @"pisess: 1a2b3c07 reads: A metre and more, with a bamboo spar.");
    assert_snapshot!(report("@ --omit --json"), @"");
}

#[test]
fn omitted_replaced_and_taken_back() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let before = seen(&s, "two-branches.jsonl");
    assert_snapshot!(s.run("edit -q ./two-branches.jsonl 1a2b3c06 @ --omit"), @"
    226b1b5c
    27aa2424
    ");
    assert_snapshot!(seen(&s, "two-branches.jsonl"), @"
    [User]: Which paper for a kite?

    [Assistant]: Tissue paper is light, washi is strong.
    ");
    assert_snapshot!(s.run("edit -q ./two-branches.jsonl 1a2b3c06 --replace 'Washi. How \"big\"?'"), @"b958585d");
    assert_snapshot!(s.run("edit -q ./two-branches.jsonl 1a2b3c02 --replace 'Either will do.'"), @"95d82c0b");
    assert_snapshot!(seen(&s, "two-branches.jsonl"), @r#"
    [User]: Which paper for a kite?

    [Assistant]: Either will do.

    [User]: Washi. How "big"?
    "#);
    assert_snapshot!(s.run("edit -q ./two-branches.jsonl 1a2b3c06 1a2b3c02 1a2b3c07 --restore"), @"
    cbc059f5
    7438758a
    1158ac1a
    ");
    assert_eq!(seen(&s, "two-branches.jsonl"), before);
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"
    {"type":"context_edit","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c06","replacement":null}
    {"type":"context_edit","id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c07","replacement":null}
    {"type":"context_edit","id":"b958585d","parentId":"27aa2424","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c06","replacement":{"content":"Washi. How \"big\"?"}}
    {"type":"context_edit","id":"95d82c0b","parentId":"b958585d","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c02","replacement":{"content":[{"type":"text","text":"Either will do."}]}}
    {"type":"context_edit","id":"cbc059f5","parentId":"95d82c0b","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c02","replacement":{"content":[{"type":"text","text":"Tissue paper is light, washi is strong."}]}}
    {"type":"context_edit","id":"7438758a","parentId":"cbc059f5","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c06","replacement":{"content":"Washi then. How big?"}}
    {"type":"context_edit","id":"1158ac1a","parentId":"7438758a","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c07","replacement":{"content":[{"type":"text","text":"A metre and more, with a bamboo spar."}]}}
    "#);
    assert!(
        s.bytes("two-branches.jsonl")
            .starts_with(&fixture("two-branches.jsonl"))
    );
}

#[test]
fn an_edit_holds_on_its_branch() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("edit -q ./two-branches.jsonl start --omit");
    assert!(
        !s.run("context ./two-branches.jsonl --as text")
            .contains("Which paper")
    );
    assert!(
        s.run("context ./two-branches.jsonl 1a2b3c05 --as text")
            .contains("Which paper")
    );
    assert_snapshot!(s.unchanged("edit ./two-branches.jsonl 1a2b3c05 --omit").fails(2), @"./two-branches.jsonl: 1a2b3c05 is not on the path to the leaf (hint: an edit applies to one branch; list its entries with `pisess path`)");
}

#[test]
fn omit_replace_restore_write_nothing_if_nothing_changes() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_eq!(
        s.unchanged("edit -q ./two-branches.jsonl start --restore")
            .quiet(),
        ""
    );
    s.run("edit -q ./two-branches.jsonl start --replace x");
    assert_eq!(
        s.unchanged("edit -q ./two-branches.jsonl start --replace x")
            .quiet(),
        ""
    );
    s.run("edit -q ./two-branches.jsonl start --omit");
    assert_eq!(
        s.unchanged("edit -q ./two-branches.jsonl start start --omit")
            .quiet(),
        ""
    );
    // Of several entries, only those that change get a line.
    assert_eq!(
        s.run("edit -q ./two-branches.jsonl start 1a2b3c02 --omit")
            .lines()
            .count(),
        1
    );
    s.run("edit -q ./two-branches.jsonl start --restore");
    assert_eq!(
        s.unchanged("edit -q ./two-branches.jsonl start --restore")
            .quiet(),
        ""
    );
}

#[test]
fn a_tool_call_and_its_results_are_one() {
    let s = with_tools();
    assert_snapshot!(s.unchanged("edit ./a.jsonl rrrr0001 --omit").fails(2), @"./a.jsonl: rrrr0001 would be omitted without the other half of a tool call (hint: omit them together: cccc0001 rrrr0001 rrrr0002)");
    assert_snapshot!(s.unchanged("edit ./a.jsonl cccc0001 --omit").fails(2), @"./a.jsonl: cccc0001 would be omitted without the other half of a tool call (hint: omit them together: cccc0001 rrrr0001 rrrr0002)");
    assert_snapshot!(s.unchanged("edit ./a.jsonl cccc0001 rrrr0002 --omit").fails(2), @"./a.jsonl: cccc0001 rrrr0002 would be omitted without the other half of a tool call (hint: omit them together: cccc0001 rrrr0001 rrrr0002)");
    assert_snapshot!(s.unchanged("edit ./a.jsonl cccc0001 --replace Neither").fails(2), @"./a.jsonl: cccc0001 would be replaced without losing tool calls that have results (hint: omit them together, and append the new text: cccc0001 rrrr0001 rrrr0002)");
    s.run("edit -q ./a.jsonl rrrr0002 --replace short");
    s.run("edit -q ./a.jsonl rrrr0002 cccc0001 rrrr0001 --omit");
    assert_snapshot!(seen(&s, "a.jsonl"), @"[User]: look");
    assert_snapshot!(s.unchanged("edit ./a.jsonl rrrr0001 --restore").fails(2), @"./a.jsonl: rrrr0001 would be restored without the other half of a tool call (hint: restore both together: cccc0001 rrrr0001 rrrr0002)");
    s.run("edit -q ./a.jsonl cccc0001 rrrr0001 rrrr0002 --restore");
    assert_snapshot!(seen(&s, "a.jsonl"), @"
    [User]: look

    [Assistant]: Both.

    [Assistant tool calls]: read(); ls()

    [Tool result]: result of c1

    [Tool result]: result of c2
    ");
}

/// Another program omitted a result without its call; that does not prevent other edits.
#[test]
fn halves_that_are_alone_already() {
    let s = with_tools();
    let edit = r#"{"type":"context_edit","targetId":"rrrr0001","replacement":null}"#;
    s.pisess("append ./a.jsonl").stdin(edit).done().quiet();
    s.run("edit -q ./a.jsonl cccc0001 rrrr0002 --omit");
    assert_snapshot!(seen(&s, "a.jsonl"), @"[User]: look");
}

#[test]
fn refuses_uneditable_entries_and_conflicting_options() {
    let s = Sandbox::with(&["two-branches.jsonl", "tour.jsonl", "omp.jsonl"]);
    assert_snapshot!(s.unchanged("edit ./two-branches.jsonl root --omit").fails(2), @"./two-branches.jsonl: root is not an entry (hint: root is the position before the first entry; give an entry)");
    assert_snapshot!(s.unchanged("edit ./two-branches.jsonl 1a2b3c03 --omit").fails(2), @"./two-branches.jsonl: 1a2b3c03 cannot be edited: it is a label (hint: pi supports edits of user, assistant, toolResult and custom messages)");
    assert_snapshot!(s.unchanged("edit ./tour.jsonl '@^{branch_summary}' --restore").fails(2), @"./tour.jsonl: 90f6a3e8 cannot be edited: it is a branch_summary (hint: pi supports edits of user, assistant, toolResult and custom messages)");
    assert_snapshot!(s.unchanged("edit ./tour.jsonl 0d9a6c31 --omit").fails(2), @"./tour.jsonl: 0d9a6c31 is not in the context: a compaction replaced it (hint: `pisess context` prints what the model sees)");
    assert_snapshot!(s.unchanged("edit ./omp.jsonl @^ --omit").fails(2), @"./omp.jsonl: oh-my-pi does not support edits (hint: append the changed message on a branch instead: `pisess append --at REF^`)");
    assert_snapshot!(s.unchanged("edit ./two-branches.jsonl @ @^ --replace x").fails(2), @"--replace: one text for several entries (hint: replace them one by one, or omit the others)");
    assert_snapshot!(s.unchanged("edit ./two-branches.jsonl @").fails(2), @"the following required arguments were not provided: <--omit|--replace <TEXT>|--restore> (hint: see `pisess edit --help`)");
    assert_snapshot!(s.unchanged("edit ./two-branches.jsonl @ --omit --restore").fails(2), @"the argument '--omit' cannot be used with '--restore' (hint: see `pisess edit --help`)");
    assert_snapshot!(s.pisess("edit - @ --replace -").stdin(fixture("two-branches.jsonl")).done().fails(2), @"standard input is already the session (hint: give the path of the session instead of -)");
}

#[test]
fn in_pipes_and_on_paper() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.pisess("edit -q ./two-branches.jsonl @ --replace -")
        .stdin("from\na pipe\n")
        .done()
        .quiet();
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"context_edit","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c07","replacement":{"content":[{"type":"text","text":"from\na pipe"}]}}"#);
    assert_snapshot!(s.unchanged("edit -n ./two-branches.jsonl start --omit"), @"
    would append 1 line to ./two-branches.jsonl
     size  id        type          content
    142 B  27aa2424  context_edit  1a2b3c01
    2> pisess: 1a2b3c01 reads: Which paper for a kite?
    ");
    assert_snapshot!(s.run("edit --json ./two-branches.jsonl start --omit -o ./new.jsonl"), @r#"{"path":"./new.jsonl","action":"create","dryRun":false,"written":[{"type":"context_edit","id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z","targetId":"1a2b3c01","replacement":null}],"editorText":null}"#);
    let done = s
        .pisess("edit - start --omit")
        .stdin(fixture("two-branches.jsonl"))
        .done();
    assert_eq!((done.code, done.stderr.as_str()), (0, "226b1b5c\n"));
    assert!(done.stdout.starts_with(&fixture("two-branches.jsonl")));
}

#[test]
fn an_older_file_is_migrated_with_it() {
    for name in ["v1", "v2", "draft-tree"] {
        let s = Sandbox::with(&[&format!("{name}.jsonl")]);
        let migrated = s.run(&format!("migrate ./{name}.jsonl -o -"));
        s.unchanged(&format!("edit ./{name}.jsonl gone --omit"))
            .fails(2);
        s.run(&format!(
            "edit -q ./{name}.jsonl '@^{{user}}' --replace 'another question'"
        ));
        assert!(
            s.text(&format!("{name}.jsonl")).starts_with(&migrated),
            "{name}"
        );
        assert!(
            seen(&s, &format!("{name}.jsonl")).contains("[User]: another question"),
            "{name}"
        );
    }
}

/// A reference by text may fit an entry that was not meant.
#[test]
fn the_text_of_a_target_is_reported() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let said = |options: &str| {
        let line = format!("edit ./two-branches.jsonl {options} -n");
        s.unchanged(&line).stderr
    };
    assert_snapshot!(said("':/strong' --replace 'Take washi.'"), @"pisess: 1a2b3c02 reads: Tissue paper is light, washi is strong.");
    assert_snapshot!(said("':/paper' --replace 'Which one?'"), @"
    pisess: note: 1a2b3c02 is the newest entry with this text; 1 older entry on the path also fit (hint: ':1/TEXT' is the first)
    pisess: 1a2b3c02 reads: Tissue paper is light, washi is strong.
    ");
    assert_snapshot!(said("':/a' @ --omit"), @"
    pisess: note: 1a2b3c07 is the newest entry with this text; 3 older entries on the path also fit (hint: ':1/TEXT' is the first)
    pisess: 1a2b3c07 reads: A metre and more, with a bamboo spar.
    pisess: 1a2b3c07 reads: A metre and more, with a bamboo spar.
    ");
    let written = s.pisess("edit ./two-branches.jsonl :/a --omit").done();
    assert!(
        written
            .stderr
            .contains("is the newest entry with this text"),
        "{written}"
    );
}
