//! A previous summary, taken apart so that a new one can go on from it.
//!
//! It may be the built-in one, whose quotations are taken back word for word, a model's in the same
//! sections, a split turn's two in one, or prose. Its points are other people's text like any other.

use super::budget::{POINT, POINTS};
use super::quote::{bare, clean, folded, line, unquoted};

/// The sections of the format, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    Goal,
    Constraints,
    Done,
    InProgress,
    Blocked,
    Decisions,
    NextSteps,
    Context,
}

/// What the built-in summary writes before a quotation, and before words on the way.
pub(super) const REQUEST: &str = "The last request, word for word:";
pub(super) const SENT: &str = "The last request, sent by the extension ";
pub(super) const ADDED: &str = "Added by the user while it was being worked on:";
pub(super) const LAST_WORDS: &str = "The assistant's last words";
pub(super) const REPLIED: &str = "The last request was ";
pub(super) const SAID: &str = "Said on the way: ";
/// What else it writes about the state it was made in, which the next summary states anew.
const STATE: [&str; 10] = [
    REPLIED,
    "The request under Goal",
    "The request before it",
    "The assistant's words before it",
    "Go on with the request",
    "The user interrupted",
    "The model's reply failed",
    "Last tool calls",
    "Todo list",
    "Earlier requests left out",
];

/// What the agents write before the summary of a branch.
const PREAMBLES: [&str; 4] = [
    "The user explored a different conversation branch before returning here.",
    "Summary of that exploration:",
    "User explored another conversation branch, then returned here.",
    "Exploration summary:",
];
/// What a heading contains that means a section, in either agent's format; the first that fits.
const NAMES: [(&str, Section); 13] = [
    ("goal", Section::Goal),
    ("originalrequest", Section::Goal),
    ("constraint", Section::Constraints),
    ("inprogress", Section::InProgress),
    ("progresssofar", Section::InProgress),
    ("earlyprogress", Section::InProgress),
    ("blocked", Section::Blocked),
    ("done", Section::Done),
    ("progress", Section::Done),
    ("decision", Section::Decisions),
    ("nextstep", Section::NextSteps),
    ("context", Section::Context),
    ("additionalnotes", Section::Context),
];
#[derive(Debug, Default)]
pub(super) struct Previous {
    /// The running request, what was added to it, and the extension that sent it.
    pub request: Option<String>,
    pub added: Vec<String>,
    pub sender: Option<String>,
    pub last_words: String,
    pub answered: bool,
    points: Vec<(Section, String)>,
}

impl Previous {
    /// Takes a summary apart.
    pub fn parse(summary: &str) -> Self {
        let mut previous = Previous::default();
        let (mut section, mut open) = (Section::Context, false);
        let mut lines = summary.lines().peekable();
        while let Some(raw) = lines.next() {
            let raw = PREAMBLES.iter().fold(raw, |raw, preamble| raw.strip_prefix(preamble).unwrap_or(raw));
            let text = raw.trim();
            if let Some(name) = heading(text) {
                section = section_named(name).unwrap_or(Section::Context);
                open = section_named(name).is_none() && previous.add(section, &format!("{name}:"), false);
            } else if text.trim_matches(['-', '=', '*', '_']).is_empty() {
                open = false;
            } else if text.starts_with('<') {
                let length = tagged(text, lines.clone());
                lines.by_ref().take(length).for_each(|_| ());
            } else if text.ends_with(':') && lines.peek().is_some_and(|next| next.starts_with('>')) {
                let quotation = std::iter::from_fn(|| lines.next_if(|line| line.starts_with('>')));
                previous.quotation(section, text, unquoted(quotation));
            } else {
                let indented = raw.starts_with("  ") || raw.starts_with('\t');
                let continues = open && (indented || bare(text).len() == text.len());
                open = previous.add(section, text, continues);
            }
        }
        let answered = previous.of(Section::NextSteps).any(|point| point.starts_with(REPLIED));
        previous.answered = answered;
        previous.points.retain(|(_, point)| !is_state(point));
        previous
    }

    /// Returns the points of one section, oldest first.
    pub fn of(&self, section: Section) -> impl DoubleEndedIterator<Item = &str> {
        self.points.iter().filter(move |(of, _)| *of == section).map(|(_, text)| text.as_str())
    }

    /// Drops the points of a section that are taken up elsewhere.
    pub fn settle(&mut self, section: Section, mut taken: impl FnMut(&str) -> bool) {
        self.points.retain(|(of, point)| *of != section || !taken(point));
    }

    /// Takes in a quotation below the line that names it.
    fn quotation(&mut self, section: Section, name: &str, text: String) {
        let text = clean(&text);
        match name {
            REQUEST => self.request = Some(text),
            ADDED => self.added.push(text),
            _ if name.starts_with(LAST_WORDS) => self.last_words = text,
            _ if name.starts_with(SENT) => {
                self.request = Some(text);
                self.sender = name.strip_prefix(SENT).map(|kind| kind.trim_end_matches(':').to_owned());
            }
            _ if is_state(bare(name)) => {}
            _ => drop(self.add(section, &format!("{name} {text}"), false)),
        }
    }

