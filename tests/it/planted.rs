//! Sessions with secrets in them, made from a seed: values in assignments, addresses and commands, echoed in other
//! messages, in arguments of tools, with escapes, in JSON within JSON, behind the codes of a terminal and in base64;
//! and, beside them, what only resembles a secret.

use crate::sandbox::Sandbox;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const WORD: &[u8] = LETTERS.split_at(62).0;
const HEX: &[u8] = b"0123456789abcdef";
const CAPITALS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// Pseudo-random choices.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn of(&mut self, alphabet: &[u8], length: usize) -> String {
        (0..length).map(|_| char::from(alphabet[self.below(alphabet.len())])).collect()
    }

    fn uuid(&mut self) -> String {
        [8, 4, 4, 4, 12].map(|length| self.of(HEX, length)).join("-")
    }

    fn base64(&mut self, bytes: usize) -> String {
        STANDARD.encode((0..bytes).map(|_| self.below(256) as u8).collect::<Vec<_>>())
    }

    /// Returns a secret, and a text in which it is recognized. Built here, so that no scanner reports this file.
    fn secret(&mut self, kind: usize) -> (String, String) {
        let shaped = [
            format!("ghp_{}", self.of(WORD, 36)),
            format!("sk-ant-api03-{}AA", self.of(WORD, 93)),
            format!("glpat-{}", self.of(WORD, 20)),
            format!("sk-lf-{}", self.uuid()),
            format!("lsv2_pt_{}_{}", self.of(HEX, 32), self.of(HEX, 10)),
            format!("fw_3{}", self.of(WORD, 23)),
            format!("SK{}", self.of(HEX, 32)),
            format!("NRAK-{}", self.of(CAPITALS, 27)),
            format!("tskey-auth-k{}CNTRL-{}", self.of(WORD, 10), self.of(WORD, 32)),
            format!("MTA4{}.G{}.{}", self.of(WORD, 20), self.of(WORD, 5), self.of(WORD, 38)),
            format!("AKIA{}", self.of(&CAPITALS[..26], 16)),
            format!("xoxb-{}-{}", self.of(b"123456789", 12), self.of(WORD, 24)),
        ];
        if let Some(secret) = shaped.get(kind) {
            let text = match self.below(6) {
                0 => format!("\u{1b}[32m{secret}\u{1b}[0m"),
                1 => format!("https://x.example/?q=a%20{secret}"),
                2 => format!("q%3D{secret}"),
                3 => format!("my_{secret}"),
                4 => format!("wrapped: {}", STANDARD.encode(format!("the key\n{secret}\n"))),
                _ => format!("use {secret} now"),
            };
            return (secret.clone(), text);
        }
        let word = format!("Hunter{}Correct{}Horse", self.below(10), 10 + self.below(90));
        let (secret, before, after) = match kind - shaped.len() {
            0 => (word, "password = \"", "\""),
            1 => (format!("4{}", self.of(WORD, 23)), "TOKEN=\"", "\""),
            2 => (self.of(WORD, 32), "export SERVICE_API_KEY=", ""),
            3 => (self.base64(300), "AWS_SESSION_TOKEN=", "\nAWS_REGION=eu-north-1"),
            4 => (self.base64(16), "TOKEN=", ""),
            5 => (self.base64(24), "SESSION_SECRET=", ""),
            6 => (self.base64(32), "COOKIE_SECRET='", "'"),
            7 => (self.uuid(), "DEPLOY_TOKEN=", " make"),
            8 => (word, "PASSWORD=", ""),
            9 => (self.of(HEX, 32), "https://api.example/v1?api_key=", "&page=2"),
            10 => (format!("7{}", self.of(WORD, 15)), "postgres://app:", "@db.internal/main"),
            _ => (self.of(WORD, 40), "curl -H 'Authorization: Bearer ", "'"),
        };
        let text = format!("{before}{secret}{after}");
        (secret, text)
    }

    /// Returns text that resembles a secret.
    fn lookalike(&mut self) -> String {
        match self.below(19) {
            0 => format!("commit {}", self.of(HEX, 40)),
            1 => format!("session {} was opened", self.uuid()),
            2 => "AKIAIOSFODNN7EXAMPLE".into(),
            3 => "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            4 => format!("task-{} done", self.of(HEX, 32)),
            5 => format!("\"integrity\": \"sha512-{}\"", self.base64(64)),
            6 => "const token = readToken(process.env.API_TOKEN);".into(),
            7 => "TOKEN_LIMIT=200000 MAX_TOKENS=8192".into(),
            8 => "password: \"your-password-here\", apiKey: \"<api-key>\"".into(),
            9 => format!("/srv/app{}/src/secret/token.rs", self.below(99)),
            10 => format!("toolu_01{}", self.of(WORD, 22)),
            11 => "export API_KEY=$STORED_KEY; KEY=${KEY:-none}".into(),
            12 => "fw_updateHandlerForDevice2Channel3(fw_thisIsALongIdentifierNameForFirmware)".into(),
            13 => format!("DISK{}", self.of(HEX, 32)),
            14 => format!("SSH_KEY=/home/u/.ssh/id_ed25519-{}", self.below(99)),
            15 => "apiKey: \"test-key-123\", TOKEN=abc123 -H 'Authorization: Bearer YOUR_API_KEY_HERE_123'".into(),
            16 => "key-0123456789abcdef0123456789abcdef, 0123456789abcdef0123456789abcdef-us1".into(),
            17 => "const API_KEY = \"demo_api_key_1234\"; // SG.xxxxxxxxxxxxxxxxxxxxxx.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx".into(),
            18 => "if (secret === undefined || token == null) throw new Error(\"no token\");".into(),
            _ => format!("key: \"user.settings.theme\", id: \"{}\"", self.of(HEX, 8)),
        }
    }

    /// Returns the secret as another message may have it.
    fn echo(&mut self, secret: &str) -> Value {
        let text = |text: String| json!({"role": "user", "content": text, "timestamp": 1});
        let call = |arguments: Value| json!({"role": "assistant", "content": [{"type": "toolCall", "id": "c", "name": "x", "arguments": arguments}]});
        match self.below(8) {
            0 => text(format!("I set {secret}.")),
            1 => call(json!({"command": format!("login --with {secret} && echo done")})),
            2 => text(format!(
                "got {}",
                json!({"value": secret, "inner": json!({"again": secret}).to_string()})
            )),
            3 => call(json!({"file": {"content": [format!("a\n{secret}\nb")]}})),
            4 => text(format!("\u{1b}[1;31m{secret}\u{1b}[0m")),
            5 => text(format!("https://x.example/{}", percent(secret))),
            6 => text(format!("echo {} | base64 -d", STANDARD.encode(format!("user:{secret}")))),
            _ => call(json!({secret: true})),
        }
    }
}

fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).into() } else { format!("%{byte:02X}") })
        .collect()
}

/// Writes letters as escapes here and there.
fn escaped(line: &str, secret: &str, dice: &mut Dice) -> String {
    if dice.below(4) > 0 {
        return line.to_owned();
    }
    let first = secret.chars().next().unwrap();
    line.replace(secret, &format!("\\u{:04x}{}", u32::from(first), &secret[1..]))
}

/// Returns every text in a value, also in JSON within strings, percent-encoded, and in base64.
fn texts(value: &Value) -> Vec<String> {
    let (mut texts, mut values) = (Vec::new(), vec![value.clone()]);
    while let Some(value) = values.pop() {
        match value {
            Value::Array(items) => values.extend(items),
            Value::Object(members) => {
                texts.extend(members.keys().cloned());
                values.extend(members.into_values());
            }
            Value::String(text) => {
                let starts = text.match_indices('{').map(|(at, _)| at);
                values.extend(starts.filter_map(|at| serde_json::from_str(&text[at..]).ok()));
                let digits = |c: char| c.is_ascii_alphanumeric() || "+/=".contains(c);
                for run in text.split(|c| !digits(c)).filter(|run| run.len() >= 20) {
                    texts.extend(
                        STANDARD.decode(run).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
                    );
                }
                texts.push(text.replace("%2B", "+").replace("%2F", "/").replace("%3D", "="));
                texts.push(text);
            }
            _ => {}
        }
    }
    texts
}

#[test]
fn of_400_planted_values_none_is_left_and_no_session_is_refused() {
    const KINDS: usize = 24;
    let (s, mut dice) = (Sandbox::new(), Dice(2026));
    let (mut planted, mut lookalikes, mut changed) = (0, 0, 0);
    for session in 0..250 {
        let mut lines = vec![json!({"type": "session", "version": 3, "id": "s", "cwd": "/w"}).to_string()];
        let mut add = |message: Value| {
            let (id, parent) = (format!("{:08x}", lines.len()), format!("{:08x}", lines.len() - 1));
            let parent = if lines.len() > 1 { Value::String(parent) } else { Value::Null };
            lines.push(
                json!({"type": "message", "id": id, "parentId": parent, "message": message}).to_string(),
            );
        };
        let mut secrets = Vec::new();
        for _ in 0..if session < 150 { 2 } else { 1 } {
            let (secret, text) = dice.secret(planted % KINDS);
            planted += 1;
            if dice.below(2) == 0 {
                add(dice.echo(&secret));
            }
            add(json!({"role": "user", "content": text, "timestamp": 1}));
            add(dice.echo(&secret));
            secrets.push(secret);
        }
        let similar: Vec<_> = (0..8).map(|_| dice.lookalike()).collect();
        for text in &similar {
            add(json!({"role": "user", "content": text, "timestamp": 1}));
        }
        lines.iter_mut().for_each(|line| {
            secrets.iter().for_each(|secret| *line = escaped(line, secret, &mut dice));
        });
        s.put("s.jsonl", lines.join("\n") + "\n");
        let done = s.pisess("redact -q ./s.jsonl --force -o ./copy.jsonl").done();
        assert_eq!(done.code, 0, "{session}: {}\n{}", done.stderr, lines.join("\n"));
        let copy = s.text("copy.jsonl");
        let copied: Vec<String> =
            copy.lines().flat_map(|line| texts(&serde_json::from_str(line).unwrap())).collect();
        for secret in &secrets {
            let left = copied.iter().find(|text| text.contains(secret.as_str()));
            assert!(left.is_none(), "{session}: {secret} is left in {left:?}\n{}", lines.join("\n"));
        }
        lookalikes += similar.len();
        changed += similar.iter().filter(|text| !copied.contains(text)).count();
    }
    assert_eq!(planted, 400);
    assert!(changed * 200 < lookalikes, "{changed} of {lookalikes} lookalikes were replaced");
}

