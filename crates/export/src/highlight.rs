//! Colours for code: one small lexer for the languages that agents commonly write.
//!
//! It knows strings, comments, numbers, keywords, names that begin with a capital, and names that
//! are called. Everything else (heredocs, JSX, regular expressions) is plain code. Grammars are not
//! used: loading them takes longer than writing a session.

use super::markup::WordKind;

/// The syntax of a language, as needed for colouring.
#[derive(Debug)]
pub struct Language {
    /// Its names in a fence and its file extensions, in lower case. Exports name it by the first.
    names: &'static [&'static str],
    /// What begins a comment up to the end of the line.
    line_comments: &'static [&'static str],
    /// What begins and what ends a comment that may span lines.
    block_comment: Option<(&'static str, &'static str)>,
    /// The quotes of strings on one line, each an ASCII character.
    quotes: &'static str,
    /// The quotes of strings that may span lines.
    long_quotes: &'static [&'static str],
    keywords: Keywords,
    /// Whether keywords are case-insensitive.
    ignores_case: bool,
    /// Whether `name:` and `"name":` are keys, as in YAML and JSON.
    has_keys: bool,
}

const PLAIN: Language = Language {
    names: &[],
    line_comments: &[],
    block_comment: None,
    quotes: "\"'",
    long_quotes: &[],
    keywords: Keywords::new(""),
    ignores_case: false,
    has_keys: false,
};

const C_LIKE: Language = Language {
    line_comments: &["//"],
    block_comment: Some(("/*", "*/")),
    ..PLAIN
};

