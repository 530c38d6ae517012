//! Long requests: their orders and rules are kept before their prose.

use super::*;

/// A plan with prose, a list of orders, and the workflow at its end.
fn plan() -> String {
    let prose =
        "The harbour has charts from three centuries, and each of them shows another coast. ";
    format!(
        "New task from the harbour office, the brief is in docs/BRIEF.md.\n\n{}\n\
         - each folder has chart.rb and README.md\n\
         - Never name the captain.\n\
         {}\n\
         - one chart at a time, and pause for my review\n\
         - final step: write everything into ATLAS.md\n",
        prose.repeat(12),
        prose.replace("three", "four").repeat(12),
    )
}

#[test]
fn the_plan_of_a_session_keeps_its_orders_to_the_last_line() {
    let text = summary(
        None,
        [
            user(&plan()),
            says("The first chart is done."),
            user("Draw the second chart with the piers of the northern harbour, please."),
            says("It is drawn."),
            user("Draw the third chart with the lights of the southern harbour, please."),
        ],
    );
    let goal = below(&text, "## Goal").join("\n");
    let purpose = goal
        .lines()
        .find(|line| line.contains("What the session began with"))
        .unwrap();
    for kept in [
        "New task from the harbour office",
        "each folder has chart.rb and README.md",
        "Never name the captain.",
        "one chart at a time, and pause for my review",
        "final step: write everything into ATLAS.md",
        "three centuries, and each of them shows another coast. …",
    ] {
        assert!(purpose.contains(kept), "{kept}: {purpose}");
    }
    assert!(count_utf16(purpose) < 1_300, "{purpose}");
}

#[test]
fn a_transcript_keeps_the_values_in_its_middle() {
    let talk = "and then we spoke about the weather and the coast and the people of the office ";
    let request = format!(
        "We want a calendar. {}and the office needs to see 21 days between two visits {}",
        talk.repeat(40),
        talk.repeat(40)
    );
    let specification = format!("{request}and it should list 6 visits. Users should see 10 boats.");
    let text = summary(None, [user(&specification)]);
    let quoted = quotation(&text, REQUEST);
    for kept in [
        "We want a calendar.",
        "21 days between",
        "6 visits.",
        "10 boats.",
    ] {
        assert!(quoted.contains(kept), "{kept}: {quoted}");
    }
    assert!(count_utf16(&quoted) <= 4_000);
}

#[test]
fn a_brief_that_was_pasted_twice_is_quoted_once() {
    let mut brief = String::new();
    for number in 0..30 {
        brief.push_str(&format!(
            "{number}. The chart {number} should show the piers and the lights of the harbour.\n"
        ));
    }
    let text = summary(None, [user(&format!("{brief}\nOnce more:\n{brief}"))]);
    let quoted = quotation(&text, REQUEST);
    for number in 0..30 {
        let line = format!("The chart {number} should");
        assert_eq!(quoted.matches(&line).count(), 1, "{quoted}");
    }
}
