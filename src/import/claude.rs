//! Reads sessions of Claude Code: `~/.claude/projects/*/*.jsonl`.
//!
//! Each line has a `uuid` and a `parentUuid`, which give the tree. A response is written in several lines that share
//! `message.id`, one for each block, and calls that run in parallel have their results below different ones of these
//! lines. What is attached to such a line is attached to the end of the response, so that no result is on a branch of its
//! own. Lines that Claude Code writes a second time, as it does before a compaction, are kept as custom entries.

mod blocks;

use super::parts::{Tokens, hidden, kept, number, rest_of, text, time};
use super::writer::{Draft, Place, Writer};
use super::{Origin, Reader};
use crate::session::content::{is_block, joined_text, members};
use blocks::{answer, part, result, result_of, stop_reason};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use std::io;

/// The model of messages that Claude Code makes itself.
const SYNTHETIC: &str = "<synthetic>";

/// What the model sees of a result that a micro-compaction cleared.
const CLEARED: &str = "[Old tool result content cleared]";

/// What was read so far.
#[derive(Default)]
pub struct Claude {
    lines: HashMap<Box<[u8]>, LinePlaces>,
    responses: Vec<Response>,
    response_ids: HashMap<Box<[u8]>, usize>,
    calls: HashMap<Box<[u8]>, Call>,
    /// The end of the main conversation, and that of all.
    main: Option<Place>,
    last: Option<Place>,
    /// The last entry before the first line of the tree.
    before_all: Option<Place>,
    model: Option<Text<'static>>,
    /// Whether the whole file is that of a sub-agent.
    is_agent: bool,
    /// Whether the user has named the session.
    is_titled: bool,
    time_ms: i64,
    /// The tokens before the compaction that was announced, and the first entry that it keeps.
    before: f64,
    kept: Option<Place>,
}

/// The entries of a line.
#[derive(Clone, Copy)]
struct LinePlaces {
    first: Place,
    last: Place,
    /// The response that it belongs to, by its own content or as a result.
    response: Option<usize>,
}

struct Response {
    /// The last entry with a part of it.
    end: Place,
    /// The tokens that its entries have together.
    counted: Tokens,
}

struct Call {
    name: Text<'static>,
    /// Its last result.
    result: Option<Place>,
}

/// A line with the members that decide what becomes of it.
struct ClaudeLine<'a> {
    offset: u64,
    raw: Raw<'a>,
    kind: Option<Raw<'a>>,
    uuid: Option<Text<'a>>,
    parent: Option<Text<'a>>,
    message: Option<Raw<'a>>,
    is_side: bool,
    time_ms: i64,
}

impl ClaudeLine<'_> {
    fn is(&self, key: &str) -> bool {
        self.raw.get(key).and_then(Raw::bool) == Some(true)
    }

    fn draft(&self, kind: &'static str, members: Object) -> Draft {
        Draft { offset: self.offset, time_ms: self.time_ms, kind, members }
    }

    /// Returns a message entry. `message` is complete except for its time; `unused` is content without a counterpart.
    fn message(&self, message: Object, used: &[&str], unused: &[Raw]) -> Draft {
        let message = message.number("timestamp", self.time_ms as f64).finish();
        let mut rest = rest_of(self.raw, &[&["type", "message"], used].concat(), Object::new());
        if let Some(message) = self.message {
            let own = rest_of(message, &["type", "role", "content", "model", "id"], Object::new());
            let own = if unused.is_empty() {
                own
            } else {
                own.json("content", &array(unused.iter().map(|block| block.bytes())))
            };
            let own = own.finish();
            rest = if own == b"{}" { rest } else { rest.json("message", &own) };
        }
        self.draft("message", Object::new().json("message", &message).json("claude", &rest.finish()))
    }
}

