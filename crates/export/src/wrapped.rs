//! Texts that agents enclose in elements of their own before they send them: attached files,
//! skills, lists of files, notes of an editor.

use pisess_core::format::format_count;
use pisess_core::session::envelope::EDITOR_ELEMENTS;

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPart<'t> {
    /// Text outside such elements.
    Text(&'t str),
    /// An attached file: its path and its content.
    File(&'t str, &'t str),
    /// The instructions of a skill: its name and its content.
    Skill(&'t str, &'t str),
    /// What the extension of an editor tells the model: which file is open, what is selected.
    EditorNote(&'t str),
    /// The files that were read, one per line.
    ReadFiles(&'t str),
    /// The files that were changed, one per line.
    ModifiedFiles(&'t str),
}

impl TextPart<'_> {
    /// Returns the line that is shown while the element is folded, such as `2 files read`. `None`
    /// for text, which is not folded.
    pub fn title(self) -> Option<String> {
        match self {
            TextPart::Text(_) => None,
            TextPart::File(name, _) => Some(format!("File {name}")),
            TextPart::Skill(name, _) => Some(format!("Skill {name}")),
            TextPart::EditorNote(_) => Some("From the editor".to_owned()),
            TextPart::ReadFiles(body) => Some(format!("{} read", describe_file_count(body))),
            TextPart::ModifiedFiles(body) => Some(format!("{} changed", describe_file_count(body))),
        }
    }
}

/// Returns the number of files in a list in words, such as `2 files`. The list has a file per line.
fn describe_file_count(list: &str) -> String {
    let count = list.lines().filter(|line| !line.trim().is_empty()).count();
    format_count(count, "file", "files")
}

/// The tags of such elements.
const TAGS: [&str; 6] = [
    "file",
    "skill",
    "read-files",
    "modified-files",
    EDITOR_ELEMENTS[0],
    EDITOR_ELEMENTS[1],
];

/// Divides a text into its elements and the text between them.
///
/// An element begins a line. It ends with its closing tag, which is on the same line or at the
/// start of a later line; that of an editor's note may be anywhere on it. An element without a
/// closing tag is text.
///
/// ```text
/// look                    Text("look\n")
/// <file name="a.rs">      File("a.rs", "fn a() {}\n")
/// fn a() {}
/// </file>
/// ```
pub fn split_parts(text: &str) -> Vec<TextPart<'_>> {
    let mut parts = Vec::new();
    let mut reader = ElementReader::new(text);
    let mut part_start = 0;
    let mut search_start = 0;
    while let Some(distance) = text[search_start..].find('<') {
        let element_start = search_start + distance;
        search_start = element_start + 1;
        if !begins_line(text, element_start) {
            continue;
        }
        let Some(element) = reader.read_element(element_start) else {
            continue;
        };
        parts.push(TextPart::Text(&text[part_start..element_start]));
        parts.push(element.part);
        part_start = element.end;
        search_start = element.end;
    }
    parts.push(TextPart::Text(&text[part_start..]));
    parts
}

/// Whether there is only white space before the offset on its line.
fn begins_line(text: &str, offset: usize) -> bool {
    let before = text[..offset].trim_end_matches([' ', '\t']);
    before.is_empty() || before.ends_with('\n')
}

/// An element in a text.
struct Element<'t> {
    part: TextPart<'t>,
    /// The offset behind its closing tag.
    end: usize,
}

/// Reads the elements of a text, from its start to its end.
struct ElementReader<'t> {
    text: &'t str,
    /// For each tag of [`TAGS`], the result of the last search for its closing tag. Without it, the
    /// text would be searched to its end for each opening tag that is not closed.
    last_found: [LastFound; TAGS.len()],
}

/// The result of the last search for a closing tag.
#[derive(Clone, Copy)]
enum LastFound {
    /// It was not searched for yet.
    NotSearched,
    /// It was found at this offset.
    At(usize),
    /// The text was searched to its end.
    Nowhere,
}

impl<'t> ElementReader<'t> {
    fn new(text: &'t str) -> Self {
        ElementReader {
            text,
            last_found: [LastFound::NotSearched; TAGS.len()],
        }
    }

