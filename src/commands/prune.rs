//! `pisess prune`: moves parts of a session into a file beside it, and back.

mod branch;
mod job;
mod report;
mod restore;

use crate::cli::guide::{Example, Guide};
use crate::cli::open::OpenSession;
use crate::cli::options::{WriteArgs, parse_amount};
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::pruned::session_own_path;
use crate::cli::rows::entry::row_options;
use crate::load::LoadOptions;
use crate::ops::prune::{ValueKind, pruned_file};
use job::{PruneJob, Task};
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "List what would be moved",
        "pisess prune -n --over 1k session.jsonl",
    ),
    Example::new(
        "Prune images over 1 MB, and nothing else",
        "pisess prune --images --over 1M session.jsonl",
    ),
    Example::new(
        "Prune large payloads, and put them back",
        "pisess prune --over 1k session.jsonl && pisess prune --restore session.jsonl",
    ),
    Example::new(
        "Move what no branch needs above its last compaction, and put it back",
        "pisess prune --compacted session.jsonl && pisess prune --restore session.jsonl",
    ),
    Example::new(
        "List what deleting a branch would remove",
        "pisess prune -n --branch 5c07d14b session.jsonl",
    ),
]);

/// Make a session smaller; what is removed can be restored.
///
/// Moves images, results of tools and commands, and details stored by extensions and tools to
/// SESSION.pruned, if they are larger than --over. A short placeholder, such as `[image removed,
/// 1.2 MB png]`, replaces each; a model sees the placeholder. All other bytes of the session stay
/// as they are.
///
/// --compacted moves entries that no branch needs: on each branch, those above the last compaction.
/// It keeps branches without a compaction, and the recent entries that the compaction kept. It also
/// keeps settings, the name, context edits with their targets, and data of extensions. The agent
/// sees the same context and compacts the same way, but opens the session fast. Tokens and cost of
/// moved entries still count.
///
/// `prune --branch REF` removes the branch that contains REF and keeps it in SESSION.pruned. The
/// branch begins below the nearest branch point above REF. Labels of its entries move with them;
/// other labels and the session's name stay. If the branch contains further branches, these are
/// listed, and --force is required. The active branch also requires --force; its leaf moves to the
/// branch point. Sub-agents started by the branch, and forks of the session, are listed and stay.
///
/// While an agent may have the session open, no entries are moved (exit 3), unless --force is
/// given. A running pi keeps its leaf in memory, and could continue from an entry that is gone.
///
/// --restore puts everything back and removes SESSION.pruned. The session then has its old content,
/// byte for byte, plus any entries added since.
///
/// SESSION.pruned is written and synced before the session changes. If the command is killed, the
/// session is either unchanged or pruned, and --restore works in both cases. The path of
/// SESSION.pruned is printed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path or a name (see `pisess --help`)
    pub session: PathBuf,
    /// Prune payloads larger than SIZE bytes, such as 500000, 64k or 1.5M
    #[arg(long, value_name = "SIZE", default_value = "64k", value_parser = parse_amount)]
    pub over: u64,
    /// Prune only images; may be combined with --results and --details
    #[arg(long)]
    pub images: bool,
    /// Prune only results of tools and commands
    #[arg(long)]
    pub results: bool,
    /// Prune only details of extensions and tools, which a model never sees
    #[arg(long)]
    pub details: bool,
    /// Prune the entries above the last compaction of each branch that no branch needs
    #[arg(long, conflicts_with_all = ["over", "images", "results", "details", "branch"])]
    pub compacted: bool,
    /// Prune the branch that REF is on, from the nearest branch point above REF
    #[arg(long, value_name = "REF", conflicts_with_all = ["over", "images", "results", "details"])]
    pub branch: Option<String>,
    /// Restore the original (put back what was pruned)
    #[arg(long, conflicts_with_all = ["over", "images", "results", "details", "branch", "compacted"])]
    pub restore: bool,
    #[command(flatten)]
    pub write: WriteArgs,
}

impl Args {
    /// Returns the kinds of payloads given by options, in the order of [`ValueKind::PAYLOADS`]; all
    /// kinds if no option is given.
    fn payload_kinds(&self) -> Vec<ValueKind> {
        let is_given = [self.images, self.results, self.details];
        if !is_given.contains(&true) {
            return ValueKind::PAYLOADS.to_vec();
        }
        let kinds = ValueKind::PAYLOADS.into_iter().zip(is_given);
        kinds
            .filter(|(_, is_given)| *is_given)
            .map(|(kind, _)| kind)
            .collect()
    }

    /// Returns what the options ask for. clap refuses two of them together.
    fn task(&self) -> Task {
        if self.restore {
            Task::Restore
        } else if self.compacted {
            Task::Compacted
        } else if let Some(reference) = &self.branch {
            Task::Branch(reference.clone())
        } else {
            Task::Payloads {
                over: self.over,
                kinds: self.payload_kinds(),
            }
        }
    }

    /// Returns the path of the file that is pruned or restored: that of `-o`, else the session's
    /// own. A stream can only be planned with `-n`, under the path `-`.
    fn target_path(&self, open: &OpenSession) -> Result<PathBuf, Failure> {
        if let Some(output) = &self.write.output {
            return Ok(output.clone());
        }
        if let Some(file) = open.input.file() {
            return Ok(session_own_path(file));
        }
        if self.write.change.dry_run && !self.restore {
            return Ok(PathBuf::from("-"));
        }
        let failure = open.input.failure("a stream cannot be pruned");
        Err(failure.with_hint("give the path of a file"))
    }
}

/// Prunes a session, restores it, or prints what would be pruned. Of the session, the spans of
/// messages are loaded to find payloads, tokens for the summary of `-n`, and usage to find the
/// sub-agents of a branch.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.write.output.as_deref() == Some(Path::new("-")) {
        let why = "-o -: the payloads go to a file beside the result, so the result must be a file";
        return Err(Failure::usage_error(why).with_hint("give a path with -o"));
    }

    let is_dry_run = args.write.change.dry_run;
    // With -n, the entries that would be removed are printed as rows.
    let has_rows = is_dry_run && (args.branch.is_some() || args.compacted);
    let options = LoadOptions {
        message_spans: true,
        message_tokens: is_dry_run,
        usage: args.branch.is_some(),
        rows: if has_rows { row_options(ui).rows } else { None },
        ..LoadOptions::default()
    };
    let open = OpenSession::open(&args.session, options, ui)?;
    let target = args.target_path(&open)?;
    let job = PruneJob {
        task: args.task(),
        write: &args.write,
        open: &open,
        side_file: pruned_file(&target),
        target,
    };
    if args.restore {
        job.restore(ui)
    } else if is_dry_run {
        job.print_plan(ui)
    } else {
        job.prune(ui)
    }
}
