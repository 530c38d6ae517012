//! `pisess prune`: moves parts of a session into a file beside it (`SESSION.pruned`), and back.

mod alternatives;
mod branch;
mod job;
mod many;
mod purge;
mod report;
mod restore;
mod secrets;

use crate::cli::guide::{Example, Guide};
use crate::cli::open::{Input, OpenSession};
use crate::cli::options::{WriteArgs, parse_amount};
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::pruned::session_own_path;
use crate::cli::redaction::SecretValueArgs;
use crate::cli::rows::entry::row_options;
use crate::cli::shared_secrets::SharedSecrets;
use crate::load::LoadOptions;
use crate::ops::prune::{ValueKind, pruned_file};
use job::{PruneJob, Task};
use many::prune_sessions;
use secrets::SecretScope;
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
        "List what would be moved from large sessions of all projects",
        "pisess prune -n --all --larger-than 10M --older-than 30d",
    ),
    Example::new(
        "Prune large payloads, and put them back",
        "pisess prune --over 1k session.jsonl && pisess prune --restore session.jsonl",
    ),
    Example::new(
        "Prune the entries that compactions replaced, and put them back",
        "pisess prune --compacted session.jsonl && pisess prune --restore session.jsonl",
    ),
    Example::new(
        "List the secrets in all sessions",
        "pisess prune -n --secrets --all",
    ),
    Example::new(
        "Take the secrets out of all sessions for good",
        "pisess prune --secrets --purge --all",
    ),
    Example::new(
        "Take a name out of all sessions for good",
        "printf 'Ines Voss' | pisess prune --secret-file - --purge --all",
    ),
    Example::new(
        "List what removing a branch would move",
        "pisess prune -n --branch 5c07d14b session.jsonl",
    ),
    Example::new(
        "Remove a branch for good",
        "pisess prune --branch 5c07d14b --purge session.jsonl",
    ),
    Example::new(
        "Take a question and its answer out of a conversation for good",
        "pisess prune --entries '3de1b752^..648dc1b3' --purge session.jsonl",
    ),
]);

/// Make a session smaller; what is removed can be restored.
///
/// Moves payloads larger than --over to SESSION.pruned. Payloads are images, results of tools and
/// commands, and details stored by extensions and tools. A short placeholder, such as `[image
/// removed, 1.2 MB png]`, replaces each payload. A model sees the placeholder of an image or a
/// result; it never sees details. All other bytes of the session stay as they are.
///
/// Given several sessions or a directory, or with --all or --project, each session is pruned. One
/// failure does not stop the others. With -n, a table has a row for each session. Given a
/// directory, prunes the *.jsonl files directly in it; -r includes its subdirectories. If little
/// can be removed, -n reports which option would remove more.
///
/// --compacted moves the entries that the last compaction of each branch replaced, unless another
/// branch needs them. It keeps branches without a compaction, and the recent entries that a
/// compaction kept. It also keeps settings, the name, context edits and the entries that they edit,
/// and data of extensions. The agent sees the same context and compacts the same way, but opens the
/// session fast. Tokens and cost of moved entries still count.
///
/// `prune --branch REF` removes the branch that contains REF and keeps it in SESSION.pruned. The
/// branch begins below the nearest branch point above REF. Labels of its entries move with them;
/// other labels and the session's name stay. If the branch contains further branches, the command
/// lists them and requires --force. Removing the current branch also requires --force; the
/// conversation then continues at the branch point. Sub-agents started by the branch, and forks of
/// the session, are listed but not removed.
///
/// --entries takes entries out of a conversation, such as a question that does not belong to it.
/// The conversation then continues from the entry before the removed entries to the entry after
/// them. A tool call and its results, on all branches, are removed together. Summaries that mention
/// the entries stay as they are.
///
/// --secrets moves each string that contains a secret, and leaves the same string with placeholders
/// such as [REDACTED:github-pat#1]. The secrets are those that `pisess redact --check` reports, and
/// the values in --env-file and --secret-file. Without --secrets, these two options take out only
/// their values, such as a name or an e-mail address, and no other secrets. A secret found in one
/// place is taken out of all places, in all of the given sessions. The result is searched again
/// before it is written. If a secret would remain, for example because it is a JSON number, nothing
/// is changed, and the command fails and names the place. Encrypted text and images cannot be
/// searched, and stay. A running pi still has the secrets in its memory. Sub-agents have sessions
/// of their own: give the directory, or --all. Archives are not searched: `pisess redact --check
/// --archived` reports their secrets.
///
/// With --secrets, --secret-file or --env-file, --purge removes these texts for good, and several
/// sessions may be given. An earlier SESSION.pruned is kept if it contains none of the texts;
/// otherwise it is removed.
///
/// A session given by path or name is refused (exit 3) if oh-my-pi may have it open. If pi may have
/// it open, only --compacted, --branch and --entries are refused: a running pi could continue from
/// an entry that they removed. A session found in a directory, or by --all or --project, is skipped
/// if either agent may have it open; if secrets were to be taken out of it, the exit code is then
/// 3. --force prunes open sessions, too.
///
/// --restore puts everything back and removes SESSION.pruned. The session then has its old content,
/// byte for byte, plus any entries added since. With other options, or alone, --purge removes
/// SESSION.pruned for good, so nothing can be restored.
///
/// SESSION.pruned is written and synced before the session changes. If the command is killed, the
/// session is either unchanged or pruned, and --restore works in both cases. The path of
/// SESSION.pruned is printed.
#[derive(Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess prune [OPTIONS] <SESSION>...\n",
    "       pisess prune [OPTIONS] --project <DIR>\n",
    "       pisess prune [OPTIONS] --all",
))]
#[command(mut_arg("env_file", |file| file
    .help("Remove the values in this dotenv file as well (without --secrets, only them)")
    .conflicts_with_all(OTHER_TASKS)))]
