//! The names under which a table of prices may have a model.
//!
//! Agents, providers and the table spell the name of a model differently: with the provider before
//! it, with a region, with a date at its end.

use regex::Regex;
use std::sync::LazyLock;

/// The providers that have another name in the table than in the agents: the agents' name, then the
/// table's.
const PROVIDERS: [(&str, &str); 6] = [
    ("google", "gemini"),
    ("google-vertex", "vertex_ai"),
    ("amazon-bedrock", "bedrock"),
    ("azure-openai-responses", "azure"),
    ("github-copilot", "github_copilot"),
    ("openai-codex", "openai"),
];

/// Matches the date at the end of a model's name, or a word in its place.
const DATE_SUFFIX: &str = r"[-@]([0-9]{8}|[0-9]{4}-[0-9]{2}-[0-9]{2}|latest|default)$";

/// The regions in which Amazon Bedrock serves a model, which precede its name.
const REGION_PREFIXES: [&str; 7] = ["us.", "us-gov.", "eu.", "apac.", "au.", "jp.", "global."];

/// Returns the names under which a table of prices may have a model, the most specific first.
/// `provider` is empty if it is not known.
///
/// The model's name is tried as given, without a region before it, and without what precedes each
/// slash in it. Each of these is combined with the agents' name for the provider, with the table's
/// name for it, and with neither. Last come the names that Anthropic itself gives its models.
pub fn candidate_names(provider: &str, model: &str) -> Vec<String> {
    let providers = provider_names(provider);
    let mut variants = vec![model, without_region(model)];
    // The first suffix is the whole name.
    variants.extend(name_suffixes(model).skip(1));

    let mut names = Vec::new();
    for &variant in &variants {
        for provider in &providers {
            names.push(format!("{provider}/{variant}"));
        }
        names.push(variant.to_owned());
    }
    for variant in variants {
        names.extend(anthropic_name(variant));
    }
    names
}

/// Returns the agents' name for a provider and the table's, if that is another. Empty if the
/// provider is not known.
fn provider_names(provider: &str) -> Vec<&str> {
    let mut names = Vec::new();
    if !provider.is_empty() {
        names.push(provider);
    }
    for (agent_name, table_name) in PROVIDERS {
        if provider == agent_name {
            names.push(table_name);
        }
    }
    names
}

/// Returns a model's name without a region before it, such as `us.`.
fn without_region(model: &str) -> &str {
    for region in REGION_PREFIXES {
        if let Some(name) = model.strip_prefix(region) {
            return name;
        }
    }
    model
}

/// Returns the name that Anthropic itself gives a model: `claude-x-4-5` for `claude-x-4.5`, and for
/// Amazon Bedrock's `anthropic.claude-x-4-5-v1:0`. `None` if that is `name` already, or if the
/// model is of another company.
fn anthropic_name(name: &str) -> Option<String> {
    let model = name.strip_prefix("anthropic.").unwrap_or(name);
    if !model.starts_with("claude-") {
        return None;
    }
    let without_version = match model.rsplit_once("-v") {
        Some((model, version)) if version.starts_with(|c: char| c.is_ascii_digit()) => model,
        _ => model,
    };
    let own_name = without_version.replace('.', "-");
    if own_name == name {
        None
    } else {
        Some(own_name)
    }
}

/// Returns a name, then what follows each slash in it: `a/b/c`, `b/c`, `c`.
pub fn name_suffixes(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| {
        name.split_once('/').map(|(_, suffix)| suffix)
    })
}

/// Returns the name of a model without its date: `x` for `x-20250929`, `x-2025-09-29`, `x@20250929`
/// and `x-latest`.
pub fn without_date(name: &str) -> &str {
    static DATE: LazyLock<Regex> = LazyLock::new(|| Regex::new(DATE_SUFFIX).expect("a constant"));
    DATE.find(name).map_or(name, |date| &name[..date.start()])
}
