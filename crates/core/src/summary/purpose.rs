//! What a session is for: the request that it began with, carried through any number of summaries.

use super::SummaryBuilder;
use super::budget::{LONG_REQUEST, PURPOSE, REMINDER, SHORT_REQUEST, SPECIFICATION};
use super::condense::{condense_request, is_specification};
use super::host_text::without_description;
use super::one_line::{cut_line, one_line};
use super::prose::is_asking;
use super::quote::{comparison_form, count_utf16, is_narrower, quote_line};
use super::sections::{
    BEFORE_LEAD, EARLIER_GOAL_LEAD, EARLIER_MARK, FIRST_LONG_LEAD, LONG_REQUEST_LEAD, PURPOSE_LEAD,
    Sections,
};

/// What a session is for.
#[derive(Default)]
pub(super) struct Purpose {
    /// The beginning of the point that quotes it: where it is from.
    lead: &'static str,
    /// On one line; empty if it is not known.
    text: String,
}

impl Purpose {
    /// Takes over the purpose that a previous summary quotes, if there is one.
    pub fn take_over(&mut self, previous: &Sections) {
        for lead in [PURPOSE_LEAD, FIRST_LONG_LEAD, EARLIER_GOAL_LEAD] {
            if let Some(quotation) = previous.rests_with_lead(lead).next() {
                let text = quotation.trim_matches('"').to_owned();
                *self = Purpose { lead, text };
                return;
            }
        }
    }

    /// Keeps a request, if nothing is kept yet: the first of a session if it is more than some
    /// words and not only a look around, any other if it is long.
    pub fn keep_request(&mut self, request: &str, is_first: bool) {
        if !self.text.is_empty() {
            return;
        }
        let (lead, least_width) = if is_first {
            (PURPOSE_LEAD, SHORT_REQUEST)
        } else {
            (FIRST_LONG_LEAD, LONG_REQUEST)
        };
        let request = without_description(request);
        let is_look = only_asks(request) && is_narrower(request, LONG_REQUEST);
        if is_look || is_narrower(request, least_width) {
            return;
        }
        let text = quote_purpose(request);
        *self = Purpose { lead, text };
    }

    /// Moves the first of the goals in a previous summary here, unless a purpose is known. A
    /// summary that a model wrote names the goal of the session first. One that pisess wrote may
    /// begin with an earlier request, which is not moved.
    pub fn take_goal(&mut self, goals: &mut Vec<String>) {
        let Some(goal) = goals.first() else {
            return;
        };
        let goal = goal.trim_start_matches(EARLIER_MARK);
        if !self.text.is_empty() || goal.starts_with(BEFORE_LEAD) {
            return;
        }
        *self = Purpose {
            lead: EARLIER_GOAL_LEAD,
            text: cut_line(goal, PURPOSE),
        };
        goals.remove(0);
    }

    /// Returns the point that quotes it, if it is known.
    pub fn describe(&self) -> Option<String> {
        if self.text.is_empty() {
            return None;
        }
        Some(format!("{}\"{}\"", self.lead, self.text.replace('"', "'")))
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a request is the purpose, or begins with it: the user may have added to it.
    pub fn is_start_of(&self, request: &str) -> bool {
        // Of a condensed request, only the start is as it was.
        let start = comparison_form(self.text.split('…').next().unwrap_or_default());
        !start.is_empty() && comparison_form(&cut_line(request, SPECIFICATION)).starts_with(&start)
    }

    /// Whether the start of a sentence is quoted.
    pub fn quotes(&self, sentence: &str) -> bool {
        let start = one_line(sentence, REMINDER);
        self.text.contains(start.trim_end_matches('…'))
    }
}

/// The words with which a question begins that requests no work.
const ASKING_WORDS: [&str; 18] = [
    "what", "why", "how", "which", "who", "where", "when", "is", "are", "does", "was", "wie",
    "warum", "welche", "wer", "wo", "pourquoi", "comment",
];

/// Whether a request only asks what there is: "what do all the commands do?"
fn only_asks(request: &str) -> bool {
    let lower = request.to_lowercase();
    let first_word = lower.split(|c: char| !c.is_alphanumeric()).next();
    is_asking(request) && first_word.is_some_and(|word| ASKING_WORDS.contains(&word))
}

/// Returns a request as it is quoted as a purpose: on one line, with its orders and rules before
/// its prose if it specifies the work.
fn quote_purpose(request: &str) -> String {
    let max = room_for_purpose(request);
    cut_line(&condense_request(request, max), max)
}

/// Returns the number of UTF-16 units for a request as a purpose.
fn room_for_purpose(request: &str) -> usize {
    if is_specification(request) {
        SPECIFICATION
    } else {
        PURPOSE
    }
}

impl SummaryBuilder {
    /// Quotes what the session is for. If the current request is short ("and the rest"), also
    /// quotes the newest request that is not, to which it most likely goes back. Neither is quoted
    /// if it is the current request or the one before, which are quoted anyway.
    pub(super) fn quote_purposes(&self) -> Vec<String> {
        let quoted_anyway = self.requests_quoted_anyway();
        let mut purposes = Vec::new();
        if !self.is_purpose_quoted_anyway() {
            purposes.extend(self.purpose.describe());
        }
        if let Some(origin) = self.find_origin(&quoted_anyway)
            && !quoted_anyway.contains(&origin)
            && !self.purpose.is_start_of(origin)
        {
            let quotation = quote_line(&quote_purpose(origin), SPECIFICATION);
            purposes.push(format!("{LONG_REQUEST_LEAD}{quotation}"));
        }
        purposes
    }

    /// Returns the number of UTF-16 units by which the page may grow for a long purpose: one half
    /// of what it takes more than others. The other sections shrink by the other half.
    pub(super) fn room_of_long_purpose(&self) -> usize {
        if self.is_purpose_quoted_anyway() {
            return 0;
        }
        count_utf16(&self.purpose.text).saturating_sub(PURPOSE) / 2
    }

    /// Returns the requests that the Goal section quotes beside the purpose.
    fn requests_quoted_anyway(&self) -> Vec<&str> {
        let mut requests = vec![&*self.turn.request];
        for turn in self.turns_under_goal() {
            requests.push(&turn.request);
        }
        requests
    }

    fn is_purpose_quoted_anyway(&self) -> bool {
        self.requests_quoted_anyway()
            .iter()
            .any(|request| self.purpose.is_start_of(request))
    }

    /// Returns the request to which the current one goes back, if that is short: the newest earlier
    /// request that is not short. A question that is `quoted_anyway` is passed over, because it was
    /// asked in between.
    fn find_origin(&self, quoted_anyway: &[&str]) -> Option<&str> {
        if !is_narrower(&self.turn.request, SHORT_REQUEST) {
            return None;
        }
        for turn in self.earlier_turns.iter().rev() {
            let request = &*turn.request;
            let is_aside = is_asking(request) && quoted_anyway.contains(&request);
            if !is_narrower(request, SHORT_REQUEST) && !is_aside {
                return Some(request);
            }
        }
        None
    }
}
