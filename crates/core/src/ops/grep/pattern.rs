//! Compiles all patterns and options of the command line to one regular expression.

use crate::session::prefilter::Prefilter;
use regex::bytes::{Regex, RegexBuilder};
use regex_syntax::ParserBuilder;
use regex_syntax::ast::{self, Ast, ClassSetItem};
use regex_syntax::hir::Hir;
use std::convert::Infallible;
use std::ops::Range;

/// The options for the interpretation of patterns.
#[derive(Clone, Copy, Debug, Default)]
pub struct PatternOptions {
    /// Whether patterns are literal text, not regular expressions.
    pub fixed: bool,
    /// Whether case is ignored.
    pub ignore_case: bool,
    /// Whether case is ignored unless a pattern contains an upper-case letter.
    pub smart_case: bool,
    /// Whether a match must have no word character beside it.
    pub words: bool,
}

/// A compiled pattern, and the prefilter for lines that may match it.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Regex,
    prefilter: Option<Prefilter>,
    /// See [`Pattern::prefilter_before_conversion`].
    prefilter_before_conversion: Option<Prefilter>,
}

impl Pattern {
    /// Compiles `patterns` to one regular expression: a text matches if any of them matches. `^`
    /// and `$` match at line breaks, too. From `cat` and `dog`, with `options.words`, the
    /// expression is `\b{start-half}(?:(?:cat)|(?:dog))\b{end-half}`.
    ///
    /// # Errors
    /// If a pattern is not a regular expression, or compiles to too large a program.
    pub fn new(patterns: &[String], options: PatternOptions) -> Result<Pattern, String> {
        let mut options = options;
        if options.smart_case {
            let has_any_upper_case = patterns
                .iter()
                .any(|pattern| has_upper_case(pattern, options.fixed));
            options.ignore_case |= !has_any_upper_case;
        }

        let mut source = join_alternatives(patterns, options)?;
        if options.words {
            // A match begins and ends where no letter, digit or underscore is beside it.
            source = format!(r"\b{{start-half}}(?:{source})\b{{end-half}}");
        }

        // The prefilter, which finds lines that may match without decoding them, is derived from
        // the parsed expression. `parse` has the same settings as the builder below.
        let hir = parse(&source, options)?;
        let regex = RegexBuilder::new(&source)
            .multi_line(true)
            .case_insensitive(options.ignore_case)
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Pattern {
            regex,
            prefilter: Prefilter::new(&hir),
            prefilter_before_conversion: Prefilter::for_converted_text(&hir),
        })
    }

    /// Returns the first match in decoded text.
    pub fn find(&self, text: &[u8]) -> Option<Range<usize>> {
        self.regex.find(text).map(|found| found.range())
    }

    /// Returns all matches in decoded text.
    pub fn find_all(&self, text: &[u8]) -> Vec<Range<usize>> {
        let matches = self.regex.find_iter(text);
        matches.map(|found| found.range()).collect()
    }

    /// Returns the prefilter for files that are converted before they are searched; `None` if every
    /// file has to be converted.
    pub fn prefilter_before_conversion(&self) -> Option<&Prefilter> {
        self.prefilter_before_conversion.as_ref()
    }

    /// Returns the prefilter, which finds lines that may match; `None` if every line has to be
    /// decoded.
    pub fn prefilter(&self) -> Option<&Prefilter> {
        self.prefilter.as_ref()
    }
}

/// Formats a syntax error as one line. The display of the crate has several lines.
fn one_line_message(error: &regex_syntax::Error, pattern: &str) -> String {
    match error {
        regex_syntax::Error::Parse(error) => format!("{}: {pattern}", error.kind()),
        regex_syntax::Error::Translate(error) => format!("{}: {pattern}", error.kind()),
        error => error.to_string(),
    }
}

/// Parses a regular expression with the same settings with which [`Pattern::new`] compiles it. As
/// in `regex::bytes`, it may match bytes that are not UTF-8. `^` and `$` match at line breaks.
fn parse(source: &str, options: PatternOptions) -> Result<Hir, String> {
    let mut parser = ParserBuilder::new()
        .utf8(false)
        .multi_line(true)
        .case_insensitive(options.ignore_case)
        .build();
    parser
        .parse(source)
        .map_err(|error| one_line_message(&error, source))
}

