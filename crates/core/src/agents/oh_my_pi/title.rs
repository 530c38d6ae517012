//! oh-my-pi's title line, the first line of its files. It always has 256 bytes, because the agent
//! overwrites it in place.

use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;

/// The length of the title line in bytes, including its newline. To change the title, the agent
/// overwrites this many bytes. If the line is shorter, it also overwrites part of the header.
pub const TITLE_LINE_BYTES: usize = 256;

/// Returns a title line, which oh-my-pi writes before the header, without its newline. It is padded
/// to [`TITLE_LINE_BYTES`] bytes with the newline: in place of a shorter line, the agent's next
/// title would overwrite the header. A title that does not fit is cut to its longest prefix that
/// does.
pub fn title_line(title: Option<Raw>, source: Option<Raw>, updated_at: &Text) -> Vec<u8> {
    /// The length without the newline.
    const LEN: usize = TITLE_LINE_BYTES - 1;
    const NO_PADDING: usize = 0;

    let full_title = title.and_then(Raw::text).unwrap_or_default();
    for units in (0..=full_title.utf16_len()).rev() {
        let prefix = full_title.head_whole(units);
        let unpadded_len = encode_title(&prefix, source, updated_at, NO_PADDING).len();
        if unpadded_len <= LEN {
            return encode_title(&prefix, source, updated_at, LEN - unpadded_len);
        }
    }
    // The other members alone are too long, so the line becomes longer than it should be.
    encode_title(&Text::default(), source, updated_at, NO_PADDING)
}

/// Returns a title line of version 1 with `padding` spaces in its member `pad`, which bring the
/// line to its fixed length.
fn encode_title(title: &Text, source: Option<Raw>, updated_at: &Text, padding: usize) -> Vec<u8> {
    Object::new()
        .str("type", "title")
        .number("v", 1.0)
        .text("title", title)
        .with(source, |line, source| line.raw("source", source))
        .text("updatedAt", updated_at)
        .str("pad", &" ".repeat(padding))
        .finish()
}

/// Returns a title line that was changed, padded to its width again.
pub fn repad_title_line(line: &[u8]) -> Vec<u8> {
    let slot = Raw::from_checked(line.trim_ascii());
    let updated_at = slot.get_text("updatedAt").unwrap_or_default();
    title_line(slot.get("title"), slot.get("source"), &updated_at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_title_line_keeps_its_width() {
        for title in ["", "short", &"é".repeat(300), &"\\u0001".repeat(80)] {
            let json = format!("\"{title}\"");
            let line = title_line(
                Some(Raw::from_checked(json.as_bytes())),
                None,
                &Text::from("2026-01-01T00:00:00.000Z"),
            );
            assert_eq!(line.len(), 255, "{title}");
            assert!(Raw::parse(&line).is_ok());
            assert_eq!(repad_title_line(&line), line);
        }
    }
}
