//! Rows for people (called readable rows), for entries whose rows in the agents' trees are less
//! informative:
//!
//! - tool calls, with paths relative to the session's directory;
//! - summaries, without their preamble;
//! - skills and commands, as the user typed them;
//! - forwarded messages, without what the chat program puts before the words.
//!
//! Calls are described by the form of their arguments (a command, a path, a pattern), not by the
//! tool's name, so that the tools of both agents and of extensions read alike. All other entries
//! have the agents' rows.

use crate::agents::conversation_tools::describe_conversation_call;
use crate::agents::oh_my_pi::files::BRANCH_PREAMBLE;
use crate::agents::oh_my_pi::message::{SKILL_PROMPT, skill_draft};
use crate::agents::pi::files::BRANCH_SUMMARY_PREAMBLE;
use crate::agents::row::{ROW_UNITS, RowText, normalize_spaces, string_head, typed_row};
use crate::format;
use crate::session::content;
use crate::session::entry::{Kind, Role};
use crate::session::envelope::{CLAUDE_COMMAND, CLAUDE_REPORTS, reported_text, typed_command};
use crate::session::paths;
use crate::session::read::record::{Member, ParsedEntry};
use pisess_json::text::{Text, concat_texts, join_with};
use pisess_json::{Raw, js};
use std::ops::Range;

/// The number of UTF-16 units to read of a summary. It is more than a row, because a summary begins
/// with a preamble.
const SUMMARY_UNITS: usize = 600;

/// How many times the length of a description is read of a command and of a patch: a command may
/// begin with a change to the session's directory, and a patch begins with lines of its own.
const LENGTHS_READ: usize = 3;

/// The maximum number of words to read of a command that is given as an array.
const MAX_COMMAND_WORDS: usize = 100;

/// The description of a tool call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CallDescription {
    /// The command, the pattern, the path with its lines, or the arguments.
    pub text: Text<'static>,
    /// The byte range of a path in the text, so that the output can shorten the path in its middle.
    /// Empty if there is no path, or if it was cut.
    pub path: Range<usize>,
    /// The byte offset in the text at which the first value ends that may have been cut. `None` if
    /// all values are whole.
    pub cut: Option<usize>,
}

/// The directories that paths are relative to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Folders<'a> {
    /// The working directory of the session.
    pub cwd: Option<&'a Text<'static>>,
    /// The user's home directory.
    pub home: Option<&'a Text<'static>>,
}

/// Returns the row of an entry for people; `None` if the row in the agents' trees is as
/// informative.
pub fn readable_row<'r>(parsed: &ParsedEntry<'r>) -> Option<RowText<'r>> {
    let entry = Raw::from_checked(parsed.record.bytes);
    match parsed.kind {
        Kind::Compaction => Some(compaction_row(entry)),
        Kind::BranchSummary => Some(RowText::with_role("branch summary", &summary_head(entry))),
        Kind::CustomMessage => custom_message_row(entry),
        Kind::Message => message_row(parsed),
        _ => None,
    }
}

/// Returns the row of a compaction: the tokens before it and, if it has a summary, the first words
/// of that.
fn compaction_row(entry: Raw) -> RowText<'static> {
    let tokens = entry
        .get("tokensBefore")
        .and_then(Raw::number)
        .unwrap_or(0.0);
    let mut body = Text::from(format!("{} tokens", format::format_tokens(tokens)));

    let summary = summary_head(entry);
    if !summary.is_empty() {
        body.push_str(" · ");
        body.push(&summary);
    }
    RowText::with_role("compaction", &body)
}

