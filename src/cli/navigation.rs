//! Moves the leaf to another entry, with or without a summary of the branch that is left, for
//! several commands.
//!
//! A command sets the origin and the target ([`Move`]). This module evaluates the summary options,
//! calls the hook, and writes the branch summary, or a mark for a move without one.

use super::hook::{HookEvent, entries};
use super::open::{OpenSession, label_name};
use super::summary_source::{SummaryArgs, ask, extract, stored};
use super::transaction::Decision;
use crate::agents::prepare::{BRANCH_BUDGET, Budget, FileOps};
use crate::agents::prompt;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::process::run::Shell;
use crate::ops::navigate::Navigation;
use crate::ops::plan::Change;
use crate::ops::summary::{Summary, branch_summary, details};
use crate::ops::switch::{behind_notes, switch};
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Body, EntryReader, Message};
use crate::session::reference::Position;
use crate::summary::Material;
use pisess_json::text::{Text, concat};
use pisess_json::write::{Object, texts};

/// Options of a command that summarizes a branch, or moves the leaf.
#[derive(Clone, Debug, clap::Args)]
pub struct MoveArgs {
    /// Label the summary, or REF if there is no summary
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
    #[command(flatten)]
    pub summary: SummaryArgs,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// A planned move, and the summary requested for it.
pub struct Move<'a> {
    pub open: &'a OpenSession,
    /// The origin and the target.
    pub navigation: Navigation,
    /// The options; a hook may change the label and the instructions.
    pub options: MoveArgs,
    pub wants_summary: bool,
}

