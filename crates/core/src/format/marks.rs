//! Recognizes marks of Markdown in a text that was joined to one line.

/// Whether a word is a mark of a block: a fence with its language, the `#` of a heading, or the
/// rule below the head of a table. A rule must have more than three characters, because a shorter
/// word may be a dash.
pub fn is_block_mark(word: &str) -> bool {
    let is_heading = word.chars().all(|c| c == '#');
    let is_table_rule = word.len() > 3 && word.chars().all(|c| "|-:".contains(c));
    word.starts_with("```") || is_heading || is_table_rule
}

/// Removes the marks `**` of strong emphasis at the start and at the end of a word: `**Fix**` ->
/// `Fix`, `done**.` -> `done.`. Either may be there without the other, because the emphasis may
/// include several words. Marks beside `/`, `*` or `\` stay, because they are part of a glob
/// pattern such as `src/**/*.rs`.
pub fn strip_emphasis(word: &str) -> String {
    let word = match word.strip_prefix("**") {
        Some(emphasized) if emphasized.starts_with(can_border_emphasis) => emphasized,
        _ => word,
    };
    if let Some((emphasized, suffix)) = word.rsplit_once("**") {
        // The punctuation of a sentence may follow the closing mark.
        let is_punctuation = suffix.chars().all(|c| c.is_ascii_punctuation());
        if is_punctuation && emphasized.ends_with(can_border_emphasis) {
            return format!("{emphasized}{suffix}");
        }
    }
    word.to_owned()
}

/// Whether a character beside `**` shows that this `**` is not a part of a glob pattern.
fn can_border_emphasis(c: char) -> bool {
    !matches!(c, '/' | '*' | '\\')
}
