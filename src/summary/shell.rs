//! Command lines, as far as needed to recognize a command when it runs again.

use regex::Regex;
use std::sync::LazyLock;

/// Programs and words of the shell's grammar that change nothing.
const LOOKING: &str = "awk basename cat cd command date df diff dirname du echo env exit export fd file find grep \
                       head jq less ls nl popd printf ps pushd pwd readlink realpath rg sed set sleep sort \
                       source stat tail test tree true type uniq wc which whoami [ \
                       for case esac done fi } ) \
                       git-blame git-branch git-config git-diff git-fetch git-grep git-log git-ls-files \
                       git-remote git-show git-status";
/// Words of the shell's grammar, and programs, that precede a command.
const BEFORE_COMMAND: &str = "while until if do then else elif { ( ! exec env nice nohup sudo time timeout";

/// What is known of a command line.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// Its programs. Those that only look are omitted, unless all do.
    pub steps: Vec<Step>,
    /// Whether it changes nothing.
    pub looks: bool,
    /// Whether the exit code of a step is lost: in a pipe, before `||`, or because another step follows.
    pub is_hidden: bool,
}

/// A program of a command line, or another tool.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Step {
    /// The program and up to two subcommands: `git push`, `npm run build`.
    pub words: Vec<String>,
    /// The first argument that is the path of a file.
    pub file: Option<String>,
    /// The directory, if the command line changes it.
    pub folder: Option<String>,
}

impl Step {
    /// Whether the outcome of one says whether the other still fails: it is the same program, with the same file and
    /// directory as far as both name one.
    pub fn is_like(&self, other: &Step) -> bool {
        let fit = |of: fn(&Step) -> &Option<String>| {
            of(self) == of(other) || of(self).is_none() || of(other).is_none()
        };
        let same_words = self.words.iter().zip(&other.words).all(|(one, other)| one == other);
        same_words && fit(|step| &step.file) && fit(|step| &step.folder)
    }

    /// Whether the program is one of these: `grep`, or with its subcommand, `git-commit`.
    pub fn is_one_of(&self, names: &[&str]) -> bool {
        let named =
            |name: &&str| self.words[0] == *name || self.words[..self.words.len().min(2)].join("-") == *name;
        names.iter().any(named)
    }

    /// Whether a text speaks of the step: of its file, its subcommand, or its program if it has none.
    pub fn is_named_in(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let words = &self.words[usize::from(self.words.len() > 1)..];
        let file = self.file.iter().filter_map(|file| file.rsplit('/').next());
        let mut names = file.chain(words.iter().map(String::as_str));
        names.any(|name| name.len() > 1 && text.contains(&name.to_lowercase()))
    }
}

/// Reads a command line.
pub(super) fn read(command: &str) -> Command {
    static QUOTED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#""[^"]*"|'[^']*'|>&[12]"#).expect("a constant"));
    let code = QUOTED.replace_all(command.split("<<").next().unwrap_or_default(), "_");
    let code = code.replace("&>", ">");
    let parts = code.trim_end_matches([';', '\n', ' ']).split_inclusive(['\n', ';', '|', '&']);
    let mut command = Command { looks: true, ..Command::default() };
    let mut folder = None;
    for (step, looks, is_hidden) in parts.filter_map(step) {
        if step.words[0] == "cd" {
            folder = step.file.or(step.words.get(1).cloned());
            continue;
        }
        if command.looks && !looks {
            command = Command::default();
        }
        if command.looks || !looks {
            command.steps.push(Step { folder: folder.clone(), ..step });
            command.is_hidden |= is_hidden;
        }
    }
    command
}

/// Reads a part of a command line, with the operator at its end. Returns the program, whether it changes nothing, and
/// whether its exit code is lost.
fn step(part: &str) -> Option<(Step, bool, bool)> {
    let is_before = |word: &&str| {
        has(BEFORE_COMMAND, word) || word.contains('=') && !word.starts_with('-') || is_number(word)
    };
    let is_hidden = part.ends_with(['\n', ';', '|']);
    let part = part.trim_end_matches(['\n', ';', '|', '&']);
    let mut words = part.split_whitespace().skip_while(is_before);
    let program = words.next()?.rsplit('/').next()?;
    let arguments = || words.clone().filter(|word| !word.starts_with(['-', '>', '<']) && !is_number(word));
    let is_word = |word: &&str| {
        let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':');
        word.starts_with(char::is_alphabetic) && word.chars().all(is_inner)
    };
    let target = |at: usize| part[at..].trim_start_matches(['>', ' ']);
    let writes = part.match_indices('>').any(|(at, _)| !target(at).starts_with("/dev/null"));
    let looks = match (program, arguments().next()) {
        ("git", Some(argument)) => has(LOOKING, &format!("git-{argument}")),
        ("sed", _) => !part.contains(" -i"),
        _ => has(LOOKING, program),
    };
    let words = std::iter::once(program).chain(arguments().take_while(is_word).take(2));
    let step = Step {
        words: words.map(str::to_owned).collect(),
        file: arguments().find(|word| word.contains(['/', '.'])).map(str::to_owned),
        folder: None,
    };
    Some((step, looks && !writes, is_hidden))
}

/// Whether it begins as a number, or as the redirection of a numbered stream.
fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}
