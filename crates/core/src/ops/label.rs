//! Sets, clears and moves labels.

use super::chain::Chain;
use super::{IdSource, Refusal};
use crate::ops::plan::Change;
use crate::session::Session;
use crate::session::entry::EntryIx;
use crate::session::labels::Labels;
use crate::session::reference::is_reference_form;
use pisess_json::text::Text;

/// Returns the change that sets the label of `target`, or clears it if `name` is `None`. The change
/// is empty if the label is the same. As in both agents, the new entry is a child of the leaf, and
/// becomes the leaf.
///
/// # Errors
/// If the name has the form of a reference, or if another entry has this label.
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

/// Returns the change that sets the label of `target`, after clearing this label on all other
/// entries that have it.
///
/// # Errors
/// If the name has the form of a reference.
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

/// A label to set on an entry; `None` clears the label.
struct LabelSetting<'a> {
    target: EntryIx,
    name: Option<&'a Text<'a>>,
}

/// Returns a chain of label entries below the leaf, one for each setting. A setting is left out if
/// its entry has this label already, or none to clear. There is at most one setting for each entry.
fn append_labels(session: &Session, settings: &[LabelSetting], id_source: &mut IdSource) -> Change {
    let labels = Labels::new(session);
    let mut chain = Chain::with_parent(session, session.leaf.into(), id_source);
    for setting in settings {
        let current_name = labels.get(setting.target);
        if current_name.as_ref() != setting.name {
            let current_time = None;
            chain.add_label(&session.id(setting.target), setting.name, current_time);
        }
    }
    chain.change
}

/// Validates a label that the user gave, and returns it without white space at its ends: the
/// dialogs of both agents trim it in the same way.
///
/// # Errors
/// If the label is empty, contains a control character, or has the form of a reference.
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

/// Checks that `target` can have the label `name`. `None` is an entry that is not written yet. An
/// entry may be given the label that it has already.
///
/// # Errors
/// If the name has the form of a reference, or if another entry has this label: a reference by
/// label must name one entry.
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

/// Refuses a name that has the form of a reference, such as `@` or `root~2`, because it could not
/// be used to refer to the labelled entry.
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
