//! The parts of which a view of an entry consists: Markdown, typed text, images, folded texts and
//! folded JSON.

use super::code::{self, Language};
use super::commits::Commit;
use super::commonmark;
use super::html::{IMAGE_TYPES, NamedImage, is_allowed_address, is_base64};
use super::markup::{Markup, Tag};
use super::source::{ContentsReader, cut, decode_string};
use super::typed::{self, Author};
use super::wrapped::{TextPart, split_parts};
use pisess_core::format::changes::DiffSign;
use pisess_core::session::command_prompt::CommandPrompt;
use pisess_core::session::content::find_members;
use pisess_core::session::entry::{EntryIx, Flags, Role};
use pisess_core::session::envelope::typed_command;
use pisess_json::Raw;
use pisess_json::pretty::pretty;
use pisess_json::scan::RawString;

/// The length in bytes above which a text is long: it is decoded in parts, and no source of it is
/// kept for copying.
pub(super) const LONGEST_TEXT: usize = 8 << 20;

/// The maximum number of characters of the title of a fold.
const LONGEST_TITLE: usize = 200;

/// The members that every entry has, whatever its kind.
pub const ENVELOPE_KEYS: [&str; 4] = ["type", "id", "parentId", "timestamp"];

/// An entry prepared for display.
pub struct EntryView<'s> {
    /// Reads the entry, and others that it refers to.
    pub source: &'s ContentsReader<'s>,
    pub ix: EntryIx,
    pub markup: Markup,
    pub images: Vec<NamedImage>,
    /// The Markdown of its texts, for copying. Empty if a text is long: the page then copies the
    /// text as it is shown.
    pub markdown_source: String,
    /// Whether one of its texts has more than [`LONGEST_TEXT`] bytes.
    pub has_long_text: bool,
    pub facts: EntryFacts,
}

/// What a page keeps of an entry besides its markup.
#[derive(Debug, Default)]
pub struct EntryFacts {
    /// The model that wrote it, as `provider/model`.
    pub model: Option<String>,
    /// Whether the agent does not show it.
    pub is_hidden: bool,
    /// The change that it makes to what the model sees of another entry.
    pub edit: Option<EditFact>,
    /// The number of lines that its tool added to a file, and removed from it.
    pub changed_lines: ChangedLines,
    /// The exit code of its command, if that failed.
    pub exit_code: Option<String>,
    /// The commits that its output reports.
    pub commits: Vec<Commit>,
}

/// How many lines a change adds and removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangedLines {
    pub added: usize,
    pub removed: usize,
}

/// A change of what the model sees of another entry.
#[derive(Clone, Copy, Debug)]
pub struct EditFact {
    /// The number of the other entry.
    pub target: u32,
    /// Whether the model no longer sees anything of it.
    pub omits: bool,
}

impl ChangedLines {
    /// Counts the changed lines of a diff.
    pub fn count(lines: &[(DiffSign, &str)]) -> ChangedLines {
        let mut changed_lines = ChangedLines::default();
        for (sign, _) in lines {
            match sign {
                DiffSign::Added => changed_lines.added += 1,
                DiffSign::Removed => changed_lines.removed += 1,
                DiffSign::Common => {}
            }
        }
        changed_lines
    }
}

impl<'s> EntryView<'s> {
    /// Makes an empty view of an entry, which is drawn into `markup`.
    pub fn new(source: &'s ContentsReader<'s>, ix: EntryIx, markup: Markup) -> Self {
        EntryView {
            source,
            ix,
            markup,
            images: Vec::new(),
            markdown_source: String::new(),
            has_long_text: false,
            facts: EntryFacts::default(),
        }
    }

    /// Appends a text, and keeps its source for copying. If an agent made the text of a command,
    /// the source is the command as the user typed it.
    pub fn push_prose(&mut self, text: &str, author: Author) {
        match find_command(text, author) {
            Some(command) => self.keep_source(&command),
            None => self.keep_source(text.trim()),
        }
        push_prose(text, author, &mut self.markup);
    }