/// Returns the row of a skill's prompt or of a command of Claude Code, as the user typed it
/// (`[skill-prompt]: /skill:name`), or of a report of Claude Code, without its elements. `None` for
/// any other custom message, and if the words are not known.
fn custom_message_row(entry: Raw) -> Option<RowText<'static>> {
    let custom_type = entry.get_text("customType")?;
    let role = custom_type.to_string_lossy();
    let message = || content::join_text_borrowed(entry.get("content"), "\n");
    let words = if custom_type == SKILL_PROMPT {
        skill_draft(entry)?
    } else if role == CLAUDE_COMMAND {
        Text::from(typed_command(&message().to_string_lossy())?)
    } else if CLAUDE_REPORTS.contains(&&*role) {
        Text::from(reported_text(&message().to_string_lossy())?).into_owned()
    } else {
        return None;
    };

    let body = normalize_spaces(words.head(ROW_UNITS));
    Some(RowText::with_bracketed_role(&role, &body))
}

/// Returns the row of a user message that was forwarded or is a command; for a tool result whose
/// call is not found, the tool's name. `None` for any other message.
fn message_row<'r>(parsed: &ParsedEntry<'r>) -> Option<RowText<'r>> {
    let message = parsed.record.message.as_ref();
    match parsed.role {
        Role::User => {
            let words = typed_row(message?, parsed.blocks)?;
            Some(RowText::with_role("user", &words))
        }
        Role::ToolResult => {
            let name = message
                .and_then(|message| message.get(Member::ToolName))
                .and_then(Raw::text);
            Some(RowText::from_role(name.unwrap_or(Text::from("tool"))))
        }
        _ => None,
    }
}

/// Returns the first words of an entry's summary, on one line.
fn summary_head(entry: Raw) -> Text<'static> {
    let start = entry
        .get("summary")
        .and_then(|summary| string_head(summary, SUMMARY_UNITS))
        .unwrap_or_default();
    let text = start.to_string_lossy();
    normalize_spaces(Text::from(first_section(&text))).head(ROW_UNITS)
}

/// Returns the first section of a summary: the text below its first headings, up to the next
/// heading. The preamble that an agent puts before a summary is skipped.
pub fn first_section(summary: &str) -> &str {
    // The title of a summary, which is a heading, may be followed by another heading.
    let mut section = strip_preamble(summary).trim_start();
    while section.starts_with('#') {
        let below_heading = match section.split_once('\n') {
            Some((_heading, below)) => below,
            None => "",
        };
        section = below_heading.trim_start();
    }
    if let Some((above_next_heading, _)) = section.split_once("\n#") {
        section = above_next_heading;
    }

    // A summary that was made without a model begins with a quotation: "The last request was:" and
    // a line `> fix the test`. The line above the quotation says nothing.
    if let Some((introduction, quoted_request)) = section.split_once(":\n> ")
        && introduction.starts_with("The last request")
        && !introduction.contains('\n')
    {
        section = quoted_request;
    }
    section
}

/// Returns a branch summary without the preamble that pi or oh-my-pi puts before it.
pub fn strip_preamble(summary: &str) -> &str {
    for preamble in [BRANCH_SUMMARY_PREAMBLE, BRANCH_PREAMBLE] {
        if let Some(rest) = summary.strip_prefix(preamble) {
            return rest;
        }
    }
    summary
}

/// Describes a tool call in the length of a row: see [`describe_call_within`].
pub fn describe_call(name: &Text, arguments: Raw, folders: Folders) -> CallDescription {
    describe_call_within(name, arguments, folders, ROW_UNITS)
}

/// Describes a tool call in at most `units` UTF-16 units, for people: by the first of these that
/// its arguments have: a command, a pattern, a path, the file that a patch names, the description
/// of a task, or a question, a todo list or a plan. Without any of them, all arguments are listed.
pub fn describe_call_within(
    name: &Text,
    arguments: Raw,
    folders: Folders,
    units: usize,
) -> CallDescription {
    let known = KnownArguments::read(arguments);

    if let Some(command_line) = known.command
        && let Some(description) = describe_command(command_line, folders, units)
    {
        return description;
    }

    // A search may name the path in which it searches, too.
    let path = known.path_relative_to(folders, units);
    if let Some(stored_pattern) = known.pattern
        && let Some(pattern) = string_head(stored_pattern, units)
    {
        return describe_search(name, pattern, path, units);
    }

    if let Some(path) = path {
        let lines = format_line_range(known.offset, known.limit);
        return CallDescription::from_path(Text::default(), &path, &lines, units);
    }
    if let Some(description) = known.task_description(units) {
        return description;
    }
    if let Some(text) = describe_conversation_call(arguments, units) {
        return CallDescription::from_value(text, units);
    }
    list_arguments(arguments, units)
}

