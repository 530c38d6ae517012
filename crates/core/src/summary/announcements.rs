//! Announcements: remarks that only say what the assistant does next. Once it is done, they say
//! nothing: the calls show it.

use super::quote::is_narrower;
use unicode_segmentation::UnicodeSegmentation;

/// A longer remark is a plan.
const LONGEST_ANNOUNCEMENT: usize = 160;

/// Words that lead over to an announcement.
const LEADS: [&str; 10] = [
    "ok", "okay", "good", "great", "perfect", "now", "next", "first", "then", "so",
];

/// How a sentence begins that announces something, in lower case.
const STARTS: [&str; 37] = [
    "let me ",
    "let's ",
    "let’s ",
    "i'll ",
    "i’ll ",
    "i will ",
    "i'm going to ",
    "i’m going to ",
    "i need to ",
    "time to ",
    "starting ",
    "jetzt ",
    "nun ",
    "zuerst ",
    "als nächstes ",
    "ich werde ",
    "lass mich ",
    "ahora ",
    "primero ",
    "voy a ",
    "vamos a ",
    "agora ",
    "primeiro ",
    "vou ",
    "maintenant ",
    "d'abord ",
    "je vais ",
    "让我",
    "我来",
    "我将",
    "现在",
    "首先",
    "接下来",
    "次に",
    "これから",
    "이제 ",
    "먼저 ",
];

/// Whether all sentences of a short remark announce something. After a colon, a list of what is to
/// be done may follow, and so may a result.
pub(super) fn only_announces(remark: &str) -> bool {
    let text = remark.trim().trim_end_matches([':', '：']);
    if text.contains([':', '：']) || !is_narrower(text, LONGEST_ANNOUNCEMENT) {
        return false;
    }
    text.unicode_sentences()
        .all(|sentence| announces(&sentence.to_lowercase()))
}

/// Whether a sentence in lower case announces something, after words that lead over to it.
fn announces(sentence: &str) -> bool {
    let mut rest = sentence.trim_start();
    loop {
        if STARTS.iter().any(|start| rest.starts_with(start)) {
            return true;
        }
        let Some((word, after_word)) = rest.split_once([' ', ',', '!']) else {
            return false;
        };
        if !LEADS.contains(&word) {
            return false;
        }
        rest = after_word.trim_start();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remark_announces_if_each_sentence_does() {
        for (remark, announces) in [
            ("Let me look at the piers before I draw.", true),
            (
                "Good, now I need to draw them. First, let me read the map.",
                true,
            ),
            ("现在开始设计地图。首先让我查看港口。", true),
            ("The piers are drawn. Let me look at the lights.", false),
            ("I'll do this: the piers, then the lights.", false),
            ("Let me draw them. The north is at the top.", false),
            ("The lights are out.", false),
        ] {
            assert_eq!(only_announces(remark), announces, "{remark}");
        }
        let plan = "I'll draw the piers and the lights and the names of all harbours, and then print the map on two sheets, and then send both of them to the office, and a copy to the captain.";
        assert!(!only_announces(plan));
    }
}
