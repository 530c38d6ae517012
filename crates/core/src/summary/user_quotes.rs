//! How a decision quotes the user, if the message is too long for it. What binds is most often not
//! at the start: an answer to three questions has its third part at the end, and a choice its
//! exception.

use super::budget::POINT;
use super::one_line::cut_line;
use super::prose::{prose_of_user, split_at_full_stops};
use super::quote::{count_utf16, quote_line};
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// The words with which a user limits, forbids or demands something.
const BINDS: &str = r"(?ix)(^|\W)(
    not?|never|only|but|must|should|except|without|until|unless|instead|at\ (most|least)|nothing
      |none|always|keep|leave
    |don[’']?t|doesn[’']?t|isn[’']?t|can[’']?t|won[’']?t
    |nicht|nie|nur|aber|muss|ohne|bis|außer|immer
    |pas|jamais|seulement|mais|sans|sauf|toujours|doit
    |nunca|nada|s[oó]lo|pero|sin|siempre|debe|hasta)(\W|$) | (^|\W)(kein|soll)";

/// What is between two sentences: a space and, in place of others, an ellipsis.
const GAP_SIZE: usize = 2;
/// A part of a sentence of fewer units says nothing.
const SHORTEST_PART: usize = 40;

/// A sentence of a message.
struct Piece<'m> {
    text: &'m str,
    /// Whether it is the first of its line.
    begins_line: bool,
    /// Whether it answers a question by its number: "2 in blue".
    begins_answer: bool,
}

impl Piece<'_> {
    /// Returns the number of UTF-16 units that it takes in a quotation.
    fn size(&self) -> usize {
        count_utf16(self.text) + GAP_SIZE
    }
}

/// Quotes a message of the user on one line of about `max` UTF-16 units. Of a message that is
/// longer by more than a fifth, these sentences are quoted, with an ellipsis for others:
///
/// - the first, and the first of each answer to a numbered question: `"1 yes. … 2 b for now. …"`;
/// - as many of the others as fit: first those that limit, forbid or demand, or have a number.
///
/// Of a message with pasted text, the start is quoted.
pub(super) fn quote_user(message: &str, max: usize) -> String {
    let longest = max + max / 5;
    if count_utf16(message) <= longest {
        return quote_line(message, longest);
    }
    let pieces = read_pieces(message);
    if pieces.len() < 2 {
        return quote_line(message, max.min(POINT));
    }

    // Without the quotation marks.
    let texts = pick_pieces(&pieces, max.saturating_sub(2));
    let line = join_pieces(&pieces, &texts);
    // The pieces are as long as they may be, so the line is not cut again.
    quote_line(&line, 2 * max)
}

/// Joins the texts of the pieces that are quoted: those of one line with a space, and lines with a
/// slash. An ellipsis replaces each row of pieces that are not quoted.
fn join_pieces(pieces: &[Piece], texts: &[Option<String>]) -> String {
    let mut line = String::new();
    for (piece, text) in pieces.iter().zip(texts) {
        match text {
            Some(text) => {
                if !line.is_empty() {
                    line.push_str(if piece.begins_line { " / " } else { " " });
                }
                line.push_str(text);
            }
            None if line.ends_with('…') => {}
            None => line.push_str(" …"),
        }
    }
    line
}

/// Divides a message into sentences. Empty if part of it is pasted.
fn read_pieces(message: &str) -> Vec<Piece<'_>> {
    let own_lines = prose_of_user(message);
    let is_part_pasted = count_filled(own_lines.iter().copied()) < count_filled(message.lines());
    if is_part_pasted {
        return Vec::new();
    }

    let mut pieces = Vec::new();
    let mut answer_count = 0;
    for line in own_lines {
        let sentences = line.split_sentence_bounds().flat_map(split_at_full_stops);
        let texts = sentences.map(str::trim).filter(|text| !text.is_empty());
        for (index, text) in texts.enumerate() {
            // Another number, as in "3 harbours", counts something.
            let begins_answer = leading_number(text) == Some(answer_count + 1);
            if begins_answer {
                answer_count += 1;
            }
            pieces.push(Piece {
                text,
                begins_line: index == 0,
                begins_answer,
            });
        }
    }
    pieces
}

/// Returns the number of lines that are not blank.
fn count_filled<'l>(lines: impl Iterator<Item = &'l str>) -> usize {
    lines.filter(|line| !line.trim().is_empty()).count()
}

/// Returns the answers of a message to numbered questions, without the numbers: `yes.` and `b, but
/// pale` in `1 yes. 2 b, but pale`. They are those to the questions from 1 on, without a gap.
pub(super) fn find_answers(message: &str) -> Vec<&str> {
    let mut answers = Vec::new();
    for piece in read_pieces(message) {
        if piece.begins_answer {
            let is_number = |c: char| c.is_ascii_digit() || "().:, ".contains(c);
            answers.push(piece.text.trim_start_matches(is_number));
        }
    }
    answers
}

