//! Commands that read every message of a session as a whole.

use super::super::generate::{Facts, LONG, Shape, WORD};
use super::super::measure::Run;
use super::{Bench, count, expect, print};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use std::io::Read;

/// Begins a piece of a page that holds entries.
const ENTRIES: &str = "<script type=\"text/plain\" class=\"entries\"";
/// Separates the entries of such a piece.
const BETWEEN: u8 = 0x1e;

impl Bench<'_> {
    pub(super) fn messages(&self, entries: u32) -> Result<(), String> {
        let shape = Shape::Turns { percent: 100 };
        let (session, facts) = self.make("messages.jsonl", shape, entries, 1)?;
        let ids = self.tools.pisess("path", &["path", &session, "--ids"]);
        let ids = String::from_utf8_lossy(&ids.output()?).into_owned();
        let first = ids.lines().next().ok_or("the path is empty")?;
        let word = WORD.to_uppercase();
        let over = LONG.to_string();
        let run = |name: &str, words: &[&str]| self.tools.pisess(name, words);

        let page = run("export", &["export", &session, "-o", "-"]);
        let markdown = run(
            "export --as markdown",
            &["export", &session, "--as", "markdown", "-o", "-"],
        );
        let trajectory = run(
            "export --as atif",
            &["export", &session, "--as", "atif", "-o", "-"],
        );
        let summary = run(
            "summarize -n",
            &["summarize", "-n", "--json", &session, first],
        );
        let tree = run("tree --search", &["tree", &session, "--search", WORD]);
        let grep = run("grep -i", &["grep", "-i", &word, &session]).search();
        let prune = run(
            "prune -n --over",
            &["prune", "-n", "--over", &over, &session],
        );
        let label = run("label", &["label", &session]);

        check_page(&page.output()?, &facts)?;
        check_markdown(&markdown.output()?, &facts)?;
        check_trajectory(&trajectory.output()?, &facts)?;
        check_summary(&summary.output()?, &ids)?;
        let rows = run("tree", &["tree", &session, "--search", WORD, "--json"]).output()?;
        expect("rows found", count(&rows), facts.rows_with_word)?;
        expect("entries found", count(&grep.output()?), facts.with_word)?;
        // Beside a row for each payload: the headings, the total, and what is saved.
        expect("payloads", count(&prune.output()?), facts.long_results + 3)?;
        expect("labels", count(&label.output()?), facts.labels)?;

        println!(
            "\nmessages: {} entries, {} MB",
            facts.lines - 1,
            facts.bytes / 1_000_000
        );
        let runs = [
            Run::new("wc -l", &["wc", "-l", &session]),
            page,
            markdown,
            trajectory,
            summary,
            tree,
            grep,
            prune,
            label,
        ];
        print(&self.rows(&runs)?);
        std::fs::remove_file(session).map_err(|error| error.to_string())
    }
}

/// Checks that every entry is in a piece of the page.
fn check_page(page: &[u8], facts: &Facts) -> Result<(), String> {
    let mut entries = 0;
    for line in String::from_utf8_lossy(page).lines() {
        let Some(rest) = line.strip_prefix(ENTRIES) else {
            continue;
        };
        let (_, rest) = rest.split_once('>').ok_or("a piece has no content")?;
        let (packed, _) = rest.split_once('<').ok_or("a piece has no end")?;
        let packed = STANDARD.decode(packed).map_err(|error| error.to_string())?;
        let mut piece = Vec::new();
        GzDecoder::new(&*packed)
            .read_to_end(&mut piece)
            .map_err(|error| error.to_string())?;
        entries += 1 + piece.iter().filter(|&&byte| byte == BETWEEN).count() as u64;
    }
    expect("entries of the page", entries, facts.lines - 1)
}

/// Checks that each request is a heading.
fn check_markdown(document: &[u8], facts: &Facts) -> Result<(), String> {
    let text = String::from_utf8_lossy(document);
    let headings = text.lines().filter(|line| line.starts_with("## "));
    expect("headings", headings.count() as u64, facts.requests)
}

/// Checks that each request and each reply is a step. Of the entries on the path, half are replies.
fn check_trajectory(trajectory: &[u8], facts: &Facts) -> Result<(), String> {
    let text = String::from_utf8_lossy(trajectory);
    let last = text.rsplit("\"total_steps\":").next().unwrap_or_default();
    let steps = last.split('}').next().unwrap_or_default();
    let expected = facts.requests + facts.path_entries / 2;
    expect("steps", steps, &expected.to_string())?;
    let numbered = text
        .lines()
        .filter(|line| line.starts_with("{\"step_id\":"));
    expect("numbered steps", numbered.count() as u64, expected)
}

/// Checks that the summary quotes a request of the path, and has all sections.
fn check_summary(plan: &[u8], ids: &str) -> Result<(), String> {
    let text = String::from_utf8_lossy(plan);
    let quoted = text
        .split_once("word for word (entry ")
        .and_then(|(_, rest)| rest.split_once(')'))
        .map(|(id, _)| id)
        .unwrap_or_default();
    expect(
        "the request is one",
        ids.lines().any(|id| id == quoted),
        true,
    )?;
    let headings = text.matches("\\n## ").count();
    expect("sections of the summary", headings > 3, true)
}
