//! The size of the system prompt in force, one system message after the other, with every step undone
//! on the way back: what [`crate::core::pi::system`] would make of them, counted and not built.

use crate::core::json::{Raw, js};
use crate::core::pi::value::{content_text, length, members, template};
use std::collections::HashMap;

/// What a system message adds and takes away, in UTF-16 units.
#[derive(Debug, Default)]
pub struct Said {
    text: u64,
    /// `None` takes the section away.
    sections: Vec<(Vec<u8>, Option<u64>)>,
    removed: Vec<Vec<u8>>,
    added: Vec<(Vec<u8>, u64)>,
    /// Whether its time is one, where it is there.
    time: Option<bool>,
}

impl Said {
    /// By a message.
    pub fn of(message: Raw) -> Said {
        let names = ["content", "sections", "toolsAdded", "toolsRemoved", "timestamp"];
        let [content, sections, added, removed, time] = members(message, names);
        let name = |tool: Raw| template(tool.get("name")).into_bytes();
        let units = |tool: Raw| js::stringify(tool).utf16_len() as u64;
        let sections = sections.map(js::entries).unwrap_or_default().into_iter();
        Said {
            text: content_text(content, "\n").utf16_len() as u64,
            sections: sections
                .map(|(name, text)| (name.into_bytes(), (!text.is_null()).then(|| length(Some(text)))))
                .collect(),
            removed: removed.into_iter().flat_map(Raw::items).map(name).collect(),
            added: added.into_iter().flat_map(Raw::items).map(|tool| (name(tool), units(tool))).collect(),
            time: time.map(|time| !time.is_null()),
        }
    }
}

/// A prompt, by its sizes.
#[derive(Debug, Default)]
pub struct Prompt {
    counts: Counts,
    parts: HashMap<(Part, Vec<u8>), u64>,
}

/// Its sums.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    text: u64,
    sections: u64,
    tools: u64,
    tool_count: u64,
    time: Option<bool>,
}

/// What has a name in a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// A section of its text.
    Section,
    /// A tool.
    Tool,
}

/// How a prompt was before a step.
#[derive(Debug)]
pub enum Undo {
    /// Nothing was done.
    Nothing,
    /// A message was replayed.
    Step(Box<(Counts, Vec<Changed>)>),
    /// It began anew.
    Whole(Box<Prompt>),
}

/// A part, and its size before.
pub type Changed = ((Part, Vec<u8>), Option<u64>);

impl Prompt {
    /// Begins anew, as behind a compaction.
    pub fn begin(&mut self, checkpoint: Option<&Said>) -> Undo {
        let before = std::mem::take(self);
        if let Some(said) = checkpoint {
            self.replay(said);
        }
        Undo::Whole(Box::new(before))
    }

    /// Takes up a message.
    pub fn replay(&mut self, said: &Said) -> Undo {
        let (counts, mut changed) = (self.counts, Vec::new());
        if self.counts.time != Some(true) {
            self.counts.time = said.time;
        }
        if said.text > 0 {
            // An empty line stands between two texts.
            self.counts.text += said.text + if self.counts.text > 0 { 2 } else { 0 };
        }
        for (name, units) in &said.sections {
            self.set(Part::Section, name, *units, &mut changed);
        }
        for name in &said.removed {
            self.set(Part::Tool, name, None, &mut changed);
        }
        for (name, units) in &said.added {
            self.set(Part::Tool, name, Some(*units), &mut changed);
        }
        Undo::Step(Box::new((counts, changed)))
    }

    fn set(&mut self, part: Part, name: &[u8], units: Option<u64>, changed: &mut Vec<Changed>) {
        let key = (part, name.to_vec());
        let before = match units {
            Some(units) => self.parts.insert(key.clone(), units),
            None => self.parts.remove(&key),
        };
        let sum = match part {
            Part::Section => &mut self.counts.sections,
            Part::Tool => &mut self.counts.tools,
        };
        *sum = *sum + units.unwrap_or(0) - before.unwrap_or(0);
        if part == Part::Tool {
            self.counts.tool_count =
                self.counts.tool_count + u64::from(units.is_some()) - u64::from(before.is_some());
        }
        changed.push((key, before));
    }

    /// As it was.
    pub fn undo(&mut self, undo: Undo) {
        match undo {
            Undo::Nothing => {}
            Undo::Whole(before) => *self = *before,
            Undo::Step(step) => {
                let (counts, changed) = *step;
                for (key, before) in changed.into_iter().rev() {
                    match before {
                        Some(units) => self.parts.insert(key, units),
                        None => self.parts.remove(&key),
                    };
                }
                self.counts = counts;
            }
        }
    }

    /// Its estimate, in tokens; none where pi has no such message.
    pub fn tokens(&self) -> u64 {
        let Counts { text, sections, tools, tool_count, time } = self.counts;
        if time.is_none() && tool_count == 0 {
            return 0;
        }
        // Tools are counted as JSON, with brackets and commas.
        let tools = if tool_count > 0 { tools + 1 + tool_count } else { 0 };
        (text + sections + tools).div_ceil(4)
    }
}