#[command(mut_arg("secret_file", |file| file
    .help("Remove the texts in this file, one per line, as well (without --secrets, only them)")
    .conflicts_with_all(OTHER_TASKS)))]
pub struct Args {
    /// The sessions, given by path or name (see `pisess --help`), or directories of them
    #[arg(value_name = "SESSION", required_unless_present_any = ["all", "project"], conflicts_with_all = ["all", "project"])]
    pub sessions: Vec<PathBuf>,
    /// Include the sessions of all projects
    #[arg(short, long, conflicts_with = "project")]
    pub all: bool,
    /// Choose sessions of the project directory DIR
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Choose sessions whose newest message is older than TIME: 90d, 12w, 6mo, 2026-10-31 or
    /// 2026-10 (before that day or month)
    #[arg(long, value_name = "TIME")]
    pub older_than: Option<String>,
    /// Choose sessions larger than SIZE bytes, such as 500000, 64k or 1.5M
    #[arg(long, value_name = "SIZE", value_parser = parse_amount)]
    pub larger_than: Option<u64>,
    /// Include subdirectories (-n lists their sessions even without -r)
    #[arg(short, long)]
    pub recursive: bool,
    /// Prune payloads larger than SIZE bytes, such as 500000, 64k or 1.5M (default: 64k; with
    /// --images alone, images of every size)
    #[arg(long, value_name = "SIZE", value_parser = parse_amount)]
    pub over: Option<u64>,
    /// Prune only images; may be combined with --results and --details
    #[arg(long)]
    pub images: bool,
    /// Prune only results of tools and commands
    #[arg(long)]
    pub results: bool,
    /// Prune only details of extensions and tools, which a model never sees
    #[arg(long)]
    pub details: bool,
    /// Prune the entries that the last compaction of each branch replaced, unless another branch
    /// needs them
    #[arg(long, conflicts_with_all = ["over", "images", "results", "details", "branch"])]
    pub compacted: bool,
    /// Prune the branch that contains REF: it begins below the nearest branch point above REF, and
    /// everything below its first entry belongs to it
    #[arg(long, value_name = "REF", conflicts_with_all = ["over", "images", "results", "details"])]
    pub branch: Option<String>,
    /// Prune these entries, a REF or a range; may be given several times
    #[arg(long, alias = "entry", value_name = "REF", conflicts_with_all = ["over", "images", "results", "details", "branch", "compacted", "secrets", "restore"])]
    pub entries: Vec<String>,
    /// Prune only the strings that contain secrets, leaving placeholders
    #[arg(long, conflicts_with_all = ["over", "images", "results", "details", "branch", "compacted"])]
    pub secrets: bool,
    #[command(flatten)]
    pub values: SecretValueArgs,
    /// Restore what an earlier run changed (puts back what was pruned)
    #[arg(long, conflicts_with_all = ["over", "images", "results", "details", "branch", "compacted", "secrets"])]
    pub restore: bool,
    /// Remove SESSION.pruned (after pruning, if another option prunes), so that nothing can be
    /// restored
    #[arg(long, conflicts_with_all = ["restore", "output"])]
    pub purge: bool,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// The options for another task than to take out secrets.
const OTHER_TASKS: [&str; 8] = [
    "over",
    "images",
    "results",
    "details",
    "compacted",
    "branch",
    "entries",
    "restore",
];

/// Payloads of more bytes are pruned by default.
const DEFAULT_PAYLOAD_LIMIT: u64 = 64_000;

impl Args {
    /// Returns the kinds of payloads given by options, in the order of [`ValueKind::PAYLOADS`]; all
    /// kinds if no option is given.
    fn payload_kinds(&self) -> Vec<ValueKind> {
        let mut kinds = ValueKind::PAYLOADS.to_vec();
        if !self.images && !self.results && !self.details {
            return kinds;
        }
        kinds.retain(|kind| match kind {
            ValueKind::Image => self.images,
            ValueKind::Result => self.results,
            ValueKind::Details => self.details,
            ValueKind::Link => false,
        });
        kinds
    }