/// A password that is a word is one only where it is recognized.
#[test]
fn a_short_value_is_removed_in_place_and_reported_elsewhere() {
    let s = Sandbox::new();
    let lines = [
        r#"{"type":"session","version":3,"id":"s","cwd":"/w"}"#,
        r#"{"type":"message","id":"00000001","parentId":null,"message":{"role":"user","content":"postgres://app:ferry@db/main"}}"#,
        r#"{"type":"message","id":"00000002","parentId":"00000001","message":{"role":"user","content":"the ferry leaves"}}"#,
    ];
    s.put("s.jsonl", lines.join("\n") + "\n");
    let done = s.pisess("redact ./s.jsonl -o ./copy.jsonl").done();
    insta::assert_snapshot!(done, @"
    ./copy.jsonl
    2> pisess: note: ./s.jsonl: the text of [REDACTED:url-password#1] may be ordinary elsewhere, and remains in line 3 (message.content)
    2> pisess: ./s.jsonl: removed 1 url-password
    ");
    insta::assert_snapshot!(s.lines_from("copy.jsonl", 2), @r#"
    {"type":"message","id":"00000001","parentId":null,"message":{"role":"user","content":"postgres://app:[REDACTED:url-password#1]@db/main"}}
    {"type":"message","id":"00000002","parentId":"00000001","message":{"role":"user","content":"the ferry leaves"}}
    "#);
    insta::assert_snapshot!(s.run("redact -q --json ./s.jsonl -o ./other.jsonl"), @r#"{"path":"./other.jsonl","action":"create","dryRun":false,"lines":1,"found":{"url-password":1},"opaque":0,"kept":1,"addresses":0}"#);
}

#[test]
fn a_secret_is_removed_from_an_export() {
    let s = Sandbox::new();
    let lines = [
        r#"{"type":"session","version":3,"id":"s","cwd":"/w"}"#,
        r#"{"type":"message","id":"00000001","parentId":null,"message":{"role":"user","content":"password = \"Hunter2Correct99Horse\""}}"#,
        r#"{"type":"message","id":"00000002","parentId":"00000001","message":{"role":"assistant","content":[{"type":"text","text":"I set Hunter2Correct99Horse."}]}}"#,
    ];
    s.put("s.jsonl", lines.join("\n") + "\n");
    for form in ["--as markdown", "--static", ""] {
        let done = s.pisess(&format!("export -q --redact ./s.jsonl {form} -o ./out --force")).done();
        assert_eq!(done.code, 0, "{form}: {}", done.stderr);
        assert!(!String::from_utf8_lossy(&s.bytes("out")).contains("Hunter2"), "{form}");
    }
}

/// A placeholder cannot take the place of a number.
#[test]
fn what_cannot_be_removed_is_named() {
    let s = Sandbox::new();
    let lines = [
        r#"{"type":"session","version":3,"id":"s","cwd":"/w"}"#,
        r#"{"type":"custom","customType":"x","id":"00000001","parentId":null,"data":{"list":[{},{"a":1,"pin":86753091}],"text":"86753091"}}"#,
    ];
    s.put("s.jsonl", lines.join("\n") + "\n");
    s.put("list", "86753091\n");
    let failed = s.pisess("redact ./s.jsonl --secret-file ./list -o ./copy.jsonl").done().fails(2);
    insta::assert_snapshot!(failed, @"./s.jsonl:2: secret would remain in data.list[1].pin; nothing was written (hint: a placeholder replaces only text; change the number in a copy of the session, and redact that)");
    assert_eq!(s.names(), ["list", "s.jsonl"]);
    let failed = s.pisess("export --redact ./s.jsonl --secret-file ./list -o ./page.html").done().fails(2);
    insta::assert_snapshot!(failed, @"./s.jsonl:2: secret would remain in data.list[1].pin; nothing was written (hint: a placeholder replaces only text; change the number in a copy of the session, and redact that)");
    assert_eq!(s.names(), ["list", "s.jsonl"]);
}
