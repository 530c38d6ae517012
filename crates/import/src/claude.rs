//! Reads sessions of Claude Code: `~/.claude/projects/*/*.jsonl`.
//!
//! Each line has a `uuid` and a `parentUuid`, which give the tree. A response is written in several
//! lines that share `message.id`, one for each block, and calls that run in parallel have their
//! results below different ones of these lines. What is attached to such a line is attached to the
//! end of the response, so that no result is on a branch of its own. Lines that Claude Code writes
//! a second time, as it does before a compaction, are kept as custom entries.

mod blocks;
mod injected;

use super::parts::{custom_message, kept, rest_of, text, time, usage_json};
use super::writer::{Draft, Place, Writer};
use super::{Origin, Reader};
use blocks::{answer, part, result, result_of, stop_reason};
use foldhash::HashMap;
use injected::{Injected, META, injected};
use pisess_core::session::content::{finite, is_block, joined_text, members};
use pisess_core::session::usage::Usage;
use pisess_json::Raw;
use pisess_json::string::encoded;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use std::array::from_fn;
use std::io;

/// The model of messages that Claude Code makes itself.
const SYNTHETIC: &str = "<synthetic>";

/// What the model sees of a result that a micro-compaction cleared.
const CLEARED: &str = "[Old tool result content cleared]";

/// The numbers of tokens in the usage of a response.
const TOKENS: [&str; 4] = [
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
];

/// What was read so far.
#[derive(Default)]
pub struct Claude<'o> {
    writer: Writer<'o>,
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
    /// The tokens that its entries have together, as [`TOKENS`].
    counted: [f64; 4],
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

impl LinePlaces {
    /// Returns those of a line that has one entry.
    fn at(place: Place) -> LinePlaces {
        LinePlaces {
            first: place,
            last: place,
            response: None,
        }
    }
}

impl ClaudeLine<'_> {
    fn is(&self, key: &str) -> bool {
        self.raw.get(key).and_then(Raw::bool) == Some(true)
    }

    fn draft(&self, kind: &'static str, members: Object) -> Draft {
        Draft {
            offset: self.offset,
            time_ms: self.time_ms,
            kind,
            members,
        }
    }

    /// Returns a message entry. `message` is complete except for its time; `unused` is content
    /// without a counterpart.
    fn message(&self, message: Object, used: &[&str], unused: &[Raw]) -> Draft {
        let timed = message.number("timestamp", self.time_ms as f64).finish();
        let mut rest = rest_of(self.raw, &[&["type", "message"], used].concat());
        if let Some(message) = self.message {
            let blocks: Vec<_> = unused.iter().map(|block| block.bytes()).collect();
            let own = rest_of(message, &["type", "role", "content", "model", "id"])
                .list("content", &blocks)
                .finish();
            rest = if own == b"{}" {
                rest
            } else {
                rest.json("message", &own)
            };
        }
        self.draft(
            "message",
            Object::new()
                .json("message", &timed)
                .json("claude", &rest.finish()),
        )
    }

    /// Returns what the user said, or Claude Code in the name of the user. `unused` is content
    /// without a counterpart.
    fn said(&self, content: &[u8], unused: &[Raw]) -> Draft {
        let meta = self.is("isMeta").then_some(META);
        match meta
            .or_else(|| injected(Raw::checked(content)))
            .filter(|_| unused.is_empty())
        {
            Some(injected) => self.injected(injected, content),
            None => self.message(
                Object::new().str("role", "user").json("content", content),
                &[],
                unused,
            ),
        }
    }

    /// Returns a custom message entry, which the model sees.
    fn injected(&self, Injected { kind, is_shown }: Injected, content: &[u8]) -> Draft {
        let rest = rest_of(self.raw, &["type", "message"]);
        let members = custom_message(Origin::Claude.name(), kind, content, is_shown);
        self.draft("custom_message", members.json("claude", &rest.finish()))
    }
}

