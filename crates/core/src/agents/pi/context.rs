//! The context of pi's model (`buildSessionProjection` and `buildSessionContext`).
//!
//! ```text
//! path:        a  b  C1  c  d  e  C2  f  g        C2 keeps from c, with C1 before it
//! projection:  C2 c  d  e  f  g                   C2 comes first, then what is kept, then the rest
//! ```

use super::edits::{Edit, edited, edits_among, with_content};
use crate::session::Session;
use crate::session::content;
use crate::session::entry::{EntryIx, Flags, Kind, Role};
use crate::session::read::entry_reader::{Body, Context, EntryReader, Message};
use pisess_json::text::Text;
use pisess_json::time;
use pisess_json::{Raw, string, write};
use std::io;

/// Returns the messages and settings at the end of `path`, which runs from a root to the leaf.
pub fn build(path: &[EntryIx], reader: &EntryReader) -> io::Result<Context> {
    Ok(Context {
        messages: project(path, reader, |_| {})?,
        settings: settings(path, reader)?,
    })
}

/// The entries of a context, each with its messages.
pub struct Projection<'a> {
    /// The path that it is the context of.
    pub path: &'a [EntryIx],
    /// The reader of its session.
    pub reader: &'a EntryReader<'a>,
    /// All messages, in order.
    pub messages: Vec<Message>,
    /// The entries in the order of their messages; the compaction in effect comes first.
    pub entries: Vec<Projected>,
}

/// An entry of a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Projected {
    /// Its index on the path.
    pub place: u32,
    /// Whether its type has messages for the model, even if an edit or a later compaction removed
    /// them.
    pub visible: bool,
    /// The end of its messages in [`Projection::messages`].
    end: u32,
}

impl<'a> Projection<'a> {
    /// Returns the entries in effect at the end of `path`, and their messages.
    pub fn of(path: &'a [EntryIx], reader: &'a EntryReader) -> io::Result<Self> {
        let mut entries = Vec::new();
        let messages = project(path, reader, |entry| entries.push(entry))?;
        Ok(Projection {
            path,
            reader,
            messages,
            entries,
        })
    }

    /// Returns the messages of the entry at `index`.
    pub fn messages_of(&self, index: usize) -> &[Message] {
        let start = index
            .checked_sub(1)
            .map_or(0, |before| self.entries[before].end);
        &self.messages[start as usize..self.entries[index].end as usize]
    }
}

/// Returns the messages in effect at the end of `path`, and passes each entry to `each`.
fn project(
    path: &[EntryIx],
    reader: &EntryReader,
    mut each: impl FnMut(Projected),
) -> io::Result<Vec<Message>> {
    let session = reader.session();
    let places = in_force(path, reader)?;
    let edits = edits_among(places.clone().map(|place| path[place as usize]), reader)?;
    let mut messages = Vec::with_capacity(places.size_hint().1.unwrap_or(path.len()));
    for (index, place) in places.enumerate() {
        let entry = path[place as usize];
        let superseded = index > 0 && session.entry(entry).kind == Kind::Compaction;
        let edit = edits.get(session.id(entry).as_bytes()).copied();
        let visible = superseded || speak(entry, edit, reader, &mut messages)?;
        each(Projected {
            place,
            visible,
            end: messages.len() as u32,
        });
    }
    Ok(messages)
}

/// Returns the role of a message of a projection, without reading it.
pub fn role(session: &Session, message: &Message) -> Role {
    let entry = session.entry(message.entry);
    match (entry.kind, &message.body) {
        (Kind::CustomMessage, _) => Role::Custom,
        (Kind::BranchSummary, _) => Role::BranchSummary,
        (Kind::Compaction, Body::Built(json)) => Role::of(Raw::checked(json).get("role")),
        _ => entry.role,
    }
}

