//! How many secrets `redact` misses, and how much else it reports, on texts made from a seed.
//!
//! `PISESS_SEEDS="1 2 3" cargo test --test it -- rates:: --nocapture` measures with other seeds,
//! and prints the rates for each context and each kind that was missed.

use crate::sandbox::Sandbox;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pisess::redact::SHAPES_TABLE;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The seed of the tests.
const SEED: u64 = 4_646;

const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const SMALL: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyz";
const SIGNS: &str = "!#^*+=?-_.";

/// Pseudo-random choices.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    fn made(&mut self, alphabet: &str, length: usize) -> String {
        let letters = alphabet.as_bytes();
        let mut text = String::new();
        for _ in 0..length {
            text.push(char::from(letters[self.below(letters.len())]));
        }
        text
    }

    fn uuid(&mut self) -> String {
        [8, 4, 4, 4, 12]
            .map(|length| self.made(HEX, length))
            .join("-")
    }

    /// Returns a password as a generator makes it: with each kind of character.
    fn password(&mut self) -> String {
        let mut password = self.made(WORD, 9);
        password += &self.made(SIGNS, 1);
        password += &self.made("23456789", 2);
        password + &self.made(LETTERS, 2)
    }

    /// Returns a text that an expression of `shapes.tsv` describes: sets, literal characters and
    /// groups, each with a number. Of a group, the first alternative is taken.
    fn described(&mut self, expression: &str) -> String {
        let mut text = String::new();
        let mut rest = expression.strip_suffix("\\b").unwrap_or(expression);
        while let Some(first) = rest.chars().next() {
            let (alphabet, after) = match first {
                '[' => {
                    let (set, after) = rest[1..].split_once(']').unwrap();
                    (members(set), after)
                }
                '(' => {
                    let (group, after) = rest[3..].split_once(')').unwrap();
                    if let Some(after) = after.strip_prefix('?') {
                        rest = after;
                        continue;
                    }
                    text += &self.described(group.split('|').next().unwrap());
                    rest = after;
                    continue;
                }
                '\\' => (rest[1..2].to_owned(), &rest[2..]),
                _ => (first.to_string(), &rest[1..]),
            };
            let (least, most, after) = number(after);
            let length = least + self.below(most - least + 1);
            text += &self.made(&alphabet, length);
            rest = after;
        }
        text
    }
}

/// Returns the characters of a set such as `A-Za-z_-`.
fn members(set: &str) -> String {
    let set = set.as_bytes();
    let mut members = String::new();
    let mut at = 0;
    while at < set.len() {
        if set.get(at + 1) == Some(&b'-') && at + 2 < set.len() {
            members.extend((set[at]..=set[at + 2]).map(char::from));
            at += 3;
        } else {
            members.push(char::from(set[at]));
            at += 1;
        }
    }
    members
}

/// Returns the least and the most repetitions, of which a few are enough, and what follows them.
fn number(rest: &str) -> (usize, usize, &str) {
    if let Some(number) = rest.strip_prefix('{') {
        let (number, after) = number.split_once('}').unwrap();
        let (least, most) = number.split_once(',').unwrap_or((number, number));
        let least = least.parse().unwrap();
        let most = most.parse().unwrap_or(least + 8);
        return (least, most.min(least + 8), after);
    }
    match rest.chars().next() {
        Some('*') => (0, 0, &rest[1..]),
        Some('+') => (8, 16, &rest[1..]),
        _ => (1, 1, rest),
    }
}

/// A text with a secret.
struct Planted {
    context: &'static str,
    kind: String,
    secret: String,
    text: String,
}

/// The contexts of a secret that has a shape.
const CONTEXTS: [&str; 12] = [
    "plain", "quoted", "variable", "header", "json", "yaml", "url", "colour", "base64", "diff",
    "markdown", "name",
];

fn in_context(context: &str, secret: &str) -> String {
    match context {
        "plain" => format!("use {secret} now"),
        "quoted" => format!("The key is \"{secret}\"."),
        "variable" => format!("export SERVICE_TOKEN={secret}"),
        "header" => format!("curl -H 'Authorization: Bearer {secret}' https://x.example"),
        "json" => json!({"value": secret, "n": 1}).to_string(),
        "yaml" => format!("service:\n  value: {secret}\n"),
        "url" => format!("https://x.example/?page=2&q={secret}&b=2"),
        "colour" => format!("\u{1b}[1;31m{secret}\u{1b}[0m"),
        "base64" => format!(
            "wrapped: {}",
            STANDARD.encode(format!("the key\n{secret}\n"))
        ),
        "diff" => format!("-old\n+{secret}\n"),
        "markdown" => format!("| key | `{secret}` |"),
        _ => format!("my_{secret}"),
    }
}