/// Describes a command line by its command, cut to `units` UTF-16 units. `None` if the line has no
/// command.
fn describe_command(line: Raw, folders: Folders, units: usize) -> Option<CallDescription> {
    // More is read than is shown, because `shorten_cd` may remove the start of the command.
    let units_read = LENGTHS_READ * units;
    let command = command_head(line, units_read)?;
    if let Some(file) = file_patched_by(&command) {
        let path = shorten_path(&file, folders);
        let program = Text::from("apply_patch ").into_owned();
        return Some(CallDescription::from_path(program, &path, "", units));
    }
    let is_cut = may_be_cut(&command, units_read);

    let text = normalize_spaces(shorten_cd(command, folders));
    let command_end = text.as_bytes().len();
    let mut description = CallDescription::from_text(text, units);
    if is_cut {
        description.mark_cut(command_end);
    }
    Some(description)
}

/// Whether the first `units` UTF-16 units of a value may not be all of it. If only one unit of a
/// surrogate pair fits, neither may be there.
fn may_be_cut(head: &Text, units: usize) -> bool {
    // A unit takes at least one byte, so few texts need to be counted.
    head.as_bytes().len() + 1 >= units && head.utf16_len() + 1 >= units
}

/// Returns the tool with which a model would have run what the user ran: `bash` for a command,
/// `python` for code.
pub fn execution_tool(message: Raw) -> &'static str {
    match message.get("command") {
        Some(_) => "bash",
        None => "python",
    }
}

/// Describes what the user ran: a command like a call of the tool `bash`, code by its first line.
pub fn describe_execution(message: Raw, folders: Folders) -> CallDescription {
    let tool = execution_tool(message);
    if tool == "bash" {
        return describe_call(&Text::from(tool), message, folders);
    }
    let code = message.get_text("code").unwrap_or_default();
    let code = code.to_string_lossy();
    let first_line = code.lines().next().unwrap_or_default();
    CallDescription::from_text(Text::from(first_line.to_owned()), ROW_UNITS)
}

/// Describes a search as `PATTERN in PATH`, or as `/REGEX/ in PATH`, cut to `units` UTF-16 units. A
/// path that is the session's directory is left out.
///
/// `pattern_head` is the start of the pattern, which is all that was read of it. If there may be
/// more, the end of the pattern is marked as a cut.
fn describe_search(
    tool: &Text,
    pattern_head: Text,
    path: Option<Text<'static>>,
    units: usize,
) -> CallDescription {
    let is_regex = *tool == "grep" || *tool == "Grep";
    let slash = if is_regex { "/" } else { "" };
    let is_cut = may_be_cut(&pattern_head, units);
    let pattern = normalize_spaces(pattern_head);
    let pattern_end = slash.len() + pattern.as_bytes().len();
    let mut text = concat_texts(&[&slash, &pattern, &slash]);
    let mut description = match path {
        Some(path) if path != "." => {
            text.push_str(" in ");
            CallDescription::from_path(text, &path, "", units)
        }
        _ => CallDescription::from_text(text, units),
    };
    if is_cut {
        description.mark_cut(pattern_end);
    }
    description
}

