//! One path as a trajectory: the Agent Trajectory Interchange Format (ATIF), version 1.7, of the
//! Harbor project, which tools for evaluation and training read.
//!
//! A step is a message of the user, a reply with its tool calls and their results, or what an
//! extension or the agent added. Each step is on a line of its own, and is written as soon as it is
//! made, so that memory does not grow with the path.
//!
//! Steps that the agent saw again have `is_copied_context`: what a fork copied from its parent,
//! what `pick` copied, and what a compaction kept. Their usage is not in `final_metrics`. These are
//! the sums that `stats` prints, and include requests that were pruned from the session.

mod step;

use crate::source::{Contents, decode_string};
use foldhash::HashSet;
use pisess_core::agents::oh_my_pi::native;
use pisess_core::session::Session;
use pisess_core::session::content::find_members;
use pisess_core::session::entry::{Entry, EntryIx, Kind, Role};
use pisess_core::session::read::batches::{BatchSize, split_batches};
use pisess_core::session::read::entry_reader::EntryReader;
use pisess_core::session::usage::{Usage, UsageSums, model_name};
use pisess_json::Raw;
use pisess_json::time::parse_js_date;
use pisess_json::write::{Object, write_valid};
use pisess_store::workers::{Pool, in_order};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;
use step::{StepMaker, TrajectoryStep};

/// The session of a sub-agent, whose trajectory is embedded.
pub struct SubAgent<'a> {
    /// The id of its trajectory, unique among the sub-agents.
    pub id: String,
    /// The path of its session file. Tool results name the sub-agent by the end of this path.
    pub path: String,
    /// The path to its leaf.
    pub contents: Contents<'a>,
}

/// The maximum number of kept entries of all compactions of a path, as a multiple of the path's
/// length. Files of the agents stay far below. Without a limit, the trajectory of a malicious file
/// could be as large as the square of the file.
const MOST_COPIES: usize = 8;

/// For the limit of [`MOST_COPIES`], a shorter path counts as having this many entries: its copies
/// are few in any case.
const SHORTEST_LIMITED_PATH: usize = 1000;

/// Whether the exported path has an entry that becomes a step in any case. A trajectory without
/// steps is invalid, so the caller checks this first.
pub fn has_steps(contents: &Contents) -> bool {
    for ix in contents.exported_path() {
        let entry = contents.session.entry(ix);
        let has_step = match entry.kind {
            Kind::CustomMessage | Kind::Compaction | Kind::BranchSummary => true,
            // Without a role, the message may not be an object, which has no step.
            Kind::Message => entry.role != Role::Missing,
            _ => false,
        };
        if has_step {
            return true;
        }
    }
    false
}

/// Writes the exported path of a session as a trajectory, the JSON object of the format ATIF.
/// `path` is the path of the session file. `workers` threads make the steps.
///
/// The trajectory of a sub-agent is embedded if a tool result names the sub-agent. The result may
/// be on the path, or in the trajectory of another embedded sub-agent.
///
/// It is an error if the compactions keep the same entries over and over (see `MOST_COPIES`).
pub fn write_trajectory(
    contents: &Contents,
    path: &str,
    sub_agents: &[SubAgent],
    workers: usize,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut file = TrajectoryFile::new(sub_agents, out);
    Trajectory::new(contents, path, &mut file).write_open_object(None, workers)?;

    let mut separator = ",\n\"subagent_trajectories\":[\n";
    while let Some(sub_agent) = file.take_next_sub_agent() {
        file.out.write_all(separator.as_bytes())?;
        separator = ",\n";

        let mut trajectory = Trajectory::new(&sub_agent.contents, &sub_agent.path, &mut file);
        trajectory.write_open_object(Some(&sub_agent.id), workers)?;
        file.out.write_all(b"}")?;
    }
    if !file.written_sub_agents.is_empty() {
        file.out.write_all(b"]")?;
    }
    // Closes the object of the main trajectory, which contains the trajectories of the sub-agents.
    file.out.write_all(b"}\n")
}

/// The file of a trajectory and of the trajectories of sub-agents that are embedded in it.
struct TrajectoryFile<'a, 'o> {
    sub_agents: &'a [SubAgent<'a>],
    /// The indexes in `sub_agents` of the sub-agents that the results written so far name.
    named_sub_agents: BTreeSet<usize>,
    /// The indexes of the sub-agents whose trajectories were written, or are being written.
    written_sub_agents: BTreeSet<usize>,
    out: &'o mut dyn Write,
}

