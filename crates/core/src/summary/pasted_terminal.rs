//! What a user pasted from a terminal: the commands and the words below them are the user's, the
//! output between is not, and may fill a screen.

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
/// number of lines:
///
/// ```text
/// ada@mac src % make            ada@mac src % make
/// 40 lines of output       ──>  [… 40 lines of output …]
/// ada@mac src %                 ada@mac src %
/// why is that?                  why is that?
/// ```
///
/// What is below the last prompt stays, because nothing shows where its output ends.
pub(super) fn fold_terminal_output(message: &str) -> Cow<'_, str> {
    let lines: Vec<&str> = message.lines().collect();
    let long_outputs = find_long_outputs(&lines);
    if long_outputs.is_empty() {
        return Cow::Borrowed(message);
    }

    let mut parts = Vec::new();
    let mut unread_start = 0;
    for output in long_outputs {
        // The lines before an output end with its prompt, and so are never empty.
        parts.push(lines[unread_start..output.start].join("\n"));
        parts.push(fold_output(&lines[output.clone()]));
        unread_start = output.end;
    }
    parts.push(lines[unread_start..].join("\n"));
    Cow::Owned(parts.join("\n"))
}

/// Returns the range of the lines of each output between two prompts that has at least
/// [`LONG_OUTPUT`] lines.
fn find_long_outputs(lines: &[&str]) -> Vec<Range<usize>> {
    let mut long_outputs = Vec::new();
    let mut last_prompt = None;
    for (index, line) in lines.iter().enumerate() {
        if !is_prompt(line) {
            continue;
        }
        if let Some(prompt) = last_prompt {
            let output = prompt + 1..index;
            if output.len() >= LONG_OUTPUT {
                long_outputs.push(output);
            }
        }
        last_prompt = Some(index);
    }
    long_outputs
}

/// Returns what replaces an output: its number of lines, and the first [`MOST_KEPT`] lines that
/// report a failure.
fn fold_output(output: &[&str]) -> String {
    let mut folded = format!("[… {} lines of output …]", output.len());
    let failures = output.iter().filter(|line| reports_failure(line));
    for failure in failures.take(MOST_KEPT) {
        folded.push('\n');
        folded.push_str(failure);
    }
    folded
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
/// a shell. A command may follow after a space: `ada@mac src % make`.
fn is_unix_prompt(line: &str) -> bool {
    /// The host and the folder take fewer columns.
    const LONGEST_PLACE: usize = 80;
    /// The signs of zsh, of other shells, and of the shells of root.
    const SIGNS: [char; 3] = ['%', '$', '#'];

    let Some((user, after_user)) = line.split_once('@') else {
        return false;
    };
    let Some((place, command)) = after_user.split_once(SIGNS) else {
        return false;
    };
    let is_in_name = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let is_user = !user.is_empty() && user.chars().all(is_in_name);
    // In `ada@example.org costs 5$a`, no shell wrote the sign.
    let is_sign_apart = command.is_empty() || command.starts_with(' ');
    is_user && is_sign_apart && is_narrower(place, LONGEST_PLACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_names_a_user_and_a_host_or_a_folder() {
        for line in [
            "ada@mac src % make",
            "(base) ada@mac ~ %",
            "ada@harbour:~/src$ make",
            "root@harbour:/# ls",
            "PS C:\\src> make",
            "C:\\src>make",
        ] {
            assert!(is_prompt(line), "{line}");
        }
        for line in [
            "ask ada@example.org, 5 % of the boats",
            "@ada costs 5 $",
            "ada@example.org",
            "PS: draw it > 5 cm",
            "",
        ] {
            assert!(!is_prompt(line), "{line}");
        }
    }

    #[test]
    fn long_outputs_between_prompts_are_folded() {
        let art = "╔══╗\n".repeat(20);
        let message = format!(
            "see below\nada@mac ~ % make\n{art}error: no chart\nada@mac ~ % ls\na\nb\nada@mac ~ %\nwhy?"
        );
        assert_eq!(
            fold_terminal_output(&message),
            "see below\nada@mac ~ % make\n[… 21 lines of output …]\nerror: no chart\nada@mac ~ % ls\na\nb\nada@mac ~ %\nwhy?"
        );
        // Nothing shows where the last output ends.
        let message = format!("ada@mac ~ % make\n{art}why?");
        assert_eq!(fold_terminal_output(&message), message);
    }
}
