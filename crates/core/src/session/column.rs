//! The rows of a session: the line of text that a tree shows for each entry.
//!
//! All rows are in one buffer, with eight bytes per entry for the end and the shape of its row.

use pisess_json::text::Text;

/// Rows of entries in file order, one after the other in one buffer.
#[derive(Debug, Default)]
pub struct RowColumn {
    text: Vec<u8>,
    /// The row of each entry, which starts at the end of the previous one.
    rows: Vec<RowEnd>,
}

/// Where a row ends, and its shape.
#[derive(Clone, Copy, Debug)]
struct RowEnd {
    /// An offset in the buffer.
    end: u32,
    shape: RowShape,
}

/// The row of an entry.
#[derive(Clone, Debug, Default)]
pub struct StoredRow<'t> {
    /// Empty if no row was set.
    pub text: Text<'t>,
    shape: RowShape,
}

/// The two parts of a row, without the punctuation between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowParts<'t> {
    /// Who wrote the message, or what the entry is; empty if the row is only a body.
    pub role: Text<'t>,
    /// What the row says.
    pub body: Text<'t>,
}

/// How a row is composed of a role and a body. The number is the offset in the row, in bytes, at
/// which the role ends.
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
    /// Returns the shape with a role that ends at the offset `role_end`. `variant` is the
    /// constructor of a variant, such as `RowShape::Prefixed`.
    ///
    /// If the offset does not fit into 16 bits, the whole row becomes a body: such a role is longer
    /// than any row should be.
    pub fn new(variant: impl FnOnce(u16) -> RowShape, role_end: usize) -> RowShape {
        match u16::try_from(role_end) {
            Ok(role_end) => variant(role_end),
            Err(_) => RowShape::Body,
        }
    }

    /// Returns the offset in the row at which the role ends; 0 without a role.
    fn role_end(self) -> usize {
        match self {
            RowShape::Body => 0,
            RowShape::Prefixed(role_end)
            | RowShape::Bracketed(role_end)
            | RowShape::Enclosed(role_end)
            | RowShape::Truncated(role_end) => usize::from(role_end),
        }
    }

    /// Returns what a row of this shape has around its role and its body.
    fn punctuation(self) -> Punctuation {
        match self {
            RowShape::Body => Punctuation::new("", "", ""),
            RowShape::Prefixed(_) => Punctuation::new("", ": ", ""),
            RowShape::Bracketed(_) => Punctuation::new("[", "]: ", ""),
            RowShape::Enclosed(_) => Punctuation::new("[", ": ", "]"),
            RowShape::Truncated(_) => Punctuation::new("[", ": ", ""),
        }
    }
}

/// What a row has around its role and its body.
struct Punctuation {
    /// Before the role.
    opening: &'static str,
    /// Between the role and the body.
    separator: &'static str,
    /// After the body.
    closing: &'static str,
}

impl Punctuation {
    fn new(opening: &'static str, separator: &'static str, closing: &'static str) -> Self {
        Punctuation {
            opening,
            separator,
            closing,
        }
    }
}

impl<'t> StoredRow<'t> {
    /// Splits the row into its role and its body, without the punctuation around them: `user` and
    /// `hi` for both `user: hi` and `[user: hi]`.
    pub fn split(&self) -> RowParts<'t> {
        let punctuation = self.shape.punctuation();
        let row_len = self.text.as_bytes().len();
        // If the row was cut within a pair of surrogates, the lost half may belong to the role.
        let role_end = self.shape.role_end().min(row_len);
        // A row without a body may end before the separator does.
        let body_start = (role_end + punctuation.separator.len()).min(row_len);
        let body_end = row_len - punctuation.closing.len();
        RowParts {
            role: self.text.slice(punctuation.opening.len()..role_end),
            body: self.text.slice(body_start..body_end),
        }
    }
}

impl RowColumn {
    /// Adds the row of an entry, which `append` appends to the buffer. Rows must be added in the
    /// order of the entries. An entry without a call has an empty row.
    pub fn push(&mut self, entry_index: usize, append: impl FnOnce(&mut Vec<u8>) -> RowShape) {
        self.add_empty_rows(entry_index);
        let shape = append(&mut self.text);
        let end = self.text.len() as u32;
        self.rows.push(RowEnd { end, shape });
    }

    /// Adds empty rows until there is one for each entry before `entry_index`.
    fn add_empty_rows(&mut self, entry_index: usize) {
        let empty = RowEnd {
            end: self.text.len() as u32,
            shape: RowShape::Body,
        };
        self.rows.resize(entry_index, empty);
    }

    /// Returns the row of the entry with this index; an empty row if none was added.
    pub fn get(&self, entry_index: usize) -> StoredRow<'_> {
        let Some(&RowEnd { end, shape }) = self.rows.get(entry_index) else {
            return StoredRow::default();
        };
        let start = match entry_index.checked_sub(1) {
            Some(previous) => self.rows[previous].end,
            None => 0,
        };
        let row = &self.text[start as usize..end as usize];
        StoredRow {
            text: Text::from_wtf8(row),
            shape,
        }
    }

    /// Returns the length of all rows together, in bytes.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Appends the rows of the next part of the file, which are taken from `next`. `first` is the
    /// index, in the whole file, of the first entry of that part.
    pub fn append(&mut self, next: &mut RowColumn, first: usize) {
        if next.rows.is_empty() {
            return;
        }
        // The last entries here may have no row.
        self.add_empty_rows(first);
        // The text of the next part comes after that of this one.
        let text_before = self.text.len() as u32;
        for mut row in next.rows.drain(..) {
            row.end += text_before;
            self.rows.push(row);
        }
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
        (0..6).map(|at| column.get(at).text.to_string()).collect()
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
            let expected = RowParts {
                role: Text::from(role),
                body: Text::from(body),
            };
            assert_eq!(column.get(0).split(), expected, "{row}");
        }
        let long = StoredRow {
            text: Text::from("x".repeat(1 << 16)),
            shape: RowShape::new(RowShape::Prefixed, 1 << 16),
        };
        let only_body = RowParts {
            role: Text::default(),
            body: long.text.as_borrowed(),
        };
        assert_eq!(long.split(), only_body);
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
