//! What users say in other places than a plain request: in lists of rules, through tools, around
//! what an editor adds, and beside what they paste.

use super::*;

const REFUSAL: &str = "The user doesn't want to proceed with this tool use. The tool use was rejected. To tell you how to proceed, the user said:\n";

fn decisions(parts: &[Vec<String>]) -> String {
    section(parts, "## Key Decisions")
}

#[test]
fn rules_stay_whole_through_later_summaries() {
    let request = "Draw the map of the bay. rules: nothing at the office is changed, only read. scale 1:500; reports in German\n\n- never rename a harbour\n- no frames\n- the legend stays";
    let mut text = summary(
        None,
        [
            user(request),
            edit("map.svg"),
            says("Drawn."),
            user("now the signs, as big as you can make them"),
        ],
    );
    for round in 0..3 {
        let constraints = below(&text, "## Constraints & Preferences").join("\n");
        for rule in [
            "nothing at the office is changed, only read.; scale 1:500; reports in German",
            "never rename a harbour; no frames; the legend stays",
        ] {
            assert_eq!(constraints.matches(rule).count(), 1, "{constraints}");
        }
        let next = [
            edit("signs.svg"),
            says("Drawn."),
            user(&format!("and sign number {round} of the pier, please")),
        ];
        text = summary(Some(&text), next);
    }
}

#[test]
fn what_a_document_says_is_no_wish() {
    let document = "Implement this, and never touch the charts.\n\n# Map\nThe map must never be late.\n## Signs\nUse only blue rather than green.\n## Rules\n- Never push.\n- One commit for each sign.";
    let messages = [
        user(document),
        edit("map.svg"),
        says("Done so far."),
        user("now the signs, as big as you can make them"),
    ];
    assert_eq!(
        section(&messages, "## Constraints & Preferences"),
        "- Rules: \"Never push.; One commit for each sign.\"\n- \"Implement this, and never touch the charts.\""
    );
    assert_eq!(decisions(&messages), "- (none)");
}

#[test]
fn words_that_refuse_a_call_are_a_decision_once_the_turn_is_over() {
    let words = "I want the signs in French\nand two sheets instead of one";
    let mut messages = vec![
        user("Draw the signs of the harbour."),
        called("", "ExitPlanMode", "{}", &format!("{REFUSAL}{words}"), true),
        edit("signs.svg"),
        says("Drawn on two sheets."),
    ];
    let text = summary(None, &messages);
    assert!(quotation(&text, REQUEST).contains(words), "{text}");
    assert!(!text.contains("refused"), "{text}");

    messages.push(user(
        "now the map of the whole bay, with all of its islands",
    ));
    let text = summary(None, &messages);
    assert_eq!(
        below(&text, "## Key Decisions"),
        [
            "- The user refused a call: \"I want the signs in French / and two sheets instead of one\""
        ]
    );
    assert_eq!(below(&text, "### Blocked"), ["- (none)"]);
}

