//! The requests before the last two: which of them are listed, and how short.

use super::SummaryBuilder;
use super::answers::size_of_answer;
use super::budget::*;
use super::endings::describe_turn;
use super::fitting::{item_size, items_size, join_fitting};
use super::nods::is_nod;
use super::outcomes::Outcomes;
use super::purpose::Purpose;
use super::questions::is_question;
use super::quote::quote_line;
use super::referents::shares_word;
use super::sections::*;
use super::turns::Turn;
use super::values::replaces_value;
use std::cmp::Reverse;

impl SummaryBuilder {
    /// Lists the requests before those under Goal, each with how it ended, after the newest points
    /// of Done of a previous summary. All of them take about `room` UTF-16 units. If they do not
    /// fit, the heaviest requests are listed in their order, and others without their answers.
    ///
    /// `outcomes` are the replies that the decisions in `page` quote.
    pub(super) fn list_earlier_requests(
        &self,
        room: usize,
        page: &Sections,
        outcomes: &Outcomes,
    ) -> Vec<String> {
        let mut points = self.newest_points(Section::Done, room * 2 / 5);
        let listed_count = self.earlier_turns.len() - self.turns_under_goal().len();
        let turns = &self.earlier_turns[..listed_count];

        // A request takes a share, and its answer another: together, two thirds of the room of a
        // turn. The last third is for the longer answers of heavy turns.
        let room_of_turn = room / turns.len().max(1);
        let share = (room_of_turn / 3).clamp(OLDEST, NEWEST);
        let weights = self.weigh_turns(turns);
        let quoted = QuotedElsewhere {
            page,
            purpose: &self.purpose,
        };
        let mut series = describe_series(turns, &weights, share, &quoted);
        series.retain(|series| self.is_worth_listing(series.turn, outcomes, &quoted));

        let room_left = room.saturating_sub(items_size(&points) + LEFT_OUT_SIZE);
        let all_size: usize = series.iter().map(|series| item_size(&series.text)).sum();
        if all_size > room_left {
            let list_room = LEAST_LIST.max(room_left / 6);
            let omitted = retain_heaviest(&mut series, room_left.saturating_sub(list_room));
            points.push(list_without_answers(&omitted, &quoted, list_room));
        }
        points.extend(series.into_iter().map(|series| series.text));
        points
    }

    /// Whether a turn adds something to the rest of the summary, and is not out of date: nothing
    /// that it asked for or set was taken back or replaced later.
    fn is_worth_listing(&self, turn: &Turn, outcomes: &Outcomes, quoted: &QuotedElsewhere) -> bool {
        let is_unanswered = turn.is_passed_over() && !turn.is_replied_to();
        if is_unanswered && quoted.has_request(&turn.request) {
            return false;
        }
        let is_reply_quoted = outcomes.turn_numbers.contains(&turn.number);
        if is_reply_quoted || quoted.has_turn(turn) {
            return false;
        }
        !quoted.page.has_wish_taken_back(turn) && !self.is_value_replaced(turn)
    }

    /// Whether a later turn replaces the value that a turn set.
    fn is_value_replaced(&self, turn: &Turn) -> bool {
        let turns = self.earlier_turns.iter().chain([&self.turn]);
        let mut later_turns = turns.filter(|later| later.number > turn.number);
        later_turns.any(|later| replaces_value(later, turn))
    }
}

/// The number of units to leave for [`LEFT_OUT`]: some more than it takes.
const LEFT_OUT_SIZE: usize = 80;

/// The least number of units for the requests that are listed without answers.
const LEAST_LIST: usize = 200;

/// What other sections of the summary quote.
struct QuotedElsewhere<'p> {
    page: &'p Sections,
    purpose: &'p Purpose,
}

impl QuotedElsewhere<'_> {
    /// Whether a reader finds a request elsewhere: it is the purpose, or a wish or a decision
    /// quotes its start or a part of its first line.
    fn has_request(&self, request: &str) -> bool {
        if self.purpose.is_start_of(request) {
            return true;
        }
        let start = quoted_start(request);
        let first_line = quote_line(request.lines().next().unwrap_or_default(), POINT);
        let sections = [Section::Constraints, Section::Decisions];
        let mut items = sections
            .iter()
            .flat_map(|&section| self.page.items(section));
        items.any(|item| {
            // `The user chose: "use the table"` quotes what is between its quotation marks.
            let quoted_words = item.split('"').nth(1).unwrap_or_default();
            let quotes_first_line = !quoted_words.is_empty() && first_line.contains(quoted_words);
            quotes_first_line || item.contains(&start)
        })
    }

    /// Whether a decision quotes the whole answer of a turn, and a reader knows its request: it is
    /// the purpose or quoted in full, or the answer has a word of it.
    fn has_turn(&self, turn: &Turn) -> bool {
        let quotation = quote_line(&turn.request, POINT);
        let mut decisions = self.page.items(Section::Decisions).iter();
        let is_request_known = self.purpose.is_start_of(&turn.request)
            || decisions.any(|decision| decision.contains(&quotation))
            || shares_word(turn.last_words(), &turn.request);
        is_request_known && self.has_answer(turn)
    }

    /// Whether a decision quotes the whole answer of a turn: what it is about.
    fn has_answer(&self, turn: &Turn) -> bool {
        let quotation = quote_line(turn.last_words(), POINT);
        let answer = quotation.trim_matches('"');
        let mut decisions = self.page.items(Section::Decisions).iter();
        !answer.is_empty() && decisions.any(|decision| decision.contains(answer))
    }
}

