//! A filter on raw bytes, which rules out most lines before anything is parsed or decoded.
//!
//! Literals are extracted from the pattern such that every match contains one of them. JSON can
//! spell a string in several ways for only two reasons: a slash may be escaped, and any character
//! may be written as `\uXXXX`. So a literal is split at slashes, and at control characters that
//! have no shorter escape. The longest of these parts is the needle of the literal.
//!
//! The prefilter searches for each needle as JSON spells it. It also searches for `\u` followed by
//! the first digits of any character of a needle. A line without either cannot match; any other
//! line may match and is decoded. So the result does not depend on the spelling: a line that spells
//! `e` as `\u0065` is found. The `\u001b` of terminal colours, frequent in real sessions, costs
//! nothing.

use memchr::memmem::Finder;
use pisess_json::string;
use pisess_json::text::Text;
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::hir::literal::{ExtractKind, Extractor, Seq};
use regex_syntax::hir::{Hir, HirKind};
use std::collections::BTreeSet;

/// The maximum number of literals; with more, the search itself becomes slow.
const MOST_LITERALS: usize = 32;
/// The maximum number of escape prefixes; with more, `\u` alone is searched for.
const MOST_ESCAPES: usize = 20;
/// The maximum number of consecutive parts of an expression from which a literal is extracted.
const MOST_PARTS: usize = 16;
/// The length in bytes of the longest start of an escape that is not yet complete. A complete
/// `\u00e9` has one byte more.
const LONGEST_ESCAPE: usize = r"\u00e".len();
/// The number of bytes to which literals are shortened first, if there are too many. That is enough
/// to be rare, and few enough that many become equal.
const KEPT_OF_SEVERAL: usize = 6;

/// The prefilter of a pattern.
#[derive(Clone, Debug)]
pub enum Prefilter {
    /// One ASCII literal. Two searches for single strings are faster than one for several strings.
    SingleLiteral {
        /// The needle as JSON spells it.
        literal: Box<Finder<'static>>,
        /// `\u00`, with which the escapes of all ASCII characters begin.
        escape_start: Box<Finder<'static>>,
        /// The possible digits after `\u00` for the characters of the needle, in lower case.
        escape_digits: Vec<u8>,
        /// Whether the pattern is the needle and nothing else.
        is_whole_pattern: bool,
    },
    /// Any other set of literals and escapes.
    Alternatives(Regex),
}

impl Prefilter {
    /// Builds the prefilter of a pattern. `None` if there are no literals of which every match
    /// contains one: then raw bytes cannot rule out a match.
    pub fn new(hir: &Hir) -> Option<Prefilter> {
        let needles = required_needles(hir)?;
        Prefilter::of_needles(&needles, |needle| is_literal(hir, needle))
    }

    /// Builds the prefilter for text that is converted before it is searched: its bytes are those
    /// from which it is made. `None` if such bytes cannot rule out a match.
    ///
    /// The needles are words of letters and digits. Any other character may be spelled otherwise
    /// before the conversion, or may be added by it. So may numbers: they are no needles.
    pub fn for_converted_text(hir: &Hir) -> Option<Prefilter> {
        let mut words: BTreeSet<Vec<char>> = BTreeSet::new();
        for needle in required_needles(hir)? {
            words.insert(longest_word(&needle)?);
        }
        Prefilter::of_needles(&words, |_| false)
    }

    /// Builds the prefilter for strings that contain one of these needles, which are literals.
    /// `is_pattern` is whether a needle is the pattern and nothing else. `None` if the search
    /// cannot be compiled.
    ///
    /// It searches for each needle as JSON spells it, and for escapes such as `\u0061` that may
    /// spell a character of one.
    fn of_needles(
        needles: &BTreeSet<Vec<char>>,
        is_pattern: impl Fn(&[char]) -> bool,
    ) -> Option<Prefilter> {
        let escapes = escape_prefixes(needles);
        if needles.len() == 1
            && let Some(needle) = needles.first()
            && let Some(prefilter) = single_literal(needle, &escapes, is_pattern(needle))
        {
            return Some(prefilter);
        }

        let mut alternatives = Vec::new();
        for needle in needles {
            alternatives.push(regex_syntax::escape(&json_spelling(needle)));
        }
        for digits in &escapes {
            alternatives.push(format!(r"\\u(?i:{digits})"));
        }
        let regex = RegexBuilder::new(&alternatives.join("|"))
            .unicode(false)
            .build()
            .ok()?;
        Some(Prefilter::Alternatives(regex))
    }

