//! `pisess redact`: a copy without secrets.

use crate::sandbox::{Sandbox, fixture, session, user};
use insta::assert_snapshot;
use std::fmt::Write;

/// Returns letters as in a generated key, the same in every run. Keys are built here, so that no
/// scanner reports this file.
fn letters(length: usize, alphabet: &str, seed: usize) -> String {
    let mut state = (seed as u32).wrapping_mul(2_654_435_761) | 1;
    let letters: Vec<char> = alphabet.chars().collect();
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        letters[(state >> 16) as usize % letters.len()]
    };
    std::iter::repeat_with(next).take(length).collect()
}

const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";

/// Returns a secret, different for each seed; the seed also selects its kind.
pub fn secret(seed: usize) -> String {
    let word = |length| letters(length, WORD, seed);
    match seed % 8 {
        0 => format!("ghp_{}", word(36)),
        1 => format!("sk-ant-api03-{}AA", word(93)),
        2 => format!(
            "AKIA{}",
            letters(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", seed)
        ),
        3 => format!("xoxb-{}-{}", letters(12, "123456789", seed), word(24)),
        4 => format!("sk_live_{}", word(24)),
        5 => format!("npm_{}", word(36)),
        6 => format!("sk-or-v1-{}", letters(64, HEX, seed)),
        _ => format!(
            "eyJ{}.eyJ{}.{}",
            word(20),
            letters(40, WORD, seed + 1),
            letters(43, WORD, seed + 2)
        ),
    }
}

fn escaped(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        write!(out, "\\u{byte:04x}").unwrap();
        out
    })
}

/// Forty lines of a session with a secret in different places. `<S>` is the secret, `<E>` the
/// secret in escapes, `I` and `P` are ids.
const PLACES: [&str; 40] = [
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"user","content":"use <S> now"}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"user","content":[{"type":"text","text":"<S>"}]}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"user","content":"<E>"}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"assistant","content":[{"type":"text","text":"got <S>"}],"stopReason":"stop"}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"assistant","content":[{"type":"thinking","thinking":"<S>?"}]}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"curl -H 'Authorization: Bearer <S>'"}}]}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"bash","arguments":{"<S>":true}}]}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"x","arguments":{"json":"{\"key\":\"<S>\"}"}}]}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"x","partialJson":"{\"key\":\"<S>","arguments":{}}]}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"assistant","content":[],"stopReason":"error","errorMessage":"401 for <S>"}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"toolResult","toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"TOKEN=<S>\nok"}],"isError":false}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"toolResult","toolCallId":"c","toolName":"read","content":[],"details":{"diff":"+key = <S>"}}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"toolResult","toolCallId":"c","toolName":"read","content":[],"details":{"a":[[{"b":"<S>"}]]}}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"bashExecution","command":"echo <S>","output":"","exitCode":0}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"bashExecution","command":"env","output":"A=1\nB=<S>","exitCode":0}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"bashExecution","command":"env","output":"","exitCode":0,"fullOutputPath":"/tmp/<S>.log"}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"custom","customType":"x","content":"<S>","display":true}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"fileMention","files":[{"path":".env","content":"<S>"}]}}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"system","content":"key <S>","sections":["<S>"]}}"#,
    r#"{"type":"custom","customType":"x","data":{"token":"<S>"},"id":"I","parentId":"P"}"#,
    r#"{"type":"custom","customType":"<S>","id":"I","parentId":"P"}"#,
    r#"{"type":"custom_message","customType":"x","content":"<S>","display":true,"id":"I","parentId":"P"}"#,
    r#"{"type":"custom_message","customType":"x","content":[{"type":"text","text":"<S>"}],"details":{"k":"<S>"},"display":true,"id":"I","parentId":"P"}"#,
    r#"{"type":"compaction","id":"I","parentId":"P","summary":"we used <S>","firstKeptEntryId":"I","tokensBefore":1}"#,
    r#"{"type":"compaction","id":"I","parentId":"P","summary":"x","firstKeptEntryId":"I","tokensBefore":1,"details":{"readFiles":["/x/<S>"],"modifiedFiles":[]}}"#,
    r#"{"type":"branch_summary","id":"I","parentId":"P","fromId":"root","summary":"<S>"}"#,
    r#"{"type":"label","id":"I","parentId":"P","targetId":"root","label":"<S>"}"#,
    r#"{"type":"session_info","id":"I","parentId":"P","name":"about <S>"}"#,
    r#"{"type":"context_edit","id":"I","parentId":"P","targetId":"root","replacement":{"content":"<S>"}}"#,
    r#"{"type":"model_change","id":"I","parentId":"P","provider":"p","modelId":"m?key=<S>"}"#,
    r#"{"type":"thinking_level_change","id":"I","parentId":"P","thinkingLevel":"<S>"}"#,
    r#"{"type":"mode_change","id":"I","parentId":"P","mode":"plan","data":{"planFilePath":"/<S>"}}"#,
    r#"{"type":"session_init","id":"I","parentId":"P","systemPrompt":"<S>","task":"t"}"#,
    r#"{"type":"title_change","id":"I","parentId":"P","title":"<S>","previousTitle":"<S>"}"#,
    r#"{"type":"never_seen","id":"I","parentId":"P","<S>":{"<S>":["<S>"]}}"#,
    r#"{"type":"never_seen","id":"I","parentId":"P","nested":"{\"a\":\"{\\\"b\\\":\\\"<S>\\\"}\"}"}"#,
    r#"{"type":"never_seen","id":"I","parentId":"P","url":"https://user:x@host/<S>?token=<S>"}"#,
    r#"{"type":"never_seen","id":"I","parentId":"P","a":"<S>","a":"<S>"}"#,
    r#"{"type":"message","id":"I","parentId":"P","message":{"role":"user","content":"torn <S>"#,
    r#"not JSON at all: <S>"#,
];

