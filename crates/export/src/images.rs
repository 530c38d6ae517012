//! The images of an entry as files, as `show --images` writes them.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use pisess_core::session::blobs::referenced_blob;
use pisess_core::session::content::blocks_of_type;
use pisess_json::Raw;

/// An image of an entry.
#[derive(Debug, PartialEq, Eq)]
pub struct EntryImage {
    /// The type that the session records; empty if there is none.
    pub media_type: String,
    /// Its bytes.
    pub data: ImageData,
}

/// Where the bytes of an image are.
#[derive(Debug, PartialEq, Eq)]
pub enum ImageData {
    /// In the session.
    Stored(Vec<u8>),
    /// In oh-my-pi's blob with this hash.
    Blob(String),
    /// The session has none.
    Missing,
    /// What the session has is not base64.
    Invalid,
}

/// Returns the images in the content of a message, in order. `line` is the line of its entry.
pub fn read_images(line: Raw) -> Vec<EntryImage> {
    let message = line.get("message").unwrap_or(line);
    let content = message.get("content").unwrap_or(Raw::NULL);
    blocks_of_type(content, "image").map(read_image).collect()
}

/// Reads an image from its block of the content, which has the bytes in base64.
fn read_image(block: Raw) -> EntryImage {
    let media_type = block.get_text("mimeType").unwrap_or_default();
    let data_text = block.get_text("data").unwrap_or_default();
    let encoded = data_text.to_string_lossy();
    // oh-my-pi keeps a large image in a file of its own, a blob, whose name is the hash of its
    // bytes.
    let data = if let Some(hash) = referenced_blob(&encoded) {
        ImageData::Blob(hash.to_owned())
    } else if let Some(bytes) = decode_base64(&encoded) {
        if bytes.is_empty() {
            ImageData::Missing
        } else {
            ImageData::Stored(bytes)
        }
    } else {
        ImageData::Invalid
    };
    EntryImage {
        media_type: media_type.to_string_lossy().trim().to_ascii_lowercase(),
        data,
    }
}

/// Decodes base64. White space in it and missing padding are allowed, as in JavaScript.
fn decode_base64(data: &str) -> Option<Vec<u8>> {
    let config =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let mut digits = data.as_bytes().to_vec();
    digits.retain(|byte| !byte.is_ascii_whitespace());
    GeneralPurpose::new(&STANDARD, config).decode(digits).ok()
}

/// For each kind of image: the offset of its signature in the file, the signature, and the suffix
/// of the file's name.
const SIGNATURES: [(usize, &[u8], &str); 9] = [
    (0, b"\x89PNG\r\n\x1a\n", "png"),
    (0, b"\xff\xd8\xff", "jpg"),
    (0, b"GIF8", "gif"),
    (8, b"WEBP", "webp"),
    (0, b"BM", "bmp"),
    (0, b"II*\0", "tiff"),
    (0, b"MM\0*", "tiff"),
    (4, b"ftypavif", "avif"),
    (4, b"ftyphei", "heic"),
];

/// Returns the suffix for the file of an image, without a dot, such as `png`. The bytes decide; if
/// they have no known signature, `media_type` does.
///
/// `media_type` comes from the session, and may be any text. If it is not a known type of images,
/// the suffix is `bin`, so that no session can have a program written.
pub fn image_suffix(bytes: &[u8], media_type: &str) -> &'static str {
    for (offset, signature, suffix) in SIGNATURES {
        let from_offset = bytes.get(offset..).unwrap_or_default();
        if from_offset.starts_with(signature) {
            return suffix;
        }
    }
    match media_type {
        "image/png" => "png",
        "image/jpeg" | "image/jpg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/bmp" => "bmp",
        "image/tiff" => "tiff",
        "image/avif" => "avif",
        "image/heic" | "image/heif" => "heic",
        "image/svg+xml" => "svg",
        "image/x-icon" | "image/vnd.microsoft.icon" => "ico",
        _ => "bin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_decide_the_suffix_and_hostile_types_are_none() {
        for (bytes, media_type, suffix) in [
            (&b"\x89PNG\r\n\x1a\n1"[..], "image/jpeg", "png"),
            (b"RIFF1234WEBPVP8 ", "", "webp"),
            (b"<svg>", "image/svg+xml", "svg"),
            (b"?", "image/jpeg", "jpg"),
            (b"?", "image/exe", "bin"),
            (b"?", "image/../../etc", "bin"),
            (b"?", "text/plain", "bin"),
        ] {
            assert_eq!(image_suffix(bytes, media_type), suffix);
        }
    }

    #[test]
    fn images_are_decoded_or_referred_to() {
        let hash = "0".repeat(64);
        let line = format!(
            r#"{{"message":{{"content":[{{"type":"text","text":"x"}},{{"type":"image","mimeType":"image/PNG","data":"aG\nk"}},{{"type":"image","data":"blob:sha256:{hash}"}},{{"type":"image","data":"!"}},{{"type":"image"}},{{"type":"image","data":" "}}]}}}}"#
        );
        let line = line.replace('\n', "\\n");
        let images = read_images(Raw::parse(line.as_bytes()).unwrap());
        assert_eq!(images[0].media_type, "image/png");
        let data: Vec<_> = images.into_iter().map(|image| image.data).collect();
        assert_eq!(
            data,
            [
                ImageData::Stored(b"hi".to_vec()),
                ImageData::Blob(hash),
                ImageData::Invalid,
                ImageData::Missing,
                ImageData::Missing
            ]
        );
    }
}
