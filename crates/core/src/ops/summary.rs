//! Builds the entries that contain a summary, compactions and branch summaries, with their members
//! in the order of the agents.

use super::chain::Chain;
use super::{IdSource, parent_id};
use crate::agents::Agent;
use crate::agents::prepare::FileLists;
use crate::ops::plan::Change;
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind};
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::Position;
use pisess_json::Raw;
use pisess_json::edit::with_member;
use pisess_json::text::Text;
use pisess_json::write::{Object, text_array};
use std::io;

/// A summary to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The whole text.
    pub text: Text<'static>,
    /// The member `details`, as JSON.
    pub details: Vec<u8>,
    /// The member `usage`, as JSON, if a hook supplied one. Only pi stores it.
    pub usage: Option<Vec<u8>>,
    /// Whether a hook supplied the summary; the agents record this.
    pub from_hook: bool,
}

/// A compaction to be stored.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// The summary of the replaced part.
    pub summary: Summary,
    /// The first kept entry; `None` if the compaction keeps nothing.
    pub first_kept: Option<EntryIx>,
    /// The size of the context before the compaction, in tokens.
    pub tokens_before: f64,
    /// For pi, the system message in effect, as JSON without its time.
    pub system_message: Option<Vec<u8>>,
}

/// Returns the change that appends a compaction below the leaf: an entry whose summary replaces the
/// entries above it for the model, up to the first kept one. Its members are in the order in which
/// the agents write them.
pub fn append_compaction(
    session: &Session,
    compaction: &Compaction,
    id_source: &mut IdSource,
) -> Change {
    let summary = &compaction.summary;
    let id = Text::from(id_source.issue_entry_id(session));
    let first_kept_id = match compaction.first_kept {
        Some(ix) => session.id(ix),
        // A compaction that keeps nothing refers to itself.
        None => id.clone(),
    };
    let entry = Object::new()
        .str("type", "compaction")
        .text("id", &id)
        .text("summary", &summary.text)
        .text("firstKeptEntryId", &first_kept_id)
        .number("tokensBefore", compaction.tokens_before)
        .json("details", &summary.details);
    let mut entry = add_origin(entry, session.agent(), summary);
    if let Some(message) = &compaction.system_message {
        // The timestamp of a message is a number of milliseconds, unlike the timestamp of an entry.
        let now_ms = id_source.now_ms.to_string();
        let message = with_member(Raw::from_checked(message), "timestamp", now_ms.as_bytes());
        entry = entry.json("systemMessage", &message);
    }
    let mut chain = Chain::with_parent(session, session.leaf.into(), id_source);
    chain.add_entry(entry);
    chain.change
}

/// Returns the summary of an abandoned branch that is on the path to the leaf, below `ancestor`.
/// `from_id` is its `fromId`, which names the branch. If there are several, returns the one nearest
/// to the leaf.
pub fn find_branch_summary(
    reader: &EntryReader,
    from_id: &Text,
    ancestor: Position,
) -> io::Result<Option<EntryIx>> {
    let session = reader.session();
    for ix in session.ancestors(session.leaf) {
        if Position::Entry(ix) == ancestor {
            break;
        }
        if session.entry(ix).kind != Kind::BranchSummary {
            continue;
        }
        let has_from_id = reader.with_entry(ix, |entry| {
            entry.get_text("fromId").as_ref() == Some(from_id)
        })?;
        if has_from_id {
            return Ok(Some(ix));
        }
    }
    Ok(None)
}

/// Returns the change that appends a summary of an abandoned branch below `parent` and, if `label`
/// is given, a label on the summary.
///
/// `from` names the branch in the summary: in pi by its last entry, in oh-my-pi by the entry at
/// which it begins (`AgentConstants::from_id_is_branch_start`). For the root, `fromId` is `"root"`.
pub fn append_branch_summary(
    session: &Session,
    from: Position,
    parent: Position,
    summary: &Summary,
    label: Option<&Text>,
    id_source: &mut IdSource,
) -> Change {
    let from_id = parent_id(session, from).unwrap_or_else(|| Text::from("root"));
    let mut chain = Chain::with_parent(session, parent, id_source);
    let entry = Object::new()
        .str("type", "branch_summary")
        .text("fromId", &from_id)
        .text("summary", &summary.text)
        .json("details", &summary.details);
    chain.add_entry(add_origin(entry, session.agent(), summary));
    // The chain now ends with the summary: `chain.parent` is its id.
    if let Some(label) = label
        && let Some(summary_id) = chain.parent.clone()
    {
        let current_time = None;
        chain.add_label(&summary_id, Some(label), current_time);
    }
    chain.change
}

/// Returns the member `details` of a summary: the lists of files, as both agents store them. If
/// some of the files were certainly removed, `removedFiles` lists them, which the agents ignore.
/// Without it, the text of the next summary would list them again.
pub fn details(files: &FileLists) -> Vec<u8> {
    let lists = Object::new()
        .json("readFiles", &text_array(&files.read_files))
        .json("modifiedFiles", &text_array(&files.modified_files));
    if files.removed_files.is_empty() {
        return lists.finish();
    }
    lists
        .json("removedFiles", &text_array(&files.removed_files))
        .finish()
}

/// Adds the usage, if the agent stores it, and the member that says whether a hook supplied the
/// summary. Both agents store this member even if it is false.
fn add_origin(entry: Object, agent: &dyn Agent, summary: &Summary) -> Object {
    let mut entry = entry;
    if agent.constants().stores_usage
        && let Some(usage) = &summary.usage
    {
        entry = entry.json("usage", usage);
    }
    entry.bool(agent.constants().hook_key, summary.from_hook)
}
