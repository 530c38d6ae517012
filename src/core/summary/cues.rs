//! Sentences that bind: what the user forbids, demands and corrects, what was decided.
//!
//! Word lists know some languages and shape knows the rest: stress, capitals, names in backticks.

use super::clean::units;
use super::prose::{asks, words};

/// Words that forbid or demand. A space at an end stands for a word boundary, `|` for the start of a
/// sentence or of a part of it: "don't" commands there, and tells elsewhere.
const STRONG: &[&str] = &[
    "| don't ",
    "| dont ",
    "| do not ",
    " and don't ",
    " and do not ",
    " but don't ",
    " but do not ",
    " please don't ",
    " please do not ",
    " just don't ",
    " so don't ",
    "| leave ",
    " never ",
    " must ",
    " always ",
    " mustn't ",
    " shouldn't ",
    " should not ",
    " no need ",
    " only use ",
    " under no circumstances ",
    " make sure ",
    " should stay ",
    " niemals ",
    " immer ",
    " muss ",
    " müssen ",
    " darf nicht ",
    " jamais ",
    " toujours ",
    " ne pas ",
    " doit ",
    " n'utilise ",
    " il faut ",
    " interdit ",
    " nunca ",
    " siempre ",
    " debe ",
    " no uses ",
    " no toques ",
    " no cambies ",
    " sempre ",
    " deve ",
    " mai ",
    " никогда ",
    " всегда ",
    " нельзя ",
    " должен ",
    " должна ",
    " должно ",
    " обязательно ",
    " ніколи ",
    " завжди ",
    " nigdy ",
    " zawsze ",
    " musi ",
    " asla ",
    " her zaman ",
    " jangan ",
    " harus ",
    " không ",
    "不要",
    "必须",
    "必須",
    "不能",
    "禁止",
    "务必",
    "请勿",
    "别改",
    "不许",
    "一定要",
    "只能",
    "不得",
    "ないで",
    "必ず",
    "してはいけ",
    "しなければ",
    "べきで",
    "하지 마",
    "하지마",
    "반드시",
    "절대",
    " يجب ",
    " دائما",
    " أبدا",
    " ممنوع ",
];

/// Words that wish, or that only deny.
const WEAK: &[&str] = &[
    "| no ",
    " instead of ",
    " nicht ",
    " kein ",
    " keine ",
    " keinen ",
    " não ",
    " не ",
    " لا ",
    "| non ",
    "| nein ",
    " should ",
    " only ",
    " prefer ",
    " use ",
    " keep ",
    " without ",
    " ensure ",
    " please ",
    " stick to ",
    " needs to ",
    " soll ",
    " sollte ",
    " nur ",
    " bitte ",
    " ohne ",
    " solo ",
    " usa ",
    " sin ",
    " seulement ",
    " sans ",
    " только ",
    " без ",
    "应该",
    "只用",
    "请用",
    "尽量",
    "ください",
    "だけ",
    "해 주세요",
    " فقط ",
];

/// Words of a decision in what an assistant reports.
const DECIDED: &[&str] = &[
    " decided ",
    " we'll go with ",
    " going with ",
    " chose ",
    " opted ",
    " agreed ",
    " rather than ",
    " in favor of ",
    " entschieden ",
    " statt ",
    " décidé ",
    " plutôt que ",
    " decidí ",
    " decidimos ",
    " en lugar de ",
    " decidiu ",
    " решил",
    " вместо ",
    "决定",
    "採用",
    "采用",
    "ことにし",
    "결정",
];

/// How strongly a sentence of the user's binds; below 3, it does not.
pub(super) fn binding(sentence: &str) -> u32 {
    let length = units(sentence);
    if !(8..=320).contains(&length) || words(sentence) < 1.5 {
        return 0;
    }
    let padded = padded(sentence);
    let has = |cues: &[&str]| cues.iter().filter(|cue| padded.contains(*cue)).count() as u32;
    let shouted = sentence.split(|c: char| !c.is_alphabetic()).any(is_shouted);
    let stressed = sentence.contains(['!', '！']);
    let asked = asks(sentence);
    let score = 3 * has(STRONG).min(2)
        + 2 * has(WEAK).min(2)
        + u32::from(stressed)
        + u32::from(sentence.contains("!!"))
        + u32::from(shouted)
        + u32::from(sentence.contains('`'));
    let hedged = [" i don't ", " i dont ", " don't know ", " i do not ", " not sure "]
        .iter()
        .any(|cue| padded.contains(cue));
    score.saturating_sub(if asked { 4 } else { 0 }).saturating_sub(if hedged { 4 } else { 0 })
}

/// Whether a sentence of a report tells a decision.
pub(super) fn decides(sentence: &str) -> bool {
    let padded = padded(sentence);
    words(sentence) >= 4.0 && !asks(sentence) && DECIDED.iter().any(|cue| padded.contains(cue))
}

/// A word in capitals that is stressed and not an abbreviation: four letters or more.
fn is_shouted(word: &str) -> bool {
    word.chars().count() >= 4 && word.chars().all(char::is_uppercase)
}

/// Lower case; what is neither letter nor apostrophe is a space, and punctuation a `|`.
fn padded(sentence: &str) -> String {
    let mut out = String::from("| ");
    for c in sentence.chars().flat_map(char::to_lowercase) {
        match c {
            '’' => out.push('\''),
            c if c.is_alphabetic() || c == '\'' => out.push(c),
            ',' | ';' | ':' | '(' | '.' | '!' | '?' | '-' | '–' | '—' if !out.ends_with("| ") => {
                out.push_str(if out.ends_with(' ') { "| " } else { " | " });
            }
            _ if !out.ends_with(' ') => out.push(' '),
            _ => {}
        }
    }
    out.push(' ');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_bind_in_several_languages() {
        for sentence in [
            "a broken config must NEVER crash it",
            "no debug output, don't print!",
            "不要改动数据库的结构。",
            "テストを必ず実行してください。",
            "لا تغير قاعدة البيانات أبدا",
            "никогда не трогай миграции",
            "Bitte niemals direkt auf main pushen.",
        ] {
            assert!(binding(sentence) >= 3, "{sentence}");
        }
        for sentence in [
            "make the border a little wider",
            "ok",
            "what do you think?",
            "i don't understand this",
            "the colors don't match",
            "это не работает",
        ] {
            assert!(binding(sentence) < 3, "{sentence}");
        }
    }

    #[test]
    fn decisions_are_told() {
        assert!(decides("We decided to keep the old parser for now."));
        assert!(!decides("Should we use X rather than Y?"));
    }
}
