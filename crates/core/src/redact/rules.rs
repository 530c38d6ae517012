//! The table of rules for secrets that are recognized by the text around or within them.
//!
//! Secrets that begin with a known prefix are in `shapes.tsv`, and values that are assigned to a
//! name in `assignments.rs`. Strings that only look random are not covered, because entropy alone
//! would report every long identifier.

use super::keys::{PEM_LINE, contains_key, pem_key_range, putty_key_range};
use super::resemblance::{
    is_assigned_secret, is_mixed, is_passphrase, is_password, is_random, is_url_password,
};
use super::{assignments, cookies};
use regex::bytes::{Captures, Regex};
use std::ops::Range;
use std::sync::OnceLock;

/// A rule that recognizes secrets of one kind.
pub struct Rule {
    /// The name of the kind in placeholders and reports.
    pub kind: &'static str,
    /// The rule applies only to text that contains one of these literals. A literal must be in the
    /// raw bytes even if JSON escapes a slash or backslash in the secret. (Escaped letters are
    /// handled by the prefilter.) A literal may lack its first letter, which may be upper or lower
    /// case.
    pub keywords: &'static [&'static str],
    /// The expression. The secret is the first group that matched, or the whole match if none did.
    /// A `^` at its beginning is replaced by [`SECRET_START`].
    pattern: &'static str,
    /// Returns the range of the whole secret, given the text and the range of a match, which may be
    /// only a part of the secret.
    extend_range: fn(&[u8], Range<usize>) -> Range<usize>,
    /// Whether a match is a secret.
    is_secret: fn(&[u8]) -> bool,
    /// Whether a secret may follow a keyword, given the raw bytes after it, in which quotes may be
    /// escaped. Needed for keywords that are ordinary words.
    pub may_follow: fn(&[u8]) -> bool,
    /// Whether a match is not a secret, given the bytes before the match and the match.
    is_exempt: fn(&[u8], &[u8]) -> bool,
    /// Whether the secret is recognized by the text around it, so that the same text may be
    /// ordinary elsewhere.
    pub is_contextual: bool,
    compiled: OnceLock<Regex>,
}

/// Matches where a secret may begin if its beginning could also be the end of a word: at a word
/// boundary, or after `_`, a colour code, or a URL escape.
const SECRET_START: &str = r"(?:\b|_|\[[0-9;]{0,12}m|%[0-9A-Fa-f]{2})";

impl Rule {
    /// Returns a rule for which every match is a secret. The methods below restrict it, or set what
    /// only some rules need.
    const fn new(
        kind: &'static str,
        keywords: &'static [&'static str],
        pattern: &'static str,
    ) -> Rule {
        Rule {
            kind,
            keywords,
            pattern,
            extend_range: |_, range| range,
            is_secret: |_| true,
            may_follow: |_| true,
            is_exempt: |_, _| false,
            is_contextual: false,
            // Compiled when a line first needs the rule.
            compiled: OnceLock::new(),
        }
    }

    /// Accepts a match as a secret only if `is_secret` is true for it.
    const fn accepted_if(mut self, is_secret: fn(&[u8]) -> bool) -> Rule {
        self.is_secret = is_secret;
        self
    }

    /// Marks the rule as contextual: see [`Rule::is_contextual`].
    const fn recognized_in_context(mut self) -> Rule {
        self.is_contextual = true;
        self
    }

    /// Sets a function that extends the range of a match to the whole secret.
    const fn extended_by(mut self, whole_range: fn(&[u8], Range<usize>) -> Range<usize>) -> Rule {
        self.extend_range = whole_range;
        self
    }

    /// Makes a keyword count only if `may_follow` is true for the bytes after it.
    const fn followed_by(mut self, may_follow: fn(&[u8]) -> bool) -> Rule {
        self.may_follow = may_follow;
        self
    }

    /// Rejects a match if `is_known` is true for the bytes before the match and the match.
    const fn unless(mut self, is_known: fn(&[u8], &[u8]) -> bool) -> Rule {
        self.is_exempt = is_known;
        self
    }

    /// Returns the expression, which is compiled at the first call.
    pub fn expression(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            let secret_start = format!("(?-u){SECRET_START}");
            let pattern = self.pattern.replacen("(?-u)^", &secret_start, 1);
            Regex::new(&pattern).expect("each row of the table is tested")
        })
    }

    /// Returns the range of the secret in a match of the expression: the first group that matched,
    /// or else the whole match. The rule may extend it. `None` if the match is not a secret.
    pub fn secret_range(&self, text: &[u8], captures: &Captures) -> Option<Range<usize>> {
        let first_group = (1..captures.len()).find_map(|group| captures.get(group));
        let matched = first_group.or(captures.get(0))?;
        let range = (self.extend_range)(text, matched.range());
        let secret = &text[range.clone()];
        let is_exempt = (self.is_exempt)(&text[..range.start], secret);
        if is_exempt || !(self.is_secret)(secret) {
            return None;
        }
        Some(range)
    }
}

