//! What a row of `stats` is for, and what each row holds.

use crate::ops::stats::Totals;
use clap::ValueEnum;

/// What a row is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum By {
    /// A session.
    Session,
    /// A model of a provider.
    Model,
    /// A local day.
    Day,
    /// A week, by its Monday.
    Week,
    /// A month.
    Month,
    /// A working directory.
    Project,
    /// A tool.
    Tool,
    /// A file that was read or changed.
    File,
    /// A billed entry.
    Entry,
}

/// A group.
pub struct Group {
    /// The keys, in the order of `--by`.
    pub keys: Vec<Key>,
    /// The path of the session, if it is a key.
    pub path: Option<String>,
    /// The paths of the sessions and the ends of their ids, if groups are files.
    pub sessions: Vec<(String, String)>,
    /// The sums.
    pub totals: Totals,
}

/// A key of a group.
#[derive(Clone, Debug, Default)]
pub struct Key {
    /// The key; `None` if it is missing, as for a summary without a model.
    pub value: Option<String>,
    /// The key as shown to people, if different.
    pub shown: Option<String>,
}

/// Returns the name of a key, for JSON and for the column title.
pub fn key_name(by: By) -> &'static str {
    match by {
        By::Session => "session",
        By::Model => "model",
        By::Day => "day",
        By::Week => "week",
        By::Month => "month",
        By::Project => "project",
        By::Tool => "tool",
        By::File => "file",
        By::Entry => "entry",
    }
}
