//! The appearance of an entry, as text with a few control characters as marks.
//!
//! The page's script builds elements from markup, and [`super::html`] writes it as HTML. Both know
//! only the elements of [`Tag`]. No text of a session can become an element or an attribute: it
//! contains no marks, because [`Markup::push_text`] makes every control character visible.
//!
//! ```text
//! 01 TAG              opens an element            05 … 06   a section: built when it is viewed
//! 02 TAG value 03     opens one with a value      0e CLASS … 0f   a word of code
//! 04                  closes
//! ```

use pisess_core::format::{find_byte, push_visible_lines};
use std::ops::Range;

// The marks of the table above.
pub(super) const OPEN: char = '\x01';
pub(super) const OPEN_WITH: char = '\x02';
pub(super) const VALUE: char = '\x03';
pub(super) const CLOSE: char = '\x04';
pub(super) const SECTION: char = '\x05';
pub(super) const SECTION_END: char = '\x06';
pub(super) const WORD: char = '\x0e';
pub(super) const WORD_END: char = '\x0f';

/// Whether a byte can be in text. Marks are below 0x10; of the bytes below it, text has only line
/// breaks and tabs (see [`Markup::push_text`]).
fn is_in_text(byte: u8) -> bool {
    byte >= 0x10 || byte == b'\n' || byte == b'\t'
}

macro_rules! tags {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $element:literal, $class:literal;)*) => {
        /// The elements that an entry is made of.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Tag {
            $($(#[$doc])* $variant,)*
        }

        impl Tag {
            /// The letter for the tag in markup.
            pub fn code(self) -> char {
                match self { $(Tag::$variant => $code,)* }
            }

            /// Returns the tag with this letter; `None` if no tag has it.
            pub fn from_code(code: char) -> Option<Tag> {
                match code { $($code => Some(Tag::$variant),)* _ => None }
            }

            /// Returns the name of the HTML element.
            pub fn element(self) -> &'static str {
                match self { $(Tag::$variant => $element,)* }
            }

            /// Returns the class of the HTML element; empty if it has none.
            pub fn class(self) -> &'static str {
                match self { $(Tag::$variant => $class,)* }
            }

            /// Returns all tags for the page's script, one per line: letter, element, class.
            pub fn table() -> String {
                let rows = [$(concat!($code, " ", $element, " ", $class)),*];
                rows.join("\n")
            }
        }
    };
}

tags! {
    /// A paragraph.
    Paragraph = 'p', "p", "";
    /// A paragraph that keeps its lines and spaces.
    Verbatim = 'v', "p", "verbatim";
    /// Headings of a message, below the headings of the page.
    Heading1 = '1', "h3", "h1";
    /// The second level.
    Heading2 = '2', "h4", "h2";
    /// The third level and those below.
    Heading3 = '3', "h5", "h3";
    /// A list.
    List = 'u', "ul", "";
    /// A numbered list; the value is its first number.
    Numbers = 'o', "ol", "";
    /// An item.
    Item = 'l', "li", "";
    /// A task; the value is `x` if it is done, else empty.
    Task = 'x', "span", "task";
    /// A quotation.
    Quote = 'q', "blockquote", "";
    /// A rule.
    Rule = 'h', "hr", "";
    /// A line break.
    Break = 'b', "br", "";
    /// Emphasis.
    Emphasis = 'e', "em", "";
    /// Strong emphasis.
    Strong = 's', "strong", "";
    /// Struck out.
    Struck = 'd', "del", "";
    /// Code within a line.
    Code = 'c', "code", "";
    /// A link; the value is its address.
    Link = 'a', "a", "";
    /// A link to an entry; the value is its number.
    Entry = 'k', "a", "entry";
    /// A table.
    Table = 't', "table", "";
    /// A row of a table.
    Row = 'r', "tr", "";
    /// A cell of its head; the value is its alignment.
    HeadCell = 'H', "th", "";
    /// A cell; the value is its alignment.
    Cell = 'D', "td", "";
    /// Rendered Markdown, in sections.
    Prose = 'P', "div", "prose";
    /// A block of code in sections; the value is its language, then the number of its first line if
    /// lines are numbered.
    Block = 'B', "div", "block";
    /// Terminal output in sections.
    Output = 'O', "div", "block output";
    /// A diff in sections; the value is how many lines it adds and removes.
    Diff = 'I', "div", "block diff";
    /// Added lines of a diff.
    Added = '+', "ins", "";
    /// Removed lines of a diff.
    Removed = '-', "del", "line";
    /// The number of a line of a diff, which is its value.
    LineNumber = '#', "i", "number";
    /// A part of a line of a diff that differs from the other side.
    Changed = 'w', "mark", "changed";
    /// A fold: a summary, then a section. The value is its kind.
    Fold = 'F', "details", "fold";
    /// The part of a fold that is visible while it is closed.
    Summary = 'S', "summary", "";
    /// A tool call with its result; the value is its state.
    Tool = 'T', "section", "tool";
    /// Its head line: name, subject and marks.
    ToolHead = 'Y', "div", "toolhead";
    /// The name of a tool.
    Name = 'n', "b", "name";
    /// The subject of a call, such as a path or a command.
    Subject = 'j', "code", "subject";
    /// A call whose result is an entry of its own; the value is that entry's number.
    Call = 'C', "a", "call";
    /// A mark after the subject: the exit code, the size.
    Mark = 'm', "span", "mark";
    /// A mark of failure.
    BadMark = 'M', "span", "mark bad";
    /// A remark of the page, not of the session.
    Note = 'N', "div", "note";
    /// A remark that something failed.
    Alert = 'A', "div", "note bad";
    /// An image; the value is its type, then the name of its data.
    Image = 'i', "figure", "image";
}

