//! `pisess redact`: writes a copy of a session without its secrets, or reports them.

mod check;
mod report;

use crate::cli::guide::{Example, Guide};
use crate::cli::named::take_range;
use crate::cli::open::{Input, OpenSession};
use crate::cli::options::{LastArgs, WriteArgs};
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::redaction::{
    self, COPY_LEFT_OVER_HINT, PRUNE_SECRETS_HINT, RedactionArgs, SecretsOutcome, redact_to_copy,
    refuse_left_over, refuse_leftovers, report_redaction,
};
use crate::cli::sources::SourceArgs;
use crate::load::LoadOptions;
use crate::ops::extract::write_part;
use crate::ops::plan::copy_all;
use crate::ops::redact::{RedactionReport, find_remaining, redact_session};
use crate::redact::Redactor;
use crate::redact::values::SecretValue;
use crate::session::Session;
use crate::session::entry::{EntryIx, LineNo};
use pisess_json::write::Object;
use pisess_store::{self as store, Cause, ReadAt, StoreError};
use std::cell::RefCell;
use std::io;
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Make a copy without secrets",
        "pisess redact session.jsonl -o clean.jsonl",
    ),
    Example::new(
        "Remove the values of a dotenv file, too",
        "pisess redact session.jsonl --env-file .env -o clean.jsonl",
    ),
    Example::new(
        "Make a copy of the last ten entries without secrets",
        "pisess redact --last 10 session.jsonl -o end.jsonl",
    ),
    Example::new(
        "Report secrets, and write nothing",
        "pisess redact --check session.jsonl",
    ),
    Example::new(
        "Report them for all sessions below a directory",
        "pisess redact --check sessions",
    ),
    Example::new(
        "Report them for all sessions of pi, oh-my-pi and other agents",
        "pisess redact --check --all --source all",
    ),
])
.with_found("--check found a secret");

/// Write a copy of a session without its secrets.
///
/// Secrets are found by their exact value (--env-file, --secret-file) and by their shape. Known
/// shapes are private keys, provider keys, tokens in URLs and headers, passwords in connection
/// strings and commands, and values assigned to names such as API_KEY. All text is searched, with
/// JSON escapes decoded. A placeholder such as [REDACTED:github-pat#1] replaces each secret, always
/// the same for the same secret. Lines from which nothing is removed are copied byte for byte, and
/// the copy is a valid session.
///
/// Signatures, encrypted thinking and images cannot be searched, so they are removed from their
/// lines; --keep-images keeps images. Review the copy before you share it: no tool recognizes every
/// secret by its shape.
///
/// Values with names such as doc_token or page_token (ids of documents, positions in lists) are not
/// secrets, and are kept. Example keys from documentation are also kept, and their number is
/// reported.
///
/// A secret found in one place is removed everywhere, even where it is encoded in base64, for a URL
/// or for HTML. There is one exception: the text of a short or purely alphabetic secret could be an
/// ordinary word elsewhere. Such a text is removed only where it is clearly the secret; other
/// places with the text are reported.
///
/// The copy is read again and searched for every secret that was found. If a secret is left in any
/// other place than those reported, the copy is deleted, and the command fails and names the place.
///
/// redact changes no session. `pisess prune --secrets SESSION` takes the secrets out of the session
/// itself, and with --purge for good.
///
/// For one session, --check prints a row for each secret. For several sessions, it prints a heading
/// for each session with secrets: its id, title and path. Below the heading is a row for each kind
/// of secret, with the line of the first secret and the number of secrets. A secret found in one of
/// several sessions is searched for in all of them. Rows, ids and titles never contain a secret; a
/// path is printed as it is.
///
/// --check also accepts archives, by path, and sessions of other agents, by path or id. With --all,
/// it reads the stores of pi and oh-my-pi (the directories in which they keep sessions); with
/// `--source all`, also those of the other agents; with --archived, the archives of pi and
/// oh-my-pi, too. SESSION.pruned is not searched; a note counts the sessions that have such a file.
///
/// With a range after SESSION, or with --last, the copy contains only the entries of the range. The
/// first entry of the range becomes a root entry. Entries that are not copied are searched, too: a
/// secret found in them is also removed from the copy.
#[derive(Clone, Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess redact [OPTIONS] -o <PATH> <SESSION> [RANGE]\n",
    "       pisess redact [OPTIONS] --check [SESSION]...\n",
    "       pisess redact [OPTIONS] --check --all",
))]
#[command(mut_arg("output", |output| output.help("Write the result to PATH (a copy; - for standard output)")))]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input; with --check or -n, any
    /// number of them, or directories to search at any depth (default with --check: the sessions of
    /// the current directory)
    #[arg(required_unless_present_any = ["all", "check"], value_name = "SESSION")]
    pub sessions: Vec<PathBuf>,
    /// Include the sessions of all projects (with --check or -n)
    #[arg(short, long, conflicts_with_all = ["sessions", "output"])]
    pub all: bool,
    /// Include archived sessions, but not their sub-agents (with --check, without SESSION)
    #[arg(long, requires = "check", conflicts_with = "sessions")]
    pub archived: bool,
    #[command(flatten)]
    pub source: SourceArgs,
    /// The range that follows the session, moved here from `sessions`.
    #[arg(skip)]
    pub range: Option<String>,
    #[command(flatten)]
    pub last: LastArgs,
    #[command(flatten)]
    pub redaction: RedactionArgs,
    /// Change nothing; report what there is to do, and exit 1 if there is anything (secrets to
    /// remove)
    #[arg(long, conflicts_with_all = ["output", "dry_run"])]
    pub check: bool,
    /// Accepted, because other programs want it; directories are searched in any case.
    #[arg(short, long, hide = true)]
    pub recursive: bool,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Writes a copy of one session without its secrets. With `--check` or `-n`, only reports the
