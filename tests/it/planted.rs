//! Sessions with secrets in them, made from a seed: values in assignments, addresses and commands,
//! echoed in other messages, in arguments of tools, with escapes, in JSON within JSON, behind the
//! codes of a terminal and in base64; and, beside them, what only resembles a secret.

use crate::sandbox::Sandbox;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const WORD: &[u8] = LETTERS.split_at(62).0;
const HEX: &[u8] = b"0123456789abcdef";
const CAPITALS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/// The kinds of text that resembles a secret.
const LOOKALIKES: usize = 20;

/// Pseudo-random choices.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn of(&mut self, alphabet: &[u8], length: usize) -> String {
        (0..length)
            .map(|_| char::from(alphabet[self.below(alphabet.len())]))
            .collect()
    }

    fn uuid(&mut self) -> String {
        [8, 4, 4, 4, 12]
            .map(|length| self.of(HEX, length))
            .join("-")
    }

    fn base64(&mut self, bytes: usize) -> String {
        STANDARD.encode(
            (0..bytes)
                .map(|_| self.below(256) as u8)
                .collect::<Vec<_>>(),
        )
    }

    /// Returns keys that are recognized by their shape. Built here, so that no scanner reports this
    /// file.
    fn shaped(&mut self) -> [String; 12] {
        [
            format!("ghp_{}", self.of(WORD, 36)),
            format!("sk-ant-api03-{}AA", self.of(WORD, 93)),
            format!("glpat-{}", self.of(WORD, 20)),
            format!("sk-lf-{}", self.uuid()),
            format!("lsv2_pt_{}_{}", self.of(HEX, 32), self.of(HEX, 10)),
            format!("fw_3{}", self.of(WORD, 23)),
            format!("SK{}", self.of(HEX, 32)),
            format!("NRAK-{}", self.of(CAPITALS, 27)),
            format!(
                "tskey-auth-k{}CNTRL-{}",
                self.of(WORD, 10),
                self.of(WORD, 32)
            ),
            format!(
                "MTA4{}.G{}.{}",
                self.of(WORD, 20),
                self.of(WORD, 5),
                self.of(WORD, 38)
            ),
            format!("AKIA{}", self.of(&CAPITALS[..26], 16)),
            format!("xoxb-{}-{}", self.of(b"123456789", 12), self.of(WORD, 24)),
        ]
    }

    /// Returns a secret, and a text in which it is recognized.
    fn secret(&mut self, kind: usize) -> (String, String) {
        let shaped = self.shaped();
        if let Some(secret) = shaped.get(kind) {
            let text = match self.below(6) {
                0 => format!("\u{1b}[32m{secret}\u{1b}[0m"),
                1 => format!("https://x.example/?q=a%20{secret}"),
                2 => format!("q%3D{secret}"),
                3 => format!("my_{secret}"),
                4 => format!(
                    "wrapped: {}",
                    STANDARD.encode(format!("the key\n{secret}\n"))
                ),
                _ => format!("use {secret} now"),
            };
            return (secret.clone(), text);
        }
        let word = format!(
            "Hunter{}Correct{}Horse",
            self.below(10),
            10 + self.below(90)
        );
        let (secret, before, after) = match kind - shaped.len() {
            0 => (word, "password = \"", "\""),
            1 => (format!("4{}", self.of(WORD, 23)), "TOKEN=\"", "\""),
            2 => (self.of(WORD, 32), "export SERVICE_API_KEY=", ""),
            3 => (
                self.base64(300),
                "AWS_SESSION_TOKEN=",
                "\nAWS_REGION=eu-north-1",
            ),
            4 => (self.base64(16), "TOKEN=", ""),
            5 => (self.base64(24), "SESSION_SECRET=", ""),
            6 => (self.base64(32), "COOKIE_SECRET='", "'"),
            7 => (self.uuid(), "DEPLOY_TOKEN=", " make"),
            8 => (word, "PASSWORD=", ""),
            9 => (
                self.of(HEX, 32),
                "https://api.example/v1?api_key=",
                "&page=2",
            ),
            10 => (
                format!("7{}", self.of(WORD, 15)),
                "postgres://app:",
                "@db.internal/main",
            ),
            _ => (self.of(WORD, 40), "curl -H 'Authorization: Bearer ", "'"),
        };
        let text = format!("{before}{secret}{after}");
        (secret, text)
    }

    /// Returns text that resembles a secret.
    fn lookalike(&mut self, kind: usize) -> String {
        match kind {
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
            6 => text(format!(
                "echo {} | base64 -d",
                STANDARD.encode(format!("user:{secret}"))
            )),
            _ => call(json!({secret: true})),
        }
    }
}

