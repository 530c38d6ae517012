//! Secrets given by the user: values of dotenv files, lines of secret files.

use super::resemblance::is_common_setting;
use super::rules::is_contextual;
use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use regex::bytes::{Captures, Regex};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A value to remove, wherever it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value {
    /// The kind in its placeholder: `env`, `secret`, or the kind of a rule.
    pub kind: &'static str,
    /// The secret itself.
    pub bytes: Vec<u8>,
}

impl Value {
    /// Whether it may be ordinary elsewhere: a number in a dotenv file, or what was recognized by
    /// its surroundings, and is shorter than eight characters or consists of letters. The latter is
    /// replaced only where it was recognized.
    pub fn is_ordinary(&self) -> bool {
        let text = String::from_utf8_lossy(&self.bytes);
        let is_word = || text.chars().count() < 8 || text.chars().all(char::is_alphabetic);
        is_contextual(self.kind) && is_word()
            || self.kind == "env" && text.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// Whether it is shorter than six characters, and so occurs by chance in ordinary text.
    pub fn is_short(&self) -> bool {
        std::str::from_utf8(&self.bytes).map_or(self.bytes.len(), |text| text.chars().count()) < 6
    }
}

/// Reads one value per line; blank lines are skipped.
pub fn from_secret_file(text: &[u8]) -> Vec<Value> {
    let lines = text
        .split(|&byte| byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty());
    lines
        .map(|line| Value {
            kind: "secret",
            bytes: line.to_vec(),
        })
        .collect()
}

/// Matches an assignment of a dotenv file. A value in quotes may span lines; one without them ends
/// before a comment.
const ASSIGNMENT: &str = r#"(?mx-u) ^ [\t\r\x0c\ ]* (?: [^\t\r\x0c\ \n\#=] [^\n=]* )? = [\t\ ]* (?:
    " (?<escaped> (?: \\[\x00-\xff] | [^"] )* ) "? | ' (?<single> [^']* ) '? | ` (?<tick> [^`]* ) `?
    | (?<plain> [^\n]*? ) (?: \ \#[^\n]* )? $ )"#;

/// Reads the values of a dotenv file: `NAME=value`, `export NAME='value'`, `#` comments, double
/// quotes with escapes and line breaks. Common values (`production`, `localhost`) are skipped.
pub fn from_env_file(text: &[u8]) -> Vec<Value> {
    static ASSIGNMENTS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(ASSIGNMENT).expect("a constant"));
    static ESCAPES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?s-u)\\(.)").expect("a constant"));
    let character = |escape: &Captures| {
        if &escape[1] == b"n" {
            vec![b'\n']
        } else {
            escape[1].to_vec()
        }
    };
    let mut values = Vec::new();
    for assignment in ASSIGNMENTS.captures_iter(text) {
        let of = |name| assignment.name(name).map(|value| value.as_bytes());
        let value = match of("escaped") {
            Some(value) => ESCAPES.replace_all(value, character),
            None => of("single")
                .or(of("tick"))
                .or(of("plain").map(<[u8]>::trim_ascii))
                .unwrap_or_default()
                .into(),
        };
        if !value.is_empty() && !is_common_setting(&value) {
            values.push(Value {
                kind: "env",
                bytes: value.into_owned(),
            });
        }
    }
    values
}

/// Finds exact values in text, even if they are URL- or base64-encoded.
#[derive(Debug, Default)]
pub struct Exact {
    searcher: Option<AhoCorasick>,
    /// For each spelling, the index of its value.
    spelled: Vec<usize>,
    /// Literals, at least one of which is in the raw bytes of every line that contains a value.
    pub needles: Vec<Vec<u8>>,
}

impl Exact {
    /// Returns a searcher for these values.
    pub fn new(values: &[Value]) -> Exact {
        let mut spellings: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        for (at, value) in values.iter().enumerate() {
            for spelling in spellings_of(&value.bytes) {
                spellings.entry(spelling).or_insert(at);
            }
        }
        let needles = spellings
            .keys()
            .flat_map(|spelling| raw_needles(spelling))
            .collect();
        let (patterns, spelled): (Vec<_>, Vec<_>) = spellings.into_iter().unzip();
        let searcher = (!patterns.is_empty()).then(|| {
            let mut builder = AhoCorasickBuilder::new();
            builder
                .match_kind(MatchKind::LeftmostLongest)
                .build(patterns)
                .expect("values of a file fit")
        });
        Exact {
            searcher,
            spelled,
            needles,
        }
    }

    /// Calls `found` with each occurrence and the index of its value.
    pub fn each(&self, text: &[u8], found: &mut dyn FnMut(std::ops::Range<usize>, usize)) {
        let Some(searcher) = &self.searcher else {
            return;
        };
        for hit in searcher.find_iter(text) {
            found(hit.range(), self.spelled[hit.pattern().as_usize()]);
        }
    }
}