/// Returns a session in which each secret is in one of these places.
pub fn planted(secrets: &[String]) -> String {
    let mut file = format!(
        "{{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/srv/{}\"}}\n",
        secrets[0]
    );
    for (at, secret) in secrets.iter().enumerate() {
        let line = PLACES[at % PLACES.len()].replace("\"I\"", &format!("\"{at:08x}\""));
        // The last two places are in malformed lines, which cannot be parents.
        let parent = (0..at)
            .rev()
            .find(|at| at % PLACES.len() < PLACES.len() - 2);
        let parent = parent.map_or("null".to_owned(), |parent| format!("\"{parent:08x}\""));
        let line = line
            .replace("\"P\"", &parent)
            .replace("<E>", &escaped(secret));
        file += &line.replace("<S>", secret);
        file.push('\n');
    }
    file
}

#[test]
fn three_hundred_secrets_in_forty_places_leave_none() {
    let secrets: Vec<String> = (0..320).map(secret).collect();
    let s = Sandbox::new();
    let places = planted(&secrets);
    s.put("s.jsonl", &places);
    let done = s.pisess("redact ./s.jsonl -o ./copy.jsonl").done();
    assert_eq!(
        (done.code, done.text().as_str()),
        (0, "./copy.jsonl\n"),
        "{}",
        done.stderr
    );
    let copy = s.text("copy.jsonl");
    for secret in &secrets {
        assert!(!copy.contains(secret.as_str()), "{secret} is left");
        assert!(
            !copy.contains(&escaped(secret)),
            "{secret} is left in escapes"
        );
    }
    assert_eq!(copy.lines().count(), places.lines().count());
    let found = s.run("redact -q --check --json ./copy.jsonl");
    assert_eq!(found, "", "a second look finds nothing");
    // The tree is the same.
    let ids = |name: &str| s.pisess(&format!("path ./{name} --ids")).done().stdout;
    assert_eq!(ids("s.jsonl"), ids("copy.jsonl"));
}

/// Secrets are found everywhere in a large file, including the boundaries between blocks that are
/// read and between parts that different threads search.
#[test]
fn no_part_of_a_large_session_is_skipped() {
    const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;
    let s = Sandbox::new();
    let (mut file, mut wanted) = (format!("{HEADER}\n"), Vec::new());
    for at in 0..400 {
        // Lines of very different lengths, one of them longer than a block that is read.
        let filler = "lorem ipsum ".repeat(if at == 200 { 60_000 } else { at * 7919 % 1900 });
        let secret = if at % 5 == 0 {
            secret(at)
        } else {
            String::new()
        };
        if at % 5 == 0 {
            wanted.push((at + 2, format!("{at:08x}")));
        }
        file += &format!(
            r#"{{"type":"message","id":"{at:08x}","parentId":null,"message":{{"role":"user","content":"{filler}{secret}"}}}}"#
        );
        file.push('\n');
    }
    assert!(file.len() > 4 << 20, "large enough for several parts");
    s.put("s.jsonl", &file);
    let found = s.pisess("redact -q --check ./s.jsonl").done().text();
    let found = found.lines().map(|row| {
        let row = row.strip_prefix("./s.jsonl:").unwrap();
        let (line, rest) = row.split_once(": ").unwrap();
        (line.parse().unwrap(), rest[..8].to_owned())
    });
    assert_eq!(found.collect::<Vec<_>>(), wanted);
    s.run("redact -q ./s.jsonl -o ./copy.jsonl");
    let copy = s.text("copy.jsonl");
    assert_eq!(copy.matches("[REDACTED:").count(), wanted.len());
    let changed = copy
        .lines()
        .zip(file.lines())
        .filter(|(new, old)| new != old)
        .count();
    assert_eq!(
        (changed, copy.lines().count()),
        (wanted.len(), file.lines().count())
    );
}

