//! What Codex sends to the model after a compaction that does not record it.
//!
//! Until January 2026, a `compacted` line has the summary alone, and Codex rebuilds the rest from
//! what it sent before (`build_compacted_history` in `codex-rs/core/src/compact.rs`): what is sent
//! before the first turn, and the newest of what the user said.

use super::content::array_text;
use pisess_core::session::content::text_content;
use pisess_json::Raw;
use pisess_json::text::Text;

/// The number of bytes that Codex counts as a token.
const BYTES: usize = 4;
/// The most bytes of what the user said that a compaction keeps.
const MOST: usize = 20_000 * BYTES;
/// What a summary begins with, since November 2025.
const SUMMARY: &str = "Another language model started to solve this problem";
/// What texts begin with that Codex sends in the name of the user: they begin no turn.
const NO_TURN: [&str; 8] = [
    "<environment_context>",
    "<user_instructions>",
    "<user_shell_command>",
    "<turn_aborted>",
    "<skill>",
    "<subagent_notification>",
    "<permissions instructions>",
    "# AGENTS.md instructions",
];

/// Whether the user said this, and not Codex in the name of the user.
pub fn is_turn(content: Raw) -> bool {
    let first = content.text().or_else(|| {
        content
            .items()
            .next()?
            .get_text("text")
            .map(Text::into_owned)
    });
    let text = first.map(Text::into_string_lossy).unwrap_or_default();
    let start = text.trim_start();
    let begins = |with: &&str| {
        start
            .get(..with.len())
            .is_some_and(|own| own.eq_ignore_ascii_case(with))
    };
    !NO_TURN.iter().any(begins) && !start.starts_with(SUMMARY)
}

/// What was said on the path.
#[derive(Default)]
pub struct History {
    /// What was sent before the first turn, as content.
    start: Vec<Vec<u8>>,
    /// What the user said, and the position of what the user said before.
    said: Vec<(Option<usize>, Text<'static>)>,
    /// The position of what the user said last. What is said next continues after it: a rollback
    /// goes back.
    pub last: Option<usize>,
}

impl History {
    /// Adds what Codex sends by itself. `is_first` is whether no turn has begun.
    pub fn add(&mut self, content: &[u8], is_first: bool) {
        if is_first && self.last.is_none() {
            self.start.push(content.to_vec());
        }
    }

    /// Adds what the user said.
    pub fn say(&mut self, content: Raw) {
        let text = content
            .text()
            .map_or_else(|| array_text(content), Text::into_owned);
        if !text.is_empty() {
            self.push(text);
        }
    }

    fn push(&mut self, text: Text<'static>) {
        self.said.push((self.last, text));
        self.last = Some(self.said.len() - 1);
    }

    /// Returns what is sent beside the summary, as content, and continues with that.
    pub fn compact(&mut self) -> Vec<Vec<u8>> {
        let (mut left, mut kept) = (MOST, Vec::new());
        let on_path = std::iter::successors(self.last, |&at| self.said[at].0);
        for text in on_path.map(|at| &self.said[at].1) {
            if left == 0 {
                break;
            }
            let counted = text.as_bytes().len().div_ceil(BYTES) * BYTES;
            kept.push(if counted <= left {
                text.clone()
            } else {
                shortened(text, left)
            });
            left = left.saturating_sub(counted);
        }
        self.last = None;
        kept.into_iter().rev().for_each(|text| self.push(text));
        let on_path = std::iter::successors(self.last, |&at| self.said[at].0);
        let mut said: Vec<_> = on_path.map(|at| text_content(&self.said[at].1)).collect();
        said.reverse();
        self.start.iter().cloned().chain(said).collect()
    }
}

/// Returns the beginning and the end of a text, which have `most` bytes together.
fn shortened(text: &Text, most: usize) -> Text<'static> {
    let text = text.to_string_lossy();
    let is_boundary = |at: &usize| text.is_char_boundary(*at);
    let head = (0..=most / 2).rev().find(is_boundary).unwrap_or(0);
    let tail = (text.len() - (most - most / 2)..)
        .find(is_boundary)
        .unwrap_or(text.len());
    let removed = (text.len() - most).div_ceil(BYTES);
    Text::from(format!(
        "{}…{removed} tokens truncated…{}",
        &text[..head],
        &text[tail..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example is from Codex's own tests.
    #[test]
    fn long_texts_lose_their_middle() {
        let text = Text::from("😀😀😀😀😀😀😀😀😀😀\nsecond line with text\n");
        assert_eq!(
            shortened(&text, 32),
            Text::from("😀😀😀😀…8 tokens truncated… line with text\n")
        );
    }

    #[test]
    fn the_newest_of_what_the_user_said_is_kept() {
        let mut history = History::default();
        let texts = ["a".repeat(60_000), "b".repeat(60_000), "c".repeat(10_000)];
        texts
            .iter()
            .for_each(|text| history.push(Text::from(text.clone())));
        let kept = history.compact();
        let lens: Vec<_> = kept
            .iter()
            .map(|content| array_text(Raw::checked(content)).as_bytes().len())
            .collect();
        assert_eq!(
            lens,
            [10_000 + "…12500 tokens truncated…".len(), 60_000, 10_000]
        );
    }
}
