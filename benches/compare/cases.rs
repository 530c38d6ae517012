//! The cases. Each makes a session, checks the answers of each tool, then runs the tools in turn.

mod messages;
mod sessions;

use super::USAGE;
use super::generate::{Facts, Hash, Shape, WORD, write};
use super::measure::{Run, warm};
use super::tools::{Tools, pi_told};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The options and cases given on the command line.
#[derive(Debug)]
pub struct Plan {
    percent: u32,
    runs: u32,
    folder: Option<PathBuf>,
    only: Vec<String>,
}

/// The cases that read one session: name, shape, entries, and whether jq, jaq and pi run, too.
const READING: [(&str, Shape, u32, bool); 5] = [
    ("session", Shape::Turns { percent: 100 }, 100_000, true),
    ("tenth", Shape::Turns { percent: 10 }, 100_000, false),
    ("tenfold", Shape::Turns { percent: 1000 }, 100_000, false),
    ("tokens", Shape::Tokens, 100_000, false),
    ("chain", Shape::Chain, 1_000_000, true),
];
/// The cases that would not end if pisess took more than linear time: name, shape, entries.
const WIDE: [(&str, Shape, u32); 4] = [
    ("fan", Shape::Fan, 200_000),
    ("comb", Shape::Comb, 20_000),
    ("labels", Shape::Labels, 20_000),
    ("line", Shape::Line, 200),
];
const OTHERS: [&str; 6] = ["append", "folder", "v1", "complete", "start", "messages"];
/// The commands that read a session and are timed.
const SHOWN: [&str; 6] = [
    "tree",
    "path",
    "path --json",
    "label",
    "context",
    "redact --check",
];
/// Those that are timed in the cases that read one session, too.
const ALSO: [&str; 3] = ["check", "branches", "fork -n"];

impl Plan {
    /// Returns `None` if the list of cases was requested.
    pub fn parse(args: &[String]) -> Result<Option<Plan>, String> {
        let mut plan = Plan {
            percent: 100,
            runs: 5,
            folder: None,
            only: Vec::new(),
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or(USAGE);
            let number = |text: &String| text.parse().map_err(|_| USAGE);
            match &**arg {
                "--percent" => plan.percent = number(value()?)?,
                "--runs" => plan.runs = number(value()?)?,
                "--dir" => plan.folder = Some(value()?.into()),
                "--list" => {
                    READING.iter().for_each(|case| println!("{}", case.0));
                    WIDE.iter().for_each(|case| println!("{}", case.0));
                    OTHERS
                        .iter()
                        .chain(&sessions::CASES)
                        .for_each(|case| println!("{case}"));
                    return Ok(None);
                }
                case if !case.starts_with('-') => plan.only.push(case.to_owned()),
                _ => return Err(USAGE.to_owned()),
            }
        }
        Ok(Some(plan))
    }

    /// Runs the cases.
    pub fn run(&self) -> Result<(), String> {
        let tools = Tools::find();
        tools
            .missing()
            .iter()
            .for_each(|missing| println!("note: {missing}"));
        let made = tempfile::tempdir().map_err(|error| error.to_string())?;
        let bench = Bench {
            tools,
            folder: self.folder.as_deref().unwrap_or(made.path()),
            runs: self.runs.max(1),
        };
        for (name, shape, entries, beside) in READING.into_iter().filter(|case| self.wants(case.0))
        {
            bench.reading(name, shape, self.scaled(entries), beside)?;
        }
        for (name, shape, entries) in WIDE.into_iter().filter(|case| self.wants(case.0)) {
            bench.growth(name, shape, self.scaled(entries))?;
        }
        let thousand = (10 * self.percent).max(2);
        for name in OTHERS.into_iter().filter(|name| self.wants(name)) {
            match name {
                "append" => bench.append(1000 * self.percent)?,
                "folder" => bench.migrate(name, thousand, 330)?,
                "v1" => bench.migrate(name, 1, 1000 * self.percent)?,
                "complete" => bench.complete(1000 * self.percent)?,
                "messages" => bench.messages(1000 * self.percent)?,
                _ => bench.start()?,
            }
        }
        let many: Vec<_> = sessions::CASES
            .into_iter()
            .filter(|case| self.wants(case))
            .collect();
        if many.is_empty() {
            Ok(())
        } else {
            bench.sessions(&many, thousand)
        }
    }

