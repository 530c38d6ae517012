//! Command lines, as far as needed to recognize a command when it runs again. A call of another
//! tool is a command of one program.

use regex::Regex;
use std::sync::LazyLock;

/// Programs, words of the shell's grammar and tools of both agents that change nothing.
const LOOKING: &str = "awk basename cat cd command date df diff dirname du echo env exit export fd file find grep \
                       head jq less ls nl popd printf ps pushd pwd readlink realpath rg sed set sleep sort \
                       source stat tail test tree true type uniq wc which whoami [ \
                       for case esac done fi } ) \
                       git-blame git-branch git-config git-diff git-fetch git-grep git-log git-ls-files \
                       git-remote git-show git-status \
                       read fetch web_search glob search webfetch websearch";
/// Words of the shell's grammar, and programs, that precede a command; numbers, also of redirected
/// streams, are skipped.
const BEFORE_COMMAND: &str =
    "while until if do then else elif { ( ! exec env nice nohup sudo time timeout";

/// What is known of a command line.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// Its programs. Those that only look are omitted, unless all do.
    pub steps: Vec<Step>,
    /// Whether it changes nothing.
    pub looks: bool,
    /// Whether the exit code of a step is lost: in a pipe, before `||`, or because another step
    /// follows.
    pub is_hidden: bool,
}

/// A program of a command line, or another tool.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Step {
    /// The program and up to three arguments that are not options: `git push origin`, `python
    /// a.py`.
    pub words: Vec<String>,
    /// The directory that the command line changes to; empty if it does not.
    pub folder: String,
}

impl Command {
    /// Reads a command line.
    pub fn read(line: &str) -> Self {
        static QUOTED: LazyLock<Regex> =
            LazyLock::new(|| Regex::new(r#""[^"]*"|'[^']*'|>&[12]"#).expect("a constant"));
        let code = QUOTED
            .replace_all(line.split("<<").next().unwrap_or_default(), "_")
            .replace("&>", ">");
        let mut command = Command {
            looks: true,
            ..Command::default()
        };
        let mut folder = String::new();
        for part in code
            .trim_end_matches([';', '\n', ' '])
            .split_inclusive(['\n', ';', '|', '&'])
        {
            let Some(step) = Step::read(part.trim_end_matches(['\n', ';', '|', '&'])) else {
                continue;
            };
            if step.words[0] == "cd" {
                folder = step.words[1..].concat();
                continue;
            }
            let looks = step.is_one_of(LOOKING) && !writes(part);
            if command.looks && !looks {
                command = Command::default();
            }
            if command.looks || !looks {
                command.steps.push(Step {
                    folder: folder.clone(),
                    ..step
                });
                command.is_hidden |= part.ends_with(['\n', ';', '|']);
            }
        }
        command
    }

    /// Returns the call of another tool. All tools that change a file do the same with it.
    pub fn of_tool(tool: &str, target: &str) -> Self {
        // Claude Code's names of the tools begin with capitals.
        let name = tool.to_lowercase();
        let words = if is_changing(&name) {
            vec!["edit", target]
        } else {
            vec![&*name]
        };
        let step = Step {
            words: words.into_iter().map(str::to_owned).collect(),
            folder: String::new(),
        };
        Command {
            looks: step.is_one_of(LOOKING),
            steps: vec![step],
            is_hidden: false,
        }
    }
}

impl Step {
    /// Reads a part of a command line, without its operator.
    fn read(part: &str) -> Option<Self> {
        let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        let is_before = |word: &&str| {
            has(BEFORE_COMMAND, word)
                || word.contains('=') && !word.starts_with('-')
                || is_number(word)
        };
        let mut words = part.split_whitespace().skip_while(is_before);
        let program = words.next()?.rsplit('/').next()?;
        let arguments = words
            .filter(|word| !word.starts_with(['-', '>', '<', '_']) && !is_number(word))
            .take(3);
        let words = std::iter::once(program)
            .chain(arguments)
            .map(str::to_owned)
            .collect();
        Some(Step {
            words,
            folder: String::new(),
        })
    }

    /// Whether the outcome of one says whether the other still fails: it is the same program, with
    /// the same arguments and directory as far as both have them.
    pub fn is_like(&self, other: &Step) -> bool {
        let same_words = self
            .words
            .iter()
            .zip(&other.words)
            .all(|(own, other)| own == other);
        let is_anywhere = self.folder.is_empty() || other.folder.is_empty();
        same_words && (is_anywhere || self.folder == other.folder)
    }

    /// Whether the program is in the list: `grep`, or with its subcommand, `git-commit`.
    pub fn is_one_of(&self, list: &str) -> bool {
        has(list, &self.words[0]) || has(list, &self.words[..self.words.len().min(2)].join("-"))
    }

    /// Whether a text mentions the step: an argument, or its program if it has none.
    pub fn is_named_in(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        let words = &self.words[usize::from(self.words.len() > 1)..];
        let mut names = words.iter().filter_map(|word| word.rsplit('/').next());
        names.any(|name| name.len() > 1 && lower.contains(&name.to_lowercase()))
    }
}

/// Whether a tool changes files, by its name.
pub(super) fn is_changing(tool: &str) -> bool {
    let name = tool.to_lowercase();
    let is_list = name.contains("todo");
    !is_list
        && ["edit", "write", "patch", "create"]
            .iter()
            .any(|part| name.contains(part))
}

/// Whether a part of a command line writes a file, by a redirection or in place.
fn writes(part: &str) -> bool {
    let target = |at: usize| part[at..].trim_start_matches(['>', ' ']);
    let redirects = part
        .match_indices('>')
        .any(|(at, _)| !target(at).starts_with("/dev/null"));
    redirects || part.contains("sed ") && part.contains(" -i")
}

fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}
