//! What a command line did, in a few words: `cd a && npm run build 2>&1 | tail` is `npm run build`.

use super::clean::line;

/// A command worth telling, and what it is known by when it runs again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub text: String,
    /// What its success or failure is known by.
    pub key: String,
    /// It changes what others see (a commit, a tag, a push), so each one counts.
    pub lasting: bool,
    /// Its exit code was hidden by a pipe.
    pub masked: bool,
}

/// The steps of a command line that are worth telling.
pub(super) fn steps(command: &str) -> Vec<Step> {
    segments(command).into_iter().filter_map(|segment| step(&segment)).take(6).collect()
}

/// What a command line is known by, worth telling or not: its first step without its flags.
pub(super) fn name(command: &str) -> String {
    let segments = segments(command);
    let first = segments.iter().find(|segment| !is_setup(segment)).or(segments.first());
    first.map_or_else(String::new, |segment| line(&key(segment, 3), 80))
}

/// Whether a command line changes files by itself, as far as its words tell.
pub(super) fn changes_files(command: &str) -> bool {
    segments(command).iter().any(|segment| {
        let program = segment.words.first().map_or("", String::as_str);
        let edits =
            ["cp", "mv", "rm", "mkdir", "touch", "ln", "tee", "patch", "chmod", "install"].contains(&program);
        let in_place = program == "sed" && segment.words.iter().any(|word| word.starts_with("-i"));
        edits || in_place || writes_file(&segment.words)
    })
}

/// Whether output goes into a file: `> a`, `>>a`, but not `2>&1` or `> /dev/null`.
fn writes_file(words: &[String]) -> bool {
    words.iter().enumerate().any(|(at, word)| {
        let target = word.trim_start_matches('>');
        let target = if target.is_empty() { words.get(at + 1).map_or("", String::as_str) } else { target };
        word.starts_with('>') && !target.starts_with(['&', '(']) && !target.starts_with("/dev/")
    })
}

#[derive(Debug, Default)]
struct Segment {
    words: Vec<String>,
    piped: bool,
}

/// Splits at `&&`, `||`, `;` and newlines outside quotes; of a pipeline the first command counts.
fn segments(command: &str) -> Vec<Segment> {
    let (mut out, mut segment, mut word) = (Vec::new(), Segment::default(), String::new());
    let mut quote = None;
    let mut chars = command.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), c) if c == open => {
                quote = None;
                word.push(c);
            }
            (None, '"' | '\'') => {
                quote = Some(c);
                word.push(c);
            }
            (Some(_), c) => word.push(c),
            (None, ';' | '\n') => finish(&mut out, &mut segment, &mut word),
            (None, '&' | '|') if chars.peek() == Some(&c) => {
                chars.next();
                finish(&mut out, &mut segment, &mut word);
            }
            (None, '|') => {
                push_word(&mut segment, &mut word);
                segment.piped = true;
            }
            (None, c) if c.is_whitespace() => push_word(&mut segment, &mut word),
            (None, c) => word.push(c),
        }
        if out.len() > 40 {
            break;
        }
    }
    finish(&mut out, &mut segment, &mut word);
    out
}

fn push_word(segment: &mut Segment, word: &mut String) {
    let word = std::mem::take(word);
    let assigns = segment.words.is_empty() && word.split_once('=').is_some_and(|(name, _)| is_name(name));
    if !word.is_empty() && !segment.piped && !assigns {
        segment.words.push(word);
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit())
}

fn finish(out: &mut Vec<Segment>, segment: &mut Segment, word: &mut String) {
    push_word(segment, word);
    let segment = std::mem::take(segment);
    if !segment.words.is_empty() {
        out.push(segment);
    }
}

fn is_setup(segment: &Segment) -> bool {
    segment
        .words
        .first()
        .is_none_or(|word| matches!(word.as_str(), "cd" | "export" | "source" | "set" | "pushd" | "sleep"))
}