static LANGUAGES: &[Language] = &[
    Language {
        names: &[
            "js",
            "javascript",
            "mjs",
            "cjs",
            "jsx",
            "ts",
            "typescript",
            "tsx",
            "mts",
            "cts",
        ],
        long_quotes: &["`"],
        keywords: Keywords::new(
            "abstract any as async await boolean break case catch class const continue debugger \
             declare default delete do else enum export extends false finally for from function \
             get if implements import in infer instanceof interface is keyof let namespace never \
             new null number of override private protected public readonly return satisfies set \
             static string super switch this throw true try type typeof undefined unknown var void \
             while with yield",
        ),
        ..C_LIKE
    },
    Language {
        names: &["rs", "rust"],
        quotes: "\"",
        keywords: Keywords::new(
            "as async await bool break char const continue crate dyn else enum extern f32 f64 \
             false fn for i128 i16 i32 i64 i8 if impl in isize let loop match mod move mut pub ref \
             return self Self static str struct super trait true type u128 u16 u32 u64 u8 union \
             unsafe use usize where while",
        ),
        ..C_LIKE
    },
    Language {
        names: &["py", "python", "pyi", "python3"],
        line_comments: &["#"],
        long_quotes: &["\"\"\"", "'''"],
        keywords: Keywords::new(
            "False None True and as assert async await break case class continue def del elif else \
             except finally for from global if import in is lambda match nonlocal not or pass \
             raise return self try while with yield",
        ),
        ..PLAIN
    },
    Language {
        names: &["go", "golang"],
        long_quotes: &["`"],
        keywords: Keywords::new(
            "any bool break byte case chan const continue default defer else error fallthrough \
             false float64 for func go goto if import int int64 interface iota make map nil \
             package range return rune select string struct switch true type uint var",
        ),
        ..C_LIKE
    },
    Language {
        names: &[
            "c", "h", "cpp", "c++", "cc", "cxx", "hpp", "hh", "cu", "m", "objc",
        ],
        keywords: Keywords::new(
            "auto bool break case catch char class const constexpr continue default delete do \
             double else enum explicit extern false final float for friend goto if inline int long \
             mutable namespace new noexcept nullptr operator override private protected public \
             register return short signed sizeof static struct switch template this throw true try \
             typedef typename union unsigned using virtual void volatile while",
        ),
        ..C_LIKE
    },
    Language {
        names: &["java", "kt", "kts", "kotlin", "scala", "groovy", "gradle"],
        long_quotes: &["\"\"\""],
        keywords: Keywords::new(
            "abstract as assert boolean break byte case catch char class companion const continue \
             data def default do double else enum extends false final finally float for fun if \
             implements import in instanceof int interface internal is lateinit long match native \
             new null object open override package private protected public return sealed short \
             static super suspend switch this throw throws trait true try typealias val var void \
             volatile when while with yield",
        ),
        ..C_LIKE
    },
    Language {
        names: &["cs", "csharp", "c#", "fs", "fsharp"],
        keywords: Keywords::new(
            "abstract as async await base bool break byte case catch char class const continue \
             decimal default delegate do double else enum event explicit extern false finally \
             float for foreach get if implicit in int interface internal is let lock long match \
             module namespace new null object operator out override params private protected \
             public readonly record ref return sealed set short static string struct switch this \
             throw true try type typeof uint using var virtual void volatile when where while with \
             yield",
        ),
        ..C_LIKE
    },
    Language {
        names: &["swift"],
        quotes: "\"",
        long_quotes: &["\"\"\""],
        keywords: Keywords::new(
            "as associatedtype async await break case catch class continue default defer deinit do \
             else enum extension false fileprivate for func guard if import in init inout internal \
             is let nil open operator private protocol public repeat return self Self static \
             struct subscript super switch throw throws true try typealias var where while",
        ),
        ..C_LIKE
    },
    Language {
        names: &["php"],
        line_comments: &["//", "#"],
        keywords: Keywords::new(
            "abstract and array as break case catch class const continue declare default do echo \
             else elseif empty enum extends false final finally fn for foreach function global if \
             implements include instanceof interface isset match namespace new null or private \
             protected public readonly require return static switch this throw trait true try use \
             var while yield",
        ),
        ..C_LIKE
    },
    Language {
        names: &["rb", "ruby", "rake", "gemspec"],
        line_comments: &["#"],
        keywords: Keywords::new(
            "alias and begin break case class def do else elsif end ensure false for if in module \
             next nil not or redo require rescue retry return self super then true undef unless \
             until when while yield",
        ),
        ..PLAIN
    },
    Language {
        names: &["sh", "bash", "zsh", "shell", "fish", "console", "ksh"],
        line_comments: &["#"],
        keywords: Keywords::new(
            "alias break case continue do done elif else end esac eval exec exit export false fi \
             for function if in local read readonly return set shift source test then trap true \
             unset until while",
        ),
        ..PLAIN
    },
    Language {
        names: &["ps1", "powershell", "pwsh"],
        line_comments: &["#"],
        block_comment: Some(("<#", "#>")),
        keywords: Keywords::new(
            "begin break catch class continue do else elseif end exit finally for foreach function \
             if in param process return switch throw trap try until using while",
        ),
        ignores_case: true,
        ..PLAIN
    },
    Language {
        names: &["sql", "psql", "mysql", "sqlite"],
        line_comments: &["--"],
        block_comment: Some(("/*", "*/")),
        keywords: Keywords::new(
            "add all alter and as asc begin between by case check column commit constraint create \
             cross database default delete desc distinct drop else end exists false foreign from \
             full group having if in index inner insert into is join key left like limit not null \
             offset on or order outer primary references returning right rollback select set table \
             then transaction true union unique update using values view when where with",
        ),
        ignores_case: true,
        ..PLAIN
    },
    Language {
        names: &["json", "jsonc", "json5", "jsonl", "ndjson"],
        keywords: Keywords::new("false null true"),
        has_keys: true,
        ..C_LIKE
    },
    Language {
        names: &["yaml", "yml"],
        line_comments: &["#"],
        keywords: Keywords::new("false no null off on true yes"),
        has_keys: true,
        ..PLAIN
    },
    Language {
        names: &[
            "toml",
            "ini",
            "cfg",
            "conf",
            "properties",
            "env",
            "editorconfig",
        ],
        line_comments: &["#", ";"],
        long_quotes: &["\"\"\"", "'''"],
        keywords: Keywords::new("false true"),
        ..PLAIN
    },
    Language {
        names: &[
            "html", "htm", "xml", "svg", "vue", "svelte", "xhtml", "plist",
        ],
        block_comment: Some(("<!--", "-->")),
        quotes: "\"",
        keywords: Keywords::new(
            "a body br button div doctype form h1 h2 h3 head html i img input label li link main \
             meta nav ol option p script section select slot span style table tbody td template th \
             thead title tr ul xml",
        ),
        ..PLAIN
    },
    Language {
        names: &["css", "scss", "less", "sass"],
        block_comment: Some(("/*", "*/")),
        line_comments: &["//"],
        keywords: Keywords::new(
            "absolute auto block center fixed flex grid hidden important inherit inline none \
             relative solid transparent",
        ),
        has_keys: true,
        ..PLAIN
    },
    Language {
        names: &["lua"],
        line_comments: &["--"],
        keywords: Keywords::new(
            "and break do else elseif end false for function goto if in local nil not or repeat \
             return then true until while",
        ),
        ..PLAIN
    },
    Language {
        names: &["hs", "haskell", "elm", "purs"],
        line_comments: &["--"],
        block_comment: Some(("{-", "-}")),
        quotes: "\"",
        keywords: Keywords::new(
            "case class data deriving do else foldr if import in infix instance let module newtype \
             of qualified then type where",
        ),
        ..PLAIN
    },
    Language {
        names: &["ex", "exs", "elixir", "erl", "erlang"],
        line_comments: &["#", "%"],
        long_quotes: &["\"\"\""],
        keywords: Keywords::new(
            "after alias and case catch cond def defmacro defmodule defp do else end false fn for \
             if import in nil not or quote raise receive require rescue true try unless unquote \
             use when with",
        ),
        ..PLAIN
    },
    Language {
        names: &["clj", "cljs", "edn", "lisp", "el", "scm", "scheme", "rkt"],
        line_comments: &[";"],
        quotes: "\"",
        keywords: Keywords::new(
            "and cond def define defmacro defn defun do else false fn if lambda let loop nil not \
             ns or quote recur require set true when",
        ),
        ..PLAIN
    },
    Language {
        names: &[
            "zig", "d", "dart", "v", "nim", "proto", "graphql", "gql", "hcl", "tf", "solidity",
            "sol",
        ],
        line_comments: &["//", "#"],
        keywords: Keywords::new(
            "abstract and async await bool break case catch class comptime const continue default \
             defer do double else enum errdefer export extends false final finally fn for fun func \
             function get if implements import in int interface is late let message mixin module \
             mut mutation new null of or orelse override package part private proc pub public \
             query rec repeated required resource return rpc service set static string struct \
             super switch syntax this throw true try type typedef union unreachable usingnamespace \
             var variable void when where while with yield",
        ),
        ..C_LIKE
    },
    Language {
        names: &[
            "dockerfile",
            "docker",
            "containerfile",
            "makefile",
            "make",
            "mk",
            "cmake",
            "just",
            "nix",
        ],
        line_comments: &["#"],
        keywords: Keywords::new(
            "ADD ARG CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN SHELL USER VOLUME \
             WORKDIR define else endif endef export if ifdef ifeq ifndef ifneq in include inherit \
             let override rec then with",
        ),
        ..PLAIN
    },
];

