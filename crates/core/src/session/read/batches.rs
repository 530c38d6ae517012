//! Divides a list into batches, whose items threads read from the file.

use std::ops::Range;

/// The limits of a batch.
#[derive(Clone, Copy, Debug)]
pub struct BatchSize {
    /// The number of bytes of the file after which a batch ends. Only a few batches are in memory
    /// at the same time, so memory does not grow with the file.
    pub bytes: u64,
    /// The maximum number of items.
    pub items: usize,
}

impl Default for BatchSize {
    /// Returns limits so large that starting a batch takes little time compared with reading it.
    fn default() -> BatchSize {
        BatchSize {
            bytes: 256 * 1024,
            items: 256,
        }
    }
}

/// Divides a list into ranges, which workers read one by one. A range ends with the item with which
/// it reaches a limit of `size`. `length` returns the length of an item in the file, in bytes.
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
