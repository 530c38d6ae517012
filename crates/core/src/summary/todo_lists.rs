//! The todo list of an agent, with its done and its open tasks.
//!
//! Some tools are given the whole list in each call (`TodoWrite`, `update_plan`), others one task
//! (`TaskCreate`, `TaskUpdate`), and some report the list (`todo` of oh-my-pi):
//!
//! ```text
//! TaskCreate {"subject": "Draw the piers"}          ── Task #1 created
//! TaskUpdate {"taskId": "1", "status": "completed"}  ──  - [x] Draw the piers
//! ```
//!
//! A tool counts by its whole name: one that only has "todo" in its name may search a program for
//! such comments.

use super::budget::{DONE_TASKS, LIST, TASKS};
use super::call::SummaryCall;
use super::cut::{string_head, string_words};
use super::fitting::keep_first;
use super::one_line::cut_line;
use super::reported_tasks::read_reported_tasks;
use super::sections::{Sections, TODO_LIST_LEAD};
use crate::session::content::find_members;
use pisess_json::Raw;

/// The mark of an item that is done.
const DONE: &str = "- [x] ";

/// The todo list as its tools last reported it.
#[derive(Default)]
pub(super) struct TodoList {
    /// The items as Markdown, one in each line.
    text: String,
    /// The tasks of a list that is kept by one call for each task.
    tasks: Vec<Task>,
    /// The number of the turn with the last call that set the list.
    pub turn_number: usize,
}

struct Task {
    id: String,
    subject: String,
    mark: char,
}

impl TodoList {
    /// Restores the list that a previous summary quotes, if it was set for the request that was
    /// current then.
    pub fn from_previous(previous: &Sections) -> TodoList {
        let mut list = TodoList::default();
        // What follows the lead says that the list is of an earlier request.
        if let Some(quotation) = previous.find_quotation(TODO_LIST_LEAD)
            && quotation.lead_rest.is_empty()
        {
            quotation.text.clone_into(&mut list.text);
        }
        list
    }

    /// Updates the list by a call of a turn that passed, if its tool keeps one.
    pub fn update(&mut self, call: &SummaryCall, output: &str, turn_number: usize) {
        let Some(tool) = TodoTool::from_name(&call.tool) else {
            return;
        };
        match tool {
            TodoTool::AddsTask => self.add_task(&call.todo_list, output),
            TodoTool::ChangesTask => self.update_task(&call.task_update),
            TodoTool::SetsList => self.text.clone_from(&call.todo_list),
            TodoTool::ReportsList => self.update_from_report(call, output),
        }
        self.turn_number = turn_number;
    }

    /// Sets the list that is in a call or, without one, in its output.
    fn update_from_report(&mut self, call: &SummaryCall, output: &str) {
        if !call.todo_list.is_empty() {
            self.text.clone_from(&call.todo_list);
        } else if let Some(tasks) = read_reported_tasks(output) {
            self.text = tasks;
        }
    }

    /// Adds a task. Its id is in the output: `Task #3 created successfully: Draw the piers`.
    fn add_task(&mut self, subject: &str, output: &str) {
        let are_all_done = self.tasks.iter().all(|task| task.mark == 'x');
        if are_all_done {
            self.tasks.clear();
        }
        let after_mark = output.split_once('#').map_or("", |(_, rest)| rest);
        let id = after_mark.split(|c: char| !c.is_ascii_digit()).next();
        self.tasks.push(Task {
            id: id.unwrap_or_default().to_owned(),
            subject: join_words(subject),
            mark: ' ',
        });
        self.write_tasks();
    }

    fn update_task(&mut self, update: &TaskUpdate) {
        if update.id.is_empty() {
            return;
        }
        if self.tasks.is_empty() {
            // A list that a previous summary quotes has no ids, so it is no longer known which of
            // its tasks are done.
            self.text.clear();
            return;
        }
        let Some(index) = self.tasks.iter().position(|task| task.id == update.id) else {
            return;
        };
        match &*update.status {
            status if is_given_up(status) => {
                self.tasks.remove(index);
            }
            // The call changes something else of the task.
            "" => {}
            status => self.tasks[index].mark = mark_of_status(status),
        }
        self.write_tasks();
    }

    fn write_tasks(&mut self) {
        let mut lines = Vec::new();
        for task in &self.tasks {
            lines.push(format!("- [{}] {}", task.mark, task.subject));
        }
        self.text = lines.join("\n");
    }

