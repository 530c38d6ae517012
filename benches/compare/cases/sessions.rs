//! The cases `list`, `grep` and `stats`, over a thousand sessions of 0.9 MB.

use super::super::generate::{Facts, Shape};
use super::super::measure::Run;
use super::super::tools::pi_told;
use super::{Bench, Row, count, expect, print};
use std::time::Duration;

/// The cases.
pub const CASES: [&str; 3] = ["list", "grep", "stats"];
/// Descriptions and patterns, which mean the same to `pisess grep` and `rg`. The common ones match
/// in nearly every entry, the rare ones in few or none.
const PATTERNS: [(&str, &str); 5] = [
    ("common word", "parse"),
    ("phrase", "error context"),
    ("pattern", "part[0-9]+77"),
    ("rare word", "part777"),
    ("none", "zebra crossing"),
];
/// The cost of each assistant message in the generated sessions.
const COST: f64 = 0.004_623;

/// The generated sessions.
struct Made {
    folder: String,
    files: Vec<(String, Facts)>,
}

impl Made {
    fn sum(&self, of: impl Fn(&Facts) -> u64) -> u64 {
        self.files.iter().map(|(_, facts)| of(facts)).sum()
    }

    /// Returns a command that reads all files.
    fn run(&self, name: &str, words: &[&str]) -> Run {
        let files = self.files.iter().map(|(path, _)| &**path);
        Run::new(
            name,
            &words.iter().copied().chain(files).collect::<Vec<_>>(),
        )
    }
}

impl Bench<'_> {
    /// Makes the sessions once for all of these cases.
    pub fn sessions(&self, cases: &[&str], files: u32) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        let folder = self.folder.join("sessions");
        std::fs::create_dir_all(&folder).map_err(failed)?;
        let make = |at: u32| {
            let name = format!("sessions/{at:05}.jsonl");
            self.make(&name, Shape::Turns { percent: 100 }, 290, 7 + u64::from(at))
        };
        let files = (0..files).map(make).collect::<Result<Vec<_>, String>>()?;
        let made = Made {
            folder: folder.display().to_string(),
            files,
        };
        println!(
            "\n{} sessions, {} MB",
            made.files.len(),
            made.sum(|facts| facts.bytes) / 1_000_000
        );
        for case in cases {
            match *case {
                "list" => self.list(&made)?,
                "grep" => self.grep(&made)?,
                _ => self.stats(&made)?,
            }
        }
        std::fs::remove_dir_all(&folder).map_err(failed)
    }

    fn list(&self, made: &Made) -> Result<(), String> {
        let listed = self
            .tools
            .pisess("", &["list", "--json", &made.folder])
            .output()?;
        check_listed(&String::from_utf8_lossy(&listed), &made.files)?;
        let runs = [
            made.run("wc -l", &["wc", "-l"]),
            self.tools.pisess("list", &["list", &made.folder]),
        ];
        let mut rows = self.rows(&runs)?;
        if let Some(run) = self.tools.pi_list(&made.folder) {
            let (took, sessions, _) = pi_told(&run.output()?)?;
            expect("pi's sessions", sessions, made.files.len() as u64)?;
            let took = Duration::from_secs_f64(took / 1e3);
            rows.push(Row {
                name: run.name.clone(),
                took,
                peak: run.peak(self.folder),
            });
        }
        println!("\nlist");
        print(&rows);
        Ok(())
    }

    /// Compares the time for each pattern with that of `rg -c`, which counts lines in the raw
    /// bytes.
    fn grep(&self, made: &Made) -> Result<(), String> {
        for (what, pattern) in PATTERNS {
            let counting = self
                .tools
                .pisess("grep -c", &["grep", "-c", pattern, &made.folder]);
            let printing = self.tools.pisess("grep", &["grep", pattern, &made.folder]);
            let mut runs = vec![counting.search(), printing.search()];
            let matching = check_found(made, pattern, &runs)?;
            if let Some(rg) = &self.tools.rg {
                runs.insert(0, made.run("rg -c", &[rg, "-c", pattern]).search());
            }
            println!("\ngrep: {what} ({pattern}), in {matching} entries");
            print(&self.rows(&runs)?);
        }
        Ok(())
    }

    fn stats(&self, made: &Made) -> Result<(), String> {
        let counted = self
            .tools
            .pisess("", &["stats", "--json", &made.folder])
            .output()?;
        let sums: serde_json::Value =
            serde_json::from_slice(&counted).map_err(|error| format!("stats: {error}"))?;
        expect(
            "messages",
            sums["messages"].as_u64(),
            Some(made.sum(|facts| facts.lines - 1)),
        )?;
        expect(
            "input",
            sums["tokens"]["input"].as_f64(),
            Some(made.sum(|facts| facts.input) as f64),
        )?;
        let models = self.tools.pisess(
            "stats --by model",
            &["stats", "--by", "model", &made.folder],
        );
        let entries = self.tools.pisess(
            "stats --by entry",
            &["stats", "--by", "entry", "--json", &made.folder],
        );
        let rows = entries.output()?;
        expect(
            "billed entries",
            count(&rows),
            made.sum(|facts| facts.answers),
        )?;
        let stats = self.tools.pisess("stats", &["stats", &made.folder]);
        println!("\nstats");
        print(&self.rows(&[made.run("wc -l", &["wc", "-l"]), stats, models, entries])?);
        Ok(())
    }
}