impl Language {
    /// Returns the language with this name in a fence or as a file extension.
    pub fn from_name(name: &str) -> Option<&'static Language> {
        let lower = name.trim().to_ascii_lowercase();
        LANGUAGES
            .iter()
            .find(|language| language.names.contains(&lower.as_str()))
    }

    /// Returns its name in a fence.
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    /// Returns the language of a file, by its extension, or by the whole of a name without one,
    /// such as `Makefile`.
    pub fn from_path(path: &str) -> Option<&'static Language> {
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        let extension = file.rsplit('.').next().unwrap_or(file);
        Language::from_name(extension)
    }

    fn is_keyword(&self, word: &str) -> bool {
        if self.ignores_case {
            let lower = word.to_ascii_lowercase();
            return self.keywords.contains(&lower);
        }
        self.keywords.contains(word)
    }
}

/// The keywords of a language, in a hash table that is built at compile time. A table is fast, and
/// every name in the code is looked up.
#[derive(Debug)]
struct Keywords {
    /// The keywords, separated by spaces.
    words: &'static str,
    /// The offset of a keyword in `words`, plus 1; 0 if the slot is free. A keyword is in the slot
    /// [`first_slot`], or if that is taken by another keyword, in the next free one.
    slots: [u16; SLOT_COUNT],
}

/// The number of slots: a power of two above the number of keywords of any language, so that a
/// search always ends at a free slot.
const SLOT_COUNT: usize = 256;

