//! Validation of label names.

use crate::core::text::Text;
use crate::ui::Failure;

/// Returns the label given by an argument, trimmed as in the dialogs of both agents.
pub fn label_name(name: &str) -> Result<Text<'_>, Failure> {
    let trimmed = name.trim();
    if trimmed.is_empty() {
        return Err(Failure::cannot("the label is empty").hint("clear a label with --clear"));
    }
    if trimmed.chars().any(char::is_control) {
        return Err(Failure::cannot("the label holds a control character").hint("give it on one line"));
    }
    Ok(Text::from(trimmed))
}
