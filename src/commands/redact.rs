//! `pisess redact`: a copy of a session without its secrets, or a report of them.

use crate::cli::guide::{Example, Guide};
use crate::cli::open::Input;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui, visible};
use crate::cli::redaction::{RedactionArgs, counted, none_left, place, refuse_any, summarize};
use crate::ops::redact::{Found, Report, left_over, redact};
use crate::redact::Redactor;
use pisess_json::write::Object;
use pisess_store as store;
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// The examples and exit codes shown after the options in the help, and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "redact",
    examples: &[
        Example::new("Make a copy without secrets", "pisess redact session.jsonl -o clean.jsonl"),
        Example::new(
            "Remove the values of a dotenv file, too",
            "pisess redact session.jsonl --env-file .env -o clean.jsonl",
        ),
        Example::new("Report secrets, and write nothing", "pisess redact --check session.jsonl"),
    ],
    found: Some("--check found a secret"),
    writes: true,
    refers: false,
};

/// Write a copy of a session without its secrets.
///
/// Secrets are found by their exact value (--env-file, --secret-file) and by their shape: private keys,
/// provider keys, tokens in URLs and headers, passwords in connection strings. All text in the session is
/// searched, with JSON escapes decoded. Each secret is replaced by a placeholder such as
/// [REDACTED:github-pat#1], always the same for the same secret. Lines without a secret are copied byte for
/// byte, and the copy is a valid session.
///
/// Signatures, encrypted thinking and images cannot be searched. They are removed; --keep-images keeps images.
/// Review the copy before you share it: no tool recognizes every secret by its shape.
///
/// A secret that is found in one place is removed everywhere, also in base64 or encoded for a URL. A password or the
/// value of a variable that is shorter than 8 characters or consists of letters is removed only where it is recognized;
/// where else its text occurs is reported.
///
/// The copy is read again and searched for every secret that was found. If one is left, the copy is deleted, and the
/// command fails with its place.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// What to remove.
    #[command(flatten)]
    pub redaction: RedactionArgs,
    /// Report secrets and write nothing; exit 1 if there are any
    #[arg(long, conflicts_with_all = ["output", "dry_run"])]
    pub check: bool,
    /// How to write.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let input = Input::open(&args.session, ui)?;
    let mut redactor = args.redaction.redactor(&input, ui)?;
    let job = Job { args, input: &input, workers: ui.processors() };
    match (&args.write.output, args.check || args.write.dry_run) {
        (_, true) => job.report(&mut redactor, ui),
        (Some(path), false) if path == Path::new("-") => job.stream(&mut redactor, ui),
        (Some(path), false) => job.write(path, &mut redactor, ui),
        (None, false) => Err(Failure::usage("redact requires -o: it never changes the session itself")
            .hint("give the path of the copy with -o, or --check for a report")),
    }
}

struct Job<'a> {
    args: &'a Args,
    input: &'a Input,
    workers: usize,
}

impl Job<'_> {
    /// Prints what is found, one row per secret.
    fn report(&self, redactor: &mut Redactor, ui: &mut Ui) -> Result<Exit, Failure> {
        let report = redact(self.input.source(), redactor, self.workers, None)
            .map_err(|error| self.input.unreadable(error))?;
        for found in &report.found {
            if self.args.write.json { ui.print_json(&row(found))? } else { ui.print(&self.line(found))? }
        }
        summarize(&report, self.input, ui);
        Ok(if report.found.is_empty() || self.args.write.dry_run { Exit::Done } else { Exit::Found })
    }

    /// Writes the copy to a new file, which appears only if no secret that was found is left in it.
    fn write(&self, path: &Path, redactor: &mut Redactor, ui: &mut Ui) -> Result<Exit, Failure> {
        let (report, mut left) = (RefCell::new(Report::default()), Vec::new());
        let redactor = RefCell::new(redactor);
        let committed = store::create_checked(
            path,
            self.input.file(),
            self.args.write.force,
            &mut |out| {
                let made = redact(self.input.source(), &mut redactor.borrow_mut(), self.workers, Some(out))?;
                report.replace(made);
                Ok(())
            },
            &mut |copy| {
                let (mut redactor, mut report) = (redactor.borrow_mut(), report.borrow_mut());
                left = left_over(copy, &mut redactor, &mut report, self.workers)?;
                refuse_any(!left.is_empty())
            },
        );
        none_left(&left, self.input)?;
        let (committed, report) = (committed?, report.into_inner());
        ui.warn_of(&committed);
        summarize(&report, self.input, ui);
        let name = path.to_string_lossy();
        ui.print_after(&name, |ui| {
            if self.args.write.json {
                ui.print_json(&outcome(&name, &report))
            } else {
                ui.print(&format!("{}\n", visible(&name)))
            }
        })?;
        Ok(Exit::Done)
    }

    /// Writes the copy to standard output, but only if no secret that was found is left in it.
    fn stream(&self, redactor: &mut Redactor, ui: &mut Ui) -> Result<Exit, Failure> {
        if self.args.write.json {
            return Err(Failure::usage("--json: standard output carries the session")
                .hint("give a path with -o, or omit --json"));
        }
        let mut report = Report::default();
        let copy = store::spool_written(&mut |out| {
            report = redact(self.input.source(), redactor, self.workers, Some(out))?;
            Ok(())
        })?;
        let left = left_over(&copy, redactor, &mut report, self.workers);
        none_left(&left.map_err(|error| self.input.unreadable(error))?, self.input)?;
        crate::ops::plan::copy_all(&copy, &mut *ui.verbatim()).map_err(Failure::output)?;
        ui.flush()?;
        summarize(&report, self.input, ui);
        Ok(Exit::Done)
    }

    fn line(&self, found: &Found) -> String {
        let id = found.id.as_ref().map_or_else(|| "-".to_owned(), |id| visible(&id.to_string_lossy()));
        let (secret, field) = (&found.secret, place(found));
        format!(
            "{}:{}: {id} {} in {field}, {} bytes\n",
            self.input.name, found.line.0, secret.placeholder, secret.length
        )
    }
}

fn row(found: &Found) -> Vec<u8> {
    Object::new()
        .text_or_null("id", found.id.as_ref())
        .number("line", f64::from(found.line.0))
        .str("field", &found.secret.field)
        .str("kind", found.secret.kind)
        .str("placeholder", &found.secret.placeholder)
        .number("length", found.secret.length as f64)
        .finish()
}

fn outcome(path: &str, report: &Report) -> Vec<u8> {
    let row = Object::new()
        .str("path", path)
        .str("action", "create")
        .bool("dryRun", false)
        .number("lines", report.lines as f64);
    counted(row, report).finish()
}
