//! Removes what cannot be searched for secrets: signatures, encrypted thinking, images.
//!
//! A session without them still opens and continues. An agent sends thinking without a signature as
//! text or not at all, so no API rejects it.

use super::Splice;
use memchr::memmem::Finder;
use pisess_json::Raw;
use pisess_json::edit::Edit;
use pisess_json::write::Object;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Returns replacements for the content blocks and payloads of a line of JSON that are opaque as a
/// whole.
pub(super) fn blocks(line: &[u8], keep_images: bool) -> Vec<Splice> {
    let mut splices = Vec::new();
    let entry = Raw::checked(line.trim_ascii());
    for holder in [Some(entry), entry.get("message"), entry.get("replacement")]
        .into_iter()
        .flatten()
    {
        let contents = ["content", "images"]
            .into_iter()
            .filter_map(|key| holder.get(key));
        for block in contents.flat_map(Raw::items) {
            if let Some(by) = without(block, keep_images) {
                splices.push(Splice {
                    range: place(line, block),
                    by,
                });
            }
        }
        let payloads = ["providerPayload", "preserveData"]
            .into_iter()
            .filter_map(|key| holder.get_some(key));
        for payload in
            payloads.filter(|payload| memchr::memmem::find(payload.bytes(), b"ncrypted").is_some())
        {
            splices.push(Splice {
                range: place(line, payload),
                by: b"{}".to_vec(),
            });
        }
    }
    splices
}

/// Whether the strings under this key are signatures or encrypted.
pub(super) fn is_key(key: &[u8]) -> bool {
    key.ends_with(b"Signature")
        || matches!(
            key,
            b"signature" | b"encrypted_content" | b"encryptedContent"
        )
}

/// Some lines without the text of their signatures.
pub(super) struct WithoutSignatures<'a> {
    pub bytes: Cow<'a, [u8]>,
    /// The places where text was left out, in order.
    gaps: Vec<Gap>,
}

/// A place where text was left out.
struct Gap {
    /// Its offset in what remains.
    at: usize,
    /// The number of bytes left out here and before.
    left_out: usize,
}

impl<'a> WithoutSignatures<'a> {
    /// Leaves out the text of signatures, which need not be searched because it is removed whole.
    /// It is often a quarter of a session.
    ///
    /// Text counts as a signature only if neither the quote before it nor those of its key are
    /// escaped: then it is the value of a member with this key, unless the line is malformed.
    pub fn of(lines: &'a [u8]) -> WithoutSignatures<'a> {
        const END_OF_KEY: &[u8] = b"ignature\":\"";
        static KEYS: LazyLock<Finder> = LazyLock::new(|| Finder::new(END_OF_KEY));
        let mut bytes = Vec::new();
        let mut gaps = Vec::new();
        let mut end = 0;
        for key in KEYS.find_iter(lines) {
            if !ends_as_key(&lines[..key]) {
                continue;
            }
            let start = key + END_OF_KEY.len();
            let width = memchr::memchr3(b'"', b'\\', b'\n', &lines[start..]);
            bytes.extend_from_slice(&lines[end..start]);
            end = width.map_or(lines.len(), |width| start + width);
            gaps.push(Gap {
                at: bytes.len(),
                left_out: end - bytes.len(),
            });
        }

        if gaps.is_empty() {
            return WithoutSignatures {
                bytes: Cow::Borrowed(lines),
                gaps,
            };
        }
        bytes.extend_from_slice(&lines[end..]);
        WithoutSignatures {
            bytes: Cow::Owned(bytes),
            gaps,
        }
    }

    /// Changes offsets in what remains, in order, to offsets in the lines.
    pub fn restore<'o>(&self, offsets: impl Iterator<Item = &'o mut usize>) {
        let mut gaps = self.gaps.iter().peekable();
        let mut left_out = 0;
        for offset in offsets {
            while let Some(gap) = gaps.next_if(|gap| gap.at <= *offset) {
                left_out = gap.left_out;
            }
            *offset += left_out;
        }
    }
}

/// Whether these bytes, followed by `ignature"`, end with the key of a signature.
fn ends_as_key(bytes: &[u8]) -> bool {
    match bytes {
        [.., b'S'] => true,
        [.., before, b'"', b's'] => *before != b'\\',
        _ => false,
    }
}

/// Returns the replacement of a content block that is opaque as a whole.
fn without(block: Raw, keep_images: bool) -> Option<Vec<u8>> {
    let kind = block.get("type")?;
    match () {
        () if kind.is("image") && !keep_images => Some(without_image(block)),
        () if kind.is("redactedThinking") => Some(
            Object::new()
                .str("type", "thinking")
                .str("thinking", "")
                .finish(),
        ),
        () if kind.is("thinking") && block.get("redacted").is_some_and(Raw::is_truthy) => {
            let mut edit = Edit::new(block.bytes()).ok()?;
            edit.remove("redacted");
            edit.set("thinkingSignature", b"\"\"");
            Some(edit.finish())
        }
        () => None,
    }
}

/// Returns a text block in place of an image, in words that a model understands.
fn without_image(block: Raw) -> Vec<u8> {
    let bytes = block
        .get("data")
        .and_then(Raw::raw_string)
        .map_or(0, |data| data.len() / 4 * 3);
    let mime = block
        .get_text("mimeType")
        .map_or_else(|| "image".to_owned(), |mime| mime.to_string());
    let is_plain = mime
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'+' | b'-' | b'.'));
    let mime = if is_plain { mime } else { "image".to_owned() };
    Object::new()
        .str("type", "text")
        .str("text", &format!("[image removed: {mime}, {bytes} bytes]"))
        .finish()
}

fn place(line: &[u8], value: Raw) -> std::ops::Range<usize> {
    let start = value.bytes().as_ptr() as usize - line.as_ptr() as usize;
    start..start + value.bytes().len()
}
