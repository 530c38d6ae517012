//! The steps of a trajectory, and the values in them.

use super::{CopyState, PlannedEntry, SubAgent, read_model_name};
use crate::source::{Contents, decode_string, string_or_json};
use pisess_core::agents::oh_my_pi::message::starts_user_turn;
use pisess_core::session::content::{
    blocks_of_type, find_members, for_each_item, is_block, join_text,
};
use pisess_core::session::entry::{Entry, EntryIx, Kind, Role};
use pisess_core::session::read::entry_reader::EntryReader;
use pisess_core::session::usage::{
    Usage, UsageSums, built_in_prices_date, possible_session_ends, reported_session_ends,
    session_end,
};
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_json::write::{Object, array};
use pisess_json::{Raw, string};
use std::io;
use std::path::Path;

/// The types of images that the format knows.
const ATIF_IMAGE_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// The length in bytes of a time whose year has four digits. Readers of the format accept no other
/// years. JavaScript writes all other years with a sign and six digits, as in `+010000-01-01…`, so
/// the length is a test for the year.
const TIME_LEN: usize = "2026-01-31T12:00:00.000Z".len();

/// Who a step is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepSource {
    User,
    Agent,
    System,
}

impl StepSource {
    /// Returns the value of the step's member `source`.
    fn as_str(self) -> &'static str {
        match self {
            StepSource::User => "user",
            StepSource::Agent => "agent",
            StepSource::System => "system",
        }
    }
}

/// A step, before it has a number.
#[derive(Default)]
pub(super) struct TrajectoryStep {
    /// Its JSON, without `step_id`.
    pub json: Vec<u8>,
    /// Whether it has `is_copied_context`.
    pub is_copy: bool,
    /// The usages that count in the sums of the trajectory; none if the step is a copy.
    pub usages: Vec<Usage>,
    /// The indexes of the sub-agents that its results name.
    pub named_sub_agents: Vec<usize>,
    /// The results in this step whose usage is not counted here, because a fork copied the reply.
    /// Such a result gets a step of its own.
    pub own_step_results: Vec<EntryIx>,
    /// Set if this step is of a result that the step of its call contains as well. This step is
    /// then written only if the step of the call did not count the usage of the result.
    pub repeated_result: Option<EntryIx>,
}

/// Makes steps; each thread has its own.
pub(super) struct StepMaker<'a> {
    contents: &'a Contents<'a>,
    path_name: &'a str,
    sub_agents: &'a [SubAgent<'a>],
    /// Reads the entries of the steps.
    reader: EntryReader<'a>,
    /// Reads the results of calls. A result is read while `reader` is in use for the reply.
    result_reader: EntryReader<'a>,
}

