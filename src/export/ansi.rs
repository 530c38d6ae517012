//! Terminal output of a command, as text and colours.
//!
//! Escape sequences for colours and bold (`ESC [ … m`) are kept; all others are omitted. What
//! follows a carriage return within a line overwrites the line, so only the last state of a
//! progress bar is shown.

use super::markup::Word;
use regex::Regex;
use std::sync::LazyLock;

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

/// Matches a control sequence: one that ends with a letter, a title or a link up to BEL or `ESC \`,
/// any other; or a backspace. Of one that is cut short, all that is there.
const SEQUENCE: &str = r"\x1b(?:\[[^@-~]*[@-~]?|[\]P_^][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -~])?|\x08";

fn pieces<'a>(line: &'a str, word: &mut Option<Word>, put: &mut dyn FnMut(Option<Word>, &'a str)) {
    static SEQUENCES: LazyLock<Regex> = LazyLock::new(|| Regex::new(SEQUENCE).expect("a constant"));
    let mut at = 0;
    for sequence in SEQUENCES.find_iter(line) {
        put(*word, &line[at..sequence.start()]);
        let codes = sequence
            .as_str()
            .strip_prefix("\x1b[")
            .and_then(|codes| codes.strip_suffix('m'));
        codes.into_iter().for_each(|codes| select(codes, word));
        at = sequence.end();
    }
    put(*word, &line[at..]);
}

/// Applies codes such as `1;31`.
fn select(selected: &str, word: &mut Option<Word>) {
    let mut codes = selected
        .split([';', ':'])
        .map(|code| code.parse::<u16>().unwrap_or(0));
    while let Some(code) = codes.next() {
        match code {
            0 | 39 => *word = None,
            1 if word.is_none() => *word = Some(Word::BOLD),
            22 if *word == Some(Word::BOLD) => *word = None,
            30..=37 => *word = Some(Word::colour(code - 30)),
            90..=97 => *word = Some(Word::colour(code - 90)),
            // Colours by number or by value: the codes that follow belong to them.
            38 | 48 => match (codes.next(), codes.next()) {
                (Some(5), Some(number @ 0..=15)) if code == 38 => {
                    *word = Some(Word::colour(number % 8))
                }
                (Some(2), _) => drop((codes.next(), codes.next())),
                _ => {}
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let mut out = String::new();
        words(
            text,
            &mut |word, text| match word.filter(|_| !text.is_empty()) {
                Some(word) => out += &format!("<{}:{text}>", word.code()),
                None => out += text,
            },
        );
        out
    }

    #[test]
    fn colours_stay_and_the_rest_goes() {
        assert_eq!(
            read("a\x1b[31mred\x1b[0m b\x1b[1mB\x1b[22mc"),
            "a<1:red> b<b:B>c"
        );
        assert_eq!(
            read("\x1b[38;5;2mg\x1b[38;2;1;2;3mx\x1b[39my"),
            "<2:g><2:x>y"
        );
        assert_eq!(
            read("a\x1b[2Kb\x1b]0;title\x07c\x1b]8;;http://x\x1b\\d\x1b(Be"),
            "abcdBe"
        );
        assert_eq!(read("10%\r50%\r100%\r\nnext\n"), "100%\nnext\n");
    }

    #[test]
    fn what_is_cut_short_is_left_out() {
        for sequence in ["\x1b", "\x1b[", "\x1b[31", "\x1b]0;t", "\x1b]\x1b", "\x08"] {
            assert_eq!(read(&format!("a{sequence}")), "a", "{sequence:?}");
        }
        assert_eq!(read("é\x1bé"), "éé");
    }
}
