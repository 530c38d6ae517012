//! The steps of a trajectory, and the values in them.

use super::{Copied, Planned, SubAgent, model_of};
use crate::source::{Contents, decoded, shown};
use pisess_core::agents::oh_my_pi::message::starts_user_turn;
use pisess_core::session::content::{blocks_of, each_item_members, is_block, joined_text, members};
use pisess_core::session::entry::{Entry, EntryIx, Kind, Role};
use pisess_core::session::read::entry_reader::EntryReader;
use pisess_core::session::usage::{Usage, UsageSums, end_of, places, sessions};
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_json::write::{Object, array};
use pisess_json::{Raw, string};
use std::io;
use std::path::Path;

/// The types of images that the format knows.
const IMAGES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Who a step is from.
const USER: &str = "user";
const AGENT: &str = "agent";
const SYSTEM: &str = "system";

/// A step, before it has a number.
#[derive(Default)]
pub(super) struct Step {
    /// Its JSON, without `step_id`.
    pub json: Vec<u8>,
    /// Whether it has `is_copied_context`.
    pub is_copy: bool,
    /// The requests to count.
    pub usages: Vec<Usage>,
    /// The numbers of the sub-agents that its results name.
    pub named: Vec<usize>,
    /// Its results with a usage of their own, if it is a copy.
    pub unpaid: Vec<EntryIx>,
    /// For a result that is in the step of its call, that result: this step is there only if that
    /// of the call did not count its usage.
    pub unless_paid: Option<EntryIx>,
}

/// Makes steps; each thread has its own.
pub(super) struct StepMaker<'a> {
    contents: &'a Contents<'a>,
    path_name: &'a str,
    agents: &'a [SubAgent<'a>],
    reader: EntryReader<'a>,
    /// Reads the results of calls, which are further down than the reply.
    results: EntryReader<'a>,
}

