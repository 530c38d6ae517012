//! One path as a trajectory: the Agent Trajectory Interchange Format (ATIF), version 1.7, of the
//! Harbor project, which tools for evaluation and training read.
//!
//! A step is a message of the user, a reply with its tool calls and their results, or what an
//! extension or the agent added. Steps with `is_copied_context` are those that the agent saw again:
//! what a fork copied from its parent, what `pick` copied, and, after each compaction, the steps
//! that it kept. They are not in `final_metrics`, which are the sums of `stats`, with what was
//! pruned. Each step is on a line of its own, so that memory does not grow with the path.

mod step;

use crate::agents::oh_my_pi::native;
use crate::export::source::Contents;
use crate::session::Session;
use crate::session::content::members;
use crate::session::entry::{Entry, EntryIx, Kind, Role};
use crate::session::read::entry_reader::EntryReader;
use crate::session::usage::{UsageSums, model_name};
use foldhash::HashSet;
use pisess_json::Raw;
use pisess_json::time::parse_js_date;
use pisess_json::write::{Object, write_valid};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The session of a sub-agent, whose trajectory is embedded.
pub struct SubAgent<'a> {
    /// The id of its trajectory, unique among the sub-agents.
    pub id: String,
    /// Its path, by whose end tool results name it.
    pub path: String,
    /// The path to its leaf.
    pub contents: Contents<'a>,
}

/// The compactions of a path may keep this many times as many entries as it has. Files of the
/// agents stay far below; without a limit, a file could ask for the square of its size.
const MOST_COPIES: usize = 8;

/// Whether the path to the leaf has a step; a trajectory without steps is invalid.
pub fn has_steps(contents: &Contents) -> bool {
    let session = contents.session;
    session.upwards(contents.leaf).any(|ix| {
        let entry = session.entry(ix);
        matches!(
            entry.kind,
            Kind::CustomMessage | Kind::Compaction | Kind::BranchSummary
        ) || entry.kind == Kind::Message && entry.role != Role::Missing
    })
}

/// Writes the trajectory of the path to the leaf, with those of the sub-agents that its results
/// name, and of theirs. It is an error if the compactions keep the same entries over and over.
pub fn trajectory(
    contents: &Contents,
    path: &str,
    agents: &[SubAgent],
    out: &mut dyn Write,
) -> io::Result<()> {
    let (mut named, mut written) = (BTreeSet::new(), BTreeSet::new());
    Trajectory::new(contents, path, agents, &mut named, out).write(None)?;
    let mut separator = ",\n\"subagent_trajectories\":[\n";
    while let Some(at) = named.difference(&written).next().copied() {
        let agent = &agents[at];
        written.insert(at);
        out.write_all(separator.as_bytes())?;
        Trajectory::new(&agent.contents, &agent.path, agents, &mut named, out)
            .write(Some(&agent.id))?;
        out.write_all(b"}")?;
        separator = ",\n";
    }
    out.write_all(if separator == ",\n" { b"]}\n" } else { b"}\n" })
}

/// Whether a step is there for the first time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copied {
    /// It is.
    No,
    /// A fork copied it.
    Forked,
    /// It is on this path before, and a compaction kept it.
    Kept,
}

/// A trajectory being written.
struct Trajectory<'a, 'o> {
    contents: &'a Contents<'a>,
    reader: EntryReader<'a>,
    /// Reads the results of calls, which are further down than the reply.
    results: EntryReader<'a>,
    agents: &'a [SubAgent<'a>],
    /// The numbers of the sub-agents that results of what was written name.
    named: &'o mut BTreeSet<usize>,
    /// The path of the session's file.
    path_name: &'a str,
    out: &'o mut dyn Write,
    /// Entries before this time were copied by a fork.
    forked_ms: i64,
    /// The thinking level in effect.
    effort: Option<String>,
    steps: usize,
    copies: usize,
    /// Results with a usage of their own, whose reply is a copy.
    unpaid: HashSet<EntryIx>,
    /// The number of entries that compactions kept.
    kept: usize,
    sums: UsageSums,
}

