//! The input of a summary: the result of either agent's preparation, before any text is written.
//!
//! The types here are filled in by `pi` and `oh_my_pi`, printed by the commands, and read by the prompts and the
//! built-in summary.

use crate::session::entry::{EntryIx, Kind};
use crate::session::file_calls::{FileAct, FileTool};
use crate::session::read::entry_reader::{EntryReader, Message};
use foldhash::HashSet;
use pisess_json::text::Text;
use pisess_json::write::{Object, texts};
use pisess_json::{Raw, js};
use std::io;

/// Where the kept part of a compaction starts, if the caller specifies it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstKept {
    /// At this entry of the path.
    Entry(EntryIx),
    /// Nowhere: everything before the compaction is summarized.
    Nothing,
}

/// A compaction before its summary is written.
#[derive(Clone, Debug)]
pub struct Preparation {
    /// The entry for `firstKeptEntryId`; `None` for the compaction's own id, which keeps nothing.
    pub first_kept: Option<EntryIx>,
    /// Whether the cut is inside a turn.
    pub is_split_turn: bool,
    /// The agent's estimate of the current context in tokens, a JavaScript number.
    pub tokens_before: f64,
    /// How many of the tokens to keep an estimated token counts for, a JavaScript number.
    pub scale: f64,
    /// The summary of the compaction in effect, if any.
    pub previous_summary: Option<Text<'static>>,
    /// The messages that the summary replaces, in order, without the turn that is split.
    pub messages_to_summarize: Vec<Message>,
    /// The beginning of the turn that is split.
    pub turn_prefix_messages: Vec<Message>,
    /// The files touched by those messages and by the entries summarized before.
    pub file_ops: FileOps,
    /// All compactions on the path, newest first.
    pub previous_compactions: Vec<EntryIx>,
}

/// Paths without duplicates, in the order of their first occurrence.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    order: Vec<Text<'static>>,
    seen: HashSet<Text<'static>>,
}

impl Paths {
    /// Adds a path, unless it is present.
    pub fn insert(&mut self, path: Text) {
        if self.seen.contains(&path.borrowed()) {
            return;
        }
        let path = path.into_owned();
        self.order.push(path.clone());
        self.seen.insert(path);
    }

    /// Whether it contains the path.
    pub fn contains(&self, path: &Text) -> bool {
        self.seen.contains(&path.borrowed())
    }

    /// Returns the paths in the order they were added.
    pub fn iter(&self) -> std::slice::Iter<'_, Text<'static>> {
        self.order.iter()
    }
}

/// The files named by tool calls.
#[derive(Clone, Debug, Default)]
pub struct FileOps {
    /// Those read by `read`.
    pub read: Paths,
    /// Those written by `write`.
    pub written: Paths,
    /// Those changed by `edit`, and the modified files of an earlier summary.
    pub edited: Paths,
    /// The files of calls that the agents do not list.
    unlisted: Vec<(FileAct, Text<'static>)>,
}

impl FileOps {
    /// Adds the path of a call.
    pub fn add(&mut self, tool: FileTool, path: Text) {
        match tool.act {
            act if tool.is_unlisted => self.unlisted.push((act, path.into_owned())),
            FileAct::Read => self.read.insert(path),
            FileAct::Write => self.written.insert(path),
            FileAct::Edit => self.edited.insert(path),
        }
    }

    /// Adds the files in the `details` of a summary, unless a hook wrote it, which `hook_key` marks. `path` returns that of a
    /// file that was read.
    pub fn add_details(&mut self, line: Raw, hook_key: &str, path: fn(&Text) -> Text<'static>) {
        let Some(details) = line.get("details").filter(|_| !js::truthy(line.get(hook_key))) else { return };
        let texts = |key| details.get(key).into_iter().flat_map(Raw::items).filter_map(Raw::text);
        texts("readFiles").for_each(|read| self.read.insert(path(&read)));
        texts("modifiedFiles").for_each(|modified| self.edited.insert(modified));
    }