    /// Reads the element whose `<` is at the offset `start`. `None` if the text there is not an
    /// element as the agents write it: if its opening tag is another one ([`OpeningTag::read`]), or
    /// if it has no closing tag.
    ///
    /// `start` must ascend from call to call.
    fn read_element(&mut self, start: usize) -> Option<Element<'t>> {
        let text = self.text;
        let line_end = match text[start..].find('\n') {
            Some(newline) => start + newline,
            None => text.len(),
        };
        let opening = OpeningTag::read(&text[start..line_end])?;
        let tag = TAGS[opening.tag_index];

        // The body begins on the line of the opening tag. The closing tag may be on this line, too,
        // or at the start of a later one.
        let closing_tag = format!("</{tag}>");
        let body_start = start + opening.len;
        let body_end = match text[body_start..line_end].find(&closing_tag) {
            Some(distance) => body_start + distance,
            None => self.find_closing_tag(opening.tag_index, line_end)?,
        };

        let body = &text[body_start..body_end];
        let body = body.strip_prefix('\n').unwrap_or(body);
        let part = match tag {
            "file" => TextPart::File(opening.name, body),
            "skill" => TextPart::Skill(opening.name, body),
            "read-files" => TextPart::ReadFiles(body),
            "modified-files" => TextPart::ModifiedFiles(body),
            _ => TextPart::EditorNote(body),
        };
        Some(Element {
            part,
            end: body_end + closing_tag.len(),
        })
    }

    /// Returns the offset of the first closing tag for `TAGS[tag_index]` after `line_end`; `None`
    /// if there is none. Unless the element is a note of an editor, the tag must begin a line.
    /// `line_end` is the offset of a line break or of the end of the text.
    fn find_closing_tag(&mut self, tag_index: usize, line_end: usize) -> Option<usize> {
        match self.last_found[tag_index] {
            // A tag that was found further down is the first one after this line, too.
            LastFound::At(offset) if offset > line_end => return Some(offset),
            LastFound::Nowhere => return None,
            LastFound::At(_) | LastFound::NotSearched => {}
        }

        let tag = TAGS[tag_index];
        let before_tag = if EDITOR_ELEMENTS.contains(&tag) {
            ""
        } else {
            "\n"
        };
        match self.text[line_end..].find(&format!("{before_tag}</{tag}>")) {
            Some(distance) => {
                let offset = line_end + distance + before_tag.len();
                self.last_found[tag_index] = LastFound::At(offset);
                Some(offset)
            }
            None => {
                self.last_found[tag_index] = LastFound::Nowhere;
                None
            }
        }
    }
}

/// The opening tag of an element.
struct OpeningTag<'t> {
    /// Its index in [`TAGS`].
    tag_index: usize,
    /// The name in its attributes; empty for a list of files, which has none.
    name: &'t str,
    /// Its length in bytes, from `<` to `>`.
    len: usize,
}

impl<'t> OpeningTag<'t> {
    /// Reads the opening tag at the start of a line, such as `<file name="a.rs">`. `None` if it is
    /// not a tag that the agents write:
    ///
    /// - it is not one of [`TAGS`];
    /// - it is of a file or a skill without a name;
    /// - it is of a list of files or of an editor, and has attributes.
    fn read(line: &'t str) -> Option<OpeningTag<'t>> {
        let after_bracket = line.strip_prefix('<')?;
        let begins_with_tag = |tag: &&str| {
            let after_tag = after_bracket.strip_prefix(tag);
            after_tag.is_some_and(|after_tag| after_tag.starts_with(['>', ' ']))
        };
        let tag_index = TAGS.iter().position(begins_with_tag)?;
        let tag = TAGS[tag_index];
        let (attributes, after_opening_tag) = after_bracket[tag.len()..].split_once('>')?;

        let is_named = matches!(tag, "file" | "skill");
        let name = if is_named {
            name_attribute(attributes)?
        } else if attributes.is_empty() {
            ""
        } else {
            return None;
        };
        Some(OpeningTag {
            tag_index,
            name,
            len: line.len() - after_opening_tag.len(),
        })
    }
}

/// Returns the name in the attributes of an element: `a.rs` of ` name="a.rs"`.
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

        let notes = "<ide_selection>The lines 1 to 2 of a.rs:\nfn a() {\n}</ide_selection>draw it";
        assert_eq!(
            split_parts(notes)[1..],
            [
                TextPart::EditorNote("The lines 1 to 2 of a.rs:\nfn a() {\n}"),
                TextPart::Text("draw it")
            ]
        );
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
    fn missing_closing_tags_are_searched_once() {
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
