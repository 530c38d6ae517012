//! Validation of label names.

use super::input::OpenSession;
use crate::core::entry::EntryIx;
use crate::core::ops::label::{NameError, check_name};
use crate::core::reference::is_form;
use crate::core::text::Text;
use crate::ui::Failure;

/// Returns the label given by an argument, trimmed as in the dialogs of both agents.
pub fn label_name(name: &str) -> Result<Text<'_>, Failure> {
    let trimmed = name.trim();
    if trimmed.is_empty() {
        return Err(Failure::cannot("the label is empty").hint("clear a label with --clear"));
    }
    if trimmed.chars().any(char::is_control) {
        return Err(Failure::cannot("the label contains a control character")
            .hint("give a label of one line, without control characters"));
    }
    if is_form(trimmed) {
        let error = NameError::Form { name: trimmed.to_owned() };
        return Err(Failure::cannot(&error).hint(error.hint()));
    }
    Ok(Text::from(trimmed))
}

/// Fails if an entry other than `target` has the label; `None` is an entry that is not written yet.
pub fn label_is_free(now: &OpenSession, target: Option<EntryIx>, name: Option<&Text>) -> Result<(), Failure> {
    name.map_or(Ok(()), |name| check_name(&now.session, target, name)).map_err(|error| refused(now, &error))
}

/// Returns the failure for a label that an entry cannot have.
pub fn refused(now: &OpenSession, error: &NameError) -> Failure {
    now.input.cannot(error).hint(error.hint())
}
