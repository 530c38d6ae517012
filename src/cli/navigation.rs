//! Moves the leaf to another entry, with or without a summary of the abandoned branch. Several
//! commands share this.
//!
//! A command sets the origin and the target of a [`PlannedMove`]. This module evaluates the summary
//! options, calls the hook, and appends the summary of the branch; a move without a summary appends
//! a mark.

use super::hook::{HookEvent, entries_json};
use super::open::{OpenSession, parse_label};
use super::summary_source::{
    SummaryArgs, add_file_lists, extract_summary, resolve_summary, run_summarizer,
    summary_from_text,
};
use super::transaction::Decision;
use crate::agents::prepare::{BRANCH_BUDGET, BranchBudget, FileOps};
use crate::agents::prompt;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::process::run::ShellCommand;
use crate::ops::IdSource;
use crate::ops::navigate::{Navigation, navigate};
use crate::ops::parent_id;
use crate::ops::plan::Change;
use crate::ops::summary::{Summary, append_branch_summary, details};
use crate::ops::switch::{LabelToSet, skip_marks_and_labels, switch};
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Body, ContextMessage, EntryReader};
use crate::session::reference::Position;
use crate::summary::{BuiltinSummary, SummaryExtent, SummaryInput, SummarySubject};
use foldhash::HashMap;
use pisess_json::text::{Text, concat_texts};
use pisess_json::write::{Object, text_array};
use std::path::Path;

/// Options of a command that summarizes a branch, or moves the leaf.
#[derive(Clone, Debug, clap::Args)]
pub struct MoveArgs {
    /// Label the summary
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
    #[command(flatten)]
    pub summary: SummaryArgs,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Plans the move from `old_leaf` to the entry that a reference names. If the reference means `@`,
/// the target is the leaf, so that the labels and settings after `@` stay on the path. The
/// exception is a user message at `@`, which is to be edited.
pub fn navigate_to(
    open: &OpenSession,
    old_leaf: Position,
    reference: &str,
) -> Result<Navigation, Failure> {
    let resolved = open.resolve_reference(reference)?;
    let navigation = navigate(&open.session, old_leaf, resolved.position);
    if resolved.is_current && !navigation.edits_target {
        return Ok(navigate(&open.session, old_leaf, open.session.leaf.into()));
    }
    Ok(navigation)
}

/// Whether the move that a command makes with these options is reported on standard error: as
/// [`is_change_reported`] says, but not with `--prepare` and `--prompt`, which plan no move.
pub fn is_move_reported(options: &MoveArgs, open: &OpenSession) -> bool {
    let MoveArgs { summary, write, .. } = options;
    let prints_only = summary.prepare || summary.prompt;
    !prints_only && is_change_reported(write, open)
}

/// Whether a change of the leaf is reported on standard error: not with `--json`, and not if the
/// session is written to standard output. The new leaf is then known from there. With `-n`, the
/// plan does not show it, so the planned change is reported.
pub fn is_change_reported(write: &WriteArgs, open: &OpenSession) -> bool {
    let shows_leaf = !write.change.dry_run && writes_to_stdout(write, open);
    !write.change.json && !shows_leaf
}

/// Whether the changed session is written to standard output.
pub fn writes_to_stdout(write: &WriteArgs, open: &OpenSession) -> bool {
    match &write.output {
        Some(output) => output == Path::new("-"),
        None => open.input.file().is_none(),
    }
}

/// Returns the entry of the conversation at a position, or the nearest one above. `None` for the
/// root. If there is no such entry, returns the nearest one that is neither a mark nor a label.
pub fn conversation_entry(
    open: &OpenSession,
    position: Position,
) -> Result<Option<EntryIx>, Failure> {
    let end = open.session.conversation_end(position.entry());
    if end.is_some() {
        return Ok(end);
    }
    let other = skip_marks_and_labels(&open.entry_reader(), position);
    Ok(open.input.map_read_error(other)?.entry())
}

/// The end of a branch that is to be summarized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchEnd {
    /// The leaf, which the move leaves.
    Leaf,
    /// An entry that is not the leaf.
    OtherEntry,
}