/// secrets in any number of sessions.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    // clap takes a range for a session.
    let mut args = args.clone();
    args.range = take_range(&mut args.sessions)?;
    let args = &args;
    args.refuse_conflicts()?;
    if args.check || args.write.change.dry_run {
        return check::report_secrets(args, ui);
    }
    if args.all {
        return Err(Failure::usage_error("--all requires --check or -n")
            .with_hint("redact one session at a time, with -o"));
    }
    let Some(output) = &args.write.output else {
        return Err(Failure::usage_error(
            "redact requires -o: it never changes the session itself",
        )
        .with_hint("give the path of the copy with -o, or --check for a report"));
    };
    let [session] = &args.sessions[..] else {
        return Err(Failure::usage_error("-o takes only one session")
            .with_hint("--check reports on any number of them"));
    };
    let input = Input::open_unconverted(session, ui)?;
    let values = args.redaction.values.read_values(Some(&input), ui)?;
    let part = args.select_part(input, values, ui)?;
    write_copy(args, output, &part, ui)
}

/// Returns the failure for a copy that could not be written. Some users want to write the copy over
/// the session, which `--force` does not permit. So in that case the hint names the commands that
/// replace a session.
fn copy_error(error: StoreError) -> Failure {
    let is_session = matches!(error.cause, Cause::SameAsInput);
    let failure = Failure::from(error);
    if is_session {
        failure.with_hint(PRUNE_SECRETS_HINT)
    } else {
        failure
    }
}

/// The part of a session to redact: the whole session, or a range as a session of its own.
struct SelectedPart {
    input: Input,
    /// The values to remove, in addition to secrets that are recognized by their form.
    values: Vec<SecretValue>,
    /// For each line of a range, the number of the same line in the session. Empty for a whole
    /// session.
    original_lines: Vec<LineNo>,
}

impl SelectedPart {
    /// Replaces the line numbers in a report by those in the session.
    fn restore_lines(&self, report: &mut RedactionReport) {
        let lists = [
            &mut report.found,
            &mut report.unreplaceable,
            &mut report.kept_ordinary,
        ];
        for found in lists.into_iter().flatten() {
            // Lines are counted from 1.
            let index = found.line.0 as usize - 1;
            if let Some(&original) = self.original_lines.get(index) {
                found.line = original;
            }
        }
    }
}

impl Args {
    /// Refuses combinations of options that clap cannot refuse.
    fn refuse_conflicts(&self) -> Result<(), Failure> {
        if self.range.is_some() && self.last.entry_count.is_some() {
            let failure = Failure::usage_error("a range cannot be combined with --last");
            return Err(failure.with_hint("omit one of them"));
        }
        if self.source.is_given() && !self.check {
            let failure = Failure::usage_error("--source requires --check");
            return Err(
                failure.with_hint("the sessions of other agents are only searched for secrets")
            );
        }
        Ok(())
    }

    /// Selects the part of a session to redact.
    ///
    /// All secrets of the session are removed from a range, as if the user had given them: an entry
    /// outside the range may reveal that a text in it is a secret.
    fn select_part(
        &self,
        input: Input,
        mut values: Vec<SecretValue>,
        ui: &Ui,
    ) -> Result<SelectedPart, Failure> {
        if self.range.is_none() && self.last.entry_count.is_none() {
            return Ok(SelectedPart {
                input,
                values,
                original_lines: Vec::new(),
            });
        }

        let open = OpenSession::load(input, LoadOptions::default())?;
        let range = open.resolve_range(self.range.as_deref(), self.last.entry_count)?;
        values.extend(self.find_values(&open.input, &values, ui)?);
        let mut entries = range.entries(&open.session);
        // Entries are written in the order of the file, which the path may not have.
        entries.sort_unstable();
        let reader = open.entry_reader();
        let part = store::spool_written(&mut |out| write_part(&reader, &entries, out))?;
        Ok(SelectedPart {
            original_lines: list_part_lines(&open.session, &entries),
            input: open.input.with_copy(part),
            values,
        })
    }

