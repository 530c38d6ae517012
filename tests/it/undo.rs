//! `pisess undo`: takes back the last operation, by appending.

use crate::sandbox::{Done, Sandbox, session, user};
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::cell::Cell;

const TWO: &str = "two-branches.jsonl";

/// A sandbox whose clock goes on by a second with each run: entries with the same timestamp are one
/// operation.
struct Desk {
    s: Sandbox,
    seconds: Cell<u32>,
}

impl Desk {
    fn with(fixture: &str) -> Desk {
        Desk {
            s: Sandbox::with(&[fixture]),
            seconds: Cell::new(0),
        }
    }

    fn done(&self, line: &str) -> Done {
        self.seconds.set(self.seconds.get() + 1);
        let now = format!(
            "2026-05-04T13:{:02}:{:02}Z",
            self.seconds.get() / 60,
            self.seconds.get() % 60
        );
        self.s.pisess(line).env("PISESS_NOW", &now).done()
    }

    /// Runs a command that succeeds; returns its standard output.
    fn run(&self, line: &str) -> String {
        let done = self.done(line);
        assert_eq!(done.code, 0, "{line}: {}", done.stderr);
        done.text()
    }

    /// Undoes; returns what is reported.
    fn undo(&self, file: &str) -> String {
        let done = self.done(&format!("undo ./{file}"));
        assert_eq!(done.code, 0, "{}", done.stderr);
        done.stderr
    }

    /// Returns how many defects `check` reports, except for notes.
    fn findings(&self, file: &str) -> usize {
        let findings = self.done(&format!("check ./{file}")).text();
        findings
            .lines()
            .filter(|line| line.contains(": warning: ") || line.contains(": error: "))
            .count()
    }

    /// Returns what a session says at its leaf, whatever its marks are.
    fn state(&self, file: &str) -> [String; 3] {
        let label = self.run(&format!("label ./{file} --json"));
        let mut labels: Vec<_> = label
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|row| format!("{} {}\n", row["id"], row["label"]))
            .collect();
        labels.sort();
        let list = self.run(&format!("list ./{file} --json"));
        let name = serde_json::from_str::<Value>(&list).unwrap()["name"].to_string();
        [
            self.run(&format!("context ./{file} --json")),
            labels.concat(),
            name,
        ]
    }
}