impl<'a> StepMaker<'a> {
    pub fn new(
        contents: &'a Contents<'a>,
        path_name: &'a str,
        agents: &'a [SubAgent<'a>],
    ) -> StepMaker<'a> {
        StepMaker {
            contents,
            path_name,
            agents,
            reader: EntryReader::new(contents.session, contents.file),
            results: EntryReader::new(contents.session, contents.file),
        }
    }

    /// Returns the step of an entry; `None` if it has none: a setting, or a result that is in the
    /// step of its call.
    pub fn step(&self, planned: &Planned, effort: Option<&str>) -> io::Result<Option<Step>> {
        let Planned { ix, copied, .. } = *planned;
        self.reader
            .with_entry(ix, |line| self.step_of(ix, line, copied, effort))?
    }

    fn step_of(
        &self,
        ix: EntryIx,
        line: Raw,
        copied: Copied,
        effort: Option<&str>,
    ) -> io::Result<Option<Step>> {
        let entry = self.contents.session.entry(ix);
        // A compaction keeps messages, not the requests for summaries.
        let is_summary = matches!(
            entry.kind,
            Kind::Compaction | Kind::BranchSummary | Kind::Usage | Kind::ModelUsage
        );
        if copied == Copied::Kept && is_summary {
            return Ok(None);
        }
        match entry.kind {
            Kind::Message => match line.get("message").filter(|message| message.is_object()) {
                Some(message) => self.message(ix, message, copied, effort),
                None => Ok(None),
            },
            Kind::CustomMessage => {
                let source = if starts_user_turn(line) { USER } else { SYSTEM };
                Ok(Some(self.added(ix, source, line, copied)))
            }
            Kind::Compaction | Kind::BranchSummary | Kind::StackSummary => {
                let text = line
                    .get("summary")
                    .or(line.get("message"))
                    .and_then(decoded)
                    .unwrap_or_default();
                let extra = self.extra(ix).str(
                    "type",
                    &self.contents.session.kind_name(ix).to_string_lossy(),
                );
                Ok(Some(self.requested(ix, None, &text, extra, copied)))
            }
            Kind::Usage | Kind::ModelUsage if self.contents.session.usage_of(ix).is_some() => {
                let extra = self.extra(ix).str(
                    "type",
                    &self.contents.session.kind_name(ix).to_string_lossy(),
                );
                Ok(Some(self.requested(ix, model_of(line), "", extra, copied)))
            }
            _ => Ok(None),
        }
    }

    fn message(
        &self,
        ix: EntryIx,
        message: Raw,
        copied: Copied,
        effort: Option<&str>,
    ) -> io::Result<Option<Step>> {
        Ok(Some(match self.contents.session.entry(ix).role {
            Role::Assistant => self.reply(ix, message, copied, effort)?,
            Role::ToolResult => return Ok(self.tool_result(ix, message, copied)),
            Role::BashExecution | Role::PythonExecution => {
                let ran = message
                    .get("command")
                    .or(message.get("code"))
                    .and_then(decoded);
                let output = message.get("output").and_then(decoded).unwrap_or_default();
                let extra = Object::new().with(message.get("exitCode"), |extra, code| {
                    extra.raw("exit_code", code)
                });
                let result = Object::new()
                    .str("content", &output)
                    .json("extra", &extra.finish())
                    .finish();
                let step = self
                    .begin(ix, USER, copied)
                    .str("message", &ran.unwrap_or_default())
                    .json("observation", &observation(&[result]))
                    .json("extra", &self.extra(ix).finish());
                Step::of(step, copied)
            }
            Role::User => self.added(ix, USER, message, copied),
            Role::Custom | Role::HookMessage => self.added(
                ix,
                if starts_user_turn(message) {
                    USER
                } else {
                    SYSTEM
                },
                message,
                copied,
            ),
            // pi sends its system messages again in the checkpoint of a compaction, which is no
            // step of its own.
            Role::System if copied == Copied::Kept => return Ok(None),
            Role::System
            | Role::Developer
            | Role::FileMention
            | Role::BranchSummary
            | Role::CompactionSummary
            | Role::Other
            | Role::Missing => self.added(ix, SYSTEM, message, copied),
        }))
    }

    /// Returns the step of a result that is in no other; or that is in one that may not count its
    /// usage.
    fn tool_result(&self, ix: EntryIx, message: Raw, copied: Copied) -> Option<Step> {
        let call = message.get_text("toolCallId").unwrap_or_default();
        let is_answer = self.contents.is_answer(call.as_bytes(), ix);
        if is_answer && self.contents.session.usage_of(ix).is_none() {
            return None;
        }
        let mut named = Vec::new();
        let mut extra = self.extra(ix).str("type", "toolResult");
        if !is_answer {
            extra = extra.json("result", &self.result(message, None, &mut named));
        }
        Some(Step {
            named,
            unless_paid: is_answer.then_some(ix),
            ..self.requested(ix, None, "", extra, copied)
        })
    }

    /// Returns the step of a message that no request made.
    fn added(&self, ix: EntryIx, source: &str, message: Raw, copied: Copied) -> Step {
        let extra = self
            .extra(ix)
            .with(message.get("customType"), |extra, kind| {
                extra.str("custom_type", &shown(kind))
            });
        let said = content(message.get("content").or(message.get("summary")));
        let step = self
            .begin(ix, source, copied)
            .json("message", &said)
            .json("extra", &extra.finish());
        Step::of(step, copied)
    }

    /// Returns a step of the system; with the usage of its request, if it has one, it is the
    /// agent's.
    fn requested(
        &self,
        ix: EntryIx,
        model: Option<String>,
        text: &str,
        extra: Object,
        copied: Copied,
    ) -> Step {
        let usages = Vec::from_iter(self.contents.session.usage_of(ix).copied());
        let is_billed = !usages.is_empty();
        let step = self
            .begin(ix, if is_billed { AGENT } else { SYSTEM }, copied)
            .with(model.filter(|_| is_billed), |step, model| {
                step.str("model_name", &model)
            })
            .str("message", text);
        let step = metered(step, &usages, copied).json("extra", &extra.finish());
        Step {
            usages,
            ..Step::of(step, copied)
        }
        .without_copied_usage()
    }

    /// Returns the step of a reply, with the results of its calls.
    fn reply(
        &self,
        ix: EntryIx,
        message: Raw,
        copied: Copied,
        effort: Option<&str>,
    ) -> io::Result<Step> {
        let mut usages: Vec<Usage> = self
            .contents
            .session
            .usage_of(ix)
            .copied()
            .into_iter()
            .collect();
        let names = ["usage", "content", "stopReason", "errorMessage", "api"];
        let [usage, said, stop_reason, error, api] = members(message, names);
        let is_paid = !usages.is_empty() || usage.is_none();
        // A reply that `pick` copied was paid for where it is first.
        let copied = if is_paid || copied != Copied::No {
            copied
        } else {
            Copied::Forked
        };
        let (mut calls, mut results, mut answers) = (Vec::new(), Vec::new(), Vec::new());
        let (mut named, mut unpaid) = (Vec::new(), Vec::new());
        let blocks = said.unwrap_or(Raw::NULL);
        for block in blocks_of(blocks, "toolCall") {
            let [id, name, arguments] = members(block, ["id", "name", "arguments"]);
            let raw_id = id.and_then(Raw::text).unwrap_or_default();
            let id = id.and_then(decoded).unwrap_or_default();
            let arguments = arguments.filter(|arguments| arguments.is_object());
            let call = Object::new()
                .str("tool_call_id", &id)
                .str("function_name", &name.and_then(decoded).unwrap_or_default())
                .json("arguments", arguments.map_or(b"{}", Raw::bytes));
            calls.push(call.finish());
            let answer = self
                .contents
                .answer(raw_id.as_bytes(), ix)
                .filter(|answer| !answers.contains(answer));
            let Some(answer) = answer else { continue };
            answers.push(answer);
            if copied == Copied::No {
                usages.extend(self.contents.session.usage_of(answer));
            } else if copied == Copied::Forked && self.contents.session.usage_of(answer).is_some() {
                unpaid.push(answer);
            }
            results.push(
                self.results
                    .with_message(answer, |answer| self.result(answer, Some(&id), &mut named))?,
            );
        }
        let thinking: Vec<_> = blocks_of(blocks, "thinking")
            .filter_map(|block| block.get("thinking").and_then(decoded))
            .collect();
        let thinking = Some(thinking.join("\n")).filter(|text| !text.is_empty());
        let mut extra = self.extra(ix);
        for (key, value) in [("stop_reason", stop_reason), ("error", error), ("api", api)] {
            let value = value.filter(|value| !value.is_null());
            extra = extra.with(value, |extra, value| extra.str(key, &shown(value)));
        }
        let observed = (!calls.is_empty()).then(|| observation(&results));
        let step = self
            .begin(ix, AGENT, copied)
            .with(model_of(message), |step, model| {
                step.str("model_name", &model)
            })
            .with(effort, |step, effort| step.str("reasoning_effort", effort))
            .json("message", &content(said))
            .with(thinking, |step, text| step.str("reasoning_content", &text))
            .list("tool_calls", &calls)
            .with(observed, |step, observed| {
                step.json("observation", &observed)
            });
        let step = metered(step, &usages, copied).json("extra", &extra.finish());
        Ok(Step {
            usages,
            named,
            unpaid,
            ..Step::of(step, copied)
        }
        .without_copied_usage())
    }

    /// Returns the result of a call. Adds the numbers of the sub-agents that it names to `named`.
    fn result(&self, message: Raw, call: Option<&str>, named: &mut Vec<usize>) -> Vec<u8> {
        let names = ["details", "toolName", "isError", "content"];
        let [details, tool, is_error, said] = members(message, names);
        let ends = places(
            Path::new(self.path_name),
            &details.map(sessions).unwrap_or_default(),
        );
        let mut references = Vec::new();
        for (number, agent) in self.agents.iter().enumerate() {
            if ends.contains(&end_of(&agent.path)) {
                references.push(Object::new().str("trajectory_id", &agent.id).finish());
                named.push(number);
            }
        }
        let is_error = is_error.is_some_and(Raw::is_truthy);
        let extra = Object::new().with(tool, |extra, tool| extra.str("tool_name", &shown(tool)));
        Object::new()
            .with(call, |result, id| result.str("source_call_id", id))
            .json("content", &content(said))
            .list("subagent_trajectory_ref", &references)
            .json("extra", &extra.bool("is_error", is_error).finish())
            .finish()
    }

    /// Returns the first members of a step.
    fn begin(&self, ix: EntryIx, source: &str, copied: Copied) -> Object {
        let time = self.contents.session.entry(ix).time_ms;
        // The format's readers take years of four digits only.
        let is_readable = |time: &String| time.len() == 24 && !time.starts_with("0000");
        let shown = Some(time)
            .filter(|&time| time != Entry::NO_TIME)
            .map(iso_string)
            .filter(is_readable);
        let step = Object::new()
            .with(shown, |step, time| step.str("timestamp", &time))
            .str("source", source);
        if copied == Copied::No {
            step
        } else {
            step.bool("is_copied_context", true)
        }
    }

    fn extra(&self, ix: EntryIx) -> Object {
        Object::new().str("entry_id", &self.contents.session.id(ix).to_string_lossy())
    }
}

