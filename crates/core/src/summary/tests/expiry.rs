//! What is out of date: orders that were for the moment, blockers that were worked on, plans of an
//! earlier summary. And what must not get lost beside it.

use super::*;

#[test]
fn an_order_for_the_moment_ends_when_the_work_goes_on() {
    let mut messages = vec![
        user(
            "Plan the map of the harbours. Do not draw anything yet. Never call the office. Only read the old map before you start.",
        ),
        says("The plan has three steps."),
        user("continue with step 1: the coast - do not touch the legend"),
        look("coast.svg"),
        says("The coast is clear."),
    ];
    let constraints = |messages: &[Vec<String>]| {
        let mut all = messages.to_vec();
        all.push(user("What is the scale of the old map of the harbours?"));
        section(&all, "## Constraints & Preferences")
    };
    let before = constraints(&messages);
    for wish in [
        "anything yet",
        "before you start",
        "do not touch the legend",
        "Never call",
    ] {
        assert!(before.contains(wish), "{wish}: {before}");
    }

    messages.push(user("Now draw the harbours, as we planned it."));
    messages.push(edit("harbours.svg"));
    messages.push(says("Drawn."));
    let after = constraints(&messages);
    assert_eq!(after.trim(), "- \"Never call the office.\"");
}

/// A summary in the form of a model that numbers its headings.
const NUMBERED: &str = "Analysis:\n1. **Request**: a map\n\nSummary:\n1. Primary Request and Intent:\n   The user draws a map of the islands for the pilots. So far, the explicit requests of this session in their order were, from the first to the last:\n   - Draw the coast.\n\n2. Key Technical Concepts:\n   - SVG\n\n3. Errors and fixes:\n   - **No errors**: all went well.\n\n4. All user messages (without results of tools, in this part of the session):\n   - \"Draw the coast. Never rename the layers.\"\n   - \"Now add the buoys of the eastern bay\"\n   - \"Your task is to create a detailed summary of the conversation so far\"\n\n5. Pending Tasks:\n   - the lighthouses\n\n6. Optional Next Step:\n   Wait for the list of the buoys.\n";

#[test]
fn the_messages_in_a_numbered_summary_say_what_is_worked_on() {
    let text = summary(Some(NUMBERED), [look("buoys.csv")]);
    let goal = below(&text, "## Goal").join("\n");
    assert!(
        goal.contains("The user draws a map of the islands"),
        "{text}"
    );
    assert!(goal.contains("Now add the buoys"), "{text}");
    assert_eq!(
        below(&text, "## Constraints & Preferences"),
        ["- Earlier: \"Never rename the layers.\""]
    );
    assert_eq!(below(&text, "## Key Decisions"), ["- Earlier: SVG"]);
    for absent in ["Analysis", "No errors", "detailed summary"] {
        assert!(!text.contains(absent), "{absent}: {text}");
    }
    assert!(text.contains("- Earlier: Wait for the list"), "{text}");

    let later = summary(Some(NUMBERED), (0..10).map(|at| look(&format!("{at}.csv"))));
    assert!(later.contains("- Earlier: the lighthouses"), "{later}");
    assert!(!later.contains("Wait for the list"), "{later}");
}

#[test]
fn a_blocker_of_an_earlier_summary_ends_when_it_was_worked_on() {
    let previous = "## Progress\n### Blocked\n- The chart plotter of the western harbour is stuck\n- No key for the depth service";
    let messages = [
        user("Look at the plotter of the western harbour again."),
        says("The chart plotter runs: it had no paper."),
        user("Good. Draw the northern bay."),
    ];
    assert_eq!(
        below(&summary(Some(previous), messages), "### Blocked"),
        ["- Earlier: No key for the depth service"]
    );
}

#[test]
fn a_look_that_failed_holds_up_nothing_after_other_work() {
    let mut messages = vec![
        user("Start the tide server, then draw the bays."),
        bash("curl -s http://localhost:8000/tides", Some("exit code 7")),
    ];
    messages.extend((0..9).map(|at| edit(&format!("bay{at}.svg"))));
    assert!(section(&messages, "### Blocked").contains("curl"));
    messages.push(edit("bay9.svg"));
    assert_eq!(section(&messages, "### Blocked").trim(), "- (none)");
}

#[test]
fn a_long_reading_keeps_what_it_found() {
    let mut messages = vec![user("Read the whole archive, and understand it.")];
    let findings = [
        "The soundings of the west are older than the survey",
        "The eastern sheets were drawn twice",
        "The legend is shared by all sheets of the south",
        "The northern sheets have no scale at all",
    ];
    let detail = ", as the notes on the margin of each of the sheets say, and the letters of the office confirm it in three places: the first of them is from the harbour master, the second from the pilots, and the last one has no name";
    for finding in findings {
        let said = format!("{finding}{detail}. I read on.");
        messages.push(tool(&said, "read", r#"{"path":"a.txt"}"#, None));
        messages.extend((0..4).map(|at| look(&format!("{at}.txt"))));
    }
    messages.push(tool(
        "The index comes last.",
        "read",
        r#"{"path":"z"}"#,
        None,
    ));
    let text = summary(None, &messages);
    for finding in findings {
        let whole = format!("{finding}{detail}");
        assert!(text.contains(&whole), "{finding}: {text}");
    }
}

#[test]
fn an_answer_that_is_the_current_request_is_quoted_once() {
    let messages = [
        user("Draw the ferries."),
        edit("ferries.svg"),
        says("Drawn. Shall I draw the pilots' boats as well, or the buoys?"),
        user(
            "the boats, in grey, with their names in small capitals below the hull, and no frames",
        ),
        look("boats.csv"),
    ];
    let text = summary(None, messages);
    let decisions = below(&text, "## Key Decisions").join("\n");
    assert!(
        decisions.contains("or the buoys?\", the user answered with the request under Goal"),
        "{text}"
    );
    assert_eq!(text.matches("in small capitals").count(), 1, "{text}");
}
