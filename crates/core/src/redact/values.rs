//! Reads the values that the user wants removed, from dotenv and secret files, and searches for
//! values in all their encodings.

use super::base64_digits::BITS_PER_DIGIT;
use super::resemblance::is_common_setting;
use super::rules::is_contextual;
use super::shapes::SHAPES;
use super::windows::{self, LiteralWindow, WINDOW, WindowIndex};
use aho_corasick::{AhoCorasick, AhoCorasickBuilder, MatchKind};
use base64::Engine;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use foldhash::HashSet;
use regex::bytes::{Captures, Regex};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, LazyLock};

/// A value to remove from all places.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SecretValue {
    /// The kind in the placeholder: `env`, `secret`, or the kind of a rule.
    pub kind: &'static str,
    /// The secret itself.
    pub bytes: Arc<[u8]>,
}

impl SecretValue {
    /// Whether the same text may be ordinary in other places. One case is a number from a dotenv
    /// file. The other is a secret of a contextual kind that is shorter than eight characters, or
    /// consists only of letters. Such a secret is replaced only where it was recognized.
    pub fn is_ordinary(&self) -> bool {
        let text = String::from_utf8_lossy(&self.bytes);
        if self.kind == "env" && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return true;
        }
        let may_be_word =
            text.chars().count() < SHORTEST_UNCOMMON || text.chars().all(char::is_alphabetic);
        is_contextual(self.kind) && may_be_word
    }

    /// Returns the length in bytes of the longest prefix in the table of shapes with which the
    /// value begins: it is no secret. 0 if there is none.
    pub fn shape_prefix_len(&self) -> usize {
        let prefixes = SHAPES.iter().map(|shape| shape.prefix);
        let own_prefixes = prefixes.filter(|prefix| self.bytes.starts_with(prefix.as_bytes()));
        own_prefixes.map(str::len).max().unwrap_or_default()
    }

    /// Whether the value has fewer than six characters, so that it may occur in ordinary text by
    /// chance.
    pub fn is_short(&self) -> bool {
        let characters = match std::str::from_utf8(&self.bytes) {
            Ok(text) => text.chars().count(),
            Err(_) => self.bytes.len(),
        };
        characters < SHORTEST_DISTINCTIVE
    }
}

/// The minimum number of characters of a secret of a contextual kind that is not ordinary text.
const SHORTEST_UNCOMMON: usize = 8;

/// The minimum number of characters of a value that is unlikely to occur in ordinary text.
const SHORTEST_DISTINCTIVE: usize = 6;

/// Reads one value per line, without the white space around it. Blank lines are skipped. Every
/// value counts as a secret, whatever its form.
pub fn from_secret_file(text: &[u8]) -> Vec<SecretValue> {
    let mut values = Vec::new();
    for line in text.split(|&byte| byte == b'\n') {
        let secret = line.trim_ascii();
        if !secret.is_empty() {
            values.push(SecretValue {
                kind: "secret",
                bytes: secret.into(),
            });
        }
    }
    values
}

/// Matches an assignment of a dotenv file. A value in quotes may span lines. A value without quotes
/// ends before a comment.
const ASSIGNMENT: &str = r#"(?mx-u) ^ [\t\r\x0c\ ]* (?: [^\t\r\x0c\ \n\#=] [^\n=]* )? = [\t\ ]* (?:
    " (?<escaped> (?: \\[\x00-\xff] | [^"] )* ) "? | ' (?<single> [^']* ) '? | ` (?<tick> [^`]* ) `?
    | (?<plain> [^\n]*? ) (?: \ \#[^\n]* )? $ )"#;

/// Reads the values of a dotenv file: `NAME=value`, `export NAME='value'`, `#` comments, double
/// quotes with escapes and line breaks. Common values (`production`, `localhost`) are skipped,
/// because removing them would hide nothing.
pub fn from_env_file(text: &[u8]) -> Vec<SecretValue> {
    static ASSIGNMENTS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(ASSIGNMENT).expect("a constant"));

    let mut values = Vec::new();
    for assignment in ASSIGNMENTS.captures_iter(text) {
        let Some(value) = read_env_value(&assignment) else {
            continue;
        };
        if !value.is_empty() && !is_common_setting(&value) {
            values.push(SecretValue {
                kind: "env",
                bytes: value.into(),
            });
        }
    }
    values
}