    /// Returns all files, including those that the agents do not list.
    pub fn all(&self) -> FileOps {
        let mut all = self.clone();
        for (act, path) in std::mem::take(&mut all.unlisted) {
            all.add(FileTool { act, is_unlisted: false }, path);
        }
        all
    }

    /// Returns them as JSON, as printed for a preparation.
    pub fn json(&self) -> Vec<u8> {
        Object::new()
            .json("read", &texts(self.read.iter()))
            .json("written", &texts(self.written.iter()))
            .json("edited", &texts(self.edited.iter()))
            .finish()
    }

    /// Returns the `details` of a compaction or branch summary (`computeFileLists`, the same in both agents):
    /// a file that was also changed is not listed as read.
    pub fn lists(&self) -> FileLists {
        let modified = |path: &&Text| self.edited.contains(path) || self.written.contains(path);
        let read = self.read.iter().filter(|path| !modified(path)).cloned();
        let new = self.written.iter().filter(|path| !self.edited.contains(path));
        FileLists {
            read_files: sorted(read.collect()),
            modified_files: sorted(self.edited.iter().chain(new).cloned().collect()),
        }
    }
}

/// The files of a summary, both lists sorted by UTF-16 unit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileLists {
    /// Read and not changed.
    pub read_files: Vec<Text<'static>>,
    /// Written or edited.
    pub modified_files: Vec<Text<'static>>,
}

/// The limit of both agents for the messages of a branch summary, in tokens: the usual context window minus their
/// reserve for prompt and response.
pub const BRANCH_BUDGET: u64 = 128_000 - 16_384;

/// Returns the input for the summary of a branch, whose entries are in order: the newest messages whose estimates fit
/// `budget`, and the files that these touched, or that earlier branch summaries list. `message` returns the message of an
/// entry with its estimate, and adds its files; `add_details` adds those of a summary.
pub fn prepare_branch(
    branch: &[EntryIx],
    bodies: &EntryReader,
    budget: u64,
    add_details: fn(Raw, &mut FileOps),
    message: impl Fn(EntryIx, &mut FileOps) -> io::Result<Option<(Message, u64)>>,
) -> io::Result<(Vec<Message>, FileOps)> {
    let session = bodies.session();
    let mut ops = FileOps::default();
    for &ix in branch.iter().filter(|&&ix| session.entry(ix).kind == Kind::BranchSummary) {
        bodies.with_entry(ix, |line| add_details(line, &mut ops))?;
    }
    let (mut messages, mut total) = (Vec::new(), 0);
    for &ix in branch.iter().rev() {
        let Some((message, tokens)) = message(ix, &mut ops)? else { continue };
        let full = total + tokens > budget;
        let summary = matches!(session.entry(ix).kind, Kind::Compaction | Kind::BranchSummary);
        // A summary that does not fit is still included if more than a tenth of the budget is left.
        if !full || (summary && total * 10 < budget * 9) {
            messages.push(message);
            total += tokens;
        }
        if full {
            break;
        }
    }
    messages.reverse();
    Ok((messages, ops))
}

fn sorted(mut paths: Vec<Text<'static>>) -> Vec<Text<'static>> {
    paths.sort_by(Text::cmp_utf16);
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_not_listed_as_read() {
        let mut ops = FileOps::default();
        for path in ["b", "a", "c", "a"] {
            ops.read.insert(path.into());
        }
        ops.written.insert("c".into());
        ops.edited.insert("c".into());
        ops.edited.insert("\u{ff5e}".into());
        ops.written.insert("😀".into());
        assert_eq!(ops.read.iter().as_slice(), ["b", "a", "c"].map(Text::from));
        let lists = ops.lists();
        assert_eq!(lists.read_files, ["a", "b"].map(Text::from));
        assert_eq!(lists.modified_files, ["c", "😀", "\u{ff5e}"].map(Text::from));
    }
}
