//! Builds the context of oh-my-pi's model at the end of a path (`buildSessionContext`, without its
//! display transcript).
//!
//! ```text
//! notes · summary · [last request] · kept ── compaction ── after it
//! ```
//!
//! If a reset follows the last compaction, only what follows the reset remains. Then calls without
//! results and failed turns are removed (`repair`).

use super::message::CompactionParts;
use super::repair::{ContextItem, MessageKind, remove_unsendable};
use super::{archive, message, native, notes, settings, tokens};
use crate::session::content;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Body, Context, ContextMessage, EntryReader};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

/// Builds what the model sees at the end of `path`, the entries from a root to the leaf. An empty
/// path is the empty conversation.
pub fn build_context(path: &[EntryIx], reader: &EntryReader) -> io::Result<Context> {
    let settings = settings::read_settings(path, reader)?;
    let mut builder = ContextBuilder {
        path,
        reader,
        items: Vec::new(),
    };
    // The agent places the model's notebook before the summary and all other messages.
    if let Some(notes) = notes::notes_message(path, reader)? {
        builder.push_item(notes, MessageKind::Other);
    }
    builder.append_context()?;
    Ok(Context {
        messages: remove_unsendable(builder.items, reader)?,
        settings,
    })
}

/// Returns the ancestors of a compaction (the last entry of `path`) that are still used, by
/// contexts below the compaction or by the next compaction:
///
/// - the entries that the compaction keeps, or that a provider replays;
/// - the entries that determine the settings;
/// - the turn (assistant message) with the last count of tokens by a provider;
/// - the last request of the user, which some compactions repeat after their summary.
///
/// An entry that is used for several reasons may be listed several times.
pub fn ancestors_in_use(path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<EntryIx>> {
    let Some((&compaction, above)) = path.split_last() else {
        return Ok(Vec::new());
    };
    let line = reader.read_line(compaction)?;
    let line = Raw::from_checked(line.trim_ascii());
    let builder = ContextBuilder {
        path,
        reader,
        items: Vec::new(),
    };

    // All entries from the first that the compaction names. The compaction may also name itself,
    // whose index on the path is `above.len()`, or no entry of the path: then it keeps none.
    let mut first_used = above.len();
    for key in ["firstKeptEntryId", "providerReplayThroughEntryId"] {
        if let Some(path_index) = builder.index_of_id(line.get_text(key)) {
            first_used = first_used.min(path_index);
        }
    }
    let mut used = above[first_used..].to_vec();

    used.extend(settings::settings_entries(above, reader)?);
    if let Some(count) = tokens::find_last_count(above, reader)? {
        used.push(count.turn);
    }
    let reset = reader
        .session()
        .last_index_of_kind(above, Kind::ResetBoundary);
    if let Some(request) = builder.find_last_request(above.len(), reset)? {
        used.push(path[request]);
    }
    Ok(used)
}

/// Collects the messages of a context. In its methods, an index is that of an entry on the path.
struct ContextBuilder<'a> {
    path: &'a [EntryIx],
    reader: &'a EntryReader<'a>,
    /// The messages so far.
    items: Vec<ContextItem>,
}

