//! The name of a session, as its agent shows it.
//!
//! oh-my-pi shows the title in the title line, where an empty title means that there is no name. In
//! a file without a title line, it shows the title in the header. It ignores pi's `session_info`.
//! pi shows the name in the last `session_info`, where an empty name means that there is none. A
//! file without a title line and without `session_info` can be named only by its header.

use crate::session::Session;
use crate::session::dialect::Dialect;
use pisess_json::Raw;
use pisess_json::text::Text;

/// Returns the name that an agent shows for a session, from the first of these that the file has:
///
/// 1. oh-my-pi's title line
/// 2. in pi, the last `session_info` entry; `info_name` is the name in it, empty if it has none
/// 3. the header
///
/// `None` if the first of these has no name, even if a later one has: in an agent, an empty name
/// clears the earlier one.
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

/// Returns the `title` of a title line or a header; `None` if there is none, or only white space.
fn parse_title(line: &[u8]) -> Option<Text<'static>> {
    let title = Raw::from_checked(line.trim_ascii()).get_text("title")?;
    if title.is_blank() {
        None
    } else {
        Some(title.into_owned())
    }
}

impl Session {
    /// Returns the name that the agent shows; `None` if the session has none.
    pub fn name(&self) -> Option<Text<'static>> {
        display_name(
            self.title_slot.as_deref(),
            &self.header.bytes,
            self.collected.given_name.as_ref(),
            self.dialect,
        )
    }
}
