//! Every command shows the same facts of a session: its name, entries, tokens, cost, models, age,
//! labels and leaf.

use crate::sandbox::{Sandbox, fixture, hazards};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use pisess::format::{format_age, format_count, format_dollars, format_tokens, to_visible};
use pisess::session::entry::Kind;
use pisess_json::time::{iso_string, parse_js_date};
use serde_json::{Value, json};
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::Read;
use std::iter::successors;
use std::time::{Duration, UNIX_EPOCH};

/// The time of every run.
const NOW: i64 = 1_777_896_000_000;

fn rows(text: &str) -> Vec<Value> {
    // Lone surrogates, which serde does not read.
    let text = ["\\ud8", "\\udb", "\\udc"]
        .iter()
        .fold(text.to_owned(), |text, half| text.replace(half, "\\u26"));
    let row = |line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    text.lines().map(row).collect()
}

/// Returns the output. Damage is reported, and the rest is read.
fn run(s: &Sandbox, line: &str) -> String {
    s.pisess(line).done().text()
}

fn texts(values: &Value) -> Vec<String> {
    values
        .as_array()
        .unwrap()
        .iter()
        .map(|value| value.as_str().unwrap().to_owned())
        .collect()
}

/// Returns a part of a page as JSON.
fn part(page: &str, id: &str) -> Value {
    let start = format!("<script type=\"text/plain\" id=\"{id}\">");
    let packed = page
        .split_once(&*start)
        .unwrap()
        .1
        .split_once("</script>")
        .unwrap()
        .0;
    let mut json = String::new();
    GzDecoder::new(&*STANDARD.decode(packed).unwrap())
        .read_to_string(&mut json)
        .unwrap();
    serde_json::from_str(&json).unwrap()
}

fn sum(numbers: &Value) -> f64 {
    numbers
        .as_array()
        .unwrap()
        .iter()
        .map(|number| number.as_f64().unwrap_or_else(|| sum(number)))
        .sum()
}

