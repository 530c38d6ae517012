//! Clauses: the parts of a sentence in which wishes are looked for, one by one.
//!
//! A clause that only looks ("check the log", "just tell me why") wishes nothing. A clause beside
//! it may be a wish of its own, unless it only limits the look: "don't fix it".

use super::prose::split_at_full_stops;
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

/// Words that only lead over to those of a wish, up to three of them. `pl` and up to five letters
/// is `please`, abbreviated or misspelled.
pub(super) const LEAD_WORDS: &str = r"((and|but|so|then|now|just|also|again|ok|okay|oh|hey|well|yes
      |yeah|btw
    |pl[a-z]{1,5}|can\ (you|we)|could\ (you|we)|(we|you)\ (should|need\ to|have\ to)|let[’']?s
      |i\ said|for\ (now|once)|i[’']d\ rather\ you
    |honestly|really|seriously|maybe|guys|hm+|sorry|warning|careful|attention|important|remember
      |achtung|vorsicht|wichtig
    |und|aber|ja|bitte|dann|et|mais|oui|pero|y),?\ ){0,3}";

/// The words with which a clause has the assistant look, or do something at once. `check with`
/// somebody is a condition.
const LOOKS: &str = r"(just\ )?((have|take)\ a\ )?(look|check|read|see|investigate
      |inspect|find\ out)([\s,.]|$)
    | just\ (tell|show|answer|explain|say|give|list|fix|do|run|rerun|try|make|add|move|rename|delete
      |commit|push|go)(\W|$)";

/// The words of a clause that is meant for the moment.
const FOR_NOW: &str = r"\b(this\ time|right\ now|no\ \w+\ yet)\b|\bfirst(\ and\b|[,.;]|$)";

/// What only limits a look beside it: it forbids the work to which the look would lead, or names
/// nothing but what is looked at.
const LIMITS: &str = r"(do\ not|don['’]?t)\ (fix|repair|solve|start|implement|build|write|try|commit
      |push|change|do|touch)
    (\ the\ (bug|error|failure|problem|cause|code))?\W*$
    | \ (it|that|this|them|these|those)(\ (yet|now|please|pls|though))?\W*$";

/// The words with which a sentence for the moment forbids everything, or all that is left.
const EVERYTHING: &str =
    r"(^|\W)(anything|nothing|any\ of\ (it|that|them)|yet|nichts|noch|rien|nada)(\W|$)";

/// The words that join clauses, and those among them that set one off from the other.
const CONJUNCTIONS: &str = r"\ (but|aber|mais|pero|and|und|et|y)\ ";
const BUT: [&str; 4] = ["but", "aber", "mais", "pero"];

/// How a statement begins: with a subject, or as a subordinate clause. A request begins with a verb
/// or with what is wanted.
const STATEMENTS: &str = r"^\W*(i|we|you|he|she|it|they|there|the|a|an|this|that|these|those|my|our
      |his|her|their
    | when|if|while|since|because|as|after|what|who|which
    | ich|wir|er|sie|es|der|die|das|ein|eine|wenn|weil|als|je|on|il|elle|nous|le|la|les|un|une|quand
      |si|el|los|las|cuando)[\s’']";
const WANTS: &str =
    r"(^|\W)(want|need|would\ like|prefer|möchte|will|hätte|brauch\w*|veux|voudrais|quiero)(\W|$)";

/// What precedes a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    /// Nothing, or a punctuation mark.
    Mark,
    /// "but" or "and", after what may be a request.
    Conjunction,
    /// "but" after a statement.
    ButOfStatement,
    /// "and" after a statement: most likely, the clause goes on with that.
    AndOfStatement,
}

/// A clause of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Clause<'s> {
    /// The clause, and what follows it up to the next punctuation mark.
    pub text: &'s str,
    pub joint: Joint,
    /// Whether a clause before it looks, or does something at once.
    pub follows_look: bool,
}