impl Tag {
    /// Whether the element's own text decides the direction of writing.
    pub fn has_own_direction(self) -> bool {
        let element = self.element();
        ["p", "h3", "h4", "h5", "li", "blockquote", "th", "td"].contains(&element)
    }

    /// Whether the element is part of a line.
    pub fn is_inline(self) -> bool {
        let elements = [
            "em", "strong", "del", "code", "a", "b", "i", "mark", "span", "ins", "td", "th",
            "summary",
        ];
        let element = self.element();
        // A call is a link on a line of its own.
        elements.contains(&element) && self != Tag::Call
    }
}

/// The value of a [`Tag::Fold`] with the remaining lines of a long text.
pub const REMAINDER: &str = "rest";

/// The kind of a word of code, by its letter in markup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordKind(char);

impl WordKind {
    /// A keyword.
    pub const KEYWORD: WordKind = WordKind('k');
    /// A string.
    pub const STRING: WordKind = WordKind('s');
    /// A comment.
    pub const COMMENT: WordKind = WordKind('c');
    /// A number or a constant.
    pub const NUMBER: WordKind = WordKind('n');
    /// The name of a type.
    pub const TYPE: WordKind = WordKind('t');
    /// A name that is called, or a key.
    pub const CALL: WordKind = WordKind('f');
    /// Bold text of a terminal.
    pub const BOLD: WordKind = WordKind('b');

    /// A terminal colour, 0 to 7: black, red, green, yellow, blue, magenta, cyan, white.
    pub fn from_colour(number: u16) -> WordKind {
        WordKind(char::from_digit(number.into(), 8).unwrap_or('7'))
    }

    /// Returns its letter in markup.
    pub fn letter(self) -> char {
        self.0
    }
}

