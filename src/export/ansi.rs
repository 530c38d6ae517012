//! Terminal output of a command, as text and colours.
//!
//! Escape sequences for colours and bold (`ESC [ … m`) are kept; all others are omitted. What follows a carriage
//! return within a line overwrites the line, so only the last state of a progress bar is shown.

use super::markup::Word;

/// Calls `put` with the pieces of `text`, in order; some may be empty.
pub fn words<'a>(text: &'a str, put: &mut dyn FnMut(Option<Word>, &'a str)) {
    if !text.contains(['\x1b', '\r', '\x08']) {
        return put(None, text);
    }
    let mut word = None;
    for line in text.split_inclusive('\n') {
        let end = line.trim_end_matches(['\r', '\n']).len();
        let shown = line[..end].rfind('\r').map_or(0, |at| at + 1);
        // Colours selected in overwritten text still apply.
        pieces(&line[..shown], &mut word, &mut |_, _| ());
        pieces(&line[shown..end], &mut word, put);
        if line.ends_with('\n') {
            put(None, "\n");
        }
    }
}

fn pieces<'a>(line: &'a str, word: &mut Option<Word>, put: &mut dyn FnMut(Option<Word>, &'a str)) {
    let mut rest = line;
    while let Some(at) = rest.find(['\x1b', '\x08']) {
        put(*word, &rest[..at]);
        let sequence = sequence(&rest[at..]);
        if let Some(codes) = sequence.strip_prefix("\x1b[").and_then(|codes| codes.strip_suffix('m')) {
            select(codes, word);
        }
        rest = &rest[at + sequence.len()..];
    }
    put(*word, rest);
}

/// Returns the control sequence at the start of `text`.
fn sequence(text: &str) -> &str {
    let bytes = text.as_bytes();
    let end = match bytes.get(1) {
        _ if bytes[0] != 0x1b => 1,
        Some(b'[') => {
            bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte)).map_or(bytes.len(), |at| at + 3)
        }
        // A title or a link: up to BEL or ESC \.
        Some(b']' | b'P' | b'_' | b'^') => {
            match bytes[2..].iter().position(|&byte| byte == 7 || byte == 0x1b) {
                Some(at) if bytes[at + 2] == 7 => at + 3,
                Some(at) if bytes.get(at + 3) == Some(&b'\\') => at + 4,
                Some(at) => at + 2,
                None => bytes.len(),
            }
        }
        Some(0x20..=0x7e) => 2,
        _ => 1,
    };
    &text[..end]
}

/// Applies codes such as `1;31`.
fn select(codes: &str, word: &mut Option<Word>) {
    let mut codes = codes.split([';', ':']).map(|code| code.parse::<u16>().unwrap_or(0));
    while let Some(code) = codes.next() {
        match code {
            0 | 39 => *word = None,
            1 if word.is_none() => *word = Some(Word::Bold),
            22 if *word == Some(Word::Bold) => *word = None,
            30..=37 => *word = Some(Word::Colour((code - 30) as u8)),
            90..=97 => *word = Some(Word::Colour((code - 90) as u8)),
            // Colours by number or by value: the codes that follow belong to them.
            38 | 48 => {
                let (kind, number) = (codes.next(), codes.next());
                match (kind, number) {
                    (Some(5), Some(number @ 0..=15)) if code == 38 => {
                        *word = Some(Word::Colour((number % 8) as u8));
                    }
                    (Some(2), _) => {
                        codes.next();
                        codes.next();
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let mut out = String::new();
        words(text, &mut |word, text| match word.filter(|_| !text.is_empty()) {
            Some(word) => out += &format!("<{}:{text}>", word.code()),
            None => out += text,
        });
        out
    }

    #[test]
    fn colours_stay_and_the_rest_goes() {
        assert_eq!(read("a\x1b[31mred\x1b[0m b\x1b[1mB\x1b[22mc"), "a<1:red> b<b:B>c");
        assert_eq!(read("\x1b[38;5;2mg\x1b[38;2;1;2;3mx\x1b[39my"), "<2:g><2:x>y");
        assert_eq!(read("a\x1b[2Kb\x1b]0;title\x07c\x1b]8;;http://x\x1b\\d\x1b(Be"), "abcdBe");
        assert_eq!(read("10%\r50%\r100%\r\nnext\n"), "100%\nnext\n");
    }

    #[test]
    fn what_is_cut_short_is_left_out() {
        for (text, read_as) in [
            ("a\x1b", "a"),
            ("a\x1b[", "a"),
            ("a\x1b[31", "a"),
            ("a\x1b]0;t", "a"),
            ("a\x1b]\x1b", "a"),
            ("é\x1bé", "éé"),
            ("a\x08", "a"),
        ] {
            assert_eq!(read(text), read_as, "{text:?}");
        }
    }
}