/// Returns the value of a match of [`ASSIGNMENT`], which has one group for each kind of quotes, and
/// one for no quotes. `None` if none of the groups matched. Only double quotes have escapes.
fn read_env_value<'t>(assignment: &Captures<'t>) -> Option<Cow<'t, [u8]>> {
    static ESCAPES: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?s-u)\\(.)").expect("a constant"));

    if let Some(escaped) = assignment.name("escaped") {
        return Some(ESCAPES.replace_all(escaped.as_bytes(), decode_escape));
    }
    if let Some(literal) = assignment.name("single").or(assignment.name("tick")) {
        return Some(Cow::Borrowed(literal.as_bytes()));
    }
    let plain = assignment.name("plain")?;
    Some(Cow::Borrowed(plain.as_bytes().trim_ascii()))
}

/// Returns the character of an escape in double quotes: a line break for `\n`, and the character
/// after the backslash for any other escape.
fn decode_escape(escape: &Captures) -> Vec<u8> {
    if &escape[1] == b"n" {
        vec![b'\n']
    } else {
        escape[1].to_vec()
    }
}

/// A search for exact values in text, even if they are encoded for a URL or HTML, or in base64.
#[derive(Debug, Default)]
pub struct ValueSearch {
    /// The values to find.
    pub values: Vec<SecretValue>,
    /// Finds the spellings that have at least [`WINDOW`] bytes. The number of a literal is
    /// [`SpellingId::to_number`].
    windows: WindowIndex,
    /// Finds the spellings that are shorter than a window; `None` if there are none.
    short: Option<AhoCorasick>,
    /// For each pattern of `short`, the index of its value.
    short_values: Vec<usize>,
    /// Literals for the prefilter. The raw bytes of every line with a value contain one of them, or
    /// a window.
    pub needles: Vec<Vec<u8>>,
}

impl ValueSearch {
    /// Returns a search for these values in all their spellings.
    ///
    /// A spelling is found by a window, or as a whole if it is shorter than a window. JSON may
    /// escape some bytes. If such bytes are in the window, the raw bytes of a line need not contain
    /// the window, so the spelling also has needles.
    pub fn new(values: Vec<SecretValue>) -> ValueSearch {
        let mut windows = windows::WindowIndexBuilder::default();
        // For each spelling that is shorter than a window, the index of the first value with this
        // spelling.
        let mut short_spellings: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        let mut needles = BTreeSet::new();
        for (value_index, value) in values.iter().enumerate() {
            for Spelling { form_index, bytes } in distinct_spellings(&value.bytes) {
                let id = SpellingId {
                    value_index,
                    form_index,
                };
                let number = id.to_number();
                let plain_run = longest_plain_run(&bytes);
                if plain_run.len() >= WINDOW {
                    windows.add_literal(number, &bytes, plain_run);
                    continue;
                }

                needles.extend(raw_needles(&bytes));
                if bytes.len() >= WINDOW {
                    windows.add_literal(number, &bytes, 0..bytes.len());
                } else {
                    short_spellings.entry(bytes).or_insert(value_index);
                }
            }
        }

        // The automaton numbers its patterns in the order of the spellings.
        let mut patterns = Vec::new();
        let mut short_values = Vec::new();
        for (spelling, value_index) in short_spellings {
            patterns.push(spelling);
            short_values.push(value_index);
        }
        ValueSearch {
            values,
            windows: windows.finish(),
            short: build_automaton(patterns),
            short_values,
            needles: needles.into_iter().collect(),
        }
    }

    /// Returns the values of this search, followed by each value of `more` that is not among them.
    pub fn into_values_with(self, more: Vec<SecretValue>) -> Vec<SecretValue> {
        let mut values = self.values;
        if values.is_empty() {
            return more;
        }
        let known: HashSet<Arc<[u8]>> = values.iter().map(|value| value.bytes.clone()).collect();
        for value in more {
            if !known.contains(&value.bytes) {
                values.push(value);
            }
        }
        values
    }