impl Reader for Claude {
    fn line(&mut self, offset: u64, raw: Raw, writer: &mut Writer) -> io::Result<()> {
        let names = ["type", "uuid", "parentUuid", "message", "isSidechain", "timestamp"];
        let [kind, uuid, parent, message, is_side, timestamp] = members(raw, names);
        self.time_ms = time(timestamp).unwrap_or(self.time_ms);
        let (uuid, parent) = (uuid.and_then(Raw::text), parent.and_then(Raw::text));
        let is_side = is_side.and_then(Raw::bool) == Some(true);
        self.is_agent |= is_side && self.lines.is_empty() && text(raw, "agentId").is_some();
        let line = ClaudeLine {
            offset,
            raw,
            kind,
            uuid: uuid.filter(|id| !id.is_empty()),
            parent: parent.filter(|id| !id.is_empty()),
            message: message.filter(|message| message.is_object()),
            is_side: is_side && !self.is_agent,
            time_ms: self.time_ms,
        };
        let known = line.uuid.as_ref().is_some_and(|uuid| self.lines.contains_key(uuid.as_bytes()));
        let places = match (line.kind, line.message) {
            _ if known => None,
            (Some(kind), Some(message)) if kind.is("user") => self.user(&line, message, writer)?,
            (Some(kind), Some(message)) if kind.is("assistant") => self.assistant(&line, message, writer)?,
            (Some(kind), None) if kind.is("custom-title") || kind.is("ai-title") || kind.is("summary") => {
                self.title(&line, kind, writer)?
            }
            _ => None,
        };
        let places = match places {
            Some(places) => places,
            None => self.keep(&line, known, writer)?,
        };
        if !known {
            self.last = Some(places.last);
            if !line.is_side {
                self.main = Some(places.last);
            }
            match line.uuid {
                Some(uuid) => drop(self.lines.insert(uuid.as_bytes().into(), places)),
                None if self.lines.is_empty() => self.before_all = self.main,
                None => {}
            }
        }
        Ok(())
    }

    fn custom(&mut self, offset: u64, members: Object, writer: &mut Writer) -> io::Result<()> {
        let draft = Draft { offset, time_ms: self.time_ms, kind: "custom", members };
        self.main = Some(writer.chain(self.main, draft)?);
        Ok(())
    }

    fn leaf(&mut self, _: &mut Writer) -> io::Result<Option<Place>> {
        Ok(self.main.or(self.last))
    }

    fn recorded(&mut self, _: Place) {
        // It is the end of what it is attached to.
    }
}

impl Claude {
    /// Returns where a line is attached, and the response that is there. A line whose parent is missing follows the one
    /// before it; a side chain begins where it was started; other lines without a parent follow what was kept before the
    /// first of them.
    fn parent(&self, line: &ClaudeLine) -> (Option<Place>, Option<usize>) {
        let known = line.parent.as_ref().and_then(|id| self.lines.get(id.as_bytes()));
        match known {
            Some(parent) => (Some(parent.last), parent.response),
            None if line.is_side && line.parent.is_some() => (self.last, None),
            None if line.uuid.is_none() || line.is_side || line.parent.is_some() => (self.main, None),
            None => (self.before_all, None),
        }
    }

    /// Keeps a line that has no counterpart.
    fn keep(&mut self, line: &ClaudeLine, known: bool, writer: &mut Writer) -> io::Result<LinePlaces> {
        let subtype = text(line.raw, "subtype").map(|subtype| format!(".{subtype}")).unwrap_or_default();
        let kind = line.kind.and_then(Raw::text).unwrap_or_else(|| Text::from("line"));
        let members = kept(Origin::Claude.name(), &format!("{kind}{subtype}"), line.raw.bytes());
        let draft = line.draft("custom", members);
        if line.raw.get("subtype").is_some_and(|subtype| subtype.is("compact_boundary")) {
            return self.boundary(line, draft, writer);
        }
        let (parent, response) = if known { (self.main, None) } else { self.parent(line) };
        let first = writer.chain(parent, draft)?;
        let mut last = first;
        for (id, text) in cleared(line.raw) {
            let Some(result) = self.calls.get(id.as_bytes()).and_then(|call| call.result) else { continue };
            let replacement = Object::new().text("content", &text).finish();
            let edit = Object::new().str("targetId", &writer.id_of(result)).json("replacement", &replacement);
            last = writer.chain(Some(last), line.draft("context_edit", edit))?;
        }
        Ok(LinePlaces { first, last, response })
    }

