//! What a list of sessions shows of a session: counts, sums, and the start of the first question.
//!
//! The size of this data does not depend on the number of entries. It is collected while the file
//! is loaded ([`crate::load`]).

use crate::session::entry::EntryIx;
use pisess_json::text::Text;

/// The maximum length of the text that is kept of the first question, in UTF-16 units.
pub const PREVIEW_UNITS: usize = 200;

/// The first question of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The entry.
    pub entry: EntryIx,
    /// The text, truncated to [`PREVIEW_UNITS`] units.
    pub text: Text<'static>,
    /// Whether the text is complete.
    pub is_whole: bool,
}

/// The title of a session without a name, and the kind of message it comes from. The variants are
/// ordered from the worst source to the best.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The first message of any kind.
    Other(Text<'static>),
    /// A user message that is only the name of a command, such as `/mode`.
    Command(Text<'static>),
    /// The first user message in words.
    Words(Text<'static>),
}

impl Opening {
    /// Returns the title, at most [`PREVIEW_UNITS`] units.
    pub fn text(&self) -> &Text<'static> {
        let (Opening::Other(text) | Opening::Command(text) | Opening::Words(text)) = self;
        text
    }

    /// Whether the opening comes from a better source than `before`. Of two from sources of the
    /// same kind, the earlier stays.
    pub fn is_better_than(&self, before: Option<&Opening>) -> bool {
        match before {
            Some(before) => self.rank() > before.rank(),
            None => true,
        }
    }

    /// Returns how good the source of the title is; a higher rank is better.
    fn rank(&self) -> u8 {
        match self {
            Opening::Other(_) => 1,
            Opening::Command(_) => 2,
            Opening::Words(_) => 3,
        }
    }
}

/// Whether a message of the user is only the name of a command, such as `/mode`.
pub fn is_command(message: &Text) -> bool {
    let Some(name) = message.as_bytes().strip_prefix(b"/") else {
        return false;
    };
    // With another slash, the message is a path, such as `/home/ada`. With white space, it has more
    // words.
    let ends_name = |&byte: &u8| byte == b'/' || byte.is_ascii_whitespace();
    !name.is_empty() && !name.iter().any(ends_name)
}

/// The identity of an entry, by which copies of it in other sessions are recognized.
#[derive(Clone, Copy, Debug)]
pub struct EntryKey {
    /// A hash of the id and the timestamp of the entry. A fork copies both.
    pub key: u128,
    /// A hash of the id of the model's response that the entry contains; [`EntryKey::NONE`] if it
    /// contains none. It is the same in sessions in which the entries of the response have
    /// different ids, such as two imports of one source.
    pub response: u128,
    /// Whether the entry is a message.
    pub is_message: bool,
    /// Whether the entry is a message of the user.
    pub is_user_message: bool,
    /// Whether the entry is a message of the model.
    pub is_reply: bool,
    /// Whether the entry was pruned from the session.
    pub is_pruned: bool,
}

impl EntryKey {
    /// The value of `key` for an entry without an id, and of `response` for one without a response.
    pub const NONE: u128 = 0;
}

/// What is collected, entry by entry, for the row of a session in a list.
#[derive(Debug, Default)]
pub struct ListStats {
    /// Entries that are messages.
    pub message_count: u32,
    /// Entries that are messages of the user.
    pub user_message_count: u32,
    /// The newest time of a user or assistant message, in milliseconds since 1970.
    pub last_activity_ms: Option<f64>,
    /// Whether an entry is in the period that was requested.
    pub is_in_period: bool,
    /// The first user message that has text.
    pub question: Option<Question>,
    /// The title of the session if it has no name.
    pub opening: Option<Opening>,
    /// The models that responded, in order of first use, as `provider/model`.
    pub models: Vec<Text<'static>>,
}

impl ListStats {
    /// Adds what was collected from the next part of the file, of which the first entry has the
    /// index `first` in the whole file.
    pub fn append(&mut self, next: ListStats, first: u32) {
        self.message_count += next.message_count;
        self.user_message_count += next.user_message_count;
        self.last_activity_ms = match (self.last_activity_ms, next.last_activity_ms) {
            (Some(own), Some(of_next)) => Some(own.max(of_next)),
            (own, of_next) => own.or(of_next),
        };
        self.is_in_period |= next.is_in_period;

        // The first question of the file counts. Its entry is counted from the start of the part.
        if self.question.is_none()
            && let Some(mut question) = next.question
        {
            question.entry = question.entry.offset_by(first);
            self.question = Some(question);
        }
        // Of two equally good openings, the earlier one counts. An opening is only a text, without
        // an entry.
        if let Some(opening) = next.opening
            && opening.is_better_than(self.opening.as_ref())
        {
            self.opening = Some(opening);
        }

        for model in next.models {
            if !self.models.contains(&model) {
                self.models.push(model);
            }
        }
    }
}
