//! Collects what statistics need of entries and tool calls.

use super::classify::is_truthy;
use super::fragment::Fragment;
use crate::session::Session;
use crate::session::collected::{Attribution, CountedCall};
use crate::session::entry::{EntryIx, Kind, Role, Slice};
use crate::session::file_calls::{CalledFile, FileAction, FileCall, called_files};
use crate::session::paths::absolute_path;
use crate::session::read::record::{Block, Member, MessageFacts, ParsedEntry, Record};
use foldhash::HashSet;
use pisess_json::Raw;
use pisess_json::text::Text;

impl Fragment {
    /// Stores what statistics need of an entry:
    ///
    /// - of a reply: its model, and each of its calls
    /// - of the result of a call: the tool
    /// - of a record of usage: the model
    /// - of a custom message by the user: that the entry is one
    ///
    /// Of other entries, nothing is stored. All but the calls is stored as an [`Attribution`].
    ///
    /// Relative paths in calls start from `cwd`. The paths of files that are only read are stored
    /// only if `with_read_paths` is set.
    pub fn keep_stats(
        &mut self,
        entry: EntryIx,
        parsed: &ParsedEntry,
        cwd: Option<&Text>,
        with_read_paths: bool,
    ) {
        let Some(attribution) = self.build_attribution(entry, parsed) else {
            return;
        };

        // The calls are stored before the attribution of their reply. Until it is pushed, the last
        // attribution belongs to the entry before, which is often a result of the same tool:
        // `keep_name` then reuses the name of the tool.
        let is_reply = parsed.role == Role::Assistant; // Only a message has a role.
        if is_reply {
            for call in parsed.blocks.iter().filter(|block| block.is_call()) {
                self.keep_counted_call(entry, call, cwd, with_read_paths);
            }
        }
        self.collected.attributions.push(attribution);
    }

    /// Returns the attribution of an entry, which [`Self::keep_stats`] describes. `None` if
    /// statistics need nothing of the entry.
    fn build_attribution(&mut self, entry: EntryIx, parsed: &ParsedEntry) -> Option<Attribution> {
        let record = parsed.record;
        match parsed.kind {
            Kind::Message => {
                let message = record.message.as_ref()?;
                match parsed.role {
                    Role::Assistant => Some(self.build_reply_attribution(entry, message)),
                    Role::ToolResult => Some(self.build_result_attribution(entry, message)),
                    _ => None,
                }
            }
            Kind::Usage | Kind::ModelUsage => Some(self.build_usage_attribution(entry, record)),
            Kind::CustomMessage if is_by_user(record) => Some(Attribution::empty(entry)),
            _ => None,
        }
    }

    /// Returns the model of a reply, whether it has usage, and when it began. The names are stored
    /// in the arena.
    fn build_reply_attribution(&mut self, entry: EntryIx, message: &MessageFacts) -> Attribution {
        let respondent = message.respondent();
        let usage = message.get(Member::Usage);
        // The time in a message is when the reply began, not when its line was written.
        let began_ms = message.get(Member::Timestamp).and_then(Raw::number);
        Attribution {
            provider: self.keep_name(respondent.provider),
            model: self.keep_name(respondent.model),
            has_usage: usage.is_some_and(Raw::is_object),
            began_ms: began_ms.map(|time| time as i64),
            ..Attribution::empty(entry)
        }
    }

    /// Returns the tool of a result and, if the tool failed, the id of the call. Both strings are
    /// stored in the arena.
    fn build_result_attribution(&mut self, entry: EntryIx, message: &MessageFacts) -> Attribution {
        let tool = message.get(Member::ToolName).and_then(Raw::text);
        let mut attribution = Attribution {
            tool: self.keep_name(tool),
            ..Attribution::empty(entry)
        };
        if is_truthy(message, Member::IsError)
            && let Some(call_id) = message.get(Member::ToolCallId).and_then(Raw::text)
        {
            attribution.failed_call_id = self.keep_text(&call_id);
        }
        attribution
    }

