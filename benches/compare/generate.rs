//! Generates sessions from a seed, with the correct answers about them.
//!
//! The answers are computed while the lines are written. Nothing of pisess is used here, so the
//! check is independent.

use std::io::{self, Write};

/// A word in nearly every entry with text, to be searched for.
pub const WORD: &str = "parse";

/// The bytes of a long text.
pub const LONG: usize = 4096;

/// The shape of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Turns of a coding session: user, assistant with thinking and tool calls, tool results; now
    /// and then a turn is abandoned. The percentage scales all texts.
    Turns {
        /// 100 for texts as long as in real sessions.
        percent: u32,
    },
    /// The same about tokens and keys: in nearly every entry, ordinary words that are also names of
    /// secrets.
    Tokens,
    /// One chain of the smallest user messages.
    Chain,
    /// All entries are children of the first.
    Fan,
    /// A chain in which every entry also has a child without children: nested branch points.
    Comb,
    /// Labels on the entries of a short chain.
    Labels,
    /// One message of this many megabytes.
    Line,
    /// Like [`Shape::Turns`], but in version 1, without ids.
    V1,
}

impl Shape {
    /// Returns the shape with this name on the command line.
    pub fn named(name: &str) -> Option<Shape> {
        Some(match name {
            "turns" => Shape::Turns { percent: 100 },
            "small" => Shape::Turns { percent: 10 },
            "big" => Shape::Turns { percent: 1000 },
            "tokens" => Shape::Tokens,
            "chain" => Shape::Chain,
            "fan" => Shape::Fan,
            "comb" => Shape::Comb,
            "labels" => Shape::Labels,
            "line" => Shape::Line,
            "v1" => Shape::V1,
            _ => return None,
        })
    }
}

/// The correct answers.
#[derive(Debug, Default)]
pub struct Facts {
    /// The number of lines, including the header.
    pub lines: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// The id of the last entry.
    pub leaf: String,
    /// The ids from the root to the leaf, each followed by a newline.
    pub path: Hash,
    /// The number of these ids.
    pub path_entries: u64,
    /// The ids that pi's tree shows by default, in drawing order.
    pub tree: Hash,
    /// The number of these ids.
    pub tree_rows: u64,
    /// `[type,id,parentId,timestamp]` of every line, each followed by a newline.
    pub fields: Hash,
    /// The context at the leaf.
    pub context: Hash,
    /// The number of labels in effect.
    pub labels: u64,
    /// The number of assistant messages, and their input tokens.
    pub answers: u64,
    pub input: u64,
    /// The number of requests on the path to the leaf.
    pub requests: u64,
    /// The number of entries that contain [`WORD`].
    pub with_word: u64,
    /// The number of these entries that have a row in pi's tree.
    pub rows_with_word: u64,
    /// The number of results whose text takes more than [`LONG`] bytes in the file.
    pub long_results: u64,
    /// The number of branches, for [`Shape::Turns`], [`Shape::Tokens`] and [`Shape::Chain`].
    pub branches: u64,
}

/// FNV-1a over eight bytes at a time: enough to distinguish answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hash(u64, u64, u32);

impl Default for Hash {
    fn default() -> Self {
        Hash(0xcbf2_9ce4_8422_2325, 0, 0)
    }
}

impl Hash {
    /// Adds bytes. The result does not depend on how they are divided among calls.
    pub fn add(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        while self.2 != 0 && !bytes.is_empty() {
            self.byte(bytes[0]);
            bytes = &bytes[1..];
        }
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            self.word(
                word.iter()
                    .rev()
                    .fold(0, |sum, &byte| sum << 8 | u64::from(byte)),
            );
        }
        words.remainder().iter().for_each(|&byte| self.byte(byte));
    }

    /// Returns the hash of these bytes.
    pub fn of(bytes: &[u8]) -> Hash {
        let mut hash = Hash::default();
        hash.add(bytes);
        hash
    }

    fn byte(&mut self, byte: u8) {
        self.1 |= u64::from(byte) << (8 * self.2);
        self.2 += 1;
        if self.2 == 8 {
            self.word(self.1);
            (self.1, self.2) = (0, 0);
        }
    }

    fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word)
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(29);
    }
}

