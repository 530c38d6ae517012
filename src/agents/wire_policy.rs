//! How each agent adapts messages before it sends them to a provider.

/// How an agent adapts messages for a provider.
#[derive(Clone, Copy, Debug)]
pub struct WirePolicy {
    /// How thinking by another model is sent.
    pub foreign_thinking: ForeignThinking,
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

/// How thinking by another model is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignThinking {
    /// It is left out.
    Dropped,
    /// It becomes text, marked as thinking for the model.
    Text,
}