    /// Whether a string certainly matches the pattern, judged by its raw bytes between the quotes.
    /// If false, it may match nevertheless. Only a pattern that is a literal and nothing else can
    /// be certain: anchors and word boundaries depend on what is around it.
    pub fn must_match(&self, string: &[u8]) -> bool {
        let Prefilter::SingleLiteral {
            literal,
            is_whole_pattern: true,
            ..
        } = self
        else {
            return false;
        };
        // Only the first occurrence in the string is considered, because `false` is always allowed.
        match literal.find(string) {
            Some(start) => is_outside_escape(&string[..start]),
            None => false,
        }
    }

    /// Whether the raw bytes of a string may match.
    pub fn may_match(&self, string: &[u8]) -> bool {
        self.find_literal(string, 0).is_some() || self.find_escape(string, 0).is_some()
    }

    /// Finds the positions in `bytes` at which a match is possible, from the first to the last.
    pub fn candidates<'a>(&'a self, bytes: &'a [u8]) -> Candidates<'a> {
        Candidates {
            prefilter: self,
            bytes,
            searched_from: 0,
            next_literal: self.find_literal(bytes, 0),
            next_escape: self.find_escape(bytes, 0),
        }
    }

    /// Returns the position of the first needle at or after `from`.
    fn find_literal(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let found = match self {
            Prefilter::SingleLiteral { literal, .. } => literal.find(bytes.get(from..)?),
            Prefilter::Alternatives(regex) => {
                regex.find(bytes.get(from..)?).map(|found| found.start())
            }
        };
        found.map(|at| from + at)
    }

    /// Finds the first escape at or after `from` that may spell a character of the needle. `None`
    /// for several needles, whose expression includes their escapes.
    fn find_escape(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let Prefilter::SingleLiteral {
            escape_start,
            escape_digits,
            ..
        } = self
        else {
            return None;
        };
        // Most escapes are of control characters, which few needles contain. The digit after `\u00`
        // distinguishes them: it is `6` in `\u0061`.
        for offset in escape_start.find_iter(bytes.get(from..)?) {
            let position = from + offset;
            let digit = bytes.get(position + r"\u00".len())?;
            if escape_digits.contains(&digit.to_ascii_lowercase()) {
                return Some(position);
            }
        }
        None
    }
}

/// The positions in some bytes at which a match is possible: those of the literals of a prefilter,
/// and of escapes that may spell them. They are found one by one, and each search goes through the
/// bytes once.
pub struct Candidates<'a> {
    prefilter: &'a Prefilter,
    bytes: &'a [u8],
    /// The position from which the next literal and the next escape were searched for.
    searched_from: usize,
    /// The first literal at or after `searched_from`; `None` if there is none up to the end.
    next_literal: Option<usize>,
    /// The first escape at or after `searched_from`; `None` if there is none up to the end.
    next_escape: Option<usize>,
}

impl Candidates<'_> {
    /// Returns the first position at or after `from` at which a match is possible. `from` must not
    /// decrease from call to call.
    pub fn next_from(&mut self, from: usize) -> Option<usize> {
        debug_assert!(self.searched_from <= from);
        self.searched_from = from;
        // A literal or an escape at or after `from` is still the first one.
        if self.next_literal.is_some_and(|literal| literal < from) {
            self.next_literal = self.prefilter.find_literal(self.bytes, from);
        }
        if self.next_escape.is_some_and(|escape| escape < from) {
            self.next_escape = self.prefilter.find_escape(self.bytes, from);
        }
        match (self.next_literal, self.next_escape) {
            (Some(literal), Some(escape)) => Some(literal.min(escape)),
            (literal, escape) => literal.or(escape),
        }
    }
}

