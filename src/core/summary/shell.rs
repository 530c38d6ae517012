//! Command lines, as far as needed to recognize a command when it runs again.

use regex::Regex;
use std::sync::LazyLock;

/// Programs and words of the shell's grammar that change nothing.
const LOOKING: &str = "awk basename cat cd command date df diff dirname du echo env export fd file find grep \
                       head jq less ls nl popd printf ps pushd pwd readlink realpath rg sed set sleep sort \
                       source stat tail test tree true type uniq wc which whoami [ \
                       for case esac done fi } ) \
                       git-blame git-branch git-config git-diff git-fetch git-grep git-log git-ls-files \
                       git-remote git-show git-status";
/// Words of the shell's grammar that precede a command.
const BEFORE_COMMAND: &str = "while until if do then else elif { ( !";

/// What is known of a command line.
#[derive(Debug, Default)]
pub(super) struct Command {
    /// Its programs, each with its subcommand or first argument and the directory, to recognize a later run.
    /// Programs that only look are omitted, unless all do.
    pub steps: Vec<String>,
    /// Whether it changes nothing.
    pub looks: bool,
    /// Whether the exit code of a step is lost: in a pipe, before `||`, or because another step follows.
    pub is_hidden: bool,
}

/// Reads a command line.
pub(super) fn read(command: &str) -> Command {
    static QUOTED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r#""[^"]*"|'[^']*'|>&[12]"#).expect("a constant"));
    let code = QUOTED.replace_all(command.split("<<").next().unwrap_or_default(), "_");
    let code = code.replace("&>", ">");
    let parts = code.trim_end_matches([';', '\n', ' ']).split_inclusive(['\n', ';', '|', '&']);
    let mut steps: Vec<(String, bool, bool)> = parts.filter_map(step).collect();
    let looks = steps.iter().all(|(_, looks, _)| *looks);
    // The same command in another directory is a different one.
    let folder = steps.iter().find_map(|(name, ..)| Some(format!(" in {}", name.strip_prefix("cd ")?)));
    let folder = folder.filter(|_| !looks).unwrap_or_default();
    steps.retain(|step| looks || !step.1);
    let is_hidden = steps.iter().any(|(.., is_hidden)| *is_hidden);
    Command { steps: steps.into_iter().map(|(name, ..)| name + &folder).collect(), looks, is_hidden }
}

/// Reads a part of a command line, with the operator at its end. Returns the program, whether it changes
/// nothing, and whether its exit code is lost.
fn step(part: &str) -> Option<(String, bool, bool)> {
    let is_before = |word: &&str| has(BEFORE_COMMAND, word) || word.contains('=') && !word.starts_with('-');
    let is_hidden = part.ends_with(['\n', ';', '|']);
    let part = part.trim_end_matches(['\n', ';', '|', '&']);
    let mut words = part.split_whitespace().skip_while(is_before);
    let program = words.next()?.rsplit('/').next()?;
    let mut arguments = words.filter(|word| !word.starts_with(['-', '>', '<', '2']));
    let argument = arguments.next();
    let script = arguments.next().filter(|_| argument == Some("run"));
    let target = |at: usize| part[at..].trim_start_matches(['>', ' ']);
    let writes = part.match_indices('>').any(|(at, _)| !target(at).starts_with("/dev/null"));
    let looks = match (program, argument) {
        ("git", Some(argument)) => has(LOOKING, &format!("git-{argument}")),
        ("sed", _) => !part.contains(" -i"),
        _ => has(LOOKING, program),
    };
    let name: Vec<&str> = std::iter::once(program).chain(argument).chain(script).collect();
    Some((name.join(" "), looks && !writes, is_hidden))
}

fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(command: &str) -> Vec<String> {
        read(command).steps
    }

    #[test]
    fn a_command_line_is_its_programs() {
        assert_eq!(names("cd a/b && npm run build 2>&1 | tail -3"), ["npm run build in a/b"]);
        assert_eq!(
            names("git add . && git commit -m \"Fix; all && more\" && git push"),
            ["git add", "git commit", "git push"]
        );
        assert_eq!(names("RUST_LOG=x /usr/bin/cargo test --lib | grep FAILED"), ["cargo test"]);
        assert_eq!(names("for dir in a b; do make -C $dir; done"), ["make $dir"]);
        assert_eq!(names(""), Vec::<String>::new());
    }

    #[test]
    fn what_only_looks_is_known() {
        let looks = |command: &str| read(command).looks;
        for command in [
            "ls -la 2>/dev/null",
            "cd x; grep -rn foo src | head",
            "git log --oneline",
            "which x",
            "sed -n 1,5p a",
            "for dir in a b; do grep -n x $dir/c; done",
        ] {
            assert!(looks(command), "{command}");
        }
        for command in ["cat > a <<'EOF'\nx\nEOF", "sed -i s/a/b/ c", "make", "git push", "echo x >> y"] {
            assert!(!looks(command), "{command}");
        }
    }
}
