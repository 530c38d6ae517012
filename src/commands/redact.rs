//! `pisess redact`: a copy of a session without its secrets, or a report of them.

use crate::cli::guide::{Example, Guide};
use crate::cli::locate::{ArchiveScope, SessionStores, existing_store_roots};
use crate::cli::named::{FoundSessions, expand_arguments_to_read, take_range};
use crate::cli::open::{Input, OpenSession};
use crate::cli::options::{LastArgs, WriteArgs};
use crate::cli::output::{Column, Exit, Failure, Ui, plain_cell, to_visible};
use crate::cli::plan::{PlanTable, RowNoun};
use crate::cli::redaction::{
    self, REPLACE_SESSION_HINT, RedactionArgs, SecretsOutcome, describe_place, join_first_few,
    redact_to_copy, refuse_left_over, refuse_leftovers, report_redaction,
};
use crate::cli::rollouts::Rollouts;
use crate::format::format_count;
use crate::load::LoadOptions;
use crate::ops::extract::write_part;
use crate::ops::plan::copy_all;
use crate::ops::prune::pruned_file;
use crate::ops::redact::{FoundSecret, RedactionReport, find_remaining, redact_session};
use crate::redact::Redactor;
use crate::redact::values::SecretValue;
use crate::session::entry::LineNo;
use crate::session::period::Period;
use pisess_json::write::{Object, array};
use pisess_store::{self as store, Cause, Reach, ReadAt, StoreError};
use std::cell::RefCell;
use std::collections::BTreeMap;
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
        "Report them for all sessions of pi, oh-my-pi, Claude Code and Codex",
        "pisess redact --check ~",
    ),
])
.with_found("--check found a secret");

/// Write a copy of a session without its secrets.
///
/// Secrets are found by their exact value (--env-file, --secret-file) and by their shape. Known
/// shapes are private keys, provider keys, tokens in URLs and headers, passwords in connection
/// strings and commands, and values assigned to names such as API_KEY. All text is searched, with
/// JSON escapes decoded. A placeholder such as [REDACTED:github-pat#1] replaces each secret, always
/// the same for the same secret. Lines without a secret are copied byte for byte, and the copy is a
/// valid session.
///
/// Signatures, encrypted thinking and images cannot be searched, so they are removed; --keep-images
/// keeps images. Review the copy before you share it: no tool recognizes every secret by its shape.
///
/// Values with names such as doc_token or page_token (ids of documents, positions in lists) are not
/// secrets, and are kept. Example keys from documentation are also kept, and their number is
/// reported.
///
/// A secret found in one place is removed everywhere, even where it is encoded in base64 or
/// percent-encoded. A short or purely alphabetic secret could be an ordinary word. Such a secret is
/// removed where it is clearly one; other places with the same text are reported.
///
/// The copy is read again and searched for every secret that was found. If one is left, the copy is
/// deleted, and the command fails and names the place.
///
/// A session is never redacted in place. To replace one, write the copy beside it with -o, and remove
/// the old file with `pisess archive PATH` and `pisess archive --delete PATH`.
///
/// The archive also contains the sub-agents of the session and SESSION.pruned, which --delete
/// removes with it: the copy contains neither.
///
/// --check also reads sessions of Claude Code and Codex, and archives. With --all, it reads the
/// stores of pi and oh-my-pi only; with --archived, their archives, too. It does not read
/// SESSION.pruned, and says how many sessions have such a file.
///
/// With a range after SESSION, or with --last, the copy contains only these entries. The first of
/// them becomes a root entry. Entries that are not copied are searched, too: a secret found in them
/// is also removed from the copy.
#[derive(Clone, Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess redact [OPTIONS] -o <PATH> <SESSION> [RANGE]\n",
    "       pisess redact [OPTIONS] --check <SESSION>...\n",
    "       pisess redact [OPTIONS] --check --all",
))]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input; with --check or -n, any
    /// number of them, or directories to search at any depth
    #[arg(required_unless_present = "all", value_name = "SESSION")]
    pub sessions: Vec<PathBuf>,
    /// Include the sessions of all projects (with --check or -n)
    #[arg(short, long, conflicts_with_all = ["sessions", "output"])]
    pub all: bool,
    /// Include archived sessions, but not their sub-agents (with --check --all)
    #[arg(long, requires = "check", conflicts_with = "sessions")]
    pub archived: bool,
    /// The range that follows the session, moved here from `sessions`.
    #[arg(skip)]
    pub range: Option<String>,
    #[command(flatten)]
    pub last: LastArgs,
    #[command(flatten)]
    pub redaction: RedactionArgs,
    /// Change nothing; report what there is to do, and exit 1 if there is anything (here: secrets)
    #[arg(long, conflicts_with_all = ["output", "dry_run"])]
    pub check: bool,
    /// Accepted, because other programs want it; directories are searched in any case.
    #[arg(short, long, hide = true)]
    pub recursive: bool,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Writes a copy of one session without its secrets. With `--check` or `-n`, only reports the
