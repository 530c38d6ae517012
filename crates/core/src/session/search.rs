//! A search for words in all text of an entry, and the context of a match.
//!
//! Case is ignored, as in `grep -i` and the agents' own searches. An entry matches if it contains
//! each word: in one of its fields ([`crate::session::fields`]), or in the text that the agent's
//! own search covers. Different words may be in different fields. The field that is shown is the
//! one with the most words; of several, the first. The snippet surrounds the earliest match in that
//! field.

use super::entry::{Kind, Role};
use super::fields::{Field, FieldScope, visit_fields};
use super::prefilter::Prefilter;
use foldhash::HashSet;
use memchr::memmem;
use pisess_json::Raw;
use pisess_json::text::utf16_len;
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use std::ops::{ControlFlow, Range};

/// The size of a snippet.
#[derive(Clone, Copy, Debug)]
pub struct SnippetSize {
    /// The number of UTF-16 units before the match.
    pub before: usize,
    /// The number of UTF-16 units from the start of the match on.
    pub after: usize,
}

impl Default for SnippetSize {
    fn default() -> SnippetSize {
        SnippetSize {
            before: 32,
            after: 128,
        }
    }
}

/// The words to search for.
#[derive(Clone, Debug, Default)]
pub struct SearchWords {
    /// An expression for each word, which ignores case.
    words: Vec<Regex>,
    /// A filter that rules out raw bytes which contain none of the words; `None` if raw bytes
    /// cannot rule out a word.
    prefilter: Option<Prefilter>,
}

/// The matches in one entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Matches {
    /// For each word, whether it was found.
    pub words: Vec<bool>,
    /// The match to show; `None` if no field contains a word.
    pub hit: Option<Hit>,
}

impl Matches {
    /// Whether every word was found.
    pub fn has_every_word(&self) -> bool {
        self.words.iter().all(|&is_found| is_found)
    }

    /// Whether any word was found.
    pub fn has_any_word(&self) -> bool {
        self.words.contains(&true)
    }
}

/// A match in a field, with the text around it on one line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hit {
    /// The path of the field.
    pub field: String,
    /// The position of the match in the decoded field, in UTF-16 units.
    pub range: Range<usize>,
    /// The match and the text around it, with `…` in place of truncated parts.
    pub snippet: String,
    /// The position of the match in the snippet, in bytes.
    pub snippet_range: Range<usize>,
}

impl SearchWords {
    /// Splits what the user typed into words at white space. Of words that differ only in case, one
    /// is kept.
    pub fn new(typed: &str) -> SearchWords {
        let mut known = HashSet::default();
        let mut sources = Vec::new();
        for word in typed.split_whitespace() {
            let is_new = known.insert(word.to_lowercase());
            if is_new {
                sources.push(word_source(word));
            }
        }
        SearchWords {
            words: sources.iter().map(|source| compile_word(source)).collect(),
            prefilter: prefilter_of_any(&sources),
        }
    }

    /// Returns the search for a phrase: the words in this order, with any white space between two
    /// of them. The phrase counts as one word.
    pub fn phrase(typed: &str) -> SearchWords {
        let words: Vec<String> = typed.split_whitespace().map(word_source).collect();
        if words.is_empty() {
            return SearchWords::default();
        }
        let source = words.join(r"\s+");
        SearchWords {
            prefilter: prefilter_of_any(std::slice::from_ref(&source)),
            words: vec![compile_word(&source)],
        }
    }

    /// Whether there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the number of words.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Sets `found` for each word that the text contains. A word that is marked already is not
    /// searched for.
    pub fn mark_found(&self, text: &str, found: &mut [bool]) {
        for (word, is_found) in self.words.iter().zip(found) {
            *is_found = *is_found || word.is_match(text.as_bytes());
        }
    }

