//! The input of a summary: the messages that either agent selects for it, and the files that they
//! name. Files are found in tool calls, and in the `details` of earlier summaries.
//!
//! The types here are filled in by `pi` and `oh_my_pi`. The commands print them; the prompts and
//! the built-in summary read them.

use super::ordered::OrderedMap;
use super::readable::{Folders, shorten_path};
use crate::session::Session;
use crate::session::content;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::file_calls::{FileAction, FileTool, called_file};
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use foldhash::HashSet;
use pisess_json::Raw;
use pisess_json::text::{Text, concat_texts};
use pisess_json::write::{Object, text_array};
use std::io;

/// Where the kept part of a compaction starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstKept {
    /// Where the agent would cut to keep this many recent tokens.
    RecentTokens(u64),
    /// At an entry of the path.
    Entry(EntryIx),
    /// Nowhere: everything before the compaction is summarized.
    Nothing,
}

/// Where a compaction divides the list of what it may summarize or keep: pi's projected entries, or
/// oh-my-pi's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The index of the first item that is kept; the length of the list if nothing is kept.
    pub index: usize,
    /// The entry for `firstKeptEntryId`; `None` to keep nothing. An entry that the caller chose
    /// need not be in the list. Then `index` is that of the next item.
    pub first_kept: Option<EntryIx>,
}

/// A compaction before its summary is written.
#[derive(Clone, Debug, Default)]
pub struct Preparation {
    /// The entry for `firstKeptEntryId`; `None` for the compaction's own id, which keeps nothing.
    pub first_kept: Option<EntryIx>,
    /// Whether the cut is inside a turn.
    pub is_split_turn: bool,
    /// The agent's estimate of the current context, in tokens. May be any JavaScript number.
    pub tokens_before: f64,
    /// How many tokens the provider counted per estimated token, at least 1. May be any such
    /// JavaScript number.
    pub token_ratio: f64,
    /// The summary of the compaction in effect; `None` without one.
    pub previous_summary: Option<Text<'static>>,
    /// The messages that the summary replaces, in order, without the turn that is split.
    pub messages_to_summarize: Vec<ContextMessage>,
    /// The messages before the cut of the turn that is split.
    pub turn_prefix_messages: Vec<ContextMessage>,
    /// The files that those messages name, and those that the summaries before list.
    pub file_ops: FileOps,
    /// All compactions on the path, newest first.
    pub previous_compactions: Vec<EntryIx>,
}

impl Preparation {
    /// Takes over the summary and the files of the compaction in effect, given its line.
    pub fn continue_from(&mut self, compaction: Raw, session: &Session) {
        self.previous_summary = compaction.get_text("summary").map(Text::into_owned);
        self.file_ops.add_summary_details(compaction, session);
    }

    /// Returns the text that a new summary continues: the previous summary, followed by the text
    /// that the newest compaction archived. `None` without a previous summary.
    ///
    /// Only the snapcompact compactions of oh-my-pi archive text: in place of a summary, they store
    /// the old history itself. Their summary alone would lose that history.
    pub fn summary_with_archive(&self, reader: &EntryReader) -> io::Result<Option<Text<'static>>> {
        let Some(summary) = self.previous_summary.clone() else {
            return Ok(None);
        };
        let Some(newest_compaction) = self.newest_compaction() else {
            return Ok(Some(summary));
        };
        let agent = reader.session().agent();
        let archived = reader.with_entry(newest_compaction, |line| agent.archived_text(line))?;
        let Some(archived) = archived else {
            return Ok(Some(summary));
        };
        let gap = if summary.is_empty() { "" } else { "\n\n" };
        Ok(Some(concat_texts(&[
            &summary,
            &gap,
            &"Text that was archived then:\n\n",
            &archived,
        ])))
    }

    fn newest_compaction(&self) -> Option<EntryIx> {
        self.previous_compactions.first().copied()
    }

    /// Completes the input of a compaction, whose messages and first kept entry must be set:
    /// collects the files that the messages name, and lists the compactions on `path`.
    ///
    /// `None` if there is nothing to summarize, or if the first kept entry has no id by which the
    /// compaction could name it.
    pub fn finish(mut self, path: &[EntryIx], reader: &EntryReader) -> io::Result<Option<Self>> {
        let session = reader.session();
        if let Some(first_kept) = self.first_kept
            && session.entry(first_kept).id.is_empty()
        {
            return Ok(None);
        }
        if self.messages_to_summarize.is_empty() && self.turn_prefix_messages.is_empty() {
            return Ok(None);
        }

        // In the order of the path, because the lists of files are in the order of their first use.
        for message in &self.messages_to_summarize {
            self.file_ops.add_message(message, reader)?;
        }
        for message in &self.turn_prefix_messages {
            self.file_ops.add_message(message, reader)?;
        }

        // Newest first: `newest_compaction` takes the first one.
        for &ix in path.iter().rev() {
            if session.entry(ix).kind == Kind::Compaction {
                self.previous_compactions.push(ix);
            }
        }
        Ok(Some(self))
    }
}

