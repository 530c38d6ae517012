//! Decides from the raw bytes which lines may contain something to remove. A skipped line never
//! does.
//!
//! Each rule has needles: literals, at least one of which is in every secret that the rule finds
//! (`needles.rs`). One automaton searches for the needles of all rules at once. If a needle is an
//! ordinary word, the bytes after it decide whether it counts (`continuation.rs`). The needles in a
//! line determine the searches to run on the line: see [`SearchSet`].

mod continuation;
mod needles;
mod search_set;

use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, dfa};
use continuation::Continuation;
use needles::{NeededSearches, Needle, build_hiding_needles, build_rule_needles};
pub use search_set::SearchSet;
use std::array::from_fn;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

/// An occurrence of a needle in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedleHit {
    /// The offset of the last byte of the needle's literal.
    pub last_byte: usize,
    /// The searches that the line needs because of the needle.
    pub searches: SearchSet,
}

impl NeedleHit {
    /// Whether this hit calls for the same searches as the hit before it, in the same string of the
    /// same line. Then only one of the two is needed. A text of secrets has tens of thousands.
    ///
    /// The two are in the same string if no quote is between them. An escaped quote counts, too.
    pub fn is_repeated(&self, before: &NeedleHit, lines: &[u8]) -> bool {
        let between = &lines[before.last_byte..=self.last_byte];
        self.searches == before.searches && memchr::memchr2(b'"', b'\n', between).is_none()
    }
}

/// A search for needles, at least one of which is in every line with something to remove.
#[derive(Debug)]
pub struct NeedlePrefilter {
    automaton: NeedleAutomaton,
    /// By the number of a pattern in the automaton: the searches that the needles with this literal
    /// need.
    needed_by_pattern: Vec<Vec<NeededSearches>>,
    /// The length of the longest needle, in bytes.
    longest_needle: usize,
}

/// The automaton. A DFA has a table for each state, which takes some megabytes in all. An NFA has
/// lists, and takes three times as long.
#[derive(Debug)]
enum NeedleAutomaton {
    Dfa(dfa::DFA),
    Nfa(NFA),
}

/// From this number of needles on, the tables of a DFA are too large.
const MOST_DFA_NEEDLES: usize = 2000;