    fn scaled(&self, entries: u32) -> u32 {
        (u64::from(entries) * u64::from(self.percent) / 100).max(20) as u32
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

struct Bench<'a> {
    tools: Tools,
    folder: &'a Path,
    runs: u32,
}

/// A row of a table: a command, its fastest time, its peak memory.
struct Row {
    name: String,
    took: Duration,
    peak: Option<u64>,
}

impl Bench<'_> {
    fn make(
        &self,
        name: &str,
        shape: Shape,
        count: u32,
        seed: u64,
    ) -> Result<(String, Facts), String> {
        let path = self.folder.join(name);
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        let file = std::fs::File::create(&path).map_err(failed)?;
        let mut out = std::io::BufWriter::with_capacity(1 << 20, file);
        let facts = write(shape, count, seed, &mut out).map_err(failed)?;
        warm(&path)?;
        Ok((path.display().to_string(), facts))
    }

    /// Runs the commands in turn, as often as requested, and returns the fastest run of each.
    fn rows(&self, runs: &[Run]) -> Result<Vec<Row>, String> {
        let mut rows: Vec<_> = runs
            .iter()
            .map(|run| Row {
                name: run.name.clone(),
                took: Duration::MAX,
                peak: run.peak(self.folder),
            })
            .collect();
        for _ in 0..self.runs {
            for (run, row) in runs.iter().zip(&mut rows) {
                row.took = row.took.min(run.time()?);
            }
        }
        Ok(rows)
    }

    fn reading(&self, name: &str, shape: Shape, entries: u32, beside: bool) -> Result<(), String> {
        let (session, facts) = self.make(&format!("{name}.jsonl"), shape, entries, 1)?;
        let mut runs = vec![Run::new("wc -l", &["wc", "-l", &session])];
        runs.extend(
            SHOWN
                .iter()
                .chain(&ALSO)
                .map(|words| self.shown(words, &session)),
        );
        self.check(&session, &facts)?;
        self.check_also(&session, &facts)?;
        runs.push(
            self.tools
                .pisess("grep -c", &["grep", "-c", WORD, &session])
                .search(),
        );
        runs.extend(
            self.tools
                .rg
                .as_ref()
                .map(|rg| Run::new("rg -c", &[rg, "-c", WORD, &session]).search()),
        );
        if beside {
            for run in self.tools.four_fields(&session) {
                expect(&run.name, Hash::of(&run.output()?), facts.fields)?;
                runs.push(run);
            }
        }
        let mut rows = self.rows(&runs)?;
        if let Some(run) = self.tools.pi(&[&session]).filter(|_| beside) {
            // pi's own time, without the start of Node. It runs once, because it takes long.
            let (took, entries, leaf) = pi_told(&run.output()?)?;
            expect("pi's leaf", leaf, facts.leaf)?;
            expect("pi's entries", entries, facts.lines - 1)?;
            rows.push(Row {
                name: run.name.clone(),
                took: Duration::from_secs_f64(took / 1e3),
                peak: run.peak(self.folder),
            });
        }
        println!(
            "\n{name}: {} entries, {} MB",
            facts.lines - 1,
            facts.bytes / 1_000_000
        );
        print(&rows);
        std::fs::remove_file(session).map_err(|error| error.to_string())
    }

    /// Returns a command that reads a session: its options follow the session.
    fn shown(&self, words: &str, session: &str) -> Run {
        let (verb, options) = words.split_once(' ').unwrap_or((words, ""));
        let arguments = [verb, session]
            .into_iter()
            .chain(options.split_whitespace());
        self.tools.pisess(words, &arguments.collect::<Vec<_>>())
    }

