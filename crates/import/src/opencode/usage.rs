//! The tokens and the cost of a response.

use crate::parts::usage_json;
use pisess_core::session::content::{find_members, finite_or_zero};
use pisess_core::session::usage::Usage;
use pisess_json::Raw;

/// The usage of a response.
pub(super) struct ResponseUsage {
    /// The `usage` object of pi.
    pub json: Vec<u8>,
    /// The number of tokens in the context, including the response.
    pub context_tokens: f64,
}

/// Converts tokens and cost. A cost of 0 means that the cost is unknown: OpenCode has no price for
/// the model, or the user has a subscription.
///
/// ```text
/// OpenCode    {"input":20,"output":5,"reasoning":3,"cache":{"read":100,"write":0},"total":128}
/// pi          {"input":20,"output":8,"cacheRead":100,"cacheWrite":0,"totalTokens":128, …}
/// ```
pub(super) fn convert_usage(tokens: Raw, cost: f64) -> ResponseUsage {
    let names = ["input", "output", "reasoning", "cache", "total"];
    let [input, output, reasoning, cache, total] = find_members(tokens, names);
    let cache = cache.unwrap_or(Raw::NULL);
    let reasoning = finite_or_zero(reasoning);

    let known_cost = if cost > 0.0 { Some(cost) } else { None };
    let mut usage = Usage {
        input: finite_or_zero(input),
        output: finite_or_zero(output),
        cache_read: finite_or_zero(cache.get("read")),
        cache_write: finite_or_zero(cache.get("write")),
        cost: known_cost,
        ..Usage::default()
    };
    // pi includes reasoning in the output. Newer versions of OpenCode count it apart, and their
    // total is more than the sum of the other numbers. Older versions included it in the output:
    // they have no total, or a total that equals the sum.
    let sum_without_reasoning = usage.input + usage.output + usage.cache_read + usage.cache_write;
    if let Some(total) = total.and_then(Raw::number)
        && total != sum_without_reasoning
    {
        usage.output += reasoning;
    }
    let context_tokens = usage.input + usage.output + usage.cache_read + usage.cache_write;
    ResponseUsage {
        json: usage_json(&usage, context_tokens, Some(reasoning)),
        context_tokens,
    }
}