#[test]
fn images_are_taken_out_of_lines_that_hold_nothing_else() {
    let s = Sandbox::new();
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;
    let image = r#"{"type":"message","id":"aaaa0001","parentId":null,"message":{"role":"user","content":[{"type":"image","data":"AAAABBBB","mimeType":"image/png"}]}}"#;
    s.put("s.jsonl", format!("{header}\n{image}\n"));
    let done = s.pisess("redact ./s.jsonl -o -").done();
    assert_eq!(
        done.stderr,
        "pisess: ./s.jsonl: no secrets found; left out 1 signature or image, which cannot be searched\n"
    );
    assert!(done.text().contains("[image removed: image/png, 6 bytes]"));
    assert!(
        s.run("redact -q ./s.jsonl --keep-images -o -")
            .contains(image)
    );
}

#[test]
fn keep_images_copies_lines_without_secrets_byte_for_byte() {
    for name in [
        "tour.jsonl",
        "v1.jsonl",
        "v2.jsonl",
        "draft-tree.jsonl",
        "omp-no-slot.jsonl",
    ] {
        let s = Sandbox::with(&[name]);
        s.run(&format!("redact -q ./{name} -o ./copy --keep-images"));
        let (old, new) = (fixture(name), s.bytes("copy"));
        let changed = old
            .split(|&b| b == b'\n')
            .zip(new.split(|&b| b == b'\n'))
            .filter(|(old, new)| old != new);
        for (old, new) in changed {
            let signed = String::from_utf8_lossy(old).contains("ignature");
            assert!(signed, "{name}: {}", String::from_utf8_lossy(new));
        }
    }
}

#[test]
fn values_of_files_are_taken_out() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    s.put(".env", "PAPER=\"light, washi\"\nSHORT=kite\n");
    s.put("list", "bamboo spar\n\n");
    let done = s
        .pisess("redact ./two-branches.jsonl --env-file ./.env --secret-file ./list -o ./copy")
        .done();
    assert_eq!(
        done.stderr,
        "pisess: note: 1 value shorter than 6 characters is not searched for: such text occurs by chance\n\
         pisess: ./two-branches.jsonl: left out 1 env, 1 secret\n"
    );
    let copy = s.text("copy");
    assert!(copy.contains("is [REDACTED:env#1] is strong"), "{copy}");
    assert!(copy.contains("with a [REDACTED:secret#1]."), "{copy}");
}

