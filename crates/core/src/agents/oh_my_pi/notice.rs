//! The notice after the output of a command: how much of the output is shown, which limit was
//! reached, and what a language server reported (`formatOutputNotice`).

use super::path_tree::{OutlineLine, outline_paths};
use crate::agents::ordered::OrderedMap;
use crate::session::content;
use crate::session::paths::with_slashes;
use pisess_json::Raw;
use pisess_json::js;
use pisess_json::text::{JS_SPACE, Text, concat_texts, join_with};
use regex::bytes::Regex;
use std::sync::LazyLock;

/// Returns the notice below the output of an execution, from its `meta`; empty if there is nothing
/// to note.
///
/// After a blank line, sentences in one pair of brackets report what was truncated, a failure to
/// save the output, and limits: `[Showing 3 of 9 lines. 100 matches limit reached]`. The messages
/// of a language server follow.
pub fn format_notice(meta: Option<Raw>) -> Text<'static> {
    let names = [
        "truncation",
        "source",
        "artifactError",
        "limits",
        "diagnostics",
    ];
    let [truncation, source, artifact_error, limits, diagnostics] =
        content::find_members(meta.unwrap_or(Raw::NULL), names);

    let mut sentences: Vec<Text> = Vec::new();
    if let Some(truncation) = truthy(truncation) {
        sentences.push(truncation_sentence(truncation, source));
    }
    if let Some(error) = truthy(artifact_error) {
        sentences.push(concat_texts(&[
            &"Full output was not saved completely (artifact ",
            &js::to_js_string(error),
            &" failed)",
        ]));
    }
    if let Some(limits) = limits {
        sentences.extend(limit_sentences(limits));
    }

    let diagnostics = diagnostics.and_then(format_diagnostics).unwrap_or_default();
    if sentences.is_empty() {
        return diagnostics;
    }
    concat_texts(&[&"\n\n[", &join_with(sentences, ". "), &"]", &diagnostics])
}

/// Returns a sentence for each limit that was reached, in the words of the agent: first for limits
/// of counts, as in `100 matches limit reached. Use limit=200 for more`, then for the limit of the
/// width of lines.
fn limit_sentences(limits: Raw) -> Vec<Text<'static>> {
    let mut sentences = Vec::new();
    for (key, counted_things) in [
        ("matchLimit", "matches"),
        ("resultLimit", "results"),
        ("headLimit", "results"),
    ] {
        if let Some(limit) = truthy(limits.get(key)) {
            let [reached, suggestion] = content::find_members(limit, ["reached", "suggestion"]);
            sentences.push(concat_texts(&[
                &js::interpolate(reached),
                &format!(" {counted_things} limit reached. Use limit="),
                &js::interpolate(suggestion),
                &" for more",
            ]));
        }
    }

    if let Some(limit) = truthy(limits.get("columnTruncated")) {
        sentences.push(column_limit_sentence(limit));
    }
    sentences
}

/// Returns the sentence for lines that were cut to a maximum width:
/// `Some lines truncated to 500 chars`. If the full output was saved, a hint at where it is
/// follows.
fn column_limit_sentence(limit: Raw) -> Text<'static> {
    let [column, unit, artifact] =
        content::find_members(limit, ["maxColumn", "unit", "artifactId"]);
    let unit = non_null(unit).map_or(Text::from("chars"), |unit| js::to_js_string(unit));
    let mut sentence = concat_texts(&[
        &"Some lines truncated to ",
        &js::interpolate(column),
        &" ",
        &unit,
    ]);
    if let Some(artifact) = non_null(artifact) {
        sentence.push_all(&[&". ", &full_output_hint(artifact)]);
    }
    sentence
}

/// Returns the sentences for a truncated output (`formatTruncationMetaNotice`): how much is shown,
/// and how to read more, from an offset or from the artifact, which is a file with the whole
/// output.
fn truncation_sentence(truncation: Raw, source: Option<Raw>) -> Text<'static> {
    let [direction, next_offset, artifact] =
        content::find_members(truncation, ["direction", "nextOffset", "artifactId"]);
    let lacks_middle = direction.is_some_and(|direction| direction.is("middle"));
    let is_partial_line = !lacks_middle && content::has_truthy(truncation, "partialLine");

    let mut sentence = if lacks_middle {
        head_and_tail_sentence(truncation)
    } else if is_partial_line {
        partial_line_sentence(truncation)
    } else {
        line_range_sentence(truncation)
    };

    // An offset counts lines, so it cannot continue within one.
    if !is_partial_line && let Some(next_offset) = non_null(next_offset) {
        sentence.push_all(&[&". Use :", &js::to_js_string(next_offset), &" to continue"]);
    }
    if let Some(artifact) = non_null(artifact) {
        let report =
            full_report_hint(artifact, source).unwrap_or_else(|| full_output_hint(artifact));
        sentence.push_all(&[&". ", &report]);
    }
    sentence
}