/// secrets, of any number of sessions.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let mut args = args.clone();
    args.range = take_range(&mut args.sessions)?;
    if args.range.is_some() && args.last.entry_count.is_some() {
        return Err(
            Failure::usage_error("a range cannot be combined with --last")
                .with_hint("omit one of them"),
        );
    }
    let args = &args;
    if args.check || args.write.change.dry_run {
        return report_secrets(args, ui);
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
    let input = Input::open(session, ui)?;
    let values = args.redaction.read_values(&input, ui)?;
    let part = args.select_part(input, values, ui)?;
    write_copy(args, output, &part, ui)
}

/// Returns the failure for a copy that could not be written. To write it over the session is what
/// some want, and --force does not do it: so the hint names the commands that replace a session.
fn copy_error(error: StoreError) -> Failure {
    let is_session = matches!(error.cause, Cause::SameAsInput);
    let failure = Failure::from(error);
    if is_session {
        failure.with_hint(REPLACE_SESSION_HINT)
    } else {
        failure
    }
}

/// What is redacted of a session: all of it, or a range, as a session of its own.
struct SelectedPart {
    input: Input,
    /// The values to remove, besides those that are found by their shape.
    values: Vec<SecretValue>,
    /// By line of a range, its line in the session; empty for a whole session.
    original_lines: Vec<LineNo>,
}

impl SelectedPart {
    /// Replaces the lines in a report by those of the session.
    fn restore_lines(&self, report: &mut RedactionReport) {
        let lists = [
            &mut report.found,
            &mut report.unreplaceable,
            &mut report.kept_ordinary,
        ];
        for found in lists.into_iter().flatten() {
            if let Some(&original) = self.original_lines.get(found.line.0 as usize - 1) {
                found.line = original;
            }
        }
    }
}

impl Args {
    /// Selects what is redacted of a session.
    ///
    /// A range is redacted with all secrets of its session as given values: an entry outside may
    /// reveal that a text in the range is a secret.
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
        let session = &open.session;
        let range = open.resolve_range(self.range.as_deref(), self.last.entry_count)?;
        let mut redactor = self
            .redaction
            .new_redactor(&open.input, values.clone(), ui)?;
        open.input.map_read_error(redact_session(
            open.input.source(),
            &mut redactor,
            ui.processor_count(),
            None,
        ))?;
        let mut found_values = redactor.found_values();
        found_values.retain(|value| !value.is_ordinary());
        values.extend(found_values);

        let mut entries = range.entries(session);
        // In a file, a parent may follow its children.
        entries.sort_unstable();
        let mut original_lines = Vec::new();
        if session.title_slot.is_some() {
            original_lines.push(LineNo(1));
        }
        original_lines.push(session.header.line);
        for &ix in &entries {
            original_lines.push(session.entry(ix).line);
        }
        let reader = open.entry_reader();
        let part = store::spool_written(&mut |out| write_part(&reader, &entries, out))?;
        Ok(SelectedPart {
            input: open.input.with_copy(part),
            values,
            original_lines,
        })
    }
}