/// A mark in markup, or the text between two marks.
#[derive(Clone, Copy, Debug)]
pub enum Event<'m> {
    /// Text, in which every character is visible.
    Text(&'m str),
    /// The beginning of an element, with its value; empty if it has none.
    Open(Tag, &'m str),
    /// The end of the element opened last.
    Close,
    /// The beginning of a section.
    Section,
    /// The end of a section.
    SectionEnd,
    /// The beginning of a word of code, with its letter.
    Word(char),
    /// The end of a word.
    WordEnd,
}

/// The maximum nesting of elements. The tags of deeper elements are omitted, and their text is
/// kept.
const MOST_LEVELS: usize = 24;

/// The size at which a section is full: it is full as soon as it has reached either limit.
#[derive(Clone, Copy, Debug)]
pub struct SectionLimits {
    /// Its bytes of markup.
    pub bytes: usize,
    /// The elements that were opened in it.
    pub elements: usize,
}

/// Markup under construction.
#[derive(Debug, Default)]
pub struct Markup {
    out: String,
    /// Whether code is written without words with colours, for a document that cannot show them.
    omits_colours: bool,
    /// The innermost open section. Outside of all sections, it tracks the markup between them.
    section: Section,
    /// The sections around `section`, outermost first.
    enclosing: Vec<Section>,
}

/// A section under construction.
#[derive(Debug, Default)]
struct Section {
    /// The offset in the markup at which its content begins.
    start: usize,
    /// The number of elements opened in it.
    element_count: usize,
    /// For each open element, outermost first, the range of its opening mark in the markup. `None`
    /// if the element is omitted because it is nested too deep.
    open_elements: Vec<Option<Range<usize>>>,
}

impl Markup {
    /// Returns the markup that `make` appends.
    #[cfg(test)]
    pub fn from_fn(make: impl FnOnce(&mut Markup)) -> Markup {
        let mut markup = Markup::default();
        make(&mut markup);
        markup
    }

    /// Returns empty markup for a document that cannot show the colours of code.
    pub fn without_colours() -> Markup {
        Markup {
            omits_colours: true,
            ..Markup::default()
        }
    }

    /// Whether words of code are to have colours.
    pub fn has_colours(&self) -> bool {
        !self.omits_colours
    }

    /// Returns the markup so far.
    pub fn as_str(&self) -> &str {
        &self.out
    }

    /// Returns the finished markup.
    pub fn finish(self) -> String {
        self.out
    }

    /// Iterates over the marks and texts of the markup, in order.
    pub fn events(&self) -> Events<'_> {
        Events {
            unread: self.as_str(),
        }
    }

    /// Iterates over the marks and texts of the markup, without the elements for which `is_omitted`
    /// returns `true`, and without their content. `is_omitted` gets the tag and the value.
    pub fn events_without<F: Fn(Tag, &str) -> bool + Clone>(
        &self,
        is_omitted: F,
    ) -> EventsWithout<'_, F> {
        EventsWithout {
            events: self.events(),
            is_omitted,
        }
    }

    /// Appends text of a session. Control characters are made visible, so that none acts as a mark.
    pub fn push_text(&mut self, text: &str) {
        push_visible_lines(&mut self.out, text);
    }

    /// Appends an element with the content that `inside` appends.
    pub fn push_element(&mut self, tag: Tag, inside: impl FnOnce(&mut Markup)) {
        self.open(tag);
        inside(self);
        self.close();
    }

    /// Appends an element with a value and the content that `inside` appends.
    pub fn push_element_with(&mut self, tag: Tag, value: &str, inside: impl FnOnce(&mut Markup)) {
        self.open_with(tag, value);
        inside(self);
        self.close();
    }

    /// Appends an element that contains only text.
    pub fn push_text_element(&mut self, tag: Tag, text: &str) {
        self.push_element(tag, |m| m.push_text(text));
    }

    /// Appends a fold of this kind: a title, then the section that `inside` appends.
    pub fn push_fold(&mut self, kind: &str, title: &str, inside: impl FnOnce(&mut Markup)) {
        self.push_element_with(Tag::Fold, kind, |m| {
            m.push_text_element(Tag::Summary, title);
            m.push_section(inside);
        });
    }

    /// Opens an element.
    pub fn open(&mut self, tag: Tag) {
        self.push_open(&[OPEN, tag.code()], "");
    }

    /// Opens an element with a value.
    pub fn open_with(&mut self, tag: Tag, value: &str) {
        // Newlines in a value have no meaning.
        let value = make_visible(&value.replace(['\n', '\r', '\t'], " "));
        self.push_open(&[OPEN_WITH, tag.code()], &format!("{value}{VALUE}"));
    }

    /// Appends the opening of an element: its mark and tag, then `value_part`. `value_part` is the
    /// value with its end mark [`VALUE`], or empty.
    ///
    /// An element that is nested deeper than [`MOST_LEVELS`] is omitted, and does not count. A
    /// `None` is kept for it, so that [`Markup::close`] writes no mark for it either.
    fn push_open(&mut self, mark_and_tag: &[char], value_part: &str) {
        // Each enclosing section counts as one level.
        let levels = self.section.open_elements.len() + self.enclosing.len();
        if levels >= MOST_LEVELS {
            self.section.open_elements.push(None);
            return;
        }

        let opening_start = self.out.len();
        self.out.extend(mark_and_tag);
        self.out += value_part;
        let opening = opening_start..self.out.len();

        self.section.element_count += 1;
        self.section.open_elements.push(Some(opening));
    }

    /// Closes the element opened last in this section.
    pub fn close(&mut self) {
        let opening = self.section.open_elements.pop().flatten();
        if opening.is_some() {
            self.out.push(CLOSE);
        }
    }

    /// Appends a section with the content that `inside` appends; [`Markup::divide_section`]
    /// may split it.
    pub fn push_section(&mut self, inside: impl FnOnce(&mut Markup)) {
        self.begin_section();
        inside(self);
        self.end_section();
    }

    /// Begins a section. The elements that are open around it stay open until it has ended.
    pub fn begin_section(&mut self) {
        self.out.push(SECTION);
        let inner = Section {
            start: self.out.len(),
            ..Section::default()
        };
        let outer = std::mem::replace(&mut self.section, inner);
        self.enclosing.push(outer);
    }

    /// Ends the section begun last.
    pub fn end_section(&mut self) {
        self.out.push(SECTION_END);
        self.section = self.enclosing.pop().unwrap_or_default();
    }

    /// Divides the section if it has reached one of these limits. Returns whether it was divided.
    pub fn divide_if_full(&mut self, limits: SectionLimits) -> bool {
        let byte_count = self.out.len() - self.section.start;
        if byte_count < limits.bytes && self.section.element_count < limits.elements {
            return false;
        }
        self.divide_section();
        true
    }

    /// Ends the section and begins another. The elements that are open in the section are closed,
    /// and opened again in the new one, with the same values: their opening marks are copied from
    /// the markup.
    pub fn divide_section(&mut self) {
        // `open_elements` has a `None` for an element that is omitted, which has no marks.
        // `flatten` skips it.
        for _opening in self.section.open_elements.iter().flatten() {
            self.out.push(CLOSE);
        }
        self.out.extend([SECTION_END, SECTION]);

        self.section.start = self.out.len();
        // Elements that are opened again do not count for the limit of the section: so many may be
        // open that they alone would reach it, and each section would be full at once.
        self.section.element_count = 0;
        for opening in self.section.open_elements.iter_mut().flatten() {
            let copy_start = self.out.len();
            self.out.extend_from_within(opening.clone());
            // The opening of this element is now the copy. The next division copies from here.
            *opening = copy_start..self.out.len();
        }
    }

    /// Whether no element is open in the section.
    pub fn is_between_blocks(&self) -> bool {
        self.section.open_elements.is_empty()
    }

    /// Appends a word of code. If `kind` is `None`, the word is plain text.
    pub fn push_word(&mut self, kind: Option<WordKind>, text: &str) {
        if text.is_empty() {
            return;
        }
        let Some(kind) = kind else {
            return push_visible_lines(&mut self.out, text);
        };
        self.out.push(WORD);
        self.out.push(kind.letter());
        push_visible_lines(&mut self.out, text);
        self.out.push(WORD_END);
    }
}