impl<'o> Reader<'o> for Claude<'o> {
    fn line(&mut self, offset: u64, raw: Raw) -> io::Result<()> {
        let names = [
            "type",
            "uuid",
            "parentUuid",
            "message",
            "isSidechain",
            "timestamp",
        ];
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
        let known = line
            .uuid
            .as_ref()
            .is_some_and(|uuid| self.lines.contains_key(uuid.as_bytes()));
        let places = match (line.kind, line.message) {
            _ if known => None,
            (Some(kind), Some(message)) if kind.is("user") => self.user(&line, message)?,
            (Some(kind), Some(message)) if kind.is("assistant") => {
                self.assistant(&line, message)?
            }
            (Some(kind), None)
                if kind.is("custom-title") || kind.is("ai-title") || kind.is("summary") =>
            {
                self.title(&line, kind)?
            }
            _ => None,
        };
        let places = places.map_or_else(|| self.keep(&line, known), Ok)?;
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

    fn custom(&mut self, offset: u64, members: Object) -> io::Result<()> {
        let draft = Draft {
            offset,
            time_ms: self.time_ms,
            kind: "custom",
            members,
        };
        self.main = Some(self.writer.chain(self.main, draft)?);
        Ok(())
    }

    fn record(&mut self, draft: Draft) -> io::Result<()> {
        // It is the end of what it is attached to.
        self.writer.chain(self.main.or(self.last), draft).map(drop)
    }

    fn end(self: Box<Self>) -> io::Result<Writer<'o>> {
        Ok(self.writer)
    }
}

impl<'o> Claude<'o> {
    /// Returns a reader that has read nothing.
    pub fn new(writer: Writer<'o>) -> Self {
        Claude {
            writer,
            ..Claude::default()
        }
    }

    /// Returns where a line is attached, and the response that is there. A line whose parent is
    /// missing follows the one before it; a side chain begins where it was started; other lines
    /// without a parent follow what was kept before the first of them.
    fn parent(&self, line: &ClaudeLine) -> (Option<Place>, Option<usize>) {
        let known = line
            .parent
            .as_ref()
            .and_then(|id| self.lines.get(id.as_bytes()));
        match known {
            Some(parent) => (Some(parent.last), parent.response),
            None if line.is_side && line.parent.is_some() => (self.last, None),
            None if line.uuid.is_none() || line.is_side || line.parent.is_some() => {
                (self.main, None)
            }
            None => (self.before_all, None),
        }
    }

    /// Keeps a line that has no counterpart.
    fn keep(&mut self, line: &ClaudeLine, known: bool) -> io::Result<LinePlaces> {
        let subtype = text(line.raw, "subtype")
            .map(|subtype| format!(".{subtype}"))
            .unwrap_or_default();
        let kind = line
            .kind
            .and_then(Raw::text)
            .unwrap_or_else(|| Text::from("line"));
        let members = kept(
            Origin::Claude.name(),
            &format!("{kind}{subtype}"),
            line.raw.bytes(),
        );
        let draft = line.draft("custom", members);
        if line
            .raw
            .get("subtype")
            .is_some_and(|subtype| subtype.is("compact_boundary"))
        {
            return self.boundary(line, draft);
        }
        let (parent, response) = if known {
            (self.main, None)
        } else {
            self.parent(line)
        };
        let first = self.writer.chain(parent, draft)?;
        let mut last = first;
        for (id, text) in cleared(line.raw) {
            let Some(result) = self.calls.get(id.as_bytes()).and_then(|call| call.result) else {
                continue;
            };
            let replacement = Object::new().text("content", &text).finish();
            let edit = Object::new()
                .str("targetId", &self.writer.id_of(result))
                .json("replacement", &replacement);
            last = self
                .writer
                .chain(Some(last), line.draft("context_edit", edit))?;
        }
        Ok(LinePlaces {
            first,
            last,
            response,
        })
    }

