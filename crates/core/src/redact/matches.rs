//! Applies all rules to a text, one after the other: shapes, the table of rules, assignments and
//! cookies.

use super::assignments::each_assignment;
use super::cookies::{self, each_cookie};
use super::placeholders;
use super::places::RangeSet;
use super::prefilter::SearchSet;
use super::rules::{RULES, is_contextual};
use super::shapes::each_shape;
use super::unescape::contains_terminal_code;
use std::ops::Range;

/// A secret that a rule found in a text.
pub(super) struct RuleMatch<'t> {
    /// The range of the secret in the text.
    pub range: Range<usize>,
    pub kind: &'static str,
    /// The name to which the secret is assigned; empty if there is none.
    pub name: &'t [u8],
}

/// Calls `visit` with each secret that the rules in `searches` find in a text, rule by rule: known
/// shapes first, then the rows of [`RULES`], assignments and cookies.
///
/// Two kinds of matches are left out. One is a match that overlaps a placeholder of an earlier
/// redaction, as in `https://user:[REDACTED:…]@host`, because the placeholder is not a secret. The
/// other is a contextual match that contains a terminal code: the value is found in the text
/// without its codes, which is searched separately.
pub(super) fn each_match<'t>(
    searches: SearchSet,
    text: &'t [u8],
    mut visit: impl FnMut(RuleMatch<'t>),
) {
    if !searches.intersects(SearchSet::SECRETS) {
        return;
    }
    let placeholder_ranges = RangeSet::from_ranges(placeholders::find_ranges(text).iter());
    let mut visit_if_secret = |range: Range<usize>, kind, name| {
        let is_replaced = placeholder_ranges.overlaps(&range);
        let is_found_elsewhere =
            contains_terminal_code(&text[range.clone()]) && is_contextual(kind);
        if !is_replaced && !is_found_elsewhere {
            visit(RuleMatch { range, kind, name });
        }
    };

    // A secret of a known shape, or of a row of the table, has no name.
    if searches.intersects(SearchSet::SHAPES) {
        each_shape(text, |range, kind| visit_if_secret(range, kind, b""));
    }
    for (row, rule) in RULES.iter().enumerate() {
        if !searches.intersects(SearchSet::for_rule(row)) {
            continue;
        }
        for captures in rule.expression().captures_iter(text) {
            if let Some(range) = rule.secret_range(text, &captures) {
                visit_if_secret(range, rule.kind, b"");
            }
        }
    }
    if searches.intersects(SearchSet::ASSIGNMENTS) {
        each_assignment(text, |assigned| {
            visit_if_secret(assigned.value, assigned.kind, &text[assigned.name]);
        });
    }
    if searches.intersects(SearchSet::COOKIES) {
        each_cookie(text, |cookie| {
            visit_if_secret(cookie.value, cookies::KIND, &text[cookie.name]);
        });
    }
}
