//! Command lines, as far as needed to recognize a command when it runs again.

/// Programs that only look, and those that move about or print between steps.
const LOOKING: &str = "awk basename cat cd command date df diff dirname du echo env export fd file find grep \
                       head jq less ls nl popd printf ps pushd pwd readlink realpath rg sed set sleep sort \
                       source stat tail test tree true type uniq wc which whoami [";
/// Subcommands of git that only look.
const GIT_LOOKING: &str = "blame branch config diff fetch grep log ls-files remote show status";
/// Words of the shell's grammar: those that a command follows, and those that begin a part without one.
const BEFORE_COMMAND: &str = "while until if do then else elif { ( !";
const WITHOUT_COMMAND: &str = "for case esac done fi } )";

/// One program of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The program and its subcommand or first argument, by which a later run is recognized.
    pub name: String,
    /// Whether it changes nothing.
    pub looks: bool,
    /// Whether its exit code is lost: in a pipe, before `||`, or because another step follows it.
    pub hidden: bool,
}

/// Returns the steps of a command line without those that only look, unless all do. A loop or branch
/// that does more than look is one step, known by its whole text.
pub(super) fn steps(command: &str) -> Vec<Step> {
    let code = command.split_once("<<").map_or(command, |(before, _)| before);
    let parts = parts(code);
    let has_grammar = parts.iter().any(|(part, _)| {
        part.split_whitespace()
            .next()
            .is_some_and(|word| has(BEFORE_COMMAND, word) || has(WITHOUT_COMMAND, word))
    });
    let mut steps: Vec<Step> = parts.iter().filter_map(|(part, hidden)| step(part, *hidden)).collect();
    if steps.iter().any(|step| !step.looks) {
        if has_grammar {
            return vec![Step { name: command.trim().to_owned(), looks: false, hidden: false }];
        }
        let folder = steps.iter().find_map(|step| step.name.strip_prefix("cd ").map(str::to_owned));
        steps.retain(|step| !step.looks);
        // The same command in another folder is a different one.
        folder
            .iter()
            .for_each(|folder| steps.iter_mut().for_each(|step| step.name += &format!(" in {folder}")));
    }
    steps
}

/// Splits a command line at what joins commands, outside quotation marks. With each part, returns
/// whether what follows it hides its exit code.
fn parts(command: &str) -> Vec<(String, bool)> {
    let (mut parts, mut part, mut quote) = (Vec::new(), String::new(), None);
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        let joins =
            quote.is_none() && (matches!(c, ';' | '\n' | '|') || c == '&' && chars.peek() == Some(&'&'));
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            _ => {}
        }
        if joins {
            chars.next_if_eq(&c);
            parts.push((std::mem::take(&mut part), c != '&'));
        } else {
            part.push(c);
        }
    }
    // Trailing separators hide nothing.
    if part.trim().is_empty() {
        parts.last_mut().into_iter().for_each(|(_, hidden)| *hidden = false)
    }
    parts.push((part, false));
    parts
}

fn step(part: &str, hidden: bool) -> Option<Step> {
    let is_setting = |word: &&str| word.contains('=') && !word.starts_with(['-', '=']);
    let mut words = part.split_whitespace().skip_while(|word| is_setting(word) || has(BEFORE_COMMAND, word));
    let first = words.next().filter(|word| !has(WITHOUT_COMMAND, word))?;
    let program = first.rsplit('/').next()?;
    let mut words = words.filter(|word| !word.starts_with(['-', '>', '<', '2', '&']));
    let argument = words.next();
    let script = words.next().filter(|_| argument == Some("run"));
    let looks = match program {
        "git" => argument.is_none_or(|argument| has(GIT_LOOKING, argument)),
        "sed" => !part.contains(" -i"),
        program => has(LOOKING, program),
    };
    let name: Vec<&str> = std::iter::once(program).chain(argument).chain(script).collect();
    Some(Step { name: name.join(" "), looks: looks && !writes(part), hidden })
}

/// Whether the output goes to a file.
fn writes(part: &str) -> bool {
    part.match_indices('>').any(|(at, _)| {
        let target = part[at + 1..].trim_start_matches('>').trim_start();
        !target.is_empty() && !target.starts_with(['&', '>']) && !target.starts_with("/dev/null")
    })
}

fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(command: &str) -> Vec<String> {
        steps(command).into_iter().map(|step| step.name).collect()
    }

    #[test]
    fn a_command_line_is_its_programs() {
        assert_eq!(names("cd a/b && npm run build 2>&1 | tail -3"), ["npm run build in a/b"]);
        assert_eq!(
            names("git add . && git commit -m \"Fix; all && more\" && git push"),
            ["git add", "git commit", "git push"]
        );
        assert_eq!(names("RUST_LOG=x /usr/bin/cargo test --lib | grep FAILED"), ["cargo test"]);
        assert_eq!(
            names("for dir in a b; do git -C $dir log; done"),
            ["for dir in a b; do git -C $dir log; done"]
        );
        assert_eq!(names(""), Vec::<String>::new());
    }

    #[test]
    fn what_only_looks_is_known() {
        let looks = |command: &str| steps(command).iter().all(|step| step.looks);
        for command in [
            "ls -la 2>/dev/null",
            "cd x; grep -rn foo src | head",
            "git log --oneline",
            "which x",
            "sed -n 1,5p a",
        ] {
            assert!(looks(command), "{command}");
        }
        for command in ["cat > a <<'EOF'\nx\nEOF", "sed -i s/a/b/ c", "make", "git push", "echo x >> y"] {
            assert!(!looks(command), "{command}");
        }
    }
}
