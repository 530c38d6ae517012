//! The wishes in the constraints: which one an item quotes, and what later messages and decisions
//! do to it.

use super::budget::LONG_REQUEST;
use super::quote::is_narrower;
use super::revisions::{Distance, LaterMessage, mark_with};
use super::rule_lists::listed_rules;
use super::sections::{EARLIER_MARK, Section, Sections};
use super::turns::Turn;
use super::wishes::{binds_in_general, is_for_the_moment};

impl Sections {
    /// Marks the listed wishes that `later`, a sentence of a message, takes back. The wishes of the
    /// same message, `own_wishes`, are not marked: they do not take each other back. `turn_before`
    /// is the turn before the message. If a wish is in its request, less in common suffices.
    pub(super) fn mark_wishes_taken_back(
        &mut self,
        later: &LaterMessage,
        turn_before: Option<&Turn>,
        own_wishes: &[String],
    ) {
        for item in self.items_mut(Section::Constraints) {
            let part_against = |wish| part_taking_back(later, wish, turn_before, own_wishes);
            // The whole list is marked if one of its rules is taken back. The mark quotes what was
            // said, so a reader sees which rule is meant.
            let part = match listed_rules(item) {
                Some(mut rules) => rules.find_map(part_against),
                None => part_against(wish_in_item(item)),
            };
            if let Some(part) = part {
                let unmarked = without_later_mark(item);
                *item = format!("{unmarked}{}", mark_with(part));
            }
        }
    }

    /// Drops the wishes that were for the moment: "do not edit yet".
    pub(super) fn drop_wishes_for_the_moment(&mut self) {
        self.items_mut(Section::Constraints)
            .retain(|item| !is_for_the_moment(wish_in_item(item)));
    }

    /// Drops the short wishes that begin an answer which a decision quotes: there they come with
    /// the question, without which they say little. One that binds in general stays.
    pub(super) fn drop_wishes_in_decisions(&mut self) {
        let decisions = self.items(Section::Decisions).to_vec();
        self.items_mut(Section::Constraints).retain(|item| {
            // A previous summary dropped such wishes already when it was written.
            if item.starts_with(EARLIER_MARK) {
                return true;
            }
            let wish = wish_in_item(item);
            let is_short = is_narrower(wish, LONG_REQUEST);
            let is_quoted = is_short && begins_answer(wish, &decisions);
            !is_quoted || binds_in_general(wish)
        });
    }

    /// Whether the request of a turn made a wish that is listed as taken back: the reply is out of
    /// date.
    pub(super) fn has_wish_taken_back(&self, turn: &Turn) -> bool {
        let mut items = self.items(Section::Constraints).iter();
        items.any(|item| {
            let is_taken_back = without_later_mark(item).len() < item.len();
            is_taken_back && turn.request.contains(wish_in_item(item))
        })
    }

    /// Whether a wish is listed, whatever mark it has.
    pub(super) fn lists_wish(&self, wish: &str) -> bool {
        let mut items = self.items(Section::Constraints).iter();
        items.any(|item| wish_in_item(item) == wish_in_item(wish))
    }

    /// Removes a wish that is made anew: what took it back before holds no longer.
    pub(super) fn remove_wish(&mut self, wish: &str) {
        self.items_mut(Section::Constraints)
            .retain(|item| wish_in_item(item) != wish_in_item(wish));
    }
}

/// Returns the part of a later message that takes a wish back: see
/// [`Sections::mark_wishes_taken_back`].
fn part_taking_back<'m>(
    later: &LaterMessage<'m>,
    wish: &str,
    turn_before: Option<&Turn>,
    own_wishes: &[String],
) -> Option<&'m str> {
    let is_own = own_wishes.iter().any(|own| wish_in_item(own) == wish);
    let lower_wish = wish.to_lowercase();
    if is_own || !later.may_take_back(&lower_wish) {
        return None;
    }
    // A message right after the wish needs to have less in common with it.
    let follows_closely = turn_before.is_some_and(|turn| turn.request.contains(wish));
    let distance = if follows_closely {
        Distance::Next
    } else {
        Distance::Far
    };
    later.part_taking_back(&lower_wish, distance)
}

/// Whether one of the decisions quotes an answer that begins with a wish.
fn begins_answer(wish: &str, decisions: &[String]) -> bool {
    let answers = ["answered", "decided"].map(|verb| format!("the user {verb} \"{wish}"));
    let mut quoting = decisions.iter();
    quoting.any(|decision| answers.iter().any(|answer| decision.contains(answer)))
}

/// Returns the wish of an item of the constraints, without the mark of an earlier summary and
/// without its quotation marks. What follows the quotation is left out: what the wish refers to,
/// and what takes it back. `"never print it" (on "Draw the map") (later: "print it")` has the wish
/// `never print it`.
fn wish_in_item(item: &str) -> &str {
    let wish = without_later_mark(item.trim_start_matches(EARLIER_MARK));
    match wish.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default(),
        None => wish,
    }
}

/// Returns an item of the constraints without the mark of [`LaterMessage::mark`].
fn without_later_mark(item: &str) -> &str {
    item.split(" (later: ").next().unwrap_or_default()
}
