//! A table of prices, from which the cost of requests without a recorded cost is estimated.
//!
//! pisess contains a table, `prices.txt`, which `packaging/prices` writes. A user can give another
//! table in the format of LiteLLM's `model_prices_and_context_window.json`: an object with a member
//! per model, whose values are dollars per token. This file finds a model in a table; `rates` reads
//! its rates, and `names` knows the spellings of its name.

mod names;
mod rates;

use self::names::{candidate_names, name_suffixes, without_date};
use self::rates::{Rates, estimate_cost, parse_rate_steps, parse_rates};
use crate::session::read::record::Respondent;
use crate::session::usage::Usage;
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use std::sync::LazyLock;

/// The table that pisess contains.
static BUILT_IN: LazyLock<PriceTable> = LazyLock::new(|| PriceTable::parse_lines(BUILT_IN_TEXT));

const BUILT_IN_TEXT: &str = include_str!("prices.txt");

/// Returns the date of the prices in the table that pisess contains, such as `2026-11-29`.
pub fn built_in_prices_date() -> &'static str {
    let first_line = BUILT_IN_TEXT.lines().next().unwrap_or_default();
    first_line.trim_start_matches("# Prices of ")
}

/// Estimates the cost of requests, one after the other. Most requests are to the same model as the
/// one before, so the rates of the last model are kept.
#[derive(Debug, Default)]
pub struct CostEstimator {
    provider: Text<'static>,
    model: Text<'static>,
    /// The rates of that model; `None` if the table does not have it.
    rates: Option<Vec<Rates>>,
}

impl CostEstimator {
    /// Sets the cost of a request that has none, if the table has its model. Without `prices`, the
    /// table that pisess contains is used.
    ///
    /// The rates of the last model are kept, so all calls must have the same `prices`.
    pub fn set_missing_cost(
        &mut self,
        usage: &mut Usage,
        respondent: Respondent,
        prices: Option<&PriceTable>,
    ) {
        if usage.cost.is_some() {
            return;
        }
        if let Some(rates) = self.find_rates(respondent, prices)
            && let Some(cost) = estimate_cost(rates, usage)
        {
            usage.cost = Some(cost);
            usage.is_estimated = true;
        }
    }

    /// Returns the rates of a model; `None` if the table does not have it. They are searched for
    /// only if the model is another one than in the last call.
    fn find_rates(
        &mut self,
        respondent: Respondent,
        prices: Option<&PriceTable>,
    ) -> Option<&[Rates]> {
        let model = respondent.model.filter(|model| !model.is_empty())?;
        let provider = respondent.provider.unwrap_or_default();
        // Before the first call, the kept name is empty, and so differs from any model.
        let is_last_model = self.model == model && self.provider == provider;
        if !is_last_model {
            let prices = prices.unwrap_or_else(|| &BUILT_IN);
            let rates = prices.find_rates(&provider.to_string_lossy(), &model.to_string_lossy());
            self.rates = rates.cloned();
            self.model = model.into_owned();
            self.provider = provider.into_owned();
        }
        self.rates.as_deref()
    }
}

/// The prices of models. Each model has its usual rates, then those for longer prompts, in
/// ascending order of length.
#[derive(Debug, Default)]
pub struct PriceTable {
    by_name: HashMap<String, Vec<Rates>>,
    /// The suffixes after each slash in longer names. `bedrock/us-east-1/MODEL` has two.
    by_suffix: HashMap<String, SuffixRates>,
    /// The names without their dates.
    by_undated_name: HashMap<String, DatedModel>,
}

/// The rates of all models whose names end with a suffix.
#[derive(Debug)]
enum SuffixRates {
    /// All have these rates.
    Common(Vec<Rates>),
    /// Their rates differ, so that a model cannot be priced by its suffix.
    Ambiguous,
}

/// One of several models whose names differ only in their date: the one without a date, or else the
/// one with the latest.
#[derive(Debug)]
struct DatedModel {
    name: String,
    rates: Vec<Rates>,
}

impl PriceTable {
    /// Parses a table in LiteLLM's format, an object with a member for each model; `None` if it is
    /// not such an object, or no member has prices. Members without prices are skipped: some
    /// describe the format, others are models that cost nothing.
    pub fn parse(json: &[u8]) -> Option<PriceTable> {
        let table = Raw::parse(json.trim_ascii()).ok()?;
        if !table.is_object() {
            return None;
        }
        let mut prices = PriceTable::default();
        for (model, row) in table.members() {
            if let Some(rates) = parse_rates(row) {
                prices.by_name.insert(model.text().to_string(), rates);
            }
        }
        if prices.by_name.is_empty() {
            return None;
        }
        prices.add_other_names();
        Some(prices)
    }