/// Returns a secret of each row of the table in each context.
fn shaped(dice: &mut Dice, planted: &mut Vec<Planted>) {
    for row in SHAPES_TABLE
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with('#'))
    {
        let columns: Vec<&str> = row.split('\t').collect();
        for context in CONTEXTS {
            let secret = format!("{}{}", columns[1], dice.described(columns[2]));
            planted.push(Planted {
                context,
                kind: columns[0].to_owned(),
                text: in_context(context, &secret),
                secret,
            });
        }
    }
}

/// The forms of an assignment: `<N>` is a name, `<S>` the secret.
const ASSIGNMENTS: [&str; 22] = [
    "<N>=<S>",
    "export <N>=<S>",
    "<N>: <S>",
    "  <N>: \"<S>\"",
    "<N> = \"<S>\"",
    "<N> = <S>",
    "{\"<N>\": \"<S>\", \"port\": 8080}",
    "const <N> = '<S>';",
    "<N>: str = \"<S>\"",
    "config['<N>'] = '<S>'",
    "\"<N>\" => \"<S>\",",
    "<<N>><S></<N>>",
    "- name: <N>\n  value: <S>",
    "{\"name\": \"<N>\", \"value\": \"<S>\"}",
    "ENV <N> <S>",
    "run --<N> <S> --verbose",
    "run --<N>=<S>",
    "os.environ[\"<N>\"] = \"<S>\"",
    "\u{1b}[33m<N>\u{1b}[0m=\u{1b}[32m<S>\u{1b}[0m",
    "&quot;<N>&quot;: &quot;<S>&quot;",
    "{\"body\": \"{\\\"<N>\\\": \\\"<S>\\\"}\"}",
    "https://x.example/?next=%2Flogin%3F<N>%3D<S>%26a%3D1",
];

/// What is recognized by a command, a header or a file: `<S>` is the secret.
const COMMANDS: [&str; 29] = [
    "keytool -storepass <S> -list",
    "echo \"<S>\" | gh auth login --with-token",
    "curl -sS -uadmin:<S> https://x.example",
    "twine upload -u me -p <S> dist/*",
    "https://maps.example/?key=<S>&page=2",
    "REDISCLI_AUTH=<S> redis-cli ping",
    "+db.example:5432:main:app:<S>",
    "     1\tdb.example:5432:main:app:<S>",
    "{\"stdout\": \"db.example:5432:main:app:<S>\\n\"}",
    "mysql -h db -u root -p<S> main",
    "sshpass -p '<S>' ssh host",
    "curl -u admin:<S> https://x.example",
    "curl --user 'admin:<S>' https://x.example",
    "docker login -u me -p <S> registry.example",
    "redis-cli -h cache -a <S> ping",
    "machine x.example login me password <S>",
    "machine x.example\n  login me\n  password <S>\n",
    "db.example:5432:main:app:<S>",
    "CREATE USER app IDENTIFIED BY '<S>';",
    "ALTER ROLE app WITH PASSWORD '<S>';",
    "Set-Cookie: session=<S>; Path=/; HttpOnly",
    "Cookie: lang=en; sid=<S>",
    "X-Auth-Key: <S>",
    "x-api-key: <S>",
    "https://x.blob.example/c?sv=2024-01-01&sig=<S>%3D",
    "//registry.example/:_authToken=<S>",
    "    token: <S>",
    "openssl rsa -passin pass:<S> -in key",
    "postgres://app:<S>@db.internal/main",
];

/// Returns assignments in each form, and commands.
fn assigned(dice: &mut Dice, planted: &mut Vec<Planted>) {
    let secrets = [
        "API_KEY",
        "api_key",
        "apiKey",
        "secret_key",
        "SESSION_SECRET",
        "access-token",
        "aws_session_token",
        "auth_token",
        "CLIENT_SECRET",
        "SECRET_KEY_BASE",
    ];
    let passwords = [
        "MYSQL_ROOT_PASSWORD",
        "password",
        "db_password",
        "DB_PASS",
        "spring.datasource.password",
    ];
    for form in ASSIGNMENTS {
        for name in secrets {
            let secret = match dice.below(3) {
                0 => dice.made(WORD, 32),
                1 => dice.made(HEX, 40),
                _ => dice.made(SMALL, 24),
            };
            add(planted, form, name, secret);
        }
        for name in passwords {
            let secret = dice.password();
            add(planted, form, name, secret);
        }
    }
    for form in COMMANDS {
        for _ in 0..4 {
            let secret = dice.made(WORD, 24);
            add(planted, form, "", secret);
        }
    }
}

