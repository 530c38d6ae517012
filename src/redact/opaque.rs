//! Removes what cannot be searched for secrets: signatures, encrypted thinking, images.
//!
//! A session without them still opens and continues. An agent sends thinking without a signature as
//! text or not at all, so no API rejects it.

use super::Splice;
use pisess_json::Raw;
use pisess_json::edit::Edit;
use pisess_json::write::Object;

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