    /// Searches the fields of an entry for the words. The match to show is in the field with the
    /// most words; of several, the first.
    pub fn search_entry(&self, line: Raw, kind: Kind, role: Role) -> Matches {
        let mut search = EntrySearch {
            words: self,
            matches: Matches {
                words: vec![false; self.words.len()],
                hit: None,
            },
            most_words: 0,
        };
        // Of most lines, the raw bytes show that no field can contain a word.
        if self.may_match_any(line.bytes()) {
            // Breaks only at a field with every word, because the line is valid JSON. So the result
            // need not be examined.
            let _ = visit_fields(line, kind, role, FieldScope::Meaningful, &mut |field| {
                search.search_field(field)
            });
        }
        search.matches
    }

    /// Returns the earliest match of any word in a text that is not a field of an entry; `None` if
    /// there is none. `field` is the name that the hit shows for the text.
    pub fn find_hit(&self, field: &str, text: &str) -> Option<Hit> {
        let range = earliest_range(self.first_matches(text))?;
        let size = SnippetSize::default();
        Some(Hit::new(field.to_owned(), text, range, size))
    }

    /// Whether a text contains any of the words.
    pub fn any_occurs_in(&self, text: &str) -> bool {
        self.words.iter().any(|word| word.is_match(text.as_bytes()))
    }

    /// Returns where the words are in a text, in order and without overlaps, for highlighting.
    pub fn find_all(&self, text: &str) -> Vec<Range<usize>> {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for word in &self.words {
            ranges.extend(word.find_iter(text.as_bytes()).map(|found| found.range()));
        }
        ranges.sort_by_key(|range| (range.start, range.end));

        // Ranges that overlap, or of which one begins at the end of the other, become one.
        let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
        for range in ranges {
            if let Some(last) = merged.last_mut()
                && range.start <= last.end
            {
                last.end = last.end.max(range.end);
            } else {
                merged.push(range);
            }
        }
        merged
    }

    /// Returns the range of the first match of each word in a text; `None` for a word that is not
    /// found.
    fn first_matches(&self, text: &str) -> Vec<Option<Range<usize>>> {
        self.words
            .iter()
            .map(|word| word.find(text.as_bytes()).map(|found| found.range()))
            .collect()
    }

    /// Whether bytes of a line, which are not decoded, may contain any of the words.
    pub(crate) fn may_match_any(&self, raw: &[u8]) -> bool {
        match &self.prefilter {
            Some(prefilter) => prefilter.may_match(raw),
            None => true,
        }
    }
}

/// A search for words in the fields of one entry.
struct EntrySearch<'w> {
    words: &'w SearchWords,
    /// What the fields so far contain.
    matches: Matches,
    /// The number of words in the field of the hit.
    most_words: usize,
}

