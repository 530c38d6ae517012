//! Texts that agents enclose in elements of their own before they send them: attached files,
//! skills, lists of files.

use pisess_core::format::counted;

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
    /// Returns the line that is shown in place of a folded element; `None` for text.
    pub fn title(self) -> Option<String> {
        let files = |body: &str| {
            counted(
                body.lines().filter(|line| !line.trim().is_empty()).count(),
                "file",
                "files",
            )
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

/// The tags of such elements.
const TAGS: [&str; 4] = ["file", "skill", "read-files", "modified-files"];

/// Returns the parts of a text. An element begins a line and ends with its closing tag, on the same
/// line or at the start of a later one; one without an end is text.
pub fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut start, mut at, mut ends) = (0, 0, [0; TAGS.len()]);
    while let Some(found) = text[at..].find('<').map(|found| at + found) {
        at = found + 1;
        let begins_line = text[..found]
            .trim_end_matches([' ', '\t'])
            .bytes()
            .last()
            .is_none_or(|c| c == b'\n');
        let Some((element, end)) = begins_line
            .then(|| element(text, found, &mut ends))
            .flatten()
        else {
            continue;
        };
        parts.extend([Part::Text(&text[start..found]), element]);
        (start, at) = (end, end);
    }
    parts.push(Part::Text(&text[start..]));
    parts
}

/// Returns the element that begins at `start`, and where it ends. For each tag, `ends` is where the
/// closing tag was found that begins a line, or the length of the text if there is none, so that it
/// is searched for once.
fn element<'t>(
    text: &'t str,
    start: usize,
    ends: &mut [usize; TAGS.len()],
) -> Option<(Part<'t>, usize)> {
    let line_end = text[start..].find('\n').map_or(text.len(), |at| start + at);
    let line = &text[start + 1..line_end];
    let tag = TAGS.iter().position(|tag| {
        line.strip_prefix(tag)
            .is_some_and(|behind| behind.starts_with(['>', ' ']))
    })?;
    let (head, behind) = line[TAGS[tag].len()..].split_once('>')?;
    let name = match TAGS[tag] {
        "file" | "skill" => head.split_once("name=\"")?.1.split_once('"')?.0,
        _ if head.is_empty() => "",
        _ => return None,
    };
    let closing = format!("</{}>", TAGS[tag]);
    let from = line_end - behind.len();
    let end = behind.find(&closing).map(|at| from + at).or_else(|| {
        if ends[tag] <= line_end {
            let next = text[line_end..].find(&format!("\n{closing}"));
            ends[tag] = next.map_or(text.len(), |at| line_end + at + 1);
        }
        Some(ends[tag]).filter(|&end| end < text.len())
    })?;
    let body = text[from..end]
        .strip_prefix('\n')
        .unwrap_or(&text[from..end]);
    let part = match TAGS[tag] {
        "file" => Part::File(name, body),
        "skill" => Part::Skill(name, body),
        "read-files" => Part::Read(body),
        _ => Part::Modified(body),
    };
    Some((part, end + closing.len()))
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
        let lists =
            parts("<read-files>\na\nb\n</read-files>\n\n<modified-files>\nc\n</modified-files>");
        assert_eq!(lists[1], Part::Read("a\nb\n"));
        assert_eq!(lists[1].title().unwrap(), "2 files read");
        let others = [
            "<files></files>",
            "<file>x</file>",
            "a <file name=\"x\"></file>",
            "",
        ];
        let open = ["<file name=\"x\">\nno end", "<file name=\"x\">\n  </file>"];
        for text in others.into_iter().chain(open) {
            assert_eq!(parts(text), [Part::Text(text)], "{text}");
        }
        let inline =
            "<file name=\"a\">\n<file name=\"b\">1</file>\n</file>\n<file name=\"c\"></file>";
        let found = parts(inline);
        assert_eq!(found[1], Part::File("a", "<file name=\"b\">1</file>\n"));
        assert_eq!(found[3], Part::File("c", ""));
    }

    #[test]
    fn what_has_no_end_is_searched_once() {
        let late = "<file name=\"x\">\n  </file>\n";
        for line in [
            "<file>\n",
            "<file name=\"x\">\n",
            late,
            "<skill x",
            "<read-files >\n",
        ] {
            let text = line.repeat(200_000);
            assert_eq!(parts(&text), [Part::Text(&text)]);
        }
    }
}
