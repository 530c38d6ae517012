//! What a body is for, and its parts that depend on all messages: the model, the system text, the tools.

use super::ids::gemini_version;
use super::late::Late;
use super::tools::Tool;
use super::{Api, Model, Request, Target};
use crate::agents::pi::system::System;
use crate::session::content;
use crate::session::read::entry_reader::{EntryReader, Message};
use foldhash::HashSet;
use pisess_json::Raw;
use pisess_json::text::Text;
use std::io;

impl Target {
    /// Reads the messages in a first pass. Also returns the results that come too late, if the agent moves them.
    pub fn of(messages: &[Message], request: &Request, reader: &EntryReader) -> io::Result<(Self, Late)> {
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
        let model = request.model.clone().or(last_model).unwrap_or_else(|| api.profile());
        let is_openai = model.provider == "openai";
        let takes_strict = match api {
            Api::Anthropic => model.provider == "anthropic",
            Api::OpenAi => is_openai,
            Api::Responses => true,
            Api::Google => gemini_version(&model.id).is_some_and(|version| version >= 3),
        };
        let takes_grammars =
            matches!(api, Api::OpenAi | Api::Responses) && is_openai && is_gpt_5_or_later(&model.id);
        let read = |json| Tool::of(Raw::checked(json), api, takes_strict, takes_grammars);
        let mut names = HashSet::default();
        let tools = system.tools().filter_map(read).filter(|tool| names.insert(tool.name.clone()));
        let tools: Vec<_> = tools.collect();
        let grammar = |tool: &Tool| Some((tool.name.clone(), tool.grammar.clone()?));
        let grammars = tools.iter().filter_map(grammar).collect();
        let max_tokens = request.max_tokens.or(api.max_tokens(&model));
        Ok((Target { api, model, max_tokens, agent, system: system.prompt(), tools, grammars }, late))
    }
}

/// Returns the model of an assistant message, if its API is the requested one.
fn author(message: Raw, api: Api) -> Option<Model> {
    let [provider, own, id] = content::members(message, ["provider", "api", "model"]);
    let text = |value: Option<Raw>| value?.text().filter(|text| !text.is_empty()).map(Text::into_owned);
    let is_of_api = own.is_some_and(|own| own.is(api.name()));
    is_of_api.then(|| Some(Model { provider: text(provider)?, id: text(id)? })).flatten()
}

fn is_gpt_5_or_later(id: &Text) -> bool {
    let name = id.to_string_lossy();
    let version =
        name.strip_prefix("gpt-").and_then(|rest| rest.split(['.', '-']).next()?.parse::<u32>().ok());
    version.is_some_and(|version| version >= 5)
}