/// Returns the number with which a sentence answers a question: 2 in "2 in blue", "2. in blue" and
/// "(2) in blue".
fn leading_number(text: &str) -> Option<usize> {
    let unmarked = text.trim_start_matches('(');
    let digits_end = unmarked.find(|c: char| !c.is_ascii_digit())?;
    let (digits, rest) = unmarked.split_at(digits_end);
    let after_marks = rest.trim_start_matches([')', '.', ':', ',']);
    // In "2.5 m" and "2nd", the number is part of the answer.
    if !after_marks.starts_with(' ') {
        return None;
    }
    digits.parse().ok()
}

/// Returns the text of each piece that is quoted, in all at most `max` UTF-16 units; `None` for a
/// piece that is left out.
fn pick_pieces(pieces: &[Piece], max: usize) -> Vec<Option<String>> {
    let mut picked = PickedPieces {
        texts: vec![None; pieces.len()],
        room: max,
    };
    // The leads, which are always quoted: the first piece, and the first of each answer.
    let is_lead = |index: &usize| *index == 0 || pieces[*index].begins_answer;
    let (leads, mut others): (Vec<usize>, Vec<usize>) = (0..pieces.len()).partition(is_lead);
    picked.add_leads(pieces, &leads);

    // Those that bind most come first. The sort is stable, so equals stay in order.
    others.sort_by_key(|&index| std::cmp::Reverse(weigh_piece(pieces[index].text)));
    picked.add_fitting(pieces, &others);
    picked.texts
}

/// The texts that were picked so far.
struct PickedPieces {
    /// The text of each piece; `None` if it is not picked.
    texts: Vec<Option<String>>,
    /// The number of UTF-16 units that are left.
    room: usize,
}

impl PickedPieces {
    fn add(&mut self, index: usize, text: String) {
        self.room = self.room.saturating_sub(count_utf16(&text) + GAP_SIZE);
        self.texts[index] = Some(text);
    }

    /// Adds all pieces with these indexes. If they do not fit, each is cut to the same part of the
    /// room.
    fn add_leads(&mut self, pieces: &[Piece], leads: &[usize]) {
        let sizes = leads.iter().map(|&lead| count_utf16(pieces[lead].text));
        let are_too_long = sizes.sum::<usize>() > self.room;
        let max_of_each = self.room / leads.len();
        for &lead in leads {
            let text = pieces[lead].text;
            let shown = if are_too_long {
                cut_line(text, max_of_each)
            } else {
                text.to_owned()
            };
            self.add(lead, shown);
        }
    }

    /// Adds as many of the pieces with these indexes as fit. Of the first one, a part is added if
    /// it does not fit as a whole.
    fn add_fitting(&mut self, pieces: &[Piece], indexes: &[usize]) {
        for (rank, &index) in indexes.iter().enumerate() {
            let piece = &pieces[index];
            let is_first = rank == 0;
            if piece.size() <= self.room {
                self.add(index, piece.text.to_owned());
            } else if is_first && self.room >= SHORTEST_PART {
                self.add(index, cut_line(piece.text, self.room - GAP_SIZE));
            }
        }
    }
}

/// Returns how much a sentence most likely binds.
fn weigh_piece(text: &str) -> usize {
    static BINDING: LazyLock<Regex> = LazyLock::new(|| compile_expression(BINDS));
    let has_number = text.contains(|c: char| c.is_ascii_digit());
    2 * usize::from(BINDING.is_match(text)) + usize::from(has_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_and_what_binds_is_quoted() {
        let answers = "1 yes the lamps, a second row of the same type. they were a present of the harbour office. 2 b for now. and the old ones must never be lit again";
        assert_eq!(
            quote_user(answers, 110),
            "\"1 yes the lamps, a second row of the same type. … 2 b for now. and the old ones must never be lit again\""
        );
        let lines = "1 in blue, as the sea is on all the other maps of this coast\n2 fifty\n3 a, the pilots have no other paper on board since the winter";
        assert_eq!(
            quote_user(lines, 80),
            "\"1 in blue, as the sea is… / 2 fifty / 3 a, the pilots have no…\""
        );
    }

    #[test]
    fn a_message_that_fits_or_is_pasted_is_quoted_from_its_start() {
        assert_eq!(
            quote_user("b, but small. then the legend", 25),
            "\"b, but small. then the legend\""
        );
        let pasted = "so it looks. but not always:\n\n\"a\";\"b\"\n\"1\";\"2\"\nand never the other way round";
        assert_eq!(quote_user(pasted, 40), quote_line(pasted, 40));
    }
}
