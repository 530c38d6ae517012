//! The parts of a body that depend on all messages: the system text, the tools, the model.

use super::late::Late;
use super::tools::{Grammar, Tool};
use super::{Api, Model};
use crate::agents::pi::system::System;
use crate::session::content;
use crate::session::read::entry_reader::{EntryReader, Message};
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::text::Text;
use std::io;

/// The result of a first pass over the messages.
#[derive(Debug, Default)]
pub struct Survey {
    pub system: Text<'static>,
    pub tools: Vec<Tool>,
    /// The grammars of the tools in effect, by their names.
    pub grammars: HashMap<Text<'static>, Grammar>,
    /// The model of the last assistant message, if its API is the requested one.
    pub model: Option<Model>,
    /// Late results, if the agent moves them.
    pub late: Late,
}

impl Survey {
    pub fn of(messages: &[Message], api: Api, bodies: &EntryReader) -> io::Result<Self> {
        let agent = bodies.session().agent();
        let mut system = System::default();
        let mut model = None;
        let mut late = Late::default();
        let mut number = 0;
        (agent.for_model)(messages, bodies, &mut |json| {
            let message = Raw::checked(json);
            number += 1;
            if agent.rescues_results {
                late.read(number, message);
            }
            let role = message.get_text("role").unwrap_or_default();
            match role.as_bytes() {
                b"system" => system.replay(message),
                b"assistant" => model = author(message, api),
                _ => {}
            }
            Ok(())
        })?;
        let tools = system.tools().filter_map(|json| Tool::of(Raw::checked(json), api)).collect::<Vec<_>>();
        let mut names = HashSet::default();
        let tools = tools.into_iter().filter(|tool| names.insert(tool.name.clone())).collect::<Vec<_>>();
        let grammar = |tool: &Tool| Some((tool.name.clone(), tool.grammar.clone()?));
        let grammars = tools.iter().filter_map(grammar).collect();
        Ok(Survey { system: system.prompt(), tools, grammars, model, late })
    }
}

fn author(message: Raw, api: Api) -> Option<Model> {
    let [provider, own, id] = content::members(message, ["provider", "api", "model"]);
    let text = |value: Option<Raw>| value?.text().filter(|text| !text.is_empty()).map(Text::into_owned);
    let is_of_api = own.is_some_and(|own| own.is(api.name()));
    is_of_api.then(|| Some(Model { provider: text(provider)?, id: text(id)? })).flatten()
}