impl Keywords {
    /// Builds the table of these keywords, which are ASCII and separated by single spaces. There
    /// must be fewer than [`SLOT_COUNT`].
    const fn new(words: &'static str) -> Keywords {
        let bytes = words.as_bytes();
        let mut slots = [0; SLOT_COUNT];
        let mut start = 0;
        while start < bytes.len() {
            let end = keyword_end(bytes, start);
            let wanted_slot = first_slot(bytes[start], bytes[end - 1], end - start);
            // Plus 1, because 0 means that the slot is free.
            slots[free_slot(&slots, wanted_slot)] = start as u16 + 1;
            start = end + 1;
        }
        Keywords { words, slots }
    }

    /// Whether the word is a keyword. It is compared with the keywords from its first slot up to
    /// the next free slot. There always is one, because the table has more slots than keywords.
    fn contains(&self, word: &str) -> bool {
        // The table needs a first and a last byte. For a word of one letter, all keywords are
        // searched.
        let &[first, .., last] = word.as_bytes() else {
            return self.words.split(' ').any(|keyword| keyword == word);
        };
        let mut slot = first_slot(first, last, word.len());
        while self.slots[slot] != 0 {
            // A slot that is not free has the offset of its keyword plus 1.
            let keyword_start = usize::from(self.slots[slot] - 1);
            let from_keyword = &self.words.as_bytes()[keyword_start..];
            let is_prefix = from_keyword.starts_with(word.as_bytes());
            // A space ends a keyword, and so does the end of the list.
            let is_whole = matches!(from_keyword.get(word.len()), None | Some(b' '));
            if is_prefix && is_whole {
                return true;
            }
            slot = (slot + 1) % SLOT_COUNT;
        }
        false
    }
}

/// Returns the end of the keyword that begins at an offset of the list.
const fn keyword_end(words: &[u8], start: usize) -> usize {
    // Loops by index, because iterators cannot be used in a `const fn`.
    let mut end = start;
    while end < words.len() && words[end] != b' ' {
        end += 1;
    }
    end
}

/// Returns the first free slot from the wanted one on. The first slot follows the last.
const fn free_slot(slots: &[u16; SLOT_COUNT], wanted: usize) -> usize {
    let mut slot = wanted;
    while slots[slot] != 0 {
        slot = (slot + 1) % SLOT_COUNT;
    }
    slot
}

/// Returns the slot at which the search begins for a keyword with these first and last bytes and
/// this length. The factors only scatter the keywords.
const fn first_slot(first: u8, last: u8, len: usize) -> usize {
    (first as usize * 7 + last as usize * 31 + len * 61) % SLOT_COUNT
}

/// Divides code into pieces, and calls `write_piece` with each piece and its kind, in order. All
/// text between two coloured pieces is one piece, whose kind is `None`.
pub fn each_word<'a>(
    text: &'a str,
    language: &Language,
    write_piece: &mut dyn FnMut(Option<WordKind>, &'a str),
) {
    let mut token_start = 0;
    // The end of the last piece that was written.
    let mut written_end = 0;
    while token_start < text.len() {
        let token = next_token(text, token_start, language);
        if token.kind.is_some() {
            if written_end < token_start {
                write_piece(None, &text[written_end..token_start]);
            }
            write_piece(token.kind, &text[token_start..token.end]);
            written_end = token.end;
        }
        token_start = token.end;
    }
    if written_end < text.len() {
        write_piece(None, &text[written_end..]);
    }
}

/// A piece of code.
struct Token {
    /// `None` if it is not coloured.
    kind: Option<WordKind>,
    /// The offset at which it ends.
    end: usize,
}

impl Token {
    fn without_kind(end: usize) -> Token {
        Token { kind: None, end }
    }

    fn with_kind(kind: WordKind, end: usize) -> Token {
        Token {
            kind: Some(kind),
            end,
        }
    }
}