    /// Appends the source of a text to the Markdown for copying. As soon as one text of the entry
    /// is long, no source of the entry is kept, also not of its other texts.
    pub(super) fn keep_source(&mut self, text: &str) {
        if text.len() > LONGEST_TEXT {
            // Also sets `has_long_text`.
            self.discard_source();
        }
        if self.has_long_text {
            return;
        }
        if !self.markdown_source.is_empty() {
            self.markdown_source.push_str("\n\n");
        }
        self.markdown_source.push_str(text);
    }

    /// Discards the sources kept so far, because a text is long. From now on, none is kept.
    fn discard_source(&mut self) {
        self.has_long_text = true;
        self.markdown_source = String::new();
    }

    /// Appends the text of a JSON string. A long text is decoded in parts: as a whole, it would be
    /// in memory three times, as a line, as text and as markup.
    fn push_string(&mut self, string: Raw, author: Author) {
        let raw = string.raw_string().unwrap_or_default();
        if raw.len() > LONGEST_TEXT {
            self.discard_source();
            return code::push_json_output(raw, &mut self.markup);
        }
        let text = string.text().unwrap_or_default();
        self.push_prose(&text.to_string_lossy(), author);
    }

    /// Appends the content of a message: a string, or blocks. Any other value is shown as JSON.
    pub fn push_content(&mut self, content: Option<Raw>, author: Author) {
        let Some(content) = content else { return };
        if content.is_string() {
            self.push_string(content, author);
        } else if content.is_array() {
            for block in content.items() {
                self.push_block(block, author);
            }
        } else if !content.is_null() {
            self.push_json("content", content);
        }
    }

    /// Appends a block of content by its type, such as text or thinking, unless the cuts leave it
    /// out.
    ///
    /// A block is shown as JSON if its type is unknown, if it lacks the string that its type
    /// requires, or if it is a call that is not in a reply.
    fn push_block(&mut self, block: Raw, author: Author) {
        let cuts = self.source.contents.cuts;
        let [block_type, text, thinking] = find_members(block, ["type", "text", "thinking"]);
        let block_type = block_type.and_then(Raw::text).unwrap_or_default();
        let is_thinking = block_type == *"thinking" || block_type == *"redactedThinking";
        if is_thinking && cuts.omits_thinking {
            return self.note_omitted_thinking();
        }
        match block_type.as_bytes() {
            b"text" => match text {
                Some(text) if text.is_string() => self.push_string(text, author),
                _ => self.push_other_block(block),
            },
            b"thinking" => match thinking {
                Some(thinking) if thinking.is_string() => self.push_thinking(thinking),
                _ => self.push_other_block(block),
            },
            b"redactedThinking" => {
                self.markup
                    .push_text_element(Tag::Note, "Thinking, encrypted by the provider");
            }
            b"toolCall" => self.push_call_block(block),
            b"image" => self.push_image(block),
            // Without a type.
            b"" => self.push_json("block", block),
            _ => self.push_other_block(block),
        }
    }

    /// Appends a call, unless the cuts leave it out. A call that is not in a reply is shown as
    /// JSON: no result can answer it.
    fn push_call_block(&mut self, block: Raw) {
        let contents = self.source.contents;
        let is_in_reply = contents.session.is_message(self.ix, Role::Assistant);
        if !is_in_reply {
            self.push_other_block(block);
        } else if !contents.cuts.omits_tools {
            self.push_call(block);
        }
    }

    /// Appends a block that has no form of its own, as JSON.
    pub fn push_other_block(&mut self, block: Raw) {
        self.push_json("other content", block);
    }

    /// Appends what the model thought, folded, unless it is empty.
    fn push_thinking(&mut self, thinking: Raw) {
        let text = thinking.text().unwrap_or_default();
        let text = text.to_string_lossy();
        if !text.trim().is_empty() {
            self.markup.push_fold("thinking", "Thinking", |m| {
                commonmark::push_markdown(&text, m)
            });
        }
    }

