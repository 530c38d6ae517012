//! Telling what people say from what they paste, by shape and not by language.

use super::clean::{bare, clip, end, folded, gap, start, units, visible};
use unicode_segmentation::UnicodeSegmentation;

/// About how many words a text has. Scripts that write without spaces count by letters, at two for
/// a word where a letter is a syllable or an idea.
pub(super) fn words(text: &str) -> f32 {
    let weight = |c: char| match c {
        '\u{1100}'..='\u{11ff}'
        | '\u{2e80}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' => 0.5,
        '\u{20000}'..='\u{3ffff}' => 0.5,
        c if c.is_alphabetic() => 0.2,
        _ => 0.0,
    };
    text.chars().map(weight).sum()
}

/// What of a user's message is said, not pasted: without code blocks, attached files, and
/// paragraphs that are logs, traces, paths or prompts. A message that has nothing else gives its
/// first line.
pub(super) fn said(text: &str) -> String {
    let text = visible(text);
    let mut kept: Vec<&str> = Vec::new();
    let mut beyond_paste = false;
    let paragraphs = paragraphs(&text);
    for (at, lines) in paragraphs.iter().enumerate() {
        let pasted = lines.iter().filter(|line| is_pasted(line)).count();
        if pasted * 3 >= lines.len() && pasted > 0 && lines.len() != 2 || pasted == lines.len() {
            beyond_paste |= lines.len() > 2;
        } else if !beyond_paste || at + 1 == paragraphs.len() && is_afterword(lines, &text) {
            kept.extend(lines.iter().filter(|line| !is_pasted(line)).map(|line| line.trim()));
        }
    }
    if kept.iter().all(|line| words(line) < 0.4) {
        let first = text.lines().find(|line| words(line) > 0.0 && !is_fence(line.trim_start()));
        return first.map_or_else(String::new, |line| clip(line, 200));
    }
    kept.join("\n")
}

/// Whether the last paragraph behind a paste is the user's again: short, and no line of it stands
/// elsewhere, as the lines of a log do.
fn is_afterword(lines: &[&str], text: &str) -> bool {
    lines.len() <= 2
        && lines.iter().all(|line| words(line) >= 0.4 && text.matches(line.trim()).nth(1).is_none())
}

/// The lines outside attached files; of a code block only its fence, which stands for it.
fn spoken_lines(text: &str) -> Vec<&str> {
    let (mut fence, mut file) = (false, false);
    let mut lines = Vec::new();
    for line in text.lines() {
        let start = line.trim_start();
        if is_fence(start) {
            fence = !fence;
            if fence {
                lines.push(start);
            }
        } else if start.starts_with("<file ") && !fence {
            file = !line.contains("</file>");
        } else if file && start.starts_with("</file>") {
            file = false;
        } else if !fence && !file {
            lines.push(line);
        }
    }
    lines
}

/// The paragraphs of what is outside code and files.
fn paragraphs(text: &str) -> Vec<Vec<&str>> {
    let lines = spoken_lines(text);
    let parts = lines.split(|line| line.trim().is_empty() || is_fence(line));
    parts.filter(|lines| !lines.is_empty()).map(<[&str]>::to_vec).collect()
}

fn is_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

/// Whether a line looks like the output of a program, code, or a path.
fn is_pasted(line: &str) -> bool {
    let line = line.trim();
    let total = line.chars().filter(|c| !c.is_whitespace()).count().max(1);
    let letters = line.chars().filter(|c| c.is_alphabetic() || is_mark(*c)).count();
    let framed = line.chars().any(|c| matches!(c, '\u{2500}'..='\u{259f}' | '\u{2800}'..='\u{28ff}'));
    let prompt =
        ["$ ", "> ", "➜ ", "❯ ", "% ", "# ", "at ", "+ ", "@@ ", "│"].iter().any(|p| line.starts_with(p))
            || line.starts_with(['{', '}', '<', '/', '\\']);
    let code = line.ends_with(['{', '}', ';', '\\', '^', '|']) || line.contains("=> ") || line.contains("::");
    let path = line.starts_with(['\'', '"', '/', '~'])
        && line.contains('/')
        && words(line) < 20.0
        && line.trim_matches(['\'', '"']).rsplit('/').next().is_some_and(|name| name.contains('.'));
    framed || prompt || code || path || letters * 10 < total * 6 && words(line) < 12.0 && !has_values(line)
}

