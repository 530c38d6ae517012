//! Words: expressions that find them, and those by which texts are compared.

use regex::Regex;

/// A character that is no part of a word: in ASCII, and in the punctuation and the symbols of the
/// scripts that people write to agents in.
const NON_WORD: &str = r"[\x00-\x2f\x3a-\x40\x5b-\x5e\x60\x7b-\u{a9}\u{ab}-\u{b4}\u{b6}-\u{b9}\u{bb}-\u{bf}\u{d7}\u{f7}\u{60c}\u{61b}\u{61f}\u{6d4}\u{964}\u{965}\u{2000}-\u{200b}\u{200e}-\u{206f}\u{20a0}-\u{20cf}\u{2190}-\u{245f}\u{2500}-\u{2bff}\u{2e00}-\u{2e7f}\u{3000}-\u{3004}\u{3008}-\u{3020}\u{3030}\u{fe30}-\u{fe4f}\u{ff00}-\u{ff0f}\u{ff1a}-\u{ff20}\u{ff3b}-\u{ff40}\u{ff5b}-\u{ff65}\u{ffe0}-\u{ffff}\u{1f000}-\u{1faff}]";

/// Compiles a constant expression. In it, every `\W` is replaced by [`NON_WORD`], and every `\w` by
/// its complement: they themselves have some thousand ranges, and compiling these took most of the
/// time that the summary of a short session takes. In brackets of an expression that ignores case,
/// `\w` needs `(?-i:[…])`, or the variants of each letter are searched for.
pub fn compile_expression(expression: &str) -> Regex {
    let mut own_classes = expression.replace(r"\W", NON_WORD);
    if own_classes.contains(r"\w") {
        let word = NON_WORD.replacen('[', "[^", 1);
        own_classes = own_classes.replace(r"\w", &word);
    }
    Regex::new(&own_classes).expect("each expression is a constant")
}

/// Iterates over the words of a text in lower case that are long enough to be of content. A word
/// consists of letters, digits and underscores.
pub(super) fn content_words(lower: &str) -> impl Iterator<Item = &str> {
    lower
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| word.chars().count() >= CONTENT_WORD)
}

/// A word of at least this many characters is one of content.
const CONTENT_WORD: usize = 5;

/// Words of content that name nothing: with them, people lead over, agree, ask, or go back on what
/// was said.
const EMPTY_WORDS: [&str; 33] = [
    "about",
    "actually",
    "after",
    "again",
    "already",
    "anyway",
    "before",
    "could",
    "great",
    "instead",
    "later",
    "lieber",
    "makes",
    "mistake",
    "other",
    "perfect",
    "please",
    "rather",
    "right",
    "sense",
    "shall",
    "should",
    "sorry",
    "stattdessen",
    "still",
    "thanks",
    "there",
    "these",
    "those",
    "where",
    "wieder",
    "which",
    "would",
];

/// Iterates over the words of content that may name something, of a text in lower case.
pub(super) fn naming_words(lower: &str) -> impl Iterator<Item = &str> {
    content_words(lower).filter(|word| !EMPTY_WORDS.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_classes_of_words_are_those_of_regex() {
        let text = "naïve_2 çe, «ß» — “海”？ мир! שלום، don’t 🎉 (x)\u{a0}[y]…";
        for expression in [r"\w+", r"\W+", r"(?i)(?-i:[^\w'’])", r"(?i)(?-i:[\w’-])+"] {
            let own = compile_expression(expression);
            let other = Regex::new(expression).unwrap();
            let matches = |regex: &Regex| -> Vec<(usize, usize)> {
                let ranges = regex.find_iter(text);
                ranges.map(|range| (range.start(), range.end())).collect()
            };
            assert_eq!(matches(&own), matches(&other), "{expression}");
        }
    }
}
