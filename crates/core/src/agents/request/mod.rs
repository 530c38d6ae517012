//! Writes request bodies: a context in the form of a provider's API, as the session's agent would
//! send it.
//!
//! ```text
//! messages ── FirstPass ── RequestTarget: system text, tools, model     (first pass)
//! messages ── Replay ── turns with paired calls ── BodyWriter ── body   (second pass)
//! ```
//!
//! `replay` does what every API requires: it pairs calls with results (`late_results`), drops
//! failed turns, drops the thinking of other models or makes it text (`turn`), and gives each call
//! an id (`ids`). A module for each API then writes the body. If an agent would send what the API
//! refuses, the body is repaired; docs/requests.md lists each such case. Cache marks, streaming,
//! thinking budgets and whatever else depends on more than the session and the model are left out.

mod anthropic;
mod blocks;
mod example;
mod google;
mod ids;
mod late_results;
mod openai;
mod replay;
mod responses;
mod schema;
mod sink;
mod tools;
mod turn;

use crate::agents::Agent;
use crate::agents::agent::AgentConstants;
use crate::agents::pi::system::SystemPrompt;
use crate::session::Session;
use crate::session::content;
use crate::session::entry::Role;
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
pub use anthropic::signed_thinking_block;
pub use example::write_example;
use foldhash::{HashMap, HashSet};
use ids::UsedIds;
use late_results::LateResults;
use pisess_json::Raw;
use pisess_json::text::Text;
use replay::Replay;
pub use replay::SkippedResults;
use sink::BodySink;
use std::borrow::Cow;
use std::io::{self, Write};
use tools::{Grammar, Tool, ToolSupport};

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

    /// Returns the model of a request if neither the user nor the session names one.
    fn default_model(self) -> Model {
        let named = |provider, id| Model {
            provider: Text::from(provider),
            id: Text::from(id),
        };
        match self {
            Api::Anthropic => named("anthropic", "claude-sonnet-4-5"),
            Api::OpenAi | Api::Responses => named("openai", "gpt-5.1"),
            Api::Google => named("google", "gemini-3.1-pro-preview"),
        }
    }

    /// Returns the maximum output of a model in tokens. `None` if the API does not require the
    /// number and it is not known.
    fn max_tokens(self, model: &Model) -> Option<u64> {
        let is_default = *model == self.default_model();
        match self {
            // The API requires a number. All current models of Anthropic accept the first; nearly
            // all models of other providers accept the second.
            Api::Anthropic if model.provider == "anthropic" => Some(64_000),
            Api::Anthropic => Some(32_000),
            Api::OpenAi | Api::Responses => is_default.then_some(128_000),
            Api::Google => is_default.then_some(65_536),
        }
    }
}

/// A model of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// The provider.
    pub provider: Text<'static>,
    /// The id of the model with this provider.
    pub id: Text<'static>,
}

/// The request for which a body is written.
#[derive(Clone, Debug)]
pub struct Request {
    /// The API.
    pub api: Api,
    /// The model. By default, it is that of the last assistant message if that was received through
    /// the same API, else a fixed one.
    pub model: Option<Model>,
    /// The maximum output, in tokens.
    pub max_tokens: Option<u64>,
}

/// What a body is written for: the API and the model, the agent whose rules apply, and what the
/// body contains besides messages.
#[derive(Debug)]
struct RequestTarget {
    api: Api,
    model: Model,
    max_tokens: Option<u64>,
    agent: &'static dyn Agent,
    system: Text<'static>,
    tools: Vec<Tool>,
    /// The grammars of the tools, by their names.
    grammars: HashMap<Text<'static>, Grammar>,
    /// Whether the body is an example for fine-tuning, which names no model.
    is_example: bool,
}

/// A body that was written.
#[derive(Debug)]
pub struct WrittenBody {
    /// Whether the last message is the model's own. Some APIs refuse such a body; others continue
    /// the message.
    pub ends_with_answer: bool,
    /// The tool results that are not in the body.
    pub skipped_results: SkippedResults,
}

/// Writes the body of a request with `messages`, which the session's agent has built. `None` if
/// there is no message to send; then nothing is written.
pub fn write_body(
    messages: &[ContextMessage],
    request: &Request,
    reader: &EntryReader,
    out: &mut dyn Write,
) -> io::Result<Option<WrittenBody>> {
    // The messages are read twice: first for what must be known before the first one is written.
    let first_pass = FirstPass::read(messages, request.api, reader)?;
    let target = RequestTarget::new(request, reader.session().agent(), &first_pass);
    let writer = new_writer(&target, out);
    let mut replay = Replay::new(&target, UsedIds::default(), first_pass.late_results, writer);
    replay.replay_all(messages, reader)?;
    replay.finish()
}

/// Returns the writer of bodies for the target's API.
fn new_writer<'a>(
    target: &'a RequestTarget,
    out: &'a mut dyn Write,
) -> Box<dyn replay::BodyWriter + 'a> {
    let sink = BodySink::new(out, target.constants().surrogate_replacement);
    match target.api {
        Api::Anthropic => Box::new(anthropic::AnthropicWriter::new(target, sink)),
        Api::OpenAi => Box::new(openai::OpenAiWriter::new(target, sink)),
        Api::Responses => Box::new(responses::ResponsesWriter::new(target, sink)),
        Api::Google => Box::new(google::GoogleWriter::new(target, sink)),
    }
}