impl NeedlePrefilter {
    /// Returns the prefilter for all rules, opaque content and encodings.
    pub fn for_rules() -> &'static NeedlePrefilter {
        static NEEDLES: LazyLock<NeedlePrefilter> =
            LazyLock::new(|| NeedlePrefilter::from_needles(build_rule_needles()));
        &NEEDLES
    }

    /// Returns a prefilter for these literals, and for the encodings that can hide them.
    pub fn new<'a>(literals: impl Iterator<Item = (&'a [u8], SearchSet)>) -> NeedlePrefilter {
        let mut needles = Vec::new();
        for (literal, searches) in literals {
            needles.push(Needle::new(literal, searches, Continuation::Anything));
        }
        needles.append(&mut build_hiding_needles());
        NeedlePrefilter::from_needles(needles)
    }

    /// Builds the automaton that searches for the literals of all needles at once. Needles with the
    /// same literal share one pattern of the automaton, so that it reports them only once.
    fn from_needles(needles: Vec<Needle>) -> NeedlePrefilter {
        let mut needed_by_literal: BTreeMap<Vec<u8>, Vec<NeededSearches>> = BTreeMap::new();
        for Needle { literal, needed } in needles {
            needed_by_literal.entry(literal).or_default().push(needed);
        }

        // The automaton numbers its patterns in the order of the literals that it is given.
        let mut literals = Vec::new();
        let mut needed_by_pattern = Vec::new();
        for (literal, needed) in needed_by_literal {
            literals.push(literal);
            needed_by_pattern.push(needed);
        }
        let longest_needle = literals.iter().map(Vec::len).max().unwrap_or(0);

        // `step_through_parts` steps the automaton byte by byte, so its own prefilter would never
        // be used. A DFA is faster than an NFA, but its tables are too large for many literals.
        let automaton = if literals.len() < MOST_DFA_NEEDLES {
            let table = dfa::Builder::new().prefilter(false).build(literals);
            NeedleAutomaton::Dfa(table.expect("values of a file fit"))
        } else {
            let lists = NFA::builder().prefilter(false).build(literals);
            NeedleAutomaton::Nfa(lists.expect("values of a file fit"))
        };
        NeedlePrefilter {
            automaton,
            needed_by_pattern,
            longest_needle,
        }
    }

    /// Returns the searches that a text needs because of the needles in it.
    ///
    /// A long text is divided into [`LANES`] parts that are searched at the same time. Each part
    /// begins before the end of the previous one, so that no needle is cut in half. A needle in
    /// the overlap is found twice, which adds nothing to the set.
    pub fn needed_searches(&self, text: &[u8]) -> SearchSet {
        let mut all = SearchSet::default();
        let mut add_searches = |_lane, hit: NeedleHit| all |= hit.searches;

        let overlap = self.longest_needle.saturating_sub(1);
        // Then the overlap is more than half of each part, and to divide the text saves nothing.
        let is_mostly_overlap = text.len() < 2 * LANES * overlap;
        if text.len() < LEAST_DIVIDED || is_mostly_overlap {
            let whole = 0..text.len();
            self.each_needle(text, [whole], &mut add_searches);
            return all;
        }

        let share = text.len().div_ceil(LANES);
        let parts: [_; LANES] = from_fn(|lane| {
            let start = (share * lane).saturating_sub(overlap);
            let end = (share * (lane + 1)).min(text.len());
            start..end
        });
        self.each_needle(text, parts, &mut add_searches);
        all
    }

    /// Returns the counting needles in one or more lines, in the order of their last bytes. Offsets
    /// are those in `bytes`.
    ///
    /// The lines are divided into `LANES` parts that are searched at the same time, which is
    /// faster: see `step_through_parts`. Each part ends with a line, so a needle with a newline
    /// might be missed, but no needle has one: in JSON, a line break is an escape.
    pub fn find_in_lines(&self, bytes: &[u8]) -> Vec<NeedleHit> {
        let bounds = lane_bounds(bytes);
        let parts: [_; LANES] = from_fn(|lane| bounds[lane]..bounds[lane + 1]);
        let mut hits_by_lane: [Vec<NeedleHit>; LANES] = from_fn(|_| Vec::new());
        self.each_needle(bytes, parts, &mut |lane, hit| hits_by_lane[lane].push(hit));
        // The lanes are consecutive, and the hits of each are in order.
        hits_by_lane.into_iter().flatten().collect()
    }

    /// Calls `visit` with each needle that counts in `parts` of a text, and with the index of its
    /// part. The hits of one part are in order, but hits of different parts are mixed. The bytes
    /// after a needle, which decide whether it counts, may be beyond its part.
    fn each_needle<const N: usize>(
        &self,
        text: &[u8],
        parts: [Range<usize>; N],
        visit: &mut dyn FnMut(usize, NeedleHit),
    ) {
        match &self.automaton {
            NeedleAutomaton::Dfa(automaton) => {
                self.step_through_parts(automaton, text, parts, visit);
            }
            NeedleAutomaton::Nfa(automaton) => {
                self.step_through_parts(automaton, text, parts, visit);
            }
        }
    }

    /// Runs the automaton on each of the parts, and calls `visit` as [`Self::each_needle`] does.
    ///
    /// Steps through all parts at the same time up to the length of the shortest part, and then
    /// through the rest of each. This is faster than one part after another: a step waits for
    /// memory, but not for the steps in other parts.
    fn step_through_parts<const N: usize>(
        &self,
        automaton: &impl Automaton,
        text: &[u8],
        parts: [Range<usize>; N],
        visit: &mut dyn FnMut(usize, NeedleHit),
    ) {
        // Only an automaton that was built for anchored searches alone has no such state. A panic
        // is better than to find nothing, which would leave secrets in the file.
        let start = automaton
            .start_state(Anchored::No)
            .expect("the automaton is built for searches anywhere");
        let mut states = [start; N];

        // Slices of the same length, so that the bounds are checked before the loop.
        let shortest_len = parts.iter().map(Range::len).min().unwrap_or(0);
        let beginnings = parts
            .each_ref()
            .map(|part| &text[part.start..part.start + shortest_len]);
        for offset in 0..shortest_len {
            for (lane, bytes) in beginnings.iter().enumerate() {
                states[lane] = automaton.next_state(Anchored::No, states[lane], bytes[offset]);
                let last_byte = parts[lane].start + offset;
                if automaton.is_match(states[lane])
                    && let Some(hit) = self.needle_at(automaton, states[lane], text, last_byte)
                {
                    visit(lane, hit);
                }
            }
        }

        for (lane, &state) in states.iter().enumerate() {
            let rest = parts[lane].start + shortest_len..parts[lane].end;
            self.step_through_rest(automaton, state, text, rest, &mut |hit| visit(lane, hit));
        }
    }

    /// Runs the automaton on the rest of a part, which is longer than others. `start_state` is the
    /// state after the bytes before it.
    fn step_through_rest(
        &self,
        automaton: &impl Automaton,
        start_state: StateID,
        text: &[u8],
        rest: Range<usize>,
        visit: &mut dyn FnMut(NeedleHit),
    ) {
        let mut state = start_state;
        for (offset, &byte) in text[rest.clone()].iter().enumerate() {
            state = automaton.next_state(Anchored::No, state, byte);
            if automaton.is_match(state)
                && let Some(hit) = self.needle_at(automaton, state, text, rest.start + offset)
            {
                visit(hit);
            }
        }
    }

    /// Returns the searches that a line needs because of the needles ending at `last_byte`; `None`
    /// if none of them counts, judged by the bytes after it. `state` is the state of the automaton
    /// after this byte, in which it reports a match.
    ///
    /// Not inlined, because the function would use the registers that the calling loop needs: the
    /// loop would take a third longer.
    #[inline(never)]
    fn needle_at(
        &self,
        automaton: &impl Automaton,
        state: StateID,
        text: &[u8],
        last_byte: usize,
    ) -> Option<NeedleHit> {
        let mut searches = SearchSet::default();
        // Several patterns end at the same byte if one is a suffix of another.
        for index in 0..automaton.match_len(state) {
            let pattern = automaton.match_pattern(state, index);
            for needed in &self.needed_by_pattern[pattern.as_usize()] {
                if needed.are_called_for(text, last_byte) {
                    searches |= needed.searches;
                }
            }
        }
        if searches.is_empty() {
            return None;
        }
        Some(NeedleHit {
            last_byte,
            searches,
        })
    }
}