    /// Keeps the line that announces a compaction. If messages are preserved, it is attached to the last of them, so that
    /// those after it, which are summarized, are on another branch; what is attached to that message later is attached to
    /// the compaction.
    fn boundary(&mut self, line: &ClaudeLine, draft: Draft, writer: &mut Writer) -> io::Result<LinePlaces> {
        let known = |id: &Text| self.lines.get(id.as_bytes());
        let preserved = preserved(line.raw).and_then(|(head, tail)| known(&head).zip(known(&tail)));
        let before = text(line.raw, "logicalParentUuid").or_else(|| line.parent.clone());
        let before = before.and_then(|id| known(&id)).map(|line| line.last).or(self.main);
        let place = match preserved {
            Some((_, tail)) => writer.chain(Some(tail.last), draft)?,
            None => {
                let end = before.map(|before| writer.end(before));
                writer.add(end, draft)?
            }
        };
        self.kept = preserved.map(|(head, _)| head.first);
        self.before = number(line.raw.get("compactMetadata").and_then(|data| data.get("preTokens")));
        Ok(LinePlaces { first: place, last: place, response: None })
    }

    /// Reads what the user, a tool or Claude Code itself sends to the model.
    fn user(
        &mut self,
        line: &ClaudeLine,
        message: Raw,
        writer: &mut Writer,
    ) -> io::Result<Option<LinePlaces>> {
        let content = message.get("content").unwrap_or(Raw::NULL);
        if line.is("isCompactSummary") {
            let summary = joined_text(Some(content), "\n");
            if !summary.is_blank() {
                return self.compaction(line, &summary, writer).map(Some);
            }
        }
        let has_results = content.items().any(|block| is_block(block, "tool_result"));
        if line.is("isMeta") && !has_results {
            return self.meta(line, content, writer);
        }
        if let Some(content) = content.text() {
            if content.is_empty() {
                return Ok(None);
            }
            let message = Object::new().str("role", "user").text("content", &content);
            let (parent, _) = self.parent(line);
            let end = parent.map(|parent| writer.end(parent));
            let place = writer.add(end, line.message(message, &[], &[]))?;
            return Ok(Some(LinePlaces { first: place, last: place, response: None }));
        }
        self.blocks(line, content, writer)
    }

    /// Reads a list of blocks: results of tools, and what is between them.
    fn blocks(
        &mut self,
        line: &ClaudeLine,
        content: Raw,
        writer: &mut Writer,
    ) -> io::Result<Option<LinePlaces>> {
        let is_part = |block: &Raw| part(*block).is_some() || result_of(*block).is_some();
        let unused: Vec<_> = content.items().filter(|block| !is_part(block)).collect();
        let (mut parent, response) = self.parent(line);
        let (mut parts, mut places, mut is_answer) = (Vec::new(), None, false);
        let one = content.items().filter(|block| result_of(*block).is_some()).count() == 1;
        let mut add = |message: Object, used: &[&str], parent: Option<Place>, chains, writer: &mut Writer| {
            let unused = if places.is_none() { &unused[..] } else { &[] };
            let draft = line.message(message, used, unused);
            let place = if chains { writer.chain(parent, draft)? } else { writer.add(parent, draft)? };
            let LinePlaces { first, .. } =
                *places.get_or_insert(LinePlaces { first: place, last: place, response: None });
            places = Some(LinePlaces { first, last: place, response: None });
            Ok::<_, io::Error>(Some(place))
        };
        let said = |parts: &mut Vec<Vec<u8>>| {
            Object::new().str("role", "user").json("content", &array(std::mem::take(parts)))
        };
        for block in content.items() {
            if let Some(part) = part(block) {
                parts.push(part);
                continue;
            }
            let Some(id) = result_of(block) else { continue };
            if !parts.is_empty() {
                let end = parent.map(|parent| writer.end(parent));
                parent = add(said(&mut parts), &[], end, false, writer)?;
            }
            let details = line.raw.get("toolUseResult").filter(|_| one);
            let call = self.calls.get(id.as_bytes());
            let again = call.is_some_and(|call| call.result.is_some());
            let name = call.map(|call| call.name.clone());
            let message = result(block, &id, name, details);
            let used: &[&str] = if details.is_some() { &["toolUseResult"] } else { &[] };
            // A second result of a call begins another branch.
            parent = match response.filter(|_| again && !is_answer) {
                Some(response) => add(message, used, Some(self.responses[response].end), false, writer)?,
                None => add(message, used, parent, response.is_some(), writer)?,
            };
            if let Some(call) = self.calls.get_mut(id.as_bytes()) {
                call.result = parent;
            }
            is_answer = true;
        }
        if !parts.is_empty() {
            let end = parent.map(|parent| writer.end(parent));
            add(said(&mut parts), &[], end, false, writer)?;
        }
        Ok(places.map(|places| LinePlaces { response: response.filter(|_| is_answer), ..places }))
    }