/// Returns the first [`REMINDER`] units of a text as they are quoted.
fn quoted_start(text: &str) -> String {
    let quotation = quote_line(text, REMINDER);
    quotation.trim_matches(['"', '…']).to_owned()
}

/// A turn, or a series of turns that follow one another and are alike.
struct TurnSeries<'t> {
    /// The first.
    turn: &'t Turn,
    /// The weight of the first: 0 in a series, whose answers are alike, and if the answer is quoted
    /// elsewhere.
    weight: usize,
    /// Their description on one line.
    text: String,
}

/// A series of at least this many turns is described by its first and its last.
const SHORTEST_SERIES: usize = 4;

/// Describes turns, those that are alike but for numbers by the first and the last of a series. The
/// answers of the heaviest ones get [`NEWEST`], half of it, a third of it, and so on: at least
/// `share`, and [`FINDING`] if they have a weight. Requests get `share`, or [`REMINDER`] if they
/// are quoted elsewhere. Answers that a decision quotes are replaced by a pointer. The two turns of
/// a long series get [`OLDEST`].
fn describe_series<'t>(
    turns: &'t [Turn],
    weights: &[usize],
    share: usize,
    quoted: &QuotedElsewhere,
) -> Vec<TurnSeries<'t>> {
    let mut by_weight: Vec<usize> = (0..turns.len()).collect();
    by_weight.sort_by_key(|&index| Reverse((weights[index], index)));
    let mut answer_sizes = vec![share; turns.len()];
    for (rank, &index) in by_weight.iter().enumerate() {
        let least = if weights[index] > 0 { FINDING } else { OLDEST };
        let size = share.max(NEWEST / (rank + 1)).max(least);
        answer_sizes[index] = size_of_answer(turns[index].last_words(), size);
    }

    let mut all_series = Vec::new();
    let mut start = 0;
    for alike in turns.chunk_by(|one, other| one.series_key() == other.series_key()) {
        if let [first, .., last] = alike
            && alike.len() >= SHORTEST_SERIES
        {
            let first_text = describe_turn(first, OLDEST, OLDEST);
            let last_text = describe_turn(last, OLDEST, OLDEST);
            all_series.push(TurnSeries {
                turn: first,
                weight: weights[start],
                text: format!("{first_text} … {last_text} ({} alike)", alike.len()),
            });
        } else {
            for (turn, index) in alike.iter().zip(start..) {
                let is_request_quoted = quoted.has_request(&turn.request);
                let request_size = if is_request_quoted { REMINDER } else { share };
                let (text, weight) = if quoted.has_answer(turn) {
                    let request = turn.quote_request(request_size);
                    (format!("{request}: see Key Decisions"), 0)
                } else {
                    let text = describe_turn(turn, request_size, answer_sizes[index]);
                    (text, weights[index])
                };
                all_series.push(TurnSeries { turn, weight, text });
            }
        }
        start += alike.len();
    }
    all_series
}

/// Removes all but the heaviest series, which fit in `room` UTF-16 units. The order of `series`
/// does not change. Returns the first turn of each series that was removed, the heaviest first, so
/// that these can be listed without answers.
///
/// Of two series with the same weight, the newer counts as heavier. Series without a weight report
/// nothing new: they are removed even if there is room for them, and not returned.
fn retain_heaviest<'t>(series: &mut Vec<TurnSeries<'t>>, room: usize) -> Vec<&'t Turn> {
    let mut heaviest_first: Vec<usize> = (0..series.len()).collect();
    heaviest_first.sort_by_key(|&index| Reverse((series[index].weight, index)));

    let mut is_kept = vec![false; series.len()];
    let mut omitted = Vec::new();
    let mut room_left = room;
    for index in heaviest_first {
        if series[index].weight == 0 {
            // All after it have no weight, either.
            break;
        }
        let size = item_size(&series[index].text);
        // Once one does not fit, lighter ones are not taken in its place.
        if size <= room_left && omitted.is_empty() {
            is_kept[index] = true;
            room_left -= size;
        } else {
            omitted.push(series[index].turn);
        }
    }

    // `retain` visits the series in the order of their indexes.
    let mut index = 0;
    series.retain(|_| {
        let stays = is_kept[index];
        index += 1;
        stays
    });
    omitted
}

/// Lists the requests of turns in one line, in the order given, as far as they fit in `room`. Left
/// out are nods, questions, which were answered and ask for nothing more, and what is quoted
/// elsewhere.
fn list_without_answers(turns: &[&Turn], quoted: &QuotedElsewhere, room: usize) -> String {
    let mut requests = Vec::new();
    for turn in turns {
        let request = &turn.request;
        let is_worth = !is_nod(&turn.quote_request(OLDEST)) && !is_question(request);
        if is_worth && !quoted.has_request(request) {
            requests.push(turn.quote_request(REMINDER));
        }
    }
    join_fitting(WITHOUT_ANSWERS, &requests, room).unwrap_or(LEFT_OUT.to_owned())
}
