//! Ended turns: which of the earlier turns are kept, and which are merged or cut.

use super::SummaryBuilder;
use super::budget::{EARLIER_REQUEST, MAX_HELD, SHORT_REPLY, WORDS};
use super::condense::{condense_request, is_specification};
use super::cut::cut_middle;
use super::deferrals::is_deferral;
use super::host_text::without_description;
use super::numbered::numbered_items;
use super::quote::is_narrower;
use super::sections::{EARLIER_MARK, SKILL_RULES_LEAD, Section};
use super::suggestions::find_suggestion;
use super::tables::{OutOfDate, VOID_TABLE, find_out_of_date, find_value_table, lists_same};
use super::turns::Turn;
use super::weights::count_values;
use super::words::content_words;
use foldhash::HashSet;

impl SummaryBuilder {
    /// Moves the current turn to the earlier ones, before the next request begins. The current turn
    /// is empty afterwards.
    pub(super) fn end_turn(&mut self) {
        self.keep_choices_of_turn();
        self.drop_blockers_worked_on();
        self.shorten_turn();
        self.drop_void_tables();
        self.close_previous_points();

        // The earlier turns were shortened, too, so the turn is compared with them after that.
        self.fold_similar_turn();
        // After a fold, the current turn is an earlier one, which goes back to its place.
        let ended = std::mem::take(&mut self.turn);
        if is_worth_keeping(&ended) {
            self.earlier_turns.push(ended);
        }
        if self.earlier_turns.len() > MAX_HELD {
            self.drop_lightest_turn();
        }
    }

    /// Keeps what was settled in the current turn: by the assistant alone, at its suggestion, and
    /// by refusals of calls; and the causes that it found.
    fn keep_choices_of_turn(&mut self) {
        self.own_choices.add_turn(&self.turn);
        self.causes.add_turn(&self.turn);
        if let Some(suggestion) = find_suggestion(&self.turn) {
            self.decisions.add_suggestion(suggestion, self.turn.number);
        }
        for words in std::mem::take(&mut self.turn.refusals) {
            self.decisions.add_refusal(&words, self.turn.number);
        }
    }

    /// Shortens the current turn to what is shown of an earlier one. Its wishes and choices were
    /// found in the whole request, and its values are counted once it is short.
    fn shorten_turn(&mut self) {
        let turn = &mut self.turn;
        turn.numbered_items = numbered_items(turn.last_words());
        // What a command does is said of the current request alone: others often call the same one.
        let request = without_description(&turn.request);
        turn.request = shorten_request(request);
        turn.remarks = vec![cut_middle(turn.last_words(), WORDS)];
        turn.value_count = count_values(turn);
    }

    /// Closes the points of a previous summary that are of its current request: what was under way
    /// or next, and the rules of a skill, do not outlive that. The first goal is what the session
    /// is for. Others count as reached: they say more of the work than what else is listed as done.
    fn close_previous_points(&mut self) {
        self.points.items_mut(Section::InProgress).clear();
        self.points.items_mut(Section::NextSteps).clear();
        let constraints = self.points.items_mut(Section::Constraints);
        constraints.retain(|item| {
            let rule = item.trim_start_matches(EARLIER_MARK);
            !rule.starts_with(SKILL_RULES_LEAD)
        });
        let mut goals = std::mem::take(self.points.items_mut(Section::Goal));
        self.purpose.take_goal(&mut goals);
        self.points.items_mut(Section::Done).extend(goals);
    }

    /// Drops the blockers of a previous summary that the current turn is about: its reply says how
    /// they stand.
    fn drop_blockers_worked_on(&mut self) {
        /// A turn is about a blocker if it has this many of its words.
        const SHARED_WORDS: usize = 3;

        let blockers = self.points.items_mut(Section::Blocked);
        if blockers.is_empty() || !self.turn.is_answered() {
            return;
        }
        let turn_text = format!("{}\n{}", self.turn.request, self.turn.last_words());
        let turn_text = turn_text.to_lowercase();
        let said: HashSet<&str> = content_words(&turn_text).collect();
        blockers.retain(|blocker| {
            let lower = blocker.to_lowercase();
            let words: HashSet<&str> = content_words(&lower).collect();
            words.intersection(&said).count() < SHARED_WORDS
        });
    }

