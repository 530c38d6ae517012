//! The data of a session that a list of sessions shows: counts, sums and the start of the first
//! question.
//!
//! Its size does not depend on the number of entries. It is collected while the file is loaded
//! ([`crate::load`]).

use crate::session::entry::EntryIx;
use pisess_json::text::Text;

/// The maximum length of the first question's kept text, in UTF-16 units.
pub const PREVIEW_UNITS: usize = 200;

/// The first question of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its entry.
    pub entry: EntryIx,
    /// Its text, truncated to [`PREVIEW_UNITS`] units.
    pub text: Text<'static>,
    /// Whether the text is complete.
    pub is_whole: bool,
}

/// Where the title of a session without a name comes from, the better sources last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Opening {
    /// The first message of any kind.
    Other(Text<'static>),
    /// A user message that is only the name of a command, as `/mode`.
    Command(Text<'static>),
    /// The first user message that says something.
    Words(Text<'static>),
}

impl Opening {
    /// Returns the words, at most [`PREVIEW_UNITS`] units.
    pub fn text(&self) -> &Text<'static> {
        let (Opening::Other(text) | Opening::Command(text) | Opening::Words(text)) = self;
        text
    }

    /// Whether it says more about a session than the opening before it. Of two of one variant, the
    /// earlier stays.
    pub fn is_better_than(&self, before: Option<&Opening>) -> bool {
        match before {
            Some(before) => self.rank() > before.rank(),
            None => true,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Opening::Other(_) => 1,
            Opening::Command(_) => 2,
            Opening::Words(_) => 3,
        }
    }
}

/// Whether a message of the user is only the name of a command, as `/mode`.
pub fn is_command(message: &Text) -> bool {
    let Some(name) = message.as_bytes().strip_prefix(b"/") else {
        return false;
    };
    let ends_name = |&byte: &u8| byte == b'/' || byte.is_ascii_whitespace();
    !name.is_empty() && !name.iter().any(ends_name)
}

/// The identity of an entry.
#[derive(Clone, Copy, Debug)]
pub struct EntryKey {
    /// A hash of its id and its timestamp, which are the same in copies made by forks.
    pub key: u128,
    /// A hash of the id of the response that it has, or [`EntryKey::NONE`]: the same in sessions
    /// that have the response under different ids, such as two imports of a source.
    pub response: u128,
    /// Whether it is a message.
    pub is_message: bool,
    /// Whether it is a message of the user.
    pub is_user_message: bool,
    /// Whether it is a message of the model.
    pub is_reply: bool,
    /// Whether it was pruned from the session.
    pub is_pruned: bool,
}

impl EntryKey {
    /// The key of an entry without an id, and of one without a response.
    pub const NONE: u128 = 0;
}

/// The sums of a session.
#[derive(Debug, Default)]
pub struct ListStats {
    /// Entries that are messages.
    pub message_count: u32,
    /// Those that are messages of the user.
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
    /// Appends what was collected from the next part of the file. `first` is the index in the whole
    /// file of the first entry of that part.
    pub fn append(&mut self, next: ListStats, first: u32) {
        self.message_count += next.message_count;
        self.user_message_count += next.user_message_count;
        self.last_activity_ms = match (self.last_activity_ms, next.last_activity_ms) {
            (Some(own), Some(of_next)) => Some(own.max(of_next)),
            (own, of_next) => own.or(of_next),
        };
        self.is_in_period |= next.is_in_period;

        // The first question of the file counts, and the earlier of two equally good openings.
        if self.question.is_none()
            && let Some(mut question) = next.question
        {
            question.entry = question.entry.offset_by(first);
            self.question = Some(question);
        }
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