/// The files named by tool calls.
#[derive(Clone, Debug, Default)]
pub struct FileOps {
    /// The files that `read` read.
    pub read: OrderedMap<Text<'static>>,
    /// The files that `write` wrote.
    pub written: OrderedMap<Text<'static>>,
    /// The files that `edit` changed, and those that an earlier summary lists as modified.
    pub edited: OrderedMap<Text<'static>>,
    /// The files in `read`, in the order in which each was last read.
    last_read: OrderedMap<Text<'static>>,
    /// The files of calls that the agents leave out of their lists.
    unlisted: Vec<(FileAction, Text<'static>)>,
    /// The files that were removed, renamed or moved, and not used since. The agents do not know
    /// of them: they are in the details of earlier summaries by pisess, and are added when a new
    /// summary finds more.
    removed: OrderedMap<Text<'static>>,
}

impl FileOps {
    /// Adds the files that the tool calls of a message name (`extractFileOpsFromMessage`): the
    /// calls in an assistant message and, in pi, the calls that a tool made itself, which its
    /// result records as nested calls.
    ///
    /// The line of the message is read only if its calls were not collected when the session was
    /// loaded.
    pub fn add_message(
        &mut self,
        message: &ContextMessage,
        reader: &EntryReader,
    ) -> io::Result<()> {
        let session = reader.session();
        let role = session.entry(message.entry).role;
        let has_nested_calls =
            role == Role::ToolResult && session.agent().constants().lists_nested_calls;
        if role != Role::Assistant && !has_nested_calls {
            return Ok(());
        }
        if let Some(calls) = message.file_calls(session) {
            for call in calls {
                self.add_call_path(call.tool, session.text(call.path), session);
            }
            return Ok(());
        }

        message.with_json(reader, |json| {
            let calls = if has_nested_calls {
                nested_calls(json)
            } else {
                let content = json.get("content").unwrap_or(Raw::NULL);
                content::blocks_of_type(content, "toolCall").collect()
            };
            for call in calls {
                self.add_call(call, session);
            }
        })
    }

    /// Adds the file that a tool call names, if it names one.
    fn add_call(&mut self, call: Raw, session: &Session) {
        let [name, arguments] = content::find_members(call, ["name", "arguments"]);
        if let Some(file) = called_file(name, arguments) {
            self.add_call_path(file.tool, file.path, session);
        }
    }

    /// Adds the path of a tool call, unless the agent never lists it. In oh-my-pi, the path of a
    /// read may end with a selection of lines, as in `a.rs:5-9`, which is removed.
    ///
    /// The agents overlook some calls (`is_unlisted`), such as those of Claude Code's tools. Their
    /// paths are kept apart: they are missing in the `details` of a summary, as in the agent, but
    /// not in its text.
    fn add_call_path(&mut self, tool: FileTool, path: Text, session: &Session) {
        let agent = session.agent();
        if !agent.lists_path(&path) {
            return;
        }
        let path = match tool.action {
            FileAction::Read => agent.strip_read_selector(path),
            FileAction::Write | FileAction::Edit => path,
        };
        if tool.is_unlisted {
            self.unlisted.push((tool.action, path.into_owned()));
        } else {
            self.insert_path(tool.action, path);
        }
    }

    /// Adds a path to the set of files with this action. As in the agents, a set is in the order in
    /// which files were first used: a new path is added at the end, and one that the set contains
    /// keeps its position. In addition, `last_read` has the order of the last reads.
    fn insert_path(&mut self, action: FileAction, path: Text) {
        let path = path.into_owned();
        // A file that is used is there again.
        self.removed.remove(&path);
        match action {
            FileAction::Read => {
                // Removed first, because a path in the set would keep its position.
                self.last_read.remove(&path);
                self.last_read.insert(path.clone());
                self.read.insert(path);
            }
            FileAction::Write => self.written.insert(path),
            FileAction::Edit => self.edited.insert(path),
        }
    }