/// The arguments that many tools have. If tools have different names for the same argument, the
/// first truthy one counts.
struct KnownArguments<'a> {
    command: Option<Raw<'a>>,
    path: Option<Raw<'a>>,
    pattern: Option<Raw<'a>>,
    /// The first line to read, from 1.
    offset: Option<Raw<'a>>,
    /// The number of lines to read.
    limit: Option<Raw<'a>>,
    /// The text of a patch, which names its files.
    patch: Option<Raw<'a>>,
    /// A task of a sub-agent in some words, and the whole `prompt` for it.
    description: Option<Raw<'a>>,
    prompt: Option<Raw<'a>>,
}

impl<'a> KnownArguments<'a> {
    /// Reads the known arguments. All are found in a single walk, because arguments may contain a
    /// whole file.
    fn read(arguments: Raw<'a>) -> Self {
        let [
            command,
            cmd,
            path,
            file_path,
            notebook_path,
            camel_case_path,
            file,
            paths,
            pattern,
            query,
            regex,
            offset,
            limit,
            input,
            patch,
            description,
            prompt,
        ] = content::find_members(
            arguments,
            [
                "command",
                "cmd",
                "path",
                "file_path",
                "notebook_path",
                "filePath",
                "file",
                "paths",
                "pattern",
                "query",
                "regex",
                "offset",
                "limit",
                "input",
                "patch",
                "description",
                "prompt",
            ],
        );
        KnownArguments {
            command: first_truthy([command, cmd]),
            path: first_truthy([path, file_path, notebook_path, camel_case_path, file, paths]),
            pattern: first_truthy([pattern, query, regex]),
            offset,
            limit,
            patch: first_truthy([input, patch]),
            description,
            prompt,
        }
    }

    /// Describes the task of a sub-agent, cut to `units` UTF-16 units. `None` without a prompt,
    /// because the `description` of another tool may be the text that it stores.
    fn task_description(&self, units: usize) -> Option<CallDescription> {
        self.prompt?;
        let task = string_head(self.description?, units)?;
        Some(CallDescription::from_value(task, units))
    }

    /// Returns the path of a call, shortened with the directories in `folders`. Several paths are
    /// joined by commas. Without a path, the first file of the patch counts, of which
    /// [`LENGTHS_READ`] times `units` are read.
    fn path_relative_to(&self, folders: Folders, units: usize) -> Option<Text<'static>> {
        match self.path {
            Some(value) => Some(shorten_paths(value, folders)),
            None => {
                let file = first_patched_file(self.patch?, LENGTHS_READ * units)?;
                Some(shorten_path(&file, folders))
            }
        }
    }
}

/// Returns the first of these values that is truthy in JavaScript.
fn first_truthy<'a, const N: usize>(values: [Option<Raw<'a>>; N]) -> Option<Raw<'a>> {
    values.into_iter().flatten().find(|value| value.is_truthy())
}

impl CallDescription {
    /// Describes a call by a value of its arguments, of which at most `units` UTF-16 units were
    /// read.
    fn from_value(value: Text, units: usize) -> Self {
        let is_cut = may_be_cut(&value, units);
        let text = normalize_spaces(value);
        let value_end = text.as_bytes().len();
        let mut description = CallDescription::from_text(text, units);
        if is_cut {
            description.mark_cut(value_end);
        }
        description
    }

    /// Describes a call by a text that contains no path, cut to `units` UTF-16 units.
    fn from_text(text: Text<'static>, units: usize) -> Self {
        Self::from_path(text, &Text::default(), "", units)
    }

    /// Describes a call by a path, with the texts `before` and `after` it, cut to `units` UTF-16
    /// units. If the path is cut, or is empty, the description has an empty range for it.
    fn from_path(before: Text<'static>, path: &Text, after: &str, units: usize) -> Self {
        let mut text = before;
        let path_start = text.as_bytes().len();
        text.push(path);
        let path_end = text.as_bytes().len();
        text.push_str(after);

        let whole_len = text.as_bytes().len();
        text.truncate(units);
        // The limit, in UTF-16 units, may fall between the surrogates of a pair.
        text.drop_high_surrogate();

        let cut_len = text.as_bytes().len();
        let is_path_whole = path_end <= cut_len;
        let path_range = if is_path_whole {
            path_start..path_end
        } else {
            0..0
        };
        CallDescription {
            text,
            path: path_range,
            cut: if cut_len < whole_len {
                Some(cut_len)
            } else {
                None
            },
        }
    }