impl<'a> StepMaker<'a> {
    /// Returns a maker with readers of its own, which only one thread can use at a time.
    pub fn new(
        contents: &'a Contents<'a>,
        path_name: &'a str,
        sub_agents: &'a [SubAgent<'a>],
    ) -> StepMaker<'a> {
        StepMaker {
            contents,
            path_name,
            sub_agents,
            reader: contents.entry_reader(),
            result_reader: contents.entry_reader(),
        }
    }

    /// Makes the steps of planned entries. Some entries have no step.
    pub fn make_steps(&self, entries: &[PlannedEntry]) -> io::Result<Vec<TrajectoryStep>> {
        let mut steps = Vec::new();
        for entry in entries {
            steps.extend(self.make_step(entry)?);
        }
        Ok(steps)
    }

    /// Makes the step of an entry. `None` if the entry has no step: a setting, a message that is
    /// not an object, or a result that is in the step of its call.
    fn make_step(&self, entry: &PlannedEntry) -> io::Result<Option<TrajectoryStep>> {
        let ix = entry.ix;
        if self.contents.session.entry(ix).kind != Kind::Message {
            return self
                .reader
                .with_entry(ix, |line| self.entry_step(entry, line));
        }

        let read_result = self
            .reader
            .with_message(ix, |message| self.message_step(entry, message));
        // The outer result is that of reading the message. The inner one is that of making the
        // step: for a reply, the results of its calls are read as well.
        read_result?
    }

    /// Makes the step of an entry that is not a message: a message of an extension, a summary, or a
    /// request of which only the usage is recorded. `None` for an entry of any other kind.
    fn entry_step(&self, entry: &PlannedEntry, line: Raw) -> Option<TrajectoryStep> {
        let kind = self.contents.session.entry(entry.ix).kind;
        // After a compaction, the model sees the kept messages again, but not the requests that
        // were made for summaries.
        if entry.copy_state == CopyState::Kept && is_request_beside_messages(kind) {
            return None;
        }

        match kind {
            Kind::CustomMessage => {
                let source = source_of_custom_message(line);
                Some(self.plain_step(entry, source, line))
            }
            Kind::Compaction | Kind::BranchSummary | Kind::StackSummary => {
                Some(self.summary_step(entry, line))
            }
            Kind::Usage | Kind::ModelUsage => self.usage_step(entry, line),
            _ => None,
        }
    }

    /// Makes the step of a summary, which the agent may have requested from a model.
    fn summary_step(&self, entry: &PlannedEntry, line: Raw) -> TrajectoryStep {
        // The text of a stack summary is in `message`.
        let summary = line.get("summary").or(line.get("message"));
        let summary = summary.and_then(decode_string).unwrap_or_default();
        let content = RequestContent {
            model: None,
            message: &summary,
            extra: self.begin_extra_with_kind(entry.ix),
        };
        self.request_step(entry, content)
    }

    /// Makes the step of a request of which the session records only the usage. `None` if there is
    /// no usage, because the entry then records nothing.
    fn usage_step(&self, entry: &PlannedEntry, line: Raw) -> Option<TrajectoryStep> {
        let _recorded_usage = self.contents.session.usage_of(entry.ix)?;
        let content = RequestContent {
            model: read_model_name(line),
            message: "",
            extra: self.begin_extra_with_kind(entry.ix),
        };
        Some(self.request_step(entry, content))
    }

    /// Makes the step of a message by its role; `None` if it has none.
    fn message_step(
        &self,
        entry: &PlannedEntry,
        message: Raw,
    ) -> io::Result<Option<TrajectoryStep>> {
        if !message.is_object() {
            return Ok(None);
        }
        let step = match self.contents.session.entry(entry.ix).role {
            Role::Assistant => Some(self.reply_step(entry, message)?),
            Role::ToolResult => self.tool_result_step(entry, message),
            Role::BashExecution | Role::PythonExecution => {
                Some(self.execution_step(entry, message))
            }
            Role::User => Some(self.plain_step(entry, StepSource::User, message)),
            Role::Custom | Role::HookMessage => {
                let source = source_of_custom_message(message);
                Some(self.plain_step(entry, source, message))
            }
            // pi sends its system messages again in the checkpoint of a compaction, which is no
            // step of its own.
            Role::System if entry.copy_state == CopyState::Kept => None,
            Role::System
            | Role::Developer
            | Role::FileMention
            | Role::BranchSummary
            | Role::CompactionSummary
            | Role::Other
            | Role::Missing => Some(self.plain_step(entry, StepSource::System, message)),
        };
        Ok(step)
    }

    /// Makes the step of a command or code that the user ran: the command is the message of the
    /// user, and its output the observation.
    fn execution_step(&self, entry: &PlannedEntry, message: Raw) -> TrajectoryStep {
        let [command, code, output] = find_members(message, ["command", "code", "output"]);
        // A command of the shell, or code in Python.
        let command = command.or(code).and_then(decode_string).unwrap_or_default();
        let output = output.and_then(decode_string).unwrap_or_default();

        let mut result_extra = Object::new();
        if let Some(code) = message.get("exitCode") {
            result_extra = result_extra.raw("exit_code", code);
        }
        let result = Object::new()
            .str("content", &output)
            .json("extra", &result_extra.finish())
            .finish();
        let step = self
            .begin_step(entry.ix, StepSource::User, entry.copy_state)
            .str("message", &command)
            .json("observation", &observation_json(&[result]))
            .json("extra", &self.begin_extra(entry.ix).finish());
        TrajectoryStep::new(step, entry.copy_state)
    }

    /// Makes the step of a tool result. There are three cases:
    ///
    /// - Usually the step of the call contains the result, and the result has no step of its own.
    /// - If such a result has a usage, as the result of a sub-agent has, it gets a step with only
    ///   the usage. The writer skips this step if the step of the call counted the usage (see
    ///   [`TrajectoryStep::repeated_result`]).
    /// - If no step has the call, the result gets a step with its content, and its usage if it has
    ///   one.
    fn tool_result_step(&self, entry: &PlannedEntry, message: Raw) -> Option<TrajectoryStep> {
        let ix = entry.ix;
        let call_id = message.get_text("toolCallId").unwrap_or_default();
        let is_in_step_of_call = self.contents.is_matching_result(call_id.as_bytes(), ix);
        let has_usage = self.contents.session.usage_of(ix).is_some();
        if is_in_step_of_call && !has_usage {
            return None;
        }

        let mut content = RequestContent {
            model: None,
            message: "",
            extra: self.begin_extra(ix).str("type", "toolResult"),
        };
        if is_in_step_of_call {
            return Some(TrajectoryStep {
                repeated_result: Some(ix),
                ..self.request_step(entry, content)
            });
        }

        // The step has no calls, so the result names none.
        let call_id = None;
        let result = self.render_result(message, call_id);
        content.extra = content.extra.json("result", &result.json);
        Some(TrajectoryStep {
            named_sub_agents: result.named_sub_agents,
            ..self.request_step(entry, content)
        })
    }

    /// Makes the step of a message that is not a reply: its content or summary, without metrics.
    fn plain_step(&self, entry: &PlannedEntry, source: StepSource, message: Raw) -> TrajectoryStep {
        let mut extra = self.begin_extra(entry.ix);
        if let Some(custom_type) = message.get("customType") {
            extra = extra.str("custom_type", &string_or_json(custom_type));
        }
        let content = content_json(message.get("content").or(message.get("summary")));
        let step = self
            .begin_step(entry.ix, source, entry.copy_state)
            .json("message", &content)
            .json("extra", &extra.finish());
        TrajectoryStep::new(step, entry.copy_state)
    }

    /// Makes the step of an entry that a request of the agent may have produced, such as a summary.
    /// If the entry records a usage, it is from a request: the step is from the agent, and has the
    /// model and metrics. Otherwise the step is from the system.
    fn request_step(&self, entry: &PlannedEntry, content: RequestContent) -> TrajectoryStep {
        let copy_state = entry.copy_state;
        let usages = Vec::from_iter(self.contents.session.usage_of(entry.ix).copied());
        let is_from_agent = !usages.is_empty();
        let source = if is_from_agent {
            StepSource::Agent
        } else {
            StepSource::System
        };

        let mut step = self.begin_step(entry.ix, source, copy_state);
        if is_from_agent && let Some(model) = content.model {
            step = step.str("model_name", &model);
        }
        step = step.str("message", content.message);
        step = with_metrics(step, &usages, copy_state).json("extra", &content.extra.finish());
        TrajectoryStep::with_usages(step, copy_state, usages)
    }

    /// Makes the step of a reply: its text and thinking, its calls with their results, and the
    /// metrics of its request and of those results.
    fn reply_step(&self, entry: &PlannedEntry, message: Raw) -> io::Result<TrajectoryStep> {
        let ix = entry.ix;
        let names = ["usage", "content", "stopReason", "errorMessage", "api"];
        let [usage, content, stop_reason, error, api] = find_members(message, names);
        let counted_usage = self.contents.session.usage_of(ix).copied();
        // `pick` copies a reply within the session, which then does not count the usage of the copy
        // again. The trajectory treats the copy as one that a fork has made.
        let is_picked = usage.is_some() && counted_usage.is_none();
        let copy_state = if is_picked && entry.copy_state == CopyState::Original {
            CopyState::Forked
        } else {
            entry.copy_state
        };

        let blocks = content.unwrap_or(Raw::NULL);
        let calls = self.read_calls(ix, blocks, copy_state)?;
        let mut usages = Vec::from_iter(counted_usage);
        usages.extend(calls.usages);
        let thinking = join_thinking(blocks);

        let mut step = self.begin_step(ix, StepSource::Agent, copy_state);
        if let Some(model) = read_model_name(message) {
            step = step.str("model_name", &model);
        }
        if let Some(thinking_level) = &entry.thinking_level {
            step = step.str("reasoning_effort", thinking_level);
        }
        step = step.json("message", &content_json(content));
        if !thinking.is_empty() {
            step = step.str("reasoning_content", &thinking);
        }
        step = step.json_array("tool_calls", &calls.calls);
        if !calls.calls.is_empty() {
            step = step.json("observation", &observation_json(&calls.results));
        }
        let facts = [("stop_reason", stop_reason), ("error", error), ("api", api)];
        let extra = self.extra_with_facts(ix, facts);
        step = with_metrics(step, &usages, copy_state).json("extra", &extra.finish());
        Ok(TrajectoryStep {
            named_sub_agents: calls.named_sub_agents,
            own_step_results: calls.own_step_results,
            ..TrajectoryStep::with_usages(step, copy_state, usages)
        })
    }

    /// Returns the `extra` members of a step with these facts, as far as they are recorded.
    fn extra_with_facts(&self, ix: EntryIx, facts: [(&str, Option<Raw>); 3]) -> Object {
        let mut extra = self.begin_extra(ix);
        for (key, value) in facts {
            if let Some(value) = value
                && !value.is_null()
            {
                extra = extra.str(key, &string_or_json(value));
            }
        }
        extra
    }

    /// Reads the calls in the content of a reply, with their results. `copy_state` is whether the
    /// reply is a copy: this decides where the usage of the results counts.
    fn read_calls(
        &self,
        ix: EntryIx,
        content: Raw,
        copy_state: CopyState,
    ) -> io::Result<ReplyCalls> {
        let session = self.contents.session;
        let mut reply_calls = ReplyCalls::default();
        // Two calls of a reply may have the same id: the result belongs to the first one.
        let mut used_results = Vec::new();
        for block in blocks_of_type(content, "toolCall") {
            reply_calls.calls.push(call_json(block));

            let id = block.get_text("id").unwrap_or_default();
            let Some(result) = self.contents.matching_result(id.as_bytes(), ix) else {
                continue;
            };
            if used_results.contains(&result) {
                continue;
            }
            used_results.push(result);
            if let Some(&usage) = session.usage_of(result) {
                reply_calls.add_result_usage(result, usage, copy_state);
            }
            let rendered = self.result_reader.with_message(result, |message| {
                self.render_result(message, Some(&id.to_string_lossy()))
            })?;
            reply_calls.results.push(rendered.json);
            reply_calls
                .named_sub_agents
                .extend(rendered.named_sub_agents);
        }
        Ok(reply_calls)
    }

    /// Renders a tool result. `call_id` is the id of its call; `None` if the step does not contain
    /// the call. The result refers to the trajectories of the sub-agents that it names.
    fn render_result(&self, message: Raw, call_id: Option<&str>) -> RenderedResult {
        let names = ["details", "toolName", "isError", "content"];
        let [details, tool, is_error, content] = find_members(message, names);

        let named_sub_agents = self.find_named_sub_agents(details);
        let mut references = Vec::new();
        for &index in &named_sub_agents {
            let id = &self.sub_agents[index].id;
            references.push(Object::new().str("trajectory_id", id).finish());
        }

        let mut extra = Object::new();
        if let Some(tool) = tool {
            extra = extra.str("tool_name", &string_or_json(tool));
        }
        let extra = extra.bool("is_error", is_error.is_some_and(Raw::is_truthy));

        let mut result = Object::new();
        if let Some(id) = call_id {
            result = result.str("source_call_id", id);
        }
        let json = result
            .json("content", &content_json(content))
            .json_array("subagent_trajectory_ref", &references)
            .json("extra", &extra.finish())
            .finish();
        RenderedResult {
            json,
            named_sub_agents,
        }
    }

    /// Returns the indexes of the sub-agents whose sessions a result names in its `details`.
    ///
    /// The session files may have been moved since, together with their directory. So paths are
    /// compared only by their ends, such as `DIRECTORY/agent.jsonl`.
    fn find_named_sub_agents(&self, details: Option<Raw>) -> Vec<usize> {
        let reported_ends = details.map(reported_session_ends).unwrap_or_default();
        let path_ends = possible_session_ends(Path::new(self.path_name), &reported_ends);
        let mut named = Vec::new();
        for (index, agent) in self.sub_agents.iter().enumerate() {
            if path_ends.contains(&session_end(&agent.path)) {
                named.push(index);
            }
        }
        named
    }

    /// Begins the JSON of a step: its time if it has one, who it is from, and whether it is a copy.
    fn begin_step(&self, ix: EntryIx, source: StepSource, copy_state: CopyState) -> Object {
        let mut step = Object::new();
        if let Some(time) = self.step_time(ix) {
            step = step.str("timestamp", &time);
        }
        step = step.str("source", source.as_str());
        if copy_state != CopyState::Original {
            step = step.bool("is_copied_context", true);
        }
        step
    }

    /// Returns the time of a step. `None` if its entry has no time, or one in a year that readers
    /// of the format refuse: one without four digits, or 0, which Python does not have.
    fn step_time(&self, ix: EntryIx) -> Option<String> {
        let time_ms = self.contents.session.entry(ix).time_ms;
        if time_ms == Entry::NO_TIME {
            return None;
        }
        let time = iso_string(time_ms);
        let is_year_readable = time.len() == TIME_LEN && !time.starts_with("0000");
        is_year_readable.then_some(time)
    }

    /// Begins the `extra` members of a step.
    fn begin_extra(&self, ix: EntryIx) -> Object {
        Object::new().str("entry_id", &self.contents.session.id(ix).to_string_lossy())
    }

    /// Begins the `extra` members of a step that is not a message, with the type of its entry.
    fn begin_extra_with_kind(&self, ix: EntryIx) -> Object {
        let kind = self.contents.session.kind_name(ix);
        self.begin_extra(ix).str("type", &kind.to_string_lossy())
    }
}

