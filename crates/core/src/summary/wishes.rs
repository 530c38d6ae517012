//! Wishes: what users forbid or demand beyond the request of the moment.

use super::budget::*;
use super::clauses::{Clause, Joint, LEAD_WORDS, find_wish_clauses};
use super::languages::{NoWord, only_denies, quote_language_demands};
use super::prose::{ends_in_question, sentences_of_lines, split_at_full_stops};
use super::quote::{display_width, quote_line};
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

/// The words at the start of a clause that forbid or demand something in general. Other clauses are
/// taken as part of a request that has been dealt with, however emphatic they are.
const FIRST_WORDS: &str = r"(do\ not|don['’]?t|only|(use|take)\ only|without|avoid|stop|quit
      |keep|leave|hands\ off
    | (finger|hände)\ weg|kein\w*|lass\w*|behalte?|vermeide|pas\ de|gardez?|laissez?|évitez?
      |arrêtez?|ne\ \w+\ (pas|plus|rien)
    | ich\ (will|möchte)\ (kein\w*|nur|nicht)|nicht\ mehr
    | je\ ne\ veux\ (pas|plus)|n['’](utilise|ajoute|écris|efface|invente|oublie)z?\ (pas|plus)
    | não\ ((me|te|se|o|a)\ )?(quero|faças?|uses?|usar|modifi(ques?|car)|crees?|mexas?|mudes?
      |alteres?|apagues?|coloques?|adiciones?)
    | s[óo]lo|solamente|apenas|somente
    | sin|deja|evita|mantén|sem|senza|без)\s";

