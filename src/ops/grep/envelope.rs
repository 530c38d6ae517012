//! The members that every entry has, read from a line that may match.

use crate::session::entry::{Entry, Kind, Role};
use crate::session::read::header::Version;
use crate::session::read::record::Record;
use pisess_json::scan::RawString;
use pisess_json::string::decode;
use pisess_json::text::Text;
use pisess_json::time::parse_js_date;

/// The members that every entry has.
pub(super) struct Envelope<'a> {
    pub kind: Kind,
    pub role: Role,
    pub id: Text<'a>,
    pub role_name: Text<'a>,
    pub timestamp: Option<Text<'a>>,
}

impl<'a> Envelope<'a> {
    /// Reads them from a line.
    pub fn of(record: &Record<'a>, version: Version) -> Envelope<'a> {
        let text = |string: Option<RawString<'a>>| string.map(|string| decode(string.bytes));
        let type_name = text(record.kind).unwrap_or_default();
        let kind = if record.kind.is_some() { Kind::named(type_name.as_bytes()) } else { Kind::Missing };
        let role_name =
            text(record.message.filter(|_| kind == Kind::Message).and_then(|message| message.role));
        let mut role = role_name.as_ref().map_or(Role::Missing, |name| Role::named(name.as_bytes()));
        let mut role_name = role_name.unwrap_or(type_name);
        if role == Role::HookMessage && version != Version::Three {
            (role, role_name) = (Role::Custom, Text::from("custom"));
        }
        let (id, timestamp) = (text(record.id).unwrap_or_default(), text(record.timestamp));
        Envelope { kind, role, id, role_name, timestamp }
    }

    /// Returns the time in milliseconds since 1970; [`Entry::NO_TIME`] if it does not parse.
    pub fn time_ms(&self) -> i64 {
        let time = self.timestamp.as_ref().and_then(|time| parse_js_date(time.as_bytes()));
        time.unwrap_or(Entry::NO_TIME)
    }
}
