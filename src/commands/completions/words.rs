//! Splits a line of bash into words, and quotes words for bash.

/// A line of bash up to the cursor.
#[derive(Debug, PartialEq, Eq)]
pub struct BashLine {
    /// Its words, starting at the command; the last one is the word before the cursor, which may be
    /// empty.
    pub words: Vec<String>,
    /// The quote that is still open in the last word.
    pub open_quote: Option<char>,
}

/// Splits a line into words, and removes quotes and backslashes, as bash does. White space outside
/// quotes ends a word. A backslash stands for itself between single quotes, and between double
/// quotes unless a character follows that is special there.
pub fn split_line(line: &str) -> BashLine {
    let mut words = vec![String::new()];
    let mut is_in_word = false;
    let mut chars = line.chars();
    let mut quote = None;
    while let Some(c) = chars.next() {
        let is_space = quote.is_none() && c.is_whitespace();
        // Several spaces end only one word.
        if is_space && is_in_word {
            words.push(String::new());
        }
        is_in_word = !is_space;
        let word = words.last_mut().expect("there is always a word");
        match (c, quote) {
            _ if is_space => {}
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('\\', None) => word.extend(chars.next()),
            ('\\', Some('"')) => match chars.next() {
                Some(next @ ('"' | '\\' | '$' | '`')) => word.push(next),
                next => word.extend(std::iter::once('\\').chain(next)),
            },
            (c, _) => word.push(c),
        }
    }
    BashLine {
        words,
        open_quote: quote,
    }
}

impl BashLine {
    /// Returns the text by which bash replaces `word` to insert a candidate, quoted as the last
    /// word is.
    ///
    /// bash splits words at characters such as `:`, too. So `word` may be only the end of the last
    /// word, and bash keeps what precedes it. `None` if the candidate does not begin with that.
    pub fn text_to_insert(&self, candidate: &str, word: &str) -> Option<String> {
        let quoted_word: String = self
            .open_quote
            .iter()
            .copied()
            .chain(word.chars())
            .collect();
        let typed_word = split_line(&quoted_word).words.pop().unwrap_or_default();
        // bash keeps this part of the word, and replaces only the rest.
        let kept_prefix = self
            .words
            .last()
            .and_then(|last| last.strip_suffix(&*typed_word))
            .unwrap_or_default();
        if kept_prefix.is_empty()
            && candidate.starts_with("~/")
            && let Some(below_home) = candidate.strip_prefix('~')
        {
            // In quotes, a tilde is not the home directory. Outside, it must not be quoted.
            return match self.open_quote {
                Some(_) => None,
                None => Some(format!("~{}", quote_word(below_home, None))),
            };
        }
        let inserted = candidate.strip_prefix(kept_prefix)?;
        Some(quote_word(inserted, self.open_quote))
    }
}

/// Quotes a text for bash: after the quote that is open, or outside quotes by backslashes. Outside
/// quotes, plain characters stay as they are, so that completion can continue in the word.
fn quote_word(word: &str, quote: Option<char>) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:=@%^".contains(c);
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        match (quote, c) {
            (Some('\''), '\'') => out += r"'\''",
            // Between double quotes, a backslash would not prevent the expansion of the history,
            // and would remain.
            (Some('"'), '!') => out += r#""\!""#,
            (Some('"'), '"' | '\\' | '$' | '`') => out.extend(['\\', c]),
            (None, c) if !is_plain(c) => out.extend(['\\', c]),
            _ => out.push(c),
        }
    }
    // bash closes the quote, unless the last character is one.
    if let Some(quote) = quote
        && out.ends_with(quote)
    {
        out.push(quote);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_bash_does() {
        for (line, words) in [
            ("pisess tree ", &["pisess", "tree", ""][..]),
            (
                "pisess show s.jsonl id:ab",
                &["pisess", "show", "s.jsonl", "id:ab"],
            ),
            (
                r#"a 'b c' "d \" e" f\ g h"#,
                &["a", "b c", "d \" e", "f g", "h"],
            ),
            ("a 'b c", &["a", "b c"]),
            ("a '' ", &["a", "", ""]),
            ("", &[""]),
        ] {
            assert_eq!(split_line(line).words, words, "{line}");
        }
        assert_eq!(
            [r#""a'b"#, "'a", "'a'"].map(|line| split_line(line).open_quote),
            [Some('"'), Some('\''), None]
        );
    }

    #[test]
    fn quoted_words_come_back() {
        for word in [
            "plain",
            "two words",
            "it's",
            "a$b`c",
            "é:x",
            "q \"z\"",
            "b\\s",
            "new!",
            "o'",
            "''",
            "k{a,b}*?[c]~#&;|<>()",
        ] {
            for quote in [None, Some('\''), Some('"')] {
                let open: String = quote.into_iter().collect();
                let inserted = quote_word(word, quote);
                let closed = if quote.is_some_and(|quote| inserted.ends_with(quote)) {
                    ""
                } else {
                    &*open
                };
                let whole = format!("{open}{inserted}{closed}");
                assert_eq!(
                    split_line(&whole),
                    BashLine {
                        words: vec![word.to_owned()],
                        open_quote: None
                    },
                    "{whole}"
                );
            }
        }
    }

    /// bash splits words at colons, and after the quote that is open.
    #[test]
    fn completion_does_not_repeat_what_bash_keeps() {
        for (line, word, inserted) in [
            ("tree a", "a", r"a:\ b\'s"),
            ("tree a:", "", r"\ b\'s"),
            (r"tree a:\ b", r"\ b", r"\ b\'s"),
            ("tree 'a: b", "a: b", r"a: b'\''s"),
            (r"tree 'a: b'\''", "", "s"),
            (r#"tree "a: b"#, "a: b", "a: b's"),
        ] {
            assert_eq!(
                split_line(line).text_to_insert("a: b's", word).as_deref(),
                Some(inserted),
                "{line}"
            );
        }
        assert_eq!(
            split_line("tree ~/m")
                .text_to_insert("~/my dir/", "~/m")
                .as_deref(),
            Some(r"~/my\ dir/")
        );
        // In quotes, it is not the home directory.
        assert_eq!(
            split_line("tree '~/m").text_to_insert("~/my dir/", "~/m"),
            None
        );
    }
}