/// Returns the indexes on the path of the entries in effect: the last compaction, what it keeps
/// without system messages (its checkpoint has their state), and what follows it; without a
/// compaction, the whole path.
pub(crate) fn in_force<'a>(
    path: &'a [EntryIx],
    reader: &'a EntryReader<'a>,
) -> io::Result<impl Iterator<Item = u32> + Clone + use<'a>> {
    let session = reader.session();
    let compaction = session.last_on(path, Kind::Compaction);
    let above = match compaction {
        None => 0..0,
        Some(at) => first_kept(&path[..=at], reader)? as u32..at as u32,
    };
    let kept = above.filter(|&place| !session.is_message(path[place as usize], Role::System));
    let after = compaction.map_or(0, |at| at + 1) as u32..path.len() as u32;
    Ok(compaction
        .map(|at| at as u32)
        .into_iter()
        .chain(kept)
        .chain(after))
}

/// Returns the index of the first entry that a compaction, the last of `path`, keeps; its own if it
/// keeps none.
fn first_kept(path: &[EntryIx], reader: &EntryReader) -> io::Result<usize> {
    let at = path.len() - 1;
    let first = reader.with_entry(path[at], |line| {
        reader
            .session()
            .place_on(&path[..at], &line.get_text("firstKeptEntryId")?)
    })?;
    Ok(first.unwrap_or(at))
}

