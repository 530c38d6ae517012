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
            let index = index_of(self.text_len);
            let (part, next) = rest.split_at(rest.len().min(MAX_LEN - index));
            // The buffer grows until it is full. Then the oldest bytes are replaced.
            if index == self.bytes.len() {
                self.bytes.extend_from_slice(part);
            } else {
                self.bytes[index..index + part.len()].copy_from_slice(part);
            }
            self.text_len += part.len() as u64;
            rest = next;
        }
    }

    /// Reads up to `buf.len()` bytes at `offset`, and returns their number. `None` if the first of
    /// them is not kept.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> Option<usize> {
        let start = self.text_len - self.bytes.len() as u64;
        if offset < start {
            return None;
        }
        if offset >= self.text_len {
            return Some(0);
        }
        // The bytes up to the end of the text, or up to the end of the buffer, where they wrap.
        let text_left = (self.text_len - offset) as usize;
        let following = &self.bytes[index_of(offset)..];
        let count = buf.len().min(following.len()).min(text_left);
        buf[..count].copy_from_slice(&following[..count]);
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