/// A planned move, and the summary requested for it.
pub struct PlannedMove<'a> {
    pub open: &'a OpenSession,
    /// The origin and the target of the move, and the abandoned entries.
    pub navigation: Navigation,
    /// The options. A hook may replace the label and the instructions.
    pub options: MoveArgs,
    /// Whether the user requested a summary.
    pub wants_summary: bool,
}

impl<'a> PlannedMove<'a> {
    /// Returns a move for which a summary is requested.
    pub fn with_summary(
        open: &'a OpenSession,
        navigation: Navigation,
        options: &MoveArgs,
    ) -> PlannedMove<'a> {
        PlannedMove {
            open,
            navigation,
            options: options.clone(),
            wants_summary: true,
        }
    }

    /// Prints the output of `--prepare` or `--prompt`, and returns the exit code: the command is
    /// done then. Returns `None` if neither option is given.
    pub fn print_preview(&self, ui: &mut Ui) -> Result<Option<Exit>, Failure> {
        if self.options.summary.prepare {
            ui.print_json(&self.preparation_json()?)?;
            let has_content = self.abandons_content();
            let exit = if has_content { Exit::Done } else { Exit::Found };
            return Ok(Some(exit));
        }
        if self.options.summary.prompt {
            self.require_abandoned_content()?;
            ui.verbatim_stdout()
                .write_all(&self.build_prompt()?)
                .map_err(Failure::from_stdout_error)?;
            return Ok(Some(Exit::Done));
        }
        Ok(None)
    }

    /// Makes the move: appends a summary of the abandoned branch, or a mark. With `--prepare` or
    /// `--prompt`, only prints.
    ///
    /// The first of these rules that applies decides:
    /// 1. No summary is requested: a mark.
    /// 2. The user gives the text of the summary: a summary, even if the branch has nothing to
    ///    summarize, or already has one.
    /// 3. The branch consists of the summary of an earlier such move: nothing. So a command that is
    ///    repeated does not summarize a summary.
    /// 4. The branch has something to summarize: a summary.
    /// 5. Otherwise, a mark.
    pub fn execute(self, ui: &mut Ui) -> Result<Exit, Failure> {
        if let Some(exit) = self.print_preview(ui)? {
            return Ok(exit);
        }
        if !self.wants_summary {
            return self.move_without_summary(ui);
        }
        if self.options.summary.has_given_text() {
            return self.move_with_summary(BranchEnd::Leaf, ui);
        }
        if let Some(summary) = self.existing_summary()? {
            return self.label_existing_summary(summary, ui);
        }
        if self.abandons_content() {
            self.move_with_summary(BranchEnd::Leaf, ui)
        } else {
            self.move_without_summary(ui)
        }
    }

    /// Appends the summary of the abandoned branch below the new leaf. With `--prepare` or
    /// `--prompt`, only prints.
    ///
    /// If the branch ends at the leaf, this fails if another process has appended entries
    /// meanwhile: they are not in the summary, and would be abandoned unnoticed.
    pub fn move_with_summary(
        mut self,
        branch_end: BranchEnd,
        ui: &mut Ui,
    ) -> Result<Exit, Failure> {
        if let Some(exit) = self.print_preview(ui)? {
            return Ok(exit);
        }
        let hook = self.hook_command(ui);
        let new_leaf = self.new_leaf_id()?;
        let summary = self.prepare_summary(hook.as_ref(), ui)?;
        // After `prepare_summary`, because the hook may have replaced the label.
        let label = self.parse_label()?;
        let ready = ReadySummary {
            branch_end,
            old_leaf: position_id(&self.open.session, self.navigation.old_leaf),
            summary,
            step: ReadyMove {
                new_leaf,
                label,
                editor_text: self.editor_text()?,
                hook,
            },
        };
        self.open
            .apply_change(&self.options.write, ui, |current, id_source| {
                ready.decide_change(current, id_source)
            })
    }

    /// Returns the summary of an earlier move, if the branch that this move leaves consists of it
    /// alone: such a branch is not summarized again.
    ///
    /// The end of that branch is the old leaf, or the entry above it if the leaf is one of the
    /// marks and labels that `switch` and `label` append.
    fn existing_summary(&self) -> Result<Option<EntryIx>, Failure> {
        let reader = self.open.entry_reader();
        let branch_end = skip_marks_and_labels(&reader, self.navigation.old_leaf);
        let branch_end = self.open.input.map_read_error(branch_end)?;
        let Position::Entry(ix) = branch_end else {
            return Ok(None);
        };

        let entry = self.open.session.entry(ix);
        let is_summary = entry.kind == Kind::BranchSummary;
        // The branch begins below the new leaf.
        let is_alone = entry.parent == self.navigation.new_leaf.entry();
        if is_summary && is_alone {
            Ok(Some(ix))
        } else {
            Ok(None)
        }
    }

    /// Appends no new summary, because `summary` exists already. If a label is given, labels
    /// `summary`.
    pub fn label_existing_summary(self, summary: EntryIx, ui: &mut Ui) -> Result<Exit, Failure> {
        let session = &self.open.session;
        let mark = ReadyMark {
            labelled: Some(session.id(summary).into_owned()),
            is_already_leaf: true,
            step: ReadyMove {
                new_leaf: position_id(session, session.leaf.into()),
                label: self.parse_label()?,
                editor_text: self.editor_text()?,
                // The leaf does not move, so there is nothing to notify a hook of.
                hook: None,
            },
        };
        self.append_leaf_mark(&mark, ui)
    }

    /// Makes the move without a summary. If a label is given, by an option or in the reply of the
    /// hook, labels the target. The root cannot be labelled, because it is not an entry.
    fn move_without_summary(mut self, ui: &mut Ui) -> Result<Exit, Failure> {
        let new_leaf = self.new_leaf_id()?;
        let target = position_id(&self.open.session, self.navigation.target);
        let is_root = target.is_none();
        // A label that cannot be set is refused before the hook is called.
        let option_label = self.parse_label()?;
        if is_root && option_label.is_some() {
            let failure = Failure::invalid("--label: root is not an entry");
            return Err(failure.with_hint("give another entry, or add a summary with --summarize"));
        }

        let hook = self.hook_of_move(ui);
        // A summary in the reply is not used.
        self.ask_hook_for_label_and_summary(hook.as_ref(), ui)?;
        let label = self.parse_label()?;
        // `--label` for the root was refused above, so this label is from the hook.
        if let Some(hook) = &hook
            && is_root
            && label.is_some()
        {
            return Err(hook.failure("its `label` is for root, which is not an entry"));
        }

        let mark = ReadyMark {
            labelled: target,
            is_already_leaf: false,
            step: ReadyMove {
                new_leaf,
                label,
                editor_text: self.editor_text()?,
                hook,
            },
        };
        self.append_leaf_mark(&mark, ui)
    }

    /// Returns the hook to call for a move without a summary. As in the agents, none is called if
    /// the target is already the leaf, unless the move is made to edit the target.
    fn hook_of_move(&self, ui: &Ui) -> Option<ShellCommand> {
        let is_at_target = self.navigation.target == self.navigation.old_leaf;
        if is_at_target && !self.navigation.edits_target {
            return None;
        }
        self.hook_command(ui)
    }

    /// Moves the leaf as `mark` says, and labels an entry if a label is given.
    fn append_leaf_mark(&self, mark: &ReadyMark, ui: &mut Ui) -> Result<Exit, Failure> {
        self.open
            .apply_change(&self.options.write, ui, |current, id_source| {
                mark.decide_change(current, id_source)
            })
    }

    /// Returns the summary of the abandoned branch. It comes from the first of these sources that
    /// has one: an option, the hook, the summarizer, the built-in extract.
    ///
    /// The hook is always called, and a label in its reply replaces the given one. Fails if the
    /// branch has nothing to summarize, and no option gives the text.
    pub fn prepare_summary(
        &mut self,
        hook: Option<&ShellCommand>,
        ui: &mut Ui,
    ) -> Result<Summary, Failure> {
        // The label is for the summary, which is not written yet.
        let new_entry = None;
        let label = self.parse_label()?;
        self.open.check_label_is_free(new_entry, label.as_ref())?;
        let given = self
            .options
            .summary
            .read_given_summary(&self.open.input, ui)?;
        if given.is_none() {
            self.require_abandoned_content()?;
        }
        let from_hook = self.ask_hook_for_label_and_summary(hook, ui)?;
        self.choose_summary(given, from_hook, ui)
    }

    /// Returns the text of the target if the move is made to edit it; otherwise `None`.
    pub fn editor_text(&self) -> Result<Option<Text<'static>>, Failure> {
        let Position::Entry(target) = self.navigation.target else {
            return Ok(None);
        };
        if !self.navigation.edits_target {
            return Ok(None);
        }
        let agent = self.open.session.agent();
        let draft = agent.draft_text(&self.open.entry_reader(), target);
        self.open.input.map_read_error(draft).map(Some)
    }

    /// Returns the given label after validating it; `None` if no label is given.
    pub fn parse_label(&self) -> Result<Option<Text<'static>>, Failure> {
        match self.options.label.as_deref() {
            Some(label) => Ok(Some(parse_label(label)?.into_owned())),
            None => Ok(None),
        }
    }

    /// Returns the id of the new leaf, below which the session continues; `None` for the root.
    pub fn new_leaf_id(&self) -> Result<Option<Text<'static>>, Failure> {
        self.open.new_parent_id(self.navigation.new_leaf)
    }

    /// Whether the abandoned branch has anything to summarize: an entry that is not bookkeeping.
    pub fn abandons_content(&self) -> bool {
        self.navigation
            .abandoned
            .iter()
            .any(|&ix| !self.open.session.entry(ix).kind.is_bookkeeping())
    }

    pub fn hook_command(&self, ui: &Ui) -> Option<ShellCommand> {
        self.options.summary.hook.hook_command(&self.open.input, ui)
    }

    /// Calls the hook. A label and instructions in its reply replace the ones in `self.options`.
    /// Returns the summary in the reply; `None` if there is none, or no hook.
    pub fn ask_hook_for_label_and_summary(
        &mut self,
        hook: Option<&ShellCommand>,
        ui: &Ui,
    ) -> Result<Option<Summary>, Failure> {
        let Some(hook) = hook else { return Ok(None) };
        let preparation = self.preparation_json()?;
        let event = Object::new()
            .str("type", "session_before_tree")
            .json("preparation", &preparation);
        let answer = hook.ask_hook(event, self.open, ui)?;
        self.options.summary.apply_answer(&answer);
        if let Some(label) = answer.label {
            let name = label.to_string();
            parse_label(&name).map_err(|_| hook.failure("its `label` is not a valid label"))?;
            self.options.label = Some(name);
        }
        Ok(answer.summary)
    }

    /// Fails if the abandoned branch has nothing to summarize.
    fn require_abandoned_content(&self) -> Result<(), Failure> {
        if self.abandons_content() {
            return Ok(());
        }
        Err(self
            .open
            .input
            .negative_answer("no entries to summarize on the branch you leave")
            .with_hint("write one anyway with --summary TEXT"))
    }

    /// Returns the summary to append: `given` by an option, else `from_hook`, else a new one.
    fn choose_summary(
        &self,
        given: Option<Summary>,
        from_hook: Option<Summary>,
        ui: &Ui,
    ) -> Result<Summary, Failure> {
        let session = &self.open.session;
        let reader = self.open.entry_reader();
        let (_, file_ops) = self.prepare_branch(&reader, BRANCH_BUDGET)?;
        let files = file_ops.file_lists(session);
        // The details of a summary list the files that the branch used. A given summary, or one
        // from the hook, may lack them.
        let default_details = details(&files);
        resolve_summary(given, from_hook, default_details, || {
            self.make_new_summary(file_ops, &reader, ui)
        })
    }

    /// Makes a new summary. Its text is the agent's preamble, the summary itself, and lists of the
    /// files that the branch read and changed.
    ///
    /// If there is a summarizer, it writes the summary, and the lists have the form that the agents
    /// give them. Otherwise, see [`Self::make_builtin_summary`].
    fn make_new_summary(
        &self,
        file_ops: FileOps,
        reader: &EntryReader,
        ui: &Ui,
    ) -> Result<Summary, Failure> {
        let summarizer = self
            .options
            .summary
            .summarizer_command(&self.open.input, ui);
        let Some(summarizer) = summarizer else {
            return self.make_builtin_summary(file_ops, reader);
        };
        let session = &self.open.session;
        let preamble = &session.agent().constants().branch_preamble;
        let text = run_summarizer(&summarizer, self.build_prompt()?, ui)?;
        let text = concat_texts(&[preamble, &text]);
        Ok(summary_from_text(file_ops.append_to_summary(text, session)))
    }

    /// Makes a new summary without a model. [`add_file_lists`] describes its lists of files.
    fn make_builtin_summary(
        &self,
        file_ops: FileOps,
        reader: &EntryReader,
    ) -> Result<Summary, Failure> {
        let session = &self.open.session;
        let preamble = &session.agent().constants().branch_preamble;
        let BuiltinSummary { text, removals } =
            self.extract_summary(SummaryExtent::Whole, reader)?;
        let text = concat_texts(&[preamble, &text]);
        Ok(add_file_lists(text, &removals, file_ops, session))
    }

    /// Makes a summary of the abandoned branch without a model, from its messages.
    fn extract_summary(
        &self,
        extent: SummaryExtent,
        reader: &EntryReader,
    ) -> Result<BuiltinSummary, Failure> {
        let material = SummaryInput {
            messages: &self.abandoned_messages(reader)?,
            turn_prefix: &[],
            kept: &[],
            previous_summary: None,
            instructions: self.options.summary.instructions.as_deref(),
            subject: SummarySubject::Branch,
            extent,
        };
        extract_summary(self.open, &material)
    }

    /// Returns the messages of the abandoned branch for the built-in summary. First is the user
    /// request that the branch continues. Then come the messages as for a prompt, and also tool
    /// results, which pi leaves out of prompts.
    ///
    /// Compactions are left out: they repeat messages that are included here, or summarize what
    /// precedes the branch.
    fn abandoned_messages(&self, reader: &EntryReader) -> Result<Vec<ContextMessage>, Failure> {
        let session = &self.open.session;
        let navigation = &self.navigation;
        let mut messages = Vec::new();
        if let Some(request) = navigation.continued_request(session) {
            let context = session.agent().build_context(&[request], reader);
            messages = self.open.input.map_read_error(context)?.messages;
        }

        let (prepared, _) = self.prepare_branch(reader, BranchBudget::Unlimited)?;
        // An entry has at most one message.
        let mut message_by_entry = HashMap::default();
        for message in prepared {
            message_by_entry.insert(message.entry, message);
        }
        let edits = self.open.find_edits(navigation.old_leaf.entry())?;
        for &ix in &navigation.abandoned {
            if session.entry(ix).kind == Kind::Compaction {
                continue;
            }
            if let Some(message) = message_by_entry.remove(&ix) {
                messages.push(message);
                continue;
            }
            // An edited or omitted result is left out: what is stored is not what the model saw.
            let is_result = session.is_message(ix, Role::ToolResult);
            let is_edited = edits.contains_key(&ix);
            if is_result && !is_edited {
                messages.push(ContextMessage {
                    entry: ix,
                    body: Body::Stored,
                });
            }
        }
        Ok(messages)
    }

    /// Returns the prompt for the summarizer. Custom instructions that replace the default ones get
    /// no facts.
    fn build_prompt(&self) -> Result<Vec<u8>, Failure> {
        let reader = self.open.entry_reader();
        let (messages, _) = self.prepare_branch(&reader, BRANCH_BUDGET)?;
        let options = self.options.summary.prompt_instructions();
        let facts = if options.replaces_default {
            String::new()
        } else {
            self.extract_summary(SummaryExtent::Facts, &reader)?.text
        };
        let prompt = prompt::branch_prompt(&messages, &options, &facts, &reader);
        self.open.input.map_read_error(prompt)
    }

    /// Returns the messages of the abandoned branch as the agent prepares them for a summary, and
    /// the files that the branch used.
    fn prepare_branch(
        &self,
        reader: &EntryReader,
        budget: BranchBudget,
    ) -> Result<(Vec<ContextMessage>, FileOps), Failure> {
        let agent = self.open.session.agent();
        let prepared = agent.prepare_branch_summary(&self.navigation.abandoned, reader, budget);
        self.open.input.map_read_error(prepared)
    }

    /// Returns the description of the move before it is made, as JSON. It is the output of
    /// `--prepare`, and a part of the event `session_before_tree`.
    fn preparation_json(&self) -> Result<Vec<u8>, Failure> {
        let session = &self.open.session;
        let reader = self.open.entry_reader();
        let navigation = &self.navigation;
        let summary = &self.options.summary;
        let (_, file_ops) = self.prepare_branch(&reader, BRANCH_BUDGET)?;
        let files = file_ops.file_lists(session);
        let abandoned = entries_json(&navigation.abandoned, &reader);
        let abandoned = self.open.input.map_read_error(abandoned)?;
        Ok(Object::new()
            .text_or_null("targetId", position_id(session, navigation.target).as_ref())
            .text_or_null(
                "oldLeafId",
                position_id(session, navigation.old_leaf).as_ref(),
            )
            .text_or_null(
                "commonAncestorId",
                position_id(session, navigation.common_ancestor).as_ref(),
            )
            .text_or_null(
                "newLeafId",
                position_id(session, navigation.new_leaf).as_ref(),
            )
            .json("entriesToSummarize", &abandoned)
            .json("readFiles", &text_array(&files.read_files))
            .json("modifiedFiles", &text_array(&files.modified_files))
            .text_or_null("editorText", self.editor_text()?.as_ref())
            .bool("userWantsSummary", self.wants_summary)
            .str_or_null("customInstructions", summary.instructions.as_deref())
            .bool("replaceInstructions", summary.replace_instructions)
            .str_or_null("label", self.options.label.as_deref())
            .finish())
    }
}

