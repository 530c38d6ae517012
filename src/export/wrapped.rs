//! Texts that agents enclose in elements of their own before they send them: attached files, skills, lists of files.

use crate::format::counted;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'t> {
    /// Text outside such elements.
    Text(&'t str),
    /// The content of an element, its kind, and the name it has.
    Wrapped(Wrapper, &'t str, &'t str),
}

/// The kind of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapper {
    /// An attached file; its name is the path.
    File,
    /// The instructions of a skill.
    Skill,
    /// The files that were read, one per line.
    Read,
    /// The files that were changed, one per line.
    Modified,
}

impl Wrapper {
    const ALL: [(Wrapper, &'static str); 4] = [
        (Wrapper::File, "file"),
        (Wrapper::Skill, "skill"),
        (Wrapper::Read, "read-files"),
        (Wrapper::Modified, "modified-files"),
    ];

    /// Returns the line that stands for the element while it is folded.
    pub fn title(self, name: &str, body: &str) -> String {
        let files = || counted(body.lines().filter(|line| !line.trim().is_empty()).count(), "file", "files");
        match self {
            Wrapper::File => format!("File {name}"),
            Wrapper::Skill => format!("Skill {name}"),
            Wrapper::Read => format!("{} read", files()),
            Wrapper::Modified => format!("{} changed", files()),
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
        let Some((wrapper, name, body, end)) = begins_line.then(|| element(text, found)).flatten() else {
            continue;
        };
        parts.push(Part::Text(&text[start..found]));
        parts.push(Part::Wrapped(wrapper, name, body));
        (start, at) = (end, end);
    }
    parts.push(Part::Text(&text[start..]));
    parts
}

/// Returns the element that begins at `start`: its kind, name and content, and where it ends.
fn element(text: &str, start: usize) -> Option<(Wrapper, &str, &str, usize)> {
    let rest = &text[start + 1..];
    let (wrapper, tag) = Wrapper::ALL
        .into_iter()
        .find(|(_, tag)| rest.strip_prefix(tag).is_some_and(|behind| behind.starts_with(['>', ' '])))?;
    let (head, behind) = rest[tag.len()..].split_once('>')?;
    let name = match wrapper {
        Wrapper::File | Wrapper::Skill => head.split_once("name=\"")?.1.split_once('"')?.0,
        Wrapper::Read | Wrapper::Modified if head.is_empty() => "",
        _ => return None,
    };
    let closing = format!("</{tag}>");
    let ends = |at: usize| at == 0 || behind.as_bytes()[at - 1] == b'\n' || !behind[..at].contains('\n');
    let end = behind.match_indices(&closing).map(|(at, _)| at).find(|&at| ends(at))?;
    let body = behind[..end].strip_prefix('\n').unwrap_or(&behind[..end]);
    let at = text.len() - behind.len() + end + closing.len();
    Some((wrapper, name, body, at))
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
                Part::Wrapped(Wrapper::File, "a.rs", "fn a() { \"</file>\" }\n"),
                Part::Text("\n<plan>\nx\n</plan>\n"),
                Part::Wrapped(Wrapper::Skill, "s", "Be.\n"),
                Part::Text("\n\ngo"),
            ]
        );
        let lists = parts("<read-files>\na\nb\n</read-files>\n\n<modified-files>\nc\n</modified-files>");
        assert_eq!(lists[1], Part::Wrapped(Wrapper::Read, "", "a\nb\n"));
        assert_eq!(Wrapper::Read.title("", "a\nb\n"), "2 files read");
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
