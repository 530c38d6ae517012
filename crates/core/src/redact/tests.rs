use super::prefilter::{NeedleHit, SearchSet};
use super::unescape::escape_levels;
use super::*;
use crate::session::dice::Dice;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use pisess_json::strings::Strings;
use pisess_json::text::Text;
use pisess_json::{Raw, string};

fn redactor(values: &[&str]) -> Redactor {
    let values = values.iter().map(|value| SecretValue {
        kind: "secret",
        bytes: value.as_bytes().into(),
    });
    Redactor::new(values.collect(), None, false)
}

/// Returns the line after redaction. Secrets are found as in a file.
fn line(redactor: &mut Redactor, line: &str) -> (String, Vec<Secret>) {
    let mut all = Vec::new();
    redactor
        .search
        .each_line(line.as_bytes(), &mut |_, finds| all.push(finds));
    redactor.number_secrets(all.iter().map(|finds| LineToNumber {
        finds,
        is_summary: false,
    }));
    let mut finds = all.pop().unwrap_or_default();
    let mut secrets = Vec::new();
    redactor.plan_replacements(&mut finds, &mut |secret| secrets.push(secret));
    (
        String::from_utf8(finds.apply_to(line.as_bytes())).unwrap(),
        secrets,
    )
}

fn redacted(text: &str) -> (String, Vec<Secret>) {
    line(&mut redactor(&[]), text)
}

/// Returns pseudo-random characters of an alphabet, which look like a generated key.
fn made(length: usize, alphabet: &str, seed: u32) -> String {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let letters: Vec<char> = alphabet.chars().collect();
    (0..length)
        .map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            letters[(state >> 16) as usize % letters.len()]
        })
        .collect()
}

const WORD: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const HEX: &str = "0123456789abcdef";

/// Returns a secret for each shape in the table. Built here, so that no scanner reports this file.
fn samples() -> Vec<(&'static str, String)> {
    let w = |n, seed| made(n, WORD, seed);
    let h = |n, seed| made(n, HEX, seed);
    vec![
        (
            "private-key",
            format!(
                "-----BEGIN RSA {}-----\n{}\n{}\n-----END RSA {}-----",
                "PRIVATE KEY",
                w(64, 1),
                w(64, 2),
                "PRIVATE KEY"
            ),
        ),
        (
            "private-key",
            format!(
                "-----BEGIN OPENSSH {}-----\n{}\n{}",
                "PRIVATE KEY",
                w(70, 3),
                w(70, 4)
            ),
        ),
        ("anthropic-key", format!("sk-ant-api03-{}AA", w(93, 5))),
        ("openrouter-key", format!("sk-or-v1-{}", h(64, 6))),
        (
            "openai-key",
            format!("sk-proj-{}T3BlbkFJ{}", w(74, 7), w(74, 8)),
        ),
        ("openai-key", format!("sk-svcacct-{}", w(60, 9))),
        ("model-key", format!("sk-{}", h(32, 10))),
        ("google-api-key", format!("AIza{}", w(35, 11))),
        ("google-oauth-secret", format!("GOCSPX-{}", w(28, 12))),
        ("google-oauth-token", format!("ya29.{}", w(60, 13))),
        (
            "huggingface-token",
            format!("hf_{}", made(34, &WORD[..52], 14)),
        ),
        ("replicate-token", format!("r8_{}", w(37, 15))),
        ("groq-key", format!("gsk_{}", w(52, 16))),
        ("github-pat", format!("ghp_{}", w(36, 17))),
        (
            "github-pat",
            format!("github_pat_{}_{}", w(22, 18), w(59, 19)),
        ),
        (
            "github-app-token",
            format!("ghs_12345_eyJ{}.{}.{}", w(30, 20), w(80, 21), w(40, 22)),
        ),
        ("gitlab-token", format!("glpat-{}", w(20, 23))),
        ("npm-token", format!("npm_{}", w(36, 24))),
        ("pypi-token", format!("pypi-AgEIcHlwaS5vcmc{}", w(80, 25))),
        (
            "aws-access-key",
            format!("AKIA{}", made(16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 26)),
        ),
        (
            "aws-secret-key",
            format!("aws_secret_access_key = {}", w(40, 27)),
        ),
        ("azure-storage-key", format!("AccountKey={}==", w(86, 28))),
        ("digitalocean-token", format!("dop_v1_{}", h(64, 29))),
        ("slack-token", format!("xoxb-123456789012-{}", w(24, 30))),
        (
            "slack-webhook",
            format!(
                "https://hooks.slack.com/services/T0{}/B0{}/{}",
                w(8, 31),
                w(8, 32),
                w(24, 33)
            ),
        ),
        ("telegram-token", format!("6123857094:AA{}", w(33, 34))),
        ("stripe-key", format!("sk_live_{}", w(24, 35))),
        (
            "langfuse-key",
            format!(
                "sk-lf-{}-{}-{}-{}-{}",
                h(8, 50),
                h(4, 51),
                h(4, 52),
                h(4, 53),
                h(12, 54)
            ),
        ),
        (
            "langsmith-key",
            format!("lsv2_pt_{}_{}", h(32, 55), h(10, 56)),
        ),
        ("fireworks-key", format!("fw_3{}", w(23, 57))),
        ("twilio-key", format!("SK{}", h(32, 58))),
        (
            "newrelic-key",
            format!("NRAK-{}", made(27, &WORD[26..], 59).to_uppercase()),
        ),
        (
            "tailscale-key",
            format!("tskey-auth-k{}CNTRL-{}", w(10, 60), w(32, 61)),
        ),
        (
            "discord-token",
            format!("MTA4{}.G{}.{}", w(20, 62), w(5, 63), w(38, 64)),
        ),
        ("sendgrid-key", format!("SG.{}.{}", w(22, 36), w(43, 37))),
        (
            "jwt",
            format!("eyJ{}.eyJ{}.{}", w(20, 38), w(40, 39), w(43, 40)),
        ),
        (
            "authorization",
            format!("Authorization: Bearer {}", w(40, 41)),
        ),
        ("authorization", format!("x-api-key: {}", w(32, 42))),
        (
            "url-password",
            format!("postgres://app:{}@db.internal:5432/main", w(14, 43)),
        ),
        (
            "connection-password",
            format!("Server=db;User Id=sa;Password={};", w(12, 44)),
        ),
        ("assigned-secret", format!("MY_SERVICE_TOKEN={}", w(24, 45))),
        (
            "assigned-secret",
            format!("\"client_secret\": \"{}\"", w(24, 46)),
        ),
    ]
}

