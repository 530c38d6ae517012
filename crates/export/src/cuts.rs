//! What an export leaves out.

use pisess_core::ops::tree::{Filter, filter_shows};
use pisess_core::session::Session;
use pisess_core::session::entry::{EntryIx, Flags, Role};
use pisess_core::session::labels::Labels;
use pisess_core::session::reference::Position;

/// What is left out of an export; nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cuts {
    /// The entries that do not pass this filter of the tree.
    pub filter: Option<Filter>,
    /// Tool calls and their results.
    pub omits_tools: bool,
    /// What the model thought.
    pub omits_thinking: bool,
    /// The lines of a tool's output beyond this number.
    pub max_lines: Option<usize>,
    /// Every entry but the first request and this number of entries before the leaf.
    pub last_entries: Option<usize>,
}

impl Cuts {
    /// Keeps those of the entries, in file order, that are exported.
    pub(super) fn retain_exported(
        &self,
        session: &Session,
        leaf: Position,
        entries: &mut Vec<EntryIx>,
    ) {
        if let Some(last) = self.last_entries {
            let path = session.path(leaf);
            let first = path
                .iter()
                .copied()
                .find(|&ix| session.entry(ix).flags.contains(Flags::USER_REQUEST));
            *entries = path[path.len().saturating_sub(last)..].to_vec();
            entries.extend(first);
            entries.sort_unstable();
            entries.dedup();
        }
        if let Some(filter) = self.filter {
            let labels = Labels::new(session);
            entries.retain(|&ix| filter_shows(session, &labels, leaf, filter, ix));
        }
        if self.omits_tools {
            // A silent entry contains nothing but calls.
            let is_tool = |ix| {
                session.is_message(ix, Role::ToolResult)
                    || session.entry(ix).flags.contains(Flags::SILENT)
            };
            entries.retain(|&ix| !is_tool(ix));
        }
    }

    /// The note for a reader on what is left out; `None` if nothing that a reader would look for.
    /// `omitted_count` is the number of entries before the last ones, and `other_branches` what is
    /// on other branches.
    pub fn omission_note(
        &self,
        omitted_count: usize,
        other_branches: Option<String>,
    ) -> Option<String> {
        let mut parts = Vec::new();
        match self.filter {
            Some(Filter::UserOnly) => parts.push("everything but the requests".to_owned()),
            Some(Filter::LabeledOnly) => parts.push("entries without a label".to_owned()),
            Some(Filter::Default | Filter::NoTools | Filter::All) | None => {}
        }
        if self.omits_tools {
            parts.push("tool calls".to_owned());
        }
        if self.omits_thinking {
            parts.push("thinking".to_owned());
        }
        // Without tools there is no output.
        if !self.omits_tools {
            match self.max_lines {
                None => {}
                Some(0) => parts.push("output of tools".to_owned()),
                Some(lines) => parts.push(format!("output of tools beyond {lines} lines")),
            }
        }
        if self.last_entries.is_some() {
            parts.push(format!("{omitted_count} entries after the first request"));
        }
        parts.extend(other_branches);

        if parts.is_empty() {
            return None;
        }
        Some(format!("Left out: {}.", parts.join(", ")))
    }
}
