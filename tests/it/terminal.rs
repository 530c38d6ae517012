//! Width and colours on a terminal.

use crate::hostile::without_colours;
use crate::sandbox::Sandbox;
use insta::assert_snapshot;
use unicode_width::UnicodeWidthStr;

#[test]
fn rows_are_cut_to_the_width() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.pisess("tree ./tour.jsonl --color never").terminal(80).done(), @r#"
    ~/code/ferry · 31 entries · 34.3k tokens · $0.04
    0d9a6c31  • user: The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:…
    c25f81e7  • assistant: I'll look for where the waiting time is computed.
    9e04b3d8  • grep: /fn departs_in/ in src
    e8830b5a  • read: src/clock.rs:35-64
    27d4c96f  • [cause found] assistant: `departs_in` subtracts minutes of the day,…
    5c07d14b  ├╴ 8 messages · Just add a day when it comes out negative.  1mo
    90f6a3e8  • branch summary: Make `departs_in` right across midnight.
    3de1b752  • user: Undo that, and take the nearer of the two: yesterday's or tom…
    c8a45f06  • assistant: So the result lies within half a day either way.
    1b72ce9d  • edit: src/clock.rs
    fa39d058  • bash: cargo test --quiet
    648dc1b3  • [green] assistant: All 14 tests pass, and at 23:50 the 00:10 ferry…
    b5d60e41  • user: Good. Please add a test for exactly that evening.
    e19c4d07  • write: tests/midnight.rs
    42b8f65a  • assistant: `tests/midnight.rs` pins it down: asked at 23:50, the 00…
    dc705e93  • ── compaction: 12.5k tokens · Make waiting… ──  (kept from b5d60e41)
    86e2a1fb  • user: Now a line for the changelog, for people who don't read code.
    2f5dc03e  • assistant: "Ferries after midnight no longer show as gone…  ← active
    2> pisess: note: folded rows (hint: add --unfold, or 5c07d14b for one branch)
    "#);
    assert_snapshot!(s.pisess("path ./tour.jsonl --color never").terminal(80).done(), @r#"
     2  4f1c02a9  2026-03-14 09:26  model: claude-sonnet-4-5
     3  b7e3d510             09:26  thinking: low
     4  0d9a6c31             09:27  user: The 00:10 ferry shows up as "left 23 h ag…
     5  c25f81e7             09:27  assistant: I'll look for where the waiting time…
     6  9e04b3d8             09:27  grep: /fn departs_in/ in src
     7  61a7f2cc             09:27  assistant: (calls read)
     8  e8830b5a             09:27  read: src/clock.rs:35-64
     9  27d4c96f             09:28  [cause found] assistant: `departs_in` subtracts…
    10  f05b1e83             09:28  label: cause found
    19  90f6a3e8             09:31  branch summary: Make `departs_in` right across…
    20  3de1b752             09:31  user: Undo that, and take the nearer of the two…
    21  c8a45f06             09:31  assistant: So the result lies within half a day…
    22  1b72ce9d             09:31  edit: src/clock.rs
    23  fa39d058             09:31  bash: cargo test --quiet
    24  648dc1b3             09:31  [green] assistant: All 14 tests pass, and at 23…
    25  0fe7a29c             09:32  label: green
    26  b5d60e41             09:32  user: Good. Please add a test for exactly that…
    27  7a13f8c2             09:32  assistant: (calls write)
    28  e19c4d07             09:32  write: tests/midnight.rs
    29  42b8f65a             09:32  assistant: `tests/midnight.rs` pins it down: as…
    30  dc705e93             09:43  compaction: 12.5k tokens · Make waiting times r…
    31  86e2a1fb             09:43  user: Now a line for the changelog, for people…
    32  2f5dc03e             09:43  assistant: "Ferries after midnight no longer sh…
    "#);
    assert_snapshot!(s.pisess("label ./tour.jsonl --color never").terminal(80).done(), @"
    cause found  27d4c96f  2026-03-14 09:28  assistant: `departs_in` subtracts minu…
    green        648dc1b3  2026-03-14 09:32  assistant: All 14 tests pass, and at 2…
    ");
}

#[test]
fn no_row_is_wider_than_the_terminal() {
    let s = Sandbox::with(&[
        "tour.jsonl",
        "omp.jsonl",
        "draft-tree.jsonl",
        "hazards/hostile-text.jsonl",
    ]);
    s.run("label ./omp.jsonl @ 'a label that is rather long, longer than half of a terminal'");
    for name in s.names() {
        for command in ["tree", "tree --filter all --times", "path", "label"] {
            for width in [1, 10, 24, 40, 80, 132] {
                let done = s
                    .pisess(&format!("{command} ./{name} --color never"))
                    .terminal(width)
                    .done();
                for row in done.text().lines() {
                    assert!(
                        row.width() <= width.max(1),
                        "{command} {name} {width}: {row:?} is {}",
                        row.width()
                    );
                }
            }
        }
    }
}

#[test]
fn wide_characters_count_twice() {
    let s = Sandbox::new();
    s.put(
        "a.jsonl",
        crate::sandbox::session(&[crate::sandbox::user("aaaa0001", None, &"日本".repeat(60))]),
    );
    let text = s
        .pisess("tree ./a.jsonl --color never")
        .terminal(40)
        .done()
        .text();
    let row = text.split_inclusive('\n').next_back().unwrap();
    assert!(
        row.trim_end().width() <= 40 && row.trim_end().width() >= 38,
        "{row}"
    );
    assert!(row.ends_with("…  ← active\n"), "{row}");
}

#[test]
fn colours() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    assert_snapshot!(s.pisess("tree ./two-branches.jsonl").terminal(80).done().text().replace('\u{1b}', "␛"), @"
    ␛[2m~/kites · 7 entries␛[0m
    ␛[34;1m1a2b3c01␛[0m  ␛[36m• ␛[0m␛[33m[start] ␛[0m␛[36;1muser: ␛[0mWhich paper for a kite?
    ␛[34;1m1a2b3c02␛[0m  ␛[36m• ␛[0m␛[32massistant: ␛[0mTissue paper is light, washi is strong.
    ␛[34;1m1a2b3c04␛[0m  ␛[2m├─ ␛[0m␛[2muser: ␛[0m␛[2mTissue paper then. How big?␛[0m␛[2m  (2 messages, 4mo)␛[0m
    ␛[34;1m1a2b3c05␛[0m  ␛[2m│  ␛[0m␛[2massistant: ␛[0m␛[2mHalf a metre; larger ones tear.␛[0m
    ␛[34;1m1a2b3c06␛[0m  ␛[36m• ␛[0m␛[36;1muser: ␛[0mWashi then. How big?
    ␛[34;1m1a2b3c07␛[0m  ␛[36m• ␛[0m␛[32massistant: ␛[0mA metre and more, with a bamboo spar.␛[36m  ← active␛[0m
    ");
}

#[test]
fn titles_of_columns_are_underlined() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for line in [
        "list .",
        "branches ./two-branches.jsonl",
        "stats --by model .",
    ] {
        let shown = s.pisess(line).terminal(80).done().text();
        let titles = shown.lines().next().unwrap();
        assert!(titles.contains("\u{1b}[4m"), "{line}: {titles}");
        assert!(
            !shown[titles.len()..].contains("\u{1b}[4m"),
            "{line}: {shown}"
        );
    }
}

#[test]
fn colour_when_it_is_wanted() {
    let s = Sandbox::with(&["two-branches.jsonl", "tour.jsonl"]);
    let coloured = |call: crate::sandbox::Call| call.done().text().contains('\u{1b}');
    for command in ["tree ./tour.jsonl", "path ./two-branches.jsonl"] {
        let call = |options: &str| s.pisess(&format!("{command} {options}"));
        assert!(coloured(call("").terminal(80)), "{command}");
        assert!(!coloured(call("")), "{command}");
        assert!(coloured(call("--color always")), "{command}");
        assert!(
            coloured(call("--color=always").env("NO_COLOR", "1")),
            "{command}"
        );
        assert!(!coloured(call("--color never").terminal(80)), "{command}");
        assert!(
            !coloured(call("").terminal(80).env("NO_COLOR", "1")),
            "{command}"
        );
        assert!(
            coloured(call("").terminal(80).env("NO_COLOR", "")),
            "{command}"
        );
        let forced = |value: &str| call("").env("CLICOLOR_FORCE", value);
        assert!(coloured(forced("1")), "{command}");
        assert!(!coloured(forced("0")), "{command}");
        assert!(!coloured(forced("")), "{command}");
        assert!(!coloured(forced("1").env("NO_COLOR", "1")), "{command}");
    }
    assert_eq!(s.unchanged("tree ./tour.jsonl --color sometimes").code, 2);
}

#[test]
fn colours_change_no_text() {
    let s = Sandbox::with(&["tour.jsonl"]);
    for command in [
        "tree ./tour.jsonl --filter all --times",
        "path ./tour.jsonl",
        "label ./tour.jsonl",
        "branches ./tour.jsonl",
        "show ./tour.jsonl @ fa39d058 1b72ce9d",
        "grep departs ./tour.jsonl",
        "grep -C 1 departs ./tour.jsonl",
        "stats --by entry ./tour.jsonl",
    ] {
        let plain = s.run(command);
        assert_eq!(
            without_colours(&s.run(&format!("{command} --color always"))),
            plain,
            "{command}"
        );
    }
}

/// The part of an id that stands out names the entry, wherever the id is shown.
#[test]
fn the_unique_prefix_of_an_id_stands_out() {
    let s = Sandbox::new();
    let ids = ["abcd1234", "abcd1299", "abce0000", "keep", "keep0001"];
    let mut lines = Vec::new();
    let mut parent = None;
    for id in ids {
        lines.push(crate::sandbox::user(id, parent, "needle"));
        parent = Some(id);
    }
    s.put("x.jsonl", crate::sandbox::session(&lines));
    s.pisess("label -q ./x.jsonl abcd1299 abce").done();

    // `abce` is a label now, so it takes five characters to name the third entry.
    let shown = ["abcd123|4", "abcd129|9", "abce0|000", "keep|", "keep0|001"];
    for command in [
        "tree ./x.jsonl",
        "path ./x.jsonl",
        "show ./x.jsonl abcd1234 abcd1299 abce0000 keep keep0001",
        "show --children ./x.jsonl root abcd1234 abcd1299 abce0000 keep",
        "grep -C 1 needle ./x.jsonl",
        "diff ./x.jsonl root keep0001",
    ] {
        let done = s.pisess(&format!("{command} --color always")).done();
        for id in shown {
            let (prefix, rest) = id.split_once('|').unwrap();
            let rest = match rest {
                "" => String::new(),
                rest => format!("\u{1b}[2m{rest}\u{1b}[0m"),
            };
            let styled = format!("\u{1b}[34;1m{prefix}\u{1b}[0m{rest}");
            assert!(done.text().contains(&styled), "{command}: {styled:?}");
        }
    }
    for command in ["label ./x.jsonl", "branches ./x.jsonl"] {
        let out = s.run(&format!("{command} --color always"));
        assert!(out.contains("\u{1b}[34;1m"), "{command}");
    }
}

/// Searched without being loaded, a session has the same prefixes, which are read for the rows.
#[test]
fn each_prefix_that_stands_out_names_its_entry() {
    let s = Sandbox::with(&["tour.jsonl", "v1.jsonl", "omp.jsonl"]);
    for file in ["tour.jsonl", "v1.jsonl", "omp.jsonl"] {
        for command in ["tree --filter all --unfold", "grep -e ^"] {
            let colour = s.run(&format!("{command} ./{file} --color always"));
            for row in colour.lines() {
                let Some((_, after)) = row.split_once("\u{1b}[34;1m") else {
                    assert!(
                        command == "grep -e ^" && (row.contains("title:") || file == "v1.jsonl"),
                        "{row}"
                    );
                    continue;
                };
                let (prefix, _) = after.split_once('\u{1b}').unwrap();
                let entry = s.run(&format!("show --json ./{file} '{prefix}'"));
                let plain = without_colours(row);
                let id = plain.split([' ', ':']).next().unwrap();
                assert!(
                    entry.contains(&format!("\"id\":\"{id}\"")),
                    "{row}: {prefix}"
                );
            }
        }
    }
}

/// Returns a text without what makes parts of it links.
fn without_links(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once("\u{1b}]8;;") {
        shown += before;
        rest = link.split_once("\u{1b}\\").expect("a link has an end").1;
    }
    shown + rest
}

#[test]
fn paths_are_links_where_they_are_wanted() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    let links = |line: &str| {
        let done = s
            .pisess(line)
            .env("TERM_PROGRAM", "WezTerm")
            .terminal(80)
            .done();
        done.text().matches("\u{1b}]8;;file://").count()
    };
    for line in [
        "grep -l kite ./two-branches.jsonl ./tour.jsonl",
        "grep kite ./two-branches.jsonl ./tour.jsonl",
        "list -l ./two-branches.jsonl",
        "export -q --force ./two-branches.jsonl -o ./x.html",
        "show ./tour.jsonl 1b72ce9d",
    ] {
        assert_eq!(links(line), 0, "{line}");
        assert_eq!(links(&format!("{line} --hyperlink")), 1, "{line}");
        assert_eq!(links(&format!("{line} --hyperlink=never")), 0, "{line}");
        let in_a_pipe = |options: &str| s.pisess(&format!("{line} {options}"));
        assert!(
            !in_a_pipe("--hyperlink").done().text().contains("]8;;"),
            "{line}"
        );
        assert!(
            in_a_pipe("--hyperlink=always")
                .done()
                .text()
                .contains("]8;;"),
            "{line}"
        );
        let asked = in_a_pipe("").env("PISESS_HYPERLINK", "always");
        assert!(asked.done().text().contains("]8;;"), "{line}");
    }
    for line in [
        "tree --unfold ./tour.jsonl",
        "path ./tour.jsonl",
        "diff ./tour.jsonl ./two-branches.jsonl",
        "stats --by file ./tour.jsonl",
        "stats --by session ./tour.jsonl ./two-branches.jsonl",
    ] {
        let plain = s.pisess(line).env("TERM_PROGRAM", "WezTerm").terminal(80);
        let linked = s
            .pisess(&format!("{line} --hyperlink"))
            .env("TERM_PROGRAM", "WezTerm")
            .terminal(80)
            .done()
            .text();
        assert!(linked.contains("\u{1b}]8;;file://"), "{line}: {linked}");
        assert_eq!(without_links(&linked), plain.done().text(), "{line}");
        assert_eq!(links(line), 0, "{line}");
    }
    let json = s.run("grep --json --hyperlink=always kite ./two-branches.jsonl");
    assert!(!json.contains("]8;;"));
}

#[test]
fn a_notice_has_no_colours_in_a_pipe() {
    let s = Sandbox::with(&["hazards/malformed-v3.jsonl"]);
    let done = s.pisess("tree ./malformed-v3.jsonl").done();
    assert!(!done.stderr.contains('\u{1b}'));
}

/// COLUMNS takes precedence over the terminal, and truncates rows in a pipe, too.
#[test]
fn columns_sets_the_width() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let widest = |text: String| {
        text.lines()
            .map(UnicodeWidthStr::width)
            .max()
            .unwrap_or_default()
    };
    for line in [
        "tree ./tour.jsonl",
        "path ./tour.jsonl",
        "branches ./tour.jsonl",
    ] {
        let in_a_pipe = s.pisess(line).env("COLUMNS", "50").done().quiet();
        assert_eq!(widest(in_a_pipe), 50, "{line}");
        let on_a_terminal = s
            .pisess(line)
            .env("COLUMNS", "50")
            .env("NO_COLOR", "1")
            .terminal(100)
            .done()
            .text();
        assert_eq!(widest(on_a_terminal), 50, "{line}");
    }
    assert!(widest(s.run("tree ./tour.jsonl")) > 100);
}
