//! Splits a line of bash into words, and quotes words for bash.

/// Returns the words of a line, starting at the command; the last one is the word before the cursor, which
/// may be empty.
pub fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_word = false;
    let mut chars = line.chars();
    let mut quote = None;
    while let Some(c) = chars.next() {
        let word = words.last_mut().expect("there is always a word");
        match (c, quote) {
            ('\'' | '"', None) => (quote, is_word) = (Some(c), true),
            (c, Some(open)) if c == open => quote = None,
            ('\\', None) => {
                word.extend(chars.next());
                is_word = true;
            }
            ('\\', Some('"')) => match chars.next() {
                Some(next @ ('"' | '\\' | '$' | '`')) => word.push(next),
                next => word.extend(std::iter::once('\\').chain(next)),
            },
            (c, None) if c.is_whitespace() => {
                if std::mem::take(&mut is_word) {
                    words.push(String::new());
                }
            }
            (c, _) => {
                word.push(c);
                is_word = true;
            }
        }
    }
    words
}

/// Returns a word that bash parses as this text. Plain text stays unquoted, so that completion can continue
/// in it.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+,:=@%^".contains(c);
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        if !is_plain(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_bash_does() {
        assert_eq!(split("pisess tree "), ["pisess", "tree", ""]);
        assert_eq!(split("pisess show s.jsonl id:ab"), ["pisess", "show", "s.jsonl", "id:ab"]);
        assert_eq!(split(r#"a 'b c' "d \" e" f\ g h"#), ["a", "b c", "d \" e", "f g", "h"]);
        assert_eq!(split("a 'b c"), ["a", "b c"]);
        assert_eq!(split("a '' "), ["a", "", ""]);
        assert_eq!(split(""), [""]);
    }

    #[test]
    fn quoted_words_come_back() {
        for word in ["plain", "two words", "it's", "a$b`c", "é:x"] {
            assert_eq!(split(&quoted(word)), [word]);
        }
    }
}
