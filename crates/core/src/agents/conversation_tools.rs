//! Calls of tools that serve the conversation itself: questions to the user, todo lists, and plans
//! that the user is to approve.
//!
//! ```text
//! AskUserQuestion {"questions":[{"question":"Which paper?"},{"question":"How long?"}]}
//!                                                     Which paper? (1 more)
//! TodoWrite {"todos":[{"content":"Cut the spars","status":"completed"},
//!            {"content":"Tie the bridle","status":"in_progress"}]}
//!                                                     1 of 2 done: Tie the bridle
//! ExitPlanMode {"plan":"# A lighter kite\n\n1. …"}    A lighter kite
//! ```

use crate::agents::row::string_head;
use crate::session::content::{find_members, member_is};
use pisess_json::Raw;
use pisess_json::text::Text;

/// Describes a call of such a tool, by the names of its arguments. Of each text in them, `units`
/// UTF-16 units are read. `None` for any other call.
pub fn describe_conversation_call(arguments: Raw, units: usize) -> Option<Text<'static>> {
    let [question, questions, todos, plan] =
        find_members(arguments, ["question", "questions", "todos", "plan"]);
    if let Some(question) = question {
        return string_head(question, units);
    }
    if let Some(questions) = questions {
        return describe_questions(questions, units);
    }
    // Codex has the list in `plan`.
    match todos.or(plan)? {
        list if list.is_array() => describe_list(list, units),
        plan => describe_plan(plan, units),
    }
}

/// Describes the questions of one call by the first of them, and the number of the others.
fn describe_questions(questions: Raw, units: usize) -> Option<Text<'static>> {
    let first = questions.items().next()?.get("question")?;
    let mut text = string_head(first, units)?;
    let others = questions.items().count() - 1;
    if others > 0 {
        text.push_str(&format!(" ({others} more)"));
    }
    Some(text)
}

/// Describes a todo list by how much of it is done, and what is in progress. `None` if an item has
/// no status.
fn describe_list(items: Raw, units: usize) -> Option<Text<'static>> {
    let mut count = 0;
    let mut done_count = 0;
    let mut current_item = None;
    for item in items.items() {
        item.get("status")?;
        count += 1;
        if member_is(item, "status", "completed") {
            done_count += 1;
        }
        if member_is(item, "status", "in_progress") && current_item.is_none() {
            current_item = Some(item);
        }
    }

    let mut text = Text::from(format!("{done_count} of {count} done"));
    let names = current_item.map(|item| find_members(item, ["content", "step", "description"]));
    if let Some([content, step, description]) = names
        && let Some(name) = content.or(step).or(description)
    {
        text.push_str(": ");
        text.push(&string_head(name, units)?);
    }
    Some(text)
}

/// Describes a plan by its first line, without the mark of a heading.
fn describe_plan(plan: Raw, units: usize) -> Option<Text<'static>> {
    let start = string_head(plan, units)?.into_string_lossy();
    let first_line = start.trim_start().lines().next()?;
    Some(Text::from(
        first_line.trim_start_matches(['#', ' ']).to_owned(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_lists_and_plans_are_described_by_what_they_say() {
        for (arguments, expected) in [
            (
                r#"{"questions":[{"question":"Which paper?","options":[]},{"question":"How long?"}]}"#,
                Some("Which paper? (1 more)"),
            ),
            (r#"{"question":"Which paper?"}"#, Some("Which paper?")),
            (
                r#"{"todos":[{"content":"Cut","status":"completed"},{"content":"Tie","status":"in_progress"},{"content":"Fly","status":"pending"}]}"#,
                Some("1 of 3 done: Tie"),
            ),
            (
                r#"{"explanation":"x","plan":[{"step":"Cut","status":"completed"}]}"#,
                Some("1 of 1 done"),
            ),
            (r#"{"todos":[]}"#, Some("0 of 0 done")),
            (
                r##"{"plan":"# A lighter kite\n\n1. Cut"}"##,
                Some("A lighter kite"),
            ),
            (r#"{"todos":[{"content":"Cut"}]}"#, None),
            (r#"{"questions":[]}"#, None),
            (r#"{"plan":7}"#, None),
            (r#"{"q":"Which paper?"}"#, None),
        ] {
            let parsed = Raw::parse(arguments.as_bytes()).unwrap();
            let described = describe_conversation_call(parsed, 100);
            assert_eq!(
                described.map(Text::into_string_lossy).as_deref(),
                expected,
                "{arguments}"
            );
        }
    }
}
