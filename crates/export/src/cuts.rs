//! What an export leaves out.

use pisess_core::ops::tree::{Filter, passes};
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
    pub tools: bool,
    /// What the model thought.
    pub thinking: bool,
    /// The lines of a tool's output beyond this number.
    pub lines: Option<usize>,
    /// Every entry but the first request and this number of entries before the leaf.
    pub last: Option<usize>,
}

impl Cuts {
    /// Keeps those of the entries, in file order, that are exported.
    pub(super) fn keep(&self, session: &Session, leaf: Position, entries: &mut Vec<EntryIx>) {
        if let Some(last) = self.last {
            let path = session.path(leaf);
            let first = path
                .iter()
                .copied()
                .find(|&ix| session.entry(ix).flags.has(Flags::USER_REQUEST));
            *entries = path[path.len().saturating_sub(last)..].to_vec();
            entries.extend(first);
            entries.sort_unstable();
            entries.dedup();
        }
        if let Some(filter) = self.filter {
            let labels = Labels::new(session);
            entries.retain(|&ix| passes(session, &labels, leaf, filter, ix));
        }
        if self.tools {
            // A silent entry contains nothing but calls.
            let is_tool = |ix| {
                session.is_message(ix, Role::ToolResult)
                    || session.entry(ix).flags.has(Flags::SILENT)
            };
            entries.retain(|&ix| !is_tool(ix));
        }
    }

    /// Says to a reader what is left out; `None` if nothing that a reader would look for.
    pub fn note(&self, left: usize, others: Option<String>) -> Option<String> {
        let filtered = match self.filter {
            Some(Filter::UserOnly) => Some("everything but the requests".to_owned()),
            Some(Filter::LabeledOnly) => Some("entries without a label".to_owned()),
            Some(Filter::Default | Filter::NoTools | Filter::All) | None => None,
        };
        let output = self.lines.filter(|_| !self.tools).map(|lines| match lines {
            0 => "output of tools".to_owned(),
            _ => format!("output of tools beyond {lines} lines"),
        });
        let tools = self.tools.then(|| "tool calls".to_owned());
        let thinking = self.thinking.then(|| "thinking".to_owned());
        let entries = self
            .last
            .map(|_| format!("{left} entries after the first request"));
        let parts = [filtered, tools, thinking, output, entries, others];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| format!("Left out: {}.", parts.join(", ")))
    }
}
