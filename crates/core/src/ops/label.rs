//! Setting and clearing labels.

use super::chain::Chain;
use super::{IdSource, Refusal};
use crate::ops::plan::Change;
use crate::session::Session;
use crate::session::entry::{EntryIx, Sort};
use crate::session::labels::Labels;
use crate::session::reference::{Position, is_form};
use pisess_json::text::Text;

/// Labels `target`, or clears its label if `name` is `None`; the change is empty if nothing
/// changes. The label is an entry under the leaf and becomes the leaf, as in both agents.
///
/// # Errors
/// If the entry cannot have the label.
pub fn label(
    session: &Session,
    target: EntryIx,
    name: Option<&Text>,
    fresh: &mut IdSource,
) -> Result<Change, Refusal> {
    name.map_or(Ok(()), |name| check_name(session, Some(target), name))?;
    Ok(set(session, &[(target, name)], fresh))
}

/// Labels `target`, and clears this label on other entries.
///
/// # Errors
/// If the name reads as a reference.
pub fn move_label(
    session: &Session,
    target: EntryIx,
    name: &Text,
    fresh: &mut IdSource,
) -> Result<Change, Refusal> {
    check_form(name)?;
    let holders = Labels::new(session)
        .named(name)
        .into_iter()
        .filter(|&holder| holder != target);
    let changes: Vec<_> = holders
        .map(|holder| (holder, None))
        .chain([(target, Some(name))])
        .collect();
    Ok(set(session, &changes, fresh))
}

/// Returns label entries for the changes that have an effect, chained under the leaf.
fn set(session: &Session, changes: &[(EntryIx, Option<&Text>)], fresh: &mut IdSource) -> Change {
    let labels = Labels::new(session);
    let mut chain = Chain::under(session, session.leaf, fresh);
    for &(target, name) in changes
        .iter()
        .filter(|(target, name)| labels.name(*target).as_ref() != *name)
    {
        chain.label(&session.id(target), name, None);
    }
    chain.change
}

/// Returns a name as the user gives it, trimmed as in the dialogs of both agents.
///
/// # Errors
/// If no entry can have it.
pub fn name(given: &str) -> Result<Text<'_>, Refusal> {
    let trimmed = given.trim();
    match trimmed {
        "" => Err(Refusal::with_hint(
            "the label is empty",
            "clear a label with --clear",
        )),
        _ if trimmed.chars().any(char::is_control) => Err(Refusal::with_hint(
            "the label contains a control character",
            "give a label of one line, without control characters",
        )),
        _ => check_form(&Text::from(trimmed)).map(|()| Text::from(trimmed)),
    }
}

/// Checks that `target` can have the label; `None` is an entry that is not written yet.
///
/// # Errors
/// If the name reads as a reference, or another entry has it.
pub fn check_name(session: &Session, target: Option<EntryIx>, name: &Text) -> Result<(), Refusal> {
    check_form(name)?;
    let holders = Labels::new(session).named(name);
    match holders.into_iter().find(|&holder| Some(holder) != target) {
        Some(holder) => Err(Refusal::with_hint(
            format!(
                "the label {:?} is already on {}",
                name.to_string(),
                session.id(holder)
            ),
            "choose another label, or move this one with `pisess label --move`",
        )),
        None => Ok(()),
    }
}

fn check_form(name: &Text) -> Result<(), Refusal> {
    if !is_form(&name.to_string_lossy()) {
        return Ok(());
    }
    Err(Refusal::with_hint(
        format!(
            "{:?} reads as a reference and cannot be a label",
            name.to_string()
        ),
        "choose a label other than @, root, :…, id:… and label:…, without a suffix such as ^ or ~3",
    ))
}

/// Returns the last entry of the conversation: the nearest at or above the leaf that is not a
/// label, a mark, a setting or other bookkeeping, so that labelling twice labels the same entry. If
/// there is none, returns the leaf.
pub fn last_of_conversation(session: &Session, leaf: Position) -> Position {
    let is_part = |ix: &EntryIx| session.entry(*ix).kind.schema().sort == Sort::Conversation;
    session.upwards(leaf).find(is_part).or(leaf)
}