/// The iterator of [`Markup::events`].
#[derive(Clone, Debug)]
pub struct Events<'m> {
    /// The markup behind the last event.
    unread: &'m str,
}

impl<'m> Iterator for Events<'m> {
    type Item = Event<'m>;

    /// Reads the next event, by the table of marks in the module. The marks are trusted: only
    /// [`Markup`] writes them, and text of the session contains none.
    fn next(&mut self) -> Option<Event<'m>> {
        // Text up to the next mark is an event of its own.
        let next_mark = find_byte(self.unread.as_bytes(), |byte| !is_in_text(byte));
        let text_len = next_mark.unwrap_or(self.unread.len());
        if text_len > 0 {
            let (text, after_text) = self.unread.split_at(text_len);
            self.unread = after_text;
            return Some(Event::Text(text));
        }

        // At a mark, or at the end.
        let mark = self.next_char()?;
        let event = match mark {
            OPEN => Event::Open(self.next_tag(), ""),
            // The value follows the tag, up to its own mark.
            OPEN_WITH => {
                let tag = self.next_tag();
                let (value, after_value) = self.unread.split_once(VALUE).unwrap_or_default();
                self.unread = after_value;
                Event::Open(tag, value)
            }
            WORD => Event::Word(self.next_char().unwrap_or_default()),
            CLOSE => Event::Close,
            SECTION => Event::Section,
            SECTION_END => Event::SectionEnd,
            // The only other mark is WORD_END.
            _ => Event::WordEnd,
        };
        Some(event)
    }
}