/// Writes a session of about `entries` entries, or of as many megabytes for [`Shape::Line`].
pub fn write(shape: Shape, entries: u32, seed: u64, out: &mut dyn Write) -> io::Result<Facts> {
    let mut maker = Maker::new(shape, seed, out);
    maker.header()?;
    match shape {
        Shape::Turns { .. } | Shape::Tokens | Shape::V1 => maker.turns(entries)?,
        Shape::Chain => maker.chain(entries)?,
        Shape::Fan => maker.fan(entries)?,
        Shape::Comb => maker.comb(entries)?,
        Shape::Labels => maker.labels(entries)?,
        Shape::Line => maker.line(entries)?,
    }
    maker.finish()
}

struct Maker<'a> {
    out: &'a mut dyn Write,
    shape: Shape,
    seed: u64,
    random: Random,
    /// Lines of text and code, escaped as in JSON.
    pool: Vec<String>,
    facts: Facts,
    line: String,
    count: u32,
    leaf: Option<String>,
    /// The rows of abandoned turns, newest first; in the tree, they follow the path.
    left: Vec<Vec<String>>,
    model: Option<&'static str>,
    context: Hash,
    messages: u64,
}

impl<'a> Maker<'a> {
    fn new(shape: Shape, seed: u64, out: &'a mut dyn Write) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let pool = (0..2048)
            .map(|_| pooled(&mut random, shape == Shape::Tokens))
            .collect();
        let mut context = Hash::default();
        context.add(b"{\"messages\":[");
        Maker {
            out,
            shape,
            seed,
            random,
            pool,
            facts: Facts::default(),
            line: String::new(),
            count: 0,
            leaf: None,
            left: Vec::new(),
            model: None,
            context,
            messages: 0,
        }
    }

    fn header(&mut self) -> io::Result<()> {
        let version = if self.shape == Shape::V1 {
            ""
        } else {
            "\"version\":3,"
        };
        let time = time(0);
        let id = format!("0199f0c0-0000-7000-8000-{:012x}", self.seed);
        self.line = format!(
            "{{\"type\":\"session\",{version}\"id\":\"{id}\",\"timestamp\":\"{time}\",\"cwd\":\"/home/dev/project\"}}\n"
        );
        self.field_row("session", Some(&id), None, &time);
        self.emit()
    }

    fn emit(&mut self) -> io::Result<()> {
        self.facts.lines += 1;
        self.facts.bytes += self.line.len() as u64;
        self.out.write_all(self.line.as_bytes())
    }

    fn field_row(&mut self, kind: &str, id: Option<&str>, parent: Option<&str>, time: &str) {
        let quoted =
            |text: Option<&str>| text.map_or("null".to_owned(), |text| format!("\"{text}\""));
        let row = format!(
            "[\"{kind}\",{},{},\"{time}\"]\n",
            quoted(id),
            quoted(parent)
        );
        self.facts.fields.add(row.as_bytes());
    }

    /// Writes an entry, with `rest` after its envelope. Returns its id.
    fn entry(&mut self, kind: &str, parent: Option<&str>, rest: &str) -> io::Result<String> {
        self.count += 1;
        // Multiplying by an odd number makes all ids of a session different; the seed makes them
        // differ between sessions.
        let salt = (self.seed as u32).wrapping_mul(0x85eb_ca6b);
        let id = format!("{:08x}", self.count.wrapping_mul(0x9e37_79b1) ^ salt);
        let time = time(self.count);
        self.line.clear();
        if self.shape == Shape::V1 {
            self.line += &format!("{{\"type\":\"{kind}\",\"timestamp\":\"{time}\",{rest}}}\n");
            self.field_row(kind, None, None, &time);
        } else {
            let quoted = parent.map_or("null".to_owned(), |parent| format!("\"{parent}\""));
            self.line += &format!(
                "{{\"type\":\"{kind}\",\"id\":\"{id}\",\"parentId\":{quoted},\"timestamp\":\"{time}\","
            );
            self.line += rest;
            self.line += "}\n";
            self.field_row(kind, Some(&id), parent, &time);
        }
        self.emit()?;
        self.leaf = Some(id.clone());
        Ok(id)
    }