/// Clauses that begin like a wish and are none: answers, and what was observed ("it never stops",
/// "dont have it").
const NO_WISH: &str = r"^((ok|okay),?\ )?(
    (keep|leave)\ (it|that|this|them)(\ (so|in|out|then|like\ \w+))?\W*$
    | (lass|laisse)\ (es|sie|das|ihn|tomber)\b | (wir|ich)\ (müssen|muss)\b
    | keep\ (going|on|it\ up|working)|stop\ (here|it|now)\b|only\ (then|now|that)\b
    | .*\b(happens|occurs|fails|crashes|appears|breaks|works)\b.*\ only\W*$
    | only\ (the|one|two|a|my|our|some|\d+)\ .*\b(happens?|occurs?|fails?|crash(es)?|appears?
      |breaks?|works?|was|were|got|had)(\W|$)
    | (\w+\ ){0,5}(never|always)\ (happens|occurs|fails|crashes|appears|breaks|works|stops|starts
      |ends|finishes|hangs|got|gets|was|were|had|did)\b
    | (\w+\ ){0,3}(never|always)\ \w+ed\ (me|us)\b
    | don['’]?t\ (know|remember|think|understand|worry|mind|care)\b
    | don['’]?t\ have\ (it|that|any|one|them|the|a|time|access)(\ \w+){0,2}\W*$
    | no\ (wait|need|problem|idea|worries|wonder|longer|luck|thanks|way|one|it|that|this|these|those|the
      |i|you|we|they|he|she|but|not|more\ than|is|do|my|in|on|to|as|so|if|go|or|at|an|be|us|me
      |of|by)\b
    | ([a-z]+\ ){0,3}(does|do|did|has|have|had|is|was|says|see|sees|found|got)\ nothing\ else
      |nothing\ else\ (to|is|was|in\ there|comes)\b
    | only\ .*\bleft\W*$)";

/// `no` and a thing or a quoted word: "no console logs". A bare `no` answers, and says nothing of
/// later work.
const NO_THING: &str = r#"no\ ((?-i:[\w-]){3,}|[a-z]{2}\ [a-z]{3,}|["“„«]\w)"#;

/// What the user wants in general, and what is to stay as it is.
const WANTS: &str = r"(would|i['’]d)\ (really\ )?only\ (want|need|like)
      |(i|we)\ (really\ )?only\ (want|need)
    | (want|need)\ (only|no|nothing)\s|(i|we)\ (really\ )?(do\ not|don['’]?t)\ want\s
      |(nothing|anything|everything)\ else
    | (everywhere|anywhere|every\ time|each\ time|in\ general|off\ limits
      |no\ matter\ (what|how|who|which)|the\ better)(\W|$)";

/// What announces that the rest of a sentence holds from now on: "rule: one letter per owner".
const RULES: &str = r"(^|\W)(rules?|regeln?|règles?|reglas?|regole?|правил[оа]):\ ";

/// The same, with other words in between.
const WANTS_APART: &str = r"
    (leave|keep)\ .{1,60}\ (alone|as\ (it\ |they\ )?(is|are)|untouched|unchanged)
    | (ask|wait|check\ with)\ .{0,60}before\ (you|any)
    | ^(but|aber|mais|pero)\ .{0,60}(at\ (most|least)|no\ more\ than|höchstens|mindestens
      |au\ (plus|moins)|como\ máximo)\ ";

/// What the user makes a condition of: "rerun it before you commit".
const CONDITIONS: &str = r"before\ you\ (tell|say|call|ask|commit|push|merge|touch|change|start|go
      |move|run|write|edit|delete|deploy|publish)(\W|$)";

/// Each match of [`WANTS_APART`] has these words, or begins with one of [`FIRST_WORDS`].
const APART_WORDS: &str = r"before\ (you|any)|at\ (most|least)\ |no\ more\ than|höchstens|mindestens
      |au\ (plus|moins)\ |como\ máximo";

/// What limits a clause at its end: "read access only".
const LAST_WORDS: &str = r"\ (only|seulement)\W";

/// The words that forbid or demand something in general anywhere in a clause. The characters beside
/// a word are matched instead of `\b`: with that, `regex` uses its slow matcher on text that is not
/// ASCII.
const ANY_WORDS: &str = r"
    (^|\W)(never|always|must|mustn['’]t|from\ now\ on
    | nie|niemals|immer|nur|muss|musst|müssen|darf|darfst|dürfen|auf\ keinen\ fall|keinesfalls
    | jamais|toujours|doit|doivent|nunca|siempre|sempre|debe|deben|deve|devem|mai|devono|nooit
      |altijd|moet
    | никогда|всегда|только|нельзя|должн\w+)(\W|$)
    | 不要|不得|不能|不许|不准|禁止|必须|务必|只能|总是|永远|一律|絶対|必ず|常に|しないで|절대|항상|반드시|하지\ ?마
    | 我不(想|要|希望)|以后(都|要|请|别|不)|从现在(起|开始)|别(动|改|用|删|加|再|写|做|碰|把|让|提交)
    | 用(中文|英文|英语|日语)|(日本語|英語|中国語)で|(한국어|영어|일본어|중국어)로|말아\ ?줘
    | أبدا|أبدًا|دائما|دائمًا|يجب|فقط|ممنوع|هرگز|همیشه|हमेशा|कभी\ नहीं";

/// Matches a clause that binds later work, too.
static BINDING: LazyLock<Regex> = LazyLock::new(|| {
    compile_expression(&format!(
        r"(?ix) ^{LEAD_WORDS}({FIRST_WORDS}|{NO_THING})
            | {WANTS} | {WANTS_APART} | {CONDITIONS} | {ANY_WORDS} | {LAST_WORDS}*$"
    ))
});

/// Matches a clause that binds later work by its first words, or says what alone is wanted.
static DIRECTIVE: LazyLock<Regex> = LazyLock::new(|| {
    compile_expression(&format!(
        r"(?ix) ^{LEAD_WORDS}({FIRST_WORDS}|{NO_THING}
      |((they|it|we|you|those|these)\ (should|must|may|can)\ )?(never|always|nie|niemals|immer
      |jamais|toujours|nunca|siempre)\s)
            | {WANTS}"
    ))
});

/// The first words that cannot go on with a statement, as `only` can: "it works but only on one".
static UNMISTAKABLE: LazyLock<Regex> = LazyLock::new(|| {
    compile_expression(&format!(
        r"(?ix) ^{LEAD_WORDS}(do\ not|don['’]?t|avoid|stop|quit|keep|leave|behalte?|vermeide|gardez?
      |laissez?|évitez?|arrêtez?)\s"
    ))
});

/// Matches a demand. As a whole message ("it must be blue"), a demand says how the thing in
/// question has to be, and does not bind later work, unless it has a word of [`GENERAL`].
static DEMAND: LazyLock<Regex> = LazyLock::new(|| compile_expression(r"(?i)\b(must|mustn['’]t)\b"));

static GENERAL: LazyLock<Regex> = LazyLock::new(|| {
    compile_expression(r"(?i)\b(never|always|from now on|only|every|each|any|all)\b")
});

static EXCEPTION: LazyLock<Regex> =
    LazyLock::new(|| compile_expression(&format!("(?ix) {NO_WISH}")));

/// Matches every line with a clause that [`BINDING`] matches, and few others. Only these lines are
/// divided into sentences, which takes much longer.
static MAY_BIND: LazyLock<Regex> = LazyLock::new(|| compile_expression(&may_bind_expression()));

/// Returns the expression of [`MAY_BIND`].
///
/// It has no bounded repetition such as `.{1,60}`: with one, `regex` has far more states to build
/// than it keeps, and took half the time of a summary.
pub(super) fn may_bind_expression() -> String {
    format!(
        r"(?ix) (^|\W)({FIRST_WORDS}|{NO_THING}) | {WANTS} | {APART_WORDS} | {ANY_WORDS}
      | {LAST_WORDS} | {RULES}"
    )
}

/// Quotes the sentences of a request that bind later work, too: "Never call the harbour office."
/// They are looked for in its `prose`, which has the user's own words. Questions, and sentences
/// that are too short or too long to quote, are left out.
pub(super) fn quote_binding_sentences(request: &str, prose: &[&str]) -> Vec<String> {
    let whole = request.trim();
    // A request that begins with a code span is about that code.
    if whole.starts_with('`') {
        return Vec::new();
    }
    let mut quotations = quote_language_demands(prose);
    let no_word = NoWord::in_message(whole);
    for sentence in sentences_of_lines(prose, &MAY_BIND) {
        if is_demand_of_the_moment(sentence, whole) || is_diagnostic(sentence) {
            continue;
        }
        let is_quotable = (SHORT_WISH..POINT).contains(&display_width(sentence));
        let asks = ends_in_question(sentence.trim_end_matches(['\'', '"', '’', '”']));
        // What a sentence announces is on other lines: "It must contain:".
        let announces = sentence.ends_with([':', '：']);
        if !is_quotable || asks || announces || !has_binding_clause(sentence, no_word) {
            continue;
        }
        if is_observation(sentence) {
            continue;
        }
        let quotation = quote_line(sentence, POINT);
        if !quotations.contains(&quotation) {
            quotations.push(quotation);
        }
    }
    quotations
}

/// Whether a sentence demands something, and is the whole message: "it must be faster" says what is
/// to be done now, and nothing of later work.
fn is_demand_of_the_moment(sentence: &str, message: &str) -> bool {
    let is_whole_message = sentence == message && split_at_full_stops(sentence).len() == 1;
    is_whole_message && DEMAND.is_match(sentence) && !GENERAL.is_match(sentence)
}

/// How a sentence begins or ends that says what is so, and not what is to be: with an opinion, or
/// with what is left.
const OBSERVATIONS: &str = r"(?ix)^\W*((ok|okay|hm+|so|and|but),?\ )?
      (i\ (think|guess|believe|suppose)\ (that\ )?(the|this|it|there|they)\W
    | in\ general,?\ (i\ think|it|this|that|the)\W | my\ (guess|understanding|interpretation)\W
    | (creo|pienso|supongo)\ que\W | mi\ interpretaci[oó]n\W | acho\ que\W
    | ich\ (glaube|denke|vermute)\W | je\ (pense|crois)\ que\W)
    | ^\W*only\W.*\Wleft\W*$ | \W(do|does|did)(n['’]?t|\ not)\ always\W";

/// Whether a sentence observes something: "I think the test fails because each line must fit".
fn is_observation(sentence: &str) -> bool {
    static OBSERVATION: LazyLock<Regex> = LazyLock::new(|| compile_expression(OBSERVATIONS));
    OBSERVATION.is_match(sentence)
}

/// The least width of a wish, in columns: `no frames` is one, `no no` is none.
const SHORT_WISH: usize = 9;

/// Whether a sentence is a line of a program's output that the user pasted: it begins with the kind
/// of message, as in `fatal: You must always set user.email` and `npm ERR! never run it with sudo`.
/// Users warn, too: "Warning: never touch the charts".
fn is_diagnostic(sentence: &str) -> bool {
    // Without a colon, only capitals name a kind, as in `ERROR You must not`: "Error Messages" are
    // a thing.
    static KIND: LazyLock<Regex> = LazyLock::new(|| {
        compile_expression(
            r"(?x)^\W*((?i:npm\ )?(?i:fatal|error|err!|warning|panic|exception|traceback)[:!\[]
                | (npm\ )?(FATAL|ERROR|WARNING|PANIC)\ [A-Z])",
        )
    });
    static WARNING: LazyLock<Regex> = LazyLock::new(|| compile_expression(r"(?i)^\W*warning\W+"));
    if !KIND.is_match(sentence) {
        return false;
    }
    let Some(warning) = WARNING.find(sentence) else {
        return true;
    };
    let warned = &sentence[warning.end()..];
    !begins_as_wish(warned)
}

/// Whether the text of a warning begins as users forbid or demand something. Warnings of programs
/// begin otherwise, as with "You must".
fn begins_as_wish(text: &str) -> bool {
    static WISH: LazyLock<Regex> = LazyLock::new(|| {
        compile_expression(&format!(
            r"(?ix) ^{LEAD_WORDS}({FIRST_WORDS}|{NO_THING}
      |(never|always|nie|niemals|immer|jamais|toujours|nunca|siempre)\s)"
        ))
    });
    WISH.is_match(text)
}

/// Whether a wish forbids or demands something in general, wherever it stands: "never", "always".
pub(super) fn binds_in_general(wish: &str) -> bool {
    static WORDS: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(&format!("(?ix) {ANY_WORDS}")));
    WORDS.is_match(wish)
}