/// Builds the prefilter for the usual case: one needle of ASCII characters, whose escapes all begin
/// with `\u00`. Two searches for strings find it: for the needle, and for `\u00` before a digit of
/// one of its characters. `None` if a character of the needle is not ASCII.
///
/// `escapes` are the first hex digits of the escapes of these characters.
fn single_literal(
    needle: &[char],
    escapes: &[String],
    is_whole_pattern: bool,
) -> Option<Prefilter> {
    let escape_digits: Option<Vec<u8>> = escapes.iter().map(|digits| ascii_digit(digits)).collect();
    Some(Prefilter::SingleLiteral {
        literal: Box::new(Finder::new(json_spelling(needle).as_bytes()).into_owned()),
        escape_start: Box::new(Finder::new(r"\u00")),
        escape_digits: escape_digits?,
        is_whole_pattern,
    })
}

/// Returns the needles of a pattern: every match contains one of them. `None` if there are no such
/// needles.
fn required_needles(hir: &Hir) -> Option<BTreeSet<Vec<char>>> {
    let mut needles = BTreeSet::new();
    for literal in required_literals(hir)? {
        // If one literal has no usable part, there is no prefilter: it would reject lines with that
        // literal.
        needles.insert(longest_part(&literal)?);
    }
    Some(needles)
}

/// Returns the longest word in a needle; `None` if it has no word. A word is a sequence of letters
/// and digits with at least one letter.
fn longest_word(needle: &[char]) -> Option<Vec<char>> {
    let words = needle.split(|c| !c.is_alphanumeric());
    let words = words.filter(|word| word.iter().any(|c| c.is_alphabetic()));
    words.max_by_key(|word| word.len()).map(<[char]>::to_vec)
}

/// Whether a position in a JSON string is certainly not within an escape such as `\u0065`. `before`
/// is the string before the position. May be `false` for a position that is not.
fn is_outside_escape(before: &[u8]) -> bool {
    // Escapes are short: one that began earlier has ended.
    let near = &before[before.len().saturating_sub(LONGEST_ESCAPE)..];
    let Some(backslash) = memchr::memrchr(b'\\', near) else {
        return true;
    };
    // `\n` has ended with its letter. A `\u` may not have.
    match near.get(backslash + 1) {
        Some(&letter) => letter != b'u',
        None => false,
    }
}

/// Whether a pattern is a needle and nothing else.
fn is_literal(hir: &Hir, needle: &[char]) -> bool {
    let mut inner = hir;
    while let HirKind::Capture(capture) = inner.kind() {
        inner = &capture.sub;
    }
    let needle: String = needle.iter().collect();
    matches!(inner.kind(), HirKind::Literal(literal) if *literal.0 == *needle.as_bytes())
}

/// Returns the digit after `00` in the first hex digits of an escape: `6` for `006`. `None` if they
/// do not begin with `00`, as those of all ASCII characters do.
fn ascii_digit(digits: &str) -> Option<u8> {
    digits
        .strip_prefix("00")
        .and_then(|rest| rest.bytes().next())
}

/// Literals of which every match of a pattern contains one, such as `ab` and `cd` for `x(ab|cd)`.
type LiteralSet = Vec<Vec<u8>>;

/// Returns a set of literals of which every match contains one, and which few other texts contain;
/// `None` if there is no such set.
///
/// Several sets are extracted, and the most selective is returned. For a concatenation, they are:
///
/// - the literals with which its last parts end: `ms` in `[0-9]+ms`
/// - for each part, the literals with which this part and the parts after it begin
/// - for each part, the literals inside it, as in a group or a repetition
fn required_literals(hir: &Hir) -> Option<LiteralSet> {
    // An extraction that finds no set adds none.
    let mut candidates: Vec<LiteralSet> = Vec::new();
    if let HirKind::Concat(parts) = hir.kind() {
        // Not all parts before or after each are used, because that would take quadratic time.
        let last_start = parts.len().saturating_sub(MOST_PARTS);
        let last_parts = Hir::concat(parts[last_start..].to_vec());
        candidates.extend(extract_literals(&last_parts, ExtractKind::Suffix));
        for first in 0..parts.len() {
            let end = parts.len().min(first + MOST_PARTS);
            let following = Hir::concat(parts[first..end].to_vec());
            candidates.extend(extract_literals(&following, ExtractKind::Prefix));
            candidates.extend(required_literals_inside(&parts[first]));
        }
    } else {
        candidates.extend(extract_literals(hir, ExtractKind::Prefix));
        candidates.extend(extract_literals(hir, ExtractKind::Suffix));
        candidates.extend(required_literals_inside(hir));
    }
    // Of equally selective sets, the first counts, but `max_by_key` returns the last.
    candidates.reverse();
    candidates
        .into_iter()
        .max_by_key(|literals| selectivity(literals))
}