    /// Records that the entry is on the path to the leaf.
    fn on_path(&mut self, id: &str, visible: bool, message: Option<&str>) {
        self.facts.path.add(id.as_bytes());
        self.facts.path.add(b"\n");
        self.facts.path_entries += 1;
        if visible {
            self.row(id);
        }
        if let Some(message) = message {
            self.context.add(if self.messages > 0 { b"," } else { b"" });
            self.context.add(message.as_bytes());
            self.messages += 1;
        }
    }

    fn row(&mut self, id: &str) {
        self.facts.tree.add(id.as_bytes());
        self.facts.tree.add(b"\n");
        self.facts.tree_rows += 1;
    }

    fn finish(mut self) -> io::Result<Facts> {
        self.facts.branches = self.left.len() as u64 + 1;
        for turn in std::mem::take(&mut self.left).iter().rev() {
            turn.iter().for_each(|id| self.row(id));
        }
        let model = self.model.map_or("null".to_owned(), |id| {
            format!("{{\"provider\":\"anthropic\",\"modelId\":\"{id}\"}}")
        });
        self.context
            .add(format!("],\"thinkingLevel\":\"off\",\"model\":{model}}}\n").as_bytes());
        self.facts.context = self.context;
        self.facts.leaf = self.leaf.clone().unwrap_or_default();
        self.out.flush()?;
        Ok(self.facts)
    }
}

/// Writes the shapes.
impl Maker<'_> {
    fn turns(&mut self, entries: u32) -> io::Result<()> {
        let mut parent: Option<String> = None;
        let mut is_left = false;
        while self.count < entries {
            let steps = self.random.below(9);
            // The last turn is not abandoned, because it contains the leaf. Nor are two in a row,
            // because they would be drawn in another order.
            let may_be_left =
                self.shape != Shape::V1 && parent.is_some() && self.count + 40 < entries;
            is_left = may_be_left && !is_left && self.random.below(100) == 0;
            let mut rows = Vec::new();
            let mut at = parent.clone();
            for step in 0..2 * steps + 2 {
                let (message, visible) = match step {
                    0 => (self.user(), true),
                    _ if step == 2 * steps + 1 => (self.assistant(true, false), true),
                    _ if step % 2 == 1 => {
                        let with_text = self.random.below(3) == 0;
                        (self.assistant(with_text, true), with_text)
                    }
                    _ => (self.result(), true),
                };
                let id = self.entry("message", at.as_deref(), &format!("\"message\":{message}"))?;
                self.facts.requests += u64::from(step == 0 && !is_left);
                if message.contains(WORD) {
                    self.facts.with_word += 1;
                    self.facts.rows_with_word += u64::from(visible);
                }
                match is_left {
                    true if visible => rows.push(id.clone()),
                    true => {}
                    false => self.on_path(&id, visible, Some(&message)),
                }
                at = Some(id);
            }
            if is_left {
                self.left.push(rows);
            } else {
                parent = at;
            }
        }
        Ok(())
    }

    fn chain(&mut self, entries: u32) -> io::Result<()> {
        let mut parent = None;
        for at in 0..entries {
            let message = format!("{{\"role\":\"user\",\"content\":\"{at}\"}}");
            let id = self.entry(
                "message",
                parent.as_deref(),
                &format!("\"message\":{message}"),
            )?;
            self.on_path(&id, true, Some(&message));
            parent = Some(id);
        }
        Ok(())
    }

    /// The leaf is the last child. In the tree, the others follow it, oldest first.
    fn fan(&mut self, entries: u32) -> io::Result<()> {
        let message = "{\"role\":\"user\",\"content\":\"root\"}";
        let root = self.entry("message", None, &format!("\"message\":{message}"))?;
        self.on_path(&root, true, Some(message));
        let mut others = Vec::new();
        for at in 1..=entries {
            let message = format!("{{\"role\":\"user\",\"content\":\"{at}\"}}");
            let id = self.entry("message", Some(&root), &format!("\"message\":{message}"))?;
            if at == entries {
                self.on_path(&id, true, Some(&message))
            } else {
                others.push(id)
            }
        }
        self.left.push(others);
        Ok(())
    }

    fn comb(&mut self, branch_points: u32) -> io::Result<()> {
        let mut parent: Option<String> = None;
        for at in 0..branch_points {
            if let Some(parent) = &parent {
                let tooth = format!("\"message\":{{\"role\":\"user\",\"content\":\"tooth {at}\"}}");
                let id = self.entry("message", Some(parent), &tooth)?;
                self.left.push(vec![id]);
            }
            let message = format!("{{\"role\":\"user\",\"content\":\"spine {at}\"}}");
            let id = self.entry(
                "message",
                parent.as_deref(),
                &format!("\"message\":{message}"),
            )?;
            self.on_path(&id, true, Some(&message));
            parent = Some(id);
        }
        Ok(())
    }

    /// Writes as many labels as messages, one for each message, all after the messages.
    fn labels(&mut self, labels: u32) -> io::Result<()> {
        let mut ids = Vec::new();
        let mut parent = None;
        for at in 0..labels {
            let message = format!("{{\"role\":\"user\",\"content\":\"{at}\"}}");
            let id = self.entry(
                "message",
                parent.as_deref(),
                &format!("\"message\":{message}"),
            )?;
            self.on_path(&id, true, Some(&message));
            ids.push(id.clone());
            parent = Some(id);
        }
        for (at, target) in ids.iter().enumerate() {
            let rest = format!("\"targetId\":\"{target}\",\"label\":\"name {at}\"");
            let id = self.entry("label", parent.as_deref(), &rest)?;
            self.on_path(&id, false, None);
            parent = Some(id);
            self.facts.labels += 1;
        }
        Ok(())
    }

    fn line(&mut self, megabytes: u32) -> io::Result<()> {
        let mut text = String::with_capacity((megabytes as usize) << 20);
        while text.len() < (megabytes as usize) << 20 {
            let pooled = self.random.below(self.pool.len() as u32) as usize;
            text += &self.pool[pooled];
        }
        let message = format!("{{\"role\":\"user\",\"content\":\"{text}\"}}");
        let id = self.entry("message", None, &format!("\"message\":{message}"))?;
        self.on_path(&id, true, Some(&message));
        Ok(())
    }
}

