//! Texts that agents enclose in elements of their own before they send them: attached files, skills, lists of files.

use crate::format::counted;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'t> {
    /// Text outside such elements.
    Text(&'t str),
    /// An attached file: its path and its content.
    File(&'t str, &'t str),
    /// The instructions of a skill: its name and its content.
    Skill(&'t str, &'t str),
    /// The files that were read, one per line.
    Read(&'t str),
    /// The files that were changed, one per line.
    Modified(&'t str),
}

impl Part<'_> {
    /// Returns the line that stands for an element while it is folded; `None` for text.
    pub fn title(self) -> Option<String> {
        let files = |body: &str| {
            counted(body.lines().filter(|line| !line.trim().is_empty()).count(), "file", "files")
        };
        match self {
            Part::Text(_) => None,
            Part::File(name, _) => Some(format!("File {name}")),
            Part::Skill(name, _) => Some(format!("Skill {name}")),
            Part::Read(body) => Some(format!("{} read", files(body))),
            Part::Modified(body) => Some(format!("{} changed", files(body))),
        }
    }
}

/// Returns the parts of a text. An element begins a line and ends with its closing tag; one without an end is text.
pub fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(found) = text[at..].find('<').map(|found| at + found) {
        at = found + 1;
        let begins_line =
            text[..found].trim_end_matches([' ', '\t']).bytes().last().is_none_or(|c| c == b'\n');
        let Some((element, end)) = begins_line.then(|| element(text, found)).flatten() else {
            continue;
        };
        parts.extend([Part::Text(&text[start..found]), element]);
        (start, at) = (end, end);
    }
    parts.push(Part::Text(&text[start..]));
    parts
}

/// Returns the element that begins at `start`, and where it ends.
fn element(text: &str, start: usize) -> Option<(Part<'_>, usize)> {
    let rest = &text[start + 1..];
    let tag = ["file", "skill", "read-files", "modified-files"]
        .into_iter()
        .find(|tag| rest.strip_prefix(tag).is_some_and(|behind| behind.starts_with(['>', ' '])))?;
    let (head, behind) = rest[tag.len()..].split_once('>')?;
    let closing = format!("</{tag}>");
    let ends = |at: usize| at == 0 || behind.as_bytes()[at - 1] == b'\n' || !behind[..at].contains('\n');
    let end = behind.match_indices(&closing).map(|(at, _)| at).find(|&at| ends(at))?;
    let body = behind[..end].strip_prefix('\n').unwrap_or(&behind[..end]);
    let name = || Some(head.split_once("name=\"")?.1.split_once('"')?.0);
    let part = match tag {
        "file" => Part::File(name()?, body),
        "skill" => Part::Skill(name()?, body),
        _ if !head.is_empty() => return None,
        "read-files" => Part::Read(body),
        _ => Part::Modified(body),
    };
    Some((part, text.len() - behind.len() + end + closing.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_agents_are_found_and_others_are_text() {
        let text = "look\n<file name=\"a.rs\">\nfn a() { \"</file>\" }\n</file>\n<plan>\nx\n</plan>\n<skill name=\"s\" location=\"/s\">\nBe.\n</skill>\n\ngo";
        let found = parts(text);
        assert_eq!(
            found,
            [
                Part::Text("look\n"),
                Part::File("a.rs", "fn a() { \"</file>\" }\n"),
                Part::Text("\n<plan>\nx\n</plan>\n"),
                Part::Skill("s", "Be.\n"),
                Part::Text("\n\ngo"),
            ]
        );
        let lists = parts("<read-files>\na\nb\n</read-files>\n\n<modified-files>\nc\n</modified-files>");
        assert_eq!(lists[1], Part::Read("a\nb\n"));
        assert_eq!(lists[1].title().unwrap(), "2 files read");
        for text in [
            "<file name=\"x\">\nno end",
            "a <file name=\"x\"></file>",
            "<files></files>",
            "<file>x</file>",
            "",
        ] {
            assert_eq!(parts(text), [Part::Text(text)], "{text}");
        }
    }
}
