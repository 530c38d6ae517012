//! Questions and answers of both sides.

use super::requests::word;
use super::*;

#[test]
fn answers_to_a_tool_that_asks_are_decisions() {
    let question = r#"{"questions":[{"question":"Which one?"}]}"#;
    let messages = [
        user("Set up the database."),
        called("", "ask", question, "PostgreSQL", false),
    ];
    let decision = "- Asked \"Which one?\", the user answered \"PostgreSQL\"";
    assert_eq!(section(messages, "## Key Decisions"), decision);
}

#[test]
fn questions_corrections_and_repetitions_are_told_apart() {
    let mut messages = vec![
        user("Which database?"),
        says("a) SQLite, one file\nb) Postgres\n\nWhich one?"),
        user("b"),
        stops("aborted", ""),
        user("no docker, we install it from the packages of the distribution"),
        says("Done."),
    ];
    for hour in 0..9 {
        messages.extend([
            user(&format!(
                "Read HEARTBEAT.md and follow it.\nIt is {hour}:00."
            )),
            says("OK"),
        ]);
    }
    let text = summary(None, &messages);
    assert_eq!(
        below(&text, "## Key Decisions"),
        ["- Asked \"Which one?\", the user answered \"b\"; \"b) Postgres\""]
    );
    assert!(quotation(&text, REQUEST).starts_with("no docker"), "{text}");
    assert_eq!(text.matches("HEARTBEAT").count(), 1, "{text}");
    messages.push(user(
        "Now the schema, with a table for each of the reports that we have.",
    ));
    let constraint = "- \"no docker, we install it from the packages of the distribution\"";
    assert_eq!(
        section(&messages, "## Constraints & Preferences"),
        constraint
    );
}

#[test]
fn a_reply_is_called_an_answer_only_if_nothing_speaks_against_it() {
    let state = |messages: &[_]| {
        (
            section(messages, "## Next Steps"),
            section(messages, "### In Progress"),
        )
    };
    let request = user("Publish the package, then tag the commit, and write the release notes.");
    let (next, progress) = state(&[request.clone(), says("Published. The tag is v1.")]);
    assert!(
        next.starts_with("1. The request under Goal was replied to. "),
        "{next}"
    );
    assert_eq!(progress, "- (none)");
    let failed = [
        request.clone(),
        bash(
            "npm publish",
            Some("npm error: E401\n\nCommand exited with code 1"),
        ),
        bash("npm publish 2>&1 | tail -1", None),
        says("The registry is in a bad mood."),
    ];
    let (next, progress) = state(&failed);
    assert!(
        next.starts_with(
            "1. The request under Goal was replied to, with a failure left open (see Blocked)."
        ),
        "{next}"
    );
    assert!(
        progress.contains("`npm publish 2>&1 | tail -1`: ended, its exit code hidden"),
        "{progress}"
    );
    for (reason, expected) in [
        ("aborted", "interrupted by the user"),
        ("error", "the model's reply failed"),
        ("length", "the model's reply reached its token limit"),
    ] {
        let (next, progress) = state(&[request.clone(), stops(reason, "x")]);
        assert!(
            next.starts_with(&format!("1. Go on with the request under Goal: {expected}")),
            "{next}\n{progress}"
        );
    }
}

