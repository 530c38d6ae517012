//! Measures texts, and cuts them to a length.

use super::is_printable_ascii;
use pisess_json::text::utf16_len;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Returns the number of terminal columns that a text occupies: the width that the crate
/// `unicode-width` computes, except that a soft hyphen takes one column, because terminals draw it.
/// For ASCII, the width is computed here, which is faster than the tables of that crate.
pub fn display_width(text: &str) -> usize {
    if is_printable_ascii(text.as_bytes()) {
        text.len()
    } else if text.is_ascii() {
        // `unicode-width` counts one column for a control character, and one for `\r\n` as a whole.
        text.len() - memchr::memmem::find_iter(text.as_bytes(), "\r\n").count()
    } else if text.contains(SOFT_HYPHEN) {
        text.replace(SOFT_HYPHEN, "-").width()
    } else {
        text.width()
    }
}

/// Whether a text occupies fewer than `columns` terminal columns. The width of a long ASCII text is
/// not computed: reading its start suffices.
pub fn is_narrower(text: &str, columns: usize) -> bool {
    // No character takes more columns than bytes.
    if text.len() < columns {
        return true;
    }
    // In ASCII, only `\r\n` takes fewer columns than bytes: one instead of two. So `2 * columns`
    // bytes take at least `columns` columns.
    if let Some(start) = text.as_bytes().get(..2 * columns)
        && start.is_ascii()
    {
        return false;
    }
    display_width(text) < columns
}

/// The soft hyphen. Terminals draw it as a hyphen, but `unicode-width` counts no column for it.
const SOFT_HYPHEN: char = '\u{ad}';

/// Returns the length in UTF-16 units, as the agents count it.
pub fn count_utf16(text: &str) -> usize {
    utf16_len(text.as_bytes())
}

/// Shortens a text to at most `max` UTF-16 units, with an ellipsis at the cut.
///
/// The text is cut between words if these fill more than half of the space, otherwise between
/// graphemes. If the cut is in inline code, all of the code is kept if the text up to its end is
/// less than a third longer than `max`: such code is often what matters. Otherwise, the code is
/// closed with a backtick: ``One `two three` four`` at 10 units is ``One `two…` ``.
pub fn clip(text: &str, max: usize) -> String {
    // A text has at most as many UTF-16 units as bytes. So a text with few bytes is short enough,
    // and its units are not counted.
    if text.len() <= max || count_utf16(text) <= max {
        return text.to_owned();
    }
    // Leaves room for the ellipsis and for a backtick that closes inline code. Whether the backtick
    // is needed is known only after the cut.
    let room = max.saturating_sub(count_utf16("…`"));
    let start = start_that_fits(text, room);

    // With an odd number of backticks, the cut is in inline code.
    let ends_in_code = start.matches('`').count() % 2 == 1;
    if ends_in_code && let Some(rest_of_code) = text[start.len()..].find('`') {
        let code_end = start.len() + rest_of_code + "`".len();
        let with_code = &text[..code_end];
        if count_utf16(with_code) < max + max / 3 {
            return format!("{with_code}…");
        }
    }
    // Opening brackets, and punctuation that announces more text, look odd before an ellipsis.
    let is_dangling = |c: char| c.is_whitespace() || ",;:/([{\"'…".contains(c);
    let kept = start.trim_end_matches(is_dangling);
    let closing_mark = if ends_in_code { "`" } else { "" };
    format!("{kept}…{closing_mark}")
}

/// Returns the start of a text that fits into `room` UTF-16 units: whole words if these fill more
/// than half of the room, otherwise whole graphemes.
fn start_that_fits(text: &str, room: usize) -> &str {
    let whole_words = &text[..fitting_len(text.split_word_bounds(), room)];
    if count_utf16(whole_words) * 2 > room {
        return whole_words;
    }
    &text[..fitting_len(text.graphemes(true), room)]
}

/// Returns how many of the sizes, from the first on, fit into `room` together. Sizes after the
/// first that does not fit are ignored, even if they would fit: `3, 9, 1` in a room of 5 is 1.
pub fn count_fitting(sizes: impl Iterator<Item = usize>, room: usize) -> usize {
    let mut remaining = room;
    let mut count = 0;
    for size in sizes {
        if size > remaining {
            break;
        }
        remaining -= size;
        count += 1;
    }
    count
}

/// Returns the length in bytes of the first pieces: of as many as fit into `room` UTF-16 units
/// together.
pub fn fitting_len<'a>(pieces: impl Iterator<Item = &'a str> + Clone, room: usize) -> usize {
    let count = count_fitting(pieces.clone().map(count_utf16), room);
    pieces.take(count).map(str::len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_ascii_are_counted_without_tables() {
        let all: String = (0..0x80).map(char::from).collect();
        assert_eq!(display_width("hy\u{ad}phen"), 7);
        for text in [&*all, "\r\n\r\r\n\n", "a\tb\n", "é\r\n", ""] {
            assert_eq!(display_width(text), text.width(), "{text:?}");
        }
    }

    #[test]
    fn a_text_is_narrower_than_columns_it_does_not_fill() {
        let long = "word ".repeat(20);
        let texts = [
            "",
            "a",
            "word",
            "\r\n\r\n\r\n",
            "a\tb\n",
            "字字字",
            "hy\u{ad}phen",
            "1\u{fe0f}\u{20e3}",
            "e\u{301}e\u{301}",
            "⸻",
            &long,
        ];
        for text in texts {
            for columns in 0..110 {
                let expected = display_width(text) < columns;
                assert_eq!(is_narrower(text, columns), expected, "{text:?} {columns}");
            }
        }
    }

    #[test]
    fn a_cut_falls_between_words_and_never_inside_a_character() {
        assert_eq!(clip("One `two three` four", 10), "One `two…`");
        assert_eq!(
            clip("I cannot run `systemctl restart`, sudo asks.", 26),
            "I cannot run `systemctl restart`…"
        );
        assert_eq!(clip("one two three four five", 12), "one two…");
        assert_eq!(
            clip("第一句话很长很长。第二句话也很长。", 12),
            "第一句话很长很长。第…"
        );
        let family = "👨‍👩‍👧‍👦".repeat(4);
        assert_eq!(clip(&family, 26), format!("{}…", "👨‍👩‍👧‍👦".repeat(2)));
        assert_eq!(clip(&"x".repeat(50), 10), format!("{}…", "x".repeat(8)));
        assert!(count_utf16(&clip(&"é y ".repeat(50), 33)) <= 33);
    }

    #[test]
    fn columns_grow_with_what_is_said_in_any_script() {
        assert!(display_width("go on please") < 14 && display_width("继续吧") < 14);
        assert!(
            display_width("remove the nord.json") > 14
                && display_width("请把登录页面的错误修好") > 14
        );
    }
}