#[test]
fn each_operation_and_all_of_them_again() {
    for (file, operations) in [
        (
            TWO,
            &[
                "label F 1a2b3c05 tissue",
                "label F 1a2b3c05 paper",
                "label --move F 1a2b3c07 paper",
                "label --clear F start",
                "append F --name Kites",
                "append F --name 'Kites and tails'",
                "append F --name ''",
                "edit F 1a2b3c06 --omit",
                "edit F 1a2b3c06 --replace 'How large?'",
                "edit F 1a2b3c06 --undo",
                "switch F 1a2b3c05",
                "switch F root",
                "switch F -",
                "switch F 1a2b3c07 --label washi",
                "append F --user 'And if it rains?' --custom seen --thinking high",
                "append F --at 1a2b3c05 --user 'And smaller ones?'",
                "summarize F 1a2b3c05 --summary s --label summary",
                "pop F --summary s",
                "pick F 1a2b3c04 1a2b3c05",
                "merge F 1a2b3c07 --summary merged",
                "compact F --summary c --first-kept none",
            ][..],
        ),
        (
            "omp.jsonl",
            &[
                "label F 93a4b5c6 done",
                "append F --name Years",
                "append F --name ''",
                "append F --name 'Photos, by year'",
                "switch F 5f607182",
                "append F --user 'And b.jpg?' --thinking off",
                "pick F 93a4b5c6",
                "compact F --summary c --first-kept none",
                "switch F -",
            ][..],
        ),
    ] {
        let desk = Desk::with(file);
        let findings = desk.findings(file);
        // The agent wrote some of oh-my-pi's entries after the last reply.
        let undoable = |name: &str| -> usize {
            let listed = desk.done(&format!("undo ./{name} --list --json"));
            listed.text().lines().count()
        };
        let earlier = undoable(file);
        let mut states = vec![desk.state(file)];
        for operation in operations {
            let line = operation.replace('F', &format!("./{file}"));
            let lines = desk.s.text(file).lines().count();
            desk.run(&line);
            assert!(
                desk.s.text(file).lines().count() > lines,
                "{line} wrote nothing"
            );
            // Undone at once, and done again.
            desk.undo(file);
            assert_eq!(desk.state(file), states[states.len() - 1], "{line}");
            assert_eq!(desk.findings(file), findings, "{line}");
            desk.run(&line);
            states.push(desk.state(file));
        }
        // Several in one write: the same as one after the other.
        let all_count = earlier + operations.len();
        assert_eq!(undoable(file), all_count);
        let bytes = desk.s.bytes(file);
        for count in [1, 2, 3, operations.len()] {
            desk.s.put("copy.jsonl", &bytes);
            desk.run(&format!("undo ./copy.jsonl {count}"));
            assert_eq!(
                desk.state("copy.jsonl"),
                states[operations.len() - count],
                "{count} of {file}"
            );
            assert_eq!(desk.findings("copy.jsonl"), findings, "{count} of {file}");
            assert_eq!(
                undoable("copy.jsonl"),
                all_count - count,
                "{count} of {file}"
            );
        }
        desk.s.put("copy.jsonl", &bytes);
        let too_many = format!("undo ./copy.jsonl {}", all_count + 1);
        let failed = desk.done(&too_many).fails(1);
        assert!(
            failed.contains(&format!("only {all_count} operations can be undone")),
            "{failed}"
        );
        assert_eq!(desk.s.bytes("copy.jsonl"), bytes);

        // One after the other, with nothing in between.
        while let Some(state) = states.pop() {
            assert_eq!(
                desk.state(file),
                state,
                "before {:?}",
                operations.get(states.len())
            );
            if !states.is_empty() {
                desk.undo(file);
            }
        }
        assert!(
            desk.s
                .bytes(file)
                .windows(10)
                .any(|window| window == b"\"undid\":[\"")
        );
    }
}

