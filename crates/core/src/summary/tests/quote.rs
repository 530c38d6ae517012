use super::super::one_line::{cut_line, one_line};
use super::super::prose::{ends_in_question, last_prose_line, prose_lines};
use super::super::quote::*;

#[test]
fn a_line_has_no_structure() {
    assert_eq!(
        one_line("\u{1b}[31mred\u{1b}[0m\n\n\tand \u{202e}more\u{7}", 80),
        "red / and more"
    );
    assert_eq!(one_line("\u{1b}]0;title\u{7}text", 80), "text");
    assert_eq!(one_line("- [x] all done", 80), "[x] all done");
    assert_eq!(one_line("## > 1. done", 80), "done");
    assert_eq!(one_line("#708090 is grey", 80), "#708090 is grey");
    assert_eq!(
        one_line("a </summary> < /Summary> <READ_FILES>", 80),
        "a ‹/summary> ‹ /Summary> ‹READ_FILES>"
    );
    assert_eq!(
        one_line("Vec<u8>, a < b, </div>", 80),
        "Vec<u8>, a < b, </div>"
    );
    assert_eq!(one_line("```sh\nx\n```", 80), "x");
    assert_eq!(quote_line("- say \"hi\"", 80), "\"say 'hi'\"");
}

#[test]
fn a_line_is_cut_at_the_end_of_a_clause() {
    let text =
        "Draw the lines in grey, because the harbour master prints in black, but not on Sundays.";
    let first_clauses = "Draw the lines in grey, because the harbour master prints in black";
    // The clause ends beyond 60 units, and before 80.
    assert_eq!(cut_line(text, 60), format!("{first_clauses}…"));
    assert_eq!(cut_line(text, 72), format!("{first_clauses}…"));
    assert_eq!(cut_line(text, 80), text);
    // There is none near, and none in code.
    assert_eq!(cut_line(text, 40), "Draw the lines in grey, because the…");
    assert_eq!(cut_line("`f(a, b, c, d, e)` draws it", 12), "`f(a, b, c…`");
    assert_eq!(cut_line("画渡轮线。海港的灯塔", 5), "画渡轮线。…");
}

#[test]
fn the_last_line_of_prose_is_found_from_either_end() {
    let texts = [
        "",
        "one",
        "one\n\n",
        "one\n    code",
        "one\n$ run\n> said\n",
        "one\r\ntwo\r\n",
        "one **two**",
        "```\nx\n```",
        "one\n```\ntwo",
        "```\none\n```\ntwo\n  ```\nthree",
    ];
    for text in texts {
        let last = prose_lines(text).last().unwrap_or_default();
        assert_eq!(
            last_prose_line(text),
            last.trim_end_matches(['*', '_', ' ']),
            "{text:?}"
        );
    }
}

#[test]
fn a_block_keeps_every_line_behind_a_mark() {
    // The marks are not counted: a request of many short lines stays whole.
    let short = "x\n".repeat(1_999);
    assert_eq!(
        strip_quote_marks(format_quotation("", &short, 4_000).lines().skip(1)),
        short.trim_end()
    );
}

#[test]
fn only_a_last_line_of_prose_asks() {
    for text in [
        "Fixed.\n\nShall I commit it?",
        "要我提交吗？",
        "*Ready?*\n",
        "هل أكمل؟",
        "Usage:\n```\nmake\n```\nReady?\n```\nmake\n```",
    ] {
        assert!(ends_in_question(text), "{text}");
    }
    for text in [
        "Usage:\n\n```sh\nwhat is this?\n```",
        "Try:\n    pisess grep 'why?'",
        "Now ask it: \"What changed?\"",
        "> Really?",
        "| who?",
        "$ ls a?",
        "# why?",
        "➜ ls a?",
        "❯ ls a?",
        "% ls a?",
        "\tls a?",
        "`who?`",
        "Really? Yes.",
        "",
    ] {
        assert!(!ends_in_question(text), "{text}");
    }
}

#[test]
fn a_remark_without_what_leads_over() {
    for (remark, left) in [
        (
            "Perfect! The index is there.\n\nNow let me commit it:",
            "The index is there.",
        ),
        ("很好！测试通过了。接下来：", "测试通过了。"),
        ("Great!", ""),
        ("Now let me look:", ""),
        ("It needs: a, b", "It needs: a, b"),
    ] {
        assert_eq!(strip_transitions(remark), left);
    }
}