    /// Runs each command on the same shape at a quarter of its size and at full size, and compares
    /// bytes, time and output.
    fn growth(&self, name: &str, shape: Shape, entries: u32) -> Result<(), String> {
        let mut sizes = Vec::new();
        for entries in [entries / 4, entries] {
            let (session, facts) =
                self.make(&format!("{name}-{entries}.jsonl"), shape, entries, 1)?;
            self.check(&session, &facts)?;
            let runs = SHOWN.map(|words| self.shown(words, &session));
            let rows = self.rows(&runs)?;
            let written = runs
                .iter()
                .map(|run| Ok(run.output()?.len()))
                .collect::<Result<Vec<_>, String>>()?;
            std::fs::remove_file(session).map_err(|error| error.to_string())?;
            sizes.push((facts, rows, written));
        }
        let [quarter, whole] = &sizes[..] else {
            return Err("two sizes were made".to_owned());
        };
        let times = whole.0.bytes as f64 / quarter.0.bytes as f64;
        println!(
            "\n{name}: {} entries, {} MB, {times:.1} x the bytes of a quarter",
            whole.0.lines - 1,
            whole.0.bytes / 1_000_000
        );
        for (at, Row { name, took, peak }) in whole.1.iter().enumerate() {
            let slower = took.as_secs_f64() / quarter.1[at].took.as_secs_f64();
            let longer = whole.2[at] as f64 / quarter.2[at].max(1) as f64;
            let memory = peak.map_or("-".to_owned(), |kib| {
                format!("{:.1} MB", kib as f64 / 1024.0)
            });
            println!(
                "  {name:22} {:9.1} ms {memory:>10}   {slower:5.1} x the time   {longer:5.1} x the output",
                took.as_secs_f64() * 1e3
            );
        }
        Ok(())
    }

    /// Checks answers of pisess against the facts of the generator.
    fn check(&self, session: &str, facts: &Facts) -> Result<(), String> {
        let output = |words: &[&str]| self.tools.pisess(words[0], words).output();
        let lines = Run::new("wc -l", &["wc", "-l", session]).output()?;
        expect(
            "wc -l",
            String::from_utf8_lossy(&lines).split_whitespace().next(),
            Some(&*facts.lines.to_string()),
        )?;
        expect(
            "path --ids",
            Hash::of(&output(&["path", session, "--ids"])?),
            facts.path,
        )?;
        let path = output(&["path", session])?;
        expect("path", column(&path, 1), facts.path)?;
        expect(
            "path --json",
            count(&output(&["path", session, "--json"])?),
            facts.path_entries,
        )?;
        // The JSON is checked instead of the text that is timed: in the text, tool results are
        // folded.
        let tree = output(&["tree", session, "--json"])?;
        expect("rows of the tree", count(&tree), facts.tree_rows)?;
        expect("tree", ids(&tree), facts.tree)?;
        expect(
            "context",
            Hash::of(&output(&["context", session])?),
            facts.context,
        )?;
        expect(
            "secrets",
            count(&output(&["redact", session, "--check", "-q"])?),
            0,
        )?;
        expect("labels", count(&output(&["label", session])?), facts.labels)
    }

    /// Checks answers that not every shape has.
    fn check_also(&self, session: &str, facts: &Facts) -> Result<(), String> {
        let output = |words: &[&str]| self.tools.pisess(words[0], words).output();
        expect(
            "findings",
            count(&output(&["check", session, "--json"])?),
            0,
        )?;
        expect(
            "branches",
            count(&output(&["branches", session, "--json"])?),
            facts.branches,
        )?;
        let plan = String::from_utf8_lossy(&output(&["fork", "-n", session])?).into_owned();
        let lines = format!(" with {} lines", facts.path_entries + 1);
        expect("the lines of the fork", plan.contains(&lines), true)
    }

    /// Appends one entry to a large session, which writes one line.
    fn append(&self, entries: u32) -> Result<(), String> {
        let (session, facts) =
            self.make("append.jsonl", Shape::Turns { percent: 100 }, entries, 2)?;
        let label = self
            .tools
            .pisess("label @ name", &["label", &session, "@", "name", "--force"]);
        let before = facts.bytes;
        let id = String::from_utf8_lossy(&label.output()?).trim().to_owned();
        let bytes = std::fs::read(&session).map_err(|error| error.to_string())?;
        let line = &bytes[before as usize..];
        expect("lines written", count(line), 1)?;
        expect(
            "the label",
            String::from_utf8_lossy(line).contains(&format!("\"id\":\"{id}\"")),
            true,
        )?;
        println!(
            "\nappend: one entry behind {} MB writes {} bytes",
            before / 1_000_000,
            line.len()
        );
        drop(bytes);
        // A different label each time, because a label that an entry has already is not set again.
        let mut rows = self.rows(&[Run::new("wc -l", &["wc", "-l", &session])])?;
        let mut took = Duration::MAX;
        for at in 0..self.runs {
            took = took.min(
                self.tools
                    .pisess("", &["label", &session, "@^", &format!("n{at}"), "--force"])
                    .time()?,
            );
        }
        rows.push(Row {
            name: label.name.clone(),
            took,
            peak: label.peak(self.folder),
        });
        print(&rows);
        std::fs::remove_file(session).map_err(|error| error.to_string())
    }