    /// Keeps the line that announces a compaction. If messages are preserved, it is attached to the
    /// last of them, so that those after it, which are summarized, are on another branch; what is
    /// attached to that message later is attached to the compaction.
    fn boundary(&mut self, line: &ClaudeLine, draft: Draft) -> io::Result<LinePlaces> {
        let known = |id: &Text| self.lines.get(id.as_bytes());
        let preserved = preserved(line.raw).and_then(|(head, tail)| known(&head).zip(known(&tail)));
        let named = text(line.raw, "logicalParentUuid").or_else(|| line.parent.clone());
        let before = named
            .and_then(|id| known(&id))
            .map(|line| line.last)
            .or(self.main);
        let place = match preserved {
            Some((_, tail)) => self.writer.chain(Some(tail.last), draft)?,
            None => self.writer.below(before, draft)?,
        };
        self.kept = preserved.map(|(head, _)| head.first);
        self.before = finite(
            line.raw
                .get("compactMetadata")
                .and_then(|data| data.get("preTokens")),
        );
        Ok(LinePlaces::at(place))
    }

    /// Reads what the user, a tool or Claude Code itself sends to the model.
    fn user(&mut self, line: &ClaudeLine, message: Raw) -> io::Result<Option<LinePlaces>> {
        let content = message.get("content").unwrap_or(Raw::NULL);
        if line.is("isCompactSummary") {
            let summary = joined_text(Some(content), "\n");
            if !summary.is_blank() {
                return self.compaction(line, &summary).map(Some);
            }
        }
        let has_results = content.items().any(|block| is_block(block, "tool_result"));
        if line.is("isMeta") && !has_results {
            return self.meta(line, content);
        }
        let Some(content) = content.text() else {
            return self.blocks(line, content);
        };
        if content.is_empty() {
            return Ok(None);
        }
        let place = self
            .writer
            .below(self.parent(line).0, line.said(&encoded(&content), &[]))?;
        Ok(Some(LinePlaces::at(place)))
    }

    /// Reads a list of blocks: results of tools, and what is between them.
    fn blocks(&mut self, line: &ClaudeLine, content: Raw) -> io::Result<Option<LinePlaces>> {
        let is_part = |block: &Raw| part(*block).is_some() || result_of(*block).is_some();
        let unused: Vec<_> = content.items().filter(|block| !is_part(block)).collect();
        let (mut at, response) = self.parent(line);
        let (mut parts, mut first, mut is_answer) = (Vec::new(), None, false);
        let one = content
            .items()
            .filter(|block| result_of(*block).is_some())
            .count()
            == 1;
        for block in content.items().map(Some).chain([None]) {
            if let Some(part) = block.and_then(part) {
                parts.push(part);
                continue;
            }
            let result_id = block.and_then(result_of);
            // Parts on both sides of a block that is neither are of one message.
            if block.is_some() && result_id.is_none() {
                continue;
            }
            let unused = |first: Option<Place>| if first.is_none() { &unused[..] } else { &[] };
            if !parts.is_empty() {
                let content = array(std::mem::take(&mut parts));
                at = Some(self.writer.below(at, line.said(&content, unused(first)))?);
                first = first.or(at);
            }
            let (Some(block), Some(id)) = (block, result_id) else {
                break;
            };
            let details = line.raw.get("toolUseResult").filter(|_| one);
            let call = self.calls.get(id.as_bytes());
            let again = call.is_some_and(|call| call.result.is_some());
            let message = result(block, &id, call.map(|call| call.name.clone()), details);
            let used: &[&str] = if details.is_some() {
                &["toolUseResult"]
            } else {
                &[]
            };
            let draft = line.message(message, used, unused(first));
            at = Some(match response {
                // A second result of a call begins another branch.
                Some(response) if again && !is_answer => {
                    self.writer.add(Some(self.responses[response].end), draft)?
                }
                Some(_) => self.writer.chain(at, draft)?,
                None => self.writer.add(at, draft)?,
            });
            first = first.or(at);
            if let Some(call) = self.calls.get_mut(id.as_bytes()) {
                call.result = at;
            }
            is_answer = true;
        }
        let answered = response.filter(|_| is_answer);
        Ok(first.zip(at).map(|(first, last)| LinePlaces {
            first,
            last,
            response: answered,
        }))
    }