/// Reads the token that begins at the offset `start`: a name, a number, a comment, a string, or
/// else a single character. `start` must be before the end of the text.
fn next_token(text: &str, start: usize, language: &Language) -> Token {
    let unread = &text[start..];
    let bytes = unread.as_bytes();
    let first = bytes[0];
    if first.is_ascii_alphabetic() || first == b'_' || first == b'$' {
        return read_name(text, start, language);
    }
    if first.is_ascii_digit() {
        return Token::with_kind(WordKind::NUMBER, start + number_len(bytes));
    }
    // Nothing below begins with white space or with a character outside of ASCII.
    if first.is_ascii_whitespace() || first >= 0x80 {
        let char_len = unread.chars().next().map_or(1, char::len_utf8);
        return Token::without_kind(start + char_len);
    }

    if let Some(end) = find_comment_end(text, start, language) {
        return Token::with_kind(WordKind::COMMENT, end);
    }

    // Long quotes are tried before short ones, because `"""` begins with `"`.
    for quote in language.long_quotes {
        if unread.starts_with(quote) {
            let content_start = start + quote.len();
            let string_end = find_string_end(text, content_start, quote, LineBreaks::InString);
            let (StringEnd::Closed(end) | StringEnd::BrokenOff(end)) = string_end;
            return Token::with_kind(WordKind::STRING, end);
        }
    }
    if language.quotes.as_bytes().contains(&first) {
        return read_string(text, start, language);
    }
    Token::without_kind(start + 1)
}

/// Returns the length of the number with which the bytes begin. Letters are part of it, for `0xff`,
/// `1e5` and `10u8`.
fn number_len(bytes: &[u8]) -> usize {
    let first_other = bytes
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_')));
    first_other.unwrap_or(bytes.len())
}

/// Whether a comment up to the end of the line begins at the offset `start`. Some marks must follow
/// white space, so that `$#` in a shell begins none. Others must not follow a colon, as the `//` of
/// a URL does.
fn begins_line_comment(text: &str, start: usize, language: &Language) -> bool {
    // The start of the text is like white space.
    let byte_before = match start.checked_sub(1) {
        Some(before) => text.as_bytes()[before],
        None => b' ',
    };
    for mark in language.line_comments {
        if !text[start..].starts_with(mark) {
            continue;
        }
        let begins = match mark.as_bytes() {
            b"#" | b";" | b"%" | b"--" => byte_before.is_ascii_whitespace(),
            _ => byte_before != b':',
        };
        if begins {
            return true;
        }
    }
    false
}

/// Reads the name that begins at the offset `start`, and finds its kind. The kinds are tried in
/// this order: a keyword, a key before `:`, a type in camel case, a name that is called. Any other
/// name has no kind.
fn read_name(text: &str, start: usize, language: &Language) -> Token {
    let unread = &text.as_bytes()[start..];
    let first_other = unread
        .iter()
        .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')));
    let end = start + first_other.unwrap_or(unread.len());
    let name = &text[start..end];
    let byte_after = text.as_bytes().get(end).copied();

    if language.is_keyword(name) {
        return Token::with_kind(WordKind::KEYWORD, end);
    }
    if language.has_keys && byte_after == Some(b':') {
        // Keys have the colour of names that are called.
        return Token::with_kind(WordKind::CALL, end);
    }
    if is_camel_case(name) {
        // Languages of data and text have no types. There, such a word is not a call either.
        let has_types = !language.has_keys && !language.keywords.words.is_empty();
        return if has_types {
            Token::with_kind(WordKind::TYPE, end)
        } else {
            Token::without_kind(end)
        };
    }
    if byte_after == Some(b'(') {
        return Token::with_kind(WordKind::CALL, end);
    }
    Token::without_kind(end)
}

/// Whether a name begins with a capital and has a small letter: `Vec`, but not the constant `MAX`.
fn is_camel_case(name: &str) -> bool {
    name.as_bytes()[0].is_ascii_uppercase() && name.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Reads a string on one line, or a quoted key. The opening quote, which is one byte, is at the
/// offset `start`. A string that is not closed reaches to the end of the line, but a `'` that is
/// not closed is an apostrophe.
fn read_string(text: &str, start: usize, language: &Language) -> Token {
    let quote = &text[start..=start];
    let content_start = start + 1;
    let end = match find_string_end(text, content_start, quote, LineBreaks::EndString) {
        StringEnd::Closed(end) => end,
        StringEnd::BrokenOff(end) => {
            let is_apostrophe = quote == "'";
            if is_apostrophe {
                return Token::without_kind(content_start);
            }
            end
        }
    };
    let is_key = language.has_keys && text[end..].trim_ascii_start().starts_with(':');
    let kind = if is_key {
        // Keys have the colour of names that are called.
        WordKind::CALL
    } else {
        WordKind::STRING
    };
    Token::with_kind(kind, end)
}

/// Where a string ends, as an offset in the text.
enum StringEnd {
    /// After its closing quote.
    Closed(usize),
    /// The string has no closing quote. It ends before the newline, or at the end of the text.
    BrokenOff(usize),
}

/// What a newline inside of quotes is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineBreaks {
    /// A character of the string.
    InString,
    /// The end of the string, which has no closing quote then.
    EndString,
}