    /// Calls `visit` with the range of each occurrence of a value, in any spelling, and the index
    /// of the value. Occurrences are in the order of the text; one inside another is left out.
    pub fn each_occurrence(&self, text: &[u8], visit: &mut dyn FnMut(Range<usize>, usize)) {
        self.each_occurrence_or_part(text, &mut |occurrence| {
            if !occurrence.is_inside_another {
                visit(occurrence.range, occurrence.value_index);
            }
        });
    }

    /// Calls `visit` with each occurrence of a value, in any spelling and in the order of the text.
    /// Unlike [`ValueSearch::each_occurrence`], this includes those inside another one: `Hq72Kd5s`
    /// in `x9Qd81Lm.Hq72Kd5s`, if both are values.
    pub fn each_occurrence_or_part(&self, text: &[u8], visit: &mut dyn FnMut(Occurrence)) {
        let mut occurrences = self.find_all(text);
        // If occurrences have the same start, the longest comes first. So an occurrence that does
        // not end after all before it is inside one of them.
        occurrences.sort_by_key(|found| (found.range.start, Reverse(found.range.end)));

        let mut last_end = 0;
        for mut occurrence in occurrences {
            occurrence.is_inside_another = occurrence.range.end <= last_end;
            last_end = last_end.max(occurrence.range.end);
            visit(occurrence);
        }
    }

    /// Returns all occurrences of values in any spelling, in no order.
    fn find_all(&self, text: &[u8]) -> Vec<Occurrence> {
        let mut occurrences = Vec::new();
        // Long spellings are found by a window of eight bytes, short ones as a whole.
        self.windows.each_window(text, &mut |offset, windows| {
            for window in windows {
                let id = SpellingId::from_number(window.literal);
                if let Some(range) = self.occurrence_around(text, offset, window, id) {
                    occurrences.push(Occurrence {
                        range,
                        value_index: id.value_index,
                        is_inside_another: false,
                    });
                }
            }
        });
        if let Some(short) = &self.short {
            for hit in short.find_iter(text) {
                occurrences.push(Occurrence {
                    range: hit.range(),
                    value_index: self.short_values[hit.pattern().as_usize()],
                    is_inside_another: false,
                });
            }
        }
        occurrences
    }

    /// Whether a value occurs in a text, in any spelling.
    pub fn has_value_in(&self, text: &str) -> bool {
        let mut has_value = false;
        self.each_occurrence(text.as_bytes(), &mut |_range, _value| has_value = true);
        has_value
    }

    /// Calls `visit` with the offset of the last byte of each window that occurs in some lines.
    pub fn each_window(&self, lines: &[u8], visit: &mut dyn FnMut(usize)) {
        self.windows
            .each_window(lines, &mut |offset, _| visit(offset + WINDOW - 1));
    }

    /// Returns the range of a value in the text, if the text has the spelling `id` of the value
    /// around `window_start`. A spelling is the value in one of its encodings. The `window`, eight
    /// of its bytes, occurs at `window_start`; the bytes around it are compared here.
    fn occurrence_around(
        &self,
        text: &[u8],
        window_start: usize,
        window: &LiteralWindow,
        id: SpellingId,
    ) -> Option<Range<usize>> {
        let value = &self.values[id.value_index];
        // The spelling is computed again, because spellings are not stored.
        let spelling = spell_value(&value.bytes, FORMS[id.form_index])?;
        let start = window_start.checked_sub(window.offset as usize)?;
        let end = start + spelling.len();
        if text.get(start..end)? == spelling {
            Some(start..end)
        } else {
            None
        }
    }
}

/// Returns an automaton that finds these patterns, of overlapping ones the longest; `None` if there
/// are none.
fn build_automaton(patterns: Vec<Vec<u8>>) -> Option<AhoCorasick> {
    if patterns.is_empty() {
        return None;
    }
    let automaton = AhoCorasickBuilder::new()
        .match_kind(MatchKind::LeftmostLongest)
        .build(patterns)
        .expect("values of a file fit");
    Some(automaton)
}

/// A place in a text at which a value is spelled.
pub struct Occurrence {
    /// The range in the text.
    pub range: Range<usize>,
    /// The index of the value.
    pub value_index: usize,
    /// Whether another occurrence has all of the range. Of several with the same range, all but the
    /// first are inside another.
    pub is_inside_another: bool,
}