fn json(text: &str) -> String {
    String::from_utf8(string::encode_to_vec(&Text::from(text))).unwrap()
}

#[test]
fn a_token_does_not_end_with_the_full_stop_of_its_sentence() {
    let token = format!("glpat-{}.01.{}", made(20, WORD, 23), made(7, WORD, 24));
    let (line, _) = redacted(&format!("the token {token}. A firing"));
    assert_eq!(line, "the token [REDACTED:gitlab-token#1]. A firing");
}

#[test]
fn every_kind_is_found_in_plain_text_and_escaped() {
    for (kind, secret) in samples() {
        let text = format!("before {secret} after");
        let line = format!(
            r#"{{"type":"message","message":{{"role":"user","content":{}}}}}"#,
            json(&text)
        );
        let (once, secrets) = redacted(&line);
        assert_eq!(secrets.len(), 1, "{kind} {secret}: {secrets:?}");
        assert_eq!(secrets[0].number.kind, kind, "{secret}");
        assert_eq!(&*secrets[0].field, "message.content");
        assert!(Raw::parse(once.as_bytes()).is_ok());
        assert_eq!(
            redacted(&once),
            (once.clone(), vec![]),
            "a second run changes nothing"
        );
        // JSON in a string, twice nested: quotes and backslashes are escaped again.
        let nested = json(&json(&text));
        let (_, secrets) = redacted(&format!(r#"{{"type":"x","arguments":{nested}}}"#));
        assert_eq!(secrets.len(), 1, "{kind} nested");
    }
}

/// Of a hundred random keys, with and without digits, hardly one looks like an identifier.
#[test]
fn a_key_needs_no_digit() {
    let letters = &WORD[..52];
    for alphabet in [WORD, letters] {
        let keys = (0..100).map(|seed| format!("fw_{}", made(24, alphabet, seed)));
        let found = keys
            .filter(|key| !redacted(&format!("{{\"a\":\"{key}\"}}")).1.is_empty())
            .count();
        assert!(found >= 97, "{found} of 100");
    }
}

/// In the output of a terminal, in an address and in a name, a secret follows other letters without
/// a space.
#[test]
fn redact_finds_a_secret_that_follows_other_characters() {
    let before = [
        "\u{1b}[32m",
        "\u{1b}[1;38;5;208m",
        "%20",
        "%3D",
        "%3a",
        "_",
        "n",
        "qx",
    ];
    for (kind, secret) in samples()
        .into_iter()
        .filter(|(kind, _)| !rules::is_contextual(kind))
    {
        for before in before {
            let (_, secrets) = redacted(&format!(
                "{{\"a\":{}}}",
                json(&format!("see {before}{secret}\u{1b}[0m"))
            ));
            assert_eq!(secrets.len(), 1, "{kind} after {before:?}: {secret}");
        }
    }
}

/// Every assignment that is found has a keyword that calls for it.
#[test]
fn every_name_of_a_secret_has_a_keyword() {
    let words = ["api", "access", "secret", "", "auth", "client", "db"];
    let ends = [
        "key",
        "token",
        "secret",
        "password",
        "passwd",
        "pass",
        "pwd",
        "credential",
    ];
    let spellings = |word: &str| {
        let mut capital = word.to_owned();
        capital.get_mut(..1).map(str::make_ascii_uppercase);
        [word.to_owned(), capital, word.to_uppercase()]
    };
    let mut names = 0;
    for (word, end) in words.iter().flat_map(|word| ends.map(|end| (word, end))) {
        for (word, end) in spellings(word)
            .iter()
            .flat_map(|word| spellings(end).map(|end| (word.clone(), end)))
        {
            for name in ["", "_", "-"].map(|between| format!("{word}{between}{end}")) {
                for text in [
                    format!("{name}: \"q8Zr4Tn1Vx7Lm2Kd\""),
                    format!("{name}: q8Zr4Tn1Vx7Lm2Kd"),
                    format!("--{name} q8Zr4Tn1Vx7Lm2Kd"),
                    format!("name: {name}\n  value: q8Zr4Tn1Vx7Lm2Kd"),
                    format!("\\\"{name}\\\": \\\"q8Zr4Tn1Vx7Lm2Kd\\\""),
                    format!("export {name}=q8Zr4Tn1Vx7Lm2Kd"),
                ] {
                    let mut is_found = false;
                    let plain = text.replace('\\', "");
                    assignments::each_assignment(plain.as_bytes(), |_| is_found = true);
                    let calls =
                        prefilter::NeedlePrefilter::for_rules().needed_searches(text.as_bytes());
                    assert!(
                        !is_found || calls.intersects(SearchSet::ASSIGNMENTS),
                        "{text}"
                    );
                    names += usize::from(is_found);
                }
            }
        }
    }
    assert!(names > 800, "{names}");
}

/// The key of a member and its value are two strings, which are one assignment.
#[test]
fn a_member_of_an_object_is_an_assignment() {
    let secret = made(24, WORD, 91);
    let line = format!(
        r#"{{"message":{{"content":[{{"type":"toolCall","arguments":{{"api_key":"{secret}","doc_token":"{secret}x","n":1}}}}]}}}}"#
    );
    let (done, secrets) = redacted(&line);
    assert_eq!(secrets.len(), 1, "{secrets:?}");
    assert_eq!(&*secrets[0].name, "api_key");
    assert_eq!(&*secrets[0].field, "message.content[0].arguments.api_key");
    assert!(
        done.contains(r#""api_key":"[REDACTED:assigned-secret#1]","#),
        "{done}"
    );
}

/// The key of an array counts for each of its strings, also behind other items and their keys.
#[test]
fn each_string_in_the_array_of_a_secret_is_one() {
    let secret = made(24, WORD, 91);
    for items in [
        format!(r#"["{secret}"]"#),
        format!(r#"["a","b","c","{secret}"]"#),
        format!(r#"[{{"a":1}},"{secret}"]"#),
        format!(r#"[{{"api_key":"no","b":[2]}},[["x"],"{secret}"]]"#),
        format!(r#"[{{"api_key":5}},"{secret}"]"#),
    ] {
        let line = format!(r#"{{"data":{{"api_key":{items}}}}}"#);
        let (done, secrets) = redacted(&line);
        assert_eq!(secrets.len(), 1, "{line}: {secrets:?}");
        assert!(!done.contains(&secret), "{done}");
    }
}

/// `PW` is a usual short form of "password" at the end of a name.
#[test]
fn redact_finds_passwords_of_names_that_end_in_pw() {
    let password = made(16, WORD, 7);
    for name in [
        "MAIL_PW=",
        "db_pw: ",
        "--mail-pw ",
        "export SMTP_PW=",
        "MAIL-PW: ",
        "X-Mail-Pw: ",
        "Mail_Pw=",
        "mailPw=",
        "mailPw += ",
        "--mailPw ",
        "APIPw = ",
        "mail.pw=",
        "mailPwProd: ",
        "SMTP_PW_OLD=",
    ] {
        let text = format!("{name}{password}");
        let (copy, secrets) = redacted(&json(&text));
        assert_eq!(secrets.len(), 1, "{text}: {secrets:?}");
        assert!(!copy.contains(&password), "{copy}");
    }
    let member = format!(r#"{{"smtpPW":"{password}"}}"#);
    assert_eq!(redacted(&member).1.len(), 1);
    assert_eq!(redacted(&json(&member)).1.len(), 1);
    let (_, secrets) = redacted(&json(
        "MAIL_PW='Murmeltier-1907!' python3 send_mail.py --test",
    ));
    assert_eq!(secrets.len(), 1, "{secrets:?}");
}

#[test]
fn a_choice_in_a_usage_is_no_password() {
    assert_eq!(redacted(&json("--password string|env")).1, vec![]);
    for text in [
        "--password string|env7",
        "--password 'tiger|murmel'",
        "--password=tiger|murmel",
    ] {
        assert_eq!(redacted(&json(text)).1.len(), 1, "{text}");
    }
}

/// `.pw` is a domain, too.
#[test]
fn hosts_of_the_domain_pw_are_no_names_of_passwords() {
    for text in [
        "curl example.pw:8080/aK9x2Lm4",
        "ssh user@evil.pw:/srv/aK9x2Lm4Qz",
        "see https://foo.pw/aK9x2Lm4QzP7",
        "curl EXAMPLE.PW:8080/aK9x2Lm4",
        "git clone git@code.pw:team1/aK9x2Lm4Qz",
    ] {
        assert_eq!(redacted(&json(text)).1, vec![], "{text}");
    }
    for text in [
        "mail.pw: aK9x2Lm4Qz",
        "mail.pw:aK9x2Lm4Qz",
        "mail.pw = 8K9x2Lm4Qz",
        "mail.pw:9xQd81Lm4T",
        "mail.pw:/x9Qd81Lm4T",
        "spring.mail.pw:9x9Qd81LmP2aa",
        "smtp.pw:8080x9QdLmP",
        "smtp.pw:808012x9QdLmP",
    ] {
        assert_eq!(redacted(&json(text)).1.len(), 1, "{text}");
    }
}

/// The two letters of `PW` are in each image in base64, which is not searched because of them.
#[test]
fn letters_of_a_keyword_in_base64_call_for_nothing() {
    let digits = made(50_000, &format!("{WORD}+/"), 3);
    assert!(digits.matches("PW").count() > 5);
    let searches = prefilter::NeedlePrefilter::for_rules().needed_searches(digits.as_bytes());
    assert!(!searches.intersects(SearchSet::ASSIGNMENTS));
}

/// The code of a colour before a password is neither the password nor a part of it, in whichever
/// way it is written.
#[test]
fn the_code_of_a_colour_is_no_password() {
    let password = made(16, WORD, 7);
    for command in [
        "sshpass -p ",
        "mysql -u root -p",
        "docker login -u me -p ",
        "redis-cli -h cache -a ",
        "DB_PASSWORD=",
    ] {
        for esc in ["\u{1b}", "\\x1b", "^[", "\\033", "\\e"] {
            let text = format!("{command}{esc}[1;38;5;208m{password}{esc}[22;39m x");
            let (copy, secrets) = redacted(&json(&text));
            assert_eq!(secrets.len(), 1, "{text}: {secrets:?}");
            let placeholder = &secrets[0].placeholder();
            let expected = text.replace(&password, placeholder);
            assert_eq!(copy, json(&expected));
        }
    }
}

/// A file may be a key in base64, on one line of any length.
#[test]
fn redact_finds_a_key_in_a_file_of_base64() {
    let (_, key) = samples().swap_remove(0);
    for lines in [1, 4, 12] {
        let body = [made(64, WORD, 90), made(64, WORD, 91)].join("\n");
        let file = key.replacen('\n', &format!("\n{body}\n").repeat(lines), 1);
        let text = STANDARD.encode(file);
        let (copy, secrets) = redacted(&json(&text));
        assert_eq!(secrets.len(), 1, "{text}");
        assert_eq!(secrets[0].number.kind, "private-key");
        assert!(copy.len() < 40, "{copy}");
    }
}

/// A password ends with the command, not with the next line, whose break is an escape.
#[test]
fn the_next_line_is_no_part_of_a_password() {
    let password = made(16, WORD, 12);
    for command in [
        "sshpass -p ",
        "mysql -u root -p",
        "docker login -u me -p ",
        "redis-cli -h cache -a ",
        "curl -u admin:",
        "machine x login me password ",
    ] {
        let text = format!("{command}{password}\nls -la");
        let (copy, secrets) = redacted(&json(&text));
        assert_eq!(secrets.len(), 1, "{secrets:?}");
        assert_eq!(
            copy,
            json(&text.replace(&password, &secrets[0].placeholder()))
        );
    }
}

/// The name in the report is that of the text, without the letter of the line break before it.
#[test]
fn the_name_of_a_secret_begins_after_an_escape() {
    let secret = made(40, WORD, 93);
    for name in ["password", "aws_session_token", "API_KEY", "nonce_token"] {
        let text = format!("a\n{name}={secret}\nb");
        for line in [json(&text), json(&json(&text))] {
            let (_, secrets) = redacted(&line);
            assert_eq!(secrets.len(), 1, "{line}");
            assert_eq!(&*secrets[0].name, name);
        }
    }
}

#[test]
fn escapes_hide_nothing() {
    let secret = format!("ghp_{}", made(36, WORD, 50));
    let spelled: String = secret
        .bytes()
        .map(|byte| format!("\\u{byte:04x}"))
        .collect();
    let inner = spelled.replace('\\', "\\\\");
    for text in [&spelled, &inner, &secret.replace("gh", "\\u0067h")] {
        let (line, secrets) = redacted(&format!(r#"{{"a":"x {text} y"}}"#));
        assert_eq!(line, r#"{"a":"x [REDACTED:github-pat#1] y"}"#);
        assert_eq!(secrets[0].length, text.len());
    }
}

#[test]
fn the_same_secret_has_the_same_number_and_numbers_are_not_used_twice() {
    let (one, two) = (
        format!("npm_{}", made(36, WORD, 52)),
        format!("npm_{}", made(36, WORD, 53)),
    );
    let mut redactor = redactor(&[]);
    line(&mut redactor, r#"{"a":"[REDACTED:npm-token#2]"}"#);
    let (done, _) = line(&mut redactor, &format!(r#"["{one}","{two}","{one}"]"#));
    let wanted = r#"["[REDACTED:npm-token#1]","[REDACTED:npm-token#3]","[REDACTED:npm-token#1]"]"#;
    assert_eq!(done, wanted);
}

#[test]
fn exact_values_are_found_in_any_spelling_and_in_names() {
    let mut redactor = redactor(&["tr0ub4dor&3", "päss\"wörd", "smile😀now"]);
    for text in [
        r#"{"id":"tr0ub4dor&3"}"#,
        r#"{"a":"tr0ub4dor\u00263"}"#,
        r#"{"a":"https://x/?p=tr0ub4dor%263"}"#,
        r#"{"a":"<a title=tr0ub4dor&amp;3>"}"#,
        r#"{"a":"<td>päss\"wörd</td>"}"#,
        r#"{"a":"<td title='päss&quot;wörd'>"}"#,
        r#"{"a":"<td>päss&#34;wörd</td>"}"#,
        r#"{"a":"päss\"wörd"}"#,
        r#"{"a":"{\"b\":\"p\\u00e4ss\\\"w\\u00f6rd\"}"}"#,
        r#"{"a":"smile\ud83d\ude00now"}"#,
    ] {
        assert_eq!(line(&mut redactor, text).1.len(), 1, "{text}");
    }
    assert_eq!(redactor.found_values().len(), 3);
}

#[test]
fn code_that_names_secrets_is_left_alone() {
    for text in [
        "if (apiKey === \"\" || token === undefined) throw new Error('no key');",
        "const API_KEY = process.env.API_KEY;",
        "export API_KEY=$KEY; curl -H \"Authorization: Bearer $TOKEN\"",
        "Authorization: Bearer <your-token>",
        "sk-ant-... and sk-proj-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "postgres://user:password@localhost/db and https://example.com/a:b@c",
        "git@github.com:owner/repo.git, ssh://git@host:22/x",
        "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
        "commit 9c4e78a1b2c3d4e5f60718293a4b5c6d7e8f9012 sha512-abc/def==",
        "maxTokens: \"unlimited_for_now\", tokenType: \"BearerTokenAuthentication\"",
        "task-manager risk-free disk-usage-of-a-very-long-name-indeed-1234567890abcdef",
        "const password = 'your-password-here'; SECRET=changeme",
        "AKIAIOSFODNN7EXAMPLE and wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "https://hooks.slack.com/services/T00000000/B00000000/XXXXXXXXXXXXXXXXXXXXXXXX",
        "sed 's/PASSWORD=.*/PASSWORD=xxx/'",
        "the task-9c4e78a1b2c3d4e5f60718293a4b5c6d of disk-9c4e78a1b2c3d4e5f60718293a4b5c6d",
        "toolCallId: toolu_01ABCDEFGHIJKLMNOPQRSTUV, call_abcdefghijklmnopqrstuvwx",
    ] {
        let line = format!(r#"{{"a":{}}}"#, json(text));
        assert_eq!(redacted(&line).1, vec![], "{text}");
    }
}

#[test]
fn a_long_row_of_slashes_is_no_address() {
    for length in [320, 322, 323, 400] {
        let line = format!(r#"{{"text":"x:{}y"}}"#, "/".repeat(length));
        assert_eq!(redacted(&line).0, line, "{length} slashes");
    }
}

#[test]
fn redact_removes_signatures_and_images() {
    let text = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"t","thinkingSignature":"EqQB+"},{"type":"thinking","thinking":"[x]","thinkingSignature":"ZW5j","redacted":true},{"type":"toolCall","id":"c","name":"n","arguments":{},"thoughtSignature":"AA"},{"type":"image","data":"AAAABBBB","mimeType":"image/png"}]}}"#;
    let (done, secrets) = redacted(text);
    assert_eq!(
        done,
        r#"{"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"t","thinkingSignature":""},{"type":"thinking","thinking":"[x]","thinkingSignature":""},{"type":"toolCall","id":"c","name":"n","arguments":{},"thoughtSignature":""},{"type":"text","text":"[image removed: image/png, 6 bytes]"}]}}"#
    );
    assert!(secrets.is_empty());
    let mut keeping = Redactor::new(Vec::new(), None, true);
    let image =
        r#"{"message":{"content":[{"type":"image","data":"AAAABBBB","mimeType":"image/png"}]}}"#;
    assert_eq!(line(&mut keeping, image).0, image);
    let (without, _) = redacted(image);
    assert_eq!(
        without,
        r#"{"message":{"content":[{"type":"text","text":"[image removed: image/png, 6 bytes]"}]}}"#
    );
}

#[test]
fn home_folders_and_names_become_neutral() {
    let people = People::new(["/home/margarethe"]);
    let mut redactor = Redactor::new(Vec::new(), Some(people), false);
    let text = r#"{"cwd":"/home/margarethe/proj","a":"see /Users/otto/x and C:\\Users\\otto\\y, margarethe wrote; /home/ alone","b":"{\"p\":\"\\/home\\/margarethe\\/z\"}"}"#;
    let (done, _) = line(&mut redactor, text);
    assert_eq!(
        done,
        r#"{"cwd":"~/proj","a":"see ~/x and ~\\y, user wrote; /home/ alone","b":"{\"p\":\"~\\/z\"}"}"#
    );
    assert_eq!(
        people::find_home("/home/margarethe/proj"),
        Some("/home/margarethe")
    );
    assert_eq!(
        people::find_home("C:\\Users\\otto"),
        Some("C:\\Users\\otto")
    );
    assert_eq!(people::find_home("/srv/x"), None);
}

/// Whether a line contains something to remove, found without needles: every rule is applied to
/// every level of every string.
fn holds_something(line: &str) -> bool {
    let (mut texts, mut is_signed, mut is_member) = (Vec::new(), false, false);
    let mut strings = Strings::new(line.as_bytes());
    let is_json = loop {
        match strings.advance() {
            Ok(Some(found)) => {
                let key = strings.nearest_key();
                is_signed |=
                    !found.is_key && !found.range.is_empty() && opaque::is_signature_key(key);
                let decoded_key = pisess_json::string::decode(key);
                let kind = assignments::kind_of_member(decoded_key.as_bytes(), found.raw.bytes);
                is_member |= !found.is_key && kind.is_some();
                if found.is_key || !search::is_id_member(key, found.raw.bytes) {
                    texts.push(found.raw.bytes);
                }
            }
            Ok(None) => break true,
            Err(_) => break false,
        }
    };
    if is_json
        && (is_signed
            || is_member
            || !opaque::find_opaque_values(line.as_bytes(), false)
                .splices
                .is_empty())
    {
        return true;
    }
    let texts = if is_json {
        texts
    } else {
        vec![line.as_bytes()]
    };
    texts
        .into_iter()
        .filter(|text| text.len() >= 6)
        .any(|text| {
            escape_levels(text)
                .any(|level| !search::is_base64_file(&level.text) && holds_secret(&level.text))
        })
}

fn holds_secret(text: &[u8]) -> bool {
    let mut holds = false;
    matches::each_match(SearchSet::EVERY, text, |_| holds = true);
    holds
}

impl Dice {
    /// Writes text as a JSON string, with letters and slashes as escapes here and there.
    fn spelled(&mut self, text: &str) -> String {
        let escapes = self.one_in(3);
        let mut out = String::new();
        for letter in json(text).chars() {
            match letter {
                '/' if escapes => out += "\\/",
                'a'..='z' | 'A'..='Z' | '_' | '-' if escapes && self.one_in(9) => {
                    out += &format!("\\u{:04x}", u32::from(letter));
                }
                _ => out.push(letter),
            }
        }
        out
    }

    /// Returns the assignment of a password of letters and a few other characters, with an operator
    /// or only a space.
    fn assigned_password(&mut self) -> String {
        const NAMES: [&str; 10] = [
            "DB_PASSWORD=",
            "PASSWORD=",
            "password: ",
            "export PASSWD=",
            "mysql --password ",
            "mysql --password '",
            "curl --mail-pw ",
            "curl --api-token ",
            "ENV DB_PASSWORD ",
            "set -x MAIL_PW ",
        ];
        let letters: Vec<char> = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNé(){}[],;<>&!*#%~?"
            .chars()
            .collect();
        let name = NAMES[self.below(NAMES.len())];
        let mut assignment = name.to_owned();
        // A word of capitals and small letters only, which is a token if it is long.
        let is_word = self.one_in(4);
        let letters = if is_word {
            &letters[..40]
        } else {
            &letters[..]
        };
        let length = if is_word { 20 } else { 6 + self.below(8) };
        for _ in 0..length {
            assignment.push(letters[self.below(letters.len())]);
        }
        if name.ends_with('\'') {
            assignment.push('\'');
        }
        assignment
    }

    /// Returns a line with a secret, with something similar, or with something that cannot be
    /// searched.
    fn line(&mut self, secrets: &[(&'static str, String)]) -> String {
        let mut secret = if self.one_in(4) {
            self.assigned_password()
        } else {
            secrets[self.below(secrets.len())].1.clone()
        };
        match self.below(6) {
            0 => {
                let kept = self.below(secret.len() + 1);
                secret = secret.chars().take(kept).collect();
            }
            1 => secret = secret.to_uppercase(),
            2 => secret = secret.to_lowercase(),
            _ => {}
        }
        let filler = &"of a line, in a tree  \u{e9}\n\"quoted\" C:\\x ~~~~ "[..4 * self.below(5)];
        let mut text = format!(
            "{filler}{}{secret}{}",
            " ".repeat(self.below(20)),
            "\n".repeat(self.below(3))
        );
        for _ in 0..self.below(3) {
            text = format!("{{\"key\":{}}}", self.spelled(&text));
        }
        let text = self.spelled(&text);
        match self.below(9) {
            0 => format!(r#"{{"id":{text}}}"#),
            1 => format!(r#"{{{text}:1}}"#),
            2 => format!(r#"{{"a":["x",{text}"#),
            3 => format!("{text} {text}"),
            4 => {
                r#"{"message":{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"}]}}"#
                    .to_owned()
            }
            5 => {
                let keys = [
                    "thinkingSignature",
                    "signature",
                    r#"x\"signature"#,
                    "designature",
                    "Signature",
                ];
                let values = [
                    r#""c2ln""#,
                    r#""""#,
                    "7",
                    r#"["c2ln",{"a":"b"}]"#,
                    r#"{"a":"signature"}"#,
                    r#""signature""#,
                    &text,
                ];
                let key = keys[self.below(keys.len())];
                let value = values[self.below(values.len())];
                let colon = if self.one_in(2) { ":" } else { " : " };
                let end = if self.one_in(5) { "" } else { "}" };
                format!(
                    r#"{{"a":["Signature"],"{key}"{colon}{value},"b":"\"signature\":\"x\""{end}"#
                )
            }
            _ => format!(r#"{{"type":"message","message":{{"content":[{text},7]}}}}"#),
        }
    }
}

#[test]
fn the_look_at_needles_misses_nothing() {
    let (mut dice, secrets) = (Dice(11), samples());
    let lines: Vec<String> = (0..1600).map(|_| dice.line(&secrets)).collect();
    let file = lines.join("\n");
    let redactor = redactor(&[]);
    let mut found = BTreeMap::new();
    redactor
        .search
        .each_line(file.as_bytes(), &mut |range, finds| {
            found.insert(range.start, finds);
        });
    let (mut start, mut hits) = (0, 0);
    for line in &lines {
        let finds = found.remove(&start).unwrap_or_default();
        assert_eq!(!finds.is_clean(), holds_something(line), "{line}");
        // A needle at each byte that calls for everything.
        let needles: Vec<_> = (0..line.len())
            .map(|at| NeedleHit {
                last_byte: at,
                searches: SearchSet::EVERY,
            })
            .collect();
        let every = redactor.search.search_line(line.as_bytes(), &needles);
        assert_eq!(format!("{finds:?}"), format!("{every:?}"), "{line}");
        hits += finds.hits.len();
        start += line.len() + 1;
    }
    assert!(found.is_empty());
    assert!((400..1400).contains(&hits), "a mixture: {hits}");
}

#[test]
fn a_password_in_an_array_may_have_brackets() {
    for array in [
        "[']Murmel1907!', 'Winter2024!']",
        "['Mur]mel1907[', 'Winter2024!']",
        "['Winter2024!', ']Murmel1907!' ]",
    ] {
        let line = format!(r#"{{"text":"password = {array}"}}"#);
        let (done, secrets) = redacted(&line);
        assert_eq!(secrets.len(), 2, "{done}");
    }
}

/// What finds a secret beside another one finds it alone, too.
#[test]
fn a_password_after_a_space_needs_no_digit() {
    for assignment in [
        "mysql --password Murmel*tier!",
        "mysql --password 'Murmel*tier!'",
        "curl --mail-pw Murmel*tier!",
        "ENV DB_PASSWORD Murmel*tier!",
        "set -x DB_PASSWORD Murmel*tier!",
        "curl --api-token rBtlxyMEMUdsmIPT and more",
    ] {
        for text in [
            assignment.to_owned(),
            format!("{assignment}\n\nGITHUB_TOKEN={}", made(15, WORD, 17)),
        ] {
            let line = format!(r#"{{"text":{}}}"#, json(&text));
            let count = 1 + usize::from(text.contains("GITHUB_TOKEN"));
            assert_eq!(redacted(&line).1.len(), count, "{line}");
        }
    }
    for prose in [
        "the password please!",
        "a token again? and again!",
        "the session works.",
    ] {
        let line = format!(r#"{{"text":{}}}"#, json(prose));
        assert_eq!(redacted(&line).1, vec![], "{line}");
    }
}

/// Of thinking that a provider redacted, only the mark and the signature are removed unsearched.
#[test]
fn the_text_of_redacted_thinking_is_searched() {
    let secret = made(24, WORD, 91);
    let thinking =
        format!(r#""thinking":"api_key={secret} of margarethe","thinkingSignature":"ZW5j""#);
    for block in [
        format!(r#"{{"type":"thinking","redacted":true,{thinking}}}"#),
        format!(r#"{{"type":"thinking",{thinking},"redacted":true}}"#),
        format!(r#"{{"type":"thinking",{thinking},"redacted":"{secret}"}}"#),
    ] {
        let people = People::new(["/home/margarethe"]);
        let mut redactor = Redactor::new(Vec::new(), Some(people), false);
        let (done, secrets) = line(&mut redactor, &format!(r#"{{"content":[{block}]}}"#));
        assert_eq!(secrets.len(), 1, "{secrets:?}");
        assert_eq!(
            done,
            r#"{"content":[{"type":"thinking","thinking":"api_key=[REDACTED:assigned-secret#1] of user","thinkingSignature":""}]}"#
        );
    }
    let text = r#"{"content":[{"type":"thinking","redacted":true,"thinking":"the harbour"}]}"#;
    let (done, secrets) = line(&mut redactor(&["harbour"]), text);
    assert_eq!(secrets.len(), 1, "{secrets:?}");
    assert_eq!(
        done,
        r#"{"content":[{"type":"thinking","thinking":"the [REDACTED:secret#1]","thinkingSignature":""}]}"#
    );
}

/// An image may have anything as its type.
#[test]
fn only_a_media_type_is_shown_of_an_image() {
    for (mime, shown) in [
        ("image/svg+xml", "image/svg+xml"),
        (&*made(24, WORD, 91), "image"),
        (&*format!("image/{}", made(40, WORD, 91)), "image"),
        (
            &*format!("image/AKIA{}", made(16, "ABCDEFGHIJKL234567", 26)),
            "image",
        ),
        ("image/hunter2", "image"),
        ("", "image"),
    ] {
        let image =
            format!(r#"{{"content":[{{"type":"image","data":"AAAABBBB","mimeType":"{mime}"}}]}}"#);
        let (done, _) = redacted(&image);
        assert!(
            done.contains(&format!("removed: {shown}, 6 bytes")),
            "{done}"
        );
    }
}

#[test]
fn the_key_of_a_member_may_have_escapes() {
    let secret = made(24, WORD, 91);
    for value in [format!(r#""{secret}""#), format!(r#"["a","{secret}"]"#)] {
        let line = format!(r#"{{"data":{{"api\u005fkey":{value}}}}}"#);
        let (done, secrets) = redacted(&line);
        assert_eq!(secrets.len(), 1, "{line}: {secrets:?}");
        assert_eq!(&*secrets[0].name, "api_key");
        assert!(!done.contains(&secret), "{done}");
    }
}

/// The array of a secret may be in JSON that is in a string, with any text around it.
#[test]
fn each_string_in_the_array_of_a_secret_in_text_is_one() {
    let secret = made(24, WORD, 91);
    for items in [
        format!(r#"["{secret}"]"#),
        format!(r#"[ "a", "b c", "d\ne", "{secret}" ]"#),
        format!("[\n    \"a\",\n    \"{secret}\"\n  ]"),
        format!(r#"["a","b","c","d","e","{secret}",["x"]]"#),
        format!(r#"["a",null,"{secret}"]"#),
        format!(r#"[1,-2.5e3,true,"{secret}"]"#),
        format!(r#"[["{secret}"]]"#),
        format!(r#"[{{"a":{{"b":[1,"x"]}}}},[],"{secret}"]"#),
        format!("\n  [\"a\",\"{secret}\"]"),
        format!("\t[\"a\",\"{secret}\"]"),
        format!("     [\"a\",\"{secret}\"]"),
    ] {
        for text in [
            format!(r#"{{"a":1,"api_key":{items}}}"#),
            format!("It says: {{\n  \"api_key\": {items}\n}}\nAnd so on."),
        ] {
            let line = format!(r#"{{"text":{}}}"#, json(&text));
            let (done, secrets) = redacted(&line);
            assert_eq!(secrets.len(), 1, "{line}: {secrets:?}");
            assert_eq!(&*secrets[0].name, "api_key");
            assert!(!done.contains(&secret), "{done}");

            let nested = format!(r#"{{"text":{}}}"#, json(&line));
            let (done, secrets) = redacted(&nested);
            assert_eq!(secrets.len(), 1, "{nested}: {secrets:?}");
            assert!(!done.contains(&secret), "{done}");
        }
    }
    for text in [
        format!("api_key = [\"a\", \"{secret}\"]"),
        format!("{{'api_key': ['a', '{secret}']}}"),
        format!("api_key=['a', '{secret}']"),
        format!("tool --api_key=[\"a\",\"{secret}\"]"),
        format!("tool --api_key [\"a\",\"{secret}\"]"),
        format!("settings[\"api_key\"] = [\"{secret}\"]"),
        format!("return ['api_key' => ['{secret}']];"),
        format!("api_key := [\"a\", \"{secret}\"]"),
        format!("api_key += [\"{secret}\"]"),
        format!("api_key: list[str] = [\"{secret}\"]"),
        format!("api_key: [a, '{secret}']"),
        format!("set(\"api_key\", [\"{secret}\"])"),
        format!("{{\"name\": \"api_key\", \"value\": [\"a\", \"{secret}\"]}}"),
        format!("api_key = [b\"a\", b'{secret}']"),
        format!("api_key = [\n  '{secret}' # of the harbour\n]"),
        format!("api_key = [{}\"{secret}\"]", "\"a\", ".repeat(50)),
        format!("api_key = [\"k3[\", \"{secret}\"]"),
        format!("api_key = [\"string\", \"live:{secret}\"]"),
        format!("api_key = [\"{secret}\".to_string()]"),
        format!("api_key = [\"a\".to_string(), \"{secret}\".to_string()]"),
        format!("api_key = [\"{secret}\" if prod else \"b\"]"),
        format!("api_key = [\"{secret}\" + suffix]"),
        format!("api_key = [\"{secret}\" as const]"),
        format!("api_key = ['{secret}' => true]"),
        format!("api_key = [\"{secret}\"// live\n]"),
        format!("api_key = [\"{secret}\"{}]", " ".repeat(70)),
        format!("\"api_key\": [\"{secret}\"\u{2026}"),
        format!("api_key{}= [\"{secret}\"]", " ".repeat(40)),
        format!("  api_key\n    = [\"{secret}\"]"),
        format!("  api_key\n    = \"{secret}\""),
        format!("api_key = ['a]b[', ']c', \"{secret}\"]"),
        format!(
            "api_key: list[str] = [{}\"{secret}\"]",
            "\"a\", ".repeat(50)
        ),
    ] {
        let line = format!(r#"{{"text":{}}}"#, json(&text));
        let (done, secrets) = redacted(&line);
        assert_eq!(secrets.len(), 1, "{line}: {secrets:?}");
        assert_eq!(&*secrets[0].name, "api_key");
        assert!(!done.contains(&secret), "{done}");
    }
    for text in [
        r#"{"doc_tokens":["left","right","middle"],"keys":["ctrl","shift"]}"#.to_owned(),
        format!(r#"{{"names":["{secret}"]}}"#),
        format!(r#"{{"api_key":[{{"name":"{secret}"}}]}}"#),
        format!(r#"if token == ["{secret}"]"#),
        format!(r#"token = [row["{secret}"]]"#),
        format!(r#"token = [the word "{secret}"]"#),
        r#"api_key=['"]?[A-Za-z0-9_-]{20,}['"]?"#.to_owned(),
        r#"token=['"]([A-Za-z0-9_-]{20,})['"]"#.to_owned(),
        r#"secret=['"]?(sk_live_[0-9a-zA-Z]{24})['"]?"#.to_owned(),
        r#"api_key: ["]?([A-Za-z0-9]{20,})["]?"#.to_owned(),
        r#"api_key => ['"`]([A-Za-z0-9]{20,})['"`]"#.to_owned(),
        r#"token=["']([^"']{20,}[A-Z0-9]{4})[^"']"#.to_owned(),
        r#"token=["][A-Za-z0-9]+["]"#.to_owned(),
        r#"token=['"][A-Za-z0-9]+['"]"#.to_owned(),
        "'password' => ['required', 'min:12', 'max:255', 'regex:/[0-9]/']".to_owned(),
        "'password' => ['required', 'digits_between:4,8', 'min_digits:4']".to_owned(),
        "'password' => ['required_unless:role,admin2', 'nullable', 'unique:users,pw_2']".to_owned(),
        "'password' => ['required|min:8|max:255']".to_owned(),
        "'password' => 'required|string|min:8|confirmed'".to_owned(),
        format!("see token [1] and token [the \"{secret}\"]"),
        "tokens = ['Hello', 'x86_64', 'utf8mb4_general_ci', '##ing2', 'int32_t']".to_owned(),
        "token = ['LPAREN', 'STRING_2', 'IDENT']\nsecrets = ['OPENAI_API_KEY_2024']".to_owned(),
    ] {
        let line = format!(r#"{{"text":{}}}"#, json(&text));
        assert_eq!(redacted(&line).1, vec![], "{line}");
    }
}

/// Each array is read for itself, which must not take the square of their number.
#[cfg(unix)]
#[test]
fn arrays_that_are_not_closed_are_read_fast() {
    use std::time::Duration;

    for part in [
        r#""api_key":["a b","#,
        r#""api_key":[{"#,
        r#""api_key":[[1,"#,
        r#""api_key",["a b","#,
        r#""api_key",[{"api_key",[},"#,
        r#""api_key":["\""#,
        r#"api_key=['",'"',"#,
        "api_key = [ {a = 1}, ",
        "token>",
    ] {
        let short = time_to_search(&part.repeat(4_000));
        let long = time_to_search(&part.repeat(16_000));
        // The square would take 16 times as long.
        let most = short * 10 + Duration::from_millis(20);
        assert!(long < most, "{part}: {short:?}, {long:?}");
    }
}

/// Returns the least of three times: other processes can only make a search slower.
#[cfg(unix)]
fn time_to_search(text: &str) -> std::time::Duration {
    let measure = || {
        crate::session::thread_time::measure(|| {
            prefilter::NeedlePrefilter::for_rules().needed_searches(text.as_bytes());
            assignments::each_assignment(text.as_bytes(), |_| {});
        })
    };
    measure().min(measure()).min(measure())
}
