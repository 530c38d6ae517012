use super::super::message::*;
use pisess_json::Raw;

#[test]
fn attached_bodies_leave_a_request() {
    let text = "<file name=\"a.md\">\nx\n</file>\n<file name=\"b\">y</file>\nSum it up.";
    let short = "<file name=\"a.md\">[…]</file>\n<file name=\"b\">[…]</file>\nSum it up.";
    assert_eq!(words(text.to_owned(), &[]), short);
    let skill = "<skill name=\"s\" location=\"/s\">x\ny</skill>\n\nfor the login page";
    assert!(words(skill.to_owned(), &[]).ends_with(">[…]</skill>\n\nfor the login page"));
    for odd in ["<file name=\"", "<file name=\"a\">", "</file><file name=\"", "<file name=\"</file>"] {
        assert_eq!(words(odd.to_owned(), &[]), odd);
    }
}

#[test]
fn an_end_is_known_by_flag_code_or_line() {
    let end = |json: &str| match read(Raw::parse(json.as_bytes()).unwrap()) {
        Message { kind: Kind::Result(end), .. } => end,
        other => panic!("{other:?}"),
    };
    let failed = |line: &str| End::Failed(line.to_owned());
    let cases = [
        (r#""isError":true,"content":[{"type":"text","text":"no"}]"#, failed("")),
        (
            r#""isError":true,"content":[{"type":"text","text":"a\n\nCommand timed out after 120 seconds"}]"#,
            failed("Command timed out after 120 seconds"),
        ),
        (
            r#""content":[{"type":"text","text":"a\n\nCommand exited with code 2\n\n[Output truncated]"}]"#,
            failed("Command exited with code 2"),
        ),
        (r#""details":{"exitCode":137},"content":[]"#, failed("Command exited with code 137")),
        (r#""isError":true,"content":"x\n\nCommand aborted""#, End::Stopped),
        (r#""isError":false,"content":"Command line tools""#, End::Passed),
        (
            r#""isError":true,"content":"No changes made to a.ts. The replacement produced identical content.""#,
            End::Passed,
        ),
    ];
    for (fields, expected) in cases {
        assert_eq!(end(&format!(r#"{{"role":"toolResult",{fields}}}"#)), expected, "{fields}");
    }
    assert_eq!(
        end(r#"{"role":"bashExecution","command":"x","output":"","exitCode":3}"#),
        failed("Command exited with code 3")
    );
    assert_eq!(end(r#"{"role":"bashExecution","exitCode":3,"cancelled":true}"#), End::Stopped);
}