    /// Whether an item is not done. A list that is done says nothing of what is next.
    pub fn has_open_item(&self) -> bool {
        self.text.lines().any(|item| !item.starts_with(DONE))
    }

    /// Returns the list in about [`TASKS`] UTF-16 units. In a longer one than [`LIST`], the items
    /// that are done are joined in one line: `- [x] Draw the piers; Draw the lights`.
    pub fn describe(&self) -> String {
        if self.text.len() <= LIST {
            return self.text.clone();
        }
        let mut done = Vec::new();
        let mut others = Vec::new();
        for line in self.text.lines() {
            match line.strip_prefix(DONE) {
                Some(item) => done.push(item),
                None => others.push(line.to_owned()),
            }
        }

        let mut lines = Vec::new();
        if !done.is_empty() {
            lines.push(format!("{DONE}{}", cut_line(&done.join("; "), DONE_TASKS)));
        }
        let other_count = others.len();
        let shown = keep_first(others, TASKS - DONE_TASKS);
        let omitted_count = other_count - shown.len();
        lines.extend(shown);
        if omitted_count > 0 {
            lines.push(format!("- [ ] {omitted_count} more"));
        }
        lines.join("\n")
    }
}

/// A tool that keeps a todo list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TodoTool {
    /// Each call adds a task.
    AddsTask,
    /// Each call changes a task.
    ChangesTask,
    /// Each call has the whole list.
    SetsList,
    /// The list is in the call or in its output.
    ReportsList,
}

impl TodoTool {
    /// Returns the tool with this name, in any case; `None` if it keeps no todo list.
    pub fn from_name(name: &str) -> Option<TodoTool> {
        match &*name.to_lowercase() {
            "taskcreate" => Some(TodoTool::AddsTask),
            "taskupdate" => Some(TodoTool::ChangesTask),
            "todowrite" | "todo_write" | "write_todos" | "update_plan" => Some(TodoTool::SetsList),
            "todo" | "todoread" | "todo_read" => Some(TodoTool::ReportsList),
            _ => None,
        }
    }
}

/// What a call changes of a task.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskUpdate {
    id: String,
    status: String,
}

impl TaskUpdate {
    pub fn read(id: Option<Raw>, status: Option<Raw>) -> TaskUpdate {
        let id = match id {
            Some(number) if number.is_number() => {
                String::from_utf8_lossy(number.bytes()).into_owned()
            }
            id => string_head(id),
        };
        TaskUpdate {
            id,
            status: string_head(status),
        }
    }
}

/// Returns a list of items as Markdown: `[x]` marks an item that is completed, `[~]` one that is in
/// progress. An item that was given up is left out. Empty if it is no list. An item has its text in
/// `content` (Claude Code), `step` (Codex) or `description` (Gemini CLI):
///
/// ```text
/// {"content": "Draw the piers", "status": "completed"}     - [x] Draw the piers
/// ```
pub(super) fn format_todo_list(todos: Raw) -> String {
    let mut lines = Vec::new();
    for todo in todos.items() {
        let [content, step, description, status] =
            find_members(todo, ["content", "step", "description", "status"]);
        let text = join_words(&string_words(content.or(step).or(description)));
        let status = string_head(status);
        if text.is_empty() || is_given_up(&status) {
            continue;
        }
        lines.push(format!("- [{}] {text}", mark_of_status(&status)));
    }
    lines.join("\n")
}