impl<'a, 'o> Trajectory<'a, 'o> {
    fn new(
        contents: &'a Contents<'a>,
        path_name: &'a str,
        agents: &'a [SubAgent<'a>],
        named: &'o mut BTreeSet<usize>,
        out: &'o mut dyn Write,
    ) -> Self {
        let session = contents.session;
        Trajectory {
            contents,
            reader: EntryReader::new(session, contents.file),
            results: EntryReader::new(session, contents.file),
            agents,
            named,
            path_name,
            out,
            forked_ms: forked_ms(session),
            effort: None,
            steps: 0,
            copies: 0,
            unpaid: HashSet::default(),
            kept: 0,
            sums: UsageSums::default(),
        }
    }

    /// Writes all but the closing brace. `id` is that of a sub-agent.
    fn write(&mut self, id: Option<&str>) -> io::Result<()> {
        let session = self.contents.session;
        let path = session.path(self.contents.leaf);
        let mut places = vec![usize::MAX; session.entries.len()];
        path.iter()
            .enumerate()
            .for_each(|(at, ix)| places[ix.at()] = at);
        self.begin(id, &path)?;
        for (at, &ix) in path.iter().enumerate() {
            let entry = session.entry(ix);
            self.entry(
                ix,
                if entry.time_ms < self.forked_ms {
                    Copied::Forked
                } else {
                    Copied::No
                },
            )?;
            if entry.kind == Kind::Compaction {
                self.write_kept(ix, at, &places, &path)?;
            }
        }
        let whole = self.contents.requests.as_ref();
        if let Some(requests) = whole {
            let own = requests.iter().filter(|(time, _)| *time >= self.forked_ms);
            self.sums = own.map(|(_, usage)| usage).collect();
        }
        let metrics = step::final_metrics(&self.sums, self.steps - self.copies);
        self.out.write_all(b"\n],\n\"final_metrics\":")?;
        self.out.write_all(&metrics)?;
        let copies = (self.copies > 0).then_some("without the steps that have is_copied_context");
        let pruned = whole.map(|_| "with the requests that were pruned from the session");
        let notes: Vec<_> = copies.into_iter().chain(pruned).collect();
        if !notes.is_empty() {
            write!(
                self.out,
                ",\n\"notes\":\"final_metrics are {}.\"",
                notes.join(", and ")
            )?;
        }
        Ok(())
    }

    /// Writes again what a compaction keeps.
    fn write_kept(
        &mut self,
        compaction: EntryIx,
        at: usize,
        places: &[usize],
        path: &[EntryIx],
    ) -> io::Result<()> {
        let session = self.contents.session;
        let line = self.reader.line(compaction)?;
        let line = Raw::checked(line.trim_ascii());
        let named = line
            .get_text("firstKeptEntryId")
            .and_then(|id| session.find(&id));
        let kept = named.or_else(|| native::first_kept(session, compaction, line));
        let Some(from) = kept.map(|kept| places[kept.at()]).filter(|&from| from < at) else {
            return Ok(());
        };
        self.kept += at - from;
        if self.kept > MOST_COPIES * path.len().max(1000) {
            let what =
                "the compactions of this path keep the same entries too often for a trajectory";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        let effort = self.effort.take();
        for &ix in &path[from..at] {
            self.entry(ix, Copied::Kept)?;
        }
        self.effort = effort;
        Ok(())
    }

    /// Writes the step of an entry, if it has one.
    fn entry(&mut self, ix: EntryIx, copied: Copied) -> io::Result<()> {
        let line = self.reader.line(ix)?;
        let line = Raw::checked(line.trim_ascii());
        if self.contents.session.entry(ix).kind == Kind::ThinkingLevelChange {
            self.effort = line
                .get_text("thinkingLevel")
                .map(|level| level.to_string_lossy().into_owned());
        }
        let Some(step) = self.step(ix, line, copied)? else {
            return Ok(());
        };
        self.out
            .write_all(if self.steps == 0 { b"" } else { b",\n" })?;
        self.steps += 1;
        write_valid(self.out, &step, self.contents.session.is_utf8())
    }

    /// Writes what is before the steps.
    fn begin(&mut self, id: Option<&str>, path: &[EntryIx]) -> io::Result<()> {
        let session = self.contents.session;
        let session_id = session.header.id.to_string_lossy();
        let tools = step::definitions((session.agent().checkpoint)(path, &self.reader)?);
        let agent = Object::new()
            .str("name", session.agent().name)
            .str("version", "unknown")
            .with(self.last_model(path)?, |agent, model| {
                agent.str("model_name", &model)
            })
            .with(tools, |agent, tools| agent.json("tool_definitions", &tools));
        let mut head = Object::new()
            .str("schema_version", "ATIF-v1.7")
            .str("session_id", &session_id)
            .with(id, |head, id| head.str("trajectory_id", id))
            .json("agent", &agent.finish())
            .finish();
        head.pop();
        self.out.write_all(&head)?;
        self.out.write_all(b",\n\"steps\":[\n")
    }

    /// Returns the model of the last reply.
    fn last_model(&self, path: &[EntryIx]) -> io::Result<Option<String>> {
        let session = self.contents.session;
        let is_reply = |ix: &&EntryIx| session.is_message(**ix, Role::Assistant);
        let Some(&last) = path.iter().rfind(is_reply) else {
            return Ok(None);
        };
        self.results.with_message(last, model_of)
    }
}

/// Returns the time in milliseconds before which entries were copied by a fork: that of the header
/// of a fork.
fn forked_ms(session: &Session) -> i64 {
    let header = Raw::checked(&session.header.bytes);
    let is_fork = header.get("parentSession").is_some_and(Raw::is_string);
    let time = session.header.timestamp.as_ref().filter(|_| is_fork);
    time.and_then(|time| parse_js_date(time.as_bytes()))
        .unwrap_or(Entry::NO_TIME)
}

/// Returns the model of a reply or of a usage entry.
fn model_of(object: Raw) -> Option<String> {
    let [provider, model] = members(object, ["provider", "model"]).map(|name| {
        name.and_then(Raw::text)
            .map(|name| name.to_string_lossy().into_owned())
    });
    model_name(provider.as_deref(), model.as_deref())
}
