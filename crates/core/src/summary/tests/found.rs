//! What a summary keeps of outputs, so that nobody has to look again.

use super::*;

fn bash_prints(command: &str, output: &str) -> Vec<String> {
    let arguments = format!(r#"{{"command":{}}}"#, json(command));
    called("", "bash", &arguments, output, false)
}

fn reads(path: &str, output: &str) -> Vec<String> {
    let arguments = format!(r#"{{"path":{}}}"#, json(path));
    called("", "read", &arguments, output, false)
}

#[test]
fn looks_of_an_open_request_are_listed_by_what_they_found() {
    let looks = vec![
        user("apply for the harbour grant"),
        reads(
            "GRANT.md",
            "# Grant\nTen boats at most.\n\n## Form\n## Proof",
        ),
        bash_prints("git remote -v", "origin https://example.org/map.git (push)"),
        reads("src/map.rs", "use a;\nuse b;\nfn low() {\n"),
        bash_prints("cat src/tide.rs", "use a;\nuse b;\nfn low() {\n"),
    ];
    assert_snapshot!(section(&looks, "### In Progress"), @r#"
    - Found for the request under Goal, in order:
      - read `GRANT.md`: "Grant: Ten boats at most. / Form / Proof"
      - `git remote -v`: "origin https://example.org/map.git (push)"
      - Also read, newest first: `src/tide.rs`
    - Last tool calls, in order:
      - `cat src/tide.rs`: ok, "use a;"
    "#);

    // Once a file is changed, what was found is in it.
    let edited = [&looks[..], &[edit("grant.txt")]].concat();
    assert!(!section(&edited, "### In Progress").contains("Found for"));
    // So it is in the answer.
    let answered = [&looks[..], &[says("Ten boats, with a proof.")]].concat();
    assert!(!section(&answered, "### In Progress").contains("Found for"));
}

#[test]
fn what_was_found_is_not_taken_over_by_the_next_summary() {
    let first = summary(
        None,
        [
            user("apply for the harbour grant"),
            reads(
                "GRANT.md",
                "# Grant\nTen boats at most.\n\n## Form\n## Proof",
            ),
        ],
    );
    let next = summary(Some(&first), [edit("grant.txt")]);
    assert!(!next.contains("Found for"), "{next}");
}

#[test]
fn a_command_that_failed_at_its_end_removed_what_it_removed() {
    let mut builder = extract(None);
    feed(
        &mut builder,
        [
            user("draw the map"),
            bash(
                "rm -f a.svg b.svg; ls *.svg",
                Some("ls: no *.svg\n\nCommand exited with code 2"),
            ),
            bash(
                "make && rm c.svg",
                Some("no rule\n\nCommand exited with code 2"),
            ),
        ],
    );
    let removals = builder.finish().removals;
    assert!(removals.contain("a.svg"));
    assert!(!removals.contain("c.svg"));
}

#[test]
fn reports_of_sub_agents_are_listed_and_launch_notices_are_not() {
    let agent = |task: &str, report: &str| {
        let arguments = format!(r#"{{"description":"{task}","prompt":"{task} now"}}"#);
        called("", "Agent", &arguments, report, false)
    };
    let progress = section(
        [
            user("Draw the harbour."),
            agent(
                "Draw the piers",
                "I added `draw_pier` to `pier.rb`. All is well.",
            ),
            agent(
                "Draw the lights",
                "Async agent launched successfully.\nagentId: a1",
            ),
        ],
        "### In Progress",
    );
    assert_snapshot!(progress, @r#"
    - Found for the request under Goal, in order:
      - Agent `Draw the piers`: "I added `draw_pier` to `pier.rb`. All is well."
    - Last tool calls, in order:
      - Agent `Draw the lights`: ok
    "#);
}
