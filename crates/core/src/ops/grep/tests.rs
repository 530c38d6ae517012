//! Compares the search with a slow and obviously correct one, on sessions made to mislead it.
//!
//! The generator keeps each text of a session and writes it in a random spelling: any character may
//! be a `\u` escape, a slash may be escaped, lone surrogates occur. The slow search reads these
//! texts, never a line.

use super::*;
use crate::session::dice::Dice;
use crate::session::entry::Ending;
use crate::session::fields::FieldScope;
use crate::session::search::SnippetSize;
use pisess_store::{KeptContent, PageBuffer, ReadAt};
use std::fmt::Write as _;
use std::ops::{ControlFlow, Range};

/// Characters that are spelled in several ways, fold in odd ways, or look like an escape.
const LETTERS: [char; 26] = [
    'a', 'b', 'k', 'K', '\u{212a}', 's', 'ſ', 'S', 'é', 'É', '"', '\\', '/', '\n', '\t', '\r',
    '\u{8}', '\u{1b}', '日', '😀', '😁', ' ', 'u', '0', '6', '\u{2028}',
];
/// Stands for a lone surrogate in generated texts; written to the file as `\ud83d`.
const LONE: char = '\u{fffd}';

fn random_text(dice: &mut Dice) -> String {
    let length = dice.pick(&[0, 1, 2, 3, 5, 8, 13, 40]);
    let mut text: String = (0..length).map(|_| dice.pick(&LETTERS)).collect();
    if dice.below(8) == 0 {
        text.push(LONE);
        text.push(dice.pick(&['x', ' ', 'a']));
    }
    text
}

fn escaped(unit: u16, dice: &mut Dice) -> String {
    if dice.below(2) == 0 {
        format!("\\u{unit:04x}")
    } else {
        format!("\\u{unit:04X}")
    }
}

/// Returns the text in quotes, in a spelling that JSON allows.
fn spelled(text: &str, dice: &mut Dice) -> String {
    let escapes = dice.below(3);
    let mut out = String::from('"');
    for c in text.chars() {
        let simple = match c {
            '"' => Some("\\\""),
            '\\' => Some("\\\\"),
            '\n' => Some("\\n"),
            '\t' => Some("\\t"),
            '\r' => Some("\\r"),
            '\u{8}' => Some("\\b"),
            '/' if dice.below(2) == 0 => Some("\\/"),
            _ => None,
        };
        if c == LONE {
            out.push_str(&escaped(0xd83d, dice));
        } else if c < ' ' && simple.is_none() || escapes > 0 && dice.below(4 * escapes) == 0 {
            c.encode_utf16(&mut [0; 2])
                .iter()
                .for_each(|&unit| out.push_str(&escaped(unit, dice)));
        } else {
            match simple {
                Some(simple) => out.push_str(simple),
                None => out.push(c),
            }
        }
    }
    out.push('"');
    out
}

/// A generated session, and the texts of its entries, with the paths of their fields, in order.
#[derive(Default)]
struct Made {
    lines: String,
    entries: Vec<(String, Vec<(String, String)>)>,
}

impl Made {
    fn new(dice: &mut Dice) -> Made {
        let header = r#"{"type":"session","version":3,"id":"made","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/ab"}"#;
        let mut made = Made {
            lines: format!("{header}\n"),
            ..Made::default()
        };
        for at in 0..12 {
            made.entry(at, dice);
        }
        made
    }