/// Returns the most selective set of literals that nested groups and repetitions require. Of a
/// concatenation inside, each part is considered alone.
///
/// A repetition requires what is inside only if it matches at least once: `(need)*` requires no
/// literal.
fn required_literals_inside(hir: &Hir) -> Option<LiteralSet> {
    let mut inner = hir;
    loop {
        match inner.kind() {
            HirKind::Capture(capture) => inner = &capture.sub,
            HirKind::Repetition(repetition) if repetition.min > 0 => inner = &repetition.sub,
            HirKind::Concat(parts) => {
                return parts
                    .iter()
                    .filter_map(|part| extract_literals(part, ExtractKind::Prefix))
                    .max_by_key(|literals| selectivity(literals));
            }
            _ => return extract_literals(inner, ExtractKind::Prefix),
        }
    }
}

/// Returns literals such that every match begins (`ExtractKind::Prefix`) or ends with one of them.
/// `None` if there are none, or if they are useless: too many, or one of them cannot be searched
/// for in JSON.
fn extract_literals(hir: &Hir, kind: ExtractKind) -> Option<LiteralSet> {
    let mut found: Seq = Extractor::new().kind(kind.clone()).extract(hir);
    shorten_literals(&mut found, &kind);

    // An infinite set has none.
    let literals = found.literals()?;
    if literals.is_empty() || literals.len() > MOST_LITERALS {
        return None;
    }
    let mut searchable = Vec::new();
    for literal in literals {
        // One such literal makes the whole set useless: matches with it would be missed.
        let is_searchable = longest_part(literal.as_bytes()).is_some();
        if !is_searchable {
            return None;
        }
        searchable.push(literal.as_bytes().to_vec());
    }
    Some(searchable)
}

/// Shortens literals until there are at most [`MOST_LITERALS`], if possible: the shorter they are,
/// the more of them are equal. Literals with which a match begins keep their first bytes; those
/// with which it ends, their last.
fn shorten_literals(literals: &mut Seq, kind: &ExtractKind) {
    let mut kept_bytes = KEPT_OF_SEVERAL;
    while literals.len().is_some_and(|len| len > MOST_LITERALS) && kept_bytes > 1 {
        if matches!(kind, ExtractKind::Prefix) {
            literals.keep_first_bytes(kept_bytes);
        } else {
            literals.keep_last_bytes(kept_bytes);
        }
        literals.sort();
        literals.dedup();
        kept_bytes -= 1;
    }
}

/// The length in characters above which a longer literal is not more selective.
const LONG_ENOUGH: usize = 8;

/// How few texts contain a literal of a set. The fields are compared in their order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Selectivity {
    /// The number of characters of the shortest needle, at most [`LONG_ENOUGH`].
    shortest_len: usize,
    /// The number of literals, subtracted from the maximum: fewer are better.
    fewness: usize,
}

/// Returns how selective a set of literals is. A longer shortest needle counts most, and then a
/// smaller number of literals.
fn selectivity(literals: &[Vec<u8>]) -> Selectivity {
    let shortest = literals
        .iter()
        .filter_map(|literal| Some(longest_part(literal)?.len()))
        .min();
    Selectivity {
        shortest_len: shortest.unwrap_or(0).min(LONG_ENOUGH),
        fewness: MOST_LITERALS - literals.len().min(MOST_LITERALS),
    }
}