/// Returns the agents' `session_tree` event for a completed move from `old_leaf`. In `change`, the
/// last entry is the new leaf; if there is a summary, the first entry is the summary.
pub fn session_tree_event(
    hook: ShellCommand,
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
        // In oh-my-pi, a hook is an extension. One hook may serve both agents.
        .json("fromExtension", from_hook)
        .json("fromHook", from_hook);
    HookEvent {
        leaf_id: leaf,
        ..HookEvent::from_session(hook, event, open)
    }
}

/// A move that is to be made. It names entries by their ids, because the session may be read again
/// before the move is made.
struct ReadyMove {
    /// The entry at which the session continues; `None` for the root.
    new_leaf: Option<Text<'static>>,
    /// The label to set, if one is given.
    label: Option<Text<'static>>,
    /// The text that the user will edit and send again; `None` if the move has another purpose.
    editor_text: Option<Text<'static>>,
    /// The hook to notify of the move.
    hook: Option<ShellCommand>,
}

impl ReadyMove {
    /// Returns what is committed and reported for this move, and the event of which the hook, if
    /// there is one, is notified after the commit.
    ///
    /// `change` makes the move, away from `old_leaf`. It appends `summary` if there is one.
    fn decision(
        &self,
        change: Change,
        old_leaf: Option<&Text>,
        summary: Option<&Summary>,
        current: &OpenSession,
    ) -> Decision {
        let notification = self
            .hook
            .clone()
            .map(|hook| session_tree_event(hook, current, &change, old_leaf, summary));
        Decision {
            change,
            // Only the id of the first new entry is printed: the summary or the mark. If the leaf
            // need not be moved, it is the label.
            reported_count: 1,
            editor_text: self.editor_text.clone(),
            notification,
        }
    }
}

