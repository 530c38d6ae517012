//! What the summary takes from one tool call of a reply.

use super::budget::MAX_READ_UNITS;
use super::cut::{drop_last_word, may_be_cut, string_head, string_words};
use super::shell::changes_files;
use super::todo_lists::{TaskUpdate, format_todo_list};
use super::tool_answers::asks_user;
use super::written::{Replacement, read_replacements};
use crate::agents::readable::{self, Folders, shorten_path};
use crate::session::content::find_members;
use crate::session::file_patch::FilePatch;
use crate::session::read::record::Block;
use pisess_json::Raw;
use pisess_json::text::Text;

/// What the summary needs of the calls of a reply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CallUse {
    /// Their number alone.
    Count,
    /// What was called, too.
    Show,
}

#[derive(Clone, Debug, Default)]
pub(super) struct SummaryCall {
    /// Empty for what the user ran.
    pub id: String,
    pub tool: String,
    /// The command, if the tool is a shell.
    pub command: String,
    /// The arguments of any other tool, in short: a path as seen from the session's directory, a
    /// pattern.
    pub target: String,
    /// What it writes into a file. The lines of it that are quoted are chosen once the secrets in
    /// the whole are removed.
    pub replacements: Vec<Replacement>,
    /// What it asks the user.
    pub question: String,
    /// The list that a call gives to a tool that keeps one, as Claude Code's `TodoWrite`, or the
    /// subject of a single task.
    pub todo_list: String,
    /// What it changes of a task in such a list.
    pub task_update: TaskUpdate,
    /// Whether the call names the directory in which its command runs.
    pub has_folder: bool,
}

impl SummaryCall {
    /// Returns the texts of the call in which secrets are looked for.
    pub fn redacted_texts_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let replacements = self.replacements.iter_mut();
        let replaced =
            replacements.flat_map(|replacement| [&mut replacement.old, &mut replacement.new]);
        [&mut self.command, &mut self.target]
            .into_iter()
            .chain(replaced)
            .chain([&mut self.question, &mut self.todo_list])
    }
}

/// Reads a tool call from its block. What the call does not have is empty.
pub(super) fn read_call(block: &Block, folders: Folders, call_use: CallUse) -> SummaryCall {
    let arguments = block.arguments.unwrap_or(Raw::NULL);
    let patch = block
        .name
        .and_then(|name| FilePatch::read_in_command(name, arguments));
    if let Some(patch) = patch {
        return read_patch_command(block, &patch, folders);
    }

    let name = block.name.and_then(Raw::text).unwrap_or_default();
    let tool = string_head(block.name);
    let members = ReadMembers::find(arguments);
    let command = members.command_line();

    let is_shown = call_use == CallUse::Show;
    let mut target = String::new();
    // A call that is only counted is searched for secrets, too, because these may be quoted
    // elsewhere. If it has a command, all of them are in the command.
    if is_shown || command.is_empty() {
        target = describe_target(&name, arguments, folders);
    }
    let mut replacements = Vec::new();
    if is_shown && changes_files(&tool) {
        replacements = read_replacements(arguments);
    }
    SummaryCall {
        id: string_head(block.id),
        question: members.question_to_user(&tool),
        tool,
        command,
        target,
        replacements,
        todo_list: members.todo_list(),
        task_update: TaskUpdate::read(members.task, members.status),
        has_folder: members.folder.is_some(),
    }
}

/// Reads a shell command of Codex that applies a patch, as if `apply_patch` were the tool: what it
/// changes says more than its here-document.
fn read_patch_command(block: &Block, patch: &FilePatch, folders: Folders) -> SummaryCall {
    let first_file = patch.paths().into_iter().next().unwrap_or_default();
    SummaryCall {
        id: string_head(block.id),
        tool: "apply_patch".to_owned(),
        target: shorten_path(&Text::from(first_file), folders).into_string_lossy(),
        replacements: vec![Replacement::read_patch(&patch.text)],
        ..SummaryCall::default()
    }
}

/// The members of a call's arguments that are read one by one, as the agents name them.
struct ReadMembers<'a> {
    /// `command` or `cmd`: a string or, in Codex, an array of words.
    command: Option<Raw<'a>>,
    /// `question`, or that of the first of several `questions`.
    question: Option<Raw<'a>>,
    /// Whether the user can choose from answers: `questions` have some each, and `options` are
    /// those of a single question.
    has_choice: bool,
    /// `todos` or, in Codex, `plan`.
    todos: Option<Raw<'a>>,
    /// The subject of a new task.
    subject: Option<Raw<'a>>,
    /// The id of the task that is changed, and its new status.
    task: Option<Raw<'a>>,
    status: Option<Raw<'a>>,
    /// `cwd` or `workdir`.
    folder: Option<Raw<'a>>,
}

impl<'a> ReadMembers<'a> {
    fn find(arguments: Raw<'a>) -> ReadMembers<'a> {
        // All members are found in one walk, because this is done for each call of a session.
        let names = [
            "command",
            "cmd",
            "question",
            "questions",
            "options",
            "todos",
            "plan",
            "subject",
            "taskId",
            "status",
            "cwd",
            "workdir",
        ];
        let [
            command,
            cmd,
            question,
            questions,
            options,
            todos,
            plan,
            subject,
            task,
            status,
            cwd,
            workdir,
        ] = find_members(arguments, names);

        let first_question = questions.and_then(|questions| questions.items().next());
        ReadMembers {
            command: command.or(cmd),
            question: match first_question {
                Some(first) => first.get("question"),
                None => question,
            },
            has_choice: first_question.is_some() || options.is_some(),
            todos: todos.or(plan),
            subject,
            task,
            status,
            folder: cwd.or(workdir),
        }
    }

    fn command_line(&self) -> String {
        match self.command {
            Some(words) if words.is_array() => join_words(words),
            line => string_words(line),
        }
    }

    /// Returns the todo list, or the subject of a single task.
    fn todo_list(&self) -> String {
        match self.todos {
            Some(todos) => format_todo_list(todos),
            None => string_words(self.subject),
        }
    }

    /// Returns what the call asks the user. Empty if it asks nothing.
    fn question_to_user(&self, tool: &str) -> String {
        if !asks_user(tool) {
            return String::new();
        }
        let question = string_words(self.question);
        // A tool named `ask` may search documents for the words instead.
        let is_question = self.has_choice || question.ends_with(['?', '？']);
        if is_question { question } else { String::new() }
    }
}

/// Describes the arguments of a call by whole words: see [`SummaryCall::target`]. What follows a
/// value that was cut is left out.
fn describe_target(name: &Text, arguments: Raw, folders: Folders) -> String {
    let description = readable::describe_call_within(name, arguments, folders, MAX_READ_UNITS);
    let Some(cut) = description.cut else {
        return description.text.into_string_lossy();
    };
    // The value may have been cut within a secret, which could not be recognized then.
    let mut target = description.text.slice(0..cut).into_string_lossy();
    drop_last_word(&mut target);
    target
}

/// Returns a command line that is given as an array of words.
fn join_words(words: Raw) -> String {
    let mut line = readable::command_head(words, MAX_READ_UNITS)
        .unwrap_or_default()
        .into_string_lossy();
    if may_be_cut(&line) {
        drop_last_word(&mut line);
    }
    line
}
