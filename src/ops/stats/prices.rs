//! A table of prices, in the format of LiteLLM's `model_prices_and_context_window.json`: an object with a member per
//! model, whose values are dollars per token. It estimates the cost of requests for which the session records none.

use crate::session::usage::Usage;
use foldhash::HashMap;
use pisess_json::Raw;

/// The prices of models.
#[derive(Debug, Default)]
pub struct Prices(HashMap<String, Price>);

/// Dollars per token.
#[derive(Clone, Copy, Debug)]
struct Price {
    usual: Rates,
    /// For requests with a prompt of more than [`LONG`] tokens, if the table has them.
    long: Option<Rates>,
}

#[derive(Clone, Copy, Debug)]
struct Rates {
    input: f64,
    output: f64,
    cache_read: f64,
    cache_write: f64,
}

/// The length of a prompt, in tokens, from which some providers take other prices.
const LONG: f64 = 200_000.0;

/// The providers that the table calls differently than the agents.
const PROVIDERS: [(&str, &str); 6] = [
    ("google", "gemini"),
    ("google-vertex", "vertex_ai"),
    ("amazon-bedrock", "bedrock"),
    ("azure-openai-responses", "azure"),
    ("github-copilot", "github_copilot"),
    ("openai-codex", "openai"),
];

impl Prices {
    /// Parses a table; `None` if it is not a JSON object, or no member has prices.
    pub fn parse(json: &[u8]) -> Option<Prices> {
        let table = Raw::parse(json.trim_ascii()).ok().filter(|table| table.is_object())?;
        let prices =
            table.members().filter_map(|(model, row)| Some((model.text().to_string(), Price::of(row)?)));
        Some(Prices(prices.collect())).filter(|prices| !prices.0.is_empty())
    }

    /// Returns the estimated cost of a request; `None` if the table does not have its model.
    pub fn cost(&self, provider: Option<&str>, model: &str, usage: &Usage) -> Option<f64> {
        let known = PROVIDERS.iter().find(|(name, _)| Some(*name) == provider).map(|(_, known)| *known);
        let mut names = [provider, known].into_iter().flatten().map(|provider| format!("{provider}/{model}"));
        let price = names.find_map(|name| self.0.get(&name)).or_else(|| self.0.get(model))?;
        let prompt = usage.input + usage.cache_read + usage.cache_write;
        let rates = price.long.filter(|_| prompt > LONG).unwrap_or(price.usual);
        Some(
            usage.input * rates.input
                + usage.output * rates.output
                + usage.cache_read * rates.cache_read
                + usage.cache_write * rates.cache_write,
        )
    }
}

impl Price {
    fn of(row: Raw) -> Option<Price> {
        // Some rows of the table have their numbers in quotes.
        let number = |value: Raw| value.number().or_else(|| value.text()?.to_string_lossy().parse().ok());
        let rate = |key: &str| row.get(key).and_then(number).filter(|rate| rate.is_finite() && *rate >= 0.0);
        let (input, output) = (rate("input_cost_per_token")?, rate("output_cost_per_token")?);
        let or_input = |key: &str| rate(key).unwrap_or(input);
        let usual = Rates {
            input,
            output,
            cache_read: or_input("cache_read_input_token_cost"),
            cache_write: or_input("cache_creation_input_token_cost"),
        };
        let long = rate("input_cost_per_token_above_200k_tokens").map(|input| Rates {
            input,
            output: rate("output_cost_per_token_above_200k_tokens").unwrap_or(usual.output),
            cache_read: rate("cache_read_input_token_cost_above_200k_tokens").unwrap_or(usual.cache_read),
            cache_write: rate("cache_creation_input_token_cost_above_200k_tokens")
                .unwrap_or(usual.cache_write),
        });
        Some(Price { usual, long })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_found_by_provider_and_name() {
        let table = br#"{"sample_spec":{"note":"text"},
            "claude-x":{"input_cost_per_token":3e-6,"output_cost_per_token":1.5e-5,"cache_read_input_token_cost":3e-7},
            "gemini/flash":{"input_cost_per_token":1e-6,"output_cost_per_token":1e-6,"input_cost_per_token_above_200k_tokens":2e-6},
            "odd":{"input_cost_per_token":-1,"output_cost_per_token":1e400},
            "quoted":{"input_cost_per_token":"2e-06","output_cost_per_token":"4e-06"}}"#;
        let prices = Prices::parse(table).unwrap();
        let usage = Usage { input: 1e5, output: 1e4, cache_read: 1e6, cache_write: 1e4, ..Usage::default() };
        let cost =
            |provider, model, usage| prices.cost(provider, model, &usage).map(|cost| (cost * 1e6).round());
        // A rate that is missing is that of the input.
        assert_eq!(cost(Some("anthropic"), "claude-x", usage), Some(780_000.0));
        assert_eq!(cost(Some("google"), "flash", Usage { cache_read: 0.0, ..usage }), Some(120_000.0));
        assert_eq!(cost(Some("google"), "flash", usage), Some(1_220_000.0));
        assert_eq!(cost(None, "flash", usage), None);
        assert_eq!(cost(None, "odd", usage), None);
        assert_eq!(cost(None, "quoted", Usage { cache_read: 0.0, ..usage }), Some(260_000.0));
        for text in ["", "[]", "{}", r#"{"a":1}"#, r#"{"a":{"input_cost_per_token":"1"}}"#, "{"] {
            assert!(Prices::parse(text.as_bytes()).is_none(), "{text}");
        }
    }
}
