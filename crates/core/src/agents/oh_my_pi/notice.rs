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
    let mut parts: Vec<Text> = Vec::new();
    parts.extend(
        truncation
            .filter(|given| given.is_truthy())
            .map(|given| shown(given, source)),
    );
    if let Some(error) = artifact_error.filter(|error| error.is_truthy()) {
        let error = js::string(error);
        parts.push(concat(&[
            &"Full output was not saved completely (artifact ",
            &error,
            &" failed)",
        ]));
    }
    parts.extend(limits.map(reached).unwrap_or_default());
    let has_parts = !parts.is_empty();
    let notice = concat(&[&"\n\n[", &joined(parts, ". "), &"]"]);
    let complaints = diagnostics.and_then(complaints).unwrap_or_default();
    if has_parts {
        concat(&[&notice, &complaints])
    } else {
        complaints
    }
}

fn reached(limits: Raw) -> Vec<Text<'static>> {
    let mut parts = Vec::new();
    for (key, what) in [
        ("matchLimit", "matches"),
        ("resultLimit", "results"),
        ("headLimit", "results"),
    ] {
        if let Some(limit) = limits.get(key).filter(|limit| limit.is_truthy()) {
            let [reached, suggestion] = content::members(limit, ["reached", "suggestion"]);
            let [reached, suggestion] = [js::template(reached), js::template(suggestion)];
            let what = format!(" {what} limit reached. Use limit=");
            parts.push(concat(&[&reached, &what, &suggestion, &" for more"]));
        }
    }
    if let Some(limit) = limits
        .get("columnTruncated")
        .filter(|limit| limit.is_truthy())
    {
        let [column, unit, artifact] = content::members(limit, ["maxColumn", "unit", "artifactId"]);
        let unit = given(unit).map_or(Text::from("chars"), |unit| js::string(unit));
        let mut part = concat(&[
            &"Some lines truncated to ",
            &js::template(column),
            &" ",
            &unit,
        ]);
        if let Some(artifact) = given(artifact) {
            part.push_all(&[&". ", &full_output(artifact)]);
        }
        parts.push(part);
    }
    parts
}

/// Returns how much of the output is shown (`formatTruncationMetaNotice`).
fn shown(truncation: Raw, source: Option<Raw>) -> Text<'static> {
    let [direction, next, artifact] =
        content::members(truncation, ["direction", "nextOffset", "artifactId"]);
    let middle = direction.is_some_and(|direction| direction.is("middle"));
    let partial = !middle && content::truthy(truncation, "partialLine");
    let mut notice = match (middle, partial) {
        (true, _) => middle_left_out(truncation),
        (_, true) => partial_line(truncation),
        _ => range(truncation),
    };
    if let Some(next) = given(next).filter(|_| !partial) {
        notice.push_all(&[&". Use :", &js::string(next), &" to continue"]);
    }
    if let Some(artifact) = given(artifact) {
        let report = full_report(artifact, source).unwrap_or_else(|| full_output(artifact));
        notice.push_all(&[&". ", &report]);
    }
    notice
}

fn middle_left_out(truncation: Raw) -> Text<'static> {
    let names = [
        "headRange",
        "tailRange",
        "totalLines",
        "elidedBytes",
        "elidedLines",
        "totalBytes",
    ];
    let [
        head,
        tail,
        total_lines,
        elided_bytes,
        elided_lines,
        total_bytes,
    ] = content::members(truncation, names);
    let [output_bytes, output_lines] = content::members(truncation, ["outputBytes", "outputLines"]);
    let lines = js::operand(total_lines);
    let left = |given_: Option<Raw>, total, shown| match given(given_) {
        Some(given) => js::operand(Some(given)),
        None => (js::operand(total) - js::operand(shown)).max(0.0),
    };
    let bytes = left(elided_bytes, total_bytes, output_bytes);
    let elided = left(elided_lines, total_lines, output_lines);
    let many = |count: f64| if count == 1.0 { "" } else { "s" };
    if let (Some(head), Some(tail)) = (
        head.filter(|r| r.is_truthy()),
        tail.filter(|r| r.is_truthy()),
    ) {
        let (count, size) = (js::grouped(elided), size(bytes));
        let elided = format!("; {count} middle line{} ({size}) elided", many(elided));
        let total = js::template(total_lines);
        return concat(&[
            &"Showing lines ",
            &span(head),
            &" and ",
            &span(tail),
            &" of ",
            &total,
            &elided,
        ]);
    }
    if bytes > 0.0 {
        let count = js::grouped(lines);
        let size = size(bytes);
        return format!(
            "Showing head and tail bytes of {count} line{}; {size} elided",
            many(lines)
        )
        .into();
    }
    let shown = js::number(js::operand(output_lines).min(lines));
    concat(&[
        &"Showing ",
        &shown,
        &" of ",
        &js::template(total_lines),
        &" lines; middle elided",
    ])
}

