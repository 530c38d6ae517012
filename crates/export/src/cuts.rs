//! What an export leaves out.

use pisess_core::format::format_count;
use pisess_core::ops::tree::{Filter, filter_shows};
use pisess_core::session::Session;
use pisess_core::session::entry::{EntryIx, Flags, Role};
use pisess_core::session::labels::Labels;
use pisess_core::session::range::EntryRange;

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
    /// Removes the entries of kinds that the filter does not show or the user does not want.
    /// `entries` is and stays in file order. The end of `path` counts as the leaf, which a filter
    /// shows even if it is a reply without text.
    pub(super) fn retain_shown(
        &self,
        session: &Session,
        path: EntryRange,
        entries: &mut Vec<EntryIx>,
    ) {
        if let Some(filter) = self.filter {
            let labels = Labels::new(session);
            entries.retain(|&ix| filter_shows(session, &labels, path.end.entry(), filter, ix));
        }
        if self.omits_tools {
            entries.retain(|&ix| {
                let is_result = session.is_message(ix, Role::ToolResult);
                // Nothing of such an entry is shown but its calls.
                let has_only_calls = session.entry(ix).flags.contains(Flags::SILENT);
                !is_result && !has_only_calls
            });
        }
    }

    /// Returns the note for a reader on what is left out, such as `Left out: thinking.` `None` if a
    /// reader would miss nothing.
    ///
    /// `omitted_count` is the number of entries between the first request and the last entries; the
    /// note has it only if [`last_entries`](Self::last_entries) is set. `other_branches` describes
    /// what is on branches that are not exported.
    pub fn omission_note(
        &self,
        omitted_count: usize,
        other_branches: Option<String>,
    ) -> Option<String> {
        let mut parts = Vec::new();
        parts.extend(self.describe_filtered().map(str::to_owned));
        if self.omits_tools {
            parts.push("tool calls".to_owned());
        }
        if self.omits_thinking {
            parts.push("thinking".to_owned());
        }
        // The note on tool calls covers their output.
        if !self.omits_tools {
            parts.extend(self.describe_omitted_output());
        }
        if self.last_entries.is_some() {
            let messages = format_count(omitted_count, "message", "messages");
            parts.push(format!("{messages} after the first request"));
        }
        parts.extend(other_branches);

        if parts.is_empty() {
            return None;
        }
        Some(format!("Left out: {}.", parts.join(", ")))
    }

    /// Describes the entries that the filter leaves out. `None` if a reader would not miss them.
    fn describe_filtered(&self) -> Option<&'static str> {
        match self.filter? {
            Filter::UserOnly => Some("everything but the requests"),
            Filter::LabeledOnly => Some("messages without a label"),
            Filter::Failed => Some("messages that did not fail"),
            Filter::Images => Some("messages without an image"),
            Filter::Default | Filter::NoTools | Filter::All => None,
        }
    }

    /// Describes the output of tools that is left out; `None` if all of it is shown.
    fn describe_omitted_output(&self) -> Option<String> {
        match self.max_lines? {
            0 => Some("output of tools".to_owned()),
            lines => Some(format!("output of tools beyond {lines} lines")),
        }
    }
}

/// Returns the first request on `path` and its last `count` entries, in file order.
pub(super) fn first_request_and_last(
    session: &Session,
    path: EntryRange,
    count: usize,
) -> Vec<EntryIx> {
    let path = path.entries(session);
    let first_request = path
        .iter()
        .copied()
        .find(|&ix| session.entry(ix).flags.contains(Flags::USER_REQUEST));

    // A path with fewer entries is kept as a whole.
    let last_start = path.len().saturating_sub(count);
    let mut entries = path[last_start..].to_vec();
    entries.extend(first_request);
    entries.sort_unstable();
    // The first request may be one of the last entries.
    entries.dedup();
    entries
}