/// Whether a wish is about one step, or only until it begins or the user says more: "start with the
/// models, do not run the migration", "read the plan before you start", "do not write code yet".
pub(super) fn is_for_the_moment(wish: &str) -> bool {
    static MOMENT: LazyLock<Regex> = LazyLock::new(|| {
        compile_expression(
            r"(?ix) ^\W*(now|next|continue|proceed|start|begin|go\ (on|ahead)|let[’']?s
                |(phase|step|task|part)\ \d+)\W
            | (^|\W)before\ you\ (start|begin)(\W|$)
            | (^|\W)(yet|(until|wait\ (for|until|till))\ (i|me|my|we|us|our)|noch\ nicht|pas\ encore|todavía\ no)(\W|$)",
        )
    });
    MOMENT.is_match(wish) && !binds_in_general(wish)
}

/// Whether a clause of a sentence binds later work: the second of "draw the map, but never the
/// border".
fn has_binding_clause(sentence: &str, no_word: NoWord) -> bool {
    static RULE: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(&format!("(?ix) {RULES}\\w")));
    if RULE.is_match(sentence) {
        return true;
    }
    let clauses = find_wish_clauses(sentence);
    clauses.iter().any(|clause| is_binding(clause, no_word))
}

/// Whether a clause binds later work, by its words and by what precedes it.
fn is_binding(clause: &Clause, no_word: NoWord) -> bool {
    if no_word == NoWord::Negation && only_denies(clause.text) && !binds_in_general(clause.text) {
        return false;
    }
    let has_words = match clause.joint {
        // "look into the test, it must be the cache": after a look, a "must" is a guess.
        Joint::Mark if clause.follows_look => DIRECTIVE.is_match(clause.text),
        Joint::Mark => BINDING.is_match(clause.text),
        // "draw the map, but never the border"
        Joint::Conjunction => DIRECTIVE.is_match(clause.text),
        // "it works, but don't touch the border", and not: "it works but only on one"
        Joint::ButOfStatement => UNMISTAKABLE.is_match(clause.text),
        // "it hangs and never stops"
        Joint::AndOfStatement => false,
    };
    if !has_words {
        return false;
    }
    let is_exception = EXCEPTION.is_match(clause.text) && !is_rule(clause.text);
    !is_exception
}

/// Whether a clause says of each thing of a kind how it always begins or ends, and reports no
/// failure: "a commit subject always starts with the module name".
fn is_rule(clause: &str) -> bool {
    static RULE: LazyLock<Regex> = LazyLock::new(|| {
        compile_expression(
            r"(?i)^(a|an|each|every|any) .*(always|never) (starts|begins|ends) (with|in) ",
        )
    });
    static FAILURE: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(r"(?i)error|fail|crash|timeout|exception|panic"));
    RULE.is_match(clause) && !FAILURE.is_match(clause)
}
