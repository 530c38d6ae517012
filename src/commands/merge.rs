//! `pisess merge`: appends a summary of another branch at the leaf.

use crate::cli::guide::{Example, Guide};
use crate::cli::hook::HookEvent;
use crate::cli::navigation::{MoveArgs, PlannedMove, session_tree_event};
use crate::cli::open::OpenSession;
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::process::run::ShellCommand;
use crate::cli::transaction::Decision;
use crate::load::LoadOptions;
use crate::ops::IdSource;
use crate::ops::navigate::navigate_back;
use crate::ops::plan::Change;
use crate::ops::summary::{Summary, append_branch_summary, find_branch_summary};
use crate::session::entry::EntryIx;
use crate::session::reference::Position;
use pisess_json::text::Text;
use std::path::PathBuf;

pub const GUIDE: Guide = Guide::new(&[
    Example::new("Merge another branch as a summary", "pisess merge session.jsonl 5c07d14b"),
    Example::new(
        "Merge it with your own summary, and label the summary",
        "pisess merge session.jsonl 5c07d14b --summary 'Adding a day breaks two tests.' --label tried",
    ),
    Example::new("Print what would be summarized, as JSON", "pisess merge --prepare session.jsonl 5c07d14b"),
])
.with_found("nothing to merge and no summary given, or a hook cancelled the operation");

/// Append a summary of another branch to the current one.
///
/// The session stays on its current branch. A summary of the other branch, from the branch point to
/// REF, is appended under the leaf. The model then knows what was found on the other branch. That
/// branch is kept, and can be merged again once it has grown. A REF that was merged already is
/// merged again only with --summary or --summary-file.
///
/// Without a summary option, pisess extracts the summary from the conversation, without a model.
/// The id of the new entry is printed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Last entry to summarize, usually the end of a branch
    #[arg(value_name = "REF")]
    pub from: String,
    #[command(flatten)]
    pub options: MoveArgs,
}

/// Appends a summary of another branch at the leaf. If the branch was merged before, its summary
/// exists already: then that is only labelled, and a warning names it. A summary given by an option
/// is always appended.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = OpenSession::open_to_change(&args.session, LoadOptions::default(), ui)?;
    let branch_tip = open.resolve_position(&args.from)?;
    // The summary is appended below the leaf, even if the leaf is a user message. `navigate` would
    // go above such a message, so that its text can be edited.
    let leaf = Position::from(open.session.leaf);
    let navigation = navigate_back(&open.session, branch_tip, leaf);
    let step = PlannedMove::with_summary(&open, navigation, &args.options);
    require_content(args, &step)?;
    // With `--prepare` or `--prompt`, this prints what the summary would be made of.
    if let Some(exit) = step.print_preview(ui)? {
        return Ok(exit);
    }

    let has_given_summary = args.options.summary.has_given_text();
    if !has_given_summary && let Some(summary) = find_previous_merge(&step)? {
        return label_previous_merge(args, step, summary, ui);
    }
    append_summary(step, ui)
}

/// Fails if the branch to merge has no entries of which a summary could be made. A given summary
/// needs none, and `--prepare` only prints that there are none.
fn require_content(args: &Args, step: &PlannedMove) -> Result<(), Failure> {
    let summary = &args.options.summary;
    let needs_content = !summary.has_given_text() && !summary.prepare;
    if !needs_content || step.abandons_content() {
        return Ok(());
    }
    let what = format_args!("{} has no entries to summarize", args.from);
    let hint = "give an entry of another branch, or a summary with --summary TEXT";
    Err(step.open.input.negative_answer(what).with_hint(hint))
}

/// Labels the summary of an earlier merge if a label is given, and warns that nothing else is done.
fn label_previous_merge(
    args: &Args,
    step: PlannedMove,
    summary: EntryIx,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let open = step.open;
    let exit = step.label_existing_summary(summary, ui)?;
    let name = &open.input.name;
    let branch = &args.from;
    let summary_id = open.session.id(summary);
    ui.warn(&format!(
        "{name}: {branch} was already merged, in {summary_id}"
    ));
    Ok(exit)
}