impl<'a> Move<'a> {
    /// Returns a move with a summary.
    pub fn summarized(
        open: &'a OpenSession,
        navigation: Navigation,
        options: &MoveArgs,
    ) -> Move<'a> {
        Move {
            open,
            navigation,
            options: options.clone(),
            wants_summary: true,
        }
    }

    /// Prints the output of `--prepare` or `--prompt`; returns `None` if neither is given.
    pub fn shown(&self, ui: &mut Ui) -> Result<Option<Exit>, Failure> {
        if self.options.summary.prepare {
            ui.print_json(&self.preparation()?)?;
            return Ok(Some(if self.leaves_something() {
                Exit::Done
            } else {
                Exit::Found
            }));
        }
        if self.options.summary.prompt {
            self.something_left()?;
            ui.verbatim()
                .write_all(&self.prompt()?)
                .map_err(Failure::output)?;
            return Ok(Some(Exit::Done));
        }
        Ok(None)
    }

    /// Makes the move, with a summary if one is requested and there is something to summarize,
    /// otherwise with a mark. If the branch contains only the summary of an earlier such move,
    /// nothing is appended. With `--prepare` or `--prompt`, only prints.
    pub fn go(self, ui: &mut Ui) -> Result<Exit, Failure> {
        if let Some(exit) = self.shown(ui)? {
            return Ok(exit);
        }
        if self.wants_summary
            && !self.options.summary.is_given()
            && let Some(left) = self.left_already()?
        {
            return self.stay(left, ui);
        }
        if self.wants_summary && (self.leaves_something() || self.options.summary.is_given()) {
            self.summarize(true, ui)
        } else {
            self.mark(ui)
        }
    }

    /// Appends the summary under the new leaf. A move that starts at the leaf (`from_leaf`) fails
    /// if another process has appended entries in the meantime: they are not in the summary, and
    /// would be abandoned unnoticed. With `--prepare` or `--prompt`, only prints.
    pub fn summarize(mut self, from_leaf: bool, ui: &mut Ui) -> Result<Exit, Failure> {
        if let Some(exit) = self.shown(ui)? {
            return Ok(exit);
        }
        let hook = self.hook(ui);
        let new_leaf = self.landing()?;
        let summary = self.ready(hook.as_ref(), ui)?;
        let draft = self.draft()?;
        let label = self.name()?;
        let old_leaf = id_of(&self.open.session, self.navigation.old_leaf);
        self.open.change(&self.options.write, ui, |now, fresh| {
            let session = &now.session;
            if from_leaf && id_of(session, session.leaf) != old_leaf {
                return Err(went_on(now));
            }
            now.label_is_free(None, label.as_ref())?;

            let find = |id: &Option<Text<'static>>| session.find(id.as_ref()?);
            let parent = find(&new_leaf);
            let from = if session.agent().constants().summarizes_from_start {
                parent
            } else {
                find(&old_leaf)
            };
            let change = branch_summary(session, from, parent, &summary, label.as_ref(), fresh);
            let notification = hook
                .clone()
                .map(|hook| moved(hook, now, &change, old_leaf.as_ref(), Some(&summary)));
            Ok(Decision {
                change,
                reported: 1,
                editor_text: draft.clone(),
                notification,
            })
        })
    }

    /// Returns the summary at the leaf if the branch that is left contains nothing else.
    fn left_already(&self) -> Result<Option<EntryIx>, Failure> {
        let place = self
            .open
            .input
            .read(behind_notes(&self.open.reader(), self.navigation.old_leaf))?;
        let Some(ix) = place else {
            return Ok(None);
        };
        let entry = self.open.session.entry(ix);
        let is_summary =
            entry.kind == Kind::BranchSummary && entry.parent == self.navigation.new_leaf;
        Ok(is_summary.then_some(ix))
    }

    /// Appends no summary, because there is one already; labels it if a label is given.
    pub fn stay(self, summary: EntryIx, ui: &mut Ui) -> Result<Exit, Failure> {
        let session = &self.open.session;
        let summary = session.id(summary).into_owned();
        let leaf = id_of(session, session.leaf);
        self.append_mark(leaf.as_ref(), Some(&summary), None, true, ui)
    }

    /// Makes the move without a summary, and labels the target if a label is given. Root cannot be
    /// labelled: it is not an entry.
    fn mark(mut self, ui: &mut Ui) -> Result<Exit, Failure> {
        let new_leaf = self.landing()?;
        // An invalid label is refused before the hook is asked.
        self.name()?;
        let target = id_of(&self.open.session, self.navigation.target);
        let labels_root = target.is_none() && self.options.label.is_some();
        if labels_root {
            let failure = Failure::cannot("--label: root is not an entry");
            return Err(failure.hint("give another entry, or add a summary with --summarize"));
        }

        // As in the agents, the hook is not called if the target is already the leaf.
        let stays =
            self.navigation.target == self.navigation.old_leaf && !self.navigation.edits_target;
        let hook = if stays { None } else { self.hook(ui) };
        self.ask(hook.as_ref(), ui)?;
        if let Some(hook) = &hook
            && target.is_none()
            && self.options.label.is_some()
        {
            return Err(hook.failed("its `label` is for root, which is not an entry"));
        }
        self.append_mark(new_leaf.as_ref(), target.as_ref(), hook, false, ui)
    }

    /// Moves the leaf to the entry `new_leaf` (`None` for root), and labels the entry `labelled` if a
    /// label is given. If `stays`, `new_leaf` is the leaf already; then fails if another process has
    /// appended entries in the meantime.
    fn append_mark(
        &self,
        new_leaf: Option<&Text>,
        labelled: Option<&Text>,
        hook: Option<Shell>,
        stays: bool,
        ui: &mut Ui,
    ) -> Result<Exit, Failure> {
        let draft = self.draft()?;
        let label = self.name()?;
        self.open.change(&self.options.write, ui, |now, fresh| {
            let session = &now.session;
            let old_leaf = id_of(session, session.leaf);
            if stays && old_leaf.as_ref() != new_leaf {
                return Err(went_on(now));
            }

            // The session may have been read again, so its entries are found by their ids.
            let new_leaf = new_leaf.and_then(|id| session.find(id));
            let labelled = labelled.and_then(|id| session.find(id));
            now.label_is_free(labelled, label.as_ref())?;
            let label_of_entry = labelled.zip(label.as_ref());
            let change = now
                .input
                .read(switch(&now.reader(), new_leaf, label_of_entry, fresh))?;
            let notification = hook
                .clone()
                .map(|hook| moved(hook, now, &change, old_leaf.as_ref(), None));
            Ok(Decision {
                change,
                reported: 1,
                editor_text: draft.clone(),
                notification,
            })
        })
    }

    /// Returns the summary: that of an option, else that of the hook, of the summarizer, or the
    /// built-in one. The hook is called in each case; a label from its reply replaces the given one.
    /// Fails if the branch that is left has nothing to summarize and no option gives the text.
    pub fn ready(&mut self, hook: Option<&Shell>, ui: &mut Ui) -> Result<Summary, Failure> {
        self.open.label_is_free(None, self.name()?.as_ref())?;
        let given = self.options.summary.given(&self.open.input, ui)?;
        if given.is_none() {
            self.something_left()?;
        }
        let from_hook = self.ask(hook, ui)?;
        self.choose_summary(given, from_hook, ui)
    }

    /// Returns the text of the target, if the move is to edit it again.
    pub fn draft(&self) -> Result<Option<Text<'static>>, Failure> {
        let Some(target) = self.navigation.target else {
            return Ok(None);
        };
        if !self.navigation.edits_target {
            return Ok(None);
        }
        let agent = self.open.session.agent();
        let draft = agent.draft_text(&self.open.reader(), target);
        self.open.input.read(draft).map(Some)
    }

    /// Returns the label, validated.
    pub fn name(&self) -> Result<Option<Text<'static>>, Failure> {
        match self.options.label.as_deref() {
            Some(label) => Ok(Some(label_name(label)?.into_owned())),
            None => Ok(None),
        }
    }

    /// Returns the id of the entry that the session continues from, `None` for the root.
    pub fn landing(&self) -> Result<Option<Text<'static>>, Failure> {
        self.open.new_parent(self.navigation.new_leaf)
    }

    /// Whether the branch that is left has anything to summarize: an entry that is not only a note.
    pub fn leaves_something(&self) -> bool {
        self.navigation
            .abandoned
            .iter()
            .any(|&ix| !self.open.session.entry(ix).kind.is_bookkeeping())
    }

    pub fn hook(&self, ui: &Ui) -> Option<Shell> {
        self.options.summary.hook.hook(&self.open.input, ui)
    }

    /// Calls the hook, if there is one; returns the summary in its reply, if any. A label and
    /// instructions in the reply replace the given ones.
    pub fn ask(&mut self, hook: Option<&Shell>, ui: &Ui) -> Result<Option<Summary>, Failure> {
        let Some(hook) = hook else { return Ok(None) };
        let preparation = self.preparation()?;
        let event = Object::new()
            .str("type", "session_before_tree")
            .json("preparation", &preparation);
        let answer = hook.ask(event, self.open, ui)?;
        self.options.summary.follow(&answer);
        if let Some(label) = answer.label {
            let name = label.to_string();
            label_name(&name).map_err(|_| hook.failed("its `label` is not a valid label"))?;
            self.options.label = Some(name);
        }
        Ok(answer.summary)
    }

    fn something_left(&self) -> Result<(), Failure> {
        if self.leaves_something() {
            return Ok(());
        }
        Err(self
            .open
            .input
            .no("no entries to summarize on the branch you leave")
            .hint("write one anyway with --summary TEXT"))
    }

    /// Returns the first of these summaries, else makes one: with the summarizer, or without a model.
    /// One that is made begins with the agent's preamble and ends in the lists of files.
    fn choose_summary(
        &self,
        given: Option<Summary>,
        from_hook: Option<Summary>,
        ui: &Ui,
    ) -> Result<Summary, Failure> {
        let session = &self.open.session;
        let reader = self.open.reader();
        let (_, file_ops) = self.prepared(&reader, BRANCH_BUDGET)?;
        let files = file_ops.lists(session);
        stored(given, from_hook, details(&files), || {
            let text = match self.options.summary.summarizer(&self.open.input, ui) {
                Some(summarizer) => ask(&summarizer, self.prompt()?, ui)?,
                None => self.built_in(&reader)?,
            };
            let preamble = &session.agent().constants().branch_preamble;
            Ok(file_ops.below(concat(&[preamble, &text]), session))
        })
    }

    fn built_in(&self, reader: &EntryReader) -> Result<Text<'static>, Failure> {
        let material = Material {
            messages: &self.left(reader)?,
            turn_prefix: &[],
            previous_summary: None,
            instructions: self.options.summary.instructions.as_deref(),
        };
        extract(self.open, &material)
    }

    /// Returns the messages of the branch that is left for the built-in summary: those for a prompt,
    /// with the results of tools, which pi leaves out, after the request that the branch continues.
    /// Compactions are left out: they repeat messages that are here, or are about what precedes the
    /// branch.
    fn left(&self, reader: &EntryReader) -> Result<Vec<Message>, Failure> {
        let session = &self.open.session;
        let navigation = &self.navigation;
        let (prepared, _) = self.prepared(reader, Budget::Whole)?;
        let mut prepared = prepared.into_iter().peekable();
        let edits = self.open.edits(navigation.old_leaf)?;

        let mut left = Vec::new();
        if let Some(request) = navigation.continued_request(session) {
            let context = session.agent().build_context(&[request], reader);
            left = self.open.input.read(context)?.messages;
        }
        for &ix in &navigation.abandoned {
            let message = prepared.next_if(|message| message.entry == ix);
            if session.entry(ix).kind == Kind::Compaction {
                continue;
            }
            let is_result = session.is_message(ix, Role::ToolResult) && !edits.contains_key(&ix);
            if let Some(message) = message {
                left.push(message);
            } else if is_result {
                left.push(Message {
                    entry: ix,
                    body: Body::Stored,
                });
            }
        }
        Ok(left)
    }

    fn prompt(&self) -> Result<Vec<u8>, Failure> {
        let reader = self.open.reader();
        let (messages, _) = self.prepared(&reader, BRANCH_BUDGET)?;
        let options = self.options.summary.prompt_of();
        self.open
            .input
            .read(prompt::branch_prompt(&messages, &options, &reader))
    }

    /// Returns the messages of the branch that is left, as the agent prepares them, and its
    /// files.
    fn prepared(
        &self,
        reader: &EntryReader,
        budget: Budget,
    ) -> Result<(Vec<Message>, FileOps), Failure> {
        let agent = self.open.session.agent();
        let prepared = agent.prepare_branch(&self.navigation.abandoned, reader, budget);
        self.open.input.read(prepared)
    }

    /// Returns the description of the move before it is made: the output of `--prepare`, and part
    /// of `session_before_tree`.
    fn preparation(&self) -> Result<Vec<u8>, Failure> {
        let session = &self.open.session;
        let reader = self.open.reader();
        let navigation = &self.navigation;
        let summary = &self.options.summary;
        let (_, file_ops) = self.prepared(&reader, BRANCH_BUDGET)?;
        let files = file_ops.lists(session);
        let abandoned = entries(&navigation.abandoned, &reader);
        let abandoned = self.open.input.read(abandoned)?;
        Ok(Object::new()
            .text_or_null("targetId", id_of(session, navigation.target).as_ref())
            .text_or_null("oldLeafId", id_of(session, navigation.old_leaf).as_ref())
            .text_or_null(
                "commonAncestorId",
                id_of(session, navigation.common_ancestor).as_ref(),
            )
            .text_or_null("newLeafId", id_of(session, navigation.new_leaf).as_ref())
            .json("entriesToSummarize", &abandoned)
            .json("readFiles", &texts(&files.read_files))
            .json("modifiedFiles", &texts(&files.modified_files))
            .text_or_null("editorText", self.draft()?.as_ref())
            .bool("userWantsSummary", self.wants_summary)
            .str_or_null("customInstructions", summary.instructions.as_deref())
            .bool("replaceInstructions", summary.replace_instructions)
            .str_or_null("label", self.options.label.as_deref())
            .finish())
    }
}

