//! Setting and clearing labels.

use super::chain::Chain;
use super::{IdSource, Refusal};
use crate::ops::plan::Change;
use crate::session::Session;
use crate::session::entry::EntryIx;
use crate::session::labels::Labels;
use crate::session::reference::is_reference_form;
use pisess_json::text::Text;

/// Labels `target`, or clears its label if `name` is `None`. The change is empty if the label is as
/// wanted. The new entry is under the leaf and becomes the leaf, as in both agents.
///
/// # Errors
/// If the name reads as a reference, or another entry has it.
pub fn label(
    session: &Session,
    target: EntryIx,
    name: Option<&Text>,
    id_source: &mut IdSource,
) -> Result<Change, Refusal> {
    if let Some(name) = name {
        check_label(session, Some(target), name)?;
    }
    Ok(append_labels(
        session,
        &[LabelSetting { target, name }],
        id_source,
    ))
}

/// Labels `target`, after clearing this label on the entries that have it.
///
/// # Errors
/// If the name reads as a reference.
pub fn move_label(
    session: &Session,
    target: EntryIx,
    name: &Text,
    id_source: &mut IdSource,
) -> Result<Change, Refusal> {
    refuse_reference(name)?;
    let mut settings = Vec::new();
    // Cleared first, so that no two entries have the label at any time.
    for holder in Labels::new(session).entries_with_label(name) {
        if holder != target {
            settings.push(LabelSetting {
                target: holder,
                name: None,
            });
        }
    }
    settings.push(LabelSetting {
        target,
        name: Some(name),
    });
    Ok(append_labels(session, &settings, id_source))
}

/// The label that an entry is to have; `None` clears it.
struct LabelSetting<'a> {
    target: EntryIx,
    name: Option<&'a Text<'a>>,
}

/// Returns a chain of label entries below the leaf, one for each setting that changes something: a
/// label that its target has already is not set again.
fn append_labels(session: &Session, settings: &[LabelSetting], id_source: &mut IdSource) -> Change {
    let labels = Labels::new(session);
    let mut chain = Chain::with_parent(session, session.leaf.into(), id_source);
    for setting in settings {
        if labels.get(setting.target).as_ref() != setting.name {
            chain.add_label(&session.id(setting.target), setting.name, None);
        }
    }
    chain.change
}

/// Returns a label as the user gives it, trimmed as in the dialogs of both agents.
///
/// # Errors
/// If no entry can have it: it is empty, has a control character, or reads as a reference.
pub fn parse_label(given: &str) -> Result<Text<'_>, Refusal> {
    let trimmed = given.trim();
    if trimmed.is_empty() {
        return Err(Refusal::with_hint(
            "the label is empty",
            "clear a label with --clear",
        ));
    }
    if trimmed.chars().any(char::is_control) {
        return Err(Refusal::with_hint(
            "the label contains a control character",
            "give a label of one line, without control characters",
        ));
    }
    let name = Text::from(trimmed);
    refuse_reference(&name)?;
    Ok(name)
}

/// Checks that `target` can have the label. `None` is an entry that is not written yet.
///
/// # Errors
/// If the name reads as a reference, or another entry has it: a label names one entry.
pub fn check_label(session: &Session, target: Option<EntryIx>, name: &Text) -> Result<(), Refusal> {
    refuse_reference(name)?;
    for holder in Labels::new(session).entries_with_label(name) {
        if Some(holder) != target {
            return Err(Refusal::with_hint(
                format!(
                    "the label {:?} is already on {}",
                    name.to_string(),
                    session.id(holder)
                ),
                "choose another label, or move this one with `pisess label --move`",
            ));
        }
    }
    Ok(())
}

/// Refuses a name that reads as a reference: as a label, it would refer to something else.
fn refuse_reference(name: &Text) -> Result<(), Refusal> {
    if !is_reference_form(&name.to_string_lossy()) {
        return Ok(());
    }
    Err(Refusal::with_hint(
        format!(
            "{:?} reads as a reference and cannot be a label",
            name.to_string()
        ),
        "choose another label: not -, @, root, :…, id:… or label:…, without a suffix such as ^, ~3 or +3, and without `..`",
    ))
}
