//! The requests before the last two: which of them are listed, and how short.

use super::SummaryBuilder;
use super::answers::size_of_answer;
use super::budget::*;
use super::endings::describe_turn;
use super::fitting::{item_size, items_size, join_fitting};
use super::nods::is_nod;
use super::outcomes::Outcomes;
use super::questions::is_question;
use super::quoted_elsewhere::QuotedElsewhere;
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
        // The points of a previous summary get two fifths of the room, if they need so much.
        let mut points = self.newest_points(Section::Done, room * 2 / 5);
        let listed_count = self.earlier_turns.len() - self.turns_under_goal().len();
        let turns = &self.earlier_turns[..listed_count];

        // A request and its answer take a share each: together, two thirds of the room of a turn.
        // The last third is for the longer answers of heavy turns.
        let room_of_turn = room / turns.len().max(1);
        let share = (room_of_turn / 3).clamp(OLDEST, LONGEST_ANSWER);
        let weights = self.weigh_turns(turns);
        let quoted = QuotedElsewhere {
            page,
            purpose: &self.purpose,
        };
        let weighed = allot_answer_room(turns, &weights, share);
        let mut series = describe_series(&weighed, share, &quoted);
        series.retain(|series| self.is_worth_listing(series.turn, outcomes, &quoted));

        let room_left = room.saturating_sub(items_size(&points) + LEFT_OUT_SIZE);
        points.extend(list_series(series, room_left, &quoted));
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

/// A turn that may be listed.
struct WeighedTurn<'t> {
    turn: &'t Turn,
    weight: usize,
    /// The number of units for its answer.
    answer_max: usize,
}

/// Allots room to the answers of turns, by the weight of each turn: [`NEWEST`] units for the answer
/// of the heaviest, half of it for the next, then a third of it, and so on. Each gets at least
/// `share`, and [`FINDING`] if its turn has a weight.
fn allot_answer_room<'t>(
    turns: &'t [Turn],
    weights: &[usize],
    share: usize,
) -> Vec<WeighedTurn<'t>> {
    let mut weighed = Vec::with_capacity(turns.len());
    for (turn, &weight) in turns.iter().zip(weights) {
        weighed.push(WeighedTurn {
            turn,
            weight,
            answer_max: share,
        });
    }

    // Of equally heavy turns, the newer comes first.
    let mut heaviest_first: Vec<usize> = (0..turns.len()).collect();
    heaviest_first.sort_by_key(|&index| Reverse((weights[index], index)));
    for (rank, index) in heaviest_first.into_iter().enumerate() {
        let weighed_turn = &mut weighed[index];
        let has_weight = weighed_turn.weight > 0;
        let least = if has_weight { FINDING } else { OLDEST };
        let size = share.max(NEWEST / (rank + 1)).max(least);
        weighed_turn.answer_max = size_of_answer(weighed_turn.turn.last_words(), size);
    }
    weighed
}

/// A turn, or a series of turns that follow one another and are alike.
struct TurnSeries<'t> {
    /// The first.
    turn: &'t Turn,
    /// The weight of the first; 0 if its answer is quoted elsewhere.
    weight: usize,
    /// Their description on one line.
    text: String,
}

/// A series of at least this many turns is described by its first and its last.
const SHORTEST_SERIES: usize = 4;

/// Describes turns on one line each, and a long series of turns that are alike but for numbers on
/// one line for all. A request takes at most `request_max` units.
fn describe_series<'t>(
    turns: &[WeighedTurn<'t>],
    request_max: usize,
    quoted: &QuotedElsewhere,
) -> Vec<TurnSeries<'t>> {
    let mut all_series = Vec::new();
    for alike in turns.chunk_by(|one, other| one.turn.series_key() == other.turn.series_key()) {
        if let [first, .., last] = alike
            && alike.len() >= SHORTEST_SERIES
        {
            all_series.push(TurnSeries::of_alike(first, last, alike.len()));
            continue;
        }
        for turn in alike {
            all_series.push(TurnSeries::of_one(turn, request_max, quoted));
        }
    }
    all_series
}