/// Returns the agents' `session_tree` event for a completed move, from `old_leaf`. The last new
/// entry is the leaf; the first is the summary, if there is one.
pub fn moved(
    hook: Shell,
    open: &OpenSession,
    change: &Change,
    old_leaf: Option<&Text>,
    summary: Option<&Summary>,
) -> HookEvent {
    let leaf = change.entries.last().map(|entry| entry.id.clone());
    let summary_entry = match summary {
        Some(_) => change.entries.first(),
        None => None,
    };
    let from_hook: &[u8] = match summary {
        Some(summary) if summary.from_hook => b"true",
        Some(_) => b"false",
        None => b"null",
    };
    let event = Object::new()
        .str("type", "session_tree")
        .text_or_null("newLeafId", leaf.as_ref())
        .text_or_null("oldLeafId", old_leaf)
        .json(
            "summaryEntry",
            summary_entry.map_or(b"null", |entry| &entry.line),
        )
        .json("fromExtension", from_hook)
        .json("fromHook", from_hook);
    HookEvent {
        leaf,
        ..HookEvent::of(hook, event, open)
    }
}

fn id_of(session: &Session, place: Position) -> Option<Text<'static>> {
    place.map(|ix| session.id(ix).into_owned())
}

fn went_on(open: &OpenSession) -> Failure {
    open.input
        .busy("another process appended entries meanwhile")
}
