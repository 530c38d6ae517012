//! The steps of a command line: what they run, and whether one repeats another.

/// Words of the shell's grammar, and programs, that precede a command; numbers, also of redirected
/// streams, are skipped.
const COMMAND_PREFIXES: &str =
    "while until if do then else elif { ( ! exec env nice nohup sudo time timeout";
/// The options of prefixes that have a value, as the user of `sudo -u`.
const PREFIX_OPTIONS: [&str; 3] = ["-u", "-g", "-C"];

/// The number of arguments by which a step is recognized.
const MOST_ARGUMENTS: usize = 3;
/// The number of arguments that are read, and that a step keeps if it removes or moves paths.
const MOST_PATHS: usize = 50;

/// A program of a command line, or another tool.
#[derive(Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct CommandStep {
    /// The program and up to three arguments that are not options: `git push origin`, `python
    /// a.py`.
    pub words: Vec<String>,
    /// The directory that the command line changes to; empty if it does not.
    pub folder: String,
}

impl CommandStep {
    /// Reads a part of a command line between two operators; `None` if it has no program. What
    /// differs between two runs of the same program is left out: `sudo -u ada /usr/bin/make -j4
    /// test` becomes `make test`. It has up to [`MOST_PATHS`] arguments; the caller calls
    /// [`Self::shorten`], and sets the directory of the step.
    pub fn parse(part: &str) -> Option<Self> {
        let all_words: Vec<&str> = part.split_whitespace().collect();
        let (path, after_program) = skip_runner(skip_prefixes(&all_words)).split_first()?;
        let file_name = path.rsplit('/').next()?;
        let (program, after_program) = match after_program {
            // `python -m pytest` runs `pytest`.
            ["-m", module, rest @ ..] if file_name.starts_with("python") => (*module, rest),
            _ => (file_name, after_program),
        };

        let mut words = vec![program.to_owned()];
        let arguments = after_program.iter().filter(|word| is_argument(word));
        for argument in arguments.take(MOST_PATHS) {
            words.push((*argument).to_owned());
        }
        Some(CommandStep {
            words,
            folder: String::new(),
        })
    }

    /// Drops the arguments by which the step is not recognized. A step that removes paths keeps all
    /// of them, because each is gone afterwards.
    pub fn shorten(&mut self) {
        if self.removed_paths().is_empty() {
            self.words.truncate(1 + MOST_ARGUMENTS);
        }
    }

    /// Whether the step runs an `earlier` one again, so that its outcome decides whether that one
    /// still fails. Both have the same program, and the same directory if both change to one. As
    /// far as both have arguments, these are equal, or the earlier one is a part of the own one:
    ///
    /// - `make` runs `make test` again, and `pytest tests` runs `pytest tests/tide.py` again;
    /// - `pip install -U wheel shap` runs `pip install shap` again, with one more argument.
    pub fn runs_again(&self, earlier: &CommandStep) -> bool {
        let are_folders_known = !self.folder.is_empty() && !earlier.folder.is_empty();
        if are_folders_known && self.folder != earlier.folder {
            return false;
        }
        let [program, arguments @ ..] = &self.words[..] else {
            return false;
        };
        let [earlier_program, earlier_arguments @ ..] = &earlier.words[..] else {
            return false;
        };
        if !is_same_program(program, earlier_program) {
            return false;
        }
        // Without a file, an interpreter runs the text of an option: `python -c "print(1)"`.
        let runs_text = runs_files(program) && arguments.is_empty();
        if runs_text && !earlier_arguments.is_empty() {
            return false;
        }

        // `zip` compares as many arguments as both have.
        let mut pairs = arguments.iter().zip(earlier_arguments);
        let covers_arguments =
            pairs.all(|(own, earlier)| own == earlier || is_part_of(earlier, own));
        covers_arguments || self.has_all_words_of(earlier)
    }

    /// Whether the step most likely does what a `missing` program was to do: it has arguments, all
    /// of which are also those of this step. `uv tool install .` replaces `pipx install .`.
    pub fn replaces(&self, missing: &CommandStep) -> bool {
        let has_arguments = missing.words.len() > 1;
        has_arguments && self.has_all_words_of(missing)
    }

    /// Whether the step has all arguments of the other one in their order, versions apart: `pip
    /// install --only-binary :all: shap` has those of `pip install shap==0.44`.
    fn has_all_words_of(&self, other: &CommandStep) -> bool {
        let mut own_words = self.words[1..].iter().map(|word| without_version(word));
        let mut other_words = other.words[1..].iter().map(|word| without_version(word));
        // `any` goes on after the word that it found last, so the order counts.
        other_words.all(|word| own_words.any(|own| own == word))
    }

    /// Whether the step, if it runs tests, runs all of them: none of its arguments selects some, as
    /// those of `npm test`, `make check` and `vitest run`, but not of `cargo test -p tide`.
    pub fn runs_all_tests(&self) -> bool {
        const SUBCOMMANDS: &str = "test tests check run nextest";
        let mut arguments = self.words[1..].iter();
        arguments.all(|word| contains_word(SUBCOMMANDS, word))
    }