    /// Appends a note that thinking is left out only so that the export is small enough. What the
    /// user asked to leave out needs no note.
    fn note_omitted_thinking(&mut self) {
        if self.source.contents.omits_thinking_for_size() {
            self.markup
                .push_text_element(Tag::Note, "Left out here: thinking");
        }
    }

    /// Appends an image, if its type is one of [`IMAGE_TYPES`] and its data is valid. In place of
    /// any other image, appends a note why it is not shown.
    pub fn push_image(&mut self, block: Raw) {
        let image_type = block
            .get("mimeType")
            .and_then(decode_string)
            .unwrap_or_default()
            .trim()
            .to_ascii_lowercase();
        let data = block.get("data").and_then(Raw::text).unwrap_or_default();
        let data = data.to_string_lossy();
        let is_known_type = IMAGE_TYPES.contains(&image_type.as_str());
        if is_known_type && !data.is_empty() && is_base64(&data) {
            self.push_named_image(&image_type, data.into_owned());
        } else {
            let url = block.get("url").and_then(decode_string);
            self.push_image_note(&image_type, &data, url.as_deref());
        }
    }

    /// Appends a note in place of an image: a link to its `url`, or why it is not shown.
    fn push_image_note(&mut self, image_type: &str, data: &str, url: Option<&str>) {
        let shown_type = if image_type.is_empty() {
            "type unknown"
        } else {
            image_type
        };
        self.markup.push_element(Tag::Note, |m| {
            m.push_text(&format!("Image, {shown_type}: "));
            if let Some(url) = url
                && is_allowed_address(url)
            {
                m.push_element_with(Tag::Link, url, |m| m.push_text(url));
            } else if data.starts_with("blob:") {
                // oh-my-pi stores large images in files of their own.
                m.push_text("kept outside of the session file");
            } else {
                m.push_text("not a type that can be shown here");
            }
        });
    }

    /// Appends the element of an image, and keeps its data under the name in the element. The name,
    /// such as `i12-0`, has the numbers of the entry and of the image, so it is unique in an
    /// export.
    fn push_named_image(&mut self, image_type: &str, data: String) {
        let entry_number = self.source.contents.entry_number(self.ix);
        // An entry that is not exported is drawn alone, so any number is unique.
        let entry_number = entry_number.unwrap_or(u32::MAX);
        let name = format!("i{entry_number}-{}", self.images.len());

        let type_and_name = format!("{image_type} {name}");
        self.markup
            .push_element_with(Tag::Image, &type_and_name, |_| ());
        self.images.push(NamedImage { name, data });
    }

    /// If the agent does not show the message, appends a note, and records it as a fact for the
    /// tree of the page.
    pub fn push_hidden_note(&mut self) {
        let entry = self.source.contents.session.entry(self.ix);
        if entry.flags.contains(Flags::HIDDEN) {
            self.facts.is_hidden = true;
            self.markup
                .push_text_element(Tag::Note, "For the model; the agent does not show it");
        }
    }

    /// Appends a text, folded, unless it is empty.
    pub fn push_folded_text(&mut self, title: &str, text: &str) {
        if !text.trim().is_empty() {
            self.markup
                .push_fold("", title, |m| push_prose(text, Author::Program, m));
        }
    }

    /// Appends the content of a message, folded.
    pub fn push_folded_content(&mut self, title: &str, content: Option<Raw>) {
        self.markup.open_with(Tag::Fold, "");
        self.markup.push_text_element(Tag::Summary, title);
        self.push_section(|view| view.push_content(content, Author::Program));
        self.markup.close();
    }

    /// Appends a section with the content that `inside` appends. Unlike in
    /// [`Markup::push_section`], `inside` gets the whole view.
    pub(super) fn push_section(&mut self, inside: impl FnOnce(&mut Self)) {
        self.markup.begin_section();
        inside(self);
        self.markup.end_section();
    }