fn percent(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| {
            if plain(byte) {
                char::from(byte).into()
            } else {
                format!("%{byte:02X}")
            }
        })
        .collect()
}

/// Writes letters as escapes here and there.
fn escaped(line: &str, secret: &str, dice: &mut Dice) -> String {
    if dice.below(4) > 0 {
        return line.to_owned();
    }
    let first = secret.chars().next().unwrap();
    line.replace(
        secret,
        &format!("\\u{:04x}{}", u32::from(first), &secret[1..]),
    )
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
                        STANDARD
                            .decode(run)
                            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
                    );
                }
                texts.push(
                    text.replace("%2B", "+")
                        .replace("%2F", "/")
                        .replace("%3D", "="),
                );
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
        let mut lines =
            vec![json!({"type": "session", "version": 3, "id": "s", "cwd": "/w"}).to_string()];
        let mut add = |message: Value| {
            let (id, parent) = (
                format!("{:08x}", lines.len()),
                format!("{:08x}", lines.len() - 1),
            );
            let parent = if lines.len() > 1 {
                Value::String(parent)
            } else {
                Value::Null
            };
            lines.push(
                json!({"type": "message", "id": id, "parentId": parent, "message": message})
                    .to_string(),
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
        let similar: Vec<_> = (0..8)
            .map(|_| {
                let kind = dice.below(LOOKALIKES);
                dice.lookalike(kind)
            })
            .collect();
        for text in &similar {
            add(json!({"role": "user", "content": text, "timestamp": 1}));
        }
        lines.iter_mut().for_each(|line| {
            secrets
                .iter()
                .for_each(|secret| *line = escaped(line, secret, &mut dice));
        });
        s.put("s.jsonl", lines.join("\n") + "\n");
        let done = s
            .pisess("redact -q ./s.jsonl --force -o ./copy.jsonl")
            .done();
        assert_eq!(
            done.code,
            0,
            "{session}: {}\n{}",
            done.stderr,
            lines.join("\n")
        );
        let copy = s.text("copy.jsonl");
        let copied: Vec<String> = copy
            .lines()
            .flat_map(|line| texts(&serde_json::from_str(line).unwrap()))
            .collect();
        for secret in &secrets {
            let left = copied.iter().find(|text| text.contains(secret.as_str()));
            assert!(
                left.is_none(),
                "{session}: {secret} is left in {left:?}\n{}",
                lines.join("\n")
            );
        }
        lookalikes += similar.len();
        changed += similar.iter().filter(|text| !copied.contains(text)).count();
    }
    assert_eq!(planted, 400);
    assert!(
        changed * 200 < lookalikes,
        "{changed} of {lookalikes} lookalikes were replaced"
    );
}