/// A secret is one row, with the lines of its places; addresses that are kept are reported.
#[test]
fn a_secret_is_one_row() {
    let s = Sandbox::new();
    let lines: Vec<_> = (0..8)
        .map(|at| {
            let text = format!(
                "a {} b {} me@example.org you{}@example.org",
                secret(0),
                secret(2),
                at % 2
            );
            user(&format!("aaaa000{at}"), None, &text)
        })
        .collect();
    s.put("s.jsonl", session(&lines));
    assert_snapshot!(s.unchanged("redact --check ./s.jsonl"), @"
    ./s.jsonl:2: aaaa0000 message.content, 40 bytes: would become [REDACTED:github-pat#1] (8 places, lines 2, 3, 4, 5, 6, 3 more)
    ./s.jsonl:2: aaaa0000 message.content, 20 bytes: would become [REDACTED:aws-access-key#1] (8 places, lines 2, 3, 4, 5, 6, 3 more)
    2> pisess: ./s.jsonl: 1 aws-access-key, 1 github-pat
    2> pisess: ./s.jsonl: 3 e-mail addresses are kept
    2> pisess: `pisess prune -n --secrets ./s.jsonl` lists the strings that it would replace (hint: omit -n to replace them; add --purge to remove the secrets for good)
    exit 1
    ");
    let rows = s.unchanged("redact -q --check --json ./s.jsonl").text();
    assert_eq!(rows.lines().count(), 2);
    assert_eq!(
        rows.lines().next().unwrap().matches("\"line\":").count(),
        1 + 8
    );
    s.put(
        "two.jsonl",
        session(&[user("aaaa0001", None, "me@example.org")]),
    );
    assert_snapshot!(s.unchanged("redact ./two.jsonl -o -").stderr, @"
    pisess: ./two.jsonl: no secrets found
    pisess: ./two.jsonl: 1 e-mail address is kept
    ");
}

/// The same names are in many sessions: each is one row, with the number of its secrets.
#[test]
fn a_check_of_several_sessions_has_a_row_for_each_kind_and_name() {
    let s = Sandbox::new();
    for at in 0..3 {
        let key = letters(32, WORD, 70 + at);
        let other = letters(32, WORD, 80 + at);
        let text = format!(
            "API_KEY={key} api_key: {other} {} me@example.org",
            secret(8 * at)
        );
        s.put(
            &format!("in/{at}.jsonl"),
            session(&[user("aaaa0001", None, &text)]),
        );
    }
    assert_snapshot!(s.unchanged("redact --check ./in"), @"
    hazard  API_KEY=[REDACTED:assigned-secret#1] api_key: [REDACTED:assigned-secret#2] [REDACTED:github-pat#1] me@example.org  ./in/0.jsonl
         2  assigned-secret API_KEY in message.content
         2  assigned-secret api_key in message.content
         2  github-pat in message.content
    hazard  API_KEY=[REDACTED:assigned-secret#1] api_key: [REDACTED:assigned-secret#2] [REDACTED:github-pat#1] me@example.org  ./in/1.jsonl
         2  assigned-secret API_KEY in message.content
         2  assigned-secret api_key in message.content
         2  github-pat in message.content
    hazard  API_KEY=[REDACTED:assigned-secret#1] api_key: [REDACTED:assigned-secret#2] [REDACTED:github-pat#1] me@example.org  ./in/2.jsonl
         2  assigned-secret API_KEY in message.content
         2  assigned-secret api_key in message.content
         2  github-pat in message.content
    2> pisess: 1 e-mail address is kept
    2> pisess: 3 sessions searched: 9 secrets in 3 sessions
    2> pisess: `pisess prune -n --secrets ./in/0.jsonl ./in/1.jsonl ./in/2.jsonl` lists the strings that it would replace (hint: omit -n to replace them; add --purge to remove the secrets for good)
    exit 1
    ");
    let rows = s.unchanged("redact -q --check --json ./in").text();
    assert_eq!(rows.lines().count(), 9);
    assert_eq!(rows.matches(r#""name":"API_KEY""#).count(), 3);
}

/// The total is the number of secrets, not of their sessions: also if one session shows the name of
/// a secret, and another only its text.
#[test]
fn a_secret_of_several_sessions_is_counted_once() {
    let s = Sandbox::new();
    let key = letters(32, WORD, 70);
    let token = secret(0);
    let texts = [
        format!("API_KEY={key} and {token}"),
        format!("try {key} with {token}"),
    ];
    for (at, text) in texts.iter().enumerate() {
        s.put(
            &format!("in/{at}.jsonl"),
            session(&[user("aaaa0001", None, text)]),
        );
    }
    let checked = s.unchanged("redact --check ./in");
    assert!(
        checked
            .stderr
            .contains("2 sessions searched: 2 secrets in 2 sessions"),
        "{checked}"
    );
    // Copies are made one by one, so `try …` shows no secret.
    assert_snapshot!(s.unchanged("redact -n ./in"), @"
     size  kind             name                secrets  sessions  first place
     32 B  assigned-secret  API_KEY                   1         1  ./in/0.jsonl:2 (message.content)
     80 B  github-pat                                 1         2  ./in/0.jsonl:2 (message.content)
    112 B  total            2 kinds of secrets
    2> pisess: 2 sessions searched: 2 secrets in 2 sessions
    ");
}

/// A short secret stays in other places, where it may be a word. The heading quotes none of them.
#[test]
fn the_heading_of_a_session_has_no_secret_that_a_copy_keeps() {
    let s = Sandbox::new();
    let title = user("aaaa0001", None, "please use Qx7zzP and go");
    let assignment = user("aaaa0002", Some("aaaa0001"), "DB_PASSWORD=Qx7zzP");
    s.put("in/a.jsonl", session(&[title, assignment]));
    s.put(
        "in/b.jsonl",
        session(&[user("aaaa0001", None, "please go")]),
    );
    assert_snapshot!(s.unchanged("redact --check ./in"), @"
    hazard  (title not shown, because it may have a secret)  ./in/a.jsonl
         3  assigned-password DB_PASSWORD in message.content
    2> pisess: 2 sessions searched: 1 secret in 1 session
    2> pisess: `pisess prune -n --secrets ./in/a.jsonl` lists the strings that it would replace (hint: omit -n to replace them; add --purge to remove the secrets for good)
    exit 1
    ");
}

/// Whoever gets the copy need not search it for a second place.
#[test]
fn the_places_of_a_secret_are_counted() {
    let s = Sandbox::new();
    let text = format!("The token is {}", secret(0));
    s.put(
        "s.jsonl",
        session(&[
            user("aaaa0001", None, &text),
            user("aaaa0002", Some("aaaa0001"), &text),
        ]),
    );
    let done = s.pisess("redact ./s.jsonl -o ./copy").done();
    assert_eq!(
        done.stderr,
        "pisess: ./s.jsonl: left out 1 github-pat, in 2 places\n"
    );
    assert!(!s.text("copy").contains(&secret(0)));
}

/// Example keys of documentation are kept, and the report says so.
#[test]
fn example_keys_are_counted() {
    let s = Sandbox::new();
    let text = "AKIAIOSFODNN7EXAMPLE, AKIAIOSFODNN7EXAMPLE and aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
    s.put("s.jsonl", session(&[user("aaaa0001", None, text)]));
    let done = s.pisess("redact ./s.jsonl -o ./copy").done();
    assert_eq!(
        done.stderr,
        "pisess: ./s.jsonl: no secrets found\npisess: ./s.jsonl: 2 example keys kept\n"
    );
    assert_eq!(s.text("copy"), s.text("s.jsonl"));
}

/// The name of a value and its use decide: ids of documents are no secrets.
#[test]
fn ids_and_default_passwords_are_kept() {
    let s = Sandbox::new();
    let id = |seed| letters(27, WORD, seed);
    let texts = [
        format!("{{\"doc_token\": \"{}\", \"block_id\": \"{}\"}}", id(1), id(2)),
        format!("app_token={} nextPageToken: \"{}\"", id(3), id(4)),
        format!("https://x.example/explore/1?xsec_token={}", id(5)),
        format!("{{\"token\": \"{0}\", \"url\": \"https://x.example/wiki/{0}?a=1\"}}", id(6)),
        "postgres:postgres@localhost, postgres://postgres:postgres@localhost/x amqp://anonymous:guest@mq/".into(),
        "CACHE_KEY=users:42:profile:7".into(),
    ];
    let entries: Vec<_> = texts
        .iter()
        .map(|text| user("aaaa0001", None, text))
        .collect();
    s.put("s.jsonl", session(&entries));
    assert_eq!(s.unchanged("redact -q --check ./s.jsonl").text(), "");
}

/// The placeholder of a token in a URL is followed by `@`, as a password is.
#[test]
fn a_placeholder_in_a_url_is_no_password() {
    let s = Sandbox::new();
    let text = format!("git clone https://{}@git.example/x.git", secret(0));
    s.put("s.jsonl", session(&[user("aaaa0001", None, &text)]));
    s.run("redact -q ./s.jsonl -o ./copy");
    assert!(
        s.text("copy")
            .contains("https://[REDACTED:github-pat#1]@git.example/x.git")
    );
    assert_eq!(s.unchanged("redact -q --check ./copy").text(), "");
}

#[test]
fn a_check_reports_and_writes_nothing() {
    let s = Sandbox::new();
    let token = secret(0);
    let header = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;
    let line = format!(
        r#"{{"type":"message","id":"aaaa0001","parentId":null,"message":{{"role":"user","content":"a {token} b"}}}}"#
    );
    s.put("s.jsonl", format!("{header}\n{line}\n"));
    let done = s.unchanged("redact --check ./s.jsonl");
    assert_eq!(done.code, 1);
    assert_snapshot!(done.text(), @"./s.jsonl:2: aaaa0001 message.content, 40 bytes: would become [REDACTED:github-pat#1]");
    assert!(!done.stderr.contains(&token));
    let done = s.unchanged("redact --check --json ./s.jsonl");
    assert_snapshot!(done.text(), @r#"{"path":"./s.jsonl","id":"aaaa0001","line":2,"field":"message.content","kind":"github-pat","name":"","placeholder":"[REDACTED:github-pat#1]","length":40,"places":[{"id":"aaaa0001","line":2,"field":"message.content"}]}"#);
    s.put("in/deep/two.jsonl", s.text("s.jsonl"));
    s.put("in/none.jsonl", format!("{header}\n"));
    assert_snapshot!(s.unchanged("redact --check ./in"), @"
    s  a [REDACTED:github-pat#1] b  ./in/deep/two.jsonl
         2  github-pat in message.content
    2> pisess: 2 sessions searched: 1 secret in 1 session
    2> pisess: `pisess prune -n --secrets ./in/deep/two.jsonl` lists the strings that it would replace (hint: omit -n to replace them; add --purge to remove the secrets for good)
    exit 1
    ");
    assert_eq!(
        s.unchanged("redact --check -r ./in").text(),
        s.unchanged("redact --check ./in").text()
    );
    assert_snapshot!(s.unchanged("redact -n ./in"), @"
    size  kind        name  secrets  sessions  first place
    40 B  github-pat              1         1  ./in/deep/two.jsonl:2 (message.content)
    2> pisess: 2 sessions searched: 1 secret in 1 session
    ");
    assert_snapshot!(s.unchanged("redact -n ./s.jsonl"), @"
    size  secret                   places  line  id        first place
    40 B  [REDACTED:github-pat#1]       1     2  aaaa0001  message.content
    2> pisess: ./s.jsonl: 1 github-pat
    ");
    assert_snapshot!(s.unchanged("redact ./in/none.jsonl ./s.jsonl -o ./copy").fails(2), @"-o takes only one session (hint: --check reports on any number of them)");
    assert_snapshot!(s.unchanged("redact --check ./in --env-file ./gone").fails(2), @"cannot read ./gone: no such file or directory (hint: give the path of a file of secrets, or - for standard input)");
    let piped = s.pisess("redact - -o -").stdin(s.bytes("s.jsonl")).done();
    assert_eq!(piped.code, 0);
    assert_eq!(
        String::from_utf8(piped.stdout).unwrap(),
        format!(
            "{header}\n{}\n",
            line.replace(&token, "[REDACTED:github-pat#1]")
        )
    );
}

#[test]
fn home_folders_and_user_names_become_neutral() {
    let s = Sandbox::new();
    s.put("s.jsonl", concat!(
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/home/margarethe/proj"}"#, "\n",
        r#"{"type":"message","id":"aaaa0001","parentId":null,"message":{"role":"user","content":"ask margarethe, see /home/margarethe/x and /Users/otto/y"}}"#, "\n",
    ));
    s.run("redact -q --paths ./s.jsonl -o ./copy");
    assert_snapshot!(s.text("copy"), @r#"
    {"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"~/proj"}
    {"type":"message","id":"aaaa0001","parentId":null,"message":{"role":"user","content":"ask user, see ~/x and ~/y"}}
    "#);
}

#[test]
fn the_title_line_of_oh_my_pi_keeps_its_width() {
    let s = Sandbox::new();
    let token = secret(8);
    let mut slot = format!(
        r#"{{"type":"title","v":1,"title":"about {token}","updatedAt":"2026-01-01T00:00:00.000Z","pad":""#
    );
    while slot.len() < 253 {
        slot.push(' ');
    }
    let rest = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#;
    s.put("s.jsonl", format!("{slot}\"}}\n{rest}\n"));
    s.run("redact -q ./s.jsonl -o ./copy");
    let copy = s.text("copy");
    assert_eq!(copy.find('\n'), Some(255));
    assert!(
        copy.contains(r#""title":"about [REDACTED:github-pat#1]""#),
        "{copy}"
    );
}

#[test]
fn a_copy_is_asked_for() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let needs = s.pisess("redact ./two-branches.jsonl").done().fails(2);
    assert!(needs.starts_with("redact requires -o"), "{needs}");
    let missing = s
        .pisess("redact ./two-branches.jsonl --env-file ./none -o ./c")
        .done()
        .fails(2);
    assert!(missing.contains("none"), "{missing}");
    let onto_itself = s
        .pisess("redact ./two-branches.jsonl -o ./two-branches.jsonl --force")
        .done()
        .fails(2);
    assert_snapshot!(onto_itself, @"cannot write ./two-branches.jsonl: it is the input itself (hint: redact only writes copies: `pisess prune --secrets SESSION` takes the secrets out of the session itself; with --purge, for good)");
    assert_snapshot!(s.pisess("redact --in-place ./two-branches.jsonl").done().fails(2), @"unexpected argument '--in-place' found (hint: redact only writes copies: `pisess prune --secrets SESSION` takes the secrets out of the session itself; with --purge, for good; see `pisess redact --help`)");
    assert_eq!(s.names(), ["two-branches.jsonl"]);
}

/// Writes a session whose request contains a token.
fn put_session_with_token(s: &Sandbox, path: &str, id: &str) {
    let cwd = s.path("kites").display().to_string();
    let header = format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","cwd":"{cwd}"}}"#
    );
    let request = user("aaaa0001", None, &format!("The token is {}", secret(0)));
    s.put(path, format!("{header}\n{request}\n"));
}

/// The hint of a refusal is a command that works.
#[test]
fn secrets_are_taken_out_as_the_hint_says() {
    let s = Sandbox::new();
    let folder = ".pi/agent/sessions/--kites--";
    put_session_with_token(&s, &format!("{folder}/2026_old.jsonl"), "old");
    let run = |line: &str| {
        let done = s.pisess(line).at_home().done();
        assert_eq!(done.code, 0, "{line}: {done}");
    };
    let old = format!("{folder}/2026_old.jsonl");
    run(&format!("prune --secrets --purge ./{old}"));
    assert_eq!(s.names(), [old]);
    run("redact --check --all");
}

/// `--check --all` says that there are archives, and reads them with `--archived`.
#[test]
fn archived_sessions_are_searched() {
    let s = Sandbox::new();
    let path = ".pi/agent/sessions/--kites--/2026_old.jsonl";
    put_session_with_token(&s, path, "old");
    put_session_with_token(&s, ".pi/agent/sessions/--kites--/2026_new.jsonl", "new");
    let run = |line: &str| s.pisess(line).at_home().done();
    assert_eq!(run(&format!("archive ./{path}")).code, 0);
    assert_snapshot!(run("redact --check --all"), @"
    ./.pi/agent/sessions/--kites--/2026_new.jsonl:2: aaaa0001 message.content, 40 bytes: would become [REDACTED:github-pat#1]
    2> pisess: note: 1 archived session is not included (hint: --archived)
    2> pisess: ~/.pi/agent/sessions/--kites--/2026_new.jsonl: 1 github-pat
    2> pisess: `pisess prune -n --secrets ~/.pi/agent/sessions/--kites--/2026_new.jsonl` lists the strings that it would replace (hint: omit -n to replace them; add --purge to remove the secrets for good)
    exit 1
    ");
    assert_snapshot!(run("redact --check --all --archived"), @"
    new  The token is [REDACTED:github-pat#1]  ./.pi/agent/sessions/--kites--/2026_new.jsonl
         2  github-pat in message.content
    old  The token is [REDACTED:github-pat#1]  ./.pi/agent/sessions.archive/--kites--/2026_old.jsonl.zst
         2  github-pat in message.content
    2> pisess: 2 sessions searched: 1 secret in 2 sessions
    2> pisess: `pisess prune -n --secrets ~/.pi/agent/sessions/--kites--/2026_new.jsonl` lists the strings that it would replace (hint: omit -n to replace them; add --purge to remove the secrets for good)
    exit 1
    ");
    // The environment, which chooses agents for other commands, narrows no search for secrets.
    let call = s.pisess("redact --check --all --archived").at_home();
    let with_sources = call.env("PISESS_SOURCES", "claude").done();
    assert_eq!(with_sources.code, 1, "{}", with_sources.stderr);
    assert_snapshot!(run("redact --check --archived ./kites").fails(2), @"the argument '--archived' cannot be used with '[SESSION]...' (hint: omit --archived or SESSION; a name is looked up in all projects; see `pisess redact --help`)");
}

/// A directory may hold sessions of other agents; they are read where they are.
#[test]
fn sessions_of_other_agents_are_searched() {
    let s = Sandbox::new();
    let claude = String::from_utf8(fixture("claude/plain.jsonl")).unwrap();
    s.put("all/claude.jsonl", claude.replacen("kite", &secret(0), 1));
    s.put("all/codex.jsonl", fixture("codex/plain.jsonl"));
    assert_snapshot!(s.unchanged("redact --check ./all"), @"
    000000a1  Which paper for a kite?  ./all/claude.jsonl
         1  github-pat in cwd
    2> pisess: 2 sessions searched: 1 secret in 1 session
    2> pisess: pisess does not change sessions of other agents
    exit 1
    ");

    // The id of a session is not shown, either, if it has a secret.
    let token = secret(0);
    let text = claude.replacen("kite", &token, 1);
    s.put(
        "ids/claude.jsonl",
        text.replace("c1a00000-0000-4000-8000-0000000000a1", &token),
    );
    s.put("ids/other.jsonl", claude);
    let done = s.unchanged("redact --check ./ids");
    assert!(!done.text().contains(&token[token.len() - 8..]), "{done}");
    assert!(done.text().starts_with("Which paper"), "{done}");
}

/// `--source` selects agents, as for other commands that read. Without SESSION, the sessions of the
/// current directory are searched.
#[test]
fn a_check_takes_the_agents_whose_sessions_it_reads() {
    let s = Sandbox::new();
    let claude = String::from_utf8(fixture("claude/plain.jsonl")).unwrap();
    let in_store = ".claude/projects/-home-u-kites/019c0000-0000-7000-8000-0000000000a1.jsonl";
    s.put(in_store, claude.replacen("kite", &secret(0), 1));
    put_session_with_token(
        &s,
        ".pi/agent/sessions/--kites--/2026_0199aaaa-1111.jsonl",
        "0199aaaa-1111",
    );
    let run = |line: &str| s.pisess(line).at_home().done();
    let found = |line: &str| {
        let done = run(line);
        // Without the note on `prune`.
        let mut lines = done.stderr.lines().filter(|line| {
            !line.contains("prune -n --secrets") && !line.contains("does not change")
        });
        let last = lines.next_back().unwrap_or_default().to_owned();
        (last, done.code)
    };
    assert_snapshot!(format!("{:?}", found("redact --check --all")), @r#"("pisess: ~/.pi/agent/sessions/--kites--/2026_0199aaaa-1111.jsonl: 1 github-pat", 1)"#);
    assert_snapshot!(format!("{:?}", found("redact --check --all --source claude")), @r#"("pisess: ~/.claude/projects/-home-u-kites/019c0000-0000-7000-8000-0000000000a1.jsonl: 1 github-pat; 2 signatures and images, which cannot be searched", 1)"#);
    // The token is in both sessions, in one of them directly before a letter.
    assert_snapshot!(format!("{:?}", found("redact --check --all --source all")), @r#"("pisess: 2 sessions searched: 1 secret in 2 sessions", 1)"#);
    let line = format!("redact --check {} --source codex", s.path("").display());
    assert_snapshot!(format!("{:?}", found(&line)), @r#"("pisess: note: no sessions of Codex in these files and directories (hint: `pisess list --source codex --all` lists all projects)", 0)"#);
    assert_snapshot!(format!("{:?}", found("redact --check")), @r#"("pisess: note: no sessions of this directory (hint: --all reads all projects)", 0)"#);
    // Only the sessions of another agent are in this directory, or in any.
    let other = Sandbox::new();
    for line in [
        "redact --check --source pi,claude",
        "redact --check --all --source all",
    ] {
        let cwd = other.path("").display().to_string();
        let cwd = cwd.trim_end_matches('/');
        let text = claude.replace("/home/u/kites", cwd);
        other.put(in_store, text.replacen("kite", &secret(0), 1));
        let done = other.pisess(line).at_home().done();
        assert_eq!(done.code, 1, "{done}");
        assert!(!done.stderr.contains("no sessions"), "{done}");
    }
    assert_snapshot!(run("redact -n --all --source all").fails(2), @"--source requires --check (hint: the sessions of other agents are only searched for secrets)");
    assert_snapshot!(run("redact").fails(2), @"the following required arguments were not provided: <SESSION>... (hint: `pisess redact --check --all` reads the sessions of all projects; --choose asks for one; see `pisess redact --help`)");
}

/// A secret that was pruned is still in the file beside the session.
#[test]
fn check_says_that_pruned_payloads_are_not_searched() {
    let s = Sandbox::with(&["tour.jsonl"]);
    assert!(
        !s.pisess("redact --check ./tour.jsonl")
            .done()
            .stderr
            .contains("pruned")
    );
    assert_eq!(s.pisess("prune --over 100 ./tour.jsonl").done().code, 0);
    let checked = s.pisess("redact --check ./tour.jsonl").done();
    let note = "note: the pruned parts of 1 session were not searched";
    assert!(checked.stderr.contains(note), "{checked}");
}

/// The session itself is only read, so words of its title suffice.
#[test]
fn a_copy_is_made_of_a_session_with_these_words_in_its_title() {
    let desk = crate::names::Desk::new();
    desk.pi("0199aaaa-11111111", 1, &[]);
    let done = desk
        .pisess("redact 'question 0199aaaa' -o ./copy.jsonl")
        .done();
    assert_eq!(done.code, 0, "{done}");
    assert!(
        done.stderr.contains("is in the title of 11111111"),
        "{done}"
    );
    assert!(desk.s.path("copy.jsonl").exists());
}