/// Returns the entries above a compaction, the last of `path`, that contexts below it use: what it
/// keeps, the model, the thinking level and the tools.
pub fn used_above(path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<EntryIx>> {
    let session = reader.session();
    let Some((_, above)) = path.split_last() else {
        return Ok(Vec::new());
    };
    let mut used = above[first_kept(path, reader)?..].to_vec();
    let settings = [Kind::ThinkingLevelChange, Kind::ActiveToolsChange]
        .map(|kind| session.last_on(above, kind));
    let model = above.iter().rposition(|&ix| sets_model(session, ix));
    used.extend(
        settings
            .into_iter()
            .chain([model])
            .flatten()
            .map(|at| above[at]),
    );
    Ok(used)
}

/// Whether an entry determines the model.
fn sets_model(session: &Session, ix: EntryIx) -> bool {
    session.entry(ix).kind == Kind::ModelChange || session.is_message(ix, Role::Assistant)
}

/// Adds the messages of an entry, with its edit applied. Returns whether its type has any.
pub(super) fn speak(
    ix: EntryIx,
    edit: Option<Edit>,
    reader: &EntryReader,
    out: &mut Vec<Message>,
) -> io::Result<bool> {
    let mut visible = false;
    let mut add = |body| -> io::Result<()> {
        visible = true;
        let message = Message { entry: ix, body };
        match edit {
            None => out.push(message),
            Some(edit) => out.extend(edited(message, edit, reader)?),
        }
        Ok(())
    };
    match reader.session().entry(ix).kind {
        Kind::Message => message(ix, reader)?.map_or(Ok(()), add)?,
        Kind::CustomMessage => add(Body::built(
            reader.with_entry(ix, |line| custom(line, Some(b"[]")))?,
        ))?,
        Kind::BranchSummary => {
            let added = reader.with_entry(ix, |line| {
                content::truthy(line, "summary").then(|| Body::built(branch_summary(line)))
            })?;
            added.map_or(Ok(()), add)?;
        }
        Kind::Compaction => {
            let (checkpoint, summary) = reader.with_entry(ix, |line| {
                let checkpoint = line
                    .get("systemMessage")
                    .filter(|system| system.is_truthy());
                (
                    checkpoint.map(|system| system.bytes().to_vec()),
                    compaction_summary(line),
                )
            })?;
            checkpoint
                .into_iter()
                .chain([summary])
                .try_for_each(|json| add(Body::built(json)))?;
        }
        _ => {}
    }
    Ok(visible)
}

/// Returns a stored message, with empty content if it has none; `None` if the line has no message.
pub(super) fn message(ix: EntryIx, reader: &EntryReader) -> io::Result<Option<Body>> {
    let entry = reader.session().entry(ix);
    let empty: &[u8] = match entry.role {
        Role::Missing => {
            let there =
                reader.with_entry(ix, |line| line.get("message").is_some_and(Raw::is_object))?;
            return Ok(there.then_some(Body::Stored));
        }
        _ if !entry.flags.has(Flags::NO_CONTENT) => return Ok(Some(Body::Stored)),
        Role::System => b"\"\"",
        Role::User | Role::Assistant | Role::ToolResult => b"[]",
        _ => return Ok(Some(Body::Stored)),
    };
    let filled = reader.with_entry(ix, |line| {
        line.get("message")
            .map(|message| with_content(message, Some(empty)))
    })?;
    Ok(Some(filled.map_or(Body::Stored, Body::built)))
}

/// Returns the message of a `custom_message` entry; `content` replaces one that is missing or
/// `null`.
pub(super) fn custom(line: Raw, content: Option<&[u8]>) -> Vec<u8> {
    let [own, timestamp] = content::members(line, ["content", "timestamp"]);
    let in_effect = content
        .filter(|_| own.is_none_or(Raw::is_null))
        .or(own.map(Raw::bytes));
    write::Object::new()
        .str("role", "custom")
        .copy(line, &["customType"])
        .with(in_effect, |object, value| object.json("content", value))
        .copy(line, &["display", "details"])
        .json("timestamp", &milliseconds(timestamp))
        .finish()
}

/// Returns the message of a `branch_summary` entry.
pub(super) fn branch_summary(line: Raw) -> Vec<u8> {
    summary(line, "branchSummary", "fromId")
}

/// Returns the message of a `compaction` entry, without its system message.
pub(super) fn compaction_summary(line: Raw) -> Vec<u8> {
    summary(line, "compactionSummary", "tokensBefore")
}

fn summary(line: Raw, role: &str, about: &str) -> Vec<u8> {
    let message = write::Object::new()
        .str("role", role)
        .copy(line, &["summary", about]);
    message
        .json("timestamp", &milliseconds(line.get("timestamp")))
        .finish()
}

/// Returns `new Date(timestamp).getTime()` as JSON.
fn milliseconds(timestamp: Option<Raw>) -> Vec<u8> {
    time::js_date(timestamp).map_or(b"null".to_vec(), |ms| ms.to_string().into_bytes())
}

/// Returns the settings in effect at the end of the path; what is undefined in pi is omitted, as by
/// `JSON.stringify`.
fn settings(path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let session = reader.session();
    let thinking = session
        .last_on(path, Kind::ThinkingLevelChange)
        .map(|at| path[at]);
    let model = path
        .iter()
        .rev()
        .copied()
        .find(|&ix| sets_model(session, ix));
    let level = match thinking {
        Some(ix) => reader.with_entry(ix, |line| {
            line.get("thinkingLevel")
                .map(|level| level.bytes().to_vec())
        })?,
        None => Some(string::encoded(&Text::from("off"))),
    };
    let model = match model {
        Some(ix) => reader.with_entry(ix, |line| model_of(session.entry(ix).kind, line))?,
        None => b"null".to_vec(),
    };
    Ok(level
        .map(|level| ("thinkingLevel", level))
        .into_iter()
        .chain([("model", model)])
        .collect())
}

/// Returns the model of a `model_change` or an assistant message.
fn model_of(kind: Kind, line: Raw) -> Vec<u8> {
    let [provider, id] = match kind {
        Kind::ModelChange => content::members(line, ["provider", "modelId"]),
        _ => content::members(
            line.get("message").unwrap_or(Raw::NULL),
            ["provider", "model"],
        ),
    };
    write::Object::new()
        .with(provider, |object, value| object.raw("provider", value))
        .with(id, |object, value| object.raw("modelId", value))
        .finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::*;

    fn context(entries: &[String]) -> (Vec<String>, Vec<(&'static str, String)>) {
        let made = chain(entries);
        let context = build(&made.path(), &made.reader()).unwrap();
        let setting = |(name, json): (_, Vec<u8>)| (name, String::from_utf8(json).unwrap());
        (
            made.json(&context.messages),
            context.settings.into_iter().map(setting).collect(),
        )
    }

    fn speakers(entries: &[String]) -> Vec<String> {
        let made = chain(entries);
        made.ids(
            &Projection::of(&made.path(), &made.reader())
                .unwrap()
                .messages,
        )
    }

    #[test]
    fn the_last_compaction_speaks_first() {
        let path = [
            user("a"),
            compacted("e0", ""),
            says("system", r#""content":"s""#),
            user("b"),
            compacted(
                "e1",
                r#","systemMessage":{"role":"system","content":"now"}"#,
            ),
            user("c"),
        ];
        // The older compaction is kept without messages; system messages of the kept part are
        // omitted.
        assert_eq!(speakers(&path), ["e4", "e4", "e3", "e5"]);
        assert_eq!(
            context(&path).0[..2],
            [
                r#"{"role":"system","content":"now"}"#,
                r#"{"role":"compactionSummary","summary":"S","tokensBefore":9,"timestamp":1767225600004}"#
            ]
        );
    }

    #[test]
    fn a_kept_id_off_the_path_keeps_nothing() {
        for kept in ["nowhere", "", "e1", "e2"] {
            assert_eq!(
                speakers(&[user("a"), compacted(kept, ""), user("b")]),
                ["e1", "e2"],
                "{kept}"
            );
        }
    }

    #[test]
    fn edits_hide_or_replace() {
        let entries = [
            user("a"),
            assistant("b"),
            says("bashExecution", r#""command":"c","output":"""#),
            edit("e0", "null"),
            edit("e1", "null"),
            edit("e1", r#"{"content":"new"}"#),
            edit("e2", r#"{"content":"new"}"#),
        ];
        let (messages, _) = context(&entries);
        assert_eq!(
            messages,
            [
                r#"{"role":"assistant","content":[{"type":"text","text":"new"}],"provider":"p","model":"m"}"#,
                r#"{"role":"bashExecution","command":"c","output":""}"#,
            ]
        );
    }

    #[test]
    fn an_edit_out_of_force_does_nothing() {
        let kept = [
            user("a"),
            edit("e0", "null"),
            user("b"),
            compacted("e2", ""),
            user("c"),
        ];
        assert_eq!(speakers(&kept), ["e3", "e2", "e4"]);
        let before = [edit("e1", "null"), user("a"), compacted("e1", "")];
        assert_eq!(speakers(&before), ["e2", "e1"]);
    }

    #[test]
    fn missing_content_is_filled_in() {
        let entries = [
            says("user", r#""content":null,"timestamp":1"#),
            says("assistant", r#""model":"m""#),
            says("system", ""),
            says("custom", ""),
        ];
        let (messages, settings) = context(&entries);
        assert_eq!(
            messages,
            [
                r#"{"role":"user","content":[],"timestamp":1}"#,
                r#"{"role":"assistant","model":"m","content":[]}"#,
                r#"{"role":"system","content":""}"#,
                r#"{"role":"custom"}"#,
            ]
        );
        assert_eq!(settings[1], ("model", r#"{"modelId":"m"}"#.to_owned()));
    }

    #[test]
    fn entries_that_become_messages() {
        let entries = [
            r#""type":"custom_message","customType":"n","details":1e400,"display":false"#
                .to_owned(),
            r#""type":"branch_summary","fromId":"x","summary":"""#.to_owned(),
            r#""type":"branch_summary","summary":"B""#.to_owned(),
            r#""type":"custom","customType":"n""#.to_owned(),
            r#""type":"message","message":null"#.to_owned(),
        ];
        assert_eq!(
            context(&entries).0,
            [
                r#"{"role":"custom","customType":"n","content":[],"display":false,"details":1e400,"timestamp":1767225600000}"#,
                r#"{"role":"branchSummary","summary":"B","timestamp":1767225600002}"#,
            ]
        );
    }

    #[test]
    fn settings_come_from_the_whole_path() {
        let level = r#""type":"thinking_level_change""#;
        let model = r#""type":"model_change","provider":"q","modelId":"n""#;
        let (_, settings) = context(&[
            format!(r#"{level},"thinkingLevel":"high""#),
            assistant("a"),
            model.to_owned(),
            compacted("none", ""),
        ]);
        assert_eq!(
            settings,
            [
                ("thinkingLevel", r#""high""#.to_owned()),
                ("model", r#"{"provider":"q","modelId":"n"}"#.to_owned())
            ]
        );
        let (_, settings) = context(&[level.to_owned()]);
        assert_eq!(settings, [("model", "null".to_owned())]);
    }
}
