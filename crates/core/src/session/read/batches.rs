//! Divides a list among threads that read its items from the file.

use std::ops::Range;

/// The limits of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchSize {
    /// The number of bytes of the file after which a batch ends. Few batches are in memory at the
    /// same time, so memory does not grow with the file.
    pub bytes: u64,
    /// The maximum number of items.
    pub items: usize,
}

impl Default for BatchSize {
    /// Returns limits with which a batch takes much longer than to start it.
    fn default() -> BatchSize {
        BatchSize {
            bytes: 256 * 1024,
            items: 256,
        }
    }
}

/// Returns the ranges of a list that are read one by one: each ends with the item that reaches a
/// limit of `size`. `length` returns the bytes of an item in the file.
pub fn split_batches<T>(
    items: &[T],
    size: BatchSize,
    length: impl Fn(&T) -> u64,
) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let mut start = 0;
    let mut bytes = 0;
    for (index, item) in items.iter().enumerate() {
        let end = index + 1;
        bytes += length(item);
        if bytes >= size.bytes || end - start >= size.items {
            batches.push(start..end);
            start = end;
            bytes = 0;
        }
    }
    if start < items.len() {
        batches.push(start..items.len());
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_ends_by_its_bytes_or_its_items() {
        let size = BatchSize {
            bytes: 10,
            items: 3,
        };
        let divided = |lengths: &[u64]| {
            let ranges = split_batches(lengths, size, |&length| length);
            format!("{ranges:?}")
        };
        assert_eq!(divided(&[]), "[]");
        assert_eq!(divided(&[1, 1, 1, 1]), "[0..3, 3..4]");
        assert_eq!(divided(&[4, 6, 100, 3]), "[0..2, 2..3, 3..4]");
        assert_eq!(divided(&[0, 0, 0]), "[0..3]");
    }
}
