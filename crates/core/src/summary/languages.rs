//! The language of a message: in which one something is to be written, and what `no` means in that
//! of the message itself.

use super::budget::{POINT, WORDS};
use super::quote::{first_chars, is_narrower, quote_line, strip_marks};
use unicode_segmentation::UnicodeSegmentation;

/// Languages in which something is to be written: "messages in french".
const LANGUAGES: [&str; 20] = [
    "english",
    "german",
    "french",
    "spanish",
    "italian",
    "chinese",
    "russian",
    "portuguese",
    "dutch",
    "japanese",
    "deutsch",
    "englisch",
    "français",
    "anglais",
    "español",
    "inglés",
    "português",
    "inglês",
    "italiano",
    "inglese",
];

/// The words before the name of a language.
const LANGUAGE_PREPOSITIONS: [&str; 4] = ["in", "en", "auf", "em"];

/// The words with which a language is demanded.
const LANGUAGE_DEMANDS: [&str; 22] = [
    "want", "need", "should", "must", "keep", "write", "use", "all", "stay", "stays", "answer",
    "reply", "respond", "responde", "contesta", "escribe", "antworte", "schreib", "schreibe",
    "réponds", "écris", "escreva",
];

/// Quotes of each line the first sentence that demands the language of something: "I want the
/// messages in french".
pub(super) fn quote_language_demands(lines: &[&str]) -> Vec<String> {
    let mut quotations = Vec::new();
    for line in lines {
        // The division into sentences takes long, so the whole line is tested first.
        if !demands_language(line) {
            continue;
        }
        let mut sentences = line.unicode_sentences().map(str::trim);
        let demand = sentences.find(|one| demands_language(one) && is_narrower(one, POINT));
        if let Some(demand) = demand {
            quotations.push(quote_line(strip_marks(demand), POINT));
        }
    }
    quotations
}

/// Whether a sentence demands the language of something: "I want the messages in french". Words are
/// compared one by one, because an expression would have to be compiled for almost every session.
pub(super) fn demands_language(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let mut word_before = "";
    let mut is_demand = false;
    for word in lower.split(|c: char| !c.is_alphanumeric()) {
        if LANGUAGE_DEMANDS.contains(&word) {
            is_demand = true;
        }
        let names_language =
            LANGUAGE_PREPOSITIONS.contains(&word_before) && LANGUAGES.contains(&word);
        if is_demand && names_language {
            return true;
        }
        word_before = word;
    }
    false
}

/// What `no` means in a message.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NoWord {
    /// It forbids a thing, as in English: "no frames".
    Article,
    /// It denies a verb, as in Spanish: "no anduvo", "it did not work".
    Negation,
}

/// The words of Romance languages by which they are recognized.
const ROMANCE_WORDS: [&str; 18] = [
    "que", "de", "la", "el", "los", "las", "una", "es", "en", "por", "para", "con", "del", "se",
    "pero", "lo", "che", "não",
];
/// A message with this many of them is in such a language.
const LEAST_ROMANCE_WORDS: usize = 3;

impl NoWord {
    /// Returns what `no` means in a message, by the words of its beginning.
    pub fn in_message(message: &str) -> NoWord {
        let lower = first_chars(message, WORDS).to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric());
        let count = words.filter(|word| ROMANCE_WORDS.contains(word)).count();
        if count >= LEAST_ROMANCE_WORDS {
            NoWord::Negation
        } else {
            NoWord::Article
        }
    }
}

/// The verbs with which a user forbids something in Spanish, after `no`.
const FORBIDDEN: [&str; 24] = [
    "quiero",
    "necesito",
    "haga",
    "hagas",
    "hagan",
    "use",
    "uses",
    "usar",
    "toque",
    "toques",
    "cambies",
    "borres",
    "agregues",
    "ponga",
    "pongas",
    "escriba",
    "escribas",
    "modifique",
    "modifiques",
    "modificar",
    "crees",
    "incluyas",
    "inventes",
    "olvides",
];
/// The pronouns between `no` and a verb.
const PRONOUNS: [&str; 8] = ["me", "te", "se", "lo", "la", "los", "las", "le"];
/// `no` is among so many first words of a clause that begins with it: "pero entonces no".
const FIRST_WORDS: usize = 3;

/// Whether a clause begins with `no`, and forbids nothing: "no anduvo", unlike "no lo toques".
pub(super) fn only_denies(clause: &str) -> bool {
    let lower = clause.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).collect();
    let first_words = &words[..words.len().min(FIRST_WORDS)];
    let Some(no_index) = first_words.iter().position(|word| *word == "no") else {
        return false;
    };
    let mut words_after = words[no_index + 1..].iter();
    let verb = words_after.find(|word| !PRONOUNS.contains(word));
    let forbids = verb.is_some_and(|verb| FORBIDDEN.contains(verb));
    !forbids
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_demanded_by_a_verb_and_a_preposition() {
        for sentence in [
            "I want the messages in french",
            "responde en español, por favor",
            "bitte antworte auf Deutsch",
        ] {
            assert!(demands_language(sentence), "{sentence}");
        }
        for sentence in [
            "how do you say it in french?",
            "como se dice en español",
            "use french",
        ] {
            assert!(!demands_language(sentence), "{sentence}");
        }
    }

    #[test]
    fn no_forbids_with_some_verbs() {
        for clause in ["no anduvo", "Pero no se toman todas", "no odio: 9252", "no"] {
            assert!(only_denies(clause), "{clause}");
        }
        for clause in [
            "NO QUIERO QUE LO ARREGLES",
            "pero no lo toques",
            "siempre así",
            "",
        ] {
            assert!(!only_denies(clause), "{clause}");
        }
    }

    #[test]
    fn no_denies_in_romance_languages() {
        assert!(
            NoWord::in_message("no anduvo, estoy en el puerto con el mapa") == NoWord::Negation
        );
        assert!(NoWord::in_message("no frames in the map of El Puerto") == NoWord::Article);
    }
}
