//! The notice after the output of a command: how much of it is shown, which limit was reached, what
//! a language server reported (`formatOutputNotice`).

use super::path_tree::outline;
use crate::agents::ordered::Ordered;
use crate::session::content;
use crate::session::paths::with_slashes;
use pisess_json::Raw;
use pisess_json::js;
use pisess_json::text::{JS_SPACE, Text, concat, joined};
use regex::bytes::Regex;
use std::sync::LazyLock;

/// Returns the notice for the `meta` of an execution; empty if there is none.
///
/// What was truncated, a failure to save the output, and the limits are sentences in one pair of
/// brackets. The diagnostics follow the brackets.
pub fn notice(meta: Option<Raw>) -> Text<'static> {
    let names = [
        "truncation",
        "source",
        "artifactError",
        "limits",
        "diagnostics",
    ];
    let [truncation, source, artifact_error, limits, diagnostics] =
        content::members(meta.unwrap_or(Raw::NULL), names);

    let mut sentences: Vec<Text> = Vec::new();
    if let Some(truncation) = truncation.filter(|truncation| truncation.is_truthy()) {
        sentences.push(truncation_sentence(truncation, source));
    }
    if let Some(error) = artifact_error.filter(|error| error.is_truthy()) {
        sentences.push(concat(&[
            &"Full output was not saved completely (artifact ",
            &js::string(error),
            &" failed)",
        ]));
    }
    if let Some(limits) = limits {
        sentences.extend(limit_sentences(limits));
    }

    let diagnostics = diagnostics
        .and_then(diagnostics_by_file)
        .unwrap_or_default();
    if sentences.is_empty() {
        return diagnostics;
    }
    concat(&[&"\n\n[", &joined(sentences, ". "), &"]", &diagnostics])
}

/// Returns a sentence for each limit that was reached.
fn limit_sentences(limits: Raw) -> Vec<Text<'static>> {
    let mut sentences = Vec::new();
    for (key, counted) in [
        ("matchLimit", "matches"),
        ("resultLimit", "results"),
        ("headLimit", "results"),
    ] {
        if let Some(limit) = limits.get(key).filter(|limit| limit.is_truthy()) {
            let [reached, suggestion] = content::members(limit, ["reached", "suggestion"]);
            let middle = format!(" {counted} limit reached. Use limit=");
            sentences.push(concat(&[
                &js::template(reached),
                &middle,
                &js::template(suggestion),
                &" for more",
            ]));
        }
    }

    let column_limit = limits.get("columnTruncated");
    if let Some(limit) = column_limit.filter(|limit| limit.is_truthy()) {
        let [column, unit, artifact] = content::members(limit, ["maxColumn", "unit", "artifactId"]);
        let unit = non_null(unit).map_or(Text::from("chars"), |unit| js::string(unit));
        let mut sentence = concat(&[
            &"Some lines truncated to ",
            &js::template(column),
            &" ",
            &unit,
        ]);
        if let Some(artifact) = non_null(artifact) {
            sentence.push_all(&[&". ", &full_output(artifact)]);
        }
        sentences.push(sentence);
    }
    sentences
}

/// Returns how much of the output is shown, and how to read more of it
/// (`formatTruncationMetaNotice`).
fn truncation_sentence(truncation: Raw, source: Option<Raw>) -> Text<'static> {
    let [direction, next_offset, artifact] =
        content::members(truncation, ["direction", "nextOffset", "artifactId"]);
    let lacks_middle = direction.is_some_and(|direction| direction.is("middle"));
    let is_partial_line = !lacks_middle && content::truthy(truncation, "partialLine");

    let mut sentence = if lacks_middle {
        head_and_tail_shown(truncation)
    } else if is_partial_line {
        partial_line_shown(truncation)
    } else {
        lines_shown(truncation)
    };

    // If only a part of a line is shown, the offset at which to continue is omitted.
    if !is_partial_line && let Some(next_offset) = non_null(next_offset) {
        sentence.push_all(&[&". Use :", &js::string(next_offset), &" to continue"]);
    }
    if let Some(artifact) = non_null(artifact) {
        let report = full_report(artifact, source).unwrap_or_else(|| full_output(artifact));
        sentence.push_all(&[&". ", &report]);
    }
    sentence
}

