//! What Codex sends to the model after a compaction that does not record it.
//!
//! Until January 2026, a `compacted` line has the summary alone, and Codex rebuilds the rest from
//! what it sent before (`build_compacted_history` in `codex-rs/core/src/compact.rs`): what is sent
//! before the first turn, and the newest of what the user said.

use super::content::join_texts;
use pisess_core::session::content::text_content;
use pisess_json::Raw;
use pisess_json::text::Text;

/// The number of bytes that Codex counts as a token.
const BYTES_PER_TOKEN: usize = 4;
/// How many bytes of what the user said a compaction keeps: Codex's limit of 20,000 tokens.
const KEPT_BYTES: usize = 20_000 * BYTES_PER_TOKEN;
/// The prefix of a summary, since November 2025.
const SUMMARY_PREFIX: &str = "Another language model started to solve this problem";
/// The prefixes of texts that Codex sends in the name of the user: they begin no turn.
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

/// Whether content begins a turn: the user said it, and not Codex in the name of the user. Only the
/// first block is looked at, whatever its type.
pub fn begins_turn(content: Raw) -> bool {
    let first_text = match content.text() {
        Some(text) => Some(text),
        None => content
            .items()
            .next()
            .and_then(|block| block.get_text("text")),
    };
    let text = first_text.map(Text::into_string_lossy).unwrap_or_default();
    let text = text.trim_start();

    if text.starts_with(SUMMARY_PREFIX) {
        return false;
    }
    for prefix in INJECTED_PREFIXES {
        if let Some(start) = text.get(..prefix.len())
            && start.eq_ignore_ascii_case(prefix)
        {
            return false;
        }
    }
    true
}

/// What was sent to the model on the path, as far as a compaction needs it.
#[derive(Default)]
pub struct History {
    /// What was sent before the first turn, as content.
    before_turns: Vec<Vec<u8>>,
    /// What the user said, on all branches.
    user_texts: Vec<UserText>,
    /// What the user said last on the path: a position in `user_texts`. What is said next follows
    /// it, so that a rollback only sets it to an earlier one.
    pub last_user_text: Option<usize>,
}

struct UserText {
    /// The position of what the user said before.
    previous: Option<usize>,
    text: Text<'static>,
}

impl History {
    /// Adds what Codex sends by itself. `is_before_turns` is whether no turn has begun.
    pub fn add_context(&mut self, content: &[u8], is_before_turns: bool) {
        if is_before_turns && self.last_user_text.is_none() {
            self.before_turns.push(content.to_vec());
        }
    }

    /// Adds what the user said.
    pub fn add_user_text(&mut self, content: Raw) {
        let text = match content.text() {
            Some(text) => text.into_owned(),
            None => join_texts(content),
        };
        if !text.is_empty() {
            self.push_user_text(text);
        }
    }

    fn push_user_text(&mut self, text: Text<'static>) {
        self.user_texts.push(UserText {
            previous: self.last_user_text,
            text,
        });
        self.last_user_text = Some(self.user_texts.len() - 1);
    }

    /// Compacts the history as Codex does. Returns the content that is sent beside the summary;
    /// this is what a later compaction sees.
    pub fn compact(&mut self) -> Vec<Vec<u8>> {
        let mut kept = self.newest_user_texts();
        kept.reverse();

        let mut contents = self.before_turns.clone();
        self.last_user_text = None;
        for text in kept {
            contents.push(text_content(&text));
            self.push_user_text(text);
        }
        contents
    }

    /// Collects what the user said on the path, newest first, up to [`KEPT_BYTES`]. The oldest of
    /// these texts may be cut.
    fn newest_user_texts(&self) -> Vec<Text<'static>> {
        let mut texts = Vec::new();
        let mut bytes_left = KEPT_BYTES;
        let mut cursor = self.last_user_text;
        while let Some(position) = cursor {
            if bytes_left == 0 {
                break;
            }
            let UserText { previous, text } = &self.user_texts[position];
            // Codex counts whole tokens.
            let whole_token_bytes =
                text.as_bytes().len().div_ceil(BYTES_PER_TOKEN) * BYTES_PER_TOKEN;
            if whole_token_bytes <= bytes_left {
                texts.push(text.clone());
            } else {
                texts.push(cut_middle(text, bytes_left));
            }
            bytes_left = bytes_left.saturating_sub(whole_token_bytes);
            cursor = *previous;
        }
        texts
    }
}

/// Cuts the middle out of a text that is longer than `max_bytes` bytes. What stays of its beginning
/// and of its end has `max_bytes` bytes together, or fewer where a character would be cut.
fn cut_middle(text: &Text, max_bytes: usize) -> Text<'static> {
    let text = text.to_string_lossy();
    let mut head_end = max_bytes / 2;
    while !text.is_char_boundary(head_end) {
        head_end -= 1;
    }
    let mut tail_start = text.len() - (max_bytes - max_bytes / 2);
    while !text.is_char_boundary(tail_start) {
        tail_start += 1;
    }

    let head = &text[..head_end];
    let tail = &text[tail_start..];
    let removed = (text.len() - max_bytes).div_ceil(BYTES_PER_TOKEN);
    Text::from(format!("{head}…{removed} tokens truncated…{tail}"))
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
