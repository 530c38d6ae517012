//! `pisess export`: a page, HTML of one path, Markdown. `tests/page/run` tests the page in a
//! browser.

use crate::redact::{planted, secret};
use crate::sandbox::{Sandbox, fixture, hazards, session};
use base64::Engine;
use flate2::read::GzDecoder;
use insta::assert_snapshot;
use pisess::export::verify::{Rendition, find_leaked_values};
use pisess::format::AGE_UNITS;
use pisess::redact::values::SecretValue;
use serde_json::Value;
use serde_json::json;
use std::io::Read;

/// Returns all that a page contains in compressed pieces.
fn unpacked(page: &str) -> String {
    let mut all = String::new();
    for piece in page.split("<script type=\"text/plain\" ").skip(1) {
        let data = piece.split_once('>').unwrap().1.split_once('<').unwrap().0;
        let bytes = base64::engine::general_purpose::STANDARD
            .decode(data)
            .unwrap();
        if bytes.starts_with(&[0x1f, 0x8b]) {
            GzDecoder::new(&bytes[..]).read_to_string(&mut all).unwrap();
            all.push('\n');
        }
    }
    all
}

#[test]
fn a_page_in_the_current_folder() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.run("export ./tour.jsonl"), @"tour.html");
    let page = s.text("tour.html");
    assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"));
    assert!(page.contains("<title>The 00:10 ferry shows up as &quot;left 23 h ago&quot;"));
    let inside = unpacked(&page);
    for said in [
        "left 23 h ago",
        "cause found",
        "0d9a6c31",
        "claude-sonnet-4-5",
        "tests/midnight.rs",
    ] {
        assert!(inside.contains(said), "{said}");
    }
    assert_snapshot!(s.pisess("export ./tour.jsonl --as html -o ./tour.jsonl --force").done().fails(2), @"cannot write ./tour.jsonl: it is the input itself (hint: give another path with -o)");
    assert_snapshot!(s.run("export ./tour.jsonl --json --force"), @r#"{"path":"tour.html","entries":31}"#);
}

/// Who can read a session is not asked who can read what is exported from it.
#[test]
#[cfg(unix)]
fn exports_are_private_or_as_what_they_replace() {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    let s = Sandbox::with(&["tour.jsonl"]);
    fs::create_dir(s.path("store")).unwrap();
    fs::copy(s.path("tour.jsonl"), s.path("store/one.jsonl")).unwrap();
    let set_mode = |name: &str, mode: u32| {
        fs::set_permissions(s.path(name), Permissions::from_mode(mode)).unwrap();
    };
    let mode = |name: &str| fs::metadata(s.path(name)).unwrap().permissions().mode() & 0o777;
    let session = s.text("tour.jsonl");
    let forms = [
        "--as html",
        "--static",
        "--as markdown",
        "--as atif",
        "--as messages",
        "--as html --redact",
        "--as messages --redact",
    ];
    for form in forms {
        for of_session in [0o644, 0o640] {
            set_mode("tour.jsonl", of_session);
            set_mode("store/one.jsonl", of_session);
            s.run(&format!("export -q ./tour.jsonl {form} -o ./file"));
            s.pisess(&format!("export -q - {form} -o ./pipe"))
                .stdin(session.as_str())
                .done()
                .quiet();
            assert_eq!([mode("file"), mode("pipe")], [0o600; 2], "{form}");
            set_mode("file", 0o644);
            s.run(&format!("export -q ./tour.jsonl {form} -o ./file --force"));
            set_mode("pipe", 0o640);
            s.pisess(&format!("export -q - {form} -o ./pipe --force"))
                .stdin(session.as_str())
                .done()
                .quiet();
            assert_eq!([mode("file"), mode("pipe")], [0o644, 0o640], "{form}");
            let listed = s.run(&format!("export -q ./store {form} -o ./pages/"));
            assert_eq!(mode(listed.trim_end()), 0o600, "{form}");
            fs::remove_dir_all(s.path("pages")).unwrap();
            fs::remove_file(s.path("file")).unwrap();
            fs::remove_file(s.path("pipe")).unwrap();
        }
    }
    // A page of the same session is replaced without --force.
    s.run("export ./tour.jsonl -o ./page.html");
    assert_eq!(mode("page.html"), 0o600);
    set_mode("page.html", 0o644);
    s.run("export ./tour.jsonl -o ./page.html '@~3'");
    assert_eq!(mode("page.html"), 0o644);
}

#[test]
fn conversations_do_not_replace_a_session_that_they_are_from() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    let before = [s.text("tour.jsonl"), s.text("two-branches.jsonl")];
    assert_snapshot!(s.pisess("export --as messages --force -o ./tour.jsonl ./tour.jsonl").done().fails(2), @"cannot write ./tour.jsonl: it is the input itself (hint: give another path with -o)");
    s.pisess(
        "export --as messages --force -o ./two-branches.jsonl ./tour.jsonl ./two-branches.jsonl",
    )
    .done()
    .fails(2);
    assert_eq!([s.text("tour.jsonl"), s.text("two-branches.jsonl")], before);
}

/// A page of the same session is replaced; any other file stays.
#[test]
fn a_page_of_the_same_session_is_replaced() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    s.run("export ./tour.jsonl -o ./page.html");
    let page = s.text("page.html");
    for form in ["", "--static", "'@~3'", "--redact"] {
        let line = format!("export -q ./tour.jsonl -o ./page.html {form}");
        assert_eq!(s.run(&line), "./page.html\n");
    }
    assert!(s.text("page.html") != page);
    s.run("export ./tour.jsonl -o ./page.html --force");
    assert_eq!(s.text("page.html"), page);

    // A page of another session, a page with a session, and files that only look like a page.
    s.run("export ./two-branches.jsonl -o ./other.html");
    s.run("export ./tour.jsonl --attach -o ./attached.html");
    let head = page.split_once("<title>").unwrap().0;
    let (before_meta, id) = head.split_once("<meta name=\"pisess-session\"").unwrap();
    s.put("text.html", format!(" {page}"));
    s.put(
        "title.html",
        format!("{before_meta}<title><meta name=\"pisess-session\"{id}<title>"),
    );
    s.put(
        "edited.html",
        page.replace("</main>", "<p>my words</p></main>"),
    );
    s.put("longer.html", format!("{page}my words\n"));
    s.put("notes.html", "my notes\n");
    s.put("empty.html", "");
    for name in [
        "other", "attached", "text", "title", "edited", "longer", "notes", "empty",
    ] {
        let name = format!("{name}.html");
        let before = s.text(&name);
        for form in ["", "--static", "--redact"] {
            let run = s
                .pisess(&format!("export -q ./tour.jsonl -o ./{name} {form}"))
                .done();
            assert!(run.fails(2).contains("already exists"), "{name}");
            assert_eq!(s.text(&name), before);
        }
    }
    // A document has no such line.
    s.run("export -q ./tour.jsonl -o ./page.md");
    assert_snapshot!(s.pisess("export -q ./tour.jsonl -o ./page.md").done().fails(2), @"cannot create ./page.md: it already exists (hint: choose another name, or overwrite it with --force)");
    assert_snapshot!(s.pisess("export -q ./tour.jsonl --as md -o ./page.html").done().fails(2), @"cannot create ./page.html: it already exists (hint: choose another name, or overwrite it with --force)");
}

/// A page without secrets, which may be shared already, is not replaced by a page with them.
#[test]
fn a_redacted_page_is_replaced_by_a_redacted_one() {
    let s = Sandbox::with(&["tour.jsonl"]);
    for redacted_form in ["--redact", "--redact --static"] {
        s.run(&format!(
            "export -q ./tour.jsonl -o ./page.html --force {redacted_form}"
        ));
        let redacted_page = s.text("page.html");
        let head = redacted_page.split_once("<title>").unwrap().0;
        assert!(head.contains("<meta name=\"pisess-redacted\" content=\"yes\">"));
        for form in ["", "--static", "'@~3'", "--attach"] {
            let run = s
                .pisess(&format!("export -q ./tour.jsonl -o ./page.html {form}"))
                .done();
            assert!(
                run.fails(2).contains("the page there is redacted"),
                "{form}"
            );
            assert_eq!(s.text("page.html"), redacted_page);
        }
        s.run("export -q ./tour.jsonl -o ./page.html --redact --static");
        s.run("export -q ./tour.jsonl -o ./page.html --redact");
    }

    assert_snapshot!(s.pisess("export -q ./tour.jsonl -o ./page.html").done().fails(2), @"cannot create ./page.html: the page there is redacted, and this export is not (hint: add --redact, choose another name, or overwrite it with --force)");
    s.run("export -q ./tour.jsonl -o ./page.html --force");
    let page = s.text("page.html");
    assert!(!page.contains("pisess-redacted"));
    s.run("export -q ./tour.jsonl -o ./page.html");
}

/// `--open` starts the program in `PISESS_BROWSER` with the path of the page, and does not wait.
#[cfg(unix)]
#[test]
fn open_starts_a_browser() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let opened = s.path("opened");
    let browser = s.path("browser");
    s.script(
        "browser",
        &format!(
            "printf '%s %s' \"$1\" \"$2\" > '{0}.new'\nmv '{0}.new' '{0}'",
            opened.display()
        ),
    );
    let command_line = format!("{} --new", browser.display());

    let run = s
        .pisess("export ./tour.jsonl --open")
        .env("PISESS_BROWSER", &command_line)
        .real();
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    let mut waited = 0;
    while !opened.exists() && waited < 300 {
        std::thread::sleep(std::time::Duration::from_millis(50));
        waited += 1;
    }
    assert_eq!(s.text("opened"), "--new ./tour.html");

    let missing = s.path("no-such-program");
    let run = s
        .pisess("export ./tour.jsonl --open")
        .env("PISESS_BROWSER", missing.to_str().unwrap())
        .real();
    assert_eq!(run.code, 4);
    assert!(
        run.stderr.contains("to open the page") && run.stderr.contains("the change is written"),
        "{}",
        run.stderr
    );
    for form in ["--as md", "-o -", "--as atif"] {
        assert!(
            s.pisess(&format!("export ./tour.jsonl --open {form}"))
                .done()
                .fails(2)
                .contains("--open"),
            "{form}"
        );
    }
    assert!(
        s.pisess("export . --open")
            .done()
            .fails(2)
            .contains("--open shows the page of one session")
    );
}