/// Returns how much is shown of an output without its middle: the line ranges of head and tail if
/// both are stored; otherwise the number of bytes that were elided, if any; otherwise the number of
/// lines that remain.
fn head_and_tail_shown(truncation: Raw) -> Text<'static> {
    let names = [
        "headRange",
        "tailRange",
        "totalLines",
        "elidedBytes",
        "elidedLines",
        "totalBytes",
        "outputBytes",
        "outputLines",
    ];
    let [
        head_range,
        tail_range,
        total_lines,
        elided_bytes,
        elided_lines,
        total_bytes,
        output_bytes,
        output_lines,
    ] = content::members(truncation, names);
    let head_range = head_range.filter(|range| range.is_truthy());
    let tail_range = tail_range.filter(|range| range.is_truthy());
    let elided_bytes = elided_count(elided_bytes, total_bytes, output_bytes);
    let elided_lines = elided_count(elided_lines, total_lines, output_lines);

    if let (Some(head_range), Some(tail_range)) = (head_range, tail_range) {
        let elided = format!(
            "; {} middle line{} ({}) elided",
            js::grouped(elided_lines),
            plural_suffix(elided_lines),
            format_size(elided_bytes)
        );
        return concat(&[
            &"Showing lines ",
            &start_to_end(head_range),
            &" and ",
            &start_to_end(tail_range),
            &" of ",
            &js::template(total_lines),
            &elided,
        ]);
    }

    let line_count = js::operand(total_lines);
    if elided_bytes > 0.0 {
        let sentence = format!(
            "Showing head and tail bytes of {} line{}; {} elided",
            js::grouped(line_count),
            plural_suffix(line_count),
            format_size(elided_bytes)
        );
        return sentence.into();
    }

    let shown_lines = js::operand(output_lines).min(line_count);
    concat(&[
        &"Showing ",
        &js::number(shown_lines),
        &" of ",
        &js::template(total_lines),
        &" lines; middle elided",
    ])
}

/// Returns the number of lines or bytes that were elided: the stored number or, without one, the
/// total minus the number that remains, at least 0.
fn elided_count(stored: Option<Raw>, total: Option<Raw>, remaining: Option<Raw>) -> f64 {
    match non_null(stored) {
        Some(stored) => js::operand(Some(stored)),
        None => (js::operand(total) - js::operand(remaining)).max(0.0),
    }
}

fn plural_suffix(count: f64) -> &'static str {
    if count == 1.0 { "" } else { "s" }
}

/// Returns how much is shown of an output of which a part of one line is shown.
fn partial_line_shown(truncation: Raw) -> Text<'static> {
    let names = ["shownRange", "outputBytes", "totalBytes", "totalLines"];
    let [range, output_bytes, total_bytes, total_lines] = content::members(truncation, names);
    let line = range
        .and_then(|range| range.get_some("start"))
        .map_or(Text::from("1"), |line| js::string(line));
    let part = format!(
        " (partial, {} of {}) of ",
        format_size(js::operand(output_bytes)),
        format_size(js::operand(total_bytes))
    );
    concat(&[&"Showing line ", &line, &part, &js::template(total_lines)])
}

/// Returns the range of the lines that are shown, or their number if no range is stored or its end
/// is before its start.
fn lines_shown(truncation: Raw) -> Text<'static> {
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
    ] = content::members(truncation, names);
    let total_lines = js::template(total_lines);
    let valid_range = range.filter(|range| {
        range.is_truthy() && js::operand(range.get("end")) >= js::operand(range.get("start"))
    });

    let mut sentence = match valid_range {
        Some(range) => concat(&[
            &"Showing lines ",
            &start_to_end(range),
            &" of ",
            &total_lines,
        ]),
        None => concat(&[
            &"Showing ",
            &js::template(output_lines),
            &" of ",
            &total_lines,
            &" lines",
        ]),
    };

    if truncated_by.is_some_and(|reason| reason.is("bytes")) {
        let limit = js::operand(non_null(max_bytes).or(output_bytes));
        sentence.push_str(&format!(" ({} limit)", format_size(limit)));
    }
    sentence
}

fn start_to_end(range: Raw) -> Text<'static> {
    let [start, end] = content::members(range, ["start", "end"]);
    concat(&[&js::template(start), &"-", &js::template(end)])
}