/// What a terminal shows: each key behind a colour, an escape of an address, a letter and in
/// base64, and the values of variables and addresses, many of them with `/` and `+`.
#[test]
fn of_154_forms_in_a_terminal_all_are_found_and_no_lookalike() {
    let (s, mut dice) = (Sandbox::new(), Dice(154));
    let mut planted: Vec<(String, String)> = Vec::new();
    for form in 0..8 {
        for secret in dice.shaped() {
            let text = match form {
                0 => format!("\u{1b}[32m{secret}\u{1b}[0m"),
                1 => format!("\u{1b}[1;38;5;208m{secret}"),
                2 => format!("https://x.example/?q=a%20{secret}"),
                3 => format!("q%3D{secret}&page=2"),
                4 => format!("my_{secret}"),
                5 => format!("n{secret}"),
                6 => STANDARD.encode(format!("user:{secret}")),
                _ => format!("remote: {secret}"),
            };
            planted.push((secret, text));
        }
    }
    let names = [
        ("AWS_SESSION_TOKEN=", 300),
        ("SESSION_SECRET=", 32),
        ("COOKIE_SECRET=", 24),
        ("TOKEN=", 16),
        ("export API_KEY=", 48),
    ];
    for (name, bytes) in names.into_iter().flat_map(|name| [name; 8]) {
        let secret = dice.base64(bytes);
        planted.push((secret.clone(), format!("\u{1b}[33m{name}{secret}\u{1b}[0m")));
    }
    let made = [
        ("TOKEN=", ""),
        ("PASSWORD=", ""),
        ("https://api.example/v1?api_key=", "&page=2"),
        ("https://x.example/?a=1&access_token=", ""),
    ];
    for (at, (before, after)) in made.into_iter().flat_map(|made| [made; 4]).enumerate() {
        let secret = if at % 2 == 0 {
            dice.of(WORD, 24)
        } else {
            dice.of(HEX, 32)
        };
        planted.push((secret.clone(), format!("{before}{secret}{after}")));
    }
    for name in ["TOKEN=", "PASSWORD="] {
        let secret = format!(
            "Hunter{}Correct{}Horse",
            dice.below(10),
            10 + dice.below(90)
        );
        planted.push((secret.clone(), format!("$ echo {name}{secret}")));
    }
    let lookalikes: Vec<_> = (0..320).map(|at| dice.lookalike(at % LOOKALIKES)).collect();
    assert_eq!((planted.len(), lookalikes.len()), (154, 320));
    let texts = planted.iter().map(|(_, text)| text).chain(&lookalikes);
    let entries = texts.enumerate().map(|(at, text)| {
        json!({"type": "message", "id": format!("{:08x}", at + 1), "parentId": (at > 0).then(|| format!("{at:08x}")),
            "message": {"role": "user", "content": text, "timestamp": 1}})
    });
    let header = json!({"type": "session", "version": 3, "id": "s", "cwd": "/w"});
    let lines: Vec<_> = std::iter::once(header)
        .chain(entries)
        .map(|line| line.to_string() + "\n")
        .collect();
    s.put("s.jsonl", lines.concat());
    s.run("redact -q ./s.jsonl -o ./copy.jsonl");
    let copy = s.text("copy.jsonl");
    let copied: Vec<Value> = copy
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let missed = |((secret, text), entry): &(&(String, String), &Value)| {
        entry["message"]["content"] == *text
            || self::texts(entry)
                .iter()
                .any(|text| text.contains(secret.as_str()))
    };
    let missed: Vec<_> = planted.iter().zip(&copied).filter(missed).collect();
    assert!(
        missed.is_empty(),
        "{} were missed: {missed:?}",
        missed.len()
    );
    let changed = |(text, entry): &(&String, &Value)| entry["message"]["content"] != **text;
    let changed: Vec<_> = lookalikes
        .iter()
        .zip(&copied[154..])
        .filter(changed)
        .collect();
    assert!(changed.is_empty(), "{changed:?}");
}

/// The spellings of the character with which the codes of a terminal begin.
const ESCAPES: [&str; 5] = ["\u{1b}", "\\x1b", "^[", "\\033", "\\e"];

impl Dice {
    /// Returns a secret that is recognized only if its name, or what precedes it in a URL, is.
    fn named(&mut self) -> String {
        match self.below(3) {
            0 => format!("q7{}", self.of(WORD, 30)),
            1 => self.of(HEX, 40),
            _ => format!("Z4{}", self.of(WORD, 20)),
        }
    }