    /// Returns the model of an entry that records only usage. The names are stored in the arena.
    fn build_usage_attribution(&mut self, entry: EntryIx, record: &Record) -> Attribution {
        Attribution {
            provider: self.keep_name(record.get(Member::Provider).and_then(Raw::text)),
            model: self.keep_name(record.get(Member::Model).and_then(Raw::text)),
            ..Attribution::empty(entry)
        }
    }

    /// Stores a tool call once for each file that it reads or changes; a call that names no file,
    /// once. Whether the tool failed is not known yet: see [`mark_failed_calls`].
    ///
    /// The path of a file that is only read stays empty, unless `with_read_paths` is set.
    fn keep_counted_call(
        &mut self,
        entry: EntryIx,
        call: &Block,
        cwd: Option<&Text>,
        with_read_paths: bool,
    ) {
        let without_file = CountedCall {
            entry,
            tool: self.keep_name(call.name.and_then(Raw::text)),
            file: None,
            id: Slice::default(),
            is_further_file: false,
            has_failed: false,
        };
        let files = called_files(call.name, call.arguments);
        if files.is_empty() {
            self.collected.counted_calls.push(without_file);
            return;
        }

        // Only a call that names a file needs an id. The result has the same id, and shows whether
        // the file was really changed.
        let id = match call.id.and_then(Raw::text) {
            Some(call_id) => self.keep_text(&call_id),
            None => Slice::default(),
        };
        let mut is_further_file = false;
        for CalledFile { tool, path } in files {
            let needs_path = with_read_paths || tool.action != FileAction::Read;
            let path = if needs_path {
                self.keep_absolute_path(&path, cwd)
            } else {
                Slice::default()
            };
            self.collected.counted_calls.push(CountedCall {
                file: Some(FileCall { entry, tool, path }),
                id,
                is_further_file,
                ..without_file
            });
            // Only the first file counts as a call.
            is_further_file = true;
        }
    }

    /// Stores the path of a file. If it is relative, it starts from `cwd`.
    fn keep_absolute_path(&mut self, path: &Text, cwd: Option<&Text>) -> Slice {
        let absolute = absolute_path(path.as_bytes(), cwd.map(Text::as_bytes));
        Slice::append(&absolute, &mut self.arena)
    }

    /// Stores a name in the arena, and returns its place there; an empty one for `None`.
    ///
    /// A name that the last attribution has is not stored again, because most replies have the
    /// model of the reply before. It may be the name of anything there: only the text counts.
    fn keep_name(&mut self, name: Option<Text>) -> Slice {
        let Some(name) = name else {
            return Slice::default();
        };
        if let Some(last) = self.collected.attributions.last() {
            for stored in [last.provider, last.model, last.tool] {
                if self.arena[stored.range()] == *name.as_bytes() {
                    return stored;
                }
            }
        }
        self.keep_text(&name)
    }
}

/// Whether a custom message is by the user. In oh-my-pi, a request of the user may have this form,
/// such as the call of a skill.
fn is_by_user(record: &Record) -> bool {
    let author = Raw::from_checked(record.bytes).get("attribution");
    author.is_some_and(|author| author.is("user"))
}

/// Sets `has_failed` of the calls that name a file and whose result is an error. All lines must
/// have been read, because a result comes after its call.
pub fn mark_failed_calls(session: &mut Session) {
    let failed_ids = collect_failed_ids(session);
    if failed_ids.is_empty() {
        return;
    }

    // The fields are borrowed one by one: the ids are read from the arena while the calls change.
    let Session {
        collected, arena, ..
    } = session;
    for call in &mut collected.counted_calls {
        // A call that names no file has an empty id, which is not in the set.
        call.has_failed = failed_ids.contains(&arena[call.id.range()]);
    }
}

/// Returns the ids of the calls that failed, according to their results.
fn collect_failed_ids(session: &Session) -> HashSet<Vec<u8>> {
    let mut failed_ids = HashSet::default();
    for attribution in &session.collected.attributions {
        let call_id = session.bytes(attribution.failed_call_id);
        // It is empty unless the attribution is of a result that is an error.
        if !call_id.is_empty() {
            failed_ids.insert(call_id.to_vec());
        }
    }
    failed_ids
}