impl EntrySearch<'_> {
    /// Searches a field, and keeps its first match if it has more words than each field before.
    /// Breaks at a field with every word, because no later field can be better.
    fn search_field(&mut self, field: &Field) -> ControlFlow<()> {
        if !self.words.may_match_any(field.raw()) {
            return ControlFlow::Continue(());
        }
        let decoded = field.text();
        let text = decoded.to_string_lossy();
        let ranges = self.words.first_matches(&text);
        for (is_found, range) in self.matches.words.iter_mut().zip(&ranges) {
            *is_found |= range.is_some();
        }

        let word_count = ranges.iter().flatten().count();
        if word_count > self.most_words
            && let Some(range) = earliest_range(ranges)
        {
            self.most_words = word_count;
            let size = SnippetSize::default();
            self.matches.hit = Some(Hit::new(field.path(), &text, range, size));
        }
        if word_count == self.words.len() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Returns the range with the smallest start, given the range of each word that was found; `None`
/// if none was.
fn earliest_range(ranges: Vec<Option<Range<usize>>>) -> Option<Range<usize>> {
    ranges.into_iter().flatten().min_by_key(|range| range.start)
}

/// Returns a regular expression that finds a word wherever JavaScript would find it by comparing
/// texts in lower case. The expression is compiled to ignore case.
///
/// Only `İ` needs more: in lower case, JavaScript makes two characters of it, `i` and the dot
/// U+0307. So `İ` is an alternative to both in the word, to an `i` at its end, and to a dot at its
/// start.
fn word_source(word: &str) -> String {
    const DOT: char = '\u{307}';

    let escaped = regex::escape(&word.to_lowercase());
    let mut source = escaped.replace("i\u{307}", "(?:i\u{307}|İ)");
    if let Some(before) = source.strip_suffix('i') {
        source = format!("{before}[iİ]");
    }
    if let Some(after) = source.strip_prefix(DOT) {
        source = format!("[{DOT}İ]{after}");
    }
    source
}

/// Compiles the expression of a word.
fn compile_word(source: &str) -> Regex {
    RegexBuilder::new(source)
        .case_insensitive(true)
        .size_limit(usize::MAX)
        .build()
        .expect("an escaped word is an expression")
}

/// Returns the prefilter for lines that contain any of these expressions; `None` if there cannot be
/// one.
fn prefilter_of_any(sources: &[String]) -> Option<Prefilter> {
    let any = ParserBuilder::new()
        .case_insensitive(true)
        .build()
        .parse(&sources.join("|"))
        .ok()?;
    Prefilter::new(&any)
}

impl Hit {
    /// Returns the match at `range`, in bytes, of a text. `size` limits the snippet around it.
    pub fn new(field: String, text: &str, range: Range<usize>, size: SnippetSize) -> Hit {
        let before = &text[..range.start];
        let matched = &text[range.clone()];
        let after = &text[range.end..];
        // Unlike `range`, the range of the hit is in UTF-16 units.
        let start_unit = utf16_len(before.as_bytes());
        let end_unit = start_unit + utf16_len(matched.as_bytes());
        let snippet = Snippet::new(before, matched, after, size);
        Hit {
            field,
            range: start_unit..end_unit,
            snippet: snippet.text,
            snippet_range: snippet.matched,
        }
    }
}

/// A part of a text that shows a match.
struct Snippet {
    text: String,
    /// The range of the match in `text`, in bytes.
    matched: Range<usize>,
}

impl Snippet {
    /// Builds the snippet of a match, given the text before it, the match, and the text after it. A
    /// run of white space becomes one space.
    ///
    /// It has at most `size.before` UTF-16 units before the match. `size.after` limits the match
    /// and the text after it together, so a long match is truncated.
    fn new(before: &str, matched: &str, after: &str, size: SnippetSize) -> Snippet {
        // Of ASCII text, which is the most common, a unit takes one byte.
        let text_len = before.len() + matched.len() + after.len();
        let most_units = size.before.saturating_add(size.after);
        let mut text = String::with_capacity(text_len.min(most_units));

        let before_start = before.len() - suffix_len(before, size.before);
        let (hidden_before, shown_before) = before.split_at(before_start);
        text.push_str(ellipsis_for(hidden_before));
        // No limit is needed: `suffix_len` has chosen as much as fits.
        let no_limit = usize::MAX;
        push_squeezed(shown_before.trim_start(), no_limit, &mut text);

        let match_start = text.len();
        push_squeezed(matched, size.after, &mut text);
        let match_end = text.len();

        // The text after the match takes the units that the match has left.
        let match_units = utf16_len(&text.as_bytes()[match_start..]);
        let units_left = size.after.saturating_sub(match_units);
        let shown_after_len = push_squeezed(after, units_left, &mut text);
        // White space at the end is not shown, unless the match ends with it.
        let squeezed_after = text[match_end..].trim_end();
        text.truncate(match_end + squeezed_after.len());
        let hidden_after = &after[shown_after_len..];
        text.push_str(ellipsis_for(hidden_after));

        Snippet {
            text,
            matched: match_start..match_end,
        }
    }
}

/// Returns the mark for a part that is cut off: none if the part is only white space.
fn ellipsis_for(cut_off: &str) -> &'static str {
    if cut_off.trim().is_empty() { "" } else { "…" }
}

/// Returns the length, in bytes, of the longest end of a text that takes at most `units` UTF-16
/// units. A run of white space counts as one unit.
fn suffix_len(text: &str, units: usize) -> usize {
    let mut bytes = 0;
    let mut units_left = units;
    let mut is_after_space = false;
    for c in text.chars().rev() {
        let is_space = c.is_whitespace();
        let continues_run = is_space && is_after_space;
        if !continues_run {
            if c.len_utf16() > units_left {
                break;
            }
            units_left -= c.len_utf16();
        }
        bytes += c.len_utf8();
        is_after_space = is_space;
    }
    bytes
}