    /// Appends the member `key` of an object as JSON, folded; nothing if the object has no such
    /// member.
    pub fn push_member(&mut self, object: Raw, key: &'static str) {
        if let Some(value) = object.get_some(key) {
            self.push_json(key, value);
        }
    }

    /// Appends the whole object as JSON, folded, if it has a member that is not shown otherwise:
    /// one that is neither in [`ENVELOPE_KEYS`] nor in `known_keys`. `known_keys` are the members
    /// that the caller shows.
    ///
    /// A value that is not an object is always appended.
    pub fn push_unless_known(&mut self, title: &str, object: Raw, known_keys: &[&str]) {
        let is_one_of = |key: RawString, names: &[&str]| names.iter().any(|name| key.is(name));
        let has_unknown_key = object
            .members()
            .any(|(key, _)| !is_one_of(key, known_keys) && !is_one_of(key, &ENVELOPE_KEYS));
        if !object.is_object() || has_unknown_key {
            self.push_json(title, object);
        }
    }

    /// Appends a value as indented JSON, folded.
    pub fn push_json(&mut self, title: &str, value: Raw) {
        let text = String::from_utf8_lossy(&pretty(value)).into_owned();
        self.markup.push_fold("data", title, |m| {
            code::push_code_block(&text, "json", Language::from_name("json"), m)
        });
    }
}

/// Appends a text: as it was typed if the author is the user, and else as Markdown. What an agent
/// has enclosed in elements, such as an attached file, is folded.
///
/// If an agent made the text of a command that the user typed, the command is shown in place of the
/// text outside of such elements.
pub fn push_prose(text: &str, author: Author, markup: &mut Markup) {
    if author == Author::User
        && let Some(prompt) = CommandPrompt::read(text)
    {
        push_command_prompt(&prompt, markup);
        return;
    }
    let command = find_command(text, author);
    if let Some(command) = &command {
        typed::push_typed(command, markup);
    }
    for part in split_parts(text) {
        match part.title() {
            // The command, which was appended above, replaces all text that is not folded.
            None if command.is_some() => {}
            None => push_part(part, author, markup),
            Some(title) => markup.push_element(Tag::Fold, |m| {
                m.push_text_element(Tag::Summary, &cut(&title, LONGEST_TITLE));
                m.push_section(|m| push_part(part, author, m));
            }),
        }
    }
}

/// Appends what the user typed, and the instructions of the command, folded.
fn push_command_prompt(prompt: &CommandPrompt, markup: &mut Markup) {
    typed::push_typed(&prompt.words(), markup);
    markup.push_element(Tag::Fold, |m| {
        m.push_text_element(Tag::Summary, "Instructions of the command");
        m.push_section(|m| commonmark::push_markdown(prompt.instructions, m));
    });
}

/// Returns the command that the user typed, if the text is what an agent made of a command. `None`
/// for any other text.
fn find_command(text: &str, author: Author) -> Option<String> {
    match author {
        Author::User => typed_command(text),
        Author::Program => None,
    }
}

/// Appends the content of a part: text as typed text or Markdown, a skill as Markdown, a file as
/// numbered lines, and a list of files as it is.
fn push_part(part: TextPart, author: Author, markup: &mut Markup) {
    match part {
        TextPart::Text(text) => match author {
            Author::User => typed::push_typed(text, markup),
            Author::Program => commonmark::push_markdown(text, markup),
        },
        TextPart::Skill(_, body) => commonmark::push_markdown(body, markup),
        TextPart::File(path, body) => {
            code::push_numbered_lines(body, 1, Language::from_path(path), markup)
        }
        TextPart::ReadFiles(body) | TextPart::ModifiedFiles(body) | TextPart::EditorNote(body) => {
            code::push_output(body, markup)
        }
    }
}
