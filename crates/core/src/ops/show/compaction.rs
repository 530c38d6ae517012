//! Determines the effects of a compaction: the size of the next request, and the user messages that
//! it replaced.

use crate::format::{format_count, format_tokens};
use crate::ops::list_ids;
use crate::session::conversation::Conversation;
use crate::session::entry::{EntryIx, Role};
use crate::session::read::entry_reader::EntryReader;
use crate::session::usage::Usage;
use foldhash::HashSet;
use std::io;

/// Returns facts about a compaction that are not in its entry, each as a phrase: how many tokens
/// the next request had, and which messages of the user only the summary has now.
pub fn compaction_facts(reader: &EntryReader, compaction: EntryIx) -> io::Result<Vec<String>> {
    let mut facts = Vec::new();
    if let Some(tokens) = next_prompt_tokens(reader, compaction)? {
        let tokens = format_tokens(tokens);
        facts.push(format!("{tokens} tokens in the next request"));
    }
    let replaced = replaced_user_messages(reader, compaction)?;
    if !replaced.is_empty() {
        let messages = format_count(replaced.len(), "user message", "user messages");
        let ids = list_ids(reader.session(), &replaced);
        facts.push(format!("{messages} only in the summary: {ids}"));
    }
    Ok(facts)
}

/// Returns the size, in tokens, of the prompt of the next request after an entry. Requests whose
/// prompts the provider did not count are skipped. `None` if no other request follows.
fn next_prompt_tokens(reader: &EntryReader, ix: EntryIx) -> io::Result<Option<f64>> {
    let session = reader.session();
    let conversation = Conversation::new(session);
    for next in conversation.descendants(ix) {
        if !session.is_message(next, Role::Assistant) {
            continue;
        }
        let usage =
            reader.with_message(next, |message| message.get("usage").and_then(Usage::parse))?;
        let Some(usage) = usage else {
            continue;
        };
        // Providers count cached input separately from other input. A request that failed has no
        // tokens.
        let prompt = usage.input + usage.cache_read + usage.cache_write;
        if prompt > 0.0 {
            return Ok(Some(prompt));
        }
    }
    Ok(None)
}

/// Returns the user messages above a compaction that the model no longer sees, because the
/// compaction, or one before it, has replaced them by its summary.
fn replaced_user_messages(reader: &EntryReader, compaction: EntryIx) -> io::Result<Vec<EntryIx>> {
    let session = reader.session();
    let mut path = session.path(Some(compaction));
    let context = session.agent().build_context(&path, reader)?;
    let kept: HashSet<EntryIx> = context
        .messages
        .iter()
        .map(|message| message.entry)
        .collect();
    path.retain(|&ix| session.is_message(ix, Role::User) && !kept.contains(&ix));
    Ok(path)
}
