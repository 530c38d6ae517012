//! Finds the start that the first messages of many listed sessions have in common.
//!
//! A scheduler or a script begins each prompt in the same way (`[cron:ID …]`, `# Your Job`). A list
//! shows only the start of each prompt, so all rows would look the same: the shared start is to be
//! dropped. Texts are compared word by word. All ids, numbers and times are treated as equal: they
//! are runs of letters and digits that contain a digit.
//!
//! ```text
//! [cron:1f6a-…] Check the mail      │ Check the mail
//! [cron:88c0-…] Sort the invoices   │ Sort the invoices
//! ```

use foldhash::HashMap;

/// The minimum number of texts that must share a start for it to be dropped.
const LEAST_TEXTS: usize = 3;

/// A start is dropped only if at least 1 in `LEAST_SHARE` of all texts has the same first word.
const LEAST_SHARE: usize = 4;

/// The minimum length in bytes of a start that is dropped, so that an ordinary `Please` or `Can
/// you` stays.
const LEAST_BYTES: usize = 10;

/// The maximum number of words of a text that are compared.
const MOST_WORDS: usize = 4_000;

/// The part of a text's start to drop, because other texts share it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedStart {
    /// The number of bytes to drop; 0 if nothing is shared.
    pub length: usize,
    /// Whether all compared words of the text are shared. The text may be cut off, so a longer
    /// version may differ.
    pub is_whole_text: bool,
}

/// A word of a text. Two words count as equal if they have the same shape.
struct Word {
    /// The word with each run that contains a digit replaced by `0`: see [`word_shape`].
    shape: String,
    /// The offset in the text after the word and the white space that follows it.
    end: usize,
    /// Whether a sentence, a line or a bracket ends with this word.
    ends_sentence: bool,
}

/// Returns, for each text, the start to drop because enough other texts share it: in a list of
/// prompts that a script has begun with `You are a bot.`, this sentence.
///
/// Texts are grouped by their first word. In each group that is large enough, the longest start is
/// searched for that most texts of the group share. A group is large enough if it has at least
/// `LEAST_TEXTS` texts, and at least one in `LEAST_SHARE` of all texts.
pub fn measure_shared_starts(texts: &[&str]) -> Vec<SharedStart> {
    let words: Vec<Vec<Word>> = texts.iter().map(|text| split_words(text)).collect();
    let all_texts: Vec<usize> = (0..texts.len()).collect();
    let least_size = LEAST_TEXTS.max(texts.len().div_ceil(LEAST_SHARE));

    let mut starts = vec![SharedStart::default(); texts.len()];
    let first_word = 0;
    for group in group_by_word(&all_texts, first_word, &words) {
        if group.len() < least_size {
            continue;
        }
        for sharing in split_by_shared_words(group, &words) {
            let are_common_to_all = sharing.common_to == texts.len();
            for text in sharing.texts {
                starts[text] =
                    find_droppable_start(&words[text], sharing.word_count, are_common_to_all);
            }
        }
    }
    starts
}

/// Texts of a group that share as many of their first words as each other, and no more.
struct SharingTexts {
    /// The indexes of the texts.
    texts: Vec<usize>,
    /// The number of words that they share.
    word_count: usize,
    /// The number of all texts that begin with these words, including those that share more.
    common_to: usize,
}

/// Splits a group of texts, whose first words are the same, by the number of words that they share.
/// The group has the indexes of the texts in `words`, in ascending order.
///
/// The texts are compared word by word. After each word, the texts with the most frequent next word
/// continue, as long as they are more than half of the group and at least [`LEAST_TEXTS`]. Each
/// other text shares only the words up to there. `go on`, `go on`, `go on now` and `go home` share
/// `go on`, except the last, which shares `go`.
fn split_by_shared_words(group: Vec<usize>, words: &[Vec<Word>]) -> Vec<SharingTexts> {
    let majority = group.len() / 2 + 1;
    let least_size = LEAST_TEXTS.max(majority);
    let mut split = Vec::new();
    // The first `word_count` words of these texts have the same shapes.
    let mut sharing = group;
    let mut word_count = 1;
    while !sharing.is_empty() {
        // Words are counted from 0, so this is the word after the shared ones.
        let next_word = word_count;
        let commonest = texts_with_commonest_word(&sharing, next_word, words);
        let continuing = if commonest.len() >= least_size {
            commonest
        } else {
            Vec::new()
        };

        // All others share only the words so far.
        let common_to = sharing.len();
        // The search is possible because the texts are in ascending order.
        sharing.retain(|text| continuing.binary_search(text).is_err());
        split.push(SharingTexts {
            texts: sharing,
            word_count,
            common_to,
        });
        sharing = continuing;
        word_count += 1;
    }
    split
}

