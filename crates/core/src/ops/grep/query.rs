//! Defines queries and matches: what a search looks for, and what it returns for each match.

use super::pattern::Pattern;
use super::tool::ToolUse;
use super::trail::EntryContinuation;
use crate::session::entry::{Ending, Kind, LineNo, Role};
use crate::session::fields::FieldScope;
use crate::session::period::Period;
use crate::session::prefilter::Prefilter;
use crate::session::search::{Hit, SnippetSize};
use pisess_json::text::Text;

/// A search: the pattern, where to search, and what to return.
#[derive(Clone, Debug)]
pub struct Query {
    /// The pattern to match.
    pub pattern: Pattern,
    /// Whether to return the entries that do not match.
    pub inverted: bool,
    /// The entries to search.
    pub entries: EntryFilter,
    /// The fields of an entry to search.
    pub scope: FieldScope,
    /// The details that are returned with each match.
    pub details: MatchDetails,
    /// Whether the caller reads nothing of the session besides the matches.
    pub is_only_reader: bool,
}

/// The conditions for the entries to search, all of which must hold. The default includes all
/// entries.
#[derive(Clone, Debug, Default)]
pub struct EntryFilter {
    /// Only entries with one of these roles (see [`searchable_roles`]); all if empty.
    pub roles: Vec<String>,
    /// Only the calls and results of the tools that these names include (see
    /// [`includes_tool`](super::includes_tool)); all entries if empty.
    pub tool_names: Vec<String>,
    /// Only entries of this period.
    pub period: Period,
    /// Only entries on the path to the leaf.
    pub only_active: bool,
    /// Only entries that failed or were aborted.
    pub only_failed: bool,
    /// Only entries with an image.
    pub only_images: bool,
    /// Whether the caller filters the matches by their lines. Then the title is not searched.
    pub only_entries: bool,
}

/// The details that are returned with each match. The default has none, so that matches can only be
/// counted.
#[derive(Clone, Debug, Default)]
pub struct MatchDetails {
    /// The size of the snippet of text around the match. If `None`, neither the snippet nor its
    /// position and line are returned.
    pub snippets: Option<SnippetSize>,
    /// The options for the tool that is returned with a match in a call or its result. If `None`,
    /// no tool is returned.
    pub tools: Option<ToolOptions>,
    /// The texts of the entry that are returned, besides the first match.
    pub texts: TextOptions,
    /// Whether to return if the entry is on the path to the leaf.
    pub reports_active: bool,
}

/// The texts of a matching entry that are returned.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextOptions {
    /// The whole text that was searched.
    pub whole: bool,
    /// Every match.
    pub every_match: bool,
}

/// The options for the descriptions of tools.
#[derive(Clone, Debug, Default)]
pub struct ToolOptions {
    /// The user's home directory, which is abbreviated to `~` in paths.
    pub home: Option<Text<'static>>,
    /// Whether the tool of a result is returned with the arguments of its call.
    pub call_arguments: bool,
}

impl Query {
    /// Returns the prefilter for files that are converted before they are searched. If it rules a
    /// file out, no entry of the file can match. `None` if every file has to be converted.
    pub fn prefilter_before_conversion(&self) -> Option<&Prefilter> {
        // An inverted search looks for what the prefilter would leave out. Beyond the meaningful
        // fields, a conversion adds ids and names of its own.
        if self.inverted || self.scope == FieldScope::Everything {
            return None;
        }
        self.pattern.prefilter_before_conversion()
    }

    /// Whether the matches have details. Without details, they can only be counted.
    pub(super) fn has_details(&self) -> bool {
        self.details.snippets.is_some() || self.details.tools.is_some()
    }

