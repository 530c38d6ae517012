//! The tokens of requests, from the records and events that report them.

use super::line::CodexLine;
use super::{CodexReader, Conversion, PROVIDER};
use crate::parts::{non_empty_text, usage_json};
use pisess_core::session::content::{find_members, finite_or_zero};
use pisess_core::session::usage::Usage;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

impl CodexReader<'_> {
    /// Adds the tokens of the last request, from the event that reports them:
    ///
    /// ```text
    /// {"type":"token_count","info":{"last_token_usage":{…},"total_token_usage":{…}}}
    /// ```
    pub(super) fn add_token_count(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let info = line.payload.get_raw("info").unwrap_or(Raw::NULL);
        let [last_request, total] = find_members(info, ["last_token_usage", "total_token_usage"]);
        self.add_usage(line, last_request, total)
    }

    /// Adds the tokens of a response from its record. Since 0.171, Codex writes this record when
    /// the response has ended, before the event with the same tokens:
    ///
    /// ```text
    /// {"response_id":"resp_1","usage":{…},"thread_token_usage":{…}}
    /// ```
    pub(super) fn add_usage_record(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let [usage, total] = find_members(line.payload.raw(), ["usage", "thread_token_usage"]);
        let response_id = non_empty_text(line.payload, "response_id");
        if let Some(held) = &mut self.held_reply {
            held.response_id = response_id.map(Text::into_owned);
        }
        self.add_usage(line, usage, total)
    }

    /// Adds the tokens of the last request to the held reply, to which they belong. If no reply is
    /// held, the tokens become an entry. `total` are the tokens of all requests.
    ///
    /// A report without tokens, or one that repeats an earlier report, is not converted.
    fn add_usage(
        &mut self,
        line: &CodexLine,
        last_request: Option<Raw>,
        total: Option<Raw>,
    ) -> io::Result<Conversion> {
        let Some(last_request) = last_request.filter(|usage| usage.is_object()) else {
            return Ok(Conversion::Unconverted);
        };

        // The total grows with each request, so an equal total is the same report again.
        let total = total.unwrap_or(last_request).bytes().to_vec();
        if self.total_usage.as_ref() == Some(&total) {
            return Ok(Conversion::Unconverted);
        }
        self.total_usage = Some(total);

        self.context_tokens = finite_or_zero(last_request.get("total_tokens"));
        let usage = convert_usage(last_request, self.context_tokens);
        if self.held_reply.is_some() {
            // The line itself is kept too, because it has more, such as limits. Its entry waits
            // behind the held reply, so it must be added before the reply ends.
            self.keep_line(line)?;
            self.end_reply(usage)?;
            return Ok(Conversion::Converted);
        }
        let members = Object::new()
            .str("kind", "codex")
            .str("provider", PROVIDER)
            .text("model", &self.model)
            .json("usage", &usage)
            .json("codex", &line.unconverted_members(&[]).finish());
        self.add_entry(line.offset, "usage", members)?;
        Ok(Conversion::Converted)
    }
}

/// Converts OpenAI's usage of a request to the `usage` object of pi, as JSON. OpenAI's input
/// includes the cached tokens, which pi counts apart: 1000 input tokens, of which 800 are cached,
/// become `{"input":200,"cacheRead":800, …}`. `context_tokens` is the size of the context
/// afterwards.
fn convert_usage(usage: Raw, context_tokens: f64) -> Vec<u8> {
    let input_tokens = finite_or_zero(usage.get("input_tokens"));
    let cached_tokens = finite_or_zero(usage.get("cached_input_tokens"));
    let converted = Usage {
        input: (input_tokens - cached_tokens).max(0.0),
        output: finite_or_zero(usage.get("output_tokens")),
        cache_read: cached_tokens,
        ..Usage::default()
    };
    let reasoning = usage.get("reasoning_output_tokens").and_then(Raw::number);
    usage_json(&converted, context_tokens, reasoning)
}
