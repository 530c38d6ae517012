//! Small sessions for tests.

use crate::agents::prepare::{FirstKept, Preparation};
use crate::load::{self, LoadOptions};
use crate::session::Session;
use crate::session::dialect::Dialect;
use crate::session::entry::EntryIx;
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use pisess_json::Raw;
use pisess_json::text::Text;

pub struct Sample {
    file: Vec<u8>,
    pub session: Session,
}

/// Returns a session that is a chain of entries with the ids `e0`, `e1`, …. Each entry is given as
/// its members without `id`, `parentId` and `timestamp`.
pub fn chain(entries: &[String]) -> Sample {
    let mut text = r#"{"type":"session","version":3,"id":"s","cwd":"/p"}"#.to_owned();
    for (at, members) in entries.iter().enumerate() {
        let parent = at
            .checked_sub(1)
            .map_or("null".to_owned(), |before| format!("\"e{before}\""));
        text += &format!(
            "\n{{{members},\"id\":\"e{at}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:00.00{}Z\"}}",
            at % 10
        );
    }
    let file = text.into_bytes();
    Sample {
        session: load::load(&file, &LoadOptions::default()).unwrap(),
        file,
    }
}

impl Sample {
    pub fn of_oh_my_pi(mut self) -> Sample {
        self.session.dialect = Dialect::OhMyPi;
        self
    }

    pub fn loaded(self, options: &LoadOptions) -> Sample {
        Sample {
            session: load::load(&self.file, options).unwrap(),
            ..self
        }
    }

    pub fn reader(&self) -> EntryReader<'_> {
        EntryReader::new(&self.session, &self.file)
    }

    pub fn path(&self) -> Vec<EntryIx> {
        self.session.path(self.session.leaf)
    }

    pub fn ix(&self, id: &str) -> EntryIx {
        self.session.find_entry(&Text::from(id)).unwrap()
    }

    pub fn json(&self, messages: &[ContextMessage]) -> Vec<String> {
        let json = |json: Raw| String::from_utf8(json.bytes().to_vec()).unwrap();
        messages
            .iter()
            .map(|message| message.with_json(&self.reader(), json).unwrap())
            .collect()
    }

    /// Prepares a compaction. It keeps about `keep` tokens or, if `first_kept` is given, the
    /// entries from this id on; `none` keeps nothing.
    pub fn prepared(&self, keep: u64, first_kept: Option<&str>) -> Option<Preparation> {
        let from = match first_kept {
            None => FirstKept::RecentTokens(keep),
            Some("none") => FirstKept::Nothing,
            Some(id) => FirstKept::Entry(self.ix(id)),
        };
        self.session
            .agent()
            .prepare_compaction(&self.path(), &self.reader(), from)
            .unwrap()
    }

    /// Returns the parts of a compaction that [`prepared`](Self::prepared) prepares, separated by
    /// bars: the ids of the summarized entries, those of the beginning of a split turn, and the id
    /// of the first kept entry.
    pub fn cut(&self, keep: u64, first_kept: Option<&str>) -> String {
        let Some(prepared) = self.prepared(keep, first_kept) else {
            return "nothing".to_owned();
        };
        let kept = prepared
            .first_kept
            .map_or("none".to_owned(), |ix| self.session.id(ix).to_string());
        let (history, prefix) = (
            &prepared.messages_to_summarize,
            &prepared.turn_prefix_messages,
        );
        assert!(prepared.is_split_turn || prefix.is_empty());
        let prefix = prepared.is_split_turn.then(|| self.ids(prefix).join(" "));
        let parts = [Some(self.ids(history).join(" ")), prefix, Some(kept)];
        parts.into_iter().flatten().collect::<Vec<_>>().join(" | ")
    }

    /// Returns the ids of the entries from which messages were made.
    pub fn ids(&self, messages: &[ContextMessage]) -> Vec<String> {
        messages
            .iter()
            .map(|message| self.session.id(message.entry).to_string())
            .collect()
    }
}

/// Returns a `message` entry with this role and further members of the message.
pub fn says(role: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(r#""type":"message","message":{{"role":"{role}"{comma}{members}}}"#)
}

pub fn user(text: &str) -> String {
    says("user", &format!(r#""content":"{text}""#))
}

/// Returns an assistant message of one text block.
pub fn assistant(text: &str) -> String {
    says(
        "assistant",
        &format!(r#""content":[{{"type":"text","text":"{text}"}}],"provider":"p","model":"m""#),
    )
}

/// Returns an assistant message that calls a tool with a path.
pub fn call(tool: &str, path: &str) -> String {
    let call = format!(
        r#"{{"type":"toolCall","id":"c","name":"{tool}","arguments":{{"path":"{path}"}}}}"#
    );
    says(
        "assistant",
        &format!(r#""content":[{call}],"provider":"p","model":"m""#),
    )
}

pub fn result(text: &str) -> String {
    let content = format!(r#"[{{"type":"text","text":"{text}"}}]"#);
    says(
        "toolResult",
        &format!(r#""toolCallId":"c","toolName":"read","content":{content}"#),
    )
}

/// Returns a compaction that keeps the entries from `first_kept` on.
pub fn compacted(first_kept: &str, more: &str) -> String {
    format!(
        r#""type":"compaction","summary":"S","firstKeptEntryId":"{first_kept}","tokensBefore":9{more}"#
    )
}

pub fn edit(target: &str, replacement: &str) -> String {
    format!(r#""type":"context_edit","targetId":"{target}","replacement":{replacement}"#)
}
