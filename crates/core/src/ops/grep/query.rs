//! What a search looks for, and what it returns of each match.

use super::pattern::Pattern;
use super::tool::ToolUse;
use super::trail::EntryContinuation;
use crate::session::entry::{Kind, LineNo, Role};
use crate::session::fields::FieldScope;
use crate::session::period::Period;
use crate::session::search::{Hit, SnippetSize};
use pisess_json::text::Text;

/// What to search for, and where.
#[derive(Clone, Debug)]
pub struct Query {
    /// The pattern to match.
    pub pattern: Pattern,
    /// Search for entries that do not match.
    pub inverted: bool,
    /// The entries to search.
    pub entries: EntryFilter,
    /// The fields of an entry to search.
    pub scope: FieldScope,
    /// What is returned of each match.
    pub details: MatchDetails,
}

/// The entries that a search includes: those that pass all conditions. The default includes all.
#[derive(Clone, Debug, Default)]
pub struct EntryFilter {
    /// Only entries with one of these roles (see [`searchable_roles`]); all if empty.
    pub roles: Vec<String>,
    /// Only the calls and results of the tools with these names; everything if empty.
    pub tool_names: Vec<String>,
    /// Only entries of this period.
    pub period: Period,
    /// Only entries on the path to the leaf.
    pub only_active: bool,
    /// Only entries that failed.
    pub only_failed: bool,
    /// Only entries with an image.
    pub only_images: bool,
    /// Whether the caller selects entries by their lines. Then the title is not searched.
    pub only_entries: bool,
}

/// What is returned of each match. With the default, matches can only be counted.
#[derive(Clone, Debug, Default)]
pub struct MatchDetails {
    /// How much text is returned, with its position and its line.
    pub snippets: Option<SnippetSize>,
    /// Whether the tool is returned with each match in a call or its result.
    pub tools: Option<ToolOptions>,
    /// What is returned of the text of the entry, besides the first match.
    pub texts: TextOptions,
    /// Whether the entry is on the path to the leaf.
    pub reports_active: bool,
}

/// What is returned of the text of an entry that matches.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextOptions {
    /// All the text that was searched.
    pub whole: bool,
    /// Every match.
    pub every_match: bool,
}

/// The options for the descriptions of tools.
#[derive(Clone, Debug, Default)]
pub struct ToolOptions {
    /// The user's home directory, written `~` in paths.
    pub home: Option<Text<'static>>,
}

impl Query {
    /// Whether the line number of each match is needed: to return it, or to find the entry in a
    /// loaded session.
    pub(super) fn needs_lines(&self) -> bool {
        self.details.snippets.is_some()
            || self.details.reports_active
            || self.entries.only_active
            || self.entries.only_entries
    }
}

/// The role of a hit in the title of a session.
pub(super) const TITLE_ROLE: &str = "title";
/// The role that restricts a search to the tool calls of the model.
pub(super) const TOOL_CALL_ROLE: &str = "toolCall";

/// Returns the roles that a search can be restricted to: those of messages, the types of other
/// entries, tool calls and the title.
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
        if !matches!(kind, Kind::Message | Kind::Custom) {
            names.extend(kind.name());
        }
    }
    names
}

/// An entry that matches, with its first match.
#[derive(Clone, Debug)]
pub struct Match {
    /// Its physical line.
    pub line: LineNo,
    /// Its id; empty if it has none.
    pub id: Text<'static>,
    /// The role of its message; for any other entry, its type.
    pub role: Text<'static>,
    /// Its timestamp, as stored.
    pub timestamp: Option<Text<'static>>,
    /// Where it matches; of an entry that does not match, the first text.
    pub hit: Hit,
    /// The tool that was called, or that printed the text, if requested.
    pub tool: Option<ToolUse>,
    /// Where the entry continues the conversation, if it was written while the session was
    /// followed.
    pub continuation: Option<EntryContinuation>,
    /// Whether the tool call, command or reply failed.
    pub has_failed: bool,
    /// Whether the entry is on the path to the leaf; `None` if that was not requested, or if it is
    /// in no tree, as the title.
    pub is_active: Option<bool>,
    /// The text of the entry, as far as it was requested.
    pub texts: MatchTexts,
}

/// The text of an entry that matches.
#[derive(Clone, Debug, Default)]
pub struct MatchTexts {
    /// All the text that was searched: fields on lines of their own.
    pub whole: Option<String>,
    /// Every match, in order.
    pub every_match: Vec<String>,
}