    /// Adds a point, or goes on with the last one. Returns whether the next line may go on with it.
    fn add(&mut self, section: Section, raw: &str, continues: bool) -> bool {
        // An older summary may have quoted a list mark.
        let text = line(raw, POINT).replacen("\"- ", "\"", 1);
        if matches!(folded(&text).as_str(), "" | "none" | "na") {
            return continues;
        }
        let full = self.points.len() >= POINTS;
        match self.points.last_mut().filter(|_| continues || full) {
            Some((_, last)) => *last = line(&format!("{last} {text}"), POINT),
            None => self.points.push((section, text)),
        }
        true
    }
}

fn is_state(point: &str) -> bool {
    STATE.iter().any(|start| point.trim_start_matches("[ ] ").starts_with(start))
}

/// Returns how many of the lines behind a tag belong to it and not to the summary: the agents' file
/// lists, and what another tool put there. A tag around sections only opens and closes.
fn tagged<'a>(open: &str, ahead: impl Iterator<Item = &'a str> + Clone) -> usize {
    let name =
        open[1..].split(|c: char| !(c.is_alphanumeric() || "-_".contains(c))).next().unwrap_or_default();
    let close = format!("</{name}>");
    let Some(length) = ahead.clone().position(|line| line.contains(&close)) else { return 0 };
    let is_section = |line: &str| heading(line.trim()).is_some_and(|name| section_named(name).is_some());
    if name.is_empty() || open.contains(&close) || ahead.take(length).any(is_section) {
        0
    } else {
        length + 1
    }
}

/// Returns the name in a heading: `## So`, or a line that is `**So**` and names a section.
fn heading(line: &str) -> Option<&str> {
    if line.starts_with('#') {
        return line.trim_start_matches('#').strip_prefix(' ').map(str::trim);
    }
    let name = line.strip_prefix("**")?.trim_end_matches(':').strip_suffix("**")?;
    section_named(name).map(|_| name)
}

fn section_named(name: &str) -> Option<Section> {
    let name = folded(name);
    NAMES.iter().find(|(part, _)| name.contains(part)).map(|(_, section)| *section)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(previous: &Previous, section: Section) -> Vec<&str> {
        previous.of(section).collect()
    }

    #[test]
    fn a_models_summary_is_its_points() {
        let previous = Previous::parse(
            "## Goal\nMake it fast.\n\n## Constraints & Preferences\n(none)\n\n## Progress\n### Done\n- [x] a\n  - in b.rs\n- c\n\n## Open questions\n- d?\n- e?\n\n## Next Steps\n1. f\n2. g\n\n<read-files>\nx\n</read-files>",
        );
        assert_eq!(points(&previous, Section::Goal), ["Make it fast."]);
        assert_eq!(points(&previous, Section::Constraints), Vec::<&str>::new());
        assert_eq!(points(&previous, Section::Done), ["[x] a in b.rs", "c"]);
        assert_eq!(points(&previous, Section::NextSteps), ["f", "g"]);
        assert_eq!(points(&previous, Section::Context), ["Open questions:", "d?", "e?"]);
    }

    #[test]
    fn a_split_turn_and_prose_have_a_place() {
        let previous = Previous::parse(
            "They spoke of cats.\n\n---\n\n**Turn Context (split turn):**\n\n## Original Request\nA dog.\n\n## Progress So Far\n- x",
        );
        assert_eq!(points(&previous, Section::Goal), ["A dog."]);
        assert_eq!(points(&previous, Section::InProgress), ["x"]);
        assert_eq!(points(&previous, Section::Context), ["They spoke of cats."]);
    }

    #[test]
    fn parts_in_other_tools_tags_are_left_out_as_a_whole() {
        let template = "Use this template for each step of the plan, please.\n".repeat(30);
        let previous = Previous::parse(&format!(
            "<summary>\n## Goal\nG\n</summary>\n\n<mem-tool version=\"2\">\n{template}</mem-tool>\n<port>\n8080\n</port>\n<open>\n## Next Steps\n1. n\n"
        ));
        assert_eq!(points(&previous, Section::Goal), ["G"]);
        assert_eq!(points(&previous, Section::NextSteps), ["n"]);
        assert!(!format!("{previous:?}").contains("template"));
    }

    #[test]
    fn its_own_quotations_come_back_word_for_word() {
        let text = format!(
            "## Goal\n{REQUEST}\n> Do:\n>\n> 1. a\n> ## Next Steps\n\n{ADDED}\n> b\n\n## Next Steps\n- {REPLIED}answered.\n\n{LAST_WORDS}:\n> Done."
        );
        let previous = Previous::parse(&text);
        assert_eq!(previous.request.as_deref(), Some("Do:\n\n1. a\n## Next Steps"));
        assert_eq!(previous.added, ["b"]);
        assert_eq!(previous.last_words, "Done.");
        assert!(previous.answered && previous.points.is_empty());
    }
}
