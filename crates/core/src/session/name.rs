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
/// `session_info`, which is empty if that has none. An empty name means none, even if another
/// source has a name.
pub fn display_name(
    title_slot: Option<&[u8]>,
    header: &[u8],
    info_name: Option<&Text>,
    agent: Dialect,
) -> Option<Text<'static>> {
    if let Some(slot) = title_slot {
        return parse_title(slot);
    }
    // oh-my-pi does not read this entry.
    if let Some(info_name) = info_name
        && agent == Dialect::Pi
    {
        let name = info_name.trim();
        return if name.is_empty() {
            None
        } else {
            Some(name.into_owned())
        };
    }
    parse_title(header)
}

/// Returns the `title` of a title line or a header; `None` if it is only white space.
fn parse_title(line: &[u8]) -> Option<Text<'static>> {
    let title = Raw::from_checked(line.trim_ascii()).get_text("title")?;
    if title.is_blank() {
        None
    } else {
        Some(title.into_owned())
    }
}

impl Session {
    /// Returns the name that the agent shows.
    pub fn name(&self) -> Option<Text<'static>> {
        display_name(
            self.title_slot.as_deref(),
            &self.header.bytes,
            self.collected.given_name.as_ref(),
            self.dialect,
        )
    }
}
