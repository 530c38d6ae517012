//! How many entries of each type a session has.

use crate::session::Session;
use foldhash::HashMap;
use pisess_json::text::Text;
use std::cmp::Reverse;

/// Returns the types of the entries, each with the number of its entries, the most frequent first and equally frequent ones
/// by name. The type of entries that have none is empty.
pub fn count(session: &Session) -> Vec<(Text<'_>, u32)> {
    let mut counts: HashMap<Text, u32> = HashMap::default();
    for ix in session.all() {
        *counts.entry(session.kind_name(ix)).or_default() += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_unstable_by(|(a, many), (b, few)| {
        (Reverse(many), a.as_bytes()).cmp(&(Reverse(few), b.as_bytes()))
    });
    counts
}