fn full_output(artifact: Raw) -> Text<'static> {
    concat(&[
        &"Read artifact://",
        &js::string(artifact),
        &" for full output",
    ])
}

/// Returns how to read the whole report that an output is from; `None` if the source of the output
/// is not a report.
fn full_report(artifact: Raw, source: Option<Raw>) -> Option<Text<'static>> {
    let report = source?;
    if !content::is(report, "type", "report") {
        return None;
    }
    Some(concat(&[
        &"Read artifact://",
        &js::string(artifact),
        &" for full report (",
        &js::template(report.get("value")),
        &")",
    ]))
}

/// Returns the messages of a language server as an outline of their files, then the messages
/// without a file; `None` if there are no messages.
fn diagnostics_by_file(diagnostics: Raw) -> Option<Text<'static>> {
    let [summary, messages] = content::members(diagnostics, ["summary", "messages"]);
    let messages: Vec<_> = messages?
        .items()
        .map(|message| js::string(message))
        .collect();
    if messages.is_empty() {
        return None;
    }

    let mut by_file: Ordered<Text, Vec<Text>> = Ordered::default();
    let mut without_file = Vec::new();
    for message in &messages {
        match split_file(message) {
            Some((file, diagnostic)) => by_file.or_insert(file, Vec::new()).push(diagnostic),
            None => without_file.push(message.borrowed()),
        }
    }

    let mut lines: Vec<Text> = Vec::new();
    outline(by_file.keys(), |depth, name, file| {
        // A blank line precedes each folder and each file at the top level.
        if !lines.is_empty() && (depth == 0 || file.is_none()) {
            lines.push(Text::default());
        }
        let slash = if file.is_none() { "/" } else { "" };
        lines.push(concat(&[&"#".repeat(depth + 1), &" ", &name, &slash]));
        if let Some(file_diagnostics) = file.and_then(|file| by_file.get(file)) {
            for diagnostic in file_diagnostics {
                lines.push(concat(&[&"  ", diagnostic]));
            }
        }
    });
    if !by_file.is_empty() && !without_file.is_empty() {
        lines.push(Text::default());
    }
    lines.extend(without_file);

    Some(concat(&[
        &"\n\nLSP Diagnostics (",
        &js::template(summary),
        &"):\n",
        &joined(lines, "\n"),
    ]))
}

/// Splits `path:line:column text` after the path, and returns the path with forward slashes and
/// `line:column text`; `None` for a message of another form.
fn split_file<'a>(message: &'a Text) -> Option<(Text<'static>, Text<'a>)> {
    static DIAGNOSTIC: LazyLock<Regex> = LazyLock::new(|| {
        // Anything but an end of a line, in WTF-8.
        let any = r"(?:[^\n\r\xe2]|\xe2\x80[^\xa8\xa9]|\xe2[^\x80])";
        let pattern = format!(r"^(?<file>{any}+?):(?<rest>\d+:\d+{JS_SPACE}+{any}*)$");
        Regex::new(&format!("(?-u){pattern}")).expect("a constant")
    });
    let found = DIAGNOSTIC.captures(message.as_bytes())?;
    let file = Text::from_wtf8(with_slashes(&found["file"]));
    let rest = message.part(found.name("rest")?.range());
    Some((file, rest))
}

/// Formats a number of bytes for people, in units of 1,024 bytes.
fn format_size(bytes: f64) -> String {
    const KB: f64 = 1024.0;
    const MB: f64 = 1024.0 * KB;
    const GB: f64 = 1024.0 * MB;
    // No comparison below holds for NaN, so it has the last unit.
    if bytes.is_nan() {
        return "NaNGB".to_owned();
    }
    if bytes < KB {
        format!("{}B", js::number(bytes))
    } else if bytes < MB {
        format!("{}KB", js::fixed1(bytes / KB))
    } else if bytes < GB {
        format!("{}MB", js::fixed1(bytes / MB))
    } else {
        format!("{}GB", js::fixed1(bytes / GB))
    }
}

fn non_null(value: Option<Raw<'_>>) -> Option<Raw<'_>> {
    value.filter(|value| !value.is_null())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(meta: &str) -> String {
        notice(Raw::parse(meta.as_bytes()).ok()).to_string()
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