/// Joins what the model thought in a reply, a line for each block; empty if it has no thinking.
fn join_thinking(blocks: Raw) -> String {
    let mut texts = Vec::new();
    for block in blocks_of_type(blocks, "thinking") {
        texts.extend(block.get("thinking").and_then(decode_string));
    }
    texts.join("\n")
}

/// Whether entries of this kind record requests that are not part of the conversation, such as one
/// for a summary.
fn is_request_beside_messages(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Compaction | Kind::BranchSummary | Kind::Usage | Kind::ModelUsage
    )
}

/// What a step of a request contains besides its time and metrics.
struct RequestContent<'t> {
    /// The model that answered, if it is recorded.
    model: Option<String>,
    /// The text of the step.
    message: &'t str,
    /// The members of `extra`.
    extra: Object,
}

/// A tool result in a step.
struct RenderedResult {
    json: Vec<u8>,
    /// The indexes of the sub-agents that it names. Their trajectories are written as well.
    named_sub_agents: Vec<usize>,
}

/// Returns a call in the content of a reply as JSON of the format.
fn call_json(block: Raw) -> Vec<u8> {
    let [id, name, arguments] = find_members(block, ["id", "name", "arguments"]);
    let id = id.and_then(decode_string).unwrap_or_default();
    let name = name.and_then(decode_string).unwrap_or_default();
    let arguments = arguments.filter(|arguments| arguments.is_object());
    Object::new()
        .str("tool_call_id", &id)
        .str("function_name", &name)
        .json("arguments", arguments.map_or(b"{}", Raw::bytes))
        .finish()
}

