//! Removes content that cannot be searched for secrets: signatures, encrypted thinking, images.
//!
//! A session without this content still opens and continues. An agent sends thinking without a
//! signature as text, or not at all, so no API rejects it.

use super::{Replacement, Splice};
use memchr::memmem::Finder;
use pisess_json::edit::Edit;
use pisess_json::write::Object;
use pisess_json::{Raw, range_in};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// The opaque content that a search keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum OpaqueContent {
    /// None: all of it is removed.
    #[default]
    Remove,
    /// Only images.
    KeepImages,
    /// All of it.
    Keep,
}

/// The replacements of opaque values in a line.
#[derive(Default)]
pub(super) struct OpaqueValues {
    /// No range contains text that its replacement keeps, so secrets in it are removed.
    pub splices: Vec<Splice>,
    /// The number of opaque values. One may have several replacements.
    pub count: usize,
    /// The ranges of opaque values that are kept, with everything in them.
    pub kept: Vec<Range<usize>>,
}

/// Returns replacements for opaque values in a line of JSON: content blocks, and payloads of a
/// provider that contain encrypted text. The entry itself, its `message`, and the `replacement` in
/// an edit of pi may have them. Images are replaced unless `keep_images` is set.
pub(super) fn find_opaque_values(line: &[u8], keep_images: bool) -> OpaqueValues {
    let mut found = OpaqueValues::default();
    for holder in find_block_holders(line) {
        for block in content_blocks(holder) {
            found.add_block_if_opaque(block, line, keep_images);
        }
        for key in ["providerPayload", "preserveData"] {
            // A payload that is not encrypted is searched like any other text.
            if let Some(payload) = holder.get_some(key)
                && contains_encrypted(payload)
            {
                found.push(Splice {
                    range: range_in(payload.bytes(), line),
                    replacement: Replacement::Bytes(b"{}".to_vec()),
                });
            }
        }
    }
    found
}

/// Returns the data of the opaque blocks of a line, which a search keeps and skips: of images, and
/// of thinking that is encrypted as a whole. Other members, such as the `url` of an image, are
/// text. A payload of a provider is none of them: only its signatures are opaque.
pub(super) fn find_kept_blocks(line: &[u8]) -> OpaqueValues {
    let mut found = OpaqueValues::default();
    for holder in find_block_holders(line) {
        for block in content_blocks(holder) {
            let kind = block.get("type").unwrap_or(Raw::NULL);
            let is_opaque = kind.is("image") || kind.is("redactedThinking");
            if is_opaque
                && let Some(data) = block.get("data")
                && data.is_string()
            {
                found.kept.push(range_in(data.bytes(), line));
            }
        }
    }
    found
}

/// Iterates over the content blocks of an object, which may be in two arrays.
fn content_blocks<'a>(holder: Raw<'a>) -> impl Iterator<Item = Raw<'a>> {
    let arrays = ["content", "images"].into_iter();
    arrays.flat_map(move |key| holder.get(key).unwrap_or(Raw::NULL).items())
}

/// Returns the objects of a line that may have content blocks.
fn find_block_holders(line: &[u8]) -> Vec<Raw<'_>> {
    let entry = Raw::from_checked(line.trim_ascii());
    let mut holders = vec![entry];
    holders.extend(entry.get("message"));
    holders.extend(entry.get("replacement"));
    holders
}

impl OpaqueValues {
    /// Adds an opaque value that is replaced as a whole.
    pub fn push(&mut self, splice: Splice) {
        self.splices.push(splice);
        self.count += 1;
    }

    /// Adds a content block of a line if it is opaque: an image, unless `keep_images` is set, or
    /// thinking that is encrypted.
    fn add_block_if_opaque(&mut self, block: Raw, line: &[u8], keep_images: bool) {
        let range = range_in(block.bytes(), line);
        if let Some(replacement) = block_replacement(block, keep_images) {
            self.push(Splice {
                range,
                replacement: Replacement::Bytes(replacement),
            });
        } else if is_redacted_thinking(block) {
            // Several parts of it are replaced, but it counts as one value.
            let mut splices = unmark_redacted(block, range.start);
            self.splices.append(&mut splices);
            self.count += 1;
        }
    }
}

/// Whether a payload contains a member such as `encrypted_content`, at any depth.
fn contains_encrypted(payload: Raw) -> bool {
    memchr::memmem::find(payload.bytes(), b"ncrypted").is_some()
}

/// Whether the strings under this key are removed, because they are signatures or encrypted.
pub(super) fn is_signature_key(key: &[u8]) -> bool {
    key.ends_with(b"Signature")
        || matches!(
            key,
            b"signature" | b"encrypted_content" | b"encryptedContent"
        )
}

/// Lines without the text of their signatures. Offsets in this text can be converted to offsets in
/// the lines.
pub(super) struct WithoutSignatures<'a> {
    /// The remaining bytes of the lines.
    pub bytes: Cow<'a, [u8]>,
    /// The places where text was left out, in order.
    gaps: Vec<TextGap>,
}

/// A place where text was left out.
struct TextGap {
    /// The offset of the place in the remaining bytes.
    at: usize,
    /// The number of bytes that were left out here and in all gaps before.
    omitted_bytes: usize,
}

