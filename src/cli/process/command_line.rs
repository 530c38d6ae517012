//! The command line of a program that the user set in an environment variable, such as a pager.

use std::process::Command;

/// A command that contains one of these is run by the shell.
pub const SHELL_SYNTAX: &[char] = &[
    '|', '&', ';', '<', '>', '(', ')', '$', '`', '\\', '"', '\'', '*', '?', '[', '#', '~', '=',
];

/// Returns the command; without a shell if it needs none, so that a missing program is noticed
/// before anything is written to it.
pub fn parse_command(command_line: &str) -> Command {
    if command_line.contains(SHELL_SYNTAX) {
        let mut shell = Command::new("sh");
        shell.args(["-c", command_line]);
        return shell;
    }
    let mut words = command_line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    command
}