/// Returns who a message of an extension is from: [`StepSource::User`] if it starts a turn, as a
/// prompt does, and [`StepSource::System`] otherwise.
fn source_of_custom_message(message: Raw) -> StepSource {
    if starts_user_turn(message) {
        StepSource::User
    } else {
        StepSource::System
    }
}

/// The calls of a reply.
#[derive(Default)]
struct ReplyCalls {
    /// The JSON of each call.
    calls: Vec<Vec<u8>>,
    /// The JSON of each result.
    results: Vec<Vec<u8>>,
    /// The usages of the results, unless the reply is a copy.
    usages: Vec<Usage>,
    /// As [`TrajectoryStep::named_sub_agents`].
    named_sub_agents: Vec<usize>,
    /// As [`TrajectoryStep::own_step_results`].
    own_step_results: Vec<EntryIx>,
}

impl ReplyCalls {
    /// Adds the usage of a result where it counts, which depends on the reply with the call.
    fn add_result_usage(&mut self, result: EntryIx, usage: Usage, reply: CopyState) {
        match reply {
            CopyState::Original => self.usages.push(usage),
            // The usage of a copied reply does not count, but its result may be newer than the
            // fork: so the result counts in a step of its own.
            CopyState::Forked => self.own_step_results.push(result),
            // The usage was counted where the reply is first.
            CopyState::Kept => {}
        }
    }
}