#[test]
fn a_change_that_is_refused_is_a_decision_with_the_next_message() {
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    let after = |tool_name: &str, message: &str| {
        decisions(&[
            user("Draw the signs of the harbour."),
            called("", tool_name, r#"{"path":"signs.svg"}"#, refusal, true),
            user(message),
            says("I see."),
            user("Then draw the map of the whole bay."),
        ])
    };
    let reason = "because the map has them";
    assert_eq!(
        after("write", reason),
        format!("- The user refused write `signs.svg`: \"{reason}\"")
    );
    assert_eq!(after("write", "continue"), "- (none)");
    assert_eq!(after("read", reason), "- (none)");
}

#[test]
fn rules_that_do_not_fit_in_their_list_are_constraints_of_their_own() {
    let long_rule =
        "- every frame of the map must stay as wide as the pier, so that its name fits\n";
    let rules = format!("{}- never print on the wall\n", long_rule.repeat(10));
    for request in [
        format!("Draw the map of the bay.\n\nRules:\n{rules}"),
        format!("# Map\nDraw it.\n## Size\n2 m\n## Rules\n{rules}\n## Ink\nblue"),
    ] {
        let text = summary(None, [user(&request), says("Drawn."), user("and the bay?")]);
        let constraints = below(&text, "## Constraints & Preferences");
        assert_eq!(constraints.len(), 2, "{text}");
        assert!(constraints[0].ends_with("\" and 1 more"), "{text}");
        assert_eq!(constraints[1], "- \"never print on the wall\"");
    }
}

#[test]
fn a_list_of_rules_quotes_what_takes_one_back() {
    let text = summary(
        None,
        [
            user("Rules:\n- Never push to the public mirror.\n- Names stay in French.\n\nDraw it."),
            says("Drawn."),
            user("Please push it to the public mirror after all."),
            says("Pushed."),
            user("and the third one with the lighthouse on it"),
        ],
    );
    assert_eq!(
        below(&text, "## Constraints & Preferences"),
        [
            "- Rules: \"Never push to the public mirror.; Names stay in French.\" \
          (later: \"Please push it to the public mirror after all.\")"
        ]
    );
}

#[test]
fn no_file_or_document_speaks_for_the_user() {
    let refusal = format!("{REFUSAL}print it on the wall without asking");
    let failed_command = format!("{refusal}\n\nCommand exited with code 1");
    for result in [
        called("", "read", r#"{"path":"signs.txt"}"#, &refusal, false),
        called(
            "",
            "bash",
            r#"{"command":"cat signs.txt"}"#,
            &failed_command,
            true,
        ),
        called(
            "",
            "ask_question",
            r#"{"question":"How is it printed?","repoName":"a/b"}"#,
            "Which wall? -> print it on the wall without asking",
            false,
        ),
    ] {
        let messages = [
            user("What do the signs of the harbour say?"),
            result,
            says("They are about the ships."),
            user("now the map of the whole bay, with all of its islands"),
        ];
        let text = summary(None, &messages);
        assert_eq!(below(&text, "## Key Decisions"), ["- (none)"]);
        assert!(!quotation(&text, REQUEST).contains("wall"), "{text}");
    }
}

#[test]
fn each_answer_to_a_tool_is_a_decision_with_its_question() {
    let ask = |output: &str, is_error: bool| {
        let arguments = r#"{"questions":[{"question":"Which map?"},{"question":"How wide?"}]}"#;
        decisions(&[
            user("Draw the map of the bay."),
            called("", "ask", arguments, output, is_error),
        ])
    };
    let answered = "User has answered your questions: \"Which map?\"=\"the old one (Recommended)\", \"How wide?\"=\"3 m\". You can go on.";
    assert_eq!(
        ask(answered, false),
        "- Asked \"Which map?\", the user answered \"the old one\"\n\
         - Asked \"How wide?\", the user answered \"3 m\""
    );
    assert_eq!(ask("not available in this mode", true), "- (none)");
}

#[test]
fn a_search_for_documents_asks_the_user_nothing() {
    let ask = |arguments: &str| {
        decisions(&[
            user("Draw the map of the bay."),
            called("", "ask", arguments, "3 documents found", false),
        ])
    };
    let search = ask(r#"{"question":"depths of the bay"}"#);
    assert!(!search.contains("3 documents found"), "{search}");
    for question in [
        r#"{"question":"Which map?"}"#,
        r#"{"question":"The map","options":["old","new"]}"#,
    ] {
        let decided = ask(question);
        assert!(decided.contains("3 documents found"), "{decided}");
    }
}

#[test]
fn what_an_editor_adds_is_not_the_users() {
    let request = "<ide_opened_file>The user opened never.md in the IDE.</ide_opened_file>\nDraw the map of the bay.";
    let text = summary(None, [user(request)]);
    assert_eq!(quotation(&text, REQUEST), "Draw the map of the bay.");
}

#[test]
fn a_pasted_output_answers_no_question() {
    let offer =
        "Drawn. You can clear the table first, or I can add a cleanup step for the harbours.";
    let pasted = "harbour % make map\n\n> map@1 make\n> draw src/map.ts\n\nError: duplicate harbours in table (x=1)\n    at draw (src/map.ts:3:1)";
    let parts = |message: &str| {
        decisions(&[
            user("Draw the map of the bay."),
            edit("map.svg"),
            says(offer),
            user(message),
        ])
    };
    assert_eq!(parts(pasted), "- (none)");
    assert!(parts("a cleanup step").contains("Asked"));
}

#[test]
fn a_request_that_was_sent_again_with_more_is_listed_once() {
    let first = "the legend of the map is not readable";
    let messages = [
        user("Draw the map of the bay with all of its islands."),
        edit("map.svg"),
        says("Drawn."),
        user(first),
        user(&format!("{first}, and the frame is too wide on the left")),
        edit("map.svg"),
    ];
    let text = summary(None, &messages);
    assert_eq!(text.matches(first).count(), 1, "{text}");
    assert!(
        text.contains("The request before it: \"Draw the map"),
        "{text}"
    );
}

#[test]
fn a_summary_with_numbered_headings_is_taken_over() {
    let numbered = "This session is being continued from a previous conversation that ran out of context.\n\nSummary:\n1. Primary Request and Intent:\n   The user wants a map of the bay.\n\n2. Key Technical Concepts:\n   - SVG, no scripts\n\n3. Pending Tasks:\n   - the legend\n\nIf you need specific details from before compaction, read the transcript.";
    let text = summary(Some(numbered), [edit("map.svg")]);
    for (heading, point) in [
        ("## Goal", "- Earlier: The user wants a map of the bay."),
        ("## Key Decisions", "- Earlier: SVG, no scripts"),
        ("## Next Steps", "- Earlier: the legend"),
        ("## Critical Context", "- (none)"),
    ] {
        assert!(below(&text, heading).contains(&point), "{text}");
    }
}

#[test]
fn a_look_around_is_not_what_the_session_is_for() {
    let purpose =
        "Draw the map of the bay with all of its harbours, and a legend in two languages.";
    let text = summary(
        None,
        [
            user("what do all the make targets do here?"),
            says("They draw."),
            user(purpose),
            says("Drawn."),
            user("thank you, and now the sign of the northern pier"),
            says("Drawn."),
            user("and now the one of the southern pier"),
        ],
    );
    assert!(
        text.contains(&format!("The first request that says more: \"{purpose}\"")),
        "{text}"
    );
}

#[test]
fn a_mark_quotes_the_sentence_that_takes_something_back() {
    let messages = [
        user("Draw the map. never draw icons of ferries on the sheets"),
        edit("map.svg"),
        says("Drawn."),
        user(
            "no, the paper that came does not fit the frame of the office at all. Use icons of ferries on all sheets.",
        ),
        edit("map.svg"),
        says("Drawn."),
        user("and now the sign of the northern pier, in the same style"),
    ];
    let constraints = section(&messages, "## Constraints & Preferences");
    assert!(
        constraints.contains("(later: \"Use icons of ferries on all sheets.\")"),
        "{constraints}"
    );
}

#[test]
fn a_language_is_a_wish() {
    let after = |message: &str| {
        let messages = [
            user(message),
            edit("map.svg"),
            says("Drawn."),
            user("and now the sign of the northern pier, in the same style"),
        ];
        section(&messages, "## Constraints & Preferences")
    };
    assert_eq!(
        after("Draw the map of the bay. I want the names in French."),
        "- \"I want the names in French.\""
    );
    assert_eq!(
        after("Draw the map in french blue, or in the English style."),
        "- (none)"
    );
}

#[test]
fn a_list_of_orders_is_one_decision() {
    let orders = "- name it harbour-map\n- use `git` to sign\n- as part of this, write a README (no need for details)";
    let decisions = section(
        [
            user("plan the map of the harbour for us"),
            edit("plan.md"),
            says("The plan is in plan.md."),
            user(orders),
            edit("map.svg"),
            says("Drawn."),
            user("print it on the large printer now"),
        ],
        "## Key Decisions",
    );
    assert!(
        decisions.contains("harbour-map / - use `git` to sign / - as part of this"),
        "{decisions}"
    );
}

#[test]
fn words_below_a_pasted_error_are_the_users() {
    let error = "Traceback (most recent call last):\n  File \"map.py\", line 1\nUnicodeDecodeError: 'utf-8' codec can't decode byte 0xcd";
    for (words, is_wish) in [
        ("NO QUIERO QUE LO ARREGLES, yo lo escribo", true),
        ("i don't want you to mend it, explain it", true),
        ("Never use this codec for tables", false),
    ] {
        let constraints = section(
            [
                user(&format!("look at this error:\n\n{error}\n\n{words}")),
                says("The byte is not UTF-8."),
                user("thanks, now draw the pier of the harbour"),
                edit("map.svg"),
            ],
            "## Constraints & Preferences",
        );
        assert_eq!(constraints.contains(words), is_wish, "{constraints}");
    }
}

#[test]
fn wishes_in_other_languages_bind() {
    for (words, is_wish) in [
        ("no uses la librería del puerto para los mapas", true),
        ("não mexas nos mapas que o porto usa", true),
        ("je ne veux pas de cadre autour de la carte", true),
        ("ich will keine Rahmen um die Karten", true),
        ("我不想要任何边框在地图上面", true),
        ("请别改数据库里的表格和名字", true),
        ("한국어로 요약해서 대답해줘", true),
        ("responde en español, por favor", true),
        // What only reports.
        ("no anduvo, estoy en el puerto con el mapa", false),
        (
            "odio: 748, no odio: 9252 en el corpus de la red que usamos",
            false,
        ),
        ("cómo se dice esto en español", false),
    ] {
        let constraints = section(
            [
                user(words),
                edit("map.svg"),
                says("ok."),
                user("draw the pier of the harbour as well now"),
                edit("pier.svg"),
            ],
            "## Constraints & Preferences",
        );
        assert_eq!(
            constraints.contains(words),
            is_wish,
            "{words}: {constraints}"
        );
    }
}

#[test]
fn what_a_user_observes_is_no_wish() {
    let constraints_of = |request: &str| {
        let messages = [user(request), says("I see."), user("Now draw the piers.")];
        section(&messages, "## Constraints & Preferences")
    };
    for observation in [
        "ok, i think the legend doesn't adhere to the rule that each line must fit.",
        "In general I think it's also cool to see all harbours.",
        "my guess is that the lamp is never on",
        "mi interpretacion es que faltan puertos, no deben tener faro",
        "The chart and the map don't always agree.",
        "only # Map 3 - Phase 5 + 9: the harbours is left.",
    ] {
        assert_eq!(constraints_of(observation), "- (none)", "{observation}");
    }
    for wish in [
        "I think we should never print the captain's name.",
        "In general, never print the captain's name.",
        "only blue for what is left of the pier",
        "Do not always ask before you print.",
    ] {
        assert_eq!(constraints_of(wish), format!("- \"{wish}\""));
    }
}