/// Appends the start of a text to `out`, with one space for each run of white space. At most
/// `max_units` UTF-16 units are appended. Returns the length of this start, in bytes of the text.
///
/// Example: of `a  b\nc` with 4 units, `a b ` is appended, and 5 bytes are used.
fn push_squeezed(text: &str, max_units: usize, out: &mut String) -> usize {
    let mut units_left = max_units;
    let mut is_after_space = false;
    // The text before `pos` was used. Of that, the text before `appended` is in `out` already, and
    // the rest needs no change: it is appended at once, when something has to be changed.
    let mut pos = 0;
    let mut appended = 0;
    loop {
        // Most of a text is ASCII, of which each byte takes one unit.
        let affordable_len = units_left.min(text.len() - pos);
        let affordable = &text.as_bytes()[pos..pos + affordable_len];
        let plain_len = unchanged_len(affordable, is_after_space);
        if plain_len > 0 {
            pos += plain_len;
            units_left -= plain_len;
            is_after_space = text.as_bytes()[pos - 1] == b' ';
        }

        // The next character may be white space or not ASCII, or the units may be used up.
        let Some(character) = text[pos..].chars().next() else {
            break;
        };
        let is_space = character.is_whitespace();
        let continues_run = is_space && is_after_space;
        // What continues a run of white space is left out, and takes no units.
        let units = if continues_run {
            0
        } else {
            character.len_utf16()
        };
        if units > units_left {
            break;
        }

        if is_space {
            out.push_str(&text[appended..pos]);
            if !continues_run {
                out.push(' ');
            }
            appended = pos + character.len_utf8();
        }
        units_left -= units;
        pos += character.len_utf8();
        is_after_space = is_space;
    }
    out.push_str(&text[appended..pos]);
    pos
}

/// Returns the length of the start of a text that [`push_squeezed`] copies unchanged: printable
/// ASCII, up to a second space in a row. `is_after_space` is whether a space precedes the text.
fn unchanged_len(text: &[u8], is_after_space: bool) -> usize {
    if is_after_space && text.starts_with(b" ") {
        return 0;
    }
    let printable = &text[..printable_len(text)];
    match memmem::find(printable, b"  ") {
        // The first of the two spaces is copied.
        Some(two_spaces) => two_spaces + 1,
        None => printable.len(),
    }
}