    /// Returns what programs with colours print: secrets, and the texts that contain them. `esc` is
    /// how the character is written.
    fn coloured(&mut self, esc: &str) -> Vec<(String, String)> {
        let c = |code: &str| format!("{esc}[{code}");
        let (off, key, value) = (c("0m"), c("34;1m"), c("0;32m"));
        let (red, none, erase) = (c("01;31m"), c("m"), c("K"));
        let mut all = Vec::new();
        let mut add = |secret: &str, text: String| all.push((secret.to_owned(), text));

        let s = self.named();
        add(
            &s,
            format!(
                "{}{erase}.env{none}{erase}:API_{red}{erase}KEY{none}{erase}={s}",
                c("35m")
            ),
        );
        let s = self.named();
        add(&s, format!("{red}{erase}SECRET{none}{erase}_TOKEN={s}"));
        let s = self.named();
        add(
            &s,
            format!(
                "{{\n  {key}\"api_key\"{off}{}:{off} {value}\"{s}\"{off}\n}}",
                c("1;39m")
            ),
        );
        let s = self.named();
        add(
            &s,
            format!(
                "{}Authorization{}:{off} {}Bearer {s}{off}",
                c("36m"),
                c("39;49;00m"),
                c("33m")
            ),
        );
        let s = self.named();
        add(&s, format!("postgres://app:{red}{s}{off}@db.internal/main"));
        let s = self.named();
        add(
            &s,
            format!("postgres{off}://{key}app{off}:{value}{s}{off}@{key}db.internal{off}"),
        );
        let s = self.named();
        add(
            &s,
            format!(
                "{}   4{off} {}DEPLOY_TOKEN{off}{}={off}{}{s}{off}",
                c("38;5;246m"),
                c("38;2;248;248;242m"),
                c("38;5;203m"),
                c("38;5;231m")
            ),
        );
        let s = self.named();
        add(
            &s,
            format!("{esc}]8;;https://x.org/{esc}\\SERVICE_TOKEN={esc}]8;;{esc}\\{s}"),
        );
        let s = self.named();
        let (one, two) = s.split_at(9);
        add(&s, format!("ACCESS_TOKEN={one}{red}{two}{off}"));
        let orange = c("1;38;5;208m");
        for command in ["sshpass -p ", "mysql -u root -p", "redis-cli -a "] {
            let s = self.named();
            add(&s, format!("{command}{orange}{s}{off} db"));
        }
        let s = format!("ghp_{}", self.of(WORD, 36));
        let (one, two) = s.split_at(7);
        add(&s, format!("{red}{one}{off}{two} is the key"));
        all
    }

    /// Returns secrets in text that is encoded as a whole.
    fn encoded(&mut self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        let s = self.named();
        all.push((s.clone(), format!("a=1%26API_KEY%3D{s}%26page%3D2")));
        let s = self.named();
        all.push((s.clone(), format!("%7B%22api_key%22%3A%22{s}%22%7D")));
        let s = self.named();
        all.push((
            s.clone(),
            format!("postgres%3A%2F%2Fapp%3A{s}%40db.internal%2Fmain"),
        ));
        for command in [
            "deploy --token <S> --prod",
            "Authorization: Bearer <S>",
            "docker login -u me -p <S> registry.example",
            "use ghp_<S>",
        ] {
            let s = format!("{}7{}", self.of(WORD, 20), self.of(WORD, 15));
            let text = command.replace("<S>", &s);
            all.push((s.clone(), format!("body={}&x=1", percent(&text))));
            let form = percent(&text).replace("%20", "+");
            all.push((s, format!("https://x.example/log?m={form}&n=2")));
        }
        let s = format!(
            "access_token$production${}${}",
            self.of(HEX, 16),
            self.of(HEX, 32)
        );
        all.push((s.clone(), format!("body={}&x=1", percent(&s))));
        for sign in ["/", "+"] {
            let key = format!("sntrys_eyJ{}_{}", self.of(WORD, 100), self.of(WORD, 30));
            let s = format!("{key}{sign}7{}", self.of(WORD, 12));
            all.push((s.clone(), format!("body={}&x=1", percent(&s))));
        }
        let s = self.named();
        all.push((
            s.clone(),
            format!("<pre>{{&quot;api_key&quot;: &quot;{s}&quot;}}</pre>"),
        ));
        let s = self.named();
        all.push((s.clone(), format!("<a title=\"secret = &#39;{s}&#39;\">")));
        let s = self.named();
        all.push((
            s.clone(),
            format!("https://x.example/?a=1&amp;access_token={s}&amp;b=2"),
        ));
        for width in [64, 76] {
            let s = format!("ghp_{}", self.of(WORD, 36));
            let file = format!(
                "machine: build\n{}\ntoken: {s}\nuser: robot\n",
                self.of(HEX, 40)
            );
            let digits = STANDARD.encode(file);
            let lines: Vec<_> = digits
                .as_bytes()
                .chunks(width)
                .map(String::from_utf8_lossy)
                .collect();
            all.push((s, lines.join("\n")));
        }
        for (before, after) in [
            ("DEPLOY_TOKEN=", ""),
            ("api_key: ", ""),
            ("{\"client_secret\": \"", "\"}"),
            ("DATABASE_URL=postgres://app:", "@db.internal/main"),
            ("Authorization: Bearer ", ""),
        ] {
            let s = self.named();
            let file = format!("# settings\nPORT=80\n{before}{s}{after}\nREGION=eu-north-1\n");
            let digits = STANDARD.encode(file);
            all.push((s, format!("echo {digits} | base64 -d > .env")));
        }
        all
    }