/// A page formats ages, tokens and prices in the browser, in the way of `pisess::format`.
#[test]
fn a_page_has_the_units_of_other_commands() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.run("export ./tour.jsonl");
    let page = s.text("tour.html");
    let units = AGE_UNITS
        .map(|(unit, seconds)| format!("[\"{unit}\", {seconds}]"))
        .join(", ");
    assert!(
        page.contains(&format!("const UNITS = [{units}];")),
        "{units}"
    );
    for foreign in ["Intl.NumberFormat", "notation: \"compact\""] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn with_a_reference_other_branches_stay() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.run("export ./tour.jsonl label:green -o ./part.html");
    let inside = unpacked(&s.text("part.html"));
    assert!(inside.contains("cause found") && inside.contains("3de1b752"));
    // Neither another branch nor what follows the end of the path is exported.
    for other in ["3ac9d7e4", "Just add a day", "86e2a1fb", "changelog"] {
        assert!(!inside.contains(other), "{other}");
    }
    s.run("export ./tour.jsonl root -o ./root.html");
    assert!(!unpacked(&s.text("root.html")).contains("ferry shows up"));
    assert_snapshot!(s.pisess("export ./tour.jsonl nobody -o ./x.html").done().fails(2), @r#"./tour.jsonl: no entry or label "nobody" (hint: `pisess tree --filter all` lists the ids)"#);
}

#[test]
fn the_path_as_markdown() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert_snapshot!(s.unchanged("export ./tour.jsonl label:green --as markdown -o -"), @r#"
    # The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?

    ## The 00:10 ferry shows up as "left 23 h ago" when I ask at 23:50. Can you find out why?

    **You** · *2026-03-14 09:27 UTC*

    **Assistant** · *anthropic/claude-sonnet-4-5*

    <details><summary>Thinking</summary>

    Looks like a midnight problem.

    </details>

    I'll look for where the waiting time is computed.

    <details><summary><b>grep</b> <code>/fn departs_in/ in src</code></summary>

    ```
    src/clock.rs:41:pub fn departs_in(now: Time, departure: Time) -> i64 {
    ```

    </details>

    <details><summary><b>read</b> <code>src/clock.rs:35-64</code></summary>

    ```rs
    pub fn departs_in(now: Time, departure: Time) -> i64 {
        departure.minutes() - now.minutes()
    }
    ```

    </details>

    *Label “cause found”*

    `departs_in` subtracts minutes of the day, so across midnight the result is negative: 10 - 1430 = -1420 minutes, printed as "left 23 h ago". The timetable has no dates, only times.

    *Branch summary · 2026-03-14 09:31 UTC*

    <details><summary>Branch left: Make departs_in right across midnight.</summary>

    The user explored a different conversation branch before returning here.
    Summary of that exploration:

    ### Goal

    Make `departs_in` right across midnight.

    ### Progress

    #### Done

    - [x] Tried `rem_euclid(1440)`: one line, but ferries that just left come out as leaving tomorrow.

    #### Blocked

    - `board::just_left_is_shown_as_left` and `board::delayed_ferry_stays_on_board` fail with it.

    <details><summary>1 file changed</summary>

    ```
    /home/u/code/ferry/src/clock.rs
    ```

    </details>

    </details>

    ## Undo that, and take the nearer of the two: yesterday's or tomorrow's departure.

    **You** · *2026-03-14 09:31 UTC*

    **Assistant**

    So the result lies within half a day either way.

    <details><summary><b>edit</b> <code>src/clock.rs</code></summary>

    ```diff
    -(departure.minutes() - now.minutes()).rem_euclid(1440)
    +(departure.minutes() - now.minutes() + 720).rem_euclid(1440) - 720
    ```

    *Successfully replaced 1 block in src/clock.rs.*

    </details>

    <details><summary><b>bash</b> <code>cargo test --quiet</code></summary>

    ```
    running 14 tests
    ..............
    test result: ok. 14 passed; 0 failed
    ```

    </details>

    *Label “green”*

    All 14 tests pass, and at 23:50 the 00:10 ferry departs in 20 min.
    "#);
}