/// Returns the end of the comment that begins at the offset `start`; `None` if none begins there. A
/// block comment without an end extends to the end of the text.
fn find_comment_end(text: &str, start: usize, language: &Language) -> Option<usize> {
    let unread = &text[start..];
    if let Some((open, close)) = language.block_comment
        && let Some(comment) = unread.strip_prefix(open)
    {
        return match comment.find(close) {
            Some(content_len) => Some(start + open.len() + content_len + close.len()),
            None => Some(text.len()),
        };
    }
    if !begins_line_comment(text, start, language) {
        return None;
    }
    match memchr::memchr(b'\n', unread.as_bytes()) {
        Some(newline) => Some(start + newline),
        None => Some(text.len()),
    }
}

/// Finds the end of a string whose content begins at the offset `content_start`. A backslash
/// escapes the character after it, even a newline.
fn find_string_end(
    text: &str,
    content_start: usize,
    quote: &str,
    line_breaks: LineBreaks,
) -> StringEnd {
    let mut chars = text[content_start..].char_indices();
    while let Some((index, c)) = chars.next() {
        let offset = content_start + index;
        if c == '\\' {
            let _escaped = chars.next();
        } else if c == '\n' && line_breaks == LineBreaks::EndString {
            return StringEnd::BrokenOff(offset);
        } else if quote.starts_with(c) && text[offset..].starts_with(quote) {
            return StringEnd::Closed(offset + quote.len());
        }
    }
    StringEnd::BrokenOff(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(language: &str, text: &str) -> String {
        let mut out = String::new();
        each_word(
            text,
            Language::from_name(language).unwrap(),
            &mut |word, text| match word {
                Some(word) => out += &format!("<{}:{text}>", word.letter()),
                None => out += text,
            },
        );
        out
    }

    #[test]
    fn words_are_coloured_by_their_kind() {
        assert_eq!(
            read("ts", "const a = foo(`x ${1}`, 'it'); // http://x"),
            "<k:const> a = <f:foo>(<s:`x ${1}`>, <s:'it'>); <c:// http://x>"
        );
        assert_eq!(
            read("rust", "fn f(a: &'a Vec) -> u8 { 1_0.5 } /* x"),
            "<k:fn> <f:f>(a: &'a <t:Vec>) -> <k:u8> { <n:1_0.5> } <c:/* x>"
        );
        assert_eq!(
            read("py", "x = \"\"\"a\nb\"\"\" # c"),
            "x = <s:\"\"\"a\nb\"\"\"> <c:# c>"
        );
        assert_eq!(
            read("json", "{\"a\": [true, \"b\"]}"),
            "{<f:\"a\">: [<k:true>, <s:\"b\">]}"
        );
        assert_eq!(read("sh", "echo $# it's # no"), "echo $# it's <c:# no>");
    }

    #[test]
    fn every_keyword_is_found() {
        for language in LANGUAGES {
            for keyword in language.keywords.words.split(' ') {
                assert!(language.is_keyword(keyword), "{keyword}");
                assert!(!language.is_keyword(&format!("{keyword}_")), "{keyword}");
                if language.ignores_case {
                    assert!(language.is_keyword(&keyword.to_uppercase()), "{keyword}");
                }
            }
        }
    }

    #[test]
    fn every_text_comes_out_whole() {
        let texts = [
            "",
            "\"",
            "'",
            "\\",
            "`\\",
            "\"\\",
            "é\"é\\é",
            "/*",
            "\"\"\"",
            "日本\\",
            "'\\é",
            "`\\é`",
            "a$é(1é",
        ];
        for language in LANGUAGES {
            for text in texts {
                let mut out = String::new();
                each_word(text, language, &mut |_, piece| out += piece);
                assert_eq!(out, text, "{:?}", language.names);
            }
        }
    }

    #[test]
    fn languages_by_file() {
        assert!(Language::from_path("/a/b.test.ts").is_some());
        assert!(Language::from_path("Dockerfile").is_some());
        assert!(Language::from_path("a/b/README").is_none());
    }
}