    /// Returns the secrets of a session, except texts that may also be ordinary words. `given` are
    /// the values that the user gave.
    fn find_values(
        &self,
        input: &Input,
        given: &[SecretValue],
        ui: &Ui,
    ) -> Result<Vec<SecretValue>, Failure> {
        let mut redactor = self.redaction.new_redactor(input, given.to_vec(), ui)?;
        let workers = ui.processor_count();
        let no_copy = None;
        let searched = redact_session(input.source(), &mut redactor, workers, no_copy);
        input.map_read_error(searched)?;
        let mut found_values = redactor.found_values();
        found_values.retain(|value| !value.is_ordinary());
        Ok(found_values)
    }
}

/// Returns the lines of the session that a part has: title line, header and entries. The index of a
/// line is its place in the part.
fn list_part_lines(session: &Session, entries: &[EntryIx]) -> Vec<LineNo> {
    let mut lines = Vec::new();
    if session.title_slot.is_some() {
        lines.push(LineNo(1));
    }
    lines.push(session.header.line);
    for &ix in entries {
        lines.push(session.entry(ix).line);
    }
    lines
}

/// Writes the redacted copy to a new file. The copy is searched again before it appears at its
/// path. If one of the found secrets is left in it, the command fails, and no file is created.
fn write_copy(args: &Args, path: &Path, part: &SelectedPart, ui: &mut Ui) -> Result<Exit, Failure> {
    let input = &part.input;
    let mut redactor = args
        .redaction
        .new_redactor(input, part.values.clone(), ui)?;
    if path == Path::new("-") {
        return print_copy(args, part, &mut redactor, ui);
    }

    // The closures `write` and `check` both use the redactor and the report, so these are borrowed
    // at run time.
    let redactor = RefCell::new(redactor);
    let report = RefCell::new(RedactionReport::default());
    let workers = ui.processor_count();
    let mut write = |out: &mut dyn io::Write| {
        let redacted = redact_session(
            input.source(),
            &mut redactor.borrow_mut(),
            workers,
            Some(out),
        )?;
        report.replace(redacted);
        Ok(())
    };
    let mut left_secrets = Vec::new();
    let mut check = |copy: &dyn ReadAt| {
        let remaining = find_remaining(copy, &mut redactor.borrow_mut(), workers)?;
        report.borrow_mut().kept_ordinary = remaining.ordinary;
        left_secrets = remaining.secrets;
        refuse_leftovers(!left_secrets.is_empty())
    };
    let force = args.write.change.force;
    let protected = input.protected_file();
    let commit_result = store::create_checked(path, protected, force, &mut write, &mut check);
    // If a secret is left, `commit_result` is an error, too, but does not name the place.
    refuse_left_over(&left_secrets, input, COPY_LEFT_OVER_HINT)?;
    let committed = commit_result.map_err(copy_error)?;
    let mut report = report.into_inner();
    part.restore_lines(&mut report);

    ui.report_commit_warnings(&committed);
    report_redaction(&report, input, SecretsOutcome::LeftOut, ui);
    let name = path.to_string_lossy();
    ui.print_after_write(&name, |ui| {
        if args.write.change.json {
            ui.print_json(&outcome_json(&name, &report))
        } else {
            ui.print_path(&name)
        }
    })?;
    Ok(Exit::Done)
}

/// Writes the copy to standard output, if none of the found secrets is left in it.
fn print_copy(
    args: &Args,
    part: &SelectedPart,
    redactor: &mut Redactor,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let input = &part.input;
    if args.write.change.json {
        return Err(Failure::stdout_carries_session());
    }
    let (copy, mut report) = redact_to_copy(input, redactor, ui.processor_count())?;
    part.restore_lines(&mut report);
    copy_all(&copy, &mut *ui.verbatim_stdout()).map_err(Failure::from_stdout_error)?;
    ui.flush()?;
    report_redaction(&report, input, SecretsOutcome::LeftOut, ui);
    Ok(Exit::Done)
}

/// Returns the result as JSON.
fn outcome_json(path: &str, report: &RedactionReport) -> Vec<u8> {
    let row = Object::new()
        .str("path", path)
        .str("action", "create")
        .bool("dryRun", false)
        .number("lines", report.changed_lines as f64);
    redaction::add_counts(row, report).finish()
}
