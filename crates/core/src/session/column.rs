//! The row of each entry, all in one buffer, with eight bytes per entry for its end and its parts.

use pisess_json::text::Text;

/// Rows of entries in file order, one after the other in one buffer.
#[derive(Debug, Default)]
pub struct RowColumn {
    text: Vec<u8>,
    /// The end of the row of each entry, which starts at the end of the previous one, and its
    /// shape.
    rows: Vec<(u32, RowShape)>,
}

/// What surrounds the role and the body of a row, and where its role ends in the row, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowShape {
    /// `body`
    #[default]
    Body,
    /// `role: body`, or `role`
    Prefixed(u16),
    /// `[role]: body`, or `[role]`
    Bracketed(u16),
    /// `[role: body]`
    Enclosed(u16),
    /// `[role: body` or `[role`, truncated
    Truncated(u16),
}

impl RowShape {
    /// Returns the shape of a row whose role ends at an offset. `variant` is the constructor of a
    /// variant, such as `RowShape::Prefixed`.
    ///
    /// A role whose end takes more than 16 bits is longer than any row should be, and becomes part
    /// of the body.
    pub fn new(variant: impl FnOnce(u16) -> RowShape, role_end: usize) -> RowShape {
        match u16::try_from(role_end) {
            Ok(role_end) => variant(role_end),
            Err(_) => RowShape::Body,
        }
    }

    /// Returns the role and the body of a row. The role is empty if the row is only a body.
    pub fn split<'t>(self, row: &Text<'t>) -> (Text<'t>, Text<'t>) {
        // What is before the role, between role and body, and after the body.
        let (role_end, opening, separator, closing) = match self {
            RowShape::Body => (0, "", "", ""),
            RowShape::Prefixed(role_end) => (role_end, "", ": ", ""),
            RowShape::Bracketed(role_end) => (role_end, "[", "]: ", ""),
            RowShape::Enclosed(role_end) => (role_end, "[", ": ", "]"),
            RowShape::Truncated(role_end) => (role_end, "[", ": ", ""),
        };
        let row_len = row.as_bytes().len();
        // A row that lost half a pair at its end is shorter than its role was.
        let role_end = usize::from(role_end).min(row_len);
        // A row without a body may end before the separator does.
        let body_start = (role_end + separator.len()).min(row_len);
        let body_end = row_len - closing.len();
        (
            row.slice(opening.len()..role_end),
            row.slice(body_start..body_end),
        )
    }
}

impl RowColumn {
    /// Sets the row of an entry to what `append` appends. Rows are set in the order of the entries;
    /// an entry that is passed over has an empty row.
    pub fn push(&mut self, entry_index: usize, append: impl FnOnce(&mut Vec<u8>) -> RowShape) {
        self.rows
            .resize(entry_index, (self.text.len() as u32, RowShape::Body));
        let shape = append(&mut self.text);
        self.rows.push((self.text.len() as u32, shape));
    }

    /// Returns the row of an entry and its shape; empty if none was set.
    pub fn get(&self, entry_index: usize) -> (Text<'_>, RowShape) {
        let Some(&(end, shape)) = self.rows.get(entry_index) else {
            return (Text::default(), RowShape::Body);
        };
        let start = match entry_index.checked_sub(1) {
            Some(previous) => self.rows[previous].0,
            None => 0,
        };
        let row = &self.text[start as usize..end as usize];
        (Text::from_wtf8(row), shape)
    }

    /// Returns the number of bytes of all rows.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Moves the rows of the next part of the file to the end of this column. `first` is the index
    /// in the whole file of the first entry of that part.
    pub fn append(&mut self, next: &mut RowColumn, first: usize) {
        if next.rows.is_empty() {
            return;
        }
        let base = self.text.len() as u32;
        // The last entries here may have no row: theirs is empty.
        self.rows.resize(first, (base, RowShape::Body));
        self.rows
            .extend(next.rows.drain(..).map(|(end, shape)| (base + end, shape)));
        self.text.append(&mut next.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(column: &mut RowColumn, at: usize, row: &str, parts: RowShape) {
        column.push(at, |text| {
            text.extend_from_slice(row.as_bytes());
            parts
        });
    }

    fn texts(column: &RowColumn) -> Vec<String> {
        (0..6).map(|at| column.get(at).0.to_string()).collect()
    }

    #[test]
    fn entries_without_a_row_have_an_empty_one() {
        let mut column = RowColumn::default();
        push(&mut column, 1, "b", RowShape::Body);
        push(&mut column, 2, "", RowShape::Body);
        push(&mut column, 4, "e", RowShape::Body);
        assert_eq!(texts(&column), ["", "b", "", "", "e", ""]);
    }

    #[test]
    fn rows_have_a_role_and_a_body() {
        for (row, parts, role, body) in [
            ("a: b", RowShape::Body, "", "a: b"),
            ("user: a: b", RowShape::Prefixed(4), "user", "a: b"),
            ("assistant: ", RowShape::Prefixed(9), "assistant", ""),
            ("bash", RowShape::Prefixed(4), "bash", ""),
            ("[bash]: ls", RowShape::Bracketed(5), "bash", "ls"),
            (
                "[reset boundary]",
                RowShape::Bracketed(15),
                "reset boundary",
                "",
            ),
            ("[model: x]", RowShape::Enclosed(6), "model", "x"),
            ("[custom: cut…", RowShape::Truncated(7), "custom", "cut…"),
            ("[cut…", RowShape::Truncated(7), "cut…", ""),
        ] {
            let mut column = RowColumn::default();
            push(&mut column, 0, row, parts);
            let (text, parts) = column.get(0);
            assert_eq!(
                parts.split(&text),
                (Text::from(role), Text::from(body)),
                "{row}"
            );
        }
        let long = Text::from("x".repeat(1 << 16));
        assert_eq!(
            RowShape::new(RowShape::Prefixed, 1 << 16).split(&long),
            (Text::default(), long.as_borrowed())
        );
    }

    #[test]
    fn parts_are_joined_in_order() {
        let (mut column, mut next) = (RowColumn::default(), RowColumn::default());
        push(&mut column, 0, "a", RowShape::Body);
        push(&mut next, 1, "d", RowShape::Body);
        column.append(&mut RowColumn::default(), 1);
        column.append(&mut next, 2);
        assert_eq!(texts(&column), ["a", "", "", "d", "", ""]);
        assert_eq!((column.len(), next.len()), (2, 0));
    }
}
