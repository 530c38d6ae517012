//! Builds the context of pi's model (`buildSessionProjection` and `buildSessionContext`).
//!
//! ```text
//! path:        a  b  C1  c  d  e  C2  f  g        C2 keeps from c, with C1 before it
//! projection:  C2 c  d  e  f  g                   C2 comes first, then what is kept, then the rest
//! ```
//!
//! C1 and C2 are compactions. The projection has the entries in effect, in the order of their
//! messages.

use super::edits::{ContextEdit, apply_edit, collect_edits, set_content};
use crate::session::Session;
use crate::session::content;
use crate::session::entry::{EntryIx, Flags, Kind, Role};
use crate::session::read::entry_reader::{Body, Context, ContextMessage, EntryReader};
use pisess_json::text::Text;
use pisess_json::time;
use pisess_json::{Raw, string, write};
use std::io;

/// Builds the context for the leaf at the end of `path`, which begins at a root.
pub fn build_context(path: &[EntryIx], reader: &EntryReader) -> io::Result<Context> {
    Ok(Context {
        messages: Projection::from_path(path, reader)?.messages,
        settings: read_settings(path, reader)?,
    })
}

/// The entries that are in effect at the end of a path, each with its messages.
pub struct Projection<'a> {
    /// The path.
    pub path: &'a [EntryIx],
    /// The reader of the session.
    pub reader: &'a EntryReader<'a>,
    /// All messages, in order.
    pub messages: Vec<ContextMessage>,
    /// The entries in the order of their messages; the compaction in effect comes first.
    pub entries: Vec<ProjectedEntry>,
}

/// An entry of a projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectedEntry {
    /// The index of the entry on the path.
    pub path_index: u32,
    /// Whether an entry of its type has messages for the model. True even if an edit or a later
    /// compaction removed them.
    pub has_model_messages: bool,
    /// The end of the entry's messages in [`Projection::messages`].
    messages_end: u32,
}

impl<'a> Projection<'a> {
    /// Collects the entries that are in effect at the end of `path`, and their messages for the
    /// model, changed as later edits demand.
    pub fn from_path(path: &'a [EntryIx], reader: &'a EntryReader) -> io::Result<Self> {
        let session = reader.session();
        let path_indexes = indexes_in_effect(path, reader)?;
        let entries_in_effect = path_indexes
            .iter()
            .map(|&path_index| path[path_index as usize]);
        let edits = collect_edits(entries_in_effect, reader)?;

        let mut projection = Projection {
            path,
            reader,
            messages: Vec::with_capacity(path_indexes.len()),
            entries: Vec::with_capacity(path_indexes.len()),
        };
        for path_index in path_indexes {
            let ix = path[path_index as usize];
            let edit = edits.get(session.id(ix).as_bytes()).copied();
            projection.push_entry(path_index, edit)?;
        }
        Ok(projection)
    }

    /// Adds the entry at an index on the path, and its messages as `edit` changes them. The edit
    /// may also omit them.
    fn push_entry(&mut self, path_index: u32, edit: Option<ContextEdit>) -> io::Result<()> {
        let ix = self.path[path_index as usize];
        // The compaction in effect is the first entry. Any other is an older one among the kept
        // entries: its messages are left out, because the summary in effect continues them.
        let is_first = self.entries.is_empty();
        let is_compaction = self.reader.session().entry(ix).kind == Kind::Compaction;
        let is_older_compaction = is_compaction && !is_first;
        let bodies = if is_older_compaction {
            MessageBodies::default()
        } else {
            message_bodies(ix, self.reader)?
        };
        // An older compaction has messages for a model, too, although they are left out here.
        let has_model_messages = is_older_compaction || !bodies.is_empty();

        for body in bodies.in_order() {
            let message = ContextMessage { entry: ix, body };
            self.messages
                .extend(apply_edit(message, edit, self.reader)?);
        }
        self.entries.push(ProjectedEntry {
            path_index,
            has_model_messages,
            messages_end: self.messages.len() as u32,
        });
        Ok(())
    }

