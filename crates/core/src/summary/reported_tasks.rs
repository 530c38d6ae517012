//! The tasks in the report of a tool that keeps a todo list.
//!
//! oh-my-pi's `todo` reports the open tasks, and then all of them by phases:
//!
//! ```text
//! Remaining items (1):
//!   - Draw the lights [in_progress] (Map)
//! Overall: 1/2 done, 1 open.
//!   Map:
//!     - [X] Draw the piers
//!     - [ ] Draw the lights (in progress)
//! ```

/// Returns the tasks of a report as Markdown, one in each line: all of them or, in a report that
/// has no boxes, those that remain. Empty if the list is. `None` if the text is no report.
pub(super) fn read_reported_tasks(report: &str) -> Option<String> {
    let mut with_boxes = Vec::new();
    let mut remaining = Vec::new();
    for line in report.lines() {
        let item = line.trim();
        let item = item.strip_prefix("- ").unwrap_or(item);
        if let Some(task) = read_boxed_task(item) {
            with_boxes.push(task);
        } else if let Some(task) = read_remaining_task(item) {
            remaining.push(task);
        }
    }

    let tasks = if with_boxes.is_empty() {
        remaining
    } else {
        with_boxes
    };
    // "Todo list cleared.", "Todo list is empty."
    let reports_no_task = report.starts_with("Todo list") || report.contains("items: none");
    if tasks.is_empty() && !reports_no_task {
        return None;
    }
    let mut lines = Vec::new();
    for task in tasks {
        if let Some(mark) = task.mark {
            lines.push(format!("- [{mark}] {}", task.text));
        }
    }
    Some(lines.join("\n"))
}

struct ReportedTask<'r> {
    /// `None` if the task was dropped.
    mark: Option<char>,
    text: &'r str,
}

/// Reads a task with a box: `[ ] Draw the lights (in progress)`.
fn read_boxed_task(item: &str) -> Option<ReportedTask<'_>> {
    if let Some(text) = item.strip_prefix("[X] ").or(item.strip_prefix("[x] ")) {
        return Some(ReportedTask {
            mark: Some('x'),
            text,
        });
    }
    let text = item.strip_prefix("[ ] ")?;
    if let Some(text) = text.strip_suffix(" (in progress)") {
        return Some(ReportedTask {
            mark: Some('~'),
            text,
        });
    }
    let mark = if text.ends_with(" (dropped)") {
        None
    } else {
        Some(' ')
    };
    Some(ReportedTask { mark, text })
}

/// Reads a task with its status: `Draw the lights [in_progress] (Map)`.
fn read_remaining_task(item: &str) -> Option<ReportedTask<'_>> {
    const STATUSES: [(&str, Option<char>); 3] = [
        (" [in_progress]", Some('~')),
        (" [pending]", Some(' ')),
        (" [abandoned]", None),
    ];
    for (status, mark) in STATUSES {
        // The task's own text may have the word, too: only its phase follows the status.
        if let Some((text, phase)) = item.rsplit_once(status)
            && (phase.is_empty() || phase.starts_with(" ("))
        {
            return Some(ReportedTask { mark, text });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tasks_of_a_report_are_read() {
        let by_phases = "Remaining items (1 open + 1 dropped):\n  - Lights [in_progress] (Map)\n  - Boats [abandoned] (Map)\nOverall: 1/4 done.\n  Map:\n    - [X] Piers\n    - [ ] Lights (in progress)\n    - [ ] Boats (dropped)\n    - [ ] Names (blocked: the printer)";
        for (report, tasks) in [
            (
                by_phases,
                Some("- [x] Piers\n- [~] Lights\n- [ ] Names (blocked: the printer)"),
            ),
            (
                "Remaining (2):\n  - ## Goal [pending]\n  - Piers [in_progress] (Map)",
                Some("- [ ] ## Goal\n- [~] Piers"),
            ),
            (
                "[x] #1: Piers\n[ ] #2: Lights",
                Some("- [x] #1: Piers\n- [ ] #2: Lights"),
            ),
            (
                "Remaining (1):\n  - Show [pending] in red [in_progress] (Map)",
                Some("- [~] Show [pending] in red"),
            ),
            ("Todo list cleared.", Some("")),
            ("Remaining items: none.\nOverall: 0/0 done.", Some("")),
            ("Added todo #1: Piers", None),
            ("", None),
        ] {
            assert_eq!(read_reported_tasks(report).as_deref(), tasks, "{report}");
        }
    }
}
