//! Finds secrets that begin with a known prefix: the rows of `shapes.tsv`.
//!
//! One automaton finds the prefixes of all rows. The expression of a row is applied only where its
//! prefix was found, so a row costs no time in text without the prefix.

use super::resemblance::{
    alternates_classes, alternates_with_capitals, is_mixed, is_random, is_randomly_drawn, is_varied,
};
use aho_corasick::AhoCorasick;
use regex::bytes::Regex;
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// A row of the table: a kind of secret with a known prefix.
#[derive(Debug)]
pub struct Shape {
    /// The name of the kind in placeholders and reports.
    pub kind: &'static str,
    /// The characters with which the secret begins.
    pub prefix: &'static str,
    /// The expression for the characters after the prefix.
    rest: &'static str,
    /// The condition for the text before the prefix.
    boundary: PrefixBoundary,
    /// Whether the characters after the prefix are a secret, not a placeholder or a name.
    is_secret: fn(&[u8]) -> bool,
    /// An example of the characters after the prefix, for the test of the row.
    #[cfg(test)]
    example: &'static str,
    first: FirstCharacters,
    /// `rest` as an expression, compiled when it is first needed.
    compiled: OnceLock<Regex>,
}

/// The condition for the text before a prefix. A character that is not alphanumeric, a colour code
/// and a URL escape may always precede it. The variants decide about letters and digits.
#[derive(Clone, Copy, Debug)]
enum PrefixBoundary {
    /// Anything may precede, because the prefix does not occur in words.
    Any,
    /// No letter or digit may precede.
    Word,
    /// No vowel may precede, because `sk-` is the end of `task-`, `disk-` and `risk-`.
    NotAfterVowel,
    /// No capital may precede.
    NotAfterCapital,
}

/// The characters that may follow the prefix of a secret.
#[derive(Debug)]
struct FirstCharacters {
    /// For each byte, whether it is allowed. A slash may be escaped in JSON, so if the slash is
    /// allowed, the backslash is, too.
    set: [bool; 256],
    /// The minimum number of these characters after the prefix.
    min_count: usize,
}

/// The table of shapes.
pub const SHAPES_TABLE: &str = include_str!("shapes.tsv");

/// The rows of the table, in its order.
pub static SHAPES: LazyLock<Vec<Shape>> = LazyLock::new(|| {
    let lines = SHAPES_TABLE.lines();
    let rows = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    rows.map(|row| Shape::read(row).expect("each row of the table is tested"))
        .collect()
});

/// Finds the prefixes of all shapes. The number of a pattern is the index of its shape in
/// [`SHAPES`].
static PREFIXES: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::new(SHAPES.iter().map(|shape| shape.prefix)).expect("a few hundred short literals")
});