/// Returns the length of the printable ASCII at the start of a text, in bytes.
fn printable_len(text: &[u8]) -> usize {
    // From a space to `~`, in one comparison: bytes below a space wrap to large numbers.
    let is_printable = |byte: &u8| byte.wrapping_sub(b' ') < 0x7f - b' ';
    let mut len = 0;
    // Without an early return within a block, the compiler compares its bytes at once.
    for block in text.chunks(16) {
        let mut is_whole = true;
        for byte in block {
            is_whole &= is_printable(byte);
        }
        if !is_whole {
            return len + block.iter().take_while(|byte| is_printable(byte)).count();
        }
        len += block.len();
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(words: &str, line: &str) -> Option<(Vec<bool>, String, Range<usize>, String)> {
        let found = SearchWords::new(words).search_entry(
            Raw::parse(line.as_bytes()).unwrap(),
            Kind::Message,
            Role::Assistant,
        );
        assert_eq!(found.has_any_word(), found.hit.is_some());
        let hit = found.hit?;
        let shown = marked(&hit);
        Some((found.words, hit.field, hit.range, shown))
    }

    fn marked(
        Hit {
            snippet,
            snippet_range: Range { start, end },
            ..
        }: &Hit,
    ) -> String {
        format!(
            "{}<{}>{}",
            &snippet[..*start],
            &snippet[*start..*end],
            &snippet[*end..]
        )
    }

    fn around(text: &str, hit: &str) -> String {
        let start = text.find(hit).unwrap();
        marked(&Hit::new(
            String::new(),
            text,
            start..start + hit.len(),
            SnippetSize::default(),
        ))
    }

    const TURN: &str = r#"{"type":"message","message":{"role":"assistant","content":[{"thinking":"the Ferry"},
        {"text":"\u0046erry at\n\n mid\u006eight, caf\u00c9 \ud83d\ude00 x"},{"arguments":{"path":"a/b"}}]}}"#;

    #[test]
    fn every_field_is_searched_and_the_best_is_shown() {
        let found = |words| look(words, TURN);
        let text = "message.content[1].text".to_owned();
        assert_eq!(
            found("ferry MIDNIGHT"),
            Some((
                vec![true, true],
                text.clone(),
                0..5,
                "<Ferry> at midnight, cafÉ 😀 x".into()
            ))
        );
        assert_eq!(found("ferry").unwrap().1, "message.content[0].thinking");
        assert_eq!(found("café").unwrap().2, 21..25);
        assert_eq!(found("x gone").unwrap().0, [true, false]);
        assert_eq!(found("x").unwrap().2, 29..30);
        assert_eq!(found("A/B").unwrap().1, "message.content[2].arguments.path");
        assert_eq!(found("gone"), None);
    }

    #[test]
    fn the_prefilter_misses_no_spelling() {
        let spellings = [
            ("parse", r"p\u0061r\u0053E"),
            ("task", r"ta\u017f\u212A"),
            ("TASK", "ta\u{17f}\u{212a}"),
            ("li", r"l\u0130"),
            ("li", "l\u{130}"),
            ("i\u{307}x", "\u{130}x"),
            ("\u{307}x", "\u{130}x"),
            ("café", r"CAF\u00C9"),
            ("a/b", r"A\/b"),
            (r"c:\dir", r"C:\\Dir"),
            ("\"x\"", r#"\"X\""#),
            ("😀", r"\ud83d\ude00"),
            ("gone 12", "a 12"),
        ];
        for (typed, stored) in spellings {
            let line = format!(r#"{{"type":"message","message":{{"content":"{stored}"}}}}"#);
            let line = Raw::parse(line.as_bytes()).unwrap();
            let words = SearchWords::new(typed);
            let unfiltered = SearchWords {
                prefilter: None,
                ..words.clone()
            };
            let expected = unfiltered.search_entry(line, Kind::Message, Role::User);
            assert!(expected.has_any_word(), "{typed} {stored}");
            assert_eq!(
                words.search_entry(line, Kind::Message, Role::User),
                expected
            );
        }
        assert!(!SearchWords::new("midnight ferry").may_match_any(br"\u001b[0m night"));
    }

    #[test]
    fn letters_of_several_bytes_keep_places_right() {
        let words = SearchWords::new("k ß K İ");
        assert_eq!(words.len(), 3);
        assert_eq!(
            words.find_all("İ \u{212a} groß K"),
            [0..2, 3..6, 10..12, 13..14]
        );
        assert_eq!(SearchWords::new("i").find_all("İ i"), [0..2, 3..4]);
        assert_eq!(
            SearchWords::new("bi \u{307}Z").find_all("BİZ biz"),
            [0..4, 5..7]
        );
        assert_eq!(
            SearchWords::new("ab b bc").find_all("xabc ab"),
            [1..4, 5..7]
        );
    }

    #[test]
    fn snippets_say_where_they_are_cut() {
        assert_eq!(around("one two", "two"), "one <two>");
        assert_eq!(around("  one\n\ttwo  three ", "two"), "one <two> three");
        let long = format!("{} needle {}", "before ".repeat(20), "after ".repeat(90));
        let cut = around(&long, "needle");
        assert!(
            cut.starts_with("…") && cut.contains(" <needle> ") && cut.ends_with("…"),
            "{cut}"
        );
        assert!(cut.chars().count() < 170, "{cut}");
        let wide = format!("{}needle", "😀".repeat(100));
        assert_eq!(
            around(&wide, "needle"),
            format!("…{}<needle>", "😀".repeat(16))
        );
        assert_eq!(around(&format!("{}x", " ".repeat(9000)), "x"), "<x>");
        assert_eq!(
            around("a \u{a0}\u{3000}b  x\r\n\n y z \t", "x"),
            "a b <x> y z"
        );
    }
}
