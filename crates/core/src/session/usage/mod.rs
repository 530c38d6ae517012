//! The tokens and the cost of requests to models, wherever an agent records them, as pi's
//! `/session` adds them up. They are in assistant messages and tool results, in compactions and
//! branch summaries, and in usage entries.
//!
//! If a request has no cost, it is estimated from a table of prices ([`CostEstimator`]). If the
//! table does not have the model, the request is counted as unpriced. A message that equals an
//! earlier one of the file, the time in it included, is a copy made by `pick`. Its request was paid
//! for once, so it is not counted again.

mod agents;
mod prices;

pub use agents::{
    SubAgents, is_advisor, is_reported, possible_session_ends, reported_session_ends, session_end,
};
pub use prices::{CostEstimator, PriceTable, built_in_prices_date};

use crate::session::collected::renumber;
use crate::session::content::{find_members, finite_or_zero};
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::record::{Member, MessageFacts, ParsedEntry, Respondent};
use foldhash::HashSet;
use foldhash::fast::FixedState;
use pisess_json::Raw;
use pisess_json::write::Object;
use std::hash::BuildHasher;
use std::path::Path;

/// Tokens and cost of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Tokens of the prompt that were not read from a cache.
    pub input: f64,
    /// Tokens of the response, including reasoning.
    pub output: f64,
    /// Tokens read from the cache.
    pub cache_read: f64,
    /// Tokens written to the cache.
    pub cache_write: f64,
    /// The part of `cache_write` that the cache keeps for an hour, which costs more.
    pub cache_write_1h: f64,
    /// The cost in dollars: `cost.total`. If the file has no cost, or `cost.unknown` is true, as in
    /// imported sessions, the cost is estimated. `None` if the price of the model is not known.
    pub cost: Option<f64>,
    /// Whether the cost is from a table of prices, rather than from the file.
    pub is_estimated: bool,
}

impl Usage {
    /// Parses the `usage` object of a request; `None` if the value is not an object. Values that
    /// are not numbers count as zero. A missing cost is not estimated.
    pub fn parse(value: Raw) -> Option<Usage> {
        if !value.is_object() {
            return None;
        }
        let names = [
            "input",
            "output",
            "cacheRead",
            "cacheWrite",
            "cacheWrite1h",
            "cost",
        ];
        let [input, output, cache_read, cache_write, cache_write_1h, cost] =
            find_members(value, names);
        Some(Usage {
            input: finite_or_zero(input),
            output: finite_or_zero(output),
            cache_read: finite_or_zero(cache_read),
            cache_write: finite_or_zero(cache_write),
            cache_write_1h: finite_or_zero(cache_write_1h),
            cost: cost.and_then(known_cost),
            is_estimated: false,
        })
    }

    /// Whether any tokens are reported. Claude Code writes zeros into a fork, for the messages that
    /// a compaction kept.
    pub fn has_tokens(&self) -> bool {
        self.input + self.output + self.cache_read + self.cache_write > 0.0
    }

    /// Returns the sum of all tokens.
    pub fn total_tokens(&self) -> f64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

/// Returns the total of a `cost` object; `None` if it is not a finite number, or if `unknown` is
/// true.
fn known_cost(cost: Raw) -> Option<f64> {
    let [total, unknown] = find_members(cost, ["total", "unknown"]);
    if unknown.and_then(Raw::bool) == Some(true) {
        return None;
    }
    let total = total.and_then(Raw::number)?;
    if total.is_finite() { Some(total) } else { None }
}

/// Sums over requests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UsageSums {
    /// Tokens of prompts that were not read from a cache.
    pub input: f64,
    /// Tokens of responses.
    pub output: f64,
    /// Tokens read from the cache.
    pub cache_read: f64,
    /// Tokens written to the cache.
    pub cache_write: f64,
    /// The cost.
    pub cost: f64,
    /// The part of `cost` that is estimated.
    pub estimated_cost: f64,
    /// The number of requests, those without a cost included.
    pub request_count: u64,
    /// The number of requests without a cost, which add nothing to `cost`.
    pub unpriced_count: u64,
}

impl UsageSums {
    /// Adds the tokens and the cost of a request. One without a cost is counted as unpriced.
    pub fn add(&mut self, usage: &Usage) {
        self.input += usage.input;
        self.output += usage.output;
        self.cache_read += usage.cache_read;
        self.cache_write += usage.cache_write;
        let cost = usage.cost.unwrap_or(0.0);
        self.cost += cost;
        if usage.is_estimated {
            self.estimated_cost += cost;
        }
        self.request_count += 1;
        self.unpriced_count += u64::from(usage.cost.is_none());
    }

