//! An estimate of how many lines an entry takes while nothing in it is unfolded. The page uses it
//! to position what it has not drawn yet.

use super::markup::{Event, Markup, Tag};

/// The characters on a line.
const CHARS_PER_LINE: usize = 90;

/// The lines of an image of usual height.
const IMAGE_LINES: usize = 12;

/// Estimates how many lines an entry takes on the page. Folded text, and all but the first section
/// of a long block, are not shown at first, so they take none.
pub fn estimate_lines(markup: &Markup) -> u32 {
    let mut hidden = HiddenSections::default();
    let mut height = TextHeight::default();
    for event in markup.events() {
        hidden.enter_or_leave(event);
        if !hidden.is_in_one() {
            height.add_event(event);
        }
    }
    height.end_line();
    u32::try_from(height.lines).unwrap_or(u32::MAX)
}

/// The height of text, while it is measured from the start to the end.
#[derive(Default)]
struct TextHeight {
    /// The number of lines so far, without the open one.
    lines: usize,
    /// The number of characters since the last line break or the start of the block. They take a
    /// line or more, which are not part of `lines` yet.
    open_chars: usize,
}

impl TextHeight {
    /// Adds what an event of the markup shows.
    fn add_event(&mut self, event: Event) {
        match event {
            Event::Text(text) => self.add_text(text),
            Event::Open(Tag::Image, _) => {
                self.begin_block();
                self.lines += IMAGE_LINES;
            }
            Event::Open(tag, _) if !tag.is_inline() => self.begin_block(),
            // Each end counts as one character, which is about the space between elements.
            Event::Close | Event::WordEnd => self.open_chars += 1,
            Event::Open(..) | Event::Section | Event::SectionEnd | Event::Word(_) => {}
        }
    }

    /// Adds a text, in which a line break begins a new line.
    fn add_text(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            let follows_line_break = index > 0;
            if follows_line_break {
                self.end_line();
            }
            self.open_chars += line.chars().count();
        }
    }

    /// Counts the open line. A text that exactly fills its lines counts as one more: words are not
    /// divided, so it rarely fits.
    fn end_line(&mut self) {
        self.lines += 1 + self.open_chars / CHARS_PER_LINE;
        self.open_chars = 0;
    }

    /// Begins a block, on a line of its own. The text above it takes at least one line.
    fn begin_block(&mut self) {
        self.lines += self.open_chars.div_ceil(CHARS_PER_LINE).max(1);
        self.open_chars = 0;
    }
}

/// Tracks whether the current event is in a section that is not shown: any section of a fold, or a
/// later section of another element.
#[derive(Default)]
struct HiddenSections {
    /// The number of open sections, counted from the outermost hidden one inwards; 0 if none is
    /// hidden.
    depth: usize,
    /// Whether a fold was opened whose first section has not begun.
    awaits_fold_section: bool,
    /// Whether a section has ended, and no element was opened after it. The next section then
    /// belongs to the same element, so it is a later one.
    follows_section: bool,
}

impl HiddenSections {
    /// Whether the current event is in a hidden section.
    fn is_in_one(&self) -> bool {
        self.depth > 0
    }

    /// Follows the events of the markup: must be called with each, in order.
    fn enter_or_leave(&mut self, event: Event) {
        match event {
            Event::Section => self.begin_section(),
            Event::SectionEnd => self.end_section(),
            Event::Open(tag, _) => self.open_element(tag),
            Event::Text(_) | Event::Close | Event::Word(_) | Event::WordEnd => {}
        }
    }

    /// Opens an element. The sections in a fold are hidden, and a section after the opening is the
    /// first one of its element.
    fn open_element(&mut self, tag: Tag) {
        self.follows_section = false;
        if tag == Tag::Fold && self.depth == 0 {
            self.awaits_fold_section = true;
        }
    }

    /// Enters a section. It is hidden if it is in a hidden one, if it belongs to a fold, or if it
    /// is not the first one of its element.
    fn begin_section(&mut self) {
        if self.depth > 0 || self.follows_section {
            self.depth += 1;
        } else if self.awaits_fold_section {
            self.awaits_fold_section = false;
            self.depth += 1;
        }
    }

    /// Leaves a section.
    fn end_section(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.follows_section = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code;

    #[test]
    fn folded_text_takes_no_lines() {
        let height = |make: &dyn Fn(&mut Markup)| estimate_lines(&Markup::from_fn(make));
        let long = "line\n".repeat(500);
        let block = |m: &mut Markup| code::push_code_block(&long, "", None, m);
        assert!((24..30).contains(&height(&block)), "{}", height(&block));
        let folded = |m: &mut Markup| {
            m.push_element(Tag::Fold, |m| {
                m.push_text_element(Tag::Summary, "more");
                m.push_section(block);
            });
        };
        assert!(height(&folded) < 5, "{}", height(&folded));
        assert!((11..14).contains(&height(&|m| {
            m.push_text_element(Tag::Paragraph, &"x".repeat(1000))
        })));
    }
}
