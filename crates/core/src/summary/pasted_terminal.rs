//! What a user pasted from a terminal: the commands and the words below them are the user's, the
//! output between is not, and may fill a screen.

use super::quote::{display_width, is_narrower};
use std::borrow::Cow;

/// An output of fewer lines is kept whole.
const LONG_OUTPUT: usize = 8;
/// The number of lines that are kept of a longer one: those that report a failure.
const MOST_KEPT: usize = 4;
/// A line of more columns is not kept.
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
    let mut prompts = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if is_prompt(line) {
            prompts.push(index);
        }
    }
    let is_long = |pair: &[usize]| pair[1] - pair[0] > LONG_OUTPUT;
    if !prompts.windows(2).any(is_long) {
        return Cow::Borrowed(message);
    }

    let mut folded: Vec<Cow<str>> = Vec::new();
    let first_prompt = prompts[0];
    folded.extend(
        lines[..first_prompt]
            .iter()
            .map(|line| Cow::Borrowed(*line)),
    );
    for pair in prompts.windows(2) {
        folded.push(Cow::Borrowed(lines[pair[0]]));
        let output = &lines[pair[0] + 1..pair[1]];
        if output.len() < LONG_OUTPUT {
            folded.extend(output.iter().map(|line| Cow::Borrowed(*line)));
            continue;
        }
        folded.push(Cow::Owned(format!(
            "[… {} lines of output …]",
            output.len()
        )));
        let failures = output.iter().filter(|line| reports_failure(line));
        folded.extend(failures.take(MOST_KEPT).map(|line| Cow::Borrowed(*line)));
    }
    let last_prompt = prompts[prompts.len() - 1];
    folded.extend(lines[last_prompt..].iter().map(|line| Cow::Borrowed(*line)));
    Cow::Owned(folded.join("\n"))
}

/// Whether a line begins with the prompt of a shell: `ada@mac src % make`, `ada@host:~/src$ make`,
/// `PS C:\src> make`, `C:\src>make`.
fn is_prompt(line: &str) -> bool {
    let line = line.trim_start();
    if line.starts_with("PS ") || line.as_bytes().get(1..3) == Some(b":\\") {
        return line.contains('>') && line.contains(":\\");
    }
    // The name of a virtual environment may precede it: `(base) ada@mac src %`.
    let prompt = match line
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(") "))
    {
        Some((_, rest)) => rest,
        None => line,
    };
    let Some((user, rest)) = prompt.split_once('@') else {
        return false;
    };
    let is_name = |c: char| c.is_alphanumeric() || "-_.".contains(c);
    let is_user = !user.is_empty() && user.chars().all(is_name);
    // The host, and the folder: at most a few words before the sign.
    let Some(sign) = rest.find(['%', '$', '#']) else {
        return false;
    };
    let before_sign = &rest[..sign];
    let after_sign = &rest[sign + 1..];
    is_user
        && is_narrower(before_sign, LONGEST_PLACE)
        && (after_sign.is_empty() || after_sign.starts_with(' '))
}

/// The host and the folder of a prompt take fewer columns.
const LONGEST_PLACE: usize = 80;

fn reports_failure(line: &str) -> bool {
    const WORDS: [&str; 5] = ["error", "fatal", "failed", "not found", "denied"];
    let lower = line.to_lowercase();
    display_width(line) <= LONGEST_KEPT && WORDS.iter().any(|word| lower.contains(word))
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