impl Events<'_> {
    fn next_char(&mut self) -> Option<char> {
        let mut chars = self.unread.chars();
        let next = chars.next()?;
        self.unread = chars.as_str();
        Some(next)
    }

    /// Reads the letter of a tag, which follows the mark that opens an element.
    fn next_tag(&mut self) -> Tag {
        let code = self.next_char().unwrap_or_default();
        Tag::from_code(code).expect("markup is made with the letters of tags")
    }
}

/// The iterator of [`Markup::events_without`].
#[derive(Clone, Debug)]
pub struct EventsWithout<'m, F> {
    events: Events<'m>,
    is_omitted: F,
}

impl<'m, F: Fn(Tag, &str) -> bool> Iterator for EventsWithout<'m, F> {
    type Item = Event<'m>;

    fn next(&mut self) -> Option<Event<'m>> {
        loop {
            let event = self.events.next()?;
            match event {
                Event::Open(tag, value) if (self.is_omitted)(tag, value) => self.skip_element(),
                event => return Some(event),
            }
        }
    }
}

impl<F> EventsWithout<'_, F> {
    /// Skips the content and the end of the element whose opening was just read.
    fn skip_element(&mut self) {
        let mut depth = 1;
        while depth > 0 {
            match self.events.next() {
                Some(Event::Open(..)) => depth += 1,
                Some(Event::Close) => depth -= 1,
                Some(_) => {}
                None => return,
            }
        }
    }
}

/// Returns the text with its control characters made visible, as [`Markup::push_text`] appends it.
pub fn make_visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    push_visible_lines(&mut out, text);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_a_mark() {
        let mut markup = Markup::default();
        let every: String = (0..=0x10_ffff).filter_map(char::from_u32).collect();
        markup.push_text(&every);
        markup.push_element_with(Tag::Link, &every, |m| {
            m.push_word(Some(WordKind::KEYWORD), &every)
        });
        let marks: String = markup
            .as_str()
            .chars()
            .filter(|c| *c < ' ' && !"\n\t".contains(*c))
            .collect();
        assert_eq!(marks, "\x02\x03\x0e\x0f\x04");
    }

    #[test]
    fn elements_nested_too_deep_keep_their_text() {
        let markup = Markup::from_fn(|m| {
            (0..1000).for_each(|_| m.open(Tag::Quote));
            m.push_text("deep");
            (0..1000).for_each(|_| m.close());
        });
        let text = markup.finish();
        assert_eq!(text.matches(OPEN).count(), MOST_LEVELS);
        assert_eq!(text.matches(CLOSE).count(), MOST_LEVELS);
        assert!(text.contains("deep"));
    }

    #[test]
    fn a_divided_section_opens_again_what_was_open() {
        let mut markup = Markup::default();
        markup.push_section(|m| {
            m.push_element_with(Tag::Numbers, "7", |m| {
                m.push_text_element(Tag::Item, "one");
                let limits = SectionLimits {
                    bytes: 3,
                    elements: 100,
                };
                assert!(m.divide_if_full(limits));
                m.push_text_element(Tag::Item, "two");
            });
        });
        assert_eq!(
            markup.finish(),
            "\x05\x02o7\x03\x01lone\x04\x04\x06\x05\x02o7\x03\x01ltwo\x04\x04\x06"
        );
    }
}
