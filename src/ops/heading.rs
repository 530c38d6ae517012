//! A one-line description of a session: its name, its project, its size.

use crate::session::Session;
use crate::session::usage::UsageSums;
use pisess_json::text::Text;

/// The parts of the heading.
#[derive(Clone, Debug)]
pub struct Heading {
    /// The session's name, if it has one.
    pub name: Option<Text<'static>>,
    /// The session's working directory.
    pub cwd: Option<Text<'static>>,
    /// The number of its entries.
    pub entries: usize,
    /// The total usage.
    pub usage: UsageSums,
}

/// Returns the heading of a session; `usage` is its total usage, with that of what was pruned from it.
pub fn heading(session: &Session, usage: UsageSums) -> Heading {
    Heading { name: session.name(), cwd: session.header.cwd.clone(), entries: session.entries.len(), usage }
}
