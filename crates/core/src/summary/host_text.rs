//! What the program around an agent adds to the messages of its user: which file is open, what is
//! selected, reminders to the model. None of it is the user's.

/// The names of the elements that such programs write.
const ELEMENTS: [&str; 7] = [
    "system-reminder",
    "system_reminder",
    "environment_context",
    "environment_details",
    "user-prompt-submit-hook",
    "task-notification",
    "command-message",
];
/// How other names of such elements begin.
const ELEMENT_STARTS: [&str; 2] = ["ide_", "local-command-"];

/// How a message begins in which an editor puts what is open in it before the request, and the
/// heading above that: `## My request for Codex:`.
const EDITOR_START: &str = "# Context";
const REQUEST_HEADING: &str = "\n## My request for ";

/// Returns the text of a message without the elements that a program added before and after the
/// user's words, as in `<ide_opened_file>…</ide_opened_file>`. A message of nothing else is
/// returned as it is.
pub(super) fn strip_host_text(message: &str) -> &str {
    let mut text = message.trim();
    if let Some(request) = request_below_heading(text) {
        text = request.trim();
    }
    while let Some(rest) = strip_first_element(text) {
        text = rest.trim_start();
    }
    while let Some(rest) = strip_last_element(text) {
        text = rest.trim_end();
    }
    if text.is_empty() { message } else { text }
}

/// Returns what is below the heading of an editor. `None` if no editor wrote the message.
fn request_below_heading(message: &str) -> Option<&str> {
    if !message.starts_with(EDITOR_START) {
        return None;
    }
    let (_, from_name) = message.split_once(REQUEST_HEADING)?;
    let (name, request) = from_name.split_once('\n')?;
    name.trim_end().ends_with(':').then_some(request)
}

/// Returns the output of a command without the lines that Codex puts before it: the id, the time
/// and the exit code of the process.
pub(super) fn strip_output_frame(output: &str) -> &str {
    const STARTS: [&str; 4] = ["Chunk ID: ", "Command: ", "Exit code: ", "Wall time: "];
    const END: &str = "\nOutput:\n";
    if !STARTS.iter().any(|start| output.starts_with(start)) {
        return output;
    }
    output.split_once(END).map_or(output, |(_, rest)| rest)
}

/// Returns what follows the element that a text begins with: `draw it` in
/// `<ide_selection>x</ide_selection>draw it`. `None` if no program writes such an element.
fn strip_first_element(text: &str) -> Option<&str> {
    let name = element_name(text.strip_prefix('<')?)?;
    let closing_tag = format!("</{name}>");
    let (_, rest) = text.split_once(&closing_tag)?;
    Some(rest)
}

/// Returns what precedes the element that a text ends with. `None` if no program writes such an
/// element.
fn strip_last_element(text: &str) -> Option<&str> {
    let before_bracket = text.strip_suffix('>')?;
    let (before_closing_tag, closed_name) = before_bracket.rsplit_once("</")?;
    let name = element_name(closed_name)?;
    let is_whole_tag = closed_name == name;
    if !is_whole_tag {
        return None;
    }
    let opening_tag = format!("<{name}>");
    let (before_element, _content) = before_closing_tag.rsplit_once(&opening_tag)?;
    Some(before_element)
}

/// Returns the name at the start of a tag without its bracket, `ide_selection` in `ide_selection
/// a="b">`, if a program writes elements of this name.
fn element_name(tag: &str) -> Option<&str> {
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let name = tag.split(|c| !is_in_name(c)).next()?;
    let is_of_program =
        ELEMENTS.contains(&name) || ELEMENT_STARTS.iter().any(|start| name.starts_with(start));
    is_of_program.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_elements_of_programs_around_the_words_are_stripped() {
        for (message, words) in [
            (
                "<ide_opened_file>a.md is open</ide_opened_file>\ndraw it",
                "draw it",
            ),
            (
                "<ide_selection>x</ide_selection>\n<ide_opened_file>y</ide_opened_file>draw",
                "draw",
            ),
            (
                "draw it\n<system-reminder>\nbe brief\n</system-reminder>",
                "draw it",
            ),
            (
                "<ide_opened_file>a.md</ide_opened_file>",
                "<ide_opened_file>a.md</ide_opened_file>",
            ),
            ("<ide_opened_file>not closed", "<ide_opened_file>not closed"),
            ("<b>draw</b> it", "<b>draw</b> it"),
            ("<environment_context>a</environment_context>draw", "draw"),
            (
                "<environment_map>a</environment_map> is wrong",
                "<environment_map>a</environment_map> is wrong",
            ),
            (
                "draw it\n\n## My request for names:\nin French",
                "draw it\n\n## My request for names:\nin French",
            ),
            (
                "# Context\n\n## My request for names\nin French",
                "# Context\n\n## My request for names\nin French",
            ),
            (
                "# Context\n- a.md\n\n## My request for Codex:\ndraw it\n",
                "draw it",
            ),
            ("", ""),
            ("<", "<"),
            ("a </>", "a </>"),
        ] {
            assert_eq!(strip_host_text(message), words);
        }
    }
}