/// Adds a secret in a form, and in a file of this form in base64.
fn add(planted: &mut Vec<Planted>, form: &'static str, name: &str, secret: String) {
    let text = form.replace("<N>", name).replace("<S>", &secret);
    let file = format!("# settings of the service\n{text}\nREGION=eu-north-1\n");
    planted.push(Planted {
        context: "assigned in base64",
        kind: form.to_owned(),
        text: format!("content: {}", STANDARD.encode(file)),
        secret: secret.clone(),
    });
    planted.push(Planted {
        context: "assigned",
        kind: form.to_owned(),
        text,
        secret,
    });
}

/// Returns text that resembles a secret.
fn lookalike(dice: &mut Dice, kind: usize) -> String {
    match kind {
        0 => format!("commit {}", dice.made(HEX, 40)),
        1 => format!("session {} was opened", dice.uuid()),
        2 => format!(
            "\"integrity\": \"sha512-{}\"",
            STANDARD.encode(dice.made(WORD, 64))
        ),
        3 => format!(
            "{{\"doc_token\": \"{}\", \"app_token\": \"{}\"}}",
            dice.made(WORD, 27),
            dice.made(WORD, 27)
        ),
        4 => format!("{{\"block_id\": \"{}\"}}", dice.made(WORD, 27)),
        5 => format!(
            "https://x.example/explore/{}?xsec_token={}",
            dice.made(HEX, 24),
            dice.made(WORD, 40)
        ),
        6 => format!("CACHE_KEY=users:{}:profile", dice.below(9999)),
        7 => "postgres://postgres:postgres@localhost:5432/app".into(),
        8 => "amqp://anonymous:guest@broker/".into(),
        9 => format!("password: str = Field(min_length={})", dice.below(20)),
        10 => format!("token = tokens[index + {}]", dice.below(99)),
        11 => format!(
            "the password must have {} to {} characters",
            dice.below(9),
            10 + dice.below(60)
        ),
        12 => format!(
            "const secret = readSecret(config.auth.key{});",
            dice.below(99)
        ),
        13 => format!("nextPageToken: \"{}\"", dice.made(WORD, 32)),
        14 => format!(
            "max_tokens: {}, token_count={}",
            dice.below(99_999),
            dice.below(99_999)
        ),
        15 => format!(
            "PASS: tests/it/redact.rs::rule_{} (0.{}s)",
            dice.below(99),
            dice.below(99)
        ),
        16 => format!("SSH_KEY=/home/bob/.ssh/id_{}", dice.made(SMALL, 6)),
        17 => format!(
            "<div key={{item.id}} token={{user.token{}}} />",
            dice.below(9)
        ),
        18 => format!(
            "API_KEY=$STORED_KEY_{} make deploy --token $TOKEN{}",
            dice.below(9),
            dice.below(9)
        ),
        19 => format!(
            "docker run -p {}:80 --name web{} nginx",
            8000 + dice.below(999),
            dice.below(9)
        ),
        20 => format!("mysql -u root -p main{} < dump.sql", dice.below(99)),
        21 => format!(
            "curl -u \"$USER:$PASSWORD\" https://x.example/v{}",
            dice.below(9)
        ),
        22 => format!(
            "password_file: /run/secrets/db{}, token_type: Bearer{}",
            dice.below(9),
            dice.below(9)
        ),
        23 => format!(
            "PWD=/home/u/project{} OLDPWD=/home/u/x{}",
            dice.below(99),
            dice.below(99)
        ),
        24 => "AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
        25 => format!(
            "primary_key: user_{}_orders_{}",
            dice.below(99),
            dice.below(99)
        ),
        26 => format!(
            "toolu_01{} call_{}",
            dice.made(WORD, 22),
            dice.made(WORD, 24)
        ),
        27 => format!(
            "Cookie: lang=en; theme=dark{}; width={}",
            dice.below(9),
            dice.below(2000)
        ),
        28 => format!("public_key: {}", dice.made(HEX, 64)),
        29 => format!(
            "if (token !== expected{}) throw new Error(\"secret: none\");",
            dice.below(9)
        ),
        30 => format!(
            "sk-learn 1.{}.{}, task-{} done",
            dice.below(9),
            dice.below(9),
            dice.made(HEX, 32)
        ),
        _ => format!("image: registry/x@sha256:{}", dice.made(HEX, 64)),
    }
}

const LOOKALIKES: usize = 32;

/// What was missed, reported wrongly and half removed, of how many.
#[derive(Default)]
struct Rates {
    contexts: BTreeMap<&'static str, (usize, usize)>,
    missed: Vec<String>,
    halves: Vec<String>,
    lookalikes: usize,
    changed: Vec<String>,
}