    /// Keeps what Claude Code adds to the conversation: the model sees it, the user does not.
    fn meta(
        &mut self,
        line: &ClaudeLine,
        content: Raw,
        writer: &mut Writer,
    ) -> io::Result<Option<LinePlaces>> {
        let content = match content.text() {
            Some(text) if !text.is_empty() => content.bytes().to_vec(),
            _ => array(content.items().filter_map(part)),
        };
        if content == b"[]" {
            return Ok(None);
        }
        let rest = rest_of(line.raw, &["type", "message"], Object::new());
        let members = hidden(Origin::Claude.name(), "meta", &content).json("claude", &rest.finish());
        let (parent, _) = self.parent(line);
        let place = writer.chain(parent, line.draft("custom_message", members))?;
        Ok(Some(LinePlaces { first: place, last: place, response: None }))
    }

    /// Reads the summary of a compaction.
    fn compaction(
        &mut self,
        line: &ClaudeLine,
        summary: &Text,
        writer: &mut Writer,
    ) -> io::Result<LinePlaces> {
        let known = line.parent.as_ref().and_then(|id| self.lines.get(id.as_bytes()));
        let parent = known.map(|line| line.last).or(self.main.filter(|_| !line.is_side));
        let parent = parent.map(|parent| writer.end(parent));
        let is_kept = |kept: &Place| parent.is_some_and(|parent| writer.is_above(*kept, parent));
        let kept = self.kept.take().filter(is_kept);
        let kept = kept.map_or_else(|| writer.next_id(line.offset), |kept| writer.id_of(kept));
        let rest = rest_of(line.raw, &["type", "message"], Object::new());
        let members = Object::new()
            .text("summary", summary)
            .str("firstKeptEntryId", &kept)
            .number("tokensBefore", std::mem::take(&mut self.before))
            .json("claude", &rest.finish());
        let place = writer.chain(parent, line.draft("compaction", members))?;
        Ok(LinePlaces { first: place, last: place, response: None })
    }

    /// Reads a part of a response.
    fn assistant(
        &mut self,
        line: &ClaudeLine,
        message: Raw,
        writer: &mut Writer,
    ) -> io::Result<Option<LinePlaces>> {
        let blocks = message.get("content").unwrap_or(Raw::NULL);
        let error = text(line.raw, "error");
        let is_part = |block: &Raw| answer(*block).is_some();
        let (used, unused): (Vec<_>, Vec<_>) = blocks.items().partition(is_part);
        if used.is_empty() && error.is_none() {
            return Ok(None);
        }
        let (parent, of_parent) = self.parent(line);
        let id = text(message, "id");
        let known = id.as_ref().and_then(|id| self.response_ids.get(id.as_bytes()).copied());
        let continued = known.filter(|_| known == of_parent);
        let model = text(message, "model").unwrap_or_else(|| Text::from("unknown")).into_owned();
        let mut end = parent.map(|parent| writer.end(parent));
        let mut first = None;
        if !line.is_side && model != SYNTHETIC && self.model.as_ref() != Some(&model) {
            let members = Object::new().str("provider", "anthropic").text("modelId", &model);
            end = Some(match continued {
                Some(_) => writer.chain(end, line.draft("model_change", members))?,
                None => writer.add(end, line.draft("model_change", members))?,
            });
            first = end;
            self.model = Some(model.clone());
        }
        let number_of = |key: &str| line.raw.get(key).filter(|number| number.is_number());
        let (counted, usage) = self.tokens(continued, message.get("usage"));
        let made = Object::new()
            .str("role", "assistant")
            .json("content", &array(used.iter().filter_map(|block| answer(*block))))
            .str("api", "anthropic-messages")
            .str("provider", "anthropic")
            .text("model", &model)
            .json("usage", &usage.json())
            .str("stopReason", stop_reason(message.get("stop_reason"), line.is("isApiErrorMessage")))
            .with(id.as_ref(), |made, id| made.text("responseId", id))
            .with(error.as_ref(), |made, error| made.text("errorMessage", error))
            .with(number_of("apiErrorStatus"), |made, status| made.raw("errorStatus", status));
        let draft = line.message(made, &["error", "apiErrorStatus"], &unused);
        let place = match continued {
            Some(_) => writer.chain(end, draft)?,
            None => writer.add(end, draft)?,
        };
        for call in used.iter().filter(|block| is_block(**block, "tool_use")) {
            let (Some(id), Some(name)) = (text(*call, "id"), text(*call, "name")) else { continue };
            self.calls.insert(id.as_bytes().into(), Call { name: name.into_owned(), result: None });
        }
        let response = continued.unwrap_or_else(|| {
            self.responses.push(Response { end: place, counted });
            self.responses.len() - 1
        });
        self.responses[response] = Response { end: place, counted };
        if let Some(id) = id {
            self.response_ids.insert(id.as_bytes().into(), response);
        }
        let first = first.unwrap_or(place);
        Ok(Some(LinePlaces { first, last: place, response: Some(response) }))
    }