impl<'a, 'o> TrajectoryFile<'a, 'o> {
    fn new(sub_agents: &'a [SubAgent<'a>], out: &'o mut dyn Write) -> Self {
        TrajectoryFile {
            sub_agents,
            named_sub_agents: BTreeSet::new(),
            written_sub_agents: BTreeSet::new(),
            out,
        }
    }

    /// Returns a sub-agent that a result names and whose trajectory was not written yet; `None` if
    /// there is none. Writing its trajectory may name further ones.
    fn take_next_sub_agent(&mut self) -> Option<&'a SubAgent<'a>> {
        let mut unwritten = self.named_sub_agents.difference(&self.written_sub_agents);
        let next = *unwritten.next()?;
        self.written_sub_agents.insert(next);
        Some(&self.sub_agents[next])
    }
}

/// Whether the agent sees a step again, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CopyState {
    /// The step is there for the first time.
    Original,
    /// A fork copied the step from its parent.
    Forked,
    /// A compaction kept the step, which is on the same path before the compaction.
    Kept,
}

/// A trajectory being written.
struct Trajectory<'a, 'o, 'f> {
    contents: &'a Contents<'a>,
    /// The path of the session's file.
    path_name: &'a str,
    file: &'f mut TrajectoryFile<'a, 'o>,
    /// Entries before this time were copied by a fork; see [`fork_time_ms`].
    fork_time_ms: i64,
    /// The number of steps that were written.
    step_count: usize,
    /// The number of those that have `is_copied_context`.
    copy_count: usize,
    /// The results whose usage no step has counted yet: their reply is a copy that a fork made.
    /// Each gets a step of its own.
    own_step_results: HashSet<EntryIx>,
    /// The usage of the steps that were written.
    sums: UsageSums,
}

impl<'a, 'o, 'f> Trajectory<'a, 'o, 'f> {
    fn new(
        contents: &'a Contents<'a>,
        path_name: &'a str,
        file: &'f mut TrajectoryFile<'a, 'o>,
    ) -> Self {
        Trajectory {
            contents,
            path_name,
            file,
            fork_time_ms: fork_time_ms(contents.session),
            step_count: 0,
            copy_count: 0,
            own_step_results: HashSet::default(),
            sums: UsageSums::default(),
        }
    }

    /// Writes the JSON object of the trajectory without its closing brace, which the caller writes:
    /// before the brace of the main trajectory, it writes the trajectories of the sub-agents as a
    /// further member.
    ///
    /// `sub_agent_id` is `None` for the main trajectory, which needs no id.
    fn write_open_object(&mut self, sub_agent_id: Option<&str>, workers: usize) -> io::Result<()> {
        // The steps are made of the exported entries. The head has the agent's model and tools,
        // which an entry before the first exported one may have set. So the head is made of the
        // path from the root.
        let exported_path = self.contents.exported_path();
        let path_from_root = self.contents.session.path(self.contents.leaf);
        let planned = plan_entries(&exported_path, self.contents, self.fork_time_ms)?;
        self.write_head(sub_agent_id, &path_from_root)?;
        self.write_steps(&planned, workers)?;
        self.write_final_metrics()
    }

    /// Ends the list of steps, and writes the sums of the usage, with notes on what the sums
    /// contain. If requests were pruned from the session, the sums cover all requests of the
    /// session, and not only those of the steps.
    fn write_final_metrics(&mut self) -> io::Result<()> {
        let mut notes = Vec::new();
        if self.copy_count > 0 {
            notes.push("without the steps that have is_copied_context");
        }
        let sums = match &self.contents.requests {
            Some(requests) => {
                notes.push("with the requests that were pruned from the session");
                self.sum_requests(requests)
            }
            None => self.sums,
        };

        let own_step_count = self.step_count - self.copy_count;
        let metrics = step::final_metrics(&sums, own_step_count);
        self.file.out.write_all(b"\n],\n\"final_metrics\":")?;
        self.file.out.write_all(&metrics)?;
        if !notes.is_empty() {
            write!(
                self.file.out,
                ",\n\"notes\":\"final_metrics are {}.\"",
                notes.join(", and ")
            )?;
        }
        Ok(())
    }

    /// Sums the usage of requests, each with its time. Requests before the fork count in the
    /// session that was forked.
    fn sum_requests(&self, requests: &[(i64, Usage)]) -> UsageSums {
        let mut sums = UsageSums::default();
        for (time_ms, usage) in requests {
            if *time_ms >= self.fork_time_ms {
                sums.add(usage);
            }
        }
        sums
    }

    /// Writes the steps of the planned entries, in order. `workers` threads make them in batches,
    /// each with a [`StepMaker`] of its own.
    fn write_steps(&mut self, planned: &[PlannedEntry], workers: usize) -> io::Result<()> {
        let contents = self.contents;
        let batches = split_batches(planned, BatchSize::default(), |entry| {
            contents.session.entry(entry.ix).span.len
        });
        // Copied, because `write_batch` below borrows `self`.
        let path_name = self.path_name;
        let sub_agents = self.file.sub_agents;
        let makers = Pool::new(|| StepMaker::new(contents, path_name, sub_agents));
        let make_batch =
            |batch: Range<usize>| makers.with(|maker| maker.make_steps(&planned[batch]));
        let write_batch = |steps: io::Result<Vec<TrajectoryStep>>| -> io::Result<()> {
            for step in steps? {
                self.write_step(step)?;
            }
            Ok(())
        };
        in_order(batches, workers, make_batch, write_batch)
    }

