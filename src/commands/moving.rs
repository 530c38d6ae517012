//! A move to another place, with a summary of what it leaves or without: what such commands share.
//!
//! A command says from where to where ([`Move`]); here the options of the summary are answered, the
//! hook is asked, and the branch summary is made and written, or the mark of a move without one.

use super::failure::{Exit, Failure};
use super::hook::{After, Hook, Place, entries};
use super::input::Input;
use super::label::checked;
use super::mint::Mint;
use super::summary::{Source, SummaryArgs, Wanted, extract};
use super::visible::verbatim;
use super::write::{Job, Made, change, print_json};
use crate::core::bodies::{Bodies, FileBodies};
use crate::core::entry::{EntryIx, Kind};
use crate::core::json::Raw;
use crate::core::json::write::{Object, texts};
use crate::core::ops::Stamp;
use crate::core::ops::navigate::Navigation;
use crate::core::ops::summary::{Summary, branch, details};
use crate::core::ops::switch::{Switch, behind_notes, switch};
use crate::core::plan::Change;
use crate::core::reference::Position;
use crate::core::session::Session;
use crate::core::summary;
use crate::core::text::Text;
use crate::world::World;
use std::io;

/// A move about to be made, and the summary that is wanted of it.
pub struct Move<'a> {
    /// The session as it was named.
    pub input: &'a Input,
    /// The session.
    pub session: &'a Session,
    /// Its bodies.
    pub bodies: &'a dyn Bodies,
    /// From where to where.
    pub navigation: Navigation,
    /// Where the summary comes from; a hook may change the instructions.
    pub summary: SummaryArgs,
    /// A name for the summary; a hook may give another.
    pub label: Option<String>,
    /// Whether a summary is to be left at all.
    pub wants_summary: bool,
}

