//! Parts that both directions share.

use pisess_json::Raw;
use pisess_json::edit::Edit;
use pisess_json::write::{Object, array};
use std::borrow::Cow;

/// The members that place an entry.
pub const PLACE: [&str; 3] = ["id", "parentId", "timestamp"];

/// Returns the start of an entry of this type, with the id, the parent and the time of another.
pub fn typed(kind: &str, entry: Raw) -> Object {
    Object::new().str("type", kind).copy(entry, &PLACE)
}

/// Returns an entry with a key renamed; `None` if it lacks the key, or has one with the new name.
pub fn renamed(entry: Raw, from: &str, to: &str) -> Option<Vec<u8>> {
    let value = entry.get(from)?;
    if entry.get(to).is_some() {
        return None;
    }
    let mut edit = Edit::new(entry.bytes()).ok()?;
    let member = Object::new().raw(to, value).finish();
    edit.put_in_place_of(from, &member[1..member.len() - 1]);
    Some(edit.finish())
}

/// Returns content with its blocks converted or dropped; `None` if all stay the same, borrowed.
pub fn blocks<'a>(content: Raw<'a>, convert: impl Fn(Raw<'a>) -> Option<Cow<'a, [u8]>>) -> Option<Vec<u8>> {
    let all: Vec<_> = content.items().map(convert).collect();
    let changes = all.iter().any(|block| !matches!(block, Some(Cow::Borrowed(_))));
    changes.then(|| array(all.into_iter().flatten()))
}
