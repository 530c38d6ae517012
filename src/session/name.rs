//! The name of a session, as its agent shows it.
//!
//! oh-my-pi shows the title of the title line, where an empty title means none; in a file without this line, the
//! title in the header. It ignores pi's `session_info`. pi shows the name in the last `session_info`, where an empty
//! name means none. A file without either agent's entries can be named only by its header.

use crate::session::Session;
use crate::session::dialect::Dialect;
use pisess_json::Raw;
use pisess_json::text::Text;

/// Where names are stored.
#[derive(Clone, Copy, Debug)]
pub struct NameSources<'a> {
    /// The title line, if the file has one.
    pub title_slot: Option<&'a [u8]>,
    /// The header.
    pub header: &'a [u8],
    /// The name in the last `session_info`, if there is one; empty if that has none.
    pub given: Option<&'a Text<'a>>,
}

impl NameSources<'_> {
    /// Returns the name that the agent shows.
    pub fn name(self, agent: Dialect) -> Option<Text<'static>> {
        let title = |json: &[u8]| {
            let title = Raw::checked(json.trim_ascii()).get_text("title").map(Text::into_owned);
            title.filter(|title| !title.is_blank())
        };
        match (self.title_slot, self.given, agent) {
            (Some(slot), ..) => title(slot),
            (None, Some(name), Dialect::Pi) => Some(name.trim().into_owned()).filter(|name| !name.is_empty()),
            _ => title(self.header),
        }
    }
}

impl Session {
    /// Returns the name that the agent shows.
    pub fn name(&self) -> Option<Text<'static>> {
        let sources = NameSources {
            title_slot: self.title_slot.as_deref(),
            header: &self.header.bytes,
            given: self.collected.given_name.as_ref(),
        };
        sources.name(self.dialect)
    }
}
