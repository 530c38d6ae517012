//! Options that users of other tools type by habit.

use super::refusal::Refusal;
use crate::cli::redaction::PRUNE_SECRETS_HINT;

/// Options of another tool that users type by habit, and the hint for them.
struct Habit {
    /// The typed options. A number of rows, such as `-5`, is listed as `-n`.
    typed: &'static [&'static str],
    /// The command for which they are typed. `*` is any command. An empty name is pisess itself,
    /// without a command.
    command: &'static str,
    hint: &'static str,
}

/// What users of git, ripgrep, jj, gh and ls type by habit. The first match counts.
const HABITS: [Habit; 36] = [
    Habit {
        typed: &["-C"],
        command: "",
        hint: "change the directory first, or give it to `list`, `grep` or `stats` as SESSION",
    },
    Habit {
        typed: &["-C"],
        command: "list",
        hint: "give the directory as SESSION",
    },
    Habit {
        typed: &["-E"],
        command: "grep",
        hint: "omit -E: every PATTERN is a regular expression",
    },
    Habit {
        typed: &["-L"],
        command: "blame",
        hint: "add the lines to FILE: FILE:LINE or FILE:FIRST,LAST",
    },
    Habit {
        typed: &["-L", "-n"],
        command: "list",
        hint: "did you mean --limit N?",
    },
    Habit {
        typed: &["-P"],
        command: "grep",
        hint: "omit -P: every PATTERN is a regular expression",
    },
    Habit {
        typed: &["-R"],
        command: "grep",
        hint: "omit -R: directories are searched at any depth",
    },
    Habit {
        typed: &["-a"],
        command: "tree",
        hint: "did you mean --filter all?",
    },
    Habit {
        typed: &["-b", "-c"],
        command: "switch",
        hint: "the next message begins a branch at REF; --label NAME labels it",
    },
    Habit {
        typed: &["-d", "--delete"],
        command: "label",
        hint: "did you mean --clear?",
    },
    Habit {
        typed: &["-g", "--glob"],
        command: "grep",
        hint: "give the sessions or directories to search as SESSION",
    },
    Habit {
        typed: &["-i", "--in-place"],
        command: "redact",
        hint: PRUNE_SECRETS_HINT,
    },
    Habit {
        typed: &["-m"],
        command: "append",
        hint: "did you mean --user TEXT?",
    },
    Habit {
        typed: &["-n"],
        command: "grep",
        hint: "omit -n: rows have the ids of their entries; --max-count N prints the first N",
    },
    Habit {
        typed: &["-n"],
        command: "tree",
        hint: "did you mean --around N?",
    },
    Habit {
        typed: &["-t", "--type"],
        command: "grep",
        hint: "did you mean --role ROLE?",
    },
    Habit {
        typed: &["--tools"],
        command: "grep",
        hint: "did you mean --tool TOOL?",
    },
    // Names of tools, typed as the value of --role.
    Habit {
        typed: &["bash", "edit", "read", "write"],
        command: "grep",
        hint: "did you mean --tool TOOL?",
    },
    Habit {
        typed: &["-v"],
        command: "",
        hint: "did you mean --version?",
    },
    Habit {
        typed: &["--after"],
        command: "*",
        hint: "did you mean --since TIME?",
    },
    Habit {
        typed: &["--before"],
        command: "*",
        hint: "did you mean --until TIME?",
    },
    Habit {
        typed: &["--count-matches"],
        command: "grep",
        hint: "did you mean --count?",
    },
    Habit {
        typed: &["--fix"],
        command: "check",
        hint: "did you mean --repair?",
    },
    Habit {
        typed: &["--format"],
        command: "context",
        hint: "did you mean --as FORMAT?",
    },
    Habit {
        typed: &["--format"],
        command: "export",
        hint: "did you mean --as FORMAT?",
    },
    Habit {
        typed: &["--format"],
        command: "*",
        hint: "did you mean --json?",
    },
    Habit {
        typed: &["--from", "--source"],
        command: "import",
        hint: "give the agent's sessions as SOURCE, such as ~/.claude/projects or ~/.codex/sessions",
    },
    Habit {
        typed: &["--grep", "--search"],
        command: "list",
        hint: "`pisess grep -l PATTERN` lists the sessions that contain a text",
    },
    Habit {
        typed: &["--jq"],
        command: "*",
        hint: "pipe the output of --json into jq",
    },
    Habit {
        typed: &["--limit"],
        command: "grep",
        hint: "did you mean --max-count N, of each session?",
    },
    Habit {
        typed: &["--list"],
        command: "import",
        hint: "`pisess list --all --source claude` lists what could be imported",
    },
    Habit {
        typed: &["--oneline"],
        command: "tree",
        hint: "omit --oneline: each entry is one row",
    },
    Habit {
        typed: &["--patch"],
        command: "*",
        hint: "`pisess show --patch SESSION` prints what the agent changed in files",
    },
    Habit {
        typed: &["--project"],
        command: "list",
        hint: "give the directory of the project as SESSION",
    },
    Habit {
        typed: &["--reverse"],
        command: "*",
        hint: "pipe the rows into `tac`",
    },
    Habit {
        typed: &["--sort"],
        command: "stats",
        hint: "rows have the highest cost first, dates ascend; `pisess list --sort` has other orders",
    },
];

/// Returns the hint for an option or a value that users type because other tools have it. `None` if
/// the refused option or value is not in [`HABITS`].
pub(super) fn find_habit(refusal: &Refusal) -> Option<&'static str> {
    let refused = refusal.invalid_value().or(refusal.unknown_argument())?;
    // `-20` means the same as `-n 20`, as for `head`.
    let number = refused.strip_prefix('-');
    let is_count = number.is_some_and(|number| number.parse::<u32>().is_ok());
    let typed = if is_count { "-n" } else { refused };

    let name = refusal.command_name();
    for habit in &HABITS {
        let is_for_command = habit.command == name || habit.command == "*";
        if is_for_command && habit.typed.contains(&typed) {
            return Some(habit.hint);
        }
    }
    None
}
