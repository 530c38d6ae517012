//! The rules of a skill: instructions for a kind of work, which the user or the assistant called.
//! They bind the work as the user's own rules do, but no request has them.
//!
//! ```text
//! Base directory for this skill: /home/ada/skills/chart
//!
//! ## Hard rules
//! - Never name the captain.    ──>  Rules of the skill `/home/ada/skills/chart`: "Never name the
//! - Files are local.                captain.; Do not: always print"
//! Do not:
//! - always print
//! ```
//!
//! Rules are quoted in their order, each with the line above its list, which may turn it into its
//! opposite. A skill counts only if the agent marks its text as such: a file that was read is none.

use super::budget::{RULE, SKILL_RULES};
use super::fitting::keep_first;
use super::one_line::cut_line;
use super::prose::{is_list_item, strip_item_mark};
use super::quote::{code_span, count_utf16};
use super::sections::SKILL_RULES_LEAD;
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

/// The number of turns after that of the call in which a skill still binds.
const BINDING_TURNS: usize = 3;
/// The number of rules that are quoted: the first.
const MOST_RULES: usize = 6;
/// A line above a list of more units is a paragraph of its own.
const LONGEST_LEAD: usize = 100;
/// The units of a path, of which the end says most.
const LONGEST_PLACE: usize = 110;

/// What Claude Code writes above the instructions of a skill.
const BASE_DIRECTORY: &str = "Base directory for this skill: ";

/// The words of a rule.
const BINDS: &str = r"(?ix)(^|\W)(never|always|must|mustn['’]t|do\ not|don['’]?t
    | nie|niemals|immer|muss|müssen|darf|dürfen|kein\w* | jamais|toujours|ne\ \w+\ pas
    | nunca|siempre|sempre | никогда|всегда|нельзя)(\W|$)
    | 不要|必须|禁止|切勿|絶対|必ず|절대|반드시";

/// The words of a heading below which is what not to do, or an example.
const FAULTS: &str = r"(?ix)(^|\W)(never|(do|should|must)\ not|not\ to|don['’]?ts?|avoid|anti
    | anti-?patterns?|mistakes?|wrong|bad|incorrect|pitfalls?|examples?
    | niemals|nicht\ (tun|machen)|fehler|beispiele?|jamais|erreurs?|exemples?
    | nunca|errores|ejemplos?|нельзя|ошибки|примеры?)(\W|$)
    | 不要|禁止|错误|示例|例子|悪い|例|금지|예시";

/// The skill that was called last.
pub(super) struct InvokedSkill {
    /// Where its instructions are, or its name.
    place: String,
    rules: Vec<String>,
    turn_number: usize,
}

impl InvokedSkill {
    /// Reads the rules in the instructions of a skill that was called in a turn.
    pub fn read(place: &str, instructions: &str, turn_number: usize) -> InvokedSkill {
        InvokedSkill {
            place: place.to_owned(),
            rules: find_rules(instructions),
            turn_number,
        }
    }

    /// Quotes its rules on one line. `None` if it has none, or does not bind any more.
    pub fn describe(&self, turn_number: usize) -> Option<String> {
        let age = turn_number.saturating_sub(self.turn_number);
        if self.rules.is_empty() || age > BINDING_TURNS {
            return None;
        }
        let mut rules = Vec::new();
        for rule in &self.rules {
            rules.push(cut_line(rule, RULE).replace('"', "'"));
        }
        let shown = keep_first(rules, SKILL_RULES).join("; ");
        let place = code_span(&self.place, LONGEST_PLACE);
        // The lead ends with the mark that begins the place.
        let place = place.trim_start_matches('`');
        Some(format!("{SKILL_RULES_LEAD}{place}: \"{shown}\""))
    }
}

/// The text of a skill in a message.
pub(super) struct SkillText<'m> {
    pub place: &'m str,
    pub instructions: &'m str,
}

