//! An estimate of how many lines an article takes while nothing in it is unfolded. The page uses it to
//! position what it has not drawn yet.

use super::markup::{OPEN, OPEN_WITH, SECTION, SECTION_END, Tag, VALUE, WORD};

/// The characters on a line.
const LINE: usize = 90;

/// Returns the estimated number of lines.
pub fn lines(markup: &str) -> u32 {
    let (mut lines, mut column, mut hidden) = (0_usize, 0_usize, 0_usize);
    // Whether the next section is hidden: all sections of a fold are, and in other elements all but the first.
    let (mut seen, mut folds) = (false, false);
    let mut rest = markup.chars();
    while let Some(c) = rest.next() {
        match c {
            SECTION if hidden > 0 || seen || std::mem::take(&mut folds) => hidden += 1,
            SECTION => {}
            SECTION_END => {
                hidden = hidden.saturating_sub(1);
                // The next section belongs to the same element, unless another element begins before it.
                seen = true;
            }
            OPEN | OPEN_WITH => {
                let tag = rest.next().and_then(Tag::of);
                if c == OPEN_WITH {
                    rest.by_ref().find(|&c| c == VALUE);
                }
                seen = false;
                folds |= tag == Some(Tag::Fold) && hidden == 0;
                if hidden == 0 && tag.is_some_and(|tag| !is_inline(tag)) {
                    lines += 1 + column.div_ceil(LINE).saturating_sub(1);
                    column = 0;
                }
                if hidden == 0 && tag == Some(Tag::Image) {
                    lines += 12;
                }
            }
            WORD => {
                rest.next();
            }
            '\n' if hidden == 0 => {
                lines += 1 + column / LINE;
                column = 0;
            }
            _ if hidden == 0 => column += 1,
            _ => {}
        }
    }
    u32::try_from(lines + column / LINE + 1).unwrap_or(u32::MAX)
}

fn is_inline(tag: Tag) -> bool {
    matches!(
        tag,
        Tag::Emphasis
            | Tag::Strong
            | Tag::Struck
            | Tag::Code
            | Tag::Link
            | Tag::Entry
            | Tag::Name
            | Tag::Subject
            | Tag::Mark
            | Tag::BadMark
            | Tag::Added
            | Tag::Removed
            | Tag::Cell
            | Tag::HeadCell
            | Tag::Task
            | Tag::Summary
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::code;
    use crate::export::markup::Markup;

    #[test]
    fn what_is_folded_takes_no_lines() {
        let height = |make: &dyn Fn(&mut Markup)| {
            let mut markup = Markup::new();
            make(&mut markup);
            lines(markup.as_str())
        };
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