    /// Marks a value as cut, given the byte offset of its end in the text before that was cut.
    fn mark_cut(&mut self, value_end: usize) {
        let end = value_end.min(self.text.as_bytes().len());
        self.cut = Some(self.cut.map_or(end, |cut| cut.min(end)));
    }
}

/// Returns the first `units` UTF-16 units of a command line. The line is a string or, as in Codex,
/// an array of words. Of the words `["bash", "-lc", "make"]`, only the command counts: `make`.
///
/// `None` if the line is neither a string nor a list with words, or if the command after `-c` is
/// not a string.
pub fn command_head(line: Raw, units: usize) -> Option<Text<'static>> {
    let words: Vec<Raw> = line.items().take(MAX_COMMAND_WORDS).collect();
    match *words {
        // A string has no items.
        [] => string_head(line, units),
        [_shell, option, command] if option.is("-lc") || option.is("-c") => {
            string_head(command, units)
        }
        _ => {
            let texts = words
                .into_iter()
                .filter_map(|word| string_head(word, units));
            Some(join_with(texts, " ").head(units))
        }
    }
}

/// Returns the first file that a patch names, as in `*** Update File: src/a.rs`. Only the first
/// `units` UTF-16 units of the patch are searched.
fn first_patched_file(patch: Raw, units: usize) -> Option<Text<'static>> {
    let start = string_head(patch, units)?;
    first_file_of_patch(&start.to_string_lossy())
}

/// Returns the first file in the patch that a command passes to the program `apply_patch`, as Codex
/// does: in a here-document, or as the next word. `None` for any other command.
fn file_patched_by(command: &Text) -> Option<Text<'static>> {
    let command = command.to_string_lossy();
    let input = command.strip_prefix("apply_patch")?;
    first_file_of_patch(input)
}

fn first_file_of_patch(patch: &str) -> Option<Text<'static>> {
    for line in patch.lines() {
        if let Some(marked) = line.strip_prefix("*** ")
            && let Some((_action, file)) = marked.split_once(" File: ")
        {
            return Some(Text::from(file.trim()).into_owned());
        }
    }
    None
}

/// Returns a path, or an array of paths joined by commas. Each path is shortened.
fn shorten_paths(value: Raw, folders: Folders) -> Text<'static> {
    if let Some(path) = value.text() {
        return shorten_path(&normalize_spaces(path), folders);
    }
    let paths = value.items().filter_map(Raw::text);
    join_with(
        paths.map(|path| shorten_path(&normalize_spaces(path), folders)),
        ", ",
    )
}

/// Returns a path relative to the session's directory or, with `~`, to the home directory. `.` is
/// the session's directory itself. A path outside of both stays the same.
pub fn shorten_path(path: &Text, folders: Folders) -> Text<'static> {
    if let Some(below_cwd) = relative_path(folders.cwd, path) {
        let relative: &[u8] = if below_cwd.is_empty() {
            b"."
        } else {
            below_cwd
        };
        return Text::from_wtf8(relative.to_vec());
    }

    match relative_path(folders.home, path) {
        Some(b"") => Text::from("~"),
        // The path decides which separator is used, because the session may be from another system.
        Some(below_home) => {
            let is_windows = paths::is_windows_absolute(path.as_bytes());
            let separator: &[u8] = if is_windows { b"\\" } else { b"/" };
            Text::from_wtf8([b"~", separator, below_home].concat())
        }
        None => path.as_borrowed().into_owned(),
    }
}