    fn entry(&mut self, at: usize, dice: &mut Dice) {
        let mut fields = Vec::new();
        // Signatures, data, keys and ids have the same letters, but are not searched.
        let decoy = spelled(&random_text(dice), dice);
        let (role, body) = {
            let mut say = |path: &str| {
                let text = random_text(dice);
                let json = spelled(&text, dice);
                fields.push((path.to_owned(), text));
                json
            };
            match at % 6 {
                0 => (
                    "user",
                    format!(
                        r#""message":{{"role":"user","content":{}}}"#,
                        say("message.content")
                    ),
                ),
                1 => {
                    let (thinking, said) = (
                        say("message.content[0].thinking"),
                        say("message.content[1].text"),
                    );
                    let argument = say("message.content[2].arguments.path[1].b");
                    let body = format!(
                        r#""message":{{"role":"assistant","content":[{{"type":"thinking","thinking":{thinking},"thinkingSignature":{decoy}}},{{"type":"text","text":{said}}},{{"type":"toolCall","id":{decoy},"arguments":{{"path":[7.5,{{"b":{argument}}}]}}}}],"usage":{{}}}}"#
                    );
                    ("assistant", body)
                }
                2 => {
                    let result = say("message.content[1].text");
                    let body = format!(
                        r#""message":{{"role":"toolResult","toolCallId":{decoy},"content":[{{"type":"image","data":{decoy}}},{{"type":"text","text":{result}}}],"details":{{"k":{decoy}}}}}"#
                    );
                    ("toolResult", body)
                }
                3 => (
                    "compaction",
                    format!(r#""firstKeptEntryId":{decoy},"summary":{}"#, say("summary")),
                ),
                4 => (
                    "label",
                    format!(r#""targetId":{decoy},"label":{}"#, say("label")),
                ),
                _ => ("session_info", format!(r#""name":{}"#, say("name"))),
            }
        };
        let kind = if at % 6 < 3 { "message" } else { role };
        if role == "assistant" {
            fields.insert(
                2,
                (
                    "message.content[2].arguments.path[0]".to_owned(),
                    "7.5".to_owned(),
                ),
            );
        }
        let id = format!("{at:08x}");
        writeln!(
            self.lines,
            r#"{{"type":"{kind}","id":"{id}","parentId":null,"timestamp":"2026-11-01T00:00:{at:02}.000Z",{body}}}"#
        )
        .unwrap();
        self.entries.push((id, fields));
    }

    /// Returns the places where a pattern matches, found by a search of the texts, not of the file.
    fn matches(&self, pattern: &regex::Regex) -> Vec<(String, String, Range<usize>)> {
        let units = |text: &str| text.encode_utf16().count();
        let first = |fields: &Vec<(String, String)>| {
            fields.iter().find_map(|(path, text)| {
                let found = pattern.find(text)?;
                let start = units(&text[..found.start()]);
                Some((path.clone(), start..start + units(found.as_str())))
            })
        };
        let hits = self
            .entries
            .iter()
            .filter_map(|(id, fields)| Some((id, first(fields)?)));
        hits.map(|(id, (path, range))| (id.clone(), path, range))
            .collect()
    }
}

fn query_for(pattern: Pattern) -> Query {
    Query {
        pattern,
        inverted: false,
        entries: EntryFilter::default(),
        scope: FieldScope::Meaningful,
        details: MatchDetails {
            snippets: Some(SnippetSize::default()),
            ..MatchDetails::default()
        },
        is_only_reader: true,
    }
}

fn all_hits(lines: &str, query: &Query) -> Vec<Match> {
    let mut hits = Vec::new();
    let source = lines.as_bytes().to_vec();
    let searched = search_file(
        &source,
        query,
        None,
        1,
        &mut PageBuffer::default(),
        &mut |_, hit| {
            hits.push(hit);
            ControlFlow::Continue(())
        },
    );
    assert_eq!(searched.unwrap().unread, None);
    hits
}

/// Returns a piece of a random text of the session, so that most patterns match somewhere.
fn random_piece(made: &Made, dice: &mut Dice) -> String {
    let (_, fields) = &made.entries[dice.below(made.entries.len())];
    let (_, text) = &fields[dice.below(fields.len())];
    let text: Vec<char> = text.chars().filter(|&c| c != LONE).collect();
    let start = dice.below(text.len() + 1);
    let length = dice.pick(&[1, 1, 2, 3, 6]);
    text[start..text.len().min(start + length)].iter().collect()
}

#[test]
fn the_same_hits_as_a_search_through_the_texts() {
    let mut dice = Dice(7);
    let (mut found, mut prefiltered) = (0, 0);
    for _ in 0..30 {
        let made = Made::new(&mut dice);
        for _ in 0..8 {
            let piece = random_piece(&made, &mut dice);
            let other = random_piece(&made, &mut dice);
            let literal = regex::escape(&piece);
            let source = match dice.below(5) {
                0..3 => literal,
                3 => format!("{literal}|{}", regex::escape(&other)),
                _ => format!("[ab]?{literal}(?:\\w|{})*", regex::escape(&other)),
            };
            let options = PatternOptions {
                ignore_case: dice.below(3) == 0,
                ..PatternOptions::default()
            };
            let oracle = regex::RegexBuilder::new(&source)
                .multi_line(true)
                .case_insensitive(options.ignore_case)
                .build()
                .unwrap();
            let query = query_for(Pattern::new(std::slice::from_ref(&source), options).unwrap());
            prefiltered += usize::from(query.pattern.prefilter().is_some());
            let expected = made.matches(&oracle);
            let got: Vec<_> = all_hits(&made.lines, &query)
                .into_iter()
                .map(|hit| (hit.id.to_string(), hit.hit.field, hit.hit.range))
                .collect();
            found += got.len();
            assert_eq!(got, expected, "{source:?} {options:?} in\n{}", made.lines);
        }
    }
    // With fewer, too little was compared.
    assert!(
        found > 240 && prefiltered > 100,
        "{found} hits, {prefiltered} patterns with a prefilter"
    );
}

const SESSION: &str = concat!(
    r#"{"type":"session","version":3,"id":"s","timestamp":"2026-11-01T00:00:00.000Z","cwd":"/p"}"#,
    "\n\n",
    r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-11-01T00:00:01.000Z","message":{"role":"user","content":"find the ferry"}}"#,
    "\n",
);

#[test]
fn lines_that_are_no_json_are_counted_where_they_may_match() {
    let lines = format!("{SESSION}{{\"ferry\n{{}}ferry\nother\n{{\"ferry");
    let query = query_for(Pattern::new(&["ferry".to_owned()], PatternOptions::default()).unwrap());
    let mut count = 0;
    let source = lines.into_bytes();
    let searched = search_file(
        &source,
        &query,
        None,
        1,
        &mut PageBuffer::default(),
        &mut |_, _| {
            count += 1;
            ControlFlow::Continue(())
        },
    );
    let unread = searched
        .unwrap()
        .unread
        .map(|lines| (lines.count, lines.first.0));
    assert_eq!((count, unread), (1, Some((2, 4))));
}

#[test]
fn lines_are_numbered_whatever_was_read_before() {
    // The only hit is in the third chunk: the lines of the first two are counted late.
    let filler = format!("{}\n", r#"{"type":"custom","id":"x","parentId":null}"#).repeat(30_000);
    let lines = format!(
        "{}{filler}{}",
        &SESSION[..SESSION.find("\n\n").unwrap() + 1],
        "{\"type\":\"label\",\"id\":\"l\",\"label\":\"ferry\"}\n"
    );
    let query = query_for(Pattern::new(&["ferry".to_owned()], PatternOptions::default()).unwrap());
    let hits = all_hits(&lines, &query);
    assert_eq!(
        hits.iter().map(|hit| hit.line.0).collect::<Vec<_>>(),
        [30_002]
    );
}

/// A search of ranges finds the same entries with the same line numbers as a search of all lines.
#[test]
fn several_threads_find_what_one_finds() {
    let mut lines = SESSION.to_owned();
    let long = "x".repeat(700_000);
    for at in 0..6000 {
        let text = match at {
            1 | 17 | 2000 | 2001 | 5999 => "the ferry",
            100 | 4000 => &long,
            _ => "nothing that is searched for, on a line of ordinary length",
        };
        lines += &format!(
            "{{\"type\":\"message\",\"id\":\"n{at}\",\"message\":{{\"role\":\"user\",\"content\":\"{text}\"}}}}\n"
        );
        if at % 1500 == 7 {
            lines += "{\"a torn ferry\n\n";
        }
    }
    let source = lines.into_bytes();
    let pattern = Pattern::new(&["ferry".to_owned()], PatternOptions::default()).unwrap();
    let listed = query_for(pattern.clone());
    let counted = Query {
        details: MatchDetails::default(),
        ..listed.clone()
    };
    let on_path = Query {
        entries: EntryFilter {
            only_active: true,
            ..EntryFilter::default()
        },
        ..counted.clone()
    };
    for (name, query) in [
        ("listed", listed),
        ("counted", counted),
        ("on the path", on_path),
    ] {
        let search_with = |workers| {
            let mut hits = Vec::new();
            let buffer = &mut PageBuffer::default();
            let searched = search_file(&source, &query, None, workers, buffer, &mut |_, hit| {
                hits.push((hit.line, hit.id.to_string()));
                ControlFlow::Continue(())
            });
            (hits, searched.unwrap().unread)
        };
        let (hits, unread) = search_with(1);
        assert!(!hits.is_empty(), "{name}");
        assert_eq!(unread.map(|lines| lines.count), Some(4), "{name}");
        for _ in 0..5 {
            assert_eq!(search_with(3), (hits.clone(), unread), "{name}");
        }

        let mut streamed_hits = Vec::new();
        let buffer = &mut PageBuffer::default();
        let made = MadeContent(source.clone());
        let searched = search_file(&made, &query, None, 1, buffer, &mut |_, hit| {
            streamed_hits.push((hit.line, hit.id.to_string()));
            ControlFlow::Continue(())
        });
        if name == "counted" {
            assert_eq!(streamed_hits.len(), hits.len());
        } else {
            assert_eq!(streamed_hits, hits, "{name}");
        }
        assert_eq!(searched.unwrap().unread, unread, "{name}");
    }
}

/// Content that is made as it is read.
struct MadeContent(Vec<u8>);

impl ReadAt for MadeContent {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
        self.0.read_at(buf, offset)
    }

    fn len(&self) -> u64 {
        ReadAt::len(&self.0)
    }

    fn stream(
        &self,
        _kept: KeptContent,
        read: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Option<std::io::Result<()>> {
        for part in self.0.chunks(100_000) {
            read(part);
        }
        Some(Ok(()))
    }
}

/// The call of a result may be in an earlier part of the text, which is no longer searched, and the
/// result of a call in a later part.
#[test]
fn a_streamed_result_has_its_tool_and_a_streamed_call_its_failure() {
    let has_failed = |at: usize| at.is_multiple_of(3);
    let mut lines = SESSION[..SESSION.find('\n').unwrap() + 1].to_owned();
    for at in 0..40 {
        let filler = "x".repeat(50_000);
        let is_error = has_failed(at);
        lines += &format!(
            "{{\"type\":\"message\",\"id\":\"c{at}\",\"message\":{{\"role\":\"assistant\",\"content\":[{{\"type\":\"toolCall\",\"id\":\"t{at}\",\"name\":\"bash\",\"arguments\":{{\"command\":\"ferry {at}\"}}}}]}}}}\n\
             {{\"type\":\"message\",\"id\":\"f{at}\",\"message\":{{\"role\":\"user\",\"content\":\"{filler}\"}}}}\n\
             {{\"type\":\"message\",\"id\":\"r{at}\",\"message\":{{\"role\":\"toolResult\",\"toolCallId\":\"t{at}\",\"toolName\":\"bash\",\"isError\":{is_error},\"content\":\"ferry\"}}}}\n"
        );
    }
    let mut query =
        query_for(Pattern::new(&["ferry".to_owned()], PatternOptions::default()).unwrap());
    query.details.tools = Some(ToolOptions::default());
    let mut found = Vec::new();
    let buffer = &mut PageBuffer::default();
    let made = MadeContent(lines.into_bytes());
    let searched = search_file(&made, &query, None, 1, buffer, &mut |_, hit| {
        let subject = hit.tool.unwrap().subject.to_string();
        found.push((
            hit.id.to_string(),
            subject,
            hit.ending == Some(Ending::Failed),
        ));
        ControlFlow::Continue(())
    });
    searched.unwrap();
    let mut expected = Vec::new();
    for at in 0..40 {
        for id in ["c", "r"] {
            let subject = format!("ferry {at}");
            expected.push((format!("{id}{at}"), subject, has_failed(at)));
        }
    }
    assert_eq!(found, expected);
}

/// Too many matches to hold are found by position.
#[test]
fn a_stream_with_many_matches_has_them_all() {
    let mut lines = SESSION.to_owned();
    for at in 0..250_000 {
        lines += &format!("{{\"type\":\"label\",\"id\":\"n{at}\",\"label\":\"ferry\"}}\n");
    }
    let pattern = Pattern::new(&["ferry".to_owned()], PatternOptions::default()).unwrap();
    let listed = query_for(pattern);
    let counted = Query {
        details: MatchDetails::default(),
        ..listed.clone()
    };
    let made = MadeContent(lines.into_bytes());
    for query in [listed, counted] {
        let mut count = 0;
        let buffer = &mut PageBuffer::default();
        let searched = search_file(&made, &query, None, 1, buffer, &mut |_, _| {
            count += 1;
            ControlFlow::Continue(())
        });
        searched.unwrap();
        assert_eq!(count, 250_001);
    }
}