/// The number of parts of a text that are searched at the same time.
const LANES: usize = 4;

/// A text of fewer bytes is searched as a whole, because dividing it would save no time.
const LEAST_DIVIDED: usize = 256;

/// Divides lines into [`LANES`] consecutive parts of about the same length, without dividing a
/// line. Returns the start of each part, and the end of the last one.
///
/// A line that is longer than a part leaves the next parts empty.
fn lane_bounds(bytes: &[u8]) -> [usize; LANES + 1] {
    let mut bounds = [0; LANES + 1];
    let [_first_start, inner_bounds @ .., last_end] = &mut bounds;
    *last_end = bytes.len();

    let share = bytes.len() / LANES;
    let mut equal_bound = 0;
    for bound in inner_bounds {
        equal_bound += share;
        // The next line begins the next part.
        *bound = match memchr::memchr(b'\n', &bytes[equal_bound..]) {
            Some(distance) => equal_bound + distance + 1,
            None => bytes.len(),
        };
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    #[test]
    fn needles_are_reported_in_order() {
        let needles = [
            (&b"zq"[..], SearchSet::PEOPLE),
            (b"abcabcabd", SearchSet::VALUES),
        ];
        let text = b"zq\nnothing\nabcabcabcabd zq zq\n\n\\u0061";
        let found = NeedlePrefilter::new(needles.into_iter()).find_in_lines(text);
        let found: Vec<_> = found
            .into_iter()
            .map(|found| (found.last_byte, found.searches))
            .collect();
        let people = |at| (at, SearchSet::PEOPLE);
        let expected = [
            people(1),
            (22, SearchSet::VALUES),
            people(25),
            people(28),
            (34, SearchSet::ESCAPES),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_keyword_in_base64_counts_if_it_is_in_text() {
        let calls_for_base64 = |text: &str| {
            let searches = NeedlePrefilter::for_rules().needed_searches(text.as_bytes());
            searches.intersects(SearchSet::BASE64)
        };
        for before in ["", "a", "ab", "# settings of the service\n"] {
            for setting in [
                "ACME_TOKEN=x9Qd81LmP2",
                "password: x9Qd81LmP2",
                "DATABASE_URL=postgres://app:x9Qd81LmP2@db/main",
                "Authorization: Bearer x9Qd81LmP2x9Qd81LmP2",
            ] {
                let file = format!("{before}{setting}\nREGION=eu-north-1\n");
                let digits = STANDARD.encode(file);
                assert!(calls_for_base64(&digits), "{setting}");
            }
            let file = format!("{before}the token and the key of a session\n");
            assert!(!calls_for_base64(&STANDARD.encode(file)));
        }
        // The digits of `key` are in these words by chance.
        assert!(!calls_for_base64("a/little/bottles/settlementOfTheBattles"));
    }

    #[test]
    fn a_needle_is_found_wherever_a_text_is_divided() {
        let needles = NeedlePrefilter::new([(&b"zq\nzq"[..], SearchSet::PEOPLE)].into_iter());
        let longest = 2 * LEAST_DIVIDED;
        for before in 0..longest {
            let text = format!(
                "{}zq\nzq{}",
                ".".repeat(before),
                ".".repeat(longest - before)
            );
            assert_eq!(
                needles.needed_searches(text.as_bytes()),
                SearchSet::PEOPLE,
                "{before}"
            );
        }
    }

    /// A session about tokens and keys is not searched word by word.
    #[test]
    fn ordinary_words_call_for_nothing() {
        let needles = NeedlePrefilter::for_rules();
        for text in [
            "the token and the secret of a string",
            "token: string;",
            r#"\"key\": value"#,
            "https://x.org/a:b",
        ] {
            assert_eq!(
                needles.needed_searches(text.as_bytes()),
                SearchSet::default(),
                "{text}"
            );
        }
        for text in [
            "token: 'x9Qd81Lm",
            "TOKEN=x9Qd81Lm",
            r#"{\\\"secret\\\": \\\"x9Qd81Lm"#,
            "token :=\\n\\\"x9Qd81Lm",
            "https://u:p@h",
        ] {
            assert!(
                needles
                    .needed_searches(text.as_bytes())
                    .intersects(SearchSet::TEXT),
                "{text}"
            );
        }
    }
}