/// Returns those of the `texts` whose word at `position` is the most frequent there, in the same
/// order. Empty if no text has so many words.
fn texts_with_commonest_word(texts: &[usize], position: usize, words: &[Vec<Word>]) -> Vec<usize> {
    let groups = group_by_word(texts, position, words);
    groups.into_iter().max_by_key(Vec::len).unwrap_or_default()
}

/// Groups texts by their word at `position`, counted from 0. Words are compared by their shapes, in
/// which all numbers are equal. A text with fewer words is in no group. `texts` are indexes in
/// `words`, and keep their order within each group.
fn group_by_word(texts: &[usize], position: usize, words: &[Vec<Word>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    // The index of each group in `groups`, which is in the order of the first texts, so that the
    // result does not depend on hashes.
    let mut group_by_shape: HashMap<&str, usize> = HashMap::default();
    for &text in texts {
        let Some(word) = words[text].get(position) else {
            continue;
        };
        match group_by_shape.get(&*word.shape) {
            Some(&group) => groups[group].push(text),
            None => {
                group_by_shape.insert(&word.shape, groups.len());
                groups.push(vec![text]);
            }
        }
    }
    groups
}

/// Returns the start to drop from a text, so that its title begins with what is its own. Its first
/// `shared_word_count` words are shared with other texts; if `are_common_to_all` is set, with every
/// text of the list.
///
/// What is dropped depends on whether the text has words of its own: see [`first_sentence_len`] and
/// [`len_before_own_words`]. A start shorter than [`LEAST_BYTES`] is not dropped.
fn find_droppable_start(
    words: &[Word],
    shared_word_count: usize,
    are_common_to_all: bool,
) -> SharedStart {
    let shared_words = &words[..shared_word_count];
    let is_whole_text = shared_word_count == words.len();
    let start_len = if is_whole_text {
        first_sentence_len(shared_words)
    } else {
        len_before_own_words(shared_words, are_common_to_all)
    };
    SharedStart {
        length: if start_len < LEAST_BYTES {
            0
        } else {
            start_len
        },
        is_whole_text,
    }
}

/// Returns the length in bytes of the start to drop from a text of which all words are shared: that
/// of its first sentence, or 0 if no other follows.
fn first_sentence_len(words: &[Word]) -> usize {
    let text_end = words[words.len() - 1].end;
    match words.iter().find(|word| word.ends_sentence) {
        Some(last_word) if last_word.end < text_end => last_word.end,
        _ => 0,
    }
}

/// Returns the length in bytes of the start to drop from a text that has words of its own after the
/// shared ones:
///
/// - If sentences end among the shared words, these sentences are dropped, so that the title begins
///   with the sentence that has the first own word.
/// - Otherwise, all shared words are dropped if the text begins with a mark such as a bracket, or
///   if every text of the list begins with them (`are_common_to_all`).
/// - In any other case, nothing is dropped.
fn len_before_own_words(shared_words: &[Word], are_common_to_all: bool) -> usize {
    if let Some(last_word) = shared_words.iter().rfind(|word| word.ends_sentence) {
        return last_word.end;
    }
    // The text after a mark such as `[cron:0 name]` is readable without it. Words that every text
    // begins with are of no use to the reader.
    let begins_with_mark = !shared_words[0].shape.starts_with(char::is_alphanumeric);
    if begins_with_mark || are_common_to_all {
        shared_words[shared_words.len() - 1].end
    } else {
        0
    }
}

/// Splits a text into words, at most `MOST_WORDS`. The `end` of a word includes the white space
/// after it, so that a title can begin there: in `Go on`, the ends are 3 and 5. White space at the
/// start of the text belongs to no word.
fn split_words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut end = 0;
    for piece in text.split_inclusive(char::is_whitespace) {
        end += piece.len();
        // A piece is a word and the first white-space character after it. Each further white-space
        // character is a piece without a word.
        let word = piece.trim_end();
        if word.is_empty() {
            if let Some(last) = words.last_mut() {
                last.end = end;
                // A line break that is not directly after the word also ends a sentence.
                last.ends_sentence |= piece == "\n";
            }
            continue;
        }
        if words.len() == MOST_WORDS {
            break;
        }
        words.push(Word {
            shape: word_shape(word),
            end,
            ends_sentence: piece.ends_with('\n') || word.ends_with(SENTENCE_ENDS),
        });
    }
    words
}

