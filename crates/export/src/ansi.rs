//! Terminal output of a command, as text and colours.
//!
//! Escape sequences for colours and bold (`ESC [ … m`) and for links (OSC 8) are kept; all others
//! are omitted. What follows a carriage return within a line overwrites the line, so only the last
//! state of a progress bar is shown.

use super::html::is_allowed_address;
use super::markup::WordKind;
use regex::Regex;
use std::sync::LazyLock;

/// How a piece of the output appears.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Style {
    pub word_kind: Option<WordKind>,
    /// The address that it links to.
    pub link: Option<String>,
}

/// Reads terminal output, which may come in several parts: a colour or a link that is not ended in
/// one part continues in the next.
#[derive(Default)]
pub struct TerminalReader {
    /// How text appears after what was read so far.
    style: Style,
}

impl TerminalReader {
    /// Divides the next part of the output into pieces of one style, without the escape sequences.
    /// Calls `write_piece` with each piece, in order; some may be empty.
    ///
    /// ```text
    /// ESC [31m error ESC [0m : no file      "error" in red, ": no file" in no style
    /// 10 % CR 50 % CR 100 %                 "100 %"
    /// ```
    ///
    /// A part should end with a line. Within a line that is divided, a carriage return overwrites
    /// only what precedes it in the same part.
    pub fn each_piece<'a>(&mut self, part: &'a str, write_piece: &mut dyn FnMut(&Style, &'a str)) {
        // Most output has no escape, carriage return or backspace.
        if memchr::memchr3(b'\x1b', b'\r', b'\x08', part.as_bytes()).is_none() {
            return write_piece(&self.style, part);
        }
        for line in part.split_inclusive('\n') {
            let line_end = line.trim_end_matches(['\r', '\n']).len();
            // What follows the last carriage return has overwritten what is before it.
            let visible_start = match line[..line_end].rfind('\r') {
                Some(carriage_return) => carriage_return + 1,
                None => 0,
            };
            // Overwritten text is not shown, but its colours and links still apply.
            self.each_line_piece(&line[..visible_start], &mut |_, _| ());
            self.each_line_piece(&line[visible_start..line_end], write_piece);
            if line.ends_with('\n') {
                // A line break has no style.
                write_piece(&Style::default(), "\n");
            }
        }
    }

    /// Calls `write_piece` with the text between the escape sequences of a line. Each piece has the
    /// style that the sequences before it have set.
    fn each_line_piece<'a>(&mut self, line: &'a str, write_piece: &mut dyn FnMut(&Style, &'a str)) {
        static SEQUENCES: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(SEQUENCE).expect("a constant"));
        let mut piece_start = 0;
        for sequence in SEQUENCES.find_iter(line) {
            write_piece(&self.style, &line[piece_start..sequence.start()]);
            self.style.apply_sequence(sequence.as_str());
            piece_start = sequence.end();
        }
        write_piece(&self.style, &line[piece_start..]);
    }
}

impl Style {
    /// Changes the style as an escape sequence demands. Only sequences for colours and links do
    /// that; any other has no effect.
    fn apply_sequence(&mut self, sequence: &str) {
        if let Some(codes) = colour_codes(sequence) {
            // In markup, a colour is the kind of a word.
            self.word_kind = apply_colour_codes(codes, self.word_kind);
        } else if let Some(address) = link_address(sequence) {
            // A fragment such as `#e1` would link to an element of the page, which no command
            // knows.
            let is_allowed = is_allowed_address(address) && !address.starts_with('#');
            self.link = if is_allowed {
                Some(address.to_owned())
            } else {
                None
            };
        }
    }
}

/// Matches one control sequence: `ESC [` up to its final character; a title or a link, up to BEL or
/// `ESC \`; any other escape sequence; or a backspace. The alternatives are in this order.
///
/// A sequence that is cut short matches, too, up to where the text of the sequence ends.
const SEQUENCE: &str = r"\x1b(?:\[[^@-~]*[@-~]?|[\]P_^][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -~])?|\x08";

/// Returns the codes of a sequence that selects colours: `1;31` of `ESC [1;31m`. `None` for any
/// other sequence.
fn colour_codes(sequence: &str) -> Option<&str> {
    sequence.strip_prefix("\x1b[")?.strip_suffix('m')
}

/// Returns the address of a link sequence (`ESC ] 8 ; parameters ; address`). A link ends with such
/// a sequence whose address is empty. `None` for any other sequence.
fn link_address(sequence: &str) -> Option<&str> {
    let inside = sequence.strip_prefix("\x1b]8;")?;
    let inside = inside
        .strip_suffix("\x1b\\")
        .or_else(|| inside.strip_suffix('\x07'))?;
    let (_parameters, address) = inside.split_once(';')?;
    Some(address)
}

