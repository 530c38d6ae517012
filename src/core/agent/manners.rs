//! What the agents do in their own way with the messages that they send to a provider.

/// What an agent does with messages in its own way.
#[derive(Clone, Copy, Debug)]
pub struct Manners {
    /// What becomes of the thinking of another model.
    pub foreign_thinking: ForeignThinking,
    /// What takes the place of half a surrogate pair.
    pub half_pair: &'static str,
    /// Whether assistant messages that failed are left out. (oh-my-pi's context omits them itself.)
    pub drops_failed: bool,
    /// Whether a turn that was cut short is left out if it has nothing but thinking.
    pub drops_cut_thoughts: bool,
    /// Whether a late result is moved to its call, and one without a call is quoted.
    pub rescues_results: bool,
    /// Whether thinking of another model of the same provider keeps its signature for Anthropic.
    pub shares_signatures: bool,
    /// Whether a message of Anthropic's own model is sent without thinking that has no signature.
    pub drops_unsigned: bool,
}

/// What becomes of the thinking of another model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignThinking {
    /// It is left out.
    Dropped,
    /// It becomes text, marked as thinking for the model.
    Text,
}
