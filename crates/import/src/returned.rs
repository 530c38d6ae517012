//! The entries of pi in lines that pisess wrote for another agent ([`native`](super::native)).
//!
//! ```text
//! {"type":"user","message":{"content":"Fly."}, … ,"pisess":{"entry":{ … ,"message":{"content":null}}}}
//! {"type":"pisess", … ,"pisess":{"entry":{"type":"label", … }}}
//! ```
//!
//! The member `entry` is the entry of pi, or a string with its JSON. If the line has the same
//! content as the entry, the content of the entry is `null`. If pisess wrote a line that was not
//! made from an entry, its member `pisess` has no `entry`.

use pisess_json::edit::with_member;
use pisess_json::outline::Outlined;
use pisess_json::write::Object;
use pisess_json::{Raw, range_in};

/// The key of the member with the entry, and the type of a line that the agents skip.
pub const RETURNED_KEY: &str = "pisess";

/// The JSON of that member in a line that has no entry.
pub const NO_ENTRY: &[u8] = b"{}";

/// What pisess wrote into a line.
pub struct ReturnedLine<'a> {
    /// The entry from which the line was made; `None` if it was not made from an entry.
    entry: Option<StoredEntry<'a>>,
}

/// An entry in a line.
enum StoredEntry<'a> {
    /// As a value of the line.
    Value(Outlined<'a>),
    /// As a string, of which this is the text.
    Text(Vec<u8>),
}

impl<'a> ReturnedLine<'a> {
    /// Reads what pisess wrote into a line. `None` if pisess did not write the line, or if the
    /// member was changed and is not an entry any more.
    pub fn read(line: Outlined<'a>) -> Option<ReturnedLine<'a>> {
        ReturnedLine::of_member(line.get(RETURNED_KEY)?)
    }

    /// Reads the member `pisess` that pisess wrote into a line for another agent:
    ///
    /// ```text
    /// {"entry":{"type":"label", …}}     the entry of pi from which the line was made
    /// {"entry":"{\"type\": …}"}         the same, in a form that every JSON parser accepts
    /// {}                                pisess wrote the line, but not from an entry
    /// ```
    ///
    /// `None` if the member was changed and is none of these.
    pub fn of_member(member: Outlined<'a>) -> Option<ReturnedLine<'a>> {
        if !member.is_object() {
            return None;
        }
        let Some(stored) = member.get("entry") else {
            return Some(ReturnedLine { entry: None });
        };
        let entry = match stored.text() {
            None => StoredEntry::Value(stored),
            Some(text) => {
                let json = text.into_string_lossy().into_bytes();
                Raw::parse(&json).ok()?;
                StoredEntry::Text(json)
            }
        };
        if !is_entry(entry.value()) {
            return None;
        }
        Some(ReturnedLine { entry: Some(entry) })
    }

    /// Returns the entry from which the line was made; `None` if it was not made from an entry.
    pub fn entry(&self) -> Option<Outlined<'_>> {
        self.entry.as_ref().map(StoredEntry::value)
    }
}

impl StoredEntry<'_> {
    fn value(&self) -> Outlined<'_> {
        match self {
            StoredEntry::Value(value) => *value,
            StoredEntry::Text(json) => Raw::from_checked(json).into(),
        }
    }
}

/// Whether a value is an entry. A header or a title is not: it would begin another session.
fn is_entry(value: Outlined) -> bool {
    let entry_type = value.get("type").and_then(|entry_type| entry_type.text());
    entry_type.is_some_and(|name| name != *"session" && name != *"title")
}

/// Builds the member `pisess` of a line: `{"entry":{…}}`. `imported_content` is the content that an
/// import would make of the line. If the entry has the same content, it is stored with `null` in
/// its place, because [`restore_content`] finds the content in the line.
pub fn returned_member(entry: Raw, imported_content: Option<&[u8]>) -> Vec<u8> {
    let own_content = entry_content(entry.into()).map(|own| own.raw().bytes());
    let can_be_restored = imported_content.is_some() && imported_content == own_content;
    let stored_entry = if can_be_restored {
        with_content(entry, b"null")
    } else {
        entry.bytes().to_vec()
    };
    Object::new().json("entry", &stored_entry).finish()
}