    /// Parses a table in the format of `prices.txt`. A line is `RATES: MODEL MODEL …`: rates in
    /// dollars per million tokens, and the models that have them. Lines with `#` are comments.
    fn parse_lines(text: &str) -> PriceTable {
        let mut prices = PriceTable::default();
        for line in text.lines() {
            let Some((rates, names)) = line.split_once(": ") else {
                continue;
            };
            // A comment has no rates.
            if let Some(rates) = parse_rate_steps(rates) {
                for name in names.split(' ') {
                    prices.by_name.insert(name.to_owned(), rates.clone());
                }
            }
        }
        prices.add_other_names();
        prices
    }

    /// Adds the shorter names by which models are also found.
    fn add_other_names(&mut self) {
        for (name, rates) in &self.by_name {
            add_suffixes(&mut self.by_suffix, name, rates);
            add_undated_name(&mut self.by_undated_name, name, rates);
        }
    }

    /// Returns the rates of a model, from the first of these that the table has. `provider` is
    /// empty if it is not known.
    ///
    /// 1. a row with one of the model's names (see [`candidate_names`]);
    /// 2. rows such as `bedrock/NAME`, with a prefix before one of its names, if all have the same
    ///    rates;
    /// 3. a row whose name differs from one of its names only in the date at the end.
    fn find_rates(&self, provider: &str, model: &str) -> Option<&Vec<Rates>> {
        let names = candidate_names(provider, model);
        for name in &names {
            if let Some(rates) = self.by_name.get(name) {
                return Some(rates);
            }
        }
        for name in &names {
            if let Some(SuffixRates::Common(rates)) = self.by_suffix.get(name) {
                return Some(rates);
            }
        }
        for name in &names {
            if let Some(model) = self.by_undated_name.get(without_date(name)) {
                return Some(&model.rates);
            }
        }
        None
    }
}

/// Adds the suffixes after each slash of a model's name, by which the model is found, too. If
/// another model has the same suffix and other rates, the suffix is ambiguous, and finds none.
fn add_suffixes(by_suffix: &mut HashMap<String, SuffixRates>, name: &str, rates: &[Rates]) {
    for suffix in name_suffixes(name).skip(1) {
        let known = by_suffix
            .entry(suffix.to_owned())
            .or_insert_with(|| SuffixRates::Common(rates.to_vec()));
        if let SuffixRates::Common(known_rates) = known
            && known_rates != rates
        {
            *known = SuffixRates::Ambiguous;
        }
    }
}