    /// Returns the messages of the entry at `index`.
    pub fn messages_of(&self, index: usize) -> &[ContextMessage] {
        // The messages begin where the messages of the entry before end.
        let start = match index.checked_sub(1) {
            Some(previous_index) => self.entries[previous_index].messages_end,
            None => 0,
        };
        let end = self.entries[index].messages_end;
        &self.messages[start as usize..end as usize]
    }
}

/// Returns the messages that an entry has for the model, with its edit applied.
pub fn entry_messages(
    ix: EntryIx,
    edit: Option<ContextEdit>,
    reader: &EntryReader,
) -> io::Result<Vec<ContextMessage>> {
    let mut messages = Vec::new();
    for body in message_bodies(ix, reader)?.in_order() {
        let message = ContextMessage { entry: ix, body };
        messages.extend(apply_edit(message, edit, reader)?);
    }
    Ok(messages)
}

/// Returns the role of a message of a projection, without reading a stored message. Only a
/// compaction has messages in two roles, so only there the message itself decides.
pub fn message_role(session: &Session, message: &ContextMessage) -> Role {
    let entry = session.entry(message.entry);
    match (entry.kind, &message.body) {
        (Kind::CustomMessage, _) => Role::Custom,
        (Kind::BranchSummary, _) => Role::BranchSummary,
        (Kind::Compaction, Body::Built(json)) => {
            Role::from_member(Raw::from_checked(json).get("role"))
        }
        _ => entry.role,
    }
}

