//! The last bytes of a text that is made as it is read.

/// The maximum number of bytes that are kept.
const MAX_LEN: usize = 2 << 20;

/// The end of a text. Its memory does not grow with the text.
#[derive(Default)]
pub struct TextEnd {
    /// The number of bytes of the whole text.
    text_len: u64,
    /// The last bytes, as a ring: see [`index_of`].
    bytes: Vec<u8>,
}

impl TextEnd {
    /// Appends the next bytes of the text.
    pub fn append(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            // A part ends where the ring wraps, so that its bytes are adjacent in the ring.
            let len_to_wrap = MAX_LEN - index_of(self.text_len);
            let (part, next) = rest.split_at(rest.len().min(len_to_wrap));
            self.append_adjacent(part);
            rest = next;
        }
    }

    /// Appends bytes of the text that fit into the ring before it wraps.
    fn append_adjacent(&mut self, part: &[u8]) {
        let index = index_of(self.text_len);
        // The ring grows until it has `MAX_LEN` bytes. Then the oldest bytes are replaced.
        let is_growing = index == self.bytes.len();
        if is_growing {
            self.bytes.extend_from_slice(part);
        } else {
            self.bytes[index..index + part.len()].copy_from_slice(part);
        }
        self.text_len += part.len() as u64;
    }

    /// Copies bytes of the text to the start of `buf`, and returns their number. `offset` is the
    /// position of the first one in the whole text.
    ///
    /// The number may be less than `buf.len()` before the end of the text, too: a call copies no
    /// bytes from beyond the wrap of the ring. It is 0 only at the end of the text, or for an empty
    /// `buf`. `None` if the byte at `offset` is no longer kept.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> Option<usize> {
        let first_kept = self.text_len - self.bytes.len() as u64;
        if offset < first_kept {
            return None;
        }
        if offset >= self.text_len {
            return Some(0);
        }

        let text_left = (self.text_len - offset) as usize;
        let bytes_to_wrap = &self.bytes[index_of(offset)..];
        let count = buf.len().min(bytes_to_wrap.len()).min(text_left);
        buf[..count].copy_from_slice(&bytes_to_wrap[..count]);
        Some(count)
    }
}

/// Returns the index in the ring of the byte at an offset of the text.
fn index_of(offset: u64) -> usize {
    (offset % MAX_LEN as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_end_is_read() {
        let text_len = 2 * MAX_LEN + 7;
        let text: Vec<u8> = (0..text_len).map(|offset| (offset % 251) as u8).collect();
        let mut end = TextEnd::default();
        for part in text.chunks(MAX_LEN / 3 + 1) {
            end.append(part);
        }
        for offset in (0..text_len).step_by(997) {
            let mut buf = [0; 1000];
            let read = end.read_at(&mut buf, offset as u64);
            assert_eq!(read.is_some(), offset >= text_len - MAX_LEN);
            if let Some(count) = read {
                assert!(count > 0);
                assert_eq!(buf[..count], text[offset..offset + count]);
            }
        }
        assert_eq!(end.read_at(&mut [0], text_len as u64), Some(0));
    }

    #[test]
    fn a_short_text_is_kept_whole() {
        let mut end = TextEnd::default();
        end.append(b"ab");
        end.append(b"c");
        let mut buf = [0; 8];
        assert_eq!(end.read_at(&mut buf, 1), Some(2));
        assert_eq!(&buf[..2], b"bc");
        assert_eq!(end.read_at(&mut buf, 9), Some(0));
    }
}