/// Returns the part of a path below a directory; empty for the directory itself. `None` if there is
/// no directory, or if the path is outside of it.
fn relative_path<'p>(folder: Option<&Text>, path: &'p Text) -> Option<&'p [u8]> {
    let below = paths::strip_folder(path.as_bytes(), folder?.as_bytes())?;
    Some(below.trim_ascii())
}

/// Formats the lines that a call reads from a file: as `:5-14` for an offset of 5 and a limit of
/// 10, or as `:5` without a limit; empty without both. `offset` is the first line, 1 by default;
/// `limit` is the number of lines. A number below 1 counts as missing.
fn format_line_range(offset: Option<Raw>, limit: Option<Raw>) -> String {
    let given_first = positive_number(offset);
    if let Some(count) = positive_number(limit) {
        let first = given_first.unwrap_or(1.0);
        let last = first + count - 1.0;
        return format!(
            ":{}-{}",
            js::number_to_string(first),
            js::number_to_string(last)
        );
    }
    match given_first {
        Some(first) => format!(":{}", js::number_to_string(first)),
        None => String::new(),
    }
}

/// Returns a number of at least 1; `None` for any other value.
fn positive_number(value: Option<Raw>) -> Option<f64> {
    let number = value?.number()?;
    if number >= 1.0 { Some(number) } else { None }
}

/// Shortens the `cd` at the start of a command: `cd /home/me/other && make` becomes
/// `cd ~/other && make`. A `cd` to the session's own directory is removed, because the command runs
/// there anyway.
fn shorten_cd<'a>(command: Text<'a>, folders: Folders) -> Text<'a> {
    let trimmed = command.trim();
    let Some(cd) = CdCommand::parse(trimmed.as_bytes()) else {
        return command;
    };

    let short_folder = shorten_path(&Text::from_wtf8(cd.folder), folders);
    if short_folder == "." {
        return Text::from_wtf8(cd.next_command.to_vec());
    }
    if short_folder.as_bytes() == cd.folder {
        return command;
    }
    concat_texts(&[&"cd ", &short_folder, &" && ", &cd.next_command])
}

/// A command of the form `cd FOLDER && NEXT`.
struct CdCommand<'c> {
    /// The directory, without quotes and a final slash.
    folder: &'c [u8],
    next_command: &'c [u8],
}

impl<'c> CdCommand<'c> {
    /// Parses a command of the form `cd FOLDER && NEXT`, in which the folder may be quoted; `None`
    /// for any other command.
    fn parse(command: &'c [u8]) -> Option<Self> {
        let after_cd = command.strip_prefix(b"cd ")?.trim_ascii_start();
        let (folder, after_folder) = split_shell_word(after_cd)?;
        let next_command = after_folder.trim_ascii_start().strip_prefix(b"&&")?;

        // The root directory keeps its slash.
        let folder = match folder.strip_suffix(b"/") {
            Some(shorter) if !shorter.is_empty() => shorter,
            _ => folder,
        };
        Some(CdCommand {
            folder,
            next_command: next_command.trim_ascii_start(),
        })
    }
}

/// Divides a command after its first word: `"a b" && make` into `a b`, without its quotes, and
/// ` && make`. `None` if the word reaches to the end of the command, or its quote is not closed.
fn split_shell_word(command: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&first, after_first) = command.split_first()?;
    if matches!(first, b'"' | b'\'') {
        let close = memchr::memchr(first, after_first)?;
        return Some((&after_first[..close], &after_first[close + 1..]));
    }
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'&' | b';');
    let end = command.iter().position(is_end)?;
    Some(command.split_at(end))
}