#[test]
fn an_error_that_the_agent_wrote_is_not_quoted_as_words_of_the_assistant() {
    let words = "API Error: Unable to connect to the harbour";
    let failed = format!(
        r#"{{"role":"assistant","model":"<synthetic>","content":[{{"type":"text","text":{}}}],"stopReason":"error","errorMessage":"unknown"}}"#,
        json(words)
    );
    let plan = "I draw the piers first, because the boats hide them.";
    let text = summary(
        None,
        [
            user("Draw the map."),
            tool(plan, "read", r#"{"path":"map"}"#, None),
            vec![failed],
        ],
    );
    assert!(
        text.contains(&format!("1 tool call before the end:\n> {plan}")),
        "{text}"
    );
    assert_eq!(text.matches(words).count(), 1, "{text}");
    assert!(text.contains(&format!("the model's reply failed: \"{words}\"")));
}

/// Claude Code writes one when a session is opened again, for example.
#[test]
fn a_reply_that_no_model_gave_is_no_answer() {
    let no_reply = r#"{"role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"No response requested."}],"stopReason":"stop"}"#;
    let plan = "I draw the piers first, because the boats hide them.";
    let text = summary(
        None,
        [
            user("Plan the map of the harbour with its piers and boats."),
            says(plan),
            vec![no_reply.to_owned()],
            user("Draw it as planned, and stop after each pier."),
        ],
    );
    assert!(text.contains(plan), "{text}");
    assert!(!text.contains("No response requested"), "{text}");
}

#[test]
fn last_words_are_whole_or_say_who_cut_them() {
    let lead = |words: &str| {
        let text = summary(
            None,
            [
                user("Report everything that you found, in full."),
                says(words),
            ],
        );
        text.lines()
            .find(|line| line.starts_with(LAST_WORDS_LEAD))
            .unwrap()
            .to_owned()
    };
    let long = "One more line of this report.\n".repeat(45);
    assert_eq!(lead(&long), "The assistant's last words:");
    assert_eq!(
        quotation(&summary(None, [says(&long)]), "The assistant's last words:"),
        long.trim_end()
    );
    let text = summary(None, [says(&long.repeat(3))]);
    assert!(
        quotation(&text, "The assistant's last words:").contains(" characters left out …]"),
        "{text}"
    );
}

#[test]
fn no_answer_is_quoted_twice() {
    let messages = [
        user("Which framing would you use for this protocol?"),
        says("Length-prefixed JSON."),
        user("Fine. And how often should the server send a ping?"),
        says("Each 30 seconds."),
        user("Thanks. Draft the message types, in a table."),
        says("Drafted. Shall I write it down?"),
    ];
    let text = summary(None, &messages);
    assert!(
        below(&text, "## Goal")
            .last()
            .unwrap()
            .ends_with(": answered: \"Each 30 seconds.\""),
        "{text}"
    );
    for words in [
        "Each 30 seconds",
        "Length-prefixed",
        "Shall I write it down?",
    ] {
        assert_eq!(text.matches(words).count(), 1, "{words}: {text}");
    }
    assert!(below(&text, "## Next Steps")[0].ends_with("The reply ends in a question."));
    // The next summary lists them as well.
    let text = summary(
        Some(&text),
        [user(
            "Write it down as docs/protocol.md, and add the framing as well.",
        )],
    );
    for words in ["Each 30 seconds", "Length-prefixed"] {
        assert_eq!(text.matches(words).count(), 1, "{words}: {text}");
    }
}

#[test]
fn an_answer_that_is_cut_keeps_its_value() {
    let long =
        "I looked at the configuration of the board and at the two places that read it. ".repeat(6);
    let messages = [
        user("Which port does the board use, and who sets it?"),
        says(&format!(
            "Done. {long}\nThe port is `8081`, from board.toml."
        )),
        user("Now describe the board on the start page, please."),
        edit("index.html"),
        says("It is described."),
    ];
    let text = summary(None, messages);
    let before = below(&text, "## Goal").pop().unwrap();
    assert!(before.contains("answered: \"I looked"), "{before}");
    assert!(before.contains("`8081`"), "{before}");
}

#[test]
fn a_long_question_keeps_what_can_be_chosen() {
    let question = "Shall I keep the list of the harbours as the office sent it in the winter, with all of the old names, the two wrong depths and the piers that were taken down since, or make a new one from the map of the survey, with the names of today?";
    let messages = vec![
        user("Bring the list of the harbours up to date."),
        says(question),
        user("a new one"),
        says("It is made."),
        user("And the piers?"),
    ];
    let decisions = decisions(messages);
    assert!(
        decisions.contains("Asked \"Shall I keep the list"),
        "{decisions}"
    );
    assert!(
        decisions.contains("or make a new one from the map"),
        "{decisions}"
    );
}

#[test]
fn a_request_without_a_reply_can_be_put_off() {
    let messages = vec![
        user("Erinnerungsmail? Der Kapitän wünscht sich eine am Montag an alle mit Mail"),
        user("ach ne, lass erstmal. später"),
        says("Gut, die Mail ist zurückgestellt."),
        user("Jetzt die Karte der Inseln."),
    ];
    let text = summary(None, messages);
    let put_off =
        "- The user put off: \"ach ne, lass erstmal. später\" (on \"Erinnerungsmail? Der Kapitän";
    assert!(text.contains(put_off), "{text}");
    assert_eq!(below(&text, "## Constraints & Preferences"), ["- (none)"]);
}

/// Of an older answer, what it set and found is quoted rather than its first words.
#[test]
fn an_older_answer_that_is_cut_keeps_code_and_pairs() {
    let talk = "I read the whole of the harbour office's archive for it, and it took me a while. ";
    for (report, kept) in [
        (
            "The names go from `Pier` → `Quay` in all of the lists. ",
            "`Pier` → `Quay`",
        ),
        (
            "The board reads `board.toml` and listens on `localhost`. ",
            "`board.toml`",
        ),
        (
            "After I had read the old and the new lists of all of the harbours and the ferries that call there, it turned out that the office counts from `month_start` and we did not. ",
            "`month_start`",
        ),
        (
            "With the tables of the office, and without the ones that we made of them by hand in the winter, the water is 3.4 m deep there. ",
            "3.4 m",
        ),
    ] {
        let mut messages = vec![
            user("Which of the lists has the names of the harbours?"),
            says(&format!("Look at `a.md` first. {talk}{report}{talk}{talk}")),
        ];
        for number in 1..=9 {
            messages.push(user(&format!("Draw pier {} of the harbour.", word(number))));
            messages.push(says(&format!("Pier {} is drawn.", word(number))));
        }
        let done = section(&messages, "### Done");
        assert!(done.contains(kept), "{done}");
    }
}

#[test]
fn a_decision_is_short_twenty_turns_after_it_was_quoted_last() {
    let ending = "where the captain finds it on Sundays";
    let answer = format!(
        "SQLite, one file in the folder of the ferry, beside the timetable and the prices of the summer and of the winter, and above the long list of the lighthouses, {ending}"
    );
    let decide = [
        user("Which database do we take for the bookings?"),
        says("Postgres or SQLite?"),
        user(&answer),
        says("Set up."),
    ];
    let others = |count: usize| {
        (0..count).flat_map(|at| {
            let request = format!("Paint harbour {at} in another tone.");
            [user(&request), says(&format!("Tone {at} is set."))]
        })
    };
    let decisions = |messages: Vec<Vec<String>>| section(messages, "## Key Decisions");
    let quoted = user("The captain has no folder on Sundays; SQLite gets one of the ferry.");

    let mut messages = decide.to_vec();
    messages.extend(others(12));
    assert!(decisions(messages).contains(ending));

    let mut messages = decide.to_vec();
    messages.extend(others(24));
    let old = decisions(messages);
    assert!(!old.contains(ending), "{old}");
    assert!(old.contains("SQLite, one file in the folder"), "{old}");

    let mut messages = decide.to_vec();
    messages.extend(others(12));
    messages.push(quoted);
    messages.extend(others(24).skip(24));
    assert!(decisions(messages).contains(ending));
}

#[test]
fn a_short_message_decides_on_what_the_end_of_the_reply_proposes() {
    let decided = |request: &str, reply: &str, answer: &str| {
        let messages = [user(request), says(reply), user(answer), says("As said.")];
        section(messages, "## Key Decisions")
    };
    let request = "Draw the ferry lines on the map.";
    for (reply, answer, decision) in [
        (
            "They are drawn. Should I smooth them? Otherwise they look ragged.",
            "smooth them a bit",
            "Asked \"They are drawn. Should I smooth them?\", the user answered \"smooth them a bit\"",
        ),
        (
            "The lines can be curves of the package `spline`, or 40 lines of our own.",
            "our own lines",
            "Asked \"The lines can be curves of the package `spline`, or 40 lines of our own.\", the user answered \"our own lines\"",
        ),
        (
            "Sie sind gezeichnet. Ich würde die Inseln trennen.",
            "ja, getrennt",
            "Asked \"Sie sind gezeichnet. Ich würde die Inseln trennen.\", the user answered \"ja, getrennt\"",
        ),
        (
            "They are drawn. I would dash them.",
            "now write the legend",
            "(none)",
        ),
        (
            "Dashes or colours?",
            "what is easier to read in print",
            "(none)",
        ),
        ("They have colours of ferries.", "ferries are red", "(none)"),
    ] {
        assert_eq!(decided(request, reply, answer), format!("- {decision}"));
    }
    assert_eq!(
        decided(
            "lines as dashes or in colours?",
            "Dashes are readable in print. Colours are prettier. The legend is the same.",
            "dashes, thin ones"
        ),
        "- Advised \"Dashes are readable in print.\", the user decided \"dashes, thin ones\""
    );
}

#[test]
fn choices_and_corrections_are_known_by_their_words() {
    for (message, is_choice) in [
        ("use the corrected file", true),
        ("parallel then", true),
        ("Die Fristen lieber als Tabelle", true),
        ("solid lines, not dashes", true),
        ("can we use dashes instead", false),
        ("write the legend", false),
    ] {
        let choices = choices::find_choices(&[message], "In parallel, or one by one.");
        assert!(
            choices.is_empty() || may_wish_or_choose(message),
            "{message}"
        );
        assert_eq!(!choices.is_empty(), is_choice, "{message}");
    }
    for (message, is_correction) in [
        ("sorry i dont want a new view, just the old one", true),
        ("we don't need this legend", true),
        ("i don't need anything else", false),
        ("i don't know", false),
        ("you forgot the piers", true),
        ("that's wrong, the pier is in the north", true),
        ("ich will keinen Rahmen", true),
        ("no quiero un marco", true),
        ("nein, nicht so breit", true),
        ("hm, actually two", true),
        ("hm no wait the captain has the list", true),
        ("non, en bleu", true),
        ("now in blue", false),
        ("nothing else", false),
        ("below the harbour. i said south", true),
        ("dashed? no. draw a new line", true),
        ("a backup? at night, for a week", false),
        ("oh no. ok. that is for me to redraw", false),
        ("oh no!", false),
        ("ach nein. schade", false),
        ("oh no! that's a pity", false),
        ("oh no! that's the old map", true),
        ("oh no! make the top the north", true),
        ("ach nein! links, nicht rechts", true),
        ("perfect, exactly what i asked for. now the legend", false),
        ("good, just as i said", false),
        ("as i said, the north is at the top", true),
        ("no harbours, that isn't what i asked for", true),
        ("what i asked for is the legend", true),
    ] {
        let found = choices::is_correction(message);
        assert_eq!(found, is_correction, "{message}");
    }
}

#[test]
fn what_comes_next_is_no_choice() {
    let after = |message: &str| {
        let parts = vec![
            user("Paint the boards of the ferry, for the pier and the deck."),
            says("The boards are painted. Arrows would be readable from the ferry."),
            user(message),
            says("Done."),
            user("Which paint is that?"),
        ];
        decisions(parts)
    };
    for next in [
        "then the signs",
        "write the menu then",
        "dann die Schilder",
        "then a list of all harbours for the captain",
    ] {
        assert_eq!(after(next), "- (none)", "{next}");
    }
    for choice in [
        "arrows then",
        "then arrows",
        "then do it",
        "40 from the edge then",
    ] {
        assert!(after(choice).contains(choice), "{choice}");
    }
}

#[test]
fn a_request_that_chooses_is_a_decision_once_the_next_one_follows() {
    let request = "Thanks. The lines should be dashed instead. Draw the islands, too.";
    let mut messages = vec![
        user("Draw the ferry lines on the map of the archipelago."),
        says("They are drawn. I can make them dashed, or give them colours."),
        user("colours by company, all of them"),
        says("They have colours now."),
        user(request),
        says("They are dashed, and the islands are drawn."),
    ];
    assert_eq!(
        section(&messages, "## Key Decisions"),
        "- Asked \"They are drawn. I can make them dashed, or give them colours.\", the user \
         answered \"colours by company, all of them\""
    );
    messages.push(user("What about the lighthouses?"));
    let decisions = section(&messages, "## Key Decisions");
    assert!(
        decisions.contains("- The user chose: \"The lines should be dashed instead.\""),
        "{decisions}"
    );
}

#[test]
fn words_that_point_back_are_quoted_with_what_they_refer_to() {
    let quoted = |reply: &str, message: &str, heading: &str| {
        let messages = [
            user("Draw the ferry lines on the map of the archipelago."),
            says(reply),
            user(message),
            says("All right."),
            user("Now write a page about the lighthouses."),
        ];
        section(messages, heading)
    };
    let decided = |reply: &str, message: &str| quoted(reply, message, "## Key Decisions");
    for (reply, message, decision) in [
        (
            "The northern line is 100 pixels wide and the southern one 40, as on the old map.",
            "make it 150",
            "The user corrected: \"make it 150\" (after \"The northern line is 100 pixels wide \
             and the southern one 40, as on the old map.\")",
        ),
        (
            "Dashed.",
            "hm, remove it again, makes me dizzy",
            "The user chose: \"hm, remove it again, makes me dizzy\" (after \"Draw the ferry \
             lines on the map of the archipelago.\": \"Dashed.\")",
        ),
        (
            "They are drawn.",
            "the labels should be blue, not red",
            "The user chose: \"the labels should be blue, not red\"",
        ),
    ] {
        assert_eq!(decided(reply, message), format!("- {decision}"));
    }

    let long = "One of the lines is not on any chart of the office. ".repeat(9);
    let decision = decided(
        &format!("{long}The harbour office has 14 pictures of the piers. {long}"),
        "no, the pictures are from another harbour",
    );
    assert!(
        decision.ends_with("(after \"The harbour office has 14 pictures of the piers.\")"),
        "{decision}"
    );

    let wished = |reply: &str, message: &str| {
        let wish = quoted(reply, message, "## Constraints & Preferences");
        wish.contains("(after \"Seventeen ferries changed, see out/ferries.csv.\")")
    };
    let reply = "Seventeen ferries changed, see out/ferries.csv.";
    assert!(wished(
        reply,
        "i sent those to Ines. wait for her ok before you touch these rows"
    ));
    for own in [
        "and pls dont touch the tables, the harbour master edits those",
        "the font is from my daughter, dont change it",
    ] {
        assert!(!wished(reply, own), "{own}");
    }
}

#[test]
fn a_question_comes_with_the_sentences_that_it_points_back_to() {
    let asked = |reply: &str, answer: &str| {
        let messages = [user("Draw the ferry lines."), says(reply), user(answer)];
        section(messages, "## Key Decisions")
    };
    assert_eq!(
        asked(
            "The tide table is off by default. The map does not mention it. Should I show it for \
             all harbours, or only for ours?",
            "only ours"
        ),
        "- Asked \"The tide table is off by default. The map does not mention it. Should I show \
         it for all harbours, or only for ours?\", the user answered \"only ours\""
    );
    // A question mark within a code span asks nothing.
    assert_eq!(
        asked(
            "The search is in: `GET /search?q=`.",
            "and the order? newest first or best match first"
        ),
        "- (none)"
    );
}

#[test]
fn a_question_comes_with_the_request_that_names_what_it_is_about() {
    let asked = |request: &str, reply: &str, answer: &str| {
        let messages = [user(request), says(reply), user(answer)];
        section(messages, "## Key Decisions")
    };
    let price =
        "A ticket each minute takes 9 rolls, one each five minutes 2. Folded ones are thin.";
    for (request, reply, answer, topic) in [
        (
            "paper?",
            price,
            "each three minutes",
            "Advised on \"paper?\": \"A ticket",
        ),
        (
            "the file for the tides",
            "Where should it be: beside the program, or at home?",
            "home",
            "Asked on \"the file for the tides\": \"Where should it be",
        ),
        // The question names what it is about.
        (
            "which paper?",
            "Thin paper, or thick?",
            "thin",
            "Asked \"Thin paper",
        ),
        (
            "Draw the lines.",
            "Should the buoys be red?",
            "yes",
            "Asked \"Should the buoys",
        ),
    ] {
        let decision = asked(request, reply, answer);
        assert!(decision.starts_with(&format!("- {topic}")), "{decision}");
    }

    let messages = [
        user("tickets?"),
        says("All numbers start at 1000."),
        user("why 1000"),
        says("Room for those of last year. Without these, 1 is enough."),
        user("then 1, last year is enough"),
    ];
    let decision = section(messages, "## Key Decisions");
    let origin = " (after \"tickets?\": \"All numbers start at 1000.\")";
    assert!(
        decision.starts_with("- Advised on \"why 1000\": "),
        "{decision}"
    );
    assert!(decision.ends_with(origin), "{decision}");
}

#[test]
fn items_of_a_list_are_named_by_their_place_or_by_letters() {
    let asked = |reply: &str, answer: &str| {
        let messages = [user("Draw the ferry lines."), says(reply), user(answer)];
        section(messages, "## Key Decisions")
    };
    let list = "Three ways:\n\n- solid lines\n- dashed lines\n- dots\n\nWhich one?";
    let decision = asked(list, "yes, the second");
    assert!(
        decision.ends_with("\"yes, the second\"; \"dashed lines\""),
        "{decision}"
    );

    let inner = "Open: A) should the lines have colours? B) do you want a legend, or labels?";
    let decision = asked(
        inner,
        "A yes. B a legend, in the corner where the compass was",
    );
    assert!(
        decision.starts_with(
            "- Asked \"A) should the lines have colours? B) do you want a legend, or labels?\", the"
        ),
        "{decision}"
    );

    let inner = "Open: A) keep the map, (the large one) of 1990? B) draw it anew?";
    let decision = asked(inner, "A, the captain likes the paper of it and the frame");
    assert!(
        decision.ends_with("; \"A) keep the map, (the large one) of 1990?\""),
        "{decision}"
    );

    let list = "Three ways:\n\n1. solid lines\n2. dashed lines\n3. dots\n\nWhich one?";
    let decision = asked(
        list,
        "2, as on the old map of the office. 2 is what the captain knows",
    );
    assert_eq!(decision.matches("dashed lines").count(), 1, "{decision}");
}

/// The time must not grow with the product of both.
#[test]
fn a_long_answer_to_a_long_reply_is_read_fast() {
    let reply = format!(
        "{}\n\nShall I draw the harbours?",
        "The old lamp was lit.\n".repeat(5_000)
    );
    let mut answer = "yes, the harbours, and here is the log:".to_owned();
    for number in 0..20_000 {
        answer.push_str(&format!("\n{} the lamp went on", number % 100));
    }
    let messages = [user("Draw the map."), says(&reply), user(&answer)];
    assert!(section(messages, "## Key Decisions").contains("Shall I draw the harbours?"));
}

#[test]
fn an_answer_that_a_decision_quotes_is_not_quoted_again() {
    let mut messages = vec![
        user("Draw the map of the islands, with everything that a captain needs."),
        says("The coast is drawn."),
        user("Draw the ferry lines of all islands."),
        says("They are drawn. Should I smooth them?"),
        user("smooth them a bit"),
        says("Smoothed, with splines."),
        user("Now the legend of the map, please."),
        says("It is drawn."),
        user("And now the harbours."),
    ];
    let text = summary(None, messages.clone());
    let outcome = "answered \"smooth them a bit\"; reply: \"Smoothed, with splines.\"\n";
    assert!(text.contains(outcome), "{text}");
    assert_eq!(text.matches("with splines").count(), 1, "{text}");
    let pointer = "- \"Draw the ferry lines of all islands.\": see Key Decisions\n";
    assert!(text.contains(pointer), "{text}");
    assert_eq!(text.matches("Should I smooth them?").count(), 1, "{text}");

    // An answer that names what was asked needs no pointer, nor does what the session began with.
    let mut naming_messages = messages.clone();
    naming_messages[3] = says("The lines are drawn. Should I smooth them?");
    messages.drain(..2);
    for messages in [naming_messages, messages] {
        let text = summary(None, messages);
        assert!(!text.contains("see Key Decisions"), "{text}");
    }
}

#[test]
fn a_reply_is_told_with_the_decision_that_it_follows() {
    let messages = [
        user("Draw the map of the islands, with everything that a captain needs."),
        says("Drawn. Should I add the buoys?"),
        user("yes"),
        says("The buoys are red."),
        user("Now the harbours."),
        says("They are drawn. Should I add the cranes?"),
        user("yes"),
        says("The cranes are grey. Should they turn?"),
        user("yes"),
        says("They turn."),
        user("Now the lighthouses."),
        says("They are drawn. Should they blink?"),
        user("yes"),
    ];
    let decisions = section(messages, "## Key Decisions");
    for expected in [
        "add the buoys?\", the user answered \"yes\"; reply: \"The buoys are red.\"",
        "Should they turn?\", the user answered \"yes\"",
        "Should they blink?\", the user answered \"yes\"",
    ] {
        let is_line = |line: &str| line.ends_with(expected);
        assert!(decisions.lines().any(is_line), "{decisions}");
    }
}

#[test]
fn an_answer_without_work_follows_what_it_answers() {
    let messages = [
        user("Draw the map of the islands, with everything that a captain needs."),
        says("Drawn."),
        user("What do the harbour masters say?"),
        says("Two have no crane.\n\nI could ask for the date of the next one."),
        user("ok, later"),
        user("Now the lighthouses of the northern islands, please."),
        says("They are drawn."),
        user("And now the legend."),
    ];
    let done = section(messages, "### Done");
    let line = "- \"What do the harbour masters say?\": answered: \"Two have no crane. / I could ask for \
                the date of the next one.\"; then the user: \"ok, later\"";
    assert!(done.contains(line), "{done}");
}

#[test]
fn a_decision_that_is_taken_back_quotes_what_takes_it_back() {
    let asked = |reply: &str, answer: &str, outcome: &str, message: &str| {
        let messages = [
            user("Draw the ferry lines."),
            says(reply),
            user(answer),
            says(outcome),
            user(message),
            says("As said."),
            user("Now the legend of the map, please."),
        ];
        section(messages, "## Key Decisions")
    };
    let kind = "They are drawn. Should they be solid, or dashed?";
    let source = "They are drawn. As a path of the printer, or from the atlas?";
    let islands = "Whose islands? Those of the atlas, or of our own?";
    for (reply, answer, outcome, message) in [
        (
            kind,
            "dashed lines, 3 mm each",
            "They are dashed.",
            "Actually make it 4 mm, it smears",
        ),
        (kind, "dashed", "They are dashed.", "no, solid"),
        (
            source,
            "path",
            "The printer has no ink.",
            "then use the atlas for now",
        ),
        (
            islands,
            "atlas if it has all",
            "It lacks 12 of 40.",
            "let's survey them then",
        ),
    ] {
        let decisions = asked(reply, answer, outcome, message);
        let taken_back = format!("the user answered \"{answer}\" (later: \"{message}\")");
        assert!(decisions.contains(&taken_back), "{decisions}");
        assert_eq!(decisions.matches("(later: ").count(), 1, "{decisions}");
    }
    for message in [
        "nein, nicht 'Sie' sondern 'Ihr' im Impressum",
        "no, not 'Harbour' but 'Port' in all labels",
        "then draw the lighthouses rather than the buoys",
    ] {
        let quoting = message.replace('\'', "\"");
        let decisions = asked(kind, "dashed lines", "They are dashed.", &quoting);
        assert!(decisions.contains(message), "{decisions}");
        assert!(!decisions.contains("(later: "), "{decisions}");
    }
}

#[test]
fn what_a_request_chose_precedes_the_correction_of_its_reply() {
    let messages = [
        user("Draw the map of the islands."),
        says("Drawn."),
        user("the harbours should be blue, not red"),
        says("They are blue."),
        user("no, make the harbours grey"),
        says("They are grey."),
        user("Now the legend of the map, please."),
    ];
    let decisions = section(messages, "## Key Decisions");
    let order: Vec<&str> = decisions
        .lines()
        .map(|line| line.split(": ").next().unwrap())
        .collect();
    assert_eq!(
        order,
        ["- The user chose", "- The user corrected"],
        "{decisions}"
    );
    let mark = "not red\" (later: \"no, make the harbours grey\")";
    assert!(decisions.contains(mark), "{decisions}");
}

#[test]
fn a_decision_of_a_previous_summary_keeps_its_answer() {
    let reply = "The atlas has the depths of the northern islands in metres, and those of the \
                 southern ones in fathoms, as the navy wrote them. Should all be in metres, or each \
                 as it is?";
    let messages = [
        user("Draw the depths of the sea around the islands."),
        says(reply),
        user("metres, and two decimals at most"),
        says("All depths are in metres now, with two decimals."),
        user("Now the harbours."),
        says("They are drawn."),
        user("Now the legend of the map, please."),
    ];
    let mut text = summary(None, messages);
    assert!(text.contains("; reply: \"All depths"), "{text}");
    for _ in 0..2 {
        text = summary(
            Some(&text),
            [user("And a page on the ferries of the islands.")],
        );
        let decisions = below(&text, "## Key Decisions").join("\n");
        let answer = "…\", the user answered \"metres, and two decimals at most\"";
        assert!(
            decisions.starts_with("- Earlier: Asked \"The atlas"),
            "{text}"
        );
        assert!(decisions.ends_with(answer), "{text}");
    }
}

#[test]
fn what_is_quoted_as_the_purpose_is_no_decision() {
    let messages = [
        user("Draw the ferry lines: the office wants colours instead of the dashes that we had."),
        says("Drawn."),
        user("Now write a page about the lighthouses."),
    ];
    assert_eq!(section(messages, "## Key Decisions"), "- (none)");
}

#[test]
fn a_repeated_request_is_listed_once_with_how_it_ended_each_time() {
    let request = "Deploy the timetable to the staging server.";
    let messages = [
        user("Build the timetable of the ferries for the summer."),
        says("Built."),
        user(request),
        stops("error", "overloaded"),
        user(request),
        says("The server refused the key."),
        user(request),
        says("Deployed as release 12."),
        user("Now write to the harbour master about it."),
        says("Written."),
        user("And then the same for the winter, with other colours."),
    ];
    let text = summary(None, messages);
    assert_eq!(text.matches(request).count(), 1, "{text}");
    assert!(
        text.contains(
            "\"Deploy the timetable to the staging server.\" (×3): answered: \"Deployed as \
             release 12.\"; before that the model's reply failed: \"overloaded\", answered: \
             \"The server refused the key.\""
        ),
        "{text}"
    );
    let again = summary(
        None,
        [user(request), stops("error", "overloaded"), user(request)],
    );
    assert!(again.contains("(entry e1; asked 2 times):"), "{again}");
    assert_eq!(
        quotation(&summary(Some(&again), [user("/model")]), REQUEST),
        request
    );
}

fn decisions(parts: Vec<Vec<String>>) -> String {
    section(parts, "## Key Decisions")
}

#[test]
fn an_answer_before_a_question_is_a_decision() {
    let after = |reply: &str, message: &str| {
        decisions(vec![
            user("Draw the map of the islands, with all of their harbours."),
            says(reply),
            user(message),
            says("Drawn."),
        ])
    };
    assert_eq!(
        after("By island or by harbour?", "by island. and which colour?"),
        "- Asked \"By island or by harbour?\", the user answered \"by island. and which colour?\""
    );
    assert_eq!(
        after("I'd stay with the old ink.", "hm ok stay"),
        "- Asked \"I'd stay with the old ink.\", the user answered \"hm ok stay\""
    );
    assert_eq!(
        after("By island or by harbour?", "hmm. what is simpler?"),
        "- (none)"
    );
}

#[test]
fn what_was_refused_takes_a_decision_back_unless_the_choice_is_named_with_it() {
    let after = |message: &str| {
        decisions(vec![
            user("Draw the map of the islands, with all of their ferries."),
            says("Dashes for all ferries, or arrows?"),
            user("dashes for all"),
            says("Drawn."),
            user(message),
            says("Drawn."),
            user("Now the compass, please."),
        ])
    };
    let mark = "(later: ";
    assert!(after("the printer wants arrows after all").contains(mark));
    assert!(after("then arrows").contains(mark));
    let both = after("ok, then write below that arrows and dashes mean the same");
    assert!(!both.contains(mark), "{both}");
}

#[test]
fn a_choice_that_names_nothing_is_quoted_with_what_it_is_about() {
    let decisions = decisions(vec![
        user("Draw the map of the islands, with all of their harbours."),
        says("The printer has red ink, too."),
        user("ok, no need to use red"),
        says("Fine."),
        user("Now the compass, please."),
    ]);
    let words = "- The user chose: \"ok, no need to use red\" (after ";
    assert!(decisions.starts_with(words), "{decisions}");
    assert!(
        decisions.contains("\"The printer has red ink, too.\")"),
        "{decisions}"
    );
}

#[test]
fn a_decision_without_a_reply_is_listed_once() {
    let messages = [
        user("Draw the map of the islands, with all of their harbours."),
        says("Red or green for the harbours?"),
        user("green, the printer has only that left"),
        user("Now the legend of the map, on the left."),
        says("It is on the left."),
        user("And the compass."),
        says("It is on the right."),
        user("Now the frame around the map."),
    ];
    let text = summary(None, messages);
    assert!(!text.contains("not replied to"), "{text}");
    assert_eq!(text.matches("the printer has only").count(), 1, "{text}");
}

#[test]
fn a_statement_and_words_that_lead_over_take_no_decision_back() {
    let after = |reply: &str, message: &str| {
        decisions(vec![
            user("Draw the map of the islands, with all of their ferries."),
            says(reply),
            user("arrows"),
            says("Drawn."),
            user(message),
            says("Moved."),
            user("Now the compass, please."),
        ])
    };
    for (reply, message) in [
        // The sentence before the question only reports.
        (
            "The legend has a border. Dashes or arrows?",
            "move the legend up then",
        ),
        (
            "I would draw dashes instead. OK?",
            "use 40 mm for the legend instead of 30",
        ),
        // It names the same, and decides nothing.
        (
            "Dashes or arrows, and where does the legend go? Not to the left border.",
            "there is a typo in line 10 of the legend on the border",
        ),
    ] {
        let decisions = after(reply, message);
        assert!(!decisions.contains("(later: "), "{decisions}");
    }
}

#[test]
fn a_question_without_a_mark_chooses_nothing() {
    let decisions = decisions(vec![
        user("Draw the map of the islands, with all of their ferries."),
        says("Drawn."),
        user("can't we draw 30 ferries instead of 15"),
        says("That would need a larger page."),
        user("Now the compass, please."),
    ]);
    assert_eq!(decisions, "- (none)");
}

#[test]
fn a_value_is_replaced_by_a_short_message_whose_reply_counts_the_same() {
    let text = summary(
        None,
        [
            user("Draw the tables of the ferries."),
            says("How many days ahead can one book?"),
            user("14"),
            says("One can book 14 days ahead."),
            user("one can never cancel later than 24 hours before"),
            says("One can cancel up to 24 hours before."),
            user("the captain says 48"),
            says("The limit is 48 hours now."),
            user("14 is too short for the long trips, they take 30"),
            says("It is 30 for those."),
            user("Now the compass, please."),
        ],
    );
    let wish =
        "- \"one can never cancel later than 24 hours before\" (later: \"the captain says 48\")";
    assert_eq!(below(&text, "## Constraints & Preferences"), [wish]);
    // The replies are out of date.
    assert!(!text.contains("One can cancel up to 24"), "{text}");
    assert!(!text.contains("One can book 14"), "{text}");
    let decisions = below(&text, "## Key Decisions").join("\n");
    let taken_back = "the user answered \"14\" (later: \"14 is too short for the long trips, they";
    assert!(decisions.contains(taken_back), "{decisions}");
}

#[test]
fn values_that_the_user_reports_are_quoted_with_what_was_asked_about_them() {
    let decisions = decisions(vec![
        user("Find out where the oil of the lamps goes."),
        says("Measure them with the shutters open, one after the other."),
        user("base 2.1, north 655, east 78, south 41 (all in ml)"),
        says("So the north lamp takes 84 %. Shall I close its shutter at noon?"),
        user("yes"),
        says("Closed."),
        user("Now the compass, please."),
    ]);
    let values = "- Asked on \"base 2.1, north 655, east 78, south 41 (all in ml)\": \"So the";
    assert!(decisions.starts_with(values), "{decisions}");
}

#[test]
fn a_short_question_comes_with_what_follows_it_or_with_its_request() {
    let after = |reply: &str, answer: &str| {
        decisions(vec![
            user("Draw the map of the islands, with all of their harbours."),
            says(reply),
            user(answer),
            says("Drawn."),
            user("Now the compass, please."),
        ])
    };
    assert_eq!(
        after("How many? Three are all that the printer can draw.", "3"),
        "- Asked \"How many? Three are all that the printer can draw.\", the user answered \"3\""
    );
    let which = after("- red\n- green\n\nWhich one?", "the second");
    let with_request = "- Asked on \"Draw the map of the islands, with all of their harbours.\": \
                        \"Which one?\", the user answered";
    assert!(which.starts_with(with_request), "{which}");
}

#[test]
fn several_questions_are_quoted_with_an_answer_to_all() {
    let questions = "- the sheet is A0\n- who drew it?\n\nBefore I start:\n\n1. One map for all islands, or one each?\n2. Is the ferry of \
                     1990 still needed?\n3. Copy the charts by hand, or scan them?";
    for answer in [
        "1 one each, i hate that big sheet\n2 yes, the school uses it\n3 you choose",
        "one each. the ferry yes, the school uses it. scan them i think",
    ] {
        let messages = [
            user("Draw the islands."),
            says(questions),
            user(answer),
            says("Drawn."),
            user("now the legend"),
        ];
        let decisions = section(messages, "## Key Decisions");
        let asked = "- Asked \"(1) One map for all islands, or one each? / (2) Is the ferry of 1990 \
                     still needed? / (3) Copy the charts by hand, or scan them?\", the user answered";
        assert!(decisions.starts_with(asked), "{decisions}");
    }
}

#[test]
fn an_answer_keeps_the_number_of_its_option() {
    let messages = [
        user("Let the captain hide a label."),
        says("Should the mark hide (1) the next label, (2) the rest of the map, or (3) both?"),
        user("1. if it is the very first mark of the map then all"),
        says("Done."),
        user("now the legend"),
    ];
    assert_eq!(
        section(messages, "## Key Decisions"),
        "- Asked \"Should the mark hide (1) the next label, (2) the rest of the map, or (3) both?\", \
         the user answered \"(1) if it is the very first mark of the map then all\""
    );
}

#[test]
fn an_option_that_is_the_question_is_quoted_once() {
    let messages = [
        user("Draw the piers on the map of the harbour."),
        says("Should I:\n1. Draw them in blue\n2. Or draw them in the colors of their owners?"),
        user("2"),
    ];
    assert_eq!(
        section(messages, "## Key Decisions"),
        "- Asked \"Or draw them in the colors of their owners?\", the user answered \"2\""
    );
}

#[test]
fn the_options_are_quoted_with_a_choice() {
    for (reply, answer, expected) in [
        (
            "The unit could be:\n\n1. the island\n2. the harbour\n3. a model of both\n\nWhich?",
            "2, the captain says exactly that. 3 is overkill",
            "\"; \"the harbour\"; \"a model of both\"",
        ),
        (
            "How should I tell them apart?\n\n- **a)** by name\n- **b)** by number\n\nNumbers are \
             safer, but the old boats have none.",
            "b, and fall back to a where there is none",
            "- Asked \"**a)** by name / **b)** by number\", the user answered \"b, and",
        ),
        (
            "Two ways:\n\n1. book both sides\n2. match pairs\n\n2 is nicer, 1 cannot go wrong.",
            "the first. matching is too clever",
            "- Asked \"(1) book both sides / (2) match pairs\", the user answered \"the first.",
        ),
    ] {
        let messages = [
            user("Compare the boats of the two harbours with the list of the office."),
            says(reply),
            user(answer),
            says("Done."),
            user("now the legend"),
        ];
        let decisions = section(messages, "## Key Decisions");
        assert!(decisions.contains(expected), "{decisions}");
    }
    let messages = [
        user("Compare the boats of the two harbours with the list of the office."),
        says(
            "Two ways:\n\na) by the secret list\nb) you tick them off\n\na) needs the list, which must stay secret.",
        ),
        user(
            "b for now. a list on screen where i untick, before anything is printed. the rest after christmas",
        ),
        says("Done."),
        user("now the legend"),
    ];
    let decisions = section(messages, "## Key Decisions");
    let expected = "- Asked \"a) by the secret list / b) you tick them off / a) needs the list, which must stay secret.\", the user answered \"b for now.";
    assert!(decisions.starts_with(expected), "{decisions}");
    // A list of what was done offers no choice, "first" may begin a list, and a message be one.
    let ways = "Two ways:\n\n1. book both sides\n2. match pairs\n\n2 is nicer, 1 cannot go wrong.";
    let done = "Done:\n\n- drew the map\n- wrote the legend\n- updated the tests";
    let numbered = "Done:\n\n1. drew the map\n2. wrote the legend\n3. updated the tests";
    for (reply, message) in [
        (done, "first, add the harbours in red"),
        (done, "the second. draw it in red"),
        (numbered, "2. draw the harbours in red"),
        (ways, "first, add the harbours in red"),
        (ways, "1. add the harbours\n2. then the legend"),
    ] {
        let messages = [
            user("Compare the boats of the two harbours with the list of the office."),
            says(reply),
            user(message),
            says("Done."),
            user("now the ferries"),
        ];
        assert_eq!(
            section(messages, "## Key Decisions"),
            "- (none)",
            "{message}"
        );
    }
    // What begins like the name of an item and goes on is no choice.
    let messages = [
        user("Compare the boats of the two harbours with the list of the office."),
        says("Drawn:\n\n1. the map\n2. the legend\n\nAll of it is in the file."),
        user("2 more islands please"),
        says("Done."),
        user("now the ferries"),
    ];
    assert_eq!(section(messages, "## Key Decisions"), "- (none)");
}

#[test]
fn a_correction_of_what_an_answer_led_to_comes_with_the_reply() {
    let messages = [
        user("Draw the islands for the office."),
        says("One map for all islands, or one each?"),
        user("one each, i hate that big sheet"),
        says(
            "Drawn, with a frame and with all harbours of the list that the office sent in May, and \
             without those of 1990. The north is now at the right, as on new charts.",
        ),
        user("no! keep it at the top"),
        says("Turned."),
        user("now the legend"),
    ];
    let decisions = section(messages, "## Key Decisions");
    let corrected = "(after \"The north is now at the right, as on new charts.\")";
    assert!(decisions.contains(corrected), "{decisions}");
}

#[test]
fn a_reply_that_is_doubted_is_quoted_with_the_doubt_only() {
    let messages = [
        user("Draw the islands for the office."),
        says("Shall names of harbours that are not known be left out?"),
        user("sure. the old ones too"),
        says("Drawn. An unknown harbour stops the drawing with an error."),
        user("hm the office ignores unknown ones silently. do same"),
        says("They are left out."),
        user("now the legend"),
    ];
    assert_eq!(
        section(messages, "## Key Decisions"),
        "- Asked \"Shall names of harbours that are not known be left out?\", the user answered \"sure. \
         the old ones too\"\n- The user corrected: \"hm the office ignores unknown ones silently. do \
         same\" (after \"Drawn. An unknown harbour stops the drawing with an error.\")"
    );
}

#[test]
fn praise_and_what_comes_next_take_nothing_back() {
    let after = |message: &str| {
        decisions(vec![
            user("Draw the islands for the office."),
            says("Shall the harbours be drawn in red?"),
            user("yes, in red"),
            says("Drawn. The harbours are red, and their names are in a file."),
            user(message),
            says("Done."),
            user("now the ferries"),
        ])
    };
    for message in [
        "hmm nice, the harbours look good",
        "hm, the harbours next: write a list of their names in a file",
        "perfect, exactly what i asked for. now the legend of the harbours",
    ] {
        let decisions = after(message);
        assert!(!decisions.contains("corrected"), "{decisions}");
        assert!(!decisions.contains("later:"), "{decisions}");
        assert!(
            decisions.contains("; reply: \"Drawn. The harb"),
            "{decisions}"
        );
    }
    // A doubt takes no decision back.
    let decisions = after("hm the office has no harbours in that file");
    assert!(
        decisions.contains("The user corrected: \"hm the office"),
        "{decisions}"
    );
    assert!(!decisions.contains("later:"), "{decisions}");
}

#[test]
fn a_negated_wish_in_french_answers_no_question() {
    let message = "ne touche pas aux fichiers du capitaine, et n'en parle pas à ses gens";
    assert!(!questions::begins_as_answer(message));
    assert!(questions::begins_as_answer("ne, lass die Karten"));
    assert!(questions::begins_as_answer("ach ne"));
}

#[test]
fn a_table_that_a_later_reply_voids_is_not_quoted() {
    let table =
        |first: &str| format!("| disk | MB/s |\n|---|---:|\n| north | {first} |\n| south | 90 |\n");
    let other = "| lamp | ml |\n|---|---:|\n| east | 655 |\n";
    let messages = [
        user("Measure the lamps of the harbour, please."),
        says(&format!("Measured.\n\n{other}")),
        user("Measure the disks of the office, please."),
        says(&format!("Measured.\n\n{}", table("112"))),
        user("the office had the backup running"),
        says(&format!(
            "Again:\n\n{}\nThe earlier table was measured during the backup, and is too low.",
            table("240")
        )),
        user("now write the report for the office"),
        says("Written."),
        user("and the legend"),
        says("Drawn."),
        user("send it"),
    ];
    // Without a new table, the words must name the table.
    for (reply, is_voided) in [
        ("The earlier table is wrong.", true),
        ("The earlier numbers are wrong.", false),
        ("The earlier numbers are not wrong.", false),
    ] {
        let mut messages = messages[..6].to_vec();
        messages[5] = says(reply);
        messages.push(user("send it"));
        let text = summary(None, &messages);
        assert_eq!(!text.contains("112"), is_voided, "{text}");
    }

    let text = summary(None, &messages);
    assert!(text.contains("(a table that is out of date)"), "{text}");
    assert!(
        !text.contains("112") && text.contains("240") && text.contains("655"),
        "{text}"
    );
}

/// Words with an apostrophe are no names of options: "c'est", "I'd".
#[test]
fn an_elision_names_no_option() {
    let list = "Three ways:\n\na) solid lines\nb) dashed lines\nc) dots\n\nWhich one?";
    for (answer, is_chosen) in [
        ("c", true),
        ("c for now", true),
        ("'c'", true),
        ("c'est trop lent chez moi", false),
        ("c’est trop lent chez moi", false),
        ("b'reshit, said the captain", false),
    ] {
        let messages = vec![user("Draw the ferry lines."), says(list), user(answer)];
        let decisions = decisions(messages);
        let has_option = decisions.contains("; \"dots")
            || decisions.contains("; \"c) dots")
            || decisions.contains("; \"b) dashed")
            || decisions.contains("; \"dashed");
        assert_eq!(has_option, is_chosen, "{answer}: {decisions}");
    }
}

#[test]
fn a_note_in_brackets_is_no_reply() {
    let text = summary(
        None,
        [
            user("how many boats are in the harbour now?"),
            tool(
                "There are 14 boats in the harbour, and two more at the pier.",
                "bash",
                r#"{"command":"make"}"#,
                None,
            ),
            says("[Old reply removed to save space]"),
            user("and how many of these are painted blue?"),
        ],
    );
    assert!(text.contains("There are 14 boats"), "{text}");
    assert!(!text.contains("removed to save"), "{text}");
}

#[test]
fn a_list_is_quoted_if_a_short_request_means_all_of_it() {
    let parts = [
        user("look through the map of the bay, and find what is wrong"),
        says("Two things:\n\n1. the tides are those of last year\n2. a pier is missing"),
        user("fix all of these"),
        edit("map.svg"),
    ];
    let goal = section(&parts, "## Goal");
    let list = "- The list to which it refers: (1) the tides are those of last year; (2) a pier is missing";
    assert!(goal.contains(list), "{goal}");
}

#[test]
fn the_list_to_which_numbers_refer_is_quoted() {
    let list = "Four gaps:\n\n**1. Tides** — none has them\n\n**2. Piers**\n\n**3. Boats**\n\n**4. Signs**";
    let parts = [
        user("which gaps are there in the map of the bay?"),
        says(&format!("{list}\n\n{}", "More of this. ".repeat(200))),
        user("quick: is number 2 not on the old map?"),
        says("Only the piers of last year are."),
        user("drop number 2 and 3, and dive deep into 1 and 4"),
        edit("gaps.md"),
    ];
    let goal = section(&parts, "## Goal");
    assert!(
        goal.contains("- The list to which it refers: (1) Tides — none has them; (2) Piers; (3) Boats; (4) Signs"),
        "{goal}"
    );
}
