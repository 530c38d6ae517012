//! Parts that both directions share.

use pisess_json::Raw;
use pisess_json::edit::Edit;
use pisess_json::write::{Object, array};

/// Adds the id, the parent and the time of an entry, as they are.
pub fn place(object: Object, entry: Raw) -> Object {
    ["id", "parentId", "timestamp"]
        .into_iter()
        .fold(object, |object, key| object.with(entry.get(key), |object, value| object.raw(key, value)))
}

/// Returns the start of an entry of this type, with the id, the parent and the time of another.
pub fn typed(kind: &str, entry: Raw) -> Object {
    place(Object::new().str("type", kind), entry)
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

/// Returns an entry with another message; `None` if it is not an object.
pub fn with_message(entry: Raw, message: &[u8]) -> Option<Vec<u8>> {
    with(entry, "message", message)
}

/// Returns an object with the member `key` set to `value`; `None` if it is not an object.
pub fn with(object: Raw, key: &str, value: &[u8]) -> Option<Vec<u8>> {
    let mut edit = Edit::new(object.bytes()).ok()?;
    edit.set(key, value);
    Some(edit.finish())
}

/// What becomes of a block of content.
pub enum Block {
    /// It stays.
    Same,
    /// Another block.
    Becomes(Vec<u8>),
    /// No block.
    Dropped,
}

/// Returns content with its blocks converted; `None` if none changes.
pub fn blocks(content: Raw, convert: impl Fn(Raw) -> Block) -> Option<Vec<u8>> {
    let mut changed = false;
    let mut all = Vec::new();
    for block in content.items() {
        match convert(block) {
            Block::Same => all.push(block.bytes().to_vec()),
            Block::Becomes(block) => {
                changed = true;
                all.push(block);
            }
            Block::Dropped => changed = true,
        }
    }
    changed.then(|| array(all))
}
