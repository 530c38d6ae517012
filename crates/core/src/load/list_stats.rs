//! Adds entries to what a list shows while a file is loaded.

use crate::agents::row::{ROW_UNITS, forwarded, message_head, normalize};
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::list_stats::{EntryKey, ListStats, Opening, PREVIEW, Question, is_command};
use crate::session::period::Period;
use crate::session::read::record::{Block, Content, Member, MessageFacts, Typed};
use crate::session::usage::model_name;
use foldhash::quality::FixedState;
use pisess_json::Raw;
use pisess_json::string::{decode, decode_head};
use pisess_json::text::{Text, joined};
use std::hash::BuildHasher;

impl ListStats {
    /// Adds one entry.
    pub fn take_in(&mut self, entry: EntryIx, typed: &Typed, time: Option<i64>, period: Period) {
        let Typed {
            kind,
            role,
            record,
            blocks,
        } = *typed;
        self.is_in_period |= time.is_some_and(|time| period.has(time));
        if kind != Kind::Message {
            return;
        }
        self.messages += 1;
        let Some(message) = &record.message else {
            return;
        };
        if !matches!(self.opening, Some(Opening::Words(_)))
            && (role == Role::User || self.opening.is_none())
        {
            let is_better = |new: &Opening| new.is_better_than(self.opening.as_ref());
            if let Some(better) = opening(role, message, blocks).filter(is_better) {
                self.opening = Some(better);
            }
        }
        if role == Role::Assistant {
            self.model(message);
        }
        if !matches!(role, Role::User | Role::Assistant) || !message.members.has(Member::Content) {
            return;
        }
        let recorded = message.get(Member::Timestamp).and_then(Raw::number);
        let active = recorded.or(time.map(|time| time as f64));
        self.activity = [self.activity, active]
            .into_iter()
            .flatten()
            .reduce(f64::max);
        self.is_in_period |= active.is_some_and(|time| period.has(time as i64));
        if role == Role::User && self.question.is_none() {
            self.question = question(entry, message, blocks);
        }
    }

    fn model(&mut self, message: &MessageFacts) {
        let (provider, model) = message.model_parts();
        let shown = |part: Option<Text>| part.map(|part| part.to_string_lossy().into_owned());
        let name = model_name(shown(provider).as_deref(), shown(model).as_deref()).map(Text::from);
        self.models
            .extend(name.filter(|name| !self.models.contains(name)));
    }
}

/// Returns the key of an entry.
pub fn key_of(typed: &Typed, timestamp: &Text) -> EntryKey {
    let id = typed
        .record
        .id
        .map(|id| decode(id.bytes))
        .unwrap_or_default();
    // An entry without an id cannot be a copy.
    let part = |seed| FixedState::with_seed(seed).hash_one((id.as_bytes(), timestamp.as_bytes()));
    EntryKey {
        key: if id.is_empty() {
            EntryKey::NONE
        } else {
            u128::from(part(1)) << 64 | u128::from(part(2))
        },
        is_message: typed.kind == Kind::Message,
        is_pruned: false,
    }
}

/// Returns the words of a message that may be the title of its session.
fn opening(role: Role, message: &MessageFacts, blocks: &[Block]) -> Option<Opening> {
    let mut row = forwarded(message, blocks)
        .unwrap_or_else(|| normalize(message_head(message, blocks, ROW_UNITS)));
    row.drop_high_surrogate();
    let is_image = || {
        blocks
            .iter()
            .any(|block| block.kind.is_some_and(|kind| kind.is("image")))
    };
    match role {
        Role::BashExecution => {
            let command = normalize(message.get(Member::Command)?.text()?);
            Some(Opening::Other(Text::from(format!(
                "[bash]: {}",
                command.head(PREVIEW).to_string_lossy()
            ))))
        }
        _ if row.is_empty() => is_image().then(|| Opening::Other(Text::from("(image)"))),
        Role::User if is_command(&row) => Some(Opening::Command(row)),
        Role::User => Some(Opening::Words(row)),
        _ => Some(Opening::Other(row)),
    }
}

/// Returns the start of a user message, joined as in pi: the string, or the text blocks separated
/// by spaces. Of a message that a chat program forwarded, it is the row of the user's words.
fn question(entry: EntryIx, message: &MessageFacts, blocks: &[Block]) -> Option<Question> {
    if let Some(text) = forwarded(message, blocks) {
        return Some(Question {
            entry,
            text,
            is_whole: false,
        });
    }
    let head = |string: &[u8]| {
        let mut head = Vec::new();
        // Decoding one unit more than is kept shows whether the string goes on.
        decode_head(string, PREVIEW + 1, &mut head);
        Text::from_wtf8(head)
    };
    let texts = blocks
        .iter()
        .filter(|block| block.kind.is_some_and(|kind| kind.is("text")));
    let text = match message.content {
        Content::Text(string) => head(string.bytes),
        Content::Blocks => joined(
            texts.map(|block| head(block.text.and_then(Raw::raw_string).unwrap_or_default())),
            " ",
        ),
        Content::None | Content::Odd => return None,
    };
    let is_whole = text.utf16_len() <= PREVIEW;
    let text = if is_whole {
        text
    } else {
        text.head_whole(PREVIEW).into_owned()
    };
    (!text.is_empty()).then_some(Question {
        entry,
        text,
        is_whole,
    })
}
