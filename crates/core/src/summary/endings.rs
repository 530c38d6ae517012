//! Turns on one line: the request, how it ended, and what the assistant said last.

use super::answers::quote_answer;
use super::budget::{POINT, REMINDER};
use super::message::ReplyEnd;
use super::quote::{quote_line, strip_transitions};
use super::turns::Turn;

/// Describes how the model's reply to a request ended, without quoting it, or that it has not ended
/// yet.
pub(super) fn describe_reply_end(turn: &Turn) -> String {
    let end = match &turn.reply_end {
        ReplyEnd::Done => "answered",
        ReplyEnd::Missing => "its reply is not in the session",
        ReplyEnd::Interrupted => "interrupted by the user",
        ReplyEnd::TokenLimit => "the model's reply reached its token limit",
        ReplyEnd::Failed(error) => {
            return format!("the model's reply failed: {}", quote_line(error, POINT));
        }
        ReplyEnd::ToolUse | ReplyEnd::NoReply => "no final answer yet",
    };
    end.to_owned()
}

/// Describes an earlier turn on one line: its request, how often it was repeated, how it ended, and
/// the assistant's last words. The request takes at most `request_max` units, the last words at
/// most `answer_max`.
pub(super) fn describe_turn(turn: &Turn, request_max: usize, answer_max: usize) -> String {
    let mut description = if turn.request.is_empty() {
        "Before that".to_owned()
    } else {
        turn.quote_request(request_max)
    };
    if turn.repeats > 0 {
        description.push_str(&format!(" (×{})", turn.repeats + 1));
    }
    let is_simply_answered = answer_max == 0 && turn.is_answered() && turn.earlier_ends.is_empty();
    if !is_simply_answered {
        description.push_str(": ");
        description.push_str(&describe_ending(turn, answer_max));
    }
    if !turn.earlier_ends.is_empty() {
        let earlier_ends = turn.earlier_ends.join(", ");
        description.push_str(&format!("; before that {earlier_ends}"));
    }
    description
}

/// Describes how a turn ended, with the assistant's last words in at most `max` UTF-16 units:
/// `answered: "The map has 4 islands."`, or `interrupted by the user: "Now the harbours."`
pub(super) fn describe_ending(turn: &Turn, max: usize) -> String {
    let last_words = turn.last_words();
    let without_transitions = strip_transitions(last_words);
    let answer = if without_transitions.is_empty() {
        // Words such as "Done." are all that some answers have.
        last_words
    } else {
        without_transitions
    };
    if answer.is_empty() && turn.is_passed_over() {
        return "not replied to".to_owned();
    }
    if answer.is_empty() || max == 0 {
        return describe_reply_end(turn);
    }
    let answer = quote_answer(answer, max);
    // After a nod, the turn waits for a reply again, but nothing was left to do.
    match turn.unworked_nod() {
        Some(nod) => {
            let nod = quote_line(nod, REMINDER);
            format!("answered: {answer}; then the user: {nod}")
        }
        None => format!("{}: {answer}", describe_reply_end(turn)),
    }
}
