//! What oh-my-pi's model sees at the end of a path: `buildSessionContext`, not its display
//! transcript.
//!
//! ```text
//! notes · summary · [last request] · kept ── compaction ── after it
//! ```
//!
//! A reset behind the last compaction leaves only what follows it. Then calls without an answer and
//! failed turns are taken out ([`super::repair`]).

use super::repair::{Facts, Item, repaired};
use super::{archive, message, notes, settings, value};
use crate::core::bodies::{Bodies, Body, Context, Message};
use crate::core::entry::{EntryIx, Kind, Role};
use crate::core::json::Raw;
use crate::core::json::write::Object;
use crate::core::session::Session;
use crate::core::text::Text;
use std::io;

/// Builds the context for the leaf at the end of `path` (root first; empty for the empty
/// conversation).
///
/// # Errors
/// Where an entry cannot be read.
pub fn build(session: &Session, path: &[EntryIx], bodies: &dyn Bodies) -> io::Result<Context> {
    let settings = settings::read(session, path, bodies)?;
    let mut emitter = Emitter { session, path, bodies, items: Vec::new() };
    if let Some(notes) = notes::message(session, path, bodies)? {
        emitter.items.push((notes, Facts::Other));
    }
    emitter.emit()?;
    Ok(Context { messages: repaired(emitter.items, bodies)?, settings })
}

struct Emitter<'a> {
    session: &'a Session,
    path: &'a [EntryIx],
    bodies: &'a dyn Bodies,
    items: Vec<Item>,
}