/// Returns the sentence for an output that is shown without its middle. It has one of three forms,
/// depending on what is stored:
///
/// - the line ranges of head and tail:
///   `Showing lines 1-2 and 9-9 of 9; 6 middle lines (8.8KB) elided`
/// - else, if bytes were left out: `Showing head and tail bytes of 9 lines; 8.8KB elided`
/// - else: `Showing 3 of 9 lines; middle elided`
fn head_and_tail_sentence(truncation: Raw) -> Text<'static> {
    let names = ["headRange", "tailRange", "totalLines", "outputLines"];
    let [head_range, tail_range, total_lines, output_lines] =
        content::find_members(truncation, names);
    let elided_bytes = elided_count(truncation, "elidedBytes", "totalBytes", "outputBytes");
    let elided_lines = elided_count(truncation, "elidedLines", "totalLines", "outputLines");

    if let Some(head_range) = truthy(head_range)
        && let Some(tail_range) = truthy(tail_range)
    {
        let elided = format!(
            "; {} middle line{} ({}) elided",
            js::group_digits(elided_lines),
            plural_suffix(elided_lines),
            format_size(elided_bytes)
        );
        return concat_texts(&[
            &"Showing lines ",
            &format_range(head_range),
            &" and ",
            &format_range(tail_range),
            &" of ",
            &js::interpolate(total_lines),
            &elided,
        ]);
    }

    let line_count = js::to_operand(total_lines);
    if elided_bytes > 0.0 {
        let sentence = format!(
            "Showing head and tail bytes of {} line{}; {} elided",
            js::group_digits(line_count),
            plural_suffix(line_count),
            format_size(elided_bytes)
        );
        return sentence.into();
    }

    let shown_lines = js::to_operand(output_lines).min(line_count);
    concat_texts(&[
        &"Showing ",
        &js::number_to_string(shown_lines),
        &" of ",
        &js::interpolate(total_lines),
        &" lines; middle elided",
    ])
}

/// Returns the number of lines or bytes that were left out: the number under `elided_key` or,
/// without one, the total minus the number that is shown, at least 0.
fn elided_count(truncation: Raw, elided_key: &str, total_key: &str, shown_key: &str) -> f64 {
    let [elided, total, shown] =
        content::find_members(truncation, [elided_key, total_key, shown_key]);
    match non_null(elided) {
        Some(elided) => js::to_operand(Some(elided)),
        None => (js::to_operand(total) - js::to_operand(shown)).max(0.0),
    }
}

fn plural_suffix(count: f64) -> &'static str {
    if count == 1.0 { "" } else { "s" }
}

/// Returns the sentence for an output of which only a part of one line is shown:
/// `Showing line 3 (partial, 1.0KB of 2.0KB) of 90`. A line number that is missing counts as 1.
///
/// Other values that are missing appear as JavaScript would write them: `undefined` lines, `NaN`
/// bytes.
fn partial_line_sentence(truncation: Raw) -> Text<'static> {
    let names = ["shownRange", "outputBytes", "totalBytes", "totalLines"];
    let [range, output_bytes, total_bytes, total_lines] = content::find_members(truncation, names);
    let line = match range.and_then(|range| range.get_some("start")) {
        Some(line) => js::to_js_string(line),
        None => Text::from("1"),
    };
    let part = format!(
        " (partial, {} of {}) of ",
        format_size(js::to_operand(output_bytes)),
        format_size(js::to_operand(total_bytes))
    );
    concat_texts(&[
        &"Showing line ",
        &line,
        &part,
        &js::interpolate(total_lines),
    ])
}

