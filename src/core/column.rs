//! A text for each entry, all in one buffer, with four bytes per entry for its end.

/// Texts of entries in file order, one after the other in one buffer.
#[derive(Debug, Default)]
pub struct Column {
    text: Vec<u8>,
    /// The end of the text of each entry; it starts at the end of the previous one.
    ends: Vec<u32>,
}

impl Column {
    /// Sets the text of entry `at`, which is after those set before, to what `append` appends. Entries in between have
    /// an empty text.
    pub fn push(&mut self, at: usize, append: impl FnOnce(&mut Vec<u8>)) {
        self.ends.resize(at, self.text.len() as u32);
        append(&mut self.text);
        self.ends.push(self.text.len() as u32);
    }

    /// Returns the text of entry `at`; empty if none was set.
    pub fn get(&self, at: usize) -> &[u8] {
        let Some(&end) = self.ends.get(at) else { return &[] };
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start as usize..end as usize]
    }

    /// Returns the number of bytes of all texts.
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Moves the texts of the next part of the file here, whose entries are numbered from `first`.
    pub fn append(&mut self, next: &mut Column, first: usize) {
        if next.ends.is_empty() {
            return;
        }
        let base = self.text.len() as u32;
        self.ends.resize(first, base);
        self.ends.extend(next.ends.drain(..).map(|end| base + end));
        self.text.append(&mut next.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(column: &Column) -> Vec<&[u8]> {
        (0..6).map(|at| column.get(at)).collect()
    }

    #[test]
    fn entries_without_a_text_have_an_empty_one() {
        let mut column = Column::default();
        column.push(1, |text| text.extend_from_slice(b"b"));
        column.push(2, |text| text.extend_from_slice(b""));
        column.push(4, |text| text.extend_from_slice(b"e"));
        assert_eq!(texts(&column), [&b""[..], b"b", b"", b"", b"e", b""]);
    }

    #[test]
    fn parts_are_joined_in_order() {
        let (mut column, mut next) = (Column::default(), Column::default());
        column.push(0, |text| text.extend_from_slice(b"a"));
        next.push(1, |text| text.extend_from_slice(b"d"));
        column.append(&mut Column::default(), 1);
        column.append(&mut next, 2);
        assert_eq!(texts(&column), [&b"a"[..], b"", b"", b"d", b"", b""]);
        assert_eq!((column.len(), next.len()), (2, 0));
    }
}
