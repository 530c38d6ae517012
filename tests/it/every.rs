//! Tables of every command, for tests that apply to all of them. `F` is replaced by the session.

/// Forms that change nothing.
pub const READS: &[&str] = &[
    "tree F",
    "tree F --filter all --json",
    "tree F --filter no-tools --times --ascii",
    "tree F --search one",
    "path F",
    "path F --json",
    "path F root",
    "context F",
    "context F --as llm",
    "context F --as text",
    "context F --tokens",
    "context F --as anthropic",
    "context F --as openai --max-tokens 9",
    "context F --as openai-responses",
    "context F --as google",
    "label F",
    "label F --json",
    "label F @ n -n",
    "append F -n --user hi",
    "append F -n --json --user hi",
    "edit F @ -n --omit",
    "migrate F --check",
    "migrate F -n",
    "fork F -n",
    "fork F -n --all",
    "fork F -n --all --for omp",
    "fork F -n --for pi --json",
    "fork F @^{user} -n --before",
    "compact F --prepare",
    "compact F --prompt --first-kept none",
    "compact F -n --first-kept none",
    "summarize F root -n --summary s",
    "summarize F root --prepare",
    "summarize F root --prompt",
    "switch F root -n",
    "switch F root -n --json",
    "pop F -n",
    "pop F root -n --summary s",
    "pick F @ -n",
    "merge F root -n --summary s",
    "branches F",
    "branches F --json",
    "show F @",
    "show F @ --json",
    "show F root --children",
    "fork F @ -n --subtree",
    "export F -o -",
    "export F -o - --as markdown",
    "export F @ -o - --static",
    "export F --redact --paths -o -",
    "grep e F",
    "grep -i --raw --json e F",
    "grep -c --active e F",
    "stats F",
    "stats F --json",
    "stats F --by model",
    "stats F --by entry --json",
    "check F",
    "check F --json",
    "check F --repair -n",
    "redact F --check",
    "redact F --check --json",
    "redact F -n --paths",
    "prune F -n",
    "prune F -n --over 100 --json",
    "diff F root @",
    "diff F root @ --json",
    "diff F root @ --stat",
    "diff F root @ --context",
];

/// Read-only forms of commands that also accept directories of sessions.
pub const SEARCHES: &[&str] = &["list F", "list F --json", "list F --forks", "relocate F . -n"];

/// Commands that do not read a session.
const OTHERS: &[&str] = &["completions"];

/// Commands that change sessions but do not belong in [`CHANGES`]: the name, the reason, and the file with the tests.
/// A form in [`CHANGES`] changes the session in place, and no other file.
const ELSEWHERE: &[(&str, &str)] = &[
    ("prune", "changes sessions with large payloads only, and writes a second file: tests/it/prune.rs"),
    ("relocate", "moves the session from its name, into a store: tests/it/relocate.rs"),
];

/// Forms that change the session itself.
pub const CHANGES: &[&str] = &[
    "label F @ 'the end'",
    "append F --user hi",
    "edit F @ --omit",
    "migrate F",
    "compact F --first-kept none --summary s",
    "compact F --first-kept none",
    "summarize F root --summary s",
    "switch F root",
    "pop F root --summary s",
    "pick F @",
    "merge F root --summary s",
    "check F --repair --backup",
];

/// Forms that write another session, `./new`.
pub const MAKES: &[&str] = &[
    "label F @ n -o ./new",
    "append F --user hi -o ./new",
    "edit F @ --omit -o ./new",
    "migrate F -o ./new",
    "compact F --first-kept none --summary s -o ./new",
    "summarize F root --summary s -o ./new",
    "switch F root -o ./new",
    "pop F root --summary s -o ./new",
    "pick F @ -o ./new",
    "merge F root --summary s -o ./new",
    "fork F @ --subtree -o ./new",
    "fork F -o ./new",
    "fork F --all -o ./new",
    "fork F --all --for omp -o ./new",
    "fork F --for pi -o ./new",
    "check F --repair -o ./new",
    "redact F -o ./new",
    "prune F -o ./new",
];

/// Returns the first read-only form of each command, for tests in which each run takes long.
pub fn one_of_each() -> impl Iterator<Item = &'static str> {
    let mut seen = std::collections::HashSet::new();
    READS.iter().copied().filter(move |line| seen.insert(line.split(' ').next()))
}

/// Returns one of these forms for the session at this path.
pub fn of(line: &str, path: &str) -> String {
    line.replace(" F", &format!(" {path}"))
}

#[test]
fn no_command_is_left_out() {
    let has = |lines: &[&str], verb: &str| lines.iter().any(|line| line.split(' ').next() == Some(verb));
    for guide in pisess::GUIDES {
        let reads = has(READS, guide.verb) || has(SEARCHES, guide.verb) || OTHERS.contains(&guide.verb);
        assert!(reads, "{} is in no form that reads", guide.verb);
        assert_eq!(
            has(MAKES, guide.verb),
            guide.writes && guide.verb != "relocate",
            "{} among the forms that make a session",
            guide.verb
        );
        let makes_only = ["fork", "redact"].contains(&guide.verb);
        let is_elsewhere = ELSEWHERE.iter().any(|(verb, _)| *verb == guide.verb);
        assert!(!guide.writes || makes_only || is_elsewhere || has(CHANGES, guide.verb), "{}", guide.verb);
    }
    for (verb, place) in ELSEWHERE {
        let (_, file) = place.split_once(": ").unwrap();
        let source = std::fs::read_to_string(format!("{}/{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
        for what in ["killed", "full_disk"] {
            let is_tested =
                source.contains(&format!("_{what}")) || what == "killed" && source.contains("fn a_kill_");
            assert!(is_tested, "{verb}: no test of {what} in {file}");
        }
    }
}
