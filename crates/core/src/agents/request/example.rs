//! Writes examples for fine-tuning: a conversation in the form of OpenAI's Chat Completions API,
//! without thinking, and without what depends on a provider. Several threads render batches of its
//! messages.

use super::ids::UsedIds;
use super::late_results::LateResults;
use super::openai::OpenAiWriter;
use super::replay::{BodyWriter, Replay};
use super::sink::BodySink;
use super::{Api, FirstPass, Model, Request, RequestTarget, new_writer};
use crate::session::Session;
use crate::session::content;
use crate::session::entry::Role;
use crate::session::read::batches::BatchSize;
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use pisess_json::{Raw, string};
use pisess_store::workers::{Pool, in_order};
use std::borrow::Cow;
use std::io::{self, Write};
use std::ops::Range;

/// Writes messages and tools as an example. Up to `workers` threads render messages, each with a
/// reader of its own. Returns `false`, and writes nothing, if there are no messages.
pub fn write_example<'r>(
    messages: &[ContextMessage],
    reader: impl Fn() -> EntryReader<'r> + Sync,
    workers: usize,
    out: &mut dyn Write,
) -> io::Result<bool> {
    let no_model = Model {
        provider: Text::default(),
        id: Text::default(),
    };
    let request = Request {
        api: Api::OpenAi,
        model: Some(no_model),
        max_tokens: None,
    };
    let first_reader = reader();
    let agent = first_reader.session().agent();
    let first_pass = FirstPass::read(messages, request.api, &first_reader)?;
    let mut target = RequestTarget::new(&request, agent, &first_pass);
    target.is_example = true;
    if agent.constants().moves_late_results {
        // A late result may be in another batch than its call.
        let writer = new_writer(&target, out);
        let late_results = first_pass.late_results;
        let mut replay = Replay::new(&target, UsedIds::default(), late_results, writer);
        replay.replay_all(messages, &first_reader)?;
        return Ok(replay.finish()?.is_some());
    }

    let sink = BodySink::new(out, target.constants().surrogate_replacement);
    let mut whole = OpenAiWriter::new(&target, sink);
    let mut used_ids = UsedIds::default();
    let readers = Pool::new(&reader);
    // The threads render each batch as if it were the first one. Which ids earlier batches use is
    // known only when the batch is written.
    let render = |batch: Range<usize>| {
        let rendered = readers.with(|reader| {
            ExampleBatch::render(
                &messages[batch.clone()],
                &target,
                UsedIds::default(),
                reader,
            )
        });
        (batch, rendered)
    };
    let batches = split_before_turns(messages, first_reader.session());
    in_order(batches, workers, render, |(batch, rendered)| {
        let mut rendered = rendered?;
        if rendered.used_ids.overlap(&used_ids) {
            // Some providers use the same ids in each turn. Then the batch is rendered again, so
            // that its calls get other ids. It returns the ids that it is given, together with its
            // own.
            let known_ids = std::mem::take(&mut used_ids);
            rendered = ExampleBatch::render(&messages[batch], &target, known_ids, &first_reader)?;
        }
        used_ids.merge(rendered.used_ids);
        whole.write_items(&rendered.items)
    })?;
    let last_message = Box::new(whole).finish()?;
    Ok(last_message.is_some())
}

/// Divides messages into batches of about the same length, which several threads render. A batch
/// begins with a request or a reply, so that results directly after their calls are in the same
/// batch. Without messages, there is one empty batch.
fn split_before_turns(messages: &[ContextMessage], session: &Session) -> Vec<Range<usize>> {
    let limits = BatchSize::default();
    let mut batches = Vec::new();
    let mut start = 0;
    let mut bytes = 0;
    for (index, message) in messages.iter().enumerate() {
        let is_full = bytes >= limits.bytes || index - start >= limits.items;
        if is_full && matches!(message.role(session), Role::User | Role::Assistant) {
            batches.push(start..index);
            start = index;
            bytes = 0;
        }
        bytes += session.entry(message.entry).span.len;
    }
    batches.push(start..messages.len());
    batches
}

/// Some messages of an example, rendered as items of its list.
struct ExampleBatch {
    /// The items, with commas between them.
    items: Vec<u8>,
    /// The ids of the calls in this batch, and the ids that were used before it.
    used_ids: UsedIds,
}

impl ExampleBatch {
    /// Renders the messages of a batch as items of a list. `used_ids` are the ids of calls in
    /// earlier batches, which calls of this batch must not get.
    fn render(
        messages: &[ContextMessage],
        target: &RequestTarget,
        used_ids: UsedIds,
        reader: &EntryReader,
    ) -> io::Result<ExampleBatch> {
        // `finish_batch` writes what the writer still holds back, so `items` is complete only after
        // it.
        let mut items = Vec::new();
        let sink = BodySink::for_items(&mut items, target.constants().surrogate_replacement);
        let writer = Box::new(OpenAiWriter::new(target, sink));
        // A result may be in another batch than its call. Agents that move late results to their
        // calls render an example as a whole, so there are none here.
        let mut replay = Replay::new(target, used_ids, LateResults::default(), writer);
        replay.replay_all(messages, reader)?;
        let used_ids = replay.finish_batch()?;
        Ok(ExampleBatch { items, used_ids })
    }
}

/// Returns the JSON of a message without its blocks of thinking.
pub fn without_thinking(json: &[u8]) -> Cow<'_, [u8]> {
    let message = Raw::from_checked(json);
    let content = message.get("content").unwrap_or(Raw::NULL);
    if !content.is_array() || !content.items().any(is_thinking) {
        return Cow::Borrowed(json);
    }
    let kept_blocks = content.items().filter(|block| !is_thinking(*block));
    let kept_content = array(kept_blocks.map(Raw::bytes));
    let mut changed = Object::new();
    for (key, value) in message.members() {
        let value = if key.is("content") {
            &kept_content
        } else {
            value.bytes()
        };
        changed = changed.member(&string::decode(key.bytes), value);
    }
    Cow::Owned(changed.finish())
}

fn is_thinking(block: Raw) -> bool {
    content::is_block(block, "thinking") || content::is_block(block, "redactedThinking")
}