/// The characters that end a sentence or a bracket.
const SENTENCE_ENDS: [char; 8] = ['.', '!', '?', ':', ']', '。', '！', '？'];

/// Replaces each run of letters, digits and hyphens that contains a digit by `0`, so that words
/// which differ only in an id, a number or a time have the same shape: `[cron:1f6a-09` ->
/// `[cron:0`.
fn word_shape(word: &str) -> String {
    let is_run_char = |c: char| c.is_alphanumeric() || c == '-';
    let mut shape = String::new();
    // A piece is a run, which may be empty, and the character that ends it.
    for piece in word.split_inclusive(|c| !is_run_char(c)) {
        let run = piece.trim_end_matches(|c| !is_run_char(c));
        if run.contains(|c: char| c.is_ascii_digit()) {
            shape.push('0');
        } else {
            shape.push_str(run);
        }
        shape.push_str(&piece[run.len()..]);
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the texts without their shared starts.
    fn rests<'t>(texts: &[&'t str]) -> Vec<&'t str> {
        let starts = measure_shared_starts(texts);
        let rest = |(text, start): (&&'t str, SharedStart)| &text[start.length..];
        texts.iter().zip(starts).map(rest).collect()
    }

    #[test]
    fn ids_and_numbers_are_alike() {
        let found = rests(&[
            "[cron:1f6a0c3e-9d41-4c02-b1aa-0c7d5e3f2a10] Check the mail",
            "[cron:88c01b2f-77aa-4d1e-8f00-5b6c7d8e9f01] Sort the invoices",
            "[cron:a0b1c2d3-1111-4222-8333-944455556666] Check the weather",
        ]);
        assert_eq!(
            found,
            ["Check the mail", "Sort the invoices", "Check the weather"]
        );
    }

    #[test]
    fn the_next_sentence_is_shown() {
        let found = rests(&[
            "# Your Job\n\nYou are a reviewer. Review the parser",
            "# Your Job\n\nYou are a reviewer. Review the tests of it",
            "# Your Job\n\nYou are a reviewer. Write the release notes",
            "# Your Job\n\nClean up",
        ]);
        assert_eq!(
            found,
            [
                "Review the parser",
                "Review the tests of it",
                "Write the release notes",
                "Clean up"
            ]
        );
    }

    #[test]
    fn words_that_every_text_begins_with_are_dropped() {
        let found = rests(&[
            "Please review the change in src/a.rs",
            "Please review the change in src/b.rs",
            "Please review the change to the tests",
        ]);
        assert_eq!(found, ["in src/a.rs", "in src/b.rs", "to the tests"]);
        let with_another = rests(&[
            "Please review the change in src/a.rs",
            "Please review the change in src/b.rs",
            "Please review the change to the tests",
            "Why?",
        ]);
        assert_eq!(with_another[0], "Please review the change in src/a.rs");
    }

    #[test]
    fn a_text_that_is_shared_in_full_keeps_more_than_its_first_sentence() {
        let text = "[cron:12 mail] Check the mail. Be brief.";
        assert_eq!(rests(&[text; 5]), ["Check the mail. Be brief."; 5]);
        assert!(
            measure_shared_starts(&[text; 5])
                .iter()
                .all(|start| start.is_whole_text)
        );
        assert_eq!(rests(&["Check the mail"; 5]), ["Check the mail"; 5]);
    }

    #[test]
    fn shared_starts_leave_ordinary_prompts_whole() {
        let texts = [
            "Please fix the parser",
            "Please fix the tests",
            "Please add a flag",
            "Why?",
            "",
        ];
        assert_eq!(rests(&texts), texts);
        // Two sessions of many that begin alike are no pattern.
        let mut many = vec!["[cron:1] Check the mail", "[cron:2] Check the mail"];
        let others: Vec<String> = (0..20).map(|at| format!("w{at}x other")).collect();
        many.extend(others.iter().map(String::as_str));
        assert_eq!(rests(&many)[..2], many[..2]);
    }
}