impl TrajectoryStep {
    /// Makes a step that counts no requests.
    fn new(object: Object, copy_state: CopyState) -> TrajectoryStep {
        TrajectoryStep {
            json: object.finish(),
            is_copy: copy_state != CopyState::Original,
            ..TrajectoryStep::default()
        }
    }

    /// Makes a step with the usages of its requests. A copy has none: they were counted where the
    /// step is first.
    fn with_usages(object: Object, copy_state: CopyState, usages: Vec<Usage>) -> TrajectoryStep {
        let mut step = TrajectoryStep::new(object, copy_state);
        if !step.is_copy {
            step.usages = usages;
        }
        step
    }
}

/// Adds the sums of the usages of a step's requests, and the number of requests if it is known. A
/// kept step has no metrics: they are in the step that it repeats.
fn with_metrics(step: Object, usages: &[Usage], copy_state: CopyState) -> Object {
    if usages.is_empty() || copy_state == CopyState::Kept {
        return step;
    }
    let names = MetricNames {
        prompt: "prompt_tokens",
        completion: "completion_tokens",
        cached: "cached_tokens",
        cost: "cost_usd",
    };
    let sums: UsageSums = usages.iter().collect();
    let step = step.json("metrics", &metrics_object(names, &sums).finish());
    // The first usage is that of the request. Any further usage is from a result of a sub-agent,
    // which made an unknown number of requests.
    if usages.len() > 1 {
        return step;
    }
    step.number("llm_call_count", 1.0)
}

