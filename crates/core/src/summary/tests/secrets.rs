//! Secrets: wherever one is in a session, no part of it is in the summary.

use super::*;

/// The number of characters of a secret that could be recognized by who knows it.
const TELLING: usize = 8;

const DIGITS: &str = "Zq8rTk2WmB6yHn4sVx1cDf7jLpGw3uEa9oXi5dNhQv0KbYtS6lRzMf8JgCpUe2Wy1ATvBnHq4d";

/// There are fewer secrets than this in a session.
const MOST_SECRETS: usize = 40;

/// Returns one of many secrets, in several parts, between which it could be cut.
fn secret(number: usize) -> String {
    let (head, tail) = DIGITS.split_at(number);
    let digits: Vec<char> = tail.chars().chain(head.chars()).collect();
    let mut parts = Vec::new();
    for part in digits.chunks(10) {
        parts.push(part.iter().collect::<String>());
    }
    parts.join("-")
}

/// Returns an address with a secret, which is recognized by what is before and after it.
fn address(number: usize) -> String {
    format!("postgres://ada:{}@db.harbour.test/map", secret(number))
}

/// Asserts that no part of a secret is in the summary.
fn assert_absent(secret: &str, summary: &str, place: &str) {
    for start in 0..=secret.len() - TELLING {
        let part = &secret[start..start + TELLING];
        assert!(!summary.contains(part), "{place}: {part}:\n{summary}");
    }
}