/// A summary of an abandoned branch that is to be appended, below the new leaf.
struct ReadySummary {
    branch_end: BranchEnd,
    /// The end of the branch; `None` for the root.
    old_leaf: Option<Text<'static>>,
    summary: Summary,
    /// The label in it is for the summary.
    step: ReadyMove,
}

impl ReadySummary {
    /// Returns the change that appends the summary to the session as it is now. Fails if the branch
    /// has grown meanwhile.
    fn decide_change(
        &self,
        current: &OpenSession,
        id_source: &mut IdSource,
    ) -> Result<Decision, Failure> {
        let session = &current.session;
        let current_leaf = position_id(session, session.leaf.into());
        if self.branch_end == BranchEnd::Leaf && current_leaf != self.old_leaf {
            return Err(concurrent_append_failure(current));
        }
        // The label is for the summary, which is not written yet.
        let new_entry = None;
        let label = self.step.label.as_ref();
        current.check_label_is_free(new_entry, label)?;

        let new_leaf = find_by_id(session, &self.step.new_leaf);
        let change = append_branch_summary(
            session,
            self.referenced_end(session),
            new_leaf,
            &self.summary,
            label,
            id_source,
        );
        let old_leaf = self.old_leaf.as_ref();
        let summary = Some(&self.summary);
        Ok(self.step.decision(change, old_leaf, summary, current))
    }