/// Returns the sentence for an output of which one range of lines is shown. Without a valid range,
/// the sentence has the number of lines. If the output was truncated because of its bytes, the
/// limit follows.
fn line_range_sentence(truncation: Raw) -> Text<'static> {
    let names = [
        "shownRange",
        "totalLines",
        "outputLines",
        "truncatedBy",
        "maxBytes",
        "outputBytes",
    ];
    let [
        range,
        total_lines,
        output_lines,
        truncated_by,
        max_bytes,
        output_bytes,
    ] = content::find_members(truncation, names);
    let total_lines = js::interpolate(total_lines);
    // Comparing with NaN is false, so a range with an invalid end is not shown.
    let valid_range = range.filter(|range| {
        range.is_truthy() && js::to_operand(range.get("end")) >= js::to_operand(range.get("start"))
    });

    let mut sentence = match valid_range {
        Some(range) => concat_texts(&[
            &"Showing lines ",
            &format_range(range),
            &" of ",
            &total_lines,
        ]),
        None => concat_texts(&[
            &"Showing ",
            &js::interpolate(output_lines),
            &" of ",
            &total_lines,
            &" lines",
        ]),
    };

    if truncated_by.is_some_and(|reason| reason.is("bytes")) {
        // As in the agent, the size of the output stands in for a limit that is not stored.
        let limit = js::to_operand(non_null(max_bytes).or(output_bytes));
        sentence.push_str(&format!(" ({} limit)", format_size(limit)));
    }
    sentence
}

fn format_range(range: Raw) -> Text<'static> {
    let [start, end] = content::find_members(range, ["start", "end"]);
    concat_texts(&[&js::interpolate(start), &"-", &js::interpolate(end)])
}

fn full_output_hint(artifact: Raw) -> Text<'static> {
    concat_texts(&[
        &"Read artifact://",
        &js::to_js_string(artifact),
        &" for full output",
    ])
}

/// Returns how to read the whole report of which the output is a part, in the words of the agent:
/// `Read artifact://7 for full report (lint)`. `None` if the source of the output is not a report.
fn full_report_hint(artifact: Raw, source: Option<Raw>) -> Option<Text<'static>> {
    let report = source?;
    if !content::member_is(report, "type", "report") {
        return None;
    }
    Some(concat_texts(&[
        &"Read artifact://",
        &js::to_js_string(artifact),
        &" for full report (",
        &js::interpolate(report.get("value")),
        &")",
    ]))
}

/// Returns the messages of a language server below a heading: first those that name a file, in an
/// outline of these files, then the others. `None` if there are no messages.
fn format_diagnostics(diagnostics: Raw) -> Option<Text<'static>> {
    let [summary, messages] = content::find_members(diagnostics, ["summary", "messages"]);
    let messages: Vec<_> = messages?
        .items()
        .map(|message| js::to_js_string(message))
        .collect();
    if messages.is_empty() {
        return None;
    }

    // The files are in the order in which they are first named.
    let mut by_file: OrderedMap<Text, Vec<Text>> = OrderedMap::default();
    let mut without_file = Vec::new();
    for message in &messages {
        match split_diagnostic(message) {
            Some(FileDiagnostic { file, rest }) => by_file.or_insert(file, Vec::new()).push(rest),
            None => without_file.push(message.as_borrowed()),
        }
    }

    let mut lines = outline_diagnostics(&by_file);
    if !by_file.is_empty() && !without_file.is_empty() {
        lines.push(Text::default());
    }
    lines.extend(without_file);

    Some(concat_texts(&[
        &"\n\nLSP Diagnostics (",
        &js::interpolate(summary),
        &"):\n",
        &join_with(lines, "\n"),
    ]))
}

/// Returns the lines of an outline of files. Each file is a heading, with its messages indented
/// below it. A blank line precedes each directory, and each file outside of any directory.
fn outline_diagnostics(by_file: &OrderedMap<Text, Vec<Text>>) -> Vec<Text<'static>> {
    let mut lines = Vec::new();
    outline_paths(by_file.keys(), |OutlineLine { depth, name, file }| {
        let is_folder = file.is_none();
        if !lines.is_empty() && (depth == 0 || is_folder) {
            lines.push(Text::default());
        }
        let slash = if is_folder { "/" } else { "" };
        lines.push(concat_texts(&[&"#".repeat(depth + 1), &" ", &name, &slash]));
        if let Some(file_diagnostics) = file.and_then(|file| by_file.get(file)) {
            for diagnostic in file_diagnostics {
                lines.push(concat_texts(&[&"  ", diagnostic]));
            }
        }
    });
    lines
}