impl<'m> SkillText<'m> {
    /// Finds the skill that Claude Code gave to the model: its folder is in the first line.
    pub fn find_below_folder(message: &'m str) -> Option<SkillText<'m>> {
        let (place, instructions) = message.strip_prefix(BASE_DIRECTORY)?.split_once('\n')?;
        Some(SkillText {
            place: place.trim(),
            instructions,
        })
    }

    /// Finds the skill that pi put before a request:
    /// `<skill name="chart" location="/home/ada/skills/chart/SKILL.md">…</skill>`.
    pub fn find_in_tag(message: &'m str) -> Option<SkillText<'m>> {
        let (attributes, rest) = message.strip_prefix("<skill ")?.split_once('>')?;
        let (instructions, _) = rest.split_once("</skill>")?;
        let (_, from_location) = attributes.split_once("location=\"")?;
        let (place, _) = from_location.split_once('"')?;
        Some(SkillText {
            place,
            instructions,
        })
    }
}

/// Finds the first rules in instructions: items of lists, and paragraphs that begin with bold
/// words.
fn find_rules(instructions: &str) -> Vec<String> {
    let mut reader = RuleReader::default();
    let mut is_fenced = false;
    for line in instructions.lines() {
        let text = line.trim_start();
        if text.starts_with("```") || text.starts_with("~~~") {
            is_fenced = !is_fenced;
            continue;
        }
        if !is_fenced {
            reader.read_line(line);
        }
        if reader.rules.len() == MOST_RULES {
            return reader.rules;
        }
    }
    reader.end_rule();
    reader.rules
}

/// Reads the rules line by line.
#[derive(Default)]
struct RuleReader {
    /// The lines above the current list that end with a colon, the outermost first.
    leads: Vec<Lead>,
    /// The level of the heading below which is what not to do, or an example.
    fault_level: Option<usize>,
    /// What may be a rule, and is not read to its end yet.
    pending: String,
    rules: Vec<String>,
}

/// A line that ends with a colon, above a list.
struct Lead {
    text: String,
    /// The number of white-space characters before it; `None` if it is no item itself.
    indent: Option<usize>,
}

impl RuleReader {
    fn read_line(&mut self, line: &str) {
        let text = line.trim();
        let continues_rule = line.starts_with([' ', '\t']) && !is_list_item(line);
        if !text.is_empty() && continues_rule && !self.pending.is_empty() {
            self.pending.push(' ');
            self.pending.push_str(text);
            return;
        }

        self.end_rule();
        if text.is_empty() || text.starts_with(['|', '>']) {
            return;
        }
        if text.starts_with('#') {
            self.leads.clear();
            self.read_heading(text);
            return;
        }
        let is_item = is_list_item(line);
        if is_item {
            self.leave_inner_lists(indent_of(line));
        } else {
            self.leads.clear();
        }
        if text.trim_end_matches('*').ends_with([':', '：']) {
            self.leads.push(Lead {
                text: plain_text(text),
                indent: is_item.then(|| indent_of(line)),
            });
        } else if is_item || text.starts_with("**") {
            text.clone_into(&mut self.pending);
        }
    }

    /// Notes whether what is below a heading says what not to do. So does what is below a deeper
    /// heading.
    fn read_heading(&mut self, heading: &str) {
        let level = heading.len() - heading.trim_start_matches('#').len();
        let is_deeper = self
            .fault_level
            .is_some_and(|fault_level| level > fault_level);
        if !is_deeper {
            self.fault_level = is_of_faults(heading).then_some(level);
        }
    }

    /// Drops the leads of the lists that end before an item with this indent.
    fn leave_inner_lists(&mut self, indent: usize) {
        self.leads
            .retain(|lead| lead.indent.is_none_or(|lead_indent| lead_indent < indent));
    }

    /// Ends what may be a rule, and keeps it if it is one.
    fn end_rule(&mut self) {
        static BINDING: LazyLock<Regex> = LazyLock::new(|| compile_expression(BINDS));

        let text = std::mem::take(&mut self.pending);
        let leads: Vec<&str> = self.leads.iter().map(|lead| &*lead.text).collect();
        let lead = leads.join(" ");
        // Below a long line, what is meant would be cut off.
        let has_long_lead = count_utf16(&lead) > LONGEST_LEAD;
        if text.is_empty() || self.fault_level.is_some() || has_long_lead {
            return;
        }
        let rule = format!("{lead} {}", plain_text(&text))
            .trim_start()
            .to_owned();
        if BINDING.is_match(&rule) && self.rules.len() < MOST_RULES {
            self.rules.push(rule);
        }
    }
}

fn is_of_faults(heading: &str) -> bool {
    static FAULT: LazyLock<Regex> = LazyLock::new(|| compile_expression(FAULTS));
    FAULT.is_match(heading)
}

/// Returns the number of white-space characters before a line.
fn indent_of(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns a line without the mark of an item and the marks of bold words.
fn plain_text(line: &str) -> String {
    strip_item_mark(line).trim().replace("**", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_quoted_in_their_order_with_the_line_above_their_list() {
        for (instructions, expected) in [
            (
                "# Chart\n\nDraw charts. You must be quick.\n\n## Rules\n1. **Never** name the captain.\n2. Files are local.\n   They must not be sent.\n3. Blue is nice.\n\n**Tone:** never say \"skill\".",
                vec![
                    "Never name the captain.",
                    "Files are local. They must not be sent.",
                    "Tone: never say \"skill\".",
                ],
            ),
            (
                "Do not:\n- always print\n- send mail\n\nWhat follows is free.\n- draw\n",
                vec!["Do not: always print", "Do not: send mail"],
            ),
            (
                "Avoid these:\n- Printing:\n  - always print\n",
                vec!["Avoid these: Printing: always print"],
            ),
            (
                "- Don't do these:\n  - always print\n- Never draw in red",
                vec!["Don't do these: always print", "Never draw in red"],
            ),
            (
                "- Do:\n  - always draw\n- Don't:\n  - always print",
                vec!["Do: always draw", "Don't: always print"],
            ),
            ("## Anti-patterns\n- always print\n", vec![]),
            ("## Anti-patterns\n### Printing\n- always print\n", vec![]),
            ("~~~\n- never print\n~~~", vec![]),
            (
                "## Examples\n- You must print\n\n## Work\n- always draw",
                vec!["always draw"],
            ),
            (
                "```\n- never print\n```\n> - never print\n| never | print |",
                vec![],
            ),
            ("", vec![]),
        ] {
            assert_eq!(find_rules(instructions), expected, "{instructions}");
        }
    }

    #[test]
    fn only_the_first_rules_of_a_long_text_are_read() {
        let many = "- never print\n".repeat(70_000);
        assert_eq!(find_rules(&many).len(), MOST_RULES);
        // A lead without a list is followed by the next item.
        let leads = "- Printing is one of these:\n".repeat(40_000) + "- never print\n";
        assert_eq!(find_rules(&leads), ["never print"]);
        let long_item = format!("- never print\n{}", "  in red\n".repeat(100_000));
        assert_eq!(find_rules(&long_item).len(), 1);
    }
}
