//! The row of each entry, all in one buffer, with eight bytes per entry for its end and its parts.

use pisess_json::text::Text;

/// Rows of entries in file order, one after the other in one buffer.
#[derive(Debug, Default)]
pub struct Column {
    text: Vec<u8>,
    /// The end of the row of each entry, which starts at the end of the previous one, and its
    /// parts.
    rows: Vec<(u32, Parts)>,
}

/// What surrounds the role and the body of a row, and where its role ends in the row, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parts {
    /// `body`
    #[default]
    Body,
    /// `role: body`, or `role`
    Said(u16),
    /// `[role]: body`, or `[role]`
    Named(u16),
    /// `[role: body]`
    Closed(u16),
    /// `[role: body` or `[role`, truncated
    Cut(u16),
}

impl Parts {
    /// Returns the parts of a row of this shape, whose role ends at this offset. A role that is
    /// longer than any row should be becomes part of the body.
    pub fn new(shape: impl FnOnce(u16) -> Parts, role_end: usize) -> Parts {
        u16::try_from(role_end).map_or(Parts::Body, shape)
    }

    /// Returns the role and the body of a row. The role is empty if the row is only a body.
    pub fn of<'t>(self, row: &Text<'t>) -> (Text<'t>, Text<'t>) {
        // The lengths are those of `[`, of `: ` or `]: `, and of `]`.
        let (role_end, before, between, after) = match self {
            Parts::Body => (0, 0, 0, 0),
            Parts::Said(role_end) => (role_end, 0, 2, 0),
            Parts::Named(role_end) => (role_end, 1, 3, 0),
            Parts::Closed(role_end) => (role_end, 1, 2, 1),
            Parts::Cut(role_end) => (role_end, 1, 2, 0),
        };
        let len = row.as_bytes().len();
        // A row that lost half a pair at its end is shorter than its role was.
        let role_end = usize::from(role_end).min(len);
        (
            row.part(before..role_end),
            row.part((role_end + between).min(len)..len - after),
        )
    }
}

impl Column {
    /// Sets the row of entry `at`, which is after those set before, to what `append` appends.
    /// Entries in between have an empty row.
    pub fn push(&mut self, at: usize, append: impl FnOnce(&mut Vec<u8>) -> Parts) {
        self.rows.resize(at, (self.text.len() as u32, Parts::Body));
        let parts = append(&mut self.text);
        self.rows.push((self.text.len() as u32, parts));
    }

    /// Returns the row of entry `at` and its parts; empty if none was set.
    pub fn get(&self, at: usize) -> (Text<'_>, Parts) {
        let Some(&(end, parts)) = self.rows.get(at) else {
            return (Text::default(), Parts::Body);
        };
        let start = match at.checked_sub(1) {
            Some(previous) => self.rows[previous].0,
            None => 0,
        };
        let row = &self.text[start as usize..end as usize];
        (Text::from_wtf8(row), parts)
    }

    /// Returns the number of bytes of all rows.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Moves the rows of the next part of the file here, whose entries are numbered from `first`.
    pub fn append(&mut self, next: &mut Column, first: usize) {
        if next.rows.is_empty() {
            return;
        }
        let base = self.text.len() as u32;
        // The last entries here may have no row: theirs is empty.
        self.rows.resize(first, (base, Parts::Body));
        self.rows
            .extend(next.rows.drain(..).map(|(end, parts)| (base + end, parts)));
        self.text.append(&mut next.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(column: &mut Column, at: usize, row: &str, parts: Parts) {
        column.push(at, |text| {
            text.extend_from_slice(row.as_bytes());
            parts
        });
    }

    fn texts(column: &Column) -> Vec<String> {
        (0..6).map(|at| column.get(at).0.to_string()).collect()
    }

    #[test]
    fn entries_without_a_row_have_an_empty_one() {
        let mut column = Column::default();
        push(&mut column, 1, "b", Parts::Body);
        push(&mut column, 2, "", Parts::Body);
        push(&mut column, 4, "e", Parts::Body);
        assert_eq!(texts(&column), ["", "b", "", "", "e", ""]);
    }

    #[test]
    fn rows_have_a_role_and_a_body() {
        for (row, parts, role, body) in [
            ("a: b", Parts::Body, "", "a: b"),
            ("user: a: b", Parts::Said(4), "user", "a: b"),
            ("assistant: ", Parts::Said(9), "assistant", ""),
            ("bash", Parts::Said(4), "bash", ""),
            ("[bash]: ls", Parts::Named(5), "bash", "ls"),
            ("[reset boundary]", Parts::Named(15), "reset boundary", ""),
            ("[model: x]", Parts::Closed(6), "model", "x"),
            ("[custom: cut…", Parts::Cut(7), "custom", "cut…"),
            ("[cut…", Parts::Cut(7), "cut…", ""),
        ] {
            let mut column = Column::default();
            push(&mut column, 0, row, parts);
            let (text, parts) = column.get(0);
            assert_eq!(
                parts.of(&text),
                (Text::from(role), Text::from(body)),
                "{row}"
            );
        }
        let long = Text::from("x".repeat(1 << 16));
        assert_eq!(
            Parts::new(Parts::Said, 1 << 16).of(&long),
            (Text::default(), long.borrowed())
        );
    }

    #[test]
    fn parts_are_joined_in_order() {
        let (mut column, mut next) = (Column::default(), Column::default());
        push(&mut column, 0, "a", Parts::Body);
        push(&mut next, 1, "d", Parts::Body);
        column.append(&mut Column::default(), 1);
        column.append(&mut next, 2);
        assert_eq!(texts(&column), ["a", "", "", "d", "", ""]);
        assert_eq!((column.len(), next.len()), (2, 0));
    }
}
