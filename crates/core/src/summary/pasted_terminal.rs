//! What a user pasted from a terminal: the commands and the words below them are the user's, the
//! output between is not, and may fill a screen.

use super::pasted_lines::user_speaks_for_himself_in;
use super::quote::{display_width, is_narrower};
use std::borrow::Cow;
use std::ops::Range;

/// An output of fewer lines is kept whole.
const LONG_OUTPUT: usize = 8;
/// The number of lines that are kept of a long output: the first that report a failure.
const MOST_KEPT: usize = 4;
/// A line of a long output that takes more columns is not kept.
const LONGEST_KEPT: usize = 200;

/// Returns a message in which long outputs between two prompts of a shell are replaced by their
/// number of lines. What the user wrote between the prompts stays, if a word shows who speaks:
///
/// ```text
/// ada@mac src % make            ada@mac src % make
/// 40 lines of output       ──>  [… 40 lines of output …]
///
/// I see no error there          I see no error there
/// ada@mac src % make test       ada@mac src % make test
/// 2 lines of output             2 lines of output
/// ```
///
/// What is below the last prompt stays, because nothing shows where its output ends.
pub(super) fn fold_terminal_output(message: &str) -> Cow<'_, str> {
    let lines: Vec<&str> = message.split_inclusive('\n').collect();
    let long_outputs = find_long_outputs(&lines);
    if long_outputs.is_empty() {
        return Cow::Borrowed(message);
    }

    let mut folded = String::new();
    let mut unread_start = 0;
    for output in long_outputs {
        folded.extend(lines[unread_start..output.start].iter().copied());
        fold_output(&lines[output.clone()], &mut folded);
        unread_start = output.end;
    }
    folded.extend(lines[unread_start..].iter().copied());
    Cow::Owned(folded)
}

/// Returns the ranges of lines between two prompts that are output, and have at least
/// [`LONG_OUTPUT`] lines.
fn find_long_outputs(lines: &[&str]) -> Vec<Range<usize>> {
    let mut long_outputs = Vec::new();
    let mut last_prompt = None;
    for (index, line) in lines.iter().enumerate() {
        if !is_prompt(line.trim_end()) {
            continue;
        }
        if let Some(prompt) = last_prompt {
            long_outputs.extend(find_outputs(lines, prompt + 1..index));
        }
        last_prompt = Some(index);
    }
    long_outputs.retain(|output| output.len() >= LONG_OUTPUT);
    long_outputs
}

/// Divides the lines between two prompts at the paragraphs that may be the user's own words, and
/// returns the ranges of the others.
fn find_outputs(lines: &[&str], between_prompts: Range<usize>) -> Vec<Range<usize>> {
    let mut outputs = Vec::new();
    let mut output_start = between_prompts.start;
    for paragraph in find_paragraphs(lines, between_prompts.clone()) {
        let words = &lines[paragraph.clone()];
        if !is_indented(words) && user_speaks_for_himself_in(words) {
            outputs.push(output_start..paragraph.start);
            output_start = paragraph.end;
        }
    }
    outputs.push(output_start..between_prompts.end);
    outputs
}

/// Whether a line of a paragraph is indented, as in the greetings of programs: "  I'll help you to
/// begin". Few users indent what they type.
fn is_indented(paragraph: &[&str]) -> bool {
    paragraph.iter().any(|line| line.starts_with([' ', '\t']))
}

