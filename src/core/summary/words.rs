//! What the user's words bind, choose and give, beyond the request itself.

use super::clean::{line, quoted, start};
use super::cues::{binding, decides};
use super::previous::{Previous, Section};
use super::prose::{addresses, closing_question, gives_values, same, sentences, words};
use super::render::CONSTRAINT;
use std::collections::VecDeque;

/// Constraints, decisions and facts that are kept.
const CONSTRAINTS: usize = 24;
const DECISIONS: usize = 12;
const FACTS: usize = 12;

/// What a fact begins with that quotes values.
pub(super) const GAVE: &str = "The user gave: ";

/// A sentence that binds.
#[derive(Debug)]
pub(super) struct Constraint {
    pub text: String,
    pub weight: u32,
}

#[derive(Debug, Default)]
pub(super) struct Words {
    /// Sentences of the user's that command or forbid, in order.
    pub constraints: Vec<Constraint>,
    /// Choices, in order.
    pub decisions: VecDeque<String>,
    /// Values and addresses that the user gave, in order.
    pub facts: VecDeque<String>,
}

impl Words {
    /// Takes in a message of the user's; `answers` is the question it answers.
    pub fn listen(&mut self, text: &str, said: &str, answers: Option<&str>, turn: u32) {
        for sentence in sentences(said) {
            // Of two that bind alike, the later one stays.
            let weight = binding(sentence);
            if weight >= 3 {
                self.constrain(Constraint {
                    text: quoted(sentence, CONSTRAINT),
                    weight: weight * 1000 + turn.min(900),
                });
            }
        }
        if let Some(question) = answers {
            let decision = format!("Asked {}, the user said {}", quoted(question, 180), quoted(said, 160));
            push(&mut self.decisions, DECISIONS, decision);
        }
        if gives_values(text) {
            push(&mut self.facts, FACTS, format!("{GAVE}{}", quoted(said, 260)));
        }
        for address in addresses(text) {
            push(&mut self.facts, FACTS, format!("The user named {}", line(address, 200)));
        }
    }

    /// Takes in the final answer of a turn.
    pub fn conclude(&mut self, text: &str) {
        let question = closing_question(text);
        let told = sentences(start(text, 4_000)).into_iter().filter(|sentence| decides(sentence));
        for sentence in told.filter(|sentence| question.as_deref() != Some(*sentence)).take(2) {
            push(&mut self.decisions, DECISIONS, line(&sentence.replace("**", ""), 220));
        }
    }

    /// Takes in the summary of another branch.
    pub fn explored(&mut self, branch: &Previous) {
        let mut points = Vec::new();
        for section in [Section::Goal, Section::Done, Section::Context, Section::Blocked] {
            points.extend(branch.of(section).take(2).map(|point| line(point, 140)));
        }
        if !points.is_empty() {
            push(&mut self.facts, FACTS, format!("On another branch: {}", line(&points.join("; "), 400)));
        }
    }

    fn constrain(&mut self, new: Constraint) {
        self.constraints.retain(|known| !same(&known.text, &new.text));
        if self.constraints.len() == CONSTRAINTS {
            let lightest = self.constraints.iter().enumerate().min_by_key(|(_, known)| known.weight);
            if let Some((at, _)) = lightest {
                self.constraints.remove(at);
            }
        }
        self.constraints.push(new);
    }
}

fn push(list: &mut VecDeque<String>, most: usize, text: String) {
    list.retain(|known| !same(known, &text));
    if list.len() == most {
        list.pop_front();
    }
    list.push_back(text);
}

/// Whether a text has a word of what the summary should look at.
pub(super) fn share(focus: &str, text: &str) -> bool {
    let text = text.to_lowercase();
    let mut parts = focus.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    parts.any(|part| words(&part) >= 0.8 && text.contains(&part))
}