impl ContextBuilder<'_> {
    /// Adds the messages of the path that are in effect: those after the last reset, with which the
    /// user clears the context. If a compaction follows the reset,
    /// [`append_compacted`](Self::append_compacted) decides.
    fn append_context(&mut self) -> io::Result<()> {
        let session = self.reader.session();
        let reset = session.last_index_of_kind(self.path, Kind::ResetBoundary);
        let compaction = session.last_index_of_kind(self.path, Kind::Compaction);
        if let Some(reset) = reset
            && compaction.is_none_or(|compaction| reset > compaction)
        {
            return self.append_entries(&self.path[reset + 1..]);
        }
        match compaction {
            Some(compaction) => self.append_compacted(compaction, reset),
            None => self.append_entries(self.path),
        }
    }

    /// Adds the messages in effect after a compaction: its summary, the last request if it is a
    /// rollover (a compaction that repeats the request), the messages of the entries that it keeps,
    /// and those after it. `reset` is the index of the last reset, which precedes the compaction.
    fn append_compacted(
        &mut self,
        compaction_index: usize,
        reset: Option<usize>,
    ) -> io::Result<()> {
        let ix = self.path[compaction_index];
        let bytes = self.reader.with_entry(ix, |entry| entry.bytes().to_vec())?;
        let line = Raw::from_checked(&bytes);
        let preserved = line.get("preserveData").unwrap_or(Raw::NULL);
        let openai_payload = build_openai_payload(preserved);
        let anthropic_payload = native::anthropic_payload(preserved);

        // OpenAI's payload, and a native snapshot of Anthropic, replay the history up to an entry
        // that the compaction names, so only what follows that entry is kept. Any other compaction
        // names the first entry that it keeps.
        let first_kept = self.index_of_id(line.get_text("firstKeptEntryId"));
        let first_not_replayed = self
            .index_of_id(line.get_text("providerReplayThroughEntryId"))
            .map(|last_replayed| last_replayed + 1);
        let is_snapshot = anthropic_payload.is_some() && native::last_covered_id(line).is_some();
        let kept_from = if openai_payload.is_some() || is_snapshot {
            first_not_replayed
        } else {
            first_kept
        };

        // As in the agent, a payload of OpenAI does not matter here.
        let rewrite_ms = if anthropic_payload.is_none() {
            None
        } else if is_snapshot {
            self.find_rewrite_ms(first_not_replayed, compaction_index)
        } else {
            self.find_rewrite_ms(first_kept, compaction_index)
        };

        let entry = self.reader.session().entry(ix);
        let payload = openai_payload.or(anthropic_payload);
        let blocks = archive::archive_blocks(preserved);
        let parts = CompactionParts {
            provider_payload: payload.as_deref(),
            blocks: &blocks,
            rewrite_ms,
        };
        let summary = message::build_compaction_message(line, entry, &parts);
        self.push_built_message(ix, summary, MessageKind::Other);

        let details = line.get("details").unwrap_or(Raw::NULL);
        let is_rollover = content::member_is(details, "kind", "experimental-context-rollover");
        if is_rollover {
            self.repeat_request(compaction_index, reset, first_kept)?;
        }

        // The named entry may be the compaction itself, or come after it.
        if let Some(kept_from) = kept_from
            && kept_from <= compaction_index
        {
            self.append_entries(&self.path[kept_from..compaction_index])?;
        }
        self.append_entries(&self.path[compaction_index + 1..])
    }

    /// Adds the newest user request before a compaction that keeps only later entries (a rollover),
    /// so that the model knows what it is working on. Requests before the last reset are no longer
    /// in effect.
    ///
    /// Adds nothing if the request is at or after `first_kept`, the first entry that the compaction
    /// keeps: then it is in the context anyway. Without `first_kept`, adds nothing either, as in
    /// the agent.
    fn repeat_request(
        &mut self,
        rollover_index: usize,
        reset: Option<usize>,
        first_kept: Option<usize>,
    ) -> io::Result<()> {
        let Some(first_kept) = first_kept else {
            return Ok(());
        };
        let Some(request) = self.find_last_request(rollover_index, reset)? else {
            return Ok(());
        };
        if request < first_kept {
            self.append_entry(self.path[request])?;
        }
        Ok(())
    }

    /// Returns the index of the entry with an id; `None` if there is no id, or no entry on the path
    /// has it.
    fn index_of_id(&self, id: Option<Text>) -> Option<usize> {
        self.reader.session().index_on_path(self.path, &id?)
    }

    /// Returns the time at which a compaction counts as having rewritten the history, in
    /// milliseconds since 1970: one millisecond before the first message after the summary.
    ///
    /// A model must accept the signatures in the messages that a compaction keeps. They are older
    /// than the compaction, so its own time would be too late.
    ///
    /// `kept_from` is the first entry that is kept. If no entry before the compaction is kept, the
    /// entry after it counts. `None` if there is no such entry, or its time is not valid.
    fn find_rewrite_ms(&self, kept_from: Option<usize>, compaction_index: usize) -> Option<f64> {
        let first_after_summary = match kept_from {
            Some(kept_from) if kept_from < compaction_index => kept_from,
            _ => compaction_index + 1,
        };
        let ix = *self.path.get(first_after_summary)?;
        let ms = self.reader.session().entry(ix).js_time();
        if ms.is_finite() { Some(ms - 1.0) } else { None }
    }

    /// Returns the index of the newest user request before `end` and after the last reset.
    fn find_last_request(&self, end: usize, reset: Option<usize>) -> io::Result<Option<usize>> {
        let start = reset.map_or(0, |reset| reset + 1);
        for index in (start..end).rev() {
            if self.is_user_request(self.path[index])? {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Whether an entry is a user request. Its line is read only if the type and the role leave
    /// that open: an extension may have written the message for the user.
    fn is_user_request(&self, ix: EntryIx) -> io::Result<bool> {
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

    fn append_entries(&mut self, entries: &[EntryIx]) -> io::Result<()> {
        for &ix in entries {
            self.append_entry(ix)?;
        }
        Ok(())
    }

    /// Adds the message of an entry, if it has one.
    fn append_entry(&mut self, ix: EntryIx) -> io::Result<()> {
        match self.reader.session().entry(ix).kind {
            Kind::Message => self.append_message(ix),
            Kind::CustomMessage => self.append_custom(ix),
            Kind::BranchSummary => self.append_branch_summary(ix),
            _ => Ok(()),
        }
    }

    /// Adds the message of a `message` entry, if it has one.
    ///
    /// The line is read only if something depends on it: of which [`MessageKind`] the message is,
    /// whether it is loaded as stored, or whether there is a message at all.
    fn append_message(&mut self, ix: EntryIx) -> io::Result<()> {
        let role = self.reader.session().entry(ix).role;
        // `MessageKind::read` returns `Other` for all other roles, and `load_body` returns `Stored`
        // for them. Without a role, the message itself may be missing.
        let needs_line = matches!(
            role,
            Role::Assistant | Role::ToolResult | Role::Custom | Role::Missing
        );
        if !needs_line {
            let message = ContextMessage {
                entry: ix,
                body: Body::Stored,
            };
            self.push_item(message, MessageKind::Other);
            return Ok(());
        }

        let item = self.reader.with_entry(ix, |line| {
            let stored = line.get("message")?;
            // The kind is read from the message as the agent loads it, which may have lost blocks.
            let body = message::load_body(stored, role);
            let json = match &body {
                Body::Built(json) => Raw::from_checked(json),
                Body::Stored => stored,
            };
            let kind = MessageKind::read(json);
            let message = ContextMessage { entry: ix, body };
            Some(ContextItem { message, kind })
        })?;
        self.items.extend(item);
        Ok(())
    }

    /// Adds the message of a `custom_message` entry, unless its content cannot be sent, or it was
    /// transient: a note for one request only.
    fn append_custom(&mut self, ix: EntryIx) -> io::Result<()> {
        let entry = self.reader.session().entry(ix);
        let json = self.reader.with_entry(ix, |line| {
            if message::is_transient(line) {
                return None;
            }
            message::build_custom_message(line, entry)
        })?;
        if let Some(json) = json {
            let kind = MessageKind::read(Raw::from_checked(&json));
            self.push_built_message(ix, json, kind);
        }
        Ok(())
    }

    /// Adds the message of a `branch_summary` entry, unless its summary is empty.
    fn append_branch_summary(&mut self, ix: EntryIx) -> io::Result<()> {
        let entry = self.reader.session().entry(ix);
        let body = self.reader.with_entry(ix, |line| {
            if !content::has_truthy(line, "summary") {
                return None;
            }
            message::body_for_summary(line, entry)
        })?;
        if let Some(body) = body {
            self.push_item(ContextMessage { entry: ix, body }, MessageKind::Other);
        }
        Ok(())
    }

    /// Adds a message that was built from the entry.
    fn push_built_message(&mut self, ix: EntryIx, json: Vec<u8>, kind: MessageKind) {
        let message = ContextMessage {
            entry: ix,
            body: Body::from_json(json),
        };
        self.push_item(message, kind);
    }

    fn push_item(&mut self, message: ContextMessage, kind: MessageKind) {
        self.items.push(ContextItem { message, kind });
    }
}

/// Builds the `providerPayload` of a compaction whose history OpenAI returned. OpenAI replays this
/// history in place of the messages before the compaction. `preserved` is the `preserveData` of the
/// compaction; `None` if it has no complete history.
fn build_openai_payload(preserved: Raw) -> Option<Vec<u8>> {
    let remote = preserved.get("openaiRemoteCompaction")?;
    if !remote.is_object() {
        return None;
    }
    let provider = remote.get_text("provider")?;
    let history = remote.get("replacementHistory")?;
    if provider.is_empty() || !history.is_array() || !history.items().all(Raw::is_object) {
        return None;
    }

    let payload = Object::new()
        .str("type", "openaiResponsesHistory")
        .text("provider", &provider)
        .raw("items", history);
    Some(payload.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::{assistant, call, chain, compacted, result, says, user};

    /// Returns the messages of the context, each with its entry and its text.
    fn context(entries: &[String]) -> Vec<String> {
        let made = chain(entries);
        let context = build_context(&made.path(), &made.reader()).unwrap();
        let shown = |json: &String| {
            let json = Raw::from_checked(json.as_bytes());
            let text = content::join_text(json.get("content").or(json.get("summary")), "");
            format!("{} {text}", json.get_text("role").unwrap())
        };
        made.json(&context.messages).iter().map(shown).collect()
    }

    fn setting(entries: &[String], name: &str) -> Option<String> {
        let made = chain(entries);
        let context = build_context(&made.path(), &made.reader()).unwrap();
        let value = context.settings.into_iter().find(|(key, _)| *key == name);
        value.map(|(_, json)| String::from_utf8(json).unwrap())
    }

    fn entry(members: &str) -> String {
        members.to_owned()
    }

    #[test]
    fn the_empty_conversation_has_settings() {
        let context = build_context(&[], &chain(&[]).reader()).unwrap();
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
    fn context_shows_what_a_compaction_keeps() {
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
                .json(
                    &build_context(&made.path(), &made.reader())
                        .unwrap()
                        .messages,
                )
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
        let context = build_context(&made.path()[..2], &made.reader()).unwrap();
        assert_eq!(
            made.json(&context.messages)[0],
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"toolCall","id":"c"}],"x":1}"#
        );
        let made = chain(&[call("read", "p")]);
        assert!(
            build_context(&made.path(), &made.reader())
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
        let context = build_context(&made.path(), &made.reader()).unwrap();
        let summary = made.json(&context.messages).remove(0);
        let blocks = Raw::from_checked(summary.as_bytes()).get("blocks").unwrap();
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
    fn context_drops_copilot_signatures_and_provider_payload() {
        let turn = says(
            "assistant",
            r#""content":[{"type":"thinking","thinking":"t","thinkingSignature":"s"}],"provider":"github-copilot","providerPayload":{"type":"openaiResponsesHistory"}"#,
        );
        let made = chain(&[turn]);
        let context = build_context(&made.path(), &made.reader()).unwrap();
        assert_eq!(
            made.json(&context.messages),
            [
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t"}],"provider":"github-copilot"}"#
            ]
        );
    }
}
