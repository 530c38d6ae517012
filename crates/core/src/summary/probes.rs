//! Probes: commands that only find out whether something is there, and change nothing. One that
//! fails has found that out, and blocks nothing.

use super::command_step::skip_prefixes;
use super::words::compile_expression;
use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// The options that make a program print its version or its help, and do nothing else.
const INFORMING_OPTIONS: [&str; 3] = ["--version", "-version", "--help"];

/// The programs that work on after they print their version for `-V`, or for which it means
/// `--verbose`.
const PROGRAMS_THAT_GO_ON: [&str; 5] = ["ctest", "gradle", "gradlew", "mvn", "mvnw"];

/// The programs whose `-v` prints the version. For others, such as `pytest`, it means `--verbose`.
/// It must be the only argument: `node test.js -v` runs the file.
const PROGRAMS_WITH_SHORT_OPTION: [&str; 8] =
    ["node", "npm", "ruby", "perl", "php", "lua", "bun", "nginx"];

/// The programs whose `version` does so. Elsewhere, it may be what is built: `make version`.
const PROGRAMS_WITH_SUBCOMMAND: [&str; 6] =
    ["docker", "go", "helm", "kubectl", "podman", "terraform"];

/// A program, a subcommand and the option: `cargo clippy --version`.
const MOST_WORDS: usize = 3;

/// Matches a script that only loads modules, and perhaps prints their version, as an argument of an
/// interpreter: `python3 -c "import shap"`, `node -e "require('x')"`, `perl -MDBI -e 1`. A path is
/// no module, but a file with a script of its own.
const LOADING_SCRIPTS: &str = r#"(?x)
    (?-u:\b)python[0-9.]*\ -c\ ?("(IMPORTS)"|'(IMPORTS)')
    | (?-u:\b)node\ (-e|-p)\ ?("(console\.log\()?require\('[^'"./][^'"]*'\)[.A-Za-z0-9_)]*;?"
      |'(console\.log\()?require\("[^'"./][^'"]*"\)[.A-Za-z0-9_)]*;?')
    | (?-u:\b)perl(\ -M[A-Za-z0-9_:]+)+\ -e\ ?("(print[^";]*)?1?;?"|'(print[^';]*)?1?;?'|1(?-u:\b))
    | (?-u:\b)ruby(\ -r\ ?[a-z0-9_][a-z0-9_/-]*)+\ -e\ ?("(puts[^";]*)?1?;?"|'(puts[^';]*)?1?;?'
      |1(?-u:\b))"#;

/// The statements of Python in such a script.
const IMPORTS: &str =
    r"\ *((import|from)\ [A-Za-z0-9_.,\ ]+;?\ *)+(print\([A-Za-z0-9_.,\ ]*\)\ *)?;?\ *";

/// Returns a command line whose scripts that only load modules are replaced by `true`, which does
/// as little. Their quoted text is not read as a command.
pub(super) fn replace_loading_scripts(line: &str) -> Cow<'_, str> {
    static SCRIPT: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(&LOADING_SCRIPTS.replace("IMPORTS", IMPORTS)));
    if !line.contains(" -e") && !line.contains(" -c") && !line.contains(" -p") {
        return Cow::Borrowed(line);
    }
    SCRIPT.replace_all(line, "true")
}

/// Whether a part of a command line between two operators only prints the version or the help of a
/// program: `node --version`, `sudo docker compose version`.
pub(super) fn only_informs(part: &str) -> bool {
    let words: Vec<&str> = part.split_whitespace().collect();
    let mut own_words = skip_prefixes(&words);
    while let [before @ .., last] = own_words
        && is_redirection(last)
    {
        own_words = before;
    }
    let [path, .., option] = own_words else {
        return false;
    };
    if own_words.len() > MOST_WORDS {
        return false;
    }

    let program = path.rsplit('/').next().unwrap_or_default();
    let is_only_argument = own_words.len() == 2;
    match *option {
        "-V" if is_only_argument => !PROGRAMS_THAT_GO_ON.contains(&program),
        "-v" if is_only_argument => PROGRAMS_WITH_SHORT_OPTION.contains(&program),
        "version" => PROGRAMS_WITH_SUBCOMMAND.contains(&program),
        _ => INFORMING_OPTIONS.contains(option),
    }
}

/// Whether a word at the end of a command redirects a stream. `2>&1` is `2_` here.
fn is_redirection(word: &str) -> bool {
    let is_merge = word
        .strip_suffix('_')
        .is_some_and(|stream| stream.bytes().all(|byte| byte.is_ascii_digit()));
    is_merge || word.contains('>') || word == "/dev/null"
}