/// Whether a key is an example from documentation: it contains `EXAMPLE`, or is a widely known one.
pub fn is_example(secret: &[u8]) -> bool {
    // The test key of Stripe's documentation, and the payload of the token on jwt.io.
    const KNOWN: [&[u8]; 2] = [
        b"4eC39HqLyjWDarjtT1zdp7dc",
        b".eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lIiwi",
    ];
    let has = |part: &[u8]| memchr::memmem::find(secret, part).is_some();
    has(b"EXAMPLE") || KNOWN.iter().any(|known| has(known))
}

/// Whether secrets of this kind are recognized by the text around them, so that the same text may
/// be ordinary elsewhere.
pub fn is_contextual(kind: &str) -> bool {
    let is_rule = RULES
        .iter()
        .any(|rule| rule.kind == kind && rule.is_contextual);
    is_rule || assignments::KINDS.contains(&kind) || kind == cookies::KIND
}

/// Whether `user:password@` may follow the keyword in an address, which ends with the `://` or a
/// part of it: true for `bob:x9Qd@host`, but not for `host/path`. Most addresses have neither user
/// nor password, so this rules out nearly all lines with a `://`.
fn has_user_info(after_keyword: &[u8]) -> bool {
    let near = &after_keyword[..after_keyword.len().min(LONGEST_USER_INFO)];
    // The keyword may lack some slashes, because JSON may write `://` as `:\/\/`.
    let slashes = near
        .iter()
        .take_while(|byte| matches!(byte, b'/' | b'\\'))
        .count();

    let mut has_colon = false;
    for byte in &near[slashes..] {
        match byte {
            b':' => has_colon = true,
            b'@' if has_colon => return true,
            // The host has ended before an `@`. The rest is the path, or not part of the address.
            b' ' | b'/' | b'"' | b'\'' | b'\\' => return false,
            _ => {}
        }
    }
    false
}

/// The number of bytes in which [`has_user_info`] searches for an `@`: a little more than the rule
/// allows for the user, the colon and the password.
const LONGEST_USER_INFO: usize = 320;

/// Whether a password in a URL is a default, not a secret: one such as `guest`, or the same as the
/// user name, as in `amqp://bob:bob@host`. `before` is the text before the password, which ends
/// with the user name and a colon.
fn is_default_login(before: &[u8], password: &[u8]) -> bool {
    const DEFAULTS: [&[u8]; 8] = [
        b"admin",
        b"anonymous",
        b"guest",
        b"minioadmin",
        b"mysql",
        b"postgres",
        b"root",
        b"test",
    ];
    // `before` ends with `://user:`.
    let login = before.strip_suffix(b":").unwrap_or(before);
    let user_start = match login.iter().rposition(|&byte| byte == b'/') {
        Some(slash) => slash + 1,
        None => 0,
    };
    let user = &login[user_start..];
    user == password || DEFAULTS.contains(&password)
}

/// Whether a Discord token may continue after the keyword, which ends with the first letter of the
/// second part of the token. Five more characters of this part and a dot must follow.
fn continues_discord_token(after_keyword: &[u8]) -> bool {
    let is_token_byte = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    match after_keyword.split_at_checked(5) {
        Some((second_part, after)) => {
            after.starts_with(b".") && second_part.iter().all(is_token_byte)
        }
        None => false,
    }
}

/// Whether a Facebook token may continue after the bar that follows the number of the app: at least
/// 27 characters must follow.
fn continues_facebook_token(after_bar: &[u8]) -> bool {
    /// The number of characters that the rule requires after the bar.
    const MIN_TOKEN_LEN: usize = 27;

    let is_token_byte = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    match after_bar.get(..MIN_TOKEN_LEN) {
        Some(token) => token.iter().all(is_token_byte),
        None => false,
    }
}

