//! What differs between two texts: by lines, and within changed lines by words.

use gix_imara_diff::{Algorithm, Diff, InternedInput, Interner};
use std::hash::Hash;
use std::ops::Range;

/// What a line of a diff is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// On both sides.
    Common,
    /// Only in the old text.
    Removed,
    /// Only in the new text.
    Added,
}

impl Sign {
    /// Returns the first character of such a line in a unified diff.
    pub fn as_str(self) -> &'static str {
        match self {
            Sign::Common => " ",
            Sign::Removed => "-",
            Sign::Added => "+",
        }
    }
}

/// Returns the ranges of the items that differ, in order: of the old items and of the new ones. One
/// of both may be empty.
pub fn differing<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<[Range<usize>; 2]> {
    let interner = Interner::new(old.len() + new.len());
    let mut input = InternedInput {
        before: Vec::new(),
        after: Vec::new(),
        interner,
    };
    input.update_before(old.iter());
    input.update_after(new.iter());
    let mut diff = Diff::compute(Algorithm::Myers, &input);
    diff.postprocess_no_heuristic(&input);
    let range = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks()
        .map(|hunk| [range(hunk.before), range(hunk.after)])
        .collect()
}

/// Returns the lines of both texts, with their ends.
pub fn lines<'t>(old: &'t str, new: &'t str) -> Vec<(Sign, &'t str)> {
    let [old, new] = [old, new].map(split);
    signed(
        &differing(&old, &new),
        0..old.len(),
        |at| old[at],
        |at| new[at],
    )
}

/// Returns the lines of a text, each with the line feed or carriage return that ends it, or both.
fn split(text: &str) -> Vec<&str> {
    let ends = text
        .match_indices(['\n', '\r'])
        .map(|(at, _)| at)
        .filter(|&at| !text[at..].starts_with("\r\n"));
    let (mut lines, mut start) = (Vec::new(), 0);
    for end in ends {
        lines.push(&text[start..=end]);
        start = end + 1;
    }
    lines.extend(Some(&text[start..]).filter(|rest| !rest.is_empty()));
    lines
}

/// Returns the lines of a range of the old text, and for each change in it, the removed and then
/// the added lines.
pub fn signed<'t>(
    changes: &[[Range<usize>; 2]],
    range: Range<usize>,
    old: impl Fn(usize) -> &'t str,
    new: impl Fn(usize) -> &'t str,
) -> Vec<(Sign, &'t str)> {
    let (mut all, mut at) = (Vec::new(), range.start);
    for [removed, added] in changes {
        all.extend((at..removed.start).map(|at| (Sign::Common, old(at))));
        all.extend(removed.clone().map(|at| (Sign::Removed, old(at))));
        all.extend(added.clone().map(|at| (Sign::Added, new(at))));
        at = removed.end;
    }
    all.extend((at..range.end).map(|at| (Sign::Common, old(at))));
    all
}

/// A line in parts, each with whether it differs.
pub type Marked<'t> = Vec<(bool, &'t str)>;

/// Returns the lines of a change with the words that differ marked; `None` if less than half of
/// their words are common.
pub fn marked<'t>(old: &[&'t str], new: &[&'t str]) -> Option<[Vec<Marked<'t>>; 2]> {
    let words = [old, new].map(|lines| {
        lines
            .iter()
            .flat_map(|line| words(line))
            .collect::<Vec<_>>()
    });
    let changes = differing(&words[0], &words[1]);
    let changed: usize = changes.iter().flatten().map(Range::len).sum();
    let all = words[0].len() + words[1].len();
    (2 * changed <= all).then(|| {
        [(0, old), (1, new)].map(|(side, lines)| {
            let ranges = changes.iter().map(|change| change[side].clone());
            let mut is_changed = vec![false; words[side].len()];
            ranges.for_each(|range| is_changed[range].fill(true));
            let mut rest = is_changed.as_slice();
            lines
                .iter()
                .map(|line| {
                    let (own, others) = rest.split_at(self::words(line).count());
                    rest = others;
                    parts(line, own)
                })
                .collect()
        })
    })
}

/// Returns the runs of words that differ, and of those that do not.
fn parts<'t>(line: &'t str, is_changed: &[bool]) -> Marked<'t> {
    let mut words = words(line);
    let mut start = 0;
    let runs = is_changed.chunk_by(bool::eq).map(|run| {
        let len: usize = words.by_ref().take(run.len()).map(str::len).sum();
        let part = &line[start..start + len];
        start += len;
        (run[0], part)
    });
    runs.collect()
}

/// Returns the words of a line, and the spaces between them.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let is_space = rest.chars().next()?.is_whitespace();
        let end = rest
            .find(|letter: char| letter.is_whitespace() != is_space)
            .unwrap_or(rest.len());
        let (word, behind) = rest.split_at(end);
        rest = behind;
        Some(word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(
            prop::sample::select(vec!["a", "b ", "ferry", " ", "\n", "é\n", "\r", "\r\n"]),
            0..40,
        )
        .prop_map(|parts| parts.concat())
    }

    proptest! {
        #[test]
        fn both_texts_are_in_their_diff(old in text(), new in text()) {
            let lines = lines(&old, &new);
            for (text, other) in [(&old, Sign::Added), (&new, Sign::Removed)] {
                let own = lines.iter().filter(|(sign, _)| *sign != other).map(|(_, line)| *line);
                prop_assert_eq!(&own.collect::<String>(), text);
            }
        }

        #[test]
        fn marked_lines_are_the_lines(old in text(), new in text()) {
            let sides = [&old, &new].map(|text| text.lines().collect::<Vec<_>>());
            let Some(marked) = marked(&sides[0], &sides[1]) else { return Ok(()) };
            for (marked, lines) in marked.iter().zip(sides) {
                let own: Vec<String> =
                    marked.iter().map(|parts| parts.iter().map(|(_, part)| *part).collect()).collect();
                prop_assert_eq!(own, lines);
            }
        }
    }

    #[test]
    fn words_that_differ_are_marked() {
        let [old, new] = marked(&["the red ferry"], &["the blue ferry"]).unwrap();
        assert_eq!(old, [[(false, "the "), (true, "red"), (false, " ferry")]]);
        assert_eq!(new, [[(false, "the "), (true, "blue"), (false, " ferry")]]);
        assert_eq!(marked(&["one"], &["two"]), None);
    }

    #[test]
    fn of_a_change_the_removed_lines_come_first() {
        let lines = lines("a\nb\nc\n", "a\nd\nc\ne\n");
        let signs: String = lines
            .iter()
            .map(|(sign, line)| format!("{}{line}", sign.as_str()))
            .collect();
        assert_eq!(signs, " a\n-b\n+d\n c\n+e\n");
        assert_eq!(split("a\rb\r\nc\n\rd"), ["a\r", "b\r\n", "c\n", "\r", "d"]);
    }
}
