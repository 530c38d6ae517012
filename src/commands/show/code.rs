//! `show --code`: prints the fenced code blocks of entries, without their fences.

use super::Args;
use crate::cli::open::OpenSession;
use crate::cli::output::{Failure, Ui};
use crate::export::code_blocks::{CodeBlock, find_code_blocks};
use crate::session::content::blocks_of_type;
use crate::session::entry::{EntryIx, Flags};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;

/// Returns the last answer of the conversation, a reply that concluded its turn with a text. It is
/// the same entry as `@^{answer}`.
pub fn find_last_answer(open: &OpenSession) -> Result<EntryIx, Failure> {
    let session = &open.session;
    for ix in session.ancestors(session.leaf) {
        if session.entry(ix).flags.contains(Flags::ANSWER) {
            return Ok(ix);
        }
    }
    Err(open
        .input
        .negative_answer("the conversation has no answer")
        .with_hint("name an entry"))
}

/// Prints the code blocks of entries, with an empty line between two; as JSON, an object for each.
/// Fails with a negative answer if there are none.
pub fn print_code_blocks(
    args: &Args,
    open: &OpenSession,
    entries: &[EntryIx],
    ui: &mut Ui,
) -> Result<(), Failure> {
    // Without a language, `--code` prints all blocks.
    let language = args.code.as_deref().unwrap_or_default();
    let found = find_code(open, entries, language)?;
    let Some(last) = found.last() else {
        return Err(no_code_failure(args, open, entries, language));
    };
    let printed = if args.last_block {
        std::slice::from_ref(last)
    } else {
        &found[..]
    };
    for (index, code) in printed.iter().enumerate() {
        if args.json {
            ui.print_json(&code.to_json(open))?;
            continue;
        }
        let mut text = String::new();
        if index > 0 {
            text.push('\n');
        }
        text += &code.block.text;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let written = ui.verbatim_stdout().write_all(text.as_bytes());
        written.map_err(Failure::from_stdout_error)?;
    }
    Ok(())
}

/// Returns the code blocks of entries that are in a language; all blocks if `language` is empty.
fn find_code(
    open: &OpenSession,
    entries: &[EntryIx],
    language: &str,
) -> Result<Vec<EntryCode>, Failure> {
    let mut found = Vec::new();
    for &ix in entries {
        for block in read_code_blocks(open, ix)? {
            if language.is_empty() || block.is_in_language(language) {
                found.push(EntryCode { entry: ix, block });
            }
        }
    }
    Ok(found)
}

/// A code block, and the entry that contains it.
struct EntryCode {
    entry: EntryIx,
    block: CodeBlock,
}

impl EntryCode {
    fn to_json(&self, open: &OpenSession) -> Vec<u8> {
        Object::new()
            .text("id", &open.session.id(self.entry))
            .str("language", &self.block.language)
            .text("text", &Text::from(&*self.block.text))
            .finish()
    }
}

/// Returns the code blocks in the texts of an entry: of a message, or of a summary.
fn read_code_blocks(open: &OpenSession, ix: EntryIx) -> Result<Vec<CodeBlock>, Failure> {
    let reader = open.entry_reader();
    let texts = open
        .input
        .map_read_error(reader.with_entry(ix, read_texts))?;
    let mut blocks = Vec::new();
    for text in texts {
        blocks.extend(find_code_blocks(&text));
    }
    Ok(blocks)
}

/// Returns the texts of an entry: of a message, whose content is a string or blocks, or of a
/// summary. Thinking and the arguments of tool calls are left out.
pub fn read_texts(line: Raw) -> Vec<String> {
    let message = line.get("message").unwrap_or(line);
    let mut texts = Vec::new();
    let content = message.get("content").unwrap_or(Raw::NULL);
    texts.extend(content.text().map(Text::into_string_lossy));
    for block in blocks_of_type(content, "text") {
        texts.extend(block.get_text("text").map(Text::into_string_lossy));
    }
    texts.extend(message.get_text("summary").map(Text::into_string_lossy));
    texts
}

/// Returns the failure for entries without a code block. Without arguments, only the last answer
/// was searched; the failure names it, because the user has not.
fn no_code_failure(
    args: &Args,
    open: &OpenSession,
    entries: &[EntryIx],
    language: &str,
) -> Failure {
    let name = match entries {
        [ix] if args.entries.is_empty() => format!("the last answer ({})", open.session.id(*ix)),
        [ix] => open.session.id(*ix).to_string(),
        _ => "these entries".to_owned(),
    };
    let what = if language.is_empty() {
        format!("{name}: no fenced code block")
    } else {
        format!("{name}: no fenced code block in {language}")
    };
    open.input
        .negative_answer(what)
        .with_hint("`pisess grep '```' SESSION` lists the entries that have one")
}