    /// Returns secrets of which a part used to remain.
    fn in_parts(&mut self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        for sign in "@&;|,(){}<>`%".chars() {
            let s = format!("{}{sign}{}", self.of(WORD, 8), self.of(WORD, 9));
            all.push((
                s.clone(),
                format!("DATABASE=mysql://root:{s}@db.internal:3306/main"),
            ));
            let s = format!("%4{}{}", self.of(&HEX[..10], 1), self.of(WORD, 14));
            all.push((s.clone(), format!("amqp://app:{s}@queue.internal/")));
        }
        for sign in ";|`&,".chars() {
            let s = format!("{}{sign}{}", self.of(WORD, 8), self.of(WORD, 9));
            all.push((s.clone(), format!("mysql -u root -p'{s}' main < dump.sql")));
            let s = format!("{}{sign}{}", self.of(WORD, 8), self.of(WORD, 9));
            all.push((s.clone(), format!("sshpass -p \"{s}\" ssh host")));
        }
        for name in ["DB_PASSWORD=", "password: "] {
            let s = format!("a{}7`{}", self.of(WORD, 6), self.of(WORD, 7));
            all.push((s.clone(), format!("{name}{s}")));
        }
        for sign in ".&;|,(){}".chars() {
            for name in [
                "password: ",
                "password=",
                "MYSQL_ROOT_PASSWORD: ",
                "run --password ",
            ] {
                let s = format!("a{}7B{sign}b4Z{}", self.of(WORD, 3), self.of(WORD, 4));
                all.push((s.clone(), format!("{name}{s}")));
            }
        }
        for name in ["SECRET_KEY = '", "JWT_SECRET='"] {
            let s = format!(
                "k7{}",
                self.of(b"abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)", 48)
            );
            all.push((s.clone(), format!("{name}{s}'")));
        }
        for bytes in [18, 24, 32, 48] {
            let s = self
                .base64(bytes)
                .replace('+', "-")
                .replace('/', "_")
                .replace('=', "");
            all.push((s.clone(), format!("SESSION_TOKEN={s}")));
            let s = self
                .base64(bytes)
                .replace('+', "~")
                .replace('/', ".")
                .replace('=', "");
            all.push((s.clone(), format!("CLIENT_SECRET=\"{s}\"")));
        }
        let s = format!("6{}:AA{}-", self.of(&HEX[..10], 9), self.of(WORD, 32));
        all.push((s.clone(), format!("bot \"{s}\"")));
        let s = self.of(&LETTERS[26..52], 32);
        all.push((
            s.clone(),
            format!("curl -H 'Authorization: Bearer {s}' https://x.example"),
        ));
        let s = self.of(&LETTERS[..52], 24);
        all.push((s.clone(), format!("Authorization: Bearer {s}")));
        all
    }