    /// Migrates files of version 1 in place; each run starts with the original files.
    fn migrate(&self, name: &str, files: u32, entries: u32) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        let (source, folder) = (self.folder.join("v1"), self.folder.join("sessions"));
        std::fs::create_dir_all(&source).map_err(failed)?;
        let mut bytes = 0;
        for at in 0..files {
            bytes += self
                .make(
                    &format!("v1/{at:05}.jsonl"),
                    Shape::V1,
                    entries,
                    3 + u64::from(at),
                )?
                .1
                .bytes;
        }
        let restore = || -> Result<(), String> {
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir_all(&folder).map_err(failed)?;
            for file in std::fs::read_dir(&source).map_err(failed)? {
                let file = file.map_err(failed)?;
                std::fs::copy(file.path(), folder.join(file.file_name())).map_err(failed)?;
            }
            Ok(())
        };
        let place = folder.display().to_string();
        let run = self.tools.pisess("migrate", &["migrate", &place]);
        restore()?;
        run.output()?;
        for at in 0..files {
            check_migrated(
                &folder.join(format!("{at:05}.jsonl")),
                &source.join(format!("{at:05}.jsonl")),
            )?;
        }
        let mut rows = vec![Row {
            name: run.name.clone(),
            took: Duration::MAX,
            peak: None,
        }];
        for _ in 0..self.runs {
            restore()?;
            rows[0].took = rows[0].took.min(run.time()?);
        }
        restore()?;
        rows[0].peak = run.peak(self.folder);
        restore()?;
        let paths: Vec<_> = (0..files)
            .map(|at| folder.join(format!("{at:05}.jsonl")).display().to_string())
            .collect();
        // pi is not timed on a single file: it takes many minutes to migrate 300 MB.
        let beside = self
            .tools
            .pi(&paths.iter().map(String::as_str).collect::<Vec<_>>());
        if let Some(run) = beside.filter(|_| files > 1) {
            let (took, entries, _) = pi_told(&run.output()?)?;
            expect("pi's entries", entries > 0, true)?;
            rows.push(Row {
                name: "pi: open, one by one".to_owned(),
                took: Duration::from_secs_f64(took / 1e3),
                peak: None,
            });
        }
        println!(
            "\n{name}: {files} files of version 1, {} MB",
            bytes / 1_000_000
        );
        print(&rows);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::remove_dir_all(&source).map_err(failed)
    }

    /// Completes labels and ids of a large session, as a shell does.
    fn complete(&self, entries: u32) -> Result<(), String> {
        let (session, facts) =
            self.make("complete.jsonl", Shape::Turns { percent: 100 }, entries, 5)?;
        let words = [
            "completions",
            "fish",
            "--at",
            "3",
            "--",
            "pisess",
            "show",
            &session,
            &facts.leaf,
        ];
        let run = self.tools.pisess("completions", &words);
        let offered = run.output()?;
        let first = String::from_utf8_lossy(&offered)
            .split('\t')
            .next()
            .map(str::to_owned);
        expect("the id that is offered", first, Some(facts.leaf))?;
        println!(
            "\ncomplete: the id of an entry of {} MB",
            facts.bytes / 1_000_000
        );
        print(&self.rows(&[Run::new("wc -l", &["wc", "-l", &session]), run])?);
        std::fs::remove_file(session).map_err(|error| error.to_string())
    }

    /// Reads a session of 2 KB: the cost of starting the process. Beside it, `true` does nothing.
    fn start(&self) -> Result<(), String> {
        let (session, facts) = self.make("start.jsonl", Shape::Chain, 14, 9)?;
        self.check(&session, &facts)?;
        let mut runs = vec![
            Run::new("true", &["true"]),
            self.tools.pisess("tree", &["tree", &session]),
            self.tools.pisess("path", &["path", &session]),
        ];
        runs.extend(
            self.tools
                .jaq
                .as_ref()
                .map(|jaq| Run::new("jaq -n 1", &[jaq, "-n", "1"])),
        );
        let many = Bench {
            tools: Tools::find(),
            folder: self.folder,
            runs: 40 * self.runs,
        };
        let rows = many.rows(&runs)?;
        println!("\nstart: a session of {} bytes", facts.bytes);
        print(&rows);
        Ok(())
    }
}