    /// Whether the matches of one pass over the lines suffice. They do not if the session has to be
    /// loaded, or if the matches have so much text that it must not be held in memory.
    pub(super) fn needs_only_matches(&self) -> bool {
        let entries = &self.entries;
        let details = &self.details;
        let needs_session = entries.only_active || entries.only_entries || details.reports_active;
        let has_long_texts = details.texts.whole || details.texts.every_match;
        // The hash in the record of an import is not among the meaningful fields, and a stream does
        // not have it.
        self.is_only_reader
            && self.scope == FieldScope::Meaningful
            && !needs_session
            && !has_long_texts
    }

    /// Whether the line number of each match is needed: to return it, or to find the entry in a
    /// loaded session.
    pub(super) fn needs_lines(&self) -> bool {
        self.details.snippets.is_some()
            || self.details.reports_active
            || self.entries.only_active
            || self.entries.only_entries
    }
}

/// The role of a match in the title of a session.
pub(super) const TITLE_ROLE: &str = "title";
/// The role that restricts a search to the tool calls of the model.
pub(super) const TOOL_CALL_ROLE: &str = "toolCall";

/// Returns the names of the roles to which a search can be restricted: the roles of messages
/// (`user`), the types of other entries (`compaction`), `toolCall` for the calls in a reply, and
/// `title` for the title of the session.
pub fn searchable_roles() -> Vec<&'static str> {
    let mut names = Vec::new();
    for role in Role::NAMED {
        if role.schema().is_stored {
            names.extend(role.name());
        }
    }
    names.push(TOOL_CALL_ROLE);
    names.push(TITLE_ROLE);
    for kind in Kind::NAMED {
        // A message is found by its role. The type `custom` has the same name as a role, which is
        // in the list already.
        if !matches!(kind, Kind::Message | Kind::Custom) {
            names.extend(kind.name());
        }
    }
    names
}

/// An entry (or the title) that matches, with its first match.
#[derive(Clone, Debug)]
pub struct Match {
    /// The physical line of the entry.
    pub line: LineNo,
    /// The id of the entry; empty if it has none.
    pub id: Text<'static>,
    /// The role of the message; for an entry without a message, its type.
    pub role: Text<'static>,
    /// The timestamp of the entry, as stored.
    pub timestamp: Option<Text<'static>>,
    /// The first match; in an inverted search, the first text of the entry.
    pub hit: Hit,
    /// The tool that the match belongs to, if tools were requested.
    pub tool: Option<ToolUse>,
    /// Where the entry continues the conversation; only for entries that were written while the
    /// search was following the session.
    pub continuation: Option<EntryContinuation>,
    /// The ending of the tool call, command or reply; `None` if it was normal.
    pub ending: Option<Ending>,
    /// The number of images of the entry, in a search for entries with images; otherwise 0.
    pub image_count: usize,
    /// Whether the entry is on the path to the leaf. `None` if this was not requested, or for the
    /// title, which is not in the tree.
    pub is_active: Option<bool>,
    /// The texts of the entry that were requested.
    pub texts: MatchTexts,
    /// The id of the entry that a label entry labels; `None` for any other entry.
    pub label_target: Option<Text<'static>>,
    /// The entry that a label entry labels, if whole texts were requested.
    pub labelled: Option<Box<Match>>,
}

impl Match {
    /// Returns about how many bytes of memory the match takes, without [`Match::texts`].
    pub(super) fn byte_count(&self) -> usize {
        let mut texts_len = self.hit.field.len() + self.hit.snippet.len();
        texts_len += self.id.as_bytes().len() + self.role.as_bytes().len();
        if let Some(timestamp) = &self.timestamp {
            texts_len += timestamp.as_bytes().len();
        }
        if let Some(tool) = &self.tool {
            texts_len += tool.name.as_bytes().len() + tool.subject.as_bytes().len();
            texts_len += tool.arguments.as_bytes().len();
        }
        size_of::<Match>() + texts_len
    }
}

/// The texts of a matching entry.
#[derive(Clone, Debug, Default)]
pub struct MatchTexts {
    /// The whole text that was searched, with each field on separate lines.
    pub whole: Option<String>,
    /// Every match, in order.
    pub every_match: Vec<String>,
}