    /// Adds the files that an earlier summary lists in its `details`. Those that it lists as
    /// modified count as edited, as in the agents. If a hook wrote the summary, its `details` are
    /// ignored, because hooks define their own.
    pub fn add_summary_details(&mut self, line: Raw, session: &Session) {
        let agent = session.agent();
        if content::has_truthy(line, agent.constants().hook_key) {
            return;
        }
        let Some(details) = line.get("details") else {
            return;
        };
        let read_files = details.get("readFiles").unwrap_or(Raw::NULL);
        for path in read_files.items().filter_map(Raw::text) {
            self.insert_path(FileAction::Read, agent.strip_read_selector(path));
        }
        let modified_files = details.get("modifiedFiles").unwrap_or(Raw::NULL);
        for path in modified_files.items().filter_map(Raw::text) {
            self.insert_path(FileAction::Edit, path);
        }
        // After the other lists, which have these files, too.
        let removed_files = details.get("removedFiles").unwrap_or(Raw::NULL);
        for path in removed_files.items().filter_map(Raw::text) {
            self.removed.insert(path.into_owned());
        }
    }

    /// Forgets the removal of files that commands wrote or restored. Those that other tools use are
    /// forgotten when their calls are added.
    pub fn forget_removals(&mut self, is_restored: impl Fn(&str) -> bool) {
        let removed = std::mem::take(&mut self.removed);
        for path in removed.keys() {
            if !is_restored(&path.to_string_lossy()) {
                self.removed.insert(path.clone());
            }
        }
    }

    /// Records which of the listed files were removed, so that the next summary leaves them out of
    /// its text, too. All later summaries do, so `is_removed` must be certain.
    pub fn add_removals(&mut self, session: &Session, is_removed: impl Fn(&str) -> bool) {
        let lists = self.file_lists(session);
        for path in lists.read_files.into_iter().chain(lists.modified_files) {
            if is_removed(&path.to_string_lossy()) {
                self.removed.insert(path);
            }
        }
    }

    /// Takes over what depends on the order of the calls: which files were read last, and which are
    /// still gone.
    fn take_order_from(&mut self, in_order: FileOps) {
        self.last_read = in_order.last_read;
        self.unlisted = in_order.unlisted;
        self.removed = in_order.removed;
    }

    /// Returns all files, including those that the agents do not list.
    fn with_unlisted(&self) -> FileOps {
        let mut all = self.clone();
        let unlisted = std::mem::take(&mut all.unlisted);
        for (action, path) in unlisted {
            all.insert_path(action, path);
        }
        all
    }

    /// Returns the files as JSON, as printed for a preparation.
    pub fn to_json(&self) -> Vec<u8> {
        Object::new()
            .json("read", &text_array(self.read.keys()))
            .json("written", &text_array(self.written.keys()))
            .json("edited", &text_array(self.edited.keys()))
            .finish()
    }

    /// Returns the files for the `details` of a compaction or branch summary (`computeFileLists` in
    /// both agents), without those that the agent does not list.
    ///
    /// Each file is listed once: as modified if it was edited or written, even if it was also read.
    pub fn file_lists(&self, session: &Session) -> FileLists {
        let agent = session.agent();
        let is_modified =
            |path: &Text| self.edited.get(path).is_some() || self.written.get(path).is_some();

        let mut lists = FileLists::default();
        for path in self.read.keys() {
            if !is_modified(path) && agent.lists_path(path) {
                lists.read_files.push(path.clone());
            }
        }
        for path in self.edited.keys().chain(self.written.keys()) {
            if agent.lists_path(path) {
                lists.modified_files.push(path.clone());
            }
        }
        for path in self.removed.keys() {
            lists.removed_files.push(path.clone());
        }

        // As JavaScript sorts strings.
        lists.read_files.sort_by(Text::cmp_utf16);
        lists.modified_files.sort_by(Text::cmp_utf16);
        lists.removed_files.sort_by(Text::cmp_utf16);
        // A file may have been edited and written.
        lists.modified_files.dedup();
        lists
    }