    /// Replaces tables in earlier replies if the assistant's last reply says that earlier values
    /// are out of date ("the old numbers are wrong", "the table above is void"), so that the
    /// summary does not repeat them:
    ///
    /// - If that reply has a table, those tables that list the same things.
    /// - If it has none, but speaks of a table, the last table. If it speaks only of values, it
    ///   does not say which.
    pub(super) fn drop_void_tables(&mut self) {
        let reply = self.turn.last_words().to_owned();
        let Some(out_of_date) = find_out_of_date(&reply) else {
            return;
        };
        match find_value_table(&reply) {
            Some(range) => self.replace_tables_like(&reply[range]),
            None if out_of_date == OutOfDate::Table => self.replace_last_table(),
            None => {}
        }
    }

    /// Replaces each table in an earlier reply that lists the same things as the new one.
    fn replace_tables_like(&mut self, new_table: &str) {
        for turn in &mut self.earlier_turns {
            if let Some((remark, range)) = turn.table_in_last_remark()
                && lists_same(new_table, &remark[range.clone()])
            {
                remark.replace_range(range, VOID_TABLE);
            }
        }
    }

    /// Replaces the newest table in an earlier reply.
    fn replace_last_table(&mut self) {
        let mut newest_first = self.earlier_turns.iter_mut().rev();
        if let Some((remark, range)) = newest_first.find_map(Turn::table_in_last_remark) {
            remark.replace_range(range, VOID_TABLE);
        }
    }

    /// Drops, of the older half of the earlier turns, the one that measured least, and of equals
    /// the oldest. The first turn is kept: it is usually the first request.
    fn drop_lightest_turn(&mut self) {
        debug_assert!(self.earlier_turns.len() > MAX_HELD);
        let older_half = 1..MAX_HELD / 2;
        // Of equals, `min_by_key` returns the first.
        let lightest = older_half.min_by_key(|&index| self.earlier_turns[index].value_count);
        if let Some(index) = lightest {
            self.earlier_turns.remove(index);
        }
    }

    /// Merges the current turn and an earlier one that repeat each other, so that the summary lists
    /// them once.
    ///
    /// - If requests and answers are alike, as those of a timer, the current turn is dropped, and
    ///   the newest of the earlier turns becomes the current one again.
    /// - If only the requests are the same, as after a failure, the earlier turn is dropped.
    pub(super) fn fold_similar_turn(&mut self) {
        let mut earlier_turns = self.earlier_turns.iter();
        if let Some(index) = earlier_turns.position(|turn| turn.is_alike(&self.turn)) {
            self.replace_by_earlier(index);
            return;
        }

        self.earlier_turns
            .retain(|turn| !turn.is_start_of(&self.turn));
        let mut earlier_turns = self.earlier_turns.iter();
        if let Some(index) = earlier_turns.position(|turn| turn.has_same_request(&self.turn)) {
            let earlier = self.earlier_turns.remove(index);
            self.turn.count_as_repeat_of(earlier);
        }
    }

    /// Drops the current turn, which repeats the earlier turn at `index`. The newest of the earlier
    /// turns becomes the current one again.
    fn replace_by_earlier(&mut self, index: usize) {
        let mut repeated = self.earlier_turns.remove(index);
        repeated.repeats += 1;
        // What is repeated is not what is worked on, so it becomes the oldest but for the first
        // turn of the session, which keeps its place.
        let oldest = if index == 0 { 0 } else { 1 };
        self.earlier_turns.insert(oldest, repeated);
        // If there is only one earlier turn, this is the repeated one.
        self.turn = self.earlier_turns.pop().unwrap_or_default();
    }
}

/// Whether an ended turn is shown: it requests something, or the assistant said something in it. A
/// nod without a reply ("ok") requests nothing. "Later" does: it postpones work.
fn is_worth_keeping(turn: &Turn) -> bool {
    if !turn.last_words().is_empty() {
        return true;
    }
    let is_short = is_narrower(&turn.request, SHORT_REPLY);
    let is_nod = turn.is_passed_over() && is_short && !is_deferral(&turn.request);
    !turn.request.is_empty() && !is_nod
}

/// Shortens a request to what is kept of an earlier one.
pub(super) fn shorten_request(request: &str) -> String {
    if is_specification(request) {
        condense_request(request, EARLIER_REQUEST)
    } else {
        cut_middle(request, EARLIER_REQUEST)
    }
}