    /// Returns the tokens of a response as they are now, and those that its earlier lines do not have: each line repeats
    /// the usage of the whole response.
    fn tokens(&self, continued: Option<usize>, usage: Option<Raw>) -> (Tokens, Tokens) {
        let before = continued.map(|at| self.responses[at].counted).unwrap_or_default();
        let of = |key: &str| number(usage.and_then(|usage| usage.get(key)));
        let now = [
            of("input_tokens"),
            of("output_tokens"),
            of("cache_read_input_tokens"),
            of("cache_creation_input_tokens"),
        ];
        let had = [before.input, before.output, before.cache_read, before.cache_write];
        let most = std::array::from_fn(|at| f64::max(now[at], had[at]));
        let added = std::array::from_fn(|at| f64::max(now[at] - had[at], 0.0));
        let tokens = |[input, output, cache_read, cache_write]: [f64; 4]| Tokens {
            input,
            output,
            cache_read,
            cache_write,
            total: now.iter().sum(),
            reasoning: None,
        };
        (tokens(most), tokens(added))
    }

    /// Reads a name of the session. A name that the user chose is not replaced by another.
    fn title(&mut self, line: &ClaudeLine, kind: Raw, writer: &mut Writer) -> io::Result<Option<LinePlaces>> {
        let is_own = kind.is("custom-title");
        let name = match () {
            () if is_own => text(line.raw, "customTitle"),
            () if self.is_titled => None,
            () if kind.is("ai-title") => text(line.raw, "aiTitle"),
            () => {
                let leaf = text(line.raw, "leafUuid");
                let is_here = leaf.is_some_and(|leaf| self.lines.contains_key(leaf.as_bytes()));
                text(line.raw, "summary").filter(|_| is_here)
            }
        };
        let Some(name) = name.filter(|name| !name.is_blank() && Some(name) != writer.name.as_ref()) else {
            return Ok(None);
        };
        self.is_titled |= is_own;
        writer.name = Some(name.clone().into_owned());
        let rest = rest_of(line.raw, &["customTitle", "aiTitle"], Object::new());
        let members = Object::new().text("name", &name).json("claude", &rest.finish());
        let place = writer.chain(self.main, line.draft("session_info", members))?;
        Ok(Some(LinePlaces { first: place, last: place, response: None }))
    }
}

/// Returns the ids of the first and the last message that a compaction preserves.
fn preserved(boundary: Raw) -> Option<(Text, Text)> {
    let data = boundary.get("compactMetadata")?;
    let messages = data.get("preservedMessages").and_then(|messages| messages.get("uuids"));
    let listed = |ids: Raw<'_>| {
        Some((ids.items().next()?.text()?.into_owned(), ids.items().last()?.text()?.into_owned()))
    };
    let segment = || {
        let segment = data.get("preservedSegment")?;
        Some((text(segment, "headUuid")?, text(segment, "tailUuid")?))
    };
    messages.and_then(listed).or_else(segment)
}

/// Returns the calls whose results the model no longer sees as they were, and what it sees instead.
fn cleared(line: Raw) -> Vec<(Text, Text)> {
    let ids = line.get("microcompactMetadata").and_then(|data| data.get("compactedToolIds"));
    let ids = ids.into_iter().flat_map(Raw::items).filter_map(Raw::text);
    let replacements = line.get("replacements").into_iter().flat_map(Raw::items);
    let replaced =
        |of: Raw<'_>| Some((text(of, "toolUseId")?.into_owned(), text(of, "replacement")?.into_owned()));
    ids.map(|id| (id, Text::from(CLEARED))).chain(replacements.filter_map(replaced)).collect()
}
