//! oh-my-pi's title line, the first line of its files: always 256 bytes, since the agent overwrites
//! it in place.

use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;

/// The length of the title line in bytes, including its newline. The agent overwrites this many
/// bytes to change the title, and with them part of the header if the line is shorter.
pub const TITLE_LINE: usize = 256;

/// Returns a title line without its newline, padded to its width; a title that does not fit is
/// truncated.
pub fn title_line(title: Option<Raw>, source: Option<Raw>, updated_at: &Text) -> Vec<u8> {
    let whole = title.and_then(Raw::text).unwrap_or_default();
    let line = |title: &Text, pad: usize| {
        Object::new()
            .str("type", "title")
            .number("v", 1.0)
            .text("title", title)
            .with(source, |line, source| line.raw("source", source))
            .text("updatedAt", updated_at)
            .str("pad", &" ".repeat(pad))
            .finish()
    };
    let fits = |title: &Text| line(title, 0).len() < TITLE_LINE;
    let title = (0..=whole.utf16_len())
        .rev()
        .map(|units| whole.head_whole(units))
        .find(fits)
        .unwrap_or_default();
    line(
        &title,
        (TITLE_LINE - 1).saturating_sub(line(&title, 0).len()),
    )
}

/// Returns a title line padded to its width again, after a change.
pub fn repadded(line: &[u8]) -> Vec<u8> {
    let slot = Raw::checked(line.trim_ascii());
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
                Some(Raw::checked(json.as_bytes())),
                None,
                &Text::from("2026-01-01T00:00:00.000Z"),
            );
            assert_eq!(line.len(), 255, "{title}");
            assert!(Raw::parse(&line).is_ok());
            assert_eq!(repadded(&line), line);
        }
    }
}
