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

/// Returns replacements for what is opaque as a whole in a line of JSON: content blocks, and
/// payloads of a provider. Both are members of the entry itself, of its `message` or of its
/// `replacement`. Images are replaced unless `keep_images` is set.
pub(super) fn opaque_block_splices(line: &[u8], keep_images: bool) -> Vec<Splice> {
    let mut splices = Vec::new();
    let entry = Raw::from_checked(line.trim_ascii());
    let mut holders = vec![entry];
    holders.extend(entry.get("message"));
    holders.extend(entry.get("replacement"));
    for holder in holders {
        for key in ["content", "images"] {
            let blocks = holder.get(key).unwrap_or(Raw::NULL);
            for block in blocks.items() {
                if let Some(replacement) = block_replacement(block, keep_images) {
                    splices.push(Splice {
                        range: range_in(line, block),
                        replacement,
                    });
                }
            }
        }

        // A payload that is not encrypted is searched as any other text.
        for key in ["providerPayload", "preserveData"] {
            if let Some(payload) = holder.get_some(key)
                && contains_encrypted(payload)
            {
                splices.push(Splice {
                    range: range_in(line, payload),
                    replacement: b"{}".to_vec(),
                });
            }
        }
    }
    splices
}

/// Whether a payload contains a member such as `encrypted_content`, at any depth.
fn contains_encrypted(payload: Raw) -> bool {
    memchr::memmem::find(payload.bytes(), b"ncrypted").is_some()
}

/// Whether the strings under this key are signatures or encrypted, and so removed.
pub(super) fn is_signature_key(key: &[u8]) -> bool {
    key.ends_with(b"Signature")
        || matches!(
            key,
            b"signature" | b"encrypted_content" | b"encryptedContent"
        )
}

/// Lines without the text of their signatures, and a map from its offsets to those of the lines.
pub(super) struct WithoutSignatures<'a> {
    /// What remains of the lines.
    pub bytes: Cow<'a, [u8]>,
    /// The places where text was left out, in order.
    gaps: Vec<TextGap>,
}

/// A place where text was left out.
struct TextGap {
    /// Its offset in what remains.
    at: usize,
    /// The number of bytes left out here and before.
    omitted_bytes: usize,
}

impl<'a> WithoutSignatures<'a> {
    /// Leaves out the text of signatures, which need not be searched because it is removed whole.
    /// It is often a quarter of a session.
    ///
    /// Text counts as a signature only if neither the quote before it nor those of its key are
    /// escaped: then it is the value of a member with this key, unless the line is malformed.
    pub fn new(lines: &'a [u8]) -> WithoutSignatures<'a> {
        const KEY_END: &[u8] = b"ignature\":\"";
        static KEY_ENDS: LazyLock<Finder> = LazyLock::new(|| Finder::new(KEY_END));
        let mut bytes = Vec::new();
        let mut gaps = Vec::new();
        // The end of the last text that was left out.
        let mut omitted_end = 0;
        for key_end in KEY_ENDS.find_iter(lines) {
            if !ends_with_signature_key(&lines[..key_end]) {
                continue;
            }
            let text_start = key_end + KEY_END.len();
            bytes.extend_from_slice(&lines[omitted_end..text_start]);
            // An escape or a line break ends what is left out, too.
            omitted_end = match memchr::memchr3(b'"', b'\\', b'\n', &lines[text_start..]) {
                Some(width) => text_start + width,
                None => lines.len(),
            };
            gaps.push(TextGap {
                at: bytes.len(),
                omitted_bytes: omitted_end - bytes.len(),
            });
        }

        if gaps.is_empty() {
            return WithoutSignatures {
                bytes: Cow::Borrowed(lines),
                gaps,
            };
        }
        bytes.extend_from_slice(&lines[omitted_end..]);
        WithoutSignatures {
            bytes: Cow::Owned(bytes),
            gaps,
        }
    }

    /// Changes offsets in `bytes` to offsets in the lines. The offsets must be in ascending order.
    pub fn restore_offsets<'o>(&self, offsets: impl Iterator<Item = &'o mut usize>) {
        let mut gaps = self.gaps.iter().peekable();
        let mut omitted_bytes = 0;
        for offset in offsets {
            while let Some(gap) = gaps.next_if(|gap| gap.at <= *offset) {
                omitted_bytes = gap.omitted_bytes;
            }
            *offset += omitted_bytes;
        }
    }
}

/// Whether these bytes, followed by `ignature"`, end with the key of a signature: one that ends
/// with `Signature`, or `"signature"` whose opening quote is not escaped.
fn ends_with_signature_key(bytes: &[u8]) -> bool {
    match bytes {
        [.., b'S'] => true,
        [.., before, b'"', b's'] => *before != b'\\',
        _ => false,
    }
}

/// Returns the block that replaces a content block which is opaque as a whole; `None` if the block
/// is kept.
///
/// - An image becomes a text that names its type and size, unless images are kept.
/// - `redactedThinking` becomes thinking without text.
/// - `thinking` that is `redacted` loses that mark and its signature.
fn block_replacement(block: Raw, keep_images: bool) -> Option<Vec<u8>> {
    let kind = block.get("type")?;
    if kind.is("image") && !keep_images {
        return Some(image_note(block));
    }
    // The content is encrypted, and nobody can tell what is in it.
    if kind.is("redactedThinking") {
        let thinking = Object::new()
            .str("type", "thinking")
            .str("thinking", "")
            .finish();
        return Some(thinking);
    }
    // In pi, the signature of such a block is the encrypted content.
    if kind.is("thinking") && block.get("redacted").is_some_and(Raw::is_truthy) {
        let mut edit = Edit::new(block.bytes()).ok()?;
        edit.remove("redacted");
        edit.set("thinkingSignature", b"\"\"");
        return Some(edit.finish());
    }
    None
}

/// Returns a text block in place of an image, in words that a model understands.
fn image_note(block: Raw) -> Vec<u8> {
    let data = block.get("data").and_then(Raw::raw_string);
    let digit_count = data.map_or(0, <[u8]>::len);
    // Four digits of base64 encode three bytes.
    let byte_count = digit_count / 4 * 3;

    let mime = match block.get_text("mimeType") {
        Some(mime) => mime.to_string(),
        None => "image".to_owned(),
    };
    // A session may have any text here, also a secret. Only what looks like a media type is shown.
    let is_media_type = mime
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'+' | b'-' | b'.'));
    let shown_mime = if is_media_type { &mime } else { "image" };

    Object::new()
        .str("type", "text")
        .str(
            "text",
            &format!("[image removed: {shown_mime}, {byte_count} bytes]"),
        )
        .finish()
}

/// Returns the range in a line of a value that borrows its bytes from that line.
fn range_in(line: &[u8], value: Raw) -> std::ops::Range<usize> {
    let start = value.bytes().as_ptr() as usize - line.as_ptr() as usize;
    start..start + value.bytes().len()
}
