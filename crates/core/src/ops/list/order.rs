//! Filters and sorts listed sessions.

use super::ListedSession;
use std::cmp::Reverse;

/// The conditions that a session must fulfil to be chosen. The default accepts all.
#[derive(Clone, Copy, Debug, Default)]
pub struct SessionFilter {
    /// The newest message must be older than this time, in milliseconds since 1970.
    pub before_ms: Option<i64>,
    /// Whether the session must have no user message.
    pub only_empty: bool,
    /// The session must be larger than this, in bytes.
    pub larger_than: Option<u64>,
}

/// The facts by which a [`SessionFilter`] decides.
#[derive(Clone, Copy, Debug)]
pub struct SelectionFacts {
    /// The time of the newest message, in milliseconds since 1970.
    pub modified_ms: i64,
    /// Whether there is no user message.
    pub is_empty: bool,
    /// The size in bytes.
    pub bytes: u64,
}

impl SessionFilter {
    /// Whether a session with these facts fulfils all conditions.
    pub fn accepts(self, session: SelectionFacts) -> bool {
        let is_old_enough = self
            .before_ms
            .is_none_or(|before| session.modified_ms < before);
        let is_large_enough = self.larger_than.is_none_or(|limit| session.bytes > limit);
        is_old_enough && is_large_enough && (session.is_empty || !self.only_empty)
    }
}

/// The sort key of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// The newest message first.
    #[value(aliases = ["time", "date"])]
    Modified,
    /// The most recently started first.
    Created,
    /// By name or first user message.
    Name,
    /// By directory, the newest of each first.
    Project,
    /// The most messages first.
    Messages,
    /// The largest file first.
    Size,
    /// The largest context first.
    Context,
    /// The most tokens first.
    Tokens,
    /// The most expensive first.
    Cost,
}

/// Sorts a list. Sessions that are equal in this order are sorted by their last activity, the
/// newest first, then by path.
pub fn sort_sessions(list: &mut [ListedSession], order: Order) {
    list.sort_by(|a, b| {
        let by_activity = b.modified_ms.cmp(&a.modified_ms);
        by_activity.then_with(|| a.path.as_os_str().cmp(b.path.as_os_str()))
    });
    // The sorts below are stable, so sessions with equal keys keep the order from above.
    match order {
        Order::Modified => {}
        Order::Created => list.sort_by_key(|session| Reverse(session.created_ms)),
        Order::Name => {
            list.sort_by_cached_key(|session| session.title().to_string_lossy().to_lowercase())
        }
        Order::Project => list.sort_by(|a, b| a.cwd.as_bytes().cmp(b.cwd.as_bytes())),
        Order::Messages => list.sort_by_key(|session| Reverse(session.message_count)),
        Order::Size => list.sort_by_key(|session| Reverse(session.bytes)),
        Order::Context => sort_descending(list, |session| {
            let tokens = session.context_estimate.or(session.context_tokens);
            // -1, so that a session whose context is unknown comes after one with an empty context.
            tokens.unwrap_or(-1.0)
        }),
        Order::Tokens => sort_descending(list, |session| session.usage.total_tokens()),
        Order::Cost => sort_descending(list, |session| session.usage.cost),
    }
}

/// Sorts a list by a number, the greatest first. The sort is stable.
fn sort_descending(list: &mut [ListedSession], key: impl Fn(&ListedSession) -> f64) {
    list.sort_by(|a, b| key(b).total_cmp(&key(a)));
}