/// Combining marks belong to the letters of many scripts.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{dff}' | '\u{e30}'..='\u{e4f}' | '\u{64b}'..='\u{65f}')
}

/// A short line that names a value: a colour, a number, a version, a flag.
fn has_values(line: &str) -> bool {
    line.split_whitespace().count() <= 6 && words(line) >= 0.4 && !line.contains(['/', '(', '{'])
}

/// Whether a message is a command to the agent's own shell: one word behind a stroke.
pub(super) fn is_slash_command(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('/') && !text.contains(char::is_whitespace)
}

/// The sentences of a text, in order, one line each.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    text.unicode_sentences().map(str::trim).filter(|sentence| !sentence.is_empty()).collect()
}

/// Whether a sentence asks.
pub(super) fn asks(sentence: &str) -> bool {
    let end = sentence.trim_end_matches(|c: char| c.is_whitespace() || "\"'”’»)*_`".contains(c));
    end.ends_with(['?', '？', '؟', '՞', '⁇', '\u{37e}'])
}

/// The question that a text ends with: asked in its last lines, so that an answer is waited for.
pub(super) fn closing_question(text: &str) -> Option<String> {
    let text = visible(end(text, 1_500));
    let sentences = sentences(&text);
    let tail = &sentences[sentences.len().saturating_sub(3)..];
    let last = tail.iter().rposition(|sentence| asks(sentence)).filter(|at| at + 2 >= tail.len())?;
    let mut first = tail[..last].iter().rposition(|sentence| !asks(sentence)).map_or(0, |at| at + 1);
    if words(&tail[first..=last].join(" ")) < 1.5 {
        // "Is it?" needs what it asks about.
        first = first.saturating_sub(1);
    }
    let question = tail[first..=last].join(" ");
    (words(&question) >= 1.5).then(|| plain(bare(&question)))
}

/// What a final answer reports, without its greeting, headings, code and tables: sentences, and
/// list items divided by semicolons.
pub(super) fn report(text: &str) -> String {
    let text = visible(start(text, 4_000));
    let mut out = String::new();
    // Where an announcement stands ("Test it with:") that a code block follows.
    let mut lead = None;
    let mut headed = false;
    for line in spoken_lines(&text) {
        if line.trim_start().starts_with('#') && !headed {
            // What stands before the first heading is talk on the way, unless it is a report itself.
            headed = true;
            out.truncate(if units(&out) < 120 { 0 } else { out.len() });
        }
        if is_fence(line) {
            out.truncate(lead.unwrap_or(out.len()));
        }
        if is_furniture(line) {
            continue;
        }
        if units(&out) > 500 {
            break;
        }
        let item = bare(line.trim());
        let listed = item.len() < line.trim().len();
        for sentence in sentences(&plain(item)) {
            let greeting = out.is_empty() && !listed && words(sentence) < 2.1;
            if greeting || is_announcement(sentence) || asks(sentence) || words(sentence) < 0.2 {
                continue;
            }
            lead = sentence.ends_with([':', '：']).then_some(out.len());
            if !out.is_empty() {
                let divided = out.ends_with(['.', ':', '!', '。', '！', '：', '؟']);
                let last = out.chars().next_back().unwrap_or(' ');
                out.push_str(if listed && !divided { "; " } else { gap(last) });
            }
            out.push_str(sentence);
        }
    }
    out.trim_end_matches([':', ';', ' ', '：']).to_owned()
}

/// Headings, tables, rules, and bold lines that are headings in disguise.
fn is_furniture(line: &str) -> bool {
    let line = line.trim();
    let bold_heading =
        line.starts_with("**") && (line.ends_with(":**") || line.ends_with("**:") || line.ends_with("**"));
    line.starts_with(['#', '|'])
        || is_fence(line)
        || line.trim_matches(['-', '=', '*', '_', ' ']).is_empty()
        || bold_heading && words(line) < 6.0
}

/// "Let me summarize what was done:" says nothing by itself.
fn is_announcement(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    ["let me ", "let's ", "here's ", "here is ", "here are ", "now let me", "now i'll", "i'll "]
        .iter()
        .any(|start| lower.starts_with(start))
        && lower.ends_with(':')
}