/// Returns the JSON of the sums of a trajectory with this many steps.
pub(super) fn final_metrics(sums: &UsageSums, steps: usize) -> Vec<u8> {
    let names = MetricNames {
        prompt: "total_prompt_tokens",
        completion: "total_completion_tokens",
        cached: "total_cached_tokens",
        cost: "total_cost_usd",
    };
    metrics_object(names, sums)
        .number("total_steps", steps as f64)
        .finish()
}

/// The names of metrics, which differ between steps and trajectories.
struct MetricNames {
    prompt: &'static str,
    completion: &'static str,
    cached: &'static str,
    cost: &'static str,
}

/// Returns the metrics under these names. Prompt tokens include tokens read from the cache and
/// tokens written to it.
///
/// The format has no member for the tokens written to the cache, nor for the estimated part of the
/// cost. These are in `extra`.
fn metrics_object(names: MetricNames, sums: &UsageSums) -> Object {
    let prompt_tokens = sums.input + sums.cache_read + sums.cache_write;
    let mut metrics = Object::new()
        .number(names.prompt, whole_number(prompt_tokens))
        .number(names.completion, whole_number(sums.output))
        .number(names.cached, whole_number(sums.cache_read));
    // Without a price for any of the requests, the cost is not known.
    if sums.request_count > sums.unpriced_count {
        metrics = metrics.number(names.cost, sums.cost);
    }
    let has_cache_write = sums.cache_write > 0.0;
    let has_estimate = sums.has_estimate();
    let mut extra = Object::new();
    if has_cache_write {
        extra = extra.number("cache_write_tokens", whole_number(sums.cache_write));
    }
    if has_estimate {
        extra = extra
            .number("estimated_cost_usd", sums.estimated_cost)
            .str("prices_of", built_in_prices_date());
    }
    // Left out if it would be empty.
    if has_cache_write || has_estimate {
        metrics = metrics.json("extra", &extra.finish());
    }
    metrics
}

