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
    let mut lines = 0_usize;
    // The number of characters of the text that is not part of `lines` yet.
    let mut column = 0_usize;
    for event in markup.events() {
        match event {
            Event::Section => hidden.begin_section(),
            Event::SectionEnd => hidden.end_section(),
            Event::Open(tag, _) => hidden.open_element(tag),
            Event::Text(_) | Event::Close | Event::Word(_) | Event::WordEnd => {}
        }
        if hidden.is_in_one() {
            continue;
        }

        match event {
            Event::Open(tag, _) => {
                // A block begins on a line of its own. The text above it takes at least one line.
                if !tag.is_inline() {
                    lines += column.div_ceil(CHARS_PER_LINE).max(1);
                    column = 0;
                }
                if tag == Tag::Image {
                    lines += IMAGE_LINES;
                }
            }
            Event::Text(text) => {
                for (index, line) in text.split('\n').enumerate() {
                    let follows_line_break = index > 0;
                    if follows_line_break {
                        lines += lines_of_text(column);
                        column = 0;
                    }
                    column += line.chars().count();
                }
            }
            // Each end counts as one character, which is about the space between elements.
            Event::Close | Event::WordEnd => column += 1,
            Event::Section | Event::SectionEnd | Event::Word(_) => {}
        }
    }
    lines += lines_of_text(column);
    u32::try_from(lines).unwrap_or(u32::MAX)
}

/// Returns how many lines so many characters take. A text that exactly fills its lines counts as
/// one more: words are not divided, so it rarely fits.
fn lines_of_text(char_count: usize) -> usize {
    1 + char_count / CHARS_PER_LINE
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

    /// Must be called for each opening of an element: the sections in a fold are hidden, and a
    /// section after the opening is the first one of its element.
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