    /// Returns the number of bytes above which a payload is pruned. If only images are requested,
    /// the default is 0: then all images are unwanted, whatever their size.
    fn payload_limit(&self) -> u64 {
        let only_images = self.images && !self.results && !self.details;
        match self.over {
            Some(limit) => limit,
            None if only_images => 0,
            None => DEFAULT_PAYLOAD_LIMIT,
        }
    }

    /// Returns which secrets are to be taken out; `None` for another task.
    fn secret_scope(&self) -> Option<SecretScope> {
        if self.secrets {
            Some(SecretScope::RecognizedAndGiven)
        } else if self.values.is_given() {
            Some(SecretScope::GivenOnly)
        } else {
            None
        }
    }

    fn takes_secrets(&self) -> bool {
        self.secret_scope().is_some()
    }

    /// Returns the task that the options request. clap ensures that there is only one. If it takes
    /// secrets out, `values` are among them.
    fn task<'a>(&self, values: &'a SharedSecrets) -> Task<'a> {
        if self.restore {
            Task::Restore
        } else if let Some(scope) = self.secret_scope() {
            Task::Secrets { scope, values }
        } else if self.compacted {
            Task::Compacted
        } else if let Some(reference) = &self.branch {
            Task::Branch(reference.clone())
        } else if !self.entries.is_empty() {
            Task::Entries(self.entries.clone())
        } else {
            Task::Payloads {
                over: self.payload_limit(),
                kinds: self.payload_kinds(),
            }
        }
    }

    /// Whether entries are removed, and not only payloads.
    fn removes_entries(&self) -> bool {
        self.compacted || self.branch.is_some() || !self.entries.is_empty()
    }

    /// Whether SESSION.pruned is to be removed, and nothing is to be pruned before.
    fn only_purges(&self) -> bool {
        let chooses_payloads = self.over.is_some() || self.images || self.results || self.details;
        let prunes = chooses_payloads || self.removes_entries() || self.takes_secrets();
        self.purge && !prunes
    }

    /// Whether the change can be taken back. `--purge` removes what would be needed for that.
    fn is_reversible(&self) -> bool {
        !self.purge
    }

    /// Returns the session if exactly one is given. `None` for a directory, or if an option chooses
    /// sessions.
    fn single_session(&self) -> Option<&Path> {
        if self.older_than.is_some() || self.larger_than.is_some() {
            return None;
        }
        match &self.sessions[..] {
            [session] if !session.is_dir() => Some(session),
            _ => None,
        }
    }

    /// Returns the options for loading a session: with the spans of messages, in which payloads are
    /// found, and with usage if the sub-agents of a branch are needed.
    fn load_options(&self) -> LoadOptions {
        LoadOptions {
            message_spans: true,
            usage: self.branch.is_some(),
            ..LoadOptions::default()
        }
    }

    /// Returns the path of the file that is pruned or restored: `-o`, or the session's own path. A
    /// stream has the path `-`. It can only be pruned with `-n`, which writes nothing.
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