/// Checks every row against the facts of the generator.
fn check_listed(listed: &str, made: &[(String, Facts)]) -> Result<(), String> {
    expect("sessions", listed.lines().count(), made.len())?;
    for (path, facts) in made {
        let row = listed
            .lines()
            .find(|row| row.contains(&format!("\"path\":\"{path}\"")));
        let row: serde_json::Value = serde_json::from_str(row.ok_or("a session is not listed")?)
            .map_err(|error| format!("{path}: {error}"))?;
        let numbers = ["entryCount", "messageCount", "branchCount"].map(|key| row[key].as_u64());
        expect(
            "counts",
            numbers,
            [facts.lines - 1, facts.lines - 1, facts.branches].map(Some),
        )?;
        expect(
            "input",
            row["tokens"]["input"].as_f64(),
            Some(facts.input as f64),
        )?;
        let cost = row["cost"].as_f64().unwrap_or_default();
        expect(
            "cost",
            (cost - facts.answers as f64 * COST).abs() < 1e-9,
            true,
        )?;
    }
    Ok(())
}

/// Checks the counts of the first run and the rows of the second against the number of entries
/// whose decoded texts match the regular expression, and returns that number.
fn check_found(made: &Made, pattern: &str, runs: &[Run]) -> Result<u64, String> {
    let regex = regex::Regex::new(pattern).map_err(|error| error.to_string())?;
    let mut matching = 0;
    for (path, _) in &made.files {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        for line in text.lines().skip(1) {
            let entry: serde_json::Value =
                serde_json::from_str(line).map_err(|error| format!("{path}: {error}"))?;
            matching += u64::from(says(&entry["message"], &regex));
        }
    }
    let counts = runs[0].output()?;
    let counts = String::from_utf8_lossy(&counts);
    let counts = counts
        .lines()
        .filter_map(|row| row.rsplit(':').next()?.parse::<u64>().ok());
    expect("grep -c", counts.sum::<u64>(), matching)?;
    expect("grep", count(&runs[1].output()?), matching)?;
    Ok(matching)
}

/// Whether a string of a message matches, other than ids, signatures and the like.
fn says(value: &serde_json::Value, regex: &regex::Regex) -> bool {
    const SILENT: [&str; 8] = [
        "thinkingSignature",
        "role",
        "type",
        "id",
        "toolCallId",
        "api",
        "stopReason",
        "timestamp",
    ];
    match value {
        serde_json::Value::String(text) => regex.is_match(text),
        serde_json::Value::Array(values) => values.iter().any(|value| says(value, regex)),
        serde_json::Value::Object(members) => members
            .iter()
            .filter(|(key, _)| !SILENT.contains(&key.as_str()))
            .any(|(_, value)| says(value, regex)),
        _ => false,
    }
}
