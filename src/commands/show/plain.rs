//! `show --as plain`: prints the texts of entries alone, unchanged.

use super::code::read_texts;
use crate::cli::open::OpenSession;
use crate::cli::output::{Failure, Ui};
use crate::session::codex_shell::{is_codex_shell, strip_output_frame};
use crate::session::entry::{EntryIx, Role};
use pisess_json::Raw;
use pisess_json::text::Text;
use std::io::Write;

/// Prints the text of each entry, unchanged, with an empty line between two. A text that does not
/// end with a line break gets one. Fails with a negative answer if no entry has a text.
pub fn print_plain_texts(
    open: &OpenSession,
    entries: &[EntryIx],
    ui: &mut Ui,
) -> Result<(), Failure> {
    let mut is_first = true;
    for &ix in entries {
        let text = read_plain_text(open, ix)?;
        if text.is_empty() {
            continue;
        }
        let mut out = ui.verbatim_stdout();
        let separator: &[u8] = if is_first { b"" } else { b"\n" };
        let line_end: &[u8] = if text.ends_with('\n') { b"" } else { b"\n" };
        out.write_all(separator)
            .and_then(|()| out.write_all(text.as_bytes()))
            .and_then(|()| out.write_all(line_end))
            .map_err(Failure::from_stdout_error)?;
        is_first = false;
    }
    if is_first {
        return Err(open
            .input
            .negative_answer("these entries have no text")
            .with_hint("`pisess show SESSION REF` prints all that an entry has"));
    }
    Ok(())
}

/// Returns the text of an entry: the output of a command, or the texts of a message, a tool result
/// or a summary, each on a new line.
fn read_plain_text(open: &OpenSession, ix: EntryIx) -> Result<String, Failure> {
    let role = open.session.entry(ix).role;
    let has_output = matches!(role, Role::BashExecution | Role::PythonExecution);
    let text = open.entry_reader().with_entry(ix, |line| {
        if has_output {
            return read_output(line);
        }
        let text = read_texts(line).join("\n");
        if is_output_of_codex(line) {
            strip_output_frame(&text).to_owned()
        } else {
            text
        }
    });
    open.input.map_read_error(text)
}

/// Whether an entry is the result of a command that Codex ran.
fn is_output_of_codex(line: Raw) -> bool {
    let message = line.get("message").unwrap_or(Raw::NULL);
    let tool_name = message.get_text("toolName");
    tool_name.is_some_and(|name| is_codex_shell(&name))
}

fn read_output(line: Raw) -> String {
    let message = line.get("message").unwrap_or(Raw::NULL);
    let output = message.get_text("output");
    output.map(Text::into_string_lossy).unwrap_or_default()
}
