//! A summary of before, taken apart: its points, section by section, ready to be merged.
//!
//! It may be ours, a model's in the same format, a split turn's two in one, or plain prose. Points
//! are made fit again like any other text: a model's summary is other people's text too.

use super::clean::{bare, folded, line};

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

/// The longest point that is kept.
const POINT: usize = 420;
/// Points of a section that are looked at.
const POINTS: usize = 60;

/// The points of a previous summary.
#[derive(Debug, Default)]
pub(super) struct Previous {
    points: Vec<(Section, String)>,
}

impl Previous {
    /// Takes a summary apart.
    pub fn parse(summary: &str) -> Self {
        let mut previous = Previous::default();
        let text = without_envelope(summary);
        let mut section = None;
        let mut open = false;
        for raw in text.lines() {
            let trimmed = raw.trim();
            if let Some(heading) = heading(trimmed) {
                section = Some(section_named(heading));
                open = false;
            } else if trimmed.is_empty() || trimmed.trim_matches(['-', '=', '*', '_']).is_empty() {
                open = false;
            } else if section != Some(None) {
                previous.add(section.flatten().unwrap_or(Section::Context), raw, &mut open);
            }
        }
        previous
    }

    /// The points of one section, oldest first.
    pub fn of(&self, section: Section) -> impl DoubleEndedIterator<Item = &str> {
        self.points.iter().filter(move |(of, _)| *of == section).map(|(_, text)| text.as_str())
    }

    /// A line starts a point or goes on with the one before it.
    fn add(&mut self, section: Section, raw: &str, open: &mut bool) {
        let indented = raw.starts_with("  ") || raw.starts_with('\t');
        let text = raw.trim();
        let listed = bare(text).len() < text.len() && !text.starts_with('#');
        let text = line(text, POINT);
        if text.is_empty() || is_nothing(&text) {
            return;
        }
        let continues = *open && (indented || !listed);
        let full = self.points.iter().filter(|(of, _)| *of == section).count() >= POINTS;
        match self.points.last_mut() {
            Some((of, last)) if continues && *of == section => {
                let divider = if listed { "; " } else { " " };
                *last = line(&format!("{last}{divider}{text}"), POINT);
            }
            _ if full => {}
            _ => self.points.push((section, text)),
        }
        *open = true;
    }
}

/// Without what the agents put around a summary: file lists in tags, and the preamble of a branch.
fn without_envelope(summary: &str) -> String {
    let mut text = summary.to_owned();
    for tag in ["read-files", "modified-files", "files"] {
        let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
        while let Some(start) = text.find(&open) {
            let end = text[start..].find(&close).map_or(text.len(), |at| start + at + close.len());
            text.replace_range(start..end, "");
        }
    }
    for preamble in [
        "The user explored a different conversation branch before returning here.",
        "Summary of that exploration:",
        "User explored another conversation branch, then returned here.",
        "Exploration summary:",
    ] {
        if let Some(at) = text.find(preamble).filter(|&at| at < 200) {
            // A model's text may follow without a newline.
            text.replace_range(at..at + preamble.len(), "\n");
        }
    }
    text
}

/// The name in a heading, `## So` or a line that is `**So:**` and nothing more.
fn heading(line: &str) -> Option<&str> {
    if line.starts_with('#') {
        let name = line.trim_start_matches('#');
        return name.starts_with(' ').then(|| name.trim());
    }
    let name = line
        .strip_prefix("**")?
        .strip_suffix("**")
        .or_else(|| line.strip_prefix("**")?.strip_suffix("**:"))?;
    (section_named(name) != Some(Section::Context) || folded(name).contains("context")).then_some(name)
}

/// The section that a heading means; `None` for one whose points are not kept.
fn section_named(name: &str) -> Option<Section> {
    let name = folded(name);
    let has = |part: &str| name.contains(part);
    match () {
        () if has("file") => None,
        () if has("goal") || has("originalrequest") || has("objective") || has("task") => Some(Section::Goal),
        () if has("constraint") || has("preference") => Some(Section::Constraints),
        () if has("inprogress") || has("currentwork") => Some(Section::InProgress),
        () if has("blocked") => Some(Section::Blocked),
        () if has("done") || has("progress") || has("completed") => Some(Section::Done),
        () if has("decision") => Some(Section::Decisions),
        () if has("nextstep") => Some(Section::NextSteps),
        () => Some(Section::Context),
    }
}

/// "(none)", "None recorded.", "N/A": said where there is nothing to say.
fn is_nothing(text: &str) -> bool {
    matches!(folded(text).as_str(), "none" | "nonerecorded" | "noneyet" | "na" | "nopriorhistory" | "nothing")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(previous: &Previous, section: Section) -> Vec<&str> {
        previous.of(section).collect()
    }

    #[test]
    fn a_models_summary_is_taken_apart() {
        let previous = Previous::parse(
            "The user explored a different conversation branch before returning here.\nSummary of that exploration:\n\n\
             ## Goal\nPort the parser\nto Rust.\n\n## Constraints & Preferences\n- (none)\n\n## Progress\n### Done\n- [x] Lexer\n  - with tests\n- [x] Errors\n\n\
             ### In Progress\n- [ ] Tree\n\n## Key Decisions\n- **No recursion**: deep files\n\n## Next Steps\n1. Finish\n2. Measure\n\n\
             ## Files\n- Read: a\n\n<read-files>\na.rs\n</read-files>\n\n<modified-files>\n## Goal\n</modified-files>",
        );
        assert_eq!(points(&previous, Section::Goal), ["Port the parser to Rust."]);
        assert_eq!(points(&previous, Section::Constraints), Vec::<&str>::new());
        assert_eq!(points(&previous, Section::Done), ["Lexer; with tests", "Errors"]);
        assert_eq!(points(&previous, Section::InProgress), ["Tree"]);
        assert_eq!(points(&previous, Section::Decisions), ["**No recursion**: deep files"]);
        assert_eq!(points(&previous, Section::NextSteps), ["Finish", "Measure"]);
        assert_eq!(points(&previous, Section::Context), Vec::<&str>::new());
    }

    #[test]
    fn prose_goes_into_the_context() {
        let previous = Previous::parse("We talked about cats.\nAnd dogs.\n\nThen about birds.");
        assert_eq!(
            points(&previous, Section::Context),
            ["We talked about cats. And dogs.", "Then about birds."]
        );
    }
}