/// Searches sessions for secrets, and reports them without writing anything. The failure of a
/// single session is returned. A failure among several is reported, and the others are searched.
/// With `--check`, a secret raises the exit code to [`Exit::Found`]; with `-n` it does not.
fn report_secrets(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let sessions = if args.all {
        &existing_store_roots(ui)
    } else {
        &args.sessions
    };
    let FoundSessions {
        mut files,
        mut failures,
        ..
    } = expand_arguments_to_read(sessions, Reach::Whole, ui);
    let stores = SessionStores::locate(ui);
    if args.archived {
        files.extend(stores.find_archive_files(ArchiveScope::AllProjects)?);
    } else if args.all {
        stores.warn_archives_skipped(ArchiveScope::AllProjects, Period::default(), ui);
    }
    let is_one = files.len() + failures.len() == 1;
    if is_one && let Some(failure) = failures.pop() {
        return Err(failure);
    }
    let mut exit = Exit::Done;
    for failure in &failures {
        exit = exit.max(ui.report_failure(failure));
    }

    // The given values are read once, for the first session that can be opened.
    let mut values = None;
    let rollouts = Rollouts::default();
    let mut unsearched_pruned = 0;
    let mut printer = SecretPrinter {
        json: args.write.change.json,
        prints_plan: args.write.change.dry_run,
        is_one,
        session_count: 0,
        secret_count: 0,
        groups: SecretGroups::default(),
    };
    for file in files {
        // A dry run refuses what the run would refuse: sessions of other agents are only read.
        let input = if args.check {
            Input::open_one_to_read(&file.path, &rollouts, ui)
        } else {
            Input::open(&file.path, ui)
        };
        if let Ok(input) = &input
            && values.is_none()
        {
            values = Some(args.redaction.read_values(input, ui)?);
        }
        let search_result = input.and_then(|input| {
            if let Some(output) = &args.write.output
                && output != Path::new("-")
            {
                let force = args.write.change.force;
                store::check_create(output, input.file(), force).map_err(copy_error)?;
            }
            let values = values.clone().unwrap_or_default();
            let part = args.select_part(input, values, ui)?;
            let mut report = find_secrets(args, &part, ui)?;
            part.restore_lines(&mut report);
            Ok((part.input, report))
        });
        match search_result {
            Ok((input, report)) => {
                printer.print_session(&file.path, &input, &report, ui)?;
                unsearched_pruned += usize::from(has_pruned_file(&input)?);
            }
            Err(failure) if failure.is_transcript() && !file.named => {}
            Err(failure) if is_one => return Err(failure),
            // Of a session without entries, there is nothing to search.
            Err(failure) if failure.exit() == Exit::Found => {}
            Err(failure) => exit = exit.max(ui.report_failure(&failure)),
        }
    }

    printer.print_summary(ui)?;
    if unsearched_pruned > 0 {
        let sessions = format_count(unsearched_pruned, "session", "sessions");
        ui.warn(&format!(
            "what was pruned from {sessions} was not searched (hint: `pisess prune --restore` puts it back)"
        ));
    }
    if printer.secret_count > 0 && !args.write.change.dry_run {
        exit = exit.max(Exit::Found);
    }
    Ok(exit)
}

/// Whether something was pruned from a session, which is then in a file beside it.
fn has_pruned_file(input: &Input) -> Result<bool, Failure> {
    match input.file() {
        Some(file) => Ok(!store::is_free(&pruned_file(file.resolved()))?),
        None => Ok(false),
    }
}

/// Prints the secrets that are found: a row per secret in a single session, a row per kind and name
/// of the secrets in several sessions. With `-n`, the rows are a table. JSON has an object per
/// secret in either case.
struct SecretPrinter {
    json: bool,
    /// Whether the rows are a table with sizes.
    prints_plan: bool,
    /// Whether there is a single session.
    is_one: bool,
    /// The number of sessions that were searched.
    session_count: usize,
    secret_count: usize,
    groups: SecretGroups,
}

impl SecretPrinter {
    /// Prints the secrets of a session, or adds them to the groups that are printed last.
    fn print_session(
        &mut self,
        path: &Path,
        input: &Input,
        report: &RedactionReport,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let secrets = report.group_by_secret();
        for places in &secrets {
            if self.json {
                ui.print_json(&secret_json(path, places))?
            } else if !self.is_one {
                self.groups.add_secret(input, places);
            } else if !self.prints_plan {
                ui.print(&secret_line(input, places))?
            }
        }
        if self.is_one && self.prints_plan && !self.json {
            print_plan(&secrets, ui)?;
        }
        self.session_count += 1;
        self.secret_count += secrets.len();

        if self.is_one {
            // The findings come first, also where both streams are one.
            ui.flush()?;
            report_redaction(report, input, SecretsOutcome::Found, ui);
        } else {
            self.groups.address_count += report.address_count;
            self.groups.example_count += report.example_count;
        }
        Ok(())
    }

    /// Prints the groups, and the number of secrets if several sessions were searched.
    fn print_summary(&self, ui: &mut Ui) -> Result<(), Failure> {
        if self.prints_plan {
            self.groups.print_plan(ui)?;
        } else {
            self.groups.print_groups(ui)?;
        }
        self.groups.print_kept_counts(ui)?;
        if self.session_count > 1 {
            let sessions = format_count(self.session_count, "session", "sessions");
            let secrets = format_count(self.secret_count, "secret", "secrets");
            ui.print_status(&format!("{sessions} searched: {secrets}"));
        }
        Ok(())
    }
}

