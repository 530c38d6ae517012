//! `pisess merge`: a summary of another branch at the leaf.

use crate::sandbox::{Sandbox, fixture, user};
use insta::assert_snapshot;

#[test]
fn a_branch_comes_back_as_a_summary() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.run("merge ./two-branches.jsonl 1a2b3c05 --label both"), @"226b1b5c");
    assert_snapshot!(s.run("tree ./two-branches.jsonl"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.
    226b1b5c  • [both] branch summary: Tissue paper then. How big?  ← active
    ");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"
    {"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c05","summary":"The user explored a different conversation branch before returning here.\nSummary of that exploration:\n\n## Goal\nThe last request, word for word (entry 1a2b3c04):\n> Tissue paper then. How big?\n\n## Next Steps\n1. The request under Goal was replied to. What is next is below, if anything.\n\nThe assistant's last words:\n> Half a metre; larger ones tear.","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}
    {"type":"label","id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z","targetId":"226b1b5c","label":"both"}
    "#);
    assert!(
        s.bytes("two-branches.jsonl")
            .starts_with(&fixture("two-branches.jsonl"))
    );
}

#[test]
fn in_words_of_ones_own() {
    let s = Sandbox::with(&["two-branches.jsonl", "omp.jsonl"]);
    s.run("merge ./two-branches.jsonl 1a2b3c04 --summary 'Asked about tissue paper.'");
    assert_snapshot!(s.lines_from("two-branches.jsonl", 9), @r#"{"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c04","summary":"Asked about tissue paper.","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}"#);
    assert_snapshot!(s.run("context ./two-branches.jsonl --as text"), @"
    [User]: Which paper for a kite?

    [Assistant]: Tissue paper is light, washi is strong.

    [User]: Washi then. How big?

    [Assistant]: A metre and more, with a bamboo spar.

    [User]: The following is a summary of a branch that this conversation came back from:

    <summary>
    Asked about tissue paper.</summary>
    ");
    // If the leaf is a user message, the summary follows it.
    s.run("append ./two-branches.jsonl --user 'Which then?'");
    s.run("merge ./two-branches.jsonl 1a2b3c05 --summary Half.");
    assert!(
        s.lines_from("two-branches.jsonl", 11)
            .contains(r#""fromId":"1a2b3c05","summary":"Half.""#)
    );
    assert_snapshot!(s.run("path ./two-branches.jsonl --ids").lines().count(), @"8");
    // oh-my-pi has a field of its own for entries from a hook, and the same `fromId`.
    s.run("switch ./omp.jsonl 3d4e5f60 -o ./back.jsonl");
    s.run("merge ./back.jsonl 93a4b5c6 -o ./omp-merged.jsonl --hook 'echo {\\\"summary\\\":\\\"seen\\\"}'");
    assert_snapshot!(s.lines_from("omp-merged.jsonl", 18), @r#"{"type":"branch_summary","id":"27aa2424","parentId":"226b1b5c","timestamp":"2026-05-04T12:00:00.000Z","fromId":"93a4b5c6","summary":"seen","details":{"readFiles":[],"modifiedFiles":[]},"fromExtension":true}"#);
}

#[test]
fn prepare_and_prompt_show_what_would_be_summarized() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("merge ./two-branches.jsonl 1a2b3c05 --prepare"), @r#"{"targetId":"1a2b3c07","oldLeafId":"1a2b3c05","commonAncestorId":"1a2b3c03","newLeafId":"1a2b3c07","entriesToSummarize":[{"type":"message","id":"1a2b3c04","parentId":"1a2b3c03","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"user","content":"Tissue paper then. How big?"}},{"type":"message","id":"1a2b3c05","parentId":"1a2b3c04","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Half a metre; larger ones tear."}],"stopReason":"stop"}}],"readFiles":[],"modifiedFiles":[],"editorText":null,"userWantsSummary":true,"customInstructions":null,"replaceInstructions":false,"label":null}"#);
    assert!(
        s.unchanged("merge ./two-branches.jsonl 1a2b3c05 --prompt")
            .text()
            .contains("Tissue paper then.")
    );
    assert_eq!(
        s.unchanged("merge ./two-branches.jsonl start --prepare")
            .code,
        1
    );
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("merge ./two-branches.jsonl 1a2b3c05 --summarizer 'grep -c Half'");
    assert!(
        s.lines_from("two-branches.jsonl", 9)
            .contains("Summary of that exploration:\\n\\n1")
    );
}

#[test]
fn nothing_to_bring_back() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for from in ["@", "start", "root"] {
        let said = s
            .unchanged(&format!("merge ./two-branches.jsonl {from}"))
            .fails(1);
        assert!(said.contains("has no entries to summarize"), "{said}");
    }
    assert_snapshot!(s.unchanged("merge ./two-branches.jsonl start --prompt").fails(1), @"./two-branches.jsonl: start has no entries to summarize (hint: give an entry of another branch, or a summary with --summary TEXT)");
    assert_snapshot!(s.unchanged("merge ./two-branches.jsonl 1a2b3c05 --hook 'echo {\\\"cancel\\\":true}'").fails(1), @"the hook cancelled the operation; nothing was written");
    assert_snapshot!(s.unchanged("merge ./two-branches.jsonl gone").fails(2), @r#"./two-branches.jsonl: no entry or label "gone" (hint: `pisess tree --filter all` lists the ids)"#);
    assert_snapshot!(s.unchanged("merge ./two-branches.jsonl 1a2b3c05 --summarizer false").fails(2), @r#"./two-branches.jsonl: --summarizer "false": exit status: 1; nothing was written (hint: --prompt prints its input, to run it by hand)"#);
    // A given summary is written anyway.
    s.run("merge ./two-branches.jsonl root --summary 'From nowhere.'");
    assert!(
        s.lines_from("two-branches.jsonl", 9)
            .contains(r#""parentId":"1a2b3c07""#)
    );
    assert!(
        s.lines_from("two-branches.jsonl", 9)
            .contains(r#""fromId":"root""#)
    );
}

#[test]
fn writes_nothing_if_the_branch_was_already_merged() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.run("merge ./two-branches.jsonl 1a2b3c05");
    s.run("append ./two-branches.jsonl --user more");
    let line = "merge ./two-branches.jsonl 1a2b3c05";
    let said = s.unchanged(line).stderr;
    assert!(
        said.contains(
            "pisess: note: ./two-branches.jsonl: 1a2b3c05 was already merged, in 226b1b5c\n"
        ),
        "{said}"
    );
    assert_eq!(
        s.unchanged(&format!("{line} -q --summarizer false --hook false"))
            .quiet(),
        ""
    );
    let passed = s.unchanged(&format!("{line} -q -o -"));
    assert_eq!(passed.text(), s.text("two-branches.jsonl"));
    // A summary that `switch` wrote counts as a merge, too; one on another path does not.
    s.run("switch --summarize ./two-branches.jsonl 1a2b3c05");
    assert_eq!(s.text("two-branches.jsonl").lines().count(), 11);
    assert!(
        s.unchanged("merge ./two-branches.jsonl 27aa2424")
            .stderr
            .contains("already merged, in b958585d")
    );
    s.run("merge ./two-branches.jsonl 1a2b3c07");
    assert_eq!(s.text("two-branches.jsonl").lines().count(), 12);
    s.run("switch -q ./two-branches.jsonl 27aa2424");
    s.run(&format!("{line} --summary 'All the same.'"));
    assert!(
        s.lines_from("two-branches.jsonl", 14)
            .contains("All the same.")
    );
    // If a label is given, the existing summary gets it.
    s.run(&format!("{line} -q --label both"));
    assert!(
        s.lines_from("two-branches.jsonl", 15)
            .contains(r#""label":"both""#)
    );
    s.unchanged(&format!("{line} -q --label both"));
}

#[test]
fn in_pipes_and_on_paper() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.unchanged("merge -n ./two-branches.jsonl 1a2b3c05 --summary s"), @"
    would append 1 line to ./two-branches.jsonl
     size  id        type            content
    200 B  226b1b5c  branch_summary  s
    ");
    assert_snapshot!(s.run("merge --json ./two-branches.jsonl 1a2b3c05 --summary s -o ./new.jsonl"), @r#"{"path":"./new.jsonl","action":"create","dryRun":false,"written":[{"type":"branch_summary","id":"226b1b5c","parentId":"1a2b3c07","timestamp":"2026-05-04T12:00:00.000Z","fromId":"1a2b3c05","summary":"s","details":{"readFiles":[],"modifiedFiles":[]},"fromHook":false}],"editorText":null}"#);
    let done = s
        .pisess("merge - 1a2b3c05")
        .stdin(fixture("two-branches.jsonl"))
        .done();
    assert_eq!((done.code, done.stderr.as_str()), (0, "226b1b5c\n"));
    assert!(done.stdout.starts_with(&fixture("two-branches.jsonl")));
}

#[test]
fn an_older_file_is_migrated_with_it() {
    let s = Sandbox::with(&["draft-tree.jsonl"]);
    let migrated = s.run("migrate ./draft-tree.jsonl -o -");
    s.unchanged("merge ./draft-tree.jsonl @").fails(1);
    s.run("merge ./draft-tree.jsonl :6 --summary s");
    let text = s.text("draft-tree.jsonl");
    assert_eq!(text.strip_prefix(&migrated).unwrap().lines().count(), 1);
}

/// The summary goes below what was appended meanwhile, but not to another branch.
#[test]
fn the_file_grew_meanwhile() {
    for (parent, goes_on) in [("1a2b3c07", true), ("1a2b3c02", false)] {
        let s = Sandbox::with(&["two-branches.jsonl"]);
        let more = user("aaaa0001", Some(parent), "one thing more");
        s.put("more", format!("{more}\n"));
        let (more, session) = (s.path("more"), s.path("two-branches.jsonl"));
        let append = format!("cat {} >> {}; echo s", more.display(), session.display());
        let done = s
            .pisess(&format!(
                "merge ./two-branches.jsonl 1a2b3c05 --summarizer '{append}'"
            ))
            .done();
        if goes_on {
            assert_eq!(done.quiet(), "226b1b5c\n");
            assert!(
                s.lines_from("two-branches.jsonl", 10)
                    .contains(r#""parentId":"aaaa0001""#)
            );
        } else {
            assert_snapshot!(done.fails(3), @"./two-branches.jsonl: another process moved to another branch meanwhile (hint: run the command again)");
            assert_eq!(s.lines_from("two-branches.jsonl", 10), "");
        }
    }
}