impl Clause<'_> {
    fn new(text: &str, joint: Joint) -> Clause<'_> {
        Clause {
            text,
            joint,
            follows_look: false,
        }
    }

    /// Whether the clause looks, or is meant for the moment.
    fn is_for_moment(&self) -> bool {
        static MOMENT: LazyLock<Regex> = LazyLock::new(|| {
            compile_expression(&format!(r"(?ix)^{LEAD_WORDS}({LOOKS}) | {FOR_NOW}"))
        });
        let is_condition = self.text.to_lowercase().contains("check with ");
        !is_condition && MOMENT.is_match(self.text)
    }

    /// Whether a look comes after the clause in place of it: "don't touch the palette, look into
    /// the legend". With a word such as "then", both are meant.
    fn is_contrast_of(&self, look: &Clause) -> bool {
        static SEQUEL: LazyLock<Regex> =
            LazyLock::new(|| compile_expression(r"(?i)^(and|then|und|dann|et|puis|y)\s"));
        look.joint == Joint::Mark && !SEQUEL.is_match(look.text)
    }

    /// Whether the clause only limits the look before it.
    fn limits_look(&self) -> bool {
        static LIMIT: LazyLock<Regex> =
            LazyLock::new(|| compile_expression(&format!("(?ix){LIMITS}")));
        self.follows_look && LIMIT.is_match(self.text)
    }
}

/// Returns the clauses of a sentence in which a wish may be. Left out are those for the moment, and
/// what only limits these.
pub(super) fn find_wish_clauses(sentence: &str) -> Vec<Clause<'_>> {
    static ALL: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(&format!("(?ix){EVERYTHING}")));
    let mut wish_clauses = Vec::new();
    let mut has_look = false;
    for text in split_at_full_stops(sentence) {
        let part = SentencePart::read(text);
        has_look |= part.has_look;
        wish_clauses.extend(part.wish_clauses);
    }
    // "look at it. dont touch anything"
    if has_look && ALL.is_match(sentence) {
        return Vec::new();
    }
    wish_clauses.retain(|clause| !clause.limits_look());
    wish_clauses
}

/// What a part of a sentence up to a full stop has.
struct SentencePart<'s> {
    /// The clauses in which a wish may be.
    wish_clauses: Vec<Clause<'s>>,
    /// Whether another clause looks, or does something at once.
    has_look: bool,
}

impl<'s> SentencePart<'s> {
    fn read(part: &'s str) -> SentencePart<'s> {
        let mut wish_clauses: Vec<Clause<'s>> = Vec::new();
        let mut has_look = false;
        for clause in split_clauses(part) {
            let clause = Clause {
                follows_look: has_look,
                ..clause
            };
            if !clause.is_for_moment() {
                wish_clauses.push(clause);
                continue;
            }
            // Only the first look can be meant in place of the clauses before it.
            if !has_look {
                wish_clauses.retain(|before| !before.is_contrast_of(&clause));
            }
            has_look = true;
        }
        SentencePart {
            wish_clauses,
            has_look,
        }
    }
}

/// Splits a part of a sentence at punctuation marks, dashes and conjunctions.
fn split_clauses(part: &str) -> Vec<Clause<'_>> {
    static MARK: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(r"[,;:!，；：！、]| [-–—] "));
    static CONJUNCTION: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(&format!("(?ix){CONJUNCTIONS}")));
    let mut clauses = Vec::new();
    for between_marks in MARK.split(part) {
        let text = between_marks.trim_start();
        clauses.push(Clause::new(text, Joint::Mark));
        let mut clause_start = 0;
        for conjunction in CONJUNCTION.find_iter(text) {
            let clause_before = &text[clause_start..conjunction.start()];
            let joint = joint_after(clause_before, conjunction.as_str().trim());
            // The conjunction is a part of the clause that it begins: it is one of [`LEAD_WORDS`].
            let next_clause = &text[conjunction.start() + " ".len()..];
            clauses.push(Clause::new(next_clause, joint));
            clause_start = conjunction.end();
        }
    }
    clauses
}

/// Returns how a conjunction joins the clause after it to the clause before it.
fn joint_after(clause_before: &str, conjunction: &str) -> Joint {
    if is_request(clause_before) {
        Joint::Conjunction
    } else if BUT.contains(&conjunction) {
        Joint::ButOfStatement
    } else {
        Joint::AndOfStatement
    }
}

/// Whether the words before a conjunction request something, and do not state it.
fn is_request(head: &str) -> bool {
    static STATEMENT: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(&format!("(?ix){STATEMENTS}")));
    static WANT: LazyLock<Regex> = LazyLock::new(|| compile_expression(&format!("(?ix){WANTS}")));
    !STATEMENT.is_match(head) || WANT.is_match(head)
}