    /// Adds the sums over other requests.
    pub fn add_sums(&mut self, other: &UsageSums) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cost += other.cost;
        self.estimated_cost += other.estimated_cost;
        self.request_count += other.request_count;
        self.unpriced_count += other.unpriced_count;
    }

    /// Whether a part of the cost is estimated.
    pub fn has_estimate(&self) -> bool {
        self.estimated_cost > 0.0
    }

    /// Returns the sum of all tokens.
    pub fn total_tokens(&self) -> f64 {
        self.input + self.output + self.cache_read + self.cache_write
    }

    /// Adds the estimated part of the cost to a JSON object, and the date of the prices, if
    /// `prices_date` is given. Adds nothing if no part is estimated.
    pub fn with_estimate(&self, object: Object, prices_date: Option<&str>) -> Object {
        if !self.has_estimate() {
            return object;
        }
        let object = object.number("estimated", self.estimated_cost);
        match prices_date {
            Some(date) => object.str("pricesOf", date),
            None => object,
        }
    }

    /// Whether any tokens or costs are recorded: some agents and providers record zeros.
    pub fn is_recorded(&self) -> bool {
        self.total_tokens() > 0.0 || self.cost > 0.0
    }

    /// Returns the tokens as JSON.
    pub fn tokens_json(&self) -> Vec<u8> {
        Object::new()
            .number("input", self.input)
            .number("output", self.output)
            .number("cacheRead", self.cache_read)
            .number("cacheWrite", self.cache_write)
            .number("total", self.total_tokens())
            .finish()
    }
}

impl<'u> FromIterator<&'u Usage> for UsageSums {
    fn from_iter<T: IntoIterator<Item = &'u Usage>>(requests: T) -> Self {
        let mut sums = UsageSums::default();
        for usage in requests {
            sums.add(usage);
        }
        sums
    }
}

/// A request that an entry records.
#[derive(Clone, Debug)]
pub struct BilledRequest {
    /// The entry.
    pub entry: EntryIx,
    /// The tokens and the cost.
    pub usage: Usage,
    /// If the request is the sum that a tool result reports for sub-agents: the ends of the paths
    /// of their sessions.
    pub reported_ends: Option<Box<[String]>>,
    /// The fingerprint of the message, by which copies are found; `None` if the message has no
    /// time.
    pub(super) fingerprint: Option<u64>,
}
renumber!(BilledRequest { entry } keeps { usage, reported_ends, fingerprint });

impl BilledRequest {
    /// Returns the request to a model that an entry records; `None` if it records none. A missing
    /// cost is estimated from a table of prices.
    ///
    /// An assistant message always records one: without `usage`, it has no tokens and no known
    /// cost. Any other entry records one only if it has `usage`.
    pub fn priced_from_entry(
        entry: EntryIx,
        parsed: &ParsedEntry,
        estimator: &mut CostEstimator,
        prices: Option<&PriceTable>,
    ) -> Option<BilledRequest> {
        let mut request = BilledRequest::from_entry(entry, parsed)?;
        if request.usage.cost.is_none()
            && let Some(respondent) = find_respondent(parsed)
        {
            estimator.set_missing_cost(&mut request.usage, respondent, prices);
        }
        Some(request)
    }

    /// Returns the request to a model that an entry records, without an estimate of a missing cost.
    /// See [`BilledRequest::priced_from_entry`] for which entries record one.
    fn from_entry(entry: EntryIx, parsed: &ParsedEntry) -> Option<BilledRequest> {
        match &parsed.record.message {
            Some(message) if parsed.kind == Kind::Message => {
                BilledRequest::from_message(entry, parsed.role, message)
            }
            _ => BilledRequest::from_other_entry(entry, parsed),
        }
    }

    /// Returns the request that a message records: a reply, or the result of a tool that called a
    /// model. `None` for a message in any other role, and for a result without usage.
    fn from_message(entry: EntryIx, role: Role, message: &MessageFacts) -> Option<BilledRequest> {
        let recorded = match role {
            Role::Assistant => {
                // A reply without usage is a request without tokens.
                let usage = message.get(Member::Usage).and_then(Usage::parse);
                MessageUsage {
                    usage: usage.unwrap_or_default(),
                    reported_ends: None,
                }
            }
            Role::ToolResult => usage_of_result(message)?,
            _ => return None,
        };
        // By the fingerprint, copies of a message are found. Without a time, equal messages may
        // nevertheless be of different requests.
        let fingerprint = if message.get(Member::Timestamp).is_some() {
            Some(hash_message(message.bytes))
        } else {
            None
        };
        Some(BilledRequest {
            entry,
            usage: recorded.usage,
            reported_ends: recorded.reported_ends,
            fingerprint,
        })
    }