    /// Returns the end of the branch that the summary names in its field `fromId`. In oh-my-pi,
    /// this is where the branch starts, which is also the new leaf; in pi, it is the old leaf.
    fn referenced_end(&self, session: &Session) -> Position {
        if session.agent().constants().from_id_is_branch_start {
            find_by_id(session, &self.step.new_leaf)
        } else {
            find_by_id(session, &self.old_leaf)
        }
    }
}

/// A mark that is to be appended.
struct ReadyMark {
    /// The entry that gets the label, if one is given.
    labelled: Option<Text<'static>>,
    /// Whether the leaf is only labelled, and not moved: `new_leaf` was the leaf when the session
    /// was read. If it no longer is, another process has appended entries, and this fails.
    ///
    /// If `false`, the leaf moves to `new_leaf` wherever it is now.
    is_already_leaf: bool,
    /// The label in it is for the entry `labelled`.
    step: ReadyMove,
}

impl ReadyMark {
    /// Returns the change that appends the mark to the session as it is now, and the label if one
    /// is given. If the leaf is only to be labelled, fails if it is another entry by now.
    fn decide_change(
        &self,
        current: &OpenSession,
        id_source: &mut IdSource,
    ) -> Result<Decision, Failure> {
        let session = &current.session;
        let old_leaf = position_id(session, session.leaf.into());
        if self.is_already_leaf && old_leaf != self.step.new_leaf {
            return Err(concurrent_append_failure(current));
        }

        let labelled = find_by_id(session, &self.labelled).entry();
        let label = self.step.label.as_ref();
        current.check_label_is_free(labelled, label)?;
        let label_to_set = match (labelled, label) {
            (Some(entry), Some(name)) => Some(LabelToSet { entry, name }),
            _ => None,
        };

        let reader = current.entry_reader();
        let new_leaf = find_by_id(session, &self.step.new_leaf);
        let change = switch(&reader, new_leaf, label_to_set, id_source);
        let change = current.input.map_read_error(change)?;
        let no_summary = None;
        let old_leaf = old_leaf.as_ref();
        Ok(self.step.decision(change, old_leaf, no_summary, current))
    }
}

/// Returns the id of a position; `None` for the root.
fn position_id(session: &Session, position: Position) -> Option<Text<'static>> {
    parent_id(session, position).map(Text::into_owned)
}

/// Returns the position with an id from [`position_id`]. If the session no longer has the entry,
/// that is the root.
fn find_by_id(session: &Session, id: &Option<Text<'static>>) -> Position {
    match id {
        Some(id) => session.find_entry(id).into(),
        None => Position::Root,
    }
}

/// Returns the failure for a leaf that is no longer the one from which the move was planned.
fn concurrent_append_failure(open: &OpenSession) -> Failure {
    open.input
        .busy_failure("another process appended entries meanwhile")
}
