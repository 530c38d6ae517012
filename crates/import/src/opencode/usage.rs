//! The tokens and the cost of a response.

use crate::parts::usage_json;
use pisess_core::session::content::{find_members, finite_or_zero};
use pisess_core::session::usage::Usage;
use pisess_json::Raw;

/// The usage of a response.
pub(super) struct ResponseUsage {
    /// The `usage` object of pi.
    pub json: Vec<u8>,
    /// The number of tokens in the context, with the response.
    pub context_tokens: f64,
}

/// Converts tokens and cost. A cost of zero is unknown: OpenCode has no price for the model, or the
/// user has a subscription.
pub(super) fn convert_usage(tokens: Raw, cost: f64) -> ResponseUsage {
    let names = ["input", "output", "reasoning", "cache", "total"];
    let [input, output, reasoning, cache, total] = find_members(tokens, names);
    let cache = cache.unwrap_or(Raw::NULL);
    let reasoning = finite_or_zero(reasoning);

    let mut usage = Usage {
        input: finite_or_zero(input),
        output: finite_or_zero(output),
        cache_read: finite_or_zero(cache.get("read")),
        cache_write: finite_or_zero(cache.get("write")),
        cost: Some(cost).filter(|cost| *cost > 0.0),
        ..Usage::default()
    };
    // pi counts reasoning as output, and so did earlier versions of OpenCode: those without a total,
    // and those with a total that is the sum without the reasoning.
    let counted = usage.input + usage.output + usage.cache_read + usage.cache_write;
    let is_counted_apart = total
        .and_then(Raw::number)
        .is_some_and(|total| total != counted);
    if is_counted_apart {
        usage.output += reasoning;
    }
    let context_tokens = usage.input + usage.output + usage.cache_read + usage.cache_write;
    ResponseUsage {
        json: usage_json(&usage, context_tokens, Some(reasoning)),
        context_tokens,
    }
}
