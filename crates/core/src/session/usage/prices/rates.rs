//! The rates of one model: how they are read from a table, and what a request costs at them.

use crate::session::usage::Usage;
use pisess_json::Raw;

/// Dollars per token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// The rates apply to prompts of more than this many tokens.
    above_tokens: f64,
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
    /// For tokens that the cache keeps for an hour.
    cache_write_1h: f64,
}

/// Returns the cost of a request in dollars; `None` if its model has no rates. Cached tokens are a
/// part of the prompt.
///
/// A model may have higher rates for longer prompts. Of `model_rates`, in ascending order of
/// length, the last apply whose length the prompt exceeds.
pub fn estimate_cost(model_rates: &[Rates], usage: &Usage) -> Option<f64> {
    let prompt_tokens = usage.input + usage.cache_read + usage.cache_write;
    // The usual rates come first: any prompt exceeds their length.
    let rates = model_rates
        .iter()
        .rfind(|rates| prompt_tokens > rates.above_tokens)?;
    // The tokens that the cache keeps for an hour are a part of all that were written to it. A file
    // may record more.
    let write_1h = usage.cache_write_1h.clamp(0.0, usage.cache_write.max(0.0));
    let write_shorter = usage.cache_write - write_1h;
    Some(
        usage.input * rates.input
            + usage.output * rates.output
            + usage.cache_read * rates.cache_read
            + write_shorter * rates.cache_write
            + write_1h * rates.cache_write_1h,
    )
}

/// The rates in `prices.txt` are for this many tokens.
const TOKENS_PER_UNIT: f64 = 1e6;

/// Parses the rates in a line of `prices.txt`, in dollars per million tokens:
/// `3 15 .3 3.75 6 >200000 6 22.5 .6 7.5 7.5`. The five usual rates come first, then, for each
/// greater length of prompts, `>`, the length in tokens and five more rates. `None` if a number is
/// missing.
pub fn parse_rate_steps(text: &str) -> Option<Vec<Rates>> {
    let mut all = Vec::new();
    for step in text.split('>') {
        let mut numbers = Vec::new();
        if all.is_empty() {
            // The usual rates have no length before them: they apply to prompts of any length.
            numbers.push(f64::NEG_INFINITY);
        }
        for number in step.split_whitespace() {
            numbers.push(number.parse::<f64>().ok()?);
        }
        let [
            above_tokens,
            input,
            output,
            cache_read,
            cache_write,
            cache_write_1h,
        ] = numbers[..]
        else {
            return None;
        };
        all.push(Rates {
            above_tokens,
            input: input / TOKENS_PER_UNIT,
            output: output / TOKENS_PER_UNIT,
            cache_read: cache_read / TOKENS_PER_UNIT,
            cache_write: cache_write / TOKENS_PER_UNIT,
            cache_write_1h: cache_write_1h / TOKENS_PER_UNIT,
        });
    }
    Some(all)
}

/// Parses the rates in a model's row of LiteLLM's table: the usual ones, then those for longer
/// prompts, in ascending order of length. `None` if the row has no usual rates.
///
/// Rates for longer prompts are in keys such as `input_cost_per_token_above_200k_tokens` or,
/// without such keys, in the steps of `tiered_pricing`. Some rows have their usual rates there,
/// too, as the step from 0 tokens on.
pub fn parse_rates(row: Raw) -> Option<Vec<Rates>> {
    let steps: Vec<Raw> = match row.get("tiered_pricing") {
        Some(steps) => steps.items().collect(),
        None => Vec::new(),
    };

    let usual = match Rates::read_usual(row) {
        Some(rates) => rates,
        None => {
            let first_step = steps.iter().find(|step| step_start(**step) == Some(0.0))?;
            Rates::read_usual(*first_step)?
        }
    };
    let mut longer = rates_in_keys(row, usual);
    if longer.is_empty() {
        longer = rates_in_steps(&steps, usual);
    }
    longer.sort_by(|one, other| one.above_tokens.total_cmp(&other.above_tokens));

    let mut all = vec![usual];
    all.append(&mut longer);
    Some(all)
}

/// Returns the rates for longer prompts, of which a row has one set for each length. A length is
/// part of the keys of its set, as in `input_cost_per_token_above_200k_tokens`. In the order of the
/// keys.
fn rates_in_keys(row: Raw, usual: Rates) -> Vec<Rates> {
    let mut longer = Vec::new();
    for (key, _) in row.members() {
        let key = key.text().to_string();
        if let Some(limit) = Limit::parse_key(&key) {
            longer.extend(Rates::read_longer(row, limit, usual));
        }
    }
    longer
}

