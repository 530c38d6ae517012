//! The context of oh-my-pi's model at the end of a path: `buildSessionContext`, not its display
//! transcript.
//!
//! ```text
//! notes · summary · [last request] · kept ── compaction ── after it
//! ```
//!
//! A reset after the last compaction leaves only what follows it. Then calls without results and
//! failed turns are removed (`repair`).

use super::repair::{MessageKind, repaired};
use super::{archive, message, native, notes, settings, tokens};
use crate::session::content;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Body, Context, EntryReader, Message};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

/// Builds the context for the leaf at the end of `path` (root first; empty for the empty
/// conversation).
pub fn build(path: &[EntryIx], reader: &EntryReader) -> io::Result<Context> {
    let settings = settings::read(path, reader)?;
    let mut emitter = Emitter {
        path,
        reader,
        items: Vec::new(),
    };
    if let Some(notes) = notes::message(path, reader)? {
        emitter.items.push((notes, MessageKind::Other));
    }
    emitter.emit()?;
    Ok(Context {
        messages: repaired(emitter.items, reader)?,
        settings,
    })
}

/// Returns the entries above a compaction, the last of `path`, that contexts below it and the next
/// compaction use: what it keeps or a provider replays, the settings, the last count of a provider,
/// and the request of a rollover.
pub fn used_above(path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<EntryIx>> {
    let Some((&compaction, above)) = path.split_last() else {
        return Ok(Vec::new());
    };
    let line = reader.line(compaction)?;
    let line = Raw::checked(line.trim_ascii());
    let emitter = Emitter {
        path,
        reader,
        items: Vec::new(),
    };
    let named = ["firstKeptEntryId", "providerReplayThroughEntryId"];
    let first = named
        .into_iter()
        .filter_map(|key| emitter.place(line.get_text(key)))
        .min();
    let mut used = above[first.unwrap_or(above.len()).min(above.len())..].to_vec();
    used.extend(settings::used(above, reader)?);
    used.extend(tokens::last_counted(above, reader)?.map(|(ix, _)| ix));
    let reset = reader.session().last_on(above, Kind::ResetBoundary);
    used.extend(
        emitter
            .request(above.len(), reset)?
            .map(|place| path[place]),
    );
    Ok(used)
}

struct Emitter<'a> {
    path: &'a [EntryIx],
    reader: &'a EntryReader<'a>,
    items: Vec<(Message, MessageKind)>,
}