/// Describes a call by its arguments, cut to `units` UTF-16 units: by the value of a single
/// argument, or by `key=value` for each of several. `{"id":1}` is described as `1`, and
/// `{"id":1,"to":"ann"}` as `id=1 to=ann`.
fn list_arguments(arguments: Raw, units: usize) -> CallDescription {
    let has_several = arguments.members().nth(1).is_some();
    let mut text = Text::default().into_owned();
    // The byte offset in the text at which the first value ends that may have been cut.
    let mut first_cut_end = None;
    for (key, value) in arguments.members() {
        // The rest would be cut off.
        if text.utf16_len() > units {
            break;
        }
        if !text.is_empty() {
            text.push_str(" ");
        }
        if has_several {
            text.push(&pisess_json::string::decode(key.bytes));
            text.push_str("=");
        }
        let head = argument_head(value, units);
        let is_cut = may_be_cut(&head, units);
        text.push(&normalize_spaces(head));
        if is_cut && first_cut_end.is_none() {
            first_cut_end = Some(text.as_bytes().len());
        }
    }

    let mut description = CallDescription::from_text(text, units);
    if let Some(end) = first_cut_end {
        description.mark_cut(end);
    }
    description
}

/// Returns the start of an argument's value: of the text of a string, and of the JSON of a number,
/// an object or the like.
fn argument_head(value: Raw, units: usize) -> Text<'static> {
    match string_head(value, units) {
        Some(string) => string,
        None => js::stringify(value).head(units),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::read::record::Record;

    fn shown(name: &str, arguments: &str) -> String {
        let (cwd, home) = (Text::from("/home/u/code/x"), Text::from("/home/u"));
        let arguments = Raw::parse(arguments.as_bytes()).unwrap();
        let call = describe_call(
            &Text::from(name),
            arguments,
            Folders {
                cwd: Some(&cwd),
                home: Some(&home),
            },
        );
        let (text, path) = (call.text.to_string(), call.path);
        format!(
            "{}<{}>{}",
            &text[..path.start],
            &text[path.clone()],
            &text[path.end..]
        )
        .replace("<>", "")
    }

    #[test]
    fn calls_read_from_the_folder_of_the_session() {
        let cases = [
            (
                "read",
                r#"{"path":"/home/u/code/x/src/a.rs","offset":5,"limit":10}"#,
                "<src/a.rs>:5-14",
            ),
            ("read", r#"{"file_path":"/home/u/b","offset":5}"#, "<~/b>:5"),
            (
                "read",
                r#"{"path":"/home/u/code/xy","limit":3}"#,
                "<~/code/xy>:1-3",
            ),
            ("ls", r#"{"path":"/home/u/code/x"}"#, "<.>"),
            ("ls", "{}", ""),
            (
                "grep",
                r#"{"pattern":"a b","path":"/home/u/code/x/src/"}"#,
                "/a b/ in <src/>",
            ),
            ("grep", r#"{"pattern":"a b","path":"."}"#, "/a b/"),
            (
                "find",
                r#"{"pattern":"*.rs","paths":["/tmp","/home/u/code/x/t"]}"#,
                "*.rs in </tmp, t>",
            ),
            (
                "bash",
                r#"{"command":"cd /home/u/code/x && cargo test"}"#,
                "cargo test",
            ),
            (
                "bash",
                r#"{"command":"cd \"/home/u/code/x/\" && a &&\n b"}"#,
                "a &&  b",
            ),
            (
                "bash",
                r#"{"command":"cd /home/u/code/x/sub&&ls"}"#,
                "cd sub && ls",
            ),
            ("bash", r#"{"command":"cd /var; ls"}"#, "cd /var; ls"),
            (
                "bash",
                r#"{"command":"cd /home/u/code/x"}"#,
                "cd /home/u/code/x",
            ),
            (
                "shell",
                r#"{"command":["bash","-lc","cd /home/u/code/x && make test"],"workdir":"/"}"#,
                "make test",
            ),
            ("shell", r#"{"command":["cat","a b",1]}"#, "cat a b"),
            (
                "shell",
                r#"{"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: /home/u/code/x/a.rs\n+x"]}"#,
                "apply_patch <a.rs>",
            ),
            (
                "shell",
                r#"{"command":["apply_patch","*** Begin Patch\n*** Update File: src/b.rs\n+x"]}"#,
                "apply_patch <src/b.rs>",
            ),
            (
                "bash",
                r#"{"command":"apply_patch < a.patch"}"#,
                "apply_patch < a.patch",
            ),
            ("shell", r#"{"command":[],"n":1}"#, "command=[] n=1"),
            (
                "NotebookEdit",
                r#"{"notebook_path":"/home/u/code/x/a.ipynb"}"#,
                "<a.ipynb>",
            ),
            (
                "edit",
                r#"{"input":"*** Begin Patch\n*** Update File: /home/u/code/x/a.rs\n@@"}"#,
                "<a.rs>",
            ),
            ("web", r#"{"q":"x y"}"#, "x y"),
            (
                "web",
                r#"{"q":"x","n":3,"o":{"a":[1]}}"#,
                r#"q=x n=3 o={"a":[1]}"#,
            ),
        ];
        for (name, arguments, expected) in cases {
            assert_eq!(shown(name, arguments), expected, "{arguments}");
        }
        let long = format!(r#"{{"path":"/{}"}}"#, "x".repeat(300));
        assert_eq!(shown("read", &long), format!("/{}", "x".repeat(199)));
    }

    #[test]
    fn paths_of_windows_are_shortened_on_any_system() {
        let (cwd, home) = (Text::from(r"C:\Users\u\x"), Text::from(r"C:\Users\u"));
        for (arguments, expected) in [
            (r#"{"path":"C:\\Users\\u\\x\\src\\a.rs"}"#, r"src\a.rs"),
            (r#"{"path":"c:/users/u/x/src/a.rs"}"#, "src/a.rs"),
            (r#"{"path":"C:\\Users\\u\\y"}"#, r"~\y"),
            (r#"{"path":"D:\\x"}"#, r"D:\x"),
            (r#"{"path":"/Users/u/x/a"}"#, "/Users/u/x/a"),
            (r#"{"command":"cd \"C:\\Users\\u\\x\" && ls"}"#, "ls"),
        ] {
            let raw = Raw::parse(arguments.as_bytes()).unwrap();
            let folders = Folders {
                cwd: Some(&cwd),
                home: Some(&home),
            };
            assert_eq!(
                describe_call(&Text::from("read"), raw, folders)
                    .text
                    .to_string(),
                expected,
                "{arguments}"
            );
        }
    }

    #[test]
    fn summaries_begin_with_what_they_say() {
        let row = |line: &str| {
            let kind = Raw::parse(line.as_bytes())
                .unwrap()
                .get_text("type")
                .unwrap();
            let record = Record {
                bytes: line.as_bytes(),
                ..Record::default()
            };
            let kind = Kind::named(kind.as_bytes());
            readable_row(&ParsedEntry {
                kind,
                role: Role::Missing,
                record: &record,
                blocks: &[],
            })
            .unwrap()
            .text
            .to_string()
        };
        let json = pisess_json::string::encode_to_vec(&Text::from(BRANCH_SUMMARY_PREAMBLE));
        let preamble = std::str::from_utf8(&json).unwrap().trim_matches('"');
        let branch =
            format!(r#"{{"type":"branch_summary","summary":"{preamble}## Goal\nMake it\nright"}}"#);
        assert_eq!(row(&branch), "branch summary: Make it right");
        let quotation = branch.replace("Make it", "The last request (entry x):\\n> Make it");
        assert_eq!(row(&quotation), "branch summary: Make it right");
        assert_eq!(
            row(r###"{"type":"compaction","summary":"# A\n\n## B\n- c","tokensBefore":1500}"###),
            "compaction: 1.5k tokens · - c"
        );
        assert_eq!(
            row(r#"{"type":"compaction","tokensBefore":200}"#),
            "compaction: 200 tokens"
        );
        assert_eq!(
            row(
                r#"{"type":"custom_message","customType":"skill-prompt","content":"c","details":{"prompt":"do\nit"}}"#
            ),
            "[skill-prompt]: do it"
        );
    }
}