    /// Returns the digits of private keys, and the texts that contain them whole or in part.
    fn private_keys(&mut self) -> Vec<(String, String)> {
        let name = ["RSA ", "", "OPENSSH ", "EC "][self.below(4)].to_owned() + "PRIVATE KEY";
        let (begin, end) = (
            format!("-----BEGIN {name}-----"),
            format!("-----END {name}-----"),
        );
        let prefixes = [
            "+",
            "-",
            " ",
            "id_rsa-17-",
            "src/keys/id_rsa:17:",
            "    17\t",
            "\u{1b}[32m+",
            "> ",
        ];
        let mut all = Vec::new();
        for prefix in prefixes {
            let lines: Vec<_> = (0..12).map(|_| self.of(LETTERS, 64)).collect();
            let joined = |lines: &[&str]| {
                let lines: Vec<_> = lines.iter().map(|line| format!("{prefix}{line}")).collect();
                lines.join("\n")
            };
            let lines: Vec<_> = lines.iter().map(String::as_str).collect();
            let whole = joined(&[&[begin.as_str()], &lines[..], &[end.as_str()]].concat());
            let begun = joined(&[&[begin.as_str()], &lines[..3]].concat());
            let ended = joined(&[&lines[8..], &[end.as_str()]].concat());
            all.push((lines.join("\n"), whole));
            all.push((
                lines[..3].join("\n"),
                format!("$ grep -A3 BEGIN\n{begun}\n--\nand so on"),
            ));
            all.push((
                lines[8..].join("\n"),
                format!("$ tail -5 id_rsa\n{ended}\n$"),
            ));
        }
        let digits = format!("{}\n{}==", self.of(LETTERS, 64), self.of(LETTERS, 38));
        let text = format!("{begin}\n{digits}");
        all.push((digits.clone(), format!("<pre>{text}</pre>")));
        all.push((digits, format!("body={}&x=1", percent(&text))));
        let long: Vec<_> = (0..500).map(|_| self.of(LETTERS, 64)).collect();
        let long = long.join("\n");
        all.push((long.clone(), format!("{begin}\n{long}\n{end}")));
        all
    }
}

/// Returns a text without the codes of a terminal, however they are written.
fn without_codes(text: &str) -> String {
    let mut text = text.to_owned();
    for esc in ESCAPES {
        let start = format!("{esc}[");
        let mut parts = text.split(&start);
        let mut out = parts.next().unwrap().to_owned();
        for part in parts {
            let end = part.find(|c: char| c.is_ascii_alphabetic());
            out += &part[end.map_or(0, |end| end + 1)..];
        }
        text = out;
    }
    text
}

/// Whether eight characters of a secret, or a whole part of it, are in a text.
fn has_part_of(text: &str, secret: &str) -> bool {
    let windows = secret.as_bytes().windows(8);
    let starts = 0..windows.len();
    starts.step_by(4).any(|at| {
        secret
            .get(at..at + 8)
            .is_some_and(|part| text.contains(part))
    })
}

/// Redacts a session with these texts. Returns the secrets of which anything is left, with their
/// texts: those that were missed, and those of which a part was removed.
fn left_of(planted: &[(String, String)]) -> (Vec<String>, Vec<String>) {
    let s = Sandbox::new();
    let mut lines = vec![json!({"type": "session", "version": 3, "id": "s", "cwd": "/w"})];
    for (at, (_, text)) in planted.iter().enumerate() {
        lines.push(json!({"type": "message", "id": format!("{:08x}", at + 1),
            "parentId": (at > 0).then(|| format!("{at:08x}")),
            "message": {"role": "user", "content": text, "timestamp": 1}}));
    }
    let lines: Vec<_> = lines.iter().map(Value::to_string).collect();
    s.put("s.jsonl", lines.join("\n") + "\n");
    s.run("redact -q ./s.jsonl -o ./copy.jsonl");
    let copy = s.text("copy.jsonl");
    let (mut missed, mut halved) = (Vec::new(), Vec::new());
    for ((secret, text), line) in planted.iter().zip(copy.lines().skip(1)) {
        let entry: Value = serde_json::from_str(line).unwrap();
        let left = entry["message"]["content"].as_str().unwrap();
        if left == text {
            missed.push(text.clone());
        } else if has_part_of(&without_codes(left), secret) {
            halved.push(format!("{text}\n{left}"));
        }
    }
    (missed, halved)
}

