//! What Codex sends to the model after a compaction that does not record it.
//!
//! Until January 2026, a `compacted` line has only the summary. Codex rebuilds the rest from what
//! it sent before (`build_compacted_history` in `codex-rs/core/src/compact.rs`): everything that
//! precedes the first turn, and the newest texts of the user.

use super::content::join_texts;
use pisess_core::session::content::text_content;
use pisess_json::Raw;
use pisess_json::text::Text;

/// The number of bytes that Codex counts as a token.
const BYTES_PER_TOKEN: usize = 4;
/// The maximum number of bytes of the user's texts that a compaction keeps: 20,000 tokens in Codex.
const KEPT_BYTES: usize = 20_000 * BYTES_PER_TOKEN;
/// The prefix of a summary, since November 2025.
const SUMMARY_PREFIX: &str = "Another language model started to solve this problem";
/// The prefixes of texts that Codex sends in the name of the user. Such a text does not begin a
/// turn.
const INJECTED_PREFIXES: [&str; 8] = [
    "<environment_context>",
    "<user_instructions>",
    "<user_shell_command>",
    "<turn_aborted>",
    "<skill>",
    "<subagent_notification>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
];

/// Whether a message of the role `user` begins a turn: whether the user wrote it, and not Codex in
/// the name of the user. The text of the first block decides, whatever the type of the block is.
pub fn begins_turn(content: Raw) -> bool {
    let first_block = content.items().next();
    let text = content
        .text()
        .or_else(|| first_block?.get_text("text"))
        .unwrap_or_default()
        .into_string_lossy();
    let text = text.trim_start();

    // After a compaction, Codex sends the summary in the name of the user.
    if text.starts_with(SUMMARY_PREFIX) {
        return false;
    }
    for prefix in INJECTED_PREFIXES {
        if has_prefix_in_any_case(text, prefix) {
            return false;
        }
    }
    true
}

/// Whether the text begins with `prefix`, regardless of the case of ASCII letters.
fn has_prefix_in_any_case(text: &str, prefix: &str) -> bool {
    text.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

/// What was sent to the model on the path, as far as a compaction needs it.
#[derive(Default)]
pub struct History {
    /// What was sent before the first turn, as content.
    before_turns: Vec<Vec<u8>>,
    /// What the user said, on all branches. The texts of one path are linked from newest to oldest.
    user_texts: Vec<UserText>,
    /// The position in `user_texts` of what the user said last on the current path. A rollback sets
    /// it to an earlier position, and the next text then follows that one.
    pub last_user_text: Option<usize>,
}

struct UserText {
    /// The position of the text before this one on its path.
    previous: Option<usize>,
    text: Text<'static>,
}

impl History {
    /// Adds context that Codex sent by itself before the first turn. Context after a text of the
    /// user is not added: Codex does not send it again after a compaction.
    pub fn add_context_before_turns(&mut self, content: &[u8]) {
        if self.last_user_text.is_none() {
            self.before_turns.push(content.to_vec());
        }
    }

    /// Adds what the user said: a string, or the texts of blocks, joined. An empty text is skipped.
    pub fn add_user_text(&mut self, content: Raw) {
        let text = join_texts(content);
        if !text.is_empty() {
            self.push_user_text(text.into_owned());
        }
    }

    fn push_user_text(&mut self, text: Text<'static>) {
        self.user_texts.push(UserText {
            previous: self.last_user_text,
            text,
        });
        self.last_user_text = Some(self.user_texts.len() - 1);
    }

    /// Compacts the history as Codex does. Returns the contents that Codex sends beside the
    /// summary: what preceded the first turn, then the newest texts of the user, oldest first.
    /// These texts become the history that a later compaction sees.
    pub fn compact(&mut self) -> Vec<Vec<u8>> {
        let mut kept_texts = self.newest_user_texts();
        kept_texts.reverse();

        let mut contents = self.before_turns.clone();
        self.last_user_text = None;
        for text in kept_texts {
            contents.push(text_content(&text));
            self.push_user_text(text);
        }
        contents
    }

    /// Returns the texts of the user on the path, newest first, up to [`KEPT_BYTES`] in total. If
    /// the oldest of them does not fit whole, its middle is cut out.
    fn newest_user_texts(&self) -> Vec<Text<'static>> {
        let mut texts = Vec::new();
        let mut bytes_left = KEPT_BYTES;
        let mut next_position = self.last_user_text;
        while let Some(position) = next_position {
            let UserText { previous, text } = &self.user_texts[position];
            // Codex counts whole tokens, so a text of 5 bytes counts as 8.
            let token_count = text.as_bytes().len().div_ceil(BYTES_PER_TOKEN);
            let counted_bytes = token_count * BYTES_PER_TOKEN;
            if counted_bytes > bytes_left {
                if bytes_left > 0 {
                    texts.push(cut_middle(text, bytes_left));
                }
                break;
            }
            texts.push(text.clone());
            bytes_left -= counted_bytes;
            next_position = *previous;
        }
        texts
    }
}

/// Replaces the middle of a text by a note with the number of removed tokens, as in
/// `head…12 tokens truncated…tail`. Half of `max_bytes` is kept at the start and half at the end.
/// The text must be longer than `max_bytes` bytes.
fn cut_middle(text: &Text, max_bytes: usize) -> Text<'static> {
    let text = text.to_string_lossy();
    let mut head_end = max_bytes / 2;
    // If `max_bytes` is odd, the end has one byte more.
    let tail_len = max_bytes - head_end;
    let mut tail_start = text.len() - tail_len;

    // Both parts become shorter where a character would be split.
    while !text.is_char_boundary(head_end) {
        head_end -= 1;
    }
    while !text.is_char_boundary(tail_start) {
        tail_start += 1;
    }
    let head = &text[..head_end];
    let tail = &text[tail_start..];
    let removed_tokens = (text.len() - max_bytes).div_ceil(BYTES_PER_TOKEN);
    Text::from(format!("{head}…{removed_tokens} tokens truncated…{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example is from Codex's own tests.
    #[test]
    fn long_texts_lose_their_middle() {
        let text = Text::from("😀😀😀😀😀😀😀😀😀😀\nsecond line with text\n");
        assert_eq!(
            cut_middle(&text, 32),
            Text::from("😀😀😀😀…8 tokens truncated… line with text\n")
        );
    }

    #[test]
    fn the_newest_of_what_the_user_said_is_kept() {
        let mut history = History::default();
        let texts = ["a".repeat(60_000), "b".repeat(60_000), "c".repeat(10_000)];
        for text in texts {
            history.push_user_text(Text::from(text));
        }
        let kept = history.compact();
        let lens: Vec<_> = kept
            .iter()
            .map(|content| join_texts(Raw::from_checked(content)).as_bytes().len())
            .collect();
        assert_eq!(
            lens,
            [10_000 + "…12500 tokens truncated…".len(), 60_000, 10_000]
        );
    }
}