/// Compares what the commands say of the session `s.jsonl`.
pub fn agree(s: &Sandbox, what: &str) {
    let listed = &rows(&run(s, "list ./s.jsonl --json"))[0];
    let (total, cost) = (
        listed["tokens"]["total"].as_f64().unwrap(),
        listed["cost"].as_f64().unwrap(),
    );
    let entries = listed["entryCount"].as_u64().unwrap() as usize;
    let name = listed["name"].as_str();
    let labels = texts(&listed["labels"]);
    let models = texts(&listed["models"]);

    // `stats`
    let sums = |by: &str| rows(&run(s, &format!("stats {by} --json ./s.jsonl")));
    let seconds = |rows: &[Value]| {
        rows.iter()
            .map(|row| row["seconds"].as_f64().unwrap())
            .sum::<f64>()
    };
    let whole = sums("");
    let by_model = sums("--by model");
    let by_session = sums("--by session");
    for sums in whole.iter().chain(&by_session) {
        for key in ["tokens", "cost", "unpriced"] {
            assert_eq!(sums[key], listed[key], "{what}: {key} of stats in {sums}");
        }
        assert_eq!(
            sums["messages"], listed["messageCount"],
            "{what}: stats: {sums}"
        );
    }
    for parts in [
        &by_session,
        &by_model,
        &sums("--by day"),
        &sums("--by project"),
    ] {
        let (part, whole) = (seconds(parts), seconds(&whole));
        assert!(
            (part - whole).abs() < 0.001,
            "{what}: {part} of {whole} seconds in {parts:?}"
        );
    }
    for model in &models {
        assert!(
            by_model.iter().any(|row| row["model"] == **model),
            "{what}: {model} in {by_model:?}"
        );
    }
    // Models that only summarized, or named the session, did not respond.
    for row in by_model
        .iter()
        .filter(|row| row["assistantMessages"] != 0 && !row["model"].is_null())
    {
        assert!(
            models.iter().any(|model| row["model"] == **model),
            "{what}: {row} in {models:?}"
        );
    }
    let billed = rows(&run(s, "stats --by entry --json ./s.jsonl"));
    let billed = billed
        .iter()
        .map(|row| row["tokens"]["total"].as_f64().unwrap_or(0.0))
        .sum::<f64>();
    assert_eq!(billed, total, "{what}: stats --by entry");

    // The heading of `tree`
    let tree = s
        .pisess("tree ./s.jsonl --color never")
        .terminal(100_000)
        .done()
        .text();
    let heading = tree.lines().next().unwrap_or_default();
    let used = (total > 0.0).then(|| format!("{} tokens", format_tokens(total)));
    let paid = (cost > 0.0).then(|| format_dollars(cost));
    let mut wanted = vec![format_count(entries, "entry", "entries")];
    wanted.extend(used.into_iter().chain(paid));
    assert!(
        heading.ends_with(&wanted.join(" · ")),
        "{what}: {heading} should end with {wanted:?}"
    );
    match name {
        Some(name) => assert!(heading.starts_with(&to_visible(name)), "{what}: {heading}"),
        None => assert!(
            heading.split(" · ").count() <= wanted.len() + 1,
            "{what}: {heading}"
        ),
    }

    // `list` for people
    let list = run(s, "list ./s.jsonl");
    let row = list.lines().nth(1).unwrap();
    let modified = parse_js_date(listed["modified"].as_str().unwrap().as_bytes()).unwrap();
    assert!(
        row.trim_start_matches('*')
            .trim()
            .starts_with(&format_age(NOW, modified)),
        "{what}: {row}"
    );
    assert!(
        cost <= 0.0 || row.contains(&format_dollars(cost)),
        "{what}: {row}"
    );
    assert!(
        row.contains(&to_visible(name.unwrap_or_default().trim())),
        "{what}: {row}"
    );

    // Labels
    let label_rows = rows(&run(s, "label ./s.jsonl --json"));
    let names: Vec<_> = label_rows
        .iter()
        .map(|row| row["label"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, labels, "{what}: label");
    let drawn = rows(&run(s, "tree ./s.jsonl --filter all --json"));
    for row in drawn.iter().filter(|row| !row["label"].is_null()) {
        assert!(
            labels.iter().any(|label| row["label"] == **label),
            "{what}: {row}"
        );
    }

    // The page of `export`
    let exported = rows(&run(s, "export ./s.jsonl -o ./s.html --force --json"));
    assert_eq!(
        exported[0]["entries"].as_u64(),
        Some(entries as u64),
        "{what}: export --json"
    );
    let page = s.text("s.html");
    let (index, late) = (part(&page, "index"), part(&page, "late"));
    assert_eq!(
        index["ids"].as_array().unwrap().len(),
        entries,
        "{what}: export"
    );
    assert_eq!(
        index["name"].as_str(),
        name.map(visible_in_page).as_deref(),
        "{what}: export"
    );
    assert_eq!(index["tokensOfAll"].as_f64(), Some(total), "{what}: export");
    assert!(
        (index["costOfAll"].as_f64().unwrap() - cost).abs() <= 1e-6,
        "{what}: export"
    );
    // Its entries have what they used themselves.
    let is_pruned = s.path("s.jsonl.pruned").exists();
    assert!(sum(&late["usage"]) == total || is_pruned, "{what}: export");
    assert!(
        is_pruned || (sum(&late["cost"]) - cost).abs() <= 1e-6 * entries as f64,
        "{what}: {} for {cost}",
        late["cost"]
    );
    assert_eq!(texts(&late["models"]), models, "{what}: export");
    for label in index["labels"].as_array().unwrap() {
        assert!(
            labels.iter().any(|name| label[1] == *visible_in_page(name)),
            "{what}: {label}"
        );
    }
    // The document and the page without a script
    for line in [
        "export ./s.jsonl --as markdown -o -",
        "export ./s.jsonl --static -o -",
    ] {
        let text = run(s, line);
        let text = text
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&")
            .replace("&quot;", "\"");
        let plain = |text: &str| {
            text.chars()
                .filter(|c| c.is_alphanumeric())
                .collect::<String>()
        };
        let title = name
            .map(|name| plain(&visible_in_page(name)))
            .unwrap_or_default();
        assert!(plain(&text).contains(&title), "{what}: {title} in {line}");
    }

    // The leaf, at which the path ends
    let path = s.pisess("path ./s.jsonl --json").done();
    let id_of = |line: &str| {
        let id = pisess_json::Raw::parse(line.as_bytes())
            .unwrap()
            .get_text("id");
        id.map(|id| id.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let leaf = path.text().lines().last().map(id_of);
    let at = index["leaf"].as_i64().unwrap();
    assert_eq!(leaf.is_none(), at < 0, "{what}: leaf");
    if let (Some(leaf), Ok(at)) = (leaf, usize::try_from(at)) {
        let id = index["ids"][at].as_str().unwrap();
        assert_eq!(leaf, id, "{what}: leaf of export and show");
        for row in drawn.iter().filter(|row| row["leaf"] == true) {
            assert_eq!(
                row["id"].as_str().unwrap_or_default(),
                id,
                "{what}: leaf of tree"
            );
        }
        let leaf_row = drawn.iter().find(|row| row["leaf"] == true).unwrap();
        let label = leaf_row["label"].as_str();
        let heading = run(s, &format!("show ./s.jsonl :{}", leaf_row["line"]));
        let heading = heading.lines().next().unwrap();
        assert!(
            heading.contains(&to_visible(id)) || id.is_empty(),
            "{what}: {heading}"
        );
        assert!(
            label.is_none_or(|label| heading.contains(&to_visible(&format!("[{label}]")))),
            "{what}: {heading}"
        );
    }

    // `branches`
    let branches = rows(&run(s, "branches ./s.jsonl --json"));
    assert_eq!(
        branches.len() as u64,
        listed["branchCount"].as_u64().unwrap(),
        "{what}: branches"
    );
    let table = run(s, "branches ./s.jsonl");
    for branch in &branches {
        let label = &branch["label"];
        assert!(
            label.is_null() || labels.iter().any(|name| *label == **name),
            "{what}: {branch}"
        );
        let time = branch["timestamp"]
            .as_str()
            .and_then(|time| parse_js_date(time.as_bytes()));
        let (id, age) = (
            branch["id"].as_str().unwrap_or_default(),
            format_age(NOW, time.unwrap_or(i64::MIN)),
        );
        let is_row = |row: &str| row.contains(&to_visible(id)) && row.contains(&age);
        assert!(table.lines().any(is_row), "{what}: {branch} in {table}");
    }

    archive_agrees(s, what);

    let active: Vec<_> = branches
        .iter()
        .filter(|branch| branch["active"] == true)
        .collect();
    assert_eq!(active.len(), usize::from(at >= 0), "{what}: {branches:?}");
    // The age of a branch in `tree` is that of the newest branch in it.
    let ids: HashSet<_> = drawn.iter().map(|row| row["id"].as_str()).collect();
    if ids.len() == drawn.len() && !ids.contains(&None) {
        // The active branch ends with the leaf, or with the last entry above it that is not
        // bookkeeping.
        let by_id: HashMap<_, _> = drawn.iter().map(|row| (&row["id"], row)).collect();
        let is_note =
            |row: &Value| Kind::named(row["type"].as_str().unwrap().as_bytes()).is_bookkeeping();
        let leaf = drawn.iter().find(|row| row["leaf"] == true);
        let path = successors(leaf, |row| by_id.get(&row["parentId"]).copied()).take(drawn.len());
        let ends: Vec<_> = path
            .take_while(|row| is_note(row) || Some(*row) == leaf)
            .collect();
        let above = ends
            .last()
            .and_then(|row| by_id.get(&row["parentId"]).copied());
        let ends: Vec<_> = ends
            .into_iter()
            .chain(above)
            .map(|row| &row["id"])
            .collect();
        assert!(
            active.iter().all(|branch| ends.contains(&&branch["id"])),
            "{what}: {active:?} at {ends:?}"
        );
        let parents: HashMap<_, _> = drawn
            .iter()
            .map(|row| (&row["id"], &row["parentId"]))
            .collect();
        let is_below = |tip: &Value, above: &Value| {
            let path = successors(Some(tip), |id| parents.get(id).copied()).take(drawn.len() + 1);
            { path }.any(|id| id == above)
        };
        let tree = run(s, "tree ./s.jsonl --filter all --layout pi");
        let lines = || tree.lines().skip(usize::from(is_pruned));
        assert_eq!(lines().count(), drawn.len(), "{what}: tree");
        for (line, row) in lines().zip(&drawn) {
            let extent = line
                .rsplit_once("  (")
                .and_then(|(_, extent)| extent.strip_suffix(')'));
            let Some(extent) = extent.filter(|extent| extent.contains(" entr")) else {
                continue;
            };
            let inside = branches
                .iter()
                .filter(|branch| is_below(&branch["id"], &row["id"]));
            let newest = inside
                .filter_map(|branch| parse_js_date(branch["timestamp"].as_str()?.as_bytes()))
                .max();
            let shown = extent.split_once(", ").map(|(_, age)| age.to_owned());
            // The mark of a switch is a row of its own here; in `branches`, its branch has the id
            // of the entry above.
            if newest.is_some() || !extent.starts_with("0 ") {
                assert_eq!(
                    shown,
                    newest.map(|newest| format_age(NOW, newest)),
                    "{what}: {line} in\n{tree}\n{table}"
                );
            }
        }
    }
}

/// Compares what `archive --list` shows of the session with what `list` showed of it, if it can be
/// archived.
fn archive_agrees(s: &Sandbox, what: &str) {
    let path = ".pi/agent/sessions/--p--/s.jsonl";
    s.put(path, s.bytes("s.jsonl"));
    // A session in use is not archived: one that is open for writing, or was changed just now.
    let old = UNIX_EPOCH + Duration::from_millis(NOW as u64 - 86_400_000);
    File::options()
        .append(true)
        .open(s.path(path))
        .and_then(|file| file.set_modified(old))
        .unwrap();
    let run = |line: &str| s.pisess(line).at_home().done();
    let listed = &rows(&run(&format!("list ./{path} --json")).text())[0];
    let archived = run(&format!("archive -q ./{path}"));
    assert!(
        archived.code == 0 || what.starts_with("hazards/"),
        "{what}: {archived}"
    );
    if archived.code == 0 {
        let archive = &rows(&run("archive --list --all --json").text())[0];
        for key in [
            "id",
            "agent",
            "name",
            "cwd",
            "created",
            "modified",
            "messageCount",
        ] {
            assert_eq!(archive[key], listed[key], "{what}: {key} of archive");
        }
    }
    fs::remove_dir_all(s.path(".pi")).unwrap();
}

/// Returns a text as a page shows it: there, a carriage return ends a line.
fn visible_in_page(text: &str) -> String {
    let mut shown = String::new();
    pisess::format::push_visible_lines(&mut shown, text);
    shown
}

#[test]
fn fixtures_are_described_in_one_way() {
    let names = [
        "tour",
        "two-branches",
        "omp",
        "omp-no-slot",
        "v1",
        "v2",
        "draft-tree",
        "other-tool",
        "kinds/pi",
        "kinds/omp",
    ];
    let hazards = hazards().into_iter().map(|name| format!("hazards/{name}"));
    for name in names.map(str::to_owned).into_iter().chain(hazards) {
        let s = Sandbox::new();
        s.put("s.jsonl", fixture(&format!("{name}.jsonl")));
        if s.pisess("list ./s.jsonl --json").done().code == 0 {
            agree(&s, &name);
        }
    }
}

#[test]
fn generated_sessions_are_described_in_one_way() {
    for seed in 0..200 {
        let s = Sandbox::new();
        let session = Generated::new(seed).session();
        s.put("s.jsonl", &session);
        agree(&s, &format!("seed {seed}"));
    }
}

#[test]
fn the_name_is_the_one_that_the_agent_shows() {
    let s = Sandbox::new();
    let slot = |title: &str| {
        json!({"type": "title", "v": 1, "title": title, "updatedAt": "2026-01-01T00:00:00.000Z", "pad": ""})
            .to_string()
    };
    let header = |title: Option<&str>| {
        let mut header = json!({"type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/"});
        title
            .into_iter()
            .for_each(|title| header["title"] = json!(title));
        header.to_string()
    };
    let info = |name: &str| {
        json!({"type": "session_info", "id": name, "parentId": null, "name": name}).to_string()
    };
    let omp =
        json!({"type": "model_change", "id": "m", "parentId": null, "model": "a/b"}).to_string();
    let change = json!({"type": "title_change", "id": "t", "parentId": null, "title": "changed"})
        .to_string();
    for (lines, wanted) in [
        (vec![header(None)], None),
        (vec![header(None), info("one"), info(" two ")], Some("two")),
        (vec![header(Some("title")), info("one")], Some("one")),
        (vec![header(Some("title")), info("one"), info(" ")], None),
        (
            vec![header(Some("title")), omp.clone(), info("one")],
            Some("title"),
        ),
        (vec![header(None), omp.clone(), info("one")], None),
        (vec![header(Some("title")), change.clone()], Some("title")),
        (
            vec![slot("slot"), header(Some("title")), info("one")],
            Some("slot"),
        ),
        (vec![slot(""), header(Some("title")), info("one")], None),
    ] {
        s.put("s.jsonl", lines.join("\n") + "\n");
        assert_eq!(
            rows(&run(&s, "list ./s.jsonl --json"))[0]["name"].as_str(),
            wanted,
            "{lines:?}"
        );
        // By name, a session is found without reading all of it.
        let found = pisess::load::peek::head(&s.bytes("s.jsonl")).unwrap();
        let found = pisess::load::peek::read_name(&found, &s.bytes("s.jsonl")).unwrap();
        assert_eq!(
            found.map(|name| name.to_string()).as_deref(),
            wanted,
            "{lines:?}"
        );
        agree(&s, &lines.join("\n"));
    }
}

/// A generator of sessions, from a seed.
pub struct Generated {
    seed: u64,
    lines: Vec<Value>,
    is_omp: bool,
}

impl Generated {
    pub fn new(seed: u64) -> Generated {
        Generated {
            seed: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1,
            lines: Vec::new(),
            is_omp: seed % 2 == 1,
        }
    }

    /// Returns a number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed >> 11) % end
    }

    fn word(&mut self) -> &'static str {
        [
            "fix",
            "\u{200e}mark",
            "größe",
            "🚢",
            "\x1b[31mred",
            "a  b",
            "/mode",
            "<b>",
            "`code`",
            "",
        ][self.below(10) as usize]
    }

    fn usage(&mut self) -> Value {
        let [input, output, read] = [self.below(9000), self.below(900), self.below(9)];
        let cost = self.below(100_000) as f64 / 1e6;
        match self.below(7) {
            0 => json!({"input": input, "output": output}),
            // As `import` writes it.
            6 => {
                json!({"input": input, "output": output, "cost": {"input": 0, "total": 0, "unknown": true}})
            }
            1 => json!({"input": input, "output": "many", "cacheRead": null, "cost": {}}),
            // A total that is not the sum.
            2 => {
                json!({"input": input, "output": output, "totalTokens": 5, "cost": {"total": cost}})
            }
            _ => {
                json!({"input": input, "output": output, "cacheRead": read, "cacheWrite": 2, "totalTokens": input + output + read + 2,
                "cost": {"input": 0, "total": cost}})
            }
        }
    }

    fn add(&mut self, kind: &str, body: Value) {
        let at = self.lines.len();
        let parent = match self.below(8) {
            0 if at > 0 => json!(format!("id{}", self.below(at as u64))),
            _ if at > 0 => json!(format!("id{}", at - 1)),
            _ => Value::Null,
        };
        // Ages from seconds to years.
        let timestamp = iso_string(NOW - (1_000 << (31 - at)));
        let mut entry = json!({"type": kind, "id": format!("id{at}"), "parentId": parent, "timestamp": timestamp});
        entry
            .as_object_mut()
            .unwrap()
            .extend(body.as_object().unwrap().clone());
        self.lines.push(entry);
    }

    fn entry(&mut self) {
        let (word, usage, time) = (
            self.word(),
            self.usage(),
            self.below(1000) as i64 + NOW - 2_000_000_000,
        );
        let provider = ["anthropic", "openai"][self.below(2) as usize];
        let target = format!("id{}", self.below(self.lines.len() as u64 + 1));
        let usage_kind = if self.is_omp { "model_usage" } else { "usage" };
        match self.below(17) {
            0 | 1 => self.add(
                "message",
                json!({"message": {"role": "user", "content": word, "timestamp": time}}),
            ),
            2..=4 => {
                let message = json!({"role": "assistant", "provider": provider, "model": "m", "usage": usage, "timestamp": time,
                    "content": [{"type": "text", "text": word}, {"type": "toolCall", "id": "c", "name": "bash", "arguments": {}}]});
                self.add("message", json!({ "message": message }));
            }
            5 => {
                let message = json!({"role": "assistant", "provider": provider, "model": "m", "responseModel": "other", "content": []});
                self.add("message", json!({ "message": message }));
            }
            6 => {
                let message = json!({"role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": [], "usage": usage});
                self.add("message", json!({ "message": message }));
            }
            7 => {
                let message = json!({"role": "toolResult", "toolCallId": "c", "toolName": "task", "content": [], "details": {"usage": usage}});
                self.add("message", json!({ "message": message }));
            }
            8 => self.add("label", json!({"targetId": target, "label": word})),
            9 if self.is_omp => self.add("title_change", json!({"title": word})),
            9 => self.add("session_info", json!({"name": word})),
            10 => self.add(
                usage_kind,
                json!({"provider": provider, "model": "small", "usage": usage}),
            ),
            11 => {
                let mut summary =
                    json!({"summary": word, "firstKeptEntryId": target, "tokensBefore": 900});
                if self.below(2) == 0 {
                    summary["usage"] = usage;
                }
                self.add("compaction", summary);
            }
            12 => {
                let mut summary = json!({"summary": word, "fromId": target});
                if self.below(2) == 0 {
                    summary["usage"] = usage;
                }
                self.add("branch_summary", summary);
            }
            13 => self.add("custom", json!({"customType": "todo", "data": word})),
            14 => {
                let display = self.below(2) == 0;
                self.add(
                    "custom_message",
                    json!({"customType": "todo", "content": word, "display": display}),
                )
            }
            15 if !self.is_omp => self.add(
                "context_edit",
                json!({"targetId": target, "replacement": {"content": word}}),
            ),
            // As `pick` copies a message.
            _ => {
                let message = self
                    .lines
                    .iter()
                    .rev()
                    .find(|entry| entry["message"]["role"] == "assistant");
                if let Some(message) = message.map(|entry| entry["message"].clone()) {
                    self.add("message", json!({ "message": message }));
                }
            }
        }
    }

    pub fn session(mut self) -> String {
        for _ in 0..self.below(30) {
            self.entry();
        }
        let mut header = json!({"type": "session", "version": 3, "id": "019ceb84", "timestamp": "2026-04-01T00:00:00.000Z", "cwd": "/p"});
        if self.is_omp || self.below(4) == 0 {
            header["title"] = json!(self.word());
        }
        let slot = json!({"type": "title", "v": 1, "title": self.word(), "updatedAt": "2026-04-01T00:00:00.000Z", "pad": ""});
        let has_slot = self.is_omp && self.below(2) == 0;
        let lines = has_slot
            .then_some(slot)
            .into_iter()
            .chain([header])
            .chain(self.lines);
        lines.map(|line| format!("{line}\n")).collect()
    }
}