impl Rates {
    fn measure(&mut self, seed: u64) {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        dice.below(2);
        let mut planted = Vec::new();
        shaped(&mut dice, &mut planted);
        assigned(&mut dice, &mut planted);
        let lookalikes: Vec<String> = (0..LOOKALIKES * 20)
            .map(|at| lookalike(&mut dice, at % LOOKALIKES))
            .collect();

        let texts: Vec<&str> = planted
            .iter()
            .map(|planted| planted.text.as_str())
            .chain(lookalikes.iter().map(String::as_str))
            .collect();
        let copied = redacted(&texts);
        for (planted, copy) in planted.iter().zip(&copied) {
            let (all, missed) = self.contexts.entry(planted.context).or_default();
            *all += 1;
            if copy == &planted.text || copy.contains(&planted.secret) {
                *missed += 1;
                self.missed.push(format!(
                    "{} {}: {}",
                    planted.context, planted.kind, planted.text
                ));
            } else if is_half(copy, planted) {
                self.halves.push(format!("{} -> {copy}", planted.text));
            }
        }
        self.lookalikes += lookalikes.len();
        for (text, copy) in lookalikes.iter().zip(&copied[planted.len()..]) {
            if text != copy {
                self.changed.push(format!("{text} -> {copy}"));
            }
        }
    }

    /// Returns the percentage that was missed in some contexts.
    /// Returns the rates for each context, and what was missed or wrongly removed.
    fn report(&self) -> String {
        let plain = self.percentage(|context| context == "plain");
        let all = self.percentage(|_| true);
        let mut lines = vec![format!(
            "missed: {plain:.2} % in plain text, {all:.2} % in all contexts"
        )];
        for (context, (count, missed)) in &self.contexts {
            lines.push(format!("  {context}: {missed} of {count}"));
        }
        lines.push(format!(
            "reported of what only resembles: {} of {}",
            self.changed.len(),
            self.lookalikes
        ));
        for list in [&self.missed, &self.halves, &self.changed] {
            for line in list {
                lines.push(format!("  {line}"));
            }
        }
        lines.join("\n")
    }

    fn percentage(&self, is_meant: impl Fn(&str) -> bool) -> f64 {
        let mut all = 0;
        let mut missed = 0;
        for (context, counts) in &self.contexts {
            if is_meant(context) {
                all += counts.0;
                missed += counts.1;
            }
        }
        100.0 * missed as f64 / all as f64
    }
}

/// Whether a part of a secret is left behind its placeholder or before it.
fn is_half(copy: &str, planted: &Planted) -> bool {
    let secret = planted.secret.as_bytes();
    // The prefix of a key may be a word of the context.
    let tail = &secret[secret.len() / 2..];
    let width = tail.len().min(10);
    tail.windows(width)
        .any(|part| copy.contains(std::str::from_utf8(part).unwrap()))
}

/// Returns the texts of the messages of a session after `redact`.
fn redacted(texts: &[&str]) -> Vec<String> {
    let s = Sandbox::new();
    let mut file =
        json!({"type": "session", "version": 3, "id": "s", "cwd": "/w"}).to_string() + "\n";
    for (at, text) in texts.iter().enumerate() {
        let parent = (at > 0).then(|| format!("{at:08x}"));
        let message = json!({"role": "user", "content": text, "timestamp": 1});
        let entry = json!({"type": "message", "id": format!("{:08x}", at + 1), "parentId": parent, "message": message});
        file += &(entry.to_string() + "\n");
    }
    s.put("s.jsonl", file);
    s.run("redact -q ./s.jsonl -o ./copy.jsonl");
    let copy = s.text("copy.jsonl");
    let entries = copy.lines().skip(1);
    entries
        .map(|line| {
            let entry: Value = serde_json::from_str(line).unwrap();
            entry["message"]["content"].as_str().unwrap().to_owned()
        })
        .collect()
}

#[test]
fn few_secrets_are_missed_and_hardly_anything_else_is_reported() {
    let given = std::env::var("PISESS_SEEDS").unwrap_or_default();
    let seeds: Vec<u64> = given
        .split_ascii_whitespace()
        .map(|seed| seed.parse().unwrap())
        .collect();
    let mut rates = Rates::default();
    if seeds.is_empty() {
        rates.measure(SEED);
    }
    for seed in &seeds {
        rates.measure(*seed);
    }

    let plain = rates.percentage(|context| context == "plain");
    let all = rates.percentage(|_| true);
    let report = rates.report();
    print(&report);
    assert!(plain <= 3.0 && all <= 6.0, "{report}");
    assert!(rates.changed.len() * 200 <= rates.lookalikes, "{report}");
    assert!(rates.halves.is_empty(), "{report}");
}

#[expect(
    clippy::print_stdout,
    reason = "with --nocapture, the rates are the answer"
)]
fn print(report: &str) {
    println!("{report}");
}