impl Move<'_> {
    /// Answers `--prepare` and `--prompt`; `None` where neither is asked for.
    pub fn shown(&self, world: &mut World) -> Result<Option<Exit>, Failure> {
        if self.summary.prepare {
            print_json(world, &self.preparation().map_err(|error| self.input.unreadable(error))?)?;
            return Ok(Some(if self.leaves_something() { Exit::Done } else { Exit::Found }));
        }
        if self.summary.prompt {
            self.something_left()?;
            verbatim(world).write_all(&self.prompt()?).map_err(Failure::output)?;
            return Ok(Some(Exit::Done));
        }
        Ok(None)
    }

    /// Makes the move, with a summary if one is wanted and there is something to tell; else with a mark.
    /// Where one stands at a summary that such a move has left, it is not summarised in turn.
    pub fn go(self, job: &Job, world: &mut World) -> Result<Exit, Failure> {
        if self.wants_summary
            && !self.summary.is_given()
            && let Some(left) = self.left_already().map_err(|error| self.input.unreadable(error))?
        {
            return self.stay(left, job, world);
        }
        match self.wants_summary && (self.leaves_something() || self.summary.is_given()) {
            true => self.make(job, true, world),
            false => self.mark(job, world),
        }
    }

    /// Makes the move: appends the summary where one stands after it. One that starts at the leaf
    /// (`from_leaf`) is not made when the conversation went on meanwhile: what was appended is not in
    /// the summary and would be lost from sight.
    pub fn make(mut self, job: &Job, from_leaf: bool, world: &mut World) -> Result<Exit, Failure> {
        let mut mint = Mint::new(world)?;
        let hook = self.hook(world);
        let new = self.landing()?;
        let summary = self.ready(hook.as_ref(), world)?;
        let (draft, name) = (self.draft()?, self.name()?);
        let id_of = |session: &Session, place: Position| place.map(|ix| session.id(ix).into_owned());
        let old = id_of(self.session, self.navigation.old_leaf);
        let mut decide = |input: &Input, session: &Session, stamp: &mut Stamp| {
            let place = |id: &Option<Text<'static>>| id.as_ref().and_then(|id| session.find(id));
            if from_leaf && id_of(session, session.leaf) != old {
                return Err(went_on(input));
            }
            let change = branch(session, place(&old), place(&new), &summary, name.as_ref(), stamp);
            let names = first_id(&change);
            let of = (input, session);
            let after = hook.clone().map(|hook| told(hook, of, old.as_ref(), Some(&summary), &change));
            Ok(Some((change, Made { names, draft: draft.clone(), after })))
        };
        change(job, self.session, &mut mint, world, &mut decide)
    }

    /// The summary that one stands at, if it hangs where one is to go: nothing else is left then.
    fn left_already(&self) -> io::Result<Option<EntryIx>> {
        let place = behind_notes(self.session, self.bodies, self.navigation.old_leaf)?;
        Ok(place.filter(|&ix| {
            let entry = self.session.entry(ix);
            entry.kind == Kind::BranchSummary && entry.parent == self.navigation.new_leaf
        }))
    }

    /// Leaves all as it is, as there is such a summary already; it gets the name.
    pub fn stay(self, summary: EntryIx, job: &Job, world: &mut World) -> Result<Exit, Failure> {
        let mut mint = Mint::new(world)?;
        let (draft, name) = (self.draft()?, self.name()?);
        let (summary, leaf) = (self.session.id(summary), self.session.leaf.map(|leaf| self.session.id(leaf)));
        let mut decide = |input: &Input, session: &Session, stamp: &mut Stamp| {
            if session.leaf.map(|leaf| session.id(leaf)) != leaf {
                return Err(went_on(input));
            }
            let label = session.find(&summary).zip(name.as_ref());
            let bodies = FileBodies::new(session, input.source());
            let change = switch(session, &bodies, &Switch { place: session.leaf, label }, stamp)
                .map_err(|error| input.unreadable(error))?;
            let names = first_id(&change);
            Ok(Some((change, Made { names, draft: draft.clone(), after: None })))
        };
        change(job, self.session, &mut mint, world, &mut decide)
    }

    /// Makes the move with a mark.
    fn mark(mut self, job: &Job, world: &mut World) -> Result<Exit, Failure> {
        let mut mint = Mint::new(world)?;
        let (place, _) = (self.landing()?, self.name()?);
        let target = self.navigation.target.map(|ix| self.session.id(ix).into_owned());
        if target.is_none() && self.label.is_some() {
            return Err(Failure::cannot("--label: root is no entry")
                .hint("name another entry, or leave a summary with --summarize"));
        }
        // As in the agents, who is there already is not asked whether to go.
        let stays = self.navigation.target == self.navigation.old_leaf && !self.navigation.edits_target;
        let hook = self.hook(world).filter(|_| !stays);
        self.ask(hook.as_ref())?;
        if let Some(hook) = hook.as_ref().filter(|_| target.is_none() && self.label.is_some()) {
            return Err(hook.failed("its `label` is for root, which is no entry"));
        }
        let (draft, name) = (self.draft()?, self.name()?);
        let mut decide = |input: &Input, session: &Session, stamp: &mut Stamp| {
            let found = |id: &Option<Text<'static>>| id.as_ref().and_then(|id| session.find(id));
            let wanted = Switch { place: found(&place), label: found(&target).zip(name.as_ref()) };
            let bodies = FileBodies::new(session, input.source());
            let change = switch(session, &bodies, &wanted, stamp).map_err(|error| input.unreadable(error))?;
            let names = first_id(&change);
            let old = session.leaf.map(|leaf| session.id(leaf));
            let after = hook.clone().map(|hook| told(hook, (input, session), old.as_ref(), None, &change));
            Ok(Some((change, Made { names, draft: draft.clone(), after })))
        };
        change(job, self.session, &mut mint, world, &mut decide)
    }

    /// The summary, asked for wherever it comes from; what a hook says of the label is taken over.
    pub fn ready(&mut self, hook: Option<&Hook>, world: &mut World) -> Result<Summary, Failure> {
        self.name()?;
        let given = self.summary.given(self.input.file().is_none(), world)?;
        if given.is_none() {
            self.something_left()?;
        }
        // One that is given stands before a hook's, which may still say no.
        let hooked = self.ask(hook)?;
        self.stored(given.map(|text| Source::Given(Text::from(text))).or(hooked))
    }

    /// The text that is given back to be edited again, where the target is one that is.
    pub fn draft(&self) -> Result<Option<Text<'static>>, Failure> {
        self.draft_text().map_err(|error| self.input.unreadable(error))
    }

    /// The name, as it can be given.
    pub fn name(&self) -> Result<Option<Text<'static>>, Failure> {
        Ok(self.label.as_deref().map(checked).transpose()?.map(Text::into_owned))
    }

    /// The id of the entry that the conversation goes on from, `None` for the root.
    pub fn landing(&self) -> Result<Option<Text<'static>>, Failure> {
        new_parent(self.input, self.session, self.navigation.new_leaf)
    }

    /// Whether the branch that is left tells anything: notes alone do not.
    pub fn leaves_something(&self) -> bool {
        self.navigation.abandoned.iter().any(|&ix| !self.session.entry(ix).kind.is_note())
    }

    /// The hook, where one is set.
    pub fn hook(&self, world: &World) -> Option<Hook> {
        self.summary.hook.hook(self.input, world)
    }

    /// Asks the hook, where there is one; the summary that it gives, if it does. What it says of the label
    /// and the instructions is taken over.
    pub fn ask(&mut self, hook: Option<&Hook>) -> Result<Option<Source>, Failure> {
        let Some(hook) = hook else { return Ok(None) };
        let preparation = self.preparation().map_err(|error| self.input.unreadable(error))?;
        let event = Object::new().str("type", "session_before_tree").json("preparation", &preparation);
        let answer = hook.ask(event, &Place::of(self.input, self.session))?;
        self.summary.follow(&answer);
        if let Some(label) = answer.label {
            let label = label.to_string();
            checked(&label).map_err(|_| hook.failed("its `label` is no name"))?;
            self.label = Some(label);
        }
        Ok(answer.summary.map(Source::Hooked))
    }

    fn something_left(&self) -> Result<(), Failure> {
        if self.leaves_something() {
            return Ok(());
        }
        Err(Failure::no(format_args!("{}: nothing is left behind on the way there", self.input.name))
            .hint("give a summary with --summary to leave one all the same"))
    }

    /// The summary from its source; without one from the summarizer, else the built-in extract.
    fn stored(&self, source: Option<Source>) -> Result<Summary, Failure> {
        let unreadable = |error: io::Error| self.input.unreadable(error);
        let (messages, file_ops) = self
            .session
            .agent()
            .prepare_branch(self.session, &self.navigation.abandoned, self.bodies)
            .map_err(unreadable)?;
        let files = self.session.agent().files(&file_ops);
        let source = match (source, self.summary.shell(self.input)) {
            (Some(source), _) => source,
            (None, Some(shell)) => Source::Made(self.summary.ask(&shell, self.prompt()?)?),
            (None, None) => {
                let wanted = Wanted {
                    kind: summary::Kind::Branch,
                    messages: &messages,
                    turn_prefix: &[],
                    previous: None,
                };
                let text = extract(&wanted, self.summary.instructions.as_deref(), self.bodies);
                Source::Made(text.map_err(unreadable)?)
            }
        };
        Ok(source.stored(details(&files), |text| self.session.agent().branch_text(&text, &file_ops)))
    }

    /// What a summarizer is told.
    fn prompt(&self) -> Result<Vec<u8>, Failure> {
        let prompt = || -> io::Result<Vec<u8>> {
            let (messages, _) =
                self.session.agent().prepare_branch(self.session, &self.navigation.abandoned, self.bodies)?;
            let (agent, prompt) = (self.session.agent(), self.summary.prompt_of());
            let mut bytes = Vec::new();
            agent.branch_prompt(self.session, &messages, &prompt, self.bodies, &mut bytes)?;
            Ok(bytes)
        };
        prompt().map_err(|error| self.input.unreadable(error))
    }

    /// What is known of the move before it is made: `--prepare`, and part of `session_before_tree`.
    fn preparation(&self) -> io::Result<Vec<u8>> {
        let Move { session, bodies, navigation, summary, .. } = self;
        let id = |place: Position| place.map(|ix| session.id(ix));
        let (_, file_ops) = session.agent().prepare_branch(session, &navigation.abandoned, *bodies)?;
        let files = session.agent().files(&file_ops);
        Ok(Object::new()
            .text_or_null("targetId", id(navigation.target).as_ref())
            .text_or_null("oldLeafId", id(navigation.old_leaf).as_ref())
            .text_or_null("commonAncestorId", id(navigation.common_ancestor).as_ref())
            .text_or_null("newLeafId", id(navigation.new_leaf).as_ref())
            .json("entriesToSummarize", &entries(&navigation.abandoned, *bodies)?)
            .json("readFiles", &texts(&files.read_files))
            .json("modifiedFiles", &texts(&files.modified_files))
            .text_or_null("editorText", self.draft_text()?.as_ref())
            .bool("userWantsSummary", self.wants_summary)
            .text_or_null("customInstructions", summary.instructions.as_deref().map(Text::from).as_ref())
            .bool("replaceInstructions", summary.replace_instructions)
            .text_or_null("label", self.label.as_deref().map(Text::from).as_ref())
            .finish())
    }

    fn draft_text(&self) -> io::Result<Option<Text<'static>>> {
        let edited = self.navigation.target.filter(|_| self.navigation.edits_target);
        edited.map(|target| self.session.agent().draft_text(self.session, self.bodies, target)).transpose()
    }
}