impl Emitter<'_> {
    fn emit(&mut self) -> io::Result<()> {
        let last = |kind| self.reader.session().last_on(self.path, kind);
        match (last(Kind::ResetBoundary), last(Kind::Compaction)) {
            (Some(reset), compaction) if compaction.is_none_or(|at| reset > at) => {
                self.append_all(&self.path[reset + 1..])
            }
            (reset, Some(at)) => self.compacted(at, reset),
            _ => self.append_all(self.path),
        }
    }

    /// Adds the summary of the compaction at `at`, the entries it kept, and those that follow it.
    fn compacted(&mut self, at: usize, reset: Option<usize>) -> io::Result<()> {
        let ix = self.path[at];
        let line = self.reader.line(ix)?;
        let line = Raw::checked(line.trim_ascii());
        let preserved = line.get("preserveData").unwrap_or(Raw::NULL);
        let first_kept = self.place(line.get_text("firstKeptEntryId"));
        let remote = remote_payload(preserved);
        let anthropic = native::payload(preserved);
        let replayed = self
            .place(line.get_text("providerReplayThroughEntryId"))
            .map(|through| through + 1);
        let is_snapshot = anthropic.is_some() && native::through(line).is_some();
        let retained = if is_snapshot { replayed } else { first_kept };
        // A model must accept the signatures in what is kept: they are from before the summary was
        // written.
        let rewritten = anthropic
            .is_some()
            .then(|| self.before_retained(retained, at))
            .flatten();
        let kept_is_replayed = remote.is_some();
        let (payload, blocks) = (remote.or(anthropic), archive::blocks(preserved));
        let entry = self.reader.session().entry(ix);
        let summary =
            message::compaction_summary(line, entry, payload.as_deref(), &blocks, rewritten);
        self.items.push((
            Message {
                entry: ix,
                body: Body::built(summary),
            },
            MessageKind::Other,
        ));
        if content::is(
            line.get("details").unwrap_or(Raw::NULL),
            "kind",
            "experimental-context-rollover",
        ) {
            // It gets the newest user request before it, unless it keeps that request.
            let request = self.request(at, reset)?;
            if let Some(place) =
                request.filter(|&place| first_kept.is_some_and(|kept| place < kept))
            {
                self.append(self.path[place])?;
            }
        }
        let kept = if kept_is_replayed { replayed } else { retained };
        if let Some(kept) = kept.filter(|&kept| kept <= at) {
            self.append_all(&self.path[kept..at])?;
        }
        self.append_all(&self.path[at + 1..])
    }

    /// Returns the index of an id on the path.
    fn place(&self, id: Option<Text>) -> Option<usize> {
        self.reader.session().place_on(self.path, &id?)
    }

    /// Returns a time one millisecond before the first entry that the compaction at `at` keeps or,
    /// if it keeps none, before the next entry.
    fn before_retained(&self, retained: Option<usize>, at: usize) -> Option<f64> {
        let next = retained.filter(|&kept| kept < at).unwrap_or(at + 1);
        let time = self.reader.session().entry(*self.path.get(next)?).js_time();
        time.is_finite().then_some(time - 1.0)
    }

    /// Returns the index of the newest user request before an index.
    fn request(&self, at: usize, reset: Option<usize>) -> io::Result<Option<usize>> {
        let from = reset.map_or(0, |reset| reset + 1);
        for place in (from..at).rev() {
            if self.is_request(self.path[place])? {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    fn is_request(&self, ix: EntryIx) -> io::Result<bool> {
        let entry = self.reader.session().entry(ix);
        match (entry.kind, entry.role) {
            (Kind::Message, Role::User) => Ok(true),
            (Kind::Message, Role::Custom) | (Kind::CustomMessage, _) => {
                self.reader.with_entry(ix, |line| {
                    message::is_user_request(line, entry.kind, entry.role)
                })
            }
            _ => Ok(false),
        }
    }

    fn append_all(&mut self, entries: &[EntryIx]) -> io::Result<()> {
        entries.iter().try_for_each(|&ix| self.append(ix))
    }

    /// Adds the message of an entry, if it has one.
    fn append(&mut self, ix: EntryIx) -> io::Result<()> {
        let entry = self.reader.session().entry(ix);
        let item = match entry.kind {
            Kind::Message => self.stored(ix)?,
            Kind::CustomMessage => self.reader.with_entry(ix, |line| {
                let json = message::custom(line, entry).filter(|_| !message::is_transient(line))?;
                let kind = MessageKind::of(Raw::checked(&json))?;
                Some((
                    Message {
                        entry: ix,
                        body: Body::built(json),
                    },
                    kind,
                ))
            })?,
            Kind::BranchSummary => self.reader.with_entry(ix, |line| {
                let body =
                    message::plain(line, entry).filter(|_| content::truthy(line, "summary"))?;
                Some((Message { entry: ix, body }, MessageKind::Other))
            })?,
            _ => None,
        };
        self.items.extend(item);
        Ok(())
    }

    /// Returns the message of a `message` entry, unless its turn was retried or failed before any
    /// output.
    fn stored(&self, ix: EntryIx) -> io::Result<Option<(Message, MessageKind)>> {
        let role = self.reader.session().entry(ix).role;
        if !matches!(
            role,
            Role::Assistant | Role::ToolResult | Role::Custom | Role::Missing
        ) {
            return Ok(Some((
                Message {
                    entry: ix,
                    body: Body::Stored,
                },
                MessageKind::Other,
            )));
        }
        self.reader.with_entry(ix, |line| {
            let message = line.get("message")?;
            let body = message::loaded(message, role);
            let kind = MessageKind::of(if let Body::Built(json) = &body {
                Raw::checked(json)
            } else {
                message
            });
            Some((Message { entry: ix, body }, kind?))
        })
    }
}

/// Returns the history as returned by OpenAI's compaction; a provider replays it in place of what
/// was kept.
fn remote_payload(preserved: Raw) -> Option<Vec<u8>> {
    let remote = preserved
        .get("openaiRemoteCompaction")
        .filter(|remote| remote.is_object())?;
    let provider = remote
        .get_text("provider")
        .filter(|provider| !provider.is_empty())?;
    let items = remote
        .get("replacementHistory")
        .filter(|history| history.is_array())?;
    items.items().all(Raw::is_object).then(|| {
        Object::new()
            .str("type", "openaiResponsesHistory")
            .text("provider", &provider)
            .raw("items", items)
            .finish()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::{assistant, call, chain, compacted, result, says, user};

    /// Returns the messages of the context, each with its entry and its text.
    fn context(entries: &[String]) -> Vec<String> {
        let made = chain(entries);
        let context = build(&made.path(), &made.reader()).unwrap();
        let shown = |json: &String| {
            let json = Raw::checked(json.as_bytes());
            let text = content::joined_text(json.get("content").or(json.get("summary")), "");
            format!("{} {text}", json.get_text("role").unwrap())
        };
        made.json(&context.messages).iter().map(shown).collect()
    }

    fn setting(entries: &[String], name: &str) -> Option<String> {
        let made = chain(entries);
        let context = build(&made.path(), &made.reader()).unwrap();
        let value = context.settings.into_iter().find(|(key, _)| *key == name);
        value.map(|(_, json)| String::from_utf8(json).unwrap())
    }

    fn entry(members: &str) -> String {
        members.to_owned()
    }

    #[test]
    fn the_empty_conversation_has_settings() {
        let context = build(&[], &chain(&[]).reader()).unwrap();
        assert!(context.messages.is_empty());
        let keys = context.settings.iter().map(|(key, _)| *key);
        assert!(keys.eq([
            "thinkingLevel",
            "model",
            "models",
            "mode",
            "injectedTtsrRules"
        ]));
    }

    #[test]
    fn the_last_of_each_setting_counts() {
        let entries = [
            assistant("a"),
            entry(r#""type":"model_change","model":"x/y","role":"smol""#),
            entry(r#""type":"thinking_level_change","thinkingLevel":"high","configured":"auto""#),
            entry(r#""type":"ttsr_injection","injectedRules":["r","s","r"]"#),
            entry(r#""type":"service_tier_change","serviceTier":"claude-only""#),
            entry(r#""type":"mode_change","mode":"plan","data":{"p":1}"#),
            assistant("b"),
        ];
        for (name, wanted) in [
            ("models", r#"{"default":"p/m","smol":"x/y"}"#),
            ("model", r#""p/m""#),
            ("thinkingLevel", r#""high""#),
            ("configuredThinkingLevel", r#""auto""#),
            ("injectedTtsrRules", r#"["r","s"]"#),
            ("serviceTier", r#"{"anthropic":"priority"}"#),
            ("modeData", r#"{"p":1}"#),
        ] {
            assert_eq!(setting(&entries, name).as_deref(), Some(wanted));
        }
        // A chosen model is not guessed again.
        let chosen = entry(r#""type":"model_change","model":"x/y""#);
        assert_eq!(
            setting(&[assistant("a"), chosen, assistant("b")], "model").unwrap(),
            r#""x/y""#
        );
        assert_eq!(setting(&[user("a")], "model").unwrap(), "null");
    }

    #[test]
    fn a_reset_behind_the_last_compaction_wins() {
        let reset = entry(r#""type":"reset_boundary""#);
        let entries = [
            user("a"),
            compacted("e0", ""),
            user("b"),
            reset.clone(),
            user("c"),
        ];
        assert_eq!(context(&entries), ["user c"]);
        let entries = [user("a"), reset, user("b"), compacted("e0", ""), user("c")];
        assert_eq!(
            context(&entries),
            ["compactionSummary S", "user a", "user b", "user c"]
        );
    }

    #[test]
    fn what_a_compaction_keeps() {
        let remote = r#","preserveData":{"openaiRemoteCompaction":{"provider":"o","replacementHistory":[{}]}}"#;
        let through =
            |id: &str, more: &str| format!(r#","providerReplayThroughEntryId":"{id}"{more}"#);
        for (first_kept, more, kept) in [
            ("e1", "".to_owned(), Some("user b")),
            ("none", "".to_owned(), None),
            (
                "e1",
                r#","details":{"kind":"experimental-context-rollover"}"#.to_owned(),
                Some("user b"),
            ),
            // A provider replays what it compacted.
            ("e0", remote.to_owned(), None),
            ("e0", through("e0", remote), Some("user b")),
            // A native snapshot keeps what follows the last entry that it covers. It keeps nothing
            // if it covers everything, names an entry that is not there, or cannot be replayed.
            ("", through("e0", NATIVE), Some("user b")),
            ("", through("e1", NATIVE), None),
            ("", through("gone", NATIVE), None),
            ("", through("e0", ""), None),
        ] {
            let shown = context(&[
                user("a"),
                user("b"),
                compacted(first_kept, &more),
                user("c"),
            ]);
            let wanted = ["compactionSummary S"]
                .into_iter()
                .chain(kept)
                .chain(["user c"]);
            assert!(wanted.eq(shown.iter()), "{first_kept}{more}: {shown:?}");
        }
        // An older compaction in the kept part contributes nothing.
        let entries = [
            user("a"),
            compacted("e0", ""),
            user("b"),
            compacted("e0", ""),
            user("c"),
        ];
        assert_eq!(
            context(&entries),
            ["compactionSummary S", "user a", "user b", "user c"]
        );
    }

    const NATIVE: &str =
        r#","preserveData":{"anthropicCompaction":{"provider":"anthropic","content":"C"}}"#;

    #[test]
    fn a_native_summary_rewrites_history_before_what_it_keeps() {
        let snapshot = format!(r#","providerReplayThroughEntryId":"e0"{NATIVE}"#);
        for (first_kept, more, rewritten) in [
            ("e2", NATIVE, 1767225600001_u64),
            ("", &snapshot, 1767225600000),
        ] {
            let path = [user("a"), user("b"), user("c"), compacted(first_kept, more)];
            let made = chain(&path);
            let summary = made
                .json(&build(&made.path(), &made.reader()).unwrap().messages)
                .remove(0);
            let payload = r#""providerPayload":{"type":"anthropicCompaction","provider":"anthropic","content":"C"}"#;
            assert!(summary.contains(payload), "{summary}");
            let times = format!(r#""historyRewriteAt":{rewritten},"timestamp":1767225600003}}"#);
            assert!(summary.ends_with(&times), "{summary}");
        }
    }

    #[test]
    fn a_rollover_tells_the_last_request_again() {
        let rollover = r#","details":{"kind":"experimental-context-rollover"}"#;
        let entries = [
            user("a"),
            user("b"),
            assistant("c"),
            compacted("e2", rollover),
            user("d"),
        ];
        assert_eq!(
            context(&entries),
            ["compactionSummary S", "user b", "assistant c", "user d"]
        );
    }

    #[test]
    fn turns_that_failed_are_gone() {
        let turn = |more: &str| says("assistant", more);
        let entries = [
            user("a"),
            turn(
                r#""content":[{"type":"text","text":"x"}],"stopReason":"stop","retryRecovery":{"status":"recovered"}"#,
            ),
            turn(r#""content":[{"type":"text","text":" "}],"stopReason":"error""#),
            turn(
                r#""content":[{"type":"toolCall","id":"c"},{"type":"text","text":"y"}],"stopReason":"aborted""#,
            ),
            result("r"),
            turn(r#""content":[{"type":"thinking","thinking":"t"}],"stopReason":"aborted""#),
            entry(r#""type":"custom_message","customType":"interrupted-thinking","content":"n""#),
            entry(r#""type":"custom_message","customType":"prewalk-plan","content":"p""#),
        ];
        assert_eq!(context(&entries), ["user a", "assistant ", "custom n"]);
    }

    #[test]
    fn calls_without_results_are_stripped() {
        let content = r#"[{"type":"thinking","thinking":"t","thinkingSignature":"s"},{"type":"redactedThinking","data":"d"},{"type":"toolCall","id":"lost"},{"type":"toolCall","id":"c"}]"#;
        let made = chain(&[
            says("assistant", &format!(r#""content":{content},"x":1"#)),
            result("r"),
            call("read", "p"),
        ]);
        let context = build(&made.path()[..2], &made.reader()).unwrap();
        assert_eq!(
            made.json(&context.messages)[0],
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"toolCall","id":"c"}],"x":1}"#
        );
        let made = chain(&[call("read", "p")]);
        assert!(
            build(&made.path(), &made.reader())
                .unwrap()
                .messages
                .is_empty()
        );
    }

    #[test]
    fn the_notebook_comes_first() {
        let notes = |text: &str| {
            let data = format!(r#"{{"version":1,"text":"{text}"}}"#);
            format!(r#""type":"custom","customType":"experimental_context_notes","data":{data}"#)
        };
        let shown = context(&[user("a"), notes("n1"), notes("n2")]);
        assert!(
            shown[0].contains("Latest notebook revision:\nn2\n</experimental-context-notes>"),
            "{shown:?}"
        );
        assert_eq!(shown[1..], ["user a"]);
        assert_eq!(
            context(&[notes("n"), entry(r#""type":"reset_boundary""#), user("a")]),
            ["user a"]
        );
        assert_eq!(context(&[notes("n"), notes(""), user("a")]), ["user a"]);
    }

    #[test]
    fn an_archive_is_given_back_in_blocks() {
        let frame = |data: &str| {
            format!(
                r#"{{"data":"{data}","mimeType":"image/png","cols":1,"rows":1,"chars":1,"font":"f"}}"#
            )
        };
        let archive = format!(
            r#","preserveData":{{"snapcompact":{{"frames":[{},{}],"textHead":"old█text","textTail":"new"}}}}"#,
            frame("blob:sha256:00"),
            frame("AAAA")
        );
        let made = chain(&[user("a"), compacted("none", &archive)]);
        let context = build(&made.path(), &made.reader()).unwrap();
        let summary = made.json(&context.messages).remove(0);
        let blocks = Raw::checked(summary.as_bytes()).get("blocks").unwrap();
        let texts: Vec<_> = blocks
            .items()
            .map(|block| block.get_text("text").unwrap_or_default().to_string())
            .collect();
        assert_eq!(
            texts,
            [
                "old\ntext\n-------------- imaged middle below\n",
                "-------------- 1 archived image frame unavailable here --------------",
                "",
                "-------------- imaged middle above\nnew",
            ]
        );
    }

    #[test]
    fn what_copilot_bound_to_a_connection_is_gone() {
        let turn = says(
            "assistant",
            r#""content":[{"type":"thinking","thinking":"t","thinkingSignature":"s"}],"provider":"github-copilot","providerPayload":{"type":"openaiResponsesHistory"}"#,
        );
        let made = chain(&[turn]);
        let context = build(&made.path(), &made.reader()).unwrap();
        assert_eq!(
            made.json(&context.messages),
            [
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t"}],"provider":"github-copilot"}"#
            ]
        );
    }
}
