//! The tools of Codex that run a shell command.

use pisess_json::text::Text;

/// Whether a tool is one with which Codex runs a shell command.
pub fn is_codex_shell(tool_name: &Text) -> bool {
    matches!(
        tool_name.as_bytes(),
        b"exec_command" | b"local_shell" | b"shell" | b"shell_command"
    )
}

/// Returns the output of a command without the lines that Codex puts above it: the id, the time and
/// the exit code of the process. Any other text is returned as it is.
pub fn strip_output_frame(output: &str) -> &str {
    const STARTS: [&str; 4] = ["Chunk ID: ", "Command: ", "Exit code: ", "Wall time: "];
    const END: &str = "\nOutput:\n";
    if !STARTS.iter().any(|start| output.starts_with(start)) {
        return output;
    }
    output.split_once(END).map_or(output, |(_, rest)| rest)
}