/// Returns a session with a secret in each kind of place, each after `before`.
fn session_with_secrets(before: &str) -> Vec<Vec<String>> {
    let mut count = 0;
    let mut text = || {
        count += 1;
        format!("{before} {}", address(count))
    };
    let argument = |name: &str, value: &str| format!(r#"{{"{name}":{}}}"#, json(value));
    let file = |path: &str, content: &str| {
        let (path, content) = (json(path), json(content));
        format!(r#"{{"path":{path},"content":{content}}}"#)
    };
    let failure = |text: &str| format!("error: {text}\n\nCommand exited with code 2");
    let summary = |role: &str, text: &str| {
        let text = json(&format!("## Goal\n- {text}"));
        vec![format!(r#"{{"role":"{role}","summary":{text}}}"#)]
    };
    let kind = json(&format!("note {}", text()));
    let content = json(&text());
    let extension = vec![format!(
        r#"{{"role":"custom","customType":{kind},"content":{content}}}"#
    )];
    let todos = format!(r#"{{"todos":[{{"content":{}}}]}}"#, json(&text()));
    vec![
        summary("compactionSummary", &text()),
        summary("branchSummary", &text()),
        user(&format!("Draw the map. {}", text())),
        says(&format!("{}. Shall I go on with the map?", text())),
        user(&format!("yes, never without {}", text())),
        called(
            "",
            "ask",
            &argument("question", &format!("{}?", text())),
            &text(),
            false,
        ),
        tool(
            &text(),
            "edit",
            &argument("path", &format!("{}.md", text())),
            None,
        ),
        tool("", "grep", &argument("pattern", &text()), None),
        called("", "look", &argument("topic", &text()), &text(), true),
        bash(&format!("draw {}", text()), Some(&failure(&text()))),
        called("", "bash", &argument("command", "cat map"), &text(), false),
        called(
            "",
            "bash",
            &argument("command", "make map"),
            &format!("{} 12", text()),
            false,
        ),
        bash(&format!("git commit -m \"{}\"", text()), None),
        tool("", "write", &file("map.md", &format!("# {}", text())), None),
        tool(
            "",
            "write",
            &file("map.py", &format!("def low(at='{}'):", text())),
            None,
        ),
        tool("", "todowrite", &todos, None),
        stops("error", &text()),
        extension,
        user(&format!("The legend of the map is too small. {}", text())),
        tool(&text(), "bash", &argument("command", &text()), None),
        says(&text()),
    ]
}

#[test]
fn no_part_of_a_secret_is_in_a_summary_wherever_it_would_be_cut() {
    let words = "the harbour is deep ".repeat(110);
    let lengths = (0..240).step_by(24).chain((1_910..2_010).step_by(20));
    for (index, length) in lengths.enumerate() {
        let messages = session_with_secrets(&words[..length]);
        // The place where a session ends decides which texts are quoted, and how long.
        let end = 3 + index % (messages.len() - 3);
        for messages in [&messages[..], &messages[..end]] {
            let text = searched_summary(messages);
            for number in 1..MOST_SECRETS {
                assert_absent(&secret(number), &text, "a session");
            }
        }
    }
}

#[test]
fn no_part_of_a_known_secret_is_in_a_summary() {
    let words = "the harbour is deep ".repeat(15);
    for length in (0..240).step_by(24) {
        let before = &words[..length];
        let bare = format!("{before} {DIGITS}");
        let text = searched_summary(&[
            user(&format!("Draw the map. The line is: api_key=\"{DIGITS}\"")),
            bash("draw map", Some(&format!("error: {bare}"))),
            says(&bare),
            user(&bare),
            bash(&bare, None),
        ]);
        assert_absent(DIGITS, &text, before);
    }
}

#[test]
fn no_part_of_a_secret_is_in_what_is_taken_over() {
    let words = "the harbour is deep ".repeat(30);
    for length in (0..440).step_by(10) {
        let text = format!("{} {}", &words[..length], address(1));
        let mut builder = extract(None);
        builder.add_previous_summary(&format!("## Goal\n- Maps\n- {text}"));
        builder.add_instructions(&text);
        let summary = builder.finish().text;
        assert_absent(&secret(1), &summary, "taken over");
    }
}

/// Returns the lines of a private key, whose body begins with the characters of a secret.
fn private_key(number: usize) -> String {
    // The words are apart, so that no scanner reports this file.
    let words = "PRIVATE KEY";
    let body = secret(number).replace('-', "");
    let lines = format!("MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{body}").repeat(4);
    let mut key = format!("-----BEGIN {words}-----\n");
    for line in lines.as_bytes().chunks(64) {
        key += std::str::from_utf8(line).unwrap();
        key += "\n";
    }
    key + &format!("-----END {words}-----\n")
}

fn edit_text(path: &str, old: &str, new: &str) -> Vec<String> {
    let (path, old, new) = (json(path), json(old), json(new));
    let arguments = format!(r#"{{"path":{path},"oldText":{old},"newText":{new}}}"#);
    tool("", "edit", &arguments, None)
}

/// A line of a secret that spans lines, or of which the name is on the line before, shows alone not
/// that it is one.
#[test]
fn no_part_of_a_secret_is_in_what_an_edit_wrote() {
    let assigned = |value: &str| format!("api_key:\n  \"{value}\"\n");
    let patch = |text: &str| {
        let lines: Vec<_> = text.lines().map(|line| format!("+{line}\n")).collect();
        format!(
            "*** Begin Patch\n*** Update File: map.yml\n@@\n name: map\n{}",
            lines.concat()
        )
    };
    let patched = |text: &str| {
        let arguments = format!(r#"{{"input":{}}}"#, json(&patch(text)));
        tool("", "edit", &arguments, None)
    };
    let half_patch =
        format!("*** Update File: map.yml\n@@\n api_key:\n-  \"old\"\n+  \"{DIGITS}\"\n");
    let half_patched = tool(
        "",
        "edit",
        &format!(r#"{{"input":{}}}"#, json(&half_patch)),
        None,
    );
    for (edited, secret) in [
        (
            edit_text("key.pem", &private_key(1), &private_key(2)),
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC".to_owned(),
        ),
        (
            edit_text("map.yml", &assigned("old"), &assigned(DIGITS)),
            DIGITS.to_owned(),
        ),
        (
            patched(&private_key(2)),
            "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC".to_owned(),
        ),
        (patched(&assigned(DIGITS)), DIGITS.to_owned()),
        (half_patched, DIGITS.to_owned()),
    ] {
        let text = searched_summary(&[user("Rotate the key of the map."), edited]);
        assert!(text.contains("wrote "), "{text}");
        assert_absent(&secret, &text, "an edit");
    }
}

/// A secret that an edit writes is known everywhere.
#[test]
fn a_secret_that_an_edit_wrote_is_known() {
    let text = searched_summary(&[
        user("Rotate the key of the map."),
        edit_text(".env", "", &format!("# Map\n# API\nAPI_KEY={DIGITS}\n")),
        says(&format!("The key of the map is now {DIGITS} there.")),
    ]);
    assert_absent(DIGITS, &text, "an edit");
}

/// A secret that an edit removes is known everywhere, too.
#[test]
fn a_secret_that_an_edit_removed_is_known() {
    let patch =
        format!("*** Update File: .env\n@@\n name: map\n-API_KEY={DIGITS}\n+API_KEY=$KEY\n");
    let patched = tool(
        "",
        "edit",
        &format!(r#"{{"input":{}}}"#, json(&patch)),
        None,
    );
    for edited in [
        edit_text(".env", &format!("API_KEY={DIGITS}\n"), ""),
        patched,
    ] {
        let text = searched_summary(&[
            user("Clean up the settings of the map."),
            edited,
            says(&format!("I removed the key {DIGITS} there.")),
        ]);
        assert_absent(DIGITS, &text, "an edit");
    }
}

/// The white space before a value is read, and not shown.
#[test]
fn no_part_of_a_secret_is_in_the_target_of_a_call() {
    let argument = |name: &str, value: &str| format!(r#"{{"{name}":{}}}"#, json(value));
    for indent in 24..40 {
        let margin = format!("\n{}", " ".repeat(indent));
        let address = address(1);
        let query = format!("{margin}SELECT *{margin}FROM dblink({margin}'x',{margin}'{address}'");
        let padding = " ".repeat(60 * indent);
        let padded = format!("{padding}SELECT * FROM dblink('x', '{address}'");
        let emoji = "\u{1f5fa}".repeat(indent);
        for arguments in [
            argument("query", &query),
            argument("query", &padded),
            argument("sql", &query),
            format!(r#"{{"sql":{},"limit":5}}"#, json(&query)),
            format!(r#"{{"sql":{},"limit":5}}"#, json(&padded)),
            format!(r#"{{"pattern":{},"path":"sea/maps"}}"#, json(&query)),
            argument("pattern", &format!("{emoji}{query}")),
            argument("pattern", &format!("x{emoji}{query}")),
        ] {
            let text = searched_summary(&[
                user("Draw the map of the harbour."),
                tool("", "query", &arguments, None),
            ]);
            assert_absent(&secret(1), &text, &arguments);
        }
    }
}

/// Keys of the same shape begin alike, and that is no secret.
#[test]
fn what_keys_of_a_shape_begin_with_is_kept() {
    let key = |number: usize| {
        let digits: String = secret(number).replace('-', "");
        format!("sk-ant-api03-{digits}{digits}")
    };
    let keys: Vec<_> = (1..7).map(key).collect();
    let question = "Explain why a key like sk-ant-api03-… is refused by the server.";
    let text = searched_summary(&[
        user(&format!("Use these keys: {}", keys.join(" "))),
        says("They are all refused by the server."),
        user(question),
    ]);
    assert!(text.contains(question), "{text}");
    for key in keys {
        assert_absent(&key["sk-ant-api03-".len()..], &text, "keys");
    }
}

/// The line that reports a failure is recognized in the output, though a secret in it is replaced.
#[test]
fn the_line_of_a_failure_is_not_quoted_twice() {
    let failed = format!("Command failed: psql {}", address(1));
    let text = searched_summary(&[
        user("Draw the map of the harbour."),
        bash("make map", Some(&format!("hello: out\n{failed}"))),
    ]);
    assert_absent(&secret(1), &text, "a failure");
    assert!(text.contains(": \"hello: out\" ("), "{text}");
}

/// A request, or last words, may be cut within a secret that is known by its name elsewhere.
#[test]
fn no_part_of_a_known_secret_is_beside_a_gap() {
    let known = "Zq8rTk2WmB/6yHn4sVx1cDf7jLp+Gw3uEa9oXi5dN/hQv0KbYtS6lRzMf8J+gCpUe2Wy";
    let words = "the harbour is deep ".repeat(400);
    for before in (800..1_100).step_by(12).chain((2_560..2_700).step_by(12)) {
        let after = words.len() - before;
        for size in [before, after] {
            let long = format!("{} {known} {}", &words[..size], &words[size..]);
            let text = searched_summary(&[
                user(&format!("Draw the map. The line is: api_key=\"{known}\"")),
                says(&long),
                user(&long),
                says(&long),
            ]);
            assert!(text.contains("left out"), "{text}");
            assert_absent(known, &text, &size.to_string());
        }
    }
}