    /// Returns a summary in the form in which the agent stores it: with its files, also those that
    /// the agents do not list.
    pub fn append_to_summary(&self, summary: Text<'static>, session: &Session) -> Text<'static> {
        let all = self.with_unlisted();
        session
            .agent()
            .append_file_list(summary, &all.file_lists(session), &all.read)
    }

    /// Appends a list of files to a summary that was made without a model. It names all files that
    /// were changed but, of the files that were only read, the `MAX_LISTED_READS` that were read
    /// last, newest first. Files in the session's directory are named as seen from there. The
    /// `details` of the entry list all files, as they were named.
    ///
    /// Left out are files that were deleted (`is_removed`, or before an earlier summary) and,
    /// unless they were changed, installed packages and temporary files.
    pub fn append_short_file_list(
        &self,
        summary: Text<'static>,
        session: &Session,
        is_removed: impl Fn(&str) -> bool,
    ) -> Text<'static> {
        let all = self.with_unlisted();
        let FileLists {
            read_files: only_read,
            mut modified_files,
            removed_files: _,
        } = all.file_lists(session);
        let is_gone =
            |path: &Text| all.removed.get(path).is_some() || is_removed(&path.to_string_lossy());
        modified_files.retain(|path| !is_gone(path));

        // A file may be named from the session's directory and from the root.
        let folders = Folders {
            cwd: session.header.cwd.as_ref(),
            home: None,
        };
        let shorten = |path: &Text| shorten_path(path, folders);
        let mut listed = HashSet::default();
        let mut modified_names = Vec::new();
        for path in &modified_files {
            let name = shorten(path);
            if listed.insert(name.clone()) {
                modified_names.push(name);
            }
        }

        let only_read: HashSet<Text> = only_read.into_iter().collect();
        let cwd = folders.cwd.map(Text::to_string_lossy).unwrap_or_default();
        let mut read_last = Vec::new();
        for path in all.last_read.keys().rev() {
            if read_last.len() == MAX_LISTED_READS {
                break;
            }
            let is_listed = only_read.contains(path)
                && !is_gone(path)
                && !is_installed_or_temporary(&path.to_string_lossy(), &cwd);
            if !is_listed {
                continue;
            }
            let name = shorten(path);
            if listed.insert(name.clone()) {
                read_last.push(name);
            }
        }

        let short_lists = FileLists {
            read_files: read_last,
            modified_files: modified_names,
            removed_files: Vec::new(),
        };
        // oh-my-pi marks changed files that were read, too, so it needs all files that were read.
        let mut read = OrderedMap::default();
        for path in all.read.keys() {
            read.insert(shorten(path));
        }
        session
            .agent()
            .append_brief_file_list(summary, &short_lists, &read)
    }
}

/// Returns the calls that a tool made itself, as its result records them in pi.
fn nested_calls(result: Raw<'_>) -> Vec<Raw<'_>> {
    let nested = result.get("nestedCalls").unwrap_or(Raw::NULL);
    nested.get("calls").unwrap_or(Raw::NULL).items().collect()
}

/// The maximum number of files that a built-in summary lists as read.
const MAX_LISTED_READS: usize = 10;

/// Whether a path is in a directory of installed packages or of temporary files. Files in the
/// session's own directory never count as temporary.
fn is_installed_or_temporary(path: &str, cwd: &str) -> bool {
    const TEMPORARY_DIRECTORIES: [&str; 5] = [
        "/tmp/",
        "/var/tmp/",
        "/private/tmp/",
        "/var/folders/",
        "/private/var/folders/",
    ];
    if path.split(['/', '\\']).any(|part| part == "node_modules") {
        return true;
    }
    let own_path = path.strip_prefix(cwd.trim_end_matches('/'));
    let is_own = !cwd.is_empty() && own_path.is_some_and(|rest| rest.starts_with('/'));
    let is_temporary = TEMPORARY_DIRECTORIES
        .iter()
        .any(|directory| path.starts_with(directory));
    is_temporary && !is_own
}

/// The files of a summary. The lists are sorted by UTF-16 units, except in the short list of a
/// built-in summary.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileLists {
    /// Files that were read and not changed.
    pub read_files: Vec<Text<'static>>,
    /// Files that were written or edited.
    pub modified_files: Vec<Text<'static>>,
    /// Files of both lists that were deleted or renamed later. Only pisess writes this list; the
    /// agents ignore it.
    pub removed_files: Vec<Text<'static>>,
}

/// The limit of both agents for the messages of a branch summary, in tokens: the usual context
/// window, without what they reserve for the prompt and the response.
pub const BRANCH_BUDGET: BranchBudget = BranchBudget::Tokens(128_000 - 16_384);

/// How much of a branch its summary covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchBudget {
    /// The newest messages of at most this many tokens.
    Tokens(u64),
    /// All messages. They are not measured, and the files that they touched are not listed.
    Unlimited,
}