/// A form in which a value may be spelled.
#[derive(Clone, Copy)]
enum SpellingForm {
    /// Unchanged.
    Plain,
    /// With URL escapes, such as `%3A`.
    Percent(PercentEncoder),
    /// In base64 with the standard alphabet, after this number of other bytes.
    Base64(usize),
    /// In base64 with the URL alphabet, after this number of other bytes.
    UrlBase64(usize),
    /// As text of HTML or XML, in which `&`, `<` and `>` are entities: `a&amp;b`.
    Html(QuoteEntities),
}

/// An encoder of URL escapes. All keep ASCII letters, digits, and `-`, `_` and `.`.
#[derive(Clone, Copy)]
struct PercentEncoder {
    /// The other characters that it keeps.
    kept: &'static [u8],
    /// Whether it writes a space as `+`, as HTML forms do.
    is_space_plus: bool,
    /// Whether its hex digits are lower-case letters: `%3a`.
    is_lower_case: bool,
}

impl PercentEncoder {
    /// Returns an encoder with the hex digits of most: `%3A`.
    const fn keeping(kept: &'static [u8]) -> PercentEncoder {
        PercentEncoder {
            kept,
            is_space_plus: false,
            is_lower_case: false,
        }
    }

    /// Returns an encoder of HTML forms.
    const fn of_forms(kept: &'static [u8]) -> PercentEncoder {
        PercentEncoder {
            is_space_plus: true,
            ..PercentEncoder::keeping(kept)
        }
    }

    fn encode(self, value: &[u8]) -> Vec<u8> {
        let mut encoded = Vec::with_capacity(value.len());
        for &byte in value {
            let is_kept = byte.is_ascii_alphanumeric()
                || matches!(byte, b'-' | b'_' | b'.')
                || self.kept.contains(&byte);
            if is_kept {
                encoded.push(byte);
            } else if byte == b' ' && self.is_space_plus {
                encoded.push(b'+');
            } else if self.is_lower_case {
                encoded.extend_from_slice(format!("%{byte:02x}").as_bytes());
            } else {
                encoded.extend_from_slice(format!("%{byte:02X}").as_bytes());
            }
        }
        encoded
    }
}

/// What an encoder of HTML writes for the two kinds of quotes.
#[derive(Clone, Copy)]
struct QuoteEntities {
    double: &'static str,
    single: &'static str,
}

/// All forms. Three bytes are four base64 digits, so only the number of bytes before a value modulo
/// 3 matters.
const FORMS: [SpellingForm; 20] = [
    SpellingForm::Plain,
    // RFC 3986; in JavaScript, `encodeURIComponent` and `encodeURI`; Python's `quote`.
    SpellingForm::Percent(PercentEncoder::keeping(b"~")),
    SpellingForm::Percent(PercentEncoder::keeping(b"~!'()*")),
    SpellingForm::Percent(PercentEncoder::keeping(b"~!'()*;,/?:@&=+$#")),
    SpellingForm::Percent(PercentEncoder::keeping(b"~/")),
    // Lower-case digits are rare.
    SpellingForm::Percent(PercentEncoder {
        is_lower_case: true,
        ..PercentEncoder::keeping(b"~")
    }),
    // Browsers and `URLSearchParams`; Python's `quote_plus`.
    SpellingForm::Percent(PercentEncoder::of_forms(b"*")),
    SpellingForm::Percent(PercentEncoder::of_forms(b"~")),
    SpellingForm::Base64(0),
    SpellingForm::UrlBase64(0),
    SpellingForm::Base64(1),
    SpellingForm::UrlBase64(1),
    SpellingForm::Base64(2),
    SpellingForm::UrlBase64(2),
    // Between tags, browsers leave quotes as they are.
    html_form("\"", "'"),
    // Lodash and Mustache, React and Python, PHP, Go, XML.
    html_form("&quot;", "&#39;"),
    html_form("&quot;", "&#x27;"),
    html_form("&quot;", "&#039;"),
    html_form("&#34;", "&#39;"),
    html_form("&quot;", "&apos;"),
];

const fn html_form(double: &'static str, single: &'static str) -> SpellingForm {
    SpellingForm::Html(QuoteEntities { double, single })
}

