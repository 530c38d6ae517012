//! Formats the title and the cost of a listed session. If many titles have the same start, that
//! start is dropped.

use super::rows::ListRow;
use super::shared_start::{SharedStart, measure_shared_starts};
use super::{ListedSession, read_single};
use crate::format::format_cost;
use crate::format::title::{plain_words, without_envelope};
use crate::load::{LoadError, peek};
use crate::session::Session;
use crate::session::list_stats::Opening;
use crate::session::usage::UsageSums;
use foldhash::HashMap;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::path::Path;

/// The number of bytes at the start of a session that are read for its first message.
const BEGINNING_BYTES: u64 = 64 * 1024;

/// The name of a session, and what its beginning shows.
pub struct Beginning {
    /// The name, wherever in the file it is.
    pub name: Option<Text<'static>>,
    /// The session as if it ended there, with words of the user in its title.
    pub session: ListedSession,
}

impl Beginning {
    /// Returns the name or, without one, the title taken from the messages.
    pub fn title(&self) -> Text<'_> {
        choose_title(self.name.as_ref(), self.session.opening.as_ref())
    }
}

/// Reads the name of a session, and its beginning, but no other entries. `None` if these do not
/// show the title, or cannot be read.
pub fn read_beginning(path: &Path, source: &dyn ReadAt) -> Option<Beginning> {
    let head = peek::head(source).ok()?;
    let name = peek::read_name(&head, source).ok()?;
    let bytes = source
        .read_range(0..source.len().min(BEGINNING_BYTES))
        .ok()?;
    let session = read_single(path, &bytes, 0, None).ok()?;

    session.first_question.as_ref()?;
    let Some(Opening::Words(_)) = session.opening else {
        // Without words of the user, a later message may make the title.
        return None;
    };
    Some(Beginning { name, session })
}

/// Reads the title of one session as a list shows it. Most titles are shown by the beginning of the
/// session, so that it is not loaded.
pub fn read_title(path: &Path, source: &dyn ReadAt) -> Result<String, LoadError> {
    if let Some(beginning) = read_beginning(path, source) {
        return Ok(display_title(
            &beginning.title(),
            beginning.session.message_count,
        ));
    }
    let session = read_single(path, source, 0, None)?;
    Ok(display_title(&session.title(), session.message_count))
}

/// Returns the title of a loaded session as a list shows it. The session must have been loaded with
/// `list_stats`.
pub fn session_title(session: &Session) -> String {
    let list_stats = &session.collected.list_stats;
    let name = session.name();
    let title = choose_title(name.as_ref(), list_stats.opening.as_ref());
    display_title(&title, list_stats.message_count)
}

/// Returns the name or, without one, the title taken from the messages. Empty if there is neither.
pub(super) fn choose_title<'t>(name: Option<&'t Text>, opening: Option<&'t Opening>) -> Text<'t> {
    if let Some(name) = name {
        return name.as_borrowed();
    }
    match opening {
        Some(opening) => opening.text().as_borrowed(),
        None => Text::default(),
    }
}

/// Returns the title trimmed. If it is empty, returns `(no messages)` or `(no text)`, depending on
/// the number of messages.
pub fn display_title(title: &Text, messages: u32) -> String {
    if !title.is_empty() {
        title.to_string_lossy().trim().to_owned()
    } else if messages == 0 {
        "(no messages)".to_owned()
    } else {
        "(no text)".to_owned()
    }
}

/// Formats the cost of a session in dollars: `$1.20`. It begins with `~` if a part is estimated,
/// and ends with `+` if some responses have no price, so that the cost was higher. `None` if no
/// response has a cost.
pub fn display_cost(usage: &UsageSums) -> Option<String> {
    let has_unpriced = usage.unpriced_count > 0;
    // `$0.00+` would be of no use.
    let has_no_price = has_unpriced && usage.cost <= 0.0;
    if !usage.is_recorded() || has_no_price {
        return None;
    }
    let mut cost = format_cost(usage.cost, usage.has_estimate());
    if has_unpriced {
        cost.push('+');
    }
    Some(cost)
}

/// The maximum length in bytes of a line that is read again to get the whole text of its message.
const LONGEST_REREAD: u64 = 1 << 20;

/// The first message of a session whose title is taken from this message.
struct FirstMessage {
    /// The index of the session in the list.
    session: usize,
    text: String,
}

/// Returns new titles for sessions whose title has the same start as many others: `…` and the words
/// after the shared start. Keys are indexes in `list`. Only the sessions in `rows` are shown. They
/// are compared if their titles are taken from their first message.
///
/// The list has only the start of a long first message. If other rows share all of this start,
/// `read_first_message` is called to get the whole text. It may return `None`.
pub fn distinct_titles(
    list: &[ListedSession],
    rows: &[ListRow],
    mut read_first_message: impl FnMut(&ListedSession) -> Option<Text<'static>>,
) -> HashMap<usize, String> {
    let mut messages = collect_first_messages(list, rows);
    let mut starts = find_shared_starts(&messages);

    // If the list has only the start of a text, and all of this start is shared, the texts may
    // differ further on. So the whole text is read, and all are compared once more.
    let mut has_longer_texts = false;
    for (message, start) in messages.iter_mut().zip(&starts) {
        let session = &list[message.session];
        let may_differ_further_on = start.is_whole_text && can_reread_question(session);
        if may_differ_further_on && let Some(text) = read_first_message(session) {
            message.text = without_envelope(&text.to_string_lossy()).to_owned();
            has_longer_texts = true;
        }
    }
    if has_longer_texts {
        starts = find_shared_starts(&messages);
    }

    let mut titles = HashMap::default();
    for (message, start) in messages.iter().zip(&starts) {
        if let Some(title) = title_after_start(&message.text, start) {
            titles.insert(message.session, title);
        }
    }
    titles
}

/// Returns the words of a first message after the start that it shares with others, such as
/// `… Check the mail`. `None` if it shares none, or if nothing follows it.
fn title_after_start(message: &str, shared: &SharedStart) -> Option<String> {
    if shared.length == 0 {
        return None;
    }
    let words = plain_words(&message[shared.length..]);
    if words.is_empty() {
        return None;
    }
    Some(format!("… {words}"))
}

/// Returns the first message of each row whose title is taken from that message, without the
/// envelope, which is what a program put before the words of the user. Of a long message, the list
/// has only the start.
fn collect_first_messages(list: &[ListedSession], rows: &[ListRow]) -> Vec<FirstMessage> {
    let mut messages = Vec::new();
    for row in rows {
        if let Some(question) = list[row.index].titling_question() {
            let text = question.text.to_string_lossy();
            messages.push(FirstMessage {
                session: row.index,
                text: without_envelope(&text).to_owned(),
            });
        }
    }
    messages
}

/// Returns the start that each text shares with others, in the order of the messages.
fn find_shared_starts(messages: &[FirstMessage]) -> Vec<SharedStart> {
    let mut texts: Vec<&str> = Vec::with_capacity(messages.len());
    for message in messages {
        texts.push(&message.text);
    }
    measure_shared_starts(&texts)
}

/// Whether the list has only the start of the first message, and the line is short enough to be
/// read again.
fn can_reread_question(session: &ListedSession) -> bool {
    let (Some(question), Some(span)) = (&session.first_question, session.question_span) else {
        return false;
    };
    !question.is_whole && span.len <= LONGEST_REREAD
}
