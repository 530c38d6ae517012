//! Lasting words: what of a request still binds, or is decided, once the next one follows.

use super::SummaryBuilder;
use super::budget::{BRIEF_LINES, LONG_REQUEST, POINT, REFERENT, WORDS};
use super::choices::{CHOICES, CONSEQUENCES, find_choices};
use super::deferrals::is_deferral;
use super::documents::is_document;
use super::prose::{prose_of_user, split_at_full_stops};
use super::questions::begins_as_answer;
use super::quote::{first_chars, is_narrower, quote_line};
use super::referents::{follows_on, has_pointer, points_back, quote_referent, quote_referents};
use super::revisions::{Distance, LaterMessage, mark_with};
use super::rule_lists::{find_rule_lists, listed_rules, may_list_rules};
use super::sections::{EARLIER_MARK, Section, Sections};
use super::turns::Turn;
use super::values::may_set_value;
use super::wishes::{
    binds_in_general, demands_language, is_for_the_moment, may_bind_expression,
    quote_binding_sentences,
};
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

impl SummaryBuilder {
    /// Adds the sentences of the current request that remain binding to the constraints, and what
    /// it chooses to the decisions. Each message of the request is searched once: searched again,
    /// it would list anew a wish that a later message has taken back.
    pub(super) fn add_wishes_and_choices(&mut self) {
        let messages = std::mem::take(&mut self.turn.unsearched);
        for message in &messages {
            if may_set_value(message) {
                self.mark_replaced_values(message);
            }
            if may_wish_or_choose(message) || may_list_rules(message) {
                self.add_wishes_and_choices_in(message);
            }
        }
    }

    /// Adds the wishes in the goals of a previous summary that lists no constraints. A model quotes
    /// the user's messages there.
    pub(super) fn add_wishes_of_goals(&mut self) {
        if !self.points.items(Section::Constraints).is_empty() {
            return;
        }
        for goal in self.points.items(Section::Goal).to_vec() {
            // The mark that closes the quotation would become part of the wish.
            let message = goal.trim_end_matches('"');
            for wish in quote_binding_sentences(message, &prose_of_user(message)) {
                self.points
                    .add(Section::Constraints, format!("{EARLIER_MARK}{wish}"));
            }
        }
    }

    /// Drops the wishes of earlier turns that were for the moment, once the current turn changed a
    /// file: what had to wait goes on.
    pub(super) fn drop_expired_wishes(&mut self) {
        if self.tool_history.changes_files_in(self.turn.number) {
            let wishes = self.points.items_mut(Section::Constraints);
            wishes.retain(|item| !is_for_the_moment(wish_in_item(item)));
        }
    }

    /// Marks the decisions and wishes with a value that a message replaces, which need not be a
    /// decision or a wish by its own words: "the boss says 48".
    fn mark_replaced_values(&mut self, message: &str) {
        let reply = first_chars(self.turn.last_words(), WORDS);
        let later = LaterMessage::setting_value(message, reply);
        let turn_before = self.earlier_turns.last();
        self.decisions.mark_replaced_values(&later, turn_before);
        self.points
            .mark_wishes_taken_back(&later, turn_before, &[quote_line(message, POINT)]);
    }

