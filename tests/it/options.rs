//! The names of options, over all commands.

use crate::sandbox::Sandbox;

/// Earlier spellings, and what they are now.
const FORMER: &[(&str, &str)] = &[
    ("tree ./two-branches.jsonl --at 1a2b3c04", "tree ./two-branches.jsonl 1a2b3c04"),
    (
        "summarize ./two-branches.jsonl root --at 1a2b3c05 --prepare",
        "summarize ./two-branches.jsonl root --from 1a2b3c05 --prepare",
    ),
    ("fork ./two-branches.jsonl --all -o -", "fork ./two-branches.jsonl --branches -o -"),
];

#[test]
fn former_spellings_work_and_are_hidden() {
    let s = Sandbox::with(&["two-branches.jsonl"]);
    for (former, now) in FORMER {
        let done = s.unchanged(former);
        assert_eq!((done.code, done.text()), (0, s.run(now)), "{former}");
        let mut words = former.split(' ');
        let (verb, option) = (words.next().unwrap(), words.find(|word| word.starts_with("--")).unwrap());
        let help = s.run(&format!("{verb} --help"));
        assert!(!help.contains(option), "{former}: {help}");
    }
}
