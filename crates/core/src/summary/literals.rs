//! The literals of a command line: text that the shell does not run. What is in quotes, in a
//! here-document or in a comment is no command: `echo "git commit -m x"`.

use std::ops::Range;

/// The quotes of a shell.
pub(super) const QUOTES: [char; 2] = ['"', '\''];

/// A literal of a command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Literal {
    /// Its range in the command line.
    pub range: Range<usize>,
    pub kind: LiteralKind,
}

/// The effect of a literal on the words of its command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LiteralKind {
    /// It is a word or a part of one: quoted text, with its quotes, or an escaped character.
    InWord,
    /// It is no word: a comment, the operator and the lines of a here-document, or a line break
    /// after a backslash.
    Blank,
}

impl LiteralKind {
    /// Returns the character that replaces such a literal.
    pub fn filler(self) -> &'static str {
        match self {
            LiteralKind::InWord => "_",
            LiteralKind::Blank => " ",
        }
    }
}

/// Returns the literals of a command line in their order. None overlaps another.
pub(super) fn find_literals(line: &str) -> Vec<Literal> {
    let mut finder = LiteralFinder {
        line,
        masked: line.to_owned(),
        literals: Vec::new(),
        documents_end: 0,
    };
    finder.read_line();

    // A here-document is found before what follows its operator, as in `cat <<EOF "`, whose quote
    // has the lines of the document.
    let mut found = finder.literals;
    found.sort_by_key(|literal| literal.range.start);
    let mut end = 0;
    for literal in &mut found {
        literal.range.start = literal.range.start.max(end);
        end = literal.range.end.max(end);
    }
    found.retain(|literal| !literal.range.is_empty());
    found
}

/// Returns a command line of the same length, in which literals are replaced: those in words by
/// `_`, and the others by spaces. `echo "a" # b` becomes `echo ___    `.
pub(super) fn mask_literals(line: &str) -> String {
    let mut masked = line.to_owned();
    for literal in find_literals(line) {
        mask(&mut masked, &literal);
    }
    masked
}

/// Replaces a literal by as many bytes as it has.
fn mask(line: &mut String, literal: &Literal) {
    let range = literal.range.clone();
    let filler = literal.kind.filler().repeat(range.len());
    line.replace_range(range, &filler);
}

/// Finds the literals from the start of a command line to its end. The lines of a here-document
/// begin below the line of its operator, so they are found before the rest of that line is read.
struct LiteralFinder<'l> {
    line: &'l str,
    /// The command line, in which the literals that were found are masked.
    masked: String,
    literals: Vec<Literal>,
    /// The end of the here-documents that were found: another one on the same line begins there.
    documents_end: usize,
}

impl LiteralFinder<'_> {
    /// Adds all literals of the command line to `literals`.
    ///
    /// The search is in `masked`, in which [`Self::add`] replaces each literal that was found. So a
    /// quote or `#` inside a literal begins no other one: of `"a # b"`, only `_______` is left.
    fn read_line(&mut self) {
        /// The characters with which a literal or the operator of a here-document begins.
        const BEGINNINGS: [char; 5] = ['"', '\'', '\\', '#', '<'];

        let mut searched_len = 0;
        while let Some(offset) = self.masked[searched_len..].find(BEGINNINGS) {
            let start = searched_len + offset;
            self.add_literal_at(start);
            // Each of these characters is one byte.
            searched_len = start + 1;
        }
    }

    /// Adds a literal, and masks it in the command line that is searched.
    fn add(&mut self, range: Range<usize>, kind: LiteralKind) {
        let literal = Literal { range, kind };
        mask(&mut self.masked, &literal);
        self.literals.push(literal);
    }

    /// Adds the literal that begins with the character at `start`, which is one of a quote, a
    /// backslash, `#` and `<`. Not each of them begins a literal: `a#b` and `x < y` have none.
    fn add_literal_at(&mut self, start: usize) {
        let (before, rest) = self.masked.split_at(start);
        match rest.as_bytes()[0] {
            b'"' | b'\'' => {
                let quoted = Quoted::read(rest, before.ends_with('$'));
                let end = start + quoted.map_or(1, |quoted| quoted.len);
                self.add(start..end, LiteralKind::InWord);
            }
            b'\\' => self.add_escaped(start),
            b'#' if begins_word(before) => {
                let comment_len = rest.find('\n').unwrap_or(rest.len());
                self.add(start..start + comment_len, LiteralKind::Blank);
            }
            // In `<<<`, which precedes a word, no here-document begins at the second character.
            b'<' if !before.ends_with('<') => self.add_here_document(start),
            _ => {}
        }
    }

    /// Adds the character after a backslash. A letter is left out: behind a backslash, it is more
    /// likely a part of a path of Windows.
    fn add_escaped(&mut self, start: usize) {
        let Some(escaped) = self.line[start + 1..].chars().next() else {
            return;
        };
        let end = start + 1 + escaped.len_utf8();
        match escaped {
            '\n' => self.add(start..end, LiteralKind::Blank),
            escaped if escaped.is_alphanumeric() => {}
            _ => self.add(start..end, LiteralKind::InWord),
        }
    }

    /// Adds the operator and the lines of a here-document, if its operator is at `start`. The rest
    /// of the line of the operator is code.
    fn add_here_document(&mut self, start: usize) {
        let (before, rest) = self.masked.split_at(start);
        let earlier_end = self.documents_end.saturating_sub(start);
        let Some(document) = HereDocument::read(rest, earlier_end) else {
            return;
        };
        // In `$((1 << n))`, the operator is a shift.
        if !document.is_closed && before.contains("((") {
            return;
        }
        let operator = start..start + document.operator_len;
        let lines = start + document.start..start + document.end;
        self.documents_end = lines.end;
        self.add(operator, LiteralKind::Blank);
        self.add(lines, LiteralKind::Blank);
    }
}

