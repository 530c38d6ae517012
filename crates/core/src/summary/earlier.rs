//! The requests before the last two: which of them are listed, and how short.

use super::SummaryBuilder;
use super::answers::size_of_answer;
use super::budget::*;
use super::endings::describe_turn;
use super::fitting::{item_size, items_size, join_fitting};
use super::nods::is_nod;
use super::outcomes::Outcomes;
use super::questions::is_question;
use super::quote::{count_utf16, is_narrower};
use super::quoted_elsewhere::QuotedElsewhere;
use super::request_lengths::longest_request;
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
        let room_left = room.saturating_sub(items_size(&points) + LEFT_OUT_SIZE);

        let turns = self.listed_turns();
        let quoted = QuotedElsewhere {
            page,
            purpose: &self.purpose,
        };
        let mut weighed = Vec::with_capacity(turns.len());
        for (turn, weight) in turns.iter().zip(self.weigh_turns(turns)) {
            weighed.push(WeighedTurn {
                turn,
                weight,
                is_answer_valid: !self.is_reply_corrected(turn),
            });
        }

        // The rest is for answers and for the ends of turns.
        let request_max = longest_request(turns, room_left * 2 / 3);
        let mut series = group_alike(&weighed, request_max, &quoted);
        series.retain(|series| self.is_worth_listing(series.first, outcomes, &quoted));

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
        if turn.last_words().is_empty() && is_nod(&turn.quote_request(OLDEST)) {
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

/// A series of at least this many turns is described by its first and its last.
const SHORTEST_SERIES: usize = 4;

/// A turn that may be listed.
struct WeighedTurn<'t> {
    turn: &'t Turn,
    weight: usize,
    /// Whether the user did not correct the answer.
    is_answer_valid: bool,
}

/// A turn, or several turns that follow one another and are alike.
struct TurnSeries<'t> {
    first: &'t Turn,
    /// The weight of the first.
    weight: usize,
    /// The number of units to which the request of the first is cut.
    request_max: usize,
    /// Its description on one line. At first, it has an answer only if the request says nothing
    /// without it.
    text: String,
    /// Whether more of the answer may be quoted: it is valid, and not quoted elsewhere.
    may_quote_answer: bool,
}

/// Groups turns that follow one another and are alike but for numbers, if they are many, and
/// describes each group on one line. A request takes at most `request_max` units.
fn group_alike<'t>(
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
            first: first.turn,
            weight: first.weight,
            request_max: OLDEST,
            text: format!("{first_text} … {last_text} ({turn_count} alike)"),
            may_quote_answer: false,
        }
    }

    /// Describes a single turn. At first, it has an answer only if its request says nothing without
    /// one, and if the user did not correct the answer; [`add_answers`] may add more. A short
    /// request that is quoted elsewhere is cut to a reminder. If a decision quotes the answer, a
    /// pointer takes its place, and the turn weighs nothing, so that it is the first to be left
    /// out.
    fn of_one(
        weighed: &WeighedTurn<'t>,
        request_max: usize,
        quoted: &QuotedElsewhere,
    ) -> TurnSeries<'t> {
        let turn = weighed.turn;
        // Of a long request, only a part is quoted elsewhere.
        let is_short = count_utf16(&turn.request) <= POINT;
        let request_max = if is_short && quoted.has_request(&turn.request) {
            REMINDER
        } else {
            request_max
        };
        if quoted.has_answer(turn) {
            let request = turn.quote_request(request_max);
            return TurnSeries {
                first: turn,
                weight: 0,
                request_max,
                text: format!("{request}: see Key Decisions"),
                may_quote_answer: false,
            };
        }
        let answer_max = if weighed.is_answer_valid && needs_answer(turn) {
            FINDING
        } else {
            0
        };
        TurnSeries {
            first: turn,
            weight: weighed.weight,
            request_max,
            text: describe_turn(turn, request_max, answer_max),
            may_quote_answer: weighed.is_answer_valid,
        }
    }
}

/// Whether a request says nothing without its answer: it is a question, a nod ("go on"), or only a
/// few letters long.
fn needs_answer(turn: &Turn) -> bool {
    let request = &turn.request;
    is_question(request) || is_narrower(request, SHORT_REPLY) || is_nod(&turn.quote_request(OLDEST))
}

/// Lists all series in about `room` UTF-16 units, in their order. If their texts, few of which have
/// an answer yet, do not fit, only the heaviest are listed, up to the first that does not fit. A
/// line before them has the starts of some of the other requests, the heaviest first, or says that
/// requests are left out. Room that is left goes to answers.
fn list_series(
    mut all_series: Vec<TurnSeries<'_>>,
    room: usize,
    quoted: &QuotedElsewhere,
) -> Vec<String> {
    let mut points = Vec::new();
    let mut room_left = room;
    let size_so_far: usize = all_series
        .iter()
        .map(|series| item_size(&series.text))
        .sum();
    if size_so_far > room {
        // A sixth of the room is for the starts of the requests that are left out.
        let omitted_room = LEAST_LIST.max(room / 6);
        room_left = room.saturating_sub(omitted_room);
        let omitted = remove_lightest(&mut all_series, room_left);
        points.push(list_without_answers(&omitted, quoted, omitted_room));
    }
    add_answers(&mut all_series, room_left);
    for series in all_series {
        points.push(series.text);
    }
    points
}

/// Returns the indexes of series, the heaviest first and, of equals, the newest.
fn heaviest_first(all_series: &[TurnSeries]) -> Vec<usize> {
    let mut indexes: Vec<usize> = (0..all_series.len()).collect();
    indexes.sort_by_key(|&index| Reverse((all_series[index].weight, index)));
    indexes
}

/// Removes the lightest series until the others fit in `room` UTF-16 units. Returns the first turn
/// of each, the heaviest first.
fn remove_lightest<'t>(all_series: &mut Vec<TurnSeries<'t>>, room: usize) -> Vec<&'t Turn> {
    let mut is_listed = vec![false; all_series.len()];
    let mut omitted = Vec::new();
    let mut room_left = room;
    for index in heaviest_first(all_series) {
        let series = &all_series[index];
        let size = item_size(&series.text);
        // Once one does not fit, lighter ones are not taken in its place.
        if size <= room_left && omitted.is_empty() {
            is_listed[index] = true;
            room_left -= size;
        } else {
            omitted.push(series.first);
        }
    }
    let mut is_listed = is_listed.into_iter();
    all_series.retain(|_| is_listed.next() == Some(true));
    omitted
}

/// Lengthens the answers of series that may quote one, the heaviest first, until one does not fit:
/// `room` UTF-16 units are for all texts. The heaviest series may quote [`NEWEST`] units, the
/// second half of it, all others [`FINDING`]. An answer with a table of values may take more.
fn add_answers(all_series: &mut [TurnSeries<'_>], room: usize) {
    let size_so_far: usize = all_series
        .iter()
        .map(|series| item_size(&series.text))
        .sum();
    let mut room_left = room.saturating_sub(size_so_far);
    for (rank, index) in heaviest_first(all_series).into_iter().enumerate() {
        let series = &mut all_series[index];
        if !series.may_quote_answer {
            continue;
        }
        let usual_max = match rank {
            0 => NEWEST,
            1 => NEWEST / 2,
            _ => FINDING,
        };
        let answer_max = size_of_answer(series.first.last_words(), usual_max);
        let text = describe_turn(series.first, series.request_max, answer_max);
        let growth = item_size(&text).saturating_sub(item_size(&series.text));
        // Once one does not fit, lighter ones are not taken in its place.
        if growth > room_left {
            break;
        }
        room_left -= growth;
        series.text = text;
    }
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