/// Returns the paragraphs of a range of lines, each with the empty lines below it.
fn find_paragraphs(lines: &[&str], range: Range<usize>) -> Vec<Range<usize>> {
    let mut paragraphs = Vec::new();
    let mut paragraph_start = range.start;
    for index in range.start + 1..range.end {
        let is_below_gap = is_blank(lines[index - 1]);
        if is_below_gap && !is_blank(lines[index]) {
            paragraphs.push(paragraph_start..index);
            paragraph_start = index;
        }
    }
    paragraphs.push(paragraph_start..range.end);
    paragraphs
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

/// Appends what replaces an output: its number of lines, and the first [`MOST_KEPT`] lines that
/// report a failure.
fn fold_output(output: &[&str], folded: &mut String) {
    let line_end = if output[0].ends_with("\r\n") {
        "\r\n"
    } else {
        "\n"
    };
    folded.push_str(&format!("[… {} lines of output …]{line_end}", output.len()));
    let failures = output.iter().filter(|line| reports_failure(line));
    folded.extend(failures.take(MOST_KEPT).copied());
}

/// Whether a line reports a failure, and is short enough to be kept.
fn reports_failure(line: &str) -> bool {
    const WORDS: [&str; 5] = ["error", "fatal", "failed", "not found", "denied"];
    let lower = line.to_lowercase();
    display_width(line) <= LONGEST_KEPT && WORDS.iter().any(|word| lower.contains(word))
}

/// Whether a line begins with the prompt of a shell: `ada@mac src % make`, `ada@host:~/src$ make`,
/// `PS C:\src> make`, `C:\src>make`.
fn is_prompt(line: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with("PS ") || begins_with_drive(line) {
        return line.contains(":\\") && line.contains('>');
    }
    is_unix_prompt(strip_environment(line))
}

/// Whether a line begins with a drive of Windows, which has one letter: `C:\src`.
fn begins_with_drive(line: &str) -> bool {
    line.split_once(":\\")
        .is_some_and(|(drive, _)| drive.len() == 1)
}

/// Returns a prompt without the name of a virtual environment of Python before it: `ada@mac src %`
/// for `(base) ada@mac src %`.
fn strip_environment(prompt: &str) -> &str {
    let Some(environment) = prompt.strip_prefix('(') else {
        return prompt;
    };
    match environment.split_once(") ") {
        Some((_, bare_prompt)) => bare_prompt,
        None => prompt,
    }
}

/// Whether a line begins with the name of a user, an `@`, the host and the folder, and the sign of
/// a shell. A command may follow after a space: `ada@mac src % make`, `[ada@host src]$ make`.
fn is_unix_prompt(line: &str) -> bool {
    /// The host and the folder take fewer columns.
    const LONG_PLACE: usize = 80;
    /// The signs of zsh, of other shells, and of the shells of root.
    const SIGNS: [char; 3] = ['%', '$', '#'];

    let Some((user, after_user)) = line.trim_start_matches('[').split_once('@') else {
        return false;
    };
    let Some(sign_start) = after_user.find(SIGNS) else {
        return false;
    };
    let (place, from_sign) = after_user.split_at(sign_start);
    let (sign, command) = from_sign.split_at(1);
    let is_in_name = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let is_user = !user.is_empty() && user.chars().all(is_in_name);
    // In `ada@example.org costs 5$a`, no shell wrote the sign.
    let is_sign_apart = command.is_empty() || command.starts_with(' ');
    is_user && is_sign_apart && is_narrower(place, LONG_PLACE) && precedes_sign(place, sign)
}

/// Whether a prompt may have a host and a folder in this form before the sign: `host:~/src` and
/// `host src]` right before it, `mac src ` before the `%` of zsh, `host ~/src ` before any sign.
fn precedes_sign(place: &str, sign: &str) -> bool {
    let Some(place_before_space) = place.strip_suffix(' ') else {
        return place.ends_with(']') || place.contains(':') || !place.contains(' ');
    };
    let Some((_host, folder)) = place_before_space.split_once(' ') else {
        return false;
    };
    sign == "%" || folder.starts_with(['~', '/'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompts_of_unix_and_windows_are_recognized() {
        for line in [
            "ada@mac src % make",
            "(base) ada@mac ~ %",
            "ada@harbour:~/src$ make",
            "ada@harbour:~/src (main)$ make",
            "ada@harbour ~/src $ make",
            "root@harbour:/# ls",
            "[ada@harbour src]$ make",
            "[root@harbour ~]# make",
            "PS C:\\src> make",
            "C:\\src>make",
        ] {
            assert!(is_prompt(line), "{line}");
        }
        for line in [
            "ask ada@example.org, 5 % of the boats",
            "@ada costs 5 $",
            "ada@example.org",
            "bob@x wrote # of",
            "git@github.com:x/y.git (fetch) $ a",
            "PS: draw it > 5 cm",
            "",
        ] {
            assert!(!is_prompt(line), "{line}");
        }
    }

    #[test]
    fn long_outputs_between_prompts_are_folded() {
        let art = "╔══╗\n".repeat(20);
        let head = "see below\nada@mac ~ % make\n";
        let end = "ada@mac ~ % ls\na\nb\nada@mac ~ %\nwhy?\n";
        assert_eq!(
            fold_terminal_output(&format!("{head}{art}error: no chart\n{end}")),
            format!("{head}[… 21 lines of output …]\nerror: no chart\n{end}")
        );
        let with_returns = format!("{head}{art}{end}").replace('\n', "\r\n");
        let folded = format!("{head}[… 20 lines of output …]\n{end}").replace('\n', "\r\n");
        assert_eq!(fold_terminal_output(&with_returns), folded);
        // Nothing shows where the last output ends.
        let message = format!("ada@mac ~ % make\n{art}why?");
        assert_eq!(fold_terminal_output(&message), message);
    }

    #[test]
    fn words_of_the_user_between_prompts_stay() {
        let art = "╔══╗\n".repeat(20);
        let prompt = "ada@mac ~ % make\n";
        for (words, folded_count) in [
            ("so far I see no error\n", 21),
            ("please see\nwhat I wrote\nto the office\nlast week\n", 21),
            ("I wonder why\n\nand so does he\n", 21),
        ] {
            assert_eq!(
                fold_terminal_output(&format!("{prompt}{art}\n{words}{prompt}")),
                format!("{prompt}[… {folded_count} lines of output …]\n{words}{prompt}")
            );
        }
        // Output may go on below them.
        assert_eq!(
            fold_terminal_output(&format!("{prompt}{art}\nI see two:\n\n{art}{prompt}")),
            format!(
                "{prompt}[… 21 lines of output …]\nI see two:\n\n[… 20 lines of output …]\n{prompt}"
            )
        );
        // A program may advise, too.
        let advice = "Please never run this as root.\n";
        assert_eq!(
            fold_terminal_output(&format!("{prompt}{art}\n{advice}{prompt}")),
            format!("{prompt}[… 22 lines of output …]\n{prompt}")
        );
        let greeting = "  I'll help you\n".repeat(4);
        assert_eq!(
            fold_terminal_output(&format!("{prompt}{art}\n{greeting}{prompt}")),
            format!("{prompt}[… 25 lines of output …]\n{prompt}")
        );
    }
}