fn partial_line(truncation: Raw) -> Text<'static> {
    let names = ["shownRange", "outputBytes", "totalBytes", "totalLines"];
    let [range, output, total, lines] = content::members(truncation, names);
    let line = range
        .and_then(|range| range.get_some("start"))
        .map_or(Text::from("1"), |line| js::string(line));
    let part = format!(
        " (partial, {} of {}) of ",
        size(js::operand(output)),
        size(js::operand(total))
    );
    concat(&[&"Showing line ", &line, &part, &js::template(lines)])
}

fn range(truncation: Raw) -> Text<'static> {
    let names = [
        "shownRange",
        "totalLines",
        "outputLines",
        "truncatedBy",
        "maxBytes",
        "outputBytes",
    ];
    let [range, total, output, by, max_bytes, output_bytes] = content::members(truncation, names);
    let total = js::template(total);
    let is_range = |range: &Raw| {
        range.is_truthy() && js::operand(range.get("end")) >= js::operand(range.get("start"))
    };
    let mut text = match range.filter(is_range) {
        Some(range) => concat(&[&"Showing lines ", &span(range), &" of ", &total]),
        None => concat(&[
            &"Showing ",
            &js::template(output),
            &" of ",
            &total,
            &" lines",
        ]),
    };
    if by.is_some_and(|by| by.is("bytes")) {
        text.push_str(&format!(
            " ({} limit)",
            size(js::operand(given(max_bytes).or(output_bytes)))
        ));
    }
    text
}

fn span(range: Raw) -> Text<'static> {
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

fn full_report(artifact: Raw, source: Option<Raw>) -> Option<Text<'static>> {
    let report =
        source.filter(|source| source.get("type").is_some_and(|kind| kind.is("report")))?;
    let value = js::template(report.get("value"));
    Some(concat(&[
        &"Read artifact://",
        &js::string(artifact),
        &" for full report (",
        &value,
        &")",
    ]))
}

/// Returns the reports of a language server, by file.
fn complaints(diagnostics: Raw) -> Option<Text<'static>> {
    let [summary, messages] = content::members(diagnostics, ["summary", "messages"]);
    let messages: Vec<_> = messages?
        .items()
        .map(|message| js::string(message))
        .collect();
    if messages.is_empty() {
        return None;
    }
    let mut files: Ordered<Text, Vec<Text>> = Ordered::default();
    let mut others = Vec::new();
    for message in &messages {
        match place(message) {
            Some((file, rest)) => files.or_insert(file, Vec::new()).push(rest),
            None => others.push(message.borrowed()),
        }
    }
    let mut lines: Vec<Text> = Vec::new();
    outline(files.keys(), |depth, name, file| {
        if !lines.is_empty() && (depth == 0 || file.is_none()) {
            lines.push(Text::default());
        }
        let slash = if file.is_none() { "/" } else { "" };
        lines.push(concat(&[&"#".repeat(depth + 1), &" ", &name, &slash]));
        let rests = file.and_then(|file| files.get(file));
        lines.extend(
            rests
                .into_iter()
                .flatten()
                .map(|rest| concat(&[&"  ", rest])),
        );
    });
    if !files.is_empty() && !others.is_empty() {
        lines.push(Text::default());
    }
    lines.extend(others);
    let summary = js::template(summary);
    Some(concat(&[
        &"\n\nLSP Diagnostics (",
        &summary,
        &"):\n",
        &joined(lines, "\n"),
    ]))
}

/// Splits `path:line:column rest` into two parts, the path with forward slashes.
fn place<'a>(message: &'a Text) -> Option<(Text<'static>, Text<'a>)> {
    static PLACE: LazyLock<Regex> = LazyLock::new(|| {
        // Anything but an end of a line, in WTF-8.
        let any = r"(?:[^\n\r\xe2]|\xe2\x80[^\xa8\xa9]|\xe2[^\x80])";
        let place = format!(r"^(?<file>{any}+?):(?<rest>\d+:\d+{JS_SPACE}+{any}*)$");
        Regex::new(&format!("(?-u){place}")).expect("a constant")
    });
    let found = PLACE.captures(message.as_bytes())?;
    Some((
        Text::from_wtf8(with_slashes(&found["file"])),
        message.part(found.name("rest")?.range()),
    ))
}

/// Formats a number of bytes for people.
fn size(bytes: f64) -> String {
    const K: f64 = 1024.0;
    match bytes {
        _ if bytes < K => format!("{}B", js::number(bytes)),
        _ if bytes < K * K => format!("{}KB", js::fixed1(bytes / K)),
        _ if bytes < K * K * K => format!("{}MB", js::fixed1(bytes / (K * K))),
        _ if bytes.is_nan() => "NaNGB".to_owned(),
        _ => format!("{}GB", js::fixed1(bytes / (K * K * K))),
    }
}

fn given(value: Option<Raw<'_>>) -> Option<Raw<'_>> {
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
