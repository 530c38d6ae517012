//! The name of a session, as its agent shows it.
//!
//! oh-my-pi shows the title of the title line, where an empty title means none; in a file without
//! this line, the title in the header. It ignores pi's `session_info`. pi shows the name in the
//! last `session_info`, where an empty name means none. A file without either agent's entries can
//! be named only by its header.

use crate::session::Session;
use crate::session::dialect::Dialect;
use pisess_json::Raw;
use pisess_json::text::Text;

/// Returns the name that an agent shows, given the title line, the header, and the name in the last
/// `session_info`, which is empty if that has none.
pub fn name(
    title_slot: Option<&[u8]>,
    header: &[u8],
    given: Option<&Text>,
    agent: Dialect,
) -> Option<Text<'static>> {
    let title = |json: &[u8]| {
        let title = Raw::checked(json.trim_ascii())
            .get_text("title")
            .map(Text::into_owned);
        title.filter(|title| !title.is_blank())
    };
    match (title_slot, given, agent) {
        (Some(slot), ..) => title(slot),
        (None, Some(name), Dialect::Pi) => {
            Some(name.trim().into_owned()).filter(|name| !name.is_empty())
        }
        _ => title(header),
    }
}

impl Session {
    /// Returns the name that the agent shows.
    pub fn name(&self) -> Option<Text<'static>> {
        let given = self.collected.given_name.as_ref();
        name(
            self.title_slot.as_deref(),
            &self.header.bytes,
            given,
            self.dialect,
        )
    }
}