/// Whether the word `password` follows `machine` or `login`, as in a netrc file.
fn has_password_word(rest: &[u8]) -> bool {
    let rest = &rest[..rest.len().min(300)];
    memchr::memmem::find(rest, b"password").is_some()
}

/// Whether an option that may have a user and a password follows the name of a program.
fn has_login_option(rest: &[u8]) -> bool {
    let rest = &rest[..rest.len().min(700)];
    let has = |option: &[u8]| memchr::memmem::find(rest, option).is_some();
    has(b" -u") || has(b"-user") || has(b" -U") || has(b" -a") || has(b"--auth")
}

/// An expression for a shell word without quotes, of at least `$least` characters. The line break
/// or quote that ends it may be written as an escape.
macro_rules! bare_word {
    ($least:literal) => {
        concat!(r#"((?:[^\s"'`|;\\]|\\[^nrtu"']){"#, $least, ",200})")
    };
}

/// An expression for an argument of at least `$least` characters, with or without quotes.
/// Characters that end a command, such as `|`, are allowed only in quotes.
macro_rules! argument {
    ($least:literal) => {
        concat!(
            r"(?:'([^'\s]{",
            $least,
            r#",200})'|"([^"\s]{"#,
            $least,
            r#",200})"|["']?"#,
            bare_word!($least),
            ")"
        )
    };
}

/// Whether an option occurs in the bytes after the name of a program.
fn has_option(rest: &[u8], option: &[u8]) -> bool {
    let near = &rest[..rest.len().min(400)];
    memchr::memmem::find(near, option).is_some()
}

/// The table of rules. More specific rules come first: if two match the same bytes, the first
/// determines the kind.
pub static RULES: [Rule; 43] = [
    Rule::new("private-key", &["PRIVATE KEY"], PEM_LINE)
        .accepted_if(contains_key)
        .extended_by(pem_key_range),
    Rule::new(
        "putty-key",
        &["PuTTY-User-Key-File"],
        r"(?-u)PuTTY-User-Key-File-[23]:",
    )
    .accepted_if(contains_key)
    .extended_by(putty_key_range),
    Rule::new(
        "openai-key",
        &["T3BlbkFJ"],
        r"(?-u)sk-(?:[a-z]+-)?[A-Za-z0-9_-]{20,80}T3BlbkFJ[A-Za-z0-9_-]{20,80}",
    ),
    Rule::new(
        "aws-secret-key",
        &[
            "ws_secret_access_key",
            "WS_SECRET_ACCESS_KEY",
            "ecretAccessKey",
            "SecretKey",
        ],
        concat!(
            r"(?i-u)(?:aws_secret_access_key|secretaccesskey|aws_?secretkey)",
            r#"["'\\]*\s*[:=]\s*["'\\]*([A-Za-z0-9/+]{40})(?:[^A-Za-z0-9/+]|$)"#,
        ),
    )
    .accepted_if(is_mixed),
    Rule::new(
        "azure-storage-key",
        &["AccountKey=", "SharedAccessKey="],
        r"(?-u)(?:Account|SharedAccess)Key=([A-Za-z0-9+/]{42,88}={1,2})",
    ),
    Rule::new(
        "azure-client-secret",
        &[
            "0Q~", "1Q~", "2Q~", "3Q~", "4Q~", "5Q~", "6Q~", "7Q~", "8Q~", "9Q~",
        ],
        r"(?-u)[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",
    )
    .accepted_if(is_mixed),
    Rule::new(
        "azure-key",
        &[
            "JQQJ99", "AZDO", "+ASt", "AzCa", "AzSe", "AzFu", "+ABa", "+ACR", "+ARm", "+AMC",
            "+AEh", "+ACDb",
        ],
        concat!(
            r"(?-u)^((?:[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{26}",
            r"|[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}|[A-Za-z0-9+/]{76}\+(?:ASt|ABa|AMC)",
            r"[A-Za-z0-9+/]{5}[AQgw]==|[A-Za-z0-9+/]{42}\+(?:ACR|ARm|AEh|ACDb)",
            r"[A-Za-z0-9+/=]{6,8}|[A-Za-z0-9_-]{44}AzFu[A-Za-z0-9_=-]{5,8}",
            r"|[A-Za-z0-9]{42}AzSe[A-Za-z0-9]{6}))",
        ),
    )
    .accepted_if(is_mixed),
    Rule::new(
        "terraform-token",
        &[".atlasv1."],
        r"(?-u)[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,70}",
    ),
    Rule::new(
        "telegram-token",
        &[":AA"],
        r"(?-u)([0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?:[^A-Za-z0-9_-]|$)",
    )
    .accepted_if(is_mixed),
    Rule::new(
        "mailchimp-key",
        &["-us"],
        r"(?-u)^([0-9a-f]{32}-us[0-9]{1,2}\b)",
    )
    .accepted_if(is_mixed),
    Rule::new(
        "discord-token",
        &[".G", ".X", ".Y", ".Z"],
        r"(?-u)[MNO][A-Za-z0-9_-]{22,26}\.[GXYZ][A-Za-z0-9_-]{5}\.[A-Za-z0-9_-]{27,40}",
    )
    .accepted_if(is_random)
    .followed_by(continues_discord_token),
    Rule::new(
        "teams-webhook",
        &["webhook.office.com"],
        concat!(
            r"(?-u)webhook\.office\.com/webhookb2/",
            r"([0-9a-z@-]{60,80}/IncomingWebhook/[0-9a-z]{32}/[0-9a-z-]{36}",
            r"(?:/[A-Za-z0-9_-]+)?)",
        ),
    )
    .accepted_if(is_mixed),
    Rule::new(
        "facebook-token",
        &["|"],
        r"(?-u)^([0-9]{15,16}\|[A-Za-z0-9_-]{27,40})",
    )
    .accepted_if(is_mixed)
    .followed_by(continues_facebook_token),
    Rule::new(
        "dropbox-token",
        &["AAAAAAAAAA"],
        r"(?-u)^([A-Za-z0-9]{11}AAAAAAAAAA[A-Za-z0-9_=-]{43})",
    ),
    Rule::new(
        "maxmind-key",
        &["_mmk"],
        r"(?-u)^([A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk)",
    )
    .accepted_if(is_mixed),
    Rule::new("jwt", &["ZXlK"], r"(?-u)ZXlK[A-Za-z0-9+/_-]{60,2000}={0,2}").accepted_if(is_mixed),
    Rule::new(
        "jwt",
        &["eyJ"],
        r"(?-u)eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}",
    ),
    Rule::new(
        "authorization",
        &[
            "uthorization",
            "UTHORIZATION",
            "earer ",
            "-api-key",
            "-Api-Key",
            "-API-KEY",
            "rivate-token",
            "RIVATE-TOKEN",
            "-auth-token",
            "-Auth-Token",
        ],
        concat!(
            r#"(?i-u)\b(?:authorization["'\\]*\s*[:=]\s*["'\\]*(?:bearer|basic|token"#,
            r"|apikey)\s+|bearer\s+|(?:x-api-key|api-key|x-auth-token|x-access-token",
            r#"|private-token)["'\\]*\s*[:=]\s*["'\\]*)([A-Za-z0-9._~+/-]{12,}=*)"#,
        ),
    )
    .accepted_if(is_random)
    .recognized_in_context(),
    Rule::new(
        "url-password",
        &["://", ":\\/", ":\\\\"],
        concat!(
            r#"(?-u)\b[A-Za-z][A-Za-z0-9+.-]{1,30}://[^\s/:@"'`<>\\\[]{0,100}:"#,
            r#"([^\s/"'\\]{3,200})@[A-Za-z0-9\[]"#,
        ),
    )
    .accepted_if(is_url_password)
    .recognized_in_context()
    .followed_by(has_user_info)
    .unless(is_default_login),
    Rule::new(
        "url-parameter",
        &["ignature=", "sig="],
        r"(?i-u)[?&;](?:[a-z0-9-]{0,20}signature|sig)=([A-Za-z0-9%+/=_-]{20,500})",
    )
    .accepted_if(is_mixed)
    .recognized_in_context(),
    Rule::new(
        "connection-password",
        &["assword=", "ASSWORD=", "Pwd=", "pwd=", "PWD="],
        r#"(?i-u);\s*(?:password|pwd)\s*=\s*([^;"'\s\\]{4,200})"#,
    )
    .accepted_if(is_password)
    .recognized_in_context(),
    Rule::new(
        "netrc-password",
        &["machine", "login"],
        concat!(
            r"(?-u)\b(?:machine\s+\S+|default)\s+(?:login\s+\S+\s+)?password\s+",
            r#"((?:[^\s"'`\\]|\\[^nrtu"']){3,200})"#,
        ),
    )
    .accepted_if(is_password)
    .recognized_in_context()
    .followed_by(has_password_word),
    Rule::new(
        "pgpass-password",
        &[":5432:", ":5433:", ":6432:", ":*:"],
        concat!(
            r#"(?m-u)(?:^|[\s"'`>:+|-])[A-Za-z0-9_.*/-]+:(?:[0-9]{2,5}|\*)"#,
            r":[A-Za-z0-9_.*-]+:[A-Za-z0-9_-][A-Za-z0-9_.-]*:",
            r#"([^\s"'`<&\\]{3,200})(?:[\s"'`<&]|\\[nr"]|$)"#,
        ),
    )
    .accepted_if(is_password)
    .recognized_in_context(),
    Rule::new(
        "sql-password",
        &["IDENTIFIED", "identified", "PASSWORD ", "password "],
        concat!(
            r"(?i-u)\b(?:identified\s+(?:with\s+\S+\s+)?(?:by|as)(?:\s+password)?|(?:role",
            r#"|user|encrypted|with|set)\b[^'";]{0,100}?\bpassword"#,
            r#"(?:\s+for\b[^'";=]{0,60}=)?)\s+["']([^"'\s]{4,200})["']"#,
        ),
    )
    .accepted_if(is_password)
    .recognized_in_context(),
    Rule::new(
        "command-password",
        &["sshpass"],
        concat!(r"(?-u)\bsshpass\s+-p\s*", argument!("3")),
    )
    .accepted_if(is_password)
    .recognized_in_context(),
    Rule::new(
        "command-password",
        &["mysql", "mariadb", "mycli"],
        concat!(
            r"(?-u)\b(?:mysql[a-z]*|mariadb[a-z-]*|mycli)\b[^\n|;]{0,200}?\s-p",
            argument!("4"),
        ),
    )
    .accepted_if(is_passphrase)
    .recognized_in_context(),
    Rule::new(
        "command-password",
        &["login", "twine"],
        concat!(
            r"(?-u)\b(?:login|twine)\b[^\n|;]{0,200}?\s-p[\s=]+",
            argument!("4"),
        ),
    )
    .accepted_if(is_passphrase)
    .recognized_in_context(),
    Rule::new(
        "command-password",
        &["redis-cli", "redis"],
        concat!(
            r"(?-u)\bredis-cli\b[^\n|;]{0,100}?\s(?:-a|--pass)[\s=]+",
            argument!("4"),
        ),
    )
    .accepted_if(is_password)
    .recognized_in_context(),
    Rule::new(
        "command-password",
        &["curl", "http", "wget"],
        concat!(
            r"(?-u)\b(?:curl|https?|xh|wget)\b[^\n|]{0,600}?\s(?:-u|(?:--user|--proxy-user",
            r#"|-U|-a|--auth)[\s="'])[\s="']{0,3}[^\s:"'`/\\]{1,100}:"#,
            r#"((?:[^\s"'`\\]|\\[^nrtu"']){3,200})"#,
        ),
    )
    .accepted_if(is_password)
    .recognized_in_context()
    .followed_by(has_login_option),
    Rule::new(
        "command-password",
        &["pass:"],
        r#"(?-u)\s-(?:pass|passin|passout)[\s="']+pass:([^\s"'`]{3,200})"#,
    )
    .accepted_if(is_password)
    .recognized_in_context(),
    Rule::new(
        "command-password",
        &["stdin", "with-token", "chpasswd", "sudo"],
        concat!(
            r#"(?-u)\b(?:echo|printf)\s+(?:-n\s+)?["']?(?:[a-z_][a-z0-9_-]*:)?"#,
            r#"([^\s"'`|]{4,200})["']?\s*\|\s*(?:[^\n|;]{0,200}--(?:password-stdin|with-token)"#,
            r"|sudo\s+(?:-S|chpasswd)|chpasswd)",
        ),
    )
    .accepted_if(is_passphrase)
    .recognized_in_context(),
    Rule::new(
        "command-password",
        &["zip"],
        concat!(
            r"(?-u)\b(?:un)?zip\b[^\n|;]{0,200}?\s-P[\s=]*",
            argument!("4")
        ),
    )
    .accepted_if(is_passphrase)
    .recognized_in_context()
    .followed_by(|rest| has_option(rest, b" -P") || has_option(rest, b"+-P")),
    Rule::new(
        "command-password",
        &["7z"],
        concat!(r"(?-u)\b7z[arz]?\b[^\n|;]{0,200}?\s-p", argument!("4")),
    )
    .accepted_if(is_passphrase)
    .recognized_in_context(),
    Rule::new(
        "command-password",
        &["ldap"],
        concat!(
            r"(?-u)\bldap[a-z]+\b[^\n|;]{0,300}?\s-w[\s=]*",
            argument!("4")
        ),
    )
    .accepted_if(is_passphrase)
    .recognized_in_context()
    .followed_by(|rest| has_option(rest, b" -w")),
    Rule::new(
        "command-password",
        &["sqlcmd", "isql"],
        concat!(
            r"(?-u)\b(?:sqlcmd|isql)\b[^\n|;]{0,300}?\s-P[\s=]*",
            argument!("4")
        ),
    )
    .accepted_if(is_passphrase)
    .recognized_in_context(),
    Rule::new(
        "command-password",
        &["sqlplus"],
        r#"(?-u)\bsqlplus\s+(?:-[A-Za-z]+\s+)*["']?[^\s"'/@]{1,60}/([^\s"'@]{4,200})@"#,
    )
    .accepted_if(is_passphrase)
    .recognized_in_context(),
    Rule::new(
        "command-password",
        &["smbclient", "lftp"],
        concat!(
            r#"(?-u)\b(?:smbclient\b[^\n|;]{0,200}?\s-U[\s="']*[^\s"'%]{1,60}%"#,
            r#"|lftp\b[^\n|;]{0,200}?\s-u[\s="']*[^\s"',]{1,60},)"#,
            bare_word!("4"),
        ),
    )
    .accepted_if(is_passphrase)
    .recognized_in_context(),
    Rule::new(
        "command-password",
        &["useradd", "usermod", "nmcli"],
        concat!(
            r"(?-u)\b(?:user(?:add|mod)\b[^\n|;]{0,200}?\s-p",
            r"|nmcli\b[^\n|;]{0,200}?\spassword)[\s=]+",
            argument!("4"),
        ),
    )
    .accepted_if(is_passphrase)
    .recognized_in_context(),
    Rule::new(
        "command-token",
        &[
            "add-authtoken",
            "wandb login",
            "codecov",
            "secret set",
            "secret put",
        ],
        concat!(
            r"(?-u)\b(?:add-authtoken|wandb\s+login|codecov\b[^\n|;]{0,100}?\s-t",
            r"|secret\s+set\s+\S{1,80}\s+(?:-b|--body)|secret\s+put\s+\S{1,80}\s+<<<)[\s=]+",
            argument!("8"),
        ),
    )
    .accepted_if(is_assigned_secret)
    .recognized_in_context(),
    Rule::new(
        "setting-password",
        &["bindpw", "rootpw", "requirepass", "masterauth", "auth_pass"],
        concat!(
            r"(?-u)\b(?:bindpw|rootpw|requirepass|masterauth|auth_pass)\s+",
            argument!("4"),
        ),
    )
    .accepted_if(is_passphrase)
    .recognized_in_context(),
    Rule::new(
        "setting-password",
        &["psk="],
        r#"(?-u)\bpsk="([^"\s]{8,63})""#,
    )
    .accepted_if(is_passphrase)
    .recognized_in_context(),
    Rule::new(
        "argument-password",
        &["ConvertTo-SecureString", "getConnection"],
        concat!(
            r#"(?-u)\b(?:ConvertTo-SecureString\s+(?:-String\s+)?"#,
            r#"|getConnection\([^()\n]{0,200}?,\s*"[^"\n]{1,100}",\s*)["']([^"'\s]{4,200})["']"#,
        ),
    )
    .accepted_if(is_passphrase)
    .recognized_in_context(),
    Rule::new(
        "kaggle-key",
        &["username"],
        r#"(?-u)"username"\s*:\s*"[^"]{1,100}"\s*,\s*"key"\s*:\s*"([0-9a-f]{32})""#,
    )
    .accepted_if(is_mixed)
    .recognized_in_context()
    .followed_by(|rest| memchr::memmem::find(&rest[..rest.len().min(140)], b"key").is_some()),
];