/// Adds a model under its name without a date, as in `m` for `m-2026-01-01`. Of several models with
/// one such name, the one that never had a date counts, else the one with the latest date.
fn add_undated_name(
    by_undated_name: &mut HashMap<String, DatedModel>,
    name: &str,
    rates: &[Rates],
) {
    let undated_name = without_date(name);
    let has_date = name != undated_name;
    if has_date && let Some(known) = by_undated_name.get(undated_name) {
        let known_has_date = known.name != undated_name;
        // The names differ only in their dates, which sort as texts do.
        let is_later = *name > *known.name;
        if !known_has_date || !is_later {
            return;
        }
    }
    let model = DatedModel {
        name: name.to_owned(),
        rates: rates.to_vec(),
    };
    by_undated_name.insert(undated_name.to_owned(), model);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table in the shape of LiteLLM's: prose, nulls, numbers in quotes, rates in steps, and
    /// names with prefixes and dates.
    const TABLE: &str = r#"{
        "sample_spec":{"max_tokens":"LEGACY parameter","input_cost_per_token":0.0,"output_cost_per_token":null,"mode":"one of: chat, embedding"},
        "fallback_generalizations":{"rules":[{"name":"x","pattern":"^x"}]},
        "claude-x":{"litellm_provider":"anthropic","mode":"chat","input_cost_per_token":3e-06,"output_cost_per_token":1.5e-05,
            "cache_read_input_token_cost":3e-07,"cache_creation_input_token_cost":3.75e-06,
            "cache_creation_input_token_cost_above_1hr":6e-06,"input_cost_per_token_batches":1e-9,"input_cost_per_token_above_200k_tokens_priority":1},
        "claude-x-20250929":{"input_cost_per_token":4e-06,"output_cost_per_token":4e-06},
        "claude-y-20240101":{"input_cost_per_token":1e-06,"output_cost_per_token":1e-06},
        "claude-y-20250929":{"input_cost_per_token":2e-06,"output_cost_per_token":2e-06},
        "anthropic.claude-x-v1:0":{"input_cost_per_token":5e-06,"output_cost_per_token":5e-06},
        "eu.anthropic.claude-x-v1:0":{"input_cost_per_token":5.5e-06,"output_cost_per_token":5e-06},
        "bedrock/us-east-1/anthropic.claude-v1":{"input_cost_per_token":8e-06,"output_cost_per_token":2.4e-05},
        "bedrock/us-west-2/anthropic.claude-v1":{"input_cost_per_token":8e-06,"output_cost_per_token":2.4e-05},
        "bedrock/us-east-1/anthropic.claude-v2":{"input_cost_per_token":8e-06,"output_cost_per_token":2.4e-05},
        "bedrock/eu-central-1/anthropic.claude-v2":{"input_cost_per_token":9e-06,"output_cost_per_token":2.4e-05},
        "vertex_ai/claude-x@20250929":{"input_cost_per_token":6e-06,"output_cost_per_token":6e-06},
        "openrouter/anthropic/claude-x.5":{"input_cost_per_token":7e-06,"output_cost_per_token":7e-06},
        "github_copilot/claude-x":{"litellm_provider":"github_copilot","mode":"chat"},
        "gemini/flash":{"input_cost_per_token":1e-6,"output_cost_per_token":1e-6,
            "input_cost_per_token_above_200k_tokens":2e-6,"cache_read_input_token_cost":null},
        "steep":{"input_cost_per_token":1e-6,"output_cost_per_token":1e-6,
            "input_cost_per_token_above_272k_tokens":4e-6,"input_cost_per_token_above_128k_tokens":2e-6},
        "dashscope/qwen":{"litellm_provider":"dashscope","tiered_pricing":[
            {"range":[32000.0,128000.0],"input_cost_per_token":"2e-06","output_cost_per_token":8e-6},
            {"range":[0,32000.0],"input_cost_per_token":1e-06,"output_cost_per_token":4e-6}]},
        "odd":{"input_cost_per_token":-1,"output_cost_per_token":1e400},
        "quoted":{"input_cost_per_token":"2e-06","output_cost_per_token":"4e-06"},
        "embedding":{"input_cost_per_token":1e-7,"output_cost_per_token":null},
        "list":[1], "text":"x", "nothing":null}"#;

    fn cost(provider: Option<&str>, model: &str, usage: Usage) -> Option<f64> {
        let prices = PriceTable::parse(TABLE.as_bytes()).unwrap();
        let rates = prices.find_rates(provider.unwrap_or_default(), model)?;
        estimate_cost(rates, &usage).map(|cost| (cost * 1e6).round())
    }

    /// Names of the agents, and the price of a token in millionths of a dollar.
    #[test]
    fn models_are_found_by_provider_and_name() {
        let of = |provider, model| {
            cost(
                provider,
                model,
                Usage {
                    input: 10.0,
                    ..Usage::default()
                },
            )
            .map(|ten| ten / 10.0)
        };
        for (provider, model, price) in [
            (Some("anthropic"), "claude-x", Some(3.0)),
            // Its own date, another date, the latest, and only dated names.
            (Some("anthropic"), "claude-x-20250929", Some(4.0)),
            (Some("anthropic"), "claude-x-20250101", Some(3.0)),
            (Some("anthropic"), "claude-x-2025-01-01", Some(3.0)),
            (Some("anthropic"), "claude-x-latest", Some(3.0)),
            (Some("anthropic"), "claude-y", Some(2.0)),
            (Some("anthropic"), "claude-y-latest", Some(2.0)),
            (Some("anthropic"), "claude-x-mini", None),
            // A row without prices does not hide those of the model.
            (Some("github-copilot"), "claude-x", Some(3.0)),
            (Some("my-proxy"), "claude-x", Some(3.0)),
            (Some("my-proxy"), "anthropic/claude-x", Some(3.0)),
            (None, "claude-x", Some(3.0)),
            // Places of Amazon Bedrock, with a price of their own or not.
            (
                Some("amazon-bedrock"),
                "eu.anthropic.claude-x-v1:0",
                Some(5.5),
            ),
            (
                Some("amazon-bedrock"),
                "global.anthropic.claude-x-v1:0",
                Some(5.0),
            ),
            (
                Some("amazon-bedrock"),
                "us-east-1/anthropic.claude-v2",
                Some(8.0),
            ),
            (Some("amazon-bedrock"), "anthropic.claude-v1", Some(8.0)),
            // Places with different prices.
            (Some("amazon-bedrock"), "anthropic.claude-v2", None),
            (Some("google-vertex"), "claude-x@20250929", Some(6.0)),
            (Some("google-vertex"), "claude-x@default", Some(6.0)),
            (Some("openrouter"), "anthropic/claude-x.5", Some(7.0)),
            (Some("my-proxy"), "claude-x.5", Some(7.0)),
            (Some("google"), "flash", Some(1.0)),
            (None, "quoted", Some(2.0)),
            (None, "odd", None),
            (None, "embedding", None),
            (None, "sample_spec", None),
            (None, "", None),
        ] {
            assert_eq!(of(provider, model), price, "{provider:?} {model}");
        }
    }

    #[test]
    fn rates_depend_on_the_kind_of_token_and_on_the_length_of_the_prompt() {
        let usage = Usage {
            input: 1e5,
            output: 1e4,
            cache_read: 1e6,
            cache_write: 1e4,
            ..Usage::default()
        };
        // Rates of batches and of other service tiers do not apply.
        assert_eq!(cost(Some("anthropic"), "claude-x", usage), Some(787_500.0));
        let usage_1h = Usage {
            cache_write_1h: 4e3,
            ..usage
        };
        assert_eq!(
            cost(Some("anthropic"), "claude-x", usage_1h),
            Some(796_500.0)
        );
        // A rate that is missing is that of the input.
        assert_eq!(
            cost(
                Some("google"),
                "flash",
                Usage {
                    cache_read: 0.0,
                    ..usage
                }
            ),
            Some(120_000.0)
        );
        assert_eq!(cost(Some("google"), "flash", usage), Some(1_220_000.0));
        let prompt = |input| Usage {
            input,
            ..Usage::default()
        };
        for (input, millionths) in [(128e3, 128e3), (200e3, 400e3), (300e3, 1200e3)] {
            assert_eq!(
                cost(None, "steep", prompt(input)),
                Some(millionths),
                "{input}"
            );
        }
        for (input, millionths) in [(32e3, 32e3), (100e3, 200e3), (500e3, 1000e3)] {
            assert_eq!(
                cost(Some("dashscope"), "qwen", prompt(input)),
                Some(millionths),
                "{input}"
            );
        }
    }

    #[test]
    fn prices_refuse_an_invalid_table() {
        for text in [
            "",
            "[]",
            "{}",
            r#"{"a":1}"#,
            r#"{"a":{"input_cost_per_token":"1"}}"#,
            "{",
        ] {
            assert!(PriceTable::parse(text.as_bytes()).is_none(), "{text}");
        }
    }

    /// The prices per million tokens that the providers publish.
    #[test]
    fn the_built_in_table_has_the_models_of_the_agents() {
        let usage = Usage {
            input: 1e5,
            output: 1e5,
            ..Usage::default()
        };
        for (provider, model, input_and_output) in [
            ("anthropic", "claude-sonnet-4-20250514", Some(3.0 + 15.0)),
            ("anthropic", "claude-sonnet-4-5-20250929", Some(3.0 + 15.0)),
            ("anthropic", "claude-opus-4-1-20250805", Some(15.0 + 75.0)),
            ("anthropic", "claude-opus-4-5", Some(5.0 + 25.0)),
            ("anthropic", "claude-haiku-4-5-20251001", Some(1.0 + 5.0)),
            (
                "anthropic",
                "us.anthropic.claude-opus-4-5-20251101-v1:0",
                Some(5.0 + 25.0),
            ),
            ("openrouter", "anthropic/claude-opus-4.5", Some(5.0 + 25.0)),
            ("anthropic", "glm-4.6", Some(2.8)),
            ("openai", "gpt-5-codex", Some(1.25 + 10.0)),
            ("openai", "gpt-5.1-codex-max", Some(1.25 + 10.0)),
            ("openai", "gpt-4o-2024-05-13", Some(5.0 + 15.0)),
            ("openai", "gpt-4o-2024-11-20", Some(2.5 + 10.0)),
            ("google", "gemini-2.5-pro", Some(1.25 + 10.0)),
            ("anthropic", "<synthetic>", None),
            ("openai", "codex-auto-review", None),
        ] {
            let rates = BUILT_IN.find_rates(provider, model);
            let cost = rates.and_then(|rates| estimate_cost(rates, &usage));
            let per_million = cost.map(|cost| (cost * 1e7).round() / 1e6);
            assert_eq!(per_million, input_and_output, "{model}");
        }
        assert_eq!(built_in_prices_date().len(), "2026-11-29".len());
    }

    /// The table stays small, because every binary contains it. No line of it is left out.
    #[test]
    fn the_built_in_table_is_small_and_valid() {
        assert!(BUILT_IN_TEXT.len() < 15_000);
        for line in BUILT_IN_TEXT.lines() {
            let (rates, names) = match line.split_once(": ") {
                Some(parts) if !line.starts_with('#') => parts,
                _ => {
                    assert!(line.starts_with('#'), "{line}");
                    continue;
                }
            };
            assert!(parse_rate_steps(rates).is_some(), "{line}");
            for name in names.split(' ') {
                assert!(BUILT_IN.by_name.contains_key(name), "{name}");
            }
        }
    }
}
