//! An estimate of how many lines an entry takes while nothing in it is unfolded. The page uses it
//! to position what it has not drawn yet.

use super::markup::{Event, Markup, Tag};

/// The characters on a line.
const LINE: usize = 90;

/// The lines of an image of usual height.
const IMAGE_LINES: usize = 12;

/// Estimates the number of lines.
pub fn lines(markup: &Markup) -> u32 {
    let mut lines = 0_usize;
    let mut column = 0_usize;
    // The sections around the current position, from the outermost that is hidden on. All sections
    // of a fold are hidden, and in other elements all but the first.
    let mut hidden = 0_usize;
    let mut is_later_section = false;
    let mut is_fold = false;
    for event in markup.events() {
        match event {
            Event::Section if hidden > 0 || is_later_section => hidden += 1,
            Event::Section if is_fold => {
                is_fold = false;
                hidden += 1;
            }
            Event::SectionEnd => {
                hidden = hidden.saturating_sub(1);
                // The next section belongs to the same element, unless another element begins
                // before it.
                is_later_section = true;
            }
            Event::Open(tag, _) => {
                is_later_section = false;
                if tag == Tag::Fold && hidden == 0 {
                    is_fold = true;
                }
                if hidden == 0 && !tag.is_inline() {
                    lines += 1 + column.div_ceil(LINE).saturating_sub(1);
                    column = 0;
                }
                if hidden == 0 && tag == Tag::Image {
                    lines += IMAGE_LINES;
                }
            }
            Event::Text(text) if hidden == 0 => {
                for (at, line) in text.split('\n').enumerate() {
                    if at > 0 {
                        lines += 1 + column / LINE;
                        column = 0;
                    }
                    column += line.chars().count();
                }
            }
            // About the space between elements.
            Event::Close | Event::WordEnd if hidden == 0 => column += 1,
            _ => {}
        }
    }
    u32::try_from(lines + column / LINE + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code;

    #[test]
    fn what_is_folded_takes_no_lines() {
        let height = |make: &dyn Fn(&mut Markup)| lines(&Markup::of(make));
        let long = "line\n".repeat(500);
        let block = |m: &mut Markup| code::block(&long, "", None, m);
        assert!((24..30).contains(&height(&block)), "{}", height(&block));
        let folded = |m: &mut Markup| {
            m.element(Tag::Fold, |m| {
                m.words(Tag::Summary, "more");
                m.section(block);
            });
        };
        assert!(height(&folded) < 5, "{}", height(&folded));
        assert!((11..14).contains(&height(&|m| m.words(Tag::Paragraph, &"x".repeat(1000)))));
    }
}
