//! Builds the hunks of a unified diff, one line at a time.

use std::collections::VecDeque;
use std::ops::Range;

/// The number of unchanged lines around a change.
pub const AROUND: usize = 3;

/// The side of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tag {
    /// Both sides.
    Both,
    /// Only the left side.
    Removed,
    /// Only the right side.
    Added,
}

/// A range of lines that contains changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Its lines on the left, counted from 0.
    pub left: Range<usize>,
    /// Its lines on the right, counted from 0.
    pub right: Range<usize>,
    /// The lines, without newlines.
    pub lines: Vec<(Tag, String)>,
}

/// Builds hunks.
#[derive(Debug, Default)]
pub struct Hunks {
    done: Vec<Hunk>,
    open: Option<Hunk>,
    /// The number of common lines at the end of the open hunk.
    trailing: usize,
    /// The common lines before the next change.
    before: VecDeque<String>,
    left: usize,
    right: usize,
}

impl Hunks {
    /// Adds a line that is on both sides.
    pub fn both(&mut self, line: &str) {
        self.left += 1;
        self.right += 1;
        let Some(open) = &mut self.open else {
            self.before.push_back(line.to_owned());
            keep_last(&mut self.before, AROUND);
            return;
        };
        open.lines.push((Tag::Both, line.to_owned()));
        self.trailing += 1;
        if self.trailing > 2 * AROUND {
            self.close();
        }
    }

    /// Skips common lines that are too far from any change to be shown.
    pub fn skip(&mut self, lines: usize) {
        self.close();
        self.before.clear();
        self.left += lines;
        self.right += lines;
    }

    /// Adds a line that is only on the left.
    pub fn removed(&mut self, line: &str) {
        self.changed(Tag::Removed, line);
        self.left += 1;
    }

    /// Adds a line that is only on the right.
    pub fn added(&mut self, line: &str) {
        self.changed(Tag::Added, line);
        self.right += 1;
    }

    /// Returns the hunks.
    pub fn finish(mut self) -> Vec<Hunk> {
        self.close();
        self.done
    }

    fn changed(&mut self, tag: Tag, line: &str) {
        let (before, left, right) = (&mut self.before, self.left, self.right);
        let open = self.open.get_or_insert_with(|| Hunk {
            left: left - before.len()..left,
            right: right - before.len()..right,
            lines: before.drain(..).map(|line| (Tag::Both, line)).collect(),
        });
        open.lines.push((tag, line.to_owned()));
        self.trailing = 0;
    }

    fn close(&mut self) {
        let Some(mut hunk) = self.open.take() else { return };
        let beyond = self.trailing.saturating_sub(AROUND);
        let rest = hunk.lines.split_off(hunk.lines.len() - beyond);
        self.before.extend(rest.into_iter().map(|(_, line)| line));
        keep_last(&mut self.before, AROUND);
        self.trailing = 0;
        let count = |tag| hunk.lines.iter().filter(|(line, _)| *line != tag).count();
        hunk.left.end = hunk.left.start + count(Tag::Added);
        hunk.right.end = hunk.right.start + count(Tag::Removed);
        self.done.push(hunk);
    }
}

fn keep_last(lines: &mut VecDeque<String>, count: usize) {
    lines.drain(..lines.len().saturating_sub(count));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each hunk on one line: its ranges, then its lines.
    fn drawn(hunks: Vec<Hunk>) -> String {
        let line = |(tag, line): &(Tag, String)| match tag {
            Tag::Both => line.clone(),
            Tag::Removed => format!("-{line}"),
            Tag::Added => format!("+{line}"),
        };
        let hunk = |hunk: &Hunk| {
            let lines: Vec<_> = hunk.lines.iter().map(line).collect();
            format!("{:?} {:?} {}", hunk.left, hunk.right, lines.join(" "))
        };
        hunks.iter().map(hunk).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn changes_that_are_near_share_a_hunk() {
        let between = |count: usize| {
            let mut hunks = Hunks::default();
            (0..5).for_each(|at| hunks.both(&at.to_string()));
            hunks.removed("a");
            (0..count).for_each(|at| hunks.both(&at.to_string()));
            hunks.added("b");
            (0..5).for_each(|at| hunks.both(&at.to_string()));
            drawn(hunks.finish())
        };
        assert_eq!(between(6), "2..15 2..15 2 3 4 -a 0 1 2 3 4 5 +b 0 1 2");
        assert_eq!(between(7), "2..9 2..8 2 3 4 -a 0 1 2\n10..16 9..16 4 5 6 +b 0 1 2");
    }

    #[test]
    fn skipped_lines_count() {
        let mut hunks = Hunks::default();
        hunks.added("a");
        (0..7).for_each(|at| hunks.both(&at.to_string()));
        hunks.skip(100);
        hunks.both("z");
        hunks.removed("b");
        assert_eq!(drawn(hunks.finish()), "0..3 0..4 +a 0 1 2\n107..109 108..109 z -b");
    }
}