/// Searches a session for secrets, and for the given values.
fn find_secrets(args: &Args, part: &SelectedPart, ui: &Ui) -> Result<RedactionReport, Failure> {
    let input = &part.input;
    let mut redactor = args
        .redaction
        .new_redactor(input, part.values.clone(), ui)?;
    input.map_read_error(redact_session(
        input.source(),
        &mut redactor,
        ui.processor_count(),
        None,
    ))
}

/// The secrets of several sessions, by their kind and the name to which they are assigned: the same
/// name may be in hundreds of sessions.
#[derive(Default)]
struct SecretGroups {
    groups: BTreeMap<(&'static str, String), SecretGroup>,
    /// The number of e-mail addresses that are kept, and of example keys.
    address_count: usize,
    example_count: usize,
}

#[derive(Default)]
struct SecretGroup {
    /// The session and the place of the first secret.
    first_place: String,
    secret_count: usize,
    session_count: usize,
    /// The number of bytes of the secrets in all places.
    bytes: usize,
    /// The last session with a secret of the group.
    last_session: String,
}

impl SecretGroups {
    /// Adds a secret to its group. `places` are all places of the secret in one session. All
    /// secrets of a session are added before those of another, so that each session is counted
    /// once.
    fn add_secret(&mut self, input: &Input, places: &[&FoundSecret]) {
        let first_place = places[0];
        let key = (first_place.secret.kind, first_place.secret.name.clone());
        let group = self.groups.entry(key).or_default();
        if group.secret_count == 0 {
            group.first_place = format!(
                "{}:{} ({})",
                input.name,
                first_place.line.0,
                describe_place(first_place)
            );
        }
        group.secret_count += 1;
        group.bytes += count_bytes(places);
        if group.last_session != input.name {
            group.session_count += 1;
            group.last_session.clone_from(&input.name);
        }
    }

    /// Prints a line for each group.
    fn print_groups(&self, ui: &mut Ui) -> Result<(), Failure> {
        for ((kind, name), group) in &self.groups {
            let name = if name.is_empty() {
                String::new()
            } else {
                format!(" {}", to_visible(name))
            };
            let secrets = format_count(group.secret_count, "secret", "secrets");
            let sessions = format_count(group.session_count, "session", "sessions");
            ui.print(&format!(
                "{kind}{name}: {secrets} in {sessions}, first {}\n",
                group.first_place
            ))?;
        }
        Ok(())
    }

    /// Prints a row for each group, with the size of its secrets.
    fn print_plan(&self, ui: &mut Ui) -> Result<(), Failure> {
        let columns = [
            Column::text("kind"),
            Column::text("name"),
            Column::number("secrets"),
            Column::number("sessions"),
            Column::text("first place").allow_shrink(),
        ];
        let noun = RowNoun {
            one: "kind of secret",
            many: "kinds of secrets",
        };
        let mut plan = PlanTable::new(&columns, noun);
        for ((kind, name), group) in &self.groups {
            let cells = vec![
                plain_cell((*kind).to_owned()),
                plain_cell(to_visible(name)),
                plain_cell(group.secret_count.to_string()),
                plain_cell(group.session_count.to_string()),
                plain_cell(group.first_place.clone()),
            ];
            plan.add_row(group.bytes, cells, ui)?;
        }
        plan.print(ui)
    }