/// Builds the member `pisess` of a line, with the whole entry as a string.
pub fn returned_text_member(entry: Raw) -> Vec<u8> {
    let json = String::from_utf8_lossy(entry.bytes());
    Object::new().str("entry", &json).finish()
}

/// Whether an entry was stored without its content, so that [`restore_content`] needs the content
/// of the line. Most entries of the model have their own, and that of the line need not be made.
pub fn lacks_content(entry: Outlined) -> bool {
    entry_content(entry).is_some_and(|own| own.is_null())
}

/// The bytes of an entry, in the parts from which it was restored.
pub type EntryParts<'a> = [&'a [u8]; 3];

/// Returns an entry that was stored without its content, with `content` in it. `content` is the
/// content that the import has made of the line. With the content `"Fly."`:
///
/// ```text
/// {"type":"message","message":{"role":"user","content":null}}
/// {"type":"message","message":{"role":"user","content":"Fly."}}
/// ```
///
/// `None` if the entry was stored with its content, or the line has none.
pub fn restore_content<'a>(
    entry: Outlined<'a>,
    content: Option<&'a [u8]>,
) -> Option<EntryParts<'a>> {
    let content = content?;
    let null = entry_content(entry).filter(|own| own.is_null())?;
    let entry = entry.raw().bytes();
    let null_range = range_in(null.raw().bytes(), entry);
    let before = &entry[..null_range.start];
    let after = &entry[null_range.end..];
    Some([before, content, after])
}

/// Returns the content of the message of an entry, or of the entry itself if it has no message.
fn entry_content(entry: Outlined<'_>) -> Option<Outlined<'_>> {
    let [message, content] = entry.get_all(["message", "content"]);
    match message {
        Some(message) => message.get("content"),
        None => content,
    }
}

/// Returns an entry in which `content` replaces the content.
fn with_content(entry: Raw, content: &[u8]) -> Vec<u8> {
    match entry.get("message") {
        Some(message) => with_member(entry, "message", &with_member(message, "content", content)),
        None => with_member(entry, "content", content),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_entry_comes_back() {
        for (line, is_read) in [
            (r#"{"pisess":{}}"#, true),
            (r#"{"pisess":{"entry":{"type":"label"}}}"#, true),
            (r#"{"pisess":{"entry":{"type":"session"}}}"#, false),
            (r#"{"pisess":{"entry":{"type":"title"}}}"#, false),
            (r#"{"pisess":{"entry":{}}}"#, false),
            (r#"{"pisess":{"entry":5}}"#, false),
            (r#"{"pisess":5}"#, false),
            ("{}", false),
        ] {
            let read = ReturnedLine::read(Raw::parse(line.as_bytes()).unwrap().into());
            assert_eq!(read.is_some(), is_read, "{line}");
        }
    }

    #[test]
    fn a_content_that_the_line_has_is_left_out_and_restored() {
        for entry in [
            r#"{"id":"a","message":{"content":[1],"role":"user"},"x":1}"#,
            r#"{"id":"a","content":[1],"display":false}"#,
        ] {
            let raw = Raw::parse(entry.as_bytes()).unwrap();
            let member = returned_member(raw, Some(b"[1]"));
            let kept = Raw::from_checked(&member).get("entry").unwrap();
            assert!(kept.bytes().len() < entry.len() + 2, "{entry}");
            let restored = restore_content(kept.into(), Some(b"[1]")).unwrap();
            assert_eq!(restored.concat(), entry.as_bytes());

            let member = returned_member(raw, Some(b"[2]"));
            let kept = Raw::from_checked(&member).get("entry").unwrap();
            assert_eq!(kept.bytes(), entry.as_bytes());
            assert_eq!(restore_content(kept.into(), Some(b"[2]")), None);
        }
    }
}