    /// Returns the paths that the step removes, renames or moves. A pattern is no path.
    pub fn removed_paths(&self) -> Vec<&str> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        let paths = match words[..] {
            ["rm" | "rmdir" | "unlink", ref paths @ ..] | ["git", "rm", ref paths @ ..] => paths,
            ["mv", ref paths @ .., _to] | ["git", "mv", ref paths @ .., _to] => paths,
            _ => &[],
        };
        // A pattern or a variable names other paths than its text.
        let is_path = |path: &&str| !path.contains(['*', '?', '$', '{']) && *path != ".";
        paths.iter().copied().filter(is_path).collect()
    }

    /// Whether the program is in the list: `grep`, or with its subcommand, `git-commit`.
    pub fn is_one_of(&self, list: &str) -> bool {
        let with_subcommand = &self.words[..self.words.len().min(2)];
        contains_word(list, &self.words[0]) || contains_word(list, &with_subcommand.join("-"))
    }

    /// Whether a text names the program in a word of its own: `go` is not in "good".
    pub fn is_program_named_in(&self, text: &str) -> bool {
        contains_whole(&text.to_lowercase(), &self.words[0].to_lowercase())
    }

    /// Whether a text names the program, and its name is long enough not to be another word of the
    /// text, as `make` may be. Interpreters run other programs, so their names say little.
    pub fn is_distinct_program_named_in(&self, text: &str) -> bool {
        const SHORTEST: usize = 5;
        let program = &self.words[0];
        let is_distinct = program.len() >= SHORTEST && !runs_files(program);
        is_distinct && self.is_program_named_in(text)
    }

    /// Whether a text mentions what distinguishes the step: one of its arguments or, if it has
    /// none, its program. Of a path, the name of the file suffices: "the test in tide.py still
    /// fails".
    pub fn is_named_in(&self, text: &str) -> bool {
        let has_arguments = self.words.len() > 1;
        let distinctive_words = if has_arguments {
            &self.words[1..]
        } else {
            &self.words[..]
        };
        let lower_text = text.to_lowercase();
        distinctive_words.iter().any(|word| {
            let file_name = word.rsplit('/').next().unwrap_or_default();
            // A single letter is in nearly every text.
            file_name.len() > 1 && contains_whole(&lower_text, &file_name.to_lowercase())
        })
    }
}

/// Whether a text has a word, and not only as a part of a longer one, as `test` in "tests". In
/// Chinese and Japanese, nothing separates it from other words.
fn contains_whole(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + word.len()..].chars().next();
        let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        !is_letter(before) && !is_letter(after)
    })
}

/// Skips the words before the program, such as variables, `sudo`, `timeout` and their options:
/// `LANG=C sudo -u ada timeout 60 make test` becomes `make test`.
pub(super) fn skip_prefixes<'w>(words: &'w [&'w str]) -> &'w [&'w str] {
    let mut rest = words;
    while let [word, after_word @ ..] = rest {
        // The first word of a command line is no option.
        let is_after_prefix = rest.len() < words.len();
        let is_option = is_after_prefix && word.starts_with('-') && word.len() > 1;
        if is_option && PREFIX_OPTIONS.contains(word) {
            // The value of the option is skipped, too.
            rest = after_word.get(1..).unwrap_or_default();
        } else if is_option || precedes_command(word) {
            rest = after_word;
        } else {
            return rest;
        }
    }
    &[]
}

/// Whether a word of a command line precedes the program: a word of the shell, a variable's value,
/// the number of a redirected stream.
fn precedes_command(word: &str) -> bool {
    contains_word(COMMAND_PREFIXES, word)
        || word.contains('=') && !word.starts_with('-')
        || starts_with_digit(word)
}

/// Leaves out the runner of a package manager and its options: `npx jest` becomes `jest`, and
/// `poetry run -q pytest` becomes `pytest`, because other commands run these programs without a
/// runner. Returns all words if there is no runner, or it has no program to run.
fn skip_runner<'w>(words: &'w [&'w str]) -> &'w [&'w str] {
    let after_runner = match words {
        ["npx" | "bunx" | "uvx", rest @ ..] => rest,
        [
            "uv" | "poetry" | "pipenv" | "pdm" | "hatch",
            "run",
            rest @ ..,
        ] => rest,
        ["npm" | "pnpm" | "yarn" | "bundle", "exec", rest @ ..] => rest,
        _ => return words,
    };
    let is_option = |word: &&&str| word.starts_with('-');
    let option_count = after_runner.iter().take_while(is_option).count();
    let has_program = option_count < after_runner.len();
    if !has_program {
        return words;
    }
    &after_runner[option_count..]
}

/// Whether a word behind the program counts: not an option, a redirection, or what was quoted.
fn is_argument(word: &str) -> bool {
    !word.starts_with(['-', '>', '<', '_']) && !starts_with_digit(word)
}

fn starts_with_digit(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether two programs are the same, versions of Python apart: `python` and `python3.11`.
fn is_same_program(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    let is_version = |c: char| c.is_ascii_digit() || c == '.';
    let bare = one.trim_end_matches(is_version);
    let has_versions = ["python", "pip"].contains(&bare);
    has_versions && bare == other.trim_end_matches(is_version)
}

/// Whether a program is an interpreter, which runs what a file has, or a text in its options.
fn runs_files(program: &str) -> bool {
    let interpreters = [
        "python", "python3", "node", "ruby", "perl", "php", "sh", "bash", "deno",
    ];
    interpreters.contains(&program)
}

/// Whether a path is below a directory, or a test is in a file: a success of the whole is one of
/// the part.
fn is_part_of(part: &str, whole: &str) -> bool {
    // `./...` are all packages of Go.
    let whole = whole.trim_end_matches("...").trim_end_matches('/');
    if whole == "." {
        return true;
    }
    let rest = part.strip_prefix(whole).unwrap_or_default();
    !whole.is_empty() && (rest.starts_with('/') || rest.starts_with("::"))
}

/// Returns the name of a package without its version: `shap==0.44`, `left-pad@1.3`.
fn without_version(word: &str) -> &str {
    let name = word.split(['=', '<', '>', '~']).next().unwrap_or(word);
    match name.find('@') {
        // The name of a scope begins with it.
        None | Some(0) => name,
        Some(at) => &name[..at],
    }
}

/// Whether a list of words, separated by spaces, has this one.
fn contains_word(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}