/// A value in one of its forms.
#[derive(Clone, Copy)]
struct SpellingId {
    /// The index of the value.
    value_index: usize,
    /// The index of the form in [`FORMS`].
    form_index: usize,
}

impl SpellingId {
    /// Returns a number that identifies the spelling.
    fn to_number(self) -> u32 {
        let number = self.value_index * FORMS.len() + self.form_index;
        u32::try_from(number).expect("values of a file fit")
    }

    fn from_number(number: u32) -> SpellingId {
        SpellingId {
            value_index: number as usize / FORMS.len(),
            form_index: number as usize % FORMS.len(),
        }
    }
}

/// The minimum number of base64 digits of a value. Fewer digits may be ordinary text.
const SHORTEST_BASE64: usize = 10;

/// A value in one of its forms.
struct Spelling {
    /// The index of the form in [`FORMS`].
    form_index: usize,
    bytes: Vec<u8>,
}

/// Returns the distinct spellings of a value. If several forms have the same spelling, as the plain
/// and the URL form of a value of letters, only the first is returned.
fn distinct_spellings(value: &[u8]) -> Vec<Spelling> {
    let mut spellings: Vec<Spelling> = Vec::new();
    for (form_index, form) in FORMS.into_iter().enumerate() {
        let Some(bytes) = spell_value(value, form) else {
            continue;
        };
        let is_known = spellings.iter().any(|known| known.bytes == bytes);
        if !is_known {
            spellings.push(Spelling { form_index, bytes });
        }
    }
    spellings
}

/// Returns a value in one of its forms. `None` for a base64 form with fewer than
/// [`SHORTEST_BASE64`] digits.
fn spell_value(value: &[u8], form: SpellingForm) -> Option<Vec<u8>> {
    let is_distinctive = |digits: &Vec<u8>| digits.len() >= SHORTEST_BASE64;
    match form {
        SpellingForm::Plain => Some(value.to_vec()),
        SpellingForm::Percent(encoder) => Some(encoder.encode(value)),
        SpellingForm::Base64(bytes_before) => {
            base64_spelling(value, bytes_before, &STANDARD_NO_PAD).filter(is_distinctive)
        }
        SpellingForm::UrlBase64(bytes_before) => {
            base64_spelling(value, bytes_before, &URL_SAFE_NO_PAD).filter(is_distinctive)
        }
        SpellingForm::Html(quotes) => Some(encode_html(value, quotes)),
    }
}

/// Encodes a value as text of HTML.
fn encode_html(value: &[u8], quotes: QuoteEntities) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(value.len());
    for &byte in value {
        match byte {
            b'&' => encoded.extend_from_slice(b"&amp;"),
            b'<' => encoded.extend_from_slice(b"&lt;"),
            b'>' => encoded.extend_from_slice(b"&gt;"),
            b'"' => encoded.extend_from_slice(quotes.double.as_bytes()),
            b'\'' => encoded.extend_from_slice(quotes.single.as_bytes()),
            _ => encoded.push(byte),
        }
    }
    encoded
}

/// Returns the base64 digits of a text after this number of other bytes, in both alphabets.
pub(super) fn base64_spellings(text: &[u8], bytes_before: usize) -> Vec<Vec<u8>> {
    let mut spellings = Vec::new();
    for engine in [&STANDARD_NO_PAD, &URL_SAFE_NO_PAD] {
        spellings.extend(base64_spelling(text, bytes_before, engine));
    }
    spellings
}

/// Returns the base64 digits of a text after `bytes_before` other bytes. Only digits all of whose
/// bits belong to the text are included, because the others depend on its neighbours. `None` or
/// empty if the text is too short to have such digits.
///
/// After one other byte, as in `?token`, encoded as `P3Rva2Vu`, the digits are `Rva2Vu`.
fn base64_spelling(text: &[u8], bytes_before: usize, engine: &GeneralPurpose) -> Option<Vec<u8>> {
    const BITS_PER_BYTE: usize = u8::BITS as usize;

    // The values of the other bytes do not matter, because digits with their bits are left out.
    let mut shifted = vec![0; bytes_before];
    shifted.extend_from_slice(text);
    let encoded = engine.encode(&shifted);

    // The first digit without bits of the other bytes, and the end of the last whole digit.
    let first_own_digit = (bytes_before * BITS_PER_BYTE).div_ceil(BITS_PER_DIGIT);
    let own_digits_end = shifted.len() * BITS_PER_BYTE / BITS_PER_DIGIT;
    let digits = encoded.as_bytes().get(first_own_digit..own_digits_end)?;
    Some(digits.to_vec())
}