/// Without the marks of bold text.
fn plain(text: &str) -> String {
    text.replace("**", "").replace("__", "")
}

/// A short message that gives values (`border #708090`, `port 8080`): they must not be lost.
pub(super) fn gives_values(text: &str) -> bool {
    let text = spoken_lines(text)
        .into_iter()
        .filter(|line| !is_pasted(line) && !is_fence(line))
        .collect::<Vec<_>>()
        .join("\n");
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let is_value = |token: &&&str| {
        let digits = token.chars().filter(char::is_ascii_digit).count();
        digits >= 1 && token.chars().count() >= 3 && !token.contains("/") && !token.contains('(')
    };
    let values = tokens.iter().filter(is_value).count();
    let fits = (2..=60).contains(&tokens.len()) && units(&text) <= 400;
    fits && values >= 1 && values * 5 >= tokens.len() && !is_slash_command(&text)
}

/// The addresses in a text.
pub(super) fn addresses(text: &str) -> Vec<&str> {
    let parts = text.split(|c: char| c.is_whitespace() || "<>\"'`()[]|，。；、".contains(c));
    parts
        .filter(|part| {
            ["https://", "http://", "ssh://", "git@"].iter().any(|scheme| part.starts_with(scheme))
        })
        .map(|part| part.trim_end_matches(['.', ',', ';', ':', '!', '?']))
        .filter(|part| (10..200).contains(&part.len()))
        .take(4)
        .collect()
}

/// Whether one text says what the other says.
pub(super) fn same(a: &str, b: &str) -> bool {
    let (a, b) = (folded(a), folded(b));
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    short == long || short.chars().count() >= 12 && long.contains(&short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pasted_is_not_what_is_said() {
        let crash = "it crashed, that should never happen.\n\n ⠇ Working...\n──────\nError: no such var\n    at f (/a/b.ts:1:2)\n";
        assert_eq!(said(crash), "it crashed, that should never happen.");
        assert_eq!(
            said("'/tmp/x y/Screenshot 1.png'\n\nwhy do the colors differ?"),
            "why do the colors differ?"
        );
        assert_eq!(
            said("fix this:\n```rust\nfn main() {}\n```\nand keep the name"),
            "fix this:\nand keep the name"
        );
        assert_eq!(said("<file name=\"a.md\">\nlong\n</file>\nSummarise it"), "Summarise it");
        assert_eq!(said("{\"a\": 1}"), "{\"a\": 1}");
        assert_eq!(said("修复登录页面的错误，不要改动数据库。"), "修复登录页面的错误，不要改动数据库。");
        assert_eq!(said("अब लाइट थीम को ठीक करें"), "अब लाइट थीम को ठीक करें");
    }

    #[test]
    fn a_report_starts_with_what_was_done() {
        let text = "Perfect! Let me summarize:\n\n## Summary\n\n**Changes:**\n- **Added** `a`\n- Removed `b`\n\n```sh\nrun\n```\nShall I go on?";
        assert_eq!(report(text), "Added `a`; Removed `b`");
        assert_eq!(closing_question(text).as_deref(), Some("Shall I go on?"));
        assert_eq!(
            report("完成了！已修复登录错误，并添加了三个测试。"),
            "已修复登录错误，并添加了三个测试。"
        );
        assert_eq!(closing_question("要我继续提交代码吗？").as_deref(), Some("要我继续提交代码吗？"));
        assert_eq!(closing_question("Done."), None);
    }

    #[test]
    fn words_are_counted_in_any_script() {
        assert!(words("continue") < 2.5);
        assert!(words("继续") < 2.5);
        assert!(words("remove the nord.json") > 2.5);
        assert!(words("请把登录页面的错误修好") > 5.0);
        assert!(words("أصلح صفحة تسجيل الدخول") > 3.0);
    }

    #[test]
    fn values_and_addresses_are_found() {
        assert!(gives_values("header is #102030\nfooter #405060\nborder #708090"));
        assert!(!gives_values("make it a little brighter please"));
        assert_eq!(
            addresses("see https://x.org/a?b=1, and (http://y.z/abc)."),
            ["https://x.org/a?b=1", "http://y.z/abc"]
        );
    }
}