    /// Writes a step under the next number. Adds its usage to the sums, and the sub-agents that it
    /// names to `named_sub_agents`.
    ///
    /// Skips the step of a tool result if the step of the call, which comes first, contains the
    /// result and counted its usage. A step that contains a result without counting its usage has
    /// the result in its `own_step_results`.
    fn write_step(&mut self, step: TrajectoryStep) -> io::Result<()> {
        if let Some(result) = step.repeated_result {
            let needs_own_step = self.own_step_results.remove(&result);
            if !needs_own_step {
                return Ok(());
            }
        }
        self.own_step_results.extend(step.own_step_results);
        self.file.named_sub_agents.extend(step.named_sub_agents);
        if step.is_copy {
            self.copy_count += 1;
        }
        for usage in &step.usages {
            self.sums.add(usage);
        }

        let separator = if self.step_count == 0 { "" } else { ",\n" };
        self.step_count += 1;
        // The number is known only here, so the finished object, `{"source":…}`, is written as
        // `{"step_id":1,"source":…}`. It has a `source` at least, so a comma is always right.
        write!(
            self.file.out,
            "{separator}{{\"step_id\":{},",
            self.step_count
        )?;
        let members_and_brace = &step.json[b"{".len()..];
        write_valid(
            self.file.out,
            members_and_brace,
            self.contents.session.is_utf8(),
        )
    }

    /// Opens the object of the trajectory, writes the members before the steps, and opens the list
    /// of the steps, which [`write_final_metrics`](Self::write_final_metrics) closes. The list is
    /// written by hand because a whole trajectory is never in memory.
    fn write_head(&mut self, sub_agent_id: Option<&str>, path: &[EntryIx]) -> io::Result<()> {
        let mut head = Object::new().str("schema_version", "ATIF-v1.7").str(
            "session_id",
            &self.contents.session.header.id.to_string_lossy(),
        );
        if let Some(id) = sub_agent_id {
            head = head.str("trajectory_id", id);
        }
        let head_json = head.json("agent", &self.agent_json(path)?).finish();

        // Without its closing brace: the steps follow in the same object.
        let open_object = head_json.strip_suffix(b"}").unwrap_or(&head_json);
        self.file.out.write_all(open_object)?;
        self.file.out.write_all(b",\n\"steps\":[\n")
    }

    /// Returns the agent with its model and tools at the end of a path, as JSON.
    fn agent_json(&self, path: &[EntryIx]) -> io::Result<Vec<u8>> {
        let session = self.contents.session;
        let reader = EntryReader::new(session, self.contents.file);
        // The format requires a version, but sessions do not record it.
        let mut agent = Object::new()
            .str("name", session.agent().constants().name)
            .str("version", "unknown");
        if let Some(model) = last_model(path, &reader)? {
            agent = agent.str("model_name", &model);
        }
        let system_message = session.agent().system_checkpoint(path, &reader)?;
        if let Some(tools) = step::tool_definitions(system_message) {
            agent = agent.json("tool_definitions", &tools);
        }
        Ok(agent.finish())
    }
}

/// An entry of a trajectory, and the context that its step depends on.
#[derive(Debug)]
struct PlannedEntry {
    ix: EntryIx,
    copy_state: CopyState,
    /// The thinking level in effect; `None` if none was set.
    thinking_level: Option<Arc<str>>,
}

/// Plans the trajectory of a path: its entries in order, and after each compaction, copies of the
/// entries that it kept, because the agent sends those to the model again.
///
/// It is an error if all compactions together keep more than [`MOST_COPIES`] times as many entries
/// as the path has.
fn plan_entries(
    path: &[EntryIx],
    contents: &Contents,
    fork_time_ms: i64,
) -> io::Result<Vec<PlannedEntry>> {
    let session = contents.session;
    let reader = EntryReader::new(session, contents.file);
    let indexed_path = IndexedPath::new(path, session);
    let most_kept = MOST_COPIES * path.len().max(SHORTEST_LIMITED_PATH);

    let mut planned = Vec::with_capacity(path.len());
    let mut thinking_level = None;
    let mut kept_count = 0;
    for (position, &ix) in path.iter().enumerate() {
        let is_before_fork = session.entry(ix).time_ms < fork_time_ms;
        let copy_state = if is_before_fork {
            CopyState::Forked
        } else {
            CopyState::Original
        };
        thinking_level = thinking_level_after(ix, thinking_level, &reader)?;
        planned.push(PlannedEntry {
            ix,
            copy_state,
            thinking_level: thinking_level.clone(),
        });

        // If the entry is a compaction, what it kept follows it.
        let kept = indexed_path.kept_entries(position, &reader)?;
        kept_count += kept.len();
        if kept_count > most_kept {
            return Err(too_many_copies());
        }
        planned.extend(plan_copies(kept, &reader)?);
    }
    Ok(planned)
}

