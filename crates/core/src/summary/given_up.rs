//! Giving up: which failures need no repair, because the user does without what failed, or has it
//! done in another way.

use super::budget::{POINT, REMARK};
use super::quote::{display_width, first_chars};
use super::referents::shares_word;
use super::turns::Turn;
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

/// The words with which a user gives up what failed.
const GIVES_UP: &str = r"(?ix)(^|\W)(drop|skip|forget|scrap|ditch|abandon|give\ up|never\ ?mind
      |no\ need
    | (don[’']?t|do\ not)\ need | (leave|keep)\ (it|that|this|them)\ out | without\ (it|that|them)
    | vergiss | weglassen | lassen?\ wir | brauchen\ wir\ nicht | laisse\ tomber | abandonne
      | olvida)(\W|$)";

/// The words with which a user has something done in another way.
const REPLACES: &str = r"(?ix)(^|\W)(instead|stattdessen|à\ la\ place|en\ su\ lugar)(\W|$)";

/// The words with which a user has what failed repaired, or something not done: "fix it instead",
/// "instead of only explaining it". In "plain lines instead of smooth ones", something else is
/// done.
const REPAIRS: &str = r"(?ix)(^|\W)(fix|fixes|fixing|repair|repairing|solve|solving|mend|mending
      |instead\ of\ ((only|just)\ )?[a-z]+ing
    | reparier|repariere|repariert|reparieren|behebe|beheben|corrige|corriger|répare|réparer
      |arregla)(\W|$)";

/// Whether a message gives up what failed, or has it done in another way.
fn gives_up(message: &str) -> bool {
    static GIVE_UP: LazyLock<Regex> = LazyLock::new(|| compile_expression(GIVES_UP));
    static REPLACE: LazyLock<Regex> = LazyLock::new(|| compile_expression(REPLACES));
    static REPAIR: LazyLock<Regex> = LazyLock::new(|| compile_expression(REPAIRS));
    GIVE_UP.is_match(message) || REPLACE.is_match(message) && !REPAIR.is_match(message)
}

/// Whether the user gave up what failed in a turn: "drop it, then". This is in an answer to the
/// turn's reply that called for no work, or in the next request. That must be answered: until then,
/// the failure may still be what is worked on.
pub(super) fn is_given_up(turn: &Turn, next_turn: Option<&Turn>) -> bool {
    if !turn.is_replied_to() {
        return false;
    }
    let message = if let Some(nod) = turn.unworked_nod() {
        nod
    } else if let Some(next_turn) = next_turn
        && next_turn.is_answered()
    {
        first_chars(&next_turn.request, POINT)
    } else {
        return false;
    };
    // Any other message is about something new.
    let reacts_to_reply =
        display_width(message) < REMARK || shares_word(turn.last_words(), message);
    reacts_to_reply && gives_up(message)
}