impl Emitter<'_> {
    fn emit(&mut self) -> io::Result<()> {
        let last = |kind| self.path.iter().rposition(|&ix| self.session.entry(ix).kind == kind);
        match (last(Kind::ResetBoundary), last(Kind::Compaction)) {
            (Some(reset), compaction) if compaction.is_none_or(|at| reset > at) => {
                self.append_all(&self.path[reset + 1..])
            }
            (reset, Some(at)) => self.compacted(at, reset),
            _ => self.append_all(self.path),
        }
    }

    /// The summary of the compaction at `at`, what it kept, and what came after.
    fn compacted(&mut self, at: usize, reset: Option<usize>) -> io::Result<()> {
        let ix = self.path[at];
        let line = self.bodies.line(ix)?;
        let line = Raw::checked(line.trim_ascii());
        let preserved = line.get("preserveData").unwrap_or(Raw::NULL);
        let first_kept = self.place(line.get_text("firstKeptEntryId"));
        let remote = remote_payload(preserved);
        let anthropic = anthropic_payload(preserved);
        // A natively replayed summary is dated before what it leaves, so that the signatures there stay valid.
        let predated = anthropic.is_some().then(|| self.before_retained(first_kept, at)).flatten();
        let kept_is_replayed = remote.is_some();
        let extras = message::SummaryExtras {
            provider_payload: remote.or(anthropic),
            blocks: archive::blocks(preserved),
            time_ms: predated,
        };
        let summary = message::compaction_summary(line, self.session.entry(ix), &extras);
        self.items.push((Message { entry: ix, body: Body::Built(summary) }, Facts::Other));
        if value::is(line.get("details").unwrap_or(Raw::NULL), "kind", "experimental-context-rollover") {
            self.last_request(at, reset, first_kept)?;
        }
        let kept = match kept_is_replayed {
            false => first_kept,
            true => self.place(line.get_text("providerReplayThroughEntryId")).map(|through| through + 1),
        };
        if let Some(kept) = kept.filter(|&kept| kept <= at) {
            self.append_all(&self.path[kept..at])?;
        }
        self.append_all(&self.path[at + 1..])
    }

    /// Where an id stands on the path.
    fn place(&self, id: Option<Text>) -> Option<usize> {
        let id = id.filter(|id| !id.is_empty())?;
        self.path.iter().position(|&ix| self.session.id(ix) == id)
    }

    /// One millisecond before the first entry that the compaction at `at` leaves.
    fn before_retained(&self, first_kept: Option<usize>, at: usize) -> Option<f64> {
        let retained = first_kept.filter(|&kept| kept < at).unwrap_or(at + 1);
        let time = value::time(self.session.entry(*self.path.get(retained)?));
        time.is_finite().then_some(time - 1.0)
    }

    /// A rollover summarises no turn: the newest request before it is told again, unless it is kept.
    fn last_request(&mut self, at: usize, reset: Option<usize>, first_kept: Option<usize>) -> io::Result<()> {
        let from = reset.map_or(0, |reset| reset + 1);
        for place in (from..at).rev() {
            let ix = self.path[place];
            if self.is_request(ix)? {
                return if first_kept.is_some_and(|kept| place < kept) { self.append(ix) } else { Ok(()) };
            }
        }
        Ok(())
    }

    fn is_request(&self, ix: EntryIx) -> io::Result<bool> {
        let entry = self.session.entry(ix);
        match (entry.kind, entry.role) {
            (Kind::Message, Role::User) => Ok(true),
            (Kind::Message, Role::Custom) | (Kind::CustomMessage, _) => {
                let line = self.bodies.line(ix)?;
                Ok(message::is_user_request(Raw::checked(line.trim_ascii()), entry.kind, entry.role))
            }
            _ => Ok(false),
        }
    }

    fn append_all(&mut self, entries: &[EntryIx]) -> io::Result<()> {
        entries.iter().try_for_each(|&ix| self.append(ix))
    }

    /// The message of an entry, if it makes one.
    fn append(&mut self, ix: EntryIx) -> io::Result<()> {
        let entry = self.session.entry(ix);
        let item = match entry.kind {
            Kind::Message => self.stored(ix)?,
            Kind::CustomMessage => {
                let line = self.bodies.line(ix)?;
                let line = Raw::checked(line.trim_ascii());
                let transient = message::TRANSIENT.iter().any(|name| value::is(line, "customType", name));
                message::custom(line, entry).filter(|_| !transient).and_then(|json| {
                    let facts = Facts::of(Raw::checked(&json))?;
                    Some((Message { entry: ix, body: Body::Built(json) }, facts))
                })
            }
            Kind::BranchSummary => {
                let line = self.bodies.line(ix)?;
                let line = Raw::checked(line.trim_ascii());
                value::truthy(line, "summary").then(|| {
                    let json = message::branch_summary(line, entry);
                    (Message { entry: ix, body: Body::Built(json) }, Facts::Other)
                })
            }
            _ => None,
        };
        self.items.extend(item);
        Ok(())
    }

    /// A `message` entry; not a turn that was tried again, or that failed before it said anything.
    fn stored(&self, ix: EntryIx) -> io::Result<Option<Item>> {
        let role = self.session.entry(ix).role;
        if !matches!(role, Role::Assistant | Role::ToolResult | Role::Custom | Role::Missing) {
            return Ok(Some((Message { entry: ix, body: Body::Stored }, Facts::Other)));
        }
        let line = self.bodies.line(ix)?;
        let Some(message) = Raw::checked(line.trim_ascii()).get("message") else { return Ok(None) };
        let body = message::loaded(message, role);
        let facts = Facts::of(if let Body::Built(json) = &body { Raw::checked(json) } else { message });
        Ok(facts.map(|facts| (Message { entry: ix, body }, facts)))
    }
}

/// The history as OpenAI's compaction gave it back; a provider replays it in place of what was kept.
fn remote_payload(preserved: Raw) -> Option<Vec<u8>> {
    let remote = preserved.get("openaiRemoteCompaction").filter(|remote| remote.is_object())?;
    let provider = remote.get_text("provider").filter(|provider| !provider.is_empty())?;
    let items = remote.get("replacementHistory").filter(|history| history.is_array())?;
    items.items().all(Raw::is_object).then(|| {
        Object::new()
            .str("type", "openaiResponsesHistory")
            .text("provider", &provider)
            .raw("items", items)
            .finish()
    })
}

/// The summary as Anthropic's compaction gave it back.
fn anthropic_payload(preserved: Raw) -> Option<Vec<u8>> {
    let native = preserved.get("anthropicCompaction").filter(|native| native.is_object())?;
    let text = |key| native.get_text(key).filter(|text| !text.is_empty());
    let object = Object::new()
        .str("type", "anthropicCompaction")
        .text("provider", &text("provider")?)
        .text("content", &text("content")?)
        .with(text("encryptedContent"), |object, content| object.text("encryptedContent", &content))
        .with(text("filesText"), |object, files| object.text("filesText", &files));
    Some(object.finish())
}
