//! The fenced code blocks of a Markdown text, as `show --code` prints them.

use super::commonmark::{fence_language, parser_options};
use super::highlight::Language;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

/// A fenced block of code.
#[derive(Debug, PartialEq, Eq)]
pub struct CodeBlock {
    /// The language that the fence names; empty if it names none.
    pub language: String,
    /// The code, without the indentation of the list or quote that contains the block.
    pub text: String,
}

impl CodeBlock {
    /// Whether the fence names the language `name`, or has another name of the same language: `rs`
    /// is `rust`.
    pub fn is_in_language(&self, name: &str) -> bool {
        if self.language.eq_ignore_ascii_case(name) {
            return true;
        }
        let Some(own) = Language::from_name(&self.language) else {
            return false;
        };
        let Some(wanted) = Language::from_name(name) else {
            return false;
        };
        own.name() == wanted.name()
    }
}

/// Returns the fenced code blocks of a text, in order. Indented code is not included.
pub fn find_code_blocks(text: &str) -> Vec<CodeBlock> {
    let mut blocks = Vec::new();
    let mut open_block: Option<CodeBlock> = None;
    for event in Parser::new_ext(text, parser_options()) {
        match event {
            Event::Start(Tag::CodeBlock(kind)) if matches!(kind, CodeBlockKind::Fenced(_)) => {
                open_block = Some(CodeBlock {
                    language: fence_language(&kind).to_owned(),
                    text: String::new(),
                });
            }
            Event::Text(code) => {
                if let Some(block) = &mut open_block {
                    block.text.push_str(&code);
                }
            }
            // Indented code ends in the same way, but no block is open then.
            Event::End(TagEnd::CodeBlock) => blocks.extend(open_block.take()),
            _ => {}
        }
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_found_wherever_markdown_allows_them() {
        let text = "a `b`\n\n```rust,ignore\nfn x() {}\n```\n\n- item\n  ~~~~\n  in a list\n  ```\n  ~~~~\n\n    indented\n\n````\nopen";
        let blocks = find_code_blocks(text);
        let found: Vec<_> = blocks
            .iter()
            .map(|block| (&*block.language, &*block.text))
            .collect();
        assert_eq!(
            found,
            [
                ("rust", "fn x() {}\n"),
                ("", "in a list\n```\n"),
                ("", "open")
            ]
        );
        assert!(blocks[0].is_in_language("RS") && blocks[0].is_in_language("rust"));
        assert!(!blocks[1].is_in_language("rust"));
    }
}