/// Returns the value as it is, percent-encoded, and in base64.
fn spellings_of(value: &[u8]) -> Vec<Vec<u8>> {
    let upper = percent(value, |byte| format!("%{byte:02X}"));
    let mut spellings = vec![
        value.to_vec(),
        upper,
        percent(value, |byte| format!("%{byte:02x}")),
    ];
    // A shorter one may be ordinary text.
    spellings.extend(
        base64_spellings(value)
            .into_iter()
            .filter(|spelling| spelling.len() >= 10),
    );
    spellings
}

/// Returns a text in base64 at each of the three alignments, without the digits that depend on its
/// neighbours, in both alphabets.
pub(super) fn base64_spellings(text: &[u8]) -> Vec<Vec<u8>> {
    let mut spellings = Vec::new();
    for shift in 0..3 {
        let shifted = [&[0; 2][..shift], text].concat();
        let (first, end) = ((shift * 8).div_ceil(6), shifted.len() * 8 / 6);
        for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
            spellings.extend(
                engine
                    .encode(&shifted)
                    .as_bytes()
                    .get(first..end)
                    .map(<[u8]>::to_vec),
            );
        }
    }
    spellings
}

fn percent(value: &[u8], escape: fn(u8) -> String) -> Vec<u8> {
    let is_plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    let spelled = |&byte: &u8| {
        if is_plain(byte) {
            vec![byte]
        } else {
            escape(byte).into_bytes()
        }
    };
    value.iter().flat_map(spelled).collect()
}

/// Returns literals, at least one of which is in the raw bytes wherever the spelling is in the
/// text: its longest run of characters that JSON writes in only one way, if that is long enough.
/// Letters written as `\u00…` are handled elsewhere.
pub(super) fn raw_needles(spelling: &[u8]) -> Vec<Vec<u8>> {
    let plain = |byte: &u8| (0x20..0x7f).contains(byte) && !matches!(byte, b'"' | b'\\' | b'/');
    let runs = spelling
        .chunk_by(|a, b| plain(a) && plain(b))
        .filter(|run| run.iter().all(plain));
    match runs
        .max_by_key(|run| run.len())
        .filter(|run| run.len() >= 3)
    {
        Some(run) => vec![run.to_vec()],
        // Without such a run: any escape, and the first bytes of the spelling.
        None => {
            let escapes = br#"u\"/nrtbf"#.iter().map(|&letter| vec![b'\\', letter]);
            escapes
                .chain([spelling[..spelling.len().min(3)].to_vec()])
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(text: &str) -> Vec<String> {
        let values = from_env_file(text.as_bytes())
            .into_iter()
            .filter(|value| !value.is_short());
        values
            .map(|value| String::from_utf8(value.bytes).unwrap())
            .collect()
    }

    #[test]
    fn dotenv_files_are_read_as_their_tools_do() {
        let text = "# A_KEY=commented9out\nexport A_KEY = 'sin gle7quoted'\nB_KEY=plain8value # note\n\nC_KEY=\"two\\nlines\\\" and 1 more\"\nPORT=8080\nDEBUG=true\nNODE_ENV=production\nD_KEY=`tick9ed1`\nE=";
        assert_eq!(
            env(text),
            [
                "sin gle7quoted",
                "plain8value",
                "two\nlines\" and 1 more",
                "tick9ed1"
            ]
        );
        let values = from_env_file(b"SECRET=abc\nPASSWORD=12345\n");
        assert_eq!(
            values.iter().map(Value::is_short).collect::<Vec<_>>(),
            [true, true]
        );
    }

    #[test]
    fn values_are_found_in_every_encoding() {
        let value = Value {
            kind: "secret",
            bytes: b"p@ss/word:42".to_vec(),
        };
        let exact = Exact::new(std::slice::from_ref(&value));
        let hits = |text: &[u8]| {
            let mut hits = 0;
            exact.each(text, &mut |_, _| hits += 1);
            hits
        };
        assert_eq!(
            hits(b"x p@ss/word:42 y p%40ss%2Fword%3A42 p%40ss%2fword%3a42"),
            3
        );
        for before in ["", "u", "us", "user:"] {
            let text = STANDARD_NO_PAD.encode([before.as_bytes(), &value.bytes, b"after"].concat());
            assert_eq!(hits(text.as_bytes()), 1, "{before}");
        }
        assert!(exact.needles.iter().all(|needle| needle.len() >= 3));
        assert!(raw_needles(b"/a/b/c").contains(&br"\/".to_vec()));
    }
}
