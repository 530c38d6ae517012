//! Command lines, as far as they must be understood to know one command again.

/// Programs that only look, and what moves about or prints between steps.
const LOOKING: &str = "awk basename cat cd command date df diff dirname du echo env export fd file find grep \
                       head jq less ls nl popd printf ps pushd pwd readlink realpath rg sed set sleep sort \
                       source stat tail test tree true type uniq wc which whoami [";
/// Subcommands of git that only look.
const GIT_LOOKING: &str = "blame branch config diff fetch grep log ls-files remote show status";
/// Words of the shell's own grammar: what they begin is no program.
const GRAMMAR: &str = "for while until if case do then else done fi { (";

/// One program of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// The program and its subcommand or first argument: what a later run is known by.
    pub name: String,
    pub looks: bool,
    /// Its output goes into another program, whose exit code hides its own.
    pub piped: bool,
}

/// Returns the steps of a command line without those that only look, unless all do. A line that is
/// more than programs one after the other is one step, known by its whole text.
pub(super) fn steps(command: &str) -> Vec<Step> {
    let code = command.split_once("<<").map_or(command, |(before, _)| before);
    let segments = segments(code);
    let grammar = |segment: &String| segment.split_whitespace().next().is_some_and(|word| has(GRAMMAR, word));
    if segments.iter().any(grammar) {
        return vec![Step { name: command.trim().to_owned(), looks: false, piped: false }];
    }
    let steps: Vec<Step> = segments.iter().filter_map(|segment| step(segment)).collect();
    let acts = steps.iter().any(|step| !step.looks);
    let folder = steps.iter().find(|step| step.name.starts_with("cd ")).map(|step| step.name[3..].to_owned());
    let mut steps: Vec<Step> = steps.into_iter().filter(|step| !acts || !step.looks).collect();
    // The same command in another folder is another one.
    folder.iter().for_each(|folder| steps.iter_mut().for_each(|step| step.name += &format!(" in {folder}")));
    steps
}

/// Splits at what joins commands, outside quotations.
fn segments(command: &str) -> Vec<String> {
    let (mut segments, mut quote) = (vec![String::new()], None);
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, ';' | '\n') => segments.push(String::new()),
            (None, '&' | '|') if chars.next_if_eq(&c).is_some() => segments.push(String::new()),
            _ => {}
        }
        segments.last_mut().into_iter().for_each(|last| last.push(c));
    }
    segments
}

fn step(segment: &str) -> Option<Step> {
    let joints = [';', '&', '|', '\n', ' '];
    let (code, piped) = segment.split_once(" | ").map_or((segment, false), |(code, _)| (code, true));
    let is_setting = |word: &&str| word.contains('=') && !word.starts_with(['-', '=']);
    let mut words = code.trim_start_matches(joints).split_whitespace().skip_while(is_setting);
    let program = words.next()?.rsplit('/').next()?;
    let mut words = words.filter(|word| !word.starts_with(['-', '>', '<', '2', '&']));
    let argument = words.next();
    let script = words.next().filter(|_| argument == Some("run"));
    let looks = match program {
        "git" => argument.is_none_or(|argument| has(GIT_LOOKING, argument)),
        "sed" => !code.contains(" -i"),
        program => has(LOOKING, program),
    };
    let name: Vec<&str> = std::iter::once(program).chain(argument).chain(script).collect();
    Some(Step { name: name.join(" "), looks: looks && !writes(segment), piped })
}

/// Returns whether the output goes to a file.
fn writes(segment: &str) -> bool {
    segment.match_indices('>').any(|(at, _)| {
        let target = segment[at + 1..].trim_start_matches('>').trim_start();
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