const MODEL: &str = "claude-sonnet-4-5";

/// Messages as pi writes them.
impl Maker<'_> {
    fn user(&mut self) -> String {
        let text = self.text(600);
        let time = 1_763_681_581_544_u64 + u64::from(self.count);
        format!(
            "{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\"timestamp\":{time}}}"
        )
    }

    fn assistant(&mut self, with_text: bool, with_call: bool) -> String {
        self.model = Some(MODEL);
        let mut blocks = vec![format!(
            "{{\"type\":\"thinking\",\"thinking\":\"{}\",\"thinkingSignature\":\"{}\"}}",
            self.text(700),
            self.signature(1500)
        )];
        if with_text {
            blocks.push(format!(
                "{{\"type\":\"text\",\"text\":\"A{}\"}}",
                self.text(900)
            ));
        }
        if with_call {
            blocks.push(self.call());
        }
        let reason = if with_call { "toolUse" } else { "stop" };
        let tokens = self.random.below(100_000);
        self.facts.answers += 1;
        self.facts.input += u64::from(tokens);
        format!(
            "{{\"role\":\"assistant\",\"content\":[{}],\"api\":\"anthropic-messages\",\"provider\":\"anthropic\",\"model\":\"{MODEL}\",\"usage\":{{\"input\":{tokens},\"output\":{},\"cacheRead\":0,\"cacheWrite\":0,\"cost\":{{\"input\":0.000123,\"output\":0.0045,\"cacheRead\":0,\"cacheWrite\":0,\"total\":0.004623}}}},\"stopReason\":\"{reason}\",\"timestamp\":{}}}",
            blocks.join(","),
            tokens / 9,
            1_763_681_581_544_u64 + u64::from(self.count)
        )
    }

    fn call(&mut self) -> String {
        let number = self.random.below(1000);
        let (name, arguments) = match self.random.below(4) {
            0 => (
                "read",
                format!(
                    "{{\"path\":\"/home/dev/project/src/part{number}.ts\",\"offset\":{number}}}"
                ),
            ),
            1 => (
                "bash",
                format!(
                    "{{\"command\":\"grep -rn part{number} src | head -{number}\",\"timeout\":30}}"
                ),
            ),
            2 => ("edit", {
                let (old, new) = (self.text(300), self.text(300));
                format!(
                    "{{\"path\":\"/home/dev/project/src/part{number}.ts\",\"oldText\":\"{old}\",\"newText\":\"{new}\"}}"
                )
            }),
            _ => (
                "grep",
                format!("{{\"pattern\":\"part{number}\",\"path\":\"/home/dev/project\"}}"),
            ),
        };
        format!(
            "{{\"type\":\"toolCall\",\"id\":\"toolu_{:08x}\",\"name\":\"{name}\",\"arguments\":{arguments}}}",
            self.count + 1
        )
    }

    fn result(&mut self) -> String {
        // Most results are short; the longest has 12 KB.
        let mean = self.random.below(6001);
        let text = self.text(mean);
        // With its quotes.
        self.facts.long_results += u64::from(text.len() + 2 > LONG);
        format!(
            "{{\"role\":\"toolResult\",\"toolCallId\":\"toolu_{:08x}\",\"toolName\":\"bash\",\"content\":[{{\"type\":\"text\",\"text\":\"{text}\"}}],\"isError\":false,\"timestamp\":{}}}",
            self.count,
            1_763_681_581_544_u64 + u64::from(self.count)
        )
    }

    /// Returns lines of up to twice `mean` bytes in total, escaped as in JSON.
    fn text(&mut self, mean: u32) -> String {
        let wanted = self.random.below(2 * mean * self.percent() / 100 + 1) as usize;
        let mut text = String::with_capacity(wanted + 128);
        while text.len() < wanted {
            let pooled = self.random.below(self.pool.len() as u32) as usize;
            text += &self.pool[pooled];
        }
        text
    }

    /// Returns Base64.
    fn signature(&mut self, mean: u32) -> String {
        let length = self.random.below(2 * mean * self.percent() / 100 + 1);
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        (0..length.div_ceil(10))
            .flat_map(|_| {
                let bits = self.random.next();
                (0..10).map(move |at| char::from(DIGITS[(bits >> (6 * at)) as usize & 63]))
            })
            .collect()
    }

    fn percent(&self) -> u32 {
        if let Shape::Turns { percent } = self.shape {
            percent
        } else {
            100
        }
    }
}