/// Codes of colours, encodings and prefixes stand between a name and its value, and within secrets.
#[test]
fn redact_removes_encoded_and_coloured_secrets_whole() {
    let (mut planted, mut missed, mut halved) = (0, Vec::new(), Vec::new());
    for seed in [3, 14, 159, 2653] {
        let mut dice = Dice(seed);
        let mut secrets = Vec::new();
        for esc in ESCAPES {
            secrets.append(&mut dice.coloured(esc));
        }
        secrets.append(&mut dice.encoded());
        secrets.append(&mut dice.in_parts());
        secrets.append(&mut dice.private_keys());
        planted += secrets.len();
        let (mut whole, mut half) = left_of(&secrets);
        missed.append(&mut whole);
        halved.append(&mut half);
    }
    assert!(halved.is_empty(), "{} halved: {halved:#?}", halved.len());
    let rate = missed.len() * 100;
    assert!(
        rate <= planted * 3,
        "{} of {planted} missed: {missed:#?}",
        missed.len()
    );
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
    2> pisess: ./s.jsonl: left out 1 url-password
    ");
    insta::assert_snapshot!(s.lines_from("copy.jsonl", 2), @r#"
    {"type":"message","id":"00000001","parentId":null,"message":{"role":"user","content":"postgres://app:[REDACTED:url-password#1]@db/main"}}
    {"type":"message","id":"00000002","parentId":"00000001","message":{"role":"user","content":"the ferry leaves"}}
    "#);
    insta::assert_snapshot!(s.run("redact -q --json ./s.jsonl -o ./other.jsonl"), @r#"{"path":"./other.jsonl","action":"create","dryRun":false,"lines":1,"found":{"url-password":1},"opaque":0,"kept":1,"addresses":0,"examples":0}"#);
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
        let done = s
            .pisess(&format!(
                "export -q --redact ./s.jsonl {form} -o ./out --force"
            ))
            .done();
        assert_eq!(done.code, 0, "{form}: {}", done.stderr);
        assert!(
            !String::from_utf8_lossy(&s.bytes("out")).contains("Hunter2"),
            "{form}"
        );
    }
}

/// A placeholder cannot take the place of a number.
#[test]
fn redact_and_export_redact_name_a_secret_that_would_remain() {
    let s = Sandbox::new();
    let lines = [
        r#"{"type":"session","version":3,"id":"s","cwd":"/w"}"#,
        r#"{"type":"custom","customType":"x","id":"00000001","parentId":null,"data":{"list":[{},{"a":1,"pin":86753091}],"text":"86753091"}}"#,
    ];
    s.put("s.jsonl", lines.join("\n") + "\n");
    s.put("list", "86753091\n");
    let failed = s
        .pisess("redact ./s.jsonl --secret-file ./list -o ./copy.jsonl")
        .done()
        .fails(2);
    insta::assert_snapshot!(failed, @"./s.jsonl:2: secret would remain in data.list[1].pin; nothing was written (hint: a placeholder replaces only text; change the number in a copy of the session, and redact that)");
    assert_eq!(s.names(), ["list", "s.jsonl"]);
    let failed = s
        .pisess("export --redact ./s.jsonl --secret-file ./list -o ./page.html")
        .done()
        .fails(2);
    insta::assert_snapshot!(failed, @"./s.jsonl:2: secret would remain in data.list[1].pin; nothing was written (hint: a placeholder replaces only text; change the number in a copy of the session, and redact that)");
    assert_eq!(s.names(), ["list", "s.jsonl"]);
}

/// What the summary calls `#1` is what the copy calls `#1`, also in a summary of summaries, beside
/// placeholders of secrets that were removed before, and if the user names some of the secrets.
#[test]
fn a_secret_has_one_placeholder_in_a_session_that_was_compacted() {
    let (s, mut dice) = (Sandbox::new(), Dice(27));
    let tokens: Vec<_> = (0..4)
        .map(|_| format!("ghp_{}", dice.of(WORD, 36)))
        .collect();
    let [other, first, second, last] = &tokens[..] else {
        unreachable!()
    };
    let filler = "and so on. ".repeat(600);
    let add = |role: &str, text: String| {
        let message = match role {
            "user" => json!({"role": role, "content": text, "timestamp": 1}),
            _ => {
                json!({"role": role, "content": [{"type": "text", "text": text}], "api": "a", "provider": "p", "model": "m",
                "usage": {"input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
                    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}},
                "stopReason": "stop", "timestamp": 1})
            }
        };
        let message = json!({"type": "message", "message": message});
        let added = s
            .pisess("append ./s.jsonl")
            .stdin(message.to_string() + "\n")
            .done();
        assert_eq!(added.code, 0, "{}", added.stderr);
    };
    s.put(
        "s.jsonl",
        "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"cwd\":\"/w\"}\n",
    );
    // A secret on another branch, and one that somebody else removed.
    add("user", format!("not here: {other}"));
    s.run("switch ./s.jsonl root");
    add(
        "user",
        format!("Deploy with {first}, never with [REDACTED:github-pat#2]."),
    );
    add("assistant", format!("{filler} Deployed."));
    add("user", format!("Now with TOKEN={second}, too."));
    add("assistant", format!("{filler} It works with {second}."));
    let compact = || s.run("compact ./s.jsonl --keep-recent-tokens 1000");
    let placeholders = |text: &str| -> Vec<String> {
        let parts = text.split("[REDACTED:").skip(1);
        let mut all: Vec<_> = parts
            .map(|part| part.split(']').next().unwrap().to_owned())
            .collect();
        all.sort();
        all.dedup();
        all
    };
    compact();
    let entries = s.text("s.jsonl");
    let summary = entries.lines().last().unwrap();
    assert_eq!(
        placeholders(summary),
        ["github-pat#2", "github-pat#3", "github-pat#4"],
        "{summary}"
    );
    add(
        "user",
        format!("And with {last}; [REDACTED:github-pat#9] is gone."),
    );
    add("assistant", format!("{filler} All three."));
    compact();
    let entries = s.text("s.jsonl");
    let names = [
        "github-pat#1",
        "github-pat#3",
        "github-pat#4",
        "github-pat#5",
    ];
    let expected = tokens
        .iter()
        .zip(names)
        .fold(entries.clone(), |text, (token, name)| {
            text.replace(token.as_str(), &format!("[REDACTED:{name}]"))
        });
    let summary = entries.lines().last().unwrap();
    assert!(
        tokens.iter().all(|token| !summary.contains(token)),
        "{summary}"
    );
    assert!(
        placeholders(summary).contains(&names[3].to_owned()),
        "{summary}"
    );
    s.put("list", format!("{first}\n"));
    for options in ["", "--secret-file ./list"] {
        s.run(&format!(
            "redact -q ./s.jsonl {options} --force -o ./copy.jsonl"
        ));
        assert_eq!(s.text("copy.jsonl"), expected, "{options}");
    }
    // The copy is a session whose secrets are gone: a new one gets another number.
    s.run("redact -q ./s.jsonl --force -o ./s.jsonl.copy");
    s.put("s.jsonl", s.text("s.jsonl.copy"));
    add("user", format!("once more ghp_{}", dice.of(WORD, 36)));
    s.run("redact -q ./s.jsonl --force -o ./copy.jsonl");
    assert!(
        s.text("copy.jsonl")
            .lines()
            .last()
            .unwrap()
            .contains("[REDACTED:github-pat#6]")
    );
}
