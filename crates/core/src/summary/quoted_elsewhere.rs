//! What other sections quote of earlier requests and their answers, so that the list of these
//! requests need not repeat it.

use super::budget::{POINT, REMINDER};
use super::purpose::Purpose;
use super::quote::quote_line;
use super::referents::shares_word;
use super::sections::{Section, Sections};
use super::turns::Turn;

/// What other sections of the summary quote.
pub(super) struct QuotedElsewhere<'p> {
    pub page: &'p Sections,
    pub purpose: &'p Purpose,
}

impl QuotedElsewhere<'_> {
    /// Whether a reader finds a request elsewhere: it is the purpose, or a wish or a decision
    /// quotes its start or a part of its first line.
    pub fn has_request(&self, request: &str) -> bool {
        if self.purpose.is_start_of(request) {
            return true;
        }
        let start = quoted_start(request);
        let first_line = quote_line(request.lines().next().unwrap_or_default(), POINT);
        for section in [Section::Constraints, Section::Decisions] {
            for item in self.page.items(section) {
                // `The user chose: "use the table"` quotes what is between its quotation marks.
                let quoted_words = item.split('"').nth(1).unwrap_or_default();
                let has_quotation = !quoted_words.is_empty();
                if item.contains(&start) || has_quotation && first_line.contains(quoted_words) {
                    return true;
                }
            }
        }
        false
    }

    /// Whether a decision quotes the whole answer of a turn, and a reader knows its request: it is
    /// the purpose or quoted in full, or the answer has a word of it.
    pub fn has_turn(&self, turn: &Turn) -> bool {
        let quotation = quote_line(&turn.request, POINT);
        let mut decisions = self.page.items(Section::Decisions).iter();
        let is_request_known = self.purpose.is_start_of(&turn.request)
            || decisions.any(|decision| decision.contains(&quotation))
            || shares_word(turn.last_words(), &turn.request);
        is_request_known && self.has_answer(turn)
    }

    /// Whether a decision quotes the whole answer of a turn: what it is about.
    pub fn has_answer(&self, turn: &Turn) -> bool {
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