    /// Returns the request that an entry without a message records, such as a compaction. It has no
    /// fingerprint, by which copies are found, so it never counts as a copy.
    fn from_other_entry(entry: EntryIx, parsed: &ParsedEntry) -> Option<BilledRequest> {
        if !parsed.kind.schema().is_billed {
            return None;
        }
        let usage = parsed.record.get(Member::Usage).and_then(Usage::parse)?;
        Some(BilledRequest {
            entry,
            usage,
            reported_ends: None,
            fingerprint: None,
        })
    }

    /// Whether the request is the sum of sub-agents whose own sessions are read, too, so that it
    /// must not be counted again.
    pub fn is_counted_elsewhere(&self, session: &Path, agents: &SubAgents) -> bool {
        self.reported_ends
            .as_deref()
            .is_some_and(|reported| agents.has_any_reported(session, reported))
    }
}

/// Returns the provider and the model that answered the request that an entry records, as far as it
/// names them. `None` if the entry records no usage, or the usage of several models, as a tool
/// result may.
fn find_respondent<'a>(parsed: &ParsedEntry<'a>) -> Option<Respondent<'a>> {
    match parsed.kind {
        Kind::Message if parsed.role == Role::Assistant => {
            let message = parsed.record.message.as_ref()?;
            let has_usage = message.get(Member::Usage).is_some_and(Raw::is_object);
            if has_usage {
                Some(message.respondent())
            } else {
                None
            }
        }
        Kind::Usage | Kind::ModelUsage => Some(Respondent {
            provider: parsed.record.get(Member::Provider).and_then(Raw::text),
            model: parsed.record.get(Member::Model).and_then(Raw::text),
        }),
        _ => None,
    }
}

/// The usage that a message records.
struct MessageUsage {
    usage: Usage,
    /// If the usage is a sum over sub-agents: the ends of the paths of their sessions, as far as
    /// the message names them.
    reported_ends: Option<Box<[String]>>,
}

/// Returns the usage in a tool result: its own, else the sum that oh-my-pi's tool `task` has in its
/// details; `None` without either.
///
/// `reported_ends` is set if the usage is a sum over sub-agents, whose sessions may be counted
/// themselves. This is so if it is from the details of `task`, if the tool is `subagent`, or if the
/// details name sessions.
fn usage_of_result(message: &MessageFacts) -> Option<MessageUsage> {
    let details = message.get(Member::Details);
    let own_usage = message.get(Member::Usage).filter(|usage| usage.is_object());
    let stored_usage = match own_usage {
        Some(own) => own,
        None if is_of_tool(message, "task") => details?.get("usage")?,
        None => return None,
    };
    let usage = Usage::parse(stored_usage)?;

    let session_ends = details.map(reported_session_ends).unwrap_or_default();
    let is_sum_of_task = own_usage.is_none();
    let is_sum_of_agents =
        is_sum_of_task || is_of_tool(message, "subagent") || !session_ends.is_empty();
    let reported_ends = if is_sum_of_agents {
        Some(session_ends.into_boxed_slice())
    } else {
        None
    };
    Some(MessageUsage {
        usage,
        reported_ends,
    })
}

/// Whether a result is that of the tool with this name.
fn is_of_tool(result: &MessageFacts, name: &str) -> bool {
    let tool = result.get(Member::ToolName);
    tool.is_some_and(|tool| tool.is(name))
}

/// Removes requests whose message is a copy of an earlier one. A request without a fingerprint
/// never counts as a copy.
pub fn remove_copies(billed: &mut Vec<BilledRequest>) {
    let mut seen = HashSet::default();
    billed.retain(|request| match request.fingerprint {
        // `insert` returns `false` if the fingerprint was seen before.
        Some(fingerprint) => seen.insert(fingerprint),
        None => true,
    });
}

/// The number of bytes at the start, and at the end, of a message that its fingerprint covers.
const FINGERPRINT_PART: usize = 256;

/// Returns the fingerprint of a message: a hash of its length, its start and its end. Equal
/// messages have equal fingerprints. The middle of a long message is not read, so messages of one
/// length that differ only there have the same fingerprint, too.
fn hash_message(message: &[u8]) -> u64 {
    let head = &message[..message.len().min(FINGERPRINT_PART)];
    let tail = &message[message.len().saturating_sub(FINGERPRINT_PART)..];
    FixedState::with_seed(message.len() as u64).hash_one((head, tail))
}

/// Returns the name of a model: `provider/model`, or the only part that is known; `None` if neither
/// is.
pub fn model_name(provider: Option<&str>, model: Option<&str>) -> Option<String> {
    let parts: Vec<_> = [provider, model].into_iter().flatten().collect();
    let name = parts.join("/");
    if name.is_empty() { None } else { Some(name) }
}
