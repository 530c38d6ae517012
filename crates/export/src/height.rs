//! An estimate of how many lines an entry takes while nothing in it is unfolded. The page uses it
//! to position what it has not drawn yet.

use super::markup::{Event, Markup, Tag};

/// The characters on a line.
const CHARS_PER_LINE: usize = 90;

/// The lines of an image of usual height.
const IMAGE_LINES: usize = 12;

/// Estimates the number of lines.
pub fn estimate_lines(markup: &Markup) -> u32 {
    let mut lines = 0_usize;
    let mut column = 0_usize;
    // The sections around the current position, from the outermost that is hidden on. All sections
    // of a fold are hidden, and in other elements all but the first.
    let mut hidden_depth = 0_usize;
    let mut is_later_section = false;
    let mut is_fold = false;
    for event in markup.events() {
        match event {
            Event::Section if hidden_depth > 0 || is_later_section => hidden_depth += 1,
            Event::Section if is_fold => {
                is_fold = false;
                hidden_depth += 1;
            }
            Event::SectionEnd => {
                hidden_depth = hidden_depth.saturating_sub(1);
                // The next section belongs to the same element, unless another element begins
                // before it.
                is_later_section = true;
            }
            Event::Open(tag, _) => {
                is_later_section = false;
                if tag == Tag::Fold && hidden_depth == 0 {
                    is_fold = true;
                }
                if hidden_depth == 0 && !tag.is_inline() {
                    lines += 1 + column.div_ceil(CHARS_PER_LINE).saturating_sub(1);
                    column = 0;
                }
                if hidden_depth == 0 && tag == Tag::Image {
                    lines += IMAGE_LINES;
                }
            }
            Event::Text(text) if hidden_depth == 0 => {
                for (at, line) in text.split('\n').enumerate() {
                    if at > 0 {
                        lines += 1 + column / CHARS_PER_LINE;
                        column = 0;
                    }
                    column += line.chars().count();
                }
            }
            // About the space between elements.
            Event::Close | Event::WordEnd if hidden_depth == 0 => column += 1,
            _ => {}
        }
    }
    u32::try_from(lines + column / CHARS_PER_LINE + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code;

    #[test]
    fn what_is_folded_takes_no_lines() {
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