impl Step {
    fn of(object: Object, copied: Copied) -> Step {
        Step {
            json: object.finish(),
            is_copy: copied != Copied::No,
            ..Step::default()
        }
    }

    /// Removes the usage of a copy: it was counted where the step is first.
    fn without_copied_usage(mut self) -> Step {
        if self.is_copy {
            self.usages.clear();
        }
        self
    }
}

/// Adds the usage of the requests that a step stands for.
fn metered(step: Object, usages: &[Usage], copied: Copied) -> Object {
    if usages.is_empty() || copied == Copied::Kept {
        return step;
    }
    let sums: UsageSums = usages.iter().collect();
    let names = [
        "prompt_tokens",
        "completion_tokens",
        "cached_tokens",
        "cost_usd",
    ];
    // With what a sub-agent used, the number of requests is not known.
    let count = (usages.len() == 1).then_some(1.0);
    step.json("metrics", &metrics(names, &sums).finish())
        .with(count, |step, count| step.number("llm_call_count", count))
}

/// Returns the sums of a trajectory.
pub(super) fn final_metrics(sums: &UsageSums, steps: usize) -> Vec<u8> {
    let names = [
        "total_prompt_tokens",
        "total_completion_tokens",
        "total_cached_tokens",
        "total_cost_usd",
    ];
    metrics(names, sums)
        .number("total_steps", steps as f64)
        .finish()
}