    /// Keeps what Claude Code adds to the conversation: the model sees it, the user does not.
    fn meta(&mut self, line: &ClaudeLine, content: Raw) -> io::Result<Option<LinePlaces>> {
        let content = match content.text() {
            Some(text) if !text.is_empty() => content.bytes().to_vec(),
            _ => array(content.items().filter_map(part)),
        };
        if content == b"[]" {
            return Ok(None);
        }
        let place = self
            .writer
            .chain(self.parent(line).0, line.injected(META, &content))?;
        Ok(Some(LinePlaces::at(place)))
    }

    /// Reads the summary of a compaction.
    fn compaction(&mut self, line: &ClaudeLine, summary: &Text) -> io::Result<LinePlaces> {
        let known = line
            .parent
            .as_ref()
            .and_then(|id| self.lines.get(id.as_bytes()));
        let above = known
            .map(|line| line.last)
            .or(self.main.filter(|_| !line.is_side));
        let parent = above.map(|above| self.writer.end(above));
        let is_kept =
            |kept: &Place| parent.is_some_and(|parent| self.writer.is_above(*kept, parent));
        let kept = self.kept.take().filter(is_kept);
        let kept_id = kept.map_or_else(
            || self.writer.next_id(line.offset),
            |kept| self.writer.id_of(kept),
        );
        let rest = rest_of(line.raw, &["type", "message"]);
        let members = Object::new()
            .text("summary", summary)
            .str("firstKeptEntryId", &kept_id)
            .number("tokensBefore", std::mem::take(&mut self.before))
            .json("claude", &rest.finish());
        self.writer
            .chain(parent, line.draft("compaction", members))
            .map(LinePlaces::at)
    }

    /// Reads a part of a response.
    fn assistant(&mut self, line: &ClaudeLine, message: Raw) -> io::Result<Option<LinePlaces>> {
        let blocks = message.get("content").unwrap_or(Raw::NULL);
        let error = text(line.raw, "error");
        let (used, unused): (Vec<_>, Vec<_>) =
            blocks.items().partition(|block| answer(*block).is_some());
        if used.is_empty() && error.is_none() {
            return Ok(None);
        }
        let (mut at, of_parent) = self.parent(line);
        let id = text(message, "id");
        let known = id
            .as_ref()
            .and_then(|id| self.response_ids.get(id.as_bytes()).copied());
        let continued = known.filter(|_| known == of_parent);
        let model = text(message, "model")
            .unwrap_or_else(|| Text::from("unknown"))
            .into_owned();
        let mut first = None;
        if !line.is_side && model != SYNTHETIC && self.model.as_ref() != Some(&model) {
            let members = Object::new()
                .str("provider", "anthropic")
                .text("modelId", &model);
            at = Some(self.part_of(continued, at, line.draft("model_change", members))?);
            first = at;
            self.model = Some(model.clone());
        }
        let (counted, usage) = self.usage(continued, message.get("usage"));
        let number_of = |key: &str| line.raw.get(key).filter(|number| number.is_number());
        let made = Object::new()
            .str("role", "assistant")
            .json(
                "content",
                &array(used.iter().filter_map(|block| answer(*block))),
            )
            .str("api", "anthropic-messages")
            .str("provider", "anthropic")
            .text("model", &model)
            .json("usage", &usage)
            .str(
                "stopReason",
                stop_reason(message.get("stop_reason"), line.is("isApiErrorMessage")),
            )
            .with(id.as_ref(), |made, id| made.text("responseId", id))
            .with(error.as_ref(), |made, error| {
                made.text("errorMessage", error)
            })
            .with(number_of("apiErrorStatus"), |made, status| {
                made.raw("errorStatus", status)
            });
        let draft = line.message(made, &["error", "apiErrorStatus"], &unused);
        let last = self.part_of(continued, at, draft)?;
        for call in used.iter().filter(|block| is_block(**block, "tool_use")) {
            let (Some(id), Some(name)) = (text(*call, "id"), text(*call, "name")) else {
                continue;
            };
            self.calls.insert(
                id.as_bytes().into(),
                Call {
                    name: name.into_owned(),
                    result: None,
                },
            );
        }
        let response = self.responded(continued, Response { end: last, counted });
        if let Some(id) = id {
            self.response_ids.insert(id.as_bytes().into(), response);
        }
        Ok(Some(LinePlaces {
            first: first.unwrap_or(last),
            last,
            response: Some(response),
        }))
    }