impl<'t> TurnSeries<'t> {
    /// Describes a long series by its first and its last turn.
    fn of_alike(
        first: &WeighedTurn<'t>,
        last: &WeighedTurn<'t>,
        turn_count: usize,
    ) -> TurnSeries<'t> {
        let first_text = describe_turn(first.turn, OLDEST, OLDEST);
        let last_text = describe_turn(last.turn, OLDEST, OLDEST);
        TurnSeries {
            turn: first.turn,
            weight: first.weight,
            text: format!("{first_text} … {last_text} ({turn_count} alike)"),
        }
    }

    /// Describes a single turn. Of what is quoted elsewhere, the request is only a reminder, and
    /// the answer a pointer.
    fn of_one(
        weighed: &WeighedTurn<'t>,
        request_max: usize,
        quoted: &QuotedElsewhere,
    ) -> TurnSeries<'t> {
        let turn = weighed.turn;
        let request_max = if quoted.has_request(&turn.request) {
            REMINDER
        } else {
            request_max
        };
        if quoted.has_answer(turn) {
            let request = turn.quote_request(request_max);
            return TurnSeries {
                turn,
                weight: 0,
                text: format!("{request}: see Key Decisions"),
            };
        }
        TurnSeries {
            turn,
            weight: weighed.weight,
            text: describe_turn(turn, request_max, weighed.answer_max),
        }
    }
}

/// The series that are listed, and the turns of the others.
struct ChosenSeries<'t> {
    /// The listed series, in their order.
    listed: Vec<TurnSeries<'t>>,
    /// The first turn of each series that there was no room for, the heaviest first.
    omitted: Vec<&'t Turn>,
}

/// Chooses the heaviest series, as many as fit in `room` UTF-16 units. Of two series with the same
/// weight, the newer counts as heavier. Series without a weight report nothing new: they are
/// neither listed, even if there is room, nor among the omitted.
fn choose_heaviest(all_series: Vec<TurnSeries<'_>>, room: usize) -> ChosenSeries<'_> {
    let mut heaviest_first: Vec<usize> = (0..all_series.len()).collect();
    heaviest_first.sort_by_key(|&index| Reverse((all_series[index].weight, index)));

    let mut is_listed = vec![false; all_series.len()];
    let mut omitted = Vec::new();
    let mut room_left = room;
    for index in heaviest_first {
        let series = &all_series[index];
        if series.weight == 0 {
            // All after it have no weight, either.
            break;
        }
        let size = item_size(&series.text);
        // Once one does not fit, lighter ones are not taken in its place.
        if size <= room_left && omitted.is_empty() {
            is_listed[index] = true;
            room_left -= size;
        } else {
            omitted.push(series.turn);
        }
    }

    let mut listed = Vec::new();
    for (index, series) in all_series.into_iter().enumerate() {
        if is_listed[index] {
            listed.push(series);
        }
    }
    ChosenSeries { listed, omitted }
}

/// Lists the texts of all series. If they take more than `room` UTF-16 units, the heaviest series
/// are listed, below a line with the requests of the others.
fn list_series(
    all_series: Vec<TurnSeries<'_>>,
    room: usize,
    quoted: &QuotedElsewhere,
) -> Vec<String> {
    let mut points = Vec::new();
    let mut listed = all_series;
    let size_of_all: usize = listed.iter().map(|series| item_size(&series.text)).sum();
    if size_of_all > room {
        // A sixth of the room is for the requests without answers.
        let omitted_room = LEAST_LIST.max(room / 6);
        let chosen = choose_heaviest(listed, room.saturating_sub(omitted_room));
        points.push(list_without_answers(&chosen.omitted, quoted, omitted_room));
        listed = chosen.listed;
    }
    for series in listed {
        points.push(series.text);
    }
    points
}

/// Lists the requests of turns in one line, in the order given, as far as they fit in `room`. Left
/// out are nods, questions, which were answered and ask for nothing more, and what is quoted
/// elsewhere.
fn list_without_answers(turns: &[&Turn], quoted: &QuotedElsewhere, room: usize) -> String {
    let mut requests = Vec::new();
    for turn in turns {
        let request = &turn.request;
        let asks_for_nothing_more = is_nod(&turn.quote_request(OLDEST)) || is_question(request);
        if !asks_for_nothing_more && !quoted.has_request(request) {
            requests.push(turn.quote_request(REMINDER));
        }
    }
    join_fitting(WITHOUT_ANSWERS, &requests, room).unwrap_or(LEFT_OUT.to_owned())
}