/// What a hook is told once the move is made (`session_tree`), whose last new entry is the leaf; a
/// summary that is left is the first of them.
pub fn told(
    hook: Hook,
    (input, session): (&Input, &Session),
    old_leaf: Option<&Text>,
    summary: Option<&Summary>,
    change: &Change,
) -> After {
    let id = |line: &Vec<u8>| Raw::checked(line).get_text("id").map(Text::into_owned);
    let place = Place { leaf: change.lines.last().and_then(id), ..Place::of(input, session) };
    let entry = change.lines.first().filter(|_| summary.is_some());
    let hooked: &[u8] = summary.map_or(b"null", |summary| if summary.from_hook { b"true" } else { b"false" });
    let event = Object::new()
        .str("type", "session_tree")
        .text_or_null("newLeafId", place.leaf.as_ref())
        .text_or_null("oldLeafId", old_leaf)
        .json("summaryEntry", entry.map_or(b"null", |entry| entry))
        .json("fromExtension", hooked)
        .json("fromHook", hooked);
    After { hook, event, place }
}

/// The id by which new entries can hang under a place, `None` under the root.
pub fn new_parent(
    input: &Input,
    session: &Session,
    place: Position,
) -> Result<Option<Text<'static>>, Failure> {
    let Some(place) = place else { return Ok(None) };
    let (id, line) = (session.id(place), session.entry(place).line.0);
    if session.find(&id) == Some(place) && !id.is_empty() {
        return Ok(Some(id.into_owned()));
    }
    let why = if id.is_empty() { "has no id" } else { "has the id of a later one" };
    Err(Failure::cannot(format_args!("{}:{line}: the entry {why}, so nothing can hang under it", input.name))
        .hint("`pisess check` tells more"))
}

/// The id of the first entry that a change adds: what it is about.
pub fn first_id(change: &Change) -> Vec<String> {
    change.ids().into_iter().take(1).collect()
}

fn went_on(input: &Input) -> Failure {
    Failure::busy(format_args!("{}: the conversation went on meanwhile", input.name))
        .hint("run the command again")
}
