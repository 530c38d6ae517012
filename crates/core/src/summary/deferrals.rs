//! Deferrals: whether a message puts something off, by its words.

use super::budget::LONG_REQUEST;
use super::quote::is_narrower;

/// The words with which a clause puts something off. They have spaces at both ends, so that no part
/// of a longer word is found.
const DEFERRALS: [&str; 27] = [
    " maybe later ",
    " perhaps later ",
    " not now ",
    " not today ",
    " another time ",
    " other time ",
    " another day ",
    " can wait ",
    " no rush ",
    " no hurry ",
    " leave it for ",
    " leave it until ",
    " leave it as it is ",
    " leave it as is ",
    " leave that for ",
    " leave this for ",
    " leave that as it is ",
    " leave that as is ",
    " nicht jetzt ",
    " erstmal nicht ",
    " erst mal nicht ",
    " vorerst nicht ",
    " ein andermal ",
    " hat zeit ",
    " pas maintenant ",
    " ahora no ",
    " не сейчас ",
];

/// The words with which a clause puts something off, or leaves it as it is, if nothing follows:
/// "the later one" and "leave it at 15" choose.
const LAST_WORDS: [&str; 22] = [
    " later ",
    " later maybe ",
    " later please ",
    " later on ",
    " later then ",
    " leave it ",
    " leave that ",
    " leave this ",
    " leave them ",
    " ignore it ",
    " ignore that ",
    " skip it ",
    " skip that ",
    " park it ",
    " lass es ",
    " lass das ",
    " lass sie ",
    " laisse ça ",
    " laisse comme ça ",
    " luego ",
    " déjalo ",
    " потом ",
];

/// The words for "later" in other languages. They put something off in a clause that has little
/// else, or that ends with them: "eine Stunde später fahren" changes a time.
const LATER: [&str; 5] = [
    " später ",
    " plus tard ",
    " más tarde ",
    " più tardi ",
    " позже ",
];

/// The maximum number of words in a clause with one of these, or with "not yet": "the test is not
/// yet green" reports a state.
const SHORT_CLAUSE: usize = 3;

/// The maximum number of words in a clause that ends with a word of [`LATER`]: "das machen wir
/// später".
const SHORT_SENTENCE: usize = 6;

/// Words of time before a word of [`LATER`], which then compares times.
const TIMES_BEFORE_LATER: [&str; 35] = [
    "sekunde", "sekunden", "minute", "minuten", "stunde", "stunden", "tag", "tage", "woche",
    "wochen", "monat", "monate", "jahr", "jahre", "seconde", "secondes", "minutes", "heure",
    "heures", "jour", "jours", "semaine", "semaines", "mois", "an", "ans", "segundo", "segundos",
    "minuto", "minutos", "hora", "horas", "día", "días", "ora",
];

/// The same in scripts without spaces between words, and in Arabic, whose words take prefixes.
const UNSPACED_DEFERRALS: [&str; 13] = [
    "以后再",
    "稍后",
    "回头再",
    "先不",
    "暂时不",
    "先放着",
    "後で",
    "あとで",
    "나중에",
    "لاحقا",
    "لاحقًا",
    "ليس الآن",
    "فيما بعد",
];

/// Whether a short message postpones what it answers: "hm, later maybe", "not now". Words are
/// compared one by one, because a regular expression would have to be compiled for almost every
/// session.
pub(super) fn is_deferral(message: &str) -> bool {
    if !is_narrower(message, LONG_REQUEST) {
        return false;
    }
    let lower = message.to_lowercase();
    if UNSPACED_DEFERRALS.iter().any(|words| lower.contains(words)) {
        return true;
    }
    lower
        .split([',', '.', ';', '!', '?'])
        .any(is_deferring_clause)
}

/// Whether a clause in lower case has the words of a deferral. The phrases have spaces at both ends
/// so that they match whole words, and so has the text in which they are looked for.
fn is_deferring_clause(clause: &str) -> bool {
    let words: Vec<&str> = clause.split_whitespace().collect();
    let spaced = format!(" {} ", words.join(" "));
    if DEFERRALS.iter().any(|phrase| spaced.contains(phrase)) {
        return true;
    }
    let has_last_words = LAST_WORDS.iter().any(|phrase| spaced.ends_with(phrase));
    if has_last_words && !compares_times(&words) {
        return true;
    }
    if words.len() <= SHORT_CLAUSE {
        let has_later = LATER.iter().any(|phrase| spaced.contains(phrase));
        // "not yet fixed" reports a state.
        return has_later || spaced.ends_with(" not yet ");
    }
    words.len() <= SHORT_SENTENCE && ends_with_later(&spaced)
}

/// Whether a clause, between spaces, ends with a word of [`LATER`], and does not compare times with
/// it: "das machen wir später" ends so, "eine Stunde später" and "drei Zeilen später" compare.
fn ends_with_later(spaced: &str) -> bool {
    let mut phrases = LATER.iter();
    let Some(before) = phrases.find_map(|phrase| spaced.strip_suffix(phrase)) else {
        return false;
    };
    let words: Vec<&str> = before.split(' ').collect();
    let has_time = words
        .last()
        .is_some_and(|word| TIMES_BEFORE_LATER.contains(word));
    !has_time && !ends_with_count(&words)
}