/// Returns the longest part of a literal that has only one spelling in a JSON string; `None` if it
/// has no such part. Escapes such as `\u0061` do not count as spellings, because the prefilter
/// searches for these separately.
fn longest_part(literal: &[u8]) -> Option<Vec<char>> {
    // A shortened literal may begin or end within a character, a part of which becomes U+FFFD.
    let text = String::from_utf8_lossy(literal);
    let parts = text.split(|c| !has_one_spelling(c));
    let longest = parts.max_by_key(|part| part.len())?;
    if longest.is_empty() {
        return None;
    }
    Some(longest.chars().collect())
}

/// Whether JSON spells a character in one way, apart from `\u` escapes.
fn has_one_spelling(c: char) -> bool {
    match c {
        // Control characters with an escape of their own; the others have only `\u`.
        '\n' | '\t' | '\r' | '\u{8}' | '\u{c}' => true,
        '\0'..='\x1f' => false,
        // A backslash may precede `/`; U+FFFD may replace invalid bytes.
        '/' | '\u{fffd}' => false,
        _ => true,
    }
}

/// Returns a needle as JSON spells it in a string.
fn json_spelling(needle: &[char]) -> String {
    let quoted = string::encode_to_vec(&Text::from(needle.iter().collect::<String>()));
    let without_quotes = &quoted[1..quoted.len() - 1];
    String::from_utf8_lossy(without_quotes).into_owned()
}

