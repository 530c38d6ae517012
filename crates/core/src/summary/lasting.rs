//! Lasting words: what of a request still binds, or is decided, once the next one follows.

use super::SummaryBuilder;
use super::budget::{BRIEF_LINES, LONG_REQUEST, POINT, REFERENT, WORDS};
use super::choices::{CHOICES, CONSEQUENCES, find_choices, is_list_of_orders};
use super::deferrals::is_deferral;
use super::documents::is_document;
use super::languages::demands_language;
use super::prose::{prose_of_user, split_at_full_stops};
use super::questions::begins_as_answer;
use super::quote::{first_chars, is_narrower, quote_line};
use super::referents::{
    ReferentQuotes, follows_on, has_pointer, points_back, quote_referent, quote_referents,
};
use super::revisions::LaterMessage;
use super::rule_lists::{RuleList, find_rule_lists, may_list_rules};
use super::sections::{EARLIER_MARK, Section};
use super::turns::Turn;
use super::values::{may_set_value, sets_color};
use super::wishes::{binds_in_general, may_bind_expression, quote_binding_sentences};
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
            if may_set_value(message) || sets_color(message) {
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

    /// Drops the wishes that were for the moment ("do not edit yet"), once the current turn changed
    /// a file: the moment is over.
    pub(super) fn drop_expired_wishes(&mut self) {
        if self.tool_history.changes_files_in(self.turn.number) {
            self.points.drop_wishes_for_the_moment();
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

    /// Adds the wishes, the rules and the choices of one message of the current request.
    fn add_wishes_and_choices_in(&mut self, message: &str) {
        let rule_lists = self.find_rule_lists_to_keep(message);
        let mut prose = prose_beside_rules(message, &rule_lists);
        // "leave it, later" is listed as what was put off. Another sentence may bind all the same,
        // but its choices are quoted with what was put off.
        let is_put_off = is_deferral(message) && self.decisions.quotes(message);
        if is_put_off {
            let sentences = prose.iter().flat_map(|line| split_at_full_stops(line));
            prose = sentences
                .filter(|sentence| binds_beside_deferral(sentence))
                .collect();
        }

        let wishes = quote_binding_sentences(message, &prose);
        if !is_put_off {
            self.add_choices(message, &prose, &wishes);
        }
        for wish in &wishes {
            let later = LaterMessage::new(wish.trim_matches('"'));
            self.points
                .mark_wishes_taken_back(&later, self.earlier_turns.last(), &wishes);
        }

        // The rules and wishes are added last, so that no sentence of their own message takes them
        // back.
        for list in &rule_lists {
            self.points.add(Section::Constraints, list.describe());
        }
        for wish in wishes {
            self.add_wish(message, wish);
        }
    }

    /// Finds the lists of rules in a message that bind later work. A document has some only if it
    /// begins the session: a later one is most likely the prompt of a command, whose rules are for
    /// the moment.
    fn find_rule_lists_to_keep<'m>(&self, message: &'m str) -> Vec<RuleList<'m>> {
        let begins_session = self.turn.number == 1 && !self.is_continued;
        if is_document(message) && !begins_session {
            return Vec::new();
        }
        find_rule_lists(message)
    }

    /// Adds what the prose of a message chooses to the decisions. What is listed elsewhere is no
    /// decision as well: one of the `wishes` of the message, or what the purpose quotes.
    fn add_choices(&mut self, message: &str, prose: &[&str], wishes: &[String]) {
        let choices = self.find_choices_in(message, prose);
        let is_first = self.turn.number == 1;
        let turn_before = self.earlier_turns.last();
        for choice in choices {
            let is_wish = wishes.contains(&quote_line(&choice, POINT));
            let is_in_purpose = is_first && self.purpose.quotes(&choice);
            if is_wish || is_in_purpose {
                continue;
            }
            let referents = match turn_before {
                Some(turn) if follows_on(&choice) => quote_referents(turn, message),
                _ => ReferentQuotes::default(),
            };
            let choice = LaterMessage::new(&choice);
            self.decisions
                .add_choice(&choice, turn_before, referents, self.turn.number);
            self.points
                .mark_wishes_taken_back(&choice, turn_before, wishes);
        }
    }

    /// Finds what the prose of a message chooses. A list of orders that has a choice is one choice.
    fn find_choices_in(&self, message: &str, prose: &[&str]) -> Vec<String> {
        // A brief describes what is wanted, and chooses nothing.
        if message.lines().count() >= BRIEF_LINES {
            return Vec::new();
        }
        let reply_before = self.earlier_turns.last().map_or("", Turn::last_words);
        let open = format!("{reply_before}\n{}", self.decisions.refused_lately());
        let choices = find_choices(prose, &open);
        if choices.is_empty() || !is_list_of_orders(message) {
            return choices;
        }
        // One of several orders, alone, would say that the others are none.
        vec![message.to_owned()]
    }

    /// Adds a quoted wish of a message to the constraints, with what it is about. It replaces an
    /// equal one.
    fn add_wish(&mut self, message: &str, wish: String) {
        // The request of a previous summary has no number. Its wishes may be listed there already,
        // with a mark of what took them back, which must stay.
        let is_of_previous = self.turn.number == 0;
        if is_of_previous && self.points.lists_wish(&wish) {
            return;
        }
        self.points.remove_wish(&wish);
        // In quotation marks, a pointer such as "it" would be what is meant itself.
        let topic = self.describe_topic_of_wish(message, wish.trim_matches('"'));
        self.points
            .add(Section::Constraints, format!("{wish}{topic}"));
    }

    /// Describes in parentheses what a wish of a message is about, if its own words do not name it:
    /// ` (asked "Shall I print it?")` for the wish "yes but only in blue". Otherwise empty.
    fn describe_topic_of_wish(&self, message: &str, wish: &str) -> String {
        let needs_topic = || points_back(wish) || is_bare_answer(message, wish);
        // A message that was added during the work is about this work, and not about the reply
        // before.
        if let Some(first_message) = self.turn.message_before_addition(message) {
            if needs_topic() {
                return format!(" (on {})", quote_line(first_message, REFERENT));
            }
            return String::new();
        }

        let Some(turn_before) = self.earlier_turns.last() else {
            return String::new();
        };
        if let Some(question) = question_answered_by(turn_before, message, wish) {
            return format!(" (asked {question})");
        }
        if needs_topic() {
            return quote_referent(turn_before, message, REFERENT);
        }
        String::new()
    }
}

/// Returns the prose of the user in a message without the lines of its rule lists, which are listed
/// as a whole. The rules that such a list has no room for are returned with the prose: they are
/// listed one by one.
fn prose_beside_rules<'m>(message: &'m str, rule_lists: &[RuleList<'m>]) -> Vec<&'m str> {
    let mut prose = prose_of_user(message);
    for list in rule_lists {
        prose.retain(|line| !list.lines.contains(line));
        prose.extend(list.omitted_rules());
    }
    prose
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

/// Whether a sentence may bind later work, in a message that puts something off ("ach ne, lass
/// erstmal. später"). The sentence that puts it off does not, and neither does an answer that leads
/// over to it, unless that binds in general.
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
    // With the flag `m`, `^` and `$` match at each line, as in the searches of single lines.
    static WORDS: LazyLock<Regex> = LazyLock::new(|| {
        let wishes = may_bind_expression();
        compile_expression(&format!(
            "(?mR:{wishes}\n)|(?mR:{CHOICES}\n)|(?mR:{CONSEQUENCES}\n)"
        ))
    });
    WORDS.is_match(request) || demands_language(request)
}
