use super::super::sections::*;

fn points(previous: &Sections, section: Section) -> &[String] {
    previous.items(section)
}

#[test]
fn a_models_summary_is_its_points() {
    let previous = Sections::parse(
        "## Goal\nMake it fast.\n\n## Constraints & Preferences\n(none)\n\n## Progress\n### Done\n- [x] a\n  - in b.rs\n- c\n\n## Open questions\n- d?\n- e?\n\n## Next Steps\n1. f\n2. g\n\n<read-files>\nx\n</read-files>",
    );
    assert_eq!(points(&previous, Section::Goal), ["Make it fast."]);
    assert_eq!(
        points(&previous, Section::Constraints),
        Vec::<String>::new()
    );
    assert_eq!(points(&previous, Section::Done), ["[x] a; in b.rs", "c"]);
    assert_eq!(points(&previous, Section::NextSteps), ["f", "g"]);
    assert_eq!(
        points(&previous, Section::Context),
        ["Open questions:", "d?", "e?"]
    );
}

#[test]
fn a_split_turn_and_prose_have_a_place() {
    let previous = Sections::parse(
        "They spoke of cats.\n\n---\n\n**Turn Context (split turn):**\n\n## Original Request\nA dog.\n\n## Progress So Far\n- x",
    );
    assert_eq!(points(&previous, Section::Goal), ["A dog."]);
    assert_eq!(points(&previous, Section::InProgress), ["x"]);
    assert_eq!(points(&previous, Section::Context), ["They spoke of cats."]);
}

#[test]
fn parts_in_other_tools_tags_are_left_out_as_a_whole() {
    let template = "Use this template for each step of the plan, please.\n".repeat(30);
    let previous = Sections::parse(&format!(
        "<summary>\n## Goal\nG\n</summary>\n\n<mem-tool version=\"2\">\n{template}</mem-tool>\n<port>\n8080\n</port>\n<open>\n## Next Steps\n1. n\n"
    ));
    assert_eq!(points(&previous, Section::Goal), ["G"]);
    assert_eq!(points(&previous, Section::NextSteps), ["n"]);
    assert!(!format!("{previous:?}").contains("template"));
}

#[test]
fn its_own_quotations_come_back_word_for_word() {
    let text = format!(
        "## Goal\n{REQUEST_LEAD}e1):\n> Do:\n>\n> 1. a\n> ## Next Steps\n\n## Next Steps\n- {REPLIED_LEAD}.\n- {EARLIER_MARK}c\n\n{LAST_WORDS_LEAD}:\n> Done."
    );
    let previous = Sections::parse(&text);
    let request = Quotation {
        lead_rest: "e1)",
        text: "Do:\n\n1. a\n## Next Steps",
    };
    assert_eq!(previous.find_quotation(REQUEST_LEAD), Some(request));
    assert_eq!(
        previous.find_quotation(LAST_WORDS_LEAD).unwrap().text,
        "Done."
    );
    assert_eq!(
        previous.rests_with_lead(REPLIED_LEAD).collect::<Vec<_>>(),
        ["."]
    );
    assert_eq!(
        points(&previous.without_restated(), Section::NextSteps),
        ["Earlier: c"]
    );
}

#[test]
fn a_branch_is_told_to_another_one_with_its_effects_and_those_before_it() {
    let text = format!(
        "## Goal\n{REQUEST_LEAD}e1):\n> Release it\n\n## Progress\n### Done\n- {PASSED_LEAD}`git push`\n\n### In Progress\n- {REMARK_LEAD}\"x\"\n\n## Next Steps\n- {GO_ON_LEAD}.\n\n## Critical Context\n- On another branch: \"a\"\n- {EARLIER_MARK}On another branch: \"b\""
    );
    let told = [
        "On another branch: \"a\"".to_owned(),
        format!("{EARLIER_MARK}On another branch: \"b\""),
        format!("On another branch: \"'Release it'; {PASSED_LEAD}`git push`\""),
    ];
    assert_eq!(Sections::parse(&text).into_branch_points(), told);
}

/// Headings of lists say nothing once their lists are quoted elsewhere, and a plan of two summaries
/// ago is done or given up.
#[test]
fn old_plans_and_bare_headings_are_not_taken_over() {
    let previous = Sections::parse(
        "## Critical Context\n- Open questions:\n**Names:**\n- **Ports:**\n**Words**\n- Earlier: **Files**:\n- Earlier: Next: write the tests\n- Earlier: Need to ask Ada\n- Next: the map\n- Earlier: the port is 8080\n",
    );
    assert_eq!(
        points(&previous.into_earlier(), Section::Context),
        ["Earlier: Next: the map", "Earlier: the port is 8080"]
    );
}