/// Returns the first hex digits after `\u` in an escape of any character of the needles, in lower
/// case. A line with none of these escapes spells no character of a needle as an escape.
///
/// Three digits stand for 16 characters, so that a long needle has few prefixes: `006` for `a`
/// (`\u0061`) and all letters up to `o`. Control characters have all four, because escapes such as
/// `\u001b`, for the colors of a terminal, are common: one should not find the others.
///
/// If there are more than [`MOST_ESCAPES`] prefixes, the only one is empty: any escape is found.
fn escape_prefixes(needles: &BTreeSet<Vec<char>>) -> Vec<String> {
    let mut prefixes = BTreeSet::new();
    for c in needles.iter().flatten() {
        // A character beyond U+FFFF has two escapes, of which the first one suffices.
        let unit = c.encode_utf16(&mut [0; 2])[0];
        let mut digits = format!("{unit:04x}");
        let is_control = unit < 0x20;
        if !is_control {
            digits.truncate(3);
        }
        prefixes.insert(digits);
    }
    if prefixes.len() > MOST_ESCAPES {
        let any_escape = String::new();
        return vec![any_escape];
    }
    prefixes.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use crate::ops::grep::{Pattern, PatternOptions};

    fn compiled(source: &str, ignore_case: bool) -> Pattern {
        let options = PatternOptions {
            ignore_case,
            ..PatternOptions::default()
        };
        Pattern::new(&[source.to_owned()], options).unwrap()
    }

    /// Asserts that the prefilter passes the spellings that may match, and rejects the other lines.
    fn passes(source: &str, ignore_case: bool, may: &[&str], cannot: &[&str]) {
        let pattern = compiled(source, ignore_case);
        let prefilter = pattern
            .prefilter()
            .unwrap_or_else(|| panic!("{source} has no prefilter"));
        for line in may {
            assert!(
                prefilter.candidates(line.as_bytes()).next_from(0).is_some(),
                "{source} is kept from {line}"
            );
        }
        for line in cannot {
            assert!(
                prefilter.candidates(line.as_bytes()).next_from(0).is_none(),
                "{source} finds {line}"
            );
        }
    }

    #[test]
    fn every_spelling_passes() {
        passes(
            "hello",
            false,
            &["say hello", r"h\u0065llo", r"\u0068ello"],
            &["hell", r"\u001b[0m hell"],
        );
        passes(
            "café",
            false,
            &["café", r"caf\u00e9", r"caf\u00E9", r"\u0063afé"],
            &["cafe", r"caf\u001b"],
        );
        passes(
            "😀",
            false,
            &["😀", r"\ud83d\ude00", r"\uD83D\uDE00"],
            &["😁"],
        );
        passes(
            r#"say "x""#,
            false,
            &[r#"say \"x\""#, r"say \u0022x\u0022"],
            &[r#"say "x""#],
        );
        passes(
            "a\nbcd",
            false,
            &[r"a\nbcd", r"a\u000abcd", r"a\u000Abcd"],
            &[r"a\u001bbcd", r"bcd"],
        );
        passes(
            "src/main.rs",
            false,
            &["src/main.rs", r"src\/main.rs"],
            &["src/lib.rs"],
        );
        passes(r"C:\\dir", false, &[r"C:\\dir"], &[r"C:\dir"]);
    }

    #[test]
    fn strings_are_sifted_before_they_are_decoded() {
        let is_match = |source: &str, string: &str| {
            let pattern = compiled(source, false);
            let prefilter = pattern.prefilter().unwrap();
            assert!(prefilter.may_match(string.as_bytes()), "{source} {string}");
            prefilter.must_match(string.as_bytes())
        };
        assert!(is_match("need", r"no\tis what people need"));
        assert!(!is_match("e9s", r"caf\u00e9s"), "no e9s");
        assert!(!is_match("need", r"a\need"), "a newline and eed");
        assert!(is_match("need", r"a\n need"));
        assert!(is_match("need", r"a\nneed"));
        assert!(!is_match("e9s", r"caf\\u00e9s"), "a backslash and text");
        assert!(!is_match("need", r"a\\need"));
        assert!(!is_match("need", r"n\u0065ed"));
        assert!(is_match(r#"say "x""#, r#"say \"x\""#));
        for not_whole in ["^need", "need$", r"\bneed", "need.", "(need)+", "need|reed"] {
            assert!(!is_match(not_whole, "a need b"), "{not_whole}");
        }
        assert!(is_match("(need)", "a need b"));
    }

    #[test]
    fn signs_come_in_order() {
        for source in ["needle", "needle|other"] {
            let pattern = compiled(source, false);
            let prefilter = pattern.prefilter().unwrap();
            let mut candidates = prefilter.candidates(br"a\u001bb needle \u006e needle");
            let found = [0, 9, 10, 16, 17, 23, 24].map(|from| candidates.next_from(from));
            assert_eq!(
                found,
                [
                    Some(9),
                    Some(9),
                    Some(16),
                    Some(16),
                    Some(23),
                    Some(23),
                    None
                ]
            );
        }
    }

    #[test]
    fn expressions_have_literals_inside() {
        passes(r"\w+_error\d*", false, &["x_error1"], &["error"]);
        passes("warn(ing)?|error", false, &["an error", "warn"], &["err"]);
        passes(r"[a-z]+(needle)+[0-9]", false, &["aneedle1"], &["neede"]);
        passes("(?:abc){2,}", false, &["abcabc"], &["abab"]);
        passes(r"\bfoo\b", false, &["a foo"], &["fo"]);
        passes(
            "needle",
            true,
            &["NEEDLE", "nEeDlE", r"n\u0045edle"],
            &["neede"],
        );
        passes(
            "task",
            true,
            &["taſ\u{212a}", r"ta\u017fk", r"TAS\u212a", "tASK"],
            &["tas"],
        );
    }

    /// A text of Codex may be in a string that is JSON itself, whose escapes are escaped.
    #[test]
    fn words_are_found_before_a_conversion() {
        let may_match = |source: &str, bytes: &str| {
            let pattern = compiled(source, false);
            let prefilter = pattern.prefilter_before_conversion();
            prefilter.is_none_or(|prefilter| prefilter.may_match(bytes.as_bytes()))
        };
        for bytes in [
            r#"{\\\"a\\\":\\\"say x"#,
            r"s\\u0061y",
            r"s\u0061y",
            "say: x",
        ] {
            assert!(may_match(r#""say "x"#, bytes), "{bytes}");
        }
        assert!(!may_match(r#""say "x"#, "sa y x"));
        for without_word in ["12", "- 3 -", ".*"] {
            assert!(may_match(without_word, ""), "{without_word}");
        }
    }

    #[test]
    fn without_a_literal_every_line_is_decoded() {
        for source in [
            ".*", r"\d+", "a?", "", "[a-z]{3}", "/", "x|/", "\u{fffd}", r"\x1b",
        ] {
            assert!(compiled(source, false).prefilter().is_none(), "{source}");
        }
    }
}