/// Calls `visit` with the range and the kind of each secret of a known shape in a text. They are
/// visited in the order of the rows: if a text fits several rows, the caller takes the kind of the
/// first.
pub fn each_shape(text: &[u8], mut visit: impl FnMut(Range<usize>, &'static str)) {
    // For each prefix in the text, the index of its shape, and its offset.
    let mut prefixes = Vec::new();
    for hit in PREFIXES.find_overlapping_iter(text) {
        let shape_index = hit.pattern();
        if SHAPES[shape_index].may_continue_with(&text[hit.end()..]) {
            prefixes.push((shape_index, hit.start()));
        }
    }
    // By the index first: in the order of the table.
    prefixes.sort();

    for (shape_index, start) in prefixes {
        let shape = &SHAPES[shape_index];
        if let Some(range) = shape.secret_range_at(text, start) {
            visit(range, shape.kind);
        }
    }
}

impl Shape {
    /// Parses a row of the table: six columns, separated by tabs. `None` if it is malformed.
    ///
    /// ```text
    /// kind      prefix  expression of the rest  boundary  check   example of the rest
    /// tool-key  tk_     [A-Za-z0-9]{20}         word      mixed   3xK9…
    /// ```
    fn read(row: &'static str) -> Option<Shape> {
        let columns: Vec<&str> = row.split('\t').collect();
        let &[kind, prefix, rest, start, check, _example] = &columns[..] else {
            return None;
        };
        let boundary = match start {
            "any" => PrefixBoundary::Any,
            "word" => PrefixBoundary::Word,
            "not-after-vowel" => PrefixBoundary::NotAfterVowel,
            "not-after-capital" => PrefixBoundary::NotAfterCapital,
            _ => return None,
        };
        let is_secret: fn(&[u8]) -> bool = match check {
            "mixed" => is_mixed,
            "varied" => is_varied,
            "random" => is_random,
            "drawn" => is_randomly_drawn,
            "takes-turns" => alternates_classes,
            "capitals-take-turns" => alternates_with_capitals,
            _ => return None,
        };
        Some(Shape {
            kind,
            prefix,
            rest,
            boundary,
            is_secret,
            #[cfg(test)]
            example: _example,
            first: FirstCharacters::from_expression(rest),
            compiled: OnceLock::new(),
        })
    }

    /// Whether these bytes may be the rest of a secret of this shape, judged by the first of them.
    /// Slashes may be escaped.
    pub fn may_continue_with(&self, rest: &[u8]) -> bool {
        rest.get(..self.first.min_count)
            .is_some_and(|first| self.first.contains_all(first))
    }

    /// Whether the prefix may follow these raw bytes of a line, in which the last character may be
    /// written as a JSON escape.
    pub fn may_begin_after(&self, before: &[u8]) -> bool {
        let is_escape = matches!(
            before,
            [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f'] | [.., b'\\', b'u', _, _, _, _]
        );
        is_escape || self.boundary.allows_before(before)
    }

    /// Like [`Shape::may_continue_with`], if only the first bytes are known: there may be fewer
    /// than the minimum.
    pub fn may_continue_with_prefix(&self, first: &[u8]) -> bool {
        let known = first.len().min(self.first.min_count);
        self.first.contains_all(&first[..known])
    }

    /// Returns the range of the secret whose prefix begins at an offset; `None` if there is no
    /// secret.
    fn secret_range_at(&self, text: &[u8], start: usize) -> Option<Range<usize>> {
        if !self.boundary.allows_before(&text[..start]) {
            return None;
        }
        let after_prefix = start + self.prefix.len();
        let rest = self.expression().find(&text[after_prefix..])?;
        if !(self.is_secret)(rest.as_bytes()) {
            return None;
        }
        Some(start..after_prefix + rest.end())
    }

    /// Returns the expression for the text after the prefix, which is compiled at the first call.
    fn expression(&self) -> &Regex {
        self.compiled.get_or_init(|| {
            Regex::new(&format!(r"(?-u)\A(?:{})", self.rest))
                .expect("each row of the table is tested")
        })
    }
}

impl PrefixBoundary {
    /// Whether a prefix may follow these bytes, which may be empty. For the boundary `Word`, `sk-`
    /// may follow `key=` and `%3D`, but not the `ta` of `task-`.
    fn allows_before(self, before: &[u8]) -> bool {
        let Some(last) = before.last() else {
            return true;
        };
        // The last letter or digit of a code or an escape does not end a word.
        let ends_word = last.is_ascii_alphanumeric()
            && !ends_with_colour(before)
            && !ends_with_percent_escape(before);
        if !ends_word {
            return true;
        }
        match self {
            PrefixBoundary::Any => true,
            PrefixBoundary::Word => false,
            PrefixBoundary::NotAfterVowel => !matches!(last, b'a' | b'e' | b'i' | b'o' | b'u'),
            PrefixBoundary::NotAfterCapital => !last.is_ascii_uppercase(),
        }
    }
}

/// Whether these bytes end with a colour code such as `ESC[1;31m`.
fn ends_with_colour(bytes: &[u8]) -> bool {
    let Some(code) = bytes.strip_suffix(b"m") else {
        return false;
    };
    let is_number = |byte: &&u8| byte.is_ascii_digit() || **byte == b';';
    let width = code.iter().rev().take_while(is_number).count();
    width <= 12 && code[..code.len() - width].ends_with(b"[")
}

/// Whether these bytes end with a URL escape such as `%3D`.
fn ends_with_percent_escape(bytes: &[u8]) -> bool {
    matches!(bytes, [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit())
}

/// Returns, for each byte, whether it is in a character class with these members. They are ranges
/// such as `A-Z`, and single characters, such as a `-` at the end.
fn read_class(members: &[u8]) -> [bool; 256] {
    let mut set = [false; 256];
    let mut unread = members;
    while let [first, after_first @ ..] = unread {
        let (last, after) = match after_first {
            [b'-', last, after_range @ ..] => (last, after_range),
            _ => (first, after_first),
        };
        for byte in *first..=*last {
            set[usize::from(byte)] = true;
        }
        unread = after;
    }
    set
}

impl FirstCharacters {
    /// Reads the character class with which an expression begins, and its minimum count: for
    /// `[A-Za-z0-9]{20}`, letters and digits, and 20. If the expression does not begin with a
    /// class, the minimum count is 0.
    fn from_expression(expression: &str) -> FirstCharacters {
        let class = expression
            .strip_prefix('[')
            .and_then(|after_bracket| after_bracket.split_once(']'));
        let Some((members, after_class)) = class else {
            return FirstCharacters {
                set: [false; 256],
                min_count: 0,
            };
        };
        // A class without a count stands for one character.
        let min_count = after_class
            .strip_prefix('{')
            .and_then(|counts| counts.split(['}', ',']).next()?.parse().ok())
            .unwrap_or(1);

        let mut set = read_class(members.as_bytes());
        // A slash may be escaped in the raw bytes of a line.
        set[usize::from(b'\\')] = set[usize::from(b'/')];
        FirstCharacters { set, min_count }
    }

    /// Whether all of these bytes are allowed.
    fn contains_all(&self, bytes: &[u8]) -> bool {
        bytes.iter().all(|&byte| self.set[usize::from(byte)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_finds_its_example() {
        assert!(SHAPES.len() > 170);
        for shape in SHAPES.iter() {
            let secret = format!("{}{}", shape.prefix, shape.example);
            for text in [
                secret.clone(),
                format!("use {secret} now"),
                format!("\"{secret}\""),
            ] {
                let start = text.find(&secret).unwrap();
                let mut found = Vec::new();
                each_shape(text.as_bytes(), |range, kind| found.push((range, kind)));
                let own = (start..start + secret.len(), shape.kind);
                assert!(found.contains(&own), "{text}: {found:?}");
            }
            assert!(
                shape.may_continue_with(shape.example.as_bytes()),
                "{secret}"
            );
        }
    }

    /// The kinds are in the order of the alphabet of no importance, but a row that is never reached
    /// is a mistake.
    #[test]
    fn no_row_is_there_twice() {
        let mut rows: Vec<_> = SHAPES
            .iter()
            .map(|shape| (shape.prefix, shape.rest))
            .collect();
        rows.sort_unstable();
        let count = rows.len();
        rows.dedup();
        assert_eq!(rows.len(), count);
    }

    #[test]
    fn placeholders_have_no_shape() {
        for shape in SHAPES.iter() {
            for filler in ["xxxxxxxx", "********", "your-key", "abcdefgh", "........"] {
                let text = format!("{}{}", shape.prefix, filler.repeat(20));
                each_shape(text.as_bytes(), |range, kind| {
                    panic!("{kind}: {}", &text[range]);
                });
            }
        }
    }
}