/// Collects the messages for the summary of a branch, and the files for its lists. The entries in
/// `branch` are given oldest first.
///
/// The messages are the newest ones that together fit into `budget` by their estimates, oldest
/// first. The files are the ones that these messages name, and the ones that earlier branch
/// summaries list. `message_of` returns the message of an entry, and `estimate` its tokens; both
/// differ between the agents.
pub fn collect_branch_input(
    branch: &[EntryIx],
    reader: &EntryReader,
    budget: BranchBudget,
    estimate: fn(Raw) -> u64,
    message_of: impl Fn(EntryIx) -> io::Result<Option<ContextMessage>>,
) -> io::Result<(Vec<ContextMessage>, FileOps)> {
    let session = reader.session();
    let mut file_ops = FileOps::default();
    for &ix in branch {
        if session.entry(ix).kind == Kind::BranchSummary {
            reader.with_entry(ix, |line| file_ops.add_summary_details(line, session))?;
        }
    }

    let mut messages = Vec::new();
    // The message whose files are listed although it does not fit.
    let mut message_above = None;
    let mut total_tokens = 0;
    for &ix in branch.iter().rev() {
        let Some(message) = message_of(ix)? else {
            continue;
        };
        let max_tokens = match budget {
            BranchBudget::Tokens(max_tokens) => max_tokens,
            BranchBudget::Unlimited => {
                messages.push(message);
                continue;
            }
        };

        // Before the check, as in the agents: the files of the first message that does not fit are
        // listed, too.
        file_ops.add_message(&message, reader)?;
        let tokens = message.with_json(reader, estimate)?;
        let fits = total_tokens + tokens <= max_tokens;
        let is_summary = matches!(
            session.entry(ix).kind,
            Kind::Compaction | Kind::BranchSummary
        );
        let has_tenth_left = total_tokens * 10 < max_tokens * 9;
        // A summary that does not fit is included nevertheless if more than a tenth of the budget
        // is left.
        if fits || (is_summary && has_tenth_left) {
            messages.push(message);
            total_tokens += tokens;
        } else {
            message_above = Some(message);
        }
        if !fits {
            break;
        }
    }
    messages.reverse();

    if budget != BranchBudget::Unlimited {
        let in_order =
            collect_files_in_order(branch, message_above.iter().chain(&messages), reader)?;
        file_ops.take_order_from(in_order);
    }
    Ok((messages, file_ops))
}

