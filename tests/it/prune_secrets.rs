//! `pisess prune --secrets`: strings with secrets into a file beside the session, and back, or for
//! good.

use crate::redact::secret;
use crate::sandbox::{Sandbox, hazards, session, user};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use insta::assert_snapshot;
use serde_json::{Value, json};
use std::fs;

/// Returns a session that has a secret in all places that a line may have: in a malformed line, a
/// signature that contains text, in base64, in a key, and below keys that no path can contain.
fn leaky(token: &str) -> String {
    let lines = [
        user("aaaa0001", None, &format!("use TOKEN={token} please")),
        format!("{{cut off {token}"),
        json!({"type": "message", "id": "aaaa0002", "parentId": "aaaa0001", "message": {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "thinkingSignature": json!({"summary": token, "encrypted_content": "gAAA"}).to_string()},
            {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": format!("curl -u u:{token} x")}}]}})
        .to_string(),
        json!({"type": "message", "id": "aaaa0003", "parentId": "aaaa0002", "message": {"role": "toolResult", "toolCallId": "c1", "toolName": "bash",
            "content": [{"type": "text", "text": STANDARD.encode(format!("key {token}."))}],
            "details": {"payload": {"payload": 1}, "a.b": [[token]], token: 1, "z": 1}}})
        .to_string()
        // Spaces and numbers as no serializer writes them.
        .replace("\"z\":1", " \"z\" : 1e400")
            + "\r",
        json!({"type": "message", "id": "aaaa0004", "parentId": "aaaa0003", "message": {"role": "user", "content": [
            {"type": "image", "mimeType": "image/png", "data": STANDARD.encode("picture".repeat(40))},
            {"type": "text", "text": "look"}]}})
        .to_string(),
    ];
    String::from_utf8(session(&lines)).unwrap()
}

fn with_leaky() -> Sandbox {
    let s = Sandbox::new();
    s.put("s.jsonl", leaky(&secret(0)));
    s
}

/// Fails if a file of the sandbox contains the secret, also in base64.
fn assert_gone(s: &Sandbox, token: &str) {
    let encoded = STANDARD.encode(format!("key {token}."));
    for (name, bytes) in s.files() {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!text.contains(token), "{name}");
        assert!(!text.contains(&encoded), "{name}");
    }
}

#[test]
fn secrets_go_beside_the_session_and_back() {
    let s = with_leaky();
    let whole = s.text("s.jsonl");
    assert_snapshot!(s.unchanged("prune -q -n --secrets ./s.jsonl").text(), @"
     size  id        secrets                  field
     59 B  aaaa0001  [REDACTED:github-pat#1]  message.content
     49 B            [REDACTED:github-pat#1]  the whole line
     91 B  aaaa0002  [REDACTED:github-pat#1]  message.content[0].thinkingSignature
     54 B  aaaa0002  [REDACTED:github-pat#1]  message.content[1].arguments.command
     62 B  aaaa0003  [REDACTED:github-pat#1]  message.content[0].text
    136 B  aaaa0003  [REDACTED:github-pat#1]  message.details
    451 B  total     6 strings
    1 secret in 6 strings; session 1.6 kB to 1.5 kB
    ");
    assert_snapshot!(s.pisess("prune --secrets ./s.jsonl").done(), @"
    ./s.jsonl.pruned
    2> pisess: note: ./s.jsonl: line 3 is not JSON; skipped or read as far as possible (hint: `pisess check` explains it)
    2> pisess: ./s.jsonl: 1 secret in 6 strings pruned; session 1.6 kB to 1.5 kB
    2> pisess: SESSION.pruned holds the secrets (hint: --restore puts them back; --purge removes them for good)
    ");
    let pruned = s.text("s.jsonl");
    assert!(!pruned.contains(&secret(0)), "{pruned}");
    // Only the strings with the secret have changed.
    let image = whole.lines().nth(5);
    assert_eq!(pruned.lines().nth(5), image);
    assert!(pruned.contains("use TOKEN=[REDACTED:github-pat#1] please"));
    assert!(pruned.contains(" \"z\" : 1e400"), "{pruned}");

    // The second run finds nothing, but says where the secrets are.
    assert_snapshot!(s.unchanged("prune --secrets ./s.jsonl"), @"
    2> pisess: note: ./s.jsonl: line 3 is not JSON; skipped or read as far as possible (hint: `pisess check` explains it)
    2> pisess: ./s.jsonl: no secrets found
    2> pisess: note: ./s.jsonl: SESSION.pruned has secrets from an earlier prune (hint: `--secrets --purge` removes it for good)
    ");

    s.pisess("append -q ./s.jsonl --user more").done();
    let added = s.text("s.jsonl").lines().last().unwrap().to_owned();
    s.pisess("prune -q --restore ./s.jsonl").done();
    assert_eq!(s.text("s.jsonl"), format!("{whole}{added}\n"));
    assert_eq!(s.names(), ["s.jsonl"]);
}

#[test]
fn rows_have_no_secret() {
    let s = with_leaky();
    let rows = s.unchanged("prune -q -n --secrets --json ./s.jsonl").text();
    assert!(!rows.contains(&secret(0)), "{rows}");
    let rows: Vec<Value> = rows
        .lines()
        .map(|row| serde_json::from_str(row).unwrap())
        .collect();
    let fields: Vec<_> = rows
        .iter()
        .map(|row| row["field"].as_str().unwrap())
        .collect();
    assert_eq!(
        fields,
        [
            "message.content",
            "",
            "message.content[0].thinkingSignature",
            "message.content[1].arguments.command",
            "message.content[0].text",
            "message.details",
        ]
    );
    assert!(rows.iter().all(|row| row["kind"] == "secret"));
    assert_eq!(rows[0]["placeholders"], json!(["[REDACTED:github-pat#1]"]));
    let report = s
        .pisess("prune -q --secrets --purge --json ./s.jsonl")
        .done()
        .text();
    let report: Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["pruned"], Value::Null);
    assert_eq!(
        (&report["payloads"], &report["secrets"]),
        (&json!(6), &json!(1))
    );
}

#[test]
fn a_purge_leaves_no_byte_of_a_secret() {
    let s = with_leaky();
    s.unchanged("prune -q -n --secrets --purge ./s.jsonl");
    assert_snapshot!(s.pisess("prune --secrets --purge ./s.jsonl").done(), @"
    2> pisess: note: ./s.jsonl: line 3 is not JSON; skipped or read as far as possible (hint: `pisess check` explains it)
    2> pisess: ./s.jsonl: 1 secret in 6 strings removed for good; session 1.6 kB to 1.5 kB
    ");
    assert_eq!(s.names(), ["s.jsonl"]);
    assert_gone(&s, &secret(0));

    // A run that was killed before it removed the file is finished by the next one.
    let s = with_leaky();
    s.pisess("prune -q --secrets ./s.jsonl").done();
    assert_snapshot!(s.pisess("prune --secrets --purge ./s.jsonl").done(), @"
    2> pisess: note: ./s.jsonl: line 3 is not JSON; skipped or read as far as possible (hint: `pisess check` explains it)
    2> pisess: ./s.jsonl: no secrets found
    2> pisess: ./s.jsonl: what was pruned from it before had secrets, and is removed for good (1.8 kB)
    ");
    assert_eq!(s.names(), ["s.jsonl"]);
    assert_gone(&s, &secret(0));
}

/// Of an image and of encrypted thinking, only the data is kept as it is.
#[test]
fn a_purge_removes_secrets_beside_the_data_of_an_image() {
    let token = secret(0);
    let picture = STANDARD.encode("picture".repeat(40));
    let line = json!({"type": "message", "id": "aaaa0001", "parentId": null, "message": {"role": "user", "content": [
        {"type": "image", "mimeType": "image/png", "data": picture, "url": format!("https://h.x/a.png?token={token}"), "alt": format!("shows {token}")},
        {"type": "redactedThinking", "data": "QUJD", "text": format!("the token {token}")}]}});
    let s = Sandbox::new();
    s.put("s.jsonl", session(&[line.to_string()]));
    s.pisess("prune -q --secrets --purge ./s.jsonl").done();
    assert_gone(&s, &token);
    let purged = s.text("s.jsonl");
    assert!(purged.contains(&picture), "{purged}");
    assert!(purged.contains("\"data\":\"QUJD\""), "{purged}");
}

/// What was pruned before is kept, unless it contains a secret itself.
#[test]
fn a_purge_of_secrets_keeps_what_else_was_pruned() {
    let s = with_leaky();
    let whole = s.text("s.jsonl");
    s.pisess("prune -q --images ./s.jsonl").done();
    let images = s.bytes("s.jsonl.pruned");
    s.pisess("prune -q --secrets --purge ./s.jsonl").done();
    assert!(s.bytes("s.jsonl.pruned") == images);
    s.pisess("prune -q --restore ./s.jsonl").done();
    assert_eq!(s.text("s.jsonl").lines().last(), whole.lines().last());
    assert_gone(&s, &secret(0));

    let s = with_leaky();
    s.pisess("prune -q --details --over 10 ./s.jsonl").done();
    let noted = s.pisess("prune --secrets ./s.jsonl").done();
    assert!(
        noted.stderr.contains("SESSION.pruned has secrets"),
        "{noted}"
    );
    s.pisess("prune -q --secrets --purge ./s.jsonl").done();
    assert_eq!(s.names(), ["s.jsonl"]);
    assert_gone(&s, &secret(0));
}

/// A prune of secrets can come before or after another one, also of the same part of a line.
#[test]
fn several_prunes_are_undone_in_turn() {
    let other = "aVerySpecialWord77";
    let whole = leaky(&secret(0)).replace("\"look\"", &format!("\"look at {other}\""));
    let orders: [&[&str]; 5] = [
        &["--secrets", "--details --over 10", "--images"],
        &["--details --over 10", "--secrets"],
        &[
            "--secrets",
            "--results --over 10",
            "--secrets --secret-file ./values",
        ],
        &["--secrets --secret-file ./values", "--over 10"],
        &[
            "--secrets --secret-file ./keys",
            "--secrets",
            "--details --over 10",
        ],
    ];
    for order in orders {
        let s = Sandbox::new();
        s.put("values", other);
        // A key of the details, whose path then has no secret any more.
        s.put("keys", "gAAA1e400aaaa\npayload");
        s.put("s.jsonl", &whole);
        for options in order {
            let done = s.pisess(&format!("prune -q {options} ./s.jsonl")).done();
            assert_eq!(done.code, 0, "{order:?} {done}");
        }
        assert_ne!(s.text("s.jsonl"), whole, "{order:?}");
        let restored = s.pisess("prune -q --restore ./s.jsonl").done();
        assert_eq!(restored.code, 0, "{order:?} {restored}");
        assert_eq!(s.text("s.jsonl"), whole, "{order:?}");
    }
}

/// Many strings of one line are replaced together; the title line of oh-my-pi keeps its width.
#[test]
fn whole_lines_are_restored() {
    let token = secret(0);
    let mut slot = format!(
        r#"{{"type":"title","v":1,"title":"about {token}","updatedAt":"2026-01-01T00:00:00.000Z","pad":""#
    );
    while slot.len() < 253 {
        slot.push(' ');
    }
    let header = format!(
        r#"{{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/x/{token}"}}"#
    );
    let many =
        json!({"type": "custom", "id": "aaaa0001", "parentId": null, "data": vec![&token; 200]});
    let whole = format!("{slot}\"}}\n{header}\n{many}");
    let s = Sandbox::new();
    s.put("s.jsonl", &whole);
    s.pisess("prune -q --secrets ./s.jsonl").done();
    let pruned = s.text("s.jsonl");
    assert!(!pruned.contains(&token), "{pruned}");
    assert_eq!(pruned.find('\n'), Some(255));
    s.pisess("prune -q --restore ./s.jsonl").done();
    assert_eq!(s.text("s.jsonl"), whole);
}

/// Where a placeholder is impossible, the command does not claim that the secret is gone.
#[test]
fn what_cannot_be_replaced_is_refused() {
    let s = Sandbox::new();
    s.put("values", "918273645546\nsession-of-kites");
    let number = r#"{"type":"custom","id":"aaaa0001","parentId":null,"data":{"pin":918273645546}}"#;
    s.put("n.jsonl", session(&[number.to_owned()]));
    assert_snapshot!(s.unchanged("prune -q --secrets --secret-file ./values ./n.jsonl").fails(2), @"./n.jsonl:2: secret would remain in data.pin; nothing was written (hint: a placeholder replaces neither a number nor the id of a session; `pisess archive PATH` and `pisess archive --delete PATH` remove the whole session)");
    s.unchanged("prune -q -n --secrets --secret-file ./values ./n.jsonl")
        .fails(2);
    s.put("words", "session\n");
    assert_snapshot!(s.unchanged("prune -q --secrets --secret-file ./words ./n.jsonl").fails(2), @"./n.jsonl: a secret is a part of the session's format; nothing was written (hint: omit ordinary words from --env-file and --secret-file)");
    s.put(
        "id.jsonl",
        leaky("x").replacen("\"id\":\"", "\"id\":\"session-of-kites-", 1),
    );
    assert_snapshot!(s.unchanged("prune -q --secrets --secret-file ./values ./id.jsonl").fails(2), @"./id.jsonl:1: secret would remain in id; nothing was written (hint: a placeholder replaces neither a number nor the id of a session; `pisess archive PATH` and `pisess archive --delete PATH` remove the whole session)");
}

#[test]
fn options_of_other_prunes_are_refused() {
    let s = with_leaky();
    for options in [
        "--images",
        "--over 1k",
        "--compacted",
        "--branch aaaa0002",
        "--restore",
    ] {
        let said = s
            .unchanged(&format!("prune --secrets {options} ./s.jsonl"))
            .fails(2);
        assert!(said.contains("cannot be used with"), "{said}");
    }
    for options in ["--images", "--compacted", "--restore", "--entries root"] {
        let said = s
            .unchanged(&format!("prune --secret-file ./x {options} ./s.jsonl"))
            .fails(2);
        assert!(said.contains("cannot be used with"), "{said}");
    }
    assert_snapshot!(s.unchanged("prune --purge --all").fails(2), @"--purge takes one session (hint: repeat the command for each session)");
    assert_snapshot!(s.unchanged("prune --purge --json ./s.jsonl").fails(2), @"--purge has no result as JSON (hint: omit --json)");
}

/// Without `--secrets`, `--secret-file` takes out the texts of the file, also in other spellings,
/// and leaves what the rules recognize.
#[test]
fn given_values_are_taken_out_alone() {
    let s = with_leaky();
    s.put("values", "picture frame\ninés@kites.example\n");
    let lines = [
        user(
            "bbbb0001",
            None,
            "Write to in\\u00e9s@kites.example about the picture frame.",
        ),
        user(
            "bbbb0002",
            Some("bbbb0001"),
            "<a href=mailto:in%C3%A9s@kites.example>",
        ),
    ];
    let whole = s.text("s.jsonl") + &lines.join("\n") + "\n";
    s.put("s.jsonl", &whole);

    assert_snapshot!(s.unchanged("prune -q -n --secret-file ./values ./s.jsonl").text(), @"
     size  id        secrets                                   field
     59 B  bbbb0001  [REDACTED:secret#1], [REDACTED:secret#2]  message.content
     41 B  bbbb0002  [REDACTED:secret#1]                       message.content
    100 B  total     2 strings
    2 secrets in 2 strings; session still 2.0 kB
    ");
    assert_snapshot!(s.pisess("prune -q --secret-file ./values ./s.jsonl").done(), @"./s.jsonl.pruned");
    let pruned = s.text("s.jsonl");
    assert!(pruned.contains(&secret(0)), "{pruned}");
    assert!(!pruned.contains("kites.example"), "{pruned}");
    s.pisess("prune -q --restore ./s.jsonl").done();
    assert_eq!(s.text("s.jsonl"), whole);

    // With --purge, secrets that an earlier prune moved stay in SESSION.pruned.
    s.pisess("prune -q --secrets ./s.jsonl").done();
    assert!(s.text("s.jsonl").contains("kites.example"));
    let moved = s.text("s.jsonl.pruned");
    let done = s
        .pisess("prune --secret-file ./values --purge ./s.jsonl")
        .done();
    assert_snapshot!(done, @"
    2> pisess: note: ./s.jsonl: line 3 is not JSON; skipped or read as far as possible (hint: `pisess check` explains it)
    2> pisess: ./s.jsonl: 2 secrets in 2 strings removed for good; session still 1.9 kB
    ");
    assert_eq!(s.text("s.jsonl.pruned"), moved);

    s.put("none", "no such text");
    assert_snapshot!(s.unchanged("prune --secret-file ./none ./s.jsonl"), @"
    2> pisess: note: ./s.jsonl: line 3 is not JSON; skipped or read as far as possible (hint: `pisess check` explains it)
    2> pisess: ./s.jsonl: the given values do not occur
    ");
}

/// `--purge` removes an earlier SESSION.pruned if one of the given values is in it.
#[test]
fn given_values_are_purged_from_what_was_pruned_before() {
    let s = Sandbox::new();
    let note = format!("{} by inés@kites.example", "kite ".repeat(40));
    let result = json!({"type": "message", "id": "aaaa0001", "parentId": null, "message": {"role": "toolResult",
        "toolCallId": "c1", "toolName": "bash", "content": [{"type": "text", "text": note}]}});
    s.put("s.jsonl", session(&[result.to_string()]));
    s.put("values", "inés@kites.example");
    s.pisess("prune -q --over 10 ./s.jsonl").done();
    assert!(s.text("s.jsonl.pruned").contains("inés"));
    let done = s
        .pisess("prune --secret-file ./values --purge ./s.jsonl")
        .done();
    assert_snapshot!(done, @"
    2> pisess: ./s.jsonl: the given values do not occur
    2> pisess: ./s.jsonl: what was pruned from it before had secrets, and is removed for good (622 B)
    ");
    assert_eq!(s.names(), ["s.jsonl", "values"]);
}

/// `--all` prunes every session of the stores, and says which one it could not.
#[test]
fn all_sessions_are_pruned() {
    let folder = ".pi/agent/sessions/--kites--";
    let s = Sandbox::new();
    s.put(&format!("{folder}/2026_a.jsonl"), leaky(&secret(0)));
    s.put(
        &format!("{folder}/2026_b.jsonl"),
        leaky(&secret(1)).replacen("\"id\":\"", "\"id\":\"b", 1),
    );
    s.put(
        &format!("{folder}/2026_c.jsonl"),
        leaky("nothing").replacen("\"id\":\"", "\"id\":\"c", 1),
    );
    s.put(
        &format!("{folder}/2026_a/agent.jsonl"),
        leaky(&secret(5)).replacen("\"id\":\"", "\"id\":\"d", 1),
    );
    let run = |line: &str| s.pisess(line).at_home().done();
    let before = s.files();
    assert_snapshot!(run("prune -q -n --secrets --all"), @"
     size  session                                            parts                  session size
    133 B  ~/.pi/agent/sessions/--kites--/2026_a.jsonl        1 secret in 6 strings  1.6 kB to 1.5 kB
    140 B  ~/.pi/agent/sessions/--kites--/2026_a/agent.jsonl  1 secret in 6 strings  1.6 kB to 1.5 kB
    611 B  ~/.pi/agent/sessions/--kites--/2026_b.jsonl        1 secret in 6 strings  2.1 kB to 1.5 kB
      0 B  ~/.pi/agent/sessions/--kites--/2026_c.jsonl        1 secret in 1 string   1.4 kB to 1.4 kB
    884 B  total                                              4 sessions
    4 of 4 sessions would be pruned; 6.8 kB to 5.9 kB
    ");
    assert!(s.files() == before);

    #[cfg(target_os = "linux")]
    {
        // A session that an agent has open is skipped, and the command does not succeed.
        let open = format!("{folder}/2026_b.jsonl");
        let holder = Holder::of(&s, &open);
        let busy = run("prune --secrets --purge --all --wait 0");
        drop(holder);
        assert_eq!(busy.code, 3, "{busy}");
        assert!(busy.stderr.contains("skipped a session: "), "{busy}");
        assert!(s.bytes(&open) == before[&open]);
    }

    let done = run("prune --secrets --purge --all");
    assert_eq!(done.code, 0, "{done}");
    for seed in [0, 1, 5] {
        assert_gone(&s, &secret(seed));
    }
    assert_eq!(s.names().len(), 4);
    assert_eq!(run("redact -q --check --all").code, 0);
}

/// A secret that one session assigns to a name is taken out of the others, too, where nothing shows
/// that it is a secret: also if an earlier prune has moved it out of the first session.
#[test]
fn a_secret_of_one_session_is_taken_out_of_all() {
    const TOKEN: &str = "kq_live_9fQ2xR7bLm4TzW8c";
    let folder = ".pi/agent/sessions/--kites--";
    let assigns = format!("export BROKER_TOKEN={TOKEN}");
    let mentions = format!("try {TOKEN} again");
    let with_text = |prefix: &str, text: &str| {
        let whole = session(&[user("aaaa0001", None, text)]);
        let whole = String::from_utf8(whole).unwrap();
        whole.replacen("\"id\":\"", &format!("\"id\":\"{prefix}"), 1)
    };
    let s = Sandbox::new();
    let fill = || {
        s.put(&format!("{folder}/2026_a.jsonl"), with_text("", &assigns));
        s.put(&format!("{folder}/2026_b.jsonl"), with_text("b", &mentions));
        s.put(
            &format!("{folder}/2026_b/agent.jsonl"),
            with_text("c", &mentions),
        );
        s.put(&format!("{folder}/2026_d.jsonl"), with_text("d", "nothing"));
    };
    let run = |line: &str| s.pisess(line).at_home().done();

    fill();
    // Alone, the others show no secret.
    let alone = run(&format!("prune -n --secrets ./{folder}/2026_b.jsonl"));
    assert!(alone.text().contains("no secrets found"), "{alone}");
    assert_snapshot!(run("prune -q -n --secrets --all").text(), @"
    size  session                                            parts                 session size
     0 B  ~/.pi/agent/sessions/--kites--/2026_a.jsonl        1 secret in 1 string  273 B to 273 B
     0 B  ~/.pi/agent/sessions/--kites--/2026_b.jsonl        1 secret in 1 string  264 B to 264 B
     0 B  ~/.pi/agent/sessions/--kites--/2026_b/agent.jsonl  1 secret in 1 string  264 B to 264 B
     0 B  total                                              3 sessions
    3 of 4 sessions would be pruned; 1.0 kB to 1.0 kB
    ");
    // `redact --check` reports the same secrets; a name only where one is assigned.
    let checked = run("redact --check --all --json");
    let mut names = Vec::new();
    for row in checked.text().lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        names.push(row["name"].as_str().unwrap_or_default().to_owned());
    }
    assert_eq!(names, ["BROKER_TOKEN", "", ""], "{checked}");
    for sessions in [
        "--all".to_owned(),
        format!("-r ./{folder}"),
        format!("./{folder}/2026_b.jsonl ./{folder}/2026_b/agent.jsonl ./{folder}/2026_a.jsonl"),
    ] {
        fill();
        let done = run(&format!("prune --secrets --purge {sessions}"));
        assert_eq!(done.code, 0, "{sessions}: {done}");
        assert_gone(&s, TOKEN);
    }

    // SESSION.pruned of the first session has the secret, which the others have as well.
    fill();
    run(&format!("prune --secrets ./{folder}/2026_a.jsonl"));
    let done = run("prune --secrets --purge --all");
    assert_eq!(done.code, 0, "{done}");
    assert_gone(&s, TOKEN);
}

/// A SESSION.pruned that cannot be read may have secrets that the sessions contain, too.
#[test]
fn an_unreadable_pruned_file_is_reported() {
    let s = Sandbox::new();
    s.put("d/a.jsonl", session(&[user("aaaa0001", None, "one")]));
    s.put("d/b.jsonl", session(&[user("aaaa0001", None, "two")]));
    fs::create_dir(s.path("d/a.jsonl.pruned")).unwrap();
    let checked = s.unchanged("redact --check ./d");
    assert_eq!(checked.code, 0, "{checked}");
    assert_snapshot!(checked.stderr, @"
    pisess: note: secrets in SESSION.pruned are not searched for: cannot read ./d/a.jsonl.pruned: it is a directory
    pisess: 2 sessions searched: 0 secrets
    pisess: note: the pruned parts of 1 session were not searched (hint: `pisess prune --restore` puts them back)
    ");
    // A prune must also change the file beside the session, so this one fails.
    let pruned = s.unchanged("prune -n --secrets ./d");
    assert_eq!(pruned.code, 2, "{pruned}");
    assert_snapshot!(pruned.stderr, @"
    pisess: cannot read ./d/a.jsonl.pruned: it is a directory (hint: give the path of a session in it; archive, blame, check, export, grep, list, migrate, prune, redact --check and stats take directories)
    pisess: note: secrets in SESSION.pruned are not searched for: cannot read ./d/a.jsonl.pruned: it is a directory
    ");
}

/// A process that has a session open for appending, as oh-my-pi does.
#[cfg(target_os = "linux")]
struct Holder(std::process::Child);

#[cfg(target_os = "linux")]
impl Holder {
    fn of(s: &Sandbox, path: &str) -> Holder {
        let open = std::fs::OpenOptions::new()
            .append(true)
            .open(s.path(path))
            .unwrap();
        let mut sleep = std::process::Command::new("sleep");
        Holder(sleep.arg("600").stdout(open).spawn().unwrap())
    }
}

#[cfg(target_os = "linux")]
impl Drop for Holder {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

/// A session that oh-my-pi has open is refused, unless `--force` is given.
#[cfg(target_os = "linux")]
#[test]
fn an_open_session_is_not_changed() {
    let s = Sandbox::with(&["omp.jsonl"]);
    let token = secret(0);
    s.pisess(&format!("append -q --force ./omp.jsonl --user {token}"))
        .done();
    let _holder = Holder::of(&s, "omp.jsonl");
    for line in [
        "prune -q --secrets --purge --wait 0",
        "prune -q -n --secrets --wait 0",
    ] {
        s.unchanged(&format!("{line} ./omp.jsonl")).fails(3);
    }
    s.pisess("prune -q --secrets --purge --force --wait 0 ./omp.jsonl")
        .done();
    assert!(!s.text("omp.jsonl").contains(&token));
}

/// A session has a secret that consists of secrets of two others. One of these is also elsewhere in
/// the session.
#[test]
fn a_secret_inside_a_secret_is_taken_out_of_all() {
    let (id, key) = ("Zr81Wm9x92kLpQ0vTT", "Hq72Kd5s83jFmXn6Ub");
    let login = json!({"type": "message", "id": "aaaa0002", "parentId": "aaaa0001", "message": {"role": "assistant", "content": [
        {"type": "toolCall", "id": "c", "name": "login", "arguments": {"api_key": format!("{id}.{key}")}}]}});
    let sessions = [
        vec![user("aaaa0001", None, &format!("export API_KEY={id}"))],
        vec![
            user("aaaa0001", None, &format!("client {id} is registered")),
            login.to_string(),
        ],
        vec![user("aaaa0001", None, &format!("export API_SECRET={key}"))],
    ];
    let s = Sandbox::new();
    for (at, entries) in sessions.iter().enumerate() {
        s.put(&format!("in/{at}.jsonl"), session(entries));
    }
    let pruned = s
        .pisess("prune -q --secrets --purge --force -r ./in")
        .done();
    assert_eq!(pruned.code, 0, "{pruned}");
    for at in 0..3 {
        let text = s.text(&format!("in/{at}.jsonl"));
        assert!(!text.contains(id), "{at}: {text}");
        assert!(!text.contains(key), "{at}: {text}");
    }
}

/// Any bytes come back, whatever is wrong with them.
#[test]
fn every_hazard_is_restored() {
    for name in hazards() {
        let path = format!("hazards/{name}.jsonl");
        let s = Sandbox::with(&[&path]);
        s.put("values", "branch\nkites\n2026-01\naaaa00\nfirstKept\n");
        let whole = s.bytes(&format!("{name}.jsonl"));
        let done = s
            .pisess(&format!(
                "prune -q --force --secrets --secret-file ./values ./{name}.jsonl"
            ))
            .done();
        assert!(
            done.code == 0 || s.bytes(&format!("{name}.jsonl")) == whole,
            "{name} {done}"
        );
        let restored = s
            .pisess(&format!("prune -q --force --restore ./{name}.jsonl"))
            .done();
        assert_eq!(
            restored.code,
            done.code.min(restored.code),
            "{name} {restored}"
        );
        assert!(s.bytes(&format!("{name}.jsonl")) == whole, "{name}");
    }
}
