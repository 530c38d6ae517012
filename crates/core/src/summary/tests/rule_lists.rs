use super::super::rule_lists::*;

fn describe_all(message: &str) -> Vec<String> {
    let lists = find_rule_lists(message);
    lists.iter().map(RuleList::describe).collect()
}

#[test]
fn a_list_is_kept_as_a_whole() {
    for (message, expected) in [
        (
            "draw the map. rules: nothing is changed, only read. region north; reports in German",
            r#"Rules: "nothing is changed, only read.; region north; reports in German""#,
        ),
        (
            "House rules:\n- one commit for each map\n\n- names stay\n\nNow draw.",
            r#"Rules: "one commit for each map; names stay""#,
        ),
        (
            "# Map\nDraw it.\n## Constraints\n1. Never push.\n   Not even once.\n2. Keep the names.\n## Colors\n- blue",
            r#"Rules: "Never push.; Keep the names.""#,
        ),
        (
            "Regeln:\nnur lesen\nnichts löschen\n\nzeichne",
            r#"Rules: "nur lesen; nichts löschen""#,
        ),
        (
            "one more thing\n- never touch the charts\n- no frames\n- the legend is in English",
            r#"Rules: "never touch the charts; no frames; the legend is in English""#,
        ),
    ] {
        assert_eq!(describe_all(message), [expected], "{message}");
    }
}

#[test]
fn rules_that_do_not_fit_are_omitted() {
    let rule = "- never draw a frame that is wider than the pier, nor one that hides the names";
    let message = format!("Rules:\n{}- never print\n", format!("{rule}\n").repeat(10));
    let lists = find_rule_lists(&message);
    assert_eq!(lists[0].omitted_rules(), ["never print"]);
    assert!(lists[0].describe().ends_with("\" and 1 more"));
}

#[test]
fn other_lists_and_settings_are_none() {
    for message in [
        "rules: {\"a\": 1}\nb: 2",
        "draw:\n- the map\n- the legend\n- the frame",
        "rule: one letter per owner",
        "the rules of the harbour are what we draw next: first the pier. then the boats",
        "```\nrules:\n- never\n- no more\n```",
        "",
        ":",
    ] {
        assert!(describe_all(message).is_empty(), "{message}");
    }
}
