//! The notebook in the agent's experimental context notes: its newest valid revision precedes all
//! other messages.

use super::template;
use crate::session::content;
use crate::session::entry::{EntryIx, Kind};
use crate::session::read::entry_reader::{Body, EntryReader, Message};
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_json::{Raw, js};
use std::io;

const ENTRY_TYPE: &str = "experimental_context_notes";
const MAX_BYTES: usize = 16_384;

/// Returns the notebook as a message; `None` if the path has none since its last reset, or an empty
/// one.
pub fn message(path: &[EntryIx], reader: &EntryReader) -> io::Result<Option<Message>> {
    let session = reader.session();
    let kind = |ix: EntryIx| session.entry(ix).kind;
    let recent = path
        .iter()
        .rev()
        .copied()
        .take_while(|&ix| kind(ix) != Kind::ResetBoundary);
    let revision = |ix| {
        reader
            .with_entry(ix, |line| Some((ix, notes(line)?.into_owned())))
            .transpose()
    };
    let newest = recent
        .filter(|&ix| kind(ix) == Kind::Custom)
        .find_map(revision)
        .transpose()?;
    Ok(newest
        .filter(|(_, notes)| !notes.is_empty())
        .map(|(ix, notes)| {
            let message = Object::new()
                .str("role", "custom")
                .str("customType", ENTRY_TYPE)
                .text("content", &template::context_notes(&notes))
                .bool("display", false)
                .number("timestamp", session.entry(ix).js_time());
            Message {
                entry: ix,
                body: Body::built(message.finish()),
            }
        }))
}

/// Returns the text of a valid revision: `{version: 1, text}` and nothing else, within 16 KiB.
fn notes(line: Raw<'_>) -> Option<Text<'_>> {
    let data = line
        .get("data")
        .filter(|_| content::is(line, "customType", ENTRY_TYPE))?;
    let version = data.get("version").and_then(Raw::number);
    let text = data
        .get_text("text")
        .filter(|text| text.as_bytes().len() <= MAX_BYTES)?;
    (version == Some(1.0) && js::entries(data).len() == 2).then_some(text)
}
