use super::super::message::*;

#[test]
fn attached_bodies_leave_a_request() {
    let text = "<file name=\"a.md\">\nx\n</file>\n<file name=\"b\">y</file>\nSum it up.";
    let short = "<file name=\"a.md\">[…]</file>\n<file name=\"b\">[…]</file>\nSum it up.";
    assert_eq!(request_words(text, &[]), short);
    let skill = "<skill name=\"s\" location=\"/s\">x\ny</skill>\n\nfor the login page";
    assert!(request_words(skill, &[]).ends_with(">[…]</skill>\n\nfor the login page"));
    for odd in [
        "<file name=\"",
        "<file name=\"a\">",
        "</file><file name=\"",
        "<file name=\"</file>",
    ] {
        assert_eq!(request_words(odd, &[]), odd);
    }
}