    fn add_wishes_and_choices_in(&mut self, message: &str) {
        let mut prose = prose_of_user(message);
        let is_first = self.turn.number == 1;
        let mut rule_lists = Vec::new();
        // The prompt of a command is a document, too. Its rules are for the moment.
        if !is_document(message) || is_first && !self.is_continued {
            for list in find_rule_lists(message) {
                prose.retain(|line| !list.lines.contains(line));
                // A document has no other prose of the user in which these would be found.
                prose.extend(list.omitted_rules());
                rule_lists.push(list.describe());
            }
        }
        // "leave it, later" is listed as what was put off. Another sentence may bind all the same.
        let is_put_off = is_deferral(message) && self.decisions.quotes(message);
        if is_put_off {
            let sentences = prose.iter().flat_map(|line| split_at_full_stops(line));
            prose = sentences
                .filter(|sentence| binds_beside_deferral(sentence))
                .collect();
        }
        let wishes = quote_binding_sentences(message, &prose);
        let turn_before = self.earlier_turns.last();
        let is_in_purpose = |choice: &str| is_first && self.purpose.quotes(choice);
        let reply = turn_before.map_or("", Turn::last_words);
        let open = format!("{reply}\n{}", self.decisions.refused_lately());
        // A brief describes what is wanted, and chooses nothing.
        let choosing_prose = if message.lines().count() < BRIEF_LINES {
            &prose[..]
        } else {
            &[]
        };
        for choice in find_choices(choosing_prose, &open) {
            // What is a constraint, or is quoted as the purpose, or with what was put off, is no
            // decision as well.
            let is_wish = wishes.contains(&quote_line(&choice, POINT));
            if is_put_off || is_wish || is_in_purpose(&choice) {
                continue;
            }
            let referents = match turn_before {
                Some(turn) if follows_on(&choice) => quote_referents(turn, message),
                _ => Default::default(),
            };
            let choice = LaterMessage::new(&choice);
            self.decisions
                .add_choice(&choice, turn_before, referents, self.turn.number);
            self.points
                .mark_wishes_taken_back(&choice, turn_before, &wishes);
        }
        for wish in &wishes {
            let wish = LaterMessage::new(wish.trim_matches('"'));
            self.points
                .mark_wishes_taken_back(&wish, turn_before, &wishes);
        }

        // Only now, so that nothing in the same message takes them back.
        for list in rule_lists {
            self.points.add(Section::Constraints, list);
        }

        // The request of a previous summary has no number. Its wishes may be listed there already,
        // with a mark of what took them back.
        let is_of_previous = self.turn.number == 0;
        for mut wish in wishes {
            if is_of_previous && self.points.lists_wish(&wish) {
                continue;
            }
            self.points.remove_wish(&wish);
            // Without its quotation marks: a pointer in them would be what is meant itself.
            let words = wish.trim_matches('"').to_owned();
            if let Some(first_message) = self.turn.message_before_addition(message) {
                // It is about the work that it was added to, not about the reply before.
                if points_back(&words) || is_bare_answer(message, &words) {
                    wish.push_str(&format!(" (on {})", quote_line(first_message, REFERENT)));
                }
            } else if let Some(turn) = turn_before {
                if let Some(question) = question_answered_by(turn, message, &words) {
                    wish.push_str(&format!(" (asked {question})"));
                } else if points_back(&words) || is_bare_answer(message, &words) {
                    wish.push_str(&quote_referent(turn, message, REFERENT));
                }
            }
            self.points.add(Section::Constraints, wish);
        }
    }
}

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
            let take_back = |wish| part_taking_back(later, wish, turn_before, own_wishes);
            // The mark of a list quotes what was said, by which it is seen which rule is meant.
            let part = match listed_rules(item) {
                Some(mut rules) => rules.find_map(take_back),
                None => take_back(wish_in_item(item)),
            };
            if let Some(part) = part {
                let unmarked = without_later_mark(item);
                *item = format!("{unmarked}{}", mark_with(part));
            }
        }
    }

    /// Drops the short wishes that begin an answer which a decision quotes: there they come with
    /// the question, without which they say little. One that binds in general stays.
    pub(super) fn drop_wishes_in_decisions(&mut self) {
        let decisions = self.items(Section::Decisions).to_vec();
        self.items_mut(Section::Constraints).retain(|item| {
            let wish = wish_in_item(item);
            let is_of_before = item.starts_with(EARLIER_MARK);
            let is_answer = is_narrower(wish, LONG_REQUEST) && begins_answer(wish, &decisions);
            is_of_before || !is_answer || binds_in_general(wish)
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
    fn lists_wish(&self, wish: &str) -> bool {
        let mut items = self.items(Section::Constraints).iter();
        items.any(|item| wish_in_item(item) == wish_in_item(wish))
    }

    /// Removes a wish that is made anew: what took it back before holds no longer.
    fn remove_wish(&mut self, wish: &str) {
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
    let lower_wish = wish.to_lowercase();
    let is_own = own_wishes.iter().any(|own| wish_in_item(own) == wish);
    if is_own || !later.may_take_back(&lower_wish) {
        return None;
    }
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

/// Returns the wish of an item of the constraints: without the mark of an earlier summary, its
/// quotation marks, and what it refers to or what takes it back, which follow the quotation.
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

/// Quotes the question at the end of a turn, if a message with a wish answers it, and the wish is
/// short and begins the message: alone, it says nothing. "yes but only for photos"
fn question_answered_by(turn: &Turn, message: &str, wish: &str) -> Option<String> {
    if !message.starts_with(wish) || !is_narrower(wish, LONG_REQUEST) {
        return None;
    }
    let proposal = turn.proposal_before_answer()?;
    let is_answer = proposal.asks() && proposal.is_answered_by(message);
    is_answer.then(|| quote_line(proposal.sentence(), REFERENT))
}

/// Whether a sentence of a message that puts something off is neither that nor its start: "ach ne,
/// lass erstmal. später".
fn binds_beside_deferral(sentence: &str) -> bool {
    let begins_deferral = begins_as_answer(sentence) && !binds_in_general(sentence);
    !is_deferral(sentence) && !begins_deferral
}

/// Whether a wish is the start of a short message that begins as an answer, and does not name what
/// it is about: "yes known, sanne is on it. dont touch", "ach ne, erstmal nicht".
fn is_bare_answer(message: &str, wish: &str) -> bool {
    let is_short = message.starts_with(wish) && is_narrower(wish, LONG_REQUEST);
    is_short && begins_as_answer(wish) && (has_pointer(wish) || is_deferral(wish))
}

/// Whether a line of a request has a word of a wish or a choice. Most requests have none. This test
/// is one search in the whole text; without it, the prose of each request would be found line by
/// line, and each line searched for wishes and for choices.
pub(super) fn may_wish_or_choose(request: &str) -> bool {
    // The anchors match at each line, as they do in the searches of single lines.
    static WORDS: LazyLock<Regex> = LazyLock::new(|| {
        let wishes = may_bind_expression();
        compile_expression(&format!(
            "(?mR:{wishes}\n)|(?mR:{CHOICES}\n)|(?mR:{CONSEQUENCES}\n)"
        ))
    });
    WORDS.is_match(request) || demands_language(request)
}