/// Returns a session whose one request has the given text, JSON already, with an answer that
/// contains a tool call.
fn asked(request: &str, output_lines: usize) -> String {
    let output = (1..=output_lines)
        .map(|line| format!("line {line}\\n"))
        .collect::<String>();
    [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#.to_owned(),
        format!(r#"{{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"user","content":"{request}"}}}}"#),
        r#"{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"assistant","content":[{"type":"thinking","thinking":"Hm, a secret thought."},{"type":"toolCall","id":"c1","name":"bash","arguments":{"command":"make"}}]}}"#.to_owned(),
        format!(r#"{{"type":"message","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-01-01T00:00:03.000Z","message":{{"role":"toolResult","toolCallId":"c1","toolName":"bash","content":[{{"type":"text","text":"{output}"}}]}}}}"#),
        r#"{"type":"message","id":"aaaa0004","parentId":"aaaa0003","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"assistant","content":[{"type":"text","text":"All built."}]}}"#.to_owned(),
        String::new(),
    ]
    .join("\n")
}

#[test]
fn a_long_request_is_quoted_below_its_first_words() {
    let s = Sandbox::new();
    s.put(
        "s.jsonl",
        asked("Please:\\n\\n1. read `a`\\n2. write *b*", 1),
    );
    assert_snapshot!(s.unchanged("export ./s.jsonl aaaa0001 --as md -o -"), @r#"
    # Please: 1. read a 2. write \*b\*

    ## Please: 1. read a 2. write \*b\*

    **You** · *2026-01-01 00:00 UTC*

    > Please:
    >
    > 1\. read `a`\
    > 2\. write \*b\*
    "#);
}

#[test]
fn the_extension_chooses_the_format() {
    let s = Sandbox::with(&["tour.jsonl"]);
    for (name, start) in [
        ("a.md", "# The 00:10 ferry"),
        ("a.HTM", "<!doctype"),
        ("a.html", "<!doctype"),
        ("a", "<!doctype"),
    ] {
        s.run(&format!("export -q ./tour.jsonl -o ./{name}"));
        assert!(s.text(name).starts_with(start), "{name}");
    }
    s.run("export -q ./tour.jsonl -o ./a.txt --as md");
    assert!(s.text("a.txt").starts_with("# The 00:10 ferry"));
    assert_snapshot!(s.pisess("export ./tour.jsonl -o ./a.pdf").done().fails(2), @"no format has the extension .pdf (hint: give the format: --as html, --as markdown, --as atif or --as messages)");
}

#[test]
fn no_tools_no_thinking_max_lines_and_filter_omit_everywhere() {
    let s = Sandbox::new();
    s.put("s.jsonl", asked("Build it.", 30));
    assert_snapshot!(s.unchanged("export ./s.jsonl --no-tools --no-thinking --as md -o -"), @"
    # Build it.

    *Left out: tool calls, thinking.*

    ## Build it.

    **You** · *2026-01-01 00:00 UTC*

    **Assistant**

    All built.
    ");
    assert_snapshot!(s.unchanged("export ./s.jsonl --max-lines 2 --no-thinking --as md -o -"), @"
    # Build it.

    *Left out: thinking, output of tools beyond 2 lines.*

    ## Build it.

    **You** · *2026-01-01 00:00 UTC*

    **Assistant**

    <details><summary><b>bash</b> <code>make</code></summary>

    *28 earlier lines*

    ```
    line 29
    line 30
    ```

    </details>

    All built.
    ");
    assert_snapshot!(s.unchanged("export ./s.jsonl --filter user-only --as md -o -"), @"
    # Build it.

    *Left out: everything but the requests.*

    ## Build it.

    **You** · *2026-01-01 00:00 UTC*
    ");
    for format in ["", "--static", "--as md"] {
        let all = |options: &str| {
            let written = s
                .unchanged(&format!("export ./s.jsonl {options} {format} -o -"))
                .to_string();
            if format.is_empty() {
                unpacked(&written)
            } else {
                written
            }
        };
        let whole = all("");
        assert!(
            ["secret thought", "line 17", "make", "All built"]
                .iter()
                .all(|text| whole.contains(text))
        );
        let prose = all("--no-tools --no-thinking");
        assert!(
            ["secret thought", "line 17", "make"]
                .iter()
                .all(|text| !prose.contains(text)),
            "{format}"
        );
        assert!(prose.contains("All built"));
        let short = all("--max-lines 3");
        assert!(
            short.contains("line 30")
                && !short.contains("line 17")
                && short.contains("27 earlier lines")
        );
        let requests = all("--filter user-only");
        assert!(requests.contains("Build it") && !requests.contains("All built"));
    }
}

#[test]
fn an_export_of_at_most_so_many_bytes() {
    let s = Sandbox::with(&["tour.jsonl"]);
    s.put("s.jsonl", asked("Build it.", 3000));
    let sized = |most: usize, format: &str| {
        let done = s
            .pisess(&format!("export ./s.jsonl --max-size {most} {format} -o -"))
            .done();
        assert_eq!(done.code, 0, "{}", done.stderr);
        assert!(
            done.stdout.len() <= most,
            "{} > {most} {format}",
            done.stdout.len()
        );
        done.text()
    };
    let lines = sized(1000, "--as md");
    assert!(
        lines.contains("Left out: output of tools beyond 40 lines.") && lines.contains("line 3000"),
        "{lines}"
    );
    assert_eq!(lines.matches("```").count(), 2);
    assert_snapshot!(sized(300, "--as md"), @"
    # Build it.

    *Left out: output of tools.*

    ## Build it.

    **You** · *2026-01-01 00:00 UTC*

    **Assistant**

    <details><summary>Thinking</summary>

    Hm, a secret thought.

    </details>

    <details><summary><b>bash</b> <code>make</code></summary>

    *3000 lines*

    </details>

    All built.
    ");
    let without_thinking = sized(262, "--as md");
    assert!(
        without_thinking.contains("*Left out here: thinking*")
            && without_thinking.contains("<b>bash</b>"),
        "{without_thinking}"
    );
    assert_snapshot!(sized(160, "--as md"), @"
    # Build it.

    *Left out: tool calls, thinking.*

    ## Build it.

    **You** · *2026-01-01 00:00 UTC*

    *Left out here: 1 tool call*

    **Assistant**

    All built.
    ");
    for (whole, format) in [("--as md", "--as md"), ("--static", "--static"), ("", "")] {
        let size = s
            .pisess(&format!("export ./s.jsonl {whole} -o -"))
            .done()
            .stdout
            .len();
        sized(size, format);
        sized(size - 1, format);
    }
    assert_snapshot!(s.pisess("export ./s.jsonl --max-size 20 -o ./x.md").done().fails(2), @"./s.jsonl: 20 bytes are too few even for the first request (hint: give a larger --max-size)");
    assert_snapshot!(s.pisess("export ./s.jsonl --max-size 20 --as atif -o -").done().fails(2), @"a trajectory is complete: nothing can be left out of it (hint: omit --no-tools, --no-thinking, --filter, --max-lines and --max-size)");
    assert_eq!(s.names(), ["s.jsonl", "tour.jsonl"]);
}

#[test]
fn an_attached_session_is_what_is_exported() {
    let s = Sandbox::with(&["tour.jsonl", "omp.jsonl"]);
    let attached = |command: &str| {
        let page = s.unchanged(command).to_string();
        let pieces = page
            .lines()
            .filter(|line| line.starts_with("<script type=\"text/plain\" class=\"session\">"));
        unpacked(&pieces.collect::<Vec<_>>().join("\n"))
    };
    for name in ["tour.jsonl", "omp.jsonl"] {
        assert_eq!(
            attached(&format!("export ./{name} --attach -o -")),
            s.text(name) + "\n"
        );
    }
    let path = attached("export ./tour.jsonl label:green --attach -o -");
    s.put("path.jsonl", path.trim_end().to_owned() + "\n");
    let whole = s.text("tour.jsonl");
    assert!(
        path.trim_end().lines().all(|line| whole.contains(line)) && !path.contains("changelog")
    );
    assert_eq!(s.pisess("check ./path.jsonl").done().code, 0);
    assert_snapshot!(s.pisess("export ./tour.jsonl --attach --no-tools -o -").done().fails(2), @"with --attach, the page contains every entry whole (hint: omit --no-tools, --no-thinking, --filter, --max-lines and --max-size, or omit --attach)");
    assert_snapshot!(s.pisess("export ./tour.jsonl --attach -o ./x.md").done().fails(2), @"--attach applies only to a page with scripts (hint: omit --static, and give an output that ends in .html)");
}

#[test]
fn the_path_without_scripts() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let page = s.unchanged("export ./tour.jsonl --static -o -").to_string();
    assert!(!page.contains("<script") && !page.contains("script-src"));
    assert!(
        page.contains("<h2>User · 2026-03-14 09:27 UTC</h2>"),
        "{page}"
    );
    assert!(page.contains("<span class=\"label\">cause found</span>"));
    assert!(page.contains("<ins>"), "a diff");
    assert!(
        page.contains("<main") && page.contains("data-counts=\"+"),
        "{page}"
    );
    // Bookkeeping and settings are left out, as in Markdown, unless a filter asks for them.
    for heading in ["<h2>Label", "<h2>Model change", "<h2>Thinking level change"] {
        assert!(!page.contains(heading), "{heading}");
    }
    let whole = s
        .unchanged("export ./tour.jsonl --static --filter all -o -")
        .to_string();
    assert!(whole.contains("<h2>Model change"), "{whole}");
    s.put("header.jsonl", "{\"type\":\"session\",\"version\":3,\"id\":\"h\",\"timestamp\":\"2026-03-14T09:26:45.589Z\",\"cwd\":\"/a\"}\n");
    let empty = s
        .unchanged("export ./header.jsonl --static -o -")
        .to_string();
    assert!(empty.contains("This session has no messages."), "{empty}");
    let markdown = s
        .unchanged("export ./header.jsonl --as md -o -")
        .to_string();
    assert_snapshot!(markdown, @r#"
    # a, 2026-03-14

    *This session has no messages.*
    "#);
    // A filter may leave out all of them.
    s.put("asked.jsonl", lines_of(&[r#"{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Go on."}}"#]));
    for form in ["--static", "--as md"] {
        let none = s
            .unchanged(&format!(
                "export ./asked.jsonl {form} --filter labeled-only -o -"
            ))
            .to_string();
        assert!(
            none.contains("No message of this session is shown here."),
            "{none}"
        );
    }
    assert_snapshot!(s.pisess("export ./tour.jsonl --static --as markdown").done().fails(2), @"
    --static applies only to HTML (hint: omit --static or --as)
    ");
}

/// Text of a session is text everywhere in a page.
#[test]
fn hostile_text_stays_text() {
    let s = Sandbox::with(&["hazards/hostile-text.jsonl"]);
    let bad = "</script></style></title><script>alert(1)</script><img src=x onerror=alert(1)>";
    let quoted = bad.replace('"', "\\\"");
    s.put(
        "bad.jsonl",
        format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"{quoted}\",\"timestamp\":\"{quoted}\",\"cwd\":\"/{quoted}\"}}\n\
             {{\"type\":\"message\",\"id\":\"{quoted}\",\"parentId\":null,\"timestamp\":\"{quoted}\",\"message\":{{\"role\":\"user\",\"content\":\"{quoted}\"}}}}\n\
             {{\"type\":\"{quoted}\",\"id\":\"b\",\"parentId\":\"{quoted}\",\"{quoted}\":1}}\n\
             {{\"type\":\"session_info\",\"id\":\"c\",\"parentId\":\"b\",\"name\":\"{quoted}\"}}\n"
        ),
    );
    for form in ["", "--static"] {
        let page = s
            .unchanged(&format!("export ./bad.jsonl -o - {form}"))
            .to_string();
        assert!(
            !page.contains("<img") && !page.contains("alert(1)</script>"),
            "{form}"
        );
        assert_eq!(page.matches("</style>").count(), 1);
        assert_eq!(page.matches("</title>").count(), 1);
    }
}

#[test]
fn by_a_pipe_it_goes_on_by_one() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let page = s
        .pisess("export -")
        .stdin(s.bytes("tour.jsonl"))
        .done()
        .quiet();
    assert!(page.starts_with("<!doctype html>"));
}

/// The three forms of an export: format, options, file name.
const FORMS: [(Rendition, &str, &str); 3] = [
    (Rendition::Page, "", "page.html"),
    (Rendition::StaticPage, "--static", "static.html"),
    (Rendition::Markdown, "--as markdown", "text.md"),
];

#[test]
fn a_redacted_export_holds_none_of_three_hundred_secrets() {
    let secrets: Vec<String> = (0..320).map(secret).collect();
    let values: Vec<_> = secrets
        .iter()
        .map(|secret| SecretValue {
            kind: "x",
            bytes: secret.as_bytes().into(),
        })
        .collect();
    let s = Sandbox::new();
    s.put("s.jsonl", planted(&secrets));
    for (format, option, name) in FORMS {
        let left = |file: &str| {
            find_leaked_values(format, &s.bytes(file), &values)
                .unwrap()
                .len()
        };
        s.pisess(&format!("export -q ./s.jsonl {option} -o ./as-it-is"))
            .done();
        assert!(
            left("as-it-is") > 50,
            "{name}: the search finds {} secrets",
            left("as-it-is")
        );
        let done = s
            .pisess(&format!("export ./s.jsonl --redact {option} -o ./{name}"))
            .done();
        assert_eq!((done.code, left(name)), (0, 0), "{name}: {}", done.stderr);
        assert!(
            done.stderr.contains(" 40 aws-access-key, "),
            "{}",
            done.stderr
        );
        let text = s.text(name);
        let inside = if format == Rendition::Page {
            unpacked(&text)
        } else {
            text
        };
        assert!(
            inside.contains("[REDACTED:github-pat#1")
                || inside.contains("\\[REDACTED:github-pat#1")
        );
        assert!(
            secrets
                .iter()
                .all(|secret| !inside.contains(secret.as_str())),
            "{name}"
        );
        let piped = s
            .pisess(&format!("export ./s.jsonl --redact {option} -o -"))
            .done();
        assert_eq!(
            (piped.code, piped.stdout),
            (0, s.bytes(name)),
            "{name}: {}",
            piped.stderr
        );
        std::fs::remove_file(s.path("as-it-is")).unwrap();
    }
}

#[test]
fn a_secret_that_is_left_is_not_exported() {
    let s = Sandbox::new();
    let token = secret(0);
    s.put("s.jsonl", format!("{}\n", [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#.to_owned(),
        format!(r#"{{"type":"custom_message","customType":"note","content":"{token}","display":true,"id":"aaaa0001","parentId":null}}"#),
    ].join("\n")));
    // A renderer that prints the secret, which it did not get from pisess.
    s.put(
        "reply",
        format!(r#"{{"id":"aaaa0001","markdown":"see **{token}**"}}"#),
    );
    let renderer = format!(
        "--renderer 'note=cat >/dev/null; cat {}'",
        s.path("reply").display()
    );
    for (_, option, name) in FORMS {
        let failed = s
            .pisess(&format!(
                "export ./s.jsonl --redact {option} {renderer} -o ./{name}"
            ))
            .done()
            .fails(2);
        assert_eq!(
            failed,
            "./s.jsonl:2: github-pat of content would remain in the export; nothing was written (hint: a command of --renderer may have printed it)"
        );
        let piped = s
            .pisess(&format!(
                "export ./s.jsonl --redact {option} {renderer} -o -"
            ))
            .done();
        assert_eq!((piped.code, piped.stdout.len()), (2, 0));
    }
    assert_eq!(s.names(), ["reply", "s.jsonl"]);
}

#[test]
fn options_of_redact_apply_to_the_export() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put("list", "bamboo spar\n");
    let done = s
        .pisess("export ./two-branches.jsonl --redact --secret-file ./list --as markdown -o -")
        .done();
    assert_eq!(
        done.stderr,
        "pisess: note: 1 other branch (2 messages) not exported (hint: give the REF of another branch; `pisess branches` lists them)\n\
         pisess: ./two-branches.jsonl: left out 1 secret\n"
    );
    assert!(
        done.text()
            .contains("*Left out: 1 other branch (2 messages).*"),
        "{}",
        done.text()
    );
    let path = s
        .pisess("export ./two-branches.jsonl 1a2b3c05 --as markdown -o -")
        .done()
        .quiet();
    assert!(
        !path.contains("Left out"),
        "the path to an entry was asked for: {path}"
    );
    assert!(
        done.text().contains("\\[REDACTED:secret#1"),
        "{}",
        done.text()
    );
    assert_snapshot!(s.pisess("export ./two-branches.jsonl --paths -o -").done().fails(2), @"--env-file, --secret-file, --paths and --keep-images need --redact (hint: add --redact, or omit them)");
}

/// A run that was killed wrote the first files: the same command writes the others.
#[test]
fn the_same_command_completes_an_export_of_a_directory() {
    for options in ["", " --as markdown", " --redact"] {
        let s = Sandbox::new();
        for name in ["two-branches", "tour", "v1"] {
            s.put(
                &format!("sessions/{name}.jsonl"),
                fixture(&format!("{name}.jsonl")),
            );
        }
        std::fs::create_dir(s.path("out")).unwrap();
        let line = format!("export -q ./sessions -o ./out{options}");
        let first = s.pisess(&line).done();
        assert_eq!(first.code, 0, "{first}");
        let whole = s.files();

        let extension = if options.contains("markdown") {
            "md"
        } else {
            "html"
        };
        let named = |start: &str| {
            let names = s.names();
            let found = names.iter().find(|name| name.starts_with(start));
            found
                .unwrap_or_else(|| panic!("{start}: {names:?}"))
                .clone()
        };
        let tour = named("out/2026-03-14-the-00-10-ferry-shows-up-as-left-23-h-ago-when-6e8a4d70");
        assert!(tour.ends_with(&format!("-6e8a4d70.{extension}")), "{tour}");
        std::fs::remove_file(s.path(&tour)).unwrap();
        let again = s.pisess(&line).done();
        assert_eq!((again.code, again.text()), (0, first.text()), "{again}");
        assert!(s.files() == whole, "{options}");

        // One that was edited is not replaced.
        let edited = first.text().lines().next_back().unwrap().to_owned();
        s.put(&edited, [s.bytes(&edited), b"\n".to_vec()].concat());
        let refused = s.pisess(&line).done();
        assert_eq!(refused.code, 2, "{refused}");
        assert!(refused.stderr.contains("it already exists"), "{refused}");
    }
}

/// The export of a directory reports what documents leave out, as that of a session does.
#[test]
fn an_export_of_a_directory_reports_other_branches() {
    let s = Sandbox::new();
    for name in ["two-branches", "tour", "v1"] {
        s.put(
            &format!("in/{name}.jsonl"),
            fixture(&format!("{name}.jsonl")),
        );
    }
    let done = s.pisess("export --as markdown ./in -o ./new/below/").done();
    assert_eq!(done.code, 0, "{done}");
    assert_snapshot!(done.stderr, @"pisess: note: 2 other branches (10 messages) of 2 sessions not exported (hint: export a session with the REF of another branch; `pisess branches` lists them)");
    // A directory that would stay empty is not made.
    let none = s
        .pisess("export ./in/two-branches.jsonl no-such-entry -o ./none/")
        .done();
    assert_eq!(none.code, 2, "{none}");
    assert!(!s.path("none").exists());
    let one = s.pisess("export ./in/two-branches.jsonl -o ./one/").done();
    assert_eq!(one.text(), "./one/two-branches.html\n");
}

/// Returns a session of these lines, after a header.
fn lines_of(lines: &[&str]) -> String {
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
    format!("{header}\n{}\n", lines.join("\n"))
}

#[test]
fn as_md_static_and_page_keep_backslashes_the_user_typed() {
    let s = Sandbox::new();
    let request = r"Why is C:\\Users\\Bob\\.config\\_x empty?\n\nAnd \\\\srv\\_y?";
    s.put("s.jsonl", asked(request, 1));
    let markdown = s
        .unchanged("export ./s.jsonl aaaa0001 --as md -o -")
        .to_string();
    // In Markdown, each backslash is escaped.
    let path = r"C:\\Users\\Bob\\.config\\\_x";
    assert_eq!(markdown.matches(path).count(), 3, "{markdown}");
    let page = s.unchanged("export ./s.jsonl --static -o -").to_string();
    let in_text = r#"<p class="verbatim" dir="auto">Why is C:\Users\Bob\.config\_x empty?</p>"#;
    assert!(page.contains(in_text), "{page}");
    let script = unpacked(&s.unchanged("export ./s.jsonl -o -").to_string());
    let typed = r"C:\Users\Bob\.config\_x";
    // The row, the text, and its source for copying.
    assert!(script.matches(typed).count() >= 3, "{script}");
    assert!(s.run("show ./s.jsonl aaaa0001").contains(typed));
}

/// Bookkeeping, and messages that the agent hides, are for programs.
#[test]
fn markdown_is_the_conversation() {
    let s = Sandbox::new();
    s.put("s.jsonl", lines_of(&[
        r#"{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Go on."}}"#,
        r#"{"type":"custom","customType":"clock","data":{"hour":9},"id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:02.000Z"}"#,
        r#"{"type":"custom_message","customType":"reminder","content":"A hidden word","display":false,"id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-01-01T00:00:03.000Z"}"#,
        r#"{"type":"custom_message","customType":"weather","content":"A storm is coming","display":true,"id":"aaaa0004","parentId":"aaaa0003","timestamp":"2026-01-01T00:00:04.000Z"}"#,
        r#"{"type":"message","id":"aaaa0005","parentId":"aaaa0004","timestamp":"2026-01-01T00:00:05.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Done."}]}}"#,
    ]));
    assert_snapshot!(s.unchanged("export ./s.jsonl --as md -o -"), @"
    # Go on.

    ## Go on.

    **You** · *2026-01-01 00:00 UTC*

    *weather · 2026-01-01 00:00 UTC*

    A storm is coming

    **Assistant**

    Done.
    ");
    let all = s
        .unchanged("export ./s.jsonl --as md --filter all -o -")
        .to_string();
    assert!(
        all.contains("{\"hour\": 9}") && all.contains("A hidden word"),
        "{all}"
    );
    // What a renderer makes of an entry is part of the conversation.
    s.put("reply", r#"{"id":"aaaa0002","markdown":"It is **nine**."}"#);
    let rendered = format!(
        "export ./s.jsonl --as md -o - --renderer 'clock=cat >/dev/null; cat {}'",
        s.path("reply").display()
    );
    let rendered = s.unchanged(&rendered).to_string();
    assert!(rendered.contains("It is **nine**."), "{rendered}");
    assert!(!rendered.contains("A hidden word"), "{rendered}");
}

/// The lines of a request, as JSON.
fn request_of(lines: &[&str]) -> String {
    let text = lines.join("\n").replace('\\', "\\\\").replace('"', "\\\"");
    text.replace('\n', "\\n").replace('\t', "\\t")
}

const TYPED: &[&str] = &[
    "Why does __proto__ break *this*? See `a_b` and https://h/x_y:",
    "  - once",
    "# not a heading",
    "",
    "TypeError: x is undefined",
    "    at run (/w/a.js:3:7)",
    "",
    "name   size",
    "a.rs   3 kB",
    "",
    "```js",
    "let x = 1;",
    "```",
    "| a | b |",
    "| --- | --- |",
    "1986. A year </details>",
];

#[test]
fn what_a_person_typed_is_shown_as_typed() {
    let s = Sandbox::new();
    s.put("s.jsonl", asked(&request_of(TYPED), 1));
    assert_snapshot!(s.unchanged("export ./s.jsonl aaaa0001 --as md -o -"), @r#"
    # Why does \_\_proto\_\_ break \*this\*? See a_b and https://h/x_y: - once not a heading TypeError: x is undefined at run (/w…

    ## Why does \_\_proto\_\_ break \*this\*? See a_b and https://h/x_y: - once not a heading TypeError: x is undefined at run (/w…

    **You** · *2026-01-01 00:00 UTC*

    > Why does \_\_proto\_\_ break \*this\*? See `a_b` and [https://h/x_y](<https://h/x_y>):\
    > &nbsp;&nbsp;- once\
    > \# not a heading
    >
    > ```
    > TypeError: x is undefined
    >     at run (/w/a.js:3:7)
    > 
    > name   size
    > a.rs   3 kB
    > ```
    >
    > ```js
    > let x = 1;
    > ```
    >
    > ```
    > | a | b |
    > | --- | --- |
    > 1986. A year </details>
    > ```
    "#);
    let page = s.unchanged("export ./s.jsonl --static -o -").to_string();
    let body = page.split_once("<div class=\"body\">").unwrap().1;
    let body = body.split_once("</article>").unwrap().0;
    assert_snapshot!(body.replace(" dir=\"auto\"", "").replace(" rel=\"noopener noreferrer nofollow\"", ""), @r#"
    <div class="prose"><p class="verbatim">Why does __proto__ break *this*? See <code>a_b</code> and <a href="https://h/x_y">https://h/x_y</a>:
      - once
    # not a heading</p><pre class="block" tabindex="0">TypeError: x is undefined
        at run (/w/a.js:3:7)

    name   size
    a.rs   3 kB</pre><pre class="block" tabindex="0"><span class="w-k">let</span> x = <span class="w-n">1</span>;</pre><pre class="block" tabindex="0">| a | b |
    | --- | --- |
    1986. A year &lt;/details&gt;</pre></div></div>
    "#);
    let script = unpacked(&s.unchanged("export ./s.jsonl -o -").to_string());
    assert!(script.contains("Why does __proto__ break *this*?"));
    assert!(script.contains("TypeError: x is undefined\n    at run (/w/a.js:3:7)"));
}

/// Its heading has no indentation, and its first block is on the line of the quotation's mark.
#[test]
fn a_prompt_may_begin_with_a_block() {
    let s = Sandbox::new();
    let trace = request_of(&["TypeError: x", "    at run (a.js:3)", "    at b (c.js:4)"]);
    s.put("s.jsonl", asked(&trace, 1));
    assert_snapshot!(s.unchanged("export ./s.jsonl aaaa0001 --as md -o -"), @r"
    # TypeError: x at run (a.js:3) at b (c.js:4)

    ## TypeError: x at run (a.js:3) at b (c.js:4)

    **You** · *2026-01-01 00:00 UTC*

    > ```
    > TypeError: x
    >     at run (a.js:3)
    >     at b (c.js:4)
    > ```
    ");
}

#[test]
fn a_long_prompt_is_folded_everywhere() {
    let s = Sandbox::new();
    let lines: Vec<String> = (1..=100).map(|line| format!("line {line}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    s.put("s.jsonl", asked(&request_of(&lines), 1));
    let folded = "<summary>76 more lines</summary>";
    for form in ["--static", "--as md"] {
        let written = s
            .unchanged(&format!("export ./s.jsonl {form} -o -"))
            .to_string();
        let (before, after) = written.split_once(folded).unwrap();
        assert!(
            before.contains("line 24") && !before.contains("line 25"),
            "{form}"
        );
        assert!(
            after.contains("line 25") && after.contains("line 100"),
            "{form}"
        );
    }
    let page = s.unchanged("export ./s.jsonl -o -").to_string();
    assert!(unpacked(&page).contains("76 more lines"));
    // Without scripts, nothing is missing.
    let prose = page.split_once("<noscript id=\"prose\">").unwrap().1;
    assert!(prose.contains("line 100"));
}

#[test]
fn skills_and_commands_are_what_the_user_typed() {
    let s = Sandbox::new();
    s.put("s.jsonl", lines_of(&[
        r#"{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"<skill name=\"tidy\" location=\"/s\">\nBe **tidy**.\n</skill>\n\nthe __kitchen__"}}"#,
        r#"{"type":"custom_message","customType":"claude.command","content":"<command-message>init</command-message>\n<command-name>/init</command-name>\n<command-args>docs</command-args>","display":true,"id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:02.000Z"}"#,
        r#"{"type":"message","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Done."}]}}"#,
    ]));
    assert_snapshot!(s.unchanged("export ./s.jsonl --as md -o -"), @r#"
    # /skill:tidy the \_\_kitchen\_\_

    ## /skill:tidy the \_\_kitchen\_\_

    **You** · *2026-01-01 00:00 UTC*

    > /skill:tidy the \_\_kitchen\_\_
    >
    > <details><summary>Skill tidy</summary>
    >
    > Be **tidy**.
    >
    > </details>

    *claude.command · 2026-01-01 00:00 UTC*

    /init docs

    **Assistant**

    Done.
    "#);
    assert_snapshot!(s.unchanged("tree ./s.jsonl"), @r#"
    aaaa0001  • user: /skill:tidy the __kitchen__
    aaaa0002  • claude.command: /init docs
    aaaa0003  • assistant: Done.  ← active
    "#);
    for form in ["--static", ""] {
        let page = s
            .unchanged(&format!("export ./s.jsonl {form} -o -"))
            .to_string();
        let page = page.clone() + &unpacked(&page);
        assert!(page.contains("/skill:tidy the __kitchen__"), "{form}");
        assert!(
            page.contains("/init docs") && !page.contains("command-args"),
            "{form}"
        );
    }
}

#[test]
fn the_prompt_of_a_command_is_what_the_user_typed() {
    let s = Sandbox::new();
    s.put("s.jsonl", lines_of(&[
        r###"{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"\n## User Input\n\n```text\nthe __piers__\n```\n\nYou **MUST** consider the user input before proceeding (if not empty).\n\n## Outline\n\n1. **Read** the plan.\n2. Draw.\n"}}"###,
        r###"{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"## User Input\n\n```text\n\n```\n\nYou **MUST** consider the user input before proceeding (if not empty).\n\n## Outline\n\n1. **Read** the plan.\n2. Draw.\n"}}"###,
        r#"{"type":"message","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"assistant","content":[{"type":"text","text":"Done."}]}}"#,
    ]));
    assert_snapshot!(s.unchanged("tree ./s.jsonl"), @r#"
    aaaa0001  • user: the __piers__
    aaaa0002  • user: [command: Read; Draw]
    aaaa0003  • assistant: Done.  ← active
    "#);
    let list = s.unchanged("list ./s.jsonl").to_string();
    assert!(list.trim_end().ends_with("the __piers__"), "{list}");
    assert_snapshot!(s.unchanged("export ./s.jsonl --as md -o -"), @r#"
    # the \_\_piers\_\_

    ## the \_\_piers\_\_

    **You** · *2026-01-01 00:00 UTC*

    > the \_\_piers\_\_
    >
    > <details><summary>Instructions of the command</summary>
    >
    > ### Outline
    >
    > 1. **Read** the plan.
    > 2. Draw.
    >
    > </details>

    ## \[command: Read; Draw\]

    **You** · *2026-01-01 00:00 UTC*

    > \[command: Read; Draw\]
    >
    > <details><summary>Instructions of the command</summary>
    >
    > ### Outline
    >
    > 1. **Read** the plan.
    > 2. Draw.
    >
    > </details>

    **Assistant**

    Done.
    "#);
    for form in ["--static", ""] {
        let page = s
            .unchanged(&format!("export ./s.jsonl {form} -o -"))
            .to_string();
        let page = page.clone() + &unpacked(&page);
        assert!(page.contains("the __piers__"), "{form}");
        assert!(page.contains("Instructions of the command"), "{form}");
    }
}

#[test]
fn a_skill_of_oh_my_pi_is_what_the_user_typed() {
    let s = Sandbox::with(&["omp.jsonl"]);
    s.put("s.jsonl", lines_of(&[
        r#"{"type":"custom_message","customType":"skill-prompt","content":"You are a releaser.","display":true,"attribution":"user","details":{"name":"release","args":"2.3.0"},"id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z"}"#,
    ]));
    let page = s.unchanged("export ./s.jsonl --static -o -").to_string();
    let (typed, folded) = page.split_once("<summary>Skill</summary>").unwrap();
    assert!(typed.contains("/skill:release 2.3.0</p>"), "{typed}");
    assert!(folded.contains("You are a releaser."));
}

#[test]
fn markdown_on_a_terminal_has_no_invisible_spaces() {
    let s = Sandbox::new();
    s.put("s.jsonl", asked("Ask @anna about #12, see @src/main.rs", 1));
    let line = "export ./s.jsonl aaaa0001 --as md -o -";
    let piped = s.unchanged(line).to_string();
    assert!(
        piped.contains("@&#8203;anna about #&#8203;12, see @src/main.rs"),
        "{piped}"
    );
    for line in [line, "show ./s.jsonl aaaa0001 --as md"] {
        let shown = s.pisess(line).terminal(80).done().text();
        assert!(
            shown.contains("Ask @anna about #12, see @src/main.rs"),
            "{shown}"
        );
    }
}

#[test]
fn a_small_document_says_where_something_was_left_out() {
    let s = Sandbox::new();
    let answer = |number: usize| {
        format!(
            r#"{{"type":"message","id":"bbbb{number:04}","parentId":"{}","timestamp":"2026-01-01T00:00:05.000Z","message":{{"role":"assistant","content":[{{"type":"text","text":"Step {number}."}}]}}}}"#,
            if number == 1 {
                "aaaa0004".to_owned()
            } else {
                format!("bbbb{:04}", number - 1)
            }
        )
    };
    let steps: Vec<String> = (1..=40).map(answer).collect();
    let whole = format!("{}{}\n", asked("Build it.", 3), steps.join("\n"));
    s.put("s.jsonl", whole);
    let small = |size: usize| {
        let line = format!("export ./s.jsonl --as md --max-size {size} -o -");
        s.pisess(&line).done().text()
    };
    assert_snapshot!(small(250), @r"
    # Build it.

    *Left out: tool calls, thinking, 36 messages after the first request.*

    ## Build it.

    **You** · *2026-01-01 00:00 UTC*

    *Left out here: 36 messages*

    **Assistant**

    Step 34.

    Step 35.

    Step 36.

    Step 37.

    Step 38.

    Step 39.

    Step 40.
    ");
    // What the user asked for needs no remark at its place.
    let asked_for = s
        .unchanged("export ./s.jsonl --as md --no-tools -o -")
        .to_string();
    assert!(!asked_for.contains("Left out here"), "{asked_for}");
}

#[test]
fn a_small_document_keeps_answers_above_a_turn_that_only_calls_tools() {
    let s = Sandbox::new();
    let mut lines = asked("Build it.", 3);
    for number in 5..=7 {
        lines += &format!(
            r#"{{"type":"message","id":"aaaa000{number}","parentId":"aaaa000{}","message":{{"role":"assistant","content":[{{"type":"text","text":"Step {number} of the build, in a sentence that takes some space."}}]}}}}"#,
            number - 1
        );
        lines.push('\n');
    }
    lines += r#"{"type":"message","id":"bbbb0000","parentId":"aaaa0007","message":{"role":"assistant","content":[{"type":"toolCall","id":"d","name":"ls","arguments":{}}]}}"#;
    lines.push('\n');
    for number in 1..=9 {
        lines += &format!(
            r#"{{"type":"message","id":"bbbb000{number}","parentId":"bbbb000{}","message":{{"role":"toolResult","toolCallId":"d","toolName":"ls","content":[{{"type":"text","text":"src"}}]}}}}"#,
            number - 1
        );
        lines.push('\n');
    }
    s.put("s.jsonl", lines);
    // Of the last entries, which the size limit counts, the results are not shown.
    let small = s
        .pisess("export ./s.jsonl --as md --max-size 330 -o -")
        .done()
        .text();
    assert_snapshot!(small, @"
    # Build it.

    *Left out: tool calls, thinking, 4 messages after the first request.*

    ## Build it.

    **You** · *2026-01-01 00:00 UTC*

    *Left out here: 4 messages*

    **Assistant**

    Step 6 of the build, in a sentence that takes some space.

    Step 7 of the build, in a sentence that takes some space.

    *Left out here: 1 tool call*
    ");
}

#[test]
fn settings_and_bookkeeping_are_rows_of_the_tree() {
    let s = Sandbox::new();
    s.put("s.jsonl", lines_of(&[
        r#"{"type":"model_change","provider":"a","modelId":"b","id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z"}"#,
        r#"{"type":"session_info","name":"The clock","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:01.000Z"}"#,
        r#"{"type":"custom","customType":"clock","data":{"hour":9},"id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-01-01T00:00:02.000Z"}"#,
        r#"{"type":"message","id":"aaaa0004","parentId":"aaaa0003","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"user","content":"Go on."}}"#,
    ]));
    assert_snapshot!(s.unchanged("export ./s.jsonl --as md --filter all -o -"), @r#"
    # The clock

    *model: b · 2026-01-01 00:00 UTC*

    *title: The clock · 2026-01-01 00:00 UTC*

    *custom: clock · 2026-01-01 00:00 UTC*

    <details><summary>data</summary>

    ```json
    {"hour": 9}
    ```

    </details>

    ## Go on.

    **You** · *2026-01-01 00:00 UTC*
    "#);
    assert_snapshot!(s.unchanged("tree ./s.jsonl --filter all"), @r#"
    aaaa0001  • model: b
    aaaa0002  • title: The clock
    aaaa0003  • custom: clock
    aaaa0004  • user: Go on.  ← active
    "#);
}

#[test]
fn a_title_tells_sessions_apart() {
    let s = Sandbox::new();
    let title = |lines: &[&str]| {
        s.put("s.jsonl", lines_of(lines));
        let page = s.unchanged("export ./s.jsonl --static -o -").to_string();
        let title = page.split_once("<title>").unwrap().1;
        title.split_once("</title>").unwrap().0.to_owned()
    };
    let command = r#"{"type":"message","id":"aaaa0001","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"/mode"}}"#;
    let request = r#"{"type":"message","id":"aaaa0002","parentId":"aaaa0001","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"user","content":"Fix the **clock**,\nplease."}}"#;
    let name = r#"{"type":"session_info","id":"aaaa0003","parentId":"aaaa0002","timestamp":"2026-01-01T00:00:03.000Z","name":"The clock"}"#;
    assert_eq!(title(&[command, request, name]), "The clock");
    assert_eq!(title(&[command, request]), "Fix the clock, please.");
    assert_eq!(title(&[command]), "/mode");
    assert_eq!(title(&[]), "w, 2026-01-01");
    // The header of a fork or an import is newer than its messages.
    let image = r#"{"type":"message","id":"aaaa0005","parentId":null,"timestamp":"2025-12-24T00:00:01.000Z","message":{"role":"user","content":[{"type":"image","mimeType":"image/png","data":"AAAA"}]}}"#;
    assert_eq!(title(&[image]), "w, 2025-12-24");
    // A title is not taken from a branch that is not exported.
    let other = r#"{"type":"message","id":"aaaa0004","parentId":null,"timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"user","content":"Another root"}}"#;
    s.put(
        "s.jsonl",
        lines_of(&[request.replace("\"aaaa0001\"", "null").as_str(), other]),
    );
    let document = s
        .unchanged("export ./s.jsonl aaaa0004 --as md -o -")
        .to_string();
    assert!(document.starts_with("# Another root\n"), "{document}");
}

/// Returns the JSON in a page's piece with this id.
fn page_facts(page: &str, id: &str) -> Value {
    let start = format!("<script type=\"text/plain\" id=\"{id}\">");
    let piece = page.lines().find(|line| line.starts_with(&start)).unwrap();
    serde_json::from_str(&unpacked(piece)).unwrap()
}

/// Returns the sum of a list of numbers.
fn sum(list: &Value) -> f64 {
    list.as_array()
        .unwrap()
        .iter()
        .map(|n| n.as_f64().unwrap())
        .sum()
}

/// Checks that a page of a session has the numbers that `stats` prints, and that the entries of the
/// page add up to them.
fn assert_counts_of_stats(s: &Sandbox, name: &str) {
    let stats: Value =
        serde_json::from_str(&s.unchanged(&format!("stats --json ./{name}")).text()).unwrap();
    let page = s.unchanged(&format!("export ./{name} -o -")).text();
    let early = page_facts(&page, "index");
    let late = page_facts(&page, "late");

    let took_ms = stats["seconds"].as_f64().unwrap() * 1000.0;
    let exact = [
        ("prompts", &early["work"]["prompts"], &stats["userMessages"]),
        ("calls", &early["work"]["calls"], &stats["toolCalls"]),
        ("tokens", &early["tokensOfAll"], &stats["tokens"]["total"]),
    ];
    for (what, of_page, of_stats) in exact {
        assert_eq!(of_page.as_f64(), of_stats.as_f64(), "{name}: {what}");
    }
    assert_eq!(early["work"]["took"].as_f64(), Some(took_ms), "{name}");
    assert_eq!(sum(&late["took"]), took_ms, "{name}: time of the entries");
    let call_sum = sum(&late["calls"]);
    assert_eq!(stats["toolCalls"].as_f64(), Some(call_sum), "{name}");
    let mut files = Vec::new();
    for pair in late["files"].as_array().unwrap() {
        files.push(pair[1].as_u64().unwrap());
    }
    files.sort_unstable();
    files.dedup();
    assert_eq!(stats["files"].as_u64(), Some(files.len() as u64), "{name}");
    let cost = early["costOfAll"].as_f64().unwrap();
    assert!((cost - stats["cost"].as_f64().unwrap()).abs() < 1e-6);
    let entry_costs = sum(&late["cost"]);
    assert!((cost - entry_costs).abs() < 1e-4 || early["left"].is_string());
    assert_eq!(early.get("pricesOf"), stats.get("pricesOf"), "{name}");
    let has_estimates = !late["estimated"].as_array().unwrap().is_empty();
    assert_eq!(has_estimates, stats.get("estimated").is_some(), "{name}");
}

#[test]
fn a_page_counts_as_stats_does() {
    let s = Sandbox::with(&["tour.jsonl", "omp.jsonl", "v1.jsonl", "two-branches.jsonl"]);
    s.put("worked.jsonl", session_with_work());
    for name in s.names() {
        assert_counts_of_stats(&s, &name);
    }
    // Its costs are estimated.
    s.put("claude.jsonl", fixture("claude/tree.jsonl"));
    assert_counts_of_stats(&s, "claude.jsonl");
    for hazard in hazards() {
        s.put("hazard.jsonl", fixture(&format!("hazards/{hazard}.jsonl")));
        if s.pisess("stats ./hazard.jsonl").done().code == 0 {
            assert_counts_of_stats(&s, "hazard.jsonl");
        }
    }

    let page = s.unchanged("export ./worked.jsonl -o -").to_string();
    let work = &page_facts(&page, "index")["work"];
    // The two hours before the second answer were idle; the branch that was left counts.
    assert_snapshot!(work, @r#"{"calls":5,"prompts":3,"span":15016000,"took":696000}"#);
    let late = page_facts(&page, "late");
    assert_snapshot!(late["changedLines"], @"[[2,2,1],[3,2,0]]");
    assert_snapshot!(late["exitCodes"], @r#"[[7,"2"]]"#);
    assert_snapshot!(late["commits"], @r#"[[10,"1a2b3c4","clock: read once"]]"#);

    // Without the first turn, whose answer and tools were paid for.
    s.run("prune -q ./worked.jsonl --branch b1");
    let stats: Value = serde_json::from_str(&s.run("stats --json ./worked.jsonl")).unwrap();
    let page = s.unchanged("export ./worked.jsonl -o -").to_string();
    let early = page_facts(&page, "index");
    assert_eq!(early["costOfAll"].as_f64(), stats["cost"].as_f64());
    let took_ms = stats["seconds"].as_f64().unwrap() * 1000.0;
    assert_eq!(early["work"]["took"].as_f64(), Some(took_ms));
}

/// Returns a session with an idle gap, edits, a command that fails, commits, sub-agents, and a
/// branch that was left.
fn session_with_work() -> Vec<u8> {
    let usage = r#""usage":{"input":10,"output":5,"cacheRead":3,"cacheWrite":2,"totalTokens":20,"cost":{"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"total":0.25}}"#;
    let entry = |id: &str, parent: &str, time: &str, message: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","timestamp":"2026-11-02T{time}.000Z","message":{{{message}}}}}"#
        )
    };
    let ask = |id: &str, parent: &str, time: &str| {
        entry(id, parent, time, r#""role":"user","content":"Do it""#)
    };
    let reply = |id: &str, parent: &str, time: &str, content: &str| {
        let message = format!(
            r#""role":"assistant","provider":"p","model":"m",{usage},"content":[{content}]"#
        );
        entry(id, parent, time, &message)
    };
    let call = |id: &str, name: &str, arguments: &str| {
        format!(r#"{{"type":"toolCall","id":"{id}","name":"{name}","arguments":{{{arguments}}}}}"#)
    };
    let result = |id: &str, parent: &str, time: &str, call: &str, text: &str, more: &str| {
        let message = format!(
            r#""role":"toolResult","toolCallId":"{call}","content":[{{"type":"text","text":"{text}"}}],{more}"#
        );
        entry(id, parent, time, &message)
    };
    let passed = r#""isError":false"#;
    let edits = [
        call(
            "c1",
            "edit",
            r#""path":"a.rs","oldText":"one\ntwo","newText":"one\n2\n3""#,
        ),
        call("c2", "write", r#""path":"/p/b.rs","content":"x\ny\n""#),
    ]
    .join(",");
    session(&[
        ask("a1", "", "09:00:00").replace("\"parentId\":\"\"", "\"parentId\":null"),
        reply("a2", "a1", "09:00:10", &edits),
        result("a3", "a2", "09:00:12", "c1", "done", passed),
        result("a4", "a3", "09:00:13", "c2", "done", passed),
        reply("a5", "a4", "09:00:20", r#"{"type":"text","text":"Done."}"#),
        ask("b1", "a5", "10:00:00"),
        reply(
            "b2",
            "b1",
            "10:00:30",
            &call("c3", "bash", r#""command":"make""#),
        ),
        result(
            "b3",
            "b2",
            "10:01:00",
            "c3",
            "no\\n\\nCommand exited with code 2",
            r#""isError":true"#,
        ),
        ask("d1", "a5", "11:00:00"),
        reply(
            "d2",
            "d1",
            "11:00:05",
            &call("c4", "bash", r#""command":"git commit -am x""#),
        ),
        result(
            "d3",
            "d2",
            "13:00:05",
            "c4",
            "[main 1a2b3c4] clock: read once\\n 1 file changed",
            passed,
        ),
        reply(
            "d4",
            "d3",
            "13:00:06",
            &call("c5", "task", r#""prompt":"look""#),
        ),
        result(
            "d5",
            "d4",
            "13:10:06",
            "c5",
            "looked",
            &format!(r#"{passed},"toolName":"task","details":{{{usage}}}"#),
        ),
        reply(
            "d6",
            "d5",
            "13:10:16",
            r#"{"type":"text","text":"Committed."}"#,
        ),
    ])
}

/// A long conversation is written in several batches. Calls with the same id in each turn get other
/// ids, as in a request, and the results follow their calls.
#[test]
fn ids_of_calls_are_unique_in_a_long_conversation() {
    const TURNS: usize = 600;
    let call = r#"{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"ls"}}"#;
    let mut lines = vec![message("u0", None, "user", r#""content":"Go on""#)];
    for turn in 0..TURNS {
        let parent = match turn {
            0 => "u0".to_owned(),
            _ => format!("r{}", turn - 1),
        };
        let content = format!(r#""content":[{call}],"stopReason":"toolUse""#);
        lines.push(message(
            &format!("a{turn}"),
            Some(&parent),
            "assistant",
            &content,
        ));
        let content = format!(
            r#""toolCallId":"c","toolName":"bash","isError":false,"content":[{{"type":"text","text":"result {turn}"}}]"#
        );
        let parent = format!("a{turn}");
        lines.push(message(
            &format!("r{turn}"),
            Some(&parent),
            "toolResult",
            &content,
        ));
    }
    let s = Sandbox::new();
    s.put("long.jsonl", session(&lines));

    let line = s.unchanged("export --as messages -o - ./long.jsonl").text();
    let example: Value = serde_json::from_str(&line).unwrap();
    let messages = example["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 1 + 2 * TURNS);
    for (turn, pair) in messages[1..].chunks(2).enumerate() {
        let id = match turn {
            0 => "c".to_owned(),
            _ => format!("c_{}", turn + 1),
        };
        assert_eq!(pair[0]["tool_calls"][0]["id"], id);
        assert_eq!(pair[1]["tool_call_id"], id);
        assert_eq!(pair[1]["content"], format!("result {turn}"));
    }
}

/// Returns a message with these members after its role.
fn message(id: &str, parent: Option<&str>, role: &str, members: &str) -> String {
    let parent = parent.map_or("null".to_owned(), |parent| format!("{parent:?}"));
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:01.000Z","message":{{"role":"{role}",{members}}}}}"#
    )
}

/// Each line is a conversation in the form of OpenAI's API, with all calls as they were.
#[test]
fn conversations_for_fine_tuning() {
    let s = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    let parse = |text: &str| -> Vec<serde_json::Value> {
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    };
    let lines = parse(&s.unchanged("export --as messages -o - ./tour.jsonl").text());
    let [line] = &lines[..] else {
        panic!("{lines:?}");
    };
    assert_eq!(
        line.as_object().unwrap().keys().collect::<Vec<_>>(),
        ["messages", "tools"]
    );
    let messages = line["messages"].as_array().unwrap();
    assert_eq!(messages[0]["role"], "user");
    assert!(
        messages[0]["content"]
            .as_str()
            .unwrap()
            .starts_with("The 00:10 ferry")
    );
    let with_calls = messages
        .iter()
        .filter(|message| message["tool_calls"].is_array());
    assert_eq!(with_calls.count(), 4);
    assert!(
        !line.to_string().contains("midnight problem"),
        "thinking is left out"
    );

    let short = parse(
        &s.unchanged("export --as messages --context -o - ./tour.jsonl")
            .text(),
    );
    assert!(short[0]["messages"].as_array().unwrap().len() < messages.len());

    // Of a directory, one file; of a session with branches, a line for each on request.
    let s2 = Sandbox::with(&["tour.jsonl", "two-branches.jsonl"]);
    assert_snapshot!(s2.pisess("export --as messages -o ./train.jsonl ./").done(), @"./train.jsonl");
    assert_eq!(parse(&s2.text("train.jsonl")).len(), 2);
    let branches = s
        .unchanged("export --as messages --branches -o - ./two-branches.jsonl")
        .text();
    assert_eq!(parse(&branches).len(), 2);
    assert_snapshot!(s.pisess("export --as messages -o ./x.jsonl ./tour.jsonl --json").done(), @r#"{"path":"./x.jsonl","conversations":1}"#);
    assert_eq!(
        s.pisess("export --as messages --no-tools -o - ./tour.jsonl")
            .done()
            .code,
        2
    );
    assert_eq!(
        s.pisess("export --branches -o - ./tour.jsonl").done().code,
        2
    );
}

#[test]
fn conversations_for_fine_tuning_are_redacted() {
    let s = Sandbox::new();
    let secret = "ghp_x7Kq2mVb9TzLw4RfYc8NsJd3HgPa6UeWi1Qo";
    let line = crate::sandbox::user("aaaa0001", None, &format!("use {secret}"));
    s.put("x.jsonl", crate::sandbox::session(&[line]));
    let open = s
        .pisess("export --as messages -o - ./x.jsonl")
        .done()
        .text();
    assert!(open.contains(secret));
    let redacted = s
        .pisess("export --as messages --redact -o - ./x.jsonl")
        .done();
    assert_eq!(redacted.code, 0, "{redacted}");
    assert!(!redacted.text().contains(secret), "{redacted}");
    assert!(redacted.text().contains("\"role\":\"user\""), "{redacted}");
}

#[test]
fn export_as_messages_takes_several_sessions_and_directories() {
    let s = Sandbox::with(&["two-branches.jsonl", "tour.jsonl", "omp.jsonl"]);
    s.put("more/v1.jsonl", fixture("v1.jsonl"));
    let count = |line: &str| {
        s.run(&format!("export --as messages -o - {line}"))
            .lines()
            .count()
    };
    assert_eq!(count("./two-branches.jsonl ./tour.jsonl"), 2);
    assert_eq!(count("./two-branches.jsonl ./tour.jsonl ./more"), 3);
    assert_eq!(count("./two-branches.jsonl @^"), 1);
    let done = s
        .pisess("export --as messages -o ./all.jsonl ./tour.jsonl ./gone.jsonl ./omp.jsonl")
        .done();
    assert_eq!(done.code, 2, "{done}");
    assert_eq!(s.text("all.jsonl").lines().count(), 2);
    s.pisess("export ./two-branches.jsonl @ ./tour.jsonl -o -")
        .done()
        .fails(2);
}

/// `--last` may begin with a reply whose question is left out, which a reader would not expect.
#[test]
fn the_last_entries_may_begin_within_a_turn() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let notes = |count: usize| {
        s.pisess(&format!(
            "export ./two-branches.jsonl --as markdown -o - --last {count}"
        ))
        .done()
        .stderr
    };
    let within = notes(1);
    assert!(
        within.contains("within a turn (hint: `1a2b3c06..` begins after its user message, `1a2b3c06^..` with it)"),
        "{within}"
    );
    assert!(!notes(2).contains("within a turn"));
}

/// Data of extensions is shown only if a renderer made text of it, or on request, as in `tree`.
#[test]
fn entries_of_extensions_are_shown_with_the_filter_all() {
    let s = Sandbox::with(&["kinds/pi.jsonl"]);
    let has_entry = |form: &str| {
        let text = s.run(&format!("{form} ./pi.jsonl"));
        text.contains("clock")
    };
    assert!(!has_entry("tree"));
    assert!(has_entry("tree --filter all"));
    for format in ["--as markdown", "--static"] {
        for filter in ["", "--filter default", "--filter no-tools"] {
            let form = format!("export -o - {format} {filter}");
            assert!(!has_entry(&form), "{form}");
        }
        assert!(has_entry(&format!("export -o - {format} --filter all")));
    }
}

/// The default filter hides messages that only call tools. Their results still name the call.
#[test]
fn export_filter_shows_the_calls_of_the_results_that_it_keeps() {
    let s = Sandbox::with(&["tour.jsonl"]);
    for format in ["--as markdown", "--static"] {
        let form = format!("export -q -o - {format} --filter default ./tour.jsonl");
        let document = s.run(&form);
        assert!(document.contains("src/clock.rs:35"), "{format}");
        assert!(
            document.contains("the_first_ferry_after_midnight"),
            "{format}"
        );
    }
}

/// Of a directory, what has no user message is left out; a session that is named is written.
#[test]
fn conversations_without_a_question_are_left_out() {
    let s = Sandbox::new();
    s.put("d/a.jsonl", fixture("two-branches.jsonl"));
    let only_command = r#"{"type":"message","id":"bbbb0001","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"bashExecution","command":"git status","output":"clean","exitCode":0,"cancelled":false,"truncated":false,"timestamp":1767225600000}}"#;
    s.put("d/b.jsonl", session(&[only_command]));
    let done = s
        .pisess("export --as messages --json -o ./out.jsonl ./d")
        .done();
    assert_snapshot!(done, @r#"
    {"path":"./out.jsonl","conversations":1}
    2> pisess: 1 conversation without a user message is left out
    "#);
    assert_eq!(s.text("out.jsonl").lines().count(), 1);
    let named = s.pisess("export --as messages -o - ./d/b.jsonl").done();
    assert!(named.text().contains("git status"), "{named}");
    s.put("e/b.jsonl", session(&[only_command]));
    assert_snapshot!(s.pisess("export --as messages -o ./out2.jsonl ./e").done().fails(1), @"./e: no conversation has a user message");
}

/// A session that is converted or decompressed to be read is not open as a file, but its path is
/// known.
#[test]
fn no_output_replaces_a_converted_or_compressed_session() {
    let s = Sandbox::with(&["opencode/plain.json", "claude/plain.jsonl"]);
    let rollout = "rollout-2026-01-02T03-04-05-0199c0de-0000-7000-8000-0000000000a1.jsonl";
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    let compressed = ruzstd::encoding::compress_to_vec(&fixture("codex/plain.jsonl")[..], level);
    s.put(&format!("{rollout}.zst"), compressed);
    for line in [
        "export ./plain.json --as atif -o ./plain.json --force".to_owned(),
        "export --as messages ./plain.jsonl -o ./plain.jsonl --force".to_owned(),
        "export --as messages ./plain.json ./plain.jsonl -o ./plain.jsonl --force".to_owned(),
        "fork ./plain.jsonl -o ./plain.jsonl --force".to_owned(),
        "fork -n ./plain.jsonl -o ./plain.jsonl --force".to_owned(),
        format!("export ./{rollout}.zst --as html -o ./{rollout}.zst --force"),
    ] {
        let failure = s.unchanged(&line).fails(2);
        assert!(
            failure.contains("it is the input itself"),
            "{line}: {failure}"
        );
    }

    // The derived name is never that of the session.
    assert_snapshot!(s.run("export ./plain.json --as atif --force"), @"plain.export.json");
    assert_eq!(s.bytes("plain.json"), fixture("opencode/plain.json"));
    // It has no extension of the session.
    let stem = rollout.trim_end_matches(".jsonl");
    assert_eq!(
        s.run(&format!("export ./{rollout}.zst")),
        format!("{stem}.html\n")
    );
    assert_eq!(
        s.run(&format!("export --as messages ./{rollout}.zst")),
        format!("{stem}.messages.jsonl\n")
    );
    // A compressed session of pi has a name, too.
    let compressed = ruzstd::encoding::compress_to_vec(&fixture("tour.jsonl")[..], level);
    s.put("tour.jsonl.zst", compressed);
    assert_snapshot!(s.run("export ./tour.jsonl.zst"), @"tour.html");
}

/// A read without an offset begins at line 1; with the limit 0, it reads no line.
#[test]
fn a_read_is_named_with_its_lines() {
    let s = Sandbox::with(&["tour.jsonl"]);
    let text = s.text("tour.jsonl");
    let range = r#""offset":35,"limit":30"#;
    assert!(text.contains(range));
    for (arguments, expected) in [
        (r#""offset":35,"limit":1"#, "src/clock.rs:35-35"),
        (r#""offset":35"#, "src/clock.rs:35"),
        (r#""limit":30"#, "src/clock.rs:1-30"),
        (r#""limit":0"#, "src/clock.rs:1, 0 lines"),
        (r#""offset":0,"limit":1"#, "src/clock.rs:0-0"),
    ] {
        s.put("read.jsonl", text.replace(range, arguments));
        let document = s.run("export -q -o - --as markdown ./read.jsonl");
        let summary = format!("<b>read</b> <code>{expected}</code>");
        assert!(document.contains(&summary), "{arguments}");
    }
}

/// A secret that one session assigns to a name is left out of the exports of the others, too.
#[test]
fn a_secret_of_one_session_is_left_out_of_all_exports() {
    const TOKEN: &str = "kq_live_9fQ2xR7bLm4TzW8c";
    let s = Sandbox::new();
    for (name, id, text) in [
        ("a", "aaaa", format!("export BROKER_TOKEN={TOKEN}")),
        ("b", "bbbb", format!("Now try it with {TOKEN} again")),
    ] {
        let whole = crate::sandbox::session(&[crate::sandbox::user("aaaa0001", None, &text)]);
        let whole = String::from_utf8(whole).unwrap();
        let distinct = whole.replacen("\"id\":\"", &format!("\"id\":\"{id}"), 1);
        s.put(&format!("in/{name}.jsonl"), distinct);
    }
    for (format, output) in [
        ("messages", "out.jsonl"),
        ("markdown", "pages/"),
        ("html", "html/"),
    ] {
        let done = s
            .pisess(&format!("export --as {format} --redact -o {output} ./in"))
            .done();
        assert_eq!(done.code, 0, "{format}: {done}");
    }
    let mut exports = 0;
    for (name, bytes) in s.files() {
        if !name.starts_with("in/") {
            exports += 1;
            let text = String::from_utf8_lossy(&bytes).into_owned();
            assert!(!text.contains(TOKEN), "{name}");
        }
    }
    assert_eq!(exports, 5);
}

/// The session shows that a text is a secret, and its sub-agent has the text alone, or the reverse.
#[test]
fn export_redact_as_atif_knows_the_secrets_of_session_and_sub_agent() {
    let entry = |id: &str, parent: Option<&str>, message: serde_json::Value| json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:01.000Z", "message": message});
    let session = |id: &str, text: &str, agent_path: &str| {
        let header = json!({"type": "session", "version": 3, "id": id, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"});
        let request = entry("a", None, json!({"role": "user", "content": text}));
        let call = json!({"type": "toolCall", "id": "c", "name": "subagent", "arguments": {}});
        let reply = json!({"role": "assistant", "content": [call]});
        let reply = entry("b", Some("a"), reply);
        let result = json!({"role": "toolResult", "toolCallId": "c", "toolName": "subagent", "content": [],
            "isError": false, "details": {"results": [{"sessionFile": agent_path}]}});
        let result = entry("d", Some("b"), result);
        format!("{header}\n{request}\n{reply}\n{result}\n")
    };
    let assigned = "export BROKER_TOKEN=kq_live_9fQ2xR7bLm4TzW8c";
    let alone = "now try kq_live_9fQ2xR7bLm4TzW8c again";
    for (text, text_of_agent) in [(assigned, alone), (alone, assigned)] {
        let s = Sandbox::new();
        let agent_path = s.path("s/agent.jsonl");
        let agent_path = agent_path.to_str().unwrap();
        s.put("s.jsonl", session("s", text, agent_path));
        s.put("s/agent.jsonl", session("t", text_of_agent, "none"));
        for form in ["./s.jsonl -o ./one.json", "-o ./all/ ."] {
            s.pisess(&format!("export --as atif --redact {form}"))
                .done()
                .text();
        }
        for name in ["one.json", "all/s.json"] {
            let exported = s.text(name);
            assert!(exported.contains("BROKER_TOKEN"), "{name}");
            assert!(!exported.contains("kq_live"), "{name}");
        }
    }
}

/// A page has the changes of a patch, not the arguments of its call.
#[test]
fn export_draws_a_patch_as_a_diff_for_each_file() {
    let s = Sandbox::new();
    let patch = "*** Begin Patch\n*** Update File: /p/a.rs\n@@ fn fly\n-    low();\n+    high();\n stay();\n*** Delete File: b.rs\n*** Add File: c.md\n+New.\n*** End Patch";
    let lines = [
        json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/p"}),
        json!({"type": "message", "id": "aaaa0001", "parentId": null, "timestamp": "2026-01-01T00:00:01.000Z",
            "message": {"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "apply_patch",
                "arguments": {"input": patch}}]}}),
        json!({"type": "message", "id": "aaaa0002", "parentId": "aaaa0001", "timestamp": "2026-01-01T00:00:02.000Z",
            "message": {"role": "toolResult", "toolCallId": "c", "toolName": "apply_patch", "isError": false, "content": "Success."}}),
    ];
    let lines = lines.map(|line| line.to_string());
    s.put("x.jsonl", lines.join("\n") + "\n");
    assert_snapshot!(s.run("export ./x.jsonl --as markdown -o -"), @r#"
    # p, 2026-01-01

    <details><summary><b>apply_patch</b> <code>a.rs, b.rs, c.md</code></summary>

    *Update File: /p/a.rs*

    ```diff
    @@ fn fly
    -    low();
    +    high();
     stay();
    ```

    *Delete File: b.rs*

    *Add File: c.md*

    ```diff
    +New.
    ```

    *Success.*

    </details>
    "#);
}