impl<'a> WithoutSignatures<'a> {
    /// Leaves out the text of signatures. It need not be searched, because it is removed as a
    /// whole, and it is often a quarter of a session.
    pub fn new(lines: &'a [u8]) -> WithoutSignatures<'a> {
        let mut bytes = Vec::new();
        let mut gaps = Vec::new();
        // The end of the last text that was left out.
        let mut omitted_end = 0;
        for signature in find_signatures(lines) {
            bytes.extend_from_slice(&lines[omitted_end..signature.start]);
            omitted_end = signature.end;
            gaps.push(TextGap {
                at: bytes.len(),
                // All bytes of the lines up to here that were not kept.
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

    /// Converts the offset of one of the remaining bytes to its offset in the lines.
    pub fn offset_in_lines(&self, offset: usize) -> usize {
        let gaps_before = self.gaps.partition_point(|gap| gap.at <= offset);
        match self.gaps[..gaps_before].last() {
            Some(last_gap) => offset + last_gap.omitted_bytes,
            None => offset,
        }
    }
}

/// Returns the ranges of the texts of signatures in some lines, in order: of `EoQ…` in
/// `"signature":"EoQ…"`.
///
/// A text counts as a signature only if the quote before it and the quotes of its key are not
/// escaped. Then it is the value of a member with this key, unless the line is malformed.
fn find_signatures(lines: &[u8]) -> Vec<Range<usize>> {
    /// The end of a key such as `signature` or `thinkingSignature`, and the quote before its value.
    const KEY_END: &[u8] = b"ignature\":\"";
    static KEY_ENDS: LazyLock<Finder> = LazyLock::new(|| Finder::new(KEY_END));

    let mut signatures = Vec::new();
    for key_end in KEY_ENDS.find_iter(lines) {
        if !ends_with_signature_key(&lines[..key_end]) {
            continue;
        }
        let start = key_end + KEY_END.len();
        // A signature has neither escapes nor line breaks, so the text after one is not part of it,
        // and is searched for secrets.
        let end = match memchr::memchr3(b'"', b'\\', b'\n', &lines[start..]) {
            Some(width) => start + width,
            None => lines.len(),
        };
        signatures.push(start..end);
    }
    signatures
}

/// Whether these bytes and a following `ignature"` end with the key of a signature. This is a key
/// that ends with `Signature`, or `"signature"` whose opening quote is not escaped.
fn ends_with_signature_key(bytes: &[u8]) -> bool {
    match bytes {
        [.., b'S'] => true,
        [.., before, b'"', b's'] => *before != b'\\',
        _ => false,
    }
}

/// Returns the replacement for a content block that is opaque as a whole; `None` if the block is
/// kept.
///
/// - An image becomes a text that names its type and size, unless images are kept.
/// - `redactedThinking` becomes thinking without text.
fn block_replacement(block: Raw, keep_images: bool) -> Option<Vec<u8>> {
    let kind = block.get("type")?;
    if kind.is("image") && !keep_images {
        return Some(image_note(block));
    }
    // The content is encrypted, so it may contain anything.
    if kind.is("redactedThinking") {
        let thinking = Object::new()
            .str("type", "thinking")
            .str("thinking", "")
            .finish();
        return Some(thinking);
    }
    None
}

/// Whether a content block is `thinking` with the mark `redacted`. In pi, the signature of such a
/// block is the encrypted content.
fn is_redacted_thinking(block: Raw) -> bool {
    let is_thinking = block.get("type").is_some_and(|kind| kind.is("thinking"));
    is_thinking && block.get("redacted").is_some_and(Raw::is_truthy)
}

/// Returns the replacements that remove the mark `redacted` and the signature of a content block,
/// which begins at `block_start` in its line. Its other members are kept, so they are searched like
/// any other text.
fn unmark_redacted(block: Raw, block_start: usize) -> Vec<Splice> {
    let Ok(mut edit) = Edit::new(block.bytes()) else {
        return Vec::new();
    };
    edit.remove("redacted");
    edit.set("thinkingSignature", b"\"\"");

    let mut splices = Vec::new();
    for change in edit.into_splices() {
        splices.push(Splice {
            range: block_start + change.range.start..block_start + change.range.end,
            replacement: Replacement::Bytes(change.replacement),
        });
    }
    splices
}

/// The types of images that models and agents use.
const MEDIA_TYPES: [&str; 9] = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/svg+xml",
    "image/bmp",
    "image/tiff",
    "image/avif",
    "image/heic",
];

/// Returns a text block that replaces an image, such as `[image removed: image/png, 300 bytes]`,
/// which a model understands.
fn image_note(block: Raw) -> Vec<u8> {
    let data = block.get("data").and_then(Raw::raw_string);
    let digit_count = data.map_or(0, <[u8]>::len);
    // Four digits of base64 encode three bytes.
    let byte_count = digit_count / 4 * 3;

    // A session may have any text as the type, even a secret, so only known types are shown.
    let stored_type = block.get("mimeType").unwrap_or(Raw::NULL);
    let known_type = MEDIA_TYPES.into_iter().find(|known| stored_type.is(known));
    let shown_type = known_type.unwrap_or("image");

    let note = format!("[image removed: {shown_type}, {byte_count} bytes]");
    Object::new()
        .str("type", "text")
        .str("text", &note)
        .finish()
}
