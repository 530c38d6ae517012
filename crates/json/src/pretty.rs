//! Formats a value over several lines, for people.

use super::Raw;
use super::scan::tokens;

/// The number of levels that are spread over lines. Deeper values stay on one line: with a line for
/// each of a million levels, the indentation would make the output huge.
const MOST_LEVELS: usize = 24;

/// Values up to this length, in bytes, stay on one line.
const MAX_INLINE_LEN: usize = 100;

/// Formats a value: the members and items of a container longer than 100 bytes are on lines of
/// their own. Strings and numbers stay as they are written.
pub fn pretty(value: Raw) -> Vec<u8> {
    let bytes = value.bytes();
    // Measured in advance: whether a container is spread over lines is decided at its opening
    // bracket. There is one length for each of these, in the order in which the loop finds them.
    let mut container_lengths = measure_containers(bytes).into_iter();
    let mut printer = Printer {
        out: Vec::with_capacity(bytes.len() * 2),
        open: Vec::new(),
    };
    for (first, token) in tokens(bytes) {
        match first {
            b'{' | b'[' => {
                let length = container_lengths.next().unwrap_or(0);
                printer.open_container(first, length);
            }
            b'}' | b']' => printer.close_container(first),
            b',' => printer.write_comma(),
            b':' => printer.out.extend_from_slice(b": "),
            // A key, or a value that is not a container.
            _ => {
                printer.begin_item();
                printer.out.extend_from_slice(token);
            }
        }
    }
    printer.out
}

/// The output of [`pretty`].
struct Printer {
    out: Vec<u8>,
    /// The containers around the current position.
    open: Vec<OpenContainer>,
}

/// An object or array whose closing bracket was not written yet.
#[derive(Clone, Copy)]
struct OpenContainer {
    /// Whether each member or item is on a line of its own.
    is_spread: bool,
    /// Whether it has no member or item so far.
    is_empty: bool,
}

impl Printer {
    /// Writes an opening bracket. `length` decides whether the container is spread over lines.
    fn open_container(&mut self, bracket: u8, length: usize) {
        self.begin_item();
        self.out.push(bracket);
        self.open.push(OpenContainer {
            is_spread: length > MAX_INLINE_LEN && self.open.len() < MOST_LEVELS,
            is_empty: true,
        });
    }

    /// Writes a closing bracket. Without members or items, it is on the line of the opening one.
    fn close_container(&mut self, bracket: u8) {
        if let Some(closed) = self.open.pop()
            && closed.is_spread
            && !closed.is_empty
        {
            self.begin_line();
        }
        self.out.push(bracket);
    }

    /// Writes the comma between two members or items, and after it a line break if they are on
    /// lines of their own, or otherwise a space.
    fn write_comma(&mut self) {
        self.out.push(b',');
        let is_spread = self
            .open
            .last()
            .is_some_and(|innermost| innermost.is_spread);
        if is_spread {
            self.begin_line();
        } else {
            self.out.push(b' ');
        }
    }

    /// Begins a line if the next token is the first member or item of a container that is spread
    /// over lines. For each further one, the comma before it has begun a line.
    ///
    /// To be called before each token of a member or an item. Before the value of a member, it does
    /// nothing: the container is not empty any more.
    fn begin_item(&mut self) {
        let Some(innermost) = self.open.last_mut() else {
            return;
        };
        let is_first = innermost.is_empty;
        innermost.is_empty = false;
        if is_first && innermost.is_spread {
            self.begin_line();
        }
    }

    /// Begins a line that is indented by two spaces for each open container.
    fn begin_line(&mut self) {
        self.out.push(b'\n');
        self.out
            .extend(std::iter::repeat_n(b' ', 2 * self.open.len()));
    }
}

/// A container of which [`measure_containers`] has not seen the end.
struct UnmeasuredContainer {
    /// Its index in the lengths.
    index: usize,
    /// The length of the tokens before its opening bracket.
    start: usize,
}

/// Returns the length in bytes of each object and array, in the order in which they begin: the
/// length of all its tokens but the closing bracket. White space between tokens does not count. For
/// `[1 , [2]]`, the lengths are 6 and 2.
fn measure_containers(bytes: &[u8]) -> Vec<usize> {
    let mut lengths = Vec::new();
    let mut open: Vec<UnmeasuredContainer> = Vec::new();
    // The length of the tokens before the current one.
    let mut walked_len = 0;
    for (first, token) in tokens(bytes) {
        match first {
            b'{' | b'[' => {
                open.push(UnmeasuredContainer {
                    index: lengths.len(),
                    start: walked_len,
                });
                // Replaced at the end of the container.
                lengths.push(0);
            }
            b'}' | b']' => {
                if let Some(container) = open.pop() {
                    lengths[container.index] = walked_len - container.start;
                }
            }
            _ => {}
        }
        walked_len += token.len();
    }
    lengths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(json: &str) -> String {
        String::from_utf8(pretty(Raw::parse(json.as_bytes()).unwrap())).unwrap()
    }

    #[test]
    fn pretty_keeps_a_short_value_on_one_line() {
        assert_eq!(
            shown(r#"{"a":[1 ,2],"b\"":"x, y"}"#),
            r#"{"a": [1, 2], "b\"": "x, y"}"#
        );
        assert_eq!(shown("[]"), "[]");
    }

    #[test]
    fn pretty_breaks_a_long_value_into_lines() {
        let long = "x".repeat(100);
        assert_eq!(
            shown(&format!(
                r#"{{"a":[1,{{}}],"b\\":"{long}","c":[{{"d":["{long}"]}}],"e":1e5}}"#
            )),
            [
                "{",
                r#"  "a": [1, {}],"#,
                &format!(r#"  "b\\": "{long}","#),
                r#"  "c": ["#,
                "    {",
                r#"      "d": ["#,
                &format!(r#"        "{long}""#),
                "      ]",
                "    }",
                "  ],",
                r#"  "e": 1e5"#,
                "}"
            ]
            .join("\n")
        );
    }

    #[test]
    fn the_deepest_value_does_not_grow_beyond_bounds() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(shown(&deep).len() < deep.len() + 60 * MOST_LEVELS);
    }
}
