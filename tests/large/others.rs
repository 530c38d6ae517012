//! Other processes that use the same session, in a number that takes long without optimization.

use crate::sandbox::{Sandbox, fixture, program};
use std::process::{Command, Stdio};

/// Eight shells, one process per label: each sees what the others wrote, so that they form one
/// chain.
#[test]
fn a_thousand_labels_from_parallel_shells() {
    const SHELLS: usize = 8;
    const EACH: usize = 125;
    let s = Sandbox::with(&["two-branches.jsonl"]);
    let script = format!(
        "i=0; while [ $i -lt {EACH} ]; do \"$0\" label --wait 300 two-branches.jsonl :2 \"n$1.$i\" || exit; i=$((i+1)); done"
    );
    let shell = |number: usize| {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", &script])
            .arg(program())
            .arg(number.to_string());
        shell
            .current_dir(s.path(""))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let shells: Vec<_> = (0..SHELLS).map(shell).collect();
    let mut ids = Vec::new();
    for shell in shells {
        let output = shell.wait_with_output().unwrap();
        assert!(output.status.success());
        ids.extend(
            String::from_utf8(output.stdout)
                .unwrap()
                .lines()
                .map(str::to_owned),
        );
    }
    assert!(
        s.bytes("two-branches.jsonl")
            .starts_with(&fixture("two-branches.jsonl"))
    );
    let path = s.run("path ./two-branches.jsonl --ids");
    let path: Vec<_> = path.lines().collect();
    assert_eq!((ids.len(), path.len()), (SHELLS * EACH, 5 + SHELLS * EACH));
    let mut added: Vec<_> = path[5..].to_vec();
    added.sort_unstable();
    ids.sort_unstable();
    assert_eq!(ids, added);
    assert_eq!(s.names(), ["two-branches.jsonl"]);
}
