//! Tests: what a user requested in Claude Code and Codex, as `import` stores it in messages that
//! are not the user's.

use super::*;

fn custom(kind: &str, text: &str) -> Vec<String> {
    let content = json(text);
    vec![format!(
        r#"{{"role":"custom","customType":"{kind}","content":{content}}}"#
    )]
}

fn command(name: &str, arguments: &str) -> Vec<String> {
    let text = format!(
        "<command-message>{name}</command-message>\n<command-name>/{name}</command-name>\n<command-args>{arguments}</command-args>"
    );
    custom("claude.command", &text)
}

const PROMPT: &str = "# Chart\n\nDraw the chart of a harbour.\n\n- Never name the captain.\n";

#[test]
fn a_command_is_a_request_and_its_prompt_has_rules() {
    let text = summary(
        None,
        [
            command("chart", "north"),
            custom("claude.meta", PROMPT),
            tool("", "read", r#"{"path":"map.svg"}"#, None),
        ],
    );
    assert_eq!(
        quotation(&text, REQUEST),
        "/chart north\n\n[command: Draw the chart of a harbour.]"
    );
    assert_eq!(
        below(&text, "## Constraints & Preferences"),
        ["- Rules of the skill `/chart`: \"Never name the captain.\""]
    );

    // Without arguments, too: `/chart` is not for the agent itself.
    let text = summary(None, [command("chart", ""), says("Which harbour?")]);
    assert_eq!(quotation(&text, REQUEST), "/chart");
    assert!(text.contains("> Which harbour?"), "{text}");
}

#[test]
fn a_command_to_the_agent_itself_is_no_request() {
    let local = "<command-name>/model</command-name>\n<command-message>model</command-message>";
    for part in [
        custom("claude.command", local),
        custom("claude.meta", PROMPT),
        custom("claude.output", "Set model to x"),
    ] {
        let text = summary(None, [user("Draw the map of the bay."), part]);
        assert_eq!(quotation(&text, REQUEST), "Draw the map of the bay.");
        assert!(!text.contains("captain"), "{text}");
    }
    // What comes after the first reply is no prompt.
    let parts = [
        command("chart", "north"),
        says("Drawn."),
        custom("claude.meta", PROMPT),
    ];
    assert!(!summary(None, parts).contains("captain"));
}

#[test]
fn a_command_is_no_remark_on_a_failure() {
    let after = |part: Vec<String>| {
        let parts = [
            user("Draw the map of the bay."),
            bash("make map", Some("Exit code 2: no chart")),
            says("Drawn by hand."),
            part,
            says("I see."),
            user("Then draw the lights of all harbours, please."),
            bash("draw lights", None),
            says("They are drawn."),
            user("And which of them are red?"),
        ];
        section(parts, "### Blocked")
    };
    assert!(after(user("no chart, how odd")).contains("make map"));
    assert_eq!(after(command("review", "all")), "- (none)");
}

/// Codex keeps the user's messages through a compaction, and none of the replies.
#[test]
fn requests_that_codex_kept_are_requests() {
    let kept = |text: &str| custom("codex.compacted", text);
    let parts = [
        kept("# AGENTS.md instructions for /bay\n\nAlways draw north up."),
        kept("<environment_context>\n  <cwd>/bay</cwd>\n</environment_context>"),
        kept(
            "Draw the chart of the whole bay with all its harbours and lights, one sheet for each.",
        ),
        kept("Leave the wrecks out."),
        kept("1 and 2"),
        tool("I draw.", "write_stdin", r#"{"session_id":7}"#, None),
    ];
    let text = summary(None, parts);
    assert_eq!(quotation(&text, REQUEST), "1 and 2");
    assert!(
        text.contains("What the session began with: \"Draw the chart of the whole bay"),
        "{text}"
    );
    assert!(
        text.contains("The request before it: \"Leave the wrecks out.\""),
        "{text}"
    );
    for absent in ["AGENTS.md", "/bay", "not replied to", "Files changed"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
}

/// A session that was imported as a whole has the requests themselves, too.
#[test]
fn requests_that_codex_kept_are_not_counted_again() {
    let chart = "Draw the chart of the whole bay with all its harbours and lights, one sheet each.";
    let kept = |text: &str| custom("codex.compacted", text);
    let before = [
        user(chart),
        says("The chart has 12 sheets, and the lights are red on all of them."),
        user("Which knot holds the sheets together in the end?"),
        says("A bowline."),
    ];
    let with_copies = before.clone().into_iter().chain([
        kept(chart),
        kept("Which knot holds the sheets together in the end?"),
    ]);
    assert_eq!(summary(None, with_copies), summary(None, before.clone()));

    // The reply to the last kept request is not known.
    let text = summary(
        None,
        before
            .into_iter()
            .chain([kept("Print it on washi, twice.")]),
    );
    let next = below(&text, "## Next Steps");
    assert!(
        next[0].contains("its reply is not in the session"),
        "{text}"
    );
}