/// The largest number of tokens that is written. Below 2^53, integers are exact as floats, and JSON
/// has them without an exponent.
const MOST_TOKENS: f64 = 9e15;

/// Rounds a number of tokens to an integer from 0 to [`MOST_TOKENS`], as the format requires.
fn whole_number(tokens: f64) -> f64 {
    tokens.round().clamp(0.0, MOST_TOKENS)
}

/// Returns the tools that a system message adds, as a JSON array in the form of OpenAI's API.
/// `None` if it adds none. `system_message` is JSON.
pub(super) fn tool_definitions(system_message: Option<Vec<u8>>) -> Option<Vec<u8>> {
    let system_message = system_message?;
    let tools = Raw::from_checked(&system_message).get("toolsAdded")?;
    let mut definitions = Vec::new();
    for tool in tools.items() {
        if tool.is_object() {
            definitions.push(tool_definition(tool));
        }
    }
    if definitions.is_empty() {
        return None;
    }
    Some(array(definitions))
}

/// Returns a tool in the form of OpenAI's API: `{"type":"function","function":{…}}`, with its name,
/// description and parameters.
fn tool_definition(tool: Raw) -> Vec<u8> {
    let mut function = Object::new();
    for key in ["name", "description", "parameters"] {
        if let Some(value) = tool.get_some(key) {
            function = function.raw(key, value);
        }
    }
    Object::new()
        .str("type", "function")
        .json("function", &function.finish())
        .finish()
}

/// Returns the observation of a step, which contains the results of its calls.
fn observation_json(results: &[Vec<u8>]) -> Vec<u8> {
    Object::new().json("results", &array(results)).finish()
}

/// Returns the content of a message as JSON: an array of parts if the content has an image, and
/// else one string. Blocks other than texts and images are left out.
fn content_json(content: Option<Raw>) -> Vec<u8> {
    let blocks = content.unwrap_or(Raw::NULL);
    if !has_image(blocks) {
        let text = join_text(content, "\n");
        // Unpaired surrogates become replacement characters, because the file is UTF-8.
        return string::encode_to_vec(&Text::from(&*text.to_string_lossy()));
    }

    let mut parts = Vec::new();
    for block in blocks.items() {
        if is_block(block, "image") {
            // The format does not know every type of image.
            let part = image_part(block).unwrap_or_else(|| text_part("[image]"));
            parts.push(part);
        } else if is_block(block, "text")
            && let Some(text) = block.get("text").and_then(decode_string)
        {
            parts.push(text_part(&text));
        }
    }
    array(parts)
}

/// Whether an image is among the blocks of content.
fn has_image(blocks: Raw) -> bool {
    let mut has_image = false;
    for_each_item(blocks, ["type"], |[block_type]| {
        if block_type.is_some_and(|block_type| block_type.is("image")) {
            has_image = true;
        }
    });
    has_image
}

/// Returns the part for a text.
fn text_part(text: &str) -> Vec<u8> {
    Object::new().str("type", "text").str("text", text).finish()
}

/// Returns the part for an image. The member `path`, in which ATIF has a path or a URL, is a data
/// URL or the `blob:` reference by which oh-my-pi names a file with the data. `None` if there is no
/// data, or if ATIF does not know the type of the image.
fn image_part(block: Raw) -> Option<Vec<u8>> {
    let image_type = block.get("mimeType").and_then(decode_string)?;
    if !ATIF_IMAGE_TYPES.contains(&&*image_type) {
        return None;
    }
    let data = block.get("data").and_then(decode_string)?;
    let url = if data.starts_with("blob:") {
        data
    } else {
        format!("data:{image_type};base64,{data}")
    };
    let source = Object::new()
        .str("media_type", &image_type)
        .str("path", &url);
    let part = Object::new()
        .str("type", "image")
        .json("source", &source.finish());
    Some(part.finish())
}