fn metrics(names: [&str; 4], sums: &UsageSums) -> Object {
    let [prompt, completion, cached, cost] = names;
    let whole = |tokens: f64| tokens.round().clamp(0.0, 9e15);
    let written = Object::new()
        .number("cache_write_tokens", whole(sums.cache_write))
        .finish();
    Object::new()
        .number(
            prompt,
            whole(sums.input + sums.cache_read + sums.cache_write),
        )
        .number(completion, whole(sums.output))
        .number(cached, whole(sums.cache_read))
        .with(
            (sums.billed > sums.unpriced).then_some(sums.cost),
            |object, sum| object.number(cost, sum),
        )
        .with(
            (sums.cache_write > 0.0).then_some(written),
            |object, extra| object.json("extra", &extra),
        )
}

/// Returns the tools of a system message, as OpenAI's API has them; `None` if there is none.
pub(super) fn definitions(system: Option<Vec<u8>>) -> Option<Vec<u8>> {
    let message = system?;
    let tools = Raw::checked(&message).get("toolsAdded")?;
    let definition = |tool: Raw| {
        let given = ["name", "description", "parameters"].map(|key| (key, tool.get_some(key)));
        let function = given
            .into_iter()
            .fold(Object::new(), |function, (key, value)| {
                function.with(value, |function, value| function.raw(key, value))
            });
        Object::new()
            .str("type", "function")
            .json("function", &function.finish())
            .finish()
    };
    let definitions: Vec<_> = tools
        .items()
        .filter(|tool| tool.is_object())
        .map(definition)
        .collect();
    (!definitions.is_empty()).then(|| array(definitions))
}

fn observation(results: &[Vec<u8>]) -> Vec<u8> {
    Object::new().json("results", &array(results)).finish()
}

/// Returns content as JSON: a string, or an array of parts if it has images.
fn content(content: Option<Raw>) -> Vec<u8> {
    let items = || content.into_iter().flat_map(Raw::items);
    let mut has_image = false;
    each_item_members(content.unwrap_or(Raw::NULL), ["type"], |[kind]| {
        has_image |= kind.is_some_and(|kind| kind.is("image"));
    });
    if !has_image {
        return string::encoded(&Text::from(&*joined_text(content, "\n").to_string_lossy()));
    }
    let text = |text: &str| Object::new().str("type", "text").str("text", text).finish();
    let part = |block: Raw| match () {
        () if is_block(block, "image") => Some(image(block).unwrap_or_else(|| text("[image]"))),
        () if is_block(block, "text") => block
            .get("text")
            .and_then(decoded)
            .map(|words| text(&words)),
        () => None,
    };
    array(items().filter_map(part))
}

/// Returns the part for an image: its data as a URL, or the name of the blob that oh-my-pi keeps it
/// in; `None` if the format does not know its type.
fn image(block: Raw) -> Option<Vec<u8>> {
    let kind = block
        .get("mimeType")
        .and_then(decoded)
        .filter(|kind| IMAGES.contains(&&**kind))?;
    let data = block.get("data").and_then(decoded)?;
    let path = if data.starts_with("blob:") {
        data
    } else {
        format!("data:{kind};base64,{data}")
    };
    let source = Object::new().str("media_type", &kind).str("path", &path);
    Some(
        Object::new()
            .str("type", "image")
            .json("source", &source.finish())
            .finish(),
    )
}