/// Returns literals, at least one of which is in the raw bytes of every line whose text contains
/// the spelling. Usually this is one: the longest run of characters that JSON never escapes.
///
/// If this run has fewer than [`SHORTEST_NEEDLE`] bytes, the literals are the first bytes of the
/// spelling and the beginnings of all escapes. Letters that are escaped as `\u00…` have a separate
/// needle: see [`super::prefilter::SearchSet::ESCAPES`].
pub(super) fn raw_needles(spelling: &[u8]) -> Vec<Vec<u8>> {
    let run = longest_plain_run(spelling);
    if run.len() >= SHORTEST_NEEDLE {
        return vec![spelling[run].to_vec()];
    }
    let first_bytes = &spelling[..spelling.len().min(SHORTEST_NEEDLE)];
    let mut needles = vec![first_bytes.to_vec()];
    for letter in *br#"u\"/nrtbf"# {
        needles.push(vec![b'\\', letter]);
    }
    needles
}

/// The minimum length in bytes of a needle that is a part of a value.
const SHORTEST_NEEDLE: usize = 3;

/// Returns the range of the longest run of characters that JSON never escapes: of `word` in
/// `p@s/word`. If there are several, returns the last.
fn longest_plain_run(text: &[u8]) -> Range<usize> {
    let mut longest = 0..0;
    let mut run_start = 0;
    for (offset, byte) in text.iter().enumerate() {
        let end = offset + 1;
        let is_plain = (0x20..0x7f).contains(byte) && !matches!(byte, b'"' | b'\\' | b'/');
        if !is_plain {
            run_start = end;
            continue;
        }
        let run = run_start..end;
        if run.len() >= longest.len() {
            longest = run;
        }
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn env(text: &str) -> Vec<String> {
        let values = from_env_file(text.as_bytes())
            .into_iter()
            .filter(|value| !value.is_short());
        values
            .map(|value| String::from_utf8(value.bytes.to_vec()).unwrap())
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
            values.iter().map(SecretValue::is_short).collect::<Vec<_>>(),
            [true, true]
        );
    }

    #[test]
    fn values_are_found_in_every_encoding() {
        let value = SecretValue {
            kind: "secret",
            bytes: b"p@ss/word:42"[..].into(),
        };
        let exact = ValueSearch::new(vec![value.clone()]);
        let hits = |text: &[u8]| {
            let mut hits = 0;
            exact.each_occurrence(text, &mut |_, _| hits += 1);
            hits
        };
        assert_eq!(
            hits(b"x p@ss/word:42 y p%40ss%2Fword%3A42 p%40ss%2fword%3a42"),
            3
        );
        // As JavaScript and Python write paths.
        assert_eq!(hits(b"p@ss/word:42 p%40ss/word%3A42"), 2);
        for before in ["", "u", "us", "user:"] {
            let text = STANDARD_NO_PAD.encode([before.as_bytes(), &value.bytes, b"after"].concat());
            assert_eq!(hits(text.as_bytes()), 1, "{before}");
        }
        assert!(exact.needles.iter().all(|needle| needle.len() >= 3));

        let words = ValueSearch::new(vec![SecretValue {
            kind: "secret",
            bytes: "grüne (Möwe)!".as_bytes().into(),
        }]);
        for spelling in [
            "gr%C3%BCne%20(M%C3%B6we)!",
            "gr%C3%BCne%20%28M%C3%B6we%29%21",
            "gr%C3%BCne+%28M%C3%B6we%29%21",
            "gr%c3%bcne%20%28M%c3%b6we%29%21",
        ] {
            assert!(words.has_value_in(spelling), "{spelling}");
        }
        assert!(raw_needles(b"/a/b/c").contains(&br"\/".to_vec()));
    }
}