/// Returns the error for a path whose compactions exceed [`MOST_COPIES`].
fn too_many_copies() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the compactions of this path keep the same entries too often for a trajectory",
    )
}

/// Plans copies of the entries that a compaction kept. Their thinking level is not set until one of
/// these entries sets it.
fn plan_copies(kept: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<PlannedEntry>> {
    let mut planned = Vec::with_capacity(kept.len());
    let mut thinking_level = None;
    for &ix in kept {
        thinking_level = thinking_level_after(ix, thinking_level, reader)?;
        planned.push(PlannedEntry {
            ix,
            copy_state: CopyState::Kept,
            thinking_level: thinking_level.clone(),
        });
    }
    Ok(planned)
}

/// Returns the thinking level in effect after an entry: the one that the entry sets, or else
/// `level_before`.
fn thinking_level_after(
    ix: EntryIx,
    level_before: Option<Arc<str>>,
    reader: &EntryReader,
) -> io::Result<Option<Arc<str>>> {
    if reader.session().entry(ix).kind != Kind::ThinkingLevelChange {
        return Ok(level_before);
    }
    reader.with_entry(ix, |entry| {
        let level = entry.get_text("thinkingLevel")?;
        Some(Arc::from(&*level.to_string_lossy()))
    })
}

/// A path, with the positions of its entries.
struct IndexedPath<'p> {
    path: &'p [EntryIx],
    /// For each entry of the session, its position on the path if it is on the path.
    positions: Vec<Option<usize>>,
}

impl<'p> IndexedPath<'p> {
    fn new(path: &'p [EntryIx], session: &Session) -> Self {
        let mut positions = vec![None; session.entries.len()];
        for (position, ix) in path.iter().enumerate() {
            positions[ix.index()] = Some(position);
        }
        IndexedPath { path, positions }
    }

    /// Returns the entries of the path that are kept by the compaction at `position`: those from
    /// the first one that it names up to the compaction. Returns none if the entry at `position` is
    /// not a compaction, or keeps nothing.
    fn kept_entries(&self, position: usize, reader: &EntryReader) -> io::Result<&'p [EntryIx]> {
        let session = reader.session();
        let ix = self.path[position];
        if session.entry(ix).kind != Kind::Compaction {
            return Ok(&[]);
        }
        let first_kept = reader.with_entry(ix, |entry| {
            let first_kept_id = entry.get_text("firstKeptEntryId");
            let named = first_kept_id.and_then(|id| session.find_entry(&id));
            // A native snapshot names the last entry that it covers instead.
            named.or_else(|| native::first_kept_entry(session, ix, entry))
        })?;

        let Some(first_kept) = first_kept else {
            return Ok(&[]);
        };
        // `None` if the entry is on another branch.
        let Some(first_position) = self.positions[first_kept.index()] else {
            return Ok(&[]);
        };
        // A compaction that keeps nothing names itself, so the range is empty. One that names a
        // later entry has no range.
        Ok(self.path.get(first_position..position).unwrap_or_default())
    }
}

/// Returns the model of the last reply on the path, as `provider/model`. `None` if there is no
/// reply, or it names no model.
fn last_model(path: &[EntryIx], reader: &EntryReader) -> io::Result<Option<String>> {
    for &ix in path.iter().rev() {
        if reader.session().is_message(ix, Role::Assistant) {
            return reader.with_message(ix, read_model_name);
        }
    }
    Ok(None)
}

/// Returns when the session was forked from another one, in milliseconds since 1970. Entries before
/// that time were copied. If the session is not a fork, or the time of the fork is not known,
/// returns [`Entry::NO_TIME`], which is before every time.
fn fork_time_ms(session: &Session) -> i64 {
    let header = Raw::from_checked(&session.header.bytes);
    let is_fork = header.get("parentSession").is_some_and(Raw::is_string);
    if !is_fork {
        return Entry::NO_TIME;
    }
    let Some(time) = &session.header.timestamp else {
        return Entry::NO_TIME;
    };
    parse_js_date(time.as_bytes()).unwrap_or(Entry::NO_TIME)
}

/// Returns the model of a reply or of a usage entry, as `provider/model`. `None` if none is
/// recorded.
fn read_model_name(object: Raw) -> Option<String> {
    let [provider, model] = find_members(object, ["provider", "model"]);
    let provider = provider.and_then(decode_string);
    let model = model.and_then(decode_string);
    model_name(provider.as_deref(), model.as_deref())
}