#[test]
fn a_label_and_a_move() {
    let desk = Desk::with(TWO);
    desk.run("label ./two-branches.jsonl start beginning");
    desk.run("switch ./two-branches.jsonl 1a2b3c05");
    assert_snapshot!(desk.run("tree ./two-branches.jsonl --filter all"), @"
    1a2b3c01  • [beginning] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c03  • label: start
    1a2b3c06  ├─ user: Washi then. How big?  (2 messages, 4mo)
    1a2b3c07  │  assistant: A metre and more, with a bamboo spar.
    226b1b5c  │  label: beginning
    1a2b3c04  • user: Tissue paper then. How big?
    1a2b3c05  • assistant: Half a metre; larger ones tear.
    27aa2424  • custom: pisess.switch  ← active
    ");
    let before = desk.s.text(TWO);
    let planned = desk.done("undo -n ./two-branches.jsonl");
    assert_snapshot!(planned.text(), @"
    would append 1 line to ./two-branches.jsonl
     size  id        type    content
    188 B  b958585d  custom  pisess.switch
    ");
    assert_eq!(
        planned.stderr,
        "pisess: would undo the switch to 1a2b3c05; back to 226b1b5c\n\
         pisess: would be at 1a2b3c07  assistant: A metre and more, with a bamboo spar.\n"
    );
    assert_eq!(desk.s.text(TWO), before);
    assert_eq!(
        desk.undo(TWO),
        "pisess: undid the switch to 1a2b3c05; back to 226b1b5c\n\
         pisess: now at 1a2b3c07  assistant: A metre and more, with a bamboo spar.\n"
    );
    assert_eq!(
        desk.undo(TWO),
        "pisess: undid the label \"beginning\" on 1a2b3c01\n"
    );
    // Before that is the fixture, where the entry has another label.
    desk.s.unchanged("undo ./two-branches.jsonl").fails(1);
    assert_snapshot!(desk.run("tree ./two-branches.jsonl --filter all"), @"
    1a2b3c01  • [start] user: Which paper for a kite?
    1a2b3c02  • assistant: Tissue paper is light, washi is strong.
    1a2b3c03  • label: start
    1a2b3c04  ├─ user: Tissue paper then. How big?  (2 messages, 4mo)
    1a2b3c05  │  assistant: Half a metre; larger ones tear.
    27aa2424  │  custom: pisess.switch  (undone)
    1a2b3c06  • user: Washi then. How big?
    1a2b3c07  • assistant: A metre and more, with a bamboo spar.
    226b1b5c  • label: beginning
    b958585d  • custom: pisess.switch
    95d82c0b  • label: start
    cbc059f5  • custom: pisess.switch  ← active
    ");
    assert!(desk.s.text(TWO).starts_with(&before));
    assert_snapshot!(desk.s.lines_from(TWO, 11), @r#"
    {"type":"custom","customType":"pisess.switch","data":{"from":"27aa2424","to":"226b1b5c","undid":["27aa2424"]},"id":"b958585d","parentId":"226b1b5c","timestamp":"2026-05-04T13:00:05.000Z"}
    {"type":"label","id":"95d82c0b","parentId":"b958585d","timestamp":"2026-05-04T13:00:06.000Z","targetId":"1a2b3c01","label":"start"}
    {"type":"custom","customType":"pisess.switch","data":{"from":"b958585d","to":"b958585d","undid":["226b1b5c"]},"id":"cbc059f5","parentId":"95d82c0b","timestamp":"2026-05-04T13:00:06.000Z"}
    "#);
}

#[test]
fn entries_of_one_write_are_one_operation() {
    let desk = Desk::with(TWO);
    let ids = desk.run("append ./two-branches.jsonl --user one --custom a --thinking low --name n");
    assert_eq!(ids.lines().count(), 4);
    assert_snapshot!(desk.undo(TWO), @"
    pisess: undid 4 entries, 226b1b5c to 95d82c0b; back to 1a2b3c07
    pisess: now at 1a2b3c07  assistant: A metre and more, with a bamboo spar.
    ");
    desk.run("append ./two-branches.jsonl --user one");
    desk.run("append ./two-branches.jsonl --user two");
    assert_snapshot!(desk.undo(TWO), @"
    pisess: undid the user message c355b10a; back to 1158ac1a
    pisess: now at 1158ac1a  user: one
    ");
    assert_snapshot!(desk.undo(TWO), @"
    pisess: undid the user message 1158ac1a; back to cbc059f5
    pisess: now at 1a2b3c07  assistant: A metre and more, with a bamboo spar.
    ");
    let done = desk.done("undo ./two-branches.jsonl --json");
    assert_eq!((done.code, done.text().as_str()), (1, ""));
    assert_snapshot!(done.stderr, @r#"{"error":{"kind":"negative","message":"./two-branches.jsonl: the last operation is the reply 1a2b3c07","path":"./two-branches.jsonl","line":null,"hint":"`pisess pop` goes back to before the last user message","exit":1}}"#);
}

#[test]
fn refuses_a_reply_a_tool_result_and_a_lone_message() {
    let desk = Desk::with(TWO);
    assert_snapshot!(desk.s.unchanged("undo ./two-branches.jsonl").fails(1), @"./two-branches.jsonl: the last operation is the reply 1a2b3c07 (hint: `pisess pop` goes back to before the last user message)");
    desk.s.put("one.jsonl", session(&[user("a", None, "x")]));
    desk.undo("one.jsonl");
    assert_snapshot!(desk.s.unchanged("undo ./one.jsonl").fails(1), @"./one.jsonl: there is nothing to undo (hint: `undo` cannot reverse commands that rewrite the file: see `pisess undo --help`)");
    // oh-my-pi records that it exits.
    let omp = Desk::with("omp.jsonl");
    let reply = r#"{"type":"message","id":"r","parentId":"d7e8f90a","timestamp":"2026-03-14T09:28:00.000Z","message":{"role":"toolResult","toolCallId":"t","toolName":"bash","content":[]}}"#;
    let exit = r#"{"type":"custom","customType":"session_exit","id":"e","parentId":"r","timestamp":"2026-03-14T09:28:01.000Z"}"#;
    omp.s.put(
        "omp.jsonl",
        format!("{}{reply}\n{exit}\n", omp.s.text("omp.jsonl")),
    );
    assert_snapshot!(omp.s.unchanged("undo ./omp.jsonl").fails(1), @"./omp.jsonl: the last operation is the tool result r (hint: `pisess pop` goes back to before the last user message)");
}

#[test]
fn a_rewrite_is_named() {
    let desk = Desk::with("tour.jsonl");
    desk.run("label ./tour.jsonl @ end");
    desk.run("prune --over 60 ./tour.jsonl");
    assert_snapshot!(desk.s.unchanged("undo ./tour.jsonl").fails(1), @"./tour.jsonl: the last operation was `prune`, which rewrote the file (hint: `pisess prune --restore ./tour.jsonl`; --force undoes what was appended before)");
    assert_eq!(desk.run("undo --force ./tour.jsonl").lines().count(), 2);
    desk.run("prune --restore ./tour.jsonl");
    desk.run("label ./tour.jsonl @ end");
    desk.s.put("tour.jsonl.rejected", "");
    assert_snapshot!(desk.s.unchanged("undo ./tour.jsonl").fails(1), @"./tour.jsonl: the last operation was `check --repair`, which rewrote the file (hint: move the backup back, if there is one; what was removed is in ./tour.jsonl.rejected; --force undoes what was appended before)");
    // What is appended after the rewrite is undone.
    let later = desk
        .s
        .pisess("label ./tour.jsonl @ later")
        .env("PISESS_NOW", "2126-01-01T00:00:00Z");
    assert_eq!(later.done().code, 0);
    assert_eq!(
        desk.undo("tour.jsonl"),
        "pisess: undid the label \"later\" on 2f5dc03e\n"
    );
}

#[test]
fn marks_by_others_end_nowhere() {
    for data in [
        r#"{"from":"m","to":"m","undid":["m"]}"#,
        r#"{"from":"gone","to":"gone","undid":["gone"]}"#,
        r#"{"from":null,"to":null,"undid":["a","b","c","m"]}"#,
        r#"{"from":"a","to":"b","undid":[1,null,{},"c"]}"#,
        r#"{"from":"a","to":"b","undid":7}"#,
        r#"{"undid":["c"]}"#,
        r#""#,
    ] {
        let desk = Desk::with(TWO);
        let data = if data.is_empty() {
            String::new()
        } else {
            format!(r#""data":{data},"#)
        };
        let mark = format!(
            r#"{{"type":"custom","customType":"pisess.switch",{data}"id":"m","parentId":"c"}}"#
        );
        let lines = [
            user("a", None, "x"),
            user("b", Some("a"), "y"),
            user("c", Some("b"), "z"),
            mark,
        ];
        desk.s.put("s.jsonl", session(&lines));
        for _ in 0..6 {
            assert!(desk.done("undo ./s.jsonl").code < 2, "{data}");
        }
        assert!(desk.s.bytes("s.jsonl").starts_with(&session(&lines)));
    }
}

/// What was taken back is marked, until the leaf is on it again, or the conversation went on from
/// it.
#[test]
fn tree_and_branches_mark_undone_entries() {
    let desk = Desk::with(TWO);
    let marked = || {
        let drawn =
            [format!("tree ./{TWO}"), format!("branches ./{TWO}")].map(|line| desk.run(&line));
        let marked = |text: &String| text.lines().filter(|row| row.contains("(undone)")).count();
        drawn.each_ref().map(marked)
    };
    desk.run(&format!(
        "compact ./{TWO} --summary short --first-kept none"
    ));
    assert_eq!(marked(), [0, 0]);
    desk.undo(TWO);
    assert_eq!(marked(), [1, 1]);
    let tree = desk.run(&format!("tree ./{TWO}"));
    assert!(
        tree.lines()
            .any(|row| row.contains("── compaction: ") && row.contains("──  (undone)")),
        "{tree}"
    );
    desk.run(&format!("switch ./{TWO} -"));
    assert_eq!(marked(), [0, 0]);
    desk.run(&format!("append ./{TWO} --user 'go on'"));
    desk.run(&format!("switch ./{TWO} 1a2b3c05"));
    assert_eq!(marked(), [0, 0]);
    // The entries of one operation are marked together, and a label that was restored in the same
    // write is passed over.
    desk.run(&format!(
        "summarize ./{TWO} 1a2b3c07 --summary left --label left"
    ));
    desk.undo(TWO);
    assert_eq!(marked(), [1, 1]);
}

/// The name that was restored is between the mark and the position to which it moved.
#[test]
fn undo_marks_a_message_that_was_written_with_a_name() {
    let desk = Desk::with(TWO);
    desk.run(&format!("append ./{TWO} --name kites --user 'go on'"));
    desk.undo(TWO);
    let tree = desk.run(&format!("tree ./{TWO}"));
    assert!(
        tree.lines()
            .any(|row| row.contains("user: go on  (undone)")),
        "{tree}"
    );
}

/// `undo SESSION 2` writes the entries that two runs of `undo` write.
#[test]
fn several_operations_are_undone_as_one_by_one() {
    let desk = Desk::with(TWO);
    desk.run("label ./two-branches.jsonl start beginning");
    desk.run("switch ./two-branches.jsonl 1a2b3c05");
    let bytes = desk.s.bytes(TWO);
    let marks = |name: &str| -> Vec<[Value; 3]> {
        let lines = desk
            .s
            .lines_from(name, bytes.iter().filter(|&&byte| byte == b'\n').count());
        lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .map(|entry| {
                [
                    entry["type"].clone(),
                    entry["data"]["undid"].clone(),
                    entry["label"].clone(),
                ]
            })
            .collect()
    };
    desk.s.put("together.jsonl", &bytes);
    desk.run("undo ./two-branches.jsonl");
    desk.run("undo ./two-branches.jsonl");
    let done = desk.done("undo ./together.jsonl 2");
    assert_snapshot!(done, @r#"
    b958585d
    95d82c0b
    cbc059f5
    2> pisess: undid the switch to 1a2b3c05; back to 226b1b5c
    2> pisess: undid the label "beginning" on 1a2b3c01
    2> pisess: now at 1a2b3c07  assistant: A metre and more, with a bamboo spar.
    "#);
    assert_eq!(marks("together.jsonl"), marks(TWO));
    assert_eq!(desk.state("together.jsonl"), desk.state(TWO));
}

/// Many operations, of which each undo finds the session as the one before left it: those of pi are
/// appended to what was read, a name of oh-my-pi changes the first line.
#[test]
fn many_operations_are_undone_as_one_by_one() {
    for (file, count) in [("two-branches.jsonl", 24), ("omp.jsonl", 12)] {
        let desk = Desk::with(file);
        for number in 0..count / 4 {
            desk.run(&format!("label ./{file} @ label{number}"));
            desk.run(&format!("append ./{file} --name 'Name {number}'"));
            desk.run(&format!("append ./{file} --user 'Question {number}'"));
            desk.run(&format!("switch ./{file} '@^'"));
        }
        desk.s.put("together.jsonl", desk.s.bytes(file));
        for _ in 0..count {
            desk.run(&format!("undo ./{file}"));
        }
        desk.run(&format!("undo ./together.jsonl {count}"));
        assert_eq!(desk.state("together.jsonl"), desk.state(file));
        let kinds = |name: &str| -> Vec<Value> {
            let lines = desk.s.text(name);
            lines
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap())
                .map(|entry| json!([entry["type"], entry["label"], entry["name"], entry["title"]]))
                .collect()
        };
        assert_eq!(kinds("together.jsonl"), kinds(file), "{file}");
    }
}

/// A session that was rewritten, and has nothing to undo.
#[test]
fn a_list_of_nothing_is_a_negative_answer() {
    let desk = Desk::with(TWO);
    desk.s.put("two-branches.jsonl.rejected", "{\n");
    let listed = desk.s.unchanged("undo --list ./two-branches.jsonl");
    assert_eq!(listed.code, 1, "{listed}");
    assert!(
        listed
            .stderr
            .contains("the last operation was `check --repair`"),
        "{listed}"
    );
}

/// A tool result is called as people call it.
#[test]
fn a_copied_tool_result_has_a_plain_name() {
    let desk = Desk::with("tour.jsonl");
    desk.run("pick ./tour.jsonl c25f81e7 9e04b3d8 --at 0d9a6c31");
    let undone = desk.done("undo ./tour.jsonl");
    assert!(undone.stderr.contains(", the tool result "), "{undone}");
}

#[test]
fn what_can_be_undone_is_listed() {
    let desk = Desk::with(TWO);
    assert_snapshot!(desk.s.unchanged("undo --list ./two-branches.jsonl"), @"
    2> pisess: ./two-branches.jsonl: the last operation is the reply 1a2b3c07 (hint: `pisess pop` goes back to before the last user message)
    exit 1
    ");
    desk.run("label ./two-branches.jsonl start beginning");
    desk.run("append ./two-branches.jsonl --user 'And if it rains?' --custom seen");
    desk.run("switch ./two-branches.jsonl 1a2b3c05");
    assert_snapshot!(desk.s.unchanged("undo --list ./two-branches.jsonl"), @r#"
    #  age  id        operation
    1  now  95d82c0b  the switch to 1a2b3c05; back to b958585d
    2  now  b958585d  the custom 27aa2424, the user message b958585d; back to 226b1b5c
    3  now  226b1b5c  the label "beginning" on 1a2b3c01
    "#);
    assert_snapshot!(desk.s.unchanged("undo --list --json ./two-branches.jsonl"), @r#"
    {"number":1,"timestamp":"2026-05-04T13:00:03.000Z","ids":["95d82c0b"],"operation":"the switch to 1a2b3c05; back to b958585d"}
    {"number":2,"timestamp":"2026-05-04T13:00:02.000Z","ids":["27aa2424","b958585d"],"operation":"the custom 27aa2424, the user message b958585d; back to 226b1b5c"}
    {"number":3,"timestamp":"2026-05-04T13:00:01.000Z","ids":["226b1b5c"],"operation":"the label \"beginning\" on 1a2b3c01"}
    "#);
    assert_snapshot!(desk.s.unchanged("undo -n ./two-branches.jsonl 2"), @"
    would append 2 lines to ./two-branches.jsonl
     size  id        type     content
    188 B  cbc059f5  custom   pisess.switch
    199 B  7438758a  custom   pisess.switch
    387 B  total     2 lines
    2> pisess: would undo the switch to 1a2b3c05; back to b958585d
    2> pisess: would undo the custom 27aa2424, the user message b958585d; back to 226b1b5c
    2> pisess: would be at 1a2b3c07  assistant: A metre and more, with a bamboo spar.
    ");

    // What was pruned cannot be undone by `undo`.
    desk.s.put("big.jsonl", crate::prune::large());
    desk.run("append -q ./big.jsonl --user more");
    desk.s.pisess("prune -q ./big.jsonl --over 1k").done();
    let listed = desk.s.pisess("undo --list ./big.jsonl").done();
    assert!(
        listed.stderr.contains("the last operation was `prune`"),
        "{listed}"
    );
}

/// The number comes after the session; `-n` is the dry run.
#[test]
fn a_number_in_the_wrong_place_has_a_hint() {
    let desk = Desk::with(TWO);
    let failed = desk.s.unchanged("undo -n 3").fails(2);
    assert!(
        failed.ends_with("(hint: the number comes last: `pisess undo SESSION 3`)"),
        "{failed}"
    );
    for line in [
        "undo -n 3 ./two-branches.jsonl",
        "undo ./two-branches.jsonl 0",
    ] {
        let failed = desk.s.unchanged(line).fails(2);
        assert!(failed.contains("as in `pisess undo SESSION 3`"), "{failed}");
    }
}