/// Returns a line of prose or code. One in 16 contains characters outside ASCII, one in four quotes
/// or tabs.
fn pooled(random: &mut Random, is_about_tokens: bool) -> String {
    const WORDS: [&str; 24] = [
        "the", "session", "tree", "branch", "entry", "return", "const", "await", "of", "file",
        "line", "parse", "value", "summary", "model", "if", "context", "read", "write", "error",
        "a", "to", "from", "index",
    ];
    const TOKENS: [&str; 6] = [
        "token",
        "key",
        "string",
        "secret",
        "token: string;",
        "key: string;",
    ];
    const FOREIGN: [&str; 6] = ["naïve", "größer", "日本語", "—", "✓", "😀"];
    let mut line = String::new();
    match random.below(16) {
        0 => line += FOREIGN[random.below(6) as usize],
        1..=2 => line += "\\t\\t",
        3..=4 => line += "  \\\"key\\\": ",
        _ => line += "  ",
    }
    for _ in 0..2 + random.below(14) {
        line += WORDS[random.below(24) as usize];
        line.push(' ');
    }
    if is_about_tokens {
        line += TOKENS[random.below(6) as usize];
        line.push(' ');
    }
    line.pop();
    line + "\\n"
}

/// Returns a time in March 2026 that grows with `count`.
fn time(count: u32) -> String {
    let (second, minute, hour, day) = (
        count % 60,
        count / 60 % 60,
        count / 3600 % 24,
        count / 86_400,
    );
    format!(
        "2026-03-{:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z",
        1 + day % 28,
        count % 1000
    )
}

/// xorshift64*, which gives the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// Returns a number less than `bound`, nearly uniformly distributed.
    fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }
}
