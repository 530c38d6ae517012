//! Touching an entry.

use super::IdSource;
use super::chain::Chain;
use crate::ops::plan::Change;
use crate::session::Session;
use crate::session::entry::EntryIx;
use pisess_json::write::Object;

/// The `customType` of the entry that touches another.
const TOUCH: &str = "pisess.touch";

/// Touches `target`: appends a `custom` entry with its id under the leaf.
pub fn touch(session: &Session, target: EntryIx, fresh: &mut IdSource) -> Change {
    let mut chain = Chain::under(session, session.leaf, fresh);
    let data = Object::new().text("targetId", &session.id(target)).finish();
    chain.add(Object::new().str("type", "custom").str("customType", TOUCH).json("data", &data));
    chain.change
}