/// Checks that each line has an id, and as its parent the entry before it, and is otherwise
/// unchanged.
fn check_migrated(new: &Path, old: &Path) -> Result<(), String> {
    let read = |path: &Path| {
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let (new, old) = (read(new)?, read(old)?);
    expect("lines", new.lines().count(), old.lines().count())?;
    let mut parent = "null".to_owned();
    for (at, (new, old)) in new.lines().zip(old.lines()).enumerate() {
        let rest = new
            .strip_prefix(old.strip_suffix('}').unwrap_or(old))
            .ok_or("a line lost what it held")?;
        if at == 0 {
            expect("the header", rest, ",\"version\":3}")?;
            continue;
        }
        let id = rest
            .strip_prefix(",\"id\":")
            .and_then(|rest| rest.get(..10))
            .unwrap_or_default();
        expect(
            "an entry",
            rest,
            &format!(",\"id\":{id},\"parentId\":{parent}}}"),
        )?;
        parent = id.to_owned();
    }
    Ok(())
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, is: T, should: T) -> Result<(), String> {
    if is == should {
        Ok(())
    } else {
        Err(format!("wrong answer: {what} is {is:?}, not {should:?}"))
    }
}

/// Returns the hash of one column: the word of each line, followed by a newline.
fn column(text: &[u8], at: usize) -> Hash {
    hash(text, |line| {
        line.split(|&byte| byte == b' ')
            .filter(|word| !word.is_empty())
            .nth(at)
    })
}

/// Returns the hash of the ids, which are the first member of each line.
fn ids(lines: &[u8]) -> Hash {
    hash(lines, |line| {
        line.strip_prefix(b"{\"id\":\"")?
            .split(|&byte| byte == b'"')
            .next()
    })
}

/// Returns the hash of a part of each line, each followed by a newline.
fn hash(text: &[u8], part: impl Fn(&[u8]) -> Option<&[u8]>) -> Hash {
    let mut hash = Hash::default();
    for line in text
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        hash.add(part(line).unwrap_or_default());
        hash.add(b"\n");
    }
    hash
}

fn count(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// Prints the times, and their ratios to those of the other tools.
fn print(rows: &[Row]) {
    let of = |start: &str| {
        rows.iter()
            .find(|row| row.name.starts_with(start))
            .map(|row| row.took.as_secs_f64())
    };
    let beside = ["jaq", "jq", "pi:"].map(|start| (start.trim_end_matches(':'), of(start)));
    let floors = ["wc -l", "rg -c"].map(|name| (name, of(name)));
    for Row { name, took, peak } in rows {
        let seconds = took.as_secs_f64();
        let memory = peak.map_or("-".to_owned(), |kib| {
            format!("{:.1} MB", kib as f64 / 1024.0)
        });
        let mut line = format!("  {name:22} {:9.1} ms {memory:>10}", seconds * 1e3);
        let is_compared =
            |floor: &str| name != floor && (floor == "wc -l" || name.starts_with("pisess grep"));
        for (floor, time) in floors.into_iter().filter(|(floor, _)| is_compared(floor)) {
            line += &time
                .map(|time| format!("   {:5.2} x {}", seconds / time, &floor[..2]))
                .unwrap_or_default();
        }
        if name.starts_with("pisess") {
            for (other, time) in beside {
                line += &time
                    .map(|time| format!("   {other} / {:.1}", time / seconds))
                    .unwrap_or_default();
            }
        }
        println!("{line}");
    }
}
