//! What the name of a model decides in the Gemini API.

use pisess_json::text::Text;

/// Returns the major version in the id of a Gemini model.
pub fn gemini_version(id: &Text) -> Option<u32> {
    let id = id.to_string_lossy().to_ascii_lowercase();
    let rest = id.strip_prefix("gemini-")?;
    let rest = rest.strip_prefix("live-").unwrap_or(rest);
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[..digits].parse().ok()
}

/// Whether calls and results for the model with this id are sent with ids.
pub fn takes_ids(id: &Text) -> bool {
    let name = id.to_string_lossy();
    name.starts_with("claude-")
        || name.starts_with("gpt-oss-")
        || gemini_version(id).is_some_and(|version| version >= 3)
}