/// Whether words end with a number and what it counts: "fails two lines".
fn ends_with_count(words: &[&str]) -> bool {
    const NUMBERS: [&str; 15] = [
        "two", "three", "four", "five", "few", "couple", "several", "zwei", "drei", "vier", "fünf",
        "paar", "deux", "trois", "dos",
    ];
    let [.., number, _] = words else {
        return false;
    };
    let is_digits = number.bytes().all(|byte| byte.is_ascii_digit());
    is_digits || NUMBERS.contains(number)
}

/// Whether "later" at the end of a clause compares times: "a second later", "it starts later". A
/// noun before it is what is put off: "draw the harbours later", "add unit tests later".
fn compares_times(words: &[&str]) -> bool {
    const TIMES: [&str; 9] = [
        "second", "minute", "moment", "hour", "day", "week", "month", "year", "bit",
    ];
    let [.., last, "later"] = words else {
        return false;
    };
    // "seconds"
    let singular = last.strip_suffix('s').unwrap_or(last);
    let before_later = &words[..words.len() - 1];
    TIMES.contains(&singular) || ends_with_count(before_later) || is_verb_at_end(before_later)
}

/// Whether the last word is a verb in the third person, as in "it starts", not a noun in the
/// plural. It is a verb after a subject, and in a few words that request nothing.
fn is_verb_at_end(words: &[&str]) -> bool {
    const BEFORE_NOUNS: [&str; 8] = ["the", "these", "those", "all", "my", "our", "your", "other"];

    // Of "too: starts", only the clause after the colon matters.
    let mut clauses = words.rsplit(|word| word.ends_with(':'));
    let last_clause = clauses.next().unwrap_or_default();
    let Some((last, before)) = last_clause.split_last() else {
        return false;
    };
    let may_be_verb = last.ends_with('s') && *last != "this";
    if !may_be_verb {
        return false;
    }
    match before {
        // The clause is the verb alone: "starts".
        [] => true,
        // "draw all harbours"
        [.., word] if BEFORE_NOUNS.contains(word) => false,
        _ => names_subject(before) || is_subject_alone(before),
    }
}

/// Whether words before a possible verb have a subject: "the ferry", "i think it".
fn names_subject(words: &[&str]) -> bool {
    const ARTICLES: [&str; 5] = ["the", "a", "an", "my", "our"];
    const PRONOUNS: [&str; 6] = ["it", "they", "that", "this", "he", "she"];

    let begins_with_article = words.first().is_some_and(|first| ARTICLES.contains(first));
    begins_with_article || words.iter().any(|word| PRONOUNS.contains(word))
}

/// Whether a single word is before a possible verb, and does not request something: "CI starts" has
/// a subject, "write tests" has none.
fn is_subject_alone(words: &[&str]) -> bool {
    const REQUESTS: [&str; 11] = [
        "add", "check", "do", "draw", "fix", "make", "run", "test", "update", "write", "more",
    ];
    match words {
        [word] => !REQUESTS.contains(word),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deferral_is_told_from_a_choice() {
        for (message, is_expected) in [
            ("later", true),
            ("hm, later maybe. the map does not need it", true),
            ("not now", true),
            ("leave it, the captain has the key", true),
            ("erstmal nicht", true),
            ("以后再说", true),
            ("لاحقا", true),
            ("no, not yet", true),
            ("hm, vielleicht später", true),
            ("plus tard", true),
            ("leave it as it is for now", true),
            ("let's do this later", true),
            ("draw the harbours later", true),
            ("add the unit tests later", true),
            ("write tests later", true),
            ("more colours later", true),
            ("das machen wir später", true),
            ("die Legende zeichnen wir später", true),
            ("lo hacemos más tarde", true),
            ("on fera ça plus tard", true),
            ("the ferry leaves two seconds later", false),
            ("the ferry leaves later", false),
            ("CI starts later", false),
            ("make test fails two lines later", false),
            ("der Fehler kommt drei Zeilen später", false),
            ("i think it starts later", false),
            ("die Fähre fährt eine Stunde später", false),
            ("le ferry part une heure plus tard", false),
            (
                "der Test läuft jetzt eine Weile, aber nur auf den später gebauten",
                false,
            ),
            ("make test is not yet green, go on", false),
            ("still red, not yet fixed", false),
            ("the export should not yet contain the harbours", false),
            ("Lass die Fähre eine Stunde später fahren.", false),
            ("leave it as a list, but sort it by name", false),
            (
                "make test fails a second later on CI, too: starts later",
                false,
            ),
            ("it leaves an hour later", false),
            ("then leave it at 15", false),
            ("take the later one", false),
            ("wait until the ink is dry", false),
            ("now the harbours", false),
        ] {
            assert_eq!(is_deferral(message), is_expected, "{message}");
        }
    }
}