/// What the first pass over the messages finds.
#[derive(Default)]
struct FirstPass {
    system: SystemPrompt,
    /// The model of the last assistant message, if its API is the requested one.
    last_model: Option<Model>,
    /// The results that come too late after their calls. Collected only if the agent moves them to
    /// the calls.
    late_results: LateResults,
}

impl FirstPass {
    /// Reads the messages of a context, in the form in which the model receives them, to find what
    /// must be known before the first message is written. If the agent moves late results to their
    /// calls, all messages are read. Otherwise, only the messages that determine the system text
    /// and the model are read.
    ///
    /// [`Replay`] is the second pass. It gets all messages in the same form, and numbers them in
    /// the same way.
    fn read(messages: &[ContextMessage], api: Api, reader: &EntryReader) -> io::Result<Self> {
        let agent = reader.session().agent();
        let moves_late_results = agent.constants().moves_late_results;
        let needed_messages = if moves_late_results {
            Cow::Borrowed(messages)
        } else {
            Cow::Owned(system_messages_and_last_reply(messages, reader.session()))
        };
        let mut first_pass = FirstPass::default();
        // Numbers start at 1, as in `Replay`, which compares its numbers with the numbers of late
        // results.
        let mut message_number = 0;
        agent.convert_for_model(&needed_messages, reader, &mut |json| {
            let message = Raw::from_checked(json);
            message_number += 1;
            if moves_late_results {
                first_pass
                    .late_results
                    .read_message(message_number, message);
            }
            first_pass.read_message(message, api);
            Ok(())
        })?;
        Ok(first_pass)
    }

    /// Reads a message that may determine the system text or the model.
    fn read_message(&mut self, message: Raw, api: Api) {
        let role = message.get_text("role").unwrap_or_default();
        match role.as_bytes() {
            b"system" => self.system.apply_message(message),
            // The last reply counts. If it came through another API, its model is `None`, and an
            // earlier reply does not replace it.
            b"assistant" => self.last_model = author_model(message, api),
            _ => {}
        }
    }
}

/// Returns the messages that determine the system text and the model of a request, in order: all
/// system messages, and the last reply, whose model is to continue. For most sessions, this saves
/// reading nearly all lines twice.
fn system_messages_and_last_reply(
    messages: &[ContextMessage],
    session: &Session,
) -> Vec<ContextMessage> {
    let role_of = |message: &ContextMessage| message.role(session);
    let last_reply = messages
        .iter()
        .rposition(|message| role_of(message) == Role::Assistant);
    let mut needed = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        if Some(index) == last_reply || role_of(message) == Role::System {
            needed.push(message.clone());
        }
    }
    needed
}

/// Returns the model that wrote an assistant message. `None` if it was received through another API
/// than the requested one, which does not know the model's id.
fn author_model(message: Raw, api: Api) -> Option<Model> {
    let [provider, message_api, id] = content::find_members(message, ["provider", "api", "model"]);
    if !message_api?.is(api.name()) {
        return None;
    }
    Some(Model {
        provider: non_empty_text(provider)?,
        id: non_empty_text(id)?,
    })
}

fn non_empty_text(value: Option<Raw>) -> Option<Text<'static>> {
    let text = value?.text()?;
    if text.is_empty() {
        return None;
    }
    Some(text.into_owned())
}

impl RequestTarget {
    /// Determines what a body is written for: the request, completed with what the first pass found
    /// in the messages. The model is the requested one, else the model of the last reply, else the
    /// API's default.
    fn new(request: &Request, agent: &'static dyn Agent, first_pass: &FirstPass) -> Self {
        let api = request.api;
        let model = request
            .model
            .clone()
            .or_else(|| first_pass.last_model.clone())
            .unwrap_or_else(|| api.default_model());

        let tools = read_tools(&first_pass.system, ToolSupport::for_model(&model, api));
        let mut grammars = HashMap::default();
        for tool in &tools {
            if let Some(grammar) = &tool.grammar {
                grammars.insert(tool.name.clone(), grammar.clone());
            }
        }

        RequestTarget {
            api,
            max_tokens: request.max_tokens.or(api.max_tokens(&model)),
            model,
            agent,
            system: first_pass.system.prompt_text(),
            tools,
            grammars,
            is_example: false,
        }
    }

    fn constants(&self) -> &'static AgentConstants {
        self.agent.constants()
    }
}

/// Reads the tools of a system prompt, in the form that the model supports. If several have one
/// name, the first counts.
fn read_tools(system: &SystemPrompt, support: ToolSupport) -> Vec<Tool> {
    let mut tools = Vec::new();
    let mut names = HashSet::default();
    for definition in system.tool_definitions() {
        let Some(tool) = Tool::read(Raw::from_checked(definition), support) else {
            continue;
        };
        let is_new = names.insert(tool.name.clone());
        if is_new {
            tools.push(tool);
        }
    }
    tools
}