/// Makes the summary, and appends it below the leaf. If another process has appended to the same
/// branch meanwhile, the summary follows its entries. If another process has moved the leaf to
/// another branch, fails: the summary belongs on the branch for which it was requested.
fn append_summary(mut step: PlannedMove, ui: &mut Ui) -> Result<Exit, Failure> {
    let requested_leaf = step.new_leaf_id()?;
    let branch_tip = match step.navigation.old_leaf {
        Position::Entry(ix) => Some(step.open.session.id(ix).into_owned()),
        Position::Root => None,
    };
    let hook = step.hook_command(ui);
    let ready = ReadyMerge {
        requested_leaf,
        branch_tip,
        summary: step.prepare_summary(hook.as_ref(), ui)?,
        // After `prepare_summary`, because the hook may have replaced the label.
        label: step.parse_label()?,
        hook,
    };
    step.open
        .apply_change(&step.options.write, ui, |locked_open, id_source| {
            ready.decide_change(locked_open, id_source)
        })
}

/// A summary that is to be appended. It names entries by their ids, because making the summary
/// takes time, so that the session may be read again before the summary is appended.
struct ReadyMerge {
    /// The leaf when the summary was requested; `None` for the root.
    requested_leaf: Option<Text<'static>>,
    /// The tip of the summarized branch; `None` for the root.
    branch_tip: Option<Text<'static>>,
    summary: Summary,
    /// The label for the summary, if one is given.
    label: Option<Text<'static>>,
    /// The hook to notify of the summary.
    hook: Option<ShellCommand>,
}

impl ReadyMerge {
    /// Returns the change that appends the summary to the session as it is now. Fails if the leaf
    /// is on another branch by now.
    fn decide_change(
        &self,
        current: &OpenSession,
        id_source: &mut IdSource,
    ) -> Result<Decision, Failure> {
        self.require_same_branch(current)?;
        // The label is for the summary, which is not written yet.
        let new_entry = None;
        let label = self.label.as_ref();
        current.check_label_is_free(new_entry, label)?;

        let session = &current.session;
        let tip_id = self.branch_tip.as_ref();
        let branch_tip = tip_id.and_then(|id| session.find_entry(id));
        let leaf = Position::from(session.leaf);
        let summary = &self.summary;
        let change =
            append_branch_summary(session, branch_tip.into(), leaf, summary, label, id_source);
        Ok(Decision {
            notification: self.notification(current, &change),
            change,
            // The summary. The other entry, if there is one, is its label.
            reported_count: 1,
            editor_text: None,
        })
    }

    /// Returns the event with which the hook, if there is one, is notified once `change` is
    /// written. The leaf before the change is that of `current`, which the event also names.
    fn notification(&self, current: &OpenSession, change: &Change) -> Option<HookEvent> {
        let hook = self.hook.clone()?;
        let session = &current.session;
        let leaf_before = session.leaf.map(|leaf| session.id(leaf));
        let summary = Some(&self.summary);
        Some(session_tree_event(
            hook,
            current,
            change,
            leaf_before.as_ref(),
            summary,
        ))
    }

    /// Fails if the leaf for which the summary was requested is not on the path to the leaf now.
    fn require_same_branch(&self, current: &OpenSession) -> Result<(), Failure> {
        let session = &current.session;
        // Every entry is below the root, so a request at the root needs no check.
        let Some(id) = &self.requested_leaf else {
            return Ok(());
        };
        let Some(requested_leaf) = session.find_entry(id) else {
            return Ok(());
        };
        if session.path(session.leaf).contains(&requested_leaf) {
            return Ok(());
        }
        let failure = "another process moved to another branch meanwhile";
        Err(current.input.busy_failure(failure))
    }
}

/// Returns the entry with the summary that an earlier merge of the same branch wrote; `None` if
/// there is none. It is on the path to the leaf, below the common ancestor, and names the tip of
/// the branch that it summarizes.
fn find_previous_merge(step: &PlannedMove) -> Result<Option<EntryIx>, Failure> {
    let session = &step.open.session;
    let Position::Entry(branch_tip) = step.navigation.old_leaf else {
        return Ok(None);
    };
    let found = find_branch_summary(
        &step.open.entry_reader(),
        &session.id(branch_tip),
        step.navigation.common_ancestor,
    );
    step.open.input.map_read_error(found)
}
