//! Request bodies: a context in the form of a provider's API, as the session's agent would send it.
//!
//! ```text
//! messages ── Target ── system text, tools, model          (first pass)
//! messages ── replay ── turns with paired calls ── Writer ── body   (second pass)
//! ```
//!
//! `replay` does what every API requires: it pairs calls with results, drops failed turns, drops
//! the thinking of other models or makes it text, and gives each call an id. A module for each API
//! then writes the body. Where an agent would send what the API refuses, the body is repaired;
//! docs/format.md lists each such case. Cache marks, streaming, thinking budgets and whatever else
//! depends on more than the session and the model are left out.

mod anthropic;
mod blocks;
mod google;
mod ids;
mod openai;
mod replay;
mod responses;
mod schema;
mod sink;
mod tools;

use crate::agents::Agent;
use crate::agents::pi::system::System;
use crate::session::content;
use crate::session::read::entry_reader::{EntryReader, Message};
use foldhash::{HashMap, HashSet};
use ids::gemini_version;
use pisess_json::Raw;
use pisess_json::text::Text;
pub use replay::LeftOut;
use replay::{Late, Replay};
use sink::Sink;
use std::io::{self, Write};
use tools::{Grammar, Tool};

/// An API of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's Messages.
    Anthropic,
    /// OpenAI's Chat Completions, which many providers offer.
    OpenAi,
    /// OpenAI's Responses.
    Responses,
    /// Google's `generateContent`.
    Google,
}

impl Api {
    /// Returns the name that the agents store as `api` in assistant messages.
    pub fn name(self) -> &'static str {
        match self {
            Api::Anthropic => "anthropic-messages",
            Api::OpenAi => "openai-completions",
            Api::Responses => "openai-responses",
            Api::Google => "google-generative-ai",
        }
    }

    /// Returns the default model.
    fn profile(self) -> Model {
        let (provider, id) = match self {
            Api::Anthropic => ("anthropic", "claude-sonnet-4-5"),
            Api::OpenAi | Api::Responses => ("openai", "gpt-5.1"),
            Api::Google => ("google", "gemini-3.1-pro-preview"),
        };
        Model {
            provider: Text::from(provider),
            id: Text::from(id),
        }
    }

    /// Returns the maximum output of `model` in tokens, if the API requires one or the maximum is
    /// known.
    fn max_tokens(self, model: &Model) -> Option<u64> {
        let is_profile = *model == self.profile();
        match self {
            // The API requires a number. All current models of Anthropic allow the first; nearly
            // all models of other providers allow the second.
            Api::Anthropic if model.provider == "anthropic" => Some(64_000),
            Api::Anthropic => Some(32_000),
            Api::OpenAi | Api::Responses => is_profile.then_some(128_000),
            Api::Google => is_profile.then_some(65_536),
        }
    }
}

/// A model of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The provider.
    pub provider: Text<'static>,
    /// Its id there.
    pub id: Text<'static>,
}

/// What to write a body for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The API.
    pub api: Api,
    /// The model. The default is that of the last assistant message if its API is the same, else a
    /// fixed one.
    pub model: Option<Model>,
    /// The maximum output, in tokens.
    pub max_tokens: Option<u64>,
}

/// The API and model that a body is for, the agent that adapts it, and what it contains besides
/// messages.
#[derive(Debug)]
struct Target {
    api: Api,
    model: Model,
    max_tokens: Option<u64>,
    agent: &'static Agent,
    system: Text<'static>,
    tools: Vec<Tool>,
    /// The grammars of the tools, by their names.
    grammars: HashMap<Text<'static>, Grammar>,
}

/// Writes the body of a request with `messages`, which the session's agent has built. Returns
/// whether the last message is the model's own, which some APIs refuse and others continue, and how
/// many tool results were left out. Writes nothing and returns `None` if there is no message to
/// send.
pub fn write(
    messages: &[Message],
    request: &Request,
    reader: &EntryReader,
    out: &mut dyn Write,
) -> io::Result<Option<(bool, LeftOut)>> {
    let (target, late) = Target::of(messages, request, reader)?;
    let sink = Sink::new(out, target.agent.half_pair);
    let body: Box<dyn replay::Writer + '_> = match request.api {
        Api::Anthropic => Box::new(anthropic::Body::new(&target, sink)),
        Api::OpenAi => Box::new(openai::Body::new(&target, sink)),
        Api::Responses => Box::new(responses::Body::new(&target, sink)),
        Api::Google => Box::new(google::Body::new(&target, sink)),
    };
    let mut replay = Replay::new(&target, late, body);
    (target.agent.for_model)(messages, reader, &mut |json| replay.take(json))?;
    replay.finish()
}

impl Target {
    /// Reads the messages in a first pass. Also returns the results that come too late, if the
    /// agent moves them.
    fn of(
        messages: &[Message],
        request: &Request,
        reader: &EntryReader,
    ) -> io::Result<(Self, Late)> {
        let (api, agent) = (request.api, reader.session().agent());
        let (mut system, mut last_model, mut late) = (System::default(), None, Late::default());
        let mut number = 0;
        (agent.for_model)(messages, reader, &mut |json| {
            let message = Raw::checked(json);
            number += 1;
            if agent.rescues_results {
                late.read(number, message);
            }
            let role = message.get_text("role").unwrap_or_default();
            match role.as_bytes() {
                b"system" => system.replay(message),
                b"assistant" => last_model = author(message, api),
                _ => {}
            }
            Ok(())
        })?;
        let model = request
            .model
            .clone()
            .or(last_model)
            .unwrap_or_else(|| api.profile());
        let is_openai = model.provider == "openai";
        let takes_strict = match api {
            Api::Anthropic => model.provider == "anthropic",
            Api::OpenAi => is_openai,
            Api::Responses => true,
            Api::Google => gemini_version(&model.id).is_some_and(|version| version >= 3),
        };
        let takes_grammars = matches!(api, Api::OpenAi | Api::Responses)
            && is_openai
            && is_gpt_5_or_later(&model.id);
        let read = |json| Tool::of(Raw::checked(json), api, takes_strict, takes_grammars);
        let mut names = HashSet::default();
        let tools = system
            .tools()
            .filter_map(read)
            .filter(|tool| names.insert(tool.name.clone()));
        let tools: Vec<_> = tools.collect();
        let grammar = |tool: &Tool| Some((tool.name.clone(), tool.grammar.clone()?));
        let grammars = tools.iter().filter_map(grammar).collect();
        let max_tokens = request.max_tokens.or(api.max_tokens(&model));
        Ok((
            Target {
                api,
                model,
                max_tokens,
                agent,
                system: system.prompt(),
                tools,
                grammars,
            },
            late,
        ))
    }
}

/// Returns the model of an assistant message, if its API is the requested one.
fn author(message: Raw, api: Api) -> Option<Model> {
    let [provider, own, id] = content::members(message, ["provider", "api", "model"]);
    let text = |value: Option<Raw>| {
        value?
            .text()
            .filter(|text| !text.is_empty())
            .map(Text::into_owned)
    };
    let is_of_api = own.is_some_and(|own| own.is(api.name()));
    is_of_api
        .then(|| {
            Some(Model {
                provider: text(provider)?,
                id: text(id)?,
            })
        })
        .flatten()
}

fn is_gpt_5_or_later(id: &Text) -> bool {
    let name = id.to_string_lossy();
    let version = name
        .strip_prefix("gpt-")
        .and_then(|rest| rest.split(['.', '-']).next()?.parse::<u32>().ok());
    version.is_some_and(|version| version >= 5)
}