/// Returns the rates for longer prompts in the steps of `tiered_pricing`: all but the step from 0
/// tokens on, which has the usual rates.
fn rates_in_steps(steps: &[Raw], usual: Rates) -> Vec<Rates> {
    let mut longer = Vec::new();
    for &step in steps {
        if let Some(tokens) = step_start(step)
            && tokens > 0.0
        {
            // A step is an object of its own, so its keys have no suffix.
            let limit = Limit { tokens, suffix: "" };
            longer.extend(Rates::read_longer(step, limit, usual));
        }
    }
    longer
}

impl Rates {
    /// Reads the usual rates in a row; `None` if the rate of the input or of the output is missing.
    /// A missing rate of cached tokens is the rate of the input.
    fn read_usual(row: Raw) -> Option<Rates> {
        let input = read_rate(row, "input_cost_per_token")?;
        let output = read_rate(row, "output_cost_per_token")?;
        let cache_read = read_rate(row, "cache_read_input_token_cost");
        let cache_write = read_rate(row, "cache_creation_input_token_cost").unwrap_or(input);
        let cache_write_1h = read_rate(row, "cache_creation_input_token_cost_above_1hr");
        Some(Rates {
            above_tokens: f64::NEG_INFINITY,
            input,
            output,
            cache_read: cache_read.unwrap_or(input),
            cache_write,
            // What is kept for an hour is never cheaper than what is kept for a shorter time.
            cache_write_1h: cache_write_1h.unwrap_or(cache_write).max(cache_write),
        })
    }

    /// Reads the rates for prompts above a limit; `None` if the rate of the input is missing. Any
    /// other missing rate is the usual one.
    fn read_longer(row: Raw, limit: Limit, usual: Rates) -> Option<Rates> {
        let rate = |key: &str| read_rate(row, &format!("{key}{}", limit.suffix));
        let input = rate("input_cost_per_token")?;
        let output = rate("output_cost_per_token").unwrap_or(usual.output);
        let cache_read = rate("cache_read_input_token_cost").unwrap_or(usual.cache_read);
        let cache_write = rate("cache_creation_input_token_cost").unwrap_or(usual.cache_write);
        let cache_write_1h =
            rate("cache_creation_input_token_cost_above_1hr").unwrap_or(usual.cache_write_1h);
        Some(Rates {
            above_tokens: limit.tokens,
            input,
            output,
            cache_read,
            cache_write,
            // The usual rate may be less than the other rate for such long prompts. But what is
            // kept for an hour is never cheaper than what is kept for a shorter time.
            cache_write_1h: cache_write_1h.max(cache_write),
        })
    }
}

/// Returns the rate under a key; `None` if it is missing, negative, or not a finite number.
fn read_rate(row: Raw, key: &str) -> Option<f64> {
    let rate = parse_number(row.get(key)?)?;
    if rate.is_finite() && rate >= 0.0 {
        Some(rate)
    } else {
        None
    }
}

/// Parses a number, which some rows of the table have in quotes.
fn parse_number(value: Raw) -> Option<f64> {
    if let Some(number) = value.number() {
        return Some(number);
    }
    value.text()?.to_string_lossy().parse().ok()
}

/// Returns the number of tokens from which a step applies: the first number of its `range`.
fn step_start(step: Raw) -> Option<f64> {
    let mut range = step.get("range")?.items();
    parse_number(range.next()?)
}

/// A length of prompts above which other rates apply, as in the key
/// `input_cost_per_token_above_200k_tokens`.
struct Limit<'k> {
    /// The number of tokens.
    tokens: f64,
    /// The suffix of all keys with the rates for longer prompts.
    suffix: &'k str,
}

impl Limit<'_> {
    /// Parses a key such as `input_cost_per_token_above_200k_tokens`; `None` for any other key.
    fn parse_key(key: &str) -> Option<Limit<'_>> {
        let suffix = key.strip_prefix("input_cost_per_token")?;
        let thousands = suffix.strip_prefix("_above_")?.strip_suffix("k_tokens")?;
        let thousands: u32 = thousands.parse().ok()?;
        Some(Limit {
            tokens: f64::from(thousands) * 1000.0,
            suffix,
        })
    }
}
