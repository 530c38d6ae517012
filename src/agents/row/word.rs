//! The characters of words in a search: `[\p{Letter}\p{Mark}\p{Number}]`.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Whether a search treats the character as part of a word.
pub fn is_word(c: char) -> bool {
    use GeneralCategoryGroup::{Letter, Mark, Number};
    c.is_ascii_alphanumeric() || matches!(c.general_category_group(), Letter | Mark | Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_marks_and_numbers_make_words() {
        for c in ['a', '9', 'é', '漢', '\u{301}', '\u{94d}', '½', '\u{e0100}'] {
            assert!(is_word(c), "{c}");
        }
        for c in ['-', '_', ' ', '\u{200b}', '…', 'Ⓐ', '\u{fffd}', '😀'] {
            assert!(!is_word(c), "{c}");
        }
    }
}
