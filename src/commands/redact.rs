//! `pisess redact`: a copy of a session without its secrets, or a report of them.

use super::given;
use super::input::Input;
use crate::core::json::write::Object;
use crate::core::ops::redact::{Found, Report, left_over, redact};
use crate::core::redact::people::{People, home_of};
use crate::core::redact::values::{Value, Values, from_env_file, from_secret_file};
use crate::core::redact::{Options, Redactor};
use crate::core::store::{self, ReadAt};
use crate::guide::{Example, Guide};
use crate::options::WriteArgs;
use crate::ui::{Exit, Failure, Ui, visible};
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
/// The copy is read again and searched for every secret that was found. If one is left, the copy is deleted,
/// and the command fails.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Also remove the values in this dotenv file
    #[arg(long, value_name = "FILE")]
    pub env_file: Vec<PathBuf>,
    /// Also remove the secrets in this file, one per line
    #[arg(long, value_name = "FILE")]
    pub secret_file: Vec<PathBuf>,
    /// Replace home directories by `~` and user names by `user`
    #[arg(long)]
    pub paths: bool,
    /// Keep images, which cannot be searched for secrets
    #[arg(long)]
    pub keep_images: bool,
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
    let cwd = input.header()?.cwd.map(|cwd| cwd.to_string());
    let values = values(args, &input, ui)?;
    let people = args.paths.then(|| people(cwd.as_deref(), ui));
    let mut redactor = Redactor::new(values, Options { keep_images: args.keep_images, people });
    let job = Job { args, input: &input, workers: ui.processors() };
    match (&args.write.output, args.check || args.write.dry_run) {
        (_, true) => job.report(&mut redactor, ui),
        (Some(path), false) if path == Path::new("-") => job.stream(&mut redactor, ui),
        (Some(path), false) => job.write(path, &mut redactor, ui),
        (None, false) => Err(Failure::usage("redact requires -o: it never changes the session itself")
            .hint("give the path of the copy with -o, or --check for a report")),
    }
}

/// The values that the named files hold.
fn values(args: &Args, session: &Input, ui: &mut Ui) -> Result<Vec<Value>, Failure> {
    let mut all = Values::default();
    let files = args.env_file.iter().map(|path| (path, from_env_file as fn(&[u8]) -> Values));
    let lists = args.secret_file.iter().map(|path| (path, from_secret_file as fn(&[u8]) -> Values));
    for (path, read) in files.chain(lists) {
        let (_, bytes) = given::read(path, "such a file", session, ui)?;
        let mut values = read(&bytes);
        all.values.append(&mut values.values);
        all.short += values.short;
    }
    if all.short > 0 {
        let (count, verb) = match all.short {
            1 => ("1 value".to_owned(), "is"),
            n => (format!("{n} values"), "are"),
        };
        ui.warn(&format!(
            "{count} shorter than 6 characters {verb} not searched for: such text occurs by chance"
        ));
    }
    Ok(all.values)
}

/// Whose home directories and names are replaced: those of this user and of the session's.
fn people(cwd: Option<&str>, ui: &Ui) -> People {
    let home = ui.home();
    People::new([home.as_deref(), cwd.and_then(home_of)].into_iter().flatten())
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
            match self.args.write.json {
                true => ui.print_json(&row(found))?,
                false => ui.print(&self.line(found))?,
            }
        }
        self.summarize(&report, ui);
        Ok(if report.found.is_empty() || self.args.write.dry_run { Exit::Done } else { Exit::Found })
    }

    /// Writes the copy, and reads it again.
    fn write(&self, path: &Path, redactor: &mut Redactor, ui: &mut Ui) -> Result<Exit, Failure> {
        let mut report = Report::default();
        let committed = store::create(path, self.input.file(), self.args.write.force, &mut |out| {
            report = redact(self.input.source(), redactor, self.workers, Some(out))?;
            Ok(())
        })?;
        let left =
            store::SessionFile::open(path).map_err(Failure::from).and_then(|copy| self.left(&copy, redactor));
        if let Err(failure) = left {
            store::take_back(&committed);
            return Err(failure);
        }
        ui.warn_of(&committed);
        self.summarize(&report, ui);
        let name = path.to_string_lossy();
        let printed = match self.args.write.json {
            true => ui.print_json(&outcome(&name, &report)),
            false => ui.print(&format!("{}\n", visible(&name))),
        };
        let failed = |failure: Failure| failure.after_writing(&name);
        printed.and_then(|()| ui.flush()).map(|()| Exit::Done).map_err(failed)
    }

    /// Writes the copy to standard output, once it is known to hold nothing that was found.
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
        self.left(&copy, redactor)?;
        crate::core::plan::copy_all(&copy, &mut *ui.verbatim()).map_err(Failure::output)?;
        ui.flush()?;
        self.summarize(&report, ui);
        Ok(Exit::Done)
    }

    /// Fails where a value that was found is still in the copy.
    fn left(&self, copy: &dyn ReadAt, redactor: &Redactor) -> Result<(), Failure> {
        match left_over(copy, redactor.found(), self.workers).map_err(|error| self.input.unreadable(error))? {
            0 => Ok(()),
            n => Err(self
                .input
                .cannot(format_args!("{n} secrets would remain in the copy; it was not written"))),
        }
    }

    /// Prints a line on standard error for what was found, by kind.
    fn summarize(&self, report: &Report, ui: &mut Ui) {
        let kinds: Vec<_> = report.kinds().iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let secrets = if kinds.is_empty() { "no secrets found".to_owned() } else { kinds.join(", ") };
        let opaque = match report.opaque {
            0 => String::new(),
            1 => "; 1 signature or image".to_owned(),
            n => format!("; {n} signatures and images"),
        };
        ui.status(&format!("{}: {secrets}{opaque}", self.input.name));
    }

    fn line(&self, found: &Found) -> String {
        let id = found.id.as_ref().map_or_else(|| "-".to_owned(), |id| visible(&id.to_string_lossy()));
        let finding = &found.finding;
        let field = if finding.field.is_empty() { "malformed line".into() } else { visible(&finding.field) };
        format!(
            "{}:{}: {id} {} in {field}, {} bytes\n",
            self.input.name, found.line.0, finding.placeholder, finding.length
        )
    }
}

fn row(found: &Found) -> Vec<u8> {
    Object::new()
        .text_or_null("id", found.id.as_ref())
        .number("line", f64::from(found.line.0))
        .str("field", &found.finding.field)
        .str("kind", found.finding.kind)
        .str("placeholder", &found.finding.placeholder)
        .number("length", found.finding.length as f64)
        .finish()
}

fn outcome(path: &str, report: &Report) -> Vec<u8> {
    let mut kinds = Object::new();
    for (kind, count) in report.kinds() {
        kinds = kinds.number(kind, count as f64);
    }
    Object::new()
        .str("path", path)
        .str("action", "create")
        .bool("dryRun", false)
        .number("lines", report.lines as f64)
        .json("found", &kinds.finish())
        .number("opaque", report.opaque as f64)
        .finish()
}