/// Returns how the words after codes such as `1;31` are drawn. `kind_before` is how the words
/// before the codes are drawn. Plain words are `None`.
///
/// A word is bold or has one of eight text colours, not both. A bright colour becomes the normal
/// one. Backgrounds and unknown codes have no effect.
///
/// ```text
/// 1;31      red: a colour replaces bold
/// 31;1      red: a colour that is set stays
/// 38;5;9    red: a bright colour becomes the normal one
/// 0         plain
/// ```
fn apply_colour_codes(colour_codes: &str, kind_before: Option<WordKind>) -> Option<WordKind> {
    let mut word_kind = kind_before;
    let mut codes = colour_codes
        .split([';', ':'])
        // An empty code means 0, which resets.
        .map(|code| code.parse::<u16>().unwrap_or(0));
    while let Some(code) = codes.next() {
        match code {
            // Everything reset, and the default text colour.
            0 | 39 => word_kind = None,
            // Bold. A word is not both bold and coloured, and a colour that is set stays.
            1 => word_kind = word_kind.or(Some(WordKind::BOLD)),
            // No longer bold. A colour stays.
            22 if word_kind == Some(WordKind::BOLD) => word_kind = None,
            // The eight colours, and the same ones bright.
            30..=37 => word_kind = Some(WordKind::from_colour(code - 30)),
            90..=97 => word_kind = Some(WordKind::from_colour(code - 90)),
            // A text colour, which the codes after this one describe.
            38 => {
                if let Some(colour) = read_extended_colour(&mut codes) {
                    // The colours from 8 on are bright.
                    word_kind = Some(WordKind::from_colour(colour % 8));
                }
            }
            48 => {
                // Read only so that the codes of the background are skipped.
                let _background = read_extended_colour(&mut codes);
            }
            _ => {}
        }
    }
    word_kind
}

/// Reads the codes of a colour after 38 or 48: `5;NUMBER` or `2;RED;GREEN;BLUE`. The caller
/// continues after these codes.
///
/// Returns the number of the colour if it is one of the 16 standard ones; 8 to 15 are bright.
/// `None` for any other number, and for a mixture of red, green and blue.
fn read_extended_colour(codes: &mut dyn Iterator<Item = u16>) -> Option<u16> {
    match codes.next() {
        Some(5) => codes.next().filter(|number| *number <= 15),
        Some(2) => {
            let _red = codes.next();
            let _green = codes.next();
            let _blue = codes.next();
            None
        }
        // Other forms are not in use. Each would have at least one more code.
        _ => {
            let _argument = codes.next();
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let mut out = String::new();
        TerminalReader::default().each_piece(text, &mut |style, text| {
            if text.is_empty() {
                return;
            }
            let shown = match style.word_kind {
                Some(word) => format!("<{}:{text}>", word.letter()),
                None => text.to_owned(),
            };
            out += &match &style.link {
                Some(address) => format!("[{shown}]({address})"),
                None => shown,
            };
        });
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
            read("a\x1b[2Kb\x1b]0;title\x07c\x1b]8;;file:///x\x1b\\d\x1b(Be"),
            "abcdBe"
        );
        assert_eq!(read("10%\r50%\r100%\r\nnext\n"), "100%\nnext\n");
    }

    #[test]
    fn links_lead_to_web_pages_and_mail_only() {
        assert_eq!(
            read("see \x1b]8;id=1;https://h/a;b\x07the \x1b[31mpage\x1b]8;;\x1b\\s\x1b[0m."),
            "see [the ](https://h/a;b)[<1:page>](https://h/a;b)<1:s>."
        );
        assert_eq!(
            read("\x1b]8;;MAILTO:a@b\x07one\ntwo\x1b]8;;\x07"),
            "[one](MAILTO:a@b)\n[two](MAILTO:a@b)"
        );
        for address in [
            "javascript:x",
            "file:///etc/passwd",
            "//h",
            "#top",
            "https:x",
        ] {
            let text = format!("\x1b]8;;{address}\x07x\x1b]8;;\x07");
            assert_eq!(read(&text), "x", "{address}");
        }
        // A link that is not allowed ends the one before it; one that is cut short is no link.
        assert_eq!(
            read("\x1b]8;;http://h\x07a\x1b]8;;x:y\x07b"),
            "[a](http://h)b"
        );
        assert_eq!(read("\x1b]8;;http://h\x1b[1m"), "");
    }

    #[test]
    fn sequences_that_are_cut_short_are_left_out() {
        for sequence in ["\x1b", "\x1b[", "\x1b[31", "\x1b]0;t", "\x1b]\x1b", "\x08"] {
            assert_eq!(read(&format!("a{sequence}")), "a", "{sequence:?}");
        }
        assert_eq!(read("é\x1bé"), "éé");
    }
}