/// Returns the indexes on the path of the entries in effect, in the order of their messages: the
/// last compaction, the entries that it keeps, and the entries after it. Without a compaction, the
/// whole path is in effect.
pub(crate) fn indexes_in_effect(path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<u32>> {
    let session = reader.session();
    let Some(compaction) = session.last_index_of_kind(path, Kind::Compaction) else {
        return Ok((0..path.len() as u32).collect());
    };

    let mut indexes = vec![compaction as u32];
    let first_kept = first_kept_index(&path[..=compaction], reader)?;
    for (offset, &ix) in path[first_kept..compaction].iter().enumerate() {
        // A system message among the kept entries is not in effect: the system prompt is in the
        // checkpoint of the compaction.
        if !session.is_message(ix, Role::System) {
            indexes.push((first_kept + offset) as u32);
        }
    }
    indexes.extend(compaction as u32 + 1..path.len() as u32);
    Ok(indexes)
}

/// Returns the index of the first entry that is kept by the compaction at the end of `path`. If no
/// entry above it has its `firstKeptEntryId`, it keeps nothing, and the index is that of the
/// compaction. `path` must not be empty.
fn first_kept_index(path: &[EntryIx], reader: &EntryReader) -> io::Result<usize> {
    let compaction = path.len() - 1;
    let first = reader.with_entry(path[compaction], |line| {
        let id = line.get_text("firstKeptEntryId")?;
        reader.session().index_on_path(&path[..compaction], &id)
    })?;
    Ok(first.unwrap_or(compaction))
}

/// Returns the ancestors of the compaction at the end of `path` that contexts below it still use:
/// the entries that it keeps, and the entries that set the thinking level, the tools and the model.
pub fn ancestors_in_use(path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<EntryIx>> {
    let session = reader.session();
    let Some((_, above)) = path.split_last() else {
        return Ok(Vec::new());
    };

    let mut used = above[first_kept_index(path, reader)?..].to_vec();
    let thinking = session.last_index_of_kind(above, Kind::ThinkingLevelChange);
    let tools = session.last_index_of_kind(above, Kind::ActiveToolsChange);
    let model = above.iter().rposition(|&ix| sets_model(session, ix));
    for index in [thinking, tools, model].into_iter().flatten() {
        used.push(above[index]);
    }
    Ok(used)
}

/// Whether an entry determines the model.
fn sets_model(session: &Session, ix: EntryIx) -> bool {
    session.entry(ix).kind == Kind::ModelChange || session.is_message(ix, Role::Assistant)
}

/// The messages that an entry has for the model.
#[derive(Default)]
pub(super) struct MessageBodies {
    /// The system message that a compaction stores. The model receives it first.
    checkpoint: Option<Body>,
    /// The message of the entry; for a compaction, its summary.
    pub(super) message: Option<Body>,
}

impl MessageBodies {
    /// Returns the messages of an entry that is not a compaction: at most one.
    fn from_message(message: Option<Body>) -> Self {
        MessageBodies {
            checkpoint: None,
            message,
        }
    }

    fn is_empty(&self) -> bool {
        self.checkpoint.is_none() && self.message.is_none()
    }

    /// Returns the messages in the order in which the model receives them.
    fn in_order(self) -> impl Iterator<Item = Body> {
        self.checkpoint.into_iter().chain(self.message)
    }
}

/// Returns the messages that an entry has for the model, before edits of the context. Only a
/// compaction may have two, its checkpoint and its summary.
pub(super) fn message_bodies(ix: EntryIx, reader: &EntryReader) -> io::Result<MessageBodies> {
    match reader.session().entry(ix).kind {
        Kind::Message => Ok(MessageBodies::from_message(message_body(ix, reader)?)),
        Kind::CustomMessage => reader.with_entry(ix, |line| {
            let message = build_custom_message(line, Some(b"[]"));
            MessageBodies::from_message(Some(Body::from_json(message)))
        }),
        Kind::BranchSummary => reader.with_entry(ix, |line| {
            if !content::has_truthy(line, "summary") {
                return MessageBodies::default();
            }
            MessageBodies::from_message(Some(Body::from_json(build_branch_summary(line))))
        }),
        Kind::Compaction => reader.with_entry(ix, |line| {
            let checkpoint = line
                .get("systemMessage")
                .filter(|system| system.is_truthy())
                .map(|system| Body::from_json(system.bytes().to_vec()));
            MessageBodies {
                checkpoint,
                message: Some(Body::from_json(build_compaction_summary(line))),
            }
        }),
        _ => Ok(MessageBodies::default()),
    }
}

/// Returns the message of a `message` entry; `None` if its line has no message.
///
/// A message of the system, the user, the model or a tool needs content. If it has none, it gets
/// empty content, of the type that pi writes for its role: text for the system, a list of blocks
/// for the others. Any other message is as stored.
pub(super) fn message_body(ix: EntryIx, reader: &EntryReader) -> io::Result<Option<Body>> {
    let entry = reader.session().entry(ix);
    if entry.role == Role::Missing {
        // Without a role, even whether there is a message is not known without reading the line.
        let has_message =
            reader.with_entry(ix, |line| line.get("message").is_some_and(Raw::is_object))?;
        return Ok(if has_message {
            Some(Body::Stored)
        } else {
            None
        });
    }

    if !entry.flags.contains(Flags::NO_CONTENT) {
        return Ok(Some(Body::Stored));
    }
    let Some(empty_content) = empty_content_of(entry.role) else {
        return Ok(Some(Body::Stored));
    };
    let completed = reader.with_entry(ix, |line| {
        let message = line.get("message")?;
        Some(set_content(message, Some(empty_content)))
    })?;
    match completed {
        Some(completed) => Ok(Some(Body::from_json(completed))),
        // The message had a role when the file was loaded, so the file has changed since.
        None => Ok(Some(Body::Stored)),
    }
}

/// Returns the JSON of the empty content that pi gives to a message in this role; `None` for a role
/// whose messages need no content.
fn empty_content_of(role: Role) -> Option<&'static [u8]> {
    match role {
        Role::System => Some(b"\"\""),
        Role::User | Role::Assistant | Role::ToolResult => Some(b"[]"),
        _ => None,
    }
}

/// Converts a `custom_message` entry to a message. Content that is missing or `null` becomes
/// `default_content`, if that is given.
pub(super) fn build_custom_message(line: Raw, default_content: Option<&[u8]>) -> Vec<u8> {
    let [stored, timestamp] = content::find_members(line, ["content", "timestamp"]);
    let has_content = stored.is_some_and(|content| !content.is_null());
    let content = match default_content {
        Some(default) if !has_content => Some(default),
        _ => stored.map(Raw::bytes),
    };
    write::Object::new()
        .str("role", "custom")
        .copy_members(line, &["customType"])
        .with(content, |object, value| object.json("content", value))
        .copy_members(line, &["display", "details"])
        .json("timestamp", &timestamp_json(timestamp))
        .finish()
}

/// Converts a `branch_summary` entry to a message.
pub(super) fn build_branch_summary(line: Raw) -> Vec<u8> {
    build_summary(line, "branchSummary", "fromId")
}

/// Converts a `compaction` entry to a message, without its system message.
pub(super) fn build_compaction_summary(line: Raw) -> Vec<u8> {
    build_summary(line, "compactionSummary", "tokensBefore")
}

/// Converts a summary entry to a message in this role. `other_member` is one more member to copy.
fn build_summary(line: Raw, role: &str, other_member: &str) -> Vec<u8> {
    write::Object::new()
        .str("role", role)
        .copy_members(line, &["summary", other_member])
        .json("timestamp", &timestamp_json(line.get("timestamp")))
        .finish()
}

/// Returns `new Date(timestamp).getTime()` as JSON.
fn timestamp_json(timestamp: Option<Raw>) -> Vec<u8> {
    time::date_from_value(timestamp).map_or(b"null".to_vec(), |ms| ms.to_string().into_bytes())
}

/// Returns the settings in effect at the end of the path, by name, as JSON: the thinking level,
/// `off` by default, and the model, `null` by default.
///
/// If the last entry that changes the thinking level has none, the setting is `undefined` in pi,
/// and is left out here.
fn read_settings(
    path: &[EntryIx],
    reader: &EntryReader,
) -> io::Result<Vec<(&'static str, Vec<u8>)>> {
    let session = reader.session();
    let mut settings = Vec::new();

    let level = match session.last_index_of_kind(path, Kind::ThinkingLevelChange) {
        Some(index) => reader.with_entry(path[index], |line| {
            line.get("thinkingLevel")
                .map(|level| level.bytes().to_vec())
        })?,
        None => Some(string::encode_to_vec(&Text::from("off"))),
    };
    if let Some(level) = level {
        settings.push(("thinkingLevel", level));
    }

    let model = match path.iter().rposition(|&ix| sets_model(session, ix)) {
        Some(index) => {
            let kind = session.entry(path[index]).kind;
            reader.with_entry(path[index], |line| read_model(kind, line))?
        }
        None => b"null".to_vec(),
    };
    settings.push(("model", model));
    Ok(settings)
}

/// Returns the model that an entry sets, as JSON: a `model_change`, or an assistant message, which
/// sets the model that wrote it.
fn read_model(kind: Kind, line: Raw) -> Vec<u8> {
    let [provider, id] = if kind == Kind::ModelChange {
        content::find_members(line, ["provider", "modelId"])
    } else {
        let message = line.get("message").unwrap_or(Raw::NULL);
        content::find_members(message, ["provider", "model"])
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
        let context = build_context(&made.path(), &made.reader()).unwrap();
        let setting = |(name, json): (_, Vec<u8>)| (name, String::from_utf8(json).unwrap());
        (
            made.json(&context.messages),
            context.settings.into_iter().map(setting).collect(),
        )
    }

    fn speakers(entries: &[String]) -> Vec<String> {
        let made = chain(entries);
        made.ids(
            &Projection::from_path(&made.path(), &made.reader())
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
