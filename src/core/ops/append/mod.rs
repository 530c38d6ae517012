//! Entries from outside, chained under a place of the tree.
//!
//! Each is looked at before any is written. What they leave out of id, parent and time is filled in,
//! where the agents have it; what they bring along stays byte for byte.

mod made;
mod shape;

pub use made::{Made, text_blocks};

use super::{Stamp, parent_id};
use crate::core::bodies::kind_of;
use crate::core::entry::Kind;
use crate::core::json::Raw;
use crate::core::json::edit::Edit;
use crate::core::json::string::encoded;
use crate::core::plan::Change;
use crate::core::reference::Position;
use crate::core::session::{Dialect, Session};
use crate::core::text::Text;
use crate::core::time::parse_js_date;
use std::collections::HashSet;

/// Why an entry is not one that may be appended, or a message not one that a model may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Its number among those given, from 0.
    pub number: usize,
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Chains the entries, as JSON, under `place`: each under the one before, unless it names a parent.
///
/// # Errors
/// The first of them that is no proper entry.
pub fn append<'a>(
    session: &Session,
    place: Position,
    entries: impl IntoIterator<Item = &'a [u8]>,
    stamp: &mut Stamp,
) -> Result<Change, Refused> {
    let mut batch =
        Batch { session, ids: HashSet::new(), parent: parent_id(session, place).map(Text::into_owned) };
    let lines = entries.into_iter().enumerate().map(|(number, entry)| {
        batch.line(entry, stamp).map_err(|(what, hint)| Refused { number, what, hint })
    });
    Ok(Change { lines: lines.collect::<Result<_, _>>()? })
}

/// Looks at an array of messages that a model is to see.
///
/// # Errors
/// The first of them that the agent would not know what to do with.
pub fn check_messages(dialect: Dialect, messages: Raw) -> Result<(), Refused> {
    messages.items().enumerate().try_for_each(|(number, message)| {
        shape::in_context(dialect, message).map_err(|(what, hint)| Refused { number, what, hint })
    })
}

/// What is known of the entries so far.
struct Batch<'s> {
    session: &'s Session,
    ids: HashSet<Text<'static>>,
    /// The parent of the next one that names none.
    parent: Option<Text<'static>>,
}

impl Batch<'_> {
    /// The line of the next entry.
    fn line(&mut self, line: &[u8], stamp: &mut Stamp) -> Result<Vec<u8>, shape::Flaw> {
        let flaw = |what: &str| (what.to_owned(), None);
        let entry = Raw::parse(line).map_err(|error| (error.to_string(), None))?;
        if !entry.is_object() {
            return Err(flaw("no JSON object"));
        }
        if std::str::from_utf8(line).is_err() {
            return Err(flaw("it holds bytes that are not UTF-8"));
        }
        let kind = entry.get_text("type").ok_or_else(|| flaw("`type` is missing or no text"))?;
        match &*kind.to_string_lossy() {
            "session" | "title" => {
                return Err((
                    format!("{kind} is the beginning of a session, and no entry"),
                    Some("give the lines behind it".to_owned()),
                ));
            }
            "leaf" => return Err(flaw("a leaf record would move the leaf for no agent")),
            known => shape::check(self.session.dialect, known, entry)?,
        }
        let id = self.id(entry, stamp)?;
        let parent = self.parent_of(entry)?;
        if let Some(timestamp) = entry.get("timestamp")
            && timestamp.raw_string().and_then(|_| parse_js_date(timestamp.text()?.as_bytes())).is_none()
        {
            return Err((
                "`timestamp` is no time".to_owned(),
                Some("write it as 2026-01-31T12:00:00.000Z, or leave it out".to_owned()),
            ));
        }
        self.names(entry, &id)?;
        let line = filled(entry, &id, parent.as_ref(), stamp);
        self.ids.insert(id.clone());
        self.parent = Some(id);
        Ok(line)
    }

    fn has(&self, id: &Text) -> bool {
        self.session.find(id).is_some() || self.ids.contains(id)
    }

    fn id(&self, entry: Raw, stamp: &mut Stamp) -> Result<Text<'static>, shape::Flaw> {
        let Some(given) = entry.get("id") else {
            let is_taken = |id: &str| self.ids.contains(&Text::from(id));
            return Ok(Text::from(stamp.free_id(self.session, is_taken)));
        };
        let hint = Some("leave it out to be given one".to_owned());
        match given.text().filter(|id| !id.is_empty()) {
            None => Err(("`id` is no text".to_owned(), hint)),
            Some(id) if self.has(&id) => Err((format!("the id {:?} is taken", id.to_string()), hint)),
            Some(id) => Ok(id.into_owned()),
        }
    }

    fn parent_of(&self, entry: Raw) -> Result<Option<Text<'static>>, shape::Flaw> {
        let Some(given) = entry.get("parentId") else { return Ok(self.parent.clone()) };
        if given.is_null() {
            return Ok(None);
        }
        let hint = Some("leave it out to go on from the entry before".to_owned());
        match given.text() {
            None => Err(("`parentId` is neither text nor null".to_owned(), hint)),
            Some(id) if !self.has(&id) => {
                Err((format!("the parent {:?} is not in the session", id.to_string()), hint))
            }
            Some(id) => Ok(Some(id.into_owned())),
        }
    }

    /// Entries that it names beside its parent must be there.
    fn names(&self, entry: Raw, own: &Text) -> Result<(), shape::Flaw> {
        let (key, free) = match kind_of(entry) {
            Kind::Label | Kind::ContextEdit => ("targetId", None),
            Kind::BranchSummary => ("fromId", Some(Text::from("root"))),
            Kind::Compaction => ("firstKeptEntryId", Some(own.borrowed())),
            _ => return Ok(()),
        };
        match entry.get_text(key) {
            Some(id) if free.as_ref() != Some(&id) && !self.has(&id) => {
                Err((format!("`{key}`: the entry {:?} is not in the session", id.to_string()), None))
            }
            _ => Ok(()),
        }
    }
}

/// The line with what it leaves out, where the agents have it: behind `type`, or in notes and messages
/// of extensions at the end; the time of a message at the message's end.
fn filled(entry: Raw, id: &Text, parent: Option<&Text>, stamp: &Stamp) -> Vec<u8> {
    let mut edit = Edit::new(entry.bytes()).expect("it was parsed as an object");
    let at_end = matches!(kind_of(entry), Kind::Custom | Kind::CustomMessage);
    let parent = parent.map_or_else(|| b"null".to_vec(), encoded);
    let time = encoded(&Text::from(stamp.timestamp()));
    let mut before = "type";
    for (key, value) in [("id", encoded(id)), ("parentId", parent), ("timestamp", time)] {
        match entry.get(key) {
            Some(_) => before = key,
            None if at_end => edit.set(key, &value),
            None => edit.put_behind(before, key, &value),
        }
    }
    if let Some(message) = entry.get("message").filter(|message| message.get("timestamp").is_none())
        && kind_of(entry) == Kind::Message
    {
        let mut timed = Edit::new(message.bytes()).expect("its shape was looked at");
        timed.set("timestamp", stamp.now_ms.to_string().as_bytes());
        edit.replace(message, &timed.finish());
    }
    edit.finish()
}