    /// Adds an entry of a response: to the end of what is there, if the response is continued.
    fn part_of(
        &mut self,
        continued: Option<usize>,
        at: Option<Place>,
        draft: Draft,
    ) -> io::Result<Place> {
        if continued.is_some() {
            self.writer.chain(at, draft)
        } else {
            self.writer.below(at, draft)
        }
    }

    /// Keeps a response as it is now; returns its number.
    fn responded(&mut self, continued: Option<usize>, response: Response) -> usize {
        let at = continued.unwrap_or(self.responses.len());
        match self.responses.get_mut(at) {
            Some(known) => *known = response,
            None => self.responses.push(response),
        }
        at
    }

    /// Returns the tokens of a response as they are now, and the `usage` with those that its
    /// earlier lines do not have: each line repeats the usage of the whole response.
    fn usage(&self, continued: Option<usize>, usage: Option<Raw>) -> ([f64; 4], Vec<u8>) {
        let before = continued
            .map(|at| self.responses[at].counted)
            .unwrap_or_default();
        let now = TOKENS.map(|key| finite(usage.and_then(|usage| usage.get(key))));
        let [input, output, cache_read, cache_write] =
            from_fn(|at| (now[at] - before[at]).max(0.0));
        let added = Usage {
            input,
            output,
            cache_read,
            cache_write,
            ..Usage::default()
        };
        (
            from_fn(|at| now[at].max(before[at])),
            usage_json(&added, now.iter().sum(), None),
        )
    }

    /// Reads a name of the session. A name that the user chose is not replaced by another.
    fn title(&mut self, line: &ClaudeLine, kind: Raw) -> io::Result<Option<LinePlaces>> {
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
        let Some(name) =
            name.filter(|name| !name.is_blank() && Some(name) != self.writer.name.as_ref())
        else {
            return Ok(None);
        };
        self.is_titled |= is_own;
        self.writer.name = Some(name.clone().into_owned());
        let rest = rest_of(line.raw, &["customTitle", "aiTitle"]);
        let members = Object::new()
            .text("name", &name)
            .json("claude", &rest.finish());
        let place = self
            .writer
            .chain(self.main, line.draft("session_info", members))?;
        Ok(Some(LinePlaces::at(place)))
    }
}

/// Returns the ids of the first and the last message that a compaction preserves.
fn preserved(boundary: Raw) -> Option<(Text, Text)> {
    let data = boundary.get("compactMetadata")?;
    let messages = data
        .get("preservedMessages")
        .and_then(|messages| messages.get("uuids"));
    let listed = |ids: Raw<'_>| {
        Some((
            ids.items().next()?.text()?.into_owned(),
            ids.items().last()?.text()?.into_owned(),
        ))
    };
    let segment = || {
        let segment = data.get("preservedSegment")?;
        Some((text(segment, "headUuid")?, text(segment, "tailUuid")?))
    };
    messages.and_then(listed).or_else(segment)
}

/// Returns the calls whose results the model no longer sees as they were, and what it sees instead.
fn cleared(line: Raw) -> Vec<(Text, Text)> {
    let listed = line
        .get("microcompactMetadata")
        .and_then(|data| data.get("compactedToolIds"));
    let ids = listed
        .into_iter()
        .flat_map(Raw::items)
        .filter_map(Raw::text);
    let replacements = line.get("replacements").into_iter().flat_map(Raw::items);
    let replaced = |of: Raw<'_>| {
        Some((
            text(of, "toolUseId")?.into_owned(),
            text(of, "replacement")?.into_owned(),
        ))
    };
    ids.map(|id| (id, Text::from(CLEARED)))
        .chain(replacements.filter_map(replaced))
        .collect()
}
