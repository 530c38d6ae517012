//! What the assistant decided in long runs.

use super::*;

/// Returns the decisions of a run with these remarks, each before a call, and enough other calls to
/// make it a long one.
fn chosen(remarks: &[&str]) -> String {
    let mut messages = vec![user("Draw all the charts tonight, I am asleep.")];
    for remark in remarks {
        messages.push(called(remark, "bash", r#"{"command":"make"}"#, "", false));
    }
    for number in 0..10 {
        let command = format!(r#"{{"command":"make part{number}"}}"#);
        messages.push(called("", "bash", &command, "", false));
    }
    messages.push(called(
        "All sheets are drawn but those of the two western harbours.",
        "bash",
        r#"{"command":"make index"}"#,
        "",
        false,
    ));
    section(&messages, "## Key Decisions")
}

#[test]
fn what_a_long_run_settled_is_a_decision_with_its_reason() {
    let decisions = chosen(&[
        "I look at the charts first.",
        "The soundings are in fathoms. I keep them so, because the pilots compare them with the old charts.",
        "Now I write the legend.",
        "`proj` is missing here, so I use the projection of the old program.",
        "I take stock: 12 charts.",
        "I use grep to find the harbours.",
        "Shall I keep the names? I could leave them out.",
    ]);
    assert_eq!(
        decisions,
        "- The assistant chose: \"The soundings are in fathoms. I keep them so, because the pilots compare them with the old charts.\"\n\
         - The assistant chose: \"`proj` is missing here, so I use the projection of the old program.\""
    );
}

#[test]
fn a_later_choice_replaces_the_one_about_the_same() {
    let decisions = chosen(&[
        "The ink smears, so I use the grey pigment of the harbour office for the coast lines.",
        "I keep the legend in Latin, since the captain reads it.",
        "Too pale. I use the black pigment of the harbour office for the coast lines instead.",
        "The border takes long, so I go with the plain border for now.",
        "The frame has arrived from the joiner. I take the plain border back.",
    ]);
    assert!(!decisions.contains("grey"), "{decisions}");
    assert!(decisions.contains("black pigment"), "{decisions}");
    assert!(decisions.contains("Latin"), "{decisions}");
    assert!(!decisions.contains("border"), "{decisions}");
}

/// What has no subject begins its sentence, anywhere in the line.
#[test]
fn a_choice_without_a_subject_begins_its_sentence() {
    let decisions = chosen(&[
        "The ink is too pale. **Keep the black one**, because the pilots read it at night.",
        "The tables must keep the old order of the 12 harbours, because they are printed.",
    ]);
    assert!(decisions.contains("Keep the black one"), "{decisions}");
    assert!(!decisions.contains("old order"), "{decisions}");
}

#[test]
fn a_short_turn_and_a_later_request_leave_no_choice_of_the_assistant() {
    let short = [
        user("Draw the chart."),
        called(
            "I keep the old border, because the frame is cut.",
            "bash",
            r#"{"command":"make"}"#,
            "",
            false,
        ),
        says("Done."),
    ];
    assert_eq!(section(&short, "## Key Decisions"), "- (none)");

    let mut long = vec![user("Draw all the charts tonight.")];
    for number in 0..10 {
        let command = format!(r#"{{"command":"make part{number}"}}"#);
        long.push(called(
            "I keep `drawOldBorder`, because the frame is cut.",
            "bash",
            &command,
            "",
            false,
        ));
    }
    long.push(says("All drawn."));
    long.push(user("Thanks. Now the index of all the names."));
    let decisions = section(&long, "## Key Decisions");
    assert_eq!(decisions.matches("drawOldBorder").count(), 1, "{decisions}");
    long.pop();
    long.push(user("drawOldBorder must go, make a new one."));
    let decisions = section(&long, "## Key Decisions");
    assert!(!decisions.contains("assistant chose"), "{decisions}");
}

#[test]
fn a_later_request_drops_choices_of_a_previous_summary() {
    let previous = "## Key Decisions\n\
        - Earlier: The assistant chose: \"I keep `tide_v1`, because two scripts import it.\"\n\
        - The assistant chose: \"I dropped the server, since the charts need no routes.\"\n\
        - The user chose: \"the charts need no routes, says the server\"\n";
    let decisions = |request: &str| {
        let text = summary(Some(previous), [user(request)]);
        below(&text, "## Key Decisions").join("\n")
    };
    let renamed = decisions("Rename tide_v1 to tide, please.");
    assert!(!renamed.contains("tide_v1"), "{renamed}");
    assert!(renamed.contains("chose: \"I dropped"), "{renamed}");
    let restored = decisions("The charts do need routes, so put the server back.");
    assert!(restored.contains("tide_v1"), "{restored}");
    assert!(!restored.contains("I dropped"), "{restored}");
    assert!(restored.contains("The user chose"), "{restored}");
}

#[test]
fn choices_of_the_assistant_are_few_and_the_best() {
    let remarks = [
        "I leave the harbour mole out, since the survey ends before it.",
        "The lagoon is `brackish` by the old log, so I keep its colour 12.",
        "I keep the estuary of 1790, because `tide.csv` needs it.",
        "Both channels carry number 4, so I leave the smaller without.",
        "I keep the island's name in Gaelic 2, since the pilots say so.",
        "The peninsula lies on two sheets, so I leave it on sheet 3.",
        "I keep the glacier dashed (`-- 3`), because it moves.",
        "I leave the volcano at 880 m, since both gauges agree.",
    ];
    let decisions = chosen(&remarks);
    assert_eq!(decisions.lines().count(), 6, "{decisions}");
    assert!(decisions.contains("volcano"), "{decisions}");
    assert!(!decisions.contains("harbour mole"), "{decisions}");
}

#[test]
fn what_is_settled_is_told_from_what_is_done() {
    for settled in [
        "I'll go with SQLite, since the office PC has no server.",
        "I decided to keep the v1 endpoints next to the new ones.",
        "Let me use a fixed seed instead, otherwise the snapshots differ on each run.",
        "The hook can't reach the registry, so I'll pin the version to 2.3.1.",
        "Rather than patching the vendored copy, we switched to the upstream crate.",
        "Keeping `serde` out of the core crate, as the style guide asks.",
        "Ich bleibe bei der alten Tabelle `karten`, weil noch Daten darin sind.",
        "Je garde le format mp3 en 64k, parce que l'hébergement est petit.",
        "Mantengo la numeración de 2024, porque la junta no la ha cerrado.",
        "When I ran it, it failed on 2 charts, so I keep the old parser.",
        "I keep the lock here, because if we drop it, the 2 workers deadlock.",
    ] {
        let decisions = chosen(&[settled]);
        assert!(decisions.contains("The assistant chose"), "{settled}");
    }
    for done in [
        "Now I write the tests for the new parser of the harbour names.",
        "I use grep to see where the harbour names are read from the table.",
        "Let me check whether the build keeps the old object files around.",
        "I'll keep an eye on the memory while the long test is running here.",
        "We could keep the old table, or I'd switch to the new one instead.",
        "The build keeps failing, so the next thing to look at is the linker.",
        "Should I keep the old names of the harbours, or use the new ones?",
        "If you prefer the old colours, say so and the map gets them again.",
        "I keep getting `ECONNREFUSED`, because the container is not up.",
        "I kept seeing the same 404, so the route of the map must be wrong.",
        "If I keep the lock here, the 2 workers deadlock because each waits.",
        "When we drop the index, the query needs 40 s because of the join.",
        "We left the `v1` API at 12:30 because the tests needed too long.",
        "I replaced `foo.c` by `foo.h` by mistake, so it must come back.",
    ] {
        assert_eq!(chosen(&[done]), "- (none)", "{done}");
    }
}

#[test]
fn the_answer_of_a_short_turn_is_searched_for_choices_with_a_reason() {
    let after = |reply: &str| {
        section(
            [
                user("is the draw really random?"),
                edit("draw.js"),
                says(reply),
                user("thanks, and now the sounds of the wheel"),
            ],
            "## Key Decisions",
        )
    };
    let chosen =
        "I swapped `Math.random()` for `crypto.getRandomValues()`, because nobody can predict it.";
    assert!(after(chosen).contains("The assistant chose"));
    for other in [
        "I wrote the test and it does not pass.",
        "The captain said \"we picked the old brand, so keep it\" of `logo.svg`.",
        "Now revert `draw.js` to the old form because it is late.",
    ] {
        assert_eq!(after(other), "- (none)", "{other}");
    }
}

#[test]
fn a_list_of_decisions_is_quoted_until_a_later_one_replaces_it() {
    let plan = |first: &str| {
        says(&format!(
            "The plan is ready. Key decisions:\n\n- **{first}** for the harbours of the bay\n- `map.svg` stays in one file"
        ))
    };
    let messages = [
        user("Plan the map of the bay, please, with all of its harbours."),
        plan("Blue squares"),
        user("rather circles, and then plan the signs of the bay"),
        plan("Blue circles"),
        user("now draw all of it, on the paper of the harbour office"),
    ];
    let decisions = section(&messages, "## Key Decisions");
    assert!(
        decisions.contains("- The assistant listed as decided: \"Blue circles for the harbours of the bay; `map.svg` stays in one file\""),
        "{decisions}"
    );
    assert!(!decisions.contains("squares"), "{decisions}");
}

/// Returns the decisions after a long run that chose two things, and what the user then said.
fn decisions_after(message: &str) -> String {
    let mut messages = vec![user("Draw all the charts tonight, I am asleep.")];
    for remark in [
        "I use the grey pigment for the coast lines, because the black ink smears.",
        "I keep the legend in Latin, since the captain reads it.",
    ] {
        messages.push(called(remark, "bash", r#"{"command":"make"}"#, "", false));
    }
    for number in 0..10 {
        let command = format!(r#"{{"command":"make part{number}"}}"#);
        messages.push(called("", "bash", &command, "", false));
    }
    messages.push(says("All sheets are drawn."));
    messages.push(user(message));
    messages.push(says("I see."));
    section(&messages, "## Key Decisions")
}

#[test]
fn a_choice_that_the_user_does_without_or_undoes_is_no_decision() {
    let (grey, latin) = ("grey pigment", "legend in Latin");
    for (message, has_grey, has_latin) in [
        (
            "Now the harbours of the north, with their depths.",
            true,
            true,
        ),
        ("we don't need these legends", true, false),
        ("Draw the piers next. Forget the pigments.", false, true),
        ("i undid your changes, try again", false, false),
        ("please revert that and start with the piers", false, false),
        ("don't undo the border that the captain drew", true, true),
    ] {
        let decisions = decisions_after(message);
        assert_eq!(decisions.contains(grey), has_grey, "{message}: {decisions}");
        assert_eq!(
            decisions.contains(latin),
            has_latin,
            "{message}: {decisions}"
        );
    }
}
