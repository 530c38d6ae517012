//! Requests: the last word for word, earlier ones shortened.

use super::*;

#[test]
fn a_request_survives_any_number_of_compactions() {
    let mut text = summary(None, job());
    for round in 0..3 {
        let said = format!("Round {round}: the report is made from the new tables.");
        let make = tool(&said, "bash", r#"{"command":"make report"}"#, None);
        text = summary(Some(&text), [edit(&format!("r{round}.md")), make]);
        assert_eq!(quotation(&text, REQUEST), JOB);
        let last_words = "The assistant's last words, 1 tool call before the end:";
        assert_eq!(quotation(&text, last_words), said);
    }
    let done = below(&text, "### Done").join("\n");
    assert!(
        done.contains("`make report`") && !done.contains("Earlier: Commands"),
        "{done}"
    );
    assert!(
        text.contains("Said on the way: \"I'll look at them first: two of them share a parser.\""),
        "{text}"
    );
    // A new request becomes the current one, and the old one is kept.
    let text = summary(
        Some(&text),
        [
            user(
                "Now translate the report into French, and keep the tables as they are. The people in Lyon read it on Monday, so check the dates as well; and leave the names of products in English.",
            ),
            says("Fait."),
        ],
    );
    assert!(quotation(&text, REQUEST).starts_with("Now translate"));
    assert!(
        text.contains("- The request before it: \"Scan the three repositories"),
        "{text}"
    );
}

#[test]
fn requests_of_any_kind_stand_word_for_word() {
    for request in [
        "请修复登录页面的错误。\n\n1. 不要改动数据库的结构。\n2. 添加测试。",
        "Räum bitte auf:\n* doppelte Regeln raus\n* Farben in Variablen",
        "أصلح صفحة المساعدة من فضلك",
        "use <div> & Vec<u8>, \"quotes\", `ticks` and a | b\n\n    indented\n- [ ] box",
    ] {
        let text = summary(None, [user(request)]);
        assert_eq!(quotation(&text, REQUEST), request);
        assert_eq!(
            quotation(&summary(Some(&text), [user("/model")]), REQUEST),
            request
        );
    }
}

#[test]
fn a_request_of_six_thousand_characters_keeps_whole_lines() {
    let steps: String = (1..100)
        .map(|at| format!("{at}. step number {at} of this long list of steps\n"))
        .collect();
    let request = format!("Do this.\n{steps}Never push.");
    let text = summary(None, [user(&request)]);
    let quoted = quotation(&text, REQUEST);
    assert!(
        count_utf16(&quoted) <= 4_000 && count_utf16(&quoted) > 3_800,
        "{}",
        count_utf16(&quoted)
    );
    assert!(
        quoted.starts_with("Do this.\n1. step")
            && quoted.ends_with("99. step number 99 of this long list of steps\nNever push.")
    );
    let (mark, lines): (Vec<&str>, Vec<&str>) =
        quoted.lines().partition(|line| line.starts_with("[…"));
    assert!(
        lines
            .iter()
            .all(|line| request.lines().any(|known| known == *line)),
        "{quoted}"
    );
    let missing: usize = mark[0].split(' ').nth(1).unwrap().parse().unwrap();
    assert!(
        (count_utf16(&request) - missing).abs_diff(count_utf16(&lines.join("\n"))) < 4,
        "{mark:?}"
    );
    // A request that was cut is not cut again.
    assert_eq!(
        quotation(&summary(Some(&text), [stops("error", "x")]), REQUEST),
        quoted
    );
}

#[test]
fn summary_request_includes_what_the_user_added_later() {
    let mut messages = job();
    messages.extend([
        user("also: the report must name\n- the date"),
        look("r.txt"),
        stops("aborted", "Operation aborted"),
        user("continue"),
    ]);
    let text = summary(None, &messages);
    let added = "(Added while it was being worked on:)";
    let request =
        format!("{JOB}\n\n{added}\nalso: the report must name\n- the date\n\n{added}\ncontinue");
    assert_eq!(quotation(&text, REQUEST), request);
    assert_eq!(
        quotation(&summary(Some(&text), [says("ok")]), REQUEST),
        request
    );
}

#[test]
fn a_short_request_that_is_sent_again_is_quoted_once() {
    let text = summary(
        None,
        [
            user("next pier"),
            look("r.txt"),
            stops("aborted", "Operation aborted"),
            user("next pier"),
            look("s.txt"),
        ],
    );
    assert_eq!(quotation(&text, REQUEST), "next pier", "{text}");
}

#[test]
fn a_short_request_comes_with_what_it_refers_to() {
    let messages = [
        user(
            "Draft the release notes for version two, from the merged changes since the last tag, in three groups: new, changed, fixed. One line each, and no names of people.",
        ),
        says("Here they are.\n\n- a\n- b\n\nShall I put them into CHANGELOG.md?"),
        user("yes"),
    ];
    let text = summary(None, messages);
    let request = quotation(&text, REQUEST);
    assert!(request.starts_with("Draft the release notes"), "{text}");
    assert!(
        request.ends_with("(Answered to the assistant's question:)\nyes"),
        "{text}"
    );
    assert!(
        below(&text, "## Key Decisions")[0].ends_with("the user answered \"yes\""),
        "{text}"
    );
    assert!(
        below(&text, "## Next Steps")[0].starts_with("1. Go on with the request under Goal: "),
        "{text}"
    );
}

/// A short request says little: what the session is for stands beside it, through any number of
/// compactions.
#[test]
fn summary_keeps_what_the_session_is_for() {
    let purpose =
        "Rewrite the ferry timetable so that trips past midnight are right, with tests for each.";
    let newer = "Then write a page about the timetable for the harbour office, in plain words.";
    let mut text = summary(None, [user(purpose), says("It is rewritten.")]);
    assert!(!text.contains("What the session began with"), "{text}");
    text = summary(
        Some(&text),
        [
            user(newer),
            says("It is written."),
            user("A map would help as well."),
            says("Added a map."),
            user("Another one, longer."),
            edit("map.md"),
        ],
    );
    for _ in 0..2 {
        let goal = below(&text, "## Goal").join("\n");
        assert!(
            goal.contains(&format!("What the session began with: \"{purpose}\"")),
            "{goal}"
        );
        text = summary(Some(&text), [edit("map.md")]);
    }
    let text = summary(
        None,
        [
            user(purpose),
            says("It is rewritten."),
            user(newer),
            says("It is written."),
            user("A map would help as well."),
            says("Added a map."),
            user("Another one, longer."),
        ],
    );
    let goal = below(&text, "## Goal").join("\n");
    assert!(
        goal.contains(&format!("The last request that says more: \"{newer}\"")),
        "{goal}"
    );
}

/// Returns what is listed below Goal after the current request.
fn other_goals(previous: Option<&str>, parts: Vec<Vec<String>>) -> Vec<String> {
    let text = summary(previous, parts);
    let goal = below(&text, "## Goal").into_iter();
    let others = goal.filter(|line| line.starts_with("- "));
    others.map(str::to_owned).collect()
}

#[test]
fn the_session_begins_with_its_first_request() {
    let first = "can you make the sidebar collapsible?";
    let long = "awesome, thank you so much!! now remember the state across reloads";
    let goals_after = |first: &str, reply: &str| {
        let messages = vec![
            user(first),
            says(reply),
            user(long),
            says("It does."),
            user("add a shortcut for it"),
            says("It is `[`."),
            user("now the same for the panel on the right, please"),
        ];
        other_goals(None, messages)
    };
    let goals = goals_after(first, "It is.");
    assert_eq!(
        goals[0],
        format!("- What the session began with: \"{first}\"")
    );
    assert_eq!(goals.len(), 2, "{goals:?}");

    // A first request of some words says little.
    let goals = goals_after("hello there", "Hello.");
    assert_eq!(
        goals[0],
        format!("- The first request that says more: \"{long}\"")
    );
}

#[test]
fn the_goal_of_a_models_summary_is_what_the_session_is_for() {
    let models = "## Goal\nA fast parser.\n\n## Progress\n### Done\n- [x] The lexer";
    let later = |request: &str| {
        vec![
            user("Add a report about the numbers of tokens and of errors, as a table."),
            says("Added."),
            user(request),
            edit("report.md"),
        ]
    };
    let request = "Now put the reports into one page, with a menu.";
    let goals = other_goals(Some(models), later(request));
    assert_eq!(
        goals[0],
        "- The goal of an earlier summary: \"A fast parser.\""
    );
    // It is carried through later summaries.
    let text = summary(Some(models), later(request));
    let goals = other_goals(
        Some(&text),
        vec![
            says("Done."),
            user("And now write the page about the lexer."),
        ],
    );
    assert_eq!(
        goals[0],
        "- The goal of an earlier summary: \"A fast parser.\""
    );
}

#[test]
fn no_request_is_quoted_beside_itself() {
    let goals = other_goals(
        None,
        vec![
            user("Build the image for the board, and push it to the registry of the harbour."),
            bash("make image", Some("timed out")),
            stops("error", "overloaded"),
            user("continue"),
            look("a"),
        ],
    );
    assert_eq!(goals, Vec::<String>::new());
    // A request that is not short refers to none before it.
    let goals = other_goals(
        None,
        vec![
            user("Draw the ferry lines on the map of all the islands in the archipelago."),
            says("Drawn."),
            user("the spacing in src/router.ts is odd, can you have a look at it and mend it"),
            says("Mended."),
            user("and a print button"),
            says("There is one."),
            user("the header needs our logo, please"),
        ],
    );
    assert!(
        !goals.iter().any(|goal| goal.contains("spacing")),
        "{goals:?}"
    );
}

#[test]
fn what_follows_an_answer_without_a_reply_is_the_next_request() {
    let text = summary(
        None,
        vec![
            user("What does the linter say about the map?"),
            bash("make lint", None),
            says("One warning. Shall I mend it?"),
            user("later"),
            user("Draw the harbours as squares."),
        ],
    );
    assert_eq!(quotation(&text, REQUEST), "Draw the harbours as squares.");
}

/// `1.` is the mark of a list, which is cut off at the start of other quotations.
#[test]
fn a_request_keeps_the_number_that_it_begins_with() {
    let text = summary(
        None,
        vec![
            user("Draw the map."),
            says("Two questions:\n1. Which size: a) A3, b) A4?\n2. Which colour?"),
            user("1. b. 2. a warm one"),
            bash("make map", None),
            says("Drawn."),
            user("Now the harbours."),
        ],
    );
    let goal = below(&text, "## Goal").join("\n");
    assert!(goal.contains("\"(1) b. 2. a warm one\""), "{goal}");
}

#[test]
fn requests_are_what_the_user_asks() {
    for (text, expected) in [("Draw the map.", true), ("/model", false), (" ", false)] {
        let message = &user(text)[0];
        assert_eq!(
            is_request(Raw::parse(message.as_bytes()).unwrap()),
            expected,
            "{text}"
        );
    }
    assert!(!is_request(
        Raw::parse(says("Drawn.")[0].as_bytes()).unwrap()
    ));
}

#[test]
fn summary_takes_an_answer_for_a_decision_and_not_what_came_next() {
    let question = "Both work. Shall I use the nearer day, or add a day?";
    let decisions_after = |message: &str| {
        let messages = [
            user("Make the ferry times right across midnight, please."),
            says(question),
            user(message),
            says("All right."),
        ];
        let text = summary(None, messages);
        let decisions = below(&text, "## Key Decisions");
        decisions.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    for answer in [
        "the nearer one",
        "Yes, and tell me afterwards how many of the trips in the timetable have changed by that.",
        "I would rather not have another branch in that function, so take the nearer of the two.",
    ] {
        assert!(
            decisions_after(answer)[0].contains("the user answered"),
            "{answer}"
        );
    }
    let other =
        "Have you seen that the build on the server has been red since this morning, by chance?";
    assert_eq!(decisions_after(other), ["- (none)"]);
    let next =
        "Now please look at the start page of the office, whose colours are wrong on a phone.";
    assert_eq!(decisions_after(next), ["- (none)"]);
}

#[test]
fn summary_keeps_corrections_as_decisions() {
    let messages = [
        user("Draw the ferry lines on the map, please."),
        says("They are drawn."),
        user("No, the northern line goes past the island, and actually it is the slower one."),
        says("Corrected."),
    ];
    let text = summary(None, messages);
    let decisions = below(&text, "## Key Decisions");
    assert!(
        decisions[0].starts_with("- The user corrected: \"No, the northern line"),
        "{text}"
    );
}

#[test]
fn a_skill_prompt_is_what_the_user_typed() {
    let skill = |by: &str, details: &str| {
        vec![format!(
            r#"{{"role":"custom","customType":"skill-prompt","attribution":"{by}","content":"You are a releaser. Never!","details":{details}}}"#
        )]
    };
    for (details, asked) in [
        (
            r#"{"name":"release","prompt":"/skill:release 2.3.0\nno tag"}"#,
            "/skill:release 2.3.0\nno tag",
        ),
        (
            r#"{"name":"release","args":"2.3.0"}"#,
            "/skill:release 2.3.0",
        ),
        (r#"{}"#, "You are a releaser. Never!"),
    ] {
        let text = summary(None, [skill("user", details)]);
        assert_eq!(quotation(&text, REQUEST), asked);
    }
    let messages = [
        user("Release it, with everything that belongs to it."),
        skill("agent", "{}"),
    ];
    let text = summary(None, messages);
    assert!(
        text.contains("- Message of skill-prompt: \"You are a releaser. Never!\""),
        "{text}"
    );
}

#[test]
fn an_extension_remarks_and_does_not_replace_the_request() {
    let hook = |kind: &str, text: &str| {
        vec![format!(
            r#"{{"role":"hookMessage","customType":"{kind}","content":{}}}"#,
            json(text)
        )]
    };
    let messages = [
        user("Whatever the monitor reports, fix it."),
        says("I wait for it."),
        hook("monitor", "All is well."),
        hook("monitor", "Import failed:\n- row 7"),
        edit("import.py"),
        hook("lint", "import.py:4: E722"),
    ];
    let text = summary(None, &messages);
    assert_eq!(
        quotation(&text, REQUEST),
        "Whatever the monitor reports, fix it."
    );
    let notes = [
        "- Message of monitor: \"Import failed: / - row 7\"",
        "- Message of lint: \"import.py:4: E722\"",
    ];
    assert_eq!(below(&text, "## Critical Context"), notes);
    let text = summary(Some(&text), [edit("a.py")]);
    assert_eq!(
        quotation(&text, REQUEST),
        "Whatever the monitor reports, fix it."
    );
    assert_eq!(
        below(&text, "## Critical Context"),
        notes.map(|note| note.replacen("- ", "- Earlier: ", 1))
    );
}

#[test]
fn the_summary_of_one_branch_does_not_replace_that_of_another() {
    let branch = |text: &str| {
        vec![format!(
            r#"{{"role":"branchSummary","summary":{}}}"#,
            json(text)
        )]
    };
    let messages = [
        user("Make the ferry times right across midnight, please."),
        branch("Adding a day breaks two tests: never do that."),
        branch("The nearer day passes all tests."),
    ];
    let told = [
        "Adding a day breaks two tests: never do that.",
        "The nearer day passes all tests.",
    ];
    let told = told.map(|text| format!("- On another branch: \"{text}\""));
    assert_eq!(below(&summary(None, messages), "## Critical Context"), told);
}

#[test]
fn the_reply_to_a_command_is_not_that_to_the_request_before() {
    let messages = [
        user("Create a new theme for the terminal."),
        says("I've created it."),
        user("/them"),
        stops("aborted", ""),
        user("Now write a page about it for the handbook."),
    ];
    let text = summary(None, messages);
    let before = "- The request before it: \"Create a new theme for the terminal.\": answered: \"I've created it.\"";
    assert!(text.contains(before), "{text}");
    let text = summary(
        None,
        [
            user("Create a new theme for the terminal."),
            stops("aborted", ""),
            user("Or rather a font, for the same terminal."),
        ],
    );
    assert!(
        text.contains("\"Create a new theme for the terminal.\": interrupted by the user\n"),
        "{text}"
    );
}

#[test]
fn a_remark_without_a_reply_follows_the_request_that_it_is_about() {
    let text = summary(
        None,
        [
            user("Send the timetable to the harbour master for approval."),
            says("The server of the harbour is down. Is that the maintenance?"),
            user("yes, until ten in the evening"),
            user("Then draw the map of the northern islands."),
        ],
    );
    let remark = "- The request before it: \"yes, until ten in the evening\": not replied to\n";
    let origin = "- The request before that remark: \"Send the timetable to the harbour master";
    assert!(text.contains(&format!("{remark}{origin}")), "{text}");
    assert_eq!(text.matches("Send the timetable").count(), 1, "{text}");
}

#[test]
fn a_path_or_a_skill_alone_is_a_request() {
    for request in ["/skill:release", "/tmp/log"] {
        let messages = [
            user("Create a new theme for the terminal."),
            says("I've created it."),
            user(request),
            says("All right."),
        ];
        assert_eq!(quotation(&summary(None, messages), REQUEST), request);
    }
}

/// Returns the wishes in a request.
fn wishes_in(request: &str) -> Vec<String> {
    let prose = prose::prose_of_user(request);
    let wishes = wishes::quote_binding_sentences(request, &prose);
    assert!(
        wishes.is_empty() || may_wish_or_choose(request),
        "{request}"
    );
    wishes
}

#[test]
fn binding_sentences_of_earlier_requests_are_constraints_without_list_marks() {
    let messages = [
        user(
            "Please fix the login page.\n- Never touch the database schema!\n- Tests are in t/.\n    assert!(works) // it panics here!\n> No such user in the list!",
        ),
        says("Fixed."),
        user("请更新帮助页面。不要改动颜色！"),
        says("好的。"),
        user(
            "Now the start page, the same way; it is src/start.html and its style sheet beside it.",
        ),
    ];
    assert_eq!(
        below(&summary(None, messages), "## Constraints & Preferences"),
        [
            "- \"Never touch the database schema!\"",
            "- \"不要改动颜色！\""
        ]
    );
}

#[test]
fn a_constraint_that_is_taken_back_quotes_what_takes_it_back() {
    let constraints = |wish: &str, later: &str| {
        let messages = [
            user("Draw the map of the islands."),
            says("Drawn."),
            user(wish),
            says("Understood."),
            user(later),
            says("As you say."),
            user("Now the harbours."),
        ];
        section(messages, "## Constraints & Preferences")
    };
    for (wish, later) in [
        (
            "never use colours for the ferry lines",
            "use colours for the ferry lines after all",
        ),
        (
            "keep at most 4 lines on a page",
            "keep at most 6 lines on a page",
        ),
        (
            "don't name the harbours of the north",
            "no, name the harbours of the north",
        ),
    ] {
        let marked = format!("- \"{wish}\" (later: \"{later}\")");
        let constraints = constraints(wish, later);
        assert_eq!(constraints.lines().next(), Some(&*marked), "{constraints}");
    }
    for (wish, later) in [
        (
            "never use colours for the ferry lines",
            "never use icons for the ferry lines",
        ),
        (
            "keep at most 4 lines on a page",
            "use 6 pages for the harbours",
        ),
        (
            "don't name the harbours of the north",
            "instead, draw a compass",
        ),
    ] {
        assert!(!constraints(wish, later).contains("(later"), "{later}");
    }
}

#[test]
fn a_wish_with_parentheses_is_taken_back_by_what_names_its_end() {
    let wish = "never draw the rocks (or the buoys) of the north";
    let later = "no, draw the buoys of the north";
    let messages = [
        user(wish),
        says("Drawn."),
        user(later),
        says("Drawn."),
        user("Now the compass, please."),
    ];
    let marked = format!("- \"{wish}\" (later: \"{later}\")");
    assert_eq!(section(messages, "## Constraints & Preferences"), marked);
}

#[test]
fn a_wish_of_a_previous_summary_is_not_taken_back_by_itself() {
    let wish = "never use dashes for the ferry lines, always dots instead";
    let messages = [user(wish), says("Drawn."), user("Now the compass, please.")];
    let first = summary(None, &messages);
    let second = summary(Some(&first), &messages);
    assert_eq!(
        below(&second, "## Constraints & Preferences"),
        [format!("- \"{wish}\"")]
    );
}

#[test]
fn a_wish_that_is_taken_back_while_its_request_goes_on_is_listed_once() {
    let wish = "Never use dashes for the ferry lines";
    let later = "no, use dashes for the ferry lines";
    let messages = [
        user(&format!("Draw the map of the islands. {wish}.")),
        stops("aborted", ""),
        user(later),
        says("The ferry lines have dashes."),
        user("Now the harbours of the north, with their depths and their lights."),
        says("Drawn."),
        user("And the compass."),
    ];
    let expected = [format!("- \"{wish}.\" (later: \"{later}\")")];
    for count in 5..=messages.len() {
        let text = summary(None, &messages[..count]);
        assert_eq!(below(&text, "## Constraints & Preferences"), expected);
    }
}

#[test]
fn a_wish_that_was_taken_back_keeps_its_mark_in_the_next_summary() {
    let wish = "Never use dashes for the ferry lines";
    let later = "no, use dashes for the ferry lines";
    let first = summary(
        None,
        [
            user(&format!("Draw the map of the islands. {wish}.")),
            says("Which lines first?"),
            user("the east"),
            stops("aborted", ""),
            user(later),
            stops("aborted", ""),
        ],
    );
    let second = summary(Some(&first), [user("And the compass of the map, in blue.")]);
    let marked = format!("- Earlier: \"{wish}.\" (later: \"{later}\")");
    assert_eq!(below(&second, "## Constraints & Preferences"), [marked]);
}

#[test]
fn a_constraint_forbids_or_demands_in_general() {
    for text in [
        "no console logs! setTheme should return an error instead",
        "NEVER index the memo field",
        "please don't tag yet",
        "this crashed. invalid themes must never explode",
        "Keine Cookies, das haben wir versprochen",
        "Les noms doivent rester en anglais",
        "Siempre con pruebas, por favor",
        "всегда спрашивай перед удалением",
        "必ずテストを書いてください",
        "يجب أن تبقى الأسماء كما هي",
        "i would only want e2e tests",
        "stop commiting everything",
        "looks good, no rgb indices!",
        "plase don't rewrite the changelog",
        "ok but keep the old names",
        "and please leave everything else as it is",
        "i only want the numbers in that table",
        "Read-only access to the replica only. Begin with the tables.",
        "own widgets. fewer dependencies the better",
        "the rows are at finance. wait for their ok before you touch them",
        "parallel then. but results must be identical",
        "Die Grenzwerte darfst du auf keinen Fall ändern",
        "oui mais garde les originaux",
        "ne change pas la police, ma mère ne voit plus",
        "and hands off the old maps, they are signed",
        "Finger weg von den alten Karten",
        "Cutover is Sunday 02:00. Never write to the replica.",
    ] {
        assert_eq!(wishes_in(text).len(), 1, "{text}");
    }
    for text in [
        "no, dimGray should be that, no need for linkGray,",
        "in the system prompt make sure you know to read the README.md also when the user asks you",
        "that's not the system prompt. see main.ts",
        "hmmm, the theme selector needs to push the theme update to the next tick, or else we get artifacts",
        "awesome, thank you so much!! now remember the state across reloads",
        "it only displays the first line!",
        "Must it always be like this?",
        "> never do this again, said the log",
        "fn never() { must(); }",
        "no, that was right before",
        "keep going with the rest of it",
        "no need for another test here",
        "I don't know why the tests fail",
        "`cargo test` must pass without it",
        "the run says:\nerror: x(1) is unused\nthe field is never read in the whole crate",
        "ok, keep it like that",
        "lass sie, im Anhang braucht man die",
        "Wir müssen das Handbuch neu ordnen",
        "it crashes on firefox only",
        "10:11:12 never got a response from the target",
    ] {
        assert_eq!(wishes_in(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn praise_is_no_request_and_a_passed_over_one_is_called_so() {
    let messages = [
        user("Draw the ferry lines on the map."),
        says("They are drawn."),
        user("great"),
        user("the captain asks for the depths on Monday"),
        user("How many sequences are there?"),
        says("+ 1."),
        user("Colour the harbours by their depth."),
        says("Coloured."),
        user("Add a legend."),
    ];
    let text = summary(None, messages);
    assert_eq!(
        below(&text, "### Done"),
        [
            "- \"Draw the ferry lines on the map.\": answered: \"They are drawn.\"",
            "- \"the captain asks for the depths on Monday\": not replied to",
            "- \"How many sequences are there?\": answered: \"+ 1.\"",
        ]
    );
}

#[test]
fn limits_and_conditions_are_wishes() {
    let limit = "do that, but at most four boats at once, the harbour complained";
    assert_eq!(wishes_in(limit), [format!("\"{limit}\"")]);
    let condition = "run the ferry check again before you tell me it's done";
    assert_eq!(wishes_in(condition), [format!("\"{condition}\"")]);

    // Of the moment, or of the past.
    assert!(wishes_in("start with a list of the harbours, no map yet").is_empty());
    assert!(wishes_in("a letter of at most one page, please").is_empty());
    assert!(wishes_in("it was there before you changed the map").is_empty());
}

#[test]
fn a_restriction_stays_with_what_it_restricts() {
    let request = "draw the wind! but only on the northern islands";
    assert_eq!(wishes_in(request), [format!("\"{request}\"")]);
}

#[test]
fn what_the_user_passes_on_is_no_wish() {
    for text in [
        "someone in the store says\nWorst app ever\nNever buy this!\nPlease stop draining my battery.\ndo we have logs for that?",
        "from the data office:\nPlease do not use values flagged 9.\nNever interpolate over gaps.",
        "new rules:\nHallo zusammen,\nbitte nie wieder die alten Nummern verwenden!\nGruß, Dieter\nWie viele sind noch drin?",
    ] {
        assert_eq!(wishes_in(text), Vec::<String>::new(), "{text}");
    }
    let own_words = "new rules\nDear all,\nnever use the old numbers.\nBest regards\nNever change our own, though.";
    assert_eq!(wishes_in(own_words), ["\"Never change our own, though.\""]);
    for text in [
        "Hello!\nDraw the ferry lines.\nNever change the palette.",
        "please mind:\nNever change the palette.\nDraw the ferry lines.",
        "the captain says\nNever change the palette.",
    ] {
        assert_eq!(wishes_in(text), ["\"Never change the palette.\""], "{text}");
    }
}

#[test]
fn a_few_earlier_requests_are_quoted_whole() {
    let spoken = [
        "I want the depths on the map as well, at low water, because the pilots have asked for them since the spring, and the harbour office has no other paper to give them when they come in at night.",
        "Use the soundings of the survey of last year. Where it has none, take the old ones, and say so below the map, in small letters; the captain compares the two whenever he is bored.",
    ];
    let mut messages = vec![user("Draw the map of all harbours, please.")];
    for request in spoken {
        messages.extend([says("Drawn."), user(request)]);
    }
    messages.extend([
        says("They are on it."),
        user("Now the legend."),
        says("There."),
    ]);
    messages.push(user("And print it."));

    let text = summary(None, messages);
    for request in spoken {
        assert!(text.contains(request), "{text}");
    }
}

#[test]
fn a_question_whose_reply_failed_or_has_no_words_is_listed() {
    let question = "Could you also remove the old soundings from the map?";
    let text = summary(
        None,
        [
            user("Draw the map of all harbours, please."),
            says("Drawn."),
            user(question),
            edit("map.svg"),
            user("Now the legend."),
            says("There."),
            user("And print it."),
        ],
    );
    assert!(text.contains(question), "{text}");
}

/// Returns a word for each number, so that texts with it differ by more than a number.
pub(super) fn word(number: usize) -> String {
    let letter = |number: usize| char::from(b'a' + (number % 20) as u8);
    format!("{}{}", letter(number / 20), letter(number))
}

#[test]
fn earlier_requests_are_kept_by_weight_and_not_by_age() {
    let long = "and so on with many more words ".repeat(8);
    let mut messages = vec![
        user(
            "Find out how long the crossing takes, and write a report about the winter timetable.",
        ),
        says("I look at the records of the harbour."),
        user("How long is it in a storm?"),
        bash("./measure storm", None),
        says("The log was incomplete, so I measured again: 41.2 min against 38.0 in calm water."),
    ];
    for at in 0..30 {
        let name = word(at);
        messages.extend([
            user(&format!("Look at picture {name}: {long}")),
            look("a"),
            says(&format!("Picture {name} has another frame {long}.")),
        ]);
    }
    messages.push(user("Now write the report."));
    let text = summary(None, messages);
    let done = below(&text, "### Done").join("\n");
    let measured = "\"How long is it in a storm?\": answered: \"The log was incomplete, so I \
                    measured again: 41.2 min against 38.0 in calm water.\"";
    assert!(done.contains(measured), "{done}");
    // Its first request is under Goal, and here only a reminder of it.
    let first = "- \"Find out how long the crossing takes…\": answered: ";
    assert!(done.contains(first), "{done}");
    let routine_answers = done.matches("has another frame").count();
    assert!(routine_answers <= 1, "{done}");
    assert!(count_utf16(&text) <= super::budget::OTHER_SECTIONS + 500);
}

#[test]
fn an_answer_that_only_repeats_another_is_left_out_first() {
    let mut messages = vec![user("Draw the map of all harbours, please.")];
    for at in 0..30 {
        let (name, long) = (word(at), "in the same manner ".repeat(6));
        messages.extend([
            user(&format!("Draw the harbour of {name} {long}")),
            edit("map.svg"),
            says(&if at == 3 {
                format!("The pier of {name} is missing in the record. {long}")
            } else {
                format!("Drawn in maps/{name}.svg at scale {at}.{at}. {long}")
            }),
        ]);
    }
    messages.push(user("Now the legend."));
    let text = summary(None, messages);
    let done = below(&text, "### Done").join("\n");
    assert!(done.contains("The pier of ad is missing"), "{done}");
    // All requests are listed, and the room that is left is not enough for these answers.
    assert!(done.matches("Drawn in").count() <= 2, "{done}");
}

#[test]
fn a_corrected_answer_gives_way_to_the_correction() {
    let mut messages = vec![
        user("Draw the map of all harbours, please."),
        says("Drawn."),
        user("Put the lighthouses on it."),
        edit("map.svg"),
        says("Three lighthouses are on it, 12.5 km apart."),
        user("Actually there are four, the small one counts"),
        edit("map.svg"),
        says("The small one is on it."),
    ];
    for at in 0..30 {
        let (name, long) = (word(at), "with all its piers ".repeat(6));
        messages.extend([
            user(&format!("Draw the harbour of {name} {long}")),
            says(&format!("The harbour of {name} is drawn. {long}")),
        ]);
    }
    messages.push(user("Now the legend."));
    let text = summary(None, messages);
    let correction = "- The user corrected: \"Actually there are four, the small one counts\" (on \
                      \"Put the lighthouses on it.\"); reply: \"The small one is on it.\"\n";
    assert!(text.contains(correction), "{text}");
    assert!(!text.contains("Three lighthouses"), "{text}");
}

#[test]
fn nods_are_not_among_the_requests_without_answers() {
    let mut messages = vec![
        user("Draw the map of all harbours, please."),
        says("Drawn."),
    ];
    for at in 0..60 {
        let (name, long) = (word(at), "with all its piers ".repeat(6));
        let request = if at == 2 {
            "looks good, next one".to_owned()
        } else {
            format!("Draw the harbour of {name} {long}")
        };
        messages.extend([
            user(&request),
            edit("map.svg"),
            says(&format!("The harbour of {name} is drawn. {long}")),
        ]);
    }
    messages.push(user("Now the legend."));
    let text = summary(None, messages);
    let list = "- Older requests, replied to, without the replies: \"Draw the harbour of";
    assert!(text.contains(list), "{text}");
    assert!(!text.contains("looks good"), "{text}");
}

#[test]
fn turns_that_differ_in_numbers_are_a_series() {
    let mut messages = vec![
        user("Draw the map of all harbours, please."),
        says("Begun."),
    ];
    for at in 1..=6 {
        messages.extend([
            user(&format!("Draw harbour {at} as well")),
            says(&format!("Harbour {at} is in h{at}.svg.")),
        ]);
    }
    messages.extend([user("Now the legend of the map."), says("Drawn.")]);
    messages.push(user("And now the ferry lines between the harbours."));
    let text = summary(None, messages);
    assert_eq!(
        below(&text, "### Done"),
        [
            "- \"Draw the map of all harbours, please.\": answered: \"Begun.\"",
            "- \"Draw harbour 1 as well\": answered: \"Harbour 1 is in h1.svg.\" … \"Draw \
             harbour 6 as well\": answered: \"Harbour 6 is in h6.svg.\" (6 alike)",
        ]
    );
}

#[test]
fn of_many_turns_those_that_found_out_little_are_dropped() {
    let mut messages = vec![
        user("How deep is the harbour, for the pilots?"),
        says("I measure it."),
        user("And at low tide?"),
        says("It is 4.2 m deep then, because the silt was dredged."),
    ];
    for at in 0..90 {
        let name = word(at);
        messages.extend([
            user(&format!("Paint buoy {name} in another colour.")),
            says(&format!("Painted, {name}.")),
        ]);
    }
    let text = summary(None, messages);
    assert!(text.contains("It is 4.2 m deep then"), "{text}");
}

/// The cut is within the work on the request under Goal.
#[test]
fn the_last_of_later_requests_is_the_next_step_after_a_cut_turn() {
    let mut builder = extract(None);
    builder.subject = SummarySubject::Conversation { later_requests: 2 };
    builder.is_split = true;
    feed(
        &mut builder,
        [user("Draw the ferry lines on the map."), edit("map.svg")],
    );
    let text = builder.finish().text;
    let next = &below(&text, "## Next Steps")[0];
    assert_eq!(
        *next,
        "1. What answers the request under Goal follows this summary, then later requests: \
         go on with the last of them. (1 tool call summarized here.)"
    );
    // The next summary reports anew.
    let text = summary(Some(&text), [user("Now the buoys.")]);
    assert!(!text.contains("What answers"), "{text}");
}

#[test]
fn requests_in_the_kept_part_are_announced() {
    let mut builder = extract(None);
    builder.subject = SummarySubject::Conversation { later_requests: 2 };
    feed(
        &mut builder,
        [
            user("Draw the ferry lines on the map."),
            says("They are drawn."),
        ],
    );
    let text = builder.finish().text;
    let note = "2 later requests follow this summary";
    assert!(
        text.contains(&format!(
            "The last request, word for word (entry e1; {note}):"
        )),
        "{text}"
    );
    let next = &below(&text, "## Next Steps")[0];
    assert_eq!(
        *next,
        format!("1. The request under Goal was replied to. {note}: what is next is there.")
    );
    // A later summary knows the entry.
    let text = summary(Some(&text), [user("/model")]);
    assert!(text.contains(REQUEST), "{text}");
}

#[test]
fn points_on_paths_that_were_removed_are_not_taken_over() {
    let previous = "## Goal\nMaps\n\n## Constraints & Preferences\n- leave maps/old.svg alone\n\n## Progress\n### Done\n- Drew `maps/old.svg`\n- Drew `maps/new.svg`\n\n## Critical Context\n- maps/old.svg stays as it is";
    let removed = bash("git rm -q maps/old.svg && make", None);
    let text = summary(Some(previous), [user("Go on with the maps."), removed]);
    assert!(text.contains("maps/new.svg"), "{text}");
    assert_eq!(below(&text, "## Critical Context"), ["- (none)"]);
    assert!(!text.contains("Drew `maps/old.svg`"), "{text}");
    // What the user wants does not end with the path.
    assert!(text.contains("leave maps/old.svg alone"), "{text}");
}

#[test]
fn decisions_on_paths_that_were_removed_are_dropped_or_say_so() {
    let previous = "## Goal\nMaps\n\n## Key Decisions\n- Asked \"Shall I keep maps/old.svg?\", the user answered \"yes\"\n- The user chose: \"blue harbours\"\n- The user chose: \"draw it in maps/sea.svg instead\"";
    let mut messages = vec![
        user("Draw the depths in maps/depth.svg instead of the legend."),
        says("They are drawn."),
        user("How many depths are there?"),
        says("There are 412."),
        user("Rename the maps, then."),
        bash(
            "git rm -q maps/old.svg && git mv maps/depth.svg maps/soundings.svg",
            None,
        ),
        bash("mv ./maps/sea.svg charts/", None),
        says("Renamed."),
        user("make the file names short, maps/soundings.svg is too long"),
        bash("mv maps/soundings.svg maps/deep.svg", None),
        says("It is maps/deep.svg."),
    ];
    let first = summary(Some(previous), &messages);
    let chosen = "- The user chose: \"Draw the depths in maps/depth.svg instead of the legend.\"";
    let decisions = below(&first, "## Key Decisions").join("\n");
    assert!(decisions.contains("blue harbours"), "{decisions}");
    assert!(
        decisions.contains(&format!(
            "{chosen} (later: the path was removed or renamed)"
        )),
        "{decisions}"
    );
    for gone in ["maps/old.svg", "maps/sea.svg"] {
        assert!(!decisions.contains(gone), "{decisions}");
    }

    // A decision for the removal itself is none on a path that was removed later.
    messages.push(user("remove maps/deep.svg instead, and go on"));
    messages.push(bash("rm maps/deep.svg", None));
    messages.push(says("It is removed."));
    messages.push(user("Now the lighthouses of the coast."));
    let second = summary(None, &messages);
    let decisions = below(&second, "## Key Decisions").join("\n");
    let removal = "- The user chose: \"remove maps/deep.svg instead, and go on\"";
    assert!(decisions.contains(removal), "{decisions}");
    assert!(
        !decisions.contains(&format!("{removal} (later: the path")),
        "{decisions}"
    );
}

#[test]
fn a_short_summary_of_a_branch_has_no_empty_sections() {
    let summary_of = |subject| {
        let mut builder = extract(None);
        builder.subject = subject;
        feed(
            &mut builder,
            [
                user("Draw the ferry lines."),
                edit("map.svg"),
                says("They are drawn."),
            ],
        );
        builder.finish().text
    };
    let conversation = summary_of(SummarySubject::default());
    assert_eq!(conversation.matches("(none)").count(), 5, "{conversation}");
    assert_snapshot!(summary_of(SummarySubject::Branch), @r"
    ## Goal
    The last request, word for word (entry e1):
    > Draw the ferry lines.

    ## Progress
    ### Done
    - Files changed for the request under Goal, newest first: `map.svg`

    ## Next Steps
    1. The request under Goal was replied to. What is next is below, if anything.

    The assistant's last words:
    > They are drawn.
    ");
}

#[test]
fn what_was_observed_is_no_wish() {
    for text in [
        "the horn never stops if the boat leaves the harbour!!",
        "the backup of the charts never got tested.",
        "yeah gauge 7 always bugged me.",
        "dont have it, the office only keeps 30 days",
        "don't have the key here",
        "it always starts with the old palette",
        "a build always ends with a timeout",
    ] {
        assert_eq!(wishes_in(text), Vec::<String>::new(), "{text}");
    }
    for text in [
        "the horn never sounds at night",
        "the list is always sorted",
        "don't have the horn sound at night, never",
        "Don't have more than 80 columns in a line",
        "a commit subject always starts with the module name",
    ] {
        assert_eq!(wishes_in(text).len(), 1, "{text}");
    }
}

#[test]
fn what_is_meant_for_the_moment_is_no_wish() {
    for text in [
        "labels must end where the map ends ...",
        "should be dimmer, don't touch the palette, look into the legend",
        "Read the charts first and give me a plan, don't draw anything yet.",
        "look at the charts. dont touch anything",
    ] {
        let wishes = wishes_in(text);
        assert!(wishes.is_empty(), "{wishes:?}");
    }
    for text in [
        "we never show depths, only first names of the captains",
        "labels must never end in the middle of a word",
        "Harbour 7 is closed, leave its entry as it is",
        "And two decimals everywhere, please.",
        "and pls dont touch the tables, the harbour master keeps those",
        "find out why. dont touch the archive, there is a copy",
        "look at the map. never use any red in the legend",
    ] {
        assert_eq!(wishes_in(text).len(), 1, "{text}");
    }
}

#[test]
fn each_clause_of_a_sentence_may_be_a_wish() {
    let mut missed = Vec::new();
    for text in [
        "look at the footer, but dont touch the header",
        "look at the footer but dont touch the header",
        "just grey tones, nothing else",
        "check the parser and dont change the tests",
        "look at the log - and keep the old format",
        "see if the chart renders; stop adding comments to the css",
        "fix the typo - quit renaming my variables",
        "look into the crash\nbut leave the schema as it is",
        "make the button bigger and keep the colors",
        "read the spec, then only use the documented calls",
        "i think we would only need the german one",
        "honestly i only want two columns",
        "two decimals and nothing else",
        "fix it but please please dont reformat the file",
        "also guys stop using tabs",
        "look at page 3 and no new dependencies",
        "can we please stop adding logging everywhere",
        "the numbers are fine but quit rounding the totals",
        "run the tests and dont skip the slow ones",
        "draw it again - no labels",
        "check mobile too; avoid media queries",
        "yeah but keep the old urls working",
        "just fix the typo, dont touch the rest of the page",
        "Two piers. Rule: two boats less than a mile apart are one fleet",
        "lovely! rule: several boats of one owner in ONE letter",
        "add a legend and please for once no abbreviations",
        "read the docs and use only the public calls",
        "look at the tests, they should never hit the network",
        "also please no em dashes in any text",
        "fix it. i dont want a new dependency for that",
        "make two versions; i need only metric units in both",
        "the lamp is lit at dusk, no matter what the captain says",
        "i want two columns and dont round the totals",
        "we should stop sending mails on sunday",
        "keep the old names, then look at the menu",
        "check with ella before any change of the schema",
    ] {
        if wishes_in(text).len() != 1 {
            missed.push(text);
        }
    }
    assert_eq!(missed, [""; 0]);

    let mut false_wishes = Vec::new();
    for text in [
        "look at it, but dont touch anything",
        "just look, dont fix it",
        "check the logs and dont restart it yet",
        "look at the failing test but dont fix the bug",
        "no, the other one",
        "no problem, keep going",
        "it works but only on chrome",
        "the tests pass and only the lint fails",
        "the app hangs and keeps crashing",
        "the tests fail and dont recover",
        "when i save and leave the page it crashes",
        "it has two harbours and no lighthouse",
        "it was slow and without the cache it is worse",
        "we save it and keep a copy somewhere, where is it",
        "just tell me what is in there, nothing else",
        "only the first harbour works",
        "it does nothing else",
        "nothing else to do today",
        "only one test left",
        "no is not an answer here",
        "the rules are in rules.md, read them",
        "They report:\nerror: the parser must never be called twice (x)\nkeep the lock before you call it",
    ] {
        false_wishes.extend(wishes_in(text));
    }
    assert_eq!(false_wishes, [""; 0]);
}

#[test]
fn sentences_end_at_full_stops_after_short_words_too() {
    for (request, expected) in [
        ("the printer knows, leave it. ferries now", None),
        (
            "two full stops are missing. and no \"um zu\" in it",
            Some("two full stops are missing. and no 'um zu' in it"),
        ),
    ] {
        let wishes: Vec<String> = expected.iter().map(|wish| format!("\"{wish}\"")).collect();
        assert_eq!(wishes_in(request), wishes, "{request}");
    }
}

#[test]
fn a_short_wish_that_answers_comes_with_its_question_and_once() {
    let sections = |answer: &str, reply: &str| {
        let text = summary(
            None,
            [
                user("Draw the map of the islands, with all of their harbours."),
                says(reply),
                user(answer),
                says("Drawn."),
                user("Now the compass, please."),
            ],
        );
        ["## Constraints & Preferences", "## Key Decisions"]
            .map(|name| below(&text, name).join(" "))
    };
    let asked = "Drawn. Shall I add the depths?";
    let [constraints, decisions] = sections("only for the north", asked);
    assert_eq!(constraints, "- (none)");
    assert!(
        decisions.contains("the user answered \"only for the north\""),
        "{decisions}"
    );

    let [constraints, _] = sections("yes, but never in red", asked);
    assert!(
        constraints.starts_with("- \"yes, but never in red\" (asked "),
        "{constraints}"
    );

    let [constraints, _] = sections("only for the north", "The depths are in metres.");
    assert_eq!(constraints, "- \"only for the north\"");
}

#[test]
fn a_wish_that_answers_comes_with_what_it_is_about() {
    let messages = [
        user("Remove the note on the lamp, too."),
        says("Removed. The test of the tide fails on the old chart as well, so I left it alone."),
        user("yes known, sanne is on it. dont touch"),
        says("Left."),
        user("Now the legend."),
    ];
    assert_eq!(
        section(messages, "## Constraints & Preferences"),
        "- \"yes known, sanne is on it. dont touch\" (after \"Removed. The test of the tide fails on \
         the old chart as well, so I left it alone.\")"
    );
    let messages = [
        user("Remove the note on the lamp, too."),
        says("Removed. The test of the tide fails on the old chart as well, so I left it alone."),
        user("ok wind! but only from level 3 on"),
        says("Drawn."),
        user("Now the legend."),
    ];
    assert_eq!(
        section(messages, "## Constraints & Preferences"),
        "- \"ok wind! but only from level 3 on\""
    );
}

#[test]
fn a_wish_that_was_added_comes_with_the_request_that_it_was_added_to() {
    let messages = [
        user("Count the boats of the harbour."),
        says("There are 213 boats, and none without a name."),
        user("rename the list, boats.toml"),
        look("list.toml"),
        user("no leave it in the drawer, i copy the drawer anyway"),
        says("It stays in the drawer."),
        user("Now the legend."),
    ];
    assert_eq!(
        section(messages, "## Constraints & Preferences"),
        "- \"no leave it in the drawer, i copy the drawer anyway\" (on \"rename the list, boats.toml\")"
    );

    // The first message of the request, without the answer between the two.
    let messages = [
        user("Draw the map of the harbour for the captain."),
        says("Shall I draw the islands, too?"),
        user("yes"),
        look("list.toml"),
        user("dont touch it, the list is mine"),
        says("It stays."),
        user("Now the legend."),
    ];
    assert_eq!(
        section(messages, "## Constraints & Preferences"),
        "- \"dont touch it, the list is mine\" (on \"Draw the map of the harbour for the captain.\")"
    );
}

/// What a timer repeats differs only in times and ids. Requests for two things are two.
#[test]
fn requests_that_differ_in_a_plain_number_are_not_one() {
    let messages = [
        user("paint row 3 of the sign red"),
        says("It is red."),
        user("paint row 4 of the sign red"),
        says("It is red."),
    ];
    let text = summary(None, messages);
    assert!(text.contains("row 3 of the sign"), "{text}");
    assert!(text.contains("> paint row 4 of the sign red"), "{text}");

    for (first, second) in [
        (
            "Translate docs/utf8.md please, all of it",
            "Translate docs/base64.md please, all of it",
        ),
        (
            "fix crates/core/src/sha1.rs now",
            "fix crates/core/src/utf16.rs now",
        ),
        ("delete the 15000 rows", "delete the 20000 rows"),
        ("close the issue #12345", "close the issue #12346"),
        ("look at [HARBOUR-12] again", "look at [HARBOUR-13] again"),
        ("draw it in a ratio of 3:2", "draw it in a ratio of 4:3"),
        (
            "[the map](https://harbour.example/1) as text",
            "[the map](https://harbour.example/2) as text",
        ),
        (
            "translate [map](https://harbour.example/1)",
            "translate [map](https://harbour.example/2)",
        ),
    ] {
        let messages = [user(first), says("Done."), user(second), says("Done.")];
        let text = summary(None, messages);
        let is_quoted = text.contains(&format!("> {second}"));
        assert!(text.contains(first) && is_quoted, "{text}");
    }

    let mut messages = vec![user("Watch the ferry timetable."), says("I watch it.")];
    for (id, time) in [
        ("5f0c81", "10:30"),
        ("81ab02", "9:00am,"),
        ("990132", "2026-03-02"),
        ("990133", "2026-03-02T10:30:00Z"),
        ("990134", "02.03.2026"),
        ("990135", "03/02/2026"),
        ("990139", "10:30:00.250"),
        ("990136", "2026/03/02"),
        ("990137", "1772447400"),
        ("990138", "1772447400123."),
    ] {
        messages.push(user(&format!("[cron:{id}] Check the timetable at {time}")));
        messages.push(says("Nothing new."));
    }
    let text = summary(None, messages);
    assert_eq!(text.matches("[cron:").count(), 1, "{text}");
}

#[test]
fn short_wishes_are_listed_and_lines_of_errors_are_not() {
    let constraints = |request: &str| {
        let messages = [
            user("Make the page of the ferry."),
            says("It is made."),
            user(request),
            says("Done."),
            user("Now the map of the harbour."),
        ];
        let text = summary(None, messages);
        below(&text, "## Constraints & Preferences").join("\n")
    };
    for wish in [
        "no jquery!",
        "no frames",
        "dont use bold",
        "Error messages must always be in French.",
        "Error Messages must always be in French.",
        "Warning: never touch the production database",
        "WARNING don't touch the production database",
        "WARNING Never touch the production database",
        "careful, dont touch the signed maps",
    ] {
        assert!(constraints(wish).contains(wish), "{wish}");
    }
    for pasted in [
        "fatal: You must always set user.email before commit",
        "ERROR You must not run this as root. Never use sudo with npm.",
        "npm ERR! never run it with sudo",
        "WARNING: You must always run pip in a virtual environment",
        "WARNING You must never run this as root",
    ] {
        assert!(!constraints(pasted).contains("ou must"), "{pasted}");
        assert!(!constraints(pasted).contains("npm ERR"), "{pasted}");
    }
}

/// A wish binds, whatever is put off beside it, and the first request follows nothing that it could
/// put off.
#[test]
fn a_wish_beside_a_deferral_is_a_constraint() {
    let constraints_of =
        |messages: &[Vec<String>]| section(messages, "## Constraints & Preferences");
    let first = "Never use jquery. Add a button to read the article later.";
    let mut messages = vec![user(first), says("Added."), user("Now the harbours.")];
    assert_eq!(constraints_of(&messages), "- \"Never use jquery.\"");
    assert!(!summary(None, &messages).contains("put off"));

    messages = vec![
        user("Draw the map of the islands."),
        says("Drawn. Shall I draw the legend, too?"),
        user("not now. never touch the charts."),
        says("As you say."),
        user("Now the harbours."),
    ];
    assert_eq!(constraints_of(&messages), "- \"never touch the charts.\"");
}

/// Of a line that is bold as a whole, only one above a list or with a colon is a heading.
#[test]
fn bold_lines_of_a_models_summary_are_kept() {
    let previous = "## Goal\nMaps\n\n## Constraints & Preferences\n**Never push to main**\n\n**Colours**\n\n- red piers\n\n**Names:**\nThe piers have names.\n\n## Critical Context\n**Decision: the depths stay in feet**\n\n**Key Decisions**\n- blue harbours";
    let text = summary(Some(previous), [user("Go on with the maps.")]);
    assert_eq!(
        below(&text, "## Constraints & Preferences"),
        [
            "- Earlier: **Never push to main**",
            "- Earlier: red piers",
            "- Earlier: The piers have names."
        ]
    );
    assert!(
        text.contains("Earlier: **Decision: the depths stay in feet**"),
        "{text}"
    );
    assert_eq!(
        below(&text, "## Key Decisions"),
        ["- Earlier: blue harbours"]
    );
}

/// The request of a previous summary has no number, and its own work may remove the path.
#[test]
fn a_decision_of_a_previous_summary_ends_with_its_path_while_its_request_goes_on() {
    let messages = [
        user("Draw the ferry lines of the islands, all of them, with their harbours."),
        edit("maps/old.svg"),
    ];
    let first = summary(None, messages).replace(
        "## Key Decisions\n- (none)",
        "## Key Decisions\n- Asked \"Shall I keep maps/old.svg?\", the user answered \"yes\"",
    );
    assert!(first.contains("keep maps/old.svg"), "{first}");
    let goes_on = summary(Some(&first), [bash("git rm -q maps/old.svg && make", None)]);
    assert!(!goes_on.contains("keep maps/old.svg"), "{goes_on}");
}

/// Claude Code notes an interruption after a reply that seems complete.
#[test]
fn a_request_whose_reply_was_cut_short_before_any_word_is_not_answered() {
    let interruption = vec![
        r#"{"role":"custom","customType":"claude.interruption","content":"[Request interrupted by user]"}"#
            .to_owned(),
    ];
    for (reply, ending) in [
        ("", "interrupted by the user"),
        ("It has a door.", "answered"),
    ] {
        let text = summary(
            None,
            [
                user("How do I get into the lighthouse from the northern harbour?"),
                says(reply),
                interruption.clone(),
                user("Now draw the lighthouse and the piers for everybody in town."),
            ],
        );
        assert!(
            text.contains(&format!("northern harbour?\": {ending}")),
            "{text}"
        );
    }
}

#[test]
fn of_the_prompt_of_a_command_only_the_argument_is_the_users() {
    let prompt = |argument: &str| {
        format!(
            "## User Input\n\n```text\n{argument}\n```\n\nYou **MUST** consider the user input \
             before proceeding (if not empty).\n\n## Outline\n\n1. **Read the plan**: all of it. \
             You must never guess.\n2. Draw:\n   - Always in blue.\n"
        )
    };
    let text = summary(
        None,
        [
            user(&prompt("the piers, and never the boats")),
            says("Drew the piers."),
            user(&prompt("the lights")),
            tool("", "write", "{}", None),
        ],
    );
    let quoted = "> the lights\n>\n> [command: Read the plan; Draw]\n";
    assert!(text.contains(quoted), "{text}");
    assert!(
        text.contains("\"the piers, and never the boats\": answered"),
        "{text}"
    );
    for words_of_the_command in ["consider the user input", "guess", "in blue"] {
        assert!(!text.contains(words_of_the_command), "{text}");
    }
}