/// Joins patterns to one expression, in which each is a group of its own: `(?:cat)|(?:dog)`.
fn join_alternatives(patterns: &[String], options: PatternOptions) -> Result<String, String> {
    let mut groups = Vec::new();
    for pattern in patterns {
        if options.fixed {
            groups.push(format!("(?:{})", regex_syntax::escape(pattern)));
            continue;
        }
        // Each pattern is parsed separately, so that `a)` and `(b` are errors, although `a)|(b`
        // would be balanced in a group.
        parse(pattern, options)?;
        groups.push(format!("(?:{pattern})"));
    }
    Ok(groups.join("|"))
}

/// Whether a pattern contains an upper-case letter as a literal, so that case matters in it. The
/// letters in the name of a class, such as `\S` or `\p{Lu}`, do not count.
fn has_upper_case(pattern: &str, is_fixed: bool) -> bool {
    if is_fixed {
        return pattern.chars().any(char::is_uppercase);
    }
    let Ok(parsed) = ast::parse::Parser::new().parse(pattern) else {
        // The error is reported when the pattern is compiled.
        return false;
    };
    let finder = UpperCaseFinder {
        has_upper_case: false,
    };
    let Ok(has_upper_case) = ast::visit(&parsed, finder);
    has_upper_case
}

/// A visitor of a parsed pattern that looks for upper-case letters.
struct UpperCaseFinder {
    /// Whether an upper-case letter was found.
    has_upper_case: bool,
}

impl ast::Visitor for UpperCaseFinder {
    type Output = bool;
    type Err = Infallible;

    fn finish(self) -> Result<bool, Infallible> {
        Ok(self.has_upper_case)
    }

    fn visit_pre(&mut self, part: &Ast) -> Result<(), Infallible> {
        self.has_upper_case |= matches!(part, Ast::Literal(literal) if literal.c.is_uppercase());
        Ok(())
    }

    fn visit_class_set_item_pre(&mut self, item: &ClassSetItem) -> Result<(), Infallible> {
        self.has_upper_case |= match item {
            ClassSetItem::Literal(literal) => literal.c.is_uppercase(),
            ClassSetItem::Range(range) => {
                range.start.c.is_uppercase() || range.end.c.is_uppercase()
            }
            _ => false,
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, options: PatternOptions, text: &str) -> Option<Range<usize>> {
        Pattern::new(&[pattern.to_owned()], options)
            .unwrap()
            .find(text.as_bytes())
    }

    #[test]
    fn options_change_what_matches() {
        let plain = PatternOptions::default();
        let fixed = PatternOptions {
            fixed: true,
            ..plain
        };
        let words = PatternOptions {
            words: true,
            ..plain
        };
        let ignore_case = PatternOptions {
            ignore_case: true,
            ..plain
        };
        assert_eq!(found("a.c", plain, "xabc"), Some(1..4));
        assert_eq!(found("a.c", fixed, "xabc a.c"), Some(5..8));
        assert_eq!(found("cat", words, "concat cat"), Some(7..10));
        assert_eq!(found("-cat", words, "x -cat"), Some(2..6));
        assert_eq!(
            found("STRASSE k", ignore_case, "ſtraſſe \u{212a}"),
            Some(0..14)
        );
        let smart_case = PatternOptions {
            smart_case: true,
            ..plain
        };
        assert_eq!(found("cat", smart_case, "a CAT"), Some(2..5));
        assert_eq!(found(r"\S\pL[a-z]", smart_case, "CAT"), Some(0..3));
        assert_eq!(found("Cat", smart_case, "CAT"), None);
        assert_eq!(found("c[A-Z]t", smart_case, "cat"), None);
        assert_eq!(found("^b$", plain, "a\nb\nc"), Some(2..3));
        assert_eq!(found("a.b", plain, "a\nb"), None);
        assert_eq!(found("a\nb", fixed, "a\nb"), Some(0..3));
    }

    #[test]
    fn each_pattern_stands_by_itself() {
        let bad = Pattern::new(
            &["a)".to_owned(), "(b".to_owned()],
            PatternOptions::default(),
        );
        assert_eq!(bad.unwrap_err(), "unopened group: a)");
        let any = ["x|y".to_owned(), "z".to_owned()];
        let words = PatternOptions {
            words: true,
            ..PatternOptions::default()
        };
        let pattern = Pattern::new(&any, words).unwrap();
        assert_eq!(pattern.find(b"xz z"), Some(3..4));
    }
}
