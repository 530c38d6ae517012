//! Formats a value over several lines, for people.

use super::Raw;
use super::scan::tokens;

/// The number of levels that are spread over lines. Deeper values stay on one line: with a line for
/// each of a million levels, the indentation would make the output huge.
const MOST_LEVELS: usize = 24;

/// Values up to this length, in bytes, stay on one line.
const MAX_INLINE_LEN: usize = 100;

/// Formats a value: the members and items of a container longer than 100 bytes are on
/// lines of their own. Strings and numbers stay as they are written.
pub fn pretty(value: Raw) -> Vec<u8> {
    let bytes = value.bytes();
    // Measured in advance, because the length of a container decides at its beginning. The lengths
    // are in the order in which the containers begin.
    let mut container_lengths = measure_containers(bytes).into_iter();
    let mut out = Vec::with_capacity(bytes.len() * 2);
    // For each open container, whether it is spread over lines.
    let mut open: Vec<bool> = Vec::new();
    // Whether the innermost container has no member or item yet: its first one begins a line, and
    // an empty one stays on its line.
    let mut is_empty = false;
    for (first, token) in tokens(bytes) {
        let is_spread = open.last().copied().unwrap_or(false);
        match first {
            b'{' | b'[' => {
                if is_spread && is_empty {
                    new_line(&mut out, open.len());
                }
                out.push(first);
                let length = container_lengths.next().unwrap_or(0);
                let spreads = length > MAX_INLINE_LEN && open.len() < MOST_LEVELS;
                open.push(spreads);
                is_empty = true;
                continue;
            }
            b'}' | b']' => {
                open.pop();
                if is_spread && !is_empty {
                    new_line(&mut out, open.len());
                }
                out.push(first);
            }
            b',' => {
                out.push(first);
                if is_spread {
                    new_line(&mut out, open.len());
                } else {
                    out.push(b' ');
                }
            }
            b':' => out.extend_from_slice(b": "),
            _ => {
                if is_spread && is_empty {
                    new_line(&mut out, open.len());
                }
                out.extend_from_slice(token);
            }
        }
        is_empty = false;
    }
    out
}

/// Returns the length in bytes of each object and array, in the order in which they begin. White
/// space between tokens and the closing bracket do not count.
fn measure_containers(bytes: &[u8]) -> Vec<usize> {
    let mut lengths = Vec::new();
    // For each open container, its index in `lengths` and the offset at which it begins.
    let mut open = Vec::new();
    // The offset without white space.
    let mut offset = 0;
    for (first, token) in tokens(bytes) {
        match first {
            b'{' | b'[' => {
                open.push((lengths.len(), offset));
                lengths.push(0);
            }
            b'}' | b']' => {
                if let Some((index, start)) = open.pop() {
                    lengths[index] = offset - start;
                }
            }
            _ => {}
        }
        offset += token.len();
    }
    lengths
}

/// Begins a line that is indented by two spaces for each of `depth` levels.
fn new_line(out: &mut Vec<u8>, depth: usize) {
    out.push(b'\n');
    out.extend(std::iter::repeat_n(b' ', 2 * depth));
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