/// A message of a language server that names a file: `path:line:column text`.
struct FileDiagnostic<'a> {
    /// The path, with forward slashes.
    file: Text<'static>,
    /// The rest: `line:column text`.
    rest: Text<'a>,
}

/// Splits a message of a language server into the file and the rest; `None` if it names no file.
/// The path ends at the first `:` that is followed by a position such as `3:14`.
fn split_diagnostic<'a>(message: &'a Text) -> Option<FileDiagnostic<'a>> {
    static DIAGNOSTIC: LazyLock<Regex> = LazyLock::new(|| {
        // The dot of JavaScript: anything but the four ends of a line. It is written in bytes,
        // because the text is WTF-8, which may have half a surrogate pair. Two of the ends are
        // U+2028 and U+2029: \xe2\x80\xa8 and \xe2\x80\xa9.
        let dot = r"(?:[^\n\r\xe2]|\xe2\x80[^\xa8\xa9]|\xe2[^\x80])";
        let pattern = format!(r"^(?<file>{dot}+?):(?<rest>\d+:\d+{JS_SPACE}+{dot}*)$");
        Regex::new(&format!("(?-u){pattern}")).expect("a constant")
    });
    let found = DIAGNOSTIC.captures(message.as_bytes())?;
    Some(FileDiagnostic {
        file: Text::from_wtf8(with_slashes(&found["file"])),
        rest: message.slice(found.name("rest")?.range()),
    })
}

/// Formats a number of bytes in units of 1,024 bytes, as the agent does in its notices. (In notes
/// on pictures, it has units of 1,000.)
fn format_size(bytes: f64) -> String {
    const KB: f64 = 1024.0;
    const MB: f64 = 1024.0 * KB;
    const GB: f64 = 1024.0 * MB;
    // In the agent, no comparison with NaN is true, so it falls through to the last unit.
    if bytes.is_nan() {
        return "NaNGB".to_owned();
    }
    if bytes < KB {
        format!("{}B", js::number_to_string(bytes))
    } else if bytes < MB {
        format!("{}KB", js::to_fixed_1(bytes / KB))
    } else if bytes < GB {
        format!("{}MB", js::to_fixed_1(bytes / MB))
    } else {
        format!("{}GB", js::to_fixed_1(bytes / GB))
    }
}

/// Returns the value, unless JavaScript treats it as false.
fn truthy(value: Option<Raw<'_>>) -> Option<Raw<'_>> {
    value.filter(|value| value.is_truthy())
}

/// Returns the value, unless it is `null`.
fn non_null(value: Option<Raw<'_>>) -> Option<Raw<'_>> {
    value.filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(meta: &str) -> String {
        format_notice(Raw::parse(meta.as_bytes()).ok()).to_string()
    }

    #[test]
    fn limits_and_ranges() {
        assert_eq!(said("{}"), "");
        assert_eq!(
            said(
                r#"{"truncation":{"shownRange":{"start":1,"end":5},"totalLines":10,"truncatedBy":"bytes","maxBytes":2048,"artifactId":"7"},"limits":{"matchLimit":{"reached":5,"suggestion":10}}}"#
            ),
            "\n\n[Showing lines 1-5 of 10 (2.0KB limit). Read artifact://7 for full output. 5 matches limit reached. Use limit=10 for more]"
        );
        assert_eq!(
            said(
                r#"{"truncation":{"direction":"middle","headRange":{"start":1,"end":2},"tailRange":{"start":9,"end":9},"totalLines":9,"totalBytes":9000,"outputBytes":10,"outputLines":3}}"#
            ),
            "\n\n[Showing lines 1-2 and 9-9 of 9; 6 middle lines (8.8KB) elided]"
        );
    }

    #[test]
    fn diagnostics_by_file() {
        assert_eq!(
            said(
                r#"{"diagnostics":{"summary":"2 error(s)","messages":["src/a.ts:1:2 [error] x","plain","src/a.ts:3:4 [error] y"]}}"#
            ),
            "\n\nLSP Diagnostics (2 error(s)):\n# src/\n## a.ts\n  1:2 [error] x\n  3:4 [error] y\n\nplain"
        );
    }
}
