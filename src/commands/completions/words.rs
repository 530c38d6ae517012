//! Splits a line of bash into words, and quotes words for bash.

/// The words of a bash command line up to the cursor.
#[derive(Debug, PartialEq, Eq)]
pub struct BashLine {
    /// The words, from the command to the word before the cursor, which may be empty.
    pub words: Vec<String>,
    /// The quote in the last word that is not closed yet.
    pub open_quote: Option<char>,
}

/// Splits a line into words, and removes quotes and backslashes, as bash does. White space outside
/// quotes ends a word. Between single quotes, a backslash is literal. Between double quotes, it is
/// literal unless the next character is special there.
pub fn split_line(line: &str) -> BashLine {
    let mut words = vec![String::new()];
    let mut is_in_word = false;
    let mut open_quote = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        if open_quote.is_none() && c.is_whitespace() {
            // Several spaces end only one word.
            if is_in_word {
                words.push(String::new());
            }
            is_in_word = false;
            continue;
        }

        is_in_word = true;
        let word = words.last_mut().expect("there is always a word");
        match open_quote {
            Some(quote) if c == quote => open_quote = None,
            Some('"') if c == '\\' => push_escape_in_double_quotes(word, chars.next()),
            Some(_) => word.push(c),
            None if matches!(c, '\'' | '"') => open_quote = Some(c),
            // At the end of the line, a backslash escapes nothing.
            None if c == '\\' => word.extend(chars.next()),
            None => word.push(c),
        }
    }
    BashLine { words, open_quote }
}

/// Appends the character after a backslash between double quotes. The backslash is kept, unless it
/// escapes a character that is special there.
fn push_escape_in_double_quotes(word: &mut String, escaped: Option<char>) {
    let has_meaning = matches!(escaped, Some('"' | '\\' | '$' | '`'));
    if !has_meaning {
        word.push('\\');
    }
    word.extend(escaped);
}

impl BashLine {
    /// Returns the text with which bash replaces `word` to insert a candidate. It is quoted like
    /// the last word.
    ///
    /// bash also splits words at characters such as `:`. So `word` may be only the end of the last
    /// word, and bash keeps the text before it. For example, the last word may be `label:do`: then
    /// `word` is `do`, and of the candidate `label:done`, the text is `done`.
    ///
    /// `None` if the candidate does not begin with the text that bash keeps, or if a tilde for the
    /// home directory would have to be quoted.
    pub fn text_to_insert(&self, candidate: &str, word: &str) -> Option<String> {
        let kept_prefix = self.prefix_before(word);
        let text = candidate.strip_prefix(kept_prefix)?;

        let begins_with_home = kept_prefix.is_empty() && candidate.starts_with("~/");
        if !begins_with_home {
            return Some(quote_word(text, self.open_quote));
        }
        // A quoted tilde is not the home directory.
        if self.open_quote.is_some() {
            return None;
        }
        // The `~` stays without a backslash; `quote_word` would add one.
        let below_home = &text["~".len()..];
        Some(format!("~{}", quote_word(below_home, None)))
    }

    /// Returns the start of the last word that bash keeps when it replaces `word`, the end of it.
    /// For the last word `label:do` and `word` `do`, that is `label:`. Empty if `word` is the whole
    /// last word, or no end of it.
    fn prefix_before(&self, word: &str) -> &str {
        let Some(last) = self.words.last() else {
            return "";
        };
        // `last` has no quotes and backslashes any more, but `word` is as it was typed. So it is
        // parsed like the line: after the quote that is still open, which bash does not pass.
        let mut quoted_word = String::from_iter(self.open_quote);
        quoted_word.push_str(word);
        let plain_word = split_line(&quoted_word).words.pop().unwrap_or_default();
        last.strip_suffix(&*plain_word).unwrap_or("")
    }
}

/// Quotes a text that bash inserts into a word. If a quote is open in the word, the text is quoted
/// for the inside of that quote. Otherwise, special characters get a backslash.
fn quote_word(text: &str, open_quote: Option<char>) -> String {
    let mut quoted = String::with_capacity(text.len());
    for c in text.chars() {
        match open_quote {
            Some('\'') => push_in_single_quotes(&mut quoted, c),
            Some(_) => push_in_double_quotes(&mut quoted, c),
            None => push_unquoted(&mut quoted, c),
        }
    }

    // bash closes the quote of a completed word. But if the word ends with the quote character, as
    // in `it'\''` for `it'`, bash takes that for the closing quote, so one more is needed.
    if let Some(quote) = open_quote
        && quoted.ends_with(quote)
    {
        quoted.push(quote);
    }
    quoted
}

/// Between single quotes, only the quote itself is special, and it cannot be escaped there. So the
/// quotes are closed, and reopened after an escaped quote.
fn push_in_single_quotes(quoted: &mut String, c: char) {
    if c == '\'' {
        *quoted += r"'\''";
    } else {
        quoted.push(c);
    }
}

/// Between double quotes, a backslash escapes the characters that are special there, except `!`.
fn push_in_double_quotes(quoted: &mut String, c: char) {
    match c {
        // A `!` is replaced by a command of the history. A backslash prevents that, but would
        // remain between double quotes, so the quotes are closed before it.
        '!' => *quoted += r#""\!""#,
        '"' | '\\' | '$' | '`' => quoted.extend(['\\', c]),
        _ => quoted.push(c),
    }
}

/// Ordinary characters get no backslash, so that the user sees the word as it would be typed, and
/// can complete it further.
fn push_unquoted(quoted: &mut String, c: char) {
    let is_plain = c.is_alphanumeric() || "/._-+,:=@%^".contains(c);
    if !is_plain {
        quoted.push('\\');
    }
    quoted.push(c);
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