/// Returns the text of an item on one line: a line break in it would make a heading or another item
/// of what follows.
fn join_words(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

fn mark_of_status(status: &str) -> char {
    match status {
        "completed" => 'x',
        "in_progress" => '~',
        _ => ' ',
    }
}

/// Whether nobody will work on an item with this status.
fn is_given_up(status: &str) -> bool {
    const STATUSES: [&str; 6] = [
        "abandoned",
        "cancelled",
        "canceled",
        "deleted",
        "dropped",
        "skipped",
    ];
    STATUSES.contains(&status)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(tool: &str, list: &str) -> SummaryCall {
        SummaryCall {
            tool: tool.to_owned(),
            todo_list: list.to_owned(),
            ..SummaryCall::default()
        }
    }

    fn set_status(id: &str, status: &str) -> SummaryCall {
        SummaryCall {
            task_update: TaskUpdate {
                id: id.to_owned(),
                status: status.to_owned(),
            },
            ..call("TaskUpdate", "")
        }
    }

    #[test]
    fn tasks_are_listed_with_their_state() {
        let mut list = TodoList::default();
        for (number, subject) in ["piers", "lights", "boats"].iter().enumerate() {
            let output = format!("Task #{} created successfully", number + 4);
            list.update(&call("TaskCreate", subject), &output, 1);
        }
        list.update(&set_status("4", "completed"), "", 1);
        list.update(&set_status("5", "in_progress"), "", 1);
        list.update(&set_status("5", ""), "", 1);
        list.update(&set_status("6", "deleted"), "", 1);
        list.update(&set_status("7", "completed"), "", 1);
        assert_eq!(list.describe(), "- [x] piers\n- [~] lights");
        assert!(list.has_open_item());

        list.update(&set_status("5", "completed"), "", 1);
        assert!(!list.has_open_item());
        list.update(&call("TaskCreate", "names"), "Task #7 created", 2);
        assert_eq!(list.describe(), "- [ ] names");
    }

    #[test]
    fn a_long_list_joins_what_is_done_and_keeps_what_is_next() {
        let mut lines = Vec::new();
        for number in 0..40 {
            lines.push(format!("- [x] Draw the harbour {number}"));
        }
        lines.push("- [~] Draw the piers".to_owned());
        for number in 0..40 {
            lines.push(format!("- [ ] Print the chart {number}"));
        }
        let mut list = TodoList::default();
        list.update(&call("TodoWrite", &lines.join("\n")), "", 1);
        let text = list.describe();
        assert!(text.starts_with("- [x] Draw the harbour 0; Draw the harbour 1; "));
        assert!(text.contains("\n- [~] Draw the piers\n- [ ] Print the chart 0\n"));
        assert!(text.ends_with(" more"), "{text}");
        assert!(text.len() < TASKS + 40, "{text}");
    }

    #[test]
    fn only_a_tool_that_keeps_a_list_sets_it() {
        let mut list = TodoList::default();
        list.update(&call("TodoWrite", "- [ ] piers"), "", 1);
        list.update(&call("find_todos", "- [ ] boats"), "src/a.rs: TODO", 2);
        list.update(&call("PlanTrip", "- [ ] boats"), "planned", 2);
        assert_eq!(list.describe(), "- [ ] piers");
        assert_eq!(list.turn_number, 1);

        // The output of a tool that is given the list only confirms it.
        list.update(&call("TodoWrite", ""), "Todos have been modified", 3);
        assert_eq!(list.describe(), "");
        assert!(!list.has_open_item());
    }

    #[test]
    fn what_was_given_up_is_left_out() {
        let todos = r#"[{"content":"piers","status":"cancelled"},
            {"content":"lights","status":"abandoned"},{"content":"boats","status":"pending"},
            {"content":"names","status":"in_progress"}]"#;
        let todos = Raw::parse(todos.as_bytes()).unwrap();
        assert_eq!(format_todo_list(todos), "- [ ] boats\n- [~] names");

        let mut list = TodoList::default();
        list.update(&call("TaskCreate", "piers"), "Task #1 created", 1);
        list.update(&set_status("1", "cancelled"), "", 1);
        assert!(!list.has_open_item());
    }

    #[test]
    fn an_item_is_one_line() {
        let todos = r#"[{"content":"piers\n## Goal\n- [ ] none","status":"completed"},
            {"content":"","status":"pending"},{"status":"pending"},
            {"description":"lights","status":"pending"}]"#;
        let todos = Raw::parse(todos.as_bytes()).unwrap();
        assert_eq!(
            format_todo_list(todos),
            "- [x] piers ## Goal - [ ] none\n- [ ] lights"
        );

        let mut list = TodoList::default();
        list.update(
            &call("TaskCreate", "piers\n- [ ] none"),
            "Task #1 created",
            1,
        );
        assert_eq!(list.describe(), "- [ ] piers - [ ] none");
    }

    #[test]
    fn a_list_of_a_previous_summary_ends_with_the_first_update() {
        let mut list = TodoList {
            text: "- [~] piers\n- [ ] lights".to_owned(),
            ..TodoList::default()
        };
        list.update(&set_status("", "completed"), "", 2);
        assert!(list.has_open_item());
        list.update(&set_status("2", "completed"), "", 2);
        assert_eq!(list.describe(), "");
    }

    #[test]
    fn the_id_of_a_task_may_be_a_number() {
        let number = Raw::parse(b"7").unwrap();
        assert_eq!(TaskUpdate::read(Some(number), None).id, "7");
    }
}
