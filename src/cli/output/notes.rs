//! Shortens notes, so that each fits into one line of the terminal.

use super::{display_width, truncate_end, truncate_path};
use std::ops::Range;

/// The minimum width of a path.
const LEAST_PATH_COLUMNS: usize = 32;
/// The minimum width of the text before a hint.
const LEAST_TEXT_COLUMNS: usize = 32;
/// The minimum width at which a truncated hint is still useful.
const LEAST_HINT_COLUMNS: usize = 24;

/// The start of a hint. Paths in hints are never shortened, because users copy them.
const HINT_START: &str = "(hint: ";

/// Replaces the home directory in a note by `~`, wherever it begins a path: `/home/ann/a.jsonl`
/// becomes `~/a.jsonl`, but `/backup/home/ann` and `/home/ann2` stay.
pub fn abbreviate_home_in(note: &str, home: Option<&str>) -> String {
    let Some(home) = home else {
        return note.to_owned();
    };
    // If the home directory is `/`, every path would begin with `~`.
    if home.len() < 2 {
        return note.to_owned();
    }

    let mut shown = String::new();
    let mut copied_end = 0;
    for (start, _) in note.match_indices(home) {
        let end = start + home.len();
        let begins_path = match note[..start].chars().next_back() {
            Some(previous) => previous.is_whitespace() || "`'\"(=".contains(previous),
            None => true,
        };
        let is_whole_name = note[end..].starts_with(['/', '\\']);
        if begins_path && is_whole_name {
            shown += &note[copied_end..start];
            shown.push('~');
            copied_end = end;
        }
    }
    shown += &note[copied_end..];
    shown
}

/// Returns a note that fits into `columns`.
///
/// First, the first path in the note is shortened. If that is not enough, the text before the hint
/// is truncated at its end: users copy the hint, and the text begins with its most important part.
/// If the hint leaves too little space for the text, the hint is truncated instead.
pub fn fit_note(note: &str, columns: usize) -> String {
    let note = shorten_path_in(note, columns);
    if display_width(&note) <= columns {
        return note;
    }
    let Some(hint_start) = note.find(HINT_START) else {
        return truncate_at_word(&note, columns);
    };

    let text = note[..hint_start].trim_end();
    let hint = &note[hint_start..];
    let text_room = columns.saturating_sub(display_width(hint) + 1);
    if text_room >= LEAST_TEXT_COLUMNS {
        return format!("{} {hint}", truncate_at_word(text, text_room));
    }
    let hint_room = columns.saturating_sub(display_width(text) + 1);
    if hint_room >= LEAST_HINT_COLUMNS {
        return format!("{text} {}", truncate_at_word(hint, hint_room));
    }
    truncate_at_word(text, columns)
}

/// Truncates a text after the last whole word that fits into `columns`, and adds an ellipsis. A
/// word that is too long is truncated itself.
fn truncate_at_word(text: &str, columns: usize) -> String {
    let cut = truncate_end(text, columns, "…");
    if cut == text {
        return cut;
    }

    // Without the ellipsis, the rest is a prefix of the text.
    let kept = cut.trim_end_matches('…');
    let ends_with_word = text[kept.len()..].starts_with(' ');
    let words = match kept.rfind(' ') {
        // The last word is cut, so it is left out.
        Some(space) if !ends_with_word => &kept[..space],
        _ => kept,
    };
    format!("{}…", words.trim_end_matches([' ', ',', ';', ':']))
}

/// Truncates the first path in a note in its middle, so that the note fits into `columns`. The path
/// keeps at least [`LEAST_PATH_COLUMNS`]. Paths in the hint are to be copied, so these are kept.
fn shorten_path_in(note: &str, columns: usize) -> String {
    let excess = display_width(note).saturating_sub(columns);
    if excess == 0 {
        return note.to_owned();
    }
    let hint_start = note.find(HINT_START).unwrap_or(note.len());
    let Some(range) = find_path(&note[..hint_start]) else {
        return note.to_owned();
    };
    let before = &note[..range.start];
    let after = &note[range.end..];
    let path = &note[range];
    let room = display_width(path)
        .saturating_sub(excess)
        .max(LEAST_PATH_COLUMNS);
    let short = truncate_path(path, 0..path.len(), room, "…");
    format!("{before}{short}{after}")
}

/// Returns the range of the first path in a text: a word with a slash, without the punctuation that
/// follows it. A word with a backtick belongs to a command, which users copy, and is no path.
fn find_path(text: &str) -> Option<Range<usize>> {
    let mut start = 0;
    for word in text.split_inclusive(' ') {
        let path = word.trim_end_matches([' ', ':', ',', ';']);
        let is_in_command = path.contains('`');
        if path.contains('/') && !is_in_command {
            return Some(start..start + path.len());
        }
        start += word.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_directory_is_abbreviated_where_a_path_begins() {
        for (note, shown) in [
            ("/home/u/a.jsonl: is torn", "~/a.jsonl: is torn"),
            (
                "x (hint: `cat /home/u/a /mnt/home/u/b`)",
                "x (hint: `cat ~/a /mnt/home/u/b`)",
            ),
            ("cannot read /home/user/a", "cannot read /home/user/a"),
            ("/home/u/home/u/a: is torn", "~/home/u/a: is torn"),
        ] {
            assert_eq!(abbreviate_home_in(note, Some("/home/u")), shown);
        }
        assert_eq!(abbreviate_home_in("/a: b", Some("/")), "/a: b");
        assert_eq!(abbreviate_home_in("/a: b", None), "/a: b");
    }

    #[test]
    fn the_first_path_is_cut_so_that_the_note_fits() {
        let path = "~/.pi/agent/sessions/--home-u-code-ferry--/2026-03-14T09-26-45_019ceb84.jsonl";
        let note = format!("cannot read {path}: permission denied");
        let short = shorten_path_in(&note, 80);
        assert!(display_width(&short) <= 80, "{short}");
        assert!(short.starts_with("cannot read ~/"), "{short}");
        assert!(
            short.ends_with("_019ceb84.jsonl: permission denied"),
            "{short}"
        );
        assert_eq!(shorten_path_in(&note, 200), note);

        let hint = format!("{} (hint: `cat {path}`)", "word ".repeat(20));
        assert_eq!(shorten_path_in(&hint, 80), hint);
    }

    #[test]
    fn a_note_fits_into_one_line() {
        let long_text = "1 tool result is left out, because a message is between the call and it";
        for (note, shown) in [
            (
                format!("{long_text} (hint: pisess check --repair)"),
                "1 tool result is left out, because… (hint: pisess check --repair)",
            ),
            (
                "some of these are in subdirectories, which need -r to be changed, too".to_owned(),
                "some of these are in subdirectories, which need -r to be changed…",
            ),
            (
                format!("a.jsonl is torn (hint: {long_text})"),
                "a.jsonl is torn (hint: 1 tool result is left out, because a…",
            ),
            (
                format!("{long_text} (hint: {long_text})"),
                "1 tool result is left out, because a message is between the call…",
            ),
            (
                "big.jsonl: 59 × second header from line 1020; skipped or read as far as possible \
                 (hint: pisess check /tmp/sessions/big.jsonl)"
                    .to_owned(),
                "big.jsonl: 59 × second header from line 1020; skipped or read as…",
            ),
            ("short (hint: x)".to_owned(), "short (hint: x)"),
        ] {
            let fitted = fit_note(&note, 66);
            assert_eq!(fitted, shown);
            assert!(display_width(&fitted) <= 66, "{fitted}");
        }
    }
}
