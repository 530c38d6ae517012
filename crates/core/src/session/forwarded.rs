//! What a chat program puts before the words of a user when it forwards them to an agent.
//!
//! Such programs run an agent behind Telegram, Discord and the like. A forwarded message begins
//! with blocks of metadata. A block has a label that calls it untrusted, and JSON, often in a
//! fence. A time may precede a block or the words:
//!
//! ```text
//! [Wed 2026-03-11 23:51 PDT] Conversation info (untrusted metadata):
//! {"message_id": "6955", "sender": "Ada"}
//!
//! Is the importer online again?
//! ```

use memchr::{memchr, memmem};
use pisess_json::Scanner;
use pisess_json::text::leading_space;

/// Shown in place of the blocks, before the words.
pub const BLOCKS_MARK: &str = "[…] ";
/// The maximum length of a label, and of a time, in bytes.
const MAX_LABEL_LEN: usize = 160;

/// Returns the words of the user in a message that a chat program forwarded; `None` for any other
/// message, and for one without words.
pub fn user_words(message: &[u8]) -> Option<&[u8]> {
    let mut rest = skip_block(message)?;
    while let Some(after) = skip_block(rest) {
        rest = after;
    }
    let words = skip_time(rest);
    if words.is_empty() { None } else { Some(words) }
}

/// Whether a message may be a forwarded one, judged only by its start.
pub fn may_be_forwarded(start: &[u8]) -> bool {
    // Without the first letter, which may be a capital.
    memmem::find(start, b"ntrusted").is_some()
}

/// Skips a block of metadata that a chat program put before the user's words, and returns what
/// follows it. `None` if the text does not begin with a block.
///
/// A block is a time, if there is one, a label such as `Sender (untrusted metadata):`, and a body.
fn skip_block(text: &[u8]) -> Option<&[u8]> {
    const LABEL_END: &[u8] = b"):";

    let from_label = skip_time(text);
    let line_end = memchr(b'\n', from_label).unwrap_or(from_label.len());
    let line = &from_label[..line_end.min(MAX_LABEL_LEN)];
    let label_len = memmem::find(line, LABEL_END)?;
    if !may_be_forwarded(&line[..label_len]) {
        return None;
    }
    skip_body(trim_start(&from_label[label_len + LABEL_END.len()..]))
}

/// Skips the body of a block, and returns what follows it. A body is text between fences, a JSON
/// value, or plain lines up to an empty line. `None` if a fence is not closed.
fn skip_body(body: &[u8]) -> Option<&[u8]> {
    const FENCE: &[u8] = b"```";

    if let Some(fenced) = body.strip_prefix(FENCE) {
        let fenced_len = memmem::find(fenced, FENCE)?;
        return Some(&fenced[fenced_len + FENCE.len()..]);
    }
    let mut scanner = Scanner::document(body);
    if matches!(body.first(), Some(b'{' | b'[')) && scanner.skip_value().is_ok() {
        return Some(&body[scanner.pos()..]);
    }
    match memmem::find(body, b"\n\n") {
        Some(empty_line) => Some(&body[empty_line..]),
        None => Some(&[]),
    }
}

/// The minimum number of digits in a time, its last character not counted. They distinguish a time
/// from other text in brackets.
const MIN_TIME_DIGITS: usize = 4;

/// Returns the text without white space at its start, and without a time such as
/// `[Wed 2026-03-11 23:51 PDT]` after that.
fn skip_time(text: &[u8]) -> &[u8] {
    let text = trim_start(text);
    let Some(after_bracket) = text.strip_prefix(b"[") else {
        return text;
    };
    let near = &after_bracket[..after_bracket.len().min(MAX_LABEL_LEN)];
    let Some(time_len) = memchr(b']', near) else {
        return text;
    };
    // Any other text in brackets has too few digits for a time.
    let before_last = &near[..time_len.saturating_sub(1)];
    let digits = before_last.iter().filter(|byte| byte.is_ascii_digit());
    if digits.count() < MIN_TIME_DIGITS {
        return text;
    }
    trim_start(&after_bracket[time_len + 1..])
}

fn trim_start(text: &[u8]) -> &[u8] {
    &text[leading_space(text)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_follow_the_blocks() {
        for (message, expected) in [
            (
                "Conversation info (untrusted metadata): {\"a\": \"} \\\" {\"} hello\nthere",
                "hello\nthere",
            ),
            (
                "Conversation info (untrusted metadata):\n```json\n{\n  \"id\": \"1\"\n}\n```\n\nSender (untrusted metadata):\n```json\n{}\n```\n\n[Sun 2026-04-19 00:33 GMT+8] 你好 [1]",
                "你好 [1]",
            ),
            (
                "[Wed 2026-03-11 23:51 PDT] Thread starter (untrusted, for context):\n[1, [2]]\n\nquestion",
                "question",
            ),
            (
                "Thread starter (untrusted, for context):\n[Ada 10:32] is it up?\n\nquestion",
                "question",
            ),
            (
                "Untrusted context (metadata, no instructions):\nsome line\n\n[a] question",
                "[a] question",
            ),
        ] {
            assert_eq!(
                user_words(message.as_bytes())
                    .map(String::from_utf8_lossy)
                    .as_deref(),
                Some(expected)
            );
        }
    }

    #[test]
    fn any_other_message_is_left_alone() {
        for message in [
            "",
            "hello",
            "[2026-03-11] hello",
            "The config (see below):\n```json\n{}\n```\nIs it right?",
            "Why is this called untrusted?",
            "Sender (untrusted metadata):\n```json\n{}\n```\n",
            "Sender (untrusted metadata):\n```json\n{",
            "Sender (untrusted metadata):\n{\"a\": {",
            "Sender (untrusted metadata):",
        ] {
            assert_eq!(user_words(message.as_bytes()), None, "{message}");
        }
    }
}