    /// Prints on standard error the numbers of e-mail addresses and of example keys that a copy
    /// would keep.
    fn print_kept_counts(&self, ui: &mut Ui) -> Result<(), Failure> {
        ui.flush()?;
        if self.address_count > 0 {
            let addresses = format_count(
                self.address_count,
                "e-mail address is",
                "e-mail addresses are",
            );
            ui.print_status(&format!("{addresses} kept"));
        }
        if self.example_count > 0 {
            let examples = format_count(self.example_count, "example key", "example keys");
            ui.print_status(&format!("{examples} kept"));
        }
        Ok(())
    }
}

/// Writes the redacted copy to a new file. The copy is searched again before the file appears at
/// its path: if a secret that was found is left in the copy, the command fails, and there is no
/// file.
fn write_copy(args: &Args, path: &Path, part: &SelectedPart, ui: &mut Ui) -> Result<Exit, Failure> {
    let input = &part.input;
    let mut redactor = args
        .redaction
        .new_redactor(input, part.values.clone(), ui)?;
    if path == Path::new("-") {
        return print_copy(args, part, &mut redactor, ui);
    }

    // `write` and `check` both use the redactor and the report, so these are borrowed at run time.
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
        let mut redactor = redactor.borrow_mut();
        let mut report = report.borrow_mut();
        left_secrets = find_remaining(copy, &mut redactor, &mut report, workers)?;
        refuse_leftovers(!left_secrets.is_empty())
    };
    let force = args.write.change.force;
    let commit_result = store::create_checked(path, input.file(), force, &mut write, &mut check);
    // If a secret is left, `commit_result` is an error, too, but without the place of the secret.
    refuse_left_over(&left_secrets, input)?;
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

/// Writes the copy to standard output, but only if no secret that was found is left in it.
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

/// Prints a row for each secret of a session, with the size of all its places. `secrets` are the
/// places of each, at least one.
fn print_plan(secrets: &[Vec<&FoundSecret>], ui: &mut Ui) -> Result<(), Failure> {
    let columns = [
        Column::text("secret"),
        Column::number("places"),
        Column::number("line"),
        Column::text("id"),
        Column::text("first place").allow_shrink(),
    ];
    let noun = RowNoun {
        one: "secret",
        many: "secrets",
    };
    let mut plan = PlanTable::new(&columns, noun);
    for places in secrets {
        let first_place = places[0];
        let cells = vec![
            plain_cell(described_placeholder(first_place)),
            plain_cell(places.len().to_string()),
            plain_cell(first_place.line.0.to_string()),
            plain_cell(visible_id(first_place)),
            plain_cell(describe_place(first_place)),
        ];
        plan.add_row(count_bytes(places), cells, ui)?;
    }
    plan.print(ui)
}

/// Returns the number of bytes of a secret in all its places.
fn count_bytes(places: &[&FoundSecret]) -> usize {
    places.iter().map(|place| place.secret.length).sum()
}

/// Returns the id of an entry with a secret; `-` if it has none.
fn visible_id(place: &FoundSecret) -> String {
    match &place.id {
        Some(id) => to_visible(&id.to_string_lossy()),
        None => "-".to_owned(),
    }
}

/// Returns the placeholder of a secret, and the name to which it is assigned.
fn described_placeholder(place: &FoundSecret) -> String {
    let secret = &place.secret;
    if secret.name.is_empty() {
        secret.placeholder.clone()
    } else {
        format!("{} of {}", secret.placeholder, to_visible(&secret.name))
    }
}

/// Returns a secret as text: its first place, and if it has several, the lines of all.
fn secret_line(input: &Input, places: &[&FoundSecret]) -> String {
    let first_place = places[0];
    let mut all_places = String::new();
    if places.len() > 1 {
        let mut lines: Vec<_> = places
            .iter()
            .map(|place| place.line.0.to_string())
            .collect();
        lines.dedup();
        all_places = format!(
            " ({} places, lines {})",
            places.len(),
            join_first_few(lines)
        );
    }
    format!(
        "{}:{}: {} {}, {} bytes: would become {}{all_places}\n",
        input.name,
        first_place.line.0,
        visible_id(first_place),
        describe_place(first_place),
        first_place.secret.length,
        described_placeholder(first_place),
    )
}

/// Returns a secret as JSON. `places` are all its places in the session, at least one. The members
/// `id`, `line` and `field` are those of the first place.
fn secret_json(path: &Path, places: &[&FoundSecret]) -> Vec<u8> {
    let first_place = places[0];
    let secret = &first_place.secret;
    Object::new()
        .str("path", &path.to_string_lossy())
        .text_or_null("id", first_place.id.as_ref())
        .number("line", f64::from(first_place.line.0))
        .str("field", &secret.field)
        .str("kind", secret.kind)
        .str("name", &secret.name)
        .str("placeholder", &secret.placeholder)
        .number("length", secret.length as f64)
        .json(
            "places",
            &array(places.iter().map(|place| place_json(place))),
        )
        .finish()
}

fn place_json(place: &FoundSecret) -> Vec<u8> {
    Object::new()
        .text_or_null("id", place.id.as_ref())
        .number("line", f64::from(place.line.0))
        .str("field", &place.secret.field)
        .finish()
}

/// Returns what was written as JSON.
fn outcome_json(path: &str, report: &RedactionReport) -> Vec<u8> {
    let row = Object::new()
        .str("path", path)
        .str("action", "create")
        .bool("dryRun", false)
        .number("lines", report.changed_lines as f64);
    redaction::add_counts(row, report).finish()
}
