//! What differs between the agents by a value alone.

use super::prompt::Requests;

/// The constants of an agent.
#[derive(Debug)]
pub struct Constants {
    /// The agent's display name.
    pub name: &'static str,
    /// Whether its context applies `context_edit` entries.
    pub follows_edits: bool,
    /// Whether its files begin with a title line.
    pub has_title_line: bool,
    /// Whether a fork keeps the timestamps of labels, rather than using its own.
    pub keeps_label_times: bool,
    /// Whether `fromId` of a branch summary is the start of the branch, rather than its end.
    pub summarizes_from_start: bool,
    /// The key that marks a summary as written by a hook.
    pub hook_key: &'static str,
    /// Whether it stores the usage of the summary's request.
    pub stores_usage: bool,
    /// The `attribution` of new custom messages, if the agent stores one.
    pub attribution: Option<&'static str>,
    /// The preamble of a branch summary.
    pub branch_preamble: &'static str,
    /// Its requests to a summarizer.
    pub requests: Requests,
    /// How it adapts messages for a provider.
    pub wire_policy: WirePolicy,
}

/// How an agent adapts messages before it sends them to a provider.
#[derive(Clone, Copy, Debug)]
pub struct WirePolicy {
    /// Whether thinking by another model is left out, rather than sent as text that is marked as thinking.
    pub drops_foreign_thinking: bool,
    /// The replacement for a lone surrogate.
    pub half_pair: &'static str,
    /// Whether failed assistant messages are left out of requests; oh-my-pi's context omits them already.
    pub drops_failed: bool,
    /// Whether a turn that failed or was cut short is left out if it contains only thinking.
    pub drops_cut_thoughts: bool,
    /// Whether a late tool result is moved to its call, and one without a call is quoted as user text.
    pub rescues_results: bool,
    /// Whether thinking by another model of the same provider keeps its signature (Anthropic's API only).
    pub shares_signatures: bool,
    /// Whether thinking without a signature is left out (Anthropic's API only).
    pub drops_unsigned: bool,
}