fn step(segment: &Segment) -> Option<Step> {
    let words: Vec<&str> = segment.words.iter().map(String::as_str).collect();
    let arguments = words.iter().skip(1).copied().filter(|word| !word.starts_with('-')).collect::<Vec<_>>();
    let sub = arguments.first().copied().unwrap_or_default();
    let program = words.first()?.rsplit('/').next().unwrap_or_default();
    let (kept, lasting) = match program {
        "git" => match sub {
            "commit" | "tag" | "push" | "merge" | "rebase" | "revert" | "reset" | "cherry-pick" => {
                (true, true)
            }
            "switch" | "checkout" => (words.iter().any(|word| matches!(*word, "-b" | "-c" | "-B")), true),
            _ => (false, false),
        },
        "gh" | "glab" => (matches!(sub, "pr" | "release" | "issue"), true),
        "npm" | "pnpm" | "yarn" | "bun" => match sub {
            "publish" => (true, true),
            "test" | "version" | "build" | "lint" | "check" => (true, false),
            "run" => match arguments.get(1).copied().unwrap_or_default() {
                "publish" | "release" | "deploy" => (true, true),
                other => (!other.is_empty(), false),
            },
            _ => (false, false),
        },
        "cargo" | "go" | "dotnet" | "mix" | "deno" | "swift" | "zig" => match sub {
            "publish" => (true, true),
            "test" | "build" | "check" | "clippy" | "vet" | "nextest" | "bench" => (true, false),
            _ => (false, false),
        },
        "docker" | "podman" => (matches!(sub, "build" | "push" | "compose"), sub == "push"),
        "kubectl" | "terraform" | "helm" => {
            (matches!(sub, "apply" | "install" | "upgrade" | "destroy"), true)
        }
        "npx" | "bunx" => {
            (matches!(sub, "tsc" | "tsgo" | "jest" | "vitest" | "eslint" | "biome" | "playwright"), false)
        }
        "python" | "python3" | "uv" | "poetry" => (arguments.contains(&"pytest"), false),
        "make" | "just" | "pytest" | "tox" | "tsc" | "tsgo" | "jest" | "vitest" | "gradle" | "gradlew"
        | "mvn" | "ctest" | "ninja" | "bazel" | "rspec" | "phpunit" | "eslint" | "ruff" | "mypy"
        | "xcodebuild" => (true, false),
        _ => (false, false),
    };
    let text = if lasting { words.join(" ") } else { key(segment, 3) };
    let text = line(&text.replace('`', "'"), 100);
    kept.then(|| Step { text, key: line(&key(segment, 3), 80), lasting, masked: segment.piped })
}

/// The first words of a segment that are no flags or redirections.
fn key(segment: &Segment, count: usize) -> String {
    let counts = |word: &&String| !word.starts_with('-') && !word.contains(['>', '<', '*']);
    let words: Vec<&str> = segment.words.iter().filter(counts).take(count).map(String::as_str).collect();
    words.join(" ").replace('`', "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(command: &str) -> Vec<String> {
        steps(command).into_iter().map(|step| step.text).collect()
    }

    #[test]
    fn a_command_line_becomes_its_steps() {
        assert_eq!(texts("cd a/b && npm run build 2>&1 | tail -3"), ["npm run build"]);
        assert_eq!(
            texts("git add . && git commit -m \"Fix; all && more\" && git push"),
            ["git commit -m \"Fix; all && more\"", "git push"]
        );
        assert_eq!(texts("RUST_LOG=x cargo test --lib -- summary"), ["cargo test summary"]);
        assert_eq!(texts("grep -n foo bar.rs; ls"), Vec::<String>::new());
        assert!(steps("npm test | tail")[0].masked);
        assert!(
            changes_files("mkdir -p a && ls")
                && changes_files("cat a > b")
                && !changes_files("ls 2>&1 > /dev/null")
        );
    }

    #[test]
    fn any_command_has_a_name() {
        assert_eq!(name("cd x && grep -rn foo src | head"), "grep foo src");
        assert_eq!(name("cat <<'EOF'\nlong\nEOF"), "cat");
        assert_eq!(name(""), "");
    }
}
