//! Commands that a user called, and whose prompt Claude Code then gave to the model. They are
//! requests, but `import` does not store them as messages of the user.
//!
//! ```text
//! <command-message>chart</command-message>
//! <command-name>/chart</command-name>          ──  /chart north
//! <command-args>north</command-args>
//! ```
//!
//! Commands to the agent itself, as `/model`, begin with their name.

/// Reads the command that a user called from the elements that Claude Code stored. `None` for a
/// command to the agent itself.
pub(super) fn read_called_command(elements: &str) -> Option<String> {
    if !elements.starts_with("<command-message>") {
        return None;
    }
    let name = read_element(elements, "command-name")?;
    let arguments = read_element(elements, "command-args").unwrap_or_default();
    Some(format!("{name} {arguments}").trim().to_owned())
}

/// Returns the text of the first element with a name.
fn read_element<'e>(elements: &'e str, name: &str) -> Option<&'e str> {
    let (_, from_text) = elements.split_once(&format!("<{name}>"))?;
    let (text, _) = from_text.split_once(&format!("</{name}>"))?;
    Some(text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_with_a_prompt_is_called_with_its_arguments() {
        for (elements, expected) in [
            (
                "<command-message>chart is running…</command-message>\n<command-name>/chart</command-name>\n<command-args>north\nwith piers</command-args>",
                Some("/chart north\nwith piers"),
            ),
            (
                "<command-message>slot</command-message>\n<command-name>/slot</command-name>",
                Some("/slot"),
            ),
            (
                "<command-name>/model</command-name>\n<command-message>model</command-message>",
                None,
            ),
            ("<command-message>slot</command-message>", None),
            ("<bash-input>ls</bash-input>", None),
            ("", None),
        ] {
            assert_eq!(
                read_called_command(elements).as_deref(),
                expected,
                "{elements}"
            );
        }
    }
}
