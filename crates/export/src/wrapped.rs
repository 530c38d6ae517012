//! Texts that agents enclose in elements of their own before they send them: attached files,
//! skills, lists of files.

use pisess_core::format::format_count;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPart<'t> {
    /// Text outside such elements.
    Text(&'t str),
    /// An attached file: its path and its content.
    File(&'t str, &'t str),
    /// The instructions of a skill: its name and its content.
    Skill(&'t str, &'t str),
    /// The files that were read, one per line.
    ReadFiles(&'t str),
    /// The files that were changed, one per line.
    ModifiedFiles(&'t str),
}

impl TextPart<'_> {
    /// The line that is shown in place of a folded element; `None` for text.
    pub fn title(self) -> Option<String> {
        match self {
            TextPart::Text(_) => None,
            TextPart::File(name, _) => Some(format!("File {name}")),
            TextPart::Skill(name, _) => Some(format!("Skill {name}")),
            TextPart::ReadFiles(body) => Some(format!("{} read", describe_file_count(body))),
            TextPart::ModifiedFiles(body) => Some(format!("{} changed", describe_file_count(body))),
        }
    }
}

/// The number of files in a list with one per line, in words.
fn describe_file_count(list: &str) -> String {
    let count = list.lines().filter(|line| !line.trim().is_empty()).count();
    format_count(count, "file", "files")
}

/// The tags of such elements.
const TAGS: [&str; 4] = ["file", "skill", "read-files", "modified-files"];

/// Divides a text into its parts. An element begins a line and ends with its closing tag, on the
/// same line or at the start of a later one; one without an end is text.
pub fn split_parts(text: &str) -> Vec<TextPart<'_>> {
    let mut parts = Vec::new();
    let mut closing_tags = ClosingTags::default();
    let mut part_start = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('<') {
        let start = at + found;
        at = start + 1;
        if !begins_line(text, start) {
            continue;
        }
        let Some(element) = read_element(text, start, &mut closing_tags) else {
            continue;
        };
        parts.push(TextPart::Text(&text[part_start..start]));
        parts.push(element.part);
        part_start = element.end;
        at = element.end;
    }
    parts.push(TextPart::Text(&text[part_start..]));
    parts
}

/// Whether there is only white space before the offset on its line.
fn begins_line(text: &str, offset: usize) -> bool {
    let before = text[..offset].trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

/// For each tag, the offset at which the closing tag was last found at the beginning of a line; the
/// length of the text if there is none any more. It is searched for once, not for each opening tag.
#[derive(Default)]
struct ClosingTags([usize; TAGS.len()]);

/// An element in a text.
struct Element<'t> {
    part: TextPart<'t>,
    /// The offset behind its closing tag.
    end: usize,
}

/// Reads the element that begins at `start`; `None` if there is none.
fn read_element<'t>(
    text: &'t str,
    start: usize,
    closing_tags: &mut ClosingTags,
) -> Option<Element<'t>> {
    let line_end = match text[start..].find('\n') {
        Some(newline) => start + newline,
        None => text.len(),
    };
    let line = &text[start + 1..line_end];
    let tag = TAGS.iter().position(|tag| {
        line.strip_prefix(tag)
            .is_some_and(|behind| behind.starts_with(['>', ' ']))
    })?;
    let (attributes, behind) = line[TAGS[tag].len()..].split_once('>')?;
    let name = match TAGS[tag] {
        "file" | "skill" => name_attribute(attributes)?,
        _ if attributes.is_empty() => "",
        _ => return None,
    };

    let closing = format!("</{}>", TAGS[tag]);
    let body_start = line_end - behind.len();
    let body_end = if let Some(at) = behind.find(&closing) {
        body_start + at
    } else {
        let closing_offset = &mut closing_tags.0[tag];
        if *closing_offset <= line_end {
            *closing_offset = match text[line_end..].find(&format!("\n{closing}")) {
                Some(newline) => line_end + newline + 1,
                None => text.len(),
            };
        }
        if *closing_offset >= text.len() {
            return None;
        }
        *closing_offset
    };

    let body = &text[body_start..body_end];
    let body = body.strip_prefix('\n').unwrap_or(body);
    let part = match TAGS[tag] {
        "file" => TextPart::File(name, body),
        "skill" => TextPart::Skill(name, body),
        "read-files" => TextPart::ReadFiles(body),
        _ => TextPart::ModifiedFiles(body),
    };
    Some(Element {
        part,
        end: body_end + closing.len(),
    })
}

fn name_attribute(attributes: &str) -> Option<&str> {
    let (_, rest) = attributes.split_once("name=\"")?;
    let (name, _) = rest.split_once('"')?;
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_agents_are_found_and_others_are_text() {
        let text = "look\n<file name=\"a.rs\">\nfn a() { \"</file>\" }\n</file>\n<plan>\nx\n</plan>\n<skill name=\"s\" location=\"/s\">\nBe.\n</skill>\n\ngo";
        let found = split_parts(text);
        assert_eq!(
            found,
            [
                TextPart::Text("look\n"),
                TextPart::File("a.rs", "fn a() { \"</file>\" }\n"),
                TextPart::Text("\n<plan>\nx\n</plan>\n"),
                TextPart::Skill("s", "Be.\n"),
                TextPart::Text("\n\ngo"),
            ]
        );
        let lists = split_parts(
            "<read-files>\na\nb\n</read-files>\n\n<modified-files>\nc\n</modified-files>",
        );
        assert_eq!(lists[1], TextPart::ReadFiles("a\nb\n"));
        assert_eq!(lists[1].title().unwrap(), "2 files read");
        let others = [
            "<files></files>",
            "<file>x</file>",
            "a <file name=\"x\"></file>",
            "",
        ];
        let open = ["<file name=\"x\">\nno end", "<file name=\"x\">\n  </file>"];
        for text in others.into_iter().chain(open) {
            assert_eq!(split_parts(text), [TextPart::Text(text)], "{text}");
        }
        let inline =
            "<file name=\"a\">\n<file name=\"b\">1</file>\n</file>\n<file name=\"c\"></file>";
        let found = split_parts(inline);
        assert_eq!(found[1], TextPart::File("a", "<file name=\"b\">1</file>\n"));
        assert_eq!(found[3], TextPart::File("c", ""));
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
            assert_eq!(split_parts(&text), [TextPart::Text(&text)]);
        }
    }
}