/// Whether a word begins after `before`. A `#` begins a comment only there, and not in `a#b`.
fn begins_word(before: &str) -> bool {
    before.is_empty() || before.ends_with([' ', '\t', '\n', ';', '|', '&', '('])
}

/// A text in quotes.
pub(super) struct Quoted<'l> {
    /// The text, without its quotes.
    pub text: &'l str,
    /// The length of the text with its quotes.
    pub len: usize,
}

impl<'l> Quoted<'l> {
    /// Returns the quoted text at the start of `rest`: `a` in `"a" b`. Without a closing quote, it
    /// is all that follows. `None` if `rest` does not begin with a quote.
    ///
    /// `is_after_dollar` is whether a `$` precedes it: then `\'` does not close single quotes, as
    /// in `$'don\'t'`.
    pub fn read(rest: &'l str, is_after_dollar: bool) -> Option<Quoted<'l>> {
        let quote = rest.chars().next()?;
        let content = rest.strip_prefix(QUOTES)?;
        let is_double = quote == '"';
        let has_escapes = is_double || is_after_dollar;
        // Only in double quotes, the shell runs commands.
        let searched_from = if is_double {
            inner_document_len(content)
        } else {
            0
        };

        let mut is_escaped = false;
        for (offset, c) in content[searched_from..].char_indices() {
            if c == quote && !is_escaped {
                let text = &content[..searched_from + offset];
                return Some(Quoted {
                    text,
                    len: text.len() + 2,
                });
            }
            is_escaped = has_escapes && c == '\\' && !is_escaped;
        }
        Some(Quoted {
            text: content,
            len: rest.len(),
        })
    }
}

/// The command with which a here-document becomes a quoted text: `"$(cat <<'EOF'`.
const CAT: &str = "$(cat ";

/// Returns the length of a quoted text up to the end of the here-document that it begins with; 0 if
/// there is none. Quotes in the document do not close the text.
fn inner_document_len(content: &str) -> usize {
    match read_inner_document(content) {
        Some(document) if document.is_closed => CAT.len() + document.end,
        _ => 0,
    }
}

/// Returns the here-document that a quoted text consists of: `"$(cat <<'EOF'`.
pub(super) fn read_inner_document(content: &str) -> Option<HereDocument<'_>> {
    HereDocument::read(content.strip_prefix(CAT)?, 0)
}

/// A here-document. Offsets are from the start of its operator.
pub(super) struct HereDocument<'l> {
    /// The text of its lines, without the delimiter.
    pub text: &'l str,
    /// The length of the operator with the delimiter: 7 for `<<'EOF'`.
    operator_len: usize,
    /// The start of its first line.
    start: usize,
    /// The end of the line with the delimiter.
    end: usize,
    /// Whether a line is the delimiter. Otherwise, the document ends with the command line, which
    /// may have been truncated.
    is_closed: bool,
}

impl<'l> HereDocument<'l> {
    /// Returns the here-document whose operator is at the start of `rest`; `None` if there is none.
    /// It begins on the next line or, if an earlier one on the same line ends at `earlier_end`, on
    /// the line after that.
    fn read(rest: &'l str, earlier_end: usize) -> Option<HereDocument<'l>> {
        let delimiter = Delimiter::read(rest)?;
        let mut start = rest.find('\n')? + 1;
        if start < earlier_end {
            start = (earlier_end + 1).min(rest.len());
        }
        let mut document = HereDocument {
            text: &rest[start..],
            operator_len: delimiter.operator_len,
            start,
            end: rest.len(),
            is_closed: false,
        };
        let mut line_start = start;
        for line in rest[start..].split('\n') {
            let line_end = line_start + line.len();
            if line.trim_ascii() == delimiter.word {
                document.text = &rest[start..line_start];
                document.end = line_end;
                document.is_closed = true;
                break;
            }
            line_start = line_end + "\n".len();
        }
        Some(document)
    }
}

/// The word that ends a here-document.
struct Delimiter<'l> {
    word: &'l str,
    /// The length of the operator up to the end of the word.
    operator_len: usize,
}

impl<'l> Delimiter<'l> {
    /// Returns the delimiter, if the operator of a here-document is at the start of `rest`: `EOF`
    /// in `<<EOF`, `<<- EOF` and `<<'EOF'`. In quotes, it may be empty.
    fn read(rest: &'l str) -> Option<Delimiter<'l>> {
        let operand = rest.strip_prefix("<<")?;
        let operand = operand
            .strip_prefix('-')
            .unwrap_or(operand)
            .trim_start_matches([' ', '\t']);
        let operand_start = rest.len() - operand.len();
        if operand.starts_with(QUOTES) {
            let quoted = Quoted::read(operand, false)?;
            return Some(Delimiter {
                word: quoted.text,
                operator_len: operand_start + quoted.len,
            });
        }

        // A `\` before it quotes it, too.
        let unquoted = operand.strip_prefix('\\').unwrap_or(operand);
        let is_in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let after_word = unquoted.trim_start_matches(is_in_word);
        let word = &unquoted[..unquoted.len() - after_word.len()];
        if word.is_empty() {
            return None;
        }
        Some(Delimiter {
            word,
            operator_len: rest.len() - after_word.len(),
        })
    }
}
