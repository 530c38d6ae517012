//! Lays out what a reader found as entries of a session, and hands on their lines one by one.
//!
//! ```text
//! id      the start of the UUIDv5 of the line's offset in the source, in the namespace of the new session
//! parent  the end of what was attached to the place that the reader names
//! time    that of the source, but not before the parent's
//! ```

use foldhash::HashSet;
use pisess_core::agents::{Emit, convert};
use pisess_core::session::dialect::Dialect;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_json::write::Object;
use std::io;
use uuid::Uuid;

/// An entry that was laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u32);

/// What a reader makes of a line, or of a part of it.
#[derive(Clone, Debug)]
pub struct Draft {
    /// The offset of the line in the source.
    pub offset: u64,
    /// Its time in milliseconds since 1970.
    pub time_ms: i64,
    pub kind: &'static str,
    /// Its members, without the common ones.
    pub members: Object,
}

/// An entry as it is remembered.
struct Node {
    id: u32,
    parent: Option<Place>,
    /// What is attached to it is attached to this one.
    end: Place,
    time_ms: i64,
}

/// The session in progress.
#[derive(Default)]
pub struct Writer<'o> {
    namespace: Uuid,
    /// Entries of lines before this offset are in the session already.
    since: u64,
    /// The time of the first line that has one: those before it have none.
    created_ms: i64,
    nodes: Vec<Node>,
    taken: HashSet<u32>,
    /// The offset of the line last laid out, and the number of its entries.
    last: (u64, u32),
    /// The agent to write for, and what receives the lines, without their newlines; `None` if
    /// entries are laid out only.
    out: Option<(Dialect, &'o mut Emit<'o>)>,
    /// The number of messages, including those that are in the session already.
    pub messages: usize,
    /// The name of the session so far.
    pub name: Option<Text<'static>>,
}

impl<'o> Writer<'o> {
    /// Returns a writer for an agent. `session_id` is that of the new session, which begins at
    /// `created_ms`. (The default writer only lays out.)
    pub fn new(
        to: Dialect,
        session_id: &str,
        (since, created_ms): (u64, i64),
        take: &'o mut Emit<'o>,
    ) -> Writer<'o> {
        Writer {
            namespace: Uuid::new_v5(&Uuid::NAMESPACE_OID, session_id.as_bytes()),
            since,
            created_ms,
            out: Some((to, take)),
            ..Writer::default()
        }
    }

    /// Adds an entry below this place itself, or as a root entry.
    pub fn add(&mut self, parent: Option<Place>, draft: Draft) -> io::Result<Place> {
        let Draft {
            offset,
            time_ms,
            kind,
            members,
        } = draft;
        let (id, number) = self.free_id(offset);
        self.last = (offset, number);
        self.taken.insert(id);
        let time_ms = parent
            .map_or(self.created_ms, |parent| self.node(parent).time_ms)
            .max(time_ms);
        let place = Place(u32::try_from(self.nodes.len()).map_err(io::Error::other)?);
        self.nodes.push(Node {
            id,
            parent,
            end: place,
            time_ms,
        });
        self.messages += usize::from(kind == "message");
        if offset >= self.since && self.out.is_some() {
            let line = self.line(place, kind, &members.finish());
            match &mut self.out {
                Some((Dialect::OhMyPi, take)) => {
                    take(&convert::convert_entry(&line, Dialect::OhMyPi, None))?
                }
                Some((Dialect::Pi, take)) => take(&line)?,
                None => {}
            }
        }
        Ok(place)
    }

    /// Adds an entry below the end of this place: what is attached to the place later begins
    /// another branch.
    pub fn below(&mut self, parent: Option<Place>, draft: Draft) -> io::Result<Place> {
        let end = parent.map(|parent| self.end(parent));
        self.add(end, draft)
    }

    /// Adds an entry below the end of this place, and makes it that end: what is attached to the
    /// place later is attached to the entry.
    pub fn chain(&mut self, parent: Option<Place>, draft: Draft) -> io::Result<Place> {
        let end = parent.map(|parent| self.end(parent));
        let place = self.add(end, draft)?;
        if let Some(end) = end {
            self.nodes[end.0 as usize].end = place;
        }
        Ok(place)
    }

    /// Returns the entry to which what follows this place is attached.
    pub fn end(&mut self, place: Place) -> Place {
        let mut end = place;
        while self.node(end).end != end {
            end = self.node(end).end;
        }
        let mut at = place;
        while at != end {
            at = std::mem::replace(&mut self.nodes[at.0 as usize].end, end);
        }
        end
    }

    /// Whether `above` is an ancestor of `place`, or the same.
    pub fn is_above(&self, above: Place, place: Place) -> bool {
        std::iter::successors(Some(place), |&at| self.node(at).parent).any(|at| at == above)
    }

    pub fn id_of(&self, place: Place) -> String {
        format!("{:08x}", self.node(place).id)
    }

    /// Returns the id that the next entry of the line at `offset` gets.
    pub fn next_id(&self, offset: u64) -> String {
        format!("{:08x}", self.free_id(offset).0)
    }

    fn node(&self, place: Place) -> &Node {
        &self.nodes[place.0 as usize]
    }

    /// Returns a free id, and the number that it was made from.
    fn free_id(&self, offset: u64) -> (u32, u32) {
        let mut number = if self.last.0 == offset {
            self.last.1
        } else {
            0
        };
        loop {
            number += 1;
            let name = format!("{offset}.{number}");
            let id = Uuid::new_v5(&self.namespace, name.as_bytes()).as_fields().0;
            if !self.taken.contains(&id) {
                return (id, number);
            }
        }
    }

    /// Returns the line of an entry, with the common members where the agents put them.
    fn line(&self, place: Place, kind: &str, members: &[u8]) -> Vec<u8> {
        let at_end = matches!(kind, "custom" | "custom_message");
        let own = |line: Object| {
            Raw::checked(members)
                .members()
                .fold(line, |line, (key, value)| {
                    line.raw(&key.text().to_string_lossy(), value)
                })
        };
        let common = |line: Object| {
            let parent = self
                .node(place)
                .parent
                .map(|parent| Text::from(self.id_of(parent)));
            line.str("id", &self.id_of(place))
                .text_or_null("parentId", parent.as_ref())
                .str("timestamp", &iso_string(self.node(place).time_ms))
        };
        let line = Object::new().str("type", kind);
        if at_end {
            common(own(line))
        } else {
            own(common(line))
        }
        .finish()
    }
}
