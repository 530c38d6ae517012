//! A listed session as JSON.

use super::Args;
use super::read::read_first_message;
use crate::ops::list::{ListRow, ListedSession};
use crate::session::usage::built_in_prices_date;
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_json::write::{Object, text_array};
use std::path::Path;

/// Returns a session as JSON. `repository` is present only with `--repo`; `owner` only for the
/// session of a sub-agent.
///
/// `firstMessage` is the whole message (see [`first_message`]).
pub(super) fn session_json(
    session: &ListedSession,
    row: &ListRow,
    is_last: bool,
    args: &Args,
) -> Vec<u8> {
    let agent = match session.other_agent {
        Some(name) => name,
        None => session.agent.agent().constants().name,
    };
    let mut object = Object::new()
        .str("path", &session.path.to_string_lossy())
        .text("id", &session.id)
        .str("agent", agent)
        .number("version", session.version)
        .text_or_null("name", session.name.as_ref())
        .text("cwd", &session.cwd)
        .text_or_null("parentSessionPath", session.parent.as_ref())
        .number("bytes", session.bytes as f64)
        .str_or_null("created", session.created_ms.map(iso_string).as_deref())
        .str("modified", &iso_string(session.modified_ms))
        .number("messageCount", f64::from(session.message_count))
        .number("userMessages", f64::from(session.user_message_count))
        .number("entryCount", f64::from(session.entry_count))
        .number("branchCount", f64::from(session.branch_count))
        .text("firstMessage", &first_message(session))
        .json("models", &text_array(session.models.iter()))
        .json("tokens", &session.usage.tokens_json())
        .number("cost", session.usage.cost);
    object = session
        .usage
        .with_estimate(object, Some(built_in_prices_date()))
        .number("unpriced", session.usage.unpriced_count as f64)
        .number_or_null("contextTokens", session.context_tokens);
    if let Some(estimate) = session.context_estimate {
        object = object.number("contextEstimate", estimate);
    }
    object = object.json("labels", &text_array(session.labels.iter()));
    if let Some(owner) = &session.owner {
        object = object.str("owner", &owner.to_string_lossy());
    }
    object = object
        .number("depth", row.depth as f64)
        .bool("last", is_last)
        .bool("running", session.is_running);
    if args.repo {
        // `null` if the directory of the session is in no repository.
        let repository = session.repository.as_deref().map(Path::to_string_lossy);
        object = object.str_or_null("repository", repository.as_deref());
    }
    object.finish()
}

/// Returns the whole first message of a session; empty if it has none. The list keeps only its
/// start, so it is read again from the file. If the file has changed meanwhile, this is the start.
fn first_message(session: &ListedSession) -> Text<'static> {
    if let Some(whole_message) = read_first_message(session) {
        return whole_message;
    }
    match &session.first_question {
        Some(question) => question.text.clone(),
        None => Text::default(),
    }
}