/// Prunes sessions, restores them, or prints what would be pruned.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.write.output.as_deref() == Some(Path::new("-")) {
        let why = "-o -: the payloads go to a file beside the result, so the result must be a file";
        return Err(Failure::usage_error(why).with_hint("give a path with -o"));
    }

    // If secrets are taken out, nothing else is removed for good.
    let purges_everything = args.purge && !args.takes_secrets();
    if purges_everything && args.write.change.json {
        return Err(Failure::usage_error("--purge has no result as JSON").with_hint("omit --json"));
    }
    match args.single_session() {
        Some(session) => prune_single(session, args, ui),
        None if purges_everything => Err(Failure::usage_error("--purge takes one session")
            .with_hint("repeat the command for each session")),
        None => prune_sessions(args, ui),
    }
}

/// Prunes or restores a single session. With `-n`, prints a plan with a row for each of its parts.
fn prune_single(session: &Path, args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let is_dry_run = args.write.change.dry_run;
    // With -n, the entries that would be removed, or lose a payload, are printed as rows.
    let has_rows = is_dry_run && !args.takes_secrets() && !args.restore;
    let options = LoadOptions {
        message_tokens: is_dry_run,
        rows: if has_rows { row_options(ui).rows } else { None },
        ..args.load_options()
    };
    let open = if args.is_reversible() {
        OpenSession::open_to_change(session, options, ui)?
    } else {
        OpenSession::open(session, options, ui)?
    };
    let target = args.target_path(&open)?;
    let given = args.values.read_values(Some(&open.input), ui)?;
    let secrets = SharedSecrets::given_only(given);
    let job = PruneJob {
        task: args.task(&secrets),
        write: &args.write,
        open: &open,
        side_file: pruned_file(&target),
        target,
        is_named: true,
        is_purged: args.purge,
    };
    if args.only_purges() {
        return job.purge(ui);
    }
    let exit = if args.restore {
        job.restore(ui)?
    } else if is_dry_run {
        job.print_plan(ui)?
    } else {
        job.prune(ui)?
    };
    // SESSION.pruned was purged of secrets together with the rewrite.
    let remains_to_purge = args.purge && !args.takes_secrets();
    if !remains_to_purge || exit != Exit::Done {
        return Ok(exit);
    }
    if is_dry_run {
        ui.print_status("with --purge, nothing of it could be restored");
        return Ok(exit);
    }
    purge_pruned(&job, args, &secrets, ui)
}

/// Removes what `job` has pruned for good.
fn purge_pruned(
    job: &PruneJob,
    args: &Args,
    secrets: &SharedSecrets,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    // The session was rewritten, so it is opened again.
    let input = Input::open_path(&job.target, ui.stdout_predicate())?;
    let pruned_open = OpenSession::load(input, LoadOptions::default())?;
    let purge_job = PruneJob {
        task: args.task(secrets),
        write: &args.write,
        open: &pruned_open,
        side_file: job.side_file.clone(),
        target: job.target.clone(),
        is_named: true,
        is_purged: true,
    };
    let name = &job.open.input.name;
    purge_job
        .purge(ui)
        .map_err(|failure| failure.after_writing(name))
}