/// Collects the files of a branch in the order of its entries: the files that `messages`, oldest
/// first, name, and the files that branch summaries list. The agents collect them in another order,
/// on which their lists do not depend.
fn collect_files_in_order<'m>(
    branch: &[EntryIx],
    messages: impl Iterator<Item = &'m ContextMessage>,
    reader: &EntryReader,
) -> io::Result<FileOps> {
    let session = reader.session();
    let mut messages = messages.peekable();
    let mut file_ops = FileOps::default();
    // An entry has one message or none: it has the next message if that message names it.
    for &ix in branch {
        if session.entry(ix).kind == Kind::BranchSummary {
            reader.with_entry(ix, |line| file_ops.add_summary_details(line, session))?;
        }
        if let Some(message) = messages.next_if(|message| message.entry == ix) {
            file_ops.add_message(message, reader)?;
        }
    }
    Ok(file_ops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::*;
    use crate::load::LoadOptions;
    use crate::session::read::entry_reader::Body;

    fn files(sample: &Sample) -> [Vec<String>; 3] {
        let mut ops = FileOps::default();
        for entry in sample.path() {
            let message = ContextMessage {
                entry,
                body: Body::Stored,
            };
            ops.add_message(&message, &sample.reader()).unwrap();
        }
        [ops.read, ops.written, ops.edited].map(|paths| paths.keys().map(Text::to_string).collect())
    }

    #[test]
    fn a_short_list_has_each_file_once() {
        let mut ops = FileOps::default();
        for (action, path) in [
            (FileAction::Edit, "src/a.rs"),
            (FileAction::Edit, "/p/src/a.rs"),
            (FileAction::Read, "/p/src/b.rs"),
            (FileAction::Write, "src/b.rs"),
            (FileAction::Read, "c.rs"),
            (FileAction::Read, "/p/c.rs"),
        ] {
            ops.insert_path(action, Text::from(path));
        }
        let session = chain(&[]).session;
        let summary = ops.append_short_file_list(Text::from("s"), &session, |_| false);
        assert_eq!(
            summary.to_string_lossy(),
            "s\n\n<read-files>\nc.rs\n</read-files>\n\n\
             <modified-files>\nsrc/a.rs\nsrc/b.rs\n</modified-files>"
        );
    }

    #[test]
    fn files_found_while_loading_are_those_in_the_messages() {
        let call = |name: &str, path: &str| {
            format!(
                r#"{{"type":"toolCall","name":"{name}","arguments":{{"path":"old","path":"{path}"}}}}"#
            )
        };
        let assistant = [
            call("read", "a"),
            call("edit", ""),
            call("\\u0065dit", "b\\n"),
            call("ls", "c"),
        ];
        let other = r#"{"type":"text","name":"read","arguments":{"path":"d"}},null,7"#;
        let nested = [call("write", "e"), call("read", "a")].join(",");
        let entries = [
            says("user", &format!(r#""content":[{}]"#, call("read", "f"))),
            says(
                "assistant",
                &format!(
                    r#""content":"","content":[{},{other}]"#,
                    assistant.join(",")
                ),
            ),
            says(
                "toolResult",
                &format!(r#""content":[],"nested\u0043alls":{{"calls":[{nested}]}}"#),
            ),
            says(
                "assistant",
                &format!(r#""content":[{}],"content":"text""#, call("read", "g")),
            ),
            says("assistant", ""),
        ];
        let sample = chain(&entries);
        assert!(sample.session.file_calls(sample.path()[1]).is_none());
        let expected = [vec!["a"], vec!["e"], vec!["b\n"]];
        assert_eq!(files(&sample), expected);
        let sample = sample.loaded(&LoadOptions {
            file_calls: true,
            ..LoadOptions::default()
        });
        assert_eq!(
            sample.session.file_calls(sample.path()[2]).unwrap().len(),
            2
        );
        assert_eq!(files(&sample), expected);
        let none = chain(&entries[4..]).loaded(&LoadOptions {
            file_calls: true,
            ..LoadOptions::default()
        });
        assert!(
            none.session
                .file_calls(none.path()[0])
                .is_some_and(<[_]>::is_empty)
        );
    }

    #[test]
    fn a_call_before_the_summary_of_a_removal_does_not_undo_it() {
        let call = |path: &str| {
            says(
                "assistant",
                &format!(
                    r#""content":[{{"type":"toolCall","name":"read","arguments":{{"path":"{path}"}}}}]"#
                ),
            )
        };
        let summary = r#""type":"branch_summary","fromId":"x","summary":"s","details":{"readFiles":["a","b"],"modifiedFiles":[],"removedFiles":["a","b"]}"#;
        let sample = chain(&[call("a"), summary.to_owned(), call("b"), call("c")]);
        let (messages, files) = crate::agents::pi::branch::prepare_branch_summary(
            &sample.path(),
            &sample.reader(),
            BRANCH_BUDGET,
        )
        .unwrap();
        assert_eq!(messages.len(), 4);
        assert!(files.removed.keys().eq(["a"]));
        assert!(files.last_read.keys().eq(["a", "b", "c"]));
    }

    #[test]
    fn a_changed_file_is_not_listed_as_read() {
        let mut ops = FileOps::default();
        for path in ["b", "a", "c", "a"] {
            ops.read.set(path.into(), ());
        }
        ops.written.set("c".into(), ());
        ops.edited.set("c".into(), ());
        ops.edited.set("\u{ff5e}".into(), ());
        ops.written.set("😀".into(), ());
        assert!(ops.read.keys().eq(["b", "a", "c"]));
        let lists = ops.file_lists(&chain(&[]).session);
        assert_eq!(lists.read_files, ["a", "b"].map(Text::from));
        assert_eq!(
            lists.modified_files,
            ["c", "😀", "\u{ff5e}"].map(Text::from)
        );
    }
}
