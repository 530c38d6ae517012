//! A one-line description of a session: its name, its project, its size.

use crate::session::entry::Kind;
use crate::session::read::entry_reader::Bodies;
use crate::session::{Session, TotalUsage};
use pisess_json::Raw;
use pisess_json::text::Text;
use std::io;

/// The parts of the heading.
#[derive(Clone, Debug)]
pub struct Heading {
    /// The session's name, if it has one.
    pub name: Option<Text<'static>>,
    /// The session's working directory.
    pub cwd: Option<Text<'static>>,
    /// The number of its entries.
    pub entries: usize,
    /// The total usage, if requested when the session was loaded.
    pub usage: TotalUsage,
}

/// Returns the heading of a session.
///
/// # Errors
/// If a line cannot be read.
pub fn heading(session: &Session, bodies: &dyn Bodies) -> io::Result<Heading> {
    Ok(Heading {
        name: name(session, bodies)?,
        cwd: session.header.cwd.clone(),
        entries: session.entries.len(),
        usage: session.usage,
    })
}

/// Returns the name that the agent shows: oh-my-pi stores it in its title line or the header, pi in the last
/// `session_info`, where an empty name clears it.
pub(super) fn name(session: &Session, bodies: &dyn Bodies) -> io::Result<Option<Text<'static>>> {
    let given = |line: &[u8], key: &str| {
        let name = Raw::checked(line.trim_ascii()).get_text(key).map(Text::into_owned);
        name.filter(|name| !name.is_blank())
    };
    let titled = session.title_slot.as_deref().and_then(|line| given(line, "title"));
    if let Some(title) = titled.or_else(|| given(&session.header.bytes, "title")) {
        return Ok(Some(title));
    }
    match session.all().rev().find(|&ix| session.entry(ix).kind == Kind::SessionInfo) {
        Some(ix) => Ok(given(&bodies.line(ix)?, "name")),
        None => Ok(None),
    }
}
