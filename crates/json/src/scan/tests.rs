use super::*;

fn accepts(text: &str) -> bool {
    let mut scanner = Scanner::new(text.as_bytes());
    scanner.skip_value().is_ok() && scanner.at_end()
}

#[test]
fn it_accepts_what_json_parse_accepts() {
    for text in [
        "null",
        " true ",
        "-0",
        "1e400",
        "1E+5",
        "12345678901234567890",
        "\"\"",
        "[]",
        "{}",
        "[[],{}]",
        r#"{"a":[1,{"b":"\ud83d"}],"a":2}"#,
        "[1.0,-0.5e-3]",
        r#""\u0041\/\"""#,
    ] {
        assert!(accepts(text), "{text}");
    }
}

#[test]
fn it_refuses_what_json_parse_refuses() {
    for text in [
        "",
        "nul",
        "01",
        "1.",
        "-",
        "+1",
        "[1,]",
        "{\"a\":}",
        "{a:1}",
        "{\"a\":1,}",
        "[1 2]",
        "\"",
        "\"\\x\"",
        "\"\\u12g4\"",
        "\"a\tb\"",
        "{} {}",
        "[}",
        "{]",
        "1 2",
        "\u{feff}1",
        "'a'",
    ] {
        assert!(!accepts(text), "{text}");
    }
}

/// Walks over a string byte by byte. Returns what the scanner should: the result, the end, and the
/// range of bytes above 0x7f.
fn slowly(text: &[u8], from: usize) -> (Result<bool, Malformed>, usize, Range<usize>) {
    let (mut pos, mut escaped, mut high) = (from, false, EMPTY_RANGE);
    loop {
        match text.get(pos) {
            Some(b'"') => return (Ok(escaped), pos + 1, high),
            Some(b'\\') => match text.get(pos + 1) {
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => pos += 2,
                Some(b'u')
                    if text
                        .get(pos + 2..pos + 6)
                        .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) =>
                {
                    pos += 6;
                }
                _ => return (Err(Malformed { at: pos }), 0, EMPTY_RANGE),
            },
            Some(0x20..) => {
                if text[pos] >= 0x80 {
                    high = high.start.min(pos)..pos + 1;
                }
                pos += 1;
                continue;
            }
            _ => return (Err(Malformed { at: pos }), 0, EMPTY_RANGE),
        }
        escaped = true;
    }
}

/// Returns scanners with the instructions of this processor, and of older ones.
fn scanners(text: &[u8]) -> Vec<Scanner<'_>> {
    let mut scanners = vec![Scanner::new(text)];
    #[cfg(target_arch = "x86_64")]
    scanners.push(Scanner {
        has_avx2: false,
        ..Scanner::new(text)
    });
    scanners
}

/// Returns a generator of pseudo-random numbers below a limit, with a fixed seed.
pub(super) fn random() -> impl FnMut(usize) -> usize {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    move |limit| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize % limit
    }
}

/// Every code path for a string gives the same result as a walk byte by byte.
#[test]
fn all_ways_through_a_string_agree() {
    let pieces: [&[u8]; 14] = [
        b"\\",
        b"\\\\",
        b"\\\"",
        b"\"",
        b"\\n",
        b"\\u00e9",
        b"\\u12g4",
        b"\\x",
        b"u",
        b"n",
        b"\n",
        "é".as_bytes(),
        b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        b"\xff",
    ];
    let mut next = random();
    for _ in 0..60_000 {
        let mut text = Vec::new();
        for _ in 0..next(120) {
            // Bytes that end the walk are rare, so most walks are long.
            let piece = match next(61) {
                at @ 0..=13 => pieces[at],
                14..=30 => pieces[1],
                31..=45 => pieces[4],
                _ => pieces[9],
            };
            text.extend_from_slice(piece);
        }
        for mut scanner in scanners(&text) {
            let mut from = 0;
            while from <= text.len() {
                scanner.seek(from);
                let (result, end, high) = slowly(&text, from);
                let shown = || format!("{} from {from}", text.escape_ascii());
                assert_eq!(scanner.skip_string_rest(), result, "{}", shown());
                let found = scanner.take_non_ascii();
                if result.is_ok() {
                    assert_eq!(scanner.pos, end, "{}", shown());
                    // The range may end after the string, and starts within it.
                    assert!(
                        found.start <= high.start && found.end >= high.end,
                        "{}",
                        shown()
                    );
                    assert!(found.start >= from, "{}", shown());
                }
                from = match result {
                    Ok(_) => end + usize::from(end % 3 == 0),
                    Err(malformed) => malformed.at + 1,
                };
            }
        }
    }
}

#[test]
fn depth_costs_no_stack() {
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    assert!(accepts(&deep));
    assert!(!accepts(&deep[..1_999_999]));
}

#[test]
fn a_newline_ends_a_line_but_not_a_document() {
    assert!(!accepts("[1,\n2]"));
    let mut scanner = Scanner::document(b"[1,\n2]\n");
    assert!(scanner.skip_value().is_ok() && scanner.at_end());
}

#[test]
fn special_bytes_are_found_wherever_they_stand_in_a_block() {
    for length in 0..100 {
        let plain = "x".repeat(length);
        assert!(accepts(&format!("\"{plain}\"")), "{length}");
        assert!(
            accepts(&format!("\"{plain}\\n{plain}\\u00e9{plain}\\\\\"")),
            "{length}"
        );
        assert!(!accepts(&format!("\"{plain}\u{1}{plain}\"")), "{length}");
        assert!(!accepts(&format!("\"{plain}\\\"")), "{length}");
    }
}
