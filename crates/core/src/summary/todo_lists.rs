//! The todo list of an agent, with its done and its open tasks.
//!
//! Some tools are given the whole list in each call (`TodoWrite`, `update_plan`), others one task
//! (`TaskCreate`, `TaskUpdate`):
//!
//! ```text
//! TaskCreate {"subject": "Draw the piers"}          ── Task #1 created
//! TaskUpdate {"taskId": "1", "status": "completed"}  ──  - [x] Draw the piers
//! ```

use super::budget::{LIST, SECTION};
use super::call::SummaryCall;
use super::cut::{string_head, string_words};
use super::fitting::keep_first;
use super::one_line::cut_line;
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
}

struct Task {
    id: String,
    subject: String,
    mark: char,
}

impl TodoList {
    /// Updates the list by a call that passed, if its tool keeps one.
    pub fn update(&mut self, call: &SummaryCall, output: &str) {
        let tool = call.tool.to_lowercase();
        match &*tool {
            "taskcreate" => self.add_task(&call.todo_list, output),
            "taskupdate" => self.update_task(&call.task_update),
            "update_plan" => self.text.clone_from(&call.todo_list),
            // Without a list in the call, the tool reports it.
            _ if tool.contains("todo") && call.todo_list.is_empty() => {
                output.clone_into(&mut self.text);
            }
            _ if tool.contains("todo") => self.text.clone_from(&call.todo_list),
            _ => {}
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
            subject: subject.to_owned(),
            mark: ' ',
        });
        self.write_tasks();
    }

    fn update_task(&mut self, update: &TaskUpdate) {
        let Some(index) = self.tasks.iter().position(|task| task.id == update.id) else {
            return;
        };
        match &*update.status {
            "deleted" => {
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

    /// Returns the list in about [`SECTION`] UTF-16 units. In a longer one, the items that are done
    /// are joined in one line: `- [x] Draw the piers; Draw the lights`.
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
            lines.push(format!("{DONE}{}", cut_line(&done.join("; "), LIST)));
        }
        let other_count = others.len();
        lines.extend(keep_first(others, SECTION - LIST));
        let omitted_count = other_count + usize::from(!done.is_empty()) - lines.len();
        if omitted_count > 0 {
            lines.push(format!("- [ ] {omitted_count} more"));
        }
        lines.join("\n")
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
        TaskUpdate {
            id: string_head(id),
            status: string_head(status),
        }
    }
}

/// Returns a list of items, `{"content": …, "status": …}` or `{"step": …, "status": …}`, as
/// Markdown: `[x]` marks an item that is completed, `[~]` one that is in progress. Empty if it is
/// no list.
pub(super) fn format_todo_list(todos: Raw) -> String {
    let mut lines = Vec::new();
    for todo in todos.items() {
        let Some(content) = todo.get("content").or(todo.get("step")) else {
            continue;
        };
        let mark = mark_of_status(&string_head(todo.get("status")));
        lines.push(format!("- [{mark}] {}", string_words(Some(content))));
    }
    lines.join("\n")
}

fn mark_of_status(status: &str) -> char {
    match status {
        "completed" => 'x',
        "in_progress" => '~',
        _ => ' ',
    }
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
            list.update(&call("TaskCreate", subject), &output);
        }
        list.update(&set_status("4", "completed"), "");
        list.update(&set_status("5", "in_progress"), "");
        list.update(&set_status("5", ""), "");
        list.update(&set_status("6", "deleted"), "");
        list.update(&set_status("7", "completed"), "");
        assert_eq!(list.describe(), "- [x] piers\n- [~] lights");
        assert!(list.has_open_item());

        list.update(&set_status("5", "completed"), "");
        assert!(!list.has_open_item());
        list.update(&call("TaskCreate", "names"), "Task #7 created successfully");
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
        list.update(&call("TodoWrite", &lines.join("\n")), "");
        let text = list.describe();
        assert!(text.starts_with("- [x] Draw the harbour 0; Draw the harbour 1; "));
        assert!(text.contains("\n- [~] Draw the piers\n- [ ] Print the chart 0\n"));
        assert!(text.ends_with(" more"), "{text}");
        assert!(text.len() < SECTION + 40, "{text}");
    }
}
